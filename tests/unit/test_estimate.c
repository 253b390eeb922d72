/* The register model: the values that take registers in machine code, and the estimate. */
#include "tests/unit/parsed.h"

#include "opt/registers/search/estimate.h"

typedef struct Estimated {
    Module *module;
    Arena *arena;
    RegisterEstimate estimate;
} Estimated;

static Estimated estimate_under(const char *directives, const char *code, const char *sm)
{
    Estimated made = {.arena = arena_new()};
    made.module = module_from(arena_printf(
        made.arena,
        HEADER ".visible .entry k(.param .u64 in, .param .u64 out, .param .u32 n)\n%s\n{\n.reg .pred %%p<9>;\n"
               ".reg .b32 %%r<40>;\n.reg .b64 %%d<40>;\n.reg .f32 %%f<90>;\n.reg .f64 %%g<9>;\n%s\nret;\n}\n",
        directives, code));
    Body *body = body_from(made.module);
    body_to_ssa(body);
    Analyses *analyses = analyses_new(body);
    made.estimate = register_estimate(made.arena, body, analyses, sm_limits_for(sm));
    analyses_free(analyses);
    assert_true(made.estimate.known);
    return made;
}

static Estimated estimate_of(const char *code, const char *sm)
{
    return estimate_under("", code, sm);
}

static void estimated_free(Estimated *made)
{
    release(made->module);
    arena_free(made->arena);
}

static unsigned peak_on(const char *sm, const char *code)
{
    Estimated made = estimate_of(code, sm);
    unsigned peak = made.estimate.peak;
    estimated_free(&made);
    return peak;
}

/* The peak on a target whose uniform registers address memory. */
static unsigned peak_of(const char *code)
{
    return peak_on("sm_75", code);
}

static void operands_take_no_registers(void **state)
{
    (void)state;
    /* None of these takes a register: parameters, constants, predicates, values that are the same for a block, copies
     * and offsets of addresses. */
    assert_int_equal(peak_of("ld.param.u32 %r1, [n];\nmov.u32 %r2, %ctaid.x;\nmov.u32 %r3, %ntid.x;\n"
                             "mad.lo.s32 %r4, %r2, %r3, %r1;\nmov.u32 %r5, 7;\nsetp.eq.s32 %p1, %r4, %r5;\n"
                             "@%p1 bra $out;\n$out:"),
                     0);
    /* An index, and the pair of the address that a product and a sum become. */
    const char *store = "ld.param.u64 %d1, [out];\ncvta.to.global.u64 %d2, %d1;\nmov.u32 %r1, %tid.x;\n"
                        "mul.wide.s32 %d3, %r1, 4;\nadd.s64 %d4, %d2, %d3;\nadd.s64 %d5, %d4, 16;\n"
                        "st.global.u32 [%d4], %r1;\nst.global.u32 [%d5], %r1;\n";
    assert_int_equal(peak_of(store), 3);
}

static void widths_count(void **state)
{
    (void)state;
    const char *single = "ld.param.u64 %d1, [in];\nld.global.f32 %f1, [%d1];\nld.global.f32 %f2, [%d1+4];\n"
                         "add.f32 %f3, %f1, %f2;\nst.global.f32 [%d1], %f3;\n";
    const char *wide = "ld.param.u64 %d1, [in];\nld.global.f64 %g1, [%d1];\nld.global.f64 %g2, [%d1+8];\n"
                       "add.f64 %g3, %g1, %g2;\nst.global.f64 [%d1], %g3;\n";
    assert_int_equal(peak_of(single), 2);
    assert_int_equal(peak_of(wide), 4);
    /* Elsewhere accesses need the address in a pair, which lasts from the first to the last one in a block. */
    assert_int_equal(peak_on("sm_80", single), 4);
    assert_int_equal(peak_on("sm_90", wide), 6);
}

