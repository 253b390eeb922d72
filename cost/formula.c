/* Values that follow from the thread's index and the rounds of a loop, as computations. */
#include "cost/formula.h"

enum { NOT_A_STEP = -1, MOST_COPIES = 4 };

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
    const Loop *loop = loop_of_variable(formula, reg);
    if (!loop || !(formula->assumed.loop ? loop == formula->assumed.loop
                                         : loop->latch_count == 1 && estimate_has_few_rounds(estimate, loop)))
        return false;
    formula->loop = loop;
    formula->rounds = formula->assumed.loop ? 0 : (unsigned)estimate_known_iterations(estimate, loop);
    return formula_counter(estimate, loop, reg, start, advance);
}

/* The register that it is a copy of, or itself. */
static RegId copied(const Estimate *estimate, RegId reg)
{
    for (unsigned i = 0; i < MOST_COPIES; i++) {
        const Inst *inst = estimate_maker(estimate, reg);
        const RegId from = inst ? computation_copied(estimate->body, inst) : REG_NONE;
        if (from == REG_NONE)
            break;
        reg = from;
    }
    return reg;
}

/* The registers whose values a phi has in the rounds of a loop with few of them, one after the other, as merged threads
 * take turns: its start, that of the phi which it is in the next round, and so on; 0: it is anything else. */
static unsigned turns_of(const Formula *formula, RegId reg, RegId *turns)
{
    const Estimate *estimate = formula->estimate;
    const LoopForest *loops = analyses_loops(estimate->analyses);
    const Loop *loop = loop_of_variable(formula, reg);
    unsigned count = 0;
    if (!loop || formula->assumed.loop || !estimate_has_few_rounds(estimate, loop))
        return 0;
    const double rounds = estimate_known_iterations(estimate, loop);
    while (count < MOST_TURNS && count < rounds) {
        const ValueDef *def = &analyses_values(estimate->analyses)->defs[reg];
        if (!def->block || !loop_contains(loops, loop, def->block)) {
            turns[count++] = reg;
            return count;
        }
        const Phi *phi = def->inst || def->block != loop->header ? NULL : &def->block->phis.data[def->phi];
        if (!phi || phi->args.count != 2)
            return 0;
        const unsigned inside = loop_contains(loops, loop, phi->args.data[0].pred) ? 0 : 1;
        turns[count++] = phi->args.data[1 - inside].reg;
        reg = copied(estimate, phi->args.data[inside].reg);
    }
    return count;
}

/* Adds such a phi if its values have been added, else what is missing to the stack; false if there is no room. */
static bool add_turns(Formula *formula, RegId reg, const RegId *turns, unsigned count, RegId *pending, unsigned *depth)
{
    const unsigned before = *depth;
    Step step = {.start = NOT_A_STEP, .turn_count = count};
    for (unsigned i = 0; i < count; i++) {
        step.turns[i] = step_of(formula, turns[i]);
        if (step.turns[i] == NOT_A_STEP && *depth < MOST_STEPS)
            pending[(*depth)++] = turns[i];
        else if (step.turns[i] == NOT_A_STEP)
            return false;
    }
    if (*depth > before)
        return true;
    if (formula->count + 1 >= MOST_STEPS)
        return false;
    formula->loop = loop_of_variable(formula, reg);
    formula->rounds = (unsigned)estimate_known_iterations(formula->estimate, formula->loop);
    formula->steps[formula->count] = step;
    formula->results[formula->count++] = reg;
    return true;
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

/* Adds a phi, or what it starts with to the stack; false if it is not a variable whose values are known. */
static bool push_phi(Formula *formula, RegId reg, RegId *pending, unsigned *depth)
{
    RegId turns[MOST_TURNS], start = REG_NONE;
    int64_t advance;
    const unsigned count = turns_of(formula, reg, turns);
    if (count)
        return add_turns(formula, reg, turns, count, pending, depth);
    if (!variable_of(formula, reg, &start, &advance))
        return false;
    if (step_of(formula, start) != NOT_A_STEP)
        return add_variable(formula, reg, start, advance);
    if (*depth == MOST_STEPS)
        return false;
    pending[(*depth)++] = start;
    return true;
}

bool formula_make(Formula *formula, RegId reg)
{
    const Values *values = analyses_values(formula->estimate->analyses);
    RegId pending[MOST_STEPS] = {reg};
    unsigned depth = 1;
    while (depth) {
        const RegId top = pending[depth - 1];
        const Inst *inst = value_inst(values, top);
        const unsigned before = depth;
        if (step_of(formula, top) != NOT_A_STEP || add_assumed(formula, top) || (!inst && add_scaled(formula, top)))
            depth--;
        else if (!inst && !push_phi(formula, top, pending, &depth))
            return false;
        else if (inst && !push_inputs(formula, inst, pending, &depth))
            return false;
        else if (inst && depth == before && !add_step(formula, inst, top))
            return false;
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
        } else if (step->turn_count) {
            values[i] = values[step->turns[round < step->turn_count ? round : step->turn_count - 1]];
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
