/* The cycles that one warp alone spends in the machine code.
 *
 * A warp issues in order. An instruction's control word gives the cycles that the next one waits, which covers results
 * with a known latency. The six scoreboards do the rest: an instruction with an unknown latency takes one for its
 * result and one for its operands, and whatever needs them waits for it. A block begins with the scoreboards left by
 * the blocks that most often come before it, so a loop waits for what its previous iterations loaded ahead. The same
 * holds for groups of asynchronous copies. */
#include "cost/internal.h"

#include <math.h>
#include <string.h>

enum {
    READ_LATENCY = 12,     /* until operands have been read */
    CONSTANT_LATENCY = 26, /* an indexed load that hits the constant cache */
    BARRIER_LATENCY = 20,
    TENSOR_LATENCY = 32,
    OTHER_LATENCY = 20, /* special registers, the uniform datapath */
};

typedef struct SassPath {
    const SassProfile *sm;
    const Device *device;
    LoadLatency load;
    double shared_latency;
} SassPath;

enum { MOST_GROUPS = 8 };

/* Cycles from the start of a block until the scoreboard is released, and until copies are done. */
typedef struct Scoreboards {
    double free[MACHINE_SCOREBOARDS];
    double copied; /* all that have been begun */
    double groups[MOST_GROUPS]; /* the latest groups, the oldest first; 0: there was none */
} Scoreboards;

/* How much more likely a load of n lines misses than one of its lines is n to the power of this: 1 if each missed on
 * its own, 0 if lanes that walk in step missed together. */
static const double lines_exponent = 0.7;

/* A load waits for the slowest of its lines. */
static double load_latency(const LoadLatency *load, const SassStep *step)
{
    if (step->fresh < 0)
        return load->global;
    const double fresh = step->fresh;
    const double other_misses = fmin(pow(step->lines, lines_exponent) * load->other_misses, 1);
    const double misses = fresh * load->fresh_misses + (1 - fresh) * other_misses;
    return load->hit + misses * (load->miss - load->hit);
}

static double result_latency(const SassPath *path, const SassStep *step)
{
    const Device *device = path->device;
    switch ((Pipe)step->pipe) {
    case PIPE_GLOBAL: return load_latency(&path->load, step);
    case PIPE_SHARED: return path->shared_latency;
    case PIPE_LOCAL: return path->load.local;
    case PIPE_CONSTANT: return CONSTANT_LATENCY;
    case PIPE_SPECIAL: return device->special_latency;
    case PIPE_FP64: return device->special_latency + WARP_THREADS / device->fp64;
    case PIPE_TENSOR: return TENSOR_LATENCY;
    case PIPE_BARRIER: return BARRIER_LATENCY;
    default: return OTHER_LATENCY;
    }
}

static void hold(Scoreboards *boards, unsigned board, double until)
{
    if (board < MACHINE_SCOREBOARDS && until > boards->free[board])
        boards->free[board] = until;
}

/* Begins, commits or waits for copies; the cycle from which on the step is past that. */
static double follow_copies(const SassPath *path, const SassStep *step, Scoreboards *boards, double now)
{
    const unsigned last = MOST_GROUPS - 1;
    if (step->copy == STEP_COPIES)
        boards->copied = now + path->load.global;
    if (step->copy == STEP_COMMITS) {
        memmove(boards->groups, boards->groups + 1, last * sizeof *boards->groups);
        boards->groups[last] = boards->copied;
    }
    if (step->copy == STEP_WAITS && step->left <= last && boards->groups[last - step->left] > now)
        return boards->groups[last - step->left];
    return now;
}

/* The cycles that the block takes; leaves the scoreboards as its successor finds them. */
static double run_block(const SassPath *path, const SassRun *run, Scoreboards *boards)
{
    double now = 0;
    for (size_t i = 0; i < run->count; i++) {
        const SassStep *step = &run->steps[i];
        for (unsigned board = 0; board < MACHINE_SCOREBOARDS; board++)
            if (step->wait & 1u << board && boards->free[board] > now)
                now = boards->free[board];
        hold(boards, step->write_barrier, now + result_latency(path, step));
        hold(boards, step->read_barrier, now + READ_LATENCY);
        now = follow_copies(path, step, boards, now);
        if (step->pipe == PIPE_BARRIER)
            now += BARRIER_LATENCY;
        now += step->stall ? step->stall : 1;
    }
    for (unsigned board = 0; board < MACHINE_SCOREBOARDS; board++)
        boards->free[board] = boards->free[board] > now ? boards->free[board] - now : 0;
    boards->copied = boards->copied > now ? boards->copied - now : 0;
    for (unsigned g = 0; g < MOST_GROUPS; g++)
        boards->groups[g] = boards->groups[g] > now ? boards->groups[g] - now : 0;
    return now;
}

/* The cycles of a block after those that most often come before it: as many of them as loads may need to arrive. The
 * iterations of a loop that loads ahead may wait by turns, so the mean counts, without the first one. */
static double run_after_others(const SassPath *path, const SassRun *run)
{
    enum { MOST_BLOCKS = 16, STEPS = 1000 };
    const SassRun *before[MOST_BLOCKS];
    unsigned count = 0;
    size_t steps = 0;
    for (const SassRun *at = run; at->before != SIZE_MAX && count < MOST_BLOCKS && steps < STEPS;) {
        at = before[count++] = &path->sm->runs[at->before];
        steps += at->count;
    }
    Scoreboards boards = {.copied = 0};
    double sum = 0;
    unsigned times = 0;
    while (count) {
        const SassRun *at = before[--count];
        const double cycles = run_block(path, at, &boards);
        if (at == run && times++ > 0)
            sum += cycles;
    }
    sum += run_block(path, run, &boards);
    return sum / (times > 1 ? times : 1);
}

/* Executions by a warp from which on code is fetched again: it is in a loop. */
static const double looped = 1.5;

static double share_between(double value, double low, double high)
{
    return value <= low ? 0 : value >= high ? 1 : (value - low) / (high - low);
}

/* The cycles for which a warp waits for each instruction of a loop because the loops do not fit into the caches of
 * instructions. Measured on an H100 with loops of independent products: up to 32 KiB, the only warp of a scheduler
 * executes an instruction in each cycle, with 64 to 128 KiB one in three, with 256 KiB one in six. */
static double fetch_cycles(const SassProfile *sm, double warps)
{
    enum { INSTRUCTION_BYTES = 16, KIB = 1024 };
    const double from_next_level = 2, from_l2 = 3;
    double bytes = 0;
    for (size_t i = 0; i < sm->run_count; i++)
        if (sm->runs[i].warps > looped * warps)
            bytes += (double)sm->runs[i].count * INSTRUCTION_BYTES;
    return from_next_level * share_between(bytes, 32 * KIB, 64 * KIB) +
           from_l2 * share_between(bytes, 128 * KIB, 192 * KIB);
}

WarpPath sass_path(const Profile *profile, const Device *device, LoadLatency latency, double warps)
{
    const SassProfile *sm = profile->sm;
    const double accesses = profile->shared_accesses > 0 ? profile->shared_accesses : 1;
    WarpPath sum = {0};
    const SassPath path = {sm, device, latency, device->shared_latency + profile->bank_conflicts / accesses};
    const double fetch = fetch_cycles(sm, warps);
    for (size_t i = 0; i < sm->run_count; i++) {
        const SassRun *run = &sm->runs[i];
        const double times = run->warps / warps;
        if (run->warps > 0)
            path_add(&sum, times, run_after_others(&path, run) + (times > looped ? fetch * (double)run->count : 0),
                     (double)run->count);
    }
    return sum;
}
