/* Refusals: the reason why a kernel is left unchanged, with the place of the instruction that causes it. */
#include "opt/coarsen/internal.h"

bool coarsening_refuse(Coarsening *c, const Inst *inst, RefusalReason reason)
{
    return coarsening_refuse_with(c, inst, reason, NULL);
}

bool coarsening_refuse_with(Coarsening *c, const Inst *inst, RefusalReason reason, const RefusalOperand *operands)
{
    refusal_set(c->record.refusal, c->body, inst, reason, operands);
    return false;
}

unsigned coarsening_line(const Coarsening *c, const Inst *inst)
{
    return inst_line(c->body, inst);
}

/* The operands of a refusal that are known so far. */
typedef struct Operands {
    RefusalOperand of[REFUSAL_OPERANDS];
    unsigned count;
} Operands;

static void add(Operands *operands, RefusalOperand operand)
{
    require(operands->count < REFUSAL_OPERANDS);
    operands->of[operands->count++] = operand;
}

static void add_place(const Coarsening *c, Operands *operands, const Inst *inst)
{
    add(operands, refusal_name(inst_spelling(c->scratch, inst)));
    add(operands, refusal_number(coarsening_line(c, inst)));
}

/* A value: "%tid.x"; "'ld.global.u32' on line 7"; "%r5". */
static void add_value(const Coarsening *c, Operands *operands, const VarianceReason *reason, RegId reg)
{
    const Inst *inst = reason->inst;
    if (inst && inst == c->index.read) {
        add(operands, refusal_name(arena_printf(c->scratch, "%s.%c", !c->step.merges_blocks ? "%tid" : "%ctaid",
                                                "xyz"[c->step.dimension])));
    } else if (inst && reason->cause == VARIANCE_INDEX && inst_sreg(inst)) {
        add(operands, refusal_name(inst_sreg(inst)->name));
    } else if (inst && inst->span.end && reason->cause != VARIANCE_INDEX) {
        add(operands, refusal_part(REFUSAL_PART_VALUE_OF));
        add_place(c, operands, inst);
    } else {
        add(operands, refusal_name(c->body->regs.data[reg].name));
    }
}

/* The value at the root of a condition, and why it differs. */
static void add_root(const Coarsening *c, Operands *operands, const VarianceReason *reason, RegId reg)
{
    const Inst *observation = reason->inst ? pointer_map_get(&c->facts.observations, reason->inst) : NULL;
    const bool is_written = reason->cause == VARIANCE_MEMORY && observation;
    if (reason->cause != VARIANCE_INDEX)
        add(operands, refusal_part(is_written ? REFUSAL_PART_VALUE_WRITTEN : REFUSAL_PART_VALUE_WITH_CAUSE));
    add_value(c, operands, reason, reg);
    if (is_written)
        add_place(c, operands, observation);
    else if (reason->cause != VARIANCE_INDEX)
        add(operands, refusal_name(variance_cause_text(reason->cause)));
}

static bool refuse_under(Coarsening *c, const Inst *inst, const VarianceReason *reason, const VarianceRoot *root)
{
    const bool may_differ = reason->cause == VARIANCE_MEMORY;
    Operands operands = {.count = 0};
    add(&operands,
        refusal_part(c->step.merges_blocks ? REFUSAL_PART_THREADS_OF_BLOCK : REFUSAL_PART_MERGED_THREADS));
    add(&operands, refusal_name(c->body->regs.data[root->condition].name));
    add(&operands, refusal_number(coarsening_line(c, root->branch)));
    add_root(c, &operands, reason, root->reg);
    return coarsening_refuse_with(c, inst, may_differ ? REFUSAL_CONDITION_MAY_DIFFER : REFUSAL_CONDITION_DIFFERS,
                                  operands.of);
}

bool coarsening_refuse_controlled(Coarsening *c, const Inst *inst)
{
    const Block *block = inst->block;
    const Inst *obstacle = c->exits.obstacle;
    if (obstacle && obstacle != inst)
        return coarsening_refuse_with(
            c, obstacle, obstacle->sync == SYNC_NONE ? REFUSAL_PARTED_BEFORE : REFUSAL_LEFT_BEFORE,
            REFUSAL_WITH(refusal_name(inst_spelling(c->scratch, inst)),
                         refusal_number(coarsening_line(c, inst))));
    VarianceRoot root = {NULL, REG_NONE, REG_NONE};
    VarianceReason reason = {VARIANCE_UNIFORM, NULL, NULL, REG_NONE, NULL};
    /* Merged blocks may differ: a barrier is refused because threads of one of them do. */
    const Variance *variance = !c->step.merges_blocks ? c->facts.variance : coarsening_within_block(&c->facts);
    if (variance_block(variance, block))
        reason = variance_block_reason(variance, block, &root);
    if (!root.branch || !root.branch->span.end || root.reg == REG_NONE)
        return coarsening_refuse(c, inst, REFUSAL_BETWEEN_BRANCHES);
    return refuse_under(c, inst, &reason, &root);
}
