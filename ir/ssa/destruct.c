/* Out of SSA form.
 *
 * Boissinot, Darte, Rastello, Dupont de Dinechin, Guillon: "Revisiting Out-of-SSA Translation for Correctness, Code
 * Quality, and Efficiency", CGO 2009. Every phi and every tied operand is isolated by copies (values that exist
 * only here), which guarantees that a phi or a tie can share one register; then copies are coalesced as long as the
 * union of two sets holds no two values that are live together with different contents. Copies go before a block's
 * terminator and are correct on critical edges too, so no edge is split.
 *
 * Sets are tried in an order that keeps what did not change (coalesce.c): first all versions of one register of the
 * source at once, which succeeds for whatever the passes left alone and gives it back its name; then the ends of
 * copies; then the remaining versions, for the sake of readable names.
 *
 * Preserves: blocks, instructions, edges. Invalidates: everything known about registers. */
#include "ir/ssa/destruct.h"

#include <stdlib.h>
#include <string.h>

static uint32_t value_add(Leaver *leaver, Value value)
{
    require(leaver->values.count < VALUE_NONE);
    value.parent = (uint32_t)leaver->values.count;
    VEC_PUSH(leaver->scratch, leaver->values, value);
    return value.parent;
}

static void registers_to_values(Leaver *leaver)
{
    Body *body = leaver->body;
    leaver->registers = (uint32_t)body->regs.count;
    for (uint32_t i = 0; i < leaver->registers; i++) {
        const Reg *reg = &body->regs.data[i];
        value_add(leaver, (Value){.block = VALUE_NONE, .origin = reg->origin, .type = reg->type, .same = i});
    }
    for (size_t b = 0; b < body->blocks.count; b++) {
        const Block *block = body->blocks.data[b];
        uint32_t position = POSITION_FIRST;
        for (size_t i = 0; i < block->phis.count; i++) {
            Value *value = &leaver->values.data[block->phis.data[i].dst];
            value->block = (uint32_t)b;
            value->position = POSITION_ENTRY; /* the copy out of the phi writes it */
        }
        for (const Inst *inst = block->first; inst; inst = inst->next, position += 2)
            for (unsigned i = 0; i < inst->ref_count; i++)
                if (inst->refs[i].role == REF_DEF) {
                    Value *value = &leaver->values.data[inst->refs[i].reg];
                    value->block = (uint32_t)b;
                    value->position = position;
                }
    }
}

static void copy_add(Leaver *leaver, uint32_t dst, uint32_t src, uint32_t block, uint32_t position)
{
    VEC_PUSH(leaver->scratch, leaver->copies, (Copy){.dst = dst, .src = src, .block = block, .position = position});
}

/* A value written by a copy of 'src' at 'position' and read at 'last'. */
static uint32_t isolate(Leaver *leaver, uint32_t like, uint32_t src, uint32_t block, uint32_t position, uint32_t last)
{
    const Value *model = &leaver->values.data[like];
    Value value = {.block = block, .position = position, .last = last, .origin = model->origin, .type = model->type};
    value.same = leaver->values.data[src].same;
    uint32_t made = value_add(leaver, value);
    copy_add(leaver, made, src, block, position);
    return made;
}

typedef struct Outgoing { /* a phi's argument, listed at the predecessor */
    uint32_t root, src, next;
} Outgoing;

/* The phi's own isolated value comes first, so that the values of its arguments, which may be phis, are known:
 * same[dst]. */
static uint32_t phi_isolate(Leaver *leaver, uint32_t block, const Phi *phi)
{
    const Value *dst = &leaver->values.data[phi->dst];
    Value value = {
        .block = block, .position = POSITION_PHI, .last = POSITION_ENTRY, .origin = dst->origin, .type = dst->type};
    value.same = (uint32_t)leaver->values.count;
    uint32_t made = value_add(leaver, value);
    leaver->values.data[phi->dst].same = made;
    return made;
}

static uint32_t end_position(const Block *block)
{
    uint32_t position = POSITION_FIRST - 1;
    for (const Inst *inst = block->first; inst; inst = inst->next)
        if (inst != block->last || !inst_is_terminator(inst))
            position += 2;
    return position;
}

