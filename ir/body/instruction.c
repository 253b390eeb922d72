/* New instructions from a spelling and a list of operands. */
#include "ir/internal.h"

#include <string.h>

typedef struct Parts {
    Body *body;
    Arena *trees; /* operand trees outlive the body: clones share them */
    Operand *operand;
    RegRef *refs;
    uint16_t ref_count;
} Parts;

static void register_put(Parts *parts, Operand *operand, RegId reg)
{
    require(reg < parts->body->regs.count);
    operand->kind = OPERAND_REG;
    operand->ref = parts->ref_count;
    parts->refs[parts->ref_count++] = (RegRef){.reg = reg, .role = REF_USE, .partner = REF_NONE};
}

static Constant *constant_make(Arena *arena, ConstantKind kind, uint64_t bits)
{
    Constant *constant = ARENA_NEW(arena, Constant);
    constant->kind = kind;
    constant->bits = bits;
    return constant;
}

/* An address whose first item the caller sets. */
static Operand *address_put(const Parts *parts, int64_t offset)
{
    Operand *operand = parts->operand;
    operand->kind = OPERAND_ADDRESS;
    operand->item_count = 1;
    operand->items = ARENA_ARRAY(parts->trees, Operand, 1);
    if (offset)
        operand->constant = constant_make(parts->trees, CONSTANT_INT, (uint64_t)offset);
    return operand->items;
}

static void variable_put(Operand *operand, Variable *variable)
{
    operand->kind = OPERAND_SYMBOL;
    operand->symbol = (Symbol){.kind = SYMBOL_VARIABLE, .variable = variable};
}

static void special_put(Parts *parts, const char *name)
{
    parts->operand->kind = OPERAND_SREG;
    parts->operand->sreg = sreg_find(name);
    if (!parts->operand->sreg)
        bug("no special register %s", name);
}

static void constant_put(Parts *parts, ConstantKind kind, uint64_t bits)
{
    parts->operand->kind = OPERAND_CONSTANT;
    parts->operand->constant = constant_make(parts->trees, kind, bits);
}

static void bind(Body *body, Inst *inst, const char *spelling)
{
    /* Binding looks registers up in the function; here they are the body's. */
    Function view = *body->function;
    Diag diag;
    view.regs = body->regs;
    diag_init(&diag, NULL, stderr);
    if (!inst_bind(body->module, &view, inst, &diag) || inst_is_opaque(inst))
        bug("the table does not take the instruction %s", spelling);
}

void inst_bind_again(Body *body, Inst *inst)
{
    bind(body, inst, inst->signature->opcode);
}

Inst *inst_build(Body *body, const char *spelling, const char *operands, ...)
{
    size_t count = strlen(operands);
    require(count < REF_NONE);
    Inst *inst = ARENA_NEW(body->arena, Inst);
    Parts parts = {.body = body, .trees = body->module->arena, .refs = ARENA_ARRAY(body->arena, RegRef, count)};
    va_list arguments;
    inst->signature = signature_parse(body->module, spelling);
    inst->operands = ARENA_ARRAY(parts.trees, Operand, count);
    inst->operand_count = (uint16_t)count;
    inst->guard = REF_NONE;
    va_start(arguments, operands);
    for (size_t i = 0; i < count; i++) {
        parts.operand = &inst->operands[i];
        switch (operands[i]) {
        case 'd':
        case 'r': register_put(&parts, parts.operand, va_arg(arguments, RegId)); break;
        case '!':
            parts.operand->inverted = true;
            register_put(&parts, parts.operand, va_arg(arguments, RegId));
            break;
        case 'i': constant_put(&parts, CONSTANT_INT, (uint64_t)va_arg(arguments, int64_t)); break;
        case 'f': constant_put(&parts, CONSTANT_F32, va_arg(arguments, uint32_t)); break;
        case 'e': constant_put(&parts, CONSTANT_F64, va_arg(arguments, uint64_t)); break;
        case 's': special_put(&parts, va_arg(arguments, const char *)); break;
        case 'v': variable_put(parts.operand, va_arg(arguments, Variable *)); break;
        case 'a': {
            RegId base = va_arg(arguments, RegId);
            register_put(&parts, address_put(&parts, va_arg(arguments, int64_t)), base);
            break;
        }
        case 'p': {
            Variable *variable = va_arg(arguments, Variable *);
            variable_put(address_put(&parts, va_arg(arguments, int64_t)), variable);
            break;
        }
        default: bug("no operand letter %c", operands[i]);
        }
    }
    va_end(arguments);
    inst->refs = parts.refs;
    inst->ref_count = parts.ref_count;
    bind(body, inst, spelling);
    for (unsigned i = 0; i < inst->ref_count; i++) {
        inst->refs[i].partner = REF_NONE;
        require(!body->ssa || inst->refs[i].role != REF_BOTH);
    }
    return inst;
}

