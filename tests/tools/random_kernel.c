/* See random_kernel.h. A kernel has variables %v0.. that differ between threads and %u0.. that do not. Uniform values
 * are computed only from uniform values under uniform control, so that barriers and collectives can be placed where
 * they are legal.
 *
 * The file is long because its functions call each other in a circle. */
#include "random_kernel.h"

#include "kernel_writer.h"
#include "random_walk.h"

#include <string.h>

enum { VARIANTS = 7, UNIFORMS = 4, SLOTS = 12, INPUTS = 256, DEPTH = 4 };

typedef struct Maker {
    Writer to; /* temporaries begin at 1 */
    int budget;
    bool uniform;     /* control is the same for all threads of the block here */
    bool exited;      /* some threads may have exited: no more collectives of warps */
    bool leaves;      /* threads may exit before barriers */
    bool warps;       /* the kernel may have warp collectives */
    unsigned mask;    /* if control is not uniform, "%t<mask>" names the warp's lanes that are here; 0: unknown */
    unsigned jumps;   /* breaks and gotos so far */
    bool shared, local, calls, barriers;
    unsigned loop_labels[DEPTH + 2], loops; /* enclosing, for breaks: "B<n>" after one, "C<n>" its next iteration */
    bool loop_uniform[DEPTH + 2];           /* all threads must make the same decision to exit it */
    struct Join {                           /* enclosing constructs that end at a label */
        unsigned number, loops;
        bool has_else; /* its other side, labelled E, is not emitted yet */
    } joins[DEPTH + 2];
    unsigned join_count;
    unsigned floor; /* some threads have jumped to the end of joins[floor]: control is not uniform before it */
} Maker;

static void label(Maker *m, const char *kind, unsigned number)
{
    buf_printf(m->to.out, "%s%u:\n", kind, number);
}

typedef struct Text {
    char text[24];
} Text;

/* A readable value: variant or uniform, or a constant. */
static Text value(Maker *m, bool uniform)
{
    Text text;
    unsigned kind = below(&m->to, 10);
    if (kind < 2)
        snprintf(text.text, sizeof text.text, "%u", below(&m->to, 20));
    else if (uniform || kind < 4)
        snprintf(text.text, sizeof text.text, "%%u%u", below(&m->to, UNIFORMS));
    else
        snprintf(text.text, sizeof text.text, "%%v%u", below(&m->to, VARIANTS));
    return text;
}

static Text readable(Maker *m, bool uniform)
{
    Text text;
    bool common = uniform || chance(&m->to, 20);
    snprintf(text.text, sizeof text.text, "%%%c%u", common ? 'u' : 'v', below(&m->to, common ? UNIFORMS : VARIANTS));
    return text;
}

/* A variable to write: a uniform one only if control and value are uniform. */
static Text variable(Maker *m, bool *uniform)
{
    Text text;
    *uniform = m->uniform && chance(&m->to, 35);
    snprintf(text.text, sizeof text.text, "%%%c%u", *uniform ? 'u' : 'v',
             below(&m->to, *uniform ? UNIFORMS : VARIANTS));
    return text;
}

/* A fresh predicate. */
static unsigned condition(Maker *m, bool uniform)
{
    static const char *const compare[] = {"lt.u32", "eq.s32", "ne.b32", "gt.s32", "le.u32"};
    unsigned p = temporary(&m->to), t = temporary(&m->to);
    Text a = readable(m, uniform);
    if (chance(&m->to, 50)) {
        line(&m->to, "and.b32 %%t%u, %s, %u;", t, a.text, 1 + below(&m->to, 7));
        line(&m->to, "setp.%s %%p%u, %%t%u, %u;", compare[below(&m->to, COUNT_OF(compare))], p, t, below(&m->to, 5));
    } else
        line(&m->to, "setp.%s %%p%u, %s, %s;", compare[below(&m->to, COUNT_OF(compare))], p, a.text,
             value(m, uniform).text);
    return p;
}

static const char *maybe_not(Maker *m)
{
    return chance(&m->to, 40) ? "!" : "";
}

static void make_assignment(Maker *m)
{
    static const char *const binary[] = {"add.s32", "sub.s32", "mul.lo.s32", "xor.b32",
                                         "and.b32", "or.b32",  "min.u32",    "max.s32"};
    bool uniform;
    Text dst = variable(m, &uniform);
    switch (below(&m->to, 6)) {
    case 0: line(&m->to, "mad.lo.s32 %s, %s, %s, %s;", dst.text, readable(m, uniform).text, value(m, uniform).text,
                 value(m, uniform).text); break;
    case 1: {
        unsigned p = condition(m, uniform);
        line(&m->to, "selp.b32 %s, %s, %s, %%p%u;", dst.text, value(m, uniform).text, value(m, uniform).text, p);
        break;
    }
    case 2: {
        unsigned p = condition(m, uniform);
        line(&m->to, "@%s%%p%u add.s32 %s, %s, %s;", maybe_not(m), p, dst.text, readable(m, uniform).text,
             value(m, uniform).text);
        break;
    }
    case 3: line(&m->to, "mov.u32 %s, %s;", dst.text, value(m, uniform).text); break;
    default:
        line(&m->to, "%s %s, %s, %s;", binary[below(&m->to, COUNT_OF(binary))], dst.text, readable(m, uniform).text,
             value(m, uniform).text);
        break;
    }
}

