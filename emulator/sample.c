/* Counting a launch by a part of its blocks, where their order cannot be observed.
 *
 * Along each axis, the first block and the last of a long grid are of a kind of their own: they have the edge of the
 * data. The blocks that are within the grid along all axes are sampled by boxes of neighbours, for what these share,
 * and by single blocks in more places, both spread evenly; those that are at an end along some axis by single blocks.
 * Each count is the sum over the kinds of blocks, scaled to as many as the grid has of the kind. Each block stands for
 * a whole number of blocks, so that counts of instructions that belong together stay equal. The work of boxes and
 * single blocks differs by some standard error; if that is too much, a larger sample has to run, and if it still is,
 * the whole grid. */
#include "emulator/run.h"

#include <math.h>
#include <stdlib.h>

enum {
    LONG_AXIS = 8,        /* blocks along an axis from which its ends are apart */
    FEWEST_BOXES = 4,     /* that say something, ... */
    SHORTEST_BOX = 8,     /* and their blocks along x: in smaller grids, all blocks run */
    MORE_BOXES = 4,       /* times as many in the second sample */
    SINGLES = 2,          /* there is a single block for this many blocks of boxes */
    WORTH = 3,            /* the sample is smaller than the grid by this factor at least */
    CODE_FIELDS = 7,      /* the counts of an op */
};
static const double accepted_error = 0.01;

typedef struct SampleBlock {
    uint64_t index; /* in the grid */
    uint32_t group;
    uint8_t octant;
} SampleBlock;

typedef enum GroupForm { GROUP_BOX, GROUP_SINGLE, GROUP_ENDS, GROUP_FORMS = GROUP_ENDS } GroupForm;

/* A box, a single block within the grid, or those of a kind that is at an end. */
typedef struct SampleGroup {
    uint32_t kind; /* for each axis a digit to the base 3: before, within or behind */
    GroupForm form;
} SampleGroup;

enum { MEASURES = 2 }; /* of work: the emulator's steps, sectors */

/* Sums over the boxes, or over the single blocks, of the work of each, and of its square. */
typedef struct GroupWork {
    double count, sum[MEASURES], squares[MEASURES];
} GroupWork;

typedef struct Sample {
    Emulator *emulator;
    VEC(SampleBlock) blocks;
    VEC(SampleGroup) groups;
    size_t next; /* of 'blocks' */
    BoxShape box;
    unsigned wanted_boxes, tried[GROUP_FORMS];
    unsigned first[3], end[3]; /* of the blocks within, along each axis */
    unsigned ran[27], scaled[27]; /* blocks of each kind: all that run, and those that have run */
    GroupWork works[GROUP_FORMS];
    double steps_before, group_sectors; /* the steps until the present group, and its sectors */
    uint64_t *sums; /* each count, scaled: those of the launch, then of each op */
} Sample;

enum { KIND_WITHIN = 1 + 3 + 9, LAUNCH_FIELDS = sizeof(EmulatorCounters) / sizeof(uint64_t) };

/* How many blocks are before, within or behind along an axis. */
static unsigned digit_blocks(const Sample *sample, unsigned axis, unsigned digit)
{
    const unsigned grid = sample->emulator->grid[axis];
    return digit == 0 ? sample->first[axis] : digit == 1 ? sample->end[axis] - sample->first[axis]
                                                         : grid - sample->end[axis];
}

static const unsigned powers[3] = {1, 3, 9};

static unsigned kind_digit(uint32_t kind, unsigned axis)
{
    return kind / powers[axis] % 3;
}

static uint64_t kind_blocks(const Sample *sample, uint32_t kind)
{
    uint64_t blocks = 1;
    for (unsigned axis = 0; axis < 3; axis++)
        blocks *= digit_blocks(sample, axis, kind_digit(kind, axis));
    return blocks;
}

