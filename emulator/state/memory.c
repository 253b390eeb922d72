/* Address space: where buffers, module variables and parameters lie, and what they hold when the kernel starts. */
#include "emulator/state/state.h"

#include <stdlib.h>

void *machine_alloc(Machine *machine, size_t count, size_t size)
{
    void *memory = calloc(count ? count : 1, size ? size : 1);
    if (!memory)
        out_of_memory();
    VEC_PUSH(machine->arena, machine->owned, memory);
    return memory;
}

void memory_collect(Machine *machine)
{
    for (size_t i = 0; i < machine->owned.count; i++)
        free(machine->owned.data[i]);
    machine->owned.count = 0;
}

static size_t pointer_slot(const void *key, size_t capacity)
{
    uint64_t hash = (uint64_t)(uintptr_t)key * UINT64_C(0x9e3779b97f4a7c15);
    return (size_t)(hash >> 32) & (capacity - 1);
}

void address_map_set(Arena *arena, AddressMap *map, const void *key, uint64_t value)
{
    if (2 * (map->count + 1) > map->capacity) {
        AddressMap old = *map;
        map->capacity = old.capacity ? 2 * old.capacity : 16;
        map->entries = ARENA_ARRAY(arena, struct AddressMapEntry, map->capacity);
        map->count = 0;
        for (size_t i = 0; i < old.capacity; i++)
            if (old.entries[i].key)
                address_map_set(arena, map, old.entries[i].key, old.entries[i].value);
    }
    size_t at = pointer_slot(key, map->capacity);
    while (map->entries[at].key && map->entries[at].key != key)
        at = (at + 1) & (map->capacity - 1);
    map->count += map->entries[at].key == NULL;
    map->entries[at].key = key;
    map->entries[at].value = value;
}

bool address_map_get(const AddressMap *map, const void *key, uint64_t *value)
{
    if (!map->count)
        return false;
    size_t at = pointer_slot(key, map->capacity);
    while (map->entries[at].key) {
        if (map->entries[at].key == key) {
            *value = map->entries[at].value;
            return true;
        }
        at = (at + 1) & (map->capacity - 1);
    }
    return false;
}

/* ---- Addresses -------------------------------------------------------------------------------------------------- */

uint64_t window_of(Space space)
{
    switch (space) {
    case SPACE_SHARED: return WINDOW_SHARED;
    case SPACE_LOCAL: return WINDOW_LOCAL;
    case SPACE_CONST: return WINDOW_CONST;
    case SPACE_PARAM: return WINDOW_PARAM;
    default: return 0;
    }
}

Space address_space(uint64_t generic, Exec *x)
{
    (void)x;
    switch (generic >> 44) {
    case WINDOW_SHARED >> 44: return SPACE_SHARED;
    case WINDOW_LOCAL >> 44: return SPACE_LOCAL;
    case WINDOW_CONST >> 44: return SPACE_CONST;
    case WINDOW_PARAM >> 44: return SPACE_PARAM;
    default: return SPACE_GLOBAL;
    }
}

static bool region_holds(const Region *region, uint64_t address, uint64_t bytes)
{
    return address >= region->base && address - region->base <= region->size &&
           region->size - (address - region->base) >= bytes;
}

/* The shared memory that an address in the window means. */
static Region *shared_find(Exec *x, uint64_t *address)
{
    uint64_t rank = (*address - WINDOW_SHARED) >> SHARED_RANK_SHIFT;
    if (!rank)
        return &x->block->shared;
    if (rank > x->block->cluster->count)
        return NULL;
    *address -= rank << SHARED_RANK_SHIFT;
    return &x->block->cluster->blocks[rank - 1]->shared;
}

