/* A whole program: declarations, a beginning that gives every register a value, statements, and an end that stores the
 * registers; device functions; the launch. */
#include "maker.h"

#include <string.h>

/* Registers of each kind: in the pool, in the uniform pool. */
/* No vector has more elements than a pool has members. */
static const unsigned pools[KIND_COUNT][2] = {{4, 2}, {5, 4}, {8, 4}, {4, 2}, {4, 4}, {2, 2}};
static const char *const pool_names[KIND_COUNT] = {"p", "h", "r", "rd", "f", "fd"};
static const char *const kind_types[KIND_COUNT] = {"pred", "b16", "b32", "b64", "f32", "f64"};

Word pool_register(Maker *m, Kind kind, bool uniform)
{
    Word word;
    snprintf(word.text, sizeof word.text, "%%%s%s%u", uniform ? "u" : "", pool_names[kind],
             below(&m->to, pools[kind][uniform]));
    return word;
}

Word fresh_register(Maker *m, Kind kind)
{
    Word word;
    snprintf(word.text, sizeof word.text, "%%t%s%u", pool_names[kind], m->temporaries[kind]++);
    return word;
}

unsigned new_label(Maker *m)
{
    return m->to.labels++;
}

void put_label(Maker *m, const char *kind, unsigned number)
{
    buf_printf(m->to.out, "%s%u:\n", kind, number);
}

static void declare_registers(Buf *out, const Maker *m)
{
    for (unsigned c = 0; c < KIND_COUNT; c++) {
        buf_printf(out, "\t.reg .%s %%%s<%u>, %%u%s<%u>;\n", kind_types[c], pool_names[c], pools[c][0], pool_names[c],
                   pools[c][1]);
        if (m->temporaries[c])
            buf_printf(out, "\t.reg .%s %%t%s<%u>;\n", kind_types[c], pool_names[c], m->temporaries[c]);
    }
}

/* Gives all registers of the pools values, which come from %gid and %lin, or %base for the uniform ones. */
static void start_pool(Maker *m, bool uniform)
{
    static const char *const starts[] = {"%gid", "%lin", "%index0", "%index1", "%seed"};
    const char *u = uniform ? "u" : "";
    for (unsigned i = 0; i < pools[KIND_32][uniform]; i++)
        line(&m->to, "mad.lo.s32 %%%sr%u, %s, %u, %u;", u, i,
             uniform || m->in_function ? "%seed" : starts[below(&m->to, COUNT_OF(starts))], 1 + i * i * 77, i);
    for (unsigned i = 0; i < pools[KIND_16][uniform]; i++)
        line(&m->to, "cvt.u16.u32 %%%sh%u, %%%sr%u;", u, i, u, i);
    for (unsigned i = 0; i < pools[KIND_64][uniform]; i++)
        line(&m->to, "mul.wide.s32 %%%srd%u, %%%sr%u, %u;", u, i, u, i, 1 + 12345 * i);
    for (unsigned i = 0; i < pools[KIND_F32][uniform]; i++)
        line(&m->to, "cvt.rn.f32.s32 %%%sf%u, %%%sr%u;", u, i, u, i);
    for (unsigned i = 0; i < pools[KIND_F64][uniform]; i++)
        line(&m->to, "cvt.rn.f64.s32 %%%sfd%u, %%%sr%u;", u, i, u, i);
    for (unsigned i = 0; i < pools[KIND_PRED][uniform]; i++)
        line(&m->to, "setp.lt.s32 %%%sp%u, %%%sr%u, %u;", u, i, u, i, 40 * i);
}

