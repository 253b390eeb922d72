/* How the output was assembled: parts, limits, and the assembler's time for each kernel. */
#include <string.h>

#include "engine/report/assembling.h"

/* The entry of a kernel that took too long; NULL if it did not. */
static const SplitLate *late_of(const Report *report, const char *kernel)
{
    for (unsigned i = 0; report->split && i < report->split->late_count; i++) {
        const SplitLate *late = &report->split->late[i];
        if (!late->kernel || strcmp(late->kernel, kernel) == 0)
            return late;
    }
    return NULL;
}

void assembling_print(const Report *report, const KernelReport *kernel, Buf *out)
{
    const double before = kernel->before.assembly_ms, after = kernel->after.assembly_ms;
    if (!report->split || !(after > 0))
        return;
    buf_printf(out, "  assembled in %.0f ms", after);
    if (before > 0)
        buf_printf(out, ", the input's in %.0f ms", before);
    if (late_of(report, kernel->result.kernel->name))
        buf_printf(out, ", at -O%u, because it takes too long otherwise", report->late_level);
    buf_putc(out, '\n');
}

json_t *assembling_json(const Report *report)
{
    const SplitReport *split = report->split;
    json_t *late = json_array(), *value = json_object();
    for (unsigned i = 0; i < split->late_count; i++) {
        json_t *one = json_object();
        json_object_set_new(one, "kernel", json_text(split->late[i].kernel));
        json_object_set_new(one, "level", json_integer(report->late_level));
        json_object_set_new(one, "seconds", json_real(split->late[i].seconds));
        json_array_append_new(late, one);
    }
    json_object_set_new(value, "parts", json_integer(split->parts));
    json_object_set_new(value, "whole_because", json_text(split->whole));
    json_object_set_new(value, "late", late);
    return value;
}
