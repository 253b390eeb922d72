/* registers-probe: tabulates the effect of registers_reduce on kernels.
 *
 *     registers-probe [-t TARGETS] [-e EFFORT] [-k ptxas|nvjitlink|driver|auto] [-a sm_90] [-w FOLDER] [-p LETTERS]
 *                     [-l] [-n] [-v] [-s] FILE.ptx...
 *
 * -t  a list such as 16,24,32,auto (the default is 32)
 * -e  assemblies for each kernel and target (200)
 * -k  the assembler (ptxas)
 * -a  the architecture
 * -w  writes the forms that were found to this folder as KERNEL.TARGET.ptx
 * -p  only these passes: s schedule, r rematerialize, k sink, h hoist, w offsets, z pack, b bounds
 * -l  runs each kernel's launch files (KERNEL[.VARIANT].launch.json beside the file), before and after, in the
 *     emulator: bytes must agree
 * -n  without the block's size from the launch file
 * -v  every step
 * -s  only kernels that spill under the cap */
#include <glob.h>
#include <libgen.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "assembler/assembler.h"
#include "engine/judge/judge.h"
#include "engine/report/verdicts.h"
#include "emit/emit.h"
#include "emulator/emulator.h"
#include "target/target.h"
#include "opt/registers/registers.h"
#include "parser/parser.h"
#include "opt/passes.h"

typedef struct Options {
    const char *targets, *arch, *folder, *passes;
    unsigned effort;
    AssemblerKind kind;
    bool launches, no_block, verbose, spilling_only;
} Options;

typedef struct Totals {
    unsigned kernels, reached, wrong, launches;
    double log_ratio;
} Totals;

static Module *module_read(const char *path, Diag *diag)
{
    Arena *arena = arena_new();
    const char *error = NULL;
    Source *source = source_read(arena, path, &error);
    if (!source) {
        fprintf(stderr, "registers-probe: %s: %s\n", path, error);
        arena_free(arena);
        return NULL;
    }
    diag_init(diag, source, stderr);
    diag->quiet = true;
    Module *module = parse_module(arena, source, diag);
    if (!module)
        arena_free(arena);
    return module;
}

static void launches_find(const char *path, const char *kernel, glob_t *found)
{
    char *copy = strdup(path), pattern[4096];
    snprintf(pattern, sizeof pattern, "%s/%s.launch.json", dirname(copy), kernel);
    glob(pattern, 0, NULL, found);
    free(copy);
    copy = strdup(path);
    snprintf(pattern, sizeof pattern, "%s/%s.*.launch.json", dirname(copy), kernel);
    glob(pattern, GLOB_APPEND, NULL, found);
    free(copy);
}

static unsigned block_threads(const char *path, const char *kernel)
{
    glob_t found = {0};
    unsigned threads = 0;
    Arena *arena = arena_new();
    const char *error;
    launches_find(path, kernel, &found);
    if (found.gl_pathc) {
        Launch *launch = launch_read(arena, found.gl_pathv[0], &error);
        if (launch)
            threads = (launch->block[0] ? launch->block[0] : 1) * (launch->block[1] ? launch->block[1] : 1) *
                      (launch->block[2] ? launch->block[2] : 1);
    }
    globfree(&found);
    arena_free(arena);
    return threads;
}

/* Runs the changed module and the original; returns how many launches differ. */
static unsigned launches_compare(const char *path, const Module *changed, const char *kernel, Totals *totals)
{
    glob_t found = {0};
    unsigned wrong = 0;
    Diag diag;
    Module *original = module_read(path, &diag);
    launches_find(path, kernel, &found);
    for (size_t i = 0; original && i < found.gl_pathc; i++) {
        Arena *arena = arena_new();
        const char *error;
        Launch *launch = launch_read(arena, found.gl_pathv[i], &error);
        EmulatorOptions options = {.check_registers = false};
        if (launch) {
            launch->tolerance.kind = TOLERANCE_EXACT;
            totals->launches++;
            EmulatorComparison *comparison =
                emulator_compare(arena, original, changed, kernel, launch, NULL, &options);
            if (!comparison->equal) {
                printf("WRONG: %s: %s\n", found.gl_pathv[i], comparison->message);
                wrong++;
            }
        }
        arena_free(arena);
    }
    globfree(&found);
    if (original)
        arena_free(original->arena);
    return wrong;
}

