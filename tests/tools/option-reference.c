/* Prints the options that help mentions, a line each: the command ("" for none), the option's name, its value's name
 * and the words that the value may be, separated by tabs. */
#include <stdio.h>

#include "cli/commands.h"

static void print_table(const char *command, const OptionRow *rows)
{
    for (const OptionRow *row = rows; row->name; row++) {
        if (row->is_hidden)
            continue;
        Buf words = {0};
        option_row_print_words(row, &words);
        printf("%s\t%s\t%s\t%s\n", command, row->name, row->takes == no_argument ? "" : row->argument,
               buf_text(&words));
        buf_free(&words);
    }
}

int main(void)
{
    print_table("", options_table());
    for (const Command *command = commands; command->name; command++)
        print_table(command->name, command->options());
    return 0;
}
