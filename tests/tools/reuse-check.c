/* Checks the passes that reuse values between replicas: coarsens random kernels, runs the passes, and compares with the
 * original in the emulator.
 *
 *     reuse-check [-v] [-f] [-l] [-d FOLDER] [-w WITHOUT] SEED,COUNT
 *
 * Each kernel is coarsened in one way, or not at all, and goes through all passes or a random selection. Prints the
 * errors, and at the end what the passes have done: a check of nothing would find nothing. -l takes kernels with a
 * single loop, which updates memory (loop_kernel.h), in blocks of one dimension, and -f those of flattened grids
 * (flat_kernel.h), whose blocks are merged, too; -w leaves out passes by their names; -d keeps wrong outputs. */
#include "flat_kernel.h"
#include "loop_kernel.h"
#include "form_difference.h"
#include "parse_text.h"
#include "random_kernel.h"
#include "reuse_kernel.h"
#include "seeds.h"

#include "emit/emit.h"
#include "opt/opt.h"
#include "opt/passes.h"
#include "support/support.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const PassId passes[] = {PASS_DECIDE,    PASS_DELINEARIZE, PASS_GUARDED_LOADS, PASS_LOAD_REUSE,
                                PASS_ADDRESSES, PASS_INDUCTION,   PASS_FORWARD,       PASS_ACCUMULATOR,
                                PASS_VECTORIZE, PASS_BASES,       PASS_POINTERS};

typedef struct Way {
    unsigned threads[3];
    StrideKind stride;
    unsigned blocks; /* along x; 0: none are merged */
} Way;

/* Blocks merged for kernels of flattened grids; then those for all kernels of one dimension, and the rest. */
static const Way ways[] = {
    {{1, 1, 1}, STRIDE_BLOCK, 2}, {{1, 1, 1}, STRIDE_BLOCK, 3}, {{2, 1, 1}, STRIDE_UNIT, 2},
    {{1, 1, 1}, STRIDE_UNIT, 4},
    {{2, 1, 1}, STRIDE_BLOCK, 4}, {{1, 1, 1}, STRIDE_BLOCK, 0}, {{2, 1, 1}, STRIDE_UNIT, 0},
    {{4, 1, 1}, STRIDE_UNIT, 0},  {{4, 1, 1}, STRIDE_BLOCK, 0}, {{1, 2, 1}, STRIDE_UNIT, 0},
    {{1, 4, 1}, STRIDE_UNIT, 0},  {{2, 2, 1}, STRIDE_BLOCK, 0}, {{2, 2, 1}, STRIDE_UNIT, 0},
};
enum { WAYS_OF_BLOCKS = 5, WAYS_ALONG_X = 9 };

typedef struct Sums {
    unsigned done, refused, wrong;
    unsigned changed[PASS_COUNT];
    unsigned reused[REUSE_CLASSES];
} Sums;

typedef struct Settings {
    bool verbose, loops, flat;
    const char *folder, *without;
} Settings;

typedef struct Check {
    Settings settings;
    Sums sums;
} Check;

static void reuses_count(const ReuseList *list, Sums *sums)
{
    for (size_t i = 0; i < list->items.count; i++)
        sums->reused[list->items.data[i].class] += list->items.data[i].count;
}

/* The body, coarsened and after the passes; NULL if coarsening refuses it. */
static Body *transform(const Settings *settings, Arena *arena, Function *kernel, const Launch *launch, const Way *way,
                       Random *random, Sums *sums)
{
    const char *reason = NULL;
    Body *body = body_build(kernel, &reason);
    if (!body)
        return NULL;
    body_to_ssa(body);
    CoarsenRequest request = {.stride = {way->stride, 0}};
    memcpy(request.shape.threads, way->threads, sizeof request.shape.threads);
    request.shape.blocks[0] = way->blocks;
    request.shape = shape_complete(&request.shape);
    request.block = block_size_resolve(&body->tuning, launch->block);
    bool coarse = !shape_is_identity(&request.shape);
    LaunchContract contract;
    Refusal refusal;
    if (coarse && !coarsen_body(body, &request, &contract, &refusal, NULL)) {
        body_free(body);
        return NULL;
    }
    PassOptions options = {0};
    bool all = random_below(random, 3) > 0;
    options.enabled[PASS_CLEANUP] = random_below(random, 8) > 0;
    for (size_t i = 0; i < COUNT_OF(passes); i++)
        options.enabled[passes[i]] = (all || random_below(random, 2)) &&
                                     !(settings->without && strstr(settings->without, pass_table[passes[i]].name));
    PassContext context = pass_context_new(arena, &options, kernel, body);
    context.coarsening = &request;
    pass_run(&context, PASS_CLEANUP);
    for (size_t i = 0; i < COUNT_OF(passes); i++)
        sums->changed[passes[i]] += pass_run(&context, passes[i]);
    pass_run(&context, PASS_CLEANUP);
    reuses_count(&context.reuse, sums);
    return pass_take_body(&context);
}

