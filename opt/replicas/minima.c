/* Minima and maxima of what replicas have in common.
 *
 *     m0 = min(min(a, b), c)                 bc = min(b, c)
 *     m1 = min(min(b, c), d)        ->       m0 = min(a, bc)
 *                                            m1 = min(bc, d)
 *
 * Replicas whose windows overlap, as in dilations and minima of neighbourhoods, take the least of many values that
 * others need as well. It does not depend on the order, so what the same replicas need is taken together once. Each
 * operation follows its last operand, so that values are not kept for longer.
 *
 * Requires and keeps SSA form; blocks and edges stay. */
#include "opt/passes.h"

#include <stdlib.h>

enum {
    CHAINS_MOST = 64, /* of one operation, which a bit each stands for */
    LEAVES_MOST = 512,
};

/* A value, and where it is made. */
typedef struct Leaf {
    RegId reg;
    uint64_t when; /* later than what dominates it */
    Inst *after;   /* NULL: at the top of the block */
    Block *block;
    uint64_t chains; /* those that need it */
} Leaf;

typedef VEC(Leaf) LeafVec;
typedef VEC(Inst *) InstVec;

typedef struct Minima {
    Arena *scratch;
    Body *body;
    const Values *values;
    const LoopForest *loops;
    uint64_t *when;   /* by RegId */
    uint32_t *places; /* by RegId: its place among the leaves, from 1; 0: it is none */
    Inst *roots[CHAINS_MOST];
    unsigned count;
    size_t operations; /* of all chains */
    LeafVec leaves;    /* the same */
} Minima;

/* Whether the instruction takes the lesser or greater of two registers. */
static bool is_link(const Inst *inst)
{
    return inst && inst_is_plain(inst) && (inst_op(inst) == OP_MIN || inst_op(inst) == OP_MAX) &&
           inst->operand_count == 3 && !inst_has(inst, MOD_RELU) && !inst_has(inst, MOD_XORSIGN) &&
           inst_reg(inst, 1) != REG_NONE && inst_reg(inst, 2) != REG_NONE;
}

/* The same operation of which the result is nothing but an operand, as often as it is made; NULL: there is none. */
static const Inst *user_of(const Minima *m, const Inst *link)
{
    const RegId reg = inst_destination(link);
    if (value_use_count(m->values, reg) != 1)
        return NULL;
    const Inst *user = value_uses(m->values, reg)->inst;
    return is_link(user) && user->signature == link->signature &&
                   loop_of(m->loops, user->block) == loop_of(m->loops, link->block)
               ? user
               : NULL;
}

static bool is_inner(const Minima *m, RegId reg, const Inst *root)
{
    const Inst *inst = value_inst(m->values, reg);
    return is_link(inst) && inst->signature == root->signature && user_of(m, inst);
}

static void add_leaf(Minima *m, RegId reg, unsigned chain)
{
    const ValueDef *def = &m->values->defs[reg];
    if (!m->places[reg]) {
        VEC_PUSH(m->scratch, m->leaves, ((Leaf){reg, m->when[reg], def->inst, def->block, 0}));
        m->places[reg] = (uint32_t)m->leaves.count;
    }
    m->leaves.data[m->places[reg] - 1].chains |= UINT64_C(1) << chain;
}

/* Adds the chain that ends in the root, if it is one of values that are defined. */
static void add_chain(Minima *m, Inst *root)
{
    VEC(RegId) pending = {0}, leaves = {0};
    VEC_PUSH(m->scratch, pending, inst_reg(root, 1));
    VEC_PUSH(m->scratch, pending, inst_reg(root, 2));
    while (pending.count) {
        const RegId reg = VEC_POP(pending);
        if (value_is_undefined(m->values, reg) || leaves.count == LEAVES_MOST)
            return;
        if (is_inner(m, reg, root)) {
            VEC_PUSH(m->scratch, pending, inst_reg(value_inst(m->values, reg), 1));
            VEC_PUSH(m->scratch, pending, inst_reg(value_inst(m->values, reg), 2));
        } else {
            VEC_PUSH(m->scratch, leaves, reg);
        }
    }
    for (size_t i = 0; i < leaves.count; i++)
        add_leaf(m, leaves.data[i], m->count);
    m->operations += leaves.count - 1;
    m->roots[m->count++] = root;
}

static int compare_leaves(const void *a, const void *b)
{
    const Leaf *x = a, *y = b;
    if (x->chains != y->chains)
        return x->chains < y->chains ? -1 : 1;
    return (x->when > y->when) - (x->when < y->when);
}

static int compare_times(const void *a, const void *b)
{
    const Leaf *x = a, *y = b;
    return (x->when > y->when) - (x->when < y->when);
}

/* The instruction after which both values are there; NULL: at the top of the block. Phis, and the results of
 * one instruction, are made at once, so that an operation on some of them may come after the others. */
static Inst *place_after(const Leaf *first, const Leaf *later)
{
    Inst *inst = first->block == later->block ? first->after : NULL;
    return inst && (!later->after || inst_comes_before(later->after, inst)) ? inst : later->after;
}

