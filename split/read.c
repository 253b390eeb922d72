/* Reads a cubin of one part: its sections, the kernel that each belongs to, and its tables of symbols.
 *
 * The names and types of sections are those that `cuobjdump -elf` prints; what each holds was found by comparing cubins
 * that ptxas 13.0 and 13.5 make of whole modules and of their kernels one by one. A section that is not in the tables
 * below is refused. */
#include <ctype.h>
#include <string.h>

#include "split/internal.h"

#define CUDA_MACHINE 190
#define MOST_ALIGNMENT 4096 /* code has 128 */
#define STO_CUDA_ENTRY 0x10
#define SHT_CUDA_RELA_MERCURY 0x70000082u

typedef struct SectionRule {
    const char *name; /* '#' stands for digits */
    SectionUse use;
} SectionRule;

/* Sections that all kernels share. */
static const SectionRule shared_rules[] = {
    {".shstrtab", USE_TABLE},
    {".strtab", USE_TABLE},
    {".symtab", USE_TABLE},
    {".debug_frame", USE_FRAMES},
    {".rel.debug_frame", USE_FRAMES},
    {".rela.debug_frame", USE_FRAMES},
    {".note.nv.tkinfo", USE_FIRST}, /* the tool and its command line */
    {".note.nv.cuinfo", USE_SAME},
    {".nv.info", USE_ATTRIBUTES},
    {".nv.compat", USE_COMPATIBLE},
    {".nv.callgraph", USE_CALLS},
    {".nv.rel.action", USE_SAME},
    {".nv.constant#", USE_SAME}, /* 3: variables; 4: addresses of variables and functions */
    {".nv.global", USE_SAME},
    {".nv.global.init", USE_SAME},
    {".rel.nv.constant#", USE_SAME},
    {".rela.nv.constant#", USE_SAME},
    {".rel.nv.global.init", USE_SAME},
    {".rela.nv.global.init", USE_SAME},
    {".nv.shared.reserved.0", USE_LARGEST},
    {".nv.merc.symtab", USE_TABLE},
    {".nv.merc.debug_frame", USE_FRAMES},
    {".nv.merc.rela.debug_frame", USE_FRAMES},
    {".nv.merc.nv.info", USE_ATTRIBUTES},
    {".nv.merc.nv.callgraph", USE_CALLS},
    {".nv.merc.nv.constant.pic", USE_SAME},
    {".nv.merc.nv.constant.user", USE_SAME},
    {".nv.merc.nv.global", USE_SAME},
    {".nv.merc.nv.global.init", USE_SAME},
    {".nv.merc.rela.nv.constant.pic", USE_SAME},
    {".nv.merc.rela.nv.constant.user", USE_SAME},
    {".nv.merc.rela.nv.global.init", USE_SAME},
    {".nv.merc.nv.shared.reserved.0", USE_LARGEST},
};

/* Beginnings of the names of sections that belong to a kernel; its name follows. */
static const char *const owned_rules[] = {
    ".text.", ".nv.info.", ".nv.shared.", ".nv.constant#.", ".rel.text.", ".rela.text.", ".rel.nv.constant#.",
    ".rela.nv.constant#.", ".nv.capmerc.text.", ".nv.merc.nv.info.", ".nv.merc.nv.shared.",
    ".nv.merc.nv.constant.optimizer.", ".nv.merc.rela.text.", ".nv.merc.rela.nv.constant.optimizer.",
};

/* The length of the beginning of 'name' that the pattern describes; 0: it does not. */
static size_t match(const char *pattern, const char *name)
{
    const char *at = name;
    for (; *pattern; pattern++) {
        if (*pattern == '#' && isdigit((unsigned char)*at))
            at += strspn(at, "0123456789");
        else if (*pattern == *at)
            at++;
        else
            return 0;
    }
    return (size_t)(at - name);
}

typedef struct Reader {
    Arena *arena;
    const unsigned char *bytes;
    size_t size;
    Part *part;
} Reader;

