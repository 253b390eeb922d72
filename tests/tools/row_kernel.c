/* See row_kernel.h. Each thread has a row of its own, through which up to four pointers walk that may be aligned in
 * any way, overlap at every distance, or be the same; a table that nothing writes has rows, too, or one row for all.
 * The last row ends where its buffer ends, so that a byte more would fault. Loops go 0 to 9 or up to 40 rounds, have
 * their bodies unrolled already or not, count in all ways, may update a word of memory, and may be left early. Accesses
 * to neighbours in any order, outside of loops, and everything that may be between them, come before. */
#include "row_kernel.h"

#include "kernel_writer.h"

enum { THREADS = 8, BLOCKS = 2, STREAMS = 4, REACH = 640, PARTS = 16 };

typedef struct Stream {
    unsigned bytes;
    const char *type; /* in PTX */
    bool stores, reads_table, is_shared; /* is_shared: one row of the table for all threads */
    bool by_index;    /* the address is computed from the counter in each round */
    bool by_parts, is_unsigned; /* by_index: for each part anew; with an unsigned index */
    unsigned first_index; /* by_index: is added to the counter */
    unsigned offset;  /* of the pointer that the launch passes, or of the row in the table */
    unsigned reg_bits;
} Stream;

typedef struct Maker {
    Writer to;
    Stream streams[STREAMS];
    unsigned count, bytes; /* bytes: of the largest element */
    unsigned rounds, unrolled, pitch;
    bool descends;
    bool has_barrier;
    bool has_cell; /* each part of a round updates a word of memory, which others may touch */
} Maker;

static void make_stream(Maker *m, Stream *s, unsigned bytes)
{
    static const char *const types[3][3] = {{"u8", "s8", "b8"}, {"u16", "s16", "b16"}, {"u32", "s32", "b32"}};
    *s = (Stream){.bytes = bytes, .stores = chance(&m->to, 35), .by_index = chance(&m->to, 40)};
    s->by_parts = chance(&m->to, 50);
    s->is_unsigned = chance(&m->to, 50);
    s->first_index = chance(&m->to, 50) ? below(&m->to, 6) : 0;
    s->type = bytes == 8 ? "u64" : types[bytes == 4 ? 2 : bytes - 1][below(&m->to, 3)];
    s->reads_table = !s->stores && chance(&m->to, 50);
    s->is_shared = s->reads_table && chance(&m->to, 40);
    s->reg_bits = bytes == 8 ? 64 : bytes < 4 && chance(&m->to, 40) ? 16 : 32;
    s->offset = chance(&m->to, 60) ? 16 * below(&m->to, 3) : bytes * below(&m->to, 12);
    if (s->reads_table && s->is_shared)
        s->offset %= 64;
    if (m->bytes < bytes)
        m->bytes = bytes;
}

static void make_streams(Maker *m)
{
    unsigned bytes = 1u << below(&m->to, 4);
    m->count = 1 + below(&m->to, STREAMS);
    for (unsigned i = 0; i < m->count; i++)
        make_stream(m, &m->streams[i], chance(&m->to, 75) ? bytes : 1u << below(&m->to, 4));
    m->pitch = REACH + (chance(&m->to, 65) ? 16 * below(&m->to, 2) : m->bytes * below(&m->to, 8));
    m->pitch -= m->pitch % m->bytes;
}

