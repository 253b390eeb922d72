/* The command line of "ptxopt cost". */
#include <getopt.h>
#include <stdlib.h>
#include <string.h>

#include "cli/options.h"

enum {
    OPTION_BEFORE = 256,
    OPTION_ARCH,
    OPTION_ASSEMBLER,
    OPTION_MACHINE,
    OPTION_REGISTERS,
    OPTION_ESTIMATE,
    OPTION_SASS,
    OPTION_OUTPUT,
    OPTION_REPORT_FORMAT,
    OPTION_QUIET,
    OPTION_VERSION,
    OPTION_HELP
};

static const struct option long_options[] = {
    {"before", required_argument, NULL, OPTION_BEFORE},
    {"arch", required_argument, NULL, OPTION_ARCH},
    {"assembler", required_argument, NULL, OPTION_ASSEMBLER},
    {"machine", required_argument, NULL, OPTION_MACHINE},
    {"registers", required_argument, NULL, OPTION_REGISTERS},
    {"estimate", no_argument, NULL, OPTION_ESTIMATE},
    {"sass", no_argument, NULL, OPTION_SASS},
    {"o", required_argument, NULL, OPTION_OUTPUT},
    {"report-format", required_argument, NULL, OPTION_REPORT_FORMAT},
    {"q", no_argument, NULL, OPTION_QUIET},
    {"version", no_argument, NULL, OPTION_VERSION},
    {"help", no_argument, NULL, OPTION_HELP},
    {NULL, 0, NULL, 0},
};

static const char *read_option(Arena *arena, int id, const char *value, CostOptions *options)
{
    Arch arch;
    char *end;
    switch (id) {
    case OPTION_BEFORE: options->before = value; break;
    case OPTION_ARCH:
        if (!arch_parse(value, &arch))
            return arena_printf(arena, "-arch %s: expected an architecture such as sm_90", value);
        options->arch = value;
        break;
    case OPTION_ASSEMBLER:
        options->assembler_given = true;
        options->assembler_none = strcmp(value, "none") == 0;
        if (!options->assembler_none && !assembler_kind_parse(value, &options->assembler))
            return arena_printf(arena, "-assembler %s: expected auto, driver, nvjitlink, ptxas or none", value);
        break;
    case OPTION_MACHINE: options->machine = value; break;
    case OPTION_REGISTERS:
        options->registers = (unsigned)strtoul(value, &end, 10);
        if (*value < '0' || *value > '9' || *end || !options->registers || options->registers > 255)
            return arena_printf(arena, "-registers %s: expected a number from 1 to 255", value);
        break;
    case OPTION_OUTPUT:
        if (!*value)
            return "-o: the file name is empty";
        options->output = value;
        break;
    case OPTION_REPORT_FORMAT:
        options->report_json = strcmp(value, "json") == 0;
        if (!options->report_json && strcmp(value, "text") != 0)
            return arena_printf(arena, "-report-format %s: expected 'text' or 'json'", value);
        break;
    case OPTION_SASS: options->listing = true; break;
    case OPTION_ESTIMATE: options->estimate = true; break;
    case OPTION_QUIET: options->quiet = true; break;
    }
    return NULL;
}

static bool is_launch_file(const char *path)
{
    size_t length = strlen(path);
    return length >= 5 && strcmp(path + length - 5, ".json") == 0;
}

OptionsOutcome cost_options_parse(Arena *arena, int argc, char *const *argv, CostOptions *options, const char **error)
{
    *options = (CostOptions){0};
    *error = NULL;
    VEC(const char *) files = {0};
    /* getopt may reorder its argv; "cost" is where it expects the program's name. */
    char **words = ARENA_ARRAY(arena, char *, (size_t)argc + 1);
    memcpy(words, argv + 1, (size_t)(argc - 1) * sizeof *argv);
    argc--;
    optind = 0;
    opterr = 0;
    for (int id; !*error && (id = getopt_long_only(argc, words, "-:", long_options, NULL)) != -1;) {
        switch (id) {
        case 1: VEC_PUSH(arena, files, optarg); break;
        case '?':
            *error = arena_printf(arena, "unknown option '%s'; cost -help lists them all", words[optind - 1]);
            break;
        case ':': *error = arena_printf(arena, "option '%s' needs a value", words[optind - 1]); break;
        case OPTION_HELP: return OPTIONS_HELP;
        case OPTION_VERSION: return OPTIONS_VERSION;
        default: *error = read_option(arena, id, optarg, options); break;
        }
    }
    for (int i = optind; !*error && i < argc; i++)
        VEC_PUSH(arena, files, words[i]);
    if (!*error && files.count != 2)
        *error = "expected two files, FILE.ptx LAUNCH.json";
    if (*error)
        return OPTIONS_WRONG;
    bool swapped = is_launch_file(files.data[0]) && !is_launch_file(files.data[1]);
    options->input = files.data[swapped];
    options->launch = files.data[!swapped];
    return OPTIONS_RUN;
}

const char *cost_options_help(void)
{
    return "Usage: ptxopt cost [options] FILE.ptx LAUNCH.json\n"
           "\n"
           "Predicts how long the launch takes on a device, and what limits it. The emulator counts what\n"
           "the kernel executes, the assembler gives its registers, and the model of docs/time.md turns\n"
           "both into time. A coarsened kernel is launched by the contract in its module, so the launch\n"
           "file is that of the original kernel; figures are per original thread.\n"
           "\n"
           "  -before ORIGINAL.ptx        compare with this file, which has the kernel before a change\n"
           "  -arch sm_XX                 architecture (the PTX's own .target)\n"
           "  -machine FILE.json          change figures of the device (docs/formats.md)\n"
           "  -assembler KIND             auto, driver, nvjitlink, ptxas or none (auto)\n"
           "  -registers N                registers of a thread, instead of asking the assembler\n"
           "  -estimate                   do not run the launch: estimate trip counts, branches and\n"
           "                              coalescing from the code, as -coarsen auto does without -launch\n"
           "  -sass                       print the machine code with the executions of each instruction\n"
           "  -report-format text|json    how results are printed (text)\n"
           "  -o FILE                     print to this file\n"
           "  -q                          no warnings\n"
           "\n"
           "Exit status: 0 done; 1 a file is wrong; 2 the usage is wrong; 6 the emulator cannot run the\n"
           "kernel, or an SM cannot hold one of its blocks.\n";
}
