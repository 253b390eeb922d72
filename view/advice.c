/* The sentences that a person needs. */
#include "view/internal.h"

#include <inttypes.h>

const char *view_remedy_name(ViewRemedy remedy)
{
    static const char *const names[] = {[REMEDY_RELOAD] = "read again",
                                        [REMEDY_RECOMPUTE] = "compute again",
                                        [REMEDY_STORE] = "keep in memory"};
    return names[remedy];
}

void view_print_gap(const View *view, Buf *out)
{
    const ViewGap *gap = &view->gap;
    if (view_is_ptx(view)) {
        buf_printf(out, "%u registers live at the peak", gap->live);
        if (gap->allocated)
            buf_printf(out, "; about %u in machine code, by an estimate", gap->allocated);
        return;
    }
    buf_printf(out, "%u registers = %u live at the peak + %u free there that other code uses", gap->allocated,
               gap->live, gap->free);
    if (gap->reserved)
        buf_printf(out, " + %u above the highest that is used", gap->reserved);
}

/* Prints the PTX registers that have the columns of a value at the peak. */
static void print_lives(const View *view, const ViewValue *value, Buf *out)
{
    const char *gap = "";
    for (uint32_t l = 0; l < view->code.life_count; l++) {
        const ViewLife *life = &view->code.lives[l];
        if (life->file == FILE_GENERAL && life->column >= value->reg && life->column < value->reg + value->width &&
            life->first <= view->peak && view->peak <= life->last) {
            buf_printf(out, "%s%s", gap, life->name ? life->name : "an address");
            gap = " ";
        }
    }
}

void view_print_value(const View *view, const ViewValue *value, Buf *out)
{
    Arena *scratch = arena_new();
    const char *place = value->written == MACHINE_NONE ? NULL : view_place(scratch, view, value->written);
    const uint32_t line = value->written == MACHINE_NONE ? 0 : view->code.rows[value->written].line;
    const char *name = value->written == MACHINE_NONE ? NULL : view->code.rows[value->written].name;
    if (view_is_ptx(view))
        print_lives(view, value, out);
    else if (name)
        buf_puts(out, name);
    else
        buf_printf(out, "R%u", value->reg);
    if (place)
        buf_printf(out, " (%s)", place);
    else if (line)
        buf_printf(out, " (line %u)", line);
    arena_free(scratch);
}

/* The cheapest values that have as many registers together as have to go. */
static void print_first_values(const View *view, unsigned less, Buf *out)
{
    enum { MOST_NAMED = 4 };
    static const char *const ways[] = {[REMEDY_RELOAD] = "by reading it again",
                                       [REMEDY_RECOMPUTE] = "by computing it again",
                                       [REMEDY_STORE] = "by keeping it in memory"};
    unsigned found = 0;
    if (!view->value_count)
        buf_puts(out, "; every value that is live there is used there");
    for (uint32_t v = 0; v < view->value_count && v < MOST_NAMED && found < less; v++) {
        buf_puts(out, v ? ", " : "; first do without ");
        view_print_value(view, &view->values[v], out);
        buf_printf(out, " %s", ways[view->values[v].remedy]);
        found += view->values[v].width;
    }
}

/* The result of the trial: true if nothing else has to be done for the blocks. */
static bool print_trial(const View *view, Buf *out)
{
    const ViewTrial *trial = &view->trial;
    if (!trial->cap || trial->registers > view->boundary)
        return false;
    buf_printf(out, "; under .maxnreg %u the assembler ", trial->cap);
    if (trial->spilled)
        buf_printf(out, "spills %" PRIu64 " bytes", trial->spilled);
    else
        buf_puts(out, "does without them and spills nothing");
    return !trial->spilled;
}

static void print_frames(const View *view, Buf *out)
{
    const ViewRow *rows = view->code.rows;
    buf_printf(out, view_is_ptx(view) ? " between lines %u and %u" : " between 0x%x and 0x%x",
               rows[view->frame[0]].address, rows[view->frame[1]].address);
    if (view->frames > 1)
        buf_printf(out, " and in %u other place%s", view->frames - 1, plural(view->frames - 1));
}

void view_print_advice(const View *view, Buf *out)
{
    if (!view->source.block_threads) {
        buf_puts(out, "the block size is unknown, so nothing can be said about occupancy (-block X,Y,Z)");
    } else if (!view->source.sm || !view->gap.allocated) {
        buf_puts(out, "the limits of the architecture are unknown");
    } else if (!view->occupancy.blocks) {
        buf_printf(out, "a block of %u threads cannot be launched", view->source.block_threads);
    } else if (!view->boundary) {
        buf_printf(out, "fewer registers allow no more blocks: %s", occupancy_limits_name(view->occupancy.limits));
        buf_puts(out, view->occupancy.fraction < 1 ? " are the limit" : " are all in use");
    } else {
        const unsigned less = view->gap.allocated - view->boundary, more = view->beyond.blocks - view->occupancy.blocks;
        buf_printf(out, "%s%u register%s fewer", view_is_ptx(view) ? "about " : "", less, plural(less));
        print_frames(view, out);
        buf_printf(out, " allow%s %u more block%s (%u instead of %u)", less == 1 ? "s" : "", more, plural(more),
                   view->beyond.blocks, view->occupancy.blocks);
        if (!print_trial(view, out))
            print_first_values(view, less, out);
    }
}
