/* The runtime's copies and fills. */
#include <string.h>

#include "emulated/runtime.h"

/* cudaMemcpyKind */
enum { WITHIN_HOST, TO_DEVICE, TO_HOST, WITHIN_DEVICE, BY_ADDRESS };
enum { INVALID_PITCH = 12, INVALID_DIRECTION = 21 };

static CopyPlace place(const void *address, bool is_device, int direction)
{
    int memory = direction == BY_ADDRESS ? MEMORY_UNIFIED : is_device ? MEMORY_DEVICE : MEMORY_HOST;
    return (CopyPlace){.memory = memory, .host = (void *)address, .device = (uintptr_t)address};
}

static CopyPlace target_place(const void *address, int direction)
{
    return place(address, direction == TO_DEVICE || direction == WITHIN_DEVICE, direction);
}

static CopyPlace source_place(const void *address, int direction)
{
    return place(address, direction == TO_HOST || direction == WITHIN_DEVICE, direction);
}

static int copy(const Copy3D *given, int direction, void *stream)
{
    if (direction < WITHIN_HOST || direction > BY_ADDRESS)
        return fail(INVALID_DIRECTION);
    CALL(cuMemcpy3DAsync_v2, given, stream);
}

int cudaMemcpyAsync(void *to, const void *from, size_t size, int direction, void *stream)
{
    const Copy3D row = {.from = source_place(from, direction),
                        .to = target_place(to, direction),
                        .width = size,
                        .height = 1,
                        .depth = 1};
    return copy(&row, direction, stream);
}

int cudaMemcpy(void *to, const void *from, size_t size, int direction)
{
    return cudaMemcpyAsync(to, from, size, direction, NULL);
}

int cudaMemcpyPeerAsync(void *to, int to_device, const void *from, int from_device, size_t size, void *stream)
{
    return to_device || from_device ? fail(INVALID_DEVICE) : cudaMemcpyAsync(to, from, size, WITHIN_DEVICE, stream);
}

int cudaMemcpyPeer(void *to, int to_device, const void *from, int from_device, size_t size)
{
    return cudaMemcpyPeerAsync(to, to_device, from, from_device, size, NULL);
}

static int copy_batch(void *const *to, const void *const *from, const size_t *sizes, size_t count, void *stream)
{
    int error = DONE;
    for (size_t i = 0; i < count && !error; i++)
        error = cudaMemcpyAsync(to[i], from[i], sizes[i], BY_ADDRESS, stream);
    return error;
}

/* CUDA 12 also passes a place for the number of the copy that failed. */
#if RUNTIME_VERSION >= 13000
int cudaMemcpyBatchAsync(void *const *to, const void *const *from, const size_t *sizes, size_t count, void *attributes,
                         size_t *places, size_t attribute_count, void *stream)
{
    (void)attributes, (void)places, (void)attribute_count;
    return copy_batch(to, from, sizes, count, stream);
}
#else
int cudaMemcpyBatchAsync(void *const *to, const void *const *from, const size_t *sizes, size_t count, void *attributes,
                         size_t *places, size_t attribute_count, size_t *failed, void *stream)
{
    (void)attributes, (void)places, (void)attribute_count, (void)failed;
    return copy_batch(to, from, sizes, count, stream);
}
#endif

/* Variables. */

int cudaMemcpyToSymbolAsync(const void *symbol, const void *from, size_t size, size_t offset, int direction,
                            void *stream)
{
    uint64_t address = 0;
    size_t room = 0;
    int error = symbol_find(symbol, &address, &room);
    if (!error && (offset > room || size > room - offset))
        error = INVALID_VALUE;
    return error ? fail(error) : cudaMemcpyAsync((void *)(uintptr_t)(address + offset), from, size, direction, stream);
}

int cudaMemcpyToSymbol(const void *symbol, const void *from, size_t size, size_t offset, int direction)
{
    return cudaMemcpyToSymbolAsync(symbol, from, size, offset, direction, NULL);
}

