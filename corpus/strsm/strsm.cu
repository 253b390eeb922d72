// Solves A X = B for a lower triangular A: a thread solves for one column of X by forward substitution, in place of B.

extern "C" __global__ void strsm(const float *a, float *b, int n)
{
    int idx = blockIdx.x * blockDim.x + threadIdx.x;
    for (int i = 0; i < n; i++) {
        float sum = b[i * n + idx];
        for (int k = 0; k < i; k++)
            sum -= a[i * n + k] * b[k * n + idx];
        b[i * n + idx] = sum / a[i * n + i];
    }
}
