/* The assembler with programs and libraries that are missing, broken, slow or erratic: fakes replace
 * NVIDIA's. The fake driver also simulates a machine with a GPU. The file is long because all tests share the fakes. */
#include "tests/assembler/fixture.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/wait.h>

typedef struct Place {
    Arena *arena;
    const char *folder;    /* for programs and libraries */
    const char *temporary; /* $TMPDIR; must be empty afterwards */
    const char *cubin;
    size_t open_files;
} Place;

static const char *const variables[] = {"PTXOPT_PTXAS", "PTXOPT_NVJITLINK", "PTXOPT_CUDA_DRIVER", "FAKE_MODE",
                                        "FAKE_RECORD",  "FAKE_PID_FILE",    "FAKE_CUBIN",         "PTXOPT_NESTED"};

static size_t count_entries(const char *path)
{
    DIR *folder = opendir(path);
    size_t count = 0;
    assert_non_null(folder);
    while (readdir(folder))
        count++;
    closedir(folder);
    return count;
}

static int set_up(void **state)
{
    Place *place = calloc(1, sizeof *place);
    place->arena = arena_new();
    place->folder = new_folder(place->arena);
    place->temporary = arena_printf(place->arena, "%s/tmp", place->folder);
    place->cubin = arena_printf(place->arena, "%s/made.cubin", place->folder);
    assert_int_equal(mkdir(place->temporary, 0700), 0);
    for (size_t i = 0; i < COUNT_OF(variables); i++)
        unsetenv(variables[i]);
    setenv("TMPDIR", place->temporary, 1);
    setenv("FAKE_CUBIN", place->cubin, 1);
    Buf file = {0};
    make_cubin(&file, fixture_kernels, 1);
    write_fixture(place->cubin, file.data, file.length, 0600);
    buf_free(&file);
    place->open_files = count_entries("/proc/self/fd");
    *state = place;
    return 0;
}

/* No file, descriptor or process remains. */
static int tear_down(void **state)
{
    Place *place = *state;
    assert_int_equal(count_entries(place->temporary), 2);
    assert_int_equal(count_entries("/proc/self/fd"), place->open_files);
    assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
    assert_int_equal(errno, ECHILD);
    for (size_t i = 0; i < COUNT_OF(variables); i++)
        unsetenv(variables[i]);
    unsetenv("TMPDIR");
    remove_folder(place->folder);
    arena_free(place->arena);
    free(place);
    return 0;
}

/* A shell script that handles --version and an empty kernel as ptxas does and runs 'body' for everything else. */
static const char *make_ptxas(const Place *place, const char *body)
{
    const char *path = arena_printf(place->arena, "%s/ptxas", place->folder);
    const char *script = arena_printf(
        place->arena,
        "#!/bin/sh\n"
        "if [ \"$1\" = --version ]; then\n"
        "    echo 'ptxas: NVIDIA (R) Ptx optimizing assembler'\n"
        "    echo 'Cuda compilation tools, release 12.9, V12.9.41'\n"
        "    exit 0\n"
        "fi\n"
        "good() {\n"
        "    cat \"$FAKE_CUBIN\" >output.cubin\n"
        "    echo \"ptxas info    : Compiling entry function 'first' for 'sm_90'\"\n"
        "    echo 'ptxas info    : Function properties for first'\n"
        "    echo '    0 bytes stack frame, 4 bytes spill stores, 8 bytes spill loads'\n"
        "    echo 'ptxas info    : Used 20 registers, used 0 barriers' >&2\n"
        "}\n"
        "if grep -q ptxopt_probe input.ptx; then good; exit 0; fi\n"
        "%s\n",
        body);
    write_fixture(path, script, strlen(script), 0700);
    setenv("PTXOPT_PTXAS", path, 1);
    return path;
}

static Assembler *open_fake(const Place *place, AssemblerKind kind)
{
    const char *error = NULL;
    Assembler *assembler = assembler_open(place->arena, kind, "sm_90", &error);
    if (!assembler)
        fail_msg("%s", error);
    assert_string_equal(assembler_name(assembler), backend_of(kind)->name);
    return assembler;
}

static const char some_ptx[] = ".version 8.0\n.target sm_90\n";

static Assembly run_fake(const Place *place, Assembler *assembler, unsigned timeout_ms)
{
    AssemblyRequest request = assembly_request(some_ptx, sizeof some_ptx - 1);
    request.timeout_ms = timeout_ms;
    request.want_cubin = true;
    Assembly assembly;
    bool done = assembler_run(assembler, place->arena, &request, &assembly);
    assert_int_equal(done, assembly.failure == ASSEMBLY_DONE);
    assert_int_equal(done, assembly.message == NULL);
    assert_int_equal(done, assembly.cubin != NULL);
    assert_non_null(assembly.log);
    return assembly;
}

