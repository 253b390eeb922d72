// Cooperative groups.

#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
#include <cooperative_groups/scan.h>

namespace cg = cooperative_groups;

extern "C" __global__ void tiles(int *data)
{
    cg::thread_block block = cg::this_thread_block();
    cg::thread_block_tile<32> warp = cg::tiled_partition<32>(block);
    cg::thread_block_tile<8> tile = cg::tiled_partition<8>(warp);

    int x = data[block.thread_rank()];
    x = cg::reduce(warp, x, cg::plus<int>());
    x += tile.shfl_xor(x, 3);
    block.sync();
    if (x > 5) {
        cg::coalesced_group active = cg::coalesced_threads();
        x += active.shfl(x, 0) + (int)active.thread_rank();
    }
    data[block.thread_rank()] = cg::exclusive_scan(tile, x);
}

extern "C" __global__ void wholeGrid(int *data, int n)
{
    cg::grid_group grid = cg::this_grid();
    for (int step = 0; step < n; step++) {
        data[grid.thread_rank()] += data[(grid.thread_rank() + 1) % grid.size()];
        grid.sync();
    }
}

#if __CUDA_ARCH__ >= 900
extern "C" __global__ void __cluster_dims__(2, 1, 1) cluster(int *data)
{
    __shared__ int mine[32];
    cg::cluster_group group = cg::this_cluster();
    mine[threadIdx.x % 32] = data[threadIdx.x];
    group.sync();
    int *other = group.map_shared_rank(mine, group.block_rank() ^ 1);
    data[threadIdx.x] = other[threadIdx.x % 32];
    group.sync();
}
#endif