static void make_load(Maker *m)
{
    bool uniform;
    Text dst = variable(m, &uniform);
    unsigned t = temporary(&m->to);
    line(&m->to, "and.b32 %%t%u, %s, %u;", t, readable(m, uniform).text, INPUTS - 1);
    line(&m->to, "mad.wide.u32 %%a%u, %%t%u, 4, %%in;", t, t);
    line(&m->to, "ld.global%s.u32 %s, [%%a%u];", chance(&m->to, 30) ? ".nc" : "", dst.text, t);
}

/* The thread's own words of the output. */
static void make_store(Maker *m)
{
    unsigned slot = below(&m->to, SLOTS) * 4;
    if (chance(&m->to, 30))
        line(&m->to, "ld.global.u32 %%v%u, [%%own+%u];", below(&m->to, VARIANTS), slot);
    else if (chance(&m->to, 30)) {
        unsigned p = condition(m, false);
        line(&m->to, "@%s%%p%u st.global.u32 [%%own+%u], %s;", maybe_not(m), p, slot, value(m, false).text);
    } else if (chance(&m->to, 20))
        line(&m->to, "st.volatile.global.u32 [%%own+%u], %s;", slot, value(m, false).text);
    else
        line(&m->to, "st.global.u32 [%%own+%u], %s;", slot, value(m, false).text);
}

static void make_shared_store(Maker *m)
{
    if (m->uniform) /* every thread of the block stores the same */
        line(&m->to, "st.global.u32 [%%common+%u], %s;", below(&m->to, 4) * 4, value(m, true).text);
}

/* Adds to a sum by comparing and swapping; the value that it finds is not used for anything else. */
static void make_swap(Maker *m, unsigned place)
{
    unsigned number = m->to.labels++, expected = temporary(&m->to), found = temporary(&m->to), next = temporary(&m->to);
    Text addend = value(m, false);
    bool equal = chance(&m->to, 30);
    line(&m->to, "mov.u32 %%t%u, %u;", expected, below(&m->to, 3));
    label(m, "S", number);
    line(&m->to, "add.u32 %%t%u, %%t%u, %s;", next, expected, addend.text);
    line(&m->to, "atom.global.cas.b32 %%t%u, [%%sums+%u], %%t%u, %%t%u;", found, place, expected, next);
    line(&m->to, "setp.%s.b32 %%p%u, %%t%u, %%t%u;", equal ? "eq" : "ne", next, found, expected);
    line(&m->to, "mov.u32 %%t%u, %%t%u;", expected, found);
    line(&m->to, "@%s%%p%u bra S%u;", equal ? "!" : "", next, number);
}

static void make_atomic(Maker *m)
{
    unsigned place = below(&m->to, 8) * 4;
    if (chance(&m->to, 15)) {
        make_swap(m, place);
        return;
    }
    switch (below(&m->to, 4)) {
    case 0:
        line(&m->to, "atom.global.add.u32 %%t%u, [%%sums+%u], %s;", temporary(&m->to), place, value(m, false).text);
        break;
    case 1: {
        unsigned p = condition(m, false);
        line(&m->to, "@%%p%u red.global.add.u32 [%%sums+%u], %s;", p, place, value(m, false).text);
        break;
    }
    default: line(&m->to, "red.global.add.u32 [%%sums+%u], %s;", place, value(m, chance(&m->to, 40)).text); break;
    }
}

static void make_carry(Maker *m)
{
    line(&m->to, "add.cc.u32 %%v%u, %s, %s;", below(&m->to, VARIANTS), readable(m, false).text, value(m, false).text);
    if (chance(&m->to, 40))
        line(&m->to, "addc.cc.u32 %%v%u, %s, %s;", below(&m->to, VARIANTS), readable(m, false).text,
             value(m, false).text);
    line(&m->to, "addc.u32 %%v%u, %s, %s;", below(&m->to, VARIANTS), readable(m, false).text, value(m, false).text);
}

static void make_uniform_carry(Maker *m)
{
    if (!m->uniform)
        return;
    line(&m->to, "sub.cc.u32 %%u0, %s, %s;", readable(m, true).text, value(m, true).text);
    line(&m->to, "subc.u32 %%u1, %s, %s;", readable(m, true).text, value(m, true).text);
}

