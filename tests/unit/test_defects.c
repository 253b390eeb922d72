/* Code that the assembler is known to get wrong: it is found in all its spellings, what looks like it is not, and what
 * it becomes computes the same. */
#include "parsed.h"

#include "executed.h"

#include "opt/opt.h"
#include "opt/passes.h"

/* A kernel with this code. %x is a 64-bit value and %a, %b, %c are 32-bit ones that differ between threads; what the
 * code leaves in %d and %r is stored. */
static Module *kernel_of(const char *code)
{
    Buf text = {0};
    buf_puts(&text, SM_90 ".visible .entry k(.param .u64 out, .param .u64 in, .param .u32 n)\n{\n"
                          "\t.reg .b64 %o, %i, %x, %d, %e<9>;\n"
                          "\t.reg .b32 %t, %a, %b, %c, %r, %s<9>;\n\t.reg .pred %p;\n"
                          "\tld.param.u64 %o, [out];\n\tld.param.u64 %i, [in];\n\tmov.u32 %t, %tid.x;\n"
                          "\tmad.wide.u32 %o, %t, 40, %o;\n\tmad.wide.u32 %i, %t, 4, %i;\n\tld.global.u32 %a, [%i];\n"
                          "\tld.global.u32 %b, [%i+4];\n\tld.global.u32 %c, [%i+8];\n"
                          "\tmul.lo.s32 %a, %a, 2654435761;\n\tmul.lo.s32 %b, %b, 40503;\n"
                          "\tmul.lo.s32 %c, %c, 69069069;\n"
                          "\tmov.b64 %x, {%a, %c};\n\tmov.u64 %d, 0;\n\tmov.u32 %r, 0;\n");
    buf_puts(&text, code);
    buf_puts(&text, "\tst.global.u64 [%o], %d;\n\tst.global.u32 [%o+8], %r;\n\tret;\n}\n");
    Module *module = module_from(buf_text(&text));
    buf_free(&text);
    return module;
}

static KernelResult repair(Arena *arena, Function *kernel, unsigned version, unsigned arch, bool fixes)
{
    KernelRequest request = {.reduce = false};
    PipelineOptions options = {.defects = {.fixes = fixes, .version = version, .arch = arch}};
    KernelResult result;
    for (unsigned i = 0; i < pass_count; i++)
        options.passes.enabled[i] = true;
    if (!fixes) /* a kernel that nothing is to be done to is not looked at */
        request.vectors = true;
    pipeline_run(arena, kernel, &request, &options, &result);
    return result;
}

/* The code has that many defects for ptxas 13.0 on sm_90, and without them it computes the same. */
static void expect(const char *code, unsigned count, DefectId id)
{
    Module *original = kernel_of(code), *changed = kernel_of(code);
    Function *kernel = module_find_function(changed, "k");
    KernelResult result = repair(changed->arena, kernel, 1300, 90, true);
    assert_int_equal(result.defects.items.count, count);
    for (unsigned i = 0; i < count; i++) {
        assert_int_equal(result.defects.items.data[i].id, id);
        assert_true(result.defects.items.data[i].is_fixed);
        assert_true(result.defects.items.data[i].span.end > 0);
    }
    assert_int_equal(result.body != NULL, count > 0);
    if (result.body) {
        function_set_body(kernel, result.body); /* which takes it over */
        result.body = NULL;
        expect_executed_alike(original, changed, 5);
        function_set_body(kernel, NULL);
    }
    kernel_discard(&result);
    release(original);
    release(changed);
}

/* Each code has that many of the defect. */
static void expect_each(const char *const *codes, size_t code_count, unsigned count, DefectId id)
{
    for (size_t i = 0; i < code_count; i++)
        expect(codes[i], count, id);
}

