/* Pictures: the comparison of two forms of a kernel, given as words; remedies; the tables of the paper. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "parsed.h"
#include "view/view.h"

/* A picture that has nothing but instructions, one for each line of the text. */
static View *view_of(Arena *arena, const char *lines)
{
    VEC(ViewRow) list = {0};
    for (const char *at = lines; *at; at += strspn(at, "\n")) {
        const size_t length = strcspn(at, "\n");
        VEC_PUSH(arena, list, ((ViewRow){.text = arena_strndup(arena, at, length)}));
        at += length;
    }
    View *view = ARENA_NEW(arena, View);
    view->code = (ViewCode){.rows = list.data, .count = (uint32_t)list.count};
    return view;
}

/* The letters of the changes before, '/', and those after. */
static const char *letters(Arena *arena, const ViewChanges *changes, const View *before, const View *after)
{
    static const char drawn[] = {[CHANGE_NONE] = '=',  [CHANGE_MOVED] = 'm',  [CHANGE_AGAIN] = '+',
                                 [CHANGE_NEW] = '*',   [CHANGE_MERGED] = '&', [CHANGE_REMOVED] = '-'};
    Buf text = {0};
    for (uint32_t row = 0; row < before->code.count; row++)
        buf_putc(&text, drawn[changes->kinds[0][row]]);
    buf_putc(&text, '/');
    for (uint32_t row = 0; row < after->code.count; row++)
        buf_putc(&text, drawn[changes->kinds[1][row]]);
    return buf_take(arena, &text);
}

static void check(const char *one, const char *other, const char *wanted, const char *sentence)
{
    Arena *arena = arena_new();
    const View *before = view_of(arena, one), *after = view_of(arena, other);
    const ViewChanges *changes = view_compare(arena, before, after);
    Buf text = {0};
    assert_string_equal(letters(arena, changes, before, after), wanted);
    view_print_changes(changes, &text);
    assert_string_equal(buf_text(&text), sentence);
    buf_free(&text);
    arena_free(arena);
}

static void test_same(void **state)
{
    (void)state;
    check("", "", "/", "0 instructions as before");
    check("EXIT\n", "EXIT\n", "=/=", "1 instruction as before");
    /* The allocation of registers, their reuse and labels say nothing about the instruction. */
    check("@P0 FADD R1, R2, R3\nLDG.E R4, desc[UR4][R2.64+0x8]\n@P1 BRA `(.L_x_1)\n",
          "@P6 FADD R31, R2.reuse, R3\nLDG.E R5, desc[UR14][R12.64+0x8]\n@P0 BRA `(.L_x_22)\n", "===/===",
          "3 instructions as before");
    /* Everything else does. */
    check("FADD R1, R2, R3\n", "FADD R1, R2, -R3\n", "-/*", "0 instructions as before, 1 new, 1 removed");
    check("LDG.E R4, [R2+0x8]\n", "LDG.E R4, [R2+0x10]\n", "-/*", "0 instructions as before, 1 new, 1 removed");
    check("@P0 EXIT\n", "@!P0 EXIT\n", "-/*", "0 instructions as before, 1 new, 1 removed");
    check("MOV R1, RZ\n", "MOV R1, UR4\n", "-/*", "0 instructions as before, 1 new, 1 removed");
    check("S2R R1, SR_TID.X\n", "S2R R1, SR_TID.Y\n", "-/*", "0 instructions as before, 1 new, 1 removed");
}

static void test_changes(void **state)
{
    (void)state;
    check("A\nB\nC\nD\n", "A\nC\nD\nB\n", "=m==/===m", "3 instructions as before, 1 moved");
    check("A\nB\n", "A\nA\nB\n", "==/=+=", "2 instructions as before, 1 repeated");
    check("A\nA\nB\n", "A\nB\n", "=&=/==", "2 instructions as before, 1 merged");
    check("A\nB\nC\n", "A\nX\nC\n", "=-=/=*=", "2 instructions as before, 1 new, 1 removed");
    check("A\n", "", "-/", "0 instructions as before, 1 removed");
    check("", "A\nA\n", "/**", "0 instructions as before, 2 new");
    /* Two left over on one side, one on the other: the first moved. */
    check("X\nA\nB\nC\nD\n", "A\nB\nC\nD\nX\nX\n", "m====/====m+", "4 instructions as before, 1 moved, 1 repeated");
}

