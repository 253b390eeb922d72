// Fields on grids and particles: lattice Boltzmann, stencils, gauge fields, flows.
#include <cuda_runtime.h>

constexpr int THREADS = 128;

// Destinations of the particles of each direction of D3Q19 and D2Q9.
__device__ constexpr int x19[19] = {0, 1, -1, 0, 0, 0, 0, 1, -1, 1, -1, 1, -1, 1, -1, 0, 0, 0, 0};
__device__ constexpr int y19[19] = {0, 0, 0, 1, -1, 0, 0, 1, -1, -1, 1, 0, 0, 0, 0, 1, -1, 1, -1};
__device__ constexpr int z19[19] = {0, 0, 0, 0, 0, 1, -1, 0, 0, 0, 0, 1, -1, -1, 1, 1, -1, -1, 1};
__device__ constexpr int x9[9] = {0, 1, -1, 0, 0, 1, -1, 1, -1}, y9[9] = {0, 0, 0, 1, -1, 1, -1, -1, 1};

// One step of lattice Boltzmann in three dimensions, periodic, by the model of Bhatnagar, Gross and Krook.
extern "C" __global__ void __launch_bounds__(THREADS)
    lattice19(const float *__restrict__ from, float *__restrict__ to, int width, int height, int depth, float rate)
{
    int x = blockIdx.x * THREADS + threadIdx.x, y = blockIdx.y, z = blockIdx.z;
    if (x >= width)
        return;
    size_t cells = size_t(width) * height * depth;
    float f[19], density = 0, u = 0, v = 0, w = 0;
#pragma unroll
    for (int k = 0; k < 19; k++) {
        int i = (x - x19[k] + width) % width, j = (y - y19[k] + height) % height, l = (z - z19[k] + depth) % depth;
        f[k] = from[k * cells + (size_t(l) * height + j) * width + i];
    }
#pragma unroll
    for (int k = 0; k < 19; k++) {
        density += f[k];
        u += x19[k] * f[k];
        v += y19[k] * f[k];
        w += z19[k] * f[k];
    }
    u /= density;
    v /= density;
    w /= density;
    float square = 1.5f * (u * u + v * v + w * w);
#pragma unroll
    for (int k = 0; k < 19; k++) {
        float along = 3 * (x19[k] * u + y19[k] * v + z19[k] * w), weight = k == 0  ? 1.f / 3
                                                                           : k < 7 ? 1.f / 18
                                                                                   : 1.f / 36;
        float rest = weight * density * (1 + along + .5f * along * along - square);
        to[k * cells + (size_t(z) * height + y) * width + x] = f[k] + rate * (rest - f[k]);
    }
}

// The same in two dimensions and double precision.
extern "C" __global__ void __launch_bounds__(THREADS)
    lattice9(const double *__restrict__ from, double *__restrict__ to, int width, int height, double rate)
{
    int x = blockIdx.x * THREADS + threadIdx.x, y = blockIdx.y, cells = width * height;
    if (x >= width)
        return;
    double f[9], density = 0, u = 0, v = 0;
#pragma unroll
    for (int k = 0; k < 9; k++)
        f[k] = from[k * cells + (y - y9[k] + height) % height * width + (x - x9[k] + width) % width];
#pragma unroll
    for (int k = 0; k < 9; k++) {
        density += f[k];
        u += x9[k] * f[k];
        v += y9[k] * f[k];
    }
    u /= density;
    v /= density;
#pragma unroll
    for (int k = 0; k < 9; k++) {
        double along = 3 * (x9[k] * u + y9[k] * v), weight = k == 0 ? 4. / 9 : k < 5 ? 1. / 9 : 1. / 36;
        double rest = weight * density * (1 + along + .5 * along * along - 1.5 * (u * u + v * v));
        to[k * cells + y * width + x] = f[k] + rate * (rest - f[k]);
    }
}

