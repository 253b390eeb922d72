/* "ptxopt cost": what a launch of a kernel costs, and what that of another form of it costs. */
#include "cli/commands.h"
#include "engine/engine.h"

/* One of the two files. */
typedef struct Side {
    Options options;
    Run run;
    Function *kernel;
    LaunchChange change; /* by its launch contract */
    FormCost cost;
    const Profile *accesses; /* made of the file itself, if they were asked for; else NULL */
    KernelPatterns patterns; /* of these */
    Buf listing; /* the annotated machine code, if it was asked for */
} Side;

/* Reads a file and finds the kernel and its contract.  False after printing what is wrong. */
static bool side_read(Side *side, Arena *arena, const CostOptions *options, const char *path, const Launch *launch)
{
    const RunSetting setting = {.path = path,
                                .arch = options->arch,
                                .assembler = options->assembler,
                                .assembler_given = options->assembler_given,
                                .assembler_none = options->assembler_none,
                                .quiet = options->output.quiet};
    run_prepare(&side->run, &side->options, arena, &setting);
    side->run.source = input_read(arena, path);
    if (!side->run.source || !read_module(&side->run) || !choose_arch(&side->run))
        return false;
    side->kernel = module_find_function(side->run.module, launch->kernel);
    if (!side->kernel || !side->kernel->is_entry) {
        fprintf(stderr, "ptxopt: error: %s\n", launch_kernel_missing(arena, side->run.module, launch));
        return false;
    }
    LaunchContract contract;
    LaunchUnmet unmet;
    const ContractState state = contract_find(side->run.module, launch->kernel, &contract);
    const bool has_contract = state == CONTRACT_FOUND;
    const char *error = contract_error_text(arena, state, launch->kernel);
    if (has_contract && !contract_is_met(&contract, launch->block, launch->grid, &unmet))
        error = unmet_text(arena, &unmet);
    if (error) {
        fprintf(stderr, "ptxopt: error: %s: %s\n", path, error);
        return false;
    }
    side->change = has_contract ? contract_change(&contract) : (LaunchChange){0};
    return open_assembler(&side->run);
}

/* False after printing what is wrong with the machine file. */
static bool make_basis(const Side *side, Arena *arena, const CostOptions *options, const Launch *launch,
                       CostBasis *basis)
{
    Device device;
    if (!read_device(&side->run, options->machine, &device))
        return false;
    *basis = cost_basis(arena, side->run.sm, &device, launch, NULL, 0);
    basis->samples = options->sample;
    if (options->estimate)
        basis->launch = NULL;
    return true;
}

/* The cost of the kernel as the file has it.  False after printing why it is unknown. */
static bool side_cost(Side *side, const CostOptions *options, const CostBasis *basis, const Launch *launch)
{
    const FunctionForm form = {.function = side->kernel};
    Figures figures = {.registers = options->registers, .known = options->registers > 0};
    if (side->run.assembler && !options->registers)
        side->run.judge.judge.measure(side->run.judge.judge.context, &form, &figures);
    if (side->run.assembler && !figures.known) {
        fprintf(stderr, "ptxopt: error: %s does not assemble: %s\n", side->options.input, figures.message);
        return false;
    }
    AssemblerJudge *judge = side->run.assembler && !options->registers ? &side->run.judge : NULL;
    /* The machine code's counts are those of a module of its own; places of accesses are in the file. */
    if (options->accesses) {
        const Launch *own = launch_changed(basis->arena, launch, &side->change);
        side->accesses = form_cost(basis, &form, &figures, &side->change).profile;
        side->patterns = kernel_patterns(basis->arena, side->kernel, own, NULL, side->run.sm);
    }
    side->cost = machine_cost(judge, basis, &form, &figures, &side->change, options->listing ? &side->listing : NULL);
    if (!side->cost.known)
        fprintf(stderr, "ptxopt: error: the cost of '%s' is unknown: %s\n", side->kernel->name, side->cost.error);
    return side->cost.known;
}

