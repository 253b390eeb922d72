/* runtime: the adapters of launches in running programs. Nothing here is part of ptxopt itself.
 *
 * ptxopt-launch.h  the rule, for programs that launch kernels themselves
 * contracts.c      the contracts of loaded kernels, and counts of launches
 * link_adapter.c   in each object that ptxopt-nvcc compiles, by embed.awk, or linked into programs: takes the place of
 *                  the launch functions of the CUDA runtime
 * preload.c        preloaded: wraps those of the driver */
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
    void *other;        /* the driver's handle of the other form; or NULL */
    bool is_of_library; /* 'other' is a kernel of a library, not a function of a module */
    const struct Driver *driver;
    void *function;     /* the coarsened form, if its dynamic shared memory grows: as 'other' */
    size_t most_shared; /* the most that has been requested */
    unsigned long adapted, originals; /* launches */
    struct Contract *next;
} Contract;

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
bool contract_same(const Contract *one, const Contract *other);
/* Keeps the contract from now on, and makes its launches part of the report. */
void contract_keep(Contract *contract);
void contract_free(Contract *contract);

/* Decides about one launch, adapts its grid, block and bytes of dynamic shared memory, and counts it. Returns the
 * kernel's other form if that is to be launched, or NULL: the program's own. A launch that the contract forbids ends
 * the program with a message, unless the original kernel was kept. 'contract' may be NULL: nothing is known, as for a
 * kernel that was not coarsened. */
void *launch_decide(Contract *contract, unsigned grid[3], unsigned block[3], unsigned *shared);
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
