/* The assembler: figures read from logs and cubins, and real runs of nvJitLink and ptxas. */
#include "tests/assembler/fixture.h"

#define KERNELS "tests/assembler/kernels.ptx"

static const Arch sm_75 = {75, 0};

static void test_kinds(void **state)
{
    (void)state;
    for (AssemblerKind kind = ASSEMBLER_AUTO; kind <= ASSEMBLER_PTXAS; kind++) {
        AssemblerKind parsed;
        assert_true(assembler_kind_parse(assembler_kind_word(kind), &parsed));
        assert_int_equal(parsed, kind);
    }
    AssemblerKind untouched = ASSEMBLER_PTXAS;
    assert_false(assembler_kind_parse("nvcc", &untouched));
    assert_int_equal(untouched, ASSEMBLER_PTXAS);
}

static void test_cubin_is_read(void **state)
{
    (void)state;
    Arena *arena = arena_new();
    Buf file = {0};
    Cubin cubin;
    make_cubin(&file, fixture_kernels, COUNT_OF(fixture_kernels));
    assert_null(cubin_read(arena, file.data, file.length, &cubin));
    assert_int_equal(cubin.count, 4);
    for (size_t i = 0; i < COUNT_OF(fixture_kernels); i++) {
        const CubinSpec *spec = &fixture_kernels[i];
        const CubinFunction *function = &cubin.functions[i];
        assert_string_equal(function->name, spec->name);
        assert_int_equal(function->is_entry, spec->is_entry);
        assert_false(function->is_inner);
        assert_int_equal(function->registers, spec->registers);
        assert_int_equal(function->stack, spec->is_entry ? spec->stack : spec->stack / 2);
        assert_int_equal(function->barriers, spec->barriers);
        assert_int_equal(function->shared, spec->shared);
        assert_int_equal(function->constant, spec->constant);
        assert_int_equal(function->instructions, spec->instructions);
        assert_int_equal(function->code_size, (spec->instructions * 16 + 127) / 128 * 128);
    }
    assert_string_equal(cubin.functions[3].name, "helper");
    assert_true(cubin.functions[3].is_inner);
    assert_int_equal(cubin.functions[3].instructions, 2);
    buf_free(&file);
    arena_free(arena);
}

/* The memory ends with the file, so that a sanitizer sees every read past it. */
static const char *read_exact(const void *bytes, size_t size)
{
    Arena *arena = arena_new();
    Cubin cubin = {0};
    void *copy = malloc(size ? size : 1);
    assert_non_null(copy);
    memcpy(copy, bytes, size);
    const char *problem = cubin_read(arena, copy, size, &cubin);
    uint64_t sum = 0;
    for (size_t i = 0; !problem && i < cubin.count; i++)
        sum += strlen(cubin.functions[i].name) + cubin.functions[i].registers;
    if (sum == 12345678) /* the names must be read */
        print_message("#\n");
    free(copy);
    arena_free(arena);
    return problem;
}

static void damage_everywhere(const void *bytes, size_t size, size_t step)
{
    static const unsigned char values[] = {0x00, 0x01, 0x7f, 0x80, 0xff};
    unsigned char *copy = malloc(size);
    assert_non_null(copy);
    memcpy(copy, bytes, size);
    for (size_t length = 0; length < size; length += step)
        read_exact(copy, length);
    for (size_t at = 0; at < size; at += step) {
        for (size_t v = 0; v < COUNT_OF(values); v++) {
            unsigned char before = copy[at];
            copy[at] = values[v];
            read_exact(copy, size);
            copy[at] = before;
        }
    }
    for (size_t at = 0; at + 8 <= size; at += 8 * step) {
        uint64_t before, extreme = UINT64_MAX - 3;
        memcpy(&before, copy + at, 8);
        memcpy(copy + at, &extreme, 8);
        read_exact(copy, size);
        memcpy(copy + at, &before, 8);
    }
    free(copy);
}

