/* Counting a launch by a part of its blocks (sample_plan.c), where their order cannot be observed. */
#include "emulator/sample.h"

#include <math.h>
#include <stdlib.h>

enum {
    CODE_FIELDS = 8, /* the counts of an op */
    LAUNCH_FIELDS = sizeof(EmulatorCounters) / sizeof(uint64_t),
};
static const double accepted_error = 0.01;

bool sample_prepare(Emulator *emulator, bool more)
{
    const unsigned *cluster = emulator->cluster;
    const EmulatorOptions *options = &emulator->options;
    if (!options->sample_box || options->resident_blocks > 1 || options->watch || emulator->launch->device ||
        cluster[0] * cluster[1] * cluster[2] > 1 || !blocks_are_unordered(emulator))
        return false;
    Sample *sample = ARENA_NEW(emulator->arena, Sample);
    sample->emulator = emulator;
    if (!sample_plan(sample, more))
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
static void block_end(Sample *sample, const SampleUnit *unit)
{
    const uint64_t all = sample_kind_blocks(sample, unit->kind), ran = sample->ran[unit->kind];
    const uint64_t before = sample->scaled[unit->kind]++;
    const EmulatorCounters *counters = &sample->emulator->result->counters;
    sample->unit_sectors += (double)(counters->load_sectors + counters->store_sectors);
    if (unit->is_box)
        sample->box_sectors += (double)(counters->block_load_sectors + counters->block_store_sectors);
    counts_visit(sample, count_move, (before + 1) * all / ran - before * all / ran);
}

/* The last block of a unit has ended. */
static void unit_end(Sample *sample, const SampleUnit *unit)
{
    Emulator *emulator = sample->emulator;
    KindWork *works = &sample->works[unit->kind];
    const double blocks = unit->blocks;
    const double work[SAMPLE_MEASURES] = {(double)emulator->steps - sample->steps_before, sample->unit_sectors};
    works->units++;
    works->blocks += blocks;
    works->blocks_squared += blocks * blocks;
    for (unsigned i = 0; i < SAMPLE_MEASURES; i++) {
        works->work[i] += work[i];
        works->squared[i] += work[i] * work[i];
        works->by_blocks[i] += work[i] * blocks;
    }
    if (unit->is_box)
        footprint_end_box(emulator);
    sample->steps_before = (double)emulator->steps;
    sample->unit_sectors = 0;
}

/* The variance of the sum of a kind's units, if each is taken to have blocks of the mean's work. */
static double kind_variance(const KindWork *works, unsigned measure)
{
    const double mean = works->work[measure] / works->blocks, n = works->units;
    const double squares =
        works->squared[measure] - 2 * mean * works->by_blocks[measure] + mean * mean * works->blocks_squared;
    return n > 1 && squares > 0 ? squares * n / (n - 1) : 0;
}

/* The standard error of the work of the grid, relative to it. */
static double sample_error(const Sample *sample)
{
    double most = 0;
    for (unsigned measure = 0; measure < SAMPLE_MEASURES; measure++) {
        double sum = 0, variance = 0;
        for (uint32_t kind = 0; kind < SAMPLE_KINDS; kind++) {
            const KindWork *works = &sample->works[kind];
            const double scale = works->units > 0 ? (double)sample_kind_blocks(sample, kind) / works->blocks : 0;
            sum += scale * works->work[measure];
            variance += works->units > 0 ? scale * scale * kind_variance(works, measure) : 0;
        }
        most = fmax(most, sum > 0 ? sqrt(variance) / sum : 0);
    }
    return most;
}

bool sample_take(Emulator *emulator, uint64_t *index)
{
    Sample *sample = emulator->sample;
    const size_t next = sample->next;
    if (next > 0) {
        const uint32_t last = sample->blocks.data[next - 1].unit;
        if (sample->blocks.data[next - 1].ends_cell)
            block_end(sample, &sample->units.data[last]);
        if (next == sample->blocks.count || sample->blocks.data[next].unit != last)
            unit_end(sample, &sample->units.data[last]);
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

/* The number of a block's kind and place in its cell. */
static size_t class_of(const Sample *sample, uint64_t index)
{
    const unsigned *cell = sample->cell;
    unsigned at[3], in[3];
    sample_cell_at(sample, index, at, in);
    return ((sample_kind_of(sample, at) * (size_t)cell[2] + in[2]) * cell[1] + in[1]) * cell[0] + in[0];
}

/* Gives each block the work of one of its class that ran, in the same order. */
static void fill_blocks(Sample *sample)
{
    typedef struct BlockClass {
        VEC(EmulatorBlock) ran;
        uint64_t all, seen;
    } BlockClass;
    const Emulator *emulator = sample->emulator;
    EmulatorBlock *works = emulator->result->blocks;
    const size_t count = (size_t)SAMPLE_KINDS * sample->cell[0] * sample->cell[1] * sample->cell[2];
    BlockClass *classes = ARENA_ARRAY(emulator->arena, BlockClass, count);
    qsort(sample->blocks.data, sample->blocks.count, sizeof *sample->blocks.data, by_index);
    for (size_t i = 0; i < sample->blocks.count; i++) {
        const uint64_t index = sample->blocks.data[i].index;
        VEC_PUSH(emulator->arena, classes[class_of(sample, index)].ran, works[index]);
    }
    for (uint64_t i = 0; i < emulator->result->block_count; i++)
        classes[class_of(sample, i)].all++;
    for (uint64_t i = 0; i < emulator->result->block_count; i++) {
        BlockClass *class = &classes[class_of(sample, i)];
        if (class->ran.count) /* not so only at places that a cell at the end of a short axis lacks */
            works[i] = class->ran.data[class->seen++ * class->ran.count / class->all];
    }
}

/* Sets the sectors of the grid, and how often its most updated sector is. Boxes that happen to do more than the mean
 * block touch more. */
static void collect_sectors(Sample *sample)
{
    Emulator *emulator = sample->emulator;
    EmulatorCounters *counters = &emulator->result->counters;
    const double blocks = (double)sample->grid[0] * sample->grid[1] * sample->grid[2];
    const double scale = blocks / ((double)sample->box.count * sample_box_blocks(sample));
    const double all = (double)(counters->block_load_sectors + counters->block_store_sectors);
    const double share = sample->box_sectors > 0 ? all / (sample->box_sectors * scale) : 1;
    double touched[FOOTPRINT_KINDS] = {0}, updates = 0, hot = 0;
    uint64_t ran = 0;
    for (uint32_t kind = 0; kind < SAMPLE_KINDS; kind++)
        ran += sample->ran[kind];
    for (unsigned i = 0; i < emulator->slot_count; i++) {
        const Region *region = emulator->slots[i];
        if (!region->footprint)
            continue;
        for (FootprintKind k = 0; k < FOOTPRINT_KINDS; k++)
            touched[k] += footprint_of_grid(region, k, sample->grid, &sample->box);
        updates = fmax(updates, footprint_updates(region, blocks / (double)ran));
        hot += (double)reuse_hot_loads(region, ran) * blocks / (double)ran;
    }
    for (FootprintKind k = 0; k < FOOTPRINT_KINDS; k++)
        touched[k] *= fmin(share, 1);
    counters->load_footprint = (uint64_t)fmin(touched[FOOTPRINT_LOADS], (double)counters->block_load_sectors);
    counters->store_footprint = (uint64_t)fmin(touched[FOOTPRINT_STORES], (double)counters->block_store_sectors);
    counters->unread_footprint = (uint64_t)fmin(touched[FOOTPRINT_UNREAD], (double)counters->store_footprint);
    counters->most_updates = (uint64_t)updates;
    counters->hot_load_sectors = (uint64_t)fmin(hot, (double)counters->block_load_sectors);
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
        collect_sectors(sample);
    return true;
}
