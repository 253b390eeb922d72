/* lanes.inc for x86-64 with AVX2 and FMA; only row_function decides whether it is used. */
#if defined(__x86_64__)
#if defined(__clang__)
#pragma clang attribute push(__attribute__((target("avx2,fma"))), apply_to = function)
#else
#pragma GCC push_options
#pragma GCC target("avx2,fma")
#endif

#include "emulator/semantics/lanes.h"

#include <stddef.h>

#define ROWS_TABLE rows_avx2
#define LOOPS_TABLE const LaneLoops loops_avx2
extern RowFunction *const rows_avx2[ROW_COUNT];
extern const LaneLoops loops_avx2;
#include "emulator/semantics/lanes.inc"

#if defined(__clang__)
#pragma clang attribute pop
#else
#pragma GCC pop_options
#endif
#else
typedef int lanes_avx2_is_for_x86_64;
#endif
