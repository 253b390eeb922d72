/* Nodes of graphs: their creation and their parameters. */
#include <stddef.h>
#include <string.h>

#include "emulated/driver_api.h"
#include "emulated/graph.h"

/* Making nodes. */

static int add(void **node, void *graph, void *const *needs, size_t count, const Work *work)
{
    LOCKED;
    if (!graph || !node || (count && !needs))
        return INVALID_VALUE;
    for (size_t i = 0; i < count; i++)
        if (!needs[i] || ((Node *)needs[i])->graph != graph)
            return INVALID_VALUE;
    *node = graph_add(graph, work, (Node *const *)needs, count);
    return *node ? DONE : NO_MEMORY;
}

static bool kernel_work(Work *work, const KernelNode *parameters, bool has_kernel)
{
    *work = (Work){.kind = WORK_KERNEL};
    work->launch.function = parameters->function;
    if (!work->launch.function && has_kernel)
        work->launch.function = parameters->kernel;
    work->launch.shared = parameters->shared;
    work->launch.arguments = parameters->arguments;
    memcpy(work->launch.grid, parameters->grid, sizeof work->launch.grid);
    memcpy(work->launch.block, parameters->block, sizeof work->launch.block);
    return work->launch.function && launch_unpack(&work->launch, parameters->extra);
}

static int add_kernel(void **node, void *graph, void *const *needs, size_t count, const KernelNode *parameters,
                      bool has_kernel)
{
    Work work;
    return kernel_work(&work, parameters, has_kernel) ? add(node, graph, needs, count, &work) : INVALID_HANDLE;
}

int cuGraphAddKernelNode(void **node, void *graph, void *const *needs, size_t count, const KernelNode *parameters)
{
    return add_kernel(node, graph, needs, count, parameters, false);
}

int cuGraphAddKernelNode_v2(void **node, void *graph, void *const *needs, size_t count, const KernelNode *parameters)
{
    return add_kernel(node, graph, needs, count, parameters, true);
}

int cuGraphAddMemcpyNode(void **node, void *graph, void *const *needs, size_t count, const Copy3D *copy, void *context)
{
    (void)context;
    return add(node, graph, needs, count, &(Work){.kind = WORK_COPY, .copy = *copy});
}

int cuGraphAddMemsetNode(void **node, void *graph, void *const *needs, size_t count, const Fill *fill, void *context)
{
    (void)context;
    return add(node, graph, needs, count, &(Work){.kind = WORK_FILL, .fill = *fill});
}

int cuGraphAddHostNode(void **node, void *graph, void *const *needs, size_t count, const HostCall *call)
{
    return add(node, graph, needs, count, &(Work){.kind = WORK_HOST, .host = *call});
}

int cuGraphAddChildGraphNode(void **node, void *graph, void *const *needs, size_t count, void *child)
{
    return child ? add(node, graph, needs, count, &(Work){.kind = WORK_GRAPH, .graph = child}) : INVALID_VALUE;
}

int cuGraphAddEmptyNode(void **node, void *graph, void *const *needs, size_t count)
{
    return add(node, graph, needs, count, &(Work){.kind = WORK_EMPTY});
}

int cuGraphAddEventRecordNode(void **node, void *graph, void *const *needs, size_t count, void *event)
{
    return add(node, graph, needs, count, &(Work){.kind = WORK_RECORD, .event = event});
}

int cuGraphAddEventWaitNode(void **node, void *graph, void *const *needs, size_t count, void *event)
{
    return add(node, graph, needs, count, &(Work){.kind = WORK_WAIT, .event = event});
}

int cuGraphAddMemAllocNode(void **node, void *graph, void *const *needs, size_t count, AllocationNode *parameters)
{
    int error = cuMemAlloc_v2(&parameters->address, parameters->size);
    Work work = {.kind = WORK_ALLOCATE, .memory = {parameters->address, parameters->size}};
    return error ? error : add(node, graph, needs, count, &work);
}

int cuGraphAddMemFreeNode(void **node, void *graph, void *const *needs, size_t count, uint64_t address)
{
    return add(node, graph, needs, count, &(Work){.kind = WORK_FREE, .memory = {.address = address}});
}

