/* assembler: PTX text in, a cubin and its figures out, by NVIDIA's own assembler.
 *
 * One interface, three back ends; none is needed to build, each is found and opened at run time:
 *   driver     libcuda.so.1: the just-in-time compilation of programs on this machine's GPU
 *   nvJitLink  libnvJitLink.so: needs no GPU and no new process for each call; compiles like `ptxas -c` (functions keep
 *              their calling convention) and then links, so its figures can differ from those of ptxas
 *   ptxas      the program that nvcc runs: compiles the whole program at once
 *
 * The environment variable PTXOPT_CUDA_DRIVER, PTXOPT_NVJITLINK or PTXOPT_PTXAS names a back end's file, which nothing
 * else then replaces. Otherwise it is looked for in these places, and the first that can assemble a trivial kernel of
 * the module's version of PTX for the wanted architecture is used:
 *   third_party/cuda in the folder of the running program, and of the shared library that this is in, or up to three
 *     folders above it (bin/ptxas, lib/libnvJitLink.so.13: where tools/deps.sh puts them)
 *   the loader's path or $PATH; $CUDA_HOME, $CUDA_PATH, /usr/local/cuda
 *   the folder of the program or library, and bin or lib beside it
 *   $XDG_DATA_HOME/ptxopt/cuda, or ~/.local/share/ptxopt/cuda (assembler_fetch)
 *   NVIDIA's wheels in folders of Python packages, and then those files that Triton brings: in the folders that the
 *     caller names, the one that this library is in, and those of $VIRTUAL_ENV, $CONDA_PREFIX, the python3 on $PATH,
 *     the prefix of the program, ~/.local, /usr/local and /usr
 *   third_party/cuda-13.5 and the like, beside third_party/cuda, the highest version first
 *
 * An assembler can crash or hang on its input, or use up all memory. All back ends run in child processes under limits
 * of time and memory ($PTXOPT_ASSEMBLER_MEMORY, in MiB), so none of this affects the caller: the outcome describes it,
 * and the next call works. The two libraries run in one worker process for each Assembler, which is restarted if it
 * dies. */
#ifndef PTXOPT_ASSEMBLER_H
#define PTXOPT_ASSEMBLER_H

#include "target/target.h"
#include "support/support.h"

/* The back ends, in the order in which ASSEMBLER_AUTO tries them. */
typedef enum AssemblerKind {
    ASSEMBLER_AUTO,
    ASSEMBLER_DRIVER,
    ASSEMBLER_PTXAS,
    ASSEMBLER_NVJITLINK,
    ASSEMBLER_KIND_COUNT
} AssemblerKind;

/* "auto", "driver", "ptxas", "nvjitlink": the words of the command line. */
const char *assembler_kind_word(AssemblerKind kind);
bool assembler_kind_parse(const char *word, AssemblerKind *kind);

typedef struct Assembler Assembler;

/* Finds and starts a back end that can assemble for 'arch' ("sm_90"; in fact for arch_assembled() of it).
 * ASSEMBLER_AUTO uses the first that works of: the driver, if there is a GPU of that architecture; ptxas; nvJitLink,
 * whose code can differ from theirs. If environment variables name some of them, it is the first of those, or none. The
 * Assembler is in 'arena' and must be closed. NULL if none works: *error (in the arena, lines without a newline at the
 * end) then lists the attempts, the reason why each failed, and the remedy. */
Assembler *assembler_open(Arena *arena, AssemblerKind kind, const char *arch, const char **error);
/* The same for modules of a version of PTX, times 10 as in Module: one that knows this version, if there is any; if
 * not, as assembler_open(), and its messages will say so. Also looks in 'sites', a list of folders of Python packages
 * that ends with NULL. NULL: none. */
Assembler *assembler_open_for(Arena *arena, AssemblerKind kind, const char *arch, unsigned ptx_version,
                              const char *const *sites, const char **error);
/* True if an environment variable names the file that assembler_open() must use; it is then an error if it cannot be
 * used. */
bool assembler_is_named(AssemblerKind kind);
/* The first file of that kind in the places that the head of this file lists, used or not, in the arena. The
 * environment variable does not count. NULL: there is none. Libraries are not supported, because the loader finds
 * them. */
const char *assembler_locate(Arena *arena, AssemblerKind kind);

/* NVIDIA's wheels, for machines without a toolkit: assembler/wheels.def. */
typedef struct Wheel {
    const char *package, *version;
    unsigned megabytes; /* to download */
    const char *file;   /* "bin/ptxas" */
    const char *purpose;
} Wheel;

