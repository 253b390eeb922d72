/* Launching on a GPU what a launch file says. */
#include "timing/internal.h"

#include <stdlib.h>
#include <string.h>

uint64_t gpu_argument_bytes(const LaunchArgument *argument)
{
    return argument->count * type_bits(argument->type) / 8;
}

bool gpu_owns_memory(const LaunchArgument *argument)
{
    return argument->kind == ARGUMENT_BUFFER ||
           (argument->image && argument->kind != ARGUMENT_SAMPLER && !argument->image->of);
}

const char *gpu_failure(const GpuDriver *driver, Arena *arena, int error, const char *doing)
{
    if (error == CUDA_DONE)
        return NULL;
    Buf text = {0};
    buf_printf(&text, "%s: ", doing);
    gpu_error_print(driver, error, &text);
    const char *message = arena_strndup(arena, buf_text(&text), text.length);
    buf_free(&text);
    return message;
}

static const char *failure(const GpuLaunch *gpu, int error, const char *doing)
{
    return gpu_failure(gpu->driver, gpu->arena, error, doing);
}

/* The memory of an image that is a plain buffer: its own or that of an earlier one. */
static DevicePointer image_buffer(const GpuLaunch *gpu, unsigned argument)
{
    const char *of = gpu->launch->arguments[argument].image->of;
    for (unsigned i = 0; of && i < argument; i++)
        if (gpu->buffers[i] && strcmp(gpu->launch->arguments[i].name, of) == 0)
            return gpu->buffers[i];
    return gpu->buffers[argument];
}

static const char *make_buffer(const GpuLaunch *gpu, unsigned i)
{
    const LaunchArgument *argument = &gpu->launch->arguments[i];
    uint64_t bytes = gpu_argument_bytes(argument);
    const char *problem = NULL;
    if (gpu_owns_memory(argument) || argument->kind == ARGUMENT_SYMBOL)
        gpu->contents[i] = launch_fill(gpu->arena, argument);
    if (gpu_owns_memory(argument) && (!argument->image || gpu_image_wants_buffer(gpu->launch, i)))
        problem = failure(gpu, gpu->driver->memory_alloc(&gpu->buffers[i], bytes ? bytes : 1),
                          arena_printf(gpu->arena, "allocating '%s', %llu bytes", argument->name,
                                       (unsigned long long)bytes));
    if (problem || !argument->image)
        return problem;
    int error = gpu_image_open(gpu->driver, gpu->launch, i, gpu->images, image_buffer(gpu, i), &problem);
    const char *name = argument->name ? argument->name : "an image";
    return problem ? arena_printf(gpu->arena, "'%s': %s", name, problem)
                   : failure(gpu, error, arena_printf(gpu->arena, "making '%s'", name));
}

const char *gpu_launch_open(GpuLaunch *gpu)
{
    unsigned count = gpu->launch->argument_count;
    gpu->buffers = ARENA_ARRAY(gpu->arena, DevicePointer, count + 1);
    gpu->kept = ARENA_ARRAY(gpu->arena, DevicePointer, count + 1);
    gpu->contents = ARENA_ARRAY(gpu->arena, void *, count + 1);
    gpu->images = ARENA_ARRAY(gpu->arena, GpuImage, count + 1);
    for (unsigned i = 0; i < count; i++) {
        const char *problem = make_buffer(gpu, i);
        if (problem)
            return problem;
    }
    return NULL;
}

static const char *fill_buffers(const GpuLaunch *gpu)
{
    for (unsigned i = 0; i < gpu->launch->argument_count; i++) {
        const LaunchArgument *argument = &gpu->launch->arguments[i];
        int error = CUDA_DONE;
        if (gpu->images[i].is_owner)
            error = gpu_image_write(gpu->driver, argument, &gpu->images[i], gpu->contents[i]);
        else if (gpu->buffers[i] && argument->count)
            error = gpu->driver->copy_in(gpu->buffers[i], gpu->contents[i], gpu_argument_bytes(argument));
        if (error != CUDA_DONE)
            return failure(gpu, error, arena_printf(gpu->arena, "filling '%s'", argument->name));
    }
    return NULL;
}

/* Each module has its own variables, so they are filled only once. */
static const char *fill_symbols(const GpuLaunch *gpu, const GpuForm *form)
{
    for (unsigned i = 0; i < gpu->launch->argument_count; i++) {
        const LaunchArgument *argument = &gpu->launch->arguments[i];
        if (argument->kind != ARGUMENT_SYMBOL)
            continue;
        DevicePointer address;
        size_t size;
        int error = gpu->driver->module_global(&address, &size, form->module, argument->name);
        const char *problem = failure(gpu, error, argument->name);
        if (!problem && size < gpu_argument_bytes(argument))
            problem = arena_printf(gpu->arena, "'%s' has %zu bytes, and the launch file more", argument->name, size);
        if (!problem)
            problem = failure(gpu, gpu->driver->copy_in(address, gpu->contents[i], gpu_argument_bytes(argument)),
                                  argument->name);
        if (problem)
            return problem;
    }
    return NULL;
}

