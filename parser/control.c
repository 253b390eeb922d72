/* The checks of calls and branches that the instruction table cannot express: whether a call agrees with its target,
 * and whether a branch has a label as its target. */
#include "parser/internal.h"

static bool fail(Parser *parser, Span span, const char *message)
{
    diag_error(parser->diag, span, "%s", message);
    return false;
}

static bool argument_has_type(Type type, const Constant *constant)
{
    TypeClass class = type_class(type);
    if (constant->kind == CONSTANT_INT)
        return class != CLASS_FLOAT;
    return class == CLASS_FLOAT || type == TYPE_B32 || type == TYPE_B64;
}

/* ptxas compares size and alignment, not the kind of type. */
static bool check_argument(Parser *parser, const Operand *argument, const Variable *formal, const RegRef *refs)
{
    uint64_t bytes = 0, align = 0;
    uint64_t wanted = variable_bytes(formal);
    bool is_array = formal->dim_count > 0;
    switch (argument->kind) {
    case OPERAND_REG: {
        const Reg *reg = &parser->function->regs.data[refs[argument->ref].reg];
        if (argument->constant || argument->negated || argument->inverted || argument->selector)
            return fail(parser, argument->span,
                        "an argument that is a register cannot have a sign, an offset or a selector");
        if (reg->type == TYPE_PRED || formal->type == TYPE_PRED) {
            if (reg->type != formal->type)
                return fail(parser, argument->span, "a predicate can be passed only to a predicate parameter");
            return true;
        }
        bytes = type_bits(reg->type) / 8 * reg->vector;
        align = bytes;
        break;
    }
    case OPERAND_CONSTANT:
        if (is_array || !argument_has_type(formal->type, argument->constant))
            return fail(parser, argument->span, "this constant does not fit the parameter's type");
        return true;
    case OPERAND_SYMBOL:
        if (argument->symbol.kind != SYMBOL_VARIABLE || argument->constant)
            return fail(parser, argument->span, "an argument must be a register, a constant or a .param variable");
        if (argument->symbol.variable->space != SPACE_PARAM)
            return fail(parser, argument->span, "an argument that is a variable must be in .param space");
        bytes = variable_bytes(argument->symbol.variable);
        align = parameter_alignment(argument->symbol.variable);
        break;
    case OPERAND_SINK: return true;
    default: return fail(parser, argument->span, "an argument must be a register, a constant or a .param variable");
    }
    if (is_array && formal->dims[0] == 0) /* variable arguments */
        return true;
    if (bytes != wanted) {
        diag_error(parser->diag, argument->span, "this argument has %llu byte%s, the parameter%s%s has %llu",
                   (unsigned long long)bytes, plural(bytes), formal->name ? " " : "", formal->name ? formal->name : "",
                   (unsigned long long)wanted);
        return false;
    }
    if (is_array && align < parameter_alignment(formal)) {
        diag_error(parser->diag, argument->span, "this argument is aligned to %llu byte%s, the parameter to %llu",
                   (unsigned long long)align, plural(align), (unsigned long long)parameter_alignment(formal));
        return false;
    }
    return true;
}

static bool check_list(Parser *parser, const Inst *inst, const Operand *list, Variable *const *formals, unsigned count,
                       const char *what, Span span)
{
    unsigned given = list ? list->item_count : 0;
    bool open = count > 0 && formals[count - 1]->dim_count > 0 && formals[count - 1]->dims[0] == 0;
    if (given != count && !(open && given + 1 == count)) {
        diag_error(parser->diag, list ? list->span : span, "%u %s%s given, %u expected", given, what,
                   given == 1 ? "" : "s", count);
        return false;
    }
    for (unsigned i = 0; i < given; i++) {
        if (!check_argument(parser, &list->items[i], formals[i], inst->refs))
            return false;
    }
    return true;
}

static bool check_prototype(Parser *parser, const Inst *inst, const Operand *returns, const Operand *params,
                            const Prototype *prototype)
{
    return check_list(parser, inst, returns, prototype->returns, prototype->return_count, "return value",
                      parser->inst.opcode_span) &&
           check_list(parser, inst, params, prototype->params, prototype->param_count, "argument",
                      parser->inst.opcode_span);
}

static bool is_list(const Operand *operand)
{
    return operand->kind == OPERAND_LIST;
}

static bool check_target(Parser *parser, const Inst *inst, const Operand *returns, const Operand *params,
                         const Function *function, Span span)
{
    if (function == NULL) /* reported at the table */
        return false;
    if (function->is_entry)
        return fail(parser, span, "an entry cannot be called");
    return check_prototype(parser, inst, returns, params, &function->prototype);
}

/* The targets can be the functions whose addresses an array contains. */
static bool check_variable_targets(Parser *parser, const Inst *inst, const Operand *returns, const Operand *params,
                                   const Operand *table)
{
    const Variable *variable = table->symbol.variable;
    bool any = false;
    for (unsigned i = 0; i < variable->init_count; i++) {
        const Init *init = &variable->inits[i];
        if (init->kind != INIT_SYMBOL || init->symbol.kind != SYMBOL_FUNCTION)
            continue;
        any = true;
        if (!check_target(parser, inst, returns, params, init->symbol.function, table->span))
            return false;
    }
    return any || fail(parser, table->span, "this variable does not contain addresses of functions");
}

