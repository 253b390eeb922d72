/* The options for ptxopt: environment, ptxopt.json, defaults. docs/formats.md describes the file. */
#include <jansson.h>
#include <stdlib.h>
#include <unistd.h>

#include "options/options.h"
#include "wrappers/wrappers.h"

#define FLAGS_FILE "ptxopt.json"

bool variable_is_on(const char *variable)
{
    const char *value = getenv(variable);
    return value && *value && strcmp(value, "0") != 0;
}

/* Reads a string of shell-like words, or an array of words. */
static const char *read_words(Arena *arena, const json_t *value, Words *words)
{
    if (json_is_string(value))
        return words_split(arena, json_string_value(value), QUOTING_SHELL, words);
    if (!json_is_array(value))
        return "'flags' is neither a string nor an array of strings";
    for (size_t i = 0; i < json_array_size(value); i++) {
        const char *word = json_string_value(json_array_get(value, i));
        if (!word)
            return "'flags' has an element that is not a string";
        words_add(arena, words, arena_strndup(arena, word, strlen(word)));
    }
    return NULL;
}

static const char *read_members(Arena *arena, json_t *object, Flags *flags)
{
    const char *key;
    json_t *value;
    if (!json_is_object(object))
        return "it is not an object";
    json_object_foreach(object, key, value) {
        const char *error = NULL;
        if (strcmp(key, "flags") == 0)
            error = read_words(arena, value, &flags->words);
        else if (strcmp(key, "strict") == 0 && json_is_boolean(value))
            flags->is_strict |= json_is_true(value);
        else
            error = arena_printf(arena, "'%s' is not a member, or its value has the wrong type", key);
        if (error)
            return error;
    }
    return NULL;
}

static void read_file(Arena *arena, const char *path, Flags *flags)
{
    json_t *object = json_file_read(arena, path, &flags->problem);
    if (!object)
        return;
    const char *error = read_members(arena, object, flags);
    if (error)
        flags->problem = arena_printf(arena, "%s: %s", path, error);
    json_decref(object);
}

const char *flags_check_launches(Arena *arena, const Flags *flags, const char *word)
{
    if (!flags->coarsens || flags->launches_adapted)
        return NULL;
    return arena_printf(arena,
                        "-coarsen changes how kernels must be launched: with smaller blocks, or fewer. Nothing adapts "
                        "the launches of a program that loads this file itself. If it launches each coarsened kernel "
                        "by its launch contract (ptxopt-launch.h), say so with %s",
                        word);
}

/* Takes out the word for adapted launches, and notes it. */
static void take_adapted(Flags *flags)
{
    size_t kept = 0;
    for (size_t i = 0; i < flags->words.count; i++) {
        bool is_it = word_option(flags->words.data[i], "launches-adapted") != NULL;
        flags->launches_adapted |= is_it;
        if (!is_it)
            flags->words.data[kept++] = flags->words.data[i];
    }
    flags->words.count = kept;
}

Flags flags_of_environment(Arena *arena, const char *input)
{
    Flags flags = {.is_strict = variable_is_on("PTXOPT_STRICT")};
    const char *words = getenv("PTXOPT_FLAGS");
    const char *folders[] = {".", input ? folder_of(arena, input) : "."};
    if (words) {
        const char *error = words_split(arena, words, QUOTING_SHELL, &flags.words);
        if (error)
            flags.problem = arena_printf(arena, "PTXOPT_FLAGS: %s", error);
    }
    for (size_t i = 0; i < COUNT_OF(folders) && !words; i++) {
        const char *path = i == 0 ? FLAGS_FILE : arena_printf(arena, "%s/" FLAGS_FILE, folders[i]);
        if (access(path, F_OK) == 0) {
            read_file(arena, path, &flags);
            break;
        }
    }
    take_adapted(&flags);
    flags_check(arena, &flags);
    if (!flags.problem)
        flags.problem = flags_check_launches(arena, &flags, "-launches-adapted among the options");
    return flags;
}

/* True if kernels will be launched differently, which merging blocks of the grid does not always require. */
static bool changes_launches(const Options *options, const CoarsenOption *option)
{
    const Shape shape = options_shape(options, option);
    if (options->shrinks_grid && (option->is_auto || !shape_is_identity(&shape)))
        return true;
    return option->is_source || merges_any(shape.threads) || (option->is_auto && !options->merges_blocks);
}

/* The error if options set something that the command line of ptxas already sets; NULL if none does. */
static const char *reserved(const Options *options)
{
    if (options->output || options->cubin || options->knobs_out)
        return "the output is that of the assembler's command line; -o, -cubin and -knobs-out cannot be given";
    if (options->arch)
        return "the architecture is that of the assembler's command line; -arch cannot be given";
    if (options->controls)
        return "-apply-controls is an option of ptxas: give it on the assembler's command line";
    if (option_given(options, OPTION_ASSEMBLER) || options->ptxas_options.count)
        return "the assembler and its options are those of the build; -assembler and -Xptxas cannot be given";
    return NULL;
}

void flags_check(Arena *arena, Flags *flags)
{
    static const char *const defaults[] = {"-target-regs", "auto", "-O1", "-fix-defects", "-q"};
    flags->is_default = flags->words.count == 0;
    for (size_t i = 0; flags->is_default && i < COUNT_OF(defaults); i++)
        words_add(arena, &flags->words, defaults[i]);
    Words line = {0};
    words_add(arena, &line, "ptxopt");
    words_add_all(arena, &line, &flags->words);
    words_add(arena, &line, "--");
    words_add(arena, &line, "input.ptx");
    Options options;
    const char *error = NULL;
    OptionsOutcome outcome = options_parse(arena, (int)line.count, words_argv(arena, &line), &options, &error);
    if (outcome == OPTIONS_RUN && options.output && strcmp(options.output, "-") == 0)
        options.output = NULL; /* the default */
    if (outcome == OPTIONS_RUN)
        error = reserved(&options);
    else if (outcome != OPTIONS_WRONG)
        error = "-help and -version are not for builds";
    if (error && !flags->problem)
        flags->problem = error;
    flags->coarsens |= outcome == OPTIONS_RUN && (options.tune_from || options.refine.count);
    for (size_t i = 0; outcome == OPTIONS_RUN && i < options.coarsen.count; i++)
        flags->coarsens |= changes_launches(&options, &options.coarsen.data[i]);
    if (outcome == OPTIONS_RUN)
        flags->split = options.split;
    flags->tries_knobs = outcome == OPTIONS_RUN && options.knobs;
    /* The original kernel would give wrong results, silently, if launches have been adapted. */
    flags->is_strict |= flags->coarsens;
}
