/* Choosing a part of a grid that stands for all of it.
 *
 * Along each axis, a long grid has slabs: its first block, its last one, and quarters of those between. Blocks that are
 * in the same slab along each axis are of one kind: the first and the last have the edge of the data, and where blocks
 * were merged in a grid that stayed, those of the first quarters have all the work. Strips of each kind run, and boxes
 * of neighbours, for what these share, in places that are spread evenly. Each count is the sum over the kinds, scaled
 * to as many blocks as the grid has of the kind. Each block stands for a whole number of blocks, so that counts of
 * instructions that belong together stay equal. The blocks of a kind differ by some standard error; if that is too
 * much, a larger sample has to run, and if it still is, the whole grid.
 *
 * Neighbours may belong together because one of them has the work of all. Then "block" below means such a cell, and the
 * grid is one of cells. */
#include "emulator/sample.h"

#include <math.h>

enum {
    LONG_AXIS = 8,    /* blocks along an axis from which its ends are apart */
    FEWEST_BOXES = 4, /* that say something, ... */
    SHORTEST_BOX = 8, /* and their blocks along x: in smaller grids, all blocks run */
    STRIP = 4,        /* blocks of a strip; all have as many as the boxes */
    MORE = 4,         /* times as many in the second sample */
    WORTH = 3,        /* the sample is smaller than the grid by this factor at least */
};

static unsigned slab_blocks(const Axis *axis, unsigned slab)
{
    return axis->begin[slab + 1] - axis->begin[slab];
}

static const unsigned powers[3] = {1, SAMPLE_SLABS, SAMPLE_SLABS * SAMPLE_SLABS};

static unsigned kind_digit(uint32_t kind, unsigned axis)
{
    return kind / powers[axis] % SAMPLE_SLABS;
}

uint64_t sample_kind_blocks(const Sample *sample, uint32_t kind)
{
    uint64_t blocks = 1;
    for (unsigned i = 0; i < 3; i++)
        blocks *= kind_digit(kind, i) < sample->axes[i].count ? slab_blocks(&sample->axes[i], kind_digit(kind, i)) : 0;
    return blocks;
}

static unsigned slab_of(const Axis *axis, unsigned place)
{
    unsigned slab = 0;
    while (place >= axis->begin[slab + 1])
        slab++;
    return slab;
}

uint32_t sample_kind_of(const Sample *sample, const unsigned at[3])
{
    uint32_t kind = 0;
    for (unsigned i = 0; i < 3; i++)
        kind += powers[i] * slab_of(&sample->axes[i], at[i]);
    return kind;
}

/* True if the blocks of the kind are at no end of an axis that has ends. */
static bool is_inner(const Sample *sample, uint32_t kind)
{
    bool inner = true;
    for (unsigned i = 0; i < 3; i++)
        inner &= kind_digit(kind, i) - sample->axes[i].inner_first < sample->axes[i].inner_count;
    return inner;
}

/* Member i of a sequence that fills [0, 1) evenly, in three axes together: an additive recurrence. */
static double even_share(unsigned i, unsigned axis)
{
    static const double steps[3] = {0.8191725133961645, 0.6710436067037893, 0.5497004779019703};
    const double at = 0.5 + (i + 1) * steps[axis];
    return at - floor(at);
}

static unsigned even_place(unsigned i, unsigned axis, unsigned count)
{
    const unsigned place = (unsigned)(even_share(i, axis) * count);
    return place < count ? place : count - 1;
}

/* Adds the blocks of a cell to the last unit. */
static void add_block(Sample *sample, const unsigned at[3], uint8_t octant)
{
    const unsigned *grid = sample->emulator->grid, *cell = sample->cell;
    const uint32_t unit = (uint32_t)sample->units.count - 1;
    for (unsigned i = 0; i < cell[0] * cell[1] * cell[2]; i++) {
        const uint64_t x = (uint64_t)at[0] * cell[0] + i % cell[0];
        const uint64_t y = (uint64_t)at[1] * cell[1] + i / cell[0] % cell[1];
        const uint64_t z = (uint64_t)at[2] * cell[2] + i / cell[0] / cell[1];
        if (x >= grid[0] || y >= grid[1] || z >= grid[2])
            continue;
        const SampleBlock block = {.index = (z * grid[1] + y) * grid[0] + x, .unit = unit, .octant = octant};
        VEC_PUSH(sample->emulator->arena, sample->blocks, block);
    }
    sample->blocks.data[sample->blocks.count - 1].ends_cell = true;
    sample->ran[sample->units.data[unit].kind]++;
}

