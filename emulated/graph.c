/* Streams and graphs of the emulated driver. Streams are in order with each other; a graph is a list of launches, in
 * the order in which they were added, which is one that dependencies allow. */
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "emulated/driver.h"

typedef struct Node {
    EmulatedLaunch launch; /* its arguments are copies */
    struct Node *of;   /* of an instance: the graph's node */
    struct Node *next;
} Node;

typedef struct Graph {
    Node *first, *last;
} Graph;

typedef struct Stream {
    Graph *captured; /* NULL: it executes */
} Stream;

static EmulatedLaunch launch_of(const KernelNode *parameters, bool has_kernel)
{
    EmulatedLaunch launch = {
        .function = parameters->function, .shared = parameters->shared, .arguments = parameters->arguments};
    if (!launch.function && has_kernel)
        launch.function = parameters->kernel;
    memcpy(launch.grid, parameters->grid, sizeof launch.grid);
    memcpy(launch.block, parameters->block, sizeof launch.block);
    return launch;
}

/* The node gets the launch, with a copy of its arguments. */
static void node_set(Node *node, const EmulatedLaunch *launch)
{
    const Prototype *prototype = &launch->function->function->prototype;
    node->launch = *launch;
    node->launch.arguments = calloc(prototype->param_count + 1, sizeof(void *));
    for (unsigned i = 0; i < prototype->param_count; i++) {
        size_t size = variable_bytes(prototype->params[i]);
        node->launch.arguments[i] = malloc(size);
        memcpy(node->launch.arguments[i], launch->arguments[i], size);
    }
}

static Node *graph_add(Graph *graph, const EmulatedLaunch *launch)
{
    Node *node = calloc(1, sizeof *node);
    node_set(node, launch);
    if (graph->last)
        graph->last->next = node;
    else
        graph->first = node;
    graph->last = node;
    return node;
}

int emulated_launch(const EmulatedLaunch *launch, void *stream)
{
    enum { SPECIAL_STREAMS = 2 };
    const unsigned *grid = launch->grid, *block = launch->block;
    if (!launch->function)
        return INVALID_HANDLE;
    if (!grid[0] || !grid[1] || !grid[2] || !block[0] || !block[1] || !block[2])
        return INVALID_VALUE;
    Graph *captured = (uintptr_t)stream > SPECIAL_STREAMS ? ((Stream *)stream)->captured : NULL;
    if (!captured)
        return emulated_run(launch);
    graph_add(captured, launch);
    return DONE;
}

int cuStreamCreate(void **stream, unsigned flags)
{
    (void)flags;
    *stream = calloc(1, sizeof(Stream));
    return *stream ? DONE : INVALID_VALUE;
}

int cuStreamCreateWithPriority(void **stream, unsigned flags, int priority)
{
    (void)priority;
    return cuStreamCreate(stream, flags);
}

int cuCtxGetStreamPriorityRange(int *least, int *greatest)
{
    *least = *greatest = 0;
    return DONE;
}

int cuStreamIsCapturing(void *stream, int *status)
{
    *status = stream && ((Stream *)stream)->captured;
    return DONE;
}

int cuStreamDestroy_v2(void *stream)
{
    free(stream);
    return DONE;
}

int cuStreamSynchronize(void *stream)
{
    (void)stream;
    return DONE;
}

int cuStreamBeginCapture_v2(void *stream, int mode)
{
    (void)mode;
    if (!stream || ((Stream *)stream)->captured)
        return CAPTURE_INVALID;
    ((Stream *)stream)->captured = calloc(1, sizeof(Graph));
    return DONE;
}

int cuStreamEndCapture(void *stream, void **graph)
{
    *graph = ((Stream *)stream)->captured;
    ((Stream *)stream)->captured = NULL;
    return *graph ? DONE : CAPTURE_INVALID;
}

int cuThreadExchangeStreamCaptureMode(int *mode)
{
    static int now;
    int before = now;
    now = *mode;
    *mode = before;
    return DONE;
}

int cuGraphCreate(void **graph, unsigned flags)
{
    *graph = calloc(1, sizeof(Graph));
    return flags ? INVALID_VALUE : DONE;
}

static int add(void **node, Graph *graph, const KernelNode *parameters, bool has_kernel)
{
    const EmulatedLaunch launch = launch_of(parameters, has_kernel);
    *node = launch.function && !parameters->extra ? graph_add(graph, &launch) : NULL;
    return *node ? DONE : INVALID_HANDLE;
}

int cuGraphAddKernelNode(void **node, void *graph, void *const *needs, size_t count, const KernelNode *parameters)
{
    (void)needs, (void)count;
    return add(node, graph, parameters, false);
}

