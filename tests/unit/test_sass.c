/* Machine code: the decoder, the numbered copy, and executed instructions against hand counts. */
#include "emulator/emulator.h"
#include "parsed.h"
#include "sass/internal.h"

#include <math.h>

static SassInstruction decoded(unsigned arch, uint64_t low, uint64_t high, int64_t *destination)
{
    uint64_t words[2] = {low, high};
    SassInstruction instruction;
    assert_true(sass_decode((Arch){.number = arch}, (const unsigned char *)words, 0x90, &instruction, destination));
    return instruction;
}

/* Words and meaning from nvdisasm -hex. */
static void test_decode(void **state)
{
    (void)state;
    int64_t destination;
    SassInstruction it = decoded(75, 0x000014f000008947, 0x000fea0003800000, &destination); /* @!P0 BRA 0x1590 */
    assert_string_equal(it.mnemonic, "BRA");
    assert_int_equal(it.flow, MACHINE_BRANCH);
    assert_true(it.conditional && it.guard == 0 && it.guard_inverted);
    assert_int_equal(destination, 0x1590);
    assert_int_equal(it.stall, 5);

    it = decoded(75, 0x0000000008067381, 0x000ea200001ee900, &destination); /* LDG.E.SYS R6, [R8] */
    assert_string_equal(it.mnemonic, "LDG");
    assert_int_equal(it.class, MACHINE_GLOBAL);
    assert_int_equal(it.bytes, 4);
    assert_int_equal(it.write_barrier, 2);
    assert_int_equal(it.read_barrier, NO_SCOREBOARD);
    assert_false(it.conditional);
    assert_int_equal(destination, INT64_MAX);

    it = decoded(75, 0x000000201c1c7211, 0x001fc800078e20ff, &destination); /* LEA, waits for scoreboard 0 */
    assert_int_equal(it.class, MACHINE_INTEGER);
    assert_int_equal(it.wait, 1);
    assert_int_equal(it.stall, 4);

    it = decoded(90, 0x0000000002077fae, 0x0003e8000b901c44, &destination); /* LDGSTS.E.BYPASS.128 [R7], desc[..] */
    assert_int_equal(it.copy, COPY_BEGIN);
    it = decoded(90, 0x00000000000079af, 0x000e240000000000, &destination); /* LDGDEPBAR */
    assert_int_equal(it.copy, COPY_COMMIT);
    it = decoded(90, 0x000080c00000791a, 0x000fc80000000000, &destination); /* DEPBAR.LE SB0, 0x3 */
    assert_int_equal(it.copy, COPY_WAIT);
    assert_int_equal(it.left, 3);

    it = decoded(90, 0xfffffffc00fc7947, 0x000fc0000383ffff, &destination); /* BRA to itself */
    assert_int_equal(destination, 0x90);
    assert_false(it.conditional);
    it = decoded(90, 0x0000000108047547, 0x000fea000b800000, &destination); /* BRA.U !UP0, 0xb0 */
    assert_int_equal(destination, 0xb0);
    assert_true(it.conditional);

    it = decoded(75, 0x000fe20000000035, 0, &destination);
    assert_string_equal(it.mnemonic, "HFMA2");
    it = decoded(120, 0x000fe20000000035, 0, &destination);
    assert_string_equal(it.mnemonic, "IADD");
}

static void test_numbered(void **state)
{
    (void)state;
    Module *module = module_from(".version 8.0\n.target sm_75\n.address_size 64\n"
                            ".file 3 \"a.cu\"\n"
                            ".visible .entry k() {\n"
                            "    .reg .pred %p;\n"
                            "    .loc 3 7 0\n"
                            "    setp.eq.u32 %p, 1, 1; @%p bra L;\n"
                            "    .loc 3 8 0, function_name $f, inlined_at 3 7 0\n"
                            "    bar.sync 0;\n"
                            "L:  ret;\n"
                            "}\n"
                            ".section .debug_str { $f: .b8 0 }\n");
    PtxLines lines = ptx_lines(module->arena, module);
    assert_int_equal(lines.count, 4);
    assert_int_equal(inst_op(lines.insts[3]), OP_RET);
    size_t size;
    const char *text = ptx_numbered(module->arena, module, &lines, &size);
    assert_int_equal(strlen(text), size);
    assert_null(strstr(text, ".loc 3"));
    assert_null(strstr(text, "debug_str"));
    assert_null(strstr(text, "$f"));
    assert_non_null(strstr(text, "\n.loc 4 1 0\nsetp.eq.u32 %p, 1, 1; \n.loc 4 2 0\n@%p bra L;"));
    assert_non_null(strstr(text, "\nL:  \n.loc 4 4 0\nret;"));
    assert_non_null(strstr(text, "\n.file 4 \"" NUMBERED_FILE "\"\n"));
    arena_free(module->arena);
}

