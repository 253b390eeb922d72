/* Locations, and a forward data-flow problem over them. */
#include "analysis/locations.h"

#include "analysis/ordering.h"

#include <string.h>

enum {
    MOST_LEAVES = 24,               /* of an address; addresses with more are ignored */
    MOST_LOCATIONS = 8192,
    MOST_WORDS = 1 << 22,           /* of all bit sets together */
    MOST_COMPARISONS = 1 << 20,     /* of stores with locations */
};

typedef struct Finder {
    Arena *arena, *scratch;
    const Body *body;
    const MemoryModel *model;
    const Values *values;
    bool any_width; /* loads that extend a place to different widths have one location */
    Locations *locations;
    VEC(Location) items;
    VEC(PlainAccess) accesses;
    uint32_t *table; /* hash table of location numbers + 1 */
    size_t mask;
} Finder;

static uint64_t location_hash(const Location *location)
{
    uint64_t hash = location->bytes * UINT64_C(0x9e3779b97f4a7c15) + location->space;
    hash ^= (uint64_t)location->form.constant * UINT64_C(0xbf58476d1ce4e5b9);
    for (unsigned i = 0; i < location->form.term_count; i++) {
        const AffineTerm *term = &location->form.terms[i];
        uint64_t key = (term->base + 1) * UINT64_C(0x94d049bb133111eb) ^ term->reg ^ (uintptr_t)term->object;
        hash += (key ^ (uint64_t)term->coefficient) * UINT64_C(0x9e3779b97f4a7c15);
    }
    return hash ^ hash >> 31;
}

/* True if loads of the type fill wider registers with zeros or with the sign. */
static bool is_extended(Type narrow)
{
    return narrow != TYPE_NONE && type_class(narrow) != CLASS_FLOAT;
}

/* True for the same place by the same sum, which affine_compare decides. */
static bool location_equal(const Finder *finder, const Location *a, const Location *b)
{
    bool same_width = a->reg_bits == b->reg_bits || (finder->any_width && is_extended(a->narrow));
    return a->space == b->space && a->bytes == b->bytes && a->narrow == b->narrow && same_width &&
           a->read_only == b->read_only && a->awaited == b->awaited &&
           affine_compare(&a->form, a->bytes, &b->form, b->bytes) == ALIAS_SAME;
}

/* The number of the location; LOCATION_NONE if it cannot be followed. */
static uint32_t location_number(Finder *finder, const Location *wanted)
{
    size_t slot = location_hash(wanted) & finder->mask;
    for (; finder->table[slot]; slot = (slot + 1) & finder->mask) {
        Location *have = &finder->items.data[finder->table[slot] - 1];
        if (!location_equal(finder, have, wanted))
            continue;
        if (have->lies_in == SPACE_NONE)
            have->lies_in = wanted->lies_in;
        return finder->table[slot] - 1;
    }
    RegIdVec leaves = {0};
    if (finder->items.count >= MOST_LOCATIONS ||
        !affine_leaves(finder->arena, finder->model->affine, &wanted->form, MOST_LEAVES, &leaves))
        return LOCATION_NONE;
    for (size_t i = 0; i < leaves.count; i++)
        if (value_is_undefined(finder->values, leaves.data[i]))
            return LOCATION_NONE;
    Location location = *wanted;
    AffineTerm *terms = ARENA_ARRAY(finder->arena, AffineTerm, wanted->form.term_count);
    memcpy(terms, wanted->form.terms, wanted->form.term_count * sizeof *terms);
    location.form.terms = terms;
    location.leaves = leaves.data;
    location.leaf_count = (uint32_t)leaves.count;
    VEC_PUSH(finder->scratch, finder->items, location);
    finder->table[slot] = (uint32_t)finder->items.count;
    return finder->table[slot] - 1;
}

