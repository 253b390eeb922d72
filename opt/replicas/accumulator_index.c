/* Indices of 32 bits in the addresses of a loop: 'p + 4 * i' where i, extended to 64 bits, grows by a constant, or by a
 * value that is known before the loop.
 *
 * The address grows by the same amount in each round unless the index wraps. It grows or falls all the way, so that a
 * last value in the range of 32-bit integers, computed with 64 bits, shows that no value before it has wrapped. */
#include "opt/replicas/accumulator.h"

bool accumulator_index_find(const Promoter *promoter, const AffineTerm *term, RangeIndex *out)
{
    *out = (RangeIndex){.is_signed = term->base == AFFINE_SIGNED, .coefficient = term->coefficient};
    out->is_found = (term->base == AFFINE_VALUE || term->base == AFFINE_SIGNED) &&
                    type_bits(promoter->body->regs.data[term->reg].type) == 32 &&
                    (loop_counter_find(promoter->loop, promoter->loops, promoter->analyses, term->reg, &out->counter) ||
                     loop_counter_find_strided(promoter->loop, promoter->loops, promoter->analyses, term->reg,
                                               &out->counter));
    return out->is_found;
}

/* The index in the first round, extended to 64 bits. */
static RegId first_build(const SumPlace *place, const RangeIndex *index)
{
    Body *body = place->body;
    RegId narrow = loop_counter_build_start(place, &index->counter), wide = sum_reg(place, TYPE_B64, "%index");
    if (index->counter.offset) {
        RegId sum = sum_reg(place, TYPE_B32, "%index");
        sum_put(place, inst_build(body, "add.s32", "dri", sum, narrow, (int64_t)(int32_t)index->counter.offset));
        narrow = sum;
    }
    sum_put(place, inst_build(body, index->is_signed ? "cvt.s64.s32" : "cvt.u64.u32", "dr", wide, narrow));
    return wide;
}

/* True if the index, in the round 'last', is an integer of 32 bits. */
static RegId fits_build(const SumPlace *place, const RangeIndex *index, RegId first, RegId last)
{
    Body *body = place->body;
    const int64_t low = index->is_signed ? INT32_MIN : 0;
    RegId way = sum_reg(place, TYPE_B64, "%index"), end = sum_reg(place, TYPE_B64, "%index");
    RegId above = sum_reg(place, TYPE_B64, "%index"), fits = sum_reg(place, TYPE_PRED, "%fits");
    if (!index->counter.is_strided)
        sum_put(place, inst_build(body, "mul.lo.s64", "dri", way, last, (int64_t)(int32_t)index->counter.step));
    else
        sum_put(place, inst_build(body, "mul.lo.s64", "drr", way, last,
                                  sum_extend(place, index->counter.stride, index->is_signed, "%index")));
    sum_put(place, inst_build(body, "add.s64", "drr", end, first, way));
    sum_put(place, inst_build(body, "sub.s64", "dri", above, end, low));
    sum_put(place, inst_build(body, "setp.le.u64", "dri", fits, above, (int64_t)UINT32_MAX));
    return fits;
}

RegId accumulator_index_build(const SumPlace *place, const Range *range, RegId last, RegId *fits)
{
    AffineTerm terms[AFFINE_TERMS];
    AffineForm rest = {64, 0, range->start.constant, terms};
    for (unsigned i = 0; i < range->start.term_count; i++)
        if (i != range->index_term)
            terms[rest.term_count++] = range->start.terms[i];
    RegId base = sum_build(place, &rest), first, start;
    if (base == REG_NONE)
        return REG_NONE;
    first = first_build(place, &range->index);
    *fits = fits_build(place, &range->index, first, last);
    start = sum_reg(place, TYPE_B64, "%range");
    sum_put(place, inst_build(place->body, "mad.lo.s64", "drir", start, first, range->index.coefficient, base));
    return start;
}
