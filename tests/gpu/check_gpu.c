/* check_gpu [-a FILE] [-o ROWS] [-s STEP] [-v]
 * check_gpu -g FILE [-o ROWS] [-v]
 *
 * Tests every pure instruction that both the emulator and this GPU support, on the operands of tests/oracle: a
 * generated kernel for each spelling runs in the emulator and on the GPU, through the CUDA driver (opened at run time;
 * PTXOPT_CUDA_DRIVER names another library). The comparison ignores what the PTX ISA leaves unspecified, and leaves
 * out the tuples of tests/gpu/departures.c, where GPUs are known not to follow it; it counts those that differ.
 * Approximate functions must keep the ISA's bounds, and it prints the greatest difference. -a writes the GPU's
 * answers, a checksum for each row of the table, to a file; -g compares the emulator with such a file and needs no
 * GPU. -o runs only the rows whose name matches the glob, -s only every STEP-th spelling.
 *
 * Exit status: 0 all agree; 1 something differs, or nothing could be compared; 2 bad usage; 77 there is no GPU. */
#include <fnmatch.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "gpu/gpu.h"
#include "tests/gpu/departures.h"
#include "tests/oracle/emulate.h"

enum { NO_GPU = 77, MOST_REPORTS = 4 };

typedef struct Known {
    uint64_t tuples, different;
} Known;

typedef struct Check {
    const GpuDriver *gpu; /* NULL: only the emulator */
    char target[16];
    unsigned step, number;
    bool verbose;
    Known known[MOST_DEPARTURES];
    /* of the current row */
    unsigned probes, refused;
    uint64_t tuples, different, sum;
    double distance; /* greatest relative difference of an approximate result */
} Check;

static bool gpu_open(GpuDriver *gpu, char target[16])
{
    Buf message = {0};
    bool open = gpu_driver_open(gpu, 0, &message);
    if (open)
        snprintf(target, 16, "sm_%u%s", gpu->architecture, gpu->architecture >= 90 ? "a" : "");
    else
        printf("no GPU: %s finds no device: %s\n", gpu->path, buf_text(&message));
    buf_free(&message);
    return open;
}

/* The kernel on the GPU; false with 'out' untouched if the driver refuses it. */
static bool gpu_run(const GpuDriver *gpu, const char *text, const uint64_t *in, size_t in_bytes, uint64_t *out,
                    size_t out_bytes, unsigned count)
{
    void *module = NULL, *function;
    uint64_t in_address = 0, out_address = 0;
    bool done = false;
    if (gpu->module_load(&module, text, 0, NULL, NULL) != 0)
        return false;
    if (gpu->module_function(&function, module, "probe") == 0 && gpu->memory_alloc(&in_address, in_bytes) == 0 &&
        gpu->memory_alloc(&out_address, out_bytes) == 0) {
        void *arguments[] = {&in_address, &out_address, &count};
        done = gpu->copy_in(in_address, in, in_bytes) == 0 && gpu->copy_in(out_address, out, out_bytes) == 0 &&
               gpu->launch(function, count / PROBE_BLOCK, 1, 1, PROBE_BLOCK, 1, 1, 0, NULL, arguments, NULL) == 0 &&
               gpu->context_synchronize() == 0 && gpu->copy_out(out, out_address, out_bytes) == 0;
    }
    if (in_address)
        gpu->memory_free(in_address);
    if (out_address)
        gpu->memory_free(out_address);
    gpu->module_unload(module);
    return done;
}

static const uint64_t *emulate(Arena *arena, const Probe *probe, const Buf *text, uint64_t *inputs, unsigned count)
{
    Module *module;
    EmulatorResult *result = probe_emulate(arena, probe, text, inputs, count, &module);
    return result && result->fault.kind == FAULT_NONE ? (const uint64_t *)emulator_buffer(result, "out")->bytes : NULL;
}

/* The bits that the PTX ISA specifies, and for each part that it only specifies to be NaN, whether it is NaN. */
static uint64_t fixed_bits(const struct AnswerWord *word, uint64_t got)
{
    uint64_t bits = got & word->care;
    for (unsigned i = 0; i < word->part_count; i++)
        if (word->parts[i].kind == PART_NAN)
            bits = bits * 2 + spec_is_nan(word->parts[i].spec, got >> word->parts[i].shift);
    return bits;
}

static void measure_parts(Check *check, const struct AnswerWord *word, uint64_t a, uint64_t b)
{
    for (unsigned i = 0; i < word->part_count; i++) {
        const AnswerPart *part = &word->parts[i];
        double x = spec_decode(part->spec, a >> part->shift), y = spec_decode(part->spec, b >> part->shift);
        if (part->kind == PART_RANGE && isfinite(x) && isfinite(y) && x != 0 && isfinite(part->low))
            check->distance = fmax(check->distance, fabs((x - y) / x));
    }
}

