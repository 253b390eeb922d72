/* The module's and functions' variables: their addresses and initial values. */
#include "emulator/state/state.h"

static uint64_t element_bytes(const Variable *variable)
{
    uint64_t bytes = (type_bits(variable->type) + 7) / 8;
    return bytes ? bytes : 1;
}

uint64_t variable_align(const Variable *variable)
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

static uint64_t init_value(Emulator *emulator, const Variable *variable, const Init *init)
{
    if (init->kind == INIT_CONSTANT)
        return constant_bits(&init->constant, variable->type);
    uint64_t address = 0;
    if (init->symbol.kind == SYMBOL_FUNCTION) {
        address = function_address(emulator, init->symbol.function);
    } else if (init->symbol.kind == SYMBOL_VARIABLE) {
        bool found;
        address = variable_address(emulator, init->symbol.variable, &found);
        if (init->generic)
            address += window_of(init->symbol.variable->space);
    }
    address += init->constant.bits;
    if (init->masked)
        address = address >> 8 * init->mask_byte & 0xFF;
    return address;
}

/* Braces nest by dimension. A closing brace leaves the rest of its dimension zero. */
static void variable_fill(Emulator *emulator, const Variable *variable, uint8_t *bytes, uint64_t size)
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
        } else if (init->kind == INIT_NUMBERS) {
            for (unsigned k = 0; k < init->number_count; k++, at += unit)
                if (at <= size && size - at >= unit && unit <= 8)
                    memcpy(bytes + at, &init->numbers[k], (size_t)unit);
        } else if (init->kind == INIT_CONSTANT || init->kind == INIT_SYMBOL) {
            uint64_t value = init_value(emulator, variable, init);
            if (at <= size && size - at >= unit && unit <= 8)
                memcpy(bytes + at, &value, (size_t)unit);
            at += unit;
        }
    }
}

typedef VEC(Variable *) VariableVec;

/* The module's variables, and the global and constant variables of the functions that may run. */
static VariableVec static_variables(Emulator *emulator)
{
    VariableVec variables = {0};
    const Module *module = emulator->module;
    for (size_t i = 0; i < module->items.count; i++)
        if (module->items.data[i].kind == ITEM_VARIABLE)
            VEC_PUSH(emulator->arena, variables, module->items.data[i].variable);
    for (size_t i = 0; i < emulator->code_list.count; i++) {
        const Body *body = emulator->code_list.data[i]->body;
        for (size_t k = 0; k < body->variables.count; k++)
            if (body->variables.data[k]->space == SPACE_GLOBAL || body->variables.data[k]->space == SPACE_CONST)
                VEC_PUSH(emulator->arena, variables, body->variables.data[k]);
    }
    return variables;
}

/* The element type under which a run's results report a variable. */
static Type variable_result_type(const Variable *variable)
{
    return type_bits(variable->type) >= 8 ? variable->type : TYPE_B8;
}

static bool variable_place(Emulator *emulator, const Variable *variable, uint64_t *constant_bytes)
{
    uint64_t size = variable_bytes(variable);
    const EmulatorMemory *placed = pointer_map_get(&emulator->placed, variable);
    if (placed && variable->space == SPACE_GLOBAL) {
        map_put(&emulator->variables, pointer_key(variable), placed->address);
    } else if (variable->space == SPACE_GLOBAL && type_class(variable->type) != CLASS_OPAQUE) {
        Region *region = region_global(emulator, variable->name, size, true, NULL);
        if (!region)
            return false;
        map_put(&emulator->variables, pointer_key(variable), region->base);
        emulator->result->buffers[emulator->result->buffer_count++] = (EmulatorBuffer){
            .name = variable->name,
            .type = variable_result_type(variable),
            .count = size / (type_bits(variable_result_type(variable)) / 8),
            .bytes = region->bytes,
            .size = size,
            .address = region->base,
            .is_variable = true,
        };
    } else if (variable->space == SPACE_GLOBAL) {
        map_put(&emulator->variables, pointer_key(variable), image_variable(emulator, variable));
    } else if (variable->space == SPACE_CONST) {
        *constant_bytes = align_up(*constant_bytes, variable_align(variable));
        map_put(&emulator->variables, pointer_key(variable), *constant_bytes);
        *constant_bytes += size;
    } else if (variable->space == SPACE_SHARED && size) {
        emulator->shared_static = align_up(emulator->shared_static, variable_align(variable));
        map_put(&emulator->variables, pointer_key(variable), emulator->shared_static);
        emulator->shared_static += size;
    }
    return true;
}