static void make_local(Maker *m)
{
    unsigned t = temporary(&m->to);
    m->local = true;
    line(&m->to, "and.b32 %%t%u, %s, 3;", t, readable(m, chance(&m->to, 30)).text);
    line(&m->to, "mad.wide.u32 %%a%u, %%t%u, 4, %%array;", t, t);
    if (chance(&m->to, 50))
        line(&m->to, "st.local.u32 [%%a%u], %s;", t, value(m, chance(&m->to, 30)).text);
    else
        line(&m->to, "ld.local.u32 %%v%u, [%%a%u];", below(&m->to, VARIANTS), t);
}

static void make_call(Maker *m)
{
    m->calls = true;
    bool uniform = chance(&m->to, 25);
    Text a = readable(m, uniform), b = readable(m, uniform);
    line(&m->to, "{");
    line(&m->to, ".param .b32 a0;");
    line(&m->to, ".param .b32 a1;");
    line(&m->to, ".param .b32 r0;");
    line(&m->to, "st.param.b32 [a0], %s;", a.text);
    line(&m->to, "st.param.b32 [a1], %s;", b.text);
    line(&m->to, "call.uni (r0), f, (a0, a1);");
    line(&m->to, "ld.param.b32 %%v%u, [r0];", below(&m->to, VARIANTS));
    line(&m->to, "}");
}

/* A barrier that combines a predicate of each thread. */
static void make_combined(Maker *m)
{
    unsigned p = condition(m, chance(&m->to, 15)), result = temporary(&m->to), u = below(&m->to, UNIFORMS);
    const char *barrier = chance(&m->to, 50) ? "bar.red" : "barrier.red";
    if (chance(&m->to, 40)) {
        line(&m->to, "%s.popc.u32 %%u%u, 0, %s%%p%u;", barrier, u, maybe_not(m), p);
        return;
    }
    line(&m->to, "%s.%s.pred %%p%u, 0, %s%%p%u;", barrier, chance(&m->to, 50) ? "and" : "or", result, maybe_not(m), p);
    line(&m->to, "selp.u32 %%u%u, %u, %%u%u, %%p%u;", u, below(&m->to, 9), u, result);
}

/* A barrier under a condition that is the same for all threads of the block, but computed from values that differ. */
static void make_agreed(Maker *m)
{
    unsigned number = m->to.labels++, t = temporary(&m->to), p = temporary(&m->to), place = below(&m->to, 8) * 4;
    line(&m->to, "sub.u32 %%t%u, %%lin, %%lin;", t);
    if (chance(&m->to, 40)) { /* a loop */
        label(m, "A", number);
        line(&m->to, "bar.sync 0;");
        line(&m->to, "red.global.add.u32 [%%sums+%u], %s;", place, value(m, false).text);
        line(&m->to, "add.u32 %%t%u, %%t%u, 1;", t, t);
        line(&m->to, "setp.lt.u32 %%p%u, %%t%u, %u;", p, t, 1 + below(&m->to, 3));
        line(&m->to, "@%%p%u bra A%u;", p, number);
        line(&m->to, "add.u32 %%v0, %%v0, %%t%u;", t);
        return;
    }
    line(&m->to, "add.u32 %%t%u, %%t%u, %s;", t, t, readable(m, true).text);
    line(&m->to, "setp.lt.u32 %%p%u, %%t%u, %u;", p, t, below(&m->to, 20));
    line(&m->to, "@%s%%p%u bra A%u;", maybe_not(m), p, number);
    line(&m->to, "red.global.add.u32 [%%sums+%u], %s;", place, value(m, false).text);
    line(&m->to, "bar.sync 0;");
    line(&m->to, "add.u32 %%v%u, %%v0, %%t%u;", below(&m->to, VARIANTS), t);
    label(m, "A", number);
}

/* Through shared memory to another thread and back, between barriers. */
static void make_exchange(Maker *m)
{
    if (!m->uniform || !m->barriers)
        return;
    if (chance(&m->to, 20)) {
        make_combined(m);
        return;
    }
    if (chance(&m->to, 15)) {
        make_agreed(m);
        return;
    }
    m->shared = true;
    unsigned t = temporary(&m->to);
    if (chance(&m->to, 30)) { /* one thread for all */
        unsigned p = temporary(&m->to);
        line(&m->to, "setp.eq.u32 %%p%u, %%lin, %u;", p, below(&m->to, 8));
        if (chance(&m->to, 50))
            line(&m->to, "@%%p%u st.shared.u32 [board], %s;", p, value(m, false).text);
        else {
            unsigned number = m->to.labels++;
            line(&m->to, "@!%%p%u bra S%u;", p, number);
            line(&m->to, "st.shared.u32 [board], %s;", value(m, false).text);
            label(m, "S", number);
        }
        line(&m->to, "bar.sync 0;");
        line(&m->to, "ld.shared.u32 %%u%u, [board];", below(&m->to, UNIFORMS));
        line(&m->to, "bar.sync 0;");
        return;
    }
    line(&m->to, "st.shared.u32 [%%cell], %s;", value(m, false).text);
    line(&m->to, "bar.sync 0;");
    line(&m->to, "add.u32 %%t%u, %%lin, %u;", t, 1 + below(&m->to, 70));
    line(&m->to, "rem.u32 %%s%u, %%t%u, %%threads;", t, t);
    line(&m->to, "mad.lo.u32 %%s%u, %%s%u, 4, %%cells;", t, t);
    line(&m->to, "ld.shared.u32 %%v%u, [%%s%u];", below(&m->to, VARIANTS), t);
    line(&m->to, "bar.sync 0;");
}

