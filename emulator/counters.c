/* What a run counts, in words. */
#include "emulator/simt.h"

#include <inttypes.h>

const char *category_name(Category category)
{
    static const char *const names[CATEGORY_COUNT] = {
        "int",        "float",  "half", "bf16",    "compare", "logic",      "move",
        "memory",     "atomic", "sync", "control", "texture", "surface",    "video",
        "simd-video", "wmma",   "mma",  "wgmma",   "tcgen05", "async-copy", "misc",
    };
    return (unsigned)category < CATEGORY_COUNT ? names[category] : "unknown";
}

void counters_print(const EmulatorCounters *counters, Buf *out)
{
    buf_printf(out, "instructions: %" PRIu64 " warp, %" PRIu64 " thread\n", counters->warp_instructions,
               counters->thread_instructions);
    for (unsigned i = 0; i < CATEGORY_COUNT; i++)
        if (counters->warp_category[i])
            buf_printf(out, "  %-10s %" PRIu64 " warp, %" PRIu64 " thread\n", category_name((Category)i),
                       counters->warp_category[i], counters->thread_category[i]);
    for (unsigned i = 0; i < SPACE_COUNT; i++)
        if (counters->loads[i] || counters->stores[i] || counters->atomics[i])
            buf_printf(out,
                       "%s: %" PRIu64 " loads of %" PRIu64 " bytes, %" PRIu64 " stores of %" PRIu64 " bytes, %" PRIu64
                       " atomics\n",
                       space_name((Space)i), counters->loads[i], counters->load_bytes[i], counters->stores[i],
                       counters->store_bytes[i], counters->atomics[i]);
    buf_printf(out,
               "branches: %" PRIu64 ", divergent: %" PRIu64 "; barriers: %" PRIu64 "; calls: %" PRIu64 "\n",
               counters->branches, counters->divergent_branches, counters->barriers, counters->calls);
    if (counters->warp_waits)
        buf_printf(out, "waits within a warp: %" PRIu64 "\n", counters->warp_waits);
    if (counters->load_sectors || counters->store_sectors || counters->bank_conflicts)
        buf_printf(out,
                   "sectors: %" PRIu64 " loaded, %" PRIu64 " stored; lines: %" PRIu64 " loaded, %" PRIu64
                   " stored; bank conflicts: %" PRIu64 "\n",
                   counters->load_sectors, counters->store_sectors, counters->load_lines, counters->store_lines,
                   counters->bank_conflicts);
}
