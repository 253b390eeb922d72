/* The loops of the PTX, and their trips for each entry.
 *
 * They are the natural loops of each function's flow graph (analysis/loops.h). The text would not do: compilers place
 * rarely executed code after everything else, whose branches back into a loop are not branches back to a header. */
#include "sass/internal.h"

#include "analysis/analysis.h"

typedef struct Finder {
    Arena *arena;
    const PtxExecution *executions;
    Map numbers; /* of the instructions, by where they begin in the text, plus 1 */
    VEC(PtxLoop) loops;
    uint32_t *innermost;
} Finder;

/* MACHINE_NONE if the instruction is not in the text. */
static uint32_t number_of(const Finder *finder, const Inst *inst)
{
    const uint64_t *number = map_get(&finder->numbers, (uint64_t)inst->span.begin + 1);
    return number ? (uint32_t)*number : MACHINE_NONE;
}

/* NULL if there is no instruction, or its executions are not known. */
static const PtxExecution *execution_of(const Finder *finder, const Inst *inst)
{
    uint32_t number = inst ? number_of(finder, inst) : MACHINE_NONE;
    return number != MACHINE_NONE && finder->executions[number].known ? &finder->executions[number] : NULL;
}

static bool is_target(const Inst *branch, const Block *block)
{
    for (uint32_t t = 0; t < branch->target_count; t++)
        if (branch->targets[t] == block)
            return true;
    return false;
}

/* The threads that go from one block to the next; -1: not known. */
static double edge_threads(const Finder *finder, const Block *from, const Block *to)
{
    const PtxExecution *end = execution_of(finder, from->last);
    if (!end)
        return -1;
    bool leaves = inst_is_terminator(from->last), branches = inst_is_branch(from->last) && is_target(from->last, to);
    if (branches && from->last->target_count > 1)
        return -1;
    double threads = branches ? end->taken : 0;
    if (from->fall == to)
        threads += leaves ? end->threads - end->taken : end->threads;
    return threads;
}

static double trips(const Finder *finder, const Loop *loop)
{
    const PtxExecution *header = execution_of(finder, loop->header->first);
    double entries = header ? header->threads : 0;
    for (uint32_t i = 0; i < loop->latch_count; i++) {
        double back = edge_threads(finder, loop->latches[i], loop->header);
        if (back < 0)
            return 0;
        entries -= back;
    }
    return entries >= 1 ? header->threads / entries : 0;
}

static void add_function(Finder *finder, const Function *function)
{
    const char *reason;
    Body *body = body_build((Function *)function, &reason); /* which does not change it */
    if (!body)
        return;
    Arena *scratch = arena_new();
    const LoopForest *forest = loops_compute(scratch, dominance_compute(scratch, body));
    uint32_t first = (uint32_t)finder->loops.count;
    for (uint32_t i = 0; i < forest->loop_count; i++) {
        const Loop *loop = &forest->loops[i];
        VEC_PUSH(finder->arena, finder->loops,
                 (PtxLoop){loop->parent ? first + loop->parent->index : MACHINE_NONE, trips(finder, loop)});
    }
    for (size_t b = 0; b < body->blocks.count; b++) {
        const Loop *loop = loop_of(forest, body->blocks.data[b]);
        for (const Inst *inst = body->blocks.data[b]->first; loop && inst; inst = inst->next) {
            uint32_t number = number_of(finder, inst);
            if (number != MACHINE_NONE)
                finder->innermost[number] = first + loop->index;
        }
    }
    arena_free(scratch);
    body_free(body);
}

PtxLoops ptx_loops(Arena *arena, const PtxLines *lines, const PtxExecution *executions)
{
    Finder finder = {.arena = arena, .executions = executions, .numbers = {.arena = arena}};
    finder.innermost = ARENA_ARRAY(arena, uint32_t, lines->count + 1);
    for (uint32_t i = 0; i < lines->count; i++) {
        finder.innermost[i] = MACHINE_NONE;
        map_put(&finder.numbers, (uint64_t)lines->insts[i]->span.begin + 1, i);
    }
    for (uint32_t i = 0; i < lines->count; i++)
        if (i == 0 || lines->functions[i] != lines->functions[i - 1])
            add_function(&finder, lines->functions[i]);
    return (PtxLoops){finder.loops.data, (uint32_t)finder.loops.count, finder.innermost};
}

bool ptx_loop_contains(const PtxLoops *loops, uint32_t loop, uint32_t number)
{
    uint32_t at = loops->innermost[number];
    while (at != MACHINE_NONE && at != loop)
        at = loops->loops[at].parent;
    return at == loop;
}
