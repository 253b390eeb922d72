/* How often threads and warps execute each block, estimated without a launch.
 *
 * Threads flow through the control flow graph: what comes to a block goes on to its successors (branches.c), all that
 * enters a loop leaves it, and a loop makes as many iterations as its trip count says (trips.c). Warps flow in the same
 * way, except that those whose threads part go to both sides of a branch, and are one warp again where the sides meet.
 *
 * Loops that continue one another (continued.c) share the iterations of the original loop: the first one takes all
 * complete steps, and what is left is divided in the same way. So copies of a loop together make the iterations that
 * the original makes, whatever it was copied for. */
#include "cost/estimate.h"

#include <math.h>

static const double slow_side = 0.05; /* the most of the threads that take it */

/* Trips. */

/* How many iterations an execution of the loop makes in the mean: more than one if the header chooses between one
 * iteration and several together, which then advance a counter further (opt/jam/front_copy.c). */
static double iterations_together(Estimate *estimate, const Loop *loop)
{
    const Affine *affine = analyses_affine(estimate->analyses);
    const Dominance *dominance = analyses_dominance(estimate->analyses);
    const Inst *branch = block_two_way_branch(loop->header);
    if (loop->latch_count != 2 || !branch)
        return 1;
    const Block *sides[2] = {branch->targets[0], loop->header->fall};
    const unsigned first = dominance_has(dominance, sides[0], loop->latches[0]) ? 0 : 1;
    if (!dominance_has(dominance, sides[first], loop->latches[0]) ||
        !dominance_has(dominance, sides[1 - first], loop->latches[1]))
        return 1;
    for (size_t p = 0; p < loop->header->phis.count; p++) {
        const Phi *phi = &loop->header->phis.data[p];
        const int64_t one = estimate_advance(affine, phi->dst, phi_argument(phi, loop->latches[0]));
        const int64_t other = estimate_advance(affine, phi->dst, phi_argument(phi, loop->latches[1]));
        const double ratio = one && other ? (double)one / (double)other : 0;
        const unsigned many = ratio > 1 ? first : 1 - first;
        if (ratio > 0 && ratio != 1) {
            const double share = estimate_side(estimate, loop->header, sides[many], sides[1 - many]).threads;
            return 1 + share * (fmax(ratio, 1 / ratio) - 1);
        }
    }
    return 1;
}

/* The iterations of the chain of loops that this one begins or continues, in steps of this one: for each entry, and,
 * if a group shares the loop, for each of its threads. */
static double total_iterations(Estimate *estimate, const Loop *loop)
{
    double ratio;
    const Loop *last = estimate_last_of_chain(estimate, loop, &ratio);
    const bool is_known = estimate_known_iterations(estimate, last) > 0;
    const Divided *divided = &estimate->divided[last->index];
    if (divided->whole && !is_known)
        return total_iterations(estimate, divided->whole) / divided->threads / ratio;
    estimate->assumes_trips |= !is_known && !(estimate_known_iterations(estimate, loop) > 0);
    return estimate_chain_iterations(estimate, loop) / iterations_together(estimate, last);
}

/* The share of those that enter the loop which leave it at its header, where an execution is not an iteration. */
static double leaving_at_header(const Estimate *estimate, const Loop *loop)
{
    unsigned leaving = 0;
    if (!estimate_tests_first(estimate, loop))
        return 0;
    FOR_EACH_SUCC(loop->header, succ)
        leaving += !loop_contains(analyses_loops(estimate->analyses), loop, succ);
    return (double)leaving / estimate->exits[loop->index].count;
}

/* True if all leave the loop at its header at once. */
static bool is_skipped(Estimate *estimate, const Loop *loop)
{
    if (!estimate_may_leave(estimate, loop, loop->header))
        return false;
    const Block *taken = loop->header->last->targets[0], *fall = loop->header->fall;
    const bool falls = loop_contains(analyses_loops(estimate->analyses), loop, taken);
    return estimate_side(estimate, loop->header, falls ? fall : taken, falls ? taken : fall).threads >= 1;
}

