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
    const uint64_t *values;      /* the variable of a loop that divides or multiplies it: its value in each round */
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

/* The loop whose variable the register is, if the program has no other; NULL: it is none. */
static const Loop *loop_of_variable(const Program *program, RegId reg)
{
    const Estimate *estimate = program->estimate;
    const ValueDef *def = &analyses_values(estimate->analyses)->defs[reg];
    const Loop *loop = def->block && !def->inst ? loop_headed(analyses_loops(estimate->analyses), def->block) : NULL;
    return !program->loop || program->loop == loop ? loop : NULL;
}

/* Adds the variable of a loop that divides or multiplies it in each round; false if it is none. */
static bool add_scaled(Program *program, RegId reg)
{
    const Loop *loop = loop_of_variable(program, reg);
    const Scaled *scaled = loop ? &program->estimate->scaled[loop->index] : NULL;
    if (!scaled || scaled->phi != reg || !scaled->rounds || program->count + 1 >= MOST_STEPS)
        return false;
    program->loop = loop;
    program->rounds = scaled->rounds;
    program->steps[program->count] = (Step){.start = NOT_A_STEP, .values = scaled->values};
    program->results[program->count++] = reg;
    return true;
}

/* The first value and the constant step of a variable of a loop with few rounds. */
static bool variable_of(Program *program, RegId reg, RegId *start, int64_t *advance)
{
    const Estimate *estimate = program->estimate;
    const LoopForest *loops = analyses_loops(estimate->analyses);
    const ValueDef *def = &analyses_values(estimate->analyses)->defs[reg];
    const Loop *loop = loop_of_variable(program, reg);
    if (!loop || def->block->phis.data[def->phi].args.count != 2 || !estimate_has_few_rounds(estimate, loop))
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
        else if (!inst && add_scaled(program, top))
            depth--;
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

/* Computes the value for one thread in one round. */
static bool program_run(const Program *program, const unsigned index[3], unsigned round, uint64_t *value)
{
    uint64_t values[MOST_STEPS] = {0};
    for (unsigned i = 0; i < program->count; i++) {
        const Step *step = &program->steps[i];
        if (step->values) {
            values[i] = step->values[round];
        } else if (step->start != NOT_A_STEP) {
            values[i] = values[step->start] + (uint64_t)step->advance * round;
            values[i] &= step->bits < 64 ? (UINT64_C(1) << step->bits) - 1 : UINT64_MAX;
        } else if (step->sreg) {
            values[i] = special_value(program->estimate, step->sreg, index);
        } else if (!step_run(step, values, &values[i])) {
            return false;
        }
    }
    *value = values[program->count - 1];
    return true;
}

bool estimate_value_of_block(const Estimate *estimate, RegId reg, uint64_t *value)
{
    static const unsigned any_thread[3] = {0};
    Program program = {.estimate = estimate, .rounds = 1};
    bool is_alike = reg != REG_NONE && program_make(&program, reg) && !program.loop;
    for (unsigned i = 0; i < program.count; i++)
        is_alike &= !program.steps[i].sreg || program.steps[i].sreg->role == SREG_ROLE_NTID;
    return is_alike && program_run(&program, any_thread, 0, value);
}

static unsigned block_threads(const Estimate *estimate)
{
    return (unsigned)(estimate->block[0] * estimate->block[1] * estimate->block[2]);
}

/* For each thread of a block, the rounds in which the condition holds. */
static ThreadRounds holding_threads(Estimate *estimate, RegId condition)
{
    ThreadRounds *holding = &estimate->counted[condition];
    Program program = {.estimate = estimate, .rounds = 1};
    const unsigned x = (unsigned)estimate->block[0], y = (unsigned)estimate->block[1];
    const unsigned threads = block_threads(estimate);
    if (holding->is_known)
        return *holding;
    holding->is_known = true;
    if (threads > MOST_THREADS || !program_make(&program, condition))
        return *holding;
    uint64_t *rounds = ARENA_ARRAY(estimate->arena, uint64_t, threads);
    for (unsigned i = 0; i < threads * program.rounds; i++) {
        const unsigned thread = i / program.rounds, index[3] = {thread % x, thread / x % y, thread / x / y};
        uint64_t holds;
        if (!program_run(&program, index, i % program.rounds, &holds))
            return *holding;
        rounds[thread] |= holds & 1 ? program.loop ? UINT64_C(1) << i % program.rounds : UINT64_MAX : 0;
    }
    return *holding = (ThreadRounds){true, program.loop, program.rounds, rounds};
}

static double share_of_rounds(const ThreadRounds *rounds, uint64_t bits)
{
    const uint64_t all = rounds->count < 64 ? (UINT64_C(1) << rounds->count) - 1 : UINT64_MAX;
    return rounds->threads ? (double)__builtin_popcountll(bits & all) / rounds->count : 1;
}

static double share_of_thread(const Coming *coming, unsigned thread)
{
    const ThreadRounds *rounds = &coming->rounds;
    return (coming->shares ? coming->shares[thread] : 1) *
           (rounds->threads ? share_of_rounds(rounds, rounds->threads[thread]) : 1);
}

/* The share of a warp's executions in which some thread of it comes. */
static double share_of_warp(const Coming *coming, unsigned first, unsigned threads)
{
    uint64_t any = 0;
    double most = 0;
    for (unsigned i = first; i < threads && i < first + WARP_THREADS; i++) {
        const double share = coming->shares ? coming->shares[i] : 1;
        any |= coming->rounds.threads && share > 0 ? coming->rounds.threads[i] : 0;
        most = fmax(most, share);
    }
    return most * share_of_rounds(&coming->rounds, any);
}

/* The executions of those that come in which a condition has the value. Rounds of the same loop are known one by one;
 * those of another loop are taken to have nothing to do with them. */
static Coming coming_if(Estimate *estimate, const Coming *before, const ThreadRounds *holding, bool value)
{
    const unsigned threads = block_threads(estimate);
    const ThreadRounds *rounds = &before->rounds;
    const bool is_joint = !rounds->threads || !rounds->loop || !holding->loop || rounds->loop == holding->loop;
    const ThreadRounds *of_loop = rounds->loop && is_joint ? rounds : holding;
    uint64_t *both = ARENA_ARRAY(estimate->arena, uint64_t, threads);
    double *shares = is_joint ? NULL : ARENA_ARRAY(estimate->arena, double, threads);
    for (unsigned i = 0; i < threads; i++) {
        both[i] = value ? holding->threads[i] : ~holding->threads[i];
        if (!is_joint)
            shares[i] = share_of_thread(before, i);
        else if (rounds->threads)
            both[i] &= rounds->threads[i];
    }
    return (Coming){{true, of_loop->loop, of_loop->count, both}, is_joint ? before->shares : shares};
}

/* The executions of the immediate dominator that come to the block, or its own if the decision there does not follow
 * from the threads' index. */
static void come_from(Estimate *estimate, const Block *block, const Block *decider)
{
    const Inst *last = block_two_way_branch(decider);
    const bool is_decided = last && block->pred_count == 1 && block->preds[0] == decider;
    const ThreadRounds holding = is_decided ? holding_threads(estimate, inst_predicate(last)) : (ThreadRounds){0};
    Coming *coming = &estimate->coming[block->id];
    *coming = estimate->coming[decider->id];
    if (holding.threads)
        *coming = coming_if(estimate, coming, &holding, (last->targets[0] == block) != last->guard_inverted);
}

void estimate_note_threads(Estimate *estimate, const Block *block)
{
    const Block *decider = dominance_parent(analyses_dominance(estimate->analyses), block);
    if (decider)
        come_from(estimate, block, decider);
}

/* The executions of all threads of a block, and of its warps. */
static Flow flow_of(const Estimate *estimate, const Coming *coming)
{
    Flow flow = {0, 0};
    for (unsigned i = 0, threads = block_threads(estimate); i < threads; i++) {
        flow.threads += share_of_thread(coming, i);
        flow.warps += i % WARP_THREADS ? 0 : share_of_warp(coming, i, threads);
    }
    return flow;
}

Share estimate_count_threads(Estimate *estimate, RegId condition, bool value, const Block *at)
{
    const Share unknown = {-1, -1};
    const ThreadRounds holding = holding_threads(estimate, condition);
    if (!holding.threads)
        return unknown;
    const Coming *coming = &estimate->coming[at->id], taking = coming_if(estimate, coming, &holding, value);
    const Flow all = flow_of(estimate, coming), taken = flow_of(estimate, &taking);
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
    const Coming *comes = &estimate->coming[block->id];
    const double executed = instruction_count(block) * estimate->flow[block->id].warps * warps;
    double all = 0;
    for (unsigned w = 0; w < warps; w++) {
        coming[w] = share_of_warp(comes, w * WARP_THREADS, block_threads(estimate));
        all += coming[w];
    }
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
