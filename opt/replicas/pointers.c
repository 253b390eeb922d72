/* Pointers of a loop, and the rows that replicas read from them.
 *
 *     row0 = p + x;  row1 = p + (x + a * c)      p = p0, p0 + s, ... from round to round
 *
 * becomes, in two steps,
 *
 *     row0 = p + x;  row1 = row0 + a * c         one multiply-add instead of an addition of 64 bits, for which the
 *                                                machine has two instructions, and x + a * c need not be kept
 *     row0 = p0 + x, p0 + x + s, ...             where p is read for nothing else: one addition less in the loop
 *
 * Sums are integers modulo 2^64, so their order does not matter; it does to passes that compare addresses, which come
 * before. */
#include "opt/common/sums.h"
#include "opt/common/trips.h"
#include "opt/passes.h"

/* The register c of "mad.wide d, a, b, c" with 64-bit d; REG_NONE if the instruction is not that. */
static RegId widened_addend(const Body *body, const Inst *inst)
{
    Computation c;
    bool is_wide = computation_matches(body, inst, COMPUTE_MAD, 64, "xxr", &c) && c.sources[0].bits == 32;
    return is_wide ? c.sources[2].reg : REG_NONE;
}

/* A register that has the sum of the two, computed before 'at'. */
static RegId sum_before(Analyses *analyses, RegId a, RegId b, const Inst *at)
{
    const Values *values = analyses_values(analyses);
    for (uint32_t u = 0; u < value_use_count(values, a); u++) {
        const Inst *inst = value_uses(values, a)[u].inst;
        if (sum_other(values->body, inst, a) != b)
            continue;
        RegId sum = inst_reg(inst, 0);
        if (value_is_available(values, analyses_dominance(analyses), sum, at))
            return sum;
    }
    return REG_NONE;
}

/* A sum that is to be computed from another. */
typedef struct Row {
    Inst *sum, *distance; /* p + (x + a * c); x + a * c */
    RegId first;          /* p + x */
} Row;

/* False if no register has p + x. */
static bool row_find(Analyses *analyses, Inst *inst, Row *row)
{
    const Values *values = analyses_values(analyses);
    for (unsigned i = 1; i <= 2; i++) {
        RegId reg = inst_reg(inst, i), pointer = sum_other(values->body, inst, reg);
        if (pointer == REG_NONE)
            return false;
        Inst *distance = value_inst(values, reg);
        RegId x = widened_addend(values->body, distance);
        RegId first = x == REG_NONE ? REG_NONE : sum_before(analyses, pointer, x, inst);
        *row = (Row){inst, distance, first};
        if (first != REG_NONE)
            return true;
    }
    return false;
}

static void row_rewrite(Body *body, const Row *row)
{
    Inst *inst = inst_clone(body, row->distance);
    inst->replica = row->sum->replica;
    operand_ref(inst, &inst->operands[0])->reg = inst_reg(row->sum, 0);
    operand_ref(inst, &inst->operands[3])->reg = row->first;
    inst_insert_before(row->sum, inst);
    inst_remove(row->sum);
}

static bool derive_rows(Body *body, Analyses *analyses)
{
    const LoopForest *loops = analyses_loops(analyses);
    Arena *scratch = arena_new();
    VEC(Row) rows = {0};
    for (size_t b = 0; b < body->blocks.count; b++)
        for (Inst *inst = body->blocks.data[b]->first; inst && loop_of(loops, inst->block); inst = inst->next) {
            Row row;
            if (row_find(analyses, inst, &row))
                VEC_PUSH(scratch, rows, row);
        }
    for (size_t i = 0; i < rows.count; i++)
        row_rewrite(body, &rows.data[i]);
    bool changed = rows.count > 0;
    arena_free(scratch);
    return changed;
}

/* True if every round passes the block. */
static bool is_in_every_round(const Dominance *dominance, const Loop *loop, const Block *block)
{
    for (uint32_t i = 0; i < loop->latch_count; i++)
        if (!dominance_has(dominance, block, loop->latches[i]))
            return false;
    return true;
}

/* True if a phi is all that the register is for. */
static bool is_read_by_phi_only(const Values *values, const Block *header, size_t phi, RegId reg)
{
    for (uint32_t u = 0; u < value_use_count(values, reg); u++) {
        const ValueUse *use = &value_uses(values, reg)[u];
        if (use->inst || use->block != header || use->index != phi)
            return false;
    }
    return true;
}