int cuGraphAddNode(void **node, void *graph, void *const *needs, size_t count, AnyNode *any)
{
    switch (any->type) {
    case WORK_KERNEL: return cuGraphAddKernelNode_v2(node, graph, needs, count, &any->kernel);
    case WORK_COPY: return cuGraphAddMemcpyNode(node, graph, needs, count, &any->copy.copy, NULL);
    case WORK_FILL: return cuGraphAddMemsetNode(node, graph, needs, count, &any->fill, NULL);
    case WORK_HOST: return cuGraphAddHostNode(node, graph, needs, count, &any->host);
    case WORK_GRAPH: return cuGraphAddChildGraphNode(node, graph, needs, count, any->handle);
    case WORK_EMPTY: return cuGraphAddEmptyNode(node, graph, needs, count);
    case WORK_WAIT: return cuGraphAddEventWaitNode(node, graph, needs, count, any->handle);
    case WORK_RECORD: return cuGraphAddEventRecordNode(node, graph, needs, count, any->handle);
    case WORK_ALLOCATE: return cuGraphAddMemAllocNode(node, graph, needs, count, &any->memory);
    case WORK_FREE: return cuGraphAddMemFreeNode(node, graph, needs, count, any->address);
    default: return NOT_SUPPORTED;
    }
}

int cuGraphAddNode_v2(void **node, void *graph, void *const *needs, const void *edges, size_t count, AnyNode *any)
{
    (void)edges;
    return cuGraphAddNode(node, graph, needs, count, any);
}

/* Parameters of nodes. */

static const Work *work_of(void *node, WorkKind kind)
{
    return node && ((Node *)node)->work.kind == kind ? &((Node *)node)->work : NULL;
}

/* Sets the work of a node, which must be of the same kind as before. */
static int set(void *node, const Work *work)
{
    LOCKED;
    if (!work_of(node, work->kind))
        return INVALID_VALUE;
    node_set(node, work);
    return DONE;
}

static int set_instance(void *instance, void *node, const Work *work)
{
    LOCKED;
    Node *own = instance ? made_from(instance, node) : NULL;
    return own ? set(own, work) : INVALID_VALUE;
}

int cuGraphKernelNodeGetParams_v2(void *node, KernelNode *parameters)
{
    const Work *work = work_of(node, WORK_KERNEL);
    if (!work)
        return INVALID_VALUE;
    *parameters = (KernelNode){
        .function = work->launch.function, .shared = work->launch.shared, .arguments = work->launch.arguments};
    memcpy(parameters->grid, work->launch.grid, sizeof work->launch.grid);
    memcpy(parameters->block, work->launch.block, sizeof work->launch.block);
    return DONE;
}

int cuGraphKernelNodeGetParams(void *node, KernelNode *parameters)
{
    KernelNode newer = {0};
    int error = cuGraphKernelNodeGetParams_v2(node, &newer);
    memcpy(parameters, &newer, offsetof(KernelNode, kernel));
    return error;
}

static int set_kernel(void *instance, void *node, const KernelNode *parameters, bool has_kernel)
{
    Work work;
    if (!kernel_work(&work, parameters, has_kernel))
        return INVALID_HANDLE;
    return instance ? set_instance(instance, node, &work) : set(node, &work);
}

int cuGraphKernelNodeSetParams(void *node, const KernelNode *parameters)
{
    return set_kernel(NULL, node, parameters, false);
}

int cuGraphKernelNodeSetParams_v2(void *node, const KernelNode *parameters)
{
    return set_kernel(NULL, node, parameters, true);
}

int cuGraphExecKernelNodeSetParams(void *instance, void *node, const KernelNode *parameters)
{
    return set_kernel(instance, node, parameters, false);
}

int cuGraphExecKernelNodeSetParams_v2(void *instance, void *node, const KernelNode *parameters)
{
    return set_kernel(instance, node, parameters, true);
}

int cuGraphMemcpyNodeGetParams(void *node, Copy3D *copy)
{
    const Work *work = work_of(node, WORK_COPY);
    if (work)
        *copy = work->copy;
    return work ? DONE : INVALID_VALUE;
}

int cuGraphMemcpyNodeSetParams(void *node, const Copy3D *copy)
{
    return set(node, &(Work){.kind = WORK_COPY, .copy = *copy});
}

int cuGraphExecMemcpyNodeSetParams(void *instance, void *node, const Copy3D *copy, void *context)
{
    (void)context;
    return set_instance(instance, node, &(Work){.kind = WORK_COPY, .copy = *copy});
}

int cuGraphMemsetNodeGetParams(void *node, Fill *fill)
{
    const Work *work = work_of(node, WORK_FILL);
    if (work)
        *fill = work->fill;
    return work ? DONE : INVALID_VALUE;
}

int cuGraphMemsetNodeSetParams(void *node, const Fill *fill)
{
    return set(node, &(Work){.kind = WORK_FILL, .fill = *fill});
}

int cuGraphExecMemsetNodeSetParams(void *instance, void *node, const Fill *fill, void *context)
{
    (void)context;
    return set_instance(instance, node, &(Work){.kind = WORK_FILL, .fill = *fill});
}

int cuGraphHostNodeGetParams(void *node, HostCall *call)
{
    const Work *work = work_of(node, WORK_HOST);
    if (work)
        *call = work->host;
    return work ? DONE : INVALID_VALUE;
}

