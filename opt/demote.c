/* Demotion: values that are live across high pressure wait in shared memory for their distant uses.
 *
 * Requires SSA form.  Preserves SSA form, blocks and edges.  Invalidates what was computed from instructions.
 * CUDAVis (SCOPES 2010, section 5.4) sends what registers cannot hold to shared memory that is unused otherwise.  Each
 * thread has a place of its own in each slot: slot k of thread t is word k * threads + t, so a warp's accesses meet no
 * bank twice.  No other thread reads it, so no barrier is needed, whatever paths threads take.  Accesses are volatile:
 * the assembler then neither forwards a stored value to its load in a register nor moves loads of different slots past
 * each other.  Values that are never live at the same time share a slot. */
#include "opt/demote.h"
#include "opt/pass.h"
#include "opt/places.h"

enum {
    DISTANCE = 16, /* instructions after which a value is loaded again */
    BASE_WIDTH = 1, /* registers that the address of the slots takes, wherever there are any */
};

typedef struct Demoter {
    Body *body;
    Arena *arena;
    const DemoteRequest *request;
    const Liveness *liveness;
    const Values *values;
    BitSet undefined; /* by RegId: perhaps, so that it cannot be stored (values_maybe_undefined) */
    const LoopForest *loops;
    const Lowered *lowered;
    Places places;
    int32_t *pressure; /* by position: registers live there */
    uint32_t *high;    /* by position: places before it with more than the limit */
    uint32_t *out_start, *out_blocks; /* by RegId: the blocks that it is live out of */
    RegId base;                       /* the address of the thread's place in slot 0 */
} Demoter;

/* A value that could be demoted. */
typedef struct Option {
    RegId value;
    uint64_t gain;  /* at the time of 'version'; it only falls */
    uint32_t version;
} Option;

/* What waits in one slot, one after the other. */
typedef VEC(RegId) Slot;

static bool uses_dynamic_memory(const Operand *operand)
{
    if (operand->kind == OPERAND_SYMBOL && operand->symbol.kind == SYMBOL_VARIABLE &&
        operand->symbol.variable->space == SPACE_SHARED && operand->symbol.variable->linkage == LINKAGE_EXTERN)
        return true;
    for (unsigned i = 0; i < operand->item_count; i++)
        if (uses_dynamic_memory(&operand->items[i]))
            return true;
    return false;
}

static bool reads_shared_size(const Inst *inst)
{
    for (unsigned i = 0; i < inst->operand_count; i++) {
        const Operand *operand = &inst->operands[i];
        unsigned role = operand->kind == OPERAND_SREG ? operand->sreg->role : SREG_ROLE_OTHER;
        if (role == SREG_ROLE_TOTAL_SMEM_SIZE || role == SREG_ROLE_AGGR_SMEM_SIZE ||
            role == SREG_ROLE_DYNAMIC_SMEM_SIZE)
            return true;
    }
    return false;
}

static bool inst_uses_dynamic_memory(const Inst *inst)
{
    for (unsigned i = 0; i < inst->operand_count; i++)
        if (uses_dynamic_memory(&inst->operands[i]))
            return true;
    return false;
}

bool demote_finds_dynamic_memory(const Body *body)
{
    for (size_t b = 0; b < body->blocks.count; b++)
        for (const Inst *inst = body->blocks.data[b]->first; inst; inst = inst->next)
            if (inst_uses_dynamic_memory(inst))
                return true;
    return false;
}

static const char *inst_obstacle(const Inst *inst, bool dynamic_is_known)
{
    if (inst_is_opaque(inst))
        return "an instruction is unknown";
    if (inst_is_call(inst))
        return "it calls functions";
    Category category = form_category(inst->form);
    if (category == CATEGORY_WGMMA || category == CATEGORY_TCGEN05)
        return "registers are written asynchronously";
    if (reads_shared_size(inst))
        return "it asks how much shared memory it has";
    if (!dynamic_is_known && inst_uses_dynamic_memory(inst))
        return "how much is left is only known at launch (-launch)";
    return NULL;
}

