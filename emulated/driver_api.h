/* The functions of the emulated driver that its other files, and the runtime, call. */
#ifndef PTXOPT_EMULATED_DRIVER_API_H
#define PTXOPT_EMULATED_DRIVER_API_H

#include <stddef.h>
#include <stdint.h>

#include "abi/abi.h"

/* array.c */

int cuArray3DCreate_v2(void **result, const ArrayShape *shape);
int cuArrayCreate_v2(void **result, const ArrayShape2D *shape);
int cuArray3DGetDescriptor_v2(ArrayShape *shape, void *array);
int cuArrayGetDescriptor_v2(ArrayShape2D *shape, void *array);
int cuArrayDestroy(void *handle);
int cuMipmappedArrayDestroy(void *handle);
int cuMipmappedArrayCreate(void **result, const ArrayShape *shape, unsigned count);
int cuMipmappedArrayGetLevel(void **array, void *handle, unsigned level);

/* context.c */

int cuDevicePrimaryCtxRetain(void **context, int device);
int cuDevicePrimaryCtxRelease_v2(int device);
int cuDevicePrimaryCtxReset_v2(int device);
int cuDevicePrimaryCtxSetFlags_v2(int device, unsigned flags);
int cuDevicePrimaryCtxGetState(int device, unsigned *flags, int *active);
int cuCtxCreate_v2(void **context, unsigned flags, int device);
int cuCtxCreate_v3(void **context, void *affinity, int count, unsigned flags, int device);
int cuCtxCreate_v4(void **context, void *parameters, unsigned flags, int device);
int cuCtxDestroy_v2(void *context);
int cuCtxGetCurrent(void **context);
int cuCtxSetCurrent(void *context);
int cuCtxPushCurrent_v2(void *context);
int cuCtxPopCurrent_v2(void **context);
int cuCtxAttach(void **context, unsigned flags);
int cuCtxDetach(void *context);
int cuCtxGetDevice(int *device);
int cuCtxGetDevice_v2(int *device, void *context);
int cuCtxSynchronize(void);
int cuCtxSynchronize_v2(void *context);
int cuCtxGetApiVersion(void *context, unsigned *version);
int cuCtxGetId(void *context, unsigned long long *id);
int cuCtxGetFlags(unsigned *flags);
int cuCtxSetFlags(unsigned flags);
int cuCtxGetCacheConfig(int *config);
int cuCtxSetCacheConfig(int config);
int cuCtxGetSharedMemConfig(int *config);
int cuCtxSetSharedMemConfig(int config);
int cuCtxGetLimit(size_t *value, int limit);
int cuCtxSetLimit(int limit, size_t value);
int cuCtxResetPersistingL2Cache(void);

/* copy.c */

int cuMemcpyHtoDAsync_v2(uint64_t to, const void *from, size_t size, void *stream);
int cuMemcpyDtoHAsync_v2(void *to, uint64_t from, size_t size, void *stream);
int cuMemcpyDtoDAsync_v2(uint64_t to, uint64_t from, size_t size, void *stream);
int cuMemcpyAsync(uint64_t to, uint64_t from, size_t size, void *stream);
int cuMemcpyHtoAAsync_v2(void *to, size_t offset, const void *from, size_t size, void *stream);
int cuMemcpyAtoHAsync_v2(void *to, void *from, size_t offset, size_t size, void *stream);
int cuMemcpyHtoD_v2(uint64_t to, const void *from, size_t size);
int cuMemcpyDtoH_v2(void *to, uint64_t from, size_t size);
int cuMemcpyDtoD_v2(uint64_t to, uint64_t from, size_t size);
int cuMemcpy(uint64_t to, uint64_t from, size_t size);
int cuMemcpyHtoA_v2(void *to, size_t offset, const void *from, size_t size);
int cuMemcpyAtoH_v2(void *to, void *from, size_t offset, size_t size);
int cuMemcpyDtoA_v2(void *to, size_t offset, uint64_t from, size_t size);
int cuMemcpyAtoD_v2(uint64_t to, void *from, size_t offset, size_t size);
int cuMemcpyAtoA_v2(void *to, size_t to_offset, void *from, size_t from_offset, size_t size);
int cuMemcpyPeerAsync(uint64_t to, void *to_context, uint64_t from, void *from_context, size_t size, void *stream);
int cuMemcpyPeer(uint64_t to, void *to_context, uint64_t from, void *from_context, size_t size);
int cuMemcpy3DAsync_v2(const Copy3D *copy, void *stream);
int cuMemcpy3D_v2(const Copy3D *copy);
int cuMemcpy3DPeerAsync(const Copy3D *copy, void *stream);
int cuMemcpy3DPeer(const Copy3D *copy);
int cuMemcpy2DAsync_v2(const Copy2D *copy, void *stream);
int cuMemcpy2D_v2(const Copy2D *copy);
int cuMemcpy2DUnaligned_v2(const Copy2D *copy);
int cuMemcpyBatchAsync_v2(const uint64_t *to, const uint64_t *from, const size_t *sizes, size_t count,
                          const void *attributes, const size_t *places, size_t attribute_count, void *stream);
