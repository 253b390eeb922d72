/* See jam_kernel.h. Each thread has 64 words of its own, which the loop reads and writes through pointers that it
 * advances and through indices that it computes: iterations meet there at every distance, or never. Counters of all
 * kinds of comparisons and steps run for up to ten iterations, a known number or one from the launch. Values pass from
 * one iteration to the next: through one block, several, conditions or inner loops. */
#include "jam_kernel.h"

#include "kernel_writer.h"

enum { CARRIED = 3, VALUES = 5, MOST_ROUNDS = 10 };
/* Indices are of the words in the middle, so that some words more or less are still the thread's own. */
enum { EDGE = 16, MIDDLE = 32 };

typedef struct Maker {
    Writer to;
    unsigned n, m;    /* passed by the launch */
    unsigned rounds;
    int reach;        /* the step of the pointers, in bytes */
    bool stores, peaceful; /* peaceful: nothing that is sure to be refused */
    bool mixes;        /* accesses of several widths */
    bool sums;         /* the results of each iteration affect the final result */
    unsigned reduces;      /* percent of the stores that are updates instead */
    bool about_memory;     /* few other things: errors show where iterations meet */
} Maker;

static unsigned value(Maker *m)
{
    return below(&m->to, VALUES);
}

/* A predicate %%p that is true in some iterations. */
static void make_bit(Maker *m, unsigned t)
{
    line(&m->to, "shr.u32 %%t%u, %%v%u, %u;", t, value(m), below(&m->to, 3));
    line(&m->to, "and.b32 %%t%u, %%t%u, 1;", t, t);
    line(&m->to, "setp.eq.u32 %%p%u, %%t%u, 0;", t, t);
}

/* The address of an own word, to %%a; the offset to add. */
static int own_address(Maker *m, unsigned t)
{
    switch (m->about_memory && chance(&m->to, 50) ? 0 : below(&m->to, 5)) {
    case 0: /* a pointer that the loop advances */
        line(&m->to, "mov.u64 %%a%u, %%pointer;", t);
        return 4 * ((int)below(&m->to, 3) - 1);
    case 1:
        line(&m->to, "mov.u64 %%a%u, %%back;", t);
        return 4 * (int)below(&m->to, 2);
    case 2: /* an index of the iteration */
        line(&m->to, "mad.lo.s32 %%t%u, %%i, %u, %u;", t, below(&m->to, 4), below(&m->to, MIDDLE));
        line(&m->to, "and.b32 %%t%u, %%t%u, %u;", t, t, MIDDLE - 1);
        line(&m->to, "mul.wide.u32 %%a%u, %%t%u, 4;", t, t);
        line(&m->to, "add.s64 %%a%u, %%own, %%a%u;", t, t);
        return 4 * EDGE;
    case 3: /* one place in all iterations */
        line(&m->to, "mov.u64 %%a%u, %%own;", t);
        return 4 * (int)(EDGE + below(&m->to, MIDDLE));
    default: /* an index that is only known inside */
        if (m->peaceful) {
            line(&m->to, "mul.wide.s32 %%a%u, %%i, 4;", t);
            line(&m->to, "and.b64 %%a%u, %%a%u, %u;", t, t, 4 * (MIDDLE - 1));
            line(&m->to, "add.s64 %%a%u, %%a%u, %%own;", t, t);
            return 4 * EDGE;
        }
        line(&m->to, "and.b32 %%t%u, %%v%u, %u;", t, value(m), MIDDLE - 1);
        line(&m->to, "mul.wide.u32 %%a%u, %%t%u, 4;", t, t);
        line(&m->to, "add.s64 %%a%u, %%own, %%a%u;", t, t);
        return 4 * EDGE;
    }
}

/* The type of an access, and an offset that moves it within its word. Pointers that advance by single bytes are for
 * bytes only. */
