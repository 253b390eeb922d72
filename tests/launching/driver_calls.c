/* The driver's functions, as programs use them that load modules themselves: each part prints what is wrong with it.
 * Without CUDA's headers, so that it runs wherever the emulated driver does. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "abi/abi.h"

int cuInit(unsigned flags);
int cuDeviceGetAttribute(int *value, int attribute, int device);
int cuDeviceTotalMem_v2(size_t *size, int device);
int cuDevicePrimaryCtxRetain(void **context, int device);
int cuCtxCreate_v2(void **context, unsigned flags, int device);
int cuCtxDestroy_v2(void *context);
int cuCtxGetCurrent(void **context);
int cuCtxPopCurrent_v2(void **context);
int cuCtxPushCurrent_v2(void *context);
int cuCtxSynchronize(void);
int cuModuleLoadData(void **module, const void *image);
int cuModuleLoadDataEx(void **module, const void *image, unsigned count, int *options, void **values);
int cuModuleUnload(void *module);
int cuModuleGetFunction(void **function, void *module, const char *name);
int cuModuleGetGlobal_v2(uint64_t *address, size_t *size, void *module, const char *name);
int cuMemAlloc_v2(uint64_t *address, size_t size);
int cuMemFree_v2(uint64_t address);
int cuMemHostAlloc(void **address, size_t size, unsigned flags);
int cuMemFreeHost(void *address);
int cuMemGetAddressRange_v2(uint64_t *base, size_t *size, uint64_t address);
int cuPointerGetAttribute(void *data, int attribute, uint64_t address);
int cuMemcpyHtoD_v2(uint64_t to, const void *from, size_t size);
int cuMemcpyDtoH_v2(void *to, uint64_t from, size_t size);
int cuMemcpy2D_v2(const Copy2D *copy);
int cuMemsetD32_v2(uint64_t to, unsigned value, size_t count);
int cuMemsetD2D16_v2(uint64_t to, size_t pitch, unsigned short value, size_t width, size_t height);
int cuLaunchKernel(void *function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x,
                   unsigned block_y, unsigned block_z, unsigned shared, void *stream, void **parameters, void **extra);
int cuFuncGetAttribute(int *value, int attribute, void *function);
int cuOccupancyMaxPotentialBlockSize(int *grid, int *block, void *function, size_t (*shared_of)(int), size_t shared,
                                     int limit);
int cuLinkCreate_v2(unsigned count, int *options, void **values, void **state);
int cuLinkAddData_v2(void *state, int kind, void *data, size_t size, const char *name, unsigned count, int *options,
                     void **values);
int cuLinkComplete(void *state, void **image, size_t *size);
int cuLinkDestroy(void *state);
int cuGetProcAddress_v2(const char *name, void **function, int version, uint64_t flags, int *status);
int cuGetErrorName(int error, const char **name);
int cuGreenCtxCreate(void **context, void *resources, int device, unsigned flags);
int cuEventElapsedTime(float *milliseconds, void *start, void *end);
int cuEventCreate(void **event, unsigned flags);

static const char module_text[] = ".version 8.0\n"
                                  ".target sm_90\n"
                                  ".address_size 64\n"
                                  ".visible .global .align 4 .u32 values[4] = {10, 20, 30, 40};\n"
                                  ".visible .global .align 8 .u64 table[2] = {values, values+4};\n"
                                  ".visible .const .align 4 .u32 factor = 3;\n"
                                  ".visible .entry kernel(.param .u8 kind, .param .u64 result)\n"
                                  "{\n"
                                  ".shared .align 4 .b8 part[2048];\n"
                                  ".reg .b64 %a<3>; .reg .b32 %r<5>;\n"
                                  "ld.param.u64 %a0, [result];\n"
                                  "ld.param.u8 %r0, [kind];\n"
                                  "ld.global.u64 %a1, [table+8];\n"
                                  "ld.global.u32 %r1, [%a1];\n"
                                  "ld.const.u32 %r2, [factor];\n"
                                  "mad.lo.u32 %r1, %r1, %r2, %r0;\n"
                                  "st.u32 [%a0], %r1;\n"
                                  "add.u32 %r2, %r2, 1;\n"
                                  "st.global.u32 [values+4], %r2;\n"
                                  "ret;\n"
                                  "}\n";

static void report(const char *name, int wrong)
{
    printf("%s: %d wrong\n", name, wrong);
}

static void contexts(void)
{
    void *primary, *own = NULL, *now = NULL;
    int wrong = cuDevicePrimaryCtxRetain(&primary, 0);
    wrong += cuCtxGetCurrent(&now) || now;
    wrong += cuCtxPushCurrent_v2(primary) || cuCtxCreate_v2(&own, 0, 0);
    wrong += cuCtxGetCurrent(&now) || now != own;
    wrong += cuCtxPopCurrent_v2(&now) || now != own;
    wrong += cuCtxGetCurrent(&now) || now != primary;
    wrong += cuCtxDestroy_v2(own) != 0;
    report("contexts", wrong);
}

/* Variables with addresses of others, a launch with packed arguments, and host memory that a kernel writes. */
static void modules(void)
{
    void *module, *function;
    unsigned *result, value = 0;
    uint64_t values;
    size_t size;
    int wrong = cuModuleLoadData(&module, module_text) || cuModuleGetFunction(&function, module, "kernel");
    if (wrong) {
        report("modules", wrong);
        return;
    }
    wrong += cuMemHostAlloc((void **)&result, 64, 2);
    wrong += cuModuleGetGlobal_v2(&values, &size, module, "values") || size != 16;
    struct {
        unsigned char kind;
        uint64_t result;
    } packed = {5, (uintptr_t)(result + 1)};
    size_t packed_size = sizeof packed;
    void *extra[] = {(void *)1, &packed, (void *)2, &packed_size, NULL};
    wrong += cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, extra) || cuCtxSynchronize();
    wrong += result[1] != 20 * 3 + 5;
    void *arguments[] = {&packed.kind, &packed.result};
    wrong += cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, NULL, arguments, NULL);
    wrong += result[1] != 4 * 3 + 5;
    wrong += cuMemcpyDtoH_v2(&value, values + 4, 4) || value != 4;
    packed_size = 8;
    wrong += cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, extra) != 1;
    wrong += cuModuleUnload(module) || cuMemcpyDtoH_v2(&value, values, 4) != 1;
    wrong += cuMemFreeHost(result) != 0;
    report("modules", wrong);
}

