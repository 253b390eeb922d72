/* Checks unroll-and-jam: interleaves iterations of the loops of random kernels, and compares with the original in the
 * emulator.
 *
 *     jam-check [-v] [-d FOLDER] SEED,COUNT
 *
 * The kernel then perhaps goes through the passes that reuse values, or is coarsened. Prints the errors, and at the end
 * the numbers of loops that were done and refused, and, of those done, the numbers that had their addresses compared at
 * run time, had a trip count that the factor divides, passed values on in chains, or had only their fronts interleaved:
 * a check of nothing would find nothing. -v names the refusals; -d keeps wrong outputs. */
#include "front_kernel.h"
#include "jam_kernel.h"
#include "form_difference.h"
#include "parse_text.h"
#include "seeds.h"

#include "emit/emit.h"
#include "engine/report/refusal_words.h"
#include "opt/opt.h"
#include "opt/passes.h"
#include "support/support.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct Sums {
    unsigned done, refused, wrong;
    unsigned compared, whole, carried, fronts;
} Sums;

typedef struct Settings {
    bool verbose;
    const char *folder;
} Settings;

typedef struct Check {
    Settings settings;
    Sums sums;
} Check;

typedef struct Way {
    unsigned jam, coarse;
    bool is_unit, reuses;
} Way;

static const char *random_loop(Function *kernel, Arena *arena, Random *random)
{
    const char **labels;
    unsigned count = unroll_jam_loops(arena, kernel, &labels);
    if (!count)
        return NULL;
    return random_below(random, 4) ? "LOOP" : labels[random_below(random, count)];
}

/* Counts the forms that were made, by the names that the pass gives to registers and blocks. */
static void count_forms(const char *text, Sums *sums)
{
    sums->compared += strstr(text, "%apart") != NULL;
    sums->whole += strstr(text, "LOOP:") == NULL;
    sums->carried += strstr(text, "%c0_") || strstr(text, "%c1_") || strstr(text, "%c2_");
    sums->fronts += strstr(text, "%together") != NULL;
}

/* The kernel's result; not done if it was refused. */
static bool transform(const Settings *settings, Arena *arena, Function *kernel, const Way *way, const char *loop,
                      KernelResult *result)
{
    PipelineOptions options = {.no_figures = true};
    for (unsigned i = 0; i < PASS_COUNT; i++)
        options.passes.enabled[i] = way->reuses || i == PASS_UNROLL_JAM || i == PASS_CLEANUP || i == PASS_COARSEN;
    const UnrollJam jam = {loop, way->jam};
    const KernelRequest request = {.coarsen = way->coarse > 1,
                                   .coarsening = {.shape.threads = {way->coarse, 1, 1},
                                                  .stride.kind = way->is_unit ? STRIDE_UNIT : STRIDE_BLOCK},
                                   .jams = &jam,
                                   .jam_count = 1};
    pipeline_run(arena, kernel, &request, &options, result);
    if (!kernel_is_jammed(result) && settings->verbose)
        printf("  refused: %s\n", refusal_text(arena, &result->jams[0].refusal));
    return kernel_is_jammed(result);
}

static void check_seed(void *context, uint64_t seed)
{
    const Settings *settings = &((const Check *)context)->settings;
    Sums *sums = &((Check *)context)->sums;
    Arena *arena = arena_new();
    Random random = {seed * UINT64_C(0x9e3779b97f4a7c15) + 9};
    Launch launch;
    Buf text = {0}, after = {0};
    const EmulatorOptions options = {0};
    if (seed % 3)
        jam_kernel(seed, arena, &text, &launch);
    else
        front_kernel(seed, arena, &text, &launch);
    Module *module = parse_text("random.ptx", buf_text(&text), text.length);
    require(module);
    EmulatorResult *expected = emulator_run(arena, module, &launch, &options);
    const Way way = {.jam = 2 + (unsigned)random_below(&random, 4),
                     .coarse = random_below(&random, 4) ? 1 : 2,
                     .is_unit = random_below(&random, 2),
                     .reuses = random_below(&random, 2)};
    Function *kernel = module_find_function(module, "k");
    const char *loop = random_loop(kernel, arena, &random);
    KernelResult result = {0};
    if (expected->fault.kind != FAULT_NONE) {
        printf("seed %llu: WRONG: the original fails: %s\n", (unsigned long long)seed,
               fault_text(arena, module, &expected->fault));
        sums->wrong++;
    } else if (!loop || !transform(settings, arena, kernel, &way, loop, &result)) {
        sums->refused++;
        kernel_discard(&result);
    } else {
        kernel_install(&result);
        emit_module(module, &after);
        const LaunchChange change = kernel_launch_change(&result);
        const char *message = form_difference(arena, &after, &launch, &change, expected, &options, NULL);
        sums->done++;
        count_forms(buf_text(&after), sums);
        if (message) {
            printf("seed %llu: WRONG: %s x%u, coarse %u: %s\n", (unsigned long long)seed, loop, way.jam, way.coarse,
                   message);
            sums->wrong++;
            keep_wrong(arena, settings->folder, "jam", seed, &after, &text);
        }
        function_set_body(kernel, NULL);
    }
    arena_free(module->arena);
    arena_free(arena);
    buf_free(&text);
    buf_free(&after);
}

int main(int count, char **words)
{
    Check check = {0};
    Settings *settings = &check.settings;
    const Sums *sums = &check.sums;
    const char *seeds = seeds_word(count, words, &settings->verbose, &settings->folder);
    if (!seeds)
        return 2;
    each_seed(seeds, settings->verbose, check_seed, &check);
    printf("%u done, %u refused, %u wrong; compared %u, whole %u, carried %u, fronts %u\n", sums->done, sums->refused,
           sums->wrong, sums->compared, sums->whole, sums->carried, sums->fronts);
    return sums->wrong != 0;
}
