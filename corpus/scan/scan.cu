// Exclusive prefix sums of one block, in the naive way: log n steps over all elements between two buffers that swap
// places at each step.

extern "C" __global__ void scan_naive(float *out, const float *in, int n)
{
    extern __shared__ float buffers[];

    int t = threadIdx.x;
    int to = 0;
    int from = 1;
    buffers[t] = t > 0 ? in[t - 1] : 0.0f;
    __syncthreads();

    for (int offset = 1; offset < n; offset *= 2) {
        to = 1 - to;
        from = 1 - from;
        if (t >= offset)
            buffers[to * n + t] = buffers[from * n + t] + buffers[from * n + t - offset];
        else
            buffers[to * n + t] = buffers[from * n + t];
        __syncthreads();
    }
    out[t] = buffers[to * n + t];
}
