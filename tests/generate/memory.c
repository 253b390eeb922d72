/* Accesses to memory: each thread writes only what is its own, except by atomics whose order does not matter. */
#include "maker.h"

#include <string.h>

/* The type of an access, and the registers that it takes. */
typedef struct Element {
    const char *type;
    Kind kind;
    unsigned bytes; /* of one element */
    bool loads, stores;
} Element;

static const Element accesses[] = {
    {"u8", KIND_32, 1, true, true},   {"s8", KIND_32, 1, true, true},   {"u8", KIND_16, 1, true, true},
    {"s16", KIND_32, 2, true, true},  {"u16", KIND_16, 2, true, true},  {"b32", KIND_32, 4, true, true},
    {"u32", KIND_32, 4, true, true},  {"s32", KIND_64, 4, true, false}, {"u64", KIND_64, 8, true, true},
    {"f32", KIND_F32, 4, true, true}, {"f64", KIND_F64, 8, true, true}, {"b16", KIND_16, 2, true, true},
};

static const Element *random_access(Maker *m, bool loads)
{
    const Element *element;
    do
        element = &accesses[below(&m->to, COUNT_OF(accesses))];
    while (loads ? !element->loads : !element->stores);
    return element;
}

/* How many elements it has: vectors need registers as wide as the elements. */
static unsigned random_width(Maker *m, const Element *element)
{
    static const unsigned bits[KIND_COUNT] = {0, 16, 32, 64, 32, 64};
    if (bits[element->kind] != 8 * element->bytes || chance(&m->to, 65))
        return 1;
    return element->bytes < 8 && chance(&m->to, 50) ? 4 : 2;
}

/* "ld.global.v2.f32 {%f1, %f2}, [%rd4+8];" with the guard before it. */
static void write_access(Maker *m, const char *guard, bool loads, const char *where, const Element *element,
                         unsigned width, const char *address, int offset, bool uniform)
{
    Word values[4];
    for (unsigned i = 0; i < width; i++) {
        bool repeated;
        do {
            values[i] = pool_register(m, element->kind, uniform);
            repeated = false;
            for (unsigned k = 0; k < i; k++)
                repeated |= loads && strcmp(values[k].text, values[i].text) == 0;
        } while (repeated);
    }
    char list[200], vector[16] = "", place[80];
    if (width == 1)
        snprintf(list, sizeof list, "%s", values[0].text);
    else if (width == 2)
        snprintf(list, sizeof list, "{%s, %s}", values[0].text, values[1].text);
    else
        snprintf(list, sizeof list, "{%s, %s, %s, %s}", values[0].text, values[1].text, values[2].text, values[3].text);
    if (width > 1)
        snprintf(vector, sizeof vector, ".v%u", width);
    if (offset)
        snprintf(place, sizeof place, "[%s%+d]", address, offset);
    else
        snprintf(place, sizeof place, "[%s]", address);
    if (loads)
        line(&m->to, "%sld%s%s.%s %s, %s;", guard, where, vector, element->type, list, place);
    else
        line(&m->to, "%sst%s%s.%s %s, %s;", guard, where, vector, element->type, place, list);
}

static Word random_guard(Maker *m, bool uniform)
{
    Word guard = {""};
    if (chance(&m->to, 15))
        snprintf(guard.text, sizeof guard.text, "@%s%.30s ", maybe_not(m), pool_register(m, KIND_PRED, uniform).text);
    return guard;
}

static const char *load_space(Maker *m)
{
    static const char *const spaces[] = {".global",
                                         ".global",
                                         ".global.nc",
                                         "",
                                         ".global.ca",
                                         ".global.cs",
                                         ".volatile.global",
                                         ".global.nc.L1::no_allocate",
                                         ".relaxed.gpu.global"};
    return spaces[below(&m->to, COUNT_OF(spaces))];
}