/* One machine instruction may do the work of two PTX instructions, and so saves registers. */
static void machine_instructions_join(void **state)
{
    (void)state;
    /* Three registers are added at once: the sum of two never exists. */
    const char *sums = "mov.u32 %r1, %tid.x;\nmov.u32 %r2, %tid.y;\nmov.u32 %r3, %tid.z;\nadd.s32 %r4, %r1, %r2;\n"
                       "add.s32 %r5, %r4, %r3;\nmul.lo.s32 %r6, %r5, %r1;\nld.param.u64 %d1, [out];\n"
                       "st.global.u32 [%d1], %r6;\n";
    assert_int_equal(peak_of(sums), 3);
    /* Accesses to shared memory scale an index and add the address of a variable; 64 bits of address are 32. */
    const char *shared = ".shared .b32 words[64];\nmov.u64 %d1, words;\nmov.u32 %r1, %tid.x;\n"
                         "mul.wide.u32 %d2, %r1, 4;\nadd.s64 %d3, %d1, %d2;\nst.shared.u32 [%d3], %r1;\n"
                         "st.shared.u32 [%d3+4], %r1;\n";
    assert_int_equal(peak_of(shared), 1);
    /* A stored value is in a register, unless it is zero. */
    assert_int_equal(peak_of("ld.param.u64 %d1, [out];\nst.global.u32 [%d1], 0;\n"), 0);
    assert_int_equal(peak_of("ld.param.u64 %d1, [out];\nst.global.u32 [%d1], 7;\n"), 1);
}

/* The operands of an instruction are in different banks: values added to one register take every other one. */
static void banks_spread(void **state)
{
    (void)state;
    const char *chain = "ld.param.u64 %d1, [in];\nmov.u32 %r1, %tid.x;\nld.global.u32 %r2, [%d1];\n"
                        "ld.global.u32 %r3, [%d1+4];\nld.global.u32 %r4, [%d1+8];\nld.global.u32 %r5, [%d1+12];\n"
                        "xor.b32 %r6, %r1, %r2;\nmul.lo.s32 %r7, %r1, %r3;\nmul.lo.s32 %r8, %r1, %r4;\n"
                        "mul.lo.s32 %r9, %r1, %r5;\nld.param.u64 %d2, [out];\nst.global.u32 [%d2], %r6;\n"
                        "st.global.u32 [%d2+4], %r7;\nst.global.u32 [%d2+8], %r8;\nst.global.u32 [%d2+12], %r9;\n";
    Estimated made = estimate_of(chain, "sm_75");
    assert_int_equal(made.estimate.plenty_peak, 5);
    assert_true(made.estimate.spread_peak >= 8);
    estimated_free(&made);
}

static unsigned spread_of(const char *code)
{
    Estimated made = estimate_of(code, "sm_75");
    unsigned spread = made.estimate.spread_peak;
    estimated_free(&made);
    return spread;
}