static void make_collective(Maker *m)
{
    if (!(m->uniform || m->mask) || !m->warps)
        return;
    Text mask = {"-1"};
    if (!m->uniform)
        snprintf(mask.text, sizeof mask.text, "%%t%u", m->mask);
    Text src = readable(m, chance(&m->to, 15));
    unsigned p = temporary(&m->to), dst = below(&m->to, VARIANTS);
    bool all_lanes = m->uniform && !m->exited; /* every lane has a value to give */
    switch (below(&m->to, 6)) {
    case 0:
        if (all_lanes)
            line(&m->to, "shfl.sync.bfly.b32 %%v%u, %s, %u, 31, -1;", dst, src.text, 1u << below(&m->to, 5));
        break;
    case 1:
        if (all_lanes)
            line(&m->to, "shfl.sync.down.b32 %%v%u|%%p%u, %s, %u, 31, -1;", dst, p, src.text, 1 + below(&m->to, 16));
        break;
    case 2: line(&m->to, "match.any.sync.b32 %%v%u, %s, %s;", dst, src.text, mask.text); break;
    case 3: line(&m->to, "redux.sync.add.u32 %%v%u, %s, %s;", dst, src.text, mask.text); break;
    case 4: line(&m->to, "bar.warp.sync %s;", mask.text); break;
    default: {
        unsigned q = condition(m, false);
        line(&m->to, "vote.sync.ballot.b32 %%v%u, %%p%u, %s;", dst, q, mask.text);
        break;
    }
    }
}

static void make_statements(Maker *m, unsigned depth, unsigned count);

/* With mask 0, the lanes that execute it are unknown. */
static void make_masked_body(Maker *m, unsigned depth, unsigned mask)
{
    unsigned outer = m->mask, jumps = m->jumps;
    m->mask = mask;
    make_statements(m, depth + 1, 1 + below(&m->to, 3));
    m->mask = m->jumps == jumps ? outer : 0;
}

static void make_body(Maker *m, unsigned depth)
{
    make_masked_body(m, depth, 0);
}

static void enter_construct(Maker *m, unsigned number, bool has_else)
{
    m->joins[m->join_count++] = (struct Join){number, m->loops, has_else};
}

/* After a construct that began with control 'outer'. */
static void leave_construct(Maker *m, bool outer)
{
    m->join_count--;
    if (m->floor >= m->join_count)
        m->floor = UINT32_MAX;
    m->uniform = outer && m->floor == UINT32_MAX;
}

/* A jump to the end of an enclosing construct, or into its other side. */
static void make_goto(Maker *m)
{
    if (!m->join_count)
        return;
    unsigned at = below(&m->to, m->join_count);
    bool crosses = false;
    for (unsigned i = m->joins[at].loops; i < m->loops; i++)
        crosses |= m->loop_uniform[i];
    if (crosses && !m->uniform)
        return;
    bool uniform = crosses || (m->uniform && chance(&m->to, 30));
    unsigned p = condition(m, uniform);
    m->mask = 0;
    m->jumps++;
    line(&m->to, "@%s%%p%u bra %s%u;", maybe_not(m), p, m->joins[at].has_else && chance(&m->to, 50) ? "E" : "J",
         m->joins[at].number);
    if (uniform)
        return;
    m->uniform = false;
    if (at < m->floor)
        m->floor = at;
}

static void make_if(Maker *m, unsigned depth)
{
    bool outer = m->uniform, uniform = m->uniform && chance(&m->to, 40);
    unsigned number = m->to.labels++, p = condition(m, uniform);
    bool two = chance(&m->to, 50);
    const char *inverted = maybe_not(m);
    unsigned then_mask = 0, else_mask = 0;
    if (m->warps && m->uniform && !m->exited && !uniform) {
        then_mask = temporary(&m->to);
        else_mask = temporary(&m->to);
        line(&m->to, "vote.sync.ballot.b32 %%t%u, %s%%p%u, -1;", else_mask, inverted, p);
        line(&m->to, "not.b32 %%t%u, %%t%u;", then_mask, else_mask);
    }
    unsigned jumps = m->jumps;
    m->uniform = uniform;
    enter_construct(m, number, two);
    if (two) {
        line(&m->to, "@%s%%p%u bra E%u;", inverted, p, number);
        make_masked_body(m, depth, then_mask);
        line(&m->to, "bra.uni J%u;", number);
        label(m, "E", number);
        m->joins[m->join_count - 1].has_else = false;
        m->uniform = uniform && m->floor == UINT32_MAX;
        make_masked_body(m, depth, m->jumps == jumps ? else_mask : 0);
        label(m, "J", number);
    } else {
        line(&m->to, "@%s%%p%u bra J%u;", inverted, p, number);
        make_masked_body(m, depth, then_mask);
        label(m, "J", number);
    }
    leave_construct(m, outer);
}

