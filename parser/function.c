/* Functions and entries: headers, tuning directives, prototypes; PTX ISA, chapter "Directives". */
#include <string.h>

#include "parser/internal.h"

/* Bytes of parameters that an entry takes at most. */
#define ENTRY_PARAMETER_LIMIT 0x7FFC

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

static void prototype_clear(Prototype *prototype)
{
    *prototype = (Prototype){.abi_preserve = -1, .abi_preserve_control = -1};
}

void function_begin(Parser *parser, bool is_entry, Span span)
{
    parser->cta_group = 0;
    Function *function = ARENA_NEW(parser->arena, Function);
    function->module = parser->module;
    function->linkage = parser->decl.linkage;
    function->is_entry = is_entry;
    function->span = span;
    function->text.begin = function->linkage ? parser->decl.linkage_span.begin : span.begin;
    prototype_clear(&function->prototype);
    if (function->linkage == LINKAGE_COMMON)
        diag_error(parser->diag, parser->decl.linkage_span, "'.common' is for variables");
    parser->decl.open = false;
    parser->lost_in_function = false;
    parser->function = function;
    parser->prototype = &function->prototype;
    parser->params.count = 0;
    parser->pragmas.count = 0;
    memset(parser->directive_spans, 0, sizeof parser->directive_spans);
}

void function_attributes(Parser *parser)
{
    const Declaration *decl = &parser->decl;
    if (decl->managed)
        diag_error(parser->diag, decl->attribute_span, "'.managed' is for variables");
    parser->function->unified = decl->unified;
    parser->function->unified_id[0] = decl->unified_id[0];
    parser->function->unified_id[1] = decl->unified_id[1];
}

void function_name(Parser *parser, Name name, Span span)
{
    parser->function->name = name;
    parser->function->span = span;
}

static Variable **take_params(Parser *parser, unsigned *count)
{
    *count = (unsigned)parser->params.count;
    if (*count == 0)
        return NULL;
    Variable **params = ARENA_ARRAY(parser->arena, Variable *, parser->params.count);
    memcpy(params, parser->params.data, parser->params.count * sizeof *params);
    parser->params.count = 0;
    return params;
}

void function_returns_end(Parser *parser)
{
    Prototype *prototype = parser->prototype;
    prototype->returns = take_params(parser, &prototype->return_count);
    for (unsigned i = 0; i < prototype->return_count; i++) {
        const Variable *result = prototype->returns[i];
        if (result->space == SPACE_PARAM && prototype->return_count > 1) {
            diag_error(parser->diag, result->span, "more than one return value must be in .reg space");
            break;
        }
        if (result->dim_count > 0 && variable_bytes(result) == 0)
            diag_error(parser->diag, result->span, "the size of a return value must be known");
    }
}

void function_params_end(Parser *parser)
{
    Prototype *prototype = parser->prototype;
    prototype->params = take_params(parser, &prototype->param_count);
    for (unsigned i = 0; i + 1 < prototype->param_count; i++) {
        const Variable *param = prototype->params[i];
        if (param->dim_count > 0 && param->dims[0] == 0)
            diag_error(parser->diag, param->span, "only the last parameter may be an array of unknown size");
    }
}

/* ---- Directives -------------------------------------------------------------------------------------------------- */

static bool numbers_fit(Parser *parser, Span span)
{
    for (size_t i = 0; i < parser->numbers.count; i++) {
        if (parser->numbers.data[i] > INT32_MAX) {
            diag_error(parser->diag, span, "this number is too large");
            return false;
        }
    }
    return true;
}

static void set_shape(Parser *parser, unsigned *shape, unsigned *count, const char *name, Span span)
{
    for (size_t i = 0; i < 3; i++) {
        shape[i] = i < parser->numbers.count ? (unsigned)parser->numbers.data[i] : 1;
        if (shape[i] == 0 && shape != parser->function->tuning.reqnctapercluster) {
            diag_error(parser->diag, span, "the numbers of '%s' are positive", name);
            return;
        }
    }
    *count = (unsigned)parser->numbers.count;
}

