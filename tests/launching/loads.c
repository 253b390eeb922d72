/* A program of the CUDA driver that loads a kernel 'step' and a variable 'offset' in one of the ways there are,
 * launches the kernel, and compares all of its data, the variable, and what the driver was asked for.
 *
 * loads WAY FILE LAUNCHES [FILE]: text, options, file, library, kept, library_file, link, link_file, requested.
 * link adds the second file, too. Prints "N wrong". */
#include <dlfcn.h>
#include <errno.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

int cuInit(unsigned flags);
int cuDevicePrimaryCtxRetain(void **context, int device);
int cuCtxSetCurrent(void *context);
int cuModuleLoad(void **module, const char *path);
int cuModuleLoadData(void **module, const void *image);
int cuModuleLoadDataEx(void **module, const void *image, unsigned count, int *options, void **values);
int cuModuleGetFunction(void **function, void *module, const char *name);
int cuModuleGetGlobal_v2(uint64_t *address, size_t *size, void *module, const char *name);
int cuLibraryLoadData(void **library, const void *image, int *options, void **values, unsigned count, int *own,
                      void **own_values, unsigned own_count);
int cuLibraryLoadFromFile(void **library, const char *path, int *options, void **values, unsigned count, int *own,
                          void **own_values, unsigned own_count);
int cuLibraryGetKernel(void **kernel, void *library, const char *name);
int cuLibraryGetGlobal(uint64_t *address, size_t *size, void *library, const char *name);
int cuLinkCreate_v2(unsigned count, int *options, void **values, void **link);
int cuLinkAddData_v2(void *link, int kind, void *data, size_t size, const char *name, unsigned count, int *options,
                     void **values);
int cuLinkAddFile_v2(void *link, int kind, const char *path, unsigned count, int *options, void **values);
int cuLinkComplete(void *link, void **image, size_t *size);
int cuLinkDestroy(void *link);
int cuMemAlloc_v2(uint64_t *address, size_t size);
int cuMemcpyHtoD_v2(uint64_t to, const void *from, size_t size);
int cuMemcpyDtoH_v2(void *to, uint64_t from, size_t size);
int cuLaunchKernel(void *function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x,
                   unsigned block_y, unsigned block_z, unsigned shared, void *stream, void **parameters, void **extra);

enum { COUNT = 4096, BLOCK = 128 };
enum { ERROR_LOG = 5, ERROR_LOG_SIZE = 6, PTX = 1, BINARY_IS_PRESERVED = 1 };

static void check(int error, const char *what)
{
    if (error) {
        printf("%s: error %d\n", what, error);
        exit(1);
    }
}

static char *read_file(const char *path, size_t *size)
{
    FILE *file = fopen(path, "rb");
    char *text = calloc(1, 1 << 20);
    *size = file && text ? fread(text, 1, (1 << 20) - 1, file) : 0;
    if (!*size) {
        printf("cannot read %s\n", path);
        exit(1);
    }
    fclose(file);
    return text;
}

static int is(const char *way, const char *name)
{
    return strcmp(way, name) == 0;
}

/* With the driver's log, which it writes only if it refuses the image. */
static void *load_with_options(const void *image)
{
    static char log[4000];
    int options[] = {ERROR_LOG, ERROR_LOG_SIZE};
    void *values[] = {log, (void *)sizeof log}, *module = NULL;
    const int error = cuModuleLoadDataEx(&module, image, 2, options, values);
    if (error) {
        printf("log of %zu bytes: %s\n", (size_t)(uintptr_t)values[1], log);
        exit(1);
    }
    return module;
}

static void *load_linked(char *const *files, int count, int by_name)
{
    void *link, *image, *module;
    size_t size;
    check(cuLinkCreate_v2(0, NULL, NULL, &link), "link");
    for (int i = 0; i < count; i++) {
        char *text = read_file(files[i], &size);
        check(by_name ? cuLinkAddFile_v2(link, PTX, files[i], 0, NULL, NULL)
                      : cuLinkAddData_v2(link, PTX, text, size + 1, files[i], 0, NULL, NULL),
              "input");
        free(text);
    }
    check(cuLinkComplete(link, &image, &size), "linking");
    check(cuModuleLoadData(&module, image), "module");
    check(cuLinkDestroy(link), "end of the link");
    return module;
}

