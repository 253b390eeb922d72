// For clang without CUDA's headers.
#define __global__ __attribute__((global))
__global__ void twice(float *a)
{
    int i = __nvvm_read_ptx_sreg_ctaid_x() * __nvvm_read_ptx_sreg_ntid_x() + __nvvm_read_ptx_sreg_tid_x();
    a[i] *= 2;
}
