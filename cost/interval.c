/* How sure a predicted speedup is: by how much measured speedups of the same kind of change miss predicted ones. */
#include "cost/cost.h"

/* Sectors are the same within this. */
static const double traffic_alike = 1.05;
/* L2 merges parts of sectors for more than this share of its work. */
static const double merged = 0.2;

/* Measured speedups over predicted ones. */
typedef struct Misses {
    double low, cautious, high;
} Misses;

enum { DEVICE_OTHER, DEVICE_FITTED, BASIS_ESTIMATED = 0, BASIS_COUNTED };

static const Misses misses[2][2][CHANGE_KIND_COUNT] = {
#define INTERVAL(device, basis, kind, low, cautious, high) \
    [DEVICE_##device][BASIS_##basis][CHANGE_##kind] = {low, cautious, high},
#include "cost/intervals.def"
#undef INTERVAL
};

const char *change_kind_name(ChangeKind kind)
{
    static const char *const names[CHANGE_KIND_COUNT] = {
        [CHANGE_LOSS] = "slower by prediction",
        [CHANGE_UNEVEN] = "threads make different numbers of trips",
        [CHANGE_FP64] = "FP64 units are the busiest",
        [CHANGE_DRAM] = "DRAM is the busiest before",
        [CHANGE_PARTS] = "sectors are stored in parts",
        [CHANGE_WAVE] = "all blocks run at once",
        [CHANGE_WARPS] = "an SM holds fewer warps",
        [CHANGE_TRAFFIC] = "other global sectors",
        [CHANGE_CODE] = "as many warps and sectors",
    };
    return names[kind];
}

static double sectors(const Profile *profile)
{
    return profile->load_sectors + profile->store_sectors;
}

static bool changes_traffic(const Profile *before, const Profile *after)
{
    const double x = sectors(before), y = sectors(after);
    return x > traffic_alike * y || y > traffic_alike * x;
}

static ChangeKind change_kind(const TimedWork *before, const TimedWork *after)
{
    if (after->time->cycles > before->time->cycles)
        return CHANGE_LOSS;
    if (before->profile->uneven || after->profile->uneven)
        return CHANGE_UNEVEN;
    if (before->time->binding == RESOURCE_FP64 || after->time->binding == RESOURCE_FP64)
        return CHANGE_FP64;
    if (before->time->binding == RESOURCE_DRAM)
        return CHANGE_DRAM;
    if (before->time->binding == RESOURCE_L2 && before->time->merge_share > merged)
        return CHANGE_PARTS;
    if (after->time->waves <= 1)
        return CHANGE_WAVE;
    if (after->time->resident_warps < before->time->resident_warps)
        return CHANGE_WARPS;
    return changes_traffic(before->profile, after->profile) ? CHANGE_TRAFFIC : CHANGE_CODE;
}

Interval interval_of(const TimedWork *before, const TimedWork *after)
{
    const double speedup = before->time->cycles / after->time->cycles;
    const ChangeKind kind = change_kind(before, after);
    const Misses *by = &misses[after->time->on_fitted_device][after->profile->counted][kind];
    return (Interval){kind, by->low * speedup, by->high * speedup, by->cautious * speedup};
}
