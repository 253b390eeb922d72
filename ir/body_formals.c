/* Parameters and results in registers: ".func (.reg .u32 %r) f(.reg .u32 %a)".
 *
 * The header of a function stays as it is, so these registers keep their names and cannot be renamed like others.  In
 * the body form nothing but copies names them: parameters are copied to registers of the body at the entry, and
 * results from such registers before each return.  In these copies the formal is a symbol (OPERAND_SYMBOL of a
 * variable in SPACE_REG) and no register: what is read of a parameter is the same wherever it is read. */
#include "ir/internal.h"

#include <string.h>



static bool has_registers(Variable *const *variables, unsigned count)
{
    for (unsigned i = 0; i < count; i++)
        if (variables[i]->space == SPACE_REG)
            return true;
    return false;
}

static const char *copy_spelling(const Variable *formal)
{
    static const char *const scalars[] = {"mov.b16", "mov.b32", "mov.b64", "mov.b128"};
    static const char *const pairs[] = {"mov.v2.b16", "mov.v2.b32", "mov.v2.b64"};
    static const char *const fours[] = {"mov.v4.b16", "mov.v4.b32", "mov.v4.b64"};
    unsigned bits = type_bits(formal->type), width = bits == 16 ? 0 : bits == 32 ? 1 : bits == 64 ? 2 : 3;
    if (formal->type == TYPE_PRED)
        return "mov.pred";
    if (bits == 8)
        return "cvt.u8.u8";
    return formal->vector == 4 ? fours[width] : formal->vector == 2 ? pairs[width] : scalars[width];
}

static bool names_whole(const Inst *inst, const Operand *operand, RegId reg)
{
    return operand->kind == OPERAND_REG && !operand->selector && !operand->constant &&
           inst->refs[operand->ref].reg == reg;
}

/* The operand that is the formal, in a copy to or from it as this file makes them; NULL if it is none. */
static Operand *formal_operand(const Inst *inst, const Variable *formal, bool is_result)
{
    Buf spelling = {0};
    signature_print(inst->signature, &spelling);
    bool same = strcmp(buf_text(&spelling), copy_spelling(formal)) == 0;
    buf_free(&spelling);
    if (!same || !inst->form || inst->operand_count != 2)
        return NULL;
    Operand *operand = &inst->operands[is_result ? 0 : 1], *other = &inst->operands[is_result ? 1 : 0];
    if (!names_whole(inst, operand, formal->reg) || names_whole(inst, other, formal->reg) ||
        other->kind != (formal->vector > 1 ? OPERAND_VECTOR : OPERAND_REG))
        return NULL;
    for (unsigned i = 0; i < inst->ref_count; i++)
        if (i != operand->ref && inst->refs[i].reg == formal->reg)
            return NULL;
    return operand;
}

static const Variable *formal_copied(const Function *function, const Inst *inst, bool *is_result)
{
    const Prototype *prototype = &function->prototype;
    for (unsigned i = 0; i < prototype->param_count + prototype->return_count; i++) {
        *is_result = i >= prototype->param_count;
        const Variable *formal = *is_result ? prototype->returns[i - prototype->param_count] : prototype->params[i];
        if (formal->space == SPACE_REG && formal->reg != REG_NONE && formal_operand(inst, formal, *is_result))
            return formal;
    }
    return NULL;
}

const char *formals_find(Formals *formals, const Function *function, Arena *scratch)
{
    const Prototype *prototype = &function->prototype;
    bool params = has_registers(prototype->params, prototype->param_count);
    formals->has_results = has_registers(prototype->returns, prototype->return_count);
    if (!params && !formals->has_results)
        return NULL;
    formals->used = bitset_new(scratch, function->regs.count);
    formals->copied = bitset_new(scratch, function->regs.count);
    BitSet otherwise = bitset_new(scratch, function->regs.count);
    for (size_t i = 0; i < function->stmts.count; i++) {
        if (function->stmts.data[i].kind != STMT_INST)
            continue;
        const Inst *inst = function->stmts.data[i].inst;
        bool is_result;
        const Variable *copied = formal_copied(function, inst, &is_result);
        for (unsigned j = 0; j < inst->ref_count; j++) {
            bitset_add(&formals->used, inst->refs[j].reg);
            if (!copied || inst->refs[j].reg != copied->reg)
                bitset_add(&otherwise, inst->refs[j].reg);
        }
    }
    formals->has_params = params;
    for (unsigned i = 0; i < prototype->param_count + prototype->return_count; i++) {
        const Variable *variable = i < prototype->param_count ? prototype->params[i]
                                                              : prototype->returns[i - prototype->param_count];
        if (variable->space != SPACE_REG || variable->reg == REG_NONE)
            continue;
        if (variable->vector > 1 && type_bits(variable->type) < 16)
            return "a vector register of 8-bit elements as a parameter or result";
        if (bitset_has(&formals->used, variable->reg) && !bitset_has(&otherwise, variable->reg))
            bitset_add(&formals->copied, variable->reg);
    }
    return NULL;
}