static Assembly run_script(const Place *place, const char *body, unsigned timeout_ms)
{
    make_ptxas(place, body);
    Assembler *assembler = open_fake(place, ASSEMBLER_PTXAS);
    assert_string_equal(assembler_version(assembler), "12.9.41");
    Assembly assembly = run_fake(place, assembler, timeout_ms);
    assembler_close(assembler);
    return assembly;
}

static void test_ptxas_works(void **state)
{
    const Place *place = *state;
    setenv("PTXOPT_NESTED", "before", 1); /* which the child has only once, as TMPDIR */
    Assembly assembly = run_script(place, "n=$(xargs -0n1 </proc/$$/environ | grep -cE '^(TMPDIR|PTXOPT_NESTED)=')\n"
                                          "[ $PTXOPT_NESTED$n$TMPDIR = 12$PWD ] && good; echo \"$@\"; pwd; "
                                          "echo scratch >core; mkdir -p deep/er; echo \"$TMPDIR\" >deep/er/left", 0);
    assert_int_equal(assembly.failure, ASSEMBLY_DONE);
    assert_int_equal(assembly.resource_count, 1);
    assert_int_equal(assembly.resources[0].registers, 20);
    assert_int_equal(assembly.resources[0].spill_loads, 8);
    assert_non_null(strstr(assembly.log, "-v -arch=sm_90 input.ptx -o output.cubin\n"));
    assert_non_null(strstr(assembly.log, place->temporary));
}

/* Neither a name to find in $PATH nor a relative path depends on the folder that the program runs in. */
static void test_ptxas_is_named(void **state)
{
    const Place *place = *state;
    static const char *const names[] = {"./ptxas", "ptxas"};
    char *path = strdup(getenv("PATH")), *here = getcwd(NULL, 0);
    make_ptxas(place, "good");
    setenv("PATH", arena_printf(place->arena, ":.:%s", path), 1);
    assert_int_equal(chdir(place->folder), 0);
    for (size_t i = 0; i < COUNT_OF(names); i++) {
        setenv("PTXOPT_PTXAS", names[i], 1);
        Assembler *assembler = open_fake(place, ASSEMBLER_PTXAS);
        assert_int_equal(assembler_path(assembler)[0], '/');
        assert_int_equal(run_fake(place, assembler, 0).failure, ASSEMBLY_DONE);
        assembler_close(assembler);
    }
    assert_int_equal(chdir(here), 0);
    setenv("PATH", path, 1);
    free(path);
    free(here);
}

static void test_ptxas_fails(void **state)
{
    const Place *place = *state;
    static const struct {
        const char *body;
        AssemblyFailure failure;
        const char *message;
    } cases[] = {
        {"kill -SEGV $$", ASSEMBLY_CRASHED, "signal 11"},
        {"sh -c 'kill -ABRT $$'; exit $?", ASSEMBLY_CRASHED, "134"},
        {"echo 'ptxas input.ptx, line 12; error   : Bad'; good; exit 255", ASSEMBLY_REJECTED, "line 12; error   : Bad"},
        {"echo 'ptxas fatal   : Out of luck' >&2; exit 1", ASSEMBLY_REJECTED, "Out of luck"},
        {"exit 1", ASSEMBLY_UNREADABLE, "exit status 1 without naming an error"},
        {"head -c 5000 /dev/urandom; exit 3", ASSEMBLY_UNREADABLE, "exit status 3"},
        {"exit 0", ASSEMBLY_UNREADABLE, "left no cubin"},
        {"good; rm output.cubin", ASSEMBLY_UNREADABLE, "left no cubin"},
        {"good; : >output.cubin", ASSEMBLY_UNREADABLE, "left no cubin"},
        {"good; rm output.cubin; mkfifo output.cubin", ASSEMBLY_UNREADABLE, "left no cubin"},
        {"good; rm output.cubin; ln -s /etc/passwd output.cubin", ASSEMBLY_UNREADABLE, "left no cubin"},
        {"good; mv output.cubin x; mkdir output.cubin", ASSEMBLY_UNREADABLE, "left no cubin"},
        {"good; echo garbage >output.cubin", ASSEMBLY_UNREADABLE, "cubin cannot be read"},
        {"good; head -c 700 \"$FAKE_CUBIN\" >output.cubin", ASSEMBLY_UNREADABLE, "cubin cannot be read"},
        {"good >/dev/null 2>&1", ASSEMBLY_UNREADABLE, "spill figures for kernel 'first'"},
        {"good >/dev/null 2>&1; head -c 100000 /dev/urandom", ASSEMBLY_UNREADABLE, "spill figures for kernel 'first'"},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        Assembly assembly = run_script(place, cases[i].body, 0);
        if (assembly.failure != cases[i].failure || !strstr(assembly.message, cases[i].message))
            fail_msg("%s: %s: %s", cases[i].body, assembly_failure_word(assembly.failure), assembly.message);
        assert_int_equal(assembly.resource_count, 0);
    }
}

