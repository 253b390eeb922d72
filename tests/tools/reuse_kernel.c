/* See reuse_kernel.h. Every thread reads the neighbours of its place in an image, and reads and writes 64 words of its
 * own, at offsets that depend on the launch: so only a run shows which accesses meet, and no two threads race. Loops
 * walk pointers over the own words while they update one of them, often one that the walk meets in its last iteration,
 * or would just meet after it. Indices are 32-bit sums and products, extended to 64 bits; with a large width they
 * wrap. */
#include "reuse_kernel.h"

#include "kernel_writer.h"

#include <string.h>

enum { VALUES = 8, OWN = 64, IMAGE = 4096, MIDDLE = 2048, DEPTH = 3 };

/* The contents of kernels: among many other things, passes seldom see the edges of ranges. */
typedef enum Subject { ALL, EDGES, BOUNDS, SUBJECT_COUNT } Subject;

typedef struct Maker {
    Writer to;
    Subject subject; /* EDGES: indices that wrap; BOUNDS: conditions on the thread's index */
    unsigned budget;
    unsigned rounds, shift; /* passed by the launch as n and shift */
    bool uniform, wraps; /* wraps: the launch has a width with which indices do */
} Maker;

/* Loads a word at the address, or part of one, to %t; parts pass through registers of two widths. */
static void load_part(Maker *m, unsigned t, int offset)
{
    static const char *const parts[] = {"u8", "s8", "u16", "s16"};
    const char *part = parts[below(&m->to, 4)];
    if (chance(&m->to, 60)) {
        line(&m->to, "ld.global.u32 %%t%u, [%%b%u+%d];", t, t, offset);
    } else if (chance(&m->to, 50)) {
        line(&m->to, "ld.global.%s %%t%u, [%%b%u+%d];", part, t, t, offset);
    } else {
        line(&m->to, "ld.global.%s %%h%u, [%%b%u+%d];", part, t, t, offset);
        line(&m->to, "cvt.s32.s16 %%t%u, %%h%u;", t, t);
    }
}

/* A neighbour of the thread's pixel, in one of the forms that compilers generate. */
static void make_neighbour(Maker *m)
{
    static const char *const ways[] = {"", ".nc"};
    int dx = (int)below(&m->to, 5) - 2, dy = (int)below(&m->to, 4) - 1, at = 4 * ((int)below(&m->to, 3) - 1);
    unsigned t = temporary(&m->to), dst = below(&m->to, VALUES);
    const char *way = ways[below(&m->to, 4) == 0];
    switch (below(&m->to, 4)) {
    case 0:
        line(&m->to, "add.s32 %%t%u, %%y, %d;", t, dy);
        line(&m->to, "mad.lo.s32 %%s%u, %%t%u, %%w, %%x;", t, t);
        line(&m->to, "add.s32 %%q%u, %%s%u, %d;", t, t, dx);
        line(&m->to, "mul.wide.s32 %%a%u, %%q%u, 4;", t, t);
        line(&m->to, "add.s64 %%b%u, %%image, %%a%u;", t, t);
        break;
    case 1:
        line(&m->to, "mad.lo.s32 %%s%u, %%y, %%w, %%x;", t);
        line(&m->to, "mul.wide.s32 %%a%u, %%s%u, 4;", t, t);
        line(&m->to, "mad.wide.s32 %%c%u, %%w, %d, %%a%u;", t, 4 * dy, t);
        line(&m->to, "add.s64 %%b%u, %%image, %%c%u;", t, t);
        break;
    case 2:
        line(&m->to, "mul.lo.s32 %%t%u, %%y, %%w;", t);
        line(&m->to, "add.s32 %%s%u, %%t%u, %%x;", t, t);
        line(&m->to, "cvt.%s %%c%u, %%s%u;", chance(&m->to, 50) ? "s64.s32" : "u64.u32", t, t);
        line(&m->to, "shl.b64 %%a%u, %%c%u, 2;", t, t);
        line(&m->to, "add.s64 %%b%u, %%image, %%a%u;", t, t);
        break;
    default:
        line(&m->to, "add.s32 %%s%u, %%x, %d;", t, dx);
        line(&m->to, "mul.wide.s32 %%a%u, %%s%u, 4;", t, t);
        line(&m->to, "add.s64 %%b%u, %%a%u, %%image;", t, t);
        break;
    }
    /* A wrapped index is not in the image: such threads keep the extended index instead. */
    unsigned label = m->to.labels++;
    line(&m->to, "sub.s64 %%e%u, %%b%u, %%lowest;", t, t);
    line(&m->to, "setp.ge.u64 %%p%u, %%e%u, %u;", t, t, 4 * IMAGE - 16);
    if (chance(&m->to, 70) || !m->uniform) {
        line(&m->to, "cvt.u32.u64 %%v%u, %%e%u;", dst, t);
        line(&m->to, "shr.u64 %%e%u, %%e%u, 32;", t, t);
        line(&m->to, "cvt.u32.u64 %%q%u, %%e%u;", t, t);
        line(&m->to, "add.u32 %%v%u, %%v%u, %%q%u;", dst, dst, t);
        line(&m->to, "@%%p%u bra N%u;", t, label);
        line(&m->to, "ld.global%s.u32 %%v%u, [%%b%u+%d];", way, dst, t, at);
        buf_printf(m->to.out, "N%u:\n", label);
        return;
    }
    /* There is no branch if the launch keeps all indices small. */
    line(&m->to, "@!%%small bra N%u;", label);
    line(&m->to, "ld.global%s.u32 %%v%u, [%%b%u+%d];", way, dst, t, at);
    for (unsigned more = below(&m->to, 3); more > 0; more--)
        line(&m->to, "ld.global%s.u32 %%v%u, [%%b%u+%d];", way, below(&m->to, VALUES), t,
             4 * ((int)below(&m->to, 5) - 2));
    buf_printf(m->to.out, "N%u:\n", label);
}

