/* Liveness and pressure against a simple data-flow solution, on every kernel of the corpus. */
#include "test_analysis.h"

#include "analysis/values.h"
#include "ir/internal.h"

typedef struct Reference {
    BitSet *in, *out;
} Reference;

static bool kills(const Body *body, const Inst *inst)
{
    return body->ssa || inst->guard == REF_NONE;
}

static bool defined(const Body *body, const BitSet *has_def, RegId reg)
{
    return !body->ssa || bitset_has(has_def, reg);
}

static void inst_transfer(const Body *body, const BitSet *has_def, const Inst *inst, BitSet *live)
{
    for (unsigned r = 0; r < inst->ref_count; r++)
        if (ref_writes(&inst->refs[r]) && kills(body, inst))
            bitset_remove(live, inst->refs[r].reg);
    for (unsigned r = 0; r < inst->ref_count; r++)
        if (ref_reads(&inst->refs[r]) && defined(body, has_def, inst->refs[r].reg))
            bitset_add(live, inst->refs[r].reg);
}

static BitSet defined_regs(Arena *arena, const Body *body)
{
    BitSet set = bitset_new(arena, body->regs.count);
    for (size_t i = 0; i < body->blocks.count; i++) {
        const Block *block = body->blocks.data[i];
        for (size_t p = 0; p < block->phis.count; p++)
            bitset_add(&set, block->phis.data[p].dst);
        for (const Inst *inst = block->first; inst; inst = inst->next)
            for (unsigned r = 0; r < inst->ref_count; r++)
                if (ref_writes(&inst->refs[r]))
                    bitset_add(&set, inst->refs[r].reg);
    }
    return set;
}

static Reference reference_compute(Arena *arena, const Body *body, const BitSet *has_def)
{
    size_t count = body->blocks.count;
    Reference reference = {ARENA_ARRAY(arena, BitSet, count), ARENA_ARRAY(arena, BitSet, count)};
    for (size_t i = 0; i < count; i++) {
        reference.in[i] = bitset_new(arena, body->regs.count);
        reference.out[i] = bitset_new(arena, body->regs.count);
    }
    BitSet live = bitset_new(arena, body->regs.count);
    FlowGraph graph = flow_graph_build(arena, body, false);
    for (bool changed = true; changed;) {
        changed = false;
        for (size_t i = count; i-- > 0;) {
            const Block *block = body->blocks.data[i];
            for (uint32_t s = graph.succ_start[i]; s < graph.succ_start[i + 1]; s++) {
                const Block *next = body->blocks.data[graph.succs[s]];
                bitset_union(&reference.out[i], &reference.in[next->id]);
                for (size_t p = 0; p < next->phis.count; p++)
                    for (size_t a = 0; a < next->phis.data[p].args.count; a++) {
                        const PhiArg *arg = &next->phis.data[p].args.data[a];
                        if (arg->pred == block && defined(body, has_def, arg->reg))
                            bitset_add(&reference.out[i], arg->reg);
                    }
            }
            bitset_copy(&live, &reference.out[i]);
            for (const Inst *inst = block->last; inst; inst = inst->prev)
                inst_transfer(body, has_def, inst, &live);
            for (size_t p = 0; p < block->phis.count; p++)
                bitset_remove(&live, block->phis.data[p].dst);
            changed |= bitset_union(&reference.in[i], &live);
        }
    }
    return reference;
}

static void check_set(const BitSet *expected, LiveSet set)
{
    assert_int_equal(bitset_count(expected), set.count);
    for (uint32_t i = 0; i < set.count; i++) {
        assert_true(bitset_has(expected, set.regs[i]));
        assert_true(live_set_has(set, set.regs[i]));
        assert_true(!i || set.regs[i - 1] < set.regs[i]);
    }
}

static Pressure pressure_of_bits(const Body *body, const BitSet *set)
{
    Pressure sum = {0, 0};
    for (size_t reg = bitset_next(set, 0); reg != SIZE_MAX; reg = bitset_next(set, reg + 1))
        sum = pressure_add(sum, pressure_of_reg(body, (RegId)reg));
    return sum;
}

/* Computes the pressure at each point of the block from the sets themselves; returns the highest. */
static Pressure check_block_pressure(Arena *arena, const Body *body, const BitSet *has_def, PressureTracker *tracker,
                                     const Block *block, const BitSet *out)
{
    BitSet live = bitset_new(arena, body->regs.count), during = bitset_new(arena, body->regs.count);
    Pressure peak = pressure_of_bits(body, out);
    bitset_copy(&live, out);
    pressure_tracker_start_bottom(tracker, block);
    for (Inst *inst = block->last; inst; inst = inst->prev) {
        bitset_copy(&during, &live);
        for (unsigned r = 0; r < inst->ref_count; r++)
            if (ref_writes(&inst->refs[r]))
                bitset_add(&during, inst->refs[r].reg);
        inst_transfer(body, has_def, inst, &live);
        Pressure now = pressure_of_bits(body, &live);
        Pressure delta = pressure_tracker_recede_delta(tracker, inst), before = tracker->current;
        pressure_tracker_recede(tracker, inst);
        assert_true(pressure_equal(tracker->current, now));
        assert_true(pressure_equal(pressure_add(before, delta), now));
        peak = pressure_max(peak, pressure_max(now, pressure_of_bits(body, &during)));
    }
    assert_true(pressure_equal(tracker->peak, peak));
    return peak;
}

