/* cost: the predicted time of a kernel's launch, and the reasons for it.
 *
 * A Profile is the work of one launch: how often each instruction is executed, and the memory traffic. It is counted by
 * the emulator, or estimated if there is no launch. time_predict() turns a profile into cycles on a device, as
 * docs/time.md describes. Figures are compared per original thread, because a coarsened launch has fewer threads for
 * the same work.
 *
 * The model never needs the meaning of an instruction, and the emulator never its cost. */
#ifndef PTXOPT_COST_H
#define PTXOPT_COST_H

#include "analysis/analysis.h"
#include "emulator/emulator.h"
#include "ir/ir.h"
#include "target/target.h"
#include "support/support.h"

/* The pipe that an instruction occupies. */
typedef enum Pipe {
    PIPE_FP32,
    PIPE_INTEGER, /* also logic, comparison, selection */
    PIPE_MULTIPLY, /* integer products, which the pipe of FP32 makes */
    PIPE_SPECIAL, /* reciprocals, roots, sines, logarithms; divisions are several of these */
    PIPE_FP64,
    PIPE_TENSOR,
    PIPE_SHARED,
    PIPE_GLOBAL,  /* also generic accesses, textures and surfaces */
    PIPE_LOCAL,
    PIPE_CONSTANT, /* parameters and .const: through the constant cache */
    PIPE_BARRIER,
    PIPE_CONTROL,
    PIPE_MOVE, /* instructions that assemblers usually remove */
    PIPE_COUNT
} Pipe;

/* "FP32", "integer" ... */
const char *pipe_name(Pipe pipe);

/* The units that an instruction occupies. */
typedef struct UnitUse {
    Pipe pipe;
    bool is_load;  /* waits for memory */
    bool is_store; /* or an atomic */
    bool is_slow;  /* a division or a root: machine code needs a sequence */
} UnitUse;

UnitUse inst_unit(const Inst *inst);

/* One instruction of the profiled code. */
typedef struct InstProfile {
    UnitUse unit;
    Span span;
    const Loc *loc;       /* the module's; NULL: none */
    const char *spelling; /* "ld.global.f32": for instructions that access memory; else NULL */
    size_t first_input;   /* its inputs in Profile.inputs: the earlier instructions that produce ... */
    unsigned input_count; /* ... its operands */
    /* Counts over all warps of the launch. */
    double warps, threads;
    double sectors, lines, wavefronts, bank_conflicts;
    double fresh; /* of the sectors, those that a block loads here for the first time */
} InstProfile;

/* Instructions that always execute one after the other: a basic block, or a part of one between calls. */
typedef struct RunProfile {
    size_t first, count; /* in Profile.instructions */
} RunProfile;

/* The part of an instruction in asynchronous copies from global to shared memory. */
typedef enum StepCopy {
    STEP_NO_COPY,
    STEP_COPIES,
    STEP_COMMITS, /* the copies since the last time are a group */
    STEP_WAITS,   /* until no more than 'left' groups are on their way */
} StepCopy;

/* A machine instruction, as its control word and its class describe it. */
typedef struct SassStep {
    uint8_t stall;         /* cycles until the warp's next instruction may issue */
    uint8_t wait;          /* set of the scoreboards that it waits for */
    uint8_t write_barrier; /* the scoreboard that is released when its result is available; MACHINE_STEP_NONE: none */
    uint8_t read_barrier;  /* ... when its operands have been read */
    uint8_t pipe;          /* Pipe */
    uint8_t copy, left;    /* StepCopy; STEP_WAITS: groups */
    float fresh; /* loads of global memory: the share of executions that load what the block has not loaded yet;
                  * below 0: unknown */
    float lines; /* the same: lines that an execution touches */
} SassStep;

enum { MACHINE_STEP_NONE = 7, MACHINE_SCOREBOARDS = 6 };

/* A basic block of the machine code. */
typedef struct SassRun {
    const SassStep *steps;
    size_t count;
    double warps;  /* executions by warps, over the launch */
    size_t before; /* the block that most often comes before it, which may be itself; SIZE_MAX: none */
} SassRun;

/* Executed machine instructions of the whole launch. */
typedef struct SassProfile {
    double instructions;     /* warp instructions */
    double looped;           /* of these, in loops */
    double pipe[PIPE_COUNT]; /* of these; the uniform datapath counts as control */
    double spills;           /* loads and stores of registers in local memory */
    double shared_spills;    /* and in shared memory */
    double residual;         /* how far the counts that it is based on disagree: sass.h */
    double rounds;           /* of loops that the assembler has put together: how many loads of one PTX instruction
                                come right after each other, in the mean over what they load again; at least 1 */
    const SassRun *runs;
    size_t run_count;
} SassProfile;

