/* Emulators: their memory, and the code of functions. */
#include "emulator/state/state.h"

#include <stdlib.h>

void *emulator_alloc(Emulator *emulator, size_t count, size_t size)
{
    void *memory = calloc(count ? count : 1, size ? size : 1);
    if (!memory)
        out_of_memory();
    /* Memory that is read before it is written would fault twice for each small page, and interrupt the other
     * threads. */
    memory_want_huge_pages(memory, count * size);
    VEC_PUSH(emulator->arena, emulator->owned, memory);
    return memory;
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
        return emulator_alloc(emulator, 1, size);
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
