/* The command line of ptxas: its inputs, and the options that its figures depend on.
 *
 * Options start with one dash or two; a value follows '=' or is the next word, and those of -O and -m may follow
 * directly. An option that is not in the table below, of a newer ptxas or an undocumented one, is passed on; the word
 * after it counts as an input only if it names a file. */
#include <stdlib.h>
#include <sys/stat.h>

#include "wrappers/wrappers.h"

typedef enum OptionUse {
    USE_JUDGE, /* affects the code, or could */
    USE_FILE,  /* the same, by a file */
    USE_ASKS,  /* prints something and assembles nothing */
    USE_ARCH,
    USE_LEVEL,
    USE_OUTPUT,
    USE_DEBUG,
    USE_VERBOSE,
    USE_NOT,   /* of no interest to ptxopt */
} OptionUse;

typedef struct PtxasOption {
    const char *name, *short_name;
    bool has_value;
    OptionUse use;
} PtxasOption;

/* The options of ptxas 13.0, and those of newer ones that affect code, in its order. Warnings do not matter to the
 * judge, and would be errors with -Werror. */
static const PtxasOption table[] = {
    {"Ofast-compile", "Ofc", true, USE_JUDGE},
    {"allow-expensive-optimizations", NULL, true, USE_JUDGE},
    {"apply-controls", NULL, true, USE_FILE},
    {"compile-as-tools-patch", "astoolspatch", false, USE_JUDGE},
    {"compile-only", "c", false, USE_JUDGE},
    {"compiler-annotations", "annotate", false, USE_NOT},
    {"def-load-cache", "dlcm", true, USE_JUDGE},
    {"def-store-cache", "dscm", true, USE_JUDGE},
    {"device-debug", "g", false, USE_DEBUG},
    {"device-function-maxrregcount", "func-maxrregcount", true, USE_JUDGE},
    {"device-stack-protector", NULL, true, USE_JUDGE},
    {"disable-optimizer-constants", "disable-optimizer-consts", false, USE_JUDGE},
    {"disable-warnings", "w", false, USE_NOT},
    {"dont-merge-basicblocks", "no-bb-merge", false, USE_JUDGE},
    {"entry", "e", true, USE_NOT},
    {"extensible-whole-program", "ewp", false, USE_JUDGE},
    {"fmad", NULL, true, USE_JUDGE},
    {"force-load-cache", "flcm", true, USE_JUDGE},
    {"force-store-cache", "fscm", true, USE_JUDGE},
    {"g-tensor-memory-access-check", "g-tmem-access-check", false, USE_JUDGE},
    {"generate-line-info", "lineinfo", false, USE_JUDGE},
    {"gno-tensor-memory-access-check", "gno-tmem-access-check", false, USE_JUDGE},
    {"gpu-name", "arch", true, USE_ARCH},
    {"help", "h", false, USE_ASKS},
    {"input-as-string", "ias", true, USE_ASKS},
    {"legacy-bar-warp-wide-behavior", NULL, false, USE_JUDGE},
    {"list-version", "version-ls", false, USE_ASKS},
    {"machine", "m", true, USE_NOT},
    {"make-errors-visible-at-exit", NULL, false, USE_JUDGE},
    {"maxntid", NULL, true, USE_JUDGE},
    {"maxrregcount", NULL, true, USE_JUDGE},
    {"minnctapersm", NULL, true, USE_JUDGE},
    {"opt-level", "O", true, USE_LEVEL},
    {"optimize-float-atomics", "opt-fp-atomics", false, USE_JUDGE},
    {"output-file", "o", true, USE_OUTPUT},
    {"override-directive-values", NULL, false, USE_JUDGE},
    {"position-independent-code", "pic", true, USE_JUDGE},
    {"preserve-relocs", NULL, false, USE_JUDGE},
    {"register-usage-level", "regUsageLevel", true, USE_JUDGE},
    {"regAllocOptLevel", NULL, true, USE_JUDGE},
    {"return-at-end", "ret-end", false, USE_JUDGE},
    {"sanitize", NULL, true, USE_JUDGE},
    {"sp-bounds-check", NULL, false, USE_JUDGE},
    {"split-compile", NULL, true, USE_NOT},
    {"suppress-async-bulk-multicast-advisory-warning", NULL, false, USE_NOT},
    {"suppress-debug-info", NULL, false, USE_NOT},
    {"suppress-double-demote-warning", NULL, false, USE_NOT},
    {"suppress-sparse-mma-advisory-info", NULL, false, USE_NOT},
    {"suppress-stack-size-warning", NULL, false, USE_NOT},
    {"verbose", "v", false, USE_VERBOSE},
    {"version", "V", false, USE_ASKS},
    {"warn-on-double-precision-use", "warn-double-usage", false, USE_NOT},
    {"warn-on-local-memory-usage", "warn-lmem-usage", false, USE_NOT},
    {"warn-on-spills", "warn-spills", false, USE_NOT},
    {"warning-as-error", "Werror", false, USE_NOT},
};

