/* Lays out the merged cubin and writes it: sections in their order, the table of sections, the segments. */
#include <string.h>

#include "split/internal.h"

static bool is_symbols(const MergedSection *section, int *table)
{
    for (*table = 0; *table < SYMBOLS_COUNT; (*table)++)
        if (section->part->symbols[*table].section &&
            section->section == &section->part->sections[section->part->symbols[*table].section])
            return true;
    return false;
}

/* Fills in the tables of symbols and strings. */
static void tables_write(Merge *merge)
{
    Strings names, sections;
    strings_merge(merge, ".strtab", &names);
    strings_merge(merge, ".shstrtab", &sections);
    for (size_t i = 1; i < merge->section_count; i++) {
        int table;
        MergedSection *section = &merge->sections[i];
        section->name_at = strings_add(&sections, section->name);
        if (!is_symbols(section, &table))
            continue;
        for (size_t s = 0; s < merge->symbols[table].count; s++) {
            const MergedSymbol *symbol = &merge->symbols[table].data[s];
            Elf64_Sym written = symbol->symbol;
            written.st_name = strings_add(&names, symbol->name);
            buf_write(&section->bytes, &written, sizeof written);
        }
    }
    for (size_t i = 1; i < merge->section_count; i++) {
        MergedSection *section = &merge->sections[i];
        if (strcmp(section->name, ".shstrtab") == 0)
            buf_write(&section->bytes, sections.text.data, sections.text.length);
        else if (strcmp(section->name, ".strtab") == 0)
            buf_write(&section->bytes, names.text.data, names.text.length);
    }
    buf_free(&names.text);
    buf_free(&sections.text);
}

static uint64_t align_file(Buf *file, uint64_t align)
{
    while (align > 1 && file->length % align)
        buf_putc(file, 0);
    return file->length;
}

/* The new value of sh_info: the number of symbols, a symbol, or a section. */
static uint32_t info_of(Merge *merge, const MergedSection *merged)
{
    const PartSection *section = merged->section;
    const uint32_t info = section->header.sh_info;
    int table;
    if (is_symbols(merged, &table))
        return (uint32_t)(info == merged->part->symbols[table].count ? merge->symbols[table].count
                                                                     : merge->globals[table]);
    if (section->header.sh_flags & SHF_INFO_LINK) {
        const uint32_t to = info < merged->part->section_count ? merged->part->sections[info].to : NOWHERE;
        if (to == NOWHERE)
            merge_fail(merge, "'%s' belongs to an unknown section", section->name);
        return to;
    }
    if (section->use != USE_OWNED || !info)
        return info;
    /* The kernel's symbol; up to CUDA 12, with the number of registers in the upper byte. */
    const PartSymbols *symbols = part_symbols_of(merged->part, section);
    const uint32_t to = symbols ? symbol_to(symbols, info & 0xffffff) : NOWHERE;
    if (to == NOWHERE || to > 0xffffff)
        merge_fail(merge, "'%s' belongs to an unknown symbol", section->name);
    return (info & 0xff000000) | to;
}

static Elf64_Shdr header_of(Merge *merge, const MergedSection *merged)
{
    Elf64_Shdr header = merged->section->header;
    header.sh_name = merged->name_at;
    header.sh_offset = merged->offset;
    header.sh_size = header.sh_type == SHT_NOBITS || !merged->bytes.length ? merged->size : merged->bytes.length;
    header.sh_link = merged->part->sections[header.sh_link].to;
    if (header.sh_link == NOWHERE)
        merge_fail(merge, "'%s' refers to an unknown section", merged->name);
    header.sh_info = info_of(merge, merged);
    return header;
}

static bool is_loaded(const MergedSection *section)
{
    return (section->section->header.sh_flags & SHF_ALLOC) && !(section->section->header.sh_flags & SHF_MERCURY);
}

