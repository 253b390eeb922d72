/* Kernels in which one number is all that a thread knows of its place. */
#include "opt/order/flat_index.h"

#include "opt/order/alone.h"

enum { MOST_STEPS = 6 }; /* from an index to the number */

/* Whether the register holds this component of a special register. */
static bool reads_x(const FlatIndex *flat, RegId reg, unsigned role)
{
    const RegId from = reg == REG_NONE ? REG_NONE : value_copied_from(flat->values, reg);
    const Inst *inst = from == REG_NONE ? NULL : value_inst(flat->values, from);
    return inst && inst_is_plain(inst) && inst_index_axis(inst, role) == 0;
}

static bool is_block_start(const FlatIndex *flat, RegId a, RegId b)
{
    return (reads_x(flat, a, SREG_ROLE_CTAID) && reads_x(flat, b, SREG_ROLE_NTID)) ||
           (reads_x(flat, b, SREG_ROLE_CTAID) && reads_x(flat, a, SREG_ROLE_NTID));
}

/* Whether the instruction computes the index: by one multiply-add, or by an addition to a product. */
static bool is_index(const FlatIndex *flat, const Inst *inst)
{
    Computation c, product;
    if (computation_matches(flat->body, inst, COMPUTE_MAD, 32, "rrr", &c))
        return c.sources[0].bits == 32 && is_block_start(flat, c.sources[0].reg, c.sources[1].reg) &&
               reads_x(flat, c.sources[2].reg, SREG_ROLE_TID);
    if (!computation_matches(flat->body, inst, COMPUTE_ADD, 32, "rr", &c) || c.saturates)
        return false;
    for (unsigned i = 0; i < 2; i++)
        if (reads_x(flat, c.sources[i].reg, SREG_ROLE_TID) &&
            computation_matches(flat->body, value_inst(flat->values, c.sources[1 - i].reg), COMPUTE_MUL, 32, "rr",
                                &product) &&
            product.sources[0].bits == 32 && is_block_start(flat, product.sources[0].reg, product.sources[1].reg))
            return true;
    return false;
}

/* Whether nothing but the index is computed from the register. */
static bool is_only_for_index(const FlatIndex *flat, RegId reg, unsigned depth)
{
    const ValueUse *uses = value_uses(flat->values, reg);
    for (uint32_t i = 0; i < value_use_count(flat->values, reg); i++) {
        const Inst *inst = uses[i].inst;
        if (inst == flat->inst)
            continue;
        const RegId result = inst && inst_is_computation(inst) ? inst_result(inst) : REG_NONE;
        if (result == REG_NONE || depth == MOST_STEPS || !is_only_for_index(flat, result, depth + 1))
            return false;
    }
    return true;
}

/* Whether threads that execute it do nothing together, and learn nothing of their place beside the index. */
static bool check_inst(const FlatIndex *flat, const Inst *inst)
{
    const bool is_along_x = !inst_index_axis(inst, SREG_ROLE_TID) || !inst_index_axis(inst, SREG_ROLE_CTAID);
    return inst_is_alone(inst) && (!is_along_x || is_only_for_index(flat, inst_result(inst), 0));
}

bool flat_index_is_all(const FlatIndex *flat)
{
    for (size_t b = 0; b < flat->body->blocks.count; b++)
        for (const Inst *inst = flat->body->blocks.data[b]->first; inst; inst = inst->next)
            if (!check_inst(flat, inst))
                return false;
    return true;
}

bool flat_index_find(Body *body, const Values *values, FlatIndex *flat)
{
    *flat = (FlatIndex){.body = body, .values = values, .reg = REG_NONE};
    for (size_t b = 0; b < body->blocks.count; b++)
        for (Inst *inst = body->blocks.data[b]->first; inst; inst = inst->next)
            if (is_index(flat, inst)) {
                flat->inst = inst;
                flat->reg = inst_result(inst);
                return true;
            }
    return false;
}
