// Control flow: dense and sparse switches, loops with several exits, gotos into loops, unrolling pragmas.

__device__ __noinline__ int opaque(int x)
{
    return x ^ 0x55;
}

extern "C" __global__ void dense(int *data, const int *codes, int n)
{
    int i = threadIdx.x;
    int value = data[i];
    for (int k = 0; k < n; k++) {
        switch (codes[k]) {
        case 0: value += 3; break;
        case 1: value = opaque(value); break;
        case 2: value *= value; break;
        case 3: value ^= data[k]; break;
        case 4: data[i + k] = value; break;
        case 5: value = value / (k + 1);
        // Falls through.
        case 6: value %= 77; break;
        case 7: value = __popc(value); break;
        case 8: atomicAdd(&data[k], value); break;
        case 9: return;
        case 10: value = -value; continue;
        default: value = 0;
        }
        value++;
    }
    data[i] = value;
}

extern "C" __global__ void sparse(int *data)
{
    int i = threadIdx.x;
    switch (data[i]) {
    case -5: data[i] = opaque(1); break;
    case 100: data[i] = opaque(2) * 3; break;
    case 5000: data[i + 1] = 7; break;
    case 1 << 20: data[i] = opaque(i); break;
    }
}

extern "C" __global__ void loops(float *data, int n, int m)
{
    float sum = 0.0f;
#pragma unroll 1
    for (int i = 0; i < n; i++) {
#pragma unroll 4
        for (int j = i; j < m; j++) {
            float x = data[i * m + j];
            if (x < 0.0f)
                continue;
            if (x > 100.0f)
                break;
            sum += x;
        }
        do {
            sum *= 0.5f;
            if (sum == 3.0f)
                goto out;
        } while (sum > 10.0f && data[i] != sum);
    }
out:
    data[threadIdx.x] = sum;
    while (true) {
        if (data[threadIdx.x] > sum)
            break;
        __nanosleep(20);
    }
}

// A loop with two entries.
extern "C" __global__ void irreducible(int *data, int n)
{
    int i = threadIdx.x;
    int k = 0;
    if (data[i] > 5)
        goto second;
first:
    data[i] = opaque(data[i] + k);
    k++;
second:
    data[i + 1] = opaque(data[i] * 3);
    k += 2;
    if (k < n)
        goto first;
    data[i] = k;
}

extern "C" __global__ void shortCircuit(int *out, const int *a, const int *b, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n && (a[i] > 0 || (b[i] < 0 && a[i] != b[i])) && !(a[i] == 7 && b[i] == 9))
        out[i] = a[i] > b[i] ? opaque(a[i]) : a[i] + b[i] > 3 ? b[i] : 1;
}

extern "C" __global__ void conditionalBarriers(int *data, int n)
{
    __shared__ int tile[64];
    tile[threadIdx.x] = data[threadIdx.x];
    if (n > 3) {
        __syncthreads();
        data[threadIdx.x] = tile[63 - threadIdx.x];
    }
    int any = __syncthreads_or(tile[threadIdx.x] > n);
    int all = __syncthreads_and(tile[threadIdx.x] > n);
    int count = __syncthreads_count(tile[threadIdx.x] > n);
    data[threadIdx.x] += any + all + count;
}
