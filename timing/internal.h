/* The interface between the files of timing/. In the order of their calls, each calling only those before it: images.c,
 * launch.c, rounds.c; device.c. */
#ifndef PTXOPT_TIMING_INTERNAL_H
#define PTXOPT_TIMING_INTERNAL_H

#include "timing/images.h"
#include "timing/timing.h"

/* launch.c */
uint64_t gpu_argument_bytes(const LaunchArgument *argument);

#endif
