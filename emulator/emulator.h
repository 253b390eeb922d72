/* emulator: a functional SIMT machine for PTX, the oracle of every transformation.
 *
 * A kernel runs on a grid of blocks of warps of 32 lanes, with bounds and alignment checked at every access.  A warp is
 * a tree of splits: lanes that diverge at a branch meet again at its immediate post-dominator (computed here, not by
 * analysis/); splits that wait or spin give way to their siblings, so lanes may wait for one another.  Blocks run one
 * after the other, several at once (EmulatorOptions.resident_blocks), or on several cores (EmulatorOptions.jobs).
 * Everything is deterministic.
 *
 * What the machine cannot execute is refused before the run, with the line.  Floating point is exact where PTX says so;
 * the approximate functions are computed in double precision and rounded, so they agree with hardware only within their
 * documented error.  Asynchronous copies complete at once.
 *
 * Memory: a run's results belong to the arena it was given. */
#ifndef PTXOPT_EMULATOR_H
#define PTXOPT_EMULATOR_H

#include "ir/ir.h"
#include "support/support.h"

/* ---- A launch --------------------------------------------------------------------------------------------------- */

typedef enum FillKind {
    FILL_ZERO,
    FILL_POISON,  /* bytes 0xcb, counted as never written */
    FILL_UNIFORM, /* see launch_fill */
    FILL_IOTA,    /* low + step * index */
    FILL_FILE,    /* raw elements, little endian */
    FILL_BYTES,   /* from memory */
} FillKind;

#define POISON_BYTE 0xcb

typedef enum ArgumentKind {
    ARGUMENT_BUFFER,  /* a new buffer; the parameter is its address */
    ARGUMENT_POINTER, /* the address of an earlier buffer, plus 'offset' bytes */
    ARGUMENT_SCALAR,  /* 'bytes', 'size' of them: also structures passed by value */
    ARGUMENT_SYMBOL,  /* no parameter: fills the module variable 'name' before the run */
    ARGUMENT_TEXTURE, /* these three: 'image'; the parameter is a handle */
    ARGUMENT_SURFACE,
    ARGUMENT_SAMPLER,
} ArgumentKind;

typedef enum AddressMode { ADDRESS_CLAMP, ADDRESS_WRAP, ADDRESS_MIRROR, ADDRESS_BORDER } AddressMode;

/* The shape of a texture's or surface's memory, dense in the order channel, x, y, z, layer, and how it is sampled. */
typedef struct LaunchImage {
    uint64_t width, height, depth, layers; /* at least 1; six layers to a cube */
    unsigned channels;                     /* 1, 2 or 4 */
    bool linear_filter;                    /* else the nearest texel */
    bool normalized;                       /* coordinates run from 0 to 1 */
    bool read_normalized;                  /* integer channels are read as numbers from 0 or -1 to 1 */
    bool linear_memory; /* a texture over a plain buffer: no filter, zeros outside, as tex1Dfetch reads it */
    AddressMode address[3];
    const char *of;   /* the earlier argument whose memory it is; NULL: its own */
    const char *bind; /* the module's .texref, .surfref or .samplerref that it is bound to; NULL: a parameter */
} LaunchImage;

typedef struct LaunchArgument {
    ArgumentKind kind;
    const char *name; /* of the buffer or the module variable */
    Type type;        /* of one element */
    uint64_t count;   /* elements */
    FillKind fill;
    double low, high; /* FILL_UNIFORM: the range; FILL_IOTA: low is the first value */
    double step;      /* FILL_IOTA */
    uint64_t seed;
    uint64_t offset;   /* ARGUMENT_POINTER */
    const void *bytes; /* FILL_BYTES: count elements; ARGUMENT_SCALAR: the value */
    uint64_t size;     /* bytes of 'bytes' */
    const LaunchImage *image; /* textures, surfaces and samplers; else NULL */
} LaunchArgument;

typedef enum ToleranceKind { TOLERANCE_EXACT, TOLERANCE_CLOSE } ToleranceKind;
typedef struct Tolerance {
    ToleranceKind kind;
    double relative, absolute; /* x passes for y where |x - y| <= absolute + relative * |y| */
} Tolerance;

typedef struct Launch {
    const char *kernel;
    unsigned grid[3], block[3]; /* 0 counts as 1 */
    unsigned cluster[3];        /* blocks; 0: what the kernel demands, else 1 */
    uint64_t dynamic_shared;    /* bytes */
    LaunchArgument *arguments;
    unsigned argument_count;
    const char **check; /* names of the buffers that hold results; none: all */
    unsigned check_count;
    const char **ignore; /* names of buffers whose contents are of no account, such as the order in a work list */
    unsigned ignore_count;
    Tolerance tolerance;           /* a kernel and its transformed form */
    Tolerance reference_tolerance; /* a kernel and a reference program */
} Launch;

