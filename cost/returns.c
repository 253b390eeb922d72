/* How soon warps load their own sectors again, estimated without a launch.
 *
 * A warp whose threads go along rows of their own, by less than a sector in a round of a loop, comes back to the same
 * sectors in the next one, and several loads of a round may be of one sector. In between, it has loaded the other lines
 * of the round: as many as a cache must keep for each warp that shares it (traffic.c), as in counted profiles. */
#include "cost/estimate.h"

#include <math.h>

void returns_add(Arena *arena, Returns *returns, const AccessShape *shape, double executions, double again)
{
    const uint64_t key = hash_mix(shape->rows, shape->returns->index) | 1;
    const uint64_t *place = map_get(&returns->places, key);
    if (!place) {
        map_put(&returns->places, key, returns->loads.count);
        VEC_PUSH(arena, returns->loads, ((Returning){.loop = shape->returns}));
    }
    Returning *found = &returns->loads.data[place ? *place : returns->loads.count - 1];
    found->executions += executions;
    found->again += again;
}

void returns_set(const Estimate *estimate, Returns *returns, Profile *profile)
{
    const LoopForest *loops = analyses_loops(estimate->analyses);
    const double warps = estimate_warps(estimate) * estimate->blocks;
    for (uint32_t i = loops->loop_count; i-- > 0;) /* inner loops come after those around them */
        if (loops->loops[i].parent)
            returns->lines[loops->loops[i].parent->index] += returns->lines[i];
    for (size_t i = 0; i < returns->loads.count; i++) {
        const Returning *each = &returns->loads.data[i];
        const double rounds = estimate->flow[each->loop->header->id].warps * warps;
        const double times = fmax(each->executions, rounds); /* several loads of a round are of one sector */
        const double distance = times > 0 ? fmax(returns->lines[each->loop->index] / times, 1) : 1;
        const int k = ilogb(distance);
        profile->own_reuse[k < REUSE_DISTANCES ? k : REUSE_DISTANCES - 1] += each->again;
    }
}

double returns_total(const Profile *profile)
{
    double sum = 0;
    for (unsigned k = 0; k < REUSE_DISTANCES; k++)
        sum += profile->own_reuse[k];
    return sum;
}