static void bounds_with_a_negation(void **state)
{
    (void)state;
    static const char *const wrong[] = {
        "neg.s32 %s1, %a; max.s32 %s2, %b, %s1; max.s32 %r, %s2, %c;",
        "neg.s32 %s1, %a; max.s32 %s2, %b, %s1; max.s32 %r, %c, %s2;",
        "neg.s32 %s1, %a; min.s32 %s2, %b, %s1; min.s32 %r, %s2, %c;",
        "sub.s32 %s1, 0, %a; max.s32 %s2, %b, %s1; max.s32 %r, %s2, %c;",
        "mul.lo.s32 %s1, %a, -1; max.s32 %s2, %b, %s1; max.s32 %r, %s2, %c;",
        "neg.s32 %s1, %a; mov.b32 %s3, %s1; max.s32 %s2, %b, %s3; max.s32 %r, %s2, %c;",
        "neg.s32 %s1, %a; neg.s32 %s3, %c; max.s32 %s2, %s3, %s1; max.s32 %r, %s2, %b;",
        "neg.s32 %s1, %a; max.s32 %s2, %a, %s1; max.s32 %r, %s2, 7;",
    };
    static const char *const right[] = {
        "neg.s32 %s1, %a; max.s32 %s2, %s1, %b; max.s32 %r, %s2, %c;", /* the first operand */
        "neg.s32 %s1, %a; max.s32 %r, %b, %s1;",                       /* one alone */
        "neg.s32 %s1, %a; max.s32 %s2, %b, %s1; min.s32 %r, %s2, %c;", /* one of each */
        "neg.s32 %s1, %a; max.u32 %s2, %b, %s1; max.u32 %r, %s2, %c;",
        "sub.s32 %s1, 5, %a; max.s32 %s2, %b, %s1; max.s32 %r, %s2, %c;",
        "mul.lo.s32 %s1, %a, -2; max.s32 %s2, %b, %s1; max.s32 %r, %s2, %c;",
        "not.b32 %s1, %a; max.s32 %s2, %b, %s1; max.s32 %r, %s2, %c;",
        "not.b32 %s1, %a; add.s32 %s1, %s1, 1; max.s32 %s2, %b, %s1; max.s32 %r, %s2, %c;",
        "neg.s32 %s1, %a; max.s32 %s2, %b, %s1; add.s32 %r, %s2, %c;",
    };
    expect_each(wrong, COUNT_OF(wrong), 1, DEFECT_NEGATED_BOUND);
    expect_each(right, COUNT_OF(right), 0, DEFECT_NEGATED_BOUND);
}

static void sums_of_shifts(void **state)
{
    (void)state;
    static const char *const wrong[] = {
        "shl.b64 %e1, %x, 8; shr.u64 %e2, %x, 56; sub.s64 %d, %e1, %e2;",
        "shl.b64 %e1, %x, 8; shr.u64 %e2, %x, 56; sub.u64 %d, %e2, %e1;",
        "shl.b64 %e1, %x, 8; shr.s64 %e2, %x, 56; sub.s64 %d, %e1, %e2;",
        "shl.b64 %e1, %x, 32; shr.u64 %e2, %x, 32; sub.s64 %d, %e1, %e2;",
        "shl.b64 %e1, %x, 1; shr.u64 %e2, %x, 63; sub.s64 %d, %e1, %e2;",
        "shl.b64 %e1, %x, 63; shr.u64 %e2, %x, 1; sub.s64 %d, %e1, %e2;",
        "shl.b64 %e1, %x, 8; shr.s64 %e2, %x, 56; add.s64 %d, %e1, %e2;",
        "shl.b64 %e1, %x, 8; shr.s64 %e2, %x, 56; add.s64 %d, %e2, %e1;",
        "shl.b64 %e1, %x, 8; shr.u64 %e2, %x, 56; neg.s64 %e2, %e2; add.s64 %d, %e1, %e2;",
        "shl.b64 %e1, %x, 8; neg.s64 %e1, %e1; shr.u64 %e2, %x, 56; add.s64 %d, %e1, %e2;",
        "mov.b64 %e3, %x; shl.b64 %e1, %e3, 8; shr.u64 %e2, %x, 56; sub.s64 %d, %e1, %e2;",
    };
    static const char *const right[] = {
        "shl.b64 %e1, %x, 8; shr.u64 %e2, %x, 56; add.s64 %d, %e1, %e2;", /* a rotation */
        "shl.b64 %e1, %x, 8; shr.u64 %e2, %x, 56; or.b64 %d, %e1, %e2;",
        "shl.b64 %e1, %x, 8; shr.u64 %e2, %x, 57; sub.s64 %d, %e1, %e2;",
        "shl.b64 %e1, %x, 8; shl.b64 %e2, %x, 56; sub.s64 %d, %e1, %e2;",
        "cvt.u64.u32 %e3, %b; shl.b64 %e1, %x, 8; shr.u64 %e2, %e3, 56; sub.s64 %d, %e1, %e2;",
        "shl.b32 %s1, %a, 8; shr.u32 %s2, %a, 24; sub.s32 %r, %s1, %s2;",
        "shl.b64 %e1, %x, 64; shr.u64 %e2, %x, 0; sub.s64 %d, %e1, %e2;",
    };
    expect_each(wrong, COUNT_OF(wrong), 1, DEFECT_SHIFTS_AS_ROTATION);
    expect_each(right, COUNT_OF(right), 0, DEFECT_SHIFTS_AS_ROTATION);
}

