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

/* The index that an instruction at address 0 of a section of code has; MACHINE_NONE if it is not among the code. */
static uint32_t first_of_section(const Image *image, Elf_Scn *section)
{
    const SassCode *code = image->request->map->code;
    GElf_Shdr header;
    const char *name = gelf_getshdr(section, &header) ? elf_strptr(image->elf, image->names, header.sh_name) : NULL;
    for (uint32_t i = 0; name && i < code->function_count; i++)
        if (strcmp(code->functions[i].section, name) == 0)
            return image->program->code[code->functions[i].first].section;
    return MACHINE_NONE;
}

/* The address of a function: of its first instruction, or of the function of the driver; 0: it is neither. */
static uint64_t function_address(const Image *image, const GElf_Sym *symbol, const char *name, int64_t addend)
{
    if (symbol->st_shndx == SHN_UNDEF)
        return addend ? 0 : driver_function_address(name);
    Elf_Scn *section = elf_getscn(image->elf, symbol->st_shndx);
    const uint32_t first = section ? first_of_section(image, section) : MACHINE_NONE;
    const uint64_t offset = symbol->st_value + (uint64_t)addend;
    if (first == MACHINE_NONE || offset % INSTRUCTION_BYTES || offset / INSTRUCTION_BYTES >= image->program->count)
        return 0;
    return code_address(first + (uint32_t)(offset / INSTRUCTION_BYTES));
}

/* The address of a function or a variable, and the addend; 0: it is not known. */
static uint64_t place_address(const Image *image, const GElf_Sym *symbol, const char *name, int64_t addend)
{
    const uint64_t function = function_address(image, symbol, name, addend), variable = symbol_address(image, name);
    if (function)
        return function;
    return variable >> 32 == UNKNOWN_WINDOW ? 0 : variable + (uint64_t)addend;
}

/* The name of a symbol in the table with the index; "" if it has none. */
static const char *name_of_symbol(const Image *image, size_t table, const GElf_Sym *symbol)
{
    GElf_Shdr header;
    const char *name = gelf_getshdr(elf_getscn(image->elf, table), &header)
                           ? elf_strptr(image->elf, header.sh_link, symbol->st_name)
                           : NULL;
    return name ? name : "";
}

