/* Reads the code of a kernel and of the functions it may call from a cubin: an ELF file in which each kernel or
 * function K has its code in the section .text.K. Functions and helpers that belong to one kernel are inside its
 * section, each with a symbol of its own. .nv.info.K lists the targets of indirect branches. */
#include "sass/internal.h"

#include <gelf.h>
#include <libelf.h>
#include <stdlib.h>
#include <string.h>

#define TEXT_PREFIX ".text."

/* An attribute of .nv.info: a format byte, an attribute byte, and two bytes that are the value or its length. */
enum { FORMAT_SIZED = 4, ATTRIBUTE_BRANCH_TARGETS = 0x34 };

enum { NOP = 0x118 };

typedef VEC(SassInstruction) InstructionVec;
typedef VEC(SassFunction) FunctionVec;
typedef VEC(BranchTable) TableVec;

/* A code section whose instructions have been read. */
typedef struct Section {
    size_t index; /* in the ELF file */
    const char *name;
    uint32_t first, count;
} Section;
typedef VEC(Section) SectionVec;

typedef struct Reader {
    Arena *arena;
    Elf *elf;
    size_t names; /* the section of section names */
    Arch arch;
    InstructionVec instructions;
    FunctionVec functions;
    SectionVec sections;
    TableVec tables;
    uint32_t unknown;
} Reader;

/* Opens a copy of a cubin, because libelf may change it. NULL if it is not an ELF file. */
static Elf *open_elf(Arena *arena, const void *cubin, size_t size)
{
    if (elf_version(EV_CURRENT) == EV_NONE || !cubin)
        return NULL;
    char *copy = arena_alloc(arena, size);
    memcpy(copy, cubin, size);
    Elf *elf = elf_memory(copy, size);
    if (elf && elf_kind(elf) == ELF_K_ELF)
        return elf;
    elf_end(elf);
    return NULL;
}

static const char *section_name(Elf *elf, size_t names, const GElf_Shdr *header)
{
    const char *name = elf_strptr(elf, names, header->sh_name);
    return name ? name : "";
}

/* The section and its header by name; NULL if there is none. */
static Elf_Scn *find_section(Elf *elf, const char *name, GElf_Shdr *header)
{
    size_t names;
    if (elf_getshdrstrndx(elf, &names) != 0)
        return NULL;
    for (Elf_Scn *section = NULL; (section = elf_nextscn(elf, section));)
        if (gelf_getshdr(section, header) && strcmp(section_name(elf, names, header), name) == 0)
            return section;
    return NULL;
}

static const Elf_Data *section_data(Elf_Scn *section)
{
    const Elf_Data *data = section ? elf_rawdata(section, NULL) : NULL;
    return data && data->d_buf ? data : NULL;
}

/* Code is padded with NOPs, after the branch to itself that ends it. */
static uint32_t count_instructions(const Elf_Data *data)
{
    uint32_t count = (uint32_t)(data->d_size / MACHINE_BYTES);
    for (; count > 0; count--) {
        uint16_t low;
        memcpy(&low, (const char *)data->d_buf + (size_t)(count - 1) * MACHINE_BYTES, sizeof low);
        if ((low & 0x1ff) != NOP)
            break;
    }
    return count;
}

static void decode_section(Reader *reader, const Elf_Data *data, Section *section)
{
    section->first = (uint32_t)reader->instructions.count;
    section->count = count_instructions(data);
    for (uint32_t i = 0; i < section->count; i++) {
        SassInstruction instruction;
        int64_t destination;
        const unsigned char *bytes = (const unsigned char *)data->d_buf + (size_t)i * MACHINE_BYTES;
        if (!sass_decode(reader->arch, bytes, i * MACHINE_BYTES, &instruction, &destination))
            reader->unknown++;
        if (destination >= 0 && destination % MACHINE_BYTES == 0 && destination / MACHINE_BYTES < section->count)
            instruction.target = section->first + (uint32_t)(destination / MACHINE_BYTES);
        VEC_PUSH(reader->arena, reader->instructions, instruction);
    }
}

