/* Translation of the lanes' addresses to the host's memory. */
#include "emulator/state/state.h"

/* The generic addresses of the active lanes. In a window a register narrower than 64 bits is a 32-bit address, and the
 * sum with the offset wraps like one; row_translate does the same. */
bool access_addresses(Exec *x, const Op *op, const MemoryOp *memory, uint32_t mask, Translation *at)
{
    const void *row = source_row(x, memory->address);
    uint64_t window = window_of(memory->space), add = (uint64_t)memory->offset + window;
    (void)op;
    if (memory->in_frame)
        add += x->frame->local_base;
    if (memory->address_bytes == 8) {
        const uint64_t *cells = row;
        for (unsigned lane = 0; lane < LANES; lane++)
            at->address[lane] = cells[lane] + add;
    } else if (window) {
        uint32_t offset = (uint32_t)memory->offset;
        EACH_ACTIVE(lane, mask)
        {
            at->address[lane] = (uint32_t)(row_get(row, memory->address_bytes, lane) + offset) + window;
        }
    } else {
        EACH_ACTIVE(lane, mask)
        {
            at->address[lane] = row_get(row, memory->address_bytes, lane) + add;
        }
    }
    return true;
}

static Frame *local_frame(const Exec *x, uint64_t offset, uint64_t bytes)
{
    for (Frame *frame = x->frame; frame; frame = frame->parent) {
        if (offset < frame->local_base)
            continue;
        uint64_t at = offset - frame->local_base;
        const Code *code = frame->code;
        if (at > code->local_bytes || code->local_bytes - at < bytes || !bytes)
            return NULL;
        return code->local_owner[at] && code->local_owner[at] == code->local_owner[at + bytes - 1] ? frame : NULL;
    }
    return NULL;
}

uint8_t *access_peek(Exec *x, unsigned lane, uint64_t address, uint64_t bytes)
{
    if (address >> 44 == WINDOW_LOCAL >> 44) {
        uint64_t offset = address - WINDOW_LOCAL;
        Frame *frame = local_frame(x, offset, bytes);
        return frame ? frame->local + lane * frame->code->local_bytes + (offset - frame->local_base) : NULL;
    }
    Region *region = memory_find(x, &address, bytes);
    return region ? region->bytes + (address - region->base) : NULL;
}

/* Names the nearest memory, and says how far the access is from its begin. */
static const char *access_text(Exec *x, uint64_t address, unsigned bytes, AccessMode mode)
{
    static const struct {
        uint64_t begin;
        const char *name;
    } windows[] = {
        {WINDOW_SHARED, "shared memory"},
        {WINDOW_LOCAL, "local memory"},
        {WINDOW_PARAM, "the parameters"},
        {WINDOW_CONST, "constant memory"},
    };
    const char *what = mode == MODE_LOAD ? "load" : mode == MODE_STORE ? "store" : "atomic", *near = NULL;
    uint64_t offset = address;
    const Region *region = address_space(address) == SPACE_GLOBAL ? region_near(x->emulator, address) : NULL;
    if (region) {
        near = region->name;
        offset = address - region->base;
    }
    for (size_t i = 0; i < COUNT_OF(windows) && !region; i++)
        if (address >> 44 == windows[i].begin >> 44) {
            near = windows[i].name;
            offset = address - windows[i].begin;
        }
    return near ? arena_printf(x->emulator->arena, "%s of %u byte%s at offset %lld of %s", what, bytes, plural(bytes),
                               (long long)offset, near)
                : arena_printf(x->emulator->arena, "%s of %u byte%s at address 0x%llx", what, bytes, plural(bytes),
                               (unsigned long long)offset);
}

/* The region of an access that no memory holds, if it is allowed nevertheless. */
static Region *outside_find(Exec *x, const Op *op, unsigned lane, uint64_t address, unsigned bytes, AccessMode mode)
{
    Region *region = memory_outside(x->emulator, address, bytes);
    EmulatorFault *first = &x->emulator->result->outside;
    if (region && first->kind == FAULT_NONE)
        fault_of_lane(first, x, op, lane, FAULT_BOUNDS, access_text(x, address, bytes, mode));
    return region;
}

/* True if the bytes of the heap are of a piece that malloc has given, and free has not taken back. */
static bool is_live(const Region *region, uint64_t offset, unsigned bytes)
{
    for (unsigned i = 0; i < bytes; i++)
        if (region->pieces[offset + i] != PIECE_BEGIN && region->pieces[offset + i] != PIECE_LIVE)
            return false;
    return true;
}

static bool translate_lane(Exec *x, const Op *op, unsigned lane, unsigned bytes, AccessMode mode, Translation *at)
{
    uint64_t address = at->address[lane];
    at->region[lane] = NULL;
    at->written[lane] = NULL;
    if (address >> 44 == WINDOW_LOCAL >> 44) {
        uint64_t offset = address - WINDOW_LOCAL;
        Frame *frame = local_frame(x, offset, bytes);
        if (frame) {
            uint64_t place = lane * frame->code->local_bytes + (offset - frame->local_base);
            at->host[lane] = frame->local + place;
            at->written[lane] = frame->local_written ? frame->local_written + place : NULL;
            return true;
        }
    } else {
        Region *region = memory_find(x, &address, bytes);
        if (!region)
            region = outside_find(x, op, lane, address, bytes, mode);
        if (region && region->pieces && !is_live(region, address - region->base, bytes)) {
            const bool was_freed = region->pieces[address - region->base] == PIECE_FREED;
            fault_at(x, op, lane, FAULT_BOUNDS, "%s, which %s", access_text(x, address, bytes, mode),
                     was_freed ? "free has taken back" : "malloc has not given");
            return false;
        }
        if (region) {
            at->address[lane] = address;
            if (mode != MODE_LOAD && region->read_only) {
                fault_at(x, op, lane, FAULT_READ_ONLY, "%u byte%s at offset %llu of %s", bytes, plural(bytes),
                         (unsigned long long)(address - region->base), region->name);
                return false;
            }
            at->region[lane] = region;
            at->host[lane] = region->bytes + (address - region->base);
            at->written[lane] = region->written ? region->written + (address - region->base) : NULL;
            return true;
        }
    }
    fault_at(x, op, lane, FAULT_BOUNDS, "%s", access_text(x, address, bytes, mode));
    return false;
}

bool access_translate(Exec *x, const Op *op, uint32_t mask, unsigned bytes, AccessMode mode, bool strong,
                      Translation *at)
{
    Region *region = NULL;
    uint64_t base = 0, limit = 0;
    bool usable = false; /* 'region' is valid, and the lanes before this one could access it */
    (void)strong;
    EACH_ACTIVE(lane, mask)
    {
        uint64_t address = at->address[lane];
        if (address & (bytes - 1)) {
            fault_at(x, op, lane, FAULT_ALIGNMENT, "%u byte%s at address 0x%llx", bytes, plural(bytes),
                     (unsigned long long)address);
            return false;
        }
        if (usable && address - base <= limit) {
            at->region[lane] = region;
            at->host[lane] = region->bytes + (address - base);
            at->written[lane] = region->written ? region->written + (address - base) : NULL;
            continue;
        }
        if (!translate_lane(x, op, lane, bytes, mode, at))
            return false;
        region = at->region[lane];
        /* The shared memories of two blocks have the same base. */
        usable = region && (region->space != SPACE_SHARED || region == &x->block->shared);
        if (usable) {
            base = region->base;
            limit = region->size - bytes;
        }
    }
    return true;
}
