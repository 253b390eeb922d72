/* assembler: PTX text in, a cubin and what it costs out, by NVIDIA's own assembler.
 *
 * One interface, three back ends; none is needed to build, each is found and opened at run time:
 *   driver     libcuda.so.1: what a program's just-in-time compilation makes on this machine's GPU
 *   nvJitLink  libnvJitLink.so: without a GPU and without a new program for each call; compiles like `ptxas -c`
 *              (functions keep their calling convention) and then links: its figures can differ from the program's
 *   ptxas      the program that nvcc runs: the whole program at once
 *
 * Each is looked for in this order, and the first that can assemble a trivial kernel for the wanted architecture is
 * taken: the environment variable PTXOPT_CUDA_DRIVER, PTXOPT_NVJITLINK or PTXOPT_PTXAS (a file; then nothing else is
 * tried); third_party/cuda in the folder of the running program or up to three folders above it (bin/ptxas,
 * lib/libnvJitLink.so.13: where tools/deps.sh puts them); what the loader or $PATH finds; $CUDA_HOME, $CUDA_PATH,
 * /usr/local/cuda.
 *
 * An assembler can crash or hang on its input.  All three run in child processes under a time limit, so that neither
 * reaches the caller: the outcome says what happened and the next call works.  The two libraries live in one worker
 * process for each Assembler, started again after it died. */
#ifndef PTXOPT_ASSEMBLER_H
#define PTXOPT_ASSEMBLER_H

#include "machine/machine.h"
#include "support/support.h"

/* ---- Opening ---------------------------------------------------------------------------------------------------- */

typedef enum AssemblerKind { ASSEMBLER_AUTO, ASSEMBLER_DRIVER, ASSEMBLER_NVJITLINK, ASSEMBLER_PTXAS } AssemblerKind;

/* "auto", "driver", "nvjitlink", "ptxas": as the command line says them. */
const char *assembler_kind_word(AssemblerKind kind);
bool assembler_kind_parse(const char *word, AssemblerKind *kind);

typedef struct Assembler Assembler;

/* Finds and starts a back end that can assemble for 'arch' ("sm_90"; one that is older than sm_75 stands for sm_75).
 * ASSEMBLER_AUTO takes the first that works of: the driver, if there is a GPU of that architecture; nvJitLink; ptxas.
 * The Assembler lives in 'arena' and has to be closed.  NULL if none works: *error (in the arena, lines without a
 * newline at the end) says what was tried, what was wrong with each and what to do. */
Assembler *assembler_open(Arena *arena, AssemblerKind kind, const char *arch, const char **error);
/* Ends the worker process; NULL is allowed. */
void assembler_close(Assembler *assembler);

AssemblerKind assembler_kind(const Assembler *assembler); /* never ASSEMBLER_AUTO */
const char *assembler_name(const Assembler *assembler);    /* "CUDA driver", "nvJitLink", "ptxas" */
const char *assembler_version(const Assembler *assembler); /* "13.0.88"; "unknown" if it does not say */
const char *assembler_path(const Assembler *assembler);    /* the file, or the name that the loader was given */
Arch assembler_arch(const Assembler *assembler);
/* Why something that is installed, or that an environment variable names, was passed over; NULL if nothing was. */
const char *assembler_note(const Assembler *assembler);

/* ---- Assembling ------------------------------------------------------------------------------------------------- */

#define ASSEMBLY_TIMEOUT_MS 120000 /* the time limit where the request has none */

typedef struct AssemblyRequest {
    const char *ptx;
    size_t size;         /* bytes of PTX; a NUL after the last one is not needed */
    const char *arch;    /* "sm_90a"; NULL: what the assembler was opened for.  The driver takes its GPU's alone */
    int max_registers;   /* for each thread; 0: no cap.  As -maxrregcount: raised to 24, and without effect on a kernel
                            that has .maxntid, .reqntid or .maxnreg */
    int opt_level;       /* 0..3 */
    bool want_cubin;     /* false: the cubin is made and measured, but not kept */
    bool syntax_only;    /* only whether the PTX is accepted: neither cubin nor resources.  ptxas parses and checks;
                            the others have no such mode and assemble without optimization */
    unsigned timeout_ms; /* 0: ASSEMBLY_TIMEOUT_MS */
} AssemblyRequest;

/* A request with the defaults: the assembler's architecture, no cap, -O3, no cubin kept. */
AssemblyRequest assembly_request(const char *ptx, size_t size);

typedef enum AssemblyFailure {
    ASSEMBLY_DONE,
    ASSEMBLY_REJECTED,    /* the assembler found the PTX wrong; its words are in the log */
    ASSEMBLY_CRASHED,     /* it died of a signal */
    ASSEMBLY_TIMED_OUT,   /* it was stopped at the time limit */
    ASSEMBLY_UNREADABLE,  /* it ended well, but left no cubin or said nothing that can be understood */
    ASSEMBLY_UNAVAILABLE, /* it cannot be started (any more), or not for this architecture */
} AssemblyFailure;

/* "rejected", "crashed" ... */
const char *assembly_failure_word(AssemblyFailure failure);

/* What one kernel or function costs.  Registers, stack, barriers, shared and constant bytes are the cubin's own
 * figures, spills the log's (`ptxas -v`).  A function that was compiled into its callers has a stack frame, spills
 * and code of its own, but no registers: those count for the kernel. */
typedef struct Resources {
    const char *name;
    bool is_entry;
    unsigned registers;        /* 32-bit, for each thread, as allocated before rounding */
    unsigned barriers;         /* hardware barriers (bar.sync 0 is one); 0 before CUDA 12.5, which does not tell */
    uint64_t spill_stores;     /* bytes of spill instructions in the code, not executions */
    uint64_t spill_loads;
    uint64_t stack;            /* bytes of local memory for each thread, with those of callees where they are known */
    uint64_t shared;           /* static bytes for each block, without the system's own 1,024 of sm_80 and later */
    uint64_t constant;         /* bytes of the kernel's own constant banks, parameters included */
    uint64_t code_size;        /* bytes of SASS */
    uint64_t instructions;     /* SASS instructions (16 bytes each), the padding at the end left out */
} Resources;

typedef struct Assembly {
    AssemblyFailure failure;
    const char *message;  /* one line that says why; NULL when done */
    unsigned error_line;  /* the PTX line of the first error, from 1; 0 if not known */
    const char *log;      /* what the assembler said; never NULL; cut beyond 1 MiB */
    bool relocatable;     /* the PTX uses functions or variables of other modules, so ptxas made relocatable code, as
                             nvcc -rdc=true does; the others reject such PTX */
    const void *cubin;    /* NULL unless wanted and done */
    size_t cubin_size;
    Resources *resources; /* kernels in the order of the cubin, then functions */
    size_t resource_count;
    double seconds;       /* wall time */
} Assembly;

/* Assembles once.  True when done; everything in *result lives in 'arena' and is set either way. */
bool assembler_run(Assembler *assembler, Arena *arena, const AssemblyRequest *request, Assembly *result);

/* The record of a kernel or function, or NULL. */
const Resources *assembly_find(const Assembly *assembly, const char *name);

#endif