Region *memory_find(Exec *x, uint64_t *at, uint64_t bytes)
{
    uint64_t address = *at;
    Machine *machine = x->machine;
    Region *region = NULL;
    if (address >= GLOBAL_BASE) {
        uint64_t slot = (address - GLOBAL_BASE) >> SLOT_SHIFT;
        region = slot < machine->slot_count ? machine->slots[slot] : NULL;
    } else if (address >> 44 == WINDOW_SHARED >> 44) {
        region = shared_find(x, &address);
    } else if (address >> 44 == WINDOW_CONST >> 44) {
        region = &machine->constants;
    } else if (address >> 44 == WINDOW_PARAM >> 44) {
        region = &machine->params;
    }
    if (!region || !region_holds(region, address, bytes))
        return NULL;
    *at = address;
    return region;
}

uint64_t variable_address(const Machine *machine, const Variable *variable, bool *found)
{
    uint64_t address = 0;
    *found = address_map_get(&machine->variables, variable, &address);
    return address;
}

uint64_t function_address(Machine *machine, const Function *function)
{
    if (function->definition)
        function = function->definition;
    for (size_t i = 0; i < machine->functions.count; i++)
        if (machine->functions.data[i] == function)
            return WINDOW_FUNCTION + 16 * i;
    VEC_PUSH(machine->arena, machine->functions, function);
    return WINDOW_FUNCTION + 16 * (machine->functions.count - 1);
}

const Function *function_at(const Machine *machine, uint64_t address)
{
    uint64_t index = (address - WINDOW_FUNCTION) / 16;
    return address >= WINDOW_FUNCTION && address % 16 == 0 && index < machine->functions.count
               ? machine->functions.data[index]
               : NULL;
}

/* ---- Regions ---------------------------------------------------------------------------------------------------- */

static void region_init(Machine *machine, Region *region, const char *name, Space space, uint64_t base, uint64_t size,
                        bool written)
{
    region->name = name;
    region->space = space;
    region->base = base;
    region->size = size;
    const Region *same =
        machine->primary && space == SPACE_GLOBAL ? machine->primary->slots[machine->slot_count] : NULL;
    region->bytes = same ? same->bytes : machine_alloc(machine, (size_t)size, 1);
    if (same) {
        region->written = same->written;
    } else if (machine->options.check_unwritten) {
        region->written = machine_alloc(machine, (size_t)size, 1);
        memset(region->written, written, (size_t)size);
    }
    race_prepare(machine, region);
    region->watched = machine->options.watch && strcmp(machine->options.watch, name) == 0 && space == SPACE_GLOBAL;
}

Region *region_global(Machine *machine, const char *name, uint64_t size, bool written)
{
    if (machine->slot_count == MAX_SLOTS || size > MAX_REGION) {
        fault_static(machine, FAULT_LAUNCH, NULL, NULL, "too many or too large buffers");
        return NULL;
    }
    Region *region = ARENA_NEW(machine->arena, Region);
    uint64_t base = GLOBAL_BASE + ((uint64_t)machine->slot_count << SLOT_SHIFT) + SLOT_GUARD;
    region_init(machine, region, name, SPACE_GLOBAL, base, size, written);
    machine->slots[machine->slot_count++] = region;
    return region;
}

/* ---- Module variables ------------------------------------------------------------------------------------------- */

static uint64_t element_bytes(const Variable *variable)
{
    uint64_t bytes = (type_bits(variable->type) + 7) / 8;
    return bytes ? bytes : 1;
}

static uint64_t variable_align(const Variable *variable)
{
    uint64_t natural = element_bytes(variable) * (variable->vector ? variable->vector : 1);
    return variable->align > natural ? variable->align : natural;
}

static uint64_t constant_bits(const Constant *constant, Type type)
{
    if (type == TYPE_F32 && constant->kind == CONSTANT_DECIMAL)
        return float_bits((float)double_from_bits(constant->bits));
    if (type == TYPE_F32 && constant->kind == CONSTANT_F64)
        return float_bits((float)double_from_bits(constant->bits));
    if (type == TYPE_F64 && constant->kind == CONSTANT_F32)
        return double_bits(float_from_bits((uint32_t)constant->bits));
    return constant->bits;
}

