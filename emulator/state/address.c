/* Addresses: the windows of the spaces, and what an address names. */
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

Region *memory_find(Exec *x, uint64_t *at, uint64_t bytes)
{
    uint64_t address = *at;
    Machine *machine = x->machine;
    Region *region = NULL;
    if (address >= GLOBAL_BASE) {
        uint64_t slot = (address - GLOBAL_BASE) >> SLOT_SHIFT;
        region = slot < machine->slot_count ? machine->slots[slot] : NULL;
    } else if (address >> 44 == WINDOW_SHARED >> 44) {
        region = shared_find(x, &address);
    } else if (address >> 44 == WINDOW_CONST >> 44) {
        region = &machine->constants;
    } else if (address >> 44 == WINDOW_PARAM >> 44) {
        region = &machine->params;
    }
    if (!region || !region_holds(region, address, bytes))
        return NULL;
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

uint64_t variable_address(const Machine *machine, const Variable *variable, bool *found)
{
    uint64_t address = 0;
    *found = place_find(&machine->variables, variable, &address);
    return address;
}

uint64_t function_address(Machine *machine, const Function *function)
{
    if (function->definition)
        function = function->definition;
    for (size_t i = 0; i < machine->functions.count; i++)
        if (machine->functions.data[i] == function)
            return WINDOW_FUNCTION + 16 * i;
    VEC_PUSH(machine->arena, machine->functions, function);
    return WINDOW_FUNCTION + 16 * (machine->functions.count - 1);
}

const Function *function_at(const Machine *machine, uint64_t address)
{
    uint64_t index = (address - WINDOW_FUNCTION) / 16;
    return address >= WINDOW_FUNCTION && address % 16 == 0 && index < machine->functions.count
               ? machine->functions.data[index]
               : NULL;
}

#define RANK_FIELD (UINT64_C(0xff) << SHARED_RANK_SHIFT)

/* mapa d, a, b: the address a in block b of the cluster. */
uint64_t scalar_mapa(const uint64_t *s, uint32_t control)
{
    uint64_t rank = s[1] < 0xfe ? s[1] + 1 : 0xff; /* an invalid rank stays invalid */
    (void)control;
    return (s[0] & ~RANK_FIELD) | rank << SHARED_RANK_SHIFT;
}

/* getctarank d, a.  s[1] is the block's own rank. */
uint64_t scalar_rank(const uint64_t *s, uint32_t control)
{
    uint64_t rank = (s[0] & RANK_FIELD) >> SHARED_RANK_SHIFT;
    (void)control;
    return rank ? rank - 1 : s[1];
}

/* isspacep p, a.  s[1] is the window, 0 for global memory, and s[2] the block's own rank. */
uint64_t scalar_in_window(const uint64_t *s, uint32_t control)
{
    uint64_t rank = (s[0] & RANK_FIELD) >> SHARED_RANK_SHIFT;
    if (!s[1])
        return s[0] >= GLOBAL_BASE;
    return s[0] >> 44 == s[1] >> 44 && (!CONTROL_KIND(control) || !rank || rank == s[2] + 1);
}