static void rejected(void)
{
    char log[64] = "", text[] = ".version 8.0\n.target sm_90\n.address_size 64\n.entry broken(\n";
    int options[] = {5, 6};
    void *values[] = {log, (void *)(uintptr_t)sizeof log}, *module;
    int wrong = cuModuleLoadDataEx(&module, text, 2, options, values) != 218;
    wrong += !strstr(log, "error") || log[sizeof log - 1];
    report("a module with an error", wrong);
}

static void links(void)
{
    static char first[] = ".version 8.0\n.target sm_90\n.address_size 64\n.visible .global .u32 shared_value = 7;\n";
    static char second[] =
        ".version 8.0\n.target sm_90\n.address_size 64\n.extern .global .u32 shared_value;\n"
        ".visible .entry reads(.param .u64 to)\n{\n.reg .b64 %a; .reg .b32 %r;\n"
        "ld.param.u64 %a, [to];\nld.global.u32 %r, [shared_value];\nst.global.u32 [%a], %r;\nret;\n}\n";
    void *state, *image, *module, *function;
    uint64_t memory = 0;
    unsigned value = 0;
    size_t size;
    int wrong = cuLinkCreate_v2(0, NULL, NULL, &state);
    wrong += cuLinkAddData_v2(state, 1, first, sizeof first, "first", 0, NULL, NULL);
    wrong += cuLinkAddData_v2(state, 1, second, sizeof second, "second", 0, NULL, NULL);
    wrong += cuLinkComplete(state, &image, &size) || cuModuleLoadData(&module, image) || cuLinkDestroy(state);
    if (wrong) {
        report("linked modules", wrong);
        return;
    }
    wrong += cuModuleGetFunction(&function, module, "reads") || cuMemAlloc_v2(&memory, 4);
    void *arguments[] = {&memory};
    wrong += cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, NULL, arguments, NULL);
    wrong += cuMemcpyDtoH_v2(&value, memory, 4) || value != 7;
    wrong += cuMemFree_v2(memory) || cuModuleUnload(module);
    report("linked modules", wrong);
}

