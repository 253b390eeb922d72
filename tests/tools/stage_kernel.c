/* See stage_kernel.h. Every load reads element cx * x + cy * y + cz * z + ci * i + c of a buffer of its own, for the
 * thread's coordinates in the grid and the counter of the loop: through pointers that the loop advances, through
 * indices that it computes, with several loads side by side, as vectors, in types of all widths. Guards keep threads
 * from the loop: none, those of nested or joined conditions, or those of an early exit. Some loops store their sum in
 * each round, and some kernels add it to the result of before. */
#include "stage_kernel.h"

#include "kernel_writer.h"

enum { LOADS = 4, MOST_ROUNDS = 40, MOST_MORE = 40, COORDINATES = 3 };

typedef enum GuardKind { GUARD_NONE, GUARD_JOINED, GUARD_NESTED, GUARD_EXIT, GUARD_LOADED, GUARD_KINDS } GuardKind;

typedef struct Load {
    bool is_pointer;  /* else an index */
    bool is_param;    /* the stride of a round comes from a parameter */
    bool is_half;     /* only in the first half of the rounds */
    unsigned when;    /* in all rounds, but only by some threads (conditions); 0: by all */
    int when_first, when_end; /* of these columns or rows */
    bool own_step;    /* threads with odd numbers advance by an element more */
    bool is_own;      /* what the thread itself has stored there before */
    bool advances;    /* the index grows from round to round; else it is computed */
    unsigned in_parts; /* it does so by two registers, one after the other, and a constant between them (2) */
    bool is_unsigned; /* the index; */
    bool wraps;       /* near the end of its range, in some rounds, and the code notices; */
    bool has_indices; /* each member has one of its own */
    unsigned bytes;   /* of an element */
    unsigned vector;
    unsigned members; /* side by side */
    int by[COORDINATES], by_round, apart; /* elements; 'apart': from member to member */
    int64_t first, last; /* elements that are read, from 0 */
} Load;

typedef struct Maker {
    Writer to;
    unsigned block[3], grid[3];
    unsigned row;       /* the logarithm of the threads in a row, if the kernel arranges those of a block of one
                         * dimension in rows, of which the last may not be full; 0: it does not */
    unsigned threads;   /* of such a block */
    unsigned limits[2]; /* threads along x and y that get to the loop, if there is a guard */
    unsigned rounds, step, start;
    unsigned own_rounds; /* threads go this many rounds more, at most, */
    const char *own_form; /* which this code adds to %n */
    bool stores;     /* the thread stores what it reads in the next round */
    bool counts_down, has_outer, has_shared, has_branch, peaceful;
    bool has_lasting; /* each round stores the sum to one place */
    unsigned old;     /* the result is added to that of before, which is loaded before the loop (1), after it (2) */
    bool subtracts;   /* the end from the counter, before that is compared */
    bool is_wide, is_unsigned; /* the counter */
    bool ends_at_pointer; /* the loop ends where the pointer of the first load does, if that advances; no counter */
    bool own_start;   /* the counter starts with a number of the thread's own */
    GuardKind guard;
    unsigned exit_form;
    unsigned load_count;
    Load loads[LOADS];
} Maker;

static const char *type_of(const Load *load)
{
    return load->bytes == 1 ? "u8" : load->bytes == 2 ? "u16" : load->bytes == 4 ? "u32" : "u64";
}

static unsigned threads_along(const Maker *m, unsigned d)
{
    unsigned all = m->block[d] * m->grid[d];
    bool is_limited = m->guard != GUARD_NONE && m->guard != GUARD_LOADED && d < 2;
    return is_limited && m->limits[d] < all ? m->limits[d] : all;
}

/* The conditions under which a thread loads in each round: code that makes others go to WHEN%u. */
static const char *const conditions[] = {
    NULL,
    "setp.lt.s32 %%odd, %%x0, %d; setp.ge.s32 %%apart, %%x0, %d; or.pred %%odd, %%odd, %%apart; @%%odd bra WHEN%u;",
    "setp.lt.s32 %%odd, %%x1, %d; @%%odd bra WHEN%u; setp.ge.s32 %%odd, %%x1, %d; @%%odd bra WHEN%u;",
    "and.b32 %%g0, %%x0, 1; setp.ne.s32 %%odd, %%g0, 0; @%%odd bra WHEN%u;",
    "setp.ge.s32 %%odd, %%x0, %d; setp.lt.s32 %%apart, %%x1, %d; and.pred %%odd, %%odd, %%apart; @!%%odd bra WHEN%u;",
    "setp.gt.s32 %%odd, %%x1, %%x0; @!%%odd bra WHEN%u;",
    "setp.lt.s32 %%odd, %%limit0, %d; @%%odd bra WHEN%u;",
    "setp.lt.s32 %%odd, %%x0, 100000; @%%odd bra WHEN%u;",
    "setp.lt.s32 %%odd, %%x1, 100000; @%%odd bra WHEN%u;",
};