/* The iterations that are left when the loop begins. Paths around the first loop bring all of theirs. */
static Budget budget_of(Estimate *estimate, const Loop *loop, const Flow *entries)
{
    const Dominance *dominance = analyses_dominance(estimate->analyses);
    const Continuation *continuation = &estimate->continuations[loop->index];
    const Loop *first = continuation->first;
    const double total = total_iterations(estimate, loop);
    if (!first)
        return (Budget){{entries->threads * total, entries->warps * total}, *entries};
    Budget budget = estimate->left[first->index];
    budget.iterations.threads *= continuation->step;
    budget.iterations.warps *= continuation->step;
    const double own = estimate_known_iterations(estimate, loop), before = estimate_known_iterations(estimate, first);
    if (estimate->thread_iterations[loop->index] > 0 && before > 0 && continuation->step == 1) {
        /* Merged threads make different numbers of rounds. */
        budget.iterations.threads = budget.entries.threads * fmax(0, own - before);
        budget.iterations.warps = budget.entries.warps * fmax(0, own - before);
    }
    if (estimate->continuations[first->index].first || dominance_has(dominance, first->header, loop->header))
        return budget;
    const Block *around = dominance_parent(dominance, loop->header);
    while (around && !dominance_has(dominance, around, first->header))
        around = dominance_parent(dominance, around);
    if (!around || loop_of(analyses_loops(estimate->analyses), around) != loop->parent)
        return budget;
    const Flow *all = &estimate->flow[around->id], *in_first = &estimate->entries[first->index];
    const Flow others = {fmax(0, all->threads - in_first->threads), fmax(0, all->warps - in_first->warps)};
    budget.iterations.threads += others.threads * total;
    budget.iterations.warps += others.warps * total;
    budget.entries.threads += others.threads;
    budget.entries.warps += others.warps;
    return budget;
}

/* The iterations that a loop leaves to those that continue it, for each entry: less than one of its steps on average;
 * half of all if each thread has its own reason to leave. */
static double left_over(const Estimate *estimate, const Loop *loop, const Loop *continuer, double iterations,
                        double entries)
{
    const double step = estimate->continuations[continuer->index].step;
    const double known = estimate_known_iterations(estimate, loop);
    if (known > 0)
        return fmax(0, iterations - known * entries);
    if (estimate->continuations[continuer->index].is_counted)
        return entries > 0 ? iterations - floor(iterations / entries) * entries : iterations;
    if (step > 1)
        return fmin(iterations, entries * (step - 1) / (2 * step));
    const double half = iterations / 2;
    return estimate->exits[continuer->index].counted ? fmin(half, entries / 2) : half;
}

/* The executions of the header. */
static Flow enter_loop(Estimate *estimate, const Loop *loop, Flow entries)
{
    Budget budget = budget_of(estimate, loop, &entries);
    const Loop *continuer = estimate_continuer(estimate, loop);
    Flow iterations = budget.iterations;
    if (continuer && is_skipped(estimate, loop)) {
        iterations = (Flow){0};
    } else if (continuer) {
        budget.iterations = (Flow){
            left_over(estimate, loop, continuer, iterations.threads, budget.entries.threads),
            left_over(estimate, loop, continuer, iterations.warps, budget.entries.warps),
        };
        iterations.threads -= budget.iterations.threads;
        iterations.warps -= budget.iterations.warps;
    }
    const double leaving = leaving_at_header(estimate, loop);
    iterations.threads += leaving * entries.threads;
    iterations.warps += leaving * entries.warps;
    estimate->entries[loop->index] = entries;
    estimate->left[loop->index] = budget;
    estimate->trips[loop->index] = entries.warps > 0 && iterations.warps > 0 ? iterations.warps / entries.warps : 1;
    return iterations;
}

/* Flow. */

/* The outermost loop that the edge leaves; NULL: none. */
static const Loop *loop_left(const Estimate *estimate, const Block *from, const Block *to)
{
    const LoopForest *loops = analyses_loops(estimate->analyses);
    const Loop *left = NULL;
    for (const Loop *loop = loop_of(loops, from); loop && !loop_contains(loops, loop, to); loop = loop->parent)
        left = loop;
    return left;
}

/* All that enters a loop leaves it: over all trips, an exit is taken once. */
static Flow exit_flow(const Estimate *estimate, const Loop *loop)
{
    const unsigned exits = estimate->exits[loop->index].count;
    const Flow *entries = &estimate->entries[loop->index];
    return (Flow){entries->threads / exits, entries->warps / exits};
}

/* The flow that stays in the loop at an exit. Warps that threads leave one by one stay. */
static Flow flow_inside(const Estimate *estimate, const Flow *flow, const Loop *loop)
{
    const Flow exit = exit_flow(estimate, loop);
    const LoopExits *exits = &estimate->exits[loop->index];
    const bool is_even = exits->counted && !exits->uneven;
    return (Flow){fmax(0, flow->threads - exit.threads), is_even ? fmax(0, flow->warps - exit.warps) : flow->warps};
}

