/* Finds fat binaries in files: as such, in sections of ELF files, and in the members of archives. */
#include "images/images.h"

#include <ar.h>
#include <elf.h>
#include <gelf.h>
#include <libelf.h>
#include <string.h>

/* The sections of linked code and of code that is yet to be linked (fatbinary_section.h of CUDA). */
static const char *const section_names[] = {".nv_fatbin", "__nv_relfatbin"};

enum { CUDA_MACHINE = 190, CONTAINER_ALIGN = 8 };

static bool begins(const void *bytes, size_t size, const char *magic, size_t length)
{
    return size >= length && memcmp(bytes, magic, length) == 0;
}

static bool is_cubin(const void *bytes, size_t size)
{
    Elf64_Ehdr header;
    if (size < sizeof header || !begins(bytes, size, ELFMAG, SELFMAG))
        return false;
    memcpy(&header, bytes, sizeof header);
    return header.e_machine == CUDA_MACHINE;
}

bool images_inside(const void *bytes, size_t size)
{
    return images_container_size(bytes, size) || begins(bytes, size, ARMAG, SARMAG) ||
           (begins(bytes, size, ELFMAG, SELFMAG) && !is_cubin(bytes, size));
}

/* Fat binaries, each aligned, with anything in between. */
static const char *read_containers(Arena *arena, const char *bytes, size_t size, ImageVec *images)
{
    const char *error = NULL;
    for (size_t at = 0, whole; !error && at < size; at += align_up(whole, CONTAINER_ALIGN)) {
        whole = images_container_size(bytes + at, size - at);
        if (whole)
            error = images_read_container(arena, bytes + at, size - at, images);
        else
            whole = CONTAINER_ALIGN;
        if (whole > size - at)
            break;
    }
    return error;
}

static bool has_images(const char *name)
{
    for (size_t i = 0; name && i < COUNT_OF(section_names); i++)
        if (strcmp(name, section_names[i]) == 0)
            return true;
    return false;
}

static const char *read_object(Arena *arena, Elf *elf, ImageVec *images)
{
    size_t names, count;
    const char *error = NULL;
    GElf_Ehdr file;
    if (!gelf_getehdr(elf, &file) || elf_getshdrnum(elf, &count) != 0 || (file.e_shoff && !count) ||
        elf_getshdrstrndx(elf, &names) != 0)
        return "its ELF sections are damaged";
    for (Elf_Scn *section = NULL; !error && (section = elf_nextscn(elf, section));) {
        GElf_Shdr header;
        if (!gelf_getshdr(section, &header) || !has_images(elf_strptr(elf, names, header.sh_name)))
            continue;
        const Elf_Data *data = elf_rawdata(section, NULL);
        error = data && data->d_buf ? read_containers(arena, data->d_buf, data->d_size, images)
                                    : "its device code is beyond the end of the file";
    }
    return error;
}

/* A cubin that is a member of an archive. Its flags have the architecture in bits 8-15 since CUDA 13, in bits 0-7
 * before. */
static void add_cubin(Arena *arena, const char *bytes, size_t size, ImageVec *images)
{
    Elf64_Ehdr header;
    memcpy(&header, bytes, sizeof header);
    const unsigned shift = header.e_ident[EI_ABIVERSION] >= 8 ? 8 : 0;
    Image image = {.kind = IMAGE_CUBIN, .bytes = bytes, .size = size, .full_size = size};
    image.arch.number = header.e_flags >> shift & 0xff;
    VEC_PUSH(arena, *images, image);
}

static const char *read_member(Arena *arena, Elf *member, ImageVec *images)
{
    size_t size;
    const char *bytes = elf_rawfile(member, &size);
    if (bytes && is_cubin(bytes, size)) {
        add_cubin(arena, bytes, size, images);
        return NULL;
    }
    if (elf_kind(member) == ELF_K_ELF)
        return read_object(arena, member, images);
    return bytes && images_container_size(bytes, size) ? read_containers(arena, bytes, size, images) : NULL;
}

static const char *read_archive(Arena *arena, Elf *archive, ImageVec *images)
{
    const char *error = NULL;
    Elf_Cmd command = ELF_C_READ_MMAP; /* in the memory of the archive */
    for (Elf *member; !error && (member = elf_begin(-1, command, archive)) != NULL;) {
        const Elf_Arhdr *header = elf_getarhdr(member);
        const size_t before = images->count;
        error = read_member(arena, member, images);
        for (size_t i = before; header && header->ar_name && i < images->count; i++)
            images->data[i].member = arena_strndup(arena, header->ar_name, strlen(header->ar_name));
        command = elf_next(member);
        elf_end(member);
    }
    return error;
}

const char *image_place(Arena *arena, const char *file, const Image *image)
{
    return image->member ? arena_printf(arena, "%s(%s)", file, image->member) : file;
}

const char *images_read(Arena *arena, const void *bytes, size_t size, ImageVec *images)
{
    if (images_container_size(bytes, size))
        return read_containers(arena, bytes, size, images);
    Elf *elf = elf_version(EV_CURRENT) != EV_NONE ? elf_memory((char *)bytes, size) : NULL;
    const char *error = !elf                            ? "it cannot be read"
                        : elf_kind(elf) == ELF_K_AR  ? read_archive(arena, elf, images)
                        : elf_kind(elf) == ELF_K_ELF ? read_object(arena, elf, images)
                                                     : "it is neither an object nor a fat binary";
    elf_end(elf);
    return error;
}
