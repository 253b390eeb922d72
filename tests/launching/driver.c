/* A program that uses the CUDA driver: loads a module and launches its kernel 'reverse'.
 *
 * driver linked|dlsym|proc|header FILE.ptx BLOCK: how it finds the driver's functions; header: it adapts the launch
 * itself by ptxopt-launch.h. */
#include <dlfcn.h>
#include <ptxopt-launch.h>
#include <stdlib.h>

int cuInit(unsigned flags);
int cuModuleLoadData(void **module, const void *image);
int cuModuleGetFunction(void **function, void *module, const char *name);
int cuModuleGetGlobal_v2(uint64_t *address, size_t *size, void *module, const char *name);
int cuMemAlloc_v2(uint64_t *address, size_t size);
int cuMemcpyHtoD_v2(uint64_t to, const void *from, size_t size);
int cuMemcpyDtoH_v2(void *to, uint64_t from, size_t size);
int cuLaunchKernel(void *function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x,
                   unsigned block_y, unsigned block_z, unsigned shared, void *stream, void **parameters, void **extra);

enum { BLOCKS = 3, MOST = 1024 };

static int adapt(void *module, unsigned block[3])
{
    uint32_t words[PTXOPT_CONTRACT_WORDS];
    uint64_t address;
    size_t size;
    char message[200];
    if (cuModuleGetGlobal_v2(&address, &size, module, "__ptxopt_launch_reverse") != 0 || size != sizeof words)
        return 1;
    cuMemcpyDtoH_v2(words, address, size);
    if (ptxopt_launch_adapt(words, block, message, sizeof message))
        return 1;
    printf("not allowed: %s\n", message);
    return 0;
}

int main(int argc, char **argv)
{
    static char text[1 << 20];
    static float in[BLOCKS * MOST], out[BLOCKS * MOST];
    if (argc < 4)
        return 2;
    FILE *file = fopen(argv[2], "rb");
    if (!file || !fread(text, 1, sizeof text - 1, file))
        return 2;
    fclose(file);
    int (*get_function)(void **, void *, const char *) = cuModuleGetFunction;
    __typeof__(&cuLaunchKernel) launch = cuLaunchKernel;
    void *library = dlopen("libcuda.so.1", RTLD_NOW);
    if (strcmp(argv[1], "dlsym") == 0) {
        *(void **)&get_function = dlsym(library, "cuModuleGetFunction");
        *(void **)&launch = dlsym(library, "cuLaunchKernel");
    } else if (strcmp(argv[1], "proc") == 0) {
        int (*get)(const char *, void **, int, uint64_t, int *);
        *(void **)&get = dlsym(library, "cuGetProcAddress_v2");
        if (get("cuModuleGetFunction", (void **)&get_function, 12000, 0, NULL) ||
            get("cuLaunchKernel", (void **)&launch, 12000, 0, NULL))
            return 3;
    }
    unsigned block[3] = {(unsigned)atoi(argv[3]), 1, 1}, threads = block[0], wrong = 0;
    uint64_t a, b;
    void *module, *function, *arguments[] = {&a, &b};
    if (cuInit(0) || cuModuleLoadData(&module, text))
        return 3;
    /* More than once, as some programs do. */
    if (get_function(&function, module, "reverse") || get_function(&function, module, "reverse"))
        return 3;
    for (unsigned i = 0; i < BLOCKS * threads; i++)
        in[i] = (float)i;
    cuMemAlloc_v2(&a, sizeof in);
    cuMemAlloc_v2(&b, sizeof in);
    cuMemcpyHtoD_v2(a, in, sizeof in);
    if (strcmp(argv[1], "header") == 0 && !adapt(module, block))
        return 4;
    int error = launch(function, BLOCKS, 1, 1, block[0], 1, 1, 0, NULL, arguments, NULL);
    cuMemcpyDtoH_v2(out, b, sizeof out);
    for (unsigned i = 0; i < BLOCKS * threads; i++)
        wrong += out[i] != in[i / threads * threads + threads - 1 - i % threads];
    printf("error %d, %u wrong\n", error, wrong);
    return wrong != 0;
}
