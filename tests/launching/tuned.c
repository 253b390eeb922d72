/* A program of the CUDA driver whose kernel 'step' changes its data in place: a launch that is left out, made twice or
 * wrong shows in the result. After each launch, or at the end where launches are in flight together, it compares all of
 * the data, and prints "0 wrong".
 *
 * tuned WAY FILE.ptx LAUNCHES
 * timed: "plain", and prints how many nanoseconds the device takes for them
 * plain, streams, threads, graph, captured, sizes, attributes, library, reset: how launches are made */
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef struct Config {
    unsigned grid[3], block[3], shared;
    void *stream, *attributes;
    unsigned attribute_count;
} Config;

int cuInit(unsigned flags);
int cuDevicePrimaryCtxRetain(void **context, int device);
int cuCtxSetCurrent(void *context);
int cuModuleLoadData(void **module, const void *image);
int cuModuleUnload(void *module);
int cuModuleGetFunction(void **function, void *module, const char *name);
int cuLibraryLoadData(void **library, const void *image, void *options, void *values, unsigned count,
                      void *library_options, void *library_values, unsigned library_count);
int cuLibraryGetKernel(void **kernel, void *library, const char *name);
int cuMemAlloc_v2(uint64_t *address, size_t size);
int cuMemcpyHtoD_v2(uint64_t to, const void *from, size_t size);
int cuMemcpyDtoH_v2(void *to, uint64_t from, size_t size);
int cuEventCreate(void **event, unsigned flags);
int cuEventRecord(void *event, void *stream);
int cuEventElapsedTime(float *milliseconds, void *start, void *end);
int cuStreamCreate(void **stream, unsigned flags);
int cuStreamSynchronize(void *stream);
int cuStreamBeginCapture_v2(void *stream, int mode);
int cuStreamEndCapture(void *stream, void **graph);
int cuGraphInstantiateWithFlags(void **instance, void *graph, unsigned long long flags);
int cuGraphLaunch(void *instance, void *stream);
int cuGraphCreate(void **graph, unsigned flags);
int cuGraphAddKernelNode_v2(void **node, void *graph, void *const *needs, size_t count, const void *parameters);
int cuGraphKernelNodeGetParams_v2(void *node, void *parameters);
int cuGraphKernelNodeSetParams_v2(void *node, const void *parameters);
int cuLaunchKernelEx(const Config *config, void *function, void **parameters, void **extra);
int cuLaunchKernel(void *function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x,
                   unsigned block_y, unsigned block_z, unsigned shared, void *stream, void **parameters, void **extra);

enum { COUNT = 4096, BLOCK = 128, MOST_THREADS = 4 };

/* Data on the device, and what must be in it. */
typedef struct Data {
    uint64_t address;
    uint32_t expected[COUNT];
    unsigned count;
} Data;

static const char *image;

static int is(const char *way, const char *name)
{
    return strcmp(way, name) == 0;
}

static void check(int error, const char *what)
{
    if (error) {
        printf("%s: error %d\n", what, error);
        exit(1);
    }
}

static void data_make(Data *data, unsigned count)
{
    data->count = count;
    for (unsigned i = 0; i < count; i++)
        data->expected[i] = i * 7 + 1;
    check(cuMemAlloc_v2(&data->address, count * sizeof(uint32_t)), "allocation");
    check(cuMemcpyHtoD_v2(data->address, data->expected, count * sizeof(uint32_t)), "copy");
}

/* The effect of one launch. */
static void data_step(Data *data)
{
    for (unsigned i = 0; i < data->count; i++)
        data->expected[i] = data->expected[i] * 5 + i;
}

static unsigned data_wrong(const Data *data)
{
    static __thread uint32_t actual[COUNT];
    unsigned wrong = 0;
    check(cuMemcpyDtoH_v2(actual, data->address, data->count * sizeof(uint32_t)), "copy back");
    for (unsigned i = 0; i < data->count; i++)
        wrong += actual[i] != data->expected[i];
    return wrong;
}