static uint32_t kind_of(const Sample *sample, const unsigned at[3])
{
    uint32_t kind = 0;
    for (unsigned axis = 0; axis < 3; axis++)
        kind += powers[axis] * (at[axis] < sample->first[axis] ? 0 : at[axis] < sample->end[axis] ? 1 : 2);
    return kind;
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

static void add_block(Sample *sample, const unsigned at[3], uint8_t octant)
{
    const unsigned *grid = sample->emulator->grid;
    const uint64_t index = ((uint64_t)at[2] * grid[1] + at[1]) * grid[0] + at[0];
    const SampleBlock block = {index, (uint32_t)sample->groups.count - 1, octant};
    VEC_PUSH(sample->emulator->arena, sample->blocks, block);
    sample->ran[sample->groups.data[block.group].kind]++;
}

/* Adds some blocks of a kind that is at an end along an axis. */
static void add_kind(Sample *sample, uint32_t kind)
{
    const uint64_t all = kind_blocks(sample, kind);
    unsigned ends = 0, at[3];
    for (unsigned axis = 0; axis < 3; axis++)
        ends += kind_digit(kind, axis) != 1;
    const unsigned count = all < 5 - ends ? (unsigned)all : 5 - ends;
    VEC_PUSH(sample->emulator->arena, sample->groups, ((SampleGroup){kind, GROUP_ENDS}));
    for (unsigned i = 0; i < count; i++) {
        for (unsigned axis = 0; axis < 3; axis++) {
            const unsigned digit = kind_digit(kind, axis), blocks = digit_blocks(sample, axis, digit);
            const unsigned first = digit == 0 ? 0 : digit == 1 ? sample->first[axis] : sample->end[axis];
            at[axis] = first + (unsigned)((uint64_t)blocks * (2 * i + 1) / (2 * count));
        }
        add_block(sample, at, 0);
    }
}

/* True if blocks within the grid that are chosen already are in the box at this place. */
static bool is_taken(const Sample *sample, const unsigned at[3], const unsigned size[3])
{
    const unsigned *grid = sample->emulator->grid;
    for (size_t i = 0; i < sample->blocks.count; i++) {
        const SampleBlock *block = &sample->blocks.data[i];
        const unsigned place[3] = {(unsigned)(block->index % grid[0]), (unsigned)(block->index / grid[0] % grid[1]),
                                   (unsigned)(block->index / grid[0] / grid[1])};
        bool is_inside = sample->groups.data[block->group].kind == KIND_WITHIN;
        for (unsigned axis = 0; axis < 3; axis++)
            is_inside &= place[axis] >= at[axis] && place[axis] - at[axis] < size[axis];
        if (is_inside)
            return true;
    }
    return false;
}

/* Adds the blocks of the box that is next in the sequence, unless some are chosen already. */
static void add_box(Sample *sample, GroupForm form, const unsigned size[3])
{
    const unsigned number = sample->tried[form]++;
    unsigned at[3];
    for (unsigned axis = 0; axis < 3; axis++) {
        const unsigned first = sample->first[axis], within = sample->end[axis] - first;
        const unsigned step = axis == 0 && within >= 4 * size[0] ? size[0] : 1; /* at sectors, if there is a choice */
        const unsigned start = (first + step - 1) / step * step;
        at[axis] = start + step * even_place(number, axis, (sample->end[axis] - start - size[axis]) / step + 1);
    }
    if (is_taken(sample, at, size))
        return;
    VEC_PUSH(sample->emulator->arena, sample->groups, ((SampleGroup){KIND_WITHIN, form}));
    for (unsigned i = 0; i < size[0] * size[1] * size[2]; i++) {
        const unsigned in[3] = {i % size[0], i / size[0] % size[1], i / size[0] / size[1]};
        unsigned octant = 0, place[3];
        for (unsigned axis = 0; axis < 3; axis++) {
            place[axis] = at[axis] + in[axis];
            octant |= (unsigned)(2 * in[axis] >= size[axis] && size[axis] > 1) << axis;
        }
        add_block(sample, place, form == GROUP_BOX ? (uint8_t)(1u << octant) : 0);
    }
}

/* Sets the size of a box, at most 'longest' blocks along x: half of them should have whole sectors, even if each has
 * only some bytes of its own. */
static void box_shape(Sample *sample, unsigned longest)
{
    unsigned *size = sample->box.size;
    for (unsigned axis = 0; axis < 3; axis++)
        size[axis] = sample->end[axis] - sample->first[axis] > 1 ? 2 : 1;
    while (2 * size[0] <= longest && 2 * size[0] <= sample->end[0] - sample->first[0])
        size[0] *= 2;
}

static unsigned box_blocks(const Sample *sample)
{
    const unsigned *size = sample->box.size;
    return size[0] * size[1] * size[2];
}

/* Whether the grid is larger than the sample by enough. */
static bool is_worth_while(const Sample *sample)
{
    const unsigned *grid = sample->emulator->grid;
    uint64_t blocks = (uint64_t)sample->wanted_boxes * box_blocks(sample);
    blocks += blocks / SINGLES;
    for (uint32_t kind = 0; kind < 27; kind++)
        blocks += kind == KIND_WITHIN ? 0 : sample->ran[kind];
    return blocks * WORTH <= (uint64_t)grid[0] * grid[1] * grid[2];
}

/* Chooses the size and the number of boxes; false if the grid is too small for any. */
static bool choose_boxes(Sample *sample, bool more)
{
    static const unsigned most[4] = {8, 8, 6, FEWEST_BOXES}; /* by the axes of a box */
    unsigned axes = 0;
    box_shape(sample, sample->emulator->options.sample_box);
    for (unsigned axis = 0; axis < 3; axis++)
        axes += sample->box.size[axis] > 1;
    sample->wanted_boxes = most[axes];
    if (more) {
        sample->wanted_boxes *= MORE_BOXES;
        return is_worth_while(sample);
    }
    while (sample->box.size[0] > SHORTEST_BOX && !is_worth_while(sample))
        sample->box.size[0] /= 2;
    while (sample->wanted_boxes > FEWEST_BOXES && !is_worth_while(sample))
        sample->wanted_boxes--;
    return is_worth_while(sample);
}

static void add_boxes(Sample *sample)
{
    const unsigned boxes = sample->wanted_boxes, singles = boxes * box_blocks(sample) / SINGLES;
    const size_t ends = sample->groups.count;
    while (sample->groups.count < ends + boxes && sample->tried[GROUP_BOX] < 2 * boxes)
        add_box(sample, GROUP_BOX, sample->box.size);
    sample->box.count = (unsigned)(sample->groups.count - ends);
    while (sample->groups.count < ends + sample->box.count + singles && sample->tried[GROUP_SINGLE] < 2 * singles)
        add_box(sample, GROUP_SINGLE, (const unsigned[3]){1, 1, 1});
}

bool sample_prepare(Emulator *emulator, bool more)
{
    const unsigned *cluster = emulator->cluster;
    const EmulatorOptions *options = &emulator->options;
    if (!options->sample_box || options->resident_blocks > 1 || options->watch || emulator->launch->device ||
        cluster[0] * cluster[1] * cluster[2] > 1 || !blocks_are_unordered(emulator))
        return false;
    Sample *sample = ARENA_NEW(emulator->arena, Sample);
    sample->emulator = emulator;
    for (unsigned axis = 0; axis < 3; axis++) {
        const bool is_long = emulator->grid[axis] >= LONG_AXIS;
        sample->first[axis] = is_long;
        sample->end[axis] = emulator->grid[axis] - is_long;
    }
    for (uint32_t kind = 0; kind < 27; kind++)
        if (kind != KIND_WITHIN && kind_blocks(sample, kind) > 0)
            add_kind(sample, kind);
    if (!choose_boxes(sample, more))
        return false;
    add_boxes(sample);
    if (sample->box.count < FEWEST_BOXES)
        return false;
    size_t fields = LAUNCH_FIELDS;
    for (size_t i = 0; i < emulator->code_list.count; i++)
        fields += emulator->code_list.data[i]->ops.count * CODE_FIELDS;
    sample->sums = emulator_alloc(emulator, fields, sizeof *sample->sums);
    emulator->sample = sample;
    return true;
}

/* Visits all counts of the emulator, in the order of 'sums'. */
static void counts_visit(Sample *sample, void (*visit)(uint64_t *count, uint64_t *sum, uint64_t scale), uint64_t scale)
{
    Emulator *emulator = sample->emulator;
    uint64_t *counts = (uint64_t *)&emulator->result->counters, *sum = sample->sums;
    for (size_t i = 0; i < LAUNCH_FIELDS; i++)
        visit(&counts[i], sum++, scale);
    for (size_t i = 0; i < emulator->code_list.count; i++) {
        Code *code = emulator->code_list.data[i];
        for (size_t k = 0; k < code->ops.count; k++) {
            uint64_t none[CODE_FIELDS - 2] = {0}, *costs = code->costs ? (uint64_t *)&code->costs[k] : none;
            visit(&code->executed[k], sum++, scale);
            visit(&code->threads[k], sum++, scale);
            for (unsigned j = 0; j < CODE_FIELDS - 2; j++)
                visit(&costs[j], sum++, scale);
        }
    }
}

static void count_move(uint64_t *count, uint64_t *sum, uint64_t scale)
{
    *sum += scale * *count;
    *count = 0;
}

static void count_restore(uint64_t *count, uint64_t *sum, uint64_t scale)
{
    *count = scale * *sum;
}

/* A block has ended: adds what it did, for the blocks for which it stands. */
static void block_scale(Sample *sample, uint32_t kind)
{
    const uint64_t all = kind_blocks(sample, kind), ran = sample->ran[kind], before = sample->scaled[kind]++;
    const EmulatorCounters *counters = &sample->emulator->result->counters;
    sample->group_sectors += (double)(counters->load_sectors + counters->store_sectors);
    counts_visit(sample, count_move, (before + 1) * all / ran - before * all / ran);
}

/* The standard error of the work of all blocks that ran within the grid, relative to it: the variance of a sum of n
 * independent values is n times that of one. */
static double work_error(const Sample *sample, unsigned measure)
{
    double sum = 0, variance = 0;
    for (unsigned form = 0; form < GROUP_FORMS; form++) {
        const GroupWork *work = &sample->works[form];
        const double n = work->count, mean = n > 0 ? work->sum[measure] / n : 0;
        sum += work->sum[measure];
        if (n > 1)
            variance += (work->squares[measure] - n * mean * mean) * n / (n - 1);
    }
    return sum > 0 && variance > 0 ? sqrt(variance) / sum : 0;
}

static double sample_error(const Sample *sample)
{
    double most = 0;
    for (unsigned measure = 0; measure < MEASURES; measure++)
        most = fmax(most, work_error(sample, measure));
    return most;
}

/* The last block of a group has ended. */
static void group_end(Sample *sample, GroupForm form)
{
    Emulator *emulator = sample->emulator;
    const double values[MEASURES] = {(double)emulator->steps - sample->steps_before, sample->group_sectors};
    for (unsigned i = 0; form < GROUP_FORMS && i < MEASURES; i++) {
        sample->works[form].sum[i] += values[i];
        sample->works[form].squares[i] += values[i] * values[i];
    }
    if (form < GROUP_FORMS)
        sample->works[form].count++;
    if (form == GROUP_BOX)
        footprint_end_box(emulator);
    sample->steps_before = (double)emulator->steps;
    sample->group_sectors = 0;
}

bool sample_take(Emulator *emulator, uint64_t *index)
{
    Sample *sample = emulator->sample;
    const size_t next = sample->next;
    if (next > 0) {
        const uint32_t last = sample->blocks.data[next - 1].group;
        block_scale(sample, sample->groups.data[last].kind);
        if (next == sample->blocks.count || sample->blocks.data[next].group != last)
            group_end(sample, sample->groups.data[last].form);
    }
    if (next == sample->blocks.count)
        return false;
    *index = sample->blocks.data[next].index;
    emulator->octant = sample->blocks.data[next].octant;
    emulator->begun = sample->next++;
    emulator->blocks = sample->blocks.count;
    return true;
}

static int by_index(const void *a, const void *b)
{
    const SampleBlock *x = a, *y = b;
    return x->index < y->index ? -1 : x->index > y->index;
}

/* Gives each block the work of one of its kind that ran, in the same order. */
static void fill_blocks(Sample *sample)
{
    const Emulator *emulator = sample->emulator;
    EmulatorBlock *works = emulator->result->blocks;
    VEC(EmulatorBlock) ran[27] = {0};
    uint64_t seen[27] = {0};
    qsort(sample->blocks.data, sample->blocks.count, sizeof *sample->blocks.data, by_index);
    for (size_t i = 0; i < sample->blocks.count; i++) {
        const SampleBlock *block = &sample->blocks.data[i];
        VEC_PUSH(emulator->arena, ran[sample->groups.data[block->group].kind], works[block->index]);
    }
    for (uint64_t i = 0; i < emulator->result->block_count; i++) {
        const unsigned *grid = emulator->grid;
        const unsigned at[3] = {(unsigned)(i % grid[0]), (unsigned)(i / grid[0] % grid[1]),
                                (unsigned)(i / grid[0] / grid[1])};
        const uint32_t kind = kind_of(sample, at);
        works[i] = ran[kind].data[seen[kind]++ * ran[kind].count / kind_blocks(sample, kind)];
    }
}

/* Sets the sectors of the grid, and how often its most updated sector is. */
static void collect_sectors(Sample *sample, double scale)
{
    Emulator *emulator = sample->emulator;
    EmulatorCounters *counters = &emulator->result->counters;
    double touched[2] = {0}, updates = 0;
    for (unsigned i = 0; i < emulator->slot_count; i++) {
        const Region *region = emulator->slots[i];
        if (!region->footprint)
            continue;
        for (unsigned k = 0; k < 2; k++)
            touched[k] += footprint_of_grid(region, k, emulator->grid, &sample->box);
        updates = fmax(updates, footprint_updates(region, scale));
    }
    counters->load_footprint = (uint64_t)fmin(touched[0], (double)counters->block_load_sectors);
    counters->store_footprint = (uint64_t)fmin(touched[1], (double)counters->block_store_sectors);
    counters->most_updates = (uint64_t)updates;
}

bool sample_end(Emulator *emulator)
{
    Sample *sample = emulator->sample;
    emulator->result->sample_error = sample_error(sample);
    if (emulator->result->sample_error > accepted_error)
        return false;
    counts_visit(sample, count_restore, 1);
    emulator->result->sampled_blocks = sample->blocks.count;
    if (emulator->result->blocks)
        fill_blocks(sample);
    if (emulator->options.count_reuse)
        collect_sectors(sample, (double)kind_blocks(sample, KIND_WITHIN) / sample->ran[KIND_WITHIN]);
    return true;
}
