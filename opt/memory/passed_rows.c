/* Rows that a loop stores for a later one of the same thread.
 *
 *     for (i = 0; i < n; i++)                   for (i = 0; i < n; i++)
 *         sum += out[i] = exp(in[i] - m);           sum += exp(in[i] - m);
 *     for (i = 0; i < n; i++)             ->    for (i = 0; i < n; i++)
 *         out[i] = out[i] / sum;                    out[i] = exp(in[i] - m) / sum;
 *
 * The later loops compute again what the first have stored, from what these have loaded, so that it is neither stored
 * nor loaded. Between the two, no other thread may read or write these bytes, nor write what is loaded again, since
 * nothing synchronizes there: it would be a data race.
 *
 * Compilers unroll such loops, not always both alike, and leave rounds over. So nothing is assumed about which round
 * passes what to which. Each element that the first loops store is the same function of one element at a distance that
 * they all have in common, and, as a test in front of them shows,
 *
 * - the loops store one range of bytes, each byte once, and the later loops the same;
 * - what is loaded again is in place, or outside that range; all other loads in between are outside of it.
 *
 * Elsewhere, the code as it was is executed. */
#include "opt/common/preheader.h"
#include "opt/common/version.h"
#include "opt/memory/sweeps.h"
#include "opt/passes.h"

enum {
    MOST_SWEEPS = 3,   /* on either side: what is unrolled, and what is left over, before or after */
    MOST_AGAIN = 32,   /* instructions that compute an element */
    MOST_COPIED = 4096, /* instructions of the rest of the kernel */
    MOST_TIMES = 8,
};

/* An element that is stored: where it is loaded from. */
typedef struct Origin {
    const Sweep *sweep;
    const RowAccess *store, *load;
    AffineForm distance; /* of the load from the store */
} Origin;

typedef VEC(const Block *) ConstBlocks;

typedef struct Passing {
    Sweeps s;
    size_t first, middle, end; /* sweeps [first, middle) store what [middle, end) load */
    Block *at;                 /* a block that leads to all of them */
    BitSet between;            /* by Block.id: what control passes from there to the last of them */
    VEC(Origin) origins;
    RegIdVec fixed;            /* what else they are computed from */
    VEC(const RowAccess *) passed; /* loads of the later sweeps */
    RegId distance;            /* of what is loaded from what is stored; REG_NONE: none */
} Passing;

static Sweep *sweep_of(Passing *p, size_t i)
{
    return &p->s.all.data[i];
}

static const RowAccess *access_of(const Sweep *sweep, const Inst *inst)
{
    for (size_t i = 0; i < sweep->loads.count; i++)
        if (sweep->loads.data[i].inst == inst)
            return &sweep->loads.data[i];
    return NULL;
}

static AffineForm stored_from(const Sweep *sweep)
{
    AffineForm form = sweep->stores.data[0].start;
    form.constant += sweep->first;
    return form;
}

/* Whether the sweep may go on where the other one ends: in the same array, as far as parameters show, at a distance
 * that code after that one's beginning computes. This decides what is tried, not what is right. */
static bool continues(const Passing *p, const Sweep *from, const Sweep *sweep)
{
    const AffineForm a = stored_from(sweep), b = stored_from(from);
    AffineForm way;
    bool is_later = false;
    if (!affine_add(p->s.scratch, &a, &b, -1, &way))
        return false;
    for (unsigned t = 0; t < way.term_count; t++) {
        const AffineTerm *term = &way.terms[t];
        if (term->base == AFFINE_PARAM)
            return false;
        if (term->base != AFFINE_VALUE && term->base != AFFINE_SIGNED)
            continue;
        const Block *made = p->s.values->defs[term->reg].block;
        is_later |= made && !dominance_has(p->s.dominance, made, from->loop->preheader);
    }
    return is_later;
}

