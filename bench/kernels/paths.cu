// Paths that differ between threads: rays, and random walks.
#include <cstdint>
#include <cuda_runtime.h>

__device__ __forceinline__ float3 operator-(float3 a, float3 b)
{
    return make_float3(a.x - b.x, a.y - b.y, a.z - b.z);
}

__device__ __forceinline__ float3 operator*(float a, float3 b)
{
    return make_float3(a * b.x, a * b.y, a * b.z);
}

__device__ __forceinline__ float dot(float3 a, float3 b)
{
    return a.x * b.x + a.y * b.y + a.z * b.z;
}

__device__ __forceinline__ float3 cross(float3 a, float3 b)
{
    return make_float3(a.y * b.z - a.z * b.y, a.z * b.x - a.x * b.z, a.x * b.y - a.y * b.x);
}

// Three reflections of a ray for each pixel, among triangles (Moeller and Trumbore).
extern "C" __global__ void __launch_bounds__(128)
    rays(const float3 *__restrict__ corners, int count, float4 *image, int width, int height, float3 eye, float3 light)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= width || y >= height)
        return;
    float3 from = eye, along = make_float3((x - .5f * width) / width, (y - .5f * height) / width, 1);
    float3 colour = make_float3(0, 0, 0);
    float share = 1;
    for (int bounce = 0; bounce < 3; bounce++) {
        constexpr float far = 1e30f;
        float nearest = far;
        float3 normal = make_float3(0, 0, 0);
        for (int k = 0; k < count; k++) {
            float3 a = corners[3 * k], one = corners[3 * k + 1] - a, two = corners[3 * k + 2] - a;
            float3 p = cross(along, two);
            float determinant = dot(one, p);
            if (fabsf(determinant) < 1e-7f)
                continue;
            float inverse = 1 / determinant;
            float3 s = from - a, q = cross(s, one);
            float u = dot(s, p) * inverse, v = dot(along, q) * inverse, distance = dot(two, q) * inverse;
            if (u < 0 || v < 0 || u + v > 1 || distance < 1e-4f || distance >= nearest)
                continue;
            nearest = distance;
            normal = cross(one, two);
        }
        if (nearest == far)
            break;
        normal = rsqrtf(dot(normal, normal)) * normal;
        float lit = share * fabsf(dot(normal, light));
        colour = colour - lit * make_float3(-1, -.7f, -.4f);
        share *= .5f;
        from = from - -nearest * along;
        along = along - 2 * dot(along, normal) * normal;
    }
    image[y * width + x] = make_float4(colour.x, colour.y, colour.z, 1);
}

// Philox4x32-10 of Salmon and others.
__device__ __forceinline__ uint4 philox(uint4 c, uint2 key)
{
#pragma unroll
    for (int round = 0; round < 10; round++) {
        uint32_t a = __umulhi(0xD2511F53u, c.x), b = __umulhi(0xCD9E8D57u, c.z);
        c = make_uint4(b ^ c.y ^ key.x, 0xCD9E8D57u * c.z, a ^ c.w ^ key.y, 0xD2511F53u * c.x);
        key.x += 0x9E3779B9u;
        key.y += 0xBB67AE85u;
    }
    return c;
}

__device__ __forceinline__ float2 normal_pair(uint32_t first, uint32_t second)
{
    float length = sqrtf(-2 * logf((first + .5f) * 2.3283064e-10f));
    float2 pair;
    sincospif(second * 4.6566128e-10f, &pair.x, &pair.y);
    return make_float2(length * pair.x, length * pair.y);
}

struct Heston {
    float price, variance, reversion, mean, volatility, correlation, rate, step, strike;
};

// The price of an option by Heston's model, four paths for each thread.
extern "C" __global__ void __launch_bounds__(128) heston(float *__restrict__ payoffs, int count, int steps, Heston m)
{
    constexpr int PATHS = 4;
    int i = blockIdx.x * 128 + threadIdx.x;
    if (i >= count)
        return;
    float price[PATHS], variance[PATHS], payoff = 0, root = sqrtf(m.step),
                                         rest = sqrtf(1 - m.correlation * m.correlation);
#pragma unroll
    for (int k = 0; k < PATHS; k++) {
        price[k] = logf(m.price);
        variance[k] = m.variance;
    }
    for (int step = 0; step < steps; step++)
#pragma unroll
        for (int k = 0; k < PATHS; k++) {
            uint4 bits = philox(make_uint4(i, step, k / 2, 0), make_uint2(1, 2));
            float2 draws = k % 2 ? normal_pair(bits.z, bits.w) : normal_pair(bits.x, bits.y);
            float positive = fmaxf(variance[k], 0), deviation = sqrtf(positive) * root;
            price[k] += (m.rate - .5f * positive) * m.step + deviation * draws.x;
            variance[k] += m.reversion * (m.mean - positive) * m.step +
                           m.volatility * deviation * (m.correlation * draws.x + rest * draws.y);
        }
#pragma unroll
    for (int k = 0; k < PATHS; k++)
        payoff += fmaxf(expf(price[k]) - m.strike, 0);
    payoffs[i] = payoff / PATHS;
}