static void make_condition(Maker *m, unsigned l)
{
    const Load *load = &m->loads[l];
    const char *code = conditions[load->when];
    switch (load->when) {
    case 1:
    case 4: line(&m->to, code, load->when_first, load->when_end, l); break;
    case 2: line(&m->to, code, load->when_first, l, load->when_end, l); break;
    case 6: line(&m->to, code, load->when_first, l); break;
    default: line(&m->to, code, l);
    }
}

static bool loads_when(const Maker *m, const Load *load, int x, int y)
{
    switch (load->when) {
    case 1: return x >= load->when_first && x < load->when_end;
    case 2: return y >= load->when_first && y < load->when_end;
    case 3: return !(x & 1);
    case 4: return x >= load->when_first && y < load->when_end;
    case 5: return y > x;
    case 6: return (int)m->limits[0] >= load->when_first;
    case 7:
    case 8: return false;
    default: return true;
    }
}

/* The elements of the threads that load, in the first round; false if there are none. */
static bool find_loaded(const Maker *m, Load *load)
{
    bool any = false;
    for (unsigned x = 0; x < threads_along(m, 0); x++)
        for (unsigned y = 0; y < threads_along(m, 1); y++)
            for (unsigned z = 0; z < threads_along(m, 2); z++) {
                const int64_t at = (int64_t)load->by[0] * x + (int64_t)load->by[1] * y + (int64_t)load->by[2] * z;
                if (!loads_when(m, load, (int)x, (int)y))
                    continue;
                load->first = any && load->first < at ? load->first : at;
                load->last = any && load->last > at ? load->last : at;
                any = true;
            }
    return any;
}

/* The smallest and the largest element that is read. */
static void find_extent(const Maker *m, Load *load)
{
    load->first = load->last = 0;
    if (load->when && !find_loaded(m, load))
        return;
    for (unsigned d = 0; d < COORDINATES && !load->when; d++) {
        int64_t way = (int64_t)load->by[d] * ((int64_t)threads_along(m, d) - 1);
        *(way < 0 ? &load->first : &load->last) += threads_along(m, d) ? way : 0;
    }
    unsigned rounds = load->is_half ? m->rounds / 2 : m->rounds + m->own_rounds;
    int64_t way = (int64_t)(load->by_round + (int)load->own_step) * (rounds ? rounds - 1 : 0);
    *(way < 0 ? &load->first : &load->last) += way;
    way = (int64_t)load->apart * ((int64_t)load->members - 1);
    *(way < 0 ? &load->first : &load->last) += way;
    load->last += load->vector - 1 + (load->is_own && m->stores);
    load->last -= load->first;
}

static int choose(Maker *m, const int *values, unsigned count)
{
    return values[below(&m->to, count)];
}

static void choose_load(Maker *m, Load *load)
{
    static const int widths[] = {0, 0, 1, 1, 2, 4, 24, 37}, strides[] = {0, 1, 1, 1, 2, 4, -1, 24, 37};
    static const int members[] = {1, 1, 1, 2, 3, 4, 4}, bytes[] = {4, 4, 4, 4, 1, 2, 8}, vectors[] = {1, 1, 1, 2, 4};
    *load = (Load){.is_pointer = chance(&m->to, 60), .is_param = chance(&m->to, 50),
                   .is_half = m->has_branch && chance(&m->to, 40)};
    load->bytes = (unsigned)choose(m, bytes, COUNT_OF(bytes));
    load->vector = load->bytes == 4 || load->bytes == 2 ? (unsigned)choose(m, vectors, COUNT_OF(vectors)) : 1;
    load->members = (unsigned)choose(m, members, COUNT_OF(members));
    for (unsigned d = 0; d < COORDINATES; d++)
        load->by[d] = choose(m, widths, COUNT_OF(widths)) * (int)load->vector;
    load->by_round = choose(m, strides, COUNT_OF(strides)) * (int)load->vector;
    load->own_step = load->vector == 1 && load->is_pointer && load->by_round >= 0 && chance(&m->to, 5);
    load->is_unsigned = chance(&m->to, 50);
    load->wraps = !load->is_pointer && chance(&m->to, 30);
    load->has_indices = !load->is_pointer && chance(&m->to, 50);
    load->apart = (int)load->vector * (chance(&m->to, 70) ? 1 : choose(m, strides, COUNT_OF(strides)));
    if (load->members > 1 && !load->own_step && chance(&m->to, 60))
        load->by_round = load->apart * (int)load->members;
}

