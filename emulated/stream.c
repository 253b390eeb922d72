/* Streams and events. Work is done at once, so streams are in order with each other, and host functions are called by
 * the thread that submits them. A captured stream makes nodes of a graph instead. Time is counted. */
#include <stdlib.h>
#include <string.h>

#include "emulated/driver.h"
#include "emulated/driver_api.h"

enum { SPECIAL_STREAMS = 2 }; /* the legacy stream, 1, and the thread's own, 2 */
enum { CAPTURE_NONE, CAPTURE_ACTIVE };
enum { LEAST_PRIORITY = 0, GREATEST_PRIORITY = -5 };

typedef struct Tips { /* the nodes that the next one comes after */
    Node **nodes;
    size_t count;
} Tips;

typedef struct Stream {
    Graph *captured;          /* NULL: the stream executes */
    bool is_origin, is_given; /* is the origin of the capture; the graph existed before */
    uint64_t capture_id, id;
    Tips tips;
    unsigned flags;
    int priority;
    struct Stream *next;
} Stream;

typedef struct Event {
    double time;
    bool is_recorded;
    unsigned flags;
    Graph *captured; /* the graph into which the stream was captured in which it was recorded */
    uint64_t capture_id;
    Tips tips;
} Event;

static Stream *streams;
static uint64_t next_id = 3, next_capture = 1;

/* The stream of a handle; NULL for the special ones, which cannot be captured here. */
static Stream *stream_of(void *handle)
{
    return (uintptr_t)handle > SPECIAL_STREAMS ? handle : NULL;
}

static void tips_set(Tips *tips, Node *const *nodes, size_t count)
{
    Node **copy = malloc((count + 1) * sizeof(Node *));
    if (copy && count)
        memcpy(copy, nodes, count * sizeof(Node *));
    free(tips->nodes);
    *tips = (Tips){copy, copy ? count : 0};
}

static void tips_add(Tips *tips, const Tips *more)
{
    size_t count = tips->count + more->count;
    Node **nodes = malloc((count + 1) * sizeof(Node *));
    if (!nodes)
        return;
    memcpy(nodes, tips->nodes, tips->count * sizeof(Node *));
    memcpy(nodes + tips->count, more->nodes, more->count * sizeof(Node *));
    tips_set(tips, nodes, count);
    free(nodes);
}

int stream_submit(void *handle, const Work *work)
{
    LOCKED;
    Stream *stream = stream_of(handle);
    if (!stream || !stream->captured)
        return device_error() ? device_error() : work_run(work);
    Node *node = graph_add(stream->captured, work, stream->tips.nodes, stream->tips.count);
    if (!node)
        return NO_MEMORY;
    tips_set(&stream->tips, &node, 1);
    return DONE;
}

int emulated_launch(const EmulatedLaunch *launch, void *stream)
{
    const unsigned *grid = launch->grid, *block = launch->block;
    const Work work = {.kind = WORK_KERNEL, .launch = *launch};
    if (!launch->function)
        return INVALID_HANDLE;
    if (!grid[0] || !grid[1] || !grid[2] || !block[0] || !block[1] || !block[2])
        return INVALID_VALUE;
    return stream_submit(stream, &work);
}

int cuStreamCreateWithPriority(void **result, unsigned flags, int priority)
{
    LOCKED;
    Stream *stream = calloc(1, sizeof *stream);
    if (!stream || flags > 1) {
        free(stream);
        return stream ? INVALID_VALUE : NO_MEMORY;
    }
    stream->flags = flags;
    stream->priority = priority > LEAST_PRIORITY      ? LEAST_PRIORITY
                       : priority < GREATEST_PRIORITY ? GREATEST_PRIORITY
                                                      : priority;
    stream->id = next_id++;
    stream->next = streams;
    streams = stream;
    *result = stream;
    return DONE;
}

int cuStreamCreate(void **stream, unsigned flags)
{
    return cuStreamCreateWithPriority(stream, flags, 0);
}

int cuStreamDestroy_v2(void *handle)
{
    LOCKED;
    Stream **place = &streams;
    while (*place && *place != handle)
        place = &(*place)->next;
    if (!*place)
        return INVALID_HANDLE;
    Stream *stream = *place;
    *place = stream->next;
    free(stream->tips.nodes);
    free(stream);
    return DONE;
}

int cuCtxGetStreamPriorityRange(int *least, int *greatest)
{
    if (least)
        *least = LEAST_PRIORITY;
    if (greatest)
        *greatest = GREATEST_PRIORITY;
    return DONE;
}

