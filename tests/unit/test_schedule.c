/* The passes that the register search uses: the effect of each on small kernels, and that none changes the results of
 * the corpus. */
#include "tests/unit/test_registers_support.h"

#include <glob.h>
#include <stdio.h>
#include <stdlib.h>

#include "emulator/emulator.h"

/* Eight loads, then a sum that reads them in order: depth first puts one load before each addition. */
static const char *eight_loads(Arena *arena)
{
    const char *text =
        KERNEL_HEAD ".visible .entry k(.param .u64 in, .param .u64 out)\n{\n.reg .b64 %rd<3>;\n.reg .f32 %f<20>;\n"
                    "ld.param.u64 %rd1, [in];\nld.param.u64 %rd2, [out];\n";
    for (int i = 0; i < 8; i++)
        text = arena_printf(arena, "%sld.global.f32 %%f%d, [%%rd1+%d];\n", text, i, 4 * i);
    text = arena_printf(arena, "%sadd.f32 %%f10, %%f0, %%f1;\n", text);
    for (int i = 2; i < 8; i++)
        text = arena_printf(arena, "%sadd.f32 %%f%d, %%f%d, %%f%d;\n", text, 9 + i, 8 + i, i);
    return arena_printf(arena, "%sst.global.f32 [%%rd2], %%f16;\nret;\n}\n", text);
}

static void rules_lower_pressure(void **state)
{
    (void)state;
    Arena *arena = arena_new();
    Module *module = module_of_text(eight_loads(arena));
    for (unsigned r = 0; r < schedule_rule_count; r++) {
        Body *body = body_in_ssa(module_find_function(module, "k"));
        assert_int_equal(body_peak(body), 11);
        one_schedule(body, &schedule_rules[r]);
        body_verify(body, schedule_rules[r].name);
        /* A greedy choice from the bottom delays the base address, and the loads with it. */
        int32_t most = schedule_rules[r].limit ? 11 : schedule_rules[r].recent ? 6 : 10;
        if (body_peak(body) > most)
            fail_msg("%s: %d registers", schedule_rules[r].name, (int)body_peak(body));
        body_free(body);
    }
    arena_free(module->arena);
    arena_free(arena);
}

/* The examples of Nugteren et al., "Analyzing CUDA's Compiler through the Visualization of Decoded GPU Binaries"
 * (SCOPES 2010), whose tables count the registers that each instruction reads, writes or keeps: those that are live
 * before it, and its results. 'least': the pressure of the best order that a rule finds. */
static void check_table(const char *code, const int *occupied, unsigned count, int32_t least)
{
    Arena *arena = arena_new();
    Module *module = module_of_text(arena_printf(arena,
                                                 KERNEL_HEAD ".shared .align 8 .b32 m[8];\n.visible .entry k()\n{\n"
                                                             ".reg .b32 %%r<7>, %%s<3>;\n%s\nret;\n}\n", code));
    Body *body = body_in_ssa(module_find_function(module, "k"));
    PressureTracker tracker = pressure_tracker_new(arena, liveness_compute(arena, body));
    const Inst *inst = body->blocks.data[0]->first;
    pressure_tracker_start_top(&tracker, body->blocks.data[0]);
    for (unsigned i = 0; i < count; i++, inst = inst->next) {
        int results = 0;
        for (unsigned r = 0; r < inst->ref_count; r++)
            results += ref_writes(&inst->refs[r]);
        assert_int_equal(tracker.current.regs32 + results, occupied[i]);
        pressure_tracker_advance(&tracker, inst);
    }
    int32_t best = INT32_MAX;
    for (unsigned r = 0; r < schedule_rule_count; r++) {
        Body *copy = body_clone(body);
        one_schedule(copy, &schedule_rules[r]);
        best = body_peak(copy) < best ? body_peak(copy) : best;
        body_free(copy);
    }
    assert_int_equal(best, least);
    body_and_module_free(module, body);
    arena_free(arena);
}

