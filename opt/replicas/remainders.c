/* Remainders that the compiler has taken apart.
 *
 *     row = i / n                                            row = i / n; column = i - row * n
 *     for (p = i; ..; p += 2 * n)                            for (p = column; ..; p += 2 * n)
 *         sum += b[p - row * n] + b[p + n * (1 - row)]  ->       sum += b[p] + b[p + n]
 *
 * LLVM rewrites what an index of a flattened grid adds up to, b[k * n + i % n], so that the remainder is gone. The pass
 * delinearize compares the remainders of replicas, which then have a column in common, so sums of the dividend and
 * multiples of the quotient become sums of the remainder again. All is modulo 2^32, and no value changes.
 *
 * Requires and keeps SSA form; blocks and edges stay. */
#include "opt/passes.h"

typedef struct Remainders {
    Body *body;
    const Values *values;
    const LoopForest *loops;
    const Dominance *dominance;
    /* The division. */
    Inst *division;
    RegId dividend, divisor, quotient;
    RegId remainder; /* REG_NONE: not computed yet */
} Remainders;

/* A value and a number. */
typedef struct Factor {
    ComputeSource from;
    int64_t plus;
} Factor;

/* A value that is a multiple of the divisor less quotient * divisor: 'multiple' is a register, or, with has_factor,
 * the divisor times 'factor'. */
typedef struct Less {
    bool has_factor;
    RegId multiple; /* REG_NONE: 0 */
    Factor factor;
} Less;

static bool is_product(const Remainders *r, RegId reg)
{
    Computation c;
    if (!computation_matches(r->body, value_inst(r->values, reg), COMPUTE_MUL, 32, "rr", &c) || c.sources[0].bits != 32)
        return false;
    const RegId a = c.sources[0].reg, b = c.sources[1].reg;
    return (a == r->quotient && b == r->divisor) || (a == r->divisor && b == r->quotient);
}

/* Whether the register is something less the quotient, perhaps plus a number; *from: without the quotient. */
static bool is_less_quotient(const Remainders *r, RegId reg, Factor *from)
{
    Computation c;
    const Inst *inst = value_inst(r->values, reg);
    *from = (Factor){.plus = 0};
    if (computation_matches(r->body, inst, COMPUTE_ADD, 32, "ri", &c) && !c.saturates) {
        from->plus = (int32_t)(uint32_t)c.sources[1].constant;
        inst = value_inst(r->values, c.sources[0].reg);
    }
    if (!computation_matches(r->body, inst, COMPUTE_SUB, 32, "xr", &c) || c.saturates ||
        c.sources[1].reg != r->quotient || (!c.sources[0].is_constant && c.sources[0].reg == REG_NONE))
        return false;
    from->from = c.sources[0];
    return true;
}

static bool less_find(const Remainders *r, RegId reg, Less *out)
{
    Computation c;
    const Inst *inst = value_inst(r->values, reg);
    *out = (Less){.multiple = REG_NONE};
    if (computation_matches(r->body, inst, COMPUTE_NEG, 32, "r", &c))
        return is_product(r, c.sources[0].reg);
    if (computation_matches(r->body, inst, COMPUTE_SUB, 32, "rr", &c) && is_product(r, c.sources[1].reg)) {
        out->multiple = c.sources[0].reg;
        return true;
    }
    if (!computation_matches(r->body, inst, COMPUTE_MUL, 32, "rr", &c) || c.sources[0].bits != 32)
        return false;
    out->has_factor = true;
    return (c.sources[0].reg == r->divisor && is_less_quotient(r, c.sources[1].reg, &out->factor)) ||
           (c.sources[1].reg == r->divisor && is_less_quotient(r, c.sources[0].reg, &out->factor));
}

static RegId new_reg(const Remainders *r, const char *name)
{
    return body_add_reg(r->body, TYPE_B32, intern(r->body->module->names, name));
}

