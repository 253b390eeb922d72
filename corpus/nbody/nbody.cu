// Gravitational acceleration of every body by every other, positions tiled through shared memory.

#define TILE 64

static __device__ float3 addInteraction(float3 acceleration, float4 self, float4 other, float softening)
{
    float dx = other.x - self.x;
    float dy = other.y - self.y;
    float dz = other.z - self.z;
    float squared = dx * dx + dy * dy + dz * dz + softening;
    float inverse = rsqrtf(squared);
    float scale = other.w * inverse * inverse * inverse;
    acceleration.x += dx * scale;
    acceleration.y += dy * scale;
    acceleration.z += dz * scale;
    return acceleration;
}

extern "C" __global__ void nbody(const float4 *position, float4 *acceleration, int bodies, float softening)
{
    __shared__ float4 tile[TILE];

    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float4 self = position[i];
    float3 sum = {0.0f, 0.0f, 0.0f};

    for (int base = 0; base < bodies; base += TILE) {
        tile[threadIdx.x] = position[base + threadIdx.x];
        __syncthreads();
#pragma unroll 8
        for (int j = 0; j < TILE; j++)
            sum = addInteraction(sum, self, tile[j], softening);
        __syncthreads();
    }
    acceleration[i] = make_float4(sum.x, sum.y, sum.z, 0.0f);
}