/* call [(returns),] target [, (params)] [, table]; without a table the target is the name of a function. */
static bool check_call(Parser *parser, const Inst *inst)
{
    static const char usage[] = "the form of a call is 'call (RESULTS), FUNCTION, (ARGUMENTS)'";
    if (inst->operand_count == 0)
        return fail(parser, parser->inst.opcode_span, usage);
    const Operand *operand = inst->operands, *end = operand + inst->operand_count;
    const Operand *returns = operand < end && is_list(operand) ? operand++ : NULL;
    const Operand *target = operand < end ? operand++ : NULL;
    const Operand *params = operand < end && is_list(operand) ? operand++ : NULL;
    const Operand *table = operand < end ? operand++ : NULL;
    if (target == NULL || operand < end)
        return fail(parser, parser->inst.opcode_span, usage);
    if (target->kind == OPERAND_SYMBOL && target->symbol.kind == SYMBOL_FUNCTION && target->constant == NULL) {
        const Function *function = target->symbol.function;
        if (function->is_entry)
            return fail(parser, target->span, "an entry cannot be called");
        if (table)
            return fail(parser, table->span,
                        "only a call through a register can have a list of targets or a prototype");
        return check_prototype(parser, inst, returns, params, &function->prototype);
    }
    if (target->kind != OPERAND_REG || target->constant || target->selector)
        return fail(parser, target->span, "the target of a call must be a function or a register");
    if (table == NULL)
        return fail(parser, target->span,
                    "a call through a register needs a list of targets or a prototype as its last operand");
    if (table->kind == OPERAND_SYMBOL && table->symbol.kind == SYMBOL_VARIABLE)
        return check_variable_targets(parser, inst, returns, params, table);
    if (table->kind != OPERAND_SYMBOL || table->symbol.kind != SYMBOL_TABLE ||
        table->symbol.table->kind == TABLE_BRANCH_TARGETS)
        return fail(parser, table->span, "this is neither a .calltargets nor a .callprototype");
    const Table *targets = table->symbol.table;
    if (targets->kind == TABLE_CALL_PROTOTYPE)
        return check_prototype(parser, inst, returns, params, &targets->prototype);
    for (unsigned i = 0; i < targets->count; i++) {
        if (!check_target(parser, inst, returns, params, targets->functions[i], table->span))
            return false;
    }
    return true;
}

static bool check_branch(Parser *parser, const Inst *inst)
{
    if (inst->operand_count != 1)
        return fail(parser, parser->inst.opcode_span, "a branch needs one operand, a label");
    const Operand *target = &inst->operands[0];
    if (target->kind != OPERAND_SYMBOL || target->symbol.kind != SYMBOL_LABEL || target->constant)
        return fail(parser, target->span, "the target of a branch must be a label");
    return true;
}

static bool check_indexed_branch(Parser *parser, const Inst *inst)
{
    if (inst->operand_count != 2)
        return fail(parser, parser->inst.opcode_span, "'brx.idx' needs two operands, an index and a table");
    const Operand *target = &inst->operands[1];
    if (target->kind != OPERAND_SYMBOL || target->constant || target->symbol.kind != SYMBOL_TABLE ||
        target->symbol.table->kind != TABLE_BRANCH_TARGETS)
        return fail(parser, target->span, "the table of a 'brx.idx' must be a .branchtargets that precedes it");
    return true;
}

/* A guarded access to a variable that stages a call's parameter would leave it undefined. */
static bool check_staging(Parser *parser, const Inst *inst)
{
    for (unsigned i = 0; i < inst->operand_count; i++) {
        const Operand *operand = &inst->operands[i];
        if (operand->kind != OPERAND_ADDRESS || operand->items[0].kind != OPERAND_SYMBOL)
            continue;
        const Variable *variable = operand->items[0].symbol.variable;
        if (variable->space == SPACE_PARAM && !variable->is_parameter)
            return fail(parser, parser->inst.guard_span, "an access to a parameter of a call cannot be guarded");
    }
    return true;
}

/* All instructions of a function work on one block, or all on pairs of blocks. */
static bool check_group(Parser *parser, const Inst *inst)
{
    int group = signature_has(inst->signature, MOD_CTA_GROUP_1)   ? 1
                : signature_has(inst->signature, MOD_CTA_GROUP_2) ? 2
                                                                  : 0;
    if (group && parser->body.cta_group && group != parser->body.cta_group) {
        diag_error(parser->diag, inst->span, "'.cta_group::%d' in a function that has used '.cta_group::%d'", group,
                   parser->body.cta_group);
        return false;
    }
    parser->body.cta_group = group ? group : parser->body.cta_group;
    return true;
}

bool control_check(Parser *parser, const Inst *inst)
{
    switch (parser->inst.signature->op) {
    case OP_CALL: return check_call(parser, inst);
    case OP_BRA: return check_branch(parser, inst);
    case OP_BRX: return check_indexed_branch(parser, inst);
    case OP_LD:
    case OP_ST: return inst->guard == REF_NONE || check_staging(parser, inst);
    case OP_TCGEN05: return check_group(parser, inst);
    default: return true;
    }
}
