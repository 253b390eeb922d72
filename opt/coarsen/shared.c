/* Replicas share some work without another pass: loads that are done once for all of them.
 *
 * A load whose address does not depend on the coarsened index is self-temporal reuse between threads (Unkule, Shaltz
 * and Qasem, CC'12, section 4.4): coarsening keeps it once, so it is gone for all replicas but the first. A load that
 * an earlier dimension has kept once already did the work of several threads, and so do its copies in later ones.
 *
 * Requires SSA form, variance and regions. Changes nothing but the list. */
#include "opt/coarsen/internal.h"

/* A dimension in which a load was kept once. */
typedef struct Sharing {
    const struct Sharing *earlier; /* dimension; or NULL */
    unsigned factor;               /* of the dimension */
    unsigned threads;              /* that the load works for, by this dimension and the earlier ones */
    unsigned replicas;             /* there were, before this dimension */
} Sharing;

static void record_sharing(const CoarsenRecord *record, const Inst *load, const Sharing *sharing)
{
    for (unsigned k = 1; k < sharing->factor; k++) {
        Reuse reuse = {.class = REUSE_SELF_TEMPORAL,
                       .load = load->span,
                       .source = load->span,
                       .replica = load->replica + k * sharing->replicas,
                       .of = load->replica,
                       .count = sharing->threads / sharing->factor};
        reuse_record(record->sharers->arena, record->shared, &reuse);
    }
}

static void note_load(Coarsening *c, const Inst *load)
{
    const Sharing *earlier = pointer_map_get(c->record.sharers, load);
    Sharing *sharing = ARENA_NEW(c->record.sharers->arena, Sharing);
    *sharing = (Sharing){.earlier = earlier,
                         .factor = c->step.factor,
                         .threads = (earlier ? earlier->threads : 1) * c->step.factor,
                         .replicas = shape_replicas(&c->step.before)};
    record_sharing(&c->record, load, sharing);
    pointer_map_put(c->record.sharers, load, sharing);
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

void coarsening_inherit_sharing(const CoarsenRecord *record, const Inst *inst, const Inst *copy)
{
    Sharing *newest = record->shared ? pointer_map_get(record->sharers, inst) : NULL;
    for (const Sharing *sharing = newest; sharing; sharing = sharing->earlier)
        record_sharing(record, copy, sharing);
    if (newest)
        pointer_map_put(record->sharers, copy, newest);
}
