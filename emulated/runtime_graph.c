/* The runtime's graphs. */
#include <string.h>

#include "emulated/runtime.h"

/* The driver's form of a node, which the runtime's is only the beginning of. */
static int node_of(const KernelNode *given, KernelNode *node)
{
    *node = (KernelNode){0};
    memcpy(node, given, offsetof(KernelNode, kernel));
    return function_of(&node->function, given->function);
}

/* Making nodes. */

int cudaGraphCreate(void **graph, unsigned flags)
{
    CALL(cuGraphCreate, graph, flags);
}

int cudaGraphAddKernelNode(void **added, void *graph, void *const *needs, size_t count, const KernelNode *parameters)
{
    KernelNode node;
    int error = node_of(parameters, &node);
    return fail(error ? error : DRIVER(cuGraphAddKernelNode_v2)(added, graph, needs, count, &node));
}

int cudaGraphAddMemcpyNode(void **added, void *graph, void *const *needs, size_t count, const RuntimeCopy3D *given)
{
    Copy3D copy;
    int error = ready();
    if (!error)
        error = copy_of(given, &copy);
    return fail(error ? error : DRIVER(cuGraphAddMemcpyNode)(added, graph, needs, count, &copy, NULL));
}

static RuntimeCopy3D row_copy(void *to, const void *from, size_t size, int direction)
{
    return (RuntimeCopy3D){.from = {(void *)from, size, size, 1},
                           .to = {to, size, size, 1},
                           .extent = {size, 1, 1},
                           .direction = direction};
}

int cudaGraphAddMemcpyNode1D(void **added, void *graph, void *const *needs, size_t count, void *to, const void *from,
                             size_t size, int direction)
{
    const RuntimeCopy3D copy = row_copy(to, from, size, direction);
    return cudaGraphAddMemcpyNode(added, graph, needs, count, &copy);
}

int cudaGraphAddMemcpyNodeToSymbol(void **added, void *graph, void *const *needs, size_t count, const void *symbol,
                                   const void *from, size_t size, size_t offset, int direction)
{
    uint64_t address = 0;
    int error = symbol_find(symbol, &address, NULL);
    return error ? fail(error)
                 : cudaGraphAddMemcpyNode1D(added, graph, needs, count, (void *)(uintptr_t)(address + offset), from,
                                            size, direction);
}

int cudaGraphAddMemcpyNodeFromSymbol(void **added, void *graph, void *const *needs, size_t count, void *to,
                                     const void *symbol, size_t size, size_t offset, int direction)
{
    uint64_t address = 0;
    int error = symbol_find(symbol, &address, NULL);
    return error ? fail(error)
                 : cudaGraphAddMemcpyNode1D(added, graph, needs, count, to, (void *)(uintptr_t)(address + offset), size,
                                            direction);
}

int cudaGraphAddMemsetNode(void **added, void *graph, void *const *needs, size_t count, const Fill *fill)
{
    CALL(cuGraphAddMemsetNode, added, graph, needs, count, fill, NULL);
}

int cudaGraphAddHostNode(void **added, void *graph, void *const *needs, size_t count, const HostCall *call)
{
    CALL(cuGraphAddHostNode, added, graph, needs, count, call);
}

int cudaGraphAddChildGraphNode(void **added, void *graph, void *const *needs, size_t count, void *child)
{
    CALL(cuGraphAddChildGraphNode, added, graph, needs, count, child);
}

int cudaGraphAddEmptyNode(void **added, void *graph, void *const *needs, size_t count)
{
    CALL(cuGraphAddEmptyNode, added, graph, needs, count);
}

int cudaGraphAddEventRecordNode(void **added, void *graph, void *const *needs, size_t count, void *event)
{
    CALL(cuGraphAddEventRecordNode, added, graph, needs, count, event);
}

int cudaGraphAddEventWaitNode(void **added, void *graph, void *const *needs, size_t count, void *event)
{
    CALL(cuGraphAddEventWaitNode, added, graph, needs, count, event);
}

int cudaGraphAddMemAllocNode(void **added, void *graph, void *const *needs, size_t count, AllocationNode *parameters)
{
    CALL(cuGraphAddMemAllocNode, added, graph, needs, count, parameters);
}

int cudaGraphAddMemFreeNode(void **added, void *graph, void *const *needs, size_t count, void *address)
{
    CALL(cuGraphAddMemFreeNode, added, graph, needs, count, (uintptr_t)address);
}

