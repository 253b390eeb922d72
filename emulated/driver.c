/* A CUDA driver whose GPU is the emulator, for programs without another: one device, sm_90, "Emulated GPU".
 *
 * Modules are parsed, device memory is host memory at addresses of its own, and a launch runs in the emulator with the
 * buffers that its parameters point to.  Time is counted: one nanosecond for each warp instruction, and one for each
 * 1,024 bytes filled.  $PTXOPT_EMULATED_FAILURE selects a failure: no-init, no-device, reject, wrong (corrupts the
 * results of coarsened kernels), fault (every launch fails). */
#include <dlfcn.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "emulator/emulator.h"
#include "parser/parser.h"
#include "emulated/driver.h"
#include "emulated/fatbin.h"

enum { MOST_BLOCKS = 4096, MOST_FUNCTIONS = 4096 };

typedef struct Memory {
    uint64_t address, size;
    uint8_t *bytes;
} Memory;

typedef struct Global {
    const Variable *variable;
    Memory *memory;
    struct Global *next;
} Global;

/* Arrays, and textures and surfaces over them; the arguments of cuArray3DCreate and cuTexObjectCreate begin like
 * these. */
typedef struct Array {
    size_t width, height, depth;
    int format;
    unsigned channels, flags;
    uint8_t *bytes;
} Array;

typedef struct Object {
    Array *array; /* NULL: not in use */
    int address[3], filter;
    unsigned flags;
    bool is_surface;
} Object;

enum { MOST_OBJECTS = 64, FIRST_HANDLE = 0x5eed00 };

static EmulatedFunction functions[MOST_FUNCTIONS]; /* handles, which are used again */
static Object objects[MOST_OBJECTS];
static Memory memories[MOST_BLOCKS];
static uint64_t next_address = UINT64_C(0x7f0000000000);
static double clock_ms;

static bool mode_is(const char *name)
{
    const char *mode = getenv("PTXOPT_EMULATED_FAILURE");
    return mode && strcmp(mode, name) == 0;
}

static Memory *memory_at(uint64_t address)
{
    for (size_t i = 0; i < MOST_BLOCKS; i++)
        if (memories[i].size && address >= memories[i].address && address < memories[i].address + memories[i].size)
            return &memories[i];
    return NULL;
}

static Memory *memory_new(uint64_t size)
{
    for (size_t i = 0; i < MOST_BLOCKS; i++) {
        if (memories[i].size)
            continue;
        memories[i] = (Memory){next_address, size, calloc(1, size)};
        next_address += (size + 511) / 256 * 256;
        return &memories[i];
    }
    return NULL;
}

/* The bytes at an address; NULL if there are fewer than 'size'. */
static uint8_t *bytes_at(uint64_t address, size_t size)
{
    Memory *memory = memory_at(address);
    return memory && size <= memory->address + memory->size - address ? memory->bytes + (address - memory->address)
                                                                      : NULL;
}

int cuInit(unsigned flags)
{
    return flags || mode_is("no-init") ? NO_DEVICE : DONE;
}

int cuDriverGetVersion(int *version)
{
    *version = 13000;
    return DONE;
}

/* NVIDIA's libraries ask for tables of private functions. There are none here. */
int cuGetExportTable(const void **table, const void *id)
{
    (void)id;
    *table = NULL;
    return NOT_FOUND;
}

int cuDeviceGetCount(int *count)
{
    *count = mode_is("no-device") ? 0 : 1;
    return DONE;
}

int cuDeviceGet(int *device, int ordinal)
{
    *device = ordinal;
    return ordinal ? INVALID_VALUE : DONE;
}

int cuDeviceGetName(char *name, int length, int device)
{
    snprintf(name, (size_t)length, "Emulated GPU");
    return device ? INVALID_VALUE : DONE;
}

