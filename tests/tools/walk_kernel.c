/* See walk_kernel.h. Each block has words of its own, of which some in the middle are updated, by keys that are loaded.
 * One thread of the block goes round a loop that does so, and loads or stores along pointers, which may meet the
 * updated words in any round, end right before or begin right after them, or walk along another array. */
#include "walk_kernel.h"

#include "kernel_writer.h"

enum {
    WORDS = 256,   /* of a block */
    FIRST = 112,   /* that is updated */
    UPDATED = 32,
    KEYS = 64,
    POINTERS = 2,
    STEPS_MOST = 4,
    ROUNDS_MOST = 20,
};

typedef struct Walk {
    int step;           /* bytes for each round */
    unsigned bytes;     /* of an access */
    bool is_elsewhere;
} Walk;

typedef struct Maker {
    Writer to;
    unsigned blocks, threads, rounds, start;
    unsigned stride;            /* of the counter, in a register; 0: counts by one */
    bool has_second;            /* the second pointer has a counter with twice the stride */
    bool counts_down, is_plain; /* is_plain: keys are among what is updated */
    bool is_at_ends;            /* the first and the last word are updated alone */
    const char *op;
    Walk walks[POINTERS];
} Maker;

/* The byte where walks start: the first one, or the one with twice the stride, begins or ends next to updated words,
 * or anywhere around them. */
static unsigned choose_start(Maker *m)
{
    const bool is_second = m->stride && m->has_second && !m->walks[1].is_elsewhere;
    const Walk *walk = &m->walks[is_second];
    const unsigned unit = m->walks[0].bytes > m->walks[1].bytes ? m->walks[0].bytes : m->walks[1].bytes;
    const int way = (int)(m->rounds - 1) * walk->step * (is_second ? 2 : 1), around = (int)below(&m->to, 4) - 2;
    int start = 4 * (FIRST + (chance(&m->to, 50) ? UPDATED : 0)) - (chance(&m->to, 50) ? way : 0) +
                around * (int)walk->bytes;
    if (chance(&m->to, 30))
        start = 4 * (FIRST - ROUNDS_MOST * 2 + (int)below(&m->to, UPDATED + ROUNDS_MOST * 4));
    return (unsigned)start & -unit;
}

static void choose(Maker *m)
{
    static const char *const operations[] = {"add", "add", "xor", "max"};
    m->blocks = 1 + below(&m->to, 3);
    m->threads = chance(&m->to, 50) ? 1 : 5;
    m->rounds = 1 + below(&m->to, ROUNDS_MOST);
    m->stride = chance(&m->to, 30) ? 1 + below(&m->to, 4) : 0;
    m->has_second = chance(&m->to, 50);
    m->counts_down = !m->stride && chance(&m->to, 50);
    m->is_plain = chance(&m->to, 10);
    m->op = operations[below(&m->to, COUNT_OF(operations))];
    for (unsigned i = 0; i < POINTERS; i++) {
        Walk *walk = &m->walks[i];
        walk->bytes = chance(&m->to, 40) ? 1 : chance(&m->to, 60) ? 4 : 1u << below(&m->to, 4);
        walk->step = (int)walk->bytes * (chance(&m->to, 60) ? 1 : (int)below(&m->to, 5) - 2);
        if (walk->step > 8 || walk->step < -8)
            walk->step = 8;
        walk->is_elsewhere = chance(&m->to, i ? 60 : 10);
    }
    m->is_at_ends = chance(&m->to, 60);
    m->start = choose_start(m);
}

