/* Random programs on a GPU. */
#include "on_gpu.h"

#include <string.h>

void on_gpu_make_exact(Buf *ptx)
{
    static const struct {
        const char *inexact, *exact;
    } instead[] = {
        {"add.f32 ", "add.rn.f32 "},           {"sub.f32 ", "sub.rn.f32 "},
        {"mul.f32 ", "mul.rn.f32 "},           {"mul.ftz.f32 ", "mul.rn.ftz.f32 "},
        {"ex2.approx.f32 ", "sqrt.rn.f32 "},   {"rsqrt.approx.f32 ", "rcp.rn.f32 "},
    };
    Buf exact = {0};
    for (const char *at = buf_text(ptx); *at;) {
        size_t i = 0;
        while (i < COUNT_OF(instead) && strncmp(at, instead[i].inexact, strlen(instead[i].inexact)) != 0)
            i++;
        if (i == COUNT_OF(instead)) {
            buf_write(&exact, at++, 1);
        } else {
            buf_puts(&exact, instead[i].exact);
            at += strlen(instead[i].inexact);
        }
    }
    buf_free(ptx);
    *ptx = exact;
}

bool on_gpu_open(OnGpu *gpu)
{
    Buf message = {0};
    bool open = gpu->driver.path || gpu_driver_open(&gpu->driver, 0, &message);
    if (!open)
        fprintf(stderr, "no GPU: %s\n", buf_text(&message));
    buf_free(&message);
    return open;
}

const char *on_gpu_run_original(OnGpu *gpu, Arena *arena, Launch *launch, const char *text,
                                const EmulatorResult *emulated)
{
    GpuForm form;
    gpu->launch = (GpuLaunch){.driver = &gpu->driver, .arena = arena, .launch = launch};
    const char *problem = gpu_launch_open(&gpu->launch);
    if (problem)
        return problem;
    problem = gpu_form_load(&gpu->launch, text, &form);
    if (!problem)
        problem = gpu_form_run(&gpu->launch, &form, &gpu->original);
    /* That way around, because the emulator's results have the module's variables, too. */
    if (!problem)
        problem = emulator_difference(arena, launch, gpu->original, emulated, launch->tolerance);
    gpu_form_close(&gpu->launch, &form);
    return problem;
}

const char *on_gpu_run_form(OnGpu *gpu, const char *text)
{
    GpuForm form;
    EmulatorResult *result;
    const GpuLaunch *launch = &gpu->launch;
    const char *problem = gpu_form_load(launch, text, &form);
    if (!problem)
        problem = gpu_form_run(launch, &form, &result);
    if (!problem)
        problem = emulator_difference(launch->arena, launch->launch, gpu->original, result, launch->launch->tolerance);
    gpu_form_close(launch, &form);
    return problem;
}

void on_gpu_end(OnGpu *gpu)
{
    gpu_launch_close(&gpu->launch);
}
