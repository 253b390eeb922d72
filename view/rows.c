/* The facts about a row: its registers, where it comes from, how often it is executed. */
#include "view/internal.h"

#include <string.h>

SassState view_state(const View *view, SassFile file, uint32_t row, uint32_t reg)
{
    const SassRanges *ranges = view->source.code->ranges;
    return (SassState)ranges->states[file][(size_t)row * ranges->counts[file] + reg];
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
    const Loc *loc = inst ? inst->loc : NULL;
    const char *path = loc ? module_file_path(view->source.module, loc->file) : NULL;
    const char *slash = path ? strrchr(path, '/') : NULL;
    return path ? arena_printf(arena, "%s:%u", slash ? slash + 1 : path, loc->line) : NULL;
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
