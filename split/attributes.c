/* Attributes of functions (.nv.info), the graph of calls, and what the code is compatible with.
 *
 * .nv.info is a list of attributes: a byte for the format, one for the attribute, two that are the value or its length.
 * Some have symbols in them. An attribute that is not in the table may have one, too, and is refused. */
#include <stdlib.h>
#include <string.h>

#include "split/internal.h"

enum { FORMAT_NONE = 1, FORMAT_BYTE, FORMAT_HALF, FORMAT_SIZED };

/* The places of an attribute's symbols. */
typedef enum SymbolPlace { SYMBOL_NOWHERE = 1, SYMBOL_FIRST, SYMBOL_ALL } SymbolPlace;

enum { ATTRIBUTE_MIN_STACK_SIZE = 0x12 };

/* By number; names as `cuobjdump -elf` prints them. */
static const unsigned char symbol_places[256] = {
    [0x04] = SYMBOL_NOWHERE, /* CTAIDZ_USED */
    [0x05] = SYMBOL_NOWHERE, /* MAX_THREADS */
    [0x0a] = SYMBOL_FIRST,   /* PARAM_CBANK: the section's symbol */
    [0x0f] = SYMBOL_ALL,     /* EXTERNS */
    [0x10] = SYMBOL_NOWHERE, /* REQNTID */
    [0x11] = SYMBOL_FIRST,   /* FRAME_SIZE */
    [0x12] = SYMBOL_FIRST,   /* MIN_STACK_SIZE */
    [0x15] = SYMBOL_NOWHERE, /* BINDLESS_TEXTURE_BANK */
    [0x16] = SYMBOL_NOWHERE, /* BINDLESS_SURFACE_BANK */
    [0x17] = SYMBOL_NOWHERE, /* KPARAM_INFO */
    [0x19] = SYMBOL_NOWHERE, /* CBANK_PARAM_SIZE */
    [0x1b] = SYMBOL_NOWHERE, /* MAXREG_COUNT */
    [0x1c] = SYMBOL_NOWHERE, /* EXIT_INSTR_OFFSETS */
    [0x1d] = SYMBOL_NOWHERE, /* S2RCTAID_INSTR_OFFSETS */
    [0x1e] = SYMBOL_NOWHERE, /* CRS_STACK_SIZE */
    [0x23] = SYMBOL_FIRST,   /* MAX_STACK_SIZE */
    [0x25] = SYMBOL_NOWHERE, /* LD_CACHEMOD_INSTR_OFFSETS */
    [0x27] = SYMBOL_NOWHERE, /* ATOM_SYS_INSTR_OFFSETS */
    [0x28] = SYMBOL_NOWHERE, /* COOP_GROUP_INSTR_OFFSETS */
    [0x29] = SYMBOL_NOWHERE, /* COOP_GROUP_MASK_REGIDS */
    [0x2b] = SYMBOL_NOWHERE, /* WMMA_USED */
    [0x2d] = SYMBOL_NOWHERE, /* ATOMF16_EMUL_INSTR_OFFSETS */
    [0x2e] = SYMBOL_NOWHERE, /* ATOM16_EMUL_INSTR_REG_MAP */
    [0x2f] = SYMBOL_FIRST,   /* REGCOUNT */
    [0x31] = SYMBOL_NOWHERE, /* INT_WARP_WIDE_INSTR_OFFSETS */
    [0x34] = SYMBOL_NOWHERE, /* INDIRECT_BRANCH_TARGETS */
    [0x35] = SYMBOL_NOWHERE, /* SW2861232_WAR */
    [0x36] = SYMBOL_NOWHERE, /* SW_WAR */
    [0x37] = SYMBOL_NOWHERE, /* CUDA_API_VERSION */
    [0x38] = SYMBOL_NOWHERE, /* NUM_MBARRIERS */
    [0x39] = SYMBOL_NOWHERE, /* MBARRIER_INSTR_OFFSETS */
    [0x3d] = SYMBOL_NOWHERE, /* CTA_PER_CLUSTER */
    [0x3e] = SYMBOL_NOWHERE, /* EXPLICIT_CLUSTER */
    [0x3f] = SYMBOL_NOWHERE, /* MAX_CLUSTER_RANK */
    [0x40] = SYMBOL_NOWHERE, /* INSTR_REG_MAP */
    [0x41] = SYMBOL_NOWHERE, /* RESERVED_SMEM_USED */
    [0x42] = SYMBOL_NOWHERE, /* RESERVED_SMEM_0_SIZE */
    [0x44] = SYMBOL_NOWHERE, /* UNUSED_LOAD_BYTE_OFFSET */
    [0x46] = SYMBOL_NOWHERE, /* SYSCALL_OFFSETS */
    [0x4a] = SYMBOL_NOWHERE, /* VRC_CTA_INIT_COUNT */
    [0x4c] = SYMBOL_NOWHERE, /* NUM_BARRIERS */
    [0x4d] = SYMBOL_NOWHERE, /* TEXMODE_INDEPENDENT */
    [0x4f] = SYMBOL_NOWHERE, /* AT_ENTRY_FRAGMENTS */
    [0x50] = SYMBOL_NOWHERE, /* SPARSE_MMA_MASK */
    [0x51] = SYMBOL_NOWHERE, /* TCGEN05_1CTA_USED */
    [0x52] = SYMBOL_NOWHERE, /* TCGEN05_2CTA_USED */
    [0x53] = SYMBOL_NOWHERE, /* without a name or a value; of sm_100 and later, since CUDA 13.3 */
    [0x54] = SYMBOL_NOWHERE, /* REG_RECONFIG */
    [0x5a] = SYMBOL_NOWHERE, /* MERCURY_FINALIZER_OPTIONS */
    [0x5b] = SYMBOL_NOWHERE, /* BLOCKS_ARE_CLUSTERS */
    [0x5f] = SYMBOL_NOWHERE, /* MERCURY_ISA_VERSION */
    [0x66] = SYMBOL_NOWHERE, /* LANGUAGE, since CUDA 13.3 */
    [0x67] = SYMBOL_NOWHERE, /* without a name; a byte, of sm_107 */
    [0x6b] = SYMBOL_NOWHERE, /* NVSAL_SW_WAR, since CUDA 13.3 */
    [0x6d] = SYMBOL_NOWHERE, /* PREEXIT_USED, since CUDA 13.3 */
};

