/* cp.async, bulk copies and reductions of one dimension, st.bulk, and the asynchronous stores and reductions that
 * signal an mbarrier object: PTX ISA, "Non-tensor copy instructions", st.async, red.async. All of them complete at
 * once. */
#include "emulator/execute/execute.h"

#define PIECE 16

/* Tracks the access to a whole piece, or for .cp_mask to single bytes. */
static bool piece_track(Exec *x, const Op *op, uint32_t mask, const CopyBulk *copy, const uint32_t *byte_masks,
                        Translation *dest, uint8_t *values)
{
    AccessMode mode = copy->atomic != ATOMIC_NONE ? MODE_ATOMIC : MODE_STORE;
    if (!x->emulator->tracks_memory)
        return true;
    if (!byte_masks)
        return track_access(x, op, mask, PIECE, mode, NULL, dest, mode == MODE_STORE ? values : NULL,
                            PIECE);
    EACH_ACTIVE(lane, mask)
    {
        for (unsigned i = 0; i < PIECE; i++) {
            Translation one;
            if (!(byte_masks[lane] >> i & 1))
                continue;
            one.address[lane] = dest->address[lane] + i;
            one.host[lane] = dest->host[lane] + i;
            one.region[lane] = dest->region[lane];
            one.written[lane] = dest->written[lane] ? dest->written[lane] + i : NULL;
            if (!track_access(x, op, 1u << lane, 1, mode, NULL, &one, NULL, 0))
                return false;
        }
    }
    return true;
}

static void piece_reduce(const CopyBulk *copy, const uint8_t *dest, uint8_t *values, bool global)
{
    MemoryOp memory = {
        .atomic = copy->atomic, .type = copy->type, .element_bytes = (uint8_t)(type_bits(copy->type) / 8)};
    for (unsigned at = 0; at < PIECE; at += memory.element_bytes) {
        uint64_t old = 0, operand = 0;
        memcpy(&old, dest + at, memory.element_bytes);
        memcpy(&operand, values + at, memory.element_bytes);
        old = atomic_value(&memory, old, operand, 0, global);
        memcpy(values + at, &old, memory.element_bytes);
    }
}

/* Copies 16 bytes of each lane, 'done' bytes after the beginning of its copy. */
static bool copy_piece(Exec *x, const Op *op, uint32_t mask, const Translation *from, const Translation *to,
                       uint64_t done, const uint32_t *byte_masks)
{
    const CopyBulk *copy = op->copy_bulk;
    Translation source, dest;
    _Alignas(16) uint8_t values[LANES * PIECE];
    for (unsigned lane = 0; lane < LANES; lane++) {
        source.address[lane] = from->address[lane] + done;
        dest.address[lane] = to->address[lane] + done;
    }
    if (!access_translate(x, op, mask, PIECE, MODE_LOAD, false, &source) ||
        (x->emulator->tracks_memory && !track_access(x, op, mask, PIECE, MODE_LOAD, NULL, &source, NULL, 0)) ||
        !access_translate(x, op, mask, PIECE, MODE_STORE, false, &dest))
        return false;
    EACH_ACTIVE(lane, mask)
    {
        uint8_t *value = values + PIECE * lane;
        memcpy(value, source.host[lane], PIECE);
        if (copy->atomic != ATOMIC_NONE)
            piece_reduce(copy, dest.host[lane], value, dest.region[lane] && dest.region[lane]->space == SPACE_GLOBAL);
        for (unsigned i = 0; byte_masks && i < PIECE; i++)
            value[i] = byte_masks[lane] >> i & 1 ? value[i] : dest.host[lane][i];
    }
    if (!piece_track(x, op, mask, copy, byte_masks, &dest, values))
        return false;
    if (x->emulator->options.count_memory) {
        count_access(x, mask, PIECE, MODE_LOAD, &source);
        count_access(x, mask, PIECE, MODE_STORE, &dest);
    }
    EACH_ACTIVE(lane, mask)
    {
        memcpy(dest.host[lane], values + PIECE * lane, PIECE);
    }
    return true;
}

