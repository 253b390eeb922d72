/* Texture and surface instructions: the interface between their decoder and their execution. */
#ifndef PTXOPT_EMULATOR_IMAGE_H
#define PTXOPT_EMULATOR_IMAGE_H

#include "emulator/state/state.h"

typedef enum ImageKind { IMAGE_TEX, IMAGE_GATHER, IMAGE_QUERY, IMAGE_LOAD, IMAGE_STORE, IMAGE_REDUCE } ImageKind;
typedef enum ImageBounds { IMAGE_TRAP, IMAGE_CLAMP, IMAGE_ZERO } ImageBounds;

#define IMAGE_CHANNELS 4

typedef struct ImageOp {
    ImageKind kind;
    uint32_t handle, sampler; /* source rows; sampler NO_ROW: the texture's own */
    unsigned rank;            /* 1 to 3 spatial coordinates */
    bool layered, cube;
    bool whole;             /* texture coordinates are integers */
    uint32_t coordinates[3]; /* source rows */
    uint32_t layer;
    uint32_t offsets[3]; /* source rows; NO_ROW: none */
    unsigned channel;    /* IMAGE_GATHER */
    unsigned query;      /* IMAGE_QUERY: index into the names of decode/image.c */
    /* Results of a fetch, load or query; sources of a store. */
    Type type;
    unsigned count; /* registers */
    uint32_t rows[IMAGE_CHANNELS];
    uint8_t row_bytes[IMAGE_CHANNELS];
    uint32_t resident; /* predicate that becomes true; NO_ROW: none */
    /* Surfaces. */
    bool formatted; /* .p: x counts texels, values are converted */
    ImageBounds bounds;
    AtomicKind atomic;
} ImageOp;

enum {
    QUERY_WIDTH,
    QUERY_HEIGHT,
    QUERY_DEPTH,
    QUERY_CHANNEL_DATA_TYPE,
    QUERY_CHANNEL_ORDER,
    QUERY_NORMALIZED_COORDS,
    QUERY_ARRAY_SIZE,
    QUERY_NUM_MIPMAP_LEVELS,
    QUERY_NUM_SAMPLES,
    QUERY_FORCE_UNNORMALIZED_COORDS,
    QUERY_FILTER_MODE,
    QUERY_ADDR_MODE_0,
    QUERY_ADDR_MODE_1,
    QUERY_ADDR_MODE_2,
    QUERY_MEMORY_LAYOUT,
    QUERY_COUNT
};

#endif
