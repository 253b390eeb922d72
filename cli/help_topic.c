/* "ptxopt help TOPIC": the help of a command, or what the helps say of one option. */
#include <getopt.h>
#include <string.h>

#include "cli/commands.h"
#include "cli/setup.h"
#include "options/options.h"

static const char completion_help[] = "Usage: ptxopt completion bash|zsh|fish [ptxopt-nvcc|ptxopt-ptxas]\n"
                                      "\n"
                                      "Prints completions for the shell, which 'make install' puts in their place.\n";

/* The line after the one that begins here. */
static const char *next_line(const char *line)
{
    const char *end = strchr(line, '\n');
    return end ? end + 1 : line + strlen(line);
}

/* Whether the line begins the entry of the option: "  -name VALUE ..." or "  -O0 .. -O3". */
static bool begins_entry(const char *line, const char *name)
{
    const size_t length = strlen(name);
    if (strncmp(line, "  -", 3) != 0)
        return false;
    if (strncmp(line, "  -O0 ..", 8) == 0 && length == 2 && name[0] == 'O' && name[1] >= '0' && name[1] <= '3')
        return true;
    if (strncmp(line, "  -version, -help", 17) == 0)
        return strcmp(name, "version") == 0 || strcmp(name, "help") == 0;
    return strncmp(line + 3, name, length) == 0 && strchr(" \n", line[3 + length]);
}

/* An entry goes on as long as lines are indented further. */
static const char *entry_end(const char *entry)
{
    const char *at = next_line(entry);
    while (strncmp(at, "    ", 4) == 0)
        at = next_line(at);
    return at;
}

static void print_entries(const char *help, const char *command, const char *name, Buf *out)
{
    for (const char *line = help; *line; line = next_line(line)) {
        if (!begins_entry(line, name))
            continue;
        buf_printf(out, "%s:\n", command);
        buf_write(out, line, (size_t)(entry_end(line) - line));
    }
}

static const char *bare_name(const char *topic)
{
    while (*topic == '-')
        topic++;
    return topic;
}

const char *options_help_topic(Arena *arena, const char *topic)
{
    const char *name = bare_name(topic), *own = options_help(arena), *cost = cost_options_help(arena);
    const bool is_option = name > topic;
    if (!*topic || (!is_option && strcmp(topic, "help") == 0))
        return own;
    if (!is_option && strcmp(topic, "run") == 0)
        return run_options_help();
    if (!is_option && strcmp(topic, "cost") == 0)
        return cost;
    if (!is_option && strcmp(topic, "setup") == 0)
        return setup_options_help(arena);
    if (!is_option && strcmp(topic, "completion") == 0)
        return completion_help;
    Buf out = {0};
    print_entries(own, "ptxopt", name, &out);
    print_entries(run_options_help(), "ptxopt run", name, &out);
    print_entries(cost, "ptxopt cost", name, &out);
    print_entries(setup_options_help(arena), "ptxopt setup", name, &out);
    const char *text = out.length ? arena_strndup(arena, buf_text(&out), out.length) : NULL;
    buf_free(&out);
    return text;
}

const char *options_help_hint(Arena *arena, const char *topic)
{
    const struct option *const tables[] = {options_table(), run_options_table(), cost_options_table(),
                                           setup_options_table()};
    VEC(const char *) names = {0};
    static const char *const commands[] = {"run", "cost", "setup", "completion"};
    const char *name = bare_name(topic);
    for (size_t i = 0; i < COUNT_OF(commands) && name == topic; i++)
        VEC_PUSH(arena, names, commands[i]);
    for (size_t i = 0; i < COUNT_OF(tables); i++)
        for (const struct option *option = tables[i]; option->name; option++)
            VEC_PUSH(arena, names, option->name);
    const char *closest = *name ? closest_word(name, names.data, names.count) : NULL;
    for (size_t i = 0; i < COUNT_OF(commands) && closest; i++)
        if (strcmp(closest, commands[i]) == 0)
            return arena_printf(arena, "; did you mean '%s'?", closest);
    return closest ? arena_printf(arena, "; did you mean '-%s'?", closest) : "";
}