static void test_ptxas_swells(void **state)
{
    const Place *place = *state;
    static const char *const cases[] = {
        "head -c 300000000 /dev/zero | tail >/dev/null || "
        "{ echo 'ptxas fatal   : Memory allocation failure'; exit 255; }",
        "head -c 300000000 /dev/zero | tail >/dev/null; echo 'std::bad_alloc'; kill -ABRT $$",
    };
    setenv("PTXOPT_ASSEMBLER_MEMORY", "200", 1);
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        Assembly assembly = run_script(place, cases[i], 0);
        assert_int_equal(assembly.failure, ASSEMBLY_NO_MEMORY);
        assert_non_null(strstr(assembly.message, "needs more than the 200 MiB"));
        assert_true(assembly_broke(assembly.failure));
    }
    /* Without a limit, the same works. */
    setenv("PTXOPT_ASSEMBLER_MEMORY", "0", 1);
    assert_int_equal(run_script(place, "head -c 300000000 /dev/zero | tail >/dev/null && good", 0).failure,
                     ASSEMBLY_DONE);
    unsetenv("PTXOPT_ASSEMBLER_MEMORY");
}

/* A ptxas that lists virtual architectures and rejects them, as ptxas 12.4 does with compute_90a. */
static void test_ptxas_cannot_only_parse(void **state)
{
    const Place *place = *state;
    make_ptxas(place, "case \"$2\" in -arch=compute_*)\n"
                      "    echo \"ptxas fatal   : Unsupported gpu architecture 'compute_90'\"; exit 1;;\n"
                      "esac\n"
                      "if grep -q wrong input.ptx; then echo 'ptxas input.ptx, line 3; error   : Bad'; exit 1; fi\n"
                      "echo \"$@\"; good");
    Assembler *assembler = open_fake(place, ASSEMBLER_PTXAS);
    AssemblyRequest request = assembly_request("right", 5);
    Assembly assembly;
    request.syntax_only = true;
    assert_true(assembler_run(assembler, place->arena, &request, &assembly));
    assert_non_null(strstr(assembly.log, "-v -arch=sm_90 input.ptx -O0 -o output.cubin"));
    assert_int_equal(assembly.resource_count, 0);
    request.ptx = "wrong";
    assert_false(assembler_run(assembler, place->arena, &request, &assembly));
    assert_int_equal(assembly.failure, ASSEMBLY_REJECTED);
    assert_int_equal(assembly.error_line, 3);
    assembler_close(assembler);
}

/* ptxas 12.4 works on one core only; later ones are told that only the verdict matters. */
static void test_ptxas_has_one_core(void **state)
{
    static const char *const bodies[] = {
        "case \"$*\" in *split-compile*) echo \"ptxas fatal   : Unknown option 'split-compile'\"; exit 1;; esac\n"
        "echo \"$@\"; good",
        "echo \"$@\"; good"};
    for (unsigned knows = 0; knows < 2; knows++) {
        make_ptxas(*state, bodies[knows]);
        Assembler *assembler = open_fake(*state, ASSEMBLER_PTXAS);
        AssemblyRequest request = assembly_request("right", 5);
        Assembly assembly;
        request.many_cores = true;
        assert_true(assembler_run(assembler, ((const Place *)*state)->arena, &request, &assembly));
        assert_int_equal(strstr(assembly.log, "-split-compile=0") != NULL, knows);
        request.many_cores = false;
        assert_true(assembler_run(assembler, ((const Place *)*state)->arena, &request, &assembly));
        assert_null(strstr(assembly.log, "split-compile"));
        assembler_close(assembler);
    }
}

