/* Branches, calls, barriers and what a warp does together. */
#include "emulator/decode/decode.h"

/* ---- Guards around what cannot be masked ------------------------------------------------------------------------ */

/* ---- Branches --------------------------------------------------------------------------------------------------- */

static bool decode_branch(Decoder *d)
{
    const Inst *inst = d->inst;
    uint32_t at = (uint32_t)d->code->ops.count;
    if (inst->target_count != 1)
        return decoder_refuse(d, "%s", inst_spelling(d->arena, inst));
    if (d->guard == NO_ROW) {
        decoder_emit(d, run_jump);
    } else {
        decoder_emit(d, run_branch)->branch.fall = at + 1;
        decoder_fixup(d, at, d->postdominators[inst->block->id], FIXUP_RECONVERGENCE);
    }
    decoder_fixup(d, at, inst->targets[0]->id, FIXUP_TARGET);
    return true;
}

static bool decode_table_branch(Decoder *d)
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
static bool decode_end(Decoder *d, bool exits)
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

/* ---- Calls ------------------------------------------------------------------------------------------------------ */

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

/* What an indirect call names: a prototype, a list of targets, or a variable that holds targets. */
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
static bool decode_call(Decoder *d)
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
        call->callee = function_resolve(d->machine, target->symbol.function);
        call->prototype = &target->symbol.function->prototype;
    } else {
        call->target = decoder_source(d, target, TYPE_U64);
        if (call->target == NO_ROW)
            return false;
        call->prototype = table_prototype(table);
        if (!call->prototype)
            return decoder_refuse(d, "a call without a prototype");
    }
    bool builtin = direct && !code_get(d->machine, call->callee);
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

bool decode_control(Decoder *d)
{
    switch (inst_op(d->inst)) {
    case OP_BRA: return decode_branch(d);
    case OP_BRX: return decode_table_branch(d);
    case OP_CALL: return decode_call(d);
    case OP_RET: return decode_end(d, false);
    case OP_EXIT: return decode_end(d, true);
    case OP_TRAP: decoder_emit(d, run_trap); return true;
    case OP_NANOSLEEP: decoder_emit(d, run_yield); return true;
    default: /* brkpt, pmevent, griddepcontrol, setmaxnreg: nothing to see */
        decoder_emit(d, run_fence)->value = 0;
        return true;
    }
}

/* ---- Barriers --------------------------------------------------------------------------------------------------- */

/* bar.sync a {, b}; bar.arrive a, b; bar.red d, a {, b}, p */
static bool decode_barrier(Decoder *d)
{
    const Inst *inst = d->inst;
    bool red = inst_has(d->inst, MOD_RED), cluster = inst_has(d->inst, MOD_CLUSTER);
    unsigned next = red ? 1 : 0, values = inst->operand_count - next - (red ? 1u : 0u);
    uint32_t id = NO_ROW, count = NO_ROW, predicate = NO_ROW;
    Dest dest = {.row = NO_ROW};
    if (!cluster) {
        if (inst->operand_count < next + 1u || values > 2)
            return decoder_refuse(d, "%s", inst_spelling(d->arena, inst));
        if ((id = decoder_source(d, &inst->operands[next], TYPE_U32)) == NO_ROW)
            return false;
        if (values == 2 && (count = decoder_source(d, &inst->operands[next + 1], TYPE_U32)) == NO_ROW)
            return false;
    }
    bool popc = inst_has(d->inst, MOD_POPC);
    if (red) {
        if ((predicate = decoder_source(d, &inst->operands[inst->operand_count - 1], TYPE_PRED)) == NO_ROW)
            return false;
        if (!decoder_dest(d, &inst->operands[0], popc ? TYPE_U32 : TYPE_PRED, false, &dest))
            return false;
    }
    uint32_t guard = decoder_guard_open(d);
    Op *op = decoder_emit(d, run_barrier);
    op->dest = dest.row;
    op->dest_bytes = popc ? 4 : 0;
    op->barrier.kind = red                             ? popc                         ? BARRIER_RED_POPC
                                                         : inst_has(d->inst, MOD_AND) ? BARRIER_RED_AND
                                                                                      : BARRIER_RED_OR
                       : inst_has(d->inst, MOD_ARRIVE) ? BARRIER_ARRIVE
                                                       : BARRIER_SYNC;
    op->barrier.id = id;
    op->barrier.count = count;
    op->barrier.has_count = count != NO_ROW;
    op->barrier.predicate = predicate;
    /* bar is barrier.aligned. */
    op->barrier.aligned = inst_op(inst) == OP_BAR || inst_has(d->inst, MOD_ALIGNED);
    op->barrier.cluster = cluster;
    op->barrier.relaxed = inst_has(d->inst, MOD_RELAXED);
    op->barrier.cluster_wait = cluster && inst_has(d->inst, MOD_WAIT);
    if (dest.row != NO_ROW)
        decoder_dest_done(d, &dest);
    decoder_guard_close(d, guard);
    return true;
}

