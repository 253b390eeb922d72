/* Loops that a compiler has unrolled, rolled up again.
 *
 *     for (i = 0; i < 256; i += 16) {        for (i = 0; i < 256; i += 4) {
 *         s += f(p[i]);                          s += f(p[i]);
 *         ...                          ->        ...
 *         s += f(p[i + 15]);                     s += f(p[i + 3]);
 *     }                                      }
 *
 * Threads that share the rounds of a loop read next to each other only if a round reads no more than one vector, and a
 * tile has few elements for each round. Compilers unroll loops of a constant number of rounds by up to 32, and others,
 * clang by 8; of these, those are rolled up that walk along rows of the threads' own and access nothing else.
 *
 * The round of a loop of one block has N *parts* if part j computes and stores what the first one would do j / N of a
 * round later: with counters and pointers that have grown by j / N of a step, and with the sums that the part before
 * has left.
 * Instructions of the two parts are compared one by one, from the stores and the sums back to what the round begins
 * with; integers are compared as sums. The loop then executes the first part alone, N times as often, and a counter of
 * its own ends it. If it stores, all accesses of a part come before those of the next one. So everything is computed,
 * loaded and stored as before, in the same order. */
#include "opt/common/early.h"
#include "opt/common/preheader.h"
#include "opt/common/trips.h"
#include "opt/passes.h"

#include <string.h>

enum { MOST_INSTS = 2048, MOST_PARTS = 64, MOST_CARRIED = 24, MOST_ROUNDS = 1 << 24 };

typedef VEC(Inst *) InstVec;

/* A value that a round leaves to the next one. */
typedef struct Carried {
    size_t phi; /* of the header */
    RegId reg, next;
    bool is_counter; /* grows by 'step' */
    int64_t step;
    InstVec links; /* else: the instructions that make 'next' from 'reg', in order */
} Carried;

typedef struct Pair {
    RegId a, b;
} Pair;

typedef struct Roll {
    Arena *scratch;
    Body *body;
    Analyses *analyses;
    const Loop *loop;
    Block *block; /* all of the loop */
    const Values *values;
    const Affine *affine;
    TripCount trips;
    uint64_t rounds; /* 0: not a constant */
    Carried carried[MOST_CARRIED];
    unsigned carried_count;
    InstVec stores, accesses; /* accesses: with those loads that a store might change */
    unsigned parts, part;     /* part: which one is compared with the first; */
    RegId *match;             /* by RegId: its value; ... */
    unsigned *matched;        /* ... in the part with this number */
    VEC(Pair) pending;
} Roll;

static bool is_inside(const Roll *r, RegId reg)
{
    return r->values->defs[reg].block == r->block;
}

static const Carried *counter_of(const Roll *r, RegId reg)
{
    for (unsigned i = 0; i < r->carried_count; i++)
        if (r->carried[i].reg == reg && r->carried[i].is_counter)
            return &r->carried[i];
    return NULL;
}

/* The instructions of the block that make 'next' from 'reg'. False if the last of them does not. */
static bool find_links(Roll *r, Carried *c)
{
    BitSet from = bitset_new(r->scratch, r->values->reg_count), to = bitset_new(r->scratch, r->values->reg_count);
    bitset_add(&from, c->reg);
    bitset_add(&to, c->next);
    for (const Inst *inst = r->block->first; inst; inst = inst->next) {
        bool reads = false;
        for (unsigned i = 0; i < inst->ref_count; i++)
            reads |= ref_reads(&inst->refs[i]) && bitset_has(&from, inst->refs[i].reg);
        for (unsigned i = 0; reads && i < inst->ref_count; i++)
            if (ref_writes(&inst->refs[i]))
                bitset_add(&from, inst->refs[i].reg);
    }
    InstVec backwards = {0};
    for (Inst *inst = r->block->last; inst; inst = inst->prev) {
        bool makes = false, is_link = false;
        for (unsigned i = 0; i < inst->ref_count; i++) {
            makes |= ref_writes(&inst->refs[i]) && bitset_has(&to, inst->refs[i].reg);
            is_link |= ref_writes(&inst->refs[i]) && bitset_has(&from, inst->refs[i].reg);
        }
        for (unsigned i = 0; makes && i < inst->ref_count; i++)
            if (ref_reads(&inst->refs[i]))
                bitset_add(&to, inst->refs[i].reg);
        if (makes && is_link)
            VEC_PUSH(r->scratch, backwards, inst);
    }
    for (size_t i = backwards.count; i--;)
        VEC_PUSH(r->scratch, c->links, backwards.data[i]);
    return c->links.count && inst_destination(VEC_LAST(c->links)) == c->next;
}