int cuMemcpyBatchAsync(const uint64_t *to, const uint64_t *from, const size_t *sizes, size_t count,
                       const void *attributes, const size_t *places, size_t attribute_count, size_t *failed,
                       void *stream);
int cuMemsetD8Async(uint64_t to, unsigned char value, size_t count, void *stream);
int cuMemsetD16Async(uint64_t to, unsigned short value, size_t count, void *stream);
int cuMemsetD32Async(uint64_t to, unsigned value, size_t count, void *stream);
int cuMemsetD8_v2(uint64_t to, unsigned char value, size_t count);
int cuMemsetD16_v2(uint64_t to, unsigned short value, size_t count);
int cuMemsetD32_v2(uint64_t to, unsigned value, size_t count);
int cuMemsetD2D8Async(uint64_t to, size_t pitch, unsigned char value, size_t width, size_t height, void *stream);
int cuMemsetD2D16Async(uint64_t to, size_t pitch, unsigned short value, size_t width, size_t height, void *stream);
int cuMemsetD2D32Async(uint64_t to, size_t pitch, unsigned value, size_t width, size_t height, void *stream);
int cuMemsetD2D8_v2(uint64_t to, size_t pitch, unsigned char value, size_t width, size_t height);
int cuMemsetD2D16_v2(uint64_t to, size_t pitch, unsigned short value, size_t width, size_t height);
int cuMemsetD2D32_v2(uint64_t to, size_t pitch, unsigned value, size_t width, size_t height);

/* device.c */

int cuInit(unsigned flags);
int cuDriverGetVersion(int *version);
int cuDeviceGetCount(int *count);
int cuDeviceGet(int *device, int ordinal);
int cuDeviceGetName(char *name, int length, int device);
int cuDeviceGetAttribute(int *value, int attribute, int device);
int cuDeviceTotalMem_v2(size_t *size, int device);
int cuDeviceComputeCapability(int *major, int *minor, int device);
int cuDeviceGetProperties(void *properties, int device);
int cuDeviceGetUuid_v2(char *uuid, int device);
int cuDeviceGetUuid(char *uuid, int device);
int cuDeviceGetPCIBusId(char *text, int length, int device);
int cuDeviceGetByPCIBusId(int *device, const char *text);
int cuDeviceCanAccessPeer(int *can, int device, int peer);
int cuDeviceGetP2PAttribute(int *value, int attribute, int device, int peer);
int cuCtxEnablePeerAccess(void *context, unsigned flags);
int cuCtxDisablePeerAccess(void *context);
int cuDeviceGetExecAffinitySupport(int *is_supported, int kind, int device);
int cuProfilerStart(void);
int cuProfilerStop(void);
int cuFlushGPUDirectRDMAWrites(int target, int scope);

/* entry.c */

int cuGetProcAddress_v2(const char *name, void **function, int version, uint64_t flags, int *status);
int cuGetProcAddress(const char *name, void **function, int version, uint64_t flags);
int cuGetExportTable(const void **table, const void *id);

/* error.c */

int cuGetErrorName(int error, const char **name);
int cuGetErrorString(int error, const char **text);

/* function.c */

int cuFuncGetAttribute(int *value, int attribute, void *function);
int cuKernelGetAttribute(int *value, int attribute, void *kernel, int device);
int cuFuncSetAttribute(void *handle, int attribute, int value);
int cuKernelSetAttribute(int attribute, int value, void *kernel, int device);
int cuFuncSetCacheConfig(void *function, int config);
int cuKernelSetCacheConfig(void *kernel, int config, int device);
int cuFuncSetSharedMemConfig(void *function, int config);
int cuFuncGetParamInfo(void *handle, size_t number, size_t *offset, size_t *size);
int cuKernelGetParamInfo(void *kernel, size_t number, size_t *offset, size_t *size);
int cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int *blocks, void *function, int threads, size_t shared,
                                                         unsigned flags);
int cuOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks, void *function, int threads, size_t shared);
int cuOccupancyMaxPotentialBlockSizeWithFlags(int *grid, int *block, void *function, size_t (*shared_of)(int),
                                              size_t shared, int limit, unsigned flags);
int cuOccupancyMaxPotentialBlockSize(int *grid, int *block, void *function, size_t (*shared_of)(int), size_t shared,
                                     int limit);
int cuOccupancyAvailableDynamicSMemPerBlock(size_t *shared, void *function, int blocks, int threads);
int cuOccupancyMaxActiveClusters(int *clusters, void *function, const DriverConfig *config);
int cuOccupancyMaxPotentialClusterSize(int *size, void *function, const DriverConfig *config);

/* graph.c */

int cuGraphCreate(void **graph, unsigned flags);
int cuGraphNodeGetType(void *node, int *type);
int cuGraphGetNodes(void *graph, void **nodes, size_t *count);
int cuGraphGetRootNodes(void *graph, void **nodes, size_t *count);
int cuGraphGetEdges(void *graph, void **from, void **to, size_t *count);
int cuGraphGetEdges_v2(void *graph, void **from, void **to, void *edges, size_t *count);
int cuGraphNodeGetDependencies(void *handle, void **needs, size_t *count);
int cuGraphNodeGetDependencies_v2(void *node, void **needs, void *edges, size_t *count);
int cuGraphNodeGetDependentNodes(void *handle, void **nodes, size_t *count);
int cuGraphNodeGetDependentNodes_v2(void *node, void **nodes, void *edges, size_t *count);
int cuGraphAddDependencies(void *graph, void *const *from, void *const *to, size_t count);
int cuGraphAddDependencies_v2(void *graph, void *const *from, void *const *to, const void *edges, size_t count);
int cuGraphRemoveDependencies(void *graph, void *const *from, void *const *to, size_t count);
int cuGraphRemoveDependencies_v2(void *graph, void *const *from, void *const *to, const void *edges, size_t count);
int cuGraphDestroyNode(void *handle);
int cuGraphClone(void **clone, void *graph);
int cuGraphNodeFindInClone(void **node, void *original, void *clone);
int cuGraphDestroy(void *graph);
int cuGraphInstantiateWithFlags(void **instance, void *graph, unsigned long long flags);
int cuGraphInstantiate(void **instance, void *graph, void **node, char *log, size_t size);
int cuGraphInstantiate_v2(void **instance, void *graph, void **node, char *log, size_t size);
int cuGraphInstantiateWithParams(void **instance, void *graph, InstanceParameters *parameters);
int cuGraphExecGetFlags(void *instance, unsigned long long *flags);
int cuGraphExecUpdate_v2(void *instance, void *graph, UpdateResult *result);
int cuGraphExecUpdate(void *instance, void *graph, void **node, int *result);
int cuGraphLaunch(void *instance, void *stream);
int cuGraphUpload(void *instance, void *stream);
int cuGraphExecDestroy(void *instance);
int cuUserObjectCreate(void **result, void *data, void (*destroy)(void *data), unsigned references, unsigned flags);
int cuUserObjectRetain(void *object, unsigned count);
int cuUserObjectRelease(void *handle, unsigned count);
int cuGraphRetainUserObject(void *graph, void *object, unsigned count, unsigned flags);
int cuGraphReleaseUserObject(void *graph, void *object, unsigned count);

/* graph_nodes.c */