void sample_cell_at(const Sample *sample, uint64_t index, unsigned at[3], unsigned within[3])
{
    const unsigned *grid = sample->emulator->grid;
    const unsigned place[3] = {(unsigned)(index % grid[0]), (unsigned)(index / grid[0] % grid[1]),
                               (unsigned)(index / grid[0] / grid[1])};
    for (unsigned i = 0; i < 3; i++) {
        at[i] = place[i] / sample->cell[i];
        within[i] = place[i] % sample->cell[i];
    }
}

/* True if a block that was chosen already is in the box of this size at this place. */
static bool is_taken(const Sample *sample, const unsigned at[3], const unsigned size[3])
{
    for (size_t i = 0; i < sample->blocks.count; i++) {
        unsigned place[3], within[3];
        bool is_inside = true;
        sample_cell_at(sample, sample->blocks.data[i].index, place, within);
        for (unsigned axis = 0; axis < 3; axis++)
            is_inside &= place[axis] >= at[axis] && place[axis] - at[axis] < size[axis];
        if (is_inside)
            return true;
    }
    return false;
}

/* The place of box i along an axis: within one slab and, if there is a choice along x, where sectors begin. */
static unsigned box_place(const Sample *sample, unsigned i, unsigned axis)
{
    const Axis *slabs = &sample->axes[axis];
    const unsigned size = sample->box.size[axis], first = slabs->begin[slabs->inner_first];
    const unsigned end = slabs->begin[slabs->inner_first + slabs->inner_count];
    const unsigned place = first + even_place(i, axis, end - first);
    const unsigned slab = slab_of(slabs, place);
    const unsigned begin = slabs->begin[slab], last = slabs->begin[slab + 1] - size;
    const unsigned step = axis == 0 && last - begin >= size ? size : 1;
    const unsigned lowest = (begin + step - 1) / step * step, wanted = place / step * step;
    return wanted < lowest ? lowest : wanted > last ? last / step * step : wanted;
}

unsigned sample_box_blocks(const Sample *sample)
{
    return sample->box.size[0] * sample->box.size[1] * sample->box.size[2];
}

/* Adds box i of the sequence, unless some of its blocks are chosen already. */
static void add_box(Sample *sample, unsigned number)
{
    const unsigned *size = sample->box.size, blocks = sample_box_blocks(sample);
    const unsigned at[3] = {box_place(sample, number, 0), box_place(sample, number, 1), box_place(sample, number, 2)};
    if (is_taken(sample, at, size))
        return;
    VEC_PUSH(sample->emulator->arena, sample->units, ((SampleUnit){sample_kind_of(sample, at), blocks, true}));
    sample->box.count++;
    for (unsigned i = 0; i < blocks; i++) {
        const unsigned in[3] = {i % size[0], i / size[0] % size[1], i / size[0] / size[1]};
        unsigned octant = 0, place[3];
        for (unsigned axis = 0; axis < 3; axis++) {
            place[axis] = at[axis] + in[axis];
            octant |= (unsigned)(2 * in[axis] >= size[axis] && size[axis] > 1) << axis;
        }
        add_block(sample, place, (uint8_t)(1u << octant));
    }
}

static void add_boxes(Sample *sample)
{
    for (unsigned i = 0; sample->box.count < sample->wanted_boxes && i < 2 * sample->wanted_boxes; i++)
        add_box(sample, i);
}

/* Adds strips of neighbours along x of the kind: the sectors that a block touches may depend on its place among
 * neighbours. */
static void add_strips(Sample *sample, uint32_t kind, unsigned wanted)
{
    const Axis *axes = sample->axes;
    const unsigned width = slab_blocks(&axes[0], kind_digit(kind, 0)), length = width < STRIP ? width : STRIP;
    const uint64_t all = sample_kind_blocks(sample, kind) / length;
    for (unsigned tried = 0, added = 0; added < wanted && added < all && tried < 2 * wanted + 4; tried++) {
        const unsigned size[3] = {length, 1, 1};
        unsigned at[3];
        for (unsigned i = 0; i < 3; i++) {
            const unsigned slab = kind_digit(kind, i), begin = axes[i].begin[slab];
            at[i] = begin + even_place(tried, i, slab_blocks(&axes[i], slab) - size[i] + 1);
            if (at[i] / size[i] * size[i] >= begin)
                at[i] = at[i] / size[i] * size[i];
        }
        if (is_taken(sample, at, size))
            continue;
        VEC_PUSH(sample->emulator->arena, sample->units, ((SampleUnit){kind, length, false}));
        for (unsigned i = 0; i < length; i++)
            add_block(sample, (const unsigned[3]){at[0] + i, at[1], at[2]}, 0);
        added++;
    }
}

