/* The reason why parts cannot be merged. */
#include <stdarg.h>

#include "split/internal.h"

void merge_fail(Merge *merge, const char *format, ...)
{
    if (merge->problem)
        return;
    va_list arguments;
    va_start(arguments, format);
    merge->problem = arena_vprintf(merge->arena, format, arguments);
    va_end(arguments);
}
