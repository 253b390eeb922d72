// The launch contract that ptxopt writes (docs/formats.md), for kernels that were coarsened by hand.
#ifndef PTXOPT_BENCH_EXPERT_CONTRACT_H
#define PTXOPT_BENCH_EXPERT_CONTRACT_H
#define LAUNCH(kernel, x, y, unit)                                                                                     \
    extern "C" __constant__ const unsigned __ptxopt_launch_##kernel[16] = {0x50584f50, 1, 0, x, y, 1, unit, 0, 0, 1,   \
                                                                          0,          0, 0, 0, 0, 0}
#endif
