/* Conditions on the thread's index alone, evaluated for each thread of a block.
 *
 * A loop over merged threads, which counts from the thread's index in constant steps, is evaluated round by round: for
 * each thread, the share of the rounds in which a condition holds is known. So are the threads that come to a block, if
 * such conditions have been decided on the way. */
#include "cost/formula.h"

#include <math.h>

enum { MOST_THREADS = 1024 };

bool estimate_value_of_block(const Estimate *estimate, RegId reg, uint64_t *value)
{
    static const unsigned any_thread[3] = {0};
    Formula formula = {.estimate = estimate, .rounds = 1};
    return reg != REG_NONE && formula_make(&formula, reg) && !formula.loop && !formula_reads_thread(&formula) &&
           formula_run(&formula, any_thread, 0, value);
}

static unsigned block_threads(const Estimate *estimate)
{
    return (unsigned)(estimate->block[0] * estimate->block[1] * estimate->block[2]);
}

/* For each thread of a block, the rounds in which the condition holds. */
static ThreadRounds holding_threads(Estimate *estimate, RegId condition)
{
    ThreadRounds *holding = &estimate->counted[condition];
    Formula formula = {.estimate = estimate, .rounds = 1};
    const unsigned x = (unsigned)estimate->block[0], y = (unsigned)estimate->block[1];
    const unsigned threads = block_threads(estimate);
    if (holding->is_known)
        return *holding;
    holding->is_known = true;
    if (threads > MOST_THREADS || !formula_make(&formula, condition))
        return *holding;
    uint64_t *rounds = ARENA_ARRAY(estimate->arena, uint64_t, threads);
    for (unsigned i = 0; i < threads * formula.rounds; i++) {
        const unsigned thread = i / formula.rounds, index[3] = {thread % x, thread / x % y, thread / x / y};
        uint64_t holds;
        if (!formula_run(&formula, index, i % formula.rounds, &holds))
            return *holding;
        rounds[thread] |= holds & 1 ? formula.loop ? UINT64_C(1) << i % formula.rounds : UINT64_MAX : 0;
    }
    return *holding = (ThreadRounds){true, formula.loop, formula.rounds, rounds};
}

static double share_of_rounds(const ThreadRounds *rounds, uint64_t bits)
{
    const uint64_t all = rounds->count < 64 ? (UINT64_C(1) << rounds->count) - 1 : UINT64_MAX;
    return rounds->threads ? (double)__builtin_popcountll(bits & all) / rounds->count : 1;
}

static double share_of_thread(const Coming *coming, unsigned thread)
{
    const ThreadRounds *rounds = &coming->rounds;
    return (coming->shares ? coming->shares[thread] : 1) *
           (rounds->threads ? share_of_rounds(rounds, rounds->threads[thread]) : 1);
}

/* The share of a warp's executions in which some thread of it comes. */
static double share_of_warp(const Coming *coming, unsigned first, unsigned threads)
{
    uint64_t any = 0;
    double most = 0;
    for (unsigned i = first; i < threads && i < first + WARP_THREADS; i++) {
        const double share = coming->shares ? coming->shares[i] : 1;
        any |= coming->rounds.threads && share > 0 ? coming->rounds.threads[i] : 0;
        most = fmax(most, share);
    }
    return most * share_of_rounds(&coming->rounds, any);
}

/* The executions of those that come in which a condition has the value. Rounds of the same loop are known one by one;
 * those of another loop are taken to have nothing to do with them. */
