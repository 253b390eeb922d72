/* Refinement: what the threads of a group can execute in the place of one.
 *
 * They hold the same values everywhere outside of shared loops, so they take the same way through the kernel, load from
 * the same addresses, and leave together. That needs instructions whose results depend on nothing but operands, memory
 * and the thread's place in the grid. A barrier of the whole block is one of the larger block. The first thread
 * of a group stores and adds what the original's thread would, while the others wait (effects.c). */
#include "opt/refine/internal.h"

bool refine_refuse(Refine *r, const Inst *inst, RefusalReason reason)
{
    refusal_set(r->refusal, r->body, inst, reason, NULL);
    return false;
}

bool term_is_fixed(const Refine *r, const Loop *loop, const AffineTerm *term)
{
    if (term->base != AFFINE_VALUE && term->base != AFFINE_SIGNED)
        return true;
    const Block *block = analyses_values(r->analyses)->defs[term->reg].block;
    return block && !loop_contains(analyses_loops(r->analyses), loop, block);
}

/* bar.sync of all threads of the block. */
static bool is_whole_barrier(const Inst *inst)
{
    return inst->sync == SYNC_BLOCK_BARRIER && inst->operand_count == 1;
}

/* A reduction in memory that gives nothing back. */
static bool is_reduction(const Inst *inst, const Access *access)
{
    return access->kind == ACCESS_ATOMIC && inst_result(inst) == REG_NONE && !(inst->effects & EFFECT_VOLATILE);
}

static bool check_access(Refine *r, const Inst *inst)
{
    Access access;
    if (!inst_access(inst, &access))
        return true;
    if (access.read_only)
        return true;
    if (is_reduction(inst, &access))
        return true;
    if (!access.weak || !access.address || (access.kind != ACCESS_LOAD && access.kind != ACCESS_STORE))
        return refine_refuse(r, inst, REFUSAL_REFINE_ACCESS);
    /* An address in local memory is another place for each thread of the group. */
    if (access.kind == ACCESS_STORE && access.space == SPACE_NONE &&
        !access_is_global(analyses_affine(r->analyses), inst, &access))
        for (size_t v = 0; v < r->body->variables.count; v++)
            if (r->body->variables.data[v]->space == SPACE_LOCAL)
                return refine_refuse(r, inst, REFUSAL_REFINE_LOCAL);
    return true;
}

static bool check_sreg(Refine *r, const Inst *inst)
{
    const Sreg *sreg = inst_sreg(inst);
    if (!sreg || sreg->role == SREG_ROLE_CTAID || sreg->role == SREG_ROLE_NCTAID)
        return true;
    const bool is_thread = sreg->role == SREG_ROLE_TID || sreg->role == SREG_ROLE_NTID;
    if (is_thread && (sreg->axis == SREG_AXIS_Y || sreg->axis == SREG_AXIS_Z))
        return true;
    return (is_thread && inst_index_axis(inst, sreg->role) == 0) || refine_refuse(r, inst, REFUSAL_REFINE_SREG);
}

static bool check_inst(Refine *r, const Inst *inst)
{
    const unsigned other = EFFECT_TRAP | EFFECT_VOLATILE | EFFECT_ASYNC | EFFECT_STACK;
    const Sreg *sreg = inst_is_opaque(inst) ? NULL : inst_sreg(inst);
    Access access;
    if (inst_is_opaque(inst) || inst_is_call(inst))
        return refine_refuse(r, inst, REFUSAL_REFINE_CALL);
    if (is_whole_barrier(inst))
        return true;
    const bool is_access = inst_access(inst, &access);
    if (inst->sync != SYNC_NONE && !(inst->sync == SYNC_STRONG && is_access && is_reduction(inst, &access)))
        return refine_refuse(r, inst, REFUSAL_REFINE_SYNC);
    if (!is_access && inst->effects & other && !sreg)
        return refine_refuse(r, inst, REFUSAL_REFINE_EFFECT);
    return check_sreg(r, inst) && check_access(r, inst);
}

bool refine_check(Refine *r)
{
    for (size_t b = 0; b < r->body->blocks.count; b++)
        for (const Inst *inst = r->body->blocks.data[b]->first; inst; inst = inst->next)
            if (!check_inst(r, inst))
                return false;
    return true;
}
