// Steps until a point leaves a circle: each thread's loop ends on its data, as in Rodinia's particle kernels.
extern "C" __global__ void orbit(const float *x, const float *y, int *steps, int most, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    float u = x[i], v = y[i];
    int step = 0;
    while (step < most && u * u + v * v < 4.0f) {
        float next = u * u - v * v + 0.3f;
        v = 2.0f * u * v + 0.5f;
        u = next;
        step++;
    }
    steps[i] = step;
}
