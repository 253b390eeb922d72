/* The facts of a picture: the peak, the frame around it, loops, and occupancy. */
#include "view/internal.h"

#include <stdlib.h>

/* The first of the rows with the most live registers; of several, the one that is executed most. */
static uint32_t find_peak(const View *view)
{
    uint32_t peak = 0;
    for (uint32_t row = 1; row < view->code.count; row++) {
        unsigned live = view_live(view, row), most = view_live(view, peak);
        if (live > most || (live == most && view->code.rows[row].executions > view->code.rows[peak].executions))
            peak = row;
    }
    return peak;
}

/* The most registers that may be live if the next boundary is to be reached; one below the peak without one. */
static unsigned most_live(const View *view)
{
    unsigned less = view->boundary ? view->gap.allocated - view->boundary : 1;
    return view->gap.live > less ? view->gap.live - less : 0;
}

static void find_frame(View *view)
{
    const unsigned most = most_live(view);
    const uint32_t count = view->code.count;
    view->frame[0] = view->frame[1] = view->peak;
    while (view->frame[0] > 0 && view_live(view, view->frame[0] - 1) > most)
        view->frame[0]--;
    while (view->frame[1] + 1 < count && view_live(view, view->frame[1] + 1) > most)
        view->frame[1]++;
    for (uint32_t row = 0; row < count; row++)
        view->frames += view_live(view, row) > most && (row == 0 || view_live(view, row - 1) <= most);
}

static void find_gap(View *view)
{
    if (view_is_ptx(view)) {
        view->gap = (ViewGap){.allocated = view->code.registers, .live = view_live(view, view->peak)};
        return;
    }
    const unsigned used = view->code.ranges->counts[FILE_GENERAL], allocated = view->code.registers;
    unsigned live = 0;
    for (uint32_t reg = 0; reg < used; reg++)
        live += view_state(view, FILE_GENERAL, view->peak, reg) != REGISTER_FREE;
    view->gap = (ViewGap){.allocated = allocated > used ? allocated : used, .live = live, .free = used - live};
    view->gap.reserved = view->gap.allocated - used;
}

static void find_occupancy(View *view)
{
    const ViewSource *source = &view->source;
    const uint64_t shared = view->code.shared + source->dynamic_shared;
    if (!source->sm || !source->block_threads || !view->gap.allocated)
        return;
    view->occupancy = sm_occupancy(source->sm, source->block_threads, view->gap.allocated, shared);
    view->boundary = sm_boundary_below(source->sm, source->block_threads, shared, view->gap.allocated);
    if (view->boundary)
        view->beyond = sm_occupancy(source->sm, source->block_threads, view->boundary, shared);
}

static int compare_loops(const void *a, const void *b)
{
    const ViewLoop *one = a, *other = b;
    if (one->first != other->first)
        return one->first < other->first ? -1 : 1;
    return one->last > other->last ? -1 : one->last < other->last;
}

/* Branches back; of several to one instruction, the last one. */
static void find_loops(Arena *arena, View *view)
{
    const ViewCode *code = &view->code;
    VEC(ViewLoop) loops = {0};
    for (uint32_t row = 0; row < code->count; row++) {
        const ViewRow *inst = &code->rows[row];
        if (inst->flow != MACHINE_BRANCH || inst->target == MACHINE_NONE || inst->target >= row)
            continue;
        size_t l = 0;
        while (l < loops.count && loops.data[l].first != inst->target)
            l++;
        if (l == loops.count)
            VEC_PUSH(arena, loops, ((ViewLoop){.first = inst->target}));
        loops.data[l].last = row;
    }
    if (loops.count)
        qsort(loops.data, loops.count, sizeof *loops.data, compare_loops);
    for (size_t l = 0; l < loops.count; l++)
        for (size_t outer = 0; outer <= l; outer++)
            loops.data[l].depth += loops.data[outer].last >= loops.data[l].first;
    view->loops = loops.data;
    view->loop_count = (uint32_t)loops.count;
}

/* The picture of the PTX that machine code was made from. */
static const View *make_ptx_view(Arena *arena, const ViewSource *source)
{
    ViewSource ptx = *source;
    const char *error;
    ptx.code = NULL;
    ptx.map = NULL;
    ptx.executions = NULL;
    return view_make(arena, &ptx, &error);
}

View *view_make(Arena *arena, const ViewSource *source, const char **error)
{
    View *view = ARENA_NEW(arena, View);
    view->source = *source;
    view->code = source->code ? view_machine_code(arena, source, error) : view_ptx_code(arena, source, error);
    if (*error)
        return NULL;
    view->peak = find_peak(view);
    find_gap(view);
    find_occupancy(view);
    find_frame(view);
    find_loops(arena, view);
    view_find_values(arena, view);
    if (source->code && source->function)
        view->ptx = make_ptx_view(arena, source);
    return view;
}
