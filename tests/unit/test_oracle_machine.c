/* Atomics, shuffles, votes, matches and reductions of a warp against plain C written from the PTX ISA's formulas: every
 * operation and type, with random operands and with random sets of lanes that take part. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "emulator/emulator.h"
#include "parser/parser.h"
#include "tests/oracle/rounding.h"

enum { LANES_OF_WARP = 32, ROUNDS = 64, THREADS = LANES_OF_WARP * ROUNDS };

/* Each thread has four words of input and four of output. */
enum { WORDS = 4 };

static void run_kernel(const char *name, const char *body, const uint64_t *in, uint64_t *out)
{
    Arena *arena = arena_new();
    Buf text = {0};
    Diag diag;
    buf_printf(
        &text,
        ".version 9.0\n.target sm_100a\n.address_size 64\n.visible .entry k(.param .u64 in, .param .u64 out)\n{\n"
        ".reg .b64 %%in, %%out, %%x<9>; .reg .b32 %%i, %%n, %%r<9>; .reg .b16 %%h<9>; .reg .pred %%p<9>;\n"
        ".reg .f32 %%f<9>; .reg .f64 %%d<9>;\n"
        "mov.u32 %%i, %%tid.x; mov.u32 %%n, %%ctaid.x; mad.lo.u32 %%i, %%n, 32, %%i;\n"
        "ld.param.u64 %%in, [in]; mad.wide.u32 %%in, %%i, 32, %%in;\n"
        "ld.param.u64 %%out, [out]; mad.wide.u32 %%out, %%i, 32, %%out;\n%s\nret;\n}\n",
        body);
    Source *source = source_from_memory(arena, name, buf_text(&text), text.length);
    buf_free(&text);
    diag_init(&diag, source, stderr);
    Module *module = parse_module(arena, source, &diag);
    if (!module)
        fail_msg("%s does not parse", name);
    LaunchArgument arguments[] = {
        {.kind = ARGUMENT_BUFFER,
         .name = "in",
         .type = TYPE_U64,
         .count = THREADS * WORDS,
         .fill = FILL_BYTES,
         .bytes = in,
         .size = 8 * THREADS * WORDS},
        {.kind = ARGUMENT_BUFFER, .name = "out", .type = TYPE_U64, .count = THREADS * WORDS, .fill = FILL_ZERO},
    };
    Launch launch = {.kernel = "k",
                     .grid = {ROUNDS, 1, 1},
                     .block = {LANES_OF_WARP, 1, 1},
                     .arguments = arguments,
                     .argument_count = COUNT_OF(arguments)};
    EmulatorResult *result = emulator_run(arena, module, &launch, NULL);
    if (result->fault.kind != FAULT_NONE)
        fail_msg("%s: %s", name, fault_text(arena, module, &result->fault));
    memcpy(out, emulator_buffer(result, "out")->bytes, 8 * THREADS * WORDS);
    arena_free(arena);
}

static void fill_random(const char *name, uint64_t *in)
{
    Random random = {5};
    for (; *name; name++)
        random.state = random.state * 31 + (unsigned char)*name;
    for (unsigned i = 0; i < THREADS * WORDS; i++) {
        uint64_t how = random_next(&random);
        in[i] = random_next(&random);
        if (how % 4 < 2)
            in[i] = how % 4 == 0 ? in[i] % 5 : 0 - in[i] % 5;
    }
}

typedef struct Atomic {
    const char *op, *type;
    unsigned bits;
    bool flushes; /* sums of f32 in global memory: subnormals become zero */
} Atomic;

static uint64_t float_sum(const Spec *spec, uint64_t a, uint64_t b)
{
    mpfr_t x, y;
    mpfr_inits2(exact_bits(spec), x, y, (mpfr_ptr)0);
    exact_set(x, spec, a);
    exact_set(y, spec, b);
    mpfr_add(x, x, y, MPFR_RNDN);
    uint64_t result = exact_round(x, spec, MODE_EVEN, false);
    mpfr_clears(x, y, (mpfr_ptr)0);
    return result;
}

