/* Barriers that combine a predicate of each thread: bar.red.
 *
 * The merged thread arrives once, with the conjunction or disjunction of its replicas' predicates. A count takes a
 * barrier for each replica, whose counts are added. A replica that has left the kernel says what changes nothing:
 * false to "or" and to a count, true to "and".
 *
 * Requires and keeps SSA form. */
#include "opt/coarsen/internal.h"

static const Operand *predicate_of(const Inst *inst)
{
    return &inst->operands[inst->operand_count - 1];
}

static RegId add_logic(Body *body, Inst *place, const char *opcode, RegId x, RegId y)
{
    RegId result = body_add_reg(body, TYPE_PRED, intern(body->module->names, "%said"));
    inst_insert_before(place, y == REG_NONE ? inst_build(body, opcode, "dr", result, x)
                                            : inst_build(body, opcode, "drr", result, x, y));
    return result;
}

void coarsening_silence(Body *body, Inst *inst, RegId alive)
{
    const Operand *predicate = predicate_of(inst);
    RegId *said = &operand_ref(inst, predicate)->reg;
    if (inst_has(inst, MOD_AND) == predicate->inverted)
        *said = add_logic(body, inst, "and.pred", alive, *said);
    else
        *said = add_logic(body, inst, "or.pred", add_logic(body, inst, "not.pred", alive, REG_NONE), *said);
}

static bool differs(const Coarsening *c, RegId reg)
{
    return coarsening_reg(&c->copies, 1, reg) != reg;
}

/* By De Morgan's laws, if the barrier inverts what it reads. */
static void join_predicates(Coarsening *c, Inst *inst)
{
    Body *body = c->body;
    const Operand *predicate = predicate_of(inst);
    RegId own = operand_reg(inst, predicate), all = own;
    bool is_and = inst_has(inst, MOD_AND) != predicate->inverted;
    for (unsigned k = 1; k < c->step.factor; k++) {
        RegId next = body_clone_reg(body, own);
        inst_insert_before(inst, inst_build(body, is_and ? "and.pred" : "or.pred", "drr", next, all,
                                            coarsening_reg(&c->copies, k, own)));
        all = next;
    }
    operand_ref(inst, predicate)->reg = all;
}

/* The register that takes the place of the barrier's result. */
static RegId replace_result(Body *body, Inst *inst)
{
    RegRef *result = operand_ref(inst, &inst->operands[0]);
    RegId reg = result->reg;
    result->reg = body_clone_reg(body, reg);
    return reg;
}

static void add_counts(Coarsening *c, Inst *inst)
{
    Body *body = c->body;
    uint16_t result = inst->operands[0].ref, predicate = predicate_of(inst)->ref;
    RegId sum = replace_result(body, inst), all = inst->refs[result].reg;
    Inst *place = inst;
    for (unsigned k = 1; k < c->step.factor; k++) {
        Inst *copy = inst_clone(body, inst);
        copy->refs[predicate].reg = coarsening_reg(&c->copies, k, inst->refs[predicate].reg);
        copy->refs[result].reg = body_clone_reg(body, sum);
        inst_insert_after(place, copy);
        RegId next = k + 1 < c->step.factor ? body_clone_reg(body, sum) : sum;
        place = inst_build(body, "add.u32", "drr", next, all, copy->refs[result].reg);
        inst_insert_after(copy, place);
        all = next;
    }
}

static void combine(Coarsening *c, Inst *inst)
{
    const Operand *predicate = predicate_of(inst);
    bool is_own = predicate->kind == OPERAND_REG && differs(c, operand_reg(inst, predicate));
    if (!inst_has(inst, MOD_POPC)) {
        if (is_own)
            join_predicates(c, inst);
    } else if (is_own) {
        add_counts(c, inst);
    } else { /* all replicas count, or none */
        RegId count = replace_result(c->body, inst);
        inst_insert_after(inst, inst_build(c->body, "mul.lo.u32", "dri", count,
                                           inst_reg(inst, 0), (int64_t)c->step.factor));
    }
}

void coarsening_combine(Coarsening *c)
{
    for (size_t b = 0; b < c->body->blocks.count; b++)
        for (Inst *inst = c->body->blocks.data[b]->first, *next; inst; inst = next) {
            next = inst->next;
            if (coarsening_joins(&c->step, inst))
                combine(c, inst);
        }
}
