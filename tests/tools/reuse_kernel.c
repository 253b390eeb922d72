/* See reuse_kernel.h. Every thread reads the neighbours of its place in an image, and reads and writes 64 words of its
 * own, at offsets that depend on the launch: so only run time tells which accesses meet, and no two threads race. Loops
 * walk pointers over the own words while they update one of them, often one that the last round or none after it meets.
 * Indices are 32-bit sums and products, extended to 64 bits; with a large width they wrap. */
#include "reuse_kernel.h"

#include <string.h>

enum { VALUES = 8, OWN = 64, IMAGE = 4096, MIDDLE = 2048, DEPTH = 3 };

typedef struct Maker {
    Random random;
    Buf *out;
    unsigned temporaries, labels, budget;
    unsigned rounds, shift; /* what the launch passes as n and shift */
    bool uniform, wraps; /* wraps: the launch has a width with which indices do */
} Maker;

static unsigned below(Maker *m, unsigned bound)
{
    return random_below(&m->random, bound);
}

static bool chance(Maker *m, unsigned percent)
{
    return below(m, 100) < percent;
}

static void line(Maker *m, const char *format, ...) PRINTF_LIKE(2, 3);
static void line(Maker *m, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    buf_putc(m->out, '\t');
    buf_vprintf(m->out, format, arguments);
    buf_putc(m->out, '\n');
    va_end(arguments);
}

static unsigned temporary(Maker *m)
{
    return m->temporaries++;
}

/* A neighbour of the thread's pixel, by one of the ways in which compilers write that. */
static void make_neighbour(Maker *m)
{
    static const char *const ways[] = {"", ".nc"};
    int dx = (int)below(m, 5) - 2, dy = (int)below(m, 4) - 1, at = 4 * ((int)below(m, 3) - 1);
    unsigned t = temporary(m), dst = below(m, VALUES);
    const char *way = ways[below(m, 4) == 0];
    switch (below(m, 4)) {
    case 0:
        line(m, "add.s32 %%t%u, %%y, %d;", t, dy);
        line(m, "mad.lo.s32 %%s%u, %%t%u, %%w, %%x;", t, t);
        line(m, "add.s32 %%q%u, %%s%u, %d;", t, t, dx);
        line(m, "mul.wide.s32 %%a%u, %%q%u, 4;", t, t);
        line(m, "add.s64 %%b%u, %%image, %%a%u;", t, t);
        break;
    case 1:
        line(m, "mad.lo.s32 %%s%u, %%y, %%w, %%x;", t);
        line(m, "mul.wide.s32 %%a%u, %%s%u, 4;", t, t);
        line(m, "mad.wide.s32 %%c%u, %%w, %d, %%a%u;", t, 4 * dy, t);
        line(m, "add.s64 %%b%u, %%image, %%c%u;", t, t);
        break;
    case 2:
        line(m, "mul.lo.s32 %%t%u, %%y, %%w;", t);
        line(m, "add.s32 %%s%u, %%t%u, %%x;", t, t);
        line(m, "cvt.%s %%c%u, %%s%u;", chance(m, 50) ? "s64.s32" : "u64.u32", t, t);
        line(m, "shl.b64 %%a%u, %%c%u, 2;", t, t);
        line(m, "add.s64 %%b%u, %%image, %%a%u;", t, t);
        break;
    default:
        line(m, "add.s32 %%s%u, %%x, %d;", t, dx);
        line(m, "mul.wide.s32 %%a%u, %%s%u, 4;", t, t);
        line(m, "add.s64 %%b%u, %%a%u, %%image;", t, t);
        break;
    }
    /* What has wrapped is not in the image: such threads keep the extended index instead. */
    unsigned label = m->labels++;
    line(m, "sub.s64 %%e%u, %%b%u, %%lowest;", t, t);
    line(m, "setp.ge.u64 %%p%u, %%e%u, %u;", t, t, 4 * IMAGE - 16);
    if (chance(m, 70) || !m->uniform) {
        line(m, "cvt.u32.u64 %%v%u, %%e%u;", dst, t);
        line(m, "shr.u64 %%e%u, %%e%u, 32;", t, t);
        line(m, "cvt.u32.u64 %%q%u, %%e%u;", t, t);
        line(m, "add.u32 %%v%u, %%v%u, %%q%u;", dst, dst, t);
        line(m, "@%%p%u bra N%u;", t, label);
        line(m, "ld.global%s.u32 %%v%u, [%%b%u+%d];", way, dst, t, at);
        buf_printf(m->out, "N%u:\n", label);
        return;
    }
    /* Without a branch of its own, where the launch keeps all indices small. */
    line(m, "@!%%small bra N%u;", label);
    line(m, "ld.global%s.u32 %%v%u, [%%b%u+%d];", way, dst, t, at);
    for (unsigned more = below(m, 3); more > 0; more--)
        line(m, "ld.global%s.u32 %%v%u, [%%b%u+%d];", way, below(m, VALUES), t, 4 * ((int)below(m, 5) - 2));
    buf_printf(m->out, "N%u:\n", label);
}

