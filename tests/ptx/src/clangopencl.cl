// Kernels for clang in OpenCL C.

#pragma OPENCL EXTENSION cl_khr_fp64 : enable

constant float weights[3] = {0.25f, 0.5f, 0.25f};

static float filter(const global float *in, int i)
{
    return in[i - 1] * weights[0] + in[i] * weights[1] + in[i + 1] * weights[2];
}

kernel void cl_filter(const global float *restrict in, global float *restrict out, int n)
{
    int i = (int)__nvvm_read_ptx_sreg_tid_x();
    if (i > 0 && i < n - 1)
        out[i] = filter(in, i);
}

kernel __attribute__((reqd_work_group_size(64, 1, 1))) void cl_local(global float4 *data, local float4 *scratch)
{
    uint t = __nvvm_read_ptx_sreg_tid_x();
    local int flag;
    scratch[t] = data[t];
    if (t == 0)
        flag = 3;
    __syncthreads();
    data[t] = scratch[63 - t].wzyx * (float)flag;
}

kernel void cl_vectors(global uchar16 *bytes, global short2 *pairs, global double3 *triples, constant int *table)
{
    uint t = __nvvm_read_ptx_sreg_tid_x();
    bytes[t] = bytes[t] >> (uchar16)(1) | bytes[t + 1];
    pairs[t] = pairs[t].yx * (short2)(3, -1);
    triples[t] += (double)table[t % 7];
}

kernel void cl_branches(global int *data, int n, global float *sums)
{
    uint t = __nvvm_read_ptx_sreg_tid_x() + __nvvm_read_ptx_sreg_ctaid_y() * 64;
    float sum = 0.0f;
    for (int i = 0; i < n; i++) {
        if (data[i] < 0)
            continue;
        if (data[i] == 1000)
            return;
        sum += (float)data[i] * 0.125f;
    }
    sums[t] = sum > 10.0f ? sum : -sum;
}
