/* See flat_kernel.h. The thread's number, or a sum with it that may be negative or wrap, is divided by one or two
 * numbers, which the launch passes or the kernel contains, in the forms that compilers write: as div and rem, as the
 * product that gives the remainder, by multiplications and shifts, with 32 or 64 bits, and with a test for 64-bit
 * values that fit in 32. Quotients and remainders are then rows and columns: addresses of loads, in loops and outside,
 * conditions, numbers of rounds, starts of sums, and parts of the result. */
#include "flat_kernel.h"

#include "kernel_writer.h"

enum { IN = 4096, OWN = 4, PLACES = 6 };

typedef struct Maker {
    Writer to;
    unsigned length, channels; /* the divisors: n and m of the launch */
    bool is_wide, is_signed;   /* of the division */
    bool lengths_are_constant;
    bool ends_early; /* some threads are not there any more */
    unsigned places; /* %x0, ... of 32 bits: quotients and remainders */
} Maker;

static const char *wide_or(const Maker *m, const char *wide, const char *narrow)
{
    return m->is_wide ? wide : narrow;
}

/* 32 bits of a quotient or a remainder, for the code that follows. */
static void place_add(Maker *m, unsigned t, const char *name)
{
    if (m->places == PLACES)
        return;
    line(&m->to, "%s %%x%u, %%%s%s%u;", wide_or(m, "cvt.u32.u64", "mov.b32"), m->places, name, wide_or(m, "w", ""), t);
    m->places++;
}

/* Quotient and remainder of 64 bits, by 32 where both fit, as nvcc divides. */
static void divide_guarded(Maker *m, unsigned t, const char *from, const char *by)
{
    const unsigned label = m->to.labels++;
    line(&m->to, "or.b64 %%e%u, %s, %s; and.b64 %%e%u, %%e%u, -4294967296; setp.eq.s64 %%p%u, %%e%u, 0;", t, from, by,
         t, t, t, t);
    line(&m->to, "@%%p%u bra N%u;", t, label);
    line(&m->to, "div.%c64 %%qw%u, %s, %s; mul.lo.s64 %%e%u, %%qw%u, %s; sub.s64 %%rw%u, %s, %%e%u;",
         m->is_signed ? 's' : 'u', t, from, by, t, t, by, t, from, t);
    line(&m->to, "bra.uni M%u;", label);
    buf_printf(m->to.out, "N%u:\n", label);
    line(&m->to, "cvt.u32.u64 %%s%u, %s; cvt.u32.u64 %%k%u, %s; div.u32 %%q%u, %%k%u, %%s%u;", t, by, t, from, t, t, t);
    line(&m->to, "mul.lo.s32 %%a%u, %%q%u, %%s%u; sub.s32 %%r%u, %%k%u, %%a%u;", t, t, t, t, t, t);
    line(&m->to, "cvt.u64.u32 %%qw%u, %%q%u; cvt.u64.u32 %%rw%u, %%r%u;", t, t, t, t);
    buf_printf(m->to.out, "M%u:\n", label);
}

/* Division of unsigned integers by a constant, as compilers write it; false if they do not write it so. */
static bool divide_by_constant(Maker *m, unsigned t, const char *from, unsigned by)
{
    if (m->is_wide || by < 2)
        return false;
    if (!(by & (by - 1))) {
        line(&m->to, "shr.%c32 %%q%u, %s, %d; and.b32 %%r%u, %s, %u;", m->is_signed ? 's' : 'u', t, from,
             __builtin_ctz(by), t, from, by - 1);
        return true;
    }
    if (m->is_signed || by % 3 || by / 3 & (by / 3 - 1))
        return false;
    line(&m->to, "mul.hi.u32 %%k%u, %s, -1431655765; shr.u32 %%q%u, %%k%u, %d;", t, from, t, t,
         1 + __builtin_ctz(by / 3));
    line(&m->to, "mul.lo.s32 %%a%u, %%q%u, %u; sub.s32 %%r%u, %s, %%a%u;", t, t, by, t, from, t);
    return true;
}

