// Functions that are called, not inlined: with the calling convention's registers, parameters in memory and a stack.

// The root of a cubic polynomial by Newton's method from a starting point.
static __device__ __noinline__ float newton(float4 cubic, float x)
{
    for (int i = 0; i < 8; i++) {
        float value = ((cubic.x * x + cubic.y) * x + cubic.z) * x + cubic.w;
        float slope = (3.0f * cubic.x * x + 2.0f * cubic.y) * x + cubic.z;
        x -= value / slope;
    }
    return x;
}

static __device__ __noinline__ float weigh(float a, float b)
{
    return a * 0.75f + b * 0.25f;
}

// One call a thread, under a guard.
extern "C" __global__ void calls(const float4 *cubics, float *roots, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        roots[i] = newton(cubics[i], 1.0f);
}

// Calls in a loop whose length differs between threads, of a function that is itself small.
extern "C" __global__ void calls_loop(const float *in, const int *lengths, float *out, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    float value = 0.0f;
    for (int k = 0; k < lengths[i]; k++)
        value = weigh(value, in[k]);
    out[i] = value;
}
