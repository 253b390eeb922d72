/* Conditions on the thread's index alone, evaluated for each thread of a block.
 *
 * A loop over merged threads, which counts from the thread's index in constant steps, is evaluated round by round: for
 * each thread, the share of the rounds in which a condition holds is known. So are the threads that come to a block, if
 * such conditions have been decided on the way. */
#include "cost/estimate.h"

#include <math.h>

enum { MOST_STEPS = 48, MOST_THREADS = 1024, NOT_A_STEP = -1 };

/* An instruction of the computation; its sources are special registers, constants and earlier steps. */
typedef struct Step {
    Computation computation;
    const Sreg *sreg;            /* what it reads instead; NULL: nothing */
    int start;                   /* a loop's variable: the step with its first value; else NOT_A_STEP */
    int64_t advance;             /* then what it grows by in each round */
    unsigned bits;
    int sources[COMPUTE_SOURCES]; /* indices of steps; NOT_A_STEP: a constant */
} Step;

typedef struct Program {
    const Estimate *estimate;
    Step steps[MOST_STEPS];
    RegId results[MOST_STEPS];
    unsigned count;
    const Loop *loop; /* of its variables; NULL: none */
    unsigned rounds;
} Program;

static int step_of(const Program *program, RegId reg)
{
    for (unsigned i = 0; i < program->count; i++)
        if (program->results[i] == reg)
            return (int)i;
    return NOT_A_STEP;
}

static bool is_known(const Sreg *sreg)
{
    return (sreg->role == SREG_ROLE_TID || sreg->role == SREG_ROLE_NTID) && sreg->axis <= SREG_AXIS_Z;
}

/* Adds the instruction, whose inputs have been added; false if its value does not follow from the thread's index. */
static bool add_step(Program *program, const Inst *inst, RegId result)
{
    Step *step = &program->steps[program->count];
    *step = (Step){.sreg = inst_sreg(inst), .start = NOT_A_STEP};
    if (program->count + 1 >= MOST_STEPS ||
        (step->sreg ? !is_known(step->sreg) || inst_op(inst) != OP_MOV || !inst_is_plain(inst)
                    : !computation_of(program->estimate->body, inst, &step->computation)))
        return false;
    for (unsigned i = 0; i < step->computation.source_count && !step->sreg; i++) {
        const ComputeSource *source = &step->computation.sources[i];
        step->sources[i] = source->is_constant ? NOT_A_STEP : step_of(program, source->reg);
        if (!source->is_constant && (source->reg == REG_NONE || step->sources[i] == NOT_A_STEP))
            return false;
    }
    program->results[program->count++] = result;
    return true;
}

/* The first value and the constant step of a variable of a loop with few rounds. */
static bool variable_of(Program *program, RegId reg, RegId *start, int64_t *advance)
{
    const Estimate *estimate = program->estimate;
    const LoopForest *loops = analyses_loops(estimate->analyses);
    const ValueDef *def = &analyses_values(estimate->analyses)->defs[reg];
    const Loop *loop = def->block && !def->inst ? loop_headed(loops, def->block) : NULL;
    if (!loop || (program->loop && program->loop != loop) || def->block->phis.data[def->phi].args.count != 2)
        return false;
    if (!estimate_has_few_rounds(estimate, loop))
        return false;
    program->loop = loop;
    program->rounds = (unsigned)estimate_known_iterations(estimate, loop);
    const Phi *phi = &def->block->phis.data[def->phi];
    const unsigned inside = loop_contains(loops, loop, phi->args.data[0].pred) ? 0 : 1;
    const AffineForm next = affine_of_reg(analyses_affine(estimate->analyses), phi->args.data[inside].reg);
    *start = phi->args.data[1 - inside].reg;
    *advance = next.constant;
    return next.term_count == 1 && next.terms[0].reg == reg && next.terms[0].coefficient == 1;
}

