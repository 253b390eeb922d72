/* Private counters: atomic updates of few addresses, as in histograms and sums, go to shared memory.
 *
 *                                         own[0 .. n) = 0, by all threads of the block
 *                                         barrier
 *     atomicAdd(&bins[key], v);    ->     atomicAdd(&own[key], v), if key < n; else as before
 *     return;                             goto end
 *                                  end:   barrier
 *                                         atomicAdd(&bins[i], own[i]) for all i of which own[i] is not 0
 *
 * An update is converted if
 *   1. nothing reads what it returns, it is relaxed, and on integers: sums of floating point depend on the order, and
 *      are counted only if they may be added in another one (-reassociate);
 *   2. a part of its address, that of the array, is the same for all threads of a block, and the rest is an index.
 *      Bounds of the index say how many counters there are; if none are known, or they are many, the first ones are
 *      private, as many as the array has in the launches that are given, and a test sends the rest to global memory;
 *   3. no other access of the kernel can tell when it happens (conflicts.c).
 * A kernel has private counters if its threads can come together at its end: all of them, also those that exit early.
 * So nothing in it may wait for a thread to exit: its barriers, and what warps do together, are reached by all threads.
 * Nor may anything tell threads of other blocks that the updates before it have been made: fences, releases, strong
 * loads.
 *
 * Only counters that have changed are added to memory, so each address is one that the original updates. Sums of
 * integers do not depend on the order, also where they wrap.
 *
 * This is not in the PLDI'10 paper; it is how histograms are written by hand (Podlozhnyuk, "Histogram calculation in
 * CUDA", NVIDIA 2007). */
#include "opt/counters/counting.h"
#include "opt/memory/obstacles.h"
#include "opt/passes.h"

enum {
    WINDOW = 1024,       /* counters where neither the range of the index nor the size of the array is known */
    COPIES_MOST = 32,    /* of a counter: the lanes of a warp */
    WORDS_OF_COPIES = 256, /* counters with their copies: a pass of a block over them is short */
    PENDING_MOST = 16,
    DEPTH_MOST = 4, /* guarded instructions between an address and what bounds it */
};

unsigned counters_count(const CountersResult *result)
{
    unsigned count = 0;
    for (size_t i = 0; i < result->updates.count; i++)
        count += result->updates.data[i].done;
    return count;
}

bool counters_reassociate(const CountersResult *result)
{
    bool reassociates = false;
    for (size_t i = 0; i < result->updates.count; i++)
        reassociates |= result->updates.data[i].done && result->updates.data[i].reassociates;
    return reassociates;
}

/* Whether the instruction orders memory in a way that others could observe, or waits for others that may have come to
 * the end already. */
static RefusalReason order_obstacle(const Counting *c, const Inst *inst)
{
    const bool is_together = !variance_block(c->variance, inst->block) &&
                             (!inst_is_guarded(inst) || !variance_reg(c->variance, inst_predicate(inst)));
    if (inst_orders_blocks(inst))
        return REFUSAL_COUNTERS_ORDER;
    const bool waits = inst->sync == SYNC_BLOCK_BARRIER || inst->sync == SYNC_WARP;
    return waits && !is_together ? REFUSAL_COUNTERS_APART : REFUSAL_NONE;
}

static Obstacle find_obstacle(Counting *c, uint64_t *shared)
{
    const Obstacle obstacle = kernel_obstacle(c->scratch, c->body, shared);
    for (size_t b = 0; b < c->body->blocks.count && !obstacle.reason; b++)
        for (Inst *inst = c->body->blocks.data[b]->first; inst; inst = inst->next) {
            const RefusalReason reason = order_obstacle(c, inst);
            if (reason)
                return (Obstacle){inst, reason};
        }
    return obstacle;
}

/* Whether the instruction is executed wherever the update is: it has no guard, or the same. */
static bool is_guarded_alike(const Inst *inst, const Inst *update)
{
    return !inst_is_guarded(inst) ||
           insts_guarded_alike(inst, update);
}