static void test_hostile_cubins(void **state)
{
    (void)state;
    Buf file = {0};
    make_cubin(&file, fixture_kernels, COUNT_OF(fixture_kernels));
    assert_null(read_exact(file.data, file.length));
    damage_everywhere(file.data, file.length, 1);
    assert_non_null(read_exact("", 0));
    assert_non_null(read_exact("\177ELF", 4));
    /* A section count that is stored in the first section, and one that is too large for the file. */
    Elf64_Ehdr header;
    memcpy(&header, file.data, sizeof header);
    uint64_t count = header.e_shnum, lie = UINT64_MAX / 8;
    size_t place = header.e_shoff + offsetof(Elf64_Shdr, sh_size);
    header.e_shnum = 0;
    memcpy(file.data, &header, sizeof header);
    memcpy(file.data + place, &count, sizeof count);
    assert_null(read_exact(file.data, file.length));
    memcpy(file.data + place, &lie, sizeof lie);
    assert_non_null(read_exact(file.data, file.length));
    buf_free(&file);
}

static Cubin fixture_cubin(Arena *arena)
{
    Buf file = {0};
    Cubin cubin;
    make_cubin(&file, fixture_kernels, COUNT_OF(fixture_kernels));
    char *bytes = arena_alloc(arena, file.length);
    memcpy(bytes, file.data, file.length);
    assert_null(cubin_read(arena, bytes, file.length, &cubin));
    buf_free(&file);
    return cubin;
}

static void test_log_of_ptxas(void **state)
{
    (void)state;
    static const char log[] =
        "ptxas info    : Overriding maximum register limit 256 for 'first' with  32 of maxrregcount option\n"
        "ptxas info    : 24 bytes gmem, 1024 bytes cmem[3]\n"
        "ptxas info    : Compiling entry function 'first' for 'sm_90'\n"
        "ptxas info    : Function properties for first\n"
        "    360 bytes stack frame, 440 bytes spill stores, 448 bytes spill loads\n"
        "ptxas info    : Used 32 registers, used 1 barriers, 400 bytes cumulative stack size, 1024 bytes smem\n"
        "ptxas info    : Compile time = 15.512 ms\n"
        "ptxas info    : Function properties for helper\n"
        "    32 bytes stack frame, 4 bytes spill stores, 8 bytes spill loads\n"
        "ptxas info    : Compiling entry function 'second' for 'sm_90'\r\n"
        "ptxas info    : Function properties for second\r\n"
        "    0 bytes stack frame, -32 bytes spill stores, -56 bytes spill loads\r\n"
        "ptxas info    : Used 10 registers, used 0 barriers, 360 bytes cmem[0], 8 bytes cmem[2], 3 textures\r\n"
        "ptxas info    : Function properties for helper\n"
        "    16 bytes stack frame, 12 bytes spill stores, 0 bytes spill loads\n";
    Arena *arena = arena_new();
    Cubin cubin = fixture_cubin(arena);
    Assembly assembly = {0};
    assert_null(resources_read(arena, sm_75, log, "", &cubin, &assembly));
    assert_int_equal(assembly.resource_count, 4);
    const Resources *first = assembly_find(&assembly, "first"), *second = assembly_find(&assembly, "second");
    const Resources *helper = assembly_find(&assembly, "helper"), *called = assembly_find(&assembly, "called");
    assert_true(first == &assembly.resources[0] && second == &assembly.resources[1]);
    assert_true(first->is_entry && second->is_entry && !helper->is_entry && !called->is_entry);
    assert_int_equal(first->spill_stores, 440);
    assert_int_equal(first->spill_loads, 448);
    /* The cubin's figures take precedence. */
    assert_int_equal(first->registers, 20);
    assert_int_equal(first->stack, 64);
    assert_int_equal(first->shared, 256);
    assert_int_equal(first->constant, 360);
    assert_int_equal(second->registers, 40);
    assert_int_equal(second->spill_stores, 0);
    assert_int_equal(second->spill_loads, 0);
    assert_int_equal(helper->spill_stores, 12);
    assert_int_equal(helper->spill_loads, 8);
    assert_int_equal(helper->stack, 32);
    assert_int_equal(helper->instructions, 2);
    assert_int_equal(called->registers, 24);
    assert_null(assembly_find(&assembly, "third"));
    arena_free(arena);
}