static uint64_t atomic_result(const Atomic *atomic, uint64_t old, uint64_t b, uint64_t c)
{
    bool is_signed = atomic->type[0] == 's';
    int64_t x = signed_bits(old, atomic->bits), y = signed_bits(b, atomic->bits);
    bool less = is_signed ? x < y : old < b;
    Type type = type_from_name(atomic->type);
    const Spec *spec = spec_of_type(type);
    if (spec && strncmp(atomic->op, "add", 3) == 0) {
        uint64_t result = 0;
        unsigned part = spec_bits(spec);
        for (unsigned shift = 0; shift < atomic->bits; shift += part)
            result |= float_sum(spec, low_bits(old >> shift, part), low_bits(b >> shift, part)) << shift;
        if (atomic->flushes)
            result = spec_flush(spec, float_sum(spec, spec_flush(spec, old), spec_flush(spec, b)));
        return result;
    }
    if (strcmp(atomic->op, "add") == 0)
        return old + b;
    if (strcmp(atomic->op, "min") == 0)
        return less ? old : b;
    if (strcmp(atomic->op, "max") == 0)
        return less ? b : old;
    if (strcmp(atomic->op, "and") == 0)
        return old & b;
    if (strcmp(atomic->op, "or") == 0)
        return old | b;
    if (strcmp(atomic->op, "xor") == 0)
        return old ^ b;
    if (strcmp(atomic->op, "exch") == 0)
        return b;
    if (strcmp(atomic->op, "inc") == 0)
        return old >= b ? 0 : old + 1;
    if (strcmp(atomic->op, "dec") == 0)
        return old == 0 || old > b ? b : old - 1;
    return old == b ? c : old; /* cas */
}

/* Each thread has a word of its own in 'space', which holds its first input. */
static void check_atomic(const Atomic *atomic, bool shared, bool red)
{
    static uint64_t in[THREADS * WORDS], out[THREADS * WORDS];
    char name[64], body[1024];
    const char *reg = atomic->bits == 16 ? "%h" : atomic->bits == 32 ? "%r" : "%x";
    bool cas = strcmp(atomic->op, "cas") == 0;
    const char *space = shared ? "shared" : "global";
    snprintf(name, sizeof name, "%s.%s.%s.%s", red ? "red" : "atom", space, atomic->op, atomic->type);
    fill_random(name, in);
    for (unsigned i = 0; i < THREADS; i++) /* some that compare equal */
        if (cas && i % 2)
            in[i * WORDS + 1] = in[i * WORDS];
    char result[16] = "", swap[16] = "";
    if (!red)
        snprintf(result, sizeof result, "%s4, ", reg);
    if (cas)
        snprintf(swap, sizeof swap, ", %s3", reg);
    snprintf(body, sizeof body,
             ".shared .align 8 .b64 own[32];\n"
             "ld.global.b%u %s1, [%%in]; ld.global.b%u %s2, [%%in+8]; ld.global.b%u %s3, [%%in+16];\n"
             "mov.u64 %%x7, own; mov.u32 %%r7, %%tid.x; mad.wide.u32 %%x7, %%r7, 8, %%x7;\n"
             "add.u64 %%x8, %%out, 8; mov.b64 %%x5, 0; st.shared.b64 [%%x7], %%x5;\n"
             "st.%s.b%u [%s], %s1;\n"
             "%s.%s.%s.%s %s[%s], %s2%s;\n"
             "ld.%s.b%u %s5, [%s]; st.global.b%u [%%out+8], %s5;\n%s",
             atomic->bits, reg, atomic->bits, reg, atomic->bits, reg, space, atomic->bits, shared ? "%x7" : "%x8", reg,
             red ? "red" : "atom", space, atomic->op, atomic->type, result, shared ? "%x7" : "%x8", reg, swap, space,
             atomic->bits, reg, shared ? "%x7" : "%x8", atomic->bits, reg, "");
    if (!red)
        snprintf(body + strlen(body), sizeof body - strlen(body), "st.global.b%u [%%out], %s4;\n", atomic->bits, reg);
    run_kernel(name, body, in, out);
    for (unsigned i = 0; i < THREADS; i++) {
        const uint64_t *operands = in + i * WORDS;
        uint64_t old = low_bits(operands[0], atomic->bits), b = low_bits(operands[1], atomic->bits);
        uint64_t now = low_bits(atomic_result(atomic, old, b, operands[2]), atomic->bits);
        const Spec *spec = spec_of_type(type_from_name(atomic->type));
        bool nans = spec && spec_bits(spec) == atomic->bits && spec_is_nan(spec, now) &&
                    spec_is_nan(spec, out[i * WORDS + 1]);
        if ((!red && out[i * WORDS] != old) || (out[i * WORDS + 1] != now && !nans))
            fail_msg("%s of %llx, %llx, %llx: returns %llx and leaves %llx, not %llx", name, (unsigned long long)old,
                     (unsigned long long)b, (unsigned long long)operands[2], (unsigned long long)out[i * WORDS],
                     (unsigned long long)out[i * WORDS + 1], (unsigned long long)now);
    }
}

