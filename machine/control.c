/* The flow of control of one thread. */
#include "machine/internal.h"

Step execute_nothing(Thread *thread, const Decoded *it)
{
    (void)thread;
    (void)it;
    return STEP_ON;
}

static Step jump(Thread *thread, uint64_t target)
{
    if (target >= thread->block->program->count)
        return stop(thread, MACHINE_UNDECIDED, "a branch to an unknown address");
    thread->at = (uint32_t)target;
    return STEP_JUMPED;
}

/* True if the predicates among the operands hold, too. */
static bool is_taken(const Thread *thread, const Decoded *it)
{
    for (unsigned i = 0; i < it->operand_count; i++)
        if (is_predicate(&it->operands[i]) && !predicate(thread, &it->operands[i]))
            return false;
    return true;
}

Step execute_branch(Thread *thread, const Decoded *it)
{
    return is_taken(thread, it) ? jump(thread, it->target) : STEP_ON;
}

/* BRX r, offset: relative to the next instruction. */
Step execute_branch_indirect(Thread *thread, const Decoded *it)
{
    const uint32_t next = (thread->at + 1 - it->section) * INSTRUCTION_BYTES;
    const uint32_t address = next + raw32(thread, &it->operands[0]) + (uint32_t)it->operands[1].number;
    if (it->operands[1].kind != PLACE_NUMBER || address % INSTRUCTION_BYTES)
        return stop(thread, MACHINE_UNDECIDED, "this form of a branch");
    return jump(thread, it->section + address / INSTRUCTION_BYTES);
}

/* RET.REL [p,] r: to an address in this section of code. */
Step execute_return(Thread *thread, const Decoded *it)
{
    const Place *to = &it->operands[skip_predicates(it, 0)];
    if (!is_taken(thread, it))
        return STEP_ON;
    if (to->kind != PLACE_REGISTER)
        return stop(thread, MACHINE_UNDECIDED, "this form of a return");
    const uint32_t address = raw32(thread, to);
    if (address % INSTRUCTION_BYTES)
        return stop(thread, MACHINE_UNDECIDED, "a return to an unknown address");
    return jump(thread, it->section + address / INSTRUCTION_BYTES);
}

Step execute_exit(Thread *thread, const Decoded *it)
{
    return is_taken(thread, it) ? STEP_EXITED : STEP_ON;
}