static double geometric(double log_sum, unsigned count)
{
    /* The rounding of exp() does not matter: figures are printed with two digits. */
    return count ? __builtin_exp(log_sum / count) : 1;
}

static void figures_print(const Figures *figures)
{
    if (figures->known)
        printf(" %4u %6llu %6llu |", figures->registers, (unsigned long long)figures_spills(figures),
               (unsigned long long)figures->instructions);
    else
        printf("    ?      ?      ? |");
}

static void steps_print(const RegistersResult *result)
{
    for (unsigned i = 0; i < result->step_count; i++) {
        const RegistersStep *step = &result->steps[i];
        Buf words = {0};
        move_print(&step->move, &words);
        if (step->figures.known)
            printf("    %s %3u regs %5llu spilled %5llu insts  %s\n", step->kept ? "*" : " ", step->figures.registers,
                   (unsigned long long)figures_spills(&step->figures), (unsigned long long)step->figures.instructions,
                   buf_text(&words));
        else
            printf("    ? %s: %s\n", buf_text(&words),
                   step->figures.message ? step->figures.message : "not assembled");
        buf_free(&words);
    }
}

static void module_write(const Options *options, const Module *module, const char *kernel, const char *target)
{
    Buf text = {0};
    char path[4096];
    Arena *arena = arena_new();
    emit_module(module, &text);
    snprintf(path, sizeof path, "%s/%s.%s.ptx", options->folder, kernel, target);
    const char *error = write_file(arena, path, buf_text(&text), text.length);
    if (error)
        fprintf(stderr, "registers-probe: %s: %s\n", path, error);
    buf_free(&text);
    arena_free(arena);
}

static bool has_pass(const Options *options, char letter)
{
    return !options->passes || strchr(options->passes, letter);
}

static void kernel_reduce(const Options *options, Assembler *assembler, const char *path, const char *kernel_name,
                          const char *target, Totals *totals)
{
    Diag diag;
    Module *module = module_read(path, &diag);
    Arena *arena = arena_new();
    const char *reason;
    if (!module)
        return;
    Function *kernel = module_find_function(module, kernel_name);
    Body *body = body_build(kernel, &reason);
    if (!body) {
        printf("%-18s %s\n", kernel_name, reason);
        arena_free(module->arena);
        return;
    }
    AssemblerJudge judge;
    assembler_judge_init(&judge, arena, assembler);
    RegistersRequest request = {
        .goal = strcmp(target, "auto") == 0 ? GOAL_AUTO : GOAL_COUNT,
        .target = (unsigned)atoi(target),
        .spill = true,
        .effort = options->effort,
    };
    const PassOptions passes = {
        .enabled = {[PASS_SCHEDULE] = has_pass(options, 's'),
                    [PASS_REMATERIALIZE] = has_pass(options, 'r'),
                    [PASS_SINK] = has_pass(options, 'k'),
                    [PASS_HOIST] = has_pass(options, 'h'),
                    [PASS_PACK] = has_pass(options, 'z'),
                    [PASS_OFFSETS] = has_pass(options, 'w'),
                    [PASS_BOUNDS] = has_pass(options, 'b')},
    };
    unsigned given[3] = {options->no_block ? 0 : block_threads(path, kernel_name), 1, 1};
    PassContext context = pass_context_new(arena, &passes, kernel, body);
    context.sm = sm_limits_for(options->arch);
    context.judge = &judge.judge;
    context.block = block_size_resolve(&kernel->tuning, given);
    RegistersResult result;
    struct timespec begin, end;
    clock_gettime(CLOCK_MONOTONIC, &begin);
    registers_reduce(&context, &request, &result);
    clock_gettime(CLOCK_MONOTONIC, &end);
    double seconds = (double)(end.tv_sec - begin.tv_sec) + (double)(end.tv_nsec - begin.tv_nsec) * 1e-9;
    function_set_body(kernel, pass_take_body(&context));
    if (!(options->spilling_only && (!result.capped.known || !figures_spills(&result.capped)))) {
        printf("%-18s %4s |", kernel_name, target);
        figures_print(&result.before);
        figures_print(&result.capped);
        figures_print(&result.after);
        Buf words = {0};
        explanation_print(&result, module->source, &words);
        printf(" %3u calls %5.1f s (%4.1f assembling) %s\n", judge.calls, seconds, judge.seconds, buf_text(&words));
        buf_free(&words);
        if (options->verbose)
            steps_print(&result);
        totals->kernels++;
        totals->reached += result.reached;
        if (result.capped.known && result.after.known)
            totals->log_ratio += __builtin_log((double)(figures_spills(&result.after) + 1)) -
                                 __builtin_log((double)(figures_spills(&result.capped) + 1));
        if (options->launches && result.changed)
            totals->wrong += launches_compare(path, module, kernel_name, totals);
        fflush(stdout);
    }
    if (options->folder)
        module_write(options, module, kernel_name, target);
    function_set_body(kernel, NULL);
    arena_free(arena);
    arena_free(module->arena);
}