int cudaMemcpyFromSymbolAsync(void *to, const void *symbol, size_t size, size_t offset, int direction, void *stream)
{
    uint64_t address = 0;
    size_t room = 0;
    int error = symbol_find(symbol, &address, &room);
    if (!error && (offset > room || size > room - offset))
        error = INVALID_VALUE;
    return error ? fail(error) : cudaMemcpyAsync(to, (void *)(uintptr_t)(address + offset), size, direction, stream);
}

int cudaMemcpyFromSymbol(void *to, const void *symbol, size_t size, size_t offset, int direction)
{
    return cudaMemcpyFromSymbolAsync(to, symbol, size, offset, direction, NULL);
}

/* Boxes. */

int cudaMemcpy2DAsync(void *to, size_t to_pitch, const void *from, size_t from_pitch, size_t width, size_t height,
                      int direction, void *stream)
{
    Copy3D box = {.from = source_place(from, direction),
                  .to = target_place(to, direction),
                  .width = width,
                  .height = height,
                  .depth = 1};
    box.from.pitch = from_pitch;
    box.to.pitch = to_pitch;
    return width > to_pitch || width > from_pitch ? fail(INVALID_PITCH) : copy(&box, direction, stream);
}

int cudaMemcpy2D(void *to, size_t to_pitch, const void *from, size_t from_pitch, size_t width, size_t height,
                 int direction)
{
    return cudaMemcpy2DAsync(to, to_pitch, from, from_pitch, width, height, direction, NULL);
}

static CopyPlace array_place(const void *array, size_t x, size_t y)
{
    return (CopyPlace){.memory = MEMORY_ARRAY, .array = (void *)array, .x = x, .y = y};
}

int cudaMemcpy2DToArrayAsync(void *to, size_t x, size_t y, const void *from, size_t pitch, size_t width, size_t height,
                             int direction, void *stream)
{
    Copy3D box = {.from = source_place(from, direction), .to = array_place(to, x, y), .width = width, .height = height};
    box.from.pitch = pitch;
    box.depth = 1;
    return width > pitch ? fail(INVALID_PITCH) : copy(&box, direction, stream);
}

int cudaMemcpy2DToArray(void *to, size_t x, size_t y, const void *from, size_t pitch, size_t width, size_t height,
                        int direction)
{
    return cudaMemcpy2DToArrayAsync(to, x, y, from, pitch, width, height, direction, NULL);
}

int cudaMemcpy2DFromArrayAsync(void *to, size_t pitch, const void *from, size_t x, size_t y, size_t width,
                               size_t height, int direction, void *stream)
{
    Copy3D box = {.from = array_place(from, x, y), .to = target_place(to, direction), .width = width, .height = height};
    box.to.pitch = pitch;
    box.depth = 1;
    return width > pitch ? fail(INVALID_PITCH) : copy(&box, direction, stream);
}

int cudaMemcpy2DFromArray(void *to, size_t pitch, const void *from, size_t x, size_t y, size_t width, size_t height,
                          int direction)
{
    return cudaMemcpy2DFromArrayAsync(to, pitch, from, x, y, width, height, direction, NULL);
}

int cudaMemcpy2DArrayToArray(void *to, size_t to_x, size_t to_y, const void *from, size_t from_x, size_t from_y,
                             size_t width, size_t height, int direction)
{
    const Copy3D box = {.from = array_place(from, from_x, from_y),
                        .to = array_place(to, to_x, to_y),
                        .width = width,
                        .height = height,
                        .depth = 1};
    return copy(&box, direction, NULL);
}

/* Bytes of a row of the array, and of a texel of it; 0 if there is no such array. */
static size_t row_bytes(void *array, size_t *texel)
{
    ArrayShape shape = {0};
    int error = ready();
    if (!error)
        error = DRIVER(cuArray3DGetDescriptor_v2)(&shape, array);
    bool is_byte = shape.format == 0x01 || shape.format == 0x08;
    bool is_word = shape.format == 0x03 || shape.format == 0x0a || shape.format == 0x20;
    *texel = shape.channels * (size_t)(is_byte ? 1 : is_word ? 4 : 2);
    return error ? 0 : shape.width * *texel;
}

