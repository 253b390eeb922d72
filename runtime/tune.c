/* The forms that -tune leaves beside a kernel. Launches of one shape take turns over them; events of the driver time
 * them, and are read when they are ready, never waited for. Once it is known which form is the fastest, launches only
 * look that up, and one is timed now and then, because the times of kernels may depend on their data.
 *
 * Nothing here may spoil a capture, another thread's included: the driver is called in the relaxed mode, and events are
 * recorded only in streams that are not captured. */
#include <pthread.h>
#include <stdlib.h>

#include "runtime/halving.h"
#include "runtime/runtime.h"

enum { TUNE_MAGIC = 0x4e545850, TUNE_FORMAT = 1, TUNE_HEADER = 32, MOST_TUNED = MOST_ARMS - 1 };
enum { MOST_LOST = 64 }; /* times of one shape; after that, none can be had */
enum { BUCKETS = 64, MOST_SHAPES = 4096, MOST_PENDING = 32, MOST_EVENTS = 256 };
/* Once a form is chosen: how many launches there are for one that is timed, at first; how many times are compared with
 * those that decided; and how often the forms are compared again, because a kernel's times may go up and down. */
enum { FIRST_INTERVAL = 64, WATCHED = 8, MOST_REPEATS = 6 };

typedef enum Mode { MODE_UNKNOWN, MODE_OFF, MODE_USE, MODE_LEARN } Mode;

/* A timed launch. */
typedef struct Pending {
    unsigned arm;
    void *events[2], *context;
} Pending;

/* All that is known about launches with the same numbers on the same device. 'next', 'device' and 'forms' never
 * change. */
typedef struct Shape {
    struct Shape *next;
    int device;
    /* Atomic: */
    int winner;               /* -1: not known */
    bool has_no_times;        /* they cannot be had */
    unsigned since, interval; /* launches since one was timed, and how many that shall be; 0: none is timed */
    /* Under the lock: */
    unsigned repeats;
    Race *race; /* NULL: decided, or there are no times */
    Pending pending[MOST_PENDING];
    unsigned first, pending_count;
    Estimate decided; /* the winner's time when it was decided */
    double share;     /* of the original's time; 0: unknown */
    unsigned timed;
    Arm watched;
    LaunchShape forms[]; /* the launches of the original and of the forms; no threads: such a form is not possible */
} Shape;

typedef struct Tuning {
    uint64_t hash;
    unsigned form_count;
    Contract forms[MOST_TUNED];
    const char *words[MOST_TUNED + 1]; /* of the original, "", and of the forms */
    char *table;
    int device; /* of a module's kernel */
    Shape *buckets[BUCKETS]; /* atomic */
    unsigned shape_count;
    pthread_mutex_t lock;
} Tuning;

static Mode tune_mode(void)
{
    static Mode known;
    Mode mode = __atomic_load_n(&known, __ATOMIC_RELAXED);
    if (mode != MODE_UNKNOWN)
        return mode;
    const char *word = getenv("PTXOPT_TUNE");
    mode = !word || !*word || strcmp(word, "learn") == 0 ? MODE_LEARN : strcmp(word, "use") == 0 ? MODE_USE : MODE_OFF;
    if (mode == MODE_OFF && strcmp(word, "off") != 0)
        fprintf(stderr, "ptxopt: warning: PTXOPT_TUNE=%s: expected 'learn', 'use' or 'off', which is assumed\n", word);
    __atomic_store_n(&known, mode, __ATOMIC_RELAXED);
    return mode;
}

/* Reading the forms of a kernel. */

/* Sets the words of the forms that the table names; false if it is of another format. */
static bool read_table(Tuning *tuning, size_t size, unsigned *first)
{
    uint32_t header[TUNE_HEADER / sizeof(uint32_t)];
    if (size <= TUNE_HEADER || tuning->table[size - 1])
        return false;
    memcpy(header, tuning->table, sizeof header);
    if (header[0] != TUNE_MAGIC || header[1] != TUNE_FORMAT || header[2] > MOST_TUNED || header[3] > header[2])
        return false;
    const char *at = tuning->table + TUNE_HEADER, *end = tuning->table + size;
    tuning->form_count = header[2];
    *first = header[3];
    tuning->hash = header[4] | (uint64_t)header[5] << 32;
    tuning->words[0] = "";
    for (unsigned i = 1; i <= tuning->form_count; i++, at += strlen(at) + 1) {
        if (at >= end)
            return false;
        tuning->words[i] = at;
    }
    return true;
}