static Bounds value_bounds(const Counting *c, const Inst *update, RegId reg, unsigned depth);

static void source_bounds(const Counting *c, const Inst *update, const Computation *computation, unsigned depth,
                          Bounds bounds[COMPUTE_SOURCES])
{
    for (unsigned i = 0; i < computation->source_count; i++) {
        const ComputeSource *source = &computation->sources[i];
        bounds[i] = source->is_constant       ? bounds_point(source->bits, source->constant)
                    : source->reg == REG_NONE ? bounds_any(source->bits)
                                              : value_bounds(c, update, source->reg, depth);
    }
}

/* Bounds of the value where the update is executed. */
static Bounds value_bounds(const Counting *c, const Inst *update, RegId reg, unsigned depth)
{
    const Inst *inst = value_inst(c->values, reg);
    Computation computation;
    Bounds bounds[COMPUTE_SOURCES];
    Access access;
    if (!inst || !inst_is_guarded(inst) || !depth || !is_guarded_alike(inst, update))
        return affine_reg_bounds(analyses_affine(c->analyses), reg);
    if (inst_access(inst, &access) && access.kind == ACCESS_LOAD)
        return bounds_of_load(c->body, inst, reg);
    if (!computation_if_executed(c->body, inst, &computation))
        return affine_reg_bounds(analyses_affine(c->analyses), reg);
    source_bounds(c, update, &computation, depth - 1, bounds);
    return computation_bounds_of(&computation, bounds);
}

/* The value as a sum, where the update is executed; false: it is not one. */
static bool sum_for(const Counting *c, const Inst *update, RegId reg, Computation *computation, ComputedSum *sum)
{
    const Inst *inst = value_inst(c->values, reg);
    Bounds bounds[COMPUTE_SOURCES];
    if (!inst || !is_guarded_alike(inst, update) || !computation_if_executed(c->body, inst, computation))
        return false;
    source_bounds(c, update, computation, DEPTH_MOST, bounds);
    return computation_sum(computation, bounds, sum);
}

/* Adds the registers that this one is the sum of; false if it is not a sum of 64-bit registers and a constant. */
static bool split_sum(const Counting *c, const Inst *update, RegId reg, int64_t *constant, RegIdVec *pending)
{
    Computation computation;
    ComputedSum sum;
    if (!sum_for(c, update, reg, &computation, &sum) || sum.bits != 64 || sum.has_product)
        return false;
    for (unsigned t = 0; t < sum.term_count; t++) {
        const ComputeSource *source = &computation.sources[sum.terms[t].source];
        if (sum.terms[t].factor != 1 || source->reg == REG_NONE || source->bits != 64 || source->reg_bits != 64)
            return false;
    }
    for (unsigned t = 0; t < sum.term_count; t++)
        VEC_PUSH(c->scratch, *pending, computation.sources[sum.terms[t].source].reg);
    *constant = (int64_t)((uint64_t)*constant + sum.constant);
    return true;
}

/* Sorts the terms of the address; false if there are too many, or none in common. */
static bool split_address(const Counting *c, Counted *update)
{
    const Operand *address = update->update.access.address;
    const RegId base = address_base(update->update.inst, address);
    RegIdVec pending = {0};
    if (base == REG_NONE || type_bits(c->body->regs.data[base].type) != 64)
        return false;
    update->constant = address_offset(address);
    VEC_PUSH(c->scratch, pending, base);
    while (pending.count) {
        const RegId reg = VEC_POP(pending);
        const bool common = value_is_common(c->scratch, c->values, reg);
        if (pending.count > PENDING_MOST || (common ? update->part_count == PARTS_MOST
                                                    : update->leaf_count == LEAVES_MOST))
            return false;
        if (common)
            update->parts[update->part_count++] = reg;
        else if (!split_sum(c, update->update.inst, reg, &update->constant, &pending))
            update->leaves[update->leaf_count++] = reg;
    }
    return update->part_count > 0;
}