const char *demote_obstacle(const Body *body, bool dynamic_is_known)
{
    for (size_t b = 0; b < body->blocks.count; b++)
        for (const Inst *inst = body->blocks.data[b]->first; inst; inst = inst->next) {
            const char *obstacle = inst_obstacle(inst, dynamic_is_known);
            if (obstacle)
                return obstacle;
        }
    return NULL;
}

static int32_t width_of(const Demoter *demoter, RegId reg)
{
    return reg < demoter->lowered->reg_count ? demoter->lowered->width[reg] : 0;
}

/* Registers that are live at each position: before the instruction, or after it with its results. */
static void pressure_find(Demoter *demoter)
{
    RegSet live = regset_new(demoter->arena, demoter->values->reg_count);
    demoter->pressure = ARENA_ARRAY(demoter->arena, int32_t, demoter->places.total + 1);
    for (size_t b = 0; b < demoter->body->blocks.count; b++) {
        LiveSet out = live_out(demoter->liveness, demoter->body->blocks.data[b]);
        int32_t now = BASE_WIDTH;
        regset_clear(&live);
        for (uint32_t i = 0; i < out.count; i++)
            if (regset_add(&live, out.regs[i]))
                now += width_of(demoter, out.regs[i]);
        for (const Inst *inst = demoter->body->blocks.data[b]->last; inst; inst = inst->prev) {
            int32_t after = now;
            for (unsigned r = 0; r < inst->ref_count; r++)
                if (ref_writes(&inst->refs[r])) {
                    bool was_live = regset_remove(&live, inst->refs[r].reg);
                    after += was_live ? 0 : width_of(demoter, inst->refs[r].reg);
                    now -= was_live ? width_of(demoter, inst->refs[r].reg) : 0;
                }
            for (unsigned r = 0; r < inst->ref_count; r++)
                if (ref_reads(&inst->refs[r]) && !live_is_undefined(demoter->liveness, inst->refs[r].reg) &&
                    regset_add(&live, inst->refs[r].reg))
                    now += width_of(demoter, inst->refs[r].reg);
            demoter->pressure[inst->id] = after > now ? after : now;
        }
    }
}

static void high_count(Demoter *demoter)
{
    for (uint32_t p = 0; p < demoter->places.total; p++)
        demoter->high[p + 1] = demoter->high[p] + (demoter->pressure[p] > demoter->request->limit);
}

static void out_blocks_find(Demoter *demoter)
{
    size_t count = demoter->values->reg_count;
    uint32_t *start = demoter->out_start = ARENA_ARRAY(demoter->arena, uint32_t, count + 2);
    for (size_t b = 0; b < demoter->body->blocks.count; b++) {
        LiveSet out = live_out(demoter->liveness, demoter->body->blocks.data[b]);
        for (uint32_t i = 0; i < out.count; i++)
            start[out.regs[i] + 2]++;
    }
    for (size_t r = 2; r < count + 2; r++)
        start[r] += start[r - 1];
    demoter->out_blocks = ARENA_ARRAY(demoter->arena, uint32_t, start[count + 1] + 1);
    for (size_t b = 0; b < demoter->body->blocks.count; b++) {
        LiveSet out = live_out(demoter->liveness, demoter->body->blocks.data[b]);
        for (uint32_t i = 0; i < out.count; i++)
            demoter->out_blocks[start[out.regs[i] + 1]++] = (uint32_t)b;
    }
}

static void demoter_start(Demoter *demoter, Arena *arena, Body *body, Analyses *analyses, const Machine *machine,
                          const DemoteRequest *request)
{
    *demoter = (Demoter){.body = body,
                         .arena = arena,
                         .request = request,
                         .liveness = analyses_liveness(analyses),
                         .values = analyses_values(analyses),
                         .undefined = values_maybe_undefined(arena, analyses_values(analyses)),
                         .loops = analyses_loops(analyses),
                         .base = REG_NONE};
    demoter->lowered = lowered_compute(arena, body, demoter->values, machine->loads_parameters);
    places_number(&demoter->places, arena, body, demoter->values, DISTANCE);
    demoter->high = ARENA_ARRAY(arena, uint32_t, demoter->places.total + 1);
    pressure_find(demoter);
    high_count(demoter);
    out_blocks_find(demoter);
}

