/* See front_kernel.h. An iteration i loads something, goes to an inner loop, whose rounds depend on i, or past it, and
 * ends in a rest that stores. Loads and stores are in 48 words that each thread has of its own, through pointers and
 * indices: what the rest of an iteration stores, fronts of later ones may load, in some rounds, in all, or in none. */
#include "front_kernel.h"

#include "kernel_writer.h"

enum { RESULTS = 48, VALUES = 5, MOST_ROUNDS = 12 };

typedef struct Maker {
    Writer to;
    unsigned n, m;   /* passed by the launch */
    int reach;       /* of the pointers of the inner loop, in bytes a round */
    bool is_harmless; /* the rest stores results alone */
} Maker;

static unsigned value(Maker *m)
{
    return below(&m->to, VALUES);
}

/* The address of an own word, which depends on the iteration alone; the offset to add. */
static int own_address(Maker *m, unsigned t)
{
    const unsigned factor = below(&m->to, 3);
    line(&m->to, "mad.lo.s32 %%t%u, %%i, %u, %u;", t, factor, below(&m->to, RESULTS - MOST_ROUNDS * 2 - 2));
    line(&m->to, "mul.wide.u32 %%a%u, %%t%u, 4;", t, t);
    line(&m->to, "add.s64 %%a%u, %%own, %%a%u;", t, t);
    return 4 * (int)below(&m->to, 2);
}

static void make_load(Maker *m)
{
    const unsigned t = temporary(&m->to);
    const int offset = own_address(m, t);
    line(&m->to, "ld.global.u32 %%v%u, [%%a%u+%d];", value(m), t, offset);
}

static void make_arithmetic(Maker *m)
{
    const unsigned t = temporary(&m->to), a = value(m), b = value(m), c = value(m);
    switch (below(&m->to, 4)) {
    case 0: line(&m->to, "mad.lo.u32 %%v%u, %%v%u, 5, %%v%u;", a, b, c); break;
    case 1: line(&m->to, "add.u32 %%v%u, %%v%u, %%i;", a, b); break;
    case 2:
        line(&m->to, "setp.lt.u32 %%p%u, %%v%u, %%v%u;", t, a, b);
        line(&m->to, "@%%p%u xor.b32 %%v%u, %%v%u, %%v%u;", t, b, b, c);
        break;
    default: line(&m->to, "xor.b32 %%v%u, %%v%u, %%v%u;", a, a, b);
    }
}

/* Some iterations go past the inner loop. */
static void make_lead(Maker *m)
{
    for (unsigned count = below(&m->to, 3); count--;)
        make_load(m);
    for (unsigned count = below(&m->to, 3); count--;)
        make_arithmetic(m);
    if (chance(&m->to, 40)) {
        const unsigned t = temporary(&m->to);
        line(&m->to, "setp.%s.u32 %%p%u, %%i, %u;", chance(&m->to, 50) ? "lt" : "eq", t, below(&m->to, 4));
        line(&m->to, "@%%p%u bra REST;", t);
        if (chance(&m->to, 40))
            make_load(m);
    }
}

/* The inner loop's counter %%k, its step, and its bound. Gives the comparison. */
static const char *make_counter_start(Maker *m, int *step)
{
    switch (below(&m->to, 5)) {
    case 0:
        *step = 1;
        line(&m->to, "mov.u32 %%k, 0; add.u32 %%kend, %%i, %u;", below(&m->to, 3));
        return "lt.s32";
    case 1: /* from i to the end */
        *step = 1;
        line(&m->to, "mov.u32 %%k, %%i; mov.u32 %%kend, %%n;");
        return "lt.u32";
    case 2: /* backwards by twos, until equal: an unrolled loop's */
        *step = -2;
        line(&m->to, "add.u32 %%k, %%i, 3; and.b32 %%k, %%k, -2; mov.u32 %%kend, 0;");
        return "ne.s32";
    case 3: /* the same rounds in all */
        *step = 1;
        line(&m->to, "mov.u32 %%k, 0; mov.u32 %%kend, %%m;");
        return "ne.u32";
    default:
        *step = -4;
        line(&m->to, "mov.u32 %%k, 20; sub.u32 %%kend, 16, %%i;");
        return "gt.s32";
    }
}

static void make_inner_loop(Maker *m)
{
    int step;
    const char *compare = make_counter_start(m, &step);
    const unsigned start = m->reach < 0 ? 46 : 1 + below(&m->to, 16);
    const bool reads_table = chance(&m->to, 50), indexes = chance(&m->to, 20);
    line(&m->to, "add.s64 %%q, %%own, %u;", 4 * start);
    if (chance(&m->to, 30)) {
        line(&m->to, "mul.wide.u32 %%wide, %%i, 4;");
        line(&m->to, "%s.s64 %%q, %%q, %%wide;", m->reach < 0 ? "sub" : "add");
    }
    line(&m->to, "mad.lo.u32 %%index, %%i, %u, 7; and.b32 %%index, %%index, 127;", below(&m->to, 5));
    line(&m->to, "mul.wide.u32 %%wide, %%index, 4; add.s64 %%r, %%table, %%wide;");
    buf_puts(m->to.out, "INNER:\n");
    if (indexes) {
        line(&m->to, "xor.b32 %%index, %%k, %u; and.b32 %%index, %%index, 31;", below(&m->to, 8));
        line(&m->to, "mul.wide.u32 %%wide, %%index, 4; add.s64 %%s, %%own, %%wide;");
        line(&m->to, "ld.global.u32 %%v0, [%%s]; mad.lo.u32 %%v3, %%v3, 5, %%v0;");
    }
    line(&m->to, "ld.global.u32 %%v1, [%%q];");
    if (chance(&m->to, 30))
        line(&m->to, "ld.global.u32 %%v4, [%%q+%d]; mad.lo.u32 %%v3, %%v3, 7, %%v4;", 4 * ((int)below(&m->to, 3) - 1));
    if (reads_table)
        line(&m->to, "ld.global.nc.u32 %%v2, [%%r];");
    line(&m->to, "mad.lo.u32 %%v3, %%v3, 3, %%v1;");
    for (unsigned count = below(&m->to, 3); count--;)
        make_arithmetic(m);
    line(&m->to, "add.s64 %%q, %%q, %d;", m->reach);
    line(&m->to, "add.s64 %%r, %%r, 4;");
    line(&m->to, "add.s32 %%k, %%k, %d;", step);
    line(&m->to, "setp.%s %%more, %%k, %%kend;", compare);
    line(&m->to, "@%%more bra INNER;");
}