static bool find_carried(Roll *r)
{
    const Block *header = r->block;
    if (header->phis.count > MOST_CARRIED)
        return false;
    for (size_t p = 0; p < header->phis.count; p++) {
        const Phi *phi = &header->phis.data[p];
        AffineTerm terms[AFFINE_TERMS];
        AffineForm step;
        Carried *c = &r->carried[r->carried_count++];
        *c = (Carried){.phi = p, .reg = phi->dst, .next = phi_argument(phi, r->block)};
        c->is_counter = loop_step(r->loop, phi, r->affine, terms, &step) && !step.term_count &&
                        step.bits == type_bits(r->body->regs.data[phi->dst].type);
        c->step = c->is_counter ? step.constant : 0;
        if (!c->is_counter && !find_links(r, c))
            return false;
    }
    return true;
}

/* Sorts the block's instructions. False if one does more than compute, load and store. */
static bool find_accesses(Roll *r)
{
    const unsigned harmless = EFFECT_PURE | EFFECT_READ | EFFECT_THREAD | EFFECT_TRAP | EFFECT_HINT;
    unsigned count = 0;
    for (Inst *inst = r->block->first; inst && inst != r->block->last; inst = inst->next) {
        Access access = {0};
        const Sreg *sreg = inst_is_opaque(inst) ? NULL : inst_sreg(inst);
        const bool accesses = inst_access(inst, &access);
        const bool is_store = accesses && access.kind == ACCESS_STORE;
        if (!inst_is_plain(inst) || inst->sync != SYNC_NONE || inst->pragma || ++count > MOST_INSTS ||
            inst->effects & ~(harmless | (is_store ? EFFECT_WRITE : 0)) ||
            (sreg && sreg->dependence == SREG_VOLATILE) ||
            (accesses && ((access.kind != ACCESS_LOAD && !is_store) || !access.address || !access.weak)))
            return false;
        if (is_store)
            VEC_PUSH(r->scratch, r->stores, inst);
        if (accesses && !access.read_only)
            VEC_PUSH(r->scratch, r->accesses, inst);
    }
    return true;
}

/* True if nothing after the loop reads other values of it than those that the next round would begin with. */
static bool leaves_next_alone(const Roll *r)
{
    const LoopForest *loops = analyses_loops(r->analyses);
    for (RegId reg = 0; reg < r->values->reg_count; reg++) {
        bool is_next = !is_inside(r, reg);
        for (unsigned i = 0; i < r->carried_count; i++)
            is_next |= r->carried[i].next == reg;
        for (uint32_t u = 0; !is_next && u < value_use_count(r->values, reg); u++)
            if (!loop_contains(loops, r->loop, value_uses(r->values, reg)[u].block))
                return false;
    }
    return true;
}

/* By how much the sum grows from one part to the next. False if it has a term that changes in another way. */
static bool part_step(const Roll *r, const AffineForm *form, uint64_t *step)
{
    for (unsigned t = 0; t < form->term_count; t++) {
        const AffineTerm *term = &form->terms[t];
        if ((term->base != AFFINE_VALUE && term->base != AFFINE_SIGNED) || !is_inside(r, term->reg))
            continue;
        const Carried *c = counter_of(r, term->reg);
        if (!c || term->base != AFFINE_VALUE || type_bits(r->body->regs.data[term->reg].type) < form->bits)
            return false;
        *step += (uint64_t)term->coefficient * (uint64_t)(c->step / r->parts);
    }
    return true;
}

/* True if b is what a becomes in the part. */
static bool is_moved(const Roll *r, const AffineForm *a, const AffineForm *b)
{
    uint64_t step = 0;
    AffineForm moved = *a;
    if (!a->bits || a->bits != b->bits || !part_step(r, a, &step))
        return false;
    const uint64_t constant = (uint64_t)a->constant + step * r->part;
    moved.constant = a->bits == 32 ? (int64_t)(int32_t)(uint32_t)constant : (int64_t)constant;
    return affine_compare(&moved, 1, b, 1) == ALIAS_SAME;
}

