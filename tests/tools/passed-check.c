/* Checks rows that a loop stores for a later one of the same thread (opt/memory/passed_rows.c), and rows that stay in
 * shared memory while several loops read them (opt/memory/held/held_rows.c): random kernels, many of which are not
 * quite of that kind, go through each of the two passes, and are compared with the originals in the emulator.
 *
 *     passed-check [-v] [-d FOLDER] SEED,COUNT
 *
 * Prints the errors, and at the end how many kernels changed, and how many of these store less, or copy rows, because
 * the test holds. -v names the seeds; -d keeps wrong outputs. */
#include "form_difference.h"
#include "kernel_writer.h"
#include "one_pass.h"
#include "parse_text.h"
#include "seeds.h"

#include "emit/emit.h"
#include "opt/opt.h"
#include "support/support.h"

#include <stdio.h>

enum {
    MOST_ROUNDS = 20,
    PLACE = 24, /* elements before a row in each thread's own words, and up to three more if they are small */
    MOST_VOTING = 2 * OWN_THREADS * 48, /* bytes of shared memory that the threads load to vote */
};

/* The place of rows: in the thread's own words or in the table, at a constant distance or one that a parameter sets. */
typedef enum Where {
    WHERE_SAME, WHERE_NEAR, WHERE_FAR, WHERE_PARAMETER, WHERE_TABLE, WHERE_TABLE_ROW, WHERE_COUNT
} Where;

typedef struct Maker {
    Writer to;
    unsigned n, m;
    unsigned bytes;   /* of an element */
    unsigned place;   /* elements before a row */
    bool is_narrow;   /* elements of fewer than four pass through registers of 16 bits */
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
    unsigned reads;   /* loops in front of the others that read the row */
    bool has_later;
    bool only_reads;  /* nothing is stored of the row */
    bool reads_late, reads_again; /* a loop after the others reads it, or the first one does after it has stored */
    unsigned aside;   /* what the code in front of the later loops accesses of the row */
    bool also_read, also_first, also_later; /* which loops load a second row, at a distance that a parameter sets */
    bool also_stored; /* it is stored there, too, by the first ones */
    bool also_late;   /* and loaded only by the later ones */
    bool also_alone;  /* two loops of another length load it, and these not */
    unsigned apart;   /* elements that it is further */
    bool limits;      /* the first loop loads only elements below a limit of the thread's own, which others may go to */
} Maker;

static const char *element_type(const Maker *m)
{
    return m->bytes == 4 ? "u32" : m->bytes == 2 ? "u16" : "u8";
}

/* Loads an element, %POINTER and 'offset' bytes, to a register. */
static void load_element(Maker *m, const char *space, const char *reg, const char *pointer, unsigned offset)
{
    const char *type = element_type(m);
    const unsigned t = temporary(&m->to);
    if (m->is_narrow)
        line(&m->to, "ld.%s.%s %%h%u, [%%%s+%u]; cvt.u32.u16 %%%s, %%h%u;", space, type, t, pointer, offset, reg, t);
    else
        line(&m->to, "ld.%s.%s %%%s, [%%%s+%u];", space, type, reg, pointer, offset);
}

static void load_numbered(Maker *m, const char *space, char reg, unsigned t, const char *pointer, unsigned offset)
{
    char name[16];
    snprintf(name, sizeof name, "%c%u", reg, t);
    load_element(m, space, name, pointer, offset);
}

static void store_element(Maker *m, const char *pointer, unsigned offset, const char *reg)
{
    const char *type = element_type(m);
    const unsigned t = temporary(&m->to);
    if (m->is_narrow)
        line(&m->to, "cvt.u16.u32 %%h%u, %%%s; st.global.%s [%%%s+%u], %%h%u;", t, reg, type, pointer, offset, t);
    else
        line(&m->to, "st.global.%s [%%%s+%u], %%%s;", type, pointer, offset, reg);
}

static void store_numbered(Maker *m, const char *pointer, unsigned offset, char reg, unsigned t)
{
    char name[16];
    snprintf(name, sizeof name, "%c%u", reg, t);
    store_element(m, pointer, offset, name);
}

