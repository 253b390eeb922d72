/* Counts the sectors, lines, wavefronts and bank conflicts of an access. */
#include "emulator/state/shape.h"

/* The lanes that the hardware serves together: all for 4 bytes, half of them for 8, a quarter for 16. */
static unsigned lanes_together(unsigned bytes)
{
    unsigned words = bytes < 4 ? 1 : bytes / 4;
    return words > 8 ? LANES / 8 : LANES / words;
}

/* The most different words that these lanes want from one bank, the banks being those of shared memory, which L1 has,
 * too. Addresses count from any multiple of 128. Lanes that read a word share it; those that update it take turns. */
static unsigned words_in_bank(uint32_t mask, unsigned bytes, const uint64_t *address, bool updates)
{
    uint64_t seen[32][LANES];
    unsigned words = bytes < 4 ? 1 : bytes / 4, per_bank[32] = {0}, most = 0;
    EACH_ACTIVE(lane, mask)
    {
        for (unsigned word = 0; word < words; word++) {
            uint64_t place = address[lane] / 4 + word;
            unsigned bank = place % 32, k = 0;
            while (k < per_bank[bank] && (updates || seen[bank][k] != place))
                k++;
            if (k < per_bank[bank] || k == LANES)
                continue;
            seen[bank][per_bank[bank]++] = place;
            most = per_bank[bank] > most ? per_bank[bank] : most;
        }
    }
    return most;
}

/* The passes of the banks for an access: each group of lanes takes one and one for each conflict. In shared memory, two
 * neighbouring groups share a pass if they conflict nowhere (counters of an H100: a load of 16 bytes from an address
 * that half a warp shares takes two passes there and four in global memory). */
static BankPasses bank_passes(uint32_t mask, unsigned bytes, const uint64_t *address, bool in_shared, bool updates)
{
    const unsigned lanes = lanes_together(bytes);
    BankPasses passes = {0};
    for (unsigned begin = 0; begin < LANES && mask; begin += 2 * lanes) {
        unsigned alone[2] = {0};
        uint32_t pair = 0;
        for (unsigned i = 0; i < 2 && begin + i * lanes < LANES; i++) {
            const uint32_t group = mask & (uint32_t)((UINT64_C(1) << lanes) - 1) << (begin + i * lanes);
            alone[i] = words_in_bank(group, bytes, address, updates);
            passes.conflicts += alone[i] > 1 ? alone[i] - 1 : 0;
            pair |= group;
        }
        const bool is_one =
            in_shared && alone[0] == 1 && alone[1] == 1 && words_in_bank(pair, bytes, address, updates) == 1;
        passes.all += is_one ? 1 : alone[0] + alone[1];
    }
    return passes;
}

/* The passes for accesses of 16 bytes that contain the lanes' words; the first lane's begins with its word. */
static unsigned joined_passes(uint32_t mask, const uint64_t *address)
{
    enum { JOINED_BYTES = 16, MIDDLE = 1 << 30 };
    uint64_t begin[LANES];
    EACH_ACTIVE(lane, mask)
    {
        const uint64_t from_first = address[lane] - address[__builtin_ctz(mask)];
        begin[lane] = (from_first + MIDDLE) & ~(uint64_t)(JOINED_BYTES - 1);
    }
    return bank_passes(mask, JOINED_BYTES, begin, true, false).all;
}

enum { SHARED_WORD = 4 };

static void words_add(Exec *x, unsigned passes, unsigned joined)
{
    EmulatorCounters *counters = &x->emulator->result->counters;
    counters->shared_words++;
    counters->word_passes += passes;
    counters->joined_passes += joined;
}

static void stored_add(Exec *x, bool writes, uint32_t lanes, unsigned bytes)
{
    if (writes)
        x->emulator->result->counters.stored += (uint64_t)__builtin_popcount(lanes) * bytes;
}

static void counts_add(Exec *x, bool writes, unsigned sectors, unsigned lines, unsigned wavefronts,
                       unsigned conflicts)
{
    EmulatorCounters *counters = &x->emulator->result->counters;
    if (writes) {
        counters->store_sectors += sectors;
        counters->store_lines += lines;
    } else {
        counters->load_sectors += sectors;
        counters->load_lines += lines;
    }
    counters->bank_conflicts += conflicts;
    OpCosts *costs = x->frame->code->costs ? &x->frame->code->costs[x->split->pc] : NULL;
    if (costs) {
        costs->sectors += sectors;
        costs->lines += lines;
        costs->wavefronts += wavefronts;
        costs->bank_conflicts += conflicts;
    }
}

