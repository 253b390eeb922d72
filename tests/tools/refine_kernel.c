/* See refine_kernel.h. Each thread has a row of two buffers, which pointers walk through: in place, at distances at
 * which they meet in other rounds, backwards, or apart. A table, which nothing writes, has rows or columns of the
 * threads. Sums are stored in each round to one place, which may be in the rows. Loops go 0 to 70 rounds, of a number
 * that is constant or not, have their bodies unrolled or not, and may be in another loop. They sum up in all ways, also
 * elements that are not numbers, and some do what only the order of rounds gives. The thread stores before and after
 * them, in place, some of it under a guard, reads what it and, after a barrier, others have stored, and some leave
 * early. */
#include "refine_kernel.h"

#include "kernel_writer.h"

enum { BLOCKS = 2, STREAMS = 4, SUMS = 3, PITCH = 1024, WORD = 4, TEMPORARIES = 64, ORDERED = 5 };

typedef struct Stream {
    unsigned bytes, buffer, offset, slope; /* slope: bytes for each round, at least those that it touches in one */
    bool stores, reads_table, is_column;
} Stream;

/* How a value sums up: its operation on the value and another one, and what it starts from. */
typedef struct Sum {
    const char *format;
    bool is_float, is_ordered; /* is_ordered: the order of rounds matters */
} Sum;

/* The last ORDERED are. */
static const Sum sums[] = {
    {"add.s32 %%s%u, %%s%u, %%v%u;", false, false},
    {"sub.u32 %%s%u, %%s%u, %%v%u;", false, false},
    {"mad.lo.s32 %%s%u, %%v%3$u, 5, %%s%2$u;", false, false},
    {"max.s32 %%s%u, %%s%u, %%v%u;", false, false},
    {"min.u32 %%s%u, %%s%u, %%v%u;", false, false},
    {"and.b32 %%s%u, %%s%u, %%v%u;", false, false},
    {"or.b32 %%s%u, %%s%u, %%v%u;", false, false},
    {"xor.b32 %%s%u, %%s%u, %%v%u;", false, false},
    {"add.f32 %%s%u, %%s%u, %%f%u;", true, false},
    {"fma.rn.f32 %%s%u, %%f%3$u, 0f40000000, %%s%2$u;", true, false},
    {"max.f32 %%s%u, %%s%u, %%f%u;", true, false},
    {"min.NaN.f32 %%s%u, %%s%u, %%f%u;", true, false},
    {"sub.f32 %%s%u, %%s%u, %%f%u;", true, false},
    {"setp.gt.s32 %%takes, %%v%3$u, %%s%1$u; selp.b32 %%s%2$u, %%v%3$u, %%s%1$u, %%takes;", false, false},
    {"setp.ge.u32 %%takes, %%v%3$u, %%s%1$u; selp.b32 %%s%2$u, %%s%1$u, %%v%3$u, %%takes;", false, false},
    {"setp.gt.f32 %%takes, %%f%3$u, %%s%1$u; selp.f32 %%s%2$u, %%f%3$u, %%s%1$u, %%takes;", true, false},
    {"setp.gt.f32 %%takes, %%s%1$u, %%f%3$u; selp.f32 %%s%2$u, %%f%3$u, %%s%1$u, %%takes;", true, false},
    {"setp.geu.f32 %%takes, %%s%1$u, %%f%3$u; selp.f32 %%s%2$u, %%s%1$u, %%f%3$u, %%takes;", true, false},
    {"setp.ltu.f32 %%takes, %%f%3$u, %%s%1$u; selp.f32 %%s%2$u, %%f%3$u, %%s%1$u, %%takes;", true, true},
    {"setp.ge.f32 %%takes, %%s%1$u, %%f%3$u; selp.f32 %%s%2$u, %%s%1$u, %%f%3$u, %%takes;", true, true},
    {"setp.ne.s32 %%takes, %%v%3$u, %%s%1$u; selp.b32 %%s%2$u, %%v%3$u, %%s%1$u, %%takes;", false, true},
    {"mad.lo.s32 %%s%u, %%s%u, 3, %%v%u;", false, true},
    {"sub.s32 %%s%u, %%v%3$u, %%s%2$u;", false, true},
};

