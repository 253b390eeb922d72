/* Loops that end by the clock: how long they take says nothing about the work of their kernel, nor is it known how
 * often they go round. */
#include "cost/cost.h"

#include "analysis/analysis.h"

static bool is_clock(const Sreg *sreg)
{
    switch (sreg->role) {
    case SREG_ROLE_CLOCK:
    case SREG_ROLE_CLOCK64:
    case SREG_ROLE_CLOCK_HI:
    case SREG_ROLE_GLOBALTIMER:
    case SREG_ROLE_GLOBALTIMER_HI:
    case SREG_ROLE_GLOBALTIMER_LO: return true;
    default: return false;
    }
}

static bool reads_clock(const Inst *inst)
{
    for (unsigned i = 0; i < inst->operand_count; i++)
        if (inst->operands[i].kind == OPERAND_SREG && is_clock(inst->operands[i].sreg))
            return true;
    return false;
}

static void push_sources(Arena *scratch, const ValueDef *def, RegIdVec *pending)
{
    for (unsigned r = 0; def->inst && r < def->inst->ref_count; r++)
        if (ref_reads(&def->inst->refs[r]))
            VEC_PUSH(scratch, *pending, def->inst->refs[r].reg);
    const Phi *phi = def->inst || !def->block ? NULL : &def->block->phis.data[def->phi];
    for (size_t i = 0; phi && i < phi->args.count; i++)
        VEC_PUSH(scratch, *pending, phi->args.data[i].reg);
}

/* The instruction that reads a clock which the value is computed from, not through memory; NULL: there is none. 'seen'
 * has the values of which that is known. */
static const Inst *clock_of(Arena *scratch, const Values *values, RegId reg, BitSet *seen)
{
    RegIdVec pending = {0};
    VEC_PUSH(scratch, pending, reg);
    while (pending.count) {
        const RegId next = VEC_POP(pending);
        const ValueDef *def = &values->defs[next];
        if (bitset_has(seen, next))
            continue;
        bitset_add(seen, next);
        if (def->inst && reads_clock(def->inst))
            return def->inst;
        push_sources(scratch, def, &pending);
    }
    return NULL;
}

/* True if some threads leave the loop at the end of the block, and others stay. */
static bool may_leave(const LoopForest *loops, const Loop *loop, const Block *block)
{
    if (!block->last || !inst_is_terminator(block->last) || !inst_is_guarded(block->last))
        return false;
    bool leaves = !block->last->target_count; /* the kernel */
    FOR_EACH_SUCC(block, succ)
        leaves |= !loop_contains(loops, loop, succ);
    return leaves;
}

static const Inst *loop_clock(Arena *scratch, Analyses *analyses, const Loop *loop, BitSet *seen)
{
    const Inst *found = NULL;
    for (uint32_t b = 0; b < loop->block_count && !found; b++)
        if (may_leave(analyses_loops(analyses), loop, loop->blocks[b]))
            found = clock_of(scratch, analyses_values(analyses), inst_predicate(loop->blocks[b]->last), seen);
    return found;
}

bool loops_end_by_clock(const Function *kernel, Span *reading)
{
    const char *reason;
    Body *body = body_build((Function *)kernel, &reason);
    if (!body)
        return false;
    body_to_ssa(body);
    Arena *scratch = arena_new();
    Analyses *analyses = analyses_new(body);
    const LoopForest *loops = analyses_loops(analyses);
    BitSet seen = bitset_new(scratch, body->regs.count);
    const Inst *found = NULL;
    for (uint32_t i = 0; i < loops->loop_count && !found; i++)
        found = loop_clock(scratch, analyses, &loops->loops[i], &seen);
    if (found)
        *reading = found->span;
    analyses_free(analyses);
    arena_free(scratch);
    body_free(body);
    return found != NULL;
}