/* A tracker must find the same pressures going down as going up. */
static void check_downwards(Arena *arena, const Body *body, PressureTracker *tracker, const Block *block)
{
    size_t count = 0, place = 0;
    for (const Inst *inst = block->first; inst; inst = inst->next)
        count++;
    Pressure *before = ARENA_ARRAY(arena, Pressure, count + 1);
    pressure_tracker_start_bottom(tracker, block);
    before[count] = tracker->current;
    for (const Inst *inst = block->last; inst; inst = inst->prev) {
        pressure_tracker_recede(tracker, inst);
        before[--count] = tracker->current;
    }
    pressure_tracker_start_top(tracker, block);
    for (const Inst *inst = block->first; inst; inst = inst->next) {
        if (body->ssa)
            assert_true(pressure_equal(tracker->current, before[place]));
        else
            assert_true(tracker->current.regs32 >= before[place].regs32);
        Pressure delta = pressure_tracker_advance_delta(tracker, inst), was = tracker->current;
        pressure_tracker_advance(tracker, inst);
        assert_true(pressure_equal(pressure_add(was, delta), tracker->current));
        place++;
    }
    if (body->ssa)
        assert_true(pressure_equal(tracker->current, before[place]));
}

static void check_body(Body *body)
{
    Arena *arena = arena_new();
    BitSet has_def = defined_regs(arena, body);
    Reference reference = reference_compute(arena, body, &has_def);
    Liveness *liveness = liveness_compute(arena, body);
    PressureProfile *profile = pressure_compute(arena, liveness);
    PressureTracker tracker = pressure_tracker_new(arena, liveness);
    Pressure highest = {0, 0};
    for (size_t i = 0; i < body->blocks.count; i++) {
        Block *block = body->blocks.data[i];
        Arena *scratch = arena_new();
        check_set(&reference.in[i], live_in(liveness, block));
        check_set(&reference.out[i], live_out(liveness, block));
        Pressure peak = check_block_pressure(scratch, body, &has_def, &tracker, block, &reference.out[i]);
        BitSet top = bitset_new(scratch, body->regs.count);
        bitset_copy(&top, &reference.in[i]);
        for (size_t p = 0; p < block->phis.count; p++)
            bitset_add(&top, block->phis.data[p].dst);
        peak = pressure_max(peak, pressure_of_bits(body, &top));
        assert_true(pressure_equal(profile->blocks[i], peak));
        highest = pressure_max(highest, peak);
        check_downwards(scratch, body, &tracker, block);
        arena_free(scratch);
    }
    assert_true(pressure_equal(profile->peak, highest));
    assert_int_equal(profile->blocks[profile->peak_block->id].regs32, highest.regs32);
    assert_true(!profile->peak_inst || profile->peak_inst->block == profile->peak_block);
    arena_free(arena);
}

static void test_corpus(void **state)
{
    (void)state;
    each_body("corpus/*/*.ptx", check_body);
    each_body("tests/isa/examples/k-*.ptx", check_body);
}

static void test_guards_and_phis(void **state)
{
    (void)state;
    Body *body = body_parse(".visible .entry k(.param .u64 out)\n{\n"
                            ".reg .pred %p<3>; .reg .u32 %r<6>; .reg .u64 %d<3>;\n"
                            "ld.param.u64 %d1, [out];\n"
                            "mov.u32 %r1, %tid.x; setp.lt.u32 %p1, %r1, 7;\n"
                            "mov.u32 %r2, 1; @%p1 mov.u32 %r2, 2;\n"
                            "@%p1 bra L;\n"
                            "add.u32 %r2, %r2, %r1;\n"
                            "L: st.global.u32 [%d1], %r2;\n"
                            "ret;\n}\n");
    Arena *arena = arena_new();
    Liveness *liveness = liveness_compute(arena, body);
    Block *join = block_named(body, "L"), *entry = body->blocks.data[0];
    assert_int_equal(live_in(liveness, entry).count, 0);
    assert_int_equal(join->phis.count, 1);
    assert_true(live_set_has(live_in(liveness, join), reg_named(body, "%d1")));
    assert_false(live_set_has(live_in(liveness, join), join->phis.data[0].dst));
    for (size_t a = 0; a < 2; a++)
        assert_true(live_set_has(live_out(liveness, join->phis.data[0].args.data[a].pred),
                                 join->phis.data[0].args.data[a].reg));
    /* The guarded mov reads its old value. */
    Inst *guarded = inst_nth(body, "mov", 2);
    assert_int_equal(guarded->tied_count, 1);
    PressureProfile *profile = pressure_compute(arena, liveness);
    assert_int_equal(profile->peak.regs32, 4);
    assert_int_equal(profile->peak.predicates, 1);
    arena_free(arena);
    body_drop(body);
}

