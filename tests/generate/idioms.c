/* Loops as people write them: rows, products, convolutions, histograms, walks over the grid. 'in' has a word for each
 * thread of the launch and IN_BYTES more, so indices below IN_BYTES / 4 are always good. */
#include "maker.h"

enum { IN_WORDS = IN_BYTES / 4 };

/* The names of the registers that a loop needs. */
typedef struct Walk {
    Word k, p, address, a, b, sum;
    unsigned number;
} Walk;

static Walk new_walk(Maker *m, Kind kind)
{
    return (Walk){.k = fresh_register(m, KIND_32),
                  .p = fresh_register(m, KIND_PRED),
                  .address = fresh_register(m, KIND_64),
                  .a = fresh_register(m, kind),
                  .b = fresh_register(m, kind),
                  .sum = fresh_register(m, kind),
                  .number = new_label(m)};
}

/* Starts with k = 0, and not at all if the bound is 0. */
static void begin_loop(Maker *m, const Walk *walk, const char *bound)
{
    line(&m->to, "mov.u32 %s, 0;\n\tsetp.lt.s32 %s, %s, 1;\n\t@%s bra K%u;", walk->k.text, walk->p.text, bound,
         walk->p.text, walk->number);
    put_label(m, "L", walk->number);
}

static void end_loop(Maker *m, const Walk *walk, const char *bound)
{
    line(&m->to, "add.s32 %s, %s, 1;\n\tsetp.lt.s32 %s, %s, %s;\n\t@%s bra L%u;", walk->k.text, walk->k.text,
         walk->p.text, walk->k.text, bound, walk->p.text, walk->number);
    put_label(m, "K", walk->number);
}

/* "%n", or a constant. */
static Word random_bound(Maker *m)
{
    Word bound = {"%n"};
    if (chance(&m->to, 40))
        snprintf(bound.text, sizeof bound.text, "%u", 1 + below(&m->to, 9));
    return bound;
}

/* The sum of a row of 'in' that begins at the thread's index along x or y, or at its number. */
static void sum_row(Maker *m)
{
    static const char *const rows[] = {"%index0", "%index1", "%gid", "%lin", "%block"};
    bool single = chance(&m->to, 40);
    Walk walk = new_walk(m, single ? KIND_F32 : KIND_32);
    Word bound = random_bound(m), start = fresh_register(m, KIND_32);
    const char *row = rows[below(&m->to, COUNT_OF(rows))], *type = single ? "f32" : "u32";
    unsigned pitch = 1u << below(&m->to, 5);
    line(&m->to, "and.b32 %s, %s, 7;\n\tmul.lo.s32 %s, %s, %u;\n\tmad.wide.u32 %s, %s, 4, %%walk;", start.text, row,
         start.text, start.text, pitch < 16 ? pitch : 16, walk.address.text, start.text);
    line(&m->to, "mov.%s %s, %s;", single ? "f32" : "u32", walk.sum.text, single ? "0f00000000" : "0");
    begin_loop(m, &walk, bound.text);
    line(&m->to, "ld.global%s.%s %s, [%s];", chance(&m->to, 40) ? ".nc" : "", type, walk.a.text, walk.address.text);
    if (single)
        line(&m->to, "fma.rn.f32 %s, %s, %s, %s;", walk.sum.text, walk.a.text, pool_register(m, KIND_F32, false).text,
             walk.sum.text);
    else
        line(&m->to, "mad.lo.s32 %s, %s, 3, %s;", walk.sum.text, walk.sum.text, walk.a.text);
    line(&m->to, "add.s64 %s, %s, %u;", walk.address.text, walk.address.text, 4u << below(&m->to, 3));
    end_loop(m, &walk, bound.text);
    line(&m->to, "mov.%s %s, %s;", type, pool_register(m, single ? KIND_F32 : KIND_32, false).text, walk.sum.text);
}

