/* Fat binaries: their images, how they are packed, and damage. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "images/images.h"

enum { PTX = 1, CUBIN = 2, LTO = 8, LZ4 = 0x2000, ZSTD = 0x8000, VARIANT_A = 0x100000, VARIANT_F = 0x200000 };

static void put(Buf *out, uint64_t value, size_t bytes)
{
    buf_write(out, &value, bytes);
}

static void put_entry(Buf *out, unsigned kind, unsigned arch, uint64_t flags, const void *bytes, size_t size,
                      size_t full_size)
{
    const size_t padding = -size % 8;
    put(out, kind, 2);
    put(out, 0x101, 2);
    put(out, 72, 4);
    put(out, size + padding, 8);
    put(out, flags & (LZ4 | ZSTD) ? size : 0, 4);
    put(out, 0, 4);
    put(out, 0x90000, 4);
    put(out, arch, 4);
    put(out, 0, 8);
    put(out, flags | 0x11, 8);
    put(out, 0, 8);
    put(out, flags & (LZ4 | ZSTD) ? full_size : 0, 8);
    put(out, 0, 8); /* more of the header than is read */
    buf_write(out, bytes, size);
    put(out, 0, padding);
}

static void put_container(Buf *out, const Buf *entries)
{
    put(out, 0xba55ed50, 4);
    put(out, 1, 2);
    put(out, 16, 2);
    put(out, entries->length, 8);
    buf_write(out, entries->data, entries->length);
}

/* "abcd" and ten more bytes that repeat it, then "!": literals, a copy that overlaps itself, literals. */
static const unsigned char lz4[] = {0x46, 'a', 'b', 'c', 'd', 4, 0, 0x10, '!'};
static const char lz4_text[] = "abcdabcdabcdab!";
/* A frame of one raw block of three bytes. */
static const unsigned char zstd[] = {0x28, 0xb5, 0x2f, 0xfd, 0x20, 3, 0x19, 0, 0, 'x', 'y', 'z'};

static void put_example(Buf *out)
{
    Buf entries = {0};
    put_entry(&entries, CUBIN, 75, 0, "machine!", 8, 0);
    put_entry(&entries, CUBIN, 90, VARIANT_A, "hopper", 6, 0);
    put_entry(&entries, LTO, 90, 0, "bitcode", 7, 0);
    put_entry(&entries, PTX, 100, VARIANT_F | LZ4, lz4, sizeof lz4, sizeof lz4_text - 1);
    put_entry(&entries, PTX, 120, ZSTD, zstd, sizeof zstd, 3);
    put_container(out, &entries);
    buf_free(&entries);
}

static void check_text(const Image *image, const char *wanted)
{
    Arena *arena = arena_new();
    const char *error;
    size_t size;
    const char *bytes = image_unpack(arena, image, &size, &error);
    assert_string_equal(bytes ? bytes : error, wanted);
    assert_null(error);
    assert_true(size >= strlen(wanted) && size < strlen(wanted) + 8);
    arena_free(arena);
}

static void test_entries(void **state)
{
    Arena *arena = *state;
    Buf file = {0};
    ImageVec images = {0};
    put_example(&file);
    assert_true(images_inside(file.data, file.length));
    assert_null(images_read(arena, file.data, file.length, &images));
    assert_int_equal(images.count, 5);
    static const ImageKind kinds[] = {IMAGE_CUBIN, IMAGE_CUBIN, IMAGE_OTHER, IMAGE_PTX, IMAGE_PTX};
    static const Arch archs[] = {{75, 0}, {90, 'a'}, {90, 0}, {100, 'f'}, {120, 0}};
    for (size_t i = 0; i < images.count; i++) {
        assert_int_equal(images.data[i].kind, kinds[i]);
        assert_int_equal(images.data[i].arch.number, archs[i].number);
        assert_int_equal(images.data[i].arch.suffix, archs[i].suffix);
        assert_null(images.data[i].member);
    }
    check_text(&images.data[0], "machine!");
    check_text(&images.data[1], "hopper");
    check_text(&images.data[3], lz4_text);
    buf_free(&file);
}

static void test_zstd(void **state)
{
    Arena *arena = *state;
    Image image = {.kind = IMAGE_PTX, .packing = IMAGE_ZSTD, .bytes = (const char *)zstd, .size = sizeof zstd};
    const char *error;
    size_t size;
    image.full_size = 3;
    const char *text = image_unpack(arena, &image, &size, &error);
    if (!text && strstr(error, "install libzstd.so.1"))
        skip();
    assert_string_equal(text, "xyz");
    image.full_size = 4;
    assert_null(image_unpack(arena, &image, &size, &error));
    assert_string_equal(error, "the PTX in the fat binary is damaged");
    image.size = 6;
    image.full_size = 3;
    assert_null(image_unpack(arena, &image, &size, &error));
}

static void test_several_in_a_row(void **state)
{
    Arena *arena = *state;
    Buf file = {0};
    ImageVec images = {0};
    put_example(&file);
    put(&file, 0, 8);
    put_example(&file);
    assert_null(images_read(arena, file.data, file.length, &images));
    assert_int_equal(images.count, 10);
    buf_free(&file);
}

