/* A program that uses the CUDA driver: loads a module and launches its kernel 'reverse'.
 *
 * driver WAY FILE.ptx BLOCK
 * linked, dlsym, proc: how it finds the driver's functions; header: it adapts the launch itself by ptxopt-launch.h.
 * library, enumerated, again: where it has the kernel from; ex, cooperative, graph, changed, first, any, older: what
 * launches it; asks: prints what it is told of such a block instead. */
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

int cuGetProcAddress_v2(const char *name, void **function, int version, uint64_t flags, int *status);
int cuLibraryLoadData(void **library, const void *image, void *options, void *values, unsigned count,
                      void *library_options, void *library_values, unsigned library_count);
int cuLibraryGetKernel(void **kernel, void *library, const char *name);
int cuModuleUnload(void *module);
int cuModuleEnumerateFunctions(void **functions, unsigned count, void *module);

enum { BLOCKS = 6, MOST = 1024 };

static unsigned shared; /* bytes of dynamic shared memory */

typedef struct Node {
    void *function;
    unsigned grid[3], block[3], shared;
    void **arguments, **extra;
    void *kernel, *context;
} Node;

typedef struct AnyNode {
    int type, reserved[3];
    union {
        long long padding[29];
        Node kernel;
    };
    long long more_padding;
} AnyNode;

static int is(const char *way, const char *name)
{
    return strcmp(way, name) == 0;
}

/* A function of the driver, as libraries of a version of CUDA ask for it. */
static void *ask_of(const char *name, int version)
{
    void *function = NULL;
    return cuGetProcAddress_v2(name, &function, version, 0, NULL) == 0 ? function : NULL;
}

static void *ask(const char *name)
{
    return ask_of(name, 13000);
}

/* By a graph of one node, which is added, or got, changed and set, before or after the graph is instantiated. */
static int launch_graph(const char *way, void *function, const unsigned block[3], void **arguments)
{
    const int version = is(way, "first") ? 11000 : 13000;
    int (*create)(void **, unsigned) = ask("cuGraphCreate");
    int (*add)(void **, void *, void *const *, size_t, const Node *) = ask_of("cuGraphAddKernelNode", version);
    int (*add_any)(void **, void *, void *const *, const void *, size_t, AnyNode *) = ask("cuGraphAddNode");
    int (*add_older)(void **, void *, void *const *, size_t, AnyNode *) = ask_of("cuGraphAddNode", 12020);
    int (*get)(void *, Node *) = ask_of("cuGraphKernelNodeGetParams", version);
    int (*get_any)(void *, AnyNode *) = ask("cuGraphNodeGetParams");
    int (*set)(void *, const Node *) = ask_of("cuGraphKernelNodeSetParams", version);
    int (*set_any)(void *, AnyNode *) = ask("cuGraphNodeSetParams");
    int (*set_instance)(void *, void *, const Node *) = ask_of("cuGraphExecKernelNodeSetParams", version);
    int (*set_instance_any)(void *, void *, AnyNode *) = ask("cuGraphExecNodeSetParams");
    int (*instantiate)(void **, void *, unsigned long long) = ask("cuGraphInstantiateWithFlags");
    int (*launch)(void *, void *) = ask("cuGraphLaunch");
    const int is_any = is(way, "any") || is(way, "older"), is_changed = !is(way, "graph");
    AnyNode any = {.kernel = {function, {BLOCKS, 1, 1}, {block[0], 1, 1}, shared, arguments, NULL, NULL, NULL}};
    AnyNode now = {0};
    void *graph, *node, *instance;
    if (create(&graph, 0) || (is(way, "any")     ? add_any(&node, graph, NULL, NULL, 0, &any)
                              : is(way, "older") ? add_older(&node, graph, NULL, 0, &any)
                                                 : add(&node, graph, NULL, 0, &any.kernel)))
        return 1;
    enum { ALLOCATION = 10, SIZE = 13, ADDRESS = 14 }; /* the driver writes the address into the node */
    AnyNode memory = {.type = ALLOCATION, .padding = {[SIZE] = 256}};
    void *memory_node;
    if (is_any && ((is(way, "any") ? add_any(&memory_node, graph, NULL, NULL, 0, &memory)
                                   : add_older(&memory_node, graph, NULL, 0, &memory)) ||
                   !memory.padding[ADDRESS]))
        return 6;
    if ((is_any ? get_any(node, &now) : get(node, &now.kernel)) || now.kernel.block[0] != block[0] ||
        now.kernel.grid[0] != BLOCKS || now.kernel.shared < shared)
        return 2;
    any.kernel.grid[0] = 2 * BLOCKS; /* which is wrong, and set right again */
    if (is_changed && (is_any ? set_any(node, &any) || set_any(node, &now)
                              : set(node, &any.kernel) || set(node, &now.kernel)))
        return 3;
    if (instantiate(&instance, graph, 0))
        return 4;
    if (is_changed && (is_any ? set_instance_any(instance, node, &any) || set_instance_any(instance, node, &now)
                              : set_instance(instance, node, &any.kernel) || set_instance(instance, node, &now.kernel)))
        return 5;
    return launch(instance, NULL);
}

