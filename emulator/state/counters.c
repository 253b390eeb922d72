/* The counters of a run: collecting and printing them. */
#include "emulator/state/state.h"

#include <inttypes.h>
#include <stdlib.h>

const char *category_name(Category category)
{
    static const char *const names[CATEGORY_COUNT] = {
        "int",        "float",  "half", "bf16",    "compare", "logic",      "move",
        "memory",     "atomic", "sync", "control", "texture", "surface",    "video",
        "simd-video", "wmma",   "mma",  "wgmma",   "tcgen05", "async-copy", "misc",
    };
    return (unsigned)category < CATEGORY_COUNT ? names[category] : "unknown";
}

void counters_print(const EmulatorCounters *counters, Buf *out)
{
    buf_printf(out, "instructions: %" PRIu64 " warp, %" PRIu64 " thread\n", counters->warp_instructions,
               counters->thread_instructions);
    for (unsigned i = 0; i < CATEGORY_COUNT; i++)
        if (counters->warp_category[i])
            buf_printf(out, "  %-10s %" PRIu64 " warp, %" PRIu64 " thread\n", category_name((Category)i),
                       counters->warp_category[i], counters->thread_category[i]);
    for (unsigned i = 0; i < SPACE_COUNT; i++)
        if (counters->loads[i] || counters->stores[i] || counters->atomics[i])
            buf_printf(out,
                       "%s: %" PRIu64 " loads of %" PRIu64 " bytes, %" PRIu64 " stores of %" PRIu64 " bytes, %" PRIu64
                       " atomics\n",
                       space_name((Space)i), counters->loads[i], counters->load_bytes[i], counters->stores[i],
                       counters->store_bytes[i], counters->atomics[i]);
    buf_printf(out,
               "branches: %" PRIu64 ", divergent: %" PRIu64 "; barriers: %" PRIu64 "; calls: %" PRIu64 "\n",
               counters->branches, counters->divergent_branches, counters->barriers, counters->calls);
    if (counters->warp_waits)
        buf_printf(out, "waits within a warp: %" PRIu64 "\n", counters->warp_waits);
    if (counters->load_sectors || counters->store_sectors || counters->bank_conflicts)
        buf_printf(out,
                   "sectors: %" PRIu64 " loaded, %" PRIu64 " stored; lines: %" PRIu64 " loaded, %" PRIu64
                   " stored; bank conflicts: %" PRIu64 "\n",
                   counters->load_sectors, counters->store_sectors, counters->load_lines, counters->store_lines,
                   counters->bank_conflicts);
}

/* The number of threads that executed the instruction beginning with op k. If that op branches around a guarded call or
 * barrier, the threads that execute the instruction are counted at the next op. */
static uint64_t code_threads(const Code *code, size_t k)
{
    return code->threads[code->ops.data[k].skips ? k + 1 : k];
}

void counters_collect(Emulator *emulator)
{
    EmulatorCounters *counters = &emulator->result->counters;
    for (size_t i = 0; i < emulator->code_list.count; i++) {
        const Code *code = emulator->code_list.data[i];
        for (size_t k = 0; code->executed && k < code->ops.count; k++) {
            const Op *op = &code->ops.data[k];
            if (!op->first)
                continue;
            counters->warp_instructions += code->executed[k];
            counters->thread_instructions += code_threads(code, k);
            counters->warp_category[op->category] += code->executed[k];
            counters->thread_category[op->category] += code_threads(code, k);
        }
    }
}

static int compare_lines(const void *a, const void *b)
{
    const EmulatorLine *x = a, *y = b;
    return x->line < y->line ? -1 : x->line > y->line;
}

