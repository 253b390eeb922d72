/* alloca, stacksave and stackrestore: PTX ISA, "Stack Manipulation Instructions". The local
 * memory of a function with any of these ends with an area of STACK_BYTES, in which its stack pointer moves down. */
#include "emulator/execute/execute.h"

static uint64_t *stack_pointers(const Exec *x)
{
    return (uint64_t *)(x->frame->registers + x->frame->code->stack_row);
}

/* alloca d, size {, alignment}.  'value' is the alignment. */
Step run_alloca(Exec *x, const Op *op, uint32_t mask)
{
    uint64_t *pointers = stack_pointers(x), end = x->frame->local_base + x->frame->code->local_bytes;
    EACH_ACTIVE(lane, mask)
    {
        uint64_t size = row_get(source_row(x, op->sources[0]), op->source_bytes[0], lane);
        uint64_t left = pointers[lane] - (end - STACK_BYTES);
        if (size > left || ((pointers[lane] - size) & ~(op->value - 1)) < end - STACK_BYTES)
            return fault_at(x, op, lane, FAULT_BOUNDS, "alloca of %llu byte%s, with %llu left on the stack",
                            (unsigned long long)size, plural(size), (unsigned long long)left);
        pointers[lane] = (pointers[lane] - size) & ~(op->value - 1);
        row_set(x->frame->registers + op->dest, op->dest_bytes, lane, pointers[lane]);
    }
    return STEP_NEXT;
}

Step run_stack_save(Exec *x, const Op *op, uint32_t mask)
{
    EACH_ACTIVE(lane, mask)
    {
        row_set(x->frame->registers + op->dest, op->dest_bytes, lane, stack_pointers(x)[lane]);
    }
    return STEP_NEXT;
}

Step run_stack_restore(Exec *x, const Op *op, uint32_t mask)
{
    uint64_t end = x->frame->local_base + x->frame->code->local_bytes;
    EACH_ACTIVE(lane, mask)
    {
        uint64_t saved = row_get(source_row(x, op->sources[0]), op->source_bytes[0], lane);
        if (saved > end || saved < end - STACK_BYTES)
            return fault_at(x, op, lane, FAULT_BOUNDS, "0x%llx is not on this function's stack",
                            (unsigned long long)saved);
        stack_pointers(x)[lane] = saved;
    }
    return STEP_NEXT;
}
