/* The pipe of an SM that an instruction occupies, from its row's category, its types and its state space. */
#include "cost/cost.h"

const char *pipe_name(Pipe pipe)
{
    static const char *const names[PIPE_COUNT] = {
        [PIPE_FP32] = "FP32",         [PIPE_INTEGER] = "integer",   [PIPE_MULTIPLY] = "integer product",
        [PIPE_SPECIAL] = "special function",
        [PIPE_FP64] = "FP64",         [PIPE_TENSOR] = "tensor",     [PIPE_SHARED] = "shared memory",
        [PIPE_GLOBAL] = "global memory", [PIPE_LOCAL] = "local memory", [PIPE_CONSTANT] = "constant memory",
        [PIPE_BARRIER] = "barrier",   [PIPE_CONTROL] = "control",   [PIPE_MOVE] = "move",
    };
    return (unsigned)pipe < PIPE_COUNT ? names[pipe] : "unknown";
}

static Pipe space_pipe(Space space)
{
    switch (space) {
    case SPACE_SHARED: return PIPE_SHARED;
    case SPACE_LOCAL: return PIPE_LOCAL;
    case SPACE_CONST:
    case SPACE_PARAM: return PIPE_CONSTANT;
    default: return PIPE_GLOBAL;
    }
}

static bool has_type(const Inst *inst, Type type)
{
    for (unsigned i = 0; i < inst->signature->type_count; i++)
        if (inst->signature->types[i] == type)
            return true;
    return false;
}

static bool has_float_type(const Inst *inst)
{
    for (unsigned i = 0; i < inst->signature->type_count; i++)
        if (type_class(inst->signature->types[i]) == CLASS_FLOAT)
            return true;
    return false;
}

static Pipe arithmetic_pipe(const Inst *inst, Pipe otherwise)
{
    if (has_type(inst, TYPE_F64))
        return PIPE_FP64;
    if (opcode_is_special_function(inst_op(inst)) && (has_float_type(inst) || opcode_is_slow(inst_op(inst))))
        return PIPE_SPECIAL;
    return otherwise;
}

static bool is_product(const Inst *inst)
{
    switch (inst_op(inst)) {
    case OP_MUL:
    case OP_MUL24:
    case OP_MAD:
    case OP_MAD24:
    case OP_DP2A:
    case OP_DP4A: return true;
    default: return false;
    }
}

static Pipe category_pipe(const Inst *inst)
{
    switch (form_category(inst->form)) {
    case CATEGORY_FLOAT:
    case CATEGORY_HALF:
    case CATEGORY_BF16: return arithmetic_pipe(inst, PIPE_FP32);
    case CATEGORY_MOVE:
        if (inst->sync == SYNC_WARP || inst->sync == SYNC_CONVERGED)
            return PIPE_SHARED; /* shfl uses the same crossbar */
        return inst_op(inst) == OP_MOV ? PIPE_MOVE : arithmetic_pipe(inst, PIPE_INTEGER);
    case CATEGORY_CONTROL: return PIPE_CONTROL;
    case CATEGORY_SYNC: return inst->sync == SYNC_BLOCK_BARRIER || inst->sync == SYNC_BLOCK_COUNT ? PIPE_BARRIER
                                                                                                   : PIPE_INTEGER;
    case CATEGORY_WMMA:
    case CATEGORY_MMA:
    case CATEGORY_WGMMA:
    case CATEGORY_TCGEN05: return PIPE_TENSOR;
    case CATEGORY_MEMORY:
    case CATEGORY_ATOMIC:
    case CATEGORY_ASYNC_COPY:
    case CATEGORY_TEXTURE:
    case CATEGORY_SURFACE: return PIPE_GLOBAL;
    default: return arithmetic_pipe(inst, is_product(inst) ? PIPE_MULTIPLY : PIPE_INTEGER);
    }
}

UnitUse inst_unit(const Inst *inst)
{
    UnitUse use = {.pipe = PIPE_INTEGER};
    Access access;
    if (inst_is_opaque(inst))
        return use;
    if (!inst_access(inst, &access)) {
        use.pipe = category_pipe(inst);
        use.is_slow = opcode_is_slow(inst_op(inst));
        return use;
    }
    bool is_plain = access.kind != ACCESS_OTHER || access.space != SPACE_NONE;
    use.pipe = is_plain ? space_pipe(access.space) : category_pipe(inst);
    use.is_store = access.kind == ACCESS_STORE || access.kind == ACCESS_ATOMIC;
    use.is_load = access.kind != ACCESS_STORE && use.pipe != PIPE_TENSOR && use.pipe != PIPE_BARRIER;
    return use;
}