static bool read_forms(Tuning *tuning, const Contract *contract, void *module, void *library)
{
    bool all = true;
    for (unsigned i = 0; i < tuning->form_count && all; i++) {
        const size_t size = strlen(contract->kernel) + sizeof "__ptxopt_form" + 4;
        char *name = malloc(size);
        if (!name)
            return false;
        snprintf(name, size, "%s__ptxopt_form%u", contract->kernel, i + 1);
        all = form_read(contract->driver, module, library, name, &tuning->forms[i]);
        free(name);
    }
    return all;
}

void tuning_free(Tuning *tuning)
{
    for (unsigned i = 0; tuning && i < tuning->form_count; i++)
        free(tuning->forms[i].kernel);
    if (tuning)
        free(tuning->table);
    free(tuning);
}

void tuning_read(Contract *contract, void *module, void *library)
{
    size_t size = 0;
    unsigned first = 0;
    Tuning *tuning = calloc(1, sizeof *tuning);
    if (!tuning)
        return;
    tuning->table = variable_read(contract->driver, module, library, "__ptxopt_tune_", contract->kernel, &size);
    if (!tuning->table || !read_table(tuning, size, &first) || !read_forms(tuning, contract, module, library)) {
        tuning_free(tuning);
        return;
    }
    pthread_mutex_init(&tuning->lock, NULL);
    if (first) {
        const Contract *form = &tuning->forms[first - 1];
        contract->is_coarsened = contract->is_beside = true;
        memcpy(contract->words, form->words, sizeof contract->words);
        contract->other = form->other;
        contract->function = form->function;
    }
    if (tune_mode() == MODE_OFF) {
        tuning_free(tuning);
        return;
    }
    if (!contract->driver->current_device || contract->driver->current_device(&tuning->device))
        tuning->device = 0;
    contract->tuning = tuning;
}

Contract *tuning_form(const Tuning *tuning, unsigned number)
{
    return number >= 1 && number <= tuning->form_count ? (Contract *)&tuning->forms[number - 1] : NULL;
}

/* Shapes. They are found without a lock, and stay until the program ends. */

static unsigned bucket_of(const LaunchShape *launch)
{
    uint64_t hash = launch->shared;
    for (unsigned d = 0; d < 3; d++)
        hash = (hash * 0x9e3779b97f4a7c15 + launch->grid[d]) * 0x9e3779b97f4a7c15 + launch->block[d];
    return (unsigned)(hash * 0x9e3779b97f4a7c15 >> 58);
}

static int device_of(const Contract *contract)
{
    int device = contract->tuning->device;
    if (contract->is_of_library && contract->driver->current_device && contract->driver->current_device(&device))
        device = 0;
    return device;
}

static Shape *shape_find(const Tuning *tuning, const LaunchShape *launch, int device)
{
    Shape *shape = __atomic_load_n(&tuning->buckets[bucket_of(launch)], __ATOMIC_ACQUIRE);
    while (shape && (shape->device != device || memcmp(shape->forms[0].grid, launch->grid, sizeof launch->grid) != 0 ||
                     memcmp(shape->forms[0].block, launch->block, sizeof launch->block) != 0 ||
                     shape->forms[0].shared != launch->shared))
        shape = shape->next;
    return shape;
}

