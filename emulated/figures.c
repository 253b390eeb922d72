/* The registers and memory of kernels: from the machine code beside the PTX in the fat binary, or, if there is none for
 * the device, from ptxas or nvJitLink, which assemble the PTX at the first query. If neither is installed, shared
 * memory is that of the PTX's variables, and the registers are an estimate. */
#include <string.h>

#include "assembler/assembler.h"
#include "emulated/driver.h"
#include "emulated/driver_api.h"

enum { ESTIMATED_REGISTERS = 32 };

typedef struct Figures {
    Assembly assembly; /* no resources: none is known */
} Figures;

static void figures_assemble(const EmulatedModule *module, Figures *figures)
{
    static const AssemblerKind kinds[] = {ASSEMBLER_PTXAS, ASSEMBLER_NVJITLINK};
    const char *error;
    for (size_t i = 0; i < COUNT_OF(kinds) && !figures->assembly.resource_count; i++) {
        Assembler *assembler = assembler_open(module->arena, kinds[i], DEVICE_ARCHITECTURE, &error);
        const AssemblyRequest request = assembly_request(module->text, strlen(module->text));
        if (assembler && !assembler_run(assembler, module->arena, &request, &figures->assembly))
            figures->assembly.resource_count = 0;
        assembler_close(assembler);
    }
}

static const Figures *figures_of(EmulatedModule *module)
{
    if (module->figures)
        return module->figures;
    module->figures = ARENA_NEW(module->arena, Figures);
    if (module->cubin)
        assembly_read(module->arena, DEVICE_ARCHITECTURE, module->cubin, module->cubin_size, NULL,
                      &module->figures->assembly);
    if (!module->figures->assembly.resource_count)
        figures_assemble(module, module->figures);
    return module->figures;
}

static uint64_t variable_align(const Variable *variable)
{
    uint64_t natural = (type_bits(variable->type) + 7) / 8 * (variable->vector ? variable->vector : 1);
    return variable->align > natural ? variable->align : natural;
}

/* Bytes of the module's variables in constant memory. */
static uint64_t constant_bytes(const Module *module)
{
    uint64_t bytes = 0;
    for (size_t i = 0; i < module->items.count; i++)
        if (module->items.data[i].kind == ITEM_VARIABLE && module->items.data[i].variable->space == SPACE_CONST)
            bytes = align_up(bytes, variable_align(module->items.data[i].variable)) +
                    variable_bytes(module->items.data[i].variable);
    return bytes;
}

static void add_shared(uint64_t *bytes, const Variable *variable)
{
    if (variable->space == SPACE_SHARED && variable_bytes(variable))
        *bytes = align_up(*bytes, variable_align(variable)) + variable_bytes(variable);
}

/* The bytes of shared memory of a kernel's variables, and of all of the module's. */
static uint64_t static_shared(const EmulatedFunction *function)
{
    const Module *module = function->module->module;
    const char *reason;
    uint64_t bytes = 0;
    Body *body = body_build((Function *)function->function, &reason);
    for (size_t i = 0; i < module->items.count; i++)
        if (module->items.data[i].kind == ITEM_VARIABLE)
            add_shared(&bytes, module->items.data[i].variable);
    for (size_t i = 0; body && i < body->variables.count; i++)
        add_shared(&bytes, body->variables.data[i]);
    if (body)
        body_free(body);
    return bytes;
}

KernelFigures kernel_figures(const EmulatedFunction *function)
{
    LOCKED;
    const Figures *figures = figures_of(function->module);
    const Resources *found =
        figures->assembly.resource_count ? assembly_find(&figures->assembly, function->function->name) : NULL;
    KernelFigures known = {.constant = constant_bytes(function->module->module), .is_estimate = !found};
    known.registers = found ? found->registers : ESTIMATED_REGISTERS;
    known.local = found ? found->stack : 0;
    known.shared = found ? found->shared : static_shared(function);
    return known;
}

static unsigned directed_threads(const Function *function)
{
    const Tuning *tuning = &function->tuning;
    unsigned most = 1;
    for (unsigned d = 0; d < tuning->reqntid_count; d++)
        most *= tuning->reqntid[d];
    for (unsigned d = 0; d < tuning->maxntid_count && !tuning->reqntid_count; d++)
        most *= tuning->maxntid[d];
    bool is_bounded = tuning->reqntid_count || tuning->maxntid_count;
    return is_bounded ? most : sm_limits_for(DEVICE_ARCHITECTURE)->threads_per_block;
}

static bool registers_fit(const EmulatedFunction *function, unsigned threads)
{
    const KernelFigures figures = kernel_figures(function);
    return figures.is_estimate ||
           sm_occupancy(sm_limits_for(DEVICE_ARCHITECTURE), threads, figures.registers, 0).blocks;
}

bool kernel_fits(const EmulatedFunction *function, unsigned threads)
{
    return !function->module->figures || registers_fit(function, threads);
}

unsigned kernel_most_threads(const EmulatedFunction *function)
{
    enum { WARP = 32 };
    unsigned threads = directed_threads(function->function);
    while (threads > WARP && !registers_fit(function, threads))
        threads = (threads - 1) / WARP * WARP;
    return threads;
}

unsigned kernel_blocks(const EmulatedFunction *function, unsigned threads, size_t shared)
{
    const KernelFigures figures = kernel_figures(function);
    if (!threads || threads > directed_threads(function->function))
        return 0;
    return sm_occupancy(sm_limits_for(DEVICE_ARCHITECTURE), threads, figures.registers, figures.shared + shared)
        .blocks;
}