/* Whether the value is a multiple of a counter's size where the update is executed. */
static bool is_multiple(const Counting *c, const Inst *update, RegId reg, int64_t bytes)
{
    const AffineForm *form = &analyses_affine(c->analyses)->forms[reg];
    const Bounds bounds = value_bounds(c, update, reg, DEPTH_MOST);
    Computation computation;
    ComputedSum sum;
    bool whole = form->bits == 64 && form->constant % bytes == 0;
    for (unsigned t = 0; t < form->term_count; t++)
        whole &= form->terms[t].coefficient % bytes == 0;
    if (whole || (bounds.zeros & (uint64_t)(bytes - 1)) == (uint64_t)(bytes - 1))
        return true;
    if (!sum_for(c, update, reg, &computation, &sum) || sum.has_product || sum.constant % (uint64_t)bytes)
        return false;
    for (unsigned t = 0; t < sum.term_count; t++)
        if (sum.terms[t].factor % (uint64_t)bytes)
            return false;
    return true;
}

/* Whether the thread's part of the address is a multiple of a counter's size. */
static bool is_whole(const Counting *c, const Counted *update)
{
    for (unsigned i = 0; i < update->leaf_count; i++)
        if (!is_multiple(c, update->update.inst, update->leaves[i], update->update.bytes))
            return false;
    return true;
}

static void find_bounds(const Counting *c, Counted *update)
{
    const int64_t most = INT64_C(1) << 40; /* so that sums do not overflow */
    update->is_bounded = true;
    for (unsigned i = 0; i < update->leaf_count; i++) {
        const Bounds bounds = value_bounds(c, update->update.inst, update->leaves[i], DEPTH_MOST);
        update->is_bounded &= bounds.least > -most && bounds.most < most;
        if (!update->is_bounded)
            return;
        update->low += bounds.least;
        update->high += bounds.most;
    }
}

/* Lists the atomic operations in global memory, with the reason why if they are not updates of an array. */
static void add_update(Counting *c, Inst *inst)
{
    static const RefusalReason reasons[] = {[ATOMIC_IS_READ] = REFUSAL_COUNTERS_RESULT,
                                            [ATOMIC_IS_ORDERED] = REFUSAL_COUNTERS_ORDERED,
                                            [ATOMIC_IS_FLOAT] = REFUSAL_COUNTERS_FLOAT,
                                            [ATOMIC_IS_OTHER] = REFUSAL_COUNTERS_OTHER};
    Counted update = {.report = c->result->updates.count};
    VEC_PUSH(c->body->module->arena, c->result->updates, ((CountedUpdate){.span = inst->span, .loc = inst->loc}));
    const AtomicKind kind = atomic_update(c->body, c->values, inst, c->reassociates, &update.update);
    if (kind != ATOMIC_IS_UPDATE) {
        counting_refuse(c, &update, inst, reasons[kind]);
        return;
    }
    if (!split_address(c, &update) || !is_whole(c, &update)) {
        counting_refuse(c, &update, inst, REFUSAL_COUNTERS_ADDRESS);
        return;
    }
    find_bounds(c, &update);
    VEC_PUSH(c->scratch, c->updates, update);
}

static void find_updates(Counting *c)
{
    for (size_t b = 0; b < c->body->blocks.count; b++)
        for (Inst *inst = c->body->blocks.data[b]->first; inst; inst = inst->next) {
            Access access;
            if (inst_access(inst, &access) && access.kind == ACCESS_ATOMIC &&
                access_is_global(analyses_affine(c->analyses), inst, &access))
                add_update(c, inst);
        }
}

static bool is_open(const Counting *c, const Counted *update)
{
    return !is_refusal(&c->result->updates.data[update->report].refusal);
}

