/* One register and immediates for addresses that are a constant apart.
 *
 * The address of a replica that is provably another's plus a constant (analysis/affine/affine.h, wrap-around included)
 * is computed as that sum, which accesses take as an immediate; what it was computed from may then be dead. The
 * addresses of rows, in turn, which are multiples of one value apart, are computed each from the next:
 *
 *     row1 = p + (x + a);  row2 = p + (x + 2 * a)        becomes      row1 = row0 + a;  row2 = row1 + a
 *
 * That is for code outside of loops; rows in a loop are opt/replicas/pointers.c's. */
#include "opt/common/sums.h"
#include "opt/passes.h"

/* Accesses take 24 bits with sign. */
enum { MOST_DISTANCE = 1 << 22 };
enum {
    MOST_FACTOR = 1 << 16, /* of the value that rows are apart by */
    LEAST_ROWS = 2,        /* that a product is made for */
    MOST_LOOKED = 32,      /* addresses that may be a row away from one */
};

/* The address that others with the same terms are computed from. */
typedef struct Leader {
    RegId reg;
    uint64_t next; /* index + 1 of another with the same hash; 0: none */
} Leader;

/* An address that is another's plus factor * step + constant. */
typedef struct Row {
    Inst *inst;
    RegId reg, from;
    RegId step; /* 32 bits, extended */
    bool is_signed;
    int64_t factor, constant;
} Row;

typedef struct Bases {
    Arena *scratch;
    Body *body;
    const Affine *affine;
    const Values *values;
    const Dominance *dominance;
    BitSet addresses; /* by RegId: an access has it as its base */
    Map by_terms;     /* hash of the terms -> index + 1 */
    VEC(Leader) leaders;
} Bases;

static void addresses_find(Bases *bases)
{
    for (size_t b = 0; b < bases->body->blocks.count; b++)
        for (const Inst *inst = bases->body->blocks.data[b]->first; inst; inst = inst->next) {
            Access access;
            RegId base = inst_access(inst, &access) ? address_base(inst, access.address) : REG_NONE;
            if (base != REG_NONE)
                bitset_add(&bases->addresses, base);
        }
}

static uint64_t terms_hash(const AffineForm *form)
{
    uint64_t sum = form->bits;
    for (unsigned i = 0; i < form->term_count; i++) {
        const AffineTerm *term = &form->terms[i];
        uint64_t key = hash_mix(hash_mix(term->base, term->reg), (uint64_t)term->coefficient);
        sum += hash_mix(key, (uint64_t)(uintptr_t)term->object ^ (uint64_t)term->offset);
    }
    return sum | 1;
}

/* The register's distance from the leader, if that is constant and small. */
static bool distance_find(const Bases *bases, RegId leader, RegId reg, int64_t *distance)
{
    const AffineForm *from = &bases->affine->forms[leader], *to = &bases->affine->forms[reg];
    AffineForm moved = *from;
    moved.constant = to->constant;
    uint64_t difference = (uint64_t)to->constant - (uint64_t)from->constant;
    *distance = to->bits == 32 ? (int64_t)(int32_t)difference : (int64_t)difference;
    return from->bits == to->bits && affine_compare(&moved, 1, to, 1) == ALIAS_SAME && *distance < MOST_DISTANCE &&
           *distance > -MOST_DISTANCE;
}

/* An address that is there already, a constant away; REG_NONE: none. */
static RegId leader_find(const Bases *bases, const Block *block, RegId reg, uint64_t hash, int64_t *distance)
{
    const uint64_t *first = map_get(&bases->by_terms, hash);
    for (uint64_t at = first ? *first : 0; at; at = bases->leaders.data[at - 1].next) {
        RegId leader = bases->leaders.data[at - 1].reg;
        if (dominance_has(bases->dominance, bases->values->defs[leader].block, block) &&
            distance_find(bases, leader, reg, distance))
            return leader;
    }
    return REG_NONE;
}

