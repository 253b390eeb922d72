/* Directives of functions and entries; PTX ISA, "Performance-Tuning Directives" and their like. */
#include <string.h>

#include "parser/internal.h"

static const char *const directive_names[DIRECTIVE_COUNT] = {
    [DIRECTIVE_MAXNREG] = ".maxnreg",
    [DIRECTIVE_MINNCTAPERSM] = ".minnctapersm",
    [DIRECTIVE_MAXNCTAPERSM] = ".maxnctapersm",
    [DIRECTIVE_MAXCLUSTERRANK] = ".maxclusterrank",
    [DIRECTIVE_MAXNTID] = ".maxntid",
    [DIRECTIVE_REQNTID] = ".reqntid",
    [DIRECTIVE_REQNCTAPERCLUSTER] = ".reqnctapercluster",
    [DIRECTIVE_EXPLICITCLUSTER] = ".explicitcluster",
    [DIRECTIVE_BLOCKSARECLUSTERS] = ".blocksareclusters",
    [DIRECTIVE_NORETURN] = ".noreturn",
    [DIRECTIVE_ABI_PRESERVE] = ".abi_preserve",
    [DIRECTIVE_ABI_PRESERVE_CONTROL] = ".abi_preserve_control",
};

void directives_begin(Directives *directives)
{
    directives->pragmas.count = 0;
    memset(directives->spans, 0, sizeof directives->spans);
}

void directives_move_pragmas(const Directives *directives, Function *function, Arena *arena)
{
    size_t count = directives->pragmas.count;
    function->pragmas.count = function->pragmas.capacity = count;
    if (count > 0) {
        function->pragmas.data = ARENA_ARRAY(arena, Pragma, count);
        memcpy(function->pragmas.data, directives->pragmas.data, count * sizeof(Pragma));
    }
}

static bool numbers_fit(Parser *parser, Span span)
{
    for (size_t i = 0; i < parser->lists.numbers.count; i++) {
        if (parser->lists.numbers.data[i] > INT32_MAX) {
            diag_error(parser->diag, span, "this number is too large");
            return false;
        }
    }
    return true;
}

static void set_shape(Parser *parser, unsigned *shape, unsigned *count, const char *name, Span span)
{
    for (size_t i = 0; i < 3; i++) {
        shape[i] = i < parser->lists.numbers.count ? (unsigned)parser->lists.numbers.data[i] : 1;
        if (shape[i] == 0 && shape != parser->function->tuning.reqnctapercluster) {
            diag_error(parser->diag, span, "the numbers of '%s' must be positive", name);
            return;
        }
    }
    *count = (unsigned)parser->lists.numbers.count;
}

void directive_add(Parser *parser, DirectiveWord word, Span span)
{
    const char *name = directive_names[word];
    if (!parser->function->is_entry) {
        diag_error(parser->diag, span, "'%s' is for entries, not for functions", name);
        return;
    }
    if (!numbers_fit(parser, span))
        return;
    Tuning *tuning = &parser->function->tuning;
    unsigned number = parser->lists.numbers.count > 0 ? (unsigned)parser->lists.numbers.data[0] : 0;
    const char *quoted = arena_printf(parser->scratch, "'%s'", name);
    parser->directives.spans[word] = span;
    switch (word) {
    case DIRECTIVE_MAXNREG:
        if (number == 0)
            diag_error(parser->diag, span, "the number of '%s' must be positive", name);
        tuning->maxnreg = number;
        break;
    case DIRECTIVE_MINNCTAPERSM:
        if (number == 0)
            diag_error(parser->diag, span, "the number of '%s' must be positive", name);
        tuning->minnctapersm = number;
        break;
    case DIRECTIVE_MAXNCTAPERSM:
        if (parser->module->version > 20)
            diag_error(parser->diag, span, "'.maxnctapersm' was removed in PTX 2.1; use .minnctapersm");
        tuning->maxnctapersm = number;
        break;
    case DIRECTIVE_MAXCLUSTERRANK:
        header_require(parser, span, quoted, 78, 90);
        tuning->maxclusterrank = number;
        break;
    case DIRECTIVE_MAXNTID: set_shape(parser, tuning->maxntid, &tuning->maxntid_count, name, span); break;
    case DIRECTIVE_REQNTID: set_shape(parser, tuning->reqntid, &tuning->reqntid_count, name, span); break;
    case DIRECTIVE_REQNCTAPERCLUSTER:
        header_require(parser, span, quoted, 78, 90);
        set_shape(parser, tuning->reqnctapercluster, &tuning->reqnctapercluster_count, name, span);
        break;
    case DIRECTIVE_EXPLICITCLUSTER:
        header_require(parser, span, quoted, 78, 90);
        tuning->explicitcluster = true;
        break;
    case DIRECTIVE_BLOCKSARECLUSTERS:
        header_require(parser, span, quoted, 90, 90);
        tuning->blocksareclusters = true;
        break;
    default: bug("directive %d", (int)word);
    }
}