typedef struct Config {
    unsigned grid[3], block[3], shared;
    void *stream, *attributes;
    unsigned attribute_count;
} Config;

static int launch_config(void *function, const unsigned block[3], void **arguments)
{
    const Config config = {{BLOCKS, 1, 1}, {block[0], block[1], block[2]}, shared, NULL, NULL, 0};
    int (*launch)(const void *, void *, void **, void **) = ask("cuLaunchKernelEx");
    return launch(&config, function, arguments, NULL);
}

static int launch_cooperative(void *function, const unsigned block[3], void **arguments)
{
    int (*launch)(void *, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void *, void **) =
        ask("cuLaunchCooperativeKernel");
    return launch(function, BLOCKS, 1, 1, block[0], block[1], block[2], shared, NULL, arguments);
}

/* The same for each block that is not coarsened, whichever kernel the module has. */
static void print_answers(void *function, const unsigned block[3])
{
    const Config config = {{BLOCKS, 1, 1}, {block[0], block[1], block[2]}, 0, NULL, NULL, 0};
    int (*occupancy)(int *, void *, int, size_t) = ask("cuOccupancyMaxActiveBlocksPerMultiprocessor");
    int (*with_flags)(int *, void *, int, size_t, unsigned) =
        ask("cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags");
    int (*available)(size_t *, void *, int, int) = ask("cuOccupancyAvailableDynamicSMemPerBlock");
    int (*best)(int *, int *, void *, size_t (*)(int), size_t, int) = ask("cuOccupancyMaxPotentialBlockSize");
    int (*clusters)(int *, void *, const Config *) = ask("cuOccupancyMaxActiveClusters");
    int (*cluster_size)(int *, void *, const Config *) = ask("cuOccupancyMaxPotentialClusterSize");
    int (*set)(void *, int, int) = ask("cuFuncSetAttribute");
    int blocks = -1, flagged = -1, grid = -1, threads = -1, count = -1, size = -1;
    size_t free = 0;
    int error = occupancy(&blocks, function, (int)block[0], 0) ||
                with_flags(&flagged, function, (int)block[0], 0, 0) ||
                available(&free, function, 2, (int)block[0]) || best(&grid, &threads, function, NULL, 0, 0) ||
                clusters(&count, function, &config) || cluster_size(&size, function, &config) ||
                set(function, 8, 100 << 10);
    printf("error %d: %d or %d blocks of %u threads, %zu bytes, best %d, %d clusters of %d\n", error, blocks, flagged,
           block[0], free, threads, count, size);
}

