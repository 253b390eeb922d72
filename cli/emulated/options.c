/* The command line of "ptxopt emulate". */
#include "cli/emulated/options.h"

#include "cli/command_line.h"
#include "engine/engine.h"

typedef enum EmulateOptionId {
#define OPTION(id, ...) EMULATE_##id,
#include "cli/emulated/options.def"
} EmulateOptionId;

static const OptionRow rows[] = {
#define OPTION(id, name, value, argument, action, help) OPTION_ROW(name, argument, help, value),
#define HIDDEN_OPTION(id, name, value, argument, action, help) \
    OPTION_ROW(name, argument, help, .is_hidden = true, value),
#include "cli/emulated/options.def"
    {0},
};

const OptionRow *emulate_options_table(void)
{
    return rows;
}

static const char *read_checks(Arena *arena, const char *value, EmulateOptions *options)
{
    options->checks = value;
    if (emulator_read_checks(value, &(EmulatorOptions){0}))
        return NULL;
    return arena_printf(arena, "-check %s: expected " EMULATOR_CHECKS, value);
}

static const char *read_option(Arena *arena, const OptionRow *row, const char *value, void *result)
{
    EmulateOptions *options = result;
    switch ((EmulateOptionId)(row - rows)) {
#define OPTION(id, name, takes, argument, action, help) case EMULATE_##id: { action; break; }
#include "cli/emulated/options.def"
    }
    return NULL;
}

OptionsOutcome emulate_options_parse(Arena *arena, int argc, char *const *argv, EmulateOptions *options,
                                     const char **error)
{
    const CommandLine line = {"emulate", rows, read_option, options};
    CommandFiles words;
    *options = (EmulateOptions){.checks = "all", .fault_status = EXIT_DIFFERENT};
    const OptionsOutcome outcome = command_line_parse_program(arena, argc, argv, &line, &words, error);
    if (outcome != OPTIONS_RUN)
        return outcome;
    if (!words.count) {
        *error = "expected a program, and its arguments";
        return OPTIONS_WRONG;
    }
    VEC_PUSH(arena, words, NULL);
    options->program = (char *const *)words.data;
    return OPTIONS_RUN;
}
