// The middle of a convolution by FFT: the spectrum of the data times that of the filter, scaled, in place.

extern "C" __global__ void modulate(float2 *data, const float2 *filter, int n, float scale)
{
    int threads = gridDim.x * blockDim.x;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += threads) {
        float2 a = data[i];
        float2 b = filter[i];
        data[i] = make_float2(scale * (a.x * b.x - a.y * b.y), scale * (a.y * b.x + a.x * b.y));
    }
}
