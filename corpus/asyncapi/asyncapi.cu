// The kernel that the SDK runs beside its asynchronous copies: a number is added to every element.

extern "C" __global__ void increment(int *data, int value)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    data[i] = data[i] + value;
}