/* if (a || b) { } else { }, by jumps into the sides. */
static void make_short_circuit(Maker *m, unsigned depth)
{
    bool outer = m->uniform, first = m->uniform && chance(&m->to, 50), second = m->uniform && chance(&m->to, 30);
    unsigned number = m->to.labels++;
    unsigned p = condition(m, first);
    line(&m->to, "@%%p%u bra T%u;", p, number);
    m->uniform = first;
    if (chance(&m->to, 30))
        make_statements(m, DEPTH, 1);
    p = condition(m, second);
    line(&m->to, "@%s%%p%u bra E%u;", maybe_not(m), p, number);
    m->uniform = first && second && m->floor == UINT32_MAX;
    label(m, "T", number);
    enter_construct(m, number, true);
    make_body(m, depth);
    line(&m->to, "bra.uni J%u;", number);
    label(m, "E", number);
    m->joins[m->join_count - 1].has_else = false;
    m->uniform = first && second && m->floor == UINT32_MAX;
    make_body(m, depth);
    label(m, "J", number);
    leave_construct(m, outer);
}

static void make_switch(Maker *m, unsigned depth)
{
    bool outer = m->uniform, uniform = m->uniform && chance(&m->to, 30);
    unsigned number = m->to.labels++, t = temporary(&m->to), cases = 2 + below(&m->to, 3);
    line(&m->to, "rem.u32 %%t%u, %s, %u;", t, readable(m, uniform).text, cases);
    buf_printf(m->to.out, "W%u: .branchtargets ", number);
    for (unsigned i = 0; i < cases; i++)
        buf_printf(m->to.out, "%sW%u_%u", i ? ", " : "", number, i);
    buf_puts(m->to.out, ";\n");
    line(&m->to, "brx.idx %%t%u, W%u;", t, number);
    enter_construct(m, number, false);
    for (unsigned i = 0; i < cases; i++) {
        m->uniform = uniform && m->floor == UINT32_MAX;
        buf_printf(m->to.out, "W%u_%u:\n", number, i);
        make_body(m, depth);
        if (chance(&m->to, 70) || i + 1 == cases)
            line(&m->to, "bra.uni J%u;", number);
    }
    label(m, "J", number);
    leave_construct(m, outer);
}

/* Breaks out of an enclosing loop, or continues it. */
static void make_break(Maker *m)
{
    if (!m->loops)
        return;
    unsigned at = chance(&m->to, 75) ? m->loops - 1 : below(&m->to, m->loops);
    for (unsigned i = at; i < m->loops; i++)
        if (m->loop_uniform[i] && !m->uniform)
            return;
    bool uniform = m->loop_uniform[at];
    for (unsigned i = at; i < m->loops; i++)
        uniform |= m->loop_uniform[i];
    unsigned p = condition(m, uniform);
    m->mask = 0;
    m->jumps++;
    line(&m->to, "@%s%%p%u bra %s%u;", maybe_not(m), p, chance(&m->to, 65) ? "B" : "C", m->loop_labels[at]);
}

static void make_loop(Maker *m, unsigned depth)
{
    bool outer = m->uniform, uniform = m->uniform && chance(&m->to, 55);
    unsigned number = m->to.labels++, bound = temporary(&m->to), counter = temporary(&m->to), p = temporary(&m->to);
    line(&m->to, "and.b32 %%t%u, %s, 3;", bound, readable(m, uniform).text);
    line(&m->to, "mov.u32 %%t%u, 0;", counter);
    if (chance(&m->to, 8)) { /* a second entry */
        unsigned q = condition(m, uniform);
        line(&m->to, "@%%p%u bra C%u;", q, number);
    }
    m->uniform = uniform;
    m->loop_labels[m->loops] = number;
    m->loop_uniform[m->loops++] = uniform;
    if (chance(&m->to, 50)) { /* while */
        label(m, "H", number);
        line(&m->to, "setp.ge.u32 %%p%u, %%t%u, %%t%u;", p, counter, bound);
        line(&m->to, "@%%p%u bra B%u;", p, number);
        make_body(m, depth);
        label(m, "C", number);
        line(&m->to, "add.u32 %%t%u, %%t%u, 1;", counter, counter);
        line(&m->to, "bra.uni H%u;", number);
    } else { /* do */
        label(m, "H", number);
        make_body(m, depth);
        label(m, "C", number);
        line(&m->to, "add.u32 %%t%u, %%t%u, 1;", counter, counter);
        line(&m->to, "setp.le.u32 %%p%u, %%t%u, %%t%u;", p, counter, bound);
        line(&m->to, "@%%p%u bra H%u;", p, number);
    }
    label(m, "B", number);
    m->loops--;
    m->uniform = outer && m->floor == UINT32_MAX;
}

