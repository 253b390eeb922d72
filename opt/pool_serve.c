/* Whether the pool of a block serves its warpgroups, in all orders in which they may come to their steps. */
#include <string.h>

#include "opt/pool.h"

enum {
    STATES_MOST = 1 << 14,
};

unsigned pool_most(const Pool *pool)
{
    unsigned most = 0;
    for (unsigned g = 0; g < pool->group_count; g++)
        for (unsigned i = 0; i < pool->groups[g].step_count; i++) {
            const PoolStep *step = &pool->groups[g].steps[i];
            if (step->increases && step->registers > most)
                most = step->registers;
        }
    return most;
}

/* The registers of each thread after this many steps; false if a .dec leaves more than there are, which *faulty then
 * is. */
static bool registers_after(const PoolGroup *group, unsigned steps, unsigned launch, unsigned *has, unsigned *faulty)
{
    *has = launch;
    for (unsigned i = 0; i < steps; i++) {
        const PoolStep *step = &group->steps[i];
        if (!step->increases && step->registers > *has) {
            *faulty = i;
            return false;
        }
        if (!step->increases || step->registers > *has)
            *has = step->registers;
    }
    return true;
}

typedef struct Orders {
    const Pool *pool;
    unsigned held[POOL_GROUPS][POOL_STEPS + 1]; /* after this number of steps */
    unsigned all;                               /* registers of one thread of each warpgroup, at launch */
    unsigned stride[POOL_GROUPS];               /* of a group's steps in a state's number */
    unsigned states;
} Orders;

static unsigned steps_done(const Orders *orders, unsigned state, unsigned group)
{
    return state / orders->stride[group] % (orders->pool->groups[group].step_count + 1);
}

static unsigned held_in_all(const Orders *orders, unsigned state, unsigned *held)
{
    unsigned sum = 0;
    for (unsigned g = 0; g < orders->pool->group_count; g++) {
        held[g] = orders->held[g][steps_done(orders, state, g)];
        sum += held[g];
    }
    return sum;
}

/* Marks the states after one more step; true if there is one. */
static bool states_follow(const Orders *orders, unsigned state, bool *reached)
{
    unsigned held[POOL_GROUPS];
    const unsigned left = orders->all - held_in_all(orders, state, held);
    bool any = false;
    for (unsigned g = 0; g < orders->pool->group_count; g++) {
        const unsigned done = steps_done(orders, state, g);
        if (done == orders->pool->groups[g].step_count)
            continue;
        const unsigned next = orders->held[g][done + 1];
        if (next > held[g] && next - held[g] > left)
            continue;
        reached[state + orders->stride[g]] = true;
        any = true;
    }
    return any;
}

static void describe(const Orders *orders, unsigned state, PoolOutcome *outcome)
{
    outcome->left = orders->all - held_in_all(orders, state, outcome->held);
    for (unsigned g = 0; g < orders->pool->group_count; g++) {
        const unsigned done = steps_done(orders, state, g);
        if (done == orders->pool->groups[g].step_count)
            continue;
        outcome->group = g;
        outcome->step = orders->pool->groups[g].steps[done];
        outcome->has = outcome->held[g];
        return;
    }
}

static PoolOutcome orders_try(const Orders *orders)
{
    PoolOutcome outcome = {.verdict = POOL_SERVED}, end = outcome;
    bool reached[STATES_MOST] = {true}, is_stuck = false;
    /* A step leads to a state of a higher number. */
    for (unsigned state = 0; state < orders->states; state++) {
        if (!reached[state] || state + 1 == orders->states || states_follow(orders, state, reached) || is_stuck)
            continue;
        is_stuck = true;
        describe(orders, state, &outcome);
    }
    if (!is_stuck) {
        describe(orders, orders->states - 1, &end);
        return end;
    }
    outcome.verdict = reached[orders->states - 1] ? POOL_MAY_STICK : POOL_STUCK;
    return outcome;
}

PoolOutcome pool_serve(const Pool *pool, unsigned launch)
{
    Orders orders = {.pool = pool, .all = launch * pool->group_count, .states = 1};
    require(pool->open == POOL_KNOWN);
    for (unsigned g = 0; g < pool->group_count; g++) {
        const PoolGroup *group = &pool->groups[g];
        unsigned faulty = 0;
        for (unsigned i = 0; i <= group->step_count; i++)
            if (!registers_after(group, i, launch, &orders.held[g][i], &faulty))
                return (PoolOutcome){.verdict = POOL_TOO_FEW,
                                     .group = g,
                                     .step = group->steps[faulty],
                                     .has = orders.held[g][faulty]};
        orders.stride[g] = orders.states;
        orders.states *= group->step_count + 1;
        if (orders.states > STATES_MOST)
            return (PoolOutcome){.verdict = POOL_NOT_TRIED};
    }
    return orders_try(&orders);
}
