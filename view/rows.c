/* The facts about a row: its registers, and where it comes from. */
#include "view/internal.h"

#include <string.h>

SassState view_state(const View *view, SassFile file, uint32_t row, uint32_t reg)
{
    const SassRanges *ranges = view->code.ranges;
    return (SassState)ranges->states[file][(size_t)row * ranges->counts[file] + reg];
}

char view_state_char(SassState state)
{
    static const char drawn[] = {[REGISTER_FREE] = ' ',
                                 [REGISTER_OCCUPIED] = ':',
                                 [REGISTER_READ] = 'v',
                                 [REGISTER_WRITTEN] = '^',
                                 [REGISTER_BOTH] = 'x'};
    return drawn[state];
}

unsigned view_live(const View *view, uint32_t row)
{
    return view->code.ranges->live[FILE_GENERAL][row];
}

bool view_is_ptx(const View *view)
{
    return !view->source.code;
}

bool view_is_counted(const View *view)
{
    return view->source.executions || view->source.profile;
}

const char *view_place(Arena *arena, const View *view, uint32_t row)
{
    const ViewRow *from = &view->code.rows[row];
    const SassPlace *place = view->source.places ? &view->source.places[row] : NULL;
    if (from->line)
        return loc_short_place(arena, view->source.module, from->loc);
    if (!place || !place->file)
        return NULL;
    const char *slash = strrchr(place->file, '/');
    return arena_printf(arena, "%s:%u", slash ? slash + 1 : place->file, place->line);
}

const char *view_written_name(const Inst *inst, const RegVec *regs)
{
    for (unsigned r = 0; r < inst->ref_count; r++)
        if (ref_writes(&inst->refs[r]))
            return regs->data[inst->refs[r].reg].name;
    return NULL;
}

void view_print_address(const View *view, uint32_t row, Buf *out)
{
    buf_printf(out, view_is_ptx(view) ? "%u" : "%x", view->code.rows[row].address);
}
