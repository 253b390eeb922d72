/* Relocations, and the frames of functions (.debug_frame, DWARF 3, 6.4.1, in its 64-bit form, as ptxas writes them). */
#include <string.h>

#include "split/internal.h"

static bool has_addends(const PartSection *section) { return section->header.sh_entsize == sizeof(Elf64_Rela); }

static size_t relocation_count(Merge *merge, const PartSection *section)
{
    const uint64_t size = section->header.sh_entsize;
    if (!section->bytes)
        return 0;
    if ((size != sizeof(Elf64_Rela) && size != sizeof(Elf64_Rel)) || section->header.sh_size % size) {
        merge_fail(merge, "'%s' has relocations of an unknown size", section->name);
        return 0;
    }
    return section->header.sh_size / size;
}

/* The relocation; without an addend, that is 0. */
static Elf64_Rela relocation_at(const PartSection *section, size_t i)
{
    Elf64_Rela relocation = {0};
    memcpy(&relocation, section->bytes + i * section->header.sh_entsize, section->header.sh_entsize);
    return relocation;
}

/* Appends it with its new symbol. */
static void relocation_write(const PartSection *section, Elf64_Rela relocation, uint32_t symbol, Buf *to)
{
    relocation.r_info = ELF64_R_INFO((uint64_t)symbol, ELF64_R_TYPE(relocation.r_info));
    buf_write(to, &relocation, has_addends(section) ? sizeof(Elf64_Rela) : sizeof(Elf64_Rel));
}

void relocations_copy(Merge *merge, const Part *part, const PartSection *section, Buf *to)
{
    const PartSymbols *symbols = part_symbols_of(part, section);
    const size_t count = relocation_count(merge, section);
    for (size_t i = 0; i < count; i++) {
        const Elf64_Rela relocation = relocation_at(section, i);
        const uint32_t symbol = symbols ? symbol_to(symbols, ELF64_R_SYM(relocation.r_info)) : NOWHERE;
        if (symbol == NOWHERE)
            merge_fail(merge, "'%s' has a relocation with an unknown symbol", section->name);
        relocation_write(section, relocation, symbol, to);
    }
}

/* An entry of .debug_frame: a common one (CIE), or that of a function (FDE), which names its common one. */
typedef struct Frame {
    size_t begin, end;
    size_t common; /* index of its common entry; its own: it is one */
    bool is_kept;
    uint64_t to; /* new offset */
} Frame;

typedef struct FrameList {
    VEC(Frame) frames;
    uint64_t size; /* of those that are kept */
} FrameList;

enum { LENGTH_SIZE = 12, ID_END = LENGTH_SIZE + 8 };

static uint64_t read_64(const unsigned char *bytes)
{
    uint64_t word;
    memcpy(&word, bytes, sizeof word);
    return word;
}

static size_t frame_index(const FrameList *list, uint64_t begin)
{
    for (size_t i = list->frames.count; i-- > 0;)
        if (list->frames.data[i].begin == begin)
            return i;
    return list->frames.count;
}

static void frames_read(Merge *merge, const PartSection *section, FrameList *list)
{
    *list = (FrameList){0};
    const size_t size = section->bytes ? section->header.sh_size : 0;
    for (size_t at = 0; at < size && !merge->problem;) {
        const unsigned char *bytes = section->bytes + at;
        const size_t rest = size - at;
        if (rest < ID_END || read_32(bytes) != UINT32_MAX || read_64(bytes + 4) > rest - LENGTH_SIZE ||
            read_64(bytes + 4) < 8) {
            merge_fail(merge, "'%s' is not as expected", section->name);
            return;
        }
        Frame frame = {.begin = at, .end = at + LENGTH_SIZE + read_64(bytes + 4), .common = list->frames.count};
        const uint64_t id = read_64(bytes + LENGTH_SIZE);
        if (id != UINT64_MAX) {
            frame.common = frame_index(list, id);
            if (frame.common == list->frames.count) {
                merge_fail(merge, "'%s' refers to an entry that there is not", section->name);
                return;
            }
        }
        VEC_PUSH(merge->arena, list->frames, frame);
        at = frame.end;
    }
}

/* The frame with the byte at 'offset'; NULL if there is none. */
static Frame *frame_at(FrameList *list, uint64_t offset)
{
    size_t low = 0, high = list->frames.count;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        if (list->frames.data[middle].end <= offset)
            low = middle + 1;
        else
            high = middle;
    }
    return low < list->frames.count ? &list->frames.data[low] : NULL;
}

/* Keeps the frames of functions that the merged cubin has, and their common entries. */
static void frames_keep(Merge *merge, const Part *part, const PartSection *relocations, FrameList *list)
{
    const PartSymbols *symbols = part_symbols_of(part, relocations);
    const size_t count = relocation_count(merge, relocations);
    for (size_t i = 0; i < count; i++) {
        const Elf64_Rela relocation = relocation_at(relocations, i);
        Frame *frame = frame_at(list, relocation.r_offset);
        if (!symbols || !frame) {
            merge_fail(merge, "'%s' has a relocation outside of the frames", relocations->name);
            return;
        }
        if (symbol_to(symbols, ELF64_R_SYM(relocation.r_info)) != NOWHERE)
            frame->is_kept = list->frames.data[frame->common].is_kept = true;
    }
}

static void frames_write(const PartSection *section, FrameList *list, Buf *to)
{
    for (size_t i = 0; i < list->frames.count; i++) {
        Frame *frame = &list->frames.data[i];
        if (!frame->is_kept)
            continue;
        frame->to = to->length;
        buf_write(to, section->bytes + frame->begin, frame->end - frame->begin);
        if (frame->common != i)
            memcpy(to->data + frame->to + LENGTH_SIZE, &list->frames.data[frame->common].to, 8);
    }
}

void frames_merge(Merge *merge, const char *name, const char *relocations, Buf *frames, Buf *to)
{
    FrameList *lists = ARENA_ARRAY(merge->arena, FrameList, merge->part_count);
    for (size_t i = 0; i < merge->part_count && !merge->problem; i++) {
        const Part *part = &merge->parts[i];
        const PartSection *section = part_section(part, name), *those = part_section(part, relocations);
        if (!section || !those) {
            merge_fail(merge, "a part has no '%s'", section ? relocations : name);
            return;
        }
        frames_read(merge, section, &lists[i]);
        if (merge->problem)
            return;
        frames_keep(merge, part, those, &lists[i]);
        frames_write(section, &lists[i], frames);
    }
    for (size_t i = merge->part_count; i-- > 0 && !merge->problem;) {
        const Part *part = &merge->parts[i];
        const PartSection *those = part_section(part, relocations);
        const PartSymbols *symbols = part_symbols_of(part, those);
        const size_t count = relocation_count(merge, those);
        for (size_t r = 0; r < count; r++) {
            Elf64_Rela relocation = relocation_at(those, r);
            const uint32_t symbol = symbol_to(symbols, ELF64_R_SYM(relocation.r_info));
            if (symbol == NOWHERE)
                continue;
            const Frame *frame = frame_at(&lists[i], relocation.r_offset);
            relocation.r_offset += frame->to - frame->begin;
            relocation_write(those, relocation, symbol, to);
        }
    }
}