int cuStreamGetPriority(void *handle, int *priority)
{
    const Stream *stream = stream_of(handle);
    *priority = stream ? stream->priority : 0;
    return DONE;
}

int cuStreamGetFlags(void *handle, unsigned *flags)
{
    const Stream *stream = stream_of(handle);
    *flags = stream ? stream->flags : 0;
    return DONE;
}

int cuStreamGetId(void *handle, unsigned long long *id)
{
    const Stream *stream = stream_of(handle);
    *id = stream ? stream->id : (uintptr_t)handle;
    return DONE;
}

int cuStreamGetDevice(void *handle, int *device)
{
    (void)handle;
    *device = 0;
    return DONE;
}

int cuStreamGetCtx(void *handle, void **context)
{
    (void)handle;
    return cuCtxGetCurrent(context);
}

bool stream_is_captured(void *handle)
{
    LOCKED;
    const Stream *stream = stream_of(handle);
    return stream && stream->captured;
}

static int wait_for(const Stream *stream)
{
    return stream && stream->captured ? CAPTURE_UNSUPPORTED : device_error();
}

int cuStreamSynchronize(void *handle)
{
    LOCKED;
    return wait_for(stream_of(handle));
}

int cuStreamQuery(void *handle)
{
    LOCKED;
    return wait_for(stream_of(handle));
}

int cuLaunchHostFunc(void *stream, void (*function)(void *), void *data)
{
    const Work work = {.kind = WORK_HOST, .host = {function, data}};
    if (!function || device_error())
        return function ? device_error() : INVALID_VALUE;
    if (stream_is_captured(stream))
        return stream_submit(stream, &work);
    function(data); /* without the lock: it may wait for another thread */
    return DONE;
}

int cuStreamAddCallback(void *handle, void (*function)(void *, int, void *), void *data, unsigned flags)
{
    const Stream *stream = stream_of(handle);
    if (!function || flags)
        return INVALID_VALUE;
    if (stream && stream->captured)
        return CAPTURE_UNSUPPORTED;
    function(handle, device_error(), data);
    return DONE;
}

/* Attributes: their values have 64 bytes. */

int cuStreamGetAttribute(void *handle, int attribute, void *value)
{
    enum { PRIORITY = 8, BYTES = 64 };
    memset(value, 0, BYTES);
    return attribute == PRIORITY ? cuStreamGetPriority(handle, value) : DONE;
}

int cuStreamSetAttribute(void *handle, int attribute, const void *value)
{
    enum { PRIORITY = 8 };
    Stream *stream = stream_of(handle);
    if (stream && attribute == PRIORITY)
        stream->priority = *(const int *)value;
    return value ? DONE : INVALID_VALUE;
}

int cuStreamCopyAttributes(void *to, void *from)
{
    if (stream_of(to) && stream_of(from))
        stream_of(to)->priority = stream_of(from)->priority;
    return DONE;
}

/* Capture. */

static int capture(void *handle, Graph *graph, bool is_given, Node *const *needs, size_t count)
{
    Stream *stream = stream_of(handle);
    if (!stream || stream->captured)
        return stream ? CAPTURE_INVALID : CAPTURE_UNSUPPORTED;
    stream->captured = graph ? graph : graph_new();
    stream->is_origin = true;
    stream->is_given = is_given;
    stream->capture_id = next_capture++;
    tips_set(&stream->tips, needs, count);
    return stream->captured ? DONE : NO_MEMORY;
}

int cuStreamBeginCapture_v2(void *handle, int mode)
{
    LOCKED;
    (void)mode;
    return capture(handle, NULL, false, NULL, 0);
}

int cuStreamBeginCaptureToGraph(void *handle, void *graph, void *const *needs, const void *edges, size_t count,
                                int mode)
{
    LOCKED;
    (void)edges, (void)mode;
    return graph ? capture(handle, graph, true, (Node *const *)needs, count) : INVALID_VALUE;
}

/* Ends a capture; other streams that were drawn into it are free again. */
int cuStreamEndCapture(void *handle, void **graph)
{
    LOCKED;
    Stream *stream = stream_of(handle);
    *graph = NULL;
    if (!stream || !stream->captured)
        return CAPTURE_INVALID;
    if (!stream->is_origin)
        return CAPTURE_UNMATCHED;
    uint64_t id = stream->capture_id;
    *graph = stream->captured;
    for (Stream *other = streams; other; other = other->next)
        if (other->captured && other->capture_id == id) {
            other->captured = NULL;
            other->is_origin = false;
        }
    return DONE;
}

