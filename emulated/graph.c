/* Graphs: nodes of work, and for each the nodes that it comes after. An instance is a copy of a graph in an order that
 * the edges allow, with links to the nodes that it was made from. */
#include <stdlib.h>
#include <string.h>

#include "emulated/driver_api.h"
#include "emulated/graph.h"

static EmulatedLaunch launch_copy(const EmulatedLaunch *launch)
{
    const Prototype *prototype = &launch->function->function->prototype;
    EmulatedLaunch copy = *launch;
    copy.packed = NULL;
    copy.arguments = calloc(prototype->param_count + 1, sizeof(void *));
    for (unsigned i = 0; i < prototype->param_count; i++) {
        size_t size = variable_bytes(prototype->params[i]);
        copy.arguments[i] = malloc(size + 1);
        memcpy(copy.arguments[i], launch_argument(launch, i), size);
    }
    return copy;
}

static void launch_release(EmulatedLaunch *launch)
{
    for (unsigned i = 0; launch->arguments && launch->arguments[i]; i++)
        free(launch->arguments[i]);
    free(launch->arguments);
    launch->arguments = NULL;
}

static Graph *graph_copy(const Graph *graph);
static void graph_release(Graph *graph);

/* A copy of work. A node has a copy of its child graph. */
static Work work_copy(const Work *work)
{
    Work copy = *work;
    if (work->kind == WORK_KERNEL)
        copy.launch = launch_copy(&work->launch);
    if (work->kind == WORK_GRAPH)
        copy.graph = graph_copy(work->graph);
    return copy;
}

static void work_release(Work *work)
{
    if (work->kind == WORK_KERNEL)
        launch_release(&work->launch);
    if (work->kind == WORK_GRAPH)
        graph_release(work->graph);
}

void node_set(Node *node, const Work *work)
{
    Replaced *old = malloc(sizeof *old);
    if (!old)
        return;
    *old = (Replaced){node->work, node->replaced};
    node->replaced = old;
    node->work = work_copy(work);
}

static bool needs_add(Node *node, Node *const *needs, size_t count)
{
    Node **larger = realloc(node->needs, (node->need_count + count + 1) * sizeof(Node *));
    if (!larger)
        return false;
    if (count)
        memcpy(larger + node->need_count, needs, count * sizeof(Node *));
    node->needs = larger;
    node->need_count += count;
    return true;
}

Graph *graph_new(void)
{
    return calloc(1, sizeof(Graph));
}

Node *graph_add(Graph *graph, const Work *work, Node *const *needs, size_t need_count)
{
    Node *node = calloc(1, sizeof *node);
    if (!node || !needs_add(node, needs, need_count)) {
        free(node);
        return NULL;
    }
    node->work = work_copy(work);
    node->graph = graph;
    if (graph->last)
        graph->last->next = node;
    else
        graph->first = node;
    graph->last = node;
    return node;
}

Node *made_from(const Graph *copy, const Node *node)
{
    Node *own = copy->first;
    while (own && own->of != node)
        own = own->next;
    return own;
}

static bool is_ready(const Node *node)
{
    for (size_t i = 0; i < node->need_count; i++)
        if (!node->needs[i]->is_done)
            return false;
    return true;
}

static void copy_needs(Graph *copy)
{
    for (Node *node = copy->first; node; node = node->next)
        for (size_t i = 0; i < node->of->need_count; i++) {
            Node *need = made_from(copy, node->of->needs[i]);
            if (need)
                needs_add(node, &need, 1);
        }
}

/* The nodes of the copy come after those that they need; NULL if they need each other. */
static Graph *graph_copy(const Graph *graph)
{
    Graph *copy = graph_new();
    bool is_complete = false, has_grown = true;
    for (Node *node = graph->first; node; node = node->next)
        node->is_done = false;
    while (!is_complete && has_grown) {
        is_complete = true;
        has_grown = false;
        for (Node *node = graph->first; node; node = node->next) {
            if (node->is_done)
                continue;
            if (!is_ready(node)) {
                is_complete = false;
                continue;
            }
            Node *own = graph_add(copy, &node->work, NULL, 0);
            own->of = node;
            own->is_disabled = node->is_disabled;
            node->is_done = has_grown = true;
        }
    }
    copy_needs(copy);
    copy->flags = graph->flags;
    if (is_complete)
        return copy;
    graph_release(copy);
    return NULL;
}