/* Assumes that b is in the part what a is in the first one; what they are made from is compared later. False if another
 * value is already known to be. */
static bool pair_add(Roll *r, RegId a, RegId b)
{
    if (r->matched[a] == r->part)
        return r->match[a] == b;
    r->matched[a] = r->part;
    r->match[a] = b;
    VEC_PUSH(r->scratch, r->pending, ((Pair){a, b}));
    return true;
}

/* The same of the registers that an operand reads. Operands nest two deep at most. */
static bool operands_pair(Roll *r, const Inst *a, const Operand *of_a, const Inst *b, const Operand *of_b)
{
    if (of_a->kind == OPERAND_REG) {
        const RegRef *x = operand_ref(a, of_a), *y = operand_ref(b, of_b);
        return x->role == y->role && (!ref_reads(x) || pair_add(r, x->reg, y->reg));
    }
    for (unsigned i = 0; i < of_a->item_count; i++)
        if (!operands_pair(r, a, &of_a->items[i], b, &of_b->items[i]))
            return false;
    return true;
}

static bool is_address_moved(const Roll *r, const Inst *a, const Access *of_a, const Inst *b, const Access *of_b)
{
    AffineAddress x, y;
    affine_of_address(r->affine, a, of_a->address, &x);
    affine_of_address(r->affine, b, of_b->address, &y);
    return is_moved(r, &x.form, &y.form);
}

/* True if b does in the part what a does in the first one, if the values do that they are made from. */
static bool insts_pair(Roll *r, const Inst *a, const Inst *b)
{
    Access of_a = {0}, of_b = {0};
    if (a->signature != b->signature || a->form != b->form || a->operand_count != b->operand_count)
        return false;
    const bool moves = inst_access(a, &of_a) && inst_access(b, &of_b) && is_address_moved(r, a, &of_a, b, &of_b);
    for (unsigned i = 0; i < a->operand_count; i++) {
        const Operand *x = &a->operands[i], *y = &b->operands[i];
        if (moves && x == of_a.address && y == of_b.address)
            continue;
        if (!operand_equal(x, y) || !operands_pair(r, a, x, b, y))
            return false;
    }
    return true;
}

static bool values_pair(Roll *r, const Pair *pair)
{
    const ValueDef *a = &r->values->defs[pair->a], *b = &r->values->defs[pair->b];
    if (is_moved(r, &r->affine->forms[pair->a], &r->affine->forms[pair->b]))
        return true;
    if (!is_inside(r, pair->a))
        return pair->a == pair->b;
    return a->inst && b->inst && is_inside(r, pair->b) && a->ref == b->ref && insts_pair(r, a->inst, b->inst);
}

/* The value that a part begins with. */
static RegId begins_with(const Roll *r, const Carried *c, unsigned part)
{
    return part ? inst_destination(c->links.data[c->links.count / r->parts * part - 1]) : c->reg;
}

/* The load of the part that is what this one is in the first; NULL: it is for nothing. */
static const Inst *load_of_part(const Roll *r, const Inst *load)
{
    for (unsigned i = 0; i < load->ref_count; i++)
        if (ref_writes(&load->refs[i]) && r->matched[load->refs[i].reg] == r->part)
            return r->values->defs[r->match[load->refs[i].reg]].inst;
    return NULL;
}

/* In a loop that stores, the accesses are those of the first part, of the second, and so on. */
static bool are_accesses_in_order(const Roll *r)
{
    const size_t count = r->accesses.count / r->parts, stores = r->stores.count / r->parts;
    size_t store = 0;
    if (!r->stores.count)
        return true;
    if (r->accesses.count % r->parts)
        return false;
    for (size_t i = 0; i < count; i++) {
        const Inst *first = r->accesses.data[i], *own = r->accesses.data[r->part * count + i];
        const bool is_store = store < stores && r->stores.data[store] == first;
        if (own != (is_store ? r->stores.data[r->part * stores + store] : load_of_part(r, first)))
            return false;
        store += is_store;
    }
    return store == stores;
}

