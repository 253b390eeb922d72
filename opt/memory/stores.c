/* Loops that store to global memory.
 *
 *     for (k = 0; k < n; k++)                 for (k = 0; k + 16 <= n; k += 16) {
 *         out[row * n + k] = f(in[...]);   ->     for (i = 0; i < 16; i++)
 *                                                     tile[tx][i] = f(in[...]);
 *                                                 barrier
 *                                                 the block stores out[its rows][k .. k + 15] together
 *                                             }
 *
 * A tile's loads come before what is stored in its rounds, and its stores after them. So what a thread stores must
 * not be what it loads, or stores through another pointer, in other rounds; what other threads load or store there
 * would be a data race. Addresses of all these accesses must grow by a constant each round, as sums of 64 bits, so
 * that the bytes they touch in all rounds have two ends: the threads compare these before the first tile, and vote.
 * A thread that loads and stores in place passes, too, if in each round it loads an element before it stores it. */
#include "opt/memory/internal.h"

static bool is_outside(const Staging *s, RegId reg)
{
    const ValueDef *def = &s->values->defs[reg];
    return def->block && !loop_contains(s->loops, s->loop, def->block);
}

/* Adds to 'step' by how much the term grows each round; false if that is not known, or not the same in all rounds. */
static bool term_step(const Staging *s, const AffineTerm *term, int64_t *step)
{
    if ((term->base != AFFINE_VALUE && term->base != AFFINE_SIGNED) || is_outside(s, term->reg))
        return true;
    const ValueDef *def = &s->values->defs[term->reg];
    if (term->base != AFFINE_VALUE || def->inst || def->block != s->loop->header ||
        type_bits(s->body->regs.data[term->reg].type) != 64)
        return false;
    const Induction *induction = &s->inductions[def->phi];
    *step += (int64_t)((uint64_t)term->coefficient * (uint64_t)induction->step.constant);
    return induction->is_found && !induction->step.term_count;
}

/* By how many bytes a register of 64 bits grows each round, whatever wraps; false: not by a constant. */
static bool exact_step(const Staging *s, RegId reg, int64_t *step)
{
    const AffineForm *form = &analyses_affine(s->analyses)->forms[reg];
    *step = 0;
    if (form->bits != 64)
        return false;
    for (unsigned i = 0; i < form->term_count; i++)
        if (!term_step(s, &form->terms[i], step))
            return false;
    return *step > -INT32_MAX && *step < INT32_MAX;
}

static AccessGroup *group_of(Staging *s, RegId base, bool is_store)
{
    for (unsigned i = 0; i < s->group_count; i++)
        if (s->groups[i].base == base && s->groups[i].is_store == is_store)
            return &s->groups[i];
    if (s->group_count == GROUPS_MOST)
        return NULL;
    AccessGroup *group = &s->groups[s->group_count++];
    *group = (AccessGroup){.base = base, .is_store = is_store, .first = INT64_MAX, .end = INT64_MIN};
    return group;
}

/* Whether the first instruction is certain to come before the other one in each round. */
static bool comes_before(const Staging *s, const Inst *first, const Inst *second)
{
    return first->block == second->block ? first->id < second->id
                                         : dominance_has(s->dominance, first->block, second->block);
}

static bool group_add(Staging *s, const Inst *inst, const Access *access)
{
    const RegId base = address_base(inst, access->address);
    const int64_t offset = address_offset(access->address);
    int64_t step;
    if (base == REG_NONE || !access->bytes || !s->patterns[base].is_resolved || !exact_step(s, base, &step) ||
        offset < -INT32_MAX || offset > INT32_MAX)
        return stage_refuse(s, inst, REFUSAL_STAGE_STORE);
    AccessGroup *group = group_of(s, base, access->kind == ACCESS_STORE);
    if (!group)
        return stage_refuse(s, inst, REFUSAL_STAGE_STORE);
    group->step = step;
    group->first = offset < group->first ? offset : group->first;
    group->end = offset + access->bytes > group->end ? offset + access->bytes : group->end;
    group->any = inst;
    return true;
}

/* Whether two accesses of a round, at the same base, touch a byte both. */
static bool overlap(const Access *a, const Access *b)
{
    const int64_t x = address_offset(a->address), y = address_offset(b->address);
    return x < y + b->bytes && y < x + a->bytes;
}

static bool is_of_group(const AccessGroup *group, const Inst *inst, Access *access)
{
    return inst_access(inst, access) && access->address && address_base(inst, access->address) == group->base &&
           (access->kind == ACCESS_STORE) == group->is_store;
}

/* Whether, in each round, every access of the first group comes before those of the second which touch the same, if
 * both begin at one address. For one group: whether its accesses touch nothing twice. */
static bool is_in_order(const Staging *s, const AccessGroup *first, const AccessGroup *second)
{
    for (uint32_t i = 0; i < s->loop->block_count; i++)
        for (const Inst *a = s->loop->blocks[i]->first; a; a = a->next) {
            Access of_a, of_b;
            if (!is_of_group(first, a, &of_a))
                continue;
            for (uint32_t k = 0; k < s->loop->block_count; k++)
                for (const Inst *b = s->loop->blocks[k]->first; b; b = b->next)
                    if (a != b && is_of_group(second, b, &of_b) && overlap(&of_a, &of_b) &&
                        (first == second || !comes_before(s, a, b)))
                        return false;
        }
    return true;
}

/* Whether rounds of the two groups touch different bytes, if both begin at one address. */
static bool has_own_rounds(const AccessGroup *a, const AccessGroup *b)
{
    const int64_t first = a->first < b->first ? a->first : b->first, end = a->end > b->end ? a->end : b->end;
    return a->step == b->step && end - first <= (a->step < 0 ? -a->step : a->step);
}

static bool add_apart(Staging *s, const AccessGroup *a, const AccessGroup *b)
{
    if (s->apart_count == APARTS_MOST)
        return stage_refuse(s, b->any, REFUSAL_STAGE_STORE);
    const bool may_be_same = !a->is_store && has_own_rounds(a, b) && is_in_order(s, a, b);
    s->aparts[s->apart_count++] = (Apart){a, b, may_be_same};
    return true;
}

static bool find_groups(Staging *s)
{
    for (uint32_t b = 0; b < s->loop->block_count; b++)
        for (const Inst *inst = s->loop->blocks[b]->first; inst; inst = inst->next) {
            Access access;
            if (!inst_access(inst, &access) || (access.read_only && !access.awaited) ||
                access.space == SPACE_SHARED || access.space == SPACE_LOCAL)
                continue;
            if (!access.address || !access.weak)
                return stage_refuse(s, inst, REFUSAL_STAGE_STORE);
            if (!group_add(s, inst, &access))
                return false;
        }
    return true;
}

bool stage_find_stores(Staging *s)
{
    if (!find_groups(s))
        return false;
    for (unsigned i = 0; i < s->group_count; i++) {
        const AccessGroup *store = &s->groups[i];
        if (!store->is_store)
            continue;
        if (!has_own_rounds(store, store) || !is_in_order(s, store, store))
            return stage_refuse(s, store->any, REFUSAL_STAGE_STORE_AGAIN);
        for (unsigned k = 0; k < s->group_count; k++)
            if ((!s->groups[k].is_store || k < i) && !add_apart(s, &s->groups[k], store))
                return false;
    }
    return true;
}
