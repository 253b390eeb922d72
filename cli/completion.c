#include "cli/completion.h"

#include "cli/commands.h"
#include <string.h>

#include "cli/setup.h"
#include "options/options.h"

typedef struct Command {
    const char *name; /* "": no command, files are transformed */
    const struct option *(*options)(void);
} Command;

static const Command commands[] = {
    {"run", run_options_table}, {"cost", cost_options_table}, {"setup", setup_options_table}, {"", options_table}};

static void print_assemblers(Buf *out)
{
    assembler_choice_print(out, " ", " ");
}

static void print_guards(Buf *out)
{
    for (GuardForm form = 0; form < GUARD_FORM_COUNT; form++)
        buf_printf(out, "%s%s", form ? " " : "", guard_form_name(form));
}

/* Options whose values are words. Other values are taken for files. */
static const struct {
    const char *option, *words;
    void (*print)(Buf *out); /* instead of 'words' */
} values[] = {
    {"assembler", NULL, print_assemblers},
    {"check", "all none races unwritten registers division", NULL},
    {"coarsen", "2 4 8 x2,bx2 auto source", NULL},
    {"coarsen-grid", "keep shrink", NULL},
    {"coarsen-guards", NULL, print_guards},
    {"coarsen-level", "thread block", NULL},
    {"report-format", "text json", NULL},
    {"stride", "block unit", NULL},
    {"target-regs", "auto fewest", NULL},
    {"uj", "auto source", NULL},
};

/* Prints the words of a value between two texts; false if it is not one of words. */
static bool print_words(Buf *out, const char *before, const char *option, const char *after)
{
    for (size_t i = 0; i < COUNT_OF(values); i++)
        if (strcmp(values[i].option, option) == 0) {
            buf_puts(out, before);
            if (values[i].print)
                values[i].print(out);
            else
                buf_puts(out, values[i].words);
            buf_puts(out, after);
            return true;
        }
    return false;
}

static void print_bash(Buf *out)
{
    buf_puts(out, "_ptxopt()\n{\n"
                  "    local word=\"${COMP_WORDS[COMP_CWORD]}\" options commands=\"\"\n"
                  "    case \"${COMP_WORDS[COMP_CWORD - 1]}\" in\n");
    for (size_t i = 0; i < COUNT_OF(values); i++) {
        buf_printf(out, "    -%s | --%s) COMPREPLY=($(compgen -W '", values[i].option, values[i].option);
        print_words(out, "", values[i].option, "' -- \"$word\")); return ;;\n");
    }
    buf_puts(out, "    esac\n    case \"${COMP_WORDS[1]}\" in\n");
    for (size_t i = 0; i < COUNT_OF(commands); i++) {
        buf_printf(out, "    %s) options='", *commands[i].name ? commands[i].name : "*");
        for (const struct option *option = commands[i].options(); option->name; option++)
            buf_printf(out, "%s-%s", option == commands[i].options() ? "" : " ", option->name);
        buf_puts(out, "' ;;\n");
    }
    buf_puts(out, "    esac\n"
                  "    [ \"$COMP_CWORD\" -ne 1 ] || commands='run cost setup completion help'\n"
                  "    if [[ $word == -* ]]; then\n"
                  "        COMPREPLY=($(compgen -W \"$options\" -- \"$word\"))\n"
                  "    else\n"
                  "        COMPREPLY=($(compgen -f -W \"$commands\" -- \"$word\"))\n"
                  "    fi\n}\n"
                  "complete -o filenames -F _ptxopt ptxopt\n");
}

static void print_zsh(Buf *out)
{
    buf_puts(out, "#compdef ptxopt\n_ptxopt() {\n    case $words[2] in\n");
    for (size_t i = 0; i < COUNT_OF(commands); i++) {
        buf_printf(out, "    %s) _arguments", *commands[i].name ? commands[i].name : "*");
        for (const struct option *option = commands[i].options(); option->name; option++) {
            buf_printf(out, " \\\n        '*-%s", option->name);
            if (option->has_arg == required_argument) {
                buf_printf(out, ":%s:", option->name);
                if (!print_words(out, "(", option->name, ")"))
                    buf_puts(out, "_files");
            }
            buf_puts(out, "'");
        }
        buf_puts(out, " \\\n        '*:file:_files' ;;\n");
    }
    buf_puts(out, "    esac\n}\n_ptxopt \"$@\"\n");
}

static void print_fish(Buf *out)
{
    buf_puts(out, "complete -c ptxopt -n __fish_is_first_arg -a 'run cost setup completion help'\n");
    for (size_t i = 0; i < COUNT_OF(commands); i++)
        for (const struct option *option = commands[i].options(); option->name; option++) {
            if (*commands[i].name)
                buf_printf(out, "complete -c ptxopt -n '__fish_seen_subcommand_from %s'", commands[i].name);
            else
                buf_puts(out, "complete -c ptxopt -n 'not __fish_seen_subcommand_from run cost setup'");
            buf_printf(out, " -%s %s", option->name[1] ? "o" : "s", option->name);
            if (option->has_arg == required_argument && !print_words(out, " -x -a '", option->name, "'"))
                buf_puts(out, " -r");
            buf_putc(out, '\n');
        }
}

bool completion_print(const char *shell, Buf *out)
{
    static const struct {
        const char *name;
        void (*print)(Buf *out);
    } shells[] = {{"bash", print_bash}, {"zsh", print_zsh}, {"fish", print_fish}};
    for (size_t i = 0; i < COUNT_OF(shells); i++)
        if (strcmp(shells[i].name, shell) == 0) {
            shells[i].print(out);
            return true;
        }
    return false;
}
