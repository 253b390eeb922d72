/* Modules: their PTX, their variables in the device's memory, and handles of their kernels. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "emulated/driver.h"
#include "emulated/driver_api.h"
#include "emulated/fatbin.h"
#include "parser/parser.h"

enum { MOST_FUNCTIONS = 4096 };

static EmulatedFunction functions[MOST_FUNCTIONS]; /* handles, which are reused */

/* CUjit_option: the program's buffer for an assembler's output, and its size. */
enum { JIT_ERROR_LOG = 5, JIT_ERROR_LOG_SIZE = 6 };

static void log_put(const char *text, unsigned count, const int *options, void **values)
{
    char *log = NULL;
    size_t room = 0;
    for (unsigned i = 0; i < count; i++) {
        if (options[i] == JIT_ERROR_LOG)
            log = values[i];
        if (options[i] == JIT_ERROR_LOG_SIZE)
            room = (uint32_t)(uintptr_t)values[i];
    }
    if (!log || !room)
        return;
    snprintf(log, room, "%s", text);
    for (unsigned i = 0; i < count; i++)
        if (options[i] == JIT_ERROR_LOG_SIZE) /* what is filled */
            values[i] = (void *)(uintptr_t)strlen(log); // NOLINT: a number, as CUDA's API has it
}

/* The messages go to the standard error stream and to the program's buffer. */
static Module *module_parse(Arena *arena, const char *text, unsigned count, const int *options, void **values)
{
    char *messages = NULL;
    size_t size = 0;
    FILE *stream = open_memstream(&messages, &size);
    Source *source = source_from_memory(arena, "image", text, strlen(text));
    Diag diag;
    diag_init(&diag, source, stream ? stream : stderr);
    Module *module = failure_is("reject") ? NULL : parse_module(arena, source, &diag);
    if (failure_is("reject") && stream)
        fputs("ptxas application ptx input, line 5; error   : No such thing\n", stream);
    if (stream)
        fclose(stream);
    if (!module && messages) {
        log_put(messages, count, options, values);
        if (!failure_is("reject"))
            fputs(messages, stderr);
    }
    free(messages);
    return module;
}

static bool needs_memory(const Variable *variable)
{
    return (variable->space == SPACE_GLOBAL || variable->space == SPACE_CONST) && variable->name &&
           type_class(variable->type) != CLASS_OPAQUE && variable_bytes(variable) &&
           variable->linkage != LINKAGE_EXTERN;
}

static void variables_release(EmulatedModule *loaded)
{
    for (size_t i = 0; i < loaded->variable_count; i++)
        memory_release(loaded->variables[i]);
    loaded->variable_count = 0;
}

/* Places the variables and gives them their initial values. False: out of memory. */
static bool variables_place(EmulatedModule *loaded)
{
    const Module *module = loaded->module;
    loaded->variables = ARENA_ARRAY(loaded->arena, Memory *, module->items.count + 1);
    for (size_t i = 0; i < module->items.count; i++) {
        const Variable *variable = module->items.data[i].variable;
        if (module->items.data[i].kind != ITEM_VARIABLE || !needs_memory(variable))
            continue;
        Memory *memory =
            memory_make(variable->managed ? KIND_MANAGED : KIND_DEVICE, variable_bytes(variable), variable->name);
        if (!memory)
            return false;
        memory->is_variable = true;
        free(memory->written); /* it has a value from the start */
        memory->written = NULL;
        memory->variable = variable;
        loaded->variables[loaded->variable_count++] = memory;
    }
    EmulatorDevice device = {0};
    device.memories = memory_list(loaded->arena, &device.memory_count);
    emulator_load(module, &device);
    return true;
}

int cuModuleLoadDataEx(void **result, const void *image, unsigned count, int *options, void **values)
{
    LOCKED;
    Arena *arena = arena_new();
    const char *error = NULL;
    Cubin cubin;
    const char *text = image_ptx(arena, image, 90, &cubin, &error);
    if (!text)
        fprintf(stderr, "Emulated GPU: %s\n", error);
    Module *module = text ? module_parse(arena, text, count, options, values) : NULL;
    if (!module) {
        arena_free(arena);
        return text ? INVALID_PTX : NO_BINARY;
    }
    EmulatedModule *loaded = ARENA_NEW(arena, EmulatedModule);
    *loaded = (EmulatedModule){
        .arena = arena, .module = module, .text = text, .cubin = cubin.bytes, .cubin_size = cubin.size};
    *result = loaded;
    if (variables_place(loaded))
        return DONE;
    variables_release(loaded);
    arena_free(arena);
    return NO_MEMORY;
}

