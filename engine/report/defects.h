/* Words for code that the assembler is known to get wrong. */
#ifndef PTXOPT_ENGINE_REPORT_DEFECTS_H
#define PTXOPT_ENGINE_REPORT_DEFECTS_H

#include <jansson.h>

#include "engine/report/report.h"

/* Lines of the report; none if there is no such code. */
void defects_print(const Report *report, const KernelReport *kernel, Buf *out);
json_t *defects_json(const Report *report, const KernelReport *kernel);
/* Warns of code that was not rewritten; 'assembler' is its name and version. */
void defects_warn(Diag *diag, const KernelResult *result, const char *assembler);

#endif