/* The stream's element at an offset from a register: loaded into the sum, or stored from it. */
static void make_access(Maker *m, const Stream *s, const char *kind, unsigned number, unsigned t, int offset)
{
    const char *space = s->reads_table ? ".global.nc" : chance(&m->to, 90) ? ".global" : "";
    const char *reg = s->reg_bits == 64 ? "w" : s->reg_bits == 16 ? "h" : "v";
    const bool is_guarded = chance(&m->to, 3), is_volatile = !s->reads_table && chance(&m->to, 2);
    if (is_volatile)
        space = ".volatile.global";
    if (is_guarded)
        line(&m->to, "setp.ne.u32 %%p%u, %%sum, 77;", t);
    if (s->stores) {
        if (s->reg_bits == 64)
            line(&m->to, "cvt.u64.u32 %%w%u, %%sum;", t);
        else if (s->reg_bits == 16)
            line(&m->to, "cvt.u16.u32 %%h%u, %%sum;", t);
        else
            line(&m->to, "add.u32 %%v%u, %%sum, %u;", t, below(&m->to, 9));
        if (is_guarded)
            line(&m->to, "@%%p%u st%s.%s [%%%s%u+%d], %%%s%u;", t, space, s->type, kind, number, offset, reg, t);
        else
            line(&m->to, "st%s.%s [%%%s%u+%d], %%%s%u;", space, s->type, kind, number, offset, reg, t);
        line(&m->to, "add.u32 %%sum, %%sum, 5;");
        return;
    }
    if (is_guarded) {
        line(&m->to, "mov.b%u %%%s%u, 3;", s->reg_bits, reg, t);
        line(&m->to, "@%%p%u ld%s.%s %%%s%u, [%%%s%u+%d];", t, space, s->type, reg, t, kind, number, offset);
    } else {
        line(&m->to, "ld%s.%s %%%s%u, [%%%s%u+%d];", space, s->type, reg, t, kind, number, offset);
    }
    if (s->reg_bits == 64) {
        line(&m->to, "shr.u64 %%y%u, %%w%u, 13; xor.b64 %%y%u, %%y%u, %%w%u;", t, t, t, t, t);
        line(&m->to, "cvt.u32.u64 %%v%u, %%y%u;", t, t);
    } else if (s->reg_bits == 16) {
        line(&m->to, "cvt.%s32.%s16 %%v%u, %%h%u;", chance(&m->to, 50) ? "u" : "s", chance(&m->to, 50) ? "u" : "s", t,
             t);
    }
    line(&m->to, "mad.lo.u32 %%sum, %%sum, 31, %%v%u;", t);
}

/* Something that may keep accesses apart. */
static void make_obstacle(Maker *m, bool in_loop)
{
    unsigned t = temporary(&m->to);
    switch (below(&m->to, in_loop ? 4 : 6)) {
    case 0: line(&m->to, "red.global.add.u32 [%%mine], %u;", below(&m->to, 9)); break;
    case 1: line(&m->to, "ld.volatile.global.u32 %%v%u, [%%mine]; add.u32 %%sum, %%sum, %%v%u;", t, t); break;
    case 2: line(&m->to, "membar.cta;"); break;
    case 3: line(&m->to, "xor.b32 %%sum, %%sum, %%sum;"); break;
    case 4: line(&m->to, "bar.warp.sync -1;"); break;
    default: line(&m->to, "bar.sync 0;"); m->has_barrier = true;
    }
}

/* Accesses to neighbours, in any order. */
static void make_neighbours(Maker *m)
{
    unsigned accesses = 2 + below(&m->to, 9), first = below(&m->to, 4);
    for (unsigned i = 0; i < accesses; i++) {
        unsigned s = below(&m->to, m->count), t = temporary(&m->to);
        const Stream *stream = &m->streams[s];
        unsigned place = chance(&m->to, 60) ? i % 4 : below(&m->to, 5);
        make_access(m, stream, "s", s, t, (int)((first + place) * stream->bytes));
        if (chance(&m->to, 4))
            make_obstacle(m, false);
    }
}

static void make_round(Maker *m, unsigned part)
{
    for (unsigned i = 0; i < m->count; i++) {
        const Stream *s = &m->streams[i];
        unsigned t = temporary(&m->to);
        if (s->by_index && !m->descends) {
            /* The part is in the index, which may be unsigned and more than the counter, or in the offset. */
            unsigned more = s->first_index + (s->by_parts ? part : 0);
            line(&m->to, "add.s32 %%n%u, %%i, %u; mul.wide.%s32 %%a%u, %%n%u, %u;", t, more,
                 s->is_unsigned ? "u" : "s", t, t, s->bytes);
            line(&m->to, "add.s64 %%a%u, %%s%u, %%a%u;", t, i, t);
            make_access(m, s, "a", t, t, (int)((s->by_parts ? 0 : part) * s->bytes) - (int)(s->first_index * s->bytes));
        } else {
            int offset = (int)(part * s->bytes);
            make_access(m, s, "q", i, t, m->descends ? -offset : offset);
        }
    }
}

/* Chooses a word that each round updates: where nothing else is, or in the thread's row. */
static void make_cell(Maker *m)
{
    m->has_cell = chance(&m->to, 25);
    if (!m->has_cell)
        return;
    line(&m->to, "mov.u64 %%cell, %%mine;");
    const unsigned elements = m->rounds * m->unrolled > 12 ? m->rounds * m->unrolled : 12;
    for (unsigned i = 0; i < m->count && m->pitch % 4 == 0; i++) {
        const Stream *s = &m->streams[i];
        if (!s->reads_table && s->offset % 4 == 0 && chance(&m->to, 50))
            line(&m->to, "add.s64 %%cell, %%s%u, %u;", i, 4 * below(&m->to, s->bytes * elements / 4));
    }
}