int cuModuleLoadData(void **result, const void *image)
{
    return cuModuleLoadDataEx(result, image, 0, NULL, NULL);
}

int cuModuleLoadFatBinary(void **result, const void *image)
{
    return cuModuleLoadDataEx(result, image, 0, NULL, NULL);
}

int cuModuleLoad(void **result, const char *path)
{
    Arena *arena = arena_new();
    const char *error = NULL;
    const Source *file = source_read(arena, path, &error);
    int status = file ? cuModuleLoadData(result, arena_strndup(arena, file->text, file->size)) : NO_FILE;
    arena_free(arena);
    return status;
}

int cuModuleUnload(void *module)
{
    LOCKED;
    if (!module)
        return INVALID_HANDLE;
    for (size_t i = 0; i < MOST_FUNCTIONS; i++)
        if (functions[i].module == module)
            functions[i] = (EmulatedFunction){0};
    variables_release(module);
    arena_free(((EmulatedModule *)module)->arena);
    return DONE;
}

int cuModuleGetFunction(void **result, void *module, const char *name)
{
    LOCKED;
    EmulatedModule *loaded = module;
    const Function *function = loaded ? module_find_function(loaded->module, name) : NULL;
    EmulatedFunction *unused = NULL;
    if (!function || !function->is_entry)
        return loaded ? NOT_FOUND : INVALID_HANDLE;
    for (size_t i = 0; i < MOST_FUNCTIONS; i++) {
        if (functions[i].function == function) {
            *result = &functions[i];
            return DONE;
        }
        if (!functions[i].function && !unused)
            unused = &functions[i];
    }
    if (unused)
        *unused =
            (EmulatedFunction){.module = loaded, .function = function, .most_shared = USUAL_SHARED, .carveout = -1};
    *result = unused;
    return unused ? DONE : NO_MEMORY;
}

int cuModuleGetGlobal_v2(uint64_t *address, size_t *size, void *module, const char *name)
{
    LOCKED;
    const EmulatedModule *loaded = module;
    for (size_t i = 0; loaded && i < loaded->variable_count; i++)
        if (strcmp(loaded->variables[i]->name, name) == 0) {
            if (address)
                *address = loaded->variables[i]->address;
            if (size)
                *size = (size_t)loaded->variables[i]->size;
            return DONE;
        }
    return loaded ? NOT_FOUND : INVALID_HANDLE;
}

int cuModuleGetLoadingMode(int *mode)
{
    enum { EAGER = 1 };
    *mode = EAGER;
    return DONE;
}

static bool is_kernel(const Item *item)
{
    return item->kind == ITEM_FUNCTION && item->function->is_entry && item->function->has_body;
}

int cuModuleGetFunctionCount(unsigned *count, void *module)
{
    const Module *parsed = ((EmulatedModule *)module)->module;
    *count = 0;
    for (size_t i = 0; i < parsed->items.count; i++)
        *count += is_kernel(&parsed->items.data[i]);
    return DONE;
}

int cuModuleEnumerateFunctions(void **found, unsigned count, void *module)
{
    const Module *parsed = ((EmulatedModule *)module)->module;
    for (size_t i = 0; i < parsed->items.count && count; i++)
        if (is_kernel(&parsed->items.data[i])) {
            cuModuleGetFunction(found++, module, parsed->items.data[i].function->name);
            count--;
        }
    return DONE;
}

/* A library is a module, and a kernel a function. */

int cuLibraryLoadData(void **library, const void *image, int *options, void **values, unsigned count,
                      void *library_options, void *library_values, unsigned library_count)
{
    (void)library_options, (void)library_values, (void)library_count;
    return cuModuleLoadDataEx(library, image, count, options, values);
}

int cuLibraryLoadFromFile(void **library, const char *path, int *options, void **values, unsigned count,
                          void *library_options, void *library_values, unsigned library_count)
{
    (void)options, (void)values, (void)count, (void)library_options, (void)library_values, (void)library_count;
    return cuModuleLoad(library, path);
}

