/* The time at which the last block ends: list scheduling over the device's places for blocks, with a heap of the times
 * at which they become free. */
#include "cost/internal.h"

#include <math.h>
#include <string.h>

/* Sinks the first element of a heap, the only one that may be out of place. */
static void heap_sink(double *heap, size_t count)
{
    size_t at = 0;
    for (;;) {
        size_t least = at;
        for (size_t child = 2 * at + 1; child <= 2 * at + 2 && child < count; child++)
            if (heap[child] < heap[least])
                least = child;
        if (least == at)
            return;
        double held = heap[at];
        heap[at] = heap[least];
        heap[least] = held;
        at = least;
    }
}

static bool are_alike(const Profile *profile)
{
    for (size_t i = 1; i < (size_t)profile->blocks; i++)
        if (profile->block_lengths[i] != profile->block_lengths[0])
            return false;
    return true;
}

double blocks_of_busiest(const Profile *profile, const Device *device)
{
    enum { PACKED_WARPS = 4 };
    const double warps = divide_up((size_t)profile->block_threads, WARP_THREADS);
    const double pack = fmax(floor(PACKED_WARPS / warps), 1);
    return fmin(ceil(profile->blocks / device->multiprocessors / pack) * pack, profile->blocks);
}

static double length_of(const Profile *profile, size_t block, double spread)
{
    return profile->block_lengths ? fmax(1 + spread * (profile->block_lengths[block] - 1), 0) : 1;
}

double working_share(const Profile *profile)
{
    const double idle = 0.5; /* of the mean length */
    double working = 0;
    for (size_t i = 0; profile->block_lengths && i < (size_t)profile->blocks; i++)
        working += profile->block_lengths[i] >= idle;
    return profile->block_lengths ? working / profile->blocks : 1;
}

double busiest_share(const Profile *profile, const Device *device)
{
    double total = 0;
    if (!profile->block_lengths || are_alike(profile))
        return blocks_of_busiest(profile, device) / profile->blocks;
    for (size_t i = 0; i < (size_t)profile->blocks; i++)
        total += profile->block_lengths[i];
    return blocks_makespan(profile, device->multiprocessors, 0, 1) / total;
}

double scheduler_share(const Profile *profile, const Device *device, double resident)
{
    const size_t schedulers = (size_t)device->schedulers, blocks = (size_t)profile->blocks;
    if (!profile->place_work || schedulers < 1 || schedulers > WARP_PLACES)
        return 1;
    const size_t warps = divide_up((size_t)profile->block_threads, WARP_THREADS);
    const size_t sms = (size_t)device->multiprocessors, turn = sms * (size_t)resident;
    double busiest = 0, all = 0;
    for (size_t first = 0; first < blocks; first += turn)
        for (size_t sm = first; sm < first + sms && sm < blocks; sm++) {
            double work[WARP_PLACES] = {0}, most = 0;
            for (size_t block = sm, next = 0; block < first + turn && block < blocks; block += sms, next += warps)
                for (size_t place = 0; place < WARP_PLACES; place++)
                    work[(next + place) % schedulers] += (double)profile->place_work[block][place];
            for (size_t i = 0; i < schedulers; i++) {
                most = fmax(most, work[i]);
                all += work[i] / (double)schedulers;
            }
            busiest += most;
        }
    return all > 0 ? busiest / all : 1;
}

double blocks_makespan(const Profile *profile, double slots, double start, double spread)
{
    if (!profile->block_lengths || slots >= profile->blocks) {
        double longest = 1;
        for (size_t i = 0; profile->block_lengths && i < (size_t)profile->blocks; i++)
            longest = fmax(length_of(profile, i, spread), longest);
        return (longest + start) * (slots >= profile->blocks ? 1 : ceil(profile->blocks / slots));
    }
    if (are_alike(profile))
        return (length_of(profile, 0, spread) + start) * ceil(profile->blocks / slots);
    Arena *scratch = arena_new();
    size_t count = (size_t)slots;
    double *heap = ARENA_ARRAY(scratch, double, count), last = 0;
    for (size_t i = 0; i < (size_t)profile->blocks; i++) {
        heap[0] += length_of(profile, i, spread) + start;
        last = heap[0] > last ? heap[0] : last;
        heap_sink(heap, count);
    }
    arena_free(scratch);
    return last;
}