static void node_release(Node *node)
{
    work_release(&node->work);
    while (node->replaced) {
        Replaced *next = node->replaced->next;
        work_release(&node->replaced->work);
        free(node->replaced);
        node->replaced = next;
    }
    free(node->needs);
    free(node);
}

static void graph_release(Graph *graph)
{
    for (Node *node = graph ? graph->first : NULL; node;) {
        Node *next = node->next;
        node_release(node);
        node = next;
    }
    free(graph);
}

static int graph_run(const Graph *graph)
{
    int error = DONE;
    for (Node *node = graph->first; node && !error; node = node->next)
        error = node->is_disabled ? DONE : work_run(&node->work);
    return error;
}

/* Does the work. Memory that a graph allocates exists from the creation of the node on, and stays, so that the graph
 * can run again. */
int work_run(const Work *work)
{
    switch (work->kind) {
    case WORK_KERNEL: return emulated_run(&work->launch);
    case WORK_COPY: return copy_run(&work->copy);
    case WORK_FILL: return fill_run(&work->fill);
    case WORK_HOST: work->host.function(work->host.data); return DONE;
    case WORK_GRAPH: return graph_run(work->graph);
    case WORK_RECORD: event_set(work->event); return DONE;
    default: return DONE;
    }
}

int cuGraphCreate(void **graph, unsigned flags)
{
    *graph = flags ? NULL : graph_new();
    return flags ? INVALID_VALUE : *graph ? DONE : NO_MEMORY;
}

/* The shape of graphs. Lists: without a place for the items, *count is set to their number. */

int cuGraphNodeGetType(void *node, int *type)
{
    *type = node ? (int)((Node *)node)->work.kind : 0;
    return node ? DONE : INVALID_VALUE;
}

static void list_put(void **list, size_t room, size_t *count, Node *node)
{
    if (list && *count < room)
        list[*count] = node;
    (*count)++;
}

static int list_nodes(const Graph *graph, void **nodes, size_t *count, bool only_roots)
{
    size_t room = *count;
    *count = 0;
    for (Node *node = graph ? graph->first : NULL; node; node = node->next)
        if (!only_roots || !node->need_count)
            list_put(nodes, room, count, node);
    if (nodes && *count > room)
        *count = room;
    return graph ? DONE : INVALID_VALUE;
}

int cuGraphGetNodes(void *graph, void **nodes, size_t *count)
{
    return list_nodes(graph, nodes, count, false);
}

int cuGraphGetRootNodes(void *graph, void **nodes, size_t *count)
{
    return list_nodes(graph, nodes, count, true);
}

int cuGraphGetEdges(void *graph, void **from, void **to, size_t *count)
{
    size_t room = *count, found = 0;
    for (Node *node = graph ? ((Graph *)graph)->first : NULL; node; node = node->next)
        for (size_t i = 0; i < node->need_count; i++, found++)
            if (from && to && found < room) {
                from[found] = node->needs[i];
                to[found] = node;
            }
    *count = from && found > room ? room : found;
    return graph ? DONE : INVALID_VALUE;
}

int cuGraphGetEdges_v2(void *graph, void **from, void **to, void *edges, size_t *count)
{
    if (edges && *count)
        memset(edges, 0, 8 * *count); /* CUgraphEdgeData */
    return cuGraphGetEdges(graph, from, to, count);
}

int cuGraphNodeGetDependencies(void *handle, void **needs, size_t *count)
{
    const Node *node = handle;
    size_t room = *count;
    *count = 0;
    for (size_t i = 0; node && i < node->need_count; i++)
        list_put(needs, room, count, node->needs[i]);
    return node ? DONE : INVALID_VALUE;
}