static void write_indices(Maker *m)
{
    static const char axes[] = "xyz";
    for (unsigned d = 0; d < 3; d++)
        line(&m->to, "mov.u32 %%size%u, %%ntid.%c;\n\tmov.u32 %%index%u, %%tid.%c;", d, axes[d], d, axes[d]);
    line(&m->to, "mov.u32 %%block, %%ctaid.x;\n\tmov.u32 %%gid, %%ctaid.y;\n\tmov.u32 %%blocks, %%nctaid.x;");
    line(&m->to, "mad.lo.u32 %%block, %%blocks, %%gid, %%block;\n\tmov.u32 %%gid, %%nctaid.y;");
    line(&m->to, "mul.lo.u32 %%blocks, %%blocks, %%gid;");
    line(&m->to, "mad.lo.u32 %%lin, %%index2, %%size1, %%index1;\n\tmad.lo.u32 %%lin, %%lin, %%size0, %%index0;");
    line(&m->to, "mul.lo.u32 %%threads, %%size0, %%size1;\n\tmul.lo.u32 %%threads, %%threads, %%size2;");
    line(&m->to, "mad.lo.u32 %%gid, %%block, %%threads, %%lin;");
}

static void write_pointers(Maker *m)
{
    static const char *const names[] = {"in", "other", "walk", "wide", "sums", "counts"};
    for (unsigned i = 0; i < COUNT_OF(names); i++)
        line(&m->to, "ld.param.u64 %%%s, [%s];\n\tcvta.to.global.u64 %%%s, %%%s;", names[i], names[i], names[i],
             names[i]);
    line(&m->to, "ld.param.u64 %%own, [out];\n\tld.param.u64 %%twin, [twin];");
    line(&m->to, "mad.wide.u32 %%own, %%gid, %u, %%own;\n\tmad.wide.u32 %%twin, %%gid, %u, %%twin;", OWN_BYTES,
         OWN_BYTES);
    line(&m->to, "ld.param.u32 %%n, [n];\n\tld.param.u32 %%words, [words];\n\tmad.lo.u32 %%seed, %%n, 31, %%block;");
    line(&m->to, "mov.u32 %%cells, exchange;\n\tmad.lo.u32 %%cell, %%lin, 4, %%cells;");
    line(&m->to, "mov.u32 %%mine, private;\n\tmad.lo.u32 %%mine, %%lin, 4, %%mine;");
    line(&m->to, "mov.u32 %%halo, edge;\n\tmad.lo.u32 %%halo, %%lin, 4, %%halo;\n\tmov.u64 %%spot, spot;");
    for (unsigned i = 0; i < SPOT_BYTES; i += 8)
        line(&m->to, "st.local.u64 [spot+%u], %u;", i, 1000 * i);
    for (unsigned i = 0; i < OWN_BYTES; i += 16)
        line(&m->to, "st.global.v4.u32 [%%own+%u], {%%gid, %%lin, %%n, %%gid};", i);
}

/* Stores what the pools hold at the end: each register, one after another, into the same words. */
static void write_end(Maker *m)
{
    for (unsigned i = 0; i < pools[KIND_32][0]; i++)
        line(&m->to, "st.global.u32 [%%own+%u], %%r%u;", 4 * i, i);
    line(&m->to, "st.global.u64 [%%own+32], %%rd%u;\n\tst.global.u16 [%%own+40], %%h%u;", below(&m->to, 4),
         below(&m->to, 4));
    line(&m->to, "st.global.f32 [%%own+44], %%f%u;\n\tst.global.f64 [%%own+48], %%fd%u;", below(&m->to, 4),
         below(&m->to, 2));
    line(&m->to, "st.global.u32 [%%own+56], %%ur%u;\n\t@%%p%u st.global.u32 [%%own+60], %%ur%u;", below(&m->to, 4),
         below(&m->to, 4), below(&m->to, 4));
}

static void write_module_variables(Maker *m, Buf *out)
{
    static const char *const spaces[] = {"const", "global"};
    for (unsigned i = 0; i < 2; i++) {
        buf_printf(out, ".%s .align 4 .u32 %s_table[16] = {", spaces[i], spaces[i]);
        for (unsigned k = 0; k < 16; k++)
            buf_printf(out, "%s%u", k ? ", " : "", below(&m->to, 5000));
        buf_puts(out, "};\n");
    }
}

