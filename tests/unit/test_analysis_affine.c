/* Affine sums: expected results on known code, and no wrong results on random code. */
#include "test_analysis.h"

static void sum_check(const Affine *affine, const char *reg, const char *expected)
{
    Buf text = {0};
    AffineForm form = affine_of_reg(affine, reg_named(affine->body, reg));
    affine_print(affine, &form, &text);
    assert_string_equal(text.data, expected);
    buf_free(&text);
}

static void test_sums(void **state)
{
    (void)state;
    Body *body = body_parse(".shared .align 4 .b8 tile[4096];\n"
                            ".visible .entry k(.param .u64 p, .param .u32 n) .reqntid 16, 16\n{\n"
                            ".reg .u32 %x, %y, %n, %t<14>; .reg .u64 %p, %g, %d<19>;\n"
                            "mov.u32 %x, %tid.x; mov.u32 %y, %tid.y;\n"
                            "ld.param.u32 %n, [n]; ld.param.u64 %p, [p]; cvta.to.global.u64 %g, %p;\n"
                            "shl.b32 %t1, %y, 6; mad.lo.s32 %t2, %x, 4, %t1; mov.u32 %t3, tile;\n"
                            "add.s32 %t4, %t3, %t2;\n"
                            "add.s32 %t5, %t4, -4; or.b32 %t6, %t2, 3; or.b32 %t7, %t2, 4; sub.u32 %t8, %t5, %t4;\n"
                            "mul.wide.u32 %d1, %t2, 4; mul.wide.s32 %d2, %n, 4; add.s64 %d3, %g, %d2;\n"
                            "add.s32 %t9, %n, 1; mul.wide.s32 %d4, %t9, 4; cvt.u64.u32 %d5, %n;\n"
                            "cvt.u32.u64 %t10, %d2;\n"
                            "add.s32 %t11, %x, -1; cvt.s64.s32 %d6, %t11; cvt.u64.u32 %d7, %t11;\n"
                            "cvta.shared.u64 %d8, %d1; cvta.to.shared.u64 %d9, %d8; neg.s64 %d10, %d9;\n"
                            "mul.lo.s64 %d11, %d3, %d5; not.b32 %t12, %t11; xor.b64 %d12, %d2, -4;\n"
                            "xor.b64 %d13, %d2, -8; "
                            "xor.b32 %t13, %x, -2147483648;\n"
                            "mul.lo.s32 %t0, %n, 192; cvt.s64.s32 %d14, %t0; or.b64 %d15, %d14, 8;\n"
                            "or.b64 %d16, %d14, 64; shl.b64 %d17, %d14, 1; or.b64 %d18, %d17, 64;\n"
                            "ret;\n}\n");
    Arena *arena = arena_new();
    Affine *affine = affine_compute(arena, body, NULL, NULL);
    sum_check(affine, "%t2", "4*%tid.x + 64*%tid.y");
    sum_check(affine, "%t4", "tile + 4*%tid.x + 64*%tid.y");
    sum_check(affine, "%t5", "tile + 4*%tid.x + 64*%tid.y - 4");
    sum_check(affine, "%t6", "4*%tid.x + 64*%tid.y + 3");
    sum_check(affine, "%t7", "%t7");
    sum_check(affine, "%t8", "-4");
    sum_check(affine, "%d1", "16*%tid.x + 256*%tid.y");
    sum_check(affine, "%d2", "4*signed(%n)");
    sum_check(affine, "%d3", "p + 4*signed(%n)");
    sum_check(affine, "%d4", "4*signed(%t9)");
    sum_check(affine, "%d5", "n");
    sum_check(affine, "%t10", "4*%n");
    sum_check(affine, "%d6", "%tid.x - 1");
    sum_check(affine, "%d7", "%t11");
    sum_check(affine, "%d8", "16*%tid.x + 256*%tid.y + window(shared)");
    sum_check(affine, "%d9", "16*%tid.x + 256*%tid.y");
    sum_check(affine, "%d10", "-16*%tid.x - 256*%tid.y");
    sum_check(affine, "%d11", "%d11");
    sum_check(affine, "%t12", "-%tid.x");
    sum_check(affine, "%d12", "-4*signed(%n) - 4");
    sum_check(affine, "%d13", "%d13");
    sum_check(affine, "%t13", "%tid.x - 2147483648"); /* which is below 16, so nothing is carried */
    /* Extended multiples of 64, and of 128. */
    sum_check(affine, "%d15", "signed(%t0) + 8");
    sum_check(affine, "%d16", "%d16");
    sum_check(affine, "%d18", "2*signed(%t0) + 64");
    arena_free(arena);
    body_drop(body);
}

