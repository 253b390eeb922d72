/* Reads the facts about kernels in a cubin. The file may contain anything: every offset is checked against its size,
 * every string ends inside its table, and every loop is limited by a count that the file's size limits.
 *
 * A cubin is an ELF64 file for EM_CUDA. Kernel and function K has its code in `.text.K`; the sections `.nv.shared.K`,
 * `.nv.constantN.K` and `.nv.info.K` belong to the code section that their sh_info names.  `.nv.info` without a name
 * holds attributes of all functions, by symbol. */
#include "assembler/internal.h"

#include <elf.h>
#include <string.h>

#define CUDA_MACHINE 190
#define SHT_CUDA_INFO 0x70000000u
#define STO_CUDA_ENTRY 0x10

/* Attributes of .nv.info: a format byte, an attribute byte, and two bytes that are the value or its length. */
enum {
    FORMAT_SIZED = 4,
    ATTRIBUTE_MAX_THREADS = 0x05,
    ATTRIBUTE_REQUIRED_THREADS = 0x10,
    ATTRIBUTE_FRAME_SIZE = 0x11,
    ATTRIBUTE_MIN_STACK_SIZE = 0x12,
    ATTRIBUTE_REGISTERS = 0x2f,
    ATTRIBUTE_BARRIERS = 0x4c,
};

#define NO_FUNCTION SIZE_MAX

typedef VEC(CubinFunction) FunctionVec;

typedef struct Reader {
    Arena *arena;
    const unsigned char *bytes;
    size_t size;
    Elf64_Shdr *sections;
    size_t section_count;
    const char **section_names; /* NULL if the name is malformed */
    size_t *section_function;   /* for a code section its function, else NO_FUNCTION */
    size_t *symbol_function;
    size_t symbol_count;
    FunctionVec functions;
} Reader;

/* The bytes of a section, or NULL if they are not all in the file. */
static const unsigned char *section_bytes(const Reader *reader, const Elf64_Shdr *section)
{
    if (section->sh_type == SHT_NOBITS || section->sh_offset > reader->size ||
        section->sh_size > reader->size - section->sh_offset)
        return NULL;
    return reader->bytes + section->sh_offset;
}

/* The string at 'offset' of a string table; NULL if there is none. */
static const char *string_at(const Reader *reader, const Elf64_Shdr *table, uint64_t offset)
{
    const unsigned char *bytes = section_bytes(reader, table);
    if (!bytes || offset >= table->sh_size || !memchr(bytes + offset, 0, table->sh_size - offset))
        return NULL;
    return (const char *)bytes + offset;
}

static const char *read_sections(Reader *reader)
{
    Elf64_Ehdr header;
    if (reader->size < sizeof header)
        return "shorter than an ELF header";
    memcpy(&header, reader->bytes, sizeof header);
    if (memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 || header.e_ident[EI_CLASS] != ELFCLASS64 ||
        header.e_ident[EI_DATA] != ELFDATA2LSB)
        return "not a little-endian ELF64 file";
    if (header.e_machine != CUDA_MACHINE)
        return "not for a CUDA machine";
    if (header.e_shentsize != sizeof(Elf64_Shdr) || header.e_shoff > reader->size)
        return "no section table";
    size_t room = (reader->size - header.e_shoff) / sizeof(Elf64_Shdr);
    uint64_t count = header.e_shnum, names = header.e_shstrndx;
    if (room == 0)
        return "no section table";
    Elf64_Shdr first;
    memcpy(&first, reader->bytes + header.e_shoff, sizeof first);
    /* Counts that do not fit in the header are kept in the first section (ELF, "extended section numbering"). */
    if (count == 0)
        count = first.sh_size;
    if (names == SHN_XINDEX)
        names = first.sh_link;
    if (count > room || names >= count)
        return "section table beyond the end of the file";
    reader->section_count = count;
    reader->sections = ARENA_ARRAY(reader->arena, Elf64_Shdr, count);
    memcpy(reader->sections, reader->bytes + header.e_shoff, count * sizeof(Elf64_Shdr));
    reader->section_names = ARENA_ARRAY(reader->arena, const char *, count);
    for (size_t i = 0; i < count; i++)
        reader->section_names[i] = string_at(reader, &reader->sections[names], reader->sections[i].sh_name);
    return NULL;
}

static uint64_t word_at(const unsigned char *bytes)
{
    uint64_t word;
    memcpy(&word, bytes, sizeof word);
    return word;
}

