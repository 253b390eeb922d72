/* Whether the order of the blocks of a launch can be observed: no block waits for another, and blocks share data only
 * through atomics that commute exactly and whose results are unused. */
#include "emulator/run.h"

static bool is_own_memory(const MemoryOp *memory)
{
    return memory->in_frame || memory->space == SPACE_SHARED || memory->space == SPACE_LOCAL;
}

/* True for integer operations whose order changes neither memory nor a register. */
static bool commutes(const MemoryOp *memory)
{
    switch (memory->atomic) {
    case ATOMIC_ADD:
    case ATOMIC_MIN:
    case ATOMIC_MAX:
    case ATOMIC_AND:
    case ATOMIC_OR:
    case ATOMIC_XOR: break;
    default: return false;
    }
    if (type_class(memory->type) == CLASS_FLOAT)
        return false;
    for (unsigned i = 0; i < memory->count; i++)
        if (memory->elements[i] != NO_ROW)
            return false;
    return true;
}

static bool is_order_free(const Op *op)
{
    if (op->run == run_atomic)
        return is_own_memory(op->memory) || commutes(op->memory);
    if (op->run == run_load || op->run == run_store)
        return is_own_memory(op->memory) || !op->memory->strong;
    if (op->run == run_builtin)
        return strcmp(op->call->callee->name, "__assertfail") == 0;
    if (op->run == run_copy_bulk)
        return op->copy_bulk->atomic == ATOMIC_NONE;
    return op->run != run_clock && !(op->inst && inst_op(op->inst) == OP_SURED);
}

bool blocks_are_unordered(const Emulator *emulator)
{
    for (size_t i = 0; i < emulator->code_list.count; i++) {
        const Code *code = emulator->code_list.data[i];
        for (size_t k = 0; k < code->ops.count; k++)
            if (!is_order_free(&code->ops.data[k]))
                return false;
    }
    return true;
}

bool run_is_repeatable(const Emulator *emulator)
{
    return !emulator->launch->device && blocks_are_unordered(emulator);
}