/* %q and %r, or %qw and %rw. */
static unsigned divide(Maker *m, const char *from, const char *name, unsigned value)
{
    const unsigned t = temporary(&m->to);
    const char type = m->is_signed ? 's' : 'u', *wide = wide_or(m, "w", "");
    const int bits = m->is_wide ? 64 : 32;
    char by[16];
    if (m->lengths_are_constant && divide_by_constant(m, t, from, value))
        return t;
    if (m->lengths_are_constant)
        snprintf(by, sizeof by, "%u", value);
    else
        snprintf(by, sizeof by, "%%%s%s", name, wide);
    if (m->is_wide && !m->lengths_are_constant && chance(&m->to, 60)) {
        divide_guarded(m, t, from, by);
        return t;
    }
    const bool by_product = chance(&m->to, 60);
    line(&m->to, "div.%c%d %%q%s%u, %s, %s;", type, bits, wide, t, from, by);
    if (by_product)
        line(&m->to, "mul.lo.s%d %%%s%u, %%q%s%u, %s; sub.s%d %%r%s%u, %s, %%%s%u;", bits, wide_or(m, "e", "a"), t,
             wide, t, by, bits, wide, t, from, wide_or(m, "e", "a"), t);
    else
        line(&m->to, "rem.%c%d %%r%s%u, %s, %s;", type, bits, wide, t, from, by);
    return t;
}

/* Threads of a whole warp, or some of them, take another path for a moment. */
static void branch_write(Maker *m)
{
    const unsigned t = temporary(&m->to), label = m->to.labels++;
    line(&m->to, "setp.lt.u32 %%p%u, %s, %u; @%%p%u bra B%u;", t, chance(&m->to, 50) ? "%rounds" : "%g2",
         1 + below(&m->to, 4), t, label);
    line(&m->to, "add.u32 %%v, %%v, 17;");
    buf_printf(m->to.out, "B%u:\n", label);
}

/* The name of a number from 1 to 8 that is loaded here, or depends on a branch. */
static const char *loaded_divisor(Maker *m, char name[16])
{
    const unsigned t = temporary(&m->to);
    if (chance(&m->to, 50))
        line(&m->to, "ld.global.u32 %%s%u, [%%in+%u]; and.b32 %%s%u, %%s%u, 7; add.u32 %%s%u, %%s%u, 1;", t,
             4 * below(&m->to, 9), t, t, t, t);
    else
        line(&m->to, "and.b32 %%s%u, %%v, 7; add.u32 %%s%u, %%s%u, 1;", t, t, t);
    snprintf(name, 16, "s%u", t);
    return name;
}

/* Rows and columns of the index, perhaps with channels in each element, or groups of columns after a branch. */
static void make_places(Maker *m)
{
    char outer[16], by[16];
    const bool has_channels = chance(&m->to, 30), has_groups = !has_channels && chance(&m->to, 30);
    snprintf(outer, sizeof outer, "%%i%s", wide_or(m, "w", ""));
    if (has_channels) {
        const unsigned t = divide(m, outer, "m", m->channels);
        place_add(m, t, "r");
        snprintf(outer, sizeof outer, "%%q%s%u", wide_or(m, "w", ""), t);
    }
    const unsigned t = divide(m, outer, "n", m->length);
    const bool both = chance(&m->to, 70), row = chance(&m->to, 50);
    if (both || row)
        place_add(m, t, "q");
    if (both || !row)
        place_add(m, t, "r");
    if (!has_groups || m->is_wide)
        return;
    if (chance(&m->to, 60))
        branch_write(m);
    snprintf(outer, sizeof outer, "%%r%u", t);
    const unsigned inner = divide(m, outer, chance(&m->to, 70) ? "m" : loaded_divisor(m, by), m->channels);
    place_add(m, inner, "q");
    if (chance(&m->to, 30))
        place_add(m, inner, "r");
}

