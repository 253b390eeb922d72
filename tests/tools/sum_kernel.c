/* See sum_kernel.h. Each thread has words of its own, two of which it updates, and the first words of a table are
 * updated by all. Loops walk along the thread's words, which they load, update or replace, and may meet the two in any
 * round, end right before or begin right after them. */
#include "sum_kernel.h"

#include "kernel_writer.h"

enum { TOTALS = 4, LAST_WORD = 60, COUNTED_MOST = 12, STRIDED_MOST = 36, STEPS_MOST = 5, OPERATIONS = 8 };

typedef enum LoopKind {
    LOOP_COUNTED, /* i = 0, 1, .. while i < n */
    LOOP_STRIDED, /* i = x & 3, + m, .. while i < n */
    LOOP_LONG,    /* the same in 64 bits */
    LOOP_BOTH,    /* counted, while also 2 * i < m */
    LOOP_EITHER,  /* counted, or while 2 * i < m */
    LOOP_KINDS
} LoopKind;

typedef enum WalkKind {
    WALK_INDEX,   /* a sum of 32 bits, extended in each round */
    WALK_PRODUCT, /* the same with a product by a register */
    WALK_PLAIN,   /* the counter alone, extended in each round */
    WALK_POINTER,
    WALK_KINDS
} WalkKind;

typedef struct Operation {
    const char *op, *type;
} Operation;

typedef struct Maker {
    Writer to;
    LoopKind loop;
    WalkKind walk;
    int step;                /* words for each value of i */
    unsigned start, n, m;    /* the word where the walk starts; the kernel's parameters */
    unsigned cells[2];       /* words that are updated in all rounds */
    unsigned by;             /* counted loops: what i grows by */
    bool is_signed, is_wide, is_constant, compares_next, nests, breaks; /* is_constant: m, in 64-bit loops */
    Operation operations[2];
} Maker;

static bool is_strided(const Maker *m)
{
    return m->loop == LOOP_STRIDED || m->loop == LOOP_LONG;
}

static void choose(Maker *m)
{
    static const Operation operations[OPERATIONS] = {{"add", "u32"}, {"add", "s32"}, {"min", "s32"}, {"max", "u32"},
                                                     {"and", "b32"}, {"or", "b32"},  {"xor", "b32"}, {"add", "u32"}};
    static const Operation wide[] = {{"add", "u64"}, {"max", "s64"}, {"xor", "b64"}};
    m->loop = (LoopKind)below(&m->to, LOOP_KINDS);
    m->walk = (WalkKind)below(&m->to, WALK_KINDS);
    m->step = is_strided(m) || m->walk == WALK_PLAIN ? 1 : (int)below(&m->to, 4) - 1;
    m->n = below(&m->to, (is_strided(m) ? STRIDED_MOST : COUNTED_MOST) + 1);
    m->m = is_strided(m) ? 1 + below(&m->to, 5) : below(&m->to, 2 * COUNTED_MOST);
    m->by = chance(&m->to, 70) ? 1 : 2;
    m->is_signed = chance(&m->to, 50);
    m->is_wide = chance(&m->to, 20);
    m->is_constant = chance(&m->to, 50);
    m->compares_next = chance(&m->to, 70);
    m->nests = chance(&m->to, 25);
    m->breaks = chance(&m->to, 15);
    m->start = m->step < 0 ? COUNTED_MOST + 2 + below(&m->to, 20) : 2 + below(&m->to, 18);
    for (unsigned c = 0; c < 2; c++) {
        const int last = (int)m->start + m->step * (int)m->n, near = (int)below(&m->to, 5) - 2;
        int cell = chance(&m->to, 40) ? (int)m->start + near : last + near;
        if (chance(&m->to, 30))
            cell = (int)below(&m->to, LAST_WORD - 2);
        m->cells[c] = (unsigned)(cell < 0 ? 0 : cell > LAST_WORD - 2 ? LAST_WORD - 2 : cell) & (m->is_wide ? ~1u : ~0u);
        m->operations[c] = m->is_wide ? wide[below(&m->to, COUNT_OF(wide))] : operations[below(&m->to, OPERATIONS)];
    }
    if (chance(&m->to, 60))
        m->operations[1] = m->operations[0];
}

/* An operation on [%base + offset], perhaps guarded, with %sum, %v or a literal. */
static void make_atomic(Maker *m, const Operation *operation, const char *base, unsigned offset)
{
    static const char *const guards[] = {"", "", "@%odd ", "@!%odd ", "@%big "};
    const char *values[] = {m->is_wide ? "%w" : "%sum", m->is_wide ? "%w" : "%v", "5", "0"};
    const bool is_atom = chance(&m->to, 50);
    line(&m->to, "and.b32 %%g0, %%sum, 4; setp.eq.u32 %%odd, %%g0, 0; setp.gt.u32 %%big, %%v, 2000;");
    if (m->is_wide)
        line(&m->to, "cvt.u64.u32 %%w, %%sum; mad.wide.u32 %%w, %%v, 77777, %%w;");
    line(&m->to, "%s%s.global.%s.%s %s[%s+%u], %s;", guards[below(&m->to, COUNT_OF(guards))], is_atom ? "atom" : "red",
         operation->op, operation->type, !is_atom ? "" : m->is_wide ? "%w2, " : "%g2, ", base, offset,
         values[below(&m->to, COUNT_OF(values))]);
}