static bool is_given(const Directives *directives, DirectiveWord word)
{
    return directives->spans[word].end > 0;
}

static void check_conflict(const Directives *directives, Diag *diag, DirectiveWord a, DirectiveWord b)
{
    if (!is_given(directives, a) || !is_given(directives, b))
        return;
    Span first = directives->spans[a], second = directives->spans[b];
    diag_error(diag, first.begin > second.begin ? first : second, "'%s' and '%s' exclude each other",
               directive_names[a], directive_names[b]);
}

void directives_check(const Directives *directives, Diag *diag)
{
    check_conflict(directives, diag, DIRECTIVE_MAXNTID, DIRECTIVE_REQNTID);
    check_conflict(directives, diag, DIRECTIVE_REQNCTAPERCLUSTER, DIRECTIVE_MAXCLUSTERRANK);
    if (is_given(directives, DIRECTIVE_BLOCKSARECLUSTERS) &&
        (!is_given(directives, DIRECTIVE_REQNTID) || !is_given(directives, DIRECTIVE_REQNCTAPERCLUSTER)))
        diag_error(diag, directives->spans[DIRECTIVE_BLOCKSARECLUSTERS],
                   "'.blocksareclusters' needs '.reqntid' and '.reqnctapercluster'");
}

void directive_add_attribute(Parser *parser, DirectiveWord word, Span span)
{
    Prototype *prototype = parser->prototypes.at_hand;
    if (prototype_is_of_function(parser) && parser->function->is_entry) {
        diag_error(parser->diag, span, "'%s' is for functions, not for entries", directive_names[word]);
        return;
    }
    switch (word) {
    case DIRECTIVE_NORETURN:
        header_require(parser, span, "'.noreturn'", 64, 30);
        if (prototype->return_count > 0)
            diag_error(parser->diag, span, "a function with a return value cannot be '.noreturn'");
        prototype->noreturn = true;
        break;
    case DIRECTIVE_ABI_PRESERVE:
    case DIRECTIVE_ABI_PRESERVE_CONTROL:
        if (!header_require(parser, span, "'.abi_preserve'", 90, 80) || !numbers_fit(parser, span))
            break;
        if (word == DIRECTIVE_ABI_PRESERVE)
            prototype->abi_preserve = (int)parser->lists.numbers.data[0];
        else
            prototype->abi_preserve_control = (int)parser->lists.numbers.data[0];
        break;
    default: bug("directive %d", (int)word);
    }
}

void directive_add_pragma(Parser *parser, Span span)
{
    if (!parser->function->is_entry)
        diag_error(parser->diag, span, "'.pragma' is for entries, not for functions");
    for (size_t i = 0; i < parser->lists.strings.count; i++) {
        Name text = parser->lists.strings.data[i];
        if (pragma_scope(text) != PRAGMA_BLOCK)
            diag_error(parser->diag, span, "the pragma \"%s\" belongs in the body, among the instructions", text);
    }
    VEC_PUSH(parser->scratch, parser->directives.pragmas, *pragma_new(parser));
}
