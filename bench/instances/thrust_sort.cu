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

void a(V<float> &x)
{
    thrust::stable_sort(B(x), thrust::greater<float>());
}
void b(V<int> &k, V<double> &v)
{
    thrust::sort_by_key(B(k), v.begin());
}
void c(V<int> &x)
{
    thrust::unique(B(x));
}
void d(V<int> &k, V<float> &v)
{
    thrust::unique_by_key(B(k), v.begin());
}
void e(V<int> &x, V<int> &y)
{
    thrust::merge(B(x), B(y), x.begin());
}
