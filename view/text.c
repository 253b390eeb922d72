/* The picture as text: a column of one character for each register where the terminal is wide enough, else a bar as
 * long as registers are live. */
#include "view/internal.h"

#include <string.h>

enum {
    TEXT_WIDTH = 44, /* that an instruction should have at least */
    BAR_WIDTH = 24,
    MOST_VALUES = 12,
};

#define COLOR_WRITTEN "\33[32m"
#define COLOR_READ "\33[36m"
#define COLOR_BOTH "\33[33m"
#define COLOR_FRAME "\33[1;31m"
#define COLOR_FAINT "\33[2m"
#define COLOR_END "\33[0m"

static void put_colored(const ViewStyle *style, const char *color, const char *text, Buf *out)
{
    if (style->colored && *color)
        buf_printf(out, "%s%s" COLOR_END, color, text);
    else
        buf_puts(out, text);
}

static void print_state(const ViewStyle *style, SassState state, Buf *out)
{
    static const char *const colors[] = {[REGISTER_FREE] = "",
                                         [REGISTER_OCCUPIED] = COLOR_FAINT,
                                         [REGISTER_READ] = COLOR_READ,
                                         [REGISTER_WRITTEN] = COLOR_WRITTEN,
                                         [REGISTER_BOTH] = COLOR_BOTH};
    const char text[] = {view_state_char(state), 0};
    put_colored(style, colors[state], text, out);
}

/* The heads of the files' columns; the general registers have numbers. */
static const char *const heads[SASS_FILE_COUNT] = {"", "P", "U", "UP"};

/* The columns of a file; 0 if none of its registers is used. */
static unsigned file_columns(const View *view, unsigned file)
{
    const unsigned count = view->code.ranges->counts[file], head = (unsigned)strlen(heads[file]);
    return count && count < head ? head : count;
}

/* The columns of all registers, with two blanks between files. */
static unsigned all_columns(const View *view)
{
    unsigned columns = file_columns(view, FILE_GENERAL);
    for (unsigned file = FILE_GENERAL + 1; file < SASS_FILE_COUNT; file++)
        columns += file_columns(view, file) ? file_columns(view, file) + 2 : 0;
    return columns;
}

/* True if the registers of all files are drawn, one column each. */
static bool draws_all(const View *view, const ViewStyle *style)
{
    return !style->width || 14 + all_columns(view) + TEXT_WIDTH <= style->width;
}

/* The numbers of the registers above their columns, 'indent' columns further to the right. */
static void print_digits(const View *view, unsigned indent, Buf *out)
{
    const uint32_t count = view->code.ranges->counts[FILE_GENERAL];
    for (unsigned power = count > 100 ? 100 : count > 10 ? 10 : 1; power; power /= 10) {
        buf_printf(out, "%*s", (int)indent + 14, "");
        for (uint32_t reg = 0; reg < count; reg++)
            buf_putc(out, (char)('0' + reg / power % 10));
        int gap = 2;
        for (unsigned file = FILE_GENERAL + 1; power == 1 && file < SASS_FILE_COUNT; file++)
            if (file_columns(view, file)) {
                buf_printf(out, "%*s%s", gap, "", heads[file]);
                gap = 2 + (int)(file_columns(view, file) - strlen(heads[file]));
            }
        buf_putc(out, '\n');
    }
}

static void print_bar(const View *view, const ViewStyle *style, uint32_t row, Buf *out)
{
    unsigned most = view_live(view, view->peak), live = view_live(view, row);
    unsigned length = most ? (live * BAR_WIDTH + most - 1) / most : 0;
    char bar[BAR_WIDTH + 1];
    memset(bar, ' ', BAR_WIDTH);
    memset(bar, '#', length > BAR_WIDTH ? BAR_WIDTH : length);
    bar[BAR_WIDTH] = 0;
    put_colored(style, row >= view->frame[0] && row <= view->frame[1] ? COLOR_FRAME : "", bar, out);
}

