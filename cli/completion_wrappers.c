/* Completion for ptxopt-nvcc and ptxopt-ptxas. The options of nvcc and ptxas come from their --help, when they are
 * asked for. */
#include <string.h>

#include "cli/commands.h"
#include "cli/completion.h"
#include "options/options.h"

/* The options in the help of NVIDIA's programs: --entry, and the short form in parentheses. */
#define OPTIONS_OF_HELP "sed -n 'h; s/^\\(--[A-Za-z-]*\\).*/\\1/p; g; s/^--.*(\\(-[A-Za-z-]*\\)).*/\\1/p'"

/* Options of ptxopt, and of the wrapper, that -Xptxopt and -Xptxas pass. */
static void print_options(Buf *out)
{
    for (const OptionRow *row = options_table(); row->name; row++)
        buf_printf(out, "-%s%s ", row->name, row->takes == required_argument ? "=" : "");
    buf_puts(out, "-launches-adapted -strict");
}

static void print_bash(const char *program, bool has_options, Buf *out)
{
    const char *function = has_options ? "_ptxopt_nvcc" : "_ptxopt_ptxas";
    buf_printf(out, "%s()\n{\n    local word=\"${COMP_WORDS[COMP_CWORD]}\"\n", function);
    if (has_options) {
        buf_puts(out, "    case \"${COMP_WORDS[COMP_CWORD - 1]}\" in\n"
                      "    -Xptxopt | -Xptxas | --ptxopt-options | --ptxas-options)\n"
                      "        compopt -o nospace\n"
                      "        COMPREPLY=($(compgen -W '");
        print_options(out);
        buf_puts(out, "' -- \"$word\")); return ;;\n    esac\n");
    }
    buf_printf(out,
               "    if [[ $word == -* ]]; then\n"
               "        COMPREPLY=($(compgen -W \"%s$(\"${COMP_WORDS[0]}\" --help 2>/dev/null | %s)\" -- \"$word\"))\n"
               "    else\n"
               "        COMPREPLY=($(compgen -f -- \"$word\"))\n"
               "    fi\n}\ncomplete -o filenames -F %s %s\n",
               has_options ? "-Xptxopt -Xptxas " : "", OPTIONS_OF_HELP, function, program);
}

static void print_zsh(const char *program, bool has_options, Buf *out)
{
    buf_printf(out, "#compdef %s\n", program);
    if (has_options) {
        buf_puts(out, "case $words[CURRENT-1] in\n"
                      "-Xptxopt|-Xptxas|--ptxopt-options|--ptxas-options)\n    compadd -S '' - ");
        print_options(out);
        buf_puts(out, "\n    return ;;\nesac\n");
    }
    buf_printf(out,
               "if [[ $PREFIX == -* ]]; then\n"
               "    compadd - %s${(f)\"$($words[1] --help 2>/dev/null | %s)\"}\n"
               "else\n    _files\nfi\n",
               has_options ? "-Xptxopt -Xptxas " : "", OPTIONS_OF_HELP);
}

static void print_fish(const char *program, bool has_options, Buf *out)
{
    static const char *const names[] = {"-o Xptxopt", "-o Xptxas", "-l ptxopt-options", "-l ptxas-options"};
    for (size_t i = 0; has_options && i < COUNT_OF(names); i++) {
        buf_printf(out, "complete -c %s %s -x -a '", program, names[i]);
        print_options(out);
        buf_puts(out, "'\n");
    }
    buf_printf(out,
               "complete -c %s -n 'string match -q -- \"-*\" (commandline -ct)' -a '(%s --help 2>/dev/null | "
               "string match -rg \"^(--[A-Za-z-]+)\")'\n",
               program, program);
}

bool wrapper_completion_print(const char *shell, const char *program, Buf *out)
{
    static const struct {
        const char *name;
        void (*print)(const char *program, bool has_options, Buf *out);
    } shells[] = {{"bash", print_bash}, {"zsh", print_zsh}, {"fish", print_fish}};
    bool has_options = strcmp(program, "ptxopt-nvcc") == 0;
    if (!has_options && strcmp(program, "ptxopt-ptxas") != 0)
        return false;
    for (size_t i = 0; i < COUNT_OF(shells); i++)
        if (strcmp(shells[i].name, shell) == 0) {
            shells[i].print(program, has_options, out);
            return true;
        }
    return false;
}
