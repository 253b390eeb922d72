#include "cli/machine_cost.h"

#include "parser/parser.h"
#include "sass/sass.h"

static Pipe class_pipe(MachineClass class)
{
    static const Pipe pipes[MACHINE_CLASS_COUNT] = {
        [MACHINE_FP32] = PIPE_FP32,         [MACHINE_INTEGER] = PIPE_INTEGER, [MACHINE_FP16] = PIPE_FP32,
        [MACHINE_FP64] = PIPE_FP64,         [MACHINE_SFU] = PIPE_SPECIAL,     [MACHINE_TENSOR] = PIPE_TENSOR,
        [MACHINE_SHARED] = PIPE_SHARED,     [MACHINE_GLOBAL] = PIPE_GLOBAL,   [MACHINE_LOCAL] = PIPE_LOCAL,
        [MACHINE_CONSTANT] = PIPE_CONSTANT, [MACHINE_TEXTURE] = PIPE_GLOBAL,  [MACHINE_WARP] = PIPE_SHARED,
        [MACHINE_CONTROL] = PIPE_CONTROL,   [MACHINE_BARRIER] = PIPE_BARRIER, [MACHINE_MOVE] = PIPE_MOVE,
        [MACHINE_UNIFORM] = PIPE_CONTROL,   [MACHINE_OTHER] = PIPE_MOVE,
    };
    return pipes[class];
}

/* The form as a module of its own: instructions have places in its text. */
static Module *print_and_parse(Arena *arena, const FunctionForm *form)
{
    Buf text = {0};
    Diag diag;
    judge_print_form(form, &text);
    Source *source = source_from_memory(arena, form->function->name, arena_strndup(arena, buf_text(&text), text.length),
                                        text.length);
    buf_free(&text);
    diag_init(&diag, source, stderr);
    diag.quiet = true;
    return parse_module(arena, source, &diag);
}

static const PtxCount *ptx_counts(Arena *arena, const Profile *profile)
{
    PtxCount *counts = ARENA_ARRAY(arena, PtxCount, profile->instruction_count + 1);
    for (size_t i = 0; i < profile->instruction_count; i++) {
        const InstProfile *inst = &profile->instructions[i];
        counts[i] = (PtxCount){inst->span, (uint64_t)(inst->warps + 0.5), (uint64_t)(inst->threads + 0.5)};
    }
    return counts;
}

/* Adds the executed machine instructions to the profile; false if the machine code is not mapped to PTX. */
static bool add_machine(AssemblerJudge *judge, Arena *scratch, const Module *module, const char *kernel,
                        Profile *profile, Arena *arena, Buf *listing)
{
    const char *error;
    MachineRequest request = {.assembler = judge->assembler, .module = module, .kernel = kernel};
    request.assembly = assembly_request(NULL, 0);
    request.assembly.arch = judge->arch;
    request.assembly.opt_level = judge->opt_level;
    request.assembly.timeout_ms = judge->timeout_ms;
    MachineMap *map = machine_map(scratch, &request, &error);
    if (!map || !map->mapped)
        return false;
    const PtxCount *counts = ptx_counts(scratch, profile);
    MachineExecutions *executions = machine_execute(scratch, map, counts, profile->instruction_count);
    MachineProfile *machine = ARENA_NEW(arena, MachineProfile);
    machine->instructions = executions->total;
    machine->spills = executions->spills;
    machine->residual = executions->residual;
    for (unsigned class = 0; class < MACHINE_CLASS_COUNT; class++)
        machine->pipe[class_pipe((MachineClass)class)] += executions->by_class[class];
    profile->machine = machine;
    if (listing)
        machine_list(map, executions, listing);
    return true;
}

FormCost machine_cost(AssemblerJudge *judge, const CostBasis *basis, const FunctionForm *form, const Figures *figures,
                      const unsigned factor[3], Buf *listing)
{
    if (!judge || !judge->assembler)
        return form_cost(basis, form, figures, factor);
    Arena *scratch = arena_new();
    Module *module = print_and_parse(scratch, form);
    Function *kernel = module ? module_find_function(module, form->function->name) : NULL;
    FormCost cost = {0};
    if (kernel) {
        const FunctionForm parsed = {.function = kernel};
        cost = form_cost(basis, &parsed, figures, factor);
        if (cost.known && add_machine(judge, scratch, module, kernel->name, cost.profile, basis->arena, listing))
            cost.time = form_time(basis, &cost);
    }
    arena_free(scratch);
    return cost.known ? cost : form_cost(basis, form, figures, factor);
}
