/* Several runs of one assembler at once: a thread for each, and for a library a worker process for each. */
#include "assembler/internal.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
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

/* What the threads share. */
typedef struct Batch {
    const AssemblyRequest *requests;
    Arena **arenas;
    Assembly *results;
    unsigned count;
    atomic_uint next; /* the request that nobody has taken yet */
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
    /* The threads of a program inherit that ending signals stay pending, and this thread must not end the process while
     * they have temporary files.  Each run sees a pending signal through the file and stops early. */
    bool is_program = backend_of(assembler_kind(assembler))->program != NULL;
    SignalHold hold;
    if (is_program)
        signals_hold(&hold);
    for (unsigned i = 0; i < others; i++)
        helpers[i] = (Helper){.assembler = assembler_twin(assembler, i), .batch = &batch};
    assembler_stop_by(assembler, is_program ? hold.fd : -1);
    for (unsigned i = 0; i < others; i++)
        helpers[i].started =
            helpers[i].assembler && pthread_create(&helpers[i].thread, NULL, helper_main, &helpers[i]) == 0;
    batch_work(&batch, assembler);
    for (unsigned i = 0; i < others; i++)
        if (helpers[i].started)
            pthread_join(helpers[i].thread, NULL);
    assembler_stop_by(assembler, -1);
    if (is_program)
        signals_release(&hold);
}