int cuDeviceGetAttribute(int *value, int attribute, int device)
{
    enum {
        MOST_THREADS = 1,
        SHARED_PER_BLOCK = 8,
        WARP_SIZE = 10,
        MULTIPROCESSORS = 16,
        L2_CACHE = 38,
        THREADS_PER_MULTIPROCESSOR = 39,
        MAJOR = 75,
        COOPERATIVE = 95
    };
    switch (attribute) {
    case MOST_THREADS: *value = 1024; break;
    case SHARED_PER_BLOCK: *value = USUAL_SHARED; break;
    case WARP_SIZE: *value = 32; break;
    case MULTIPROCESSORS: *value = 2; break;
    case L2_CACHE: *value = 1 << 20; break;
    case THREADS_PER_MULTIPROCESSOR: *value = 2048; break;
    case MAJOR: *value = 9; break;
    case COOPERATIVE: *value = 1; break;
    default: *value = 0; break;
    }
    return device ? INVALID_VALUE : DONE;
}

int cuDevicePrimaryCtxRetain(void **context, int device)
{
    *context = memories;
    return device ? INVALID_VALUE : DONE;
}

int cuDevicePrimaryCtxRelease_v2(int device)
{
    return device ? INVALID_VALUE : DONE;
}

int cuCtxGetCurrent(void **context)
{
    *context = memories;
    return DONE;
}

int cuCtxGetDevice(int *device)
{
    *device = 0;
    return DONE;
}

int cuCtxSetCurrent(void *context)
{
    return context ? DONE : INVALID_VALUE;
}

int cuCtxSynchronize(void)
{
    return DONE;
}

int cuGetErrorName(int error, const char **name)
{
    *name = error == NO_DEVICE       ? "CUDA_ERROR_NO_DEVICE"
            : error == INVALID_PTX   ? "CUDA_ERROR_INVALID_PTX"
            : error == LAUNCH_FAILED ? "CUDA_ERROR_LAUNCH_FAILED"
                                     : NULL;
    return *name ? DONE : INVALID_VALUE;
}

int cuMemAlloc_v2(uint64_t *address, size_t size)
{
    Memory *memory = size ? memory_new(size) : NULL;
    *address = memory ? memory->address : 0;
    return memory ? DONE : INVALID_VALUE;
}

int cuMemFree_v2(uint64_t address)
{
    Memory *memory = memory_at(address);
    if (!memory)
        return INVALID_VALUE;
    free(memory->bytes);
    *memory = (Memory){0};
    return DONE;
}

int cuMemcpyHtoD_v2(uint64_t to, const void *from, size_t size)
{
    uint8_t *bytes = bytes_at(to, size);
    if (bytes)
        memcpy(bytes, from, size);
    return bytes ? DONE : INVALID_VALUE;
}

int cuMemcpyDtoH_v2(void *to, uint64_t from, size_t size)
{
    const uint8_t *bytes = bytes_at(from, size);
    if (bytes)
        memcpy(to, bytes, size);
    return bytes ? DONE : INVALID_VALUE;
}

int cuMemcpyDtoDAsync_v2(uint64_t to, uint64_t from, size_t size, void *stream)
{
    uint8_t *target = bytes_at(to, size);
    const uint8_t *source = bytes_at(from, size);
    (void)stream;
    if (!target || !source)
        return INVALID_VALUE;
    memcpy(target, source, size);
    clock_ms += (double)size / 1024 * 1e-6;
    return DONE;
}

int cuMemsetD8Async(uint64_t to, unsigned char value, size_t size, void *stream)
{
    uint8_t *bytes = bytes_at(to, size);
    (void)stream;
    if (!bytes)
        return INVALID_VALUE;
    memset(bytes, value, size);
    clock_ms += (double)size / 1024 * 1e-6;
    return DONE;
}

static Type array_type(const Array *array)
{
    switch (array->format) {
    case 0x01: return TYPE_U8;
    case 0x02: return TYPE_U16;
    case 0x03: return TYPE_U32;
    case 0x08: return TYPE_S8;
    case 0x09: return TYPE_S16;
    case 0x0a: return TYPE_S32;
    case 0x10: return TYPE_F16;
    default: return TYPE_F32;
    }
}

static size_t at_least_one(size_t size)
{
    return size ? size : 1;
}

static size_t array_texels(const Array *array)
{
    return array->width * at_least_one(array->height) * at_least_one(array->depth);
}

static size_t array_bytes(const Array *array)
{
    return array_texels(array) * array->channels * type_bits(array_type(array)) / 8;
}

