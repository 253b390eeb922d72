/* Outcomes: the results of one run of a back end, before its log and cubin are read. */
#include "assembler/internal.h"

void outcome_free(Outcome *outcome)
{
    buf_free(&outcome->message);
    buf_free(&outcome->log);
    buf_free(&outcome->cubin);
    buf_free(&outcome->attributes);
}

void outcome_fail(Outcome *outcome, AssemblyFailure failure, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    outcome->failure = failure;
    buf_clear(&outcome->message);
    buf_vprintf(&outcome->message, format, arguments);
    va_end(arguments);
}