/* The log fills in what the cubin lacks: this cubin has only code and symbols. */
static void test_log_alone(void **state)
{
    (void)state;
    static const char log[] =
        "ptxas info    : Compiling entry function 'old' for 'sm_35'\n"
        "ptxas info    : Function properties for old\n"
        "ptxas         .     8 bytes stack frame, 4 bytes spill stores, 2 bytes spill loads\n"
        "ptxas info    : Used 17 registers, 16+2048 bytes smem, 380 bytes cmem[0], 20 bytes cmem[2], 1 barriers\n"
        "info    : 0 bytes gmem\n"
        "info    : Function properties for 'old':\n"
        "info    : used 18 registers, used 2 barriers, 40 stack, 2064 bytes smem, 380 bytes cmem[0], 0 bytes lmem\n";
    Arena *arena = arena_new();
    CubinFunction function = {.name = "old",
                              .is_entry = true,
                              .registers = CUBIN_UNKNOWN,
                              .stack = CUBIN_UNKNOWN,
                              .barriers = CUBIN_UNKNOWN,
                              .shared = CUBIN_UNKNOWN,
                              .constant = CUBIN_UNKNOWN,
                              .code_size = 160,
                              .instructions = 9};
    Cubin cubin = {&function, 1};
    Assembly assembly = {0};
    assert_null(resources_read(arena, sm_75, log, "", &cubin, &assembly));
    const Resources *old = assembly_find(&assembly, "old");
    assert_int_equal(old->registers, 18);
    assert_int_equal(old->barriers, 2);
    assert_int_equal(old->stack, 40);
    assert_int_equal(old->shared, 2064);
    assert_int_equal(old->constant, 380);
    assert_int_equal(old->spill_stores, 4);
    assert_int_equal(old->spill_loads, 2);
    assert_int_equal(old->instructions, 9);
    /* The driver's figures for its module take precedence. */
    assembly = (Assembly){0};
    assert_null(resources_read(arena, sm_75, log, "25 96 128 64 old\n1 2 3 4 other\nnonsense\n5 6 7 8 ol\n", &cubin,
                               &assembly));
    old = assembly_find(&assembly, "old");
    assert_int_equal(old->registers, 25);
    assert_int_equal(old->stack, 96);
    assert_int_equal(old->shared, 128);
    assert_int_equal(old->constant, 64);
    arena_free(arena);
}

static void test_shared_reserve(void **state)
{
    (void)state;
    static const char log[] = "Compiling entry function 'k' for 'sm_90'\nFunction properties for k\n"
                              "  0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads\n";
    static const CubinSpec spec = {"k", true, 8, 0, 0, 1024 + 512, 528, 3, NULL};
    Arena *arena = arena_new();
    static const Arch archs[] = {{75, 0}, {89, 0}, {90, 'a'}, {120, 0}};
    for (size_t i = 0; i < COUNT_OF(archs); i++) {
        Buf file = {0};
        Cubin cubin;
        Assembly assembly = {0};
        make_cubin(&file, &spec, 1);
        assert_null(cubin_read(arena, file.data, file.length, &cubin));
        assert_null(resources_read(arena, archs[i], log, "", &cubin, &assembly));
        assert_int_equal(assembly.resources[0].shared, archs[i].number < 90 ? 1024 + 512 : 512);
        buf_free(&file);
    }
    arena_free(arena);
}

