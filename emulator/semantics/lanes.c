#include "emulator/semantics/lanes.h"

#include <stddef.h>

extern RowFunction *const rows_avx2[ROW_COUNT], *const rows_portable[ROW_COUNT];
extern const LaneLoops loops_avx2;

#define ROWS_TABLE rows_portable
#define LOOPS_TABLE static const LaneLoops loops_portable
#include "emulator/semantics/lanes.inc"

RowFunction *row_function(RowId id)
{
#if defined(__x86_64__)
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
        return rows_avx2[id];
#endif
    return rows_portable[id];
}

const LaneLoops *lane_loops(void)
{
#if defined(__x86_64__)
    if (__builtin_cpu_supports("avx2"))
        return &loops_avx2;
#endif
    return &loops_portable;
}

#define BLEND(T)                                                                                                       \
    do {                                                                                                               \
        T *to = d;                                                                                                     \
        const T *from = value;                                                                                         \
        EACH_LANE                                                                                                      \
        {                                                                                                              \
            to[i] = mask >> i & 1 ? from[i] : to[i];                                                                   \
        }                                                                                                              \
    } while (0)

void row_blend(void *d, const void *value, uint32_t mask, unsigned element_bytes)
{
    switch (element_bytes) {
    case 2: BLEND(uint16_t); break;
    case 4: BLEND(uint32_t); break;
    case 8: BLEND(uint64_t); break;
    default:
        for (unsigned i = 0; i < LANES; i++)
            if (mask >> i & 1)
                memcpy((char *)d + i * element_bytes, (const char *)value + i * element_bytes, element_bytes);
    }
}