/* Reads a launch file ("The launch file" in the design: JSON).  Paths in it are relative to the file.  NULL, with
 * *error set to a message in the arena, if it cannot be read or says something that makes no sense.  An entry of "args"
 * is one of
 *     {"buffer": NAME, "type": T, "count": N, "init": "uniform" | "iota" | "zero" | "poison" | "file", ...}
 *         with "low", "high", "seed" for uniform, "start", "step" for iota, "file" for file;
 *         or "values": [...] in place of "init"
 *     {"scalar": T, "value": NUMBER, or [NUMBER ...] for a structure of such elements}
 *         bit patterns as strings: "0x7fc00000"
 *     {"pointer": NAME, "offset": BYTES}: into an earlier buffer
 *     {"symbol": NAME, "type": ...}: no parameter, but the contents of a module variable, as for a buffer
 *     {"texture": NAME, "type": T, "width": W, ...}, {"surface": NAME, ...}, {"sampler": NAME, ...}: docs/formats.md */
Launch *launch_read(Arena *arena, const char *path, const char **error);

/* The initial contents of a buffer: count * bytes of the type, in the arena.  FILL_UNIFORM takes for element i
 *     h = splitmix64(seed * 0x9e3779b97f4a7c15 + i), u = (h >> 11) / 2^53 in [0, 1)
 * and yields low + u * (high - low) for floats (rounded to the type), floor(low + u * (high - low + 1)) for
 * integers. */
void *launch_fill(Arena *arena, const LaunchArgument *argument);

/* The launch of a transformed kernel: block divided by block_factor, grid by grid_factor, per dimension, rounded up
 * (NULL: 1). */
Launch *launch_divide(Arena *arena, const Launch *launch, const unsigned block_factor[3],
                      const unsigned grid_factor[3]);

/* ---- Running it ------------------------------------------------------------------------------------------------- */

typedef struct EmulatorOptions {
    bool check_unwritten;     /* a load of memory that nothing ever wrote is a fault */
    bool check_registers;     /* the use of a register that was never written, or of what a shuffle leaves undefined */
    bool check_division;      /* an integer division by zero, whose result is unspecified, is a fault */
    bool check_races;         /* two accesses of one byte, one a write, not ordered by barriers, are a fault */
    bool count_memory;        /* sectors, lines, bank conflicts; instruction counts are always there */
    bool count_lines;         /* EmulatorResult.lines */
    uint64_t hang_steps;      /* a warp that executes so many instructions without a visible effect hangs; 0: 2^24 */
    uint64_t max_steps;       /* warp instructions of the whole launch; 0: 2^36 */
    unsigned jobs;            /* cores to use where that makes no difference to results (parallel.c); 0: 1 */
    unsigned resident_blocks; /* how many blocks run interleaved; 0: 1 */
    FILE *output;             /* of vprintf; NULL: dropped */
    const char *watch;        /* a buffer or variable: who last wrote 'watch_bytes' at 'watch_offset' of it is told */
    uint64_t watch_offset, watch_bytes;
} EmulatorOptions;

/* Whose write it was that EmulatorOptions.watch asks for. */
typedef struct EmulatorWriter {
    bool found; /* false: nobody wrote there */
    const char *function;
    unsigned block[3], thread[3];
    Position position; /* of the instruction */
} EmulatorWriter;

typedef enum FaultKind {
    FAULT_NONE,
    FAULT_LAUNCH,      /* the launch does not fit the kernel */
    FAULT_UNSUPPORTED, /* the kernel has an instruction the machine does not know; nothing ran */
    FAULT_BOUNDS,      /* outside every variable and buffer */
    FAULT_ALIGNMENT,
    FAULT_READ_ONLY, /* a store to constant memory or to a kernel's parameters */
    FAULT_UNWRITTEN, /* a read of memory never written */
    FAULT_UNDEFINED, /* a read of a register never written */
    FAULT_BARRIER,   /* divergent or incomplete barrier */
    FAULT_WARP_SYNC, /* a warp-level operation whose members cannot all take part */
    FAULT_RACE,
    FAULT_HANG,
    FAULT_DIVISION, /* an integer division by zero */
    FAULT_SHUFFLE,  /* a shuffle reads a lane that takes no part */
    FAULT_TRAP, /* trap, a failed assertion */
    FAULT_CALL, /* a call through a bad address, a missing body, calls too deep */
    FAULT_COUNT
} FaultKind;

const char *fault_name(FaultKind kind); /* "out of bounds" */

typedef struct EmulatorFault {
    FaultKind kind;
    const char *message;
    const char *kernel;
    const char *function;         /* in which the instruction stands; NULL if none is to blame */
    unsigned block[3], thread[3]; /* of the first lane concerned */
    bool has_thread;
    Span span; /* of the instruction, in the module's source; empty if none is to blame */
    Position position;
} EmulatorFault;

