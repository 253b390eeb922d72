/* The forms that -tune leaves beside a kernel. Launches of one shape take turns over them; events of the driver time
 * them, and are read when they are ready, never waited for. Once it is known which form is the fastest, launches only
 * look that up, and one is timed now and then, because the times of kernels may depend on their data.
 *
 * Nothing here may spoil a capture, another thread's included: the driver is called in the relaxed mode, and events are
 * recorded only in streams that are not captured. */
#include <stdlib.h>

#include "runtime/tuning.h"

enum { MOST_LOST = 64 }; /* times of one shape; after that, none can be had */
/* How many times are compared with those that decided; and how often the forms are compared again, because a kernel's
 * times may go up and down. */
enum { WATCHED = 8, MOST_REPEATS = 6 };

static void relax(const Driver *driver, int *mode)
{
    *mode = CAPTURE_RELAXED;
    driver->exchange_capture_mode(mode);
}

/* The results of timed launches. The caller holds the lock. */

/* The times of other forms are noted as they would be in the winner's rounds: an arm that has dropped out has run only
 * in the first ones, which may have been slower. */
static void note_arms(const Shape *shape, const Contract *contract, const Comparison *comparison)
{
    const Tuning *tuning = contract->tuning;
    const unsigned winner = (unsigned)shape->race->winner;
    for (unsigned i = 0; i <= tuning->form_count; i++) {
        const Estimate *raw = &comparison->raw[i];
        if (raw->count)
            learned_note(contract->driver, shape->device, tuning->hash, &shape->forms[0], contract->kernel,
                         tuning->words[i], i == winner, raw->count,
                         comparison->raw[winner].mean * arm_share(comparison, i, winner), raw->variance);
    }
}

static void decide(Shape *shape, const Contract *contract)
{
    const Race *race = shape->race;
    Comparison comparison;
    race_compare(race, &comparison);
    const Estimate *winner = &comparison.raw[race->winner], *original = &comparison.raw[0];
    shape->decided = *winner;
    shape->share = original->count && winner->count ? arm_share(&comparison, (unsigned)race->winner, 0) : 0;
    shape->watched = (Arm){0};
    if (winner->count) {
        note_arms(shape, contract, &comparison);
        __atomic_store_n(&shape->interval, FIRST_INTERVAL << shape->repeats, __ATOMIC_RELAXED);
    }
    __atomic_store_n(&shape->winner, race->winner, __ATOMIC_RELEASE);
    free(shape->race);
    shape->race = NULL;
}

/* Looks at the times since the decision; if they are others now, the forms are compared again. */
static void watch(Shape *shape, const Tuning *tuning, float milliseconds)
{
    enum { MUCH = 4 }; /* a quarter */
    Arm *arm = &shape->watched;
    arm->samples[arm->count++] = milliseconds;
    if (arm->count < WATCHED)
        return;
    const Estimate now = arm_estimate(arm), *then = &shape->decided;
    const double difference = now.mean > then->mean ? now.mean - then->mean : then->mean - now.mean;
    const bool differs = difference * MUCH > then->mean &&
                         (is_slower(then, &now, CERTAIN_HUNDREDTH) || is_slower(&now, then, CERTAIN_HUNDREDTH));
    *arm = (Arm){0};
    if (!differs || shape->repeats >= MOST_REPEATS)
        return;
    shape->repeats++;
    tuning_race(shape, tuning);
    if (shape->race)
        __atomic_store_n(&shape->winner, -1, __ATOMIC_RELEASE);
}

/* Launches have the predicted form from now on. */
static void give_up(Shape *shape)
{
    free(shape->race);
    shape->race = NULL;
    __atomic_store_n(&shape->has_no_times, true, __ATOMIC_RELAXED);
}

static void receive(Shape *shape, const Contract *contract, const Pending *pending, float milliseconds)
{
    shape->timed += milliseconds > 0;
    if (shape->race) {
        race_add(shape->race, pending->arm, milliseconds);
        if (shape->race->winner >= 0)
            decide(shape, contract);
        else if (shape->race->lost >= MOST_LOST)
            give_up(shape);
    } else if (milliseconds > 0 && (int)pending->arm == shape->winner) {
        watch(shape, contract->tuning, milliseconds);
    }
}