static unsigned random_place(Maker *m)
{
    return below(&m->to, m->places);
}

/* The address %b of a word that one or two places, and perhaps the round %k, choose. */
static void address_write(Maker *m, unsigned t, bool in_loop)
{
    static const unsigned factors[] = {1, 4, 16, 7, 64};
    line(&m->to, "mul.lo.u32 %%a%u, %%x%u, %u;", t, random_place(m), factors[below(&m->to, COUNT_OF(factors))]);
    if (chance(&m->to, 40))
        line(&m->to, "mad.lo.u32 %%a%u, %%x%u, %s, %%a%u;", t, random_place(m), chance(&m->to, 50) ? "3" : "%n", t);
    if (in_loop && chance(&m->to, 80))
        line(&m->to, "mad.lo.u32 %%a%u, %%j, %s, %%a%u;", t, chance(&m->to, 50) ? "1" : "%n", t);
    line(&m->to, "and.b32 %%a%u, %%a%u, %u; mul.wide.u32 %%e%u, %%a%u, 4; add.s64 %%b%u, %%in, %%e%u;", t, t, IN - 1, t,
         t, t, t);
}

static void load_write(Maker *m, unsigned t, unsigned offset)
{
    line(&m->to, "ld.global%s.u32 %%k%u, [%%b%u+%u];", chance(&m->to, 30) ? ".nc" : "", t, t, 4 * offset);
    line(&m->to, "mad.lo.u32 %%v, %%v, 5, %%k%u;", t);
}

/* In place of loads of the input, its own words: what is stored there is loaded again. */
static void own_write(Maker *m)
{
    const unsigned t = temporary(&m->to), place = below(&m->to, OWN);
    if (chance(&m->to, 60))
        line(&m->to, "st.global.u32 [%%own+%u], %%v;", 4 * place);
    else
        line(&m->to, "ld.global.u32 %%k%u, [%%own+%u]; xor.b32 %%v, %%v, %%k%u;", t, 4 * place, t);
}

static void together_write(Maker *m)
{
    const unsigned t = temporary(&m->to);
    if (m->ends_early)
        return;
    if (chance(&m->to, 50))
        line(&m->to, "bar.sync 0;");
    else
        line(&m->to, "shfl.sync.bfly.b32 %%k%u, %%v, 1, 31, -1; add.u32 %%v, %%v, %%k%u;", t, t);
}

static void statement_write(Maker *m, bool in_loop)
{
    const unsigned t = temporary(&m->to), label = m->to.labels++;
    switch (below(&m->to, 10)) {
    case 0: own_write(m); break;
    case 1: line(&m->to, "mad.lo.u32 %%v, %%x%u, 9, %%v;", random_place(m)); break;
    case 2:
        line(&m->to, "setp.%s.%c32 %%p%u, %%x%u, %u; @%%p%u bra S%u;", chance(&m->to, 50) ? "lt" : "ge",
             chance(&m->to, 50) ? 's' : 'u', t, random_place(m), below(&m->to, 6), t, label);
        address_write(m, t, in_loop);
        load_write(m, t, 0);
        buf_printf(m->to.out, "S%u:\n", label);
        break;
    default:
        address_write(m, t, in_loop);
        load_write(m, t, 0);
        if (chance(&m->to, 30))
            load_write(m, t, 1 + below(&m->to, 3));
        break;
    }
}

