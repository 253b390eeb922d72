/* Whole runs. */
#include "emulator/state/state.h"

/* ---- Running ---------------------------------------------------------------------------------------------------- */

static const Function *find_entry(const Module *module, const char *name)
{
    for (size_t i = 0; i < module->items.count; i++) {
        const Item *item = &module->items.data[i];
        if (item->kind == ITEM_FUNCTION && item->function->is_entry && item->function->has_body &&
            strcmp(item->function->name, name) == 0)
            return item->function;
    }
    return NULL;
}

static bool launch_check(Machine *machine, const Function *entry)
{
    const Launch *launch = machine->launch;
    const Tuning *tuning = &entry->tuning;
    uint64_t threads = 1, blocks = 1;
    for (unsigned i = 0; i < 3; i++) {
        machine->grid[i] = launch->grid[i] ? launch->grid[i] : 1;
        machine->block[i] = launch->block[i] ? launch->block[i] : 1;
        threads *= machine->block[i];
        blocks *= machine->grid[i];
        if (threads > 1024 || blocks > UINT32_MAX)
            return fault_static(machine, FAULT_LAUNCH, entry, NULL, "more than 1024 threads a block, or 2^32 blocks");
    }
    machine->block_threads = (unsigned)threads;
    if (tuning->reqntid_count)
        for (unsigned i = 0; i < 3; i++) {
            unsigned wanted = i < tuning->reqntid_count ? tuning->reqntid[i] : 1;
            if (wanted != machine->block[i])
                return fault_static(machine, FAULT_LAUNCH, entry, NULL,
                                    "the kernel demands .reqntid %u along %c, the launch has %u", wanted, "xyz"[i],
                                    machine -> block[i]);
        }
    uint64_t most = 1;
    for (unsigned i = 0; i < tuning->maxntid_count; i++)
        most *= tuning->maxntid[i];
    if (tuning->maxntid_count && threads > most)
        return fault_static(machine, FAULT_LAUNCH, entry, NULL,
                            "the kernel allows %llu threads a block, the launch has %u", (unsigned long long)most,
                            machine->block_threads);
    return cluster_prepare(machine, entry);
}

/* Shared variables: the module's are placed; then those of the functions, then what is allocated at the launch. */
static void shared_layout(Machine *machine)
{
    const Module *module = machine->module;
    for (size_t i = 0; i < machine->code_list.count; i++) {
        const Body *body = machine->code_list.data[i]->body;
        for (size_t k = 0; k < body->variables.count; k++) {
            const Variable *variable = body->variables.data[k];
            bool found;
            variable_address(machine, variable, &found);
            if (variable->space != SPACE_SHARED || found || !variable_bytes(variable))
                continue;
            uint64_t natural = type_bits(variable->type) / 8 * (variable->vector ? variable->vector : 1);
            uint64_t align = variable->align > natural ? variable->align : natural;
            machine->shared_static = align_up(machine->shared_static, align);
            address_map_set(machine->arena, &machine->variables, variable, machine->shared_static);
            machine->shared_static += variable_bytes(variable);
        }
    }
    /* All arrays without a size begin at the same place. */
    uint64_t align = 16;
    for (unsigned pass = 0; pass < 2; pass++) {
        uint64_t dynamic = align_up(machine->shared_static, align);
        for (size_t i = 0; i < module->items.count; i++) {
            const Variable *variable = module->items.data[i].variable;
            if (module->items.data[i].kind != ITEM_VARIABLE || variable->space != SPACE_SHARED ||
                variable_bytes(variable))
                continue;
            align = variable->align > align ? variable->align : align;
            address_map_set(machine->arena, &machine->variables, variable, dynamic);
        }
        for (size_t i = 0; i < machine->code_list.count; i++) {
            const Body *body = machine->code_list.data[i]->body;
            for (size_t k = 0; k < body->variables.count; k++)
                if (body->variables.data[k]->space == SPACE_SHARED && !variable_bytes(body->variables.data[k]))
                    address_map_set(machine->arena, &machine->variables, body->variables.data[k], dynamic);
        }
        machine->shared_bytes =
            machine->launch->dynamic_shared ? dynamic + machine->launch->dynamic_shared : machine->shared_static;
    }
}

