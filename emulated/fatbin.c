/* Reads the PTX in fat binaries: a header of 16 bytes, then entries, each with a header. The layout is that of
 * `fatbinary` of CUDA 11 to 13. PTX is plain, compressed by LZ4 (CUDA 11 and 12), or by Zstandard, for which
 * libzstd.so.1 is loaded. */
#include "emulated/fatbin.h"

#include <dlfcn.h>
#include <string.h>

enum { WRAPPER = 0x466243b1, LINKED = 2, CONTAINER = 0xba55ed50u, ELF = 0x464c457f, KIND_PTX = 1, KIND_CUBIN = 2 };
enum { COMPRESSED_LZ4 = 0x2000, COMPRESSED_ZSTD = 0x8000 };

typedef struct Wrapper {
    uint32_t magic, version;
    const void *data;
    const void *const *units; /* in version 2, which nvlink makes: the fat binaries of the units, up to a NULL */
} Wrapper;

typedef struct Container {
    uint32_t magic;
    uint16_t version, header_size;
    uint64_t size;
} Container;

typedef struct Entry {
    uint16_t kind, version;
    uint32_t header_size;
    uint64_t size;
    uint32_t compressed_size, unknown, toolkit, architecture, more_unknown[2];
    uint64_t flags, more, full_size;
} Entry;

_Static_assert(sizeof(Container) == 16 && sizeof(Entry) == 64, "as fatbinary writes them");

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
static bool lz4_decompress(char *to, size_t room, const uint8_t *at, size_t size)
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

/* The bytes of an entry, followed by a zero; NULL with *error set if they cannot be read. */
static char *uncompress(Arena *arena, const char *bytes, const Entry *entry, const char **error)
{
    if (!(entry->flags & (COMPRESSED_LZ4 | COMPRESSED_ZSTD)))
        return arena_strndup(arena, bytes, entry->size);
    char *text = arena_alloc(arena, entry->full_size + 1);
    text[entry->full_size] = 0;
    if (entry->flags & COMPRESSED_LZ4) {
        if (lz4_decompress(text, entry->full_size, (const uint8_t *)bytes, entry->compressed_size))
            return text;
        *error = "the PTX in the fat binary is damaged";
        return NULL;
    }
    void *library = dlopen("libzstd.so.1", RTLD_NOW);
    size_t (*decompress)(void *, size_t, const void *, size_t) = NULL;
    if (library)
        *(void **)&decompress = dlsym(library, "ZSTD_decompress");
    if (!decompress || decompress(text, entry->full_size, bytes, entry->compressed_size) != entry->full_size) {
        *error = "the PTX in the fat binary is compressed: install libzstd.so.1, or compile with -no-compress";
        return NULL;
    }
    return text;
}

static void read_cubin(Arena *arena, const char *bytes, const Entry *entry, Cubin *cubin)
{
    const char *ignored;
    bool is_whole = !(entry->flags & (COMPRESSED_LZ4 | COMPRESSED_ZSTD));
    cubin->bytes = is_whole ? arena_strndup(arena, bytes, entry->size) : uncompress(arena, bytes, entry, &ignored);
    cubin->size = cubin->bytes ? is_whole ? entry->size : entry->full_size : 0;
}

/* The PTX of a container, or an image that is not a container: PTX itself. */
static const char *container_ptx(Arena *arena, const char *at, unsigned number, Cubin *cubin, const char **error)
{
    Container container;
    Entry found = {0};
    const char *bytes = NULL;
    memcpy(&container.magic, at, sizeof container.magic);
    if (container.magic == ELF) {
        *error = "the image is machine code without PTX";
        return NULL;
    }
    if (container.magic != CONTAINER)
        return at;
    memcpy(&container, at, sizeof container);
    at += container.header_size;
    for (const char *end = at + container.size; at < end;) {
        Entry entry;
        memcpy(&entry, at, sizeof entry);
        if (entry.kind == KIND_PTX) {
            found = entry;
            bytes = at + entry.header_size;
        } else if (entry.kind == KIND_CUBIN && entry.architecture == number) {
            read_cubin(arena, at + entry.header_size, &entry, cubin);
        }
        at += entry.header_size + entry.size;
    }
    if (bytes)
        return uncompress(arena, bytes, &found, error);
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