/* Receives the launches that have ended, in their order. Events of a context that is gone are forgotten. */
static void collect(Shape *shape, const Contract *contract, unsigned long long context)
{
    enum { NOT_READY = 600 };
    const Driver *driver = contract->driver;
    while (shape->pending_count) {
        const Pending pending = shape->pending[shape->first];
        float milliseconds = 0;
        int state = pending.context == context ? driver->event_query(pending.events[1]) : 0;
        if (state == NOT_READY)
            return;
        const bool is_known = pending.context == context && state == 0 &&
                              driver->event_elapsed(&milliseconds, pending.events[0], pending.events[1]) == 0;
        shape->first = (shape->first + 1) % MOST_PENDING;
        shape->pending_count--;
        if (is_known)
            timing_keep(pending.context, pending.events);
        else
            timing_lose();
        receive(shape, contract, &pending, is_known ? milliseconds : 0);
    }
}

/* Turns. */

/* Sets the launch of a form, if one is given. */
static int adapted_to(const Shape *shape, int number, LaunchShape *adapted)
{
    if (number >= 0)
        *adapted = shape->forms[number];
    return number;
}

int tuning_known(Contract *contract, const LaunchShape *launch, LaunchShape *adapted)
{
    const Shape *shape = tuning_shape(contract, launch);
    return shape ? adapted_to(shape, __atomic_load_n(&shape->winner, __ATOMIC_ACQUIRE), adapted) : -1;
}

/* Receives what has ended of a kernel's launches. */
static void collect_kernel(Contract *contract, unsigned long long context)
{
    Tuning *tuning = contract->tuning;
    pthread_mutex_lock(&tuning->lock);
    for (unsigned i = 0; i < BUCKETS; i++)
        for (Shape *shape = tuning->buckets[i]; shape; shape = shape->next)
            collect(shape, contract, context);
    pthread_mutex_unlock(&tuning->lock);
}

/* Takes a pair of events, if all are in use one of a launch that has ended meanwhile. */
static bool events_find(const Driver *driver, Timing *timing)
{
    if (timing_take(driver, timing))
        return true;
    tuning_each(collect_kernel, timing->context);
    return timing_take(driver, timing);
}

/* The arm to be timed; -1: none, and *leader is launched. */
static int take_turn(Shape *shape, const Contract *contract, unsigned long long context, int *leader)
{
    int arm = -1;
    pthread_mutex_lock(&contract->tuning->lock);
    collect(shape, contract, context);
    if (shape->race && shape->pending_count < MOST_PENDING)
        arm = race_next(shape->race);
    else if (!shape->race && !shape->pending_count)
        arm = shape->winner;
    *leader = shape->race ? shape->race->leader : shape->winner;
    pthread_mutex_unlock(&contract->tuning->lock);
    return arm;
}

/* A launch whose timing was begun cannot be timed after all. */
static void lose(Shape *shape, const Contract *contract, unsigned arm)
{
    const Pending pending = {.arm = arm};
    pthread_mutex_lock(&contract->tuning->lock);
    receive(shape, contract, &pending, 0);
    pthread_mutex_unlock(&contract->tuning->lock);
}

/* True if this launch is to be timed: all are while nothing is known, and then one of many. */
static bool is_due(Shape *shape)
{
    if (tuning_mode() != MODE_LEARN)
        return false;
    if (__atomic_load_n(&shape->winner, __ATOMIC_ACQUIRE) < 0)
        return !__atomic_load_n(&shape->has_no_times, __ATOMIC_RELAXED);
    const unsigned interval = __atomic_load_n(&shape->interval, __ATOMIC_RELAXED);
    if (!interval || __atomic_add_fetch(&shape->since, 1, __ATOMIC_RELAXED) < interval)
        return false;
    __atomic_store_n(&shape->since, 0, __ATOMIC_RELAXED);
    return true;
}

static bool is_captured(const Driver *driver, void *stream)
{
    int status = 0;
    return driver->stream_is_capturing(stream, &status) != 0 || status != 0;
}

static int begin_timing(Shape *shape, Contract *contract, void *stream, Timing *timing)
{
    const Driver *driver = contract->driver;
    int leader = __atomic_load_n(&shape->winner, __ATOMIC_ACQUIRE);
    if (is_captured(driver, stream) || !timing_find_context(driver, &timing->context))
        return leader;
    const int arm = take_turn(shape, contract, timing->context, &leader);
    if (arm < 0)
        return leader;
    timing->arm = (unsigned)arm;
    timing->stream = stream;
    const bool has_events = events_find(driver, timing);
    if (!has_events || driver->event_record(timing->events[0], stream)) {
        if (has_events)
            timing_lose();
        lose(shape, contract, timing->arm);
        return leader;
    }
    timing->shape = shape;
    return arm;
}