static void ties_isolate(Leaver *leaver, const Block *block)
{
    uint32_t position = POSITION_FIRST;
    for (const Inst *inst = block->first; inst; inst = inst->next, position += 2)
        for (unsigned i = 0; i < inst->ref_count; i++) {
            const RegRef *ref = &inst->refs[i];
            if (ref->role != REF_TIED || !value_defined(leaver, ref->reg))
                continue;
            uint32_t dst = inst->refs[ref->partner].reg;
            uint32_t made = isolate(leaver, dst, ref->reg, block->id, position - 1, position);
            leaver->values.data[made].parent = dst;
        }
}

static void copies_collect(Leaver *leaver)
{
    Body *body = leaver->body;
    VEC(Outgoing) outgoing = {0};
    uint32_t *heads = ARENA_ARRAY(leaver->scratch, uint32_t, body->blocks.count);
    uint32_t **roots = ARENA_ARRAY(leaver->scratch, uint32_t *, body->blocks.count);
    for (size_t b = 0; b < body->blocks.count; b++)
        heads[b] = VALUE_NONE;
    for (size_t b = 0; b < body->blocks.count; b++) {
        const Block *block = body->blocks.data[b];
        roots[b] = ARENA_ARRAY(leaver->scratch, uint32_t, block->phis.count);
        for (size_t i = 0; i < block->phis.count; i++) {
            const Phi *phi = &block->phis.data[i];
            roots[b][i] = phi_isolate(leaver, (uint32_t)b, phi);
            for (size_t a = 0; a < phi->args.count; a++) {
                if (!value_defined(leaver, phi->args.data[a].reg))
                    continue;
                uint32_t pred = phi->args.data[a].pred->id;
                VEC_PUSH(leaver->scratch, outgoing, (Outgoing){roots[b][i], phi->args.data[a].reg, heads[pred]});
                heads[pred] = (uint32_t)(outgoing.count - 1);
            }
        }
    }
    for (size_t b = 0; b < body->blocks.count; b++) {
        const Block *block = body->blocks.data[b];
        for (size_t i = 0; i < block->phis.count; i++)
            copy_add(leaver, block->phis.data[i].dst, roots[b][i], (uint32_t)b, POSITION_ENTRY);
        ties_isolate(leaver, block);
        uint32_t position = end_position(block);
        for (uint32_t o = heads[b]; o != VALUE_NONE; o = outgoing.data[o].next) {
            uint32_t root = outgoing.data[o].root;
            uint32_t made = isolate(leaver, root, outgoing.data[o].src, (uint32_t)b, position, UINT32_MAX);
            leaver->values.data[made].parent = root;
        }
    }
}

/* Live ranges matter for the ends of copies and for registers that might share a name. */
static void tracked_mark(Leaver *leaver)
{
    uint32_t *sharing = ARENA_ARRAY(leaver->scratch, uint32_t, leaver->registers);
    for (uint32_t i = 0; i < leaver->registers; i++)
        if (value_defined(leaver, i))
            sharing[leaver->values.data[i].origin]++;
    for (uint32_t i = 0; i < leaver->registers; i++)
        leaver->values.data[i].tracked = value_defined(leaver, i) && sharing[leaver->values.data[i].origin] > 1;
    for (size_t i = 0; i < leaver->copies.count; i++) {
        leaver->values.data[leaver->copies.data[i].dst].tracked = true;
        leaver->values.data[leaver->copies.data[i].src].tracked = true;
    }
    for (uint32_t i = 0; i < leaver->values.count;
         i++) /* a tied definition shares its set with the isolated old value */
        if (leaver->values.data[i].parent != i)
            leaver->values.data[leaver->values.data[i].parent].tracked = true;
}

static int origin_compare(const void *a, const void *b)
{
    RegId x = *(const RegId *)a, y = *(const RegId *)b;
    return x < y ? -1 : x > y;
}

/* The register of the source that most members are versions of. */
static RegId set_origin(const Leaver *leaver, RegId *origins, const uint32_t *members, uint32_t count)
{
    RegId best = REG_NONE;
    uint32_t most = 0;
    for (uint32_t i = 0; i < count; i++)
        origins[i] = leaver->values.data[members[i]].origin;
    qsort(origins, count, sizeof *origins, origin_compare);
    for (uint32_t i = 0, j; i < count; i = j) {
        for (j = i; j < count && origins[j] == origins[i]; j++)
            ;
        if (j - i > most) {
            most = j - i;
            best = origins[i];
        }
    }
    return best;
}

