/* The runtime's streams and events. */
#include "emulated/runtime.h"

int cudaStreamCreateWithPriority(void **stream, unsigned flags, int priority)
{
    CALL(cuStreamCreateWithPriority, stream, flags, priority);
}

int cudaStreamCreateWithFlags(void **stream, unsigned flags)
{
    CALL(cuStreamCreate, stream, flags);
}

int cudaStreamCreate(void **stream)
{
    CALL(cuStreamCreate, stream, 0);
}

int cudaStreamDestroy(void *stream)
{
    CALL(cuStreamDestroy_v2, stream);
}

int cudaStreamSynchronize(void *stream)
{
    CALL(cuStreamSynchronize, stream);
}

int cudaStreamQuery(void *stream)
{
    CALL(cuStreamQuery, stream);
}

int cudaStreamWaitEvent(void *stream, void *event, unsigned flags)
{
    CALL(cuStreamWaitEvent, stream, event, flags);
}

int cudaStreamAddCallback(void *stream, void (*function)(void *, int, void *), void *data, unsigned flags)
{
    CALL(cuStreamAddCallback, stream, function, data, flags);
}

int cudaLaunchHostFunc(void *stream, void (*function)(void *), void *data)
{
    CALL(cuLaunchHostFunc, stream, function, data);
}

int cudaStreamAttachMemAsync(void *stream, void *address, size_t size, unsigned flags)
{
    CALL(cuStreamAttachMemAsync, stream, (uintptr_t)address, size, flags);
}

int cudaDeviceGetStreamPriorityRange(int *least, int *greatest)
{
    CALL(cuCtxGetStreamPriorityRange, least, greatest);
}

int cudaStreamGetPriority(void *stream, int *priority)
{
    CALL(cuStreamGetPriority, stream, priority);
}

int cudaStreamGetFlags(void *stream, unsigned *flags)
{
    CALL(cuStreamGetFlags, stream, flags);
}

int cudaStreamGetId(void *stream, unsigned long long *id)
{
    CALL(cuStreamGetId, stream, id);
}

int cudaStreamGetDevice(void *stream, int *device)
{
    CALL(cuStreamGetDevice, stream, device);
}

int cudaStreamGetAttribute(void *stream, int attribute, void *value)
{
    CALL(cuStreamGetAttribute, stream, attribute, value);
}

int cudaStreamSetAttribute(void *stream, int attribute, const void *value)
{
    CALL(cuStreamSetAttribute, stream, attribute, value);
}

int cudaStreamCopyAttributes(void *to, void *from)
{
    CALL(cuStreamCopyAttributes, to, from);
}

/* Capture. */

int cudaStreamBeginCapture(void *stream, int mode)
{
    CALL(cuStreamBeginCapture_v2, stream, mode);
}

int cudaStreamBeginCaptureToGraph(void *stream, void *graph, void *const *needs, const void *edges, size_t count,
                                  int mode)
{
    CALL(cuStreamBeginCaptureToGraph, stream, graph, needs, edges, count, mode);
}

int cudaStreamEndCapture(void *stream, void **graph)
{
    CALL(cuStreamEndCapture, stream, graph);
}

int cudaStreamIsCapturing(void *stream, int *status)
{
    CALL(cuStreamIsCapturing, stream, status);
}

int cudaThreadExchangeStreamCaptureMode(int *mode)
{
    CALL(cuThreadExchangeStreamCaptureMode, mode);
}

int cudaStreamGetCaptureInfo_v3(void *stream, int *status, unsigned long long *id, void **graph, void *const **needs,
                                const void **edges, size_t *count)
{
    CALL(cuStreamGetCaptureInfo_v3, stream, status, id, graph, needs, edges, count);
}

int cudaStreamGetCaptureInfo_v2(void *stream, int *status, unsigned long long *id, void **graph, void *const **needs,
                                size_t *count)
{
    CALL(cuStreamGetCaptureInfo_v3, stream, status, id, graph, needs, NULL, count);
}

int cudaStreamUpdateCaptureDependencies_v2(void *stream, void **needs, const void *edges, size_t count, unsigned flags)
{
    CALL(cuStreamUpdateCaptureDependencies_v2, stream, needs, edges, count, flags);
}