/* wheels[0] to the one whose package is NULL. */
extern const Wheel assembler_wheels[];
/* The folder for a user's ptxopt files, in the arena; NULL without a home folder. */
const char *assembler_user_folder(Arena *arena);
/* True if the files of all wheels, in these versions, are in 'folder'/cuda. */
bool assembler_is_fetched(Arena *arena, const char *folder);
/* Fetches them into 'folder'/cuda with pip, which prints its progress, along with NVIDIA's licence. Returns NULL, or an
 * error message in the arena; the folder's previous contents are then unchanged. */
const char *assembler_fetch(Arena *arena, const char *folder);
/* Sets more options for ptxas, for every later run: "-O1", "--def-load-cache=cg". The list ends with NULL, its words
 * are not copied. nvJitLink passes them to its own compiler, the driver ignores them. An option that the run itself
 * sets must not be in it. A file of compiler controls, "--apply-controls=FILE" or two words, may be (NVIDIA CompileIQ,
 * "Tuning NVIDIA Compilers"). Returns NULL, or a message in the arena of assembler_open() if such a file cannot be
 * read, if the assembler is too old for it, or does not accept it; no options are set then. */
const char *assembler_set_options(Assembler *assembler, const char *const *options);
/* Has an empty kernel assembled with a file of compiler controls. NULL, and its *absolute name; or a message, as from
 * assembler_set_options(). Both are in the arena of assembler_open(). */
const char *assembler_try_controls(Assembler *assembler, const char *path, const char **absolute);
/* A hash of a word for ptxas that goes on from 'hash', and of the contents of the controls that it names. */
uint64_t assembler_option_hash(const char *word, uint64_t hash);

/* Called several times a second while an assembler runs, and once more, with 'done', when it has ended. */
typedef void AssemblerWaiting(void *context, bool done);
void assembler_set_waiting(Assembler *assembler, AssemblerWaiting *waiting, void *context);
/* Ends the worker process. 'assembler' may be NULL. */
void assembler_close(Assembler *assembler);

const char *assembler_name(const Assembler *assembler);    /* "CUDA driver", "nvJitLink", "ptxas" */
const char *assembler_version(const Assembler *assembler); /* "13.0.88"; or "unknown" */
const char *assembler_path(const Assembler *assembler);    /* the file, or the name given to the loader */
const char *assembler_arch(const Assembler *assembler);    /* "sm_90" */
const char *const *assembler_options(const Assembler *assembler); /* as set; NULL: none */
/* The reason why a back end that is installed, or that an environment variable names, was not used; NULL if none was
 * skipped. */
const char *assembler_note(const Assembler *assembler);

#define ASSEMBLY_TIMEOUT_MS 120000 /* the time limit if the request has none */

typedef struct AssemblyRequest {
    const char *ptx;
    size_t size;       /* bytes of PTX; no NUL is needed after the last one */
    const char *arch;  /* "sm_90a"; NULL: the one the assembler was opened for. The driver accepts only its GPU's */
    int max_registers; /* per thread; 0: no cap. Like -maxrregcount, it is raised to at least 24 and has no effect on a
                          kernel with .maxntid, .reqntid or .maxnreg */
    int opt_level;     /* 0..3 */
    bool want_cubin;   /* false: the cubin is made and measured, but not kept */
    bool syntax_only;  /* only check whether the PTX is accepted: no cubin, no resources. ptxas parses and checks; the
                          others have no such mode and assemble without optimization */
    bool many_cores;   /* the assembler may use all cores, if it can; its code may differ a little */
    bool line_info;      /* the cubin contains, for each machine instruction, the .loc line of the PTX that it comes
                          * from */
    const char *const *options; /* words for ptxas in this run alone, after those of assembler_set_options; the list
                                 * ends with NULL. NULL: none. The driver rejects a request that has any */
    unsigned timeout_ms; /* 0: ASSEMBLY_TIMEOUT_MS */
} AssemblyRequest;

/* A request with the defaults: the assembler's architecture, no cap, -O3, no cubin kept. */
AssemblyRequest assembly_request(const char *ptx, size_t size);

typedef enum AssemblyFailure {
    ASSEMBLY_DONE,
    ASSEMBLY_REJECTED,    /* the assembler reports errors in the PTX; they are in the log */
    ASSEMBLY_CRASHED,     /* a signal ended it */
    ASSEMBLY_TIMED_OUT,   /* it was stopped at the time limit */
    ASSEMBLY_NO_MEMORY,   /* it reached the memory limit */
    ASSEMBLY_UNREADABLE,  /* it succeeded, but left no cubin or printed nothing that can be parsed */
    ASSEMBLY_UNAVAILABLE, /* it cannot be started (again), or not for this architecture */
} AssemblyFailure;