/* sum += a[row * pitch + k] * b[k * pitch + column], as nvcc writes it. */
static void make_product(Maker *m)
{
    Walk walk = new_walk(m, KIND_F32);
    Word row = fresh_register(m, KIND_32), column = fresh_register(m, KIND_32), other = fresh_register(m, KIND_64);
    Word bound = random_bound(m);
    line(&m->to, "and.b32 %s, %s, 7;\n\tshl.b32 %s, %s, 4;\n\tmul.wide.s32 %s, %s, 4;\n\tadd.s64 %s, %%walk, %s;",
         row.text, chance(&m->to, 60) ? "%index1" : "%lin", row.text, row.text, walk.address.text, row.text,
         walk.address.text, walk.address.text);
    line(&m->to, "and.b32 %s, %s, 15;\n\tmul.wide.u32 %s, %s, 4;\n\tadd.s64 %s, %%walk, %s;", column.text,
         chance(&m->to, 60) ? "%index0" : "%gid", other.text, column.text, other.text, other.text);
    line(&m->to, "mov.f32 %s, 0f00000000;", walk.sum.text);
    begin_loop(m, &walk, bound.text);
    line(&m->to, "ld.global.f32 %s, [%s];\n\tld.global.f32 %s, [%s];", walk.a.text, walk.address.text, walk.b.text,
         other.text);
    line(&m->to, "fma.rn.f32 %s, %s, %s, %s;", walk.sum.text, walk.a.text, walk.b.text, walk.sum.text);
    line(&m->to, "add.s64 %s, %s, 4;\n\tadd.s64 %s, %s, 64;", walk.address.text, walk.address.text, other.text,
         other.text);
    end_loop(m, &walk, bound.text);
    line(&m->to, "mov.f32 %s, %s;", pool_register(m, KIND_F32, false).text, walk.sum.text);
}

/* Two loops, one in the other, over a window of 'in' at the thread's place. */
static void convolve(Maker *m)
{
    Walk outer = new_walk(m, KIND_32), inner = new_walk(m, KIND_32);
    Word place = fresh_register(m, KIND_32), height = random_bound(m);
    char width[12];
    snprintf(width, sizeof width, "%u", 1 + below(&m->to, 4));
    line(&m->to, "mad.lo.s32 %s, %%index1, 16, %%index0;\n\tand.b32 %s, %s, 63;\n\tmad.wide.s32 %s, %s, 4, %%walk;",
         place.text, place.text, place.text, outer.address.text, place.text);
    line(&m->to, "mov.u32 %s, 0;", outer.sum.text);
    begin_loop(m, &outer, height.text);
    line(&m->to, "mov.u64 %s, %s;", inner.address.text, outer.address.text);
    begin_loop(m, &inner, width);
    line(&m->to, "ld.global.u32 %s, [%s];\n\tmad.lo.s32 %s, %s, %s, %s;\n\tadd.s64 %s, %s, 4;", inner.a.text,
         inner.address.text, outer.sum.text, inner.a.text, inner.k.text, outer.sum.text, inner.address.text,
         inner.address.text);
    end_loop(m, &inner, width);
    line(&m->to, "add.s64 %s, %s, 64;", outer.address.text, outer.address.text);
    end_loop(m, &outer, height.text);
    line(&m->to, "mov.u32 %s, %s;", pool_register(m, KIND_32, false).text, outer.sum.text);
}

/* A tile and its edges in shared memory, and three neighbours of each thread. */
static void make_stencil(Maker *m)
{
    Word t = fresh_register(m, KIND_32), p = fresh_register(m, KIND_PRED), a = fresh_register(m, KIND_32),
         b = fresh_register(m, KIND_32);
    if (!m->uniform || !m->barriers || m->exited)
        return;
    line(&m->to, "st.shared.u32 [%%halo+4], %s;", pool_register(m, KIND_32, false).text);
    line(&m->to, "setp.eq.u32 %s, %%lin, 0;\n\t@%s st.shared.u32 [edge], 0;", p.text, p.text);
    line(&m->to, "add.u32 %s, %%lin, 1;\n\tsetp.eq.u32 %s, %s, %%threads;\n\t@%s st.shared.u32 [%%halo+8], 1;", t.text,
         p.text, t.text, p.text);
    line(&m->to, "bar.sync 0;\n\tld.shared.u32 %s, [%%halo];\n\tld.shared.u32 %s, [%%halo+8];", a.text, b.text);
    line(&m->to, "sub.s32 %s, %s, %s;\n\tld.shared.u32 %s, [%%halo+4];", pool_register(m, KIND_32, false).text, a.text,
         b.text, pool_register(m, KIND_32, false).text);
    line(&m->to, "bar.sync 0;");
}

