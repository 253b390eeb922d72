/* The cycles that one warp alone spends in the code.
 *
 * Assemblers order a basic block so that loads come first and their users last, so an instruction issues when its
 * inputs are available, not when its predecessors in the text have issued. A run ends when its last instruction has
 * issued, and after at least one cycle for each; results that are still pending are waited for where they are used. */
#include "cost/internal.h"

#include <math.h>

enum {
    SLOW_PASSES = 4,       /* a division or root: a reciprocal or the like, and a few multiply-adds that depend on it */
    CONSTANT_LATENCY = 8,  /* a hit in the constant cache */
    BARRIER_LATENCY = 20,
    TENSOR_LATENCY = 32,
    BRANCH_LATENCY = 8,
    LINE_LATENCY = 2,      /* for each further line of an access */
};

static double instruction_latency(const InstProfile *inst, const Device *device, LoadLatency load)
{
    double executions = inst->warps > 0 ? inst->warps : 1;
    switch (inst->unit.pipe) {
    case PIPE_GLOBAL:
        if (!inst->unit.is_load)
            return 1;
        return load.global + LINE_LATENCY * (inst->lines > executions ? inst->lines / executions - 1 : 0);
    case PIPE_SHARED:
        return inst->unit.is_store && !inst->unit.is_load ? 1
                                                          : device->shared_latency + inst->bank_conflicts / executions;
    case PIPE_LOCAL: return inst->unit.is_load ? load.local : 1;
    case PIPE_CONSTANT: return CONSTANT_LATENCY;
    case PIPE_SPECIAL: return device->special_latency * (inst->unit.is_slow ? 2 : 1);
    case PIPE_FP64: return 32 * device->alu_latency / device->fp64 * (inst->unit.is_slow ? SLOW_PASSES : 1);
    case PIPE_TENSOR: return TENSOR_LATENCY;
    case PIPE_BARRIER: return BARRIER_LATENCY;
    case PIPE_CONTROL: return BRANCH_LATENCY;
    case PIPE_MULTIPLY:
    case PIPE_INTEGER: return device->alu_latency * (inst->unit.is_slow ? SLOW_PASSES + 1 : 1);
    default: return device->alu_latency;
    }
}

typedef struct Path {
    const Profile *profile;
    const Device *device;
    LoadLatency load;
    double *pending; /* for each instruction: cycles from the end of its run until its result is available; 0: it is */
} Path;

/* The time at which an input is available, from the start of the run. An input from another run that executes less
 * often than this one is waited for only that often. */
static double input_ready(const Path *path, const RunProfile *run, const InstProfile *inst, size_t input,
                          const double *finish)
{
    if (input >= run->first)
        return finish[input - run->first];
    double executions = path->profile->instructions[input].warps;
    return path->pending[input] * (executions < inst->warps ? executions / inst->warps : 1);
}

/* The cycles from the run's start until its last instruction has issued. */
static double run_path(Path *path, const RunProfile *run, double *finish)
{
    const Profile *profile = path->profile;
    double end = (double)run->count;
    for (size_t i = 0; i < run->count; i++) {
        const InstProfile *inst = &profile->instructions[run->first + i];
        double start = 0;
        for (unsigned k = 0; k < inst->input_count; k++) {
            double ready = input_ready(path, run, inst, profile->inputs[inst->first_input + k], finish);
            start = ready > start ? ready : start;
        }
        double latency = instruction_latency(inst, path->device, path->load);
        finish[i] = start + latency;
        /* Nothing overtakes a branch or a barrier. */
        bool is_waited_for = inst->unit.pipe == PIPE_CONTROL || inst->unit.pipe == PIPE_BARRIER;
        end = start + (is_waited_for ? latency : 1) > end ? start + (is_waited_for ? latency : 1) : end;
    }
    for (size_t i = 0; i < run->count; i++)
        path->pending[run->first + i] = finish[i] > end ? finish[i] - end : 0;
    return end;
}

void path_add(WarpPath *path, double times, double cycles, double steps)
{
    const double alike = 1e-3; /* of the warps */
    path->cycles += times * cycles;
    path->steps += times * steps;
    if (fabs(times - round(times)) > alike || times < alike) {
        path->other_cycles += times * cycles;
        path->other_steps += times * steps;
    }
}

double path_spread(const WarpPath *path)
{
    if (!(path->other_steps > 0) || !(path->cycles > 0))
        return 1;
    return fmin(path->other_cycles / path->other_steps * path->steps / path->cycles, 1);
}

WarpPath warp_path(const Profile *profile, const Device *device, LoadLatency latency, double warps)
{
    size_t most = 1;
    for (size_t i = 0; i < profile->run_count; i++)
        most = profile->runs[i].count > most ? profile->runs[i].count : most;
    Arena *scratch = arena_new();
    double *finish = ARENA_ARRAY(scratch, double, most);
    WarpPath sum = {0};
    Path path = {profile, device, latency, ARENA_ARRAY(scratch, double, profile->instruction_count + 1)};
    for (size_t i = 0; i < profile->run_count; i++) {
        const RunProfile *run = &profile->runs[i];
        double executions = run->count ? profile->instructions[run->first].warps : 0;
        if (executions > 0)
            path_add(&sum, executions / warps, run_path(&path, run, finish), (double)run->count);
    }
    arena_free(scratch);
    return sum;
}
