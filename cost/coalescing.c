/* Sectors and bank conflicts of an access, derived from the way in which its address depends on the thread's index. */
#include "cost/address.h"

#include <math.h>

enum { BANKS = 32, WORD = 4, WIDEST = 16 };
static const double gathered = 0.75; /* the share of the lanes' sectors that are distinct if an index is unknown */

/* The number of lanes of the first warp that the block fills. */
static unsigned warp_lanes(const Estimate *estimate)
{
    double threads = estimate->block[0] * estimate->block[1] * estimate->block[2];
    return threads < WARP_THREADS ? (unsigned)threads : WARP_THREADS;
}

/* Lanes of one group are as far apart as the strides say. */
static uint64_t lane_group(const Estimate *estimate, const AddressShape *shape, unsigned lane)
{
    unsigned place[3];
    address_lane_place(estimate, lane, place);
    uint64_t group = shape->apart[lane];
    for (unsigned i = 0; i < 3; i++)
        group = shape->gathers[i] ? hash_mix(group, place[i]) : group;
    return group;
}

/* A piece of memory that a lane touches. */
typedef struct Touched {
    uint64_t group;
    int64_t piece;
} Touched;

static bool insert(Touched *set, unsigned *count, Touched one)
{
    for (unsigned i = 0; i < *count; i++)
        if (set[i].group == one.group && set[i].piece == one.piece)
            return false;
    set[(*count)++] = one;
    return true;
}

/* The pieces of 'size' bytes that the lanes touch, if the first one's address is 'first' bytes after the start of a
 * piece. Lanes at an unknown distance share none, unless it comes from an index that is unknown. */
static double pieces_from(const Estimate *estimate, const AddressShape *shape, double bytes, double size, double first)
{
    Touched pieces[WARP_THREADS * 4];
    unsigned count = 0, lanes = warp_lanes(estimate);
    double last = bytes < 4 * size ? bytes - 1 : 4 * size - 1, aligned = fmin(bytes, WIDEST);
    for (unsigned lane = 0; lane < lanes; lane++) {
        double at = floor((first + address_lane_offset(estimate, shape, lane)) / aligned) * aligned;
        const uint64_t group = lane_group(estimate, shape, lane);
        for (int64_t piece = (int64_t)floor(at / size); piece <= (int64_t)floor((at + last) / size); piece++)
            if (count < COUNT_OF(pieces))
                insert(pieces, &count, (Touched){group, piece});
    }
    return shape->gathers[0] ? ceil(count * gathered) : count;
}

/* The same in the mean of the blocks along x, if all that is unknown is a multiple of 'size' bytes. */
static double pieces_of(const Estimate *estimate, const AddressShape *shape, double bytes, double size)
{
    enum { BLOCKS = 4 };
    double sum = 0;
    unsigned count = 0;
    do {
        const double at = shape->constant + count * shape->block_stride[0];
        sum += pieces_from(estimate, shape, bytes, size, at - size * floor(at / size));
        count++;
    } while (count < BLOCKS && fmod(count * shape->block_stride[0], size) != 0);
    return sum / count;
}

/* The extra cycles, for lanes that access different words of the same bank. Lanes with wide accesses take turns. Rows
 * at an unknown distance from each other are taken to begin at the same bank, as rows of most pitches do. */
static double conflicts_of(const Estimate *estimate, const AddressShape *shape, double bytes)
{
    unsigned lanes = warp_lanes(estimate);
    if (shape->gathers[0] || shape->gathers[1] || shape->gathers[2]) {
        Touched groups[WARP_THREADS];
        unsigned group_count = 0;
        for (unsigned lane = 0; lane < lanes; lane++)
            insert(groups, &group_count, (Touched){lane_group(estimate, shape, lane), 0});
        /* The fullest bank has about three of 32 random words. */
        return 2.0 * (group_count - 1) / (WARP_THREADS - 1);
    }
    unsigned words = bytes > WORD ? (unsigned)(bytes / WORD) : 1, conflicts = 0;
    unsigned together = BANKS / words ? BANKS / words : 1;
    for (unsigned first = 0; first < lanes; first += together) {
        Touched seen[BANKS];
        unsigned count = 0, fullest = 0, used[BANKS] = {0};
        for (unsigned lane = first; lane < lanes && lane < first + together; lane++) {
            int64_t word = (int64_t)floor(address_lane_offset(estimate, shape, lane) / WORD);
            unsigned bank = (unsigned)word % BANKS;
            const Touched touched = {shape->apart[lane], word};
            if (insert(seen, &count, touched) && ++used[bank] > fullest)
                fullest = used[bank];
        }
        conflicts += fullest > 1 ? fullest - 1 : 0;
    }
    return conflicts;
}