static void tables_of_cudavis(void **state)
{
    (void)state;
    static const int table1[] = {1, 2, 2, 1}, table1_optimized[] = {1, 1, 1, 1};
    static const int table3[] = {2, 4, 5, 5, 5, 4, 3}, table4[] = {2, 3, 3, 3, 4, 4, 3};
    check_table("ld.shared.u32 %r1, [m]; ld.shared.u32 %r2, [m+4];"
                "st.shared.u32 [m+8], %r1; st.shared.u32 [m+12], %r2;", table1, COUNT_OF(table1), 1);
    check_table("ld.shared.u32 %r1, [m]; st.shared.u32 [m+8], %r1;"
                "ld.shared.u32 %r2, [m+4]; st.shared.u32 [m+12], %r2;",
                table1_optimized, COUNT_OF(table1_optimized), 1);
    check_table("ld.shared.v2.u32 {%r1, %r2}, [m]; ld.shared.v2.u32 {%r3, %r4}, [m+8]; mul.lo.u32 %r5, %r2, 64;"
                "mul.lo.u32 %r6, %r4, 64; add.u32 %r2, %r1, %r5; add.u32 %r4, %r3, %r6; add.u32 %r1, %r2, %r4;"
                "st.shared.u32 [m+16], %r1;", table3, COUNT_OF(table3), 3);
    check_table("ld.shared.v2.u32 {%r1, %r2}, [m]; mul.lo.u32 %r5, %r2, 64; add.u32 %r2, %r1, %r5;"
                "ld.shared.v2.u32 {%r3, %r4}, [m+8]; mul.lo.u32 %r6, %r4, 64; add.u32 %r4, %r3, %r6;"
                "add.u32 %r1, %r2, %r4; st.shared.u32 [m+16], %r1;", table4, COUNT_OF(table4), 3);
}

/* The place of the first instruction with this opcode in the block. */
static unsigned place_of(const Body *body, Opcode op)
{
    unsigned place = 0;
    for (const Inst *inst = body->blocks.data[0]->first; inst; inst = inst->next, place++)
        if (inst_op(inst) == op)
            return place;
    fail_msg("no %s", opcode_name(op));
    return 0;
}

/* From the top, the instruction that begins the longest path to the end is first; from the bottom, the one that ends
 * the longest path from the beginning is last. */
static void longest_paths_go_first(void **state)
{
    (void)state;
    Module *module = module_of_text(
        KERNEL_HEAD ".visible .entry k(.param .u64 out)\n{\n.reg .b64 %rd<3>;\n.reg .b32 %r<20>;\n"
                    "ld.param.u64 %rd1, [out];\nmov.u32 %r1, %tid.x;\n"
                    "add.u32 %r2, %r1, 1;\nadd.u32 %r2, %r2, %r1;\nadd.u32 %r2, %r2, %r1;\nadd.u32 %r2, %r2, %r1;\n"
                    "xor.b32 %r2, %r2, 5;\n"
                    "mul.lo.u32 %r3, %r1, %r1;\nsub.u32 %r3, %r3, %r1;\nsub.u32 %r3, %r3, %r1;\n"
                    "sub.u32 %r3, %r3, %r1;\nsub.u32 %r3, %r3, %r1;\nsub.u32 %r3, %r3, %r1;\nsub.u32 %r3, %r3, %r1;\n"
                    "st.global.u32 [%rd1], %r3;\nor.b32 %r4, %r2, 3;\nst.global.u32 [%rd1+4], %r4;\nret;\n}\n");
    const ScheduleRule rules[] = {{.name = "from the top", .top_down = true, .chain = 4, .source = 1},
                                  {.name = "from the bottom", .chain = 4, .source = 1}};
    for (unsigned i = 0; i < COUNT_OF(rules); i++) {
        Body *body = body_in_ssa(module_find_function(module, "k"));
        one_schedule(body, &rules[i]);
        bool as_wanted = i == 0 ? place_of(body, OP_MUL) < place_of(body, OP_XOR)
                                : place_of(body, OP_OR) < place_of(body, OP_ST);
        if (!as_wanted)
            fail_msg("%s", rules[i].name);
        body_free(body);
    }
    arena_free(module->arena);
}