/* Sets %NAME to where rows begin. */
static void make_pointer(Maker *m, const char *name, Where where)
{
    Writer *to = &m->to;
    if (where == WHERE_TABLE)
        line(to, "mul.lo.u32 %%g0, %%x, 2; mul.wide.u32 %%%s, %%g0, 4; add.s64 %%%s, %%%s, %%table;", name, name, name);
    else if (where == WHERE_TABLE_ROW)
        line(to, "mul.wide.u32 %%%s, %%x, %u; add.s64 %%%s, %%%s, %%table; add.s64 %%%s, %%%s, %u;", name,
             4 * OWN_WORDS, name, name, name, name, m->bytes * below(to, 4));
    else if (where == WHERE_PARAMETER)
        line(to, "mul.wide.u32 %%%s, %%m, %u; add.s64 %%%s, %%%s, %%own;", name, m->bytes, name, name);
    else
        line(to, "add.s64 %%%s, %%own, %u;", name,
             m->bytes * (where == WHERE_SAME   ? m->place
                         : where == WHERE_NEAR ? m->place - 2 + below(to, 5)
                                               : below(to, 4 * OWN_WORDS / m->bytes - MOST_ROUNDS - 4)));
}

/* An element of the second row. */
static void read_also(Maker *m, unsigned j)
{
    const unsigned t = temporary(&m->to);
    load_numbered(m, m->is_constant ? "global.nc" : "global", 'v', t, "palso", m->bytes * j);
    line(&m->to, "mad.lo.u32 %%sum, %%sum, 9, %%v%u;", t);
}

static void make_also(Maker *m, unsigned j, unsigned unroll, bool is_rest)
{
    (void)unroll, (void)is_rest;
    read_also(m, j);
}

/* An element in a loop that only reads the row. */
static void make_read(Maker *m, unsigned j, unsigned unroll, bool is_rest)
{
    Writer *to = &m->to;
    const unsigned t = temporary(to);
    load_numbered(m, m->is_constant ? "global.nc" : "global", 'v', t, "pin", m->bytes * j);
    line(to, "mad.lo.u32 %%sum, %%sum, 5, %%v%u;", t);
    if (m->also_read)
        read_also(m, j);
    if (m->beside != WHERE_COUNT && m->beside_later && is_rest && unroll) {
        load_numbered(m, "global", 'w', t, "pbeside", m->bytes * j);
        line(to, "xor.b32 %%sum, %%sum, %%w%u;", t);
    }
}

/* An element in the first loop. */
static void make_first(Maker *m, unsigned j, unsigned unroll, bool is_rest)
{
    Writer *to = &m->to;
    const unsigned t = temporary(to);
    const unsigned other = is_rest ? m->other_rest : m->other_part && j + 1 == unroll ? 0 : 4;
    if (m->limits)
        line(to, "mov.u32 %%v%u, 3; add.u32 %%g0, %%i, %u; setp.ge.u32 %%q, %%g0, %%limit; @%%q bra SKIP_%u;", t, j, t);
    load_numbered(m, m->is_constant ? "global.nc" : "global", 'v', t, "pin", m->bytes * (j + (other == 3)));
    if (m->limits)
        buf_printf(to->out, "SKIP_%u:\n", t);
    line(to, "xor.b32 %%v%u, %%v%u, %u; mul.lo.u32 %%u%u, %%v%u, %%k;", t, t, other == 0 ? 9 : 5, t, t);
    line(to, "mad.lo.u32 %%v%u, %%v%u, %%u%u, %%%c%u;", t, t, t, other == 2 ? 'u' : 'v', t);
    line(to, "xor.b32 %%v%u, %%v%u, %%%s;", t, t, other == 1 ? "x" : "k");
    if (m->two_loads) {
        load_numbered(m, "global", 'u', t, "pbeside", m->bytes * j);
        line(to, "add.u32 %%v%u, %%v%u, %%u%u;", t, t, t);
    }
    if (m->sums)
        line(to, "add.u32 %%v%u, %%v%u, %%sum;", t, t);
    if (m->also_first && !m->also_late)
        read_also(m, j);
    if (m->also_stored)
        store_numbered(m, "palso", m->bytes * j, 'v', t);
    if (m->also_first && m->also_late)
        read_also(m, j);
    if (!m->only_reads)
        store_numbered(m, "pout", m->bytes * j, 'v', t);
    if (m->reads_again) {
        if (m->limits)
            line(to, "mov.u32 %%u%u, 3; setp.ge.u32 %%q, %%g0, %%limit; @%%q bra AGAIN_%u;", t, t);
        load_numbered(m, m->is_constant ? "global.nc" : "global", 'u', t, "pin", m->bytes * j);
        if (m->limits)
            buf_printf(to->out, "AGAIN_%u:\n", t);
        line(to, "xor.b32 %%sum, %%sum, %%u%u;", t);
    }
    if (m->beside != WHERE_COUNT && !m->beside_later) {
        load_numbered(m, "global", 'w', t, "pbeside", m->bytes * j);
        line(to, "xor.b32 %%sum, %%sum, %%w%u;", t);
    }
    line(to, "mad.lo.u32 %%sum, %%sum, 3, %%v%u;", t);
}

