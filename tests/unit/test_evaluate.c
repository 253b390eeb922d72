/* The analyses' evaluation of instructions, against the emulator: every pure row of the table in every spelling that
 * they evaluate, on corner values and random operands, with registers wider than the type and with constants.
 *
 * EVALUATE=GLOB restricts the rows, by id; EVALUATE_VERBOSE=1 prints a line for each row. */
#include <fnmatch.h>
#include <stdlib.h>

#include "analysis/evaluate/evaluate.h"
#include "opt/replicas/low_bits.h"
#include "support/random.h"
#include "tests/oracle/emulate.h"
#include "tests/unit/test_registers_support.h"

typedef struct Totals {
    unsigned rows, kernels;
    uint64_t tuples, sums, narrowed, wrong;
    /* of the row at hand */
    unsigned row_kernels, row_refused;
    uint64_t row_tuples, row_known, row_sums, row_narrowed, row_wrong;
    Random random;
} Totals;

/* The probe's instruction as the analyses see it. */
typedef struct Subject {
    const Probe *probe;
    Module *module;
    Body *body;
    const Inst *inst;
    Computation computation;
} Subject;

static const Inst *inst_of_probe(const Body *body)
{
    for (size_t b = 0; b < body->blocks.count; b++)
        for (const Inst *inst = body->blocks.data[b]->first; inst; inst = inst->next)
            for (unsigned r = 0; r < inst->ref_count; r++)
                if (inst->refs[r].role == REF_DEF &&
                    strncmp(body->regs.data[body->regs.data[inst->refs[r].reg].origin].name, "%d0", 3) == 0)
                    return inst;
    return NULL;
}

/* False if the instruction is refused. */
static bool subject_find(const Probe *probe, const Buf *text, Subject *subject)
{
    *subject = (Subject){.probe = probe, .module = module_of_text(buf_text(text))};
    subject->body = body_in_ssa(module_find_function(subject->module, "probe"));
    subject->inst = inst_of_probe(subject->body);
    return subject->inst && computation_of(subject->body, subject->inst, &subject->computation);
}

static unsigned value_bits(const ProbeOperand *operand)
{
    return operand->reg_bits > 64 ? 64 : operand->reg_bits;
}

static bool bounds_has(const Bounds *bounds, uint64_t value)
{
    int64_t number = signed_bits(value, bounds->bits);
    return value >= bounds->low && value <= bounds->high && number >= bounds->least && number <= bounds->most &&
           !(value & bounds->zeros);
}

/* Reads the contents of the sources' registers; of constants, the written values. */
static void values_read(const Subject *subject, const uint64_t *in, uint64_t *values)
{
    for (unsigned i = 0; i < subject->computation.source_count; i++) {
        const ProbeOperand *source = &subject->probe->sources[i];
        values[i] = source->immediate ? low_bits((uint64_t)source->value, subject->computation.sources[i].bits)
                                      : low_bits(in[source->word], value_bits(source));
    }
}

/* A range around the value: on each side nearby, far away, or as far as there are integers. */
static uint64_t below(Random *random, uint64_t room)
{
    uint64_t kind = random_next(random) % 4, step = random_next(random);
    return kind == 0 ? 0 : kind == 1 ? room : room == UINT64_MAX ? step : (kind == 2 ? step % 16 : step) % (room + 1);
}

/* Something that is true of the value. */
static Bounds knowledge_of(Random *random, unsigned bits, uint64_t value)
{
    uint64_t all = low_bits(UINT64_MAX, bits), sign = UINT64_C(1) << (bits - 1), flipped = value ^ sign;
    uint64_t under = below(random, value), over = below(random, all - value);
    switch (random_next(random) % 6) {
    case 0: return bounds_any(bits);
    case 1: return bounds_point(bits, value);
    case 2: return bounds_with_zeros(bounds_any(bits), ~value & random_next(random));
    case 3: return bounds_with_zeros(bounds_unsigned(bits, value - under, value + over), ~value & random_next(random));
    case 4: return bounds_unsigned(bits, value - under, value + over);
    default:
        under = below(random, flipped);
        over = below(random, all - flipped);
        return bounds_wrapped(bits, signed_bits((flipped - under) ^ sign, bits),
                             signed_bits((flipped + over) ^ sign, bits));
    }
}

