/* Memory dependences: do they let iterations be executed side by side?
 *
 * An access Y of a later iteration moves before an access X of an earlier one if Y may come before X within an
 * iteration: it does so on some path, or both are in one inner loop. Accesses at one place of the loop stay in the
 * order of the iterations. For each such pair, one of which writes, one of these is shown:
 * - both are in different state spaces or variables; or
 * - their addresses, sums in which each iteration adds a constant, have no byte in common in iterations 1 to factor - 1
 *   apart; or
 * - both are reductions of one kind on integers, without results, and they are alike, or nothing in the kernel reads
 *   memory in a way that tells their order; or
 * - if the addresses can be computed before the iterations, code compares them then (a conflict).
 *
 * The thread's own order is all that counts: other threads see plain stores at the next barrier only, and the loop has
 * none. */
#include "opt/common/trips.h"
#include "opt/jam/internal.h"

enum {
    MOST_ACCESSES = 256,
    MOST_COMPARISONS = 96, /* at run time, for each group of iterations */
};

typedef struct JamAccess {
    const Inst *inst;
    Access access;
    unsigned place; /* in its block */
} JamAccess;

typedef struct Order {
    Jam *jam;
    JamAccess *accesses;
    unsigned count;
    BitSet *reached; /* by Block.id: blocks that follow in the same iteration; only of blocks with accesses */
} Order;

/* The blocks that follow the block within one iteration; itself, too, in an inner loop. */
static BitSet find_reached(const Jam *jam, Block *from)
{
    BitSet seen = bitset_new(jam->scratch, jam->body->blocks.count);
    VEC(Block *) pending = {0};
    VEC_PUSH(jam->scratch, pending, from);
    while (pending.count) {
        const Block *block = VEC_POP(pending);
        FOR_EACH_SUCC(block, succ) {
            if (succ == jam->loop->header || !loop_contains(jam->loops, jam->loop, succ) || bitset_has(&seen, succ->id))
                continue;
            bitset_add(&seen, succ->id);
            VEC_PUSH(jam->scratch, pending, succ);
        }
    }
    return seen;
}

static bool find_accesses(Order *order)
{
    Jam *jam = order->jam;
    order->accesses = ARENA_ARRAY(jam->scratch, JamAccess, MOST_ACCESSES);
    order->reached = ARENA_ARRAY(jam->scratch, BitSet, jam->body->blocks.count);
    for (uint32_t b = 0; b < jam->loop->block_count; b++) {
        Block *block = jam->loop->blocks[b];
        unsigned place = 0, before = order->count;
        for (const Inst *inst = block->first; inst; inst = inst->next, place++) {
            JamAccess one = {.inst = inst, .place = place};
            if (!inst_access(inst, &one.access) || one.access.read_only)
                continue;
            if (order->count == MOST_ACCESSES)
                return jam_refuse(jam, inst, REFUSAL_JAM_ACCESSES);
            order->accesses[order->count++] = one;
        }
        if (order->count > before)
            order->reached[block->id] = find_reached(jam, block);
    }
    return true;
}

/* True if the first may be executed before the second in one iteration. */
static bool may_precede(const Order *order, const JamAccess *first, const JamAccess *second)
{
    const Block *from = first->inst->block, *to = second->inst->block;
    if (bitset_has(&order->reached[from->id], to->id))
        return true;
    return from == to && first->place < second->place;
}

static bool sum_step(const Jam *jam, const AffineForm *form, int64_t *step)
{
    return loop_sum_step(jam->scratch, jam->loop, jam->analyses, form, step);
}

/* True if the two have no byte in common in iterations that are up to factor - 1 apart, by their sums. */
static bool sums_apart(const Jam *jam, const JamAccess *earlier, const JamAccess *later)
{
    const Affine *affine = analyses_affine(jam->analyses);
    AffineAddress x, y;
    int64_t step[2];
    affine_of_address(affine, earlier->inst, earlier->access.address, &x);
    affine_of_address(affine, later->inst, later->access.address, &y);
    if (!x.form.bits || x.form.bits != y.form.bits || earlier->access.space != later->access.space ||
        !sum_step(jam, &x.form, &step[0]) || !sum_step(jam, &y.form, &step[1]) || step[0] != step[1])
        return false;
    for (unsigned d = 1; d < jam->factor; d++) {
        AffineForm moved = y.form;
        uint64_t constant = (uint64_t)y.form.constant + d * (uint64_t)step[1];
        moved.constant = moved.bits == 32 ? (int64_t)(int32_t)(uint32_t)constant : (int64_t)constant;
        if (affine_compare(&x.form, earlier->access.bytes, &moved, later->access.bytes) != ALIAS_NONE)
            return false;
    }
    return true;
}

RegId jam_address(const Inst *inst, int64_t *offset)
{
    Access access;
    *offset = 0;
    RegId base = inst_access(inst, &access) ? address_base(inst, access.address) : REG_NONE;
    if (base == REG_NONE)
        return REG_NONE;
    const Constant *constant = access.address->constant;
    if (constant && constant->kind != CONSTANT_INT)
        return REG_NONE;
    *offset = constant ? (int64_t)constant->bits : 0;
    return base;
}

/* Whether another thread could tell values that a word has between two updates of one thread: a plain read of it at
 * that time would be a data race, and a reduction gives nothing back. */
