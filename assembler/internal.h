/* The interface between the files of this folder; no other folder includes it.
 *
 * The files in the order of their calls, each calling only those before it: outcome.c, process.c, cubin.c, resources.c;
 * worker.c; driver.c, nvjitlink.c and ptxas.c; backends.c; locate.c; nvdisasm.c; fetch.c; controls.c; assembler.c. */
#ifndef PTXOPT_ASSEMBLER_INTERNAL_H
#define PTXOPT_ASSEMBLER_INTERNAL_H

/* memmem(), memfd_create() and the like: this header comes first in every file of the folder. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif

#include <signal.h>
#include <sys/types.h>

#include "assembler/assembler.h"

/* outcome.c: one run of a back end, before its log and cubin are read. */

typedef struct Outcome {
    AssemblyFailure failure;
    bool relocatable; /* made with `ptxas -c` */
    Buf message;      /* one line; empty when done */
    Buf log;          /* everything that the assembler printed */
    Buf cubin;
    uint64_t peak;  /* the most memory that the process had resident, in bytes; 0: not known */
    Buf attributes; /* driver: a line "REGISTERS STACK SHARED CONSTANT NAME" for each kernel of the loaded module */
    AssemblerWaiting *waiting; /* or NULL */
    void *waiting_context;
} Outcome;

/* Must be called at least several times a second until the outcome is known. */
static inline void outcome_wait(const Outcome *outcome)
{
    if (outcome->waiting)
        outcome->waiting(outcome->waiting_context, false);
}

void outcome_free(Outcome *outcome);
void outcome_fail(Outcome *outcome, AssemblyFailure failure, const char *format, ...) PRINTF_LIKE(3, 4);

/* A request as a back end sees it: checked, with all defaults filled in. A NUL follows the text. */
typedef struct Job {
    const char *ptx;
    size_t size;
    Arch arch;
    unsigned max_registers;
    unsigned opt_level;
    bool syntax_only;
    bool line_info;
    bool many_cores;            /* for programs */
    const char *const *options; /* words for ptxas, ending with NULL; or NULL */
    int stop_fd; /* for programs: readable when the run should stop early, in place of the signals; -1: there is none */
} Job;

/* The number of words in a list of options; 0 if it is NULL. */
static inline size_t options_count(const char *const *options)
{
    size_t count = 0;
    while (options && options[count])
        count++;
    return count;
}

/* process.c: child processes. */

/* Milliseconds of the monotonic clock. */
int64_t clock_ms(void);
/* The time left until 'deadline', for poll(): at least 0, at most 'most'. */
int poll_timeout(int64_t deadline, int most);

/* In a new child: dies with its parent, leaves no core file, handles fatal signals as a fresh process does. */
void child_prepare(pid_t parent);
/* In a new child: lets it allocate 'limit' bytes beyond the 'used' ones. 0: no limit. */
void child_limit_memory(uint64_t used, uint64_t limit);
/* Bytes of memory that this process has for data. */
uint64_t memory_used(void);
/* The memory that an assembler may allocate, in bytes: $PTXOPT_ASSEMBLER_MEMORY, in MiB, or else half of the machine's
 * memory and at most 8 GiB. 0: no limit. False if the variable is not a number. */
bool memory_limit(uint64_t *limit);
/* waitpid(), continued after interrupts. False if there is no such child. *peak, unless NULL, is the most memory it had
 * resident, in bytes. */
bool child_wait(pid_t pid, int *status, uint64_t *peak);
/* "by signal 11 (Segmentation fault)", "with exit status 3". */
void ending_describe(Buf *text, int status);

/* While held, signals that would end this process stay pending, so that temporary files can be removed first. */
typedef struct SignalHold {
    sigset_t before;
    int fd; /* readable when such a signal is pending; -1 if it could not be created */
} SignalHold;

void signals_hold(SignalHold *hold);
void signals_release(SignalHold *hold);

typedef enum ProcessEnd { PROCESS_ENDED, PROCESS_TIMED_OUT, PROCESS_INTERRUPTED, PROCESS_NOT_STARTED } ProcessEnd;

/* Runs a program in 'directory' (NULL: here) and appends both its outputs to the outcome's log, at most 16 MiB. At the
 * time limit, or when the program has ended, its whole process group is killed. *status is that of waitpid(), or errno
 * if the program was not started. */
ProcessEnd process_run(const char *const *arguments, const char *directory, unsigned timeout_ms, const SignalHold *hold,
                       Outcome *outcome, int *status);

/* cubin.c: the facts in a cubin. */

#define CUBIN_UNKNOWN UINT64_MAX /* the cubin does not say */