static void test_phis(void **state)
{
    (void)state;
    Body *body = body_parse(".visible .entry k(.param .u64 p, .param .u32 n)\n{\n"
                            ".reg .pred %q; .reg .u32 %x, %n, %a, %b, %c, %i; .reg .u64 %p;\n"
                            "mov.u32 %x, %tid.x; ld.param.u32 %n, [n]; ld.param.u64 %p, [p];\n"
                            "setp.lt.u32 %q, %x, %n;\n"
                            "mad.lo.s32 %a, %x, 4, 8; mul.lo.s32 %c, %x, 4; mov.u32 %b, %x; @%q bra NEXT;\n"
                            "shl.b32 %a, %x, 2; add.s32 %a, %a, 8; add.s32 %c, %c, 1;\n"
                            "ld.global.u32 %b, [%p];\n"
                            "NEXT: add.s32 %a, %a, 1; add.s32 %b, %b, 1; add.s32 %c, %c, 1; mov.u32 %i, 0;\n"
                            "LOOP: add.s32 %i, %i, 1; setp.lt.u32 %q, %i, %n; @%q bra LOOP;\n"
                            "st.global.u32 [%p], %a; st.global.u32 [%p+4], %b; st.global.u32 [%p+8], %c;\n"
                            "st.global.u32 [%p+12], %i; ret;\n}\n");
    Arena *arena = arena_new();
    Affine *affine = affine_compute(arena, body, NULL, NULL);
    unsigned found = 0;
    for (size_t b = 0; b < body->blocks.count; b++)
        for (const Inst *inst = body->blocks.data[b]->first; inst; inst = inst->next) {
            Access access;
            if (!inst_access(inst, &access) || access.kind != ACCESS_STORE)
                continue;
            const AffineForm *form = &affine->forms[operand_plain_reg(inst, &inst->operands[1])];
            const bool is_sum = form->term_count == 1 && form->terms[0].base == AFFINE_SREG;
            assert_int_equal(is_sum, !access.address->constant);
            assert_true(!is_sum || (form->constant == 9 && form->terms[0].coefficient == 4));
            found++;
        }
    assert_int_equal(found, 4);
    arena_free(arena);
    body_drop(body);
}

/* Two paths compute one product, but neither of its registers is there on the other. */
static void test_phi_of_paths(void **state)
{
    (void)state;
    Body *body = body_parse(".visible .entry k(.param .u64 p, .param .u32 n)\n{\n"
                            ".reg .pred %q; .reg .u32 %x, %n, %a; .reg .u64 %p;\n"
                            "mov.u32 %x, %tid.x; ld.param.u32 %n, [n]; ld.param.u64 %p, [p];\n"
                            "setp.lt.u32 %q, %x, %n; @%q bra OTHER;\n"
                            "mul.lo.s32 %a, %x, %n; st.global.u32 [%p+4], %a; bra NEXT;\n"
                            "OTHER: mul.lo.s32 %a, %x, %n; st.global.u32 [%p+8], %a;\n"
                            "NEXT: st.global.u32 [%p], %a; ret;\n}\n");
    Arena *arena = arena_new();
    Affine *affine = affine_compute(arena, body, NULL, NULL);
    const Inst *store = body->blocks.data[body->blocks.count - 1]->first;
    const RegId stored = operand_plain_reg(store, &store->operands[1]);
    assert_int_equal(affine->forms[stored].term_count, 1);
    assert_int_equal(affine->forms[stored].terms[0].reg, stored);
    arena_free(arena);
    body_drop(body);
}

