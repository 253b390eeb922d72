/* Kernels in the emulator, on the caller's memory. */
#include <stdlib.h>
#include <string.h>

#include "library/internal.h"
#include "parser/parser.h"

struct ptxopt_execution {
    Arena *arena;
    ptxopt_status status;
    const char *message;
    const char *counters;
    char *output;
    size_t output_length;
    ptxopt_fault fault;
};

/* An execution in progress. */
typedef struct Executing {
    const ptxopt_module *of;
    const ptxopt_launch *wanted;
    ptxopt_execution *execution;
    Arena *arena;
    Module *module;
    const Function *kernel;
    FILE *output;
} Executing;

static bool fail(Executing *executing, ptxopt_status status, const char *message)
{
    executing->execution->status = status;
    executing->execution->message = message;
    return false;
}

/* Parses the module; NULL, with its errors in the arena, if it has any. */
static Module *parse(Arena *arena, const ptxopt_module *of, const char **errors)
{
    char *text = NULL;
    size_t length = 0;
    FILE *messages = open_memstream(&text, &length);
    Diag diag;
    if (!messages)
        out_of_memory();
    Source *source = module_source(arena, of);
    diag_init(&diag, source, messages);
    diag.quiet = true;
    Module *module = input_is_ptx(source, messages) ? parse_module(arena, source, &diag) : NULL;
    fclose(messages);
    *errors = module ? NULL : arena_strndup(arena, text, length);
    free(text);
    return module;
}

/* The kernel of that name, or the only one; NULL with a message in the arena. */
static const Function *find_kernel(Arena *arena, const Module *module, const char *name, const char **error)
{
    const Function *found = NULL;
    size_t count = 0;
    for (size_t i = 0; i < module->items.count; i++) {
        const Item *item = &module->items.data[i];
        if (item->kind != ITEM_FUNCTION || !item->function->is_entry || !item->function->has_body)
            continue;
        if (name && !kernel_name_matches(name, item->function->name))
            continue;
        found = item->function;
        count++;
    }
    if (count == 1)
        return found;
    *error = count ? arena_printf(arena, "the module has %zu kernels%s; one has to be named", count,
                                  name ? " of this name" : "")
             : name ? arena_printf(arena, "the module has no kernel '%s'%s", name, kernel_hint(arena, module, name))
                    : "the module has no kernel";
    return NULL;
}

static int compare_memories(const void *a, const void *b)
{
    const EmulatorMemory *one = a, *other = b;
    return one->address < other->address ? -1 : one->address > other->address;
}

/* The memories by ascending address. False, with the error, if they overlap. */
static bool describe_memories(Executing *executing, EmulatorDevice *device)
{
    const ptxopt_launch *wanted = executing->wanted;
    EmulatorMemory *memories = ARENA_ARRAY(executing->arena, EmulatorMemory, wanted->memory_count);
    for (size_t i = 0; i < wanted->memory_count; i++) {
        const ptxopt_memory *memory = &wanted->memories[i];
        memories[i] = (EmulatorMemory){.name = memory->name ? memory->name : "the caller's memory",
                                       .address = (uintptr_t)memory->bytes,
                                       .size = memory->size,
                                       .bytes = memory->bytes};
    }
    if (wanted->memory_count)
        qsort(memories, wanted->memory_count, sizeof *memories, compare_memories);
    for (size_t i = 1; i < wanted->memory_count; i++)
        if (memories[i].address - memories[i - 1].address < memories[i - 1].size)
            return fail(executing, PTXOPT_USAGE,
                        arena_printf(executing->arena, "'%s' and '%s' overlap", memories[i - 1].name,
                                     memories[i].name));
    device->memories = memories;
    device->memory_count = wanted->memory_count;
    return true;
}

