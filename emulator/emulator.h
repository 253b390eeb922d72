/* emulator: a functional SIMT machine for PTX, the oracle for every transformation.
 *
 * A kernel runs on a grid of blocks of warps of 32 lanes; every access is checked for bounds and alignment. A warp is
 * a tree of splits: lanes that diverge at a branch reconverge at its immediate post-dominator (computed here, not by
 * analysis/). Splits that wait or spin give way to their siblings, so lanes of a warp may wait for each other. Blocks
 * run one after another, interleaved (EmulatorOptions.resident_blocks), or on several cores (EmulatorOptions.jobs).
 * Everything is deterministic.
 *
 * A kernel with an instruction that cannot be executed is refused before the run, with the line. Floating point is
 * exact where PTX requires it. Approximate functions are computed in double precision and rounded, so they agree with
 * hardware only within their documented error. Asynchronous copies complete at once.
 *
 * The layers below this header: docs/emulator.md. A run's results belong to the arena it was given. */
#ifndef PTXOPT_EMULATOR_H
#define PTXOPT_EMULATOR_H

#include <signal.h>

#include "ir/ir.h"
#include "support/support.h"

typedef enum FillKind {
    FILL_ZERO,
    FILL_POISON,  /* bytes 0xcb that count as never written */
    FILL_UNIFORM, /* see launch_fill */
    FILL_IOTA,    /* low + step * index */
    FILL_FILE,    /* raw elements, little endian */
    FILL_BYTES,   /* given in memory */
} FillKind;

#define POISON_BYTE 0xcb

typedef enum ArgumentKind {
    ARGUMENT_BUFFER,  /* a new buffer; the parameter is its address */
    ARGUMENT_POINTER, /* the address of an earlier buffer, plus 'offset' bytes */
    ARGUMENT_SCALAR,  /* 'bytes', 'size' of them: also structures passed by value */
    ARGUMENT_SYMBOL,  /* not a parameter: fills the module variable 'name' before the run */
    ARGUMENT_TEXTURE, /* the last three have an 'image'; the parameter is its handle */
    ARGUMENT_SURFACE,
    ARGUMENT_SAMPLER,
} ArgumentKind;

typedef enum AddressMode { ADDRESS_CLAMP, ADDRESS_WRAP, ADDRESS_MIRROR, ADDRESS_BORDER } AddressMode;

/* The shape of a texture's or surface's memory, dense in the order channel, x, y, z, layer, and its sampling. */
typedef struct LaunchImage {
    uint64_t width, height, depth, layers; /* at least 1; a cube has six layers */
    unsigned channels;                     /* 1, 2 or 4 */
    bool linear_filter;                    /* else the nearest texel */
    bool normalized;                       /* coordinates run from 0 to 1 */
    bool read_normalized;                  /* integer channels are read as numbers from 0, or -1 if signed, to 1 */
    bool linear_memory; /* a texture over a plain buffer, as for tex1Dfetch: no filter, zeros outside */
    AddressMode address[3];
    uint64_t pitch;   /* bytes from one row to the next; 0: rows are dense */
    const char *of;   /* the earlier argument whose memory it uses; NULL: it has its own */
    const char *bind; /* the module's .texref, .surfref or .samplerref that it is bound to; NULL: it is a parameter */
} LaunchImage;

typedef struct LaunchArgument {
    ArgumentKind kind;
    Position place;   /* in the launch file */
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
    const uint8_t *written; /* for each byte of the buffer, 1 unless it counts as never written; NULL: as 'fill' says */
    const LaunchImage *image; /* textures, surfaces and samplers; else NULL */
} LaunchArgument;

typedef enum ToleranceKind { TOLERANCE_EXACT, TOLERANCE_CLOSE } ToleranceKind;
typedef struct Tolerance {
    ToleranceKind kind;
    double relative, absolute; /* x is accepted for y if |x - y| <= absolute + relative * |y| */
    bool is_rounded; /* at least neighbours are accepted of numbers of 16 bits, which other results are rounded to */
} Tolerance;

/* Memory that exists before the launch and after it, such as a device's. Kernels access 'bytes' directly. */
typedef struct EmulatorMemory {
    const char *name; /* in messages */
    uint64_t address, size;
    uint8_t *bytes;
    uint8_t *written; /* for each byte, 1 once written, also by kernels; NULL: all are */
    const Variable *variable; /* the module's variable that is here, with its value; NULL: none */
} EmulatorMemory;