typedef struct Maker {
    Writer to;
    Stream streams[STREAMS];
    unsigned sums[SUMS], count, sum_count, rounds, unrolled;
    unsigned block[2];
    bool is_constant; /* the number of rounds, and the counter counts parts of rounds */
    bool descends, has_guard, is_nested, has_wide, has_lasting, has_nan;
} Maker;

static void make_stream(Maker *m, Stream *s)
{
    *s = (Stream){.bytes = chance(&m->to, 75) ? WORD : 1, .buffer = below(&m->to, 2), .stores = chance(&m->to, 30)};
    s->reads_table = !s->stores && chance(&m->to, 40);
    s->is_column = s->reads_table && s->bytes == WORD && chance(&m->to, 30);
    s->slope = m->unrolled * s->bytes * (chance(&m->to, 70) ? 1 : 2);
    s->offset = chance(&m->to, 60) ? 0 : s->bytes * below(&m->to, 40);
    if (s->is_column)
        s->slope = m->unrolled * WORD * m->block[0];
    while (!s->is_column && m->rounds * s->slope + s->offset > PITCH - 16)
        m->rounds--;
}

/* Lets the stream walk beside another one: in the gap that it leaves, or where it is a round later or earlier. */
static void relate_stream(Maker *m, Stream *s, const Stream *to)
{
    if (s->reads_table || to->reads_table || s->is_column || to->is_column || !chance(&m->to, 30))
        return;
    s->bytes = to->bytes;
    s->buffer = to->buffer;
    s->slope = to->slope;
    s->offset = to->offset + to->bytes * below(&m->to, 2 + to->slope / to->bytes);
    while (m->rounds * s->slope + s->offset > PITCH - 16)
        m->rounds--;
}

/* One access of a round; what it loads goes to the sums. */
static void make_access(Maker *m, unsigned number, unsigned part)
{
    const Stream *s = &m->streams[number];
    const char *type = s->bytes == WORD ? "u32" : "u8";
    const unsigned t = temporary(&m->to), offset = part * (s->slope / m->unrolled);
    if (s->stores && m->is_constant) {
        line(&m->to, "mad.lo.u32 %%v%u, %%i, 3, %%x; add.u32 %%v%u, %%v%u, %u;", t, t, t,
             3 * part + (chance(&m->to, 4) ? part : 0));
        line(&m->to, "st.global.%s [%%q%u+%u], %%v%u;", type, number, offset, t);
        return;
    }
    if (s->stores) {
        line(&m->to, "mad.lo.u32 %%v%u, %%i, %u, %%x;", t, 3 + part);
        line(&m->to, "st.global.%s [%%q%u+%u], %%v%u;", type, number, offset, t);
        return;
    }
    line(&m->to, "ld.global%s.%s %%v%u, [%%q%u+%u];", s->reads_table ? ".nc" : "", type, t, number, offset);
    line(&m->to, "and.b32 %%n%u, %%v%u, 63; cvt.rn.f32.u32 %%f%u, %%n%u;", t, t, t, t);
    if (m->has_nan)
        line(&m->to, "setp.eq.u32 %%takes, %%n%u, 5; selp.b32 %%f%u, 0x7fc00000, %%f%u, %%takes;", t, t, t);
    for (unsigned i = 0; i < m->sum_count; i++) {
        buf_putc(m->to.out, '\t');
        /* NOLINTNEXTLINE: the formats are the table's */
        buf_printf(m->to.out, sums[m->sums[i]].format, i, i, t);
        buf_putc(m->to.out, '\n');
    }
    if (m->has_wide)
        line(&m->to, "mad.wide.s32 %%wide, %%v%u, 7, %%wide; cvt.rn.f64.u32 %%d, %%n%u; add.f64 %%sum, %%sum, %%d;",
             t, t);
}

/* The place of the sums: in the row, or where nothing else is. */
static void make_lasting_place(Maker *m)
{
    if (chance(&m->to, 60)) {
        line(&m->to, "add.s64 %%fixed, %%mine, 8;");
        return;
    }
    line(&m->to, "ld.param.u64 %%fixed, [%s]; add.s64 %%fixed, %%fixed, %%row;", chance(&m->to, 50) ? "a" : "b");
    const unsigned end = (m->streams[0].offset + m->rounds * m->streams[0].slope) / 8 * 8 + 8 * below(&m->to, 6);
    const bool is_near = chance(&m->to, 50) && end > 32 && end < PITCH;
    line(&m->to, "add.s64 %%fixed, %%fixed, %u;", is_near ? end - 32 : 8 * below(&m->to, 40));
}