static void scheduling_is_deterministic(void **state)
{
    (void)state;
    Module *module = module_of_file("corpus/fft16/fft16.sm_90.ptx");
    Function *kernel = module_find_function(module, "fft16");
    Random random = {7};
    for (unsigned i = 0; i < 4; i++) {
        ScheduleRule rule = schedule_rule_random(&random);
        Buf first = {0}, second = {0};
        for (unsigned turn = 0; turn < 2; turn++) {
            Body *body = body_in_ssa(kernel);
            one_schedule(body, &rule);
            body_dump(body, turn ? &second : &first);
            body_free(body);
        }
        assert_string_equal(buf_text(&first), buf_text(&second));
        buf_free(&first);
        buf_free(&second);
    }
    arena_free(module->arena);
}

/* Every neighbour respects the dependences, and applying the first order again restores the block. */
static void mutations_respect_dependences(void **state)
{
    (void)state;
    Arena *arena = arena_new();
    Module *module = module_of_file("corpus/nlm/nlm.sm_90.ptx");
    Body *body = body_in_ssa(module_find_function(module, "nlm"));
    Analyses *analyses = analyses_new(body);
    Scheduler *scheduler = scheduler_new(arena, body, analyses);
    Random random = {3};
    for (size_t b = 0; b < scheduler->block_count; b++) {
        BlockOrder *block = &scheduler->blocks[b];
        if (block->fixed)
            continue;
        uint32_t count = block->graph->count;
        uint32_t *first = ARENA_ARRAY(arena, uint32_t, count), *next = ARENA_ARRAY(arena, uint32_t, count);
        uint32_t *place = ARENA_ARRAY(arena, uint32_t, count);
        memcpy(first, block->order, count * sizeof *first);
        for (unsigned turn = 0; turn < 20; turn++) {
            scheduler_mutate(scheduler, block, block->order, &random, next);
            for (uint32_t i = 0; i < count; i++)
                place[next[i]] = i;
            for (uint32_t n = 0; n < count; n++)
                for (uint32_t e = block->graph->succ_start[n]; e < block->graph->succ_start[n + 1]; e++)
                    assert_true(place[n] < place[block->graph->succs[e].node]);
            scheduler_apply(scheduler, block, next);
            assert_int_equal(block->peak, scheduler_cost(scheduler, block, block->order, 0).peak);
        }
        body_verify(body, "mutate");
        scheduler_apply(scheduler, block, first);
        uint32_t i = 0;
        for (const Inst *inst = block->block->first; inst; inst = inst->next)
            assert_ptr_equal(inst, block->graph->insts[i++]);
    }
    analyses_free(analyses);
    body_free(body);
    arena_free(module->arena);
    arena_free(arena);
}

static const char branchy[] = KERNEL_HEAD
    ".visible .entry k(.param .u64 p, .param .u32 n)\n{\n.reg .pred %p<3>;\n.reg .b32 %r<9>;\n.reg .b64 %rd<2>;\n"
    "ld.param.u64 %rd1, [p];\nld.param.u32 %r1, [n];\nmov.u32 %r2, %tid.x;\n"
    "mul.lo.s32 %r3, %r2, %r1;\nld.global.u32 %r4, [%rd1+64];\nxor.b32 %r7, %r2, 5;\n"
    "setp.eq.s32 %p1, %r1, 7;\n@%p1 bra SKIP;\n"
    "LOOP:\nadd.s32 %r1, %r1, -1;\nst.global.u32 [%rd1], %r1;\nsetp.gt.s32 %p2, %r1, 0;\n@%p2 bra LOOP;\n"
    "st.global.u32 [%rd1+4], %r3;\nst.global.u32 [%rd1+8], %r4;\nst.global.u32 [%rd1+12], %r7;\nret;\n"
    "SKIP:\nst.global.u32 [%rd1+16], %r7;\nret;\n}\n";

static Block *block_with(const Body *body, const char *opcode)
{
    Block *found = NULL;
    for (size_t i = 0; i < body->blocks.count; i++)
        for (const Inst *inst = body->blocks.data[i]->first; inst; inst = inst->next)
            if (strcmp(inst->signature->opcode, opcode) == 0)
                found = body->blocks.data[i];
    return found;
}