int cuGraphAddKernelNode_v2(void **node, void *graph, void *const *needs, size_t count,
                            const KernelNode *parameters)
{
    (void)needs, (void)count;
    return add(node, graph, parameters, true);
}

/* Memory is there at once, and stays: no launch of the graph needs it made. */
int cuGraphAddNode(void **node, void *graph, void *const *needs, size_t count, AnyNode *parameters)
{
    (void)needs, (void)count;
    *node = graph;
    return parameters->type == KERNEL_NODE       ? add(node, graph, &parameters->kernel, true)
           : parameters->type == ALLOCATION_NODE ? cuMemAlloc_v2(&parameters->memory.address, parameters->memory.size)
                                                 : INVALID_VALUE;
}

int cuGraphAddNode_v2(void **node, void *graph, void *const *needs, const void *edges, size_t count,
                      AnyNode *parameters)
{
    (void)edges;
    return cuGraphAddNode(node, graph, needs, count, parameters);
}

int cuGraphKernelNodeGetParams_v2(void *node, KernelNode *parameters)
{
    const EmulatedLaunch *launch = &((Node *)node)->launch;
    *parameters = (KernelNode){
        .function = launch->function, .shared = launch->shared, .arguments = launch->arguments};
    memcpy(parameters->grid, launch->grid, sizeof launch->grid);
    memcpy(parameters->block, launch->block, sizeof launch->block);
    return DONE;
}

int cuGraphKernelNodeSetParams_v2(void *node, const KernelNode *parameters)
{
    const EmulatedLaunch launch = launch_of(parameters, true);
    node_set(node, &launch);
    return DONE;
}

int cuGraphKernelNodeGetParams(void *node, KernelNode *parameters)
{
    KernelNode newer;
    int error = cuGraphKernelNodeGetParams_v2(node, &newer);
    memcpy(parameters, &newer, offsetof(KernelNode, kernel));
    return error;
}

int cuGraphKernelNodeSetParams(void *node, const KernelNode *parameters)
{
    const EmulatedLaunch launch = launch_of(parameters, false);
    node_set(node, &launch);
    return DONE;
}

int cuGraphNodeGetParams(void *node, AnyNode *parameters)
{
    parameters->type = KERNEL_NODE;
    return cuGraphKernelNodeGetParams_v2(node, &parameters->kernel);
}

int cuGraphNodeSetParams(void *node, const AnyNode *parameters)
{
    return parameters->type ? INVALID_VALUE : cuGraphKernelNodeSetParams_v2(node, &parameters->kernel);
}

int cuGraphInstantiateWithFlags(void **instance, void *graph, unsigned long long flags)
{
    (void)flags;
    Graph *made = *instance = calloc(1, sizeof(Graph));
    for (Node *node = ((Graph *)graph)->first; node; node = node->next)
        graph_add(made, &node->launch)->of = node;
    return DONE;
}

static int set_instance(const Graph *instance, const void *node, const EmulatedLaunch *launch)
{
    for (Node *own = instance->first; own; own = own->next)
        if (own->of == node) {
            node_set(own, launch);
            return DONE;
        }
    return INVALID_VALUE;
}

int cuGraphExecKernelNodeSetParams(void *instance, void *node, const KernelNode *parameters)
{
    const EmulatedLaunch launch = launch_of(parameters, false);
    return set_instance(instance, node, &launch);
}

int cuGraphExecKernelNodeSetParams_v2(void *instance, void *node, const KernelNode *parameters)
{
    const EmulatedLaunch launch = launch_of(parameters, true);
    return set_instance(instance, node, &launch);
}

int cuGraphExecNodeSetParams(void *instance, void *node, const AnyNode *parameters)
{
    return parameters->type ? INVALID_VALUE : cuGraphExecKernelNodeSetParams_v2(instance, node, &parameters->kernel);
}

/* The graph must have the same shape. */
int cuGraphExecUpdate_v2(void *instance, void *graph, void *result)
{
    (void)result;
    Node *own = ((Graph *)instance)->first, *other = ((Graph *)graph)->first;
    for (; own && other; own = own->next, other = other->next)
        node_set(own, &other->launch);
    return own || other ? INVALID_VALUE : DONE;
}

int cuGraphLaunch(void *instance, void *stream)
{
    int error = DONE;
    (void)stream;
    for (Node *node = ((Graph *)instance)->first; node && !error; node = node->next)
        error = emulated_run(&node->launch);
    return error;
}

/* What a node has is small, and the program ends soon. */
int cuGraphDestroy(void *graph)
{
    return graph ? DONE : INVALID_VALUE;
}

int cuGraphExecDestroy(void *instance)
{
    return instance ? DONE : INVALID_VALUE;
}
