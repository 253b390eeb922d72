/* Checks private counters and partial sums: converts the atomic updates of random kernels, and compares with the
 * original in the emulator, which looks for races in shared memory.
 *
 *     count-check [-v] [-d FOLDER] SEED,COUNT
 *
 * Some kernels are coarsened or jammed as well. Prints the errors, and at the end the numbers of kernels in which an
 * update is counted privately or none, and, of the former, of those with a run-time path for other elements, with
 * copies of counters, with accesses that are watched, with loops whose accesses a test shows to be apart, with partial
 * sums of loops, with updates that became one, and of coarsened and jammed ones: a check of nothing would find
 * nothing. -v names the refusals; -d keeps wrong outputs. */
#include "count_kernel.h"
#include "sum_kernel.h"
#include "walk_kernel.h"

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
    unsigned tested, sized, copies, watched, apart, summed, merged, coarse, jammed;
} Sums;

typedef struct Check {
    bool verbose;
    const char *folder;
    Sums sums;
} Check;

static void print_refusal(const Refusal *refusal)
{
    if (is_refusal(refusal))
        printf("  refused: %s (%s)\n", refusal_sentence(refusal->reason), refusal->inst ? refusal->inst : "-");
}

static void print_refusals(const CountersResult *counted)
{
    print_refusal(&counted->refusal);
    for (size_t i = 0; i < counted->updates.count; i++)
        print_refusal(&counted->updates.data[i].refusal);
}

/* Sizes of arrays, as launches may have, or other ones: nothing but the number of counters depends on them. */
static KnownExtents random_extents(Arena *arena, const Function *kernel, Random *random)
{
    KnownExtent *known = ARENA_ARRAY(arena, KnownExtent, kernel->prototype.param_count + 1);
    unsigned count = 0;
    for (unsigned p = 0; p < kernel->prototype.param_count; p++)
        if (strncmp(kernel->prototype.params[p]->name, "array", 5) == 0 && random_below(random, 2))
            known[count++] = (KnownExtent){kernel->prototype.params[p], 1 + random_below(random, 3000)};
    return (KnownExtents){known, count};
}

static bool transform(const Check *check, Arena *arena, Function *kernel, const Launch *launch, Random *random,
                      KernelResult *result)
{
    PipelineOptions options = {.no_figures = true};
    for (unsigned i = 0; i < PASS_COUNT; i++)
        options.passes.enabled[i] = true;
    KernelRequest request = {.counters = true, .vectors = random_below(random, 3) == 0};
    memcpy(request.block, launch->block, sizeof request.block);
    const unsigned form = (unsigned)random_below(random, 4);
    if (form < 2) {
        request.coarsen = true;
        request.coarsening.shape = (Shape){.threads = {form ? 1 : 2, 1, 1}, .blocks = {form ? 2 : 1, 1, 1}};
        request.coarsening.stride = (Stride){.kind = random_below(random, 2) ? STRIDE_UNIT : STRIDE_BLOCK};
    }
    const UnrollJam jam = {"LOOP", 2 + (unsigned)random_below(random, 3)};
    if (form == 2) {
        request.jams = &jam;
        request.jam_count = 1;
    }
    request.extents = random_extents(arena, kernel, random);
    pipeline_run(arena, kernel, &request, &options, result);
    if (check->verbose)
        print_refusals(&result->counted);
    return result->counting == OUTCOME_DONE;
}

static void count_forms(Sums *sums, const KernelResult *result, const char *text)
{
    enum { USUAL = 1024 }; /* counters of an array whose size is not known */
    bool tested = false, copies = false, sized = false;
    for (size_t i = 0; i < result->counted.updates.count; i++) {
        tested |= result->counted.updates.data[i].is_tested;
        sized |= result->counted.updates.data[i].is_tested && result->counted.updates.data[i].counters != USUAL;
        copies |= result->counted.updates.data[i].copies > 1;
    }
    bool summed = false, merged = false;
    for (size_t i = 0; i < result->summed.sums.count; i++) {
        summed |= result->summed.sums.data[i].in_loop;
        merged |= !result->summed.sums.data[i].in_loop;
    }
    sums->summed += summed;
    sums->merged += merged;
    sums->tested += tested;
    sums->sized += sized;
    sums->copies += copies;
    sums->watched += strstr(text, "atom.shared.exch") != NULL;
    sums->apart += strstr(text, "%apart") != NULL;
    sums->coarse += result->coarsening == OUTCOME_DONE;
    sums->jammed += kernel_is_jammed(result);
}

static void check_seed(void *context, uint64_t seed)
{
    Check *check = context;
    Sums *sums = &check->sums;
    Arena *arena = arena_new();
    Random random = {seed * UINT64_C(0x9e3779b97f4a7c15) + 9};
    Launch launch;
    Buf text = {0}, after = {0};
    const EmulatorOptions options = {.check_races = true};
    static void (*const makers[])(uint64_t, Arena *, Buf *, Launch *) = {sum_kernel, walk_kernel, count_kernel};
    makers[seed % COUNT_OF(makers)](seed, arena, &text, &launch);
    Module *module = parse_text("random.ptx", buf_text(&text), text.length);
    require(module);
    EmulatorResult *expected = emulator_run(arena, module, &launch, &options);
    Function *kernel = module_find_function(module, "k");
    KernelResult result = {0};
    if (expected->fault.kind != FAULT_NONE) {
        sums->wrong++;
        report_wrong(arena, check->folder, "count", seed,
                     arena_printf(arena, "the original fails: %s", fault_text(arena, module, &expected->fault)), &text,
                     &text);
    } else if (!transform(check, arena, kernel, &launch, &random, &result)) {
        sums->refused++;
        kernel_discard(&result);
    } else {
        kernel_install(&result);
        emit_module(module, &after);
        const EmulatorOptions strict = {.check_races = true, .check_registers = true};
        const LaunchChange change = kernel_launch_change(&result);
        const char *message = form_difference(arena, &after, &launch, &change, expected, &strict, NULL);
        sums->done++;
        count_forms(sums, &result, buf_text(&after));
        if (message) {
            sums->wrong++;
            report_wrong(arena, check->folder, "count", seed, message, &after, &text);
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
    printf("%u done, %u refused, %u wrong; tested %u, sized %u, copies %u, watched %u, apart %u, summed %u, merged %u, "
           "coarse %u, jammed %u\n",
           sums->done, sums->refused, sums->wrong, sums->tested, sums->sized, sums->copies, sums->watched, sums->apart,
           sums->summed, sums->merged, sums->coarse, sums->jammed);
    return sums->wrong != 0;
}
