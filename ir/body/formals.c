/* Parameters and results in registers: ".func (.reg .u32 %r) f(.reg .u32 %a)".
 *
 * The header of a function stays as it is, so these registers keep their names and cannot be renamed like others. In
 * the body form only copies use them: parameters are copied to body registers at the entry, and results are copied from
 * body registers before each return. In these copies the formal is a symbol (OPERAND_SYMBOL of a variable in
 * SPACE_REG), not a register: a parameter has the same value wherever it is read. Vector registers that calls pass are
 * such variables too, because an argument list cannot contain braces. Copies that are already in the source are
 * recognised. */
#include "ir/body/build.h"

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

/* True if the instruction is a copy of the kind that this file makes, and its operand 'side' is the variable. */
static bool is_copy(const Inst *inst, const Variable *variable, unsigned side)
{
    const Operand *operand = &inst->operands[side], *other = &inst->operands[1 - side];
    if (operand_plain_reg(inst, operand) != variable->reg ||
        other->kind != (variable->vector > 1 ? OPERAND_VECTOR : OPERAND_REG))
        return false;
    const RegVec *regs = &variable->function->regs;
    for (unsigned i = 0; i < inst->ref_count; i++)
        if (i != operand->ref && (inst->refs[i].reg == variable->reg || regs->data[inst->refs[i].reg].vector > 1))
            return false;
    for (unsigned i = 0; i < other->item_count; i++)
        if (other->items[i].kind != OPERAND_REG || other->items[i].selector)
            return false;
    Buf spelling = {0};
    signature_print(inst->signature, &spelling);
    bool same = strcmp(buf_text(&spelling), copy_spelling(variable)) == 0;
    buf_free(&spelling);
    return same;
}

/* The variable that an instruction copies, and which operand it is; NULL if the instruction is not such a copy. */
static Variable *variable_copied(const Formals *formals, const Inst *inst, unsigned *side)
{
    if (!formals->variables || !inst->form || inst->operand_count != 2)
        return NULL;
    for (*side = 0; *side < 2; ++*side) {
        RegId reg = operand_reg(inst, &inst->operands[*side]);
        if (reg == REG_NONE || !formals->variables[reg] || formals->wrong_side[reg] == *side + 1)
            continue;
        if (is_copy(inst, formals->variables[reg], *side))
            return formals->variables[reg];
    }
    return NULL;
}

static bool is_passed(const Inst *inst, RegId reg)
{
    for (unsigned i = 0; inst_is_call(inst) && i < inst->operand_count; i++)
        for (unsigned j = 0; inst->operands[i].kind == OPERAND_LIST && j < inst->operands[i].item_count; j++)
            if (operand_plain_reg(inst, &inst->operands[i].items[j]) == reg)
                return true;
    return false;
}

/* A vector register that a call passes becomes a variable in SPACE_REG. It is declared like a vector register, and
 * only the call and copies use it. */
static Variable *variable_make(const Function *function, RegId reg)
{
    Variable *variable = ARENA_NEW(function->module->arena, Variable); /* clones of the body share it */
    const Reg *declared = &function->regs.data[reg];
    variable->name = declared->name;
    variable->span = declared->span;
    variable->space = SPACE_REG;
    variable->type = declared->type;
    variable->vector = declared->vector;
    variable->function = (Function *)function;
    variable->reg = reg;
    variable->const_bank = -1;
    return variable;
}