/* Sets the place, and which blocks are between it and the later sweeps. */
static bool find_between(Passing *p)
{
    const Sweeps *s = &p->s;
    ConstBlocks pending = {0};
    p->at = sweep_of(p, p->first)->loop->preheader;
    for (size_t i = p->first; i < p->end && p->at; i++)
        p->at = dominance_common(s->dominance, p->at, sweep_of(p, i)->loop->preheader);
    if (!p->at || p->at->is_cold)
        return false;
    p->between = bitset_new(s->scratch, s->body->blocks.count);
    for (size_t i = p->middle; i < p->end; i++)
        VEC_PUSH(s->scratch, pending, sweep_of(p, i)->loop->header);
    while (pending.count) {
        const Block *block = VEC_POP(pending);
        if (block == p->at || bitset_has(&p->between, block->id))
            continue;
        bitset_add(&p->between, block->id);
        for (unsigned i = 0; i < block->pred_count; i++)
            VEC_PUSH(s->scratch, pending, block->preds[i]);
    }
    return true;
}

/* Whether the first sweeps are executed between the place and the later ones, once, and never after these. */
static bool are_in_order(Passing *p)
{
    const Sweeps *s = &p->s;
    for (size_t i = p->first; i < p->end; i++) {
        const Loop *loop = sweep_of(p, i)->loop;
        if (loop->parent != loop_of(s->loops, p->at) || !bitset_has(&p->between, loop->header->id))
            return false;
    }
    BitSet seen = bitset_new(s->scratch, s->body->blocks.count);
    ConstBlocks pending = {0};
    for (size_t i = p->middle; i < p->end; i++)
        VEC_PUSH(s->scratch, pending, sweep_of(p, i)->loop->header);
    while (pending.count) {
        const Block *block = VEC_POP(pending);
        if (!bitset_has(&p->between, block->id) || bitset_has(&seen, block->id))
            continue;
        bitset_add(&seen, block->id);
        if (block->fall)
            VEC_PUSH(s->scratch, pending, block->fall);
        for (unsigned t = 0; block->last && t < block->last->target_count; t++)
            VEC_PUSH(s->scratch, pending, block->last->targets[t]);
    }
    for (size_t i = p->first; i < p->middle; i++)
        if (bitset_has(&seen, sweep_of(p, i)->loop->header->id))
            return false;
    return true;
}

static bool is_of_sweep(Passing *p, const Block *block)
{
    for (size_t i = p->first; i < p->end; i++)
        if (sweep_of(p, i)->loop->header == block)
            return true;
    return false;
}

/* Whether nothing in between stores, synchronizes or ends the thread, apart from the stores of the sweeps, or loads
 * what these may have stored. */
static bool is_quiet(Passing *p)
{
    for (size_t b = 0; b < p->s.body->blocks.count; b++) {
        const Block *block = p->s.body->blocks.data[b];
        if (!bitset_has(&p->between, block->id))
            continue;
        for (const Inst *inst = block->first; inst; inst = inst->next) {
            Access access;
            if (inst_is_computation(inst) || (inst_is_branch(inst) && !inst_is_opaque(inst)))
                continue;
            if (!inst_is_plain(inst) || inst->sync != SYNC_NONE || !inst_access(inst, &access) ||
                (access.kind != ACCESS_LOAD && access.kind != ACCESS_STORE))
                return false;
            const bool is_apart = access.kind == ACCESS_LOAD && ((access.read_only && !access.awaited) ||
                                                                 access.space == SPACE_SHARED ||
                                                                 access.space == SPACE_LOCAL);
            if (!is_apart && !is_of_sweep(p, block))
                return false;
        }
    }
    return true;
}

/* The register with what is stored, as wide as what is; REG_NONE: there is none. */
static RegId stored_value(const Passing *p, const RowAccess *store)
{
    RegId found = REG_NONE;
    Access access;
    inst_access(store->inst, &access);
    for (unsigned i = 0; i < store->inst->operand_count; i++) /* two */
        if (&store->inst->operands[i] != access.address)
            found = inst_reg(store->inst, i);
    return found != REG_NONE && type_bits(p->s.body->regs.data[found].type) == 8 * store->bytes ? found : REG_NONE;
}

static bool is_made_by(const Passing *p, const Sweep *sweep, RegId reg)
{
    return p->s.values->defs[reg].block == sweep->loop->header;
}

static bool is_there_later(const Passing *p, RegId reg)
{
    const ValueDef *def = &p->s.values->defs[reg];
    for (size_t i = p->middle; i < p->end; i++)
        if (!def->block || !dominance_has(p->s.dominance, def->block, p->s.all.data[i].loop->preheader))
            return false;
    return true;
}

/* Finds the load that the value is computed from; false: that is not one, or something else is not the same in all
 * rounds. */
