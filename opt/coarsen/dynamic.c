/* Dynamic shared memory of merged blocks: each has a part of what the launch gives.
 *
 * The contract multiplies the bytes that the original's launch gives by the number T of merged blocks, after it has
 * rounded them up to a multiple of CONTRACT_SHARED_UNIT; so merged block b's part begins at
 *
 *     b * S,   S = %dynamic_smem_size / T, rounded down to that multiple
 *
 * which is at least the original's size whatever the driver adds, and keeps alignments up to the unit. Before the
 * analyses, the address of each array is read in one place, and taken from there everywhere; after cloning, each
 * replica's is computed next to that.
 *
 * Requires and keeps SSA form. */
#include "opt/coarsen/internal.h"
#include "opt/common/quotient.h"
#include "opt/common/variable_address.h"

/* The array without a size that the operand names, or NULL. */
static Variable *dynamic_variable(const Operand *operand)
{
    Variable *variable = operand_shared_variable(operand);
    return variable && coarsening_is_dynamic(variable) ? variable : NULL;
}

static bool check_operand(Coarsening *c, const Inst *inst, const Operand *operand)
{
    const Variable *variable = dynamic_variable(operand);
    if (!variable)
        return true;
    if (!c->step.shrinks_grid)
        return coarsening_refuse_with(c, inst, REFUSAL_DYNAMIC_GROWS, REFUSAL_WITH(refusal_name(variable->name)));
    if (variable->align > CONTRACT_SHARED_UNIT)
        return coarsening_refuse_with(c, inst, REFUSAL_DYNAMIC_ALIGNED,
                                      REFUSAL_WITH(refusal_name(variable->name), refusal_number(variable->align),
                                                   refusal_number(CONTRACT_SHARED_UNIT)));
    return variable_is_replaceable(inst, operand) ||
           coarsening_refuse_with(c, inst, REFUSAL_DYNAMIC_NAMED, REFUSAL_WITH(refusal_name(variable->name)));
}

bool coarsening_check_dynamic(Coarsening *c)
{
    for (size_t b = 0; b < c->body->blocks.count; b++)
        for (const Inst *inst = c->body->blocks.data[b]->first; inst; inst = inst->next)
            for (unsigned i = 0; i < inst->operand_count; i++) {
                if (!check_operand(c, inst, &inst->operands[i]))
                    return false;
                c->dynamic.is_split |= dynamic_variable(&inst->operands[i]) != NULL;
            }
    return true;
}

/* The read of the array's address: one for each array. */
static Inst *read_of(Coarsening *c, const Variable *variable)
{
    Body *body = c->body;
    for (size_t i = 0; i < c->dynamic.reads.count; i++)
        if (c->dynamic.reads.data[i]->operands[1].symbol.variable == variable)
            return c->dynamic.reads.data[i];
    RegId reg = body_add_reg(body, TYPE_B32, intern(body->module->names, "%dynamic_shared"));
    Inst *read = inst_build(body, "mov.u32", "dv", reg, variable);
    inst_insert_first(body->blocks.data[0], read);
    VEC_PUSH(c->scratch, c->dynamic.reads, read);
    return read;
}

static void replace_operand(Coarsening *c, Inst *inst, unsigned index)
{
    const Variable *variable = dynamic_variable(&inst->operands[index]);
    if (variable)
        variable_replace(c->body, inst, index, variable, read_of(c, variable)->refs[0].reg);
}

void coarsening_gather_dynamic(Coarsening *c)
{
    for (size_t b = 0; b < c->body->blocks.count && c->dynamic.is_split; b++)
        for (Inst *inst = c->body->blocks.data[b]->first, *next; inst; inst = next) {
            next = inst->next;
            bool is_own = false;
            for (size_t i = 0; i < c->dynamic.reads.count; i++)
                is_own |= c->dynamic.reads.data[i] == inst;
            for (unsigned i = 0; !is_own && i < inst->operand_count; i++)
                replace_operand(c, inst, i);
        }
}

/* The distance between the parts of neighbouring replicas, computed before the place: S for each block that a replica
 * already does the work of. */
static RegId insert_distance(Coarsening *c, Inst *place)
{
    Body *body = c->body;
    Name name = intern(body->module->names, "%dynamic_part");
    RegId regs[4];
    for (unsigned i = 0; i < COUNT_OF(regs); i++)
        regs[i] = body_add_reg(body, TYPE_B32, name);
    Inst *size = inst_build(body, "mov.u32", "ds", regs[0], "%dynamic_smem_size");
    inst_insert_before(place, size);
    inst_insert_quotient(body, size, regs[1], regs[0], merged_count(c->step.shape.blocks));
    inst_insert_before(place, inst_build(body, "and.b32", "dri", regs[2], regs[1], -(int64_t)CONTRACT_SHARED_UNIT));
    inst_insert_before(place, inst_build(body, "mul.lo.u32", "dri", regs[3], regs[2],
                                         (int64_t)merged_count(c->step.before.blocks)));
    return regs[3];
}

void coarsening_make_dynamic(Coarsening *c)
{
    if (!c->dynamic.reads.count)
        return;
    RegId distance = insert_distance(c, c->body->blocks.data[0]->first);
    for (size_t i = 0; i < c->dynamic.reads.count; i++) {
        Inst *place = c->dynamic.reads.data[i];
        RegId reg = place->refs[0].reg;
        for (unsigned k = 1; k < c->step.factor; k++) {
            Inst *add =
                inst_build(c->body, "add.u32", "drr", c->copies.maps[k][reg], c->copies.maps[k - 1][reg], distance);
            inst_insert_after(place, add);
            place = add;
        }
    }
}