int cuArray3DCreate_v2(void **result, const void *shape)
{
    Array *array = malloc(sizeof *array);
    memcpy(array, shape, offsetof(Array, bytes));
    array->bytes = calloc(1, array_bytes(array));
    *result = array;
    return array->width && array->channels ? DONE : INVALID_VALUE;
}

int cuArrayDestroy(void *array)
{
    free(((Array *)array)->bytes);
    free(array);
    return DONE;
}

/* Whole arrays from and to dense host memory. */
int cuMemcpy3D_v2(const void *description)
{
    typedef struct Place {
        size_t at[4];
        int memory;
        void *host;
        uint64_t device;
        Array *array;
        void *reserved;
        size_t pitch, height;
    } Place;
    const Place *from = description, *to = from + 1;
    const Place *host = from->memory == 1 ? from : to, *array = from->memory == 1 ? to : from;
    const size_t *extent = (const size_t *)(to + 1);
    if (host->memory != 1 || array->memory != 3 || host->pitch != extent[0] || host->height != extent[1] ||
        extent[0] * extent[1] * extent[2] != array_bytes(array->array))
        return INVALID_VALUE;
    if (host == from)
        memcpy(array->array->bytes, host->host, array_bytes(array->array));
    else
        memcpy(host->host, array->array->bytes, array_bytes(array->array));
    return DONE;
}

static int object_make(uint64_t *handle, const void *resource, bool is_surface, const void *sampling)
{
    const struct {
        int kind;
        Array *array;
    } *from = resource;
    for (unsigned i = 0; i < MOST_OBJECTS && from->kind == 0; i++) {
        if (objects[i].array)
            continue;
        objects[i] = (Object){.array = from->array, .is_surface = is_surface};
        if (sampling)
            memcpy(&objects[i].address, sampling, offsetof(Object, is_surface) - offsetof(Object, address));
        *handle = FIRST_HANDLE + i;
        return DONE;
    }
    return INVALID_VALUE;
}

int cuTexObjectCreate(uint64_t *handle, const void *resource, const void *sampling, const void *view)
{
    return view ? INVALID_VALUE : object_make(handle, resource, false, sampling);
}

int cuSurfObjectCreate(uint64_t *handle, const void *resource)
{
    return object_make(handle, resource, true, NULL);
}

int cuTexObjectDestroy(uint64_t handle)
{
    objects[handle - FIRST_HANDLE].array = NULL;
    return DONE;
}

int cuSurfObjectDestroy(uint64_t handle)
{
    return cuTexObjectDestroy(handle);
}

int cuModuleLoadDataEx(void **result, const void *image, unsigned count, int *options, void **values)
{
    Arena *arena = arena_new();
    const char *error = NULL, *text = image_ptx(arena, image, &error);
    if (!text) {
        fprintf(stderr, "Emulated GPU: %s\n", error);
        arena_free(arena);
        return NO_BINARY;
    }
    Source *source = source_from_memory(arena, "image", text, strlen(text));
    Diag diag;
    diag_init(&diag, source, stderr);
    Module *module = mode_is("reject") ? NULL : parse_module(arena, source, &diag);
    if (!module) {
        for (unsigned i = 0; i < count; i++)
            if (options[i] == 5)
                strcpy(values[i], "ptxas application ptx input, line 5; error   : No such thing\n");
        arena_free(arena);
        return INVALID_PTX;
    }
    EmulatedModule *loaded = ARENA_NEW(arena, EmulatedModule);
    *loaded = (EmulatedModule){.arena = arena, .module = module};
    *result = loaded;
    return DONE;
}

int cuModuleLoadData(void **result, const void *image)
{
    return cuModuleLoadDataEx(result, image, 0, NULL, NULL);
}

int cuModuleUnload(void *module)
{
    for (size_t i = 0; i < MOST_FUNCTIONS; i++)
        if (functions[i].module == module)
            functions[i] = (EmulatedFunction){0};
    arena_free(((EmulatedModule *)module)->arena);
    return DONE;
}