static void atomics_agree(void **state)
{
    (void)state;
    static const Atomic atomics[] = {
        {"add", "u32", 32, false},        {"add", "s32", 32, false},         {"add", "u64", 64, false},
        {"add", "f32", 32, false},        {"add", "f64", 64, false},         {"add.noftz", "f16", 16, false},
        {"add.noftz", "bf16", 16, false}, {"add.noftz", "f16x2", 32, false}, {"add.noftz", "bf16x2", 32, false},
        {"min", "u32", 32, false},        {"min", "s32", 32, false},         {"min", "u64", 64, false},
        {"min", "s64", 64, false},        {"max", "u32", 32, false},         {"max", "s32", 32, false},
        {"max", "u64", 64, false},        {"max", "s64", 64, false},         {"and", "b32", 32, false},
        {"and", "b64", 64, false},        {"or", "b32", 32, false},          {"or", "b64", 64, false},
        {"xor", "b32", 32, false},        {"xor", "b64", 64, false},         {"inc", "u32", 32, false},
        {"dec", "u32", 32, false},        {"exch", "b32", 32, false},        {"exch", "b64", 64, false},
        {"cas", "b16", 16, false},        {"cas", "b32", 32, false},         {"cas", "b64", 64, false},
    };
    for (size_t i = 0; i < COUNT_OF(atomics); i++) {
        bool no_red = strcmp(atomics[i].op, "exch") == 0 || strcmp(atomics[i].op, "cas") == 0;
        for (unsigned shared = 0; shared < 2; shared++) {
            Atomic atomic = atomics[i];
            atomic.flushes = !shared && strcmp(atomic.type, "f32") == 0;
            check_atomic(&atomic, shared, false);
            if (!no_red)
                check_atomic(&atomic, shared, true);
        }
    }
}

/* The lanes that take part in a round: all, half, one, or a random set. */
static uint32_t members_of(unsigned round)
{
    uint32_t random = (uint32_t)random_next(&(Random){round});
    return round % 4 == 0 ? UINT32_MAX : round % 4 == 1 ? UINT32_C(0xffff) << round % 17 : random | 1;
}

typedef uint64_t Expected(unsigned round, unsigned lane, const uint64_t *in, bool *predicate, bool *open);

/* Runs 'instruction' for the members only; "%r4" and "%p2" are its results, %r1 to %r3 its operands, %r5 the
 * members. */