static void report(const Probe *probe, const uint64_t *in, const uint64_t *gpu, const uint64_t *emulator)
{
    printf("%s of", probe->name);
    for (unsigned i = 0; i < probe->input_words; i++)
        printf(" %llx", (unsigned long long)in[i]);
    printf(" is");
    for (unsigned i = 0; i < probe->output_words; i++)
        printf(" %llx", (unsigned long long)gpu[i]);
    printf(" on the GPU,");
    for (unsigned i = 0; i < probe->output_words; i++)
        printf(" %llx", (unsigned long long)emulator[i]);
    printf(" in the emulator\n");
}

/* One tuple's result; true if it differs where the PTX ISA specifies it, or exceeds the bounds of an approximation. */
static bool check_tuple(Check *check, const Probe *probe, const uint64_t *in, const uint64_t *theirs,
                        const uint64_t *ours)
{
    Answer answer;
    oracle_answer(probe, in, &answer);
    bool differs = !answer_accepts(probe, &answer, theirs);
    for (unsigned k = 0; k < probe->output_words; k++) {
        uint64_t bits = fixed_bits(&answer.words[k], theirs[k]);
        differs |= bits != fixed_bits(&answer.words[k], ours[k]);
        check->sum = (check->sum ^ bits) * UINT64_C(0x9e3779b97f4a7c15);
        check->sum ^= check->sum >> 29;
        measure_parts(check, &answer.words[k], theirs[k], ours[k]);
    }
    return differs;
}

static void check_tuples(Check *check, const Probe *probe, const uint64_t *inputs, unsigned count,
                         const uint64_t *theirs, const uint64_t *ours)
{
    const Departure *departure = departure_of(probe);
    uint64_t different = 0;
    for (unsigned i = 0; i < count; i++, inputs += probe->input_words) {
        const uint64_t *gpu = theirs + (size_t)i * probe->output_words, *own = ours + (size_t)i * probe->output_words;
        if (departure && departure_concerns(departure, probe, inputs)) {
            Known *known = &check->known[departure - departures];
            known->tuples++;
            known->different += memcmp(gpu, own, 8 * probe->output_words) != 0;
        } else if (check_tuple(check, probe, inputs, gpu, own) && different++ < MOST_REPORTS &&
                   check->different < 4 * MOST_REPORTS) {
            report(probe, inputs, gpu, own);
        }
    }
    check->different += different;
}

static void check_probe(const Probe *probe, void *context)
{
    Check *check = context;
    if (check->number++ % check->step)
        return;
    Arena *arena = arena_new();
    Buf text = {0};
    unsigned count;
    probe_write_kernel(probe, &text);
    uint64_t *inputs = probe_inputs(probe, arena, &count);
    uint64_t *answers = ARENA_ARRAY(arena, uint64_t, (size_t)count * probe->output_words);
    Answer answer;
    const uint64_t *emulated =
        oracle_answer(probe, inputs, &answer) ? emulate(arena, probe, &text, inputs, count) : NULL;
    bool ran = emulated && (!check->gpu || gpu_run(check->gpu, buf_text(&text), inputs,
                                                   8 * (size_t)count * probe->input_words, answers,
                                                   8 * (size_t)count * probe->output_words, count));
    buf_free(&text);
    if (ran) {
        check->probes++;
        check->tuples += count;
        check_tuples(check, probe, inputs, count, check->gpu ? answers : emulated, emulated);
    } else {
        check->refused++;
    }
    arena_free(arena);
}

/* The answers of an earlier run: the row's name, its tuples and its checksum; false if it has none. */
static bool recorded(FILE *golden, const char *row, uint64_t *tuples, uint64_t *sum)
{
    char line[256], name[128];
    rewind(golden);
    while (fgets(line, sizeof line, golden)) {
        unsigned long long count, value;
        if (line[0] != '#' && sscanf(line, "%127s %llu %llx", name, &count, &value) == 3 && strcmp(name, row) == 0) {
            *tuples = count;
            *sum = value;
            return true;
        }
    }
    return false;
}

/* The number of tuples that were left out and, on a GPU, of those that do differ. */
static uint64_t report_departures(const Check *check)
{
    Known total = {0};
    for (unsigned i = 0; i < departure_count; i++) {
        const Departure *departure = &departures[i];
        const Known *known = &check->known[i];
        total.tuples += known->tuples;
        total.different += known->different;
        if (check->gpu && known->tuples)
            printf("known: %7llu of %7llu tuples of %s %s: %s\n", (unsigned long long)known->different,
                   (unsigned long long)known->tuples, departure->rows, departure->kernels ? departure->kernels : "*",
                   departure->why);
    }
    if (check->gpu)
        printf("%llu tuples differ as known\n", (unsigned long long)total.different);
    return total.tuples;
}

