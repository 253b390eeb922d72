/* Fast paths: a merged version of a region, for where all replicas take the same direction.
 *
 * A region under a variant condition (one guard, as in "if (i >= n) return") becomes
 *
 *     head -> region' -> join        where all replicas enter the region
 *     head -> slow -> region -> join elsewhere; 'slow' branches as the head did
 *
 * The head branches on an agreement (agree.c), so the version region' is not under variant control: its variant
 * instructions are cloned in place, its uniform ones are kept once, and variant conditions within it form smaller
 * regions, which get fast paths in the next round. The region itself is cloned as before, one replica after the other.
 * If both sides of the condition are in the region, the version has both, and the replicas need only agree.
 *
 * Within a barrier interval the accesses of replicas may be interleaved, because programs have no data races. A region
 * with warp-level instructions gets no fast path: threads of one warp that took different paths would not meet there.
 * If blocks are merged, all threads of a block agree on whether a replica is beyond the end of the grid, so that
 * condition does not keep the threads of a warp apart. A region that observes other threads gets no fast path either:
 * whatever it may wait for, the replicas do that in order (progress.c).
 *
 * Requires SSA form, variance and regions. Keeps SSA form; blocks, edges and all analyses change. */
#include "opt/coarsen/internal.h"
#include "opt/common/versions.h"

#include <string.h>

typedef struct FastPaths {
    Coarsening *c;
    Versions versions;
    bool begun;
} FastPaths;

bool coarsening_reads_memory(const Inst *inst)
{
    Access access;
    return inst->effects & EFFECT_READ && inst_access(inst, &access) && access.space != SPACE_LOCAL &&
           access.space != SPACE_PARAM;
}

/* True if a version may be executed by some threads of a warp while others execute the region. */
static bool is_separable(const Region *region)
{
    for (size_t i = 0; i < region->blocks.count; i++)
        for (const Inst *inst = region->blocks.data[i]->first; inst; inst = inst->next)
            if (coarsening_orders(inst) && inst->sync != SYNC_FENCE)
                return false;
    return true;
}

/* True if a version may have the region's instructions that all threads of a block execute together: they all take the
 * head's branch alike, because it is about their merged block. */
static bool keeps_together(const Coarsening *c, const Region *region)
{
    if (!coarsening_go_together(c, region->head))
        return false;
    for (size_t i = 0; i < region->blocks.count; i++)
        for (const Inst *inst = region->blocks.data[i]->first; inst; inst = inst->next)
            if (coarsening_is_collective(inst) && coarsening_why_not_once(c, inst) != REFUSAL_NONE)
                return false;
    return true;
}

/* A guess for use without a cost model: loads in flight together and shared work pay for the test. Loops that read
 * nothing share nothing but their control. */
static bool seems_worthwhile(const Region *region)
{
    bool reads = false;
    for (size_t i = 0; i < region->blocks.count; i++)
        for (const Inst *inst = region->blocks.data[i]->first; inst && !reads; inst = inst->next)
            reads = coarsening_reads_memory(inst);
    return reads && coarsening_size_of(region->blocks.data, region->blocks.count) >= LEAST_FAST;
}

static Versions *versions(FastPaths *f)
{
    if (!f->begun)
        f->versions = versions_new(f->c->scratch, f->c->body, analyses_values(f->c->facts.analyses));
    f->begun = true;
    return &f->versions;
}

/* True if this many instructions, cloned, are within the limit; if so, subtracts them from it. */
static bool take_growth(Coarsening *c, size_t instructions)
{
    if (instructions > c->growth / c->step.factor)
        return false;
    c->growth -= instructions * c->step.factor;
    return true;
}

typedef VEC(Block *) BlockVec;

/* The region's blocks that are reached from one of them, in the region's order. */
static BlockVec reached_from(const Coarsening *c, const Region *region, Block *entry)
{
    BitSet members = bitset_new(c->scratch, c->facts.block_count),
           reached = bitset_new(c->scratch, c->facts.block_count);
    BlockVec pending = {0}, blocks = {0};
    for (size_t i = 0; i < region->blocks.count; i++)
        bitset_add(&members, region->blocks.data[i]->id);
    VEC_PUSH(c->scratch, pending, entry);
    bitset_add(&reached, entry->id);
    while (pending.count) {
        const Block *block = VEC_POP(pending);
        FOR_EACH_SUCC(block, succ) {
            if (!bitset_has(&members, succ->id) || bitset_has(&reached, succ->id))
                continue;
            bitset_add(&reached, succ->id);
            VEC_PUSH(c->scratch, pending, succ);
        }
    }
    for (size_t i = 0; i < region->blocks.count; i++)
        if (bitset_has(&reached, region->blocks.data[i]->id))
            VEC_PUSH(c->scratch, blocks, region->blocks.data[i]);
    return blocks;
}

/* The part of the region that replicas are expected to execute together. */
typedef struct Guard {
    const Region *region;
    Block *taken, *fall; /* where the head's branch leads */
    Block *entry;        /* NULL: both are in the part */
    BlockVec blocks;
} Guard;

static bool is_inside(const Facts *facts, const Region *region, const Block *block)
{
    return block != region->join && bitset_has(&facts->in_region, block->id);
}

