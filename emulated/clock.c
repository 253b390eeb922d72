/* The time of launches by the time model (docs/time.md), with noise, if $PTXOPT_EMULATED_NOISE gives its standard
 * deviation as a part of the time: for programs that measure. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "cost/cost.h"
#include "emulated/clock.h"
#include "emulated/device.h"

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

/* The product of the architecture with the machine file's figures, reduced to the device's multiprocessors. */
static Device modelled;
static Arena *modelled_arena; /* of its name; NULL: 'modelled' is not set yet */

bool clock_open(void)
{
    const char *path = getenv("PTXOPT_EMULATED_MACHINE"), *error = NULL;
    if (modelled_arena)
        return true;
    Arch arch = {0};
    arch_parse(DEVICE_ARCHITECTURE, &arch);
    modelled_arena = arena_new();
    modelled = *device_for(arch.number);
    Device changed = modelled;
    const bool done = !path || !*path || device_read(modelled_arena, path, &changed, &error);
    if (done)
        modelled = changed;
    else
        fprintf(stderr, "PTXOPT_EMULATED_MACHINE: %s\n", error);
    device_slice(&modelled, MULTIPROCESSORS);
    return done;
}

const Device *clock_device(void)
{
    if (!clock_is_modelled())
        return NULL;
    clock_open();
    return &modelled;
}

double clock_of_run(Arena *arena, const ClockPlace *place, const FunctionForm *form, const Launch *launch,
                    const EmulatorResult *result)
{
    const Device *device = clock_device();
    const Profile *profile = profile_of_run(arena, form, launch, 1, result);
    const SmUse use = {.registers = place->registers, .shared = place->shared};
    const Time time = time_predict(profile, sm_limits_for(place->architecture), device, &use);
    return time.known ? noisy(1e-3 * time.microseconds) : 1e-6 * (double)result->counters.warp_instructions;
}