/* The string at 'offset' of a section; NULL if there is none. */
static const char *string_at(const PartSection *table, uint64_t offset)
{
    if (!table->bytes || offset >= table->header.sh_size ||
        !memchr(table->bytes + offset, 0, table->header.sh_size - offset))
        return NULL;
    return (const char *)table->bytes + offset;
}

static const char *read_sections(Reader *reader)
{
    Part *part = reader->part;
    Elf64_Ehdr *header = &part->header;
    if (reader->size < sizeof *header)
        return "a cubin is shorter than an ELF header";
    memcpy(header, reader->bytes, sizeof *header);
    if (memcmp(header->e_ident, ELFMAG, SELFMAG) != 0 || header->e_ident[EI_CLASS] != ELFCLASS64 ||
        header->e_ident[EI_DATA] != ELFDATA2LSB || header->e_machine != CUDA_MACHINE || header->e_type != ET_EXEC)
        return "a cubin is not a linked 64-bit ELF file";
    const size_t count = header->e_shnum;
    if (header->e_shentsize != sizeof(Elf64_Shdr) || header->e_shoff > reader->size ||
        count > (reader->size - header->e_shoff) / sizeof(Elf64_Shdr) || header->e_shstrndx >= count)
        return "a cubin has no usable table of sections";
    part->section_count = count;
    part->sections = ARENA_ARRAY(reader->arena, PartSection, count);
    for (size_t i = 0; i < count; i++) {
        PartSection *section = &part->sections[i];
        *section = (PartSection){.to = NOWHERE};
        memcpy(&section->header, reader->bytes + header->e_shoff + i * sizeof section->header, sizeof section->header);
        const Elf64_Shdr *place = &section->header;
        if (place->sh_addralign > MOST_ALIGNMENT)
            return "a section of a cubin has an unusual alignment";
        if (place->sh_type == SHT_NOBITS || place->sh_size == 0)
            continue;
        if (place->sh_offset > reader->size || place->sh_size > reader->size - place->sh_offset)
            return "a section of a cubin is beyond its end";
        section->bytes = reader->bytes + place->sh_offset;
    }
    Elf64_Phdr segment = {0};
    if (header->e_phoff > reader->size || reader->size - header->e_phoff < sizeof segment)
        return "a cubin has no segments";
    memcpy(&segment, reader->bytes + header->e_phoff, sizeof segment);
    part->is_layered = !(segment.p_flags & PF_X);
    for (size_t i = 1; i < count; i++) {
        PartSection *section = &part->sections[i];
        section->name = string_at(&part->sections[header->e_shstrndx], section->header.sh_name);
        if (!section->name || !*section->name)
            return "a section of a cubin has no name";
        if (section->header.sh_link >= count)
            return "a section of a cubin refers to one that there is not";
    }
    return NULL;
}

static const char *read_symbols(Reader *reader, const char *name, PartSymbols *symbols)
{
    Part *part = reader->part;
    *symbols = (PartSymbols){0};
    for (size_t i = 1; i < part->section_count; i++) {
        const PartSection *section = &part->sections[i];
        if (strcmp(section->name, name) != 0)
            continue;
        if (symbols->section)
            return "a cubin has two tables of symbols";
        symbols->section = (uint32_t)i;
        symbols->count = section->bytes ? section->header.sh_size / sizeof(Elf64_Sym) : 0;
        symbols->symbols = ARENA_ARRAY(reader->arena, PartSymbol, symbols->count);
        for (size_t s = 0; s < symbols->count; s++) {
            PartSymbol *symbol = &symbols->symbols[s];
            memcpy(&symbol->symbol, section->bytes + s * sizeof symbol->symbol, sizeof symbol->symbol);
            symbol->to = NOWHERE;
            symbol->name = string_at(&part->sections[section->header.sh_link], symbol->symbol.st_name);
            const uint16_t place = symbol->symbol.st_shndx;
            if (!symbol->name || (place >= part->section_count && place < SHN_LORESERVE) || place == SHN_XINDEX)
                return "a symbol of a cubin cannot be read";
        }
    }
    return NULL;
}