int tuning_turn(Contract *contract, const LaunchShape *launch, LaunchShape *adapted, void *stream, Timing *timing)
{
    Shape *shape = tuning_shape(contract, launch);
    if (!shape)
        return -1;
    if (!is_due(shape) || !timing_is_possible(contract->driver))
        return adapted_to(shape, __atomic_load_n(&shape->winner, __ATOMIC_ACQUIRE), adapted);
    int mode;
    relax(contract->driver, &mode);
    const int number = begin_timing(shape, contract, stream, timing);
    contract->driver->exchange_capture_mode(&mode);
    return adapted_to(shape, number, adapted);
}

void tuning_end(Contract *contract, Timing *timing, int error)
{
    const Driver *driver = contract->driver;
    Shape *shape = timing->shape;
    int mode;
    relax(driver, &mode);
    const bool is_timed = error == 0 && driver->event_record(timing->events[1], timing->stream) == 0;
    driver->exchange_capture_mode(&mode);
    pthread_mutex_lock(&contract->tuning->lock);
    if (is_timed && shape->pending_count < MOST_PENDING) {
        Pending *pending = &shape->pending[(shape->first + shape->pending_count++) % MOST_PENDING];
        *pending = (Pending){timing->arm, {timing->events[0], timing->events[1]}, timing->context};
    } else {
        receive(shape, contract, &(Pending){.arm = timing->arm}, 0);
    }
    pthread_mutex_unlock(&contract->tuning->lock);
    if (!is_timed && error)
        timing_keep(timing->context, timing->events);
    else if (!is_timed)
        timing_lose();
    timing->shape = NULL;
}

void tuning_drop(Contract *contract, Timing *timing, const LaunchShape *launch, unsigned number)
{
    Shape *shape = tuning_shape(contract, launch);
    if (timing && timing->shape) {
        timing_keep(timing->context, timing->events);
        timing->shape = NULL;
    }
    if (!shape)
        return;
    pthread_mutex_lock(&contract->tuning->lock);
    if (shape->race)
        race_drop(shape->race, number);
    if (shape->race && shape->race->winner >= 0)
        decide(shape, contract);
    else if (!shape->race)
        __atomic_store_n(&shape->winner, 0, __ATOMIC_RELEASE);
    pthread_mutex_unlock(&contract->tuning->lock);
}

/* The report. */

static void print_shape(const Contract *contract, const Shape *shape, FILE *out)
{
    const LaunchShape *launch = &shape->forms[0];
    fprintf(out, "ptxopt: kernel '%s', grid %u,%u,%u, block %u,%u,%u", contract->kernel, launch->grid[0],
            launch->grid[1], launch->grid[2], launch->block[0], launch->block[1], launch->block[2]);
    if (launch->shared)
        fprintf(out, ", %zu bytes", launch->shared);
    const char *words = shape->winner > 0 ? contract->tuning->words[shape->winner] : "the original";
    if (shape->winner < 0)
        fprintf(out, ": not known yet, %u launches timed\n", shape->timed);
    else if (shape->winner > 0 && shape->share > 0)
        fprintf(out, ": %s, in %.2f of the original's time, %u launches timed\n", words, shape->share, shape->timed);
    else
        fprintf(out, ": %s, %u launches timed\n", words, shape->timed);
}

void tuning_print(const Contract *contract, FILE *out)
{
    Tuning *tuning = contract->tuning;
    if (!tuning)
        return;
    for (unsigned i = 0; tuning->is_preferred && i < tuning->form_count; i++)
        fprintf(out, "ptxopt: kernel '%s': launches of the form '%s': %lu\n", contract->kernel, tuning->words[i + 1],
                tuning->forms[i].adapted);
    pthread_mutex_lock(&tuning->lock);
    for (unsigned i = 0; i < BUCKETS; i++)
        for (const Shape *shape = tuning->buckets[i]; shape; shape = shape->next)
            print_shape(contract, shape, out);
    pthread_mutex_unlock(&tuning->lock);
}