/* Positions [from, to). */
typedef struct Range {
    uint32_t from, to;
} Range;

typedef VEC(Range) RangeList;

static void range_add(const Demoter *demoter, RangeList *ranges, uint32_t from, uint32_t to)
{
    if (to > from)
        VEC_PUSH(demoter->arena, *ranges, (Range){from, to});
}

/* Where the value is in a register that it leaves when it is demoted, and where it stays in one.  Returns what the
 * stores and loads cost, which is 0 where there is nothing to gain. */
static uint64_t ranges_find(Demoter *demoter, RegId value, RangeList *live, RangeList *kept)
{
    Places *places = &demoter->places;
    const ValueDef *def = &demoter->values->defs[value];
    uint32_t count = places_collect(places, value), begin = places_definition(places, def), near_first;
    uint32_t near = places_near_end(places, def, count, &near_first);
    uint64_t cost = loop_weight(demoter->loops, def->block);
    live->count = kept->count = 0;
    if (!count || near == count)
        return 0;
    for (uint32_t i = demoter->out_start[value]; i < demoter->out_start[value + 1]; i++) {
        uint32_t b = demoter->out_blocks[i];
        range_add(demoter, live, b == def->block->id ? begin : places->begin[b], places->end[b]);
    }
    for (uint32_t i = 0; i < count; i++) {
        uint32_t b = places->points[i].block;
        bool is_last = i + 1 == count || places->points[i + 1].block != b;
        if (is_last && !live_set_has(live_out(demoter->liveness, demoter->body->blocks.data[b]), value))
            range_add(demoter, live, b == def->block->id ? begin : places->begin[b], places->points[i].position);
    }
    if (near > near_first)
        range_add(demoter, kept, begin, places->points[near - 1].position);
    for (uint32_t i = 0; i < count;) {
        if (i >= near_first && i < near) {
            i = near;
            continue;
        }
        uint32_t end = places_cluster_end(places, i, i < near_first ? near_first : count);
        range_add(demoter, kept, places->points[i].position, places->points[end - 1].position);
        cost += loop_weight(demoter->loops, demoter->body->blocks.data[places->points[i].block]);
        i = end;
    }
    return cost;
}

static uint64_t high_in(const Demoter *demoter, const RangeList *ranges)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < ranges->count; i++)
        sum += demoter->high[ranges->data[i].to] - demoter->high[ranges->data[i].from];
    return sum;
}

static uint64_t gain_of(Demoter *demoter, RegId value, RangeList *live, RangeList *kept)
{
    uint64_t cost = ranges_find(demoter, value, live, kept), freed = cost ? high_in(demoter, live) : 0;
    uint64_t stays = cost ? high_in(demoter, kept) : 0;
    return freed > stays ? ((freed - stays) << 16) / cost : 0;
}

static void pressure_add_ranges(Demoter *demoter, const RangeList *ranges, int32_t change)
{
    for (size_t i = 0; i < ranges->count; i++)
        for (uint32_t p = ranges->data[i].from; p < ranges->data[i].to; p++)
            demoter->pressure[p] += change;
}

static bool is_demotable(const Demoter *demoter, RegId value)
{
    const Reg *reg = &demoter->body->regs.data[value];
    const ValueDef *def = &demoter->values->defs[value];
    unsigned bits = type_bits(reg->type);
    if (bitset_has(&demoter->undefined, value) || !width_of(demoter, value) || reg->vector > 1)
        return false;
    if (type_class(reg->type) == CLASS_PRED || type_class(reg->type) == CLASS_OPAQUE ||
        (bits != 16 && bits != 32 && bits != 64))
        return false;
    return !def->inst || !(def->inst->effects & (EFFECT_ASYNC | EFFECT_CONTROL));
}

/* Whether 'value' is live just after the definition of 'other': in SSA form two values interfere where one is live at
 * the definition of the other. */
