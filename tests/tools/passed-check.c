/* Checks rows that a loop stores for a later one of the same thread (opt/memory/passed_rows.c): random kernels, many of
 * which are not quite of that kind, go through the pass, and are compared with the originals in the emulator.
 *
 *     passed-check [-v] [-d FOLDER] SEED,COUNT
 *
 * Prints the errors, and at the end how many kernels changed, and how many of these store less, because the test holds.
 * -v names the seeds; -d keeps wrong outputs. */
#include "form_difference.h"
#include "kernel_writer.h"
#include "one_pass.h"
#include "parse_text.h"
#include "seeds.h"

#include "emit/emit.h"
#include "opt/opt.h"
#include "support/support.h"

#include <stdio.h>

enum { MOST_ROUNDS = 20, PLACE = 24 }; /* PLACE: words before a row in each thread's own ones */

/* The place of rows: in the thread's own words or in the table, at a constant distance or one that a parameter sets. */
typedef enum Where { WHERE_SAME, WHERE_NEAR, WHERE_FAR, WHERE_PARAMETER, WHERE_TABLE, WHERE_COUNT } Where;

typedef struct Maker {
    Writer to;
    unsigned n, m;
    bool is_indexed;  /* addresses are a pointer that advances plus a base; else a pointer */
    unsigned other_rest;  /* how what is left over of the first loop differs: in a constant, a register, which value is
                           * used twice, or where it loads; 4: not at all */
    bool two_loads;   /* elements come from two loads */
    bool is_swapped;  /* the later loops come first */
    bool other_part;  /* one of the unrolled elements does */
    bool forgets;     /* the later loop stores fewer elements */
    bool takes_late;  /* it loads after it has stored */
    bool takes_next;  /* it loads a neighbour as well */
    bool sums;        /* what is stored depends on the elements before */
    bool has_gap;     /* the first loops leave out an element between what is unrolled and what is left over */
    bool is_ordered;  /* loops go on while a counter is below its end */
    Where from, beside; /* what is loaded; WHERE_COUNT: nothing is, beside */
    bool is_constant; /* nc loads, from the table */
    bool beside_later;
    unsigned between; /* what the code between the loops does */
} Maker;

/* Sets %NAME to where rows begin. */
static void make_pointer(Maker *m, const char *name, Where where)
{
    Writer *to = &m->to;
    if (where == WHERE_TABLE)
        line(to, "mul.lo.u32 %%g0, %%x, 2; mul.wide.u32 %%%s, %%g0, 4; add.s64 %%%s, %%%s, %%table;", name, name, name);
    else if (where == WHERE_PARAMETER)
        line(to, "mul.wide.u32 %%%s, %%m, 4; add.s64 %%%s, %%%s, %%own;", name, name, name);
    else
        line(to, "add.s64 %%%s, %%own, %u;", name,
             4 * (where == WHERE_SAME   ? PLACE
                  : where == WHERE_NEAR ? PLACE - 2 + below(to, 5)
                                        : below(to, OWN_WORDS - MOST_ROUNDS - 4)));
}

/* An element in the first loop. */
static void make_first(Maker *m, unsigned j, unsigned unroll, bool is_rest)
{
    Writer *to = &m->to;
    const unsigned t = temporary(to);
    const unsigned other = is_rest ? m->other_rest : m->other_part && j + 1 == unroll ? 0 : 4;
    line(to, "ld.global%s.u32 %%v%u, [%%pin+%u];", m->is_constant ? ".nc" : "", t, 4 * j + (other == 3 ? 4 : 0));
    line(to, "xor.b32 %%v%u, %%v%u, %u; mul.lo.u32 %%u%u, %%v%u, %%k;", t, t, other == 0 ? 9 : 5, t, t);
    line(to, "mad.lo.u32 %%v%u, %%v%u, %%u%u, %%%c%u;", t, t, t, other == 2 ? 'u' : 'v', t);
    line(to, "xor.b32 %%v%u, %%v%u, %%%s;", t, t, other == 1 ? "x" : "k");
    if (m->two_loads)
        line(to, "ld.global.u32 %%u%u, [%%pbeside+%u]; add.u32 %%v%u, %%v%u, %%u%u;", t, 4 * j, t, t, t);
    if (m->sums)
        line(to, "add.u32 %%v%u, %%v%u, %%sum;", t, t);
    line(to, "st.global.u32 [%%pout+%u], %%v%u;", 4 * j, t);
    if (m->beside != WHERE_COUNT && !m->beside_later)
        line(to, "ld.global.u32 %%w%u, [%%pbeside+%u]; xor.b32 %%sum, %%sum, %%w%u;", t, 4 * j, t);
    line(to, "mad.lo.u32 %%sum, %%sum, 3, %%v%u;", t);
}