static void variables_find(Formals *formals, const Function *function, Arena *scratch)
{
    const Prototype *prototype = &function->prototype;
    size_t count = function->regs.count;
    bool found = formals->has_params || formals->has_results;
    for (size_t i = 0; i < count && !found; i++)
        found = function->regs.data[i].vector > 1;
    if (!found)
        return;
    formals->variables = ARENA_ARRAY(scratch, Variable *, count);
    formals->wrong_side = ARENA_ARRAY(scratch, uint8_t, count);
    for (unsigned i = 0; i < prototype->param_count + prototype->return_count; i++) {
        bool is_result = i >= prototype->param_count;
        Variable *formal = is_result ? prototype->returns[i - prototype->param_count] : prototype->params[i];
        if (formal->space != SPACE_REG || formal->reg == REG_NONE)
            continue;
        formals->variables[formal->reg] = formal;
        formals->wrong_side[formal->reg] = is_result ? 2 : 1;
    }
    for (size_t i = 0; i < function->stmts.count; i++) {
        const Stmt *stmt = &function->stmts.data[i];
        for (unsigned j = 0; stmt->kind == STMT_INST && inst_is_call(stmt->inst) && j < stmt->inst->ref_count; j++) {
            RegId reg = stmt->inst->refs[j].reg;
            if (!formals->variables[reg] && function->regs.data[reg].vector > 1)
                formals->variables[reg] = variable_make(function, reg);
        }
    }
}

const char *formals_find(Formals *formals, const Function *function, Arena *scratch)
{
    const Prototype *prototype = &function->prototype;
    formals->has_params = has_registers(prototype->params, prototype->param_count);
    formals->has_results = has_registers(prototype->returns, prototype->return_count);
    variables_find(formals, function, scratch);
    if (!formals->variables)
        return NULL;
    formals->used = bitset_new(scratch, function->regs.count);
    formals->copied = bitset_new(scratch, function->regs.count);
    BitSet otherwise = bitset_new(scratch, function->regs.count);
    for (size_t i = 0; i < function->stmts.count; i++) {
        if (function->stmts.data[i].kind != STMT_INST)
            continue;
        const Inst *inst = function->stmts.data[i].inst;
        unsigned side;
        const Variable *copied = variable_copied(formals, inst, &side);
        for (unsigned j = 0; j < inst->ref_count; j++) {
            RegId reg = inst->refs[j].reg;
            bool is_formal = formals->wrong_side[reg];
            bitset_add(&formals->used, reg);
            if (!(copied && reg == copied->reg) && (is_formal || !formals->variables[reg] || !is_passed(inst, reg)))
                bitset_add(&otherwise, reg);
        }
    }
    for (size_t i = 0; i < function->regs.count; i++) {
        const Variable *variable = formals->variables[i];
        if (!variable || !bitset_has(&formals->used, i))
            continue;
        if (variable->vector > 1 && type_bits(variable->type) < 16)
            return "a vector register of 8-bit elements as a parameter or result";
        if (!bitset_has(&otherwise, i))
            bitset_add(&formals->copied, i);
    }
    return NULL;
}

static void formal_name(Operand *operand, Variable *formal)
{
    *operand = (Operand){.kind = OPERAND_SYMBOL, .ref = REF_NONE, .span = operand->span};
    operand->symbol = (Symbol){.kind = SYMBOL_VARIABLE, .variable = formal};
}

/* A write to a result or to a variable that a call passes must not move. */
static void result_keep(Inst *inst)
{
    inst->effects &= ~(unsigned)EFFECT_PURE;
    inst->effects |= EFFECT_VOLATILE;
}

bool formals_rename(const Formals *formals, Body *body, Inst *inst)
{
    unsigned side;
    Variable *variable = variable_copied(formals, inst, &side);
    if (!variable || !bitset_has(&formals->copied, variable->reg))
        return false;
    Operand *operands = ARENA_ARRAY(body->module->arena, Operand, 2); /* clones of the body share them */
    memcpy(operands, inst->operands, 2 * sizeof *operands);
    uint16_t dropped = operands[side].ref;
    inst->operands = operands;
    formal_name(&operands[side], variable);
    Operand *items = &operands[1 - side];
    unsigned count = 1;
    if (items->kind == OPERAND_VECTOR) {
        count = items->item_count;
        items = ARENA_ARRAY(body->module->arena, Operand, count);
        memcpy(items, operands[1 - side].items, count * sizeof *items);
        operands[1 - side].items = items;
    }
    for (unsigned i = 0; i < count; i++)
        if (items[i].ref > dropped)
            items[i].ref--;
    memmove(inst->refs + dropped, inst->refs + dropped + 1, (inst->ref_count - dropped - 1u) * sizeof *inst->refs);
    inst->ref_count--;
    if (inst_is_guarded(inst))
        inst->guard--;
    /* Only a parameter never changes. */
    if (formals->wrong_side[variable->reg] != 1)
        result_keep(inst);
    return true;
}

