/* options: a request to the program as one structure, read from a command line or by the names of options. Nothing here
 * prints or exits, so tests can try any command line. */
#ifndef PTXOPT_OPTIONS_H
#define PTXOPT_OPTIONS_H

#include <signal.h>

#include "assembler/assembler.h"
#include "opt/opt.h"

#include "options/kernel_name.h"
#include "options/table.h"

#define PTXOPT_VERSION "0.2.0"

typedef VEC(const char *) PathList;

typedef enum OptionId {
#define OPTION(id, ...) OPTION_##id,
#include "options/options.def"
    OPTION_COUNT
} OptionId;

/* -coarsen [KERNEL:]SPEC */
typedef struct CoarsenOption {
    const char *kernel; /* NULL: every kernel that no other -coarsen names */
    bool is_auto;
    bool is_source; /* kernels with a directive are coarsened as it says (engine/directive.h) */
    Shape shape; /* as written: "x2" is of threads and "bx2" of blocks, whatever -coarsen-level says */
} CoarsenOption;

/* -memory [KERNEL:]auto|off|LIST */
typedef struct MemoryOption {
    const char *kernel;
    bool is_auto;
    bool edges, stages, prefetches, counts, vectors; /* what prefetches also stages, */
    bool rows;          /* and so does what holds rows */
    bool vectors_first; /* than what stages */
    unsigned buffers;   /* as in StageRequest */
} MemoryOption;

/* -dead-on-return PARAM, -dead-on-return KERNEL:N */
typedef struct DeadOption {
    const char *parameter; /* its name, in any kernel; NULL: */
    const char *kernel;
    unsigned number;       /* of its parameters, from 0 */
} DeadOption;

/* -block-order [KERNEL:]off|groups:N|diagonal */
typedef struct OrderOption {
    const char *kernel;
    GridOrder order;
} OrderOption;

/* -target-regs [KERNEL:]N|auto|fewest[:P] */
typedef struct RegistersOption {
    const char *kernel;
    RegistersGoal goal;
    unsigned target; /* GOAL_COUNT */
    double price;    /* GOAL_FEWEST: percent */
} RegistersOption;

/* -uj LABEL:N */
typedef struct JamOption {
    bool is_auto, is_source; /* loops that pay, and loops with a directive (engine/directive.h), of every kernel */
    const char *loop; /* else the loop */
    unsigned factor;
} JamOption;

/* -block [KERNEL:]X,Y,Z */
typedef struct BlockOption {
    const char *kernel;
    unsigned threads[3];
} BlockOption;

/* -refine [KERNEL:]N[,apart], -refine [KERNEL:]auto */
typedef struct RefineOption {
    const char *kernel;
    bool is_auto;
    unsigned threads;
    bool is_apart;
} RefineOption;

/* -dynamic-shared [KERNEL:]BYTES */
typedef struct SharedOption {
    const char *kernel;
    unsigned bytes; /* of a block, beyond what the PTX declares */
} SharedOption;

/* Shared by a signal handler and a search. */
typedef struct Interrupt {
    volatile sig_atomic_t armed; /* during a search, an interrupt ends the search, not the process */
    volatile sig_atomic_t seen;
} Interrupt;

/* -split-assemble, -assemble-limit */
typedef struct SplitOption {
    bool wanted;
    unsigned parts;   /* at most; 0: as many as pay */
    unsigned seconds; /* that a kernel may take; 0: no limit */
    unsigned level;   /* of the kernels that take longer, 0 to 2 */
} SplitOption;

typedef struct Options {
    uint64_t given;         /* a bit for each OptionId that was read */
    const char *input;      /* "-": standard input */
    const char *output;     /* NULL: write no PTX; "-": standard output */
    const char *cubin;      /* NULL: do not write it */
    const char *launch_out; /* NULL: do not write it */
    const char *knobs_out;  /* the same */
    SplitOption split;
    const char *arch;       /* NULL: the module's .target */
    bool report;
    bool report_json;
    bool report_full; /* as text, with every detail */
    bool summary; /* a line for each kernel to standard error */
    const char *report_file; /* NULL: standard error */
    VEC(const char *) entries; /* empty: all kernels */
    VEC(CoarsenOption) coarsen;
    VEC(RefineOption) refine;
    bool reassociates;
    VEC(JamOption) jams;
    VEC(RegistersOption) registers;
    VEC(BlockOption) blocks;
    VEC(SharedOption) dynamic_shared;
    VEC(const char *) verify; /* launch files */
    VEC(const char *) launches; /* launch files that decisions and the report are based on */
    const char *machine;        /* a machine file; NULL: the device of the architecture */
    bool merges_blocks; /* -coarsen-level block */
    Stride stride;
    bool shrinks_grid;   /* -coarsen-grid shrink */
    GuardForm guards;
    unsigned growth; /* -coarsen-growth; 0: not given */
    bool assembler_none;
    AssemblerKind assembler;
    VEC(const char *) ptxas_options; /* -Xptxas */
    const char *controls;            /* -apply-controls: a file for ptxas; or NULL */
    PathList python_folders; /* where an assembler may be, too; a NULL follows, unless it is empty */
    VEC(MemoryOption) memory;
    VEC(DeadOption) dead;
    VEC(OrderOption) block_orders;
    bool spill;      /* -target-regs N may cost spills */
    bool knobs;      /* -target-regs may try options of the assembler */
    PathList knob_files; /* and these files of compiler controls, or those in these folders */
    bool does_what_pays; /* -auto: options_check turns it into the options that it stands for */
    unsigned ptx_version; /* times 10, that the output may have at most; 0: that of the input */
    bool fixes_defects;  /* code that the assembler gets wrong is rewritten (opt/defects/) */
    bool counts_all;    /* the blocks of a launch, not a sample of them */
    bool keep_original; /* of a coarsened kernel, as NAME__ptxopt_original */
    const char *tune_from; /* -tune-from: a file of the store; or NULL */
    unsigned tuned_forms; /* -tune: of each kernel, with the original; 0: not given */
    const char *input_name; /* what the input was compiled from; or NULL */
    bool missing_ok; /* options for kernels that the module does not have are ignored */
    unsigned level;
    Risk risk;
    double search;  /* -search: seconds that the search for a form of one kernel may take; negative: not given */
    Interrupt *interrupt; /* the user's wish to end a search; NULL: an interrupt ends the process */
    PassOptions passes;
    bool canonical; /* print everything from its parsed form */
    bool warnings_are_errors, quiet, verbose;
} Options;

