#include "cli/commands.h"

#include <stdio.h>
#include <string.h>

#include "engine/engine.h"

const Command commands[] = {
#define COMMAND(name, arguments, remark) \
    {#name, arguments, remark, main_##name, name##_options_table, name##_options_help},
#include "cli/commands.def"
    {0},
};

const Command *command_find(const char *name)
{
    for (const Command *command = commands; command->name; command++)
        if (strcmp(command->name, name) == 0)
            return command;
    return NULL;
}

const char *command_usage(Arena *arena, const char *name)
{
    return arena_printf(arena, "Usage: ptxopt %s %s\n", name, command_find(name)->arguments);
}

int command_print(const char *text)
{
    Arena *arena = arena_new();
    const char *error = write_file(arena, "-", text, strlen(text));
    if (error)
        fprintf(stderr, "ptxopt: error: cannot write to standard output: %s\n", error);
    arena_free(arena);
    return error ? EXIT_INPUT : EXIT_DONE;
}

int command_finish(OptionsOutcome outcome, const char *command, const char *help, const char *error)
{
    if (outcome == OPTIONS_HELP)
        return command_print(help);
    if (outcome == OPTIONS_VERSION)
        return command_print("ptxopt " PTXOPT_VERSION "\n");
    fprintf(stderr, "ptxopt: error: %s%s%s\n", command, *command ? ": " : "", error);
    return EXIT_USAGE;
}

int command_write(Arena *arena, const CommandOutput *output, const Buf *printed)
{
    Output file = {output->file ? output->file : "-", printed->data, printed->length};
    const char *error = outputs_write(arena, &file, 1);
    if (error)
        fprintf(stderr, "ptxopt: error: %s\n", error);
    return error ? EXIT_INPUT : EXIT_DONE;
}