/* Those that make other than plain whole-program code, or are about the module as it is. */
static const char *const whole_names[] = {
    "compile-as-tools-patch", "compile-only", "device-debug", "entry", "extensible-whole-program", "generate-line-info",
    "g-tensor-memory-access-check", "position-independent-code", "preserve-relocs", "sanitize",
};

/* The option that the word names, or NULL; *value is what follows '=', or "". */
static const PtxasOption *find_option(const char *word, const char **value)
{
    for (size_t i = 0; i < COUNT_OF(table); i++) {
        *value = word_option(word, table[i].name);
        if (!*value && table[i].short_name)
            *value = word_option(word, table[i].short_name);
        if (*value)
            return &table[i];
    }
    return NULL;
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool is_file(const char *path)
{
    struct stat status;
    return stat(path, &status) == 0 && !S_ISDIR(status.st_mode);
}

/* False for a word without a dash, and for a dash alone, which is standard input. */
static bool is_option(const char *word)
{
    return word[0] == '-' && word[1];
}

static const char *option_word(Arena *arena, const PtxasOption *option, const char *value)
{
    return option->has_value ? arena_printf(arena, "--%s=%s", option->name, value)
                             : arena_printf(arena, "--%s", option->name);
}

/* The absolute path, because ptxas may run in another folder. A file that does not exist keeps the path it has. */
static const char *absolute_path(Arena *arena, const char *path)
{
    char *absolute = realpath(path, NULL);
    const char *copy = absolute ? arena_strndup(arena, absolute, strlen(absolute)) : path;
    free(absolute);
    return copy;
}

static void take_option(Arena *arena, PtxasLine *line, const PtxasOption *option, const char *value)
{
    if (option->use == USE_FILE)
        value = absolute_path(arena, value);
    switch (option->use) {
    case USE_ASKS: line->only_asks = true; break;
    case USE_ARCH: line->arch = value; break;
    case USE_OUTPUT: line->output = value; break;
    case USE_LEVEL: line->is_debug |= strcmp(value, "0") == 0; break;
    case USE_DEBUG: line->is_debug = true; break;
    case USE_VERBOSE: line->is_verbose = true; break;
    case USE_JUDGE:
    case USE_FILE:
    case USE_NOT: break;
    }
    for (size_t i = 0; i < COUNT_OF(whole_names); i++)
        if (strcmp(option->name, whole_names[i]) == 0)
            line->whole = option->name;
    if (option->use == USE_LEVEL)
        line->level = value;
    const bool is_own = option->use == USE_JUDGE || option->use == USE_FILE || option->use == USE_NOT;
    if (is_own && strcmp(option->name, "split-compile") != 0)
        words_add(arena, &line->plain, option_word(arena, option, value));
    if (option->use == USE_LEVEL || option->use == USE_DEBUG || option->use == USE_JUDGE ||
        option->use == USE_FILE)
        words_add(arena, &line->judge, option_word(arena, option, value));
}

const char *ptxas_line_parse(Arena *arena, const Words *words, PtxasLine *line)
{
    *line = (PtxasLine){.output = "elf.o"};
    const char *error = words_expand_files(arena, words, &line->words, &line->has_option_file);
    bool was_unknown = false;
    for (size_t i = 0; !error && i < line->words.count; i++) {
        const char *word = line->words.data[i], *value = "";
        if (!is_option(word)) {
            if (!was_unknown || is_file(word))
                VEC_PUSH(arena, line->inputs, i);
            else
                words_add(arena, &line->judge, word);
            was_unknown = false;
            continue;
        }
        was_unknown = false;
        const PtxasOption *option = find_option(word, &value);
        if (option) {
            /* "-O 1" is not an option and its value: ptxas takes the 1 for a file. */
            bool is_letter = option->use == USE_LEVEL && strcmp(word, "-O") == 0;
            if (option->has_value && !*value && !is_letter && i + 1 < line->words.count)
                value = line->words.data[++i];
            take_option(arena, line, option, value);
        } else if (word[1] == 'O' && is_digit(word[2])) {
            line->is_debug |= strcmp(word, "-O0") == 0;
            line->level = word + 2;
            words_add(arena, &line->judge, word);
        } else if (word[1] != 'm' || !is_digit(word[2])) {
            words_add(arena, &line->judge, word);
            line->whole = word; /* it may mean anything */
            was_unknown = !strchr(word, '=');
        }
    }
    return error;
}