int cuGraphAddKernelNode(void **node, void *graph, void *const *needs, size_t count, const KernelNode *parameters);
int cuGraphAddKernelNode_v2(void **node, void *graph, void *const *needs, size_t count, const KernelNode *parameters);
int cuGraphAddMemcpyNode(void **node, void *graph, void *const *needs, size_t count, const Copy3D *copy, void *context);
int cuGraphAddMemsetNode(void **node, void *graph, void *const *needs, size_t count, const Fill *fill, void *context);
int cuGraphAddHostNode(void **node, void *graph, void *const *needs, size_t count, const HostCall *call);
int cuGraphAddChildGraphNode(void **node, void *graph, void *const *needs, size_t count, void *child);
int cuGraphAddEmptyNode(void **node, void *graph, void *const *needs, size_t count);
int cuGraphAddEventRecordNode(void **node, void *graph, void *const *needs, size_t count, void *event);
int cuGraphAddEventWaitNode(void **node, void *graph, void *const *needs, size_t count, void *event);
int cuGraphAddMemAllocNode(void **node, void *graph, void *const *needs, size_t count, AllocationNode *parameters);
int cuGraphAddMemFreeNode(void **node, void *graph, void *const *needs, size_t count, uint64_t address);
int cuGraphAddNode(void **node, void *graph, void *const *needs, size_t count, AnyNode *any);
int cuGraphAddNode_v2(void **node, void *graph, void *const *needs, const void *edges, size_t count, AnyNode *any);
int cuGraphKernelNodeGetParams_v2(void *node, KernelNode *parameters);
int cuGraphKernelNodeGetParams(void *node, KernelNode *parameters);
int cuGraphKernelNodeSetParams(void *node, const KernelNode *parameters);
int cuGraphKernelNodeSetParams_v2(void *node, const KernelNode *parameters);
int cuGraphExecKernelNodeSetParams(void *instance, void *node, const KernelNode *parameters);
int cuGraphExecKernelNodeSetParams_v2(void *instance, void *node, const KernelNode *parameters);
int cuGraphMemcpyNodeGetParams(void *node, Copy3D *copy);
int cuGraphMemcpyNodeSetParams(void *node, const Copy3D *copy);
int cuGraphExecMemcpyNodeSetParams(void *instance, void *node, const Copy3D *copy, void *context);
int cuGraphMemsetNodeGetParams(void *node, Fill *fill);
int cuGraphMemsetNodeSetParams(void *node, const Fill *fill);
int cuGraphExecMemsetNodeSetParams(void *instance, void *node, const Fill *fill, void *context);
int cuGraphHostNodeGetParams(void *node, HostCall *call);
int cuGraphHostNodeSetParams(void *node, const HostCall *call);
int cuGraphExecHostNodeSetParams(void *instance, void *node, const HostCall *call);
int cuGraphChildGraphNodeGetGraph(void *node, void **graph);
int cuGraphExecChildGraphNodeSetParams(void *instance, void *node, void *child);
int cuGraphEventRecordNodeGetEvent(void *node, void **event);
int cuGraphEventWaitNodeGetEvent(void *node, void **event);
int cuGraphEventRecordNodeSetEvent(void *node, void *event);
int cuGraphEventWaitNodeSetEvent(void *node, void *event);
int cuGraphExecEventRecordNodeSetEvent(void *instance, void *node, void *event);
int cuGraphExecEventWaitNodeSetEvent(void *instance, void *node, void *event);
int cuGraphNodeGetParams(void *node, AnyNode *any);
int cuGraphNodeSetParams(void *node, const AnyNode *any);
int cuGraphExecNodeSetParams(void *instance, void *node, const AnyNode *any);
int cuGraphNodeSetEnabled(void *instance, void *node, unsigned is_enabled);
int cuGraphNodeGetEnabled(void *instance, void *node, unsigned *is_enabled);
int cuGraphKernelNodeGetAttribute(void *node, int attribute, void *value);
int cuGraphKernelNodeSetAttribute(void *node, int attribute, const void *value);
int cuGraphKernelNodeCopyAttributes(void *to, void *from);

/* launch.c */

int cuLaunchKernel(void *function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x,
                   unsigned block_y, unsigned block_z, unsigned shared, void *stream, void **parameters, void **extra);
int cuLaunchCooperativeKernel(void *function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x,
                              unsigned block_y, unsigned block_z, unsigned shared, void *stream, void **parameters);
int cuLaunchKernelEx(const DriverConfig *config, void *function, void **parameters, void **extra);

/* memory.c */

