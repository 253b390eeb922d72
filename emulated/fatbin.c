/* Finds the PTX in images of device code: PTX itself, a fat binary, or the structure that compiled host code has for
 * one. */
#include "emulated/fatbin.h"

#include <string.h>

#include "images/images.h"

enum { WRAPPER = 0x466243b1, LINKED = 2, ELF = 0x464c457f };

typedef struct Wrapper {
    uint32_t magic, version;
    const void *data;
    const void *const *units; /* in version 2, which nvlink makes: the fat binaries of the units, up to a NULL */
} Wrapper;

static void read_cubin(Arena *arena, const Image *image, Cubin *cubin)
{
    const char *ignored;
    cubin->bytes = image_unpack(arena, image, &cubin->size, &ignored);
    if (!cubin->bytes)
        cubin->size = 0;
}

/* The last PTX among the images of a fat binary, NULL if there is none, and its machine code for an architecture. */
static const Image *choose_images(Arena *arena, const ImageVec *images, unsigned number, Cubin *cubin)
{
    const Image *ptx = NULL;
    for (size_t i = 0; i < images->count; i++) {
        const Image *image = &images->data[i];
        if (image->kind == IMAGE_PTX)
            ptx = image;
        else if (image->kind == IMAGE_CUBIN && image->arch.number == number)
            read_cubin(arena, image, cubin);
    }
    return ptx;
}

/* The PTX of a fat binary, or an image that is not one: PTX itself. */
static const char *container_ptx(Arena *arena, const char *at, unsigned number, Cubin *cubin, const char **error)
{
    uint32_t magic;
    memcpy(&magic, at, sizeof magic);
    if (magic == ELF) {
        *error = "the image is machine code without PTX";
        return NULL;
    }
    const size_t size = images_container_size(at, SIZE_MAX);
    if (!size)
        return at;
    ImageVec images = {0};
    *error = images_read_container(arena, at, size, &images);
    if (*error)
        return NULL;
    const Image *ptx = choose_images(arena, &images, number, cubin);
    size_t length;
    if (ptx)
        return image_unpack(arena, ptx, &length, error);
    *error = "the fat binary has no PTX: compile with -gencode arch=compute_90,code=compute_90";
    return NULL;
}

static const char *linked_ptx(Arena *arena, const Wrapper *wrapper, const char **error)
{
    size_t count = 0;
    while (wrapper->units[count])
        count++;
    const char **texts = ARENA_ARRAY(arena, const char *, count + 1);
    for (size_t i = 0; i < count; i++)
        if (!(texts[i] = container_ptx(arena, wrapper->units[i], 0, NULL, error)))
            return NULL;
    return link_ptx(arena, texts, count, error);
}

const char *image_ptx(Arena *arena, const void *image, unsigned number, Cubin *cubin, const char **error)
{
    Wrapper wrapper;
    *cubin = (Cubin){0};
    memcpy(&wrapper.magic, image, sizeof wrapper.magic);
    if (wrapper.magic != WRAPPER)
        return container_ptx(arena, image, number, cubin, error);
    memcpy(&wrapper, image, sizeof wrapper);
    return wrapper.version == LINKED ? linked_ptx(arena, &wrapper, error)
                                     : container_ptx(arena, wrapper.data, number, cubin, error);
}