/* Minimise 2 x + 3 y such that x + y - u + v = 4 and x - w + z = 1, where u, v, w and z cost 10: x = 1 at first sight,
 * but a deviation of the second row costs more than what x saves over y. */
static void test_program(void **state)
{
    (void)state;
    Arena *arena = arena_new();
    LinearProgram program = {.arena = arena};
    uint32_t rows[2] = {program_row(&program, 4), program_row(&program, 1)};
    uint32_t x = program_variable(&program, 2), y = program_variable(&program, 3);
    program_term(&program, rows[0], x, 1);
    program_term(&program, rows[0], y, 1);
    program_term(&program, rows[1], x, 1);
    for (unsigned r = 0; r < 2; r++) {
        program_term(&program, rows[r], program_variable(&program, 10), 1);
        program_term(&program, rows[r], program_variable(&program, 10), -1);
    }
    const double *values = program_solve(&program);
    assert_true(fabs(values[x] - 1) < 1e-6);
    assert_true(fabs(values[y] - 3) < 1e-6);
    arena_free(arena);
}

typedef struct HandCount {
    const char *kernel, *arch; /* corpus/KERNEL/KERNEL.ARCH.ptx and its small launch file */
    int max_registers;
    double instructions, spills;
    const char *folder; /* of the corpus; NULL: the kernel's name */
} HandCount;

static const char *folder_of(const HandCount *count)
{
    return count->folder ? count->folder : count->kernel;
}

/* Counted from the listings of ptxas 13.0.88, block by block: instructions times executions by warps, the latter from
 * the launch files and the sources. docs/machine-code.md has the derivations. */
static const HandCount hand_counts[] = {
    {"matmul_tiled", "sm_75", 0, 27904, 0, NULL},
    {"matmul_naive", "sm_90", 0, 18936, 0, NULL},
    {"matmul_regtile", "sm_75", 0, 20240, 0, NULL},
    {"nbody", "sm_90", 0, 38280, 0, NULL},
    {"softmax", "sm_90", 0, 6488, 0, NULL},
    {"scalarprod", "sm_90", 0, 10780, 0, NULL},
    {"conv", "sm_90", 0, 8064, 0, NULL},
    {"convolution", "sm_75", 0, 16288, 0, NULL},
    {"histogram", "sm_75", 0, 3004, 0, NULL},
    {"strsm", "sm_90", 0, 8308, 0, NULL},
    {"bitonic", "sm_75", 0, 4260, 0, NULL},
    {"blockmatch", "sm_75", 0, 20748, 0, NULL},
    {"reduce_sum", "sm_90", 0, 3072, 0, "reduce"},
    {"nlm", "sm_75", 24, 34872, 7512, NULL},
    {"nlm", "sm_90", 24, 34128, 7488, NULL},
};

static SassExecutions *execute(Arena *arena, const HandCount *count, Module *module, SassMap *map)
{
    const char *error;
    const char *path = arena_printf(arena, "corpus/%s/%s.launch.json", folder_of(count), count->kernel);
    Launch *launch = launch_read(arena, path, &error);
    assert_non_null(launch);
    EmulatorOptions options = {.count_instructions = true};
    EmulatorResult *run = emulator_run(arena, module, launch, &options);
    assert_int_equal(run->fault.kind, FAULT_NONE);
    PtxCount *counts = ARENA_ARRAY(arena, PtxCount, run->instruction_count);
    for (size_t i = 0; i < run->instruction_count; i++)
        counts[i] =
            (PtxCount){run->instructions[i].span, run->instructions[i].warps, run->instructions[i].threads};
    return sass_execute(arena, map, counts, run->instruction_count);
}

static Module *read_module(Arena *arena, const char *kernel, const char *arch)
{
    const char *error;
    Arena *owner = arena_new();
    Source *source = source_read(owner, arena_printf(arena, "corpus/%s/%s.%s.ptx", kernel, kernel, arch), &error);
    assert_non_null(source);
    Diag diag;
    diag_init(&diag, source, stderr);
    Module *module = parse_module(owner, source, &diag);
    assert_non_null(module);
    return module;
}