static void launch(void *function, Data *data, void *stream)
{
    void *arguments[] = {&data->address, &data->count};
    check(cuLaunchKernel(function, (data->count + BLOCK - 1) / BLOCK, 1, 1, BLOCK, 1, 1, 0, stream, arguments, NULL),
          "launch");
    data_step(data);
}

static unsigned run_plain(void *function, int launches)
{
    static Data data;
    unsigned wrong = 0;
    data_make(&data, COUNT);
    for (int i = 0; i < launches; i++) {
        launch(function, &data, NULL);
        wrong += data_wrong(&data);
    }
    return wrong;
}

static unsigned run_timed(void *function, int launches)
{
    void *events[2];
    float milliseconds = 0;
    for (int i = 0; i < 2; i++)
        check(cuEventCreate(&events[i], 0), "event");
    check(cuEventRecord(events[0], NULL), "record");
    const unsigned wrong = run_plain(function, launches);
    check(cuEventRecord(events[1], NULL), "record");
    check(cuEventElapsedTime(&milliseconds, events[0], events[1]), "time");
    printf("%.0f ns\n", 1e6 * milliseconds);
    return wrong;
}

/* Each stream has data of its own, and some launches have shapes that not all forms can have. */
static unsigned run_streams(void *function, int launches)
{
    static Data data[3];
    static const unsigned counts[] = {COUNT, COUNT / 2, 3 * BLOCK};
    void *streams[3];
    unsigned wrong = 0;
    for (int s = 0; s < 3; s++) {
        data_make(&data[s], counts[s]);
        check(cuStreamCreate(&streams[s], s & 1), "stream");
    }
    for (int i = 0; i < launches; i++)
        for (int s = 0; s < 3; s++)
            launch(function, &data[s], streams[s]);
    for (int s = 0; s < 3; s++) {
        check(cuStreamSynchronize(streams[s]), "synchronization");
        wrong += data_wrong(&data[s]);
    }
    return wrong;
}

typedef struct Worker {
    pthread_t thread;
    void *function, *context;
    int launches;
    unsigned wrong;
    Data data;
} Worker;

static void *work(void *given)
{
    Worker *worker = given;
    check(cuCtxSetCurrent(worker->context), "context");
    data_make(&worker->data, COUNT);
    for (int i = 0; i < worker->launches; i++) {
        launch(worker->function, &worker->data, NULL);
        worker->wrong += i % 8 == 0 ? data_wrong(&worker->data) : 0;
    }
    worker->wrong += data_wrong(&worker->data);
    return NULL;
}

static unsigned run_threads(void *function, void *context, int launches)
{
    static Worker workers[MOST_THREADS];
    unsigned wrong = 0;
    for (int i = 0; i < MOST_THREADS; i++) {
        workers[i].function = function;
        workers[i].context = context;
        workers[i].launches = launches;
        pthread_create(&workers[i].thread, NULL, work, &workers[i]);
    }
    for (int i = 0; i < MOST_THREADS; i++) {
        pthread_join(workers[i].thread, NULL);
        wrong += workers[i].wrong;
    }
    return wrong;
}

/* Launches that are captured, between others; then graphs of nodes, whose parameters are read and set again. */
static unsigned run_graph(void *function, int launches, int is_captured)
{
    static Data data;
    void *stream, *graph, *instance, *node;
    unsigned wrong = 0;
    data_make(&data, COUNT);
    check(cuStreamCreate(&stream, 1), "stream");
    struct {
        void *function;
        unsigned grid[3], block[3], shared;
        void **arguments, **extra;
        void *kernel, *context;
    } parameters = {function, {COUNT / BLOCK, 1, 1}, {BLOCK, 1, 1}, 0, (void *[]){&data.address, &data.count}, NULL,
                    NULL, NULL};
    for (int i = 0; i < launches; i++) {
        launch(function, &data, stream);
        if (is_captured) {
            check(cuStreamBeginCapture_v2(stream, 0), "capture");
            launch(function, &data, stream);
            check(cuStreamEndCapture(stream, &graph), "end of capture");
        } else {
            check(cuGraphCreate(&graph, 0), "graph");
            check(cuGraphAddKernelNode_v2(&node, graph, NULL, 0, &parameters), "node");
            check(cuGraphKernelNodeGetParams_v2(node, &parameters), "parameters");
            wrong += parameters.grid[0] != COUNT / BLOCK || parameters.block[0] != BLOCK;
            wrong += parameters.function != function && parameters.kernel != function;
            check(cuGraphKernelNodeSetParams_v2(node, &parameters), "parameters");
            data_step(&data);
        }
        check(cuGraphInstantiateWithFlags(&instance, graph, 0), "instance");
        check(cuGraphLaunch(instance, stream), "graph launch");
        check(cuStreamSynchronize(stream), "synchronization");
        wrong += data_wrong(&data);
    }
    return wrong;
}

