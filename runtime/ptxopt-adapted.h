/* For compilers other than nvcc (-include): host code whose kernels may be coarsened refers to the launch adapter, so
 * that the program does not link without it. */
#ifndef PTXOPT_ADAPTED_H
#define PTXOPT_ADAPTED_H

#ifndef __CUDA_ARCH__
#ifdef __cplusplus
extern "C" char ptxopt_launch_adapter;
#else
extern char ptxopt_launch_adapter;
#endif
__attribute__((used)) static char *const ptxopt_needs_launch_adapter = &ptxopt_launch_adapter;
#endif

#endif
