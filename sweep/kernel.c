/* The inputs of a sweep: the module for each architecture, and the launches. */
#include "sweep/internal.h"

static uint64_t hash_text(const char *text, uint64_t hash)
{
    return hash_fnv(text, strlen(text) + 1, hash);
}

/* Another build of this program may make other forms, and predict other times. */
static bool hash_program(Arena *arena, uint64_t *hash)
{
    const char *error;
    const Source *program = source_read(arena, "/proc/self/exe", &error);
    if (program)
        *hash = hash_fnv(program->text, program->size, *hash);
    else
        fprintf(stderr, "ptxopt: error: cannot read this program: %s\n", error);
    return program != NULL;
}

static bool hash_machine(Sweep *sweep, uint64_t *hash)
{
    const char *error;
    if (!sweep->request->machine)
        return true;
    const Source *machine = source_read(sweep->arena, sweep->request->machine, &error);
    if (machine)
        *hash = hash_fnv(machine->text, machine->size, *hash);
    else
        fprintf(stderr, "ptxopt: error: %s: %s\n", sweep->request->machine, error);
    return machine != NULL;
}

/* Times of configurations are compared, as in a choice (auto). */
static bool has_line_tables(void)
{
    const char *missing = sass_lines_missing();
    if (missing)
        fprintf(stderr, "ptxopt: error: %s; it reads the machine code by which configurations are compared\n", missing);
    return !missing;
}

static bool has_assembler(SweepTarget *target)
{
    Run *run = &target->run;
    if (!open_assembler(run))
        return false;
    if (!run->assembler) {
        fprintf(stderr, "ptxopt: error: a sweep needs an assembler; 'ptxopt setup' fetches one\n");
        return false;
    }
    target->inputs = hash_text(assembler_version(run->assembler),
                               hash_text(assembler_name(run->assembler), target->inputs));
    run_close(run);
    run->assembler = NULL;
    return true;
}

/* The architecture that a name such as sm_90a has, as a number. */
static unsigned arch_number(const char *name)
{
    unsigned number = 0;
    return sscanf(name, "sm_%u", &number) == 1 ? number : 0;
}

/* Times are those of one GPU and its driver. */
static uint64_t hash_device(const GpuDriver *device, uint64_t hash)
{
    return hash_text(device->name, hash_fnv(&device->version, sizeof device->version, hash));
}

/* 'target' must not move afterwards. */
static bool open_target(Sweep *sweep, SweepTarget *target, const char *arch, uint64_t inputs)
{
    const SweepRequest *request = sweep->request;
    const RunSetting setting = {.path = request->input,
                                .arch = arch,
                                .assembler = request->assembler,
                                .assembler_given = true,
                                .quiet = true};
    Run *run = &target->run;
    run_prepare(run, &target->options, sweep->arena, &setting);
    run->source = sweep->source;
    target->inputs = inputs;
    if (!read_module(run) || !choose_arch(run) || !read_device(run, request->machine, &target->device) ||
        !has_assembler(target))
        return false;
    target->is_on_gpu = request->measures && arch_number(run->arch) == sweep->device.architecture;
    if (target->is_on_gpu)
        target->inputs = hash_device(&sweep->device, target->inputs);
    return true;
}

/* True if one of the architectures is that of the GPU, on which forms are to be measured. */
static bool has_gpu(const Sweep *sweep)
{
    bool found = !sweep->request->measures;
    for (size_t i = 0; i < sweep->target_count; i++)
        found |= sweep->targets[i].is_on_gpu;
    if (!found)
        fprintf(stderr, "ptxopt: error: -measure: %s is an sm_%u, for which nothing is made; see -arch\n",
                sweep->device.name, sweep->device.architecture);
    return found;
}

bool sweep_open_targets(Sweep *sweep)
{
    const SweepRequest *request = sweep->request;
    sweep->source = input_read(sweep->arena, request->input);
    if (!sweep->source || !has_line_tables())
        return false;
    uint64_t inputs = hash_fnv(sweep->source->text, sweep->source->size, HASH_START);
    if (!hash_program(sweep->arena, &inputs) || !hash_machine(sweep, &inputs) ||
        (request->measures && !sweep_gpu_ask(sweep)))
        return false;
    const char *usual = request->measures ? arena_printf(sweep->arena, "sm_%u", sweep->device.architecture) : NULL;
    sweep->target_count = request->archs.count ? request->archs.count : 1;
    sweep->targets = ARENA_ARRAY(sweep->arena, SweepTarget, sweep->target_count);
    for (size_t i = 0; i < sweep->target_count; i++)
        if (!open_target(sweep, &sweep->targets[i], request->archs.count ? request->archs.data[i] : usual, inputs))
            return false;
    return has_gpu(sweep);
}

static bool read_launch(Sweep *sweep, const char *path, SweepKernel *kernel)
{
    const Module *module = sweep->targets[0].run.module;
    const char *error = NULL;
    *kernel = (SweepKernel){.path = path, .launch = launch_read(sweep->arena, path, &error)};
    const Source *file = kernel->launch ? source_read(sweep->arena, path, &error) : NULL;
    if (file) {
        kernel->inputs = hash_fnv(file->text, file->size, HASH_START);
        kernel->kernel = module_find_function(module, kernel->launch->kernel);
        if (kernel->kernel && kernel->kernel->is_entry && kernel->kernel->has_body)
            return true;
        error = launch_kernel_missing(sweep->arena, module, kernel->launch);
    }
    fprintf(stderr, "ptxopt: error: %s\n", error);
    return false;
}

bool sweep_read_launches(Sweep *sweep)
{
    for (size_t i = 0; i < sweep->request->launches.count; i++) {
        SweepKernel kernel;
        if (!read_launch(sweep, sweep->request->launches.data[i], &kernel))
            return false;
        sweep_kernel_space(sweep, &kernel);
        VEC_PUSH(sweep->arena, sweep->kernels, kernel);
    }
    return true;
}
