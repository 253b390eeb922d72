/* Launches: the kernel runs in the emulator, on the device's memory. Time is counted: one nanosecond for each warp
 * instruction, unless clock.c says how long the launch takes, and one for each 1,024 bytes copied or filled. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "emulated/clock.h"
#include "emulated/driver.h"
#include "emulated/driver_api.h"
#include "emulated/log.h"

enum { WORKSPACE_BYTES = 256, USUAL_HEAP = 8 << 20 };

double device_clock;
static Memory *workspace; /* of cooperative grids */
static EmulatorHeap heap;
static size_t heap_size = USUAL_HEAP;

bool heap_resize(size_t size)
{
    Memory *memory = heap.address ? memory_at(heap.address) : NULL;
    if (size > LARGEST_MEMORY || heap.used)
        return false;
    if (memory)
        memory_release(memory);
    free(heap.pieces);
    heap = (EmulatorHeap){0};
    heap_size = size;
    return true;
}

static uint64_t parameter_align(const Variable *parameter)
{
    uint64_t natural = (type_bits(parameter->type) + 7) / 8 * (parameter->vector ? parameter->vector : 1);
    return parameter->align > natural ? parameter->align : natural;
}

uint64_t parameter_offset(const Function *function, unsigned number)
{
    const Prototype *prototype = &function->prototype;
    uint64_t offset = 0;
    for (unsigned i = 0; i <= number; i++) {
        offset = align_up(offset, parameter_align(prototype->params[i]));
        if (i < number)
            offset += variable_bytes(prototype->params[i]);
    }
    return offset;
}

const void *launch_argument(const EmulatedLaunch *launch, unsigned i)
{
    return launch->packed ? (const char *)launch->packed + parameter_offset(launch->function->function, i)
                          : launch->arguments[i];
}

bool launch_unpack(EmulatedLaunch *launch, void **extra)
{
    enum { END, POINTER, SIZE };
    const Prototype *prototype = &launch->function->function->prototype;
    unsigned count = prototype->param_count;
    for (size_t i = 0; extra && (uintptr_t)extra[i] != END; i += 2) {
        if ((uintptr_t)extra[i] == POINTER)
            launch->packed = extra[i + 1];
        else if ((uintptr_t)extra[i] == SIZE)
            launch->packed_size = *(size_t *)extra[i + 1];
        else
            return false;
    }
    if (!extra || !count)
        return !count || launch->arguments;
    return launch->packed && launch->packed_size >= parameter_offset(launch->function->function, count - 1) +
                                                        variable_bytes(prototype->params[count - 1]);
}

/* Makes the heap, before the first kernel that may use it. */
static void heap_prepare(const Module *module)
{
    if (heap.address || !module_find_function(module, "malloc"))
        return;
    Memory *memory = memory_make(KIND_DEVICE, heap_size, "the heap");
    if (memory)
        heap = (EmulatorHeap){.address = memory->address, .size = memory->size, .pieces = calloc(1, memory->size)};
}

/* The address of the words with which the blocks of a cooperative grid wait for each other; they are zero at its
 * start. */
static uint64_t workspace_prepare(void)
{
    if (!workspace)
        workspace = memory_make(KIND_DEVICE, WORKSPACE_BYTES, "the grid's workspace");
    if (workspace)
        memset(workspace->bytes, 0, WORKSPACE_BYTES);
    if (workspace && workspace->written)
        memset(workspace->written, 1, WORKSPACE_BYTES);
    return workspace ? workspace->address : 0;
}

static bool is_coarsened(const EmulatedFunction *called)
{
    char name[512];
    snprintf(name, sizeof name, "__ptxopt_launch_%s", called->function->name);
    return module_find_variable(called->module->module, name) != NULL;
}

/* Changes a byte of each memory that a parameter points to. */
static void corrupt(const EmulatedLaunch *launch)
{
    const Prototype *prototype = &launch->function->function->prototype;
    for (unsigned i = 0; i < prototype->param_count; i++) {
        uint64_t address = 0;
        if (variable_bytes(prototype->params[i]) == sizeof address)
            memcpy(&address, launch_argument(launch, i), sizeof address);
        Memory *memory = address ? memory_at(address) : NULL;
        if (memory)
            memory->bytes[0] ^= 1;
    }
}