static void copies(void)
{
    unsigned short host[4][8], back[2][3];
    uint64_t memory, base;
    size_t size;
    int wrong = cuMemAlloc_v2(&memory, sizeof host), kind = 0;
    for (int i = 0; i < 32; i++)
        host[0][i] = (unsigned short)i;
    wrong += cuMemcpyHtoD_v2(memory, host, sizeof host);
    wrong += cuMemsetD2D16_v2(memory + 2, sizeof host[0], 99, 1, 4);
    const Copy2D copy = {.from = {.x = 2, .y = 1, .memory = MEMORY_DEVICE, .device = memory, .pitch = sizeof host[0]},
                         .to = {.memory = MEMORY_HOST, .host = back, .pitch = sizeof back[0]},
                         .width = sizeof back[0],
                         .height = 2};
    wrong += cuMemcpy2D_v2(&copy);
    wrong += back[0][0] != 99 || back[0][1] != 10 || back[1][0] != 99 || back[1][2] != 19;
    wrong += cuMemGetAddressRange_v2(&base, &size, memory + 5) || base != memory || size != sizeof host;
    wrong += cuPointerGetAttribute(&kind, 2, memory + 5) || kind != MEMORY_DEVICE;
    wrong += cuPointerGetAttribute(&kind, 2, (uintptr_t)host) != 1;
    wrong += cuMemsetD32_v2(memory + 2, 1, 1) != 1 || cuMemcpyHtoD_v2(memory + 1, host, sizeof host) != 1;
    wrong += cuMemFree_v2(memory + 4) != 1 || cuMemFree_v2(memory) || cuMemFree_v2(memory) != 1;
    report("copies", wrong);
}

/* By version: the first form has other parameters. */
static void entries(void)
{
    void *older, *newer, *function;
    float milliseconds;
    void *event;
    int status = 5;
    int wrong = cuGetProcAddress_v2("cuCtxCreate", &older, 11000, 0, NULL);
    wrong += cuGetProcAddress_v2("cuCtxCreate", &newer, 13000, 0, NULL) || older == newer;
    wrong += older != (void *)cuCtxCreate_v2;
    wrong += cuGetProcAddress_v2("cuNoSuchFunction", &function, 13000, 0, &status) != 500 || function || status != 1;
    const char *name;
    wrong += cuGetErrorName(700, &name) || strcmp(name, "CUDA_ERROR_ILLEGAL_ADDRESS") != 0;
    wrong += cuGetErrorName(123456, &name) != 1;
    wrong += cuEventCreate(&event, 0) || cuEventElapsedTime(&milliseconds, event, event) != 400;
    wrong += cuGreenCtxCreate(&function, NULL, 0, 0) != 801;
    report("entry points and errors", wrong);
}

static void kernels(void)
{
    void *module, *function;
    int registers = 0, shared = 0, constant = 0, grid, block, least = 0;
    int wrong = cuModuleLoadData(&module, module_text) || cuModuleGetFunction(&function, module, "kernel");
    if (wrong) {
        report("attributes", wrong);
        return;
    }
    wrong += cuFuncGetAttribute(&shared, 1, function) || cuFuncGetAttribute(&constant, 2, function);
    wrong += cuFuncGetAttribute(&registers, 4, function) || cuFuncGetAttribute(&least, 99, function) != 1;
    printf("kernel: %d registers, %d bytes shared, %d constant\n", registers, shared, constant);
    wrong += cuOccupancyMaxPotentialBlockSize(&grid, &block, function, NULL, 0, 0) || block != 1024 || grid != 4;
    wrong += cuOccupancyMaxPotentialBlockSize(&grid, &block, function, NULL, 0, 96) || block != 64 || grid != 64;
    report("attributes", wrong);
}

int main(void)
{
    if (cuInit(0))
        return 1;
    contexts();
    modules();
    rejected();
    links();
    copies();
    entries();
    kernels();
    return 0;
}
