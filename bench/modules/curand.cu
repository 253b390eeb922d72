// cuRAND's generators: mostly large initialised tables.
#include <curand_kernel.h>

__global__ void __launch_bounds__(256) xorwow(curandState *states, float *out)
{
    curandState state;
    curand_init(1, threadIdx.x, 0, &state);
    out[threadIdx.x] = curand_normal(&state);
    states[threadIdx.x] = state;
}

__global__ void __launch_bounds__(256) philox(curandStatePhilox4_32_10_t *states, unsigned *out)
{
    curandStatePhilox4_32_10_t state;
    curand_init(1, threadIdx.x, 0, &state);
    out[threadIdx.x] = curand_poisson(&state, 3.0);
    states[threadIdx.x] = state;
}

__global__ void __launch_bounds__(256) mrg32k3a(curandStateMRG32k3a *states, double *out)
{
    curandStateMRG32k3a state;
    curand_init(1, threadIdx.x, 0, &state);
    out[threadIdx.x] = curand_normal_double(&state);
    states[threadIdx.x] = state;
}