/* Takes over what the store knows, if the form that it names is here. */
static void shape_recall(Shape *shape, const Contract *contract)
{
    const Tuning *tuning = contract->tuning;
    Learned learned;
    if (!learned_find(contract->driver, shape->device, tuning->hash, &shape->forms[0], &learned))
        return;
    for (unsigned i = 0; i <= tuning->form_count; i++)
        if (strcmp(tuning->words[i], learned.form) == 0 && shape->forms[i].block[0]) {
            shape->winner = (int)i;
            shape->decided = (Estimate){learned.launches, learned.milliseconds, learned.variance};
            shape->interval = FIRST_INTERVAL;
            shape->share = learned.original > 0 ? learned.milliseconds / learned.original : 0;
        }
}

static void race_start(Shape *shape, const Tuning *tuning)
{
    shape->race = malloc(sizeof *shape->race);
    if (!shape->race) {
        shape->has_no_times = true;
        return;
    }
    race_begin(shape->race, tuning->form_count + 1);
    for (unsigned i = 1; i <= tuning->form_count; i++)
        if (!shape->forms[i].block[0])
            race_drop(shape->race, i);
}

/* Makes a shape; NULL if there are too many, as in programs whose launches all differ. The caller holds the lock. */
static Shape *shape_new(Contract *contract, const LaunchShape *launch, int device)
{
    Tuning *tuning = contract->tuning;
    Shape **bucket = &tuning->buckets[bucket_of(launch)];
    const size_t size = sizeof(Shape) + (tuning->form_count + 1) * sizeof(LaunchShape);
    Shape *shape = tuning->shape_count < MOST_SHAPES ? calloc(1, size) : NULL;
    if (!shape)
        return NULL;
    for (unsigned i = 0; i <= tuning->form_count; i++) {
        shape->forms[i] = *launch;
        if (i && !form_adapt(&tuning->forms[i - 1], &shape->forms[i]))
            shape->forms[i].block[0] = 0;
    }
    shape->device = device;
    shape->winner = -1;
    shape_recall(shape, contract);
    if (shape->winner < 0 && tune_mode() == MODE_LEARN)
        race_start(shape, tuning);
    if (shape->race && shape->race->winner >= 0) {
        shape->winner = shape->race->winner;
        free(shape->race);
        shape->race = NULL;
    }
    shape->next = *bucket;
    __atomic_store_n(bucket, shape, __ATOMIC_RELEASE);
    tuning->shape_count++;
    return shape;
}

static Shape *shape_of_launch(Contract *contract, const LaunchShape *launch)
{
    const int device = device_of(contract);
    Shape *shape = shape_find(contract->tuning, launch, device);
    if (shape)
        return shape;
    pthread_mutex_lock(&contract->tuning->lock);
    shape = shape_find(contract->tuning, launch, device);
    if (!shape)
        shape = shape_new(contract, launch, device);
    pthread_mutex_unlock(&contract->tuning->lock);
    return shape;
}

/* Events. Pairs that are not in use are kept, each for its context. */

typedef struct EventPair {
    void *context, *events[2];
} EventPair;

static EventPair kept[MOST_EVENTS];
static unsigned kept_count, made_count;
static pthread_mutex_t events_lock = PTHREAD_MUTEX_INITIALIZER;

static bool can_time(const Driver *driver)
{
    return driver->event_create && driver->event_record && driver->event_query && driver->event_elapsed &&
           driver->current_context && driver->stream_is_capturing && driver->exchange_capture_mode;
}

static void relax(const Driver *driver, int *mode)
{
    *mode = CAPTURE_RELAXED;
    driver->exchange_capture_mode(mode);
}

static bool events_take(const Driver *driver, Timing *timing)
{
    bool is_found = false;
    pthread_mutex_lock(&events_lock);
    for (unsigned i = kept_count; i-- > 0 && !is_found;)
        if (kept[i].context == timing->context) {
            memcpy(timing->events, kept[i].events, sizeof timing->events);
            kept[i] = kept[--kept_count];
            is_found = true;
        }
    const bool is_new = !is_found && made_count < MOST_EVENTS;
    made_count += is_new;
    pthread_mutex_unlock(&events_lock);
    return is_found || (is_new && driver->event_create(&timing->events[0], 0) == 0 &&
                        driver->event_create(&timing->events[1], 0) == 0);
}