/* The same with blocks whose threads are arranged in rows, by instructions for bits or by divisions. */
static void make_rows(Maker *m)
{
    const unsigned columns = 1U << m->row, rows = m->block[1];
    const bool divides = chance(&m->to, 50);
    line(&m->to, "mov.u32 %%g2, %%tid.x; %s %%x0, %%g2, %u;", divides ? "rem.u32" : "and.b32", columns - !divides);
    if (chance(&m->to, 15))
        line(&m->to, "shr.u32 %%g1, %%g2, %u; add.u32 %%sum, %%sum, %%g1;", 1 + below(&m->to, 3));
    line(&m->to, "%s %%x1, %%g2, %u;", divides ? "div.s32" : "shr.u32", divides ? columns : m->row);
    line(&m->to, "mov.u32 %%g0, %%ctaid.x; mad.lo.s32 %%x0, %%g0, %u, %%x0;", columns);
    line(&m->to, "mov.u32 %%g0, %%ctaid.y; mad.lo.s32 %%x1, %%g0, %u, %%x1;", rows);
    line(&m->to, "mov.u32 %%x2, %%ctaid.z; mov.u32 %%g0, %%nctaid.x; mul.lo.s32 %%g0, %%g0, %u;", columns);
    line(&m->to, "mad.lo.s32 %%all, %%x1, %%g0, %%x0;");
    line(&m->to, "mul.wide.u32 %%result, %%all, 8; add.s64 %%result, %%result, %%out;");
}

/* %%x0 to %%x2: the thread's coordinates in the grid. */
static void make_coordinates(Maker *m)
{
    if (m->row) {
        make_rows(m);
        return;
    }
    for (unsigned d = 0; d < COORDINATES; d++) {
        line(&m->to, "mov.u32 %%g0, %%ntid.%c; mov.u32 %%g1, %%ctaid.%c; mov.u32 %%g2, %%tid.%c;", "xyz"[d], "xyz"[d],
             "xyz"[d]);
        line(&m->to, "mad.lo.s32 %%x%u, %%g1, %%g0, %%g2;", d);
    }
    line(&m->to, "mov.u32 %%g0, %%nctaid.x; mov.u32 %%g1, %%ntid.x; mul.lo.s32 %%g0, %%g0, %%g1;");
    line(&m->to, "mad.lo.s32 %%all, %%x1, %%g0, %%x0;");
    line(&m->to, "mov.u32 %%g2, %%nctaid.y; mov.u32 %%g1, %%ntid.y; mul.lo.s32 %%g2, %%g2, %%g1;");
    line(&m->to, "mul.lo.s32 %%g2, %%g2, %%g0; mad.lo.s32 %%all, %%x2, %%g2, %%all;");
    line(&m->to, "mul.wide.u32 %%result, %%all, 8; add.s64 %%result, %%result, %%out;");
}

/* Threads end here that do not get to the loop: those beyond the limits and, in some forms, others. */
static void make_exit(Maker *m)
{
    static const char *const forms[] = {
        "setp.ge.s32 %guard0, %x0, %limit0; setp.ge.or.s32 %guard1, %x1, %limit1, %guard0; @%guard1 bra LEAVE;",
        "setp.ge.s32 %guard0, %x0, %limit0; setp.ge.s32 %guard1, %x1, %limit1; or.pred %guard1, %guard0, %guard1; "
        "@%guard1 bra LEAVE;",
        "setp.lt.s32 %guard0, %x0, %limit0; setp.gt.s32 %guard1, %limit1, %x1; and.pred %guard1, %guard0, %guard1; "
        "@!%guard1 bra LEAVE;",
        "setp.ge.s32 %guard0, %x0, %limit0; @%guard0 bra LEAVE; setp.ge.s32 %guard1, %x1, %limit1; "
        "@%guard1 bra LEAVE;",
        /* Fewer than those within the limits get to the loop. */
        "min.s32 %g0, %limit0, %limit1; max.s32 %g1, %x0, %x1; setp.ge.s32 %guard1, %g1, %g0; @%guard1 bra LEAVE;",
        "setp.ge.s32 %guard0, %x0, %limit0; @%guard0 bra LEAVE; setp.ge.s32 %guard1, %x1, %limit1; "
        "@%guard1 bra LEAVE; setp.lt.s32 %guard0, %x0, %x1; @%guard0 bra LEAVE;",
        "min.s32 %g0, %x0, %x1; setp.lt.s32 %guard0, %g0, 1; setp.ge.or.s32 %guard0, %x0, %limit0, %guard0; "
        "setp.ge.or.s32 %guard1, %x1, %limit1, %guard0; @%guard1 bra LEAVE;",
        "setp.ge.s32 %guard0, %x0, %limit0; setp.ge.or.s32 %guard0, %x1, %limit1, %guard0; add.s32 %g0, %x0, %x1; "
        "setp.gt.or.s32 %guard1, %g0, 9, %guard0; @%guard1 bra LEAVE;",
    };
    m->exit_form = below(&m->to, COUNT_OF(forms));
    line(&m->to, "%s", forms[m->exit_form]);
}