/* Several neighbours in one block, as in a stencil whose guard all replicas have passed. */
static void make_stencil(Maker *m)
{
    unsigned label = m->to.labels++, count = 3 + below(&m->to, 5), row = temporary(&m->to);
    const char *image = chance(&m->to, 30) ? "%moved" : "%image"; /* one is aligned, the other depends on the launch */
    line(&m->to, "@!%%small bra N%u;", label);
    line(&m->to, "mad.lo.s32 %%s%u, %%y, %%w, %%x;", row);
    line(&m->to, "mul.wide.s32 %%a%u, %%s%u, 4;", row, row);
    line(&m->to, "add.s64 %%b%u, %s, %%a%u;", row, image, row);
    if (chance(&m->to, 40)) {
        line(&m->to, "neg.s32 %%k%u, %%w;", row);
        line(&m->to, "mul.wide.s32 %%c%u, %%k%u, 4;", row, row);
    } else {
        line(&m->to, "mul.wide.s32 %%c%u, %%w, 4;", row);
    }
    for (unsigned i = 0; i < count; i++) {
        unsigned t = temporary(&m->to), dst = below(&m->to, VALUES);
        if (chance(&m->to, 30)) {
            line(&m->to, "add.s32 %%t%u, %%y, %d;", t, (int)below(&m->to, 3) - 1);
            line(&m->to, "mad.lo.s32 %%s%u, %%t%u, %%w, %%x;", t, t);
            line(&m->to, "mul.wide.s32 %%a%u, %%s%u, 4;", t, t);
            line(&m->to, "add.s64 %%b%u, %s, %%a%u;", t, image, t);
        } else {
            line(&m->to, "%s.s64 %%b%u, %%b%u, %%c%u;", chance(&m->to, 50) ? "add" : "sub", t, row, row);
        }
        load_part(m, t, 4 * ((int)below(&m->to, 3) - 1));
        line(&m->to, "mad.lo.s32 %%v%u, %%v%u, 3, %%t%u;", dst, below(&m->to, VALUES), t);
        if (chance(&m->to, 15))
            line(&m->to, "st.global.u32 [%%own+%u], %%v%u;", 4 * below(&m->to, OWN), dst);
    }
    buf_printf(m->to.out, "N%u:\n", label);
}

/* Neighbours in one block whose indices wrap with a large width: none of them is then loaded, and the extended indices
 * are the result. Rows above and below may be offsets that are extended separately. */
