// Texture and surface objects.

extern "C" __global__ void textures(float4 *out, cudaTextureObject_t texture, cudaTextureObject_t integers, int n)
{
    int i = threadIdx.x;
    float x = i * 0.5f, y = i * 0.25f, z = i * 0.125f;
    float4 sum = tex1D<float4>(texture, x);
    sum.x += tex2D<float>(texture, x, y);
    sum.y += tex3D<float2>(texture, x, y, z).y;
    sum.z += tex1Dfetch<float>(texture, i);
    sum.w += tex2DLod<float4>(texture, x, y, 1.0f).w;
    sum.x += tex2DGrad<float>(texture, x, y, make_float2(1.0f, 0.0f), make_float2(0.0f, 1.0f));
    sum.y += tex1DLayered<float>(texture, x, i % n);
    sum.z += tex2DLayered<float>(texture, x, y, i % n);
    sum.w += texCubemap<float>(texture, x, y, z);
    sum.x += texCubemapLayered<float>(texture, x, y, z, i % n);
    float4 gathered = tex2Dgather<float4>(texture, x, y, 2);
    sum.y += gathered.x + gathered.y + gathered.z + gathered.w;
    uint4 whole = tex2D<uint4>(integers, x, y);
    sum.z += whole.x + whole.y;
    int2 fetched = tex1Dfetch<int2>(integers, i);
    sum.w += fetched.x - fetched.y;
    out[i] = sum;
}

extern "C" __global__ void surfaces(cudaSurfaceObject_t source, cudaSurfaceObject_t target, int width, int height)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= width || y >= height)
        return;
    float4 pixel;
    surf2Dread(&pixel, source, x * (int)sizeof(float4), y, cudaBoundaryModeClamp);
    pixel.x = 1.0f - pixel.x;
    surf2Dwrite(pixel, target, x * (int)sizeof(float4), y, cudaBoundaryModeTrap);
    unsigned char byte = surf1Dread<unsigned char>(source, x, cudaBoundaryModeZero);
    surf1Dwrite((short)byte, target, x * 2);
    int2 two = surf3Dread<int2>(source, x * 8, y, 3);
    surf3Dwrite(two, target, x * 8, y, 4);
    surf2DLayeredwrite(two.x, target, x * 4, y, 1);
}

struct Volume {
    cudaTextureObject_t texture;
    int depth;
};

extern "C" __global__ void fromStructure(float *out, const __grid_constant__ Volume volume)
{
    out[threadIdx.x] = tex3D<float>(volume.texture, threadIdx.x, 0.5f, volume.depth * 0.5f);
}