/* The width of the register that the operand needs; 0: it is not such a register. */
static unsigned data_bits(const Finder *finder, const Inst *inst, const Operand *data, unsigned bytes)
{
    if (data->kind == OPERAND_CONSTANT)
        return data->constant->kind == CONSTANT_DECIMAL ? 0 : bytes * 8;
    RegId id = operand_plain_reg(inst, data);
    if (id == REG_NONE)
        return 0;
    const Reg *reg = &finder->body->regs.data[id];
    unsigned bits = type_bits(reg->type);
    return reg->vector > 1 || bits < 16 || bits > 64 ? 0 : bits;
}

static const Operand *data_operand(const Inst *inst, const Access *access)
{
    for (unsigned i = 0; i < inst->operand_count; i++)
        if (&inst->operands[i] != access->address)
            return &inst->operands[i];
    return NULL;
}

/* The access as elements; false if it is not plain. */
static bool access_find(Finder *finder, Inst *inst, PlainAccess *out)
{
    Access decoded;
    AffineAddress address;
    const Access *access = &decoded;
    if (!inst_is_plain(inst) || inst->sync != SYNC_NONE || !inst_access(inst, &decoded) || !access->weak ||
        !access->address || access->space == SPACE_PARAM || !access->bytes || inst->operand_count < 2)
        return false;
    bool is_store = access->kind == ACCESS_STORE;
    if (access->kind != ACCESS_LOAD && !is_store)
        return false;
    affine_of_address(finder->model->affine, inst, access->address, &address);
    const AffineForm *form = &address.form;
    if (!form->bits)
        return false;
    const Operand *data = data_operand(inst, access);
    bool is_vector = data->kind == OPERAND_VECTOR;
    *out = (PlainAccess){
        inst, is_store, is_vector ? data->items : data, is_vector ? data->item_count : 1, NULL};
    if (out->count != inst->signature->vector)
        return false;
    unsigned bytes = access->bytes / out->count;
    Type type = inst->signature->types[inst->signature->type_count - 1];
    uint32_t *numbers = ARENA_ARRAY(finder->arena, uint32_t, out->count);
    for (unsigned i = 0; i < out->count; i++) {
        unsigned bits = data_bits(finder, inst, &out->data[i], bytes);
        Location location = {
            .space = access->space == SPACE_GLOBAL ? SPACE_NONE : access->space,
            .lies_in = access->space != SPACE_NONE ? access->space : affine_space(form),
            .form = *form,
            .bytes = bytes,
            .narrow = bits != bytes * 8 ? type : TYPE_NONE,
            .reg_bits = bits,
            .read_only = access->read_only,
            .awaited = access->awaited,
        };
        location.form.constant = (int64_t)((uint64_t)form->constant + (uint64_t)i * bytes);
        if (form->bits == 32)
            location.form.constant = (int32_t)location.form.constant;
        /* A narrow store truncates: a register does not hold what a load would extend. */
        if (!bits || type_bits(type) != bytes * 8 || (is_store && location.narrow != TYPE_NONE))
            return false;
        numbers[i] = location_number(finder, &location);
        if (numbers[i] == LOCATION_NONE)
            return false;
    }
    out->locations = numbers;
    return true;
}

/* True if the instruction ends all locations; the next function: if it ends all but those in read-only memory. */
static bool ends_all(const Inst *inst)
{
    return inst_is_opaque(inst);
}

static bool ends_written(const Inst *inst, const Ordering *ordering)
{
    if (inst_is_relaxed_red(inst))
        return false; /* it ends those that its address may be of */
    return inst_is_call(inst) || inst->effects & (EFFECT_SYNC | EFFECT_ASYNC) || inst->sync != SYNC_NONE ||
           (ordering->is_volatile && inst->effects & (EFFECT_READ | EFFECT_WRITE)) ||
           (ordering->fence && !inst_is_terminator(inst)) || (ordering->writes && !ordering->decoded);
}

