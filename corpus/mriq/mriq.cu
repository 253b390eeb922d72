// The Q matrix of a non-Cartesian MRI reconstruction: every voxel sums a phase over all samples of k-space.

extern "C" __global__ void mriq(const float4 *samples, int count, const float *x, const float *y, const float *z,
                                float *real, float *imaginary, int voxels)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= voxels)
        return;

    float px = x[i], py = y[i], pz = z[i];
    float sumReal = 0.0f;
    float sumImaginary = 0.0f;
    for (int k = 0; k < count; k++) {
        float4 sample = samples[k];
        float angle = 6.2831853f * (sample.x * px + sample.y * py + sample.z * pz);
        sumReal += sample.w * cosf(angle);
        sumImaginary += sample.w * sinf(angle);
    }
    real[i] = sumReal;
    imaginary[i] = sumImaginary;
}

// The same with the hardware's sine and cosine.
extern "C" __global__ void mriq_fast(const float4 *samples, int count, const float *x, const float *y, const float *z,
                                     float *real, float *imaginary, int voxels)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= voxels)
        return;

    float px = x[i], py = y[i], pz = z[i];
    float sumReal = 0.0f;
    float sumImaginary = 0.0f;
    for (int k = 0; k < count; k++) {
        float4 sample = samples[k];
        float angle = 6.2831853f * (sample.x * px + sample.y * py + sample.z * pz);
        sumReal += sample.w * __cosf(angle);
        sumImaginary += sample.w * __sinf(angle);
    }
    real[i] = sumReal;
    imaginary[i] = sumImaginary;
}
