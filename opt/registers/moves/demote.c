/* Demotion: values that are live across high pressure wait in shared memory for their distant uses.
 *
 * Requires SSA form.
 *
 * CUDAVis (SCOPES 2010, section 5.4) sends what registers cannot hold to shared memory that is unused otherwise. Each
 * thread has a place of its own in each slot: slot k of thread t is word k * threads + t, so a warp's accesses meet no
 * bank twice. No other thread reads it, so no barrier is needed, whatever paths threads take. Accesses are volatile:
 * the assembler then neither forwards a stored value to its load in a register nor moves loads of different slots past
 * each other. Values that are never live at the same time share a slot. */
#include "opt/pass.h"
#include "opt/registers/moves/demote.h"
#include "opt/registers/moves/gaps.h"

enum {
    BASE_WIDTH = 1, /* registers that the address of the slots takes, wherever there are any */
    AHEAD = 4,      /* instructions between a load and the use, during which a warp need not wait */
};

typedef struct Demoter {
    Gaps gaps;
    const DemoteRequest *request;
    RegId base; /* the address of the thread's place in slot 0 */
} Demoter;

/* A value that could be demoted. */
typedef struct Option {
    RegId value;
    uint64_t gain;  /* at the time of 'version'; it only falls */
    uint32_t version;
} Option;

/* The values that wait in one slot, one after the other. */
typedef VEC(RegId) Slot;

static bool uses_dynamic_memory(const Operand *operand)
{
    const Variable *variable = operand_shared_variable(operand);
    return variable && variable->linkage == LINKAGE_EXTERN;
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

bool demote_minds_shared_memory(const Body *body)
{
    for (size_t b = 0; b < body->blocks.count; b++)
        for (const Inst *inst = body->blocks.data[b]->first; inst; inst = inst->next)
            if (inst_uses_dynamic_memory(inst) || reads_shared_size(inst))
                return true;
    return false;
}

static SharedObstacle inst_obstacle(const Inst *inst, bool dynamic_is_known)
{
    if (inst_is_opaque(inst))
        return SHARED_OPAQUE;
    if (inst_is_call(inst))
        return SHARED_CALLS;
    Category category = form_category(inst->form);
    if (category == CATEGORY_WGMMA || category == CATEGORY_TCGEN05)
        return SHARED_ASYNCHRONOUS;
    if (reads_shared_size(inst))
        return SHARED_ASKED_FOR;
    if (!dynamic_is_known && inst_uses_dynamic_memory(inst))
        return SHARED_AT_LAUNCH;
    return SHARED_FREE;
}

SharedObstacle demote_obstacle(const Body *body, bool dynamic_is_known)
{
    for (size_t b = 0; b < body->blocks.count; b++)
        for (const Inst *inst = body->blocks.data[b]->first; inst; inst = inst->next) {
            SharedObstacle obstacle = inst_obstacle(inst, dynamic_is_known);
            if (obstacle != SHARED_FREE)
                return obstacle;
        }
    return SHARED_FREE;
}

static bool is_demotable(const Demoter *demoter, RegId value)
{
    unsigned bits = type_bits(demoter->gaps.body->regs.data[value].type);
    return gaps_may_leave(&demoter->gaps, value) && (bits == 16 || bits == 32 || bits == 64);
}

/* True if 'value' is live just after the definition of 'other': in SSA form two values interfere where one is live at
 * the definition of the other. */
static bool live_after_definition(Demoter *demoter, RegId value, RegId other)
{
    const ValueDef *def = &demoter->gaps.values->defs[other];
    if (live_set_has(live_out(demoter->gaps.liveness, def->block), value))
        return demoter->gaps.values->defs[value].block != def->block ||
               places_definition(&demoter->gaps.places, &demoter->gaps.values->defs[value]) <=
                   places_definition(&demoter->gaps.places, def);
    uint32_t count = value_use_count(demoter->gaps.values, value), at = places_definition(&demoter->gaps.places, def);
    const ValueUse *uses = value_uses(demoter->gaps.values, value);
    const ValueDef *own = &demoter->gaps.values->defs[value];
    if (own->block == def->block && places_definition(&demoter->gaps.places, own) > at)
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
        VEC_PUSH(demoter->gaps.arena, slots[out[w]], value);
        *used = out[w] >= *used ? out[w] + 1 : *used;
    }
    return true;
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
    Body *body = demoter->gaps.body;
    Type type = body->regs.data[value].type;
    Name name = body_reg_name(body, value);
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
    Body *body = demoter->gaps.body;
    Type type = body->regs.data[value].type;
    Name name = body_reg_name(body, value);
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

/* The slots that a value is kept in. */
typedef struct Choice {
    RegId value;
    unsigned slots[2];
} Choice;

typedef VEC(Choice) ChoiceList;

static void store_place(Demoter *demoter, const Choice *choice)
{
    Sequence sequence = {0};
    store_make(demoter, choice->value, choice->slots, &sequence);
    for (unsigned i = sequence.count; i-- > 0;)
        gaps_insert_after_definition(&demoter->gaps, choice->value, sequence.insts[i]);
}

/* A choice that is being carried out. */
typedef struct Loading {
    Demoter *demoter;
    const Choice *choice;
} Loading;

static RegId load_place(void *context, RegId value, const Point *point)
{
    const Loading *loading = context;
    Sequence sequence = {0};
    RegId loaded = load_make(loading->demoter, value, loading->choice->slots, &sequence);
    gaps_insert_ahead(&loading->demoter->gaps, point, AHEAD, loading->demoter->request->loads_early, sequence.insts[0]);
    for (unsigned i = 1; i < sequence.count; i++)
        inst_insert_after(sequence.insts[i - 1], sequence.insts[i]);
    return loaded;
}

/* The number of the thread in its block, whatever the block's shape. */
static RegId thread_number(Demoter *demoter, Sequence *out)
{
    static const char *const sources[] = {"%tid.x", "%tid.y", "%tid.z", "%ntid.x", "%ntid.y"};
    Body *body = demoter->gaps.body;
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
    Body *body = demoter->gaps.body;
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
        best->gain = gaps_gain(&demoter->gaps, best->value, live, kept);
        best->version = version;
    }
}

