/* Values that follow from the thread's index and the rounds of a loop, as computations. */
#include "cost/formula.h"

enum { NOT_A_STEP = -1 };

static uint64_t mask_of(unsigned bits)
{
    return bits < 64 ? (UINT64_C(1) << bits) - 1 : UINT64_MAX;
}

static int step_of(const Formula *formula, RegId reg)
{
    for (unsigned i = 0; i < formula->count; i++)
        if (formula->results[i] == reg)
            return (int)i;
    return NOT_A_STEP;
}

static bool is_known(const Sreg *sreg)
{
    return (sreg->role == SREG_ROLE_TID || sreg->role == SREG_ROLE_NTID) && sreg->axis <= SREG_AXIS_Z;
}

/* Adds the instruction, whose inputs have been added; false if its value does not follow from the thread's index. */
static bool add_step(Formula *formula, const Inst *inst, RegId result)
{
    Step *step = &formula->steps[formula->count];
    *step = (Step){.sreg = inst_sreg(inst), .start = NOT_A_STEP};
    if (formula->count + 1 >= MOST_STEPS ||
        (step->sreg ? !is_known(step->sreg) || inst_op(inst) != OP_MOV || !inst_is_plain(inst)
                    : !computation_of(formula->estimate->body, inst, &step->computation)))
        return false;
    for (unsigned i = 0; i < step->computation.source_count && !step->sreg; i++) {
        const ComputeSource *source = &step->computation.sources[i];
        step->sources[i] = source->is_constant ? NOT_A_STEP : step_of(formula, source->reg);
        if (!source->is_constant && (source->reg == REG_NONE || step->sources[i] == NOT_A_STEP))
            return false;
    }
    formula->results[formula->count++] = result;
    return true;
}

/* The loop whose variable the register is, if the formula has no other; NULL: it is none. */
static const Loop *loop_of_variable(const Formula *formula, RegId reg)
{
    const Estimate *estimate = formula->estimate;
    const ValueDef *def = &analyses_values(estimate->analyses)->defs[reg];
    const Loop *loop = def->block && !def->inst ? loop_headed(analyses_loops(estimate->analyses), def->block) : NULL;
    return !formula->loop || formula->loop == loop ? loop : NULL;
}

/* Adds a value that is taken to be known: the bound of the loop whose rounds are assumed, or a constant; false if it is
 * neither. */
static bool add_assumed(Formula *formula, RegId reg)
{
    const AssumedRounds *assumed = &formula->assumed;
    const AffineForm form = affine_of_reg(formula->estimate->values, reg);
    const bool is_bound = reg == assumed->bound, is_constant = form.bits && !form.term_count;
    if (!assumed->loop || (!is_bound && !is_constant) || formula->count + 1 >= MOST_STEPS)
        return false;
    const unsigned bits = type_bits(formula->estimate->body->regs.data[reg].type);
    const uint64_t value = is_bound ? assumed->end : (uint64_t)form.constant;
    formula->steps[formula->count] =
        (Step){.start = NOT_A_STEP, .is_constant = true, .constant = value & mask_of(bits)};
    formula->results[formula->count++] = reg;
    return true;
}

/* Adds the variable of a loop that divides or multiplies it in each round; false if it is none. */
static bool add_scaled(Formula *formula, RegId reg)
{
    const Loop *loop = loop_of_variable(formula, reg);
    const Scaled *scaled = loop ? &formula->estimate->scaled[loop->index] : NULL;
    if (!scaled || scaled->phi != reg || !scaled->rounds || formula->count + 1 >= MOST_STEPS)
        return false;
    formula->loop = loop;
    formula->rounds = scaled->rounds;
    formula->steps[formula->count] = (Step){.start = NOT_A_STEP, .values = scaled->values};
    formula->results[formula->count++] = reg;
    return true;
}

bool formula_counter(const Estimate *estimate, const Loop *loop, RegId reg, RegId *start, int64_t *advance)
{
    const ValueDef *def = &analyses_values(estimate->analyses)->defs[reg];
    const Phi *phi = def->inst || def->block != loop->header ? NULL : &def->block->phis.data[def->phi];
    *advance = 0;
    *start = REG_NONE;
    for (size_t i = 0; phi && i < phi->args.count; i++) {
        const PhiArg *arg = &phi->args.data[i];
        if (!loop_contains(analyses_loops(estimate->analyses), loop, arg->pred)) {
            if (*start != REG_NONE && *start != arg->reg)
                return false;
            *start = arg->reg;
            continue;
        }
        const int64_t along = estimate_advance(analyses_affine(estimate->analyses), reg, arg->reg);
        if (!along || (*advance && (along > 0) != (*advance > 0)))
            return false;
        if (!*advance || (along > 0 ? along < *advance : along > *advance))
            *advance = along;
    }
    return *advance && *start != REG_NONE;
}

/* The first value and the constant step of a variable of a loop with few rounds, or of the one whose rounds are
 * assumed. */
