/* Addresses: the windows of the spaces, and the memory that an address names. */
#include "emulator/state/state.h"

uint64_t window_of(Space space)
{
    switch (space) {
    case SPACE_SHARED: return WINDOW_SHARED;
    case SPACE_LOCAL: return WINDOW_LOCAL;
    case SPACE_CONST: return WINDOW_CONST;
    case SPACE_PARAM: return WINDOW_PARAM;
    default: return 0;
    }
}

Space address_space(uint64_t generic)
{
    switch (generic >> 44) {
    case WINDOW_SHARED >> 44: return SPACE_SHARED;
    case WINDOW_LOCAL >> 44: return SPACE_LOCAL;
    case WINDOW_CONST >> 44: return SPACE_CONST;
    case WINDOW_PARAM >> 44: return SPACE_PARAM;
    default: return SPACE_GLOBAL;
    }
}

static bool region_holds(const Region *region, uint64_t address, uint64_t bytes)
{
    return address >= region->base && address - region->base <= region->size &&
           region->size - (address - region->base) >= bytes;
}

/* The shared memory that an address in the window refers to; *address becomes the address in that region. */
static Region *shared_find(Exec *x, uint64_t *address)
{
    uint64_t rank = (*address - WINDOW_SHARED) >> SHARED_RANK_SHIFT;
    if (!rank)
        return &x->block->shared;
    if (rank > x->block->cluster->count)
        return NULL;
    *address -= rank << SHARED_RANK_SHIFT;
    return &x->block->cluster->blocks[rank - 1]->shared;
}

/* The last of the device's memories that begins at or below the address; NULL: none. */
static Region *device_region(const Emulator *emulator, uint64_t address)
{
    size_t low = 0, high = emulator->device_regions ? emulator->launch->device->memory_count : 0;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (emulator->device_regions[middle].base <= address)
            low = middle + 1;
        else
            high = middle;
    }
    return low ? &emulator->device_regions[low - 1] : NULL;
}

const Region *region_near(const Emulator *emulator, uint64_t address)
{
    uint64_t slot = (address - GLOBAL_BASE) >> SLOT_SHIFT;
    const Region *region = device_region(emulator, address);
    if (region && address - region->base < region->size + SLOT_GUARD)
        return region;
    return address >= GLOBAL_BASE && slot < emulator->slot_count ? emulator->slots[slot] : NULL;
}

Region *memory_outside(Emulator *emulator, uint64_t address, uint64_t bytes)
{
    const EmulatorDevice *device = emulator->launch->device;
    EmulatorMemory memory;
    for (size_t i = 0; i < emulator->outside.count; i++)
        if (region_holds(emulator->outside.data[i], address, bytes))
            return emulator->outside.data[i];
    if (!device || !device->outside || address_space(address) != SPACE_GLOBAL ||
        !device->outside(address, bytes, &memory))
        return NULL;
    Region *region = ARENA_NEW(emulator->arena, Region);
    *region = (Region){.name = memory.name,
                       .space = SPACE_GLOBAL,
                       .base = memory.address,
                       .size = memory.size,
                       .bytes = memory.bytes};
    VEC_PUSH(emulator->arena, emulator->outside, region);
    return region;
}

Region *memory_find(Exec *x, uint64_t *at, uint64_t bytes)
{
    uint64_t address = *at;
    Emulator *emulator = x->emulator;
    Region *region = NULL;
    if (address >= GLOBAL_BASE) {
        uint64_t slot = (address - GLOBAL_BASE) >> SLOT_SHIFT;
        region = slot < emulator->slot_count ? emulator->slots[slot] : NULL;
    } else if (address >> 44 == WINDOW_SHARED >> 44) {
        region = shared_find(x, &address);
    } else if (address >> 44 == WINDOW_CONST >> 44) {
        region = &emulator->constants;
    } else if (address >> 44 == WINDOW_PARAM >> 44) {
        region = &emulator->params;
    }
    if (!region || !region_holds(region, address, bytes)) {
        region = address_space(address) == SPACE_GLOBAL ? device_region(emulator, address) : NULL;
        if (!region || !region_holds(region, address, bytes))
            return NULL;
    }
    *at = address;
    return region;
}

bool place_find(const Map *places, const Variable *variable, uint64_t *place)
{
    const uint64_t *found = map_get(places, pointer_key(variable));
    if (found)
        *place = *found;
    return found != NULL;
}

uint64_t variable_address(const Emulator *emulator, const Variable *variable, bool *found)
{
    uint64_t address = 0;
    *found = place_find(&emulator->variables, variable, &address);
    return address;
}

/* The address of a function, from its place in the module, so that all launches agree. */
uint64_t function_address(const Emulator *emulator, const Function *function)
{
    const Module *module = emulator->module;
    if (function->definition)
        function = function->definition;
    for (size_t i = 0; i < module->items.count; i++)
        if (module->items.data[i].kind == ITEM_FUNCTION && module->items.data[i].function == function)
            return WINDOW_FUNCTION + 16 * i;
    return 0;
}

const Function *emulator_function_at(const Module *module, uint64_t address)
{
    uint64_t index = (address - WINDOW_FUNCTION) / 16;
    return address >= WINDOW_FUNCTION && address % 16 == 0 && index < module->items.count &&
                   module->items.data[index].kind == ITEM_FUNCTION
               ? module->items.data[index].function
               : NULL;
}

const Function *function_at(const Emulator *emulator, uint64_t address)
{
    return emulator_function_at(emulator->module, address);
}

#define RANK_FIELD (UINT64_C(0xff) << SHARED_RANK_SHIFT)

/* mapa d, a, b: the address a in block b of the cluster. */
uint64_t scalar_mapa(const uint64_t *s, uint32_t control)
{
    uint64_t rank = s[1] < 0xfe ? s[1] + 1 : 0xff; /* an invalid rank stays invalid */
    (void)control;
    return (s[0] & ~RANK_FIELD) | rank << SHARED_RANK_SHIFT;
}

/* getctarank d, a. s[1] is the block's own rank. */
uint64_t scalar_rank(const uint64_t *s, uint32_t control)
{
    uint64_t rank = (s[0] & RANK_FIELD) >> SHARED_RANK_SHIFT;
    (void)control;
    return rank ? rank - 1 : s[1];
}

/* isspacep p, a. s[1] is the window, 0 for global memory, and s[2] the block's own rank. Memory of the device may be
 * anywhere outside the windows. */
uint64_t scalar_in_window(const uint64_t *s, uint32_t control)
{
    uint64_t rank = (s[0] & RANK_FIELD) >> SHARED_RANK_SHIFT;
    if (!s[1])
        return s[0] && address_space(s[0]) == SPACE_GLOBAL;
    return s[0] >> 44 == s[1] >> 44 && (!CONTROL_KIND(control) || !rank || rank == s[2] + 1);
}
