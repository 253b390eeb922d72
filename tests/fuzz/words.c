/* The words that the mutator and the dictionary use. */
#include <stdlib.h>

#include "fuzz.h"

static const char *const directives[] = {
    ".version",   ".target",      ".address_size", ".visible",        ".extern",       ".weak",
    ".common",    ".entry",       ".func",         ".reg",            ".param",        ".local",
    ".shared",    ".global",      ".const",        ".align",          ".ptr",          ".file",
    ".loc",       ".section",     ".pragma",       ".alias",          ".maxnreg",      ".maxntid",
    ".reqntid",   ".minnctapersm", ".maxnctapersm", ".noreturn",      ".callprototype", ".calltargets",
    ".branchtargets", ".reqnctapercluster", ".explicitcluster", ".maxclusterrank", ".blocksareclusters",
    ".attribute(.managed)", ".attribute(.unified(1,2))", ".abi_preserve", ".abi_preserve_control", ".b8", ".u32",
    ".f64",       ".pred",        ".b128",         ".texref",         ".samplerref",   ".surfref",
};

static const char *const numbers[] = {
    "0",          "1",          "2",          "3",          "4",          "7",          "8",
    "15",         "16",         "31",         "32",         "63",         "64",         "127",
    "255",        "256",        "1024",       "65535",      "65536",      "2147483647", "2147483648",
    "4294967295", "4294967296", "9223372036854775807", "9223372036854775808", "18446744073709551615",
    "18446744073709551616", "0x7fffffff", "0xffffffffffffffff", "0x1ffffffffffffffff", "-1", "-2147483648",
    "0f3F800000", "0f7FC00000", "0fFF800000", "0d3FF0000000000000", "0d7FF8000000000000", "1.0", "1e400", "1e-400",
    "0.5e10",     "077",        "0b101",      "1U",         "WARP_SZ",    "(1+2)*3",    "1<<63",
    "1?2:3",      "-(-9223372036854775807-1)", "(.s64)1", "(.u64)-1", "1/0", "1%0", "(0x8000000000000000/-1)",
};

static const char *const lines[] = {
    ".reg .b32 %x<4>;\n",
    ".reg .pred %q;\n",
    ".reg .v2 .f32 %v;\n",
    ".reg .v4 .u32 %u;\n",
    "mov.v4.u32 %u, %tid;\n",
    "mov.v4.u32 {%x0, _, %x1, %x1}, %tid;\n",
    "mov.v4.u32 %u, {%u.y, %u.x, %x1, %u.w};\n",
    "@%q mad.lo.u32 %u.g, %u.y, %x1, %u.x;\n",
    "ld.global.v4.u32 %u, [%w1];\n",
    "mov.b64 %w1, {%u.x, %u.z};\n",
    "mov.b64 {%x1, %x1}, %w1;\n",
    "@%q mov.b64 %v, %w1;\n",
    ".reg .b64 %w<100>;\n",
    ".shared .align 16 .b8 s[64];\n",
    ".local .u32 l[4];\n",
    ".global .u32 g = 5;\n",
    ".global .align 8 .u64 t[2] = {g, generic(g)};\n",
    ".const .f32 c[2][2] = {{1.0, 2.0}, {0f3F800000}};\n",
    ".extern .shared .b8 dynamic[];\n",
    ".visible .entry k(.param .u64 p, .param .u32 n)\n{\nret;\n}\n",
    ".func (.reg .u32 r) f(.reg .u32 a)\n{\nmov.u32 r, a;\nret;\n}\n",
    ".func (.reg .b64 r) g(.reg .u32 a, .reg .v2 .f32 v)\n{\nadd.u32 a, a, 1;\nmov.b64 r, v;\n}\n",
    "call (%w1), g, (%x2, %v);\n",
    ".func (.param .b32 r) h(.param .b32 a);\n",
    "{\n",
    "}\n",
    "L:\n",
    "M:\n",
    "bra L;\n",
    "@%q bra L;\n",
    "@!%q bra M;\n",
    "bra.uni M;\n",
    "T: .branchtargets L, M;\n",
    "brx.idx %x1, T;\n",
    "P: .callprototype (.param .b32 _) _ (.param .b32 _);\n",
    "call (r), f, (a);\n",
    "call f;\n",
    "ret;\n",
    "exit;\n",
    "trap;\n",
    "mov.u32 %x1, %tid.x;\n",
    "mov.u32 %x2, %ntid.x;\n",
    "mov.u32 %x3, %ctaid.x;\n",
    "setp.lt.u32 %q, %x1, %x2;\n",
    "add.u32 %x1, %x2, %x3;\n",
    "@%q add.u32 %x1, %x1, 1;\n",
    "mad.wide.u32 %w1, %x1, 4, %w2;\n",
    "mad.lo.cc.u32 %x1, %x2, %x3, %x1;\n",
    "addc.cc.u32 %x1, %x2, %x3;\n",
    "ld.param.u64 %w1, [p];\n",
    "ld.global.v4.u32 {%x0, %x1, %x2, %x3}, [%w1+16];\n",
    "ld.shared.u32 %x1, [s+4];\n",
    "st.shared.u32 [s], %x1;\n",
    "st.global.u32 [%w1], %x1;\n",
    "atom.global.add.u32 %x1, [%w1], %x2;\n",
    "bar.sync 0;\n",
    "barrier.sync 1, 64;\n",
    "shfl.sync.bfly.b32 %x1|%q, %x2, 1, 31, -1;\n",
    "vote.sync.any.pred %q, %q, -1;\n",
    "selp.u32 %x1, %x2, %x3, %q;\n",
    "mov.b64 {%x1, %x2}, %w1;\n",
    "mov.b64 %w1, {%x1, %x2};\n",
    "cvta.to.global.u64 %w2, %w1;\n",
    "cvta.shared.u64 %w2, s;\n",
    "vadd.u32.u32.u32 %x1, %x2.b0, %x3.h1;\n",
    "membar.gl;\n",
    "unknown.op %x1, %x2;\n",
    ".loc 1 2 3\n",
    ".loc 1 2 3, function_name info_string0, inlined_at 1 2 3\n",
    ".pragma \"nounroll\";\n",
    ".file 1 \"a.cu\"\n",
    ".section .debug_info\n{\n.b8 1, 2\n.b32 .debug_abbrev\nx:\n.b64 x+1\n}\n",
    "// comment\n",
    "/* comment */",
};