int cuMemAlloc_v2(uint64_t *address, size_t size);
int cuMemFree_v2(uint64_t address);
int cuMemAllocPitch_v2(uint64_t *address, size_t *pitch, size_t width, size_t height, unsigned element_bytes);
int cuMemAllocManaged(uint64_t *address, size_t size, unsigned flags);
int cuMemHostAlloc(void **address, size_t size, unsigned flags);
int cuMemAllocHost_v2(void **address, size_t size);
int cuMemFreeHost(void *address);
int cuMemHostRegister_v2(void *address, size_t size, unsigned flags);
int cuMemHostUnregister(void *address);
int cuMemHostGetDevicePointer_v2(uint64_t *address, void *host, unsigned flags);
int cuMemHostGetFlags(unsigned *flags, void *host);
int cuMemGetInfo_v2(size_t *available, size_t *total);
int cuMemGetAddressRange_v2(uint64_t *base, size_t *size, uint64_t address);
int cuMemAdvise_v2(uint64_t address, size_t size, int advice, MemoryLocation location);
int cuMemAdvise(uint64_t address, size_t size, int advice, int device);
int cuMemPrefetchAsync_v2(uint64_t address, size_t size, MemoryLocation location, unsigned flags, void *stream);
int cuMemPrefetchAsync(uint64_t address, size_t size, int device, void *stream);
int cuMemRangeGetAttribute(void *data, size_t data_size, int attribute, uint64_t address, size_t size);
int cuMemRangeGetAttributes(void **data, size_t *sizes, int *attributes, size_t count, uint64_t address, size_t size);
int cuPointerGetAttribute(void *data, int attribute, uint64_t address);
int cuPointerGetAttributes(unsigned count, int *attributes, void **data, uint64_t address);
int cuPointerSetAttribute(const void *value, int attribute, uint64_t address);
int cuStreamAttachMemAsync(void *stream, uint64_t address, size_t size, unsigned flags);

/* module.c */

int cuModuleLoadDataEx(void **result, const void *image, unsigned count, int *options, void **values);
int cuModuleLoadData(void **result, const void *image);
int cuModuleLoadFatBinary(void **result, const void *image);
int cuModuleLoad(void **result, const char *path);
int cuModuleUnload(void *module);
int cuModuleGetFunction(void **result, void *module, const char *name);
int cuModuleGetGlobal_v2(uint64_t *address, size_t *size, void *module, const char *name);
int cuModuleGetLoadingMode(int *mode);
int cuModuleGetFunctionCount(unsigned *count, void *module);
int cuModuleEnumerateFunctions(void **found, unsigned count, void *module);
int cuLibraryLoadData(void **library, const void *image, int *options, void **values, unsigned count,
                      void *library_options, void *library_values, unsigned library_count);
int cuLibraryLoadFromFile(void **library, const char *path, int *options, void **values, unsigned count,
                          void *library_options, void *library_values, unsigned library_count);
int cuLibraryUnload(void *library);
int cuLibraryGetKernel(void **kernel, void *library, const char *name);
int cuLibraryGetModule(void **module, void *library);
int cuLibraryGetKernelCount(unsigned *count, void *library);
int cuLibraryEnumerateKernels(void **kernels, unsigned count, void *library);
int cuLibraryGetGlobal(uint64_t *address, size_t *size, void *library, const char *name);
int cuLibraryGetManaged(uint64_t *address, size_t *size, void *library, const char *name);
int cuKernelGetFunction(void **function, void *kernel);
int cuKernelGetLibrary(void **library, void *kernel);
int cuFuncGetModule(void **module, void *function);
int cuFuncGetName(const char **name, void *function);
int cuKernelGetName(const char **name, void *kernel);
int cuFuncIsLoaded(int *state, void *function);
int cuFuncLoad(void *function);
int cuLinkCreate_v2(unsigned count, int *options, void **values, void **state);
int cuLinkAddData_v2(void *state, int kind, void *data, size_t size, const char *name, unsigned count, int *options,
                     void **values);
int cuLinkAddFile_v2(void *state, int kind, const char *path, unsigned count, int *options, void **values);
int cuLinkComplete(void *state, void **image, size_t *size);
int cuLinkDestroy(void *state);

/* pool.c */

