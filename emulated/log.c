/* The log of a program: $PTXOPT_EMULATED_LOG names the file, to which lines are added (docs/launching.md). Child
 * processes add to it as well. */
#include "emulated/log.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

static FILE *file;

bool log_open(void)
{
    const char *path = file ? NULL : getenv("PTXOPT_EMULATED_LOG");
    if (!path || !*path)
        return true;
    file = fopen(path, "ae");
    if (!file)
        perror("PTXOPT_EMULATED_LOG");
    log_add("device");
    return file != NULL;
}

bool log_is_open(void)
{
    return file != NULL;
}

void log_add(const char *format, ...)
{
    va_list arguments;
    if (!file)
        return;
    va_start(arguments, format);
    vfprintf(file, format, arguments);
    va_end(arguments);
    fputc('\n', file);
    fflush(file);
}
