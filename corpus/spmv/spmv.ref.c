#include "../reference.h"

#include <math.h>

void spmv_csr_reference(const RefLaunch *launch, void **args);
void spmv_ell_reference(const RefLaunch *launch, void **args);

void spmv_csr_reference(const RefLaunch *launch, void **args)
{
    const int *rowStart = args[0];
    const int *columns = args[1];
    const float *values = args[2];
    const float *x = args[3];
    float *y = args[4];
    int rows = *(const int *)args[5];
    int threads = (int)(launch->grid[0] * launch->block[0]);

    for (int row = 0; row < rows && row < threads; row++) {
        float sum = 0.0f;
        for (int k = rowStart[row]; k < rowStart[row + 1]; k++)
            sum = fmaf(values[k], x[columns[k]], sum);
        y[row] = sum;
    }
}

void spmv_ell_reference(const RefLaunch *launch, void **args)
{
    const int *lengths = args[0];
    const int *columns = args[1];
    const float *values = args[2];
    const float *x = args[3];
    float *y = args[4];
    int rows = *(const int *)args[5];
    int threads = (int)(launch->grid[0] * launch->block[0]);

    for (int row = 0; row < rows && row < threads; row++) {
        float sum = 0.0f;
        for (int k = 0; k < lengths[row]; k++)
            sum = fmaf(values[k * rows + row], x[columns[k * rows + row]], sum);
        y[row] = sum;
    }
}