typedef struct Profile {
    const SassProfile *sm; /* NULL: unknown; then PTX instructions count */
    bool counted;            /* by the emulator; else estimated */
    bool uneven;             /* estimated, and warps differ in length by an unknown amount */
    bool assumes_trips;      /* estimated, and the trip count of a loop is assumed */
    double blocks;           /* of the grid */
    double sampled_blocks;   /* counted: how many of them ran; 0: all */
    double sample_error;     /* counted: the standard error of the counts, relative; 0: all blocks ran */
    double working_blocks;   /* those that are not left without work after blocks were merged, about */
    double block_threads;    /* of the form, that is, after coarsening */
    double original_threads; /* of the grid, before coarsening */
    InstProfile *instructions;
    size_t instruction_count;
    uint32_t *inputs;
    RunProfile *runs;
    size_t run_count;
    /* Totals over the launch: warp instructions, global sectors of 32 bytes, and the passes of L1's data banks for
     * global accesses. */
    double warp_instructions, thread_instructions;
    double pipe[PIPE_COUNT];
    double shared_accesses, shared_wavefronts, bank_conflicts;
    double branches, divergent_branches; /* conditional ones of warps; 0 in estimates */
    double loads, load_sectors, load_wavefronts, block_load_sectors, hot_load_sectors, load_footprint;
    double own_reuse[REUSE_DISTANCES], shared_reuse[REUSE_DISTANCES]; /* as in EmulatorCounters, */
    double own_rewrites[REUSE_DISTANCES];                             /* as well */
    double near_loads;     /* in estimates: loads of what the block has loaded a round of a loop before: they hit */
    double shared_unknown; /* in estimates: other loads of what the block has loaded before */
    double far_unknown;    /* of these, the first in a loop of what it has loaded in another one */
    double load_lines, store_lines; /* of 128 bytes */
    double most_updates; /* as in EmulatorCounters; 0 in estimates */
    double stores, store_sectors, store_wavefronts, block_store_sectors, store_footprint;
    double unread_footprint, stored; /* as in EmulatorCounters; 0 in estimates */
    /* The longest warp of each block over the mean warp of the launch; NULL: all are 1. */
    double *block_lengths;
    double shared_words, word_passes, joined_passes; /* as in EmulatorCounters; 0 in estimates */
    /* The work of every fourth warp of each block, from the first, the second ... on, over that of the launch; NULL:
     * all blocks are alike. */
    float (*place_work)[WARP_PLACES];
} Profile;

/* Warp instructions that the launch executes: machine instructions if they are known, else PTX instructions. */
static inline double profile_executed(const Profile *profile)
{
    return profile->sm ? profile->sm->instructions : profile->warp_instructions;
}

/* How a run is counted. */
typedef struct CountOptions {
    unsigned jobs;            /* cores */
    bool samples;             /* a part of the blocks of a large grid suffices */
    const EmulatorPoll *poll; /* may end the run; NULL: it does not */
} CountOptions;

/* Counts a run of a form of the kernel (a NULL body: as written) in the emulator. The launch is the original's, which
 * 'change' adapts to the form (NULL: no change).
 * NULL, with *error set to a message in the arena, if the kernel cannot be run to its end. */
Profile *profile_count(Arena *arena, const FunctionForm *form, const Launch *launch, const LaunchChange *change,
                       const CountOptions *options, const char **error);

/* The profile of a run that was made with all counts (EmulatorOptions) and with this form, which has a body.
 * 'original_threads': of the original's grid. */
Profile *profile_of_run(Arena *arena, const FunctionForm *form, const Launch *launch, double original_threads,
                        const EmulatorResult *result);

enum { ESTIMATED_TRIPS = 16 };
/* An assumed launch of the original kernel. */
typedef struct AssumedLaunch {
    unsigned block[3]; /* threads */
    double blocks;     /* of the grid */
    double trips;      /* of loops whose trip counts are not known; 0: ESTIMATED_TRIPS */
    bool at_edge;      /* of all threads, those at the edge of the data, where half of them are out of bounds, ... */
    bool splits_warps; /* ... and the edge is within each warp */
    KnownParameters known; /* its scalar arguments, as far as they are known */
} AssumedLaunch;

/* Estimates the profile of the launch after the change (NULL: none). Trip counts are taken from constants if known;
 * branches are judged by their shape, coalescing by affine addresses. NULL, with *error set, if the kernel has no body
 * form. */
Profile *profile_estimate(Arena *arena, const FunctionForm *form, const AssumedLaunch *launch,
                          const LaunchChange *change, const char **error);

/* A scalar parameter of 32 bits that sets how often all loops of unknown length go round. */
typedef struct TripParameter {
    unsigned index; /* among the kernel's parameters, from 0 */
    double slope;   /* the trips of the innermost loop for each unit of its value */
} TripParameter;

/* False if there is none, or other values than one parameter count. */
bool trip_parameter_find(const Function *kernel, TripParameter *found);

