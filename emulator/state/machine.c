/* Emulators: their memory, and the code of functions. */
#include "emulator/state/state.h"

#include <stdlib.h>

static void *alloc_small(Emulator *emulator, size_t size)
{
    void *memory = calloc(1, size ? size : 1);
    if (!memory)
        out_of_memory();
    VEC_PUSH(emulator->arena, emulator->owned, memory);
    return memory;
}

/* Memory that is read before it is written would fault twice for each small page, and interrupt the other threads. So
 * large pieces are made of huge pages, and may have up to half of one in vain. */
static void *alloc_large(Emulator *emulator, size_t size)
{
    MappedBytes mapped = {.size = align_up(size, HUGE_PAGE)};
    mapped.bytes = memory_map(mapped.size);
    if (!mapped.bytes)
        out_of_memory();
    VEC_PUSH(emulator->arena, emulator->mapped, mapped);
    return mapped.bytes;
}

void *emulator_alloc(Emulator *emulator, size_t count, size_t size)
{
    size_t bytes;
    if (__builtin_mul_overflow(count, size, &bytes))
        out_of_memory();
    return bytes < HUGE_PAGE / 2 ? alloc_small(emulator, bytes) : alloc_large(emulator, bytes);
}

static void **owned_find(Emulator *emulator, const void *memory)
{
    size_t i = emulator->owned.count;
    while (i > 0 && emulator->owned.data[i - 1] != memory)
        i--;
    require(i > 0);
    return &emulator->owned.data[i - 1];
}

void *emulator_realloc(Emulator *emulator, void *memory, size_t size)
{
    if (!memory)
        return alloc_small(emulator, size);
    void **place = owned_find(emulator, memory), *larger = realloc(memory, size ? size : 1);
    if (!larger)
        out_of_memory();
    *place = larger;
    return larger;
}

void emulator_release(Emulator *emulator, void *memory)
{
    if (!memory)
        return;
    for (size_t i = 0; i < emulator->mapped.count; i++)
        if (emulator->mapped.data[i].bytes == memory) {
            memory_unmap(memory, emulator->mapped.data[i].size);
            emulator->mapped.data[i] = VEC_LAST(emulator->mapped);
            emulator->mapped.count--;
            return;
        }
    void **place = owned_find(emulator, memory);
    *place = VEC_LAST(emulator->owned);
    emulator->owned.count--;
    free(memory);
}

Emulator *emulator_new(const Module *module, const Launch *launch, EmulatorResult *result,
                     const EmulatorOptions *options)
{
    Arena *scratch = arena_new();
    Emulator *emulator = ARENA_NEW(scratch, Emulator);
    emulator->arena = scratch;
    emulator->variables.arena = emulator->parameters.arena = emulator->codes.arena = scratch;
    emulator->module = module;
    emulator->launch = launch;
    emulator->result = result;
    emulator->loops = lane_loops();
    if (options)
        emulator->options = *options;
    return emulator;
}

static void memory_collect(Emulator *emulator)
{
    for (size_t i = 0; i < emulator->owned.count; i++)
        free(emulator->owned.data[i]);
    emulator->owned.count = 0;
}

void emulator_end(Emulator *emulator)
{
    for (size_t i = 0; i < emulator->code_list.count; i++)
        if (emulator->code_list.data[i]->own_body)
            body_free(emulator->code_list.data[i]->body);
    contents_unmap(emulator);
    memory_collect(emulator);
    arena_free(emulator->arena);
}

uint64_t emulator_step_limit(const Emulator *emulator)
{
    return emulator->options.max_steps ? emulator->options.max_steps : UINT64_C(1) << 36;
}

const Function *function_resolve(const Emulator *emulator, const Function *function)
{
    if (function->definition)
        return function->definition;
    for (size_t i = 0; i < emulator->module->items.count && !function->has_body; i++) {
        const Item *item = &emulator->module->items.data[i];
        if (item->kind == ITEM_ALIAS && item->alias.alias == function)
            return item->alias.aliasee->definition ? item->alias.aliasee->definition : item->alias.aliasee;
    }
    return function;
}

Code *code_get(Emulator *emulator, const Function *function)
{
    return pointer_map_get(&emulator->codes, function);
}