/* The same of a later one. */
static void make_later(Maker *m, unsigned j, unsigned unroll, bool is_rest)
{
    Writer *to = &m->to;
    const unsigned t = temporary(to);
    const bool is_late = m->takes_late && j + 1 == unroll, is_left_out = m->forgets && !is_rest && j + 1 == unroll;
    if (!is_late)
        line(to, "ld.global.u32 %%v%u, [%%pout+%u];", t, 4 * j);
    line(to, "add.u32 %%w%u, %%%c%u, %%total;", t, is_late ? 'n' : 'v', is_late ? 0 : t);
    if (m->takes_next)
        line(to, "ld.global.u32 %%u%u, [%%pout+%u]; add.u32 %%w%u, %%w%u, %%u%u;", t, 4 * j + 4, t, t, t);
    if (m->beside != WHERE_COUNT && m->beside_later)
        line(to, "ld.global.u32 %%u%u, [%%pbeside+%u]; xor.b32 %%w%u, %%w%u, %%u%u;", t, 4 * j, t, t, t);
    if (!is_left_out)
        line(to, "st.global.u32 [%%pout+%u], %%w%u;", 4 * j, t);
    if (is_late)
        line(to, "ld.global.u32 %%v%u, [%%pout+%u]; xor.b32 %%sum, %%sum, %%v%u;", t, 4 * j, t);
}

/* A loop over 'count' elements of a row and what is left over of it, as compilers write it. */
static void make_loops(Maker *m, char name, unsigned unroll, unsigned skipped, bool is_guarded,
                       void (*make)(Maker *, unsigned, unsigned, bool))
{
    static const char *const pointers[] = {"in", "out", "beside"};
    Writer *to = &m->to;
    line(to, "mov.u32 %%i, 0;");
    if (is_guarded)
        line(to, "setp.eq.u32 %%p, %%count, 0; @%%p bra END_%c;", name);
    line(to, "mul.lo.u32 %%k, %%x, 7;");
    line(to, "rem.u32 %%rest, %%count, %u; sub.u32 %%most, %%count, %%rest;", unroll);
    line(to, "setp.lt.u32 %%p, %%count, %u; @%%p bra REST_%c;", unroll, name);
    for (unsigned i = 0; i < COUNT_OF(pointers); i++)
        line(to, "add.s64 %%a%s, %%%s, %u;", pointers[i], pointers[i], 4 * skipped);
    if (m->is_indexed)
        for (unsigned i = 0; i < COUNT_OF(pointers); i++)
            line(to, "sub.s64 %%a%s, %%a%s, %%shift;", pointers[i], pointers[i]);
    buf_printf(to->out, "LOOP_%c:\n", name);
    for (unsigned i = 0; i < COUNT_OF(pointers); i++)
        line(to, m->is_indexed ? "add.s64 %%p%s, %%a%s, %%shift;" : "mov.b64 %%p%s, %%a%s;", pointers[i], pointers[i]);
    for (unsigned j = 0; j < unroll; j++)
        make(m, j, unroll, false);
    for (unsigned i = 0; i < COUNT_OF(pointers); i++)
        line(to, "add.s64 %%a%s, %%a%s, %u;", pointers[i], pointers[i], 4 * unroll);
    line(to, "add.u32 %%i, %%i, %u; setp.%s %%p, %%i, %%most; @%%p bra LOOP_%c;", unroll,
         m->is_ordered ? "lt.s32" : "ne.u32", name);
    buf_printf(to->out, "REST_%c:\n", name);
    if (m->has_gap && name == 'A')
        line(to, "min.u32 %%g1, %%rest, 1; add.u32 %%i, %%i, %%g1; sub.u32 %%rest, %%rest, %%g1;");
    line(to, "setp.eq.u32 %%p, %%rest, 0; @%%p bra END_%c;", name);
    line(to, "add.u32 %%g0, %%i, %u; cvt.u64.u32 %%at, %%g0; shl.b64 %%at, %%at, 2;", skipped);
    for (unsigned i = 0; i < COUNT_OF(pointers); i++)
        line(to, "add.s64 %%p%s, %%%s, %%at;", pointers[i], pointers[i]);
    buf_printf(to->out, "ONE_%c:\n", name);
    make(m, 0, 1, true);
    for (unsigned i = 0; i < COUNT_OF(pointers); i++)
        line(to, "add.s64 %%p%s, %%p%s, 4;", pointers[i], pointers[i]);
    line(to, "sub.u32 %%rest, %%rest, 1; setp.ne.u32 %%p, %%rest, 0; @%%p bra ONE_%c;", name);
    buf_printf(to->out, "END_%c:\n", name);
}