static RegId set_register(Leaver *leaver, RegId *origins, uint32_t root, BitSet *claimed)
{
    Body *body = leaver->body;
    uint32_t count;
    const uint32_t *members = set_members(leaver, &root, &count);
    Type type = leaver->values.data[root].type;
    RegId origin = set_origin(leaver, origins, members, count);
    if (!bitset_has(claimed, origin) && body->regs.data[origin].type == type)
        return origin;
    for (uint32_t i = 0; i < count; i++)
        if (members[i] < leaver->registers && !bitset_has(claimed, members[i]) &&
            leaver->values.data[members[i]].origin != members[i])
            return members[i];
    return body_add_reg(body, type, body->regs.data[origin].name);
}

typedef struct Ranked {
    uint32_t root, count;
} Ranked;

static int rank_compare(const void *a, const void *b)
{
    const Ranked *x = a, *y = b;
    if (x->count != y->count)
        return x->count > y->count ? -1 : 1;
    return x->root < y->root ? -1 : x->root > y->root;
}

/* The register of each value. Larger sets choose first; an undefined register keeps its own, whoever else has it. */
static RegId *registers_choose(Leaver *leaver)
{
    uint32_t count = (uint32_t)leaver->values.count;
    RegId *chosen = ARENA_ARRAY(leaver->scratch, RegId, count);
    RegId *origins = ARENA_ARRAY(leaver->scratch, RegId, count);
    BitSet claimed = bitset_new(leaver->scratch, leaver->registers);
    VEC(Ranked) ranked = {0};
    for (uint32_t i = 0; i < count; i++) {
        chosen[i] = i < leaver->registers ? i : REG_NONE;
        if (find(leaver, i) != i || !value_defined(leaver, i))
            continue;
        uint32_t size;
        set_members(leaver, &i, &size);
        if (leaver->values.data[i].tracked || leaver->values.data[i].origin != i)
            VEC_PUSH(leaver->scratch, ranked, (Ranked){i, size});
        else if (i < leaver->registers)
            bitset_add(&claimed, i);
    }
    if (ranked.count)
        qsort(ranked.data, ranked.count, sizeof *ranked.data, rank_compare);
    for (size_t i = 0; i < ranked.count; i++) {
        RegId reg = set_register(leaver, origins, ranked.data[i].root, &claimed);
        chosen[ranked.data[i].root] = reg;
        if (reg < leaver->registers)
            bitset_add(&claimed, reg);
    }
    for (uint32_t i = 0; i < count; i++)
        if (value_defined(leaver, i))
            chosen[i] = chosen[find(leaver, i)];
    return chosen;
}

static void inst_rewrite(Inst *inst, const RegId *chosen)
{
    for (unsigned i = 0; i < inst->ref_count; i++) {
        RegRef *ref = &inst->refs[i];
        if (ref->role == REF_TIED) {
            RegRef *partner = &inst->refs[ref->partner];
            if (!inst_is_guarded(inst) || inst_is_opaque(inst) || ref->type != TYPE_NONE)
                partner->role = REF_BOTH;
            continue;
        }
        ref->reg = chosen[ref->reg];
        ref->partner = REF_NONE;
    }
    inst->ref_count -= inst->tied_count;
    inst->tied_count = 0;
}

static void body_rewrite(Leaver *leaver, const RegId *chosen)
{
    Body *body = leaver->body;
    for (size_t b = 0; b < body->blocks.count; b++) {
        Block *block = body->blocks.data[b];
        block->phis.count = 0;
        for (Inst *inst = block->first; inst; inst = inst->next)
            inst_rewrite(inst, chosen);
    }
    for (size_t i = 0; i < body->regs.count; i++)
        body->regs.data[i].origin = (RegId)i;
}

void body_from_ssa(Body *body)
{
    require(body->ssa);
    body_remove_unreachable(body);
    Leaver leaver = {.body = body, .scratch = arena_new()};
    leaver.dominance = dominance_compute(leaver.scratch, body);
    registers_to_values(&leaver);
    copies_collect(&leaver);
    tracked_mark(&leaver);
    live_ranges_compute(&leaver);
    copies_coalesce(&leaver);
    RegId *chosen = registers_choose(&leaver);
    body_rewrite(&leaver, chosen);
    body->ssa = false;
    copies_write(&leaver, chosen);
    arena_free(leaver.scratch);
}
