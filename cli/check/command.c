/* "ptxopt check": whether the machine code of kernels computes what their PTX says. */
#include "cli/check/options.h"
#include "engine/engine.h"
#include "machine/machine.h"

#include <string.h>

typedef struct Checking {
    const CheckOptions *options;
    Arena *arena;
    Options run_options;
    Run run;
    const Launch *launch;
    const Disassembler *disassembler;
    Buf out;
    unsigned verdicts[CHECK_UNDECIDED + 1]; /* how many kernels have each */
} Checking;

static bool fail(const char *message)
{
    fprintf(stderr, "ptxopt: error: %s\n", message);
    return false;
}

/* The launch of options->launch. If the module has a launch contract for its kernel, the contract is followed, as by
 * "ptxopt run": the file describes the launch of the kernel before it was coarsened. NULL, with *error, if there is no
 * such launch. */
static const Launch *read_launch(Checking *checking, const char **error)
{
    bool has_contract;
    Arena *arena = checking->arena;
    const Module *module = checking->run.module;
    Launch *launch = launch_read(arena, checking->options->launch, error);
    if (launch)
        *error = launch_kernel_missing(arena, module, launch);
    return launch && !*error ? launch_by_contract(arena, module, launch, &has_contract, error) : NULL;
}

static bool read_inputs(Checking *checking)
{
    const CheckOptions *options = checking->options;
    const char *error = NULL;
    const RunSetting setting = {.path = options->input, .quiet = options->quiet};
    Run *run = &checking->run;
    run_prepare(run, &checking->run_options, checking->arena, &setting);
    run->source = input_read(checking->arena, options->input);
    if (!run->source || !read_module(run) || !choose_arch(run))
        return false;
    if (options->launch)
        checking->launch = read_launch(checking, &error);
    checking->disassembler = error ? NULL : disassembler_find(checking->arena, &error);
    return error ? fail(error) : true;
}

/* True if the kernel is asked for. */
static bool is_wanted(const Checking *checking, const Function *kernel)
{
    const CheckOptions *options = checking->options;
    if (checking->launch && strcmp(checking->launch->kernel, kernel->name) != 0)
        return false;
    return kernel->is_entry && (!options->kernel || kernel_name_matches(options->kernel, kernel->name));
}

/* Copies of what all kernels of the module have in common. */
static void remember(Arena *arena, SassMap *known, const SassMap *map)
{
    if (!known->cubin) {
        known->cubin_size = map->cubin_size;
        known->cubin = memcpy(arena_alloc(arena, map->cubin_size), map->cubin, map->cubin_size);
    }
    if (!known->numbered && map->numbered) {
        known->numbered_size = map->numbered_size;
        known->numbered = memcpy(arena_alloc(arena, map->numbered_size), map->numbered, map->numbered_size);
    }
    if (!known->listing && map->listing)
        known->listing = arena_strndup(arena, map->listing, strlen(map->listing));
}

/* The result is in the scratch arena. */
static void check_one(Checking *checking, Arena *scratch, CheckRequest *request, SassMap *known, const Function *kernel)
{
    request->kernel = kernel->name;
    request->known = known;
    const CheckResult *result = check_kernel(scratch, request);
    checking->verdicts[result->verdict]++;
    if (result->map)
        remember(checking->arena, known, result->map);
    if (!checking->options->quiet || result->verdict != CHECK_EQUAL)
        check_print(request, result, checking->options->input, &checking->out);
}

static void check_level(Checking *checking, Assembler *assembler, int level)
{
    CheckRequest request = {.assembler = assembler,
                            .disassembler = checking->disassembler,
                            .module = checking->run.module,
                            .opt_level = level,
                            .inputs = (unsigned)checking->options->inputs,
                            .seed = checking->options->seed,
                            .launch = checking->launch};
    SassMap known = {0};
    Arena *scratch = arena_new();
    for (size_t i = 0; i < checking->run.module->items.count; i++)
        if (checking->run.module->items.data[i].kind == ITEM_FUNCTION &&
            is_wanted(checking, checking->run.module->items.data[i].function)) {
            check_one(checking, scratch, &request, &known, checking->run.module->items.data[i].function);
            arena_clear(scratch);
        }
    arena_free(scratch);
}

static bool set_controls(const Checking *checking, Assembler *assembler, const char **error)
{
    const char *controls = checking->options->controls;
    *error = NULL;
    if (controls) {
        const char *const words[] = {arena_printf(checking->arena, "--apply-controls=%s", controls), NULL};
        *error = assembler_set_options(assembler, words);
    }
    return !*error;
}

static bool check_arch(Checking *checking, const char *arch)
{
    const char *error;
    Assembler *assembler = assembler_open_for(checking->arena, ASSEMBLER_PTXAS, arch,
                                              checking->run.module->version, NULL, &error);
    if (!assembler)
        return fail(error);
    if (!set_controls(checking, assembler, &error)) {
        assembler_close(assembler);
        return fail(error);
    }
    for (int level = 0; level < 4; level++)
        if (checking->options->levels[level])
            check_level(checking, assembler, level);
    assembler_close(assembler);
    return true;
}

static bool check_all(Checking *checking)
{
    const CheckOptions *options = checking->options;
    bool done = true;
    if (!options->architectures.count)
        return check_arch(checking, checking->run.arch);
    for (size_t i = 0; i < options->architectures.count && done; i++)
        done = check_arch(checking, options->architectures.data[i]);
    return done;
}

static ExitStatus finish(Checking *checking)
{
    const CommandOutput output = {.file = checking->options->output};
    const unsigned *verdicts = checking->verdicts;
    if (!verdicts[CHECK_EQUAL] && !verdicts[CHECK_DIFFERENT] && !verdicts[CHECK_UNDECIDED]) {
        fail(checking->options->kernel ? "the module has no such kernel" : "the module has no kernel");
        return EXIT_INPUT;
    }
    const int status = command_write(checking->arena, &output, &checking->out);
    if (status)
        return (ExitStatus)status;
    return verdicts[CHECK_DIFFERENT]   ? EXIT_DIFFERENT
           : verdicts[CHECK_UNDECIDED] ? EXIT_UNVERIFIED
                                       : EXIT_DONE;
}

int main_check(Arena *arena, int argc, char **argv)
{
    CheckOptions options;
    Checking checking = {.options = &options, .arena = arena};
    const char *error;
    const OptionsOutcome outcome = check_options_parse(arena, argc, argv, &options, &error);
    if (outcome != OPTIONS_RUN)
        return command_finish(outcome, "check", check_options_help(arena), error);
    const bool done = read_inputs(&checking) && check_all(&checking);
    const ExitStatus status = done ? finish(&checking) : EXIT_INPUT;
    buf_free(&checking.out);
    return status;
}