static int check_all(Check *check, const char *rows, FILE *accept, FILE *golden)
{
    unsigned shared = 0, wrong = 0, missing = 0;
    uint64_t tuples = 0;
    for (unsigned op = OP_UNKNOWN + 1; op < OP_COUNT; op++) {
        unsigned count;
        const Form *first = opcode_first_form((Opcode)op, &count);
        for (const Form *form = first; form < first + count; form++) {
            if (!(form_effects(form) & EFFECT_PURE) || (rows && fnmatch(rows, form_name(form), 0) != 0))
                continue;
            check->probes = check->refused = 0;
            check->tuples = check->different = check->sum = 0;
            check->distance = 0;
            probes_visit(form, check->target, check_probe, check);
            if (!check->probes)
                continue;
            shared++;
            tuples += check->tuples;
            bool bad = check->different > 0;
            uint64_t then_tuples, then_sum;
            if (golden && !recorded(golden, form_name(form), &then_tuples, &then_sum)) {
                missing++;
            } else if (golden && (then_tuples != check->tuples || then_sum != check->sum)) {
                printf("%s: the emulator's %llu answers are not the GPU's %llu\n", form_name(form),
                       (unsigned long long)check->tuples, (unsigned long long)then_tuples);
                bad = true;
            }
            wrong += bad;
            if (accept)
                fprintf(accept, "%s %llu %016llx\n", form_name(form), (unsigned long long)check->tuples,
                        (unsigned long long)check->sum);
            if (check->verbose || bad || check->refused)
                printf("%-24s %4u kernels %8llu tuples %6llu different, %u refused, at most %.2g apart\n",
                       form_name(form), check->probes, (unsigned long long)check->tuples,
                       (unsigned long long)check->different, check->refused, check->distance);
        }
    }
    uint64_t left_out = report_departures(check);
    printf("%u rows, %llu tuples, %llu left out, %u rows wrong%s\n", shared, (unsigned long long)tuples,
           (unsigned long long)left_out, wrong, missing ? ", some rows without an answer" : "");
    return wrong || missing || !shared ? 1 : 0;
}

/* A file of answers begins with "# NVIDIA H100 80GB HBM3\n# target sm_90a\n# step 1". */
static bool read_head(FILE *golden, Check *check)
{
    char line[256];
    bool target = false;
    while (fgets(line, sizeof line, golden) && line[0] == '#') {
        target |= sscanf(line, "# target %15s", check->target) == 1;
        sscanf(line, "# step %u", &check->step);
    }
    return target && check->step;
}

static int usage(void)
{
    fprintf(stderr, "usage: check_gpu [-a FILE] [-o ROWS] [-s STEP] [-v]\n       check_gpu -g FILE [-o ROWS] [-v]\n");
    return 2;
}

int main(int count, char **words)
{
    GpuDriver gpu;
    Check check = {.step = 1};
    const char *accept = NULL, *golden = NULL, *rows = NULL;
    int option;
    while ((option = getopt(count, words, "a:g:o:s:v")) != -1) {
        switch (option) {
        case 'a': accept = optarg; break;
        case 'g': golden = optarg; break;
        case 'o': rows = optarg; break;
        case 's': check.step = (unsigned)strtoul(optarg, NULL, 10); break;
        case 'v': check.verbose = true; break;
        default: return usage();
        }
    }
    if (optind != count || !check.step || (accept && (golden || rows)))
        return usage();
    if (golden) {
        FILE *file = fopen(golden, "r");
        if (!file || !read_head(file, &check)) {
            fprintf(stderr, "check_gpu: %s cannot be read, or names no target\n", golden);
            return 2;
        }
        int status = check_all(&check, rows, NULL, file);
        fclose(file);
        return status;
    }
    if (!gpu_open(&gpu, check.target))
        return NO_GPU;
    check.gpu = &gpu;
    printf("%s, %s\n", gpu.name, check.target);
    if (!accept)
        return check_all(&check, rows, NULL, NULL);
    char *path = NULL;
    if (asprintf(&path, "%s.new", accept) < 0)
        return 2;
    FILE *file = fopen(path, "w");
    if (!file) {
        fprintf(stderr, "check_gpu: %s cannot be written\n", path);
        return 2;
    }
    fprintf(file, "# %s\n# target %s\n# step %u\n# row, tuples, checksum of what the GPU answers\n", gpu.name,
            check.target, check.step);
    int status = check_all(&check, NULL, file, NULL);
    if (fclose(file) != 0 || rename(path, accept) != 0) {
        fprintf(stderr, "check_gpu: %s cannot be written\n", accept);
        status = 2;
    }
    free(path);
    return status;
}