static void check_warp(const char *instruction, Expected *expected)
{
    static uint64_t in[THREADS * WORDS], out[THREADS * WORDS];
    char body[1024];
    fill_random(instruction, in);
    for (unsigned i = 0; i < THREADS; i++)
        in[i * WORDS + 3] = members_of(i / LANES_OF_WARP);
    snprintf(body, sizeof body,
             "ld.global.b32 %%r1, [%%in]; ld.global.b32 %%r2, [%%in+8]; ld.global.b32 %%r3, [%%in+16];\n"
             "ld.global.b32 %%r5, [%%in+24]; ld.global.b64 %%x1, [%%in]; setp.lt.s32 %%p1, %%r1, 3;\n"
             "setp.ne.u32 %%p2, 0, 0; mov.u32 %%r4, 0;\n"
             "mov.u32 %%r6, %%laneid; shr.u32 %%r6, %%r5, %%r6; and.b32 %%r6, %%r6, 1; setp.eq.u32 %%p3, %%r6, 0;\n"
             "@%%p3 bra out_of_it;\n%s\nst.global.b32 [%%out], %%r4; selp.b32 %%r7, 1, 0, %%p2;\n"
             "st.global.b32 [%%out+8], %%r7;\nout_of_it:",
             instruction);
    run_kernel(instruction, body, in, out);
    for (unsigned i = 0; i < THREADS; i++) {
        unsigned round = i / LANES_OF_WARP, lane = i % LANES_OF_WARP;
        bool predicate = false, open = false;
        if (!(members_of(round) >> lane & 1))
            continue;
        uint64_t value = expected(round, lane, in + (size_t)round * LANES_OF_WARP * WORDS, &predicate, &open);
        if (!open && (out[i * WORDS] != (uint32_t)value || out[i * WORDS + 1] != predicate))
            fail_msg("%s, round %u, lane %u: %llx, %llu, not %llx, %u", instruction, round, lane,
                     (unsigned long long)out[i * WORDS], (unsigned long long)out[i * WORDS + 1],
                     (unsigned long long)(uint32_t)value, predicate);
    }
}

#define OPERAND(in, lane, number) ((uint32_t)(in)[(lane) * WORDS + (number)])

/* Sources outside the members give an undefined value: for those the operand selects the lane itself. */
static uint64_t shuffle(char mode, unsigned round, unsigned lane, const uint64_t *in, bool *predicate, bool *open)
{
    unsigned b = OPERAND(in, lane, 1) & 31, c = OPERAND(in, lane, 2), clamp = c & 31, segment = c >> 8 & 31;
    unsigned most = (lane & segment) | (clamp & ~segment & 31), least = lane & segment;
    int from = mode == 'u'   ? (int)lane - (int)b
               : mode == 'd' ? (int)(lane + b)
               : mode == 'b' ? (int)(lane ^ b)
                             : (int)(least | (b & ~segment & 31));
    bool inside = mode == 'u' ? from >= (int)most : from <= (int)most;
    *predicate = inside;
    if (!inside)
        from = (int)lane;
    *open = !(members_of(round) >> from & 1);
    return OPERAND(in, (unsigned)from, 0);
}

#define SHUFFLE(name, mode)                                                                                            \
    static uint64_t name(unsigned round, unsigned lane, const uint64_t *in, bool *predicate, bool *open)               \
    {                                                                                                                  \
        return shuffle(mode, round, lane, in, predicate, open);                                                        \
    }
SHUFFLE(shuffle_up, 'u')
SHUFFLE(shuffle_down, 'd')
SHUFFLE(shuffle_butterfly, 'b')
SHUFFLE(shuffle_index, 'i')

static uint32_t ballot(unsigned round, const uint64_t *in)
{
    uint32_t result = 0;
    for (unsigned i = 0; i < LANES_OF_WARP; i++)
        if (members_of(round) >> i & 1 && (int32_t)OPERAND(in, i, 0) < 3)
            result |= UINT32_C(1) << i;
    return result;
}

static uint64_t vote_ballot(unsigned round, unsigned lane, const uint64_t *in, bool *predicate, bool *open)
{
    (void)lane, (void)predicate, (void)open;
    return ballot(round, in);
}

static uint64_t vote_all(unsigned round, unsigned lane, const uint64_t *in, bool *predicate, bool *open)
{
    (void)lane, (void)open;
    *predicate = ballot(round, in) == members_of(round);
    return 0;
}

static uint64_t vote_any(unsigned round, unsigned lane, const uint64_t *in, bool *predicate, bool *open)
{
    (void)lane, (void)open;
    *predicate = ballot(round, in) != 0;
    return 0;
}

static uint64_t vote_uniform(unsigned round, unsigned lane, const uint64_t *in, bool *predicate, bool *open)
{
    (void)lane, (void)open;
    *predicate = ballot(round, in) == 0 || ballot(round, in) == members_of(round);
    return 0;
}