/* Everything up to the first instruction. */
static bool machine_prepare(Machine *machine)
{
    const Function *entry = find_entry(machine->module, machine->launch->kernel);
    if (!entry)
        return fault_static(machine, FAULT_LAUNCH, NULL, NULL, "the module has no kernel %s", machine->launch->kernel);
    if (!launch_check(machine, entry) || !machine_collect(machine, entry) || !memory_prepare(machine))
        return false;
    shared_layout(machine);
    if (machine->shared_bytes > UINT32_C(1) << 24)
        return fault_static(machine, FAULT_LAUNCH, entry, NULL, "more than 16 MiB of shared memory");
    if (machine->options.check_races) {
        uint64_t blocks = (uint64_t)machine->grid[0] * machine->grid[1] * machine->grid[2];
        machine->tick = 1;
        machine->block_fences = machine_alloc(machine, (size_t)blocks, sizeof *machine->block_fences);
    }
    for (size_t i = 0; i < machine->code_list.count; i++) {
        Code *code = machine->code_list.data[i];
        if (!code_decode(machine, code))
            return false;
        if (machine->options.count_lines)
            code->costs = machine_alloc(machine, code->ops.count, sizeof *code->costs);
    }
    return true;
}

static Machine *machine_new(const Module *module, const Launch *launch, EmulatorResult *result,
                            const EmulatorOptions *options)
{
    Arena *scratch = arena_new();
    Machine *machine = ARENA_NEW(scratch, Machine);
    machine->arena = scratch;
    machine->module = module;
    machine->launch = launch;
    machine->result = result;
    if (options)
        machine->options = *options;
    return machine;
}

Machine *machine_new_worker(const Machine *primary)
{
    Machine *machine = machine_new(primary->module, primary->launch, NULL, &primary->options);
    machine->result = ARENA_NEW(machine->arena, EmulatorResult);
    machine->primary = primary;
    machine->next_block = primary->next_block;
    machine->atomics = primary->atomics;
    require(machine_prepare(machine));
    return machine;
}

void machine_end(Machine *machine)
{
    for (size_t i = 0; i < machine->code_list.count; i++)
        if (machine->code_list.data[i]->own_body)
            body_free(machine->code_list.data[i]->body);
    memory_collect(machine);
    arena_free(machine->arena);
}

uint64_t machine_step_limit(const Machine *machine)
{
    return machine->options.max_steps ? machine->options.max_steps : UINT64_C(1) << 36;
}

/* What the caller keeps moves to its arena. */
static void result_keep(Arena *arena, EmulatorResult *result)
{
    EmulatorBuffer *buffers = ARENA_ARRAY(arena, EmulatorBuffer, result->buffer_count);
    for (unsigned i = 0; i < result->buffer_count; i++) {
        buffers[i] = result->buffers[i];
        buffers[i].bytes = arena_alloc(arena, (size_t)buffers[i].size);
        memcpy(buffers[i].bytes, result->buffers[i].bytes, (size_t)buffers[i].size);
    }
    result->buffers = buffers;
    if (result->fault.message)
        result->fault.message = arena_strndup(arena, result->fault.message, strlen(result->fault.message));
}

EmulatorResult *emulator_run(Arena *arena, const Module *module, const Launch *launch, const EmulatorOptions *options)
{
    EmulatorResult *result = ARENA_NEW(arena, EmulatorResult);
    Machine *machine = machine_new(module, launch, result, options);
    bool is_ready = machine_prepare(machine);
    if (is_ready && parallel_possible(machine) && !parallel_run(machine)) {
        machine_end(machine);
        *result = (EmulatorResult){0};
        machine = machine_new(module, launch, result, options);
        machine->options.jobs = 1;
        is_ready = machine_prepare(machine);
    }
    if (is_ready && !machine->ran)
        machine_run(machine);
    counters_collect(machine);
    if (machine->options.count_lines)
        lines_collect(arena, machine);
    result_keep(arena, result);
    machine_end(machine);
    return result;
}

const EmulatorBuffer *emulator_buffer(const EmulatorResult *result, const char *name)
{
    for (unsigned i = 0; i < result->buffer_count; i++)
        if (strcmp(result->buffers[i].name, name) == 0)
            return &result->buffers[i];
    return NULL;
}