static void make_wrapping(Maker *m)
{
    static const char *const offsets[] = {"mov.b32 %%k%u, %%w;", "neg.s32 %%k%u, %%w;", "not.b32 %%k%u, %%w;",
                                          "add.s32 %%k%u, %%w, -1;", "shl.b32 %%k%u, %%w, 1;"};
    bool by_offsets = chance(&m->to, 50), in_column = chance(&m->to, 50);
    int column = (int)below(&m->to, 4) - 1;
    unsigned label = m->to.labels++, count = 2 + below(&m->to, 4), first = m->to.temporaries, all = first + count;
    const char *extension = chance(&m->to, 70) ? "mul.wide.s32" : "mul.wide.u32";
    enum { COLUMN, ROW, ANY } shape = below(&m->to, 3);
    bool mixed = chance(&m->to, 15);
    m->to.temporaries += count + 1;
    line(&m->to, "setp.eq.u32 %%p%u, %%w, %%w;", all);
    for (unsigned t = first; t < all; t++) {
        if (mixed)
            extension = chance(&m->to, 50) ? "mul.wide.s32" : "mul.wide.u32";
        int next = (int)(t - first) - 1, dy = shape == COLUMN ? next : 0, dx = shape == ROW ? next : 0;
        if (shape == ANY) {
            dy = chance(&m->to, 70) ? (int)below(&m->to, 3) - 1 : 0;
            dx = in_column ? column : (int)below(&m->to, 4) - 1;
        }
        line(&m->to, "add.s32 %%t%u, %%y, %d;", t, dy);
        line(&m->to, "mad.lo.s32 %%s%u, %%t%u, %%w, %%x;", t, t);
        line(&m->to, "add.s32 %%q%u, %%s%u, %d;", t, t, dx);
        line(&m->to, "%s %%a%u, %%q%u, 4;", extension, t, t);
        if (by_offsets) {
            line(&m->to, offsets[below(&m->to, COUNT_OF(offsets))], t);
            line(&m->to, "mul.wide.s32 %%c%u, %%k%u, 4;", t, t);
            line(&m->to, "add.s64 %%a%u, %%a%u, %%c%u;", t, t, t);
        }
        line(&m->to, "add.s64 %%b%u, %%image, %%a%u;", t, t);
        line(&m->to, "sub.s64 %%e%u, %%b%u, %%lowest;", t, t);
        line(&m->to, "setp.lt.and.u64 %%p%u, %%e%u, %u, %%p%u;", all, t, 4 * IMAGE - 16, all);
        line(&m->to, "shr.u64 %%e%u, %%e%u, 5;", t, t);
        line(&m->to, "cvt.u32.u64 %%q%u, %%e%u;", t, t);
        line(&m->to, "mad.lo.u32 %%v%u, %%v%u, 3, %%q%u;", t % VALUES, below(&m->to, VALUES), t);
    }
    line(&m->to, "@!%%p%u bra N%u;", all, label);
    for (unsigned t = first; t < all; t++) {
        load_part(m, t, 0);
        line(&m->to, "mad.lo.u32 %%v%u, %%v%u, 5, %%t%u;", below(&m->to, VALUES), below(&m->to, VALUES), t);
    }
    buf_printf(m->to.out, "N%u:\n", label);
}

/* A loop down a column, as a compiler leaves it: the index of each row is a 32-bit sum that grows by some rows in each
 * round, and is extended there. Rows that are not in the image are not loaded; the extended indices are part of the
 * result. */
static void make_column(Maker *m)
{
    unsigned label = m->to.labels++, count = 2 + below(&m->to, 3), first = m->to.temporaries, all = first + count;
    unsigned rows = 1 + below(&m->to, 2);
    const char *extension = chance(&m->to, 70) ? "mul.wide.s32" : "mul.wide.u32";
    m->to.temporaries += count + 1;
    for (unsigned t = first; t < all; t++) {
        line(&m->to, "add.s32 %%t%u, %%y, %d;", t, (int)(t - first) - (int)below(&m->to, 2));
        line(&m->to, "mad.lo.s32 %%s%u, %%t%u, %%w, %%x;", t, t);
        if (chance(&m->to, 20))
            line(&m->to, "add.s32 %%s%u, %%s%u, %u;", t, t, below(&m->to, 3));
    }
    line(&m->to, "mul.lo.s32 %%k%u, %%w, %u;", all, rows);
    line(&m->to, "mov.u32 %%j%u, 0;", all);
    buf_printf(m->to.out, "L%u:\n", label);
    line(&m->to, "setp.eq.u32 %%p%u, %%w, %%w;", all);
    for (unsigned t = first; t < all; t++) {
        line(&m->to, "%s %%a%u, %%s%u, 4;", extension, t, t);
        line(&m->to, "add.s64 %%b%u, %%image, %%a%u;", t, t);
        line(&m->to, "sub.s64 %%e%u, %%b%u, %%lowest;", t, t);
        line(&m->to, "setp.lt.and.u64 %%p%u, %%e%u, %u, %%p%u;", all, t, 4 * IMAGE - 16, all);
        line(&m->to, "shr.u64 %%e%u, %%e%u, 5;", t, t);
        line(&m->to, "cvt.u32.u64 %%q%u, %%e%u;", t, t);
        line(&m->to, "mad.lo.u32 %%v%u, %%v%u, 3, %%q%u;", t % VALUES, below(&m->to, VALUES), t);
        line(&m->to, "add.s32 %%s%u, %%s%u, %%k%u;", t, t, all);
    }
    line(&m->to, "@!%%p%u bra N%u;", all, label);
    line(&m->to, "mul.wide.s32 %%c%u, %%w, 4;", all);
    for (unsigned t = first; t < all; t++) {
        line(&m->to, "ld.global.u32 %%t%u, [%%b%u];", t, t);
        line(&m->to, "mad.lo.u32 %%v%u, %%v%u, 5, %%t%u;", below(&m->to, VALUES), below(&m->to, VALUES), t);
    }
    /* The row below some of them, which is another's: not with a width so large that it may not be in the image. */
    line(&m->to, "@!%%small bra N%u;", label);
    for (unsigned t = first; t + 1 < all; t++) {
        line(&m->to, "add.s64 %%e%u, %%b%u, %%c%u;", t, t, all);
        line(&m->to, "ld.global.u32 %%t%u, [%%e%u];", t, t);
        line(&m->to, "mad.lo.u32 %%v%u, %%v%u, 7, %%t%u;", below(&m->to, VALUES), below(&m->to, VALUES), t);
    }
    buf_printf(m->to.out, "N%u:\n", label);
    line(&m->to, "add.s32 %%j%u, %%j%u, 1;", all, all);
    line(&m->to, "setp.lt.s32 %%p%u, %%j%u, %%n;", all, all);
    line(&m->to, "@%%p%u bra L%u;", all, label);
}

