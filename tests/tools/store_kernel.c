/* See store_kernel.h. In each round, up to five pointers of a thread load or store elements of its rows, in any
 * order. They may walk in one buffer: in place, at distances at which they meet in other rounds, or far enough
 * apart. Some load a table that nothing writes, some advance by more than they touch, some go back, some are used
 * on a condition. After the loop, threads read what they and others have stored. */
#include "store_kernel.h"

#include "kernel_writer.h"

enum { BLOCKS = 2, STREAMS = 5, REACH = 512, BUFFERS = 2, WORD = 4, TILE_ROUNDS = 32 };

typedef struct Stream {
    unsigned bytes, count; /* of an element; count: elements of a vector */
    unsigned buffer, offset;
    unsigned gap;          /* elements that are left out after each round */
    bool stays;            /* rounds touch the same elements, or half of them */
    unsigned pointer;      /* the stream whose pointer it uses, at the same offset */
    bool stores, reads_table, is_conditional;
} Stream;

typedef struct Maker {
    Writer to;
    Stream streams[STREAMS];
    unsigned count, rounds, unrolled, pitch;
    unsigned block[2];
    bool descends, has_guard;
} Maker;

static unsigned stream_step(const Maker *m, const Stream *s)
{
    const unsigned unit = s->bytes * s->count;
    return s->stays ? unit * (m->unrolled / 2) : unit * (m->unrolled + s->gap);
}

static void make_stream(Maker *m, Stream *s, unsigned bytes)
{
    *s = (Stream){.bytes = bytes, .count = 1, .buffer = below(&m->to, BUFFERS), .stores = chance(&m->to, 45)};
    if (bytes == 4 && chance(&m->to, 25))
        s->count = 2U << below(&m->to, 2);
    s->reads_table = !s->stores && chance(&m->to, 25);
    s->gap = chance(&m->to, 15) ? 1 + below(&m->to, 2) : 0;
    s->is_conditional = chance(&m->to, 6);
    s->stays = chance(&m->to, 4);
    const unsigned unit = s->bytes * s->count;
    s->offset = chance(&m->to, 50) ? 0 : unit * below(&m->to, 6);
    while (m->rounds * stream_step(m, s) + s->offset > REACH && m->rounds > 1)
        m->rounds--;
}

/* Lets the stream walk with another one's pointer, or begin about where that one ends. */
static void relate_stream(Maker *m, Stream *s, unsigned number)
{
    const unsigned other = number ? below(&m->to, number) : 0;
    const Stream *to = &m->streams[other];
    s->pointer = number;
    if (!number || s->reads_table || to->reads_table || s->bytes * s->count != to->bytes * to->count)
        return;
    if (chance(&m->to, 30)) {
        const unsigned own = to->pointer;
        *s = (Stream){.bytes = s->bytes, .count = s->count, .buffer = to->buffer, .offset = to->offset, .gap = to->gap,
                      .stays = to->stays, .pointer = own, .stores = s->stores, .is_conditional = s->is_conditional};
    } else if (chance(&m->to, 30)) {
        const unsigned end = to->offset + m->rounds * stream_step(m, to), unit = s->bytes * s->count;
        s->buffer = to->buffer;
        s->offset = end + unit * below(&m->to, 3);
        s->offset -= s->offset > unit ? unit : 0;
    }
}

static const char *data_name(const Stream *s)
{
    return s->bytes == 8 ? "w" : "v";
}

/* Lets the second stream store, from the first round on, what the first one loads in its last round, in as many rounds
 * as a tile has: only the last element of a range tells that they meet. */
static void make_last_meet(Maker *m)
{
    Stream *first = &m->streams[0], *second = &m->streams[1];
    *first = (Stream){.bytes = WORD, .count = 1};
    *second = (Stream){.bytes = WORD, .count = 1, .pointer = 1, .stores = true};
    m->unrolled = 1;
    m->rounds = TILE_ROUNDS;
    second->offset = (m->rounds - 1) * WORD;
    m->count = 2;
}

/* The operand for the stream's data: a register or a list of them, from number t on. */
static const char *data_operand(Maker *m, const Stream *s, unsigned t, char text[80])
{
    const char *name = data_name(s);
    for (unsigned i = 1; i < s->count; i++)
        temporary(&m->to);
    if (s->count == 1)
        snprintf(text, 80, "%%%s%u", name, t);
    else if (s->count == 2)
        snprintf(text, 80, "{%%%s%u, %%%s%u}", name, t, name, t + 1);
    else
        snprintf(text, 80, "{%%%s%u, %%%s%u, %%%s%u, %%%s%u}", name, t, name, t + 1, name, t + 2, name, t + 3);
    return text;
}

