/* Threads meet: barriers, exchange through shared memory, collectives of warps, asynchronous copies. */
#include "maker.h"

/* Through shared memory to another thread, between barriers. */
static void exchange(Maker *m)
{
    Word from = fresh_register(m, KIND_32), t = fresh_register(m, KIND_32);
    const char *barrier = chance(&m->to, 70) ? "bar.sync" : "barrier.sync";
    line(&m->to, "st.shared.u32 [%%cell], %s;\n\t%s 0;", operand(m, KIND_32, false).text, barrier);
    line(&m->to, "add.u32 %s, %%lin, %u;\n\trem.u32 %s, %s, %%threads;", t.text, 1 + below(&m->to, 70), t.text, t.text);
    line(&m->to, "mad.lo.u32 %s, %s, 4, %%cells;\n\tld.shared.u32 %s, [%s];", from.text, t.text,
         pool_register(m, KIND_32, false).text, from.text);
    line(&m->to, "%s 0;", barrier);
}

/* One thread's value for all. */
static void broadcast(Maker *m)
{
    Word p = fresh_register(m, KIND_PRED);
    line(&m->to, "setp.eq.u32 %s, %%lin, %u;\n\t@%s st.shared.u32 [board], %s;", p.text, below(&m->to, 8), p.text,
         operand(m, KIND_32, false).text);
    line(&m->to, "bar.sync 0;\n\tld.shared.u32 %s, [board];\n\tbar.sync 0;", pool_register(m, KIND_32, true).text);
}

static void combine(Maker *m)
{
    Word p = condition(m, chance(&m->to, 15)), result = fresh_register(m, KIND_PRED);
    const char *barrier = chance(&m->to, 50) ? "bar.red" : "barrier.red";
    if (chance(&m->to, 40))
        line(&m->to, "%s.popc.u32 %s, 0, %s%s;", barrier, pool_register(m, KIND_32, true).text, maybe_not(m), p.text);
    else
        line(&m->to, "%s.%s.pred %s, 0, %s%s;\n\tmov.pred %s, %s;", barrier, chance(&m->to, 50) ? "and" : "or",
             result.text, maybe_not(m), p.text, pool_register(m, KIND_PRED, true).text, result.text);
}

/* A word of global memory to another thread's cell. */
static void copy(Maker *m)
{
    Word index = small_number(m, false, IN_BYTES / 8), address = fresh_register(m, KIND_64);
    line(&m->to, "mad.wide.u32 %s, %s, 4, %%in;", address.text, index.text);
    line(&m->to, "cp.async.ca.shared.global [%%cell], [%s], 4;", address.text);
    if (chance(&m->to, 50))
        line(&m->to, "cp.async.wait_all;");
    else
        line(&m->to, "cp.async.commit_group;\n\tcp.async.wait_group 0;");
    Word from = fresh_register(m, KIND_32);
    line(&m->to, "bar.sync 0;\n\tsub.u32 %s, %%threads, %%lin;\n\tmad.lo.u32 %s, %s, 4, %%cells;", from.text, from.text,
         from.text);
    line(&m->to, "ld.shared.u32 %s, [%s+-4];\n\tbar.sync 0;", pool_register(m, KIND_32, false).text, from.text);
}

