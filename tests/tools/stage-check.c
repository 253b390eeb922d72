/* Checks staging: stages the loops of random kernels, and compares with the original in the emulator, which looks for
 * races in shared memory.
 *
 *     stage-check [-v] [-d FOLDER] SEED,COUNT
 *
 * Some kernels are coarsened before, and for some the launch has other blocks than the pass was told. Prints the
 * errors, and at the end the numbers of kernels in which a loop was staged or none, and, of the former, of those whose
 * threads vote, that read vectors, that have lines, that load a tile with parts of the block only, in which tiles
 * were really loaded, whose rounds are unrolled, in which nests were tiled, in which threads beyond the edge go
 * along, also with tiles, in which the next tile is loaded ahead, which asynchronous copies fill, in which tiles of
 * stores were really filled, and whose threads are arranged in rows: a check of nothing would find nothing.
 * -v names the refusals; -d keeps wrong outputs. */
#include "nest_kernel.h"
#include "stage_kernel.h"
#include "store_kernel.h"

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
    unsigned votes, vectors, lines, loaded, partial, unrolled, nests, edges, both, ahead, async, stores, alike, grow;
    unsigned counted, rows, sometimes, any, turns;
} Sums;

typedef struct Check {
    bool verbose;
    const char *folder;
    Sums sums;
} Check;

static void print_refusal(const Refusal *refusal)
{
    if (is_refusal(refusal))
        printf("  refused: %s\n", refusal_sentence(refusal->reason));
}

static void print_refusals(const StageResult *staged)
{
    print_refusal(&staged->refusal);
    for (size_t i = 0; i < staged->loops.count; i++) {
        print_refusal(&staged->loops.data[i].refusal);
        for (size_t k = 0; k < staged->loops.data[i].loads.count; k++)
            print_refusal(&staged->loops.data[i].loads.data[k].refusal);
    }
}

static bool transform(const Check *check, Arena *arena, Function *kernel, const Launch *launch, Random *random,
                      KernelResult *result)
{
    static const unsigned depths[] = {0, 0, 8, 16, 32, 256};
    PipelineOptions options = {.no_figures = true};
    bool reuses = random_below(random, 2);
    for (unsigned i = 0; i < PASS_COUNT; i++)
        options.passes.enabled[i] =
            reuses || i == PASS_STAGE || i == PASS_EDGES || i == PASS_COARSEN || i == PASS_CLEANUP;
    KernelRequest request = {.staging = {.wanted = true, .depth = depths[random_below(random, COUNT_OF(depths))]}};
    request.staging.unrolls = !random_below(random, 3);
    request.staging.before_vectors = !random_below(random, 3);
    request.edges = random_below(random, 3);
    request.staging.prefetches = random_below(random, 2);
    memcpy(request.block, launch->block, sizeof request.block);
    const bool is_other = !random_below(random, 8);
    const unsigned form = (unsigned)random_below(random, 4);
    request.block[random_below(random, 3)] += is_other;
    if (form == 0 && !is_other) {
        const unsigned neighbours = 2U << random_below(random, 3);
        request.coarsen = true;
        request.coarsening.shape = (Shape){.threads = {neighbours, 1, 1}, .blocks = {1, 1, 1}};
        request.coarsening.stride = (Stride){.kind = STRIDE_UNIT};
    }
    if (form == 1) {
        request.coarsen = true;
        request.coarsening.shape.blocks[random_below(random, 2)] = 2;
        for (unsigned d = 0; d < 3; d++) {
            request.coarsening.shape.threads[d] = 1;
            if (!request.coarsening.shape.blocks[d])
                request.coarsening.shape.blocks[d] = 1;
        }
    }
    request.vectors = request.vectors_first = reuses && !random_below(random, 3);
    request.staging.buffers = random_below(random, 3) ? 0 : 2 + (unsigned)random_below(random, 3);
    pipeline_run(arena, kernel, &request, &options, result);
    if (check->verbose) {
        print_refusals(&result->staged);
        print_refusal(&result->edges_result.refusal);
    }
    return result->staging == OUTCOME_DONE || result->edges == OUTCOME_DONE;
}

