/* attack [-a] [-g] [-v] [-f FORMS] [-n STATEMENTS] [-s PART=SHARE,...] [-l SECONDS] [-t FOLDER] SEED,COUNT
 * attack ... FILE.ptx LAUNCH.json ...
 *
 * Changes random programs (generate.h), or those of files, in random ways (forms.h), as the program ptxopt does, and
 * compares each result with the original in the emulator. Wrong are a difference, a fault, a crash, an output
 * that does not parse, a bug that ptxopt reports of itself, a run without an end, or two runs with different outputs;
 * with -a, also what ptxas rejects. One in four outputs whose launch has not changed is changed again.
 *
 * With -g, a GPU runs each program, whose results must be the emulator's, and its forms instead of the emulator.
 * In random programs, instructions that ptxas may round otherwise are replaced before (on_gpu.h).
 *
 * Prints a line for each wrong form and keeps the program, its launch and the options in FOLDER/SEED.FORM/; at the end
 * the numbers of programs and forms. Exit status 1 if anything was wrong.
 *
 * Each program is changed in -f forms (6). A form may take -l seconds of processor time (30). Forms run in a child
 * process, which is replaced when it dies. Programs of files that execute more than FILE_STEPS warp instructions are
 * left out: the emulator would need as long for each form, and nothing would be wrong with the form. */
#include "forms.h"
#include "generate.h"
#include "on_gpu.h"

#include "emulator/emulator.h"
#include "library/ptxopt.h"
#include "parser/parser.h"
#include "tests/tools/parse_text.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

/* Warp instructions of a program of a file. A form executes about as many again, with all checks: both take some 8
 * seconds, also where others use the processor, of the 30 that a form has. */
enum { FILE_STEPS = 1 << 22 };

typedef struct Settings {
    bool assembler, gpu, verbose;
    unsigned forms, seconds;
    GenerateKnobs knobs;
    const char *folder;
    char **files; /* a program and its launch by turns, as many as there are seeds; NULL: programs are random */
} Settings;

/* The child's place, which its parent reads after its death. */
typedef struct Progress {
    uint64_t seed; /* or the number of the file, from 0 */
    unsigned form;
    bool runs_original;
    uint64_t programs, done, refused, impossible, unverified, wrong;
    char words[600];
} Progress;

typedef struct Attack {
    const Settings *settings;
    Progress *progress;
    Arena *arena; /* of one seed */
    const char *ptx_path, *launch_path;
    Buf ptx, launch;
    Random random;
    FormLaunch of;
    OnGpu *gpu; /* NULL: forms run in the emulator */
} Attack;

/* Limits the processor time of what follows, after which the process dies; 0: no limit. */
static void limit_time(unsigned seconds)
{
    setitimer(ITIMER_PROF, &(struct itimerval){.it_value.tv_sec = (time_t)seconds}, NULL);
}

/* The first error of a run. */
static void keep_error(void *context, const ptxopt_diagnostic *diagnostic)
{
    Buf *error = context;
    if (diagnostic->severity == PTXOPT_ERROR && !error->length)
        buf_printf(error, "line %u: %s", diagnostic->line, diagnostic->message);
}

static bool read_text(Arena *arena, const char *path, Buf *text)
{
    const char *error = NULL;
    const Source *source = source_read(arena, path, &error);
    if (source)
        buf_write(text, source->text, source->size);
    else
        fprintf(stderr, "attack: %s\n", error);
    return source != NULL;
}

/* The program of this seed or number, and its launch. */
static bool make_program(Arena *arena, const Settings *settings, uint64_t seed, Buf *ptx, Buf *launch)
{
    if (settings->files)
        return read_text(arena, settings->files[2 * seed], ptx) &&
               read_text(arena, settings->files[2 * seed + 1], launch);
    generate_program(seed, &settings->knobs, ptx, launch);
    if (settings->gpu)
        on_gpu_make_exact(ptx);
    return true;
}

