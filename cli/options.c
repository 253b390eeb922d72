/* The command line: one dash or two, "=" or a space, as getopt_long_only reads them. */
#include "cli/options.h"

#include <getopt.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

enum {
    LARGEST_FACTOR = 1024,
    LARGEST_BLOCK = 1024,
    LARGEST_BLOCK_Z = 64,
    LARGEST_REGISTERS = 255,
    LEAST_REGISTERS = 8
};

typedef enum OptionId {
    OPTION_OUTPUT = 256,
    OPTION_CUBIN,
    OPTION_ARCH,
    OPTION_ENTRY,
    OPTION_COARSEN,
    OPTION_COARSEN_LEVEL,
    OPTION_STRIDE,
    OPTION_TARGET_REGS,
    OPTION_BLOCK,
    OPTION_ASSEMBLER,
    OPTION_LAUNCH_OUT,
    OPTION_REPORT,
    OPTION_REPORT_FORMAT,
    OPTION_O0,
    OPTION_O1,
    OPTION_O2,
    OPTION_O3,
    OPTION_PASS,
    OPTION_DUMP,
    OPTION_VERIFY,
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
    {"stride", required_argument, NULL, OPTION_STRIDE},
    {"target-regs", required_argument, NULL, OPTION_TARGET_REGS},
    {"block", required_argument, NULL, OPTION_BLOCK},
    {"assembler", required_argument, NULL, OPTION_ASSEMBLER},
    {"launch-out", required_argument, NULL, OPTION_LAUNCH_OUT},
    {"report", optional_argument, NULL, OPTION_REPORT},
    {"report-format", required_argument, NULL, OPTION_REPORT_FORMAT},
    {"O0", no_argument, NULL, OPTION_O0},
    {"O1", no_argument, NULL, OPTION_O1},
    {"O2", no_argument, NULL, OPTION_O2},
    {"O3", no_argument, NULL, OPTION_O3},
    {"p", required_argument, NULL, OPTION_PASS},
    {"d", required_argument, NULL, OPTION_DUMP},
    {"verify", required_argument, NULL, OPTION_VERIFY},
    {"canonical", no_argument, NULL, OPTION_CANONICAL},
    {"Werror", no_argument, NULL, OPTION_WERROR},
    {"q", no_argument, NULL, OPTION_QUIET},
    {"v", no_argument, NULL, OPTION_VERBOSE},
    {"version", no_argument, NULL, OPTION_VERSION},
    {"help", no_argument, NULL, OPTION_HELP},
    {NULL, 0, NULL, 0},
};

typedef struct Reader {
    Arena *arena;
    Options *options;
    const char *error; /* the first thing that is wrong */
    bool level_block;
    bool stride_given;
    const char *report_word; /* the FILE of "-report FILE", which may turn out to be the input */
    VEC(const char *) inputs;
} Reader;

static void fail(Reader *reader, const char *format, ...) PRINTF_LIKE(2, 3);
static void fail(Reader *reader, const char *format, ...)
{
    if (reader->error)
        return;
    Buf text = {0};
    va_list arguments;
    va_start(arguments, format);
    buf_vprintf(&text, format, arguments);
    va_end(arguments);
    reader->error = arena_strndup(reader->arena, buf_text(&text), text.length);
    buf_free(&text);
}

/* Reads decimal digits and moves *at behind them.  False if there are none or the number does not fit. */
static bool read_number(const char **at, unsigned *number)
{
    const char *start = *at;
    uint64_t value = 0;
    while (**at >= '0' && **at <= '9') {
        value = value * 10 + (unsigned)(**at - '0');
        if (value > UINT_MAX)
            return false;
        ++*at;
    }
    *number = (unsigned)value;
    return *at > start;
}

static bool whole_number(const char *text, unsigned *number)
{
    return read_number(&text, number) && *text == 0;
}

