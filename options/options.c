/* The command line: one dash or two, "=" or a space, as getopt_long_only reads them. The values of the options are read
 * in read.c. */
#include "options/kernel_name.h"
#include "options/read.h"

#include <getopt.h>
#include <stdlib.h>
#include <string.h>

typedef enum OptionId {
    OPTION_OUTPUT = 256,
    OPTION_CUBIN,
    OPTION_ARCH,
    OPTION_ENTRY,
    OPTION_COARSEN,
    OPTION_COARSEN_LEVEL,
    OPTION_COARSEN_GRID,
    OPTION_COARSEN_GUARDS,
    OPTION_COARSEN_GROWTH,
    OPTION_STRIDE,
    OPTION_UNROLL_JAM,
    OPTION_TARGET_REGS,
    OPTION_BLOCK,
    OPTION_DYNAMIC_SHARED,
    OPTION_ASSEMBLER,
    OPTION_XPTXAS,
    OPTION_KEEP_ORIGINAL,
    OPTION_INPUT_NAME,
    OPTION_MISSING_OK,
    OPTION_SPILL,
    OPTION_KNOBS,
    OPTION_KNOBS_OUT,
    OPTION_LAUNCH_OUT,
    OPTION_REPORT,
    OPTION_REPORT_FORMAT,
    OPTION_SUMMARY,
    OPTION_SEARCH,
    OPTION_O0,
    OPTION_O1,
    OPTION_O2,
    OPTION_O3,
    OPTION_PASS,
    OPTION_DUMP,
    OPTION_VERIFY,
    OPTION_LAUNCH,
    OPTION_MACHINE,
    OPTION_CANONICAL,
    OPTION_WERROR,
    OPTION_QUIET,
    OPTION_VERBOSE,
    OPTION_VERSION,
    OPTION_HELP
} OptionId;

static const struct option long_options[] = {
    {"o", required_argument, NULL, OPTION_OUTPUT},
    {"cubin", required_argument, NULL, OPTION_CUBIN},
    {"arch", required_argument, NULL, OPTION_ARCH},
    {"entry", required_argument, NULL, OPTION_ENTRY},
    {"coarsen", required_argument, NULL, OPTION_COARSEN},
    {"coarsen-level", required_argument, NULL, OPTION_COARSEN_LEVEL},
    {"coarsen-grid", required_argument, NULL, OPTION_COARSEN_GRID},
    {"coarsen-guards", required_argument, NULL, OPTION_COARSEN_GUARDS},
    {"coarsen-growth", required_argument, NULL, OPTION_COARSEN_GROWTH},
    {"stride", required_argument, NULL, OPTION_STRIDE},
    {"uj", required_argument, NULL, OPTION_UNROLL_JAM},
    {"target-regs", required_argument, NULL, OPTION_TARGET_REGS},
    {"block", required_argument, NULL, OPTION_BLOCK},
    {"dynamic-shared", required_argument, NULL, OPTION_DYNAMIC_SHARED},
    {"assembler", required_argument, NULL, OPTION_ASSEMBLER},
    {"Xptxas", required_argument, NULL, OPTION_XPTXAS},
    {"spill", no_argument, NULL, OPTION_SPILL},
    {"knobs", no_argument, NULL, OPTION_KNOBS},
    {"knobs-out", required_argument, NULL, OPTION_KNOBS_OUT},
    {"keep-original", no_argument, NULL, OPTION_KEEP_ORIGINAL},
    {"input-name", required_argument, NULL, OPTION_INPUT_NAME},
    {"missing-ok", no_argument, NULL, OPTION_MISSING_OK},
    {"launch-out", required_argument, NULL, OPTION_LAUNCH_OUT},
    {"report", optional_argument, NULL, OPTION_REPORT},
    {"report-format", required_argument, NULL, OPTION_REPORT_FORMAT},
    {"summary", no_argument, NULL, OPTION_SUMMARY},
    {"search", required_argument, NULL, OPTION_SEARCH},
    {"O0", no_argument, NULL, OPTION_O0},
    {"O1", no_argument, NULL, OPTION_O1},
    {"O2", no_argument, NULL, OPTION_O2},
    {"O3", no_argument, NULL, OPTION_O3},
    {"p", required_argument, NULL, OPTION_PASS},
    {"d", required_argument, NULL, OPTION_DUMP},
    {"verify", required_argument, NULL, OPTION_VERIFY},
    {"launch", required_argument, NULL, OPTION_LAUNCH},
    {"machine", required_argument, NULL, OPTION_MACHINE},
    {"canonical", no_argument, NULL, OPTION_CANONICAL},
    {"Werror", no_argument, NULL, OPTION_WERROR},
    {"q", no_argument, NULL, OPTION_QUIET},
    {"v", no_argument, NULL, OPTION_VERBOSE},
    {"version", no_argument, NULL, OPTION_VERSION},
    {"help", no_argument, NULL, OPTION_HELP},
    {NULL, 0, NULL, 0},
};