static const char *width(Maker *m, int *offset)
{
    bool is_byte = m->reach % 4 != 0 || chance(&m->to, m->mixes ? 45 : 10);
    if (is_byte) {
        *offset += (int)below(&m->to, 4);
        return "u8";
    }
    if (chance(&m->to, 85))
        return "u32";
    *offset += 2 * (int)below(&m->to, 2);
    return "u16";
}

static void make_load(Maker *m)
{
    unsigned t = temporary(&m->to);
    if (chance(&m->to, m->about_memory ? 10 : m->peaceful ? 70 : 40)) {
        line(&m->to, "add.s32 %%t%u, %%i, %%v%u;", t, value(m));
        line(&m->to, "and.b32 %%t%u, %%t%u, %u;", t, t, TABLE_WORDS - 1);
        line(&m->to, "mul.wide.u32 %%a%u, %%t%u, 4;", t, t);
        line(&m->to, "add.s64 %%a%u, %%table, %%a%u;", t, t);
        line(&m->to, "ld.global.nc.u32 %%v%u, [%%a%u];", value(m), t);
        return;
    }
    int offset = own_address(m, t);
    line(&m->to, "ld.global.%s %%v%u, [%%a%u+%d];", width(m, &offset), value(m), t, offset);
}

/* An update of an own word, of which some are of one kind, and some have the same value as others. */
static void make_red(Maker *m)
{
    static const char *const operations[] = {"add", "add", "add", "xor", "min", "inc"};
    const char *op = operations[below(&m->to, COUNT_OF(operations))];
    unsigned t = temporary(&m->to);
    const int offset = own_address(m, t);
    if (chance(&m->to, 50))
        line(&m->to, "red.global.%s.%s32 [%%a%u+%d], 5;", op, *op == 'x' ? "b" : "u", t, offset);
    else
        line(&m->to, "red.global.%s.%s32 [%%a%u+%d], %%v%u;", op, *op == 'x' ? "b" : "u", t, offset, value(m));
}

static void make_store(Maker *m)
{
    unsigned t = temporary(&m->to);
    if (!m->stores)
        return;
    if (m->reach % 4 == 0 && chance(&m->to, m->reduces)) {
        make_red(m);
        return;
    }
    int offset = own_address(m, t);
    if (chance(&m->to, 20)) {
        make_bit(m, t);
        line(&m->to, "@%%p%u st.global.%s [%%a%u+%d], %%v%u;", t, width(m, &offset), t, offset, value(m));
        return;
    }
    line(&m->to, "st.global.%s [%%a%u+%d], %%v%u;", width(m, &offset), t, offset, value(m));
}

/* A store and a load by one address, of places that other iterations may have. */
static void make_pair(Maker *m)
{
    unsigned t = temporary(&m->to), a = value(m), b = value(m);
    int reach = m->about_memory ? 7 : 2;
    int offset = own_address(m, t), other = offset + 4 * ((int)below(&m->to, 2 * (unsigned)reach + 1) - reach);
    bool loads_first = chance(&m->to, 50);
    if (loads_first)
        line(&m->to, "ld.global.u32 %%v%u, [%%a%u+%d];", a, t, offset);
    if (m->stores)
        line(&m->to, "st.global.u32 [%%a%u+%d], %%v%u;", t, other, b);
    if (!loads_first)
        line(&m->to, "ld.global.u32 %%v%u, [%%a%u+%d];", a, t, offset);
}

static void make_arithmetic(Maker *m)
{
    unsigned t = temporary(&m->to), a = value(m), b = value(m), c = value(m);
    switch (below(&m->to, 5)) {
    case 0: line(&m->to, "mad.lo.u32 %%v%u, %%v%u, 5, %%v%u;", a, b, c); break;
    case 1: line(&m->to, "add.u32 %%v%u, %%v%u, %%i;", a, b); break;
    case 2:
        line(&m->to, "setp.lt.u32 %%p%u, %%v%u, %%v%u;", t, a, b);
        line(&m->to, "selp.b32 %%v%u, %%v%u, %%i, %%p%u;", a, c, t);
        break;
    case 3:
        make_bit(m, t);
        line(&m->to, "@%%p%u xor.b32 %%v%u, %%v%u, %%v%u;", t, b, b, c);
        break;
    default: /* two words with a carry between them, and perhaps something else */
        line(&m->to, "add.cc.u32 %%t%u, %%v%u, %%v%u;", t, a, b);
        if (chance(&m->to, 50))
            line(&m->to, "xor.b32 %%v%u, %%v%u, %%t%u;", c, c, t);
        line(&m->to, "addc.u32 %%v%u, %%v%u, 7;", a, b);
    }
}

