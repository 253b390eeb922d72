/* runtime: what adapts launches in running programs. Nothing here is part of ptxopt itself.
 *
 * ptxopt-launch.h  the rule, for programs that launch kernels themselves
 * contracts.c      the contracts of loaded kernels, and counts of launches
 * link_adapter.c   linked into programs by ptxopt-nvcc: wraps the launch functions of the CUDA runtime
 * preload.c        preloaded: wraps those of the driver */
#ifndef PTXOPT_RUNTIME_H
#define PTXOPT_RUNTIME_H

#include <stdbool.h>

#include "abi/abi.h"
#include "runtime/ptxopt-launch.h"

/* What is known of one kernel: found once, then only read. */
typedef struct Contract {
    char *kernel;
    bool is_coarsened;
    uint32_t words[PTXOPT_CONTRACT_WORDS];
    void *original; /* the driver's handle of the original kernel, if the module has kept it; or NULL */
    bool is_of_library; /* 'original' is a kernel of a library, not a function of a module */
    const struct Driver *driver;
    void *function;     /* the coarsened kernel itself, if its dynamic shared memory grows: as 'original' */
    size_t most_shared; /* that has been asked for */
    unsigned long adapted, originals; /* launches */
    struct Contract *next;
} Contract;

/* The functions of the driver that this needs: those of the library that the program has loaded. */
typedef struct Driver {
    int (*module_get_global)(uint64_t *address, size_t *size, void *module, const char *name);
    int (*module_get_function)(void **function, void *module, const char *name);
    int (*library_get_global)(uint64_t *address, size_t *size, void *library, const char *name);
    int (*library_get_kernel)(void **kernel, void *library, const char *name);
    int (*copy_out)(void *to, uint64_t from, size_t size);
    int (*exchange_capture_mode)(int *mode);
    int (*function_get_module)(void **module, void *function);
    int (*launch)(void *function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x, unsigned block_y,
                  unsigned block_z, unsigned shared, void *stream, void **parameters, void **extra);
    int (*launch_cooperative)(void *function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x,
                              unsigned block_y, unsigned block_z, unsigned shared, void *stream, void **parameters);
    int (*launch_ex)(const DriverConfig *config, void *function, void **parameters, void **extra);
    int (*graph_add)(void **node, void *graph, void *const *needs, size_t count, const KernelNode *parameters);
    int (*graph_get)(void *node, KernelNode *parameters);
    int (*graph_set)(void *node, const KernelNode *parameters);
    int (*graph_add_any)(void **node, void *graph, void *const *needs, const void *edges, size_t count, AnyNode *any);
    int (*graph_set_instance)(void *instance, void *node, const KernelNode *parameters);
    int (*function_name)(const char **name, void *function);
    int (*kernel_name)(const char **name, void *kernel);
    int (*kernel_library)(void **library, void *kernel);
    int (*kernel_count)(unsigned *count, void *library);
    int (*kernel_function)(void **function, void *kernel);
    int (*current_device)(int *device);
    int (*function_set)(void *function, int attribute, int value);
    int (*kernel_set)(int attribute, int value, void *kernel, int device);
    int (*occupancy)(int *blocks, void *function, int threads, size_t shared, unsigned flags);
    int (*available_shared)(size_t *shared, void *function, int blocks, int threads);
    int (*active_clusters)(int *clusters, void *function, const DriverConfig *config);
    int (*cluster_size)(int *size, void *function, const DriverConfig *config);
} Driver;

/* 'find' gives the driver's own function of a name, or NULL. */
void driver_load(Driver *driver, void *(*find)(const char *name));

/* Reads the contract of a kernel in a loaded module or, if there is none, library. */
Contract *contract_read(const Driver *driver, void *module, void *library, const char *kernel);
bool contract_same(const Contract *one, const Contract *other);
/* From now on its launches are part of the report, and it stays. */
void contract_keep(Contract *contract);
void contract_free(Contract *contract);

typedef enum Verdict { LAUNCH_AS_GIVEN, LAUNCH_ADAPTED, LAUNCH_ORIGINAL } Verdict;

/* Decides about one launch, adapts its grid, block and bytes of dynamic shared memory, and counts it. A launch that the
 * contract forbids ends the program with a message, unless there is the original kernel. 'contract' may be NULL:
 * nothing is known, as for a kernel that was not coarsened. */
Verdict launch_decide(Contract *contract, unsigned grid[3], unsigned block[3], unsigned *shared);
/* The launch of the original kernel, from the one that a node of a graph has. */
void launch_before(const Contract *contract, unsigned grid[3], unsigned block[3], unsigned *shared);

/* A node as a program gives it; 'has_kernel': with the end that only newer versions have. */
KernelNode node_copy(const KernelNode *given, bool has_kernel);
/* The node launches the original. */
void node_set_original(const Driver *driver, const Contract *contract, KernelNode *node, bool has_kernel);
/* What the program sets for the kernel holds for its original, too. A device below 0: the current one. */
int original_set(const Driver *driver, const Contract *contract, int attribute, int value, int device);

/* Queries are about the kernel that such a launch would run: the original, or NULL: the coarsened one, with the launch
 * that this needs. Of some, only the number of threads and the shared memory ('shared' may be NULL) are known. */
void *query_launch(const Contract *contract, unsigned grid[3], unsigned block[3], unsigned *shared);
void *query_threads(const Contract *contract, int *threads, size_t *shared);
/* The dynamic shared memory of the coarsened kernel, and of the original. */
size_t shared_after(const Contract *contract, size_t shared);
size_t shared_before(const Contract *contract, size_t shared);
/* In proportion. */
int threads_after(const Contract *contract, int threads);
int threads_before(const Contract *contract, int threads);

#endif