static void make_between(Maker *m)
{
    Writer *to = &m->to;
    const unsigned place = 4 * below(to, OWN_WORDS);
    switch (m->between) {
    case 0: line(to, "ld.global.u32 %%g1, [%%own+%u]; xor.b32 %%sum, %%sum, %%g1;", place); break;
    case 1: line(to, "st.global.u32 [%%own+%u], %%sum;", place); break;
    case 2: line(to, "bar.sync 0;"); break;
    case 3: line(to, "setp.eq.u32 %%q, %%x, 3; @%%q ret;"); break;
    case 4: line(to, "setp.gt.u32 %%q, %%x, 40; @%%q bra DONE;"); break;
    case 5: line(to, "ld.global.nc.u32 %%g1, [%%table+%u]; xor.b32 %%sum, %%sum, %%g1;", place); break;
    default: break;
    }
}

static void make_choices(Maker *m)
{
    Writer *to = &m->to;
    m->n = below(to, MOST_ROUNDS + 1);
    m->m = chance(to, 40) ? m->n : chance(to, 50) ? PLACE : below(to, MOST_ROUNDS + 1);
    m->is_indexed = chance(to, 30);
    m->other_rest = chance(to, 85) ? 4 : below(to, 4);
    m->two_loads = chance(to, 4);
    m->is_swapped = chance(to, 4);
    m->other_part = chance(to, 4);
    m->forgets = chance(to, 4);
    m->takes_late = chance(to, 4);
    m->takes_next = chance(to, 4);
    m->sums = chance(to, 3);
    m->has_gap = chance(to, 5);
    m->is_ordered = chance(to, 30);
    m->from = below(to, WHERE_COUNT);
    m->is_constant = m->from == WHERE_TABLE && chance(to, 50);
    m->beside = chance(to, 70) ? WHERE_COUNT : below(to, WHERE_COUNT);
    m->beside_later = chance(to, 50);
    m->between = below(to, 24);
}

