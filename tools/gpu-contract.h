/* Forms that are launched by the contracts in their modules, as launch adapters read them. */
#ifndef PTXOPT_TOOLS_GPU_CONTRACT_H
#define PTXOPT_TOOLS_GPU_CONTRACT_H

#include "timing/timing.h"

/* Loads PTX or a cubin as gpu_form_load() does, and applies its contract, if it has one, to the launch. */
const char *gpu_contract_load(const GpuLaunch *gpu, const char *image, GpuForm *form, bool *has_contract);

#endif
