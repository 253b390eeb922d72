/* Random launches, and those of launch files. Each pointer gets memory of its own; addresses are such that carries into
 * the upper word happen. */
#include "machine/input.h"

#include "emulator/semantics/numbers.h"

enum { BUFFER_BYTES = 1 << 15, HEAP_BYTES = 1 << 16, SPACING_SHIFT = 33, LEAST_PIECES = 4 };
#define FIRST_ADDRESS UINT64_C(0x10ffffc000)
#define DYNAMIC_SHARED 8192

typedef VEC(EmulatorMemory) MemoryVec;

typedef struct Maker {
    Arena *arena;
    const Module *module;
    const Function *kernel;
    Random random;
    MemoryVec memories;
    uint8_t *parameters;
    size_t parameter_bytes;
} Maker;

static EmulatorMemory *add_memory(Maker *maker, const char *name, uint64_t size, const Variable *variable)
{
    EmulatorMemory memory = {.name = name,
                             .address = FIRST_ADDRESS + ((uint64_t)maker->memories.count << SPACING_SHIFT),
                             .size = size,
                             .bytes = memset(arena_alloc(maker->arena, size + 1), 0, size + 1),
                             .variable = variable};
    VEC_PUSH(maker->arena, maker->memories, memory);
    return &VEC_LAST(maker->memories);
}

static uint32_t choose(Random *random, const uint32_t *values, unsigned count)
{
    return values[random_below(random, count)];
}

static uint32_t random_float(Random *random)
{
    static const uint32_t special[] = {0,          0x80000000, 0x3f800000, 0xbf800000, 0x7f800000, 0xff800000,
                                       0x7fc00000, 0x7fffffff, 0x00000001, 0x807fffff, 0x00800000, 0x7f7fffff,
                                       0x40000000, 0x3f000000, 0x4f000000, 0x5f000000};
    const uint64_t bits = random_next(random);
    if (random_below(random, 8) == 0)
        return choose(random, special, COUNT_OF(special));
    const uint32_t exponent = 127 - 12 + random_below(random, 24);
    return (uint32_t)(bits & 0x807fffff) | exponent << 23;
}

static uint32_t random_integer(Random *random)
{
    static const uint32_t special[] = {0, 1, 2, 31, 32, 33, 63, 64, 0xff, 0xffff, 0x7fffffff, 0x80000000, 0x80000001,
                                       0xffffffff, 0xfffffffe, 0x00800000, 0xffff0000,
                                       0x00008000, 0x00007fff, 0x80008000, 0xffff8000, 0x80, 0xffffff80};
    switch (random_below(random, 4)) {
    case 0: return choose(random, special, COUNT_OF(special));
    case 1: return random_below(random, 64);
    case 2: return (uint32_t)(random_next(random) >> (32 + random_below(random, 32)));
    default: return (uint32_t)random_next(random);
    }
}

/* Fills memory: with integers, numbers in a small range, f32, f64 or f16. */
static void fill(Random *random, uint8_t *bytes, uint64_t size)
{
    const unsigned kind = random_below(random, 8);
    for (uint64_t at = 0; at + 8 <= size; at += 8) {
        uint32_t words[2] = {random_integer(random), random_integer(random)};
        if (kind == 1 || kind == 2) {
            words[0] = random_float(random);
            words[1] = random_float(random);
        } else if (kind == 3) {
            const uint64_t bits = double_bits(float_from_bits(random_float(random)));
            memcpy(words, &bits, 8);
            words[0] = (uint32_t)random_next(random);
        } else if (kind == 4) {
            words[0] = random_below(random, 32);
            words[1] = random_below(random, 32);
        } else if (kind == 5) {
            words[0] &= 0x3fff3fff;
            words[1] = (words[1] & 0x83ff83ff) | 0x38003c00;
        }
        memcpy(bytes + at, words, 8);
    }
}

static uint64_t element_bytes(const Variable *variable)
{
    const uint64_t bytes = (type_bits(variable->type) + 7) / 8;
    return bytes ? bytes : 1;
}

static uint64_t align_of(const Variable *variable)
{
    const uint64_t natural = element_bytes(variable) * (variable->vector ? variable->vector : 1);
    return variable->align > natural ? variable->align : natural;
}