static void make_lasting(Maker *m)
{
    for (unsigned i = 0; i < m->sum_count; i++)
        if (chance(&m->to, 70))
            line(&m->to, "%sst.global.u32 [%%fixed+%u], %%s%u;", chance(&m->to, 3) ? "@!%more " : "", i * WORD, i);
    if (m->has_wide)
        line(&m->to, "st.global.f64 [%%fixed+16], %%sum;");
}

static void make_loop(Maker *m, unsigned number)
{
    for (unsigned i = 0; i < m->count; i++) {
        const Stream *s = &m->streams[i];
        line(&m->to, "ld.param.u64 %%q%u, [p%u]; add.s64 %%q%u, %%q%u, %s;", i, i, i, i,
             s->is_column ? "%column" : "%row");
        if (m->descends)
            line(&m->to, "mad.wide.s32 %%q%u, %%last, %u, %%q%u;", i, s->slope, i);
    }
    if (m->has_lasting)
        make_lasting_place(m);
    line(&m->to, "mov.u32 %%i, 0; setp.lt.s32 %%more, %%n, 1; @%%more bra AFTER%u;", number);
    buf_printf(m->to.out, "LOOP%u:\n", number);
    for (unsigned part = 0; part < m->unrolled; part++) {
        for (unsigned i = 0; i < m->count; i++)
            make_access(m, i, part);
        if (m->has_lasting)
            make_lasting(m);
    }
    if (chance(&m->to, 5))
        line(&m->to, "st.global.u32 [%%mine+4], %%s0;"); /* a sum in the middle */
    for (unsigned i = 0; i < m->count; i++)
        line(&m->to, "%s.s64 %%q%u, %%q%u, %u;", m->descends ? "sub" : "add", i, i, m->streams[i].slope);
    const char *relation = chance(&m->to, 50) ? "lt" : "ne";
    if (m->is_constant)
        line(&m->to, "add.s32 %%i, %%i, %u; setp.%s.s32 %%more, %%i, %u; @%%more bra LOOP%u;", m->unrolled, relation,
             m->rounds * m->unrolled, number);
    else
        line(&m->to, "add.s32 %%i, %%i, 1; setp.%s.s32 %%more, %%i, %%n; @%%more bra LOOP%u;", relation, number);
    buf_printf(m->to.out, "AFTER%u:\n", number);
}

/* Loads a word of the thread's row, and stores another one. */
static void make_touch(Maker *m)
{
    const unsigned t = temporary(&m->to);
    line(&m->to, "ld.param.u64 %%to, [%s]; add.s64 %%to, %%to, %%row;", chance(&m->to, 50) ? "a" : "b");
    line(&m->to, "ld.global.u32 %%v%u, [%%to+%u]; add.u32 %%seen, %%seen, %%v%u;", t, WORD * below(&m->to, 16), t);
    const char *guard = chance(&m->to, 60) ? "" : chance(&m->to, 50) ? "@%more " : "@!%more ";
    if (*guard)
        line(&m->to, "and.b32 %%n%u, %%v%u, 1; setp.ne.u32 %%more, %%n%u, 0;", t, t, t);
    if (chance(&m->to, 60))
        line(&m->to, "%sst.global.u32 [%%to+%u], %%seen;", guard, WORD * below(&m->to, 16));
    if (chance(&m->to, 30))
        line(&m->to, "%sred.global.add.u32 [%%mine+4], %%v%u;", guard, t);
}

static void make_exchange(Maker *m)
{
    line(&m->to, "mov.u32 %%n0, own; mad.lo.u32 %%n1, %%local, 4, %%n0; st.shared.u32 [%%n1], %%seen;");
    line(&m->to, "bar.sync 0; xor.b32 %%n2, %%local, 1; mad.lo.u32 %%n2, %%n2, 4, %%n0;");
    line(&m->to, "ld.shared.u32 %%n3, [%%n2]; xor.b32 %%seen, %%seen, %%n3;");
}