typedef struct Attribute {
    const unsigned char *bytes; /* with the head of four */
    size_t size;
    unsigned number;
    SymbolPlace place;
} Attribute;

/* The attribute at *at, which moves behind it. False at the end, or if there is a problem. */
static bool attribute_next(Merge *merge, const PartSection *section, size_t *at, Attribute *attribute)
{
    const size_t size = section->bytes ? section->header.sh_size : 0;
    if (merge->problem || *at == size)
        return false;
    *attribute = (Attribute){.bytes = section->bytes + *at, .size = 4};
    if (size - *at < 4) {
        merge_fail(merge, "'%s' ends within an attribute", section->name);
        return false;
    }
    const unsigned format = attribute->bytes[0];
    attribute->number = attribute->bytes[1];
    if (format == FORMAT_SIZED)
        attribute->size += attribute->bytes[2] | (size_t)attribute->bytes[3] << 8;
    attribute->place = symbol_places[attribute->number];
    const bool has_symbols = attribute->place > SYMBOL_NOWHERE;
    if (!attribute->place || format < FORMAT_NONE || format > FORMAT_SIZED || attribute->size > size - *at ||
        (has_symbols && (attribute->size < 8 || attribute->size % 4))) {
        merge_fail(merge, "'%s' has an attribute 0x%02x", section->name, attribute->number);
        return false;
    }
    *at += attribute->size;
    return true;
}

/* Appends an attribute with its new symbols. False, and nothing is appended, if one is not in the merged cubin. */
static bool attribute_write(const PartSymbols *symbols, const Attribute *attribute, Buf *to)
{
    const size_t before = to->length;
    const size_t end = attribute->place == SYMBOL_ALL ? attribute->size : attribute->place == SYMBOL_FIRST ? 8 : 4;
    buf_write(to, attribute->bytes, 4);
    for (size_t at = 4; at < end; at += 4) {
        const uint32_t symbol = symbol_to(symbols, read_32(attribute->bytes + at));
        if (symbol == NOWHERE) {
            to->length = before;
            return false;
        }
        buf_write(to, &symbol, sizeof symbol);
    }
    buf_write(to, attribute->bytes + end, attribute->size - end);
    return true;
}

void attributes_copy(Merge *merge, const Part *part, const PartSection *section, Buf *to)
{
    const PartSymbols *symbols = part_symbols_of(part, section);
    if (!symbols) {
        merge_fail(merge, "'%s' has no table of symbols", section->name);
        return;
    }
    Attribute attribute;
    for (size_t at = 0; attribute_next(merge, section, &at, &attribute);)
        if (!attribute_write(symbols, &attribute, to))
            merge_fail(merge, "'%s' has an attribute 0x%02x with an unknown symbol", section->name, attribute.number);
}

/* By the symbol, the word after the head. */
static int compare_stacks(const void *one, const void *other)
{
    const uint32_t a = read_32((const unsigned char *)one + 4), b = read_32((const unsigned char *)other + 4);
    return a < b ? -1 : a > b;
}

/* An attribute of the module, which all parts must have; unless 'to' is NULL, it is appended. */
static void module_attribute(Merge *merge, const char *name, const Attribute *attribute, Buf *to)
{
    for (size_t i = 0; i < merge->part_count; i++) {
        const PartSection *section = part_section(&merge->parts[i], name);
        Attribute other;
        bool has = false;
        for (size_t at = 0; section && attribute_next(merge, section, &at, &other);)
            has |= other.size == attribute->size && memcmp(other.bytes, attribute->bytes, other.size) == 0;
        if (!has)
            merge_fail(merge, "only some parts have an attribute 0x%02x", attribute->number);
    }
    if (to)
        buf_write(to, attribute->bytes, attribute->size);
}