/* "rejected", "crashed" ... */
const char *assembly_failure_word(AssemblyFailure failure);
/* True if the assembler broke down instead of rejecting the PTX. */
bool assembly_broke(AssemblyFailure failure);

/* The costs of one kernel or function. Registers, stack, barriers, shared and constant bytes come from the cubin,
 * spills from the log (`ptxas -v`). A function that was compiled into its callers has its own stack frame, spills and
 * code, but no registers: those count for the kernel. */
typedef struct Resources {
    const char *name;
    bool is_entry;
    bool knows_spills;     /* there was a log that tells them */
    unsigned block[3];     /* the most threads that a block may have, or must have, along each axis; 0: the cubin does
                            * not say */
    unsigned registers;    /* 32-bit, per thread, before the allocation is rounded up */
    unsigned barriers;     /* hardware barriers (bar.sync 0 is one); 0 before CUDA 12.5, which does not report them */
    uint64_t spill_stores; /* bytes of spill instructions in the code, not executions */
    uint64_t spill_loads;
    double milliseconds;   /* that the assembler needed for it; 0: unknown */
    uint64_t stack;        /* bytes of local memory per thread, including callees' if known */
    uint64_t shared;       /* static bytes per block, without the 1,024 that the system uses on sm_80 and later */
    uint64_t constant;     /* bytes of the kernel's own constant banks, parameters included */
    uint64_t code_size;    /* bytes of SASS */
    uint64_t instructions; /* SASS instructions (16 bytes each), without the padding at the end */
} Resources;

typedef struct Assembly {
    AssemblyFailure failure;
    const char *message; /* one line that names the failure; NULL when done */
    unsigned error_line; /* the PTX line of the first error, from 1; 0 if not known */
    const char *log;     /* the output of the assembler; never NULL; cut off after 1 MiB */
    bool relocatable;    /* the PTX uses functions or variables of other modules, so ptxas made relocatable code, as
                             nvcc -rdc=true does; the other back ends reject such PTX */
    const void *cubin;   /* NULL unless requested and done */
    size_t cubin_size;
    Resources *resources; /* kernels in the cubin's order, then functions */
    size_t resource_count;
    double seconds; /* wall time */
} Assembly;

/* Assembles once. True when done. Sets all of *result, in 'arena', either way. */
bool assembler_run(Assembler *assembler, Arena *arena, const AssemblyRequest *request, Assembly *result);

/* Reads the figures of a cubin for 'arch' ("sm_90") that was made elsewhere. Spills are known only by the 'log' of
 * `ptxas -v`; NULL: there is none. True, with the resources of *result in the arena, if the file can be read; names
 * point into it. */
bool assembly_read(Arena *arena, const char *arch, const void *cubin, size_t size, const char *log, Assembly *result);

/* The number of simultaneous runs for which this machine has cores. */
unsigned assembler_width(void);
/* The same for several requests, assembler_width() at a time; results[i] is in arenas[i], which must all differ. The
 * first call starts the threads and processes that later calls use; the arena of assembler_open() must not be in use
 * elsewhere meanwhile. */
void assembler_run_many(Assembler *assembler, const AssemblyRequest *requests, Arena **arenas, Assembly *results,
                        unsigned count);

/* A run in parallel with the caller, which may use the assembler in the meantime. */
typedef struct AssemblyRun AssemblyRun;
/* Starts one. *request is copied, but the data that it points to must stay. 'arena' and *result belong to the run until
 * it is finished, which must be before assembler_close(). Until then, signals that would end this process stay pending,
 * and end the run early. If no more can run at once, the run is done when this returns. Like assembler_run_many(), this
 * may use the arena of assembler_open(). */
AssemblyRun *assembler_start(Assembler *assembler, Arena *arena, const AssemblyRequest *request, Assembly *result);
/* Waits for it; *result is then set. */
void assembler_finish(AssemblyRun *run);

/* The record of a kernel or function, or NULL. */
const Resources *assembly_find(const Assembly *assembly, const char *name);

/* nvdisasm, NVIDIA's disassembler: a cubin in, text out. It takes half a second, whatever the size. */
typedef struct Disassembler {
    const char *path;
} Disassembler;

/* Looked for in the places that the head of this file lists, as PTXOPT_NVDISASM and bin/nvdisasm. NULL if there is
 * none, with *message, in the arena, naming the remedy. */
const Disassembler *disassembler_find(Arena *arena, const char **message);
/* Appends nvdisasm's output with the given options, a list that ends with NULL, to *text. NULL if done, else a message
 * in the arena. */
const char *disassembler_run(const Disassembler *disassembler, Arena *arena, const void *cubin, size_t size,
                             const char *const *options, Buf *text);

#endif