static void choices_make(Demoter *demoter, ChoiceList *choices, unsigned *used)
{
    size_t count = 0;
    Option *options = ARENA_ARRAY(demoter->gaps.arena, Option, demoter->gaps.values->reg_count + 1);
    Slot *slots = ARENA_ARRAY(demoter->gaps.arena, Slot, demoter->request->slots + 1);
    RangeList live = {0}, kept = {0};
    for (size_t v = 0; v < demoter->gaps.values->reg_count; v++)
        if (is_demotable(demoter, (RegId)v))
            options[count++] = (Option){(RegId)v, gaps_gain(&demoter->gaps, (RegId)v, &live, &kept), 0};
    for (uint32_t version = 0; gaps_are_wanted(&demoter->gaps);) {
        Option *best = option_best(demoter, options, count, version, &live, &kept);
        if (!best)
            break;
        Choice choice = {.value = best->value};
        unsigned words = type_bits(demoter->gaps.body->regs.data[best->value].type) > 32 ? 2 : 1;
        best->gain = 0;
        if (!slots_take(demoter, slots, used, best->value, words, choice.slots))
            continue;
        VEC_PUSH(demoter->gaps.arena, *choices, choice);
        gaps_find(&demoter->gaps, best->value, &live, &kept);
        gaps_leave(&demoter->gaps, &live, &kept, words);
        gaps_update(&demoter->gaps);
        version++;
    }
}

Demotion demote_values(Body *body, Analyses *analyses, const SmLimits *sm, const DemoteRequest *request)
{
    Arena *arena = arena_new();
    Demoter demoter = {.request = request, .base = REG_NONE};
    ChoiceList choices = {0};
    unsigned used = 0;
    gaps_start(&demoter.gaps, arena, body, analyses, sm, request->limit, BASE_WIDTH);
    choices_make(&demoter, &choices, &used);
    if (choices.count)
        demoter.base = body_add_reg(body, TYPE_U32, intern(body->module->names, "%slot"));
    for (size_t i = 0; i < choices.count; i++) {
        /* Loads first: they go by the uses that there were, to which the store is added. */
        Loading loading = {&demoter, &choices.data[i]};
        gaps_close(&demoter.gaps, choices.data[i].value, load_place, &loading);
        store_place(&demoter, &choices.data[i]);
    }
    if (choices.count)
        base_make(&demoter, used);
    Demotion demotion = {(unsigned)choices.count, used};
    arena_free(arena);
    if (demotion.values)
        analyses_invalidate(analyses, ANALYSES_INSTRUCTIONS);
    return demotion;
}