/* The blocks in reverse postorder of the graph without its back edges. */
static Block **ordered_blocks(const Estimate *estimate, size_t *count)
{
    const FlowGraph *graph = &analyses_dominance(estimate->analyses)->graph;
    size_t blocks = estimate->body->blocks.count, depth = 0, end = blocks;
    Block **order = ARENA_ARRAY(estimate->arena, Block *, blocks + 1);
    uint32_t *stack = ARENA_ARRAY(estimate->arena, uint32_t, blocks + 1);
    uint32_t *edge = ARENA_ARRAY(estimate->arena, uint32_t, blocks + 1);
    bool *seen = ARENA_ARRAY(estimate->arena, bool, blocks + 1);
    seen[0] = true;
    stack[depth++] = 0;
    while (depth) {
        uint32_t node = stack[depth - 1];
        uint32_t at = graph->succ_start[node] + edge[node];
        if (at == graph->succ_start[node + 1]) {
            order[--end] = estimate->body->blocks.data[node];
            depth--;
            continue;
        }
        edge[node]++;
        uint32_t next = graph->succs[at];
        if (!seen[next]) {
            seen[next] = true;
            stack[depth++] = next;
        }
    }
    *count = blocks - end;
    return order + end;
}

static bool is_back_edge(const LoopForest *loops, const Block *from, const Block *to)
{
    for (const Loop *loop = loop_of(loops, from); loop; loop = loop->parent)
        if (loop->header == to)
            return true;
    return false;
}

/* The loop whose rest 'rest' is the header of, if control comes by 'tiles' to that loop, and not by 'rest'; NULL:
 * none. */
static const Loop *tiled_loop(const Estimate *estimate, const Block *tiles, const Block *rest)
{
    const Loop *loop = loop_headed(analyses_loops(estimate->analyses), rest);
    const Continuation *continuation = loop ? &estimate->continuations[loop->index] : NULL;
    const bool is_rest = continuation && continuation->is_counted &&
                         dominance_has(analyses_dominance(estimate->analyses), tiles, continuation->first->header);
    return is_rest ? continuation->first : NULL;
}

/* The share that goes to one side of a branch before a loop that a group shares: all, if there are rounds enough. */
static bool share_of_group(Estimate *estimate, const Block *block, const Block *to, double *share)
{
    const LoopForest *loops = analyses_loops(estimate->analyses);
    for (uint32_t i = 0; i < loops->loop_count; i++) {
        const Divided *divided = &estimate->divided[i];
        if (!divided->whole || divided->test != block)
            continue;
        const bool is_shared = total_iterations(estimate, divided->whole) >= divided->threads;
        *share = is_shared == dominance_has(analyses_dominance(estimate->analyses), to, loops->loops[i].header);
        return true;
    }
    return false;
}

/* The share that goes to one side of a branch before a staged loop, of which the other leads past the tiles: all, if
 * there are rounds enough for one, except at the edge of the data where all threads have to be inside. */
static bool share_of_tiles(Estimate *estimate, const Block *block, const Block *to, const Block *other, double *share)
{
    const Loop *into = tiled_loop(estimate, to, other), *past = tiled_loop(estimate, other, to);
    const Loop *loop = into ? into : past;
    if (!loop)
        return false;
    const bool is_outside = estimate->at_edge && estimate_is_vote(estimate, block);
    const bool is_staged = !is_outside && total_iterations(estimate, loop) >= 1;
    *share = is_staged == (into != NULL);
    return true;
}

/* The flow from the block to one of its successors; 'other' is the second one, if there are two. */
static Flow flow_to(Estimate *estimate, const Block *block, const Block *to, const Block *other, unsigned successors)
{
    const Flow *flow = &estimate->flow[block->id];
    const Loop *left = loop_left(estimate, block, to), *beside = other ? loop_left(estimate, block, other) : NULL;
    if (left)
        return exit_flow(estimate, left);
    const Loop *around = loop_of(analyses_loops(estimate->analyses), block);
    while (around && around->parent)
        around = around->parent;
    if (beside || (around && estimate_may_exit(block)))
        return flow_inside(estimate, flow, beside ? beside : around);
    Share share = {1.0 / successors, 1.0 / successors};
    /* With one successor, a branch leads to where the block would go on anyway. */
    const Inst *last = block->last;
    double staged;
    if (successors == 2 && inst_is_guarded(last) &&
        (share_of_tiles(estimate, block, to, other, &staged) || share_of_group(estimate, block, to, &staged)))
        share = (Share){staged, staged};
    else if (estimate_may_exit(block) || (successors == 2 && inst_is_guarded(last)))
        share = estimate_side(estimate, block, to, other);
    return (Flow){flow->threads * share.threads, flow->warps * share.warps};
}

static void flow_out(Estimate *estimate, const Block *block)
{
    const LoopForest *loops = analyses_loops(estimate->analyses);
    const FlowGraph *graph = &analyses_dominance(estimate->analyses)->graph;
    const uint32_t begin = graph->succ_start[block->id], end = graph->succ_start[block->id + 1];
    for (uint32_t i = begin; i < end; i++) {
        const Block *to = estimate->body->blocks.data[graph->succs[i]];
        const Block *other =
            end - begin == 2 ? estimate->body->blocks.data[graph->succs[begin + end - 1 - i]] : NULL;
        if (is_back_edge(loops, block, to))
            continue;
        estimate->edges[i] = flow_to(estimate, block, to, other, end - begin);
        estimate->flow[to->id].threads += estimate->edges[i].threads;
        estimate->flow[to->id].warps += estimate->edges[i].warps;
    }
}

