/* The mapping from the original code to each replica's: its copies of registers, variables and instructions.
 *
 * Replica 0 keeps the originals. Requires SSA form, variance and regions; changes the body only by adding registers and
 * variables. */
#include "opt/coarsen/internal.h"

bool coarsening_is_computed(const Coarsening *c, const Inst *inst)
{
    bool found = inst == c->index.read;
    for (size_t i = 0; i < c->dynamic.reads.count; i++)
        found |= inst == c->dynamic.reads.data[i];
    return found;
}

static void map_register(Coarsening *c, RegId reg)
{
    for (unsigned k = 1; k < c->step.factor; k++)
        if (c->copies.maps[k][reg] == reg)
            c->copies.maps[k][reg] = body_clone_reg(c->body, reg);
}

static void map_results(Coarsening *c, const Inst *inst)
{
    for (unsigned r = 0; r < inst->ref_count; r++)
        if (ref_writes(&inst->refs[r]))
            map_register(c, inst->refs[r].reg);
}

static void map_registers(Coarsening *c)
{
    Copies *copies = &c->copies;
    Body *body = c->body;
    copies->reg_count = body->regs.count;
    copies->maps = ARENA_ARRAY(c->scratch, RegId *, c->step.factor);
    for (unsigned k = 0; k < c->step.factor; k++) {
        copies->maps[k] = ARENA_ARRAY(c->scratch, RegId, copies->reg_count);
        for (size_t r = 0; r < copies->reg_count; r++)
            copies->maps[k][r] = (RegId)r;
    }
    for (size_t b = 0; b < c->facts.block_count; b++) {
        const Block *block = body->blocks.data[b];
        bool whole = bitset_has(&c->facts.in_region, b);
        for (size_t p = 0; p < block->phis.count; p++)
            if (whole || variance_reg(c->facts.variance, block->phis.data[p].dst))
                map_register(c, block->phis.data[p].dst);
        for (const Inst *inst = block->first; inst; inst = inst->next)
            if (whole || coarsening_clones(c, inst))
                map_results(c, inst);
    }
}

static void find_private(Coarsening *c)
{
    Body *body = c->body;
    PointerMap seen = {.arena = c->scratch};
    for (size_t i = 0; i < body->variables.count; i++)
        if (coarsening_is_private(c, body->variables.data[i])) {
            VEC_PUSH(c->scratch, c->copies.private_variables, body->variables.data[i]);
            pointer_map_put(&seen, body->variables.data[i], body->variables.data[i]);
        }
    for (size_t b = 0; b < body->blocks.count && c->step.merges_blocks; b++)
        for (const Inst *inst = body->blocks.data[b]->first; inst; inst = inst->next)
            for (unsigned i = 0; i < inst->operand_count; i++) {
                Variable *variable = operand_shared_variable(&inst->operands[i]);
                if (!variable || pointer_map_get(&seen, variable) || coarsening_is_dynamic(variable) ||
                    !coarsening_is_private(c, variable))
                    continue; /* it belongs to the module, or to another kernel */
                pointer_map_put(&seen, variable, variable);
                VEC_PUSH(c->scratch, c->copies.private_variables, variable);
            }
}

static void map_variables(Coarsening *c)
{
    Copies *copies = &c->copies;
    Body *body = c->body;
    find_private(c);
    size_t count = copies->private_variables.count;
    copies->private_copies = ARENA_ARRAY(c->scratch, Variable **, c->step.factor);
    for (unsigned k = 1; k < c->step.factor; k++) {
        copies->private_copies[k] = ARENA_ARRAY(c->scratch, Variable *, count);
        for (size_t i = 0; i < count; i++) {
            Variable *copy = ARENA_NEW(body->module->arena, Variable);
            *copy = *copies->private_variables.data[i];
            copy->name = body_unique_name(body, arena_printf(c->scratch, "%s_%u", copy->name, k));
            copy->function = body->function;
            copy->linkage = LINKAGE_NONE;
            VEC_PUSH(body->arena, body->variables, copy);
            copies->private_copies[k][i] = copy;
        }
    }
}

RegId coarsening_reg(const Copies *copies, unsigned replica, RegId reg)
{
    return reg < copies->reg_count ? copies->maps[replica][reg] : reg;
}

Inst *coarsening_clone_inst(const Coarsening *c, const Inst *inst, unsigned replica)
{
    Inst *copy = inst_clone(c->body, inst);
    copy->replica += replica * shape_replicas(&c->step.before);
    coarsening_inherit_sharing(&c->record, inst, copy);
    for (unsigned r = 0; r < copy->ref_count; r++)
        if (copy->refs[r].reg != REG_NONE)
            copy->refs[r].reg = coarsening_reg(&c->copies, replica, copy->refs[r].reg);
    if (coarsening_uses_private(c, inst))
        for (size_t i = 0; i < c->copies.private_variables.count; i++)
            inst_replace_symbol(c->body, copy, c->copies.private_variables.data[i],
                                c->copies.private_copies[replica][i]);
    return copy;
}

void coarsening_map(Coarsening *c)
{
    map_registers(c);
    map_variables(c);
}