/* Some threads leave, perhaps after some work; the others go on to barriers. */
static void make_leave(Maker *m)
{
    unsigned p = condition(m, false), number = m->to.labels++;
    const char *exit = chance(&m->to, 50) ? "ret" : "exit";
    m->exited = true;
    if (chance(&m->to, 50)) {
        line(&m->to, "@%s%%p%u %s;", maybe_not(m), p, exit);
        return;
    }
    line(&m->to, "@%s%%p%u bra X%u;", maybe_not(m), p, number);
    for (unsigned i = below(&m->to, 3); i > 0; i--)
        make_store(m);
    if (chance(&m->to, 30)) {
        unsigned q = condition(m, false);
        line(&m->to, "@%%p%u %s;", q, exit);
        make_atomic(m);
    }
    line(&m->to, "%s;", exit);
    label(m, "X", number);
}

static void make_exit(Maker *m)
{
    if (m->loops && chance(&m->to, 60))
        return;
    if (m->leaves && m->uniform) {
        make_leave(m);
        return;
    }
    if (m->barriers || (m->warps && (!m->uniform || m->join_count || m->loops || m->exited)))
        return;
    unsigned p = condition(m, false);
    line(&m->to, "@%s%%p%u %s;", maybe_not(m), p, chance(&m->to, 50) ? "ret" : "exit");
    m->exited = true;
}

static void make_unreachable(Maker *m)
{
    unsigned number = m->to.labels++;
    line(&m->to, "bra.uni J%u;", number);
    label(m, "D", number);
    line(&m->to, "add.s32 %%v0, %%v0, 1;");
    label(m, "J", number);
}

static void make_statement(Maker *m, unsigned depth)
{
    unsigned kind = below(&m->to, 100);
    m->budget--;
    if (depth < DEPTH && m->budget > 0) {
        if (kind < 14) {
            make_if(m, depth);
            return;
        }
        if (kind < 26) {
            make_loop(m, depth);
            return;
        }
        if (kind < 30) {
            make_short_circuit(m, depth);
            return;
        }
        if (kind < 33) {
            make_switch(m, depth);
            return;
        }
    }
    if (((m->warps && !m->exited) || m->leaves) && !depth && chance(&m->to, 10))
        make_exit(m);
    else if (kind < 36)
        make_break(m);
    else if (kind < 38)
        make_goto(m);
    else if (kind < 40)
        make_exit(m);
    else if (kind < 41)
        make_unreachable(m);
    else if (kind < 52)
        make_load(m);
    else if (kind < 60)
        make_store(m);
    else if (kind < 64)
        make_atomic(m);
    else if (kind < 67)
        make_local(m);
    else if (kind < 69)
        make_call(m);
    else if (kind < 75)
        make_exchange(m);
    else if (kind < 78 || (m->warps && kind < 86))
        make_collective(m);
    else if (kind < 80)
        make_carry(m);
    else if (kind < 81)
        make_uniform_carry(m);
    else if (kind < 84)
        make_shared_store(m);
    else
        make_assignment(m);
}

static void make_statements(Maker *m, unsigned depth, unsigned count)
{
    for (unsigned i = 0; i < count; i++)
        make_statement(m, depth);
}

/* A parameter may be loaded by halves, so that no register has it until they are joined. */
static void make_pointer(Maker *m, const char *reg, const char *parameter, bool halves)
{
    if (halves)
        line(&m->to, "ld.param.v2.b32 {%%mark0, %%mark1}, [%s];\n\tmov.b64 %%%s, {%%mark0, %%mark1};", parameter, reg);
    else
        line(&m->to, "ld.param.u64 %%%s, [%s];", reg, parameter);
}

