/* Shared by the files of the preloaded library: preload.c (launches), loads.c (modules that are loaded) and jit.c. */
#ifndef PTXOPT_RUNTIME_PRELOAD_H
#define PTXOPT_RUNTIME_PRELOAD_H

#include "runtime/runtime.h"

/* The program's own functions of these names are others. */
#pragma GCC visibility push(hidden)

/* preload.c */
/* The driver's own function, or NULL. */
void *driver_function(const char *name);
/* Those that adapters need. */
const Driver *preload_driver(void);

/* loads.c: the function that takes the place of this one of the driver; NULL: none does. */
void *loads_function(const char *name);

/* jit.c */
/* Puts PTX that a program loads through ptxopt, as $PTXOPT_JIT says: text that ends with a 0, for the caller to free.
 * NULL: the program's image is to be loaded, because it is not PTX, nothing is wanted, or ptxopt has failed, which
 * $PTXOPT_LAUNCH_REPORT makes known. At most 'most' bytes of the image are looked at; one without a limit ends with a 0
 * if it is text. */
char *jit_text(const Driver *driver, const void *image, size_t most);
/* The same for the image in a file. */
char *jit_text_of_file(const Driver *driver, const char *path);
/* Says that the driver does not take what ptxopt has made. */
void jit_refused(int error);

#pragma GCC visibility pop

/* Each function calls the driver's own of the same name. */
#define OWN(TYPE, NAME, ...)                                                                                           \
    static __typeof__(TYPE(*)(__VA_ARGS__)) real_##NAME(void)                                                          \
    {                                                                                                                  \
        static __typeof__(TYPE(*)(__VA_ARGS__)) found;                                                                 \
        if (!found)                                                                                                    \
            *(void **)&found = driver_function(#NAME);                                                                 \
        return found;                                                                                                  \
    }                                                                                                                  \
    TYPE NAME(__VA_ARGS__)

enum { NOT_FOUND = 500 };

#endif