static void update_cell(Maker *m)
{
    const unsigned c = below(&m->to, 2);
    if (chance(&m->to, 30)) {
        line(&m->to, "add.s64 %%at, %%own, %u;", 4 * m->cells[c]);
        make_atomic(m, &m->operations[c], "%at", 0);
    } else {
        make_atomic(m, &m->operations[c], "%own", 4 * m->cells[c]);
    }
}

static void update_total(Maker *m)
{
    const unsigned bytes = m->is_wide ? 8 : 4;
    if (chance(&m->to, 60)) {
        make_atomic(m, &m->operations[0], "%table", bytes * below(&m->to, TOTALS));
        return;
    }
    line(&m->to, "and.b32 %%g0, %%v, %d; mul.wide.u32 %%way, %%g0, %u; add.s64 %%at, %%table, %%way;", TOTALS - 1,
         bytes);
    make_atomic(m, &m->operations[0], "%at", 0);
}

/* Sets %at to where the walk is. */
static void make_place(Maker *m)
{
    if (m->walk == WALK_POINTER) {
        line(&m->to, "mov.u64 %%at, %%p;");
        return;
    }
    if (m->walk == WALK_PLAIN) {
        if (m->loop == LOOP_LONG)
            line(&m->to, "shl.b64 %%way, %%long, 2;");
        else
            line(&m->to, "mul.wide.%s32 %%way, %%i, 4;", m->is_signed ? "s" : "u");
        line(&m->to, "add.s64 %%at, %%own, %%way; add.s64 %%at, %%at, %u;", 4 * m->start);
        return;
    }
    if (m->walk == WALK_INDEX) {
        line(&m->to, "mad.lo.s32 %%g0, %%i, %d, %%base;", m->step);
    } else if (chance(&m->to, 60)) {
        line(&m->to, "mad.lo.s32 %%g0, %%i, %%by, %%base;");
    } else if (chance(&m->to, 50)) {
        line(&m->to, "and.b32 %%g0, %%sum, 1; add.s32 %%g0, %%g0, %%base; mad.lo.s32 %%g0, %%i, %%by, %%g0;");
    } else {
        line(&m->to, "mul.lo.s32 %%g0, %%i, %%by;");
        if (m->step == 1 && !is_strided(m) && chance(&m->to, 50))
            line(&m->to, "shl.b32 %%g0, %%g0, 1;");
        line(&m->to, "add.s32 %%g0, %%g0, %%base;");
    }
    line(&m->to, "mul.wide.%s32 %%way, %%g0, 4; add.s64 %%at, %%all, %%way;", m->is_signed ? "s" : "u");
}

static void make_step(Maker *m)
{
    switch (below(&m->to, 8)) {
    case 0:
    case 1:
    case 2:
        update_cell(m);
        break;
    case 3:
        update_total(m);
        break;
    case 4:
        line(&m->to, "ld.global.u32 %%v, [%%table+%u]; mad.lo.u32 %%sum, %%sum, 13, %%v;",
             4 * (2 * TOTALS + below(&m->to, 99)));
        break;
    case 5:
        make_place(m);
        if (chance(&m->to, 40) && !m->is_wide)
            make_atomic(m, &m->operations[0], "%at", 0);
        else
            line(&m->to, "st.global.u32 [%%at], %%sum;");
        break;
    default:
        make_place(m);
        line(&m->to, "ld.global.u32 %%v, [%%at]; mad.lo.u32 %%sum, %%sum, 13, %%v;");
    }
}

static void make_steps(Maker *m)
{
    const unsigned steps = 1 + below(&m->to, STEPS_MOST);
    for (unsigned s = 0; s < steps; s++) {
        const unsigned label = m->to.labels++;
        const bool skips = chance(&m->to, 15);
        if (skips)
            line(&m->to, "and.b32 %%g0, %s, 3; setp.eq.u32 %%odd, %%g0, 1; @%%odd bra SKIP%u;",
                 chance(&m->to, 50) ? "%sum" : "%x", label);
        if (skips && chance(&m->to, 40))
            line(&m->to, "add.u32 %%g0, %%i, 1; setp.ge.u32 %%odd, %%g0, %u; @%%odd bra OUT;", 1 + below(&m->to, 8));
        make_step(m);
        if (skips)
            buf_printf(m->to.out, "SKIP%u:\n", label);
    }
}