static void make_prologue(Maker *m, bool halves)
{
    static const char *const sizes[] = {"%ntid.x", "%ntid.y", "%ntid.z"}, *const indices[] = {"%tid.x", "%tid.y",
                                                                                              "%tid.z"};
    for (unsigned d = 0; d < 3; d++) {
        line(&m->to, "mov.u32 %%size%u, %s;", d, sizes[d]);
        line(&m->to, "mov.u32 %%index%u, %s;", d, indices[d]);
    }
    line(&m->to, "mov.u32 %%group, %%nctaid.x;");
    line(&m->to, "mov.u32 %%gid, %%ctaid.y;");
    line(&m->to, "mov.u32 %%lin, %%ctaid.x;");
    line(&m->to, "mad.lo.u32 %%group, %%group, %%gid, %%lin;");
    line(&m->to, "mad.lo.u32 %%lin, %%index2, %%size1, %%index1;");
    line(&m->to, "mad.lo.u32 %%lin, %%lin, %%size0, %%index0;");
    line(&m->to, "mul.lo.u32 %%threads, %%size0, %%size1;");
    line(&m->to, "mul.lo.u32 %%threads, %%threads, %%size2;");
    line(&m->to, "mad.lo.u32 %%gid, %%group, %%threads, %%lin;");
    make_pointer(m, "in", "in", halves);
    make_pointer(m, "own", "out", halves);
    line(&m->to, "mad.wide.u32 %%own, %%gid, %u, %%own;", SLOTS * 4);
    make_pointer(m, "common", "common", halves);
    line(&m->to, "mad.wide.u32 %%common, %%group, 16, %%common;");
    make_pointer(m, "sums", "sums", halves);
    line(&m->to, "mov.u32 %%cells, exchange;");
    line(&m->to, "mad.lo.u32 %%cell, %%lin, 4, %%cells;");
    line(&m->to, "mov.u64 %%array, spot;");
    for (unsigned i = 0; i < 4; i++)
        line(&m->to, "st.local.u32 [spot+%u], %u;", 4 * i, i);
    for (unsigned i = 0; i < SLOTS; i++)
        line(&m->to, "st.global.u32 [%%own+%u], 7;", 4 * i);
    static const char *const seeds[] = {"%lin", "%gid", "%index0", "%index1", "%index2"};
    for (unsigned i = 0; i < VARIANTS; i++)
        line(&m->to, "mov.u32 %%v%u, %s;", i, seeds[below(&m->to, COUNT_OF(seeds))]);
    line(&m->to, "ld.param.u32 %%u0, [n];");
    line(&m->to, "mov.u32 %%u1, %%group;");
    line(&m->to, "mov.u32 %%u2, %%size%u;", below(&m->to, 3));
    line(&m->to, "ld.global.u32 %%u3, [%%in+16];");
    if (m->leaves) { /* the results of the threads that are gone */
        unsigned p = temporary(&m->to);
        line(&m->to, "st.shared.u32 [%%cell], %%v0;");
        line(&m->to, "setp.eq.u32 %%p%u, %%lin, 0;", p);
        line(&m->to, "@%%p%u st.shared.u32 [board], %%u3;", p);
        line(&m->to, "bar.sync 0;");
    }
}

/* A table in shared memory, filled from values that all blocks share, or only those of a row or column, and looked up
 * at another place. */
static void make_table(Maker *m, unsigned kind)
{
    static const char *const own[] = {"%u0", "%ctaid.x", "%ctaid.y"};
    line(&m->to, "bar.sync 0;");
    line(&m->to, "mov.u32 %%mark0, chart;");
    line(&m->to, "mad.lo.u32 %%mark1, %%lin, 4, %%mark0;");
    line(&m->to, "mov.u32 %%mark2, %s;", own[kind % COUNT_OF(own)]);
    line(&m->to, "mad.lo.u32 %%mark2, %%lin, 5, %%mark2;");
    line(&m->to, "st.shared.u32 [%%mark1], %%mark2;");
    line(&m->to, "bar.sync 0;");
    line(&m->to, "add.u32 %%mark2, %%lin, %%gid;");
    line(&m->to, "rem.u32 %%mark2, %%mark2, %%threads;");
    line(&m->to, "mad.lo.u32 %%mark1, %%mark2, 4, %%mark0;");
    line(&m->to, "ld.shared.u32 %%mark3, [%%mark1];");
    line(&m->to, "xor.b32 %%v0, %%v0, %%mark3;");
}