int cuModuleGetFunction(void **result, void *module, const char *name)
{
    EmulatedModule *loaded = module;
    const Function *function = module_find_function(loaded->module, name);
    if (!function || !function->is_entry)
        return NOT_FOUND;
    EmulatedFunction *unused = NULL;
    for (size_t i = 0; i < MOST_FUNCTIONS; i++) {
        if (functions[i].function == function) {
            *result = &functions[i];
            return DONE;
        }
        if (!functions[i].function && !unused)
            unused = &functions[i];
    }
    if (unused)
        *unused = (EmulatedFunction){loaded, function, USUAL_SHARED};
    *result = unused;
    return unused ? DONE : INVALID_VALUE;
}

int cuFuncGetModule(void **module, void *function)
{
    *module = ((EmulatedFunction *)function)->module;
    return DONE;
}

static Global *global_of(EmulatedModule *loaded, const Variable *variable)
{
    Global *global = loaded->globals;
    while (global && global->variable != variable)
        global = global->next;
    if (!global) {
        global = ARENA_NEW(loaded->arena, Global);
        *global = (Global){variable, memory_new(variable_bytes(variable)), loaded->globals};
        loaded->globals = global;
    }
    return global;
}

/* Evaluates initializers that are plain numbers, as in launch contracts; others stay zero. */
static void fill_global(const Global *global)
{
    const Variable *variable = global->variable;
    size_t size = type_bits(variable->type) / 8, place = 0;
    for (unsigned i = 0; i < variable->init_count && size; i++) {
        const Init *init = &variable->inits[i];
        bool is_run = init->kind == INIT_NUMBERS;
        unsigned count = is_run ? init->number_count : init->kind == INIT_CONSTANT;
        for (unsigned k = 0; k < count && place + size <= global->memory->size; k++, place += size)
            memcpy(global->memory->bytes + place, is_run ? &init->numbers[k] : &init->constant.bits, size);
    }
}

int cuModuleGetGlobal_v2(uint64_t *address, size_t *size, void *module, const char *name)
{
    EmulatedModule *loaded = module;
    const Variable *variable = module_find_variable(loaded->module, name);
    if (!variable || !variable_bytes(variable))
        return NOT_FOUND;
    const Global *first = loaded->globals, *global = global_of(loaded, variable);
    if (loaded->globals != first)
        fill_global(global);
    *address = global->memory->address;
    *size = global->memory->size;
    return DONE;
}

static LaunchArgument buffer_argument(Arena *arena, const Memory *memory)
{
    return (LaunchArgument){
        .kind = ARGUMENT_BUFFER,
        .name = arena_printf(arena, "%llx", (unsigned long long)memory->address),
        .type = TYPE_U8,
        .count = memory->size,
        .fill = FILL_BYTES,
        .bytes = memory->bytes,
        .size = memory->size,
    };
}

static LaunchArgument image_argument(Arena *arena, const Launch *before, const Object *object)
{
    static const AddressMode modes[] = {ADDRESS_WRAP, ADDRESS_CLAMP, ADDRESS_MIRROR, ADDRESS_BORDER};
    const Array *array = object->array;
    bool is_layered = array->flags & 1;
    LaunchImage *image = ARENA_NEW(arena, LaunchImage);
    *image = (LaunchImage){
        .width = array->width,
        .height = at_least_one(array->height),
        .depth = is_layered ? 1 : at_least_one(array->depth),
        .layers = is_layered ? array->depth : 1,
        .channels = array->channels,
        .linear_filter = object->filter == 1,
        .normalized = object->flags & 2,
        .read_normalized = !(object->flags & 1) && type_class(array_type(array)) != CLASS_FLOAT,
    };
    for (unsigned i = 0; i < 3; i++)
        image->address[i] = modes[object->address[i] & 3];
    LaunchArgument argument = {
        .kind = object->is_surface ? ARGUMENT_SURFACE : ARGUMENT_TEXTURE,
        .name = arena_printf(arena, "array %p", (const void *)array),
        .type = array_type(array),
        .count = array_texels(array) * array->channels,
        .fill = FILL_BYTES,
        .bytes = array->bytes,
        .size = array_bytes(array),
        .image = image,
    };
    for (unsigned i = 0; i < before->argument_count; i++)
        if (before->arguments[i].image && strcmp(before->arguments[i].name, argument.name) == 0)
            image->of = argument.name;
    if (image->of)
        argument.name = arena_printf(arena, "%s again", argument.name);
    return argument;
}