/* A texture or surface that exists before the launch. */
typedef struct EmulatorImage {
    const char *name; /* in messages; NULL: the place is empty */
    LaunchImage shape;
    Type type; /* of a channel */
    uint8_t *bytes;
} EmulatorImage;

/* The heap of the device's malloc, in one of the launch's memories. */
typedef struct EmulatorHeap {
    uint64_t address, size, used;
    uint8_t *pieces; /* 'size' bytes, zeros at first, in which malloc and free note what they have given and taken back:
                      * other accesses to the heap are faults. NULL: they are not */
} EmulatorHeap;

/* The properties of a device that do not depend on a launch. */
typedef struct EmulatorDevice {
    const EmulatorMemory *memories; /* by ascending address; they do not overlap */
    size_t memory_count;
    const EmulatorImage *images; /* image i has the handle emulator_image_handle(i), however a kernel gets it */
    unsigned image_count;
    EmulatorHeap *heap;      /* NULL: each launch has its own */
    /* Describes the memory that an access to these bytes, which are in none of 'memories', is to nevertheless. False:
     * the access is a fault. NULL: each is. */
    bool (*outside)(uint64_t address, uint64_t size, EmulatorMemory *memory);
    uint64_t grid_workspace; /* the address of the words with which a cooperative grid synchronizes; 0: none */
} EmulatorDevice;

/* The places in a launch file of the members that may not fit the kernel; 0, 0: none. */
typedef struct LaunchPlaces {
    Position kernel, grid, block, cluster, args;
} LaunchPlaces;

typedef struct LaunchContents LaunchContents;

typedef struct Launch {
    const char *path; /* of its file; NULL: it has none */
    LaunchPlaces places;
    const char *kernel;
    unsigned grid[3], block[3]; /* 0 counts as 1 */
    unsigned threads[3];        /* that the launch needs at least, whatever the size of a block; 0: not known, so that
                                 * the block cannot be changed */
    unsigned cluster[3];        /* blocks; 0: as the kernel requires, otherwise 1 */
    uint64_t dynamic_shared;    /* bytes ... */
    uint64_t shared_per_thread; /* ... of which each thread of a block adds this many */
    LaunchArgument *arguments;
    unsigned argument_count;
    const char **check; /* names of the buffers that hold results; all if there are none */
    unsigned check_count;
    const char **ignore; /* names of buffers whose contents do not matter, such as a work list in any order */
    unsigned ignore_count;
    Tolerance tolerance;           /* a kernel and its transformed form */
    Tolerance reference_tolerance; /* a kernel and a reference program */
    const EmulatorDevice *device;  /* NULL: the launch has only the memory that its arguments create */
    LaunchContents *contents;      /* of these arguments; NULL: each run makes its own */
} Launch;

/* Reads a launch file (docs/formats.md). Paths in it are relative to the file. NULL, with *error set to a message in
 * the arena, if the file cannot be read or is invalid. An entry of "args" is one of
 *     {"buffer": NAME, "type": T, "count": N, "init": "uniform" | "iota" | "zero" | "poison" | "file", ...}
 *         with "low", "high", "seed" for uniform, "start", "step" for iota, "file" for file;
 *         or "values": [...] in place of "init"
 *     {"scalar": T, "value": NUMBER, or [NUMBER ...] for a structure of such elements}
 *         bit patterns as strings: "0x7fc00000"
 *     {"pointer": NAME, "offset": BYTES}: into an earlier buffer
 *     {"symbol": NAME, "type": ...}: not a parameter, but the contents of a module variable, as for a buffer
 *     {"texture": NAME, "type": T, "width": W, ...}, {"surface": NAME, ...}, {"sampler": NAME, ...}: docs/formats.md */
Launch *launch_read(Arena *arena, const char *path, const char **error);

/* The initial contents of a buffer: count * bytes of the type, in the arena. FILL_UNIFORM computes for element i
 *     h = splitmix64(seed * 0x9e3779b97f4a7c15 + i), u = (h >> 11) / 2^53 in [0, 1)
 * and gives low + u * (high - low) for floats (rounded to the type), floor(low + u * (high - low + 1)) for
 * integers. */
void *launch_fill(Arena *arena, const LaunchArgument *argument);
/* The same to memory that is zero. */
void launch_fill_into(uint8_t *bytes, const LaunchArgument *argument);

/* Keeps the contents of large buffers for further runs of a launch (Launch.contents), from any thread. To be freed when
 * no run is in progress. */
LaunchContents *launch_contents_new(const Launch *launch);
void launch_contents_free(LaunchContents *contents); /* NULL is allowed */

/* The same launch with blocks of another size, none of whose dimensions is 0, and as many as its threads need. It must
 * say how many these are. */
