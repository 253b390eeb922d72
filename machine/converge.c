/* The threads of a warp that are together. Those that a branch parts stay apart until BSYNC or WARPSYNC joins them:
 * NVIDIA documents neither, so this follows "Execution of divergent threads using a convergence barrier" (US patent
 * 2016/0019066 A1), and what ptxas makes of warp-level PTX. BSSY keeps the threads that execute it together in a
 * register, BREAK takes threads out, and BSYNC waits for those that are left and have not exited. */
#include "machine/internal.h"

void lanes_step(const Warp *warp, uint32_t lanes)
{
    EACH_LANE(lane, lanes)
    {
        warp->threads[lane].at++;
    }
}

uint32_t lanes_at(const Warp *warp, uint32_t lanes, uint32_t at)
{
    uint32_t there = 0;
    EACH_LANE(lane, lanes)
    {
        there |= (uint32_t)(warp->threads[lane].at == at) << lane;
    }
    return there;
}

/* They go on after the instruction that they wait at, those at the same one as a group. */
static void go_on(Warp *warp, uint32_t lanes, bool is_members)
{
    lanes_step(warp, lanes);
    for (uint32_t rest = lanes; rest;) {
        const uint32_t part = lanes_at(warp, rest, lanes_first(warp, rest)->at);
        warp->groups[warp->group_count++] = (Group){.lanes = part, .is_members = is_members && part == lanes};
        rest &= ~part;
    }
}

static bool take_join(Thread *thread, const Decoded *it, unsigned operand, unsigned *join)
{
    *join = it->operands[operand].index;
    if (operand < it->operand_count && it->operands[operand].kind == PLACE_JOIN)
        return true;
    stop(thread, MACHINE_UNDECIDED, "this form of a convergence barrier");
    return false;
}

/* BSSY B, label */
Step execute_join_set(Warp *warp, Group *group, uint32_t active, const Decoded *it)
{
    unsigned join;
    (void)group;
    if (!take_join(lanes_first(warp, active), it, 0, &join))
        return STEP_STOPPED;
    EACH_LANE(lane, active)
    {
        warp->threads[lane].joins[join] = active;
    }
    return STEP_ON;
}

/* BREAK [p,] B: BSYNC does not wait for these threads. */
Step execute_join_leave(Warp *warp, Group *group, uint32_t active, const Decoded *it)
{
    unsigned join;
    uint32_t others = 0;
    (void)group;
    if (!take_join(lanes_first(warp, active), it, skip_predicates(it, 0), &join))
        return STEP_STOPPED;
    for (unsigned i = 0; i < skip_predicates(it, 0); i++)
        EACH_LANE(lane, active)
        {
            active &= ~((uint32_t)!predicate(&warp->threads[lane], &it->operands[i]) << lane);
        }
    EACH_LANE(lane, active)
    {
        others |= warp->threads[lane].joins[join];
    }
    EACH_LANE(lane, others & warp->live)
    {
        if (warp->threads[lane].joins[join] & active)
            warp->threads[lane].joins[join] &= ~active;
    }
    return STEP_ON;
}

/* BSYNC B */
Step execute_join(Warp *warp, Group *group, uint32_t active, const Decoded *it)
{
    unsigned join;
    if (!take_join(lanes_first(warp, active), it, 0, &join))
        return STEP_STOPPED;
    EACH_LANE(lane, active)
    {
        warp->threads[lane].join = (uint8_t)join;
    }
    group->wait = WAIT_JOIN;
    return STEP_WAITS;
}

/* BMOV r, B and BMOV B, r: kept while another construct uses the register. */
Step execute_move_join(Thread *thread, const Decoded *it)
{
    const Place *to = &it->operands[0], *from = &it->operands[1];
    if (it->operand_count != 2 || (to->kind == PLACE_JOIN) == (from->kind == PLACE_JOIN) ||
        (to->kind != PLACE_JOIN && to->kind != PLACE_REGISTER))
        return stop(thread, MACHINE_UNDECIDED, "this form of a convergence barrier");
    if (to->kind == PLACE_JOIN) {
        thread->joins[to->index] = raw32(thread, from);
        return STEP_ON;
    }
    set32(thread, to, thread->joins[from->index]);
    if (has(it, SUFFIX_CLEAR))
        thread->joins[from->index] = 0;
    return STEP_ON;
}

/* WARPSYNC mask. With .EXCLUSIVE and .COLLECTIVE, threads that name different masks go on apart. */
Step execute_warp_sync(Warp *warp, Group *group, uint32_t active, const Decoded *it)
{
    const bool names_mask = it->operand_count && !has(it, SUFFIX_ALL);
    EACH_LANE(lane, active)
    {
        Thread *thread = &warp->threads[lane];
        thread->members = names_mask ? raw32(thread, &it->operands[0]) : UINT32_MAX;
        thread->before = active;
        if (!(thread->members >> lane & 1))
            return stop(thread, MACHINE_UNDECIDED, "a mask without the thread itself");
    }
    group->wait = WAIT_WARP;
    return STEP_WAITS;
}

/* ENDCOLLECTIVE: it is not known whether threads that were not together before are so now; an order of execution
 * assumes either. */