/* False if the head does not end in a two-way branch on a variant condition. */
static bool find_guard(const Coarsening *c, const Region *region, Guard *guard)
{
    Block *head = region->head;
    const Inst *last = block_two_way_branch(head);
    if (!last || !variance_branch(c->facts.variance, head))
        return false;
    *guard = (Guard){.region = region, .taken = last->targets[0], .fall = head->fall};
    bool taken = is_inside(&c->facts, region, guard->taken) && !guard->taken->is_cold;
    bool fall = is_inside(&c->facts, region, guard->fall) && !guard->fall->is_cold;
    if (!taken && !fall)
        return false;
    if (taken && fall)
        for (size_t i = 0; i < region->blocks.count; i++)
            VEC_PUSH(c->scratch, guard->blocks, region->blocks.data[i]);
    else {
        guard->entry = taken ? guard->taken : guard->fall;
        guard->blocks = reached_from(c, region, guard->entry);
    }
    return true;
}

/* A block that branches as the head does, for the replicas that do not agree. */
static Block *make_slow(Coarsening *c, Versions *v, const Guard *guard)
{
    Block *head = guard->region->head;
    Block *slow = versions_add_block(v, head, false);
    slow->is_cold = true;
    inst_append(slow, inst_clone(c->body, head->last));
    slow->fall = guard->fall;
    return slow;
}

/* All replicas enter the region on one side. */
static void branch_to_side(Coarsening *c, Versions *v, const Guard *guard, Block *slow)
{
    Block *head = guard->region->head;
    Inst *last = head->last;
    bool enters_if = (guard->entry == guard->taken) != last->guard_inverted;
    RegId agreed = coarsening_agree(c, head, inst_predicate(last), enters_if);
    inst_remove(last);
    inst_append(head, inst_build_branch(c->body, slow, agreed, enters_if));
    head->fall = versions_block(v, guard->entry);
}

/* All replicas enter the region on either side: the version's head branches as any of them does. */
static void branch_to_both(Coarsening *c, Versions *v, const Guard *guard, Block *slow)
{
    Body *body = c->body;
    Block *head = guard->region->head;
    Inst *last = head->last;
    RegId predicate = inst_predicate(last);
    Block *agreed = versions_add_block(v, head, false);
    Block *taken = versions_block(v, guard->taken), *fall = versions_block(v, guard->fall);
    block_replace_pred(taken, head, agreed);
    block_replace_pred(fall, head, agreed);
    RegId all = coarsening_agree(c, head, predicate, true), any = coarsening_agree(c, head, predicate, false);
    RegId differ = body_add_reg(body, TYPE_PRED, intern(body->module->names, "%differ"));
    inst_insert_before(last, inst_build(body, "xor.pred", "drr", differ, all, any));
    inst_append(agreed, inst_build_branch(body, taken, any, last->guard_inverted));
    agreed->fall = fall;
    inst_remove(last);
    inst_append(head, inst_build_branch(body, slow, differ, false));
    head->fall = agreed;
}

static void form_guard(Coarsening *c, Versions *v, const Guard *guard)
{
    const Region *region = guard->region;
    versions_begin(v, region->blocks.data, region->blocks.count);
    versions_copy(v, guard->blocks.data, guard->blocks.count, region->head);
    Block *slow = make_slow(c, v, guard);
    if (guard->entry)
        branch_to_side(c, v, guard, slow);
    else
        branch_to_both(c, v, guard, slow);
    block_replace_pred(guard->taken, region->head, slow);
    block_replace_pred(guard->fall, region->head, slow);
    versions_join(v, region->join);
    for (size_t i = 0; i < region->blocks.count; i++)
        region->blocks.data[i]->is_cold = true;
}

static bool is_wanted(const Coarsening *c, const Region *region)
{
    if (region->head->is_cold || region->blocks.data[0]->is_cold || coarsening_region_observes(&c->facts, region))
        return false;
    if (keeps_together(c, region))
        return true;
    if (!is_separable(region))
        return false;
    return c->step.guards == GUARDS_FAST || c->step.guards == GUARDS_PREDICATED || seems_worthwhile(region);
}

static void form_region(FastPaths *f, const Region *region)
{
    Coarsening *c = f->c;
    Guard guard;
    if (!is_wanted(c, region))
        return;
    if (find_guard(c, region, &guard)) {
        if (take_growth(c, coarsening_size_of(guard.blocks.data, guard.blocks.count)))
            form_guard(c, versions(f), &guard);
        return;
    }
    const Loop *loop = coarsening_joint_loop(c, region);
    if (loop && take_growth(c, coarsening_size_of(loop->blocks, loop->block_count)))
        coarsening_join_loop(c, versions(f), region, loop);
}

bool coarsening_form_fast_paths(Coarsening *c)
{
    FastPaths f = {.c = c};
    for (size_t r = 0; r < c->facts.regions.count; r++)
        form_region(&f, &c->facts.regions.data[r]);
    if (f.begun)
        versions_finish(&f.versions);
    return f.begun;
}

static const char *const form_names[] = {[GUARDS_AUTO] = "auto",
                                         [GUARDS_SEQUENTIAL] = "sequential",
                                         [GUARDS_FAST] = "fast",
                                         [GUARDS_PREDICATED] = "predicated",
                                         [GUARDS_INTERIOR] = "interior"};

const char *guard_form_name(GuardForm form)
{
    return form_names[form];
}

bool guard_form_read(const char *name, GuardForm *form)
{
    for (unsigned i = 0; i < COUNT_OF(form_names); i++)
        if (strcmp(name, form_names[i]) == 0) {
            *form = (GuardForm)i;
            return true;
        }
    return false;
}