/* A load or store of the thread's own words. */
static void make_own(Maker *m)
{
    unsigned word = below(&m->to, 12), value = below(&m->to, VALUES);
    bool unknown = chance(&m->to, 40); /* an offset that the launch decides */
    const char *base = unknown ? "%slot" : "%own";
    switch (below(&m->to, 12)) {
    case 0: case 1: case 2: line(&m->to, "st.global.u32 [%s+%u], %%v%u;", base, 4 * word, value); break;
    case 3: case 4: case 5: line(&m->to, "ld.global.u32 %%v%u, [%s+%u];", value, base, 4 * word); break;
    case 6: line(&m->to, "st.global.u32 [%s+%u], %u;", base, 4 * word, below(&m->to, 100)); break;
    case 7:
        line(&m->to, "ld.global.v2.u32 {%%v0, %%v1}, [%%own+%u];", 8 * below(&m->to, 6));
        break;
    case 8:
        line(&m->to, "st.global.v2.u32 [%%own+%u], {%%v2, %%v3};", 8 * below(&m->to, 6));
        break;
    case 9:
        line(&m->to, "ld.global.%s %%v%u, [%s+%u];", chance(&m->to, 50) ? "u8" : "s8", value, base,
             4 * word + below(&m->to, 4));
        break;
    case 10:
        line(&m->to, "st.global.u%u [%s+%u], %%v%u;", chance(&m->to, 50) ? 8 : 16, base, 4 * word, value);
        break;
    default:
        line(&m->to, "mov.b32 %%f0, %%v%u;", value);
        line(&m->to, "st.global.f32 [%s+%u], %%f0;", base, 4 * word);
        line(&m->to, "ld.global.b32 %%v%u, [%s+%u];", below(&m->to, VALUES), base, 4 * word);
    }
}

static void make_order(Maker *m)
{
    unsigned value = below(&m->to, VALUES), word = 4 * below(&m->to, 12);
    switch (below(&m->to, 4)) {
    case 0:
        if (m->uniform) {
            line(&m->to, "bar.sync 0;");
            break;
        }
        /* fall through */
    case 1: line(&m->to, "membar.cta;"); break;
    case 2: line(&m->to, "ld.volatile.global.u32 %%v%u, [%%own+%u];", value, word); break;
    default: line(&m->to, "st.volatile.global.u32 [%%slot+%u], %%v%u;", word, value); break;
    }
}

static void make_arithmetic(Maker *m)
{
    line(&m->to, "mad.lo.s32 %%v%u, %%v%u, %u, %%v%u;", below(&m->to, VALUES), below(&m->to, VALUES),
         1 + below(&m->to, 9), below(&m->to, VALUES));
}

/* The word at which a walk begins whose last iteration is at the word 'last', or beside it; any word if that is not
 * among the thread's own. */
static unsigned walk_to(Maker *m, unsigned last, unsigned words, bool down)
{
    unsigned way = words * (m->rounds ? m->rounds - 1 : 0), beside = below(&m->to, 4);
    last = last + (beside == 1) - (beside == 2);
    unsigned start = down ? last + way : last - way; /* below 0: large */
    return start < OWN - 4 && last < OWN - 4 ? start : below(&m->to, 8);
}