static uint64_t init_value(Machine *machine, const Variable *variable, const Init *init)
{
    if (init->kind == INIT_CONSTANT)
        return constant_bits(&init->constant, variable->type);
    uint64_t address = 0;
    if (init->symbol.kind == SYMBOL_FUNCTION) {
        address = function_address(machine, init->symbol.function);
    } else if (init->symbol.kind == SYMBOL_VARIABLE) {
        bool found;
        address = variable_address(machine, init->symbol.variable, &found);
        if (init->generic)
            address += window_of(init->symbol.variable->space);
    }
    address += init->constant.bits;
    if (init->masked)
        address = address >> 8 * init->mask_byte & 0xFF;
    return address;
}

/* Braces nest by dimension; a closing one leaves the rest of its part at zero. */
static void variable_fill(Machine *machine, const Variable *variable, uint8_t *bytes, uint64_t size)
{
    uint64_t unit = element_bytes(variable), at = 0, starts[16] = {0};
    unsigned depth = 0;
    for (unsigned i = 0; i < variable->init_count; i++) {
        const Init *init = &variable->inits[i];
        if (init->kind == INIT_OPEN) {
            if (depth < COUNT_OF(starts))
                starts[depth] = at;
            depth++;
        } else if (init->kind == INIT_CLOSE && depth) {
            depth--;
            uint64_t part = unit * (variable->vector ? variable->vector : 1);
            for (unsigned k = depth; k < variable->dim_count; k++)
                part *= variable->dims[k] ? variable->dims[k] : 1;
            if (depth > variable->dim_count)
                part = 0;
            if (depth && depth < COUNT_OF(starts))
                at = starts[depth] + part;
        } else if (init->kind == INIT_CONSTANT || init->kind == INIT_SYMBOL) {
            uint64_t value = init_value(machine, variable, init);
            if (at <= size && size - at >= unit && unit <= 8)
                memcpy(bytes + at, &value, (size_t)unit);
            at += unit;
        }
    }
}

typedef VEC(Variable *) VariableVec;

/* The module's variables, and the static ones of the functions that may run. */
static VariableVec static_variables(Machine *machine)
{
    VariableVec variables = {0};
    const Module *module = machine->module;
    for (size_t i = 0; i < module->items.count; i++)
        if (module->items.data[i].kind == ITEM_VARIABLE)
            VEC_PUSH(machine->arena, variables, module->items.data[i].variable);
    for (size_t i = 0; i < machine->code_list.count; i++) {
        const Body *body = machine->code_list.data[i]->body;
        for (size_t k = 0; k < body->variables.count; k++)
            if (body->variables.data[k]->space == SPACE_GLOBAL || body->variables.data[k]->space == SPACE_CONST)
                VEC_PUSH(machine->arena, variables, body->variables.data[k]);
    }
    return variables;
}

/* What the elements of a variable are taken for where the run's results are told. */
static Type variable_result_type(const Variable *variable)
{
    return type_bits(variable->type) >= 8 ? variable->type : TYPE_B8;
}

static bool variable_place(Machine *machine, const Variable *variable, uint64_t *constant_bytes)
{
    uint64_t size = variable_bytes(variable);
    if (variable->space == SPACE_GLOBAL && type_class(variable->type) != CLASS_OPAQUE) {
        Region *region = region_global(machine, variable->name, size, true);
        if (!region)
            return false;
        address_map_set(machine->arena, &machine->variables, variable, region->base);
        machine->result->buffers[machine->result->buffer_count++] = (EmulatorBuffer){
            .name = variable->name,
            .type = variable_result_type(variable),
            .count = size / (type_bits(variable_result_type(variable)) / 8),
            .bytes = region->bytes,
            .size = size,
            .address = region->base,
            .is_variable = true,
        };
    } else if (variable->space == SPACE_GLOBAL) {
        address_map_set(machine->arena, &machine->variables, variable, image_variable(machine, variable));
    } else if (variable->space == SPACE_CONST) {
        *constant_bytes = align_up(*constant_bytes, variable_align(variable));
        address_map_set(machine->arena, &machine->variables, variable, *constant_bytes);
        *constant_bytes += size;
    } else if (variable->space == SPACE_SHARED && size) {
        machine->shared_static = align_up(machine->shared_static, variable_align(variable));
        address_map_set(machine->arena, &machine->variables, variable, machine->shared_static);
        machine->shared_static += size;
    }
    return true;
}

