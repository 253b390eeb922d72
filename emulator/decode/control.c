/* Branches, calls and exits. */
#include "emulator/decode/decode.h"

bool decode_bra(Decoder *d)
{
    const Inst *inst = d->inst;
    uint32_t at = (uint32_t)d->code->ops.count;
    if (inst->target_count != 1)
        return decoder_refuse(d, "%s", inst_spelling(d->arena, inst));
    if (d->guard == NO_ROW) {
        decoder_emit(d, run_jump);
    } else {
        Op *op = decoder_emit(d, run_branch);
        op->branch.fall = at + 1;
        if (d->code->is_entry && bitset_has(&d->agreements, inst->block->id))
            op->branch.agreement = ++d->code->agreement_count;
        decoder_fixup(d, at, d->postdominators[inst->block->id], FIXUP_RECONVERGENCE);
    }
    decoder_fixup(d, at, inst->targets[0]->id, FIXUP_TARGET);
    return true;
}

bool decode_brx(Decoder *d)
{
    const Inst *inst = d->inst;
    uint32_t index = decoder_source(d, &inst->operands[0], TYPE_U32);
    if (index == NO_ROW)
        return false;
    uint32_t guard = decoder_guard_open(d);
    uint32_t at = (uint32_t)d->code->ops.count;
    Op *op = decoder_emit(d, run_table_branch);
    op->sources[0] = index;
    op->source_count = 1;
    op->table.count = inst->target_count;
    op->table.targets = ARENA_ARRAY(d->arena, uint32_t, inst->target_count);
    for (unsigned i = 0; i < inst->target_count; i++)
        decoder_fixup(d, at, inst->targets[i]->id, FIXUP_TABLE + i);
    decoder_fixup(d, at, d->postdominators[inst->block->id], FIXUP_RECONVERGENCE);
    decoder_guard_close(d, guard);
    return true;
}

/* ret and exit; a guarded one is a branch to the end. */
static bool emit_end(Decoder *d, bool exits)
{
    uint32_t at = (uint32_t)d->code->ops.count;
    if (d->guard != NO_ROW && (!exits || d->code->is_entry)) {
        Op *op = decoder_emit(d, run_branch);
        op->branch.fall = at + 1;
        op->branch.target = op->branch.reconvergence = PC_EXIT;
        return true;
    }
    uint32_t guard = decoder_guard_open(d);
    decoder_emit(d, exits ? run_exit : run_return);
    decoder_guard_close(d, guard);
    return true;
}

static bool call_value(Decoder *d, const Operand *operand, bool result, const Variable *formal, struct CallCopy *copy)
{
    *copy = (struct CallCopy){.source = NO_ROW, .size = formal ? variable_bytes(formal) : 0};
    if (operand->kind == OPERAND_SINK) {
        copy->size = 0;
        return true;
    }
    if (formal && formal->is_array && !variable_bytes(formal))
        return decoder_refuse(d, "a call with a variable number of arguments");
    if (operand->kind == OPERAND_SYMBOL && operand->symbol.kind == SYMBOL_VARIABLE) {
        if (!copy->size)
            copy->size = variable_bytes(operand->symbol.variable);
        return place_find(&d->code->locals, operand->symbol.variable, &copy->local) ||
               decoder_refuse(d, "the argument %s", operand->symbol.variable->name);
    }
    if (operand->kind == OPERAND_REG) {
        unsigned bytes;
        copy->source = decoder_register(d, operand, &bytes);
        if (!result)
            copy->source = SOURCE(BANK_FRAME, copy->source);
        copy->bytes = bytes;
    } else if (!result) {
        Type type = formal ? formal->type : TYPE_B64;
        copy->source = decoder_source(d, operand, type);
        copy->bytes = type_row_bytes(type);
        if (copy->source == NO_ROW)
            return false;
    } else {
        return decoder_refuse(d, "%s", inst_spelling(d->arena, d->inst));
    }
    if (!copy->size || copy->size > copy->bytes)
        copy->size = copy->bytes ? copy->bytes : 1; /* a predicate is a byte in the frame */
    return true;
}