/* Text that cannot be parsed gives no figure, and in particular not zero. */
static void test_log_is_not_enough(void **state)
{
    (void)state;
    static const char *const logs[] = {
        "",
        "ptxas info    : Compiling entry function 'first' for 'sm_90'\n",
        "ptxas info    : Function properties for first\n    lots of stack, 0 bytes spill stores, 0 bytes spill loads\n",
        "    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads\n",
        /* the cubin does not contain 'third' */
        "Compiling entry function 'third' for 'sm_90'\nFunction properties for first\n"
        "  0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads\n"
        "Function properties for second\n"
        "  0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads\n",
    };
    Arena *arena = arena_new();
    Cubin cubin = fixture_cubin(arena);
    for (size_t i = 0; i < COUNT_OF(logs); i++) {
        Assembly assembly = {0};
        assert_non_null(resources_read(arena, sm_75, logs[i], "", &cubin, &assembly));
    }
    arena_free(arena);
}

static void test_hostile_logs(void **state)
{
    (void)state;
    static const char pieces[] =
        "ptxas info    : Compiling entry function 'first' for 'sm_90'\n"
        "ptxas info    : Function properties for first\n"
        "    99999999999999999999999 bytes stack frame, 1 bytes spill stores, 2 bytes spill loads\n"
        "info    : Function properties for 'first':\n"
        "ptxas info    : Used 99999999999 registers, 1+18446744073709551615 bytes smem, "
        "18446744073709551615 bytes cmem[0], 18446744073709551615 bytes cmem[1]\n";
    Arena *arena = arena_new();
    Cubin cubin = {0};
    char log[2 * sizeof pieces];
    uint32_t random = 12345;
    for (int round = 0; round < 3000; round++) {
        size_t length = 0;
        while (length + 40 < sizeof log) {
            random = random * 1664525 + 1013904223;
            size_t from = (random >> 8) % (sizeof pieces - 1), count = 1 + (random >> 24) % 39;
            if (count > sizeof pieces - 1 - from)
                count = sizeof pieces - 1 - from;
            memcpy(log + length, pieces + from, count);
            length += count;
        }
        char *copy = strndup(log, length);
        Assembly assembly = {0};
        unsigned line;
        resources_read(arena, sm_75, copy, copy, &cubin, &assembly);
        log_first_error(arena, copy, &line);
        free(copy);
    }
    Assembly assembly = {0};
    resources_read(arena, sm_75, pieces, "", &cubin, &assembly);
    assert_int_equal(assembly.resources[0].registers, UINT32_MAX);
    assert_true(assembly.resources[0].stack == UINT64_MAX);
    arena_free(arena);
}

static void test_first_error(void **state)
{
    (void)state;
    Arena *arena = arena_new();
    unsigned line = 7;
    assert_null(log_first_error(arena, "ptxas warning : error free\nptxas info    : 0 bytes gmem\n", &line));
    assert_int_equal(line, 0);
    assert_string_equal(log_first_error(arena,
                                        "ERROR NVJITLINK\nptxas fatal   : aborted\n"
                                        "ptxas input.ptx, line 89; error   : Unknown modifier '.s63'\n"
                                        "ptxas input.ptx, line 90; error   : another\n",
                                        &line),
                        "ptxas input.ptx, line 89; error   : Unknown modifier '.s63'");
    assert_int_equal(line, 89);
    assert_string_equal(log_first_error(arena, "ptxas fatal   : Value\nand more", &line), "ptxas fatal   : Value");
    assert_int_equal(line, 0);
    arena_free(arena);
}

/* The registers that the log reports for a kernel, or those that the linker reports after it. */
static unsigned logged_registers(const char *log, const char *name, bool linked)
{
    char key[200], word[20] = "";
    snprintf(key, sizeof key, linked ? "Function properties for '%s':" : "Compiling entry function '%s' for", name);
    const char *at = strstr(log, key);
    at = at ? strstr(at, linked ? "used " : "Used ") : NULL;
    unsigned registers = 0;
    return at && sscanf(at, "%19s %u", word, &registers) == 2 ? registers : 0;
}