/* The same of a later one. */
static void make_later(Maker *m, unsigned j, unsigned unroll, bool is_rest)
{
    Writer *to = &m->to;
    const unsigned t = temporary(to);
    const bool is_late = m->takes_late && j + 1 == unroll, is_left_out = m->forgets && !is_rest && j + 1 == unroll;
    if (!is_late)
        load_numbered(m, "global", 'v', t, "pout", m->bytes * j);
    line(to, "add.u32 %%w%u, %%%c%u, %%total;", t, is_late ? 'n' : 'v', is_late ? 0 : t);
    if (m->takes_next) {
        load_numbered(m, "global", 'u', t, "pout", m->bytes * (j + 1));
        line(to, "add.u32 %%w%u, %%w%u, %%u%u;", t, t, t);
    }
    if (m->beside != WHERE_COUNT && m->beside_later) {
        load_numbered(m, "global", 'u', t, "pbeside", m->bytes * j);
        line(to, "xor.b32 %%w%u, %%w%u, %%u%u;", t, t, t);
    }
    if (m->also_later)
        read_also(m, j);
    if (!is_left_out)
        store_numbered(m, "pout", m->bytes * j, 'w', t);
    if (is_late) {
        load_numbered(m, "global", 'v', t, "pout", m->bytes * j);
        line(to, "xor.b32 %%sum, %%sum, %%v%u;", t);
    }
}

