/* runtime: the adapters of launches in running programs. Nothing here is part of ptxopt itself.
 *
 * ptxopt-launch.h  the rule, for programs that launch kernels themselves
 * contracts.c      the contracts of loaded kernels, and counts of launches
 * halving.c        which of several forms is the fastest, by their times, which compare.c compares
 * learned.c        the store of what was learned (store/), as the adapters use it
 * tune.c           the forms that -tune leaves beside a kernel: launches take turns over them, and are timed; with
 *                  tuned_forms.c, shapes.c and events.c
 * link_adapter.c   in each object that ptxopt-nvcc compiles, by embed.awk, or linked into programs: takes the place of
 *                  the launch functions of the CUDA runtime
 * preload.c        preloaded: wraps those of the driver; with loads.c and jit.c, also those that load PTX */
#ifndef PTXOPT_RUNTIME_H
#define PTXOPT_RUNTIME_H

#include <stdbool.h>

#include "abi/abi.h"
#include "runtime/ptxopt-launch.h"

/* The known facts about one kernel, found once and then only read. A coarsened kernel has two forms, and the program's
 * kernel is one of them: the coarsened one (its contract is __ptxopt_launch_KERNEL, the original
 * KERNEL__ptxopt_original, if it was kept), or the original (__ptxopt_beside_KERNEL and KERNEL__ptxopt_coarsened). */
typedef struct Contract {
    char *kernel;
    bool is_coarsened;  /* it has a contract */
    bool is_beside;     /* the program's kernel is the original */
    uint32_t words[PTXOPT_CONTRACT_WORDS];
    uint32_t pays[PTXOPT_PAYS_WORDS]; /* zeros: whatever the grid */
    uint32_t trips[PTXOPT_TRIPS_WORDS]; /* zeros: whatever the parameters */
    void *other;        /* the driver's handle of the other form; or NULL */
    bool is_of_library; /* 'other' is a kernel of a library, not a function of a module */
    const struct Driver *driver;
    struct Tuning *tuning; /* tune.c; NULL: there are no forms to choose from */
    void *function;     /* the coarsened form, if its dynamic shared memory grows: as 'other' */
    size_t most_shared; /* the most that has been requested */
    unsigned long adapted, originals; /* launches */
    struct Contract *next;
} Contract;

/* CUstreamCaptureMode: calls that could disturb a capture, of any thread, are not refused, because they do not. */
enum { CAPTURE_RELAXED = 2 };

#define DRIVER_OF_RUNTIME

/* The functions that are needed of the driver, from the library that the program has loaded. */
typedef struct Driver {
#define DRIVER_FUNCTION(name, symbol, parameters, is_optional) int (*name) parameters;
#include "abi/driver.def"
} Driver;

/* 'find' gives the driver's own function of a name, or NULL. */
void driver_load(Driver *driver, void *(*find)(const char *name));

/* Reads the contract of a kernel in a loaded module or, if there is none, library. */
Contract *contract_read(const Driver *driver, void *module, void *library, const char *kernel);
/* The contract of the kernel's form that is 'other': itself, or one of those to choose from; NULL: none is. */
const Contract *contract_with(const Contract *contract, const void *other);
bool contract_same(const Contract *one, const Contract *other);
/* Keeps the contract from now on, and makes its launches part of the report. */
void contract_keep(Contract *contract);
void contract_free(Contract *contract);

/* Decides about one launch, adapts its grid, block and bytes of dynamic shared memory, and counts it. Returns the
 * contract of the form that is to be launched, its 'other', or NULL: the program's own kernel. A launch that the
 * contract forbids ends the program with a message, unless the original kernel was kept. 'contract' may be NULL:
 * nothing is known, as for a kernel that was not coarsened. 'parameters' are those of the launch, as cuLaunchKernel
 * takes them, or NULL: not known. */
Contract *launch_decide(Contract *contract, unsigned grid[3], unsigned block[3], unsigned *shared,
                        void *const *parameters);
/* The same for a launch whose blocks must all be on the device at once. */
Contract *launch_decide_resident(Contract *contract, unsigned grid[3], unsigned block[3], unsigned *shared,
                                 void *const *parameters);

typedef enum LaunchKind {
    LAUNCH_PLAIN,
    LAUNCH_SPECIAL,  /* it has attributes, and is not timed */
    LAUNCH_RESIDENT, /* all its blocks must be on the device at once; it is not timed */
} LaunchKind;
/* The kind of a launch with these attributes, cudaLaunchAttribute or CUlaunchAttribute. */
LaunchKind launch_kind(const void *attributes, unsigned count);

/* The driver's handle for the default stream, 0, of a launch function, or the stream itself. The default stream is
 * another one in functions that end in _ptsz. */
enum { LEGACY_STREAM = 1, THREAD_STREAM = 2 };
static inline void *driver_stream(void *stream, uintptr_t default_stream)
{
    return stream ? stream : (void *)default_stream; // NOLINT: a constant of the CUDA API
}

/* A launch that may be timed: launch_begin decides about it as launch_decide does, and launch_end, with the launch's
 * error, follows it in the same thread. */
typedef struct Timing {
    struct Shape *shape; /* tune.c; NULL: it is not timed */
    unsigned arm;
    void *events[2], *stream;
    unsigned long long context; /* a number that is not used again once the context is gone */
} Timing;
Contract *launch_begin(Contract *contract, unsigned grid[3], unsigned block[3], unsigned *shared,
                       void *const *parameters, void *stream, LaunchKind kind, Timing *timing);