/* Copies a run of bytes that may continue in the next rows. */
int cudaMemcpyToArrayAsync(void *to, size_t x, size_t y, const void *from, size_t size, int direction, void *stream)
{
    size_t texel, row = row_bytes(to, &texel);
    int error = row && x < row ? DONE : INVALID_VALUE;
    for (const char *at = from; size && !error; x = 0, y++) {
        size_t part = size < row - x ? size : row - x;
        error = cudaMemcpy2DToArrayAsync(to, x, y, at, part, part, 1, direction, stream);
        at += part;
        size -= part;
    }
    return fail(error);
}

int cudaMemcpyToArray(void *to, size_t x, size_t y, const void *from, size_t size, int direction)
{
    return cudaMemcpyToArrayAsync(to, x, y, from, size, direction, NULL);
}

int cudaMemcpyFromArrayAsync(void *to, const void *from, size_t x, size_t y, size_t size, int direction, void *stream)
{
    size_t texel, row = row_bytes((void *)from, &texel);
    int error = row && x < row ? DONE : INVALID_VALUE;
    for (char *at = to; size && !error; x = 0, y++) {
        size_t part = size < row - x ? size : row - x;
        error = cudaMemcpy2DFromArrayAsync(at, part, from, x, y, part, 1, direction, stream);
        at += part;
        size -= part;
    }
    return fail(error);
}

int cudaMemcpyFromArray(void *to, const void *from, size_t x, size_t y, size_t size, int direction)
{
    return cudaMemcpyFromArrayAsync(to, from, x, y, size, direction, NULL);
}

/* Sets one place of a copy. Positions, and the width of the box, are in texels if there is an array; otherwise in
 * bytes. */
static bool set_place(CopyPlace *to, void *array, Position3 position, const PitchedPointer *pointer, size_t *texel)
{
    if (array) {
        if (!row_bytes(array, texel))
            return false;
        *to = array_place(array, position.x * *texel, position.y);
        to->z = position.z;
        return true;
    }
    to->pitch = pointer->pitch;
    to->height = pointer->height;
    to->x = position.x;
    to->y = position.y;
    to->z = position.z;
    return true;
}

int copy_of(const RuntimeCopy3D *given, Copy3D *box)
{
    size_t texel = 1, other = 1;
    *box = (Copy3D){.from = source_place(given->from.address, given->direction),
                    .to = target_place(given->to.address, given->direction),
                    .width = given->extent.width,
                    .height = given->extent.height,
                    .depth = given->extent.depth};
    if ((!given->from_array && !given->from.address) || (!given->to_array && !given->to.address) ||
        !set_place(&box->from, given->from_array, given->from_position, &given->from, &texel) ||
        !set_place(&box->to, given->to_array, given->to_position, &given->to, &other))
        return INVALID_VALUE;
    box->width *= texel > other ? texel : other;
    return DONE;
}

int cudaMemcpy3DAsync(const RuntimeCopy3D *given, void *stream)
{
    Copy3D box;
    int error = copy_of(given, &box);
    return error ? fail(error) : copy(&box, given->direction, stream);
}

int cudaMemcpy3D(const RuntimeCopy3D *given)
{
    return cudaMemcpy3DAsync(given, NULL);
}

int cudaMemcpy3DPeerAsync(const RuntimeCopy3DPeer *given, void *stream)
{
    const RuntimeCopy3D box = {given->from_array, given->from_position, given->from,
                               given->to_array,   given->to_position,   given->to,
                               given->extent,     WITHIN_DEVICE};
    return given->from_device || given->to_device ? fail(INVALID_DEVICE) : cudaMemcpy3DAsync(&box, stream);
}

int cudaMemcpy3DPeer(const RuntimeCopy3DPeer *given)
{
    return cudaMemcpy3DPeerAsync(given, NULL);
}

int cudaMemcpyArrayToArray(void *to, size_t to_x, size_t to_y, const void *from, size_t from_x, size_t from_y,
                           size_t size, int direction)
{
    return cudaMemcpy2DArrayToArray(to, to_x, to_y, from, from_x, from_y, size, 1, direction);
}