static void test_widths(void **state)
{
    (void)state;
    Body *body = body_parse(".visible .entry k()\n{\n"
                            ".reg .pred %p; .reg .b16 %h; .reg .b32 %r; .reg .b64 %d; .reg .b128 %q; .reg .f64 %f;\n"
                            "mov.pred %p, 1; mov.b16 %h, 1; mov.b32 %r, 1; mov.b64 %d, 1; mov.f64 %f, 1.0;\n"
                            "mov.b128 %q, {%d, %d};\n"
                            "ret;\n}\n");
    assert_true(pressure_equal(pressure_of_reg(body, reg_named(body, "%p")), (Pressure){0, 1}));
    assert_true(pressure_equal(pressure_of_reg(body, reg_named(body, "%h")), (Pressure){1, 0}));
    assert_true(pressure_equal(pressure_of_reg(body, reg_named(body, "%r")), (Pressure){1, 0}));
    assert_true(pressure_equal(pressure_of_reg(body, reg_named(body, "%d")), (Pressure){2, 0}));
    assert_true(pressure_equal(pressure_of_reg(body, reg_named(body, "%f")), (Pressure){2, 0}));
    assert_true(pressure_equal(pressure_of_reg(body, reg_named(body, "%q")), (Pressure){4, 0}));
    body_drop(body);
}

/* 100,000 registers in 10,000 blocks: a dense set for each block would take 250 MB. */
static void test_many_registers(void **state)
{
    (void)state;
    enum { BLOCKS = 10000, EACH = 10 };
    Buf text = {0};
    buf_printf(&text, ".visible .entry k(.param .u64 out)\n{\n.reg .u64 %%d<2>;\n.reg .pred %%p;\n.reg .u32 %%r<%d>;\n",
               BLOCKS * EACH + 1);
    buf_puts(&text, "ld.param.u64 %d1, [out]; mov.u32 %r0, %tid.x; setp.eq.u32 %p, %r0, 0;\n");
    for (unsigned i = 0; i < BLOCKS; i++) {
        for (unsigned j = 0; j < EACH; j++)
            buf_printf(&text, "add.u32 %%r%u, %%r%u, %u;\n", i * EACH + j + 1, i * EACH + j, j);
        buf_printf(&text, "@%%p bra L%u;\nst.global.u32 [%%d1], %%r%u;\nL%u:\n", i, i * EACH + EACH, i);
    }
    buf_puts(&text, "ret;\n}\n");
    Body *body = body_parse(text.data);
    Arena *arena = arena_new();
    Liveness *liveness = liveness_compute(arena, body);
    PressureProfile *profile = pressure_compute(arena, liveness);
    assert_true(arena_bytes(arena) < 64u << 20);
    assert_int_equal(profile->peak.regs32, 3);
    arena_free(arena);
    body_drop(body);
    buf_free(&text);
}

/* %r2 has a value on only one path, %r3 on both, and %r4 has none if the guard is false. */
static void test_maybe_undefined(void **state)
{
    (void)state;
    Body *body = body_parse(".visible .entry k(.param .u64 out)\n{\n"
                            ".reg .pred %p<3>; .reg .u32 %r<6>; .reg .u64 %d<3>;\n"
                            "ld.param.u64 %d1, [out];\n"
                            "mov.u32 %r1, %tid.x; setp.lt.u32 %p1, %r1, 7;\n"
                            "mov.u32 %r3, 1;\n"
                            "@%p1 bra L;\n"
                            "mov.u32 %r2, 5; mov.u32 %r3, 2;\n"
                            "L: @%p1 mov.u32 %r4, 3; st.global.u32 [%d1], %r3;\n"
                            "@%p1 bra M; st.global.u32 [%d1+4], %r2; ret;\n"
                            "M: st.global.u32 [%d1+8], %r4;\n"
                            "ret;\n}\n");
    Arena *arena = arena_new();
    Values *values = values_compute(arena, body);
    BitSet undefined = values_maybe_undefined(arena, values);
    const Block *join = block_named(body, "L");
    assert_int_equal(join->phis.count, 2);
    for (size_t p = 0; p < 2; p++) {
        RegId reg = join->phis.data[p].dst;
        bool is_known = body->regs.data[reg].origin == reg_named(body, "%r3");
        assert_int_equal(bitset_has(&undefined, reg), !is_known);
    }
    const Inst *guarded = inst_nth(body, "mov", 4);
    assert_int_equal(guarded->guard != REF_NONE, true);
    assert_true(bitset_has(&undefined, guarded->refs[0].reg));
    assert_false(bitset_has(&undefined, reg_named(body, "%d1")));
    arena_free(arena);
    body_drop(body);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_corpus),
        cmocka_unit_test(test_guards_and_phis),
        cmocka_unit_test(test_widths),
        cmocka_unit_test(test_many_registers),
        cmocka_unit_test(test_maybe_undefined),
    };
    return cmocka_run_group_tests_name("analysis_liveness", tests, NULL, NULL);
}