static void test_ptxas_hangs(void **state)
{
    const Place *place = *state;
    static const char *const bodies[] = {"exec sleep 1000", "sleep 1000", "exec >/dev/null 2>&1; sleep 1000",
                                         "trap '' TERM INT HUP; while :; do sleep 1; done",
                                         "while :; do echo flood flood flood flood; done"};
    for (size_t i = 0; i < COUNT_OF(bodies); i++) {
        Assembly assembly = run_script(place, bodies[i], 300);
        assert_int_equal(assembly.failure, ASSEMBLY_TIMED_OUT);
        assert_true(assembly.seconds >= 0.29 && assembly.seconds < 20);
        assert_non_null(strstr(assembly.message, "300 ms"));
        assert_true(strlen(assembly.log) < (2u << 20));
    }
}

/* A child process outlives the program and keeps the output open: the run still ends, and so does the child. */
static void test_ptxas_leaves_a_process(void **state)
{
    const Place *place = *state;
    Assembly assembly = run_script(place, "sleep 1000 & echo left $!; good", 0);
    assert_int_equal(assembly.failure, ASSEMBLY_DONE);
    assert_true(assembly.seconds < 20);
    int left = 0;
    assert_int_equal(sscanf(strstr(assembly.log, "left "), "left %d", &left), 1);
    /* Its new parent must reap it. */
    for (int i = 0; i < 200 && kill(left, 0) == 0; i++) {
        char path[64], text[256] = "";
        snprintf(path, sizeof path, "/proc/%d/stat", left);
        FILE *file = fopen(path, "r");
        size_t count = file ? fread(text, 1, sizeof text - 1, file) : 0;
        if (file)
            fclose(file);
        if (count && strstr(text, ") Z "))
            return;
        poll(NULL, 0, 10);
    }
    assert_int_equal(kill(left, 0), -1);
}

static void test_much_output(void **state)
{
    const Place *place = *state;
    Assembly assembly = run_script(place, "head -c 40000000 /dev/zero | tr '\\0' 'x'; echo; good", 0);
    /* The figures come after the part of the output that is kept. */
    assert_int_equal(assembly.failure, ASSEMBLY_UNREADABLE);
    assert_non_null(strstr(assembly.log, "(cut: 16777216 bytes in all)"));
    assembly = run_script(place, "good; head -c 4000000 /dev/zero | tr '\\0' 'x'", 0);
    assert_int_equal(assembly.failure, ASSEMBLY_DONE);
    assert_true(strlen(assembly.log) < (2u << 20));
}

static void expect_no_assembler(const Place *place, AssemblerKind kind, const char *variable, const char *words)
{
    const char *error = NULL;
    assert_null(assembler_open(place->arena, kind, "sm_90", &error));
    if (!strstr(error, variable) || !strstr(error, words))
        fail_msg("'%s' should name %s and '%s'", error, variable, words);
}

static void test_ptxas_is_none(void **state)
{
    const Place *place = *state;
    const char *path = arena_printf(place->arena, "%s/none", place->folder);
    const struct {
        const char *text, *words;
        mode_t mode;
    } cases[] = {
        {"#!/bin/sh\necho gcc 12\n", "does not name ptxas", 0700},
        {"#!/bin/sh\nexit 3\n", "exit status 3", 0700},
        {"#!/bin/sh\nkill -9 $$\n", "signal 9", 0700},
        {"#!/nonexistent/shell\n", "cannot be run", 0700},
        {"#!/bin/sh\necho ptxas\n", "empty kernel for sm_90", 0700},
        {"\177ELF garbage", "cannot be run", 0700},
        {"", "", 0700},
        {"#!/bin/sh\necho ptxas\n", "Permission denied", 0600},
    };
    setenv("PTXOPT_PTXAS", path, 1);
    expect_no_assembler(place, ASSEMBLER_PTXAS, "PTXOPT_PTXAS", "No such file");
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        write_fixture(path, cases[i].text, strlen(cases[i].text), cases[i].mode);
        expect_no_assembler(place, ASSEMBLER_PTXAS, "PTXOPT_PTXAS", cases[i].words);
    }
    setenv("PTXOPT_PTXAS", place->folder, 1);
    expect_no_assembler(place, ASSEMBLER_PTXAS, "PTXOPT_PTXAS", "Permission denied");
}

