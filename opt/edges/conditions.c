/* Compilers test "row < n && col < n" as max(row, col) < n. Edges needs to know what each index must be, so such tests
 * of branches are taken apart again. */
#include "opt/edges/internal.h"

/* A comparison with the lesser or greater of two values. */
typedef struct Extreme {
    unsigned operand; /* of the comparison, as it is written */
    RegId parts[2];
    bool needs_both;  /* it holds if it holds for both parts; else for one of them */
} Extreme;

static bool find_extreme(const Body *body, const Values *values, const Inst *inst, Extreme *out)
{
    Computation c, extreme;
    if (!inst || !computation_of(body, inst, &c) || c.op != COMPUTE_COMPARE || c.combination != COMBINE_NOTHING)
        return false;
    for (unsigned s = 0; s < 2; s++) {
        const Inst *made = c.sources[s].reg == REG_NONE ? NULL : value_inst(values, c.sources[s].reg);
        const Relation relation = s ? relation_swapped(c.relation) : c.relation;
        const bool is_below = relation == RELATION_LESS || relation == RELATION_LESS_EQUAL;
        const bool is_above = relation == RELATION_GREATER || relation == RELATION_GREATER_EQUAL;
        const bool is_max = made && computation_matches(body, made, COMPUTE_MAX, c.sources[s].bits, "rr", &extreme);
        if (!is_max && !(made && computation_matches(body, made, COMPUTE_MIN, c.sources[s].bits, "rr", &extreme)))
            continue;
        if ((!is_below && !is_above) || extreme.is_signed != c.is_signed || extreme.clips || extreme.saturates)
            continue;
        *out = (Extreme){s + 1, {extreme.sources[0].reg, extreme.sources[1].reg}, is_max == is_below};
        return true;
    }
    return false;
}

static void split(Body *body, Inst *inst, const Extreme *extreme)
{
    const RegId result = inst_destination(inst);
    RegId parts[2];
    for (unsigned i = 0; i < 2; i++) {
        Inst *own = inst_clone(body, inst);
        parts[i] = body_clone_reg(body, result);
        for (unsigned r = 0; r < own->ref_count; r++)
            if (ref_writes(&own->refs[r]))
                own->refs[r].reg = parts[i];
        inst_replace_operand(body, own, extreme->operand, extreme->parts[i]);
        inst_insert_before(inst, own);
    }
    inst_insert_before(inst, inst_build(body, extreme->needs_both ? "and.pred" : "or.pred", "drr", result, parts[0],
                                        parts[1]));
    inst_remove(inst);
}

void edges_split_conditions(Body *body, const LoopForest *loops, const Values *values)
{
    for (size_t b = 0; b < body->blocks.count; b++) {
        const Inst *branch = block_two_way_branch(body->blocks.data[b]);
        const bool is_wanted = branch && !loop_of(loops, body->blocks.data[b]);
        Inst *inst = is_wanted ? value_inst(values, inst_predicate(branch)) : NULL;
        Extreme extreme;
        /* Two branches may test the same. */
        if (!inst || !inst->block || inst_destination(inst) == REG_NONE || !find_extreme(body, values, inst, &extreme))
            continue;
        split(body, inst, &extreme);
    }
}