/* The scalar parameters, of 32 bits, that a form tests for being multiples, because rows of vectors are as wide. */
enum { MOST_ALIGNED = 4 };
typedef struct AlignedParameter {
    unsigned index;    /* among the kernel's parameters, from 0 */
    unsigned multiple; /* of this power of two; 0: it is not tested */
} AlignedParameter;
typedef struct AlignedParameters {
    AlignedParameter of[MOST_ALIGNED];
    unsigned count;
} AlignedParameters;

AlignedParameters alignment_parameters(const FunctionForm *form);

/* Finds the scalar parameter of 32 bits that bounds the places of threads along x; *index: among the kernel's
 * parameters, from 0. False if there is none, or places have another bound as well. */
bool bound_parameter_find(const Function *kernel, unsigned *index);

/* True if threads leave a loop of the kernel for a reason that they compute from a clock; *reading: of an instruction
 * that reads it. Then no time can be predicted, neither of the kernel nor of a form. */
bool loops_end_by_clock(const Function *kernel, Span *reading);
#define ENDS_BY_CLOCK "a loop ends by the clock"

/* Replaces what the grid touches, in the estimate of a kernel, by what was counted, for as many threads: estimates do
 * not see where rows of different blocks meet. */
void profile_take_footprint(const Profile *counted, Profile *estimate);

/* Copies the sectors that the grid and the blocks touch from the estimate of the original to the estimate of a changed
 * form, which touches the same data. A merged block touches no more than its original blocks together, and no less than
 * their share of the grid's sectors. Counts stay. */
void profile_keep_data(const Profile *original, Profile *form);

/* The resource that limits a launch. */
typedef enum Resource {
    RESOURCE_ISSUE,
    RESOURCE_FP32,
    RESOURCE_INTEGER,
    RESOURCE_SPECIAL,
    RESOURCE_FP64,
    RESOURCE_TENSOR,
    RESOURCE_SHARED,
    RESOURCE_L1,
    RESOURCE_L2,
    RESOURCE_DRAM,
    RESOURCE_LAUNCH,  /* the rate at which the device starts blocks */
    RESOURCE_LATENCY, /* too few warps, or too little independent work in each, to hide latencies */
    RESOURCE_COUNT
} Resource;

/* "shared memory", "latency" ... */
const char *resource_name(Resource resource);

/* The predicted time of a launch. */
typedef struct Time {
    bool known;          /* false: the kernel cannot be launched like this */
    bool on_fitted_device; /* the model's constants were fitted to times measured there */
    double cycles;
    double microseconds; /* at the device's clock */
    double demand[RESOURCE_COUNT]; /* cycles for which each resource alone would be busy */
    Resource binding;
    double margin;       /* the binding resource's demand over the next one's */
    double path;         /* cycles of one warp alone */
    double load_latency; /* mean, of a load from global memory, in cycles */
    double busiest;      /* the share of the launch's work that the busiest SM has */
    double waves;        /* blocks of the busiest SM over those it holds at once */
    unsigned resident_blocks, resident_warps; /* of an SM */
    double l1_hits;      /* share of load sectors */
    double dram_sectors;
    double merge_share;  /* of L2's work: merging parts of sectors that are stored */
} Time;

/* The space that a form takes on an SM. */
typedef struct SmUse {
    unsigned registers; /* of a thread */
    uint64_t local;     /* of a thread: its stack, in bytes */
    uint64_t shared;    /* of a block, in bytes */
} SmUse;

Time time_predict(const Profile *profile, const SmLimits *sm, const Device *device, const SmUse *use);
/* The same with at least this latency, in cycles, as Time.demand has it. */
void time_raise_latency(Time *time, const Device *device, double latency);

/* Changes that the model predicts with different errors. A form belongs to the first that applies. */
typedef enum ChangeKind {
    CHANGE_LOSS,    /* the form is predicted to be slower */
    CHANGE_UNEVEN,  /* threads make different numbers of trips, by an estimate */
    CHANGE_FP64,    /* the FP64 units are the busiest, before or after */
    CHANGE_DRAM,    /* DRAM is the busiest before */
    CHANGE_PARTS,   /* L2 is, before, and merges parts of sectors that are stored */
    CHANGE_WAVE,    /* all blocks of the form run at once */
    CHANGE_WARPS,   /* an SM holds fewer warps */
    CHANGE_TRAFFIC, /* more or fewer global sectors */
    CHANGE_CODE,    /* none of these */
    CHANGE_KIND_COUNT
} ChangeKind;

/* "all blocks run at once" ... */
const char *change_kind_name(ChangeKind kind);

/* The range of a speedup, as factors of the input's speed. */
typedef struct Interval {
    ChangeKind kind;
    double low, high; /* nine of ten measured speedups are between them */
    double cautious;  /* most are above this: all but 15 in a hundred */
} Interval;

/* A form's work and the time that is predicted for it. */
typedef struct TimedWork {
    const Profile *profile;
    const Time *time;
} TimedWork;

/* The interval of the speedup that is predicted for a form over another. cost/intervals.def says how far measured
 * speedups are from predicted ones. */
Interval interval_of(const TimedWork *before, const TimedWork *after);

#endif