static void sinking_moves_below_loops_but_not_into_them(void **state)
{
    (void)state;
    Arena *arena = arena_new();
    Module *module = module_of_text(branchy);
    Body *body = body_in_ssa(module_find_function(module, "k"));
    Block *entry = body->blocks.data[0], *end = block_with(body, "mul");
    assert_ptr_equal(end, entry);
    assert_true(one_sink(body, SINK_ALL, true) > 0);
    body_verify(body, "sink");
    end = block_with(body, "mul");
    assert_ptr_not_equal(end, entry);
    assert_string_equal(block_opcodes(arena, end), "mul st ld st st ret");
    /* A load may not cross a store of the loop to the same memory; [p] and [p+64] do not overlap. */
    for (size_t i = 0; i < body->blocks.count; i++)
        if (body->blocks.data[i]->label && strcmp(body->blocks.data[i]->label, "LOOP") == 0)
            assert_string_equal(block_opcodes(arena, body->blocks.data[i]), "add st setp bra");
    body_free(body);
    arena_free(module->arena);
    arena_free(arena);
}

static void copies_are_made_in_each_using_block(void **state)
{
    (void)state;
    Module *module = module_of_text(branchy);
    Body *body = body_in_ssa(module_find_function(module, "k"));
    unsigned after = 0;
    one_sink(body, SINK_COPIES, false);
    body_verify(body, "sink");
    for (size_t i = 0; i < body->blocks.count; i++)
        for (const Inst *inst = body->blocks.data[i]->first; inst; inst = inst->next)
            after += strcmp(inst->signature->opcode, "xor") == 0;
    assert_int_equal(after, 2);
    body_free(body);
    arena_free(module->arena);
}

static void loads_stay_above_stores_that_may_meet_them(void **state)
{
    (void)state;
    static const char text[] = KERNEL_HEAD
        ".visible .entry k(.param .u64 p, .param .u64 q, .param .u32 n)\n{\n.reg .pred %p1;\n.reg .b32 %r<3>;\n.reg "
        ".b64 %rd<3>;\n"
        "ld.param.u64 %rd1, [p];\nld.param.u64 %rd2, [q];\nld.param.u32 %r1, [n];\nld.global.u32 %r2, [%rd1];\n"
        "st.global.u32 [%rd2], %r1;\nsetp.eq.s32 %p1, %r1, 7;\n@%p1 bra END;\nst.global.u32 [%rd1+4], "
        "%r2;\nEND:\nret;\n}\n";
    Module *module = module_of_text(text);
    Body *body = body_in_ssa(module_find_function(module, "k"));
    one_sink(body, SINK_ALL, true);
    bool found = false;
    for (const Inst *inst = body->blocks.data[0]->first; inst; inst = inst->next)
        found |= inst_op(inst) == OP_LD && inst->signature->space == SPACE_GLOBAL;
    assert_true(found);
    body_free(body);
    arena_free(module->arena);
}

/* Memory that other grids write until the kernel has waited for them is read before the wait, if it is so in the
 * input. */
static void loads_stay_on_their_side_of_a_wait(void **state)
{
    (void)state;
    static const char text[] = KERNEL_HEAD
        ".visible .entry k(.param .u64 p, .param .u32 n)\n{\n.reg .pred %p1;\n.reg .b32 %r<3>;\n.reg .b64 %rd1;\n"
        "ld.param.u64 %rd1, [p];\nld.param.u32 %r1, [n];\nld.global.nc.u32 %r2, [%rd1];\ngriddepcontrol.wait;\n"
        "setp.eq.s32 %p1, %r1, 7;\n@%p1 bra END;\nst.global.u32 [%rd1+4], %r2;\nEND:\nret;\n}\n";
    for (unsigned loads = 0; loads < 2; loads++)
        for (SinkMode mode = SINK_ALL; mode <= SINK_COPIES; mode++) {
            Module *module = module_of_text(text);
            Body *body = body_in_ssa(module_find_function(module, "k"));
            one_sink(body, mode, loads);
            const Inst *load = NULL;
            for (const Inst *inst = body->blocks.data[0]->first; inst && inst->sync != SYNC_GRID; inst = inst->next)
                load = inst_op(inst) == OP_LD && inst->signature->space == SPACE_GLOBAL ? inst : load;
            assert_non_null(load);
            body_free(body);
            arena_free(module->arena);
        }
}