/* A device function of a number, a wide number and 32 bytes of the caller's local memory. */
static void write_function(Maker *kernel, Buf *out, unsigned number)
{
    Buf code = {0};
    Maker m = {.to = {.random = {random_next(&kernel->to.random)}, .out = &code, .labels = 1000 * (number + 1)},
               .budget = 5,
               .in_function = true};
    memcpy(m.share, (unsigned[PART_COUNT]){4, 1, 2, 0, 0}, sizeof m.share);
    start_pool(&m, false);
    start_pool(&m, true);
    line(&m.to, "ld.param.b64 %%rd0, [f%u_a1];", number);
    make_statements(&m, 1, 2 + below(&m.to, 4));
    line(&m.to, "st.param.b32 [f%u_r], %%r%u;\n\tret;", number, below(&m.to, 8));
    buf_printf(out, ".func (.param .b32 f%u_r) f%u(.param .b32 f%u_a0, .param .b64 f%u_a1, .param .b64 f%u_a2)\n{\n",
               number, number, number, number, number);
    declare_registers(out, &m);
    buf_printf(out,
               "\t.reg .b32 %%seed;\n\t.reg .b64 %%spot;\n\tld.param.b32 %%seed, [f%u_a0];\n"
               "\tld.param.b64 %%spot, [f%u_a2];\n",
               number, number);
    buf_printf(out, "%s}\n", buf_text(&code));
    buf_free(&code);
}

static void write_launch(Maker *m, Buf *out)
{
    unsigned in = IN_BYTES + 16 * m->threads + 256, odd = 4 * below(&m->to, 4);
    uint64_t seed = random_next(&m->to.random) % 1000000;
    bool floats = chance(&m->to, 50);
    buf_printf(out, "{\"kernel\": \"k\", \"grid\": [%u, %u, %u], \"block\": [%u, %u, %u], \"args\": [\n", m->grid[0],
               m->grid[1], m->grid[2], m->block[0], m->block[1], m->block[2]);
    buf_printf(out,
               " {\"buffer\": \"in\", \"type\": \"%s\", \"count\": %u, \"init\": \"uniform\", \"low\": 0, \"high\": "
               "%s, \"seed\": %llu},\n",
               floats ? "f32" : "u8", floats ? in / 4 : in, floats ? "4" : "255", (unsigned long long)seed);
    buf_printf(out, " {\"pointer\": \"in\", \"offset\": %u},\n {\"pointer\": \"in\", \"offset\": %u},\n",
               16 * below(&m->to, 3), odd);
    buf_printf(out, " {\"buffer\": \"out\", \"type\": \"u32\", \"count\": %u, \"init\": \"poison\"},\n",
               m->threads * OWN_BYTES / 4);
    buf_puts(out, " {\"pointer\": \"out\", \"offset\": 0},\n");
    buf_printf(out,
               " {\"buffer\": \"wide\", \"type\": \"u32\", \"count\": %u, \"init\": \"iota\", \"start\": 3, \"step\": "
               "7},\n",
               m->threads * WIDE_WORDS);
    buf_printf(out, " {\"buffer\": \"sums\", \"type\": \"u32\", \"count\": %u, \"init\": \"zero\"},\n", SUMS);
    buf_puts(out, " {\"buffer\": \"counts\", \"type\": \"u32\", \"count\": 8, \"init\": \"zero\"},\n");
    buf_printf(out, " {\"scalar\": \"u32\", \"value\": %u},\n {\"scalar\": \"u32\", \"value\": %u},\n",
               below(&m->to, 13), m->threads * WIDE_WORDS - below(&m->to, 9));
    buf_puts(
        out,
        " {\"scalar\": \"f32\", \"value\": 1.5},\n {\"scalar\": \"u32\", \"value\": [11, 222, 3333, 44444]}\n]}\n");
}

static void choose_launch(Maker *m)
{
    static const unsigned blocks[][3] = {{100, 1, 1}, {33, 3, 1}, {8, 4, 3},  {64, 1, 1}, {32, 4, 1},
                                         {128, 1, 1}, {32, 2, 2}, {96, 1, 1}, {16, 8, 1}};
    enum { UNEVEN = 3 }; /* the first ones are not whole warps */
    unsigned first = m->warps ? UNEVEN : 0;
    memcpy(m->block, blocks[first + below(&m->to, COUNT_OF(blocks) - first)], sizeof m->block);
    m->grid[0] = 1 + below(&m->to, 4);
    m->grid[1] = 1 + chance(&m->to, 25);
    m->grid[2] = 1;
    m->threads = m->block[0] * m->block[1] * m->block[2] * m->grid[0] * m->grid[1];
}

