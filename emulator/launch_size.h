/* The size of a launch: what follows from the size of its blocks. */
#ifndef PTXOPT_EMULATOR_LAUNCH_SIZE_H
#define PTXOPT_EMULATOR_LAUNCH_SIZE_H

#include "emulator/emulator.h"

/* The blocks that the launch's threads need along the axis. */
unsigned launch_grid_along(const Launch *launch, unsigned axis);
/* The bytes of a block's dynamic shared memory that its number of threads decides. */
uint64_t launch_shared_of_threads(const Launch *launch);

#endif
