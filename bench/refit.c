/* refit: fits the figures of a device to measured times of any kernels, for bench/calibrate.
 *
 *     refit MACHINE.json|- ARCH GROUPS FILES
 *
 * FILES is a table of forms: GROUP, measured microseconds, PTX, LAUNCH.json, separated by tabs. Counts each as
 * `ptxopt cost -sample` does, and, for each group from 0 to GROUPS - 1, fits the parameters of calibrate/ to the forms
 * of the other groups, and then to all. Prints lines
 *     parameter  GROUP or "all"  NAME  VALUE before  VALUE after
 *     form       NUMBER of the form  TIME before  TIME after the fit that did not see it
 *     fitted     NUMBER of the form  TIME after the fit to all
 * with tabs between. Forms that cannot be counted have no line. */
#include <math.h>
#include <string.h>

#include "calibrate/internal.h"

typedef struct Form {
    Options options;
    Run run;
    unsigned group;
    double after; /* by the fit that did not see it */
} Form;

/* Lengths that are all 1 need no list. */
static void drop_even_lengths(Profile *profile)
{
    for (size_t i = 0; profile->block_lengths && i < (size_t)profile->blocks; i++)
        if (fabs(profile->block_lengths[i] - 1) > 1e-9)
            return;
    profile->block_lengths = NULL;
}

static bool count(Calibration *calibration, Form *form, const char *ptx, const char *path, CalibrateKernel *kernel)
{
    Arena *arena = calibration->arena;
    const RunSetting setting = {
        .path = ptx, .arch = calibration->arch, .assembler = ASSEMBLER_PTXAS, .assembler_given = true, .quiet = true};
    const char *error;
    Run *run = &form->run;
    run_prepare(run, &form->options, arena, &setting);
    run->source = input_read(arena, ptx);
    const Launch *launch = launch_read(arena, path, &error);
    if (!run->source || !launch || !read_module(run) || !choose_arch(run) || !open_assembler(run))
        return false;
    LaunchContract contract;
    const bool has_contract = contract_find(run->module, launch->kernel, &contract) == CONTRACT_FOUND;
    const LaunchChange change = has_contract ? contract_change(&contract) : (LaunchChange){0};
    const FunctionForm written = {.function = module_find_function(run->module, launch->kernel)};
    const CostBasis basis = cost_basis(arena, calibration->sm, &calibration->start, launch, NULL, 0);
    Figures figures = {0};
    run->judge.judge.measure(run->judge.judge.context, &written, &figures);
    if (!figures.known)
        return false;
    const FormCost cost = machine_cost(&run->judge, &basis, &written, &figures, &change, NULL);
    assembler_judge_forget(&run->judge);
    if (!cost.known)
        return false;
    drop_even_lengths(cost.profile);
    kernel->profile = cost.profile;
    kernel->registers = figures.registers;
    kernel->shared = figures.shared + launch_change_shared(&change, launch->dynamic_shared);
    return true;
}

static void print_parameters(const Calibration *calibration, const char *group)
{
    for (unsigned i = 0; i < PARAMETER_COUNT; i++)
        printf("parameter\t%s\t%s\t%.6g\t%.6g\n", group, calibrate_parameters[i].name,
               parameter_value(&calibration->start, i), parameter_value(&calibration->fitted, i));
}

/* Fits to all forms that are not of the group. */
static void fit_without(Calibration *calibration, Form **forms, unsigned group)
{
    static const Micro fit = {.name = "form", .role = FIT}, other = {.name = "form", .role = HELD_OUT};
    for (size_t i = 0; i < calibration->kernels.count; i++)
        calibration->kernels.data[i].micro = forms[i]->group == group ? &other : &fit;
    device_fit(calibration);
    for (size_t i = 0; i < calibration->kernels.count; i++)
        if (forms[i]->group == group)
            forms[i]->after = calibration->kernels.data[i].after;
}

int main(int argc, char **argv)
{
    const char *error;
    Arena *arena = arena_new();
    const Source *files = argc == 5 ? source_read(arena, argv[4], &error) : NULL;
    Arch arch = {0};
    if (!files || !arch_parse(argv[2], &arch) || !sm_limits_for(argv[2]))
        return 2;
    Calibration calibration = {
        .arena = arena, .arch = argv[2], .sm = sm_limits_for(argv[2]), .start = *device_for(arch.number)};
    if (strcmp(argv[1], "-") != 0 && !device_read(arena, argv[1], &calibration.start, &error))
        return 2;
    VEC(Form *) forms = {0};
    VEC(unsigned) numbers = {0};
    char *rest = NULL;
    unsigned number = 0;
    for (char *line = strtok_r(arena_strndup(arena, files->text, files->size), "\n", &rest); line;
         line = strtok_r(NULL, "\n", &rest), number++) {
        char *place = NULL;
        Form *form = ARENA_NEW(arena, Form);
        CalibrateKernel kernel = {0};
        form->group = (unsigned)strtoul(strtok_r(line, "\t", &place), NULL, 10);
        kernel.measured = strtod(strtok_r(NULL, "\t", &place), NULL);
        const char *ptx = strtok_r(NULL, "\t", &place), *launch = strtok_r(NULL, "\t", &place);
        if (!count(&calibration, form, ptx, launch, &kernel))
            continue;
        VEC_PUSH(arena, forms, form);
        VEC_PUSH(arena, numbers, number);
        VEC_PUSH(arena, calibration.kernels, kernel);
        fprintf(stderr, "counted %u %s\n", number, ptx);
    }
    const unsigned groups = (unsigned)strtoul(argv[3], NULL, 10);
    for (unsigned group = 0; group < groups; group++) {
        fit_without(&calibration, forms.data, group);
        print_parameters(&calibration, arena_printf(arena, "%u", group));
        fflush(stdout);
    }
    for (size_t i = 0; i < forms.count; i++)
        printf("form\t%u\t%.4f\t%.4f\n", numbers.data[i], calibration.kernels.data[i].before, forms.data[i]->after);
    fit_without(&calibration, forms.data, groups);
    print_parameters(&calibration, "all");
    for (size_t i = 0; i < forms.count; i++)
        printf("fitted\t%u\t%.4f\n", numbers.data[i], calibration.kernels.data[i].after);
    for (size_t i = 0; i < forms.count; i++)
        run_close(&forms.data[i]->run);
    arena_free(arena);
    return 0;
}
