/* Control flow: nested constructs, jumps out of them and into their middle, loops that end for certain, calls, ends of
 * threads. Control that differs between threads becomes common again at the end of the outermost construct that made it
 * differ, because no jump leaves that. */
#include "maker.h"

static void enter_join(Maker *m, unsigned number, bool uniform)
{
    m->joins[m->join_count++] = (Join){number, m->uniform, m->uniform && uniform};
    m->uniform = m->uniform && uniform;
}

static void leave_join(Maker *m)
{
    m->uniform = m->joins[--m->join_count].outside;
    put_label(m, "J", m->joins[m->join_count].number);
}

static void make_body(Maker *m, unsigned depth)
{
    make_statements(m, depth + 1, 1 + below(&m->to, 3));
}

static void make_if(Maker *m, unsigned depth)
{
    bool uniform = m->uniform && chance(&m->to, 40), two = chance(&m->to, 50);
    unsigned number = new_label(m);
    Word p = condition(m, uniform);
    enter_join(m, number, uniform);
    line(&m->to, "@%s%s bra %s%u;", maybe_not(m), p.text, two ? "E" : "J", number);
    make_body(m, depth);
    if (two) {
        line(&m->to, "bra%s J%u;", chance(&m->to, 50) ? ".uni" : "", number);
        put_label(m, "E", number);
        make_body(m, depth);
    }
    leave_join(m);
}

/* if (a || b) { } else { }, whose sides some threads reach by jumps into their middle. */
static void make_short_circuit(Maker *m, unsigned depth)
{
    bool uniform = m->uniform && chance(&m->to, 30);
    unsigned number = new_label(m);
    enter_join(m, number, uniform);
    Word p = condition(m, uniform);
    line(&m->to, "@%s bra T%u;", p.text, number);
    if (chance(&m->to, 40))
        make_statements(m, DEPTH, 1);
    p = condition(m, uniform);
    line(&m->to, "@%s%s bra E%u;", maybe_not(m), p.text, number);
    if (chance(&m->to, 40))
        make_statements(m, DEPTH, 1);
    put_label(m, "T", number);
    make_body(m, depth);
    p = condition(m, uniform);
    line(&m->to, "@%s bra J%u;", p.text, number);
    put_label(m, "E", number);
    make_body(m, depth);
    leave_join(m);
}

static void make_switch(Maker *m, unsigned depth)
{
    bool uniform = m->uniform && chance(&m->to, 30);
    unsigned number = new_label(m), cases = 2 + below(&m->to, 3);
    Word index = small_number(m, uniform, 4);
    line(&m->to, "min.u32 %s, %s, %u;", index.text, index.text, cases - 1);
    buf_printf(m->to.out, "W%u: .branchtargets ", number);
    for (unsigned i = 0; i < cases; i++)
        buf_printf(m->to.out, "%sW%u_%u", i ? ", " : "", number, i);
    buf_puts(m->to.out, ";\n");
    line(&m->to, "brx.idx %s, W%u;", index.text, number);
    enter_join(m, number, uniform);
    for (unsigned i = 0; i < cases; i++) {
        buf_printf(m->to.out, "W%u_%u:\n", number, i);
        make_body(m, depth);
        if (chance(&m->to, 70))
            line(&m->to, "bra J%u;", number);
    }
    leave_join(m);
}

/* Both sides of a condition lead into a cycle of two blocks, of which neither dominates the other. */
static void make_irreducible(Maker *m)
{
    bool uniform = m->uniform && chance(&m->to, 40);
    unsigned number = new_label(m);
    Word p = condition(m, uniform), left = fresh_register(m, KIND_32), again = fresh_register(m, KIND_PRED);
    line(&m->to, "and.b32 %s, %s, 7;", left.text, pool_register(m, KIND_32, uniform).text);
    enter_join(m, number, uniform);
    line(&m->to, "@%s bra R%u;", p.text, number);
    put_label(m, "Q", number);
    make_statements(m, DEPTH, 1 + below(&m->to, 2));
    line(&m->to, "setp.lt.s32 %s, %s, 1;\n\t@%s bra J%u;", again.text, left.text, again.text, number);
    line(&m->to, "add.s32 %s, %s, -1;", left.text, left.text);
    put_label(m, "R", number);
    make_statements(m, DEPTH, 1);
    line(&m->to, "add.s32 %s, %s, -1;\n\tsetp.gt.s32 %s, %s, 0;\n\t@%s bra Q%u;", left.text, left.text, again.text,
         left.text, again.text, number);
    leave_join(m);
}

