/* Machines: their memory, and the code of functions. */
#include "emulator/state/state.h"

#include <stdlib.h>

void *machine_alloc(Machine *machine, size_t count, size_t size)
{
    void *memory = calloc(count ? count : 1, size ? size : 1);
    if (!memory)
        out_of_memory();
    /* What is read before it is written would fault twice for each small page, and interrupt the other threads. */
    memory_want_huge_pages(memory, count * size);
    VEC_PUSH(machine->arena, machine->owned, memory);
    return memory;
}

static void **owned_find(Machine *machine, const void *memory)
{
    size_t i = machine->owned.count;
    while (i > 0 && machine->owned.data[i - 1] != memory)
        i--;
    require(i > 0);
    return &machine->owned.data[i - 1];
}

void *machine_realloc(Machine *machine, void *memory, size_t size)
{
    if (!memory)
        return machine_alloc(machine, 1, size);
    void **place = owned_find(machine, memory), *larger = realloc(memory, size ? size : 1);
    if (!larger)
        out_of_memory();
    *place = larger;
    return larger;
}

void machine_release(Machine *machine, void *memory)
{
    if (!memory)
        return;
    void **place = owned_find(machine, memory);
    *place = VEC_LAST(machine->owned);
    machine->owned.count--;
    free(memory);
}

Machine *machine_new(const Module *module, const Launch *launch, EmulatorResult *result,
                     const EmulatorOptions *options)
{
    Arena *scratch = arena_new();
    Machine *machine = ARENA_NEW(scratch, Machine);
    machine->arena = scratch;
    machine->variables.arena = machine->parameters.arena = machine->codes.arena = scratch;
    machine->module = module;
    machine->launch = launch;
    machine->result = result;
    machine->loops = lane_loops();
    if (options)
        machine->options = *options;
    return machine;
}

static void memory_collect(Machine *machine)
{
    for (size_t i = 0; i < machine->owned.count; i++)
        free(machine->owned.data[i]);
    machine->owned.count = 0;
}

void machine_end(Machine *machine)
{
    for (size_t i = 0; i < machine->code_list.count; i++)
        if (machine->code_list.data[i]->own_body)
            body_free(machine->code_list.data[i]->body);
    memory_collect(machine);
    arena_free(machine->arena);
}

uint64_t machine_step_limit(const Machine *machine)
{
    return machine->options.max_steps ? machine->options.max_steps : UINT64_C(1) << 36;
}

const Function *function_resolve(const Machine *machine, const Function *function)
{
    if (function->definition)
        return function->definition;
    for (size_t i = 0; i < machine->module->items.count && !function->has_body; i++) {
        const Item *item = &machine->module->items.data[i];
        if (item->kind == ITEM_ALIAS && item->alias.alias == function)
            return item->alias.aliasee->definition ? item->alias.aliasee->definition : item->alias.aliasee;
    }
    return function;
}

Code *code_get(Machine *machine, const Function *function)
{
    return pointer_map_get(&machine->codes, function);
}