/* The dividend less quotient * divisor, computed after the division. */
static RegId remainder_of(Remainders *r)
{
    if (r->remainder != REG_NONE)
        return r->remainder;
    const RegId product = new_reg(r, "%whole");
    r->remainder = new_reg(r, "%remainder");
    Inst *multiply = inst_build(r->body, "mul.lo.s32", "drr", product, r->quotient, r->divisor);
    inst_insert_after(r->division, multiply);
    inst_insert_after(multiply, inst_build(r->body, "sub.s32", "drr", r->remainder, r->dividend, product));
    return r->remainder;
}

/* sum + divisor * factor, before the instruction. */
static RegId add_multiple(const Remainders *r, Inst *at, RegId sum, const Factor *factor)
{
    const RegId reg = new_reg(r, "%place");
    const ComputeSource *from = &factor->from;
    if (from->is_constant) {
        const int64_t number = (int32_t)(uint32_t)(from->constant + (uint64_t)factor->plus);
        inst_insert_before(at, inst_build(r->body, "mad.lo.s32", "drir", reg, r->divisor, number, sum));
        return reg;
    }
    RegId whole = from->reg;
    if (factor->plus) {
        whole = new_reg(r, "%factor");
        inst_insert_before(at, inst_build(r->body, "add.s32", "dri", whole, from->reg, factor->plus));
    }
    inst_insert_before(at, inst_build(r->body, "mad.lo.s32", "drrr", reg, r->divisor, whole, sum));
    return reg;
}

/* Replaces the result of an addition of what starts at the dividend, which 'start' has become, and the other value. */
static void sum_replace(const Remainders *r, Inst *inst, RegId start, const Less *less)
{
    RegId sum = start;
    if (less->has_factor) {
        sum = add_multiple(r, inst, start, &less->factor);
    } else if (less->multiple != REG_NONE) {
        sum = new_reg(r, "%place");
        inst_insert_before(inst, inst_build(r->body, "add.s32", "drr", sum, start, less->multiple));
    }
    value_replace_uses(r->values, inst_destination(inst), sum);
}

/* dividend + divisor * (k - quotient), in one instruction. */
static bool product_replace(Remainders *r, Inst *inst)
{
    Computation c;
    Factor factor;
    if (!computation_matches(r->body, inst, COMPUTE_MAD, 32, "rrr", &c) || c.sources[0].bits != 32 ||
        c.sources[2].reg != r->dividend)
        return false;
    const bool first = c.sources[0].reg == r->divisor && is_less_quotient(r, c.sources[1].reg, &factor);
    if (!first && !(c.sources[1].reg == r->divisor && is_less_quotient(r, c.sources[0].reg, &factor)))
        return false;
    value_replace_uses(r->values, c.result, add_multiple(r, inst, remainder_of(r), &factor));
    return true;
}

/* The value that the register is a copy of, or its own. */
static RegId original_of(const Remainders *r, RegId reg)
{
    for (RegId from; value_inst(r->values, reg); reg = from)
        if ((from = computation_copied(r->body, value_inst(r->values, reg))) == REG_NONE)
            break;
    return reg;
}

/* The other register of an addition; REG_NONE: the instruction does anything else. */
static RegId added_to(const Remainders *r, const Inst *inst, RegId reg)
{
    Computation c;
    if (!computation_matches(r->body, inst, COMPUTE_ADD, 32, "rr", &c))
        return REG_NONE;
    return c.sources[0].reg == reg ? c.sources[1].reg : c.sources[1].reg == reg ? c.sources[0].reg : REG_NONE;
}

/* The instruction by which the phi of the loop's header grows, by a value that is made before the loop; NULL: it does
 * not start at the dividend, or does anything else. */
