/* The registers of a body. */
#include "ir/internal.h"

static RegId reg_push(Body *body, Reg reg)
{
    require(body->regs.count < REG_NONE);
    VEC_PUSH(body->arena, body->regs, reg);
    return (RegId)(body->regs.count - 1);
}

RegId body_add_reg(Body *body, Type type, Name base)
{
    Reg reg = {.name = body_unique_name(body, base), .type = type, .vector = 1, .origin = (RegId)body->regs.count};
    return reg_push(body, reg);
}

RegId body_clone_reg(Body *body, RegId reg)
{
    Reg copy = body->regs.data[reg];
    copy.name = body_unique_name(body, body->regs.data[copy.origin].name);
    return reg_push(body, copy);
}