/* Code is padded with NOPs to a multiple of 128 bytes; instructions have 16 bytes since sm_70, the opcode in the low
 * 12 bits. */
static uint64_t count_instructions(const unsigned char *code, uint64_t size)
{
    uint64_t count = size / 16;
    while (count > 0 && (word_at(code + (count - 1) * 16) & 0xfff) == 0x918)
        count--;
    return count;
}

static CubinFunction new_function(const char *name)
{
    return (CubinFunction){.name = name,
                           .registers = CUBIN_UNKNOWN,
                           .stack = CUBIN_UNKNOWN,
                           .barriers = CUBIN_UNKNOWN,
                           .shared = CUBIN_UNKNOWN,
                           .constant = CUBIN_UNKNOWN};
}

static const char *read_code(Reader *reader)
{
    static const char prefix[] = ".text.";
    reader->section_function = ARENA_ARRAY(reader->arena, size_t, reader->section_count);
    for (size_t i = 0; i < reader->section_count; i++) {
        const Elf64_Shdr *section = &reader->sections[i];
        const char *name = reader->section_names[i];
        reader->section_function[i] = NO_FUNCTION;
        if (section->sh_type != SHT_PROGBITS || !name || strncmp(name, prefix, sizeof prefix - 1) != 0)
            continue;
        const unsigned char *code = section_bytes(reader, section);
        if (!code)
            return "code beyond the end of the file";
        CubinFunction function = new_function(name + sizeof prefix - 1);
        function.code_size = section->sh_size;
        function.instructions = count_instructions(code, section->sh_size);
        /* Up to CUDA 12 the top byte is the number of registers; if .nv.info has it too, that takes precedence. */
        if (section->sh_info >> 24)
            function.registers = section->sh_info >> 24;
        reader->section_function[i] = reader->functions.count;
        VEC_PUSH(reader->arena, reader->functions, function);
    }
    return NULL;
}

/* The function whose code a section belongs to; NO_FUNCTION if the file names none. */
static size_t section_owner(const Reader *reader, const Elf64_Shdr *section)
{
    return section->sh_info < reader->section_count ? reader->section_function[section->sh_info] : NO_FUNCTION;
}

static uint64_t add_sizes(uint64_t a, uint64_t b)
{
    if (a == CUBIN_UNKNOWN)
        a = 0;
    return b >= CUBIN_UNKNOWN - 1 - a ? CUBIN_UNKNOWN - 1 : a + b;
}

static void read_memory_sections(Reader *reader)
{
    static const char shared[] = ".nv.shared.", constant[] = ".nv.constant";
    for (size_t i = 0; i < reader->section_count; i++) {
        const Elf64_Shdr *section = &reader->sections[i];
        const char *name = reader->section_names[i];
        size_t owner = section_owner(reader, section);
        if (!name || owner == NO_FUNCTION)
            continue;
        CubinFunction *function = &reader->functions.data[owner];
        if (strncmp(name, shared, sizeof shared - 1) == 0 && strcmp(name + sizeof shared - 1, function->name) == 0) {
            function->shared = add_sizes(function->shared, section->sh_size);
        } else if (strncmp(name, constant, sizeof constant - 1) == 0) {
            const char *rest = name + sizeof constant - 1;
            rest += strspn(rest, "0123456789");
            if (*rest == '.' && strcmp(rest + 1, function->name) == 0)
                function->constant = add_sizes(function->constant, section->sh_size);
        }
    }
}

static void read_symbol(Reader *reader, const Elf64_Sym *symbol, const char *name, size_t index)
{
    if (ELF64_ST_TYPE(symbol->st_info) != STT_FUNC || symbol->st_shndx >= reader->section_count)
        return;
    size_t owner = reader->section_function[symbol->st_shndx];
    if (owner == NO_FUNCTION)
        return;
    CubinFunction *function = &reader->functions.data[owner];
    if (strcmp(name, function->name) == 0) {
        function->is_entry |= (symbol->st_other & STO_CUDA_ENTRY) != 0;
        reader->symbol_function[index] = owner;
        return;
    }
    /* A function compiled into kernel K is called $K$NAME. */
    size_t length = strlen(function->name);
    if (name[0] == '$' && strncmp(name + 1, function->name, length) == 0 && name[1 + length] == '$')
        name += length + 2;
    CubinFunction inner = new_function(name);
    inner.is_inner = true;
    const Elf64_Shdr *section = &reader->sections[symbol->st_shndx];
    if (symbol->st_value <= section->sh_size && symbol->st_size <= section->sh_size - symbol->st_value) {
        inner.code_size = symbol->st_size;
        inner.instructions = count_instructions(section_bytes(reader, section) + symbol->st_value, symbol->st_size);
    }
    reader->symbol_function[index] = reader->functions.count;
    VEC_PUSH(reader->arena, reader->functions, inner);
}

