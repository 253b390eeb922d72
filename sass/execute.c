/* The executions of each block of machine code, from the counts of PTX instructions.
 *
 * The unknowns are the threads that take each edge of the flow graph. They are conserved: as many enter a block as
 * leave it. Evidence says what the counts of blocks should be; the sum of its weighted deviations is minimised by a
 * linear program. If that leaves a choice, as between an unrolled loop and its remainder, the fewest bodies are
 * executed. A block's warps follow from its threads and from the number of active threads of a warp in the PTX that it
 * comes from: threads are conserved, warps are not, because a warp that diverges executes both sides. */
#include "sass/internal.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The cost of one more execution of a block that shares copies with other blocks: less than any evidence, and the same
 * for any number of copies, so that one execution of an unrolled body is better than several of the remainder. Blocks
 * without such copies cost a hundredth, and a little more if they are longer. */
#define PARSIMONY 1e-3
/* The cost of running a loop more often than its trips suggest. */
#define UNLIKELY (20 * PARSIMONY)

typedef struct Flow {
    Arena *arena;
    const SassMap *map;
    const SassCode *code;
    const PtxExecution *executions;
    PtxExecution start;
    EvidenceVec evidence;
    SassLoops loops;
    PtxLoops ptx_loops;
    double *estimates; /* of each block's threads, from evidence of its own; -1: none */
    double unit;       /* the largest count: the program computes in multiples of it */
    LinearProgram program;
    uint32_t *first_out; /* for each block, the first of its outs[] variables for paths out of it */
    uint32_t *outs;
    const double *taken; /* by variable: the threads that take a path, in units */
} Flow;

typedef struct Weighted {
    double value, weight;
} Weighted;

typedef VEC(Weighted) WeightedVec;

static int compare_values(const void *a, const void *b)
{
    double first = ((const Weighted *)a)->value, second = ((const Weighted *)b)->value;
    return (first > second) - (first < second);
}

/* Sorts the values; -1 if there are none. */
static double weighted_median(WeightedVec *values)
{
    double total = 0, passed = 0;
    if (values->count)
        qsort(values->data, values->count, sizeof *values->data, compare_values);
    for (size_t i = 0; i < values->count; i++)
        total += values->data[i].weight;
    for (size_t i = 0; i < values->count; i++) {
        passed += values->data[i].weight;
        if (passed * 2 >= total)
            return values->data[i].value;
    }
    return -1;
}

/* Takes the median of the evidence that concerns only one block. */
static void estimate_blocks(Flow *flow)
{
    WeightedVec *values = ARENA_ARRAY(flow->arena, WeightedVec, flow->code->block_count + 1);
    flow->estimates = ARENA_ARRAY(flow->arena, double, flow->code->block_count + 1);
    for (size_t i = 0; i < flow->evidence.count; i++) {
        const Evidence *evidence = &flow->evidence.data[i];
        if (evidence->share_count == 1 && !evidence->may_exceed)
            VEC_PUSH(flow->arena, values[evidence->shares[0].block],
                     (Weighted){evidence->threads / evidence->shares[0].copies, evidence->weight});
    }
    for (uint32_t b = 0; b < flow->code->block_count; b++)
        flow->estimates[b] = weighted_median(&values[b]);
}

/* The weight of a deviation, relative to the block's own count, or to the evidence's if that is higher, so that code
 * moved out of a loop does not outweigh the code around it. Evidence that disagrees with its block's estimate comes
 * from code that was moved. */
static double relative_weight(const Flow *flow, const Evidence *evidence)
{
    double scale = fmax(evidence->threads, flow->unit * 1e-4), weight = evidence->weight;
    for (uint32_t i = 0; i < evidence->share_count; i++)
        scale = fmax(scale, flow->estimates[evidence->shares[i].block]);
    double estimate = evidence->share_count == 1 ? flow->estimates[evidence->shares[0].block] : -1;
    double said = evidence->threads / evidence->shares[0].copies;
    if (estimate >= 0 && (said > 1.5 * estimate || said < estimate / 1.5))
        weight *= 0.05;
    return weight * flow->unit / scale;
}

/* Adds the terms of a block's executions to a row. */
static void add_block(Flow *flow, uint32_t row, uint32_t block, double factor)
{
    for (uint32_t i = 0; i < flow->outs[block]; i++)
        program_term(&flow->program, row, flow->first_out[block] + i, factor);
}

