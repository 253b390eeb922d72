/* The constant banks of a kernel: 0 has the launch's values and parameters, 2 and 3 constants of the code and of the
 * module, 4 addresses of variables, by relocations. */
#include "machine/internal.h"

#include <gelf.h>
#include <libelf.h>

typedef struct Image {
    Arena *arena;
    const MachineRequest *request;
    Program *program;
    Elf *elf;
    size_t names;
} Image;

static Elf_Scn *find_section(const Image *image, const char *name, GElf_Shdr *header)
{
    for (Elf_Scn *section = NULL; (section = elf_nextscn(image->elf, section));) {
        const char *its = gelf_getshdr(section, header) ? elf_strptr(image->elf, image->names, header->sh_name) : NULL;
        if (its && strcmp(its, name) == 0)
            return section;
    }
    return NULL;
}

/* Copies a section into a bank; 'least' bytes are there even without one. */
static void fill_bank(Image *image, unsigned bank, const char *section, size_t least)
{
    GElf_Shdr header;
    Elf_Scn *found = find_section(image, section, &header);
    const Elf_Data *data = found ? elf_rawdata(found, NULL) : NULL;
    const size_t size = data && data->d_buf && data->d_size > least ? data->d_size : least;
    uint8_t *bytes = memset(arena_alloc(image->arena, size + 16), 0, size + 16);
    if (data && data->d_buf)
        memcpy(bytes, data->d_buf, data->d_size);
    image->program->banks[bank] = bytes;
    image->program->bank_sizes[bank] = size;
}

/* The address of a symbol: that of the memory with the variable of its name. */
static uint64_t symbol_address(const Image *image, const char *name)
{
    const MachineRequest *request = image->request;
    for (size_t i = 0; i < request->memory_count; i++)
        if (request->memories[i].variable && strcmp(request->memories[i].name, name) == 0)
            return request->memories[i].address;
    return (uint64_t)UNKNOWN_WINDOW << 32;
}

static void relocate(Image *image, const GElf_Shdr *header, Elf_Data *data)
{
    uint8_t *bytes = image->program->banks[4];
    Elf_Data *symbols = elf_getdata(elf_getscn(image->elf, header->sh_link), NULL);
    GElf_Shdr symbol_header;
    gelf_getshdr(elf_getscn(image->elf, header->sh_link), &symbol_header);
    for (int i = 0; data && symbols && (uint64_t)i < header->sh_size / header->sh_entsize; i++) {
        GElf_Rela rela = {0};
        GElf_Rel rel;
        GElf_Sym symbol;
        if (header->sh_type == SHT_REL && gelf_getrel(data, i, &rel))
            rela = (GElf_Rela){rel.r_offset, rel.r_info, 0};
        else if (header->sh_type != SHT_RELA || !gelf_getrela(data, i, &rela))
            continue;
        if (!gelf_getsym(symbols, (int)GELF_R_SYM(rela.r_info), &symbol) ||
            rela.r_offset + 8 > image->program->bank_sizes[4])
            continue;
        const char *name = elf_strptr(image->elf, symbol_header.sh_link, symbol.st_name);
        uint64_t addend = 0;
        if (header->sh_type == SHT_REL)
            memcpy(&addend, bytes + rela.r_offset, 8);
        const uint64_t address = symbol_address(image, name ? name : "") + (uint64_t)rela.r_addend + addend;
        memcpy(bytes + rela.r_offset, &address, 8);
    }
}

static void relocate_bank4(Image *image)
{
    static const char *const sections[] = {".rel.nv.constant4", ".rela.nv.constant4"};
    for (size_t i = 0; i < COUNT_OF(sections); i++) {
        GElf_Shdr header;
        Elf_Scn *section = find_section(image, sections[i], &header);
        if (section && header.sh_entsize)
            relocate(image, &header, elf_getdata(section, NULL));
    }
}

/* Fills a variable of bank 3 as the launch says. */
static void fill_symbol(Image *image, const LaunchArgument *argument)
{
    GElf_Shdr header, bank;
    Elf_Scn *section = find_section(image, ".symtab", &header);
    Elf_Scn *constants = find_section(image, ".nv.constant3", &bank);
    Elf_Data *symbols = section ? elf_getdata(section, NULL) : NULL;
    GElf_Sym symbol;
    const uint64_t bytes = argument->count * ((type_bits(argument->type) + 7) / 8);
    if (!symbols || !constants || !header.sh_entsize)
        return;
    for (int i = 0; (uint64_t)i < header.sh_size / header.sh_entsize; i++) {
        const char *name =
            gelf_getsym(symbols, i, &symbol) ? elf_strptr(image->elf, header.sh_link, symbol.st_name) : NULL;
        if (name && strcmp(name, argument->name) == 0 && symbol.st_shndx == elf_ndxscn(constants) &&
            symbol.st_value + bytes <= image->program->bank_sizes[3])
            memcpy(image->program->banks[3] + symbol.st_value, launch_fill(image->arena, argument), (size_t)bytes);
    }
}

static void fill_banks(Image *image)
{
    const MachineRequest *request = image->request;
    const char *kernel = request->kernel;
    const unsigned arch = request->map->code->arch.number;
    image->program->bank0_parameters = arch < 90 ? 0x160 : arch < 100 ? 0x210 : 0x380;
    fill_bank(image, 0, "", image->program->bank0_parameters + (1 << 15));
    fill_bank(image, 1, "", 16);
    fill_bank(image, 2, arena_printf(image->arena, ".nv.constant2.%s", kernel), 16);
    fill_bank(image, 3, ".nv.constant3", 16);
    fill_bank(image, 4, ".nv.constant4", 16);
    relocate_bank4(image);
    for (unsigned i = 0; request->launch && i < request->launch->argument_count; i++)
        if (request->launch->arguments[i].kind == ARGUMENT_SYMBOL)
            fill_symbol(image, &request->launch->arguments[i]);
}

bool image_read(Arena *arena, Program *program, const MachineRequest *request, const char **problem)
{
    Image image = {.arena = arena, .request = request, .program = program};
    elf_version(EV_CURRENT);
    char *copy = memcpy(arena_alloc(arena, request->map->cubin_size), request->map->cubin, request->map->cubin_size);
    image.elf = elf_memory(copy, request->map->cubin_size);
    if (!image.elf || elf_getshdrstrndx(image.elf, &image.names) != 0)
        *problem = "the cubin is not an ELF file";
    else
        fill_banks(&image);
    elf_end(image.elf);
    return !*problem;
}
