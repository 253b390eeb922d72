/* The sources that a value is computed from, found by a bounded walk over its definitions. */
#include "cost/estimate.h"

enum { MOST_VALUES = 64 };

typedef struct Walk {
    RegId work[MOST_VALUES];
    unsigned count, next;
} Walk;

static void walk_add(Walk *walk, RegId reg)
{
    for (unsigned i = 0; i < walk->count; i++)
        if (walk->work[i] == reg)
            return;
    if (walk->count < MOST_VALUES)
        walk->work[walk->count++] = reg;
}

static unsigned instruction_sources(const Inst *inst)
{
    Access access;
    unsigned sources = 0;
    if (inst_access(inst, &access) && access.space != SPACE_PARAM)
        sources |= SOURCE_MEMORY;
    const Sreg *sreg = inst_sreg(inst);
    if (sreg && sreg->dependence == SREG_THREAD)
        sources |= SOURCE_THREAD;
    return sources;
}

unsigned value_sources(const Estimate *estimate, RegId reg)
{
    const Values *values = analyses_values(estimate->analyses);
    Walk walk = {.work = {reg}, .count = 1};
    unsigned sources = 0;
    while (walk.next < walk.count) {
        RegId value = walk.work[walk.next++];
        const Inst *inst = value_inst(values, value);
        if (!inst) {
            sources |= value_is_undefined(values, value) ? 0 : SOURCE_LOOP;
            continue;
        }
        unsigned own = instruction_sources(inst);
        sources |= own;
        for (unsigned i = 0; i < inst->ref_count && !(own & SOURCE_MEMORY); i++)
            if (ref_reads(&inst->refs[i]))
                walk_add(&walk, inst->refs[i].reg);
    }
    return sources;
}
