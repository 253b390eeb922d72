/* The emulated device. */
#ifndef PTXOPT_EMULATED_DEVICE_H
#define PTXOPT_EMULATED_DEVICE_H

enum { MULTIPROCESSORS = 2, USUAL_SHARED = 48 * 1024, MOST_SHARED = 227 * 1024 };
#define DEVICE_ARCHITECTURE "sm_90"
#define DEVICE_MEMORY (UINT64_C(4) << 30)  /* bytes */
#define LARGEST_MEMORY (UINT64_C(2) << 30) /* the most that one allocation can have */

#endif
