// Bulk copies, transaction barriers and clusters of sm_90 and later.

extern "C" __global__ void bulk(const char *in, int *out, int bytes)
{
    __shared__ alignas(128) int tile[256];
    __shared__ alignas(8) unsigned long long barrier;

    unsigned tileAddress = (unsigned)__cvta_generic_to_shared(tile);
    unsigned barrierAddress = (unsigned)__cvta_generic_to_shared(&barrier);
    if (threadIdx.x == 0) {
        asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(barrierAddress), "r"(1));
        asm volatile("fence.proxy.async.shared::cta;");
        asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(barrierAddress), "r"(bytes));
        asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(
                         tileAddress),
                     "l"(in), "r"(bytes), "r"(barrierAddress)
                     : "memory");
    }
    __syncthreads();
    asm volatile("{\n"
                 ".reg .pred complete;\n"
                 "WAIT:\n"
                 "mbarrier.try_wait.parity.shared::cta.b64 complete, [%0], %1;\n"
                 "@complete bra.uni DONE;\n"
                 "bra.uni WAIT;\n"
                 "DONE:\n"
                 "}" ::"r"(barrierAddress),
                 "r"(0)
                 : "memory");
    out[threadIdx.x] = tile[threadIdx.x] + 1;
    unsigned leader;
    asm volatile("{ .reg .pred p; elect.sync _|p, 0xffffffff; selp.u32 %0, 1, 0, p; }" : "=r"(leader));
    if (leader)
        asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], 64;\n"
                     "cp.async.bulk.commit_group;\n"
                     "cp.async.bulk.wait_group.read 0;" ::"l"(out),
                     "r"(tileAddress)
                     : "memory");
}