Launch *launch_with_block(Arena *arena, const Launch *launch, const unsigned block[3]);

/* The launch of a transformed kernel, given the original's (NULL: nothing changes). */
Launch *launch_changed(Arena *arena, const Launch *launch, const LaunchChange *change);

/* How the caller of a long run follows it, and ends it. */
typedef struct EmulatorPoll {
    /* Called many times a second by the thread that started the run; 'share' of the blocks have begun. True: the run
     * ends, with FAULT_STOPPED. */
    bool (*is_over)(void *context, double share);
    void *context;
} EmulatorPoll;

typedef struct EmulatorOptions {
    bool check_unwritten;     /* a load of memory that was never written is a fault */
    bool check_registers;     /* a read of an unwritten register, or of an inactive lane by a shuffle, is a fault */
    bool check_division;      /* an integer division by zero is a fault (PTX: its result is unspecified) */
    bool check_races;         /* two unordered accesses to a byte, one of them a write, are a fault */
    bool count_memory;        /* counts sectors, lines and bank conflicts; instructions are always counted */
    bool count_reuse;         /* with count_memory: counts sectors by block and by grid */
    bool count_blocks;        /* fills EmulatorResult.blocks */
    bool count_lines;         /* fills EmulatorResult.lines */
    bool count_instructions;  /* fills EmulatorResult.instructions */
    bool drops_buffers;       /* leaves the buffers out of the result */
    unsigned sample_box;      /* runs boxes of neighbouring blocks of a large grid, at most this many along x, if the
                               * order of blocks cannot be observed, and scales the counts; then the buffers are not
                               * the launch's results. 0: runs all blocks */
    unsigned sample_cell[3];  /* blocks that belong together, as far as the work of each goes; 0 counts as 1 */
    uint64_t hang_steps;      /* a warp hangs after this many instructions without a visible effect; 0: 2^24 */
    uint64_t max_steps;       /* limit of warp instructions for the launch; 0: 2^36 */
    unsigned jobs;            /* cores to use if that cannot change the results (parallel.c); 0: 1 */
    unsigned resident_blocks; /* blocks that run interleaved; 0: 1 */
    const EmulatorPoll *poll; /* NULL: the run ends by itself */
    FILE *output;             /* receives vprintf's text; NULL: discarded */
    const FunctionForm *forms; /* functions that run from these bodies, which must not be in SSA form */
    unsigned form_count;
    const char *watch;        /* a buffer or variable; EmulatorResult.writer is its last writer */
    uint64_t watch_offset, watch_bytes;
} EmulatorOptions;

/* The last write to the bytes that EmulatorOptions.watch selects. */
typedef struct EmulatorWriter {
    bool found; /* false: nothing wrote there */
    const char *function;
    unsigned block[3], thread[3];
    Position position; /* of the instruction */
    const Loc *loc;    /* of the instruction, in the module; NULL: unknown */
} EmulatorWriter;

typedef enum FaultKind {
    FAULT_NONE,
    FAULT_LAUNCH,      /* the launch does not fit the kernel */
    FAULT_UNSUPPORTED, /* the kernel has an instruction that cannot be executed; nothing ran */
    FAULT_BOUNDS,      /* outside every variable and buffer */
    FAULT_ALIGNMENT,
    FAULT_READ_ONLY, /* a store to constant memory or to a kernel's parameters */
    FAULT_UNWRITTEN, /* a read of memory never written */
    FAULT_UNDEFINED, /* a read of a register never written */
    FAULT_BARRIER,   /* divergent or incomplete barrier */
    FAULT_WARP_SYNC, /* the members of a warp-level operation cannot all take part */
    FAULT_POOL, /* a warp waits forever for registers of its block, or releases more than it has */
    FAULT_RACE,
    FAULT_HANG,
    FAULT_DIVISION, /* an integer division by zero */
    FAULT_SHUFFLE,  /* a shuffle reads an inactive lane */
    FAULT_TRAP, /* a trap or a failed assertion */
    FAULT_CALL, /* a call through a bad address, a missing body, calls too deep */
    FAULT_STOPPED, /* by EmulatorOptions.poll */
    FAULT_COUNT
} FaultKind;

const char *fault_name(FaultKind kind); /* "out of bounds" */