/* Every launch has another size: nothing can be learned, and nothing may break. */
static unsigned run_sizes(void *function, int launches)
{
    static Data data;
    unsigned wrong = 0;
    for (int i = 0; i < launches; i++) {
        data_make(&data, 1 + (unsigned)i * 37 % COUNT);
        launch(function, &data, NULL);
        wrong += data_wrong(&data);
    }
    return wrong;
}

/* A cooperative launch by its attribute, and one with another. */
static unsigned run_attributes(void *function, int launches)
{
    static Data data;
    unsigned wrong = 0;
    data_make(&data, 4 * BLOCK);
    void *arguments[] = {&data.address, &data.count};
    for (int i = 0; i < launches; i++) {
        int attribute[18] = {i % 2 ? 2 : 8, 0, i % 2}; /* cooperative, or a priority */
        const Config config = {{4, 1, 1}, {BLOCK, 1, 1}, 0, NULL, attribute, i % 3 != 0};
        check(cuLaunchKernelEx(&config, function, arguments, NULL), "launch");
        data_step(&data);
        wrong += data_wrong(&data);
    }
    return wrong;
}

/* The module is loaded again and again. */
static unsigned run_reset(int launches)
{
    unsigned wrong = 0;
    for (int i = 0; i < 4; i++) {
        void *module, *function;
        check(cuModuleLoadData(&module, image), "module");
        check(cuModuleGetFunction(&function, module, "step"), "function");
        wrong += run_plain(function, launches);
        check(cuModuleUnload(module), "unload");
    }
    return wrong;
}

static char *read_file(const char *path)
{
    FILE *file = fopen(path, "rb");
    static char text[1 << 20];
    if (!file || fread(text, 1, sizeof text - 1, file) == 0) {
        printf("cannot read %s\n", path);
        exit(1);
    }
    fclose(file);
    return text;
}

int main(int argc, char **argv)
{
    const char *way = argc > 3 ? argv[1] : "";
    const int launches = argc > 3 ? atoi(argv[3]) : 0;
    void *context, *module, *function;
    if (argc < 4)
        return 2;
    image = read_file(argv[2]);
    check(cuInit(0), "initialization");
    check(cuDevicePrimaryCtxRetain(&context, 0), "context");
    check(cuCtxSetCurrent(context), "context");
    if (is(way, "library")) {
        check(cuLibraryLoadData(&module, image, NULL, NULL, 0, NULL, NULL, 0), "library");
        check(cuLibraryGetKernel(&function, module, "step"), "kernel");
    } else {
        check(cuModuleLoadData(&module, image), "module");
        check(cuModuleGetFunction(&function, module, "step"), "function");
    }
    const unsigned wrong = is(way, "streams")      ? run_streams(function, launches)
                           : is(way, "threads")    ? run_threads(function, context, launches)
                           : is(way, "graph")      ? run_graph(function, launches, 0)
                           : is(way, "captured")   ? run_graph(function, launches, 1)
                           : is(way, "sizes")      ? run_sizes(function, launches)
                           : is(way, "attributes") ? run_attributes(function, launches)
                           : is(way, "reset")      ? run_reset(launches)
                           : is(way, "timed")      ? run_timed(function, launches)
                                                   : run_plain(function, launches);
    printf("%u wrong\n", wrong);
    fflush(stdout);
    if (getenv("ENDS_BY_KILL"))
        kill(getpid(), 9);
    return wrong > 0;
}