static bool live_after_definition(Demoter *demoter, RegId value, RegId other)
{
    const ValueDef *def = &demoter->values->defs[other];
    if (live_set_has(live_out(demoter->liveness, def->block), value))
        return demoter->values->defs[value].block != def->block ||
               places_definition(&demoter->places, &demoter->values->defs[value]) <=
                   places_definition(&demoter->places, def);
    uint32_t count = value_use_count(demoter->values, value), at = places_definition(&demoter->places, def);
    const ValueUse *uses = value_uses(demoter->values, value);
    const ValueDef *own = &demoter->values->defs[value];
    if (own->block == def->block && places_definition(&demoter->places, own) > at)
        return false;
    for (uint32_t u = 0; u < count; u++)
        if (uses[u].inst && uses[u].block == def->block && uses[u].inst->id >= at)
            return true;
    return false;
}

static bool may_share(Demoter *demoter, const Slot *slot, RegId value)
{
    for (size_t i = 0; i < slot->count; i++)
        if (live_after_definition(demoter, slot->data[i], value) ||
            live_after_definition(demoter, value, slot->data[i]))
            return false;
    return true;
}

/* The slots of a value's words; false if there are not enough. */
static bool slots_take(Demoter *demoter, Slot *slots, unsigned *used, RegId value, unsigned words, unsigned out[2])
{
    unsigned found = 0;
    for (unsigned s = 0; s < demoter->request->slots && found < words; s++)
        if (s >= *used || may_share(demoter, &slots[s], value))
            out[found++] = s;
    if (found < words)
        return false;
    for (unsigned w = 0; w < words; w++) {
        VEC_PUSH(demoter->arena, slots[out[w]], value);
        *used = out[w] >= *used ? out[w] + 1 : *used;
    }
    return true;
}

static Name name_of(const Body *body, RegId reg)
{
    return body->regs.data[body->regs.data[reg].origin].name;
}

static int64_t slot_offset(const Demoter *demoter, unsigned slot)
{
    return (int64_t)4 * slot * demoter->request->threads;
}

/* The instructions of a store after the definition, or of a load before a use, in order. */
typedef struct Sequence {
    Inst *insts[12];
    unsigned count;
} Sequence;

static void sequence_add(Sequence *sequence, Inst *inst)
{
    require(sequence->count < COUNT_OF(sequence->insts));
    sequence->insts[sequence->count++] = inst;
}

/* Machine code has the halves of 64 bits in registers of their own, so that taking them apart costs nothing. */
static void store_make(Demoter *demoter, RegId value, const unsigned slots[2], Sequence *out)
{
    Body *body = demoter->body;
    Type type = body->regs.data[value].type;
    Name name = name_of(body, value);
    if (type_bits(type) < 64) {
        const char *spelling = type_bits(type) == 16 ? "st.volatile.shared.b16" : "st.volatile.shared.b32";
        sequence_add(out, inst_build(body, spelling, "ar", demoter->base, slot_offset(demoter, slots[0]), value));
        return;
    }
    RegId bits = value, low = body_add_reg(body, TYPE_B32, name), high = body_add_reg(body, TYPE_B32, name);
    RegId shifted = body_add_reg(body, TYPE_B64, name);
    if (type_class(type) == CLASS_FLOAT) {
        bits = body_add_reg(body, TYPE_B64, name);
        sequence_add(out, inst_build(body, "mov.b64", "dr", bits, value));
    }
    sequence_add(out, inst_build(body, "cvt.u32.u64", "dr", low, bits));
    sequence_add(out, inst_build(body, "shr.u64", "dri", shifted, bits, (int64_t)32));
    sequence_add(out, inst_build(body, "cvt.u32.u64", "dr", high, shifted));
    sequence_add(out, inst_build(body, "st.volatile.shared.b32", "ar", demoter->base,
                                 slot_offset(demoter, slots[0]), low));
    sequence_add(out, inst_build(body, "st.volatile.shared.b32", "ar", demoter->base,
                                 slot_offset(demoter, slots[1]), high));
}

