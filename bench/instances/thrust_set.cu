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

void a(V<int> &x, V<int> &y, V<int> &z)
{
    thrust::set_union(B(x), B(y), z.begin());
}
void b(V<int> &x, V<int> &y, V<int> &z)
{
    thrust::set_intersection(B(x), B(y), z.begin());
}
void c(V<int> &x, V<int> &y, V<int> &z)
{
    thrust::set_difference(B(x), B(y), z.begin());
}
void d(V<int> &x, V<int> &y, V<int> &z)
{
    thrust::set_symmetric_difference(B(x), B(y), z.begin());
}
void e(V<int> &x)
{
    thrust::partition(B(x), P());
}
void f(V<int> &x)
{
    thrust::remove_if(B(x), P());
}
void g(V<int> &x, V<int> &y)
{
    thrust::copy_if(B(x), y.begin(), P());
}
