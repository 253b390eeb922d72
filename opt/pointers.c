/* A pointer of its own for each sum of a loop's pointer and an offset that the loop leaves alone.
 *
 * Requires SSA form. Preserves SSA form, blocks and edges. Invalidates what was computed from instructions.
 *
 *     for (p = a; ...; p += step) { ... p + row0 ... p + row1 ... }
 *
 * becomes two pointers that start at a + row0 and a + row1 and advance by the step. Where nothing else reads p, that is
 * one addition less in each round, none before an access, and one register less (strength reduction; Cooper, Simpson
 * and Vick, "Operator strength reduction", TOPLAS 2001). All are integers modulo 2^64, so nothing wraps differently.
 *
 * It comes last of the passes for replicas: they look through sums, but not from one loop's pointer to another. */
#include "opt/cleanup.h"
#include "opt/pass.h"

enum { MOST_SUMS = 8, MOST_LEADERS = 64 };

/* A pointer that is only advanced, and added to offsets. */
typedef struct Leader {
    RegId start;
    Inst *advance;         /* the addition whose result is the next round's pointer */
    Inst *sums[MOST_SUMS]; /* in the loop, to registers from outside it */
    unsigned sum_count;
} Leader;

static bool is_plain_sum(const Inst *inst)
{
    if (!inst || inst_is_opaque(inst) || inst_op(inst) != OP_ADD || inst->guard != REF_NONE ||
        inst->effects != EFFECT_PURE || inst->operand_count != 3 || inst->signature->type_count != 1 ||
        type_bits(inst->signature->types[0]) != 64 || type_class(inst->signature->types[0]) == CLASS_FLOAT)
        return false;
    for (unsigned i = 0; i < 3; i++)
        if (inst->operands[i].negated || (inst->operands[i].kind != OPERAND_REG &&
                                          (i != 2 || inst->operands[i].kind != OPERAND_CONSTANT)))
            return false;
    return true;
}

/* The operand of a plain sum that is not the register; NULL if both are, or neither is. */
static const Operand *other_operand(const Inst *inst, RegId reg)
{
    const Operand *other = NULL;
    unsigned matches = 0;
    for (unsigned i = 1; i < 3; i++)
        if (inst->operands[i].kind == OPERAND_REG && inst->refs[inst->operands[i].ref].reg == reg)
            matches++;
        else
            other = &inst->operands[i];
    return matches == 1 ? other : NULL;
}

static bool is_invariant(const LoopForest *loops, const Loop *loop, const Values *values, const Inst *inst,
                         const Operand *operand)
{
    if (operand->kind != OPERAND_REG)
        return true;
    const Block *block = values->defs[inst->refs[operand->ref].reg].block;
    return block && !loop_contains(loops, loop, block);
}

static bool leader_find(const LoopForest *loops, const Loop *loop, const Values *values, const Phi *phi, Leader *leader)
{
    if (phi->args.count != 2)
        return false;
    unsigned outer = phi->args.data[0].pred == loop->preheader ? 0 : 1;
    RegId next = phi->args.data[1 - outer].reg;
    *leader = (Leader){.start = phi->args.data[outer].reg, .advance = (Inst *)value_inst(values, next)};
    if (phi->args.data[outer].pred != loop->preheader || !is_plain_sum(leader->advance) ||
        value_use_count(values, next) != 1)
        return false;
    const Operand *step = other_operand(leader->advance, phi->dst);
    if (!step || !is_invariant(loops, loop, values, leader->advance, step))
        return false;
    for (uint32_t u = 0; u < value_use_count(values, phi->dst); u++) {
        Inst *use = value_uses(values, phi->dst)[u].inst;
        if (use == leader->advance)
            continue;
        const Operand *offset = is_plain_sum(use) ? other_operand(use, phi->dst) : NULL;
        if (!offset || offset->kind != OPERAND_REG || !loop_contains(loops, loop, use->block) ||
            !is_invariant(loops, loop, values, use, offset) || leader->sum_count == MOST_SUMS)
            return false;
        leader->sums[leader->sum_count++] = use;
    }
    return leader->sum_count > 0;
}

/* "sum = phi + offset" becomes a phi that starts at start + offset and advances like the other. */
static void sum_lead(Body *body, const Loop *loop, const Phi *phi, const Leader *leader, Inst *sum)
{
    RegId own = sum->refs[sum->operands[0].ref].reg;
    const Operand *offset = other_operand(sum, phi->dst), *step = other_operand(leader->advance, phi->dst);
    RegId start = body_clone_reg(body, own), next = body_clone_reg(body, own);
    Inst *begin = inst_build(body, "add.s64", "drr", start, leader->start, sum->refs[offset->ref].reg);
    Inst *last = loop->preheader->last;
    if (last && inst_is_terminator(last))
        inst_insert_before(last, begin);
    else
        inst_append(loop->preheader, begin);
    Inst *advance = step->kind == OPERAND_REG
                        ? inst_build(body, "add.s64", "drr", next, own, leader->advance->refs[step->ref].reg)
                        : inst_build(body, "add.s64", "dri", next, own, (int64_t)step->constant->bits);
    inst_insert_before(leader->advance, advance);
    Phi leading = {.dst = own};
    for (unsigned a = 0; a < 2; a++) {
        Block *pred = phi->args.data[a].pred;
        VEC_PUSH(body->arena, leading.args, ((PhiArg){pred, pred == loop->preheader ? start : next}));
    }
    inst_remove(sum);
    VEC_PUSH(body->arena, loop->header->phis, leading);
}

static unsigned loop_lead(Body *body, const LoopForest *loops, const Loop *loop, const Values *values)
{
    unsigned made = 0;
    size_t count = loop->header->phis.count < MOST_LEADERS ? loop->header->phis.count : MOST_LEADERS;
    for (size_t p = 0; p < count; p++) {
        Leader leader;
        const Phi phi = loop->header->phis.data[p];
        if (!leader_find(loops, loop, values, &phi, &leader))
            continue;
        for (unsigned s = 0; s < leader.sum_count; s++)
            sum_lead(body, loop, &phi, &leader, leader.sums[s]);
        made += leader.sum_count;
    }
    return made;
}

bool pass_pointers(PassContext *context)
{
    const LoopForest *loops = analyses_loops(context->analyses);
    const Values *values = analyses_values(context->analyses);
    unsigned made = 0;
    for (uint32_t i = 0; i < loops->loop_count; i++)
        if (loops->loops[i].preheader)
            made += loop_lead(context->body, loops, &loops->loops[i], values);
    if (!made)
        return false;
    analyses_invalidate(context->analyses, ANALYSES_INSTRUCTIONS);
    remove_dead_code(context->body, context->analyses);
    return true;
}