/* Appends the lines of one function. */
static void code_lines(const Emulator *emulator, const Code *code, EmulatorResult *result)
{
    EmulatorLine *first = &result->lines[result->line_count];
    size_t count = 0;
    const Inst *inst = NULL;
    for (size_t k = 0; k < code->ops.count; k++) {
        const Op *op = &code->ops.data[k];
        inst = op->inst ? op->inst : inst;
        if (!inst || !code->executed[k])
            continue;
        EmulatorLine line = {.function = code->function->name};
        if (emulator->module->source)
            line.line = source_position(emulator->module->source, inst->span.begin).line;
        line.warp_instructions = op->first ? code->executed[k] : 0;
        line.thread_instructions = op->first ? code_threads(code, k) : 0;
        line.sectors = code->costs[k].sectors;
        line.lines = code->costs[k].lines;
        line.bank_conflicts = code->costs[k].bank_conflicts;
        line.divergent_branches = code->costs[k].divergent_branches;
        first[count++] = line;
    }
    qsort(first, count, sizeof *first, compare_lines);
    size_t kept = 0;
    for (size_t i = 0; i < count; i++) {
        EmulatorLine *to = &first[kept ? kept - 1 : 0];
        if (!kept || to->line != first[i].line) {
            first[kept++] = first[i];
            continue;
        }
        to->warp_instructions += first[i].warp_instructions;
        to->thread_instructions += first[i].thread_instructions;
        to->sectors += first[i].sectors;
        to->lines += first[i].lines;
        to->bank_conflicts += first[i].bank_conflicts;
        to->divergent_branches += first[i].divergent_branches;
    }
    result->line_count += kept;
}

void lines_collect(Arena *arena, Emulator *emulator)
{
    EmulatorResult *result = emulator->result;
    size_t most = 0;
    for (size_t i = 0; i < emulator->code_list.count; i++)
        most += emulator->code_list.data[i]->ops.count;
    result->lines = ARENA_ARRAY(arena, EmulatorLine, most + 1);
    for (size_t i = 0; i < emulator->code_list.count; i++)
        if (emulator->code_list.data[i]->executed && emulator->code_list.data[i]->costs)
            code_lines(emulator, emulator->code_list.data[i], result);
}

void instructions_collect(Arena *arena, Emulator *emulator)
{
    EmulatorResult *result = emulator->result;
    size_t most = 0;
    for (size_t i = 0; i < emulator->code_list.count; i++)
        most += emulator->code_list.data[i]->ops.count;
    result->instructions = ARENA_ARRAY(arena, EmulatorInst, most + 1);
    for (size_t i = 0; i < emulator->code_list.count; i++) {
        const Code *code = emulator->code_list.data[i];
        EmulatorInst *count = NULL;
        for (size_t k = 0; code->executed && code->costs && k < code->ops.count; k++) {
            const Op *op = &code->ops.data[k];
            if (op->inst && op->first && code->executed[k]) {
                count = &result->instructions[result->instruction_count++];
                *count = (EmulatorInst){
                    .function = code->function,
                    .inst = code->own_body ? NULL : op->inst,
                    .span = op->inst->span,
                    .warps = code->executed[k],
                    .threads = code_threads(code, k),
                };
            }
            if (!count)
                continue;
            count->sectors += code->costs[k].sectors;
            count->lines += code->costs[k].lines;
            count->wavefronts += code->costs[k].wavefronts;
            count->bank_conflicts += code->costs[k].bank_conflicts;
            count->fresh += code->costs[k].fresh;
        }
    }
}

void lines_print(const EmulatorResult *result, Buf *out)
{
    const char *function = NULL;
    for (size_t i = 0; i < result->line_count; i++) {
        const EmulatorLine *line = &result->lines[i];
        if (line->function != function)
            buf_printf(out, "lines of %s:\n%8s %14s %14s %10s %10s %10s %10s\n", line->function, "line", "warp instr.",
                       "thread instr.", "sectors", "128-lines", "conflicts", "divergent");
        function = line->function;
        buf_printf(out, "%8u %14" PRIu64 " %14" PRIu64 " %10" PRIu64 " %10" PRIu64 " %10" PRIu64 " %10" PRIu64 "\n",
                   line->line, line->warp_instructions, line->thread_instructions, line->sectors, line->lines,
                   line->bank_conflicts, line->divergent_branches);
    }
}
