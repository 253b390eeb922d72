/* The CUDA driver, as the worker process sees it. Building needs nothing of CUDA: the declarations are here and in
 * abi/driver.def, after the CUDA driver API manual.
 *
 * The PTX is compiled twice: it is loaded as a module, as in a program's just-in-time compilation, to get the
 * registers; and it is linked, which is the only way to get a cubin. */
#include "assembler/internal.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

/* CUresult. */
enum {
    CUDA_DONE = 0,
    CUDA_ERROR_NO_BINARY_FOR_GPU = 209,
    CUDA_ERROR_INVALID_PTX = 218,
    CUDA_ERROR_UNSUPPORTED_PTX_VERSION = 222,
    CUDA_ERROR_INVALID_SOURCE = 300,
    CUDA_ERROR_NOT_FOUND = 500,
};

enum { DEVICE_MAJOR = 75, DEVICE_MINOR = 76 }; /* CUdevice_attribute */

/* CUjit_option. */
enum {
    JIT_MAX_REGISTERS = 0,
    JIT_INFO_LOG = 3,
    JIT_INFO_LOG_SIZE = 4,
    JIT_ERROR_LOG = 5,
    JIT_ERROR_LOG_SIZE = 6,
    JIT_OPTIMIZATION_LEVEL = 7,
    JIT_TARGET_FROM_CONTEXT = 8,
    JIT_TARGET = 9,
    JIT_LOG_VERBOSE = 12,
    JIT_GENERATE_LINE_INFO = 13,
};

#define JIT_INPUT_PTX 1 /* CUjitInputType */

/* CUfunction_attribute. */
enum { FUNCTION_SHARED = 1, FUNCTION_CONSTANT = 2, FUNCTION_LOCAL = 3, FUNCTION_REGISTERS = 4 };

#define DRIVER_OF_ASSEMBLER
typedef struct Driver {
#define DRIVER_FUNCTION(name, symbol, parameters, is_optional) int (*name) parameters;
#include "abi/driver.def"
    Arch arch; /* of the device: no suffix */
} Driver;

static void describe_error(const Driver *driver, Buf *text, int error)
{
    const char *name = NULL;
    if (driver->error_name && driver->error_name(error, &name) == CUDA_DONE && name)
        buf_printf(text, "%s (%d)", name, error);
    else
        buf_printf(text, "CUDA error %d", error);
}

static bool find_functions(Driver *driver, void *library, Buf *message)
{
    const struct {
        const char *name;
        void *place;
        bool optional;
    } wanted[] = {
#define DRIVER_FUNCTION(name, symbol, parameters, is_optional) {symbol, &driver->name, is_optional},
#include "abi/driver.def"
    };
    for (size_t i = 0; i < COUNT_OF(wanted); i++) {
        void *function = dlsym(library, wanted[i].name);
        if (!function && !wanted[i].optional) {
            buf_printf(message, "has no %s: not a CUDA driver, or one that is too old", wanted[i].name);
            return false;
        }
        memcpy(wanted[i].place, &function, sizeof function);
    }
    return true;
}

/* Makes the first device of the wanted architecture current. If there is none, the message lists the devices. */
static bool take_device(Driver *driver, Arch arch, Buf *version, Buf *message)
{
    Buf others = {0};
    int count = 0, error = driver->device_count(&count), device, major, minor;
    for (int ordinal = 0; ordinal < count && error == CUDA_DONE; ordinal++) {
        char name[256] = "";
        void *context = NULL;
        if (driver->device_get(&device, ordinal) != CUDA_DONE ||
            driver->device_attribute(&major, DEVICE_MAJOR, device) != CUDA_DONE ||
            driver->device_attribute(&minor, DEVICE_MINOR, device) != CUDA_DONE)
            continue;
        driver->device_name(name, sizeof name, device);
        name[sizeof name - 1] = 0;
        unsigned number = (unsigned)(major * 10 + minor);
        if (number != arch.number) {
            buf_printf(&others, "%s%s is sm_%u", others.length ? ", " : "", name, number);
            continue;
        }
        error = driver->context_retain(&context, device);
        if (error == CUDA_DONE)
            error = driver->context_set(context);
        if (error != CUDA_DONE) {
            buf_printf(message, "cannot use %s: ", name);
            describe_error(driver, message, error);
        } else {
            driver->arch = (Arch){number, 0};
            buf_printf(version, " on %s", name);
        }
        buf_free(&others);
        return error == CUDA_DONE;
    }
    if (error != CUDA_DONE) {
        buf_puts(message, "cannot count its GPUs: ");
        describe_error(driver, message, error);
    } else {
        buf_printf(message, "no GPU of architecture sm_%u here (%s)", arch.number,
                   others.length ? others.data : "no GPU found");
    }
    buf_free(&others);
    return false;
}