/* Values defined early and used late, with many others live in between. */
static const char *late_values(Arena *arena)
{
    const char *text = KERNEL_HEAD ".visible .entry k(.param .u64 out)\n{\n.reg .b32 %r<200>;\n.reg .b64 %rd<2>;\n"
                                   "ld.param.u64 %rd1, [out];\nmov.u32 %r100, %tid.x;\n";
    for (int i = 0; i < 20; i++)
        text = arena_printf(arena, "%sadd.s32 %%r%d, %%r100, %d;\n", text, i, i + 1);
    for (int i = 0; i < 40; i++)
        text = arena_printf(arena, "%sxor.b32 %%r%d, %%r%d, %d;\n", text, 101 + i, 100 + i, i);
    text = arena_printf(arena, "%sst.global.u32 [%%rd1+400], %%r140;\nst.global.u32 [%%rd1+404], %%r100;\n", text);
    for (int i = 0; i < 20; i++)
        text = arena_printf(arena, "%sst.global.u32 [%%rd1+%d], %%r%d;\n", text, 4 * i, i);
    return arena_printf(arena, "%sst.global.u32 [%%rd1+408], %%r100;\nret;\n}\n", text);
}

static void recomputation_shortens_live_ranges(void **state)
{
    (void)state;
    Arena *arena = arena_new();
    Module *module = module_of_text(late_values(arena));
    for (unsigned opaque = 0; opaque < 2; opaque++) {
        Body *body = body_in_ssa(module_find_function(module, "k"));
        RematerializeRequest request = {.limit = 8, .cost = 2, .opaque = opaque, .distance = 12};
        RematerializeCandidate *values;
        uint32_t count = one_candidates(arena, body, &request, &values);
        assert_true(body_peak(body) >= 23);
        assert_true(count >= 20);
        for (uint32_t i = 1; i < count; i++)
            assert_true(values[i - 1].gain >= values[i].gain);
        assert_true(one_rematerialize(body, &request, values, count) >= 20);
        body_verify(body, "rematerialize");
        assert_true(body_peak(body) <= 8);
        assert_int_equal(block_with(body, "prmt") != NULL, opaque);
        body_free(body);
    }
    arena_free(module->arena);
    arena_free(arena);
}

typedef struct Variant {
    const char *name;
    const ScheduleRule *rule;
    bool sink;
    SinkMode mode;
    unsigned remat; /* 0: no; 1: plain; 2: from opaque copies; 3: both, operands kept longer */
    unsigned mutations;
    bool moves; /* hoists, and addresses from others */
} Variant;

static void body_vary(Body *body, const Variant *variant)
{
    Arena *arena = arena_new();
    if (variant->sink) {
        one_sink(body, variant->mode, true);
        body_verify(body, "sink");
    }
    if (variant->moves) {
        one_hoist(body);
        body_verify(body, "hoist");
        one_offsets(body);
        body_verify(body, "offsets");
        one_shifts(body, SHIFT_ALL);
        body_verify(body, "shifts");
    }
    for (unsigned way = 1; way <= 2; way++) {
        if (!(variant->remat & way))
            continue;
        RematerializeRequest request = {.limit = 6,
                                        .cost = 6,
                                        .opaque = way == 2,
                                        .distance = 4,
                                        .extend = variant->remat == 3,
                                        .ignore_pressure = true};
        RematerializeCandidate *values;
        uint32_t count = one_candidates(arena, body, &request, &values);
        one_rematerialize(body, &request, values, count);
        body_verify(body, "rematerialize");
    }
    if (variant->rule)
        one_schedule(body, variant->rule);
    if (variant->mutations) {
        Analyses *analyses = analyses_new(body);
        Scheduler *scheduler = scheduler_new(arena, body, analyses);
        Random random = {variant->mutations};
        for (size_t b = 0; b < scheduler->block_count; b++) {
            BlockOrder *block = &scheduler->blocks[b];
            uint32_t *next = block->fixed ? NULL : ARENA_ARRAY(arena, uint32_t, block->graph->count);
            for (unsigned i = 0; next && i < variant->mutations; i++) {
                scheduler_mutate(scheduler, block, block->order, &random, next);
                scheduler_apply(scheduler, block, next);
            }
        }
        analyses_free(analyses);
    }
    body_verify(body, "orders");
    arena_free(arena);
}