static bool is_whole(double trips)
{
    return trips > 0 && fabs(trips - nearbyint(trips)) < 1e-3;
}

/* True if the block is in a function that comes from no PTX, such as the slow path of a division. */
static bool is_helper(const SassCode *code, uint32_t block)
{
    static const char prefix[] = HELPER_PREFIX;
    return strncmp(code->functions[code->blocks[block].function].name, prefix, sizeof prefix - 1) == 0;
}

/* The costs of an execution of each block besides the evidence. A block with more copies of a loop's body than the loop
 * makes trips is hardly ever executed, nor is a slow path. */
static double *find_costs(const Flow *flow)
{
    const SassCode *code = flow->code;
    double *costs = ARENA_ARRAY(flow->arena, double, code->block_count + 1);
    for (uint32_t b = 0; b < code->block_count; b++) {
        bool slow_path = code->blocks[b].callee != MACHINE_NONE && is_helper(code, code->blocks[b].callee);
        costs[b] = slow_path ? UNLIKELY : 0.01 * PARSIMONY + 0.001 * PARSIMONY * code->blocks[b].count / code->count;
    }
    for (size_t i = 0; i < flow->evidence.count; i++) {
        const Evidence *evidence = &flow->evidence.data[i];
        uint32_t loop = flow->ptx_loops.innermost[evidence->ptx];
        double trips = loop == MACHINE_NONE ? 0 : flow->ptx_loops.loops[loop].trips;
        if (evidence->share_count < 2 || !(evidence->weight > 0))
            continue;
        for (uint32_t s = 0; s < evidence->share_count; s++) {
            bool unlikely = is_whole(trips) && evidence->shares[s].copies > trips + 0.5;
            double *cost = &costs[evidence->shares[s].block];
            *cost = fmax(*cost, unlikely ? UNLIKELY : PARSIMONY);
        }
    }
    return costs;
}

/* Adds a variable for each path out of each block: its successors, and the end of the thread or function. */
static void add_edges(Flow *flow)
{
    const SassCode *code = flow->code;
    const double *costs = find_costs(flow);
    flow->first_out = ARENA_ARRAY(flow->arena, uint32_t, code->block_count + 1);
    flow->outs = ARENA_ARRAY(flow->arena, uint32_t, code->block_count + 1);
    for (uint32_t b = 0; b < code->block_count; b++) {
        flow->outs[b] = code->blocks[b].successor_count + code->blocks[b].exits;
        flow->first_out[b] = (uint32_t)flow->program.costs.count;
        for (uint32_t i = 0; i < flow->outs[b]; i++)
            program_variable(&flow->program, costs[b]);
    }
}

/* Adds a row with two variables for its deviations from the value. */
static uint32_t add_row(Flow *flow, double value, double below, double above)
{
    uint32_t row = program_row(&flow->program, value);
    program_term(&flow->program, row, program_variable(&flow->program, below), 1);
    program_term(&flow->program, row, program_variable(&flow->program, above), -1);
    return row;
}

/* Adds the rows that make as many threads leave each block as enter it. 'force' is a cost that outweighs all evidence
 * about a block. */
static void add_conservation(Flow *flow, double force)
{
    const SassCode *code = flow->code;
    uint32_t *row = ARENA_ARRAY(flow->arena, uint32_t, code->block_count + 1);
    bool *called = ARENA_ARRAY(flow->arena, bool, code->block_count + 1);
    for (uint32_t b = 0; b < code->block_count; b++) {
        row[b] = add_row(flow, b == 0 ? flow->start.threads / flow->unit : 0, force, force);
        add_block(flow, row[b], b, 1);
    }
    for (uint32_t b = 0; b < code->block_count; b++) {
        const SassBlock *block = &code->blocks[b];
        for (uint32_t i = 0; i < block->successor_count; i++)
            program_term(&flow->program, row[block->successors[i]], flow->first_out[b] + i, -1);
        if (block->callee != MACHINE_NONE) {
            add_block(flow, row[block->callee], b, -1);
            called[block->callee] = true;
        }
    }
    /* functions that only indirect calls enter */
    for (uint32_t f = 1; f < code->function_count; f++) {
        uint32_t entry = code->instructions[code->functions[f].first].block;
        if (!called[entry])
            program_term(&flow->program, row[entry], program_variable(&flow->program, PARSIMONY), -1);
    }
}