/* How much more a block touches in these rounds of a loop along neighbouring threads than in one of them. */
static double walked(const Walk *walk, double trips)
{
    return fmin(trips, walk->own) + fmax(trips - walk->own, 0) * walk->grows;
}

/* The walk of the loop; NULL: it goes along no axis of the block. */
static const Walk *walk_of(const AddressShape *shape, const Loop *loop)
{
    const Walk *found = NULL;
    for (unsigned i = 0; i < shape->walk_count; i++)
        if (shape->walks[i].depth == loop->depth && (!found || shape->walks[i].grows < found->grows))
            found = &shape->walks[i];
    return found;
}

/* The sectors that a warp of a working (not surplus) block touches for the first time, over all executions of the
 * access; the shares that have to do with neighbours are noted. */
static double distinct_of(const Estimate *estimate, const AddressShape *shape, const Inst *inst, double sectors,
                          AccessShape *access)
{
    const LoopForest *loops = analyses_loops(estimate->analyses);
    double executions = estimate->flow[inst->block->id].warps / estimate->present[inst->block->id], along = 1;
    double walks = 1;
    bool is_step_walked = false;
    access->new_share = 1;
    for (const Loop *loop = loop_of(loops, inst->block); loop; loop = loop->parent) {
        const double trips = estimate->trips[loop->index];
        const Walk *walk = bitset_has(&shape->moves, loop->index) ? walk_of(shape, loop) : NULL;
        if (walk || !bitset_has(&shape->moves, loop->index))
            executions /= trips;
        if (!walk)
            continue;
        along *= walked(walk, trips);
        walks *= trips;
        access->new_share *= walk->is_tiled ? fmin(trips, walk->own) / walked(walk, trips) : 1;
        is_step_walked |= loop->depth == shape->step_depth;
    }
    access->near_share = 1 - along / walks;
    const double step = address_step(shape);
    bool creeps = step > 0 && step < SECTOR_BYTES && !is_step_walked;
    return sectors * along * (creeps ? 1 + (executions - 1) * step / SECTOR_BYTES : executions);
}

/* The sector to which the constant of an address leads, relative to those that other threads or other iterations of the
 * loop touch with another constant: addresses meet if they are a multiple of that distance apart. 0 if they are dense,
 * or if the places are unknown. */
static uint64_t sector_between_threads(const Estimate *estimate, const AddressShape *shape)
{
    const double apart_by_block = fabs(shape->stride[0]) * estimate->block[0];
    double row = shape->wrap > 0 ? fmin(shape->wrap, apart_by_block) : apart_by_block, apart = fabs(shape->stride[0]);
    double constant = shape->constant;
    int64_t rows = 0;
    for (unsigned k = 3; k-- > 1;)
        if (!shape->unknown[k] && fabs(shape->stride[k]) > row)
            constant -= shape->stride[k] * round(constant / shape->stride[k]);
    if (row > 0 && shape->stride[1] != 0 && fabs(constant) > row) {
        rows = (int64_t)round(constant / row);
        constant = 0;
    }
    double step = address_step(shape), share = fabs(shape->block_stride[0]);
    bool moves = bitset_next(&shape->moves, 0) != SIZE_MAX, is_alone = !shape->differs_by_block && !moves;
    /* The pieces that the threads touch one after the other of what a block, or a round of a loop, moves on by. */
    const double whole = share > row ? share : moves && step > row ? step : 0;
    if (row > 0 && (whole > 0 || is_alone || (moves && step == 0))) {
        constant -= whole > 0 ? whole * floor(constant / whole) : 0;
        rows = (int64_t)hash_mix((uint64_t)rows, (uint64_t)(int64_t)floor(constant / row));
        constant -= row * floor(constant / row);
    }
    if (shape->unknown[0] || (apart > 0 && apart <= SECTOR_BYTES))
        return (uint64_t)rows;
    if (moves && step <= SECTOR_BYTES)
        return (uint64_t)rows;
    if (moves && (apart == 0 || step < apart))
        apart = step;
    if (apart > 0)
        constant -= apart * floor(constant / apart);
    return hash_mix((uint64_t)rows, (uint64_t)(int64_t)floor(constant / SECTOR_BYTES));
}

