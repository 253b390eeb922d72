/* Refusals: the reason why a kernel is left unchanged, with the place of the instruction that causes it. */
#include "opt/coarsen_internal.h"

bool coarsening_refuse(Coarsening *c, const Inst *inst, const char *format, ...)
{
    Buf text = {0};
    va_list arguments;
    va_start(arguments, format);
    buf_vprintf(&text, format, arguments);
    va_end(arguments);
    Arena *arena = c->body->module->arena;
    c->refusal->reason = arena_strndup(arena, buf_text(&text), text.length);
    c->refusal->has_span = inst != NULL && inst->span.end > 0;
    c->refusal->span = inst ? inst->span : (Span){0, 0};
    buf_free(&text);
    return false;
}

unsigned coarsening_line(const Coarsening *c, const Inst *inst)
{
    const Source *source = c->body->module->source;
    return source ? source_position(source, inst->span.begin).line : 0;
}

/* "%tid.x"; "'ld.global.u32' on line 7"; "%r5". */
static const char *name_value(const Coarsening *c, const VarianceReason *reason, RegId reg)
{
    const Inst *inst = reason->inst;
    if (inst && inst == c->index_read)
        return arena_printf(c->scratch, "%%tid.%c", "xyz"[c->dimension]);
    if (inst && inst->span.end && reason->cause != VARIANCE_INDEX)
        return arena_printf(c->scratch, "'%s' on line %u", inst_spelling(c->scratch, inst), coarsening_line(c, inst));
    return c->body->regs.data[reg].name;
}

/* Why the value at the root of a condition differs, beginning with its name. */
static const char *describe_root(const Coarsening *c, const VarianceReason *reason, RegId reg)
{
    const char *name = name_value(c, reason, reg);
    const Inst *observation = reason->inst ? pointer_map_get(&c->observations, reason->inst) : NULL;
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
    VarianceRoot root = {NULL, REG_NONE, REG_NONE};
    VarianceReason reason = {VARIANCE_UNIFORM, NULL, NULL, REG_NONE, NULL};
    if (variance_block(c->variance, block))
        reason = variance_block_reason(c->variance, block, &root);
    if (!root.branch || !root.branch->span.end || root.reg == REG_NONE)
        return coarsening_refuse(c, inst, "'%s' is between branches that differ between the merged threads", spelling);
    bool may = reason.cause == VARIANCE_MEMORY;
    return coarsening_refuse(c, inst, "'%s' is executed under a condition that %s between the merged threads (%s on "
                             "line %u): it depends on %s", spelling, may ? "may differ" : "differs",
                             c->body->regs.data[root.condition].name, coarsening_line(c, root.branch),
                             describe_root(c, &reason, root.reg));
}