static void test_no_temporary_folder(void **state)
{
    const Place *place = *state;
    make_ptxas(place, "good");
    Assembler *assembler = open_fake(place, ASSEMBLER_PTXAS);
    setenv("TMPDIR", "/nonexistent/folder", 1);
    Assembly assembly = run_fake(place, assembler, 0);
    assert_int_equal(assembly.failure, ASSEMBLY_UNAVAILABLE);
    assert_non_null(strstr(assembly.message, "temporary folder"));
    setenv("TMPDIR", place->temporary, 1);
    assert_int_equal(run_fake(place, assembler, 0).failure, ASSEMBLY_DONE);
    remove(getenv("PTXOPT_PTXAS"));
    assert_int_equal(run_fake(place, assembler, 0).failure, ASSEMBLY_UNAVAILABLE);
    assembler_close(assembler);
}

/* Waits until a file holds a number. */
static int read_number(const char *path)
{
    for (int i = 0; i < 1000; i++) {
        int number = 0;
        FILE *file = fopen(path, "r");
        int count = file ? fscanf(file, "%d\n", &number) : 0;
        if (file)
            fclose(file);
        if (count == 1)
            return number;
        poll(NULL, 0, 10);
    }
    fail_msg("%s was not written", path);
    return 0;
}

static void expect_end_of(int pid)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/stat", pid);
    for (int i = 0; i < 500; i++) {
        char text[256] = "";
        FILE *file = fopen(path, "r");
        size_t count = file ? fread(text, 1, sizeof text - 1, file) : 0;
        if (file)
            fclose(file);
        if (count == 0 || strstr(text, ") Z "))
            return;
        poll(NULL, 0, 10);
    }
    fail_msg("process %d still runs", pid);
}

/* Runs it twice, once in parallel with the caller. */
static void run_twice(const Place *place, Assembler *assembler)
{
    const AssemblyRequest request = assembly_request(some_ptx, sizeof some_ptx - 1);
    Assembly beside;
    AssemblyRun *run = assembler_start(assembler, arena_new(), &request, &beside);
    run_fake(place, assembler, 0);
    assembler_finish(run);
}

/* The program is told to terminate while ptxas runs: it removes its files first, and ptxas ends with it. */
static void test_program_is_ended(void **state)
{
    const Place *place = *state;
    const char *pid_file = arena_printf(place->arena, "%s/pid", place->folder);
    setenv("FAKE_PID_FILE", pid_file, 1);
    make_ptxas(place, "echo $$ >\"$FAKE_PID_FILE\"; exec sleep 1000");
    static const int numbers[] = {SIGTERM, SIGINT, SIGKILL};
    for (size_t i = 0; i < COUNT_OF(numbers); i++) {
        remove(pid_file);
        Assembler *assembler = open_fake(place, ASSEMBLER_PTXAS);
        pid_t program = fork();
        if (program == 0) {
            run_twice(place, assembler);
            _exit(0);
        }
        int pid = read_number(pid_file), status = 0;
        kill(program, numbers[i]);
        assert_int_equal(waitpid(program, &status, 0), program);
        assert_true(WIFSIGNALED(status));
        assert_int_equal(WTERMSIG(status), numbers[i]);
        expect_end_of(pid);
        if (numbers[i] == SIGKILL) /* nothing can clean up after SIGKILL */
            nftw(place->temporary, remove_entry, 16, FTW_DEPTH | FTW_PHYS), mkdir(place->temporary, 0700);
        assert_int_equal(count_entries(place->temporary), 2);
        assembler_close(assembler);
    }
}

/* A fake library that the Makefile has built. */
static const char *fake_library(const Place *place, const char *name)
{
    const char *build = getenv("BUILD");
    const char *path = arena_printf(place->arena, "%s/tests/fakes/%s.so", build ? build : "build", name);
    char *whole = realpath(path, NULL);
    if (!whole)
        fail_msg("no %s", path);
    path = arena_strndup(place->arena, whole, strlen(whole));
    free(whole);
    return path;
}

static void test_nvjitlink_works(void **state)
{
    const Place *place = *state;
    for (int versioned = 0; versioned < 2; versioned++) {
        setenv("PTXOPT_NVJITLINK", fake_library(place, versioned ? "nvjitlink-versioned" : "nvjitlink"), 1);
        Assembler *assembler = open_fake(place, ASSEMBLER_NVJITLINK);
        assert_string_equal(assembler_version(assembler), "unknown");
        Assembly assembly = run_fake(place, assembler, 0);
        assert_int_equal(assembly.failure, ASSEMBLY_DONE);
        assert_int_equal(assembly.resources[0].registers, 20);
        assert_int_equal(assembly.resources[0].spill_stores, 4);
        assembler_close(assembler);
        assembler_close(assembler);
    }
    assembler_close(NULL);
}