/* A loop that updates a word of its own while it walks over others. */
static void make_loop(Maker *m)
{
    unsigned t = temporary(&m->to), label = m->to.labels++, cell = 4 * below(&m->to, 12), unroll = 1 + below(&m->to, 2);
    unsigned step = 4 * (1 + below(&m->to, 2)), value = below(&m->to, VALUES);
    bool down = chance(&m->to, 30), ordered = chance(&m->to, 40), skips = chance(&m->to, 15),
         fresh = chance(&m->to, 25);
    bool at_slot = chance(&m->to, 50);
    const char *base = at_slot ? "%slot" : "%own";
    line(&m->to, "setp.lt.s32 %%p%u, %%n, 1;", t);
    line(&m->to, "@%%p%u bra E%u;", t, label);
    line(&m->to, "mul.lo.s32 %%k%u, %%n, %u;", t, unroll);
    line(&m->to, "mov.u32 %%j%u, 0;", t);
    if (at_slot && chance(&m->to, 60))
        line(&m->to, "add.s64 %%b%u, %%own, %u;", t, 4 * walk_to(m, m->shift + cell / 4, step / 4, down));
    else
        line(&m->to, "add.s64 %%b%u, %%slot, %u;", t, 4 * below(&m->to, 8));
    /* A second pointer that keeps its distance, or does not. */
    bool second = chance(&m->to, 40), apart = chance(&m->to, 30);
    if (second)
        line(&m->to, "add.s64 %%c%u, %%b%u, %u;", t, t, 4 * below(&m->to, 6));
    /* The walk's pointer is only added to an offset. */
    bool leads = chance(&m->to, 30);
    const char *walk = leads ? "%e" : "%b";
    if (leads)
        line(&m->to, "sub.s64 %%b%u, %%b%u, %%d1;", t, t);
    buf_printf(m->to.out, "L%u:\n", label);
    if (leads)
        line(&m->to, "add.s64 %%e%u, %%b%u, %%d1;", t, t);
    if (second) {
        line(&m->to, "ld.global.u32 %%g0, [%%c%u];", t);
        line(&m->to, "add.s32 %%v%u, %%v%u, %%g0;", value, value);
        line(&m->to, "add.s64 %%c%u, %%c%u, %d;", t, t, (down ? -(int)step : (int)step) + (apart ? 4 : 0));
    }
    for (unsigned i = 0; i < unroll; i++) {
        line(&m->to, "ld.global.u32 %%t%u, [%s%u+%u];", t, walk, t, 4 * i);
        if (!fresh)
            line(&m->to, "ld.global.u32 %%q%u, [%s+%u];", t, base, cell);
        else
            line(&m->to, "mov.u32 %%q%u, %%v%u;", t, value);
        line(&m->to, "mad.lo.s32 %%s%u, %%t%u, 5, %%q%u;", t, t, t);
        if (skips) {
            line(&m->to, "setp.eq.u32 %%p%u, %%t%u, 3;", t, t);
            line(&m->to, "@%%p%u bra S%u_%u;", t, label, i);
        }
        line(&m->to, "st.global.u32 [%s+%u], %%s%u;", base, cell, t);
        if (skips)
            buf_printf(m->to.out, "S%u_%u:\n", label, i);
    }
    if (chance(&m->to, 10))
        make_order(m);
    if (chance(&m->to, 20))
        make_own(m);
    line(&m->to, "add.s64 %%b%u, %%b%u, %d;", t, t, down ? -(int)step : (int)step);
    line(&m->to, "add.s32 %%j%u, %%j%u, %u;", t, t, unroll);
    if (ordered)
        line(&m->to, "setp.lt.s32 %%p%u, %%j%u, %%k%u;", t, t, t);
    else
        line(&m->to, "setp.ne.s32 %%p%u, %%j%u, %%k%u;", t, t, t);
    line(&m->to, "@%%p%u bra L%u;", t, label);
    buf_printf(m->to.out, "E%u:\n", label);
}

/* A loop that reads rows a distance apart, by a pointer that mostly has no other use. */
static void make_rows(Maker *m)
{
    unsigned t = temporary(&m->to), label = m->to.labels++, words = 1 + below(&m->to, 2), start = below(&m->to, 3);
    bool of_own = chance(&m->to, 40), second = chance(&m->to, 70), early = chance(&m->to, 30);
    const char *near = of_own ? "%d1" : "%d0";
    bool tops = chance(&m->to, 30); /* the test is at the top, so the pointer has not advanced one step further */
    line(&m->to, "add.s64 %%b%u, %s, %u;", t, of_own ? "%own" : "%out", 4 * start);
    line(&m->to, "setp.lt.s32 %%p%u, %%n, 1;", t);
    line(&m->to, "@%%p%u bra E%u;", t, label);
    line(&m->to, "mad.wide.s32 %%c%u, %%shift, %u, %s;", t, of_own ? 4 : 4 * words, near);
    line(&m->to, "mov.u32 %%j%u, 0;", t);
    buf_printf(m->to.out, "L%u:\n", label);
    if (tops) {
        line(&m->to, "setp.ge.s32 %%p%u, %%j%u, %%n;", t, t);
        line(&m->to, "@%%p%u bra E%u;", t, label);
    }
    if (early && second)
        line(&m->to, "add.s64 %%a%u, %%c%u, %%b%u;", t, t, t);
    line(&m->to, "add.s64 %%e%u, %%b%u, %s;", t, t, near);
    line(&m->to, "ld.global.u32 %%t%u, [%%e%u];", t, t);
    line(&m->to, "mad.lo.s32 %%v%u, %%t%u, 5, %%v%u;", below(&m->to, VALUES), t, below(&m->to, VALUES));
    if (chance(&m->to, 20)) /* the addend changes in each iteration */
        line(&m->to, "add.s64 %%c%u, %%c%u, 4;", t, t);
    if (chance(&m->to, 15)) {
        line(&m->to, "sub.s64 %%e%u, %%b%u, %%out;", t, t);
        line(&m->to, "cvt.u32.u64 %%v%u, %%e%u;", below(&m->to, VALUES), t);
    }
    bool skips = second && chance(&m->to, 20);
    if (skips) {
        line(&m->to, "setp.eq.u32 %%p%u, %%j%u, 1;", t, t);
        line(&m->to, "@%%p%u bra S%u;", t, label);
    }
    if (second && !early)
        line(&m->to, "add.s64 %%a%u, %%b%u, %%c%u;", t, t, t);
    if (second) {
        line(&m->to, "ld.global.u32 %%q%u, [%%a%u];", t, t);
        line(&m->to, "mad.lo.s32 %%v%u, %%q%u, 3, %%v%u;", below(&m->to, VALUES), t, below(&m->to, VALUES));
    }
    if (skips)
        buf_printf(m->to.out, "S%u:\n", label);
    line(&m->to, "add.s64 %%b%u, %%b%u, 4;", t, t);
    if (chance(&m->to, 20)) {
        line(&m->to, "add.s64 %%e%u, %%b%u, %s;", t, t, near);
        line(&m->to, "ld.global.u32 %%v%u, [%%e%u];", below(&m->to, VALUES), t);
    }
    line(&m->to, "add.s32 %%j%u, %%j%u, 1;", t, t);
    if (tops) {
        line(&m->to, "bra L%u;", label);
    } else {
        line(&m->to, "setp.lt.s32 %%p%u, %%j%u, %%n;", t, t);
        line(&m->to, "@%%p%u bra L%u;", t, label);
    }
    buf_printf(m->to.out, "E%u:\n", label);
    if (chance(&m->to, 30)) {
        line(&m->to, "sub.s64 %%b%u, %%b%u, %%out;", t, t);
        line(&m->to, "cvt.u32.u64 %%v%u, %%b%u;", below(&m->to, VALUES), t);
    }
}

