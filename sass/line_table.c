/* The line table of a cubin, by libdw. A cubin is a relocatable file: all code sections start at address 0, and
 * relocations of .debug_line say to which section a sequence of lines belongs. So each code section gets its offset in
 * the file as an address of its own, and the relocations are applied to a copy. */
#include "sass/dwarf.h"
#include "sass/internal.h"

#include <gelf.h>
#include <string.h>

enum { RELOCATION_32 = 1, RELOCATION_64 = 2 };

/* Adds the symbol's address to the table's entry at 'offset'. */
static void relocate(Elf *elf, Elf_Data *table, uint64_t type, uint64_t offset, uint64_t addend, const GElf_Sym *symbol)
{
    GElf_Shdr target;
    size_t width = type == RELOCATION_64 ? 8 : 4;
    if ((type != RELOCATION_64 && type != RELOCATION_32) || offset > table->d_size || table->d_size - offset < width ||
        !gelf_getshdr(elf_getscn(elf, symbol->st_shndx), &target))
        return;
    uint64_t value = target.sh_offset + symbol->st_value + addend;
    memcpy((char *)table->d_buf + offset, &value, width);
}

static uint64_t stored_addend(const Elf_Data *table, uint64_t type, uint64_t offset)
{
    uint64_t addend = 0;
    size_t width = type == RELOCATION_64 ? 8 : 4;
    if (offset <= table->d_size && table->d_size - offset >= width)
        memcpy(&addend, (const char *)table->d_buf + offset, width);
    return addend;
}

static void apply_relocations(Elf *elf, Elf_Data *table, Elf_Scn *section, const GElf_Shdr *header)
{
    Elf_Data *entries = elf_getdata(section, NULL), *symbols = elf_getdata(elf_getscn(elf, header->sh_link), NULL);
    if (!entries || !symbols || !header->sh_entsize)
        return;
    for (int i = 0; (uint64_t)i < header->sh_size / header->sh_entsize; i++) {
        GElf_Rela rela;
        GElf_Rel rel;
        GElf_Sym symbol;
        if (header->sh_type == SHT_RELA && gelf_getrela(entries, i, &rela)) {
            if (gelf_getsym(symbols, (int)GELF_R_SYM(rela.r_info), &symbol))
                relocate(elf, table, GELF_R_TYPE(rela.r_info), rela.r_offset, (uint64_t)rela.r_addend, &symbol);
        } else if (header->sh_type == SHT_REL && gelf_getrel(entries, i, &rel)) {
            uint64_t type = GELF_R_TYPE(rel.r_info);
            if (gelf_getsym(symbols, (int)GELF_R_SYM(rel.r_info), &symbol))
                relocate(elf, table, type, rel.r_offset, stored_addend(table, type, rel.r_offset), &symbol);
        }
    }
}

/* Relocates .debug_line in place. False if there is none. */
static bool relocate_table(Elf *elf)
{
    size_t names;
    Elf_Scn *table = NULL;
    GElf_Shdr header;
    if (elf_getshdrstrndx(elf, &names) != 0)
        return false;
    for (Elf_Scn *section = NULL; !table && (section = elf_nextscn(elf, section));) {
        const char *name = gelf_getshdr(section, &header) ? elf_strptr(elf, names, header.sh_name) : NULL;
        if (name && strcmp(name, ".debug_line") == 0)
            table = section;
    }
    Elf_Data *data = table ? elf_rawdata(table, NULL) : NULL;
    if (!data || !data->d_buf)
        return false;
    for (Elf_Scn *section = NULL; (section = elf_nextscn(elf, section));)
        if (gelf_getshdr(section, &header) && (header.sh_type == SHT_RELA || header.sh_type == SHT_REL) &&
            header.sh_info == elf_ndxscn(table))
            apply_relocations(elf, data, section, &header);
    return true;
}

/* A code section as the table sees it. */
typedef struct Place {
    uint64_t begin, end; /* addresses */
    uint32_t first;      /* instruction */
} Place;

/* The sections of the code, whose addresses are their offsets in the file. */
static Place *find_places(Arena *arena, Elf *elf, const SassCode *code, size_t *count)
{
    size_t names;
    Place *places = ARENA_ARRAY(arena, Place, code->function_count);
    *count = 0;
    if (elf_getshdrstrndx(elf, &names) != 0)
        return places;
    for (uint32_t f = 0; f < code->function_count; f++) {
        if (code->instructions[code->functions[f].first].address != 0)
            continue; /* inside a section that has been added already */
        GElf_Shdr header;
        for (Elf_Scn *section = NULL; (section = elf_nextscn(elf, section));) {
            const char *name = gelf_getshdr(section, &header) ? elf_strptr(elf, names, header.sh_name) : NULL;
            if (name && strcmp(name, code->functions[f].section) == 0) {
                places[(*count)++] =
                    (Place){header.sh_offset, header.sh_offset + header.sh_size, code->functions[f].first};
                break;
            }
        }
    }
    return places;
}

/* Called for each instruction with the line that it comes from. */
typedef struct LineVisitor {
    void (*visit)(void *context, uint32_t instruction, const char *file, uint32_t line);
    void *context;
} LineVisitor;