static void test_nvjitlink_fails(void **state)
{
    const Place *place = *state;
    static const struct {
        const char *mode;
        AssemblyFailure failure;
        const char *message, *log;
    } cases[] = {
        {"crash", ASSEMBLY_CRASHED, "signal 6", "-arch=sm_90 -verbose the last words"},
        {"exit", ASSEMBLY_CRASHED, "exit status 0", ""},
        {"hang", ASSEMBLY_TIMED_OUT, "500 ms", ""},
        {"overwrite", ASSEMBLY_CRASHED, "broke its worker", ""},
        {"reject", ASSEMBLY_REJECTED, "result 4", ""},
        {"no-cubin", ASSEMBLY_UNREADABLE, "no cubin", ""},
        {"huge-cubin", ASSEMBLY_UNREADABLE, "no cubin", ""},
        {"garbage-cubin", ASSEMBLY_UNREADABLE, "cannot be read", ""},
        {"silent", ASSEMBLY_UNREADABLE, "spill figures for kernel 'first'", ""},
        {"huge-log", ASSEMBLY_UNREADABLE, "spill figures for kernel 'first'", ""},
    };
    setenv("PTXOPT_NVJITLINK", fake_library(place, "nvjitlink"), 1);
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        setenv("FAKE_MODE", cases[i].mode, 1);
        Assembler *assembler = open_fake(place, ASSEMBLER_NVJITLINK);
        for (int round = 0; round < 2; round++) {
            Assembly assembly = run_fake(place, assembler, strcmp(cases[i].mode, "hang") == 0 ? 500 : 0);
            if (assembly.failure != cases[i].failure || !strstr(assembly.message, cases[i].message) ||
                !strstr(assembly.log, cases[i].log))
                fail_msg("%s: %s: %s (%s)", cases[i].mode, assembly_failure_word(assembly.failure), assembly.message,
                         assembly.log);
        }
        assembler_close(assembler);
    }
}

static void test_library_is_none(void **state)
{
    const Place *place = *state;
    const char *path = arena_printf(place->arena, "%s/garbage.so", place->folder);
    static const struct {
        AssemblerKind kind;
        const char *variable, *fake, *words;
    } cases[] = {
        {ASSEMBLER_NVJITLINK, "PTXOPT_NVJITLINK", "driver", "has no nvJitLinkCreate"},
        {ASSEMBLER_NVJITLINK, "PTXOPT_NVJITLINK", "nvjitlink-incomplete", "has no nvJitLinkGetInfoLog"},
        {ASSEMBLER_DRIVER, "PTXOPT_CUDA_DRIVER", "nvjitlink", "has no cuInit"},
        {ASSEMBLER_DRIVER, "PTXOPT_CUDA_DRIVER", "driver-without-link", "has no cuLinkCreate_v2"}};
    write_fixture(path, "this is not a library\n", 22, 0600);
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        setenv(cases[i].variable, path, 1);
        expect_no_assembler(place, cases[i].kind, cases[i].variable, "garbage.so");
        setenv(cases[i].variable, "/nonexistent.so", 1);
        expect_no_assembler(place, cases[i].kind, cases[i].variable, "No such file");
        setenv(cases[i].variable, fake_library(place, cases[i].fake), 1);
        expect_no_assembler(place, cases[i].kind, cases[i].variable, cases[i].words);
    }
    setenv("FAKE_MODE", "crash-on-load", 1);
    setenv("PTXOPT_NVJITLINK", fake_library(place, "nvjitlink"), 1);
    expect_no_assembler(place, ASSEMBLER_NVJITLINK, "PTXOPT_NVJITLINK", "signal 6");
}

/* The worker is killed from outside between two calls, or together with the program. */
static void test_worker_is_ended(void **state)
{
    const Place *place = *state;
    const char *pid_file = arena_printf(place->arena, "%s/pid", place->folder);
    setenv("FAKE_PID_FILE", pid_file, 1);
    setenv("PTXOPT_NVJITLINK", fake_library(place, "nvjitlink"), 1);
    Assembler *assembler = open_fake(place, ASSEMBLER_NVJITLINK);
    kill(read_number(pid_file), SIGKILL);
    poll(NULL, 0, 50);
    assert_int_equal(run_fake(place, assembler, 0).failure, ASSEMBLY_DONE);
    assembler_close(assembler);
    expect_end_of(read_number(pid_file));
    remove(pid_file);
    pid_t program = fork();
    if (program == 0) {
        open_fake(place, ASSEMBLER_NVJITLINK);
        for (;;)
            pause();
    }
    int worker = read_number(pid_file);
    kill(program, SIGKILL);
    assert_int_equal(waitpid(program, NULL, 0), program);
    expect_end_of(worker);
}

