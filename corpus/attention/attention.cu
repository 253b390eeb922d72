// Attention of one head in single precision, softmax(Q K^T / 8) V with 64 columns, as flash attention computes it: keys
// and values pass through shared memory tile by tile, with a running maximum and sum, and no row of weights is stored.

#define COLUMNS 64
#define TILE 16

// One query a thread, which holds the query and its result in registers. A block has TILE * 4 threads; keys come in
// multiples of TILE.
extern "C" __global__ void __launch_bounds__(TILE * 4)
attention(const float *queries, const float *keys, const float *values, float *out, int count)
{
    __shared__ float4 tileK[TILE][COLUMNS / 4];
    __shared__ float4 tileV[TILE][COLUMNS / 4];

    int query = blockIdx.x * (TILE * 4) + threadIdx.x;
    const float4 *q = (const float4 *)(queries + query * COLUMNS);
    float4 own[COLUMNS / 4];
    float4 result[COLUMNS / 4];
#pragma unroll
    for (int d = 0; d < COLUMNS / 4; d++) {
        own[d] = q[d];
        result[d] = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
    }
    float maximum = -INFINITY;
    float sum = 0.0f;

    for (int first = 0; first < count; first += TILE) {
        for (int i = threadIdx.x; i < TILE * COLUMNS / 4; i += TILE * 4) {
            tileK[i / (COLUMNS / 4)][i % (COLUMNS / 4)] = ((const float4 *)(keys + first * COLUMNS))[i];
            tileV[i / (COLUMNS / 4)][i % (COLUMNS / 4)] = ((const float4 *)(values + first * COLUMNS))[i];
        }
        __syncthreads();

        for (int k = 0; k < TILE; k++) {
            float score = 0.0f;
#pragma unroll
            for (int d = 0; d < COLUMNS / 4; d++) {
                float4 key = tileK[k][d];
                score += own[d].x * key.x + own[d].y * key.y + own[d].z * key.z + own[d].w * key.w;
            }
            score *= 0.125f;
            float higher = fmaxf(maximum, score);
            float correction = __expf(maximum - higher);
            float weight = __expf(score - higher);
            sum = sum * correction + weight;
            maximum = higher;
#pragma unroll
            for (int d = 0; d < COLUMNS / 4; d++) {
                float4 value = tileV[k][d];
                result[d].x = result[d].x * correction + weight * value.x;
                result[d].y = result[d].y * correction + weight * value.y;
                result[d].z = result[d].z * correction + weight * value.z;
                result[d].w = result[d].w * correction + weight * value.w;
            }
        }
        __syncthreads();
    }

    float4 *to = (float4 *)(out + query * COLUMNS);
#pragma unroll
    for (int d = 0; d < COLUMNS / 4; d++)
        to[d] = make_float4(result[d].x / sum, result[d].y / sum, result[d].z / sum, result[d].w / sum);
}