/* The function as a program gets it that asks for it by name. */
static void *load_requested(const void *image)
{
    int (*ask)(const char *, void **, int, uint64_t, int *) = NULL;
    int (*load)(void **, const void *) = NULL;
    void *driver = dlopen("libcuda.so.1", RTLD_NOW), *module;
    *(void **)&ask = driver ? dlsym(driver, "cuGetProcAddress_v2") : NULL;
    check(!ask || ask("cuModuleLoadData", (void **)&load, 12000, 0, NULL) || !load, "cuGetProcAddress");
    check(load(&module, image), "module");
    return module;
}

int main(int argc, char **argv)
{
    static uint32_t expected[COUNT], actual[COUNT];
    int preserved = BINARY_IS_PRESERVED;
    void *context, *module, *function, *yes = (void *)1;
    uint64_t data, address = 0;
    size_t size = 0;
    unsigned count = COUNT, offset = 0, wrong = 0;
    if (argc < 4)
        return 2;
    const char *way = argv[1];
    char *const files[] = {argv[2], argv[4]};
    if (getenv("IGNORES_CHILDREN"))
        signal(SIGCHLD, SIG_IGN);
    char *image = read_file(argv[2], &size);
    check(cuInit(0), "initialization");
    check(cuDevicePrimaryCtxRetain(&context, 0), "context");
    check(cuCtxSetCurrent(context), "context");
    const int is_library = is(way, "library") || is(way, "kept") || is(way, "library_file");
    if (is(way, "library_file"))
        check(cuLibraryLoadFromFile(&module, argv[2], NULL, NULL, 0, NULL, NULL, 0), "library");
    else if (is_library)
        check(cuLibraryLoadData(&module, image, NULL, NULL, 0, &preserved, &yes, is(way, "kept")), "library");
    else if (is(way, "file"))
        check(cuModuleLoad(&module, argv[2]), "module");
    else if (is(way, "text"))
        check(cuModuleLoadData(&module, image), "module");
    else
        module = is(way, "options")     ? load_with_options(image)
                 : is(way, "requested") ? load_requested(image)
                                        : load_linked(files, argc > 4 ? 2 : 1, is(way, "link_file"));
    if (!is(way, "kept")) /* the driver has copied it */
        memset(image, 'x', size);
    if (is_library) {
        check(cuLibraryGetKernel(&function, module, "step"), "kernel");
        check(cuLibraryGetGlobal(&address, &size, module, "offset"), "variable");
    } else {
        check(cuModuleGetFunction(&function, module, "step"), "function");
        check(cuModuleGetGlobal_v2(&address, &size, module, "offset"), "variable");
    }
    check(cuMemcpyDtoH_v2(&offset, address, sizeof offset), "copy of the variable");
    wrong += offset != 3 || size != sizeof offset;
    check(cuMemAlloc_v2(&data, sizeof expected), "allocation");
    check(cuMemcpyHtoD_v2(data, expected, sizeof expected), "copy");
    for (int launches = atoi(argv[3]); launches > 0; launches--) {
        void *arguments[] = {&data, &count};
        check(cuLaunchKernel(function, COUNT / BLOCK, 1, 1, BLOCK, 1, 1, 0, NULL, arguments, NULL), "launch");
        for (unsigned i = 0; i < COUNT; i++)
            expected[i] = expected[i] * 5 + i;
    }
    check(cuMemcpyDtoH_v2(actual, data, sizeof actual), "copy back");
    for (unsigned i = 0; i < COUNT; i++)
        wrong += actual[i] != expected[i];
    wrong += waitpid(-1, NULL, WNOHANG) != -1 || errno != ECHILD; /* nothing is left of any child */
    printf("%u wrong\n", wrong);
    return wrong > 0;
}
