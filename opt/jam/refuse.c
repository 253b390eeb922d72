/* Refusals: why iterations of a loop cannot be executed side by side. */
#include "opt/jam/internal.h"

bool jam_refuse(Jam *jam, const Inst *inst, RefusalReason reason)
{
    return jam_refuse_with(jam, inst, reason, NULL);
}

bool jam_refuse_with(Jam *jam, const Inst *inst, RefusalReason reason, const RefusalOperand *operands)
{
    refusal_set(jam->refusal, jam->body, inst, reason, operands);
    return false;
}
