/* The interface between the files of this folder, which no other folder includes. In the order of their calls, each
 * calling only those before it: table.c, relative.c; space.c; gpu.c, kernel.c; form.c, measure.c; progress.c,
 * workers.c; sweep.c; tune_launch.c, tune_form.c, tune.c. */
#ifndef PTXOPT_SWEEP_INTERNAL_H
#define PTXOPT_SWEEP_INTERNAL_H

#include <math.h>

#include "engine/engine.h"
#include "sweep/sweep.h"
#include "timing/timing.h"

/* table.c */
/* A row without figures. */
SweepRow sweep_row_new(void);
/* Reads a line of a table, without its end, into *row, with texts in the arena. False if it is none. */
bool sweep_row_read(Arena *arena, char *line, SweepRow *row);
void sweep_row_print(const SweepRow *row, Buf *out);
/* Orders forms, whatever their block: the original, then merged threads, then merged blocks. */
int sweep_form_compare(const SweepRow *a, const SweepRow *b);
/* Orders configurations: forms, and the original by machine code before the same by PTX. 0: they are the same, whatever
 * was found out about them. */
int sweep_row_compare(const SweepRow *a, const SweepRow *b);

/* relative.c: sorts the rows, keeps the last of several for one configuration, and computes speedups. */
void sweep_settle(SweepTable *table);

/* An architecture that forms are assembled for. */
typedef struct SweepTarget {
    Options options;
    Run run; /* with a module of its own */
    Device device;
    uint64_t inputs;   /* a hash of what decides its figures, apart from the launch */
    bool is_on_gpu;    /* the GPU has this architecture, and forms are measured there */
} SweepTarget;

/* A launch file, and the kernel that it names. */
typedef struct SweepKernel {
    const char *path;
    const Launch *launch;
    Function *kernel; /* in the first target's module */
    uint64_t inputs;  /* a hash of the file */
    VEC(const Launch *) launches; /* with each block size, the file's own first */
    VEC(SweepDimension) dimensions;
} SweepKernel;

/* A form that is to be measured with all block sizes and for all architectures. */
typedef struct SweepForm {
    const SweepKernel *kernel;
    SweepDimension dimension;
    unsigned factor; /* 1: the original */
    Stride stride;
    double estimate; /* cycles with the block that is best for it; infinite: it cannot be launched; 0: not estimated */
} SweepForm;

/* What the time of a sweep goes into, in seconds. */
typedef struct SweepSeconds {
    double coarsening, counting, assembling, mapping, measuring;
} SweepSeconds;

/* The GPU, opened by this process. */
typedef struct SweepGpu {
    GpuDriver driver;
    GpuFlush flush;
    bool is_lost;         /* after an error, the driver refuses all more */
    bool refuses_cubins;  /* the emulated driver does */
} SweepGpu;

typedef struct Sweep {
    Arena *arena;
    const SweepRequest *request;
    Source *source;
    SweepTarget *targets;
    size_t target_count;
    VEC(SweepKernel) kernels;
    VEC(SweepForm) forms;
    size_t row_count; /* of these */
    SweepTable table;
    bool tunes; /* the table is not printed: it is only written to the file that is named */
    SweepSeconds seconds;
    GpuDriver device; /* what the driver says about the GPU, if forms are measured there */
    int gpu_lock;     /* a file that who times has locked */
    SweepGpu *gpu;    /* NULL: not opened by this process */
} Sweep;

/* space.c */
/* Sets the kernel's block sizes and dimensions. */
void sweep_kernel_space(Sweep *sweep, SweepKernel *kernel);
/* Lists the forms of all kernels. */
void sweep_list_forms(Sweep *sweep);
/* Drops those whose rows the table has, which is sorted for that. */
void sweep_drop_known(Sweep *sweep);
/* The row of a form with a block size, for an architecture, without figures. */
SweepRow sweep_row_of(const SweepForm *form, const Launch *launch, const SweepTarget *target);

/* kernel.c: each prints an error and returns false if the sweep must end. */
/* Reads the module once for each architecture, and looks for the assembler, which is not left open. */
bool sweep_open_targets(Sweep *sweep);
bool sweep_read_launches(Sweep *sweep);

/* form.c */
typedef struct SweepMade {
    const SweepForm *form;
    KernelResult result; /* of coarsening */
    FunctionForm written;
    LaunchChange change;
    SweepStatus status; /* if not SWEEP_OK, of all configurations, for ... */
    const char *reason; /* ... this reason */
} SweepMade;

/* Makes the form for blocks of any size, or for that of the launch if it cannot change. Texts are in the arena; the
 * result is the caller's to discard. */
void sweep_make(const Sweep *sweep, const SweepForm *form, Arena *arena, SweepMade *made);
/* True if the launch meets the form's contract. */
bool sweep_made_fits(const SweepMade *made, const Launch *launch, LaunchUnmet *unmet);

/* gpu.c: forms on a GPU, in the process that opens it. */
/* Asks what the driver says about the GPU, which this process does not open. Both: false after a message. */
bool sweep_gpu_ask(Sweep *sweep);
bool sweep_gpu_open(Sweep *sweep);
void sweep_gpu_close(Sweep *sweep);

