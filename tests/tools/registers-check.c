/* registers-check: compares random kernels before and after the moves of the register search, in the emulator.
 *
 *     registers-check FIRST COUNT
 *
 * Each seed gives a kernel (random_kernel.c) and a random sequence of the moves that the passes of the search make:
 * sinks, hoists, recomputations, reorderings, demotions to shared memory, packing, and addresses from others; none is
 * measured. Values of half of the kernels are cut to few bits at random, so that there is something to pack. Prints the
 * differences; the exit status is 1 if there are any. */
#include <stdlib.h>
#include <string.h>

#include "emulator/emulator.h"
#include "opt/registers/moves/demote.h"
#include "opt/registers/moves/schedule_exact.h"
#include "parser/parser.h"

#include "random_kernel.h"
#include "random_values.h"
#include "opt/passes.h"

static Module *module_parse(const char *text)
{
    Arena *arena = arena_new();
    Source *source = source_from_memory(arena, "random", text, strlen(text));
    Diag diag;
    diag_init(&diag, source, stderr);
    Module *module = parse_module(arena, source, &diag);
    if (!module)
        abort();
    return module;
}

static void orders_mutate(Body *body, Random *random, Arena *arena)
{
    Analyses *analyses = analyses_new(body);
    Scheduler *scheduler = scheduler_new(arena, body, analyses);
    for (size_t b = 0; b < scheduler->block_count; b++) {
        BlockOrder *block = &scheduler->blocks[b];
        uint32_t *next = block->fixed ? NULL : ARENA_ARRAY(arena, uint32_t, block->graph->count);
        for (unsigned i = 0; next && i < 10; i++) {
            scheduler_mutate(scheduler, block, block->order, random, next);
            scheduler_apply(scheduler, block, next);
        }
    }
    analyses_free(analyses);
}

static void values_demote(Body *body, const Launch *launch, Random *random)
{
    const unsigned *block = launch->block;
    DemoteRequest request = {.limit = (int32_t)random_below(random, 8),
                             .slots = 1 + random_below(random, 24),
                             .threads = block[0] * block[1] * block[2],
                             .is_line = block[1] == 1 && block[2] == 1 && random_below(random, 2)};
    Analyses *analyses = analyses_new(body);
    if (demote_obstacle(body, true) == SHARED_FREE)
        demote_values(body, analyses, sm_limits_for(random_below(random, 2) ? "sm_90" : "sm_75"), &request);
    analyses_free(analyses);
}

/* Gives blocks the orders that branch and bound finds. */
static void orders_exactly(Body *body, Arena *arena)
{
    Analyses *analyses = analyses_new(body);
    Scheduler *scheduler = scheduler_new(arena, body, analyses);
    for (size_t b = 0; b < scheduler->block_count; b++) {
        BlockOrder *block = &scheduler->blocks[b];
        uint32_t *order = block->fixed ? NULL : ARENA_ARRAY(arena, uint32_t, block->graph->count);
        if (!order)
            continue;
        memcpy(order, block->order, block->graph->count * sizeof *order);
        schedule_exact(scheduler, block, order, 2000, NULL);
        scheduler_apply(scheduler, block, order);
    }
    analyses_free(analyses);
}

/* Recomputes values after places with hardly any live registers, too, because random kernels are small. */
static void values_recompute_across(Body *body, Random *random)
{
    const RecomputeRequest request = {(int32_t)random_below(random, 12), 1 + random_below(random, 64), UINT64_MAX};
    one_recompute(body, &request);
}

static void values_pack(Body *body, Random *random)
{
    const PackRequest request = {1 + (int32_t)random_below(random, 12), UINT64_MAX};
    one_pack(body, &request);
}