/* A loop that reads several words in each iteration, and has a pointer that may start within them. */
static void make_pointer(Maker *m)
{
    unsigned t = temporary(&m->to), label = m->to.labels++, count = 2 << below(&m->to, 2), back = below(&m->to, 3);
    unsigned start = chance(&m->to, 60) ? back + count * below(&m->to, 2) : 2 + below(&m->to, 6);
    unsigned step = chance(&m->to, 70) ? count : 1 + below(&m->to, 4);
    static const char *const bases[] = {"%own", "%slot", "%moved"};
    line(&m->to, "add.s64 %%b%u, %s, %u;", t, bases[below(&m->to, COUNT_OF(bases))], 4 * start);
    line(&m->to, "setp.lt.s32 %%p%u, %%n, 1;", t);
    line(&m->to, "@%%p%u bra E%u;", t, label);
    line(&m->to, "mov.u32 %%j%u, 0;", t);
    buf_printf(m->to.out, "L%u:\n", label);
    for (unsigned i = 0; i < count; i++) {
        line(&m->to, "ld.global.u32 %%t%u, [%%b%u+%d];", t, t, 4 * (int)i - 4 * (int)back);
        line(&m->to, "mad.lo.s32 %%v%u, %%t%u, 3, %%v%u;", below(&m->to, VALUES), t, below(&m->to, VALUES));
    }
    line(&m->to, "add.s64 %%b%u, %%b%u, %u;", t, t, 4 * step);
    line(&m->to, "add.s32 %%j%u, %%j%u, 1;", t, t);
    line(&m->to, "setp.lt.s32 %%p%u, %%j%u, %%n;", t, t);
    line(&m->to, "@%%p%u bra L%u;", t, label);
    buf_printf(m->to.out, "E%u:\n", label);
}

/* A loop that reads and writes words of the thread's own, some at a distance that halves or decreases in each
 * iteration, like a tree in shared memory. */
static void make_halving(Maker *m)
{
    unsigned t = temporary(&m->to), label = m->to.labels++, count = 2 << below(&m->to, 2);
    bool falls = chance(&m->to, 30), waits = m->uniform && chance(&m->to, 70);
    const char *base = chance(&m->to, 70) ? "%own" : "%slot";
    line(&m->to, "mov.u32 %%k%u, %u;", t, falls ? 6 + below(&m->to, 8) : 16);
    line(&m->to, "shr.u32 %%k%u, %%k%u, %%n;", t, t);
    line(&m->to, "setp.eq.u32 %%p%u, %%k%u, 0;", t, t);
    line(&m->to, "@%%p%u bra E%u;", t, label);
    buf_printf(m->to.out, "L%u:\n", label);
    line(&m->to, "setp.ge.u32 %%p%u, %%%s, %%k%u;", t, chance(&m->to, 50) ? "g2" : "g5", t);
    line(&m->to, "@%%p%u bra S%u;", t, label);
    line(&m->to, "mul.wide.u32 %%a%u, %%k%u, 4;", t, t);
    line(&m->to, "add.s64 %%b%u, %s, %%a%u;", t, base, t);
    for (unsigned i = 0; i < count; i++) {
        line(&m->to, "ld.global.u32 %%t%u, [%%b%u+%u];", t, t, 4 * i);
        line(&m->to, "mad.lo.s32 %%v%u, %%t%u, 3, %%v%u;", i, t, below(&m->to, VALUES));
    }
    bool stores = chance(&m->to, 60);
    for (unsigned i = 0; i < count && stores; i++)
        line(&m->to, "st.global.u32 [%s+%u], %%v%u;", base, 4 * i, i);
    buf_printf(m->to.out, "S%u:\n", label);
    if (waits)
        line(&m->to, "bar.sync 0;");
    line(&m->to, "%s.%c32 %%k%u, %%k%u, %s;", falls ? "add" : "shr", falls ? 's' : 'u', t, t, falls ? "-1" : "1");
    line(&m->to, "setp.ne.u32 %%p%u, %%k%u, 0;", t, t);
    line(&m->to, "@%%p%u bra L%u;", t, label);
    buf_printf(m->to.out, "E%u:\n", label);
}

