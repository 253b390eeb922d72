#include <thrust/device_vector.h>
#include <thrust/sort.h>
#include <thrust/reduce.h>
#include <thrust/scan.h>
#include <thrust/transform.h>
#include <thrust/unique.h>
#include <thrust/partition.h>
#include <thrust/remove.h>
#include <thrust/merge.h>
#include <thrust/set_operations.h>
#include <thrust/binary_search.h>
#include <thrust/gather.h>
#include <thrust/scatter.h>
#include <thrust/sequence.h>
#include <thrust/inner_product.h>
#include <thrust/extrema.h>
#include <thrust/adjacent_difference.h>
#include <thrust/transform_reduce.h>
#include <thrust/transform_scan.h>
#include <thrust/count.h>
#include <thrust/find.h>
#include <thrust/replace.h>
#include <thrust/tabulate.h>
#include <thrust/equal.h>
#include <thrust/mismatch.h>
#include <thrust/reverse.h>
#include <thrust/logical.h>
#include <thrust/iterator/zip_iterator.h>
#define V thrust::device_vector
#define B(a) a.begin(), a.end()
struct P {
    __host__ __device__ bool operator()(int x) const
    {
        return x & 1;
    }
};

void a(V<int> &x, V<float> &y)
{
    thrust::exclusive_scan(B(y), y.begin());
}
void b(V<int> &k, V<float> &y)
{
    thrust::inclusive_scan_by_key(B(k), y.begin(), y.begin());
}
void c(V<int> &k, V<float> &y, V<int> &l, V<float> &z)
{
    thrust::reduce_by_key(B(k), y.begin(), l.begin(), z.begin());
}
float d(V<float> &x, V<float> &y)
{
    return thrust::inner_product(B(x), y.begin(), 0.0f);
}
int e(V<float> &x)
{
    return thrust::max_element(B(x)) - x.begin();
}
int f(V<int> &x)
{
    auto p = thrust::minmax_element(B(x));
    return p.first - p.second;
}
int g(V<int> &x)
{
    return thrust::count_if(B(x), P());
}
double h(V<double> &x)
{
    return thrust::transform_reduce(B(x), thrust::square<double>(), 0.0, thrust::plus<double>());
}
void i(V<int> &x)
{
    thrust::transform_inclusive_scan(B(x), x.begin(), thrust::negate<int>(), thrust::plus<int>());
}