/* Splits "KERNEL:REST" at the first colon: no PTX name holds one.  *kernel is NULL where there is none. */
static bool split_kernel(Reader *reader, const char *option, const char *text, const char **kernel, const char **rest)
{
    const char *colon = strchr(text, ':');
    *kernel = NULL;
    *rest = text;
    if (!colon)
        return true;
    if (colon == text) {
        fail(reader, "%s %s: no kernel before the ':'", option, text);
        return false;
    }
    *kernel = arena_strndup(reader->arena, text, (size_t)(colon - text));
    *rest = colon + 1;
    return true;
}

static void read_coarsen(Reader *reader, const char *text)
{
    CoarsenOption option = {.factor = {1, 1, 1}};
    const char *at;
    if (!split_kernel(reader, "-coarsen", text, &option.kernel, &at))
        return;
    if (strcmp(at, "auto") == 0) {
        option.is_auto = true;
        VEC_PUSH(reader->arena, reader->options->coarsen, option);
        return;
    }
    bool seen[3] = {false};
    for (;;) {
        unsigned dimension = 0, factor;
        if (*at >= 'x' && *at <= 'z')
            dimension = (unsigned)(*at++ - 'x');
        if (!read_number(&at, &factor) || (*at && *at != ',')) {
            fail(reader, "-coarsen %s: expected a factor (2, x2, x2,y2) or 'auto', perhaps after 'KERNEL:'", text);
            return;
        }
        if (factor < 1 || factor > LARGEST_FACTOR) {
            fail(reader, "-coarsen %s: the factor is %u, but has to be from 1 (not coarsened) to %d", text, factor,
                 LARGEST_FACTOR);
            return;
        }
        if (seen[dimension]) {
            fail(reader, "-coarsen %s: a factor for %c is given twice", text, "xyz"[dimension]);
            return;
        }
        seen[dimension] = true;
        option.factor[dimension] = factor;
        if (*at++ == 0)
            break;
    }
    if ((uint64_t)option.factor[0] * option.factor[1] * option.factor[2] > LARGEST_FACTOR) {
        fail(reader, "-coarsen %s: a block has at most %d threads, so the factors cannot make more than that together",
             text, LARGEST_FACTOR);
        return;
    }
    VEC_PUSH(reader->arena, reader->options->coarsen, option);
}

static void read_stride(Reader *reader, const char *text)
{
    Stride *stride = &reader->options->stride;
    reader->stride_given = true;
    *stride = (Stride){.kind = STRIDE_BLOCK};
    if (strcmp(text, "block") == 0)
        return;
    if (strcmp(text, "unit") == 0)
        stride->kind = STRIDE_UNIT;
    else if (whole_number(text, &stride->number) && stride->number >= 1 && stride->number <= LARGEST_BLOCK)
        stride->kind = STRIDE_NUMBER;
    else
        fail(reader, "-stride %s: expected 'block', 'unit' or a number of threads from 1 to %d", text, LARGEST_BLOCK);
}

static void read_target_regs(Reader *reader, const char *text)
{
    RegistersOption option = {0};
    const char *at;
    if (!split_kernel(reader, "-target-regs", text, &option.kernel, &at))
        return;
    if (strcmp(at, "auto") == 0)
        option.is_auto = true;
    else if (!whole_number(at, &option.target) || option.target < LEAST_REGISTERS ||
             option.target > LARGEST_REGISTERS) {
        fail(reader, "-target-regs %s: expected a number of registers from %d to %d or 'auto', perhaps after 'KERNEL:'",
             text, LEAST_REGISTERS, LARGEST_REGISTERS);
        return;
    }
    VEC_PUSH(reader->arena, reader->options->registers, option);
}

