/* Calls, the stack, and ways to end: recursion, indirect calls, alloca, printf, assertions, trap, brkpt, exits. */
#include "emulated.h"

#include <stdlib.h>

static void the_stack_is_walked(void **state)
{
    (void)state;
    Emulated kernel = {.block = 4};
    /* Each thread allocates a different size; its memory is private and is released. */
    expect_words(&kernel,
                 "stacksave.u64 %rd3; add.u32 %r2, %r1, 1; shl.b32 %r2, %r2, 3; cvt.u64.u32 %rd4, %r2;\n"
                 "alloca.u64 %rd5, %rd4; alloca.u64 %rd6, 4, 64; st.local.u32 [%rd5], %r1; st.local.u32 [%rd6], 7;\n"
                 "cvta.local.u64 %rd7, %rd5; ld.u32 %r3, [%rd7]; ld.local.u32 %r4, [%rd6]; mad.lo.u32 %r3, %r4, 100, "
                 "%r3;\n"
                 "and.b64 %rd8, %rd6, 63; setp.ne.u64 %p1, %rd8, 0; @%p1 mov.u32 %r3, 999; stackrestore.u64 %rd3;\n"
                 "stacksave.u64 %rd9; setp.ne.u64 %p2, %rd9, %rd3; @%p2 mov.u32 %r3, 998; st.global.u32 [%rd2], %r3;",
                 (uint32_t[]){700, 701, 702, 703}, 4);
    expect_fault(&kernel, "alloca.u32 %r2, 20000;", FAULT_BOUNDS, "left on the stack");
    expect_fault(&kernel, "mov.u64 %rd3, 100000; stackrestore.u64 %rd3;", FAULT_BOUNDS,
                 "not on this function's stack");
    /* No two functions' stacks overlap. */
    Emulated calls = {.globals =
                          ".func (.param .u32 r) take(.param .u32 n) {\n"
                          ".reg .u32 %a, %b, %c; .reg .u64 %s; ld.param.u32 %a, [n]; alloca.u32 %b, 16;\n"
                          "st.local.u32 [%b], %a; ld.local.u32 %c, [%b]; add.u32 %c, %c, 1; st.param.u32 [r], %c; "
                          "ret; }\n"};
    expect_words(
        &calls,
        "alloca.u32 %r2, 16; st.local.u32 [%r2], 5; { .param .u32 a; .param .u32 b; st.param.u32 [a], 41;\n"
        "call (b), take, (a); ld.param.u32 %r3, [b]; } ld.local.u32 %r4, [%r2]; st.global.v2.u32 [%rd1], {%r3, "
        "%r4};",
        (uint32_t[]){42, 5}, 2);
}

static void recursion_and_indirect_calls(void **state)
{
    (void)state;
    Emulated kernel = {
        .block = 8,
        .globals = ".func (.param .u32 r) fib(.param .u32 n) {\n"
                   ".reg .u32 %n, %a, %b; .reg .pred %p; ld.param.u32 %n, [n]; setp.lt.u32 %p, %n, 2; @%p bra small;\n"
                   "{ .param .u32 x; .param .u32 y; sub.u32 %a, %n, 1; st.param.u32 [x], %a; call (y), fib, (x);\n"
                   "ld.param.u32 %a, [y]; }\n"
                   "{ .param .u32 x; .param .u32 y; sub.u32 %b, %n, 2; st.param.u32 [x], %b; call (y), fib, (x);\n"
                   "ld.param.u32 %b, [y]; }\nadd.u32 %n, %a, %b;\nsmall: st.param.u32 [r], %n; ret; }\n"
                   ".func (.param .u32 r) twice(.param .u32 n) {\n"
                   ".reg .u32 %n; ld.param.u32 %n, [n]; shl.b32 %n, %n, 1; st.param.u32 [r], %n; ret; }\n"
                   ".global .align 8 .u64 table[2] = {fib, twice};\n"};
    expect_words(&kernel,
                 "and.b32 %r2, %r1, 1; mul.wide.u32 %rd3, %r2, 8; mov.u64 %rd4, table; add.u64 %rd3, %rd3, %rd4;\n"
                 "ld.global.u64 %rd5, [%rd3]; { .param .u32 x; .param .u32 y; st.param.u32 [x], %r1;\n"
                 "proto: .callprototype (.param .u32 _) _ (.param .u32 _); call (y), %rd5, (x), proto;\n"
                 "ld.param.u32 %r3, [y]; } st.global.u32 [%rd2], %r3;",
                 (uint32_t[]){0, 2, 1, 6, 3, 10, 8, 14}, 8);
    expect_fault(&kernel,
                 "mov.u64 %rd5, 12345; { .param .u32 x; .param .u32 y; st.param.u32 [x], %r1;\n"
                 "proto: .callprototype (.param .u32 _) _ (.param .u32 _); call (y), %rd5, (x), proto; }",
                 FAULT_CALL, "not the address");
    Emulated deep = {.globals = ".func f() { call f, (); ret; }\n"};
    expect_fault(&deep, "call f, ();", FAULT_CALL, "nested more than");
}

