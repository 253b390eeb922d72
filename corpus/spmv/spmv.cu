// Sparse matrix times vector.

// Compressed sparse rows, one row a thread: neighbouring threads run loops of different lengths.
extern "C" __global__ void spmv_csr(const int *rowStart, const int *columns, const float *values, const float *x,
                                    float *y, int rows)
{
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= rows)
        return;

    float sum = 0.0f;
    for (int k = rowStart[row]; k < rowStart[row + 1]; k++)
        sum += values[k] * x[columns[k]];
    y[row] = sum;
}

// Rows padded to a common pitch and stored column by column, with the length of each row beside.
extern "C" __global__ void spmv_ell(const int *lengths, const int *columns, const float *values, const float *x,
                                    float *y, int rows)
{
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row < rows) {
        float sum = 0.0f;
        int length = lengths[row];
        for (int k = 0; k < length; k++)
            sum += values[k * rows + row] * x[columns[k * rows + row]];
        y[row] = sum;
    }
}
