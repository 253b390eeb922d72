#include "cli/command_line.h"

#include <stdlib.h>
#include <string.h>

bool read_number(const char *text, uint64_t most, uint64_t *number)
{
    char *end;
    *number = strtoull(text, &end, 10);
    return *text >= '0' && *text <= '9' && *end == 0 && *number && *number <= most;
}

void order_files(const char **files, const char *ending)
{
    if (!text_ends_with(files[0], ending) || text_ends_with(files[1], ending))
        return;
    const char *first = files[0];
    files[0] = files[1];
    files[1] = first;
}

const char *command_read_file(Arena *arena, const char *value, CommandOutput *output)
{
    (void)arena;
    output->file = value;
    return *value ? NULL : "-o: the file name is empty";
}

const char *command_read_format(Arena *arena, const char *value, CommandOutput *output)
{
    output->json = strcmp(value, "json") == 0;
    if (output->json || strcmp(value, "text") == 0)
        return NULL;
    return arena_printf(arena, "-report-format %s: expected 'text' or 'json'", value);
}

/* 'style' begins getopt's options: "-:", or "+:" to stop at the first word that is not an option. */
static OptionsOutcome parse(Arena *arena, int argc, char *const *argv, const CommandLine *line, const char *style,
                            CommandFiles *files, const char **error)
{
    *error = NULL;
    *files = (CommandFiles){0};
    /* getopt may reorder its argv; the command is where it expects the program's name. */
    char **words = ARENA_ARRAY(arena, char *, (size_t)argc + 1);
    memcpy(words, argv + 1, (size_t)(argc - 1) * sizeof *argv);
    argc--;
    const struct option *table = option_rows_for_getopt(arena, line->rows);
    optind = 0;
    opterr = 0;
    for (int id; !*error && (id = getopt_long_only(argc, words, style, table, NULL)) != -1;) {
        switch (id) {
        case 1: VEC_PUSH(arena, *files, optarg); break;
        case '?':
            *error = arena_printf(arena, "unknown option '%s'; %s -help lists them all", words[optind - 1], line->name);
            break;
        case ':': *error = arena_printf(arena, "option '%s' needs a value", words[optind - 1]); break;
        default: {
            const OptionRow *row = &line->rows[id - FIRST_OPTION];
            if (strcmp(row->name, "help") == 0)
                return OPTIONS_HELP;
            if (strcmp(row->name, "version") == 0)
                return OPTIONS_VERSION;
            *error = line->read(arena, row, optarg, line->options);
            break;
        }
        }
    }
    for (; !*error && optind < argc; optind++)
        VEC_PUSH(arena, *files, words[optind]);
    return *error ? OPTIONS_WRONG : OPTIONS_RUN;
}

OptionsOutcome command_line_parse(Arena *arena, int argc, char *const *argv, const CommandLine *line,
                                  CommandFiles *files, const char **error)
{
    return parse(arena, argc, argv, line, "-:", files, error);
}

OptionsOutcome command_line_parse_program(Arena *arena, int argc, char *const *argv, const CommandLine *line,
                                          CommandFiles *files, const char **error)
{
    return parse(arena, argc, argv, line, "+:", files, error);
}