/* A loop over 'count' elements of a row and what is left over of it, as compilers write it. */
static void make_loops(Maker *m, char name, unsigned unroll, unsigned skipped, bool is_guarded,
                       void (*make)(Maker *, unsigned, unsigned, bool))
{
    static const char *const pointers[] = {"in", "out", "beside", "also"};
    Writer *to = &m->to;
    line(to, "mov.u32 %%i, 0;");
    if (is_guarded)
        line(to, "setp.eq.u32 %%p, %%count, 0; @%%p bra END_%c;", name);
    line(to, "mul.lo.u32 %%k, %%x, 7;");
    line(to, "rem.u32 %%rest, %%count, %u; sub.u32 %%most, %%count, %%rest;", unroll);
    line(to, "setp.lt.u32 %%p, %%count, %u; @%%p bra REST_%c;", unroll, name);
    for (unsigned i = 0; i < COUNT_OF(pointers); i++)
        line(to, "add.s64 %%a%s, %%%s, %u;", pointers[i], pointers[i], m->bytes * skipped);
    if (m->is_indexed)
        for (unsigned i = 0; i < COUNT_OF(pointers); i++)
            line(to, "sub.s64 %%a%s, %%a%s, %%shift;", pointers[i], pointers[i]);
    buf_printf(to->out, "LOOP_%c:\n", name);
    for (unsigned i = 0; i < COUNT_OF(pointers); i++)
        line(to, m->is_indexed ? "add.s64 %%p%s, %%a%s, %%shift;" : "mov.b64 %%p%s, %%a%s;", pointers[i], pointers[i]);
    for (unsigned j = 0; j < unroll; j++)
        make(m, j, unroll, false);
    for (unsigned i = 0; i < COUNT_OF(pointers); i++)
        line(to, "add.s64 %%a%s, %%a%s, %u;", pointers[i], pointers[i], m->bytes * unroll);
    line(to, "add.u32 %%i, %%i, %u; setp.%s %%p, %%i, %%most; @%%p bra LOOP_%c;", unroll,
         m->is_ordered ? "lt.s32" : "ne.u32", name);
    buf_printf(to->out, "REST_%c:\n", name);
    if (m->has_gap && name == 'A')
        line(to, "min.u32 %%g1, %%rest, 1; add.u32 %%i, %%i, %%g1; sub.u32 %%rest, %%rest, %%g1;");
    line(to, "setp.eq.u32 %%p, %%rest, 0; @%%p bra END_%c;", name);
    line(to, "add.u32 %%g0, %%i, %u; mul.wide.u32 %%at, %%g0, %u;", skipped, m->bytes);
    for (unsigned i = 0; i < COUNT_OF(pointers); i++)
        line(to, "add.s64 %%p%s, %%%s, %%at;", pointers[i], pointers[i]);
    buf_printf(to->out, "ONE_%c:\n", name);
    make(m, 0, 1, true);
    for (unsigned i = 0; i < COUNT_OF(pointers); i++)
        line(to, "add.s64 %%p%s, %%p%s, %u;", pointers[i], pointers[i], m->bytes);
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

/* Single accesses of the row, at its beginning, or close to it. */
static void make_aside(Maker *m)
{
    Writer *to = &m->to;
    const unsigned place = m->bytes * below(to, 6);
    switch (m->aside) {
    case 0: load_element(m, "global", "g1", "in", place); break;
    case 1: load_element(m, "global", "g1", "out", place); break;
    case 2: store_element(m, "out", place, "sum"); break;
    case 3: store_element(m, "own", m->bytes * (m->place - 4) + place, "sum"); break;
    default: break;
    }
    if (m->aside < 2)
        line(to, "xor.b32 %%sum, %%sum, %%g1;");
}

static void make_choices(Maker *m)
{
    Writer *to = &m->to;
    m->n = below(to, MOST_ROUNDS + 1);
    m->m = chance(to, 40) ? m->n : chance(to, 50) ? PLACE : below(to, MOST_ROUNDS + 1);
    m->bytes = chance(to, 50) ? 4 : 1u << below(to, 2);
    m->is_narrow = m->bytes < 4 && chance(to, 60);
    if (m->bytes < 4 && chance(to, 60)) /* rows of whole words */
        m->n &= ~3u;
    m->place = PLACE + (m->bytes < 4 && chance(to, 25) ? below(to, 4) : 0);
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
    m->is_constant = m->from >= WHERE_TABLE && chance(to, 50);
    m->beside = chance(to, 70) ? WHERE_COUNT : below(to, WHERE_COUNT);
    m->beside_later = chance(to, 50);
    m->between = below(to, 24);
    m->reads = chance(to, 50) ? 0 : 1 + below(to, 2);
    m->has_later = !m->reads || chance(to, 50);
    m->reads_late = m->reads && chance(to, 12);
    m->reads_again = m->reads && chance(to, 8);
    m->only_reads = !m->has_later && chance(to, 25);
    m->aside = below(to, m->reads ? 12 : 60);
    if (m->reads && chance(to, 70)) {
        m->from = chance(to, 35) ? WHERE_SAME : chance(to, 40) ? WHERE_FAR : WHERE_TABLE + below(to, 2);
        m->is_constant = m->from >= WHERE_TABLE && chance(to, 70);
        m->beside = chance(to, 80) ? WHERE_COUNT : m->beside;
    }
    if (m->reads && chance(to, 70)) {
        m->also_read = chance(to, 70);
        m->also_first = chance(to, 70);
        m->also_later = chance(to, 50);
        m->also_stored = m->from < WHERE_TABLE && chance(to, 40);
        m->also_late = chance(to, 20);
        m->also_alone = chance(to, 20);
        if (!m->is_constant && chance(to, 50)) { /* there is room for three rows */
            m->from = WHERE_PARAMETER;
            m->n = below(to, 4) * 4;
            m->m = chance(to, 70) ? m->n : m->m;
        }
    }
    m->limits = m->is_constant && m->reads && chance(to, 60);
    if (m->limits) /* most of them are of one form */
        m->has_later &= chance(to, 30), m->also_read &= chance(to, 30), m->also_first &= chance(to, 30);
    m->apart = chance(to, 60) ? MOST_ROUNDS - 5 : chance(to, 50) ? 0 : below(to, 4);
    if (m->from == WHERE_PARAMETER)
        m->apart = chance(to, 40) ? 0 : below(to, OWN_WORDS - PLACE);
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
    line(to, "mul.wide.u32 %%also, %%m, %u; add.s64 %%also, %%also, %%%s; add.s64 %%also, %%also, %u;",
         m.from == WHERE_PARAMETER ? 0 : m.bytes, m.from >= WHERE_TABLE ? "in" : "own", m.bytes * m.apart);
    line(to, "mov.u32 %%count, %%n;");
    if (chance(to, 10))
        line(to, "and.b32 %%g1, %%x, 32; shr.u32 %%g1, %%g1, 5; add.u32 %%count, %%count, %%g1;");
    if (chance(to, 15))
        line(to, "setp.ge.u32 %%q, %%x, %u; @%%q ret;", 1 + below(to, 64));
    const unsigned first = 1 + below(to, 4), later = chance(to, 50) ? first : 1 + below(to, 4);
    const bool is_guarded = chance(to, 70);
    line(to, "mov.u32 %%whole, %%count; and.b32 %%limit, %%x, 15; add.u32 %%limit, %%limit, %u;", below(to, 3));
    if (m.limits && chance(to, 80))
        line(to, "%s.u32 %%count, %%limit, %%count;", chance(to, 80) ? "min" : "max");
    for (unsigned i = 0; i < m.reads; i++)
        make_loops(&m, (char)('R' + i), 1 + below(to, 4), chance(to, 15), is_guarded, make_read);
    line(to, "mov.u32 %%count, %%whole;");
    if (m.also_alone) {
        m.also_read = m.also_first = m.also_later = false;
        line(to, "mov.u32 %%count, %%m;");
        for (char name = 'U'; name <= 'V'; name++)
            make_loops(&m, name, 1 + below(to, 4), 0, is_guarded, make_also);
        line(to, "mov.u32 %%count, %%n;");
    }
    m.is_swapped &= m.has_later;
    if (m.is_swapped)
        buf_puts(&code, "\tbra LATER;\nFIRST:\n");
    make_loops(&m, 'A', first, 0, is_guarded, make_first);
    if (m.is_swapped)
        buf_puts(&code, "\tbra FINISH;\nLATER:\n");
    make_between(&m);
    make_aside(&m);
    line(to, "mad.lo.u32 %%total, %%sum, 3, 1;");
    if (chance(to, 15))
        line(to, "mov.u32 %%count, %%m;");
    if (m.has_later)
        make_loops(&m, 'B', later, chance(to, 4), chance(to, 90) ? is_guarded : !is_guarded, make_later);
    if (m.reads_late)
        make_loops(&m, 'T', 1 + below(to, 4), 0, is_guarded, make_read);
    if (m.is_swapped)
        buf_puts(&code, "\tbra FIRST;\nFINISH:\n");
    line(to, "st.global.u32 [%%own], %%sum;");
    buf_puts(&code, "DONE:\n\tret;\n");
    own_launch(to, arena, m.n, m.m, launch);
    launch->arguments[0].count = 2 * OWN_THREADS * OWN_WORDS + TABLE_WORDS;
    if (m.bytes < 4) /* all bytes differ */
        launch->arguments[0].high = launch->arguments[1].high = 0x7fffff00;
    if (chance(to, 70)) {
        launch->grid[0] = 1;
        launch->block[0] = 2 * OWN_THREADS;
    }
    buf_puts(text, ".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry k(.param .u64 table, "
                   ".param .u64 own, .param .u32 n, .param .u32 m)\n{\n");
    buf_printf(text, "\t.reg .b32 %%v<%u>, %%w<%u>, %%u<%u>;\n", to->temporaries + 1, to->temporaries + 1,
               to->temporaries + 1);
    buf_printf(text, "\t.reg .b16 %%h<%u>;\n", to->temporaries + 1);
    buf_puts(text, "\t.reg .b32 %g<3>, %x, %n, %m, %k, %sum, %total, %count, %whole, %limit, %i, %rest, %most, %n0;\n"
                   "\t.reg .b64 %table, %all, %own, %in, %out, %beside, %also, %ain, %aout, %abeside, %aalso, "
                   "%pin, %pout, %pbeside, %palso, %at, %shift;\n\t.reg .pred %p, %q;\n");
    buf_write(text, buf_text(&code), code.length);
    buf_puts(text, "}\n");
    buf_free(&code);
}

typedef struct Check {
    bool verbose;
    const char *folder;
    unsigned changed, fewer, held, copied, several, shorter, left, wrong;
} Check;

/* The threads of the launch's blocks, or of others. */
static BlockSize block_expected(const Launch *launch, Random *random)
{
    const unsigned threads = launch->block[0];
    return (BlockSize){BLOCK_GIVEN, {random_below(random, 20) ? threads : 3 * OWN_THREADS - threads, 1, 1}};
}

/* Shared memory for all rows, for some of them, or for too few. */
static unsigned bytes_for_rows(const BlockSize *block, Random *random)
{
    static const unsigned words[] = {60, 100, 160, 320, 480, 640, 720, 1400};
    const unsigned bytes = 4 * words[random_below(random, COUNT_OF(words))];
    return 8 * block->threads[0] + bytes * (1 + random_below(random, 3));
}

/* Holds rows in shared memory: *held. */
static bool hold(Body **body, const Launch *launch, uint64_t seed, HeldRows *held)
{
    Random random = {seed * 77 + 5};
    Arena *arena = arena_new();
    PassOptions options = {0};
    memset(options.enabled, true, sizeof options.enabled);
    PassContext context = pass_context_new(arena, &options, (*body)->function, *body);
    context.block = block_expected(launch, &random);
    context.held_bytes = bytes_for_rows(&context.block, &random);
    const bool changed = pass_run(&context, PASS_HELD_ROWS);
    *held = context.holds;
    *body = pass_take_body(&context);
    arena_free(arena);
    return changed;
}

/* Runs one of the passes on the kernel; false if it changes nothing. *held: the rows in shared memory. */
static bool transform(Function *kernel, const Launch *launch, uint64_t seed, bool holds, HeldRows *held)
{
    const char *reason;
    Body *body = body_build(kernel, &reason);
    require(body);
    body_to_ssa(body);
    one_pass(&body, PASS_CLEANUP);
    if (holds ? !hold(&body, launch, seed, held) : !one_pass(&body, PASS_PASSED_ROWS)) {
        body_free(body);
        return false;
    }
    one_pass(&body, PASS_CLEANUP);
    body_from_ssa(body);
    function_set_body(kernel, body);
    return true;
}

/* One of the passes, against the original. */
static void check_pass(Check *check, Arena *arena, Module *module, const Buf *text, const Launch *launch,
                       const EmulatorResult *expected, uint64_t seed, bool holds)
{
    const EmulatorOptions options = {.check_races = true, .check_unwritten = true};
    const LaunchChange change = {0};
    EmulatorCounters counters = {0};
    Buf after = {0};
    HeldRows held = {0};
    if (!transform(module_find_function(module, "k"), launch, seed, holds, &held)) {
        check->left += !holds;
        return;
    }
    emit_module(module, &after);
    const char *message = form_difference(arena, &after, launch, &change, expected, &options, &counters);
    if (holds) {
        const bool copies = counters.load_bytes[SPACE_SHARED] > MOST_VOTING;
        check->held++;
        check->copied += copies;
        check->several += copies && held.rows > 1;
        check->shorter += copies && held.varies;
    } else {
        check->changed++;
        check->fewer += counters.store_bytes[SPACE_GLOBAL] < expected->counters.store_bytes[SPACE_GLOBAL];
    }
    function_set_body(module_find_function(module, "k"), NULL);
    if (message) {
        check->wrong++;
        report_wrong(arena, check->folder, holds ? "held" : "passed", seed, message, &after, text);
    }
    buf_free(&after);
}

static void check_seed(void *context, uint64_t seed)
{
    Check *check = context;
    Arena *arena = arena_new();
    Launch launch;
    Buf text = {0}, none = {0};
    const EmulatorOptions options = {.check_races = true, .check_unwritten = true};
    passed_kernel(seed, arena, &text, &launch);
    Module *module = parse_text("random.ptx", buf_text(&text), text.length);
    require(module);
    const EmulatorResult *expected = emulator_run(arena, module, &launch, &options);
    if (expected->fault.kind != FAULT_NONE) {
        check->wrong++;
        report_wrong(arena, check->folder, "passed", seed,
                     arena_printf(arena, "the original fails: %s", fault_text(arena, module, &expected->fault)), &none,
                     &text);
    } else {
        check_pass(check, arena, module, &text, &launch, expected, seed, false);
        check_pass(check, arena, module, &text, &launch, expected, seed, true);
    }
    arena_free(module->arena);
    arena_free(arena);
    buf_free(&text);
}

int main(int count, char **words)
{
    Check check = {0};
    const char *seeds = seeds_word(count, words, &check.verbose, &check.folder);
    if (!seeds)
        return 2;
    each_seed(seeds, check.verbose, check_seed, &check);
    printf("%u changed, %u of them store less, %u held, %u of them copied, %u of several rows, %u of shorter ones, "
           "%u left alone, %u wrong\n",
           check.changed, check.fewer, check.held, check.copied, check.several, check.shorter,
           check.left, check.wrong);
    return check.wrong != 0;
}
