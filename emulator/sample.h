/* A part of a grid that stands for all of it: sample_plan.c chooses it, sample.c counts it. */
#ifndef PTXOPT_EMULATOR_SAMPLE_H
#define PTXOPT_EMULATOR_SAMPLE_H

#include "emulator/run.h"

enum {
    SAMPLE_QUARTERS = 4,
    SAMPLE_SLABS = SAMPLE_QUARTERS + 2, /* of an axis, at most */
    SAMPLE_KINDS = SAMPLE_SLABS * SAMPLE_SLABS * SAMPLE_SLABS,
    SAMPLE_MEASURES = 2, /* of work: the emulator's steps, sectors */
};

/* The slabs of an axis: slab i begins with block begin[i], and ends before begin[i + 1]. Those of 'inner' are between
 * the ends. */
typedef struct Axis {
    unsigned begin[SAMPLE_SLABS + 1], count;
    unsigned inner_first, inner_count;
} Axis;

/* Blocks that run one after the other: those of a strip, or of a box. */
typedef struct SampleUnit {
    uint32_t kind; /* for each axis a digit to the base SAMPLE_SLABS */
    unsigned blocks;
    bool is_box;
} SampleUnit;

typedef struct SampleBlock {
    uint64_t index; /* in the grid */
    uint32_t unit;
    uint8_t octant; /* of its box, as a set; 0: it is in none */
    bool ends_cell; /* the last one of its cell */
} SampleBlock;

/* Sums over the units of a kind, of blocks and of work. */
typedef struct KindWork {
    double units, blocks, blocks_squared, work[SAMPLE_MEASURES], squared[SAMPLE_MEASURES], by_blocks[SAMPLE_MEASURES];
} KindWork;

typedef struct Sample {
    Emulator *emulator;
    unsigned cell[3], grid[3]; /* in blocks of the launch, and in cells */
    Axis axes[3];
    BoxShape box;
    unsigned wanted_boxes;
    VEC(SampleUnit) units;
    VEC(SampleBlock) blocks;
    size_t next;                                      /* of 'blocks' */
    uint64_t ran[SAMPLE_KINDS], scaled[SAMPLE_KINDS]; /* blocks of each kind: all that run, and those that have run */
    KindWork works[SAMPLE_KINDS];
    double steps_before, unit_sectors; /* the steps until the present unit, and its sectors */
    double box_sectors;                /* loads and stores of the boxes, each sector once for a block */
    uint64_t *sums;                    /* each count, scaled: those of the launch, then of each op */
} Sample;

/* Chooses the blocks; false if the grid is too small. 'more': a larger sample. */
bool sample_plan(Sample *sample, bool more);
/* The blocks of the grid that are of a kind. */
uint64_t sample_kind_blocks(const Sample *sample, uint32_t kind);
uint32_t sample_kind_of(const Sample *sample, const unsigned at[3]);
/* The cell of a block, and its place within it. */
void sample_cell_at(const Sample *sample, uint64_t index, unsigned at[3], unsigned within[3]);
unsigned sample_box_blocks(const Sample *sample);

#endif
