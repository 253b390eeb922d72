/* Names that CUDA 12 and 13 removed, with tools/programs/cuda11.h: textures of each kind, bound in each way, warp
 * operations without a mask, properties and functions. Prints "0 wrong" if all give what CUDA 11 gave. */
#include <cooperative_groups.h>
#include <cstdio>
#include <cuda_fp16.h>

texture<float> line;
texture<uchar4, 2, cudaReadModeNormalizedFloat> plane(1, cudaFilterModePoint, cudaAddressModeWrap);
texture<int, cudaTextureType2D> rows;
static texture<float, 3> solid;
static texture<float, 1, cudaReadModeElementType> shared_line;

enum { LANES = 4, ROWS = 8 };
static int wrong;

static void check(bool is_right, const char *what)
{
    if (!is_right)
        printf("wrong: %s\n", what);
    wrong += !is_right;
}

static void done(cudaError_t error, const char *what)
{
    check(error == cudaSuccess, what);
}

__global__ void read(float *to)
{
    int i = threadIdx.x;
    float4 colour = tex2D(plane, (i + 4.5f) / 4, 0.25f);
    to[i] = tex1Dfetch(line, i);
    to[4 + i] = 255 * (colour.x + colour.w);
    to[8 + i] = tex2D(rows, i + 0.5f, 1.5f);
    to[12 + i] = tex3D(solid, i + 0.5f, 0.5f, 1.5f);
    to[16 + i] = tex1Dfetch(shared_line, i);
    to[20 + i] = __shfl(to[i], 1);
    to[24 + i] = i < 2 ? __popc(__ballot(1)) : __any(i == 3) + 2 * __all(i == 3);
    to[28 + i] = __shfl_xor(i, 1) + 10 * __shfl_down(i, 1) + 100 * __shfl_up(i, 1);
}

static float *device_copy(const float *from, int count)
{
    float *to;
    done(cudaMalloc(&to, count * sizeof(float)), "cudaMalloc");
    done(cudaMemcpy(to, from, count * sizeof(float), cudaMemcpyHostToDevice), "cudaMemcpy");
    return to;
}

static void bind_plane(void)
{
    unsigned char bytes[32];
    cudaArray_t array;
    cudaChannelFormatDesc format = cudaCreateChannelDesc<uchar4>();
    for (int i = 0; i < 32; i++)
        bytes[i] = i;
    done(cudaMallocArray(&array, &format, 4, 2), "cudaMallocArray");
    done(cudaMemcpy2DToArray(array, 0, 0, bytes, 16, 16, 2, cudaMemcpyHostToDevice), "cudaMemcpy2DToArray");
    done(cudaBindTextureToArray(plane, array, format), "cudaBindTextureToArray");
}

static void bind_rows(void)
{
    const int from[] = {0, 0, 0, 0, 5, 6, 7, 8};
    int *to;
    size_t pitch, offset = 1;
    done(cudaMallocPitch(&to, &pitch, 16, 2), "cudaMallocPitch");
    done(cudaMemcpy2D(to, pitch, from, 16, 16, 2, cudaMemcpyHostToDevice), "cudaMemcpy2D");
    rows.filterMode = cudaFilterModePoint;
    done(cudaBindTexture2D(&offset, rows, to, rows.channelDesc, 4, 2, pitch), "cudaBindTexture2D");
    check(offset == 0, "an offset");
}

static void bind_solid(void)
{
    float from[] = {0, 0, 0, 0, 9, 10, 11, 12};
    cudaArray_t array;
    cudaMemcpy3DParms copy = {};
    cudaChannelFormatDesc format = cudaCreateChannelDesc<float>();
    copy.extent = make_cudaExtent(4, 1, 2);
    copy.srcPtr = make_cudaPitchedPtr(from, 16, 4, 1);
    copy.kind = cudaMemcpyHostToDevice;
    done(cudaMalloc3DArray(&array, &format, copy.extent), "cudaMalloc3DArray");
    copy.dstArray = array;
    done(cudaMemcpy3D(&copy), "cudaMemcpy3D");
    done(cudaBindTextureToArray(solid, array), "cudaBindTextureToArray without a format");
}

static void check_textures(void)
{
    const float first[] = {1, 2, 3, 4}, second[] = {5, 6, 7, 8};
    const int wanted[ROWS][LANES] = {{1, 2, 3, 4},    {3, 11, 19, 27}, {5, 6, 7, 8},  {9, 10, 11, 12},
                                     {5, 6, 7, 8},    {2, 2, 2, 2},     {2, 2, 1, 1},  {11, 20, 133, 232}};
    const cudaChannelFormatDesc format = cudaCreateChannelDesc<float>();
    float got[ROWS * LANES], *to = device_copy(got, ROWS * LANES), *from = device_copy(first, LANES);
    done(cudaBindTexture(NULL, line, from), "cudaBindTexture");
    done(cudaBindTexture(NULL, &shared_line, from, &format, 16), "cudaBindTexture of a pointer");
    bind_plane();
    bind_rows();
    bind_solid();
    done(cudaBindTexture(NULL, shared_line, device_copy(second, LANES), format, 16), "cudaBindTexture again");
    read<<<1, LANES>>>(to);
    done(cudaThreadSynchronize(), "a launch");
    done(cudaMemcpy(got, to, sizeof got, cudaMemcpyDeviceToHost), "cudaMemcpy");
    for (int row = 0; row < ROWS; row++)
        for (int lane = 0; lane < LANES; lane++) {
            float difference = got[row * LANES + lane] - wanted[row][lane];
            if (difference > 0.01f || difference < -0.01f)
                printf("row %d, lane %d: %g, not %d\n", row, lane, got[row * LANES + lane], wanted[row][lane]);
            wrong += difference > 0.01f || difference < -0.01f;
        }
    done(cudaUnbindTexture(line), "cudaUnbindTexture");
    done(cudaUnbindTexture(&plane), "cudaUnbindTexture of a pointer");
}

int main()
{
    struct cudaDeviceProp properties;
    int *managed;
    check_textures();
    done(cudaGetDeviceProperties(&properties, 0), "cudaGetDeviceProperties");
    check(properties.clockRate > 0 && properties.deviceOverlap && properties.multiProcessorCount > 0, "properties");
    done(cudaMallocManaged(&managed, 64), "cudaMallocManaged");
    done(cudaMemPrefetchAsync(managed, 64, 0), "cudaMemPrefetchAsync");
    done(cudaMemAdvise(managed, 64, cudaMemAdviseSetReadMostly, 0), "cudaMemAdvise");
    done(cudaThreadExit(), "cudaThreadExit");
    printf("%d wrong\n", wrong);
    return wrong > 0;
}