/* The module's variables in global memory, with their initial values. */
static void add_variables(Maker *maker)
{
    for (size_t i = 0; i < maker->module->items.count; i++) {
        const Item *item = &maker->module->items.data[i];
        if (item->kind == ITEM_VARIABLE && item->variable->space == SPACE_GLOBAL &&
            type_class(item->variable->type) != CLASS_OPAQUE && variable_bytes(item->variable))
            add_memory(maker, item->variable->name, variable_bytes(item->variable), item->variable);
    }
}

/* Reserves the bytes of all parameters; returns the offset of each. */
static uint64_t *lay_out(Maker *maker)
{
    const Prototype *prototype = &maker->kernel->prototype;
    uint64_t *places = ARENA_ARRAY(maker->arena, uint64_t, prototype->param_count + 1), at = 0;
    for (unsigned i = 0; i < prototype->param_count; i++) {
        places[i] = align_up(at, align_of(prototype->params[i]));
        at = places[i] + variable_bytes(prototype->params[i]);
    }
    maker->parameters = memset(arena_alloc(maker->arena, at + 8), 0, at + 8);
    maker->parameter_bytes = at;
    return places;
}

/* The address of new memory with random contents. */
static uint64_t random_pointer(Maker *maker, const char *name)
{
    EmulatorMemory *memory = add_memory(maker, name, BUFFER_BYTES, NULL);
    fill(&maker->random, memory->bytes, memory->size);
    return memory->address;
}

/* A number such as a kernel expects: nearly always a small one. */
static uint32_t random_size(Random *random)
{
    switch (random_below(random, 8)) {
    case 0: return random_integer(random);
    case 1: return UINT32_C(1) << random_below(random, 10);
    default: return random_below(random, 40);
    }
}

static void random_parameter(Maker *maker, const Variable *parameter, uint8_t *to)
{
    const uint64_t size = variable_bytes(parameter);
    const bool is_float = type_class(parameter->type) == CLASS_FLOAT;
    uint64_t value = is_float ? random_float(&maker->random) : random_size(&maker->random);
    if (is_float && type_bits(parameter->type) == 64)
        value = double_bits(float_from_bits((uint32_t)value));
    if (is_float && type_bits(parameter->type) == 16)
        value = format_encode(&FORMAT_F16, float_from_bits((uint32_t)value), ROUND_NEAREST_EVEN, false);
    if (!parameter->is_array && size == 8 && !is_float)
        value = parameter->is_ptr || random_below(&maker->random, 16)
                    ? random_pointer(maker, parameter->name)
                    : (uint64_t)(int64_t)(int32_t)random_size(&maker->random);
    memcpy(to, &value, size < 8 ? size : 8);
    for (uint64_t at = 0; parameter->is_array && at < size; at += 4) {
        value = random_size(&maker->random);
        if (at % 8 == 0 && at + 8 <= size && maker->memories.count < 64 && random_below(&maker->random, 2)) {
            value = random_pointer(maker, parameter->name);
            memcpy(to + at, &value, 8);
            at += 4;
        } else {
            memcpy(to + at, &value, size - at < 4 ? size - at : 4);
        }
    }
}

/* A block size within what the kernel declares; every third input is of one thread, for kernels whose threads would
 * race. */
static void random_shape(Maker *maker, Launch *launch, bool is_single)
{
    static const unsigned blocks[][3] = {{32, 1, 1}, {64, 1, 1}, {8, 4, 1}, {1, 1, 1}, {4, 4, 2}, {40, 1, 1}};
    const Tuning *tuning = &maker->kernel->tuning;
    const unsigned *block = blocks[random_below(&maker->random, COUNT_OF(blocks))];
    unsigned most = 1024;
    for (unsigned i = 0; i < 3 && tuning->maxntid_count; i++)
        most = i ? most * (i < tuning->maxntid_count ? tuning->maxntid[i] : 1) : tuning->maxntid[0];
    for (unsigned i = 0; i < 3; i++) {
        launch->block[i] = most < 64 || is_single ? 1 : block[i];
        if (tuning->reqntid_count)
            launch->block[i] = i < tuning->reqntid_count ? tuning->reqntid[i] : 1;
        launch->grid[i] = is_single ? 1 : 1 + random_below(&maker->random, i == 2 ? 1 : 3);
    }
}

