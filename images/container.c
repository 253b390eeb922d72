/* A fat binary: a header of 16 bytes, then entries, each with a header of its own. The layout is that of `fatbinary` of
 * CUDA 11 to 13. */
#include "images/images.h"

#include <string.h>

enum { ENTRY_PTX = 1, ENTRY_CUBIN = 2 };

/* Bits of Entry.flags. */
enum {
    ENTRY_PACKED_LZ4 = 0x2000,
    ENTRY_PACKED = 0x4000,
    ENTRY_PACKED_ZSTD = 0x8000,
    ENTRY_VARIANT_A = 0x100000,
    ENTRY_VARIANT_F = 0x200000
};

typedef struct Container {
    uint32_t magic;
    uint16_t version, header_size;
    uint64_t size; /* of what follows the header */
} Container;

typedef struct Entry {
    uint16_t kind, version;
    uint32_t header_size;
    uint64_t size;
    uint32_t packed_size; /* 0: not packed */
    uint32_t options, toolkit, arch, name, name_size;
    uint64_t flags, more, full_size;
} Entry;

_Static_assert(sizeof(Container) == 16 && sizeof(Entry) == 64, "as fatbinary writes them");

size_t images_container_size(const void *bytes, size_t size)
{
    static const uint32_t magic = 0xba55ed50;
    Container container;
    if (size < sizeof container || memcmp(bytes, &magic, sizeof magic) != 0)
        return 0;
    memcpy(&container, bytes, sizeof container);
    if (container.header_size < sizeof container || container.size > SIZE_MAX - container.header_size)
        return 0;
    return container.header_size + container.size;
}

static ImageKind entry_kind(const Entry *entry)
{
    return entry->kind == ENTRY_PTX ? IMAGE_PTX : entry->kind == ENTRY_CUBIN ? IMAGE_CUBIN : IMAGE_OTHER;
}

static ImagePacking entry_packing(const Entry *entry)
{
    return entry->flags & ENTRY_PACKED_ZSTD  ? IMAGE_ZSTD
           : entry->flags & ENTRY_PACKED_LZ4 ? IMAGE_LZ4
           : entry->flags & ENTRY_PACKED     ? IMAGE_PACKED_OTHERWISE
                                             : IMAGE_PLAIN;
}

static Image entry_image(const Entry *entry, const char *bytes)
{
    Image image = {.kind = entry_kind(entry), .packing = entry_packing(entry), .bytes = bytes};
    image.arch.number = entry->arch;
    image.arch.suffix = entry->flags & ENTRY_VARIANT_A ? 'a' : entry->flags & ENTRY_VARIANT_F ? 'f' : 0;
    image.size = entry->size;
    image.full_size = entry->size;
    if (image.packing != IMAGE_PLAIN) {
        /* The entry is padded, which Zstandard takes for damage. */
        image.size = entry->packed_size && entry->packed_size < entry->size ? entry->packed_size : entry->size;
        image.full_size = entry->full_size;
    }
    return image;
}

const char *images_read_container(Arena *arena, const void *bytes, size_t size, ImageVec *images)
{
    static const char damaged[] = "the fat binary in it is damaged";
    Container container;
    const size_t whole = images_container_size(bytes, size);
    if (!whole || whole > size)
        return damaged;
    memcpy(&container, bytes, sizeof container);
    const char *at = (const char *)bytes + container.header_size, *end = (const char *)bytes + whole;
    while (at < end) {
        Entry entry;
        if ((size_t)(end - at) < sizeof entry)
            return damaged;
        memcpy(&entry, at, sizeof entry);
        if (entry.header_size < sizeof entry || entry.header_size > (size_t)(end - at) ||
            entry.size > (size_t)(end - at) - entry.header_size)
            return damaged;
        VEC_PUSH(arena, *images, entry_image(&entry, at + entry.header_size));
        at += entry.header_size + entry.size;
    }
    return NULL;
}