static void make_access(Maker *m, unsigned number, unsigned part)
{
    const Stream *s = &m->streams[number];
    static const char *const types[] = {[1] = "u8", [2] = "u16", [4] = "u32", [8] = "u64"};
    const unsigned t = temporary(&m->to);
    const int offset = (int)(part * s->bytes * s->count);
    const char *vector = s->count == 1 ? "" : s->count == 2 ? ".v2" : ".v4";
    char guard[32] = "", operand[80];
    data_operand(m, s, t, operand);
    if (s->is_conditional) {
        line(&m->to, "and.b32 %%n%u, %%sum, 3; setp.ne.u32 %%p%u, %%n%u, 0;", t, t, t);
        snprintf(guard, sizeof guard, "@%%p%u ", t);
    }
    for (unsigned i = 0; i < s->count; i++) {
        if (s->stores)
            line(&m->to, s->bytes == 8 ? "mul.wide.u32 %%w%u, %%sum, %u;" : "add.u32 %%v%u, %%sum, %u;", t + i,
                 3 + below(&m->to, 9));
        else
            line(&m->to, "mov.b%u %%%s%u, 3;", s->bytes == 8 ? 64 : 32, data_name(s), t + i);
    }
    if (s->stores)
        line(&m->to, "%sst.global%s.%s [%%q%u+%d], %s;", guard, vector, types[s->bytes], s->pointer, offset,
             operand);
    else
        line(&m->to, "%sld.global%s%s.%s %s, [%%q%u+%d];", guard, s->reads_table ? ".nc" : "", vector,
             types[s->bytes], operand, s->pointer, offset);
    for (unsigned i = 0; i < s->count && !s->stores; i++) {
        if (s->bytes == 8)
            line(&m->to, "shr.u64 %%w%u, %%w%u, 7; cvt.u32.u64 %%v%u, %%w%u;", t + i, t + i, t + i, t + i);
        line(&m->to, "mad.lo.u32 %%sum, %%sum, 31, %%v%u;", t + i);
    }
    if (s->stores)
        line(&m->to, "add.u32 %%sum, %%sum, 7;");
}

static void make_loop(Maker *m)
{
    for (unsigned i = 0; i < m->count; i++) {
        const Stream *s = &m->streams[i];
        line(&m->to, "ld.param.u64 %%q%u, [p%u]; add.s64 %%q%u, %%q%u, %%row;", i, i, i, i);
        if (m->descends)
            line(&m->to, "sub.s32 %%n0, %%n, 1; mul.wide.s32 %%to, %%n0, %u; add.s64 %%q%u, %%q%u, %%to;",
                 stream_step(m, s), i, i);
    }
    line(&m->to, "mov.u32 %%i, 0; setp.lt.s32 %%more, %%n, 1; @%%more bra AFTER;");
    buf_puts(m->to.out, "LOOP:\n");
    for (unsigned part = 0; part < m->unrolled; part++) {
        const unsigned first = below(&m->to, m->count);
        for (unsigned i = 0; i < m->count; i++)
            make_access(m, chance(&m->to, 70) ? (i + first) % m->count : i, part);
    }
    for (unsigned i = 0; i < m->count; i++)
        line(&m->to, "%s.s64 %%q%u, %%q%u, %u;", m->descends ? "sub" : "add", i, i, stream_step(m, &m->streams[i]));
    line(&m->to, "add.s32 %%i, %%i, 1; setp.lt.s32 %%more, %%i, %%n; @%%more bra LOOP;");
    buf_puts(m->to.out, "AFTER:\n");
}

/* Reads what has been stored, by this thread or, after a barrier, by others. */
static void make_reading(Maker *m)
{
    if (!m->has_guard && chance(&m->to, 50)) {
        line(&m->to, "bar.sync 0;");
        line(&m->to, "xor.b32 %%x, %%x, 1; mul.wide.u32 %%row, %%x, %u; xor.b32 %%x, %%x, 1;", m->pitch);
    }
    for (unsigned i = 0; i < m->count; i++) {
        const unsigned t = temporary(&m->to);
        line(&m->to, "ld.param.u64 %%q%u, [p%u]; add.s64 %%q%u, %%q%u, %%row;", i, i, i, i);
        line(&m->to, "ld.global.u8 %%v%u, [%%q%u+%u]; mad.lo.u32 %%sum, %%sum, 17, %%v%u;", t, i, below(&m->to, 64), t);
    }
}

