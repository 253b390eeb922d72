/* What the command lines of "ptxopt run" and "ptxopt cost" have in common: the command's name, options, two files. */
#ifndef PTXOPT_CLI_COMMAND_LINE_H
#define PTXOPT_CLI_COMMAND_LINE_H

#include <getopt.h>

#include "cli/commands.h"

/* Options of every command; a command's own begin at COMMAND_OPTIONS. */
enum {
    COMMAND_OUTPUT = 256,
    COMMAND_REPORT_FORMAT,
    COMMAND_QUIET,
    COMMAND_VERSION,
    COMMAND_HELP,
    COMMAND_OPTIONS
};

/* The last rows of a command's table for getopt. */
#define COMMON_OPTIONS                                               \
    {"o", required_argument, NULL, COMMAND_OUTPUT},                  \
    {"report-format", required_argument, NULL, COMMAND_REPORT_FORMAT}, \
    {"q", no_argument, NULL, COMMAND_QUIET},                         \
    {"version", no_argument, NULL, COMMAND_VERSION},                 \
    {"help", no_argument, NULL, COMMAND_HELP},                       \
    {NULL, 0, NULL, 0}

typedef struct CommandLine {
    const char *name;
    const struct option *table; /* ends with COMMON_OPTIONS */
    /* Reads one of the command's own options into 'options'; returns what is wrong with it, or NULL. */
    const char *(*read)(Arena *arena, int id, const char *value, void *options);
    void *options;
    CommandOutput *output; /* receives the common options */
} CommandLine;

/* Reads argv, argv[1] being the command's name, without changing it.  files[] receives the two words that are not
 * options; if there are fewer or more, files[1] is NULL, which is for the caller to complain about.  Otherwise as
 * options_parse(). */
OptionsOutcome command_line_parse(Arena *arena, int argc, char *const *argv, const CommandLine *line,
                                  const char *files[2], const char **error);

/* Exchanges the two files if only the first one's name ends with 'ending': they may come in either order. */
void order_files(const char *files[2], const char *ending);

/* A number from 1 to 'most'; false if the text is none. */
bool read_number(const char *text, uint64_t most, uint64_t *number);

#endif