Inst *inst_build_copy(Body *body, const char *spelling, const RegId *regs, unsigned count)
{
    Arena *trees = body->module->arena;
    Inst *inst = ARENA_NEW(body->arena, Inst);
    Parts parts = {.body = body, .trees = trees, .refs = ARENA_ARRAY(body->arena, RegRef, 2 * count)};
    inst->signature = signature_parse(body->module, spelling);
    inst->operands = ARENA_ARRAY(trees, Operand, 2);
    inst->operand_count = 2;
    inst->guard = REF_NONE;
    for (unsigned i = 0; i < 2; i++) {
        Operand *operand = &inst->operands[i];
        if (count == 1) {
            register_put(&parts, operand, regs[0]);
            continue;
        }
        operand->kind = OPERAND_VECTOR;
        operand->ref = REF_NONE;
        operand->item_count = (uint16_t)count;
        operand->items = ARENA_ARRAY(trees, Operand, count);
        for (unsigned e = 0; e < count; e++)
            register_put(&parts, &operand->items[e], regs[e]);
    }
    inst->refs = parts.refs;
    inst->ref_count = parts.ref_count;
    bind(body, inst, spelling);
    return inst;
}

Inst *inst_build_vector(Body *body, const char *spelling, bool is_store, const RegId *regs, unsigned count, RegId base,
                        int64_t offset)
{
    Inst *inst = ARENA_NEW(body->arena, Inst);
    Parts parts = {.body = body, .trees = body->module->arena, .refs = ARENA_ARRAY(body->arena, RegRef, count + 1)};
    inst->signature = signature_parse(body->module, spelling);
    inst->operands = ARENA_ARRAY(parts.trees, Operand, 2);
    inst->operand_count = 2;
    inst->guard = REF_NONE;
    for (unsigned i = 0; i < 2; i++) {
        parts.operand = &inst->operands[i];
        if (is_store == (i == 0)) {
            register_put(&parts, address_put(&parts, offset), base);
            continue;
        }
        parts.operand->kind = OPERAND_VECTOR;
        parts.operand->item_count = (uint16_t)count;
        parts.operand->items = ARENA_ARRAY(parts.trees, Operand, count);
        for (unsigned e = 0; e < count; e++)
            register_put(&parts, &parts.operand->items[e], regs[e]);
    }
    inst->refs = parts.refs;
    inst->ref_count = parts.ref_count;
    bind(body, inst, spelling);
    for (unsigned i = 0; i < inst->ref_count; i++)
        inst->refs[i].partner = REF_NONE;
    return inst;
}

Inst *inst_build_call(Body *body, Function *callee, const RegId *arguments, unsigned count)
{
    Arena *trees = body->module->arena;
    Inst *inst = ARENA_NEW(body->arena, Inst);
    Parts parts = {.body = body, .trees = trees, .refs = ARENA_ARRAY(body->arena, RegRef, count)};
    inst->signature = signature_parse(body->module, "call.uni");
    inst->operands = ARENA_ARRAY(trees, Operand, 2);
    inst->operand_count = 2;
    inst->guard = REF_NONE;
    inst->operands[0] = (Operand){
        .kind = OPERAND_SYMBOL, .ref = REF_NONE, .symbol = {.kind = SYMBOL_FUNCTION, .function = callee}};
    inst->operands[1] = (Operand){.kind = OPERAND_LIST,
                                  .ref = REF_NONE,
                                  .items = ARENA_ARRAY(trees, Operand, count),
                                  .item_count = (uint16_t)count};
    for (unsigned i = 0; i < count; i++)
        register_put(&parts, &inst->operands[1].items[i], arguments[i]);
    inst->refs = parts.refs;
    inst->ref_count = parts.ref_count;
    bind(body, inst, "call.uni");
    for (unsigned i = 0; i < inst->ref_count; i++)
        inst->refs[i].partner = REF_NONE;
    return inst;
}

Inst *inst_build_branch(Body *body, Block *target, RegId predicate, bool inverted)
{
    Arena *trees = body->module->arena;
    Inst *inst = ARENA_NEW(body->arena, Inst);
    inst->signature = signature_parse(body->module, predicate == REG_NONE ? "bra.uni" : "bra");
    /* The text takes the label from the target; the operand only says that there is one. */
    Label *label = ARENA_NEW(trees, Label);
    label->name = intern(body->module->names, "$branch");
    inst->operands = ARENA_ARRAY(trees, Operand, 1);
    inst->operands->kind = OPERAND_SYMBOL;
    inst->operands->ref = REF_NONE;
    inst->operands->symbol = (Symbol){.kind = SYMBOL_LABEL, .label = label};
    inst->operand_count = 1;
    inst->guard = REF_NONE;
    inst->targets = ARENA_ARRAY(body->arena, Block *, 1);
    inst->targets[0] = target;
    inst->target_count = 1;
    bind(body, inst, "bra");
    if (predicate != REG_NONE)
        inst_set_guard(body, inst, predicate, inverted);
    return inst;
}

Inst *inst_build_conjunction(Body *body, RegId result, RegId condition, RegId predicate, bool inverted)
{
    if (condition == REG_NONE)
        return inst_build(body, inverted ? "not.pred" : "mov.pred", "dr", result, predicate);
    return inst_build(body, "and.pred", inverted ? "dr!" : "drr", result, condition, predicate);
}