int cuMemPoolCreate(void **pool, const void *properties);
int cuMemPoolDestroy(void *pool);
int cuDeviceGetDefaultMemPool(void **pool, int device);
int cuDeviceGetMemPool(void **pool, int device);
int cuDeviceSetMemPool(int device, void *pool);
int cuMemGetDefaultMemPool(void **pool, const MemoryLocation *location, int kind);
int cuMemPoolTrimTo(void *pool, size_t size);
int cuMemPoolSetAccess(void *pool, const void *access, size_t count);
int cuMemPoolGetAccess(int *access, void *pool, const MemoryLocation *location);
int cuMemPoolSetAttribute(void *handle, int attribute, void *value);
int cuMemPoolGetAttribute(void *handle, int attribute, void *value);
int cuMemAllocFromPoolAsync(uint64_t *address, size_t size, void *pool, void *stream);
int cuMemAllocAsync(uint64_t *address, size_t size, void *stream);
int cuMemFreeAsync(uint64_t address, void *stream);
int cuDeviceGetGraphMemAttribute(int device, int attribute, void *value);
int cuDeviceSetGraphMemAttribute(int device, int attribute, void *value);
int cuDeviceGraphMemTrim(int device);

/* stream.c */

int cuStreamCreateWithPriority(void **result, unsigned flags, int priority);
int cuStreamCreate(void **stream, unsigned flags);
int cuStreamDestroy_v2(void *handle);
int cuCtxGetStreamPriorityRange(int *least, int *greatest);
int cuStreamGetPriority(void *handle, int *priority);
int cuStreamGetFlags(void *handle, unsigned *flags);
int cuStreamGetId(void *handle, unsigned long long *id);
int cuStreamGetDevice(void *handle, int *device);
int cuStreamGetCtx(void *handle, void **context);
int cuStreamSynchronize(void *handle);
int cuStreamQuery(void *handle);
int cuLaunchHostFunc(void *stream, void (*function)(void *), void *data);
int cuStreamAddCallback(void *handle, void (*function)(void *, int, void *), void *data, unsigned flags);
int cuStreamGetAttribute(void *handle, int attribute, void *value);
int cuStreamSetAttribute(void *handle, int attribute, const void *value);
int cuStreamCopyAttributes(void *to, void *from);
int cuStreamBeginCapture_v2(void *handle, int mode);
int cuStreamBeginCaptureToGraph(void *handle, void *graph, void *const *needs, const void *edges, size_t count,
                                int mode);
int cuStreamEndCapture(void *handle, void **graph);
int cuStreamIsCapturing(void *handle, int *status);
int cuStreamGetCaptureInfo_v3(void *handle, int *status, unsigned long long *id, void **graph, void *const **needs,
                              const void **edges, size_t *count);
int cuStreamGetCaptureInfo_v2(void *handle, int *status, unsigned long long *id, void **graph, void *const **needs,
                              size_t *count);
int cuStreamGetCaptureInfo(void *handle, int *status, unsigned long long *id);
int cuStreamUpdateCaptureDependencies_v2(void *handle, void **needs, const void *edges, size_t count, unsigned flags);
int cuStreamUpdateCaptureDependencies(void *handle, void **needs, size_t count, unsigned flags);
int cuThreadExchangeStreamCaptureMode(int *mode);
int cuEventCreate(void **result, unsigned flags);
int cuEventDestroy_v2(void *handle);
int cuEventRecordWithFlags(void *handle, void *stream_handle, unsigned flags);
int cuEventRecord(void *event, void *stream);
int cuEventSynchronize(void *event);
int cuEventQuery(void *event);
int cuEventElapsedTime_v2(float *milliseconds, void *start, void *end);
int cuEventElapsedTime(float *milliseconds, void *start, void *end);
int cuStreamWaitEvent(void *handle, void *event_handle, unsigned flags);
int cuCtxRecordEvent(void *context, void *event);
int cuCtxWaitEvent(void *context, void *event);
int cuStreamWriteValue32_v2(void *stream, uint64_t address, unsigned value, unsigned flags);
int cuStreamWriteValue64_v2(void *stream, uint64_t address, uint64_t value, unsigned flags);

/* texture.c */

int cuTexObjectCreate(uint64_t *handle, const Resource *resource, const Sampling *sampling, const void *view);
int cuSurfObjectCreate(uint64_t *handle, const Resource *resource);
int cuTexObjectDestroy(uint64_t handle);
int cuSurfObjectDestroy(uint64_t handle);
int cuTexObjectGetResourceDesc(Resource *resource, uint64_t handle);
int cuSurfObjectGetResourceDesc(Resource *resource, uint64_t handle);
int cuTexObjectGetTextureDesc(Sampling *sampling, uint64_t handle);
int cuDeviceGetTexture1DLinearMaxWidth(size_t *width, int format, unsigned channels, int device);

#endif