int cuLibraryUnload(void *library)
{
    return cuModuleUnload(library);
}

int cuLibraryGetKernel(void **kernel, void *library, const char *name)
{
    return cuModuleGetFunction(kernel, library, name);
}

int cuLibraryGetModule(void **module, void *library)
{
    *module = library;
    return library ? DONE : INVALID_HANDLE;
}

int cuLibraryGetKernelCount(unsigned *count, void *library)
{
    return cuModuleGetFunctionCount(count, library);
}

int cuLibraryEnumerateKernels(void **kernels, unsigned count, void *library)
{
    return cuModuleEnumerateFunctions(kernels, count, library);
}

int cuLibraryGetGlobal(uint64_t *address, size_t *size, void *library, const char *name)
{
    return cuModuleGetGlobal_v2(address, size, library, name);
}

int cuLibraryGetManaged(uint64_t *address, size_t *size, void *library, const char *name)
{
    LOCKED;
    uint64_t place = 0;
    int error = cuModuleGetGlobal_v2(&place, size, library, name);
    if (error || memory_at(place)->kind != KIND_MANAGED)
        return error ? error : NOT_FOUND;
    *address = place;
    return DONE;
}

int cuKernelGetFunction(void **function, void *kernel)
{
    *function = kernel;
    return kernel ? DONE : INVALID_HANDLE;
}

int cuKernelGetLibrary(void **library, void *kernel)
{
    *library = kernel ? ((EmulatedFunction *)kernel)->module : NULL;
    return kernel ? DONE : INVALID_HANDLE;
}

int cuFuncGetModule(void **module, void *function)
{
    return cuKernelGetLibrary(module, function);
}

int cuFuncGetName(const char **name, void *function)
{
    *name = function ? ((EmulatedFunction *)function)->function->name : NULL;
    return function ? DONE : INVALID_HANDLE;
}

int cuKernelGetName(const char **name, void *kernel)
{
    return cuFuncGetName(name, kernel);
}

int cuFuncIsLoaded(int *state, void *function)
{
    *state = 1;
    return function ? DONE : INVALID_HANDLE;
}

int cuFuncLoad(void *function)
{
    return function ? DONE : INVALID_HANDLE;
}

/* Linking of PTX only. The result is PTX. */

enum { MOST_INPUTS = 256 };

typedef struct Link {
    Arena *arena;
    const char *texts[MOST_INPUTS];
    size_t count;
    char *result;
} Link;

int cuLinkCreate_v2(unsigned count, int *options, void **values, void **state)
{
    Link *link = calloc(1, sizeof *link);
    (void)count, (void)options, (void)values;
    if (!link)
        return NO_MEMORY;
    link->arena = arena_new();
    *state = link;
    return DONE;
}

int cuLinkAddData_v2(void *state, int kind, void *data, size_t size, const char *name, unsigned count, int *options,
                     void **values)
{
    Link *link = state;
    Cubin cubin;
    const char *error;
    (void)kind, (void)name, (void)count, (void)options, (void)values;
    if (link->count == MOST_INPUTS)
        return NO_MEMORY;
    const char *text = image_ptx(link->arena, arena_strndup(link->arena, data, size), 90, &cubin, &error);
    if (text)
        link->texts[link->count++] = text;
    return text ? DONE : NO_BINARY;
}

int cuLinkAddFile_v2(void *state, int kind, const char *path, unsigned count, int *options, void **values)
{
    const char *error;
    const Source *file = source_read(((Link *)state)->arena, path, &error);
    return file ? cuLinkAddData_v2(state, kind, (void *)file->text, file->size, path, count, options, values) : NO_FILE;
}

int cuLinkComplete(void *state, void **image, size_t *size)
{
    Link *link = state;
    const char *error, *text = link->count ? link_ptx(link->arena, link->texts, link->count, &error) : NULL;
    *image = (void *)text;
    if (size)
        *size = text ? strlen(text) + 1 : 0;
    return text ? DONE : INVALID_PTX;
}

int cuLinkDestroy(void *state)
{
    arena_free(((Link *)state)->arena);
    free(state);
    return DONE;
}
