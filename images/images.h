/* images: the PTX and the machine code in other files: fat binaries, objects, programs, libraries and archives that
 * nvcc and its tools wrote. Nothing of such a file is trusted: every length is checked. */
#ifndef PTXOPT_IMAGES_H
#define PTXOPT_IMAGES_H

#include "support/support.h"
#include "target/target.h"

typedef enum ImageKind {
    IMAGE_PTX,
    IMAGE_CUBIN,
    IMAGE_OTHER, /* code for link-time optimization, and whatever future versions add */
} ImageKind;

typedef enum ImagePacking { IMAGE_PLAIN, IMAGE_LZ4, IMAGE_ZSTD, IMAGE_PACKED_OTHERWISE } ImagePacking;

/* One image for one architecture, as it is in the file, to whose bytes it refers. */
typedef struct Image {
    ImageKind kind;
    ImagePacking packing;
    Arch arch;          /* of PTX, the virtual one; number is 0: unknown */
    const char *member; /* of an archive that the image is in; NULL: the file is no archive */
    const char *bytes;
    size_t size;
    uint64_t full_size; /* after unpacking */
} Image;

typedef VEC(Image) ImageVec;

/* True if the bytes begin as one of the files that images_read reads: a fat binary, an archive, or an ELF file that is
 * not a cubin. */
bool images_inside(const void *bytes, size_t size);

/* Appends the images of a file to the list, in the order of the file. NULL, or a message without the file's name that
 * says what is damaged; the images before the damage are in the list then. A file without images adds none. */
const char *images_read(Arena *arena, const void *bytes, size_t size, ImageVec *images);

/* The same for the images of one fat binary, which may be followed by other bytes. */
const char *images_read_container(Arena *arena, const void *bytes, size_t size, ImageVec *images);
/* The size of a fat binary, as its header says, which may be more than the bytes have; 0: they are none. */
size_t images_container_size(const void *bytes, size_t size);

/* The name of the image's place for messages and tables, in the arena: the file's, or "lib.a(member.o)". */
const char *image_place(Arena *arena, const char *file, const Image *image);

/* The bytes of an image, unpacked, in the arena and followed by a zero byte that is not counted; NULL with *error set
 * if they cannot be read. Zstandard needs libzstd.so.1 to be installed. */
const char *image_unpack(Arena *arena, const Image *image, size_t *size, const char **error);
#endif