/* Several neighbours in one block, as in a stencil whose guard all replicas have passed. */
static void make_stencil(Maker *m)
{
    unsigned label = m->labels++, count = 3 + below(m, 5), row = temporary(m);
    const char *image = chance(m, 30) ? "%moved" : "%image"; /* one is aligned, the other as the launch has it */
    line(m, "@!%%small bra N%u;", label);
    line(m, "mad.lo.s32 %%s%u, %%y, %%w, %%x;", row);
    line(m, "mul.wide.s32 %%a%u, %%s%u, 4;", row, row);
    line(m, "add.s64 %%b%u, %s, %%a%u;", row, image, row);
    line(m, "mul.wide.s32 %%c%u, %%w, 4;", row);
    for (unsigned i = 0; i < count; i++) {
        unsigned t = temporary(m), dst = below(m, VALUES);
        if (chance(m, 30)) {
            line(m, "add.s32 %%t%u, %%y, %d;", t, (int)below(m, 3) - 1);
            line(m, "mad.lo.s32 %%s%u, %%t%u, %%w, %%x;", t, t);
            line(m, "mul.wide.s32 %%a%u, %%s%u, 4;", t, t);
            line(m, "add.s64 %%b%u, %s, %%a%u;", t, image, t);
        } else {
            line(m, "%s.s64 %%b%u, %%b%u, %%c%u;", chance(m, 50) ? "add" : "sub", t, row, row);
        }
        line(m, "ld.global.u32 %%t%u, [%%b%u+%d];", t, t, 4 * ((int)below(m, 3) - 1));
        line(m, "mad.lo.s32 %%v%u, %%v%u, 3, %%t%u;", dst, below(m, VALUES), t);
        if (chance(m, 15))
            line(m, "st.global.u32 [%%own+%u], %%v%u;", 4 * below(m, OWN), dst);
    }
    buf_printf(m->out, "N%u:\n", label);
}

/* Neighbours in one block whose indices wrap with a large width: then none of them is loaded, and the extended indices
 * are the result. */
static void make_wrapping(Maker *m)
{
    unsigned label = m->labels++, count = 2 + below(m, 3), first = m->temporaries, all = first + count;
    const char *extension = chance(m, 70) ? "mul.wide.s32" : "mul.wide.u32";
    m->temporaries += count + 1;
    line(m, "setp.eq.u32 %%p%u, %%w, %%w;", all);
    for (unsigned t = first; t < all; t++) {
        line(m, "add.s32 %%t%u, %%y, %d;", t, chance(m, 40) ? (int)below(m, 3) - 1 : 0);
        line(m, "mad.lo.s32 %%s%u, %%t%u, %%w, %%x;", t, t);
        line(m, "add.s32 %%q%u, %%s%u, %d;", t, t, (int)below(m, 4) - 1);
        line(m, "%s %%a%u, %%q%u, 4;", extension, t, t);
        line(m, "add.s64 %%b%u, %%image, %%a%u;", t, t);
        line(m, "sub.s64 %%e%u, %%b%u, %%lowest;", t, t);
        line(m, "setp.lt.and.u64 %%p%u, %%e%u, %u, %%p%u;", all, t, 4 * IMAGE - 16, all);
        line(m, "shr.u64 %%e%u, %%e%u, 5;", t, t);
        line(m, "cvt.u32.u64 %%q%u, %%e%u;", t, t);
        line(m, "mad.lo.u32 %%v%u, %%v%u, 3, %%q%u;", t % VALUES, below(m, VALUES), t);
    }
    line(m, "@!%%p%u bra N%u;", all, label);
    for (unsigned t = first; t < all; t++) {
        line(m, "ld.global.u32 %%t%u, [%%b%u];", t, t);
        line(m, "mad.lo.u32 %%v%u, %%v%u, 5, %%t%u;", below(m, VALUES), below(m, VALUES), t);
    }
    buf_printf(m->out, "N%u:\n", label);
}