/* Returns the register that holds the value again. */
static RegId load_make(Demoter *demoter, RegId value, const unsigned slots[2], Sequence *out)
{
    Body *body = demoter->body;
    Type type = body->regs.data[value].type;
    Name name = name_of(body, value);
    RegId loaded = body_clone_reg(body, value);
    if (type_bits(type) < 64) {
        const char *spelling = type_bits(type) == 16 ? "ld.volatile.shared.b16" : "ld.volatile.shared.b32";
        sequence_add(out, inst_build(body, spelling, "da", loaded, demoter->base, slot_offset(demoter, slots[0])));
        return loaded;
    }
    RegId low = body_add_reg(body, TYPE_B32, name), high = body_add_reg(body, TYPE_B32, name);
    RegId low_half = body_add_reg(body, TYPE_B64, name), high_half = body_add_reg(body, TYPE_B64, name);
    RegId shifted = body_add_reg(body, TYPE_B64, name), bits = loaded;
    sequence_add(out, inst_build(body, "ld.volatile.shared.b32", "da", low, demoter->base,
                                 slot_offset(demoter, slots[0])));
    sequence_add(out, inst_build(body, "ld.volatile.shared.b32", "da", high, demoter->base,
                                 slot_offset(demoter, slots[1])));
    sequence_add(out, inst_build(body, "cvt.u64.u32", "dr", low_half, low));
    sequence_add(out, inst_build(body, "cvt.u64.u32", "dr", high_half, high));
    sequence_add(out, inst_build(body, "shl.b64", "dri", shifted, high_half, (int64_t)32));
    if (type_class(type) == CLASS_FLOAT)
        bits = body_add_reg(body, TYPE_B64, name);
    sequence_add(out, inst_build(body, "or.b64", "drr", bits, low_half, shifted));
    if (bits != loaded)
        sequence_add(out, inst_build(body, "mov.b64", "dr", loaded, bits));
    return loaded;
}

static void store_place(Demoter *demoter, RegId value, const unsigned slots[2])
{
    const ValueDef *def = &demoter->values->defs[value];
    Sequence sequence = {0};
    store_make(demoter, value, slots, &sequence);
    for (unsigned i = sequence.count; i-- > 0;)
        if (def->inst)
            inst_insert_after(def->inst, sequence.insts[i]);
        else
            inst_insert_first(def->block, sequence.insts[i]);
}

static void loads_place(Demoter *demoter, RegId value, const unsigned slots[2])
{
    Places *places = &demoter->places;
    const ValueDef *def = &demoter->values->defs[value];
    uint32_t count = places_collect(places, value), near_first;
    uint32_t near = places_near_end(places, def, count, &near_first);
    for (uint32_t i = 0; i < count;) {
        if (i >= near_first && i < near) {
            i = near;
            continue;
        }
        uint32_t end = places_cluster_end(places, i, i < near_first ? near_first : count);
        Sequence sequence = {0};
        RegId loaded = load_make(demoter, value, slots, &sequence);
        for (unsigned s = 0; s < sequence.count; s++)
            place_inst(demoter->body, &places->points[i], sequence.insts[s]);
        for (uint32_t j = i; j < end; j++)
            use_set(places->points[j].use, loaded);
        i = end;
    }
}

/* The number of the thread in its block, whatever the block's shape. */
static RegId thread_number(Demoter *demoter, Sequence *out)
{
    static const char *const sources[] = {"%tid.x", "%tid.y", "%tid.z", "%ntid.x", "%ntid.y"};
    Body *body = demoter->body;
    Name name = intern(body->module->names, "%slot");
    RegId regs[COUNT_OF(sources)];
    for (size_t i = 0; i < (demoter->request->is_line ? 1 : COUNT_OF(sources)); i++) {
        regs[i] = body_add_reg(body, TYPE_U32, name);
        sequence_add(out, inst_build(body, "mov.u32", "ds", regs[i], sources[i]));
    }
    if (demoter->request->is_line)
        return regs[0];
    RegId row = body_add_reg(body, TYPE_U32, name), number = body_add_reg(body, TYPE_U32, name);
    sequence_add(out, inst_build(body, "mad.lo.u32", "drrr", row, regs[2], regs[4], regs[1]));
    sequence_add(out, inst_build(body, "mad.lo.u32", "drrr", number, row, regs[3], regs[0]));
    return number;
}