/* How many loops the row is in, and whether it begins or ends the innermost. */
static char loop_mark(const View *view, uint32_t row, unsigned *depth)
{
    char mark = ' ';
    *depth = 0;
    for (uint32_t l = 0; l < view->loop_count; l++) {
        const ViewLoop *loop = &view->loops[l];
        if (row < loop->first || row > loop->last)
            continue;
        ++*depth;
        mark = row == loop->first ? '/' : row == loop->last ? '\\' : '|';
    }
    return mark;
}

static void print_registers(const View *view, const ViewStyle *style, uint32_t row, Buf *out)
{
    const uint32_t *counts = view->code.ranges->counts;
    for (unsigned file = 0; file < SASS_FILE_COUNT; file++) {
        if (file != FILE_GENERAL && counts[file])
            buf_puts(out, "  ");
        for (uint32_t reg = 0; reg < counts[file]; reg++)
            print_state(style, view_state(view, (SassFile)file, row, reg), out);
        buf_printf(out, "%*s", (int)(file_columns(view, file) - counts[file]), "");
    }
}

static void print_place(const View *view, uint32_t row, Buf *out)
{
    Arena *scratch = arena_new();
    const char *place = view_place(scratch, view, row);
    if (place)
        buf_printf(out, "  %s", place);
    else if (view->code.rows[row].line && !view_is_ptx(view))
        buf_printf(out, "  line %u", view->code.rows[row].line);
    arena_free(scratch);
}

/* How the rows are printed. */
typedef struct RowTable {
    const View *view;
    const ViewStyle *style;
    bool all;                   /* a column for each register */
    const View *before;         /* NULL: there is nothing to compare with */
    const ViewChanges *changes; /* since then */
    uint32_t next;              /* the first row before that has not been printed */
} RowTable;

static void print_change(const RowTable *table, ViewChange change, Buf *out)
{
    static const char *const colors[CHANGE_COUNT] = {
        "", COLOR_BOTH, COLOR_WRITTEN, COLOR_WRITTEN, COLOR_FRAME, COLOR_FRAME};
    const char text[] = {view_change_char(change), 0};
    if (table->before)
        put_colored(table->style, colors[change], text, out);
}

/* The instruction, with where it jumps to. */
static void print_instruction(const View *view, uint32_t row, Buf *out)
{
    const ViewRow *inst = &view->code.rows[row];
    buf_puts(out, inst->text);
    if (inst->target != MACHINE_NONE) {
        buf_puts(out, " -> ");
        view_print_address(view, inst->target, out);
    }
}

static void print_row(const RowTable *table, uint32_t row, Buf *out)
{
    const View *view = table->view;
    unsigned depth;
    char mark = loop_mark(view, row, &depth), live[16];
    const bool framed = row >= view->frame[0] && row <= view->frame[1];
    if (table->before)
        print_change(table, (ViewChange)table->changes->kinds[1][row], out);
    snprintf(live, sizeof live, "%4u%c", view_live(view, row), row == view->peak ? '<' : framed ? '-' : ' ');
    buf_printf(out, view_is_ptx(view) ? "%6u " : "%6x ", view->code.rows[row].address);
    put_colored(table->style, framed ? COLOR_FRAME : "", live, out);
    buf_puts(out, "  ");
    if (table->all)
        print_registers(view, table->style, row, out);
    else
        print_bar(view, table->style, row, out);
    buf_printf(out, "  %c%-*s", mark, depth > 8 ? 8 : (int)depth, "");
    print_instruction(view, row, out);
    if (view->code.rows[row].spills)
        buf_puts(out, "  spill");
    print_place(view, row, out);
    if (view_is_counted(view))
        buf_printf(out, "  %.0fx", view->code.rows[row].executions);
    buf_putc(out, '\n');
}

/* Rows that are gone, up to where this row was, in columns of the picture that follows. */
static void print_gone(RowTable *table, uint32_t end, Buf *out)
{
    const unsigned columns = table->all ? all_columns(table->view) : BAR_WIDTH;
    for (; table->next < end; table->next++) {
        const uint32_t row = table->next;
        if (table->changes->partners[0][row] != MACHINE_NONE)
            continue;
        print_change(table, (ViewChange)table->changes->kinds[0][row], out);
        buf_printf(out, view_is_ptx(table->before) ? "%6u" : "%6x", table->before->code.rows[row].address);
        buf_printf(out, " %4u %*s", view_live(table->before, row), (int)columns + 5, "");
        print_instruction(table->before, row, out);
        buf_putc(out, '\n');
    }
}

