/* See random_walk.h. */
#include "random_walk.h"

enum { POINTERS = 4 };

/* A pointer at most 15 words after an earlier one; %w0 is at most 63 words after %in. */
static void make_start(Writer *to, unsigned pointer)
{
    switch (below(to, 5)) {
    case 0: line(to, "add.s64 %%w%u, %%w0, %u;", pointer, 4 * below(to, 9)); break;
    case 1: line(to, "add.s64 %%w%u, %%in, %%x0;\n\tadd.s64 %%w%u, %%w%u, %%x1;", pointer, pointer, pointer); break;
    case 2: line(to, "mad.wide.u32 %%w%u, %%q1, 8, %%w0;", pointer); break;
    case 3: line(to, "sub.s64 %%w%u, %%w%u, %%x1;\n\tadd.s64 %%w%u, %%w%u, 60;", pointer, below(to, pointer), pointer,
                 pointer); break;
    default: line(to, "mad.wide.u32 %%w%u, %%q2, 4, %%in;", pointer); break;
    }
}

static void make_step(Writer *to, unsigned pointer, unsigned kind)
{
    switch (chance(to, 85) ? kind : below(to, 4)) {
    case 0: line(to, "add.s64 %%w%u, %%w%u, 4;", pointer, pointer); break;
    case 1: line(to, "add.s64 %%w%u, %%w%u, 12;", pointer, pointer); break;
    case 2: line(to, "add.s64 %%w%u, %%w%u, %%x1;", pointer, pointer); break;
    default: line(to, "add.s64 %%w%u, %%x2, %%w%u;", pointer, pointer); break;
    }
}

static void make_reads(Writer *to, unsigned count)
{
    static const char *const mix[] = {"xor.b32", "add.u32", "sub.u32"};
    for (unsigned i = 0; i < count; i++) {
        unsigned value = below(to, 4);
        line(to, "ld.global.u32 %%q3, [%%w%u+%u];\n\t%s %%v%u, %%v%u, %%q3;", below(to, POINTERS), 4 * below(to, 4),
             mix[below(to, COUNT_OF(mix))], value, value);
    }
}

void random_walk(Writer *to)
{
    unsigned number = to->labels++, kind = below(to, 4), rounds = 1 + below(to, 4);
    bool outer = chance(to, 40), skips = chance(to, 40);
    line(to, "{\n\t.reg .b64 %%w<%u>, %%x<4>;\n\t.reg .b32 %%q<6>;\n\t.reg .pred %%c<2>;", POINTERS);
    line(to, "and.b32 %%q2, %%v0, 63;\n\tmul.wide.u32 %%x0, %%q2, 4;\n\tadd.s64 %%w0, %%in, %%x0;");
    line(to, "ld.param.u32 %%q1, [n];\n\tand.b32 %%q1, %%q1, 3;\n\tmul.wide.u32 %%x1, %%q1, 4;");
    line(to, "and.b32 %%q3, %%v1, 2;\n\tmul.wide.u32 %%x2, %%q3, 2;\n\tmov.u32 %%q5, 0;");
    for (unsigned i = 1; i < POINTERS; i++)
        make_start(to, i);
    if (outer)
        buf_printf(to->out, "O%u:\n", number);
    line(to, "mov.u32 %%q4, 0;");
    buf_printf(to->out, "L%u:\n", number);
    make_reads(to, 1 + below(to, 4));
    if (skips)
        line(to, "setp.lt.s32 %%c0, %%v1, %%v2;\n\t@%%c0 bra K%u;", number);
    make_reads(to, 1 + below(to, 3));
    if (skips)
        buf_printf(to->out, "K%u:\n", number);
    for (unsigned i = 0; i < POINTERS; i++)
        make_step(to, i, kind);
    if (chance(to, 30))
        make_reads(to, 1);
    line(to, "add.u32 %%q4, %%q4, 1;\n\tsetp.lt.u32 %%c1, %%q4, %u;\n\t@%%c1 bra L%u;", rounds, number);
    if (outer)
        line(to, "add.u32 %%q5, %%q5, 1;\n\tsetp.lt.u32 %%c1, %%q5, 2;\n\t@%%c1 bra O%u;", number);
    for (unsigned i = 0; i < POINTERS; i++)
        if (chance(to, 50))
            line(to, "sub.s64 %%x3, %%w%u, %%in;\n\tcvt.u32.u64 %%q3, %%x3;\n\tadd.u32 %%v%u, %%v%u, %%q3;", i, i, i);
    line(to, "}");
}

static void maybe_store(Writer *to, unsigned percent, unsigned slot)
{
    static const char *const spaces[] = {"st.global", "st.global", "st", "st.volatile.global"};
    if (chance(to, percent))
        line(to, "%s.u32 [%%own+%u], %%v%u;", spaces[below(to, COUNT_OF(spaces))],
             4 * (chance(to, 60) ? slot : below(to, 12)), below(to, 4));
}

static void maybe_use(Writer *to, unsigned percent)
{
    if (chance(to, percent))
        line(to, "mad.lo.u32 %%v%u, %%v%u, 3, %%k%u;", below(to, 4), below(to, 4), below(to, 2));
}

void random_keep(Writer *to)
{
    unsigned number = to->labels++, slot = below(to, 12);
    bool outer = chance(to, 50), inner = chance(to, 50);
    line(to, "{\n\t.reg .b32 %%k<5>;\n\t.reg .b64 %%l, %%h;\n\t.reg .pred %%c<3>;\n\tmov.u32 %%k4, 0;");
    if (outer)
        buf_printf(to->out, "O%u:\n", number);
    line(to, "setp.lt.s32 %%c0, %%v0, %%v1;\n\tsetp.lt.s32 %%c1, %%v2, %%v3;");
    switch (below(to, 4)) {
    case 0: line(to, "ld.global.v2.u32 {%%k0, %%k1}, [%%own+%u];", 4 * (slot & ~1u)); break;
    case 1: line(to, "mul.wide.u32 %%l, %%v0, %%v1;\n\tmov.b64 {%%k0, %%k1}, %%l;"); break;
    case 2: line(to, "mul.wide.u32 %%l, %%v0, %%v1;\n\tshr.u64 %%h, %%l, 28;\n\tcvt.u32.u64 %%k0, %%h;\n\t"
                     "cvt.u32.u64 %%k1, %%l;"); break;
    default: line(to, "ld.global.u32 %%k0, [%%own+%u];\n\txor.b32 %%k1, %%k0, %u;", 4 * slot, below(to, 9)); break;
    }
    maybe_store(to, 30, slot);
    line(to, "@%%c0 bra A%u;", number);
    maybe_store(to, 50, slot);
    buf_printf(to->out, "A%u:\n", number);
    if (inner) {
        line(to, "mov.u32 %%k2, 0;");
        buf_printf(to->out, "B%u:\n", number);
        maybe_use(to, 30);
        maybe_store(to, 40, slot);
        line(to, "add.u32 %%k2, %%k2, 1;\n\tsetp.lt.u32 %%c2, %%k2, 3;\n\t@%%c2 bra B%u;", number);
    }
    line(to, "@%%c1 bra C%u;", number);
    maybe_store(to, 30, slot);
    maybe_use(to, 90);
    maybe_store(to, 30, slot);
    buf_printf(to->out, "C%u:\n", number);
    if (outer)
        line(to, "add.u32 %%k4, %%k4, 1;\n\tsetp.lt.u32 %%c2, %%k4, 2;\n\t@%%c2 bra O%u;", number);
    maybe_store(to, 30, slot);
    maybe_use(to, 30);
    line(to, "}");
}