static int adapt(void *module, unsigned grid[3], unsigned block[3])
{
    uint32_t words[PTXOPT_CONTRACT_WORDS];
    uint64_t address;
    size_t size, bytes = shared;
    char message[200];
    if (cuModuleGetGlobal_v2(&address, &size, module, "__ptxopt_launch_reverse") != 0 || size != sizeof words)
        return 1;
    cuMemcpyDtoH_v2(words, address, size);
    if (ptxopt_launch_adapt_grid(words, grid, block, &bytes, message, sizeof message)) {
        shared = (unsigned)bytes;
        return 1;
    }
    printf("not allowed: %s\n", message);
    return 0;
}

static int read_text(const char *path, char *text, size_t room)
{
    FILE *file = fopen(path, "rb");
    size_t size = file ? fread(text, 1, room - 1, file) : 0;
    text[size] = 0;
    if (file)
        fclose(file);
    return size == 0;
}

int main(int argc, char **argv)
{
    static char text[1 << 20];
    static float in[BLOCKS * MOST], out[BLOCKS * MOST];
    if (argc < 4)
        return 2;
    if (read_text(argv[2], text, sizeof text))
        return 2;
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
    unsigned grid[3] = {BLOCKS, 1, 1}, block[3] = {(unsigned)atoi(argv[3]), 1, 1}, threads = block[0], wrong = 0;
    shared = threads * (unsigned)sizeof *in;
    uint64_t a, b;
    void *module, *function, *arguments[] = {&a, &b};
    if (cuInit(0) || cuModuleLoadData(&module, text))
        return 3;
    if (is(argv[1], "library")) {
        if (cuLibraryLoadData(&library, text, NULL, NULL, 0, NULL, NULL, 0) ||
            cuLibraryGetKernel(&function, library, "reverse"))
            return 3;
    } else if (is(argv[1], "enumerated")) {
        if (cuModuleEnumerateFunctions(&function, 1, module))
            return 3;
    } else if (is(argv[1], "again")) { /* a module of another file, whose handles may be those of the first */
        if (argc < 5 || cuModuleEnumerateFunctions(&function, 1, module) ||
            launch(function, 1, 1, 1, 1024, 1, 1, 1 << 30, NULL, arguments, NULL) == 0 || cuModuleUnload(module) ||
            read_text(argv[4], text, sizeof text) || cuModuleLoadData(&module, text) ||
            cuModuleEnumerateFunctions(&function, 1, module))
            return 3;
    } /* More than once, as some programs do. */
    else if (get_function(&function, module, "reverse") || get_function(&function, module, "reverse"))
        return 3;
    for (unsigned i = 0; i < BLOCKS * threads; i++)
        in[i] = (float)i;
    cuMemAlloc_v2(&a, sizeof in);
    cuMemAlloc_v2(&b, sizeof in);
    cuMemcpyHtoD_v2(a, in, sizeof in);
    if (strcmp(argv[1], "header") == 0 && !adapt(module, grid, block))
        return 4;
    if (is(argv[1], "asks"))
        print_answers(function, block);
    shared = is(argv[1], "asks") ? 100 << 10 : shared;
    int error = is(argv[1], "ex")            ? launch_config(function, block, arguments)
                : is(argv[1], "cooperative") ? launch_cooperative(function, block, arguments)
                : is(argv[1], "graph") || is(argv[1], "changed") || is(argv[1], "first") || is(argv[1], "any") ||
                        is(argv[1], "older")
                    ? launch_graph(argv[1], function, block, arguments)
                    : launch(function, grid[0], 1, 1, block[0], 1, 1, shared, NULL, arguments, NULL);
    cuMemcpyDtoH_v2(out, b, sizeof out);
    for (unsigned i = 0; i < BLOCKS * threads; i++)
        wrong += out[i] != in[i / threads * threads + threads - 1 - i % threads];
    printf("error %d, %u wrong\n", error, wrong);
    return wrong != 0;
}
