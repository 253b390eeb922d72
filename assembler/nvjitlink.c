/* nvJitLink, as the worker process sees it. Building needs nothing of CUDA: the few declarations are here, after the
 * nvJitLink manual. The library exports each function under its plain name and with its version, as __nvJitLinkX_13_0;
 * old libraries have only the second name. */
#include "assembler/internal.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

typedef void *LinkHandle;

/* nvJitLinkResult. */
enum {
    LINK_SUCCESS = 0,
    LINK_UNRECOGNIZED_OPTION = 1,
    LINK_INTERNAL = 6,
    LINK_UNRECOGNIZED_ARCH = 16,
    LINK_UNSUPPORTED_ARCH = 17,
};

#define LINK_INPUT_PTX 2 /* nvJitLinkInputType */

typedef struct Library {
    int (*create)(LinkHandle *handle, uint32_t option_count, const char **options);
    int (*destroy)(LinkHandle *handle);
    int (*add_data)(LinkHandle handle, int type, const void *data, size_t size, const char *name);
    int (*complete)(LinkHandle handle);
    int (*cubin_size)(LinkHandle handle, size_t *size);
    int (*cubin)(LinkHandle handle, void *cubin);
    int (*error_log_size)(LinkHandle handle, size_t *size);
    int (*error_log)(LinkHandle handle, char *log);
    int (*info_log_size)(LinkHandle handle, size_t *size);
    int (*info_log)(LinkHandle handle, char *log);
    int (*version)(unsigned *major, unsigned *minor);
} Library;

/* The suffix of the versioned names, "" for the plain ones; NULL if the library has neither. */
static const char *find_suffix(void *library, Buf *buf)
{
    if (dlsym(library, "nvJitLinkCreate"))
        return "";
    for (int major = 19; major >= 12; major--) {
        for (int minor = 9; minor >= 0; minor--) {
            buf_clear(buf);
            buf_printf(buf, "__nvJitLinkCreate_%d_%d", major, minor);
            if (dlsym(library, buf->data))
                return buf->data + strlen("__nvJitLinkCreate");
        }
    }
    return NULL;
}

static void *find_function(void *library, const char *name, const char *suffix)
{
    Buf symbol = {0};
    buf_printf(&symbol, "%snvJitLink%s%s", *suffix ? "__" : "", name, suffix);
    void *function = dlsym(library, symbol.data);
    buf_free(&symbol);
    return function;
}

static bool find_functions(Library *functions, void *library, Buf *message)
{
    const struct {
        const char *name;
        void *place;
    } wanted[] = {
        {"Create", &functions->create},
        {"Destroy", &functions->destroy},
        {"AddData", &functions->add_data},
        {"Complete", &functions->complete},
        {"GetLinkedCubinSize", &functions->cubin_size},
        {"GetLinkedCubin", &functions->cubin},
        {"GetErrorLogSize", &functions->error_log_size},
        {"GetErrorLog", &functions->error_log},
        {"GetInfoLogSize", &functions->info_log_size},
        {"GetInfoLog", &functions->info_log},
    };
    Buf name = {0};
    const char *suffix = find_suffix(library, &name);
    if (!suffix)
        buf_puts(message, "has no nvJitLinkCreate: not an nvJitLink library, or one that is too old");
    for (size_t i = 0; suffix && i < COUNT_OF(wanted); i++) {
        void *function = find_function(library, wanted[i].name, suffix);
        if (!function) {
            buf_printf(message, "has no nvJitLink%s", wanted[i].name);
            suffix = NULL;
        }
        /* dlsym() returns a function's address as an object pointer; POSIX requires both to have the same form. */
        memcpy(wanted[i].place, &function, sizeof function);
    }
    buf_free(&name);
    return suffix != NULL;
}

static void *load(const char *path, Arch arch, Buf *version, Buf *message)
{
    (void)arch;
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!library) {
        const char *reason = dlerror();
        buf_puts(message, reason ? reason : "cannot be opened");
        return NULL;
    }
    Library *functions = calloc(1, sizeof *functions);
    if (!functions)
        out_of_memory();
    if (!find_functions(functions, library, message)) {
        free(functions);
        dlclose(library);
        return NULL;
    }
    /* Exported only under its plain name, and only since 12.3. */
    void *symbol = dlsym(library, "nvJitLinkVersion");
    memcpy(&functions->version, &symbol, sizeof symbol);
    unsigned major, minor;
    if (functions->version && functions->version(&major, &minor) == LINK_SUCCESS)
        buf_printf(version, "%u.%u", major, minor);
    else
        buf_puts(version, "unknown");
    return functions;
}