/* %h1 is 0 or -32768, %h2 any value. */
#define NARROW \
    ".reg .b16 %h<6>; .reg .f32 %f; and.b32 %s1, %a, 32768; cvt.u16.u32 %h1, %s1; cvt.u16.u32 %h2, %b; "

static void narrow_negations(void **state)
{
    (void)state;
    static const char *const wrong[] = {
        NARROW "neg.s16 %h3, %h1; cvt.s32.s16 %r, %h3;",
        NARROW "neg.s16 %h3, %h1; cvt.s64.s16 %d, %h3;",
        NARROW "neg.s16 %h3, %h1; cvt.u32.s16 %r, %h3;",
        NARROW "neg.s16 %h3, %h1; cvt.sat.s8.s16 %h4, %h3; cvt.u32.u16 %r, %h4;",
        NARROW "neg.s16 %h3, %h1; mul.wide.s16 %r, %h3, %h2;",
        NARROW "neg.s16 %h3, %h1; mul.wide.s16 %r, %h2, %h3;",
        NARROW "neg.s16 %h3, %h1; mad.wide.s16 %r, %h3, %h2, %c;",
        NARROW "neg.s16 %h3, %h1; mul.hi.s16 %h4, %h3, %h2; cvt.u32.u16 %r, %h4;",
        NARROW "neg.s16 %h3, %h1; mad.hi.s16 %h4, %h2, %h3, %h1; cvt.u32.u16 %r, %h4;",
        NARROW "neg.s16 %h3, %h1; div.s16 %h4, %h3, 7; cvt.u32.u16 %r, %h4;",
        NARROW "neg.s16 %h3, %h1; rem.s16 %h4, %h3, 7; cvt.u32.u16 %r, %h4;",
        NARROW "neg.s16 %h3, %h1; shr.s16 %h4, %h3, 3; cvt.u32.u16 %r, %h4;",
        NARROW "neg.s16 %h3, %h1; mov.b16 %h4, %h3; cvt.s32.s16 %r, %h4;",
        NARROW "sub.s16 %h3, 0, %h1; cvt.s32.s16 %r, %h3;",
        NARROW "abs.s16 %h3, %h1; cvt.s32.s16 %r, %h3;",
        NARROW "abs.s16 %h3, %h2; mul.wide.s16 %r, %h3, %h1;",
        NARROW ".reg .pred %q; setp.lt.s32 %q, %c, 0; neg.s16 %h3, %h1; @%q cvt.s32.s16 %r, %h3;",
    };
    static const char *const right[] = {
        NARROW "neg.s16 %h3, %h1; cvt.u32.u16 %r, %h3;", /* without its sign */
        NARROW "neg.s16 %h3, %h1; shr.u16 %h4, %h3, 3; cvt.u32.u16 %r, %h4;",
        NARROW "neg.s16 %h3, %h1; mul.wide.u16 %r, %h3, %h2;",
        NARROW "neg.s16 %h3, %h1; max.s16 %h4, %h3, %h2; cvt.u32.u16 %r, %h4;",
        NARROW "neg.s16 %h3, %h1; .reg .pred %q; setp.lt.s16 %q, %h3, %h2; selp.u32 %r, 1, 0, %q;",
        NARROW "neg.s16 %h3, %h1; cvt.rn.f32.s16 %f, %h3; mov.b32 %r, %f;",
        NARROW "neg.s16 %h3, %h1; cvt.s16.s8 %h4, %h3; cvt.u32.u16 %r, %h4;",
        NARROW "neg.s16 %h3, %h1; add.s16 %h4, %h3, %h2; cvt.s32.s16 %r, %h4;",
        NARROW "mul.lo.s16 %h3, %h1, -1; cvt.s32.s16 %r, %h3;",
        NARROW "sub.s16 %h3, 1, %h1; cvt.s32.s16 %r, %h3;",
        NARROW "not.b16 %h3, %h1; add.s16 %h4, %h3, 1; cvt.s32.s16 %r, %h4;",
        "neg.s32 %s1, %a; cvt.s64.s32 %d, %s1;", /* not narrow */
    };
    expect_each(wrong, COUNT_OF(wrong), 1, DEFECT_NARROW_NEGATION);
    expect_each(right, COUNT_OF(right), 0, DEFECT_NARROW_NEGATION);
    /* One note of an instruction, whichever of its operands it is about. */
    expect(NARROW "neg.s16 %h3, %h1; abs.s16 %h4, %h2; mul.wide.s16 %r, %h3, %h4;", 1, DEFECT_NARROW_NEGATION);
}