typedef struct EmulatorFault {
    FaultKind kind;
    const char *message;
    const char *kernel;
    const char *function;         /* the one that contains the instruction; NULL if no instruction is at fault */
    unsigned block[3], thread[3]; /* of the first lane concerned */
    bool has_thread;
    Span span; /* of the instruction, in the module's source; empty if no instruction is at fault */
    Position position;
    const char *source; /* loc_place() of the instruction, in the source that the PTX was made from; NULL: unknown */
    const char *launch_path; /* FAULT_LAUNCH: the launch file, if there is one; else NULL */
    Position launch_place;   /* the place in that file; 0, 0: the fault is about all of it */
} EmulatorFault;

enum { REUSE_DISTANCES = 24 };

typedef struct EmulatorCounters {
    /* Warp instructions, and the sum of their active threads. */
    uint64_t warp_instructions, thread_instructions;
    uint64_t warp_category[CATEGORY_COUNT], thread_category[CATEGORY_COUNT];
    /* Warp instructions by state space; generic accesses count for the space that they access. */
    uint64_t loads[SPACE_COUNT], stores[SPACE_COUNT], atomics[SPACE_COUNT];
    uint64_t load_bytes[SPACE_COUNT], store_bytes[SPACE_COUNT]; /* requested by the threads */
    uint64_t branches, divergent_branches;                      /* warp instructions */
    uint64_t barriers;                                          /* block barriers, counted once for each warp */
    uint64_t calls;
    uint64_t warp_waits; /* the times that lanes had to continue without reconverging, because others waited for them */
    /* With count_memory: the global sectors (32 bytes) and lines (128 bytes) that warp accesses touch; the extra cycles
     * of shared accesses in which lanes use different words of one of the 32 banks, or update one word. */
    uint64_t load_sectors, load_lines, store_sectors, store_lines;
    uint64_t stored; /* and the bytes that all lanes store there */
    uint64_t bank_conflicts;
    /* Shared accesses of a word by each lane, the passes of the banks for them, and those for accesses of 16 bytes that
     * contain the words, in which assemblers join four of them. */
    uint64_t shared_words, word_passes, joined_passes;
    /* With count_reuse: the distinct global sectors that each block touches, summed over the blocks, and those that the
     * grid touches. */
    uint64_t block_load_sectors, block_store_sectors, load_footprint, store_footprint;
    uint64_t unread_footprint; /* sectors that the grid stores to and does not load */
    /* The part of block_load_sectors that more than half of the blocks load. */
    uint64_t hot_load_sectors;
    /* Loads of sectors that the block had loaded before, by their distance, 2^k to 2^(k+1) - 1 lines: those that this
     * warp has loaded since, if it was the last to load the sector, or else those by which the other warp had loaded
     * more or less then than this one has now. */
    uint64_t own_reuse[REUSE_DISTANCES], shared_reuse[REUSE_DISTANCES];
    /* Stores to sectors that this warp was the last of the block to store to, by their distance in stored lines. */
    uint64_t own_rewrites[REUSE_DISTANCES];
    /* How often atomic operations update the global sector that they update the most: lanes with the same address take
     * turns, unless all of the warp have it and the operation is on integers. */
    uint64_t most_updates;
} EmulatorCounters;

enum { WARP_PLACES = 4 };

/* The work of one block, in steps of the emulator: one for most warp instructions, a few for some. */
typedef struct EmulatorBlock {
    uint64_t longest_warp; /* the steps of the longest warp */
    uint64_t all_warps;
    uint64_t every_fourth[WARP_PLACES]; /* those of every fourth warp, from the first, the second ... on */
} EmulatorBlock;

/* The counts of one source line. */
typedef struct EmulatorLine {
    const char *function;
    uint32_t line;
    uint64_t warp_instructions, thread_instructions;
    /* With count_memory, for loads, stores and atomics together. */
    uint64_t sectors, lines, bank_conflicts;
    uint64_t divergent_branches;
} EmulatorLine;

/* The counts of one instruction. */
typedef struct EmulatorInst {
    const Function *function;
    const Inst *inst; /* in the body that the function ran from; NULL if the emulator built that body itself */
    Span span;
    uint64_t warps, threads; /* the warps and threads that executed it; if a guard is false, the thread is not counted,
                              * but the warp is */
    /* With count_memory; wavefronts: the passes that the data banks of L1 and shared memory need. */
    uint64_t sectors, lines, wavefronts, bank_conflicts;
    uint64_t fresh; /* with count_reuse: of the sectors, those that a block loads here for the first time */
} EmulatorInst;

typedef struct EmulatorBuffer {
    const char *name;
    Type type;
    uint64_t count; /* elements */
    uint8_t *bytes; /* at the end of the run */
    uint64_t size;
    uint64_t address; /* as the kernel saw it */
    bool is_variable; /* a variable of the module in global memory */
} EmulatorBuffer;