/* Writes the program, its launch and the options to a folder of their own. */
static void keep_case(Arena *arena, const Settings *settings, const Progress *progress, const char *what)
{
    const char *folder =
        arena_printf(arena, "%s/%llu.%u", settings->folder, (unsigned long long)progress->seed, progress->form);
    mkdir(folder, 0777);
    Buf ptx = {0}, launch = {0}, text = {0};
    make_program(arena, settings, progress->seed, &ptx, &launch);
    buf_printf(&text, "%s\n%s\n", progress->words, what);
    const struct {
        const char *name;
        const Buf *content;
    } files[] = {{"k.ptx", &ptx}, {"k.launch.json", &launch}, {"options", &text}};
    for (size_t i = 0; i < COUNT_OF(files); i++) {
        const char *error = write_file(arena, arena_printf(arena, "%s/%s", folder, files[i].name),
                                       buf_text(files[i].content), files[i].content->length);
        if (error)
            fprintf(stderr, "attack: %s\n", error);
    }
    buf_free(&ptx);
    buf_free(&launch);
    buf_free(&text);
}

static void report_wrong(Arena *arena, const Settings *settings, Progress *progress, const char *what)
{
    progress->wrong++;
    printf("seed %llu, form %u: %s: %s\n", (unsigned long long)progress->seed, progress->form, progress->words, what);
    fflush(stdout);
    keep_case(arena, settings, progress, what);
}

static void wrong(const Attack *attack, const char *what)
{
    report_wrong(attack->arena, attack->settings, attack->progress, what);
}

/* With -v, how each form ended. */
static void say(const Attack *attack, const char *how, const char *why)
{
    const Progress *progress = attack->progress;
    if (attack->settings->verbose)
        printf("seed %llu, form %u: %s: %s%s%s\n", (unsigned long long)progress->seed, progress->form, progress->words,
               how, *why ? ": " : "", why);
}

static ptxopt_result *run_form(const Attack *attack, const char *text, size_t length, const Form *form, Buf *error)
{
    ptxopt_options *options = ptxopt_options_new();
    ptxopt_module *module = ptxopt_module_from_text("k.ptx", text, length);
    ptxopt_status status = attack->gpu ? PTXOPT_DONE : ptxopt_options_set(options, "verify", attack->launch_path);
    for (unsigned i = 0; i < form->count && status == PTXOPT_DONE; i++)
        status = ptxopt_options_set(options, form->options[i].name, form->options[i].value);
    if (status == PTXOPT_DONE && !form->assembles)
        status = ptxopt_options_set(options, "assembler", "none");
    if (status != PTXOPT_DONE)
        buf_printf(error, "%s", ptxopt_options_error(options));
    ptxopt_options_on_diagnostic(options, keep_error, error);
    limit_time(attack->settings->seconds);
    ptxopt_result *result = status == PTXOPT_DONE ? ptxopt_run(module, options) : NULL;
    limit_time(0);
    ptxopt_module_free(module);
    ptxopt_options_free(options);
    return result;
}

/* Runs an output on the GPU; true if it is right. */
static bool right_on_gpu(const Attack *attack, const ptxopt_result *result)
{
    const char *text = ptxopt_result_ptx(result, NULL);
    const char *problem = text ? on_gpu_run_form(attack->gpu, text) : NULL;
    bool does_not_fit = problem && strncmp(problem, "__ptxopt_launch_", 16) == 0;
    if (problem && !does_not_fit)
        wrong(attack, arena_printf(attack->arena, "on the GPU: %s", problem));
    return !problem;
}

/* Counts the form's result; true if there is an output and the launch is the original's. */
static bool count_result(const Attack *attack, const ptxopt_result *result, const Buf *error)
{
    Progress *progress = attack->progress;
    ptxopt_kernel kernel = {0};
    switch (result ? ptxopt_result_status(result) : PTXOPT_USAGE) {
    case PTXOPT_DONE:
    case PTXOPT_REFUSED:
        ptxopt_result_kernel(result, 0, &kernel, sizeof kernel);
        if (attack->gpu && !kernel.refusal && !right_on_gpu(attack, result))
            return false;
        *(kernel.refusal ? &progress->refused : &progress->done) += 1;
        say(attack, kernel.refusal ? "refused" : "equal", kernel.refusal ? kernel.refusal : "");
        return !kernel.coarsened;
    case PTXOPT_USAGE:
        progress->impossible++;
        say(attack, "not possible", buf_text(error));
        return false;
    case PTXOPT_UNVERIFIED:
        progress->unverified++;
        say(attack, "not run", buf_text(error));
        return false;
    case PTXOPT_DIFFERENT: wrong(attack, arena_printf(attack->arena, "different: %s", buf_text(error))); return false;
    case PTXOPT_BUG: wrong(attack, arena_printf(attack->arena, "bug: %s", buf_text(error))); return false;
    case PTXOPT_REJECTED: wrong(attack, arena_printf(attack->arena, "rejected: %s", buf_text(error))); return false;
    default: wrong(attack, arena_printf(attack->arena, "failed: %s", buf_text(error))); return false;
    }
}