static void make_launch(Maker *m, Arena *arena, Launch *launch)
{
    static const unsigned blocks[][3] = {{100, 1, 1}, {33, 3, 1}, {64, 1, 1}, {16, 8, 1}, {8, 4, 4},
                                         {32, 4, 1}, {128, 2, 1}, {128, 1, 1}, {96, 1, 1}};
    enum { UNEVEN = 5 }; /* the first ones are not whole warps, or rows narrower than one */
    unsigned shape = m->warps ? UNEVEN + below(&m->to, COUNT_OF(blocks) - UNEVEN) : below(&m->to, COUNT_OF(blocks));
    unsigned along_x = 2 + (chance(&m->to, 30) ? below(&m->to, 4) : 0);
    *launch = (Launch){.kernel = "k", .grid = {along_x, 1 + chance(&m->to, 15), 1}};
    unsigned groups = launch->grid[0] * launch->grid[1];
    memcpy(launch->block, blocks[shape], sizeof launch->block);
    unsigned threads = groups * launch->block[0] * launch->block[1] * launch->block[2];
    launch->argument_count = 5;
    launch->arguments = ARENA_ARRAY(arena, LaunchArgument, 5);
    launch->arguments[0] = (LaunchArgument){.kind = ARGUMENT_BUFFER, .name = "in", .type = TYPE_U32, .count = INPUTS,
                                            .fill = FILL_UNIFORM, .low = 0, .high = 4000, .seed = m->to.random.state};
    launch->arguments[1] = (LaunchArgument){
        .kind = ARGUMENT_BUFFER, .name = "out", .type = TYPE_U32, .count = threads * SLOTS, .fill = FILL_POISON};
    launch->arguments[2] = (LaunchArgument){.kind = ARGUMENT_BUFFER, .name = "common", .type = TYPE_U32,
                                            .count = 4 * groups, .fill = FILL_ZERO};
    launch->arguments[3] = (LaunchArgument){.kind = ARGUMENT_BUFFER, .name = "sums", .type = TYPE_U32, .count = 8,
                                            .fill = FILL_ZERO};
    scalar_argument(arena, &launch->arguments[4], below(&m->to, 12));
}

void random_kernel(uint64_t seed, Arena *arena, Buf *text, Launch *launch)
{
    Buf code = {0};
    Maker m = {.to = {.random = {seed * UINT64_C(0x2545f4914f6cdd1d) + 1}, .out = &code, .temporaries = 1},
               .budget = 14,
               .uniform = true,
               .floor = UINT32_MAX};
    m.warps = chance(&m.to, 25);
    m.barriers = chance(&m.to, 50);
    m.leaves = m.barriers && !m.warps && chance(&m.to, 40);
    make_launch(&m, arena, launch);
    if (seed % 3 == 0)
        launch->dynamic_shared = 1024 + seed % 11 * 4;
    make_prologue(&m, seed % 4 == 2);
    if (seed % 2)
        make_table(&m, (unsigned)(seed / 2));
    make_statements(&m, 0, 4 + below(&m.to, 5));
    if (seed % 2 && m.barriers && !m.leaves)
        make_table(&m, (unsigned)(seed / 6));
    if (seed % 5 == 0)
        random_walk(&m.to);
    if (seed % 5 < 2)
        random_keep(&m.to);
    for (unsigned i = 0; i < VARIANTS; i++)
        line(&m.to, "st.global.u32 [%%own+%u], %%v%u;", 4 * i, i);
    for (unsigned i = 0; i < UNIFORMS; i++)
        line(&m.to, "st.global.u32 [%%own+%u], %%u%u;", 4 * (VARIANTS + i), i);
    line(&m.to, "ret;");
    buf_puts(text, ".version 8.0\n.target sm_80\n.address_size 64\n");
    buf_puts(text, ".func (.param .b32 r) f(.param .b32 x, .param .b32 y)\n{\n\t.reg .b32 %a<4>;\n\t.reg .pred %p;\n"
                   "\tld.param.b32 %a0, [x];\n\tld.param.b32 %a1, [y];\n\tsetp.lt.s32 %p, %a0, %a1;\n"
                   "\t@%p bra L;\n\tmad.lo.s32 %a0, %a1, 3, %a0;\nL:\n\txor.b32 %a2, %a0, %a1;\n"
                   "\tst.param.b32 [r], %a2;\n\tret;\n}\n");
    if (launch->dynamic_shared)
        buf_puts(text, ".extern .shared .align 4 .b8 exchange[];\n");
    buf_puts(
        text,
        ".visible .entry k(.param .u64 in, .param .u64 out, .param .u64 common, .param .u64 sums, .param .u32 n)\n{\n");
    buf_printf(text, "\t.reg .b32 %%v<%u>, %%u<%u>, %%t<%u>, %%s<%u>;\n", VARIANTS, UNIFORMS, m.to.temporaries + 1,
               m.to.temporaries + 1);
    buf_printf(text, "\t.reg .pred %%p<%u>;\n\t.reg .b64 %%a<%u>;\n", m.to.temporaries + 1, m.to.temporaries + 1);
    buf_puts(text, "\t.reg .b32 %mark<4>;\n"
                   "\t.reg .b32 %size<3>, %index<3>, %group, %lin, %threads, %gid, %cells, %cell;\n"
                   "\t.reg .b64 %in, %own, %common, %sums, %array;\n"
                   "\t.shared .align 4 .b8 board[4];\n\t.shared .align 4 .b8 chart[1024];\n"
                   "\t.local .align 4 .b8 spot[16];\n");
    if (!launch->dynamic_shared)
        buf_puts(text, "\t.shared .align 4 .b8 exchange[1024];\n");
    buf_write(text, buf_text(&code), code.length);
    buf_puts(text, "}\n");
    buf_free(&code);
}
