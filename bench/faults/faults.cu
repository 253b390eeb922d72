/* Kernels with one mistake each, of the classes that compute-sanitizer's tools look for, and correct ones, for
 * bench/sanitizer. `faults NAME` runs one; its exit status is 0 unless a function of the runtime reports an error. */
#include <cstdio>
#include <cstring>

enum { THREADS = 256, BLOCKS = 2 };

struct Buffers {
    int *in, *out, *unset; /* THREADS words each; 'in' is set, 'out' zero */
};

/* memcheck */

__global__ void global_beyond(int *out) { out[threadIdx.x + 1] = 1; }
__global__ void global_before(const int *in, int *out) { out[threadIdx.x] = in[(int)threadIdx.x - 1]; }
__global__ void misaligned(int *out) { *(int *)((char *)out + 2) = 1; }
__global__ void null_pointer(int *out) { *out = 1; }

__global__ void shared_beyond(int *out, int index)
{
    extern __shared__ int words[];
    words[index] = 1;
    out[threadIdx.x] = words[index];
}

__global__ void local_beyond(int *out, int index)
{
    int words[8];
    for (int i = 0; i < 8; i++)
        words[i] = i;
    words[index] = 1;
    out[threadIdx.x] = words[threadIdx.x % 8];
}

__global__ void heap_beyond(int *out)
{
    volatile int *words = (volatile int *)malloc(64);
    words[16] = 1;
    out[threadIdx.x] = words[16];
    free((void *)words);
}

__global__ void heap_twice(int *out)
{
    volatile int *words = (volatile int *)malloc(64);
    words[0] = 1;
    out[threadIdx.x] = words[0];
    free((void *)words);
    free((void *)words);
}

__global__ void after_free(int *gone) { gone[threadIdx.x] = 1; }

/* racecheck */

__global__ void race_read(int *out)
{
    __shared__ int words[THREADS];
    words[threadIdx.x ^ 32] = 0;
    __syncthreads();
    words[threadIdx.x] = threadIdx.x;
    out[threadIdx.x] = words[threadIdx.x ^ 32];
}

__global__ void race_write(int *out)
{
    __shared__ int word;
    word = threadIdx.x;
    __syncthreads();
    out[threadIdx.x] = word;
}

__global__ void race_in_warp(int *out)
{
    __shared__ int words[32];
    words[threadIdx.x ^ 1] = 0;
    __syncwarp();
    words[threadIdx.x] = threadIdx.x;
    out[threadIdx.x] = words[threadIdx.x ^ 1];
}

__global__ void race_between_blocks(int *out) { out[threadIdx.x] = blockIdx.x; }

__global__ void race_with_atomic(int *out)
{
    if (blockIdx.x == 0)
        atomicAdd(out, 1);
    else
        out[threadIdx.x + 1] = *out;
}

/* initcheck */

__global__ void unwritten_global(const int *unset, int *out) { out[threadIdx.x] = unset[threadIdx.x]; }

__global__ void unwritten_shared(int *out)
{
    __shared__ int words[THREADS];
    if (threadIdx.x > 0)
        words[threadIdx.x] = 1;
    __syncthreads();
    out[threadIdx.x] = words[threadIdx.x];
}

__global__ void unwritten_local(int *out, int index)
{
    int words[8];
    words[index] = 1;
    out[threadIdx.x] = words[index + 1 + threadIdx.x % 2];
}

/* synccheck */

__global__ void barrier_in_branch(int *out)
{
    if (threadIdx.x % 32 < 16)
        __syncthreads();
    out[threadIdx.x] = 1;
}

__global__ void shuffle_in_branch(int *out)
{
    int value = threadIdx.x;
    if (threadIdx.x % 32 < 16)
        value = __shfl_xor_sync(0xffffffff, value, 1);
    out[threadIdx.x] = value;
}

__global__ void mask_without_caller(int *out)
{
    if (threadIdx.x % 32 < 16)
        __syncwarp(0xffff0000);
    out[threadIdx.x] = 1;
}

/* Correct ones. */

__global__ void sum_in_block(const int *in, int *out)
{
    __shared__ int words[THREADS];
    words[threadIdx.x] = in[threadIdx.x];
    for (int half = THREADS / 2; half > 0; half /= 2) {
        __syncthreads();
        if (threadIdx.x < half)
            words[threadIdx.x] += words[threadIdx.x + half];
    }
    if (threadIdx.x == 0)
        out[blockIdx.x] = words[0];
}

__global__ void sum_in_warps(const int *in, int *out)
{
    int value = in[threadIdx.x];
    for (int step = 16; step > 0; step /= 2)
        value += __shfl_down_sync(0xffffffff, value, step);
    if (threadIdx.x % 32 == 0)
        atomicAdd(out, value);
}

