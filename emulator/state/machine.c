/* Machines: what they own, and the code of functions. */
#include "emulator/state/state.h"

#include <stdlib.h>

void *machine_alloc(Machine *machine, size_t count, size_t size)
{
    void *memory = calloc(count ? count : 1, size ? size : 1);
    if (!memory)
        out_of_memory();
    VEC_PUSH(machine->arena, machine->owned, memory);
    return memory;
}

static size_t pointer_slot(const void *key, size_t capacity)
{
    uint64_t hash = (uint64_t)(uintptr_t)key * UINT64_C(0x9e3779b97f4a7c15);
    return (size_t)(hash >> 32) & (capacity - 1);
}

void address_map_set(Arena *arena, AddressMap *map, const void *key, uint64_t value)
{
    if (2 * (map->count + 1) > map->capacity) {
        AddressMap old = *map;
        map->capacity = old.capacity ? 2 * old.capacity : 16;
        map->entries = ARENA_ARRAY(arena, struct AddressMapEntry, map->capacity);
        map->count = 0;
        for (size_t i = 0; i < old.capacity; i++)
            if (old.entries[i].key)
                address_map_set(arena, map, old.entries[i].key, old.entries[i].value);
    }
    size_t at = pointer_slot(key, map->capacity);
    while (map->entries[at].key && map->entries[at].key != key)
        at = (at + 1) & (map->capacity - 1);
    map->count += map->entries[at].key == NULL;
    map->entries[at].key = key;
    map->entries[at].value = value;
}

bool address_map_get(const AddressMap *map, const void *key, uint64_t *value)
{
    if (!map->count)
        return false;
    size_t at = pointer_slot(key, map->capacity);
    while (map->entries[at].key) {
        if (map->entries[at].key == key) {
            *value = map->entries[at].value;
            return true;
        }
        at = (at + 1) & (map->capacity - 1);
    }
    return false;
}

Machine *machine_new(const Module *module, const Launch *launch, EmulatorResult *result,
                            const EmulatorOptions *options)
{
    Arena *scratch = arena_new();
    Machine *machine = ARENA_NEW(scratch, Machine);
    machine->arena = scratch;
    machine->module = module;
    machine->launch = launch;
    machine->result = result;
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
    uint64_t value;
    return address_map_get(&machine->codes, function, &value) ? (Code *)(uintptr_t)value : NULL;
}
