// Each thread looks its key up in a sorted array: the index of the first element that is not less.

extern "C" __global__ void binarysearch(const int *sorted, int n, const int *keys, int *found, int count)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= count)
        return;

    int key = keys[i];
    int low = 0;
    int high = n;
    while (low < high) {
        int middle = (low + high) / 2;
        if (sorted[middle] < key)
            low = middle + 1;
        else
            high = middle;
    }
    found[i] = low;
}
