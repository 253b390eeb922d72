/* Helpers for the tests of the assembler: files, a private folder, and cubins made by hand. */
#ifndef PTXOPT_TESTS_ASSEMBLER_FIXTURE_H
#define PTXOPT_TESTS_ASSEMBLER_FIXTURE_H

#include "assembler/internal.h"

#include <elf.h>
#include <ftw.h>
#include <setjmp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

typedef struct CubinSpec {
    const char *name;
    bool is_entry;
    uint32_t registers, stack, barriers, shared, constant, instructions;
    const char *inner; /* NULL, or a function inside its code, of two instructions */
} CubinSpec;

#define CODE_ALIGNMENT 128

static inline uint32_t put_name(Buf *strings, const char *prefix, const char *name)
{
    uint32_t at = (uint32_t)strings->length;
    buf_puts(strings, prefix);
    buf_puts(strings, name);
    buf_putc(strings, 0);
    return at;
}

static inline void put_attribute(Buf *info, unsigned attribute, uint32_t symbol, uint32_t value)
{
    unsigned char head[] = {4, (unsigned char)attribute, 8, 0};
    uint32_t pair[] = {symbol, value};
    buf_write(info, head, sizeof head);
    buf_write(info, pair, sizeof pair);
}

/* Appends the bytes to the file and stores the section's offset and size. */
static inline void put_section(Buf *file, Elf64_Shdr *section, const Buf *bytes)
{
    while (file->length % CODE_ALIGNMENT)
        buf_putc(file, 0);
    section->sh_offset = file->length;
    section->sh_size = bytes->length;
    buf_write(file, buf_text(bytes), bytes->length);
}

/* A cubin as the assembler lays it out: string tables, symbols, attributes, and four sections for each kernel. */
static inline void make_cubin(Buf *file, const CubinSpec *kernels, size_t count)
{
    enum { SHSTRTAB = 1, STRTAB, SYMTAB, INFO, FIRST };
    Elf64_Ehdr header = {.e_ident = {0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB, 1, 0x41, 8},
                         .e_type = ET_EXEC,
                         .e_machine = 190,
                         .e_version = 1,
                         .e_ehsize = sizeof header,
                         .e_shentsize = sizeof(Elf64_Shdr),
                         .e_shnum = (uint16_t)(FIRST + 4 * count),
                         .e_shstrndx = SHSTRTAB};
    Elf64_Shdr *sections = calloc(header.e_shnum, sizeof *sections);
    Buf names = {0}, strings = {0}, symbols = {0}, info = {0}, none = {0};
    Elf64_Sym symbol = {0};
    buf_write(file, &header, sizeof header);
    buf_putc(&names, 0);
    buf_putc(&strings, 0);
    buf_write(&symbols, &symbol, sizeof symbol);
    for (size_t i = 0; i < count; i++) {
        const CubinSpec *kernel = &kernels[i];
        Elf64_Shdr *section = &sections[FIRST + 4 * i];
        uint32_t text = (uint32_t)(FIRST + 4 * i);
        Buf code = {0}, own = {0}, constant = {0};
        for (uint32_t n = 0; n < kernel->instructions || code.length % CODE_ALIGNMENT; n++) {
            uint64_t words[] = {n < kernel->instructions ? 0x7221 : 0x7918, 0};
            buf_write(&code, words, sizeof words);
        }
        unsigned char barriers[] = {2, 0x4c, (unsigned char)kernel->barriers, 0};
        buf_write(&own, barriers, sizeof barriers);
        for (uint32_t n = 0; n < kernel->constant; n++)
            buf_putc(&constant, 0);
        section[0] = (Elf64_Shdr){.sh_name = put_name(&names, ".text.", kernel->name), .sh_type = SHT_PROGBITS};
        section[1] = (Elf64_Shdr){.sh_name = put_name(&names, ".nv.info.", kernel->name), .sh_type = 0x70000000};
        section[2] = (Elf64_Shdr){.sh_name = put_name(&names, ".nv.shared.", kernel->name), .sh_type = SHT_NOBITS};
        section[3] = (Elf64_Shdr){.sh_name = put_name(&names, ".nv.constant0.", kernel->name), .sh_type = SHT_PROGBITS};
        put_section(file, &section[0], &code);
        put_section(file, &section[1], &own);
        put_section(file, &section[3], &constant);
        section[2].sh_size = kernel->shared;
        section[1].sh_info = section[2].sh_info = section[3].sh_info = text;
        symbol = (Elf64_Sym){.st_name = put_name(&strings, "", kernel->name),
                             .st_info = ELF64_ST_INFO(STB_GLOBAL, STT_FUNC),
                             .st_other = kernel->is_entry ? 0x10 : 0,
                             .st_shndx = (uint16_t)text,
                             .st_size = code.length};
        uint32_t index = (uint32_t)(symbols.length / sizeof symbol);
        put_attribute(&info, 0x2f, index, kernel->registers);
        put_attribute(&info, 0x11, index, kernel->stack / 2);
        if (kernel->is_entry)
            put_attribute(&info, 0x12, index, kernel->stack);
        buf_write(&symbols, &symbol, sizeof symbol);
        if (kernel->inner) {
            Buf inner = {0};
            buf_printf(&inner, "$%s$%s", kernel->name, kernel->inner);
            symbol = (Elf64_Sym){.st_name = put_name(&strings, "", inner.data),
                                 .st_info = ELF64_ST_INFO(STB_LOCAL, STT_FUNC),
                                 .st_shndx = (uint16_t)text,
                                 .st_value = 16,
                                 .st_size = 32};
            buf_write(&symbols, &symbol, sizeof symbol);
            buf_free(&inner);
        }
        buf_free(&code);
        buf_free(&own);
        buf_free(&constant);
    }
    sections[SHSTRTAB] = (Elf64_Shdr){.sh_name = put_name(&names, "", ".shstrtab"), .sh_type = SHT_STRTAB};
    sections[STRTAB] = (Elf64_Shdr){.sh_name = put_name(&names, "", ".strtab"), .sh_type = SHT_STRTAB};
    sections[SYMTAB] =
        (Elf64_Shdr){.sh_name = put_name(&names, "", ".symtab"), .sh_type = SHT_SYMTAB, .sh_link = STRTAB};
    sections[INFO] = (Elf64_Shdr){.sh_name = put_name(&names, "", ".nv.info"), .sh_type = 0x70000000};
    put_section(file, &sections[SHSTRTAB], &names);
    put_section(file, &sections[STRTAB], &strings);
    put_section(file, &sections[SYMTAB], &symbols);
    put_section(file, &sections[INFO], &info);
    put_section(file, &sections[0], &none);
    sections[0] = (Elf64_Shdr){0};
    header.e_shoff = file->length;
    memcpy(file->data, &header, sizeof header);
    buf_write(file, sections, header.e_shnum * sizeof *sections);
    free(sections);
    buf_free(&names);
    buf_free(&strings);
    buf_free(&symbols);
    buf_free(&info);
}

