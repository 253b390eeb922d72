/* The thread's old place in the grid, computed from its new one where the kernel begins, and sums of both that need
 * neither.
 *
 * Nearly always a kernel reads its place to compute %ctaid * %ntid + %tid. That is the same number for the larger
 * block, modulo 2^32, since (c * N + t / B) * B + t % B = c * N * B + t. So such sums are computed from the new place:
 * that costs nothing, and the analyses of staging see neighbouring threads read neighbouring addresses.
 *
 * Keeps SSA form. */
#include "opt/grow/internal.h"

#include "opt/common/quotient.h"

static const Sreg *component(const char *vector, unsigned axis)
{
    return sreg_component(sreg_find(vector), axis);
}

static RegId add_reg(Grow *g, const char *name)
{
    return body_add_reg(g->c.body, TYPE_B32, intern(g->c.body->module->names, name));
}

/* Adds the instruction at the beginning of the kernel, after those that were added before. */
static void put(Grow *g, Inst **place, Inst *inst)
{
    if (*place)
        inst_insert_after(*place, inst);
    else
        inst_insert_first(g->c.body->blocks.data[0], inst);
    *place = inst;
}

static void put_read(Grow *g, Inst **place, RegId reg, const char *vector, unsigned axis)
{
    put(g, place, inst_build(g->c.body, "mov.u32", "ds", reg, component(vector, axis)->name));
}

/* size, part and index, given the thread's index in the larger block. */
static void put_parts(Grow *g, Inst **place, GrowAxis *axis, unsigned d)
{
    Body *body = g->c.body;
    if (axis->threads) {
        const int64_t size = axis->threads;
        put(g, place, inst_build(body, "mov.u32", "di", axis->size, size));
        *place = inst_insert_quotient(body, *place, axis->part, axis->thread, axis->threads);
        if (size & (size - 1))
            put(g, place, inst_build(body, "mad.lo.u32", "drir", axis->index, axis->part, -size, axis->thread));
        else
            put(g, place, inst_build(body, "and.b32", "dri", axis->index, axis->thread, size - 1));
        return;
    }
    RegId grown = add_reg(g, "%ntid_grown"), first = add_reg(g, "%tid_first");
    put_read(g, place, grown, "%ntid", d);
    *place = inst_insert_quotient(body, *place, axis->size, grown, axis->by);
    put(g, place, inst_build(body, "div.u32", "drr", axis->part, axis->thread, axis->size));
    put(g, place, inst_build(body, "mul.lo.u32", "drr", first, axis->part, axis->size));
    put(g, place, inst_build(body, "sub.u32", "drr", axis->index, axis->thread, first));
}

static void place_along(Grow *g, Inst **place, unsigned d)
{
    GrowAxis *axis = &g->axes[d];
    Body *body = g->c.body;
    RegId grid = add_reg(g, "%nctaid_grown");
    axis->thread = add_reg(g, "%tid_grown");
    axis->block = add_reg(g, "%ctaid_grown");
    axis->size = add_reg(g, "%ntid_read");
    axis->part = add_reg(g, "%part");
    axis->index = add_reg(g, "%tid_read");
    axis->group = add_reg(g, "%ctaid_read");
    axis->grid = add_reg(g, "%nctaid_read");
    body_replace_special(g->c.body, component("%tid", d), axis->index);
    body_replace_special(g->c.body, component("%ntid", d), axis->size);
    body_replace_special(g->c.body, component("%ctaid", d), axis->group);
    body_replace_special(g->c.body, component("%nctaid", d), axis->grid);
    put_read(g, place, axis->thread, "%tid", d);
    put_parts(g, place, axis, d);
    put_read(g, place, axis->block, "%ctaid", d);
    put(g, place, inst_build(body, "mad.lo.u32", "drir", axis->group, axis->block, (int64_t)axis->by, axis->part));
    put_read(g, place, grid, "%nctaid", d);
    put(g, place, inst_build(body, "mul.lo.u32", "dri", axis->grid, grid, (int64_t)axis->by));
}

Inst *grow_place(Grow *g)
{
    Inst *place = NULL;
    for (unsigned d = 0; d < 3; d++)
        if (g->axes[d].by > 1)
            place_along(g, &place, d);
    return place;
}

/* A sum that is block * %ctaid + thread * %tid + constant along an axis, in terms of the new place. */
typedef struct PlaceSum {
    const GrowAxis *axis;
    int64_t block, thread, constant; /* modulo 2^32 */
} PlaceSum;

static bool is_sreg_term(const AffineTerm *term, unsigned role, unsigned d)
{
    return term->base == AFFINE_SREG && term->sreg->role == role && term->sreg->axis == SREG_AXIS_X + d;
}

static bool is_value_term(const AffineTerm *term, RegId reg)
{
    return term->base == AFFINE_VALUE && term->reg == reg;
}

