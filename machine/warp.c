/* Instructions by which the threads of a warp exchange values. They concern the threads that execute them together,
 * which converge.c decides; a result of which other live threads might have a part is noted as open. */
#include "machine/internal.h"

enum { NOT_THERE = (int)0x9e3779b9 };

/* The active lanes take part, and perhaps others of the warp that are elsewhere here. */
static void note_open(const Warp *warp, const Group *group, uint32_t at)
{
    MachineEnd *end = warp->block->end;
    if (group->lanes != warp->live && !group->is_members && end->open == MACHINE_NONE)
        end->open = at;
}

/* The lane that a shuffle reads from; false if it is outside of the segment, and the lane reads its own value. PTX ISA,
 * "shfl.sync". */
static bool shuffle_source(const Decoded *it, uint32_t lane, uint32_t amount, uint32_t control, uint32_t *from)
{
    const uint32_t segment = control >> 8 & 31, clamp = control & 31;
    const uint32_t most = (lane & segment) | (clamp & ~segment);
    bool fits;
    amount &= 31;
    if (has(it, SUFFIX_UP)) {
        *from = lane - amount;
        fits = (int32_t)*from >= (int32_t)most;
    } else {
        *from = has(it, SUFFIX_DOWN)   ? lane + amount
                : has(it, SUFFIX_BFLY) ? lane ^ amount
                                       : (lane & segment) | (amount & ~segment);
        fits = *from <= most;
    }
    if (!fits)
        *from = lane;
    return fits;
}

/* SHFL p, d, a, b, c */
Step execute_shuffle(Warp *warp, Group *group, uint32_t active, const Decoded *it)
{
    uint32_t values[WARP_THREADS];
    Thread *first = lanes_first(warp, active);
    if (it->operand_count != 5 || !is_predicate(&it->operands[0]))
        return stop(first, MACHINE_UNDECIDED, "this form of a shuffle");
    EACH_LANE(lane, active)
    {
        values[lane] = raw32(&warp->threads[lane], &it->operands[2]);
    }
    EACH_LANE(lane, active)
    {
        Thread *thread = &warp->threads[lane];
        uint32_t from;
        const bool fits = shuffle_source(it, lane, raw32(thread, &it->operands[3]), raw32(thread, &it->operands[4]),
                                         &from);
        const bool is_there = active >> from & 1;
        /* Hardware gives anything for a lane that is not there; so the result must not matter. */
        if (!is_there && warp->block->end->open == MACHINE_NONE)
            warp->block->end->open = thread->at;
        set32(thread, &it->operands[1], is_there ? values[from] : (uint32_t)NOT_THERE + lane);
        set_predicate(thread, &it->operands[0], fits);
    }
    (void)group;
    return STEP_ON;
}

static void set_all32(Warp *warp, uint32_t active, const Place *place, uint32_t value)
{
    EACH_LANE(lane, active)
    {
        set32(&warp->threads[lane], place, value);
    }
}

static void set_all_predicates(Warp *warp, uint32_t active, const Place *place, bool value)
{
    EACH_LANE(lane, active)
    {
        set_predicate(&warp->threads[lane], place, value);
    }
}

static uint32_t lanes_with(const Warp *warp, uint32_t active, const Place *place)
{
    uint32_t votes = 0;
    EACH_LANE(lane, active)
    {
        votes |= (uint32_t)predicate(&warp->threads[lane], place) << lane;
    }
    return votes;
}

/* VOTE.mode [d,] [p,] q: d gets the lanes for which q holds, p whether it holds for any, all, or for all alike. */
Step execute_vote(Warp *warp, Group *group, uint32_t active, const Decoded *it)
{
    const unsigned last = it->operand_count - 1u;
    if (it->operand_count < 2 || it->operand_count > 3 || !is_predicate(&it->operands[last]))
        return stop(lanes_first(warp, active), MACHINE_UNDECIDED, "this form of a vote");
    const uint32_t votes = lanes_with(warp, active, &it->operands[last]);
    const bool result = has(it, SUFFIX_ANY)   ? votes != 0
                        : has(it, SUFFIX_ALL) ? votes == active
                                              : votes == active || !votes;
    note_open(warp, group, lanes_first(warp, active)->at);
    if (it->is_open && warp->block->end->open == MACHINE_NONE)
        warp->block->end->open = lanes_first(warp, active)->at;
    for (unsigned i = 0; i < last; i++) {
        if (is_predicate(&it->operands[i]))
            set_all_predicates(warp, active, &it->operands[i], result);
        else
            set_all32(warp, active, &it->operands[i], votes);
    }
    return STEP_ON;
}

/* MATCH.ANY d, a and MATCH.ALL p, d, a */
Step execute_match(Warp *warp, Group *group, uint32_t active, const Decoded *it)
{
    const unsigned to = skip_predicates(it, 0);
    const Place *from = &it->operands[to + 1];
    uint64_t values[WARP_THREADS];
    uint32_t equal[WARP_THREADS] = {0};
    if (to + 2 != it->operand_count || to > 1)
        return stop(lanes_first(warp, active), MACHINE_UNDECIDED, "this form of a match");
    EACH_LANE(lane, active)
    {
        const Thread *thread = &warp->threads[lane];
        values[lane] = has(it, SUFFIX_U64) ? raw64(thread, from) : raw32(thread, from);
    }
    EACH_LANE(lane, active)
    {
        EACH_LANE(other, active)
        {
            equal[lane] |= (uint32_t)(values[other] == values[lane]) << other;
        }
    }
    const bool all = equal[__builtin_ctz(active)] == active;
    note_open(warp, group, lanes_first(warp, active)->at);
    EACH_LANE(lane, active)
    {
        const uint32_t all_lanes = all ? active : 0;
        set32(&warp->threads[lane], &it->operands[to], has(it, SUFFIX_ALL) ? all_lanes : equal[lane]);
    }
    if (to)
        set_all_predicates(warp, active, &it->operands[0], all);
    return STEP_ON;
}

