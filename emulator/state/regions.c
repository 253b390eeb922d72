/* Regions: the memory of buffers, variables and parameters. */
#include "emulator/state/state.h"

void region_init(Machine *machine, Region *region, const char *name, Space space, uint64_t base, uint64_t size,
                        bool written)
{
    region->name = name;
    region->space = space;
    region->base = base;
    region->size = size;
    const Region *same =
        machine->primary && space == SPACE_GLOBAL ? machine->primary->slots[machine->slot_count] : NULL;
    region->bytes = same ? same->bytes : machine_alloc(machine, (size_t)size, 1);
    if (same) {
        region->written = same->written;
    } else if (machine->options.check_unwritten && !written) {
        region->written = machine_alloc(machine, (size_t)size, 1);
    }
    region->read_only = space == SPACE_CONST || space == SPACE_PARAM;
    race_prepare(machine, region);
    reuse_prepare(machine, region);
    region->watched = machine->options.watch && strcmp(machine->options.watch, name) == 0 && space == SPACE_GLOBAL;
}

Region *region_global(Machine *machine, const char *name, uint64_t size, bool written)
{
    if (machine->slot_count == MAX_SLOTS || size > MAX_REGION) {
        fault_static(machine, FAULT_LAUNCH, NULL, NULL, "too many buffers, or one that is too large");
        return NULL;
    }
    Region *region = ARENA_NEW(machine->arena, Region);
    uint64_t base = GLOBAL_BASE + ((uint64_t)machine->slot_count << SLOT_SHIFT) + SLOT_GUARD;
    region_init(machine, region, name, SPACE_GLOBAL, base, size, written);
    machine->slots[machine->slot_count++] = region;
    return region;
}

void device_prepare(Machine *machine)
{
    const EmulatorDevice *device = machine->launch->device;
    machine->placed.arena = machine->arena;
    if (!device)
        return;
    machine->device_regions = ARENA_ARRAY(machine->arena, Region, device->memory_count + 1);
    for (size_t i = 0; i < device->memory_count; i++) {
        const EmulatorMemory *memory = &device->memories[i];
        Region *region = &machine->device_regions[i];
        *region = (Region){.name = memory->name,
                           .space = SPACE_GLOBAL,
                           .base = memory->address,
                           .size = memory->size,
                           .bytes = memory->bytes};
        race_prepare(machine, region);
        reuse_prepare(machine, region);
        if (memory->variable)
            pointer_map_put(&machine->placed, memory->variable, (void *)memory);
    }
    images_prepare(machine);
}