/* All are placed before any is filled: an initialiser may name a later one. */
static bool variables_prepare(Machine *machine)
{
    VariableVec variables = static_variables(machine);
    uint64_t constant_bytes = 0;
    for (size_t i = 0; i < variables.count; i++)
        if (!variable_place(machine, variables.data[i], &constant_bytes))
            return false;
    region_init(machine, &machine->constants, "constant memory", SPACE_CONST, WINDOW_CONST, constant_bytes, true);
    machine->constants.read_only = true;
    for (size_t i = 0; i < variables.count; i++) {
        const Variable *variable = variables.data[i];
        bool found;
        uint64_t address = variable_address(machine, variable, &found), size = variable_bytes(variable);
        if (!found || !variable->init_count || type_class(variable->type) == CLASS_OPAQUE)
            continue;
        if (variable->space == SPACE_GLOBAL)
            variable_fill(machine, variable, machine->slots[(address - GLOBAL_BASE) >> SLOT_SHIFT]->bytes, size);
        else if (variable->space == SPACE_CONST)
            variable_fill(machine, variable, machine->constants.bytes + address, size);
    }
    return true;
}

/* ---- The launch's buffers and parameters ------------------------------------------------------------------------ */

static bool symbol_fill(Machine *machine, const LaunchArgument *argument)
{
    const Variable *variable = module_find_variable(machine->module, argument->name);
    bool found = false;
    uint64_t address = variable ? variable_address(machine, variable, &found) : 0;
    uint64_t bytes = argument->count * ((type_bits(argument->type) + 7) / 8);
    if (!found || (variable->space != SPACE_GLOBAL && variable->space != SPACE_CONST) ||
        type_class(variable->type) == CLASS_OPAQUE || bytes > variable_bytes(variable))
        return fault_static(machine, FAULT_LAUNCH, NULL, NULL, "no module variable \"%s\" of %llu bytes or more",
                            argument->name, (unsigned long long)bytes);
    uint8_t *to = variable->space == SPACE_GLOBAL ? machine->slots[(address - GLOBAL_BASE) >> SLOT_SHIFT]->bytes
                                                  : machine->constants.bytes + address;
    memcpy(to, launch_fill(machine->arena, argument), (size_t)bytes);
    return true;
}

/* A buffer's memory, filled, and its entry among the results. */
static Region *buffer_make(Machine *machine, const LaunchArgument *argument)
{
    EmulatorResult *result = machine->result;
    uint64_t bytes = argument->count * ((type_bits(argument->type) + 7) / 8);
    Region *region = region_global(machine, argument->name, bytes, argument->fill != FILL_POISON);
    if (!region)
        return NULL;
    if (!machine->primary)
        memcpy(region->bytes, launch_fill(machine->arena, argument), (size_t)bytes);
    result->buffers[result->buffer_count++] = (EmulatorBuffer){
        .name = argument->name,
        .type = argument->type,
        .count = argument->count,
        .bytes = region->bytes,
        .size = bytes,
        .address = region->base,
    };
    return region;
}

/* The memory of an image is its own or that of an earlier argument. */
static bool image_prepare(Machine *machine, const LaunchArgument *argument, uint64_t *handle)
{
    const char *of = argument->image->of;
    Region *region = NULL;
    if (argument->kind == ARGUMENT_SAMPLER) {
        *handle = image_make(machine, argument, NULL);
        return true;
    }
    for (unsigned i = 0; of && i < machine->slot_count; i++)
        if (strcmp(machine->slots[i]->name, of) == 0)
            region = machine->slots[i];
    if (of && (!region || region->size < image_bytes(argument)))
        return fault_static(machine, FAULT_LAUNCH, NULL, NULL, "no earlier buffer \"%s\" of %llu bytes or more", of,
                            (unsigned long long)image_bytes(argument));
    if (!of && !(region = buffer_make(machine, argument)))
        return false;
    *handle = image_make(machine, argument, region);
    return true;
}