/* base + index * scale, in one of the ways in which compilers write it. */
static Word make_address(Maker *m, const char *base, Word index, unsigned scale)
{
    Word result = fresh_register(m, KIND_64), t = fresh_register(m, KIND_64), r = fresh_register(m, KIND_32);
    unsigned shift = (unsigned)__builtin_ctz(scale);
    switch (below(&m->to, 6)) {
    case 0:
        line(&m->to, "mul.wide.u32 %s, %s, %u;\n\tadd.s64 %s, %s, %s;", t.text, index.text, scale, result.text, base,
             t.text);
        break;
    case 1:
        line(&m->to, "cvt.u64.u32 %s, %s;\n\tshl.b64 %s, %s, %u;\n\tadd.s64 %s, %s, %s;", t.text, index.text, t.text,
             t.text, shift, result.text, t.text, base);
        break;
    case 2: /* through a 32-bit sum that wraps around */
        line(&m->to, "add.s32 %s, %s, -16;\n\tadd.s32 %s, %s, 16;\n\tmad.wide.s32 %s, %s, %u, %s;", r.text, index.text,
             r.text, r.text, result.text, r.text, scale, base);
        break;
    case 3:
        line(&m->to, "shl.b32 %s, %s, %u;\n\tcvt.s64.s32 %s, %s;\n\tadd.s64 %s, %s, %s;", r.text, index.text, shift,
             t.text, r.text, result.text, base, t.text);
        break;
    case 4: /* from above */
        line(&m->to, "add.s64 %s, %s, %u;\n\tmad.wide.s32 %s, %s, %u, %s;\n\tadd.s64 %s, %s, -%u;", t.text, base,
             1024 * scale, result.text, index.text, scale, t.text, result.text, result.text, 1024 * scale);
        break;
    default: line(&m->to, "mad.wide.u32 %s, %s, %u, %s;", result.text, index.text, scale, base); break;
    }
    return result;
}

/* From anywhere in the first IN_BYTES of 'in' or, by a pointer that may be the same, 'other'. */
static void load_anywhere(Maker *m)
{
    const Element *element = random_access(m, true);
    unsigned width = random_width(m, element), bytes = element->bytes * width;
    bool uniform = m->uniform && chance(&m->to, 30);
    Word index = small_number(m, uniform, IN_BYTES / bytes / 2);
    Word address = make_address(m, chance(&m->to, 70) ? "%in" : "%other", index, bytes);
    Word guard = random_guard(m, uniform);
    write_access(m, guard.text, true, load_space(m), element, width, address.text, (int)(below(&m->to, 4) * bytes),
                 uniform);
}

/* From places that follow from the thread's number, as in most kernels. */
static void load_by_thread(Maker *m)
{
    static const char *const numbers[] = {"%gid", "%gid", "%lin", "%index0", "%index1"};
    const Element *element = random_access(m, true);
    unsigned width = random_width(m, element), bytes = element->bytes * width;
    if (bytes > 8)
        return;
    Word index;
    snprintf(index.text, sizeof index.text, "%s", numbers[below(&m->to, COUNT_OF(numbers))]);
    if (chance(&m->to, 30)) {
        Word next = fresh_register(m, KIND_32);
        line(&m->to, "mad.lo.s32 %s, %s, 2, %u;", next.text, index.text, below(&m->to, 3));
        index = next;
    }
    Word address = make_address(m, "%in", index, bytes);
    for (unsigned i = 1 + below(&m->to, 3); i > 0; i--)
        write_access(m, "", true, load_space(m), element, width, address.text, (int)(below(&m->to, 8) * bytes), false);
}

static void access_own(Maker *m)
{
    static const char *const bases[] = {"%own", "%own", "%twin"};
    static const char *const spaces[] = {".global", ".global", ".global", "", ".volatile.global"};
    bool loads = chance(&m->to, 35);
    const Element *element = random_access(m, loads);
    unsigned width = random_width(m, element), bytes = element->bytes * width;
    Word guard = random_guard(m, false);
    const char *where = spaces[below(&m->to, COUNT_OF(spaces))], *base = bases[below(&m->to, COUNT_OF(bases))];
    if (chance(&m->to, 75)) {
        write_access(m, guard.text, loads, where, element, width, base, (int)(below(&m->to, OWN_BYTES / bytes) * bytes),
                     false);
        return;
    }
    Word address = make_address(m, base, small_number(m, chance(&m->to, 40), OWN_BYTES / bytes), bytes);
    write_access(m, guard.text, loads, where, element, width, address.text, 0, false);
}

static void access_local(Maker *m)
{
    bool loads = chance(&m->to, 50);
    const Element *element = random_access(m, loads);
    unsigned width = random_width(m, element), bytes = element->bytes * width;
    Word guard = random_guard(m, false);
    if (chance(&m->to, 60)) {
        Word address = make_address(m, "%spot", small_number(m, chance(&m->to, 40), SPOT_BYTES / bytes), bytes);
        write_access(m, guard.text, loads, ".local", element, width, address.text, 0, false);
    } else
        write_access(m, guard.text, loads, ".local", element, width, m->in_function ? "%spot" : "spot",
                     (int)(below(&m->to, SPOT_BYTES / bytes) * bytes), false);
}

