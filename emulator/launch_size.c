/* Launches with other blocks or another grid than their file says. */
#include "emulator/launch_size.h"

unsigned launch_grid_along(const Launch *launch, unsigned axis)
{
    return (unsigned)divide_up(launch->threads[axis], launch->block[axis]);
}

uint64_t launch_shared_of_threads(const Launch *launch)
{
    uint64_t threads = 1;
    for (unsigned i = 0; i < 3; i++) {
        threads *= launch->block[i];
        if (threads > UINT32_MAX) /* far more than a block can have */
            threads = UINT32_MAX;
    }
    return threads * launch->shared_per_thread;
}

Launch *launch_with_block(Arena *arena, const Launch *launch, const unsigned block[3])
{
    Launch *made = ARENA_NEW(arena, Launch);
    require(launch->threads[0]);
    *made = *launch;
    for (unsigned i = 0; i < 3; i++) {
        made->block[i] = block[i];
        made->grid[i] = launch_grid_along(made, i);
    }
    made->dynamic_shared += launch_shared_of_threads(made) - launch_shared_of_threads(launch);
    return made;
}

Launch *launch_changed(Arena *arena, const Launch *launch, const LaunchChange *change)
{
    const LaunchChange none = {0};
    Launch *changed = ARENA_NEW(arena, Launch);
    *changed = *launch;
    change = change ? change : &none;
    for (unsigned i = 0; i < 3; i++) {
        unsigned block = launch->block[i] ? launch->block[i] : 1, grid = launch->grid[i] ? launch->grid[i] : 1;
        changed->block[i] = (unsigned)launch_change_block(change, i, block);
        changed->grid[i] = (unsigned)launch_change_grid(change, i, grid);
    }
    changed->dynamic_shared = launch_change_shared(change, launch->dynamic_shared);
    return changed;
}