/* The kernels, by name. */
static void find_kernels(Reader *reader, Map *kernels)
{
    const PartSymbols *symbols = &reader->part->symbols[SYMBOLS_PLAIN];
    for (size_t i = 0; i < symbols->count; i++) {
        const PartSymbol *symbol = &symbols->symbols[i];
        if (ELF64_ST_TYPE(symbol->symbol.st_info) == STT_FUNC && (symbol->symbol.st_other & STO_CUDA_ENTRY) &&
            symbol->symbol.st_shndx != SHN_UNDEF)
            map_put(kernels, hash_fnv(symbol->name, strlen(symbol->name), HASH_START) | 1, pointer_key(symbol->name));
    }
}

static const char *find_kernel(const Map *kernels, const char *name)
{
    const uint64_t *value = map_get(kernels, hash_fnv(name, strlen(name), HASH_START) | 1);
    const char *found = value ? (const char *)(uintptr_t)*value : NULL;
    return found && strcmp(found, name) == 0 ? found : NULL;
}

/* What is to be done with a section; its owner, if it has one. False if it is not known. */
static bool classify(const Map *kernels, PartSection *section)
{
    for (size_t i = 0; i < COUNT_OF(shared_rules); i++)
        if (match(shared_rules[i].name, section->name) == strlen(section->name)) {
            section->use = shared_rules[i].use;
            section->class_length = strlen(section->name);
            return true;
        }
    for (size_t i = 0; i < COUNT_OF(owned_rules); i++) {
        const size_t length = match(owned_rules[i], section->name);
        const char *owner = length ? find_kernel(kernels, section->name + length) : NULL;
        if (owner) {
            section->use = USE_OWNED;
            section->owner = owner;
            section->is_dropped = strncmp(owner, ANCHOR, sizeof ANCHOR - 1) == 0;
            section->class_length = length;
            return true;
        }
    }
    return false;
}

const char *part_read(Arena *arena, const void *bytes, size_t size, Part *part)
{
    *part = (Part){0};
    Reader reader = {.arena = arena, .bytes = bytes, .size = size, .part = part};
    const char *problem = read_sections(&reader);
    if (!problem)
        problem = read_symbols(&reader, ".symtab", &part->symbols[SYMBOLS_PLAIN]);
    if (!problem)
        problem = read_symbols(&reader, ".nv.merc.symtab", &part->symbols[SYMBOLS_MERCURY]);
    if (problem)
        return problem;
    Map kernels = {.arena = arena};
    find_kernels(&reader, &kernels);
    for (size_t i = 1; i < part->section_count; i++)
        if (!classify(&kernels, &part->sections[i]))
            return arena_printf(arena, "a cubin has a section '%s'", part->sections[i].name);
    return NULL;
}

const PartSection *part_section(const Part *part, const char *name)
{
    for (size_t i = 1; i < part->section_count; i++)
        if (strcmp(part->sections[i].name, name) == 0)
            return &part->sections[i];
    return NULL;
}

bool section_is_relocations(const PartSection *section)
{
    const uint32_t type = section->header.sh_type;
    return type == SHT_RELA || type == SHT_REL || type == SHT_CUDA_RELA_MERCURY;
}

const PartSymbols *part_symbols_of(const Part *part, const PartSection *section)
{
    for (size_t i = 0; i < SYMBOLS_COUNT; i++)
        if (part->symbols[i].section && part->symbols[i].section == section->header.sh_link)
            return &part->symbols[i];
    return NULL;
}

uint32_t symbol_to(const PartSymbols *symbols, uint64_t index)
{
    return index < symbols->count ? symbols->symbols[index].to : NOWHERE;
}
