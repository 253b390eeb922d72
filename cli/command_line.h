/* Shared by the command lines of "ptxopt run", "ptxopt cost" and "ptxopt view": the command's name, options, files. */
#ifndef PTXOPT_CLI_COMMAND_LINE_H
#define PTXOPT_CLI_COMMAND_LINE_H

#include "cli/commands.h"

/* The column 'action' of a command's table, for a function with 'arena', 'row', 'value' and 'options' that returns what
 * is wrong with the value. */
#define SETS(field, constant) options->field = constant
#define SETS_TEXT(field) options->field = value
#define SETS_NUMBER(field, most, what)                                                                     \
    uint64_t number;                                                                                       \
    if (!read_number(value, most, &number))                                                                \
        return arena_printf(arena, "-%s %s: expected a number%s", row->name, value, what);                 \
    options->field = number
#define ADDS(list) VEC_PUSH(arena, options->list, value)
#define READS(function) return function(arena, value, options)
#define SETS_OUTPUT(function) return function(arena, value, &options->output)
#define ELSEWHERE break

typedef struct CommandLine {
    const char *name;
    const OptionRow *rows; /* "help" and "version" among them */
    /* Reads one of the other options into 'options'; returns what is wrong with it, or NULL. */
    const char *(*read)(Arena *arena, const OptionRow *row, const char *value, void *options);
    void *options;
} CommandLine;

/* Reads argv, argv[1] being the command's name, without changing it. *files receives the words that are not options.
 * Too many and too few are for the caller to complain about. Otherwise as options_parse(). */
OptionsOutcome command_line_parse(Arena *arena, int argc, char *const *argv, const CommandLine *line,
                                  CommandFiles *files, const char **error);
/* The same, but the first word that is not an option, and all after it, are files. */
OptionsOutcome command_line_parse_program(Arena *arena, int argc, char *const *argv, const CommandLine *line,
                                          CommandFiles *files, const char **error);

/* -o and -report-format: what is wrong with the value, or NULL. */
const char *command_read_file(Arena *arena, const char *value, CommandOutput *output);
const char *command_read_format(Arena *arena, const char *value, CommandOutput *output);

/* Exchanges two files if only the first one's name ends with 'ending': they may come in either order. */
void order_files(const char **files, const char *ending);

/* A number from 1 to 'most'; false if the text is none. */
bool read_number(const char *text, uint64_t most, uint64_t *number);

#endif