/* A cell of shared memory that only this thread uses. */
static void access_private(Maker *m)
{
    line(&m->to, "st.shared.u32 [%%mine], %s;\n\tld.shared.u32 %s, [%%mine];", operand(m, KIND_32, false).text,
         pool_register(m, KIND_32, false).text);
}

static void load_constant(Maker *m)
{
    bool uniform = m->uniform && chance(&m->to, 40);
    Word index = small_number(m, uniform, 16), address = fresh_register(m, KIND_64), table = fresh_register(m, KIND_64);
    const char *space = chance(&m->to, 50) ? "const" : "global";
    line(&m->to, "mov.u64 %s, %s_table;\n\tmad.wide.u32 %s, %s, 4, %s;", table.text, space, address.text, index.text,
         table.text);
    line(&m->to, "ld.%s.u32 %s, [%s];", space, pool_register(m, KIND_32, uniform).text, address.text);
}

static void load_parameter(Maker *m)
{
    bool uniform = m->uniform;
    switch (below(&m->to, 4)) {
    case 0: line(&m->to, "ld.param.u32 %s, [n];", pool_register(m, KIND_32, uniform).text); break;
    case 1: line(&m->to, "ld.param.f32 %s, [scale];", pool_register(m, KIND_F32, uniform).text); break;
    case 2: line(&m->to, "ld.param.u64 %s, [s+8];", pool_register(m, KIND_64, uniform).text); break;
    default: line(&m->to, "ld.param.u16 %s, [s+%u];", pool_register(m, KIND_16, uniform).text, 2 * below(&m->to, 8));
    }
}

/* Adds to a sum by comparing and swapping; the value that it finds is used for nothing else. */
static void add_by_swapping(Maker *m, unsigned place)
{
    unsigned number = new_label(m);
    Word expected = fresh_register(m, KIND_32), found = fresh_register(m, KIND_32), next = fresh_register(m, KIND_32),
         done = fresh_register(m, KIND_PRED), addend = operand(m, KIND_32, false);
    line(&m->to, "mov.u32 %s, 0;", expected.text);
    put_label(m, "S", number);
    line(&m->to, "add.u32 %s, %s, %s;", next.text, expected.text, addend.text);
    line(&m->to, "atom.global.cas.b32 %s, [%%sums+%u], %s, %s;", found.text, place, expected.text, next.text);
    line(&m->to, "setp.ne.u32 %s, %s, %s;", done.text, found.text, expected.text);
    line(&m->to, "mov.u32 %s, %s;\n\t@%s bra S%u;", expected.text, found.text, done.text, number);
}

static void make_atomic(Maker *m)
{
    /* Each word of the sums has one operation, whose order does not matter. */
    static const char *const operations[] = {"add.u32", "min.u32", "max.s32", "or.b32", "xor.b32", "add.u32"};
    unsigned word = below(&m->to, SUMS);
    const char *operation = operations[word % COUNT_OF(operations)];
    if (word == 0 && chance(&m->to, 30)) {
        add_by_swapping(m, 0);
        return;
    }
    Word guard = random_guard(m, false), value = operand(m, KIND_32, chance(&m->to, 30));
    if (chance(&m->to, 25))
        line(&m->to, "%satom.global.%s %s, [%%sums+%u], %s;", guard.text, operation, fresh_register(m, KIND_32).text,
             4 * word, value.text);
    else
        line(&m->to, "%sred.global.%s [%%sums+%u], %s;", guard.text, operation, 4 * word, value.text);
    if (chance(&m->to, 20))
        line(&m->to, "atom.global.add.u32 %s, [%%own+%u], %s;", pool_register(m, KIND_32, false).text,
             4 * below(&m->to, OWN_BYTES / 4), value.text);
}

void make_access(Maker *m)
{
    if (m->in_function) {
        access_local(m);
        return;
    }
    switch (below(&m->to, 16)) {
    case 0:
    case 1:
    case 2: load_anywhere(m); break;
    case 3:
    case 4:
    case 5: load_by_thread(m); break;
    case 6:
    case 7:
    case 8:
    case 9: access_own(m); break;
    case 10:
    case 11: access_local(m); break;
    case 12: access_private(m); break;
    case 13: load_constant(m); break;
    case 14: load_parameter(m); break;
    default: make_atomic(m); break;
    }
}