/* A load or store of the thread's own words. */
static void make_own(Maker *m)
{
    unsigned word = below(m, 12), value = below(m, VALUES);
    bool unknown = chance(m, 40); /* an offset that the launch decides */
    const char *base = unknown ? "%slot" : "%own";
    switch (below(m, 12)) {
    case 0: case 1: case 2: line(m, "st.global.u32 [%s+%u], %%v%u;", base, 4 * word, value); break;
    case 3: case 4: case 5: line(m, "ld.global.u32 %%v%u, [%s+%u];", value, base, 4 * word); break;
    case 6: line(m, "st.global.u32 [%s+%u], %u;", base, 4 * word, below(m, 100)); break;
    case 7:
        line(m, "ld.global.v2.u32 {%%v0, %%v1}, [%%own+%u];", 8 * below(m, 6));
        break;
    case 8:
        line(m, "st.global.v2.u32 [%%own+%u], {%%v2, %%v3};", 8 * below(m, 6));
        break;
    case 9:
        line(m, "ld.global.%s %%v%u, [%s+%u];", chance(m, 50) ? "u8" : "s8", value, base, 4 * word + below(m, 4));
        break;
    case 10:
        line(m, "st.global.u%u [%s+%u], %%v%u;", chance(m, 50) ? 8 : 16, base, 4 * word, value);
        break;
    default:
        line(m, "mov.b32 %%f0, %%v%u;", value);
        line(m, "st.global.f32 [%s+%u], %%f0;", base, 4 * word);
        line(m, "ld.global.b32 %%v%u, [%s+%u];", below(m, VALUES), base, 4 * word);
    }
}

static void make_order(Maker *m)
{
    unsigned value = below(m, VALUES), word = 4 * below(m, 12);
    switch (below(m, 4)) {
    case 0:
        if (m->uniform) {
            line(m, "bar.sync 0;");
            break;
        }
        /* fall through */
    case 1: line(m, "membar.cta;"); break;
    case 2: line(m, "ld.volatile.global.u32 %%v%u, [%%own+%u];", value, word); break;
    default: line(m, "st.volatile.global.u32 [%%slot+%u], %%v%u;", word, value); break;
    }
}

static void make_arithmetic(Maker *m)
{
    line(m, "mad.lo.s32 %%v%u, %%v%u, %u, %%v%u;", below(m, VALUES), below(m, VALUES), 1 + below(m, 9),
         below(m, VALUES));
}

/* The word at which a walk begins whose last round is at the word 'last', or beside it; any word where that is not
 * among the thread's own. */
static unsigned walk_to(Maker *m, unsigned last, unsigned words, bool down)
{
    unsigned way = words * (m->rounds ? m->rounds - 1 : 0), beside = below(m, 4);
    last = last + (beside == 1) - (beside == 2);
    unsigned start = down ? last + way : last - way; /* below 0: large */
    return start < OWN - 4 && last < OWN - 4 ? start : below(m, 8);
}