static void report(Totals *totals, const Subject *subject, const char *what, const uint64_t *values, uint64_t got)
{
    enum { MOST_REPORTS = 8 };
    if (totals->row_wrong++ >= MOST_REPORTS)
        return;
    print_message("%s (%s):", subject->probe->name, what);
    for (unsigned i = 0; i < subject->computation.source_count; i++)
        print_message(" %llx in %u bits,", (unsigned long long)values[i], subject->computation.sources[i].reg_bits);
    print_message(" is %llx in %u bits\n", (unsigned long long)got, subject->computation.reg_bits);
}

static bool sum_agrees(const Computation *c, const ComputedSum *sum, const uint64_t *values, uint64_t result)
{
    uint64_t total = sum->constant, read[COMPUTE_SOURCES];
    for (unsigned i = 0; i < c->source_count; i++)
        read[i] = c->sources[i].is_signed
                      ? (uint64_t)signed_bits(low_bits(values[i], c->sources[i].bits), c->sources[i].bits)
                      : low_bits(values[i], c->sources[i].bits);
    for (unsigned i = 0; i < sum->term_count; i++)
        total += sum->terms[i].factor * read[sum->terms[i].source];
    if (sum->has_product)
        total += read[sum->factors[0]] * read[sum->factors[1]];
    return low_bits(total, sum->bits) == result;
}

/* Bounds and sums from random knowledge of the operands. */
static void check_knowledge(Totals *totals, const Subject *subject, const uint64_t *values, uint64_t result,
                            bool points)
{
    const Computation *c = &subject->computation;
    Bounds sources[COMPUTE_SOURCES], any = bounds_any(c->reg_bits);
    ComputedSum sum;
    for (unsigned i = 0; i < c->source_count; i++) {
        unsigned bits = c->sources[i].reg_bits;
        sources[i] = points || c->sources[i].is_constant ? bounds_point(bits, values[i])
                                                         : knowledge_of(&totals->random, bits, values[i]);
        if (!bounds_has(&sources[i], values[i]))
            report(totals, subject, "what is known", values, result);
    }
    Bounds bounds = computation_bounds_of(c, sources);
    if (bounds.bits != c->reg_bits || !bounds_has(&bounds, result))
        report(totals, subject, "bounds", values, result);
    totals->row_narrowed += !points && (bounds.low != any.low || bounds.high != any.high || bounds.least != any.least ||
                                        bounds.most != any.most || bounds.zeros);
    if (!computation_sum(c, sources, &sum))
        return;
    totals->row_sums++;
    if (!sum_agrees(c, &sum, values, result))
        report(totals, subject, "sum", values, result);
}

/* The lowest bits, of which some are known of the operands. */
static void check_low_bits(Totals *totals, const Subject *subject, const uint64_t *values, uint64_t result)
{
    const Computation *c = &subject->computation;
    LowBits sources[COMPUTE_SOURCES];
    for (unsigned i = 0; i < c->source_count; i++) {
        const unsigned count = (unsigned)random_below(&totals->random, LOW_BITS_MOST + 1);
        sources[i] = (LowBits){(uint8_t)count, (uint8_t)low_bits(values[i], count)};
    }
    const LowBits found = low_bits_of(c, sources);
    totals->row_narrowed += found.count > 0;
    if (low_bits(result, found.count) != found.value)
        report(totals, subject, "lowest bits", values, result);
    const Bounds around = bounds_unsigned(c->reg_bits, result - result % 3, result);
    const Bounds bounds = low_bits_bounds(found, around);
    if (!bounds_has(&bounds, result))
        report(totals, subject, "bounds of lowest bits", values, result);
}