#if RUNTIME_VERSION >= 13000
int cudaStreamGetCaptureInfo(void *stream, int *status, unsigned long long *id, void **graph, void *const **needs,
                             const void **edges, size_t *count)
{
    return cudaStreamGetCaptureInfo_v3(stream, status, id, graph, needs, edges, count);
}

int cudaStreamUpdateCaptureDependencies(void *stream, void **needs, const void *edges, size_t count, unsigned flags)
{
    return cudaStreamUpdateCaptureDependencies_v2(stream, needs, edges, count, flags);
}
#else
int cudaStreamGetCaptureInfo(void *stream, int *status, unsigned long long *id)
{
    return cudaStreamGetCaptureInfo_v3(stream, status, id, NULL, NULL, NULL, NULL);
}

int cudaStreamUpdateCaptureDependencies(void *stream, void **needs, size_t count, unsigned flags)
{
    return cudaStreamUpdateCaptureDependencies_v2(stream, needs, NULL, count, flags);
}
#endif

/* Events. */

int cudaEventCreateWithFlags(void **event, unsigned flags)
{
    CALL(cuEventCreate, event, flags);
}

int cudaEventCreate(void **event)
{
    CALL(cuEventCreate, event, 0);
}

int cudaEventRecordWithFlags(void *event, void *stream, unsigned flags)
{
    CALL(cuEventRecordWithFlags, event, stream, flags);
}

int cudaEventRecord(void *event, void *stream)
{
    CALL(cuEventRecord, event, stream);
}

int cudaEventSynchronize(void *event)
{
    CALL(cuEventSynchronize, event);
}

int cudaEventQuery(void *event)
{
    CALL(cuEventQuery, event);
}

int cudaEventElapsedTime(float *milliseconds, void *start, void *end)
{
    CALL(cuEventElapsedTime, milliseconds, start, end);
}

int cudaEventDestroy(void *event)
{
    CALL(cuEventDestroy_v2, event);
}

/* The names for programs whose threads have default streams of their own. */
SAME(cudaEventRecordWithFlags_ptsz, cudaEventRecordWithFlags);
SAME(cudaEventRecord_ptsz, cudaEventRecord);
SAME(cudaLaunchHostFunc_ptsz, cudaLaunchHostFunc);
SAME(cudaStreamAddCallback_ptsz, cudaStreamAddCallback);
SAME(cudaStreamAttachMemAsync_ptsz, cudaStreamAttachMemAsync);
SAME(cudaStreamBeginCaptureToGraph_ptsz, cudaStreamBeginCaptureToGraph);
SAME(cudaStreamBeginCapture_ptsz, cudaStreamBeginCapture);
SAME(cudaStreamCopyAttributes_ptsz, cudaStreamCopyAttributes);
SAME(cudaStreamEndCapture_ptsz, cudaStreamEndCapture);
SAME(cudaStreamGetAttribute_ptsz, cudaStreamGetAttribute);
SAME(cudaStreamGetCaptureInfo_ptsz, cudaStreamGetCaptureInfo);
SAME(cudaStreamGetCaptureInfo_v2_ptsz, cudaStreamGetCaptureInfo_v2);
SAME(cudaStreamGetCaptureInfo_v3_ptsz, cudaStreamGetCaptureInfo_v3);
SAME(cudaStreamGetDevice_ptsz, cudaStreamGetDevice);
SAME(cudaStreamGetFlags_ptsz, cudaStreamGetFlags);
SAME(cudaStreamGetId_ptsz, cudaStreamGetId);
SAME(cudaStreamGetPriority_ptsz, cudaStreamGetPriority);
SAME(cudaStreamIsCapturing_ptsz, cudaStreamIsCapturing);
SAME(cudaStreamQuery_ptsz, cudaStreamQuery);
SAME(cudaStreamSetAttribute_ptsz, cudaStreamSetAttribute);
SAME(cudaStreamSynchronize_ptsz, cudaStreamSynchronize);
SAME(cudaStreamUpdateCaptureDependencies_ptsz, cudaStreamUpdateCaptureDependencies);
SAME(cudaStreamUpdateCaptureDependencies_v2_ptsz, cudaStreamUpdateCaptureDependencies_v2);
SAME(cudaStreamWaitEvent_ptsz, cudaStreamWaitEvent);
