/* Architectures: the table, by number and by name. */
#include "target/target.h"

#include <stdio.h>
#include <string.h>

#define KIB 1024u

static const Architecture architectures[] = {
#define ARCHITECTURE(number_, version_, version_a_, version_f_, code, registers, warps, blocks, partitions_, shared,   \
                     shared_block, system, cubin, unit, loads)                                                         \
    {                                                                                                                  \
        .number = (number_), .version = (version_), .version_a = (version_a_), .version_f = (version_f_),              \
        .is_assembled = (code), .shared_in_cubin = (cubin)*KIB,                                                        \
        .limits = {                                                                                                    \
            .registers_per_sm = 64 * KIB,                                                                              \
            .registers_per_block = (registers)*KIB,                                                                    \
            .registers_per_thread = 255,                                                                               \
            .threads_per_block = 1024,                                                                                 \
            .threads_per_sm = (warps)*32,                                                                              \
            .warps_per_sm = (warps),                                                                                   \
            .blocks_per_sm = (blocks),                                                                                 \
            .warp_size = 32,                                                                                           \
            .register_unit = 256,                                                                                      \
            .partitions = (partitions_),                                                                               \
            /* A launch is checked as if an SM had four partitions, also on 6.0, which has two. */                     \
            .launch_partitions = 4,                                                                                    \
            .shared_per_sm = (shared)*KIB,                                                                             \
            .shared_per_block = 48 * KIB,                                                                              \
            .shared_per_block_opt_in = (shared_block)*KIB,                                                             \
            .shared_reserved = (system)*KIB,                                                                           \
            .shared_unit = (unit),                                                                                     \
            .loads_parameters = (ParameterLoads)(loads),                                                               \
        },                                                                                                             \
    },
#include "target/architectures.def"
#undef ARCHITECTURE
};

enum { ARCHITECTURE_COUNT = sizeof architectures / sizeof *architectures };

bool arch_parse(const char *text, Arch *arch)
{
    static const char *const prefixes[] = {"sm_", "compute_"};
    for (size_t i = 0; i < sizeof prefixes / sizeof *prefixes; i++) {
        size_t length = strlen(prefixes[i]);
        if (strncmp(text, prefixes[i], length) == 0) {
            text += length;
            break;
        }
    }
    Arch result = {0};
    size_t digits = strspn(text, "0123456789");
    if (digits < 1 || digits > 4)
        return false;
    for (; digits > 0; digits--)
        result.number = result.number * 10 + (unsigned)(*text++ - '0');
    if (*text == 'a' || *text == 'f')
        result.suffix = *text++;
    if (*text != 0)
        return false;
    *arch = result;
    return true;
}

ArchNames arch_names(Arch arch)
{
    ArchNames names;
    int suffix_length = arch.suffix != 0;
    snprintf(names.real, sizeof names.real, "sm_%u%.*s", arch.number, suffix_length, &arch.suffix);
    snprintf(names.virtual, sizeof names.virtual, "compute_%u%.*s", arch.number, suffix_length, &arch.suffix);
    return names;
}

Arch arch_assembled(Arch target)
{
    for (size_t i = 0; i < ARCHITECTURE_COUNT; i++)
        if (architectures[i].is_assembled)
            return target.number < architectures[i].number ? (Arch){architectures[i].number, 0} : target;
    return target;
}

const Architecture *architecture_list(size_t *count)
{
    *count = ARCHITECTURE_COUNT;
    return architectures;
}

const Architecture *architecture_find(unsigned number)
{
    for (size_t i = 0; i < ARCHITECTURE_COUNT; i++)
        if (architectures[i].number == number)
            return &architectures[i];
    return NULL;
}

unsigned architecture_version(const Architecture *architecture, char suffix)
{
    switch (suffix) {
    case 0: return architecture->version;
    case 'a': return architecture->version_a;
    case 'f': return architecture->version_f;
    default: return 0;
    }
}

const SmLimits *architecture_limits(const Architecture *architecture)
{
    return architecture->limits.warps_per_sm > 0 ? &architecture->limits : NULL;
}

/* The suffix says which instructions exist; it has no effect on the limits. */
const SmLimits *sm_limits_for(const char *name)
{
    Arch arch;
    const Architecture *architecture = arch_parse(name, &arch) ? architecture_find(arch.number) : NULL;
    return architecture ? architecture_limits(architecture) : NULL;
}
