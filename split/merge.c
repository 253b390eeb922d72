/* One cubin of several: sections in order, their contents with new indices, and the checks that all parts agree on
 * what their kernels share. */
#include <string.h>

#include "split/internal.h"

/* Sections of one kind: one that the parts share, or one for each kernel. */
typedef struct Class {
    const char *name;
    size_t length; /* of the name, without a kernel's */
    bool is_shared;
    int rank;
} Class;

typedef VEC(Class) ClassVec;

/* Sections that are loaded come in this order, so that those with the same access are one segment. */
enum { RANK_TABLES, RANK_CONSTANTS, RANK_CODE, RANK_DATA, RANK_SPACE, RANK_PARAMETERS, RANK_MERCURY };

static int rank_of(const Part *part, const PartSection *section)
{
    const uint64_t flags = section->header.sh_flags;
    if (flags & SHF_MERCURY)
        return RANK_MERCURY;
    if (!(flags & SHF_ALLOC))
        return RANK_TABLES;
    if (flags & SHF_EXECINSTR)
        return RANK_CODE;
    if (flags & SHF_WRITE)
        return section->header.sh_type == SHT_NOBITS ? RANK_SPACE : RANK_DATA;
    return part->is_layered && begins(section->name, ".nv.constant0.") ? RANK_PARAMETERS
                                                                                                : RANK_CONSTANTS;
}

static size_t class_find(const ClassVec *classes, const PartSection *section)
{
    for (size_t i = 0; i < classes->count; i++) {
        const Class *class = &classes->data[i];
        if (class->length == section->class_length && class->is_shared == !section->owner &&
            strncmp(class->name, section->name, class->length) == 0)
            return i;
    }
    return classes->count;
}

/* The order of the classes: that of their ranks, and else that of the parts, each class that is new to it after the one
 * before it in its part. */
static ClassVec classes_order(Merge *merge)
{
    ClassVec classes = {0};
    for (size_t p = 0; p < merge->part_count; p++) {
        const Part *part = &merge->parts[p];
        size_t place = 0; /* where the next new class goes */
        for (size_t i = 1; i < part->section_count; i++) {
            const PartSection *section = &part->sections[i];
            if (section->is_dropped)
                continue;
            size_t at = class_find(&classes, section);
            if (at == classes.count) {
                VEC_PUSH(merge->arena, classes, (Class){0});
                const int rank = rank_of(part, section);
                at = place;
                while (at > 0 && classes.data[at - 1].rank > rank)
                    at--;
                while (at + 1 < classes.count && classes.data[at].rank < rank)
                    at++;
                memmove(&classes.data[at + 1], &classes.data[at], (classes.count - 1 - at) * sizeof(Class));
                classes.data[at] = (Class){section->name, section->class_length, !section->owner, rank};
            }
            place = at + 1;
        }
    }
    return classes;
}

/* The class of a section, as a place in 'classes'. Space for shared and global variables is one class, in which ptxas
 * puts the kernels' sections after those that they share, except the first kernel's. */
static size_t class_of(const ClassVec *classes, const Part *part, const PartSection *section)
{
    if (rank_of(part, section) != RANK_SPACE)
        return class_find(classes, section);
    for (size_t i = 0; i < classes->count; i++)
        if (classes->data[i].rank == RANK_SPACE)
            return i;
    return classes->count;
}

/* Gives a section its place: its own, or that of the same section of another part. */
static void section_place(Merge *merge, const Part *part, PartSection *section, Map *shared)
{
    const uint64_t key = hash_fnv(section->name, strlen(section->name), HASH_START) | 1;
    const uint64_t *known = section->owner ? NULL : map_get(shared, key);
    if (known && strcmp(merge->sections[*known].name, section->name) == 0) {
        section->to = (uint32_t)*known;
        return;
    }
    if (!section->owner)
        map_put(shared, key, merge->section_count);
    section->to = (uint32_t)merge->section_count;
    merge->sections[merge->section_count++] = (MergedSection){
        .name = section->name, .part = part, .section = section, .size = section->header.sh_size};
}

