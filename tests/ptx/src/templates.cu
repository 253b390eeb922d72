// Templates, overloads, name spaces and operators: long mangled names.

namespace outer {
namespace {

template <typename T> struct Plus {
    __device__ T operator()(T a, T b) const { return a + b; }
};

template <typename T> struct Larger {
    __device__ T operator()(T a, T b) const { return a > b ? a : b; }
};

} // namespace

template <typename T, int N, template <typename> class Operation>
__global__ void fold(T *out, const T *in, Operation<T> operation)
{
    __shared__ T tile[N];
    T value = in[blockIdx.x * N + threadIdx.x];
    tile[threadIdx.x] = value;
    __syncthreads();
#pragma unroll
    for (int half = N / 2; half > 0; half /= 2) {
        if (threadIdx.x < half)
            tile[threadIdx.x] = value = operation(value, tile[threadIdx.x + half]);
        __syncthreads();
    }
    if (threadIdx.x == 0)
        out[blockIdx.x] = value;
}

template <typename F> __global__ void apply(float *data, F function)
{
    data[threadIdx.x] = function(data[threadIdx.x]);
}

struct Scaled {
    float factor;
    double offset;
    __device__ float operator()(float x) const { return x * factor + (float)offset; }
};

} // namespace outer

template __global__ void outer::fold<float, 64, outer::Plus>(float *, const float *, outer::Plus<float>);
template __global__ void outer::fold<long long, 32, outer::Larger>(long long *, const long long *,
                                                                   outer::Larger<long long>);
template __global__ void outer::apply<outer::Scaled>(float *, outer::Scaled);
