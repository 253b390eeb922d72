/* One loop-carried address for several replicas.
 *
 * Two phis of a loop's header that start a constant apart and grow by the same sum stay that far apart: the second is
 * the first plus the constant, which an access takes as an immediate. Nothing wraps differently, since both are
 * integers modulo one power of two. Rows of replicas are a multiple of a width apart, for which one multiply-add does
 * (join_row_phis). */
#include "opt/common/cleanup.h"
#include "opt/common/trips.h"
#include "opt/passes.h"
#include "opt/replicas/induction.h"

enum { MOST_PHIS = 128 }; /* of one header that are compared in pairs */

bool induction_find(const Loop *loop, const Phi *phi, const Affine *affine, Induction *out)
{
    RegId start = loop_start(loop, phi);
    if (start == REG_NONE || !affine_knows(affine, start) || affine_of_reg(affine, phi->dst).bits == 0)
        return false;
    out->reg = phi->dst;
    out->start = affine_of_reg(affine, start);
    return loop_step(loop, phi, affine, out->terms, &out->step);
}

bool inductions_step_alike(const Induction *first, const Induction *second)
{
    return first->step.constant == second->step.constant && first->step.term_count == second->step.term_count &&
           (!first->step.term_count || affine_compare(&first->step, 1, &second->step, 1) == ALIAS_SAME);
}

/* True if the second is the first plus a constant in every round. */
static bool is_apart_by(const Induction *first, const Induction *second, int64_t *distance)
{
    AffineForm moved = first->start;
    moved.constant = second->start.constant;
    if (!inductions_step_alike(first, second) || affine_compare(&moved, 1, &second->start, 1) != ALIAS_SAME)
        return false;
    uint64_t difference = (uint64_t)second->start.constant - (uint64_t)first->start.constant;
    *distance = moved.bits == 32 ? (int64_t)(int32_t)difference : (int64_t)difference;
    return true;
}

static unsigned header_join(Body *body, const Loop *loop, const Affine *affine, const Values *values)
{
    Block *header = loop->header;
    Arena *scratch = arena_new();
    Induction *found = ARENA_ARRAY(scratch, Induction, MOST_PHIS);
    unsigned count = 0, joined = 0;
    for (size_t p = 0; p < header->phis.count && count < MOST_PHIS; p++) {
        if (!induction_find(loop, &header->phis.data[p], affine, &found[count]))
            continue;
        int64_t distance;
        unsigned first = 0;
        while (first < count && !is_apart_by(&found[first], &found[count], &distance))
            first++;
        if (first == count) {
            found[count].step.terms = found[count].terms;
            count++;
            continue;
        }
        joined++;
        if (!distance) {
            value_replace_uses(values, found[count].reg, found[first].reg);
            continue;
        }
        RegId reg = body_clone_reg(body, found[count].reg);
        bool wide = found[first].start.bits == 64;
        Inst *sum = inst_build(body, wide ? "add.s64" : "add.s32", "dri", reg, found[first].reg, distance);
        value_replace_uses(values, found[count].reg, reg);
        if (header->first)
            inst_insert_before(header->first, sum);
        else
            inst_append(header, sum);
    }
    arena_free(scratch);
    return joined;
}

unsigned join_inductions(Body *body, Analyses *analyses)
{
    const LoopForest *loops = analyses_loops(analyses);
    unsigned joined = 0;
    for (uint32_t i = 0; i < loops->loop_count; i++) {
        if (!loops->loops[i].preheader || loops->loops[i].header->phis.count < 2)
            continue;
        unsigned here = header_join(body, &loops->loops[i], analyses_affine(analyses), analyses_values(analyses));
        if (here) /* a loop inside may start from one of the sums */
            analyses_invalidate(analyses, ANALYSES_INSTRUCTIONS);
        joined += here;
    }
    return joined;
}