static void body_change(Body **body, const Launch *launch, Random *random, Buf *what)
{
    Arena *arena = arena_new();
    for (unsigned moves = 1 + random_below(random, 5); moves > 0; moves--) {
        unsigned kind = random_below(random, 15);
        ScheduleRule rule = schedule_rule_random(random);
        static const char *const names[] = {"sink", "recompute", "schedule", "demote", "mutate",
                                            "exact", "hoist", "offsets", "bases", "pointers", "pack", "pack",
                                            "shifts", "across", "across"};
        buf_printf(what, " %s", names[kind]);
        switch (kind) {
        case 0: one_sink(*body, (SinkMode)random_below(random, 3), random_below(random, 2)); break;
        case 1: random_values_recompute(*body, random); break;
        case 2: one_schedule(*body, &rule); break;
        case 3: values_demote(*body, launch, random); break;
        case 4: orders_mutate(*body, random, arena); break;
        case 5: orders_exactly(*body, arena); break;
        case 6: one_hoist(*body); break;
        case 7: one_offsets(*body); break;
        case 8: one_pass(body, random_below(random, 2) ? PASS_INDUCTION : PASS_BASES); break;
        case 9: one_pass(body, PASS_POINTERS); break;
        case 10:
        case 11: values_pack(*body, random); break;
        case 12: one_shifts(*body, (ShiftPart)random_below(random, 3)); break;
        default: values_recompute_across(*body, random); break;
        }
        body_verify(*body, names[kind]);
    }
    arena_free(arena);
}

/* Cuts results of moves, sums and products to a few bits. */
static void results_narrow(Buf *text, Random *random)
{
    static const unsigned masks[] = {1, 1, 3, 7, 15, 255, 511, 65535};
    Buf narrow = {0};
    char *save, *copy = strdup(buf_text(text));
    for (char *line = strtok_r(copy, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
        unsigned number;
        buf_printf(&narrow, "%s\n", line);
        if ((sscanf(line, " mov.u32 %%v%u,", &number) == 1 || sscanf(line, " add.s32 %%v%u,", &number) == 1 ||
             sscanf(line, " mad.lo.s32 %%v%u,", &number) == 1 || sscanf(line, " ld.global.u32 %%v%u,", &number) == 1) &&
            random_below(random, 4))
            buf_printf(&narrow, "and.b32 %%v%u, %%v%u, %u;\n", number, number,
                       masks[random_below(random, COUNT_OF(masks))]);
    }
    free(copy);
    buf_free(text);
    *text = narrow;
}

static bool seed_check(uint64_t seed)
{
    Random shape = {seed + 1};
    Arena *arena = arena_new();
    Buf text = {0}, what = {0};
    Launch launch = {0};
    random_kernel(seed, arena, &text, &launch);
    if (random_below(&shape, 2))
        results_narrow(&text, &shape);
    Module *original = module_parse(buf_text(&text)), *changed = module_parse(buf_text(&text));
    Function *kernel = module_find_function(changed, "k");
    const char *reason = NULL;
    Body *body = body_build(kernel, &reason);
    bool equal = true;
    if (body) {
        Random random = {seed};
        EmulatorOptions options = {0};
        body_to_ssa(body);
        body_change(&body, &launch, &random, &what);
        body_from_ssa(body);
        body_verify(body, "leave SSA form");
        function_set_body(kernel, body);
        launch.tolerance.kind = TOLERANCE_EXACT;
        EmulatorComparison *comparison =
            emulator_compare(arena, original, changed, "k", &launch, NULL, &options);
        equal = comparison->equal;
        if (!equal)
            printf("seed %llu:%s: %s\n", (unsigned long long)seed, buf_text(&what), comparison->message);
        function_set_body(kernel, NULL);
    }
    buf_free(&text);
    buf_free(&what);
    arena_free(original->arena);
    arena_free(changed->arena);
    arena_free(arena);
    return equal;
}

int main(int count, char **words)
{
    if (count != 3) {
        fprintf(stderr, "usage: registers-check FIRST COUNT\n");
        return 2;
    }
    uint64_t first = strtoull(words[1], NULL, 10), seeds = strtoull(words[2], NULL, 10), wrong = 0;
    for (uint64_t i = 0; i < seeds; i++)
        wrong += !seed_check(first + i);
    printf("%llu kernels, %llu wrong\n", (unsigned long long)seeds, (unsigned long long)wrong);
    return wrong != 0;
}