static const char *load(const GpuLaunch *gpu, const char *image, GpuForm *form)
{
    enum { LOG_BYTES = 4096 };
    const GpuDriver *driver = gpu->driver;
    char *log = arena_alloc(gpu->arena, LOG_BYTES);
    log[0] = 0;
    int options[] = {JIT_ERROR_LOG, JIT_ERROR_LOG_SIZE};
    void *values[] = {log, (void *)(uintptr_t)LOG_BYTES};
    const char *problem =
        failure(gpu, driver->module_load(&form->module, image, 2, options, values), "loading it");
    if (problem) {
        log[LOG_BYTES - 1] = 0;
        log[strcspn(log, "\n")] = 0;
        return log[0] ? arena_printf(gpu->arena, "%s: %s", problem, log) : problem;
    }
    problem = failure(gpu, driver->module_function(&form->function, form->module, gpu->launch->kernel),
                          gpu->launch->kernel);
    if (problem)
        return problem;
    driver->function_attribute(&form->registers, FUNCTION_REGISTERS, form->function);
    driver->function_attribute(&form->local_bytes, FUNCTION_LOCAL_BYTES, form->function);
    return fill_symbols(gpu, form);
}

const char *gpu_form_allow_shared(const GpuLaunch *gpu, const GpuForm *form)
{
    enum { WITHOUT_ASKING = 48 << 10 };
    if (form->launch->dynamic_shared <= WITHOUT_ASKING)
        return NULL;
    return failure(gpu,
                   gpu->driver->function_set(form->function, FUNCTION_MOST_DYNAMIC_SHARED,
                                             (int)form->launch->dynamic_shared),
                   "asking for dynamic shared memory");
}

int gpu_form_queue(const GpuLaunch *gpu, const GpuForm *form)
{
    const Launch *launch = form->launch;
    DevicePointer *addresses = calloc(launch->argument_count + 1, sizeof *addresses);
    void **parameters = calloc(launch->argument_count + 1, sizeof *parameters);
    if (!addresses || !parameters)
        out_of_memory();
    unsigned count = 0;
    for (unsigned i = 0; i < launch->argument_count; i++) {
        const LaunchArgument *argument = &launch->arguments[i];
        if (argument->kind == ARGUMENT_SYMBOL)
            continue;
        addresses[i] = argument->image ? gpu->images[i].handle : gpu->buffers[i];
        for (unsigned k = 0; argument->kind == ARGUMENT_POINTER && k < i; k++)
            if (gpu->buffers[k] && strcmp(launch->arguments[k].name, argument->name) == 0)
                addresses[i] = gpu->buffers[k] + argument->offset;
        parameters[count++] =
            argument->kind == ARGUMENT_SCALAR ? (void *)(uintptr_t)argument->bytes : (void *)&addresses[i];
    }
    const unsigned *grid = launch->grid, *block = launch->block;
    int error = gpu->driver->launch(form->function, grid[0], grid[1], grid[2], block[0], block[1], block[2],
                                   (unsigned)launch->dynamic_shared, NULL, parameters, NULL);
    free(parameters);
    free(addresses);
    return error;
}

EmulatorResult *gpu_launch_filled(const GpuLaunch *gpu)
{
    EmulatorResult *result = ARENA_NEW(gpu->arena, EmulatorResult);
    result->buffers = ARENA_ARRAY(gpu->arena, EmulatorBuffer, gpu->launch->argument_count + 1);
    for (unsigned i = 0; i < gpu->launch->argument_count; i++) {
        const LaunchArgument *argument = &gpu->launch->arguments[i];
        if (!gpu_owns_memory(argument))
            continue;
        EmulatorBuffer *buffer = &result->buffers[result->buffer_count++];
        *buffer = (EmulatorBuffer){.name = argument->name, .type = argument->type, .count = argument->count,
                                   .size = gpu_argument_bytes(argument), .address = gpu->buffers[i]};
        buffer->bytes = arena_alloc(gpu->arena, buffer->size + 1);
        memcpy(buffer->bytes, gpu->contents[i], buffer->size);
    }
    return result;
}

const char *gpu_form_load(const GpuLaunch *gpu, const char *image, const LaunchChange *change, GpuForm *form)
{
    *form = (GpuForm){0};
    const char *problem = load(gpu, image, form);
    if (problem)
        return problem;
    form->launch = launch_changed(gpu->arena, gpu->launch, change);
    return gpu_form_allow_shared(gpu, form);
}

void gpu_form_close(const GpuLaunch *gpu, GpuForm *form)
{
    if (form->module)
        gpu->driver->module_unload(form->module);
    form->module = NULL;
}

const char *gpu_form_run(const GpuLaunch *gpu, const GpuForm *form, EmulatorResult **result)
{
    *result = gpu_launch_filled(gpu);
    const char *problem = fill_buffers(gpu);
    if (!problem)
        problem = failure(gpu, gpu_form_queue(gpu, form), "launching it");
    if (!problem)
        problem = failure(gpu, gpu->driver->context_synchronize(), "running it");
    for (unsigned i = 0, place = 0; i < gpu->launch->argument_count && !problem; i++) {
        const LaunchArgument *argument = &gpu->launch->arguments[i];
        if (!gpu_owns_memory(argument))
            continue;
        EmulatorBuffer *buffer = &(*result)->buffers[place++];
        int error = CUDA_DONE;
        if (gpu->images[i].is_owner)
            error = gpu_image_read(gpu->driver, argument, &gpu->images[i], buffer->bytes);
        else if (buffer->size)
            error = gpu->driver->copy_out(buffer->bytes, gpu->buffers[i], buffer->size);
        problem = failure(gpu, error, "reading results");
    }
    return problem;
}

void gpu_launch_close(GpuLaunch *gpu)
{
    for (unsigned i = 0; gpu->images && i < gpu->launch->argument_count; i++) {
        if (gpu->launch->arguments[i].image)
            gpu_image_close(gpu->driver, &gpu->launch->arguments[i], &gpu->images[i]);
        if (gpu->buffers[i])
            gpu->driver->memory_free(gpu->buffers[i]);
        if (gpu->kept[i])
            gpu->driver->memory_free(gpu->kept[i]);
    }
}
