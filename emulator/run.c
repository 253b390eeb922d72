/* Runs of whole launches. */
#include "emulator/run.h"

/* Copies the results that the caller keeps to its arena. */
static void result_keep(Arena *arena, EmulatorResult *result)
{
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
    EmulatorFault *fault = &result->fault;
    if (fault->message)
        fault->message = arena_strndup(arena, fault->message, strlen(fault->message));
    if (fault->source)
        fault->source = arena_strndup(arena, fault->source, strlen(fault->source));
}

EmulatorResult *emulator_run(Arena *arena, const Module *module, const Launch *launch, const EmulatorOptions *options)
{
    EmulatorResult *result = ARENA_NEW(arena, EmulatorResult);
    Emulator *emulator = emulator_new(module, launch, result, options);
    bool is_ready = emulator_prepare(emulator);
    if (is_ready && parallel_possible(emulator) && !parallel_run(emulator)) {
        emulator_end(emulator);
        *result = (EmulatorResult){0};
        emulator = emulator_new(module, launch, result, options);
        emulator->options.jobs = 1;
        is_ready = emulator_prepare(emulator);
    }
    if (is_ready && !emulator->ran)
        emulator_run_launch(emulator);
    counters_collect(emulator);
    reuse_collect(emulator);
    if (emulator->options.count_lines)
        lines_collect(arena, emulator);
    if (emulator->options.count_instructions)
        instructions_collect(arena, emulator);
    result_keep(arena, result);
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