/* Passes a value on to the next iteration. */
static void make_carried(Maker *m)
{
    unsigned c = below(&m->to, CARRIED), t = temporary(&m->to);
    switch (below(&m->to, 4)) {
    case 0: line(&m->to, "mad.lo.u32 %%c%u, %%c%u, 3, %%v%u;", c, c, value(m)); break;
    case 1: /* in several instructions, with others between them */
        line(&m->to, "shl.b32 %%t%u, %%c%u, 1;", t, c);
        make_arithmetic(m);
        if (chance(&m->to, 30))
            make_load(m);
        line(&m->to, "xor.b32 %%c%u, %%t%u, %%v%u;", c, t, value(m));
        break;
    case 2: /* and is read */
        line(&m->to, "add.u32 %%c%u, %%c%u, %%v%u;", c, c, value(m));
        line(&m->to, "xor.b32 %%v%u, %%v%u, %%c%u;", value(m), value(m), below(&m->to, CARRIED));
        break;
    default: line(&m->to, "max.u32 %%c%u, %%c%u, %%v%u;", c, c, value(m)); break;
    }
}

static void make_items(Maker *m, unsigned depth, unsigned count);

static void make_condition(Maker *m, unsigned depth)
{
    unsigned label = m->to.labels++, t = temporary(&m->to);
    if (chance(&m->to, m->peaceful ? 100 : 80))
        line(&m->to, "setp.%s.u32 %%p%u, %%m, %u;", chance(&m->to, 50) ? "lt" : "ge", t, below(&m->to, 6));
    else
        make_bit(m, t);
    line(&m->to, "@%%p%u bra C%u;", t, label);
    make_items(m, depth + 1, 1 + below(&m->to, 2));
    buf_printf(m->to.out, "C%u:\n", label);
}

static void make_inner_loop(Maker *m, unsigned depth)
{
    unsigned label = m->to.labels++, t = temporary(&m->to), sum = value(m);
    line(&m->to, "mov.u32 %%k%u, 0;", t);
    buf_printf(m->to.out, "L%u:\n", label);
    for (unsigned v = 0; v < VALUES && m->about_memory; v++)
        line(&m->to, "add.u32 %%v%u, %%v%u, %%k%u;", v, v, t);
    line(&m->to, "add.u32 %%v%u, %%v%u, %%k%u;", sum, sum, t);
    make_items(m, depth + 1, (m->about_memory ? 2 : 1) + below(&m->to, 2));
    for (unsigned v = 0; v < VALUES && m->about_memory; v++) /* the loads of each iteration affect the result */
        line(&m->to, "mad.lo.u32 %%inner, %%inner, 17, %%v%u;", v);
    line(&m->to, "add.u32 %%k%u, %%k%u, 1;", t, t);
    if (m->peaceful || chance(&m->to, 85))
        line(&m->to, "setp.lt.u32 %%p%u, %%k%u, %%m;", t, t);
    else
        line(&m->to, "setp.lt.u32 %%p%u, %%k%u, %u;", t, t, 1 + below(&m->to, 3));
    line(&m->to, "@%%p%u bra L%u;", t, label);
}