int cuStreamIsCapturing(void *handle, int *status)
{
    LOCKED;
    const Stream *stream = stream_of(handle);
    *status = stream && stream->captured ? CAPTURE_ACTIVE : CAPTURE_NONE;
    return DONE;
}

int cuStreamGetCaptureInfo_v3(void *handle, int *status, unsigned long long *id, void **graph, void *const **needs,
                              const void **edges, size_t *count)
{
    LOCKED;
    const Stream *stream = stream_of(handle);
    int error = cuStreamIsCapturing(handle, status);
    if (edges)
        *edges = NULL;
    if (*status == CAPTURE_NONE)
        return error;
    if (id)
        *id = stream->capture_id;
    if (graph)
        *graph = stream->captured;
    if (needs)
        *needs = (void *const *)stream->tips.nodes;
    if (count)
        *count = stream->tips.count;
    return error;
}

int cuStreamGetCaptureInfo_v2(void *handle, int *status, unsigned long long *id, void **graph, void *const **needs,
                              size_t *count)
{
    return cuStreamGetCaptureInfo_v3(handle, status, id, graph, needs, NULL, count);
}

int cuStreamGetCaptureInfo(void *handle, int *status, unsigned long long *id)
{
    return cuStreamGetCaptureInfo_v3(handle, status, id, NULL, NULL, NULL, NULL);
}

int cuStreamUpdateCaptureDependencies_v2(void *handle, void **needs, const void *edges, size_t count, unsigned flags)
{
    LOCKED;
    enum { ADD = 0, SET = 1 };
    Stream *stream = stream_of(handle);
    const Tips given = {(Node **)needs, count};
    (void)edges;
    if (!stream || !stream->captured || flags > SET)
        return INVALID_VALUE;
    if (flags == ADD)
        tips_add(&stream->tips, &given);
    else
        tips_set(&stream->tips, given.nodes, count);
    return DONE;
}

int cuStreamUpdateCaptureDependencies(void *handle, void **needs, size_t count, unsigned flags)
{
    return cuStreamUpdateCaptureDependencies_v2(handle, needs, NULL, count, flags);
}

int cuThreadExchangeStreamCaptureMode(int *mode)
{
    static _Thread_local int now;
    int before = now;
    now = *mode;
    *mode = before;
    return DONE;
}

/* Events. */

enum { NO_TIMING = 2 };

int cuEventCreate(void **result, unsigned flags)
{
    Event *event = calloc(1, sizeof *event);
    if (!event)
        return NO_MEMORY;
    event->flags = flags;
    *result = event;
    return DONE;
}

int cuEventDestroy_v2(void *handle)
{
    Event *event = handle;
    if (!event)
        return INVALID_HANDLE;
    free(event->tips.nodes);
    free(event);
    return DONE;
}

int cuEventRecordWithFlags(void *handle, void *stream_handle, unsigned flags)
{
    LOCKED;
    Event *event = handle;
    const Stream *stream = stream_of(stream_handle);
    (void)flags;
    if (!event)
        return INVALID_HANDLE;
    event->captured = stream ? stream->captured : NULL;
    if (event->captured) {
        event->capture_id = stream->capture_id;
        tips_set(&event->tips, stream->tips.nodes, stream->tips.count);
        return DONE;
    }
    return stream_submit(stream_handle, &(Work){.kind = WORK_RECORD, .event = event});
}

int cuEventRecord(void *event, void *stream)
{
    return cuEventRecordWithFlags(event, stream, 0);
}

void event_set(void *handle)
{
    ((Event *)handle)->time = device_clock;
    ((Event *)handle)->is_recorded = true;
}

static int event_check(const Event *event)
{
    return !event ? INVALID_HANDLE : event->captured ? CAPTURE_UNSUPPORTED : device_error();
}

int cuEventSynchronize(void *event)
{
    LOCKED;
    return event_check(event);
}

int cuEventQuery(void *event)
{
    LOCKED;
    return event_check(event);
}

int cuEventElapsedTime_v2(float *milliseconds, void *start, void *end)
{
    LOCKED;
    const Event *first = start, *last = end;
    if (!first || !last || !first->is_recorded || !last->is_recorded)
        return INVALID_HANDLE;
    if ((first->flags | last->flags) & NO_TIMING)
        return INVALID_HANDLE;
    *milliseconds = (float)(last->time - first->time);
    return device_error();
}