static void *load(const char *path, Arch arch, Buf *version, Buf *message)
{
    /* A module from the driver's cache comes without the compiler's log. */
    setenv("CUDA_CACHE_DISABLE", "1", 1);
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!library) {
        const char *reason = dlerror();
        buf_puts(message, reason ? reason : "cannot be opened");
        return NULL;
    }
    Driver *driver = calloc(1, sizeof *driver);
    if (!driver)
        out_of_memory();
    if (find_functions(driver, library, message)) {
        int error = driver->init(0), number = 0;
        if (error != CUDA_DONE) {
            buf_puts(message, "cannot be initialized: ");
            describe_error(driver, message, error);
        } else {
            driver->driver_version(&number);
            buf_printf(version, "%d.%d", number / 1000, number % 1000 / 10);
            if (take_device(driver, arch, version, message))
                return driver;
        }
    }
    /* The library stays open: a driver that was initialized has threads. */
    free(driver);
    return NULL;
}

/* The options of one compilation, and the buffers for its logs. */
typedef struct Options {
    int names[9];
    void *values[9];
    unsigned count;
    char *info, *error;
    size_t log_size;
} Options;

static void add_option(Options *options, int name, uintptr_t value)
{
    options->names[options->count] = name;
    options->values[options->count++] = (void *)value;
}

static void options_make(Options *options, const Job *job)
{
    /* Each kernel takes some 300 bytes of log and at least as many of PTX, not counting its name, which is in both. */
    size_t size = ((size_t)1 << 20) + job->size * 4;
    *options = (Options){.log_size = size < (size_t)1 << 30 ? size : (size_t)1 << 30};
    options->info = calloc(options->log_size + 1, 1);
    options->error = calloc(options->log_size + 1, 1);
    if (!options->info || !options->error)
        out_of_memory();
    add_option(options, JIT_INFO_LOG, (uintptr_t)options->info);
    add_option(options, JIT_INFO_LOG_SIZE, options->log_size);
    add_option(options, JIT_ERROR_LOG, (uintptr_t)options->error);
    add_option(options, JIT_ERROR_LOG_SIZE, options->log_size);
    add_option(options, JIT_LOG_VERBOSE, 1);
    /* The driver's highest level is 4, the other assemblers' is 3. */
    unsigned level = job->syntax_only ? 0 : job->opt_level;
    add_option(options, JIT_OPTIMIZATION_LEVEL, level >= 3 ? 4 : level);
    /* A suffix follows from the device and the .target; old drivers have no number for such architectures. Without a
     * suffix, CUjit_target is the architecture's number. */
    if (job->arch.suffix)
        add_option(options, JIT_TARGET_FROM_CONTEXT, 1);
    else
        add_option(options, JIT_TARGET, job->arch.number);
    if (job->max_registers > 0)
        add_option(options, JIT_MAX_REGISTERS, job->max_registers);
    if (job->line_info)
        add_option(options, JIT_GENERATE_LINE_INFO, 1);
}

static void options_free(Options *options)
{
    free(options->info);
    free(options->error);
}

static void take_line_end(Buf *log)
{
    if (log->length && log->data[log->length - 1] != '\n')
        buf_putc(log, '\n');
}

static void take_logs(const Options *options, Buf *log)
{
    buf_puts(log, options->error);
    take_line_end(log);
    buf_puts(log, options->info);
    take_line_end(log);
}

