/* Refusals: the reason why a kernel is left unchanged, with the place of the instruction that causes it. */
#include "opt/coarsen/internal.h"

bool coarsening_refuse(Coarsening *c, const Inst *inst, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    refusal_set(c->record.refusal, c->body, inst, format, arguments);
    va_end(arguments);
    return false;
}

unsigned coarsening_line(const Coarsening *c, const Inst *inst)
{
    return inst_line(c->body, inst);
}

/* "%tid.x"; "'ld.global.u32' on line 7"; "%r5". */
static const char *name_value(const Coarsening *c, const VarianceReason *reason, RegId reg)
{
    const Inst *inst = reason->inst;
    if (inst && inst == c->index.read)
        return arena_printf(c->scratch, "%s.%c", !c->step.merges_blocks ? "%tid" : "%ctaid", "xyz"[c->step.dimension]);
    if (inst && reason->cause == VARIANCE_INDEX && inst_sreg(inst))
        return inst_sreg(inst)->name;
    if (inst && inst->span.end && reason->cause != VARIANCE_INDEX)
        return arena_printf(c->scratch, "'%s' on line %u", inst_spelling(c->scratch, inst), coarsening_line(c, inst));
    return c->body->regs.data[reg].name;
}

/* Why the value at the root of a condition differs, beginning with its name. */
static const char *describe_root(const Coarsening *c, const VarianceReason *reason, RegId reg)
{
    const char *name = name_value(c, reason, reg);
    const Inst *observation = reason->inst ? pointer_map_get(&c->facts.observations, reason->inst) : NULL;
    if (reason->cause == VARIANCE_INDEX)
        return name;
    if (reason->cause != VARIANCE_MEMORY || !observation)
        return arena_printf(c->scratch, "%s, which %s", name, variance_cause_text(reason->cause));
    return arena_printf(c->scratch, "%s, and loads of one address are not merged because '%s' on line %u may read what "
                        "another thread writes meanwhile", name, inst_spelling(c->scratch, observation),
                        coarsening_line(c, observation));
}

bool coarsening_refuse_controlled(Coarsening *c, const Inst *inst)
{
    const char *spelling = inst_spelling(c->scratch, inst);
    const Block *block = inst->block;
    if (c->exits.obstacle && c->exits.obstacle != inst)
        return coarsening_refuse(c, c->exits.obstacle,
                                 "'%s' may name threads that have left the kernel before the '%s' on "
                                 "line %u",
                                 inst_spelling(c->scratch, c->exits.obstacle), spelling, coarsening_line(c, inst));
    VarianceRoot root = {NULL, REG_NONE, REG_NONE};
    VarianceReason reason = {VARIANCE_UNIFORM, NULL, NULL, REG_NONE, NULL};
    /* Merged blocks may differ: a barrier is refused because threads of one of them do. */
    const Variance *variance = !c->step.merges_blocks ? c->facts.variance : coarsening_within_block(&c->facts);
    if (variance_block(variance, block))
        reason = variance_block_reason(variance, block, &root);
    if (!root.branch || !root.branch->span.end || root.reg == REG_NONE)
        return coarsening_refuse(c, inst, "'%s' is between branches that differ between the merged threads", spelling);
    const char *may = reason.cause == VARIANCE_MEMORY ? "may differ" : "differs";
    const char *who = !c->step.merges_blocks ? "merged threads" : "threads of a block";
    return coarsening_refuse(c, inst, "'%s' is executed under a condition that %s between the %s (%s on line %u): it "
                             "depends on %s", spelling, may, who, c->body->regs.data[root.condition].name,
                             coarsening_line(c, root.branch), describe_root(c, &reason, root.reg));
}
