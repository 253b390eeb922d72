// Box filter over packed RGBA pixels, one column or one row a thread: a window slides along it, and each step adds the
// pixel that enters and takes away the one that leaves. Pixels beyond the edge repeat the edge.

static __device__ float4 unpack(unsigned pixel)
{
    return make_float4((pixel & 0xff) * (1.0f / 255.0f), (pixel >> 8 & 0xff) * (1.0f / 255.0f),
                       (pixel >> 16 & 0xff) * (1.0f / 255.0f), (pixel >> 24) * (1.0f / 255.0f));
}

static __device__ unsigned pack(float4 colour)
{
    unsigned r = __saturatef(colour.x) * 255.0f;
    unsigned g = __saturatef(colour.y) * 255.0f;
    unsigned b = __saturatef(colour.z) * 255.0f;
    unsigned a = __saturatef(colour.w) * 255.0f;
    return a << 24 | b << 16 | g << 8 | r;
}

static __device__ void slide(const unsigned *in, unsigned *out, int step, int n, int radius)
{
    float scale = 1.0f / (2 * radius + 1);
    float4 first = unpack(in[0]);
    float4 sum = make_float4(first.x * (radius + 1), first.y * (radius + 1), first.z * (radius + 1),
                             first.w * (radius + 1));
    for (int i = 1; i <= radius; i++) {
        float4 in_front = unpack(in[min(i, n - 1) * step]);
        sum.x += in_front.x;
        sum.y += in_front.y;
        sum.z += in_front.z;
        sum.w += in_front.w;
    }
    for (int i = 0; i < n; i++) {
        out[i * step] = pack(make_float4(sum.x * scale, sum.y * scale, sum.z * scale, sum.w * scale));
        float4 entering = unpack(in[min(i + radius + 1, n - 1) * step]);
        float4 leaving = unpack(in[max(i - radius, 0) * step]);
        sum.x += entering.x - leaving.x;
        sum.y += entering.y - leaving.y;
        sum.z += entering.z - leaving.z;
        sum.w += entering.w - leaving.w;
    }
}

extern "C" __global__ void boxfilter_columns(const unsigned *in, unsigned *out, int width, int height, int radius)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    if (x < width)
        slide(in + x, out + x, width, height, radius);
}

extern "C" __global__ void boxfilter_rows(const unsigned *in, unsigned *out, int width, int height, int radius)
{
    int y = blockIdx.x * blockDim.x + threadIdx.x;
    if (y < height)
        slide(in + y * width, out + y * width, 1, width, radius);
}