/* True if the part is what the first one would be. */
static bool is_part(Roll *r)
{
    const size_t stores = r->stores.count / r->parts;
    r->pending.count = 0;
    for (unsigned i = 0; i < r->carried_count; i++) {
        const Carried *c = &r->carried[i];
        if (c->is_counter)
            continue;
        r->match[c->reg] = begins_with(r, c, r->part);
        r->matched[c->reg] = r->part;
    }
    for (unsigned i = 0; i < r->carried_count; i++)
        if (!r->carried[i].is_counter && !pair_add(r, begins_with(r, &r->carried[i], 1),
                                                   begins_with(r, &r->carried[i], r->part + 1)))
            return false;
    for (size_t i = 0; i < stores; i++)
        if (!insts_pair(r, r->stores.data[i], r->stores.data[r->part * stores + i]))
            return false;
    while (r->pending.count) {
        const Pair pair = VEC_POP(r->pending);
        if (!values_pair(r, &pair))
            return false;
    }
    return are_accesses_in_order(r);
}

/* Whether a round has this number of parts. */
static bool has_parts(Roll *r, unsigned parts)
{
    r->parts = parts;
    if (parts < 2 || parts > MOST_PARTS || r->stores.count % parts)
        return false;
    for (unsigned i = 0; i < r->carried_count; i++) {
        const Carried *c = &r->carried[i];
        if (c->is_counter ? c->step % (int64_t)parts != 0 : c->links.count % parts != 0)
            return false;
        for (unsigned p = 1; p < parts && !c->is_counter; p++)
            if (begins_with(r, c, p) == REG_NONE)
                return false;
    }
    memset(r->matched, 0, r->values->reg_count * sizeof *r->matched);
    for (r->part = 1; r->part < parts; r->part++)
        if (!is_part(r))
            return false;
    return true;
}

/* How an address moves: by 'step' in each round, from one that is 'first' apart from a place that is taken to be
 * aligned. */
typedef struct Walk {
    int64_t step, first;
    unsigned bytes;
} Walk;

/* Adds the terms of a sum, and, once, those of sums of 32 bits that it extends. */
static void walk_add(const Roll *r, const AffineForm *form, int64_t factor, bool is_extended, Walk *walk)
{
    walk->first = (int64_t)((uint64_t)walk->first + (uint64_t)factor * (uint64_t)form->constant);
    for (unsigned t = 0; t < form->term_count; t++) {
        const AffineTerm *term = &form->terms[t];
        if ((term->base != AFFINE_VALUE && term->base != AFFINE_SIGNED) || !is_inside(r, term->reg))
            continue;
        const Carried *c = counter_of(r, term->reg);
        const int64_t by = (int64_t)((uint64_t)factor * (uint64_t)term->coefficient);
        if (c) {
            const AffineForm *start = &r->affine->forms[loop_start(r->loop, &r->block->phis.data[c->phi])];
            walk->step = (int64_t)((uint64_t)walk->step + (uint64_t)by * (uint64_t)c->step);
            walk->first = (int64_t)((uint64_t)walk->first + (uint64_t)by * (uint64_t)start->constant);
        } else if (!is_extended && r->affine->forms[term->reg].bits == 32) {
            walk_add(r, &r->affine->forms[term->reg], by, true, walk);
        }
    }
}

/* The access to global memory that moves least, of all those the first in memory; *are_alike: all move as much. */
static Walk least_walk(const Roll *r, bool *are_alike)
{
    Walk least = {.step = INT64_MAX};
    *are_alike = true;
    for (const Inst *inst = r->block->first; inst; inst = inst->next) {
        Access access;
        AffineAddress address;
        if (!inst_access(inst, &access) || (access.space != SPACE_GLOBAL && access.space != SPACE_NONE))
            continue;
        affine_of_address(r->affine, inst, access.address, &address);
        Walk own = {.bytes = access.bytes};
        walk_add(r, &address.form, 1, false, &own);
        own.step = own.step < 0 ? -own.step : own.step;
        *are_alike &= least.step == INT64_MAX || own.step == least.step;
        if (own.step && (own.step < least.step || (own.step == least.step && own.first < least.first)))
            least = own;
    }
    return least;
}