// A wave equation, eighth order in space: one thread for each column.
extern "C" __global__ void __launch_bounds__(256) wave(const float *__restrict__ now, const float *__restrict__ speed,
                                                       float *__restrict__ next, int width, int height, int depth)
{
    constexpr float weight[5] = {-2.847222f, 1.6f, -.2f, .025397f, -.001786f};
    int x = blockIdx.x * 32 + threadIdx.x + 4, y = blockIdx.y * blockDim.y + threadIdx.y + 4, layer = width * height;
    if (x >= width - 4 || y >= height - 4)
        return;
    const float *column = now + y * width + x;
    float behind[9];
#pragma unroll
    for (int k = 0; k < 8; k++)
        behind[k] = column[k * layer];
    for (int z = 4; z < depth - 4; z++) {
        const float *here = column + z * layer;
        behind[8] = here[4 * layer];
        float sum = 3 * weight[0] * behind[4];
#pragma unroll
        for (int k = 1; k < 5; k++)
            sum +=
                weight[k] * (behind[4 - k] + behind[4 + k] + here[k] + here[-k] + here[k * width] + here[-k * width]);
        int at = z * layer + y * width + x;
        next[at] = 2 * behind[4] - next[at] + speed[at] * sum;
#pragma unroll
        for (int k = 0; k < 8; k++)
            behind[k] = behind[k + 1];
    }
}

// Multiplies the vectors of four neighbours by SU(3) matrices, as lattice QCD does.
extern "C" __global__ void __launch_bounds__(THREADS)
    gauge(const float2 *__restrict__ links, const float2 *__restrict__ in, float2 *__restrict__ out,
          const int *__restrict__ neighbours, int count)
{
    int i = blockIdx.x * THREADS + threadIdx.x;
    if (i >= count)
        return;
    float2 sum[3] = {};
#pragma unroll
    for (int d = 0; d < 4; d++) {
        int j = neighbours[d * count + i];
        float2 v[3];
#pragma unroll
        for (int k = 0; k < 3; k++)
            v[k] = in[k * count + j];
#pragma unroll
        for (int row = 0; row < 3; row++)
#pragma unroll
            for (int k = 0; k < 3; k++) {
                float2 m = links[((d * 3 + row) * 3 + k) * count + i];
                sum[row].x += m.x * v[k].x - m.y * v[k].y;
                sum[row].y += m.x * v[k].y + m.y * v[k].x;
            }
    }
    for (int row = 0; row < 3; row++)
        out[row * count + i] = sum[row];
}

// Gravity, four bodies for each thread.
extern "C" __global__ void __launch_bounds__(THREADS)
    bodies4(const float4 *__restrict__ bodies, float4 *forces, int count)
{
    __shared__ float4 tile[THREADS];
    int t = threadIdx.x, first = blockIdx.x * 4 * THREADS + t;
    float4 own[4];
    float3 sum[4];
#pragma unroll
    for (int k = 0; k < 4; k++) {
        own[k] = bodies[first + k * THREADS];
        sum[k] = make_float3(0, 0, 0);
    }
    for (int j = 0; j < count; j += THREADS) {
        tile[t] = bodies[j + t];
        __syncthreads();
#pragma unroll 4
        for (int m = 0; m < THREADS; m++) {
            float4 other = tile[m];
#pragma unroll
            for (int k = 0; k < 4; k++) {
                float x = other.x - own[k].x, y = other.y - own[k].y, z = other.z - own[k].z;
                float near = rsqrtf(x * x + y * y + z * z + 1e-6f), pull = other.w * near * near * near;
                sum[k].x += x * pull;
                sum[k].y += y * pull;
                sum[k].z += z * pull;
            }
        }
        __syncthreads();
    }
#pragma unroll
    for (int k = 0; k < 4; k++)
        forces[first + k * THREADS] = make_float4(sum[k].x, sum[k].y, sum[k].z, 0);
}

// A state of a gas in two dimensions: density, momentum along and across a face, energy.
struct Gas {
    double density, along, across, energy;
};

__device__ __forceinline__ Gas gas_at(const double *field, int cells, int at, bool is_turned)
{
    Gas gas = {field[at], field[cells + at], field[2 * cells + at], field[3 * cells + at]};
    return is_turned ? Gas{gas.density, gas.across, gas.along, gas.energy} : gas;
}

