/* Code without its guards, for threads whose data are not at the edge.
 *
 *     for (d = -r; d <= r; d++)              if (x - r >= 0 && x + r < w)
 *         if (x + d >= 0 && x + d < w)  ->       for (d = -r; d <= r; d++)
 *             sum += in[x + d] * f[d];               sum += in[x + d] * f[d];
 *                                            else
 *                                                the loop as it was
 *
 * Each thread tests before the outermost loop whether the guards let all that it loads be loaded in all rounds
 * (extremes.c). The loop as it was is a slow side: merged threads go into the new one together where the test holds for
 * all of them, and so its loads are shared, joined and staged as those of loops that never had guards. The same is done
 * to code without loops, where the source's were unrolled, up to what it stores (region.c).
 *
 * Guards are branches within a round of which one side loads from memory and the other does not, and that threads do
 * not all take alike. *Clamps*, the lesser or greater of an index and what all threads have in common, become the
 * index:
 *
 *     in[min(max(x + d, 0), w - 1)]     ->   in[x + d]
 *
 * Requires and keeps SSA form; changes blocks and edges. */
#include "opt/common/cleanup.h"
#include "opt/common/preheader.h"
#include "opt/common/version.h"
#include "opt/edges/extremes.h"
#include "opt/edges/region.h"
#include "opt/passes.h"

enum {
    MOST_COPIED = 2048, /* instructions of what is made twice */
    FEWEST = 2,         /* guards and clamps of code without loops */
    STARTS_MOST = 16,   /* places where such code is looked for */
};

/* A branch that goes one way in all rounds. */
typedef struct Guard {
    Block *block;
    bool is_taken; /* its target's */
} Guard;

typedef VEC(Guard) GuardVec;
typedef VEC(Clamp) ClampVec;

typedef struct Interior {
    Arena *scratch;
    Body *body;
    Analyses *analyses;
    const LoopForest *loops;
    const Dominance *dominance;
    BitSet own;    /* by RegId: values that differ between threads, or blocks, because of what they are computed from */
    BitSet merged; /* by RegId: values that are computed from an index along which threads or blocks are merged */
} Interior;

static bool has_load(const Block *block)
{
    Access access;
    for (const Inst *inst = block->first; inst; inst = inst->next)
        if (inst_access(inst, &access) && access.kind == ACCESS_LOAD && access.space != SPACE_PARAM)
            return true;
    return false;
}

/* Whether anything of the same round is loaded only after the branch has gone to this side. */
static bool side_loads(const Interior *n, const Region *region, const Loop *loop, const Block *side)
{
    if (side->pred_count != 1)
        return false;
    for (size_t b = 0; b < region->count; b++) {
        const Block *block = region->blocks[b];
        if ((!loop || loop_contains(n->loops, loop, block)) && dominance_has(n->dominance, side, block) &&
            has_load(block))
            return true;
    }
    return false;
}

/* Whether the branch can lead to the block and go on with the same round. */
static bool stays(const Interior *n, const Region *region, const Loop *loop, const Block *to)
{
    if (loop)
        return loop_contains(n->loops, loop, to) && to != loop->header;
    return to == region->join || bitset_has(&region->inside, to->id);
}

/* Whether the block ends in a guard. */
static bool guard_find(const Interior *n, const Region *region, Block *block, Guard *out)
{
    const Inst *branch = block_two_way_branch(block);
    const Loop *loop = loop_of(n->loops, block);
    if (!branch || !bitset_has(&n->own, inst_predicate(branch)))
        return false;
    Block *taken = branch->targets[0], *fall = block->fall;
    if (!stays(n, region, loop, taken) || !stays(n, region, loop, fall))
        return false;
    *out = (Guard){block, side_loads(n, region, loop, taken)};
    return out->is_taken != side_loads(n, region, loop, fall);
}

static bool is_own(const Interior *n, const ComputeSource *source)
{
    return source->reg != REG_NONE && bitset_has(&n->own, source->reg);
}