static bool variable_of(Formula *formula, RegId reg, RegId *start, int64_t *advance)
{
    const Estimate *estimate = formula->estimate;
    const LoopForest *loops = analyses_loops(estimate->analyses);
    const ValueDef *def = &analyses_values(estimate->analyses)->defs[reg];
    const Loop *loop = loop_of_variable(formula, reg);
    if (formula->assumed.loop) {
        formula->loop = loop;
        return loop == formula->assumed.loop && formula_counter(estimate, loop, reg, start, advance);
    }
    if (!loop || def->block->phis.data[def->phi].args.count != 2 || !estimate_has_few_rounds(estimate, loop))
        return false;
    formula->loop = loop;
    formula->rounds = (unsigned)estimate_known_iterations(estimate, loop);
    const Phi *phi = &def->block->phis.data[def->phi];
    const unsigned inside = loop_contains(loops, loop, phi->args.data[0].pred) ? 0 : 1;
    const AffineForm next = affine_of_reg(analyses_affine(estimate->analyses), phi->args.data[inside].reg);
    *start = phi->args.data[1 - inside].reg;
    *advance = next.constant;
    return next.term_count == 1 && next.terms[0].reg == reg && next.terms[0].coefficient == 1;
}

static bool add_variable(Formula *formula, RegId reg, RegId start, int64_t advance)
{
    const int first = step_of(formula, start);
    if (formula->count + 1 >= MOST_STEPS)
        return false;
    formula->steps[formula->count] =
        (Step){.start = first, .advance = advance, .bits = type_bits(formula->estimate->body->regs.data[reg].type)};
    formula->results[formula->count++] = reg;
    return true;
}

/* The values that it is computed from, which are not steps yet, onto the stack; false if it overflows. */
static bool push_inputs(const Formula *formula, const Inst *inst, RegId *pending, unsigned *depth)
{
    for (unsigned i = 0; i < inst->ref_count; i++) {
        if (!ref_reads(&inst->refs[i]) || step_of(formula, inst->refs[i].reg) != NOT_A_STEP)
            continue;
        if (*depth == MOST_STEPS)
            return false;
        pending[(*depth)++] = inst->refs[i].reg;
    }
    return true;
}

bool formula_make(Formula *formula, RegId reg)
{
    const Values *values = analyses_values(formula->estimate->analyses);
    RegId pending[MOST_STEPS] = {reg}, start = REG_NONE;
    int64_t advance;
    unsigned depth = 1;
    while (depth) {
        const RegId top = pending[depth - 1];
        const Inst *inst = value_inst(values, top);
        const unsigned before = depth;
        if (step_of(formula, top) != NOT_A_STEP || add_assumed(formula, top))
            depth--;
        else if (inst && !push_inputs(formula, inst, pending, &depth))
            return false;
        else if (inst && depth == before && !add_step(formula, inst, top))
            return false;
        else if (!inst && add_scaled(formula, top))
            depth--;
        else if (!inst && !variable_of(formula, top, &start, &advance))
            return false;
        else if (!inst && step_of(formula, start) != NOT_A_STEP && !add_variable(formula, top, start, advance))
            return false;
        else if (!inst && step_of(formula, top) == NOT_A_STEP && depth == MOST_STEPS)
            return false;
        else if (!inst && step_of(formula, top) == NOT_A_STEP)
            pending[depth++] = start;
    }
    return true;
}

static uint64_t special_value(const Estimate *estimate, const Sreg *sreg, const unsigned index[3])
{
    return sreg->role == SREG_ROLE_TID ? index[sreg->axis] : (uint64_t)estimate->block[sreg->axis];
}

static bool step_run(const Step *step, const uint64_t *values, uint64_t *value)
{
    uint64_t sources[COMPUTE_SOURCES] = {0};
    for (unsigned k = 0; k < step->computation.source_count; k++)
        if (step->sources[k] != NOT_A_STEP)
            sources[k] = values[step->sources[k]];
    return computation_value(&step->computation, sources, value);
}

bool formula_run(const Formula *formula, const unsigned index[3], uint64_t round, uint64_t *value)
{
    uint64_t values[MOST_STEPS] = {0};
    for (unsigned i = 0; i < formula->count; i++) {
        const Step *step = &formula->steps[i];
        if (step->is_constant) {
            values[i] = step->constant;
        } else if (step->values) {
            values[i] = step->values[round];
        } else if (step->start != NOT_A_STEP) {
            values[i] = values[step->start] + (uint64_t)step->advance * round;
            values[i] &= mask_of(step->bits);
        } else if (step->sreg) {
            values[i] = special_value(formula->estimate, step->sreg, index);
        } else if (!step_run(step, values, &values[i])) {
            return false;
        }
    }
    *value = values[formula->count - 1];
    return true;
}

bool formula_reads_thread(const Formula *formula)
{
    for (unsigned i = 0; i < formula->count; i++)
        if (formula->steps[i].sreg && formula->steps[i].sreg->role == SREG_ROLE_TID)
            return true;
    return false;
}