static const char *read_symbols(Reader *reader)
{
    for (size_t i = 0; i < reader->section_count; i++) {
        const Elf64_Shdr *section = &reader->sections[i];
        if (section->sh_type != SHT_SYMTAB)
            continue;
        const unsigned char *bytes = section_bytes(reader, section);
        if (!bytes || section->sh_link >= reader->section_count)
            return "symbol table beyond the end of the file";
        reader->symbol_count = section->sh_size / sizeof(Elf64_Sym);
        reader->symbol_function = ARENA_ARRAY(reader->arena, size_t, reader->symbol_count);
        for (size_t s = 0; s < reader->symbol_count; s++) {
            Elf64_Sym symbol;
            memcpy(&symbol, bytes + s * sizeof symbol, sizeof symbol);
            reader->symbol_function[s] = NO_FUNCTION;
            const char *name = string_at(reader, &reader->sections[section->sh_link], symbol.st_name);
            if (name)
                read_symbol(reader, &symbol, name, s);
        }
        return NULL; /* an ELF file has one symbol table at most */
    }
    return NULL;
}

/* An attribute of the kind "symbol, value". */
static void read_symbol_attribute(Reader *reader, unsigned attribute, const unsigned char *payload, size_t length)
{
    uint32_t pair[2];
    if (length < sizeof pair)
        return;
    memcpy(pair, payload, sizeof pair);
    if (pair[0] >= reader->symbol_count || reader->symbol_function[pair[0]] == NO_FUNCTION)
        return;
    CubinFunction *function = &reader->functions.data[reader->symbol_function[pair[0]]];
    if (attribute == ATTRIBUTE_REGISTERS)
        function->registers = pair[1];
    else if (attribute == ATTRIBUTE_MIN_STACK_SIZE)
        function->stack = pair[1]; /* callees included */
    else if (attribute == ATTRIBUTE_FRAME_SIZE && function->stack == CUBIN_UNKNOWN)
        function->stack = pair[1];
}

/* An attribute of the function that the section belongs to. */
static void read_own_attribute(CubinFunction *function, unsigned attribute, const unsigned char *payload, size_t length)
{
    if ((attribute == ATTRIBUTE_MAX_THREADS || attribute == ATTRIBUTE_REQUIRED_THREADS) &&
        length >= sizeof function->block)
        memcpy(function->block, payload, sizeof function->block);
}

static void read_attributes(Reader *reader, const Elf64_Shdr *section)
{
    const unsigned char *bytes = section_bytes(reader, section);
    if (!bytes)
        return;
    size_t owner = section_owner(reader, section);
    for (uint64_t at = 0; section->sh_size - at >= 4;) {
        unsigned format = bytes[at], attribute = bytes[at + 1];
        size_t value = bytes[at + 2] | (size_t)bytes[at + 3] << 8;
        at += 4;
        if (format == FORMAT_SIZED) {
            if (value > section->sh_size - at)
                return;
            read_symbol_attribute(reader, attribute, bytes + at, value);
            if (owner != NO_FUNCTION)
                read_own_attribute(&reader->functions.data[owner], attribute, bytes + at, value);
            at += value;
        } else if (attribute == ATTRIBUTE_BARRIERS && owner != NO_FUNCTION) {
            reader->functions.data[owner].barriers = value & 0xff;
        }
    }
}

const char *cubin_read(Arena *arena, const void *bytes, size_t size, Cubin *cubin)
{
    Reader reader = {.arena = arena, .bytes = bytes, .size = size};
    const char *problem = read_sections(&reader);
    if (!problem)
        problem = read_code(&reader);
    if (!problem)
        problem = read_symbols(&reader);
    if (problem)
        return problem;
    read_memory_sections(&reader);
    for (size_t i = 0; i < reader.section_count; i++)
        if (reader.sections[i].sh_type == SHT_CUDA_INFO)
            read_attributes(&reader, &reader.sections[i]);
    *cubin = (Cubin){reader.functions.data, reader.functions.count};
    return NULL;
}
