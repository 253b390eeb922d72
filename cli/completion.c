#include "cli/completion.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/commands.h"
#include "engine/engine.h"

typedef VEC(const OptionRow *) RowList;

/* Options are completed after a command that has some or, with the name "", without a command. */
typedef struct Place {
    const char *name;
    const OptionRow *rows;
} Place;

typedef struct Completion {
    Arena *arena;
    VEC(Place) places;
    RowList values; /* options whose values are words, each name once, in the order of the alphabet */
    Buf *out;
} Completion;

static void add_values(Completion *completion, const OptionRow *rows)
{
    for (const OptionRow *row = rows; row->name; row++) {
        bool is_known = !row->words && !row->choice;
        for (size_t i = 0; i < completion->values.count; i++)
            is_known |= strcmp(completion->values.data[i]->name, row->name) == 0;
        if (!is_known)
            VEC_PUSH(completion->arena, completion->values, row);
    }
}

static int by_name(const void *a, const void *b)
{
    return strcmp((*(const OptionRow *const *)a)->name, (*(const OptionRow *const *)b)->name);
}

static void gather(Completion *completion)
{
    for (const Command *command = commands; command->name; command++)
        if (command->options()->name)
            VEC_PUSH(completion->arena, completion->places, ((Place){command->name, command->options()}));
    VEC_PUSH(completion->arena, completion->places, ((Place){"", options_table()}));
    for (size_t i = 0; i < completion->places.count; i++)
        add_values(completion, completion->places.data[i].rows);
    qsort(completion->values.data, completion->values.count, sizeof *completion->values.data, by_name);
}

static void print_commands(Buf *out)
{
    for (const Command *command = commands; command->name; command++)
        buf_printf(out, "%s%s", command == commands ? "" : " ", command->name);
}

static void print_bash(const Completion *completion)
{
    Buf *out = completion->out;
    buf_puts(out, "_ptxopt()\n{\n"
                  "    local word=\"${COMP_WORDS[COMP_CWORD]}\" options commands=\"\"\n"
                  "    case \"${COMP_WORDS[COMP_CWORD - 1]}\" in\n");
    for (size_t i = 0; i < completion->values.count; i++) {
        const OptionRow *row = completion->values.data[i];
        buf_printf(out, "    -%s | --%s) COMPREPLY=($(compgen -W '", row->name, row->name);
        option_row_print_words(row, out);
        buf_puts(out, "' -- \"$word\")); return ;;\n");
    }
    buf_puts(out, "    esac\n    case \"${COMP_WORDS[1]}\" in\n");
    for (size_t i = 0; i < completion->places.count; i++) {
        Place place = completion->places.data[i];
        buf_printf(out, "    %s) options='", *place.name ? place.name : "*");
        for (const OptionRow *row = place.rows; row->name; row++)
            buf_printf(out, "%s-%s", row == place.rows ? "" : " ", row->name);
        buf_puts(out, "' ;;\n");
    }
    buf_puts(out, "    esac\n"
                  "    [ \"$COMP_CWORD\" -ne 1 ] || commands='");
    print_commands(out);
    buf_puts(out, "'\n"
                  "    if [[ $word == -* ]]; then\n"
                  "        COMPREPLY=($(compgen -W \"$options\" -- \"$word\"))\n"
                  "    else\n"
                  "        COMPREPLY=($(compgen -f -W \"$commands\" -- \"$word\"))\n"
                  "    fi\n}\n"
                  "complete -o filenames -F _ptxopt ptxopt\n");
}

static void print_zsh_option(const OptionRow *row, Buf *out)
{
    buf_printf(out, " \\\n        '*-%s", row->name);
    if (row->takes == required_argument) {
        bool has_words = row->words || row->choice;
        buf_printf(out, ":%s:%s", row->name, has_words ? "(" : "_files");
        option_row_print_words(row, out);
        buf_puts(out, has_words ? ")" : "");
    }
    buf_puts(out, "'");
}

static void print_zsh(const Completion *completion)
{
    Buf *out = completion->out;
    buf_puts(out, "#compdef ptxopt\n_ptxopt() {\n    case $words[2] in\n");
    for (size_t i = 0; i < completion->places.count; i++) {
        Place place = completion->places.data[i];
        buf_printf(out, "    %s) _arguments", *place.name ? place.name : "*");
        for (const OptionRow *row = place.rows; row->name; row++)
            print_zsh_option(row, out);
        buf_puts(out, " \\\n        '*:file:_files' ;;\n");
    }
    buf_puts(out, "    esac\n}\n_ptxopt \"$@\"\n");
}

static void print_fish_condition(const Completion *completion, const char *command, Buf *out)
{
    buf_printf(out, "complete -c ptxopt -n '%s__fish_seen_subcommand_from", *command ? "" : "not ");
    for (size_t i = 0; i + 1 < completion->places.count && !*command; i++)
        buf_printf(out, " %s", completion->places.data[i].name);
    buf_printf(out, "%s%s'", *command ? " " : "", command);
}

static void print_fish(const Completion *completion)
{
    Buf *out = completion->out;
    buf_puts(out, "complete -c ptxopt -n __fish_is_first_arg -a '");
    print_commands(out);
    buf_puts(out, "'\n");
    for (size_t i = 0; i < completion->places.count; i++)
        for (const OptionRow *row = completion->places.data[i].rows; row->name; row++) {
            bool has_words = row->words || row->choice;
            print_fish_condition(completion, completion->places.data[i].name, out);
            buf_printf(out, " -%s %s", row->name[1] ? "o" : "s", row->name);
            if (row->takes == required_argument)
                buf_puts(out, has_words ? " -x -a '" : " -r");
            option_row_print_words(row, out);
            buf_puts(out, has_words ? "'\n" : "\n");
        }
}

static bool completion_print(Arena *arena, const char *shell, Buf *out)
{
    Completion completion = {.arena = arena, .out = out};
    gather(&completion);
    static const struct {
        const char *name;
        void (*print)(const Completion *completion);
    } shells[] = {{"bash", print_bash}, {"zsh", print_zsh}, {"fish", print_fish}};
    for (size_t i = 0; i < COUNT_OF(shells); i++)
        if (strcmp(shells[i].name, shell) == 0) {
            shells[i].print(&completion);
            return true;
        }
    return false;
}

const OptionRow *completion_options_table(void)
{
    static const OptionRow none = {0};
    return &none;
}

const char *completion_options_help(Arena *arena)
{
    return arena_printf(arena, "%s\n"
                               "Prints completions for the shell, which 'make install' puts in their place.\n",
                        command_usage(arena, "completion"));
}

int main_completion(Arena *arena, int argc, char **argv)
{
    Buf text = {0};
    bool known = argc == 3   ? completion_print(arena, argv[2], &text)
                 : argc == 4 ? wrapper_completion_print(argv[2], argv[3], &text)
                             : false;
    if (!known)
        fprintf(stderr, "ptxopt: error: completion: expected bash, zsh or fish, and perhaps ptxopt-nvcc or "
                        "ptxopt-ptxas\n");
    int status = known ? command_print(buf_text(&text)) : EXIT_USAGE;
    buf_free(&text);
    return status;
}