/* The ways in which a counter goes. */
typedef enum Counting {
    COUNT_UP,
    COUNT_BY_TWO,
    COUNT_DOWN,
    COUNT_SHIFT,
    COUNT_64,
    COUNT_NOT_EQUAL,
    COUNTINGS
} Counting;

/* Sets the counter's first value and *bound. */
static void start_counter(Maker *m, Counting counting, bool uniform, Word counter, Word *bound)
{
    *bound = small_number(m, uniform, 4);
    switch (counting) {
    case COUNT_DOWN: line(&m->to, "mov.u32 %s, %s;", counter.text, bound->text); break;
    case COUNT_SHIFT: line(&m->to, "shr.u32 %s, %s, 29;", counter.text, pool_register(m, KIND_32, uniform).text); break;
    case COUNT_64: {
        Word narrow = *bound;
        *bound = fresh_register(m, KIND_64);
        line(&m->to, "cvt.u64.u32 %s, %s;\n\tmov.u64 %s, 0;", bound->text, narrow.text, counter.text);
        break;
    }
    case COUNT_NOT_EQUAL: line(&m->to, "mov.u32 %s, -1;", counter.text); break;
    default: line(&m->to, "mov.u32 %s, 0;", counter.text); break;
    }
}

/* Advances it and sets p if another round follows. */
static void advance_counter(Maker *m, Counting counting, Word counter, Word bound, Word p)
{
    Buf *out = m->to.out;
    const char *c = counter.text, *b = bound.text, *again = p.text;
    switch (counting) {
    case COUNT_BY_TWO: buf_printf(out, "\tadd.s32 %s, %s, 2;\n\tsetp.lt.s32 %s, %s, %s;\n", c, c, again, c, b); break;
    case COUNT_DOWN: buf_printf(out, "\tadd.s32 %s, %s, -1;\n\tsetp.gt.s32 %s, %s, 0;\n", c, c, again, c); break;
    case COUNT_SHIFT: buf_printf(out, "\tshr.u32 %s, %s, 1;\n\tsetp.ne.s32 %s, %s, 0;\n", c, c, again, c); break;
    case COUNT_64: buf_printf(out, "\tadd.s64 %s, %s, 1;\n\tsetp.lt.u64 %s, %s, %s;\n", c, c, again, c, b); break;
    case COUNT_NOT_EQUAL:
        /* From -1 past 0: the bound is at least 0, and is reached. */
        buf_printf(out, "\tadd.s32 %s, %s, 1;\n\tsetp.ne.s32 %s, %s, %s;\n", c, c, again, c, b);
        break;
    default: buf_printf(out, "\tadd.s32 %s, %s, 1;\n\tsetp.lt.u32 %s, %s, %s;\n", c, c, again, c, b); break;
    }
}

/* The test at the top of a while loop that the counter has not passed its end. */
static void test_counter(Maker *m, Counting counting, Word counter, Word bound, Word p, unsigned number)
{
    const char *c = counter.text, *b = bound.text;
    switch (counting) {
    case COUNT_DOWN: line(&m->to, "setp.lt.s32 %s, %s, 1;", p.text, c); break;
    case COUNT_SHIFT: line(&m->to, "setp.eq.s32 %s, %s, 0;", p.text, c); break;
    case COUNT_64: line(&m->to, "setp.ge.u64 %s, %s, %s;", p.text, c, b); break;
    case COUNT_NOT_EQUAL: line(&m->to, "setp.eq.s32 %s, %s, %s;", p.text, c, b); break;
    default: line(&m->to, "setp.ge.s32 %s, %s, %s;", p.text, c, b); break;
    }
    line(&m->to, "@%s bra B%u;", p.text, number);
}

static void make_loop(Maker *m, unsigned depth)
{
    bool outer = m->uniform, uniform = m->uniform && chance(&m->to, 55), top = chance(&m->to, 50);
    unsigned number = new_label(m);
    Counting counting = (Counting)below(&m->to, COUNTINGS);
    Word counter = fresh_register(m, counting == COUNT_64 ? KIND_64 : KIND_32), bound, p = fresh_register(m, KIND_PRED);
    start_counter(m, counting, uniform, counter, &bound);
    if (chance(&m->to, 10)) { /* a second entry */
        Word q = condition(m, uniform);
        if (counting == COUNT_NOT_EQUAL) /* which must not pass its end */
            line(&m->to, "mov.u32 %s, -1;", counter.text);
        line(&m->to, "@%s bra C%u;", q.text, number);
    }
    m->uniform = uniform;
    m->loops[m->loop_count++] = (Loop){number, uniform};
    put_label(m, "H", number);
    if (top)
        test_counter(m, counting, counter, bound, p, number);
    if (counting != COUNT_64 && chance(&m->to, 50)) { /* what the round is */
        bool common = uniform && chance(&m->to, 50);
        line(&m->to, "mov.u32 %s, %s;", pool_register(m, KIND_32, common).text, counter.text);
    }
    make_body(m, depth);
    put_label(m, "C", number);
    if (top && counting == COUNT_UP) {
        line(&m->to, "add.s32 %s, %s, 1;\n\tbra.uni H%u;", counter.text, counter.text, number);
    } else {
        advance_counter(m, counting, counter, bound, p);
        line(&m->to, "@%s bra H%u;", p.text, number);
    }
    put_label(m, "B", number);
    m->loop_count--;
    m->uniform = outer;
}

