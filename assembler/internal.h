/* What the files of this folder share; nobody else includes it. */
#ifndef PTXOPT_ASSEMBLER_INTERNAL_H
#define PTXOPT_ASSEMBLER_INTERNAL_H

/* memmem(), memfd_create() and the like: this header comes first in every file of the folder. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif

#include <signal.h>
#include <sys/types.h>

#include "assembler/assembler.h"

/* ---- One run of a back end, before its log and cubin are read --------------------------------------------------- */

typedef struct Outcome {
    AssemblyFailure failure;
    bool relocatable; /* made with `ptxas -c` */
    Buf message;      /* one line; empty when done */
    Buf log;          /* all that was said */
    Buf cubin;
    Buf attributes; /* driver: a line "REGISTERS STACK SHARED CONSTANT NAME" for each kernel of the loaded module */
} Outcome;

void outcome_free(Outcome *outcome);
void outcome_fail(Outcome *outcome, AssemblyFailure failure, const char *format, ...) PRINTF_LIKE(3, 4);

/* A request as a back end sees it: checked, with nothing left to default.  A NUL follows the text. */
typedef struct Job {
    const char *ptx;
    size_t size;
    Arch arch;
    unsigned max_registers;
    unsigned opt_level;
    bool syntax_only;
} Job;

/* ---- Where to look (locate.c) ----------------------------------------------------------------------------------- */

typedef VEC(const char *) PathVec;

typedef struct Candidates {
    const char *variable; /* the environment variable that named the only candidate; NULL if none did */
    PathVec paths;        /* files that exist, and bare names for the loader */
} Candidates;

/* kind is not ASSEMBLER_AUTO. */
Candidates locate(Arena *arena, AssemblerKind kind);

/* ---- Child processes (process.c) -------------------------------------------------------------------------------- */

/* Milliseconds of the monotonic clock. */
int64_t clock_ms(void);
/* The rest until 'deadline' for poll(): never below 0, never above 'most'. */
int poll_timeout(int64_t deadline, int most);

/* In a new child: dies with its parent, leaves no core file, treats fatal signals as a fresh process does. */
void child_prepare(pid_t parent);
/* waitpid() that interrupts do not end.  False if there is no such child. */
bool child_wait(pid_t pid, int *status);
/* "by signal 11 (Segmentation fault)", "with exit status 3". */
void ending_describe(Buf *text, int status);

/* While held, signals that would end this process are kept waiting, so that temporary files can be removed first. */
typedef struct SignalHold {
    sigset_t before;
    int fd; /* readable once such a signal waits; -1 if that could not be had */
} SignalHold;

void signals_hold(SignalHold *hold);
void signals_release(SignalHold *hold);

typedef enum ProcessEnd { PROCESS_ENDED, PROCESS_TIMED_OUT, PROCESS_INTERRUPTED, PROCESS_NOT_STARTED } ProcessEnd;

/* Runs a program in 'directory' (NULL: here) with both outputs appended to *output, at most 16 MiB of it.  At the
 * limit, or when it ended, its whole process group is killed.  *status is that of waitpid(), or errno where it was
 * not started. */
ProcessEnd process_run(const char *const *arguments, const char *directory, unsigned timeout_ms, const SignalHold *hold,
                       Buf *output, int *status);

/* ---- Worker processes (worker.c) -------------------------------------------------------------------------------- */

/* A library that assembles, as the worker process sees it.  Nothing here is called in the parent. */
typedef struct Engine {
    /* Opens the library.  NULL, with a message, if it cannot be used; otherwise the version is written. */
    void *(*load)(const char *path, Arch arch, Buf *version, Buf *message);
    void (*assemble)(void *state, const Job *job, Outcome *outcome);
} Engine;

typedef struct Worker Worker;

/* Forks; the child opens the library at once.  NULL, with *message in the arena, if that fails. */
Worker *worker_start(Arena *arena, const Engine *engine, const char *path, Arch arch, const char **version,
                     const char **message);
/* Starts the child again if it is gone. */
void worker_run(Worker *worker, const Job *job, unsigned timeout_ms, Outcome *outcome);
void worker_stop(Worker *worker);

extern const Engine nvjitlink_engine; /* nvjitlink.c */
extern const Engine driver_engine;    /* driver.c */

/* ---- ptxas (ptxas.c) -------------------------------------------------------------------------------------------- */

/* NULL, with *message in the arena, if the file is not a ptxas that runs; otherwise its version. */
const char *ptxas_version(Arena *arena, const char *path, const char **message);
void ptxas_run(const char *path, const Job *job, unsigned timeout_ms, Outcome *outcome);

/* ---- Cubins (cubin.c) ------------------------------------------------------------------------------------------- */

#define CUBIN_UNKNOWN UINT64_MAX /* the cubin does not say */

typedef struct CubinFunction {
    const char *name;
    bool is_entry;
    bool is_inner; /* a copy of a function inside its caller's section; 'name' is the function's */
    uint64_t registers, stack, barriers, shared, constant; /* CUBIN_UNKNOWN where not said */
    uint64_t code_size, instructions;
} CubinFunction;

typedef struct Cubin {
    CubinFunction *functions;
    size_t count;
} Cubin;

/* Reads an ELF file that may hold anything.  NULL when done, else what is wrong with it.  Names point into 'bytes'. */
const char *cubin_read(Arena *arena, const void *bytes, size_t size, Cubin *cubin);

/* ---- The figures (resources.c) ---------------------------------------------------------------------------------- */

/* Puts the log, the cubin and the driver's attributes together.  NULL when every kernel's figures are known, else
 * what is missing.  'arch' is in the table of architectures. */
const char *resources_read(Arena *arena, Arch arch, const char *log, const char *attributes, const Cubin *cubin,
                           Assembly *result);
/* The first line that reports an error, without the newline, in the arena; NULL if there is none.  *line is its PTX
 * line. */
const char *log_first_error(Arena *arena, const char *log, unsigned *line);

#endif