static bool is_same_sum(const Counting *c, RegId a, RegId b)
{
    const Affine *affine = analyses_affine(c->analyses);
    return a == b || affine_compare(&affine->forms[a], 1, &affine->forms[b], 1) == ALIAS_SAME;
}

/* Whether the two update one array. */
static bool shares_array(const Counting *c, const Counted *a, const Counted *b)
{
    if (!updates_commute(&a->update, &b->update) || a->part_count != b->part_count ||
        (a->constant - b->constant) % a->update.bytes)
        return false;
    for (unsigned i = 0; i < a->part_count; i++)
        if (!is_same_sum(c, a->parts[i], b->parts[i]))
            return false;
    return true;
}

static void join_group(Counting *c, Counted *update)
{
    for (unsigned g = 0; g < c->group_count; g++)
        if (shares_array(c, c->groups[g].like, update)) {
            VEC_PUSH(c->scratch, c->groups[g].members, update);
            return;
        }
    if (c->group_count == GROUPS_MOST) {
        counting_refuse(c, update, update->update.inst, REFUSAL_COUNTERS_ROOM);
        return;
    }
    CounterGroup *group = &c->groups[c->group_count++];
    *group = (CounterGroup){.like = update};
    VEC_PUSH(c->scratch, group->members, update);
}

/* The first element of the array that has a counter if not all can: index 0, or the next one that there may be. */
static int64_t window_start(const CounterGroup *group)
{
    int64_t start = INT64_MAX;
    for (size_t i = 0; i < group->members.count; i++) {
        const Counted *member = group->members.data[i];
        const int64_t first = !member->is_bounded || member->low < 0 ? 0 : member->low;
        const int64_t own = member->constant + (member->is_bounded && member->high < 0 ? member->low : first);
        start = own < start ? own : start;
    }
    return start;
}

/* The bytes of the group's array from its first counter on, if it begins where a parameter points to; 0: not known. */
static uint64_t known_bytes(const Counting *c, const CounterGroup *group)
{
    const AffineForm *form = &analyses_affine(c->analyses)->forms[group->like->parts[0]];
    const Variable *pointer = NULL;
    if (!c->extents || group->like->part_count != 1 || form->bits != 64 || form->constant || group->start < 0)
        return 0;
    for (unsigned t = 0; t < form->term_count; t++) {
        const AffineTerm *term = &form->terms[t];
        const bool is_pointer = term->base == AFFINE_PARAM && !term->offset && term->coefficient == 1;
        if ((!is_pointer && term->base != AFFINE_WINDOW) || (is_pointer && pointer))
            return 0;
        pointer = is_pointer ? term->variable : pointer;
    }
    const KnownExtent *extent = pointer ? known_extent(c->extents, pointer) : NULL;
    return extent && extent->bytes > (uint64_t)group->start ? extent->bytes - (uint64_t)group->start : 0;
}

/* How many elements have counters if an update may be of others. */
static uint64_t window_count(const Counting *c, const CounterGroup *group)
{
    const uint64_t bytes = group->like->update.bytes, known = known_bytes(c, group) / bytes;
    return known && known <= COUNTERS_BYTES_MOST / bytes ? known : WINDOW;
}

/* The counters from the lowest address to the highest that bounds allow, or a window of them. */
static void size_group(const Counting *c, CounterGroup *group)
{
    const int64_t bytes = group->like->update.bytes;
    int64_t end = INT64_MIN;
    group->start = INT64_MAX;
    for (size_t i = 0; i < group->members.count; i++) {
        const Counted *member = group->members.data[i];
        const int64_t first = member->constant + member->low, last = member->constant + member->high;
        group->is_tested |= !member->is_bounded;
        group->start = first < group->start ? first : group->start;
        end = last + bytes > end ? last + bytes : end;
    }
    group->is_tested |= end - group->start > COUNTERS_BYTES_MOST;
    if (group->is_tested)
        group->start = window_start(group);
    group->count = group->is_tested ? window_count(c, group) : (uint64_t)((end - group->start) / bytes);
    group->copies = 1;
    while (group->copies < COPIES_MOST && 2 * group->copies * group->count <= WORDS_OF_COPIES)
        group->copies *= 2;
    group->bytes = group->count * group->copies * (uint64_t)bytes;
}

