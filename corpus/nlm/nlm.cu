// Non-local means denoising: a 5x5 window of 3x3 patches, coordinates clamped at the border.

#define WINDOW 2
#define PATCH 1

extern "C" __global__ void nlm(const float *in, float *out, int width, int height, float strength)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= width || y >= height)
        return;

    float patch[2 * PATCH + 1][2 * PATCH + 1];
#pragma unroll
    for (int j = -PATCH; j <= PATCH; j++)
#pragma unroll
        for (int i = -PATCH; i <= PATCH; i++) {
            int px = min(max(x + i, 0), width - 1);
            int py = min(max(y + j, 0), height - 1);
            patch[j + PATCH][i + PATCH] = in[py * width + px];
        }

    float sum = 0.0f;
    float weights = 0.0f;
    for (int wy = -WINDOW; wy <= WINDOW; wy++)
#pragma unroll
        for (int wx = -WINDOW; wx <= WINDOW; wx++) {
            float distance = 0.0f;
#pragma unroll
            for (int j = -PATCH; j <= PATCH; j++)
#pragma unroll
                for (int i = -PATCH; i <= PATCH; i++) {
                    int px = min(max(x + wx + i, 0), width - 1);
                    int py = min(max(y + wy + j, 0), height - 1);
                    float difference = in[py * width + px] - patch[j + PATCH][i + PATCH];
                    distance += difference * difference;
                }
            float weight = __expf(-distance * strength);
            int cx = min(max(x + wx, 0), width - 1);
            int cy = min(max(y + wy, 0), height - 1);
            sum += weight * in[cy * width + cx];
            weights += weight;
        }
    out[y * width + x] = sum / weights;
}
