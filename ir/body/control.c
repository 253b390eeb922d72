/* The places to which an instruction passes control, by its opcode. */
#include "ir/ir.h"

bool inst_is_branch(const Inst *inst)
{
    Opcode op = inst_op(inst);
    return op == OP_BRA || op == OP_BRX;
}

bool inst_is_terminator(const Inst *inst)
{
    Opcode op = inst_op(inst);
    return op == OP_BRA || op == OP_BRX || op == OP_RET || op == OP_EXIT;
}

bool inst_is_call(const Inst *inst)
{
    return inst_op(inst) == OP_CALL;
}

bool inst_falls_through(const Inst *inst)
{
    return inst_is_guarded(inst) || !inst_is_terminator(inst);
}