/* A result is in the bank of an operand that ends there, and in any bank if none does. */
static void results_replace_operands(void **state)
{
    (void)state;
    const char *results = "mov.u32 %r1, %tid.x;\nmov.u32 %r2, %tid.y;\nxor.b32 %r3, %r1, %r2;\n"
                          "mul.lo.s32 %r4, %r1, %r2;\nmin.s32 %r5, %r1, %r2;\nmax.s32 %r6, %r1, %r2;\nbar.sync 0;\n"
                          "ld.param.u64 %d1, [out];\nst.global.v4.u32 [%d1], {%r3, %r4, %r5, %r6};\n"
                          "st.global.v2.u32 [%d1+16], {%r1, %r2};\n";
    assert_int_equal(spread_of(results), 6);
    /* A value from shared memory takes the register of its address, although accesses read late. */
    const char *loads = "mov.u32 %r1, %tid.x;\nmul.lo.s32 %r2, %r1, 12;\nmul.lo.s32 %r3, %r1, 20;\n"
                        "mul.lo.s32 %r4, %r1, 28;\nld.shared.u32 %r5, [%r2];\nld.shared.u32 %r6, [%r3];\n"
                        "ld.shared.u32 %r7, [%r4];\nbar.sync 0;\nld.param.u64 %d1, [out];\n"
                        "st.global.u32 [%d1], %r5;\nst.global.u32 [%d1+4], %r6;\nst.global.u32 [%d1+8], %r7;\n"
                        "st.global.u32 [%d1+12], %r1;\n";
    assert_int_equal(spread_of(loads), 4);
    const char *pairs = "ld.param.u64 %d1, [in];\nmov.u32 %r1, %tid.x;\nmov.u32 %r2, %tid.y;\nmov.u32 %r3, %tid.z;\n"
                        "mul.wide.u32 %d2, %r1, 4;\nadd.s64 %d3, %d1, %d2;\nmul.wide.u32 %d4, %r2, 4;\n"
                        "add.s64 %d5, %d1, %d4;\nmul.wide.u32 %d6, %r3, 4;\nadd.s64 %d7, %d1, %d6;\n"
                        "ld.global.u32 %r4, [%d3];\nld.global.u32 %r5, [%d5];\nld.global.u32 %r6, [%d7];\n"
                        "bar.sync 0;\nst.global.u32 [%d1], %r4;\nst.global.u32 [%d1+4], %r5;\n"
                        "st.global.u32 [%d1+8], %r6;\n";
    assert_int_equal(spread_of(pairs), 9);
    /* The bank of a result is that of its operand if another bank is found for its multiplier. */
    const char *chain = "ld.param.u64 %d1, [in];\nmov.u32 %r1, %tid.x;\nld.global.u32 %r2, [%d1];\n"
                        "ld.global.u32 %r3, [%d1+4];\nld.global.u32 %r4, [%d1+8];\nld.global.u32 %r5, [%d1+12];\n"
                        "ld.global.u32 %r6, [%d1+16];\nld.global.u32 %r7, [%d1+20];\n"
                        "mul.lo.s32 %r12, %r1, %r2;\nmul.lo.s32 %r13, %r1, %r3;\nmul.lo.s32 %r14, %r1, %r4;\n"
                        "mul.hi.s32 %r15, %r12, %r5;\nmul.hi.s32 %r16, %r13, %r6;\nmul.hi.s32 %r17, %r14, %r7;\n"
                        "st.global.u32 [%d1], %r15;\nst.global.u32 [%d1+4], %r16;\nst.global.u32 [%d1+8], %r17;\n";
    assert_int_equal(spread_of(chain), 8);
    /* An operand that lives on is not replaced. */
    const char *kept = "mov.u32 %r1, %tid.x;\nmov.u32 %r2, %tid.y;\nxor.b32 %r3, %r1, %r2;\n"
                       "mul.lo.s32 %r4, %r1, %r2;\nmin.s32 %r5, %r1, %r2;\nmax.s32 %r6, %r1, %r2;\n"
                       "setp.eq.s32 %p1, %r4, 7;\n@%p1 bra $end;\nbar.sync 0;\n$end:\nld.param.u64 %d1, [out];\n"
                       "st.global.v2.u32 [%d1], {%r3, %r4};\nst.global.v2.u32 [%d1+8], {%r1, %r2};\n"
                       "st.global.v2.u32 [%d1+16], {%r5, %r6};\n";
    assert_int_equal(spread_of(kept), 6);
}