/* Without instructions that both have once: a longest common subsequence. */
static void test_subsequence(void **state)
{
    (void)state;
    check("D\nx\nD\n1\ny\n", "p\nD\nq\nD\n1\nr\n", "=-==-/*=*==*",
          "3 instructions as before, 3 new, 2 removed");
    check("y\n1\nD\nx\nD\nz\n", "p\n1\nq\nD\nD\nr\n", "-==-=-/*=*==*",
          "3 instructions as before, 3 new, 3 removed");
    check("A\nB\nA\nB\nA\n", "B\nB\nA\nA\n", "m=&==/==m=", "3 instructions as before, 1 moved, 1 merged");
}

static bool same_text(const View *one, uint32_t a, const View *other, uint32_t b)
{
    return strcmp(one->code.rows[a].text, other->code.rows[b].text) == 0;
}

/* The greatest number of instructions that can be aligned. */
static uint32_t longest(const View *one, const View *other)
{
    enum { MOST = 40 };
    uint32_t lengths[MOST + 1][MOST + 1] = {{0}};
    const uint32_t height = one->code.count, width = other->code.count;
    for (uint32_t i = 1; i <= height; i++)
        for (uint32_t j = 1; j <= width; j++) {
            lengths[i][j] = lengths[i - 1][j] > lengths[i][j - 1] ? lengths[i - 1][j] : lengths[i][j - 1];
            if (same_text(one, i - 1, other, j - 1))
                lengths[i][j] = lengths[i - 1][j - 1] + 1;
        }
    return lengths[height][width];
}

/* The rules of every comparison: partners name each other and are equal; those that stay are in order; the kinds follow
 * from what the other side has. */
static void check_rules(const View *before, const View *after, const ViewChanges *changes)
{
    const View *const sides[2] = {before, after};
    uint32_t last = 0, kept = 0;
    for (unsigned s = 0; s < 2; s++)
        for (uint32_t row = 0; row < sides[s]->code.count; row++) {
            const uint32_t partner = changes->partners[s][row];
            const ViewChange kind = (ViewChange)changes->kinds[s][row];
            bool there = false;
            for (uint32_t other = 0; other < sides[!s]->code.count; other++)
                there |= same_text(sides[s], row, sides[!s], other);
            if (partner == MACHINE_NONE) {
                assert_int_equal(kind, s ? there ? CHANGE_AGAIN : CHANGE_NEW
                                         : there ? CHANGE_MERGED : CHANGE_REMOVED);
                continue;
            }
            assert_int_equal(changes->partners[!s][partner], row);
            assert_true(same_text(sides[s], row, sides[!s], partner));
            assert_int_equal(kind, changes->kinds[!s][partner]);
            if (kind != CHANGE_NONE || s)
                continue;
            assert_true(!kept || partner > last);
            last = partner;
            kept++;
        }
    assert_int_equal(kept, changes->counts[CHANGE_NONE]);
}

static View *random_view(Arena *arena, uint32_t *random, unsigned kinds)
{
    Buf text = {0};
    *random = *random * 1664525 + 1013904223;
    for (unsigned i = 0, count = (*random >> 16) % 40; i < count; i++) {
        *random = *random * 1664525 + 1013904223;
        buf_printf(&text, "K%u\n", (*random >> 16) % kinds);
    }
    View *view = view_of(arena, buf_text(&text));
    buf_free(&text);
    return view;
}

static void test_random(void **state)
{
    (void)state;
    uint32_t random = 7, kept = 0, most = 0;
    for (unsigned round = 0; round < 3000; round++) {
        Arena *arena = arena_new();
        const unsigned kinds = 1 + round % 30;
        const View *before = random_view(arena, &random, kinds), *after = random_view(arena, &random, kinds);
        const ViewChanges *changes = view_compare(arena, before, after);
        check_rules(before, after, changes);
        if (kinds == 1)
            assert_int_equal(changes->counts[CHANGE_NONE], longest(before, after));
        kept += changes->counts[CHANGE_NONE];
        most += longest(before, after);
        arena_free(arena);
    }
    assert_true(kept <= most && kept > 0.92 * most);
}