/* Counts of values, by atomics; of shared memory first, or not. */
static void make_histogram(Maker *m)
{
    Word bin = small_number(m, false, 8), address = fresh_register(m, KIND_64), t = fresh_register(m, KIND_32);
    if (!m->uniform || !m->barriers || m->exited || chance(&m->to, 40)) {
        line(&m->to, "mad.wide.u32 %s, %s, 4, %%counts;\n\tred.global.add.u32 [%s], 1;", address.text, bin.text,
             address.text);
        return;
    }
    Word p = fresh_register(m, KIND_PRED);
    line(&m->to, "setp.lt.u32 %s, %%lin, 8;\n\t@%s st.shared.u32 [%%cell], 0;\n\tbar.sync 0;", p.text, p.text);
    line(&m->to, "mad.lo.u32 %s, %s, 4, %%cells;\n\tred.shared.add.u32 [%s], 1;\n\tbar.sync 0;", t.text, bin.text,
         t.text);
    line(&m->to, "mad.wide.u32 %s, %%lin, 4, %%counts;\n\t@%s ld.shared.u32 %s, [%%cell];", address.text, p.text,
         t.text);
    line(&m->to, "@%s red.global.add.u32 [%s], %s;\n\tbar.sync 0;", p.text, address.text, t.text);
}

/* for (i = gid; i < words; i += all threads): each word of 'wide' by one thread of the grid. */
static void walk_grid(Maker *m)
{
    Walk walk = new_walk(m, KIND_32);
    Word total = fresh_register(m, KIND_32);
    line(&m->to, "mul.lo.u32 %s, %%threads, %%blocks;\n\tmov.u32 %s, %%gid;", total.text, walk.k.text);
    put_label(m, "L", walk.number);
    line(&m->to, "setp.ge.u32 %s, %s, %%words;\n\t@%s bra K%u;", walk.p.text, walk.k.text, walk.p.text, walk.number);
    line(&m->to, "mad.wide.u32 %s, %s, 4, %%wide;\n\tld.global.u32 %s, [%s];\n\tmad.lo.s32 %s, %s, 5, %s;",
         walk.address.text, walk.k.text, walk.a.text, walk.address.text, walk.a.text, walk.a.text,
         operand(m, KIND_32, true).text);
    line(&m->to, "st.global.u32 [%s], %s;\n\tadd.s32 %s, %s, %s;\n\tbra.uni L%u;", walk.address.text, walk.a.text,
         walk.k.text, walk.k.text, total.text, walk.number);
    put_label(m, "K", walk.number);
}

/* if (gid < words - n) wide[gid] += value, as most kernels check their bounds. */
static void write_guarded(Maker *m)
{
    Word p = fresh_register(m, KIND_PRED), address = fresh_register(m, KIND_64), limit = fresh_register(m, KIND_32),
         a = fresh_register(m, KIND_32);
    unsigned number = new_label(m);
    line(&m->to, "sub.u32 %s, %%words, %%n;\n\tsetp.ge.s32 %s, %%gid, %s;\n\t@%s bra K%u;", limit.text, p.text,
         limit.text, p.text, number);
    line(&m->to, "mad.wide.s32 %s, %%gid, 4, %%wide;\n\tld.global.u32 %s, [%s];\n\tadd.s32 %s, %s, %s;", address.text,
         a.text, address.text, a.text, a.text, pool_register(m, KIND_32, false).text);
    line(&m->to, "st.global.u32 [%s], %s;", address.text, a.text);
    put_label(m, "K", number);
}