static int compare_evidence(const void *a, const void *b)
{
    const Evidence *first = a, *second = b;
    int order = shares_compare(first, second);
    if (order)
        return order;
    if (first->threads != second->threads)
        return first->threads < second->threads ? -1 : 1;
    return (int)first->may_exceed - (int)second->may_exceed;
}

/* The weight of executions in excess of those of an instruction in a branch that is now predicated. It is not relative
 * to these: the branch may hardly ever be taken. */
static const double excess_share = 1e-3;

/* Adds one row for all evidence that says the same; there are few different ones. Returns the largest sum of weights on
 * a block. */
static double add_evidence(Flow *flow)
{
    double *pull = ARENA_ARRAY(flow->arena, double, flow->code->block_count + 1), most = 1;
    if (flow->evidence.count)
        qsort(flow->evidence.data, flow->evidence.count, sizeof *flow->evidence.data, compare_evidence);
    for (size_t i = 0, end; i < flow->evidence.count; i = end) {
        const Evidence *evidence = &flow->evidence.data[i];
        double weight = 0, excess = 0;
        for (end = i; end < flow->evidence.count && compare_evidence(evidence, &flow->evidence.data[end]) == 0; end++) {
            weight += relative_weight(flow, &flow->evidence.data[end]);
            excess += excess_share * flow->evidence.data[end].weight;
        }
        if (!(weight > 0))
            continue;
        uint32_t row =
            add_row(flow, evidence->threads / flow->unit, weight, evidence->may_exceed ? fmin(excess, weight) : weight);
        for (uint32_t s = 0; s < evidence->share_count; s++) {
            add_block(flow, row, evidence->shares[s].block, evidence->shares[s].copies);
            pull[evidence->shares[s].block] += weight * evidence->shares[s].copies;
            most = fmax(most, pull[evidence->shares[s].block]);
        }
    }
    return most;
}

/* For each machine loop, the smallest loop of the PTX that contains its instructions; MACHINE_NONE if there is none.
 * Code that moves easily does not count. */
static uint32_t *match_loops(const Flow *flow)
{
    const PtxLoops *ptx = &flow->ptx_loops;
    uint32_t *match = ARENA_ARRAY(flow->arena, uint32_t, flow->code->block_count + 1);
    bool *matched = ARENA_ARRAY(flow->arena, bool, flow->code->block_count + 1);
    for (size_t i = 0; i < flow->evidence.count; i++) {
        const Evidence *evidence = &flow->evidence.data[i];
        if (evidence->weight < 2)
            continue;
        for (uint32_t s = 0; s < evidence->share_count; s++) {
            for (uint32_t h = sass_loop_of(&flow->loops, evidence->shares[s].block); h != MACHINE_NONE;
                 h = flow->loops.around[h]) {
                uint32_t loop = matched[h] ? match[h] : ptx->innermost[evidence->ptx];
                while (loop != MACHINE_NONE && !ptx_loop_contains(ptx, loop, evidence->ptx))
                    loop = ptx->loops[loop].parent;
                match[h] = loop;
                matched[h] = true;
            }
        }
    }
    for (uint32_t b = 0; b < flow->code->block_count; b++)
        if (!matched[b])
            match[b] = MACHINE_NONE;
    return match;
}

/* The copies that a block has of instructions of the PTX loop that its machine loop matches. Those that are never
 * executed, as on slow paths, say nothing about rounds: they may have become several machine instructions. */
typedef struct LoopCopies {
    double most;       /* copies of one instruction; 0: none */
    bool elsewhere;    /* other blocks have copies of the same instructions */
} LoopCopies;

static LoopCopies *count_copies(const Flow *flow, const uint32_t *match)
{
    LoopCopies *copies = ARENA_ARRAY(flow->arena, LoopCopies, flow->code->block_count + 1);
    for (size_t i = 0; i < flow->evidence.count; i++) {
        const Evidence *evidence = &flow->evidence.data[i];
        const bool is_executed = evidence->threads > 0;
        for (uint32_t s = 0; s < evidence->share_count && evidence->weight >= 2 && is_executed; s++) {
            uint32_t b = evidence->shares[s].block, h = sass_loop_of(&flow->loops, b);
            if (h == MACHINE_NONE || match[h] != flow->ptx_loops.innermost[evidence->ptx])
                continue;
            copies[b].most = fmax(copies[b].most, evidence->shares[s].copies);
            copies[b].elsewhere |= evidence->share_count > 1;
        }
    }
    return copies;
}

/* The executions of a loop's header for each entry of the loop. Without a limit, threads might circulate in a loop that
 * they never enter. */
