// The interface of the corpus's plain C references.
//
// Beside each NAME.cu, NAME.ref.c defines for every kernel KERNEL in it
//
//     void KERNEL_reference(const RefLaunch *launch, void **args);
//
// launch is the launch of the original kernel. args holds one pointer for each kernel parameter, in order: to the first
// element of the buffer where the parameter is a pointer, else to the scalar itself. The buffers come filled as the
// launch file says; the reference writes what the kernel writes and nothing else. It cannot fail and keeps nothing.
//
// Compile with -ffp-contract=off: the reference calls fmaf where nvcc contracts a product and a sum.
#ifndef CORPUS_REFERENCE_H
#define CORPUS_REFERENCE_H

typedef struct {
    unsigned grid[3];  // blocks along x, y, z
    unsigned block[3]; // threads of a block along x, y, z
} RefLaunch;

#endif