/* ---- Collectives ------------------------------------------------------------------------------------------------ */

typedef struct Collective {
    unsigned kind, mode;
    uint32_t sources[3];
    uint8_t source_bytes[3];
    unsigned source_count;
    uint32_t members, control;
    bool is_float;
    Type dest_type;
    const Operand *dest, *predicate; /* NULL: none */
} Collective;

static bool emit_collective(Decoder *d, Collective *c)
{
    Dest dest = {.row = NO_ROW};
    uint32_t predicate = NO_ROW;
    unsigned bytes;
    if (c->dest && c->dest->kind != OPERAND_SINK && !decoder_dest(d, c->dest, c->dest_type, false, &dest))
        return false;
    if (c->predicate && c->predicate->kind == OPERAND_REG)
        predicate = decoder_register(d, c->predicate, &bytes);
    uint32_t guard = decoder_guard_open(d);
    Op *op = decoder_emit(d, run_collective);
    op->dest = dest.row;
    op->dest_bytes = (uint8_t)dest.bytes;
    op->source_count = (uint8_t)c->source_count;
    for (unsigned i = 0; i < c->source_count; i++) {
        op->sources[i] = c->sources[i];
        op->source_bytes[i] = c->source_bytes[i];
    }
    op->warp.kind = c->kind;
    op->warp.mode = c->mode;
    op->warp.members = c->members;
    op->warp.dest_predicate = predicate;
    op->warp.control = c->control;
    op->warp.is_float = c->is_float;
    if (dest.row != NO_ROW)
        decoder_dest_done(d, &dest);
    decoder_guard_close(d, guard);
    return true;
}

static bool add_source(Decoder *d, Collective *c, const Operand *operand, Type type)
{
    uint32_t row = decoder_source(d, operand, type);
    c->sources[c->source_count] = row;
    c->source_bytes[c->source_count++] = (uint8_t)type_row_bytes(type);
    return row != NO_ROW;
}

static bool set_members(Decoder *d, Collective *c, const Operand *operand)
{
    c->members = decoder_source(d, operand, TYPE_B32);
    return c->members != NO_ROW;
}

static void split_dest(const Operand *operand, Collective *c)
{
    bool pair = operand->kind == OPERAND_PAIR;
    c->dest = pair ? &operand->items[0] : operand;
    c->predicate = pair ? &operand->items[1] : NULL;
}

static unsigned mode_of(const Decoder *d, const ModId *names, unsigned count)
{
    for (unsigned i = 0; i < count; i++)
        if (inst_has(d->inst, names[i]))
            return i;
    return 0;
}