/* Goes round again, or leaves. */
static void make_end(Maker *m)
{
    const char *sign = m->is_signed ? "s" : "u", *compared = m->compares_next ? "%i" : "%last";
    char advance[64] = "add.s64 %long, %long, %mlong";
    if (m->is_constant)
        snprintf(advance, sizeof advance, "add.s64 %%long, %%long, %u", m->m);
    line(&m->to, "mov.u32 %%last, %%i;");
    if (is_strided(m))
        line(&m->to, "add.s32 %%i, %%i, %%m; mul.wide.s32 %%way, %%m, 4; add.s64 %%p, %%p, %%way;");
    else
        line(&m->to, "add.s32 %%i, %%i, %u; add.s64 %%p, %%p, %d;", m->by, 4 * m->step * (int)m->by);
    if (m->loop == LOOP_LONG)
        line(&m->to, "mov.u64 %%w2, %%long; %s; setp.lt.%s64 %%more, %s, %%nlong;", advance, sign,
             m->compares_next ? "%long" : "%w2");
    else
        line(&m->to, "setp.lt.%s32 %%more, %s, %%n;", sign, compared);
    if (m->loop == LOOP_BOTH || m->loop == LOOP_EITHER)
        line(&m->to, "shl.b32 %%g0, %%i, 1; setp.lt.u32 %%odd, %%g0, %%m; %s.pred %%more, %%odd, %%more;",
             m->loop == LOOP_BOTH ? "and" : "or");
    line(&m->to, "@%%more bra LOOP;");
}

static void make_loop(Maker *m)
{
    line(&m->to, "mov.u32 %%outer, 0;");
    buf_puts(m->to.out, "OUTER:\n");
    line(&m->to, is_strided(m) ? "and.b32 %%i, %%x, 3;" : "mov.u32 %%i, 0;");
    line(&m->to, "cvt.u64.u32 %%long, %%i; cvt.u64.u32 %%mlong, %%m; cvt.u64.u32 %%nlong, %%n;");
    line(&m->to, "mul.wide.u32 %%way, %%i, 4; add.s64 %%p, %%own, %%way; add.s64 %%p, %%p, %u;", 4 * m->start);
    if (chance(&m->to, 50))
        line(&m->to, "setp.ge.u32 %%more, %%i, %%n; @%%more bra OUT;");
    buf_puts(m->to.out, "LOOP:\n");
    make_steps(m);
    if (m->breaks)
        line(&m->to, "and.b32 %%g0, %%sum, 15; setp.eq.u32 %%more, %%g0, 3; @%%more bra OUT;");
    make_end(m);
    buf_puts(m->to.out, "OUT:\n");
    if (m->nests && chance(&m->to, 50))
        update_cell(m);
    if (m->nests)
        line(&m->to, "add.u32 %%outer, %%outer, 1; setp.lt.u32 %%more, %%outer, 3; @%%more bra OUTER;");
}

void sum_kernel(uint64_t seed, Arena *arena, Buf *text, Launch *launch)
{
    Buf code = {0};
    Maker m = {.to = {.random = {seed * UINT64_C(0x2545f4914f6cdd1d) + 71}, .out = &code}};
    choose(&m);
    own_launch(&m.to, arena, m.n, m.m, launch);
    own_begin(&m.to);
    line(&m.to, "mov.u32 %%sum, %%x; mov.u32 %%v, 3; mov.u64 %%w, 9; mov.u64 %%w2, 0;");
    line(&m.to, "mov.u32 %%i, 0; mov.u64 %%long, 0;");
    /* A register that nothing is known of. */
    line(&m.to, "shr.u32 %%by, %%n, 31; add.s32 %%by, %%by, %d;", m.step);
    line(&m.to, "mov.u64 %%p, %%own; mad.lo.s32 %%base, %%x, %d, %u;", OWN_WORDS, m.start);
    if (chance(&m.to, 80))
        make_loop(&m);
    for (unsigned s = below(&m.to, 5); s; s--)
        make_step(&m);
    line(&m.to, "ld.global.u32 %%v, [%%own+%u]; mad.lo.u32 %%sum, %%sum, 13, %%v;", 4 * m.cells[0]);
    line(&m.to, "st.global.u32 [%%own+%d], %%sum; ret;", 4 * LAST_WORD);
    buf_puts(text, ".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry k(.param .u64 table, "
                   ".param .u64 own, .param .u32 n, .param .u32 m)\n{\n");
    buf_puts(text, "\t.reg .b64 %table, %own, %all, %at, %p, %way, %w, %w2, %long, %mlong, %nlong;\n"
                   "\t.reg .pred %odd, %big, %more;\n");
    buf_puts(text, "\t.reg .b32 %n, %m, %x, %g<4>, %i, %last, %outer, %by, %base, %v, %sum;\n");
    buf_write(text, buf_text(&code), code.length);
    buf_puts(text, "}\n");
    buf_free(&code);
}