typedef enum Neighbour { NEIGHBOUR_NONE, NEIGHBOUR_NEAR, NEIGHBOUR_FAR } Neighbour;

/* Whether a load or store that touches the same sectors has been estimated, and whether it is in another loop that does
 * not go over this one, or the other way round; else remembers this one. */
static Neighbour find_neighbour(Estimate *estimate, uint64_t key, const Block *block)
{
    const LoopForest *loops = analyses_loops(estimate->analyses);
    const uint64_t *seen = map_get(&estimate->seen, key | 1);
    if (!seen) {
        map_put(&estimate->seen, key | 1, block->id + 1);
        return NEIGHBOUR_NONE;
    }
    const Block *other = estimate->body->blocks.data[*seen - 1];
    const Loop *own = loop_of(loops, block), *others = loop_of(loops, other);
    const bool is_apart = own && others && !loop_contains(loops, own, other) && !loop_contains(loops, others, block);
    return is_apart ? NEIGHBOUR_FAR : NEIGHBOUR_NEAR;
}

/* True if the warps of a block touch different places. */
static bool warps_differ(const Estimate *estimate, const AddressShape *shape)
{
    const double warp = WARP_THREADS * fabs(shape->stride[0]);
    const bool begins_anew = shape->wrap > 0 && fmod(warp, shape->wrap) == 0;
    return shape->unknown[0] || shape->unknown[1] || shape->unknown[2] || shape->stride[1] != 0 ||
           shape->stride[2] != 0 || (warp > 0 && estimate->block[0] > WARP_THREADS && !begins_anew);
}

/* The loop whose rounds go along rows by less than a sector, each warp along its own; NULL: none does. */
static const Loop *loop_along_rows(const Estimate *estimate, const AddressShape *shape, const Inst *inst)
{
    const double step = address_step(shape);
    const Loop *loop = loop_of(analyses_loops(estimate->analyses), inst->block);
    while (loop && loop->depth != shape->step_depth)
        loop = loop->parent;
    return loop && step > 0 && step < SECTOR_BYTES && !walk_of(shape, loop) && warps_differ(estimate, shape) ? loop
                                                                                                             : NULL;
}

AccessShape estimate_access(Estimate *estimate, const Inst *inst, const Access *access)
{
    AffineAddress address;
    double bytes = access->bytes ? access->bytes : WORD;
    affine_of_address(analyses_affine(estimate->analyses), inst, access->address, &address);
    const AddressShape shape = address_shape(estimate, &address.form, inst->block);
    double sectors = pieces_of(estimate, &shape, bytes, SECTOR_BYTES);
    AccessShape result = {.sectors = sectors, .differs_by_block = shape.differs_by_block};
    const double distinct = distinct_of(estimate, &shape, inst, sectors, &result);
    double conflicts = conflicts_of(estimate, &shape, bytes);
    const bool differs_by_warp = warps_differ(estimate, &shape);
    uint64_t key = hash_mix(address_key(&shape), access->kind == ACCESS_LOAD);
    key = hash_mix(key, sector_between_threads(estimate, &shape));
    const bool is_slow = bitset_has(&estimate->slow, inst->block->id);
    const Neighbour neighbour =
        !is_slow && address.form.bits ? find_neighbour(estimate, key, inst->block) : NEIGHBOUR_NONE;
    const bool is_repeated = is_slow || neighbour != NEIGHBOUR_NONE;
    const double by_block = distinct * (differs_by_warp ? estimate_warps(estimate) : 1);
    result.lines = pieces_of(estimate, &shape, bytes, LINE_BYTES);
    result.wavefronts = ceil((bytes > WORD ? bytes / WORD : 1) * warp_lanes(estimate) / WARP_THREADS) + conflicts;
    result.bank_conflicts = conflicts;
    result.distinct = is_repeated ? 0 : by_block;
    result.far = neighbour == NEIGHBOUR_FAR ? by_block : 0;
    result.returns = loop_along_rows(estimate, &shape, inst);
    result.rows = key;
    return result;
}