static Coming coming_if(Estimate *estimate, const Coming *before, const ThreadRounds *holding, bool value)
{
    const unsigned threads = block_threads(estimate);
    const ThreadRounds *rounds = &before->rounds;
    const bool is_joint = !rounds->threads || !rounds->loop || !holding->loop || rounds->loop == holding->loop;
    const ThreadRounds *of_loop = rounds->loop && is_joint ? rounds : holding;
    uint64_t *both = ARENA_ARRAY(estimate->arena, uint64_t, threads);
    double *shares = is_joint ? NULL : ARENA_ARRAY(estimate->arena, double, threads);
    for (unsigned i = 0; i < threads; i++) {
        both[i] = value ? holding->threads[i] : ~holding->threads[i];
        if (!is_joint)
            shares[i] = share_of_thread(before, i);
        else if (rounds->threads)
            both[i] &= rounds->threads[i];
    }
    return (Coming){{true, of_loop->loop, of_loop->count, both}, is_joint ? before->shares : shares};
}

/* The executions of the immediate dominator that come to the block, or its own if the decision there does not follow
 * from the threads' index. */
static void come_from(Estimate *estimate, const Block *block, const Block *decider)
{
    const Inst *last = block_two_way_branch(decider);
    const bool is_decided = last && block->pred_count == 1 && block->preds[0] == decider;
    const ThreadRounds holding = is_decided ? holding_threads(estimate, inst_predicate(last)) : (ThreadRounds){0};
    Coming *coming = &estimate->coming[block->id];
    *coming = estimate->coming[decider->id];
    if (holding.threads)
        *coming = coming_if(estimate, coming, &holding, (last->targets[0] == block) != last->guard_inverted);
}

void estimate_note_threads(Estimate *estimate, const Block *block)
{
    const Block *decider = dominance_parent(analyses_dominance(estimate->analyses), block);
    if (decider)
        come_from(estimate, block, decider);
}

/* The executions of all threads of a block, and of its warps. */
static Flow flow_of(const Estimate *estimate, const Coming *coming)
{
    Flow flow = {0, 0};
    for (unsigned i = 0, threads = block_threads(estimate); i < threads; i++) {
        flow.threads += share_of_thread(coming, i);
        flow.warps += i % WARP_THREADS ? 0 : share_of_warp(coming, i, threads);
    }
    return flow;
}

Share estimate_count_threads(Estimate *estimate, RegId condition, bool value, const Block *at)
{
    const Share unknown = {-1, -1};
    const ThreadRounds holding = holding_threads(estimate, condition);
    if (!holding.threads)
        return unknown;
    const Coming *coming = &estimate->coming[at->id], taking = coming_if(estimate, coming, &holding, value);
    const Flow all = flow_of(estimate, coming), taken = flow_of(estimate, &taking);
    return all.threads > 0 ? (Share){taken.threads / all.threads, taken.warps / all.warps} : (Share){0, 0};
}

static unsigned instruction_count(const Block *block)
{
    unsigned count = 0;
    for (const Inst *inst = block->first; inst; inst = inst->next)
        count++;
    return count;
}

/* Adds the executions of a block's instructions to the work of each warp: they are those of the warps that come there,
 * if that follows from the index of their threads, and else of all alike. */
static void add_work(const Estimate *estimate, const Block *block, double *work, double *coming, unsigned warps)
{
    const Coming *comes = &estimate->coming[block->id];
    const double executed = instruction_count(block) * estimate->flow[block->id].warps * warps;
    double all = 0;
    for (unsigned w = 0; w < warps; w++) {
        coming[w] = share_of_warp(comes, w * WARP_THREADS, block_threads(estimate));
        all += coming[w];
    }
    for (unsigned w = 0; w < warps && all > 0; w++)
        work[w] += executed * coming[w] / all;
}

double estimate_longest_warp(const Estimate *estimate)
{
    const unsigned warps = (unsigned)estimate_warps(estimate);
    double *work = ARENA_ARRAY(estimate->arena, double, warps), *coming = ARENA_ARRAY(estimate->arena, double, warps);
    double all = 0, longest = 0;
    for (size_t b = 0; b < estimate->body->blocks.count; b++)
        add_work(estimate, estimate->body->blocks.data[b], work, coming, warps);
    for (unsigned w = 0; w < warps; w++) {
        all += work[w];
        longest = fmax(longest, work[w]);
    }
    return all > 0 ? longest * warps / all : 1;
}