static void print_rows(RowTable *table, Buf *out)
{
    const ViewRow *insts = table->view->code.rows;
    for (uint32_t row = 0; row < table->view->code.count; row++) {
        if (row && insts[row].block != insts[row - 1].block && insts[row].address == 0)
            buf_putc(out, '\n');
        if (table->before && table->changes->kinds[1][row] == CHANGE_NONE)
            print_gone(table, table->changes->partners[1][row], out);
        print_row(table, row, out);
    }
    if (table->before)
        print_gone(table, table->before->code.count, out);
}

static void print_sums(const View *view, Buf *out)
{
    buf_puts(out, "  ");
    view_print_gap(view, out);
    buf_putc(out, '\n');
    if (view->occupancy.blocks)
        buf_printf(out, "  %u block%s of %u threads, %u of %u warps; limited by %s\n", view->occupancy.blocks,
                   plural(view->occupancy.blocks), view->source.block_threads, view->occupancy.warps,
                   view->source.sm->warps_per_sm, occupancy_limits_name(view->occupancy.limits));
}

static void print_row_of(const View *view, const char *what, uint32_t row, Buf *out)
{
    if (row == MACHINE_NONE)
        return;
    buf_puts(out, what);
    view_print_address(view, row, out);
}

static void print_values(const View *view, Buf *out)
{
    if (!view->value_count)
        return;
    buf_puts(out, "\nlive there and not used, the cheapest to do without first\n");
    for (uint32_t v = 0; v < view->value_count && v < MOST_VALUES; v++) {
        const ViewValue *value = &view->values[v];
        Buf name = {0};
        view_print_value(view, value, &name);
        buf_printf(out, "  %s%-3u %2u  %-28s %-14s", view_is_ptx(view) ? "" : "R", value->reg, value->width,
                   buf_text(&name), view_remedy_name(value->remedy));
        buf_free(&name);
        print_row_of(view, "  written at ", value->written, out);
        print_row_of(view, ", read at ", value->read, out);
        if (view_is_counted(view))
            buf_printf(out, ", %.0f executed", value->cost);
        buf_putc(out, '\n');
    }
    if (view->value_count > MOST_VALUES)
        buf_printf(out, "  and %u more\n", view->value_count - MOST_VALUES);
}

static void print_before(const RowTable *table, Buf *out)
{
    buf_printf(out, "before: %u instructions\n", table->before->code.count);
    print_sums(table->before, out);
    buf_puts(out, "  ");
    view_print_changes(table->changes, out);
    buf_putc(out, '\n');
}

void view_print_text(const View *before, const View *view, const ViewStyle *style, Buf *out)
{
    Arena *scratch = arena_new();
    RowTable table = {.view = view, .style = style, .all = draws_all(view, style), .before = before};
    if (before)
        table.changes = view_compare(scratch, before, view);
    buf_printf(out, "%s for %s, %u %sinstructions: ", view->source.kernel, view->source.arch, view->code.count,
               view_is_ptx(view) ? "PTX " : "");
    view_print_advice(view, out);
    buf_putc(out, '\n');
    print_sums(view, out);
    if (view->source.missing)
        buf_printf(out, "  not its machine code: %s\n", view->source.missing);
    if (before)
        print_before(&table, out);
    print_values(view, out);
    buf_putc(out, '\n');
    if (before)
        buf_puts(out, "m moved, + repeated, * new, & merged into another like it, - removed\n");
    if (table.all) {
        buf_puts(out, "^ written, v read, x both, : keeps a value; < the peak, - too many for one more block\n");
        print_digits(view, before ? 1 : 0, out);
    }
    print_rows(&table, out);
    arena_free(scratch);
}
