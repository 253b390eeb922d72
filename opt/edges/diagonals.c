/* Diagonals: in "if (col <= row) { loop }", threads beside the diagonal go through the loop as well, at their own
 * place, and their result is dropped.
 *
 *     if (col <= row)                     own = col <= row
 *         sum = loop(row, col)            by_row = first <= row || last <= row  (the first and last columns)
 *     else                     ->         by_col = col <= first || col <= last  (the first and last rows)
 *         sum = none                      if (own || (by_row && by_col))
 *     out[row * n + col] = sum                sum = loop(row, col)
 *                                         out[row * n + col] = own ? sum : none
 *
 * The columns and rows are those of the block, or of all blocks that become one. So all threads of a block that the
 * diagonal crosses go round the loop together, and those of blocks that are beside it do not at all.
 *
 * It is sound because each load of the loop is also another thread's, which passes: the condition depends on two axes
 * of the thread's place, but none of the loads do, nor do branches. A load that depends on the row is executed by all
 * threads of this row that pass, in the same rounds, from the same address. One of these is the thread in the first or
 * last column if 'by_row' holds: it is a thread of the launch, since its block is in the grid, and passes all branches
 * on the way to the loop, whose conditions 'by_row' includes. The same is true of columns.
 *
 * The region may contain what it may for edges (edges.c); if it stores, threads beside the diagonal leave before. Other
 * conditions of the branch, as in "if (row < m && col <= row)", then get a branch of their own before it, so that edges
 * finds a guard that compares no index with the other.
 *
 * Requires and keeps SSA form. */
#include "opt/edges/internal.h"

#include "opt/common/version.h"
#include "opt/passes.h"

typedef struct Diagonal {
    Edges *e;
    Block *from;      /* its branch leads to 'inside' or 'outside' */
    unsigned axes;    /* the two of the condition */
    unsigned used;    /* those of them that loads depend on */
    EdgeTerm parts[EDGE_TERMS_MOST]; /* of the branch's condition; all must hold */
    unsigned part_count;
    unsigned joint_count; /* those of them that depend on both axes */
    uint8_t *depends; /* by RegId: the axes that the value depends on in the region, or AXES_UNKNOWN */
} Diagonal;

/* Adds the condition of the branch that leads to the block; false if it is not known. */
static bool add_term(Edges *e, const Block *from, const Block *to)
{
    const Inst *branch = block_two_way_branch(from);
    if (!branch || e->term_count == EDGE_TERMS_MOST)
        return false;
    const bool by_taken = dominance_has(e->dominance, branch->targets[0], to) && branch->targets[0]->pred_count == 1;
    const bool by_fall = dominance_has(e->dominance, from->fall, to) && from->fall->pred_count == 1;
    const RegId predicate = inst_predicate(branch);
    if (by_taken == by_fall || e->axes[predicate] & AXES_UNKNOWN)
        return false;
    e->terms[e->term_count++] = (EdgeTerm){predicate, by_taken != branch->guard_inverted, e->axes[predicate]};
    return true;
}

/* Adds the conditions under which threads get to the branch; false if one is unknown, or a loop is on the way. */
static bool add_terms_before(Diagonal *d)
{
    Edges *e = d->e;
    const Dominance *postdominance = analyses_postdominance(e->analyses);
    const BitSet sources = edges_sources(e, d->from);
    for (size_t b = 0; b < e->body->blocks.count; b++) {
        const Block *block = e->body->blocks.data[b];
        if (!bitset_has(&sources, block->id) || dominance_has(postdominance, d->from, block))
            continue;
        const Inst *branch = block_two_way_branch(block);
        if (branch && !e->axes[inst_predicate(branch)])
            continue;
        if (loop_of(e->loops, block) || !dominance_has(e->dominance, block, d->from) ||
            !add_term(e, block, d->from))
            return false;
    }
    return true;
}

/* Sets the axes of the values in the region, through loops. */
static void find_depends(Diagonal *d)
{
    Edges *e = d->e;
    d->depends = ARENA_ARRAY(e->scratch, uint8_t, e->values->reg_count);
    BitSet inside = bitset_new(e->scratch, e->values->reg_count);
    for (RegId reg = 0; reg < e->values->reg_count; reg++) {
        const Block *block = e->values->defs[reg].block;
        if (block && bitset_has(&e->region, block->id))
            bitset_add(&inside, reg);
        else
            d->depends[reg] = e->axes[reg];
    }
    for (bool is_new = true; is_new;) {
        is_new = false;
        for (RegId reg = 0; reg < e->values->reg_count; reg++) {
            const ValueDef *def = &e->values->defs[reg];
            uint8_t depends = d->depends[reg];
            if (!bitset_has(&inside, reg))
                continue;
            if (!def->inst) {
                const Phi *phi = &def->block->phis.data[def->phi];
                for (size_t a = 0; a < phi->args.count; a++)
                    depends |= d->depends[phi->args.data[a].reg];
            } else if (edges_axis(def->inst) < 3) {
                depends |= (uint8_t)(1 << edges_axis(def->inst));
            } else {
                for (unsigned r = 0; r < def->inst->ref_count; r++)
                    if (ref_reads(&def->inst->refs[r]))
                        depends |= d->depends[def->inst->refs[r].reg];
            }
            is_new |= depends != d->depends[reg];
            d->depends[reg] = depends;
        }
    }
}

