/* The reason why parts cannot be merged. */
#include <stdarg.h>

#include "split/internal.h"

void merge_fail(Merge *merge, const char *format, ...)
{
    if (merge->problem)
        return;
    Buf text = {0};
    va_list arguments;
    va_start(arguments, format);
    buf_vprintf(&text, format, arguments);
    va_end(arguments);
    merge->problem = buf_take(merge->arena, &text);
}