/* The first registers of vectors are even, and the operand that is multiplied by or added to two of them is odd. */
static void vectors_have_banks(void **state)
{
    (void)state;
    const char *vectors = "ld.param.u64 %d1, [in];\nld.global.v2.f32 {%f1, %f2}, [%d1];\n"
                          "ld.global.v2.f32 {%f3, %f4}, [%d1+8];\nld.global.v2.f32 {%f5, %f6}, [%d1+16];\n";
    Arena *arena = arena_new();
    assert_int_equal(spread_of(arena_printf(arena, "%sst.global.f32 [%%d1], %%f1;\nst.global.f32 [%%d1+4], %%f3;\n"
                                                   "st.global.f32 [%%d1+8], %%f5;\n",
                                            vectors)),
                     5);
    const char *sums = "ld.global.f32 %f11, [%d1+32];\nld.global.f32 %f12, [%d1+36];\n"
                       "ld.global.f32 %f13, [%d1+40];\nld.global.f32 %f14, [%d1+44];\n"
                       "fma.rn.f32 %f21, %f1, %f3, %f11;\nfma.rn.f32 %f22, %f1, %f3, %f12;\n"
                       "fma.rn.f32 %f23, %f1, %f3, %f13;\nfma.rn.f32 %f24, %f1, %f3, %f14;\n"
                       "st.global.v4.f32 [%d1], {%f21, %f22, %f23, %f24};\n";
    assert_int_equal(spread_of(arena_printf(arena, "%s%s", vectors, sums)), 8);
    arena_free(arena);
}

static void the_peak_is_named(void **state)
{
    (void)state;
    Estimated made = estimate_of("ld.param.u64 %d1, [in];\nmov.u32 %r1, %tid.x;\nld.global.f64 %g1, [%d1];\n"
                                 "ld.global.f32 %f1, [%d1+8];\nld.global.f32 %f2, [%d1+12];\n"
                                 "st.global.f32 [%d1+16], %f1;\nst.global.f32 [%d1+20], %f2;\n"
                                 "st.global.f64 [%d1+24], %g1;\nst.global.u32 [%d1+32], %r1;\n",
                                 "sm_75");
    const RegisterEstimate *estimate = &made.estimate;
    assert_int_equal(estimate->peak, 5);
    assert_int_equal(estimate->live_count, 4);
    assert_string_equal(estimate->live[0].name, "%g1");
    assert_int_equal(estimate->live[0].width, 2);
    assert_string_equal(estimate->live[1].name, "%r1");
    assert_string_equal(estimate->live[3].name, "%f2");
    assert_true(estimate->live[3].span.begin < estimate->span.end);
    estimated_free(&made);
}

/* A loop with a constant step is unrolled, with its loads first, until that would cost occupancy; around a subroutine
 * call it is not. */
static const char *loop(Arena *arena, const char *inside, int step)
{
    return arena_printf(
        arena, "ld.param.u64 %%d1, [in];\nmov.u32 %%r1, 0;\nmov.f32 %%f1, 0f00000000;\nmov.u32 %%r3, %%tid.x;\n$loop:\n"
               "mul.wide.s32 %%d2, %%r1, 4;\nadd.s64 %%d3, %%d1, %%d2;\nld.global.nc.f32 %%f2, [%%d3];\n"
               "ld.global.nc.f32 %%f3, [%%d3+64];\nld.global.nc.f32 %%f4, [%%d3+128];\n"
               "ld.global.nc.f32 %%f5, [%%d3+192];\n%s\nfma.rn.f32 %%f1, %%f2, %%f3, %%f1;\n"
               "fma.rn.f32 %%f1, %%f4, %%f5, %%f1;\nadd.s32 %%r1, %%r1, %s;\nsetp.lt.s32 %%p1, %%r1, 1000;\n"
               "@%%p1 bra $loop;\nld.param.u64 %%d9, [out];\nst.global.f32 [%%d9], %%f1;\n",
        inside, step ? "1" : "%r3");
}

static void loops_are_unrolled(void **state)
{
    (void)state;
    Arena *arena = arena_new();
    Estimated counted = estimate_of(loop(arena, "", 1), "sm_80"), other = estimate_of(loop(arena, "", 0), "sm_80");
    Estimated divided = estimate_of(loop(arena, "div.rn.f32 %f2, %f2, %f3;", 1), "sm_80");
    assert_int_equal(counted.estimate.registers, 32); /* as sm_80's warps want it; ptxas, too */
    assert_true(other.estimate.registers <= 20);
    assert_true(divided.estimate.across_peak > 0);
    assert_true(divided.estimate.registers < counted.estimate.registers);
    assert_true(counted.estimate.least < counted.estimate.registers);
    Estimated turing = estimate_of(loop(arena, "", 1), "sm_75");
    assert_true(turing.estimate.registers > counted.estimate.registers); /* 64 registers leave it all its warps */
    estimated_free(&counted);
    estimated_free(&other);
    estimated_free(&divided);
    estimated_free(&turing);
    arena_free(arena);
}

