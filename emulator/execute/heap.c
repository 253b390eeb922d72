/* The heap of the device's malloc.
 *
 * It only grows, and what was freed is not used again, so that an access to it is found (translate.c), as are accesses
 * beside a piece: the heap has 16 bytes more for each. */
#include "emulator/execute/execute.h"

enum { UNIT = 16 };

/* The heap of a launch that has none of a device. */
static EmulatorHeap *own_heap(Emulator *emulator)
{
    EmulatorHeap *heap = &emulator->own_heap;
    if (heap->size || emulator->slot_count == MAX_SLOTS)
        return heap;
    Region *region = &emulator->heap_region;
    *region = (Region){.name = "the heap", .space = SPACE_GLOBAL, .size = HEAP_BYTES};
    region->base = GLOBAL_BASE + ((uint64_t)emulator->slot_count << SLOT_SHIFT) + SLOT_GUARD;
    region->bytes = emulator_alloc(emulator, HEAP_BYTES, 1);
    region->pieces = emulator_alloc(emulator, HEAP_BYTES, 1);
    if (emulator->options.check_unwritten)
        region->written = emulator_alloc(emulator, HEAP_BYTES, 1);
    emulator->slots[emulator->slot_count++] = region;
    *heap = (EmulatorHeap){.address = region->base, .size = HEAP_BYTES, .pieces = region->pieces};
    return heap;
}

static EmulatorHeap *heap_of(Emulator *emulator)
{
    const EmulatorDevice *device = emulator->launch->device;
    return device && device->heap ? device->heap : own_heap(emulator);
}

uint64_t heap_take(Emulator *emulator, uint64_t bytes)
{
    EmulatorHeap *heap = heap_of(emulator);
    const uint64_t rest = heap->size - heap->used;
    if (bytes > rest)
        return 0;
    const uint64_t address = heap->address + heap->used, taken = align_up(bytes, UNIT) + (heap->pieces ? UNIT : 0);
    if (heap->pieces && bytes) {
        memset(heap->pieces + heap->used, PIECE_LIVE, (size_t)bytes);
        heap->pieces[heap->used] = PIECE_BEGIN;
    }
    heap->used += taken < rest ? taken : rest;
    return address;
}

bool heap_give_back(Exec *x, const Op *op, unsigned lane, uint64_t address)
{
    EmulatorHeap *heap = heap_of(x->emulator);
    const uint64_t offset = address - heap->address;
    if (!address || !heap->pieces)
        return true;
    if (offset >= heap->used || heap->pieces[offset] != PIECE_BEGIN) {
        const bool was_freed = offset < heap->used && heap->pieces[offset] == PIECE_FREED;
        fault_at(x, op, lane, FAULT_CALL, "free of address 0x%llx, %s", (unsigned long long)address,
                 was_freed ? "which was freed before" : "which malloc has not given");
        return false;
    }
    for (uint64_t i = offset; i < heap->used && (i == offset || heap->pieces[i] == PIECE_LIVE); i++)
        heap->pieces[i] = PIECE_FREED;
    return true;
}