static void test_products(void **state)
{
    (void)state;
    Body *body = body_parse(".visible .entry k(.param .u64 a, .param .u64 b)\n{\n"
                            ".reg .u64 %a, %b, %d<10>;\n"
                            "ld.param.u64 %a, [a]; ld.param.u64 %b, [b];\n"
                            "mul.lo.s64 %d1, %a, %b; shl.b64 %d2, %a, 2; add.s64 %d3, %d2, 4;\n"
                            "mul.lo.s64 %d4, %d3, %b; add.s64 %d5, %b, 3; mul.lo.s64 %d6, %d5, %d2;\n"
                            "mul.lo.s64 %d7, %a, %a; mul.lo.s64 %d8, %d2, %d2;\n"
                            "ret;\n}\n");
    Arena *arena = arena_new();
    Affine *affine = affine_compute(arena, body, NULL, NULL);
    sum_check(affine, "%d1", "%d1");
    sum_check(affine, "%d4", "4*%d1 + 4*b");
    sum_check(affine, "%d6", "4*%d1 + 12*a");
    sum_check(affine, "%d8", "16*%d7");
    arena_free(arena);
    body_drop(body);
}

/* The sum of n + 1, extended, after the branch on n < 100 joined with another condition has been taken. */
static void joined_check(const char *joins, const char *expected)
{
    Arena *arena = arena_new();
    Body *body = body_parse(arena_printf(arena, ".visible .entry k(.param .u32 n, .param .u32 m)\n{\n"
                                                ".reg .u32 %%n, %%m, %%t; .reg .u64 %%d; .reg .pred %%p<4>;\n"
                                                "ld.param.u32 %%m, [m]; brev.b32 %%n, %%m;\n"
                                                "setp.lt.u32 %%p1, %%n, 100; setp.eq.u32 %%p2, %%m, 3;\n%s\n"
                                                "@%%p3 bra IN; ret;\nIN: add.u32 %%t, %%n, 1; cvt.u64.u32 %%d, %%t;\n"
                                                "ret;\n}\n", joins));
    sum_check(affine_compute(arena, body, NULL, NULL), "%d", expected);
    body_drop(body);
    arena_free(arena);
}

static void test_joined_conditions(void **state)
{
    (void)state;
    joined_check("and.pred %p3, %p1, %p2;", "%n + 1");
    joined_check("mov.pred %p3, %p1;", "%n + 1");
    joined_check("or.pred %p3, %p1, %p2;", "%t");
    joined_check("xor.pred %p3, %p1, %p2;", "%t");
    joined_check("mov.pred %p3, !%p1;", "%t");
    joined_check("not.pred %p3, %p1;", "%t");
}

enum { TRIALS = 6, LENGTH = 44 };

/* One register of the program, with its value in each trial. */
typedef struct Cell {
    unsigned bits;
    uint64_t value[TRIALS];
    bool reached[TRIALS]; /* the trial passed all branches before it */
} Cell;

typedef struct Program {
    Random random;
    Buf text;
    Cell cells[LENGTH + 8];
    unsigned count;
    uint64_t tid[TRIALS], ntid[TRIALS], ctaid[TRIALS], n[TRIALS], p[TRIALS];
    bool running[TRIALS];
    unsigned guards;
} Program;

static uint64_t any_bits(Random *random)
{
    static const uint64_t edges[] = {0, 1, 0x7fffffff, 0x80000000, 0xffffffff, 0xfffffffc, 0xffffffff00000000, 1023};
    if (random_below(random, 3) == 0)
        return edges[random_below(random, COUNT_OF(edges))];
    return (uint64_t)random_below(random, UINT32_MAX) << 32 | random_below(random, UINT32_MAX);
}

static unsigned any_cell(Program *program, unsigned bits)
{
    unsigned i = random_below(&program->random, program->count);
    while (program->cells[i].bits != bits)
        i = (i + 1) % program->count;
    return i;
}

static uint64_t extend(uint64_t value, bool is_signed)
{
    return is_signed ? (uint64_t)(int64_t)(int32_t)value : (uint32_t)value;
}

static int64_t as_signed(uint64_t value, unsigned bits)
{
    return bits == 16 ? (int16_t)value : bits == 32 ? (int32_t)value : (int64_t)value;
}