static const char *read_text(const Place *place, const char *path)
{
    const char *error;
    Source *source = source_read(place->arena, path, &error);
    return source ? source->text : "";
}

static void test_driver_works(void **state)
{
    const Place *place = *state;
    const char *record = arena_printf(place->arena, "%s/record", place->folder);
    setenv("PTXOPT_CUDA_DRIVER", fake_library(place, "driver"), 1);
    Assembler *assembler = open_fake(place, ASSEMBLER_DRIVER);
    assert_string_equal(assembler_name(assembler), "CUDA driver");
    assert_string_equal(assembler_version(assembler), "13.0 on Fake GPU");
    setenv("FAKE_RECORD", record, 1);
    assembler_close(assembler);
    assembler = open_fake(place, ASSEMBLER_DRIVER);
    remove(record);
    AssemblyRequest request = assembly_request(".version 8.0", 12);
    request.max_registers = 40;
    request.opt_level = 1;
    request.arch = "sm_90a";
    Assembly assembly;
    assert_true(assembler_run(assembler, place->arena, &request, &assembly));
    /* The figures of the loaded module, if the driver reports them; the others come from the cubin and the log. */
    const Resources *first = assembly_find(&assembly, "first");
    assert_int_equal(first->registers, 33);
    assert_int_equal(first->stack, 48);
    assert_int_equal(first->shared, 0);
    assert_int_equal(first->constant, 360);
    assert_int_equal(first->spill_loads, 8);
    assert_int_equal(first->instructions, 11);
    const char *written = read_text(place, record);
    assert_non_null(strstr(written, "load 4=1048624 6=1048624 12=1 7=1 8=1 0=40\n"));
    assert_non_null(strstr(written, "link 4=1048624 6=1048624 12=1 7=1 8=1 0=40\n"));
    remove(record);
    request.arch = NULL;
    request.max_registers = 0;
    request.opt_level = 3;
    request.syntax_only = true;
    assert_true(assembler_run(assembler, place->arena, &request, &assembly));
    assert_string_equal(read_text(place, record), "load 4=1048624 6=1048624 12=1 7=0 9=90\n");
    static const char *const options[] = {"--opt-level=1", NULL};
    request.options = options;
    assert_false(assembler_run(assembler, place->arena, &request, &assembly));
    assert_non_null(strstr(assembly.message, "takes no options for ptxas"));
    request.options = NULL;
    request.arch = "sm_80";
    assert_false(assembler_run(assembler, place->arena, &request, &assembly));
    assert_int_equal(assembly.failure, ASSEMBLY_UNAVAILABLE);
    assembler_close(assembler);
}

static void test_driver_fails(void **state)
{
    const Place *place = *state;
    static const struct {
        const char *mode;
        AssemblyFailure failure;
        const char *message;
    } cases[] = {
        {"reject", ASSEMBLY_REJECTED, "line 5; error   : No such thing"},
        {"old", ASSEMBLY_REJECTED, "too old for the .version"},
        {"crash", ASSEMBLY_CRASHED, "signal 11"},
        {"hang", ASSEMBLY_TIMED_OUT, "500 ms"},
    };
    static const struct {
        const char *mode, *words;
    } unusable[] = {
        {"no-init", "cannot be initialized: CUDA_ERROR_NO_DEVICE (100)"},
        {"no-device", "no GPU of architecture sm_90 here (no GPU found)"},
        {"other-device", "no GPU of architecture sm_90 here (Fake GPU is sm_80)"},
        {"no-context", "cannot use Fake GPU: CUDA error 2"},
        {"no-cubin", "no cubin"},
    };
    setenv("PTXOPT_CUDA_DRIVER", fake_library(place, "driver"), 1);
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        setenv("FAKE_MODE", cases[i].mode, 1);
        Assembler *assembler = open_fake(place, ASSEMBLER_DRIVER);
        for (int round = 0; round < 2; round++) {
            Assembly assembly = run_fake(place, assembler, strcmp(cases[i].mode, "hang") == 0 ? 500 : 0);
            if (assembly.failure != cases[i].failure || !strstr(assembly.message, cases[i].message))
                fail_msg("%s: %s: %s", cases[i].mode, assembly_failure_word(assembly.failure), assembly.message);
        }
        assembler_close(assembler);
    }
    for (size_t i = 0; i < COUNT_OF(unusable); i++) {
        setenv("FAKE_MODE", unusable[i].mode, 1);
        expect_no_assembler(place, ASSEMBLER_DRIVER, "PTXOPT_CUDA_DRIVER", unusable[i].words);
    }
    /* A driver that reports no figures of modules reports those of links. */
    setenv("FAKE_MODE", "quiet-load", 1);
    setenv("PTXOPT_CUDA_DRIVER", fake_library(place, "driver-without-error-name"), 1);
    Assembler *assembler = open_fake(place, ASSEMBLER_DRIVER);
    assert_int_equal(run_fake(place, assembler, 0).resources[0].spill_stores, 4);
    assembler_close(assembler);
}