static void passed_kernel(uint64_t seed, Arena *arena, Buf *text, Launch *launch)
{
    Buf code = {0};
    Maker m = {.to = {.random = {seed * UINT64_C(0x9e3779b97f4a7c15) + 31}, .out = &code}};
    Writer *to = &m.to;
    make_choices(&m);
    own_begin(to);
    line(to, "mul.wide.u32 %%shift, %%m, 4; mov.u32 %%sum, 1; mov.u32 %%n0, 11; mov.u32 %%total, 5;");
    make_pointer(&m, "out", WHERE_SAME);
    make_pointer(&m, "in", m.from);
    make_pointer(&m, "beside", m.beside == WHERE_COUNT ? WHERE_TABLE : m.beside);
    line(to, "mov.u32 %%count, %%n;");
    const unsigned first = 1 + below(to, 4), later = chance(to, 50) ? first : 1 + below(to, 4);
    const bool is_guarded = chance(to, 70);
    if (m.is_swapped)
        buf_puts(&code, "\tbra LATER;\nFIRST:\n");
    make_loops(&m, 'A', first, 0, is_guarded, make_first);
    if (m.is_swapped)
        buf_puts(&code, "\tbra FINISH;\nLATER:\n");
    make_between(&m);
    line(to, "mad.lo.u32 %%total, %%sum, 3, 1;");
    if (chance(to, 15))
        line(to, "mov.u32 %%count, %%m;");
    make_loops(&m, 'B', later, chance(to, 4), chance(to, 90) ? is_guarded : !is_guarded, make_later);
    if (m.is_swapped)
        buf_puts(&code, "\tbra FIRST;\nFINISH:\n");
    line(to, "st.global.u32 [%%own], %%sum;");
    buf_puts(&code, "DONE:\n\tret;\n");
    own_launch(to, arena, m.n, m.m, launch);
    buf_puts(text, ".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry k(.param .u64 table, "
                   ".param .u64 own, .param .u32 n, .param .u32 m)\n{\n");
    buf_printf(text, "\t.reg .b32 %%v<%u>, %%w<%u>, %%u<%u>;\n", to->temporaries + 1, to->temporaries + 1,
               to->temporaries + 1);
    buf_puts(text, "\t.reg .b32 %g<3>, %x, %n, %m, %k, %sum, %total, %count, %i, %rest, %most, %n0;\n"
                   "\t.reg .b64 %table, %all, %own, %in, %out, %beside, %ain, %aout, %abeside, %pin, %pout, %pbeside, "
                   "%at, %shift;\n\t.reg .pred %p, %q;\n");
    buf_write(text, buf_text(&code), code.length);
    buf_puts(text, "}\n");
    buf_free(&code);
}

typedef struct Check {
    bool verbose;
    const char *folder;
    unsigned changed, fewer, left, wrong;
} Check;

/* Runs the pass on the kernel; false if it changes nothing. */
static bool transform(Function *kernel)
{
    const char *reason;
    Body *body = body_build(kernel, &reason);
    require(body);
    body_to_ssa(body);
    one_pass(&body, PASS_CLEANUP);
    if (!one_pass(&body, PASS_PASSED_ROWS)) {
        body_free(body);
        return false;
    }
    one_pass(&body, PASS_CLEANUP);
    body_from_ssa(body);
    function_set_body(kernel, body);
    return true;
}

static void check_seed(void *context, uint64_t seed)
{
    Check *check = context;
    Arena *arena = arena_new();
    Launch launch;
    Buf text = {0}, after = {0};
    const EmulatorOptions options = {0};
    passed_kernel(seed, arena, &text, &launch);
    Module *module = parse_text("random.ptx", buf_text(&text), text.length);
    require(module);
    const EmulatorResult *expected = emulator_run(arena, module, &launch, &options);
    const char *message = NULL;
    if (expected->fault.kind != FAULT_NONE) {
        message = arena_printf(arena, "the original fails: %s", fault_text(arena, module, &expected->fault));
    } else if (!transform(module_find_function(module, "k"))) {
        check->left++;
    } else {
        EmulatorCounters counters = {0};
        const LaunchChange change = {0};
        emit_module(module, &after);
        message = form_difference(arena, &after, &launch, &change, expected, &options, &counters);
        check->changed++;
        check->fewer += counters.store_bytes[SPACE_GLOBAL] < expected->counters.store_bytes[SPACE_GLOBAL];
        function_set_body(module_find_function(module, "k"), NULL);
    }
    if (message) {
        check->wrong++;
        report_wrong(arena, check->folder, "passed", seed, message, &after, &text);
    }
    arena_free(module->arena);
    arena_free(arena);
    buf_free(&text);
    buf_free(&after);
}

int main(int count, char **words)
{
    Check check = {0};
    const char *seeds = seeds_word(count, words, &check.verbose, &check.folder);
    if (!seeds)
        return 2;
    each_seed(seeds, check.verbose, check_seed, &check);
    printf("%u changed, %u of them store less, %u left alone, %u wrong\n", check.changed, check.fewer, check.left,
           check.wrong);
    return check.wrong != 0;
}