static Section *find_read(Reader *reader, size_t index)
{
    for (size_t i = 0; i < reader->sections.count; i++)
        if (reader->sections.data[i].index == index)
            return &reader->sections.data[i];
    return NULL;
}

/* Adds a function unless one starts there already. */
static void add_function(Reader *reader, const char *name, const Section *section, uint32_t first)
{
    for (size_t i = 0; i < reader->functions.count; i++)
        if (reader->functions.data[i].first == first)
            return;
    SassFunction function = {
        .name = arena_strndup(reader->arena, name, strlen(name)), .section = section->name, .first = first};
    VEC_PUSH(reader->arena, reader->functions, function);
}

/* Reads a code section unless that has been done. */
static Section *read_section(Reader *reader, size_t index)
{
    Section *known = find_read(reader, index);
    if (known)
        return known;
    Elf_Scn *elf_section = elf_getscn(reader->elf, index);
    const Elf_Data *data = section_data(elf_section);
    GElf_Shdr header;
    if (!data || !gelf_getshdr(elf_section, &header) ||
        strncmp(section_name(reader->elf, reader->names, &header), TEXT_PREFIX, sizeof TEXT_PREFIX - 1) != 0)
        return NULL;
    const char *name = section_name(reader->elf, reader->names, &header);
    Section section = {.index = index, .name = arena_strndup(reader->arena, name, strlen(name))};
    if (count_instructions(data) == 0)
        return NULL;
    decode_section(reader, data, &section);
    VEC_PUSH(reader->arena, reader->sections, section);
    add_function(reader, section.name + sizeof TEXT_PREFIX - 1, &section, section.first);
    return &VEC_LAST(reader->sections);
}

/* Follows a relocation that names a function of another section: a call leads there, or the function's address is
 * taken. */
static void follow_relocation(Reader *reader, size_t from, uint64_t offset, const GElf_Sym *symbol)
{
    if (GELF_ST_TYPE(symbol->st_info) != STT_FUNC || symbol->st_shndx == SHN_UNDEF || symbol->st_shndx == from)
        return;
    Section *callee = read_section(reader, symbol->st_shndx), *caller = find_read(reader, from);
    if (!callee || !caller || offset / MACHINE_BYTES >= caller->count ||
        symbol->st_value / MACHINE_BYTES >= callee->count)
        return;
    SassInstruction *instruction = &reader->instructions.data[caller->first + offset / MACHINE_BYTES];
    if (instruction->flow == MACHINE_CALL)
        instruction->target = callee->first + (uint32_t)(symbol->st_value / MACHINE_BYTES);
}

static void follow_section_relocations(Reader *reader, Elf_Scn *relocations, const GElf_Shdr *header)
{
    Elf_Data *data = elf_getdata(relocations, NULL);
    Elf_Data *symbols = elf_getdata(elf_getscn(reader->elf, header->sh_link), NULL);
    if (!data || !symbols || !header->sh_entsize)
        return;
    int count = (int)(header->sh_size / header->sh_entsize);
    for (int i = 0; i < count; i++) {
        uint64_t offset, info;
        GElf_Rel rel;
        GElf_Rela rela;
        GElf_Sym symbol;
        if (header->sh_type == SHT_RELA && gelf_getrela(data, i, &rela)) {
            offset = rela.r_offset;
            info = rela.r_info;
        } else if (header->sh_type == SHT_REL && gelf_getrel(data, i, &rel)) {
            offset = rel.r_offset;
            info = rel.r_info;
        } else {
            continue;
        }
        if (gelf_getsym(symbols, (int)GELF_R_SYM(info), &symbol))
            follow_relocation(reader, header->sh_info, offset, &symbol);
    }
}

/* Reads the sections of the functions that the kernel may call: relocations of its own section, the only one that has
 * been read, name them, and so on. */