/* handles[i]: of argument i, where it is an image. */
static bool buffers_prepare(Machine *machine, uint64_t *handles)
{
    const Launch *launch = machine->launch;
    machine->result->buffers = ARENA_ARRAY(machine->arena, EmulatorBuffer, launch->argument_count + MAX_SLOTS);
    for (unsigned i = 0; i < launch->argument_count; i++) {
        const LaunchArgument *argument = &launch->arguments[i];
        if (argument->image ? !image_prepare(machine, argument, &handles[i])
                            : argument->kind == ARGUMENT_BUFFER && !buffer_make(machine, argument))
            return false;
    }
    return true;
}

static bool parameter_store(Machine *machine, const Variable *parameter, uint64_t at, const LaunchArgument *argument,
                            uint64_t handle)
{
    uint64_t size = variable_bytes(parameter), value;
    const void *bytes = &value;
    uint64_t given = 8;
    if (argument->kind == ARGUMENT_SCALAR) {
        bytes = argument->bytes;
        given = argument->size;
    } else if (argument->image) {
        value = handle;
    } else {
        const EmulatorBuffer *buffer = emulator_buffer(machine->result, argument->name);
        if (!buffer)
            return fault_static(machine, FAULT_LAUNCH, NULL, NULL, "no buffer \"%s\"", argument->name);
        value = buffer->address + (argument->kind == ARGUMENT_POINTER ? argument->offset : 0);
    }
    if (given != size)
        return fault_static(machine, FAULT_LAUNCH, NULL, NULL, "parameter %s takes %llu bytes, the launch gives %llu",
                            parameter->name ? parameter->name : "_", (unsigned long long)size,
                            (unsigned long long)given);
    memcpy(machine->params.bytes + at, bytes, (size_t)size);
    return true;
}

static bool parameters_prepare(Machine *machine, const Function *entry, const uint64_t *handles)
{
    const Prototype *prototype = &entry->prototype;
    const Launch *launch = machine->launch;
    uint64_t *places = ARENA_ARRAY(machine->arena, uint64_t, prototype->param_count), bytes = 0;
    for (unsigned i = 0; i < prototype->param_count; i++) {
        const Variable *parameter = prototype->params[i];
        bytes = align_up(bytes, variable_align(parameter));
        places[i] = bytes;
        address_map_set(machine->arena, &machine->parameters, parameter, bytes);
        bytes += variable_bytes(parameter);
    }
    region_init(machine, &machine->params, "the parameters", SPACE_PARAM, WINDOW_PARAM, bytes, true);
    machine->params.read_only = true;
    unsigned next = 0;
    for (unsigned i = 0; i < launch->argument_count; i++) {
        const LaunchArgument *argument = &launch->arguments[i];
        if (argument->kind == ARGUMENT_SYMBOL) {
            if (!symbol_fill(machine, argument))
                return false;
            continue;
        }
        if (argument->image && argument->image->bind)
            continue;
        if (next == prototype->param_count)
            return fault_static(machine, FAULT_LAUNCH, NULL, NULL, "kernel %s takes %u parameters, the launch has more",
                                entry->name, prototype->param_count);
        if (!parameter_store(machine, prototype->params[next], places[next], argument, handles[i]))
            return false;
        next++;
    }
    if (next < prototype->param_count)
        return fault_static(machine, FAULT_LAUNCH, NULL, NULL, "kernel %s takes %u parameters, the launch has %u",
                            entry->name, prototype->param_count, next);
    return true;
}

bool memory_prepare(Machine *machine)
{
    const Function *entry = machine->entry->function;
    const EmulatorOptions *options = &machine->options;
    machine->tracks_memory = options->check_unwritten || options->check_races || options->watch;
    uint64_t *handles = ARENA_ARRAY(machine->arena, uint64_t, machine->launch->argument_count);
    return buffers_prepare(machine, handles) && variables_prepare(machine) &&
           parameters_prepare(machine, entry, handles);
}