/* A load of each location. */
static Ordering *loads_of(Finder *finder)
{
    const Locations *locations = finder->locations;
    Ordering *loads = ARENA_ARRAY(finder->scratch, Ordering, locations->count + 1);
    for (uint32_t i = 0; i < locations->count; i++) {
        const Location *location = &locations->items[i];
        loads[i] = (Ordering){.reads = true, .decoded = true, .space = location->lies_in};
        loads[i].access = (Access){.kind = ACCESS_LOAD, .space = location->space, .bytes = location->bytes};
        loads[i].address.form = location->form;
    }
    return loads;
}

static void inst_ends(Finder *finder, const Inst *inst, const Ordering *loads, BitSet *ended)
{
    Locations *locations = finder->locations;
    Ordering ordering;
    ordering_find(finder->model, inst, &ordering);
    bool all = ends_all(inst), written = ends_written(inst, &ordering), awaits = inst_may_await(inst);
    for (uint32_t i = 0; i < locations->count; i++) {
        const Location *location = &locations->items[i];
        bool ends = all || (written && !location->read_only) || (awaits && location->awaited);
        if (!ends && ordering.writes && !location->read_only)
            ends = ordering_alias(finder->model, &ordering, &loads[i]) != ALIAS_NONE;
        if (ends)
            bitset_add(ended, i);
    }
}

static bool may_end(const Finder *finder, const Inst *inst)
{
    Ordering ordering;
    ordering_find(finder->model, inst, &ordering);
    return ends_all(inst) || ends_written(inst, &ordering) || ordering.writes;
}

static void accesses_find(Finder *finder)
{
    Locations *locations = finder->locations;
    const Body *body = finder->body;
    uint32_t count = 0, memory = 0;
    for (size_t b = 0; b < body->blocks.count; b++)
        for (Inst *inst = body->blocks.data[b]->first; inst; inst = inst->next) {
            inst->id = count++;
            memory += (inst->effects & (EFFECT_READ | EFFECT_WRITE)) != 0;
        }
    size_t size = 64;
    while (size < (size_t)memory * 16)
        size *= 2;
    finder->table = ARENA_ARRAY(finder->scratch, uint32_t, size);
    finder->mask = size - 1;
    locations->inst_count = count;
    locations->access_of = ARENA_ARRAY(finder->arena, const PlainAccess *, count);
    for (size_t b = 0; b < body->blocks.count; b++)
        for (Inst *inst = body->blocks.data[b]->first; inst; inst = inst->next) {
            PlainAccess access;
            if (access_find(finder, inst, &access))
                VEC_PUSH(finder->arena, finder->accesses, access);
        }
    locations->accesses = finder->accesses.data;
    locations->access_count = (uint32_t)finder->accesses.count;
    for (uint32_t i = 0; i < locations->access_count; i++)
        locations->access_of[locations->accesses[i].inst->id] = &locations->accesses[i];
    locations->items = finder->items.data;
    locations->count = (uint32_t)finder->items.count;
}

/* False if that takes too much memory or time. */
static bool ends_find(Finder *finder)
{
    Locations *locations = finder->locations;
    const Body *body = finder->body;
    uint64_t words = locations->count / 64 + 1, sets = 2 * body->blocks.count, enders = 0;
    for (size_t b = 0; b < body->blocks.count; b++)
        for (const Inst *inst = body->blocks.data[b]->first; inst; inst = inst->next)
            enders += may_end(finder, inst);
    if ((sets + enders) * words > MOST_WORDS || enders * locations->count > MOST_COMPARISONS)
        return false;
    const Ordering *loads = loads_of(finder);
    locations->ended = ARENA_ARRAY(finder->arena, BitSet *, locations->inst_count);
    for (size_t b = 0; b < body->blocks.count; b++)
        for (const Inst *inst = body->blocks.data[b]->first; inst; inst = inst->next)
            if (may_end(finder, inst)) {
                BitSet *ended = ARENA_NEW(finder->arena, BitSet);
                *ended = bitset_new(finder->arena, locations->count);
                inst_ends(finder, inst, loads, ended);
                locations->ended[inst->id] = ended;
            }
    locations->renewed = ARENA_ARRAY(finder->arena, BitSet, body->blocks.count);
    locations->entry = ARENA_ARRAY(finder->arena, BitSet, body->blocks.count);
    for (size_t b = 0; b < body->blocks.count; b++) {
        locations->renewed[b] = bitset_new(finder->arena, locations->count);
        locations->entry[b] = bitset_new(finder->arena, locations->count);
    }
    for (uint32_t i = 0; i < locations->count; i++)
        for (uint32_t k = 0; k < locations->items[i].leaf_count; k++)
            bitset_add(&locations->renewed[finder->values->defs[locations->items[i].leaves[k]].block->id], i);
    return true;
}

