/* The device's memory. Device memory is at addresses that the host does not have, so that a host's access to it fails
 * as on a device; managed and pinned memory has the same address as on the host. Addresses are not reused, so that an
 * access to freed memory is detected. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "emulated/driver.h"
#include "emulated/driver_api.h"

#define FIRST_ADDRESS (UINT64_C(1) << 40)
#define LAST_ADDRESS (UINT64_C(15) << 40)
#define ADDRESS_UNIT 512
#define PAGE 4096

enum { HOST_MAPPED = 2 }; /* CU_MEMHOSTALLOC_DEVICEMAP */

static Memory **memories; /* by ascending address */
static size_t memory_count, memory_room;
static uint64_t next_address = FIRST_ADDRESS, device_used, next_id = 1;

/* The number of memories at or below the address. */
static size_t memories_below(uint64_t address)
{
    size_t low = 0, high = memory_count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (memories[middle]->address <= address)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

Memory *memory_at(uint64_t address)
{
    size_t below = memories_below(address);
    Memory *memory = below ? memories[below - 1] : NULL;
    return memory && (address - memory->address < memory->size || address == memory->address) ? memory : NULL;
}

bool memory_gap(uint64_t address, uint64_t *begin, uint64_t *end)
{
    const uint64_t page_begin = *begin, page_end = *end;
    size_t below = memories_below(address);
    bool has_memory = false;
    if (below) {
        const Memory *memory = memories[below - 1];
        uint64_t last = memory->address + memory->size;
        if (last > address)
            return false;
        has_memory = memory->kind == KIND_DEVICE && last > page_begin;
        if (last > *begin)
            *begin = last;
    }
    if (below < memory_count && memories[below]->address < page_end) {
        *end = memories[below]->address;
        has_memory |= memories[below]->kind == KIND_DEVICE;
    }
    return has_memory;
}

static bool memory_insert(Memory *memory)
{
    if (memory_count == memory_room) {
        size_t room = memory_room ? 2 * memory_room : 64;
        Memory **larger = realloc(memories, room * sizeof(Memory *));
        if (!larger)
            return false;
        memories = larger;
        memory_room = room;
    }
    size_t at = memories_below(memory->address);
    memmove(memories + at + 1, memories + at, (memory_count - at) * sizeof(Memory *));
    memories[at] = memory;
    memory_count++;
    return true;
}

static void *pages_make(uint64_t size)
{
    void *pages =
        mmap(NULL, (size_t)size + PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    return pages == MAP_FAILED ? NULL : pages;
}

static bool is_of_device(const Memory *memory)
{
    return memory->kind == KIND_DEVICE || memory->kind == KIND_MANAGED;
}

static void memory_place(Memory *memory)
{
    if (memory->kind == KIND_DEVICE) {
        memory->bytes = calloc(1, (size_t)memory->size + 1);
        memory->written = checks.check_unwritten ? calloc(1, (size_t)memory->size + 1) : NULL;
        if (next_address == FIRST_ADDRESS)
            next_address += pages_first_offset();
        memory->address = next_address;
        next_address += (memory->size / ADDRESS_UNIT + 2) * ADDRESS_UNIT;
        if (next_address > LAST_ADDRESS)
            next_address = FIRST_ADDRESS;
    } else {
        memory->bytes = pages_make(memory->size);
        memory->address = (uintptr_t)memory->bytes;
    }
}

Memory *memory_make(MemoryKind kind, uint64_t size, const char *name)
{
    Memory *memory = calloc(1, sizeof *memory);
    if (!memory)
        return NULL;
    *memory = (Memory){.kind = kind, .size = size, .name = name, .id = next_id++};
    bool fits = size <= LARGEST_MEMORY && (!is_of_device(memory) || size <= DEVICE_MEMORY - device_used);
    if (fits)
        memory_place(memory);
    if (!memory->bytes || !memory_insert(memory)) {
        free(memory->written);
        free(memory);
        return NULL;
    }
    device_used += is_of_device(memory) ? size : 0;
    return memory;
}

void memory_release(Memory *memory)
{
    size_t at = memories_below(memory->address) - 1;
    memmove(memories + at, memories + at + 1, (memory_count - at - 1) * sizeof(Memory *));
    memory_count--;
    images_forget(memory->bytes, (size_t)memory->size);
    if (memory->kind == KIND_DEVICE)
        free(memory->bytes);
    else if (memory->kind != KIND_REGISTERED)
        munmap(memory->bytes, (size_t)memory->size + PAGE);
    device_used -= is_of_device(memory) ? memory->size : 0;
    free(memory->written);
    free(memory);
}

uint8_t *device_bytes(uint64_t address, size_t size)
{
    Memory *memory = memory_at(address);
    return memory && size <= memory->size - (address - memory->address) ? memory->bytes + (address - memory->address)
                                                                        : NULL;
}

uint8_t *host_bytes(const void *address, size_t size)
{
    const Memory *memory = memory_at((uintptr_t)address);
    (void)size;
    return memory && memory->kind == KIND_DEVICE ? NULL : (uint8_t *)address;
}

uint8_t *either_bytes(uint64_t address, size_t size)
{
    bool is_address = address < FIRST_ADDRESS || address >= LAST_ADDRESS;
    return memory_at(address) ? device_bytes(address, size) : is_address ? (uint8_t *)(uintptr_t)address : NULL;
}

const EmulatorMemory *memory_list(Arena *arena, size_t *count)
{
    EmulatorMemory *list = ARENA_ARRAY(arena, EmulatorMemory, memory_count + 1);
    for (size_t i = 0; i < memory_count; i++)
        list[i] = (EmulatorMemory){.name = memories[i]->name,
                                   .address = memories[i]->address,
                                   .size = memories[i]->size,
                                   .bytes = memories[i]->bytes,
                                   .written = memories[i]->written,
                                   .variable = memories[i]->variable};
    *count = memory_count;
    return list;
}

/* The functions that programs call. */

static int allocate(uint64_t *address, size_t size, MemoryKind kind, unsigned flags)
{
    static const char *const names[] = {"device memory", "managed memory", "pinned memory", "registered memory"};
    if (device_error())
        return device_error();
    if (!address || !size)
        return INVALID_VALUE;
    Memory *memory = memory_make(kind, size, names[kind]);
    *address = memory ? memory->address : 0;
    if (memory)
        memory->flags = flags;
    return memory ? DONE : NO_MEMORY;
}

static int release(uint64_t address, bool is_pinned)
{
    Memory *memory = memory_at(address);
    if (!address && !device_error())
        return is_pinned ? INVALID_VALUE : DONE;
    if (device_error())
        return device_error();
    if (!memory || memory->address != address || memory->is_variable || (memory->kind == KIND_PINNED) != is_pinned ||
        memory->kind == KIND_REGISTERED)
        return INVALID_VALUE;
    memory_release(memory);
    return DONE;
}

int cuMemAlloc_v2(uint64_t *address, size_t size)
{
    LOCKED;
    return allocate(address, size, KIND_DEVICE, 0);
}

int cuMemFree_v2(uint64_t address)
{
    LOCKED;
    return release(address, false);
}

/* Rows are aligned for textures. */
int cuMemAllocPitch_v2(uint64_t *address, size_t *pitch, size_t width, size_t height, unsigned element_bytes)
{
    LOCKED;
    if (element_bytes != 4 && element_bytes != 8 && element_bytes != 16)
        return INVALID_VALUE;
    *pitch = (width + ADDRESS_UNIT - 1) / ADDRESS_UNIT * ADDRESS_UNIT;
    return allocate(address, *pitch * height, KIND_DEVICE, 0);
}

int cuMemAllocManaged(uint64_t *address, size_t size, unsigned flags)
{
    LOCKED;
    enum { GLOBAL = 1, HOST = 2 };
    return flags == GLOBAL || flags == HOST ? allocate(address, size, KIND_MANAGED, flags) : INVALID_VALUE;
}

int cuMemHostAlloc(void **address, size_t size, unsigned flags)
{
    LOCKED;
    uint64_t place = 0;
    int error = flags <= 7 ? allocate(&place, size, KIND_PINNED, flags) : INVALID_VALUE;
    *address = (void *)(uintptr_t)place;
    return error;
}

int cuMemAllocHost_v2(void **address, size_t size)
{
    return cuMemHostAlloc(address, size, 0);
}

int cuMemFreeHost(void *address)
{
    LOCKED;
    return release((uintptr_t)address, true);
}

int cuMemHostRegister_v2(void *address, size_t size, unsigned flags)
{
    LOCKED;
    uint64_t begin = (uintptr_t)address;
    size_t below = memories_below(begin + size - 1);
    if (!address || !size || begin + size < begin)
        return INVALID_VALUE;
    if (below && memories[below - 1]->address + memories[below - 1]->size > begin)
        return ALREADY_REGISTERED;
    Memory *memory = calloc(1, sizeof *memory);
    if (!memory)
        return NO_MEMORY;
    *memory = (Memory){.kind = KIND_REGISTERED,
                       .address = begin,
                       .size = size,
                       .bytes = address,
                       .flags = flags,
                       .name = "registered memory",
                       .id = next_id++};
    return memory_insert(memory) ? DONE : NO_MEMORY;
}

int cuMemHostUnregister(void *address)
{
    LOCKED;
    Memory *memory = memory_at((uintptr_t)address);
    if (!memory || memory->kind != KIND_REGISTERED || memory->address != (uintptr_t)address)
        return NOT_REGISTERED;
    memory_release(memory);
    return DONE;
}

int cuMemHostGetDevicePointer_v2(uint64_t *address, void *host, unsigned flags)
{
    LOCKED;
    const Memory *memory = memory_at((uintptr_t)host);
    if (flags || !memory || memory->kind == KIND_DEVICE)
        return INVALID_VALUE;
    *address = (uintptr_t)host;
    return DONE;
}

int cuMemHostGetFlags(unsigned *flags, void *host)
{
    LOCKED;
    const Memory *memory = memory_at((uintptr_t)host);
    if (!memory || (memory->kind != KIND_PINNED && memory->kind != KIND_REGISTERED))
        return INVALID_VALUE;
    *flags = memory->flags | HOST_MAPPED;
    return DONE;
}

int cuMemGetInfo_v2(size_t *available, size_t *total)
{
    LOCKED;
    *available = (size_t)(DEVICE_MEMORY - device_used);
    *total = (size_t)DEVICE_MEMORY;
    return DONE;
}

int cuMemGetAddressRange_v2(uint64_t *base, size_t *size, uint64_t address)
{
    LOCKED;
    const Memory *memory = memory_at(address);
    if (!memory)
        return NOT_FOUND;
    if (base)
        *base = memory->address;
    if (size)
        *size = (size_t)memory->size;
    return DONE;
}

/* Managed memory is where both sides have it, so advice changes nothing; only the range is checked. */
static int range_check(uint64_t address, size_t size)
{
    const Memory *memory = memory_at(address);
    return device_error() ? device_error() : memory && device_bytes(address, size) && size ? DONE : INVALID_VALUE;
}

int cuMemAdvise_v2(uint64_t address, size_t size, int advice, MemoryLocation location)
{
    LOCKED;
    (void)location;
    return advice >= 1 && advice <= 6 ? range_check(address, size) : INVALID_VALUE;
}

int cuMemAdvise(uint64_t address, size_t size, int advice, int device)
{
    return cuMemAdvise_v2(address, size, advice, (MemoryLocation){1, device});
}

int cuMemPrefetchAsync_v2(uint64_t address, size_t size, MemoryLocation location, unsigned flags, void *stream)
{
    LOCKED;
    (void)location, (void)stream;
    return flags ? INVALID_VALUE : range_check(address, size);
}

int cuMemPrefetchAsync(uint64_t address, size_t size, int device, void *stream)
{
    return cuMemPrefetchAsync_v2(address, size, (MemoryLocation){1, device}, 0, stream);
}

/* CU_MEM_RANGE_ATTRIBUTE: nothing was advised; the last prefetch is not remembered. */
int cuMemRangeGetAttribute(void *data, size_t data_size, int attribute, uint64_t address, size_t size)
{
    LOCKED;
    enum { READ_MOSTLY = 1, INVALID = -2 };
    int error = range_check(address, size);
    for (size_t i = 0; !error && i + sizeof(int) <= data_size; i += sizeof(int))
        memcpy((char *)data + i, &(int){attribute == READ_MOSTLY ? 0 : INVALID}, sizeof(int));
    return error;
}

int cuMemRangeGetAttributes(void **data, size_t *sizes, int *attributes, size_t count, uint64_t address, size_t size)
{
    int error = DONE;
    for (size_t i = 0; i < count && !error; i++)
        error = cuMemRangeGetAttribute(data[i], sizes[i], attributes[i], address, size);
    return error;
}

/* CUpointer_attribute. */
static int pointer_attribute(void *data, int attribute, const Memory *memory, uint64_t address)
{
    enum {
        CONTEXT = 1,
        TYPE,
        DEVICE_POINTER,
        HOST_POINTER,
        SYNC = 6,
        ID,
        IS_MANAGED,
        ORDINAL,
        RANGE_BEGIN = 11,
        RANGE_SIZE,
        MAPPED,
        ACCESS = 16,
        POOL = 17,
        MAPPING_SIZE = 18,
        MAPPING_BASE = 19
    };
    bool is_host = memory->kind == KIND_PINNED || memory->kind == KIND_REGISTERED;
    switch (attribute) {
    case CONTEXT: *(void **)data = memories; return DONE;
    case TYPE: *(int *)data = is_host ? MEMORY_HOST : MEMORY_DEVICE; return DONE;
    case DEVICE_POINTER: *(uint64_t *)data = address; return DONE;
    case HOST_POINTER: *(uint64_t *)data = address; return memory->kind == KIND_DEVICE ? INVALID_VALUE : DONE;
    case SYNC: *(char *)data = 0; return DONE;
    case ID: *(uint64_t *)data = memory->id; return DONE;
    case IS_MANAGED: *(char *)data = memory->kind == KIND_MANAGED; return DONE;
    case ORDINAL: *(int *)data = 0; return DONE;
    case RANGE_BEGIN:
    case MAPPING_BASE: *(uint64_t *)data = memory->address; return DONE;
    case RANGE_SIZE:
    case MAPPING_SIZE: *(size_t *)data = (size_t)memory->size; return DONE;
    case MAPPED: *(char *)data = 1; return DONE;
    case ACCESS: *(int *)data = 3; return DONE;
    case POOL: *(void **)data = memory->pool; return DONE;
    default: return NOT_SUPPORTED;
    }
}

int cuPointerGetAttribute(void *data, int attribute, uint64_t address)
{
    LOCKED;
    const Memory *memory = memory_at(address);
    return data && memory ? pointer_attribute(data, attribute, memory, address) : INVALID_VALUE;
}

/* Attributes that memory does not have are left zero. */
int cuPointerGetAttributes(unsigned count, int *attributes, void **data, uint64_t address)
{
    LOCKED;
    enum { TYPE = 2, IS_MANAGED = 8, SYNC = 6, MAPPED = 13, ORDINAL = 9 };
    const Memory *memory = memory_at(address);
    for (unsigned i = 0; i < count; i++) {
        int attribute = attributes[i];
        size_t size = attribute == TYPE || attribute == ORDINAL                             ? sizeof(int)
                      : attribute == IS_MANAGED || attribute == SYNC || attribute == MAPPED ? 1
                                                                                            : sizeof(uint64_t);
        memset(data[i], 0, size);
        if (attribute == ORDINAL)
            *(int *)data[i] = -2; /* no device */
        if (memory)
            pointer_attribute(data[i], attribute, memory, address);
    }
    return DONE;
}

int cuPointerSetAttribute(const void *value, int attribute, uint64_t address)
{
    LOCKED;
    enum { SYNC = 6 };
    return value && attribute == SYNC && memory_at(address) ? DONE : INVALID_VALUE;
}

int cuStreamAttachMemAsync(void *stream, uint64_t address, size_t size, unsigned flags)
{
    LOCKED;
    (void)stream, (void)size, (void)flags;
    const Memory *memory = memory_at(address);
    return memory && memory->kind != KIND_DEVICE ? DONE : INVALID_VALUE;
}

/* The names for programs whose threads have default streams of their own. */
SAME(cuMemPrefetchAsync_ptsz, cuMemPrefetchAsync);
SAME(cuMemPrefetchAsync_v2_ptsz, cuMemPrefetchAsync_v2);
SAME(cuStreamAttachMemAsync_ptsz, cuStreamAttachMemAsync);
