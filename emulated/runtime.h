/* The interface between the files of the emulated runtime. */
#ifndef PTXOPT_EMULATED_RUNTIME_H
#define PTXOPT_EMULATED_RUNTIME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "abi/abi.h"
#include "emulated/driver_api.h"
#include "emulated/errors.h"

#ifndef RUNTIME_VERSION
#define RUNTIME_VERSION 13000
#endif

typedef struct Kernel {
    void **binary;
    const char *host, *name;
    void *function; /* NULL: not requested yet */
    struct Kernel *next;
} Kernel;

extern Kernel *kernels; /* those that host code has registered */

/* The driver's function of that name, from the driver, which is opened if necessary; without a driver, a function that
 * reports so and fails. */
#define DRIVER(name) ((__typeof__(&name))(uintptr_t)driver_function(#name))
void *driver_function(const char *name);
/* Opens the driver and makes its primary context the thread's if it has none: DONE or an error. */
int ready(void);
/* Remembers the error and returns it. */
int fail(int error);
/* The driver's function for a host function, or for the handle of a kernel, which it is itself. */
int function_of(void **function, const void *host);
/* Finds a variable: its address on the device, and its bytes ('size' may be NULL). */
int symbol_find(const void *host, uint64_t *address, size_t *size);

/* runtime_copy.c: the driver's form of a copy of the runtime */
int copy_of(const RuntimeCopy3D *copy, Copy3D *result);

/* The body of most functions: calls the driver's, once it is ready, and remembers its error. */
#define CALL(function, ...)                                                                                            \
    do {                                                                                                               \
        int error_ = ready();                                                                                          \
        return fail(error_ ? error_ : DRIVER(function)(__VA_ARGS__));                                                  \
    } while (0)

/* Another name of a function of this file. */
#define SAME(name, function) extern __typeof__(function) name __attribute__((alias(#function)))

#endif