/* Rounds by a counter, some with a pointer that starts at a place and advances. */
static void loop_write(Maker *m)
{
    const unsigned t = temporary(&m->to), label = m->to.labels++, count = 1 + below(&m->to, 3);
    const bool walks = chance(&m->to, 50), of_place = chance(&m->to, 10);
    if (of_place)
        line(&m->to, "and.b32 %%s%u, %%x%u, 7; add.u32 %%s%u, %%s%u, 1;", t, random_place(m), t, t);
    else
        line(&m->to, "mov.u32 %%s%u, %%rounds;", t);
    if (chance(&m->to, 10))
        line(&m->to, "mov.u32 %%v, %%x%u;", random_place(m));
    if (walks)
        line(&m->to, "and.b32 %%q%u, %%x%u, 255; mul.wide.u32 %%c%u, %%q%u, 4; add.s64 %%c%u, %%c%u, %%in;", t,
             random_place(m), t, t, t, t);
    line(&m->to, "mov.u32 %%j, 0; setp.eq.u32 %%p%u, %%s%u, 0; @%%p%u bra E%u;", t, t, t, label);
    buf_printf(m->to.out, "L%u:\n", label);
    if (walks) {
        line(&m->to, "ld.global.u32 %%k%u, [%%c%u]; mad.lo.u32 %%v, %%v, 3, %%k%u;", t, t, t);
        line(&m->to, "add.s64 %%c%u, %%c%u, %s;", t, t, chance(&m->to, 50) ? "4" : "%row");
    }
    for (unsigned i = 0; i < count; i++)
        statement_write(m, true);
    line(&m->to, "add.u32 %%j, %%j, 1; setp.lt.u32 %%p%u, %%j, %%s%u; @%%p%u bra L%u;", t, t, t, label);
    buf_printf(m->to.out, "E%u:\n", label);
}

/* Threads that are beyond the data leave, by their index or by a row or column. */
static void guard_write(Maker *m, bool has_places)
{
    const unsigned t = temporary(&m->to);
    if (has_places)
        line(&m->to, "setp.gt.u32 %%p%u, %%x%u, %u;", t, random_place(m), 1 + below(&m->to, 9));
    else
        line(&m->to, "setp.ge.%c32 %%p%u, %%i, %%total;", chance(&m->to, 50) ? 's' : 'u', t);
    line(&m->to, "@%%p%u bra END;", t);
    m->ends_early = true;
}

static void index_write(Maker *m)
{
    line(&m->to, "ld.param.u64 %%in, [in]; ld.param.u64 %%out, [out]; ld.param.u32 %%n, [n]; ld.param.u32 %%m, [m];");
    line(&m->to, "ld.param.u32 %%rounds, [rounds]; ld.param.u32 %%total, [total]; ld.param.u32 %%shift, [shift];");
    line(&m->to, "cvt.u64.u32 %%nw, %%n; cvt.u64.u32 %%mw, %%m; mul.wide.u32 %%row, %%n, 4;");
    line(&m->to, "mov.u32 %%g0, %%ntid.x; mov.u32 %%g1, %%ctaid.x; mov.u32 %%g2, %%tid.x;");
    line(&m->to, "mad.lo.u32 %%i, %%g1, %%g0, %%g2; mov.u32 %%v, 1;");
    line(&m->to, "mul.wide.u32 %%own, %%i, %u; add.s64 %%own, %%own, %%out;", 4 * OWN);
    if (chance(&m->to, 25))
        line(&m->to, "mov.u32 %%i, %%g1;");
    if (chance(&m->to, 30))
        line(&m->to, "add.u32 %%i, %%i, %%shift;");
    if (!m->is_wide)
        return;
    if (chance(&m->to, 50))
        line(&m->to, "mul.wide.u32 %%iw, %%g1, %%g0; cvt.u64.u32 %%gw, %%g2; add.s64 %%iw, %%iw, %%gw;");
    else
        line(&m->to, "cvt.%s %%iw, %%i;", m->is_signed ? "s64.s32" : "u64.u32");
    if (chance(&m->to, 10))
        line(&m->to, "add.s64 %%iw, %%iw, %lld;", chance(&m->to, 50) ? -3LL : 0xfffffff8LL);
}

