// Scalar products of many pairs of vectors: blocks loop over the pairs, 1024 partial sums in shared memory over a pair,
// then a tree. There are more partial sums than threads, so that the sum does not depend on the size of a block.

#define SUMS 1024

extern "C" __global__ void scalarprod(float *result, const float *a, const float *b, int pairs, int n)
{
    __shared__ float sums[SUMS];

    for (int pair = blockIdx.x; pair < pairs; pair += gridDim.x) {
        int begin = n * pair;
        int end = begin + n;
        for (int i = threadIdx.x; i < SUMS; i += blockDim.x) {
            float sum = 0.0f;
            for (int position = begin + i; position < end; position += SUMS)
                sum += a[position] * b[position];
            sums[i] = sum;
        }
        for (int stride = SUMS / 2; stride > 0; stride >>= 1) {
            __syncthreads();
            for (int i = threadIdx.x; i < stride; i += blockDim.x)
                sums[i] += sums[stride + i];
        }
        if (threadIdx.x == 0)
            result[pair] = sums[0];
        __syncthreads();
    }
}
