/* Whole runs, and the comparison of two. */
#include "emulator/simt.h"

#include <math.h>

/* ---- Running ---------------------------------------------------------------------------------------------------- */

static uint64_t align_up(uint64_t value, uint64_t align)
{
    return align > 1 ? (value + align - 1) / align * align : value;
}

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

static void counters_collect(Machine *machine)
{
    EmulatorCounters *counters = &machine->result->counters;
    for (size_t i = 0; i < machine->code_list.count; i++) {
        const Code *code = machine->code_list.data[i];
        for (size_t k = 0; code->executed && k < code->ops.count; k++) {
            const Op *op = &code->ops.data[k];
            if (!op->first)
                continue;
            counters->warp_instructions += code->executed[k];
            counters->thread_instructions += code->threads[k];
            counters->warp_category[op->category] += code->executed[k];
            counters->thread_category[op->category] += code->threads[k];
        }
    }
}

static bool machine_execute(Machine *machine)
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
        machine->block_fences = machine_alloc(machine, (size_t)blocks, sizeof *machine->block_fences);
    }
    for (size_t i = 0; i < machine->code_list.count; i++)
        if (!code_decode(machine, machine->code_list.data[i]))
            return false;
    return machine_run(machine);
}

EmulatorResult *emulator_run(Arena *arena, const Module *module, const Launch *launch, const EmulatorOptions *options)
{
    EmulatorResult *result = ARENA_NEW(arena, EmulatorResult);
    Arena *scratch = arena_new();
    Machine *machine = ARENA_NEW(scratch, Machine);
    machine->arena = scratch;
    machine->module = module;
    machine->launch = launch;
    machine->result = result;
    if (options)
        machine->options = *options;
    machine_execute(machine);
    counters_collect(machine);
    /* What the caller keeps moves to its arena. */
    EmulatorBuffer *buffers = ARENA_ARRAY(arena, EmulatorBuffer, result->buffer_count);
    for (unsigned i = 0; i < result->buffer_count; i++) {
        buffers[i] = result->buffers[i];
        buffers[i].bytes = arena_alloc(arena, (size_t)buffers[i].size);
        memcpy(buffers[i].bytes, result->buffers[i].bytes, (size_t)buffers[i].size);
    }
    result->buffers = buffers;
    if (result->fault.message)
        result->fault.message = arena_strndup(arena, result->fault.message, strlen(result->fault.message));
    for (size_t i = 0; i < machine->code_list.count; i++)
        if (machine->code_list.data[i]->own_body)
            body_free(machine->code_list.data[i]->body);
    memory_collect(machine);
    arena_free(scratch);
    return result;
}

const EmulatorBuffer *emulator_buffer(const EmulatorResult *result, const char *name)
{
    for (unsigned i = 0; i < result->buffer_count; i++)
        if (strcmp(result->buffers[i].name, name) == 0)
            return &result->buffers[i];
    return NULL;
}

void emulator_print_counters(const EmulatorCounters *counters, FILE *out)
{
    static const char *const categories[CATEGORY_COUNT] = {
        "int",        "float",  "half", "bf16",    "compare", "logic",      "move",
        "memory",     "atomic", "sync", "control", "texture", "surface",    "video",
        "simd-video", "wmma",   "mma",  "wgmma",   "tcgen05", "async-copy", "misc"};
    fprintf(out, "instructions: %llu warp, %llu thread\n", (unsigned long long)counters->warp_instructions,
            (unsigned long long)counters->thread_instructions);
    for (unsigned i = 0; i < CATEGORY_COUNT; i++)
        if (counters->warp_category[i])
            fprintf(out, "  %-10s %llu warp, %llu thread\n", categories[i],
                    (unsigned long long)counters->warp_category[i], (unsigned long long)counters->thread_category[i]);
    for (unsigned i = 0; i < SPACE_COUNT; i++)
        if (counters->loads[i] || counters->stores[i] || counters->atomics[i])
            fprintf(out, "%s: %llu loads of %llu bytes, %llu stores of %llu bytes, %llu atomics\n",
                    space_name((Space)i), (unsigned long long)counters->loads[i],
                    (unsigned long long)counters->load_bytes[i], (unsigned long long)counters->stores[i],
                    (unsigned long long)counters->store_bytes[i], (unsigned long long)counters->atomics[i]);
    fprintf(out, "branches: %llu, divergent: %llu; barriers: %llu; calls: %llu\n",
            (unsigned long long)counters->branches, (unsigned long long)counters->divergent_branches,
            (unsigned long long)counters->barriers, (unsigned long long)counters->calls);
    if (counters->load_sectors || counters->store_sectors || counters->bank_conflicts)
        fprintf(out, "sectors: %llu loaded, %llu stored; lines: %llu loaded, %llu stored; bank conflicts: %llu\n",
                (unsigned long long)counters->load_sectors, (unsigned long long)counters->store_sectors,
                (unsigned long long)counters->load_lines, (unsigned long long)counters->store_lines,
                (unsigned long long)counters->bank_conflicts);
}