int cuGraphNodeGetDependencies_v2(void *node, void **needs, void *edges, size_t *count)
{
    (void)edges;
    return cuGraphNodeGetDependencies(node, needs, count);
}

int cuGraphNodeGetDependentNodes(void *handle, void **nodes, size_t *count)
{
    size_t room = *count;
    *count = 0;
    if (!handle)
        return INVALID_VALUE;
    for (Node *node = ((Node *)handle)->graph->first; node; node = node->next)
        for (size_t i = 0; i < node->need_count; i++)
            if (node->needs[i] == handle)
                list_put(nodes, room, count, node);
    return DONE;
}

int cuGraphNodeGetDependentNodes_v2(void *node, void **nodes, void *edges, size_t *count)
{
    (void)edges;
    return cuGraphNodeGetDependentNodes(node, nodes, count);
}

int cuGraphAddDependencies(void *graph, void *const *from, void *const *to, size_t count)
{
    LOCKED;
    for (size_t i = 0; i < count; i++) {
        Node *node = to[i], *need = from[i];
        if (!node || !need || node->graph != graph || need->graph != graph)
            return INVALID_VALUE;
        if (!needs_add(node, &need, 1))
            return NO_MEMORY;
    }
    return DONE;
}

int cuGraphAddDependencies_v2(void *graph, void *const *from, void *const *to, const void *edges, size_t count)
{
    (void)edges;
    return cuGraphAddDependencies(graph, from, to, count);
}

static void needs_remove(Node *node, const Node *need)
{
    size_t kept = 0;
    for (size_t i = 0; i < node->need_count; i++)
        if (node->needs[i] != need)
            node->needs[kept++] = node->needs[i];
    node->need_count = kept;
}

int cuGraphRemoveDependencies(void *graph, void *const *from, void *const *to, size_t count)
{
    LOCKED;
    for (size_t i = 0; graph && i < count; i++)
        needs_remove(to[i], from[i]);
    return graph ? DONE : INVALID_VALUE;
}

int cuGraphRemoveDependencies_v2(void *graph, void *const *from, void *const *to, const void *edges, size_t count)
{
    (void)edges;
    return cuGraphRemoveDependencies(graph, from, to, count);
}

int cuGraphDestroyNode(void *handle)
{
    LOCKED;
    Node *node = handle, *before = NULL;
    if (!node)
        return INVALID_VALUE;
    Graph *graph = node->graph;
    for (Node *other = graph->first; other; other = other->next) {
        needs_remove(other, node);
        if (other->next == node)
            before = other;
    }
    *(before ? &before->next : &graph->first) = node->next;
    if (graph->last == node)
        graph->last = before;
    node_release(node);
    return DONE;
}

int cuGraphClone(void **clone, void *graph)
{
    LOCKED;
    *clone = graph ? graph_copy(graph) : NULL;
    return *clone ? DONE : INVALID_VALUE;
}

int cuGraphNodeFindInClone(void **node, void *original, void *clone)
{
    *node = clone ? made_from(clone, original) : NULL;
    return *node ? DONE : INVALID_VALUE;
}

int cuGraphDestroy(void *graph)
{
    LOCKED;
    graph_release(graph);
    return graph ? DONE : INVALID_VALUE;
}

/* Instances. */

int cuGraphInstantiateWithFlags(void **instance, void *graph, unsigned long long flags)
{
    int error = cuGraphClone(instance, graph);
    if (!error)
        ((Graph *)*instance)->flags = flags;
    return error;
}

/* Before CUDA 12: with a node that is at fault, and a log. */
int cuGraphInstantiate(void **instance, void *graph, void **node, char *log, size_t size)
{
    if (node)
        *node = NULL;
    if (log && size)
        *log = 0;
    return cuGraphInstantiateWithFlags(instance, graph, 0);
}

