/* The rows of options/options.def, and the help that is made of them. */
#include "options/options.h"

static void print_guards(Buf *out, const char *between, const char *before_last)
{
    for (GuardForm form = 0; form < GUARD_FORM_COUNT; form++)
        buf_printf(out, "%s%s", form == 0 ? "" : form + 1 < GUARD_FORM_COUNT ? between : before_last,
                   guard_form_name(form));
}

void assembler_choice_print(Buf *out, const char *between, const char *before_last)
{
    for (AssemblerKind kind = 0; kind < ASSEMBLER_KIND_COUNT; kind++)
        buf_printf(out, "%s%s", kind ? between : "", assembler_kind_word(kind));
    buf_printf(out, "%snone", before_last);
}

static const OptionRow rows[] = {
#define OPTION(id, name, value, argument, action, help) OPTION_ROW(name, argument, help, value),
#define PROGRAM_OPTION(id, name, value, argument, action, help) \
    OPTION_ROW(name, argument, help, .is_for_program = true, value),
#include "options/options.def"
    {0},
};

const OptionRow *options_table(void)
{
    return rows;
}

void options_print_help(Buf *out)
{
#define SECTION(title) buf_puts(out, "\n" title "\n");
#define OPTION(id, ...) option_row_print_help(&rows[OPTION_##id], out);
#include "options/options.def"
}
