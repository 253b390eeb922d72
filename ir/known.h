/* Parameters of a kernel whose values are known, because a launch is. */
#ifndef PTXOPT_IR_KNOWN_H
#define PTXOPT_IR_KNOWN_H

#include "ir/types.h"

typedef struct KnownParameter {
    const Variable *variable;
    const void *bytes; /* little endian */
    uint64_t size;
} KnownParameter;

typedef struct KnownParameters {
    const KnownParameter *of;
    unsigned count;
} KnownParameters;

/* The memory from where a parameter points on. */
typedef struct KnownExtent {
    const Variable *variable;
    uint64_t bytes;
} KnownExtent;

typedef struct KnownExtents {
    const KnownExtent *of;
    unsigned count;
} KnownExtents;

/* A part of a parameter that an instruction loads. */
typedef struct ParameterPart {
    const Variable *variable;
    int64_t offset;
    unsigned bytes;
} ParameterPart;

static inline bool parameter_part_equal(const ParameterPart *a, const ParameterPart *b)
{
    return a->variable == b->variable && a->offset == b->offset && a->bytes == b->bytes;
}

/* Whether the instruction loads a part of a parameter of the kernel at a constant offset, and nothing else. */
struct Inst;
bool inst_loads_parameter(const struct Inst *inst, ParameterPart *out);

/* The value of 'size' bytes, at most 8, at this byte of the parameter; false if it is not known. Parameters are told by
 * their names, because a form of the kernel may have been printed and read again. */
bool known_parameter_value(const KnownParameters *known, const Variable *parameter, uint64_t offset, uint64_t size,
                           uint64_t *value);

/* The extent of the parameter; NULL: unknown. By names, as above. */
const KnownExtent *known_extent(const KnownExtents *known, const Variable *parameter);

/* A scalar of at most 8 bytes with this value, which the arena holds. */
KnownParameter known_parameter(Arena *arena, const Variable *variable, uint64_t value);
/* Those that have the same value in both. */
KnownParameters known_in_both(Arena *arena, const KnownParameters *a, const KnownParameters *b);
/* Those that are known in both, with the greater number of bytes. */
KnownExtents known_extents_of_both(Arena *arena, const KnownExtents *a, const KnownExtents *b);

#endif