static void make_items(Maker *m, unsigned depth, unsigned count)
{
    while (count--)
        switch (m->about_memory && chance(&m->to, 60) ? below(&m->to, 3) : below(&m->to, 10)) {
        case 0:
            if (m->about_memory && m->reach % 4 == 0) {
                make_pair(m);
                break;
            }
            /* fall through */
        case 1: make_load(m); break;
        case 2: make_store(m); break;
        case 3:
        case 4:
            if (!depth || !m->peaceful) {
                make_carried(m);
                break;
            }
            /* fall through */
        case 5:
        case 6: make_arithmetic(m); break;
        case 7:
            if (depth < 2) {
                make_condition(m, depth);
                break;
            }
            /* fall through */
        default:
            if (depth < 2)
                make_inner_loop(m, depth);
            else
                make_arithmetic(m);
        }
}

/* A counter %%i from 'start', and the comparison that ends the loop after n iterations. */
static void make_counter(Maker *m, int step, int start)
{
    static const char *const up[] = {"lt.s32", "le.s32", "ne.s32", "ne.u32", "lt.u32"};
    static const char *const down[] = {"gt.s32", "ge.s32", "ne.s32", "ne.u32", "gt.s32"};
    static const char *const swapped_up[] = {"gt.s32", "ge.s32", "ne.s32", "ne.u32", "gt.u32"};
    static const char *const swapped_down[] = {"lt.s32", "le.s32", "ne.s32", "ne.u32", "lt.s32"};
    /* At the end of the signed numbers, only some comparisons end the loop. */
    unsigned kind = start > 1000 ? (step > 0 ? 2 + below(&m->to, 3) : 2 + below(&m->to, 2)) : below(&m->to, 5);
    int end = (int)((unsigned)start + (unsigned)step * m->rounds), slack = step > 0 ? step : -step;
    bool orders = kind < 2 || kind == 4, is_inverted = chance(&m->to, 30);
    if (orders)
        end = (int)((unsigned)end + (step > 0 ? -1u : 1u) * below(&m->to, (unsigned)slack));
    if (kind == 1)
        end -= step > 0 ? 1 : -1;
    line(&m->to, "add.s32 %%i, %%i, %s;", chance(&m->to, 40) ? "%step" : step > 0 ? "%up" : "%down");
    if (chance(&m->to, 50))
        line(&m->to, "mov.u32 %%end, %d;", end);
    else /* from the launch: n is the number of iterations */
        line(&m->to, "mad.lo.s32 %%end, %%n, %d, %d;", step, (int)((unsigned)end - (unsigned)step * m->rounds));
    if (chance(&m->to, 80))
        line(&m->to, "setp.%s %%more, %%i, %%end;", step > 0 ? up[kind] : down[kind]);
    else
        line(&m->to, "setp.%s %%more, %%end, %%i;", step > 0 ? swapped_up[kind] : swapped_down[kind]);
    if (!m->peaceful && chance(&m->to, 30)) { /* or earlier, depending on the values */
        unsigned t = temporary(&m->to);
        make_bit(m, t);
        line(&m->to, "and.pred %%more, %%more, %%p%u;", t);
    }
    if (is_inverted)
        line(&m->to, "not.pred %%more, %%more;");
    if (chance(&m->to, 15)) /* the way back is a block of its own */
        line(&m->to, "@%s%%more bra DONE;\n\tbra.uni LOOP;\nDONE:", is_inverted ? "" : "!");
    else
        line(&m->to, "@%s%%more bra LOOP;", is_inverted ? "!" : "");
}

