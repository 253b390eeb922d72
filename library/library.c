/* The objects of ptxopt.h. Each is one piece of memory with an arena; code that may run out of memory or find a bug
 * runs under a guard (support/memory.h). */
#include "library/library.h"

#include <stdlib.h>
#include <string.h>

#include "library/internal.h"

struct ptxopt_result {
    Arena *arena;
    ptxopt_status status;
    Products products;
};

const char *ptxopt_version(void)
{
    return PTXOPT_VERSION;
}

ptxopt_status guard_status(GuardEnd end)
{
    return end == GUARD_NO_MEMORY ? PTXOPT_NO_MEMORY : PTXOPT_BUG;
}

static void nothing_to_clean(void *context)
{
    (void)context;
}

static void start_options(void *context)
{
    ptxopt_options *options = context;
    options->arena = arena_new();
    options_init(&options->options);
    options->options.report = options->options.report_json = true;
}

static void forget_arena(void *context)
{
    ptxopt_options *options = context;
    options->arena = NULL;
}

ptxopt_options *ptxopt_options_new(void)
{
    ptxopt_options *options = calloc(1, sizeof *options);
    char *message = NULL;
    if (!options || guard_run(start_options, forget_arena, options, &message) == GUARD_DONE)
        return options;
    free(message);
    free(options);
    return NULL;
}

ptxopt_options *library_options(const Options *given, FILE *messages)
{
    ptxopt_options *options = calloc(1, sizeof *options);
    if (options) {
        options->options = *given;
        options->messages = messages;
    }
    return options;
}

void ptxopt_options_free(ptxopt_options *options)
{
    if (options)
        arena_free(options->arena);
    free(options);
}

typedef struct Setting {
    ptxopt_options *options;
    const char *name, *value;
} Setting;

static void set_option(void *context)
{
    const Setting *setting = context;
    ptxopt_options *options = setting->options;
    options->error = options_set(options->arena, &options->options, setting->name, setting->value);
}

ptxopt_status ptxopt_options_set(ptxopt_options *options, const char *name, const char *value)
{
    Setting setting = {options, name, value};
    const Options before = options->options;
    char *message = NULL;
    options->error = NULL;
    GuardEnd end = guard_run(set_option, nothing_to_clean, &setting, &message);
    free(message);
    if (end == GUARD_DONE && !options->error)
        return PTXOPT_DONE;
    options->options = before;
    if (end == GUARD_DONE)
        return PTXOPT_USAGE;
    options->error = end == GUARD_NO_MEMORY ? "out of memory" : "an error in ptxopt";
    return guard_status(end);
}

const char *ptxopt_options_error(const ptxopt_options *options)
{
    return options->error;
}

static void add_folder(void *context)
{
    const Setting *setting = context;
    ptxopt_options *options = setting->options;
    PathList *folders = &options->options.python_folders;
    VEC_PUSH(options->arena, *folders, arena_strndup(options->arena, setting->value, strlen(setting->value)));
    VEC_PUSH(options->arena, *folders, NULL);
    folders->count--;
}

ptxopt_status ptxopt_options_python_folder(ptxopt_options *options, const char *folder)
{
    Setting setting = {options, NULL, folder};
    const Options before = options->options;
    char *message = NULL;
    GuardEnd end = guard_run(add_folder, nothing_to_clean, &setting, &message);
    free(message);
    if (end == GUARD_DONE)
        return PTXOPT_DONE;
    options->options = before;
    return guard_status(end);
}

void ptxopt_options_want_cubin(ptxopt_options *options, int wanted)
{
    options->options.cubin = wanted ? "" : NULL;
}

void ptxopt_options_on_diagnostic(ptxopt_options *options, ptxopt_diagnostic_function function, void *context)
{
    options->function = function;
    options->context = context;
}

ptxopt_module *ptxopt_module_from_text(const char *name, const char *text, size_t length)
{
    size_t name_length = strlen(name);
    ptxopt_module *module = calloc(1, sizeof *module + name_length + 1);
    if (!module)
        return NULL;
    module->text = text;
    module->length = length;
    memcpy(module->name, name, name_length);
    return module;
}

ptxopt_module *library_module(Source *source)
{
    ptxopt_module *module = ptxopt_module_from_text(source->path, source->text, source->size);
    if (module)
        module->source = source;
    return module;
}

void ptxopt_module_free(ptxopt_module *module)
{
    free(module);
}

Source *module_source(Arena *arena, const ptxopt_module *module)
{
    if (module->source)
        return module->source;
    return source_from_memory(arena, arena_printf(arena, "%s", module->name), module->text, module->length);
}

typedef struct Running {
    const ptxopt_module *module;
    const ptxopt_options *options;
    ptxopt_result *result;
    FILE *messages;
} Running;