static uint64_t match_any(unsigned round, unsigned lane, const uint64_t *in, bool *predicate, bool *open)
{
    uint32_t result = 0;
    (void)predicate, (void)open;
    for (unsigned i = 0; i < LANES_OF_WARP; i++)
        if (members_of(round) >> i & 1 && OPERAND(in, i, 0) == OPERAND(in, lane, 0))
            result |= UINT32_C(1) << i;
    return result;
}

static uint64_t match_all(unsigned round, unsigned lane, const uint64_t *in, bool *predicate, bool *open)
{
    *predicate = match_any(round, lane, in, predicate, open) == members_of(round);
    return *predicate ? members_of(round) : 0;
}

static uint64_t reduce(const Atomic *atomic, unsigned round, const uint64_t *in)
{
    bool first = true;
    uint64_t result = 0;
    for (unsigned i = 0; i < LANES_OF_WARP; i++) {
        if (!(members_of(round) >> i & 1))
            continue;
        result = first ? OPERAND(in, i, 0) : low_bits(atomic_result(atomic, result, OPERAND(in, i, 0), 0), 32);
        first = false;
    }
    return result;
}

#define REDUCTION(name, operation, operand_type)                                                                       \
    static uint64_t name(unsigned round, unsigned lane, const uint64_t *in, bool *predicate, bool *open)               \
    {                                                                                                                  \
        (void)lane, (void)predicate, (void)open;                                                                       \
        return reduce(&(Atomic){.op = operation, .type = operand_type, .bits = 32}, round, in);                        \
    }
REDUCTION(reduce_add, "add", "u32")
REDUCTION(reduce_min, "min", "s32")
REDUCTION(reduce_min_unsigned, "min", "u32")
REDUCTION(reduce_max, "max", "s32")
REDUCTION(reduce_max_unsigned, "max", "u32")
REDUCTION(reduce_and, "and", "b32")
REDUCTION(reduce_or, "or", "b32")
REDUCTION(reduce_xor, "xor", "b32")

static void warps_agree(void **state)
{
    (void)state;
    check_warp("shfl.sync.up.b32 %r4|%p2, %r1, %r2, %r3, %r5;", shuffle_up);
    check_warp("shfl.sync.down.b32 %r4|%p2, %r1, %r2, %r3, %r5;", shuffle_down);
    check_warp("shfl.sync.bfly.b32 %r4|%p2, %r1, %r2, %r3, %r5;", shuffle_butterfly);
    check_warp("shfl.sync.idx.b32 %r4|%p2, %r1, %r2, %r3, %r5;", shuffle_index);
    check_warp("vote.sync.ballot.b32 %r4, %p1, %r5;", vote_ballot);
    check_warp("vote.sync.all.pred %p2, %p1, %r5;", vote_all);
    check_warp("vote.sync.any.pred %p2, %p1, %r5;", vote_any);
    check_warp("vote.sync.uni.pred %p2, %p1, %r5;", vote_uniform);
    check_warp("match.any.sync.b32 %r4, %r1, %r5;", match_any);
    check_warp("match.all.sync.b32 %r4|%p2, %r1, %r5;", match_all);
    check_warp("redux.sync.add.u32 %r4, %r1, %r5;", reduce_add);
    check_warp("redux.sync.add.s32 %r4, %r1, %r5;", reduce_add);
    check_warp("redux.sync.min.s32 %r4, %r1, %r5;", reduce_min);
    check_warp("redux.sync.min.u32 %r4, %r1, %r5;", reduce_min_unsigned);
    check_warp("redux.sync.max.s32 %r4, %r1, %r5;", reduce_max);
    check_warp("redux.sync.max.u32 %r4, %r1, %r5;", reduce_max_unsigned);
    check_warp("redux.sync.and.b32 %r4, %r1, %r5;", reduce_and);
    check_warp("redux.sync.or.b32 %r4, %r1, %r5;", reduce_or);
    check_warp("redux.sync.xor.b32 %r4, %r1, %r5;", reduce_xor);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(atomics_agree),
        cmocka_unit_test(warps_agree),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