static void fail(const Driver *driver, Outcome *outcome, const char *doing, int error)
{
    bool about_input = error == CUDA_ERROR_INVALID_PTX || error == CUDA_ERROR_NO_BINARY_FOR_GPU ||
                       error == CUDA_ERROR_UNSUPPORTED_PTX_VERSION || error == CUDA_ERROR_INVALID_SOURCE ||
                       error == CUDA_ERROR_NOT_FOUND;
    Buf name = {0};
    describe_error(driver, &name, error);
    outcome_fail(outcome, about_input ? ASSEMBLY_REJECTED : ASSEMBLY_UNAVAILABLE, "%s: %s%s", doing, buf_text(&name),
                 error == CUDA_ERROR_UNSUPPORTED_PTX_VERSION ? "; this driver is too old for the .version of the PTX"
                                                             : "");
    buf_free(&name);
}

static void link_cubin(const Driver *driver, const Job *job, Outcome *outcome)
{
    Options options;
    options_make(&options, job);
    void *link = NULL, *cubin = NULL;
    size_t size = 0;
    int error = driver->link_create(options.count, options.names, options.values, &link);
    if (error == CUDA_DONE)
        error = driver->link_add_data(link, JIT_INPUT_PTX, (void *)(uintptr_t)job->ptx, job->size + 1, "input.ptx", 0,
                                      NULL, NULL);
    if (error == CUDA_DONE)
        error = driver->link_complete(link, &cubin, &size);
    /* The link owns the cubin, and writes to the log until it is destroyed. */
    if (error == CUDA_DONE && cubin && size > 0)
        buf_write(&outcome->cubin, cubin, size);
    if (link)
        driver->link_destroy(link);
    if (error != CUDA_DONE) {
        take_logs(&options, &outcome->log);
        fail(driver, outcome, "cannot link the PTX", error);
    } else if (outcome->cubin.length == 0) {
        outcome_fail(outcome, ASSEMBLY_UNREADABLE, "linked the PTX, but made no cubin");
    } else if (!strstr(buf_text(&outcome->log), "bytes spill stores")) {
        /* some drivers log less for a loaded module than for a linked one */
        take_logs(&options, &outcome->log);
    }
    options_free(&options);
}

static void ask_kernels(const Driver *driver, void *module, Outcome *outcome)
{
    static const int asked[] = {FUNCTION_REGISTERS, FUNCTION_LOCAL, FUNCTION_SHARED, FUNCTION_CONSTANT};
    Arena *arena = arena_new();
    Cubin cubin = {0};
    const char *problem = cubin_read(arena, outcome->cubin.data, outcome->cubin.length, &cubin);
    if (problem)
        outcome_fail(outcome, ASSEMBLY_UNREADABLE, "made a cubin that cannot be read: %s", problem);
    for (size_t i = 0; i < cubin.count; i++) {
        void *function = NULL;
        int value[COUNT_OF(asked)];
        if (!cubin.functions[i].is_entry ||
            driver->module_function(&function, module, cubin.functions[i].name) != CUDA_DONE)
            continue;
        size_t known = 0;
        while (known < COUNT_OF(asked) &&
               driver->function_attribute(&value[known], asked[known], function) == CUDA_DONE && value[known] >= 0)
            known++;
        if (known == COUNT_OF(asked))
            buf_printf(&outcome->attributes, "%d %d %d %d %s\n", value[0], value[1], value[2], value[3],
                       cubin.functions[i].name);
    }
    arena_free(arena);
}

static void assemble(void *state, const Job *job, Outcome *outcome)
{
    const Driver *driver = state;
    if (job->arch.number != driver->arch.number) {
        outcome_fail(outcome, ASSEMBLY_UNAVAILABLE, "assembles only for its GPU, which is sm_%u", driver->arch.number);
        return;
    }
    Options options;
    options_make(&options, job);
    void *module = NULL;
    int error = driver->module_load(&module, job->ptx, options.count, options.names, options.values);
    take_logs(&options, &outcome->log);
    options_free(&options);
    if (error != CUDA_DONE) {
        fail(driver, outcome, "cannot load the PTX", error);
        return;
    }
    if (!job->syntax_only) {
        link_cubin(driver, job, outcome);
        if (outcome->failure == ASSEMBLY_DONE)
            ask_kernels(driver, module, outcome);
    }
    driver->module_unload(module);
}

const Engine driver_engine = {load, assemble};
