/* The sectors that a whole grid touches, from boxes of neighbouring blocks that ran.
 *
 * The addresses of most accesses are affine in the position of the block. So the sectors that w x h x d neighbouring
 * blocks touch together are a polynomial in w, h and d, linear in each: what blocks share along an axis counts once
 * for all of them. Its values for the halves of a box along each axis, and for the whole, determine it. For each sector
 * a box has the set of its octants with a block that touched it, from which all of these values follow. */
#include "emulator/state/state.h"

enum { OCTANT_SETS = 256 };

struct Footprint {
    double sets[FOOTPRINT_KINDS][OCTANT_SETS]; /* how many sectors of all boxes were touched by just these octants */
    uint8_t *octants[2];         /* loads, stores; for each sector: those of the present box */
    uint8_t *boxes;              /* for each sector: the boxes with stores to it, at most 255 */
    bool is_updated;             /* by an atomic operation */
};

void footprint_prepare(Emulator *emulator, Region *region, size_t sectors)
{
    if (!emulator->options.sample_box)
        return;
    Footprint *footprint = region->footprint = emulator_alloc(emulator, 1, sizeof *footprint);
    for (unsigned i = 0; i < 2; i++)
        footprint->octants[i] = emulator_alloc(emulator, sectors + 1, 1);
    footprint->boxes = emulator_alloc(emulator, sectors + 1, 1);
}

void footprint_touch(Emulator *emulator, const Region *region, bool is_store, uint64_t sector)
{
    if (!emulator->octant || !region->footprint)
        return;
    uint8_t *octants = &region->footprint->octants[is_store][sector];
    if (!*octants)
        VEC_PUSH(emulator->arena, emulator->touched, ((TouchedSector){region->footprint, sector, is_store}));
    *octants |= emulator->octant;
}

void footprint_end_box(Emulator *emulator)
{
    for (size_t i = 0; i < emulator->touched.count; i++) {
        const TouchedSector *at = &emulator->touched.data[i];
        const uint8_t octants = at->footprint->octants[at->is_store][at->sector];
        at->footprint->sets[at->is_store ? FOOTPRINT_STORES : FOOTPRINT_LOADS][octants]++;
        if (at->is_store && !at->footprint->octants[0][at->sector])
            at->footprint->sets[FOOTPRINT_UNREAD][octants]++;
        if (at->is_store && at->footprint->boxes[at->sector] < UINT8_MAX)
            at->footprint->boxes[at->sector]++;
    }
    for (size_t i = 0; i < emulator->touched.count; i++) {
        const TouchedSector *at = &emulator->touched.data[i];
        at->footprint->octants[at->is_store][at->sector] = 0;
    }
    emulator->touched.count = 0;
}

void footprint_update(const Region *region)
{
    if (region->footprint)
        region->footprint->is_updated = true;
}

double footprint_updates(const Region *region, double scale)
{
    double most = 0;
    if (!region->footprint->is_updated)
        return 0;
    for (uint64_t sector = 0; sector < divide_up(region->size, SECTOR_BYTES); sector++) {
        const double updates = region->updates[sector] * (region->footprint->boxes[sector] > 1 ? scale : 1);
        most = updates > most ? updates : most;
    }
    return most;
}

/* The sectors of a mean box that its first halves (0) or the whole (1) touch along each axis. */
static double part_sectors(const double sets[OCTANT_SETS], const unsigned part[3])
{
    unsigned octants = 0;
    double sectors = 0;
    for (unsigned i = 0; i < 8; i++)
        if ((i & 1) <= part[0] && (i >> 1 & 1) <= part[1] && i >> 2 <= part[2])
            octants |= 1u << i;
    for (unsigned set = 1; set < OCTANT_SETS; set++)
        sectors += set & octants ? sets[set] : 0;
    return sectors;
}

double footprint_of_grid(const Region *region, FootprintKind kind, const unsigned grid[3], const BoxShape *box)
{
    double sectors = 0, whole = 0;
    for (unsigned i = 0; i < 8; i++) {
        const unsigned part[3] = {i & 1, i >> 1 & 1, i >> 2};
        const double touched = part_sectors(region->footprint->sets[kind], part) / box->count;
        double weight = 1;
        for (unsigned axis = 0; axis < 3; axis++) {
            const double size = box->size[axis], half = size > 1 ? size / 2 : 0;
            const double beyond = half > 0 ? (grid[axis] - size) / half : 0;
            weight *= part[axis] ? 1 + beyond : -beyond;
        }
        sectors += weight * touched;
        whole = touched;
    }
    const double most = (double)divide_up(region->size, SECTOR_BYTES);
    return sectors < whole ? whole : sectors > most ? most : sectors;
}