static void relocate(Image *image, const GElf_Shdr *header, Elf_Data *data)
{
    uint8_t *bytes = image->program->banks[4];
    Elf_Data *symbols = elf_getdata(elf_getscn(image->elf, header->sh_link), NULL);
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
        const char *name = name_of_symbol(image, header->sh_link, &symbol);
        uint64_t addend = 0;
        if (header->sh_type == SHT_REL)
            memcpy(&addend, bytes + rela.r_offset, 8);
        uint64_t address = place_address(image, &symbol, name, rela.r_addend + (int64_t)addend);
        if (!address)
            address = (uint64_t)UNKNOWN_WINDOW << 32;
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

/* MOV r, 32@lo(place) and 32@hi(place): the halves of an address in code or of a variable, which relocations of these
 * types name. */
enum { RELOCATION_LOW = 0x38, RELOCATION_HIGH = 0x39 };

static void relocate_move(Image *image, uint32_t instruction, unsigned type, uint64_t address)
{
    Decoded *it = &image->program->code[instruction];
    Place *place = &it->operands[1];
    if (it->execute != execute_move || it->operand_count != 2 || place->kind != PLACE_OTHER || !address)
        return;
    *place = (Place){.kind = PLACE_NUMBER,
                     .number = (int64_t)(type == RELOCATION_HIGH ? address >> 32 : address & UINT32_MAX)};
    it->problem = NULL;
}

static void relocate_section(Image *image, const GElf_Shdr *header, Elf_Data *data)
{
    Elf_Data *symbols = elf_getdata(elf_getscn(image->elf, header->sh_link), NULL);
    Elf_Scn *section = elf_getscn(image->elf, header->sh_info);
    const uint32_t first = section ? first_of_section(image, section) : MACHINE_NONE;
    if (first == MACHINE_NONE || !data || !symbols)
        return;
    for (int i = 0; (uint64_t)i < header->sh_size / header->sh_entsize; i++) {
        GElf_Rela rela;
        GElf_Sym symbol;
        if (!gelf_getrela(data, i, &rela) || !gelf_getsym(symbols, (int)GELF_R_SYM(rela.r_info), &symbol))
            continue;
        const unsigned type = (unsigned)GELF_R_TYPE(rela.r_info);
        const uint64_t at = first + rela.r_offset / INSTRUCTION_BYTES;
        const char *name = name_of_symbol(image, header->sh_link, &symbol);
        if ((type == RELOCATION_LOW || type == RELOCATION_HIGH) && at < image->program->count)
            relocate_move(image, (uint32_t)at, type, place_address(image, &symbol, name, rela.r_addend));
    }
}

static void relocate_code(Image *image)
{
    for (Elf_Scn *section = NULL; (section = elf_nextscn(image->elf, section));) {
        GElf_Shdr header;
        if (gelf_getshdr(section, &header) && header.sh_type == SHT_RELA && header.sh_entsize)
            relocate_section(image, &header, elf_getdata(section, NULL));
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
    relocate_code(image);
    for (unsigned i = 0; request->launch && i < request->launch->argument_count; i++)
        if (request->launch->arguments[i].kind == ARGUMENT_SYMBOL)
            fill_symbol(image, &request->launch->arguments[i]);
}

/* The cubin's initial values of a variable; NULL if it has none. */
static const uint8_t *initial_of(const Image *image, const char *variable, uint64_t size)
{
    GElf_Shdr header, data_header;
    Elf_Scn *section = find_section(image, ".symtab", &header);
    Elf_Scn *found = find_section(image, ".nv.global.init", &data_header);
    Elf_Data *symbols = section ? elf_getdata(section, NULL) : NULL;
    const Elf_Data *data = found ? elf_rawdata(found, NULL) : NULL;
    GElf_Sym symbol;
    for (int i = 0; symbols && data && header.sh_entsize && (uint64_t)i < header.sh_size / header.sh_entsize; i++) {
        const char *name =
            gelf_getsym(symbols, i, &symbol) ? elf_strptr(image->elf, header.sh_link, symbol.st_name) : NULL;
        if (name && strcmp(name, variable) == 0 && symbol.st_shndx == elf_ndxscn(found) && data->d_buf &&
            symbol.st_value <= data->d_size && data->d_size - symbol.st_value >= size)
            return memcpy(arena_alloc(image->arena, size + 1), (const uint8_t *)data->d_buf + symbol.st_value, size);
    }
    return NULL;
}

static void read_initial(Image *image)
{
    const MachineRequest *request = image->request;
    Program *program = image->program;
    program->initial = ARENA_ARRAY(image->arena, const uint8_t *, request->memory_count + 1);
    while (program->initial_count < request->memory_count && request->memories[program->initial_count].variable) {
        const EmulatorMemory *memory = &request->memories[program->initial_count];
        program->initial[program->initial_count++] =
            variable_has_functions(memory->variable) ? initial_of(image, memory->name, memory->size) : NULL;
    }
}

bool image_read(Arena *arena, Program *program, const MachineRequest *request, const char **problem)
{
    Image image = {.arena = arena, .request = request, .program = program};
    elf_version(EV_CURRENT);
    char *copy = memcpy(arena_alloc(arena, request->map->cubin_size), request->map->cubin, request->map->cubin_size);
    image.elf = elf_memory(copy, request->map->cubin_size);
    if (!image.elf || elf_getshdrstrndx(image.elf, &image.names) != 0)
        *problem = "the cubin is not an ELF file";
    if (!*problem) {
        fill_banks(&image);
        read_initial(&image);
    }
    elf_end(image.elf);
    return !*problem;
}
