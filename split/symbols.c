/* The symbols of the merged cubin: those of each kernel, and once those that the parts share.
 *
 * ptxas lists first the kernels' own, each with the variables that it is the first to have, then sections of the
 * whole module, then kernels and functions outside, and last the kernels' parameters. Each of the four lists goes
 * through all parts. */
#include <string.h>

#include "split/internal.h"

enum { ZONE_LOCAL, ZONE_MODULE, ZONE_GLOBAL, ZONE_PARAMETERS, ZONE_COUNT };

/* True of symbols for reserved shared memory, which is as large as the most that a kernel needs. */
static bool is_reserved(const char *name)
{
    static const char *const prefixes[] = {"__nv_reservedSMEM_", ".nv.reservedSmem."};
    for (size_t i = 0; i < COUNT_OF(prefixes); i++)
        if (strncmp(name, prefixes[i], strlen(prefixes[i])) == 0)
            return true;
    return false;
}

static const PartSection *section_of(const Part *part, const PartSymbol *symbol)
{
    const uint16_t place = symbol->symbol.st_shndx;
    return place != SHN_UNDEF && place < SHN_LORESERVE ? &part->sections[place] : NULL;
}

static int zone_of(const Part *part, const PartSymbol *symbol, bool *after_frames)
{
    const PartSection *section = section_of(part, symbol);
    const bool is_section = ELF64_ST_TYPE(symbol->symbol.st_info) == STT_SECTION;
    if (is_section && section && section->use == USE_FRAMES)
        *after_frames = true;
    if (!*after_frames)
        return ZONE_LOCAL;
    return !is_section ? ZONE_GLOBAL : section && section->owner ? ZONE_PARAMETERS : ZONE_MODULE;
}

/* A copy with the new section. */
static Elf64_Sym moved(const Part *part, const PartSymbol *symbol)
{
    Elf64_Sym new = symbol->symbol;
    const PartSection *section = section_of(part, symbol);
    if (section)
        new.st_shndx = (uint16_t)section->to;
    new.st_name = 0;
    return new;
}

/* Symbols that parts share: by name, and section symbols by section. */
static uint64_t shared_key(const PartSymbol *symbol, const Elf64_Sym *new)
{
    const bool is_section = ELF64_ST_TYPE(new->st_info) == STT_SECTION;
    const uint64_t hash = hash_fnv(symbol->name, is_section ? 0 : strlen(symbol->name), HASH_START);
    /* There is one without a name, beside the first. */
    const uint64_t other = *symbol->name ? 0 : new->st_other;
    return hash_mix(hash, is_section ? new->st_shndx + UINT64_C(1) : other << 32) | 1;
}

static void symbol_share(Merge *merge, MergedSymbol *known, const PartSymbol *symbol, const Elf64_Sym *new)
{
    Elf64_Sym *old = &known->symbol;
    if (is_reserved(symbol->name)) {
        const uint64_t most = old->st_value > new->st_value ? old->st_value : new->st_value;
        Elf64_Sym same = *new;
        same.st_value = old->st_value;
        if (memcmp(&same, old, sizeof same) == 0) {
            old->st_value = most;
            return;
        }
    }
    const bool is_section = ELF64_ST_TYPE(new->st_info) == STT_SECTION;
    if (memcmp(old, new, sizeof *old) != 0 || (!is_section && strcmp(known->name, symbol->name) != 0))
        merge_fail(merge, "'%s' differs between parts", symbol->name);
}

static void symbol_add(Merge *merge, int table, const Part *part, PartSymbol *symbol, Map *shared)
{
    const PartSection *section = section_of(part, symbol);
    if (section && section->to == NOWHERE)
        return; /* of the dropped kernel */
    MergedSymbolVec *all = &merge->symbols[table];
    const Elf64_Sym new = moved(part, symbol);
    if (!section || !section->owner) {
        const uint64_t key = shared_key(symbol, &new);
        const uint64_t *known = map_get(shared, key);
        if (known) {
            symbol->to = (uint32_t)*known;
            symbol_share(merge, &all->data[*known], symbol, &new);
            return;
        }
        map_put(shared, key, all->count);
    }
    symbol->to = (uint32_t)all->count;
    VEC_PUSH(merge->arena, *all, (MergedSymbol){new, symbol->name});
}

static void table_merge(Merge *merge, int table)
{
    Map shared = {.arena = merge->arena};
    for (int zone = 0; zone < ZONE_COUNT; zone++) {
        if (zone == ZONE_GLOBAL)
            merge->globals[table] = merge->symbols[table].count;
        for (size_t i = 0; i < merge->part_count; i++) {
            const Part *part = &merge->parts[i];
            const PartSymbols *symbols = &part->symbols[table];
            bool after_frames = false;
            if (zone == 0 && !symbols->section != !merge->parts[0].symbols[table].section)
                merge_fail(merge, "only some parts have code in two forms");
            for (size_t s = 0; s < symbols->count; s++)
                if (zone_of(part, &symbols->symbols[s], &after_frames) == zone)
                    symbol_add(merge, table, part, &symbols->symbols[s], &shared);
        }
    }
}

const char *internal_name(Arena *arena, const char *name, unsigned *number)
{
    static const char prefix[] = "$__internal_";
    if (strncmp(name, prefix, sizeof prefix - 1) != 0)
        return name;
    const char *rest = name + sizeof prefix - 1;
    return arena_printf(arena, "%s%u%s", prefix, (*number)++, rest + strspn(rest, "0123456789"));
}

static void number_internals(Merge *merge, int table)
{
    unsigned number = 0;
    for (size_t i = 0; i < merge->symbols[table].count; i++) {
        MergedSymbol *symbol = &merge->symbols[table].data[i];
        symbol->name = internal_name(merge->arena, symbol->name, &number);
    }
}

void symbols_merge(Merge *merge)
{
    for (int table = 0; table < SYMBOLS_COUNT; table++) {
        table_merge(merge, table);
        number_internals(merge, table);
    }
}