static void read_block(Reader *reader, const char *text)
{
    BlockOption option = {.threads = {1, 1, 1}};
    const char *at;
    if (!split_kernel(reader, "-block", text, &option.kernel, &at))
        return;
    for (unsigned dimension = 0;; dimension++) {
        if (dimension == 3 || !read_number(&at, &option.threads[dimension]) || (*at && *at != ',')) {
            fail(reader, "-block %s: expected X or X,Y or X,Y,Z threads, perhaps after 'KERNEL:'", text);
            return;
        }
        unsigned largest = dimension == 2 ? LARGEST_BLOCK_Z : LARGEST_BLOCK;
        if (option.threads[dimension] < 1 || option.threads[dimension] > largest) {
            fail(reader, "-block %s: a block has from 1 to %u threads along %c", text, largest, "xyz"[dimension]);
            return;
        }
        if (*at++ == 0)
            break;
    }
    uint64_t threads = (uint64_t)option.threads[0] * option.threads[1] * option.threads[2];
    if (threads > LARGEST_BLOCK) {
        fail(reader, "-block %s: these are %llu threads, but a block has at most %d", text, (unsigned long long)threads,
             LARGEST_BLOCK);
        return;
    }
    VEC_PUSH(reader->arena, reader->options->blocks, option);
}

static void read_assembler(Reader *reader, const char *word)
{
    static const char *const words[] = {"auto", "driver", "nvjitlink", "ptxas", "none"};
    Options *options = reader->options;
    options->assembler_given = true;
    options->assembler_none = strcmp(word, "none") == 0;
    if (options->assembler_none || assembler_kind_parse(word, &options->assembler))
        return;
    const char *closest = closest_word(word, words, COUNT_OF(words));
    fail(reader, "-assembler %s: expected auto, driver, nvjitlink, ptxas or none%s%s%s", word,
         closest ? "; did you mean '" : "", closest ? closest : "", closest ? "'?" : "");
}

static const Pass *find_pass(const char *name)
{
    for (unsigned i = 0; i < PASS_COUNT; i++)
        if (strcmp(pass_table[i].name, name) == 0)
            return &pass_table[i];
    return NULL;
}

static void read_passes(Reader *reader, const char *text)
{
    for (const char *at = text;;) {
        size_t length = strcspn(at, ",");
        const char *word = arena_strndup(reader->arena, at, length);
        bool off = *word == '-';
        const Pass *pass = find_pass(word + off);
        if (!pass) {
            const char *names[PASS_COUNT];
            Buf all = {0};
            for (unsigned i = 0; i < PASS_COUNT; i++) {
                names[i] = pass_table[i].name;
                buf_printf(&all, "%s%s", i ? ", " : "", names[i]);
            }
            const char *closest = closest_word(word + off, names, PASS_COUNT);
            if (closest)
                fail(reader, "-p %s: no pass is called '%s'; did you mean '%s'?", text, word + off, closest);
            else
                fail(reader, "-p %s: no pass is called '%s'; there are %s", text, word + off, buf_text(&all));
            buf_free(&all);
            return;
        }
        reader->options->passes.enabled[pass->id] = !off;
        at += length;
        if (*at++ == 0)
            return;
    }
}

static void read_dumps(Reader *reader, const char *letters)
{
    for (const char *at = letters; *at; at++) {
        bool known = false;
        for (unsigned i = 0; i < PASS_COUNT; i++)
            if (pass_table[i].letter == *at)
                known = reader->options->passes.dumped[pass_table[i].id] = true;
        if (!known) {
            Buf all = {0};
            for (unsigned i = 0; i < PASS_COUNT; i++)
                buf_printf(&all, "%s%c (%s)", i ? ", " : "", pass_table[i].letter, pass_table[i].name);
            fail(reader, "-d %s: no pass has the letter '%c'; there are %s", letters, *at, buf_text(&all));
            buf_free(&all);
            return;
        }
    }
    if (!*letters)
        fail(reader, "-d: no letter given");
}

static void read_entries(Reader *reader, const char *text)
{
    for (const char *at = text;;) {
        size_t length = strcspn(at, ",");
        if (!length) {
            fail(reader, "-entry %s: expected NAME or NAME,NAME...", *text ? text : "''");
            return;
        }
        VEC_PUSH(reader->arena, reader->options->entries, arena_strndup(reader->arena, at, length));
        at += length;
        if (*at++ == 0)
            return;
    }
}

static bool ends_with(const char *text, const char *tail)
{
    size_t length = strlen(text), tail_length = strlen(tail);
    return length >= tail_length && strcmp(text + length - tail_length, tail) == 0;
}