static void make_update(Maker *m)
{
    const unsigned t = temporary(&m->to);
    if (chance(&m->to, 30)) {
        line(&m->to, "red.global.%s.u32 [%%cell], %s;", chance(&m->to, 70) ? "add" : "max",
             chance(&m->to, 50) ? "%sum" : "3");
        return;
    }
    if (chance(&m->to, 70))
        line(&m->to, "ld.global.u32 %%v%u, [%%cell]; mad.lo.u32 %%sum, %%v%u, 3, %%sum;", t, t);
    line(&m->to, "st.global.u32 [%%cell], %%sum;");
}

/* The counter's next value, and whether another round follows. */
static void make_end(Maker *m, unsigned kind)
{
    static const char *const up[] = {"lt.s32", "ne.s32", "lt.u32", "le.s32"};
    line(&m->to, "add.s32 %%i, %%i, %u;", m->unrolled);
    if (kind < 4) {
        line(&m->to, "setp.%s %%more, %%i, %%%s;", up[kind], kind == 3 ? "last" : "end");
    } else if (kind == 4) {
        line(&m->to, "sub.s32 %%left, %%left, 1;");
        line(&m->to, "setp.%s %%more, %%left, 0;", chance(&m->to, 50) ? "ne.s32" : "gt.s32");
    } else {
        line(&m->to, "add.s64 %%long, %%long, 1;");
        line(&m->to, "setp.lt.s64 %%more, %%long, %%longend;");
    }
    if (chance(&m->to, 4)) {
        unsigned t = temporary(&m->to);
        line(&m->to, "setp.ne.u32 %%p%u, %%sum, 1234; and.pred %%more, %%more, %%p%u;", t, t);
    }
}

static void make_loop(Maker *m)
{
    unsigned label = m->to.labels++, kind = below(&m->to, 6);
    const bool tests_first = chance(&m->to, 70);
    line(&m->to, "mov.u32 %%i, 0; mov.u32 %%left, %%n; mov.u64 %%long, 0; cvt.s64.s32 %%longend, %%n;");
    line(&m->to, "mul.lo.s32 %%end, %%n, %u; sub.s32 %%last, %%end, 1;", m->unrolled);
    for (unsigned i = 0; i < m->count; i++) {
        if (m->descends) /* from the last element back */
            line(&m->to, "add.s32 %%end, %%end, 0; mul.wide.s32 %%q%u, %%end, %u; add.s64 %%q%u, %%q%u, %%s%u; "
                         "sub.s64 %%q%u, %%q%u, %u;",
                 i, m->streams[i].bytes, i, i, i, i, i, m->streams[i].bytes);
        else
            line(&m->to, "mov.u64 %%q%u, %%s%u;", i, i);
    }
    make_cell(m);
    if (tests_first || m->rounds == 0)
        line(&m->to, "setp.lt.s32 %%more, %%n, 1; @%%more bra AFTER%u;", label);
    buf_printf(m->to.out, "LOOP%u:\n", label);
    for (unsigned part = 0; part < m->unrolled; part++) {
        make_round(m, part);
        if (m->has_cell)
            make_update(m);
    }
    if (chance(&m->to, 5))
        make_obstacle(m, true);
    for (unsigned i = 0; i < m->count; i++)
        if (!m->streams[i].by_index || m->descends)
            line(&m->to, "%s.s64 %%q%u, %%q%u, %u;", m->descends ? "sub" : "add", i, i,
                 m->unrolled * m->streams[i].bytes);
    if (chance(&m->to, 4)) {
        unsigned t = temporary(&m->to);
        line(&m->to, "setp.eq.u32 %%p%u, %%sum, 999; @%%p%u bra AFTER%u;", t, t, label);
    }
    make_end(m, kind);
    line(&m->to, "@%%more bra LOOP%u;", label);
    buf_printf(m->to.out, "AFTER%u:\n", label);
}