/* The segment that a section belongs to: sections in a row with the same flags are one. */
static uint32_t segment_flags(const Part *part, const MergedSection *section)
{
    const uint64_t flags = section->section->header.sh_flags;
    const uint32_t read = part->is_layered || (flags & SHF_WRITE) ? PF_R : PF_R | PF_X;
    return read | (flags & SHF_WRITE ? PF_W : 0) | (flags & SHF_EXECINSTR ? PF_X : 0);
}

typedef VEC(Elf64_Phdr) Segments;

static void segments_find(const Merge *merge, Segments *segments)
{
    const Part *part = &merge->parts[0];
    const MergedSection *before = NULL;
    for (size_t i = 1; i < merge->section_count; i++) {
        const MergedSection *section = &merge->sections[i];
        if (!is_loaded(section)) {
            before = NULL;
            continue;
        }
        const uint32_t flags = segment_flags(part, section);
        if (!before || segment_flags(part, before) != flags)
            VEC_PUSH(merge->arena, *segments,
                     (Elf64_Phdr){.p_type = PT_LOAD, .p_flags = flags, .p_offset = section->offset});
        Elf64_Phdr *segment = &VEC_LAST(*segments);
        const bool has_bytes = section->section->header.sh_type != SHT_NOBITS;
        segment->p_filesz = section->offset - segment->p_offset + (has_bytes ? section->bytes.length : 0);
        if (segment->p_memsz < segment->p_filesz)
            segment->p_memsz = segment->p_filesz;
        if (!has_bytes)
            segment->p_memsz = align_up(segment->p_memsz, section->section->header.sh_addralign) + section->size;
        before = section;
    }
}

/* The segments' own table is a segment, too: the first where constants and code are apart, else the last. */
static void segments_write(const Merge *merge, Buf *file, Elf64_Ehdr *header)
{
    enum { ALIGN = 8 };
    const bool is_layered = merge->parts[0].is_layered;
    const uint32_t flags = is_layered ? PF_R : PF_R | PF_X;
    const Elf64_Phdr own = {.p_type = PT_LOAD, .p_flags = flags, .p_offset = align_file(file, ALIGN)};
    Segments segments = {0};
    VEC_PUSH(merge->arena, segments, own);
    segments.data[0].p_type = PT_PHDR;
    if (is_layered)
        VEC_PUSH(merge->arena, segments, own);
    segments_find(merge, &segments);
    if (!is_layered)
        VEC_PUSH(merge->arena, segments, own);
    for (size_t i = 0; i < segments.count; i++) {
        Elf64_Phdr *segment = &segments.data[i];
        if (segment->p_offset == own.p_offset)
            segment->p_filesz = segment->p_memsz = segments.count * sizeof *segment;
        segment->p_align = ALIGN;
        buf_write(file, segment, sizeof *segment);
    }
    header->e_phoff = own.p_offset;
    header->e_phnum = (uint16_t)segments.count;
}

void merged_write(Merge *merge, Buf *file)
{
    Elf64_Ehdr header = merge->parts[0].header;
    tables_write(merge);
    buf_write(file, &header, sizeof header);
    for (size_t i = 1; i < merge->section_count; i++) {
        MergedSection *section = &merge->sections[i];
        section->offset = align_file(file, section->section->header.sh_addralign);
        buf_write(file, section->bytes.data, section->bytes.length);
        if (strcmp(section->name, ".shstrtab") == 0)
            header.e_shstrndx = (uint16_t)i;
    }
    header.e_shoff = align_file(file, 8);
    header.e_shnum = (uint16_t)merge->section_count;
    buf_write(file, &(Elf64_Shdr){0}, sizeof(Elf64_Shdr));
    for (size_t i = 1; i < merge->section_count; i++) {
        const Elf64_Shdr written = header_of(merge, &merge->sections[i]);
        buf_write(file, &written, sizeof written);
    }
    segments_write(merge, file, &header);
    memcpy(file->data, &header, sizeof header);
}
