/* The indices that a value may differ with: of thread, block, and rounds of loops. A value that is computed from others
 * differs with what these differ with; a phi also with what decides from where control comes; a value that is used
 * after a loop with what decides when a thread leaves it. Unlike variance.c, this asks only where values differ among
 * the threads that compute them. Plain loads from one address in one round are taken to give the same. */
#include "analysis/patterns/internal.h"

enum { LAST_BIT = 63 };

PatternMask pattern_index_bit(unsigned index)
{
    return (PatternMask)1 << (index < LAST_BIT ? index : LAST_BIT);
}

PatternMask pattern_loop_bit(const Loop *loop)
{
    return pattern_index_bit(PATTERN_LOOPS + loop->index);
}

bool pattern_is_lost(const LoopForest *loops, const Block *block)
{
    bool lost = bitset_has(&loops->irreducible, block->id);
    for (const Loop *loop = loop_of(loops, block); loop; loop = loop->parent)
        lost |= bitset_has(&loops->irreducible, loop->header->id);
    return lost;
}

static PatternMask loops_around(const LoopForest *loops, const Block *block)
{
    PatternMask mask = 0;
    for (const Loop *loop = loop_of(loops, block); loop; loop = loop->parent)
        mask |= pattern_loop_bit(loop);
    return mask;
}

PatternMask pattern_mask_at(const LoopForest *loops, const PatternMask *exits, PatternMask mask, const Block *at)
{
    const PatternMask around = loops_around(loops, at);
    PatternMask left = mask & ~around & ~(PATTERN_THREADS | PATTERN_BLOCKS), result = mask & ~left;
    for (uint32_t l = 0; l < loops->loop_count && left; l++)
        if (left & pattern_loop_bit(&loops->loops[l]))
            result |= exits[l];
    return result;
}

static PatternMask value_at(const Finder *finder, RegId reg, const Block *at)
{
    return pattern_mask_at(finder->request->loops, finder->patterns->exits, finder->depends[reg], at);
}

static PatternMask reads_of(const Finder *finder, const Inst *inst, const Block *at)
{
    PatternMask mask = 0;
    for (unsigned r = 0; r < inst->ref_count; r++)
        if (ref_reads(&inst->refs[r]) && inst->refs[r].reg != REG_NONE)
            mask |= value_at(finder, inst->refs[r].reg, at);
    return mask;
}

static PatternMask sreg_mask(const Sreg *sreg)
{
    const bool is_one = sreg->axis <= SREG_AXIS_Z;
    if (sreg->role == SREG_ROLE_TID && is_one)
        return (PatternMask)1 << (PATTERN_X + sreg->axis);
    if (sreg->role == SREG_ROLE_CTAID && is_one)
        return (PatternMask)1 << (PATTERN_BLOCK_X + sreg->axis);
    return (sreg_is_common(sreg) ? 0 : PATTERN_THREADS) |
           (sreg->dependence == SREG_CONSTANT || sreg->dependence == SREG_LAUNCH ? 0 : PATTERN_BLOCKS);
}

/* The indices that an instruction that does not only compute adds to those of what it reads. */
static PatternMask inst_adds(const LoopForest *loops, const Inst *inst)
{
    const PatternMask around = loops_around(loops, inst->block);
    Access access;
    if (pattern_is_lost(loops, inst->block))
        return ~(PatternMask)0;
    if (!inst_is_opaque(inst) && inst_access(inst, &access) && access.kind == ACCESS_LOAD && access.weak) {
        if (access.read_only && !access.awaited)
            return 0;
        return access.space == SPACE_GLOBAL   ? around
               : access.space == SPACE_SHARED ? around | PATTERN_BLOCKS
                                              : around | PATTERN_BLOCKS | PATTERN_THREADS;
    }
    return around | PATTERN_THREADS | PATTERN_BLOCKS;
}

static PatternMask inst_depends(const Finder *finder, const Inst *inst)
{
    PatternMask mask = reads_of(finder, inst, inst->block);
    const Sreg *sreg = inst_is_opaque(inst) ? NULL : inst_sreg(inst);
    if (sreg)
        mask |= sreg->dependence == SREG_VOLATILE ? loops_around(finder->request->loops, inst->block) : 0;
    if (sreg)
        mask |= sreg_mask(sreg);
    const bool computes = inst_is_computation(inst) || (inst_is_guarded(inst) && !inst_is_opaque(inst) &&
                                                        !(inst->effects & ~(unsigned)(EFFECT_PURE | EFFECT_THREAD)));
    return mask | (computes ? 0 : inst_adds(finder->request->loops, inst));
}

