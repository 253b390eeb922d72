/* Every pure instruction of the table in every spelling, on corner values and random operands, in the emulator against
 * an independent oracle (tests/oracle).
 *
 * ORACLE=GLOB restricts the rows, by id; ORACLE_VERBOSE=1 prints a line for each row. */
#include <fnmatch.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tests/oracle/emulate.h"

/* Pure rows without an oracle of this kind, and the tests that cover them. */
static const struct {
    const char *rows, *reason;
} exceptions[] = {
    {"mov.sreg*", "special registers depend on the launch: test_emulator and the corpus"},
    {"mov.addr*", "addresses are the machine's own choice: test_emulator, generic addressing"},
    {"mov.fn", "test_emulator, calls through a table"},
    {"mov.kernel", "only for launches from the device, which the machine does not know"},
    {"cvta*", "windows of generic addresses are the machine's own choice: test_emulator"},
    {"isspacep*", "needs addresses: test_emulator"},
    {"istypep", "handles of textures: no arithmetic"},
    {"mapa*", "needs a cluster: test_emulator_cluster"},
    {"getctarank*", "needs a cluster: test_emulator_cluster"},
    {"createpolicy*", "an opaque hint, which nothing reads but cache operators"},
    {"mbarrier.pending_count", "the state word is opaque: test_emulator_async"},
    {"clusterlaunchcontrol*", "not executable"},
    {"*.bare*",
     "up to PTX 1.3, when kernels had no parameters to pass inputs by: the forms with .approx or .rn are tested"},
    {"mad.f32.sm1x", "up to PTX 1.3 on sm_13: as above"},
};

typedef struct Totals {
    unsigned rows, spellings, probes, unknown_rows, refused_rows;
    uint64_t tuples, wrong;
    /* of the row at hand */
    unsigned row_probes, row_unsupported, row_unanswered, row_wrong;
    uint64_t row_tuples;
    char refusal[256];
} Totals;

static void report(const Probe *probe, const uint64_t *in, const uint64_t *got, const Answer *answer)
{
    char text[1024];
    size_t at = (size_t)snprintf(text, sizeof text, "%s of", probe->name);
    for (unsigned i = 0; i < probe->input_words; i++)
        at += (size_t)snprintf(text + at, sizeof text - at, " %llx", (unsigned long long)in[i]);
    at += (size_t)snprintf(text + at, sizeof text - at, " is");
    for (unsigned i = 0; i < probe->output_words; i++) {
        const struct AnswerWord *word = &answer->words[i];
        at += (size_t)snprintf(text + at, sizeof text - at, " %llx", (unsigned long long)word->bits);
        for (unsigned k = 0; k < word->part_count; k++)
            at += word->parts[k].kind == PART_NAN
                      ? (size_t)snprintf(text + at, sizeof text - at, " (a NaN)")
                      : (size_t)snprintf(text + at, sizeof text - at, " (%.17g to %.17g)", word->parts[k].low,
                                         word->parts[k].high);
    }
    at += (size_t)snprintf(text + at, sizeof text - at, ", not");
    for (unsigned i = 0; i < probe->output_words; i++)
        at += (size_t)snprintf(text + at, sizeof text - at, " %llx", (unsigned long long)got[i]);
    print_message("%s\n", text);
}