typedef enum OptionsOutcome { OPTIONS_RUN, OPTIONS_HELP, OPTIONS_VERSION, OPTIONS_WRONG } OptionsOutcome;

/* Reads argv without changing it.  Everything in *options lives in 'arena' or in argv.  With OPTIONS_WRONG, *error
 * explains in one line what is wrong. */
OptionsOutcome options_parse(Arena *arena, int argc, char *const *argv, Options *options, const char **error);

/* The same without a command line, for callers in several threads: options as they are before any word, then each by
 * its name, with NULL for a value that it does not have, then whether they go together. The two return NULL, or in one
 * line what is wrong. Options for files and those that only print are rejected. */
void options_init(Options *options);
const char *options_set(Arena *arena, Options *options, const char *name, const char *value);
const char *options_check(Arena *arena, Options *options);

static inline bool option_given(const Options *options, OptionId id)
{
    _Static_assert(OPTION_COUNT <= 64, "options outgrow the set of those that are given");
    return options->given >> id & 1;
}

static inline void option_set_given(Options *options, OptionId id) { options->given |= UINT64_C(1) << id; }

/* The rows of options/options.def, at the places that OptionId says. */
const OptionRow *options_table(void);
/* Their help, under the headings of the table, each after an empty line. */
void options_print_help(Buf *out);

/* The values of single options, for those who read them elsewhere: each returns what is wrong with the text, or NULL,
 * or whether it is one. */

/* -block: X or X,Y or X,Y,Z from 'at' on, which may be a part of the text. */
const char *block_read(Arena *arena, const char *text, const char *at, unsigned threads[3]);

/* -arch, for the commands that only look at code: the word itself in *arch. */
const char *arch_choice_read(Arena *arena, const char *word, const char **arch);
/* The same for several, separated by commas, which are added to the list. */
const char *arch_list_read(Arena *arena, const char *words, PathList *archs);

/* -assembler, for all commands. */
const char *assembler_choice_read(Arena *arena, const char *word, bool *none, AssemblerKind *kind);
/* Its words, in the order of help. */
PrintChoice assembler_choice_print;
/* "2", "x2,y2", "x2,bx4" or "auto" into shape and is_auto. */
const char *coarsen_factors_read(Arena *arena, const char *text, CoarsenOption *option);
/* "block", "unit" or a number. */
bool stride_read(const char *text, Stride *stride);
/* How many buffers "async" (two) or "async2" to "async4" asks for; 0: it is another word. */
unsigned async_buffers_read(const char *word);
/* "8" or "8,apart" into threads and is_apart. */
bool refine_threads_read(const char *text, RefineRequest *refining);
/* A number of iterations, from 2 to UNROLL_JAM_MOST. */
bool jam_factor_read(const char *text, unsigned *factor);

/* Kernels are named as in kernel_name.h. */

/* The option that applies to a kernel: the last that names it, or else the last without a kernel, or else NULL.
 * "-coarsen source" applies to none by itself. */
const CoarsenOption *options_coarsen_for(const Options *options, const char *kernel);
/* The shape that it asks for: -coarsen-level block makes all its factors those of blocks. */
Shape options_shape(const Options *options, const CoarsenOption *coarsen);
const RegistersOption *options_registers_for(const Options *options, const char *kernel);
const MemoryOption *options_memory_for(const Options *options, const char *kernel);
const OrderOption *options_order_for(const Options *options, const char *kernel);
const BlockOption *options_block_for(const Options *options, const char *kernel);
const SharedOption *options_shared_for(const Options *options, const char *kernel);
const RefineOption *options_refine_for(const Options *options, const char *kernel);
/* Seconds that the search for fewer registers in one kernel may take: those of -search, or what the level allows. */
double options_search_seconds(const Options *options);
/* The same for all that is chosen for a kernel, where something is: coarsening, memory, loops and registers. */
double options_choice_seconds(const Options *options);
/* The same where only what -memory does is chosen. */
double options_memory_seconds(const Options *options);
/* True if figures of all kernels are wanted, before and after. */
bool options_want_figures(const Options *options);
/* True if "-uj auto" is given. */
bool options_jam_auto(const Options *options);
/* True if -entry selects the kernel. */
bool options_selects(const Options *options, const char *kernel);

#endif
