/* Tables of options: how each is written, completed and described. They are .def files with a row
 * OPTION(id, name, value, argument, action, help) for each option; options/options.def explains the columns. */
#ifndef PTXOPT_OPTIONS_TABLE_H
#define PTXOPT_OPTIONS_TABLE_H

#include <getopt.h>

#include "support/support.h"

/* Prints the words that a value can be: 'between' two of them, but 'before_last' before the last one. */
typedef void PrintChoice(Buf *out, const char *between, const char *before_last);

/* Tables end with a row without a name. */
typedef struct OptionRow {
    const char *name;
    const char *argument; /* the value's name */
    const char *help;     /* lines; "": none; NULL: the row before describes this option */
    bool is_hidden;       /* help does not mention it */
    bool is_for_program;  /* the library's callers cannot have it */
    int takes;            /* no_argument, required_argument or optional_argument of getopt */
    const char *words;    /* that complete a value, separated by blanks; NULL: files, or ... */
    PrintChoice *choice;  /* ... these */
} OptionRow;

#define OPTION_ROW(name_, argument_, help_, ...) {.name = name_, .argument = argument_, .help = help_, __VA_ARGS__}

#define AS_ABOVE NULL

/* The column 'value'. */
#define TAKES_NOTHING .takes = no_argument
#define TAKES_VALUE .takes = required_argument
#define MAY_TAKE_VALUE .takes = optional_argument
#define TAKES_WORDS(list) .takes = required_argument, .words = list
#define TAKES_CHOICE(print) .takes = required_argument, .choice = print

/* Identifiers are places in the table, and begin here for getopt, past those of characters. */
enum { FIRST_OPTION = 256 };

/* The table as getopt reads it, in the arena: it returns FIRST_OPTION + the row's place. */
const struct option *option_rows_for_getopt(Arena *arena, const OptionRow *rows);
/* The row with this name, or NULL. */
const OptionRow *option_row_find(const OptionRow *rows, const char *name);
/* The option's part of -help: "  -name ARGUMENT             text". Nothing if another row or none describes it. */
void option_row_print_help(const OptionRow *row, Buf *out);
void option_rows_print_help(const OptionRow *rows, Buf *out);
/* The words that complete the value. False if it is not one of words. */
bool option_row_print_words(const OptionRow *row, Buf *out);

#endif