static void check_probe(const Probe *probe, void *context)
{
    enum { MOST_REPORTS = 3 };
    Totals *totals = context;
    Arena *arena = arena_new();
    Buf text = {0};
    unsigned count, wrong = 0;
    totals->row_probes++;
    probe_write_kernel(probe, &text);
    uint64_t *inputs = probe_inputs(probe, arena, &count);
    Module *module;
    EmulatorResult *result = probe_emulate(arena, probe, &text, inputs, count, &module);
    buf_free(&text);
    if (!result) {
        totals->row_wrong++;
        print_message("%s: the kernel does not parse\n", probe->name);
        arena_free(arena);
        return;
    }
    if (result->fault.kind == FAULT_UNSUPPORTED) {
        totals->row_unsupported++;
        snprintf(totals->refusal, sizeof totals->refusal, "%s: %s", probe->name, result->fault.message);
    } else if (result->fault.kind != FAULT_NONE) {
        totals->row_wrong++;
        print_message("%s\n", fault_text(arena, module, &result->fault));
    } else {
        const uint64_t *got = (const uint64_t *)emulator_buffer(result, "out")->bytes;
        for (unsigned i = 0; i < count; i++) {
            const uint64_t *in = inputs + (size_t)i * probe->input_words, *out = got + (size_t)i * probe->output_words;
            Answer answer;
            if (!oracle_answer(probe, in, &answer)) {
                totals->row_unanswered++;
                break;
            }
            totals->row_tuples++;
            if (answer_accepts(probe, &answer, out))
                continue;
            if (wrong++ < MOST_REPORTS && totals->row_wrong < 2 * MOST_REPORTS)
                report(probe, in, out, &answer);
        }
        totals->row_wrong += wrong > 0;
        totals->wrong += wrong;
    }
    arena_free(arena);
}

static const char *exception_reason(const char *row)
{
    for (size_t i = 0; i < COUNT_OF(exceptions); i++)
        if (fnmatch(exceptions[i].rows, row, 0) == 0)
            return exceptions[i].reason;
    return NULL;
}

static unsigned check_row(const Form *form, Totals *totals, bool verbose)
{
    const char *reason = exception_reason(form_name(form));
    totals->row_probes = totals->row_unsupported = totals->row_unanswered = totals->row_wrong = 0;
    totals->row_tuples = 0;
    totals->rows++;
    if (reason) {
        totals->unknown_rows++;
        if (verbose)
            print_message("%s: %s\n", form_name(form), reason);
        return 0;
    }
    unsigned probes = probes_visit(form, NULL, check_probe, totals);
    totals->probes += probes;
    totals->tuples += totals->row_tuples;
    if (verbose)
        print_message("%s: %u probes, %llu tuples, %u wrong, %u not executable\n", form_name(form), probes,
                      (unsigned long long)totals->row_tuples, totals->row_wrong, totals->row_unsupported);
    /* Either all spellings of a row are executable or none. */
    if (totals->row_unsupported == probes && probes) {
        totals->refused_rows++;
        print_message("%s: not executable\n", form_name(form));
        return 0;
    }
    if (totals->row_unsupported)
        print_message("%s: %u of %u spellings are not executable: %s\n", form_name(form), totals->row_unsupported,
                      probes, totals->refusal);
    if (totals->row_unanswered)
        print_message("%s: executable, but %u of %u spellings have no oracle and no reason why\n", form_name(form),
                      totals->row_unanswered, probes);
    if (!probes)
        print_message("%s: no kernel could be written, and no reason why\n", form_name(form));
    return totals->row_wrong || totals->row_unanswered || totals->row_unsupported || !probes;
}

static void pure_instructions_agree(void **state)
{
    (void)state;
    const char *only = getenv("ORACLE");
    bool verbose = getenv("ORACLE_VERBOSE") != NULL;
    Totals totals = {0};
    unsigned wrong_rows = 0;
    for (unsigned op = OP_UNKNOWN + 1; op < OP_COUNT; op++) {
        unsigned count;
        const Form *first = opcode_first_form((Opcode)op, &count);
        for (const Form *form = first; form < first + count; form++)
            if (form_effects(form) & EFFECT_PURE && (!only || fnmatch(only, form_name(form), 0) == 0))
                wrong_rows += check_row(form, &totals, verbose);
    }
    print_message("%u pure rows, %u excepted, %u not executable: %u kernels, %llu tuples, %llu wrong\n", totals.rows,
                  totals.unknown_rows, totals.refused_rows, totals.probes, (unsigned long long)totals.tuples,
                  (unsigned long long)totals.wrong);
    assert_int_equal(wrong_rows, 0);
}

typedef struct Vector {
    char instruction[64];
    uint64_t inputs[PROBE_WORDS], result;
    unsigned count;
    char type[8], exactness[16];
    bool tried;
} Vector;

