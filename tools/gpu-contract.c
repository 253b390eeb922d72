#include "tools/gpu-contract.h"

#include "runtime/ptxopt-launch.h"

/* The launch that results from applying the module's contract to the original one (docs/formats.md). */
static const char *apply(const GpuLaunch *gpu, const GpuForm *form, bool *has_contract)
{
    DevicePointer address;
    size_t size, shared = form->launch->dynamic_shared;
    uint32_t words[PTXOPT_CONTRACT_WORDS];
    char why[256];
    const char *name = arena_printf(gpu->arena, "__ptxopt_launch_%s", gpu->launch->kernel);
    *has_contract = gpu->driver->module_global(&address, &size, form->module, name) == CUDA_DONE;
    if (!*has_contract)
        return NULL;
    if (size != sizeof words || gpu->driver->copy_out(words, address, sizeof words) != CUDA_DONE)
        return arena_printf(gpu->arena, "%s is not a known launch contract", name);
    if (!ptxopt_launch_adapt_grid(words, form->launch->grid, form->launch->block, &shared, why, sizeof why))
        return arena_printf(gpu->arena, "%s: %s", name, why);
    form->launch->dynamic_shared = shared;
    return gpu_form_allow_shared(gpu, form);
}

const char *gpu_contract_load(const GpuLaunch *gpu, const char *image, GpuForm *form, bool *has_contract)
{
    const char *problem = gpu_form_load(gpu, image, NULL, form);
    *has_contract = false;
    return problem ? problem : apply(gpu, form, has_contract);
}