/* Appends a log; its size includes the NUL or not, depending on the version. */
static void take_log(LinkHandle handle, int (*size_of)(LinkHandle, size_t *), int (*get)(LinkHandle, char *), Buf *log)
{
    size_t size = 0;
    if (size_of(handle, &size) != LINK_SUCCESS || size == 0 || size > (size_t)1 << 30)
        return;
    char *text = calloc(size + 1, 1);
    if (!text)
        out_of_memory();
    if (get(handle, text) == LINK_SUCCESS) {
        buf_puts(log, text);
        if (log->length && log->data[log->length - 1] != '\n')
            buf_putc(log, '\n');
    }
    free(text);
}

static void take_cubin(const Library *library, LinkHandle handle, Outcome *outcome)
{
    size_t size = 0;
    if (library->cubin_size(handle, &size) != LINK_SUCCESS || size == 0 || size > (size_t)1 << 30) {
        outcome_fail(outcome, ASSEMBLY_UNREADABLE, "linked, but made no cubin");
        return;
    }
    void *cubin = calloc(size, 1);
    if (!cubin)
        out_of_memory();
    if (library->cubin(handle, cubin) == LINK_SUCCESS)
        buf_write(&outcome->cubin, cubin, size);
    else
        outcome_fail(outcome, ASSEMBLY_UNREADABLE, "linked, but did not return the cubin");
    free(cubin);
}

static LinkHandle create(const Library *library, const Job *job, int *result)
{
    Buf arch = {0}, cap = {0}, level = {0};
    Arena *arena = arena_new();
    const size_t extra = options_count(job->options);
    const char **options = ARENA_ARRAY(arena, const char *, extra + 5);
    uint32_t count = 0;
    buf_printf(&arch, "-arch=%s", arch_names(job->arch).real);
    options[count++] = arch.data;
    options[count++] = "-verbose";
    if (job->max_registers > 0) {
        buf_printf(&cap, "-maxrregcount=%u", job->max_registers);
        options[count++] = cap.data;
    }
    unsigned opt_level = job->syntax_only ? 0 : job->opt_level;
    if (opt_level < 3) {
        /* -O itself accepts only 0 and 3. */
        buf_printf(&level, "%s%u", opt_level == 0 ? "-O" : "-Xptxas=-O", opt_level);
        options[count++] = level.data;
    }
    if (job->line_info)
        options[count++] = "-lineinfo";
    for (size_t i = 0; i < extra; i++)
        options[count++] = arena_printf(arena, "-Xptxas=%s", job->options[i]);
    LinkHandle handle = NULL;
    *result = library->create(&handle, count, options);
    buf_free(&arch);
    buf_free(&cap);
    buf_free(&level);
    arena_free(arena);
    return handle;
}

static void assemble(void *state, const Job *job, Outcome *outcome)
{
    const Library *library = state;
    int result;
    LinkHandle handle = create(library, job, &result);
    bool created = result == LINK_SUCCESS;
    if (created)
        result = library->add_data(handle, LINK_INPUT_PTX, job->ptx, job->size + 1, "input.ptx");
    if (result == LINK_SUCCESS)
        result = library->complete(handle);
    if (handle) {
        take_log(handle, library->error_log_size, library->error_log, &outcome->log);
        take_log(handle, library->info_log_size, library->info_log, &outcome->log);
    }
    if (!created || result == LINK_UNRECOGNIZED_ARCH || result == LINK_UNSUPPORTED_ARCH)
        outcome_fail(outcome, ASSEMBLY_UNAVAILABLE, "refuses to assemble for %s (result %d)",
                     arch_names(job->arch).real, result);
    else if (result != LINK_SUCCESS)
        outcome_fail(outcome, ASSEMBLY_REJECTED, "rejected the PTX (result %d)", result);
    else if (!job->syntax_only)
        take_cubin(library, handle, outcome);
    if (handle)
        library->destroy(&handle);
}

const Engine nvjitlink_engine = {load, assemble};