static void formal_name(Operand *operand, Variable *formal)
{
    *operand = (Operand){.kind = OPERAND_SYMBOL, .ref = REF_NONE, .span = operand->span};
    operand->symbol = (Symbol){.kind = SYMBOL_VARIABLE, .variable = formal};
}

/* Nobody in the body reads a result, and it counts where it is written. */
static void result_keep(Inst *inst)
{
    inst->effects &= ~(unsigned)EFFECT_PURE;
    inst->effects |= EFFECT_VOLATILE;
}

bool formals_rename(const Formals *formals, Body *body, Inst *inst)
{
    bool is_result;
    if (!formals->has_params && !formals->has_results)
        return false;
    const Variable *formal = formal_copied(body->function, inst, &is_result);
    if (!formal || !bitset_has(&formals->copied, formal->reg))
        return false;
    uint16_t dropped = formal_operand(inst, formal, is_result)->ref;
    Operand *operands = ARENA_ARRAY(body->module->arena, Operand, 2); /* clones of the body share them */
    memcpy(operands, inst->operands, 2 * sizeof *operands);
    inst->operands = operands;
    formal_name(&operands[is_result ? 0 : 1], (Variable *)formal);
    Operand *other = &operands[is_result ? 1 : 0];
    if (other->kind == OPERAND_VECTOR) {
        Operand *items = ARENA_ARRAY(body->module->arena, Operand, other->item_count);
        memcpy(items, other->items, other->item_count * sizeof *items);
        other->items = items;
    }
    for (unsigned i = 0; i < (other->kind == OPERAND_VECTOR ? other->item_count : 1u); i++) {
        Operand *item = other->kind == OPERAND_VECTOR ? &other->items[i] : other;
        if (item->kind == OPERAND_REG && item->ref > dropped)
            item->ref--;
    }
    memmove(inst->refs + dropped, inst->refs + dropped + 1, (inst->ref_count - dropped - 1u) * sizeof *inst->refs);
    inst->ref_count--;
    if (inst->guard != REF_NONE)
        inst->guard--;
    if (is_result)
        result_keep(inst);
    return true;
}

/* The copy between the formal and the registers of the body that stand for it. */
static void formal_copy(Body *body, const Elements *elements, Block *block, Variable *formal, bool is_result)
{
    RegId regs[4];
    unsigned count = formal->vector > 1 ? formal->vector : 1;
    for (unsigned e = 0; e < count; e++)
        regs[e] = elements_register(elements, formal->reg, e);
    Inst *inst = inst_build_copy(body, copy_spelling(formal), regs, count);
    formal_name(&inst->operands[is_result ? 0 : 1], formal);
    if (is_result) {
        Operand *source = &inst->operands[1];
        for (unsigned e = 0; e < count; e++) {
            inst->refs[e] = inst->refs[count + e];
            (count > 1 ? &source->items[e] : source)->ref = (uint16_t)e;
        }
        result_keep(inst);
    }
    inst->ref_count = (uint16_t)count;
    inst_append(block, inst);
}

static bool is_kept(const Formals *formals, const Variable *formal)
{
    return formal->space == SPACE_REG && formal->reg != REG_NONE && bitset_has(&formals->used, formal->reg) &&
           !bitset_has(&formals->copied, formal->reg);
}

void formals_enter(const Formals *formals, Body *body, const Elements *elements, Block *block)
{
    const Prototype *prototype = &body->function->prototype;
    for (unsigned i = 0; formals->has_params && i < prototype->param_count; i++) {
        Variable *formal = prototype->params[i];
        if (is_kept(formals, formal))
            formal_copy(body, elements, block, formal, false);
    }
}

void formals_leave(const Formals *formals, Body *body, const Elements *elements, Block *block)
{
    const Prototype *prototype = &body->function->prototype;
    for (unsigned i = 0; formals->has_results && i < prototype->return_count; i++) {
        Variable *formal = prototype->returns[i];
        if (is_kept(formals, formal))
            formal_copy(body, elements, block, formal, true);
    }
}