/* A jump that only some threads make may not leave out what all execute together. */
static bool may_jump(const Maker *m, bool together)
{
    return m->uniform || !together;
}

/* Out of an enclosing loop, or to its next round. */
static void make_break(Maker *m)
{
    if (!m->loop_count)
        return;
    const Loop *loop = &m->loops[chance(&m->to, 75) ? m->loop_count - 1 : below(&m->to, m->loop_count)];
    if (!may_jump(m, loop->uniform))
        return;
    Word p = condition(m, m->uniform);
    line(&m->to, "@%s%s bra %s%u;", maybe_not(m), p.text, chance(&m->to, 65) ? "B" : "C", loop->number);
}

/* To the end of an enclosing construct. */
static void make_goto(Maker *m)
{
    if (!m->join_count)
        return;
    const Join *join = &m->joins[below(&m->to, m->join_count)];
    if (!may_jump(m, join->inside))
        return;
    Word p = condition(m, m->uniform);
    line(&m->to, "@%s%s bra J%u;", maybe_not(m), p.text, join->number);
}

/* Some threads end here, perhaps after some work. */
static void make_end(Maker *m)
{
    if (m->in_function || m->barriers || m->warps || m->loop_count)
        return;
    Word p = condition(m, false);
    const char *end = chance(&m->to, 50) ? "ret" : "exit";
    m->exited = true;
    if (chance(&m->to, 50)) {
        line(&m->to, "@%s%s %s;", maybe_not(m), p.text, end);
        return;
    }
    unsigned number = new_label(m);
    line(&m->to, "@%s%s bra X%u;", maybe_not(m), p.text, number);
    make_access(m);
    line(&m->to, "%s;", end);
    put_label(m, "X", number);
}

static void make_call(Maker *m)
{
    if (m->in_function || !m->function_count)
        return;
    bool uniform = chance(&m->to, 25);
    Word value = pool_register(m, KIND_32, uniform), wide = pool_register(m, KIND_64, uniform);
    unsigned function = below(&m->to, m->function_count);
    line(&m->to, "{\n\t.param .b32 a0;\n\t.param .b64 a1;\n\t.param .b64 a2;\n\t.param .b32 r0;");
    line(&m->to, "st.param.b32 [a0], %s;\n\tst.param.b64 [a1], %s;\n\tst.param.b64 [a2], %%spot;", value.text,
         wide.text);
    line(&m->to, "call%s (r0), f%u, (a0, a1, a2);", chance(&m->to, 40) ? ".uni" : "", function);
    line(&m->to, "ld.param.b32 %s, [r0];\n\t}", pool_register(m, KIND_32, false).text);
}

void make_flow(Maker *m, unsigned depth)
{
    bool nests = depth < DEPTH && m->budget > 0 && m->join_count + 2 < JOINS_MOST;
    unsigned kind = below(&m->to, 20);
    if (nests && kind < 5)
        make_if(m, depth);
    else if (nests && kind < 10)
        make_loop(m, depth);
    else if (nests && kind < 12)
        make_short_circuit(m, depth);
    else if (nests && kind < 13)
        make_switch(m, depth);
    else if (nests && kind < 14)
        make_irreducible(m);
    else if (kind < 16)
        make_break(m);
    else if (kind < 17)
        make_goto(m);
    else if (kind < 18)
        make_end(m);
    else
        make_call(m);
}

void make_statements(Maker *m, unsigned depth, unsigned count)
{
    for (unsigned i = 0; i < count; i++) {
        unsigned total = 0, part = 0;
        for (unsigned k = 0; k < PART_COUNT; k++)
            total += m->share[k];
        unsigned at = below(&m->to, total);
        while (at >= m->share[part])
            at -= m->share[part++];
        m->budget--;
        switch ((Part)part) {
        case PART_VALUE: make_value(m); break;
        case PART_MEMORY: make_access(m); break;
        case PART_FLOW: make_flow(m, depth); break;
        case PART_TOGETHER: make_together(m); break;
        case PART_IDIOM: make_idiom(m); break;
        case PART_COUNT: break;
        }
    }
}