/* Whether threads along x access rows of their own; threads along y, none that others do not. */
static bool has_own_rows(const Roll *r)
{
    bool has_own = false;
    for (const Inst *inst = r->block->first; inst; inst = inst->next) {
        Access access;
        const RegId base = inst_access(inst, &access) && access.address ? address_base(inst, access.address) : REG_NONE;
        const AffineForm *form = base == REG_NONE ? NULL : &r->affine->forms[base];
        for (unsigned t = 0; form && t < form->term_count; t++) {
            const AffineTerm *term = &form->terms[t];
            if (term->base == AFFINE_SREG && !sreg_is_common(term->sreg)) {
                if (term->sreg->role != SREG_ROLE_TID || term->sreg->axis != SREG_AXIS_X)
                    return false;
                has_own = true;
            }
            if (term->base != AFFINE_VALUE && term->base != AFFINE_SIGNED)
                continue;
            const Carried *c = counter_of(r, term->reg);
            const RegId reg = c ? loop_start(r->loop, &r->block->phis.data[c->phi]) : term->reg;
            if (value_is_common(r->scratch, r->values, reg))
                continue;
            if (!value_has_x_alone(r->scratch, r->values, reg))
                return false;
            has_own = true;
        }
    }
    return has_own;
}

/* Parts that access a vector of memory each, or one element if a round is not a multiple of that. */
static bool find_parts(Roll *r)
{
    enum { VECTOR = 16, MOST_STEP = VECTOR * MOST_PARTS };
    bool are_alike;
    const Walk least = least_walk(r, &are_alike);
    if (VECTOR % least.step == 0 || least.step > MOST_STEP || !least.bytes)
        return false;
    if (!r->rounds)
        return are_alike && least.step % VECTOR == 0 && has_own_rows(r) &&
               has_parts(r, (unsigned)(least.step / VECTOR));
    if (least.step % VECTOR == 0 && least.first % VECTOR == 0 && has_parts(r, (unsigned)(least.step / VECTOR)))
        return true;
    return has_parts(r, (unsigned)(least.step / least.bytes));
}

/* A loop of one block, which is left after a number of rounds that is known before. */
static bool find_loop(Roll *r)
{
    if (r->loop->block_count != 1 || !r->loop->preheader ||
        !trip_count_find(r->loop, analyses_loops(r->analyses), r->analyses, &r->trips))
        return false;
    r->rounds = trip_count_constant(&r->trips, r->affine);
    return r->rounds ? r->rounds <= MOST_ROUNDS : trip_count_is_exact(&r->trips);
}

/* The values that the first part computes. */
static BitSet find_needed(const Roll *r)
{
    BitSet needed = bitset_new(r->scratch, r->values->reg_count);
    const size_t stores = r->stores.count / r->parts;
    for (unsigned i = 0; i < r->carried_count; i++)
        if (!r->carried[i].is_counter)
            bitset_add(&needed, begins_with(r, &r->carried[i], 1));
    size_t later = r->stores.count;
    for (const Inst *inst = r->block->last; inst; inst = inst->prev) {
        bool is_needed = false;
        if (later && inst == r->stores.data[later - 1])
            is_needed = --later < stores;
        for (unsigned i = 0; i < inst->ref_count; i++)
            is_needed |= ref_writes(&inst->refs[i]) && bitset_has(&needed, inst->refs[i].reg);
        for (unsigned i = 0; is_needed && i < inst->ref_count; i++)
            if (ref_reads(&inst->refs[i]))
                bitset_add(&needed, inst->refs[i].reg);
    }
    return needed;
}

static void remove_rest(Roll *r)
{
    const BitSet needed = find_needed(r);
    for (size_t i = r->stores.count / r->parts; i < r->stores.count; i++)
        inst_remove(r->stores.data[i]);
    for (Inst *inst = r->block->first, *next; inst; inst = next) {
        bool writes = false, is_needed = false;
        next = inst->next;
        for (unsigned i = 0; i < inst->ref_count; i++) {
            writes |= ref_writes(&inst->refs[i]);
            is_needed |= ref_writes(&inst->refs[i]) && bitset_has(&needed, inst->refs[i].reg);
        }
        if (writes && !is_needed)
            inst_remove(inst);
    }
}