static void read_reachable(Reader *reader)
{
    for (size_t done = 0; done < reader->sections.count; done++) {
        size_t index = reader->sections.data[done].index;
        for (Elf_Scn *section = NULL; (section = elf_nextscn(reader->elf, section));) {
            GElf_Shdr header;
            if (gelf_getshdr(section, &header) && header.sh_info == index &&
                (header.sh_type == SHT_REL || header.sh_type == SHT_RELA))
                follow_section_relocations(reader, section, &header);
        }
    }
}

/* Adds the function that a symbol inside a section starts, if the section has been read. */
static void add_inner_function(Reader *reader, const char *name, const GElf_Sym *symbol)
{
    const Section *section = find_read(reader, symbol->st_shndx);
    if (GELF_ST_TYPE(symbol->st_info) == STT_FUNC && section && symbol->st_value % MACHINE_BYTES == 0 &&
        symbol->st_value / MACHINE_BYTES < section->count)
        add_function(reader, name, section, section->first + (uint32_t)(symbol->st_value / MACHINE_BYTES));
}

static int compare_functions(const void *a, const void *b)
{
    uint32_t first = ((const SassFunction *)a)->first, second = ((const SassFunction *)b)->first;
    return (first > second) - (first < second);
}

static void read_functions(Reader *reader)
{
    for (Elf_Scn *section = NULL; (section = elf_nextscn(reader->elf, section));) {
        GElf_Shdr header;
        if (!gelf_getshdr(section, &header) || header.sh_type != SHT_SYMTAB || !header.sh_entsize)
            continue;
        Elf_Data *data = elf_getdata(section, NULL);
        GElf_Sym symbol;
        for (int i = 0; data && (uint64_t)i < header.sh_size / header.sh_entsize; i++) {
            if (!gelf_getsym(data, i, &symbol))
                continue;
            const char *name = elf_strptr(reader->elf, header.sh_link, symbol.st_name);
            if (name)
                add_inner_function(reader, name, &symbol);
        }
    }
    qsort(reader->functions.data, reader->functions.count, sizeof(SassFunction), compare_functions);
    for (size_t i = 0; i < reader->functions.count; i++) {
        uint32_t end = i + 1 < reader->functions.count ? reader->functions.data[i + 1].first
                                                       : (uint32_t)reader->instructions.count;
        reader->functions.data[i].count = end - reader->functions.data[i].first;
    }
}

/* Reads a list of branch tables: for each its instruction's address, 0, the number of targets, and their addresses. */
static void read_tables(Reader *reader, const Section *section, const unsigned char *bytes, size_t length)
{
    size_t words = length / 4, at = 0;
    uint32_t *word = ARENA_ARRAY(reader->arena, uint32_t, words + 1);
    memcpy(word, bytes, words * 4);
    while (words - at > 3) {
        uint32_t instruction = word[at] / MACHINE_BYTES, count = word[at + 2];
        at += 3;
        if (count > words - at || instruction >= section->count)
            return;
        BranchTable table = {.instruction = section->first + instruction,
                             .targets = ARENA_ARRAY(reader->arena, uint32_t, count)};
        for (uint32_t i = 0; i < count; i++)
            if (word[at + i] / MACHINE_BYTES < section->count)
                table.targets[table.count++] = section->first + word[at + i] / MACHINE_BYTES;
        at += count;
        VEC_PUSH(reader->arena, reader->tables, table);
    }
}

static void read_attributes(Reader *reader, const Section *section)
{
    GElf_Shdr header;
    Elf_Scn *code = elf_getscn(reader->elf, section->index);
    if (!gelf_getshdr(code, &header))
        return;
    const char *name = section_name(reader->elf, reader->names, &header) + sizeof TEXT_PREFIX - 1;
    const Elf_Data *data =
        section_data(find_section(reader->elf, arena_printf(reader->arena, ".nv.info.%s", name), &header));
    const unsigned char *bytes = data ? data->d_buf : NULL;
    for (size_t at = 0; data && data->d_size - at >= 4;) {
        unsigned format = bytes[at], attribute = bytes[at + 1];
        size_t value = bytes[at + 2] | (size_t)bytes[at + 3] << 8;
        at += 4;
        if (format != FORMAT_SIZED)
            continue;
        if (value > data->d_size - at)
            return;
        if (attribute == ATTRIBUTE_BRANCH_TARGETS)
            read_tables(reader, section, bytes + at, value);
        at += value;
    }
}