/* A loop that updates a word of its own while it walks over others. */
static void make_loop(Maker *m)
{
    unsigned t = temporary(m), label = m->labels++, cell = 4 * below(m, 12), unroll = 1 + below(m, 2);
    unsigned step = 4 * (1 + below(m, 2)), value = below(m, VALUES);
    bool down = chance(m, 30), ordered = chance(m, 40), skips = chance(m, 15), fresh = chance(m, 25);
    bool at_slot = chance(m, 50);
    const char *base = at_slot ? "%slot" : "%own";
    line(m, "setp.lt.s32 %%p%u, %%n, 1;", t);
    line(m, "@%%p%u bra E%u;", t, label);
    line(m, "mul.lo.s32 %%k%u, %%n, %u;", t, unroll);
    line(m, "mov.u32 %%j%u, 0;", t);
    if (at_slot && chance(m, 60))
        line(m, "add.s64 %%b%u, %%own, %u;", t, 4 * walk_to(m, m->shift + cell / 4, step / 4, down));
    else
        line(m, "add.s64 %%b%u, %%slot, %u;", t, 4 * below(m, 8));
    /* A second pointer that keeps its distance, or does not. */
    bool second = chance(m, 40), apart = chance(m, 30);
    if (second)
        line(m, "add.s64 %%c%u, %%b%u, %u;", t, t, 4 * below(m, 6));
    /* The walk's pointer is only added to an offset. */
    bool leads = chance(m, 30);
    const char *walk = leads ? "%e" : "%b";
    if (leads)
        line(m, "sub.s64 %%b%u, %%b%u, %%d1;", t, t);
    buf_printf(m->out, "L%u:\n", label);
    if (leads)
        line(m, "add.s64 %%e%u, %%b%u, %%d1;", t, t);
    if (second) {
        line(m, "ld.global.u32 %%g0, [%%c%u];", t);
        line(m, "add.s32 %%v%u, %%v%u, %%g0;", value, value);
        line(m, "add.s64 %%c%u, %%c%u, %d;", t, t, (down ? -(int)step : (int)step) + (apart ? 4 : 0));
    }
    for (unsigned i = 0; i < unroll; i++) {
        line(m, "ld.global.u32 %%t%u, [%s%u+%u];", t, walk, t, 4 * i);
        if (!fresh)
            line(m, "ld.global.u32 %%q%u, [%s+%u];", t, base, cell);
        else
            line(m, "mov.u32 %%q%u, %%v%u;", t, value);
        line(m, "mad.lo.s32 %%s%u, %%t%u, 5, %%q%u;", t, t, t);
        if (skips) {
            line(m, "setp.eq.u32 %%p%u, %%t%u, 3;", t, t);
            line(m, "@%%p%u bra S%u_%u;", t, label, i);
        }
        line(m, "st.global.u32 [%s+%u], %%s%u;", base, cell, t);
        if (skips)
            buf_printf(m->out, "S%u_%u:\n", label, i);
    }
    if (chance(m, 10))
        make_order(m);
    if (chance(m, 20))
        make_own(m);
    line(m, "add.s64 %%b%u, %%b%u, %d;", t, t, down ? -(int)step : (int)step);
    line(m, "add.s32 %%j%u, %%j%u, %u;", t, t, unroll);
    if (ordered)
        line(m, "setp.lt.s32 %%p%u, %%j%u, %%k%u;", t, t, t);
    else
        line(m, "setp.ne.s32 %%p%u, %%j%u, %%k%u;", t, t, t);
    line(m, "@%%p%u bra L%u;", t, label);
    buf_printf(m->out, "E%u:\n", label);
}

static void make_statements(Maker *m, unsigned depth, unsigned count)
{
    for (unsigned i = 0; i < count && m->budget; i++, m->budget--) {
        switch (below(m, 12)) {
        case 0: case 1: make_neighbour(m); break;
        case 2: case 3: (chance(m, m->wraps ? 90 : 30) ? make_wrapping : make_stencil)(m); break;
        case 4: case 5: case 6: make_own(m); break;
        case 7: make_order(m); break;
        case 8: case 9: make_loop(m); break;
        case 10: make_arithmetic(m); break;
        default: {
            unsigned t = temporary(m), label = m->labels++;
            bool was = m->uniform;
            if (depth >= DEPTH)
                break;
            m->uniform = was && chance(m, 50);
            line(m, "and.b32 %%t%u, %%%s, %u;", t, m->uniform ? "n" : "v0", 1 + below(m, 3));
            line(m, "setp.eq.u32 %%p%u, %%t%u, 1;", t, t);
            line(m, "@%%p%u bra I%u;", t, label);
            make_statements(m, depth + 1, 1 + below(m, 4));
            buf_printf(m->out, "I%u:\n", label);
            m->uniform = was;
        }
        }
    }
}

static void make_prologue(Maker *m)
{
    line(m, "ld.param.u64 %%lowest, [image];");
    line(m, "ld.param.u64 %%out, [out];");
    line(m, "ld.param.u32 %%w, [width];");
    line(m, "ld.param.u32 %%n, [n];");
    line(m, "ld.param.u32 %%shift, [shift];");
    line(m, "add.s64 %%image, %%lowest, %u;", 4 * MIDDLE);
    line(m, "mov.u32 %%g0, %%ntid.x; mov.u32 %%g1, %%ctaid.x; mov.u32 %%g2, %%tid.x;");
    line(m, "mov.u32 %%g3, %%ntid.y; mov.u32 %%g4, %%ctaid.y; mov.u32 %%g5, %%tid.y;");
    line(m, "mad.lo.s32 %%x, %%g1, %%g0, %%g2;");
    line(m, "mad.lo.s32 %%y, %%g4, %%g3, %%g5;");
    line(m, "mov.u32 %%g6, %%nctaid.x;");
    line(m, "mul.lo.u32 %%g7, %%g6, %%g0;");
    line(m, "mad.lo.u32 %%g8, %%y, %%g7, %%x;");
    line(m, "mul.wide.u32 %%d0, %%g8, %u;", 4 * OWN);
    line(m, "add.s64 %%own, %%out, %%d0;");
    line(m, "mul.wide.s32 %%d1, %%shift, 4;");
    line(m, "add.s64 %%slot, %%own, %%d1;");
    line(m, "add.s64 %%moved, %%image, %%d1;");
    line(m, "setp.lt.u32 %%small, %%w, 64;");
    for (unsigned i = 0; i < VALUES; i++)
        line(m, "mad.lo.u32 %%v%u, %%x, %u, %%y;", i, i + 1);
    /* What the thread's own words are before anything else. */
    for (unsigned i = 0; i < OWN; i++)
        line(m, "st.global.u32 [%%own+%u], %%v%u;", 4 * i, i % VALUES);
    line(m, "membar.cta;");
}