static Step copy_all(Exec *x, const Op *op, uint32_t mask, const Translation *from, const Translation *to,
                     const uint64_t bytes[LANES])
{
    const CopyBulk *copy = op->copy_bulk;
    uint32_t byte_masks[LANES] = {0};
    uint64_t most = 0;
    EACH_ACTIVE(lane, mask)
    {
        most = bytes[lane] > most ? bytes[lane] : most;
        if (copy->byte_mask != NO_ROW)
            byte_masks[lane] = (uint32_t)row_get(source_row(x, copy->byte_mask), 2, lane);
    }
    for (uint64_t done = 0; done < most; done += PIECE) {
        uint32_t left = 0;
        EACH_ACTIVE(lane, mask)
        {
            left |= (uint32_t)(done < bytes[lane]) << lane;
        }
        if (!copy_piece(x, op, left, from, to, done, copy->byte_mask != NO_ROW ? byte_masks : NULL))
            return STEP_FAULT;
    }
    return STEP_NEXT;
}

/* Changes addresses in shared memory to the same offset in the block of the given rank. */
static void to_rank(Translation *at, uint32_t mask, unsigned rank)
{
    EACH_ACTIVE(lane, mask)
    {
        uint64_t offset = at->address[lane] & ((UINT64_C(1) << SHARED_RANK_SHIFT) - 1);
        at->address[lane] = WINDOW_SHARED + (uint64_t)(rank + 1) * (UINT64_C(1) << SHARED_RANK_SHIFT) + offset;
    }
}

/* Copies to every block in each lane's mask and signals the mbarrier object of each. */
static Step multicast(Exec *x, const Op *op, uint32_t mask, const Translation *from, Translation *to,
                      const uint64_t bytes[LANES])
{
    const CopyBulk *copy = op->copy_bulk;
    for (unsigned rank = 0; rank < x->block->cluster->count; rank++) {
        uint32_t here = 0;
        Translation object;
        EACH_ACTIVE(lane, mask)
        {
            here |= (uint32_t)(row_get(source_row(x, copy->multicast), 2, lane) >> rank & 1) << lane;
        }
        if (!here)
            continue;
        to_rank(to, here, rank);
        if (copy_all(x, op, here, from, to, bytes) == STEP_FAULT ||
            !access_addresses(x, op, &copy->mbarrier, here, &object))
            return STEP_FAULT;
        to_rank(&object, here, rank);
        if (mbarrier_complete(x, op, here, &object, bytes) == STEP_FAULT)
            return STEP_FAULT;
    }
    return STEP_NEXT;
}

static Step signal_lanes(Exec *x, const Op *op, uint32_t mask, const uint64_t bytes[LANES])
{
    Translation object;
    if (!op->copy_bulk->signals)
        return STEP_NEXT;
    return access_addresses(x, op, &op->copy_bulk->mbarrier, mask, &object)
               ? mbarrier_complete(x, op, mask, &object, bytes)
               : STEP_FAULT;
}

Step run_copy_bulk(Exec *x, const Op *op, uint32_t mask)
{
    const CopyBulk *copy = op->copy_bulk;
    uint64_t bytes[LANES] = {0};
    Translation from, to;
    if (!mask || !access_addresses(x, op, &copy->from, mask, &from) || !access_addresses(x, op, &copy->to, mask, &to))
        return mask ? STEP_FAULT : STEP_NEXT;
    EACH_ACTIVE(lane, mask)
    {
        bytes[lane] = row_get(source_row(x, copy->size), 4, lane);
        if (bytes[lane] % PIECE)
            return fault_at(x, op, lane, FAULT_ALIGNMENT, "a bulk copy of %llu byte%s, which is not a multiple of 16",
                            (unsigned long long)bytes[lane], plural(bytes[lane]));
    }
    effect_note(x);
    if (copy->multicast != NO_ROW)
        return multicast(x, op, mask, &from, &to, bytes);
    Step step = copy_all(x, op, mask, &from, &to, bytes);
    return step == STEP_NEXT ? signal_lanes(x, op, mask, bytes) : step;
}

/* st.async and red.async */
Step run_store_async(Exec *x, const Op *op, uint32_t mask)
{
    const CopyBulk *copy = op->copy_bulk;
    uint64_t bytes[LANES];
    if (!mask)
        return STEP_NEXT;
    Step step = copy->to.atomic == ATOMIC_NONE ? access_store(x, op, &copy->to, mask)
                                               : access_atomic(x, op, &copy->to, mask);
    for (unsigned lane = 0; lane < LANES; lane++)
        bytes[lane] = (uint64_t)copy->to.element_bytes * copy->to.count;
    return step == STEP_NEXT ? signal_lanes(x, op, mask, bytes) : step;
}