static const CubinSpec fixture_kernels[] = {
    {"first", true, 20, 64, 1, 256, 360, 11, "helper"},
    {"second", true, 40, 0, 0, 0, 368, 17, NULL},
    {"called", false, 24, 32, 0, 0, 0, 5, NULL},
};

static inline Source *read_fixture(Arena *arena, const char *path)
{
    const char *error = NULL;
    Source *source = source_read(arena, path, &error);
    if (!source)
        fail_msg("%s: %s", path, error);
    return source;
}

static inline void write_fixture(const char *path, const void *bytes, size_t size, mode_t mode)
{
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(bytes, 1, size, file), size);
    assert_int_equal(fclose(file), 0);
    assert_int_equal(chmod(path, mode), 0);
}

/* A new empty folder, in the arena. */
static inline const char *new_folder(Arena *arena)
{
    const char *parent = getenv("TEST_TMP");
    char *path = arena_printf(arena, "%s/assembler-XXXXXX", parent && *parent ? parent : "/tmp");
    assert_non_null(mkdtemp(path));
    return path;
}

static inline int remove_entry(const char *path, const struct stat *status, int type, struct FTW *place)
{
    (void)status, (void)type, (void)place;
    return remove(path);
}

static inline void remove_folder(const char *path)
{
    nftw(path, remove_entry, 16, FTW_DEPTH | FTW_PHYS);
}

/* A real assembler of that kind. If this machine has none: NULL with a note, or in CI a failure. */
static inline Assembler *open_real(Arena *arena, AssemblerKind kind, const char *arch)
{
    const char *error = NULL, *ci = getenv("CI");
    Assembler *assembler = assembler_open(arena, kind, arch, &error);
    if (assembler)
        return assembler;
    if (ci && *ci && strcmp(ci, "false") != 0)
        fail_msg("%s", error);
    print_message("# SKIPPED, NOTHING WAS ASSEMBLED: %s\n", error);
    return NULL;
}

#endif