static bool compares(unsigned relation, int64_t a, int64_t b)
{
    switch (relation) {
    case 0: return a < b;
    case 1: return a <= b;
    case 2: return a > b;
    case 3: return a >= b;
    case 4: return a == b;
    default: return a != b;
    }
}

/* Appends a comparison of two registers, or of one with a constant, and an exit for the smaller part of the trials. */
static void guard_add(Program *program)
{
    static const char *const relations[] = {"lt", "le", "gt", "ge", "eq", "ne"};
    Random *random = &program->random;
    unsigned a = any_cell(program, 32), b = any_cell(program, 32), relation = random_below(random, 6);
    unsigned held = 0, ran = 0;
    bool is_signed = random_below(random, 2), constant = random_below(random, 2), holds[TRIALS];
    int32_t k = (int32_t)any_bits(random);
    for (unsigned t = 0; t < TRIALS; t++) {
        uint64_t y = constant ? (uint32_t)k : program->cells[b].value[t];
        holds[t] = compares(relation, (int64_t)extend(program->cells[a].value[t], is_signed),
                            (int64_t)extend(y, is_signed));
        held += holds[t] && program->running[t];
        ran += program->running[t];
    }
    bool stay = 2 * held >= ran; /* where it holds */
    buf_printf(&program->text, "setp.%s.%c32 %%q%u, %%r%u, ", relations[relation], is_signed ? 's' : 'u',
               program->guards, a);
    if (constant)
        buf_printf(&program->text, "%d;\n", k);
    else
        buf_printf(&program->text, "%%r%u;\n", b);
    buf_printf(&program->text, "@%s%%q%u bra E;\n", stay ? "!" : "", program->guards++);
    for (unsigned t = 0; t < TRIALS; t++)
        program->running[t] &= holds[t] == stay;
}