static void check_figures(AssemblerKind kind, const Assembly *plain, const Assembly *capped)
{
    static const char *const kernels[] = {"plain", "reversed", "caller", "crowded"};
    assert_int_equal(plain->resource_count, 5);
    for (size_t i = 0; i < COUNT_OF(kernels); i++) {
        const Resources *r = assembly_find(plain, kernels[i]);
        assert_non_null(r);
        assert_true(r->is_entry);
        assert_in_range(r->registers, 1, 255);
        /* The linker's figures take precedence; the linker of CUDA 12.4 reports none. */
        bool linked = kind == ASSEMBLER_NVJITLINK;
        if (!linked || strstr(plain->log, "Function properties for '"))
            assert_int_equal(r->registers, logged_registers(plain->log, kernels[i], linked));
        assert_int_equal(r->code_size % 128, 0);
        assert_in_range(r->instructions, 5, r->code_size / 16);
        assert_in_range(r->constant, 1, 65536);
        assert_int_equal(r->shared, strcmp(kernels[i], "reversed") == 0 ? 1024 : 0);
        assert_int_equal(r->spill_stores + r->spill_loads, 0);
    }
    /* Not before CUDA 12.5. */
    if (strstr(plain->log, " barriers"))
        assert_int_equal(assembly_find(plain, "reversed")->barriers, 1);
    assert_int_equal(assembly_find(plain, "plain")->barriers, 0);
    const Resources *helper = assembly_find(plain, "helper");
    assert_non_null(helper);
    assert_false(helper->is_entry);
    assert_true(helper == &plain->resources[4]);
    assert_true(helper->code_size > 0);
    const Resources *crowded = assembly_find(capped, "crowded");
    assert_in_range(crowded->registers, 1, 24);
    assert_true(assembly_find(plain, "crowded")->registers > 32);
    assert_true(crowded->spill_stores > 0 && crowded->spill_loads > 0 && crowded->stack > 0);
    assert_true(crowded->instructions > assembly_find(plain, "crowded")->instructions);
}

static void check_real(AssemblerKind kind, const char *arch)
{
    Arena *arena = arena_new();
    Assembler *assembler = open_real(arena, kind, arch);
    if (!assembler) {
        arena_free(arena);
        skip();
    }
    Source *source = read_fixture(arena, KERNELS);
    AssemblyRequest request = assembly_request(source->text, source->size);
    Assembly plain, capped, again, wrong;
    assert_string_equal(assembler_name(assembler), backend_of(kind)->name);
    assert_string_not_equal(assembler_version(assembler), "unknown");
    request.want_cubin = true;
    if (!assembler_run(assembler, arena, &request, &plain))
        fail_msg("%s", plain.message);
    assert_null(plain.message);
    assert_true(plain.cubin_size > sizeof(Elf64_Ehdr) && memcmp(plain.cubin, ELFMAG, SELFMAG) == 0);
    assert_true(plain.seconds > 0);
    request.want_cubin = false;
    request.max_registers = 24;
    assert_true(assembler_run(assembler, arena, &request, &capped));
    assert_null(capped.cubin);
    check_figures(kind, &plain, &capped);
    damage_everywhere(plain.cubin, plain.cubin_size, 61);
    /* Without optimization there are more instructions, and the order of requests does not matter. */
    request.max_registers = 0;
    request.opt_level = 0;
    assert_true(assembler_run(assembler, arena, &request, &again));
    assert_true(assembly_find(&again, "reversed")->instructions > assembly_find(&plain, "reversed")->instructions);
    request.opt_level = 1;
    assert_true(assembler_run(assembler, arena, &request, &again));
    request.opt_level = 3;
    assert_true(assembler_run(assembler, arena, &request, &again));
    assert_int_equal(assembly_find(&again, "crowded")->registers, assembly_find(&plain, "crowded")->registers);
    /* The message gives the number of the wrong line. */
    char *broken = arena_strndup(arena, source->text, source->size), *at = strstr(broken, "add.s64");
    assert_non_null(at);
    memcpy(at, "add.s63", 7);
    unsigned line = source_position(source, (uint32_t)(at - broken)).line;
    for (int syntax_only = 0; syntax_only < 2; syntax_only++) {
        request.ptx = broken;
        request.syntax_only = syntax_only;
        assert_false(assembler_run(assembler, arena, &request, &wrong));
        assert_int_equal(wrong.failure, ASSEMBLY_REJECTED);
        assert_int_equal(wrong.error_line, line);
        assert_non_null(strstr(wrong.message, ".s63"));
        request.ptx = source->text;
        assert_int_equal(assembler_run(assembler, arena, &request, &again), true);
        assert_int_equal(again.resource_count, syntax_only ? 0 : 5);
    }
    assembler_close(assembler);
    arena_free(arena);
}

