/* Texture and surface objects: over arrays, linear memory and rows of a pitch. Their handles are the emulator's. */
#include <stdlib.h>
#include <string.h>

#include "emulated/driver.h"
#include "emulated/driver_api.h"

typedef struct Object {
    Resource resource;
    Sampling sampling;
    bool is_surface, is_used;
} Object;

static EmulatorImage *images;
static Object *objects;
static unsigned image_count, image_room;

const EmulatorImage *image_list(unsigned *count)
{
    *count = image_count;
    return images;
}

void images_forget(const uint8_t *bytes, size_t size)
{
    for (unsigned i = 0; i < image_count; i++)
        if (images[i].bytes >= bytes && images[i].bytes < bytes + size)
            images[i].name = NULL;
}

static Type channel_type(int format)
{
    switch (format) {
    case 0x01: return TYPE_U8;
    case 0x02: return TYPE_U16;
    case 0x03: return TYPE_U32;
    case 0x08: return TYPE_S8;
    case 0x09: return TYPE_S16;
    case 0x0a: return TYPE_S32;
    case 0x10: return TYPE_F16;
    case 0x20: return TYPE_F32;
    default: return TYPE_NONE;
    }
}

static size_t at_least_one(size_t size)
{
    return size ? size : 1;
}

static bool array_image(EmulatorImage *image, const Array *array)
{
    const ArrayShape *shape = &array->shape;
    bool is_layered = shape->flags & (ARRAY_LAYERED | ARRAY_CUBEMAP);
    image->type = channel_type(shape->format);
    image->bytes = array->bytes;
    image->shape.width = shape->width;
    image->shape.height = at_least_one(shape->height);
    image->shape.depth = is_layered ? 1 : at_least_one(shape->depth);
    image->shape.layers = is_layered ? at_least_one(shape->depth) : 1;
    image->shape.channels = shape->channels;
    return true;
}

static bool memory_image(EmulatorImage *image, const Resource *resource)
{
    bool is_linear = resource->kind == RESOURCE_LINEAR;
    size_t texel, height = is_linear ? 1 : resource->pitched.height;
    image->type = channel_type(resource->linear.format);
    image->shape.channels = resource->linear.channels;
    texel = image->shape.channels * type_bits(image->type) / 8;
    if (!texel || !height || (!is_linear && resource->pitched.pitch < resource->pitched.width * texel))
        return false;
    image->shape.width = is_linear ? resource->linear.bytes / texel : resource->pitched.width;
    image->shape.height = height;
    image->shape.depth = image->shape.layers = 1;
    image->shape.linear_memory = is_linear;
    image->shape.pitch = is_linear ? 0 : resource->pitched.pitch;
    image->bytes =
        device_bytes(resource->linear.address, (height - 1) * image->shape.pitch + image->shape.width * texel);
    return image->bytes && image->shape.width;
}

static void sample_as(EmulatorImage *image, const Sampling *sampling)
{
    static const AddressMode modes[] = {ADDRESS_WRAP, ADDRESS_CLAMP, ADDRESS_MIRROR, ADDRESS_BORDER};
    for (unsigned i = 0; i < 3; i++)
        image->shape.address[i] = modes[sampling->address[i] & 3];
    image->shape.linear_filter = sampling->filter == 1;
    image->shape.normalized = sampling->flags & SAMPLE_NORMALIZED;
    image->shape.read_normalized =
        !(sampling->flags & SAMPLE_INTEGERS) && type_class(image->type) != CLASS_FLOAT && type_bits(image->type) < 32;
}

/* A number that is not in use; false: out of memory. */
static bool number_take(unsigned *number)
{
    for (*number = 0; *number < image_count; (*number)++)
        if (!objects[*number].is_used)
            return true;
    if (image_count == image_room) {
        image_room = image_room ? 2 * image_room : 16;
        images = realloc(images, image_room * sizeof *images);
        objects = realloc(objects, image_room * sizeof *objects);
    }
    if (!images || !objects)
        return false;
    image_count++;
    return true;
}

/* The array of a resource; of a mipmapped array, the first level. */
static const Array *resource_array(const Resource *resource)
{
    void *level = resource->array;
    if (resource->kind == RESOURCE_MIPMAPPED && cuMipmappedArrayGetLevel(&level, resource->array, 0))
        return NULL;
    return level;
}

static int object_make(uint64_t *handle, const Resource *resource, const Sampling *sampling)
{
    EmulatorImage image = {.name = sampling ? "a texture" : "a surface"};
    bool is_array = resource->kind == RESOURCE_ARRAY || resource->kind == RESOURCE_MIPMAPPED;
    const Array *array = is_array ? resource_array(resource) : NULL;
    unsigned number;
    if (is_array ? !array || !array_image(&image, array) : !memory_image(&image, resource))
        return INVALID_VALUE;
    if (sampling)
        sample_as(&image, sampling);
    if (!number_take(&number))
        return NO_MEMORY;
    images[number] = image;
    objects[number] = (Object){.resource = *resource, .is_surface = !sampling, .is_used = true};
    if (sampling)
        objects[number].sampling = *sampling;
    *handle = emulator_image_handle(number);
    return DONE;
}

int cuTexObjectCreate(uint64_t *handle, const Resource *resource, const Sampling *sampling, const void *view)
{
    LOCKED;
    return !sampling ? INVALID_VALUE : view ? NOT_SUPPORTED : object_make(handle, resource, sampling);
}

int cuSurfObjectCreate(uint64_t *handle, const Resource *resource)
{
    LOCKED;
    return resource->kind == RESOURCE_ARRAY ? object_make(handle, resource, NULL) : INVALID_VALUE;
}

/* The object of a handle; NULL if it is not an object of the kind. */
static const Object *object_find(uint64_t handle, bool is_surface, unsigned *number)
{
    for (*number = 0; *number < image_count; (*number)++)
        if (emulator_image_handle(*number) == handle && objects[*number].is_used)
            return objects[*number].is_surface == is_surface ? &objects[*number] : NULL;
    return NULL;
}

static int object_destroy(uint64_t handle, bool is_surface)
{
    LOCKED;
    unsigned number;
    if (!handle)
        return DONE;
    if (!object_find(handle, is_surface, &number))
        return INVALID_VALUE;
    images[number].name = NULL;
    objects[number].is_used = false;
    return DONE;
}

int cuTexObjectDestroy(uint64_t handle)
{
    return object_destroy(handle, false);
}

int cuSurfObjectDestroy(uint64_t handle)
{
    return object_destroy(handle, true);
}

static int resource_get(Resource *resource, uint64_t handle, bool is_surface)
{
    LOCKED;
    unsigned number;
    const Object *object = object_find(handle, is_surface, &number);
    if (object)
        *resource = object->resource;
    return object ? DONE : INVALID_VALUE;
}

int cuTexObjectGetResourceDesc(Resource *resource, uint64_t handle)
{
    return resource_get(resource, handle, false);
}

int cuSurfObjectGetResourceDesc(Resource *resource, uint64_t handle)
{
    return resource_get(resource, handle, true);
}

int cuTexObjectGetTextureDesc(Sampling *sampling, uint64_t handle)
{
    LOCKED;
    unsigned number;
    const Object *object = object_find(handle, false, &number);
    if (object)
        *sampling = object->sampling;
    return object ? DONE : INVALID_VALUE;
}

int cuDeviceGetTexture1DLinearMaxWidth(size_t *width, int format, unsigned channels, int device)
{
    (void)format, (void)channels;
    *width = (size_t)1 << 28;
    return device ? INVALID_DEVICE : DONE;
}