/* ---- Comparing -------------------------------------------------------------------------------------------------- */

static double element_value(Type type, const uint8_t *bytes)
{
    uint64_t bits = 0;
    unsigned size = type_bits(type) / 8;
    memcpy(&bits, bytes, size < 8 ? size : 8);
    switch (type) {
    case TYPE_F32:
    case TYPE_TF32: return float_from_bits((uint32_t)bits);
    case TYPE_F64: return double_from_bits(bits);
    case TYPE_F16: return format_decode(&FORMAT_F16, (uint32_t)bits);
    case TYPE_BF16: return format_decode(&FORMAT_BF16, (uint32_t)bits);
    default: return type_class(type) == CLASS_SIGNED ? (double)sign_extend(bits, 8 * size) : (double)bits;
    }
}

uint64_t elements_difference(Type type, const void *expected, const void *actual, uint64_t count, Tolerance tolerance)
{
    unsigned size = type_bits(type) / 8;
    const uint8_t *a = expected, *b = actual;
    for (uint64_t i = 0; i < count; i++, a += size, b += size) {
        if (memcmp(a, b, size) == 0)
            continue;
        if (tolerance.kind == TOLERANCE_EXACT)
            return i;
        double x = element_value(type, b), y = element_value(type, a);
        bool both_nan = x != x && y != y;
        if (!both_nan && x != y && !(fabs(x - y) <= tolerance.absolute + tolerance.relative * fabs(y)))
            return i;
    }
    return UINT64_MAX;
}

static bool is_checked(const Launch *launch, const char *name)
{
    for (unsigned i = 0; i < launch->check_count; i++)
        if (strcmp(launch->check[i], name) == 0)
            return true;
    return !launch->check_count;
}

const char *emulator_difference(Arena *arena, const Launch *launch, const EmulatorResult *expected,
                                const EmulatorResult *actual, Tolerance tolerance)
{
    for (unsigned i = 0; i < expected->buffer_count; i++) {
        const EmulatorBuffer *a = &expected->buffers[i], *b = emulator_buffer(actual, a->name);
        if (!is_checked(launch, a->name))
            continue;
        if (!b || b->size != a->size)
            return arena_printf(arena, "buffer %s is missing", a->name);
        uint64_t at = elements_difference(a->type, a->bytes, b->bytes, a->count, tolerance);
        if (at == UINT64_MAX)
            continue;
        unsigned size = type_bits(a->type) / 8;
        uint64_t x = 0, y = 0;
        memcpy(&x, a->bytes + at * size, size < 8 ? size : 8);
        memcpy(&y, b->bytes + at * size, size < 8 ? size : 8);
        return arena_printf(arena, "%s[%llu] is 0x%llx (%g), expected 0x%llx (%g)", a->name, (unsigned long long)at,
                            (unsigned long long)y, element_value(a->type, b->bytes + at * size), (unsigned long long)x,
                            element_value(a->type, a->bytes + at * size));
    }
    return NULL;
}

/* Says that a launch does not fulfil the contract; NULL if it does. */
static const char *undivided(Arena *arena, const unsigned size[3], const unsigned factor[3], const char *what)
{
    for (unsigned i = 0; i < 3 && factor; i++)
        if (factor[i] > 1 && (size[i] ? size[i] : 1) % factor[i])
            return arena_printf(arena, "the %s has %u along %c, which is no multiple of %u", what,
                                size[i] ? size[i] : 1, "xyz"[i], factor[i]);
    return NULL;
}

EmulatorComparison *emulator_compare(Arena *arena, const Module *original, const Module *changed, const char *kernel,
                                     const Launch *launch, const unsigned block_factor[3],
                                     const unsigned grid_factor[3], const EmulatorOptions *options)
{
    EmulatorComparison *comparison = ARENA_NEW(arena, EmulatorComparison);
    Launch first = *launch;
    if (kernel)
        first.kernel = kernel;
    comparison->message = undivided(arena, launch->block, block_factor, "block");
    if (!comparison->message)
        comparison->message = undivided(arena, launch->grid, grid_factor, "grid");
    if (comparison->message)
        return comparison;
    Launch *second = launch_divide(arena, &first, block_factor, grid_factor);
    comparison->original = emulator_run(arena, original, &first, options);
    comparison->changed = emulator_run(arena, changed, second, options);
    if (comparison->original->fault.kind != FAULT_NONE)
        comparison->message = fault_text(arena, original, &comparison->original->fault);
    else if (comparison->changed->fault.kind != FAULT_NONE)
        comparison->message = fault_text(arena, changed, &comparison->changed->fault);
    else
        comparison->message =
            emulator_difference(arena, &first, comparison->original, comparison->changed, first.tolerance);
    comparison->equal = comparison->message == NULL;
    return comparison;
}
