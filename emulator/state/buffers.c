/* The buffers and parameters of a launch. */
#include "emulator/state/state.h"

static bool symbol_fill(Emulator *emulator, const LaunchArgument *argument)
{
    const Variable *variable = module_find_variable(emulator->module, argument->name);
    bool found = false;
    uint64_t address = variable ? variable_address(emulator, variable, &found) : 0;
    uint64_t bytes = argument->count * ((type_bits(argument->type) + 7) / 8);
    if (!found || (variable->space != SPACE_GLOBAL && variable->space != SPACE_CONST) ||
        type_class(variable->type) == CLASS_OPAQUE || bytes > variable_bytes(variable))
        return fault_launch(emulator, argument->place, NULL,
                            "the module has no variable \"%s\" of at least %llu byte%s", argument->name,
                            (unsigned long long)bytes, plural(bytes));
    uint8_t *to = variable->space == SPACE_GLOBAL ? emulator->slots[(address - GLOBAL_BASE) >> SLOT_SHIFT]->bytes
                                                  : emulator->constants.bytes + address;
    memset(to, 0, (size_t)bytes); /* in place of the variable's own value */
    launch_fill_into(to, argument);
    return true;
}

/* Makes a buffer, fills it and adds it to the results. */
static Region *buffer_make(Emulator *emulator, const LaunchArgument *argument)
{
    EmulatorResult *result = emulator->result;
    uint64_t bytes = argument->count * ((type_bits(argument->type) + 7) / 8);
    const bool all_written = argument->fill != FILL_POISON && !argument->written;
    uint8_t *filled = contents_map(emulator, argument, bytes);
    Region *region = region_global(emulator, argument->name, bytes, all_written, filled);
    if (!region)
        return NULL;
    if (!emulator->primary && region->written && argument->written)
        memcpy(region->written, argument->written, (size_t)bytes);
    if (!emulator->primary && !filled)
        launch_fill_into(region->bytes, argument);
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

/* An image owns its memory or uses that of an earlier argument. */
static bool image_prepare(Emulator *emulator, const LaunchArgument *argument, uint64_t *handle)
{
    const char *of = argument->image->of;
    Region *region = NULL;
    if (argument->kind == ARGUMENT_SAMPLER) {
        *handle = image_make(emulator, argument, NULL);
        return true;
    }
    for (unsigned i = 0; of && i < emulator->slot_count; i++)
        if (strcmp(emulator->slots[i]->name, of) == 0)
            region = emulator->slots[i];
    if (of && (!region || region->size < image_bytes(argument)))
        return fault_launch(emulator, argument->place, NULL, "no earlier buffer \"%s\" of at least %llu byte%s", of,
                            (unsigned long long)image_bytes(argument), plural(image_bytes(argument)));
    if (!of && !(region = buffer_make(emulator, argument)))
        return false;
    *handle = image_make(emulator, argument, region);
    return true;
}

/* If argument i is an image, handles[i] becomes its handle. */
static bool buffers_prepare(Emulator *emulator, uint64_t *handles)
{
    const Launch *launch = emulator->launch;
    emulator->result->buffers = ARENA_ARRAY(emulator->arena, EmulatorBuffer, launch->argument_count + MAX_SLOTS);
    for (unsigned i = 0; i < launch->argument_count; i++) {
        const LaunchArgument *argument = &launch->arguments[i];
        if (argument->image ? !image_prepare(emulator, argument, &handles[i])
                            : argument->kind == ARGUMENT_BUFFER && !buffer_make(emulator, argument))
            return false;
    }
    return true;
}

static bool parameter_store(Emulator *emulator, const Variable *parameter, uint64_t at, const LaunchArgument *argument,
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
        const EmulatorBuffer *buffer = emulator_buffer(emulator->result, argument->name);
        if (!buffer)
            return fault_launch(emulator, argument->place, NULL, "the launch has no buffer \"%s\"", argument->name);
        value = buffer->address + (argument->kind == ARGUMENT_POINTER ? argument->offset : 0);
    }
    if (argument->kind != ARGUMENT_SCALAR && size == sizeof(uint32_t) && emulator->module->address_size != 64)
        return fault_static(emulator, FAULT_UNSUPPORTED, NULL, NULL, "addresses of 32 bits, which parameter %s has",
                            parameter->name ? parameter->name : "_");
    if (given != size)
        return fault_launch(emulator, argument->place, NULL, "parameter %s has %llu byte%s, but the launch gives %llu",
                            parameter->name ? parameter->name : "_", (unsigned long long)size, plural(size),
                            (unsigned long long)given);
    memcpy(emulator->params.bytes + at, bytes, (size_t)size);
    return true;
}

static bool parameters_prepare(Emulator *emulator, const Function *entry, const uint64_t *handles)
{
    const Prototype *prototype = &entry->prototype;
    const Launch *launch = emulator->launch;
    uint64_t *places = ARENA_ARRAY(emulator->arena, uint64_t, prototype->param_count), bytes = 0;
    for (unsigned i = 0; i < prototype->param_count; i++) {
        const Variable *parameter = prototype->params[i];
        bytes = align_up(bytes, variable_align(parameter));
        places[i] = bytes;
        map_put(&emulator->parameters, pointer_key(parameter), bytes);
        bytes += variable_bytes(parameter);
    }
    region_init(emulator, &emulator->params, "the parameters", SPACE_PARAM, WINDOW_PARAM, bytes, true);
    unsigned next = 0;
    for (unsigned i = 0; i < launch->argument_count; i++) {
        const LaunchArgument *argument = &launch->arguments[i];
        if (argument->kind == ARGUMENT_SYMBOL) {
            if (!symbol_fill(emulator, argument))
                return false;
            continue;
        }
        if (argument->image && argument->image->bind)
            continue;
        if (next == prototype->param_count)
            return fault_launch(emulator, argument->place, NULL,
                                "kernel %s has %u parameter%s, but the launch gives more", entry->name,
                                prototype->param_count, plural(prototype->param_count));
        if (!parameter_store(emulator, prototype->params[next], places[next], argument, handles[i]))
            return false;
        next++;
    }
    if (next < prototype->param_count)
        return fault_launch(emulator, launch->places.args, NULL,
                            "kernel %s has %u parameter%s, but the launch gives %u", entry->name,
                            prototype->param_count, plural(prototype->param_count), next);
    return true;
}

bool memory_prepare(Emulator *emulator)
{
    const Function *entry = emulator->entry->function;
    const EmulatorOptions *options = &emulator->options;
    emulator->tracks_memory = options->check_unwritten || options->check_races || options->watch;
    uint64_t *handles = ARENA_ARRAY(emulator->arena, uint64_t, emulator->launch->argument_count);
    device_prepare(emulator);
    return buffers_prepare(emulator, handles) && variables_prepare(emulator) &&
           parameters_prepare(emulator, entry, handles);
}

const EmulatorBuffer *emulator_buffer(const EmulatorResult *result, const char *name)
{
    for (unsigned i = 0; i < result->buffer_count; i++)
        if (strcmp(result->buffers[i].name, name) == 0)
            return &result->buffers[i];
    return NULL;
}