/* A copy on the heap, where a sanitizer sees what is read beyond its end. */
static const char *read_copy(Arena *arena, const void *bytes, size_t size, ImageVec *images)
{
    char *copy = malloc(size ? size : 1);
    memcpy(copy, bytes, size);
    const char *error = images_read(arena, copy, size, images);
    for (size_t i = 0; i < images->count; i++) {
        const char *ignored;
        size_t full;
        image_unpack(arena, &images->data[i], &full, &ignored);
    }
    free(copy);
    return error;
}

static void test_truncated(void **state)
{
    (void)state;
    Buf file = {0};
    put_example(&file);
    for (size_t size = 0; size < file.length; size++) {
        Arena *arena = arena_new();
        ImageVec images = {0};
        assert_non_null(read_copy(arena, file.data, size, &images));
        arena_free(arena);
    }
    buf_free(&file);
}

/* Any byte may be anything: nothing is read that is not there, and no memory is asked for without need. */
static void test_damaged(void **state)
{
    (void)state;
    Buf file = {0};
    uint32_t random = 1;
    put_example(&file);
    for (unsigned round = 0; round < 20000; round++) {
        Arena *arena = arena_new();
        ImageVec images = {0};
        random = random * 1664525 + 1013904223;
        const size_t at = (random >> 8) % file.length;
        const char before = file.data[at];
        file.data[at] = (char)(random >> 3);
        read_copy(arena, file.data, file.length, &images);
        file.data[at] = before;
        arena_free(arena);
    }
    buf_free(&file);
}

static void test_lengths(void **state)
{
    Arena *arena = *state;
    Buf file = {0}, entries = {0};
    ImageVec images = {0};
    /* A header that claims more than there is. */
    put_entry(&entries, PTX, 90, 0, "text", 4, 0);
    put_container(&file, &entries);
    file.data[16 + 8] = 100;
    assert_string_equal(images_read(arena, file.data, file.length, &images), "the fat binary in it is damaged");
    /* An LZ4 block that copies from before its beginning, and one whose text is shorter than its entry says. */
    static const unsigned char before[] = {0x10, 'a', 2, 0, 0x10, 'b'};
    Image image = {.kind = IMAGE_PTX, .packing = IMAGE_LZ4, .bytes = (const char *)before, .size = sizeof before};
    const char *error;
    size_t size;
    image.full_size = 6;
    assert_null(image_unpack(arena, &image, &size, &error));
    image.bytes = (const char *)lz4;
    image.size = sizeof lz4;
    image.full_size = sizeof lz4_text;
    assert_null(image_unpack(arena, &image, &size, &error));
    image.full_size = UINT64_MAX;
    assert_null(image_unpack(arena, &image, &size, &error));
    assert_string_equal(error, "the PTX in the fat binary is damaged");
    image.packing = IMAGE_PACKED_OTHERWISE;
    assert_null(image_unpack(arena, &image, &size, &error));
    buf_free(&file);
    buf_free(&entries);
}

/* LZ4 blocks whose lengths lead out of what they are in: far enough that a missing check does not pass unseen. */
static void test_lz4_lengths(void **state)
{
    enum { FAR = 8000 };
    unsigned char *block = malloc(FAR);
    const char *error;
    size_t size;
    Image image = {.kind = IMAGE_CUBIN, .packing = IMAGE_LZ4, .bytes = (const char *)block, .size = FAR};
    memset(block, 255, FAR);
    block[0] = 0x1f; /* a literal, and a copy of two million bytes */
    block[2] = 1;
    block[3] = block[FAR - 1] = 0;
    image.full_size = 8;
    assert_null(image_unpack(*state, &image, &size, &error));
    assert_string_equal(error, "the machine code in the fat binary is damaged");
    block[2] = block[3] = 255;
    block[0] = 0xf0; /* two million literals, where there are none */
    image.full_size = 4 << 20;
    assert_null(image_unpack(*state, &image, &size, &error));
    memset(block + 1, 0, FAR - 1);
    memset(block + 1, 255, 20);
    image.full_size = 8; /* five thousand literals, more than are wanted */
    assert_null(image_unpack(*state, &image, &size, &error));
    free(block);
    static const unsigned char half[] = {0x10, 'a', 1, 0}; /* a distance of one byte, then the end */
    image.bytes = (const char *)half;
    image.size = 3;
    image.full_size = 5;
    assert_null(image_unpack(*state, &image, &size, &error));
}

static void test_other_files(void **state)
{
    Arena *arena = *state;
    ImageVec images = {0};
    static const char text[] = ".version 8.0\n.target sm_90\n";
    assert_false(images_inside(text, sizeof text - 1));
    assert_false(images_inside("", 0));
    assert_false(images_inside("\x50\xed\x55\xba", 4));
    assert_non_null(images_read(arena, text, sizeof text - 1, &images));
    /* A cubin is not a file with images in it. */
    unsigned char cubin[64] = "\177ELF\2\1\1";
    char *beginning = malloc(20);
    memcpy(beginning, cubin, 20);
    assert_true(images_inside(beginning, 20));
    free(beginning);
    assert_true(images_inside(cubin, sizeof cubin));
    cubin[18] = 190;
    assert_false(images_inside(cubin, sizeof cubin));
    assert_int_equal(images.count, 0);
}

static int setup(void **state)
{
    *state = arena_new();
    return 0;
}

static int teardown(void **state)
{
    arena_free(*state);
    return 0;
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {TEST(test_entries),   TEST(test_zstd),    TEST(test_several_in_a_row),
                                       TEST(test_truncated), TEST(test_damaged), TEST(test_lengths),
                                       TEST(test_lz4_lengths), TEST(test_other_files)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