int cuGraphHostNodeSetParams(void *node, const HostCall *call)
{
    return set(node, &(Work){.kind = WORK_HOST, .host = *call});
}

int cuGraphExecHostNodeSetParams(void *instance, void *node, const HostCall *call)
{
    return set_instance(instance, node, &(Work){.kind = WORK_HOST, .host = *call});
}

int cuGraphChildGraphNodeGetGraph(void *node, void **graph)
{
    const Work *work = work_of(node, WORK_GRAPH);
    if (work)
        *graph = work->graph;
    return work ? DONE : INVALID_VALUE;
}

int cuGraphExecChildGraphNodeSetParams(void *instance, void *node, void *child)
{
    return set_instance(instance, node, &(Work){.kind = WORK_GRAPH, .graph = child});
}

static int event_get(void *node, WorkKind kind, void **event)
{
    const Work *work = work_of(node, kind);
    if (work)
        *event = work->event;
    return work ? DONE : INVALID_VALUE;
}

int cuGraphEventRecordNodeGetEvent(void *node, void **event)
{
    return event_get(node, WORK_RECORD, event);
}

int cuGraphEventWaitNodeGetEvent(void *node, void **event)
{
    return event_get(node, WORK_WAIT, event);
}

int cuGraphEventRecordNodeSetEvent(void *node, void *event)
{
    return set(node, &(Work){.kind = WORK_RECORD, .event = event});
}

int cuGraphEventWaitNodeSetEvent(void *node, void *event)
{
    return set(node, &(Work){.kind = WORK_WAIT, .event = event});
}

int cuGraphExecEventRecordNodeSetEvent(void *instance, void *node, void *event)
{
    return set_instance(instance, node, &(Work){.kind = WORK_RECORD, .event = event});
}

int cuGraphExecEventWaitNodeSetEvent(void *instance, void *node, void *event)
{
    return set_instance(instance, node, &(Work){.kind = WORK_WAIT, .event = event});
}

int cuGraphNodeGetParams(void *node, AnyNode *any)
{
    any->type = WORK_KERNEL;
    return cuGraphKernelNodeGetParams_v2(node, &any->kernel);
}

static int set_any(void *instance, void *node, const AnyNode *any)
{
    Work work = {.kind = (WorkKind)any->type};
    switch (any->type) {
    case WORK_KERNEL: return set_kernel(instance, node, &any->kernel, true);
    case WORK_COPY: work.copy = any->copy.copy; break;
    case WORK_FILL: work.fill = any->fill; break;
    case WORK_HOST: work.host = any->host; break;
    case WORK_GRAPH: work.graph = any->handle; break;
    case WORK_WAIT:
    case WORK_RECORD: work.event = any->handle; break;
    default: return NOT_SUPPORTED;
    }
    return instance ? set_instance(instance, node, &work) : set(node, &work);
}

int cuGraphNodeSetParams(void *node, const AnyNode *any)
{
    return set_any(NULL, node, any);
}

int cuGraphExecNodeSetParams(void *instance, void *node, const AnyNode *any)
{
    return set_any(instance, node, any);
}

int cuGraphNodeSetEnabled(void *instance, void *node, unsigned is_enabled)
{
    Node *own = instance ? made_from(instance, node) : NULL;
    if (own)
        own->is_disabled = !is_enabled;
    return own ? DONE : INVALID_VALUE;
}

int cuGraphNodeGetEnabled(void *instance, void *node, unsigned *is_enabled)
{
    const Node *own = instance ? made_from(instance, node) : NULL;
    *is_enabled = own && !own->is_disabled;
    return own ? DONE : INVALID_VALUE;
}

/* Attributes of kernel nodes: whether the launch is cooperative. Their values have 64 bytes. */
enum { ATTRIBUTE_COOPERATIVE = 2 };

int cuGraphKernelNodeGetAttribute(void *node, int attribute, void *value)
{
    const Work *work = work_of(node, WORK_KERNEL);
    memset(value, 0, 64);
    if (work && attribute == ATTRIBUTE_COOPERATIVE)
        *(int *)value = work->launch.is_cooperative;
    return work ? DONE : INVALID_VALUE;
}

int cuGraphKernelNodeSetAttribute(void *node, int attribute, const void *value)
{
    if (!work_of(node, WORK_KERNEL))
        return INVALID_VALUE;
    if (attribute == ATTRIBUTE_COOPERATIVE)
        ((Node *)node)->work.launch.is_cooperative = *(const int *)value;
    return DONE;
}

int cuGraphKernelNodeCopyAttributes(void *to, void *from)
{
    int value[16];
    int error = cuGraphKernelNodeGetAttribute(from, ATTRIBUTE_COOPERATIVE, value);
    return error ? error : cuGraphKernelNodeSetAttribute(to, ATTRIBUTE_COOPERATIVE, value);
}
