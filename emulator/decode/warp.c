/* Barriers, and the operations that the lanes of a warp do together. */
#include "emulator/decode/decode.h"

/* bar.sync a {, b}; bar.arrive a, b; bar.red d, a {, b}, p */
bool decode_setmaxnreg(Decoder *d)
{
    uint32_t guard = decoder_guard_open(d);
    Op *op = decoder_emit(d, run_setmaxnreg);
    op->pool.registers = (uint32_t)d->inst->operands[0].constant->bits;
    op->pool.increases = inst_has(d->inst, MOD_INC);
    decoder_guard_close(d, guard);
    return true;
}

bool decode_barrier(Decoder *d)
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

static Collective collective_new(unsigned kind)
{
    return (Collective){.kind = kind, .members = NO_ROW, .dest_type = TYPE_B32};
}

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
    /* The lanes may name different members if a register gives them. */
    op->warp.members_differ = c->members != NO_ROW && c->members >> SOURCE_SHIFT != BANK_CONSTANTS;
    if (op->warp.members_differ)
        decoder_emit(d, run_reconverge);
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

bool decode_shfl(Decoder *d)
{
    static const ModId modes[] = {MOD_UP, MOD_DOWN, MOD_BFLY, MOD_IDX};
    Collective c = collective_new(WARP_SHFL);
    const Operand *operands = d->inst->operands;
    c.mode = mode_of(d, modes, COUNT_OF(modes));
    split_dest(&operands[0], &c);
    for (unsigned i = 1; i < 4; i++)
        if (!add_source(d, &c, &operands[i], TYPE_B32))
            return false;
    return (!inst_has(d->inst, MOD_SYNC) || set_members(d, &c, &operands[4])) && emit_collective(d, &c);
}

bool decode_vote(Decoder *d)
{
    static const ModId modes[] = {MOD_ALL, MOD_ANY, MOD_UNI, MOD_BALLOT};
    Collective c = collective_new(WARP_VOTE);
    const Operand *operands = d->inst->operands;
    c.mode = mode_of(d, modes, COUNT_OF(modes));
    c.dest_type = c.mode == VOTE_BALLOT ? TYPE_B32 : TYPE_PRED;
    c.dest = &operands[0];
    return add_source(d, &c, &operands[1], TYPE_PRED) &&
           (!inst_has(d->inst, MOD_SYNC) || set_members(d, &c, &operands[2])) && emit_collective(d, &c);
}

bool decode_match(Decoder *d)
{
    Collective c = collective_new(inst_has(d->inst, MOD_ALL) ? WARP_MATCH_ALL : WARP_MATCH_ANY);
    const Operand *operands = d->inst->operands;
    split_dest(&operands[0], &c);
    return add_source(d, &c, &operands[1], d->signature->types[0]) && set_members(d, &c, &operands[2]) &&
           emit_collective(d, &c);
}

bool decode_redux(Decoder *d)
{
    Collective c = collective_new(WARP_REDUX);
    const Operand *operands = d->inst->operands;
    Type type = d->signature->types[0];
    c.mode = decoder_atomic(d);
    c.is_float = type == TYPE_F32;
    c.control = (type == TYPE_S32 ? CONTROL_SIGNED : 0) | (inst_has(d->inst, MOD_ABS) ? CONTROL_ABS : 0) |
                (inst_has(d->inst, MOD_NaN) ? CONTROL_NAN : 0);
    c.dest_type = type;
    c.dest = &operands[0];
    return add_source(d, &c, &operands[1], type) && set_members(d, &c, &operands[2]) && emit_collective(d, &c);
}

bool decode_activemask(Decoder *d)
{
    Collective c = collective_new(WARP_ACTIVEMASK);
    c.dest = &d->inst->operands[0];
    return emit_collective(d, &c);
}

bool decode_elect(Decoder *d)
{
    Collective c = collective_new(WARP_ELECT);
    split_dest(&d->inst->operands[0], &c);
    return set_members(d, &c, &d->inst->operands[1]) && emit_collective(d, &c);
}

bool decode_warp_sync(Decoder *d)
{
    Collective c = collective_new(WARP_SYNC);
    return set_members(d, &c, &d->inst->operands[0]) && emit_collective(d, &c);
}