static void make_launch(Maker *m, Arena *arena, Launch *launch)
{
    const unsigned threads = THREADS * BLOCKS;
    *launch = (Launch){.kernel = "k", .grid = {BLOCKS, 1, 1}, .block = {THREADS, 1, 1}};
    launch->argument_count = 5 + STREAMS;
    launch->arguments = ARENA_ARRAY(arena, LaunchArgument, launch->argument_count);
    LaunchArgument *a = launch->arguments;
    uint64_t most = 0;
    for (unsigned i = 0; i < m->count; i++) {
        uint64_t end = m->streams[i].offset + (uint64_t)m->streams[i].bytes *
                       (m->rounds * m->unrolled > 12 ? m->rounds * m->unrolled : 12);
        most = end > most ? end : most;
    }
    require(most <= m->pitch);
    const uint64_t bytes = (uint64_t)m->pitch * (threads - 1) + most;
    a[0] = (LaunchArgument){.kind = ARGUMENT_BUFFER, .name = "own", .type = TYPE_U8, .count = bytes,
                            .fill = FILL_UNIFORM, .low = 0, .high = 255, .seed = m->to.random.state};
    a[1] = (LaunchArgument){.kind = ARGUMENT_BUFFER, .name = "table", .type = TYPE_U8, .count = bytes,
                            .fill = FILL_UNIFORM, .low = 0, .high = 255, .seed = m->to.random.state + 1};
    a[2] = (LaunchArgument){.kind = ARGUMENT_BUFFER, .name = "sums", .type = TYPE_U32, .count = 2 * threads,
                            .fill = FILL_ZERO};
    scalar_argument(arena, &a[3], m->rounds);
    scalar_argument(arena, &a[4], m->pitch / m->bytes);
    for (unsigned i = 0; i < STREAMS; i++)
        a[5 + i] = (LaunchArgument){.kind = ARGUMENT_POINTER,
                                    .name = m->streams[i].reads_table ? "table" : "own",
                                    .type = TYPE_U8,
                                    .offset = m->streams[i].offset};
}

static void make_pointers(Maker *m)
{
    line(&m->to, "ld.param.u64 %%mine, [sums]; ld.param.u32 %%n, [n]; ld.param.u32 %%width, [w];");
    line(&m->to, "mov.u32 %%g0, %%ntid.x; mov.u32 %%g1, %%ctaid.x; mov.u32 %%g2, %%tid.x;");
    line(&m->to, "mad.lo.s32 %%x, %%g1, %%g0, %%g2; mul.lo.s32 %%r, %%x, %%width;");
    line(&m->to, "mul.wide.s32 %%row, %%r, %u; mul.wide.u32 %%to, %%x, 8; add.s64 %%mine, %%mine, %%to;", m->bytes);
    for (unsigned i = 0; i < m->count; i++) {
        line(&m->to, "ld.param.u64 %%s%u, [p%u];", i, i);
        if (!m->streams[i].is_shared)
            line(&m->to, "add.s64 %%s%u, %%s%u, %%row;", i, i);
    }
    line(&m->to, "mov.u32 %%sum, %%x;");
}

void row_kernel(uint64_t seed, Arena *arena, Buf *text, Launch *launch)
{
    Buf code = {0};
    Maker m = {.to = {.random = {seed * UINT64_C(0x2545f4914f6cdd1d) + 77}, .out = &code}};
    m.unrolled = 1u << below(&m.to, chance(&m.to, 50) ? 1 : 4);
    m.rounds = chance(&m.to, 75) ? below(&m.to, 10) : below(&m.to, 40);
    while (m.rounds * m.unrolled > 64)
        m.rounds /= 2;
    m.descends = chance(&m.to, 10);
    make_streams(&m);
    make_pointers(&m);
    bool begins = chance(&m.to, 50);
    if (begins)
        make_neighbours(&m);
    if (!begins || chance(&m.to, 60))
        make_loop(&m);
    if (chance(&m.to, 30))
        make_obstacle(&m, false);
    if (chance(&m.to, 20))
        make_neighbours(&m);
    line(&m.to, "st.global.u32 [%%mine+4], %%sum;");
    line(&m.to, "ret;");
    make_launch(&m, arena, launch);
    unsigned t = m.to.temporaries + 1;
    buf_puts(text, ".version 8.0\n.target sm_80\n.address_size 64\n"
                   ".visible .entry k(.param .u64 own, .param .u64 table, .param .u64 sums, .param .u32 n, "
                   ".param .u32 w, .param .u64 p0, .param .u64 p1, .param .u64 p2, .param .u64 p3)\n{\n");
    buf_printf(text, "\t.reg .b32 %%v<%u>, %%n<%u>, %%g<3>, %%n, %%width, %%x, %%r, %%i, %%left, %%end, %%last;\n", t,
               t);
    buf_printf(text, "\t.reg .b16 %%h<%u>;\n\t.reg .b64 %%w<%u>, %%y<%u>, %%a<%u>, %%s<%u>, %%q<%u>;\n", t, t, t, t,
               STREAMS, STREAMS);
    buf_puts(text, "\t.reg .b64 %mine, %cell, %row, %to, %long, %longend;\n");
    buf_printf(text, "\t.reg .b32 %%sum;\n\t.reg .pred %%p<%u>, %%more;\n", t);
    buf_write(text, buf_text(&code), code.length);
    buf_puts(text, "}\n");
    buf_free(&code);
}