static bool decode_shfl(Decoder *d, Collective *c)
{
    static const ModId modes[] = {MOD_UP, MOD_DOWN, MOD_BFLY, MOD_IDX};
    const Operand *operands = d->inst->operands;
    c->kind = WARP_SHFL;
    c->mode = mode_of(d, modes, COUNT_OF(modes));
    c->dest_type = TYPE_B32;
    split_dest(&operands[0], c);
    for (unsigned i = 1; i < 4; i++)
        if (!add_source(d, c, &operands[i], TYPE_B32))
            return false;
    return (!inst_has(d->inst, MOD_SYNC) || set_members(d, c, &operands[4])) && emit_collective(d, c);
}

static bool decode_vote(Decoder *d, Collective *c)
{
    static const ModId modes[] = {MOD_ALL, MOD_ANY, MOD_UNI, MOD_BALLOT};
    const Operand *operands = d->inst->operands;
    c->kind = WARP_VOTE;
    c->mode = mode_of(d, modes, COUNT_OF(modes));
    c->dest_type = c->mode == VOTE_BALLOT ? TYPE_B32 : TYPE_PRED;
    c->dest = &operands[0];
    return add_source(d, c, &operands[1], TYPE_PRED) &&
           (!inst_has(d->inst, MOD_SYNC) || set_members(d, c, &operands[2])) && emit_collective(d, c);
}

static bool decode_match(Decoder *d, Collective *c)
{
    const Operand *operands = d->inst->operands;
    c->kind = inst_has(d->inst, MOD_ALL) ? WARP_MATCH_ALL : WARP_MATCH_ANY;
    c->dest_type = TYPE_B32;
    split_dest(&operands[0], c);
    return add_source(d, c, &operands[1], d->signature->types[0]) && set_members(d, c, &operands[2]) &&
           emit_collective(d, c);
}

static bool decode_redux(Decoder *d, Collective *c)
{
    static const struct {
        ModId mod;
        AtomicKind kind;
    } kinds[] = {{MOD_ADD, ATOMIC_ADD}, {MOD_MIN, ATOMIC_MIN}, {MOD_MAX, ATOMIC_MAX},
                 {MOD_AND, ATOMIC_AND}, {MOD_OR, ATOMIC_OR},   {MOD_XOR, ATOMIC_XOR}};
    const Operand *operands = d->inst->operands;
    Type type = d->signature->types[0];
    c->kind = WARP_REDUX;
    for (size_t i = 0; i < COUNT_OF(kinds); i++)
        if (inst_has(d->inst, kinds[i].mod))
            c->mode = kinds[i].kind;
    c->is_float = type == TYPE_F32;
    c->control = (type == TYPE_S32 ? CONTROL_SIGNED : 0) | (inst_has(d->inst, MOD_ABS) ? CONTROL_ABS : 0) |
                 (inst_has(d->inst, MOD_NaN) ? CONTROL_NAN : 0);
    c->dest_type = type;
    c->dest = &operands[0];
    return add_source(d, c, &operands[1], type) && set_members(d, c, &operands[2]) && emit_collective(d, c);
}

bool decode_warp(Decoder *d)
{
    const Operand *operands = d->inst->operands;
    Collective c = {.members = NO_ROW, .dest_type = TYPE_B32};
    switch (inst_op(d->inst)) {
    case OP_SHFL: return decode_shfl(d, &c);
    case OP_VOTE: return decode_vote(d, &c);
    case OP_MATCH: return decode_match(d, &c);
    case OP_REDUX: return decode_redux(d, &c);
    case OP_ACTIVEMASK:
        c.kind = WARP_ACTIVEMASK;
        c.dest = &operands[0];
        return emit_collective(d, &c);
    case OP_ELECT:
        c.kind = WARP_ELECT;
        split_dest(&operands[0], &c);
        return set_members(d, &c, &operands[1]) && emit_collective(d, &c);
    case OP_BAR:
    case OP_BARRIER:
        if (inst_has(d->inst, MOD_WARP)) {
            c.kind = WARP_SYNC;
            return set_members(d, &c, &operands[0]) && emit_collective(d, &c);
        }
        return decode_barrier(d);
    default: return decode_matrix(d);
    }
}
