#include "engine/launch.h"

#include <sched.h>
#include <string.h>

#include "engine/report/contract_words.h"

Launch *launch_by_contract(Arena *arena, const Module *module, const Launch *launch, bool *has_contract,
                           const char **error)
{
    LaunchContract contract;
    LaunchUnmet unmet;
    const ContractState state = contract_find(module, launch->kernel, &contract);
    *has_contract = state == CONTRACT_FOUND;
    *error = contract_error_text(arena, state, launch->kernel);
    if (*error)
        return NULL;
    if (!*has_contract)
        return launch_changed(arena, launch, NULL);
    if (!contract_is_met(&contract, launch->block, launch->grid, &unmet)) {
        *error = arena_printf(arena, "the launch does not meet the launch contract of '%s': %s", launch->kernel,
                              unmet_text(arena, &unmet));
        return NULL;
    }
    const LaunchChange change = contract_change(&contract);
    return launch_changed(arena, launch, &change);
}

Launch *launch_of_original(Arena *arena, const Module *module, const Launch *launch, const char **why)
{
    LaunchContract contract;
    LaunchUnmet unmet;
    const char *name = arena_printf(arena, "%s" ORIGINAL_SUFFIX, launch->kernel);
    const Function *original = module_find_function(module, name);
    if (!original || contract_find(module, launch->kernel, &contract) != CONTRACT_FOUND ||
        contract_is_met(&contract, launch->block, launch->grid, &unmet))
        return NULL;
    *why = unmet_text(arena, &unmet);
    Launch *made = launch_changed(arena, launch, NULL);
    made->kernel = name;
    return made;
}

/* The argument of each parameter of the kernel, NULL after the last one that has any; in the arena. */
static const LaunchArgument **arguments_by_parameter(Arena *arena, const Function *kernel, const Launch *launch)
{
    const LaunchArgument **arguments = ARENA_ARRAY(arena, const LaunchArgument *, kernel->prototype.param_count + 1);
    unsigned next = 0;
    for (unsigned i = 0; i < launch->argument_count && next < kernel->prototype.param_count; i++) {
        const LaunchArgument *argument = &launch->arguments[i];
        if (argument->kind != ARGUMENT_SYMBOL && !(argument->image && argument->image->bind))
            arguments[next++] = argument;
    }
    return arguments;
}

KnownParameters launch_scalars(Arena *arena, const Function *kernel, const Launch *launch)
{
    KnownParameter *known = ARENA_ARRAY(arena, KnownParameter, kernel->prototype.param_count + 1);
    const LaunchArgument **arguments = arguments_by_parameter(arena, kernel, launch);
    unsigned count = 0;
    for (unsigned p = 0; p < kernel->prototype.param_count && arguments[p]; p++)
        if (arguments[p]->kind == ARGUMENT_SCALAR)
            known[count++] =
                (KnownParameter){kernel->prototype.params[p], arguments[p]->bytes, arguments[p]->size};
    return (KnownParameters){known, count};
}

/* Bytes from where the argument points to on; 0: it is not a pointer. */
static uint64_t argument_extent(const Launch *launch, const LaunchArgument *argument)
{
    if (argument->kind == ARGUMENT_BUFFER)
        return argument->count * type_bits(argument->type) / 8;
    for (unsigned i = 0; i < launch->argument_count && argument->kind == ARGUMENT_POINTER; i++) {
        const LaunchArgument *buffer = &launch->arguments[i];
        const uint64_t bytes = buffer->kind == ARGUMENT_BUFFER && strcmp(buffer->name, argument->name) == 0
                                   ? argument_extent(launch, buffer)
                                   : 0;
        if (bytes > argument->offset)
            return bytes - argument->offset;
    }
    return 0;
}

KnownExtents launch_extents(Arena *arena, const Function *kernel, const Launch *launch, uint64_t most)
{
    KnownExtent *known = ARENA_ARRAY(arena, KnownExtent, kernel->prototype.param_count + 1);
    const LaunchArgument **arguments = arguments_by_parameter(arena, kernel, launch);
    unsigned count = 0;
    for (unsigned p = 0; p < kernel->prototype.param_count && arguments[p]; p++) {
        const uint64_t bytes = argument_extent(launch, arguments[p]);
        if (bytes && bytes <= most)
            known[count++] = (KnownExtent){kernel->prototype.params[p], bytes};
    }
    return (KnownExtents){known, count};
}

void launch_ignore_parameter(Arena *arena, const Function *kernel, Launch *launch, const char *parameter)
{
    const LaunchArgument **arguments = arguments_by_parameter(arena, kernel, launch);
    for (unsigned p = 0; p < kernel->prototype.param_count && arguments[p]; p++) {
        if (strcmp(kernel->prototype.params[p]->name, parameter) != 0 || !arguments[p]->name)
            continue;
        const char **names = ARENA_ARRAY(arena, const char *, launch->ignore_count + 1);
        memcpy(names, launch->ignore, launch->ignore_count * sizeof *names);
        names[launch->ignore_count++] = arguments[p]->name;
        launch->ignore = names;
    }
}

unsigned launch_jobs(const Launch *launch, double instructions)
{
    enum { FEWEST_THREADS = 1 << 14, FEWEST_INSTRUCTIONS = 1 << 20 };
    uint64_t threads = 1;
    for (unsigned i = 0; i < 3; i++)
        threads *= (uint64_t)(launch->grid[i] ? launch->grid[i] : 1) * (launch->block[i] ? launch->block[i] : 1);
    cpu_set_t cores;
    /* A guarded run could not leave the emulator if it ran in a thread of its own. */
    const bool is_small = threads < FEWEST_THREADS && instructions < FEWEST_INSTRUCTIONS;
    if (is_small || guard_active() || sched_getaffinity(0, sizeof cores, &cores) != 0)
        return 1;
    return (unsigned)CPU_COUNT(&cores);
}