typedef struct EmulatorCounters {
    /* Warp instructions, and the sum of their active threads. */
    uint64_t warp_instructions, thread_instructions;
    uint64_t warp_category[CATEGORY_COUNT], thread_category[CATEGORY_COUNT];
    /* Warp instructions by state space; generic accesses count where they go. */
    uint64_t loads[SPACE_COUNT], stores[SPACE_COUNT], atomics[SPACE_COUNT];
    uint64_t load_bytes[SPACE_COUNT], store_bytes[SPACE_COUNT]; /* asked for by the threads */
    uint64_t branches, divergent_branches;                      /* warp instructions */
    uint64_t barriers;                                          /* block barriers, counted once for each warp */
    uint64_t calls;
    uint64_t warp_waits; /* how often lanes waited for others of their warp, which would have met them */
    /* With count_memory: global sectors of 32 and lines of 128 bytes touched by each warp access; cycles that shared
     * accesses take beyond one because two lanes want different words of one of the 32 banks. */
    uint64_t load_sectors, load_lines, store_sectors, store_lines;
    uint64_t bank_conflicts;
} EmulatorCounters;

/* What was counted for one line of the source. */
typedef struct EmulatorLine {
    const char *function;
    uint32_t line;
    uint64_t warp_instructions, thread_instructions;
    /* With count_memory: of loads, stores and atomics together. */
    uint64_t sectors, lines, bank_conflicts;
    uint64_t divergent_branches;
} EmulatorLine;

typedef struct EmulatorBuffer {
    const char *name;
    Type type;
    uint64_t count; /* elements */
    uint8_t *bytes; /* as the run left them */
    uint64_t size;
    uint64_t address; /* what the kernel saw */
    bool is_variable; /* a variable of the module in global memory */
} EmulatorBuffer;

typedef struct EmulatorResult {
    EmulatorFault fault; /* kind FAULT_NONE: the run ended well */
    EmulatorCounters counters;
    EmulatorBuffer *buffers; /* those of the launch in argument order, then the module's variables in global memory */
    unsigned buffer_count;
    EmulatorLine *lines; /* with count_lines: by function, as the module has them, and line; those that ran */
    size_t line_count;
    EmulatorWriter writer; /* if one was asked for */
} EmulatorResult;

/* Runs the kernel that the launch names.  A function that a pass has taken over runs from its body (which must not be
 * in SSA form), any other from its statements.  Never NULL.
 * Blocks of a body that runs are renumbered in layout order. */
EmulatorResult *emulator_run(Arena *arena, const Module *module, const Launch *launch, const EmulatorOptions *options);
const EmulatorBuffer *emulator_buffer(const EmulatorResult *result, const char *name); /* NULL if there is none */

/* "FILE:LINE: out of bounds: MESSAGE (kernel K, block 0,0,0, thread 3,0,0)" */
const char *fault_text(Arena *arena, const Module *module, const EmulatorFault *fault);
void counters_print(const EmulatorCounters *counters, Buf *out);
const char *category_name(Category category); /* "int" */
/* A table of the lines. */
void lines_print(const EmulatorResult *result, Buf *out);

/* ---- Comparing a kernel with its transformed form --------------------------------------------------------------- */

typedef struct EmulatorComparison {
    bool equal;
    const char *message; /* in the arena; what differs first, or which run failed how; NULL when equal */
    EmulatorResult *original, *changed; /* NULL if the launch cannot be divided by the factors */
} EmulatorComparison;

/* Runs 'kernel' (NULL: the one the launch names) of both modules, the changed one with block and grid divided by the
 * factors (NULL: 1), and compares the checked buffers: byte for byte, or as the launch's tolerance says. */
EmulatorComparison *emulator_compare(Arena *arena, const Module *original, const Module *changed, const char *kernel,
                                     const Launch *launch, const unsigned block_factor[3],
                                     const unsigned grid_factor[3], const EmulatorOptions *options);
/* One element that is not the same after two runs. */
typedef struct EmulatorDifference {
    const char *buffer;
    Type type;
    uint64_t index;
    unsigned bytes; /* of an element */
    const uint8_t *expected, *actual;
} EmulatorDifference;

/* The first difference between the buffers and module variables of two runs, all but those that the launch ignores.
 * Variables that only one of the runs has are left out.  False if there is none. */
bool results_differ(const Launch *launch, const EmulatorResult *expected, const EmulatorResult *actual,
                    Tolerance tolerance, EmulatorDifference *difference);
/* An element so that its bits can be told: decimal, floating point with as many digits as that takes, NaNs and untyped
 * bits in hexadecimal. */
void element_print(Type type, const uint8_t *bytes, Buf *out);
/* The first difference between the checked buffers of two runs, as a message in the arena; NULL if there is none. */
const char *emulator_difference(Arena *arena, const Launch *launch, const EmulatorResult *expected,
                                const EmulatorResult *actual, Tolerance tolerance);
/* Index of the first element that 'tolerance' does not accept, or UINT64_MAX. */
uint64_t elements_difference(Type type, const void *expected, const void *actual, uint64_t count, Tolerance tolerance);

/* ---- One instruction alone -------------------------------------------------------------------------------------- */

/* The value of a pure instruction with one result, for constant folding and tests: "add.s32" of {1, 2}.  Inputs and
 * result are bit patterns in operand order, predicates 0 or 1.  False if the machine has no such instruction or it is
 * not of this kind. */
bool emulator_evaluate(const char *spelling, const uint64_t *inputs, unsigned count, uint64_t *result);

#endif