/* Whether only threads that pass the condition execute the load. */
static bool is_own(const Edges *e, const Inst *inst)
{
    for (size_t i = 0; i < e->stored.count; i++)
        if (e->stored.data[i] == inst)
            return true;
    return false;
}

/* Whether a branch is taken by all threads alike, and a load depends on one axis of the condition at most. */
static bool check_inst(Diagonal *d, const Inst *inst)
{
    Edges *e = d->e;
    Access access;
    unsigned depends = 0;
    if ((!inst_is_branch(inst) && !inst_access(inst, &access)) || is_own(e, inst))
        return true;
    for (unsigned r = 0; r < inst->ref_count; r++)
        if (ref_reads(&inst->refs[r]))
            depends |= d->depends[inst->refs[r].reg];
    if (depends & AXES_UNKNOWN)
        return edges_refuse(e, inst, REFUSAL_EDGES_VALUE);
    depends &= d->axes;
    if (depends == d->axes || (depends && inst_is_branch(inst)))
        return edges_refuse(e, inst, REFUSAL_EDGES_BOTH);
    d->used |= depends;
    return true;
}

static bool check_loads(Diagonal *d)
{
    Edges *e = d->e;
    find_depends(d);
    for (size_t b = 0; b < e->body->blocks.count; b++) {
        const Block *block = e->body->blocks.data[b];
        for (const Inst *inst = block->first; inst && bitset_has(&e->region, block->id); inst = inst->next)
            if (edges_is_before(e, block, inst) && !check_inst(d, inst))
                return false;
    }
    return d->used || edges_refuse(e, NULL, REFUSAL_EDGES_NONE);
}

/* Whether results can be chosen where the two ways meet: no others lead there. */
static bool check_results(const Diagonal *d)
{
    const Edges *e = d->e;
    const Block *outside = e->outside;
    for (size_t p = 0; p < outside->phis.count; p++) {
        const Phi *phi = &outside->phis.data[p];
        if (!edges_select(e->body->regs.data[phi->dst].type) || phi_argument(phi, d->from) == REG_NONE)
            return false;
    }
    for (unsigned p = 0; p < outside->pred_count && outside->phis.count; p++)
        if (outside->preds[p] != d->from && !bitset_has(&e->region, outside->preds[p]->id))
            return false;
    return true;
}

/* Finds the parts of the condition: those that depend on two axes at once, and those about the edges of the data. False
 * if none depends on two. */
static bool find_parts(Diagonal *d)
{
    const Edges *e = d->e;
    const EdgeTerm *condition = &e->terms[0];
    if (!edges_parts(e, condition->predicate, condition->passes_if, d->parts, &d->part_count))
        return false;
    d->joint_count = 0;
    for (unsigned p = 0; p < d->part_count; p++)
        d->joint_count += edges_is_joint(&d->parts[p]);
    return d->joint_count > 0;
}

/* Whether the block's branch leads to a region at this side that threads beside a diagonal may go through. */
static bool find_diagonal(Diagonal *d, Block *from, Block *inside, Block *outside)
{
    Edges *e = d->e;
    const Inst *branch = block_two_way_branch(from);
    const uint8_t axes = e->axes[inst_predicate(branch)];
    *d = (Diagonal){.e = e, .from = from, .axes = axes};
    e->term_count = 0;
    e->stored.count = 0;
    e->inside = inside;
    e->outside = outside;
    if (axes & AXES_UNKNOWN || __builtin_popcount(axes) != 2 || inside->pred_count != 1 || inside->phis.count ||
        inside == outside || !edges_find_region(e) || !add_term(e, from, inside) || !find_parts(d) ||
        !add_terms_before(d))
        return false;
    e->result->span = branch->span;
    const bool has_effects = edges_find_last(e);
    if (!has_effects && e->last)
        return false;
    if (has_effects && outside->phis.count)
        return edges_refuse(e, branch, REFUSAL_EDGES_WAY);
    return edges_check_region(e) && check_loads(d) && check_results(d);
}