static bool find_origin(Passing *p, const Sweep *sweep, RegId value, const RowAccess **load)
{
    BitSet seen = bitset_new(p->s.scratch, p->s.values->reg_count);
    RegIdVec pending = {0};
    unsigned count = 0;
    VEC_PUSH(p->s.scratch, pending, value);
    while (pending.count) {
        const RegId reg = VEC_POP(pending);
        const Inst *inst = value_inst(p->s.values, reg);
        if (bitset_has(&seen, reg))
            continue;
        bitset_add(&seen, reg);
        if (!is_made_by(p, sweep, reg)) {
            VEC_PUSH(p->s.scratch, p->fixed, reg);
            continue;
        }
        const RowAccess *access = inst ? access_of(sweep, inst) : NULL;
        if (!inst || (access ? *load != NULL : !inst_is_computation(inst)) || count++ == MOST_AGAIN)
            return false;
        if (access)
            *load = access;
        for (unsigned r = 0; r < inst->ref_count && !access; r++)
            if (ref_reads(&inst->refs[r]))
                VEC_PUSH(p->s.scratch, pending, inst->refs[r].reg);
    }
    return *load && inst_result((*load)->inst) != REG_NONE;
}

/* Whether the two are the same instruction, whatever registers it reads, or, of loads, whatever they read from. */
static bool is_alike(const Inst *a, const Inst *b, bool is_load)
{
    if (a->signature != b->signature || a->form != b->form || a->operand_count != b->operand_count ||
        a->ref_count != b->ref_count)
        return false;
    for (unsigned i = 0; i < a->operand_count && !is_load; i++)
        if (!operand_equal(&a->operands[i], &b->operands[i]))
            return false;
    return true;
}

/* Whether registers that the two elements are computed from hold the same function of what is loaded, if those that
 * 'partners' (by RegId) pairs already do. */
static bool values_match(const Passing *p, const Origin *a, RegId x, const Origin *b, RegId y, RegId *partners)
{
    if (!is_made_by(p, a->sweep, x) || !is_made_by(p, b->sweep, y))
        return x == y && !is_made_by(p, a->sweep, x) && !is_made_by(p, b->sweep, y);
    if (partners[x] != REG_NONE)
        return partners[x] == y;
    const Inst *of_x = value_inst(p->s.values, x), *of_y = value_inst(p->s.values, y);
    const bool is_load = of_x == a->load->inst;
    if (is_load != (of_y == b->load->inst) || !is_alike(of_x, of_y, is_load) ||
        p->s.body->regs.data[x].type != p->s.body->regs.data[y].type)
        return false;
    partners[x] = y;
    for (unsigned r = 0; r < of_x->ref_count && !is_load; r++) {
        if (of_x->refs[r].role != of_y->refs[r].role)
            return false;
        if (ref_reads(&of_x->refs[r]) && !values_match(p, a, of_x->refs[r].reg, b, of_y->refs[r].reg, partners))
            return false;
    }
    return true;
}

/* Whether the two elements are the same function of what they are loaded from. */
static bool is_same_function(const Passing *p, const Origin *a, const Origin *b)
{
    RegId *partners = ARENA_ARRAY(p->s.scratch, RegId, p->s.values->reg_count);
    for (size_t r = 0; r < p->s.values->reg_count; r++)
        partners[r] = REG_NONE;
    return values_match(p, a, stored_value(p, a->store), b, stored_value(p, b->store), partners);
}

static bool add_origin(Passing *p, const Sweep *sweep, const RowAccess *store)
{
    const RegId value = stored_value(p, store);
    const RowAccess *load = NULL;
    if (value == REG_NONE || !find_origin(p, sweep, value, &load) || load->step != store->step ||
        load->bytes != store->bytes || type_bits(p->s.body->regs.data[inst_result(load->inst)].type) != 8 * load->bytes)
        return false;
    Origin origin = {.sweep = sweep, .store = store, .load = load};
    if (!affine_add(p->s.scratch, &load->start, &store->start, -1, &origin.distance))
        return false;
    if (p->origins.count && !is_same_function(p, &p->origins.data[0], &origin))
        return false;
    VEC_PUSH(p->s.scratch, p->origins, origin);
    return true;
}