static void test_ptxas(void **state)
{
    (void)state;
    check_real(ASSEMBLER_PTXAS, "sm_75");
    check_real(ASSEMBLER_PTXAS, "sm_90a");
}

static void test_nvjitlink(void **state)
{
    (void)state;
    check_real(ASSEMBLER_NVJITLINK, "sm_75");
    check_real(ASSEMBLER_NVJITLINK, "sm_90a");
}

/* Runs in parallel with the caller, which uses the assembler in the meantime and waits for the runs in another
 * order. */
static void test_runs_beside_the_caller(void **state)
{
    (void)state;
    enum { BESIDE = 3, ROUNDS = 2 };
    unsigned kinds = 0;
    for (AssemblerKind kind = ASSEMBLER_PTXAS; kind <= ASSEMBLER_NVJITLINK; kind++) {
        Arena *arena = arena_new(), *arenas[BESIDE];
        Assembler *assembler = open_real(arena, kind, "sm_90");
        if (!assembler) {
            arena_free(arena);
            continue;
        }
        kinds++;
        Source *source = read_fixture(arena, KERNELS);
        const AssemblyRequest plain = assembly_request(source->text, source->size);
        for (unsigned round = 0; round < ROUNDS; round++) {
            Assembly here, results[BESIDE];
            AssemblyRun *runs[BESIDE];
            for (int i = 0; i < BESIDE; i++) {
                AssemblyRequest request = plain;
                request.max_registers = 24 + 8 * i;
                arenas[i] = arena_new();
                runs[i] = assembler_start(assembler, arenas[i], &request, &results[i]);
            }
            assert_true(assembler_run(assembler, arena, &plain, &here));
            for (int i = BESIDE; i-- > 0;) {
                assembler_finish(runs[i]);
                assert_int_equal(results[i].failure, ASSEMBLY_DONE);
                unsigned registers = assembly_find(&results[i], "crowded")->registers;
                assert_true(registers <= 24 + 8 * (unsigned)i);
                assert_true(registers < assembly_find(&here, "crowded")->registers);
                arena_free(arenas[i]);
            }
        }
        assembler_close(assembler);
        arena_free(arena);
        sigset_t blocked;
        sigprocmask(SIG_BLOCK, NULL, &blocked);
        assert_false(sigismember(&blocked, SIGTERM));
    }
    if (!kinds)
        skip();
}