typedef struct TripLimit {
    double most;   /* an upper bound; 0: not known */
    double likely; /* rarely exceeded; negative: not known */
} TripLimit;

/* The limit from a block with copies of a PTX loop that makes 'trips' trips per entry. If the number is whole, probably
 * all threads make as many, and those too few for all copies of the body are made elsewhere. Otherwise some threads may
 * make many more than the mean. */
static TripLimit trip_limit(double trips, LoopCopies copies)
{
    TripLimit limit = {0, -1};
    if (trips <= 0 || copies.most < 1)
        return limit;
    limit.most = copies.elsewhere || copies.most > 1 ? 2 * trips / copies.most + 1 : trips;
    if (is_whole(trips))
        limit.likely = floor(nearbyint(trips) / copies.most + 1e-6);
    return limit;
}

/* The limits, by header: the lowest of the loop's blocks. */
static TripLimit *find_limits(const Flow *flow)
{
    const SassCode *code = flow->code;
    uint32_t *match = match_loops(flow);
    LoopCopies *copies = count_copies(flow, match);
    TripLimit *limits = ARENA_ARRAY(flow->arena, TripLimit, code->block_count + 1);
    for (uint32_t b = 0; b < code->block_count; b++) {
        uint32_t h = sass_loop_of(&flow->loops, b);
        if (h == MACHINE_NONE || match[h] == MACHINE_NONE)
            continue;
        TripLimit limit = trip_limit(flow->ptx_loops.loops[match[h]].trips, copies[b]);
        if (limit.most > 0 && (limits[h].most == 0 || limit.most < limits[h].most))
            limits[h] = limit;
    }
    return limits;
}

/* Adds a row for: a header is executed at most 'trips' times for each entry of its loop. Each further time has the
 * cost. */
static void limit_trips(Flow *flow, uint32_t header, double trips, double cost)
{
    uint32_t row = add_row(flow, 0, 1e-6, cost);
    add_block(flow, row, header, 1);
    for (uint32_t i = flow->loops.first_in[header]; i < flow->loops.first_in[header + 1]; i++) {
        uint32_t from = flow->loops.in[i];
        const SassBlock *block = &flow->code->blocks[from];
        for (uint32_t k = 0; k < block->successor_count; k++)
            if (block->successors[k] == header && !sass_loop_contains(&flow->loops, header, from) && trips > 0)
                program_term(&flow->program, row, flow->first_out[from] + k, -trips);
    }
}

static void add_trip_limits(Flow *flow, double force)
{
    const TripLimit *limits = find_limits(flow);
    for (uint32_t b = 0; b < flow->code->block_count; b++) {
        if (limits[b].most > 0)
            limit_trips(flow, b, limits[b].most, force);
        if (limits[b].most > 0 && limits[b].likely >= 0)
            limit_trips(flow, b, limits[b].likely, UNLIKELY);
    }
}

/* Prefers executing blocks without evidence, such as those that choose between the bodies of an unrolled loop, to
 * bypassing them, but not more often than their PTX. */
static void prefer_passing(Flow *flow)
{
    const SassCode *code = flow->code;
    bool *spoken_for = ARENA_ARRAY(flow->arena, bool, code->block_count + 1);
    double *most = ARENA_ARRAY(flow->arena, double, code->block_count + 1);
    for (size_t i = 0; i < flow->evidence.count; i++)
        for (uint32_t s = 0; flow->evidence.data[i].weight > 0 && s < flow->evidence.data[i].share_count; s++)
            spoken_for[flow->evidence.data[i].shares[s].block] = true;
    for (uint32_t i = 0; i < code->count; i++) {
        const SassInstruction *machine = &code->instructions[i];
        if (machine->ptx != MACHINE_NONE && machine->class != MACHINE_CONTROL &&
            is_evidence(machine, flow->map->lines.insts[machine->ptx]))
            most[machine->block] = fmax(most[machine->block], flow->executions[machine->ptx].threads);
    }
    for (uint32_t b = 0; b < code->block_count; b++) {
        if (spoken_for[b] || !flow->loops.reached[b] || most[b] == 0 || code->blocks[b].callee != MACHINE_NONE)
            continue;
        add_block(flow, add_row(flow, most[b] / flow->unit, 0.05 * PARSIMONY, 1e-4 * PARSIMONY), b, 1);
    }
}