/* The warps of a block at which the paths of an if-then meet: those of the branch, because all of them are there
 * again. */
static double joined(const Estimate *estimate, const Block *block, double warps)
{
    const Block *decider = dominance_parent(analyses_dominance(estimate->analyses), block);
    if (!decider || block->pred_count < 2 ||
        !dominance_has(analyses_postdominance(estimate->analyses), block, decider) ||
        loop_of(analyses_loops(estimate->analyses), decider) != loop_of(analyses_loops(estimate->analyses), block))
        return warps;
    return estimate->flow[decider->id].warps;
}

/* True if few threads come to the block, because another version of the code is for the others. */
static bool is_slow(const Estimate *estimate, const Block *block)
{
    bool if_true;
    const Loop *loop = loop_of(analyses_loops(estimate->analyses), block);
    const Block *parent = dominance_parent(analyses_dominance(estimate->analyses), block);
    if (parent && bitset_has(&estimate->slow, parent->id))
        return true;
    if (loop && loop->header == block && estimate->continuations[loop->index].first)
        return true;
    return parent && block->pred_count == 1 && block->preds[0] == parent && block_two_way_branch(parent) &&
           !loop_left(estimate, parent, block) && !estimate_guards(estimate, parent, &if_true) &&
           estimate->flow[block->id].threads <= slow_side * estimate->flow[parent->id].threads;
}

static void allocate(Estimate *estimate)
{
    const LoopForest *loops = analyses_loops(estimate->analyses);
    const size_t blocks = estimate->body->blocks.count, count = loops->loop_count;
    Arena *arena = estimate->arena;
    Continuation *continuations = ARENA_ARRAY(arena, Continuation, count + 1);
    estimate->present = ARENA_ARRAY(arena, double, blocks + 1);
    estimate->flow = ARENA_ARRAY(arena, Flow, blocks + 1);
    estimate->edges = ARENA_ARRAY(arena, Flow, analyses_dominance(estimate->analyses)->graph.succ_start[blocks] + 1);
    estimate->slow = bitset_new(arena, blocks + 1);
    estimate->trips = ARENA_ARRAY(arena, double, count + 1);
    estimate->entries = ARENA_ARRAY(arena, Flow, count + 1);
    estimate->left = ARENA_ARRAY(arena, Budget, count + 1);
    estimate->exits = ARENA_ARRAY(arena, LoopExits, count + 1);
    estimate->known_iterations = ARENA_ARRAY(arena, double, count + 1);
    estimate->thread_iterations = ARENA_ARRAY(arena, double, count + 1);
    estimate->divided = ARENA_ARRAY(arena, Divided, count + 1);
    estimate->scaled = ARENA_ARRAY(arena, Scaled, count + 1);
    for (uint32_t i = 0; i < count; i++) {
        estimate->known_iterations[i] = -1;
        estimate->divided[i] = estimate_divided(estimate, &loops->loops[i]);
        continuations[i] = estimate_continuation(estimate, &loops->loops[i]);
        if (continuations[i].first && continuations[i].first->parent != loops->loops[i].parent)
            continuations[i].first = NULL;
    }
    estimate->continuations = continuations;
    for (uint32_t i = 0; i < count; i++) {
        estimate->scaled[i] = estimate_scaled(estimate, &loops->loops[i]);
        estimate->thread_iterations[i] = estimate_thread_iterations(estimate, &loops->loops[i]);
        estimate->exits[i] = estimate_exits(estimate, &loops->loops[i]);
    }
}

void estimate_frequencies(Estimate *estimate)
{
    size_t count;
    Block **order = ordered_blocks(estimate, &count);
    allocate(estimate);
    estimate_learn_guards(estimate);
    estimate->flow[0] = (Flow){1, 1};
    for (size_t i = 0; i < count; i++) {
        const Block *block = order[i];
        Flow *flow = &estimate->flow[block->id];
        estimate_note_threads(estimate, block);
        flow->warps = joined(estimate, block, flow->warps);
        const Block *parent = dominance_parent(analyses_dominance(estimate->analyses), block);
        estimate->present[block->id] =
            parent ? estimate->present[parent->id] * estimate_staying(estimate, parent) : 1;
        const Loop *loop = loop_headed(analyses_loops(estimate->analyses), block);
        if (loop)
            *flow = enter_loop(estimate, loop, *flow);
        if (is_slow(estimate, block))
            bitset_add(&estimate->slow, block->id);
        flow_out(estimate, block);
    }
}