/* Puts the operation on both after the later one. */
static Leaf put(Minima *m, const Inst *like, const Leaf *first, const Leaf *later)
{
    Leaf both = *later;
    Inst *after = place_after(first, later);
    both.reg = body_clone_reg(m->body, inst_destination(like));
    Inst *inst = inst_build(m->body, like->signature->spelling, "drr", both.reg, first->reg, later->reg);
    if (after)
        inst_insert_after(after, inst);
    else
        inst_insert_first(later->block, inst);
    both.after = inst;
    return both;
}

/* How many leaves from the first one on are needed by the same chains. */
static size_t group_size(const LeafVec *leaves, size_t first)
{
    size_t size = 1;
    while (first + size < leaves->count && leaves->data[first + size].chains == leaves->data[first].chains)
        size++;
    return size;
}

/* The operations of the chains, with leaves sorted into groups. */
static size_t operations_after(const Minima *m)
{
    size_t count = 0, groups[CHAINS_MOST] = {0};
    for (size_t i = 0; i < m->leaves.count; i += group_size(&m->leaves, i)) {
        count += group_size(&m->leaves, i) - 1;
        for (unsigned c = 0; c < m->count; c++)
            groups[c] += m->leaves.data[i].chains >> c & 1;
    }
    for (unsigned c = 0; c < m->count; c++)
        count += groups[c] > 1 ? groups[c] - 1 : 1;
    return count;
}

/* Makes the root anew from groups, in the order in which they are there. */
static void rebuild_chain(Minima *m, unsigned chain, const LeafVec *groups)
{
    Inst *root = m->roots[chain];
    Leaf all = {.reg = REG_NONE}, last = all;
    for (size_t g = 0; g < groups->count; g++) {
        if (!(groups->data[g].chains >> chain & 1))
            continue;
        all = last.reg == REG_NONE ? groups->data[g] : all.reg == last.reg ? all : put(m, root, &all, &last);
        last = groups->data[g];
    }
    inst_replace_operand(m->body, root, 1, all.reg);
    inst_replace_operand(m->body, root, 2, last.reg);
}

/* Makes the chains anew, from groups of leaves. */
static void rebuild(Minima *m)
{
    LeafVec groups = {0};
    for (size_t i = 0; i < m->leaves.count; i += group_size(&m->leaves, i)) {
        Leaf all = m->leaves.data[i];
        const Inst *like = m->roots[__builtin_ctzll(all.chains)];
        for (size_t k = 1; k < group_size(&m->leaves, i); k++)
            all = put(m, like, &all, &m->leaves.data[i + k]);
        VEC_PUSH(m->scratch, groups, all);
    }
    qsort(groups.data, groups.count, sizeof *groups.data, compare_times);
    for (unsigned c = 0; c < m->count; c++)
        rebuild_chain(m, c, &groups);
}

/* Shares what the chains have in common, and forgets them; true if it is anything. */
static bool share(Minima *m)
{
    bool pays = false;
    if (m->count > 1) {
        qsort(m->leaves.data, m->leaves.count, sizeof *m->leaves.data, compare_leaves);
        pays = operations_after(m) < m->operations;
    }
    if (pays)
        rebuild(m);
    for (size_t i = 0; i < m->leaves.count; i++)
        m->places[m->leaves.data[i].reg] = 0;
    m->leaves.count = m->operations = m->count = 0;
    return pays;
}

/* The instructions that end chains, those that dominate others first; sets when values are made. */
static InstVec find_roots(Minima *m, const Dominance *dominance)
{
    InstVec roots = {0};
    uint64_t now = 0;
    for (uint32_t i = 0; i < dominance->order_count; i++) {
        const Block *block = m->body->blocks.data[dominance->order[i]];
        for (size_t p = 0; p < block->phis.count; p++)
            m->when[block->phis.data[p].dst] = ++now;
        for (Inst *inst = block->first; inst; inst = inst->next) {
            now++;
            for (unsigned r = 0; r < inst->ref_count; r++)
                if (ref_writes(&inst->refs[r]))
                    m->when[inst->refs[r].reg] = now;
            if (is_link(inst) && !user_of(m, inst))
                VEC_PUSH(m->scratch, roots, inst);
        }
    }
    return roots;
}

bool pass_minima(PassContext *context)
{
    Arena *scratch = arena_new();
    Body *body = context->body;
    Minima m = {.scratch = scratch, .body = body, .values = analyses_values(context->analyses),
                .loops = analyses_loops(context->analyses), .when = ARENA_ARRAY(scratch, uint64_t, body->regs.count),
                .places = ARENA_ARRAY(scratch, uint32_t, body->regs.count)};
    InstVec roots = find_roots(&m, analyses_dominance(context->analyses));
    bool changed = false;
    for (size_t first = 0; first < roots.count; first++) {
        if (!roots.data[first])
            continue;
        const Signature *signature = roots.data[first]->signature;
        for (size_t r = first; r < roots.count; r++) {
            if (!roots.data[r] || roots.data[r]->signature != signature)
                continue;
            add_chain(&m, roots.data[r]);
            roots.data[r] = NULL;
            if (m.count == CHAINS_MOST)
                changed |= share(&m);
        }
        changed |= share(&m);
    }
    arena_free(scratch);
    return changed;
}