/* A condition on the thread's index, as that of a halo: with a known block size, some replicas' conditions are
 * decided. */
static void make_bound(Maker *m, unsigned predicate)
{
    static const char *const compares[] = {"lt", "le", "gt", "ge", "eq", "ne"};
    static const unsigned bounds[] = {0, 1, 2, 3, 4, 7, 8, 15, 16, 31, 32, 63};
    line(&m->to, "setp.%s.%c32 %%p%u, %%%s, %u;", compares[below(&m->to, COUNT_OF(compares))], "us"[below(&m->to, 2)],
         predicate, chance(&m->to, 50) ? "g2" : "g5", bounds[below(&m->to, COUNT_OF(bounds))]);
}

static void make_statements(Maker *m, unsigned depth, unsigned count)
{
    for (unsigned i = 0; i < count && m->budget; i++, m->budget--) {
        const unsigned kinds[SUBJECT_COUNT] = {[EDGES] = 2 + chance(&m->to, 30), [BOUNDS] = 14};
        switch (m->subject == ALL || depth ? below(&m->to, 15) : kinds[m->subject]) {
        case 0: case 1: make_neighbour(m); break;
        case 2: (chance(&m->to, m->wraps ? 90 : 30) ? make_wrapping : make_stencil)(m); break;
        case 3: make_column(m); break;
        case 4: case 5: case 6: make_own(m); break;
        case 7: make_order(m); break;
        case 8: case 9: make_loop(m); break;
        case 10: make_arithmetic(m); break;
        case 11: make_rows(m); break;
        case 12: make_pointer(m); break;
        case 13: make_halving(m); break;
        default: {
            unsigned t = temporary(&m->to), label = m->to.labels++;
            bool was = m->uniform;
            if (depth >= DEPTH)
                break;
            m->uniform = m->subject != BOUNDS && was && chance(&m->to, 50);
            if (!m->uniform && (m->subject == BOUNDS || chance(&m->to, 50))) {
                make_bound(m, t);
            } else {
                line(&m->to, "and.b32 %%t%u, %%%s, %u;", t, m->uniform ? "n" : "v0", 1 + below(&m->to, 3));
                line(&m->to, "setp.eq.u32 %%p%u, %%t%u, 1;", t, t);
            }
            line(&m->to, "@%%p%u bra I%u;", t, label);
            make_statements(m, depth + 1, 1 + below(&m->to, 4));
            buf_printf(m->to.out, "I%u:\n", label);
            m->uniform = was;
        }
        }
    }
}

static void make_prologue(Maker *m)
{
    line(&m->to, "ld.param.u64 %%lowest, [image];");
    line(&m->to, "ld.param.u64 %%out, [out];");
    line(&m->to, "ld.param.u32 %%w, [width];");
    line(&m->to, "ld.param.u32 %%n, [n];");
    line(&m->to, "ld.param.u32 %%shift, [shift];");
    line(&m->to, "add.s64 %%image, %%lowest, %u;", 4 * MIDDLE);
    line(&m->to, "mov.u32 %%g0, %%ntid.x; mov.u32 %%g1, %%ctaid.x; mov.u32 %%g2, %%tid.x;");
    line(&m->to, "mov.u32 %%g3, %%ntid.y; mov.u32 %%g4, %%ctaid.y; mov.u32 %%g5, %%tid.y;");
    line(&m->to, "mad.lo.s32 %%x, %%g1, %%g0, %%g2;");
    line(&m->to, "mad.lo.s32 %%y, %%g4, %%g3, %%g5;");
    line(&m->to, "mov.u32 %%g6, %%nctaid.x;");
    line(&m->to, "mul.lo.u32 %%g7, %%g6, %%g0;");
    line(&m->to, "mad.lo.u32 %%g8, %%y, %%g7, %%x;");
    line(&m->to, "mul.wide.u32 %%d0, %%g8, %u;", 4 * OWN);
    line(&m->to, "add.s64 %%own, %%out, %%d0;");
    line(&m->to, "mul.wide.s32 %%d1, %%shift, 4;");
    line(&m->to, "add.s64 %%slot, %%own, %%d1;");
    line(&m->to, "add.s64 %%moved, %%image, %%d1;");
    line(&m->to, "setp.lt.u32 %%small, %%w, 64;");
    for (unsigned i = 0; i < VALUES; i++)
        line(&m->to, "mad.lo.u32 %%v%u, %%x, %u, %%y;", i, i + 1);
    /* The initial contents of the thread's own words. */
    for (unsigned i = 0; i < OWN; i++)
        line(&m->to, "st.global.u32 [%%own+%u], %%v%u;", 4 * i, i % VALUES);
    line(&m->to, "membar.cta;");
}

