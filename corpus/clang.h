// Declarations that let clang compile the corpus's simpler kernels without CUDA's headers; build.sh includes them.
#ifndef CORPUS_CLANG_H
#define CORPUS_CLANG_H

#define __global__ __attribute__((global))
#define __device__ __attribute__((device))
#define __shared__ __attribute__((shared))
#define __launch_bounds__(...) __attribute__((launch_bounds(__VA_ARGS__)))
#define __forceinline__ inline __attribute__((always_inline))
#define __restrict__ __restrict
#define __threadfence() __nvvm_membar_gl()

// threadIdx and its like read special registers.
#define CORPUS_INDEX(type, name, register)                                                                             \
    struct type {                                                                                                      \
        struct {                                                                                                       \
            __device__ operator unsigned() const { return __nvvm_read_ptx_sreg_##register##_x(); }                     \
        } x;                                                                                                           \
        struct {                                                                                                       \
            __device__ operator unsigned() const { return __nvvm_read_ptx_sreg_##register##_y(); }                     \
        } y;                                                                                                           \
        struct {                                                                                                       \
            __device__ operator unsigned() const { return __nvvm_read_ptx_sreg_##register##_z(); }                     \
        } z;                                                                                                           \
    };                                                                                                                 \
    static __device__ const type name = {}

CORPUS_INDEX(ThreadIndex, threadIdx, tid);
CORPUS_INDEX(BlockIndex, blockIdx, ctaid);
CORPUS_INDEX(BlockSize, blockDim, ntid);
CORPUS_INDEX(GridSize, gridDim, nctaid);

static __device__ inline int min(int a, int b) { return a < b ? a : b; }
static __device__ inline int max(int a, int b) { return a > b ? a : b; }
static __device__ inline float min(float a, float b) { return __builtin_fminf(a, b); }
static __device__ inline float max(float a, float b) { return __builtin_fmaxf(a, b); }

#endif