/* st.bulk [a], size, 0 */
Step run_store_bulk(Exec *x, const Op *op, uint32_t mask)
{
    static const uint64_t zeros[LANES];
    const CopyBulk *copy = op->copy_bulk;
    Translation to, at;
    if (!mask || !access_addresses(x, op, &copy->to, mask, &to))
        return mask ? STEP_FAULT : STEP_NEXT;
    effect_note(x);
    for (uint64_t done = 0;; done += 8) {
        uint32_t left = 0;
        EACH_ACTIVE(lane, mask)
        {
            uint64_t size = row_get(source_row(x, copy->size), 8, lane);
            if (size % 8)
                return fault_at(x, op, lane, FAULT_ALIGNMENT, "st.bulk of %llu byte%s, which is not a multiple of 8",
                                (unsigned long long)size, plural(size));
            left |= (uint32_t)(done < size) << lane;
            at.address[lane] = to.address[lane] + done;
        }
        if (!left)
            return STEP_NEXT;
        if (!access_translate(x, op, left, 8, MODE_STORE, false, &at) ||
            (x->emulator->tracks_memory && !track_access(x, op, left, 8, MODE_STORE, NULL, &at, zeros, 8)))
            return STEP_FAULT;
        EACH_ACTIVE(lane, left)
        {
            memset(at.host[lane], 0, 8);
        }
    }
}

/* cp.async */
Step run_copy_async(Exec *x, const Op *op, uint32_t mask)
{
    const CopyAsync *copy = op->copy_async;
    unsigned bytes = copy->to.element_bytes;
    Translation from, to;
    _Alignas(16) uint8_t values[LANES * 16] = {0};
    uint32_t reading = mask;
    if (!mask)
        return STEP_NEXT;
    if (copy->ignore != NO_ROW) {
        uint32_t ignored = source_mask(x, copy->ignore);
        reading &= copy->ignore_inverted ? ignored : ~ignored;
    }
    uint32_t sizes[LANES];
    EACH_ACTIVE(lane, mask)
    {
        sizes[lane] = bytes;
        if (copy->size != NO_ROW) {
            uint64_t asked = row_get(source_row(x, copy->size), 4, lane);
            if (asked < bytes)
                sizes[lane] = (uint32_t)asked;
        }
        if (!sizes[lane])
            reading &= ~(1u << lane);
    }
    if (!access_addresses(x, op, &copy->from, reading, &from) || !access_addresses(x, op, &copy->to, mask, &to))
        return STEP_FAULT;
    if (reading) {
        if (!access_translate(x, op, reading, bytes, MODE_LOAD, false, &from))
            return STEP_FAULT;
        x->emulator->result->counters.loads[SPACE_GLOBAL]++;
        if (x->emulator->options.count_memory)
            count_access(x, reading, bytes, MODE_LOAD, &from);
        if (x->emulator->tracks_memory && !track_access(x, op, reading, bytes, MODE_LOAD, NULL, &from, NULL, 0))
            return STEP_FAULT;
        EACH_ACTIVE(lane, reading)
        {
            memcpy(values + lane * bytes, from.host[lane], sizes[lane]);
        }
    }
    if (!access_translate(x, op, mask, bytes, MODE_STORE, false, &to))
        return STEP_FAULT;
    x->emulator->result->counters.stores[SPACE_SHARED]++;
    if (x->emulator->options.count_memory)
        count_access(x, mask, bytes, MODE_STORE, &to);
    if (x->emulator->tracks_memory && !track_access(x, op, mask, bytes, MODE_STORE, NULL, &to, values, bytes))
        return STEP_FAULT;
    EACH_ACTIVE(lane, mask)
    {
        if (memcmp(to.host[lane], values + lane * bytes, bytes) != 0)
            effect_note(x);
        memcpy(to.host[lane], values + lane * bytes, bytes);
        if (x->emulator->options.check_races)
            pending_add(x, lane, to.region[lane], to.address[lane] - to.region[lane]->base, bytes);
    }
    return STEP_NEXT;
}

Step run_copy_commit(Exec *x, const Op *op, uint32_t mask)
{
    (void)op;
    pending_commit(x, mask);
    return STEP_NEXT;
}

Step run_copy_wait(Exec *x, const Op *op, uint32_t mask)
{
    if (op->value == COPY_WAIT_ALL)
        pending_commit(x, mask);
    const uint32_t left = op->value == COPY_WAIT_ALL ? 0 : (uint32_t)op->value;
    return pending_wait(x, op, mask, left) ? STEP_NEXT : STEP_FAULT;
}