/* "add.s64 d, p, s" where only the phi reads d. */
static bool is_step(const Values *values, const Loop *loop, size_t phi, const Inst *inst)
{
    RegId pointer = loop->header->phis.data[phi].dst;
    Computation c;
    bool by_constant =
        computation_matches(values->body, inst, COMPUTE_ADD, 64, "ri", &c) && c.sources[0].reg == pointer;
    return (by_constant || sum_other(values->body, inst, pointer) != REG_NONE) &&
           is_read_by_phi_only(values, loop->header, phi, inst_reg(inst, 0));
}

/* True if the phi is itself plus something in every round but the first: the sums that it then begins with and that it
 * grows by are the same. */
static bool is_stepped(const Values *values, const Loop *loop, size_t phi)
{
    const Phi *pointer = &loop->header->phis.data[phi];
    for (size_t a = 0; a < pointer->args.count; a++)
        if (pointer->args.data[a].pred != loop->preheader &&
            !is_step(values, loop, phi, value_inst(values, pointer->args.data[a].reg)))
            return false;
    return true;
}

/* The only value, from outside the loop, that is added to the phi in every round, for all uses of the phi; REG_NONE if
 * there is none. */
static RegId added_always(Analyses *analyses, const Loop *loop, size_t phi)
{
    const Values *values = analyses_values(analyses);
    RegId pointer = loop->header->phis.data[phi].dst, added = REG_NONE;
    if (!is_stepped(values, loop, phi))
        return REG_NONE;
    for (uint32_t u = 0; u < value_use_count(values, pointer); u++) {
        const Inst *inst = value_uses(values, pointer)[u].inst;
        if (!inst)
            return REG_NONE;
        if (is_step(values, loop, phi, inst))
            continue;
        RegId other = sum_other(values->body, inst, pointer);
        const Block *from = other == REG_NONE ? NULL : values->defs[other].block;
        if (!from || loop_contains(analyses_loops(analyses), loop, from) || (added != REG_NONE && other != added) ||
            !is_in_every_round(analyses_dominance(analyses), loop, inst->block))
            return REG_NONE;
        added = other;
    }
    return added;
}

/* Lets the phi begin with the sum, and be the sum from then on. */
static void advance_sum(Body *body, Analyses *analyses, const Loop *loop, size_t index, RegId added)
{
    const Values *values = analyses_values(analyses);
    const SumPlace place = sum_place_new(body, loop->preheader, analyses);
    Phi *phi = &loop->header->phis.data[index];
    RegId start = sum_reg(&place, TYPE_B64, "%sum");
    sum_put(&place, inst_build(body, "add.s64", "drr", start, loop_start(loop, phi), added));
    for (uint32_t u = 0; u < value_use_count(values, phi->dst); u++) {
        Inst *inst = value_uses(values, phi->dst)[u].inst;
        if (is_step(values, loop, index, inst))
            continue;
        value_replace_uses(values, inst_reg(inst, 0), phi->dst);
        inst_remove(inst);
    }
    for (size_t a = 0; a < phi->args.count; a++)
        if (phi->args.data[a].pred == loop->preheader)
            phi->args.data[a].reg = start;
}

static bool advance_sums(Body *body, Analyses *analyses, const Loop *loop)
{
    bool changed = false;
    for (size_t p = 0; loop->preheader && p < loop->header->phis.count; p++) {
        RegId added = added_always(analyses, loop, p);
        if (added != REG_NONE)
            advance_sum(body, analyses, loop, p, added);
        changed |= added != REG_NONE;
    }
    return changed;
}

bool pass_pointers(PassContext *context)
{
    const LoopForest *loops = analyses_loops(context->analyses);
    bool changed = derive_rows(context->body, context->analyses);
    if (changed)
        analyses_invalidate(context->analyses, ANALYSES_INSTRUCTIONS);
    /* Inner loops first: what begins one may be a sum in the loop around it. */
    for (uint32_t i = loops->loop_count; i-- > 0;)
        if (advance_sums(context->body, context->analyses, &loops->loops[i])) {
            analyses_invalidate(context->analyses, ANALYSES_INSTRUCTIONS);
            changed = true;
        }
    return changed;
}