void launch_end(Contract *contract, Timing *timing, int error);
/* The handle to launch: that of such a contract's form; NULL: the program's own kernel. */
static inline void *launched_form(const Contract *form)
{
    return form ? form->other : NULL;
}
/* Computes the launch of the original kernel from that of a node of a graph. 'other': the node's kernel, if it is the
 * other form. */
void launch_before(const Contract *contract, const void *other, unsigned grid[3], unsigned block[3], unsigned *shared);

/* A node as a program gives it; 'has_kernel': with the end that only newer versions have. */
KernelNode node_copy(const KernelNode *given, bool has_kernel);
/* Makes the node launch the other form. */
void node_set_other(const Driver *driver, const Contract *contract, KernelNode *node, bool has_kernel);
/* Sets an attribute, which the program has set for its kernel, for the other form too. A device below 0: the current
 * one. */
int other_set(const Driver *driver, const Contract *contract, int attribute, int value, int device);

/* tune.c, tuned_forms.c */

/* The fixed numbers of a launch of the original, which its best form may depend on. */
typedef struct LaunchShape {
    unsigned grid[3], block[3];
    size_t shared;
} LaunchShape;

/* Reads the forms to choose from; leaves the contract as it is if there are none, or the user wants no choice
 * ($PTXOPT_TUNE). The form that is predicted to be the fastest becomes the contract's own. */
void tuning_read(Contract *contract, void *module, void *library);
void tuning_free(struct Tuning *tuning);
/* The contract of a form, from 1 to the number of forms; NULL beyond. */
Contract *tuning_form(const struct Tuning *tuning, unsigned number);
/* True if launches take the first form that pays, going by what the build has predicted. */
bool tuning_is_preferred(const Contract *contract);
/* The next form after *number, from 0, that pays in such a launch and allows it, with its launch in *adapted; NULL:
 * none. */
Contract *tuning_preferred(const Contract *contract, unsigned *number, const LaunchShape *launch,
                           LaunchShape *adapted, unsigned multiprocessors, void *const *parameters);
/* The form that is known to be the fastest for such launches, 0 for the original, with its launch in *adapted; -1: none
 * is known yet. */
int tuning_known(Contract *contract, const LaunchShape *launch, LaunchShape *adapted);
/* The same, or else the form whose turn it is, with its timing begun. */
int tuning_turn(Contract *contract, const LaunchShape *launch, LaunchShape *adapted, void *stream, Timing *timing);
/* Takes a form out, because such a launch of it is not possible. */
void tuning_drop(Contract *contract, Timing *timing, const LaunchShape *launch, unsigned number);
void tuning_end(Contract *contract, Timing *timing, int error);
/* Reports what is known about the kernel's launches. */
void tuning_print(const Contract *contract, FILE *out);

/* learned.c: what other runs have learned, and what this one has */

/* The best form of a kernel in launches of one shape. */
typedef struct Learned {
    const char *form;     /* the chosen one: "" for the original */
    unsigned launches;    /* of it that were timed */
    double milliseconds, variance;
    double original;      /* milliseconds; 0: unknown */
} Learned;

/* Looks up what the store has for the device. It is read once, and not waited for. False: nothing. */
bool learned_find(const Driver *driver, int device, uint64_t hash, const LaunchShape *launch, Learned *learned);
/* Notes the times of one form, for the store: it is written when the program ends, and before by a thread of its own
 * when there is much to write. 'kernel' and 'form' must stay. */
void learned_note(const Driver *driver, int device, uint64_t hash, const LaunchShape *launch, const char *kernel,
                  const char *form, bool is_chosen, unsigned launches, double milliseconds, double variance);
/* Notes a block that the kernel is launched with, so that the next build can know it. */
void learned_note_block(const Driver *driver, int device, uint64_t hash, const unsigned block[3], const char *kernel);

/* contracts.c, for tune.c */
/* Reads a kernel's contract under a name; without one, *form launches like the original. False: no such kernel. */
bool form_read(const Driver *driver, void *module, void *library, const char *name, Contract *form);
/* Reads a variable PREFIX KERNEL of any size, for the caller to free; NULL: there is none. */
void *variable_read(const Driver *driver, void *module, void *library, const char *prefix, const char *kernel,
                    size_t *size);
/* Changes the launch to that of the form. False if the contract forbids it. */
bool form_adapt(const Contract *form, LaunchShape *launch);

/* Queries are about the kernel that such a launch would run: the other form, or NULL: the program's own, with the
 * launch that this needs. For some queries, only the number of threads and the shared memory ('shared' may be NULL) are
 * known. */
void *query_launch(const Contract *contract, unsigned grid[3], unsigned block[3], unsigned *shared);
void *query_threads(const Contract *contract, int *threads, size_t *shared);
/* Converts the dynamic shared memory of a form (the program's own, or 'other') to the original's. */
size_t shared_before(const Contract *contract, const void *other, size_t shared);
/* The same for the program's own kernel, and back: the shared memory, and the threads, in proportion. */
size_t shared_after(const Contract *contract, size_t shared);
int threads_after(const Contract *contract, int threads);
int threads_before(const Contract *contract, int threads);

#endif