/* Appends one instruction that defines %r<count> (32 bits) or %d<count> (64 bits). */
static void instruction_add(Program *program)
{
    Random *random = &program->random;
    Cell *cell = &program->cells[program->count];
    unsigned n = program->count, kind = random_below(random, 34), bits = random_below(random, 2) ? 64 : 32;
    char letter = bits == 64 ? 'd' : 'r';
    unsigned a = any_cell(program, bits), b = any_cell(program, bits), narrow = any_cell(program, 32);
    unsigned wide = any_cell(program, 64);
    int64_t k = (int64_t)random_below(random, 65) - 32;
    if (random_below(random, 4) == 0)
        k = (int32_t)any_bits(random);
    bool is_signed = random_below(random, 2);
    char sign = is_signed ? 's' : 'u';
    unsigned shift = random_below(random, bits + 4), mask = random_below(random, 2) ? 0x3fc : 0xfffffff0;
    Buf *text = &program->text;
    const Cell *x = &program->cells[a], *y = &program->cells[b];
    const Cell *z = &program->cells[narrow], *w = &program->cells[wide];
#define EACH(expression)                                                                                               \
    for (unsigned t = 0; t < TRIALS; t++)                                                                              \
        cell->value[t] = (expression);
    switch (kind) {
    case 0: case 1:
        buf_printf(text, "add.%c%u %%%c%u, %%%c%u, %%%c%u;\n", sign, bits, letter, n, letter, a, letter, b);
        EACH(x->value[t] + y->value[t]);
        break;
    case 2: case 3:
        buf_printf(text, "sub.%c%u %%%c%u, %%%c%u, %%%c%u;\n", sign, bits, letter, n, letter, a, letter, b);
        EACH(x->value[t] - y->value[t]);
        break;
    case 4: case 5:
        buf_printf(text, "add.s%u %%%c%u, %%%c%u, %lld;\n", bits, letter, n, letter, a, (long long)k);
        EACH(x->value[t] + (uint64_t)k);
        break;
    case 6:
        buf_printf(text, "mul.lo.s%u %%%c%u, %%%c%u, %lld;\n", bits, letter, n, letter, a, (long long)k);
        EACH(x->value[t] * (uint64_t)k);
        break;
    case 7:
        buf_printf(text, "mad.lo.s%u %%%c%u, %%%c%u, %lld, %%%c%u;\n", bits, letter, n, letter, a, (long long)k,
                   letter, b);
        EACH(x->value[t] * (uint64_t)k + y->value[t]);
        break;
    case 8: case 9:
        buf_printf(text, "shl.b%u %%%c%u, %%%c%u, %u;\n", bits, letter, n, letter, a, shift);
        EACH(shift < bits ? x->value[t] << shift : 0);
        break;
    case 10:
        buf_printf(text, "neg.s%u %%%c%u, %%%c%u;\n", bits, letter, n, letter, a);
        EACH(-x->value[t]);
        break;
    case 32:
        buf_printf(text, "not.b%u %%%c%u, %%%c%u;\n", bits, letter, n, letter, a);
        EACH(~x->value[t]);
        break;
    case 33:
        buf_printf(text, "xor.b%u %%%c%u, %%%c%u, %lld;\n", bits, letter, n, letter, a, -(1LL << shift % 8));
        EACH(x->value[t] ^ -(UINT64_C(1) << shift % 8));
        break;
    case 11:
        buf_printf(text, "or.b%u %%%c%u, %%%c%u, %u;\n", bits, letter, n, letter, a, shift % 8);
        EACH(x->value[t] | shift % 8);
        break;
    case 12:
        buf_printf(text, "and.b%u %%%c%u, %%%c%u, %u;\n", bits, letter, n, letter, a, mask);
        EACH(x->value[t] & mask);
        break;
    case 13:
        buf_printf(text, "shr.%c%u %%%c%u, %%%c%u, %u;\n", sign, bits, letter, n, letter, a, shift);
        EACH(is_signed ? (uint64_t)(as_signed(x->value[t], bits) >> (shift < bits ? shift : bits - 1))
             : shift < bits ? x->value[t] >> shift : 0);
        break;
    case 14:
        buf_printf(text, "rem.%c%u %%%c%u, %%%c%u, 12;\n", sign, bits, letter, n, letter, a);
        EACH(is_signed ? (uint64_t)(as_signed(x->value[t], bits) % 12) : x->value[t] % 12);
        break;
    case 15:
        bits = 64;
        buf_printf(text, "mul.wide.%c32 %%d%u, %%r%u, %lld;\n", sign, n, narrow, (long long)k);
        EACH(extend(z->value[t], is_signed) * extend((uint64_t)k, is_signed));
        break;
    case 16:
        bits = 64;
        buf_printf(text, "mad.wide.%c32 %%d%u, %%r%u, 8, %%d%u;\n", sign, n, narrow, wide);
        EACH(extend(z->value[t], is_signed) * 8 + w->value[t]);
        break;
    case 17: case 18:
        bits = 64;
        buf_printf(text, "cvt.%c64.%c32 %%d%u, %%r%u;\n", random_below(random, 2) ? 's' : 'u', sign, n, narrow);
        EACH(extend(z->value[t], is_signed));
        break;
    case 19:
        bits = 32;
        buf_printf(text, "cvt.u32.u64 %%r%u, %%d%u;\n", n, wide);
        EACH(w->value[t]);
        break;
    case 20:
        bits = 32;
        buf_printf(text, "mov.u32 %%r%u, %s;\n", n, is_signed ? "%ntid.x" : "%tid.x");
        EACH(is_signed ? program->ntid[t] : program->tid[t]);
        break;
    case 21:
        bits = 32;
        buf_printf(text, "mov.u32 %%r%u, %%ctaid.x;\n", n);
        EACH(program->ctaid[t]);
        break;
    case 24: case 25:
        buf_printf(text, "mul.lo.%c%u %%%c%u, %%%c%u, %%%c%u;\n", sign, bits, letter, n, letter, a, letter, b);
        EACH(x->value[t] * y->value[t]);
        break;
    case 26: {
        const Cell *c = &program->cells[any_cell(program, bits)];
        buf_printf(text, "mad.lo.s%u %%%c%u, %%%c%u, %%%c%u, %%%c%u;\n", bits, letter, n, letter, a, letter, b, letter,
                   (unsigned)(c - program->cells));
        EACH(x->value[t] * y->value[t] + c->value[t]);
        break;
    }
    case 27: {
        unsigned other = any_cell(program, 32);
        const Cell *c = &program->cells[other];
        bits = 64;
        buf_printf(text, "mul.wide.%c32 %%d%u, %%r%u, %%r%u;\n", sign, n, narrow, other);
        EACH(extend(z->value[t], is_signed) * extend(c->value[t], is_signed));
        break;
    }
    case 28: case 29: {
        /* neighbours, in 32 bits */
        bits = 32;
        int32_t by = (int32_t)random_below(random, 9) - 4;
        buf_printf(text, "add.s32 %%r%u, %%r%u, %d;\n", n, narrow, by);
        EACH(z->value[t] + (uint64_t)(int64_t)by);
        break;
    }
    case 30: {
        /* through registers of 16 bits, whose bounds are known */
        const unsigned by = random_below(random, 18), least = by < 16 ? by : is_signed ? 15 : 16;
        const uint64_t factor = random_below(random, 2) ? 1 : random_below(random, 300);
        bits = 32;
        buf_printf(text, "cvt.%c16.u32 %%h%u, %%r%u; shr.%c16 %%h%u, %%h%u, %u;\n", sign, n, narrow, sign, n + 60, n,
                   by);
        if (factor == 1)
            buf_printf(text, "cvt.%c32.%c16 %%r%u, %%h%u;\n", sign, sign, n, n + 60);
        else
            buf_printf(text, "mul.wide.%c16 %%r%u, %%h%u, %u;\n", sign, n, n + 60, (unsigned)factor);
        EACH((is_signed ? (uint64_t)(as_signed(z->value[t], 16) >> least) : (z->value[t] & 0xffff) >> least) * factor);
        break;
    }
    case 22:
        bits = 32;
        buf_printf(text, "ld.global.u16 %%r%u, [%%d%u];\n", n, wide);
        EACH(any_bits(random) & 0xffff);
        break;
    default:
        bits = 32;
        buf_printf(text, "bfe.%c32 %%r%u, %%r%u, 4, 5;\n", sign, n, narrow);
        EACH((z->value[t] >> 4 & 31) | (is_signed && z->value[t] >> 8 & 1 ? ~UINT64_C(31) : 0));
        break;
    }
    cell->bits = bits;
    memcpy(cell->reached, program->running, sizeof cell->reached);
    for (unsigned t = 0; t < TRIALS && bits == 32; t++)
        cell->value[t] = (uint32_t)cell->value[t];
    program->count++;
}