static bool find_origins(Passing *p)
{
    p->origins.count = p->fixed.count = 0;
    for (size_t i = p->first; i < p->middle; i++)
        for (size_t k = 0; k < sweep_of(p, i)->stores.count; k++)
            if (!add_origin(p, sweep_of(p, i), &sweep_of(p, i)->stores.data[k]))
                return false;
    return true;
}

/* Whether a load of a later sweep, near its stores, reads what is passed: an element that it stores afterwards, of the
 * same size and type. */
static bool takes_element(Passing *p, const Sweep *sweep, const RowAccess *load)
{
    const Origin *origin = &p->origins.data[0];
    const RegId result = inst_result(load->inst);
    if (load->step != sweep->step || load->bytes != origin->store->bytes || result == REG_NONE ||
        p->s.body->regs.data[result].type != p->s.body->regs.data[stored_value(p, origin->store)].type)
        return false;
    for (size_t i = 0; i < sweep->stores.count; i++) {
        const RowAccess *store = &sweep->stores.data[i];
        if (store->offset == load->offset)
            return store->bytes == load->bytes && inst_comes_before(load->inst, store->inst);
    }
    return false;
}

static bool find_passed(Passing *p)
{
    p->passed.count = 0;
    for (size_t i = p->middle; i < p->end; i++) {
        const Sweep *sweep = sweep_of(p, i);
        for (size_t k = 0; k < sweep->loads.count; k++) {
            if (!sweep->loads.data[k].is_near)
                continue;
            if (!takes_element(p, sweep, &sweep->loads.data[k]))
                return false;
            VEC_PUSH(p->s.scratch, p->passed, &sweep->loads.data[k]);
        }
    }
    return p->passed.count > 0;
}

static bool is_compared(Passing *p, const RowAccess *load)
{
    for (size_t i = 0; i < p->origins.count; i++)
        if (p->origins.data[i].load == load || load->is_fixed)
            return false;
    for (size_t i = 0; i < p->passed.count; i++)
        if (p->passed.data[i] == load)
            return false;
    return true;
}

/* Requires that the loads from the same register as this one, if it is the first of them, are outside of what is
 * stored. */
static bool require_apart(Passing *p, const Sweep *sweep, size_t index, RegId begin, RegId end)
{
    const RowAccess *load = &sweep->loads.data[index];
    int64_t first = 0, past = load->bytes;
    RegId low, high;
    for (size_t i = 0; i < sweep->loads.count; i++) {
        const RowAccess *other = &sweep->loads.data[i];
        const int64_t way = other->constant - load->constant;
        if (other->base != load->base || !is_compared(p, other))
            continue;
        if (i < index)
            return true;
        first = way < first ? way : first;
        past = way + other->bytes > past ? way + other->bytes : past;
    }
    if (!sweep_hull_build(&p->s, sweep, load, first, past, &low, &high))
        return false;
    const RegId below = sweeps_compare(&p->s, "setp.le.s64", high, begin);
    sweeps_require(&p->s, sweep->executed,
                   sweeps_either(&p->s, below, sweeps_compare(&p->s, "setp.ge.s64", low, end)));
    return true;
}

static RegId distance_build(Passing *p, const Origin *origin)
{
    Sweeps *s = &p->s;
    const RegId from = row_access_early(s, origin->sweep, origin->load);
    const RegId to = row_access_early(s, origin->sweep, origin->store);
    if (from == REG_NONE || to == REG_NONE)
        return REG_NONE;
    const RegId distance = sum_reg(&s->place, TYPE_B64, "%row");
    sum_put(&s->place, inst_build(s->body, "sub.s64", "drr", distance, from, to));
    return distance;
}

/* Requires that all elements are loaded from the same distance, which is set. */
static bool require_one_distance(Passing *p)
{
    const Origin *first = &p->origins.data[0];
    if ((p->distance = distance_build(p, first)) == REG_NONE)
        return false;
    for (size_t i = 1; i < p->origins.count; i++) {
        const Origin *origin = &p->origins.data[i];
        if (affine_compare(&origin->distance, 1, &first->distance, 1) == ALIAS_SAME)
            continue;
        const RegId distance = distance_build(p, origin);
        if (distance == REG_NONE)
            return false;
        sweeps_require(&p->s, origin->sweep->executed, sweeps_compare(&p->s, "setp.eq.s64", distance, p->distance));
    }
    return true;
}

