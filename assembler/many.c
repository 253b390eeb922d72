/* Several runs of one assembler at once, and runs in parallel with the caller: a thread for each, and for a library a
 * worker process. */
#include "assembler/internal.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <time.h>
#include <unistd.h>

enum { MOST_AT_ONCE = 64 };

unsigned assembler_width(void)
{
    long cores = sysconf(_SC_NPROCESSORS_ONLN);
    cpu_set_t allowed;
    if (sched_getaffinity(0, sizeof allowed, &allowed) == 0)
        cores = CPU_COUNT(&allowed);
    return cores < 1 ? 1 : cores > MOST_AT_ONCE ? MOST_AT_ONCE : (unsigned)cores;
}

/* The data that the threads share. */
typedef struct Batch {
    const AssemblyRequest *requests;
    Arena **arenas;
    Assembly *results;
    unsigned count;
    atomic_uint next; /* the first request that no thread has taken */
} Batch;

typedef struct Helper {
    pthread_t thread;
    Assembler *assembler;
    Batch *batch;
    bool started;
} Helper;

static void batch_work(Batch *batch, Assembler *assembler)
{
    for (unsigned i; (i = atomic_fetch_add(&batch->next, 1)) < batch->count;)
        assembler_run(assembler, batch->arenas[i], &batch->requests[i], &batch->results[i]);
}

static void *helper_main(void *context)
{
    Helper *helper = context;
    batch_work(helper->batch, helper->assembler);
    return NULL;
}

void assembler_run_many(Assembler *assembler, const AssemblyRequest *requests, Arena **arenas, Assembly *results,
                        unsigned count)
{
    Batch batch = {.requests = requests, .arenas = arenas, .results = results, .count = count};
    unsigned width = assembler_width(), others = (count < width ? count : width) - (count > 0);
    Helper helpers[MOST_AT_ONCE] = {0};
    assembler_hold_signals(assembler);
    for (unsigned i = 0; i < others; i++) {
        helpers[i] = (Helper){.assembler = assembler_twin_take(assembler), .batch = &batch};
        helpers[i].started =
            helpers[i].assembler && pthread_create(&helpers[i].thread, NULL, helper_main, &helpers[i]) == 0;
    }
    batch_work(&batch, assembler);
    for (unsigned i = 0; i < others; i++) {
        if (helpers[i].started)
            pthread_join(helpers[i].thread, NULL);
        if (helpers[i].assembler)
            assembler_twin_give(helpers[i].assembler);
    }
    assembler_release_signals(assembler);
}

struct AssemblyRun {
    Assembler *assembler, *twin;
    pthread_t thread;
    Arena *arena;
    AssemblyRequest request;
    Assembly *result;
};

static void *run_main(void *context)
{
    AssemblyRun *run = context;
    assembler_run(run->twin, run->arena, &run->request, run->result);
    return NULL;
}

AssemblyRun *assembler_start(Assembler *assembler, Arena *arena, const AssemblyRequest *request, Assembly *result)
{
    AssemblyRun *run = ARENA_NEW(arena, AssemblyRun);
    *run = (AssemblyRun){.assembler = assembler, .arena = arena, .request = *request, .result = result};
    assembler_hold_signals(assembler);
    run->twin = assembler_twin_take(assembler);
    if (run->twin && pthread_create(&run->thread, NULL, run_main, run) == 0)
        return run;
    if (run->twin)
        assembler_twin_give(run->twin);
    run->twin = NULL;
    assembler_run(assembler, arena, request, result);
    return run;
}

/* Joins the thread if it ends within this many milliseconds. */
static bool thread_ends(pthread_t thread, long milliseconds)
{
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_nsec += milliseconds * 1000000;
    until.tv_sec += until.tv_nsec / 1000000000;
    until.tv_nsec %= 1000000000;
    return pthread_timedjoin_np(thread, NULL, &until) != ETIMEDOUT;
}

void assembler_finish(AssemblyRun *run)
{
    if (run->twin) {
        while (!thread_ends(run->thread, WAITING_MS))
            assembler_waits(run->assembler, false);
        assembler_twin_give(run->twin);
        assembler_waits(run->assembler, true);
    }
    assembler_release_signals(run->assembler);
}
