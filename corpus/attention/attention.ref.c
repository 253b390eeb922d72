#include "../reference.h"

#include <math.h>

void attention_reference(const RefLaunch *launch, void **args);

// By the definition, in double precision, two passes over the keys. The grid has a thread for each query.
void attention_reference(const RefLaunch *launch, void **args)
{
    const float *queries = args[0];
    const float *keys = args[1];
    const float *values = args[2];
    float *out = args[3];
    unsigned count = *(const unsigned *)args[4];

    for (unsigned query = 0; query < launch->grid[0] * launch->block[0]; query++) {
        double maximum = -INFINITY, sum = 0.0, result[64] = {0.0};
        for (unsigned pass = 0; pass < 2; pass++)
            for (unsigned key = 0; key < count; key++) {
                double score = 0.0;
                for (unsigned d = 0; d < 64; d++)
                    score += (double)queries[query * 64 + d] * keys[key * 64 + d];
                score /= 8.0;
                if (pass == 0) {
                    maximum = fmax(maximum, score);
                    continue;
                }
                double weight = exp(score - maximum);
                sum += weight;
                for (unsigned d = 0; d < 64; d++)
                    result[d] += weight * values[key * 64 + d];
            }
        for (unsigned d = 0; d < 64; d++)
            out[query * 64 + d] = (float)(result[d] / sum);
    }
}