static void check_tuple(Totals *totals, const Subject *subject, const uint64_t *in, uint64_t result)
{
    enum { TRIES = 4 };
    const Computation *c = &subject->computation;
    uint64_t values[COMPUTE_SOURCES], computed;
    values_read(subject, in, values);
    result = low_bits(result, c->reg_bits);
    bool is_known = computation_value(c, values, &computed);
    totals->row_tuples++;
    totals->row_known += is_known;
    if (is_known ? computed != result : c->op != COMPUTE_DIV && c->op != COMPUTE_REM)
        report(totals, subject, "value", values, result);
    if (computation_copied(subject->body, subject->inst) != REG_NONE && result != values[0])
        report(totals, subject, "copy", values, result);
    check_knowledge(totals, subject, values, result, true);
    for (unsigned i = 0; i < TRIES; i++)
        check_low_bits(totals, subject, values, result);
    for (unsigned i = 0; i < TRIES; i++)
        check_knowledge(totals, subject, values, result, false);
}

/* False if the instruction is refused. */
static bool check_probe(const Probe *probe, Totals *totals)
{
    Arena *arena = arena_new();
    Buf text = {0};
    Subject subject;
    unsigned count;
    probe_write_kernel(probe, &text);
    bool is_evaluated = subject_find(probe, &text, &subject);
    totals->row_kernels++;
    if (is_evaluated) {
        uint64_t *inputs = probe_inputs(probe, arena, &count);
        Module *module;
        EmulatorResult *result = probe_emulate(arena, probe, &text, inputs, count, &module);
        assert_non_null(result);
        if (result->fault.kind != FAULT_NONE)
            fail_msg("%s is evaluated, but not executed", probe->name);
        const uint64_t *out = (const uint64_t *)emulator_buffer(result, "out")->bytes;
        for (unsigned i = 0; i < count; i++)
            check_tuple(totals, &subject, inputs + (size_t)i * probe->input_words,
                        out[(size_t)i * probe->output_words + probe->dests[0].word]);
    } else {
        totals->row_refused++;
    }
    body_and_module_free(subject.module, subject.body);
    buf_free(&text);
    arena_free(arena);
    return is_evaluated;
}

/* Conversions take registers wider than their types. */
static void check_wider(const Probe *probe, Totals *totals)
{
    static const unsigned sizes[] = {16, 32, 64};
    for (unsigned i = 0; i < COUNT_OF(sizes); i++)
        for (unsigned k = 0; k < COUNT_OF(sizes); k++) {
            Probe wider = *probe;
            if (sizes[i] < type_bits(probe->dests[0].type) || sizes[k] < type_bits(probe->sources[0].type))
                continue;
            wider.dests[0].reg_bits = sizes[i];
            wider.sources[0].reg_bits = sizes[k];
            check_probe(&wider, totals);
        }
}

/* Each source as a constant, where the row allows that; packed integers have none. */
static void check_constants(const Probe *probe, Totals *totals)
{
    static const int64_t constants[] = {0, 1, -1, 5, 32, 0x7f80, -0x8000};
    const Pattern *patterns = form_patterns(probe->form);
    bool is_packed = probe->types[0] == TYPE_S16X2 || probe->types[0] == TYPE_U16X2;
    for (unsigned i = 0; i < probe->source_count && !is_packed; i++) {
        if (probe->sources[i].immediate || !(patterns[i + 1].flags & PATTERN_IMMEDIATE))
            continue;
        Probe with = *probe;
        with.sources[i].immediate = true;
        with.sources[i].value = constants[random_next(&totals->random) % COUNT_OF(constants)];
        check_probe(&with, totals);
    }
}

static void visit_probe(const Probe *probe, void *context)
{
    Totals *totals = context;
    if (!check_probe(probe, totals))
        return;
    if (probe->op == OP_CVT)
        check_wider(probe, totals);
    if (probe->op != OP_LOP3 && spec_of_type(probe->sources[0].type) == NULL)
        check_constants(probe, totals);
}