static void print_text(const CostOptions *options, const CostBasis *basis, const Launch *launch, const Side *before,
                       const Side *after, Buf *out)
{
    buf_printf(out, "%s on %s (%s%s): %u x %u x %u blocks of %u x %u x %u threads\n", launch->kernel,
               basis->device.name, options->machine ? "" : "assumed for ", after->run.arch, launch->grid[0],
               launch->grid[1], launch->grid[2], launch->block[0], launch->block[1], launch->block[2]);
    cost_print_text(basis, options->before ? &before->cost : NULL, &after->cost, true, out);
    if (options->before) {
        cost_print_verdict(basis->arena, &before->cost, &after->cost, out);
        cost_print_interval(&before->cost, &after->cost, out);
    }
    if (after->accesses) {
        accesses_print_text(after->run.module, after->accesses, out);
        patterns_print(basis->arena, &after->patterns, 0, out);
    }
    if (options->listing)
        buf_write(out, buf_text(&after->listing), after->listing.length);
}

static void print_json(const CostOptions *options, const CostBasis *basis, const Launch *launch, const Side *before,
                       const Side *after, Buf *out)
{
    json_t *root = json_object();
    json_object_set_new(root, "format", json_string("ptxopt-cost"));
    json_object_set_new(root, "version", json_integer(1));
    json_object_set_new(root, "kernel", json_text(launch->kernel));
    json_object_set_new(root, "arch", json_text(after->run.arch));
    json_object_set_new(root, "device", json_text(basis->device.name));
    json_object_set_new(root, "grid", json_triple(launch->grid));
    json_object_set_new(root, "block", json_triple(launch->block));
    json_object_set_new(root, "cost", cost_json(&after->cost));
    if (options->before) {
        json_object_set_new(root, "before", cost_json(&before->cost));
        cost_set_verdict(basis->arena, &before->cost, &after->cost, root);
    }
    if (after->accesses)
        json_object_set_new(root, "accesses", accesses_json(after->run.module, after->accesses, &after->patterns));
    json_print(root, out);
}

static ExitStatus cost(const CostOptions *options, Arena *arena, Side *before, Side *after)
{
    const char *error = NULL;
    CostBasis basis;
    const Launch *launch = launch_read(arena, options->launch, &error);
    if (!launch) {
        fprintf(stderr, "ptxopt: error: %s\n", error);
        return EXIT_INPUT;
    }
    if ((options->before && !side_read(before, arena, options, options->before, launch)) ||
        !side_read(after, arena, options, options->input, launch) ||
        !make_basis(after, arena, options, launch, &basis))
        return EXIT_INPUT;
    if ((options->before && !side_cost(before, options, &basis, launch)) ||
        !side_cost(after, options, &basis, launch))
        return EXIT_UNVERIFIED;
    if (options->before)
        costs_align(&basis, &before->cost, &after->cost);
    Buf out = {0};
    if (options->output.json)
        print_json(options, &basis, launch, before, after, &out);
    else
        print_text(options, &basis, launch, before, after, &out);
    ExitStatus status = command_write(arena, &options->output, &out);
    buf_free(&out);
    return status;
}

static ExitStatus cost_file(const CostOptions *options)
{
    Arena *arena = arena_new();
    Side before = {0}, after = {0};
    ExitStatus status = cost(options, arena, &before, &after);
    kernel_patterns_free(&before.patterns);
    kernel_patterns_free(&after.patterns);
    buf_free(&before.listing);
    buf_free(&after.listing);
    run_close(&before.run);
    run_close(&after.run);
    arena_free(arena);
    return status;
}

int main_cost(Arena *arena, int argc, char **argv)
{
    CostOptions options;
    const char *error;
    OptionsOutcome outcome = cost_options_parse(arena, argc, argv, &options, &error);
    return outcome == OPTIONS_RUN ? (int)cost_file(&options)
                                  : command_finish(outcome, "cost", cost_options_help(arena), error);
}
