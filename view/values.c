/* The values that are live at the peak without being used in the frame around it, and what it costs to do without each
 * (section 5.2 of the paper).
 *
 * Ranges are followed in the order of the text, but a value is only read or computed again if, along all branches, it
 * comes from that one instruction. */
#include "view/internal.h"

#include <stdlib.h>

static bool writes(SassState state)
{
    return state == REGISTER_WRITTEN || state == REGISTER_BOTH;
}

static bool reads(SassState state)
{
    return state == REGISTER_READ || state == REGISTER_BOTH;
}

static SassState general(const View *view, uint32_t row, uint32_t reg)
{
    return view_state(view, FILE_GENERAL, row, reg);
}

/* The last row above where the register is written; MACHINE_NONE if it is free before that, or if a call writes it. */
static uint32_t last_write(const View *view, uint32_t reg)
{
    for (uint32_t row = view->peak; row-- > 0;) {
        SassState state = general(view, row, reg);
        if (writes(state))
            return view->code.rows[row].flow == MACHINE_CALL ? MACHINE_NONE : row;
        if (state == REGISTER_FREE)
            break;
    }
    return MACHINE_NONE;
}

static uint32_t next_read(const View *view, uint32_t reg)
{
    for (uint32_t row = view->peak + 1; row < view->code.count; row++) {
        SassState state = general(view, row, reg);
        if (reads(state))
            return row;
        if (state != REGISTER_OCCUPIED)
            break;
    }
    return MACHINE_NONE;
}

static bool is_used_in_frame(const View *view, uint32_t reg)
{
    for (uint32_t row = view->frame[0]; row <= view->frame[1]; row++)
        if (general(view, row, reg) != REGISTER_OCCUPIED)
            return true;
    return false;
}

/* True if the register holds nothing that is needed at some row after 'from', up to 'to'. */
static bool is_free_between(const View *view, SassFile file, uint32_t reg, uint32_t from, uint32_t to)
{
    for (uint32_t row = from + 1; row <= to; row++)
        if (view_state(view, file, row, reg) == REGISTER_FREE)
            return true;
    return false;
}

/* True if the registers of the file that the instruction at 'from' reads have the same values before 'to', and are
 * still needed there. */
static bool keeps_operands_of(const View *view, ViewFlow *flow, SassFile file, uint32_t from, uint32_t to)
{
    for (uint32_t reg = 0; reg < view->code.ranges->counts[file]; reg++) {
        if (!reads(view_state(view, file, from, reg)))
            continue;
        const uint32_t write = view_reaching_write(flow, file, reg, from);
        if (write == MACHINE_NONE || view_reaching_write(flow, file, reg, to) != write ||
            is_free_between(view, file, reg, from, to))
            return false;
    }
    return true;
}

static bool keeps_operands(const View *view, ViewFlow *flow, uint32_t from, uint32_t to)
{
    for (unsigned file = 0; file < SASS_FILE_COUNT; file++)
        if (!keeps_operands_of(view, flow, (SassFile)file, from, to))
            return false;
    return true;
}

/* True if the value comes from the same instruction whenever it is at the peak, and where it is read next. */
static bool is_only_write(const View *view, ViewFlow *flow, const ViewValue *value)
{
    for (uint32_t reg = value->reg; reg < value->reg + value->width; reg++)
        if (view_reaching_write(flow, FILE_GENERAL, reg, view->peak) != value->written ||
            view_reaching_write(flow, FILE_GENERAL, reg, value->read) != value->written)
            return false;
    return true;
}

static void find_remedy(const View *view, ViewFlow *flow, ViewValue *value)
{
    const ViewRow *rows = view->code.rows;
    const ViewRemedy remedy = value->written == MACHINE_NONE ? REMEDY_STORE : rows[value->written].remedy;
    const bool knows = view_is_counted(view);
    const double later = value->read == MACHINE_NONE ? 1 : rows[value->read].executions;
    const double before = value->written == MACHINE_NONE ? 1 : rows[value->written].executions;
    const bool is_plain = remedy != REMEDY_STORE && value->read != MACHINE_NONE && value->read > value->written &&
                          is_only_write(view, flow, value);
    value->cost = knows ? later : 1;
    if (is_plain && keeps_operands(view, flow, value->written, value->read)) {
        value->remedy = remedy;
    } else {
        value->remedy = REMEDY_STORE;
        value->cost = (knows ? before + later : 2) * value->width;
    }
}

/* Cheap ones first; of equals, those that are gone for longer. */
static int compare_values(const void *a, const void *b)
{
    const ViewValue *one = a, *other = b;
    if (one->remedy != other->remedy && (one->remedy == REMEDY_STORE || other->remedy == REMEDY_STORE))
        return one->remedy < other->remedy ? -1 : 1;
    double ours = one->cost / one->width, theirs = other->cost / other->width;
    if (ours != theirs)
        return ours < theirs ? -1 : 1;
    uint32_t length = one->read - one->written, its = other->read - other->written;
    if (length != its)
        return length > its ? -1 : 1;
    return one->reg < other->reg ? -1 : one->reg > other->reg;
}

/* True of R1 where the kernel's first instruction loads it: the ABI's stack pointer, which no source can do without. */
static bool is_stack_pointer(const View *view, const ViewValue *value)
{
    return !view_is_ptx(view) && value->reg == 1 && value->written == 0;
}

void view_find_values(Arena *arena, View *view)
{
    ViewFlow *flow = view_flow_new(arena, view);
    VEC(ViewValue) values = {0};
    for (uint32_t reg = 0; reg < view->code.ranges->counts[FILE_GENERAL]; reg++) {
        if (is_used_in_frame(view, reg))
            continue;
        ViewValue value = {.reg = reg, .width = 1, .written = last_write(view, reg), .read = next_read(view, reg)};
        if (is_stack_pointer(view, &value))
            continue;
        ViewValue *last = values.count ? &values.data[values.count - 1] : NULL;
        if (last && value.written != MACHINE_NONE && last->written == value.written && last->reg + last->width == reg) {
            last->width++;
            if (value.read < last->read)
                last->read = value.read;
        } else {
            VEC_PUSH(arena, values, value);
        }
    }
    for (size_t i = 0; i < values.count; i++)
        find_remedy(view, flow, &values.data[i]);
    if (values.count)
        qsort(values.data, values.count, sizeof *values.data, compare_values);
    view->values = values.data;
    view->value_count = (uint32_t)values.count;
}