void locations_step(const Locations *locations, const Inst *inst, LocationSource source, BitSet *known)
{
    const BitSet *ended = locations->ended[inst->id];
    if (ended)
        for (size_t w = 0; w < divide_up(locations->count, 64); w++)
            known->words[w] &= ~ended->words[w];
    const PlainAccess *access = locations->access_of[inst->id];
    if (!access || (access->is_store && source == LOCATION_LOADS))
        return;
    for (unsigned i = 0; i < access->count; i++)
        bitset_add(known, access->locations[i]);
}

/* The locations that hold at the top of the block, given the present state of its predecessors. */
static void entry_meet(const Locations *locations, const BitSet *exits, const Block *block, BitSet *known)
{
    size_t words = divide_up(locations->count, 64);
    for (size_t w = 0; w < words; w++) {
        uint64_t word = block->pred_count ? UINT64_MAX : 0;
        for (unsigned p = 0; p < block->pred_count; p++)
            word &= exits[block->preds[p]->id].words[w];
        known->words[w] = word & ~locations->renewed[block->id].words[w];
    }
}

static void flow_solve(Finder *finder, LocationSource source)
{
    Locations *locations = finder->locations;
    const Body *body = finder->body;
    size_t words = divide_up(locations->count, 64);
    BitSet *exits = ARENA_ARRAY(finder->scratch, BitSet, body->blocks.count);
    for (size_t b = 0; b < body->blocks.count; b++) {
        exits[b] = bitset_new(finder->scratch, locations->count);
        for (size_t w = 0; w < words; w++)
            exits[b].words[w] = UINT64_MAX;
    }
    BitSet known = bitset_new(finder->scratch, locations->count);
    for (bool again = true; again;) {
        again = false;
        for (size_t b = 0; b < body->blocks.count; b++) {
            const Block *block = body->blocks.data[b];
            entry_meet(locations, exits, block, &known);
            bitset_copy(&locations->entry[b], &known);
            for (const Inst *inst = block->first; inst; inst = inst->next)
                locations_step(locations, inst, source, &known);
            if (!words || !memcmp(known.words, exits[b].words, words * sizeof *known.words))
                continue;
            bitset_copy(&exits[b], &known);
            again = true;
        }
    }
}

Locations *locations_compute(Arena *arena, const Body *body, const MemoryModel *model, const Values *values,
                             LocationSource source)
{
    require(body->ssa && model->affine);
    Arena *scratch = arena_new();
    Locations *locations = ARENA_NEW(arena, Locations);
    locations->body = body;
    Finder finder = {
        .arena = arena, .scratch = scratch, .body = body, .model = model, .values = values, .locations = locations,
        .any_width = source == LOCATION_LOADS};
    accesses_find(&finder);
    /* The numbers live as long as the result. */
    Location *items = ARENA_ARRAY(arena, Location, locations->count);
    if (locations->count)
        memcpy(items, locations->items, locations->count * sizeof *items);
    locations->items = items;
    const bool is_solved = source != LOCATION_PLACES;
    const bool found = locations->count && (!is_solved || ends_find(&finder));
    if (found && is_solved)
        flow_solve(&finder, source);
    arena_free(scratch);
    return found ? locations : NULL;
}
