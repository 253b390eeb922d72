/* The command line of nvcc: takes out the words for ptxopt, and notes those that matter to the wrapper.
 *
 * Words for ptxopt are those of -Xptxopt, and those of -Xptxas that ptxopt has and ptxas does not. Both are separated
 * by commas. A piece without a dash belongs to the option before it: "-coarsen=x2,y2" is one option, and "-coarsen,2"
 * too. */
#include "options/options.h"
#include "wrappers/wrappers.h"

/* Options of ptxopt that ptxas has as well, and those that ptxas has only with two dashes. */
static const char *const common_names[] = {"apply-controls", "arch", "o", "O0", "O1", "O2", "O3", "v", "Werror"};
static const char *const long_names[] = {"entry", "help", "version"};

/* Options of the wrapper itself, in -Xptxopt. */
#define ADAPTED "launches-adapted"
#define STRICT "strict"

/* Options with which nvcc runs no compiler, or must not look different: CMake reads the output of -dryrun. */
static const char *const asking_names[] = {"dryrun", "version", "V", "help", "h", "list-gpu-code", "code-ls",
                                           "list-gpu-arch", "arch-ls", "clean-targets", "clean"};

static const char *const object_names[] = {"c", "compile", "dc", "device-c", "dw", "device-w"};
static const char *const module_names[] = {"ptx", "cubin", "fatbin"};

/* Options whose value is the next word, which otherwise could be taken for an input. */
static const char *const valued_names[] = {
    "I", "include-path", "isystem", "system-include", "D", "define-macro", "U", "undefine-macro", "L", "library-path",
    "l", "library", "include", "pre-include", "Xcompiler", "compiler-options", "Xlinker", "linker-options", "Xarchive",
    "archive-options", "Xnvlink", "nvlink-options", "Xcicc", "Xcudafe", "Xfatbinary", "Xnvbin", "ccbin",
    "compiler-bindir", "x", "arch", "gpu-architecture", "code", "gpu-code", "gencode", "generate-code", "std", "m",
    "machine", "maxrregcount", "MF", "dependency-output", "MT", "dependency-target-name", "keep-dir", "t", "threads",
    "cudart", "cudadevrt", "odir", "ldir", "target-directory", "fmad", "ftz", "prec-div", "prec-sqrt", "diag-suppress",
    "diag-error", "diag-warn", "Werror", "split-compile", "split-compile-extended", "res-usage-file", "rdc",
    "relocatable-device-code", "default-stream", "dopt", "opt-level", "O", "allowed-name-expr", "dc-name", "idp",
    "input-drive-prefix", "ddp", "dependency-drive-prefix", "dp", "drive-prefix", "run-args", "e", "entry",
    "extern-mode", "apply-controls", "ptxas-prefix", "time", "fdevice-time-trace", "jump-table-density", "brand",
};

static void fail(NvccLine *line, const char *error)
{
    if (!line->error)
        line->error = error;
}

static bool is_for_ptxopt(const char *word)
{
    if (word_is_one_of(word, common_names, COUNT_OF(common_names)) ||
        (word[1] == '-' && word_is_one_of(word, long_names, COUNT_OF(long_names))))
        return false;
    for (const OptionRow *option = options_table(); option->name; option++)
        if (word_option(word, option->name))
            return true;
    return false;
}

static bool is_wrapper_option(const char *word)
{
    return word_option(word, ADAPTED) || word_option(word, STRICT);
}

/* One word for ptxopt, or a piece of the one before it. */
static void take_flag(Arena *arena, NvccLine *line, const char *word)
{
    if (is_wrapper_option(word)) {
        line->launches_adapted |= word_option(word, ADAPTED) != NULL;
        line->is_strict |= word_option(word, STRICT) != NULL;
    } else if (word[0] == '-') {
        words_add(arena, &line->flags, word);
    } else if (line->flags.count) {
        const char *last = VEC_LAST(line->flags);
        VEC_LAST(line->flags) = arena_printf(arena, "%s%c%s", last, strchr(last, '=') ? ',' : '=', word);
    } else {
        fail(line, arena_printf(arena, "-Xptxopt %s: not an option of ptxopt", word));
    }
}

