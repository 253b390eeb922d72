/* The report on the conditions of coarsening: whether each held, and the instructions that it is about.
 *
 * Requires SSA form and, for the body before its first change, regions, loops and observations. Changes nothing. */
#include "opt/coarsen/internal.h"

bool coarsening_condition(Legality *legality, LegalityCondition condition, bool held)
{
    legality->state[condition] = held ? LEGALITY_HELD : LEGALITY_FAILED;
    return held;
}

static void add_evidence(Legality *legality, LegalityCondition condition, const Inst *inst)
{
    if (!legality->count[condition]++ || !legality->first[condition].end)
        legality->first[condition] = inst && inst->span.end ? inst->span : (Span){0, 0};
}

void coarsening_count_instructions(const Body *body, Legality *legality)
{
    for (size_t b = 0; b < body->blocks.count; b++)
        for (const Inst *inst = body->blocks.data[b]->first; inst; inst = inst->next)
            add_evidence(legality, LEGAL_INSTRUCTIONS, inst);
}

void coarsening_find_evidence(Coarsening *c)
{
    const Values *values = analyses_values(c->facts.analyses);
    Legality *legality = c->record.legality;
    for (size_t b = 0; b < c->body->blocks.count; b++) {
        const Block *block = c->body->blocks.data[b];
        if (variance_branch(c->facts.variance, block) && block->last && block->last->span.end)
            add_evidence(legality, LEGAL_FLOW, block->last);
        for (const Inst *inst = block->first; inst; inst = inst->next) {
            if (coarsening_uses_private(c, inst))
                add_evidence(legality, LEGAL_MEMORY, inst);
            if (coarsening_is_collective(inst))
                add_evidence(legality, LEGAL_BARRIERS, inst);
            if (coarsening_names_members(inst))
                add_evidence(legality, LEGAL_PARTICIPANTS, inst);
            if (coarsening_observes(values, inst) && loop_of(c->facts.loops, block))
                add_evidence(legality, LEGAL_WAITING, inst);
        }
    }
}
