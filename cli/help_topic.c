/* "ptxopt help TOPIC": the help of a command, or what the helps say of one option. */
#include <stdio.h>
#include <string.h>

#include "cli/commands.h"
#include "engine/engine.h"
#include "options/options.h"

/* The entry of the option, if this command has it and its help mentions it. */
static void print_entry(const OptionRow *rows, const char *command, const char *name, Buf *out)
{
    const OptionRow *row = option_row_find(rows, name);
    if (!row || row->is_hidden)
        return;
    while (!row->help)
        row--;
    buf_printf(out, "ptxopt%s%s:\n", *command ? " " : "", command);
    option_row_print_help(row, out);
}

static const char *bare_name(const char *topic)
{
    while (*topic == '-')
        topic++;
    return topic;
}

/* "help" itself is not a topic of its own: its help is the program's. */
static bool is_topic(const Command *command)
{
    return command->main != main_help;
}

/* The help of a command, or of an option of any command, with or without its dash; all for "". NULL: there is no such
 * topic. */
static const char *topic_help(Arena *arena, const char *topic)
{
    const char *name = bare_name(topic);
    const Command *named = name == topic ? command_find(name) : NULL;
    if (!*topic || named)
        return named ? named->help(arena) : options_help(arena);
    Buf out = {0};
    print_entry(options_table(), "", name, &out);
    for (const Command *command = commands; command->name; command++)
        print_entry(command->options(), command->name, name, &out);
    const char *text = out.length ? arena_strndup(arena, buf_text(&out), out.length) : NULL;
    buf_free(&out);
    return text;
}

/* The topic that may have been meant by an unknown one: "; did you mean 'run'?", or "". */
static const char *topic_hint(Arena *arena, const char *topic)
{
    VEC(const char *) names = {0};
    const char *name = bare_name(topic);
    for (const Command *command = commands; command->name && name == topic; command++)
        if (is_topic(command))
            VEC_PUSH(arena, names, command->name);
    for (const OptionRow *row = options_table(); row->name; row++)
        VEC_PUSH(arena, names, row->name);
    for (const Command *command = commands; command->name; command++)
        for (const OptionRow *row = command->options(); row->name; row++)
            VEC_PUSH(arena, names, row->name);
    const char *closest = *name ? closest_word(name, names.data, names.count) : NULL;
    if (!closest)
        return "";
    const Command *command = command_find(closest);
    return arena_printf(arena, "; did you mean '%s%s'?", command && is_topic(command) ? "" : "-", closest);
}

const OptionRow *help_options_table(void)
{
    static const OptionRow none = {0};
    return &none;
}

const char *help_options_help(Arena *arena)
{
    return options_help(arena);
}

int main_help(Arena *arena, int argc, char **argv)
{
    const char *topic = argc > 2 ? argv[2] : "";
    const char *text = topic_help(arena, topic);
    if (argc <= 3 && text)
        return command_print(text);
    Buf all = {0};
    for (const Command *command = commands; command->name; command++)
        if (is_topic(command))
            buf_printf(&all, "%s%s", all.length ? ", " : "", command->name);
    fprintf(stderr, "ptxopt: error: help: %s: expected a command (%s) or an option%s\n", topic, buf_text(&all),
            topic_hint(arena, topic));
    buf_free(&all);
    return EXIT_USAGE;
}