static void make_update(Maker *m)
{
    const char *const guard = chance(&m->to, 30) ? "@%odd " : "";
    line(&m->to, "mad.lo.u32 %%g0, %%i, %u, %%t; and.b32 %%g0, %%g0, %u; mul.wide.u32 %%way, %%g0, 4;",
         1 + below(&m->to, 9), KEYS - 1);
    if (m->is_plain)
        line(&m->to, "add.s64 %%at, %%part, %%way; ld.global.u32 %%g0, [%%at+%u];", 4 * FIRST);
    else
        line(&m->to, "add.s64 %%at, %%keys, %%way; ld.global.nc.u32 %%g0, [%%at];");
    line(&m->to, "and.b32 %%g0, %%g0, %u;", UPDATED - 1);
    if (m->is_at_ends)
        line(&m->to, "and.b32 %%g0, %%g0, 1; mul.lo.u32 %%g0, %%g0, %u;", UPDATED - 1);
    line(&m->to, "mul.wide.u32 %%way, %%g0, 4; add.s64 %%at, %%part, %%way;");
    line(&m->to, "and.b32 %%g0, %%sum, 1; setp.eq.u32 %%odd, %%g0, 1;");
    const bool is_atom = chance(&m->to, 50);
    line(&m->to, "%s%s.global.%s.%s32 %s[%%at+%u], %s;", guard, is_atom ? "atom" : "red", m->op,
         m->op[0] == 'x' ? "b" : "u", is_atom ? "%g1, " : "", FIRST * 4, chance(&m->to, 50) ? "%sum" : "0x83838383");
}

/* An access of the walk in this round, or of a neighbour of what it touches. */
static void make_access(Maker *m, unsigned w)
{
    const Walk *walk = &m->walks[w];
    const int offset = (int)walk->bytes * ((int)below(&m->to, 3) - 1);
    const unsigned bits = 8 * walk->bytes;
    const char *guard = chance(&m->to, 20) ? "@%odd " : "";
    const char *reg = bits == 64 ? "w" : bits == 32 ? "v" : "h";
    if (chance(&m->to, 25)) {
        line(&m->to, "cvt.u64.u32 %%w, %%sum; mov.u32 %%v, %%i; cvt.u16.u32 %%h, %%i;");
        line(&m->to, "%sst.global.u%u [%%p%u+%d], %%%s;", guard, bits, w, offset, reg);
        return;
    }
    line(&m->to, "mov.u64 %%w, 1; mov.u32 %%v, 2; mov.u16 %%h, 3;");
    line(&m->to, "%sld.global.u%u %%%s, [%%p%u+%d];", guard, bits, reg, w, offset);
    if (bits == 64)
        line(&m->to, "cvt.u32.u64 %%v, %%w;");
    else if (bits < 32)
        line(&m->to, "cvt.u32.u16 %%v, %%h;");
    line(&m->to, "mad.lo.u32 %%sum, %%sum, 13, %%v;");
}

static void make_loop(Maker *m)
{
    const unsigned steps = 1 + below(&m->to, STEPS_MOST);
    const char *sign = chance(&m->to, 50) ? "s" : "u";
    line(&m->to, "ld.param.u32 %%stride, [stride]; ld.param.u32 %%rounds, [rounds];");
    line(&m->to, "mov.u32 %%j, 0; shl.b32 %%twice, %%stride, 1; mov.u32 %%i, %s;", m->counts_down ? "%rounds" : "0");
    for (unsigned w = 0; w < POINTERS; w++) {
        line(&m->to, "ld.param.u32 %%g0, [start]; cvt.u64.u32 %%way, %%g0;");
        line(&m->to, "add.s64 %%p%u, %s, %%way;", w, m->walks[w].is_elsewhere ? "%other" : "%part");
        if (m->stride)
            line(&m->to, "mov.u64 %%from%u, %%p%u;", w, w);
    }
    buf_puts(m->to.out, "LOOP:\n");
    for (unsigned w = 0; w < POINTERS && m->stride; w++)
        line(&m->to, "cvt.%s64.%s32 %%way, %s; mad.lo.s64 %%p%u, %%way, %d, %%from%u;", sign, sign,
             w && m->has_second ? "%j" : "%i", w, m->walks[w].step, w);
    for (unsigned s = 0; s < steps; s++) {
        if (!s || chance(&m->to, 50))
            make_update(m);
        make_access(m, below(&m->to, POINTERS));
    }
    for (unsigned w = 0; w < POINTERS && !m->stride; w++)
        line(&m->to, "add.s64 %%p%u, %%p%u, %d;", w, w, m->walks[w].step);
    if (m->stride)
        line(&m->to, "add.s32 %%j, %%j, %%twice; add.s32 %%i, %%i, %%stride;");
    if (m->stride)
        line(&m->to, "setp.lt.%s32 %%more, %%i, %%rounds;", sign);
    else if (m->counts_down)
        line(&m->to, "add.s32 %%i, %%i, -1; setp.ne.s32 %%more, %%i, 0;");
    else
        line(&m->to, "add.s32 %%i, %%i, 1; setp.lt.%s32 %%more, %%i, %%rounds;", sign);
    line(&m->to, "@%%more bra LOOP;");
}

