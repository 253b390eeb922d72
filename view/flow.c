/* The writes that reach a row, along the branches of the code. */
#include "view/internal.h"

typedef VEC(uint32_t) BlockVec;

struct ViewFlow {
    const View *view;
    Arena *arena;
    BlockVec *predecessors; /* by block */
    uint32_t *visited;      /* by block: the number of the walk that saw it last */
    uint32_t walk;
};

ViewFlow *view_flow_new(Arena *arena, const View *view)
{
    const ViewCode *code = &view->code;
    ViewFlow *flow = ARENA_NEW(arena, ViewFlow);
    flow->view = view;
    flow->arena = arena;
    flow->predecessors = ARENA_ARRAY(arena, BlockVec, code->block_count + 1);
    flow->visited = ARENA_ARRAY(arena, uint32_t, code->block_count + 1);
    for (uint32_t b = 0; b < code->block_count; b++)
        for (uint32_t s = 0; s < code->blocks[b].successor_count; s++)
            VEC_PUSH(arena, flow->predecessors[code->blocks[b].successors[s]], b);
    return flow;
}

/* The last row from 'row' - 1 down to the first of its block that writes the register; MACHINE_NONE. */
static uint32_t write_in_block(const View *view, SassFile file, uint32_t reg, uint32_t first, uint32_t row)
{
    while (row-- > first) {
        const SassState state = view_state(view, file, row, reg);
        if (state == REGISTER_WRITTEN || state == REGISTER_BOTH)
            return row;
    }
    return MACHINE_NONE;
}

/* True if the block ends with a call, after which nothing is known. */
static bool ends_with_call(const ViewCode *code, const SassBlock *block)
{
    const ViewRow *last = block->count ? &code->rows[block->first + block->count - 1] : NULL;
    return last && (last->flow == MACHINE_CALL || block->callee != MACHINE_NONE);
}

uint32_t view_reaching_write(ViewFlow *flow, SassFile file, uint32_t reg, uint32_t row)
{
    const ViewCode *code = &flow->view->code;
    BlockVec open = {0};
    uint32_t found = MACHINE_NONE, block = code->rows[row].block, end = row;
    flow->walk++;
    for (;;) {
        const SassBlock *walked = &code->blocks[block];
        const uint32_t write = write_in_block(flow->view, file, reg, walked->first, end);
        const BlockVec *before = &flow->predecessors[block];
        const bool differs = found != MACHINE_NONE && found != write;
        if (write != MACHINE_NONE && (differs || code->rows[write].conditional))
            return MACHINE_NONE;
        if (write != MACHINE_NONE)
            found = write;
        else if (!before->count)
            return MACHINE_NONE;
        for (size_t p = 0; write == MACHINE_NONE && p < before->count; p++) {
            if (ends_with_call(code, &code->blocks[before->data[p]]))
                return MACHINE_NONE;
            if (flow->visited[before->data[p]] != flow->walk)
                VEC_PUSH(flow->arena, open, before->data[p]);
            flow->visited[before->data[p]] = flow->walk;
        }
        if (!open.count)
            return found;
        block = VEC_POP(open);
        end = code->blocks[block].first + code->blocks[block].count;
    }
}