/* The copy between the formal and the body registers that replace it. */
static Inst *formal_copy(Body *body, const Elements *elements, Variable *formal, bool is_result)
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
    return inst;
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
            inst_append(block, formal_copy(body, elements, formal, false));
    }
}

void formals_leave(const Formals *formals, Body *body, const Elements *elements, Block *block)
{
    const Prototype *prototype = &body->function->prototype;
    for (unsigned i = 0; formals->has_results && i < prototype->return_count; i++) {
        Variable *formal = prototype->returns[i];
        if (is_kept(formals, formal))
            inst_append(block, formal_copy(body, elements, formal, true));
    }
}

static bool list_has_vector(const Elements *elements, const Inst *call, const Operand *list)
{
    for (unsigned i = 0; i < list->item_count; i++) {
        RegId reg = operand_reg(call, &list->items[i]);
        if (reg != REG_NONE && elements->parsed->data[reg].vector > 1)
            return true;
    }
    return false;
}

void call_vectors_replace(const Formals *formals, Body *body, const Elements *elements, Block *block, Inst *call,
                          InstVec *results)
{
    Arena *trees = body->module->arena;
    bool found = false;
    for (unsigned i = 0; formals->variables && i < call->operand_count; i++)
        found |= call->operands[i].kind == OPERAND_LIST && list_has_vector(elements, call, &call->operands[i]);
    if (!found)
        return;
    Operand *operands = ARENA_ARRAY(trees, Operand, call->operand_count);
    memcpy(operands, call->operands, call->operand_count * sizeof *operands);
    RegRef *refs = ARENA_ARRAY(body->arena, RegRef, call->ref_count);
    uint16_t count = 0;
    for (unsigned i = 0; i < call->operand_count; i++) {
        Operand *list = &operands[i], *items = list->kind == OPERAND_LIST ? NULL : list;
        unsigned item_count = items ? 1 : list->item_count;
        if (!items) {
            items = ARENA_ARRAY(trees, Operand, item_count);
            memcpy(items, list->items, item_count * sizeof *items);
            list->items = items;
        }
        for (unsigned j = 0; j < item_count; j++) {
            if (items[j].kind != OPERAND_REG)
                continue;
            RegRef ref = call->refs[items[j].ref];
            const Reg *reg = &elements->parsed->data[ref.reg];
            if (reg->vector <= 1) {
                items[j].ref = count;
                refs[count++] = ref;
                continue;
            }
            if (formals_is_copied(formals, ref.reg) && !formals->wrong_side[ref.reg]) {
                formal_name(&items[j], formals->variables[ref.reg]);
                continue;
            }
            Variable *variable = variable_make(body->function, ref.reg);
            variable->name = body_unique_name(body, variable->name);
            VEC_PUSH(body->arena, body->variables, variable);
            formal_name(&items[j], variable);
            Inst *copy = formal_copy(body, elements, variable, ref.role == REF_USE);
            result_keep(copy); /* the variable holds this call's argument or result */
            copy->span = call->span;
            copy->loc = call->loc;
            if (ref.role == REF_USE) {
                inst_append(block, copy);
                continue;
            }
            if (inst_is_guarded(call))
                inst_set_guard(body, copy, inst_predicate(call), call->guard_inverted);
            VEC_PUSH(body->arena, *results, copy);
        }
    }
    if (inst_is_guarded(call)) {
        refs[count] = call->refs[call->guard];
        call->guard = count++;
    }
    call->operands = operands;
    call->refs = refs;
    call->ref_count = count;
}
