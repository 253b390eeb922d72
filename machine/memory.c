/* The memory of a launch: the launch's pieces of global memory, a block's shared memory, a thread's local memory.
 * Generic addresses of the last two are in windows of their own. */
#include "machine/internal.h"

static MachineRegion *find_region(const ThreadBlock *block, uint64_t address)
{
    for (size_t i = 0; i < block->region_count; i++)
        if (address - block->regions[i].address < block->regions[i].size)
            return &block->regions[i];
    return NULL;
}

bool memory_has(const Thread *thread, uint64_t address)
{
    return address >> 32 == SHARED_WINDOW || address >> 32 == LOCAL_WINDOW || address >> 32 == CONSTANT_WINDOW ||
           find_region(thread->block, address);
}

uint8_t *memory_shared(Thread *thread, uint64_t address, unsigned bytes)
{
    ThreadBlock *block = thread->block;
    const uint32_t at = (uint32_t)address;
    if (at % bytes || at > block->shared_size || block->shared_size - at < bytes) {
        stop(thread, MACHINE_WRONG, "accesses shared memory at 0x%x, %s", at, at % bytes ? "misaligned" : "outside");
        return NULL;
    }
    return block->shared + at;
}

/* Generic addresses of constants are those in bank 3. */
static uint8_t *memory_constant(Thread *thread, uint64_t address, unsigned bytes, bool stores)
{
    const Program *program = thread->block->program;
    const uint32_t at = (uint32_t)address;
    if (stores || at % bytes || at > program->bank_sizes[3] || program->bank_sizes[3] - at < bytes) {
        stop(thread, MACHINE_WRONG, "%s constant memory at 0x%x", stores ? "writes to" : "accesses more than", at);
        return NULL;
    }
    return program->banks[3] + at;
}

uint8_t *memory_local(Thread *thread, uint64_t address, unsigned bytes)
{
    const uint32_t at = (uint32_t)address;
    if (at % bytes || at > LOCAL_BYTES - bytes) {
        stop(thread, MACHINE_UNDECIDED, "local memory at 0x%x", at);
        return NULL;
    }
    if (!thread->local)
        thread->local = memset(arena_alloc(thread->block->arena, LOCAL_BYTES), POISON_BYTE, LOCAL_BYTES);
    return thread->local + at;
}

uint8_t *memory_global(Thread *thread, uint64_t address, unsigned bytes, bool stores)
{
    switch (address >> 32) {
    case SHARED_WINDOW: return memory_shared(thread, address, bytes);
    case LOCAL_WINDOW: return memory_local(thread, address, bytes);
    case CONSTANT_WINDOW: return memory_constant(thread, address, bytes, stores);
    case UNKNOWN_WINDOW: stop(thread, MACHINE_UNDECIDED, "a symbol that the PTX does not have"); return NULL;
    default: break;
    }
    MachineRegion *region = find_region(thread->block, address);
    if (!region || region->size - (address - region->address) < bytes || address % bytes) {
        stop(thread, MACHINE_WRONG, "accesses 0x%llx, %s", (unsigned long long)address,
             address % bytes ? "misaligned" : "outside all memory");
        return NULL;
    }
    const uint64_t offset = address - region->address;
    for (unsigned i = 0; stores && i < bytes; i++)
        region->writers[offset + i] = thread->at;
    return region->bytes + offset;
}