/* False, with the error, if the arguments do not fit the kernel. */
static bool describe_launch(Executing *executing, Launch *launch)
{
    const ptxopt_launch *wanted = executing->wanted;
    const Prototype *prototype = &executing->kernel->prototype;
    *launch = (Launch){.kernel = executing->kernel->name, .dynamic_shared = wanted->dynamic_shared};
    memcpy(launch->grid, wanted->grid, sizeof launch->grid);
    memcpy(launch->block, wanted->block, sizeof launch->block);
    if (wanted->argument_count != prototype->param_count)
        return fail(executing, PTXOPT_USAGE,
                    arena_printf(executing->arena, "kernel '%s' has %u parameter%s, and there are %zu arguments",
                                 launch->kernel, prototype->param_count, plural(prototype->param_count),
                                 wanted->argument_count));
    launch->argument_count = prototype->param_count;
    launch->arguments = ARENA_ARRAY(executing->arena, LaunchArgument, launch->argument_count);
    for (unsigned i = 0; i < launch->argument_count; i++) {
        const uint64_t size = variable_bytes(prototype->params[i]);
        launch->arguments[i] = (LaunchArgument){
            .kind = ARGUMENT_SCALAR, .type = TYPE_U8, .count = size, .bytes = wanted->arguments[i], .size = size};
    }
    return true;
}

static ptxopt_status status_of_fault(FaultKind kind)
{
    switch (kind) {
    case FAULT_NONE: return PTXOPT_DONE;
    case FAULT_LAUNCH: return PTXOPT_USAGE;
    case FAULT_UNSUPPORTED: return PTXOPT_UNVERIFIED;
    default: return PTXOPT_DIFFERENT;
    }
}

static void note_fault(Executing *executing, const EmulatorFault *fault)
{
    ptxopt_execution *execution = executing->execution;
    execution->status = status_of_fault(fault->kind);
    if (fault->kind == FAULT_NONE)
        return;
    execution->message = fault_text(executing->arena, executing->module, fault);
    execution->fault = (ptxopt_fault){.kind = fault_name(fault->kind),
                                      .kernel = fault->kernel,
                                      .function = fault->function,
                                      .source = fault->source,
                                      .line = fault->position.line,
                                      .column = fault->position.column,
                                      .has_thread = fault->has_thread};
    memcpy(execution->fault.block, fault->block, sizeof fault->block);
    memcpy(execution->fault.thread, fault->thread, sizeof fault->thread);
}

static const char *counters_text(Arena *arena, const EmulatorCounters *counters)
{
    Buf text = {0};
    json_print(counters_json(counters), &text);
    return buf_take(arena, &text);
}

static void emulate(Executing *executing, const Launch *launch)
{
    const ptxopt_launch *wanted = executing->wanted;
    const EmulatorOptions options = {.check_races = wanted->checks & PTXOPT_CHECK_RACES,
                                     .check_registers = wanted->checks & PTXOPT_CHECK_REGISTERS,
                                     .check_division = wanted->checks & PTXOPT_CHECK_DIVISION,
                                     .count_memory = wanted->checks & PTXOPT_COUNT_MEMORY,
                                     .jobs = wanted->cores,
                                     .output = executing->output};
    const EmulatorResult *result = emulator_run(executing->arena, executing->module, launch, &options);
    note_fault(executing, &result->fault);
    if (executing->execution->status == PTXOPT_DONE || executing->execution->status == PTXOPT_DIFFERENT)
        executing->execution->counters = counters_text(executing->arena, &result->counters);
}

/* Reads the module, and the launch as the kernel's contract changes it. */
static bool prepare(Executing *executing, EmulatorDevice *device, Launch *launch, const Launch **own)
{
    const char *error = NULL;
    bool has_contract;
    executing->module = parse(executing->arena, executing->of, &error);
    if (!executing->module)
        return fail(executing, PTXOPT_INPUT, error);
    executing->kernel = find_kernel(executing->arena, executing->module, executing->wanted->kernel, &error);
    if (!executing->kernel)
        return fail(executing, PTXOPT_USAGE, error);
    if (!describe_launch(executing, launch) || !describe_memories(executing, device))
        return false;
    launch->device = device;
    *own = launch_by_contract(executing->arena, executing->module, launch, &has_contract, &error);
    return *own || fail(executing, PTXOPT_USAGE, error);
}