/* Computes the address from another; without one, others may be computed from this one. */
static bool address_rebase(Bases *bases, Inst *inst, RegId reg)
{
    const AffineForm *form = &bases->affine->forms[reg];
    uint64_t hash = terms_hash(form);
    int64_t distance;
    RegId leader = leader_find(bases, inst->block, reg, hash, &distance);
    if (leader == REG_NONE) {
        const uint64_t *first = map_get(&bases->by_terms, hash);
        VEC_PUSH(bases->scratch, bases->leaders, ((Leader){reg, first ? *first : 0}));
        map_put(&bases->by_terms, hash, bases->leaders.count);
        return false;
    }
    const char *spelling = form->bits == 64 ? "add.s64" : "add.s32";
    inst_insert_before(inst, inst_build(bases->body, spelling, "dri", reg, leader, distance));
    inst_remove(inst);
    return true;
}

/* The address that the instruction computes, and nothing else; REG_NONE: none. */
static RegId address_of(const Bases *bases, const Inst *inst)
{
    RegId reg = inst_is_plain(inst) && inst->effects == EFFECT_PURE ? inst_destination(inst) : REG_NONE;
    if (reg == REG_NONE)
        return REG_NONE;
    const AffineForm *form = &bases->affine->forms[reg];
    bool is_sum = form->bits && form->term_count && bitset_has(&bases->addresses, reg) &&
                  type_bits(bases->body->regs.data[reg].type) == form->bits;
    return is_sum ? reg : REG_NONE;
}

/* The difference to - from, if that is one term and a constant. */
static bool term_between(const AffineForm *from, const AffineForm *to, AffineTerm *term, int64_t *constant)
{
    unsigned different = 0;
    *term = (AffineTerm){0};
    for (unsigned i = 0; i < from->term_count + to->term_count; i++) {
        bool is_new = i >= to->term_count;
        AffineTerm at = is_new ? from->terms[i - to->term_count] : to->terms[i];
        const AffineForm *other = is_new ? to : from;
        unsigned k = 0;
        while (k < other->term_count && !affine_base_equal(&other->terms[k], &at))
            k++;
        if (is_new && k < other->term_count)
            continue; /* seen from there */
        uint64_t subtracted = k < other->term_count ? (uint64_t)other->terms[k].coefficient : 0;
        at.coefficient = (int64_t)(is_new ? -(uint64_t)at.coefficient : (uint64_t)at.coefficient - subtracted);
        if (at.coefficient && different++)
            return false;
        if (at.coefficient)
            *term = at;
    }
    *constant = (int64_t)((uint64_t)to->constant - (uint64_t)from->constant);
    return different == 1 && *constant < MOST_DISTANCE && *constant > -MOST_DISTANCE;
}

static int64_t magnitude(int64_t value)
{
    return value < 0 ? -value : value;
}

/* True if the sum can be computed from that address, by adding a multiple of a value of 32 bits. */
static bool row_between(const Bases *bases, Inst *inst, RegId from, RegId reg, Row *row)
{
    const AffineForm *a = &bases->affine->forms[from], *b = &bases->affine->forms[reg];
    AffineTerm term;
    if (a->bits != 64 || b->bits != 64 || !term_between(a, b, &term, &row->constant) ||
        (term.base != AFFINE_SIGNED && term.base != AFFINE_VALUE) || term.coefficient > MOST_FACTOR ||
        term.coefficient < -MOST_FACTOR ||
        type_bits(bases->body->regs.data[term.reg].type) != 32 || sum_other(bases->body, inst, from) != REG_NONE ||
        !value_is_available(bases->values, bases->dominance, term.reg, inst))
        return false;
    *row = (Row){inst, reg, from, term.reg, term.base == AFFINE_SIGNED, term.coefficient, row->constant};
    return true;
}

