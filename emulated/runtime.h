/* What the files of the emulated runtime share. */
#ifndef PTXOPT_EMULATED_RUNTIME_H
#define PTXOPT_EMULATED_RUNTIME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "abi/abi.h"

#ifndef RUNTIME_VERSION
#define RUNTIME_VERSION 13000
#endif

/* cudaError_t */
enum {
    DONE = 0,
    INVALID_VALUE = 1,
    NO_MEMORY = 2,
    INVALID_CONFIGURATION = 9,
    NO_FUNCTION = 98,
    NO_DEVICE = 100,
    ASSERTED = 710,
    LAUNCH_FAILED = 719,
    TOO_LARGE = 720
};

typedef struct Kernel {
    void **binary;
    const char *host, *name;
    void *function; /* NULL: not asked for yet */
    struct Kernel *next;
} Kernel;

/* The driver. */
typedef struct Driver {
    int (*init)(unsigned flags);
    int (*load)(void **module, const void *image);
    int (*function)(void **function, void *module, const char *name);
    int (*global)(uint64_t *address, size_t *size, void *module, const char *name);
    int (*alloc)(uint64_t *address, size_t size);
    int (*release)(uint64_t address);
    int (*copy_in)(uint64_t to, const void *from, size_t size);
    int (*copy_out)(void *to, uint64_t from, size_t size);
    int (*copy_within)(uint64_t to, uint64_t from, size_t size, void *stream);
    int (*fill)(uint64_t to, unsigned char value, size_t size, void *stream);
    int (*launch)(void *function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x, unsigned block_y,
                  unsigned block_z, unsigned shared, void *stream, void **parameters, void **extra);
    int (*launch_cooperative)(void *function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x,
                              unsigned block_y, unsigned block_z, unsigned shared, void *stream, void **parameters);
    int (*launch_ex)(const DriverConfig *config, void *function, void **parameters, void **extra);
    int (*attribute)(int *value, int attribute, void *function);
    int (*set_attribute)(void *function, int attribute, int value);
    int (*occupancy)(int *blocks, void *function, int threads, size_t shared, unsigned flags);
    int (*available_shared)(size_t *shared, void *function, int blocks, int threads);
    int (*clusters)(int *clusters, void *function, const DriverConfig *config);
    int (*cluster_size)(int *size, void *function, const DriverConfig *config);
    int (*device_attribute)(int *value, int attribute, int device);
    int (*library_load)(void **library, const void *image, void *options, void *values, unsigned count,
                        void *library_options, void *library_values, unsigned library_count);
    int (*library_unload)(void *library);
    int (*library_kernel)(void **kernel, void *library, const char *name);
    int (*library_count)(unsigned *count, void *library);
    int (*library_kernels)(void **kernels, unsigned count, void *library);
    int (*stream_create)(void **stream, unsigned flags);
    int (*stream_destroy)(void *stream);
    int (*capture_begin)(void *stream, int mode);
    int (*capture_end)(void *stream, void **graph);
    int (*graph_create)(void **graph, unsigned flags);
    int (*graph_add)(void **node, void *graph, void *const *needs, size_t count, const KernelNode *parameters);
    int (*graph_add_any)(void **node, void *graph, void *const *needs, const void *edges, size_t count, AnyNode *any);
    int (*graph_get)(void *node, KernelNode *parameters);
    int (*graph_set)(void *node, const KernelNode *parameters);
    int (*graph_instantiate)(void **instance, void *graph, unsigned long long flags);
    int (*graph_set_instance)(void *instance, void *node, const KernelNode *parameters);
    int (*graph_update)(void *instance, void *graph, void *result);
    int (*graph_launch)(void *instance, void *stream);
    int (*event_create)(void **event, unsigned flags);
    int (*event_destroy)(void *event);
    int (*event_record)(void *event, void *stream);
    int (*event_elapsed)(float *milliseconds, void *start, void *end);
} Driver;

extern Driver driver;
extern Kernel *kernels; /* that host code has registered */

/* Opens the driver if need be: DONE or NO_DEVICE. */
int ready(void);
/* The error, which is remembered. */
int fail(int error);
/* The driver's function for a host function, or for the handle of a kernel, which it is itself. */
int function_of(void **function, const void *host);

#endif