static const Way *random_way(const Settings *settings, Random *random)
{
    const unsigned first = settings->flat ? 0 : WAYS_OF_BLOCKS;
    const unsigned end = settings->flat || settings->loops ? WAYS_ALONG_X : COUNT_OF(ways);
    return &ways[first + random_below(random, end - first)];
}

static void check_seed(void *context, uint64_t seed)
{
    const Settings *settings = &((const Check *)context)->settings;
    Sums *sums = &((Check *)context)->sums;
    Arena *arena = arena_new();
    Random random = {seed * UINT64_C(0x9e3779b97f4a7c15) + 5};
    Launch launch;
    Buf text = {0}, after = {0};
    EmulatorOptions options = {.check_registers = true};
    if (settings->flat)
        flat_kernel(seed, arena, &text, &launch);
    else if (settings->loops)
        loop_kernel(seed, arena, &text, &launch);
    else if (seed % 4 == 0)
        random_kernel(seed, arena, &text, &launch);
    else
        reuse_kernel(seed, arena, &text, &launch);
    Module *module = parse_text("random.ptx", buf_text(&text), text.length);
    require(module);
    EmulatorResult *expected = emulator_run(arena, module, &launch, &options);
    if (expected->fault.kind != FAULT_NONE) {
        options.check_registers = false;
        expected = emulator_run(arena, module, &launch, &options);
    }
    const Way *way = random_way(settings, &random);
    Function *kernel = module_find_function(module, "k");
    if (expected->fault.kind != FAULT_NONE) {
        printf("seed %llu: WRONG: the original fails: %s\n", (unsigned long long)seed,
               fault_text(arena, module, &expected->fault));
        sums->wrong++;
    }
    Body *body = expected->fault.kind != FAULT_NONE
                     ? NULL : transform(settings, arena, kernel, &launch, way, &random, sums);
    if (!body) {
        sums->refused++;
    } else {
        body_from_ssa(body);
        body_verify(body, "out of SSA");
        function_set_body(kernel, body);
        emit_module(module, &after);
        const LaunchChange change = {.block = {way->threads[0], way->threads[1], way->threads[2]}};
        const char *message = form_difference(arena, &after, &launch, &change, expected, &options, NULL);
        sums->done++;
        if (message) {
            printf("seed %llu: WRONG at %ux%u, %u blocks, %s: %s\n", (unsigned long long)seed, way->threads[0],
                   way->threads[1], way->blocks, way->stride == STRIDE_UNIT ? "unit" : "block", message);
            sums->wrong++;
            keep_wrong(arena, settings->folder, "reuse", seed, &after, &text);
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
    int option;
    while ((option = getopt(count, words, "vfld:w:")) != -1) {
        switch (option) {
        case 'v': settings->verbose = true; break;
        case 'f': settings->flat = true; break;
        case 'l': settings->loops = true; break;
        case 'd': settings->folder = optarg; break;
        case 'w': settings->without = optarg; break;
        default: return 2;
        }
    }
    if (optind + 1 != count)
        return 2;
    each_seed(words[optind], settings->verbose, check_seed, &check);
    printf("%u done, %u refused, %u wrong;", sums->done, sums->refused, sums->wrong);
    for (size_t i = 0; i < COUNT_OF(passes); i++)
        printf(" %s %u", pass_table[passes[i]].name, sums->changed[passes[i]]);
    printf("; loads: self %u, group %u, stored %u\n", sums->reused[REUSE_SELF_TEMPORAL],
           sums->reused[REUSE_GROUP_TEMPORAL], sums->reused[REUSE_STORED]);
    return sums->wrong != 0;
}
