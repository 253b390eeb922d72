#include "cli/view_change.h"

#include <inttypes.h>
#include <string.h>

typedef VEC(char *) Words;

static void add_word(Arena *arena, Words *words, const char *word)
{
    VEC_PUSH(arena, *words, arena_strndup(arena, word, strlen(word)));
}

static void add_option(Arena *arena, Words *words, const char *name, const char *value)
{
    add_word(arena, words, name);
    add_word(arena, words, value);
}

/* The command line of the run: what the picture's own options say of the launch, then the user's, which win. */
static Words command_words(Arena *arena, const ViewOptions *options, const char *arch, const char *input)
{
    const ViewRequest *request = &options->request;
    Words words = {0};
    add_word(arena, &words, "ptxopt");
    if (arch)
        add_option(arena, &words, "-arch", arch);
    if (request->block[0])
        add_option(arena, &words, "-block",
                   arena_printf(arena, "%u,%u,%u", request->block[0], request->block[1], request->block[2]));
    if (request->dynamic_shared)
        add_option(arena, &words, "-dynamic-shared", arena_printf(arena, "%" PRIu64, request->dynamic_shared));
    if (request->launch)
        add_option(arena, &words, "-launch", request->launch);
    if (request->run.quiet)
        add_word(arena, &words, "-q");
    for (int i = 0; i < options->change_count; i++)
        add_word(arena, &words, options->changes[i]);
    add_word(arena, &words, input);
    return words;
}

/* The picture is all that is written. */
static const char *find_output(const Options *options)
{
    static const struct {
        OptionId id;
        const char *name;
    } outputs[] = {{OPTION_OUTPUT, "-o"},
                   {OPTION_CUBIN, "-cubin"},
                   {OPTION_LAUNCH_OUT, "-launch-out"},
                   {OPTION_KNOBS_OUT, "-knobs-out"},
                   {OPTION_REPORT, "-report"}};
    for (size_t i = 0; i < COUNT_OF(outputs); i++)
        if (option_given(options, outputs[i].id))
            return outputs[i].name;
    return NULL;
}

bool view_changes_read(Arena *arena, const ViewOptions *options, const char *arch, const char *input,
                       Options *changes)
{
    const Words words = command_words(arena, options, arch, input);
    const char *error = NULL;
    OptionsOutcome outcome = options_parse(arena, (int)words.count, words.data, changes, &error);
    const char *output = outcome == OPTIONS_RUN ? find_output(changes) : NULL;
    if (output)
        error = arena_printf(arena, "%s after '--': the picture is all that is written", output);
    else if (outcome == OPTIONS_HELP || outcome == OPTIONS_VERSION)
        error = "-help and -version go before '--'";
    if (error)
        fprintf(stderr, "ptxopt: error: view: %s\n", error);
    return !error;
}

const char *const *view_knobs(Arena *arena, const char *knobs)
{
    VEC(const char *) list = {0};
    for (const char *at = knobs ? knobs : ""; *at; at += strspn(at, " ")) {
        const size_t length = strcspn(at, " ");
        VEC_PUSH(arena, list, arena_strndup(arena, at, length));
        at += length;
    }
    VEC_PUSH(arena, list, NULL);
    return list.data;
}

/* The options as a name of the changed file: "k.ptx -coarsen 2". */
static const char *changed_name(Arena *arena, const ViewOptions *options)
{
    const char *name = options->input;
    for (int i = 0; i < options->change_count; i++)
        name = arena_printf(arena, "%s %s", name, options->changes[i]);
    return name;
}

bool view_side_change(ViewSide *side, Arena *arena, const ViewOptions *options, const ViewSide *before,
                      ExitStatus *status)
{
    Options *changes = ARENA_NEW(arena, Options);
    Products products = {0};
    *status = EXIT_INPUT;
    if (!before->source.module) {
        fprintf(stderr, "ptxopt: error: %s: machine code cannot be changed; give the PTX\n", options->input);
        return false;
    }
    if (!view_changes_read(arena, options, before->source.arch, options->input, changes)) {
        *status = EXIT_USAGE;
        return false;
    }
    const Source *original = before->run.source;
    Source *input = source_from_memory(arena, original->path, original->text, original->size);
    *status = run_source(arena, changes, input, stderr, &products);
    bool done = false;
    if (products.ptx) {
        const char *name = changed_name(arena, options);
        Source *source = source_from_memory(arena, name, products.ptx, products.ptx_length);
        done = view_side_read_text(side, arena, &options->request, source, view_knobs(arena, products.knobs));
        *status = done ? EXIT_DONE : EXIT_INPUT;
    }
    products_free(&products);
    return done;
}