/* The nearest of the block's addresses, and of those the last. */
static bool row_find(const Bases *bases, const RegIdVec *before, Inst *inst, RegId reg, Row *best)
{
    bool found = false;
    size_t end = before->count > MOST_LOOKED ? before->count - MOST_LOOKED : 0;
    for (size_t i = before->count; i-- > end;) {
        Row row;
        if (row_between(bases, inst, before->data[i], reg, &row) &&
            (!found || magnitude(row.factor) < magnitude(best->factor))) {
            *best = row;
            found = true;
        }
    }
    return found;
}

static bool has_same_product(const Row *a, const Row *b)
{
    return a->step == b->step && a->is_signed == b->is_signed && magnitude(a->factor) == magnitude(b->factor);
}

/* Computes the row from the other. Equal products become one in the clean-up that follows. */
static void row_rewrite(Body *body, const Row *row)
{
    RegId product = body_add_reg(body, TYPE_B64, "%row"), sum = row->reg;
    int64_t times = magnitude(row->factor);
    inst_insert_before(row->inst,
                       times == 1 ? inst_build(body, row->is_signed ? "cvt.s64.s32" : "cvt.u64.u32", "dr", product,
                                               row->step)
                                  : inst_build(body, row->is_signed ? "mul.wide.s32" : "mul.wide.u32", "dri", product,
                                               row->step, times));
    if (row->constant)
        sum = body_add_reg(body, TYPE_B64, "%row");
    inst_insert_before(row->inst,
                       inst_build(body, row->factor < 0 ? "sub.s64" : "add.s64", "drr", sum, row->from, product));
    if (row->constant)
        inst_insert_before(row->inst, inst_build(body, "add.s64", "dri", row->reg, sum, row->constant));
    inst_remove(row->inst);
}

/* Finds the rows among the block's addresses and rewrites those whose product serves several. */
static unsigned rows_rewrite(Bases *bases, const Block *block)
{
    VEC(Row) rows = {0};
    RegIdVec before = {0};
    unsigned rewritten = 0;
    for (Inst *inst = block->first; inst; inst = inst->next) {
        RegId reg = address_of(bases, inst);
        Computation c;
        Row row;
        if (reg == REG_NONE)
            continue;
        if (computation_matches(bases->body, inst, COMPUTE_ADD, 64, "xr", &c) &&
            row_find(bases, &before, inst, reg, &row))
            VEC_PUSH(bases->scratch, rows, row);
        VEC_PUSH(bases->scratch, before, reg);
    }
    for (size_t i = 0; i < rows.count; i++) {
        unsigned same = 0;
        for (size_t k = 0; k < rows.count; k++)
            same += has_same_product(&rows.data[i], &rows.data[k]);
        if (same < LEAST_ROWS)
            continue;
        row_rewrite(bases->body, &rows.data[i]);
        rewritten++;
    }
    return rewritten;
}

bool pass_bases(PassContext *context)
{
    Arena *scratch = arena_new();
    Body *body = context->body;
    Bases bases = {.scratch = scratch,
                   .body = body,
                   .affine = analyses_affine(context->analyses),
                   .values = analyses_values(context->analyses),
                   .dominance = analyses_dominance(context->analyses),
                   .addresses = bitset_new(scratch, body->regs.count),
                   .by_terms = {.arena = scratch}};
    unsigned rebased = 0, rows = 0;
    addresses_find(&bases);
    for (size_t b = 0; b < body->blocks.count; b++)
        for (Inst *inst = body->blocks.data[b]->first, *next; inst; inst = next) {
            next = inst->next;
            RegId reg = address_of(&bases, inst);
            rebased += reg != REG_NONE && address_rebase(&bases, inst, reg);
        }
    if (rebased) {
        analyses_invalidate(context->analyses, ANALYSES_INSTRUCTIONS);
        bases.affine = analyses_affine(context->analyses);
        bases.values = analyses_values(context->analyses);
    }
    const LoopForest *loops = analyses_loops(context->analyses);
    for (size_t b = 0; b < body->blocks.count; b++)
        if (!loop_of(loops, body->blocks.data[b]))
            rows += rows_rewrite(&bases, body->blocks.data[b]);
    arena_free(scratch);
    return rebased + rows > 0;
}
