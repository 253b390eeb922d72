/* The command line of "ptxopt cost". */
#include <string.h>

#include "cli/command_line.h"

enum {
    OPTION_BEFORE = COMMAND_OPTIONS,
    OPTION_ARCH,
    OPTION_ASSEMBLER,
    OPTION_MACHINE,
    OPTION_REGISTERS,
    OPTION_ESTIMATE,
    OPTION_SASS,
    OPTION_ACCESSES
};

static const struct option long_options[] = {
    {"before", required_argument, NULL, OPTION_BEFORE},
    {"arch", required_argument, NULL, OPTION_ARCH},
    {"assembler", required_argument, NULL, OPTION_ASSEMBLER},
    {"machine", required_argument, NULL, OPTION_MACHINE},
    {"registers", required_argument, NULL, OPTION_REGISTERS},
    {"estimate", no_argument, NULL, OPTION_ESTIMATE},
    {"sass", no_argument, NULL, OPTION_SASS},
    {"accesses", no_argument, NULL, OPTION_ACCESSES},
    COMMON_OPTIONS,
};

const struct option *cost_options_table(void)
{
    return long_options;
}

static const char *read_option(Arena *arena, int id, const char *value, void *result)
{
    CostOptions *options = result;
    Arch arch;
    uint64_t number;
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
        if (!read_number(value, 255, &number))
            return arena_printf(arena, "-registers %s: expected a number from 1 to 255", value);
        options->registers = (unsigned)number;
        break;
    case OPTION_SASS: options->listing = true; break;
    case OPTION_ACCESSES: options->accesses = true; break;
    case OPTION_ESTIMATE: options->estimate = true; break;
    }
    return NULL;
}

OptionsOutcome cost_options_parse(Arena *arena, int argc, char *const *argv, CostOptions *options, const char **error)
{
    const CommandLine line = {"cost", long_options, read_option, options, &options->output};
    const char *files[2];
    *options = (CostOptions){0};
    OptionsOutcome outcome = command_line_parse(arena, argc, argv, &line, files, error);
    if (outcome != OPTIONS_RUN)
        return outcome;
    if (!files[1]) {
        *error = "expected two files, FILE.ptx LAUNCH.json";
        return OPTIONS_WRONG;
    }
    order_files(files, ".json");
    options->input = files[0];
    options->launch = files[1];
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
           "  -accesses                   print sectors, lines and bank conflicts of each access, with its\n"
           "                              lines in the PTX and in the CUDA source\n"
           "  -report-format text|json    how results are printed (text)\n"
           "  -o FILE                     print to this file\n"
           "  -q                          no warnings\n"
           "\n"
           "Exit status: 0 done; 1 a file is wrong; 2 the usage is wrong; 6 the emulator cannot run the\n"
           "kernel, or an SM cannot hold one of its blocks.\n";
}