static void file_reduce(const Options *options, Assembler *assembler, const char *path, const char *target,
                        Totals *totals)
{
    Diag diag;
    Module *module = module_read(path, &diag);
    if (!module)
        return;
    for (size_t i = 0; i < module->items.count; i++) {
        const Item *item = &module->items.data[i];
        if (item->kind == ITEM_FUNCTION && item->function->is_entry && item->function->has_body)
            kernel_reduce(options, assembler, path, item->function->name, target, totals);
    }
    arena_free(module->arena);
}

int main(int count, char **words)
{
    Options options = {.targets = "32", .arch = "sm_90", .effort = 200, .kind = ASSEMBLER_PTXAS};
    int option;
    while ((option = getopt(count, words, "t:e:k:a:w:p:lnvs")) != -1) {
        switch (option) {
        case 't': options.targets = optarg; break;
        case 'e': options.effort = (unsigned)atoi(optarg); break;
        case 'k':
            if (!assembler_kind_parse(optarg, &options.kind))
                return 2;
            break;
        case 'a': options.arch = optarg; break;
        case 'w': options.folder = optarg; break;
        case 'p': options.passes = optarg; break;
        case 'l': options.launches = true; break;
        case 'n': options.no_block = true; break;
        case 'v': options.verbose = true; break;
        case 's': options.spilling_only = true; break;
        default: return 2;
        }
    }
    Arena *arena = arena_new();
    const char *error;
    Assembler *assembler = assembler_open(arena, options.kind, options.arch, &error);
    if (!assembler || !sm_limits_for(options.arch)) {
        fprintf(stderr, "registers-probe: %s\n", assembler ? "unknown architecture" : error);
        return 2;
    }
    printf("%s %s, %s, effort %u; registers, spilled bytes, instructions\n", assembler_name(assembler),
           assembler_version(assembler), options.arch, options.effort);
    printf("%-18s %4s | %-18s | %-18s | %-18s |\n", "kernel", "goal", "original", "capped", "after");
    unsigned wrong = 0;
    char *targets = arena_printf(arena, "%s", options.targets);
    for (char *target = strtok(targets, ","); target; target = strtok(NULL, ",")) {
        Totals totals = {0};
        for (int i = optind; i < count; i++)
            file_reduce(&options, assembler, words[i], target, &totals);
        printf("target %s: %u kernels, %u reached it; spilled bytes + 1, after over capped, geometric mean %.2f; %u "
               "launches, %u wrong\n",
               target, totals.kernels, totals.reached, geometric(totals.log_ratio, totals.kernels), totals.launches,
               totals.wrong);
        wrong += totals.wrong;
    }
    assembler_close(assembler);
    arena_free(arena);
    return wrong ? 5 : 0;
}
