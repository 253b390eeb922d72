/* The part of the report that is about the order of blocks. */
#ifndef PTXOPT_ENGINE_REPORT_ORDER_H
#define PTXOPT_ENGINE_REPORT_ORDER_H

#include <jansson.h>

#include "engine/report/report.h"

/* "groups:8", as -block-order takes it. */
void order_words_print(const GridOrder *order, Buf *out);
/* A line of the report's text; none if no order was asked for. */
void order_print(const Report *report, const KernelReport *kernel, Buf *out);
/* The same for the JSON report; the caller owns the value. */
json_t *order_json(const KernelReport *kernel);

#endif
