// Calls of every kind: structures by value, recursion, pointers to functions, many arguments, wide results.

struct Pair {
    double first;
    int second;
};

struct __align__(16) Wide {
    float values[6];
    short tag;
    char letter;
};

__device__ __noinline__ float addThree(float a, float b, float c)
{
    return a + b * c;
}

__device__ __noinline__ Pair makePair(double a, int b)
{
    Pair pair = {a * 2.0, b + 1};
    return pair;
}

__device__ __noinline__ float sumWide(Wide wide)
{
    float sum = wide.tag + wide.letter;
    for (int i = 0; i < 6; i++)
        sum += wide.values[i];
    return sum;
}

__device__ __noinline__ Wide makeWide(float start)
{
    Wide wide;
    for (int i = 0; i < 6; i++)
        wide.values[i] = start * i;
    wide.tag = (short)start;
    wide.letter = 'w';
    return wide;
}

__device__ __noinline__ float4 makeFour(float x, char narrow, short middle, long long big, bool flag)
{
    return make_float4(x, narrow, middle, flag ? (float)big : 0.0f);
}

__device__ __noinline__ int fibonacci(int n)
{
    return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2);
}

__device__ bool isOdd(int n);

__device__ __noinline__ bool isEven(int n)
{
    return n == 0 ? true : isOdd(n - 1);
}

__device__ __noinline__ bool isOdd(int n)
{
    return n == 0 ? false : isEven(n - 1);
}

__device__ __noinline__ void store(int *where, int value)
{
    *where = value;
}

__device__ __noinline__ int twice(int x)
{
    return x * 2;
}

__device__ __noinline__ int square(int x)
{
    return x * x;
}

__device__ __noinline__ int negate(int x)
{
    return -x;
}

typedef int (*Operation)(int);

__device__ Operation operations[3] = {twice, square, negate};

__device__ __noinline__ long long many(int a, int b, int c, int d, int e, int f, int g, int h, double i, float j,
                                       long long k, const int *l)
{
    return a + b + c + d + e + f + g + h + (long long)i + (long long)j + k + *l;
}

extern "C" __global__ void calls(float *out, const int *in, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;

    Pair pair = makePair(in[i], i);
    Wide wide = makeWide(out[i]);
    float4 four = makeFour(out[i], (char)i, (short)in[i], (long long)in[i] << 40, i & 1);
    out[i] = addThree((float)pair.first, (float)pair.second, sumWide(wide)) + four.x + four.w;
    if (isEven(i % 16))
        out[i] += fibonacci(i % 8);
}

extern "C" __global__ void indirect(int *data, int which)
{
    Operation operation = operations[which % 3];
    int i = threadIdx.x;
    store(&data[i], operation(data[i]));
    if (which > 3)
        data[i] += (int)many(i, i + 1, i + 2, i + 3, i + 4, i + 5, i + 6, i + 7, i * 0.5, i * 0.25f, i * 3ll, data);
}