/* The sum as one of these along the axis; false if it is anything else. */
static bool sum_along(const Grow *g, const AffineForm *form, unsigned d, PlaceSum *sum)
{
    const GrowAxis *axis = &g->axes[d];
    int64_t part = 0, index = 0;
    *sum = (PlaceSum){.axis = axis, .constant = form->constant};
    if (form->bits != 32 || axis->by == 1)
        return false;
    for (unsigned t = 0; t < form->term_count; t++) {
        const AffineTerm *term = &form->terms[t];
        if (is_sreg_term(term, SREG_ROLE_CTAID, d))
            sum->block = term->coefficient;
        else if (is_sreg_term(term, SREG_ROLE_TID, d))
            sum->thread = term->coefficient;
        else if (is_value_term(term, axis->part))
            part = term->coefficient;
        else if (is_value_term(term, axis->index))
            index = term->coefficient;
        else
            return false;
    }
    if ((uint32_t)part != (uint32_t)index * axis->threads)
        return false;
    sum->thread += index;
    return sum->block && sum->thread;
}

static bool reads_parts(const Affine *affine, const Grow *g, const Inst *inst)
{
    for (unsigned r = 0; r < inst->ref_count; r++) {
        if (!ref_reads(&inst->refs[r]) || !affine_knows(affine, inst->refs[r].reg))
            continue;
        const AffineForm form = affine_of_reg(affine, inst->refs[r].reg);
        for (unsigned t = 0; t < form.term_count; t++)
            for (unsigned d = 0; d < 3; d++)
                if (g->axes[d].by > 1 && (is_value_term(&form.terms[t], g->axes[d].part) ||
                                          is_value_term(&form.terms[t], g->axes[d].index)))
                    return true;
    }
    return false;
}

static bool is_integer(Type type)
{
    return type_class(type) == CLASS_UNSIGNED || type_class(type) == CLASS_SIGNED || type_class(type) == CLASS_BITS;
}

/* Replaces the instruction by one that computes the sum. */
static void put_sum(Grow *g, Inst *inst, RegId result, const PlaceSum *sum)
{
    Body *body = g->c.body;
    RegId addend = sum->axis->thread;
    if (sum->thread != 1 || sum->constant) {
        addend = add_reg(g, "%tid_sum");
        inst_insert_before(inst, inst_build(body, "mad.lo.u32", "drii", addend, sum->axis->thread,
                                            (int64_t)(uint32_t)sum->thread, (int64_t)(uint32_t)sum->constant));
    }
    inst_insert_before(inst, inst_build(body, "mad.lo.u32", "drir", result, sum->axis->block,
                                        (int64_t)(uint32_t)sum->block, addend));
    inst_remove(inst);
}

/* If the size of a block is known, all sums of these values are known, however they are computed. */
static void simplify_sums(Grow *g)
{
    Body *body = g->c.body;
    Analyses *analyses = analyses_new(body);
    const Affine *affine = analyses_affine(analyses);
    for (size_t b = 0; b < body->blocks.count; b++)
        for (Inst *inst = body->blocks.data[b]->first, *next; inst; inst = next) {
            Computation computation;
            PlaceSum sum;
            next = inst->next;
            if (!inst_is_plain(inst) || !computation_of(body, inst, &computation) || computation.reg_bits != 32 ||
                !is_integer(body->regs.data[computation.result].type) || !affine_knows(affine, computation.result))
                continue;
            const AffineForm form = affine_of_reg(affine, computation.result);
            for (unsigned d = 0; d < 3; d++)
                if (sum_along(g, &form, d, &sum) && reads_parts(affine, g, inst)) {
                    put_sum(g, inst, computation.result, &sum);
                    break;
                }
        }
    analyses_free(analyses);
}

static bool is_place(const Grow *g, const Values *values, const Computation *c, unsigned d)
{
    const GrowAxis *axis = &g->axes[d];
    RegId regs[3];
    for (unsigned i = 0; i < 3; i++)
        regs[i] = value_copied_from(values, c->sources[i].reg);
    return axis->by > 1 && regs[2] == axis->index &&
           ((regs[0] == axis->group && regs[1] == axis->size) || (regs[1] == axis->group && regs[0] == axis->size));
}

/* If it is not known, only the sum that is in nearly all kernels is found. */
static void simplify_products(Grow *g)
{
    Body *body = g->c.body;
    Analyses *analyses = analyses_new(body);
    const Values *values = analyses_values(analyses);
    for (size_t b = 0; b < body->blocks.count; b++)
        for (Inst *inst = body->blocks.data[b]->first, *next; inst; inst = next) {
            Computation c;
            next = inst->next;
            if (!computation_matches(body, inst, COMPUTE_MAD, 32, "rrr", &c) || c.saturates || c.reg_bits != 32 ||
                c.sources[0].bits != 32)
                continue;
            for (unsigned d = 0; d < 3; d++) {
                if (!is_place(g, values, &c, d))
                    continue;
                RegId size = add_reg(g, "%ntid_grown");
                inst_insert_before(inst,
                                   inst_build(body, "mov.u32", "ds", size, component("%ntid", d)->name));
                inst_insert_before(inst, inst_build(body, "mad.lo.u32", "drrr", c.result, g->axes[d].block, size,
                                                    g->axes[d].thread));
                inst_remove(inst);
                break;
            }
        }
    analyses_free(analyses);
}

void grow_simplify(Grow *g)
{
    bool is_known = true;
    for (unsigned d = 0; d < 3; d++)
        is_known &= g->axes[d].by == 1 || g->axes[d].threads;
    if (is_known)
        simplify_sums(g);
    else
        simplify_products(g);
}