static void check_hand_count(const HandCount *count)
{
    Arena *arena = arena_new();
    const char *error;
    Module *module = read_module(arena, folder_of(count), count->arch);
    SassRequest request = {.module = module, .kernel = count->kernel, .assembly = assembly_request(NULL, 0)};
    request.assembly.max_registers = count->max_registers;
    request.assembler = assembler_open(arena, ASSEMBLER_PTXAS, count->arch, &error);
    assert_non_null(request.assembler);
    SassMap *map = sass_map(arena, &request, &error);
    assembler_close(request.assembler);
    assert_non_null(map);
    assert_true(map->mapped);
    assert_int_equal(map->code->unknown, 0);
    SassExecutions *executions = execute(arena, count, module, map);
    if (fabs(executions->total - count->instructions) > 0.05 * count->instructions ||
        fabs(executions->spills - count->spills) > 0.05 * count->spills)
        fail_msg("%s for %s: %.0f instructions and %.0f spills, but by hand %.0f and %.0f", count->kernel, count->arch,
                 executions->total, executions->spills, count->instructions, count->spills);
    arena_free(module->arena);
    arena_free(arena);
}

/* The code of a kernel by ptxas; NULL if there is no ptxas. */
static SassMap *map_kernel(Arena *arena, Module *module, const char *kernel, const char *arch,
                              const Disassembler *disassembler)
{
    const char *error;
    SassRequest request = {.module = module,
                              .kernel = kernel,
                              .assembly = assembly_request(NULL, 0),
                              .disassembler = disassembler,
                              .life = disassembler ? LIFE_COUNTS : LIFE_NONE};
    request.assembler = assembler_open(arena, ASSEMBLER_PTXAS, arch, &error);
    if (!request.assembler)
        return NULL;
    SassMap *map = sass_map(arena, &request, &error);
    assembler_close(request.assembler);
    assert_non_null(map);
    return map;
}

/* Spills that ptxas sends to shared memory, of a kernel that has none itself. */
static void test_shared_spills(void **state)
{
    (void)state;
    static const HandCount fft = {"fft16", "sm_90", 32, 0, 0, NULL};
    Arena *arena = arena_new();
    Module *plain = read_module(arena, "fft16", "sm_90");
    const char *text = plain->source->text, *body = strstr(text, "\n{");
    assert_non_null(body);
    text = arena_printf(arena, "%.*s\n.maxntid 64\n.maxnreg 32\n{\n.pragma \"enable_smem_spilling\";%s",
                        (int)(body - text), text, body + 2);
    Source *source = source_from_memory(arena, "spilling.ptx", text, strlen(text));
    Diag diag;
    diag_init(&diag, source, stderr);
    Module *module = parse_module(arena, source, &diag);
    assert_non_null(module);
    SassMap *map = map_kernel(arena, module, "fft16", "sm_90", NULL);
    if (!map)
        skip();
    const SassExecutions *executions = execute(arena, &fft, module, map);
    assert_true(executions->shared_spills > 0);
    assert_float_equal(executions->shared_spills, executions->by_class[MACHINE_SHARED], 0);
    arena_free(plain->arena);
    arena_free(arena);
}

/* Calls within a section, two kernels in a module, and helpers that come from no PTX. */
static void test_functions(void **state)
{
    (void)state;
    Arena *arena = arena_new();
    Module *module = read_module(arena, "calls", "sm_90");
    SassMap *map = map_kernel(arena, module, "calls", "sm_90", NULL);
    if (!map)
        skip();
    const SassCode *code = map->code;
    assert_true(code->function_count >= 2);
    assert_string_equal(code->functions[0].name, "calls");
    unsigned calls = 0;
    for (uint32_t b = 0; b < code->block_count; b++) {
        const SassBlock *block = &code->blocks[b];
        if (block->callee == MACHINE_NONE)
            continue;
        calls++;
        assert_true(code->blocks[block->callee].function != 0);
        assert_int_equal(code->instructions[block->first + block->count - 1].flow, MACHINE_CALL);
        assert_int_equal(block->successors[0], b + 1);
    }
    assert_true(calls > 0);
    for (uint32_t i = 0; i < code->count; i++) {
        const SassFunction *function = &code->functions[code->blocks[code->instructions[i].block].function];
        assert_true((code->instructions[i].ptx == MACHINE_NONE) == (strncmp(function->name, "$__internal", 11) == 0));
    }
    arena_free(module->arena);
    arena_free(arena);
}

