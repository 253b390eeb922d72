/* Checks the vectors of single threads: random kernels with rows and neighbours go through the passes, and are compared
 * with the originals in the emulator.
 *
 *     row-check [-v] [-d FOLDER] SEED,COUNT
 *
 * Prints the errors, and at the end how many kernels changed, and how many of the forms have a vector of two or four
 * elements, words with smaller elements, a test of alignment, a test of distances, and an unrolled loop: a check of
 * nothing would find nothing. -v names the seeds; -d keeps wrong outputs. */
#include "form_difference.h"
#include "parse_text.h"
#include "row_kernel.h"
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
    unsigned twos, fours, words, aligned, apart, unrolled;
} Check;

static bool transform(Arena *arena, Function *kernel, unsigned coarse, bool all, KernelResult *result)
{
    PipelineOptions options = {.no_figures = true};
    for (unsigned i = 0; i < PASS_COUNT; i++)
        options.passes.enabled[i] = all || i == PASS_ROW_VECTORS || i == PASS_VECTORS || i == PASS_COARSEN;
    const KernelRequest request = {.coarsen = coarse > 1, .coarsening = {.shape.threads = {coarse, 1, 1}},
                                   .vectors = true};
    pipeline_run(arena, kernel, &request, &options, result);
    return kernel_is_changed(result);
}

/* Counts the forms by the names that the passes give to registers. */
static void count_forms(const char *text, Check *check)
{
    check->twos += strstr(text, ".v2.") != NULL;
    check->fours += strstr(text, ".v4.") != NULL;
    check->words += strstr(text, "%word") != NULL;
    check->aligned += strstr(text, "%aligned") != NULL;
    check->apart += strstr(text, "%apart") != NULL;
    check->unrolled += strstr(text, "%jam") != NULL;
}

static void check_seed(void *context, uint64_t seed)
{
    Check *check = context;
    Arena *arena = arena_new();
    Random random = {seed * UINT64_C(0x9e3779b97f4a7c15) + 9};
    Launch launch;
    Buf text = {0}, after = {0};
    const EmulatorOptions options = {0};
    row_kernel(seed, arena, &text, &launch);
    Module *module = parse_text("random.ptx", buf_text(&text), text.length);
    require(module);
    EmulatorResult *expected = emulator_run(arena, module, &launch, &options);
    Function *kernel = module_find_function(module, "k");
    KernelResult result = {0};
    const unsigned coarse = random_below(&random, 5) ? 1 : 2;
    const char *message = NULL;
    if (expected->fault.kind != FAULT_NONE) {
        message = arena_printf(arena, "the original fails: %s", fault_text(arena, module, &expected->fault));
    } else if (!transform(arena, kernel, coarse, random_below(&random, 2), &result)) {
        check->left++;
        kernel_discard(&result);
    } else {
        kernel_install(&result);
        emit_module(module, &after);
        const LaunchChange change = kernel_launch_change(&result);
        message = form_difference(arena, &after, &launch, &change, expected, &options, NULL);
        check->changed++;
        count_forms(buf_text(&after), check);
        function_set_body(kernel, NULL);
    }
    if (message) {
        check->wrong++;
        report_wrong(arena, check->folder, "row", seed, message, &after, &text);
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
    printf("%u changed, %u left alone, %u wrong; twos %u, fours %u, words %u, aligned %u, apart %u, unrolled %u\n",
           check.changed, check.left, check.wrong, check.twos, check.fours, check.words, check.aligned, check.apart,
           check.unrolled);
    return check.wrong != 0;
}
