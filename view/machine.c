/* The rows of machine code. */
#include "view/internal.h"

#include <string.h>

/* True if the instruction reads something that is there for the whole launch. */
static bool is_reload(const SassInstruction *inst)
{
    return inst->class == MACHINE_CONSTANT || strncmp(inst->text, "S2R", 3) == 0 || strncmp(inst->text, "CS2R", 4) == 0;
}

static bool is_arithmetic(const SassInstruction *inst)
{
    switch (inst->class) {
    case MACHINE_FP32:
    case MACHINE_COMPARE:
    case MACHINE_INTEGER:
    case MACHINE_MULTIPLY:
    case MACHINE_FP16:
    case MACHINE_FP64:
    case MACHINE_SFU:
    case MACHINE_MOVE: return true;
    default: return false;
    }
}

static ViewRemedy remedy_of(const SassInstruction *inst)
{
    return !inst->text || inst->conditional ? REMEDY_STORE
           : is_reload(inst)                ? REMEDY_RELOAD
           : is_arithmetic(inst)            ? REMEDY_RECOMPUTE
                                            : REMEDY_STORE;
}

static ViewRow make_row(const ViewSource *source, const SassInstruction *inst)
{
    const SassMap *map = source->map;
    const Inst *from = NULL;
    ViewRow row = {.text = inst->text ? inst->text : inst->mnemonic,
                   .address = inst->address,
                   .block = inst->block,
                   .target = inst->target,
                   .flow = (SassFlow)inst->flow,
                   .conditional = inst->conditional,
                   .remedy = remedy_of(inst)};
    if (map && inst->ptx != MACHINE_NONE) {
        from = map->lines.insts[inst->ptx];
        row.line = source_position(source->module->source, from->span.begin).line;
        row.loc = from->loc;
        row.name = view_written_name(from, &map->lines.functions[inst->ptx]->regs);
    }
    row.spills = map && map->mapped && sass_is_spill(inst, from);
    row.executions = source->executions ? source->executions->block_warps[inst->block] : 0;
    return row;
}

ViewCode view_machine_code(Arena *arena, const ViewSource *source, const char **error)
{
    const SassCode *code = source->code;
    *error = !code->ranges || !code->count                ? "nvdisasm told no life ranges"
             : !code->ranges->counts[FILE_GENERAL] ? "the code uses no registers"
                                                          : NULL;
    if (*error)
        return (ViewCode){0};
    ViewRow *rows = ARENA_ARRAY(arena, ViewRow, code->count);
    for (uint32_t row = 0; row < code->count; row++)
        rows[row] = make_row(source, &code->instructions[row]);
    return (ViewCode){.rows = rows,
                      .count = code->count,
                      .blocks = code->blocks,
                      .block_count = code->block_count,
                      .ranges = code->ranges,
                      .registers = source->resources->registers,
                      .shared = source->resources->shared};
}