void function_directive(Parser *parser, DirectiveWord word, Span span)
{
    const char *name = directive_names[word];
    if (!parser->function->is_entry) {
        diag_error(parser->diag, span, "'%s' is for entries, not for functions", name);
        return;
    }
    if (!numbers_fit(parser, span))
        return;
    Tuning *tuning = &parser->function->tuning;
    unsigned number = parser->numbers.count > 0 ? (unsigned)parser->numbers.data[0] : 0;
    const char *quoted = arena_printf(parser->scratch, "'%s'", name);
    parser->directive_spans[word] = span;
    switch (word) {
    case DIRECTIVE_MAXNREG:
        if (number == 0)
            diag_error(parser->diag, span, "the number of '%s' is positive", name);
        tuning->maxnreg = number;
        break;
    case DIRECTIVE_MINNCTAPERSM:
        if (number == 0)
            diag_error(parser->diag, span, "the number of '%s' is positive", name);
        tuning->minnctapersm = number;
        break;
    case DIRECTIVE_MAXNCTAPERSM:
        if (parser->module->version > 20)
            diag_error(parser->diag, span, "'.maxnctapersm' is gone since PTX 2.1: use .minnctapersm");
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

static Span directive_span(const Parser *parser, DirectiveWord word)
{
    return parser->directive_spans[word];
}

static bool has_directive(const Parser *parser, DirectiveWord word)
{
    return directive_span(parser, word).end > 0;
}

static void check_conflict(Parser *parser, DirectiveWord a, DirectiveWord b)
{
    if (!has_directive(parser, a) || !has_directive(parser, b))
        return;
    Span first = directive_span(parser, a), second = directive_span(parser, b);
    diag_error(parser->diag, first.begin > second.begin ? first : second, "'%s' and '%s' exclude each other",
               directive_names[a], directive_names[b]);
}

static void check_directives(Parser *parser)
{
    check_conflict(parser, DIRECTIVE_MAXNTID, DIRECTIVE_REQNTID);
    check_conflict(parser, DIRECTIVE_REQNCTAPERCLUSTER, DIRECTIVE_MAXCLUSTERRANK);
    if (has_directive(parser, DIRECTIVE_BLOCKSARECLUSTERS) &&
        (!has_directive(parser, DIRECTIVE_REQNTID) || !has_directive(parser, DIRECTIVE_REQNCTAPERCLUSTER)))
        diag_error(parser->diag, directive_span(parser, DIRECTIVE_BLOCKSARECLUSTERS),
                   "'.blocksareclusters' needs '.reqntid' and '.reqnctapercluster'");
}

void prototype_attribute(Parser *parser, DirectiveWord word, Span span)
{
    Prototype *prototype = parser->prototype;
    if (prototype == &parser->function->prototype && parser->function->is_entry) {
        diag_error(parser->diag, span, "'%s' is for functions, not for entries", directive_names[word]);
        return;
    }
    switch (word) {
    case DIRECTIVE_NORETURN:
        header_require(parser, span, "'.noreturn'", 64, 30);
        if (prototype->return_count > 0)
            diag_error(parser->diag, span, "what has a return value cannot be '.noreturn'");
        prototype->noreturn = true;
        break;
    case DIRECTIVE_ABI_PRESERVE:
    case DIRECTIVE_ABI_PRESERVE_CONTROL:
        if (!header_require(parser, span, "'.abi_preserve'", 90, 80) || !numbers_fit(parser, span))
            break;
        if (word == DIRECTIVE_ABI_PRESERVE)
            prototype->abi_preserve = (int)parser->numbers.data[0];
        else
            prototype->abi_preserve_control = (int)parser->numbers.data[0];
        break;
    default: bug("directive %d", (int)word);
    }
}

void prototype_begin(Parser *parser)
{
    parser->prototype = &parser->table_prototype;
    parser->params.count = 0;
    prototype_clear(parser->prototype);
}

void function_pragma(Parser *parser, Span span)
{
    if (!parser->function->is_entry)
        diag_error(parser->diag, span, "'.pragma' is for entries, not for functions");
    for (size_t i = 0; i < parser->strings.count; i++) {
        Name text = parser->strings.data[i];
        if (strncmp(text, "used_bytes_mask", strlen("used_bytes_mask")) == 0 ||
            strcmp(text, "enable_smem_spilling") == 0)
            diag_error(parser->diag, span, "the pragma \"%s\" stands among the instructions", text);
    }
    VEC_PUSH(parser->scratch, parser->pragmas, *pragma_new(parser));
}

/* ---- Agreement of declarations ----------------------------------------------------------------------------------- */

uint64_t parameter_alignment(const Variable *variable)
{
    uint64_t natural = type_bits(variable->type) / 8;
    return variable->align ? variable->align : natural ? natural : 1;
}

/* What differs between two lists of parameters; NULL if nothing does. */
static const char *list_difference(Variable *const *a, unsigned a_count, Variable *const *b, unsigned b_count)
{
    if (a_count != b_count)
        return "number";
    for (unsigned i = 0; i < a_count; i++) {
        if (a[i]->space != b[i]->space)
            return "state space";
        if (a[i]->type != b[i]->type || a[i]->vector != b[i]->vector)
            return "type";
        if (a[i]->dim_count != b[i]->dim_count || variable_bytes(a[i]) != variable_bytes(b[i]))
            return "size";
        if (parameter_alignment(a[i]) != parameter_alignment(b[i]))
            return "alignment";
    }
    return NULL;
}

void prototype_check(Parser *parser, const Function *function, const Function *earlier, Span span)
{
    const Prototype *a = &function->prototype, *b = &earlier->prototype;
    const char *list = "parameters";
    const char *difference = list_difference(a->params, a->param_count, b->params, b->param_count);
    if (difference == NULL) {
        list = "return values";
        difference = list_difference(a->returns, a->return_count, b->returns, b->return_count);
    }
    if (difference)
        diag_error(parser->diag, span, "'%s' was declared with another %s of %s", function->name, difference, list);
    else if (a->noreturn != b->noreturn)
        diag_error(parser->diag, span, "'%s' is '.noreturn' in one declaration and not in the other", function->name);
    else
        return;
    diag_note(parser->diag, earlier->span, "it was declared here");
}

static void merge(Parser *parser, Binding *binding, Function *function)
{
    Function *earlier = binding->function;
    const char *mistake = NULL;
    if (earlier->is_entry != function->is_entry)
        mistake = "is declared both as an entry and as a function";
    else if (earlier->has_body)
        mistake = "is already defined";
    else if (earlier->linkage == LINKAGE_EXTERN && function->has_body)
        mistake = "was declared .extern and cannot be defined here";
    else if (function->linkage != LINKAGE_NONE && function->linkage != earlier->linkage)
        mistake = "was declared with another linkage";
    if (mistake) {
        diag_error(parser->diag, function->span, "'%s' %s", function->name, mistake);
        diag_note(parser->diag, earlier->span, "it was declared here");
        return;
    }
    prototype_check(parser, function, earlier, function->span);
    binding->function = function;
}

static void enter_name(Parser *parser, Function *function)
{
    Binding *binding = scope_find_global(function->name);
    if (binding && binding->kind == BINDING_FUNCTION) {
        merge(parser, binding, function);
        return;
    }
    binding = scope_declare(parser, function->name, function->span, BINDING_FUNCTION);
    if (binding)
        binding->function = function;
}

/* ---- Header and body --------------------------------------------------------------------------------------------- */

static void check_entry_parameters(Parser *parser)
{
    const Prototype *prototype = &parser->function->prototype;
    uint64_t offset = 0;
    for (unsigned i = 0; i < prototype->param_count; i++) {
        uint64_t align = parameter_alignment(prototype->params[i]);
        offset = (offset + align - 1) / align * align + variable_bytes(prototype->params[i]);
        if (offset > ENTRY_PARAMETER_LIMIT) {
            diag_error(parser->diag, prototype->params[i]->span, "the parameters of an entry have at most %d bytes",
                       ENTRY_PARAMETER_LIMIT);
            return;
        }
    }
}

static void declare_formal(Parser *parser, Variable *variable)
{
    variable->function = parser->function;
    if (variable->name == NULL)
        return;
    if (!parser->function->is_entry && variable->align > MOST_PARAMETER_ALIGN)
        diag_error(parser->diag, variable->span, "'%s': the alignment of a parameter is at most %d", variable->name,
                   MOST_PARAMETER_ALIGN);
    bool is_register = variable->space == SPACE_REG;
    Binding *binding =
        scope_declare(parser, variable->name, variable->span, is_register ? BINDING_REGISTER : BINDING_VARIABLE);
    if (binding == NULL)
        return;
    if (is_register) {
        binding->reg = REG_NONE;
        binding->type = variable->type;
        binding->vector = (uint8_t)variable->vector;
        variable->reg = scope_register(parser, binding);
    } else {
        binding->variable = variable;
    }
}

void function_header_end(Parser *parser, bool has_body, Span open)
{
    Function *function = parser->function;
    function->has_body = has_body;
    check_directives(parser);
    if (function->is_entry)
        check_entry_parameters(parser);
    if (has_body && function->linkage == LINKAGE_EXTERN)
        diag_error(parser->diag, function->span, "'%s' is .extern and cannot be defined here", function->name);
    enter_name(parser, function);
    function->pragmas.count = parser->pragmas.count;
    if (parser->pragmas.count > 0) {
        function->pragmas.data = ARENA_ARRAY(parser->arena, Pragma, parser->pragmas.count);
        function->pragmas.capacity = parser->pragmas.count;
        memcpy(function->pragmas.data, parser->pragmas.data, parser->pragmas.count * sizeof(Pragma));
    }
    if (!has_body)
        return;
    parser->decl.open = false;
    parser->in_body = true;
    function->braces.begin = open.begin;
    const ParseOptions *options = parser->options;
    function->is_text = options->keeps && !options->keeps(options->context, function);
    parser->stmts.count = 0;
    parser->last_loc = NULL;
    /* The registers grow in the scratch arena, in storage that the next function uses again. */
    function->regs = parser->regs;
    function->regs.count = 0;
    scope_push(parser, open);
    for (unsigned i = 0; i < function->prototype.return_count; i++)
        declare_formal(parser, function->prototype.returns[i]);
    for (unsigned i = 0; i < function->prototype.param_count; i++)
        declare_formal(parser, function->prototype.params[i]);
    if (function->is_text)
        parser->arena = parser->body_arena;
}

void function_declared(Parser *parser)
{
    module_add_item(parser, ITEM_FUNCTION, parser->function->span)->function = parser->function;
    parser->function = NULL;
}

/* Copies a vector into the module's arena at its exact size. */
#define KEEP(vector)                                                                                                   \
    do {                                                                                                               \
        void *copy = NULL;                                                                                             \
        if ((vector).count > 0) {                                                                                      \
            copy = arena_array(parser->arena, (vector).count, sizeof *(vector).data);                                  \
            memcpy(copy, (vector).data, (vector).count * sizeof *(vector).data);                                       \
        }                                                                                                              \
        (vector).data = copy;                                                                                          \
        (vector).capacity = (vector).count;                                                                            \
    } while (0)

/* A label's statement is known by address once the statements stand where they stay. */
static void link_labels(Function *function)
{
    for (size_t i = 0; i < function->stmts.count; i++) {
        Stmt *stmt = &function->stmts.data[i];
        if (stmt->kind == STMT_LABEL)
            stmt->label->stmt = stmt;
    }
}

static void leave_body(Parser *parser)
{
    parser->in_body = false;
    if (!parser->function->is_text)
        return;
    parser->arena = parser->module_arena;
    parser->last_loc = NULL;
    memset(parser->constants, 0, sizeof parser->constants);
    arena_clear(parser->body_arena);
}

void function_end(Parser *parser, Span close)
{
    Function *function = parser->function;
    scope_resolve_labels(parser);
    while (scope_depth(parser) > 0)
        scope_pop(parser);
    function->end = close;
    function->text.end = function->braces.end = close.end;
    parser->regs = function->regs;
    if (function->is_text) {
        function->regs = (RegVec){0};
    } else {
        function->stmts = parser->stmts;
        KEEP(function->stmts);
        KEEP(function->regs);
        link_labels(function);
    }
    leave_body(parser);
    function_declared(parser);
}

void function_abandon(Parser *parser)
{
    Function *function = parser->function;
    if (parser->in_body)
        parser->regs = function->regs;
    scope_forget_labels(parser);
    while (scope_depth(parser) > 0)
        scope_pop(parser);
    if (function->name && scope_find_global(function->name) == NULL)
        scope_declare(parser, function->name, function->span, BINDING_BAD);
    leave_body(parser);
    parser->function = NULL;
}
