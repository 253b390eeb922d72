/* Random programs on a GPU. */
#include "on_gpu.h"

#include <ctype.h>
#include <string.h>

/* Writes an instruction for each register of the line, after the first 'skipped' commas, whose pool has this name (with
 * a "u" before it where its members are uniform); the register is at each '$' of the instruction. */
static void write_for_registers(Buf *exact, const char *line, const char *end, unsigned skipped, const char *name,
                                const char *instruction)
{
    for (const char *at = line; at < end; at++) {
        skipped -= *at == ',' && skipped;
        const char *letters = at[1] == 'u' ? at + 2 : at + 1;
        size_t length = strlen(name);
        if (*at != '%' || skipped || strncmp(letters, name, length) != 0 || !isdigit((unsigned char)letters[length]))
            continue;
        size_t register_length = (size_t)(letters - at) + length;
        while (isdigit((unsigned char)at[register_length]))
            register_length++;
        for (const char *c = instruction; *c; c++)
            if (*c == '$')
                buf_write(exact, at, register_length);
            else
                buf_write(exact, c, 1);
    }
}

/* Writes instructions before a line whose result depends on what a GPU does in another way, or PTX leaves open
 * (docs/trust.md); they change its operands. Positions and lengths of fields of 64 bits are taken modulo 256, and a NaN
 * of f64, whose bits show when it is stored, moved or rounded, becomes an infinity. */
static void write_before(Buf *exact, const char *line, const char *end)
{
    static const struct {
        const char *opcode, *type; /* the line's, with any modifiers between; NULL: none */
        unsigned skipped;
        const char *name, *instruction;
    } rows[] = {
        {"bfe.u64 ", NULL, 2, "r", "\tand.b32 $, $, 255;\n"},
        {"bfe.s64 ", NULL, 2, "r", "\tand.b32 $, $, 255;\n"},
        {"bfi.b64 ", NULL, 3, "r", "\tand.b32 $, $, 255;\n"},
        {"st.", ".f64 ", 0, "fd", "\tmin.f64 $, $, 0d7FF0000000000000;\n"},
        {"mov.b64 ", NULL, 1, "fd", "\tmin.f64 $, $, 0d7FF0000000000000;\n"},
        {"cvt.rn.f32.f64 ", NULL, 1, "fd", "\tmin.f64 $, $, 0d7FF0000000000000;\n"},
    };
    const char *opcode = line + strspn(line, "\t");
    if (*opcode == '@')
        opcode += strcspn(opcode, " \n") + 1;
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        if (strncmp(opcode, rows[i].opcode, strlen(rows[i].opcode)) != 0)
            continue;
        size_t length = strcspn(opcode, " \n") + 1, type = rows[i].type ? strlen(rows[i].type) : 0;
        if (length >= type && (!type || strncmp(opcode + length - type, rows[i].type, type) == 0))
            write_for_registers(exact, opcode, end, rows[i].skipped, rows[i].name, rows[i].instruction);
    }
}

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
    bool begins = true; /* a line */
    for (const char *at = buf_text(ptx); *at;) {
        if (begins)
            write_before(&exact, at, at + strcspn(at, "\n"));
        size_t i = 0;
        while (i < COUNT_OF(instead) && strncmp(at, instead[i].inexact, strlen(instead[i].inexact)) != 0)
            i++;
        if (i == COUNT_OF(instead)) {
            begins = *at == '\n';
            buf_write(&exact, at++, 1);
        } else {
            begins = false;
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
    problem = gpu_form_load(&gpu->launch, text, NULL, &form);
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
    bool has_contract;
    const char *problem = gpu_contract_load(launch, text, &form, &has_contract);
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