/* "-report FILE": the next word is the file unless it looks like an option or like the input. */
static bool is_report_word(const Reader *reader, int argc, char *const *argv, int next)
{
    if (next >= argc || argv[next][0] == '-' || ends_with(argv[next], ".ptx"))
        return false;
    return next + 1 < argc || reader->inputs.count > 0;
}

/* Says what is wrong with a word that getopt did not take. */
static void fail_word(Reader *reader, const char *word)
{
    const char *name = word;
    while (*name == '-')
        name++;
    size_t length = strcspn(name, "=");
    const char *bare = arena_strndup(reader->arena, name, length);
    const char *names[COUNT_OF(long_options)];
    size_t count = 0;
    Buf matches = {0};
    for (const struct option *option = long_options; option->name; option++) {
        names[count++] = option->name;
        if (strcmp(option->name, bare) == 0) {
            fail(reader, "option '-%s' takes no value", bare);
            buf_free(&matches);
            return;
        }
        if (length && strncmp(option->name, bare, length) == 0)
            buf_printf(&matches, "%s-%s", matches.length ? ", " : "", option->name);
    }
    if (matches.length) {
        fail(reader, "option '-%s' is ambiguous: %s", bare, buf_text(&matches));
    } else {
        const char *closest = closest_word(bare, names, count);
        if (closest)
            fail(reader, "unknown option '%s'; did you mean '-%s'?", word, closest);
        else
            fail(reader, "unknown option '%s'; --help lists them all", word);
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

/* A file name that cannot be meant: nothing at all, which a script's empty variable leaves. */
static const char *file_name(Reader *reader, int id, const char *text)
{
    if (!*text)
        fail(reader, "-%s: the file name is empty", option_name(id));
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
            fail(reader, "-arch %s: expected an architecture such as sm_90 or sm_100a", value);
        options->arch = value;
        break;
    }
    case OPTION_ENTRY: read_entries(reader, value); break;
    case OPTION_COARSEN: read_coarsen(reader, value); break;
    case OPTION_COARSEN_LEVEL:
        reader->level_block = strcmp(value, "block") == 0;
        if (!reader->level_block && strcmp(value, "thread") != 0)
            fail(reader, "-coarsen-level %s: expected 'thread' or 'block'", value);
        else if (reader->level_block)
            fail(reader, "-coarsen-level block: not available in this build");
        break;
    case OPTION_STRIDE: read_stride(reader, value); break;
    case OPTION_TARGET_REGS: read_target_regs(reader, value); break;
    case OPTION_BLOCK: read_block(reader, value); break;
    case OPTION_ASSEMBLER: read_assembler(reader, value); break;
    case OPTION_REPORT_FORMAT:
        options->report_json = strcmp(value, "json") == 0;
        options->report = true;
        if (!options->report_json && strcmp(value, "text") != 0)
            fail(reader, "-report-format %s: expected 'text' or 'json'", value);
        break;
    case OPTION_O0:
    case OPTION_O1:
    case OPTION_O2:
    case OPTION_O3: options->level = (unsigned)(id - OPTION_O0); break;
    case OPTION_PASS: read_passes(reader, value); break;
    case OPTION_DUMP: read_dumps(reader, value); break;
    case OPTION_VERIFY: VEC_PUSH(reader->arena, options->verify, file_name(reader, id, value)); break;
    case OPTION_CANONICAL: options->canonical = true; break;
    case OPTION_WERROR: options->warnings_are_errors = true; break;
    case OPTION_QUIET: options->quiet = true; break;
    case OPTION_VERBOSE: options->verbose = true; break;
    case OPTION_REPORT:
    case OPTION_VERSION:
    case OPTION_HELP: break; /* the caller's */
    }
}