/* A copy of a value without a register takes none either, and is loaded for accesses like the original. */
static void copies_are_looked_through(void **state)
{
    (void)state;
    const char *copied = "ld.param.u64 %d2, [in];\ncvta.to.global.u64 %d1, %d2;\nld.global.f32 %f1, [%d1];\n"
                         "ld.global.f32 %f2, [%d1+4];\nadd.f32 %f3, %f1, %f2;\nst.global.f32 [%d1], %f3;\n";
    assert_int_equal(peak_of(copied), 2);
    assert_int_equal(peak_on("sm_80", copied), 4);
    assert_int_equal(peak_on("sm_80", "ld.param.u64 %d2, [in];\ncvta.to.global.u64 %d1, %d2;\n"
                                      "cvta.to.global.u64 %d3, %d2;\nld.global.f32 %f1, [%d1];\n"
                                      "ld.global.f32 %f2, [%d3+4];\nst.global.f32 [%d1+8], %f1;\n"
                                      "st.global.f32 [%d3+12], %f2;\n"),
                     4);
    /* A uniform index of a copied parameter is uniform. */
    assert_int_equal(peak_of("ld.param.u64 %d2, [in];\ncvta.to.global.u64 %d1, %d2;\nmov.u32 %r1, %ctaid.x;\n"
                             "mul.wide.u32 %d3, %r1, 4;\nadd.s64 %d4, %d1, %d3;\nld.global.f32 %f1, [%d4];\n"
                             "st.global.f32 [%d4+4], %f1;\n"),
                     1);
}

/* Sums and products of uniform values are uniform; extremes and quotients are in registers. */
static void uniform_values_need_instructions(void **state)
{
    (void)state;
    const char *forms[] = {"add.s32", "mul.lo.s32", "and.b32", "max.s32", "min.u32", "div.s32", "rem.u32"};
    Arena *arena = arena_new();
    for (unsigned i = 0; i < sizeof forms / sizeof *forms; i++) {
        const char *code = arena_printf(arena,
                                        "ld.param.u32 %%r1, [n];\nmov.u32 %%r2, %%ctaid.x;\n%s %%r3, %%r1, %%r2;\n"
                                        "mov.u32 %%r4, %%tid.x;\nxor.b32 %%r5, %%r4, %%r3;\n"
                                        "ld.param.u64 %%d1, [out];\nst.global.u32 [%%d1], %%r5;\n",
                                        forms[i]);
        assert_int_equal(peak_of(code), i < 3 ? 1 : 2);
    }
    arena_free(arena);
}

/* A value that is extended to 64 bits stays in one register. */
static void extensions_take_no_pair(void **state)
{
    (void)state;
    const char *types[] = {"u64.u32", "s64.s32"};
    Arena *arena = arena_new();
    for (unsigned i = 0; i < sizeof types / sizeof *types; i++) {
        const char *code = arena_printf(
            arena,
            "ld.param.u64 %%d1, [in];\nld.param.u64 %%d2, [out];\nmov.u32 %%r1, %%tid.x;\ncvt.%s %%d3, %%r1;\n"
            "shl.b64 %%d4, %%d3, 2;\nadd.s64 %%d5, %%d1, %%d4;\nld.global.f32 %%f1, [%%d5];\n"
            "add.s64 %%d6, %%d2, %%d3;\nst.global.f32 [%%d6], %%f1;\n",
            types[i]);
        assert_int_equal(peak_of(code), 3); /* the thread's number, and the pair of either address */
    }
    arena_free(arena);
}

/* A value that is the same for a block is nevertheless in a register if it, or a copy of it, meets another value in a
 * phi. */