static void make_body(Maker *m)
{
    for (unsigned i = below(&m->to, 3); i > 0; i--)
        make_touch(m);
    if (m->is_nested)
        buf_puts(m->to.out, "\tmov.u32 %o, 0;\nOUTER:\n");
    make_loop(m, 0);
    for (unsigned i = below(&m->to, 3); i > 0; i--)
        make_touch(m);
    if (m->is_nested)
        line(&m->to, "add.u32 %%o, %%o, 1; setp.lt.u32 %%more, %%o, 3; @%%more bra OUTER;");
    if (chance(&m->to, 30))
        make_loop(m, 1);
    if (!m->has_guard && chance(&m->to, 40))
        make_exchange(m);
    if (chance(&m->to, 10)) /* of the last round */
        line(&m->to, "xor.b32 %%s0, %%s0, %%v%u;",
             4 + below(&m->to, (m->to.temporaries < TEMPORARIES ? m->to.temporaries : TEMPORARIES) - 4));
    line(&m->to, "add.u32 %%s0, %%s0, %%i; xor.b32 %%s0, %%s0, %%seen;");
    for (unsigned i = 1; i < m->sum_count; i++)
        line(&m->to, "mad.lo.u32 %%s0, %%s0, 31, %%s%u;", i);
    line(&m->to, "mov.b64 %%to, %%sum; xor.b64 %%wide, %%wide, %%to;");
    line(&m->to, "cvt.u32.u64 %%n0, %%wide; shr.u64 %%wide, %%wide, 32; cvt.u32.u64 %%n1, %%wide;");
    line(&m->to, "xor.b32 %%s0, %%s0, %%n0; add.u32 %%s0, %%s0, %%n1; st.global.u32 [%%mine], %%s0; ret;");
}

static void make_launch(Maker *m, Arena *arena, Launch *launch)
{
    const unsigned threads = m->block[0] * m->block[1] * BLOCKS;
    *launch = (Launch){.kernel = "k", .grid = {BLOCKS, 1, 1}, .block = {m->block[0], m->block[1], 1}};
    launch->argument_count = 6 + STREAMS;
    launch->arguments = ARENA_ARRAY(arena, LaunchArgument, launch->argument_count);
    LaunchArgument *a = launch->arguments;
    static const char *const names[] = {"a", "b", "table"};
    const unsigned column = m->block[0] * m->unrolled * WORD * (m->rounds + 1);
    for (unsigned i = 0; i < 3; i++)
        a[i] = (LaunchArgument){.kind = ARGUMENT_BUFFER, .name = names[i], .type = TYPE_U8,
                                .count = (uint64_t)PITCH * threads + (i == 2 ? column : 0), .fill = FILL_UNIFORM,
                                .low = 0, .high = 255, .seed = m->to.random.state + i};
    a[3] = (LaunchArgument){.kind = ARGUMENT_BUFFER, .name = "sums", .type = TYPE_U32, .count = 8 * threads,
                            .fill = FILL_ZERO};
    scalar_argument(arena, &a[4], m->rounds);
    scalar_argument(arena, &a[5], m->has_guard ? threads - below(&m->to, threads / 2) : threads);
    for (unsigned i = 0; i < STREAMS; i++)
        a[6 + i] = (LaunchArgument){.kind = ARGUMENT_POINTER,
                                    .name = m->streams[i].reads_table ? "table" : names[m->streams[i].buffer],
                                    .type = TYPE_U8,
                                    .offset = m->streams[i].offset};
}