static void kernel_vary(const char *path, const char *launch_path, const Variant *variant)
{
    Arena *arena = arena_new();
    const char *error = "";
    Launch *launch = launch_read(arena, launch_path, &error);
    assert_non_null(launch);
    Module *original = module_of_file(path), *changed = module_of_file(path);
    Function *kernel = module_find_function(changed, launch->kernel);
    Body *body = body_in_ssa(kernel);
    body_vary(body, variant);
    body_from_ssa(body);
    body_verify(body, "leave SSA form");
    function_set_body(kernel, body);
    EmulatorOptions options = {0};
    launch->tolerance.kind = TOLERANCE_EXACT;
    EmulatorComparison *comparison =
        emulator_compare(arena, original, changed, launch->kernel, launch, NULL, &options);
    if (!comparison->equal)
        fail_msg("%s, %s: %s", launch_path, variant->name, comparison->message);
    function_set_body(kernel, NULL);
    arena_free(original->arena);
    arena_free(changed->arena);
    arena_free(arena);
}

static void corpus_stays_as_it_is(void **state)
{
    (void)state;
    const Variant variants[] = {
        {.name = "sink, opaque copies, depth first",
         .rule = &schedule_rules[0],
         .sink = true,
         .mode = SINK_ALL,
         .remat = 2},
        {.name = "copies, plain recomputation, from the top",
         .rule = &schedule_rules[4],
         .sink = true,
         .mode = SINK_COPIES,
         .remat = 1},
        {.name = "recomputation twice, mutations", .remat = 3, .mutations = 12},
        {.name = "hoists and offsets", .moves = true},
        {.name = "saving sinks, loads late", .rule = &schedule_rules[6], .sink = true, .mode = SINK_SAVING},
    };
    glob_t launches = {0};
    unsigned count = 0;
    Random random = {11};
    assert_int_equal(glob("corpus/*/*.launch.json", 0, NULL, &launches), 0);
    for (size_t i = 0; i < launches.gl_pathc; i++) {
        const char *launch = launches.gl_pathv[i];
        char path[1024], folder[256];
        if (strstr(launch, ".large."))
            continue;
        assert_int_equal(sscanf(launch, "corpus/%255[^/]", folder), 1);
        snprintf(path, sizeof path, "corpus/%s/%s.sm_90.ptx", folder, folder);
        for (unsigned v = 0; v < COUNT_OF(variants); v++)
            kernel_vary(path, launch, &variants[v]);
        ScheduleRule rule = schedule_rule_random(&random);
        const Variant drawn = {
            .name = "weights at random", .rule = &rule, .sink = i & 1, .mode = SINK_ALL, .remat = i & 3,
            .moves = i & 2};
        kernel_vary(path, launch, &drawn);
        count++;
    }
    assert_true(count > 30);
    globfree(&launches);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rules_lower_pressure),
        cmocka_unit_test(tables_of_cudavis),
        cmocka_unit_test(longest_paths_go_first),
        cmocka_unit_test(scheduling_is_deterministic),
        cmocka_unit_test(mutations_respect_dependences),
        cmocka_unit_test(sinking_moves_below_loops_but_not_into_them),
        cmocka_unit_test(copies_are_made_in_each_using_block),
        cmocka_unit_test(loads_stay_above_stores_that_may_meet_them),
        cmocka_unit_test(loads_stay_on_their_side_of_a_wait),
        cmocka_unit_test(recomputation_shortens_live_ranges),
        cmocka_unit_test(corpus_stays_as_it_is),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