/* No two outputs may go to one place: the second would silently replace the first. */
static void check_outputs(Reader *reader)
{
    const Options *options = reader->options;
    const struct {
        const char *option, *path;
    } outputs[] = {
        {"-o", options->output},
        {"-cubin", options->cubin},
        {"-launch-out", options->launch_out},
        {"-report", options->report_file},
    };
    for (size_t i = 0; i < COUNT_OF(outputs); i++)
        for (size_t j = 0; j < i; j++)
            if (outputs[i].path && outputs[j].path && strcmp(outputs[i].path, outputs[j].path) == 0 &&
                strcmp(outputs[i].path, "/dev/null") != 0) {
                bool is_standard = strcmp(outputs[i].path, "-") == 0;
                fail(reader, "%s and %s would both be written to %s",
                     j == 0 && is_standard ? "the PTX" : outputs[j].option, outputs[i].option,
                     is_standard ? "standard output" : outputs[i].path);
            }
}

static void check_whole(Reader *reader)
{
    Options *options = reader->options;
    if (reader->inputs.count == 0 && reader->report_word) {
        VEC_PUSH(reader->arena, reader->inputs, reader->report_word);
        options->report_file = NULL;
    }
    if (reader->inputs.count == 0)
        fail(reader, "no input file; '-' reads standard input, --help tells more");
    else if (reader->inputs.count > 1)
        fail(reader, "one input file at a time: both '%s' and '%s' are given", reader->inputs.data[0],
             reader->inputs.data[1]);
    else
        options->input = file_name(reader, OPTION_OUTPUT, reader->inputs.data[0]);
    if (!options->output && !options->cubin)
        options->output = "-";
    if (options->cubin && options->assembler_none)
        fail(reader, "-cubin needs an assembler, but -assembler none asks for none");
    if (reader->stride_given && options->coarsen.count == 0)
        fail(reader, "-stride says how to coarsen, but -coarsen is not given");
    if (options->launch_out && options->coarsen.count == 0)
        fail(reader, "-launch-out tells how coarsened kernels are launched, but -coarsen is not given");
    for (size_t i = 0; i < options->coarsen.count; i++)
        if (options->coarsen.data[i].is_auto && options->assembler_none)
            fail(reader, "-coarsen auto chooses by what the assembler says, but -assembler none asks for none");
    check_outputs(reader);
}

