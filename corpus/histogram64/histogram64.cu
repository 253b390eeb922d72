// Histogram of 64 bins without atomics: each thread counts in bytes of its own, which the block adds up at the end.
// A thread looks at no more than 252 bytes, so that no byte counter overflows.

#define THREADS 64
#define BINS 64
#define WORDS 63

static __device__ void count(unsigned char *mine, unsigned word)
{
    mine[(word >> 2 & 63) * THREADS]++;
    mine[(word >> 10 & 63) * THREADS]++;
    mine[(word >> 18 & 63) * THREADS]++;
    mine[(word >> 26 & 63) * THREADS]++;
}

extern "C" __global__ void histogram64(const unsigned *data, unsigned *partial, int words)
{
    __shared__ unsigned char counts[BINS * THREADS];

    unsigned *cleared = (unsigned *)counts;
    for (int i = threadIdx.x; i < BINS * THREADS / 4; i += THREADS)
        cleared[i] = 0;
    __syncthreads();

    // Neighbouring threads read neighbouring words.
    int first = blockIdx.x * THREADS * WORDS;
    for (int i = 0; i < WORDS; i++) {
        int word = first + i * THREADS + threadIdx.x;
        if (word < words)
            count(counts + threadIdx.x, data[word]);
    }
    __syncthreads();

    // One bin a thread, each beginning at another thread's counter so that the banks are shared out.
    unsigned sum = 0;
    const unsigned char *bin = counts + threadIdx.x * THREADS;
    unsigned position = threadIdx.x * 4 % THREADS;
    for (int i = 0; i < THREADS; i++) {
        sum += bin[position];
        position = (position + 1) % THREADS;
    }
    partial[blockIdx.x * BINS + threadIdx.x] = sum;
}

// Adds up the partial histograms, one block a bin.
extern "C" __global__ void histogram64_merge(const unsigned *partial, unsigned *bins, int blocks)
{
    __shared__ unsigned sums[THREADS];

    unsigned sum = 0;
    for (int i = threadIdx.x; i < blocks; i += THREADS)
        sum += partial[blockIdx.x + i * BINS];
    sums[threadIdx.x] = sum;
    for (int half = THREADS / 2; half > 0; half /= 2) {
        __syncthreads();
        if (threadIdx.x < half)
            sums[threadIdx.x] += sums[threadIdx.x + half];
    }
    if (threadIdx.x == 0)
        bins[blockIdx.x] = sums[0];
}
