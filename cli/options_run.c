/* The command line of "ptxopt run". */
#include <string.h>

#include "cli/commands.h"
#include "cli/command_line.h"

enum {
    OPTION_DUMP = COMMAND_OPTIONS,
    OPTION_CHECK,
    OPTION_BLOCKS,
    OPTION_STEPS,
    OPTION_JOBS,
    OPTION_LINES,
    OPTION_NO_SECTORS,
    OPTION_TIME,
    OPTION_TEMPLATE
};

static const struct option long_options[] = {
    {"dump", required_argument, NULL, OPTION_DUMP},
    {"check", required_argument, NULL, OPTION_CHECK},
    {"resident", required_argument, NULL, OPTION_BLOCKS},
    {"max-steps", required_argument, NULL, OPTION_STEPS},
    {"jobs", required_argument, NULL, OPTION_JOBS},
    {"lines", no_argument, NULL, OPTION_LINES},
    {"no-sectors", no_argument, NULL, OPTION_NO_SECTORS},
    {"time", no_argument, NULL, OPTION_TIME},
    {"template", no_argument, NULL, OPTION_TEMPLATE},
    COMMON_OPTIONS,
};

const struct option *run_options_table(void)
{
    return long_options;
}

/* "all", "none", or some of the four names, separated by commas. */
static bool read_checks(const char *text, EmulatorOptions *machine)
{
    bool all = strcmp(text, "all") == 0, none = strcmp(text, "none") == 0;
    machine->check_races = machine->check_unwritten = machine->check_registers = machine->check_division = all;
    for (const char *at = text; !all && !none;) {
        size_t length = strcspn(at, ",");
        if (length == 5 && strncmp(at, "races", length) == 0)
            machine->check_races = true;
        else if (length == 9 && strncmp(at, "unwritten", length) == 0)
            machine->check_unwritten = true;
        else if (length == 9 && strncmp(at, "registers", length) == 0)
            machine->check_registers = true;
        else if (length == 8 && strncmp(at, "division", length) == 0)
            machine->check_division = true;
        else
            return false;
        at += length;
        if (*at++ == 0)
            break;
    }
    return true;
}

static const char *read_option(Arena *arena, int id, const char *value, void *result)
{
    RunOptions *options = result;
    uint64_t number;
    switch (id) {
    case OPTION_DUMP: VEC_PUSH(arena, options->dumps, value); break;
    case OPTION_CHECK:
        if (!read_checks(value, &options->machine))
            return arena_printf(arena, "-check %s: expected all, none or some of "
                                       "races,unwritten,registers,division", value);
        break;
    case OPTION_BLOCKS:
        if (!read_number(value, 1024, &number))
            return arena_printf(arena, "-resident %s: expected a number of blocks from 1 to 1024", value);
        options->machine.resident_blocks = (unsigned)number;
        break;
    case OPTION_STEPS:
        if (!read_number(value, UINT64_MAX, &number))
            return arena_printf(arena, "-max-steps %s: expected a number of instructions", value);
        options->machine.max_steps = number;
        break;
    case OPTION_JOBS:
        if (!read_number(value, 1024, &number))
            return arena_printf(arena, "-jobs %s: expected a number of cores from 1 to 1024", value);
        options->jobs = (unsigned)number;
        break;
    case OPTION_LINES: options->machine.count_lines = true; break;
    case OPTION_NO_SECTORS: options->machine.count_memory = false; break;
    case OPTION_TIME: options->timed = true; break;
    case OPTION_TEMPLATE: options->template = ""; break;
    }
    return NULL;
}

OptionsOutcome run_options_parse(Arena *arena, int argc, char *const *argv, RunOptions *options, const char **error)
{
    const CommandLine line = {"run", long_options, read_option, options, &options->output};
    const char *files[2];
    *options = (RunOptions){0};
    options->machine.count_memory = true;
    read_checks("all", &options->machine);
    OptionsOutcome outcome = command_line_parse(arena, argc, argv, &line, files, error);
    if (outcome != OPTIONS_RUN)
        return outcome;
    if (!files[1]) {
        *error = options->template ? "-template: expected FILE.ptx KERNEL" : "expected two files, FILE.ptx LAUNCH.json "
                                     "(-template FILE.ptx KERNEL prints a launch file)";
        return OPTIONS_WRONG;
    }
    if (options->template) {
        const char *kernel_and_file[2] = {files[1], files[0]};
        order_files(kernel_and_file, ".ptx");
        options->template = kernel_and_file[0];
        options->input = kernel_and_file[1];
        return OPTIONS_RUN;
    }
    order_files(files, ".json");
    options->input = files[0];
    options->launch = files[1];
    return OPTIONS_RUN;
}