static void lines_are_printed(void **state)
{
    (void)state;
    char *text = NULL;
    size_t length = 0;
    /* "%d %5.2f %s|%llx|%c" */
    Emulated kernel = {.block = 2,
                       .globals =
                           ".extern .func (.param .b32 r) vprintf(.param .b64 f, .param .b64 a);\n"
                           ".global .align 1 .b8 format[22] = {37, 100, 32, 37, 53, 46, 50, 102, 32, 37, 115, 124, "
                           "37, 108, 108, 120, 124, 37, 99, 10, 0};\n"
                           ".global .align 1 .b8 word[3] = {111, 107, 0};\n"};
    kernel.output = open_memstream(&text, &length);
    expect_words(&kernel,
                 ".local .align 8 .b8 list[40]; mov.u64 %rd3, list; st.local.u32 [%rd3], %r1; mov.f64 %d1, "
                 "0d4004000000000000;\n"
                 "st.local.f64 [%rd3+8], %d1; mov.u64 %rd4, word; cvta.global.u64 %rd4, %rd4; st.local.u64 [%rd3+16], "
                 "%rd4;\n"
                 "st.local.u64 [%rd3+24], 0xabcdef0123; st.local.u32 [%rd3+32], 120; cvta.local.u64 %rd5, %rd3;\n"
                 "mov.u64 %rd6, format; cvta.global.u64 %rd6, %rd6; { .param .b64 f; .param .b64 a; .param .b32 r;\n"
                 "st.param.b64 [f], %rd6; st.param.b64 [a], %rd5; call (r), vprintf, (f, a); }",
                 (uint32_t[]){0}, 1);
    fclose(kernel.output);
    assert_string_equal(text, "0  2.50 ok|abcdef0123|x\n1  2.50 ok|abcdef0123|x\n");
    free(text);
}

static void threads_stop(void **state)
{
    (void)state;
    Emulated kernel = {.block = 64};
    /* Neither barriers nor the warp wait for lanes that have exited. */
    expect_words(
        &kernel,
        "setp.gt.u32 %p1, %r1, 2; @%p1 exit; bar.sync 0; activemask.b32 %r2; brkpt; st.global.u32 [%rd2], %r2;",
        (uint32_t[]){7, 7, 7, 0}, 4);
    expect_fault(&kernel, "setp.eq.u32 %p1, %r1, 40; @%p1 trap;", FAULT_TRAP, "thread 40,0,0");
    expect_words(&kernel, "nanosleep.u32 100; pmevent 3; griddepcontrol.wait; griddepcontrol.launch_dependents;\n"
                          "st.global.u32 [%rd2], 1;",
                 (uint32_t[]){1, 1}, 2);
}

/* A piece of 20 bytes of the device's heap, whose address is in %rd5. */
#define TAKES                                                                                                          \
    "{ .param .b64 n; .param .b64 r; st.param.b64 [n], 20; call (r), malloc, (n); ld.param.b64 %rd5, [r]; }\n"
#define FREES "{ .param .b64 p; st.param.b64 [p], %rd5; call free, (p); }\n"

static void the_heap_is_watched(void **state)
{
    (void)state;
    Emulated kernel = {.globals = ".extern .func (.param .b64 r) malloc(.param .b64 n);\n"
                                  ".extern .func free(.param .b64 p);\n"};
    expect_words(&kernel, TAKES "st.u32 [%rd5+16], 7; ld.u32 %r2, [%rd5+16];" FREES "st.global.u32 [%rd2], %r2;",
                 (uint32_t[]){7}, 1);
    expect_words(&kernel, "mov.u64 %rd5, 0;" FREES "st.global.u32 [%rd2], 3;", (uint32_t[]){3}, 1);
    expect_fault(&kernel, TAKES "st.u32 [%rd5+20], 7;" FREES, FAULT_BOUNDS,
                 "store of 4 bytes at offset 20 of the heap, which malloc has not given");
    expect_fault(&kernel, TAKES "add.u64 %rd6, %rd5, 16; ld.v2.u32 {%r2, %r3}, [%rd6];" FREES, FAULT_BOUNDS,
                 "load of 8 bytes at offset 16 of the heap, which malloc has not given");
    expect_fault(&kernel, TAKES TAKES "ld.u32 %r2, [%rd5+-8];", FAULT_BOUNDS, "which malloc has not given");
    expect_fault(&kernel, TAKES FREES "ld.u32 %r2, [%rd5+4];", FAULT_BOUNDS,
                 "load of 4 bytes at offset 4 of the heap, which free has taken back");
    expect_fault(&kernel, TAKES FREES "atom.add.u32 %r2, [%rd5], 1;", FAULT_BOUNDS, "which free has taken back");
    expect_fault(&kernel, TAKES FREES FREES, FAULT_CALL, "which was freed before");
    expect_fault(&kernel, TAKES "add.u64 %rd5, %rd5, 4;" FREES, FAULT_CALL, "which malloc has not given");
    expect_fault(&kernel, "mov.u64 %rd5, %rd1;" FREES, FAULT_CALL, "which malloc has not given");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_stack_is_walked),
        cmocka_unit_test(recursion_and_indirect_calls),
        cmocka_unit_test(lines_are_printed),
        cmocka_unit_test(threads_stop),
        cmocka_unit_test(the_heap_is_watched),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