typedef struct Vectors {
    Vector *data;
    size_t count, wrong;
} Vectors;

static bool vector_parse(char *line, Vector *vector)
{
    char inputs[128], result[32];
    if (line[0] == '#' || sscanf(line, "%63s %127s %7s %31s %15s", vector->instruction, inputs, vector->type, result,
                                 vector->exactness) != 5)
        return false;
    for (char *at = inputs; *at && vector->count < PROBE_WORDS;) {
        vector->inputs[vector->count++] = strtoull(at, &at, 16);
        at += *at == ',';
    }
    vector->result = strtoull(result, NULL, 16);
    return true;
}

static void check_vectors(const Probe *probe, void *context)
{
    Vectors *vectors = context;
    for (size_t i = 0; i < vectors->count; i++) {
        Vector *vector = &vectors->data[i];
        if (vector->tried || strcmp(vector->instruction, probe->spelling) != 0 || vector->count < probe->input_words)
            continue;
        /* The variant without selectors and inversions; lop3's table is the last input. */
        if (strchr(probe->name, '!') || strstr(probe->name, " s0.") || strchr(probe->name, '-') ||
            (probe->op == OP_LOP3 && (uint64_t)probe->sources[3].value != vector->inputs[3]))
            continue;
        Answer answer;
        uint64_t got[PROBE_WORDS] = {vector->result};
        vector->tried = true;
        if (!oracle_answer(probe, vector->inputs, &answer))
            continue;
        /* Only the first result is in the file, and 16-bit ones lie in wider registers there. */
        for (unsigned k = 1; k < probe->output_words; k++)
            answer.words[k].care = 0;
        bool narrow = type_bits(probe->dests[0].type) == 8;
        answer.words[0].care &= low_bits(UINT64_MAX, narrow ? 16 : 64);
        answer.words[0].care &= low_bits(UINT64_MAX, probe->dests[0].reg_bits);
        /* ptxas folds some NaNs with their payload, which is not specified. */
        const Spec *spec = spec_of_type(probe->dests[0].type);
        bool nans = spec && spec_bits(spec) == probe->dests[0].reg_bits && spec_is_nan(spec, got[0]) &&
                    spec_is_nan(spec, answer.words[0].bits);
        if (nans || answer_accepts(probe, &answer, got))
            continue;
        vectors->wrong++;
        report(probe, vector->inputs, got, &answer);
    }
}

static void oracle_agrees_with_the_assembler(void **state)
{
    (void)state;
    Arena *arena = arena_new();
    VEC(Vector) read = {0};
    char line[512];
    FILE *file = fopen("tests/isa/vectors.tsv", "r");
    assert_non_null(file);
    while (fgets(line, sizeof line, file)) {
        Vector vector = {0};
        if (vector_parse(line, &vector) && strcmp(vector.instruction, "instruction") != 0)
            VEC_PUSH(arena, read, vector);
    }
    fclose(file);
    Vectors vectors = {.data = read.data, .count = read.count};
    for (unsigned op = OP_UNKNOWN + 1; op < OP_COUNT; op++) {
        unsigned count;
        const Form *first = opcode_first_form((Opcode)op, &count);
        for (const Form *form = first; form < first + count; form++)
            if (form_effects(form) & EFFECT_PURE && !exception_reason(form_name(form)))
                probes_visit(form, NULL, check_vectors, &vectors);
    }
    size_t untried = 0;
    for (size_t i = 0; i < vectors.count; i++) {
        if (!vectors.data[i].tried && untried++ < 10)
            print_message("no probe for %s\n", vectors.data[i].instruction);
    }
    print_message("%zu vectors, %zu not covered, %zu wrong\n", vectors.count, untried, vectors.wrong);
    arena_free(arena);
    assert_int_equal(vectors.wrong, 0);
    assert_int_equal(untried, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pure_instructions_agree),
        cmocka_unit_test(oracle_agrees_with_the_assembler),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