/* The driver's form of a node of any kind. */
static int any_of(const AnyNode *given, AnyNode *node)
{
    enum { COPY_NODE = 1 };
    RuntimeCopy3D copy;
    *node = *given;
    memcpy(&copy, &given->copy.copy, sizeof copy);
    return given->type == KERNEL_NODE ? node_of(&given->kernel, &node->kernel)
           : given->type == COPY_NODE ? copy_of(&copy, &node->copy.copy)
                                      : ready();
}

static int add_any(void **added, void *graph, void *const *needs, size_t count, AnyNode *given)
{
    AnyNode node;
    int error = any_of(given, &node);
    if (!error)
        error = DRIVER(cuGraphAddNode)(added, graph, needs, count, &node);
    if (!error && given->type == ALLOCATION_NODE)
        given->memory.address = node.memory.address;
    return fail(error);
}

int cudaGraphAddNode_v2(void **added, void *graph, void *const *needs, const void *edges, size_t count, AnyNode *node)
{
    (void)edges;
    return add_any(added, graph, needs, count, node);
}

/* Parameters of nodes. */

/* The host function of a kernel, or the kernel's own handle. */
static void *host_of(void *function)
{
    for (const Kernel *kernel = kernels; kernel; kernel = kernel->next)
        if (kernel->function == function)
            return (void *)kernel->host;
    return function;
}

int cudaGraphKernelNodeGetParams(void *added, KernelNode *parameters)
{
    KernelNode node;
    int error = ready();
    if (!error)
        error = DRIVER(cuGraphKernelNodeGetParams_v2)(added, &node);
    if (error)
        return fail(error);
    memcpy(parameters, &node, offsetof(KernelNode, kernel));
    parameters->function = host_of(node.function);
    return DONE;
}

int cudaGraphKernelNodeSetParams(void *added, const KernelNode *parameters)
{
    KernelNode node;
    int error = node_of(parameters, &node);
    return fail(error ? error : DRIVER(cuGraphKernelNodeSetParams_v2)(added, &node));
}

int cudaGraphExecKernelNodeSetParams(void *instance, void *added, const KernelNode *parameters)
{
    KernelNode node;
    int error = node_of(parameters, &node);
    return fail(error ? error : DRIVER(cuGraphExecKernelNodeSetParams_v2)(instance, added, &node));
}

int cudaGraphMemcpyNodeSetParams(void *added, const RuntimeCopy3D *given)
{
    Copy3D copy;
    int error = copy_of(given, &copy);
    return fail(error ? error : DRIVER(cuGraphMemcpyNodeSetParams)(added, &copy));
}

int cudaGraphMemcpyNodeSetParams1D(void *added, void *to, const void *from, size_t size, int direction)
{
    const RuntimeCopy3D copy = row_copy(to, from, size, direction);
    return cudaGraphMemcpyNodeSetParams(added, &copy);
}

int cudaGraphExecMemcpyNodeSetParams(void *instance, void *added, const RuntimeCopy3D *given)
{
    Copy3D copy;
    int error = copy_of(given, &copy);
    return fail(error ? error : DRIVER(cuGraphExecMemcpyNodeSetParams)(instance, added, &copy, NULL));
}

int cudaGraphExecMemcpyNodeSetParams1D(void *instance, void *added, void *to, const void *from, size_t size,
                                       int direction)
{
    const RuntimeCopy3D copy = row_copy(to, from, size, direction);
    return cudaGraphExecMemcpyNodeSetParams(instance, added, &copy);
}

int cudaGraphMemsetNodeGetParams(void *added, Fill *fill)
{
    CALL(cuGraphMemsetNodeGetParams, added, fill);
}

int cudaGraphMemsetNodeSetParams(void *added, const Fill *fill)
{
    CALL(cuGraphMemsetNodeSetParams, added, fill);
}

int cudaGraphExecMemsetNodeSetParams(void *instance, void *added, const Fill *fill)
{
    CALL(cuGraphExecMemsetNodeSetParams, instance, added, fill, NULL);
}

int cudaGraphHostNodeGetParams(void *added, HostCall *call)
{
    CALL(cuGraphHostNodeGetParams, added, call);
}

int cudaGraphHostNodeSetParams(void *added, const HostCall *call)
{
    CALL(cuGraphHostNodeSetParams, added, call);
}

int cudaGraphExecHostNodeSetParams(void *instance, void *added, const HostCall *call)
{
    CALL(cuGraphExecHostNodeSetParams, instance, added, call);
}

int cudaGraphChildGraphNodeGetGraph(void *added, void **graph)
{
    CALL(cuGraphChildGraphNodeGetGraph, added, graph);
}

int cudaGraphExecChildGraphNodeSetParams(void *instance, void *added, void *child)
{
    CALL(cuGraphExecChildGraphNodeSetParams, instance, added, child);
}

