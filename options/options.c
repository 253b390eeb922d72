/* The command line: one dash or two, "=" or a space, as getopt_long_only reads them. The values of the options are read
 * in read.c. */
#include "options/kernel_name.h"
#include "options/read.h"

#include <getopt.h>
#include <stdlib.h>
#include <string.h>

/* "-report FILE": the next word is the file, unless it looks like an option or like the input. */
static bool is_report_word(const Reader *reader, int argc, char *const *argv, int next)
{
    bool is_option = next < argc && argv[next][0] == '-' && argv[next][1];
    if (next >= argc || is_option || text_ends_with(argv[next], ".ptx"))
        return false;
    return next + 1 < argc || reader->inputs.count > 0;
}

/* Explains a word that getopt rejected. */
static void fail_word(Reader *reader, const char *word)
{
    const char *name = word;
    while (*name == '-')
        name++;
    size_t length = strcspn(name, "=");
    if (name[0] == 'O' && name[1] >= '0' && name[1] <= '9') {
        options_fail(reader, "unknown option '%s': there are -O0, -O1, -O2 and -O3", word);
        return;
    }
    const char *bare = arena_strndup(reader->arena, name, length);
    if (option_row_find(options_table(), bare)) {
        options_fail(reader, "option '-%s' takes no value", bare);
        return;
    }
    const char *names[OPTION_COUNT];
    Buf matches = {0};
    for (unsigned i = 0; i < OPTION_COUNT; i++) {
        names[i] = options_table()[i].name;
        if (length && strncmp(names[i], bare, length) == 0)
            buf_printf(&matches, "%s-%s", matches.length ? ", " : "", names[i]);
    }
    if (matches.length) {
        options_fail(reader, "option '-%s' is ambiguous: %s", bare, buf_text(&matches));
    } else {
        const char *closest = closest_word(bare, names, OPTION_COUNT);
        if (closest)
            options_fail(reader, "unknown option '%s'; did you mean '-%s'?", word, closest);
        else
            options_fail(reader, "unknown option '%s'; 'ptxopt -help' lists them all", word);
    }
    buf_free(&matches);
}

#define SETS(field, constant) reader->options->field = constant
#define SETS_TEXT(field) reader->options->field = value
#define SETS_NUMBER(field, least, most) options_read_number(reader, id, value, least, most, &reader->options->field)
#define SETS_FILE(field) reader->options->field = options_read_file(reader, id, value)
#define ADDS_FILE(list) VEC_PUSH(reader->arena, reader->options->list, options_read_file(reader, id, value))
#define READS(function) function(reader, value)
#define ELSEWHERE break

static void read_option(Reader *reader, OptionId id, const char *value)
{
    option_set_given(reader->options, id);
    switch (id) {
#define OPTION(id, name, takes, argument, action, help) case OPTION_##id: action; break;
#include "options/options.def"
    case OPTION_COUNT: break;
    }
}

/* Two outputs must not go to the same place: the second would silently replace the first. */
static void check_outputs(Reader *reader)
{
    const Options *options = reader->options;
    const struct {
        const char *option, *path;
    } outputs[] = {
        {"-o", options->output},
        {"-cubin", options->cubin},
        {"-launch-out", options->launch_out},
        {"-knobs-out", options->knobs_out},
        {"-report", options->report_file},
    };
    for (size_t i = 0; i < COUNT_OF(outputs); i++)
        for (size_t j = 0; j < i; j++)
            if (outputs[i].path && outputs[j].path && strcmp(outputs[i].path, outputs[j].path) == 0 &&
                strcmp(outputs[i].path, "/dev/null") != 0) {
                bool is_standard = strcmp(outputs[i].path, "-") == 0;
                options_fail(reader, "%s and %s would both be written to %s",
                     j == 0 && is_standard ? "the PTX" : outputs[j].option, outputs[i].option,
                     is_standard ? "standard output" : outputs[i].path);
            }
}

