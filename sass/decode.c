/* Decodes the 128-bit instructions of sm_75 and later.
 *
 * Bits 0-11 are opcode and form, 12-15 the guard, 105-125 the control word: stall cycles, yield, write and read
 * scoreboard, mask of scoreboards to wait for (Jia et al., "Dissecting the NVIDIA Volta GPU architecture via
 * microbenchmarking", 2018, chapter 2). The targets of branches and the sizes of accesses were derived from nvdisasm's
 * listings, like sass/opcodes.def. */
#include "sass/internal.h"

#include <string.h>

enum { FORM_UNIFORM = 2, FORM_IMMEDIATE = 4, CALL_RELATIVE = 0x144 };

typedef struct OpcodeRow {
    uint16_t code, form, first, last;
    const char *name;
    uint8_t class, flow;
} OpcodeRow;

static const OpcodeRow rows[] = {
#define OPCODE(code, form, first, last, name, class, flow) \
    {code, form, first, last, name, MACHINE_##class, MACHINE_##flow},
#include "sass/opcodes.def"
#undef OPCODE
};

const char *sass_class_name(SassClass class)
{
    static const char *const names[MACHINE_CLASS_COUNT] = {
        [MACHINE_FP32] = "fp32",         [MACHINE_COMPARE] = "compare", [MACHINE_INTEGER] = "integer",
        [MACHINE_MULTIPLY] = "multiply", [MACHINE_FP16] = "fp16",
        [MACHINE_FP64] = "fp64",         [MACHINE_SFU] = "sfu",         [MACHINE_TENSOR] = "tensor",
        [MACHINE_SHARED] = "shared",     [MACHINE_GLOBAL] = "global",   [MACHINE_LOCAL] = "local",
        [MACHINE_CONSTANT] = "constant", [MACHINE_TEXTURE] = "texture", [MACHINE_WARP] = "warp",
        [MACHINE_CONTROL] = "control",   [MACHINE_BARRIER] = "barrier", [MACHINE_MOVE] = "move",
        [MACHINE_UNIFORM] = "uniform",   [MACHINE_OTHER] = "other",
    };
    return names[class];
}

/* The row that fits; NULL if there is none. */
static const OpcodeRow *find_row(Arch arch, unsigned code, unsigned form)
{
    size_t low = 0, high = COUNT_OF(rows);
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (rows[middle].code < code)
            low = middle + 1;
        else
            high = middle;
    }
    for (; low < COUNT_OF(rows) && rows[low].code == code; low++)
        if ((!rows[low].form || rows[low].form == form) && arch.number >= rows[low].first &&
            arch.number <= rows[low].last)
            return &rows[low];
    return NULL;
}

static void take_row(SassInstruction *instruction, const OpcodeRow *row)
{
    instruction->mnemonic = row->name;
    instruction->class = row->class;
    instruction->flow = row->flow;
}

bool sass_name_lookup(const char *name, size_t length, SassInstruction *instruction)
{
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        if (strlen(rows[i].name) == length && strncmp(rows[i].name, name, length) == 0) {
            take_row(instruction, &rows[i]);
            return true;
        }
    }
    return false;
}

/* Bits [at, at + width) of the instruction; at most 64, and not across both words unless at < 64. */
static uint64_t bits(const uint64_t words[2], unsigned at, unsigned width)
{
    uint64_t value = at >= 64 ? words[1] >> (at - 64) : words[0] >> at | (at ? words[1] << (64 - at) : 0);
    return width == 64 ? value : value & ((UINT64_C(1) << width) - 1);
}

static int64_t sign_extend(uint64_t value, unsigned width)
{
    unsigned shift = 64 - width;
    return (int64_t)(value << shift) >> shift;
}

/* A displacement in words of four bytes from the next instruction: bits 34-81; since sm_90, branches and calls have 8
 * more low bits, in bits 16-23. */
