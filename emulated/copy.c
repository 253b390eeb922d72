/* Copies between hosts, devices and arrays, and fills. All are boxes of bytes: width, height and depth. */
#include <inttypes.h>
#include <string.h>

#include "emulated/driver.h"
#include "emulated/driver_api.h"
#include "emulated/log.h"
#include "support/support.h"

/* A side of a copy in the host's memory, with the distances between rows and between planes in bytes. */
typedef struct Side {
    uint8_t *bytes;
    size_t row, plane;
    uint8_t *written; /* its marks, as Memory's; NULL: it has none */
} Side;

/* The bytes from the first of a box to its last. */
static size_t box_extent(size_t row, size_t plane, const Copy3D *copy)
{
    return (copy->depth - 1) * plane + (copy->height - 1) * row + copy->width;
}

static bool array_side(const CopyPlace *place, const Copy3D *copy, Side *side)
{
    const Array *array = place->array;
    if (!array)
        return false;
    size_t row = array->shape.width * array_texel_bytes(array);
    size_t height = array->shape.height ? array->shape.height : 1, depth = array->shape.depth ? array->shape.depth : 1;
    *side = (Side){array->bytes + place->z * row * height + place->y * row + place->x, row, row * height, NULL};
    return place->x + copy->width <= row && place->y + copy->height <= height && place->z + copy->depth <= depth;
}

/* Finds a side; false if the box is not within the memory. */
static bool side_find(const CopyPlace *place, const Copy3D *copy, Side *side)
{
    if (place->memory == MEMORY_ARRAY)
        return array_side(place, copy, side);
    size_t row = place->pitch ? place->pitch : copy->width;
    size_t plane = row * (place->height ? place->height : copy->height);
    size_t first = place->z * plane + place->y * row + place->x, size = box_extent(row, plane, copy);
    side->row = row;
    side->plane = plane;
    if (copy->height > 1 && row < copy->width)
        return false;
    side->bytes = place->memory == MEMORY_HOST     ? host_bytes((const char *)place->host + first, size)
                  : place->memory == MEMORY_DEVICE ? device_bytes(place->device + first, size)
                                                   : either_bytes(place->device + first, size);
    return side->bytes;
}

static bool is_on_host(const CopyPlace *place)
{
    return place->memory == MEMORY_HOST || (place->memory == MEMORY_UNIFIED && !memory_at(place->device));
}

/* True if the copy moves to the host what the program has on the device, and not what an adapter reads, which is a
 * launch contract. */
static bool is_to_host(const Copy3D *copy)
{
    if (is_on_host(&copy->from) || !is_on_host(&copy->to))
        return false;
    const Memory *memory = copy->from.memory == MEMORY_ARRAY ? NULL : memory_at(copy->from.device);
    return !memory || !memory->is_variable || strncmp(memory->name, "__ptxopt_", strlen("__ptxopt_")) != 0;
}

/* Logs the number of bytes that were copied to the host, and their hash (FNV-1a). */
static void log_copy(const Copy3D *copy, const Side *to)
{
    uint64_t hash = HASH_START;
    if (!log_is_open() || !is_to_host(copy))
        return;
    for (size_t z = 0; z < copy->depth; z++)
        for (size_t y = 0; y < copy->height; y++)
            hash = hash_fnv(to->bytes + z * to->plane + y * to->row, copy->width, hash);
    log_add("copy %zu %016" PRIx64, copy->width * copy->height * copy->depth, hash);
}

/* Finds the marks of a side whose bytes were found. */
static void find_marks(const CopyPlace *place, Side *side)
{
    const Memory *memory = place->memory == MEMORY_ARRAY || is_on_host(place) ? NULL : memory_at(place->device);
    side->written = memory && memory->written ? memory->written + (side->bytes - memory->bytes) : NULL;
}

int copy_run(const Copy3D *copy)
{
    Side from, to;
    if (!copy->width || !copy->height || !copy->depth)
        return DONE;
    if (!side_find(&copy->from, copy, &from) || !side_find(&copy->to, copy, &to))
        return INVALID_VALUE;
    find_marks(&copy->from, &from);
    find_marks(&copy->to, &to);
    for (size_t z = 0; z < copy->depth; z++) {
        for (size_t y = 0; y < copy->height; y++) {
            const size_t to_row = z * to.plane + y * to.row, from_row = z * from.plane + y * from.row;
            memmove(to.bytes + to_row, from.bytes + from_row, copy->width);
            if (to.written && from.written)
                memmove(to.written + to_row, from.written + from_row, copy->width);
            else if (to.written)
                memset(to.written + to_row, 1, copy->width);
        }
    }
    log_copy(copy, &to);
    device_clock += (double)(copy->width * copy->height * copy->depth) / 1024 * 1e-6;
    return DONE;
}

