/* The work of the microkernels, counted in the emulator: by machine instructions, if there is an assembler. */
#include "calibrate/internal.h"

/* A run of the program, as far as counting needs one. */
typedef struct Counting {
    Calibration *calibration;
    Options options;
    Run run;
} Counting;

static bool fail(const char *name, const char *why)
{
    fprintf(stderr, "ptxopt: error: microkernel '%s': %s\n", name, why);
    return false;
}

static bool count_kernel(Counting *counting, CalibrateKernel *kernel)
{
    Run *run = &counting->run;
    const char *name = kernel->micro->name;
    const FunctionForm form = {.function = module_find_function(run->module, name)};
    const LaunchChange change = {0};
    const CostBasis basis =
        cost_basis(run->arena, run->sm, &counting->calibration->start, &kernel->launch, NULL, 0);
    Figures figures = {0};
    if (run->assembler) {
        run->judge.judge.measure(run->judge.judge.context, &form, &figures);
        if (!figures.known)
            return fail(name, figures.message);
    }
    const FormCost cost = machine_cost(run->assembler ? &run->judge : NULL, &basis, &form, &figures, &change, NULL);
    if (!cost.known)
        return fail(name, cost.error);
    kernel->profile = cost.profile;
    kernel->registers = figures.registers;
    kernel->shared = figures.known ? figures.shared : kernel->micro->shared;
    return true;
}

bool kernels_count(Calibration *calibration)
{
    const CalibrateRequest *request = calibration->request;
    Counting *counting = ARENA_NEW(calibration->arena, Counting);
    Run *run = &counting->run;
    const RunSetting setting = {.path = calibration->source->path,
                                .arch = calibration->arch,
                                .assembler = request->assembler,
                                .assembler_given = request->assembler_given,
                                .assembler_none = request->assembler_none,
                                .quiet = request->quiet};
    counting->calibration = calibration;
    run_prepare(run, &counting->options, calibration->arena, &setting);
    run->source = calibration->source;
    bool done = read_module(run) && choose_arch(run) && open_assembler(run);
    for (size_t i = 0; done && i < calibration->kernels.count; i++)
        done = count_kernel(counting, &calibration->kernels.data[i]);
    run_close(run);
    return done;
}
