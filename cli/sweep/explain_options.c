/* The command line of "ptxopt explain". */
#include "cli/sweep/explain_options.h"

#include "cli/command_line.h"
#include "cli/commands.h"

typedef enum ExplainOptionId {
#define OPTION(id, ...) EXPLAIN_##id,
#include "cli/sweep/explain.def"
} ExplainOptionId;

static const OptionRow rows[] = {
#define OPTION(id, name, value, argument, action, help) OPTION_ROW(name, argument, help, value),
#define HIDDEN_OPTION(id, name, value, argument, action, help) \
    OPTION_ROW(name, argument, help, .is_hidden = true, value),
#include "cli/sweep/explain.def"
    {0},
};

const OptionRow *explain_options_table(void)
{
    return rows;
}

static const char *read_option(Arena *arena, const OptionRow *row, const char *value, void *result)
{
    ExplainOptions *options = result;
    switch ((ExplainOptionId)(row - rows)) {
#define OPTION(id, name, takes, argument, action, help) case EXPLAIN_##id: { action; break; }
#include "cli/sweep/explain.def"
    }
    return NULL;
}

OptionsOutcome explain_options_parse(Arena *arena, int argc, char *const *argv, ExplainOptions *options,
                                     const char **error)
{
    const CommandLine line = {"explain", rows, read_option, options};
    CommandFiles files;
    *options = (ExplainOptions){0};
    const OptionsOutcome outcome = command_line_parse(arena, argc, argv, &line, &files, error);
    if (outcome != OPTIONS_RUN)
        return outcome;
    if (files.count != 1)
        *error = "expected a table, TABLE.tsv ('ptxopt sweep -o TABLE.tsv' makes one)";
    else
        options->table = files.data[0];
    return *error ? OPTIONS_WRONG : OPTIONS_RUN;
}