static void selections_by_a_constant(void **state)
{
    (void)state;
    static const char *const wrong[] = {
        "slct.s32.s32 %r, %a, %b, 2147483647;",
        "slct.s32.s32 %r, %a, %b, 0x7f800001;",
        "slct.s32.s32 %r, %a, %b, -2147483648;",
        "slct.s32.s32 %r, %a, %b, 0x80000000;",
        "slct.s32.s32 %r, 5, %b, 0x80000000;",
        "slct.s32.s32 %r, %a, 7, 2147483647;",
        "mov.s32 %s1, 2147483647; slct.s32.s32 %r, %a, %b, %s1;",
        "mov.u32 %s1, -2147483648; mov.b32 %s2, %s1; slct.s32.s32 %r, %a, %b, %s2;",
        "mov.b32 %s1, 1; shl.b32 %s1, %s1, 31; slct.s32.s32 %r, %a, %b, %s1;",
        ".reg .f32 %f; mov.b32 %f, 2147483647; mov.b32 %s1, %f; slct.s32.s32 %r, %a, %b, %s1;",
        "setp.lt.s32 %p, %c, 0; @%p slct.s32.s32 %r, %a, %b, 2147483647;",
        "setp.lt.s32 %p, %c, 0; @!%p slct.s32.s32 %r, %a, %b, -2147483648;",
    };
    static const char *const right[] = {
        "slct.s32.s32 %r, %a, %b, 0;",
        "slct.s32.s32 %r, %a, %b, -1;",
        "slct.s32.s32 %r, %a, %b, 1;",
        "slct.s32.s32 %r, %a, %b, 0x7f800000;", /* infinity, not a NaN */
        "slct.s32.s32 %r, %a, %b, 0x80000001;",
        "slct.s32.s32 %r, %a, %b, 0xffc00000;",
        "slct.s32.s32 %r, %a, %b, %c;",
        "slct.u32.s32 %r, %a, %b, 2147483647;",
        "slct.b32.s32 %r, %a, %b, 2147483647;",
        "slct.u64.s32 %d, %x, 3, 2147483647;",
        "slct.s64.s32 %d, %x, 3, -2147483648;",
        "slct.s32.f32 %r, %a, %b, 0f7FFFFFFF;",
        "slct.ftz.s32.f32 %r, %a, %b, 0f80000000;",
        "mov.s32 %s1, 2147483647; setp.lt.s32 %p, %c, 0; @%p mov.s32 %s1, 1; slct.s32.s32 %r, %a, %b, %s1;",
    };
    expect_each(wrong, COUNT_OF(wrong), 1, DEFECT_CONSTANT_SELECTOR);
    expect_each(right, COUNT_OF(right), 0, DEFECT_CONSTANT_SELECTOR);
}

