/* One register and immediates for addresses that are a constant apart.
 *
 * Requires SSA form. Preserves SSA form, blocks and edges. Invalidates what was computed from instructions.
 *
 * The address of a replica that is provably another's plus a constant (analysis/affine.h, wrap-around included) is
 * computed as that sum, which accesses take as an immediate; what it was computed from may then be dead. */
#include "opt/pass.h"

/* Accesses take 24 bits with sign. */
enum { MOST_DISTANCE = 1 << 22 };

/* The address that others with the same terms are computed from. */
typedef struct Leader {
    RegId reg;
    uint64_t next; /* index + 1 of another with the same hash; 0: none */
} Leader;

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
            if (inst_access(inst, &access) && access.address && access.address->kind == OPERAND_ADDRESS &&
                access.address->item_count && access.address->items[0].kind == OPERAND_REG)
                bitset_add(&bases->addresses, inst->refs[access.address->items[0].ref].reg);
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
    if (inst_is_opaque(inst) || inst->effects != EFFECT_PURE || inst->guard != REF_NONE || !inst->operand_count ||
        inst->operands[0].kind != OPERAND_REG || !ref_writes(&inst->refs[inst->operands[0].ref]))
        return REG_NONE;
    RegId reg = inst->refs[inst->operands[0].ref].reg;
    unsigned written = 0;
    for (unsigned r = 0; r < inst->ref_count; r++)
        written += ref_writes(&inst->refs[r]);
    const AffineForm *form = &bases->affine->forms[reg];
    bool is_sum = written == 1 && form->bits && form->term_count && bitset_has(&bases->addresses, reg) &&
                  type_bits(bases->body->regs.data[reg].type) == form->bits;
    return is_sum ? reg : REG_NONE;
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
    unsigned rebased = 0;
    addresses_find(&bases);
    for (size_t b = 0; b < body->blocks.count; b++)
        for (Inst *inst = body->blocks.data[b]->first, *next; inst; inst = next) {
            next = inst->next;
            RegId reg = address_of(&bases, inst);
            rebased += reg != REG_NONE && address_rebase(&bases, inst, reg);
        }
    if (rebased)
        analyses_invalidate(context->analyses, ANALYSES_INSTRUCTIONS);
    arena_free(scratch);
    return rebased > 0;
}