static void make_launch(Maker *m, Arena *arena, Launch *launch)
{
    const unsigned threads = m->block[0] * m->block[1] * BLOCKS;
    *launch = (Launch){.kernel = "k", .grid = {BLOCKS, 1, 1}, .block = {m->block[0], m->block[1], 1}};
    launch->argument_count = 6 + STREAMS;
    launch->arguments = ARENA_ARRAY(arena, LaunchArgument, launch->argument_count);
    LaunchArgument *a = launch->arguments;
    static const char *const names[] = {"a", "b", "table"};
    for (unsigned i = 0; i < 3; i++)
        a[i] = (LaunchArgument){.kind = ARGUMENT_BUFFER, .name = names[i], .type = TYPE_U8,
                                .count = (uint64_t)m->pitch * threads, .fill = FILL_UNIFORM, .low = 0, .high = 255,
                                .seed = m->to.random.state + i};
    a[3] = (LaunchArgument){.kind = ARGUMENT_BUFFER, .name = "sums", .type = TYPE_U32, .count = threads,
                            .fill = FILL_ZERO};
    scalar_argument(arena, &a[4], m->rounds);
    scalar_argument(arena, &a[5], m->has_guard ? threads - below(&m->to, threads / 2) : threads);
    for (unsigned i = 0; i < STREAMS; i++)
        a[6 + i] = (LaunchArgument){.kind = ARGUMENT_POINTER,
                                    .name = m->streams[i].reads_table ? "table" : names[m->streams[i].buffer],
                                    .type = TYPE_U8,
                                    .offset = m->streams[i].offset};
}

void store_kernel(uint64_t seed, Arena *arena, Buf *text, Launch *launch)
{
    Buf code = {0};
    Maker m = {.to = {.random = {seed * UINT64_C(0x2545f4914f6cdd1d) + 131}, .out = &code}};
    m.unrolled = 1U << below(&m.to, 3);
    m.rounds = chance(&m.to, 20) ? below(&m.to, 6) : 6 + below(&m.to, 40);
    m.block[0] = 8U << below(&m.to, 3);
    m.block[1] = 1 + below(&m.to, 2);
    m.descends = chance(&m.to, 10);
    m.has_guard = chance(&m.to, 40);
    m.count = 1 + below(&m.to, STREAMS);
    const unsigned bytes = 1U << below(&m.to, 4);
    for (unsigned i = 0; i < m.count; i++)
        make_stream(&m, &m.streams[i], chance(&m.to, 75) ? bytes : 1U << below(&m.to, 4));
    if (m.rounds > 1 && chance(&m.to, 60)) /* one tile may have all rounds */
        m.rounds = 1U << (31 - __builtin_clz(m.rounds));
    for (unsigned i = 0; i < m.count; i++)
        relate_stream(&m, &m.streams[i], i);
    if (m.count > 1 && chance(&m.to, 8))
        make_last_meet(&m);
    for (unsigned i = 0; i < m.count; i++) {
        const unsigned end = m.streams[i].offset + m.rounds * stream_step(&m, &m.streams[i]) + 64;
        m.pitch = end > m.pitch ? end : m.pitch;
    }
    m.pitch = (m.pitch + 15) / 16 * 16 + 16 * below(&m.to, 3);
    line(&m.to, "ld.param.u32 %%n, [n]; mov.u32 %%g0, %%tid.x; mov.u32 %%g1, %%tid.y; mov.u32 %%g2, %%ctaid.x;");
    line(&m.to, "mad.lo.u32 %%x, %%g1, %u, %%g0; mad.lo.u32 %%x, %%g2, %u, %%x;", m.block[0], m.block[0] * m.block[1]);
    if (m.has_guard)
        line(&m.to, "ld.param.u32 %%last, [m]; setp.ge.u32 %%more, %%x, %%last; @%%more ret;");
    line(&m.to, "mul.wide.u32 %%row, %%x, %u; mov.u32 %%sum, %%x;", m.pitch);
    make_loop(&m);
    if (chance(&m.to, 60))
        make_reading(&m);
    line(&m.to, "ld.param.u64 %%mine, [sums]; mul.wide.u32 %%to, %%x, 4; add.s64 %%mine, %%mine, %%to;");
    line(&m.to, "st.global.u32 [%%mine], %%sum;");
    line(&m.to, "ret;");
    make_launch(&m, arena, launch);
    const unsigned t = m.to.temporaries + 1;
    buf_puts(text, ".version 8.0\n.target sm_80\n.address_size 64\n"
                   ".visible .entry k(.param .u64 a, .param .u64 b, .param .u64 table, .param .u64 sums, "
                   ".param .u32 n, .param .u32 m, .param .u64 p0, .param .u64 p1, .param .u64 p2, .param .u64 p3, "
                   ".param .u64 p4)\n{\n");
    buf_printf(text, "\t.reg .b32 %%v<%u>, %%n<%u>, %%g<3>, %%n, %%x, %%i, %%last, %%sum;\n", t, t);
    buf_printf(text, "\t.reg .b64 %%w<%u>, %%q<%u>, %%mine, %%row, %%to;\n\t.reg .pred %%p<%u>, %%more;\n", t, STREAMS,
               t);
    buf_write(text, buf_text(&code), code.length);
    buf_puts(text, "}\n");
    buf_free(&code);
}
