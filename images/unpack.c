/* Images are plain, compressed as one LZ4 block (CUDA 11 and 12, and -compress-mode=speed), or by Zstandard, for which
 * libzstd.so.1 is loaded. */
#include "images/images.h"

#include <dlfcn.h>
#include <string.h>

/* No compiler makes larger images; the damaged header of a small file may claim anything. */
enum { LARGEST_IMAGE = 1 << 30 };

/* Reads the rest of a length whose first four bits are 'length': bytes of 255 are followed by another. */
static size_t lz4_length(size_t length, const uint8_t **at, const uint8_t *end)
{
    uint8_t more = length == 15 ? 255 : 0;
    while (more == 255 && *at < end) {
        more = *(*at)++;
        length += more;
    }
    return length;
}

/* One LZ4 block: runs of literal bytes, each followed by a copy of earlier output. False if it is damaged. */
static bool lz4_unpack(char *to, size_t room, const uint8_t *at, size_t size)
{
    const uint8_t *end = at + size;
    size_t done = 0;
    while (at < end) {
        uint8_t token = *at++;
        size_t literals = lz4_length(token >> 4, &at, end);
        if (literals > (size_t)(end - at) || literals > room - done)
            return false;
        memcpy(to + done, at, literals);
        done += literals;
        at += literals;
        if (at == end)
            break;
        if (end - at < 2)
            return false;
        size_t back = at[0] | (size_t)at[1] << 8;
        at += 2;
        size_t copied = lz4_length(token & 15, &at, end) + 4;
        if (!back || back > done || copied > room - done)
            return false;
        for (; copied; copied--, done++)
            to[done] = to[done - back];
    }
    return done == room;
}

typedef size_t (*ZstdDecompress)(void *, size_t, const void *, size_t);

/* NULL if it is not installed. The library stays loaded. */
static ZstdDecompress find_zstd(void)
{
    void *library = dlopen("libzstd.so.1", RTLD_NOW);
    ZstdDecompress function = NULL;
    if (library)
        *(void **)&function = dlsym(library, "ZSTD_decompress");
    return function;
}

/* NULL, or why the image cannot be unpacked; "it" is the image. */
static const char *unpack(char *to, const Image *image)
{
    static const char damaged[] = "is damaged";
    if (image->packing == IMAGE_LZ4)
        return lz4_unpack(to, image->full_size, (const uint8_t *)image->bytes, image->size) ? NULL : damaged;
    const ZstdDecompress decompress = find_zstd();
    if (!decompress)
        return "is compressed: install libzstd.so.1, or compile with -no-compress";
    return decompress(to, image->full_size, image->bytes, image->size) == image->full_size ? NULL : damaged;
}

const char *image_unpack(Arena *arena, const Image *image, size_t *size, const char **error)
{
    static const char *const kinds[] = {"PTX", "machine code", "code"};
    const char *problem = NULL;
    *error = NULL;
    *size = image->full_size;
    if (image->packing == IMAGE_PLAIN)
        return arena_strndup(arena, image->bytes, image->size);
    if (image->packing == IMAGE_PACKED_OTHERWISE)
        problem = "is compressed in an unknown way: compile with -no-compress";
    else if (image->full_size > LARGEST_IMAGE)
        problem = "is damaged";
    char *bytes = problem ? NULL : arena_alloc(arena, image->full_size + 1);
    if (!problem)
        problem = unpack(bytes, image);
    if (problem)
        *error = arena_printf(arena, "the %s in the fat binary %s", kinds[image->kind], problem);
    return problem ? NULL : bytes;
}