int fill_run(const Fill *fill)
{
    size_t row = fill->width * fill->element_size, pitch = fill->height > 1 ? fill->pitch : row;
    if (!row || !fill->height)
        return DONE;
    uint8_t *bytes = device_bytes(fill->address, (fill->height - 1) * pitch + row);
    if (!bytes || pitch < row || (fill->element_size != 1 && fill->element_size != 2 && fill->element_size != 4) ||
        fill->address % fill->element_size)
        return INVALID_VALUE;
    const Memory *memory = memory_at(fill->address);
    for (size_t y = 0; memory->written && y < fill->height; y++)
        memset(memory->written + (fill->address - memory->address) + y * pitch, 1, row);
    for (size_t y = 0; y < fill->height; y++)
        for (size_t x = 0; x < row; x += fill->element_size)
            memcpy(bytes + y * pitch + x, &fill->value, fill->element_size);
    device_clock += (double)(row * fill->height) / 1024 * 1e-6;
    return DONE;
}

/* Copies of a row. */

static int submit(const CopyPlace *to, const CopyPlace *from, size_t size, void *stream)
{
    const Work work = {.kind = WORK_COPY, .copy = {.from = *from, .to = *to, .width = size, .height = 1, .depth = 1}};
    return stream_submit(stream, &work);
}

static CopyPlace on_host(const void *address)
{
    return (CopyPlace){.memory = MEMORY_HOST, .host = (void *)address};
}

static CopyPlace on_device(uint64_t address)
{
    return (CopyPlace){.memory = MEMORY_DEVICE, .device = address};
}

static CopyPlace anywhere(uint64_t address)
{
    return (CopyPlace){.memory = MEMORY_UNIFIED, .device = address};
}

static CopyPlace in_array(void *array, size_t offset)
{
    return (CopyPlace){.memory = MEMORY_ARRAY, .array = array, .x = offset};
}

int cuMemcpyHtoDAsync_v2(uint64_t to, const void *from, size_t size, void *stream)
{
    const CopyPlace target = on_device(to), source = on_host(from);
    return submit(&target, &source, size, stream);
}

int cuMemcpyDtoHAsync_v2(void *to, uint64_t from, size_t size, void *stream)
{
    const CopyPlace target = on_host(to), source = on_device(from);
    return submit(&target, &source, size, stream);
}

int cuMemcpyDtoDAsync_v2(uint64_t to, uint64_t from, size_t size, void *stream)
{
    const CopyPlace target = on_device(to), source = on_device(from);
    return submit(&target, &source, size, stream);
}

int cuMemcpyAsync(uint64_t to, uint64_t from, size_t size, void *stream)
{
    const CopyPlace target = anywhere(to), source = anywhere(from);
    return submit(&target, &source, size, stream);
}

int cuMemcpyHtoAAsync_v2(void *to, size_t offset, const void *from, size_t size, void *stream)
{
    const CopyPlace target = in_array(to, offset), source = on_host(from);
    return submit(&target, &source, size, stream);
}

int cuMemcpyAtoHAsync_v2(void *to, void *from, size_t offset, size_t size, void *stream)
{
    const CopyPlace target = on_host(to), source = in_array(from, offset);
    return submit(&target, &source, size, stream);
}

int cuMemcpyHtoD_v2(uint64_t to, const void *from, size_t size)
{
    return cuMemcpyHtoDAsync_v2(to, from, size, NULL);
}

int cuMemcpyDtoH_v2(void *to, uint64_t from, size_t size)
{
    return cuMemcpyDtoHAsync_v2(to, from, size, NULL);
}

int cuMemcpyDtoD_v2(uint64_t to, uint64_t from, size_t size)
{
    return cuMemcpyDtoDAsync_v2(to, from, size, NULL);
}

int cuMemcpy(uint64_t to, uint64_t from, size_t size)
{
    return cuMemcpyAsync(to, from, size, NULL);
}

int cuMemcpyHtoA_v2(void *to, size_t offset, const void *from, size_t size)
{
    return cuMemcpyHtoAAsync_v2(to, offset, from, size, NULL);
}

int cuMemcpyAtoH_v2(void *to, void *from, size_t offset, size_t size)
{
    return cuMemcpyAtoHAsync_v2(to, from, offset, size, NULL);
}

int cuMemcpyDtoA_v2(void *to, size_t offset, uint64_t from, size_t size)
{
    const CopyPlace target = in_array(to, offset), source = on_device(from);
    return submit(&target, &source, size, NULL);
}

