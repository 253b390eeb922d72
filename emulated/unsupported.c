/* The driver's functions that the emulator does not have: each reports so. */
#include <stdio.h>

#include "emulated/errors.h"

static int unsupported(const char *name)
{
    fprintf(stderr, "Emulated GPU: %s is not supported\n", name);
    return NOT_SUPPORTED;
}

#define UNSUPPORTED(name)                                                                                              \
    int name(void);                                                                                                    \
    int name(void)                                                                                                     \
    {                                                                                                                  \
        return unsupported(#name);                                                                                     \
    }
#include "emulated/unsupported_driver.def"