/* ptxas lists the functions from the last to the first, and then their stacks in the order of symbols. */
void attributes_merge(Merge *merge, const char *name, Buf *to)
{
    enum { STACK_SIZE = 12 };
    Buf stacks = {0};
    for (size_t i = merge->part_count; i-- > 0;) {
        const Part *part = &merge->parts[i];
        const PartSection *section = part_section(part, name);
        const PartSymbols *symbols = section ? part_symbols_of(part, section) : NULL;
        if (section && !symbols)
            merge_fail(merge, "'%s' has no table of symbols", name);
        Attribute attribute;
        for (size_t at = 0; symbols && attribute_next(merge, section, &at, &attribute);) {
            if (attribute.place == SYMBOL_NOWHERE)
                module_attribute(merge, name, &attribute, i == 0 ? to : NULL);
            else if (attribute.place != SYMBOL_FIRST || attribute.size != STACK_SIZE)
                merge_fail(merge, "'%s' has an attribute 0x%02x", name, attribute.number);
            else
                attribute_write(symbols, &attribute, attribute.number == ATTRIBUTE_MIN_STACK_SIZE ? &stacks : to);
        }
    }
    if (stacks.length)
        qsort(stacks.data, stacks.length / STACK_SIZE, STACK_SIZE, compare_stacks);
    buf_write(to, stacks.data, stacks.length);
    buf_free(&stacks);
}

/* The pairs (caller, callee) of symbols; a pair (0, -N) begins the Nth list. */
void calls_merge(Merge *merge, const char *name, Buf *to)
{
    enum { LISTS = 4, PAIR = 8 };
    for (uint32_t list = 1; list <= LISTS; list++) {
        const uint32_t head[2] = {0, 0u - list};
        bool has_head = false;
        for (size_t i = 0; i < merge->part_count; i++) {
            const Part *part = &merge->parts[i];
            const PartSection *section = part_section(part, name);
            const PartSymbols *symbols = section ? part_symbols_of(part, section) : NULL;
            uint32_t current = 0;
            for (size_t at = 0; symbols && section->bytes && at + PAIR <= section->header.sh_size; at += PAIR) {
                const uint32_t from = read_32(section->bytes + at), into = read_32(section->bytes + at + 4);
                const bool is_head = from == 0 && into >= 0u - LISTS;
                if (is_head)
                    current = 0u - into;
                if (!current || (from == 0 && into > INT32_MAX && !is_head))
                    merge_fail(merge, "'%s' has an unknown list", name);
                if (current != list)
                    continue;
                if (is_head && !has_head)
                    buf_write(to, head, sizeof head);
                has_head = true;
                const uint32_t pair[2] = {symbol_to(symbols, from), symbol_to(symbols, into)};
                if (!is_head && pair[0] != NOWHERE && pair[1] != NOWHERE)
                    buf_write(to, pair, sizeof pair);
            }
        }
    }
}

/* The value that suits both parts, if the attribute has such; else it must be the same. */
static void compatibility_join(Merge *merge, const unsigned char *other, unsigned char *to, size_t size)
{
    enum { ATTRIBUTE_LEVEL = 0x02, ATTRIBUTE_LACKS = 0x0b };
    if (size == 4 && to[0] == FORMAT_BYTE && to[1] == ATTRIBUTE_LEVEL && other[0] == to[0] && other[1] == to[1]) {
        to[2] = other[2] > to[2] ? other[2] : to[2];
        to += 3, other += 3, size = 1;
    } else if (size > 4 && to[0] == FORMAT_SIZED && to[1] == ATTRIBUTE_LACKS && memcmp(to, other, 4) == 0) {
        for (size_t at = 4; at < size; at++)
            to[at] &= other[at];
        return;
    }
    if (memcmp(to, other, size) != 0)
        merge_fail(merge, "the parts are compatible with different machines");
}

/* Attributes as in .nv.info: the level of instructions that is needed; bits for what the code has none of; and others,
 * which are the same in all parts. */
void compatibility_merge(Merge *merge, const char *name, Buf *to)
{
    const PartSection *first = part_section(&merge->parts[0], name);
    const size_t size = first && first->bytes ? first->header.sh_size : 0;
    if (first && first->bytes)
        buf_write(to, first->bytes, size);
    for (size_t i = 0; i < merge->part_count; i++) {
        const PartSection *other = part_section(&merge->parts[i], name);
        if (!other || (other->bytes ? other->header.sh_size : 0) != size) {
            merge_fail(merge, "'%s' differs between parts", name);
            return;
        }
        for (size_t at = 0, end; at < size; at = end) {
            const bool is_sized = size - at >= 4 && other->bytes[at] == FORMAT_SIZED;
            const size_t length = is_sized ? other->bytes[at + 2] | (size_t)other->bytes[at + 3] << 8 : 0;
            end = size - at < 4 || length > size - at - 4 ? size : at + 4 + length;
            compatibility_join(merge, other->bytes + at, (unsigned char *)to->data + at, end - at);
        }
    }
}
