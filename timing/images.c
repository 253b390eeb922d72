/* Arrays, texture objects and surface objects; the structures follow the CUDA driver API manual. */
#include "timing/images.h"

#include <string.h>

enum { ARRAY_LAYERED = 1, ARRAY_SURFACE = 2 };                 /* CUDA_ARRAY3D_DESCRIPTOR.Flags */
enum { MEMORY_HOST = 1, MEMORY_ARRAY = 3 };                    /* CUmemorytype */
enum { RESOURCE_ARRAY = 0, RESOURCE_LINEAR = 2, RESOURCE_PITCHED = 3 }; /* CUresourcetype */
enum { READ_AS_INTEGER = 1, NORMALIZED_COORDINATES = 2 };      /* CUDA_TEXTURE_DESC.flags */

typedef struct ArrayShape {
    size_t width, height, depth;
    int format;
    unsigned channels, flags;
} ArrayShape;

typedef struct Place {
    size_t x_bytes, y, z, level;
    int memory;
    const void *host;
    DevicePointer device;
    void *array, *reserved;
    size_t pitch, height;
} Place;

typedef struct Copy {
    Place from, to;
    size_t width_bytes, height, depth;
} Copy;

typedef struct Resource {
    int kind;
    union {
        void *array;
        struct {
            DevicePointer device;
            int format;
            unsigned channels;
            size_t width, height, pitch; /* the width of a linear one is its size in bytes */
        } memory;
        int reserved[32];
    } at;
    unsigned flags;
} Resource;

typedef struct Sampling {
    int address[3], filter;
    unsigned flags, anisotropy;
    int level_filter;
    float bias, least_level, most_level, border[4];
    int reserved[12];
} Sampling;

_Static_assert(sizeof(ArrayShape) == 40 && sizeof(Copy) == 200 && sizeof(Resource) == 144 && sizeof(Sampling) == 104,
               "the sizes of the driver's structures");

/* CUarray_format; 0: there is none. */
static int format_of(Type type)
{
    switch (type) {
    case TYPE_U8: return 0x01;
    case TYPE_U16: return 0x02;
    case TYPE_U32: return 0x03;
    case TYPE_S8: return 0x08;
    case TYPE_S16: return 0x09;
    case TYPE_S32: return 0x0a;
    case TYPE_F16: return 0x10;
    case TYPE_F32: return 0x20;
    default: return 0;
    }
}

/* CUaddress_mode. */
static int address_of(AddressMode mode)
{
    switch (mode) {
    case ADDRESS_WRAP: return 0;
    case ADDRESS_CLAMP: return 1;
    case ADDRESS_MIRROR: return 2;
    case ADDRESS_BORDER: return 3;
    }
    return 1;
}

/* The earlier argument whose memory it uses; its own index if it has its own memory; -1 if the name is unknown. */
static int owner_of(const Launch *launch, unsigned argument)
{
    const char *of = launch->arguments[argument].image->of;
    if (!of)
        return (int)argument;
    for (unsigned i = 0; i < argument; i++)
        if (launch->arguments[i].name && strcmp(launch->arguments[i].name, of) == 0)
            return (int)i;
    return -1;
}

bool gpu_image_wants_buffer(const Launch *launch, unsigned argument)
{
    int owner = owner_of(launch, argument);
    return launch->arguments[argument].image->linear_memory ||
           (owner >= 0 && launch->arguments[owner].kind == ARGUMENT_BUFFER);
}

static size_t texel_bytes(const LaunchArgument *argument)
{
    return argument->image->channels * type_bits(argument->type) / 8;
}

static int array_create(const GpuDriver *driver, const LaunchArgument *argument, GpuImage *image)
{
    const LaunchImage *shape = argument->image;
    ArrayShape wanted = {
        .width = shape->width,
        .height = shape->height > 1 ? shape->height : 0,
        .depth = shape->layers > 1 ? shape->layers : shape->depth > 1 ? shape->depth : 0,
        .format = format_of(argument->type),
        .channels = shape->channels,
        .flags = ARRAY_SURFACE | (shape->layers > 1 ? ARRAY_LAYERED : 0),
    };
    image->is_owner = true;
    return driver->array_create(&image->array, &wanted);
}