/* The original and a form of it, loaded. All memory is the arena's. Functions that return text return NULL if all is
 * well, else what is wrong; sweep_pair_close() is for both. */
typedef struct SweepPair {
    GpuLaunch gpu;
    GpuForm original, form;
} SweepPair;

/* Loads the original alone. */
const char *sweep_pair_open(Sweep *sweep, Arena *arena, const SweepKernel *kernel, SweepPair *pair);
void sweep_pair_close(SweepPair *pair);
/* Loads a form, or PTX or a cubin with one, in place of the form before; or none. */
const char *sweep_pair_load(Sweep *sweep, SweepPair *pair, const SweepMade *made);
void sweep_pair_unload(SweepPair *pair);
const char *sweep_pair_load_image(Sweep *sweep, SweepPair *pair, const char *image, const LaunchChange *change);
/* Runs the form (the original if there is none) with the launch's block, compares its results with the original's, and
 * times it: sets the row's times, or its status and reason. */
void sweep_pair_measure(Sweep *sweep, SweepPair *pair, const Launch *launch, const LaunchChange *change, SweepRow *row);
/* The time of the form (the original if there is none) with the launch's block over that of the original with its own,
 * timed in turns; NAN: unknown, or the results differ. */
double sweep_pair_ratio(Sweep *sweep, SweepPair *pair, const Launch *launch, const LaunchChange *change);

/* A step that processes share: prints lines about a form, which the sweep takes. */
typedef void SweepTask(Sweep *sweep, const SweepForm *form, Buf *out);
/* Estimates a form for the first architecture, without assembling and counting. */
SweepTask sweep_estimate;

/* measure.c */
/* Opens the assemblers, for this process. */
bool sweep_open_assemblers(Sweep *sweep);
/* Prints the rows of a form. */
SweepTask sweep_measure;

/* progress.c */
typedef struct SweepProgress {
    bool is_shown, is_terminal;
    double begin, last; /* seconds */
} SweepProgress;

SweepProgress sweep_progress_new(const SweepRequest *request);
/* Shows how many rows are done, at intervals. */
void sweep_progress_show(SweepProgress *progress, const Sweep *sweep, size_t done);
/* Says how long it took, and what for. */
void sweep_progress_end(SweepProgress *progress, const Sweep *sweep, size_t done);

/* workers.c: does the task for all forms in several processes. Estimates are noted in the forms, and rows join the
 * table and the end of the output file. Returns the number of forms that were lost because a process ended early. */
size_t sweep_share(Sweep *sweep, SweepTask *task);

/* sweep.c: each prints an error and returns false if the sweep must end. */
/* Reads the inputs, and the table that is to be continued, and writes it, because that may be impossible. */
bool sweep_open(Sweep *sweep);
/* Measures the forms, and writes the table, also if the user ends that. False as well if some could not be measured. */
bool sweep_complete(Sweep *sweep);
/* True if the user has ended it. */
static inline bool sweep_is_over(const Sweep *sweep)
{
    return sweep->request->stop && *sweep->request->stop;
}

/* tune_launch.c */
/* Writes the launch file with another block to a temporary file, in the arena; NULL after a message. */
const char *tune_launch_write(Arena *arena, const char *path, const unsigned block[3]);
/* True if the kernel computes the same with these blocks as with the file's own, as far as the launch checks it. */
bool tune_block_is_right(const SweepKernel *kernel, const Launch *launch);

/* Words of a command line. */
typedef VEC(const char *) TuneWords;

/* tune_form.c */
/* A form that options of ptxopt make. */
typedef struct TuneForm {
    const SweepKernel *kernel;
    SweepPair *pair;         /* on the GPU, with the kernel's original; NULL: times are predicted */
    const Launch *launch;    /* with its block */
    const char *launch_file; /* the same in a file */
    double original;         /* cycles that are predicted for the original with this block */
    TuneWords words;         /* options, for people to give */
    bool is_original;        /* at most its block is another */
    double time;             /* predicted cycles; or, measured, the time over that of the original with its own block */
    Figures figures;
    unsigned warps;          /* on an SM */
    LaunchChange change;     /* of the launch */
} TuneForm;

/* Makes the form by its options and predicts its time, or measures it; false if it is not what they ask for. */
bool tune_form_weigh(Sweep *sweep, TuneForm *form);
/* True if a time is longer than another: noise does not make it so. */
bool tune_is_longer(const Sweep *sweep, double time, double than);
/* Gives the form one more option (with no value if that is NULL) if it is faster with it; true if so. */
bool tune_form_add(Sweep *sweep, TuneForm *form, const char *option, const char *value);
/* Puts several threads in the place of one if that is faster, and returns whether it is. Tries numbers of threads, next
 * to each other and apart, as -refine auto does. */
bool tune_form_refine(Sweep *sweep, TuneForm *form);
/* Adds the loops that are faster interleaved, as -uj auto finds them. */
void tune_form_add_loops(Sweep *sweep, TuneForm *form);
/* True if its options make a form that computes the same as the original. */
bool tune_form_verify(Sweep *sweep, const TuneForm *form);

#endif