static bool updates_are_observed(const Body *body)
{
    for (size_t b = 0; b < body->blocks.count; b++)
        for (const Inst *inst = body->blocks.data[b]->first; inst; inst = inst->next) {
            Access access;
            if (inst_access(inst, &access) && !access.weak && !inst_is_relaxed_red(inst))
                return true;
        }
    return false;
}

/* Whether the two may be executed in any order, even on one word. */
static bool updates_commute_here(const Jam *jam, const Inst *a, const Inst *b)
{
    return inst_is_relaxed_red(a) && inst_is_relaxed_red(b) &&
           (reds_are_alike(a, b) || (reds_commute(a, b) && !updates_are_observed(jam->body)));
}

/* True if the address of the access is known before the iterations, and so the same in all rounds of inner loops. */
static bool address_is_early(const Jam *jam, const JamAccess *one)
{
    int64_t offset;
    RegId reg = jam_address(one->inst, &offset);
    return reg != REG_NONE && (!jam_is_inside(jam, reg) || bitset_has(&jam->early, reg));
}

/* True if code can compare the two addresses before the iterations. */
static bool are_comparable(const Jam *jam, const JamAccess *a, const JamAccess *b)
{
    int64_t offset;
    if (!accesses_have_same_terms(&a->access, &b->access) || !address_is_early(jam, a) || !address_is_early(jam, b))
        return false;
    RegId x = jam_address(a->inst, &offset), y = jam_address(b->inst, &offset);
    return type_bits(jam->body->regs.data[x].type) == type_bits(jam->body->regs.data[y].type);
}

/* True if both addresses grow by one step, with which the bytes of each leave no gap between iterations. */
static bool steps_equal(const Jam *jam, const JamAccess *a, const JamAccess *b, int64_t *step)
{
    const Affine *affine = analyses_affine(jam->analyses);
    AffineAddress x, y;
    int64_t other;
    affine_of_address(affine, a->inst, a->access.address, &x);
    affine_of_address(affine, b->inst, b->access.address, &y);
    if (x.form.bits != 64 || y.form.bits != 64 || !sum_step(jam, &x.form, step) ||
        !sum_step(jam, &y.form, &other))
        return false;
    int64_t bytes = (int64_t)a->access.bytes + b->access.bytes;
    return *step == other && *step && *step < bytes && *step > -bytes;
}

/* True if the two addresses are always the same distance apart, so that there is nothing to compare at run time. */
static bool sums_differ_by_constant(const Jam *jam, const JamAccess *a, const JamAccess *b)
{
    const Affine *affine = analyses_affine(jam->analyses);
    AffineAddress x, y;
    affine_of_address(affine, a->inst, a->access.address, &x);
    affine_of_address(affine, b->inst, b->access.address, &y);
    y.form.constant = x.form.constant;
    return x.form.bits && x.form.bits == y.form.bits && affine_compare(&x.form, 1, &y.form, 1) == ALIAS_SAME;
}

bool jam_refuse_pair(Jam *jam, const Inst *earlier, const Inst *later)
{
    Access a, b;
    require(inst_access(earlier, &a) && inst_access(later, &b));
    const RefusalReason reason = b.kind == ACCESS_LOAD   ? REFUSAL_JAM_READS
                                 : a.kind == ACCESS_LOAD ? REFUSAL_JAM_OVERWRITES_READ
                                                         : REFUSAL_JAM_OVERWRITES;
    if (earlier == later)
        return jam_refuse(jam, later, REFUSAL_JAM_SAME_PLACE);
    return jam_refuse_with(jam, later, reason,
                           REFUSAL_WITH(refusal_name(inst_spelling(jam->scratch, earlier)),
                                        refusal_number(inst_line(jam->body, earlier))));
}

static bool check_pair(Jam *jam, const JamAccess *earlier, const JamAccess *later)
{
    const MemoryModel *model = analyses_memory(jam->analyses);
    if (accesses_apart_always(model, earlier->inst, later->inst) || sums_apart(jam, earlier, later) ||
        updates_commute_here(jam, earlier->inst, later->inst))
        return true;
    if (jam->is_brief && sums_differ_by_constant(jam, earlier, later))
        return jam_refuse_pair(jam, earlier->inst, later->inst);
    size_t comparisons = (jam->conflicts.count + 1) * jam->factor * (jam->factor - 1) / 2;
    if (!are_comparable(jam, earlier, later) || comparisons > MOST_COMPARISONS)
        return jam_refuse_pair(jam, earlier->inst, later->inst);
    Conflict conflict = {.earlier = earlier->inst, .later = later->inst};
    conflict.is_even = jam->is_brief && steps_equal(jam, earlier, later, &conflict.step);
    VEC_PUSH(jam->scratch, jam->conflicts, conflict);
    return true;
}

bool jam_check_pair(Jam *jam, const Inst *earlier, const Inst *later)
{
    JamAccess a = {.inst = earlier}, b = {.inst = later};
    require(inst_access(earlier, &a.access) && inst_access(later, &b.access));
    return check_pair(jam, &a, &b);
}

bool jam_check_memory(Jam *jam)
{
    Order order = {.jam = jam};
    if (!jam->writes)
        return true;
    if (!find_accesses(&order))
        return false;
    for (unsigned i = 0; i < order.count; i++)
        for (unsigned k = 0; k < order.count; k++) {
            const JamAccess *earlier = &order.accesses[i], *later = &order.accesses[k];
            if ((earlier->access.kind != ACCESS_LOAD || later->access.kind != ACCESS_LOAD) &&
                may_precede(&order, later, earlier) && !check_pair(jam, earlier, later))
                return false;
        }
    return true;
}