static void fields_after_the_end(void **state)
{
    (void)state;
    static const char *const wrong[] = {
        "bfe.s32 %r, %a, 32, 31;",
        "bfe.s32 %r, %a, 32, 1;",
        "bfe.s32 %r, %a, 255, 255;",
        "bfe.s32 %r, %a, 63, 32;",
        "bfe.s32 %r, -5, 40, 5;",
        "mov.u32 %s1, 40; bfe.s32 %r, %a, %s1, 5;",
        "mov.u32 %s1, 5; bfe.s32 %r, %a, 40, %s1;",
        "mov.u32 %s1, 288; mov.u32 %s2, 257; bfe.s32 %r, %a, %s1, %s2;", /* of which the low 8 bits count */
        "mov.u32 %s1, -1; mov.b32 %s2, %s1; bfe.s32 %r, %a, %s2, %s2;",
        "mov.u32 %s1, 1; shl.b32 %s1, %s1, 5; bfe.s32 %r, %a, %s1, 7;",
        "setp.lt.s32 %p, %c, 0; @%p bfe.s32 %r, %a, 40, 5;",
        "setp.lt.s32 %p, %c, 0; @!%p bfe.s32 %r, %a, 100, 5;",
    };
    static const char *const right[] = {
        "bfe.s32 %r, %a, 31, 31;",
        "bfe.s32 %r, %a, 31, 1;",
        "bfe.s32 %r, %a, 0, 40;",
        "bfe.s32 %r, %a, 40, 0;", /* an empty field */
        "mov.u32 %s1, 256; bfe.s32 %r, %a, 40, %s1;",
        "mov.u32 %s1, 287; bfe.s32 %r, %a, %s1, 5;", /* 31 */
        "bfe.s32 %r, %a, %b, 5;",
        "bfe.s32 %r, %a, 40, %b;",
        "bfe.u32 %r, %a, 40, 5;",
        "bfe.s64 %d, %x, 40, 5;",
        "bfe.s64 %d, %x, 100, 5;",
        "bfe.u64 %d, %x, 100, 5;",
        "bfi.b32 %r, %a, %b, 40, 5;",
        "mov.u32 %s1, 40; setp.lt.s32 %p, %c, 0; @%p mov.u32 %s1, 1; bfe.s32 %r, %a, %s1, 5;",
    };
    expect_each(wrong, COUNT_OF(wrong), 1, DEFECT_FIELD_AFTER_END);
    expect_each(right, COUNT_OF(right), 0, DEFECT_FIELD_AFTER_END);
}

static void bytes_that_are_signs(void **state)
{
    (void)state;
    static const char *const wrong[] = {
        "prmt.b32 %s1, %a, %b, 9; and.b32 %r, %s1, 255;",
        "prmt.b32 %s1, %a, %b, 9; and.b32 %r, 255, %s1;",
        "prmt.b32 %s1, %a, %b, 0x7608; cvt.u32.u8 %r, %s1;",
        "prmt.b32 %s1, %a, %b, 0x98; and.b32 %r, %s1, 65535;",
        "prmt.b32 %s1, %a, %a, 0xb5; cvt.u32.u16 %r, %s1;",
        "prmt.b32 %s1, %a, %b, 0xd9; and.b32 %r, %s1, 0xffff;",
        "prmt.b32 %s1, %a, %b, 0x3d98; and.b32 %r, %s1, 0xffffff;",
        "prmt.b32 %s1, %a, %b, 0x1b; cvt.u64.u8 %d, %s1;",
        "mov.b32 %s2, 9; prmt.b32 %s1, %a, %b, %s2; mov.b32 %s3, %s1; and.b32 %r, %s3, 255;",
    };
    static const char *const right[] = {
        "prmt.b32 %s1, %a, %b, 0xd; and.b32 %r, %s1, 255;",    /* of the second source */
        "prmt.b32 %s1, %a, %b, 0x9991; and.b32 %r, %s1, 255;", /* not kept */
        "prmt.b32 %s1, %a, %b, 0x7531; and.b32 %r, %s1, 65535;",
        "prmt.b32 %s1, %a, %b, 9; and.b32 %r, %s1, 254;",
        "prmt.b32 %s1, %a, %b, 9; and.b32 %r, %s1, %c;",
        "prmt.b32 %s1, %a, %b, 9; cvt.s32.s8 %r, %s1;",
        "prmt.b32 %s1, %a, %b, 9; shr.u32 %r, %s1, 24;",
        "prmt.b32 %s1, %a, %b, %c; and.b32 %r, %s1, 255;",
        "prmt.b32.rc8 %s1, %a, %b, 9; and.b32 %r, %s1, 255;",
        "prmt.b32 %s1, %a, %b, 9; prmt.b32 %r, %s1, 0, 0x4440;",
    };
    expect_each(wrong, COUNT_OF(wrong), 1, DEFECT_SIGN_BYTE);
    expect_each(right, COUNT_OF(right), 0, DEFECT_SIGN_BYTE);
}

