// Operations of a whole warp: shuffles, votes, matches.

#define ALL 0xffffffffu

extern "C" __global__ void shuffles(int *data, float *floats, double *doubles, long long *longs)
{
    int i = threadIdx.x;
    int x = data[i];
    x += __shfl_sync(ALL, x, 3);
    x += __shfl_up_sync(ALL, x, 1, 16);
    x += __shfl_down_sync(ALL, x, 2);
    x += __shfl_xor_sync(ALL, x, 5, 8);
    floats[i] = __shfl_down_sync(ALL, floats[i], 16);
    doubles[i] = __shfl_xor_sync(ALL, doubles[i], 1);
    longs[i] = __shfl_sync(ALL, longs[i], i % 7);
    data[i] = x;
}

extern "C" __global__ void votes(int *data, long long *longs)
{
    int i = threadIdx.x;
    int x = data[i];
    unsigned active = __activemask();
    unsigned ballot = __ballot_sync(active, x > 3);
    if (__any_sync(ALL, x == 7) && !__all_sync(ALL, x != 9)) {
        unsigned same = __match_any_sync(__activemask(), x);
        int uniform;
        unsigned whole = __match_all_sync(same, longs[i], &uniform);
        x += __popc(same) + __popc(whole) + uniform;
    }
    __syncwarp(ballot | 1u << (i % 32));
    data[i] = x + (int)ballot;
}

#if __CUDA_ARCH__ >= 800
extern "C" __global__ void reductions(int *data, unsigned *bits)
{
    int i = threadIdx.x;
    data[i] = __reduce_add_sync(ALL, data[i]) + __reduce_max_sync(ALL, data[i]);
    bits[i] = __reduce_or_sync(ALL, bits[i]) ^ __reduce_min_sync(ALL, bits[i]);
}
#endif
