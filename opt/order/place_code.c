/* Code that computes a thread's place. */
#include "opt/order/place_code.h"

RegId place_reg(const PlaceCode *code)
{
    return body_add_reg(code->body, TYPE_B32, intern(code->body->module->names, "%place"));
}

RegId place_put(const PlaceCode *code, RegId result, Inst *inst)
{
    inst_append(code->block, inst);
    return result;
}

RegId place_number(const PlaceCode *code, const char *op, RegId a, int64_t b)
{
    const RegId result = place_reg(code);
    return place_put(code, result, inst_build(code->body, op, "dri", result, a, b));
}

RegId place_regs(const PlaceCode *code, const char *op, RegId a, RegId b)
{
    const RegId result = place_reg(code);
    return place_put(code, result, inst_build(code->body, op, "drr", result, a, b));
}

RegId place_mad(const PlaceCode *code, RegId a, RegId b, RegId c)
{
    const RegId result = place_reg(code);
    return place_put(code, result, inst_build(code->body, "mad.lo.u32", "drrr", result, a, b, c));
}

RegId place_read(const PlaceCode *code, const char *sreg)
{
    const RegId result = place_reg(code);
    return place_put(code, result, inst_build(code->body, "mov.u32", "ds", result, sreg));
}

static RegId place_predicate(const PlaceCode *code)
{
    return body_add_reg(code->body, TYPE_PRED, intern(code->body->module->names, "%fits"));
}

RegId place_test(const PlaceCode *code, const char *op, RegId a, RegId b, RegId also)
{
    const RegId result = place_predicate(code);
    return place_put(code, result,
                     also == REG_NONE ? inst_build(code->body, op, "drr", result, a, b)
                                      : inst_build(code->body, op, "drrr", result, a, b, also));
}

RegId place_compare(const PlaceCode *code, const char *op, RegId a, int64_t b, RegId also)
{
    const RegId result = place_predicate(code);
    return place_put(code, result,
                     also == REG_NONE ? inst_build(code->body, op, "dri", result, a, b)
                                      : inst_build(code->body, op, "drir", result, a, b, also));
}

RegId place_choice(const PlaceCode *code, RegId a, RegId b, RegId first)
{
    const RegId result = place_reg(code);
    return place_put(code, result, inst_build(code->body, "selp.b32", "drrr", result, a, b, first));
}
