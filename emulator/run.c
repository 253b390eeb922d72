/* Runs of whole launches. */
#include "emulator/run.h"

static void fault_keep(Arena *arena, EmulatorFault *fault)
{
    if (fault->message)
        fault->message = arena_strndup(arena, fault->message, strlen(fault->message));
    if (fault->source)
        fault->source = arena_strndup(arena, fault->source, strlen(fault->source));
}

/* Copies the results that the caller keeps to its arena. */
static void result_keep(Arena *arena, EmulatorResult *result, bool drops_buffers)
{
    if (drops_buffers)
        result->buffer_count = 0;
    EmulatorBuffer *buffers = ARENA_ARRAY(arena, EmulatorBuffer, result->buffer_count);
    for (unsigned i = 0; i < result->buffer_count; i++) {
        buffers[i] = result->buffers[i];
        buffers[i].bytes = arena_alloc(arena, (size_t)buffers[i].size);
        memcpy(buffers[i].bytes, result->buffers[i].bytes, (size_t)buffers[i].size);
    }
    result->buffers = buffers;
    if (result->blocks) {
        EmulatorBlock *blocks = ARENA_ARRAY(arena, EmulatorBlock, result->block_count);
        memcpy(blocks, result->blocks, (size_t)result->block_count * sizeof *blocks);
        result->blocks = blocks;
    }
    fault_keep(arena, &result->fault);
    fault_keep(arena, &result->outside);
}

/* An Emulator for the same launch and result, after a run that cannot be used. */
static Emulator *emulator_again(Emulator *emulator, const EmulatorOptions *options)
{
    EmulatorResult *result = emulator->result;
    const Module *module = emulator->module;
    const Launch *launch = emulator->launch;
    emulator_end(emulator);
    *result = (EmulatorResult){0};
    return emulator_new(module, launch, result, options);
}

/* False, with nothing reported, if the launch must run again with all reads recorded. */
static bool run_alone(Emulator *emulator)
{
    emulator_run_launch(emulator);
    return !emulator->misses_reads;
}

/* Runs a prepared launch, on several cores if that is possible. Returns the Emulator that did so. */
static Emulator *run_whole(Emulator *emulator, EmulatorOptions *options)
{
    emulator->can_skip_reads = options->check_races && run_is_repeatable(emulator);
    while (!(parallel_possible(emulator) ? parallel_run(emulator) : run_alone(emulator))) {
        const bool can_skip_reads = emulator->can_skip_reads && !emulator->misses_reads;
        if (!emulator->misses_reads)
            options->jobs = 1;
        emulator = emulator_again(emulator, options);
        if (!emulator_prepare(emulator))
            break;
        emulator->can_skip_reads = can_skip_reads;
    }
    return emulator;
}

/* Runs the launch, or a part that stands for it. Returns the Emulator that did so. */
static Emulator *run_best(Emulator *emulator, const EmulatorOptions *options)
{
    EmulatorOptions rest = *options;
    bool is_ready = emulator_prepare(emulator);
    for (unsigned more = 0; more < 2 && is_ready && sample_prepare(emulator, more); more++) {
        if (!emulator_run_launch(emulator) || sample_end(emulator))
            return emulator;
        emulator = emulator_again(emulator, &rest);
        is_ready = emulator_prepare(emulator);
    }
    return is_ready ? run_whole(emulator, &rest) : emulator;
}

EmulatorResult *emulator_run(Arena *arena, const Module *module, const Launch *launch, const EmulatorOptions *options)
{
    const EmulatorOptions none = {0};
    EmulatorResult *result = ARENA_NEW(arena, EmulatorResult);
    Emulator *emulator = run_best(emulator_new(module, launch, result, options), options ? options : &none);
    counters_collect(emulator);
    if (!emulator->sample)
        reuse_collect(emulator);
    if (emulator->options.count_lines)
        lines_collect(arena, emulator);
    if (emulator->options.count_instructions)
        instructions_collect(arena, emulator);
    result_keep(arena, result, emulator->options.drops_buffers);
    emulator_end(emulator);
    return result;
}

void emulator_load(const Module *module, const EmulatorDevice *device)
{
    const Launch launch = {.device = device};
    Arena *arena = arena_new();
    EmulatorResult *result = ARENA_NEW(arena, EmulatorResult);
    Emulator *emulator = emulator_new(module, &launch, result, NULL);
    emulator->is_loading = true;
    result->buffers = ARENA_ARRAY(arena, EmulatorBuffer, MAX_SLOTS);
    device_prepare(emulator);
    variables_prepare(emulator);
    emulator_end(emulator);
    arena_free(arena);
}