static LaunchArgument argument_of(Arena *arena, const Launch *before, const Variable *parameter, const void *value)
{
    uint64_t address, size = variable_bytes(parameter);
    memcpy(&address, value, size < sizeof address ? (size_t)size : sizeof address);
    if (size == sizeof address && address >= FIRST_HANDLE && address < FIRST_HANDLE + MOST_OBJECTS &&
        objects[address - FIRST_HANDLE].array)
        return image_argument(arena, before, &objects[address - FIRST_HANDLE]);
    Memory *memory = size == sizeof address ? memory_at(address) : NULL;
    if (!memory)
        return (LaunchArgument){.kind = ARGUMENT_SCALAR, .type = TYPE_U8, .count = size, .bytes = value, .size = size};
    LaunchArgument argument = buffer_argument(arena, memory);
    for (unsigned i = 0; i < before->argument_count; i++)
        if (before->arguments[i].kind == ARGUMENT_BUFFER && strcmp(before->arguments[i].name, argument.name) == 0) {
            argument.kind = ARGUMENT_POINTER;
            argument.offset = address - memory->address;
        }
    return argument;
}

static bool is_coarsened(const EmulatedFunction *called)
{
    char name[512];
    snprintf(name, sizeof name, "__ptxopt_launch_%s", called->function->name);
    return module_find_variable(called->module->module, name) != NULL;
}

/* What a kernel leaves in a variable is there for the next one. */
static void keep_variable(EmulatedModule *module, const EmulatorBuffer *buffer)
{
    const Variable *variable = module_find_variable(module->module, buffer->name);
    if (!variable || variable_bytes(variable) != buffer->size || variable->space == SPACE_CONST)
        return;
    memcpy(global_of(module, variable)->memory->bytes, buffer->bytes, buffer->size);
}

static int error_of(FaultKind fault)
{
    return fault == FAULT_NONE     ? DONE
           : fault == FAULT_LAUNCH ? INVALID_VALUE
           : fault == FAULT_TRAP   ? ASSERTED
                                   : LAUNCH_FAILED;
}

/* All blocks of a cooperative grid must be on the device at once. */
static bool is_too_large(const EmulatedLaunch *launch)
{
    unsigned blocks = launch->grid[0] * launch->grid[1] * launch->grid[2];
    unsigned threads = launch->block[0] * launch->block[1] * launch->block[2];
    return blocks > 2 * emulated_blocks_on_sm(threads, launch->shared);
}