static bool is_in_place(const Origin *origin)
{
    return !origin->distance.term_count && !origin->distance.constant;
}

/* Requires that what is loaded again is in place, or as far from there as the range is long. */
static bool require_distance(Passing *p, RegId begin, RegId end)
{
    Sweeps *s = &p->s;
    if (!require_one_distance(p))
        return false;
    if (is_in_place(&p->origins.data[0])) {
        p->distance = REG_NONE;
        return true;
    }
    if (p->origins.data[0].load->is_fixed)
        return true;
    const RegId length = sum_reg(&s->place, TYPE_B64, "%row"), back = sum_reg(&s->place, TYPE_B64, "%row");
    sum_put(&s->place, inst_build(s->body, "sub.s64", "drr", length, end, begin));
    sum_put(&s->place, inst_build(s->body, "neg.s64", "dr", back, p->distance));
    const RegId outside = sweeps_either(s, sweeps_compare(s, "setp.ge.s64", p->distance, length),
                                        sweeps_compare(s, "setp.ge.s64", back, length));
    const RegId in_place = sum_reg(&s->place, TYPE_PRED, "%holds");
    sum_put(&s->place, inst_build(s->body, "setp.eq.s64", "dri", in_place, p->distance, (int64_t)0));
    sweeps_require(s, REG_NONE, sweeps_either(s, outside, in_place));
    return true;
}

static bool test_build(Passing *p)
{
    RegId begin = REG_NONE, end = REG_NONE, begin_later = REG_NONE, end_later = REG_NONE;
    sweeps_begin(&p->s, p->at);
    for (size_t i = p->first; i < p->middle; i++)
        if (!sweep_build(&p->s, sweep_of(p, i), &begin, &end))
            return false;
    for (size_t i = p->middle; i < p->end; i++)
        if (!sweep_build(&p->s, sweep_of(p, i), &begin_later, &end_later))
            return false;
    /* Sums of what is computed under a condition are only known to be equal where that holds. */
    sweeps_require(&p->s, REG_NONE, sweeps_compare(&p->s, "setp.eq.s64", begin, begin_later));
    sweeps_require(&p->s, REG_NONE, sweeps_compare(&p->s, "setp.eq.s64", end, end_later));
    for (size_t i = p->first; i < p->end; i++)
        for (size_t k = 0; k < sweep_of(p, i)->loads.count; k++)
            if (is_compared(p, &sweep_of(p, i)->loads.data[k]) &&
                !require_apart(p, sweep_of(p, i), k, begin, end))
                return false;
    for (size_t i = 0; i < p->fixed.count; i++)
        if (!is_there_later(p, p->fixed.data[i]) && sweeps_early(&p->s, p->fixed.data[i]) == REG_NONE)
            return false;
    return require_distance(p, begin, end);
}

/* An element whose load has the offset of the passed one, if there is one, so that no other address is needed. */
static const Origin *origin_for(const Passing *p, const RowAccess *passed)
{
    for (size_t i = 0; i < p->origins.count; i++)
        if (p->origins.data[i].load->constant == passed->constant)
            return &p->origins.data[i];
    return &p->origins.data[0];
}

/* The register from which the origin's load counts in the place of the passed one. */
static RegId base_build(const Passing *p, const RowAccess *passed, const RowAccess *load)
{
    Body *body = p->s.body;
    const int64_t constant = passed->constant - load->constant;
    RegId base = passed->base;
    if (p->distance != REG_NONE) {
        const RegId moved = body_clone_reg(body, base);
        inst_insert_before(passed->inst, inst_build(body, "add.s64", "drr", moved, base, p->distance));
        base = moved;
    }
    if (constant) {
        const RegId moved = body_clone_reg(body, base);
        inst_insert_before(passed->inst, inst_build(body, "add.s64", "dri", moved, base, constant));
        base = moved;
    }
    return base;
}

/* Adds copies of what computes the value before the instruction, as far as 'names' has no names for it yet. */
static void copy_value(const Passing *p, const Block *from, RegId reg, Inst *before, RegId *names)
{
    const ValueDef *def = &p->s.values->defs[reg];
    if (names[reg] != REG_NONE)
        return;
    if (def->block != from) {
        names[reg] = is_there_later(p, reg) ? reg : p->s.early[reg];
        return;
    }
    for (unsigned r = 0; r < def->inst->ref_count; r++)
        if (ref_reads(&def->inst->refs[r]))
            copy_value(p, from, def->inst->refs[r].reg, before, names);
    inst_insert_before(before, inst_clone_renamed(p->s.body, def->inst, names));
}

