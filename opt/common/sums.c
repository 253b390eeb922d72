/* Registers for sums: one that has the sum, or term by term. */
#include "opt/common/sums.h"

RegId sum_other(const Body *body, const Inst *inst, RegId reg)
{
    Computation c;
    if (!computation_matches(body, inst, COMPUTE_ADD, 64, "rr", &c))
        return REG_NONE;
    RegId a = c.sources[0].reg, b = c.sources[1].reg;
    return a == reg && b != reg ? b : b == reg && a != reg ? a : REG_NONE;
}

unsigned product_shift(const Body *body, const Inst *inst)
{
    Computation c;
    if (!computation_matches(body, inst, COMPUTE_MUL, 64, "ri", &c) || c.sources[0].bits != 32)
        return 0;
    const uint64_t factor = c.sources[1].constant;
    if (factor < 2 || factor > INT32_MAX || factor & (factor - 1))
        return 0;
    return (unsigned)__builtin_ctzll(factor);
}

SumPlace sum_place_new(Body *body, Block *block, Analyses *analyses)
{
    return (SumPlace){body, block, analyses_affine(analyses), analyses_values(analyses),
                      analyses_dominance(analyses)};
}

void sum_put(const SumPlace *place, Inst *inst)
{
    Inst *last = place->block->last;
    if (last && inst_is_terminator(last))
        inst_insert_before(last, inst);
    else
        inst_append(place->block, inst);
}

Inst *sum_place_end(const SumPlace *place)
{
    Inst *last = place->block->last;
    return last && inst_is_terminator(last) ? last->prev : last;
}

void sum_place_undo(const SumPlace *place, Inst *end)
{
    for (Inst *added; (added = sum_place_end(place)) != end;)
        inst_remove(added);
}

RegId sum_reg(const SumPlace *place, Type type, Name base)
{
    return body_add_reg(place->body, type, base);
}

RegId sum_extend(const SumPlace *place, RegId narrow, bool is_signed, Name base)
{
    RegId wide = sum_reg(place, TYPE_B64, base);
    sum_put(place, inst_build(place->body, is_signed ? "cvt.s64.s32" : "cvt.u64.u32", "dr", wide, narrow));
    return wide;
}

static bool is_available(const SumPlace *place, RegId reg)
{
    const ValueDef *def = &place->values->defs[reg];
    return def->block && dominance_has(place->dominance, def->block, place->block);
}

/* A register that has exactly this sum and is available at the place; REG_NONE: there is none. */
static RegId sum_find(const SumPlace *place, const AffineForm *form)
{
    for (RegId reg = 0; reg < place->affine->reg_count; reg++) {
        const AffineForm *have = &place->affine->forms[reg];
        if (have->bits == form->bits && have->term_count == form->term_count &&
            affine_compare(have, 1, form, 1) == ALIAS_SAME && is_available(place, reg))
            return reg;
    }
    return REG_NONE;
}

/* A 32-bit register with the value that the term extends; *is_signed: how. */
static RegId narrow_find(const SumPlace *place, const AffineTerm *term, bool *is_signed)
{
    AffineTerm one = *term;
    *is_signed = term->base == AFFINE_SIGNED;
    if (term->base == AFFINE_VALUE || term->base == AFFINE_SIGNED) {
        if (type_bits(place->body->regs.data[term->reg].type) != 32)
            return REG_NONE;
        return sum_find(place, &place->affine->forms[term->reg]);
    }
    one.coefficient = 1;
    AffineForm form = {32, 1, 0, &one};
    return sum_find(place, &form);
}

/* coefficient * base. */
static RegId term_build(const SumPlace *place, const AffineTerm *term)
{
    AffineForm form = {64, 1, 0, term};
    RegId whole = sum_find(place, &form), product;
    if (whole != REG_NONE)
        return whole;
    AffineTerm one = *term;
    one.coefficient = 1;
    form.terms = &one;
    RegId base = sum_find(place, &form);
    bool is_signed = false;
    RegId narrow = base == REG_NONE ? narrow_find(place, term, &is_signed) : REG_NONE;
    bool fits = term->coefficient >= INT32_MIN / 2 && term->coefficient <= INT32_MAX / 2;
    if (base == REG_NONE && (narrow == REG_NONE || !fits || (!is_signed && term->coefficient < 0)))
        return REG_NONE;
    product = sum_reg(place, TYPE_B64, "%sum");
    sum_put(place, base != REG_NONE ? inst_build(place->body, "mul.lo.s64", "dri", product, base, term->coefficient)
                   : is_signed ? inst_build(place->body, "mul.wide.s32", "dri", product, narrow, term->coefficient)
                               : inst_build(place->body, "mul.wide.u32", "dri", product, narrow, term->coefficient));
    return product;
}

RegId sum_build(const SumPlace *place, const AffineForm *form)
{
    require(form->bits == 64);
    RegId sum = sum_find(place, form);
    if (sum != REG_NONE)
        return sum;
    for (unsigned i = 0; i < form->term_count; i++) {
        RegId term = term_build(place, &form->terms[i]), next;
        if (term == REG_NONE)
            return REG_NONE;
        if (sum == REG_NONE) {
            sum = term;
            continue;
        }
        next = sum_reg(place, TYPE_B64, "%sum");
        sum_put(place, inst_build(place->body, "add.s64", "drr", next, sum, term));
        sum = next;
    }
    if (sum == REG_NONE || form->constant) {
        RegId next = sum_reg(place, TYPE_B64, "%sum");
        sum_put(place, sum == REG_NONE ? inst_build(place->body, "mov.b64", "di", next, form->constant)
                                       : inst_build(place->body, "add.s64", "dri", next, sum, form->constant));
        sum = next;
    }
    return sum;
}