static bool add_variable(Program *program, RegId reg, RegId start, int64_t advance)
{
    const int first = step_of(program, start);
    if (program->count + 1 >= MOST_STEPS)
        return false;
    program->steps[program->count] =
        (Step){.start = first, .advance = advance, .bits = type_bits(program->estimate->body->regs.data[reg].type)};
    program->results[program->count++] = reg;
    return true;
}

/* The values that it is computed from, which are not steps yet, onto the stack; false if it overflows. */
static bool push_inputs(const Program *program, const Inst *inst, RegId *pending, unsigned *depth)
{
    for (unsigned i = 0; i < inst->ref_count; i++) {
        if (!ref_reads(&inst->refs[i]) || step_of(program, inst->refs[i].reg) != NOT_A_STEP)
            continue;
        if (*depth == MOST_STEPS)
            return false;
        pending[(*depth)++] = inst->refs[i].reg;
    }
    return true;
}

/* Puts the computation of the register into an order in which it can be evaluated. */
static bool program_make(Program *program, RegId reg)
{
    const Values *values = analyses_values(program->estimate->analyses);
    RegId pending[MOST_STEPS] = {reg}, start = REG_NONE;
    int64_t advance;
    unsigned depth = 1;
    while (depth) {
        const RegId top = pending[depth - 1];
        const Inst *inst = value_inst(values, top);
        const unsigned before = depth;
        if (step_of(program, top) != NOT_A_STEP)
            depth--;
        else if (inst && !push_inputs(program, inst, pending, &depth))
            return false;
        else if (inst && depth == before && !add_step(program, inst, top))
            return false;
        else if (!inst && !variable_of(program, top, &start, &advance))
            return false;
        else if (!inst && step_of(program, start) != NOT_A_STEP && !add_variable(program, top, start, advance))
            return false;
        else if (!inst && step_of(program, top) == NOT_A_STEP && depth == MOST_STEPS)
            return false;
        else if (!inst && step_of(program, top) == NOT_A_STEP)
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

/* The value of the condition for one thread in one round. */
static bool program_run(const Program *program, const unsigned index[3], unsigned round, bool *holds)
{
    uint64_t values[MOST_STEPS] = {0};
    for (unsigned i = 0; i < program->count; i++) {
        const Step *step = &program->steps[i];
        if (step->start != NOT_A_STEP) {
            values[i] = values[step->start] + (uint64_t)step->advance * round;
            values[i] &= step->bits < 64 ? (UINT64_C(1) << step->bits) - 1 : UINT64_MAX;
        } else if (step->sreg) {
            values[i] = special_value(program->estimate, step->sreg, index);
        } else if (!step_run(step, values, &values[i])) {
            return false;
        }
    }
    *holds = values[program->count - 1] & 1;
    return true;
}

static unsigned block_threads(const Estimate *estimate)
{
    return (unsigned)(estimate->block[0] * estimate->block[1] * estimate->block[2]);
}

/* For each thread of a block, the share of the rounds in which the condition holds; NULL: it does not follow from the
 * thread's index. */
static const double *holding_threads(Estimate *estimate, RegId condition)
{
    Program program = {.estimate = estimate, .rounds = 1};
    const unsigned x = (unsigned)estimate->block[0], y = (unsigned)estimate->block[1];
    const unsigned threads = block_threads(estimate);
    if (estimate->counted[condition].is_known)
        return estimate->counted[condition].threads;
    estimate->counted[condition].is_known = true;
    if (threads > MOST_THREADS || !program_make(&program, condition))
        return NULL;
    double *shares = ARENA_ARRAY(estimate->arena, double, threads);
    for (unsigned i = 0; i < threads * program.rounds; i++) {
        const unsigned thread = i / program.rounds, index[3] = {thread % x, thread / x % y, thread / x / y};
        bool holds;
        if (!program_run(&program, index, i % program.rounds, &holds))
            return NULL;
        shares[thread] += holds ? 1.0 / program.rounds : 0;
    }
    return estimate->counted[condition].threads = shares;
}

/* The share of each thread's executions of the immediate dominator that come to the block, or of its own if the
 * decision there does not follow from its index. */
static void come_from(Estimate *estimate, const Block *block, const Block *decider)
{
    const Inst *last = block_two_way_branch(decider);
    const double *before = estimate->coming[decider->id];
    const bool is_decided = last && block->pred_count == 1 && block->preds[0] == decider;
    const double *holding = is_decided ? holding_threads(estimate, inst_predicate(last)) : NULL;
    estimate->coming[block->id] = before;
    if (!holding)
        return;
    const bool value = (last->targets[0] == block) != last->guard_inverted;
    double *coming = ARENA_ARRAY(estimate->arena, double, block_threads(estimate));
    for (unsigned i = 0; i < block_threads(estimate); i++)
        coming[i] = (before ? before[i] : 1) * (value ? holding[i] : 1 - holding[i]);
    estimate->coming[block->id] = coming;
}

void estimate_note_threads(Estimate *estimate, const Block *block)
{
    const Block *decider = dominance_parent(analyses_dominance(estimate->analyses), block);
    if (decider)
        come_from(estimate, block, decider);
}

Share estimate_count_threads(Estimate *estimate, RegId condition, bool value, const Block *at)
{
    const Share unknown = {-1, -1};
    const double *holding = holding_threads(estimate, condition), *coming = estimate->coming[at->id];
    if (!holding)
        return unknown;
    Flow all = {0, 0}, taken = {0, 0};
    double warp = 0, taken_warp = 0;
    for (unsigned i = 0, threads = block_threads(estimate); i < threads; i++) {
        const double comes = coming ? coming[i] : 1, takes = comes * (value ? holding[i] : 1 - holding[i]);
        all.threads += comes;
        taken.threads += takes;
        warp = fmax(warp, comes);
        taken_warp = fmax(taken_warp, takes);
        if (i % WARP_THREADS == WARP_THREADS - 1 || i + 1 == threads) {
            all.warps += warp;
            taken.warps += taken_warp;
            warp = taken_warp = 0;
        }
    }
    return all.threads > 0 ? (Share){taken.threads / all.threads, taken.warps / all.warps} : (Share){0, 0};
}

static unsigned instruction_count(const Block *block)
{
    unsigned count = 0;
    for (const Inst *inst = block->first; inst; inst = inst->next)
        count++;
    return count;
}

/* Adds the executions of a block's instructions to the work of each warp: they are those of the warps that come there,
 * if that follows from the index of their threads, and else of all alike. */
static void add_work(const Estimate *estimate, const Block *block, double *work, double *coming, unsigned warps)
{
    const double *threads = estimate->coming[block->id];
    const double executed = instruction_count(block) * estimate->flow[block->id].warps * warps;
    double all = 0;
    for (unsigned w = 0; w < warps; w++)
        coming[w] = threads ? 0 : 1;
    for (unsigned i = 0; threads && i < block_threads(estimate); i++)
        coming[i / WARP_THREADS] = fmax(coming[i / WARP_THREADS], threads[i]);
    for (unsigned w = 0; w < warps; w++)
        all += coming[w];
    for (unsigned w = 0; w < warps && all > 0; w++)
        work[w] += executed * coming[w] / all;
}

double estimate_longest_warp(const Estimate *estimate)
{
    const unsigned warps = (unsigned)estimate_warps(estimate);
    double *work = ARENA_ARRAY(estimate->arena, double, warps), *coming = ARENA_ARRAY(estimate->arena, double, warps);
    double all = 0, longest = 0;
    for (size_t b = 0; b < estimate->body->blocks.count; b++)
        add_work(estimate, estimate->body->blocks.data[b], work, coming, warps);
    for (unsigned w = 0; w < warps; w++) {
        all += work[w];
        longest = fmax(longest, work[w]);
    }
    return all > 0 ? longest * warps / all : 1;
}
