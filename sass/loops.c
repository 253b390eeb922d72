/* Loops of the machine code: natural loops, found by dominators (Cooper, Harvey and Kennedy, "A simple, fast dominance
 * algorithm", 2001). */
#include "sass/internal.h"

/* Depth-first numbering of the blocks, and immediate dominators. */
typedef struct Graph {
    const SassCode *code;
    uint32_t *order; /* reachable blocks in reverse postorder */
    uint32_t count;
    uint32_t *number; /* of each block in it; MACHINE_NONE: not reachable */
    uint32_t *dominator;
    uint32_t *first_in, *in; /* predecessors of block b: in[first_in[b]] to in[first_in[b + 1] - 1] */
} Graph;

/* Appends the blocks reachable from 'root' to graph->order, in postorder. 'next' is, by block, the next successor to
 * visit. */
static void walk(Graph *graph, uint32_t root, uint32_t *stack, uint32_t *next, bool *seen)
{
    uint32_t depth = 0;
    stack[depth++] = root;
    seen[root] = true;
    while (depth) {
        uint32_t block = stack[depth - 1];
        const SassBlock *it = &graph->code->blocks[block];
        if (next[block] == it->successor_count) {
            graph->order[graph->count++] = block;
            depth--;
            continue;
        }
        uint32_t successor = it->successors[next[block]++];
        if (!seen[successor]) {
            seen[successor] = true;
            stack[depth++] = successor;
        }
    }
}

static uint32_t function_entry(const SassCode *code, uint32_t function)
{
    return code->instructions[code->functions[function].first].block;
}

static void number_blocks(Arena *arena, Graph *graph)
{
    uint32_t blocks = graph->code->block_count;
    graph->order = ARENA_ARRAY(arena, uint32_t, blocks + 1);
    graph->number = ARENA_ARRAY(arena, uint32_t, blocks + 1);
    uint32_t *stack = ARENA_ARRAY(arena, uint32_t, blocks + 1), *next = ARENA_ARRAY(arena, uint32_t, blocks + 1);
    bool *seen = ARENA_ARRAY(arena, bool, blocks + 1);
    /* functions do not share blocks, so each is walked separately */
    for (uint32_t f = 0; f < graph->code->function_count; f++)
        if (!seen[function_entry(graph->code, f)])
            walk(graph, function_entry(graph->code, f), stack, next, seen);
    for (uint32_t i = 0; i < graph->count / 2; i++) {
        uint32_t other = graph->order[graph->count - 1 - i];
        graph->order[graph->count - 1 - i] = graph->order[i];
        graph->order[i] = other;
    }
    for (uint32_t b = 0; b < blocks; b++)
        graph->number[b] = MACHINE_NONE;
    for (uint32_t i = 0; i < graph->count; i++)
        graph->number[graph->order[i]] = i;
}

static void find_predecessors(Arena *arena, Graph *graph)
{
    uint32_t blocks = graph->code->block_count, edges = 0;
    graph->first_in = ARENA_ARRAY(arena, uint32_t, blocks + 2);
    for (uint32_t b = 0; b < blocks; b++) {
        const SassBlock *block = &graph->code->blocks[b];
        edges += block->successor_count;
        for (uint32_t i = 0; i < block->successor_count; i++)
            graph->first_in[block->successors[i] + 1]++;
    }
    for (uint32_t b = 0; b < blocks; b++)
        graph->first_in[b + 1] += graph->first_in[b];
    graph->in = ARENA_ARRAY(arena, uint32_t, edges + 1);
    uint32_t *filled = ARENA_ARRAY(arena, uint32_t, blocks + 1);
    for (uint32_t b = 0; b < blocks; b++) {
        const SassBlock *block = &graph->code->blocks[b];
        for (uint32_t i = 0; i < block->successor_count; i++) {
            uint32_t to = block->successors[i];
            graph->in[graph->first_in[to] + filled[to]++] = b;
        }
    }
}

static uint32_t common_dominator(const Graph *graph, uint32_t a, uint32_t b)
{
    while (a != b) {
        while (graph->number[a] > graph->number[b])
            a = graph->dominator[a];
        while (graph->number[b] > graph->number[a])
            b = graph->dominator[b];
    }
    return a;
}

