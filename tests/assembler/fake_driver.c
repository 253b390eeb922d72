// A CUDA driver without a GPU, for test_assembler_faults: one device, sm_90, "Fake GPU". It compiles nothing: the
// cubin of every link is the file $FAKE_CUBIN, and each function has the same attributes.  $FAKE_MODE makes it fail in
// one way; $FAKE_RECORD is a file to which it writes the options of each compilation.
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int mode_is(const char *name)
{
    const char *mode = getenv("FAKE_MODE");
    return mode && strcmp(mode, name) == 0;
}

static const char words[] = "ptxas info    : 0 bytes gmem\n"
                            "ptxas info    : Compiling entry function 'first' for 'sm_90'\n"
                            "ptxas info    : Function properties for first\n"
                            "ptxas         .     0 bytes stack frame, 4 bytes spill stores, 8 bytes spill loads\n"
                            "ptxas info    : Used 20 registers, 360 bytes cmem[0]\n";

static void record(const char *doing, unsigned count, const int *options, void *const *values)
{
    const char *path = getenv("FAKE_RECORD");
    FILE *file = path ? fopen(path, "a") : NULL;
    if (!file)
        return;
    fprintf(file, "%s", doing);
    for (unsigned i = 0; i < count; i++)
        if (options[i] != 3 && options[i] != 5)
            fprintf(file, " %d=%lu", options[i], (unsigned long)(uintptr_t)values[i]);
    fprintf(file, "\n");
    fclose(file);
}

// The value of an option: 3 is the information log, 5 the error log.
static void *value_of(unsigned count, const int *options, void *const *values, int wanted)
{
    for (unsigned i = 0; i < count; i++)
        if (options[i] == wanted)
            return values[i];
    return NULL;
}

int cuInit(unsigned flags)
{
    return flags || mode_is("no-init") ? 100 : 0;
}

int cuDriverGetVersion(int *version)
{
    *version = 13000;
    return 0;
}

int cuDeviceGetCount(int *count)
{
    *count = mode_is("no-device") ? 0 : 1;
    return 0;
}

int cuDeviceGet(int *device, int ordinal)
{
    *device = ordinal + 7;
    return 0;
}

int cuDeviceGetName(char *name, int length, int device)
{
    snprintf(name, (size_t)length, device == 7 ? "Fake GPU" : "?");
    return 0;
}

int cuDeviceGetAttribute(int *value, int attribute, int device)
{
    *value = attribute == 75 ? (mode_is("other-device") ? 8 : 9) : 0;
    return device == 7 ? 0 : 101;
}

int cuDevicePrimaryCtxRetain(void **context, int device)
{
    *context = &*context;
    return device != 7 || mode_is("no-context") ? 2 : 0;
}

int cuCtxSetCurrent(void *context)
{
    return context ? 0 : 201;
}

int cuModuleLoadDataEx(void **module, const void *image, unsigned count, int *options, void **values)
{
    record("load", count, options, values);
    int is_probe = strstr(image, "ptxopt_probe") != NULL;
    if (!is_probe && mode_is("hang"))
        sleep(1000);
    if (!is_probe && mode_is("crash"))
        *(volatile int *)0 = 1;
    if (!is_probe && mode_is("reject")) {
        strcpy(value_of(count, options, values, 5), "ptxas application ptx input, line 5; error   : No such thing");
        return 218;
    }
    if (!is_probe && mode_is("old"))
        return 222;
    *module = strdup("module");
    if (!mode_is("quiet-load"))
        strcpy(value_of(count, options, values, 3), words);
    return 0;
}

int cuModuleUnload(void *module)
{
    free(module);
    return 0;
}

int cuModuleGetFunction(void **function, void *module, const char *name)
{
    *function = name[0] ? module : NULL;
    return *function ? 0 : 500;
}

int cuFuncGetAttribute(int *value, int attribute, void *function)
{
    static const int values[] = {1024, 512, 64, 48, 33};
    if (!function || attribute < 0 || attribute > 4)
        return 1;
    *value = values[attribute];
    return 0;
}

static char *info_log;
static void *cubin;

int cuLinkCreate_v2(unsigned count, int *options, void **values, void **link)
{
    record("link", count, options, values);
    info_log = value_of(count, options, values, 3);
    *link = strdup("link");
    return 0;
}

int cuLinkAddData_v2(void *link, int type, void *data, size_t size, const char *name, unsigned count, int *options,
                     void **values)
{
    (void)name, (void)options, (void)values;
    const char *text = data;
    return link && type == 1 && count == 0 && size > 0 && text[size - 1] == 0 ? 0 : 1;
}

int cuLinkComplete(void *link, void **bytes, size_t *size)
{
    strcpy(info_log, words);
    FILE *file = mode_is("no-cubin") ? NULL : fopen(getenv("FAKE_CUBIN"), "rb");
    cubin = malloc(1 << 20);
    *bytes = cubin;
    *size = file ? fread(cubin, 1, 1 << 20, file) : 0;
    if (file)
        fclose(file);
    return link ? 0 : 1;
}

int cuLinkDestroy(void *link)
{
    free(cubin);
    free(link);
    cubin = NULL;
    return 0;
}

#ifndef WITHOUT_ERROR_NAME
int cuGetErrorName(int error, const char **name)
{
    *name = error == 100 ? "CUDA_ERROR_NO_DEVICE" : NULL;
    return *name ? 0 : 1;
}
#endif