static Inst *growth_of(const Remainders *r, const Loop *loop, const Phi *phi)
{
    Inst *growth = NULL;
    for (size_t a = 0; a < phi->args.count; a++) {
        const PhiArg *arg = &phi->args.data[a];
        if (!loop_contains(r->loops, loop, arg->pred)) {
            if (original_of(r, arg->reg) != r->dividend || !dominance_has(r->dominance, r->division->block, arg->pred))
                return NULL;
            continue;
        }
        Inst *inst = value_inst(r->values, arg->reg);
        const RegId step = added_to(r, inst, phi->dst);
        const Block *made = step == REG_NONE ? NULL : r->values->defs[step].block;
        if (!made || loop_contains(r->loops, loop, made) || (growth && growth != inst))
            return NULL;
        growth = inst;
    }
    return growth;
}

/* Whether all uses but its growth add what takes the quotient's multiple off. */
static bool is_taken_apart(const Remainders *r, const Phi *phi, const Inst *growth)
{
    const RegId next = inst_destination(growth);
    for (uint32_t u = 0; u < value_use_count(r->values, phi->dst); u++) {
        const Inst *inst = value_uses(r->values, phi->dst)[u].inst;
        const RegId other = inst ? added_to(r, inst, phi->dst) : REG_NONE;
        Less less;
        if (inst != growth && (other == REG_NONE || !less_find(r, other, &less)))
            return false;
    }
    for (uint32_t u = 0; u < value_use_count(r->values, next); u++) {
        const ValueUse *use = &value_uses(r->values, next)[u];
        if (use->inst || use->block->phis.data[use->index].dst != phi->dst)
            return false;
    }
    return value_use_count(r->values, phi->dst) > 1;
}

/* Lets the phi start at the remainder. */
static void phi_replace(Remainders *r, const Loop *loop, Phi *phi, const Inst *growth)
{
    const RegId start = remainder_of(r);
    for (size_t a = 0; a < phi->args.count; a++)
        if (!loop_contains(r->loops, loop, phi->args.data[a].pred))
            phi->args.data[a].reg = start;
    for (uint32_t u = 0; u < value_use_count(r->values, phi->dst); u++) {
        Inst *inst = value_uses(r->values, phi->dst)[u].inst;
        Less less;
        if (inst != growth && less_find(r, added_to(r, inst, phi->dst), &less))
            sum_replace(r, inst, phi->dst, &less);
    }
}

static bool loops_replace(Remainders *r)
{
    bool changed = false;
    for (uint32_t l = 0; l < r->loops->loop_count; l++) {
        const Loop *loop = &r->loops->loops[l];
        for (size_t p = 0; p < loop->header->phis.count; p++) {
            Phi *phi = &loop->header->phis.data[p];
            const Inst *growth = growth_of(r, loop, phi);
            if (!growth || !is_taken_apart(r, phi, growth))
                continue;
            phi_replace(r, loop, phi, growth);
            changed = true;
        }
    }
    return changed;
}

static bool products_replace(Remainders *r)
{
    bool changed = false;
    for (size_t b = 0; b < r->body->blocks.count; b++)
        for (Inst *inst = r->body->blocks.data[b]->first; inst; inst = inst->next)
            changed |= product_replace(r, inst);
    return changed;
}

/* Replaces what is made of the quotient, if the instruction is a division. */
static bool division_replace(PassContext *context, Inst *inst)
{
    Computation c;
    if (!computation_matches(context->body, inst, COMPUTE_DIV, 32, "rr", &c))
        return false;
    Remainders r = {.body = context->body,
                    .values = analyses_values(context->analyses),
                    .loops = analyses_loops(context->analyses),
                    .dominance = analyses_dominance(context->analyses),
                    .division = inst,
                    .dividend = c.sources[0].reg,
                    .divisor = c.sources[1].reg,
                    .quotient = c.result,
                    .remainder = REG_NONE};
    bool changed = loops_replace(&r);
    changed |= products_replace(&r);
    if (changed)
        analyses_invalidate(context->analyses, ANALYSES_INSTRUCTIONS);
    return changed;
}

bool pass_remainders(PassContext *context)
{
    bool changed = false;
    for (size_t b = 0; b < context->body->blocks.count; b++)
        for (Inst *inst = context->body->blocks.data[b]->first; inst; inst = inst->next)
            changed |= division_replace(context, inst);
    return changed;
}