/* Both launches of an input, from what the maker has. */
static void complete(Maker *maker, Input *input)
{
    if (module_find_function(maker->module, "malloc")) {
        const EmulatorMemory *heap = add_memory(maker, "the heap", HEAP_BYTES, NULL);
        input->heap = (EmulatorHeap){.address = heap->address, .size = heap->size};
        input->device.heap = &input->heap;
    }
    input->count = maker->memories.count;
    input->expected = maker->memories.data;
    input->device.memories = input->expected;
    input->device.memory_count = input->count;
    input->launch.device = &input->device;
    if (input->count)
        emulator_load(maker->module, &input->device);
}

/* Copies the memory, once it is filled, for the machine code. */
static void copy_memory(Maker *maker, Input *input)
{
    input->actual = ARENA_ARRAY(maker->arena, EmulatorMemory, input->count + 1);
    for (size_t i = 0; i < input->count; i++) {
        input->actual[i] = input->expected[i];
        input->actual[i].bytes = arena_alloc(maker->arena, input->expected[i].size + 1);
        memcpy(input->actual[i].bytes, input->expected[i].bytes, (size_t)input->expected[i].size);
    }
    input->machine = (MachineLaunch){.dynamic_shared = input->launch.dynamic_shared,
                                     .parameters = maker->parameters,
                                     .parameter_bytes = maker->parameter_bytes,
                                     .memories = input->actual,
                                     .memory_count = input->count,
                                     .heap = input->heap.address,
                                     .heap_size = input->heap.size};
    memcpy(input->machine.grid, input->launch.grid, sizeof input->machine.grid);
    memcpy(input->machine.block, input->launch.block, sizeof input->machine.block);
}

/* The kernel's parameters as arguments of the launch. */
static void set_arguments(Maker *maker, Input *input, const uint64_t *places)
{
    const Prototype *prototype = &maker->kernel->prototype;
    LaunchArgument *arguments = ARENA_ARRAY(maker->arena, LaunchArgument, prototype->param_count + 1);
    for (unsigned i = 0; i < prototype->param_count; i++) {
        const uint64_t size = variable_bytes(prototype->params[i]);
        arguments[i] = (LaunchArgument){.kind = ARGUMENT_SCALAR, .type = TYPE_B8, .count = size, .size = size,
                                        .bytes = maker->parameters + places[i]};
    }
    input->launch.arguments = arguments;
    input->launch.argument_count = prototype->param_count;
}

Input *input_random(Arena *arena, const Module *module, const Function *kernel, uint64_t seed, unsigned number)
{
    Input *input = ARENA_NEW(arena, Input);
    Maker maker = {.arena = arena, .module = module, .kernel = kernel,
                   .random = {seed * UINT64_C(0x9e3779b97f4a7c15) + number}};
    *input = (Input){.launch = {.kernel = kernel->name, .dynamic_shared = DYNAMIC_SHARED}};
    add_variables(&maker);
    const uint64_t *places = lay_out(&maker);
    for (unsigned i = 0; i < kernel->prototype.param_count; i++)
        random_parameter(&maker, kernel->prototype.params[i], maker.parameters + places[i]);
    random_shape(&maker, &input->launch, number % 3 == 2);
    set_arguments(&maker, input, places);
    complete(&maker, input);
    copy_memory(&maker, input);
    return input;
}

static EmulatorMemory *find_memory(const Maker *maker, const char *name)
{
    for (size_t i = 0; i < maker->memories.count; i++)
        if (strcmp(maker->memories.data[i].name, name) == 0)
            return &maker->memories.data[i];
    return NULL;
}

static uint64_t argument_bytes(const LaunchArgument *argument)
{
    return argument->count * ((type_bits(argument->type) + 7) / 8);
}