int cuEventElapsedTime(float *milliseconds, void *start, void *end)
{
    return cuEventElapsedTime_v2(milliseconds, start, end);
}

/* A stream that waits for an event of a captured one joins its capture. */
int cuStreamWaitEvent(void *handle, void *event_handle, unsigned flags)
{
    LOCKED;
    Stream *stream = stream_of(handle);
    const Event *event = event_handle;
    (void)flags;
    if (!event)
        return INVALID_HANDLE;
    if (!event->captured)
        return stream && stream->captured ? stream_submit(handle, &(Work){.kind = WORK_WAIT, .event = event_handle})
                                          : DONE;
    if (!stream || (stream->captured && stream->capture_id != event->capture_id))
        return CAPTURE_UNSUPPORTED;
    if (stream->captured)
        tips_add(&stream->tips, &event->tips);
    else
        tips_set(&stream->tips, event->tips.nodes, event->tips.count);
    stream->captured = event->captured;
    stream->capture_id = event->capture_id;
    return DONE;
}

int cuCtxRecordEvent(void *context, void *event)
{
    (void)context;
    return cuEventRecord(event, NULL);
}

int cuCtxWaitEvent(void *context, void *event)
{
    (void)context, (void)event;
    return DONE;
}

/* Words in memory that streams write and wait for: the awaited value must be there already. */

int cuStreamWriteValue32_v2(void *stream, uint64_t address, unsigned value, unsigned flags)
{
    (void)flags;
    return cuMemsetD32Async(address, value, 1, stream);
}

int cuStreamWriteValue64_v2(void *stream, uint64_t address, uint64_t value, unsigned flags)
{
    (void)flags;
    int error = cuMemsetD32Async(address, (unsigned)value, 1, stream);
    return error ? error : cuMemsetD32Async(address + 4, (unsigned)(value >> 32), 1, stream);
}

/* The names for programs whose threads have default streams of their own. */
SAME(cuEventRecordWithFlags_ptsz, cuEventRecordWithFlags);
SAME(cuEventRecord_ptsz, cuEventRecord);
SAME(cuLaunchHostFunc_ptsz, cuLaunchHostFunc);
SAME(cuStreamAddCallback_ptsz, cuStreamAddCallback);
SAME(cuStreamBeginCaptureToGraph_ptsz, cuStreamBeginCaptureToGraph);
SAME(cuStreamBeginCapture_v2_ptsz, cuStreamBeginCapture_v2);
SAME(cuStreamCopyAttributes_ptsz, cuStreamCopyAttributes);
SAME(cuStreamEndCapture_ptsz, cuStreamEndCapture);
SAME(cuStreamGetAttribute_ptsz, cuStreamGetAttribute);
SAME(cuStreamGetCaptureInfo_ptsz, cuStreamGetCaptureInfo);
SAME(cuStreamGetCaptureInfo_v2_ptsz, cuStreamGetCaptureInfo_v2);
SAME(cuStreamGetCaptureInfo_v3_ptsz, cuStreamGetCaptureInfo_v3);
SAME(cuStreamGetCtx_ptsz, cuStreamGetCtx);
SAME(cuStreamGetDevice_ptsz, cuStreamGetDevice);
SAME(cuStreamGetFlags_ptsz, cuStreamGetFlags);
SAME(cuStreamGetId_ptsz, cuStreamGetId);
SAME(cuStreamGetPriority_ptsz, cuStreamGetPriority);
SAME(cuStreamIsCapturing_ptsz, cuStreamIsCapturing);
SAME(cuStreamQuery_ptsz, cuStreamQuery);
SAME(cuStreamSetAttribute_ptsz, cuStreamSetAttribute);
SAME(cuStreamSynchronize_ptsz, cuStreamSynchronize);
SAME(cuStreamUpdateCaptureDependencies_ptsz, cuStreamUpdateCaptureDependencies);
SAME(cuStreamUpdateCaptureDependencies_v2_ptsz, cuStreamUpdateCaptureDependencies_v2);
SAME(cuStreamWaitEvent_ptsz, cuStreamWaitEvent);
SAME(cuStreamWriteValue32_v2_ptsz, cuStreamWriteValue32_v2);
SAME(cuStreamWriteValue64_v2_ptsz, cuStreamWriteValue64_v2);
