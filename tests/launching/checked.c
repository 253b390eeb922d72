/* A program whose kernels may have faults: checked FILE.ptx STEP... Each step prints its name and the error that it
 * returns. */
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int cuInit(unsigned flags);
int cuDevicePrimaryCtxRetain(void **context, int device);
int cuCtxSetCurrent(void *context);
int cuModuleLoad(void **module, const char *path);
int cuModuleGetFunction(void **function, void *module, const char *name);
int cuModuleGetGlobal_v2(uint64_t *address, size_t *size, void *module, const char *name);
int cuMemAlloc_v2(uint64_t *address, size_t size);
int cuMemAllocManaged(uint64_t *address, size_t size, unsigned flags);
int cuMemcpyHtoD_v2(uint64_t to, const void *from, size_t size);
int cuMemcpyDtoH_v2(void *to, uint64_t from, size_t size);
int cuMemcpyDtoD_v2(uint64_t to, uint64_t from, size_t size);
int cuMemsetD32_v2(uint64_t to, unsigned value, size_t count);
int cuMemsetD2D32_v2(uint64_t to, size_t pitch, unsigned value, size_t width, size_t height);
int cuLaunchKernel(void *function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x,
                   unsigned block_y, unsigned block_z, unsigned shared, void *stream, void **parameters, void **extra);
int cuGetExportTable(const void **table, const void *id);

enum { THREADS = 64, BYTES = 4 * THREADS };

static void *module;

static uint64_t allocate(void)
{
    uint64_t address = 0;
    cuMemAlloc_v2(&address, BYTES);
    return address;
}

static int launch(const char *kernel, uint64_t to, uint64_t from)
{
    void *function = NULL, *arguments[] = {&to, &from};
    cuModuleGetFunction(&function, module, kernel);
    return cuLaunchKernel(function, 1, 1, 1, THREADS, 1, 1, 0, NULL, arguments, NULL);
}

/* The last step reads what 'written' bytes of it, in a memory of BYTES, were written to, by another copy. */
static int copy_of_part(size_t written)
{
    uint64_t part = allocate(), whole = allocate();
    cuMemsetD32_v2(part, 1, written / 4);
    cuMemsetD32_v2(whole, 1, THREADS);
    cuMemcpyDtoD_v2(whole, part, BYTES);
    return launch("copy", allocate(), whole);
}

/* A kernel stores after the end of a memory, and the next one reads it there. */
static int copy_outside(uint64_t to, uint64_t from)
{
    unsigned char sent[BYTES], bytes[BYTES] = {0};
    memset(sent, 7, BYTES);
    cuMemcpyHtoD_v2(from, sent, BYTES);
    int error = launch("copy", from + BYTES, from);
    error = error ? error : launch("copy", to, from + BYTES);
    error = error ? error : cuMemcpyDtoH_v2(bytes, to, BYTES);
    return error ? error : memcmp(sent, bytes, BYTES);
}

static int step(const char *name)
{
    unsigned char bytes[BYTES] = {0};
    uint64_t to = allocate(), from = allocate();
    if (strcmp(name, "copy") == 0) { /* what the host has written, and then a kernel */
        cuMemcpyHtoD_v2(from, bytes, BYTES);
        int error = launch("copy", to, from);
        return error ? error : launch("copy", allocate(), to);
    }
    if (strcmp(name, "back") == 0) {
        cuMemcpyHtoD_v2(from, "0123", 4);
        return cuMemcpyDtoH_v2(bytes, from, 4);
    }
    if (strcmp(name, "unwritten") == 0)
        return launch("copy", to, from);
    if (strcmp(name, "part") == 0)
        return copy_of_part(BYTES - 4);
    if (strcmp(name, "whole") == 0)
        return copy_of_part(BYTES);
    if (strcmp(name, "rows") == 0) { /* the last byte of each row but the last is not filled */
        cuMemsetD2D32_v2(from, 32, 1, 7, 8);
        return launch("copy", to, from);
    }
    if (strcmp(name, "managed") == 0) {
        cuMemAllocManaged(&from, BYTES, 1);
        return launch("copy", to, from);
    }
    if (strcmp(name, "beyond") == 0)
        return launch("copy", to, from + 4);
    if (strcmp(name, "before") == 0)
        return launch("copy", to, to - 4);
    if (strcmp(name, "far") == 0)
        return launch("copy", to, from + (4 << 20));
    if (strcmp(name, "outside") == 0)
        return copy_outside(to, from);
    if (strcmp(name, "race") == 0 || strcmp(name, "divide") == 0)
        return launch(name, to, 0);
    if (strcmp(name, "foreign") == 0) /* as NVIDIA's runtime begins */
        return cuGetExportTable((const void **)&from,
                                "\x6b\xd5\xfb\x6c\x5b\xf4\xe7\x4a\x89\x87\xd9\x39\x12\xfd\x9d\xf9");
    if (strcmp(name, "killed") == 0)
        raise(SIGTERM);
    return atoi(name) ? (exit(atoi(name)), 0) : -1;
}

int main(int argc, char **argv)
{
    void *context;
    if (argc < 2 || cuInit(0) || cuDevicePrimaryCtxRetain(&context, 0) || cuCtxSetCurrent(context) ||
        cuModuleLoad(&module, argv[1]))
        return 99;
    for (int i = 2; i < argc; i++) {
        int error = step(argv[i]);
        printf("%s: %d\n", argv[i], error);
        fflush(stdout);
    }
    return 0;
}