/* Fills. */

int cudaMemsetAsync(void *to, int value, size_t size, void *stream)
{
    CALL(cuMemsetD8Async, (uintptr_t)to, (unsigned char)value, size, stream);
}

int cudaMemset(void *to, int value, size_t size)
{
    return cudaMemsetAsync(to, value, size, NULL);
}

int cudaMemset2DAsync(void *to, size_t pitch, int value, size_t width, size_t height, void *stream)
{
    CALL(cuMemsetD2D8Async, (uintptr_t)to, pitch, (unsigned char)value, width, height, stream);
}

int cudaMemset2D(void *to, size_t pitch, int value, size_t width, size_t height)
{
    return cudaMemset2DAsync(to, pitch, value, width, height, NULL);
}

int cudaMemset3DAsync(PitchedPointer to, int value, Extent extent, void *stream)
{
    int error = DONE;
    for (size_t z = 0; z < extent.depth && !error; z++)
        error = cudaMemset2DAsync((char *)to.address + z * to.pitch * to.height, to.pitch, value, extent.width,
                                  extent.height, stream);
    return error;
}

int cudaMemset3D(PitchedPointer to, int value, Extent extent)
{
    return cudaMemset3DAsync(to, value, extent, NULL);
}

/* The names for programs whose threads have default streams of their own. */
SAME(cudaMemcpy2DArrayToArray_ptds, cudaMemcpy2DArrayToArray);
SAME(cudaMemcpy2DAsync_ptsz, cudaMemcpy2DAsync);
SAME(cudaMemcpy2DFromArrayAsync_ptsz, cudaMemcpy2DFromArrayAsync);
SAME(cudaMemcpy2DFromArray_ptds, cudaMemcpy2DFromArray);
SAME(cudaMemcpy2DToArrayAsync_ptsz, cudaMemcpy2DToArrayAsync);
SAME(cudaMemcpy2DToArray_ptds, cudaMemcpy2DToArray);
SAME(cudaMemcpy2D_ptds, cudaMemcpy2D);
SAME(cudaMemcpy3DAsync_ptsz, cudaMemcpy3DAsync);
SAME(cudaMemcpy3DPeerAsync_ptsz, cudaMemcpy3DPeerAsync);
SAME(cudaMemcpy3DPeer_ptds, cudaMemcpy3DPeer);
SAME(cudaMemcpy3D_ptds, cudaMemcpy3D);
SAME(cudaMemcpyArrayToArray_ptds, cudaMemcpyArrayToArray);
SAME(cudaMemcpyAsync_ptsz, cudaMemcpyAsync);
SAME(cudaMemcpyBatchAsync_ptsz, cudaMemcpyBatchAsync);
SAME(cudaMemcpyFromArrayAsync_ptsz, cudaMemcpyFromArrayAsync);
SAME(cudaMemcpyFromArray_ptds, cudaMemcpyFromArray);
SAME(cudaMemcpyFromSymbolAsync_ptsz, cudaMemcpyFromSymbolAsync);
SAME(cudaMemcpyFromSymbol_ptds, cudaMemcpyFromSymbol);
SAME(cudaMemcpyToArrayAsync_ptsz, cudaMemcpyToArrayAsync);
SAME(cudaMemcpyToArray_ptds, cudaMemcpyToArray);
SAME(cudaMemcpyToSymbolAsync_ptsz, cudaMemcpyToSymbolAsync);
SAME(cudaMemcpyToSymbol_ptds, cudaMemcpyToSymbol);
SAME(cudaMemcpy_ptds, cudaMemcpy);
SAME(cudaMemset2DAsync_ptsz, cudaMemset2DAsync);
SAME(cudaMemset2D_ptds, cudaMemset2D);
SAME(cudaMemset3DAsync_ptsz, cudaMemset3DAsync);
SAME(cudaMemset3D_ptds, cudaMemset3D);
SAME(cudaMemsetAsync_ptsz, cudaMemsetAsync);
SAME(cudaMemset_ptds, cudaMemset);
