/* ptxrun: runs a kernel of a PTX file in the emulator.
 *
 *     ptxrun FILE.ptx LAUNCH.json [--against OTHER.ptx] [--factor X,Y,Z] [--grid-factor X,Y,Z] [--counters] [--race]
 *            [--unwritten] [--undefined] [--dump BUFFER] [--time] [--blocks N] [--steps N]
 *
 * With --against the launch runs with FILE.ptx, and, its block (and grid) divided by the factors, with OTHER.ptx; the
 * buffers are compared.  Exit status: 0 done or equal; 1 a fault; 2 bad usage or input; 5 different. */
#include <getopt.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "emulator/emulator.h"

#include "parse_text.h"

typedef struct Request {
    const char *file, *launch, *against, *dump;
    unsigned block_factor[3], grid_factor[3];
    bool counters, timed;
    EmulatorOptions options;
} Request;

static int usage(void)
{
    fprintf(stderr, "usage: ptxrun FILE.ptx LAUNCH.json [--against OTHER.ptx] [--factor X,Y,Z] [--grid-factor X,Y,Z]\n"
                    "              [--counters] [--race] [--unwritten] [--undefined] [--dump BUFFER] [--time]\n"
                    "              [--blocks N] [--steps N]\n");
    return 2;
}

static bool read_factor(const char *text, unsigned factor[3])
{
    factor[0] = factor[1] = factor[2] = 1;
    return sscanf(text, "%u,%u,%u", &factor[0], &factor[1], &factor[2]) >= 1 && factor[0] && factor[1] && factor[2];
}

static bool read_options(int count, char **words, Request *request)
{
    enum { AGAINST = 256, FACTOR, GRID_FACTOR, COUNTERS, RACE, UNWRITTEN, UNDEFINED, DUMP, TIME, BLOCKS, STEPS };
    static const struct option options[] = {{"against", required_argument, NULL, AGAINST},
                                            {"factor", required_argument, NULL, FACTOR},
                                            {"grid-factor", required_argument, NULL, GRID_FACTOR},
                                            {"counters", no_argument, NULL, COUNTERS},
                                            {"race", no_argument, NULL, RACE},
                                            {"unwritten", no_argument, NULL, UNWRITTEN},
                                            {"undefined", no_argument, NULL, UNDEFINED},
                                            {"dump", required_argument, NULL, DUMP},
                                            {"time", no_argument, NULL, TIME},
                                            {"blocks", required_argument, NULL, BLOCKS},
                                            {"steps", required_argument, NULL, STEPS},
                                            {NULL, 0, NULL, 0}};
    int option;
    while ((option = getopt_long(count, words, "", options, NULL)) != -1) {
        switch (option) {
        case AGAINST: request->against = optarg; break;
        case FACTOR:
            if (!read_factor(optarg, request->block_factor))
                return false;
            break;
        case GRID_FACTOR:
            if (!read_factor(optarg, request->grid_factor))
                return false;
            break;
        case COUNTERS: request->counters = request->options.count_memory = true; break;
        case RACE: request->options.check_races = true; break;
        case UNWRITTEN: request->options.check_unwritten = true; break;
        case UNDEFINED: request->options.check_registers = true; break;
        case DUMP: request->dump = optarg; break;
        case TIME: request->timed = true; break;
        case BLOCKS: request->options.resident_blocks = (unsigned)strtoul(optarg, NULL, 10); break;
        case STEPS: request->options.max_steps = strtoull(optarg, NULL, 10); break;
        default: return false;
        }
    }
    if (count - optind != 2)
        return false;
    request->file = words[optind];
    request->launch = words[optind + 1];
    return true;
}

static void module_free(Module *module)
{
    if (module)
        arena_free(module->arena);
}

static void print_element(Type type, const uint8_t *bytes)
{
    unsigned size = type_bits(type) / 8;
    uint64_t bits = 0;
    float single;
    double wide;
    memcpy(&bits, bytes, size < 8 ? size : 8);
    memcpy(&single, bytes, size < 4 ? size : 4);
    memcpy(&wide, &bits, 8);
    if (type == TYPE_F32)
        printf("%.9g\n", single);
    else if (type == TYPE_F64)
        printf("%.17g\n", wide);
    else if (type_class(type) == CLASS_SIGNED)
        printf("%lld\n", (long long)(bits << (64 - 8 * size)) >> (64 - 8 * size));
    else
        printf(type_class(type) == CLASS_UNSIGNED ? "%llu\n" : "0x%llx\n", (unsigned long long)bits);
}

static bool dump(const EmulatorResult *result, const char *name)
{
    const EmulatorBuffer *buffer = emulator_buffer(result, name);
    if (!buffer) {
        fprintf(stderr, "ptxrun: no buffer %s\n", name);
        return false;
    }
    for (uint64_t i = 0; i < buffer->count; i++)
        print_element(buffer->type, buffer->bytes + i * (type_bits(buffer->type) / 8));
    return true;
}

static void print_counters(const EmulatorCounters *counters)
{
    Buf text = {0};
    counters_print(counters, &text);
    fputs(buf_text(&text), stdout);
    buf_free(&text);
}

static double seconds_now(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

static int run_one(Arena *arena, const Module *module, const Launch *launch, const Request *request)
{
    double begin = seconds_now();
    EmulatorResult *result = emulator_run(arena, module, launch, &request->options);
    double taken = seconds_now() - begin;
    if (request->counters)
        print_counters(&result->counters);
    if (request->timed)
        printf("%.3f s, %.1f million thread instructions a second\n", taken,
               (double)result->counters.thread_instructions / taken * 1e-6);
    if (result->fault.kind != FAULT_NONE) {
        fprintf(stderr, "%s\n", fault_text(arena, module, &result->fault));
        return 1;
    }
    return request->dump && !dump(result, request->dump) ? 2 : 0;
}

static int run_both(Arena *arena, const Module *original, const Module *changed, const Launch *launch,
                    const Request *request)
{
    EmulatorComparison *comparison = emulator_compare(arena, original, changed, NULL, launch, request->block_factor,
                                                      request->grid_factor, &request->options);
    if (!comparison->original) {
        fprintf(stderr, "ptxrun: %s\n", comparison->message);
        return 2;
    }
    if (request->counters) {
        print_counters(&comparison->original->counters);
        print_counters(&comparison->changed->counters);
    }
    if (request->dump && !dump(comparison->changed, request->dump))
        return 2;
    if (comparison->equal)
        return 0;
    fprintf(stderr, "%s\n", comparison->message);
    bool fault = comparison->original->fault.kind != FAULT_NONE || comparison->changed->fault.kind != FAULT_NONE;
    return fault ? 1 : 5;
}

int main(int count, char **words)
{
    Request request = {.options.output = stdout};
    if (!read_options(count, words, &request))
        return usage();
    Arena *arena = arena_new();
    const char *error = NULL;
    int status = 2;
    Launch *launch = launch_read(arena, request.launch, &error);
    Module *module = parse_file("ptxrun", request.file),
           *other = request.against ? parse_file("ptxrun", request.against) : NULL;
    if (!launch)
        fprintf(stderr, "ptxrun: %s\n", error);
    else if (module && !request.against)
        status = run_one(arena, module, launch, &request);
    else if (module && other)
        status = run_both(arena, module, other, launch, &request);
    module_free(module);
    module_free(other);
    arena_free(arena);
    return status;
}