/* Gives every section of every part its place. */
static void sections_order(Merge *merge)
{
    const ClassVec classes = classes_order(merge);
    Map shared = {.arena = merge->arena};
    size_t most = 1;
    size_t **class = ARENA_ARRAY(merge->arena, size_t *, merge->part_count);
    for (size_t p = 0; p < merge->part_count; p++) {
        Part *part = &merge->parts[p];
        most += part->section_count;
        class[p] = ARENA_ARRAY(merge->arena, size_t, part->section_count);
        for (size_t i = 1; i < part->section_count; i++)
            class[p][i] = part->sections[i].is_dropped ? SIZE_MAX : class_of(&classes, part, &part->sections[i]);
        if (part->section_count)
            part->sections[0].to = 0;
    }
    merge->sections = ARENA_ARRAY(merge->arena, MergedSection, most);
    memset(merge->sections, 0, most * sizeof *merge->sections);
    merge->section_count = 1;
    for (size_t c = 0; c < classes.count; c++)
        for (size_t p = 0; p < merge->part_count; p++)
            for (size_t i = 1; i < merge->parts[p].section_count; i++)
                if (class[p][i] == c)
                    section_place(merge, &merge->parts[p], &merge->parts[p].sections[i], &shared);
}

static bool headers_agree(const Elf64_Shdr *a, const Elf64_Shdr *b)
{
    return a->sh_type == b->sh_type && a->sh_flags == b->sh_flags && a->sh_entsize == b->sh_entsize &&
           a->sh_addralign == b->sh_addralign && a->sh_addr == b->sh_addr;
}

/* A section of which the merged cubin has one: the bytes in a part, with new indices. */
static void content_of(Merge *merge, const Part *part, const PartSection *section, Buf *to)
{
    if (section_is_relocations(section))
        relocations_copy(merge, part, section, to);
    else if (section->bytes)
        buf_write(to, section->bytes, section->header.sh_size);
}

/* Checks that all parts have a section, and that it is the same; 'merged' has that of the first. */
static void check_same(Merge *merge, MergedSection *merged)
{
    for (size_t p = 0; p < merge->part_count; p++) {
        const Part *part = &merge->parts[p];
        const PartSection *section = part_section(part, merged->name);
        if (!section || !headers_agree(&section->header, &merged->section->header) ||
            section->header.sh_size != merged->section->header.sh_size) {
            merge_fail(merge, "'%s' differs between parts", merged->name);
            return;
        }
        Buf bytes = {0};
        content_of(merge, part, section, &bytes);
        if (bytes.length != merged->bytes.length ||
            memcmp(buf_text(&bytes), buf_text(&merged->bytes), bytes.length) != 0)
            merge_fail(merge, "'%s' differs between parts", merged->name);
        buf_free(&bytes);
    }
}

/* The largest of sections without bytes; it may be missing in some parts. */
static void check_largest(Merge *merge, MergedSection *merged)
{
    for (size_t p = 0; p < merge->part_count; p++) {
        const PartSection *section = part_section(&merge->parts[p], merged->name);
        if (!section)
            continue;
        if (!headers_agree(&section->header, &merged->section->header) || section->bytes)
            merge_fail(merge, "'%s' differs between parts", merged->name);
        if (section->header.sh_size > merged->size)
            merged->size = section->header.sh_size;
    }
}

/* The second form of a kernel's code begins with the number of the section with the first form. */
static void mercury_copy(Merge *merge, const Part *part, const PartSection *section, Buf *to)
{
    const char *code = arena_printf(merge->arena, ".text.%s", section->owner);
    const PartSection *plain = part_section(part, code);
    if (!plain || section->header.sh_size < 4 || !section->bytes ||
        read_32(section->bytes) != (uint32_t)(plain - part->sections)) {
        merge_fail(merge, "'%s' is not as expected", section->name);
        return;
    }
    buf_write(to, &plain->to, sizeof plain->to);
    buf_write(to, section->bytes + 4, section->header.sh_size - 4);
}

static void owned_copy(Merge *merge, MergedSection *merged)
{
    const PartSection *section = merged->section;
    if (begins(section->name, ".nv.capmerc.text."))
        mercury_copy(merge, merged->part, section, &merged->bytes);
    else if (begins(section->name, ".nv.info.") || begins(section->name, ".nv.merc.nv.info."))
        attributes_copy(merge, merged->part, section, &merged->bytes);
    else
        content_of(merge, merged->part, section, &merged->bytes);
}

