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

void a(V<int> &m, V<float> &x, V<float> &y)
{
    thrust::gather(B(m), x.begin(), y.begin());
    thrust::scatter(B(x), m.begin(), y.begin());
}
void b(V<int> &x)
{
    thrust::sequence(B(x));
    thrust::replace(B(x), 1, 2);
    thrust::fill(B(x), 7);
    thrust::reverse(B(x));
}
void c(V<int> &x, V<int> &y, V<int> &z)
{
    thrust::lower_bound(B(x), B(y), z.begin());
    thrust::upper_bound(B(x), B(y), z.begin());
    thrust::binary_search(B(x), B(y), z.begin());
}
void d(V<float> &x, V<float> &y)
{
    thrust::transform(B(x), y.begin(), y.begin(), thrust::multiplies<float>());
    thrust::adjacent_difference(B(x), y.begin());
}
bool e(V<int> &x, V<int> &y)
{
    return thrust::equal(B(x), y.begin()) && thrust::find(B(x), 3) != x.end() && thrust::any_of(B(x), P()) &&
           thrust::is_sorted(B(x));
}
void f(V<float> &x, V<int> &y)
{
    thrust::for_each(thrust::make_zip_iterator(thrust::make_tuple(x.begin(), y.begin())),
                     thrust::make_zip_iterator(thrust::make_tuple(x.end(), y.end())),
                     [] __device__(thrust::tuple<float &, int &> t) { thrust::get<0>(t) += thrust::get<1>(t); });
}
void g(V<double> &x)
{
    thrust::tabulate(B(x), thrust::negate<int>());
}
void h(V<int> &x, V<int> &y)
{
    thrust::swap_ranges(B(x), y.begin());
    thrust::copy(B(x), y.begin());
}