__device__ __forceinline__ double pressure(const Gas &gas)
{
    return .4 * (gas.energy - .5 * (gas.along * gas.along + gas.across * gas.across) / gas.density);
}

__device__ __forceinline__ double one_flux(double left, double right, double flux_left, double flux_right, double low,
                                           double high)
{
    return low >= 0    ? flux_left
           : high <= 0 ? flux_right
                       : (high * flux_left - low * flux_right + low * high * (right - left)) / (high - low);
}

// The flow through a face, by Harten, Lax and van Leer.
__device__ __forceinline__ Gas flux(const Gas &l, const Gas &r)
{
    double u = l.along / l.density, v = r.along / r.density, p = pressure(l), q = pressure(r);
    double a = sqrt(1.4 * p / l.density), b = sqrt(1.4 * q / r.density), low = fmin(u - a, v - b),
           high = fmax(u + a, v + b);
    return {one_flux(l.density, r.density, l.along, r.along, low, high),
            one_flux(l.along, r.along, l.along * u + p, r.along * v + q, low, high),
            one_flux(l.across, r.across, l.across * u, r.across * v, low, high),
            one_flux(l.energy, r.energy, (l.energy + p) * u, (r.energy + q) * v, low, high)};
}

// One step of the Euler equations.
extern "C" __global__ void __launch_bounds__(THREADS)
    gas_flow(const double *__restrict__ now, double *__restrict__ next, int width, int height, double step)
{
    int x = blockIdx.x * THREADS + threadIdx.x + 1, y = blockIdx.y + 1, cells = width * height, at = y * width + x;
    if (x >= width - 1)
        return;
    Gas here = gas_at(now, cells, at, false), left = flux(gas_at(now, cells, at - 1, false), here),
        right = flux(here, gas_at(now, cells, at + 1, false));
    Gas turned = gas_at(now, cells, at, true), below = flux(gas_at(now, cells, at - width, true), turned),
        above = flux(turned, gas_at(now, cells, at + width, true));
    next[at] = here.density - step * (right.density - left.density + above.density - below.density);
    next[cells + at] = here.along - step * (right.along - left.along + above.across - below.across);
    next[2 * cells + at] = here.across - step * (right.across - left.across + above.along - below.along);
    next[3 * cells + at] = here.energy - step * (right.energy - left.energy + above.energy - below.energy);
}

struct Reaction {
    double factor, power, energy;
    int in[2], out[2];
};

// Eight reactions of nine species, at a temperature for each thread.
extern "C" __global__ void __launch_bounds__(THREADS)
    reactions(const double *__restrict__ temperatures, const double *__restrict__ amounts, double *__restrict__ rates,
              int count)
{
    constexpr Reaction list[] = {{30.1, -.4, 8000, {0, 1}, {2, 3}}, {10.2, 2.6, 3100, {3, 0}, {1, 4}},
                                 {20, 1.5, 1700, {2, 3}, {4, 5}},   {15, .5, 900, {5, 6}, {7, 8}},
                                 {22, 0, 4500, {8, 7}, {1, 2}},     {18.3, .9, 7700, {6, 2}, {0, 5}},
                                 {25, -.8, 0, {1, 7}, {3, 8}},      {28, .1, 150, {4, 8}, {6, 0}}};
    int i = blockIdx.x * THREADS + threadIdx.x;
    if (i >= count)
        return;
    double inverse = 1 / temperatures[i], logarithm = log(temperatures[i]), amount[9], rate[9] = {};
#pragma unroll
    for (int k = 0; k < 9; k++)
        amount[k] = amounts[k * count + i];
#pragma unroll
    for (int k = 0; k < 8; k++) {
        const Reaction &r = list[k];
        double speed = exp(r.factor + r.power * logarithm - r.energy * inverse) * amount[r.in[0]] * amount[r.in[1]];
        rate[r.in[0]] -= speed;
        rate[r.in[1]] -= speed;
        rate[r.out[0]] += speed;
        rate[r.out[1]] += speed;
    }
#pragma unroll
    for (int k = 0; k < 9; k++)
        rates[k * count + i] = rate[k];
}
