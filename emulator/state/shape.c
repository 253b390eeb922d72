/* The shape of a warp's access: the lanes that share a place, and the places that are adjacent.
 *
 * An op tends to access memory in the same shape again and again, only at another offset. So the last shape of each
 * memory operand is kept, and whether it still applies is one comparison of the lanes' offsets. */
#include "emulator/state/shape.h"

AccessShape *shape_new(Emulator *emulator)
{
    return ARENA_NEW(emulator->arena, AccessShape);
}

static void cells_reserve(Emulator *emulator, AccessShape *shape, unsigned count)
{
    if (count <= shape->cell_capacity)
        return;
    shape->cell_capacity = (uint16_t)count;
    shape->lanes = ARENA_ARRAY(emulator->arena, uint32_t, count);
    shape->others = ARENA_ARRAY(emulator->arena, uint32_t, count);
}

/* The active lanes by offset, and then by number: each is its offset times 32 plus its number. */
static unsigned lanes_sort(uint64_t sorted[LANES], uint32_t mask, const uint32_t *offsets)
{
    unsigned count = 0;
    EACH_ACTIVE(lane, mask)
    {
        uint64_t key = (uint64_t)offsets[lane] * LANES + lane;
        unsigned i = count++;
        for (; i > 0 && sorted[i - 1] > key; i--)
            sorted[i] = sorted[i - 1];
        sorted[i] = key;
    }
    return count;
}

static void run_extend(AccessShape *shape, uint32_t first, bool is_shared)
{
    Run *last = shape->run_count ? &shape->runs[shape->run_count - 1] : NULL;
    if (last && last->first + last->bytes == first && last->is_shared == is_shared)
        last->bytes += shape->bytes;
    else
        shape->runs[shape->run_count++] = (Run){first, shape->bytes, shape->cell_count, is_shared};
}

static void shape_make(Emulator *emulator, AccessShape *shape, uint32_t mask, const uint32_t *offsets, unsigned bytes,
                       unsigned shift)
{
    uint64_t sorted[LANES];
    unsigned count = lanes_sort(sorted, mask, offsets), cells = bytes >> shift;
    cells_reserve(emulator, shape, cells * LANES);
    shape->mask = mask;
    shape->bytes = (uint8_t)bytes;
    shape->shift = (uint8_t)shift;
    shape->low = offsets[0] % 4;
    shape->run_count = 0;
    shape->cell_count = 0;
    shape->overlaps = false;
    shape->has_passes = false;
    for (unsigned lane = 0; lane < LANES; lane++)
        shape->relative[lane] = offsets[lane] - offsets[0];
    for (unsigned i = 0; i < count;) {
        uint64_t offset = sorted[i] / LANES;
        unsigned begin = i;
        while (i < count && sorted[i] / LANES == offset)
            i++;
        bool is_shared = i - begin > 1;
        run_extend(shape, (uint32_t)offset - offsets[0], is_shared);
        shape->overlaps |= is_shared;
        for (unsigned k = 0; k < cells; k++) {
            shape->lanes[shape->cell_count] = (uint32_t)(sorted[i - 1] % LANES) << 1;
            shape->others[shape->cell_count++] = is_shared ? (uint32_t)(sorted[i - 2] % LANES) << 1 : UINT32_MAX;
        }
    }
}

void shape_update(Emulator *emulator, AccessShape *shape, uint32_t mask, const uint32_t *offsets, unsigned bytes,
                  unsigned shift)
{
    if (shape->mask != mask || shape->shift != shift || shape->low != offsets[0] % 4 ||
        !emulator->loops->are_relative(offsets, shape->relative))
        shape_make(emulator, shape, mask, offsets, bytes, shift);
}