/* A long kernel, whose second half becomes the first; and one that has nothing but one instruction. */
static void test_long(void **state)
{
    (void)state;
    enum { HALF = 30000 };
    Arena *arena = arena_new();
    Buf one = {0}, other = {0};
    for (unsigned i = 0; i < 2 * HALF; i++) {
        buf_printf(&one, "K%u\n", i);
        buf_printf(&other, "K%u\n", (i + HALF) % (2 * HALF));
    }
    const View *before = view_of(arena, buf_text(&one)), *after = view_of(arena, buf_text(&other));
    const ViewChanges *changes = view_compare(arena, before, after);
    assert_int_equal(changes->counts[CHANGE_NONE], HALF);
    assert_int_equal(changes->counts[CHANGE_MOVED], HALF);
    buf_clear(&one);
    buf_clear(&other);
    for (unsigned i = 0; i < 2 * HALF; i++)
        buf_puts(i % 2 ? &one : &other, "A\nB\n");
    buf_puts(&one, "A\n");
    before = view_of(arena, buf_text(&one));
    after = view_of(arena, buf_text(&other));
    changes = view_compare(arena, before, after);
    assert_int_equal(changes->counts[CHANGE_NONE], 2 * HALF);
    buf_free(&one);
    buf_free(&other);
    arena_free(arena);
}

/* Code with life ranges, as nvdisasm draws them: a line is the states of the registers, a blank, and the text. A block
 * begins at each row of 'begins', continues with the next, and also with the one that 'back' has for it. */
static const View *ranged_view(Arena *arena, const char *const *lines, uint32_t count, uint32_t registers,
                               const uint32_t *begins, uint32_t block_count, const uint32_t *back)
{
    SassRanges *ranges = ARENA_NEW(arena, SassRanges);
    Resources *resources = ARENA_NEW(arena, Resources);
    SassCode *code = ARENA_NEW(arena, SassCode);
    *code = (SassCode){.count = count, .block_count = block_count, .ranges = ranges};
    code->instructions = ARENA_ARRAY(arena, SassInstruction, count);
    code->blocks = ARENA_ARRAY(arena, SassBlock, block_count);
    for (unsigned file = 0; file < SASS_FILE_COUNT; file++)
        ranges->live[file] = ARENA_ARRAY(arena, uint16_t, count);
    ranges->counts[FILE_GENERAL] = resources->registers = registers;
    ranges->states[FILE_GENERAL] = arena_alloc(arena, count * registers);
    for (uint32_t row = 0; row < count; row++) {
        SassInstruction *inst = &code->instructions[row];
        *inst = (SassInstruction){.address = 16 * row, .class = MACHINE_INTEGER, .target = MACHINE_NONE,
                                  .ptx = MACHINE_NONE, .text = lines[row] + registers + 1};
        for (uint32_t b = 0; b < block_count; b++)
            inst->block = begins[b] <= row ? b : inst->block;
        for (uint32_t reg = 0; reg < registers; reg++) {
            static const char drawn[] = " :v^x";
            const uint8_t state = (uint8_t)(strchr(drawn, lines[row][reg]) - drawn);
            ranges->states[FILE_GENERAL][row * registers + reg] = state;
            ranges->live[FILE_GENERAL][row] += state != REGISTER_FREE;
        }
    }
    for (uint32_t b = 0; b < block_count; b++) {
        const uint32_t end = b + 1 < block_count ? begins[b + 1] : count;
        SassBlock *block = &code->blocks[b];
        *block = (SassBlock){.first = begins[b], .count = end - begins[b], .callee = MACHINE_NONE};
        block->successors = ARENA_ARRAY(arena, uint32_t, 2);
        if (b + 1 < block_count)
            block->successors[block->successor_count++] = b + 1;
        if (back[b] != MACHINE_NONE)
            block->successors[block->successor_count++] = back[b];
    }
    const ViewSource source = {.kernel = "k", .code = code, .resources = resources};
    const char *error;
    const View *made = view_make(arena, &source, &error);
    assert_null(error);
    return made;
}

static const ViewValue *value_of(const View *view, uint32_t reg)
{
    for (uint32_t v = 0; v < view->value_count; v++)
        if (view->values[v].reg == reg)
            return &view->values[v];
    fail();
    return NULL;
}

/* Register 0 waits at the peak, row 3, and is written in row 0. */
static void check_remedy(const char *third, const char *read, const uint32_t *back, ViewRemedy wanted)
{
    Arena *arena = arena_new();
    const char *lines[] = {"^     MOV R0, 0x1",  ":^    MOV R1, 0x2", third, ":::^  LDG R3",
                           "::vv  STG [R2], R3", read, "      EXIT"};
    static const uint32_t begins[] = {0, 2, 6};
    const View *view = ranged_view(arena, lines, COUNT_OF(lines), 5, begins, COUNT_OF(begins), back);
    assert_int_equal(view->peak, 3);
    assert_int_equal(value_of(view, 0)->remedy, wanted);
    arena_free(arena);
}