static void check_files(Reader *reader)
{
    Options *options = reader->options;
    if (reader->inputs.count == 0 && reader->report_word) {
        VEC_PUSH(reader->arena, reader->inputs, reader->report_word);
        options->report_file = NULL;
    }
    if (reader->inputs.count == 0)
        options_fail(reader, "no input file ('-' reads standard input; --help lists the options)");
    else if (reader->inputs.count > 1)
        options_fail(reader, "one input file at a time: both '%s' and '%s' are given", reader->inputs.data[0],
             reader->inputs.data[1]);
    else
        options->input = options_read_file(reader, OPTION_OUTPUT, reader->inputs.data[0]);
    if (!options->output && !options->cubin)
        options->output = "-";
    if (options->cubin && options->assembler_none)
        options_fail(reader, "-cubin needs an assembler, but -assembler none is given");
}

/* True if -refine is given for this kernel, or, with NULL, for those that it does not name. */
static bool refines_same(const Options *options, const char *kernel)
{
    for (size_t i = 0; i < options->refine.count; i++) {
        const char *other = options->refine.data[i].kernel;
        if (!kernel == !other && (!kernel || strcmp(kernel, other) == 0))
            return true;
    }
    return false;
}

/* -auto stands for five options, each unless it is given for all kernels. Threads that are merged as the user says are
 * not divided. */
static void expand_auto(Reader *reader)
{
    Options *options = reader->options;
    bool coarsens = false, reduces = false, reads = false, refines = refines_same(options, NULL);
    if (!options->does_what_pays)
        return;
    if (options->assembler_none)
        options_fail(reader, "-auto chooses by the assembler's figures, but -assembler none is given");
    for (size_t i = 0; i < options->coarsen.count; i++) {
        coarsens |= !options->coarsen.data[i].kernel;
        refines |= !options->coarsen.data[i].kernel && !options->coarsen.data[i].is_auto;
    }
    for (size_t i = 0; i < options->registers.count; i++)
        reduces |= !options->registers.data[i].kernel;
    for (size_t i = 0; i < options->memory.count; i++)
        reads |= !options->memory.data[i].kernel;
    if (!coarsens)
        options_read_coarsen(reader, "auto");
    if (!refines)
        options_read_refine(reader, "auto");
    if (!reads)
        options_read_memory(reader, "auto");
    if (!options->jams.count)
        options_read_jam(reader, "auto");
    if (!reduces)
        options_read_target_regs(reader, "auto");
}

/* -tune is about kernels whose form is chosen, without -coarsen about all of them. Originals are kept, as with
 * -tune-from, because launches are adapted. */
static void expand_tune(Reader *reader)
{
    Options *options = reader->options;
    options->keep_original |= options->tune_from != NULL;
    if (!options->tuned_forms)
        return;
    if (options->assembler_none)
        options_fail(reader, "-tune ranks forms by the assembler's figures, but -assembler none is given");
    options->keep_original = true;
    if (!options->coarsen.count)
        options_read_coarsen(reader, "auto");
}

static bool refines_auto(const Options *options)
{
    for (size_t i = 0; i < options->refine.count; i++)
        if (options->refine.data[i].is_auto)
            return true;
    return false;
}

/* Whether -memory may count privately in any kernel. */
static bool counts_any(const Options *options)
{
    for (size_t i = 0; i < options->memory.count; i++)
        if (options->memory.data[i].is_auto || options->memory.data[i].counts)
            return true;
    return false;
}

