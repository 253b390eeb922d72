// One step of the fast Walsh-Hadamard transform in place: each thread combines one pair of elements a step apart.

extern "C" __global__ void fastwalsh(float *data, int step)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    int group = i % step;
    int pair = 2 * step * (i / step) + group;
    int match = pair + step;

    float first = data[pair];
    float second = data[match];
    data[pair] = first + second;
    data[match] = first - second;
}