unsigned row_difference(const AffineForm *a, const AffineForm *b, AffineTerm *terms, int64_t *constant)
{
    unsigned count = 0;
    for (unsigned i = 0; i < a->term_count + b->term_count; i++) {
        bool from_b = i >= a->term_count;
        AffineTerm term = from_b ? b->terms[i - a->term_count] : a->terms[i];
        if (from_b)
            term.coefficient = (int32_t)-(uint32_t)term.coefficient;
        unsigned k = 0;
        while (k < count && !affine_base_equal(&terms[k], &term))
            k++;
        if (k == count)
            terms[count++] = term;
        else
            terms[k].coefficient = (int32_t)((uint32_t)terms[k].coefficient + (uint32_t)term.coefficient);
        if (k < count && !terms[k].coefficient)
            terms[k] = terms[--count];
    }
    *constant = (int32_t)((uint32_t)a->constant - (uint32_t)b->constant);
    return count;
}

bool row_is_near(int64_t value, int64_t most)
{
    return value >= -most && value <= most;
}

/* Whether the second phi is a multiple of one value, and a constant, further on than the first, in all rounds. */
static bool rows_apart(const Induction *first, const Induction *second, int64_t *constant, AffineTerm *step)
{
    AffineTerm terms[2 * AFFINE_TERMS];
    if (first->start.bits != 32 || second->start.bits != 32 || !inductions_step_alike(first, second) ||
        row_difference(&second->start, &first->start, terms, constant) != 1)
        return false;
    *step = terms[0];
    return row_is_near(step->coefficient, ROW_FACTOR_MOST) && row_is_near(*constant, ROW_CONSTANT_MOST);
}

/* A 32-bit register with the base of the term that is there before the loop; REG_NONE: there is none. */
static RegId base_before(Analyses *analyses, const Loop *loop, const AffineTerm *term)
{
    const Affine *affine = analyses_affine(analyses);
    const Values *values = analyses_values(analyses);
    for (RegId reg = 0; reg < affine->reg_count; reg++) {
        const AffineForm *form = &affine->forms[reg];
        const Block *block = values->defs[reg].block;
        if (form->bits == 32 && form->term_count == 1 && !form->constant && form->terms[0].coefficient == 1 &&
            affine_base_equal(&form->terms[0], term) && block &&
            dominance_has(analyses_dominance(analyses), block, loop->preheader))
            return reg;
    }
    return REG_NONE;
}

/* Makes the phi the first row's plus factor * step + constant, at the top of the block. */
static void row_build(Body *body, Block *block, const Values *values, RegId phi, RegId first, RegId step,
                      int64_t factor, int64_t constant)
{
    RegId sum = body_clone_reg(body, phi), row = constant ? body_clone_reg(body, phi) : sum;
    Inst *top = block->first;
    value_replace_uses(values, phi, sum);
    inst_insert_before(top, inst_build(body, "mad.lo.s32", "drir", row, step, factor, first));
    if (constant)
        inst_insert_before(top, inst_build(body, "add.s32", "dri", sum, row, constant));
}

unsigned join_row_phis(Body *body, Analyses *analyses, Block *block)
{
    const Loop *loop = loop_headed(analyses_loops(analyses), block);
    const Affine *affine = analyses_affine(analyses);
    Arena *scratch = arena_new();
    Induction *found = ARENA_ARRAY(scratch, Induction, MOST_PHIS);
    unsigned count = 0, joined = 0;
    for (size_t p = 0; p < block->phis.count && loop && loop->preheader && block->first && count < MOST_PHIS; p++) {
        Induction *own = &found[count];
        int64_t constant;
        AffineTerm term;
        unsigned first = 0;
        if (!induction_find(loop, &block->phis.data[p], affine, own))
            continue;
        own->step.terms = own->terms;
        while (first < count && !rows_apart(&found[first], own, &constant, &term))
            first++;
        const RegId step = first < count ? base_before(analyses, loop, &term) : REG_NONE;
        if (step == REG_NONE) {
            count++;
            continue;
        }
        row_build(body, block, analyses_values(analyses), own->reg, found[first].reg, step, term.coefficient, constant);
        joined++;
    }
    if (joined)
        analyses_invalidate(analyses, ANALYSES_INSTRUCTIONS);
    arena_free(scratch);
    return joined;
}

bool pass_induction(PassContext *context)
{
    if (!join_inductions(context->body, context->analyses))
        return false;
    remove_dead_code(context->body, context->analyses);
    return true;
}