int cudaGraphEventRecordNodeGetEvent(void *added, void **event)
{
    CALL(cuGraphEventRecordNodeGetEvent, added, event);
}

int cudaGraphEventRecordNodeSetEvent(void *added, void *event)
{
    CALL(cuGraphEventRecordNodeSetEvent, added, event);
}

int cudaGraphEventWaitNodeGetEvent(void *added, void **event)
{
    CALL(cuGraphEventWaitNodeGetEvent, added, event);
}

int cudaGraphEventWaitNodeSetEvent(void *added, void *event)
{
    CALL(cuGraphEventWaitNodeSetEvent, added, event);
}

int cudaGraphExecEventRecordNodeSetEvent(void *instance, void *added, void *event)
{
    CALL(cuGraphExecEventRecordNodeSetEvent, instance, added, event);
}

int cudaGraphExecEventWaitNodeSetEvent(void *instance, void *added, void *event)
{
    CALL(cuGraphExecEventWaitNodeSetEvent, instance, added, event);
}

int cudaGraphNodeGetParams(void *added, AnyNode *node)
{
    node->type = KERNEL_NODE;
    return cudaGraphKernelNodeGetParams(added, &node->kernel);
}

int cudaGraphNodeSetParams(void *added, const AnyNode *given)
{
    AnyNode node;
    int error = any_of(given, &node);
    return fail(error ? error : DRIVER(cuGraphNodeSetParams)(added, &node));
}

int cudaGraphExecNodeSetParams(void *instance, void *added, const AnyNode *given)
{
    AnyNode node;
    int error = any_of(given, &node);
    return fail(error ? error : DRIVER(cuGraphExecNodeSetParams)(instance, added, &node));
}

int cudaGraphNodeSetEnabled(void *instance, void *added, unsigned is_enabled)
{
    CALL(cuGraphNodeSetEnabled, instance, added, is_enabled);
}

int cudaGraphNodeGetEnabled(void *instance, void *added, unsigned *is_enabled)
{
    CALL(cuGraphNodeGetEnabled, instance, added, is_enabled);
}

int cudaGraphKernelNodeGetAttribute(void *added, int attribute, void *value)
{
    CALL(cuGraphKernelNodeGetAttribute, added, attribute, value);
}

int cudaGraphKernelNodeSetAttribute(void *added, int attribute, const void *value)
{
    CALL(cuGraphKernelNodeSetAttribute, added, attribute, value);
}

/* Before CUDA 13, the source is first. */
int cudaGraphKernelNodeCopyAttributes(void *first, void *second)
{
    void *to = RUNTIME_VERSION >= 13000 ? first : second, *from = RUNTIME_VERSION >= 13000 ? second : first;
    CALL(cuGraphKernelNodeCopyAttributes, to, from);
}

/* The shape of graphs. In CUDA 13, edges have data; earlier versions have them under another name. */

int cudaGraphNodeGetType(void *added, int *type)
{
    CALL(cuGraphNodeGetType, added, type);
}

int cudaGraphGetNodes(void *graph, void **nodes, size_t *count)
{
    CALL(cuGraphGetNodes, graph, nodes, count);
}

int cudaGraphGetRootNodes(void *graph, void **nodes, size_t *count)
{
    CALL(cuGraphGetRootNodes, graph, nodes, count);
}

int cudaGraphGetEdges_v2(void *graph, void **from, void **to, void *edges, size_t *count)
{
    CALL(cuGraphGetEdges_v2, graph, from, to, edges, count);
}

int cudaGraphNodeGetDependencies_v2(void *added, void **needs, void *edges, size_t *count)
{
    CALL(cuGraphNodeGetDependencies_v2, added, needs, edges, count);
}

int cudaGraphNodeGetDependentNodes_v2(void *added, void **nodes, void *edges, size_t *count)
{
    CALL(cuGraphNodeGetDependentNodes_v2, added, nodes, edges, count);
}

int cudaGraphAddDependencies_v2(void *graph, void *const *from, void *const *to, const void *edges, size_t count)
{
    CALL(cuGraphAddDependencies_v2, graph, from, to, edges, count);
}

int cudaGraphRemoveDependencies_v2(void *graph, void *const *from, void *const *to, const void *edges, size_t count)
{
    CALL(cuGraphRemoveDependencies_v2, graph, from, to, edges, count);
}