static void test_automatic_choice(void **state)
{
    const Place *place = *state;
    const char *garbage = arena_printf(place->arena, "%s/garbage.so", place->folder), *error = NULL;
    write_fixture(garbage, "this is not a library\n", 22, 0700);
    make_ptxas(place, "good");
    setenv("PTXOPT_NVJITLINK", fake_library(place, "nvjitlink"), 1);
    setenv("PTXOPT_CUDA_DRIVER", fake_library(place, "driver"), 1);
    static const struct {
        const char *gone; /* from here on, no longer named */
        AssemblerKind chosen;
    } steps[] = {{NULL, ASSEMBLER_DRIVER},
                 {"PTXOPT_CUDA_DRIVER", ASSEMBLER_PTXAS},
                 {"PTXOPT_PTXAS", ASSEMBLER_NVJITLINK}};
    for (size_t i = 0; i < COUNT_OF(steps); i++) {
        if (steps[i].gone)
            unsetenv(steps[i].gone);
        Assembler *assembler = assembler_open(place->arena, ASSEMBLER_AUTO, "sm_90", &error);
        assert_non_null(assembler);
        assert_string_equal(assembler_name(assembler), backend_of(steps[i].chosen)->name);
        assert_null(assembler_note(assembler));
        assert_int_equal(run_fake(place, assembler, 0).failure, ASSEMBLY_DONE);
        assembler_close(assembler);
    }
    assert_null(assembler_open(place->arena, ASSEMBLER_AUTO, "gfx90a", &error));
    assert_non_null(strstr(error, "'gfx90a' is not a known architecture"));
}

/* One that was named is not replaced by another, although others, named or not, exist. */
static void test_named_is_not_replaced(void **state)
{
    const Place *place = *state;
    const char *garbage = arena_printf(place->arena, "%s/garbage.so", place->folder);
    write_fixture(garbage, "this is not a library\n", 22, 0700);
    for (size_t i = 0; i < 3; i++) {
        make_ptxas(place, "good");
        setenv("PTXOPT_NVJITLINK", fake_library(place, "nvjitlink"), 1);
        unsetenv("PTXOPT_CUDA_DRIVER");
        if (strcmp(variables[i], "PTXOPT_NVJITLINK") == 0)
            unsetenv("PTXOPT_PTXAS");
        setenv(variables[i], garbage, 1);
        assert_true(assembler_is_named(ASSEMBLER_AUTO));
        expect_no_assembler(place, ASSEMBLER_AUTO, variables[i], "can be used for sm_90");
    }
    for (size_t i = 0; i < 3; i++)
        unsetenv(variables[i]);
    assert_false(assembler_is_named(ASSEMBLER_AUTO));
}

int main(void)
{
#define FAULT_TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        FAULT_TEST(test_ptxas_works),
        FAULT_TEST(test_ptxas_is_named),
        FAULT_TEST(test_ptxas_fails),
        FAULT_TEST(test_ptxas_swells),
        FAULT_TEST(test_ptxas_cannot_only_parse),
        FAULT_TEST(test_ptxas_has_one_core),
        FAULT_TEST(test_ptxas_hangs),
        FAULT_TEST(test_ptxas_leaves_a_process),
        FAULT_TEST(test_much_output),
        FAULT_TEST(test_ptxas_is_none),
        FAULT_TEST(test_no_temporary_folder),
        FAULT_TEST(test_program_is_ended),
        FAULT_TEST(test_nvjitlink_works),
        FAULT_TEST(test_nvjitlink_fails),
        FAULT_TEST(test_library_is_none),
        FAULT_TEST(test_worker_is_ended),
        FAULT_TEST(test_driver_works),
        FAULT_TEST(test_driver_fails),
        FAULT_TEST(test_automatic_choice),
        FAULT_TEST(test_named_is_not_replaced),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
