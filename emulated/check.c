/* The checks of kernels that have names. */
#include <stdio.h>
#include <stdlib.h>

#include "emulated/driver.h"

EmulatorOptions checks;

bool checks_open(void)
{
    const char *text = getenv("PTXOPT_EMULATED_CHECK");
    if (!text || !*text || emulator_read_checks(text, &checks))
        return true;
    fprintf(stderr, "PTXOPT_EMULATED_CHECK: '%s' is not " EMULATOR_CHECKS "\n", text);
    return false;
}