/* Kernels for the newest architectures, and a request for another architecture than the assembler was opened for. */
static void test_architectures_of_requests(void **state)
{
    (void)state;
    for (AssemblerKind kind = ASSEMBLER_PTXAS; kind <= ASSEMBLER_NVJITLINK; kind++) {
        Arena *arena = arena_new();
        Assembler *assembler = open_real(arena, kind, "sm_52");
        if (!assembler) {
            arena_free(arena);
            skip();
        }
        Source *source = read_fixture(arena, KERNELS);
        AssemblyRequest request = assembly_request(source->text, source->size);
        Assembly assembly;
        static const char *const archs[] = {"sm_80", "sm_90", "sm_100", "sm_120a"};
        for (size_t i = 0; i < COUNT_OF(archs); i++) {
            request.arch = archs[i];
            if (!assembler_run(assembler, arena, &request, &assembly)) {
                if (i < 2 || assembly.failure != ASSEMBLY_UNAVAILABLE)
                    fail_msg("%s: %s", archs[i], assembly.message);
                print_message("# %s: %s\n", archs[i], assembly.message);
                continue;
            }
            assert_int_equal(assembly_find(&assembly, "reversed")->shared, 1024);
        }
        request.arch = "sm_999";
        assert_false(assembler_run(assembler, arena, &request, &assembly));
        assert_int_equal(assembly.failure, ASSEMBLY_UNAVAILABLE);
        request.arch = "sparc";
        assert_false(assembler_run(assembler, arena, &request, &assembly));
        assert_int_equal(assembly.failure, ASSEMBLY_UNAVAILABLE);
        assembler_close(assembler);
        arena_free(arena);
    }
}

/* PTX that crashes ptxas 13.0. A later version may reject or accept it; the next call must work. */
/* Options of one request change its code, those that do not exist are rejected, and the next request has none. */
static void test_options_of_requests(void **state)
{
    (void)state;
    static const char *const slow[] = {"--opt-level=0", "--register-usage-level=0", NULL};
    static const char *const wrong[] = {"--register-usage-level=0", "--no-such-option=1", NULL};
    static const AssemblerKind kinds[] = {ASSEMBLER_PTXAS, ASSEMBLER_NVJITLINK};
    for (size_t k = 0; k < COUNT_OF(kinds); k++) {
        Arena *arena = arena_new();
        const char *error;
        Assembler *assembler = assembler_open(arena, kinds[k], "sm_90", &error);
        Source *source = source_read(arena, KERNELS, &error);
        if (assembler) {
            assert_non_null(source);
            AssemblyRequest request = assembly_request(source->text, source->size);
            Assembly before, changed, rejected, after;
            assert_true(assembler_run(assembler, arena, &request, &before));
            request.options = slow;
            assert_true(assembler_run(assembler, arena, &request, &changed));
            request.options = wrong;
            assert_false(assembler_run(assembler, arena, &request, &rejected));
            assert_int_equal(rejected.failure, ASSEMBLY_REJECTED);
            assert_non_null(strstr(rejected.message, "no-such-option"));
            request.options = NULL;
            assert_true(assembler_run(assembler, arena, &request, &after));
            const char *kernel = before.resources[0].name;
            assert_true(assembly_find(&changed, kernel)->instructions != before.resources[0].instructions);
            assert_int_equal(assembly_find(&after, kernel)->instructions, before.resources[0].instructions);
        }
        assembler_close(assembler);
        arena_free(arena);
    }
}

static void test_crash_is_survived(void **state)
{
    (void)state;
    for (AssemblerKind kind = ASSEMBLER_PTXAS; kind <= ASSEMBLER_NVJITLINK; kind++) {
        Arena *arena = arena_new();
        Assembler *assembler = open_real(arena, kind, "sm_90");
        if (!assembler) {
            arena_free(arena);
            skip();
        }
        Source *crash = read_fixture(arena, "tests/assembler/crash.ptx"), *good = read_fixture(arena, KERNELS);
        AssemblyRequest deadly = assembly_request(crash->text, crash->size);
        AssemblyRequest harmless = assembly_request(good->text, good->size);
        for (int round = 0; round < 2; round++) {
            Assembly assembly;
            if (!assembler_run(assembler, arena, &deadly, &assembly)) {
                assert_true(assembly.failure == ASSEMBLY_CRASHED || assembly.failure == ASSEMBLY_REJECTED);
                assert_non_null(assembly.message);
            }
            assert_true(assembler_run(assembler, arena, &harmless, &assembly));
        }
        assembler_close(assembler);
        arena_free(arena);
    }
}