const struct option *options_table(void)
{
    return long_options;
}

static bool ends_with(const char *text, const char *tail)
{
    size_t length = strlen(text), tail_length = strlen(tail);
    return length >= tail_length && strcmp(text + length - tail_length, tail) == 0;
}

/* "-report FILE": the next word is the file, unless it looks like an option or like the input. */
static bool is_report_word(const Reader *reader, int argc, char *const *argv, int next)
{
    bool is_option = next < argc && argv[next][0] == '-' && argv[next][1];
    if (next >= argc || is_option || ends_with(argv[next], ".ptx"))
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
    const char *names[COUNT_OF(long_options)];
    size_t count = 0;
    Buf matches = {0};
    for (const struct option *option = long_options; option->name; option++) {
        names[count++] = option->name;
        if (strcmp(option->name, bare) == 0) {
            options_fail(reader, "option '-%s' takes no value", bare);
            buf_free(&matches);
            return;
        }
        if (length && strncmp(option->name, bare, length) == 0)
            buf_printf(&matches, "%s-%s", matches.length ? ", " : "", option->name);
    }
    if (matches.length) {
        options_fail(reader, "option '-%s' is ambiguous: %s", bare, buf_text(&matches));
    } else {
        const char *closest = closest_word(bare, names, count);
        if (closest)
            options_fail(reader, "unknown option '%s'; did you mean '-%s'?", word, closest);
        else
            options_fail(reader, "unknown option '%s'; 'ptxopt -help' lists them all", word);
    }
    buf_free(&matches);
}

static const char *option_name(int id)
{
    for (const struct option *option = long_options; option->name; option++)
        if (option->val == id)
            return option->name;
    return "?";
}

/* An empty file name is a mistake, usually an unset variable in a script. */
static const char *file_name(Reader *reader, int id, const char *text)
{
    if (!*text)
        options_fail(reader, "-%s: the file name is empty", option_name(id));
    return text;
}