/* True if control may go on from the block in several ways. */
static bool block_decides(const Block *block)
{
    return block->last && inst_is_terminator(block->last) &&
           (block->last->target_count > 1 || (block->last->target_count && block->fall));
}

/* The indices that decide from where control comes to the block: by the branches since its immediate dominator. */
static PatternMask join_mask(const Finder *finder, const Block *block)
{
    const Dominance *dominance = finder->request->dominance;
    const Body *body = finder->request->body;
    const uint32_t above = dominance->parent[block->id];
    const Loop *loop = loop_headed(finder->request->loops, block);
    const bool is_left_out = !loop || loop->latch_count < 2; /* what the block dominates */
    PatternMask mask = 0;
    if (above == BLOCK_NONE)
        return mask;
    for (uint32_t i = dominance->enter[above]; i < dominance->leave[above];) {
        const Block *other = body->blocks.data[dominance->order[i]];
        const bool is_passed = other == block && is_left_out;
        if (block_decides(other) && !is_passed)
            mask |= reads_of(finder, other->last, block);
        i = is_passed ? dominance->leave[block->id] : i + 1;
    }
    return mask;
}

static PatternMask phi_depends(const Finder *finder, const Block *block, const Phi *phi)
{
    const Loop *loop = loop_headed(finder->request->loops, block);
    const bool is_plain_loop = loop && loop->preheader && loop->latch_count == 1;
    PatternMask mask = (loop ? pattern_loop_bit(loop) : 0) | (is_plain_loop ? 0 : finder->joins[block->id]);
    for (size_t a = 0; a < phi->args.count; a++)
        mask |= value_at(finder, phi->args.data[a].reg, block);
    return pattern_is_lost(finder->request->loops, block) ? ~(PatternMask)0 : mask;
}

static bool widen(PatternMask *mask, PatternMask more)
{
    const PatternMask before = *mask;
    *mask |= more;
    return *mask != before;
}

static bool find_exits(const Finder *finder)
{
    const LoopForest *loops = finder->request->loops;
    bool changed = false;
    for (uint32_t l = 0; l < loops->loop_count; l++) {
        const Loop *loop = &loops->loops[l];
        PatternMask mask = 0;
        for (uint32_t b = 0; b < loop->block_count; b++) {
            const Block *block = loop->blocks[b];
            bool leaves = false;
            FOR_EACH_SUCC(block, succ)
                leaves |= !loop_contains(loops, loop, succ);
            if (leaves && block_decides(block))
                mask |= reads_of(finder, block->last, block);
        }
        const PatternMask around = loop->parent ? loops_around(loops, loop->parent->header) : 0;
        changed |= widen(&finder->patterns->exits[l], mask & (around | PATTERN_THREADS | PATTERN_BLOCKS));
    }
    return changed;
}

static bool block_depends(Finder *finder, const Block *block)
{
    bool changed = false;
    if (block->phis.count && block->pred_count > 1)
        changed |= widen(&finder->joins[block->id], join_mask(finder, block));
    for (size_t p = 0; p < block->phis.count; p++)
        changed |= widen(&finder->depends[block->phis.data[p].dst], phi_depends(finder, block, &block->phis.data[p]));
    for (const Inst *inst = block->first; inst; inst = inst->next) {
        const PatternMask mask = inst_depends(finder, inst);
        for (unsigned r = 0; r < inst->ref_count; r++)
            if (ref_writes(&inst->refs[r]))
                changed |= widen(&finder->depends[inst->refs[r].reg], mask);
    }
    return changed;
}

void patterns_find_depends(Finder *finder)
{
    const Dominance *dominance = finder->request->dominance;
    const Body *body = finder->request->body;
    bool changed = true;
    finder->depends = ARENA_ARRAY(finder->scratch, PatternMask, body->regs.count + 1);
    finder->joins = ARENA_ARRAY(finder->scratch, PatternMask, body->blocks.count + 1);
    while (changed) {
        changed = false;
        for (uint32_t i = 0; i < dominance->order_count; i++)
            changed |= block_depends(finder, body->blocks.data[dominance->order[i]]);
        changed |= find_exits(finder);
    }
}