static void make_launch(Maker *m, Arena *arena, Launch *launch)
{
    static const unsigned blocks[][3] = {{16, 8, 1}, {32, 4, 1}, {8, 8, 1}, {64, 2, 1}};
    /* With the large widths, indices leave 32 bits between two rows, at a multiple of 2^31, or within a row. */
    static const unsigned widths[] = {40,         33,         60,         17,         1u << 29,  0x7ffffff0,
                                      0xfffffff0, 0x1ffffffc, 0x3ffffff8, 0x3ffffffc, 1u << 31};
    *launch = (Launch){.kernel = "k", .grid = {2, 1, 1}};
    memcpy(launch->block, blocks[below(&m->to, COUNT_OF(blocks))], sizeof launch->block);
    if (chance(&m->to, 30))
        launch->grid[1] = 2;
    unsigned threads = 2 * launch->grid[1] * launch->block[0] * launch->block[1];
    launch->argument_count = 5;
    launch->arguments = ARENA_ARRAY(arena, LaunchArgument, 5);
    launch->arguments[0] = (LaunchArgument){.kind = ARGUMENT_BUFFER, .name = "image", .type = TYPE_U32, .count = IMAGE,
                                            .fill = FILL_UNIFORM, .low = 0, .high = 4000, .seed = m->to.random.state};
    launch->arguments[1] = (LaunchArgument){
        .kind = ARGUMENT_BUFFER, .name = "out", .type = TYPE_U32, .count = threads * OWN, .fill = FILL_POISON};
    m->wraps = m->subject == EDGES || chance(&m->to, 30);
    scalar_argument(arena, &launch->arguments[2],
                    widths[m->wraps ? 4 + below(&m->to, COUNT_OF(widths) - 4) : below(&m->to, 4)]);
    m->rounds = below(&m->to, 6);
    m->shift = chance(&m->to, 50) ? 24 : 10 + below(&m->to, 16);
    scalar_argument(arena, &launch->arguments[3], m->rounds);
    scalar_argument(arena, &launch->arguments[4], m->shift);
}

void reuse_kernel(uint64_t seed, Arena *arena, Buf *text, Launch *launch)
{
    Buf code = {0};
    Maker m = {
        .to = {.random = {seed * UINT64_C(0x2545f4914f6cdd1d) + 77}, .out = &code}, .uniform = true, .budget = 16};
    m.subject = below(&m.to, 5) < 3 ? ALL : chance(&m.to, 60) ? EDGES : BOUNDS;
    make_launch(&m, arena, launch);
    make_prologue(&m);
    make_statements(&m, 0, m.subject == ALL ? 4 + below(&m.to, 8) : 2 + below(&m.to, 2));
    for (unsigned i = 0; i < VALUES; i++)
        line(&m.to, "st.global.u32 [%%own+%u], %%v%u;", 4 * i, i);
    line(&m.to, "ret;");
    unsigned t = m.to.temporaries + 1;
    buf_puts(text, ".version 8.0\n.target sm_80\n.address_size 64\n"
                   ".visible .entry k(.param .u64 image, .param .u64 out, .param .u32 width, .param .u32 n, "
                   ".param .u32 shift)\n{\n");
    buf_printf(text, "\t.reg .b32 %%v<%u>, %%g<9>, %%w, %%n, %%x, %%y, %%shift, %%t<%u>, %%s<%u>, %%q<%u>;\n", VALUES,
               t, t, t);
    buf_printf(text, "\t.reg .b16 %%h<%u>;\n", t);
    buf_printf(text, "\t.reg .b32 %%k<%u>, %%j<%u>;\n\t.reg .f32 %%f<2>;\n\t.reg .pred %%p<%u>, %%small;\n", t, t, t);
    buf_printf(text, "\t.reg .b64 %%a<%u>, %%b<%u>, %%c<%u>, %%e<%u>;\n", t, t, t, t);
    buf_puts(text, "\t.reg .b64 %d<2>, %own, %slot, %out, %image, %moved, %lowest;\n");
    buf_write(text, buf_text(&code), code.length);
    buf_puts(text, "}\n");
    buf_free(&code);
}