typedef struct CubinFunction {
    const char *name;
    bool is_entry;
    bool is_inner; /* a copy of a function inside its caller's section; 'name' is the function's */
    uint64_t registers, stack, barriers, shared, constant; /* or CUBIN_UNKNOWN */
    uint64_t code_size, instructions;
    unsigned block[3]; /* the most threads that a block may have, or must have, along each axis; 0: the cubin does not
                        * say */
} CubinFunction;

typedef struct Cubin {
    CubinFunction *functions;
    size_t count;
} Cubin;

/* Reads an ELF file, which may contain anything. Returns NULL, or the error in it. Names point into 'bytes'. */
const char *cubin_read(Arena *arena, const void *bytes, size_t size, Cubin *cubin);

/* resources.c: the figures. */

/* Combines the log, the cubin and the driver's attributes. Returns NULL if every kernel's figures are known, else the
 * missing part. 'arch' is in the table of architectures. */
const char *resources_read(Arena *arena, Arch arch, const char *log, const char *attributes, const Cubin *cubin,
                           Assembly *result);
/* The first line that reports an error, without the newline, in the arena; NULL if there is none. *line is the PTX line
 * that it names. */
const char *log_first_error(Arena *arena, const char *log, unsigned *line);

/* worker.c: worker processes. */

/* A library that assembles, as the worker process sees it. Nothing here is called in the parent. */
typedef struct Engine {
    /* Opens the library and writes its version. NULL, with a message, if it cannot be used. */
    void *(*load)(const char *path, Arch arch, Buf *version, Buf *message);
    void (*assemble)(void *state, const Job *job, Outcome *outcome);
} Engine;

typedef struct Worker Worker;

/* Forks; the child opens the library at once. NULL, with *message in the arena, if that fails. */
Worker *worker_start(Arena *arena, const Engine *engine, const char *path, Arch arch, const char **version,
                     const char **message);
/* Restarts the child if it has ended. */
void worker_run(Worker *worker, const Job *job, unsigned timeout_ms, Outcome *outcome);
void worker_stop(Worker *worker);

/* backends.c: the table of back ends. */

/* A program that assembles, run once for each job. */
typedef struct Program {
    /* The program's version; NULL, with *message in the arena, if the file is not such a program. */
    const char *(*version)(Arena *arena, const char *path, const char **message);
    void (*run)(const char *path, const Job *job, unsigned timeout_ms, Outcome *outcome);
} Program;

typedef struct Backend {
    const char *word;           /* on the command line */
    const char *name;           /* in messages */
    const char *variable;       /* the environment variable that names its file */
    const char *const *folders; /* below a CUDA folder; ends with NULL */
    const char *const *files;   /* file names, newest first; ends with NULL */
    const char *other_file;     /* looked for last; or NULL */
    const Engine *engine;       /* a library; or NULL */
    const Program *program;     /* a program; or NULL */
} Backend;

const Backend *backend_of(AssemblerKind kind);

extern const Engine driver_engine;    /* driver.c */
extern const Engine nvjitlink_engine; /* nvjitlink.c */
extern const Program ptxas_program;   /* ptxas.c */

/* controls.c */

/* The words with the file of controls named absolutely, in the arena, and the word that names it, or NULL. *error:
 * NULL, or why the file cannot be read, or that there are two. */
const char *const *controls_resolve(Arena *arena, const char *const *words, const char **controls, const char **error);
/* NULL, or a message in the arena: this version of an assembler has no controls. */
const char *controls_too_old(Arena *arena, const char *name, const char *version);

/* assembler.c, for many.c */

/* The interval at which waiting callers are notified; also for worker.c. */
enum { WAITING_MS = 200 };

/* Notifies the callback, if any, that the caller waits for a run, or that one is done. */
void assembler_waits(const Assembler *assembler, bool done);
/* Another assembler of the same kind, for one run at a time in parallel with the first, until it is given back; NULL if
 * it cannot be started. */
Assembler *assembler_twin_take(Assembler *assembler);
void assembler_twin_give(Assembler *twin);
/* Makes signals that would end the process stay pending, which threads inherit, because temporary files must be removed
 * first. Each run of the assembler and of its twins sees a pending signal through the hold's file, and stops early.
 * Pairs of calls may be nested. */
void assembler_hold_signals(Assembler *assembler);
void assembler_release_signals(Assembler *assembler);

/* locate.c: the places of a back end's file. */

typedef VEC(const char *) PathVec;

typedef struct Candidates {
    const char *variable; /* the environment variable that named the only candidate; or NULL */
    PathVec paths;        /* files that exist, and bare names for the loader */
} Candidates;

/* True if an environment variable names the back end's file. */
bool backend_is_named(const Backend *backend);
/* 'sites' as for assembler_open_for(). */
Candidates locate(Arena *arena, const Backend *backend, const char *const *sites);

#endif
