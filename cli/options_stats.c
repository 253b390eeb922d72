/* The command lines of "ptxopt stats" and "ptxopt diff". */
#include <string.h>

#include "cli/command_line.h"
#include "cli/commands.h"
#include "options/options.h"

typedef enum StatsOptionId {
#define OPTION(id, ...) STATS_OPTION_##id,
#include "cli/options_stats.def"
} StatsOptionId;

static const OptionRow stats_rows[] = {
#define OPTION(id, name, value, argument, action, help) OPTION_ROW(name, argument, help, value),
#define HIDDEN_OPTION(id, name, value, argument, action, help) \
    OPTION_ROW(name, argument, help, .is_hidden = true, value),
#define DIFF_OPTION(id, name, value, argument, action, help)
#include "cli/options_stats.def"
    {0},
};

static const OptionRow diff_rows[] = {
#define OPTION(id, name, value, argument, action, help) OPTION_ROW(name, argument, help, value),
#define HIDDEN_OPTION(id, name, value, argument, action, help) \
    OPTION_ROW(name, argument, help, .is_hidden = true, value),
#include "cli/options_stats.def"
    {0},
};

const OptionRow *stats_options_table(void) { return stats_rows; }
const OptionRow *diff_options_table(void) { return diff_rows; }

static const char *read_arch(Arena *arena, const char *value, StatsOptions *options)
{
    return arch_choice_read(arena, value, &options->request.arch);
}

static const char *read_assembler(Arena *arena, const char *value, StatsOptions *options)
{
    bool none = false;
    options->request.assembler_given = true;
    const char *error = assembler_choice_read(arena, value, &none, &options->request.assembler);
    return !error && none ? "-assembler none: without an assembler, PTX has no figures" : error;
}

static const char *read_block(Arena *arena, const char *value, StatsOptions *options)
{
    return block_read(arena, value, value, options->request.block);
}

static const char *read_format(Arena *arena, const char *value, StatsOptions *options)
{
    static const char *const words[] = {"text", "tsv", "json", "github"};
    size_t i = 0;
    while (i < COUNT_OF(words) && strcmp(value, words[i]) != 0)
        i++;
    if (i == COUNT_OF(words))
        return arena_printf(arena, "-format %s: expected 'text', 'tsv', 'json' or 'github'", value);
    options->format = (StatsFormat)i;
    return NULL;
}

static const char *read_condition(Arena *arena, const char *value, StatsOptions *options)
{
    const char *error;
    const StatsCondition *condition = stats_condition_read(arena, value, &error);
    if (!condition)
        return arena_printf(arena, "-fail-if %s: %s", value, error);
    VEC_PUSH(arena, options->conditions, condition);
    return NULL;
}

static const char *read_row(Arena *arena, const OptionRow *row, StatsOptionId id, const char *value,
                            StatsOptions *options)
{
    (void)row;
    switch (id) {
#define OPTION(id, name, takes, argument, action, help) case STATS_OPTION_##id: { action; break; }
#include "cli/options_stats.def"
    }
    return NULL;
}

static const char *read_stats_option(Arena *arena, const OptionRow *row, const char *value, void *options)
{
    return read_row(arena, row, (StatsOptionId)(row - stats_rows), value, options);
}

static const char *read_diff_option(Arena *arena, const OptionRow *row, const char *value, void *options)
{
    return read_row(arena, row, (StatsOptionId)(row - diff_rows), value, options);
}

static OptionsOutcome parse(Arena *arena, int argc, char *const *argv, const CommandLine *line, StatsOptions *options,
                            const char **error)
{
    *options = (StatsOptions){0};
    return command_line_parse(arena, argc, argv, line, &options->files, error);
}

OptionsOutcome stats_options_parse(Arena *arena, int argc, char *const *argv, StatsOptions *options, const char **error)
{
    const CommandLine line = {"stats", stats_rows, read_stats_option, options};
    const OptionsOutcome outcome = parse(arena, argc, argv, &line, options, error);
    if (outcome != OPTIONS_RUN)
        return outcome;
    if (!options->files.count)
        *error = "expected files: PTX, cubins, objects, libraries, programs, or folders with them";
    for (size_t i = 0; !*error && i < options->conditions.count; i++)
        if (stats_condition_compares(options->conditions.data[i]))
            *error = "-fail-if: a change needs two builds to compare: 'ptxopt diff BASE NEW'";
    return *error ? OPTIONS_WRONG : OPTIONS_RUN;
}

OptionsOutcome diff_options_parse(Arena *arena, int argc, char *const *argv, StatsOptions *options, const char **error)
{
    const CommandLine line = {"diff", diff_rows, read_diff_option, options};
    const OptionsOutcome outcome = parse(arena, argc, argv, &line, options, error);
    if (outcome == OPTIONS_RUN && options->files.count != 2) {
        *error = "expected two builds, BASE and NEW: tables of 'ptxopt stats', files or folders";
        return OPTIONS_WRONG;
    }
    return outcome;
}