static unsigned inner_kinds(const Sample *sample)
{
    return sample->axes[0].inner_count * sample->axes[1].inner_count * sample->axes[2].inner_count;
}

/* For each kind within the grid, at least two. */
static unsigned strips_of_kind(const Sample *sample)
{
    const unsigned all = sample->wanted_boxes * sample_box_blocks(sample) / STRIP;
    const unsigned each = (all + inner_kinds(sample) - 1) / inner_kinds(sample);
    return each < 2 ? 2 : each;
}

/* Whether the grid is larger than the sample by enough. */
static bool is_worth_while(const Sample *sample)
{
    const unsigned *grid = sample->grid;
    const unsigned kinds = sample->axes[0].count * sample->axes[1].count * sample->axes[2].count;
    const uint64_t strips = (uint64_t)inner_kinds(sample) * strips_of_kind(sample);
    const uint64_t blocks =
        (uint64_t)sample->wanted_boxes * sample_box_blocks(sample) + strips * STRIP + kinds - inner_kinds(sample);
    return blocks * WORTH <= (uint64_t)grid[0] * grid[1] * grid[2];
}

/* Divides an axis into slabs, whose quarters have room for two boxes of this size. */
static Axis axis_divide(unsigned grid, unsigned size)
{
    Axis axis = {.inner_first = grid >= LONG_AXIS, .inner_count = SAMPLE_QUARTERS};
    const unsigned inner = grid - 2 * axis.inner_first;
    while (axis.inner_count > 1 && inner / axis.inner_count < 2 * size + 1)
        axis.inner_count /= 2;
    if (axis.inner_first)
        axis.begin[++axis.count] = 1;
    for (unsigned i = 1; i < axis.inner_count; i++)
        axis.begin[++axis.count] = (unsigned)((uint64_t)grid * i / axis.inner_count);
    if (axis.inner_first)
        axis.begin[++axis.count] = grid - 1;
    axis.begin[++axis.count] = grid;
    return axis;
}

/* Sets the size of a box, at most 'longest' blocks along x: half of them should have whole sectors, even if each has
 * only some bytes of its own. Then divides the axes. */
static void boxes_shape(Sample *sample, unsigned longest)
{
    unsigned *size = sample->box.size;
    for (unsigned i = 0; i < 3; i++) {
        const unsigned grid = sample->grid[i], inner = grid >= LONG_AXIS ? grid - 2 : grid;
        size[i] = inner > 1 ? 2 : 1;
        while (i == 0 && 2 * size[0] <= longest && 2 * size[0] <= inner)
            size[0] *= 2;
        sample->axes[i] = axis_divide(grid, size[i]);
    }
}

/* Chooses the size and the number of boxes; false if the grid is too small for any. */
static bool choose_boxes(Sample *sample, bool more)
{
    static const unsigned most[4] = {8, 8, 6, FEWEST_BOXES}; /* by the axes of a box */
    unsigned axes = 0, longest = sample->emulator->options.sample_box / sample->cell[0];
    boxes_shape(sample, longest);
    for (unsigned axis = 0; axis < 3; axis++)
        axes += sample->box.size[axis] > 1;
    sample->wanted_boxes = most[axes] * (more ? MORE : 1);
    while (!more && sample->box.size[0] > SHORTEST_BOX && !is_worth_while(sample))
        boxes_shape(sample, longest /= 2);
    while (!more && sample->wanted_boxes > FEWEST_BOXES && !is_worth_while(sample))
        sample->wanted_boxes--;
    return is_worth_while(sample);
}

bool sample_plan(Sample *sample, bool more)
{
    const Emulator *emulator = sample->emulator;
    for (unsigned i = 0; i < 3; i++) {
        const unsigned cell = emulator->options.sample_cell[i];
        sample->cell[i] = cell ? cell : 1;
        sample->grid[i] = (unsigned)divide_up(emulator->grid[i], sample->cell[i]);
    }
    if (!choose_boxes(sample, more))
        return false;
    add_boxes(sample);
    if (sample->box.count < FEWEST_BOXES)
        return false;
    for (uint32_t kind = 0; kind < SAMPLE_KINDS; kind++)
        if (sample_kind_blocks(sample, kind) > sample->ran[kind])
            add_strips(sample, kind, is_inner(sample, kind) ? strips_of_kind(sample) : 1);
    return true;
}
