/* The numbers of threads that follow from the counts of PTX instructions: those that reach an instruction, whatever its
 * guard says, and those that start the kernel. */
#include "sass/internal.h"

/* A stretch of PTX without labels, whose unguarded instructions are executed by the same threads. */
typedef struct Run {
    double threads; /* -1: not known yet */
    size_t first, end;
} Run;

static void finish_run(const Run *run, const PtxCount *const *counts, PtxExecution *executions)
{
    for (size_t i = run->first; i < run->end; i++) {
        double warps = counts[i] ? (double)counts[i]->warps : 0;
        executions[i] = (PtxExecution){.warps = warps,
                                       .threads = warps > 0 && run->threads > 0 ? run->threads : 0,
                                       .taken = counts[i] ? (double)counts[i]->threads : 0,
                                       .known = warps == 0 || run->threads >= 0,
                                       .run = (uint32_t)run->first};
    }
}

/* The numbers of the function's instructions begin at 'number'; returns where they end. The threads that a guarded
 * branch at the end of a run does not take enter the next run, unless others come in at a label. */
static size_t find_runs(const Function *function, size_t number, const PtxCount *const *counts,
                        PtxExecution *executions)
{
    Run run = {-1, number, number};
    for (size_t s = 0; s < function->stmts.count; s++) {
        const Stmt *stmt = &function->stmts.data[s];
        double next = -1;
        if (stmt->kind == STMT_INST) {
            const Inst *inst = stmt->inst;
            double threads = counts[run.end] ? (double)counts[run.end]->threads : 0;
            run.end++;
            if (!inst_is_guarded(inst) && threads > run.threads)
                run.threads = threads;
            if (!(inst->effects & EFFECT_CONTROL) || inst_is_call(inst))
                continue;
            if (inst_is_guarded(inst) && run.threads >= threads)
                next = run.threads - threads;
        } else if (stmt->kind != STMT_LABEL) {
            continue;
        }
        finish_run(&run, counts, executions);
        run = (Run){next, run.end, run.end};
    }
    finish_run(&run, counts, executions);
    return run.end;
}

/* The threads that start the kernel: the executions of its first instruction, or, if a branch may lead there, the
 * threads that leave the kernel. */
static PtxExecution find_start(const Function *kernel, const PtxLines *lines, const PtxCount *const *counts,
                               const PtxExecution *executions)
{
    bool labelled = false;
    for (size_t s = 0; s < kernel->stmts.count && kernel->stmts.data[s].kind != STMT_INST; s++)
        labelled |= kernel->stmts.data[s].kind == STMT_LABEL;
    uint32_t first = 0;
    while (first < lines->count && lines->functions[first] != kernel)
        first++;
    if (first == lines->count)
        return (PtxExecution){0};
    PtxExecution start = executions[first];
    if (!labelled || start.threads == 0)
        return start;
    double leaving = 0;
    for (uint32_t i = first; i < lines->count && lines->functions[i] == kernel; i++) {
        const Inst *inst = lines->insts[i];
        if (counts[i] && inst_is_terminator(inst) && !inst_is_branch(inst))
            leaving += (double)counts[i]->threads;
    }
    if (leaving > 0 && leaving < start.threads)
        start = (PtxExecution){start.warps * leaving / start.threads, leaving, leaving, true, 0};
    return start;
}

PtxExecution *ptx_executions(Arena *arena, const PtxLines *lines, const Function *kernel, const PtxCount *counts,
                             size_t count, PtxExecution *start)
{
    Map by_place = {.arena = arena};
    for (size_t i = 0; i < count; i++)
        map_put(&by_place, (uint64_t)counts[i].span.begin + 1, pointer_key(&counts[i]));
    const PtxCount **by_number = ARENA_ARRAY(arena, const PtxCount *, lines->count + 1);
    for (uint32_t i = 0; i < lines->count; i++) {
        const uint64_t *found = map_get(&by_place, (uint64_t)lines->insts[i]->span.begin + 1);
        by_number[i] = found ? (const PtxCount *)(uintptr_t)*found : NULL;
    }
    PtxExecution *executions = ARENA_ARRAY(arena, PtxExecution, lines->count + 1);
    for (size_t number = 0; number < lines->count;)
        number = find_runs(lines->functions[number], number, by_number, executions);
    *start = find_start(kernel, lines, by_number, executions);
    return executions;
}