/* Splits at commas, except those after a backslash or in quotes. */
static Words split_commas(Arena *arena, const char *text)
{
    Words pieces = {0};
    const char *begin = text;
    char quote = 0;
    for (const char *c = text;; c++) {
        if (*c == 0 || (*c == ',' && !quote)) {
            words_add(arena, &pieces, arena_strndup(arena, begin, (size_t)(c - begin)));
            begin = c + 1;
        } else if (*c == '\\' && c[1]) {
            c++;
        } else if (quote ? *c == quote : *c == '"' || *c == '\'') {
            quote = quote ? 0 : *c;
        }
        if (*c == 0)
            return pieces;
    }
}

static void take_ptxopt(Arena *arena, NvccLine *line, const char *text)
{
    Words pieces = split_commas(arena, text);
    for (size_t i = 0; i < pieces.count; i++)
        take_flag(arena, line, pieces.data[i]);
}

/* *open: the last piece was an option of ptxopt, which the next ones without a dash complete. */
static void take_ptxas(Arena *arena, NvccLine *line, const char *text, bool *open)
{
    Words pieces = split_commas(arena, text);
    for (size_t i = 0; i < pieces.count; i++) {
        const char *piece = pieces.data[i];
        if (piece[0] == '-')
            *open = is_for_ptxopt(piece);
        if (*open) {
            take_flag(arena, line, piece);
        } else {
            words_add(arena, &line->ptxas, piece);
            words_add(arena, &line->words, "-Xptxas");
            words_add(arena, &line->words, piece);
        }
    }
}

/* The value of an option with two names: in the same word, or the next one, to which *at is then moved. NULL: it is
 * another option. */
static const char *option_value(const Words *words, size_t *at, const char *name, const char *other)
{
    const char *value = word_option(words->data[*at], name);
    if (!value)
        value = word_option(words->data[*at], other);
    if (value && !*value && *at + 1 < words->count)
        value = words->data[++*at];
    return value;
}

static void take_plain(Arena *arena, NvccLine *line, const char *word)
{
    bool optimizes_late = word_option(word, "dlto") || word_option(word, "dlink-time-opt");
    line->asks_only |= word_is_one_of(word, asking_names, COUNT_OF(asking_names));
    line->is_dryrun |= word_option(word, "dryrun") != NULL;
    line->makes_ptx |= word_option(word, "ptx") != NULL;
    line->makes_module |= word_is_one_of(word, module_names, COUNT_OF(module_names));
    line->makes_objects |= word_is_one_of(word, object_names, COUNT_OF(object_names));
    line->keeps |= word_option(word, "keep") || word_option(word, "save-temps");
    line->links_late |= optimizes_late || (word[0] == '-' && strstr(word, "lto_"));
    line->has_prefix |= word_option(word, "ptxas-prefix") != NULL;
    /* -o k.ptx is protected too, at no loss */
    if (text_ends_with(word, ".ptx"))
        words_add(arena, &line->ptx_files, word);
    else if (word[0] != '-')
        words_add(arena, &line->sources, word);
}

void nvcc_line_parse(Arena *arena, const Words *words, NvccLine *line)
{
    bool open = false;
    for (size_t i = 0; i < words->count; i++) {
        size_t first = i;
        const char *value;
        if ((value = option_value(words, &i, "Xptxopt", "ptxopt-options"))) {
            take_ptxopt(arena, line, value);
            continue;
        }
        if ((value = option_value(words, &i, "Xptxas", "ptxas-options"))) {
            take_ptxas(arena, line, value, &open);
            continue;
        }
        if ((value = option_value(words, &i, "o", "output-file")))
            line->output = value;
        else if ((value = option_value(words, &i, "odir", "output-directory")))
            line->output_folder = value;
        else
            take_plain(arena, line, words->data[i]);
        if (!value && i + 1 < words->count && words->data[i][0] == '-' && !strchr(words->data[i], '=') &&
            word_is_one_of(words->data[i], valued_names, COUNT_OF(valued_names))) {
            value = words->data[++i];
            line->links_late |= strstr(value, "lto_") != NULL;
        }
        if (value && text_ends_with(value, ".ptx"))
            words_add(arena, &line->ptx_files, value);
        for (; first <= i; first++)
            words_add(arena, &line->words, words->data[first]);
    }
}
