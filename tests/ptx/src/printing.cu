// printf, assert, trap and the heap.

#include <assert.h>
#include <stdio.h>

extern "C" __global__ void report(const float *values, int n, const char *name)
{
    int i = threadIdx.x;
    assert(i < n && "one thread an element");
    printf("plain line\n");
    printf("%s[%d] = %f, %lld %%\t\"quoted\" \\ %c\n", name, i, values[i], (long long)i << 33, 'a' + i % 26);
    if (values[i] < 0.0f)
        __trap();
    if (values[i] > 1e30f)
        __brkpt();
}

extern "C" __global__ void heap(int **out, int count)
{
    int *block = (int *)malloc(count * sizeof(int));
    if (block == nullptr) {
        out[threadIdx.x] = nullptr;
        return;
    }
    for (int i = 0; i < count; i++)
        block[i] = i ^ (int)threadIdx.x;
    if (threadIdx.x % 2)
        free(block);
    out[threadIdx.x] = threadIdx.x % 2 ? new int[3] : block;
}