static void check_row(const Form *form, Totals *totals, bool verbose)
{
    totals->row_kernels = totals->row_refused = 0;
    totals->row_tuples = totals->row_known = totals->row_sums = totals->row_narrowed = totals->row_wrong = 0;
    probes_visit(form, NULL, visit_probe, totals);
    if (totals->row_kernels == totals->row_refused)
        return;
    if (verbose || totals->row_wrong)
        print_message("%s: %u kernels, %u refused, %llu tuples, %llu sums, %llu bounds, %llu wrong\n", form_name(form),
                      totals->row_kernels, totals->row_refused, (unsigned long long)totals->row_tuples,
                      (unsigned long long)totals->row_sums, (unsigned long long)totals->row_narrowed,
                      (unsigned long long)totals->row_wrong);
    if (totals->row_known == 0)
        fail_msg("%s is evaluated, but no value is ever known", form_name(form));
    totals->rows++;
    totals->kernels += totals->row_kernels - totals->row_refused;
    totals->tuples += totals->row_tuples;
    totals->sums += totals->row_sums;
    totals->narrowed += totals->row_narrowed;
    totals->wrong += totals->row_wrong;
}

static void evaluated_rows_agree_with_the_emulator(void **state)
{
    (void)state;
    const char *only = getenv("EVALUATE");
    bool verbose = getenv("EVALUATE_VERBOSE") != NULL;
    Totals totals = {.random = {11}};
    for (unsigned op = OP_UNKNOWN + 1; op < OP_COUNT; op++) {
        unsigned count;
        const Form *first = opcode_first_form((Opcode)op, &count);
        for (const Form *form = first; form < first + count; form++)
            if (form_effects(form) & EFFECT_PURE && (!only || fnmatch(only, form_name(form), 0) == 0))
                check_row(form, &totals, verbose);
    }
    print_message("%u rows: %u kernels, %llu tuples, %llu sums, %llu bounds narrower than the type, %llu wrong\n",
                  totals.rows, totals.kernels, (unsigned long long)totals.tuples, (unsigned long long)totals.sums,
                  (unsigned long long)totals.narrowed, (unsigned long long)totals.wrong);
    assert_int_equal(totals.wrong, 0);
}

/* Checks a load, "MODIFIERS TYPE", to a register of 'bits' bits, in the emulator. */
static void check_load(const char *spelling, const char *operand, unsigned bits, Random *random)
{
    Arena *arena = arena_new();
    Buf text = {0};
    uint64_t inputs[PROBE_BLOCK];
    const Probe probe = {.name = "load", .input_words = 1, .output_words = 1};
    for (unsigned i = 0; i < PROBE_BLOCK; i++)
        inputs[i] = random_next(random) >> random_next(random) % 64;
    buf_printf(&text,
               KERNEL_HEAD ".visible .entry probe(.param .u64 in, .param .u64 out, .param .u32 count)\n{\n"
               ".reg .b64 %%in, %%out;\n.reg .b32 %%i;\n.reg .b%u %%d0;\nmov.u32 %%i, %%tid.x;\n"
               "ld.param.u64 %%in, [in];\nmad.wide.u32 %%in, %%i, 8, %%in;\nld.param.u64 %%out, [out];\n"
               "mad.wide.u32 %%out, %%i, 8, %%out;\n%s %s, [%%in];\nst.global.b%u [%%out], %%d0;\nret;\n}\n",
               bits, spelling, operand, bits);
    Module *module, *own = module_of_text(buf_text(&text));
    Body *body = body_in_ssa(module_find_function(own, "probe"));
    EmulatorResult *result = probe_emulate(arena, &probe, &text, inputs, PROBE_BLOCK, &module);
    assert_non_null(result);
    assert_int_equal(result->fault.kind, FAULT_NONE);
    const Inst *load = body->blocks.data[0]->last->prev->prev;
    const uint64_t *out = (const uint64_t *)emulator_buffer(result, "out")->bytes;
    Bounds bounds = bounds_of_load(body, load, body->blocks.data[0]->last->prev->refs[1].reg);
    assert_int_equal(bounds.bits, bits);
    for (unsigned i = 0; i < PROBE_BLOCK; i++)
        if (!bounds_has(&bounds, low_bits(out[i], bits)))
            fail_msg("%s: %llx in %u bits", spelling, (unsigned long long)out[i], bits);
    body_and_module_free(own, body);
    buf_free(&text);
    arena_free(arena);
}