static void run(void *context)
{
    const Running *running = context;
    ptxopt_result *result = running->result;
    result->arena = arena_new();
    Options *options = ARENA_NEW(result->arena, Options);
    *options = running->options->options;
    bool is_library = running->options->arena; /* a program has checked its own */
    const char *error = is_library ? options_check(result->arena, options) : NULL;
    if (error) {
        fprintf(running->messages, "ptxopt: error: %s\n", error);
        result->status = PTXOPT_USAGE;
        return;
    }
    if (is_library)
        options->launch_out = ""; /* made, but not written */
    Source *source = module_source(result->arena, running->module);
    result->status =
        (ptxopt_status)run_source(result->arena, options, source, running->messages, &result->products);
}

static void clean_result(void *context)
{
    const Running *running = context;
    products_free(&running->result->products);
    running->result->arena = NULL;
}

static void run_guarded(Running *running)
{
    char *message = NULL;
    GuardEnd end = guard_run(run, clean_result, running, &message);
    if (end != GUARD_DONE)
        running->result->status = guard_status(end);
    if (end == GUARD_NO_MEMORY)
        fprintf(running->messages, "ptxopt: error: out of memory\n");
    else if (end == GUARD_BUG)
        fprintf(running->messages, "ptxopt: error: internal error: %s\n", message ? message : "");
    free(message);
}

ptxopt_result *ptxopt_run(const ptxopt_module *module, const ptxopt_options *options)
{
    ptxopt_result *result = calloc(1, sizeof *result);
    Running running = {module, options, result, options->messages};
    char *text = NULL;
    size_t length = 0;
    if (!running.messages)
        running.messages = open_memstream(&text, &length);
    if (!result || !running.messages) {
        free(result);
        return NULL;
    }
    /* A program ends when memory runs out, and aborts after a bug. */
    if (options->messages)
        run(&running);
    else
        run_guarded(&running);
    if (!options->messages) {
        fclose(running.messages);
        if (text && options->function)
            diagnostics_report(text, module->name, options->function, options->context);
        free(text);
    }
    return result;
}

void ptxopt_result_free(ptxopt_result *result)
{
    if (!result)
        return;
    products_free(&result->products);
    arena_free(result->arena);
    free(result);
}

ptxopt_status ptxopt_result_status(const ptxopt_result *result)
{
    return result->status;
}

const char *ptxopt_result_ptx(const ptxopt_result *result, size_t *length)
{
    if (length)
        *length = result->products.ptx ? result->products.ptx_length : 0;
    return result->products.ptx;
}

const void *ptxopt_result_cubin(const ptxopt_result *result, size_t *length)
{
    if (length)
        *length = result->products.cubin ? result->products.cubin_size : 0;
    return result->products.cubin;
}

const char *ptxopt_result_contract(const ptxopt_result *result)
{
    return result->products.ptx && result->products.launch.length ? result->products.launch.data : NULL;
}

const char *ptxopt_result_assembler_options(const ptxopt_result *result)
{
    return result->products.knobs;
}

const char *ptxopt_result_report(const ptxopt_result *result)
{
    return result->products.report.length ? result->products.report.data : NULL;
}

static const Report *report_of(const ptxopt_result *result)
{
    return ptxopt_result_report(result) ? result->products.kernels : NULL;
}

size_t ptxopt_result_kernel_count(const ptxopt_result *result)
{
    const Report *report = report_of(result);
    return report ? report->kernel_count : 0;
}

static ptxopt_figures figures_of(const Standing *standing)
{
    const Figures *figures = &standing->figures;
    if (!figures->known)
        return (ptxopt_figures){0};
    return (ptxopt_figures){
        .known = 1,
        .registers = figures->registers,
        .warps_per_sm = standing->occupancy_known ? standing->occupancy.warps : 0,
        .spill_stores = figures->spill_stores,
        .spill_loads = figures->spill_loads,
        .stack = figures->stack,
        .shared = figures->shared,
        .instructions = figures->instructions,
    };
}

int ptxopt_result_kernel(const ptxopt_result *result, size_t index, ptxopt_kernel *kernel, size_t size)
{
    const Report *report = report_of(result);
    if (!report || index >= report->kernel_count)
        return 0;
    const KernelReport *from = &report->kernels[index];
    const KernelResult *made = &from->result;
    ptxopt_kernel all = {
        .name = made->kernel->name,
        .coarsened = made->coarsening == OUTCOME_DONE,
        .factor = {1, 1, 1},
        .registers_reduced = made->registers == OUTCOME_DONE,
        .predicted_speedup = from->has_cost ? cost_speedup(&from->cost_before, &from->cost_after) : 0,
        .refusal = from->refusal,
        .before = figures_of(&from->before),
        .after = figures_of(&from->after),
    };
    if (from->has_cost) {
        const Interval interval = cost_interval(&from->cost_before, &from->cost_after);
        all.predicted_low = interval.low;
        all.predicted_high = interval.high;
    }
    for (unsigned i = 0; i < 3 && all.coarsened; i++)
        all.factor[i] = made->contract.shape.threads[i];
    memset(kernel, 0, size);
    memcpy(kernel, &all, size < sizeof all ? size : sizeof all);
    return 1;
}
