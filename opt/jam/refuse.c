/* Refusals: why iterations of a loop cannot be executed side by side. */
#include "opt/jam/internal.h"

bool jam_refuse(Jam *jam, const Inst *inst, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    refusal_set(jam->refusal, jam->body, inst, format, arguments);
    va_end(arguments);
    return false;
}
