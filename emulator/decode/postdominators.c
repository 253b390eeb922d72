/* Immediate post-dominators, where diverging lanes reconverge.
 *
 * This repeats postdominance_compute of ir/, on purpose and by another algorithm: the passes rely on that one, so an
 * error there shows up as a wrong result. */
#include "emulator/decode/decode.h"

typedef struct Flow {
    uint32_t count; /* blocks; the exit is number 'count' */
    uint32_t **succs, *succ_counts;
    uint32_t **preds, *pred_counts;
    uint32_t *order, *rank; /* reverse post-order of the reversed graph */
    uint32_t ordered;
} Flow;

static bool exits_function(const Block *block)
{
    const Inst *last = block->last;
    if (!block->fall && (!last || !last->target_count))
        return true;
    return last && inst_is_terminator(last) && !last->target_count;
}

static Flow flow_new(Arena *arena, const Body *body)
{
    Flow flow = {.count = (uint32_t)body->blocks.count};
    uint32_t nodes = flow.count + 1;
    flow.succs = ARENA_ARRAY(arena, uint32_t *, nodes);
    flow.preds = ARENA_ARRAY(arena, uint32_t *, nodes);
    flow.succ_counts = ARENA_ARRAY(arena, uint32_t, nodes);
    flow.pred_counts = ARENA_ARRAY(arena, uint32_t, nodes);
    BlockEdgeVec edges = body_edges(arena, body);
    for (uint32_t i = 0; i < flow.count; i++)
        if (exits_function(body->blocks.data[i]))
            VEC_PUSH(arena, edges, (BlockEdge){i, flow.count});
    for (size_t i = 0; i < edges.count; i++) {
        flow.succ_counts[edges.data[i].from]++;
        flow.pred_counts[edges.data[i].to]++;
    }
    for (uint32_t i = 0; i < nodes; i++) {
        flow.succs[i] = ARENA_ARRAY(arena, uint32_t, flow.succ_counts[i]);
        flow.preds[i] = ARENA_ARRAY(arena, uint32_t, flow.pred_counts[i]);
        flow.succ_counts[i] = flow.pred_counts[i] = 0;
    }
    for (size_t i = 0; i < edges.count; i++) {
        uint32_t from = edges.data[i].from, to = edges.data[i].to;
        flow.succs[from][flow.succ_counts[from]++] = to;
        flow.preds[to][flow.pred_counts[to]++] = from;
    }
    return flow;
}

/* Visits the blocks depth first from the exit, against the edges, without recursion. */
static void flow_order(Arena *arena, Flow *flow)
{
    uint32_t nodes = flow->count + 1, depth = 0, finished = 0;
    uint32_t *stack = ARENA_ARRAY(arena, uint32_t, nodes), *next = ARENA_ARRAY(arena, uint32_t, nodes);
    uint32_t *postorder = ARENA_ARRAY(arena, uint32_t, nodes);
    bool *seen = ARENA_ARRAY(arena, bool, nodes);
    stack[depth++] = flow->count;
    seen[flow->count] = true;
    while (depth) {
        uint32_t node = stack[depth - 1];
        if (next[node] == flow->pred_counts[node]) {
            postorder[finished++] = node;
            depth--;
            continue;
        }
        uint32_t to = flow->preds[node][next[node]++];
        if (!seen[to]) {
            seen[to] = true;
            stack[depth++] = to;
        }
    }
    flow->order = ARENA_ARRAY(arena, uint32_t, nodes);
    flow->rank = ARENA_ARRAY(arena, uint32_t, nodes);
    flow->ordered = finished;
    for (uint32_t i = 0; i < nodes; i++)
        flow->rank[i] = UINT32_MAX;
    for (uint32_t i = 0; i < finished; i++) {
        flow->order[i] = postorder[finished - 1 - i];
        flow->rank[flow->order[i]] = i;
    }
}

/* Cooper, Harvey and Kennedy, "A Simple, Fast Dominance Algorithm" (2001), on the reversed graph. Lanes in blocks that
 * cannot reach the exit do not reconverge. */
uint32_t *body_postdominators(Arena *arena, const Body *body)
{
    Flow flow = flow_new(arena, body);
    uint32_t *immediate = ARENA_ARRAY(arena, uint32_t, flow.count + 1);
    flow_order(arena, &flow);
    for (uint32_t i = 0; i <= flow.count; i++)
        immediate[i] = UINT32_MAX;
    immediate[flow.count] = flow.count;
    for (bool changed = true; changed;) {
        changed = false;
        for (uint32_t i = 1; i < flow.ordered; i++) {
            uint32_t node = flow.order[i], found = UINT32_MAX;
            for (uint32_t k = 0; k < flow.succ_counts[node]; k++) {
                uint32_t other = flow.succs[node][k];
                if (flow.rank[other] == UINT32_MAX || immediate[other] == UINT32_MAX)
                    continue;
                if (found == UINT32_MAX) {
                    found = other;
                    continue;
                }
                while (found != other) {
                    while (flow.rank[found] > flow.rank[other])
                        found = immediate[found];
                    while (flow.rank[other] > flow.rank[found])
                        other = immediate[other];
                }
            }
            if (immediate[node] != found) {
                immediate[node] = found;
                changed = true;
            }
        }
    }
    for (uint32_t i = 0; i < flow.count; i++)
        if (immediate[i] == flow.count)
            immediate[i] = UINT32_MAX;
    return immediate;
}