int emulated_run(const EmulatedLaunch *wanted)
{
    EmulatedFunction *called = wanted->function;
    void **parameters = wanted->arguments;
    if (mode_is("fault"))
        return LAUNCH_FAILED;
    if (wanted->shared > called->most_shared)
        return INVALID_VALUE;
    if (wanted->is_cooperative && is_too_large(wanted))
        return TOO_LARGE;
    Arena *arena = arena_new();
    unsigned most = called->function->prototype.param_count;
    for (Global *global = called->module->globals; global; global = global->next)
        most++;
    Launch launch = {
        .kernel = called->function->name,
        .grid = {wanted->grid[0], wanted->grid[1], wanted->grid[2]},
        .block = {wanted->block[0], wanted->block[1], wanted->block[2]},
        .dynamic_shared = wanted->shared,
        .arguments = ARENA_ARRAY(arena, LaunchArgument, most + 1),
    };
    for (unsigned i = 0; i < called->function->prototype.param_count; i++) {
        launch.arguments[i] = argument_of(arena, &launch, called->function->prototype.params[i], parameters[i]);
        launch.argument_count++;
    }
    for (Global *global = called->module->globals; global; global = global->next) {
        LaunchArgument argument = buffer_argument(arena, global->memory);
        argument.kind = ARGUMENT_SYMBOL;
        argument.name = global->variable->name;
        launch.arguments[launch.argument_count++] = argument;
    }
    EmulatorOptions options = {.output = stdout};
    if (wanted->is_cooperative)
        options.resident_blocks = wanted->grid[0] * wanted->grid[1] * wanted->grid[2];
    EmulatorResult *result = emulator_run(arena, called->module->module, &launch, &options);
    bool fine = result->fault.kind == FAULT_NONE;
    if (!fine)
        fprintf(stderr, "%s\n", fault_text(arena, called->module->module, &result->fault));
    for (unsigned i = 0; i < result->buffer_count && fine; i++) {
        for (unsigned k = 0; k < MOST_OBJECTS; k++)
            if (objects[k].array && strcmp(arena_printf(arena, "array %p", (void *)objects[k].array),
                                           result->buffers[i].name) == 0)
                memcpy(objects[k].array->bytes, result->buffers[i].bytes, result->buffers[i].size);
        Memory *memory = memory_at(strtoull(result->buffers[i].name, NULL, 16));
        if (memory && memory->size == result->buffers[i].size)
            memcpy(memory->bytes, result->buffers[i].bytes, memory->size);
        if (memory && mode_is("wrong") && is_coarsened(called))
            memory->bytes[0] ^= 1;
    }
    for (unsigned i = 0; i < result->buffer_count && fine; i++)
        if (result->buffers[i].is_variable)
            keep_variable(called->module, &result->buffers[i]);
    clock_ms += 1e-6 * (double)result->counters.warp_instructions;
    const int error = error_of(result->fault.kind);
    arena_free(arena);
    return error;
}

int cuLaunchKernel(void *function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x,
                   unsigned block_y, unsigned block_z, unsigned shared, void *stream, void **parameters, void **extra)
{
    const EmulatedLaunch launch = {.function = function,
                               .grid = {grid_x, grid_y, grid_z},
                               .block = {block_x, block_y, block_z},
                               .shared = shared,
                               .arguments = parameters};
    return extra ? LAUNCH_FAILED : emulated_launch(&launch, stream);
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

/* An attribute has an int and, from its eighth byte, a value of 64 bytes. */
int cuLaunchKernelEx(const DriverConfig *config, void *function, void **parameters, void **extra)
{
    enum { COOPERATIVE = 2, ATTRIBUTE_INTS = 18 };
    EmulatedLaunch launch = {.function = function, .shared = config->shared, .arguments = parameters};
    memcpy(launch.grid, config->grid, sizeof launch.grid);
    memcpy(launch.block, config->block, sizeof launch.block);
    for (unsigned i = 0; i < config->attribute_count; i++) {
        const int *attribute = (const int *)config->attributes + i * ATTRIBUTE_INTS;
        launch.is_cooperative |= attribute[0] == COOPERATIVE && attribute[2];
    }
    return extra ? LAUNCH_FAILED : emulated_launch(&launch, config->stream);
}

int cuEventCreate(void **event, unsigned flags)
{
    (void)flags;
    *event = calloc(1, sizeof(double));
    return *event ? DONE : INVALID_VALUE;
}

int cuEventDestroy_v2(void *event)
{
    free(event);
    return DONE;
}

int cuEventRecord(void *event, void *stream)
{
    (void)stream;
    *(double *)event = clock_ms;
    return DONE;
}

int cuEventSynchronize(void *event)
{
    return event ? DONE : INVALID_VALUE;
}

int cuEventElapsedTime(float *milliseconds, void *start, void *end)
{
    *milliseconds = (float)(*(double *)end - *(double *)start);
    return DONE;
}

/* By the newest name. */
int cuGetProcAddress_v2(const char *name, void **function, int version, uint64_t flags, int *status)
{
    (void)version, (void)flags;
    char newest[256];
    Dl_info own;
    void *library = dladdr(&clock_ms, &own) ? dlopen(own.dli_fname, RTLD_NOW | RTLD_NOLOAD) : NULL;
    snprintf(newest, sizeof newest, "%s_v2", name);
    *function = library ? dlsym(library, newest) : NULL;
    if (library && !*function)
        *function = dlsym(library, name);
    if (status)
        *status = *function ? 0 : 1;
    return *function ? DONE : NOT_FOUND;
}