/* The same text and options must give the same output. */
static void check_again(const Attack *attack, const char *text, size_t length, const Form *form,
                        const ptxopt_result *result)
{
    Buf error = {0};
    ptxopt_result *again = run_form(attack, text, length, form, &error);
    const char *first = ptxopt_result_ptx(result, NULL), *second = again ? ptxopt_result_ptx(again, NULL) : NULL;
    if (!second || strcmp(first, second) != 0)
        wrong(attack, "a second run has another output");
    ptxopt_result_free(again);
    buf_free(&error);
}

/* Changes a text, and one in four outputs again. */
static void attack_text(Attack *attack, const char *text, size_t length, unsigned depth)
{
    const Form form = form_random(attack->arena, &attack->random, text, &attack->of, attack->settings->assembler);
    Progress *progress = attack->progress;
    size_t used = depth ? strlen(progress->words) : 0;
    snprintf(progress->words + used, sizeof progress->words - used, "%s%s", depth ? " then " : "",
             form_words(attack->arena, &form));
    Buf error = {0};
    ptxopt_result *result = run_form(attack, text, length, &form, &error);
    bool same_launch = count_result(attack, result, &error);
    const char *ptx = result ? ptxopt_result_ptx(result, &length) : NULL;
    if (ptx && !form.assembles && random_below(&attack->random, 20) == 0)
        check_again(attack, text, depth ? strlen(text) : attack->ptx.length, &form, result);
    if (ptx && same_launch && depth < 3 && random_below(&attack->random, 4) == 0)
        attack_text(attack, ptx, length, depth + 1);
    ptxopt_result_free(result);
    buf_free(&error);
}

/* The original's results under these checks. */
static const EmulatorResult *run_original(const Attack *attack, const Module *module, const Launch *launch,
                                          bool all_checks)
{
    const EmulatorOptions options = {.check_unwritten = all_checks,
                                     .check_registers = all_checks,
                                     .check_division = all_checks,
                                     .check_races = all_checks,
                                     .max_steps = attack->settings->files ? FILE_STEPS : 0};
    limit_time(attack->settings->seconds);
    const EmulatorResult *result = emulator_run(attack->arena, module, launch, &options);
    limit_time(0);
    return result;
}

/* A random program must run without faults: else the generator is wrong. Compilers copy the gaps of structures, which
 * nothing has written, and csmith's loops need not end, or not within FILE_STEPS; of programs from files that have a
 * fault without any check, nothing is asked. */
static bool check_original(Attack *attack)
{
    const bool is_random = !attack->settings->files;
    const char *error = NULL, *what = NULL;
    Launch *launch = launch_read(attack->arena, attack->launch_path, &error);
    Module *module = parse_text(attack->ptx_path, buf_text(&attack->ptx), attack->ptx.length);
    const EmulatorResult *result = NULL;
    if (!launch || !module) {
        what = error ? error : "it does not parse";
    } else {
        memcpy(attack->of.grid, launch->grid, sizeof launch->grid);
        memcpy(attack->of.block, launch->block, sizeof launch->block);
        result = run_original(attack, module, launch, is_random);
        if (result->fault.kind != FAULT_NONE)
            what = fault_text(attack->arena, module, &result->fault);
    }
    if (what && is_random)
        wrong(attack, arena_printf(attack->arena, "the original fails: %s", what));
    else if (what)
        say(attack, "left out", what);
    if (!what && attack->gpu) {
        what = on_gpu_run_original(attack->gpu, attack->arena, launch, buf_text(&attack->ptx), result);
        if (what)
            wrong(attack, arena_printf(attack->arena, "the original on the GPU: %s", what));
    }
    if (module)
        arena_free(module->arena);
    return !what;
}

