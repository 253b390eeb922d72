/* How the output was assembled: parts, limits, and the assembler's time for each kernel. */
#ifndef PTXOPT_ENGINE_REPORT_ASSEMBLING_H
#define PTXOPT_ENGINE_REPORT_ASSEMBLING_H

#include "engine/report/json.h"
#include "engine/report/report.h"

/* A line about a kernel, if the report is a full one, or the output was to be assembled in parts. */
void assembling_print(const Report *report, const KernelReport *kernel, Buf *out);
/* report->split, which must be there. */
json_t *assembling_json(const Report *report);

#endif