static void make_body(Maker *m)
{
    int step = (int)below(&m->to, 4) + 1, start = (int)below(&m->to, 5);
    if (chance(&m->to, 25)) {
        step = -step;
        start += 50;
    }
    if (chance(&m->to, 15))
        start += step > 0 ? INT32_MAX - 20 : INT32_MAX - 80;
    line(&m->to, "mov.u32 %%i, %d;", start);
    line(&m->to, "mov.u32 %%up, %d; mov.u32 %%down, %d; sub.s32 %%step, %%m, %d;", step, step, (int)m->m - step);
    line(&m->to, "add.s64 %%pointer, %%own, %u; add.s64 %%back, %%own, %u;", 4 * OWN_WORDS / 2,
         4 * (OWN_WORDS / 2 + 8));
    for (unsigned c = 0; c < CARRIED; c++)
        line(&m->to, "mad.lo.u32 %%c%u, %%x, %u, %u;", c, c + 7, c);
    line(&m->to, "mov.u32 %%sum, %%x;");
    buf_puts(m->to.out, "LOOP:\n");
    for (unsigned v = 0; v < VALUES; v++)
        line(&m->to, "mad.lo.u32 %%v%u, %%%s, %u, %%x;", v, chance(&m->to, 60) ? "i" : "m", v + 3);
    line(&m->to, "mov.u32 %%inner, 0;");
    if (m->about_memory && chance(&m->to, 40))
        make_inner_loop(m, 0);
    else
        make_items(m, 0, 2 + below(&m->to, 5));
    line(&m->to, "add.u32 %%v0, %%v0, %%inner;");
    for (unsigned v = 0; v < VALUES && m->sums; v++)
        line(&m->to, "mad.lo.u32 %%sum, %%sum, 31, %%v%u;", v);
    if (m->about_memory || chance(&m->to, 50))
        line(&m->to, "add.s64 %%pointer, %%pointer, %d;", m->reach);
    if (chance(&m->to, 15)) { /* sometimes */
        unsigned t = temporary(&m->to);
        make_bit(m, t);
        line(&m->to, "@%%p%u sub.s64 %%back, %%back, 4;", t);
    } else if (chance(&m->to, 50)) {
        line(&m->to, "sub.s64 %%back, %%back, 4;");
    }
    make_counter(m, step, start);
}

void jam_kernel(uint64_t seed, Arena *arena, Buf *text, Launch *launch)
{
    Buf code = {0};
    Maker m = {.to = {.random = {seed * UINT64_C(0x2545f4914f6cdd1d) + 31}, .out = &code}};
    m.rounds = m.n = 1 + below(&m.to, MOST_ROUNDS);
    m.m = 1 + below(&m.to, 4);
    m.mixes = chance(&m.to, 30);
    m.sums = chance(&m.to, 85);
    m.about_memory = chance(&m.to, 50);
    m.reach = chance(&m.to, 80) ? 4 * ((int)below(&m.to, 5) - 2) : (int)below(&m.to, 7) - 3;
    m.stores = chance(&m.to, 70);
    m.peaceful = chance(&m.to, 75);
    m.reduces = chance(&m.to, 70) ? 0 : chance(&m.to, 50) ? 40 : 100;
    own_launch(&m.to, arena, m.n, m.m, launch);
    own_begin(&m.to);
    make_body(&m);
    for (unsigned v = 0; v < VALUES; v++)
        line(&m.to, "st.global.u32 [%%own+%u], %%v%u;", 4 * v, v);
    for (unsigned c = 0; c < CARRIED; c++)
        line(&m.to, "st.global.u32 [%%own+%u], %%c%u;", 4 * (VALUES + c), c);
    line(&m.to, "st.global.u32 [%%own+%u], %%i;", 4 * (VALUES + CARRIED));
    line(&m.to, "st.global.u32 [%%own+%u], %%sum;", 4 * (VALUES + CARRIED + 1));
    line(&m.to, "ret;");
    unsigned t = m.to.temporaries + 1;
    buf_puts(text, ".version 8.0\n.target sm_80\n.address_size 64\n"
                   ".visible .entry k(.param .u64 table, .param .u64 own, .param .u32 n, .param .u32 m)\n{\n");
    buf_printf(text, "\t.reg .b32 %%v<%u>, %%c<%u>, %%g<3>, %%n, %%m, %%x, %%i, %%end, %%up, %%down;\n",
               VALUES,
               CARRIED);
    buf_printf(text, "\t.reg .b32 %%step, %%sum, %%inner, %%t<%u>, %%k<%u>;\n\t.reg .pred %%p<%u>, %%more;\n", t, t, t);
    buf_printf(text, "\t.reg .b64 %%a<%u>, %%table, %%all, %%own, %%pointer, %%back;\n", t);
    buf_write(text, buf_text(&code), code.length);
    buf_puts(text, "}\n");
    buf_free(&code);
}