static void make_code(Maker *m)
{
    line(&m->to, "ld.param.u64 %%keys, [keys]; ld.param.u64 %%part, [words]; ld.param.u64 %%other, [other];");
    line(&m->to, "mov.u32 %%t, %%tid.x; mov.u32 %%b, %%ctaid.x; mul.wide.u32 %%way, %%b, %u;", 4 * WORDS);
    line(&m->to, "add.s64 %%part, %%part, %%way; add.s64 %%other, %%other, %%way;");
    line(&m->to, "mov.u32 %%sum, %%b; setp.ne.u32 %%more, %%t, 0; @%%more bra LEAVE;");
    make_loop(m);
    line(&m->to, "ld.param.u64 %%at, [out]; mul.wide.u32 %%way, %%b, 4; add.s64 %%at, %%at, %%way;");
    line(&m->to, "st.global.u32 [%%at], %%sum;");
    buf_puts(m->to.out, "LEAVE:\n");
    line(&m->to, "ret;");
}

static void make_launch(const Maker *m, Arena *arena, Launch *launch)
{
    static const char *const names[] = {"keys", "words", "other", "out"};
    const uint64_t counts[] = {KEYS, (uint64_t)WORDS * m->blocks, (uint64_t)WORDS * m->blocks, m->blocks};
    *launch = (Launch){.kernel = "k", .grid = {m->blocks, 1, 1}, .block = {m->threads, 1, 1}, .argument_count = 7};
    launch->arguments = ARENA_ARRAY(arena, LaunchArgument, 7);
    for (unsigned i = 0; i < COUNT_OF(names); i++)
        launch->arguments[i] = (LaunchArgument){.kind = ARGUMENT_BUFFER, .name = names[i], .type = TYPE_U32,
                                                .count = counts[i], .fill = FILL_UNIFORM, .low = 0, .high = 1 << 20,
                                                .seed = m->to.random.state + i};
    scalar_argument(arena, &launch->arguments[4], m->rounds);
    scalar_argument(arena, &launch->arguments[5], m->start);
    scalar_argument(arena, &launch->arguments[6], m->stride);
}

void walk_kernel(uint64_t seed, Arena *arena, Buf *text, Launch *launch)
{
    Buf code = {0};
    Maker m = {.to = {.random = {seed * UINT64_C(0x2545f4914f6cdd1d) + 17}, .out = &code}};
    choose(&m);
    make_launch(&m, arena, launch);
    make_code(&m);
    buf_puts(text, ".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry k(.param .u64 keys, "
                   ".param .u64 words, .param .u64 other, .param .u64 out, .param .u32 rounds, "
                   ".param .u32 start, .param .u32 stride)\n{\n");
    buf_puts(text, "\t.reg .b64 %keys, %part, %other, %way, %at, %p<2>, %from<2>, %w;\n\t.reg .b16 %h;\n");
    buf_puts(text, "\t.reg .b32 %t, %b, %g<2>, %i, %j, %rounds, %stride, %twice, %sum, %v;\n"
                   "\t.reg .pred %odd, %more;\n");
    buf_write(text, buf_text(&code), code.length);
    buf_puts(text, "}\n");
    buf_free(&code);
}