/* A value is computed again only if it is the same whichever way control came. */
static void test_remedies(void **state)
{
    (void)state;
    static const uint32_t straight[] = {MACHINE_NONE, MACHINE_NONE, MACHINE_NONE};
    static const uint32_t loop[] = {MACHINE_NONE, 1, MACHINE_NONE};
    check_remedy(":v^   MOV R2, 0x3", "v     STG R0", straight, REMEDY_RECOMPUTE);
    check_remedy("^:^   MOV.2 R0, 0x3", "v     STG R0", loop, REMEDY_RECOMPUTE);
    check_remedy(":v^   MOV R2, 0x3", "v     STG R0", loop, REMEDY_RECOMPUTE);
    check_remedy(":v^   MOV R2, 0x3", "x     IADD R0, R0, R0", straight, REMEDY_RECOMPUTE);
    check_remedy(":v^   MOV R2, 0x3", "x     IADD R0, R0, R0", loop, REMEDY_STORE);
}

/* The operands must be there, too: R1 still has what R0 was made of, or something else, or is not needed any more. */
static void test_operands(void **state)
{
    (void)state;
    static const char *const kept[] = {"^     MOV R0, 0x1",  "v^    IADD R1, R0, 0x1", "::^   MOV R2, 0x3",
                                       ":::^  LDG R3",       "::vv  STG [R2], R3",     "vv    STG [R0], R1"};
    static const uint32_t begins[] = {0}, back[] = {MACHINE_NONE};
    const char *lines[COUNT_OF(kept)];
    for (unsigned form = 0; form < 4; form++) {
        Arena *arena = arena_new();
        memcpy(lines, kept, sizeof kept);
        if (form == 1)
            lines[4] = "x:vv  STG [R2], R3";
        if (form == 2)
            lines[5] = " v    STG [R0], R1";
        if (form == 3)
            lines[1] = "x^    IADD R1, R0, 0x1";
        const View *view = ranged_view(arena, lines, COUNT_OF(lines), 5, begins, 1, back);
        /* Registers that one instruction writes are one value. */
        assert_int_equal(value_of(view, form == 3 ? 0 : 1)->remedy, form ? REMEDY_STORE : REMEDY_RECOMPUTE);
        arena_free(arena);
    }
}

/* The registers with a value in each instruction: written, read or kept. */
static void check_lives(const char *order, const unsigned *expected)
{
    static const char *const insts[] = {"ld.shared.v2.u32 {%r1, %r2}, [s];", "ld.shared.v2.u32 {%r3, %r4}, [s+8];",
                                        "xor.b32 %r5, %r2, 64;", "xor.b32 %r6, %r4, 64;", "min.u32 %r7, %r1, %r5;",
                                        "min.u32 %r8, %r3, %r6;", "min.u32 %r1, %r7, %r8;"};
    Buf text = {0};
    const char *error;
    buf_puts(&text, HEADER ".visible .entry k()\n{\n.reg .b32 %r<9>;\n.shared .align 8 .b8 s[64];\n");
    for (const char *at = order; *at; at++)
        buf_printf(&text, "%s\n", insts[*at - '1']);
    buf_puts(&text, "st.shared.u32 [s], %r1;\nret;\n}\n");
    Module *module = module_from(buf_text(&text));
    const ViewSource source = {
        .kernel = "k", .arch = "sm_80", .module = module, .function = function_of(module, "k")};
    const View *view = view_make(module->arena, &source, &error);
    assert_non_null(view);
    for (uint32_t row = 0; row < strlen(order); row++) {
        unsigned count = 0;
        for (uint32_t l = 0; l < view->code.life_count; l++) {
            const ViewLife *life = &view->code.lives[l];
            count += life->first <= row && row <= life->last ? life->width : 0;
        }
        assert_int_equal(count, expected[row]);
    }
    arena_free(module->arena);
    buf_free(&text);
}

/* Tables 3 and 4 of "Analyzing CUDA's Compiler through the Visualization of Decoded GPU Binaries": the same code in two
 * orders. (With other operations: machine code would join the products and the sums.) */
static void test_paper(void **state)
{
    (void)state;
    check_lives("1234567", (const unsigned[]){2, 4, 5, 5, 5, 4, 3});
    check_lives("1352467", (const unsigned[]){2, 3, 3, 3, 4, 4, 3});
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_same), cmocka_unit_test(test_changes),
                                       cmocka_unit_test(test_subsequence), cmocka_unit_test(test_random),
                                       cmocka_unit_test(test_long),
                                       cmocka_unit_test(test_remedies), cmocka_unit_test(test_operands),
                                       cmocka_unit_test(test_paper)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