static void replace_next(Roll *r, const Carried *c, RegId next)
{
    const LoopForest *loops = analyses_loops(r->analyses);
    Phi *phi = &r->block->phis.data[c->phi];
    for (size_t a = 0; a < phi->args.count; a++)
        if (phi->args.data[a].pred == r->block)
            phi->args.data[a].reg = next;
    for (uint32_t u = 0; u < value_use_count(r->values, c->next); u++) {
        const ValueUse *use = &value_uses(r->values, c->next)[u];
        if (loop_contains(loops, r->loop, use->block))
            continue;
        if (use->inst)
            use->inst->refs[use->index].reg = next;
        else
            use->block->phis.data[use->index].args.data[use->arg].reg = next;
    }
}

/* A register with the number of all parts, before the loop. */
static RegId build_count(Roll *r)
{
    const SumPlace place = sum_place_new(r->body, r->loop->preheader, r->analyses);
    RegId count = sum_reg(&place, TYPE_B64, "%rolled"), last;
    if (r->rounds) {
        sum_put(&place, inst_build(r->body, "mov.b64", "di", count, (int64_t)(r->rounds * r->parts)));
        return count;
    }
    trip_count_build(&place, &r->trips, UINT32_MAX, &last);
    sum_put(&place, inst_build(r->body, "mul.lo.s64", "dri", count, last, (int64_t)r->parts));
    RegId all = sum_reg(&place, TYPE_B64, "%rolled");
    sum_put(&place, inst_build(r->body, "add.s64", "dri", all, count, (int64_t)r->parts));
    return all;
}

/* Lets the loop go as many rounds as there are parts. */
static void set_rounds(Roll *r)
{
    const RegId count = build_count(r);
    const FallingCounter left =
        falling_counter_add(r->body, r->block, r->loop->preheader, count, r->loop->latches, r->loop->latch_count);
    Inst *branch = r->block->last;
    inst_insert_before(branch, left.step);
    inst_insert_before(branch, left.test);
    branch->refs[branch->guard].reg = left.more;
    branch->guard_inverted = branch->targets[0] != r->block;
}

static void roll_up(Roll *r)
{
    VEC(Inst *) steps = {0};
    for (unsigned i = 0; i < r->carried_count; i++) {
        const Carried *c = &r->carried[i];
        RegId next = c->is_counter ? body_clone_reg(r->body, c->reg) : begins_with(r, c, 1);
        const bool is_wide = type_bits(r->body->regs.data[c->reg].type) == 64;
        if (c->is_counter)
            VEC_PUSH(r->scratch, steps, inst_build(r->body, is_wide ? "add.s64" : "add.s32", "dri", next, c->reg,
                                                   c->step / (int64_t)r->parts));
        replace_next(r, c, next);
    }
    remove_rest(r);
    for (size_t i = 0; i < steps.count; i++)
        inst_insert_before(r->block->last, steps.data[i]);
    set_rounds(r);
}

static bool reroll_loop(PassContext *context, const Loop *loop)
{
    Arena *scratch = arena_new();
    Roll r = {.scratch = scratch,
              .body = context->body,
              .analyses = context->analyses,
              .loop = loop,
              .block = loop->header,
              .values = analyses_values(context->analyses),
              .affine = analyses_affine(context->analyses)};
    r.match = ARENA_ARRAY(scratch, RegId, r.values->reg_count);
    r.matched = ARENA_ARRAY(scratch, unsigned, r.values->reg_count);
    const bool done =
        find_loop(&r) && find_accesses(&r) && find_carried(&r) && leaves_next_alone(&r) && find_parts(&r);
    if (done)
        roll_up(&r);
    arena_free(scratch);
    return done;
}

bool pass_reroll(PassContext *context)
{
    bool changed = false;
    loops_remove_empty_latches(context->body, context->analyses);
    loops_add_preheaders(context->body, context->analyses);
    for (uint32_t i = 0; i < analyses_loops(context->analyses)->loop_count; i++) {
        if (!reroll_loop(context, &analyses_loops(context->analyses)->loops[i]))
            continue;
        changed = true;
        analyses_invalidate(context->analyses, ANALYSES_INSTRUCTIONS);
    }
    return changed;
}