/* At the top of the body: base = address of the slots + 4 * the thread's number in its block. */
static void base_make(Demoter *demoter, unsigned slots)
{
    Body *body = demoter->body;
    Sequence sequence = {0};
    Name name = intern(body->module->names, "%slot");
    RegId number = thread_number(demoter, &sequence), bytes = body_add_reg(body, TYPE_U32, name);
    RegId address = body_add_reg(body, TYPE_U32, name);
    Variable *variable = body_add_array(body, "ptxopt_slots", SPACE_SHARED, (uint64_t)slot_offset(demoter, slots), 4);
    sequence_add(&sequence, inst_build(body, "shl.b32", "dri", bytes, number, (int64_t)2));
    sequence_add(&sequence, inst_build(body, "mov.u32", "dv", address, variable));
    sequence_add(&sequence, inst_build(body, "add.u32", "drr", demoter->base, address, bytes));
    for (unsigned i = sequence.count; i-- > 0;)
        inst_insert_first(body->blocks.data[0], sequence.insts[i]);
}

/* The option with the highest gain, whose gain is up to date; NULL: nothing more is to be gained. */
static Option *option_best(Demoter *demoter, Option *options, size_t count, uint32_t version, RangeList *live,
                           RangeList *kept)
{
    for (;;) {
        Option *best = NULL;
        for (size_t i = 0; i < count; i++)
            if (options[i].gain && (!best || options[i].gain > best->gain))
                best = &options[i];
        if (!best || best->version == version)
            return best;
        best->gain = gain_of(demoter, best->value, live, kept);
        best->version = version;
    }
}

/* What is demoted, and where. */
typedef struct Choice {
    RegId value;
    unsigned slots[2];
} Choice;

typedef VEC(Choice) ChoiceList;

static void choices_make(Demoter *demoter, ChoiceList *choices, unsigned *used)
{
    size_t count = 0;
    Option *options = ARENA_ARRAY(demoter->arena, Option, demoter->values->reg_count + 1);
    Slot *slots = ARENA_ARRAY(demoter->arena, Slot, demoter->request->slots + 1);
    RangeList live = {0}, kept = {0};
    for (size_t v = 0; v < demoter->values->reg_count; v++)
        if (is_demotable(demoter, (RegId)v))
            options[count++] = (Option){(RegId)v, gain_of(demoter, (RegId)v, &live, &kept), 0};
    for (uint32_t version = 0; demoter->high[demoter->places.total];) {
        Option *best = option_best(demoter, options, count, version, &live, &kept);
        if (!best)
            break;
        Choice choice = {.value = best->value};
        unsigned words = type_bits(demoter->body->regs.data[best->value].type) > 32 ? 2 : 1;
        best->gain = 0;
        if (!slots_take(demoter, slots, used, best->value, words, choice.slots))
            continue;
        VEC_PUSH(demoter->arena, *choices, choice);
        ranges_find(demoter, best->value, &live, &kept);
        pressure_add_ranges(demoter, &live, -width_of(demoter, best->value));
        pressure_add_ranges(demoter, &kept, width_of(demoter, best->value));
        high_count(demoter);
        version++;
    }
}

Demotion demote_values(Body *body, Analyses *analyses, const Machine *machine, const DemoteRequest *request)
{
    require(body->ssa);
    Arena *arena = arena_new();
    Demoter demoter;
    ChoiceList choices = {0};
    unsigned used = 0;
    demoter_start(&demoter, arena, body, analyses, machine, request);
    choices_make(&demoter, &choices, &used);
    if (choices.count)
        demoter.base = body_add_reg(body, TYPE_U32, intern(body->module->names, "%slot"));
    for (size_t i = 0; i < choices.count; i++) {
        /* Loads first: they go by the uses that there were, to which the store is added. */
        loads_place(&demoter, choices.data[i].value, choices.data[i].slots);
        store_place(&demoter, choices.data[i].value, choices.data[i].slots);
    }
    if (choices.count)
        base_make(&demoter, used);
    Demotion demotion = {(unsigned)choices.count, used};
    arena_free(arena);
    if (demotion.values)
        analyses_invalidate(analyses, ANALYSES_INSTRUCTIONS);
    return demotion;
}
