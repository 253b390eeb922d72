// Loops whose iterations share something, for bench/papers -l.  Compiled by:
//     nvcc -std=c++17 -O3 -arch=compute_90 -ptx loops.cu -o loops.ptx

// Several rows of a matrix times a vector: the vector's elements are the same in each.
extern "C" __global__ void rows(const float *__restrict__ a, const float *__restrict__ x, float *__restrict__ y,
                                int rows, int n)
{
    int first = (blockIdx.x * blockDim.x + threadIdx.x) * rows;
    for (int r = 0; r < rows; r++) {
        float sum = 0;
        for (int k = 0; k < n; k++)
            sum += a[(first + r) * n + k] * x[k];
        y[first + r] = sum;
    }
}

// A column of eight elements of a product: the elements of b are the same in each row.
extern "C" __global__ void columns(const float *__restrict__ a, const float *__restrict__ b, float *__restrict__ c,
                                   int n)
{
    int column = blockIdx.x * blockDim.x + threadIdx.x, first = blockIdx.y * 8;
    for (int r = 0; r < 8; r++) {
        float sum = 0;
        for (int k = 0; k < n; k++)
            sum += a[(first + r) * n + k] * b[k * n + column];
        c[(first + r) * n + column] += sum;
    }
}

// A convolution in a grid-stride loop: the weights are the same for each element.
extern "C" __global__ void convolve(const float *__restrict__ a, const float *__restrict__ w, float *__restrict__ y,
                                    int n, int taps)
{
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
        float sum = 0;
        for (int k = 0; k < taps; k++)
            sum += a[i + k] * w[k];
        y[i] = sum;
    }
}

// Jacobi in three dimensions (CC'12, Fig. 7): each thread walks along a column, whose neighbouring planes overlap.
extern "C" __global__ void jacobi(const float *__restrict__ u, float *__restrict__ un, int n, float c)
{
    int j = blockIdx.x * blockDim.x + threadIdx.x + 1, k = blockIdx.y * blockDim.y + threadIdx.y + 1;
    long pitch = n + 2, plane = pitch * pitch;
    if (j > n || k > n)
        return;
    for (int i = 1; i <= n; i++) {
        long p = i * plane + k * pitch + j;
        un[p] = (u[p - plane] + u[p + plane] + u[p - pitch] + u[p + pitch] + u[p - 1] + u[p + 1]) * c;
    }
}

// Streams without anything in common.
extern "C" __global__ void stream(const float *__restrict__ x, float *__restrict__ y, int n, float a)
{
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
        y[i] = a * x[i];
}
