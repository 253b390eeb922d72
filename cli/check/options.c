/* The command line of "ptxopt check". */
#include "cli/check/options.h"

#include <string.h>

#include "cli/command_line.h"

typedef enum CheckOptionId {
#define OPTION(id, ...) CHECK_##id,
#include "cli/check/options.def"
} CheckOptionId;

static const OptionRow rows[] = {
#define OPTION(id, name, value, argument, action, help) OPTION_ROW(name, argument, help, value),
#define HIDDEN_OPTION(id, name, value, argument, action, help) \
    OPTION_ROW(name, argument, help, .is_hidden = true, value),
#include "cli/check/options.def"
    {0},
};

const OptionRow *check_options_table(void)
{
    return rows;
}

static const char *read_architectures(Arena *arena, const char *value, CheckOptions *options)
{
    return arch_list_read(arena, value, &options->architectures);
}

static const char *read_levels(Arena *arena, const char *value, CheckOptions *options)
{
    for (const char *at = value; *at; at += at[1] == ',' ? 2 : 1) {
        if (*at < '0' || *at > '3' || (at[1] && at[1] != ','))
            return arena_printf(arena, "-opt-level %s: expected levels from 0 to 3, such as '0,3'", value);
        options->levels[*at - '0'] = true;
    }
    return NULL;
}

static const char *read_option(Arena *arena, const OptionRow *row, const char *value, void *result)
{
    CheckOptions *options = result;
    switch ((CheckOptionId)(row - rows)) {
#define OPTION(id, name, takes, argument, action, help) case CHECK_##id: { action; break; }
#include "cli/check/options.def"
    }
    return NULL;
}

OptionsOutcome check_options_parse(Arena *arena, int argc, char *const *argv, CheckOptions *options, const char **error)
{
    const CommandLine line = {"check", rows, read_option, options};
    CommandFiles files;
    *options = (CheckOptions){.inputs = 16, .seed = 1};
    const OptionsOutcome outcome = command_line_parse(arena, argc, argv, &line, &files, error);
    if (outcome != OPTIONS_RUN)
        return outcome;
    if (files.count != 1) {
        *error = "expected a PTX file";
        return OPTIONS_WRONG;
    }
    options->input = files.data[0];
    if (!memchr(options->levels, true, sizeof options->levels))
        options->levels[3] = true;
    return OPTIONS_RUN;
}