static void count_forms(Sums *sums, const KernelResult *result, const char *text, uint64_t barriers, uint64_t before)
{
    bool votes = false;
    bool unrolled = false, nest = false, ahead = false, stores = false;
    for (size_t i = 0; i < result->staged.loops.count; i++) {
        unrolled |= result->staged.loops.data[i].unrolled > 1;
        ahead |= result->staged.loops.data[i].prefetches && barriers > before;
        nest |= result->staged.loops.data[i].is_nest && barriers > before;
        votes |= result->staged.loops.data[i].done && result->staged.loops.data[i].votes;
        for (size_t k = 0; k < result->staged.loops.data[i].loads.count; k++) {
            const StagedLoad *load = &result->staged.loops.data[i].loads.data[k];
            stores |= load->is_store && load->done && barriers > before;
        }
    }
    sums->edges += result->edges == OUTCOME_DONE;
    sums->both += result->edges == OUTCOME_DONE && result->staging == OUTCOME_DONE && barriers > before;
    sums->ahead += ahead;
    sums->async += strstr(text, "cp.async") && barriers > before;
    sums->unrolled += unrolled;
    sums->stores += stores;
    sums->nests += nest;
    sums->votes += votes;
    sums->vectors += strstr(text, "ld.shared.v") != NULL;
    sums->lines += strstr(text, "%lines") != NULL;
    sums->grow += strstr(text, "%grouped") != NULL;
    sums->alike += strstr(text, "%alike") && barriers > before;
    sums->counted += strstr(text, "%steps") && barriers > before;
    sums->rows += strstr(text, "%column") && barriers > before;
    sums->sometimes += strstr(text, "%passes") && strstr(text, "WHEN") && barriers > before;
    sums->any += strstr(text, "bar.red.or") && barriers > before;
    sums->turns += strstr(text, "selp.b64") && barriers > before;
    sums->partial += strstr(text, "%inside") != NULL;
    sums->loaded += barriers > before;
}

static void check_seed(void *context, uint64_t seed)
{
    Check *check = context;
    Sums *sums = &check->sums;
    Arena *arena = arena_new();
    Random random = {seed * UINT64_C(0x9e3779b97f4a7c15) + 5};
    Launch launch;
    Buf text = {0}, after = {0};
    const EmulatorOptions options = {.check_races = true, .check_unwritten = true};
    static void (*const makers[])(uint64_t, Arena *, Buf *, Launch *) = {nest_kernel, stage_kernel, store_kernel};
    makers[seed % COUNT_OF(makers)](seed, arena, &text, &launch);
    Module *module = parse_text("random.ptx", buf_text(&text), text.length);
    require(module);
    EmulatorResult *expected = emulator_run(arena, module, &launch, &options);
    Function *kernel = module_find_function(module, "k");
    KernelResult result = {0};
    EmulatorCounters counters = {0};
    if (expected->fault.kind != FAULT_NONE) {
        sums->wrong++;
        report_wrong(arena, check->folder, "stage", seed,
                     arena_printf(arena, "the original fails: %s", fault_text(arena, module, &expected->fault)), &text,
                     &text);
    } else if (!transform(check, arena, kernel, &launch, &random, &result)) {
        sums->refused++;
        kernel_discard(&result);
    } else {
        kernel_install(&result);
        emit_module(module, &after);
        const EmulatorOptions strict = {.check_races = true, .check_unwritten = true, .check_registers = true};
        const LaunchChange change = kernel_launch_change(&result);
        const char *message = form_difference(arena, &after, &launch, &change, expected, &strict, &counters);
        sums->done++;
        count_forms(sums, &result, buf_text(&after), counters.barriers, expected->counters.barriers);
        if (message) {
            sums->wrong++;
            report_wrong(arena, check->folder, "stage", seed, message, &after, &text);
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
    const char *seeds = seeds_word(count, words, &check.verbose, &check.folder);
    if (!seeds)
        return 2;
    each_seed(seeds, check.verbose, check_seed, &check);
    const Sums *sums = &check.sums;
    printf("%u done, %u refused, %u wrong; votes %u, vectors %u, lines %u, partial %u, loaded %u, unrolled %u, "
           "nests %u, edges %u, both %u, ahead %u, async %u, stores %u, alike %u, grow %u, counted %u, rows %u, "
           "sometimes %u, any %u, turns %u\n",
           sums->done, sums->refused, sums->wrong, sums->votes, sums->vectors, sums->lines, sums->partial, sums->loaded,
           sums->unrolled, sums->nests, sums->edges, sums->both, sums->ahead, sums->async, sums->stores,
           sums->alike, sums->grow, sums->counted, sums->rows, sums->sometimes, sums->any, sums->turns);
    return sums->wrong != 0;
}