static void program_make(Program *program)
{
    Random *random = &program->random;
    Cell *cells = program->cells;
    for (unsigned t = 0; t < TRIALS; t++) {
        program->tid[t] = random_below(random, 3) ? random_below(random, 1024) : 1023;
        program->ntid[t] = random_below(random, 2) ? 1024 : program->tid[t] + 1;
        program->ctaid[t] = random_below(random, 2) ? random_below(random, 4000) : 2147483646;
        program->n[t] = (uint32_t)any_bits(random);
        program->p[t] = any_bits(random);
        cells[0].value[t] = program->n[t];
        cells[1].value[t] = program->p[t];
        cells[2].value[t] = (uint32_t)any_bits(random);
        cells[3].value[t] = any_bits(random);
        cells[4].value[t] = program->tid[t];
        program->running[t] = true;
        for (unsigned i = 0; i < 5; i++)
            cells[i].reached[t] = true;
    }
    cells[0].bits = cells[2].bits = cells[4].bits = 32;
    cells[1].bits = cells[3].bits = 64;
    buf_puts(&program->text, ".visible .entry k(.param .u64 p, .param .u32 n)\n{\n"
                             ".reg .u32 %r<60>; .reg .u64 %d<60>; .reg .pred %q<60>; .reg .u16 %h<120>;\n"
                             "ld.param.u32 %r0, [n]; ld.param.u64 %d1, [p];\n"
                             "ld.global.u32 %r2, [%d1]; ld.global.u64 %d3, [%d1]; mov.u32 %r4, %tid.x;\n");
    for (program->count = 5; program->count < LENGTH;) {
        instruction_add(program);
        if (random_below(random, 8) == 0)
            guard_add(program);
    }
    buf_puts(&program->text, "E: ret;\n}\n");
}

static const Cell *reg_cell(const Program *program, const Body *body, RegId reg)
{
    return &program->cells[atoi(body->regs.data[reg].name + 2)];
}