static void choose_shares(Maker *m, const GenerateKnobs *knobs)
{
    unsigned total = 0;
    for (unsigned i = 0; i < PART_COUNT; i++)
        total += m->share[i] = knobs->share[i];
    for (unsigned i = 0; i < PART_COUNT && !total; i++)
        m->share[i] = 1 + below(&m->to, 8);
}

static void write_kernel(Maker *m, Buf *out, const Buf *code)
{
    static const char *const parameters[] = {".u64 in",   ".u64 other", ".u64 walk",  ".u64 out",
                                             ".u64 twin", ".u64 wide",  ".u64 sums",  ".u64 counts",
                                             ".u32 n",    ".u32 words", ".f32 scale", ".align 8 .b8 s[16]"};
    unsigned threads = m->block[0] * m->block[1] * m->block[2];
    buf_puts(out, ".visible .entry k(");
    for (unsigned i = 0; i < COUNT_OF(parameters); i++)
        buf_printf(out, "%s.param %s", i ? ", " : "", parameters[i]);
    buf_puts(out, ")\n{\n");
    declare_registers(out, m);
    buf_puts(out, "\t.reg .b32 %size<3>, %index<3>, %block, %blocks, %gid, %lin, %threads, %n, %words, %seed;\n"
                  "\t.reg .b32 %cells, %cell, %mine, %halo;\n"
                  "\t.reg .b64 %in, %other, %walk, %wide, %sums, %counts, %own, %twin, %spot;\n");
    buf_printf(out,
               "\t.shared .align 4 .b8 exchange[%u];\n\t.shared .align 4 .b8 private[%u];\n"
               "\t.shared .align 4 .b8 edge[%u];\n\t.shared .align 4 .b8 board[4];\n"
               "\t.local .align 16 .b8 spot[%u];\n",
               4 * threads, 4 * threads, 4 * threads + 8, SPOT_BYTES);
    buf_printf(out, "%s\tret;\n}\n", buf_text(code));
}

void generate_program(uint64_t seed, const GenerateKnobs *knobs, Buf *ptx, Buf *launch)
{
    Buf code = {0};
    Maker m = {.to = {.random = {seed * UINT64_C(0x2545f4914f6cdd1d) + 7}, .out = &code}, .uniform = true};
    unsigned size = knobs->size ? knobs->size : 4 + below(&m.to, 37);
    m.budget = (int)size;
    m.warps = chance(&m.to, 35);
    m.barriers = chance(&m.to, 50);
    m.function_count = below(&m.to, 3);
    choose_shares(&m, knobs);
    choose_launch(&m);
    write_indices(&m);
    write_pointers(&m);
    start_pool(&m, false);
    start_pool(&m, true);
    while (m.budget > 0)
        make_statements(&m, 0, 1);
    write_end(&m);
    buf_puts(ptx, ".version 8.3\n.target sm_90\n.address_size 64\n");
    write_module_variables(&m, ptx);
    for (unsigned i = 0; i < m.function_count; i++)
        write_function(&m, ptx, i);
    write_kernel(&m, ptx, &code);
    write_launch(&m, launch);
    buf_free(&code);
}

bool generate_read_shares(const char *text, GenerateKnobs *knobs)
{
    static const char *const names[PART_COUNT] = {"value", "memory", "flow", "together", "idiom"};
    while (*text) {
        unsigned part = 0, share;
        int length = 0;
        while (part < PART_COUNT && strncmp(text, names[part], strlen(names[part])) != 0)
            part++;
        if (part == PART_COUNT || sscanf(text + strlen(names[part]), "=%u%n", &share, &length) != 1)
            return false;
        knobs->share[part] = share;
        text += strlen(names[part]) + (size_t)length;
        if (*text == ',')
            text++;
        else if (*text)
            return false;
    }
    return true;
}