/* Visits the instructions in [begin, end). */
static void visit_range(const SassCode *code, const Place *places, size_t place_count, uint64_t begin, uint64_t end,
                        const char *file, uint32_t line, const LineVisitor *visitor)
{
    for (size_t p = 0; p < place_count; p++) {
        if (begin < places[p].begin || begin >= places[p].end)
            continue;
        uint64_t stop = end < places[p].end ? end : places[p].end;
        for (uint64_t at = begin; at < stop; at += MACHINE_BYTES) {
            uint64_t index = places[p].first + (at - places[p].begin) / MACHINE_BYTES;
            if (index < code->count && code->instructions[index].address == at - places[p].begin)
                visitor->visit(visitor->context, (uint32_t)index, file, line);
        }
    }
}

static void visit_lines(const DwarfFunctions *dw, const SassCode *code, const Place *places, size_t place_count,
                        Dwarf_Lines *lines, size_t count, const LineVisitor *visitor)
{
    for (size_t i = 0; i + 1 < count; i++) {
        Dwarf_Line *line = dw->onesrcline(lines, i), *next = dw->onesrcline(lines, i + 1);
        Dwarf_Addr begin, end;
        int number;
        bool ends = true;
        const char *file = dw->linesrc(line, NULL, NULL);
        if (dw->lineendsequence(line, &ends) != 0 || ends || dw->lineaddr(line, &begin) != 0 ||
            dw->lineaddr(next, &end) != 0 || dw->lineno(line, &number) != 0 || !file)
            continue;
        visit_range(code, places, place_count, begin, end, file, number > 0 ? (uint32_t)number : 0, visitor);
    }
}

/* Visits the lines of all units of a file whose line table has been relocated. NULL when done, else a message in the
 * arena. */
static const char *visit_units(Arena *arena, Elf *elf, const SassCode *code, const LineVisitor *visitor)
{
    const char *error;
    const DwarfFunctions *dw = dwarf_functions(&error);
    if (!dw)
        return arena_printf(arena, "the line table cannot be read: %s", error);
    size_t place_count, file_count, count;
    const Place *places = find_places(arena, elf, code, &place_count);
    Dwarf *dwarf = dw->begin_elf(elf, DWARF_C_READ, NULL);
    Dwarf_Off offset = 0, next;
    Dwarf_CU *unit = NULL;
    Dwarf_Files *files;
    Dwarf_Lines *lines;
    int status = dwarf ? 0 : -1;
    while (dwarf &&
           (status = dw->next_lines(dwarf, offset, &next, &unit, &files, &file_count, &lines, &count)) == 0) {
        visit_lines(dw, code, places, place_count, lines, count, visitor);
        offset = next;
    }
    const char *message = NULL;
    if (status < 0)
        message = arena_printf(arena, "the line table cannot be read: %s", dw->errmsg(-1));
    dw->end(dwarf);
    return message;
}

/* Visits the lines of the cubin's table. NULL when done, else a message in the arena. */
static const char *visit_table(Arena *arena, const void *cubin, size_t size, const SassCode *code,
                               const LineVisitor *visitor)
{
    char *copy = arena_alloc(arena, size);
    memcpy(copy, cubin, size);
    Elf *elf = elf_version(EV_CURRENT) != EV_NONE ? elf_memory(copy, size) : NULL;
    const char *message = elf && relocate_table(elf) ? visit_units(arena, elf, code, visitor)
                                                     : "the cubin has no line table";
    elf_end(elf);
    return message;
}

/* The numbered copy: its lines are PTX instructions. */
typedef struct Numbering {
    SassCode *code;
    uint32_t count;
} Numbering;

static void take_number(void *context, uint32_t instruction, const char *file, uint32_t line)
{
    const Numbering *numbering = context;
    const char *base = strrchr(file, '/');
    bool known = strcmp(base ? base + 1 : file, NUMBERED_FILE) == 0 && line && line <= numbering->count;
    numbering->code->instructions[instruction].ptx = known ? line - 1 : MACHINE_NONE;
}

/* Drops the lines of the assembler's helpers, such as divisions, which come from no PTX: their entries in the table
 * continue those of the preceding function. */
static void forget_helpers(SassCode *code)
{
    static const char prefix[] = HELPER_PREFIX;
    for (uint32_t f = 0; f < code->function_count; f++) {
        const SassFunction *function = &code->functions[f];
        if (strncmp(function->name, prefix, sizeof prefix - 1) == 0)
            for (uint32_t i = 0; i < function->count; i++)
                code->instructions[function->first + i].ptx = MACHINE_NONE;
    }
}

const char *line_table_read(Arena *arena, const void *cubin, size_t size, SassCode *code, uint32_t line_count)
{
    Numbering numbering = {code, line_count};
    const char *message = visit_table(arena, cubin, size, code, &(LineVisitor){take_number, &numbering});
    forget_helpers(code);
    return message;
}

/* The places so far; the files' names are copied once for each run of lines in the same file. */
typedef struct Places {
    Arena *arena;
    SassPlace *places;
    const char *last;
} Places;

static void take_place(void *context, uint32_t instruction, const char *file, uint32_t line)
{
    Places *places = context;
    if (!places->last || strcmp(places->last, file) != 0)
        places->last = arena_strndup(places->arena, file, strlen(file));
    places->places[instruction] = (SassPlace){line ? places->last : NULL, line};
}

const SassPlace *sass_places(Arena *arena, const void *cubin, size_t size, const SassCode *code)
{
    Places places = {.arena = arena, .places = ARENA_ARRAY(arena, SassPlace, code->count + 1)};
    visit_table(arena, cubin, size, code, &(LineVisitor){take_place, &places});
    return places.last ? places.places : NULL;
}