static uint64_t reg_value(const Program *program, const Body *body, RegId reg, unsigned trial)
{
    return reg_cell(program, body, reg)->value[trial];
}

static uint64_t form_value(const Program *program, const Body *body, const AffineForm *form, unsigned trial)
{
    uint64_t sum = (uint64_t)form->constant;
    for (unsigned i = 0; i < form->term_count; i++) {
        const AffineTerm *term = &form->terms[i];
        uint64_t base = 0;
        switch (term->base) {
        case AFFINE_VALUE: base = reg_value(program, body, term->reg, trial); break;
        case AFFINE_SIGNED: base = extend(reg_value(program, body, term->reg, trial), true); break;
        case AFFINE_SREG:
            base = !strcmp(term->sreg->name, "%tid.x")    ? program->tid[trial]
                   : !strcmp(term->sreg->name, "%ntid.x") ? program->ntid[trial]
                                                          : program->ctaid[trial];
            break;
        case AFFINE_PARAM:
            base = !strcmp(term->variable->name, "n") ? program->n[trial] : program->p[trial];
            break;
        default: fail();
        }
        if (term->bounded)
            assert_true((int64_t)base >= term->low && (int64_t)base <= term->high);
        sum += base * (uint64_t)term->coefficient;
    }
    return form->bits == 32 ? (uint32_t)sum : sum;
}

static bool overlap(uint64_t a, uint64_t a_bytes, uint64_t b, uint64_t b_bytes, unsigned bits)
{
    uint64_t forward = a - b, back = b - a;
    if (bits == 32) {
        forward = (uint32_t)forward;
        back = (uint32_t)back;
    }
    return forward < b_bytes || back < a_bytes;
}

static void test_random_code(void **state)
{
    (void)state;
    unsigned apart = 0, same = 0;
    for (unsigned round = 0; round < 400; round++) {
        Program program = {.random = {round + 1}};
        program_make(&program);
        Body *body = body_parse(program.text.data);
        Arena *arena = arena_new();
        Affine *affine = affine_compute(arena, body, NULL, NULL);
        for (RegId reg = 0; reg < body->regs.count; reg++) {
            AffineForm form = affine_of_reg(affine, reg);
            const Cell *cell = reg_cell(&program, body, reg);
            if (type_bits(body->regs.data[reg].type) < 32)
                continue;
            assert_int_equal(form.bits, cell->bits);
            for (unsigned t = 0; t < TRIALS; t++)
                assert_true(!cell->reached[t] ||
                            form_value(&program, body, &form, t) == reg_value(&program, body, reg, t));
        }
        for (RegId x = 0; x < body->regs.count; x++)
            for (RegId y = 0; y < body->regs.count; y++) {
                AffineForm a = affine_of_reg(affine, x), b = affine_of_reg(affine, y);
                if (!a.bits || !b.bits)
                    continue;
                uint64_t a_bytes = 1u << (x + y) % 5, b_bytes = 1u << x % 4;
                Alias alias = affine_compare(&a, a_bytes, &b, b_bytes);
                apart += alias == ALIAS_NONE;
                same += alias == ALIAS_SAME && x != y;
                for (unsigned t = 0; t < TRIALS; t++) {
                    if (!reg_cell(&program, body, x)->reached[t] || !reg_cell(&program, body, y)->reached[t])
                        continue;
                    uint64_t u = reg_value(&program, body, x, t), v = reg_value(&program, body, y, t);
                    if (alias == ALIAS_NONE)
                        assert_false(overlap(u, a_bytes, v, b_bytes, a.bits < b.bits ? a.bits : b.bits));
                    else if (alias == ALIAS_SAME)
                        assert_true(u == v);
                }
            }
        arena_free(arena);
        body_drop(body);
        buf_free(&program.text);
    }
    /* The test is meaningless unless enough sums are known. */
    assert_true(apart > 1000 && same > 500);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sums),     cmocka_unit_test(test_phis),
        cmocka_unit_test(test_phi_of_paths), cmocka_unit_test(test_products),
        cmocka_unit_test(test_joined_conditions),
        cmocka_unit_test(test_random_code),
    };
    return cmocka_run_group_tests_name("analysis_affine", tests, NULL, NULL);
}
