#include "opt/passes.h"

bool pass_ssa(PassContext *context)
{
    body_to_ssa(context->body);
    return true;
}