static MergedSection *merged_find(Merge *merge, const char *name)
{
    for (size_t i = 1; i < merge->section_count; i++)
        if (strcmp(merge->sections[i].name, name) == 0)
            return &merge->sections[i];
    return NULL;
}

/* Frames and their relocations, at the section of the frames. */
static void frames_fill(Merge *merge, MergedSection *frames)
{
    static const char *const names[][2] = {{".debug_frame", ".rela.debug_frame"},
                                           {".debug_frame", ".rel.debug_frame"},
                                           {".nv.merc.debug_frame", ".nv.merc.rela.debug_frame"}};
    for (size_t i = 0; i < COUNT_OF(names); i++) {
        MergedSection *relocations = strcmp(frames->name, names[i][0]) == 0 ? merged_find(merge, names[i][1]) : NULL;
        if (!relocations)
            continue;
        frames_merge(merge, names[i][0], names[i][1], &frames->bytes, &relocations->bytes);
        return;
    }
    if (!section_is_relocations(frames->section))
        merge_fail(merge, "'%s' has no relocations", frames->name);
}

static void section_fill(Merge *merge, MergedSection *merged)
{
    switch (merged->section->use) {
    case USE_TABLE: break; /* merged_write */
    case USE_OWNED: owned_copy(merge, merged); break;
    case USE_SAME:
        content_of(merge, merged->part, merged->section, &merged->bytes);
        check_same(merge, merged);
        break;
    case USE_FIRST: content_of(merge, merged->part, merged->section, &merged->bytes); break;
    case USE_LARGEST: check_largest(merge, merged); break;
    case USE_COMPATIBLE: compatibility_merge(merge, merged->name, &merged->bytes); break;
    case USE_FRAMES: frames_fill(merge, merged); break;
    case USE_ATTRIBUTES: attributes_merge(merge, merged->name, &merged->bytes); break;
    case USE_CALLS: calls_merge(merge, merged->name, &merged->bytes); break;
    }
}

/* The facts of the header that must be the same. */
static bool same_machine(const Elf64_Ehdr *a, const Elf64_Ehdr *b)
{
    return memcmp(a->e_ident, b->e_ident, EI_NIDENT) == 0 && a->e_flags == b->e_flags && a->e_version == b->e_version &&
           a->e_entry == b->e_entry && a->e_phentsize == b->e_phentsize;
}

/* No kernel may be in two parts. */
static void check_kernels(Merge *merge)
{
    Map seen = {.arena = merge->arena};
    for (size_t i = 1; i < merge->section_count; i++) {
        const char *name = merge->sections[i].name;
        const uint64_t key = hash_fnv(name, strlen(name), HASH_START) | 1;
        if (map_get(&seen, key))
            merge_fail(merge, "two parts have a section '%s'", name);
        map_put(&seen, key, i);
    }
}

const char *cubins_merge(Arena *arena, const CubinPart *parts, size_t count, Buf *file)
{
    Merge merge = {.arena = arena, .part_count = count};
    merge.parts = ARENA_ARRAY(arena, Part, count);
    for (size_t i = 0; i < count; i++) {
        const char *problem = part_read(arena, parts[i].bytes, parts[i].size, &merge.parts[i]);
        if (problem)
            return problem;
        if (!same_machine(&merge.parts[0].header, &merge.parts[i].header))
            return "the parts are for different machines";
    }
    sections_order(&merge);
    if (merge.section_count >= SHN_LORESERVE)
        return "it has too many sections for one cubin";
    check_kernels(&merge);
    symbols_merge(&merge);
    for (size_t i = 1; i < merge.section_count && !merge.problem; i++)
        section_fill(&merge, &merge.sections[i]);
    if (!merge.problem)
        merged_write(&merge, file);
    for (size_t i = 1; i < merge.section_count; i++)
        buf_free(&merge.sections[i].bytes);
    if (merge.problem)
        buf_free(file);
    return merge.problem;
}