#if RUNTIME_VERSION >= 13000
SAME(cudaGraphAddNode, cudaGraphAddNode_v2);
SAME(cudaGraphGetEdges, cudaGraphGetEdges_v2);
SAME(cudaGraphNodeGetDependencies, cudaGraphNodeGetDependencies_v2);
SAME(cudaGraphNodeGetDependentNodes, cudaGraphNodeGetDependentNodes_v2);
SAME(cudaGraphAddDependencies, cudaGraphAddDependencies_v2);
SAME(cudaGraphRemoveDependencies, cudaGraphRemoveDependencies_v2);
#else
int cudaGraphAddNode(void **added, void *graph, void *const *needs, size_t count, AnyNode *node)
{
    return add_any(added, graph, needs, count, node);
}

int cudaGraphGetEdges(void *graph, void **from, void **to, size_t *count)
{
    return cudaGraphGetEdges_v2(graph, from, to, NULL, count);
}

int cudaGraphNodeGetDependencies(void *added, void **needs, size_t *count)
{
    return cudaGraphNodeGetDependencies_v2(added, needs, NULL, count);
}

int cudaGraphNodeGetDependentNodes(void *added, void **nodes, size_t *count)
{
    return cudaGraphNodeGetDependentNodes_v2(added, nodes, NULL, count);
}

int cudaGraphAddDependencies(void *graph, void *const *from, void *const *to, size_t count)
{
    return cudaGraphAddDependencies_v2(graph, from, to, NULL, count);
}

int cudaGraphRemoveDependencies(void *graph, void *const *from, void *const *to, size_t count)
{
    return cudaGraphRemoveDependencies_v2(graph, from, to, NULL, count);
}
#endif

int cudaGraphDestroyNode(void *added)
{
    CALL(cuGraphDestroyNode, added);
}

int cudaGraphClone(void **clone, void *graph)
{
    CALL(cuGraphClone, clone, graph);
}

int cudaGraphNodeFindInClone(void **node, void *original, void *clone)
{
    CALL(cuGraphNodeFindInClone, node, original, clone);
}

int cudaGraphDestroy(void *graph)
{
    CALL(cuGraphDestroy, graph);
}

/* Instances. */

int cudaGraphInstantiateWithFlags(void **instance, void *graph, unsigned long long flags)
{
    CALL(cuGraphInstantiateWithFlags, instance, graph, flags);
}

int cudaGraphInstantiateWithParams(void **instance, void *graph, InstanceParameters *parameters)
{
    CALL(cuGraphInstantiateWithParams, instance, graph, parameters);
}

int cudaGraphExecGetFlags(void *instance, unsigned long long *flags)
{
    CALL(cuGraphExecGetFlags, instance, flags);
}

#if RUNTIME_VERSION >= 12000
int cudaGraphInstantiate(void **instance, void *graph, unsigned long long flags)
{
    return cudaGraphInstantiateWithFlags(instance, graph, flags);
}

int cudaGraphExecUpdate(void *instance, void *graph, UpdateResult *result)
{
    CALL(cuGraphExecUpdate_v2, instance, graph, result);
}
#else
int cudaGraphInstantiate(void **instance, void *graph, void **node, char *log, size_t size)
{
    CALL(cuGraphInstantiate, instance, graph, node, log, size);
}

int cudaGraphExecUpdate(void *instance, void *graph, void **node, int *result)
{
    CALL(cuGraphExecUpdate, instance, graph, node, result);
}
#endif

int cudaGraphLaunch(void *instance, void *stream)
{
    CALL(cuGraphLaunch, instance, stream);
}

int cudaGraphUpload(void *instance, void *stream)
{
    CALL(cuGraphUpload, instance, stream);
}

int cudaGraphExecDestroy(void *instance)
{
    CALL(cuGraphExecDestroy, instance);
}

/* Objects of the program. */

int cudaUserObjectCreate(void **object, void *data, void (*destroy)(void *), unsigned references, unsigned flags)
{
    CALL(cuUserObjectCreate, object, data, destroy, references, flags);
}

int cudaUserObjectRetain(void *object, unsigned count)
{
    CALL(cuUserObjectRetain, object, count);
}

int cudaUserObjectRelease(void *object, unsigned count)
{
    CALL(cuUserObjectRelease, object, count);
}

int cudaGraphRetainUserObject(void *graph, void *object, unsigned count, unsigned flags)
{
    CALL(cuGraphRetainUserObject, graph, object, count, flags);
}

int cudaGraphReleaseUserObject(void *graph, void *object, unsigned count)
{
    CALL(cuGraphReleaseUserObject, graph, object, count);
}

/* The names for programs whose threads have default streams of their own. */
SAME(cudaGraphInstantiateWithParams_ptsz, cudaGraphInstantiateWithParams);
SAME(cudaGraphLaunch_ptsz, cudaGraphLaunch);
SAME(cudaGraphUpload_ptsz, cudaGraphUpload);