static void choose(Maker *m)
{
    static const unsigned unrolled[] = {1, 2, 4, 5, 8, 8, 12, 16, 16, 32};
    m->is_constant = chance(&m->to, 40);
    m->unrolled = m->is_constant ? unrolled[below(&m->to, COUNT_OF(unrolled))] : 1U << below(&m->to, 3);
    m->rounds = chance(&m->to, 20) ? below(&m->to, 6) : 6 + below(&m->to, 64);
    m->block[0] = 4U << below(&m->to, 4);
    m->block[1] = 1 + below(&m->to, 2);
    m->descends = chance(&m->to, 15);
    m->has_guard = chance(&m->to, 40);
    m->is_nested = chance(&m->to, 25);
    m->has_wide = chance(&m->to, 20);
    m->has_lasting = chance(&m->to, 30);
    m->has_nan = chance(&m->to, 20);
    m->count = 1 + below(&m->to, STREAMS);
    m->sum_count = 1 + below(&m->to, SUMS);
    for (unsigned i = 0; i < m->sum_count; i++)
        m->sums[i] = below(&m->to, chance(&m->to, 3) ? COUNT_OF(sums) : COUNT_OF(sums) - ORDERED);
    for (unsigned i = 0; i < m->count; i++) {
        make_stream(m, &m->streams[i]);
        if (i)
            relate_stream(m, &m->streams[i], &m->streams[below(&m->to, i)]);
    }
}

void refine_kernel(uint64_t seed, Arena *arena, Buf *text, Launch *launch)
{
    Buf code = {0};
    Maker m = {.to = {.random = {seed * UINT64_C(0x2545f4914f6cdd1d) + 77}, .out = &code, .temporaries = 4}};
    choose(&m);
    line(&m.to, "ld.param.u32 %%n, [n]; mov.u32 %%g0, %%tid.x; mov.u32 %%g1, %%tid.y; mov.u32 %%g2, %%ctaid.x;");
    line(&m.to, "mov.u32 %%g3, %%ntid.x; mad.lo.u32 %%local, %%g1, %%g3, %%g0; add.s32 %%last, %%n, -1;");
    line(&m.to, "mad.lo.u32 %%x, %%g2, %u, %%local;", m.block[0] * m.block[1]);
    if (m.has_guard)
        line(&m.to, "ld.param.u32 %%g3, [m]; setp.ge.u32 %%more, %%x, %%g3; @%%more ret;");
    line(&m.to, "mul.wide.u32 %%row, %%x, %u; mul.wide.u32 %%column, %%g0, %u;", PITCH, WORD);
    line(&m.to, "mov.u64 %%wide, 5; mov.f64 %%sum, 0d4000000000000000; mov.u32 %%seen, 9;");
    line(&m.to, "ld.param.u64 %%mine, [sums]; mul.wide.u32 %%to, %%x, 32; add.s64 %%mine, %%mine, %%to;");
    for (unsigned i = 4; i < TEMPORARIES; i++)
        line(&m.to, "mov.b32 %%v%u, %u;", i, i);
    if (chance(&m.to, 30))
        line(&m.to, "mov.u32 %%n2, %%nctaid.x; mad.lo.u32 %%seen, %%n2, 77, %%seen;");
    for (unsigned i = 0; i < m.sum_count; i++)
        line(&m.to, "%s %%s%u, %%x;", sums[m.sums[i]].is_float ? "cvt.rn.f32.u32" : "mov.b32", i);
    make_body(&m);
    make_launch(&m, arena, launch);
    const unsigned t = m.to.temporaries < TEMPORARIES ? TEMPORARIES : m.to.temporaries + 1;
    buf_puts(text, ".version 8.0\n.target sm_80\n.address_size 64\n"
                   ".visible .entry k(.param .u64 a, .param .u64 b, .param .u64 table, .param .u64 sums, "
                   ".param .u32 n, .param .u32 m, .param .u64 p0, .param .u64 p1, .param .u64 p2, .param .u64 p3)\n"
                   "{\n\t.shared .align 4 .b8 own[4096];\n");
    buf_printf(text, "\t.reg .b32 %%v<%u>, %%n<%u>, %%f<%u>, %%s<%u>, %%g<4>;\n", t, t, t, SUMS);
    buf_puts(text, "\t.reg .b32 %n, %x, %i, %o, %last, %local, %seen;\n");
    buf_printf(text, "\t.reg .b64 %%q<%u>, %%mine, %%fixed, %%row, %%column, %%to, %%wide;\n", STREAMS);
    buf_puts(text, "\t.reg .f64 %sum, %d;\n\t.reg .pred %more, %takes;\n");
    buf_write(text, buf_text(&code), code.length);
    buf_puts(text, "}\n");
    buf_free(&code);
}