int cuMemcpyAtoD_v2(uint64_t to, void *from, size_t offset, size_t size)
{
    const CopyPlace target = on_device(to), source = in_array(from, offset);
    return submit(&target, &source, size, NULL);
}

int cuMemcpyAtoA_v2(void *to, size_t to_offset, void *from, size_t from_offset, size_t size)
{
    const CopyPlace target = in_array(to, to_offset), source = in_array(from, from_offset);
    return submit(&target, &source, size, NULL);
}

int cuMemcpyPeerAsync(uint64_t to, void *to_context, uint64_t from, void *from_context, size_t size, void *stream)
{
    (void)to_context, (void)from_context;
    return cuMemcpyDtoDAsync_v2(to, from, size, stream);
}

int cuMemcpyPeer(uint64_t to, void *to_context, uint64_t from, void *from_context, size_t size)
{
    return cuMemcpyPeerAsync(to, to_context, from, from_context, size, NULL);
}

/* Copies of boxes. */

int cuMemcpy3DAsync_v2(const Copy3D *copy, void *stream)
{
    const Work work = {.kind = WORK_COPY, .copy = *copy};
    return stream_submit(stream, &work);
}

int cuMemcpy3D_v2(const Copy3D *copy)
{
    return cuMemcpy3DAsync_v2(copy, NULL);
}

int cuMemcpy3DPeerAsync(const Copy3D *copy, void *stream)
{
    return cuMemcpy3DAsync_v2(copy, stream);
}

int cuMemcpy3DPeer(const Copy3D *copy)
{
    return cuMemcpy3DAsync_v2(copy, NULL);
}

static CopyPlace place_of(const CopyPlace2D *place)
{
    return (CopyPlace){.x = place->x,
                       .y = place->y,
                       .memory = place->memory,
                       .host = place->host,
                       .device = place->device,
                       .array = place->array,
                       .pitch = place->pitch};
}

int cuMemcpy2DAsync_v2(const Copy2D *copy, void *stream)
{
    const Copy3D box = {.from = place_of(&copy->from),
                        .to = place_of(&copy->to),
                        .width = copy->width,
                        .height = copy->height,
                        .depth = 1};
    return cuMemcpy3DAsync_v2(&box, stream);
}

int cuMemcpy2D_v2(const Copy2D *copy)
{
    return cuMemcpy2DAsync_v2(copy, NULL);
}

int cuMemcpy2DUnaligned_v2(const Copy2D *copy)
{
    return cuMemcpy2DAsync_v2(copy, NULL);
}

int cuMemcpyBatchAsync_v2(const uint64_t *to, const uint64_t *from, const size_t *sizes, size_t count,
                          const void *attributes, const size_t *places, size_t attribute_count, void *stream)
{
    int error = DONE;
    (void)attributes, (void)places, (void)attribute_count;
    for (size_t i = 0; i < count && !error; i++)
        error = cuMemcpyAsync(to[i], from[i], sizes[i], stream);
    return error;
}

int cuMemcpyBatchAsync(const uint64_t *to, const uint64_t *from, const size_t *sizes, size_t count,
                       const void *attributes, const size_t *places, size_t attribute_count, size_t *failed,
                       void *stream)
{
    (void)failed;
    return cuMemcpyBatchAsync_v2(to, from, sizes, count, attributes, places, attribute_count, stream);
}

/* Fills. */

static int fill(uint64_t to, size_t pitch, unsigned value, unsigned element_size, size_t width, size_t height,
                void *stream)
{
    const Work work = {.kind = WORK_FILL, .fill = {to, pitch, value, element_size, width, height}};
    return stream_submit(stream, &work);
}

int cuMemsetD8Async(uint64_t to, unsigned char value, size_t count, void *stream)
{
    return fill(to, 0, value, 1, count, 1, stream);
}

int cuMemsetD16Async(uint64_t to, unsigned short value, size_t count, void *stream)
{
    return fill(to, 0, value, 2, count, 1, stream);
}

int cuMemsetD32Async(uint64_t to, unsigned value, size_t count, void *stream)
{
    return fill(to, 0, value, 4, count, 1, stream);
}

int cuMemsetD8_v2(uint64_t to, unsigned char value, size_t count)
{
    return fill(to, 0, value, 1, count, 1, NULL);
}

int cuMemsetD16_v2(uint64_t to, unsigned short value, size_t count)
{
    return fill(to, 0, value, 2, count, 1, NULL);
}

int cuMemsetD32_v2(uint64_t to, unsigned value, size_t count)
{
    return fill(to, 0, value, 4, count, 1, NULL);
}

int cuMemsetD2D8Async(uint64_t to, size_t pitch, unsigned char value, size_t width, size_t height, void *stream)
{
    return fill(to, pitch, value, 1, width, height, stream);
}