/* Each round halves the threads that add: a sum of the block. */
static void sum_by_tree(Maker *m)
{
    unsigned number = new_label(m), threads = m->block[0] * m->block[1] * m->block[2];
    if (threads & (threads - 1))
        return;
    Word half = fresh_register(m, KIND_32), p = fresh_register(m, KIND_PRED), a = fresh_register(m, KIND_32),
         b = fresh_register(m, KIND_32), at = fresh_register(m, KIND_32);
    line(&m->to, "st.shared.u32 [%%cell], %s;\n\tmov.u32 %s, %u;", pool_register(m, KIND_32, false).text, half.text,
         threads / 2);
    put_label(m, "L", number);
    line(&m->to, "bar.sync 0;\n\tsetp.ge.u32 %s, %%lin, %s;\n\t@%s bra K%u;", p.text, half.text, p.text, number);
    line(&m->to, "mad.lo.u32 %s, %s, 4, %%cell;\n\tld.shared.u32 %s, [%s];\n\tld.shared.u32 %s, [%%cell];", at.text,
         half.text, a.text, at.text, b.text);
    line(&m->to, "add.s32 %s, %s, %s;\n\tst.shared.u32 [%%cell], %s;", a.text, a.text, b.text, a.text);
    put_label(m, "K", number);
    line(&m->to, "shr.u32 %s, %s, 1;\n\tsetp.ne.u32 %s, %s, 0;\n\t@%s bra L%u;", half.text, half.text, p.text,
         half.text, p.text, number);
    line(&m->to, "bar.sync 0;\n\tld.shared.u32 %s, [%%cells];\n\tbar.sync 0;", pool_register(m, KIND_32, true).text);
}

static void collect(Maker *m)
{
    static const unsigned clamps[] = {31, 0x1c1f, 0x101f, 0x181f}; /* of the whole warp and of parts */
    Word src = pool_register(m, KIND_32, chance(&m->to, 15)), dst = pool_register(m, KIND_32, false),
         p = fresh_register(m, KIND_PRED);
    unsigned clamp = clamps[below(&m->to, COUNT_OF(clamps))];
    switch (below(&m->to, 9)) {
    case 0:
        line(&m->to, "shfl.sync.bfly.b32 %s, %s, %u, %u, -1;", dst.text, src.text, 1u << below(&m->to, 5), clamp);
        break;
    case 1:
        line(&m->to, "shfl.sync.down.b32 %s|%s, %s, %u, %u, -1;\n\tmov.pred %s, %s;", dst.text, p.text, src.text,
             1 + below(&m->to, 16), clamp, pool_register(m, KIND_PRED, false).text, p.text);
        break;
    case 2:
        line(&m->to, "shfl.sync.up.b32 %s, %s, %u, %u, -1;", dst.text, src.text, 1 + below(&m->to, 16), clamp & ~31u);
        break;
    case 3:
        line(&m->to, "shfl.sync.idx.b32 %s, %s, %s, %u, -1;", dst.text, src.text,
             small_number(m, chance(&m->to, 50), 32).text, clamp);
        break;
    case 4: line(&m->to, "match.any.sync.b32 %s, %s, -1;", dst.text, src.text); break;
    case 5:
        line(&m->to, "redux.sync.%s %s, %s, -1;", chance(&m->to, 50) ? "add.u32" : "min.s32", dst.text, src.text);
        break;
    case 6: line(&m->to, "bar.warp.sync -1;"); break;
    case 7:
        line(&m->to, "vote.sync.%s.pred %s, %s, -1;", chance(&m->to, 50) ? "any" : "all", p.text,
             condition(m, false).text);
        line(&m->to, "mov.pred %s, %s;", pool_register(m, KIND_PRED, false).text, p.text);
        break;
    default: line(&m->to, "vote.sync.ballot.b32 %s, %s, -1;", dst.text, condition(m, false).text); break;
    }
}

void make_together(Maker *m)
{
    if (!m->uniform || m->exited || m->in_function)
        return;
    if (m->warps && (!m->barriers || chance(&m->to, 50))) {
        collect(m);
        return;
    }
    if (!m->barriers)
        return;
    switch (below(&m->to, 8)) {
    case 0: broadcast(m); break;
    case 1: combine(m); break;
    case 2: copy(m); break;
    case 3: sum_by_tree(m); break;
    case 4: line(&m->to, "%s", chance(&m->to, 50) ? "bar.sync 0;" : "membar.cta;\n\tbar.sync 0;"); break;
    default: exchange(m); break;
    }
}