static void launch_make(Maker *m, Arena *arena, Launch *launch)
{
    static const unsigned blocks[] = {8, 12, 16, 32, 64}, sizes[] = {1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 100};
    static const uint32_t shifts[] = {0, 1, UINT32_C(0) - 5, INT32_MAX - 20, UINT32_C(0) - 40};
    const unsigned block = blocks[below(&m->to, COUNT_OF(blocks))], grid = 1 + below(&m->to, 8);
    m->length = sizes[below(&m->to, COUNT_OF(sizes))];
    m->channels = sizes[below(&m->to, 6)];
    *launch = (Launch){.kernel = "k", .grid = {grid, 1, 1}, .block = {block, 1, 1}, .argument_count = 7};
    launch->arguments = ARENA_ARRAY(arena, LaunchArgument, 7);
    for (unsigned i = 0; i < 2; i++)
        launch->arguments[i] = (LaunchArgument){.kind = ARGUMENT_BUFFER, .name = i ? "out" : "in", .type = TYPE_U32,
                                                .count = i ? OWN * block * grid : IN + 4, .fill = FILL_UNIFORM,
                                                .low = 0, .high = 4000, .seed = m->to.random.state};
    scalar_argument(arena, &launch->arguments[2], m->length);
    scalar_argument(arena, &launch->arguments[3], m->channels);
    scalar_argument(arena, &launch->arguments[4], below(&m->to, 6));
    scalar_argument(arena, &launch->arguments[5], block * grid - (chance(&m->to, 50) ? 0 : below(&m->to, block)));
    scalar_argument(arena, &launch->arguments[6], shifts[below(&m->to, COUNT_OF(shifts))]);
}

void flat_kernel(uint64_t seed, Arena *arena, Buf *text, Launch *launch)
{
    Maker m = {.to = {.random = {seed * UINT64_C(0x2545f4914f6cdd1d) + 41}, .out = text}};
    Buf body = {0};
    launch_make(&m, arena, launch);
    m.is_wide = chance(&m.to, 35);
    m.is_signed = chance(&m.to, 40);
    m.lengths_are_constant = chance(&m.to, 25);
    m.to.out = &body;
    index_write(&m);
    if (chance(&m.to, 60))
        guard_write(&m, false);
    make_places(&m);
    if (chance(&m.to, 15))
        make_places(&m);
    if (chance(&m.to, 15))
        guard_write(&m, true);
    for (unsigned count = 1 + below(&m.to, 4); count > 0; count--) {
        const unsigned kind = below(&m.to, 20);
        if (kind == 0)
            together_write(&m);
        else
            (kind < 12 ? loop_write : own_write)(&m);
        statement_write(&m, false);
    }
    line(&m.to, "st.global.u32 [%%own], %%v;");
    buf_puts(text, ".version 8.0\n.target sm_80\n.address_size 64\n"
                   ".visible .entry k(.param .u64 in, .param .u64 out, .param .u32 n, .param .u32 m, "
                   ".param .u32 rounds, .param .u32 total, .param .u32 shift)\n{\n"
                   "\t.reg .b32 %n, %m, %rounds, %total, %shift, %i, %j, %v, %g<3>;\n"
                   "\t.reg .b64 %in, %out, %own, %iw, %gw, %nw, %mw, %row;\n");
    const unsigned count = m.to.temporaries + 1;
    buf_printf(text, "\t.reg .b32 %%x<%u>, %%q<%u>, %%r<%u>, %%s<%u>, %%k<%u>, %%a<%u>;\n", PLACES, count, count, count,
               count, count);
    buf_printf(text, "\t.reg .b64 %%qw<%u>, %%rw<%u>, %%e<%u>, %%b<%u>, %%c<%u>;\n", count, count, count, count, count);
    buf_printf(text, "\t.reg .pred %%p<%u>;\n", count);
    buf_puts(text, buf_text(&body));
    buf_puts(text, "END:\n\tret;\n}\n");
    buf_free(&body);
}