static void merged_values_are_in_registers(void **state)
{
    (void)state;
    const char *code = "ld.param.u32 %%r1, [n];\nmov.u32 %%r2, %%ctaid.x;\nadd.s32 %%r3, %%r1, %%r2;\n"
                       "mov.u32 %%r4, %%tid.x;\nsetp.eq.s32 %%p1, %%r4, 7;\n%s@%%p1 bra $end;\nbar.sync 0;\n"
                       "mov.u32 %%r5, %%r4;\n$end:\nld.param.u64 %%d1, [out];\nst.global.u32 [%%d1], %s;\n";
    Arena *arena = arena_new();
    assert_int_equal(peak_of(arena_printf(arena, code, "mov.u32 %r5, %r3;\n", "%r5")), 2);
    assert_int_equal(peak_of(arena_printf(arena, code, "mov.u32 %r5, %r3;\n", "%r4")), 1);
    assert_int_equal(peak_of("ld.param.u32 %r1, [n];\nmov.u32 %r2, %ctaid.x;\nadd.s32 %r3, %r1, %r2;\n"
                             "mov.u32 %r4, %tid.x;\nsetp.eq.s32 %p1, %r4, 7;\n@%p1 bra $end;\nbar.sync 0;\n"
                             "mov.u32 %r3, %r4;\n$end:\nld.param.u64 %d1, [out];\nst.global.u32 [%d1], %r3;\n"),
                     2);
    arena_free(arena);
}

/* On sm_90 nothing is added to an operand from the constant bank: a block loads it once. */
static void parameters_are_loaded_once(void **state)
{
    (void)state;
    const char *sums = "ld.param.u64 %d1, [in];\nmov.u32 %r1, %tid.x;\nmov.u32 %r2, %tid.y;\n"
                       "mul.wide.u32 %d2, %r1, 4;\nmul.wide.u32 %d3, %r2, 4;\nadd.s64 %d4, %d1, %d2;\n"
                       "add.s64 %d5, %d1, %d3;\nld.global.f32 %f1, [%d4];\nst.global.f32 [%d5], %f1;\n";
    assert_int_equal(peak_on("sm_80", sums), 4); /* two pairs; the products are part of the sums */
    assert_int_equal(peak_on("sm_90", sums), 5); /* a pair, an index, the parameter */
}

/* A parameter that a loop adds to is loaded before it, and live throughout it. */
static void loops_keep_parameters(void **state)
{
    (void)state;
    const char *code = "ld.param.u64 %d1, [in];\nld.param.u64 %d2, [out];\nld.param.u32 %r2, [n];\n"
                       "mov.u32 %r1, %tid.x;\n$loop:\nmul.wide.u32 %d3, %r1, 4;\nadd.s64 %d4, %d1, %d3;\n"
                       "ld.global.f32 %f1, [%d4];\nadd.s64 %d5, %d2, %d3;\nst.global.f32 [%d5], %f1;\n"
                       "add.s32 %r1, %r1, %r1;\nsetp.lt.s32 %p1, %r1, %r2;\n@%p1 bra $loop;\n";
    Estimated nowhere = estimate_of(code, "sm_80"), kept = estimate_of(code, "sm_90");
    assert_int_equal(kept.estimate.plenty_peak, nowhere.estimate.plenty_peak + 4);
    assert_true(kept.estimate.least_peak < nowhere.estimate.least_peak + 4);
    estimated_free(&nowhere);
    estimated_free(&kept);
}