/* A guarded load: what follows comes after it, as no thread of the launch passes it by. */
static void test_before(void **state)
{
    (void)state;
    static const HandCount stencil = {"stencil1d", "sm_75", 0, 0, 0, NULL};
    Arena *arena = arena_new();
    Module *module = read_module(arena, "stencil1d", "sm_75");
    SassMap *map = map_kernel(arena, module, "stencil1d", "sm_75", NULL);
    if (!map)
        skip();
    const SassCode *code = map->code;
    const SassExecutions *executions = execute(arena, &stencil, module, map);
    unsigned guarded = 0;
    for (uint32_t b = 1; b < code->block_count; b++) {
        const SassBlock *block = &code->blocks[b];
        const bool is_passed = code->blocks[b - 1].successor_count == 2;
        if (!is_passed || block->successor_count != 1 || block->successors[0] != b + 1)
            continue;
        const uint32_t next = block->successors[0];
        const bool is_taken = fabs(executions->block_warps[b] - executions->block_warps[next]) < 0.5;
        assert_int_equal(executions->before[next], is_taken ? b : b - 1);
        assert_int_equal(executions->before[b], b - 1);
        guarded += is_taken;
    }
    assert_true(guarded > 0);
    assert_int_equal(executions->before[0], MACHINE_NONE);
    arena_free(module->arena);
    arena_free(arena);
}

static void test_disassembly(void **state)
{
    (void)state;
    Arena *arena = arena_new();
    const char *message;
    const Disassembler *disassembler = disassembler_find(arena, &message);
    Module *module = read_module(arena, "saxpy", "sm_75");
    SassMap *map = disassembler ? map_kernel(arena, module, "saxpy", "sm_75", disassembler) : NULL;
    if (!map)
        skip();
    unsigned most = 0;
    for (uint32_t i = 0; i < map->code->count; i++) {
        SassInstruction *it = &map->code->instructions[i];
        assert_non_null(it->text);
        assert_non_null(strstr(it->text, it->mnemonic));
        most = it->live > most ? it->live : most;
    }
    assert_in_range(most, 4, 32);
    /* An opcode without a row is named by nvdisasm. */
    SassInstruction *first = &map->code->instructions[0], before = *first;
    first->mnemonic = "?";
    first->class = MACHINE_OTHER;
    map->code->unknown = 1;
    assert_null(sass_code_disassemble(arena, map->code, disassembler, map->cubin, map->cubin_size, LIFE_NONE));
    assert_string_equal(first->mnemonic, before.mnemonic);
    assert_int_equal(first->class, before.class);
    assert_int_equal(map->code->unknown, 0);
    arena_free(module->arena);
    arena_free(arena);
}

/* Damaged cubins are refused, or read without harm. */
static void test_damage(void **state)
{
    (void)state;
    Arena *arena = arena_new();
    Module *module = read_module(arena, "calls", "sm_75");
    SassMap *map = map_kernel(arena, module, "calls", "sm_75", NULL);
    if (!map)
        skip();
    uint64_t random = 1;
    char *damaged = arena_alloc(arena, map->cubin_size);
    for (unsigned round = 0; round < 400; round++) {
        Arena *one = arena_new();
        const char *error;
        memcpy(damaged, map->cubin, map->cubin_size);
        for (unsigned i = 0; i < 1 + round % 40; i++) {
            random = random * UINT64_C(6364136223846793005) + 1442695040888963407;
            damaged[(random >> 20) % map->cubin_size] = (char)(random >> 12);
        }
        size_t size = round % 4 ? map->cubin_size : (random >> 30) % map->cubin_size;
        SassCode *code = sass_code_read(one, damaged, size, "calls", &error);
        assert_true((code == NULL) == (error != NULL));
        if (code)
            sass_loops(one, code);
        arena_free(one);
    }
    arena_free(module->arena);
    arena_free(arena);
}

static void test_hand_counts(void **state)
{
    (void)state;
    Arena *arena = arena_new();
    const char *error;
    Assembler *assembler = assembler_open(arena, ASSEMBLER_PTXAS, "sm_90", &error);
    bool comparable = assembler && strcmp(assembler_version(assembler), "13.0.88") == 0;
    assembler_close(assembler);
    arena_free(arena);
    if (!comparable)
        skip();
    for (size_t i = 0; i < COUNT_OF(hand_counts); i++)
        check_hand_count(&hand_counts[i]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_decode),
        cmocka_unit_test(test_numbered),
        cmocka_unit_test(test_program),
        cmocka_unit_test(test_functions),
        cmocka_unit_test(test_shared_spills),
        cmocka_unit_test(test_before),
        cmocka_unit_test(test_disassembly),
        cmocka_unit_test(test_damage),
        cmocka_unit_test(test_hand_counts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