/* Threads that do not get to the loop leave here. */
static void make_guard(Maker *m)
{
    static const char *const places[] = {[GUARD_JOINED] = "AFTER", [GUARD_NESTED] = "AFTER"};
    switch (m->guard) {
    case GUARD_NONE:
    case GUARD_KINDS: return;
    case GUARD_LOADED:
        line(&m->to, "ld.global.u8 %%h0, [%%buffer0]; setp.eq.u16 %%guard0, %%h0, 251; @%%guard0 bra LEAVE;");
        return;
    case GUARD_NESTED:
        line(&m->to, "setp.ge.s32 %%guard0, %%x0, %%limit0; @%%guard0 bra AFTER;");
        line(&m->to, "setp.lt.s32 %%guard1, %%x1, %%limit1; @!%%guard1 bra AFTER;");
        return;
    case GUARD_EXIT:
        make_exit(m);
        return;
    default:
        line(&m->to, "setp.ge.s32 %%guard0, %%x0, %%limit0;");
        line(&m->to, "setp.ge.or.s32 %%guard1, %%x1, %%limit1, %%guard0;");
        line(&m->to, "@%%guard1 bra %s;", places[m->guard]);
    }
}

static void make_first(Maker *m, unsigned l)
{
    const Load *load = &m->loads[l];
    line(&m->to, "mov.u32 %%first%u, %d;", l, (int)-load->first);
    for (unsigned d = 0; d < COORDINATES; d++)
        if (load->by[d])
            line(&m->to, "mad.lo.s32 %%first%u, %%x%u, %d, %%first%u;", l, d, load->by[d], l);
    if (load->is_param)
        line(&m->to, "ld.param.u32 %%stride%u, [stride%u];", l, l);
    else
        line(&m->to, "mov.u32 %%stride%u, %d;", l, load->by_round);
    if (load->own_step)
        line(&m->to, "and.b32 %%g0, %%x0, 1; add.s32 %%stride%u, %%stride%u, %%g0;", l, l);
    line(&m->to, "shr.s32 %%part%u, %%stride%u, 1; sub.s32 %%rest%u, %%stride%u, %%part%u;", l, l, l, l, l);
    if (load->in_parts == 2)
        line(&m->to, "sub.s32 %%rest%u, %%rest%u, 3;", l, l);
    line(&m->to, "mul.wide.s32 %%way%u, %%stride%u, %u;", l, l, load->bytes);
    line(&m->to, "mul.wide.s32 %%pointer%u, %%first%u, %u;", l, l, load->bytes);
    line(&m->to, "add.s64 %%pointer%u, %%pointer%u, %%buffer%u;", l, l, l);
}

/* Adds the value in %%w0 to the sum so that the order shows. */
static void make_use(Maker *m, const Load *load, unsigned v)
{
    line(&m->to, load->bytes == 8 ? "cvt.u32.u64 %%v, %%w%u;" : load->bytes < 4 ? "cvt.u32.u16 %%v, %%h%u;"
                                                                                 : "mov.b32 %%v, %%v%u;", v);
    line(&m->to, "mad.lo.u32 %%sum, %%sum, 13, %%v;");
}

/* %%at: the member's element of the round, by an index of 32 bits. If that wraps, the extended index differs from
 * others by more than the sum can hide. */
static void make_index(Maker *m, unsigned l, unsigned member)
{
    const Load *load = &m->loads[l];
    const char sign = load->is_unsigned ? 'u' : 's';
    if (load->advances)
        line(&m->to, "mov.b32 %%g0, %%first%u;", l);
    else
        line(&m->to, "mad.lo.s32 %%g0, %%round, %%stride%u, %%first%u;", l, l);
    if (member)
        line(&m->to, "add.s32 %%g0, %%g0, %d;", load->apart * (int)member);
    if (!load->wraps) {
        line(&m->to, "mul.wide.%c32 %%at, %%g0, %u; add.s64 %%at, %%at, %%buffer%u;", sign, load->bytes, l);
        return;
    }
    const int64_t end = load->is_unsigned ? INT64_C(1) << 32 : INT64_C(1) << 31;
    const int64_t start = end - 1 - (int64_t)below(&m->to, (unsigned)(2 * load->last + 2));
    line(&m->to, "add.s32 %%g0, %%g0, %d; cvt.%c64.%c32 %%wide, %%g0;", (int)(uint32_t)start, sign, sign);
    line(&m->to, "shr.s64 %%at, %%wide, 32; cvt.u32.u64 %%g0, %%at; add.u32 %%sum, %%sum, %%g0;");
    line(&m->to, "sub.s64 %%wide, %%wide, %lld; and.b64 %%wide, %%wide, 4294967295;", (long long)start);
    line(&m->to, "mad.lo.s64 %%at, %%wide, %u, %%buffer%u;", load->bytes, l);
}