static void solve_threads(Flow *flow, double *threads)
{
    add_edges(flow);
    double most = add_evidence(flow);
    add_conservation(flow, 4 * most);
    add_trip_limits(flow, most);
    prefer_passing(flow);
    flow->taken = program_solve(&flow->program);
    for (uint32_t b = 0; b < flow->code->block_count; b++) {
        for (uint32_t i = 0; i < flow->outs[b]; i++)
            threads[b] += flow->taken[flow->first_out[b] + i] * flow->unit;
        if (threads[b] < 0.5)
            threads[b] = 0;
    }
}

/* Active threads per warp in the PTX that a block comes from; the median over its instructions by weight. */
static double *find_activity(Flow *flow)
{
    const SassCode *code = flow->code;
    WeightedVec *values = ARENA_ARRAY(flow->arena, WeightedVec, code->block_count + 1);
    for (size_t i = 0; i < flow->evidence.count; i++) {
        const Evidence *evidence = &flow->evidence.data[i];
        const PtxExecution *execution = &flow->executions[evidence->ptx];
        if (!(execution->warps > 0) || !(evidence->weight > 0) || evidence->may_exceed)
            continue;
        for (uint32_t s = 0; s < evidence->share_count; s++)
            VEC_PUSH(flow->arena, values[evidence->shares[s].block],
                     (Weighted){execution->threads / execution->warps, evidence->weight});
    }
    double *activity = ARENA_ARRAY(flow->arena, double, code->block_count + 1);
    for (uint32_t b = 0; b < code->block_count; b++)
        activity[b] = weighted_median(&values[b]);
    return activity;
}

/* How far the other block's number of threads is from the block's; infinite if it has none, or the block itself is
 * none. */
static double distance(const double *threads, uint32_t block, uint32_t other)
{
    return other != MACHINE_NONE && threads[other] > 0 ? fabs(log(threads[other] / threads[block])) : HUGE_VAL;
}

/* The block before or after this one whose number of threads is closest; MACHINE_NONE: there is none. 'activity': of
 * those that have one; NULL: of all. */
static uint32_t nearest_block(const Flow *flow, const double *threads, const double *activity, uint32_t b)
{
    const SassBlock *block = &flow->code->blocks[b];
    const uint32_t first_in = flow->loops.first_in[b], in_count = flow->loops.first_in[b + 1] - first_in;
    uint32_t best = MACHINE_NONE;
    for (uint32_t i = 0; i < block->successor_count + in_count; i++) {
        const bool is_after = i < block->successor_count;
        const uint32_t other =
            is_after ? block->successors[i] : flow->loops.in[first_in + i - block->successor_count];
        if ((!activity || activity[other] > 0) && distance(threads, b, other) < distance(threads, b, best))
            best = other;
    }
    return best;
}

/* Gives blocks without evidence the activity of the block before or after them whose number of threads is closest: only
 * some lanes of a warp execute code that most threads bypass. If that has none, either, it may get one first; in the
 * last rounds, another neighbour will do. The others take that of the kernel's start. */
static void spread_activity(const Flow *flow, const double *threads, double *activity)
{
    enum { ROUNDS = 8, LAST_ROUNDS = 4 };
    static const double NEAR = 0.01; /* counts are rounded */
    const uint32_t count = flow->code->block_count;
    for (unsigned round = 0; round < ROUNDS + LAST_ROUNDS; round++) {
        for (uint32_t i = 0; i < count; i++) {
            const uint32_t b = round % 2 ? i : count - 1 - i;
            if (activity[b] > 0 || !(threads[b] > 0))
                continue;
            const uint32_t best = nearest_block(flow, threads, activity, b);
            const double least = distance(threads, b, nearest_block(flow, threads, NULL, b));
            if (best != MACHINE_NONE && (round >= ROUNDS || distance(threads, b, best) <= least + NEAR))
                activity[b] = activity[best];
        }
    }
    double start = flow->start.warps > 0 ? flow->start.threads / flow->start.warps : 32;
    for (uint32_t b = 0; b < count; b++)
        if (!(activity[b] > 0))
            activity[b] = start;
}

/* Finds the block that warps most often come from to each block. That is not the predecessor that is executed most
 * often: one that ends in a branch past another block is not, if all warps go through the other. */