static void repeated_sources(void **state)
{
    (void)state;
    static const char *const wrong[] = {
        "lop3.b32 %s1, %a, %a, %b, 0xc0; and.b32 %r, %s1, %b;",
        "lop3.b32 %s1, %a, %b, %a, 0x1e; or.b32 %r, %b, %s1;",
        "lop3.b32 %s1, %b, %a, %a, 0x35; xor.b32 %r, %s1, %a;",
        "lop3.b32 %s1, %a, %a, %a, 0x2d; and.b32 %r, %s1, %b;",
        "lop3.b32 %s1, %a, 0x1234567, %a, 0x69; and.b32 %r, %s1, 0x1234567;",
        "mov.b32 %s2, %a; lop3.b32 %s1, %a, %b, %s2, 0x9c; xor.b32 %r, %s1, %c;",
    };
    static const char *const right[] = {
        "lop3.b32 %s1, %a, %c, %b, 0xc0; and.b32 %r, %s1, %b;",
        "lop3.b32 %s1, %a, %a, %b, 0xc0; shl.b32 %r, %s1, 3;",
        "mov.b32 %s1, 5; setp.gt.s32 %p, %c, 9; @%p lop3.b32 %s1, %a, %a, %b, 0xc0; and.b32 %r, %s1, %b;",
        "lop3.b32 %s1, %a, 7, 7, 0x68; and.b32 %r, %s1, %b;",
    };
    expect_each(wrong, COUNT_OF(wrong), 1, DEFECT_REPEATED_SOURCE);
    expect_each(right, COUNT_OF(right), 0, DEFECT_REPEATED_SOURCE);
}

static void borrows_of_high_products(void **state)
{
    (void)state;
    /* Some of the threads subtract 0. */
    static const char *const wrong[] = {
        "mul.hi.u32 %s1, %a, %b; sub.cc.u32 %s2, %s1, %c; subc.u32 %r, %a, %b;",
        "and.b32 %c, %c, 1; mul.hi.u32 %s1, %a, %b; sub.cc.u32 %s2, %s1, %c; subc.u32 %r, 0, 0;",
        "and.b32 %c, %c, 1; mul.hi.s32 %s1, %a, 12345; mov.b32 %s3, %s1; sub.cc.s32 %r, %s3, %c; subc.s32 %r, %r, %b;",
        "and.b32 %c, %c, 1; mul.hi.u32 %s1, %a, %b; sub.cc.u32 %s2, %s1, %c; subc.u32 %r, %s1, %s2;",
    };
    static const char *const right[] = {
        "mul.hi.u32 %s1, %a, %b; sub.cc.u32 %s2, %c, %s1; subc.u32 %r, %a, %b;", /* the second operand */
        "mul.hi.u32 %s1, %a, %b; sub.cc.u32 %s2, %s1, 7; subc.u32 %r, %a, %b;",
        "mul.lo.u32 %s1, %a, %b; sub.cc.u32 %s2, %s1, %c; subc.u32 %r, %a, %b;",
        "mad.hi.u32 %s1, %a, %b, %c; sub.cc.u32 %s2, %s1, %c; subc.u32 %r, %a, %b;",
        "mul.hi.u32 %s1, %a, %b; sub.u32 %s2, %s1, %c; add.u32 %r, %s2, %b;",
        "mul.hi.u32 %s1, %a, %b; sub.cc.u32 %s2, %a, %b; subc.cc.u32 %s2, %s1, %c; subc.u32 %r, %a, %b;",
        "mul.hi.u64 %e1, %x, %x; sub.cc.u64 %e2, %e1, %x; subc.u64 %d, %x, 0;",
        "mul.hi.u32 %s1, %a, %b; setp.gt.s32 %p, %c, 9; add.cc.u32 %s2, %a, %b; @%p sub.cc.u32 %s2, %s1, %c; "
        "addc.u32 %r, %b, 0;",
    };
    expect_each(wrong, COUNT_OF(wrong), 1, DEFECT_LOST_BORROW);
    expect_each(right, COUNT_OF(right), 0, DEFECT_LOST_BORROW);
}