/* The index of the next round. */
static void make_advance(Maker *m, unsigned l)
{
    const unsigned parts = m->loads[l].in_parts;
    line(&m->to, "add.s32 %%first%u, %%first%u, %%%s%u;", l, l, parts ? "part" : "stride", l);
    if (parts == 2)
        line(&m->to, "add.s32 %%first%u, %%first%u, 3;", l, l);
    if (parts)
        line(&m->to, "add.s32 %%first%u, %%first%u, %%rest%u;", l, l, l);
}

static void make_load(Maker *m, unsigned l)
{
    const Load *load = &m->loads[l];
    const char *reg = load->bytes == 8 ? "w" : load->bytes < 4 ? "h" : "v";
    const char *nc = !load->is_own && chance(&m->to, 30) ? ".nc" : "";
    if (load->is_pointer)
        line(&m->to, "mov.u64 %%at, %%pointer%u;", l);
    else
        make_index(m, l, 0);
    bool is_chain = chance(&m->to, 40) && !load->has_indices;
    if (load->when)
        make_condition(m, l);
    if (load->is_half)
        line(&m->to, "setp.ge.u32 %%odd, %%round, %u; @%%odd bra HALF%u;", m->rounds / 2, l);
    for (unsigned k = 0; k < load->members; k++) {
        if (k && load->has_indices)
            make_index(m, l, k);
        int offset = is_chain || load->has_indices ? 0 : load->apart * (int)(load->bytes * k);
        if (load->vector == 1)
            line(&m->to, "ld.global%s.%s %%%s0, [%%at+%d];", nc, type_of(load), reg, offset);
        else if (load->vector == 2)
            line(&m->to, "ld.global%s.v2.%s {%%%s0, %%%s1}, [%%at+%d];", nc, type_of(load), reg, reg, offset);
        else
            line(&m->to, "ld.global%s.v4.%s {%%%s0, %%%s1, %%%s2, %%%s3}, [%%at+%d];", nc, type_of(load), reg, reg, reg,
                 reg, offset);
        for (unsigned v = 0; v < load->vector; v++)
            make_use(m, load, v);
        if (is_chain)
            line(&m->to, "add.s64 %%at, %%at, %d;", load->apart * (int)load->bytes);
    }
    if (load->is_own && m->stores)
        line(&m->to, "st.global.u32 [%%at+%d], %%sum;", is_chain ? 0 : 4);
    if (load->is_half)
        buf_printf(m->to.out, "HALF%u:\n", l);
    if (load->when)
        buf_printf(m->to.out, "WHEN%u:\n", l);
    if (load->is_pointer)
        line(&m->to, "add.s64 %%pointer%u, %%pointer%u, %%way%u;", l, l, l);
    if (load->advances)
        make_advance(m, l);
}

static void make_branch(Maker *m)
{
    unsigned label = m->to.labels++;
    line(&m->to, "and.b32 %%g0, %%sum, 4; setp.eq.u32 %%odd, %%g0, 0; @%%odd bra SKIP%u;", label);
    line(&m->to, "xor.b32 %%sum, %%sum, %%x0;");
    buf_printf(m->to.out, "SKIP%u:\n", label);
}

static void make_shared(Maker *m)
{
    line(&m->to, "mov.u32 %%g0, %%tid.x; and.b32 %%g0, %%g0, 15; shl.b32 %%g0, %%g0, 2; mov.u32 %%g1, mine;");
    line(&m->to, "add.u32 %%g0, %%g0, %%g1; bar.sync 0; mov.u32 %%g1, %%tid.x; setp.lt.u32 %%odd, %%g1, 16;");
    line(&m->to, "mov.u32 %%g2, %%tid.y; setp.eq.and.u32 %%odd, %%g2, 0, %%odd; mov.u32 %%g2, %%tid.z;");
    line(&m->to, "setp.eq.and.u32 %%odd, %%g2, 0, %%odd; @%%odd st.shared.u32 [%%g0], %%g1; bar.sync 0;");
    line(&m->to, "ld.shared.u32 %%v, [mine]; add.u32 %%sum, %%sum, %%v;");
}

/* The thread stores what it is going to read. */
static void make_own(Maker *m, unsigned l)
{
    line(&m->to, "mov.u64 %%at, %%pointer%u; mov.u32 %%g0, 0;", l);
    buf_printf(m->to.out, "OWN%u:\n", l);
    line(&m->to, "add.u32 %%g1, %%all, %%g0; st.global.u32 [%%at], %%g1;");
    line(&m->to, "add.s64 %%at, %%at, %%way%u; add.u32 %%g0, %%g0, 1;", l);
    line(&m->to, "setp.lt.u32 %%odd, %%g0, %u; @%%odd bra OWN%u;", m->rounds + m->own_rounds, l);
}