static Copy whole_copy(const LaunchArgument *argument)
{
    const LaunchImage *shape = argument->image;
    return (Copy){
        .width_bytes = shape->width * texel_bytes(argument),
        .height = shape->height,
        .depth = shape->layers > 1 ? shape->layers : shape->depth,
    };
}

static Place host_place(const LaunchArgument *argument, const void *bytes)
{
    return (Place){.memory = MEMORY_HOST,
                   .host = bytes,
                   .pitch = argument->image->width * texel_bytes(argument),
                   .height = argument->image->height};
}

int gpu_image_write(const GpuDriver *driver, const LaunchArgument *argument, const GpuImage *image, const void *bytes)
{
    Copy copy = whole_copy(argument);
    copy.from = host_place(argument, bytes);
    copy.to = (Place){.memory = MEMORY_ARRAY, .array = image->array};
    return driver->copy_3d(&copy);
}

int gpu_image_read(const GpuDriver *driver, const LaunchArgument *argument, const GpuImage *image, void *bytes)
{
    Copy copy = whole_copy(argument);
    copy.from = (Place){.memory = MEMORY_ARRAY, .array = image->array};
    copy.to = host_place(argument, bytes);
    return driver->copy_3d(&copy);
}

static Resource resource_of(const LaunchArgument *argument, const GpuImage *image, DevicePointer buffer)
{
    const LaunchImage *shape = argument->image;
    Resource resource = {.kind = RESOURCE_ARRAY};
    if (!buffer) {
        resource.at.array = image->array;
        return resource;
    }
    size_t row = shape->width * texel_bytes(argument);
    bool is_linear = shape->linear_memory || shape->height == 1;
    resource.kind = is_linear ? RESOURCE_LINEAR : RESOURCE_PITCHED;
    resource.at.memory.device = buffer;
    resource.at.memory.format = format_of(argument->type);
    resource.at.memory.channels = shape->channels;
    resource.at.memory.width = is_linear ? row * shape->height : shape->width;
    resource.at.memory.height = is_linear ? 0 : shape->height;
    resource.at.memory.pitch = is_linear ? 0 : row;
    return resource;
}

static Sampling sampling_of(const LaunchArgument *argument)
{
    const LaunchImage *shape = argument->image;
    Sampling sampling = {.filter = shape->linear_filter};
    for (unsigned i = 0; i < 3; i++)
        sampling.address[i] = address_of(shape->address[i]);
    bool is_integer = type_class(argument->type) != CLASS_FLOAT;
    sampling.flags = (shape->normalized ? NORMALIZED_COORDINATES : 0) |
                     (is_integer && !shape->read_normalized ? READ_AS_INTEGER : 0);
    return sampling;
}

int gpu_image_open(const GpuDriver *driver, const Launch *launch, unsigned argument, GpuImage *images,
                   DevicePointer buffer, const char **problem)
{
    const LaunchArgument *wanted = &launch->arguments[argument];
    GpuImage *image = &images[argument];
    int owner = owner_of(launch, argument), error = CUDA_DONE;
    *problem = wanted->kind == ARGUMENT_SAMPLER ? "the driver has no samplers apart from textures"
               : wanted->image->bind            ? "references that a module declares are not bound"
               : owner < 0                      ? "no earlier argument has the memory that it is of"
               : !driver->texture_create        ? "this driver has no texture objects"
                                                : NULL;
    if (*problem)
        return -1;
    if (!buffer && owner == (int)argument)
        error = array_create(driver, wanted, image);
    else
        image->array = images[owner].array;
    if (error != CUDA_DONE)
        return error;
    Resource resource = resource_of(wanted, image, buffer);
    Sampling sampling = sampling_of(wanted);
    return wanted->kind == ARGUMENT_SURFACE ? driver->surface_create(&image->handle, &resource)
                                            : driver->texture_create(&image->handle, &resource, &sampling, NULL);
}

void gpu_image_close(const GpuDriver *driver, const LaunchArgument *argument, GpuImage *image)
{
    if (image->handle && argument->kind == ARGUMENT_SURFACE)
        driver->surface_destroy(image->handle);
    else if (image->handle)
        driver->texture_destroy(image->handle);
    if (image->is_owner && image->array)
        driver->array_destroy(image->array);
    *image = (GpuImage){0};
}