/* Values that are stored through pairs take every other register. */
static void stores_take_odd_registers(void **state)
{
    (void)state;
    const char *code = "ld.param.u64 %d1, [in];\nmov.u32 %r1, %tid.x;\nmul.wide.u32 %d2, %r1, 4;\n"
                       "add.s64 %d3, %d1, %d2;\nld.global.f32 %f1, [%d3];\nld.global.f32 %f2, [%d3+4];\n"
                       "ld.global.f32 %f3, [%d3+8];\nld.global.f32 %f4, [%d3+12];\nst.global.f32 [%d3+16], %f1;\n"
                       "st.global.f32 [%d3+20], %f2;\nst.global.f32 [%d3+24], %f3;\nst.global.f32 [%d3+28], %f4;\n";
    Estimated made = estimate_of(code, "sm_80");
    assert_int_equal(made.estimate.plenty_peak, 6);
    assert_int_equal(made.estimate.spread_peak, 10);
    estimated_free(&made);
}

/* The registers up to the next boundary of the block size cost no warp. */
static void boundaries_are_aimed_at(void **state)
{
    (void)state;
    static const struct {
        const char *directives, *sm;
        unsigned aim;
    } sizes[] = {
        {"", "sm_75", 64},
        {"", "sm_86", 40},
        {"", "sm_90", 32},
        {".maxntid 64, 1, 1", "sm_86", 64}, /* 16 blocks, no more */
        {".reqntid 1024, 1, 1", "sm_86", 64}, /* one block, no more */
        {".maxntid 1024, 1, 1", "sm_90", 32},
    };
    Arena *arena = arena_new();
    for (unsigned i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        Estimated made = estimate_under(sizes[i].directives, loop(arena, "", 1), sizes[i].sm);
        assert_int_equal(made.estimate.aim, sizes[i].aim);
        assert_true(made.estimate.fills);
        assert_true(made.estimate.registers <= made.estimate.aim);
        estimated_free(&made);
    }
    arena_free(arena);
}

/* Code with this many values live at once, which may leave room for fewer warps. */
static const char *many(Arena *arena, unsigned count)
{
    const char *code = "ld.param.u64 %d1, [in];\nmov.f32 %f1, 0f00000000;\n";
    for (unsigned i = 2; i < count + 2; i++)
        code = arena_printf(arena, "%sld.volatile.global.f32 %%f%u, [%%d1+%u];\n", code, i, 4 * i);
    code = arena_printf(arena, "%sbar.sync 0;\n", code);
    for (unsigned i = 2; i < count + 2; i++)
        code = arena_printf(arena, "%sst.volatile.global.f32 [%%d1+%u], %%f%u;\n", code, 4 * i, i);
    return code;
}

static void higher_boundaries_are_aimed_at(void **state)
{
    (void)state;
    Arena *arena = arena_new();
    Estimated few = estimate_of(many(arena, 20), "sm_90"), more = estimate_of(many(arena, 38), "sm_90");
    Estimated wide = estimate_under(".maxntid 512, 1, 1", many(arena, 38), "sm_90");
    assert_true(few.estimate.fills);
    assert_int_equal(few.estimate.aim, 32);
    assert_int_equal(more.estimate.least_peak, 40); /* plus the address */
    assert_false(more.estimate.fills);
    assert_int_equal(more.estimate.aim, 48);
    assert_int_equal(more.estimate.registers, 48);
    assert_int_equal(wide.estimate.aim, 64); /* 48 would let as many blocks of 512 threads run */
    assert_true(wide.estimate.registers > 48 && wide.estimate.registers <= 64);
    assert_true(wide.estimate.least <= wide.estimate.registers);
    /* Nothing is spilled if no place needs more registers than ptxas takes by itself. */
    Estimated tight = estimate_of(many(arena, 25), "sm_90");
    assert_int_equal(tight.estimate.registers, 32);
    assert_int_equal(tight.estimate.least, 32);
    estimated_free(&tight);
    /* More cannot be launched at all. */
    Estimated capped = estimate_under(".maxntid 1024, 1, 1", many(arena, 80), "sm_90");
    assert_int_equal(capped.estimate.registers, 64);
    estimated_free(&few);
    estimated_free(&more);
    estimated_free(&wide);
    estimated_free(&capped);
    arena_free(arena);
}