/* The error for a fault. A fault of the kernel ends all work on the device; an error in the launch does not. */
static int error_of(FaultKind fault)
{
    switch (fault) {
    case FAULT_NONE: return DONE;
    case FAULT_LAUNCH: return INVALID_VALUE;
    case FAULT_UNSUPPORTED: return NOT_SUPPORTED;
    case FAULT_TRAP: return device_fail(ASSERTED);
    case FAULT_BOUNDS:
    case FAULT_READ_ONLY: return device_fail(ILLEGAL_ADDRESS);
    case FAULT_ALIGNMENT: return device_fail(MISALIGNED);
    case FAULT_HANG: return device_fail(TIMED_OUT);
    default: return device_fail(LAUNCH_FAILED);
    }
}

/* True if the blocks of a cooperative grid do not all fit on the device at once. */
static bool is_too_large(const EmulatedLaunch *launch, unsigned threads)
{
    unsigned blocks = launch->grid[0] * launch->grid[1] * launch->grid[2];
    return blocks > MULTIPROCESSORS * kernel_blocks(launch->function, threads, launch->shared);
}

static int launch_check(const EmulatedLaunch *launch)
{
    enum { MOST_ROWS = 65535 };
    uint64_t threads = (uint64_t)launch->block[0] * launch->block[1] * launch->block[2];
    if (failure_is("fault"))
        return LAUNCH_FAILED;
    if (launch->shared > launch->function->most_shared || launch->grid[1] > MOST_ROWS || launch->grid[2] > MOST_ROWS)
        return INVALID_VALUE;
    if (threads > 1024)
        return INVALID_VALUE;
    if (launch->is_cooperative && is_too_large(launch, (unsigned)threads))
        return TOO_LARGE;
    return kernel_fits(launch->function, (unsigned)threads) ? DONE : TOO_MANY_RESOURCES;
}

static Launch launch_describe(Arena *arena, const EmulatedLaunch *wanted, const EmulatorDevice *device)
{
    const Function *function = wanted->function->function;
    Launch launch = {.kernel = function->name, .dynamic_shared = wanted->shared, .device = device};
    memcpy(launch.grid, wanted->grid, sizeof launch.grid);
    memcpy(launch.block, wanted->block, sizeof launch.block);
    memcpy(launch.cluster, wanted->cluster, sizeof launch.cluster);
    launch.argument_count = function->prototype.param_count;
    launch.arguments = ARENA_ARRAY(arena, LaunchArgument, launch.argument_count + 1);
    for (unsigned i = 0; i < launch.argument_count; i++) {
        uint64_t size = variable_bytes(function->prototype.params[i]);
        launch.arguments[i] = (LaunchArgument){
            .kind = ARGUMENT_SCALAR, .type = TYPE_U8, .count = size, .bytes = launch_argument(wanted, i), .size = size};
    }
    return launch;
}

static double modelled_time(Arena *arena, const EmulatedLaunch *wanted, const FunctionForm *form, const Launch *launch,
                            const EmulatorResult *result)
{
    const KernelFigures figures = kernel_figures(wanted->function);
    const ClockPlace place = {.architecture = DEVICE_ARCHITECTURE,
                              .registers = figures.registers,
                              .shared = figures.shared + launch->dynamic_shared};
    return clock_of_run(arena, &place, form, launch, result);
}

static void report_fault(FaultKind kind, const char *text)
{
    fprintf(stderr, "%s\n", text);
    log_add("%s %s", kind == FAULT_UNSUPPORTED ? "unsupported" : "fault", text);
}