static uint32_t reduce(const Decoded *it, uint32_t a, uint32_t b)
{
    if (has(it, SUFFIX_MIN) || has(it, SUFFIX_MAX)) {
        const bool less = has(it, SUFFIX_S32) ? (int32_t)b < (int32_t)a : b < a;
        return less == has(it, SUFFIX_MIN) ? b : a;
    }
    if (has(it, SUFFIX_SUM))
        return a + b;
    if (has(it, SUFFIX_OR))
        return a | b;
    return has(it, SUFFIX_XOR) ? a ^ b : a & b;
}

/* REDUX.op u, a: AND without a modifier. CREDUX is the same for minima and maxima. */
Step execute_reduce(Warp *warp, Group *group, uint32_t active, const Decoded *it)
{
    Thread *first = lanes_first(warp, active);
    if (it->operand_count != 2)
        return stop(first, MACHINE_UNDECIDED, "this form of a reduction");
    uint32_t result = raw32(first, &it->operands[1]);
    EACH_LANE(lane, active & (active - 1))
    {
        result = reduce(it, result, raw32(&warp->threads[lane], &it->operands[1]));
    }
    note_open(warp, group, first->at);
    set_all32(warp, active, &it->operands[0], result);
    return STEP_ON;
}

/* ELECT p, u, q: one lane for which q holds, here the first. Which one is open. */
Step execute_elect(Warp *warp, Group *group, uint32_t active, const Decoded *it)
{
    const unsigned to = skip_predicates(it, 0);
    Thread *first = lanes_first(warp, active);
    if (to + 2 != it->operand_count || to > 1 || !is_predicate(&it->operands[to + 1]))
        return stop(first, MACHINE_UNDECIDED, "this form of an election");
    const uint32_t votes = lanes_with(warp, active, &it->operands[to + 1]);
    if (!votes)
        return stop(first, MACHINE_UNDECIDED, "an election without candidates");
    const uint32_t elected = (uint32_t)__builtin_ctz(votes);
    note_open(warp, group, first->at);
    if (warp->block->end->open == MACHINE_NONE && (votes & (votes - 1)))
        warp->block->end->open = first->at;
    set32(first, &it->operands[to], elected);
    EACH_LANE(lane, active)
    {
        if (to)
            set_predicate(&warp->threads[lane], &it->operands[0], lane == elected);
    }
    return STEP_ON;
}

/* The first lane whose value differs from that of the first active one; WARP_THREADS: none. */
static unsigned find_other(const Warp *warp, uint32_t active, const Place *place)
{
    const uint32_t value = raw32(lanes_first(warp, active), place);
    EACH_LANE(lane, active)
    {
        if (raw32(&warp->threads[lane], place) != value)
            return lane;
    }
    return WARP_THREADS;
}

/* R2UR [p,] u, a: only one value gets into the register, which is wrong if something reads it: ptxas moves a register
 * that has no value yet to one that is written before it is read. p is whether there are different ones. */
Step execute_move_to_uniform(Warp *warp, Group *group, uint32_t active, const Decoded *it)
{
    const unsigned to = skip_predicates(it, 0);
    const Place *from = &it->operands[to + 1];
    Thread *first = lanes_first(warp, active);
    (void)group;
    if (to + 2 != it->operand_count || to > 1)
        return stop(first, MACHINE_UNDECIDED, "this form of a move to a uniform register");
    const unsigned other = find_other(warp, active, from);
    const bool matters = it->operands[to].index != ZERO_REGISTER;
    if (other < WARP_THREADS && matters && to)
        return stop(first, MACHINE_UNDECIDED, "a move of different values to a uniform register");
    set32(first, &it->operands[to], raw32(first, from));
    if (other < WARP_THREADS && matters) {
        const uint8_t index = it->operands[to].index;
        warp->has_mixed = true;
        warp->mixed_at[index] = first->at;
        warp->mixed[index] = arena_printf(
            warp->block->arena,
            "moves 0x%08x from thread %u of the block and 0x%08x from thread %u of the same warp, which execute this "
            "together, to one uniform register",
            raw32(first, from), first->index, raw32(&warp->threads[other], from), warp->threads[other].index);
    }
    if (to)
        set_all_predicates(warp, active, &it->operands[0], other < WARP_THREADS);
    return STEP_ON;
}

/* S2UR u, special register */
Step execute_special_to_uniform(Warp *warp, Group *group, uint32_t active, const Decoded *it)
{
    Thread *first = lanes_first(warp, active);
    const char *name = it->operands[1].text;
    uint32_t value, its;
    (void)group;
    if (it->operand_count != 2 || it->operands[1].kind != PLACE_SPECIAL || !special_value(first, name, &value))
        return stop(first, MACHINE_UNDECIDED, "the value of %s", name ? name : "this");
    EACH_LANE(lane, active)
    {
        special_value(&warp->threads[lane], name, &its);
        if (its != value)
            return stop(first, MACHINE_UNDECIDED, "the value of %s in a uniform register", name);
    }
    set32(first, &it->operands[0], value);
    return STEP_ON;
}
