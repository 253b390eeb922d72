/* Barriers of the block. A warp arrives at one when all of its threads that have not exited are there (PTX ISA,
 * "barrier"), and counts as WARP_THREADS threads. */
#include "machine/internal.h"

/* A thread's arrival at a barrier, as the operands describe it. */
typedef struct Arrival {
    unsigned barrier, wanted; /* its number; threads, 0: all of the block */
    bool votes, vote;
} Arrival;

/* "0x1", "0x1, 0x40", "0x1, R9", "R8": the barrier, and "R8, R8": the barrier in the lower bits, the threads in bits 16
 * and up. A predicate follows if the barrier combines. */
static Arrival arrival_of(const Thread *thread, const Decoded *it)
{
    const unsigned last = it->operand_count - 1u;
    Arrival arrival = {.votes = has(it, SUFFIX_RED)};
    const uint32_t number = raw32(thread, &it->operands[0]);
    const unsigned numbers = it->operand_count - arrival.votes;
    arrival.barrier = number % BARRIERS;
    if (numbers > 1 && it->operands[0].kind == PLACE_REGISTER)
        arrival.wanted = raw32(thread, &it->operands[1]) >> 16 & 0xfff;
    else if (numbers > 1)
        arrival.wanted = raw32(thread, &it->operands[1]) & 0xfff;
    if (arrival.votes)
        arrival.vote = predicate(thread, &it->operands[last]);
    return arrival;
}

static bool is_form(const Decoded *it)
{
    const unsigned numbers = it->operand_count - has(it, SUFFIX_RED);
    const Place *barrier = &it->operands[0], *count = &it->operands[1];
    if (numbers < 1 || numbers > 2 || (has(it, SUFFIX_RED) && !is_predicate(&it->operands[numbers])))
        return false;
    if (barrier->kind != PLACE_NUMBER && barrier->kind != PLACE_REGISTER)
        return false;
    if (numbers == 1)
        return true;
    return count->kind == PLACE_NUMBER ? barrier->kind == PLACE_NUMBER
                                       : count->kind == PLACE_REGISTER &&
                                             (barrier->kind == PLACE_NUMBER || barrier->index == count->index);
}

/* BAR.SYNC, BAR.ARV, BAR.RED */
Step execute_barrier(Warp *warp, Group *group, uint32_t active, const Decoded *it)
{
    if (!is_form(it))
        return stop(lanes_first(warp, active), MACHINE_UNDECIDED, "this form of a barrier");
    group->wait = WAIT_ARRIVAL;
    return STEP_WAITS;
}

/* B2R.RESULT d [, p]: what the last barrier gave: a count in d, or whether the predicates held in p. */
Step execute_barrier_result(Thread *thread, const Decoded *it)
{
    const bool has_predicate = it->operand_count == 2 && is_predicate(&it->operands[1]);
    const bool has_count = it->operands[0].index != ZERO_REGISTER;
    if (!has(it, SUFFIX_RESULT) || it->operand_count != 1u + has_predicate || (has_predicate && thread->counted) ||
        (has_count && !thread->counted))
        return stop(thread, MACHINE_UNDECIDED, "this form of a barrier's result");
    set32(thread, &it->operands[0], thread->reduced);
    if (has_predicate)
        set_predicate(thread, &it->operands[1], thread->reduced != 0);
    return STEP_ON;
}

/* All threads of a group are at the same instruction. */
static const Decoded *instruction_of(const Warp *warp, const Group *group)
{
    return &warp->block->program->code[lanes_first(warp, group->lanes)->at];
}

static void go_on(const Warp *warp, Group *group)
{
    lanes_step(warp, group->lanes);
    group->wait = WAIT_NONE;
}

