/* Loops that are left in their middle.
 *
 *     for (;;) {                             a()
 *         a()                                do {
 *         if (i == n) break             ->       b()
 *         b()                                    a()
 *     }                                      } while (i != n)
 *
 * Compilers unroll loops of a constant number of rounds by what does not divide it, and leave them where the last round
 * ends. The first part is executed once before the loop, if it is known that the loop goes on after it: then the loop
 * is left at its end, and other passes know how many rounds it makes. */
#include "opt/common/preheader.h"
#include "opt/common/version.h"
#include "opt/common/versions.h"
#include "opt/loops/rounds.h"
#include "opt/passes.h"

enum { MOST_COPIED = 300 };

typedef VEC(Block *) Part;

typedef struct MiddleExit {
    Arena *scratch;
    Body *body;
    Analyses *analyses;
    const Loop *loop;
    const Values *values;
    Block *exiting;    /* ends in the only branch that leaves the loop, ... */
    Block *after, *on; /* to the one, and stays in it to the other */
    Part first;        /* the blocks up to there */
} MiddleExit;

/* Whether the loop goes on after the first part of its first round. */
static bool goes_on(const MiddleExit *e)
{
    const Inst *branch = e->exiting->last;
    const Bounds taken = first_round_bounds(e->body, e->values, e->loop, inst_predicate(branch));
    return bounds_is_point(&taken) && (taken.low != branch->guard_inverted) == (branch->targets[0] == e->on);
}

static bool find_exit(MiddleExit *e, const LoopForest *loops)
{
    for (uint32_t b = 0; b < e->loop->block_count; b++) {
        Block *block = e->loop->blocks[b];
        FOR_EACH_SUCC(block, succ) {
            if (loop_contains(loops, e->loop, succ))
                continue;
            if (e->exiting && e->exiting != block)
                return false;
            e->exiting = block;
            e->after = succ;
        }
    }
    const Inst *branch = e->exiting ? block_two_way_branch(e->exiting) : NULL;
    if (!branch)
        return false;
    e->on = branch->targets[0] == e->after ? e->exiting->fall : branch->targets[0];
    return loop_contains(loops, e->loop, e->on) && e->on->pred_count == 1;
}

/* Whether the loop has two parts, of which the first can be copied. */
static bool find_parts(MiddleExit *e, const Dominance *dominance)
{
    bool has_second = false;
    for (uint32_t b = 0; b < e->loop->block_count; b++) {
        Block *block = e->loop->blocks[b];
        const bool is_second = dominance_has(dominance, e->on, block);
        if (!is_second)
            VEC_PUSH(e->scratch, e->first, block);
        for (const Inst *inst = block->first; inst && is_second; inst = inst->next)
            has_second |= !inst_is_branch(inst);
    }
    for (uint32_t l = 0; l < e->loop->latch_count; l++)
        if (!dominance_has(dominance, e->on, e->loop->latches[l]))
            return false;
    return has_second && blocks_may_version(e->first.data, e->first.count, MOST_COPIED);
}

/* Values of the loop that are used after it become phis where it is left. */
static void keep_results(const MiddleExit *e, const LoopForest *loops)
{
    VEC(Phi) kept = {0};
    for (RegId reg = 0; reg < e->values->reg_count; reg++) {
        const Block *made = e->values->defs[reg].block;
        Phi phi = {.dst = REG_NONE};
        for (uint32_t u = 0; made && loop_contains(loops, e->loop, made) && u < value_use_count(e->values, reg); u++) {
            const ValueUse *use = &value_uses(e->values, reg)[u];
            if (loop_contains(loops, e->loop, use->block))
                continue;
            phi.dst = phi.dst == REG_NONE ? body_clone_reg(e->body, reg) : phi.dst;
            if (use->inst)
                use->inst->refs[use->index].reg = phi.dst;
            else
                use->block->phis.data[use->index].args.data[use->arg].reg = phi.dst;
        }
        if (phi.dst == REG_NONE)
            continue;
        VEC_PUSH(e->body->arena, phi.args, ((PhiArg){e->exiting, reg}));
        VEC_PUSH(e->scratch, kept, phi);
    }
    Block *left = block_between(e->body, e->exiting, e->after);
    for (size_t k = 0; k < kept.count; k++)
        VEC_PUSH(e->body->arena, left->phis, kept.data[k]);
}

/* Copies the first part to before the loop, which it leads to the second part of. */
static void turn(MiddleExit *e)
{
    Versions versions = versions_new(e->scratch, e->body, analyses_values(e->analyses));
    versions_begin(&versions, e->first.data, e->first.count);
    versions_copy(&versions, e->first.data, e->first.count, e->loop->preheader);
    block_retarget(e->loop->preheader, e->loop->header, versions_block(&versions, e->loop->header));
    Block *last = versions_block(&versions, e->exiting);
    inst_remove(last->last);
    last->fall = e->on;
    versions_join(&versions, e->on);
    versions_finish(&versions);
}

static bool turn_loop(Arena *scratch, Body *body, Analyses *analyses, uint32_t index)
{
    const LoopForest *loops = analyses_loops(analyses);
    MiddleExit e = {.scratch = scratch, .body = body, .analyses = analyses, .loop = &loops->loops[index],
                    .values = analyses_values(analyses)};
    if (e.loop->end != index + 1 || !e.loop->preheader || !find_exit(&e, loops) ||
        !find_parts(&e, analyses_dominance(analyses)) || !goes_on(&e))
        return false;
    const Loop loop = *e.loop;
    keep_results(&e, loops);
    e.loop = &loop;
    analyses_invalidate(analyses, ANALYSES_ALL);
    turn(&e);
    analyses_invalidate(analyses, ANALYSES_ALL);
    return true;
}

bool pass_middle_exits(PassContext *context)
{
    Arena *scratch = arena_new();
    bool changed = false;
    loops_add_preheaders(context->body, context->analyses);
    for (uint32_t i = 0; i < analyses_loops(context->analyses)->loop_count; i++)
        changed |= turn_loop(scratch, context->body, context->analyses, i);
    arena_free(scratch);
    return changed;
}