/* Whether the instruction is a clamp of a thread's own value. Replicas share one that they agree on. */
static bool clamp_find(const Interior *n, Inst *inst, Clamp *out)
{
    Computation c;
    if (!computation_of(n->body, inst, &c) || (c.op != COMPUTE_MIN && c.op != COMPUTE_MAX) || c.bits != 32 ||
        c.reg_bits != 32 || !c.is_signed || c.clips)
        return false;
    const bool second = is_own(n, &c.sources[1]);
    if (is_own(n, &c.sources[0]) == second || c.sources[second].reg_bits != 32 ||
        !bitset_has(&n->merged, c.sources[second].reg))
        return false;
    *out = (Clamp){inst, c.result, c.sources[second].reg};
    return true;
}

/* The guards and clamps that can be tested before the region. */
static size_t find_tests(const Interior *n, const Region *region, Extremes *extremes, GuardVec *guards,
                         ClampVec *clamps)
{
    for (size_t b = 0; b < region->count; b++) {
        Guard guard;
        Clamp clamp;
        if (region->blocks[b]->is_cold)
            continue;
        for (Inst *inst = region->blocks[b]->first; inst; inst = inst->next)
            if (clamp_find(n, inst, &clamp) && extremes_require_clamp(extremes, &clamp))
                VEC_PUSH(n->scratch, *clamps, clamp);
        if (!guard_find(n, region, region->blocks[b], &guard))
            continue;
        const Inst *branch = guard.block->last;
        if (extremes_require(extremes, inst_predicate(branch), guard.is_taken != branch->guard_inverted))
            VEC_PUSH(n->scratch, *guards, guard);
    }
    return guards->count + clamps->count;
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

static void clamp_remove(Body *body, const Clamp *clamp)
{
    inst_insert_before(clamp->inst, inst_build(body, "mov.b32", "dr", clamp->result, clamp->value));
    inst_remove(clamp->inst);
}

/* Makes the version without guards, if there are enough of them. */
static bool region_version(const Interior *n, const Region *region, size_t fewest)
{
    if (!blocks_may_version(region->blocks, region->count, MOST_COPIED))
        return false;
    const Values *values = analyses_values(n->analyses);
    Extremes extremes = extremes_new(n->scratch, n->body, n->analyses, &n->own, &region->inside);
    GuardVec guards = {0};
    ClampVec clamps = {0};
    if (find_tests(n, region, &extremes, &guards, &clamps) < fewest)
        return false;
    const SumPlace place = sum_place_new(n->body, region->before, n->analyses);
    const RegId holds = extremes_build(&extremes, &place);
    if (holds == REG_NONE)
        return false;
    blocks_version(n->body, values, region->blocks, region->count, region->before, region->join, holds,
                   NULL);
    for (size_t g = 0; g < guards.count; g++)
        guard_remove(n->body, &guards.data[g]);
    for (size_t c = 0; c < clamps.count; c++)
        clamp_remove(n->body, &clamps.data[c]);
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

/* Whether the instruction makes a value that differs with an index along which something is merged. */
static bool reads_merged(const PassContext *context, const Inst *inst, const BitSet *merged)
{
    const Shape *shape = &context->coarsening->shape;
    const unsigned of_thread = inst_index_axis(inst, SREG_ROLE_TID), of_block = inst_index_axis(inst, SREG_ROLE_CTAID);
    const unsigned axis = of_thread < 3 ? of_thread : of_block;
    if (axis < 3 && (shape->threads[axis] > 1 || shape->blocks[axis] > 1))
        return true;
    for (unsigned r = 0; r < inst->ref_count; r++)
        if (ref_reads(&inst->refs[r]) && bitset_has(merged, inst->refs[r].reg))
            return true;
    return false;
}

static bool joins_merged(const Phi *phi, const BitSet *merged)
{
    for (size_t a = 0; a < phi->args.count; a++)
        if (bitset_has(merged, phi->args.data[a].reg))
            return true;
    return false;
}

static BitSet merged_find(Arena *scratch, const PassContext *context)
{
    const Body *body = context->body;
    BitSet merged = bitset_new(scratch, body->regs.count);
    for (size_t last = SIZE_MAX, count = 0; count != last;) {
        last = count;
        count = 0;
        for (size_t b = 0; b < body->blocks.count; b++) {
            const Block *block = body->blocks.data[b];
            for (size_t p = 0; p < block->phis.count; p++)
                if (joins_merged(&block->phis.data[p], &merged)) {
                    bitset_add(&merged, block->phis.data[p].dst);
                    count++;
                }
            for (const Inst *inst = block->first; inst; inst = inst->next)
                for (unsigned r = 0; r < inst->ref_count; r++)
                    if (ref_writes(&inst->refs[r]) && reads_merged(context, inst, &merged)) {
                        bitset_add(&merged, inst->refs[r].reg);
                        count++;
                    }
        }
    }
    return merged;
}

static Interior interior_new(Arena *scratch, const PassContext *context)
{
    return (Interior){.scratch = scratch,
                      .body = context->body,
                      .analyses = context->analyses,
                      .loops = analyses_loops(context->analyses),
                      .dominance = analyses_dominance(context->analyses),
                      .own = own_find(scratch, context->body, context->analyses),
                      .merged = merged_find(scratch, context)};
}

/* Makes versions of the outermost loop, if it has guards. */
static bool version_loop(const PassContext *context, const Loop *loop)
{
    Arena *scratch = arena_new();
    const Interior n = interior_new(scratch, context);
    Region region;
    const bool done = !loop->header->is_cold && region_of_loop(scratch, n.loops, loop, &region) &&
                      region_version(&n, &region, 1);
    arena_free(scratch);
    return done;
}

/* Makes versions of the code from the instruction on, if it is the first one of several guards and clamps. */
static bool version_from(PassContext *context, Inst *at)
{
    Arena *scratch = arena_new();
    Region region;
    bool done = false;
    if (region_split(scratch, context->body, context->analyses, at, &region)) {
        analyses_invalidate(context->analyses, ANALYSES_ALL);
        const Interior n = interior_new(scratch, context);
        done = region_version(&n, &region, FEWEST);
    }
    arena_free(scratch);
    return done;
}

/* The first clamp or branch on a thread's own value in the block; NULL: there is none. */
static Inst *first_test(const Interior *n, const Block *block)
{
    Clamp clamp;
    for (Inst *inst = block->first; inst; inst = inst->next)
        if (clamp_find(n, inst, &clamp))
            return inst;
    const Inst *branch = block_two_way_branch(block);
    return branch && bitset_has(&n->own, inst_predicate(branch)) ? block->last : NULL;
}

/* The places where versions of code without loops may begin. */
static unsigned find_starts(const PassContext *context, Inst *starts[STARTS_MOST])
{
    Arena *scratch = arena_new();
    const Interior n = interior_new(scratch, context);
    unsigned count = 0;
    for (size_t b = 0; b < n.body->blocks.count && count < STARTS_MOST; b++) {
        const Block *block = n.body->blocks.data[b];
        Inst *start = block->is_cold || loop_of(n.loops, block) ? NULL : first_test(&n, block);
        if (start)
            starts[count++] = start;
    }
    arena_free(scratch);
    return count;
}

/* Makes versions of the first part without loops where that is possible. */
static bool version_straight(PassContext *context)
{
    Inst *starts[STARTS_MOST];
    const unsigned count = find_starts(context, starts);
    for (unsigned i = 0; i < count; i++)
        if (version_from(context, starts[i]))
            return true;
    return false;
}

bool pass_interior(PassContext *context)
{
    bool changed = version_straight(context);
    if (changed)
        analyses_invalidate(context->analyses, ANALYSES_ALL);
    loops_add_outer_preheaders(context->body, context->analyses);
    for (uint32_t l = 0; l < analyses_loops(context->analyses)->loop_count; l++) {
        const Loop *loop = &analyses_loops(context->analyses)->loops[l];
        if (loop->parent || !version_loop(context, loop))
            continue;
        changed = true;
        analyses_invalidate(context->analyses, ANALYSES_ALL);
        l = UINT32_MAX; /* the loops are others: those that are left */
    }
    return changed;
}