static void events_keep(void *context, void *const events[2])
{
    pthread_mutex_lock(&events_lock);
    if (kept_count < MOST_EVENTS)
        kept[kept_count++] = (EventPair){context, {events[0], events[1]}};
    pthread_mutex_unlock(&events_lock);
}

/* A pair that does not work is not used again: its context may be gone. */
static void events_lose(void)
{
    pthread_mutex_lock(&events_lock);
    made_count--;
    pthread_mutex_unlock(&events_lock);
}

/* The results of timed launches. The caller holds the lock. */

static void note_arms(const Shape *shape, const Contract *contract)
{
    const Tuning *tuning = contract->tuning;
    for (unsigned i = 0; i <= tuning->form_count; i++) {
        const Estimate estimate = arm_estimate(&shape->race->arms[i]);
        if (estimate.count)
            learned_note(contract->driver, shape->device, tuning->hash, &shape->forms[0], contract->kernel,
                         tuning->words[i], (int)i == shape->race->winner, estimate.count, estimate.mean,
                         estimate.variance);
    }
}

static void decide(Shape *shape, const Contract *contract)
{
    const Race *race = shape->race;
    const Estimate winner = arm_estimate(&race->arms[race->winner]), original = arm_estimate(&race->arms[0]);
    shape->decided = winner;
    shape->share = original.count && winner.count ? winner.mean / original.mean : 0;
    shape->watched = (Arm){0};
    if (winner.count) {
        note_arms(shape, contract);
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
    race_start(shape, tuning);
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
static void collect(Shape *shape, const Contract *contract, void *context)
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
            events_keep(pending.context, pending.events);
        else
            events_lose();
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
    const Shape *shape = shape_of_launch(contract, launch);
    return shape ? adapted_to(shape, __atomic_load_n(&shape->winner, __ATOMIC_ACQUIRE), adapted) : -1;
}

/* The arm to be timed; -1: none, and *leader is launched. */
static int take_turn(Shape *shape, const Contract *contract, void *context, int *leader)
{
    int arm = -1;
    pthread_mutex_lock(&contract->tuning->lock);
    collect(shape, contract, context);
    if (shape->race && shape->pending_count < MOST_PENDING)
        arm = race_next(shape->race);
    else if (!shape->race && !shape->pending_count)
        arm = shape->winner;
    const bool is_any_known = shape->race && shape->race->arms[0].count;
    *leader = !shape->race ? shape->winner : is_any_known ? (int)race_leader(shape->race) : -1;
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
    if (tune_mode() != MODE_LEARN)
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
    if (is_captured(driver, stream) || driver->current_context(&timing->context))
        return leader;
    const int arm = take_turn(shape, contract, timing->context, &leader);
    if (arm < 0)
        return leader;
    timing->arm = (unsigned)arm;
    timing->stream = stream;
    const bool has_events = events_take(driver, timing);
    if (!has_events || driver->event_record(timing->events[0], stream)) {
        if (has_events)
            events_lose();
        lose(shape, contract, timing->arm);
        return leader;
    }
    timing->shape = shape;
    return arm;
}

int tuning_turn(Contract *contract, const LaunchShape *launch, LaunchShape *adapted, void *stream, Timing *timing)
{
    Shape *shape = shape_of_launch(contract, launch);
    if (!shape)
        return -1;
    if (!is_due(shape) || !can_time(contract->driver))
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
        events_keep(timing->context, timing->events);
    else if (!is_timed)
        events_lose();
    timing->shape = NULL;
}

void tuning_drop(Contract *contract, Timing *timing, const LaunchShape *launch, unsigned number)
{
    Shape *shape = shape_of_launch(contract, launch);
    if (timing && timing->shape) {
        events_keep(timing->context, timing->events);
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
    pthread_mutex_lock(&tuning->lock);
    for (unsigned i = 0; i < BUCKETS; i++)
        for (const Shape *shape = tuning->buckets[i]; shape; shape = shape->next)
            print_shape(contract, shape, out);
    pthread_mutex_unlock(&tuning->lock);
}