/* PTX with debugging information, and PTX that calls a function of another module. */
static void test_kinds_of_ptx(void **state)
{
    (void)state;
    static const char debug[] = ".version 7.8\n.target sm_75, debug\n.address_size 64\n"
                                ".visible .entry k()\n{\n\t.loc 1 1 1\n\tret;\n}\n"
                                ".file 1 \"k.cu\"\n.section .debug_loc { }\n";
    static const char calling[] = ".version 7.8\n.target sm_75\n.address_size 64\n"
                                  ".extern .func elsewhere();\n"
                                  ".visible .entry k()\n{\n\tcall elsewhere, ();\n\tret;\n}\n";
    for (AssemblerKind kind = ASSEMBLER_PTXAS; kind <= ASSEMBLER_NVJITLINK; kind++) {
        Arena *arena = arena_new();
        Assembler *assembler = open_real(arena, kind, "sm_75");
        if (!assembler) {
            arena_free(arena);
            skip();
        }
        AssemblyRequest request = assembly_request(debug, sizeof debug - 1);
        Assembly assembly;
        if (!assembler_run(assembler, arena, &request, &assembly))
            fail_msg("%s", assembly.message);
        assert_false(assembly.relocatable);
        request = assembly_request(calling, sizeof calling - 1);
        bool done = assembler_run(assembler, arena, &request, &assembly);
        assert_int_equal(done, kind == ASSEMBLER_PTXAS);
        assert_int_equal(assembly.relocatable, done);
        if (done)
            assert_true(assembly_find(&assembly, "k")->registers > 0);
        else
            assert_int_equal(assembly.failure, ASSEMBLY_REJECTED);
        assembler_close(assembler);
        arena_free(arena);
    }
}

static void test_nul_bytes(void **state)
{
    (void)state;
    Arena *arena = arena_new();
    Assembler *assembler = open_real(arena, ASSEMBLER_AUTO, "sm_75");
    if (!assembler) {
        arena_free(arena);
        skip();
    }
    Source *source = read_fixture(arena, KERNELS);
    char *text = arena_alloc(arena, source->size + 3);
    memcpy(text, source->text, source->size);
    AssemblyRequest request = assembly_request(text, source->size + 3);
    Assembly assembly;
    assert_true(assembler_run(assembler, arena, &request, &assembly));
    text[100] = 0;
    assert_false(assembler_run(assembler, arena, &request, &assembly));
    assert_int_equal(assembly.failure, ASSEMBLY_REJECTED);
    assert_non_null(strstr(assembly.message, "offset 100"));
    request = assembly_request("", 0);
    assert_false(assembler_run(assembler, arena, &request, &assembly));
    assembler_close(assembler);
    arena_free(arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_kinds),
        cmocka_unit_test(test_cubin_is_read),
        cmocka_unit_test(test_hostile_cubins),
        cmocka_unit_test(test_log_of_ptxas),
        cmocka_unit_test(test_log_alone),
        cmocka_unit_test(test_shared_reserve),
        cmocka_unit_test(test_log_is_not_enough),
        cmocka_unit_test(test_hostile_logs),
        cmocka_unit_test(test_first_error),
        cmocka_unit_test(test_ptxas),
        cmocka_unit_test(test_runs_beside_the_caller),
        cmocka_unit_test(test_nvjitlink),
        cmocka_unit_test(test_architectures_of_requests),
        cmocka_unit_test(test_options_of_requests),
        cmocka_unit_test(test_crash_is_survived),
        cmocka_unit_test(test_kinds_of_ptx),
        cmocka_unit_test(test_nul_bytes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
