/* The facts about a row: its registers, where it comes from, how often it is executed. */
#include "view/internal.h"

#include <string.h>

SassState view_state(const View *view, SassFile file, uint32_t row, uint32_t reg)
{
    const SassRanges *ranges = view->source.code->ranges;
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
    return view->source.code->ranges->live[FILE_GENERAL][row];
}

static const Inst *ptx_inst(const View *view, uint32_t row)
{
    uint32_t ptx = view->source.code->instructions[row].ptx;
    return view->source.map && ptx != MACHINE_NONE ? view->source.map->lines.insts[ptx] : NULL;
}

uint32_t view_ptx_line(const View *view, uint32_t row)
{
    const Inst *inst = ptx_inst(view, row);
    return inst ? source_position(view->source.module->source, inst->span.begin).line : 0;
}

const char *view_place(Arena *arena, const View *view, uint32_t row)
{
    const Inst *inst = ptx_inst(view, row);
    const SassPlace *place = view->source.places ? &view->source.places[row] : NULL;
    if (inst)
        return loc_short_place(arena, view->source.module, inst->loc);
    if (!place || !place->file)
        return NULL;
    const char *slash = strrchr(place->file, '/');
    return arena_printf(arena, "%s:%u", slash ? slash + 1 : place->file, place->line);
}

double view_executions(const View *view, uint32_t row)
{
    const SassExecutions *executions = view->source.executions;
    return executions ? executions->block_warps[view->source.code->instructions[row].block] : 0;
}

bool view_is_spill(const View *view, uint32_t row)
{
    return view->source.map && view->source.map->mapped &&
           sass_is_spill(&view->source.code->instructions[row], ptx_inst(view, row));
}