static bool call_values(Decoder *d, const Operand *list, bool result, Variable *const *formals, unsigned formal_count,
                        struct CallCopy **copies, unsigned *count)
{
    *count = list ? list->item_count : 0;
    *copies = ARENA_ARRAY(d->arena, struct CallCopy, *count);
    for (unsigned i = 0; i < *count; i++)
        if (!call_value(d, &list->items[i], result, i < formal_count ? formals[i] : NULL, &(*copies)[i]))
            return false;
    return true;
}

/* The last operand of an indirect call: a prototype, a list of targets, or a variable that holds targets. */
static const Prototype *table_prototype(const Operand *operand)
{
    if (!operand || operand->kind != OPERAND_SYMBOL)
        return NULL;
    if (operand->symbol.kind == SYMBOL_TABLE) {
        const Table *table = operand->symbol.table;
        return table->kind == TABLE_CALL_PROTOTYPE ? &table->prototype
               : table->count                      ? &table->functions[0]->prototype
                                                   : NULL;
    }
    if (operand->symbol.kind != SYMBOL_VARIABLE)
        return NULL;
    const Variable *variable = operand->symbol.variable;
    for (unsigned i = 0; i < variable->init_count; i++)
        if (variable->inits[i].kind == INIT_SYMBOL && variable->inits[i].symbol.kind == SYMBOL_FUNCTION)
            return &variable->inits[i].symbol.function->prototype;
    return NULL;
}

/* call (results), target, (arguments), table */
bool decode_call(Decoder *d)
{
    const Inst *inst = d->inst;
    const Operand *operand = inst->operands, *end = operand + inst->operand_count;
    const Operand *results = operand < end && operand->kind == OPERAND_LIST ? operand++ : NULL;
    const Operand *target = operand < end ? operand++ : NULL;
    const Operand *arguments = operand < end && operand->kind == OPERAND_LIST ? operand++ : NULL;
    const Operand *table = operand < end ? operand : NULL;
    if (!target)
        return decoder_refuse(d, "%s", inst_spelling(d->arena, inst));
    CallOp *call = ARENA_NEW(d->arena, CallOp);
    bool direct = target->kind == OPERAND_SYMBOL && target->symbol.kind == SYMBOL_FUNCTION;
    if (direct) {
        call->callee = function_resolve(d->emulator, target->symbol.function);
        call->prototype = &target->symbol.function->prototype;
    } else {
        call->target = decoder_source(d, target, TYPE_U64);
        if (call->target == NO_ROW)
            return false;
        call->prototype = table_prototype(table);
        if (!call->prototype)
            return decoder_refuse(d, "a call without a prototype");
    }
    bool builtin = direct && !code_get(d->emulator, call->callee);
    if (builtin && !is_builtin(call->callee))
        return decoder_refuse(d, "a call of %s, which has no body", call->callee->name);
    if (!call_values(d, results, true, call->prototype->returns, call->prototype->return_count, &call->results,
                     &call->result_count) ||
        !call_values(d, arguments, false, call->prototype->params, call->prototype->param_count, &call->arguments,
                     &call->argument_count))
        return false;
    uint32_t guard = decoder_guard_open(d);
    decoder_emit(d, builtin ? run_builtin : run_call)->call = call;
    if (!builtin) {
        decoder_emit(d, run_call_results)->call = call;
        /* Lanes that called different functions meet here: see run_call. */
        if (!direct)
            decoder_emit(d, run_reconverge);
    }
    decoder_guard_close(d, guard);
    return true;
}

bool decode_ret(Decoder *d)
{
    return emit_end(d, false);
}

bool decode_exit(Decoder *d)
{
    return emit_end(d, true);
}

bool decode_trap(Decoder *d)
{
    decoder_emit(d, run_trap);
    return true;
}

bool decode_nanosleep(Decoder *d)
{
    decoder_emit(d, run_yield);
    return true;
}