static void attack_seed(const Settings *settings, Progress *progress, OnGpu *gpu)
{
    Attack attack = {.settings = settings, .progress = progress, .arena = arena_new(), .gpu = gpu};
    snprintf(progress->words, sizeof progress->words, "as it is");
    attack.ptx_path = arena_printf(attack.arena, "%s/attack.%d.ptx", settings->folder, (int)getpid());
    attack.launch_path = arena_printf(attack.arena, "%s/attack.%d.launch.json", settings->folder, (int)getpid());
    limit_time(settings->seconds);
    bool made = make_program(attack.arena, settings, progress->seed, &attack.ptx, &attack.launch);
    limit_time(0);
    const char *error = write_file(attack.arena, attack.launch_path, buf_text(&attack.launch), attack.launch.length);
    if (error)
        fprintf(stderr, "attack: %s\n", error);
    if (error || !made)
        _exit(2);
    if (progress->form == 0)
        progress->programs++;
    progress->runs_original = true;
    bool good = check_original(&attack);
    progress->runs_original = false;
    for (; good && progress->form < settings->forms; progress->form++) {
        attack.random = (Random){progress->seed * UINT64_C(0x9e3779b97f4a7c15) + progress->form};
        attack_text(&attack, buf_text(&attack.ptx), attack.ptx.length, 0);
    }
    if (gpu)
        on_gpu_end(gpu);
    unlink(attack.launch_path);
    buf_free(&attack.ptx);
    buf_free(&attack.launch);
    arena_free(attack.arena);
}

/* Attacks the seeds from progress->seed up to 'end' in a child process; false if it died. */
static bool run_child(const Settings *settings, Progress *progress, uint64_t end)
{
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        static OnGpu gpu;
        if (settings->gpu && !on_gpu_open(&gpu))
            _exit(2);
        for (; progress->seed < end; progress->seed++, progress->form = 0)
            attack_seed(settings, progress, settings->gpu ? &gpu : NULL);
        fflush(stdout);
        _exit(0);
    }
    int status = 1;
    if (child < 0 || waitpid(child, &status, 0) < 0)
        bug("fork: %s", strerror(errno));
    if (status == 0)
        return true;
    if (WIFEXITED(status) && WEXITSTATUS(status) == 2) /* it has said why */
        exit(2);
    const bool late = WIFSIGNALED(status) && WTERMSIG(status) == SIGPROF;
    Arena *arena = arena_new();
    /* A program of a file need not end. */
    if (!(settings->files && progress->runs_original && late))
        report_wrong(arena, settings, progress, late ? "it takes too long" : "it died");
    progress->form++;
    if (progress->runs_original) {
        progress->seed++;
        progress->form = 0;
    }
    arena_free(arena);
    return false;
}

static int usage(void)
{
    fprintf(stderr, "usage: attack [-a] [-g] [-v] [-f FORMS] [-n STATEMENTS] [-s PART=SHARE,...] [-l SECONDS] "
                    "[-t FOLDER] "
                    "SEED,COUNT | FILE.ptx LAUNCH.json ...\n");
    return 2;
}

int main(int count, char **words)
{
    Settings settings = {.forms = 6, .seconds = 30, .folder = "/tmp"};
    for (int option; (option = getopt(count, words, "agvf:n:s:l:t:")) != -1;) {
        switch (option) {
        case 'a': settings.assembler = true; break;
        case 'g': settings.gpu = true; break;
        case 'v': settings.verbose = true; break;
        case 'f': settings.forms = (unsigned)strtoul(optarg, NULL, 10); break;
        case 'n': settings.knobs.size = (unsigned)strtoul(optarg, NULL, 10); break;
        case 's':
            if (!generate_read_shares(optarg, &settings.knobs))
                return usage();
            break;
        case 'l': settings.seconds = (unsigned)strtoul(optarg, NULL, 10); break;
        case 't': settings.folder = optarg; break;
        default: return usage();
        }
    }
    uint64_t seed = 0, many = (uint64_t)(count - optind) / 2;
    if (optind + 1 == count) {
        char *rest;
        seed = strtoull(words[optind], &rest, 10);
        many = *rest == ',' ? strtoull(rest + 1, NULL, 10) : 1;
    } else if (many && (count - optind) % 2 == 0)
        settings.files = words + optind;
    else
        return usage();
    Progress *progress = mmap(NULL, sizeof *progress, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (progress == MAP_FAILED)
        bug("mmap: %s", strerror(errno));
    *progress = (Progress){.seed = seed};
    while (!run_child(&settings, progress, seed + many))
        ;
    printf("%llu programs: %llu forms equal, %llu refused, %llu not possible, %llu not run, %llu wrong\n",
           (unsigned long long)progress->programs, (unsigned long long)progress->done,
           (unsigned long long)progress->refused, (unsigned long long)progress->impossible,
           (unsigned long long)progress->unverified, (unsigned long long)progress->wrong);
    return progress->wrong != 0;
}
