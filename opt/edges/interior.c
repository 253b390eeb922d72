/* Loops without their guards, for threads whose data are not at the edge.
 *
 *     for (d = -r; d <= r; d++)              if (x - r >= 0 && x + r < w)
 *         if (x + d >= 0 && x + d < w)  ->       for (d = -r; d <= r; d++)
 *             sum += in[x + d] * f[d];               sum += in[x + d] * f[d];
 *                                            else
 *                                                the loop as it was
 *
 * Each thread tests before the outermost loop whether the guards let all that it loads be loaded in all rounds
 * (extremes.c). The loop as it was is a slow side: merged threads go into the new one together where the test holds for
 * all of them, and so its loads are shared, joined and staged as those of loops that never had guards.
 *
 * Guards are branches within a loop of which one side loads from memory and the other does not, and that threads do not
 * all take alike.
 *
 * Requires and keeps SSA form; changes blocks and edges. */
#include "opt/common/cleanup.h"
#include "opt/common/preheader.h"
#include "opt/common/version.h"
#include "opt/edges/extremes.h"
#include "opt/passes.h"

enum { MOST_COPIED = 2048 }; /* instructions of what is made twice */

/* A branch that goes one way in all rounds. */
typedef struct Guard {
    Block *block;
    bool is_taken; /* its target's */
} Guard;

typedef VEC(Guard) GuardVec;

typedef struct Interior {
    Arena *scratch;
    Body *body;
    Analyses *analyses;
    const LoopForest *loops;
    const Dominance *dominance;
    BitSet own; /* by RegId: values that differ between threads, or blocks, because of what they are computed from */
} Interior;

static bool has_load(const Block *block)
{
    Access access;
    for (const Inst *inst = block->first; inst; inst = inst->next)
        if (inst_access(inst, &access) && access.kind == ACCESS_LOAD && access.space != SPACE_PARAM)
            return true;
    return false;
}

/* Whether the loop loads anything only after the branch has gone to this side. */
static bool side_loads(const Interior *n, const Loop *loop, const Block *side)
{
    if (side->pred_count != 1)
        return false;
    for (uint32_t b = 0; b < loop->block_count; b++)
        if (dominance_has(n->dominance, side, loop->blocks[b]) && has_load(loop->blocks[b]))
            return true;
    return false;
}

/* Whether the block ends in a guard, within a round of its innermost loop. */
static bool guard_find(const Interior *n, Block *block, Guard *out)
{
    const Inst *branch = block_two_way_branch(block);
    const Loop *loop = loop_of(n->loops, block);
    if (!branch || !bitset_has(&n->own, inst_predicate(branch)))
        return false;
    Block *taken = branch->targets[0], *fall = block->fall;
    if (!loop_contains(n->loops, loop, taken) || !loop_contains(n->loops, loop, fall) || taken == loop->header ||
        fall == loop->header)
        return false;
    *out = (Guard){block, side_loads(n, loop, taken)};
    return out->is_taken != side_loads(n, loop, fall);
}

/* The only block where the loop leads; NULL: there are several. */
static Block *join_of(const Interior *n, const Loop *loop)
{
    Block *join = NULL;
    for (uint32_t b = 0; b < loop->block_count; b++)
        FOR_EACH_SUCC(loop->blocks[b], succ) {
            if (loop_contains(n->loops, loop, succ) || succ == join)
                continue;
            if (join)
                return NULL;
            join = succ;
        }
    return join;
}

/* The guards that can be tested before the loop. */
static GuardVec guards_require(const Interior *n, const Loop *loop, Extremes *extremes)
{
    GuardVec guards = {0};
    for (uint32_t b = 0; b < loop->block_count; b++) {
        Guard guard;
        if (!guard_find(n, loop->blocks[b], &guard))
            continue;
        const Inst *branch = guard.block->last;
        if (extremes_require(extremes, inst_predicate(branch), guard.is_taken != branch->guard_inverted))
            VEC_PUSH(n->scratch, guards, guard);
    }
    return guards;
}

static void guard_remove(Body *body, const Guard *guard)
{
    Block *block = guard->block, *target = block->last->targets[0];
    inst_remove(block->last);
    if (!guard->is_taken)
        return;
    inst_append(block, inst_build_branch(body, target, REG_NONE, false));
    block->fall = NULL;
}

static bool loop_split(const Interior *n, const Loop *loop)
{
    Block *join = join_of(n, loop), *before = loop->preheader;
    if (!join || !before || loop->header->is_cold || !blocks_may_version(loop->blocks, loop->block_count, MOST_COPIED))
        return false;
    const Values *values = analyses_values(n->analyses);
    Extremes extremes = extremes_new(n->scratch, n->body, n->analyses, &n->own, loop);
    const GuardVec guards = guards_require(n, loop, &extremes);
    if (!guards.count)
        return false;
    const SumPlace place = sum_place_new(n->body, before, n->analyses);
    const RegId holds = extremes_build(&extremes, &place);
    if (holds == REG_NONE)
        return false;
    blocks_version(n->body, values, loop->blocks, loop->block_count, before, join, holds);
    for (size_t g = 0; g < guards.count; g++)
        guard_remove(n->body, &guards.data[g]);
    body_update_preds(n->body);
    body_remove_unreachable(n->body);
    return true;
}

static BitSet own_find(Arena *scratch, const Body *body, Analyses *analyses)
{
    BitSet own = bitset_new(scratch, body->regs.count);
    for (unsigned blocks = 0; blocks < 2; blocks++) {
        const Variance *variance = variance_on_any_path(scratch, body, analyses_postdominance(analyses), blocks);
        for (RegId reg = 0; reg < body->regs.count; reg++)
            if (variance_reg(variance, reg))
                bitset_add(&own, reg);
    }
    return own;
}

bool pass_interior(PassContext *context)
{
    bool changed = false;
    loops_add_outer_preheaders(context->body, context->analyses);
    for (uint32_t l = 0; l < analyses_loops(context->analyses)->loop_count; l++) {
        Arena *scratch = arena_new();
        const Interior n = {.scratch = scratch,
                            .body = context->body,
                            .analyses = context->analyses,
                            .loops = analyses_loops(context->analyses),
                            .dominance = analyses_dominance(context->analyses),
                            .own = own_find(scratch, context->body, context->analyses)};
        const Loop *loop = &n.loops->loops[l];
        if (!loop->parent && loop_split(&n, loop)) {
            changed = true;
            analyses_invalidate(context->analyses, ANALYSES_ALL);
            l = UINT32_MAX; /* the loops are others: those that are left */
        }
        arena_free(scratch);
    }
    return changed;
}