static void execute(void *context)
{
    Executing *executing = context;
    EmulatorDevice device = {0};
    Launch launch;
    const Launch *own = NULL;
    executing->arena = executing->execution->arena = arena_new();
    if (prepare(executing, &device, &launch, &own))
        emulate(executing, own);
}

static void forget(void *context)
{
    const Executing *executing = context;
    *executing->execution = (ptxopt_execution){0};
}

ptxopt_execution *ptxopt_execute(const ptxopt_module *module, const ptxopt_launch *launch, size_t size)
{
    ptxopt_launch wanted = {0};
    ptxopt_execution *execution = calloc(1, sizeof *execution);
    char *message = NULL, *output = NULL;
    size_t length = 0;
    FILE *stream = open_memstream(&output, &length);
    memcpy(&wanted, launch, size < sizeof wanted ? size : sizeof wanted);
    Executing executing = {.of = module, .wanted = &wanted, .execution = execution, .output = stream};
    if (!execution || !stream) {
        free(execution);
        return NULL;
    }
    const GuardEnd end = guard_run(execute, forget, &executing, &message);
    if (end != GUARD_DONE)
        execution->status = guard_status(end);
    fclose(stream);
    free(message);
    execution->output = output;
    return execution;
}

void ptxopt_execution_free(ptxopt_execution *execution)
{
    if (!execution)
        return;
    free(execution->output);
    arena_free(execution->arena);
    free(execution);
}

ptxopt_status ptxopt_execution_status(const ptxopt_execution *execution)
{
    return execution->status;
}

const char *ptxopt_execution_message(const ptxopt_execution *execution)
{
    if (execution->status == PTXOPT_NO_MEMORY)
        return "out of memory";
    return execution->status == PTXOPT_BUG ? "an error in ptxopt" : execution->message;
}

const char *ptxopt_execution_output(const ptxopt_execution *execution)
{
    return execution->output;
}

const char *ptxopt_execution_counters(const ptxopt_execution *execution)
{
    return execution->counters;
}

void ptxopt_execution_fault(const ptxopt_execution *execution, ptxopt_fault *fault, size_t size)
{
    memcpy(fault, &execution->fault, size < sizeof *fault ? size : sizeof *fault);
}

/* A question about a kernel's parameters. */
typedef struct Asking {
    const ptxopt_module *module;
    const char *kernel;
    ptxopt_parameter *parameters;
    size_t count;
    int answer;
} Asking;

static void ask(void *context)
{
    Asking *asking = context;
    Arena *arena = arena_new();
    const char *error;
    const Module *module = parse(arena, asking->module, &error);
    const Function *kernel = module ? find_kernel(arena, module, asking->kernel, &error) : NULL;
    asking->answer = kernel ? (int)kernel->prototype.param_count : -1;
    for (size_t i = 0; kernel && i < kernel->prototype.param_count && i < asking->count; i++) {
        const Variable *parameter = kernel->prototype.params[i];
        ptxopt_parameter *described = &asking->parameters[i];
        described->size = variable_bytes(parameter);
        snprintf(described->type, sizeof described->type, "%s", type_name(parameter->type));
    }
    arena_free(arena);
}

static void nothing_to_forget(void *context)
{
    Asking *asking = context;
    asking->answer = -1;
}

int ptxopt_module_parameters(const ptxopt_module *module, const char *kernel, ptxopt_parameter *parameters,
                             size_t count)
{
    Asking asking = {module, kernel, parameters, count, -1};
    char *message = NULL;
    guard_run(ask, nothing_to_forget, &asking, &message);
    free(message);
    return asking.answer;
}