/* The counter's step, and the branch back. */
static void make_end(Maker *m)
{
    const unsigned bits = m->is_wide ? 64 : 32;
    const char sign = m->is_unsigned ? 'u' : 's', *wide = m->is_wide ? "wide_" : "";
    const bool is_ordered = chance(&m->to, 50);
    if (m->ends_at_pointer) {
        line(&m->to, "setp.%s.u64 %%more, %%pointer0, %%pointer_end;",
             is_ordered && m->loads[0].by_round > 0 ? "lt" : "ne");
        line(&m->to, "@%%more bra LOOP;");
        return;
    }
    line(&m->to, "add.s%u %%%si, %%%si, %d;", bits, wide, wide, m->counts_down ? -(int)m->step : (int)m->step);
    if (m->counts_down)
        line(&m->to, "setp.%s.%c%u %%more, %%%si, 0;", is_ordered && !m->is_unsigned ? "gt" : "ne", sign, bits, wide);
    else if (m->subtracts)
        line(&m->to, "sub.s%u %%%sleft, %%%si, %%%send; setp.ne.s%u %%more, %%%sleft, 0;", bits, wide, wide, wide, bits,
             wide);
    else
        line(&m->to, "setp.%s.%c%u %%more, %%%si, %%%send;", is_ordered ? "lt" : "ne", sign, bits, wide, wide);
    line(&m->to, "@%%more bra LOOP;");
}

static void make_loop(Maker *m)
{
    line(&m->to, "setp.lt.s32 %%none, %%n, 1; @%%none bra AFTER;");
    for (unsigned l = 0; l < m->load_count; l++)
        make_first(m, l);
    for (unsigned l = 0; l < m->load_count; l++)
        if (m->loads[l].is_own)
            make_own(m, l);
    line(&m->to, "mov.u32 %%i, %u;", m->start);
    if (m->own_start)
        line(&m->to, "mad.lo.u32 %%i, %%x0, 24, %%i;");
    line(&m->to, "mad.lo.u32 %%end, %%n, %u, %%i; mov.u32 %%round, 0;", m->step);
    if (m->ends_at_pointer)
        line(&m->to, "cvt.s64.s32 %%wide, %%n; mad.lo.s64 %%pointer_end, %%wide, %%way0, %%pointer0;");
    if (m->counts_down)
        line(&m->to, "mul.lo.u32 %%i, %%n, %u;", m->step);
    if (m->is_wide)
        line(&m->to, "cvt.u64.u32 %%wide_i, %%i; cvt.s64.s32 %%wide_end, %%end;");
    buf_puts(m->to.out, "LOOP:\n");
    for (unsigned l = 0; l < m->load_count; l++) {
        if (m->has_branch && chance(&m->to, 40))
            make_branch(m);
        make_load(m, l);
    }
    if (m->has_lasting)
        line(&m->to, "st.global.u32 [%%result+4], %%sum;");
    line(&m->to, "add.u32 %%round, %%round, 1; add.rn.f32 %%work, %%work, 0f3f800000;");
    make_end(m);
}

static void make_code(Maker *m)
{
    for (unsigned l = 0; l < m->load_count; l++)
        line(&m->to, "ld.param.u64 %%buffer%u, [buffer%u];", l, l);
    line(&m->to, "ld.param.u64 %%out, [out]; ld.param.u32 %%n, [n]; mov.u32 %%sum, 1;");
    line(&m->to, "mov.f32 %%work, 0f00000000;");
    line(&m->to, "ld.param.u32 %%limit0, [limit0]; ld.param.u32 %%limit1, [limit1];");
    make_coordinates(m);
    if (m->own_rounds)
        line(&m->to, "%s", m->own_form);
    if (m->has_shared)
        make_shared(m);
    make_guard(m);
    if (m->old == 1)
        line(&m->to, "ld.global.u32 %%v, [%%result]; add.u32 %%sum, %%sum, %%v;");
    if (m->has_outer) {
        line(&m->to, "mov.u32 %%outer, 0;");
        buf_puts(m->to.out, "OUTER:\n");
    }
    make_loop(m);
    if (m->has_outer) {
        line(&m->to, "st.global.u32 [%%result+4], %%sum;");
        line(&m->to, "add.u32 %%outer, %%outer, 1; setp.lt.u32 %%more, %%outer, 3; @%%more bra OUTER;");
    }
    buf_puts(m->to.out, "AFTER:\n");
    line(&m->to, "cvt.rzi.u32.f32 %%v, %%work; add.u32 %%sum, %%sum, %%v;");
    if (m->has_shared && m->guard != GUARD_EXIT && m->guard != GUARD_LOADED)
        make_shared(m);
    if (m->old == 2)
        line(&m->to, "ld.global.u32 %%v, [%%result]; mad.lo.u32 %%sum, %%v, 3, %%sum;");
    line(&m->to, "st.global.u32 [%%result], %%sum;");
    buf_puts(m->to.out, "LEAVE:\n");
    line(&m->to, "ret;");
}