/* Puts an argument into the parameters; NULL, or the reason why not. */
static const char *give_argument(Maker *maker, const LaunchArgument *argument, uint8_t *to, uint64_t size)
{
    if (argument->kind == ARGUMENT_SCALAR) {
        if (argument->size != size)
            return "the launch does not fit the kernel";
        memcpy(to, argument->bytes, (size_t)size);
        return NULL;
    }
    const EmulatorMemory *memory = find_memory(maker, argument->name);
    if (argument->image || !memory || size != 8)
        return "the launch has a texture, a surface or a sampler";
    const uint64_t address = memory->address + (argument->kind == ARGUMENT_POINTER ? argument->offset : 0);
    memcpy(to, &address, 8);
    return NULL;
}

/* Fills variables in global memory; those in constant memory stay with the launch. */
static void fill_symbols(Maker *maker, const Launch *launch)
{
    for (unsigned i = 0; i < launch->argument_count; i++) {
        const LaunchArgument *argument = &launch->arguments[i];
        EmulatorMemory *memory = argument->kind == ARGUMENT_SYMBOL ? find_memory(maker, argument->name) : NULL;
        if (memory && argument_bytes(argument) <= memory->size)
            memcpy(memory->bytes, launch_fill(maker->arena, argument), (size_t)argument_bytes(argument));
    }
}

/* Appends the launch's constant variables to the arguments. */
static void keep_constants(Maker *maker, Input *input, const Launch *launch)
{
    const unsigned count = input->launch.argument_count;
    LaunchArgument *arguments = ARENA_ARRAY(maker->arena, LaunchArgument, count + launch->argument_count + 1);
    memcpy(arguments, input->launch.arguments, count * sizeof *arguments);
    input->launch.arguments = arguments;
    for (unsigned i = 0; i < launch->argument_count; i++)
        if (launch->arguments[i].kind == ARGUMENT_SYMBOL && !find_memory(maker, launch->arguments[i].name))
            arguments[input->launch.argument_count++] = launch->arguments[i];
}

Input *input_of_launch(Arena *arena, const Module *module, const Function *kernel, const Launch *launch,
                       const char **problem)
{
    Input *input = ARENA_NEW(arena, Input);
    Maker maker = {.arena = arena, .module = module, .kernel = kernel};
    *input = (Input){.launch = *launch};
    add_variables(&maker);
    const uint64_t *places = lay_out(&maker);
    unsigned next = 0;
    *problem = NULL;
    for (unsigned i = 0; i < launch->argument_count && !*problem; i++) {
        const LaunchArgument *argument = &launch->arguments[i];
        if (argument->kind == ARGUMENT_SYMBOL)
            continue;
        if (argument->kind == ARGUMENT_BUFFER) {
            EmulatorMemory *memory = add_memory(&maker, argument->name, argument_bytes(argument), NULL);
            memcpy(memory->bytes, launch_fill(arena, argument), (size_t)argument_bytes(argument));
        }
        if (next == kernel->prototype.param_count) {
            *problem = "the launch does not fit the kernel";
            break;
        }
        *problem = give_argument(&maker, argument, maker.parameters + places[next],
                                 variable_bytes(kernel->prototype.params[next]));
        next++;
    }
    if (!*problem && next < kernel->prototype.param_count)
        *problem = "the launch does not fit the kernel";
    if (*problem)
        return NULL;
    set_arguments(&maker, input, places);
    complete(&maker, input);
    fill_symbols(&maker, launch);
    keep_constants(&maker, input, launch);
    for (unsigned axis = 0; axis < 3; axis++) {
        input->launch.grid[axis] += !input->launch.grid[axis];
        input->launch.block[axis] += !input->launch.block[axis];
    }
    copy_memory(&maker, input);
    return input;
}

void input_print(const Input *input, const Function *kernel, Buf *out)
{
    const unsigned *grid = input->launch.grid, *block = input->launch.block;
    buf_printf(out, "%u x %u x %u blocks of %u x %u x %u threads", grid[0], grid[1], grid[2], block[0], block[1],
               block[2]);
    for (unsigned i = 0; i < kernel->prototype.param_count; i++) {
        const LaunchArgument *argument = &input->launch.arguments[i];
        uint64_t value = 0;
        if (argument->size > 8 || !kernel->prototype.params[i]->name)
            continue;
        memcpy(&value, argument->bytes, (size_t)argument->size);
        buf_printf(out, ", %s = 0x%llx", kernel->prototype.params[i]->name, (unsigned long long)value);
    }
}