/* Checks that the options go together. */
static void check_options(Reader *reader)
{
    Options *options = reader->options;
    expand_auto(reader);
    expand_tune(reader);
    const bool gives_words = options->ptxas_options.count || options->controls;
    if (gives_words && option_given(options, OPTION_ASSEMBLER) &&
        (options->assembler_none || options->assembler != ASSEMBLER_PTXAS))
        options_fail(reader, "%s, but -assembler says not to use it",
                     options->controls ? "-apply-controls is for ptxas" : "-Xptxas passes options to ptxas");
    if (gives_words) {
        options->assembler = ASSEMBLER_PTXAS;
        option_set_given(options, OPTION_ASSEMBLER);
    }
    if (option_given(options, OPTION_STRIDE) && options->coarsen.count == 0)
        options_fail(reader, "-stride says how to coarsen, but -coarsen is not given");
    if (option_given(options, OPTION_COARSEN_GRID) && options->coarsen.count == 0)
        options_fail(reader, "-coarsen-grid says how to coarsen, but -coarsen is not given");
    if (option_given(options, OPTION_COARSEN_GUARDS) && options->coarsen.count == 0)
        options_fail(reader, "-coarsen-guards says how to coarsen, but -coarsen is not given");
    if (options->launch_out && !options->coarsen.count && !options->refine.count)
        options_fail(reader, "-launch-out describes how coarsened and refined kernels are launched, but neither "
                             "-coarsen nor -refine is given");
    if (options->knobs && options->registers.count == 0)
        options_fail(reader, "-knobs widens the search of -target-regs, which is not given");
    bool has_none = options->assembler_none ||
                    (option_given(options, OPTION_ASSEMBLER) && options->assembler == ASSEMBLER_DRIVER);
    if (options->knobs && has_none)
        options_fail(reader, "-knobs tries options of ptxas, but -assembler says not to use it");
    if (options->knobs && !option_given(options, OPTION_ASSEMBLER))
        options->assembler = ASSEMBLER_PTXAS;
    if (options->knobs_out && !options->knobs)
        options_fail(reader, "-knobs-out is for the options that -knobs finds, but -knobs is not given");
    if (options_jam_auto(options) && options->assembler_none)
        options_fail(reader, "-uj auto chooses by the assembler's figures, but -assembler none is given");
    if (refines_auto(options) && options->assembler_none)
        options_fail(reader, "-refine auto chooses by the assembler's figures, but -assembler none is given");
    if (options->reassociates && !options->refine.count && !counts_any(options) && !options->tune_from)
        options_fail(reader, "-reassociate says how sums may be added, but none of -refine, -memory counters and "
                             "-tune-from is given");
    for (size_t i = 0; i < options->coarsen.count; i++) {
        const CoarsenOption *coarsen = &options->coarsen.data[i];
        if (!coarsen->is_auto && refines_same(options, coarsen->kernel))
            options_fail(reader, "-coarsen merges threads and -refine divides them: give one of them%s%s",
                         coarsen->kernel ? " for " : "", coarsen->kernel ? coarsen->kernel : "");
        if (options->merges_blocks && merges_any(coarsen->shape.threads) && merges_any(coarsen->shape.blocks))
            options_fail(reader, "-coarsen-level block makes all factors those of blocks, with 'b' and without");
        else if (coarsen->is_auto && options->assembler_none)
            options_fail(reader, "-coarsen auto chooses by the assembler's figures, but -assembler none is given");
    }
}

void options_init(Options *options)
{
    *options = (Options){.level = 2,
                         .search = -1,
                         .assembler = ASSEMBLER_AUTO,
                         .stride = {.kind = STRIDE_BLOCK}};
    for (unsigned i = 0; i < pass_count; i++)
        options->passes.enabled[i] = true;
}

const char *options_set(Arena *arena, Options *options, const char *name, const char *value)
{
    Reader reader = {.arena = arena, .options = options};
    const OptionRow *row = option_row_find(options_table(), name);
    if (!row)
        fail_word(&reader, name);
    else if (row->is_for_program)
        options_fail(&reader, "option '-%s' is for the program only", name);
    else if (row->takes == required_argument && !value)
        options_fail(&reader, "option '-%s' needs a value", name);
    else if (row->takes == no_argument && value)
        options_fail(&reader, "option '-%s' takes no value", name);
    else
        read_option(&reader, (OptionId)(row - options_table()),
                    value ? arena_strndup(arena, value, strlen(value)) : NULL);
    return reader.error;
}

const char *options_check(Arena *arena, Options *options)
{
    Reader reader = {.arena = arena, .options = options};
    check_options(&reader);
    return reader.error;
}