static void find_dominators(Arena *arena, Graph *graph)
{
    uint32_t blocks = graph->code->block_count;
    graph->dominator = ARENA_ARRAY(arena, uint32_t, blocks + 1);
    for (uint32_t b = 0; b < blocks; b++)
        graph->dominator[b] = MACHINE_NONE;
    for (uint32_t f = 0; f < graph->code->function_count; f++)
        graph->dominator[function_entry(graph->code, f)] = function_entry(graph->code, f);
    for (bool changed = true; changed;) {
        changed = false;
        for (uint32_t i = 0; i < graph->count; i++) {
            uint32_t block = graph->order[i], dominator = MACHINE_NONE;
            if (block == function_entry(graph->code, graph->code->blocks[block].function))
                continue;
            for (uint32_t p = graph->first_in[block]; p < graph->first_in[block + 1]; p++) {
                uint32_t from = graph->in[p];
                if (graph->dominator[from] != MACHINE_NONE &&
                    graph->code->blocks[from].function == graph->code->blocks[block].function)
                    dominator = dominator == MACHINE_NONE ? from : common_dominator(graph, dominator, from);
            }
            if (dominator != graph->dominator[block]) {
                graph->dominator[block] = dominator;
                changed = true;
            }
        }
    }
}

static bool dominates(const Graph *graph, uint32_t a, uint32_t b)
{
    while (b != MACHINE_NONE && graph->number[b] > graph->number[a])
        b = graph->dominator[b];
    return a == b;
}

/* The header of the outermost loop found so far around a block; the block itself if there is none. */
static uint32_t outermost(const SassLoops *loops, uint32_t block)
{
    while (loops->around[block] != MACHINE_NONE)
        block = loops->around[block];
    return block;
}

/* Puts the blocks that reach a latch of 'header' without passing the header into its loop. The loops inside have been
 * found before and are taken as a whole: whatever enters one enters its header. */
static void fill_loop(const Graph *graph, SassLoops *loops, uint32_t header, uint32_t *stack)
{
    uint32_t depth = 0, root = header;
    for (;;) {
        for (uint32_t p = graph->first_in[root]; p < graph->first_in[root + 1]; p++) {
            uint32_t from = graph->in[p];
            if (graph->number[from] == MACHINE_NONE || (root == header && !dominates(graph, header, from)))
                continue;
            loops->is_header[header] = true;
            from = outermost(loops, from);
            if (from == header)
                continue;
            loops->around[from] = header;
            stack[depth++] = from;
        }
        if (depth == 0)
            return;
        root = stack[--depth];
    }
}

SassLoops sass_loops(Arena *arena, const SassCode *code)
{
    uint32_t blocks = code->block_count;
    Graph graph = {.code = code};
    SassLoops loops = {.reached = ARENA_ARRAY(arena, bool, blocks + 1),
                          .is_header = ARENA_ARRAY(arena, bool, blocks + 1),
                          .around = ARENA_ARRAY(arena, uint32_t, blocks + 1)};
    number_blocks(arena, &graph);
    find_predecessors(arena, &graph);
    find_dominators(arena, &graph);
    loops.first_in = graph.first_in;
    loops.in = graph.in;
    for (uint32_t b = 0; b < blocks; b++) {
        loops.reached[b] = graph.number[b] != MACHINE_NONE;
        loops.around[b] = MACHINE_NONE;
    }
    uint32_t *stack = ARENA_ARRAY(arena, uint32_t, blocks + 1);
    for (uint32_t i = graph.count; i-- > 0;)
        fill_loop(&graph, &loops, graph.order[i], stack);
    return loops;
}

uint32_t sass_loop_of(const SassLoops *loops, uint32_t block)
{
    return loops->is_header[block] ? block : loops->around[block];
}

bool sass_loop_contains(const SassLoops *loops, uint32_t header, uint32_t block)
{
    uint32_t at = sass_loop_of(loops, block);
    while (at != MACHINE_NONE && at != header)
        at = loops->around[at];
    return at == header;
}
