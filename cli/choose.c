#include "cli/choose.h"

#include <string.h>

enum { LARGEST_AUTOMATIC_FACTOR = 8, TRIALS = 9 };

/* One trial; true if the factor is good. */
static bool try_factor(Arena *arena, KernelReport *kernel, const PipelineOptions *options, const Figures *before,
                       unsigned blocks, CoarsenTrial *trial)
{
    KernelRequest request = kernel->request;
    KernelResult result;
    request.coarsen = true;
    request.registers = false;
    memcpy(request.factor, trial->factor, sizeof trial->factor);
    pipeline_run(arena, kernel->result.kernel, &request, options, &result);
    kernel_discard(&result);
    const Figures after = result.after;
    if (result.coarsening != OUTCOME_DONE) {
        trial->verdict = arena_printf(arena, "refused: %s",
                                      result.coarsening == OUTCOME_REFUSED ? result.refusal.reason : "nothing to do");
        if (result.coarsening == OUTCOME_REFUSED && !kernel->refusal.reason)
            kernel->refusal = result.refusal;
        return false;
    }
    trial->sound = true;
    if (!after.known) {
        trial->verdict =
            arena_printf(arena, "does not assemble: %s", after.message ? after.message : "no reason given");
        return false;
    }
    unsigned factor = trial->factor[0] * trial->factor[1] * trial->factor[2];
    unsigned threads = block_size_total(&result.block_before) / factor;
    Occupancy occupancy = machine_occupancy(options->machine, threads, after.registers, after.shared);
    unsigned long long spilled = figures_spills(&after);
    if (spilled > figures_spills(before))
        trial->verdict = arena_printf(arena, "rejected: %llu bytes spilled instead of %llu", spilled,
                                      (unsigned long long)figures_spills(before));
    else if (occupancy.blocks < blocks)
        trial->verdict = arena_printf(arena, "rejected: %u blocks on an SM instead of %u (%u registers instead of %u)",
                                      occupancy.blocks, blocks, after.registers, before->registers);
    else {
        trial->verdict = arena_printf(arena, "chosen: %u blocks on an SM, %u before; %u registers, %u before",
                                      occupancy.blocks, blocks, after.registers, before->registers);
        return true;
    }
    return false;
}

/* Lanes of the warps that so many blocks occupy. */
static unsigned lanes(const Machine *machine, unsigned threads, unsigned blocks)
{
    return (unsigned)align_up(threads, machine->warp_size) * blocks;
}

/* No factor can even be tried. */
static void decline(KernelReport *kernel, const char *reason)
{
    kernel->refusal = (Refusal){.reason = reason};
    kernel->choice = reason;
}

/* Tries one dimension, the largest factor first; true if one is good. */
static bool try_dimension(Arena *arena, KernelReport *kernel, const PipelineOptions *options, const Figures *before,
                          const BlockSize *block, unsigned dimension)
{
    unsigned threads = block_size_total(block);
    unsigned blocks = machine_occupancy(options->machine, threads, before->registers, before->shared).blocks;
    for (unsigned factor = LARGEST_AUTOMATIC_FACTOR; factor > 1; factor /= 2) {
        if (block->threads[dimension] % factor)
            continue;
        CoarsenTrial *trial = &kernel->trials[kernel->trial_count++];
        for (unsigned i = 0; i < 3; i++)
            trial->factor[i] = i == dimension ? factor : 1;
        if (lanes(options->machine, threads / factor, factor) > lanes(options->machine, threads, 1)) {
            trial->verdict = arena_printf(arena, "rejected: blocks of %u threads leave lanes idle", threads / factor);
            continue;
        }
        trial->chosen = try_factor(arena, kernel, options, before, blocks, trial);
        if (trial->chosen) {
            kernel->request.coarsen = true;
            memcpy(kernel->request.factor, trial->factor, sizeof trial->factor);
            kernel->choice =
                arena_printf(arena, "by %u along %c, the largest factor that costs neither spills nor blocks", factor,
                             "xyz"[dimension]);
            return true;
        }
    }
    return false;
}

void choose_factor(Arena *arena, KernelReport *kernel, const PipelineOptions *options)
{
    const Function *function = kernel->result.kernel;
    const BlockSize block = block_size_resolve(&function->tuning, kernel->request.block);
    const FunctionForm input = {.function = function};
    Figures before = {0};
    kernel->request.coarsen = false;
    if (!options->judge || !options->machine) {
        decline(kernel, "there is no assembler, which choosing a factor needs");
        return;
    }
    if (!block_size_total(&block)) {
        decline(kernel, "the block size, which choosing a factor needs, is unknown (use -block)");
        return;
    }
    if (!options->judge->measure(options->judge->context, &input, &before)) {
        decline(kernel, arena_printf(arena, "the input does not assemble: %s",
                                     before.message ? before.message : "no reason given"));
        return;
    }
    PipelineOptions quiet = *options;
    memset(quiet.passes.dumped, 0, sizeof quiet.passes.dumped);
    kernel->trials = ARENA_ARRAY(arena, CoarsenTrial, TRIALS);
    bool good = false;
    for (unsigned dimension = 0; dimension < 3 && !good; dimension++)
        good = try_dimension(arena, kernel, &quiet, &before, &block, dimension);
    for (unsigned i = 0; i < kernel->trial_count; i++)
        if (kernel->trials[i].sound)
            kernel->refusal = (Refusal){0};
    if (!good)
        kernel->choice = kernel->trial_count ? "not coarsened: no factor is sound and costs neither spills nor blocks"
                                             : "not coarsened: the block size is not divisible by 2, 4 or 8";
}
