// Instances of Thrust's algorithms on device vectors.
#include <thrust/device_vector.h>
#include <thrust/reduce.h>
#include <thrust/sort.h>
#include <thrust/transform.h>

void sort(thrust::device_vector<int> &values)
{
    thrust::sort(values.begin(), values.end());
}

int sum(thrust::device_vector<int> &values)
{
    return thrust::reduce(values.begin(), values.end());
}

void negate(thrust::device_vector<float> &in, thrust::device_vector<float> &out)
{
    thrust::transform(in.begin(), in.end(), out.begin(), thrust::negate<float>());
}
