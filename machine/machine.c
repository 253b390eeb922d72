/* Machines by name. */
#include "machine/machine.h"

#include "machine/table.h"

#include <string.h>

const Machine *machine_list(size_t *count)
{
    *count = machine_table_count;
    return machine_table;
}

const Machine *machine_for(const char *arch)
{
    static const char *const prefixes[] = {"sm_", "compute_"};
    const char *digits = NULL;
    for (size_t i = 0; i < sizeof prefixes / sizeof prefixes[0]; i++) {
        size_t length = strlen(prefixes[i]);
        if (strncmp(arch, prefixes[i], length) == 0)
            digits = arch + length;
    }
    if (!digits || *digits < '1' || *digits > '9')
        return NULL;
    unsigned number = 0;
    const char *end = digits;
    for (; *end >= '0' && *end <= '9'; end++) {
        if (end - digits == 4)
            return NULL;
        number = number * 10 + (unsigned)(*end - '0');
    }
    /* 'a' (this very architecture) and 'f' (its family) say which instructions there are, not what an SM holds. */
    if (*end == 'a' || *end == 'f')
        end++;
    if (*end != '\0')
        return NULL;
    for (size_t i = 0; i < machine_table_count; i++) {
        if (machine_table[i].arch == number)
            return &machine_table[i];
    }
    return NULL;
}