static void make_store(Maker *m)
{
    const unsigned t = temporary(&m->to);
    if (m->is_harmless)
        return;
    const int offset = own_address(m, t);
    if (chance(&m->to, 20))
        line(&m->to, "setp.lt.u32 %%p%u, %%v0, %%v1;\n\t@%%p%u st.global.u32 [%%a%u+%d], %%v%u;", t, t, t, offset,
             value(m));
    else
        line(&m->to, "st.global.u32 [%%a%u+%d], %%v%u;", t, offset, value(m));
}

static void make_rest(Maker *m)
{
    buf_puts(m->to.out, "REST:\n");
    for (unsigned count = 1 + below(&m->to, 4); count--;)
        switch (below(&m->to, 5)) {
        case 0: make_load(m); break;
        case 1: make_arithmetic(m); break;
        case 2: {
            const unsigned t = temporary(&m->to), label = m->to.labels++;
            line(&m->to, "setp.lt.u32 %%p%u, %%v%u, %%v%u;", t, value(m), value(m));
            line(&m->to, "@%%p%u bra C%u;", t, label);
            make_store(m);
            make_arithmetic(m);
            buf_printf(m->to.out, "C%u:\n", label);
            break;
        }
        default: make_store(m);
        }
    if (chance(&m->to, 30)) /* what the inner loop counted */
        line(&m->to, "add.u32 %%v4, %%v4, %%k;");
    line(&m->to, "mad.lo.u32 %%v4, %%v4, 31, %%v3; xor.b32 %%v4, %%v4, %%v1;");
    line(&m->to, "mul.wide.u32 %%wide, %%i, 4; add.s64 %%s, %%own, %%wide;");
    line(&m->to, "st.global.u32 [%%s+%u], %%v4;", 4 * RESULTS);
}

void front_kernel(uint64_t seed, Arena *arena, Buf *text, Launch *launch)
{
    Buf code = {0};
    Maker m = {.to = {.random = {seed * UINT64_C(0x2545f4914f6cdd1d) + 77}, .out = &code}};
    m.n = 1 + below(&m.to, MOST_ROUNDS);
    m.m = 1 + below(&m.to, 4);
    m.reach = chance(&m.to, 70) ? 4 : chance(&m.to, 50) ? -4 : 0;
    m.is_harmless = chance(&m.to, 30);
    own_launch(&m.to, arena, m.n, m.m, launch);
    own_begin(&m.to);
    line(&m.to, "mov.u32 %%i, 0; mov.u32 %%k, 0;");
    buf_puts(&code, "LOOP:\n");
    for (unsigned v = 0; v < VALUES; v++)
        line(&m.to, "mad.lo.u32 %%v%u, %%%s, %u, %%x;", v, chance(&m.to, 60) ? "i" : "m", v + 3);
    line(&m.to, "mov.u32 %%k, 0;");
    make_lead(&m);
    make_inner_loop(&m);
    make_rest(&m);
    line(&m.to, "add.s32 %%i, %%i, 1;");
    line(&m.to, "setp.%s %%more, %%i, %%n;", chance(&m.to, 50) ? "lt.s32" : "ne.s32");
    line(&m.to, "@%%more bra LOOP;");
    for (unsigned v = 0; v < VALUES; v++)
        line(&m.to, "st.global.u32 [%%own+%u], %%v%u;", 4 * v, v);
    line(&m.to, "st.global.u32 [%%own+%u], %%k;", 4 * VALUES);
    line(&m.to, "ret;");
    const unsigned t = m.to.temporaries + 1;
    buf_puts(text, ".version 8.0\n.target sm_80\n.address_size 64\n"
                   ".visible .entry k(.param .u64 table, .param .u64 own, .param .u32 n, .param .u32 m)\n{\n");
    buf_printf(text, "\t.reg .b32 %%v<%u>, %%g<3>, %%n, %%m, %%x, %%i, %%k, %%kend, %%index;\n", VALUES);
    buf_printf(text, "\t.reg .b32 %%t<%u>;\n", t);
    buf_printf(text, "\t.reg .pred %%p<%u>, %%more;\n", t);
    buf_printf(text, "\t.reg .b64 %%a<%u>, %%table, %%all, %%own, %%q, %%r, %%s, %%wide;\n", t);
    buf_write(text, buf_text(&code), code.length);
    buf_puts(text, "}\n");
    buf_free(&code);
}
