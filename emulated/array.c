/* Arrays and mipmapped arrays. */
#include <stdlib.h>
#include <string.h>

#include "emulated/driver.h"
#include "emulated/driver_api.h"

typedef struct Mipmaps {
    ArrayShape shape;
    unsigned count;
    Array *levels;
} Mipmaps;

/* CUarray_format; 0: not one that the emulator has */
static size_t format_bytes(int format)
{
    switch (format) {
    case 0x01:
    case 0x08: return 1;
    case 0x02:
    case 0x09:
    case 0x10: return 2;
    case 0x03:
    case 0x0a:
    case 0x20: return 4;
    default: return 0;
    }
}

static size_t at_least_one(size_t size)
{
    return size ? size : 1;
}

size_t array_texel_bytes(const Array *array)
{
    return array->shape.channels * format_bytes(array->shape.format);
}

size_t array_bytes(const Array *array)
{
    return array->shape.width * at_least_one(array->shape.height) * at_least_one(array->shape.depth) *
           array_texel_bytes(array);
}

static bool is_shape(const ArrayShape *shape)
{
    enum { LARGEST = 1 << 20 };
    return shape->width && shape->width <= LARGEST && shape->height <= LARGEST && shape->depth <= LARGEST &&
           (shape->channels == 1 || shape->channels == 2 || shape->channels == 4);
}

static bool array_fill(Array *array, const ArrayShape *shape)
{
    *array = (Array){.shape = *shape};
    array->bytes = array_bytes(array) <= LARGEST_MEMORY ? calloc(1, array_bytes(array)) : NULL;
    return array->bytes;
}

int cuArray3DCreate_v2(void **result, const ArrayShape *shape)
{
    *result = NULL;
    if (!is_shape(shape))
        return INVALID_VALUE;
    if (!format_bytes(shape->format))
        return NOT_SUPPORTED;
    Array *array = malloc(sizeof *array);
    if (!array || !array_fill(array, shape)) {
        free(array);
        return NO_MEMORY;
    }
    *result = array;
    return DONE;
}

int cuArrayCreate_v2(void **result, const ArrayShape2D *shape)
{
    const ArrayShape full = {
        .width = shape->width, .height = shape->height, .format = shape->format, .channels = shape->channels};
    return cuArray3DCreate_v2(result, &full);
}

int cuArray3DGetDescriptor_v2(ArrayShape *shape, void *array)
{
    if (!array)
        return INVALID_HANDLE;
    *shape = ((Array *)array)->shape;
    return DONE;
}

int cuArrayGetDescriptor_v2(ArrayShape2D *shape, void *array)
{
    ArrayShape full = {0};
    int error = cuArray3DGetDescriptor_v2(&full, array);
    *shape = (ArrayShape2D){full.width, full.height, full.format, full.channels};
    return error;
}

int cuArrayDestroy(void *handle)
{
    Array *array = handle;
    if (!array || array->is_level)
        return INVALID_HANDLE;
    images_forget(array->bytes, array_bytes(array));
    free(array->bytes);
    free(array);
    return DONE;
}

static size_t halved(size_t size, unsigned level)
{
    return size ? at_least_one(size >> level) : 0;
}

int cuMipmappedArrayDestroy(void *handle)
{
    Mipmaps *mipmaps = handle;
    if (!mipmaps)
        return INVALID_HANDLE;
    for (unsigned i = 0; i < mipmaps->count; i++) {
        images_forget(mipmaps->levels[i].bytes, array_bytes(&mipmaps->levels[i]));
        free(mipmaps->levels[i].bytes);
    }
    free(mipmaps->levels);
    free(mipmaps);
    return DONE;
}

int cuMipmappedArrayCreate(void **result, const ArrayShape *shape, unsigned count)
{
    bool is_layered = shape->flags & ARRAY_LAYERED;
    Mipmaps *mipmaps = calloc(1, sizeof *mipmaps);
    *result = NULL;
    if (!mipmaps || !is_shape(shape) || !count || count > 31) {
        free(mipmaps);
        return INVALID_VALUE;
    }
    mipmaps->levels = calloc(count, sizeof(Array));
    for (; mipmaps->levels && mipmaps->count < count; mipmaps->count++) {
        ArrayShape level = *shape;
        level.width = halved(shape->width, mipmaps->count);
        level.height = halved(shape->height, mipmaps->count);
        level.depth = is_layered ? shape->depth : halved(shape->depth, mipmaps->count);
        if (!array_fill(&mipmaps->levels[mipmaps->count], &level))
            break;
        mipmaps->levels[mipmaps->count].is_level = true;
    }
    if (mipmaps->count == count) {
        *result = mipmaps;
        return DONE;
    }
    cuMipmappedArrayDestroy(mipmaps);
    return NO_MEMORY;
}

int cuMipmappedArrayGetLevel(void **array, void *handle, unsigned level)
{
    const Mipmaps *mipmaps = handle;
    if (!mipmaps || level >= mipmaps->count)
        return INVALID_VALUE;
    *array = &mipmaps->levels[level];
    return DONE;
}