/* The architecture is in the flags: in bits 8-15 since CUDA 13, in bits 0-7 before. */
static Arch cubin_arch(Elf *elf)
{
    GElf_Ehdr header;
    if (!gelf_getehdr(elf, &header))
        return (Arch){0};
    unsigned low = header.e_flags & 0xff, high = header.e_flags >> 8 & 0xff;
    return (Arch){.number = header.e_ident[EI_ABIVERSION] >= 8 ? high : low};
}

static SassCode *read_kernel(Reader *reader, const char *kernel, const char **error)
{
    GElf_Shdr header;
    Elf_Scn *section = find_section(reader->elf, arena_printf(reader->arena, TEXT_PREFIX "%s", kernel), &header);
    if (!section_data(section) || !read_section(reader, elf_ndxscn(section))) {
        *error = arena_printf(reader->arena, "the cubin has no kernel '%s'", kernel);
        return NULL;
    }
    read_reachable(reader);
    read_functions(reader);
    for (size_t i = 0; i < reader->sections.count; i++)
        read_attributes(reader, &reader->sections.data[i]);
    SassCode *code = ARENA_NEW(reader->arena, SassCode);
    *code = (SassCode){.arch = reader->arch,
                          .instructions = reader->instructions.data,
                          .count = (uint32_t)reader->instructions.count,
                          .functions = reader->functions.data,
                          .function_count = (uint32_t)reader->functions.count,
                          .unknown = reader->unknown};
    sass_blocks(reader->arena, code, reader->tables.data, reader->tables.count);
    return code;
}

SassCode *sass_code_read(Arena *arena, const void *cubin, size_t size, const char *kernel, const char **error)
{
    *error = NULL;
    Reader reader = {.arena = arena, .elf = open_elf(arena, cubin, size)};
    SassCode *code = NULL;
    if (!reader.elf || elf_getshdrstrndx(reader.elf, &reader.names) != 0) {
        *error = "the cubin is not an ELF file";
    } else {
        reader.arch = cubin_arch(reader.elf);
        if (reader.arch.number < 75)
            *error = arena_printf(arena, "the machine code of sm_%u cannot be read, only that of sm_75 and later",
                                  reader.arch.number);
        else
            code = read_kernel(&reader, kernel, error);
    }
    elf_end(reader.elf);
    return code;
}

Arch sass_arch(Arena *arena, const void *cubin, size_t size)
{
    Elf *elf = open_elf(arena, cubin, size);
    Arch arch = elf ? cubin_arch(elf) : (Arch){0};
    elf_end(elf);
    return arch;
}

bool same_code(Arena *arena, const void *a, size_t a_size, const void *b, size_t b_size)
{
    Elf *first = open_elf(arena, a, a_size), *second = open_elf(arena, b, b_size);
    size_t names, seen = 0;
    bool same = first && second && elf_getshdrstrndx(first, &names) == 0;
    for (Elf_Scn *section = NULL; same && (section = elf_nextscn(first, section));) {
        GElf_Shdr header, other;
        if (!gelf_getshdr(section, &header) ||
            strncmp(section_name(first, names, &header), TEXT_PREFIX, sizeof TEXT_PREFIX - 1) != 0)
            continue;
        const Elf_Data *mine = section_data(section),
                       *its = section_data(find_section(second, section_name(first, names, &header), &other));
        same = mine && its && mine->d_size == its->d_size && memcmp(mine->d_buf, its->d_buf, mine->d_size) == 0;
        seen++;
    }
    elf_end(first);
    elf_end(second);
    return same && seen > 0;
}
