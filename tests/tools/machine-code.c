/* machine-code decode CUBIN                                  one line for each instruction of each kernel:
 *                                                            SECTION ADDRESS GUARD MNEMONIC CLASS FLOW TARGET
 * machine-code list [-a ASSEMBLER] [-r REGISTERS] [-t] FILE.ptx ARCH KERNEL [LAUNCH.json]
 *                                                            the kernel's listing and, with a launch file, its totals;
 *                                                            -t: with nvdisasm's text and live registers
 * Exit status 1 if something failed. */
#include "emulator/emulator.h"
#include "sass/sass.h"
#include "tests/tools/parse_text.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

static int fail(const char *what, const char *why)
{
    fprintf(stderr, "machine-code: %s: %s\n", what, why);
    return 1;
}

static void print_decoded(const SassCode *code)
{
    static const char *const flows[] = {"next", "branch", "indirect", "call", "return", "exit"};
    for (uint32_t f = 0; f < code->function_count; f++) {
        const SassFunction *function = &code->functions[f];
        for (uint32_t i = function->first; i < function->first + function->count; i++) {
            const SassInstruction *it = &code->instructions[i];
            printf("%s %x %s%u %s %s %s%s ", function->section, it->address, it->guard_inverted ? "!" : "", it->guard,
                   it->mnemonic, sass_class_name(it->class), flows[it->flow], it->conditional ? "?" : "");
            if (it->target == MACHINE_NONE)
                printf("-\n");
            else
                printf("%x\n", code->instructions[it->target].address);
        }
    }
}

static int decode(Arena *arena, const char *path)
{
    const char *error = NULL;
    Source *cubin = source_read(arena, path, &error);
    if (!cubin)
        return fail(path, error);
    /* The names of the kernels are those of the code sections. */
    static const char prefix[] = ".text.";
    for (size_t at = 0; at + sizeof prefix < cubin->size; at++) {
        if (memcmp(cubin->text + at, prefix, sizeof prefix - 1) != 0 || (at && cubin->text[at - 1]))
            continue;
        const char *kernel = cubin->text + at + sizeof prefix - 1;
        SassCode *code = sass_code_read(arena, cubin->text, cubin->size, kernel, &error);
        if (code)
            print_decoded(code);
    }
    return 0;
}

static void print_totals(const SassMap *map, const SassExecutions *executions, const EmulatorResult *run,
                         double seconds)
{
    printf("\nmapped %u of %u instructions%s%s\n", map->mapped_count, map->code->count, map->mapped ? "" : ": ",
           map->mapped ? "" : map->unmapped);
    if (!executions)
        return;
    printf("machine instructions %.0f, PTX instructions %llu, spills %.0f, residual %.4f, evidence %.4f\n",
           executions->total, (unsigned long long)run->counters.warp_instructions, executions->spills,
           executions->residual, executions->evidence);
    for (unsigned c = 0; c < MACHINE_CLASS_COUNT; c++)
        if (executions->by_class[c] > 0)
            printf("  %-9s %.0f\n", sass_class_name(c), executions->by_class[c]);
    printf("assembler %.1f ms, mapping %.1f ms, counting %.1f ms\n", map->assembler_seconds * 1e3,
           (map->seconds - map->assembler_seconds) * 1e3, seconds * 1e3);
}

static SassExecutions *execute(Arena *arena, const Module *module, const SassMap *map, const char *path,
                                  EmulatorResult **run, double *seconds)
{
    const char *error = NULL;
    Launch *launch = launch_read(arena, path, &error);
    if (!launch) {
        fail(path, error);
        return NULL;
    }
    EmulatorOptions options = {.count_instructions = true};
    *run = emulator_run(arena, module, launch, &options);
    if ((*run)->fault.kind != FAULT_NONE) {
        fail(path, fault_text(arena, module, &(*run)->fault));
        return NULL;
    }
    PtxCount *counts = ARENA_ARRAY(arena, PtxCount, (*run)->instruction_count + 1);
    for (size_t i = 0; i < (*run)->instruction_count; i++)
        counts[i] = (PtxCount){(*run)->instructions[i].span, (*run)->instructions[i].warps,
                               (*run)->instructions[i].threads};
    struct timespec begin, end;
    clock_gettime(CLOCK_MONOTONIC, &begin);
    SassExecutions *executions = sass_execute(arena, map, counts, (*run)->instruction_count);
    clock_gettime(CLOCK_MONOTONIC, &end);
    *seconds = (double)(end.tv_sec - begin.tv_sec) + (double)(end.tv_nsec - begin.tv_nsec) * 1e-9;
    return executions;
}

static int list(Arena *arena, int count, char **arguments)
{
    const char *error = NULL;
    AssemblerKind kind = ASSEMBLER_PTXAS;
    SassRequest request = {.assembly = assembly_request(NULL, 0)};
    bool text = false;
    for (; count > 0 && arguments[0][0] == '-'; count--, arguments++) {
        if (arguments[0][1] == 't') {
            text = true;
        } else if (count > 1) {
            if (arguments[0][1] == 'r')
                request.assembly.max_registers = atoi(arguments[1]);
            else if (!assembler_kind_parse(arguments[1], &kind))
                return fail(arguments[1], "not an assembler");
            count--;
            arguments++;
        }
    }
    if (count < 3)
        return fail("list", "FILE.ptx ARCH KERNEL [LAUNCH.json]");
    Module *module = parse_file("machine-code", arguments[0]);
    if (!module)
        return 1;
    request.module = module;
    request.kernel = arguments[2];
    request.assembler = assembler_open(arena, kind, arguments[1], &error);
    if (request.assembler && text)
        request.disassembler = disassembler_find(arena, &error);
    request.life = text ? LIFE_COUNTS : LIFE_NONE;
    SassMap *map = !error ? sass_map(arena, &request, &error) : NULL;
    EmulatorResult *run = NULL;
    double seconds = 0;
    int status = 0;
    if (!map || map->no_text) {
        status = fail(arguments[0], map ? map->no_text : error);
    } else {
        SassExecutions *executions =
            count > 3 ? execute(arena, module, map, arguments[3], &run, &seconds) : NULL;
        Buf out = {0};
        sass_list(map, executions, &out);
        fputs(buf_text(&out), stdout);
        buf_free(&out);
        print_totals(map, executions, run, seconds);
        status = count > 3 && !executions;
    }
    assembler_close(request.assembler);
    arena_free(module->arena);
    return status;
}

int main(int argc, char **argv)
{
    Arena *arena = arena_new();
    int status = 2;
    if (argc == 3 && strcmp(argv[1], "decode") == 0)
        status = decode(arena, argv[2]);
    else if (argc > 2 && strcmp(argv[1], "list") == 0)
        status = list(arena, argc - 2, argv + 2);
    else
        fprintf(stderr, "machine-code: decode CUBIN, or list FILE.ptx ARCH KERNEL [LAUNCH.json]\n");
    arena_free(arena);
    return status;
}