/* The last block to arrive reads what the others have written. */
__global__ void last_block(int *out)
{
    __shared__ bool is_last;
    if (threadIdx.x == 0) {
        out[1 + blockIdx.x] = blockIdx.x;
        __threadfence();
        is_last = atomicAdd(out, 1) == gridDim.x - 1;
        __threadfence();
    }
    __syncthreads();
    if (is_last && threadIdx.x == 0)
        for (unsigned i = 0; i < gridDim.x; i++)
            out[8] += out[1 + i];
}

__global__ void exchange_in_warp(int *out)
{
    __shared__ int words[32];
    words[threadIdx.x] = threadIdx.x;
    __syncwarp();
    out[threadIdx.x] = words[threadIdx.x ^ 1];
}

/* The host's part. */

static cudaError_t copy_beyond(const Buffers *buffers)
{
    int words[2 * THREADS] = {};
    cudaMemcpy(buffers->out, words, sizeof words, cudaMemcpyHostToDevice);
    return cudaGetLastError(); /* the copy's */
}

static cudaError_t launch(const char *name, const Buffers *b)
{
    const auto is = [name](const char *other) { return strcmp(name, other) == 0; };
    if (is("global_beyond")) global_beyond<<<1, THREADS>>>(b->out);
    else if (is("global_before")) global_before<<<1, THREADS>>>(b->in, b->out);
    else if (is("misaligned")) misaligned<<<1, 1>>>(b->out);
    else if (is("null_pointer")) null_pointer<<<1, 1>>>(NULL);
    else if (is("shared_beyond")) shared_beyond<<<1, 1, 1024>>>(b->out, 1 << 20);
    else if (is("local_beyond")) local_beyond<<<1, 1>>>(b->out, 1 << 24);
    else if (is("heap_beyond")) heap_beyond<<<1, 1>>>(b->out);
    else if (is("heap_twice")) heap_twice<<<1, 1>>>(b->out);
    else if (is("after_free")) { cudaFree(b->unset); after_free<<<1, THREADS>>>(b->unset); }
    else if (is("copy_beyond")) return copy_beyond(b);
    else if (is("race_read")) race_read<<<1, THREADS>>>(b->out);
    else if (is("race_write")) race_write<<<1, THREADS>>>(b->out);
    else if (is("race_in_warp")) race_in_warp<<<1, 32>>>(b->out);
    else if (is("race_between_blocks")) race_between_blocks<<<BLOCKS, THREADS>>>(b->out);
    else if (is("race_with_atomic")) race_with_atomic<<<BLOCKS, THREADS - 1>>>(b->out);
    else if (is("unwritten_global")) unwritten_global<<<1, THREADS>>>(b->unset, b->out);
    else if (is("unwritten_shared")) unwritten_shared<<<1, THREADS>>>(b->out);
    else if (is("unwritten_local")) unwritten_local<<<1, THREADS>>>(b->out, 2);
    else if (is("barrier_in_branch")) barrier_in_branch<<<1, THREADS>>>(b->out);
    else if (is("shuffle_in_branch")) shuffle_in_branch<<<1, THREADS>>>(b->out);
    else if (is("mask_without_caller")) mask_without_caller<<<1, THREADS>>>(b->out);
    else if (is("sum_in_block")) sum_in_block<<<BLOCKS, THREADS>>>(b->in, b->out);
    else if (is("sum_in_warps")) sum_in_warps<<<BLOCKS, THREADS>>>(b->in, b->out);
    else if (is("last_block")) last_block<<<BLOCKS, THREADS>>>(b->out);
    else if (is("exchange_in_warp")) exchange_in_warp<<<1, 32>>>(b->out);
    else return cudaErrorInvalidValue;
    const cudaError_t error = cudaGetLastError();
    return error != cudaSuccess ? error : cudaDeviceSynchronize();
}

int main(int argc, char **argv)
{
    const size_t size = THREADS * sizeof(int);
    Buffers buffers;
    if (argc != 2 || cudaMalloc(&buffers.in, size) || cudaMalloc(&buffers.out, size) ||
        cudaMalloc(&buffers.unset, size) || cudaMemset(buffers.in, 0, size) || cudaMemset(buffers.out, 0, size))
        return 2;
    const cudaError_t error = launch(argv[1], &buffers);
    if (error != cudaSuccess)
        fprintf(stderr, "%s\n", cudaGetErrorString(error));
    cudaFree(buffers.in);
    cudaFree(buffers.out);
    if (strcmp(argv[1], "after_free") != 0)
        cudaFree(buffers.unset);
    return error != cudaSuccess;
}