int cuMemsetD2D16Async(uint64_t to, size_t pitch, unsigned short value, size_t width, size_t height, void *stream)
{
    return fill(to, pitch, value, 2, width, height, stream);
}

int cuMemsetD2D32Async(uint64_t to, size_t pitch, unsigned value, size_t width, size_t height, void *stream)
{
    return fill(to, pitch, value, 4, width, height, stream);
}

int cuMemsetD2D8_v2(uint64_t to, size_t pitch, unsigned char value, size_t width, size_t height)
{
    return fill(to, pitch, value, 1, width, height, NULL);
}

int cuMemsetD2D16_v2(uint64_t to, size_t pitch, unsigned short value, size_t width, size_t height)
{
    return fill(to, pitch, value, 2, width, height, NULL);
}

int cuMemsetD2D32_v2(uint64_t to, size_t pitch, unsigned value, size_t width, size_t height)
{
    return fill(to, pitch, value, 4, width, height, NULL);
}

/* The names for programs whose threads have default streams of their own. */
SAME(cuMemcpy2DAsync_v2_ptsz, cuMemcpy2DAsync_v2);
SAME(cuMemcpy2DUnaligned_v2_ptds, cuMemcpy2DUnaligned_v2);
SAME(cuMemcpy2D_v2_ptds, cuMemcpy2D_v2);
SAME(cuMemcpy3DAsync_v2_ptsz, cuMemcpy3DAsync_v2);
SAME(cuMemcpy3DPeerAsync_ptsz, cuMemcpy3DPeerAsync);
SAME(cuMemcpy3DPeer_ptds, cuMemcpy3DPeer);
SAME(cuMemcpy3D_v2_ptds, cuMemcpy3D_v2);
SAME(cuMemcpyAsync_ptsz, cuMemcpyAsync);
SAME(cuMemcpyAtoA_v2_ptds, cuMemcpyAtoA_v2);
SAME(cuMemcpyAtoD_v2_ptds, cuMemcpyAtoD_v2);
SAME(cuMemcpyAtoHAsync_v2_ptsz, cuMemcpyAtoHAsync_v2);
SAME(cuMemcpyAtoH_v2_ptds, cuMemcpyAtoH_v2);
SAME(cuMemcpyBatchAsync_ptsz, cuMemcpyBatchAsync);
SAME(cuMemcpyBatchAsync_v2_ptsz, cuMemcpyBatchAsync_v2);
SAME(cuMemcpyDtoA_v2_ptds, cuMemcpyDtoA_v2);
SAME(cuMemcpyDtoDAsync_v2_ptsz, cuMemcpyDtoDAsync_v2);
SAME(cuMemcpyDtoD_v2_ptds, cuMemcpyDtoD_v2);
SAME(cuMemcpyDtoHAsync_v2_ptsz, cuMemcpyDtoHAsync_v2);
SAME(cuMemcpyDtoH_v2_ptds, cuMemcpyDtoH_v2);
SAME(cuMemcpyHtoAAsync_v2_ptsz, cuMemcpyHtoAAsync_v2);
SAME(cuMemcpyHtoA_v2_ptds, cuMemcpyHtoA_v2);
SAME(cuMemcpyHtoDAsync_v2_ptsz, cuMemcpyHtoDAsync_v2);
SAME(cuMemcpyHtoD_v2_ptds, cuMemcpyHtoD_v2);
SAME(cuMemcpyPeerAsync_ptsz, cuMemcpyPeerAsync);
SAME(cuMemcpyPeer_ptds, cuMemcpyPeer);
SAME(cuMemcpy_ptds, cuMemcpy);
SAME(cuMemsetD16Async_ptsz, cuMemsetD16Async);
SAME(cuMemsetD16_v2_ptds, cuMemsetD16_v2);
SAME(cuMemsetD2D16Async_ptsz, cuMemsetD2D16Async);
SAME(cuMemsetD2D16_v2_ptds, cuMemsetD2D16_v2);
SAME(cuMemsetD2D32Async_ptsz, cuMemsetD2D32Async);
SAME(cuMemsetD2D32_v2_ptds, cuMemsetD2D32_v2);
SAME(cuMemsetD2D8Async_ptsz, cuMemsetD2D8Async);
SAME(cuMemsetD2D8_v2_ptds, cuMemsetD2D8_v2);
SAME(cuMemsetD32Async_ptsz, cuMemsetD32Async);
SAME(cuMemsetD32_v2_ptds, cuMemsetD32_v2);
SAME(cuMemsetD8Async_ptsz, cuMemsetD8Async);
SAME(cuMemsetD8_v2_ptds, cuMemsetD8_v2);