int cuGraphInstantiate_v2(void **instance, void *graph, void **node, char *log, size_t size)
{
    return cuGraphInstantiate(instance, graph, node, log, size);
}

/* CUDA_GRAPH_INSTANTIATE_PARAMS */
int cuGraphInstantiateWithParams(void **instance, void *graph, InstanceParameters *parameters)
{
    parameters->node_at_fault = NULL;
    parameters->result = 0;
    return cuGraphInstantiateWithFlags(instance, graph, parameters->flags);
}

int cuGraphExecGetFlags(void *instance, unsigned long long *flags)
{
    *flags = instance ? ((Graph *)instance)->flags : 0;
    return instance ? DONE : INVALID_VALUE;
}

/* The graph must have the same shape. */
static int update(Graph *instance, const Graph *graph)
{
    LOCKED;
    Graph *copy = graph_copy(graph);
    Node *own = instance->first, *other = copy ? copy->first : NULL;
    for (; own && other && own->work.kind == other->work.kind; own = own->next, other = other->next) {
        node_set(own, &other->work);
        own->of = other->of;
    }
    graph_release(copy);
    return own || other ? GRAPH_UPDATE_FAILED : DONE;
}

/* CUgraphExecUpdateResultInfo: the result, 0 or 1, and two nodes. */
int cuGraphExecUpdate_v2(void *instance, void *graph, UpdateResult *result)
{
    int error = instance && graph ? update(instance, graph) : INVALID_VALUE;
    if (result)
        *result = (UpdateResult){.result = error != DONE};
    return error;
}

int cuGraphExecUpdate(void *instance, void *graph, void **node, int *result)
{
    UpdateResult whole;
    int error = cuGraphExecUpdate_v2(instance, graph, &whole);
    *node = NULL;
    *result = whole.result;
    return error;
}

int cuGraphLaunch(void *instance, void *stream)
{
    LOCKED;
    return instance ? stream_submit(stream, &(Work){.kind = WORK_GRAPH, .graph = instance}) : INVALID_VALUE;
}

int cuGraphUpload(void *instance, void *stream)
{
    (void)stream;
    return instance ? DONE : INVALID_VALUE;
}

int cuGraphExecDestroy(void *instance)
{
    return cuGraphDestroy(instance);
}

/* Objects of the program that live as long as something refers to them. */

typedef struct UserObject {
    void *data;
    void (*destroy)(void *data);
    unsigned references;
} UserObject;

int cuUserObjectCreate(void **result, void *data, void (*destroy)(void *data), unsigned references, unsigned flags)
{
    UserObject *object = malloc(sizeof *object);
    (void)flags;
    if (!object)
        return NO_MEMORY;
    *object = (UserObject){data, destroy, references};
    *result = object;
    return DONE;
}

int cuUserObjectRetain(void *object, unsigned count)
{
    ((UserObject *)object)->references += count;
    return DONE;
}

int cuUserObjectRelease(void *handle, unsigned count)
{
    UserObject *object = handle;
    if (count > object->references)
        return INVALID_VALUE;
    object->references -= count;
    if (!object->references) {
        object->destroy(object->data);
        free(object);
    }
    return DONE;
}

/* The graph's references are never released, so the object outlives it. */
int cuGraphRetainUserObject(void *graph, void *object, unsigned count, unsigned flags)
{
    enum { MOVE = 1 };
    return !graph ? INVALID_VALUE : flags & MOVE ? DONE : cuUserObjectRetain(object, count);
}

int cuGraphReleaseUserObject(void *graph, void *object, unsigned count)
{
    return graph ? cuUserObjectRelease(object, count) : INVALID_VALUE;
}

/* The names for programs whose threads have default streams of their own. */
SAME(cuGraphInstantiateWithParams_ptsz, cuGraphInstantiateWithParams);
SAME(cuGraphLaunch_ptsz, cuGraphLaunch);
SAME(cuGraphUpload_ptsz, cuGraphUpload);