/* Threads with odd numbers go one round more, those of other columns or rows several, or all but the first fewer. */
static void choose_own_rounds(Maker *m)
{
    static const struct {
        unsigned most;
        const char *code;
    } forms[] = {
        {1, "and.b32 %g0, %x0, 1; add.u32 %n, %n, %g0;"},
        {7, "and.b32 %g0, %x0, 7; add.u32 %n, %n, %g0;"},
        {6, "and.b32 %g0, %x1, 3; mad.lo.u32 %n, %g0, 2, %n;"},
        {MOST_MORE, "min.u32 %g0, %x1, 40; add.u32 %n, %n, %g0;"},
        {3, "and.b32 %g0, %x0, 3; sub.u32 %g0, 3, %g0; add.u32 %n, %n, %g0;"},
    };
    const unsigned form = below(&m->to, COUNT_OF(forms));
    m->own_rounds = chance(&m->to, 10) ? forms[form].most : 0;
    m->own_form = forms[form].code;
}

static void choose_shape(Maker *m)
{
    static const unsigned blocks[][3] = {{16, 1, 1}, {32, 1, 1}, {64, 1, 1}, {8, 4, 1}, {16, 16, 1}, {5, 3, 1},
                                         {33, 1, 1}, {4, 4, 2}, {7, 1, 1}, {1, 1, 1}, {96, 1, 1}, {2, 3, 5}, {32, 8, 1},
                                         {1, 16, 1}};
    static const unsigned steps[] = {1, 1, 2, 2, 4, 3, 5, 12};
    const unsigned *block = blocks[below(&m->to, COUNT_OF(blocks))];
    for (unsigned d = 0; d < 3; d++) {
        m->block[d] = block[d];
        m->grid[d] = d < 2 ? 1 + below(&m->to, 3) : 1;
    }
    m->rounds = below(&m->to, MOST_ROUNDS);
    m->step = steps[below(&m->to, COUNT_OF(steps))];
    m->start = below(&m->to, 5);
    m->stores = chance(&m->to, 20);
    choose_own_rounds(m);
    m->counts_down = chance(&m->to, 30);
    m->has_outer = chance(&m->to, 25);
    m->has_shared = chance(&m->to, 20);
    m->has_branch = chance(&m->to, 20);
    m->guard = chance(&m->to, 30)   ? GUARD_NONE
               : chance(&m->to, 30) ? GUARD_EXIT
                                    : (GuardKind)below(&m->to, GUARD_KINDS);
    for (unsigned d = 0; d < 2; d++)
        m->limits[d] = 1 + below(&m->to, m->block[d] * m->grid[d] + m->block[d]);
    m->load_count = 1 + below(&m->to, LOADS);
    for (unsigned l = 0; l < LOADS; l++)
        choose_load(m, &m->loads[l]);
}

/* Makes the load one of a row that belongs to the thread alone, in a kernel whose threads are all along x. */
static void choose_own(Maker *m)
{
    Load *load = &m->loads[0];
    if (m->block[1] * m->block[2] * m->grid[1] > 1 || !m->rounds || m->guard == GUARD_LOADED || !chance(&m->to, 30))
        return;
    *load = (Load){.is_pointer = load->is_pointer, .is_own = true, .bytes = 4, .vector = 1, .members = 1,
                   .by = {MOST_ROUNDS + MOST_MORE, 0, 0}, .by_round = 1};
}

/* Makes some threads pass the load by. */
static void choose_when(Maker *m, uint64_t seed, unsigned l)
{
    const uint64_t random = seed / 3 * 5 + l * UINT64_C(11);
    Load *load = &m->loads[l];
    if (seed % 5 > 1 || load->is_own)
        return;
    load->when = (unsigned)(random % COUNT_OF(conditions));
    const unsigned along = threads_along(m, load->when == 2);
    load->when_first = (int)(random / 7 % (along + 1)) / 3;
    load->when_end = load->when == 4 ? 1 + (int)(random / 5 % threads_along(m, 1)) : (int)along - (int)(random / 3 % 3);
}

/* Arranges the threads of a block along x in rows. */
static void choose_rows(Maker *m)
{
    if (m->block[1] * m->block[2] > 1 || m->block[0] < 4 || m->loads[0].is_own)
        return;
    m->row = 1 + below(&m->to, 2);
    m->threads = m->block[0];
    m->block[1] = (m->threads + (1U << m->row) - 1) >> m->row;
    m->block[0] = 1U << m->row;
    for (unsigned d = 0; d < 2; d++)
        m->limits[d] = 1 + below(&m->to, m->block[d] * m->grid[d] + m->block[d]);
}

