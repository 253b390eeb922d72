/* Checks refinement: random kernels whose loops several threads share are compared with the originals in the emulator,
 * which watches for races.
 *
 *     refine-check [-v] [-d FOLDER] SEED,COUNT
 *
 * Prints the errors, and at the end how many kernels changed, and how many of the forms compare addresses at run time,
 * have sums by shuffles, sums in another order, several shared loops, threads apart, and loops that were rolled up: a
 * check of nothing would find nothing. -v names the seeds; -d keeps wrong outputs. */
#include "form_difference.h"
#include "parse_text.h"
#include "refine_kernel.h"
#include "seeds.h"

#include "emit/emit.h"
#include "opt/opt.h"
#include "opt/passes.h"
#include "support/support.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct Check {
    bool verbose;
    const char *folder;
    unsigned changed, left, wrong;
    unsigned compared, summed, reordered, several, apart, spread, vectors, rolled;
} Check;

static KernelRequest random_request(Random *random, const Launch *launch)
{
    KernelRequest request = {.refining = {.threads = 2U << random_below(random, 5), .reassociates = true}};
    request.refining.is_apart = random_below(random, 3) == 0;
    request.vectors = random_below(random, 3) == 0;
    if (request.refining.is_apart || random_below(random, 2))
        for (unsigned d = 0; d < 3; d++)
            request.block[d] = launch->block[d];
    return request;
}

static bool transform(Arena *arena, Function *kernel, const KernelRequest *request, KernelResult *result)
{
    PipelineOptions options = {.no_figures = true};
    for (unsigned i = 0; i < PASS_COUNT; i++)
        options.passes.enabled[i] = true;
    pipeline_run(arena, kernel, request, &options, result);
    return result->coarsening == OUTCOME_DONE;
}

static void count_forms(const char *text, const KernelRequest *request, const KernelResult *result, Check *check)
{
    check->compared += strstr(text, "%apart") != NULL;
    check->summed += strstr(text, "shfl.sync") != NULL;
    check->reordered += result->refined.reassociated > 0;
    check->several += result->refined.loops > 1;
    check->apart += request->refining.is_apart;
    check->spread += result->refined.spread > 1;
    check->vectors += result->vectors == OUTCOME_DONE;
    check->rolled += strstr(text, "%rolled") != NULL;
}

static void check_seed(void *context, uint64_t seed)
{
    Check *check = context;
    Arena *arena = arena_new();
    Random random = {seed * UINT64_C(0x9e3779b97f4a7c15) + 9};
    Launch launch;
    Buf text = {0}, after = {0};
    const EmulatorOptions options = {.check_races = true, .jobs = 1};
    refine_kernel(seed, arena, &text, &launch);
    Module *module = parse_text("random.ptx", buf_text(&text), text.length);
    require(module);
    EmulatorResult *expected = emulator_run(arena, module, &launch, &options);
    Function *kernel = module_find_function(module, "k");
    KernelResult result = {0};
    const KernelRequest request = random_request(&random, &launch);
    const char *message = NULL;
    LaunchUnmet unmet;
    if (expected->fault.kind != FAULT_NONE) {
        message = arena_printf(arena, "the original fails: %s", fault_text(arena, module, &expected->fault));
    } else if (!transform(arena, kernel, &request, &result)) {
        check->left++;
        kernel_discard(&result);
    } else if (!contract_is_met(&result.contract, launch.block, launch.grid, &unmet)) {
        check->left++;
        kernel_discard(&result);
    } else {
        kernel_install(&result);
        emit_module(module, &after);
        const LaunchChange change = kernel_launch_change(&result);
        message = form_difference(arena, &after, &launch, &change, expected, &options, NULL);
        check->changed++;
        count_forms(buf_text(&after), &request, &result, check);
        function_set_body(kernel, NULL);
    }
    if (message) {
        check->wrong++;
        report_wrong(arena, check->folder, "refine", seed, message, &after, &text);
    }
    arena_free(module->arena);
    arena_free(arena);
    buf_free(&text);
    buf_free(&after);
}

int main(int count, char **words)
{
    Check check = {0};
    const char *seeds = seeds_word(count, words, &check.verbose, &check.folder);
    if (!seeds)
        return 2;
    each_seed(seeds, check.verbose, check_seed, &check);
    printf("%u changed, %u left alone, %u wrong; compared %u, summed %u, reordered %u, several %u, apart %u, "
           "spread %u, vectors %u, rolled %u\n",
           check.changed, check.left, check.wrong, check.compared, check.summed, check.reordered, check.several,
           check.apart, check.spread, check.vectors, check.rolled);
    return check.wrong != 0;
}
