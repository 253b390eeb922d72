/* The edges of a body, and its flow graph as plain arrays. */
#include "ir/internal.h"

/* True if control may exit the function at the end of this block: by ret or exit, guarded or not, or because nothing
 * follows. */
static bool block_exits(const Block *block)
{
    const Inst *last = block->last;
    if (last && inst_is_terminator(last) && !last->target_count)
        return true;
    return !block->fall && !(last && last->target_count);
}

bool block_chooses(const Block *block)
{
    const Block *next = block->fall;
    for (unsigned i = 0; block->last && i < block->last->target_count; i++) {
        const Block *target = block->last->targets[i];
        if (next && next != target)
            return true;
        next = target;
    }
    return next && block_exits(block);
}

/* Fills both directions from a list of distinct edges. */
static void edges_index(Arena *arena, const BlockEdgeVec *edges, FlowGraph *graph)
{
    require(edges->count < UINT32_MAX);
    graph->succ_start = ARENA_ARRAY(arena, uint32_t, (size_t)graph->count + 2);
    graph->pred_start = ARENA_ARRAY(arena, uint32_t, (size_t)graph->count + 2);
    graph->succs = ARENA_ARRAY(arena, uint32_t, edges->count + 1);
    graph->preds = ARENA_ARRAY(arena, uint32_t, edges->count + 1);
    /* Counts are stored two places ahead, so that filling moves each start to where it belongs. */
    for (size_t i = 0; i < edges->count; i++) {
        graph->succ_start[edges->data[i].from + 2]++;
        graph->pred_start[edges->data[i].to + 2]++;
    }
    for (uint32_t i = 2; i <= graph->count; i++) {
        graph->succ_start[i] += graph->succ_start[i - 1];
        graph->pred_start[i] += graph->pred_start[i - 1];
    }
    for (size_t i = 0; i < edges->count; i++) {
        graph->succs[graph->succ_start[edges->data[i].from + 1]++] = edges->data[i].to;
        graph->preds[graph->pred_start[edges->data[i].to + 1]++] = edges->data[i].from;
    }
}

/* Stamps make a branch table with thousands of entries take linear time. */
BlockEdgeVec body_edges(Arena *arena, const Body *body)
{
    BlockEdgeVec edges = {0};
    uint32_t count = (uint32_t)body->blocks.count;
    uint32_t *stamp = ARENA_ARRAY(arena, uint32_t, count);
    for (uint32_t i = 0; i < count; i++) {
        const Block *block = body->blocks.data[i];
        require(block->id == i);
        unsigned targets = block->last ? block->last->target_count : 0;
        for (unsigned j = 0; j <= targets; j++) {
            const Block *to = j == 0 ? block->fall : block->last->targets[j - 1];
            if (!to || stamp[to->id] == i + 1)
                continue;
            require(to->id < count && body->blocks.data[to->id] == to);
            stamp[to->id] = i + 1;
            VEC_PUSH(arena, edges, (BlockEdge){i, to->id});
        }
    }
    return edges;
}

/* The blocks from which some block that exits the function can be reached. */
static BitSet blocks_that_end(Arena *scratch, const Body *body, const FlowGraph *graph)
{
    uint32_t count = (uint32_t)body->blocks.count, pending = 0;
    BitSet ends = bitset_new(scratch, count);
    uint32_t *stack = ARENA_ARRAY(scratch, uint32_t, count);
    for (uint32_t i = 0; i < count; i++)
        if (block_exits(body->blocks.data[i])) {
            bitset_add(&ends, i);
            stack[pending++] = i;
        }
    while (pending) {
        uint32_t node = stack[--pending];
        for (uint32_t e = graph->pred_start[node]; e < graph->pred_start[node + 1]; e++)
            if (!bitset_has(&ends, graph->preds[e])) {
                bitset_add(&ends, graph->preds[e]);
                stack[pending++] = graph->preds[e];
            }
    }
    return ends;
}

FlowGraph flow_graph_build(Arena *arena, const Body *body, bool virtual_exit)
{
    require(body->blocks.count && body->blocks.count < UINT32_MAX - 2);
    Arena *scratch = arena_new();
    FlowGraph graph = {.count = (uint32_t)body->blocks.count};
    BlockEdgeVec edges = body_edges(scratch, body);
    if (virtual_exit) {
        edges_index(scratch, &edges, &graph);
        BitSet ends = blocks_that_end(scratch, body, &graph);
        for (uint32_t i = 0; i < graph.count; i++)
            if (block_exits(body->blocks.data[i]) || !bitset_has(&ends, i))
                VEC_PUSH(scratch, edges, (BlockEdge){i, graph.count});
        graph.count++;
    }
    edges_index(arena, &edges, &graph);
    arena_free(scratch);
    return graph;
}

size_t body_inst_count(const Body *body)
{
    size_t count = 0;
    for (size_t b = 0; b < body->blocks.count; b++)
        for (const Inst *inst = body->blocks.data[b]->first; inst; inst = inst->next)
            count++;
    return count;
}

Block **body_reverse_postorder(Arena *arena, const Body *body, size_t *count)
{
    typedef struct Visit {
        Block *block;
        unsigned next;
    } Visit;
    const size_t blocks = body->blocks.count;
    Block **order = ARENA_ARRAY(arena, Block *, blocks + 1);
    Visit *stack = ARENA_ARRAY(arena, Visit, blocks + 1);
    bool *seen = ARENA_ARRAY(arena, bool, blocks + 1);
    size_t depth = 0, left = blocks;
    stack[depth++] = (Visit){body->blocks.data[0], 0};
    seen[body->blocks.data[0]->id] = true;
    while (depth) {
        Visit *visit = &stack[depth - 1];
        const Inst *last = visit->block->last;
        const unsigned targets = last ? last->target_count : 0;
        if (visit->next > targets) {
            order[--left] = visit->block;
            depth--;
            continue;
        }
        Block *succ = visit->next < targets ? last->targets[visit->next] : visit->block->fall;
        visit->next++;
        if (succ && !seen[succ->id]) {
            seen[succ->id] = true;
            stack[depth++] = (Visit){succ, 0};
        }
    }
    *count = blocks - left;
    return order + left;
}