static void make_launch(Maker *m, Arena *arena, Launch *launch)
{
    unsigned count = 0;
    *launch = (Launch){.kernel = "k"};
    memcpy(launch->grid, m->grid, sizeof m->grid);
    memcpy(launch->block, m->block, sizeof m->block);
    if (m->row) {
        launch->block[0] = m->threads;
        launch->block[1] = 1;
    }
    launch->arguments = ARENA_ARRAY(arena, LaunchArgument, 2 * LOADS + 4);
    for (unsigned l = 0; l < LOADS; l++) {
        Load *load = &m->loads[l];
        static const Type types[] = {[1] = TYPE_U8, [2] = TYPE_U16, [4] = TYPE_U32, [8] = TYPE_U64};
        find_extent(m, load);
        launch->arguments[count++] = (LaunchArgument){
            .kind = ARGUMENT_BUFFER, .name = arena_printf(arena, "buffer%u", l), .type = types[load->bytes],
            .count = (uint64_t)load->last + 1, .fill = FILL_UNIFORM, .low = 0, .high = 250,
            .seed = m->to.random.state + l};
    }
    launch->arguments[count++] = (LaunchArgument){
        .kind = ARGUMENT_BUFFER, .name = "out", .type = TYPE_U64,
        .fill = m->old ? FILL_UNIFORM : FILL_ZERO, .high = 250,
        .count = (uint64_t)m->block[0] * m->grid[0] * m->block[1] * m->grid[1] * m->block[2]};
    scalar_argument(arena, &launch->arguments[count++], m->rounds);
    for (unsigned d = 0; d < 2; d++)
        scalar_argument(arena, &launch->arguments[count++], m->limits[d]);
    for (unsigned l = 0; l < LOADS; l++)
        scalar_argument(arena, &launch->arguments[count++], (uint32_t)m->loads[l].by_round);
    launch->argument_count = count;
}

static void print_head(Buf *text)
{
    buf_puts(text, ".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry k(");
    for (unsigned l = 0; l < LOADS; l++)
        buf_printf(text, ".param .u64 buffer%u, ", l);
    buf_puts(text, ".param .u64 out, .param .u32 n, .param .u32 limit0, .param .u32 limit1");
    for (unsigned l = 0; l < LOADS; l++)
        buf_printf(text, ", .param .u32 stride%u", l);
    buf_puts(text, ")\n{\n");
    buf_puts(text, "\t.shared .align 4 .b8 mine[64];\n");
    buf_printf(text, "\t.reg .b64 %%buffer<%d>, %%pointer<%d>, %%way<%d>, %%w<4>, %%out, %%result, %%at;\n", LOADS,
               LOADS, LOADS);
    buf_puts(text, "\t.reg .b64 %wide, %wide_i, %wide_end, %wide_left, %pointer_end;\n");
    buf_printf(text, "\t.reg .b32 %%first<%d>, %%stride<%d>, %%v<4>, %%g<3>, %%x<3>, %%limit<2>, %%v, %%sum, %%n;\n",
               LOADS, LOADS);
    buf_printf(text, "\t.reg .b32 %%part<%d>, %%rest<%d>;\n", LOADS, LOADS);
    buf_puts(text, "\t.reg .b32 %i, %end, %left, %round, %all, %outer;\n\t.reg .b16 %h<4>;\n\t.reg .f32 %work;\n"
                   "\t.reg .pred %guard<2>, %none, %more, %odd, %apart;\n");
}

void stage_kernel(uint64_t seed, Arena *arena, Buf *text, Launch *launch)
{
    Buf code = {0};
    Maker m = {.to = {.random = {seed * UINT64_C(0x2545f4914f6cdd1d) + 77}, .out = &code}};
    m.has_lasting = seed % 5 == 2;
    m.subtracts = seed % 4 == 3;
    m.old = seed % 10 < 2 ? 1 + seed % 2 : 0;
    m.is_wide = seed / 3 % 3 == 1;
    m.is_unsigned = seed % 7 < 3;
    choose_shape(&m);
    choose_own(&m);
    if (seed % 9 < 4)
        choose_rows(&m);
    for (unsigned l = 0; l < LOADS; l++) {
        m.loads[l].advances = !m.loads[l].is_pointer && !m.has_outer && (seed >> l & 8);
        m.loads[l].in_parts = (seed >> l) % 3;
        choose_when(&m, seed, l);
    }
    m.ends_at_pointer = seed % 6 == 4 && m.loads[0].is_pointer && m.loads[0].by_round;
    m.own_start = seed % 8 == 5 && !m.ends_at_pointer;
    make_launch(&m, arena, launch);
    make_code(&m);
    print_head(text);
    buf_write(text, buf_text(&code), code.length);
    buf_puts(text, "}\n");
    buf_free(&code);
}