/* The search was measured with the plain form: there the copy of a parameter is not loaded, and takes no register. */
static void search_lowers_plainly(void **state)
{
    (void)state;
    Module *module = module_from(
        SM_90 ".visible .entry k(.param .u64 in)\n{\n.reg .b64 %d<3>;\n.reg .f32 %f<3>;\nld.param.u64 %d2, [in];\n"
              "cvta.to.global.u64 %d1, %d2;\nld.global.f32 %f1, [%d1];\nst.global.f32 [%d1+4], %f1;\nret;\n}\n");
    Body *body = body_from(module);
    body_to_ssa(body);
    Analyses *analyses = analyses_new(body);
    Arena *arena = arena_new();
    const SmLimits *sm = sm_limits_for("sm_90");
    assert_int_equal(register_excess(body, analyses, sm, 1), 1);
    assert_int_equal(register_estimate(arena, body, analyses, sm).peak, 3);
    assert_int_equal(register_room(sm, 32), 24);
    assert_int_equal(register_room(sm, 64), 54);
    analyses_free(analyses);
    release(module);
    arena_free(arena);
}

/* Nor does it look through extensions. */
static void search_keeps_extensions(void **state)
{
    (void)state;
    Module *module = module_from(
        SM_90 ".visible .entry k(.param .u64 out)\n{\n.reg .b32 %r<3>;\n.reg .b64 %d<5>;\nmov.u32 %r1, %tid.x;\n"
              "cvt.s64.s32 %d1, %r1;\nld.param.u64 %d2, [out];\nst.global.u64 [%d2], %d1;\nret;\n}\n");
    Body *body = body_from(module);
    body_to_ssa(body);
    Analyses *analyses = analyses_new(body);
    assert_int_equal(register_excess(body, analyses, sm_limits_for("sm_75"), 1), 3);
    analyses_free(analyses);
    release(module);
}

static void excess_counts_places(void **state)
{
    (void)state;
    Arena *arena = arena_new();
    Module *module = module_from(arena_printf(arena, "%s", HEADER ".visible .entry k(.param .u64 in)\n{\n"
        ".reg .b64 %d<3>;\n.reg .f32 %f<20>;\nld.param.u64 %d1, [in];\nld.global.f32 %f1, [%d1];\n"
        "ld.global.f32 %f2, [%d1+4];\nld.global.f32 %f3, [%d1+8];\nst.global.f32 [%d1], %f1;\n"
        "st.global.f32 [%d1+4], %f2;\nst.global.f32 [%d1+8], %f3;\nret;\n}\n"));
    Body *body = body_from(module);
    body_to_ssa(body);
    Analyses *analyses = analyses_new(body);
    const SmLimits *sm = sm_limits_for("sm_75");
    assert_int_equal(register_excess(body, analyses, sm, 64), 0);
    /* With no room at all each place counts what is live after it: 1, 2, 3, 2 and 1. */
    assert_int_equal(register_excess(body, analyses, sm, 1), 9);
    analyses_free(analyses);
    release(module);
    arena_free(arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(operands_take_no_registers), cmocka_unit_test(widths_count),
        cmocka_unit_test(machine_instructions_join),  cmocka_unit_test(banks_spread),
        cmocka_unit_test(results_replace_operands),   cmocka_unit_test(vectors_have_banks),
        cmocka_unit_test(the_peak_is_named),          cmocka_unit_test(loops_are_unrolled),
        cmocka_unit_test(copies_are_looked_through),
        cmocka_unit_test(uniform_values_need_instructions),
        cmocka_unit_test(extensions_take_no_pair),
        cmocka_unit_test(merged_values_are_in_registers),
        cmocka_unit_test(parameters_are_loaded_once),
        cmocka_unit_test(loops_keep_parameters),
        cmocka_unit_test(stores_take_odd_registers),
        cmocka_unit_test(boundaries_are_aimed_at),
        cmocka_unit_test(higher_boundaries_are_aimed_at),
        cmocka_unit_test(search_lowers_plainly),
        cmocka_unit_test(search_keeps_extensions),
        cmocka_unit_test(excess_counts_places),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