/* A variable that is in the device's memory is filled when its module is loaded. A launch copies it to constant memory,
 * which no kernel writes. */
static void placed_fill(Emulator *emulator, const Variable *variable, const EmulatorMemory *placed, uint64_t address)
{
    if (emulator->is_loading)
        variable_fill(emulator, variable, placed->bytes, placed->size);
    else if (variable->space == SPACE_CONST)
        memcpy(emulator->constants.bytes + address, placed->bytes, (size_t)placed->size);
}

/* All variables are placed before any is filled, because an initialiser may name a later one. */
bool variables_prepare(Emulator *emulator)
{
    VariableVec variables = static_variables(emulator);
    uint64_t constant_bytes = 0;
    for (size_t i = 0; i < variables.count; i++)
        if (!variable_place(emulator, variables.data[i], &constant_bytes))
            return false;
    region_init(emulator, &emulator->constants, "constant memory", SPACE_CONST, WINDOW_CONST, constant_bytes, true);
    for (size_t i = 0; i < variables.count; i++) {
        const Variable *variable = variables.data[i];
        const EmulatorMemory *placed = pointer_map_get(&emulator->placed, variable);
        bool found;
        uint64_t address = variable_address(emulator, variable, &found), size = variable_bytes(variable);
        if (placed) {
            placed_fill(emulator, variable, placed, address);
            continue;
        }
        if (!found || !variable->init_count || type_class(variable->type) == CLASS_OPAQUE)
            continue;
        if (variable->space == SPACE_GLOBAL)
            variable_fill(emulator, variable, emulator->slots[(address - GLOBAL_BASE) >> SLOT_SHIFT]->bytes, size);
        else if (variable->space == SPACE_CONST)
            variable_fill(emulator, variable, emulator->constants.bytes + address, size);
    }
    return true;
}

/* Places the shared variables of functions after those of the module, then the launch's dynamic shared memory. */
void shared_layout(Emulator *emulator)
{
    const Module *module = emulator->module;
    for (size_t i = 0; i < emulator->code_list.count; i++) {
        const Body *body = emulator->code_list.data[i]->body;
        for (size_t k = 0; k < body->variables.count; k++) {
            const Variable *variable = body->variables.data[k];
            bool found;
            variable_address(emulator, variable, &found);
            if (variable->space != SPACE_SHARED || found || !variable_bytes(variable))
                continue;
            emulator->shared_static = align_up(emulator->shared_static, variable_align(variable));
            map_put(&emulator->variables, pointer_key(variable), emulator->shared_static);
            emulator->shared_static += variable_bytes(variable);
        }
    }
    /* All arrays without a size begin at the same address. The second pass applies the largest alignment. */
    uint64_t align = 16;
    for (unsigned pass = 0; pass < 2; pass++) {
        uint64_t dynamic = align_up(emulator->shared_static, align);
        for (size_t i = 0; i < module->items.count; i++) {
            const Variable *variable = module->items.data[i].variable;
            if (module->items.data[i].kind != ITEM_VARIABLE || variable->space != SPACE_SHARED ||
                variable_bytes(variable))
                continue;
            align = variable->align > align ? variable->align : align;
            map_put(&emulator->variables, pointer_key(variable), dynamic);
        }
        for (size_t i = 0; i < emulator->code_list.count; i++) {
            const Body *body = emulator->code_list.data[i]->body;
            for (size_t k = 0; k < body->variables.count; k++)
                if (body->variables.data[k]->space == SPACE_SHARED && !variable_bytes(body->variables.data[k]))
                    map_put(&emulator->variables, pointer_key(body->variables.data[k]), dynamic);
        }
        emulator->shared_bytes =
            emulator->launch->dynamic_shared ? dynamic + emulator->launch->dynamic_shared : emulator->shared_static;
    }
}