int emulated_run(const EmulatedLaunch *wanted)
{
    LOCKED;
    const Module *module = wanted->function->module->module;
    int error = launch_check(wanted);
    if (error)
        return error;
    Arena *arena = arena_new();
    EmulatorOptions options = checks;
    EmulatorDevice device = {.heap = &heap, .outside = pages_outside()};
    options.output = stdout;
    heap_prepare(module);
    if (wanted->is_cooperative) {
        options.resident_blocks = wanted->grid[0] * wanted->grid[1] * wanted->grid[2];
        device.grid_workspace = workspace_prepare();
    }
    device.memories = memory_list(arena, &device.memory_count);
    device.images = image_list(&device.image_count);
    const Launch launch = launch_describe(arena, wanted, &device);
    const char *reason;
    FunctionForm form = {.function = wanted->function->function};
    Body *body = clock_is_modelled() ? body_build((Function *)form.function, &reason) : NULL;
    if (body) {
        form.body = body;
        options.forms = &form;
        options.form_count = 1;
        options.count_memory = options.count_reuse = options.count_blocks = options.count_instructions = true;
    }
    EmulatorResult *result = emulator_run(arena, module, &launch, &options);
    log_add("launch %s %u,%u,%u %u,%u,%u", launch.kernel, launch.grid[0], launch.grid[1], launch.grid[2],
            launch.block[0], launch.block[1], launch.block[2]);
    if (result->outside.kind != FAULT_NONE && !wanted->function->has_warned) {
        fprintf(stderr, "warning: %s\n", fault_text(arena, module, &result->outside));
        wanted->function->has_warned = true;
    }
    if (result->fault.kind != FAULT_NONE)
        report_fault(result->fault.kind, fault_text(arena, module, &result->fault));
    else if (failure_is("wrong") && is_coarsened(wanted->function))
        corrupt(wanted);
    if (body && result->fault.kind == FAULT_NONE)
        device_clock += modelled_time(arena, wanted, &form, &launch, result);
    else
        device_clock += 1e-6 * (double)result->counters.warp_instructions;
    error = error_of(result->fault.kind);
    body_free(body);
    arena_free(arena);
    return error;
}

int cuLaunchKernel(void *function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x,
                   unsigned block_y, unsigned block_z, unsigned shared, void *stream, void **parameters, void **extra)
{
    EmulatedLaunch launch = {.function = function,
                             .grid = {grid_x, grid_y, grid_z},
                             .block = {block_x, block_y, block_z},
                             .shared = shared,
                             .arguments = parameters};
    if (function && !launch_unpack(&launch, extra))
        return INVALID_VALUE;
    return emulated_launch(&launch, stream);
}

int cuLaunchCooperativeKernel(void *function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x,
                              unsigned block_y, unsigned block_z, unsigned shared, void *stream, void **parameters)
{
    const EmulatedLaunch launch = {.function = function,
                                   .grid = {grid_x, grid_y, grid_z},
                                   .block = {block_x, block_y, block_z},
                                   .shared = shared,
                                   .is_cooperative = true,
                                   .arguments = parameters};
    return emulated_launch(&launch, stream);
}

/* Reads an attribute: an int and, from its eighth byte, a value of 64 bytes. */
static void launch_attribute(EmulatedLaunch *launch, const int *attribute)
{
    enum { COOPERATIVE = 2, CLUSTER = 4, VALUE = 2 };
    if (attribute[0] == COOPERATIVE)
        launch->is_cooperative |= attribute[VALUE] != 0;
    else if (attribute[0] == CLUSTER)
        memcpy(launch->cluster, attribute + VALUE, sizeof launch->cluster);
}

int cuLaunchKernelEx(const DriverConfig *config, void *function, void **parameters, void **extra)
{
    enum { ATTRIBUTE_INTS = 18 };
    EmulatedLaunch launch = {.function = function, .shared = config->shared, .arguments = parameters};
    memcpy(launch.grid, config->grid, sizeof launch.grid);
    memcpy(launch.block, config->block, sizeof launch.block);
    for (unsigned i = 0; i < config->attribute_count; i++)
        launch_attribute(&launch, (const int *)config->attributes + i * ATTRIBUTE_INTS);
    if (function && !launch_unpack(&launch, extra))
        return INVALID_VALUE;
    return emulated_launch(&launch, config->stream);
}

/* The names for programs whose threads have default streams of their own. */
SAME(cuLaunchCooperativeKernel_ptsz, cuLaunchCooperativeKernel);
SAME(cuLaunchKernelEx_ptsz, cuLaunchKernelEx);
SAME(cuLaunchKernel_ptsz, cuLaunchKernel);
