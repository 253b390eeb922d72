/* Regions: the memory of buffers, variables and parameters. */
#include "emulator/state/state.h"

void region_init(Emulator *emulator, Region *region, const char *name, Space space, uint64_t base, uint64_t size,
                 bool written)
{
    region->name = name;
    region->space = space;
    region->base = base;
    region->size = size;
    const Region *same =
        emulator->primary && space == SPACE_GLOBAL ? emulator->primary->slots[emulator->slot_count] : NULL;
    if (same)
        region->bytes = same->bytes;
    else if (!region->bytes)
        region->bytes = emulator_alloc(emulator, (size_t)size, 1);
    if (same) {
        region->written = same->written;
    } else if (emulator->options.check_unwritten && !written) {
        region->written = emulator_alloc(emulator, (size_t)size, 1);
    }
    region->read_only = space == SPACE_CONST || space == SPACE_PARAM;
    race_prepare(emulator, region);
    reuse_prepare(emulator, region);
    region->watched = emulator->options.watch && strcmp(emulator->options.watch, name) == 0 && space == SPACE_GLOBAL;
}

Region *region_global(Emulator *emulator, const char *name, uint64_t size, bool written, uint8_t *bytes)
{
    if (emulator->slot_count == MAX_SLOTS || size > MAX_REGION) {
        fault_static(emulator, FAULT_LAUNCH, NULL, NULL, "too many buffers, or one that is too large");
        return NULL;
    }
    Region *region = ARENA_NEW(emulator->arena, Region);
    region->bytes = bytes;
    uint64_t base = GLOBAL_BASE + ((uint64_t)emulator->slot_count << SLOT_SHIFT) + SLOT_GUARD;
    region_init(emulator, region, name, SPACE_GLOBAL, base, size, written);
    emulator->slots[emulator->slot_count++] = region;
    return region;
}

void device_prepare(Emulator *emulator)
{
    const EmulatorDevice *device = emulator->launch->device;
    emulator->placed.arena = emulator->arena;
    if (!device)
        return;
    emulator->device_regions = ARENA_ARRAY(emulator->arena, Region, device->memory_count + 1);
    for (size_t i = 0; i < device->memory_count; i++) {
        const EmulatorMemory *memory = &device->memories[i];
        Region *region = &emulator->device_regions[i];
        *region = (Region){.name = memory->name,
                           .space = SPACE_GLOBAL,
                           .base = memory->address,
                           .size = memory->size,
                           .bytes = memory->bytes,
                           .written = emulator->options.check_unwritten ? memory->written : NULL,
                           .watched = emulator->options.watch && strcmp(emulator->options.watch, memory->name) == 0};
        if (device->heap && device->heap->address == memory->address)
            region->pieces = device->heap->pieces;
        race_prepare(emulator, region);
        reuse_prepare(emulator, region);
        if (memory->variable)
            pointer_map_put(&emulator->placed, memory->variable, (void *)memory);
    }
    images_prepare(emulator);
}