static void drop_group(Counting *c, unsigned g)
{
    CounterGroup *group = &c->groups[g];
    for (size_t i = 0; i < group->members.count; i++)
        counting_refuse(c, group->members.data[i], group->members.data[i]->update.inst, REFUSAL_COUNTERS_ROOM);
    c->groups[g] = c->groups[--c->group_count];
}

static void make_groups(Counting *c, uint64_t room)
{
    for (size_t u = 0; u < c->updates.count; u++)
        if (is_open(c, &c->updates.data[u]))
            join_group(c, &c->updates.data[u]);
    for (unsigned g = 0; g < c->group_count;) {
        CounterGroup *group = &c->groups[g];
        size_group(c, group);
        const uint64_t padded = (group->bytes + 15) / 16 * 16;
        if (c->bytes + padded > room) {
            drop_group(c, g);
            continue;
        }
        group->offset = (uint32_t)c->bytes;
        c->bytes += padded;
        g++;
    }
}

/* Says for each watched access which groups it may touch; those that touch none are not watched. */
static void find_watched_groups(Counting *c)
{
    unsigned kept = 0;
    for (unsigned i = 0; i < c->watched_count; i++) {
        Watched watched = c->watched[i];
        bool any = false;
        for (unsigned g = 0; g < c->group_count; g++)
            for (size_t m = 0; m < c->groups[g].members.count; m++)
                any |= watched.groups[g] |= counting_may_follow(c, watched.inst, c->groups[g].members.data[m]);
        if (any)
            c->watched[kept++] = watched;
    }
    c->watched_count = kept;
}

static void report_groups(Counting *c)
{
    for (unsigned g = 0; g < c->group_count; g++)
        for (size_t i = 0; i < c->groups[g].members.count; i++) {
            const CounterGroup *group = &c->groups[g];
            CountedUpdate *report = &c->result->updates.data[group->members.data[i]->report];
            report->done = true;
            report->counters = group->count;
            report->copies = group->copies;
            report->bytes = group->bytes;
            report->is_tested = group->is_tested;
            report->reassociates = type_class(group->like->update.type) == CLASS_FLOAT;
        }
}

static bool count_privately(PassContext *context, Counting *c)
{
    uint64_t shared = 0;
    const Obstacle obstacle = find_obstacle(c, &shared);
    if (obstacle.reason) {
        refusal_set(&context->counted.refusal, c->body, obstacle.inst, obstacle.reason, NULL);
        return false;
    }
    find_updates(c);
    counting_find_conflicts(c);
    shared += context->counting_dynamic_shared;
    const uint64_t left = shared < SHARED_MOST ? SHARED_MOST - shared : 0;
    make_groups(c, left < COUNTERS_BYTES_MOST ? left : COUNTERS_BYTES_MOST);
    if (!c->group_count)
        return false;
    find_watched_groups(c);
    report_groups(c);
    counting_leave_watching(c);
    counters_rewrite(c);
    return true;
}

bool pass_counters(PassContext *context)
{
    Arena *scratch = arena_new();
    Counting c = {.body = context->body, .scratch = scratch, .analyses = context->analyses,
                  .values = analyses_values(context->analyses), .block = &context->block,
                  .reassociates = context->reassociates, .extents = context->extents,
                  .result = &context->counted};
    context->counted.refusal = (Refusal){.reason = REFUSAL_NONE};
    c.after = ARENA_ARRAY(scratch, BitSet, c.body->blocks.count);
    c.variance = variance_compute(scratch, c.body, analyses_postdominance(c.analyses), VARIANCE_ANY,
                                  &(VarianceOptions){0});
    const bool changed = count_privately(context, &c);
    arena_free(scratch);
    return changed;
}