static void loads_are_bounded(void **state)
{
    (void)state;
    static const char *const types[] = {"u8", "s8", "b8", "u16", "s16", "b16", "u32", "s32", "b32", "u64"};
    Random random = {5};
    for (unsigned t = 0; t < COUNT_OF(types); t++)
        for (unsigned bits = 16; bits <= 64; bits *= 2) {
            char spelling[64];
            if (type_bits(type_from_name(types[t])) > bits)
                continue;
            snprintf(spelling, sizeof spelling, "ld.global.%s", types[t]);
            check_load(spelling, "%d0", bits, &random);
            snprintf(spelling, sizeof spelling, "ld.volatile.global.%s", types[t]);
            check_load(spelling, "%d0", bits, &random);
            if (type_bits(type_from_name(types[t])) == 64)
                continue;
            snprintf(spelling, sizeof spelling, "ld.global.v2.%s", types[t]);
            check_load(spelling, "{_, %d0}", bits, &random);
        }
}

/* Tells whether the instruction that makes %r9 can be decoded: 0 not at all, 1 if it is executed, 2 in any case. */
static unsigned known_of(const char *code)
{
    Arena *arena = arena_new();
    Computation c;
    Module *module = module_of_text(
        arena_printf(arena, KERNEL_HEAD ".visible .entry k(.param .u64 p)\n{\n.reg .pred %%p<9>;\n.reg .b16 %%h<9>;\n"
                            ".reg .b32 %%r<20>;\n.reg .f32 %%f<9>;\n.reg .b64 %%d<9>;\nld.param.u64 %%d1, [p];\n"
                            "ld.global.u32 %%r1, [%%d1];\nmov.u32 %%r9, 7;\nsetp.eq.u32 %%p1, %%r1, 3;\n"
                            "cvt.u16.u32 %%h1, %%r1;\nmov.b32 %%f1, %%r1;\n%s\nst.global.u32 [%%d1], %%r9;\nret;\n}\n",
                     code));
    Body *body = body_in_ssa(module_find_function(module, "k"));
    const Inst *inst = body->blocks.data[0]->last->prev->prev;
    unsigned known = computation_if_executed(body, inst, &c) + computation_of(body, inst, &c);
    body_and_module_free(module, body);
    arena_free(arena);
    return known;
}

static void what_is_not_listed_is_refused(void **state)
{
    (void)state;
    static const struct {
        const char *code;
        unsigned known;
    } cases[] = {
        {"add.u32 %r9, %r1, 1;", 2},
        {"@%p1 add.u32 %r9, %r1, 1;", 1},
        {"@!%p1 mov.u32 %r9, %r1;", 1},
        {"add.cc.u32 %r9, %r1, 1;", 2},
        {"mov.b32 %r9, {%h1, %h1};", 0},
        {"mov.u32 %r9, %tid.x;", 0},
        {"add.rn.f32 %f2, %f1, %f1; mov.b32 %r9, %f2;", 2},
        {"vadd.u32.u32.u32 %r9, %r1, %r1;", 0},
        {"vmin2.u32.u32.u32 %r9, %r1, %r1, %r1;", 0},
        {"cvt.pack.sat.u16.s32 %r9, %r1, %r1;", 0},
        {"cvt.rzi.u32.f32 %r9, %f1;", 0},
        {"add.rn.f16x2 %r9, %r1, %r1;", 0},
        {"mul24.hi.u32 %r9, %r1, %r1;", 0},
        {"dp4a.u32.u32 %r9, %r1, %r1, %r1;", 0},
        {"prmt.b32.f4e %r9, %r1, %r1, %r1;", 0},
        {"setp.lt.u32 %p2|%p3, %r1, 3; selp.u32 %r9, 1, 0, %p3;", 2},
        {"atom.global.add.u32 %r9, [%d1], 1;", 0},
        {"add.cc.u32 %r2, %r1, 1; addc.u32 %r9, %r1, 1;", 0},
    };
    for (unsigned i = 0; i < COUNT_OF(cases); i++)
        if (known_of(cases[i].code) != cases[i].known)
            fail_msg("%s: %u", cases[i].code, known_of(cases[i].code));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(evaluated_rows_agree_with_the_emulator),
        cmocka_unit_test(loads_are_bounded),
        cmocka_unit_test(what_is_not_listed_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
