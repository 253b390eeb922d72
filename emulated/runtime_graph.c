/* Graphs and libraries of the emulated runtime. */
#include <string.h>

#include "emulated/runtime.h"

/* Libraries. */

int cudaLibraryLoadData(void **library, const void *image, void *options, void *values, unsigned count,
                        void *library_options, void *library_values, unsigned library_count)
{
    int error = ready();
    return fail(error ? error
                      : driver.library_load(library, image, options, values, count, library_options, library_values,
                                            library_count));
}

int cudaLibraryGetKernel(void **kernel, void *library, const char *name)
{
    return fail(driver.library_kernel(kernel, library, name));
}

int cudaLibraryGetKernelCount(unsigned *count, void *library)
{
    return fail(driver.library_count(count, library));
}

int cudaLibraryEnumerateKernels(void **found, unsigned count, void *library)
{
    return fail(driver.library_kernels(found, count, library));
}

int cudaLibraryUnload(void *library)
{
    return fail(driver.library_unload(library));
}

/* Graphs. */

/* The driver's node, of which the runtime's has only the beginning. */
static int node_of(const KernelNode *given, KernelNode *node)
{
    *node = (KernelNode){0};
    memcpy(node, given, offsetof(KernelNode, kernel));
    return function_of(&node->function, given->function);
}

int cudaGraphCreate(void **graph, unsigned flags)
{
    int error = ready();
    return fail(error ? error : driver.graph_create(graph, flags));
}

int cudaGraphAddKernelNode(void **added, void *graph, void *const *needs, size_t count,
                           const KernelNode *parameters)
{
    KernelNode node;
    int error = node_of(parameters, &node);
    return fail(error ? error : driver.graph_add(added, graph, needs, count, &node));
}

int cudaGraphAddNode_v2(void **added, void *graph, void *const *needs, const void *edges, size_t count, AnyNode *node)
{
    return node->type == KERNEL_NODE ? cudaGraphAddKernelNode(added, graph, needs, count, &node->kernel)
                                     : fail(driver.graph_add_any(added, graph, needs, edges, count, node));
}

int cudaGraphAddNode(void **added, void *graph, void *const *needs, void *fourth, void *fifth, void *sixth)
{
    return RUNTIME_VERSION >= 13000 ? cudaGraphAddNode_v2(added, graph, needs, fourth, (size_t)fifth, sixth)
                                    : cudaGraphAddNode_v2(added, graph, needs, NULL, (size_t)fourth, fifth);
}

int cudaGraphKernelNodeGetParams(void *added, KernelNode *parameters)
{
    KernelNode node;
    int error = driver.graph_get(added, &node);
    for (const Kernel *kernel = kernels; kernel && !error; kernel = kernel->next)
        if (kernel->function == node.function) {
            memcpy(parameters, &node, offsetof(KernelNode, kernel));
            parameters->function = (void *)kernel->host;
            return DONE;
        }
    return fail(error ? error : NO_FUNCTION);
}

int cudaGraphKernelNodeSetParams(void *added, const KernelNode *parameters)
{
    KernelNode node;
    int error = node_of(parameters, &node);
    return fail(error ? error : driver.graph_set(added, &node));
}

int cudaGraphNodeGetParams(void *added, AnyNode *node)
{
    node->type = KERNEL_NODE;
    return cudaGraphKernelNodeGetParams(added, &node->kernel);
}

int cudaGraphNodeSetParams(void *added, const AnyNode *node)
{
    return node->type ? fail(INVALID_VALUE) : cudaGraphKernelNodeSetParams(added, &node->kernel);
}

int cudaGraphInstantiate(void **instance, void *graph, unsigned long long flags)
{
    (void)flags; /* before CUDA 12 a node to report, and a log */
    return fail(driver.graph_instantiate(instance, graph, 0));
}

int cudaGraphExecKernelNodeSetParams(void *instance, void *added, const KernelNode *parameters)
{
    KernelNode node;
    int error = node_of(parameters, &node);
    return fail(error ? error : driver.graph_set_instance(instance, added, &node));
}

int cudaGraphExecNodeSetParams(void *instance, void *added, const AnyNode *node)
{
    return node->type ? fail(INVALID_VALUE) : cudaGraphExecKernelNodeSetParams(instance, added, &node->kernel);
}

int cudaGraphExecUpdate(void *instance, void *graph, void *result)
{
    return fail(driver.graph_update(instance, graph, result));
}

int cudaGraphLaunch(void *instance, void *stream)
{
    return fail(driver.graph_launch(instance, stream));
}

int cudaGraphDestroy(void *graph)
{
    return graph ? DONE : fail(INVALID_VALUE);
}

int cudaGraphExecDestroy(void *instance)
{
    return instance ? DONE : fail(INVALID_VALUE);
}

int cudaStreamBeginCapture(void *stream, int mode)
{
    return fail(driver.capture_begin(stream, mode));
}

int cudaStreamEndCapture(void *stream, void **graph)
{
    return fail(driver.capture_end(stream, graph));
}