static const char *const json[] = {
    "{", "}", "[", "]", ",", ":", "null", "true", "-1", "0", "1e308", "1e-5", "2147483648", "9223372036854775807",
    "\"kernel\":", "\"grid\":", "\"block\":", "\"dynamic_shared\":", "\"args\":", "\"check\":", "\"tolerance\":",
    "\"reference_tolerance\":", "\"kind\":", "\"exact\"", "\"close\"", "\"relative\":", "\"absolute\":",
    "\"buffer\":", "\"pointer\":", "\"symbol\":", "\"scalar\":", "\"offset\":", "\"type\":", "\"count\":",
    "\"init\":", "\"values\":", "\"value\":", "\"uniform\"", "\"iota\"", "\"zero\"", "\"poison\"", "\"file\"",
    "\"low\":", "\"high\":", "\"start\":", "\"step\":", "\"seed\":", "\"u8\"", "\"u32\"", "\"s64\"", "\"f16\"",
    "\"bf16\"", "\"f32\"", "\"f64\"", "\"pred\"", "\"b128\"", "\"texref\"", "\"0x7fc00000\"", "\"a\"", "\"k\"",
    "{\"buffer\": \"a\", \"type\": \"f32\", \"count\": 4, \"init\": \"iota\"}",
    "{\"scalar\": \"u32\", \"value\": [1, 2]}", "{\"pointer\": \"a\", \"offset\": 4}",
};

static const char *const registers[] = {
#define SREG(name, vector, type, reads, dependence, min_version, min_sm, note) name,
#include "ir/table/sregs.def"
#undef SREG
};

const char *const *words_of(WordClass class, size_t *count)
{
    static const char *opcodes[OP_COUNT - 1], *modifiers[MOD_COUNT - 1];
    switch (class) {
    case WORD_OPCODE:
        for (unsigned i = 1; i < OP_COUNT; i++)
            opcodes[i - 1] = opcode_name((Opcode)i);
        *count = COUNT_OF(opcodes);
        return opcodes;
    case WORD_MODIFIER:
        for (unsigned i = 1; i < MOD_COUNT; i++)
            modifiers[i - 1] = mod_name((ModId)i);
        *count = COUNT_OF(modifiers);
        return modifiers;
    case WORD_DIRECTIVE: *count = COUNT_OF(directives); return directives;
    case WORD_REGISTER: *count = COUNT_OF(registers); return registers;
    case WORD_NUMBER: *count = COUNT_OF(numbers); return numbers;
    case WORD_LINE: *count = COUNT_OF(lines); return lines;
    case WORD_JSON: *count = COUNT_OF(json); return json;
    case WORD_CLASSES: break;
    }
    bug("no such class of words");
}