OptionsOutcome options_parse(Arena *arena, int argc, char *const *argv, Options *options, const char **error)
{
    *options = (Options){.level = 2, .assembler = ASSEMBLER_AUTO, .stride = {.kind = STRIDE_BLOCK}};
    for (unsigned i = 0; i < PASS_COUNT; i++)
        options->passes.enabled[i] = true;
    Reader reader = {.arena = arena, .options = options};
    *error = NULL;
    /* getopt is free to reorder its argv. */
    char **words = ARENA_ARRAY(arena, char *, (size_t)argc + 1);
    memcpy(words, argv, (size_t)argc * sizeof *argv);
    optind = 0;
    opterr = 0;
    for (int id; !reader.error && (id = getopt_long_only(argc, words, "-:", long_options, NULL)) != -1;) {
        switch (id) {
        case 1: VEC_PUSH(arena, reader.inputs, optarg); break;
        case '?': fail_word(&reader, words[optind - 1]); break;
        case ':':
            fail(&reader, "option '-%s' needs a value", option_name(optopt));
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
        check_whole(&reader);
    *error = reader.error;
    return reader.error ? OPTIONS_WRONG : OPTIONS_RUN;
}

const char *options_help(Arena *arena)
{
    Buf text = {0};
    buf_puts(&text,
             "Usage: ptxopt [options] FILE.ptx        '-' reads standard input\n"
             "       ptxopt run [options] FILE.ptx LAUNCH.json\n"
             "\n"
             "Reads PTX, makes each thread do the work of several (thread coarsening), lowers the\n"
             "number of registers a thread takes, and writes PTX. NVIDIA's own assembler judges.\n"
             "PTX goes to standard output unless -o or -cubin is given; messages go to standard error.\n"
             "\n"
             "Output\n"
             "  -o FILE                     write the PTX here\n"
             "  -cubin FILE                 write the assembled result here\n"
             "  -launch-out FILE            write how coarsened kernels have to be launched, as JSON\n"
             "  -report [FILE]              report what was done (standard error without FILE)\n"
             "  -report-format text|json    how the report is written (text)\n"
             "\n"
             "What is done\n"
             "  -coarsen SPEC               2 | x2 | x2,y2 | KERNEL:x4 | auto; may be repeated\n"
             "  -coarsen-level thread|block the block shrinks, or the grid does (thread; block is not\n"
             "                              available in this build)\n"
             "  -stride block|unit|N        which threads are joined: tid and tid + ntid/factor (block),\n"
             "                              neighbours (unit), or threads N apart (block)\n"
             "  -target-regs N|auto         at most N registers a thread, or the fewest that let one more\n"
             "                              block run; KERNEL:N for one kernel; may be repeated\n"
             "  -entry NAME[,NAME...]       change only these kernels\n"
             "  -block X[,Y[,Z]]            threads of a block at launch, where the PTX does not say;\n"
             "                              KERNEL:X,Y,Z for one kernel; may be repeated\n"
             "\n"
             "How\n"
             "  -arch sm_XX                 what to assemble and judge for (the PTX's own .target)\n"
             "  -assembler KIND             auto, driver, nvjitlink, ptxas or none (auto)\n"
             "  -O0 .. -O3                  how much is tried (-O2)\n"
             "  -p PASS,-PASS...            switch passes on and off\n"
             "  -d LETTERS                  print the code after these passes to standard error\n"
             "  -verify LAUNCH.json         run input and output in the emulator and compare all memory;\n"
             "                              may be repeated\n"
             "  -canonical                  print what is unchanged from its parsed form, too\n"
             "  -Werror                     warnings are errors\n"
             "  -q                          no warnings\n"
             "  -v                          say which assembler is used and what it is asked\n"
             "  -version, -help\n"
             "\n"
             "Options take one dash or two, and their value after a space or '='.\n"
             "\n"
             "Passes (name, letter of -d)\n");
    for (unsigned i = 0; i < PASS_COUNT; i++)
        buf_printf(&text, "  %-16s %c  %s\n", pass_table[i].name, pass_table[i].letter, pass_table[i].description);
    buf_puts(&text, "\n"
                    "Exit status: 0 done; 1 the input is wrong or a file cannot be read or written; 2 the\n"
                    "usage is wrong; 3 something asked for by kernel name was refused (the PTX is written,\n"
                    "that kernel unchanged); 4 the assembler rejected the output; 5 -verify found a\n"
                    "difference; 6 -verify could not run it (with 4, 5 and 6 nothing is written).\n"
                    "\n"
                    "ptxopt run -help tells of the emulator.\n");
    const char *help = arena_strndup(arena, buf_text(&text), text.length);
    buf_free(&text);
    return help;
}

/* The last option that names the kernel, else the last that names none. */
#define OPTION_FOR(list, kernel_name)                                                                                  \
    do {                                                                                                               \
        size_t found = SIZE_MAX;                                                                                       \
        for (size_t i = 0; i < (list).count; i++) {                                                                    \
            const char *named = (list).data[i].kernel;                                                                 \
            bool general = found == SIZE_MAX || !(list).data[found].kernel;                                            \
            if (named ? strcmp(named, kernel_name) == 0 : general)                                                     \
                found = i;                                                                                             \
        }                                                                                                              \
        return found == SIZE_MAX ? NULL : &(list).data[found];                                                         \
    } while (0)

const CoarsenOption *options_coarsen_for(const Options *options, const char *kernel)
{
    OPTION_FOR(options->coarsen, kernel);
}

const RegistersOption *options_registers_for(const Options *options, const char *kernel)
{
    OPTION_FOR(options->registers, kernel);
}

const BlockOption *options_block_for(const Options *options, const char *kernel)
{
    OPTION_FOR(options->blocks, kernel);
}

bool options_selects(const Options *options, const char *kernel)
{
    for (size_t i = 0; i < options->entries.count; i++)
        if (strcmp(options->entries.data[i], kernel) == 0)
            return true;
    return options->entries.count == 0;
}
