/* Running the blocks of a launch on several cores.
 *
 * This is done only if the order of the blocks cannot be observed: no block waits for another, and blocks share data
 * only through atomics that commute exactly and whose results are unused. Each core has its own Emulator; they share
 * only the bytes of global memory. If races are checked, the accesses of the cores are compared at the end. After a
 * fault or a possible race, the launch runs again on one core, so that results, counters and messages are always those
 * of one core. */
#include "emulator/run.h"

#include <errno.h>
#include <pthread.h>
#include <time.h>

enum { PAUSE_NS = 50000000, SECOND_NS = 1000000000 };

typedef struct Worker {
    pthread_t thread;
    Emulator *emulator;
    bool started, done_well;
} Worker;

bool parallel_possible(const Emulator *emulator)
{
    const EmulatorOptions *options = &emulator->options;
    uint64_t blocks = (uint64_t)emulator->grid[0] * emulator->grid[1] * emulator->grid[2];
    if (options->jobs < 2 || blocks < 2 || options->resident_blocks > 1 || options->watch)
        return false;
    if (emulator->cluster[0] * emulator->cluster[1] * emulator->cluster[2] > 1)
        return false;
    return run_is_repeatable(emulator);
}

static void *work(void *data)
{
    Worker *worker = data;
    worker->done_well = emulator_run_launch(worker->emulator);
    return NULL;
}

/* Waits for the threads to end; meanwhile the caller may still end the run. */
static void workers_join(Emulator *emulator, Worker *workers, unsigned count)
{
    const EmulatorPoll *poll = emulator->options.poll;
    for (unsigned i = 1; i < count; i++) {
        if (!workers[i].started)
            continue;
        struct timespec until;
        clock_gettime(CLOCK_REALTIME, &until);
        do {
            until.tv_nsec += PAUSE_NS;
            until.tv_sec += until.tv_nsec / SECOND_NS;
            until.tv_nsec %= SECOND_NS;
            if (poll && poll->is_over(poll->context, 1))
                __atomic_store_n(&emulator->is_stopped, true, __ATOMIC_RELAXED);
        } while (pthread_timedjoin_np(workers[i].thread, NULL, &until) == ETIMEDOUT);
    }
}

static void counts_add(EmulatorCounters *sum, const EmulatorCounters *more)
{
    _Static_assert(sizeof(EmulatorCounters) % sizeof(uint64_t) == 0, "counters are all 64 bits wide");
    uint64_t *to = (uint64_t *)sum;
    const uint64_t *from = (const uint64_t *)more;
    for (size_t i = 0; i < sizeof *sum / sizeof *to; i++)
        to[i] += from[i];
}

/* Adds a worker's counts to those of the first Emulator. */
static void worker_collect(Emulator *emulator, const Emulator *worker)
{
    counts_add(&emulator->result->counters, &worker->result->counters);
    emulator->steps += worker->steps;
    for (size_t i = 0; i < emulator->code_list.count; i++) {
        Code *to = emulator->code_list.data[i];
        const Code *from = worker->code_list.data[i];
        for (size_t k = 0; k < to->ops.count; k++) {
            to->executed[k] += from->executed[k];
            to->threads[k] += from->threads[k];
            if (to->costs) {
                to->costs[k].sectors += from->costs[k].sectors;
                to->costs[k].lines += from->costs[k].lines;
                to->costs[k].wavefronts += from->costs[k].wavefronts;
                to->costs[k].bank_conflicts += from->costs[k].bank_conflicts;
                to->costs[k].divergent_branches += from->costs[k].divergent_branches;
                to->costs[k].fresh += from->costs[k].fresh;
            }
        }
    }
}

static bool worker_is_fine(Emulator *emulator, const Worker *worker)
{
    if (!worker->started || !worker->done_well || worker->emulator->forgot_accesses)
        return false;
    for (unsigned i = 0; i < emulator->slot_count; i++)
        if (!race_merge(emulator, emulator->slots[i], worker->emulator->slots[i]))
            return false;
    for (unsigned i = 0; i < emulator->slot_count; i++)
        reuse_merge(emulator->slots[i], worker->emulator->slots[i]);
    worker_collect(emulator, worker->emulator);
    return true;
}

bool parallel_run(Emulator *emulator)
{
    uint64_t blocks = (uint64_t)emulator->grid[0] * emulator->grid[1] * emulator->grid[2], next = 0;
    unsigned count = emulator->options.jobs < blocks ? emulator->options.jobs : (unsigned)blocks;
    Worker *workers = ARENA_ARRAY(emulator->arena, Worker, count);
    pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    bool fine = true;
    emulator->next_block = &next;
    emulator->atomics = &lock;
    workers[0].emulator = emulator;
    for (unsigned i = 1; i < count; i++)
        workers[i].emulator = emulator_new_worker(emulator);
    for (unsigned i = 1; i < count; i++)
        workers[i].started = pthread_create(&workers[i].thread, NULL, work, &workers[i]) == 0;
    work(&workers[0]);
    workers_join(emulator, workers, count);
    fine = workers[0].done_well && !emulator->forgot_accesses && !emulator->is_stopped;
    /* If a thread could not be created, the others have run its blocks. */
    for (unsigned i = 1; i < count; i++) {
        emulator->misses_reads |= workers[i].emulator->misses_reads;
        fine = fine && (!workers[i].started || worker_is_fine(emulator, &workers[i]));
    }
    for (unsigned i = 1; i < count; i++)
        emulator_end(workers[i].emulator);
    pthread_mutex_destroy(&lock);
    emulator->atomics = NULL;
    emulator->next_block = NULL;
    return fine && emulator->steps <= emulator_step_limit(emulator);
}