/* True if all threads of the warp wait for the others at the same barrier. */
static bool is_complete(const Warp *warp, unsigned *barrier)
{
    const Thread *first = lanes_first(warp, warp->live);
    *barrier = arrival_of(first, &warp->block->program->code[first->at]).barrier;
    for (unsigned i = 0; i < warp->group_count; i++) {
        const Group *group = &warp->groups[i];
        if (group->wait != WAIT_ARRIVAL)
            return false;
        EACH_LANE(lane, group->lanes)
        {
            if (arrival_of(&warp->threads[lane], instruction_of(warp, group)).barrier != *barrier)
                return false;
        }
    }
    return true;
}

/* Makes one group of those that are at the same instruction. */
static void join_groups(Warp *warp)
{
    unsigned kept = 0;
    for (unsigned i = 0; i < warp->group_count; i++) {
        const Group *group = &warp->groups[i];
        const uint32_t at = lanes_first(warp, group->lanes)->at;
        unsigned j = 0;
        while (j < kept && lanes_first(warp, warp->groups[j].lanes)->at != at)
            j++;
        if (j < kept)
            warp->groups[j].lanes |= group->lanes;
        else
            warp->groups[kept++] = *group;
    }
    warp->group_count = kept;
}

/* The warp arrives. Threads that do not wait for the other warps go on. */
static void arrive(Warp *warp, Barrier *barrier)
{
    /* It is not known whether a barrier joins threads that come apart; an order of execution assumes either. */
    if (warp->block->launch->order != MACHINE_TAKEN_FIRST)
        join_groups(warp);
    barrier->warps++;
    barrier->arrived |= UINT32_C(1) << (warp - warp->block->warps);
    for (unsigned i = 0; i < warp->group_count; i++) {
        Group *group = &warp->groups[i];
        const Decoded *it = instruction_of(warp, group);
        EACH_LANE(lane, group->lanes)
        {
            const Arrival arrival = arrival_of(&warp->threads[lane], it);
            barrier->wanted = arrival.wanted;
            barrier->voters += arrival.votes;
            barrier->votes += arrival.votes && arrival.vote;
        }
        if (has(it, SUFFIX_ARV))
            go_on(warp, group);
        else
            group->wait = WAIT_BLOCK;
    }
}

static void give_result(Thread *thread, const Decoded *it, const Barrier *barrier)
{
    if (!has(it, SUFFIX_RED))
        return;
    thread->counted = has(it, SUFFIX_POPC);
    thread->reduced = thread->counted          ? barrier->votes
                      : has(it, SUFFIX_AND)    ? barrier->votes == barrier->voters
                                               : barrier->votes != 0;
}

static void complete(ThreadBlock *block, unsigned number)
{
    for (unsigned i = 0; i < block->warp_count; i++) {
        Warp *warp = &block->warps[i];
        for (unsigned j = 0; j < warp->group_count; j++) {
            Group *group = &warp->groups[j];
            const Decoded *it = instruction_of(warp, group);
            if (group->wait != WAIT_BLOCK || arrival_of(lanes_first(warp, group->lanes), it).barrier != number)
                continue;
            EACH_LANE(lane, group->lanes)
            {
                give_result(&warp->threads[lane], it, &block->barriers[number]);
            }
            go_on(warp, group);
        }
    }
    block->barriers[number] = (Barrier){0};
}

static bool has_all(const ThreadBlock *block, const Barrier *barrier)
{
    if (barrier->wanted)
        return barrier->warps * WARP_THREADS >= barrier->wanted;
    for (unsigned i = 0; i < block->warp_count; i++)
        if (block->warps[i].live && !(barrier->arrived >> i & 1))
            return false;
    return true;
}

void block_release(ThreadBlock *block)
{
    for (unsigned i = 0; i < block->warp_count; i++) {
        unsigned number;
        if (block->warps[i].live && is_complete(&block->warps[i], &number))
            arrive(&block->warps[i], &block->barriers[number]);
    }
    for (unsigned i = 0; i < BARRIERS; i++)
        if (block->barriers[i].warps && has_all(block, &block->barriers[i]))
            complete(block, i);
}