static void find_before(const Flow *flow, const double *activity, SassExecutions *result)
{
    const SassCode *code = flow->code;
    double *most = ARENA_ARRAY(flow->arena, double, code->block_count + 1);
    for (uint32_t b = 0; b < code->block_count; b++)
        result->before[b] = MACHINE_NONE;
    for (uint32_t from = 0; from < code->block_count; from++) {
        const SassBlock *block = &code->blocks[from];
        const bool calls = block->callee != MACHINE_NONE;
        for (uint32_t i = 0; i < block->successor_count + calls; i++) {
            const uint32_t to = i < block->successor_count ? block->successors[i] : block->callee;
            const double warps = i < block->successor_count
                                     ? flow->taken[flow->first_out[from] + i] * flow->unit / activity[from]
                                     : result->block_warps[from];
            if (warps > most[to]) {
                most[to] = warps;
                result->before[to] = from;
            }
        }
    }
}

static void add_totals(const Flow *flow, SassExecutions *result)
{
    const SassCode *code = flow->code;
    for (uint32_t i = 0; i < code->count; i++) {
        const SassInstruction *instruction = &code->instructions[i];
        double warps = result->block_warps[instruction->block];
        const SassBlock *block = &code->blocks[instruction->block];
        result->total += warps;
        if (block->function != 0 || sass_loop_of(&flow->loops, instruction->block) != MACHINE_NONE)
            result->looped += warps;
        result->by_class[instruction->class] += warps;
        const Inst *inst = instruction->ptx == MACHINE_NONE ? NULL : flow->map->lines.insts[instruction->ptx];
        if (!sass_is_spill(instruction, inst))
            continue;
        if (instruction->class == MACHINE_SHARED) {
            result->shared_spills += warps;
        } else {
            result->spills += warps;
            result->bytes_spilled += result->block_threads[instruction->block] * instruction->bytes;
        }
    }
}

/* Rates the result: its distance from the evidence, and the share of it that is based on evidence. */
static void rate(const Flow *flow, SassExecutions *result)
{
    double deviation = 0, whole = 0, known = 0;
    bool *has_evidence = ARENA_ARRAY(flow->arena, bool, flow->code->block_count + 1);
    for (size_t i = 0; i < flow->evidence.count; i++) {
        const Evidence *evidence = &flow->evidence.data[i];
        double executed = 0;
        for (uint32_t s = 0; s < evidence->share_count; s++)
            executed += result->block_threads[evidence->shares[s].block] * evidence->shares[s].copies;
        for (uint32_t s = 0; s < evidence->share_count && evidence->weight > 0; s++)
            has_evidence[evidence->shares[s].block] = true;
        if (!evidence->may_exceed || executed < evidence->threads)
            deviation += evidence->weight * fabs(executed - evidence->threads);
        whole += evidence->weight * evidence->threads;
    }
    result->residual = whole > 0 ? deviation / whole : 0;
    for (uint32_t b = 0; b < flow->code->block_count; b++)
        if (has_evidence[b])
            known += result->block_warps[b] * flow->code->blocks[b].count;
    result->evidence = result->total > 0 ? known / result->total : 0;
}

SassExecutions *sass_execute(Arena *arena, const SassMap *map, const PtxCount *counts, size_t count)
{
    SassExecutions *result = ARENA_NEW(arena, SassExecutions);
    Flow flow = {.arena = arena, .map = map, .code = map->code, .program = {.arena = arena}};
    result->block_warps = ARENA_ARRAY(arena, double, map->code->block_count + 1);
    result->block_threads = ARENA_ARRAY(arena, double, map->code->block_count + 1);
    result->before = ARENA_ARRAY(arena, uint32_t, map->code->block_count + 1);
    flow.executions = ptx_executions(arena, &map->lines, map->kernel, counts, count, &flow.start);
    result->warps = flow.start.warps;
    if (!map->mapped || !(flow.start.threads > 0))
        return result;
    flow.loops = sass_loops(arena, map->code);
    flow.ptx_loops = ptx_loops(arena, &map->lines, flow.executions);
    flow.evidence = evidence_collect(arena, map, flow.executions, flow.loops.reached);
    flow.unit = flow.start.threads;
    for (size_t i = 0; i < flow.evidence.count; i++)
        flow.unit = fmax(flow.unit, flow.evidence.data[i].threads);
    estimate_blocks(&flow);
    solve_threads(&flow, result->block_threads);
    double *activity = find_activity(&flow);
    spread_activity(&flow, result->block_threads, activity);
    for (uint32_t b = 0; b < map->code->block_count; b++)
        result->block_warps[b] = result->block_threads[b] / activity[b];
    find_before(&flow, activity, result);
    add_totals(&flow, result);
    rate(&flow, result);
    return result;
}
