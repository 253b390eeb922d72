/* Replicas share some work without another pass: loads that are done once for all of them.
 *
 * A load whose address does not depend on the coarsened index is self-temporal reuse between threads (Unkule, Shaltz
 * and Qasem, CC'12, section 4.4): coarsening keeps it once, so it is gone for all replicas but the first. A load that
 * an earlier dimension has kept once already did the work of several threads.
 *
 * Requires SSA form, variance and regions. Changes nothing but the list. */
#include "opt/coarsen/internal.h"

/* How many of the original threads the load works for, by the dimensions before this one. */
static unsigned threads_of(const CoarsenRecord *record, const Inst *load)
{
    const unsigned *threads = pointer_map_get(record->sharers, load);
    return threads ? *threads : 1;
}

static void note_load(Coarsening *c, const Inst *load)
{
    unsigned *threads = ARENA_NEW(c->record.sharers->arena, unsigned);
    *threads = threads_of(&c->record, load) * c->step.factor;
    const unsigned before = shape_replicas(&c->step.before);
    for (unsigned k = 1; k < c->step.factor; k++) {
        Reuse reuse = {REUSE_SELF_TEMPORAL, load->span, load->span, load->replica + k * before, load->replica,
                       *threads / c->step.factor};
        reuse_record(c->record.sharers->arena, c->record.shared, &reuse);
    }
    pointer_map_put(c->record.sharers, load, threads);
}

void coarsening_note_shared(Coarsening *c)
{
    for (size_t b = 0; b < c->body->blocks.count && c->record.shared; b++)
        for (const Inst *inst = c->body->blocks.data[b]->first; inst; inst = inst->next) {
            Access access;
            if (!bitset_has(&c->facts.in_region, b) && coarsening_reads_memory(inst) && inst->span.end &&
                inst_access(inst, &access) && access.kind == ACCESS_LOAD && !coarsening_clones(c, inst))
                note_load(c, inst);
        }
}

void coarsening_inherit_sharers(const CoarsenRecord *record, const Inst *inst, const Inst *copy)
{
    const unsigned *threads = record->shared ? pointer_map_get(record->sharers, inst) : NULL;
    if (threads)
        pointer_map_put(record->sharers, copy, threads);
}
