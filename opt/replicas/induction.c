/* One loop-carried address for several replicas.
 *
 * Two phis of a loop's header that start a constant apart and grow by the same sum stay that far apart: the second is
 * the first plus the constant, which an access takes as an immediate. Nothing wraps differently, since both are
 * integers modulo one power of two. */
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
        RegId reg = body_clone_reg(body, found[count].reg);
        bool wide = found[first].start.bits == 64;
        Inst *sum = inst_build(body, wide ? "add.s64" : "add.s32", "dri", reg, found[first].reg, distance);
        value_replace_uses(values, found[count].reg, reg);
        if (header->first)
            inst_insert_before(header->first, sum);
        else
            inst_append(header, sum);
        joined++;
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

bool pass_induction(PassContext *context)
{
    if (!join_inductions(context->body, context->analyses))
        return false;
    remove_dead_code(context->body, context->analyses);
    return true;
}