OptionsOutcome options_parse(Arena *arena, int argc, char *const *argv, Options *options, const char **error)
{
    options_init(options);
    Reader reader = {.arena = arena, .options = options};
    *error = NULL;
    /* getopt may reorder its argv. */
    char **words = ARENA_ARRAY(arena, char *, (size_t)argc + 1);
    memcpy(words, argv, (size_t)argc * sizeof *argv);
    const struct option *table = option_rows_for_getopt(arena, options_table());
    optind = 0;
    opterr = 0;
    for (int id; !reader.error && (id = getopt_long_only(argc, words, "-:", table, NULL)) != -1;) {
        switch (id) {
        case 1: VEC_PUSH(arena, reader.inputs, optarg); break;
        case '?': fail_word(&reader, words[optind - 1]); break;
        case ':':
            options_fail(&reader, "option '-%s' needs a value", options_table()[optopt - FIRST_OPTION].name);
            break;
        case FIRST_OPTION + OPTION_HELP: return OPTIONS_HELP;
        case FIRST_OPTION + OPTION_VERSION: return OPTIONS_VERSION;
        case FIRST_OPTION + OPTION_REPORT:
            option_set_given(options, OPTION_REPORT);
            options->report = true;
            reader.report_word = NULL;
            if (optarg && strcmp(optarg, "full") == 0)
                options->report_full = true;
            else if (optarg)
                options->report_file = options_read_file(&reader, OPTION_REPORT, optarg);
            else if (is_report_word(&reader, argc, words, optind))
                options->report_file = reader.report_word = words[optind++];
            break;
        default: read_option(&reader, (OptionId)(id - FIRST_OPTION), optarg); break;
        }
    }
    for (int i = optind; !reader.error && i < argc; i++)
        VEC_PUSH(arena, reader.inputs, words[i]);
    if (!reader.error)
        check_files(&reader);
    if (!reader.error)
        check_options(&reader);
    if (!reader.error)
        check_outputs(&reader);
    *error = reader.error;
    return reader.error ? OPTIONS_WRONG : OPTIONS_RUN;
}

/* The seconds of -search, or else those for the level. */
static double seconds_of(const Options *options, const double by_level[4])
{
    return options->search < 0 ? by_level[options->level] : options->search;
}

double options_search_seconds(const Options *options)
{
    return seconds_of(options, (const double[]){0, 60, 120, 600});
}

double options_choice_seconds(const Options *options)
{
    return seconds_of(options, (const double[]){10, 25, 50, 600});
}

double options_memory_seconds(const Options *options)
{
    return seconds_of(options, (const double[]){4, 8, 16, 600});
}

/* The last option that names the kernel, or else the last one without a kernel. */
#define OPTION_FOR(list, kernel_name, applies)                                                                         \
    do {                                                                                                               \
        size_t found = SIZE_MAX;                                                                                       \
        for (size_t i = 0; i < (list).count; i++) {                                                                    \
            if (!(applies))                                                                                            \
                continue;                                                                                              \
            const char *named = (list).data[i].kernel;                                                                 \
            bool general = found == SIZE_MAX || !(list).data[found].kernel;                                            \
            if (named ? kernel_name_matches(named, kernel_name) : general)                                             \
                found = i;                                                                                             \
        }                                                                                                              \
        return found == SIZE_MAX ? NULL : &(list).data[found];                                                         \
    } while (0)

const CoarsenOption *options_coarsen_for(const Options *options, const char *kernel)
{
    OPTION_FOR(options->coarsen, kernel, !options->coarsen.data[i].is_source);
}

Shape options_shape(const Options *options, const CoarsenOption *coarsen)
{
    const unsigned *threads = coarsen->shape.threads;
    if (!options->merges_blocks || !merges_any(threads))
        return coarsen->shape;
    Shape shape = coarsen->shape;
    for (unsigned d = 0; d < 3; d++) {
        shape.blocks[d] = threads[d];
        shape.threads[d] = 1;
    }
    return shape;
}

const RegistersOption *options_registers_for(const Options *options, const char *kernel)
{
    OPTION_FOR(options->registers, kernel, true);
}

const MemoryOption *options_memory_for(const Options *options, const char *kernel)
{
    OPTION_FOR(options->memory, kernel, true);
}

const OrderOption *options_order_for(const Options *options, const char *kernel)
{
    OPTION_FOR(options->block_orders, kernel, true);
}

const BlockOption *options_block_for(const Options *options, const char *kernel)
{
    OPTION_FOR(options->blocks, kernel, true);
}

const RefineOption *options_refine_for(const Options *options, const char *kernel)
{
    OPTION_FOR(options->refine, kernel, true);
}

const SharedOption *options_shared_for(const Options *options, const char *kernel)
{
    OPTION_FOR(options->dynamic_shared, kernel, true);
}

bool options_want_figures(const Options *options)
{
    return options->report || options->summary;
}

bool options_jam_auto(const Options *options)
{
    for (size_t i = 0; i < options->jams.count; i++)
        if (options->jams.data[i].is_auto)
            return true;
    return false;
}

bool options_selects(const Options *options, const char *kernel)
{
    for (size_t i = 0; i < options->entries.count; i++)
        if (kernel_name_matches(options->entries.data[i], kernel))
            return true;
    return options->entries.count == 0;
}