static int64_t displacement(Arch arch, const uint64_t words[2])
{
    uint64_t high = bits(words, 34, 48);
    if (arch.number < 90)
        return sign_extend(high, 48) * 4;
    return sign_extend(high << 8 | bits(words, 16, 8), 56) * 4;
}

/* The number of bytes that a thread moves, by the access's size field. */
static uint8_t access_bytes(const SassInstruction *instruction, const uint64_t words[2])
{
    static const char *const plain[] = {"LD", "LDG", "LDC", "LDL", "LDS", "ST", "STG", "STL", "STS"};
    static const uint8_t sizes[8] = {1, 1, 2, 2, 4, 8, 16, 32};
    for (size_t i = 0; i < COUNT_OF(plain); i++)
        if (strcmp(instruction->mnemonic, plain[i]) == 0)
            return sizes[bits(words, 73, 3)];
    return 0;
}

static SassCopy copy_role(const SassInstruction *instruction)
{
    static const char *const roles[] = {[COPY_BEGIN] = "LDGSTS", [COPY_COMMIT] = "LDGDEPBAR", [COPY_WAIT] = "DEPBAR"};
    for (size_t i = COPY_BEGIN; i < COUNT_OF(roles); i++)
        if (strcmp(instruction->mnemonic, roles[i]) == 0)
            return (SassCopy)i;
    return COPY_NONE;
}

/* True if a branch, exit or return may continue with the next instruction. */
static bool is_conditional(const SassInstruction *instruction, const uint64_t words[2])
{
    if (instruction->guard != NO_PREDICATE || instruction->guard_inverted)
        return true;
    if (instruction->flow == MACHINE_NEXT || instruction->flow == MACHINE_INDIRECT ||
        instruction->flow == MACHINE_CALL)
        return false;
    if (bits(words, 87, 4) != NO_PREDICATE) /* a second predicate */
        return true;
    /* BRA.DIV and BRA.CONV test whether the warp has diverged; form 2 has a uniform predicate. */
    return instruction->flow == MACHINE_BRANCH && (bits(words, 32, 2) >= 2 || instruction->code >> 9 == FORM_UNIFORM);
}

bool sass_decode(Arch arch, const unsigned char *bytes, uint32_t address, SassInstruction *instruction,
                    int64_t *destination)
{
    uint64_t words[2];
    memcpy(words, bytes, sizeof words);
    unsigned code = (unsigned)bits(words, 0, 9), form = (unsigned)bits(words, 9, 3);
    const OpcodeRow *row = find_row(arch, code, form);
    *instruction = (SassInstruction){
        .mnemonic = "?",
        .encoding = {words[0], words[1]},
        .class = MACHINE_OTHER,
        .flow = MACHINE_NEXT,
        .address = address,
        .code = (uint16_t)bits(words, 0, 12),
        .target = MACHINE_NONE,
        .ptx = MACHINE_NONE,
        .guard = (uint8_t)bits(words, 12, 3),
        .guard_inverted = bits(words, 15, 1),
        .stall = (uint8_t)bits(words, 105, 4),
        .yield = !bits(words, 109, 1),
        .write_barrier = (uint8_t)bits(words, 110, 3),
        .read_barrier = (uint8_t)bits(words, 113, 3),
        .wait = (uint8_t)bits(words, 116, 6),
    };
    *destination = INT64_MAX;
    if (row) {
        take_row(instruction, row);
        instruction->bytes = access_bytes(instruction, words);
        instruction->copy = (uint8_t)copy_role(instruction);
        instruction->left = (uint8_t)bits(words, 38, 6);
    }
    instruction->conditional = is_conditional(instruction, words);
    if (instruction->flow == MACHINE_BRANCH ||
        (instruction->flow == MACHINE_CALL && code == CALL_RELATIVE && form == FORM_IMMEDIATE))
        *destination = (int64_t)address + MACHINE_BYTES + displacement(arch, words);
    return row != NULL;
}