static void read_option(Reader *reader, int id, const char *value)
{
    Options *options = reader->options;
    switch ((OptionId)id) {
    case OPTION_OUTPUT: options->output = file_name(reader, id, value); break;
    case OPTION_CUBIN: options->cubin = file_name(reader, id, value); break;
    case OPTION_LAUNCH_OUT: options->launch_out = file_name(reader, id, value); break;
    case OPTION_ARCH: {
        Arch arch;
        if (!arch_parse(value, &arch))
            options_fail(reader, "-arch %s: expected an architecture such as sm_90 or sm_100a", value);
        options->arch = value;
        break;
    }
    case OPTION_ENTRY: options_read_entries(reader, value); break;
    case OPTION_COARSEN: options_read_coarsen(reader, value); break;
    case OPTION_COARSEN_LEVEL:
        options->level_given = true;
        if (!coarsen_level_read(value, &options->coarsen_level))
            options_fail(reader, "-coarsen-level %s: expected 'thread' or 'block'", value);
        break;
    case OPTION_COARSEN_GRID: options_read_grid(reader, value); break;
    case OPTION_COARSEN_GUARDS: options_read_guards(reader, value); break;
    case OPTION_COARSEN_GROWTH: options_read_growth(reader, value); break;
    case OPTION_STRIDE: options_read_stride(reader, value); break;
    case OPTION_UNROLL_JAM: options_read_jam(reader, value); break;
    case OPTION_TARGET_REGS: options_read_target_regs(reader, value); break;
    case OPTION_BLOCK: options_read_block(reader, value); break;
    case OPTION_DYNAMIC_SHARED: options_read_shared(reader, value); break;
    case OPTION_ASSEMBLER: options_read_assembler(reader, value); break;
    case OPTION_XPTXAS:
        VEC_PUSH(reader->arena, options->ptxas_options, value);
        /* The list ends with NULL. */
        VEC_PUSH(reader->arena, options->ptxas_options, NULL);
        options->ptxas_options.count--;
        break;
    case OPTION_SPILL: options->spill = true; break;
    case OPTION_KNOBS: options->knobs = true; break;
    case OPTION_KNOBS_OUT: options->knobs_out = file_name(reader, id, value); break;
    case OPTION_KEEP_ORIGINAL: options->keep_original = true; break;
    case OPTION_INPUT_NAME: options->input_name = value; break;
    case OPTION_MISSING_OK: options->missing_ok = true; break;
    case OPTION_REPORT_FORMAT:
        options->report_json = strcmp(value, "json") == 0;
        options->report = true;
        if (!options->report_json && strcmp(value, "text") != 0)
            options_fail(reader, "-report-format %s: expected 'text' or 'json'", value);
        break;
    case OPTION_SUMMARY: options->summary = true; break;
    case OPTION_SEARCH: options_read_search(reader, value); break;
    case OPTION_O0:
    case OPTION_O1:
    case OPTION_O2:
    case OPTION_O3: options->level = (unsigned)(id - OPTION_O0); break;
    case OPTION_PASS: options_read_passes(reader, value); break;
    case OPTION_DUMP: options_read_dumps(reader, value); break;
    case OPTION_VERIFY: VEC_PUSH(reader->arena, options->verify, file_name(reader, id, value)); break;
    case OPTION_LAUNCH: VEC_PUSH(reader->arena, options->launches, file_name(reader, id, value)); break;
    case OPTION_MACHINE: options->machine = file_name(reader, id, value); break;
    case OPTION_CANONICAL: options->canonical = true; break;
    case OPTION_WERROR: options->warnings_are_errors = true; break;
    case OPTION_QUIET: options->quiet = true; break;
    case OPTION_VERBOSE: options->verbose = true; break;
    case OPTION_REPORT:
    case OPTION_VERSION:
    case OPTION_HELP: break; /* handled by options_parse */
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
        options->input = file_name(reader, OPTION_OUTPUT, reader->inputs.data[0]);
    if (!options->output && !options->cubin)
        options->output = "-";
    if (options->cubin && options->assembler_none)
        options_fail(reader, "-cubin needs an assembler, but -assembler none is given");
}

/* Whether the options go together. */
static void check_options(Reader *reader)
{
    Options *options = reader->options;
    options->stride_given = reader->stride_given;
    if (options->ptxas_options.count && options->assembler_given &&
        (options->assembler_none || options->assembler != ASSEMBLER_PTXAS))
        options_fail(reader, "-Xptxas passes options to ptxas, but -assembler says not to use it");
    if (options->ptxas_options.count) {
        options->assembler = ASSEMBLER_PTXAS;
        options->assembler_given = true;
    }
    if (reader->stride_given && options->coarsen.count == 0)
        options_fail(reader, "-stride says how to coarsen, but -coarsen is not given");
    if (options->grid_given && options->coarsen.count == 0)
        options_fail(reader, "-coarsen-grid says how to coarsen, but -coarsen is not given");
    if (options->guards_given && options->coarsen.count == 0)
        options_fail(reader, "-coarsen-guards says how to coarsen, but -coarsen is not given");
    if (options->launch_out && options->coarsen.count == 0)
        options_fail(reader, "-launch-out describes how coarsened kernels are launched, but -coarsen is not given");
    if (options->knobs && options->registers.count == 0)
        options_fail(reader, "-knobs widens the search of -target-regs, which is not given");
    bool has_none = options->assembler_none || (options->assembler_given && options->assembler == ASSEMBLER_DRIVER);
    if (options->knobs && has_none)
        options_fail(reader, "-knobs tries options of ptxas, but -assembler says not to use it");
    if (options->knobs && !options->assembler_given)
        options->assembler = ASSEMBLER_PTXAS;
    if (options->knobs_out && !options->knobs)
        options_fail(reader, "-knobs-out is for the options that -knobs finds, but -knobs is not given");
    if (options_jam_auto(options) && options->assembler_none)
        options_fail(reader, "-uj auto chooses by the assembler's figures, but -assembler none is given");
    for (size_t i = 0; i < options->coarsen.count; i++)
        if (options->coarsen_level == LEVEL_BLOCK && has_factor(options->coarsen.data[i].factor) &&
            has_factor(options->coarsen.data[i].merged))
            options_fail(reader, "-coarsen-level block makes all factors those of blocks, with 'b' and without");
        else if (options->coarsen.data[i].is_auto && options->assembler_none)
            options_fail(reader, "-coarsen auto chooses by the assembler's figures, but -assembler none is given");
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

/* Files are the business of the program. */
static bool is_for_program(int id)
{
    return id == OPTION_OUTPUT || id == OPTION_CUBIN || id == OPTION_LAUNCH_OUT || id == OPTION_KNOBS_OUT ||
           id == OPTION_REPORT || id == OPTION_SUMMARY || id == OPTION_DUMP || id == OPTION_VERSION ||
           id == OPTION_HELP;
}

const char *options_set(Arena *arena, Options *options, const char *name, const char *value)
{
    Reader reader = {.arena = arena, .options = options, .stride_given = options->stride_given};
    const struct option *option = long_options;
    while (option->name && strcmp(option->name, name) != 0)
        option++;
    if (!option->name)
        fail_word(&reader, name);
    else if (is_for_program(option->val))
        options_fail(&reader, "option '-%s' is for the program only", name);
    else if (option->has_arg == required_argument && !value)
        options_fail(&reader, "option '-%s' needs a value", name);
    else if (option->has_arg == no_argument && value)
        options_fail(&reader, "option '-%s' takes no value", name);
    else
        read_option(&reader, option->val, value ? arena_strndup(arena, value, strlen(value)) : NULL);
    options->stride_given = reader.stride_given;
    return reader.error;
}

const char *options_check(Arena *arena, Options *options)
{
    Reader reader = {.arena = arena, .options = options, .stride_given = options->stride_given};
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
    optind = 0;
    opterr = 0;
    for (int id; !reader.error && (id = getopt_long_only(argc, words, "-:", long_options, NULL)) != -1;) {
        switch (id) {
        case 1: VEC_PUSH(arena, reader.inputs, optarg); break;
        case '?': fail_word(&reader, words[optind - 1]); break;
        case ':':
            options_fail(&reader, "option '-%s' needs a value", option_name(optopt));
            break;
        case OPTION_HELP: return OPTIONS_HELP;
        case OPTION_VERSION: return OPTIONS_VERSION;
        case OPTION_REPORT:
            options->report = true;
            reader.report_word = NULL;
            if (optarg)
                options->report_file = file_name(&reader, id, optarg);
            else if (is_report_word(&reader, argc, words, optind))
                options->report_file = reader.report_word = words[optind++];
            break;
        default: read_option(&reader, id, optarg); break;
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

double options_search_seconds(const Options *options)
{
    static const double by_level[] = {0, 60, 120, 600};
    return options->search < 0 ? by_level[options->level] : options->search;
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

const RegistersOption *options_registers_for(const Options *options, const char *kernel)
{
    OPTION_FOR(options->registers, kernel, true);
}

const BlockOption *options_block_for(const Options *options, const char *kernel)
{
    OPTION_FOR(options->blocks, kernel, true);
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