static void signed_fields_without_a_sign(void **state)
{
    (void)state;
    static const char *const wrong[] = {
        "bfe.s32 %s1, %a, 8, 8; cvt.rn.f32.u32 %s2, %s1; mov.b32 %r, %s2;",
        "bfe.s32 %s1, %a, 0, 8; cvt.rn.f64.u32 %d, %s1;",
        "mov.b32 %s3, 16; bfe.s32 %s1, %a, %s3, %s3; mov.b32 %s2, %s1; cvt.rz.f32.u32 %r, %s2;",
        "bfe.s32 %s1, %a, 24, 8; setp.gt.s32 %p, %c, 9; @%p cvt.rn.f32.u32 %r, %s1;",
        "bfe.s32 %s1, %a, 0, 16; add.s32 %s2, %s1, %b; cvt.rn.f32.u32 %r, %s1; xor.b32 %r, %r, %s2;",
    };
    static const char *const right[] = {
        "bfe.s32 %s1, %a, 8, 8; cvt.rn.f32.s32 %r, %s1;",
        "bfe.u32 %s1, %a, 8, 8; cvt.rn.f32.u32 %r, %s1;",
        "bfe.s32 %s1, %a, 4, 8; cvt.rn.f32.u32 %r, %s1;",
        "bfe.s32 %s1, %a, 0, 12; cvt.rn.f32.u32 %r, %s1;",
        "bfe.s32 %s1, %a, 8, 16; cvt.rn.f32.u32 %r, %s1;",
        "shl.b32 %s2, %a, 16; shr.s32 %s1, %s2, 24; cvt.rn.f32.u32 %r, %s1;",
        "bfe.s32 %s1, %a, 8, 8; cvt.u64.u32 %d, %s1;",
    };
    expect_each(wrong, COUNT_OF(wrong), 1, DEFECT_SIGNED_FIELD);
    expect_each(right, COUNT_OF(right), 0, DEFECT_SIGNED_FIELD);
}

static unsigned found(const char *code, unsigned version, unsigned arch)
{
    Module *module = kernel_of(code);
    KernelResult result = repair(module->arena, module_find_function(module, "k"), version, arch, false);
    const unsigned count = (unsigned)result.defects.items.count;
    assert_true(!count || !result.defects.items.data[0].is_fixed);
    assert_false(kernel_is_repaired(&result));
    kernel_discard(&result);
    release(module);
    return count;
}