Step execute_collective_end(Warp *warp, Group *group, uint32_t active, const Decoded *it)
{
    (void)it;
    group->is_members = false;
    if (warp->block->launch->order != MACHINE_TAKEN_FIRST)
        return STEP_ON;
    for (uint32_t rest = active; rest;) {
        const uint32_t part = lanes_first(warp, rest)->before & rest;
        go_on(warp, part, false);
        rest &= ~part;
    }
    group->lanes &= ~active;
    return STEP_ON;
}

/* The lanes for which the guard holds must be the ones of the mask: not so if a thread's own mask differs. */
static bool is_converged(Warp *warp, uint32_t active, const Decoded *it)
{
    const bool names_mask = it->operand_count && it->operands[0].kind == PLACE_UNIFORM;
    return active == (names_mask ? integer32(warp->threads, &it->operands[0]) : UINT32_MAX);
}

static Step jump_together(Warp *warp, const Group *group, uint32_t target)
{
    EACH_LANE(lane, group->lanes)
    {
        if (target >= warp->block->program->count)
            return stop(&warp->threads[lane], MACHINE_UNDECIDED, "a branch to an unknown address");
        warp->threads[lane].at = target;
    }
    return STEP_JUMPED;
}

/* BRA.DIV [u,] label: to code for threads that are not together. */
Step execute_branch_apart(Warp *warp, Group *group, uint32_t active, const Decoded *it)
{
    return is_converged(warp, active, it) ? STEP_ON : jump_together(warp, group, it->target);
}

/* BRA.CONV [u,] label: around it. */
Step execute_branch_together(Warp *warp, Group *group, uint32_t active, const Decoded *it)
{
    return is_converged(warp, active, it) ? jump_together(warp, group, it->target) : STEP_ON;
}

/* BRA.U [p,] label: only if all of them would, else none does. ptxas jumps so over code whose instructions have the
 * opposite guard. */
Step execute_branch_alike(Warp *warp, Group *group, uint32_t active, const Decoded *it)
{
    for (unsigned i = 0; i < it->operand_count; i++)
        EACH_LANE(lane, is_predicate(&it->operands[i]) ? active : 0)
        {
            active &= ~((uint32_t)!predicate(&warp->threads[lane], &it->operands[i]) << lane);
        }
    return active == group->lanes ? jump_together(warp, group, it->target) : STEP_ON;
}

/* Takes lanes out of the groups that wait. */
static void take_lanes(Warp *warp, uint32_t lanes)
{
    unsigned kept = 0;
    for (unsigned i = 0; i < warp->group_count; i++) {
        warp->groups[i].lanes &= ~lanes;
        if (warp->groups[i].lanes)
            warp->groups[kept++] = warp->groups[i];
    }
    warp->group_count = kept;
}

static uint32_t lanes_waiting(const Warp *warp, WaitKind wait)
{
    uint32_t lanes = 0;
    for (unsigned i = 0; i < warp->group_count; i++)
        lanes |= warp->groups[i].wait == wait ? warp->groups[i].lanes : 0;
    return lanes;
}

/* One set of threads that BSYNC can join. */
static bool release_join(Warp *warp)
{
    const uint32_t waiting = lanes_waiting(warp, WAIT_JOIN);
    EACH_LANE(lane, waiting)
    {
        const Thread *thread = &warp->threads[lane];
        const uint32_t members = (thread->joins[thread->join] | UINT32_C(1) << lane) & warp->live;
        bool all = !(members & ~waiting);
        EACH_LANE(other, all ? members : 0)
        {
            all &= warp->threads[other].join == thread->join;
        }
        if (all) {
            take_lanes(warp, members);
            go_on(warp, members, false);
            return true;
        }
    }
    return false;
}

/* The lanes that go on with one whose members all wait: they, and, at a plain WARPSYNC, those that it was together with
 * before. ptxas relies on that: for sm_86, it votes with all threads after WARPSYNC has waited for four masks. */
static uint32_t lanes_synchronized(const Warp *warp, uint32_t waiting, uint32_t lane, bool divides)
{
    const Thread *thread = &warp->threads[lane];
    const uint32_t members = thread->members & warp->live;
    uint32_t lanes = members;
    if (members & ~waiting)
        return 0;
    EACH_LANE(other, members)
    {
        if (warp->threads[other].members != thread->members)
            return 0;
    }
    EACH_LANE(other, divides ? 0 : waiting)
    {
        const Thread *its = &warp->threads[other];
        if (its->at == thread->at && (its->before >> lane & 1) && !(its->members & warp->live & ~waiting))
            lanes |= its->members & warp->live;
    }
    return lanes;
}

/* One set of threads that WARPSYNC can join. */
static bool release_warp(Warp *warp)
{
    const uint32_t waiting = lanes_waiting(warp, WAIT_WARP);
    EACH_LANE(lane, waiting)
    {
        const Decoded *it = &warp->block->program->code[warp->threads[lane].at];
        const bool is_exact = has(it, SUFFIX_EXCLUSIVE) || has(it, SUFFIX_COLLECTIVE);
        const uint32_t lanes = lanes_synchronized(warp, waiting, lane, is_exact);
        if (lanes) {
            take_lanes(warp, lanes);
            go_on(warp, lanes, is_exact);
            return true;
        }
    }
    return false;
}

void warp_release(Warp *warp)
{
    while (release_join(warp) || release_warp(warp))
        ;
}