static void compute_again(const Passing *p, const RowAccess *passed)
{
    Body *body = p->s.body;
    const Origin *origin = origin_for(p, passed);
    const RegId value = stored_value(p, origin->store), result = inst_result(passed->inst);
    RegId *names = ARENA_ARRAY(p->s.scratch, RegId, p->s.values->reg_count);
    for (size_t r = 0; r < p->s.values->reg_count; r++)
        names[r] = REG_NONE;
    names[origin->load->base] = base_build(p, passed, origin->load);
    inst_insert_before(passed->inst, inst_clone_renamed(body, origin->load->inst, names));
    copy_value(p, origin->load->inst->block, value, passed->inst, names);
    const char *move = passed->bytes == 8 ? "mov.b64" : passed->bytes == 4 ? "mov.b32" : "mov.b16";
    inst_insert_before(passed->inst, inst_build(body, move, "dr", result, names[value]));
    inst_remove(passed->inst);
}

/* False, and nothing is changed, if these sweeps pass nothing, as far as can be shown. */
static bool pass_on(Passing *p)
{
    Sweeps *s = &p->s;
    if (!find_between(p) || !are_in_order(p) || !is_quiet(p) || !find_origins(p) || !find_passed(p))
        return false;
    Inst *end = p->at->last && inst_is_terminator(p->at->last) ? p->at->last : NULL;
    if (!body_may_version(s->body, s->dominance, p->at, end, MOST_COPIED))
        return false;
    s->place = sum_place_new(s->body, p->at, s->analyses);
    Inst *before = sum_place_end(&s->place);
    if (!test_build(p)) {
        sum_place_undo(&s->place, before);
        return false;
    }
    body_version(s->body, p->at, end, s->holds);
    for (size_t i = 0; i < p->passed.count; i++)
        compute_again(p, p->passed.data[i]);
    for (size_t i = 0; i < p->origins.count; i++)
        inst_remove(p->origins.data[i].store->inst);
    return true;
}

/* The sweep after the last that may go on where this one, and those that follow it, end. */
static size_t continued_to(Passing *p, size_t first)
{
    size_t end = first + 1;
    while (end < p->s.all.count && end < first + MOST_SWEEPS && continues(p, sweep_of(p, first), sweep_of(p, end)))
        end++;
    return end;
}

static bool find_pair(Passing *p)
{
    for (p->first = 0; p->first < p->s.all.count; p->first++) {
        const AffineForm from = stored_from(sweep_of(p, p->first));
        p->middle = continued_to(p, p->first);
        if (p->middle == p->s.all.count)
            continue;
        const AffineForm later = stored_from(sweep_of(p, p->middle));
        p->end = continued_to(p, p->middle);
        if (affine_compare(&from, 1, &later, 1) == ALIAS_SAME && pass_on(p))
            return true;
    }
    return false;
}

/* Whether more than one loop of one block stores something. */
static bool has_storing_loops(const LoopForest *loops)
{
    unsigned count = 0;
    for (uint32_t i = 0; i < loops->loop_count && count < 2; i++) {
        const Loop *loop = &loops->loops[i];
        bool stores = false;
        for (const Inst *inst = loop->header->first; inst && loop->block_count == 1; inst = inst->next) {
            Access access;
            stores |= inst_access(inst, &access) && access.kind == ACCESS_STORE;
        }
        count += stores;
    }
    return count > 1;
}

bool pass_passed_rows(PassContext *context)
{
    bool changed = false;
    for (unsigned i = 0; i < MOST_TIMES && has_storing_loops(analyses_loops(context->analyses)); i++) {
        Arena *scratch = arena_new();
        Passing p = {.s = {.scratch = scratch, .body = context->body, .analyses = context->analyses}};
        loops_add_preheaders(context->body, context->analyses);
        analyses_invalidate(context->analyses, ANALYSES_ALL);
        sweeps_find(&p.s);
        const bool done = find_pair(&p);
        arena_free(scratch);
        if (!done)
            break;
        analyses_invalidate(context->analyses, ANALYSES_ALL);
        changed = true;
    }
    return changed;
}
