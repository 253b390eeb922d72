/* Special registers by name: ir/table/sregs.def. */
#include "ir/table/internal.h"

#include <string.h>

typedef struct SregRow {
    Sreg sreg; /* first: a pointer to it is one to the row */
    SregReads reads;
} SregRow;

static const SregRow rows[] = {
#define SREG(name, role, axis, type, reads, dependence, min_version, min_sm)                                           \
    {{name, SREG_AXIS_##axis == SREG_AXIS_ALL ? 4 : 1, SREG_ROLE_##role, SREG_AXIS_##axis, SREG_##dependence,          \
      TYPE_##type, min_version, min_sm},                                                                               \
     SREG_##reads},
#include "ir/table/sregs.def"
#undef SREG
};

static const Sreg *find(const char *name)
{
    size_t low = 0, high = COUNT_OF(rows);
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        int order = strcmp(name, rows[middle].sreg.name);
        if (!order)
            return &rows[middle].sreg;
        if (order < 0)
            high = middle;
        else
            low = middle + 1;
    }
    return NULL;
}

const Sreg *sreg_find(const char *name)
{
    static const char colors[] = "rgba", components[] = "xyzw";
    const Sreg *sreg = find(name);
    size_t length = strlen(name);
    if (sreg || length < 3 || length > 60 || name[length - 2] != '.' || !strchr(colors, name[length - 1]))
        return sreg;
    char spelling[64];
    memcpy(spelling, name, length + 1);
    spelling[length - 1] = components[strchr(colors, name[length - 1]) - colors];
    return find(spelling);
}

const Sreg *sreg_component(const Sreg *vector, unsigned axis)
{
    /* The components follow their vector in the table: .w, .x, .y, .z. */
    require(vector->axis == SREG_AXIS_ALL && axis < 4);
    const SregRow *row = (const SregRow *)vector + 1 + (axis + 1) % 4;
    require(row->sreg.role == vector->role && row->sreg.axis == axis);
    return &row->sreg;
}

SregReads sreg_reads(const Sreg *sreg)
{
    return ((const SregRow *)sreg)->reads;
}

const char *sreg_closest(const char *name)
{
    const char *names[COUNT_OF(rows)];
    size_t count = 0;
    /* Components before their vectors: "%tidx" is "%tid.x". */
    for (int vector = 0; vector < 2; vector++)
        for (size_t i = 0; i < COUNT_OF(rows); i++)
            if ((rows[i].sreg.vector > 1) == vector)
                names[count++] = rows[i].sreg.name;
    return closest_word(name, names, count);
}