static void versions_and_targets(void **state)
{
    (void)state;
    const char *bound = "neg.s32 %s1, %a; max.s32 %s2, %b, %s1; max.s32 %r, %s2, %c;";
    const char *sum = "shl.b64 %e1, %x, 8; shr.u64 %e2, %x, 56; sub.s64 %d, %e1, %e2;";
    const char *selection = "slct.s32.s32 %r, %a, %b, 2147483647;";
    const char *field = "bfe.s32 %r, %a, 40, 5;";
    const char *sign = "prmt.b32 %s1, %a, %b, 9; and.b32 %r, %s1, 255;";
    const char *sources = "lop3.b32 %s1, %a, %a, %b, 0xc0; and.b32 %r, %s1, %b;";
    const char *borrow = "mul.hi.u32 %s1, %a, %b; sub.cc.u32 %s2, %s1, %c; subc.u32 %r, %a, %b;";
    const char *part = "bfe.s32 %s1, %a, 8, 8; cvt.rn.f32.u32 %r, %s1;";
    static const struct {
        unsigned version, arch, bounds, sums, selections, fields, signs, sources, lasting;
    } cases[] = {
        {1205, 90, 0, 1, 1, 1, 1, 1, 1}, {1206, 90, 1, 1, 1, 1, 1, 1, 1}, {1302, 90, 1, 1, 1, 1, 1, 1, 1},
        {1303, 90, 1, 0, 1, 1, 1, 1, 1}, {1304, 90, 0, 0, 0, 1, 0, 0, 1}, {1305, 90, 0, 0, 0, 0, 0, 0, 1},
        {1300, 80, 0, 1, 1, 1, 1, 1, 1}, {1300, 75, 0, 1, 1, 1, 1, 1, 1}, {1300, 100, 1, 1, 1, 1, 1, 1, 1},
        {1300, 103, 1, 1, 1, 1, 1, 1, 1}, {1300, 120, 0, 1, 1, 1, 1, 1, 1}, {0, 90, 1, 1, 1, 1, 1, 1, 1},
        {0, 80, 0, 1, 1, 1, 1, 1, 1}, {1300, 0, 0, 0, 0, 0, 0, 0, 0}, {1101, 90, 0, 0, 0, 0, 0, 0, 0},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        assert_int_equal(found(bound, cases[i].version, cases[i].arch), cases[i].bounds);
        assert_int_equal(found(sum, cases[i].version, cases[i].arch), cases[i].sums);
        assert_int_equal(found(selection, cases[i].version, cases[i].arch), cases[i].selections);
        assert_int_equal(found(field, cases[i].version, cases[i].arch), cases[i].fields);
        assert_int_equal(found(sign, cases[i].version, cases[i].arch), cases[i].signs);
        assert_int_equal(found(sources, cases[i].version, cases[i].arch), cases[i].sources);
        assert_int_equal(found(borrow, cases[i].version, cases[i].arch), cases[i].lasting);
        assert_int_equal(found(part, cases[i].version, cases[i].arch), cases[i].lasting);
    }
}

/* PTX may be assembled for a newer device than its target, but not for an older one. */
static void newer_targets(void **state)
{
    (void)state;
    static const struct { unsigned arch; bool or_newer, applies; } cases[] = {
        {75, false, false}, {75, true, true},    {90, true, true},   {100, true, true},
        {103, true, true},  {110, true, false},  {120, true, false}, {0, true, false},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        const DefectRequest request = {.version = 1300, .arch = cases[i].arch, .or_newer = cases[i].or_newer};
        assert_int_equal(defect_applies(DEFECT_NEGATED_BOUND, &request), cases[i].applies);
    }
}

static void versions_are_read(void **state)
{
    (void)state;
    assert_int_equal(defect_version("13.0.88"), 1300);
    assert_int_equal(defect_version("12.6"), 1206);
    assert_int_equal(defect_version("unknown"), 0);
    assert_int_equal(defect_version("13"), 0);
    assert_int_equal(defect_version(""), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bounds_with_a_negation),
        cmocka_unit_test(sums_of_shifts),
        cmocka_unit_test(narrow_negations),
        cmocka_unit_test(selections_by_a_constant),
        cmocka_unit_test(fields_after_the_end),
        cmocka_unit_test(bytes_that_are_signs),
        cmocka_unit_test(repeated_sources),
        cmocka_unit_test(borrows_of_high_products),
        cmocka_unit_test(signed_fields_without_a_sign),
        cmocka_unit_test(versions_and_targets),
        cmocka_unit_test(newer_targets),
        cmocka_unit_test(versions_are_read),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