static void scalar_argument(Arena *arena, LaunchArgument *argument, unsigned value)
{
    unsigned *bytes = ARENA_NEW(arena, unsigned);
    *bytes = value;
    *argument = (LaunchArgument){.kind = ARGUMENT_SCALAR, .type = TYPE_U32, .bytes = bytes, .size = 4};
}

static void make_launch(Maker *m, Arena *arena, Launch *launch)
{
    static const unsigned blocks[][3] = {{16, 8, 1}, {32, 4, 1}, {8, 8, 1}, {64, 2, 1}};
    static const unsigned widths[] = {40, 33, 60, 17, 1u << 29, 0x7ffffff0, 0xfffffff0};
    *launch = (Launch){.kernel = "k", .grid = {2, 1, 1}};
    memcpy(launch->block, blocks[below(m, COUNT_OF(blocks))], sizeof launch->block);
    if (chance(m, 30))
        launch->grid[1] = 2;
    unsigned threads = 2 * launch->grid[1] * launch->block[0] * launch->block[1];
    launch->argument_count = 5;
    launch->arguments = ARENA_ARRAY(arena, LaunchArgument, 5);
    launch->arguments[0] = (LaunchArgument){.kind = ARGUMENT_BUFFER, .name = "image", .type = TYPE_U32, .count = IMAGE,
                                            .fill = FILL_UNIFORM, .low = 0, .high = 4000, .seed = m->random.state};
    launch->arguments[1] = (LaunchArgument){
        .kind = ARGUMENT_BUFFER, .name = "out", .type = TYPE_U32, .count = threads * OWN, .fill = FILL_POISON};
    m->wraps = chance(m, 20);
    scalar_argument(arena, &launch->arguments[2], widths[m->wraps ? 4 + below(m, COUNT_OF(widths) - 4) : below(m, 4)]);
    m->rounds = below(m, 6);
    m->shift = chance(m, 50) ? 24 : 10 + below(m, 16);
    scalar_argument(arena, &launch->arguments[3], m->rounds);
    scalar_argument(arena, &launch->arguments[4], m->shift);
}

void reuse_kernel(uint64_t seed, Arena *arena, Buf *text, Launch *launch)
{
    Buf code = {0};
    Maker m = {.random = {seed * UINT64_C(0x2545f4914f6cdd1d) + 77}, .out = &code, .uniform = true, .budget = 16};
    make_launch(&m, arena, launch);
    make_prologue(&m);
    make_statements(&m, 0, 4 + below(&m, 8));
    for (unsigned i = 0; i < VALUES; i++)
        line(&m, "st.global.u32 [%%own+%u], %%v%u;", 4 * i, i);
    line(&m, "ret;");
    unsigned t = m.temporaries + 1;
    buf_puts(text, ".version 8.0\n.target sm_80\n.address_size 64\n"
                   ".visible .entry k(.param .u64 image, .param .u64 out, .param .u32 width, .param .u32 n, "
                   ".param .u32 shift)\n{\n");
    buf_printf(text, "\t.reg .b32 %%v<%u>, %%g<9>, %%w, %%n, %%x, %%y, %%shift, %%t<%u>, %%s<%u>, %%q<%u>;\n", VALUES,
               t, t, t);
    buf_printf(text, "\t.reg .b32 %%k<%u>, %%j<%u>;\n\t.reg .f32 %%f<2>;\n\t.reg .pred %%p<%u>, %%small;\n", t, t, t);
    buf_printf(text, "\t.reg .b64 %%a<%u>, %%b<%u>, %%c<%u>, %%e<%u>;\n", t, t, t, t);
    buf_puts(text, "\t.reg .b64 %d<2>, %own, %slot, %out, %image, %moved, %lowest;\n");
    buf_write(text, buf_text(&code), code.length);
    buf_puts(text, "}\n");
    buf_free(&code);
}