/* A tile of rows, loaded by all threads between barriers, in a loop. */
static void make_tiles(Maker *m)
{
    Walk walk = new_walk(m, KIND_32);
    Word bound = random_bound(m), t = fresh_register(m, KIND_32), index = fresh_register(m, KIND_32);
    if (!m->uniform || !m->barriers || m->exited)
        return;
    line(&m->to, "mov.u32 %s, 0;", walk.sum.text);
    begin_loop(m, &walk, bound.text);
    line(&m->to, "mad.lo.s32 %s, %s, 5, %%lin;\n\tand.b32 %s, %s, %u;\n\tmad.wide.u32 %s, %s, 4, %%walk;", index.text,
         walk.k.text, index.text, index.text, IN_WORDS / 2 - 1, walk.address.text, index.text);
    line(&m->to, "ld.global.u32 %s, [%s];\n\tst.shared.u32 [%%cell], %s;\n\tbar.sync 0;", walk.a.text,
         walk.address.text, walk.a.text);
    line(&m->to, "xor.b32 %s, %%lin, 1;\n\trem.u32 %s, %s, %%threads;\n\tmad.lo.u32 %s, %s, 4, %%cells;", t.text,
         t.text, t.text, t.text, t.text);
    line(&m->to, "ld.shared.u32 %s, [%s];", walk.b.text, t.text);
    line(&m->to, "ld.shared.u32 %s, [%%cells+4];\n\tmad.lo.s32 %s, %s, %s, %s;\n\tbar.sync 0;", walk.a.text,
         walk.sum.text, walk.a.text, walk.b.text, walk.sum.text);
    end_loop(m, &walk, bound.text);
    line(&m->to, "mov.u32 %s, %s;", pool_register(m, KIND_32, false).text, walk.sum.text);
}

/* The product of matrices in a grid of one dimension: a row by the thread's number over the width, and a column. */
static void make_flattened(Maker *m)
{
    const Walk walk = new_walk(m, KIND_32);
    const Word width = fresh_register(m, KIND_32), row = fresh_register(m, KIND_32), bound = random_bound(m);
    const Word column = fresh_register(m, KIND_32), other = fresh_register(m, KIND_64);
    const char type = chance(&m->to, 50) ? 's' : 'u';
    line(&m->to, "add.u32 %s, %%n, %u;\n\tdiv.%c32 %s, %%gid, %s;", width.text, 1 + below(&m->to, 4), type, row.text,
         width.text);
    if (chance(&m->to, 50))
        line(&m->to, "rem.%c32 %s, %%gid, %s;", type, column.text, width.text);
    else
        line(&m->to, "mul.lo.s32 %s, %s, %s;\n\tsub.s32 %s, %%gid, %s;", column.text, row.text, width.text, column.text,
             column.text);
    line(&m->to, "and.b32 %s, %s, 15;\n\tshl.b32 %s, %s, 2;\n\tmad.wide.u32 %s, %s, 4, %%walk;", row.text, row.text,
         row.text, row.text, walk.address.text, row.text);
    line(&m->to, "mad.wide.u32 %s, %s, 4, %%walk;\n\tmov.u32 %s, 0;", other.text, column.text, walk.sum.text);
    begin_loop(m, &walk, bound.text);
    line(&m->to, "ld.global.u32 %s, [%s];\n\tld.global.u32 %s, [%s];\n\tmad.lo.s32 %s, %s, %s, %s;", walk.a.text,
         walk.address.text, walk.b.text, other.text, walk.sum.text, walk.a.text, walk.b.text, walk.sum.text);
    line(&m->to, "add.s64 %s, %s, 4;\n\tadd.s64 %s, %s, 16;", walk.address.text, walk.address.text, other.text,
         other.text);
    end_loop(m, &walk, bound.text);
    line(&m->to, "mov.u32 %s, %s;", pool_register(m, KIND_32, false).text, walk.sum.text);
}

void make_idiom(Maker *m)
{
    if (m->in_function)
        return;
    switch (below(&m->to, 11)) {
    case 0:
    case 1: sum_row(m); break;
    case 2: make_product(m); break;
    case 3: convolve(m); break;
    case 4: make_stencil(m); break;
    case 5: make_histogram(m); break;
    case 6: walk_grid(m); break;
    case 7: make_tiles(m); break;
    case 8: make_flattened(m); break;
    default: write_guarded(m); break;
    }
}
