/* The time of launches by the time model (docs/time.md), with noise, if $PTXOPT_EMULATED_NOISE gives its standard
 * deviation as a part of the time: for programs that measure. */
#include <math.h>
#include <stdlib.h>

#include "cost/cost.h"
#include "emulated/clock.h"

/* The noise; negative: time is counted in instructions. */
static double clock_noise(void)
{
    const char *text = getenv("PTXOPT_EMULATED_NOISE");
    return text && *text ? strtod(text, NULL) : -1;
}

bool clock_is_modelled(void)
{
    return clock_noise() >= 0;
}

/* A number between 0 and 1, the same in each run with $PTXOPT_EMULATED_SEED. */
static double random_unit(void)
{
    static uint64_t state;
    const char *seed = getenv("PTXOPT_EMULATED_SEED");
    if (!state)
        state = (seed ? strtoull(seed, NULL, 10) : 1) * UINT64_C(0x9e3779b97f4a7c15) | 1;
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return ((double)(state >> 11) + 0.5) / 9007199254740992.0;
}

/* After Box and Muller; no less than a tenth of the time. */
static double noisy(double time)
{
    const double turn = 6.283185307179586;
    const double deviation = sqrt(-2 * log(random_unit())) * cos(turn * random_unit());
    return time * fmax(0.1, 1 + clock_noise() * deviation);
}

/* The product of the architecture, with fewer multiprocessors. */
static Device device_of(const ClockPlace *place)
{
    Arch arch = {0};
    arch_parse(place->architecture, &arch);
    Device device = *device_for(arch.number);
    device_slice(&device, place->multiprocessors);
    return device;
}

double clock_of_run(Arena *arena, const ClockPlace *place, const FunctionForm *form, const Launch *launch,
                    const EmulatorResult *result)
{
    const Device device = device_of(place);
    const Profile *profile = profile_of_run(arena, form, launch, 1, result);
    const Time time =
        time_predict(profile, sm_limits_for(place->architecture), &device, place->registers, place->shared);
    return time.known ? noisy(1e-3 * time.microseconds) : 1e-6 * (double)result->counters.warp_instructions;
}