typedef struct EmulatorResult {
    EmulatorFault fault; /* kind FAULT_NONE: the run succeeded */
    EmulatorFault outside; /* the first access that EmulatorDevice.outside allowed; kind FAULT_NONE: there is none */
    EmulatorCounters counters;
    EmulatorBuffer *buffers; /* those of the launch in argument order, then the module's variables in global memory */
    unsigned buffer_count;
    EmulatorLine *lines; /* with count_lines: the lines that ran, by function in the module's order and by line */
    size_t line_count;
    EmulatorInst *instructions; /* with count_instructions: the instructions that ran, in code order, function by
                                 * function */
    size_t instruction_count;
    EmulatorBlock *blocks; /* with count_blocks: all of the grid, x first */
    uint64_t block_count;
    EmulatorWriter writer; /* with EmulatorOptions.watch */
    uint64_t sampled_blocks; /* with EmulatorOptions.sample_box: how many ran; 0: all */
    double sample_error;     /* the standard error of the counts, relative; 0: all ran */
} EmulatorResult;

/* Sets the four checks as a list of their names says. False if it is none of EMULATOR_CHECKS. */
#define EMULATOR_CHECKS "all, none or some of races,unwritten,registers,division"
bool emulator_read_checks(const char *text, EmulatorOptions *options);
/* Runs the kernel that the launch names. A function with a body, which must not be in SSA form, runs from it, any
 * other function from its statements. Renumbers the blocks of the bodies that run, in layout order. Never NULL. */
EmulatorResult *emulator_run(Arena *arena, const Module *module, const Launch *launch, const EmulatorOptions *options);
/* The function that an address in memory of a launch is that of; NULL: none. */
const Function *emulator_function_at(const Module *module, uint64_t address);

/* Gives the module's variables that are in the device's memories their initial values. */
void emulator_load(const Module *module, const EmulatorDevice *device);
uint64_t emulator_image_handle(unsigned index);
const EmulatorBuffer *emulator_buffer(const EmulatorResult *result, const char *name); /* NULL if there is none */

/* "FILE:LINE: out of bounds: MESSAGE (kernel K, block 0,0,0, thread 3,0,0, from app.cu:12)" */
const char *fault_text(Arena *arena, const Module *module, const EmulatorFault *fault);
void counters_print(const EmulatorCounters *counters, Buf *out);
const char *category_name(Category category); /* "int" */
/* Prints a table of the lines. */
void lines_print(const EmulatorResult *result, Buf *out);

typedef struct EmulatorComparison {
    bool equal;
    const char *message; /* in the arena: the first difference, or the failure of a run; NULL if equal */
    EmulatorResult *original, *changed; /* NULL if the factors do not divide the launch */
} EmulatorComparison;

/* Runs 'kernel' (NULL: the one the launch names) of both modules, the changed one with the launch changed (NULL:
 * unchanged), and compares the checked buffers: byte for byte, or within the launch's tolerance. */
EmulatorComparison *emulator_compare(Arena *arena, const Module *original, const Module *changed, const char *kernel,
                                     const Launch *launch, const LaunchChange *change, const EmulatorOptions *options);
/* An element that differs after two runs. */
typedef struct EmulatorDifference {
    const char *buffer;
    Type type;
    uint64_t index;
    unsigned bytes; /* of an element */
    const uint8_t *expected, *actual;
} EmulatorDifference;

/* The first difference between the buffers and module variables of two runs, except those that the launch
 * ignores and variables that only one of the runs has. False if there is none. */
bool results_differ(const Launch *launch, const EmulatorResult *expected, const EmulatorResult *actual,
                    Tolerance tolerance, EmulatorDifference *difference);
/* Prints an element so that its bits can be recovered: in decimal, floating point with as many digits as necessary,
 * NaNs and untyped bits in hexadecimal. */
void element_print(Type type, const uint8_t *bytes, Buf *out);
/* The first difference between the checked buffers of two runs, as a message in the arena; NULL if there is none. */
const char *emulator_difference(Arena *arena, const Launch *launch, const EmulatorResult *expected,
                                const EmulatorResult *actual, Tolerance tolerance);

/* The value of a pure instruction with one result, for constant folding and tests: "add.s32" of {1, 2}. Inputs and
 * result are bit patterns in operand order, predicates 0 or 1. False if the emulator does not execute it, or if it is
 * not of this kind. */
bool emulator_evaluate(const char *spelling, const uint64_t *inputs, unsigned count, uint64_t *result);

#endif
