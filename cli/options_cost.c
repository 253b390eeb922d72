/* The command line of "ptxopt cost". */
#include <string.h>

#include "cli/commands.h"
#include "cli/command_line.h"
#include "options/options.h"

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
        return assembler_choice_read(arena, value, &options->assembler_none, &options->assembler);
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
        *error = "expected two files, FILE.ptx LAUNCH.json ('ptxopt run -template FILE.ptx KERNEL' prints a "
                 "launch file)";
        return OPTIONS_WRONG;
    }
    order_files(files, ".json");
    options->input = files[0];
    options->launch = files[1];
    return OPTIONS_RUN;
}