/* Whether threads of this axis' row or column pass: one of two. */
static RegId put_passes(const Diagonal *d, unsigned axis)
{
    Edges *e = d->e;
    RegId passes[2];
    for (unsigned i = 0; i < 2; i++) {
        Remake there = remake_new(e, i ? PLACE_LAST : PLACE_FIRST, d->axes & ~(1U << axis), d->from);
        passes[i] = remake_condition(&there, REG_NONE, 0);
    }
    const Remake at = remake_new(e, PLACE_ORIGIN, 0, d->from);
    const RegId either = remake_reg(&at, TYPE_PRED, "%either");
    remake_put(&at, inst_build(e->body, "or.pred", "drr", either, passes[0], passes[1]));
    return either;
}

/* Chooses between the region's result and that of the threads that do not go there. */
static void choose_results(const Diagonal *d, RegId own)
{
    Edges *e = d->e;
    Inst *first = e->outside->first;
    for (size_t p = 0; p < e->outside->phis.count; p++) {
        Phi *phi = &e->outside->phis.data[p];
        const RegId result = phi->dst, other = phi_argument(phi, d->from);
        phi->dst = body_clone_reg(e->body, result);
        Inst *choice = inst_build(e->body, edges_select(e->body->regs.data[result].type), "drrr", result, phi->dst,
                                  other, own);
        if (first)
            inst_insert_before(first, choice);
        else
            inst_append(e->outside, choice);
    }
}

/* Whether all parts of the condition hold that depend on both axes, or on one. */
static RegId put_parts(const Diagonal *d, const Remake *at, bool are_joint)
{
    RegId holds = REG_NONE;
    for (unsigned p = 0; p < d->part_count; p++)
        if (edges_is_joint(&d->parts[p]) == are_joint)
            holds = remake_both(at, holds, d->parts[p].predicate, d->parts[p].passes_if);
    return holds;
}

/* The parts about the edges of the data become the condition of a branch before the other. */
static void split_edges(Diagonal *d)
{
    Edges *e = d->e;
    const Remake at = remake_new(e, PLACE_ORIGIN, 0, d->from);
    const RegId within = put_parts(d, &at, false);
    Block *rest = body_split(e->body, d->from->last);
    Inst *guard = inst_build_branch(e->body, e->outside, within, true);
    guard->span = rest->last->span;
    inst_append(d->from, guard);
    d->from->fall = rest;
    d->from = rest;
}

static void rewrite(Diagonal *d)
{
    Edges *e = d->e;
    if (e->last && d->joint_count < d->part_count)
        split_edges(d);
    const Remake at = remake_new(e, PLACE_ORIGIN, 0, d->from);
    RegId others = REG_NONE;
    for (unsigned axis = 0; axis < 3; axis++)
        if (d->used & 1U << axis)
            others = remake_both(&at, others, put_passes(d, axis), true);
    const RegId own = e->last ? put_parts(d, &at, true)
                              : remake_both(&at, REG_NONE, e->terms[0].predicate, e->terms[0].passes_if);
    const RegId enters = remake_reg(&at, TYPE_PRED, "%enters");
    remake_put(&at, inst_build(e->body, "or.pred", "drr", enters, own, others));
    edges_set_branch(e, d->from, enters, e->inside);
    edges_guard_stored(e, own);
    if (e->last)
        edges_leave(e, own);
    else
        choose_results(d, own);
    body_renumber(e->body);
    body_update_preds(e->body);
}

static bool find_any(Diagonal *d, Edges *e)
{
    d->e = e;
    for (uint32_t i = 0; e->loops->loop_count && i < e->dominance->order_count; i++) {
        Block *block = e->body->blocks.data[e->dominance->order[i]];
        const Inst *branch = block_two_way_branch(block);
        if (branch && !loop_of(e->loops, block) &&
            (find_diagonal(d, block, branch->targets[0], block->fall) ||
             find_diagonal(d, block, block->fall, branch->targets[0])))
            return true;
    }
    return false;
}

bool pass_diagonals(PassContext *context)
{
    Arena *scratch = arena_new();
    EdgesResult result = {.span = {0, 0}};
    Edges e = {.body = context->body, .request = &context->edges_request, .result = &result};
    Diagonal d;
    edges_split_conditions(context->body, analyses_loops(context->analyses), analyses_values(context->analyses));
    analyses_invalidate(context->analyses, ANALYSES_ALL);
    edges_find_facts(&e, context->analyses, scratch);
    const bool done = !edges_find_end(e.body) && find_any(&d, &e);
    if (done)
        rewrite(&d);
    context->diagonal = done ? result.span : (Span){0, 0};
    arena_free(scratch);
    return done;
}