void count_access(Exec *x, uint32_t mask, unsigned bytes, AccessMode mode, const Translation *at)
{
    const LaneLoops *loops = x->emulator->loops;
    uint64_t sectors[LANES] = {0}, lines[LANES] = {0}, shared[LANES] = {0};
    unsigned count = 0;
    uint32_t shared_lanes = 0, global_lanes = 0;
    EACH_ACTIVE(lane, mask)
    {
        const Region *region = at->region[lane];
        if (region && region->space == SPACE_SHARED) {
            shared_lanes |= 1u << lane;
            shared[lane] = at->address[lane];
        } else if (region && region->space == SPACE_GLOBAL) {
            sectors[count] = at->address[lane] / SECTOR_BYTES;
            lines[count] = at->address[lane] / LINE_BYTES;
            count++;
            global_lanes |= 1u << lane;
        }
    }
    const BankPasses in_shared = bank_passes(shared_lanes, bytes, shared, true, mode == MODE_ATOMIC);
    const BankPasses in_l1 = bank_passes(global_lanes, bytes, at->address, false, false);
    const unsigned distinct_lines = loops->distinct(lines, count);
    if (x->emulator->options.count_reuse)
        reuse_count(x, mask, bytes, distinct_lines, mode, at);
    stored_add(x, mode != MODE_LOAD, global_lanes, bytes);
    if (shared_lanes && bytes == SHARED_WORD && mode != MODE_ATOMIC)
        words_add(x, in_shared.all, joined_passes(shared_lanes, shared));
    counts_add(x, mode != MODE_LOAD, loops->distinct(sectors, count), distinct_lines,
               in_shared.all + in_l1.all, in_shared.conflicts);
}

/* Adds a value to a list of different ones. */
static void add_distinct(uint64_t *values, unsigned *count, uint64_t value)
{
    unsigned k = 0;
    while (k < *count && values[k] != value)
        k++;
    values[k] = value;
    *count += k == *count;
}

/* A texture unit serves four lanes in a cycle. Rows of images are taken to follow each other in memory. */
void count_image(Exec *x, const ImageTouches *touches, AccessMode mode)
{
    enum { LANES_A_CYCLE = 4 };
    uint64_t sectors[IMAGE_CORNERS * LANES], lines[IMAGE_CORNERS * LANES];
    unsigned sector_count = 0, line_count = 0;
    uint32_t active = 0;
    for (unsigned corner = 0; corner < IMAGE_CORNERS; corner++) {
        active |= touches->lanes[corner];
        EACH_ACTIVE(lane, touches->lanes[corner])
        {
            add_distinct(sectors, &sector_count, touches->at[corner].address[lane] / SECTOR_BYTES);
            add_distinct(lines, &line_count, touches->at[corner].address[lane] / LINE_BYTES);
        }
    }
    for (unsigned corner = 0; x->emulator->options.count_reuse && corner < IMAGE_CORNERS; corner++)
        reuse_count(x, touches->lanes[corner], touches->bytes, corner + 1 == IMAGE_CORNERS ? line_count : 0, mode,
                    &touches->at[corner]);
    stored_add(x, mode != MODE_LOAD, active, touches->bytes);
    counts_add(x, mode != MODE_LOAD, sector_count, line_count,
               (unsigned)divide_up((unsigned)__builtin_popcount(active), LANES_A_CYCLE), 0);
}

/* The pieces of 'size' bytes that the runs touch. */
static inline unsigned pieces_count(const AccessShape *shape, uint32_t offset, uint32_t size)
{
    unsigned count = 0;
    uint32_t next = 0; /* the first piece not counted yet */
    for (unsigned i = 0; i < shape->run_count; i++) {
        const Run *run = &shape->runs[i];
        uint32_t begin = offset + run->first, first = begin / size, last = (begin + run->bytes - 1) / size;
        first = first < next ? next : first;
        count += last + 1 - first;
        next = last + 1;
    }
    return count;
}

void count_shape(Exec *x, const Region *region, AccessShape *shape, uint32_t offset, bool writes)
{
    if (!shape->has_passes) {
        uint64_t address[LANES];
        for (unsigned lane = 0; lane < LANES; lane++)
            address[lane] = (uint32_t)(offset + shape->relative[lane]);
        shape->passes = bank_passes(shape->mask, shape->bytes, address, region->space == SPACE_SHARED, false);
        if (region->space == SPACE_SHARED && shape->bytes == SHARED_WORD)
            shape->joined = joined_passes(shape->mask, address);
        shape->has_passes = true;
    }
    if (region->space != SPACE_GLOBAL) {
        if (region->space == SPACE_SHARED && shape->bytes == SHARED_WORD)
            words_add(x, shape->passes.all, shape->joined);
        counts_add(x, writes, 0, 0, shape->passes.all, shape->passes.conflicts);
        return;
    }
    const unsigned lines = pieces_count(shape, offset, LINE_BYTES);
    if (region->touches[writes])
        reuse_shape(x, region, shape, offset, lines, writes);
    stored_add(x, writes, shape->mask, shape->bytes);
    counts_add(x, writes, pieces_count(shape, offset, SECTOR_BYTES), lines, shape->passes.all, 0);
}
