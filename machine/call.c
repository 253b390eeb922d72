/* Calls of functions in other sections of code, by pointers, and of those that the driver provides. A function address
 * in a register is CODE_WINDOW and INSTRUCTION_BYTES for each instruction before, or DRIVER_WINDOW and the number of a
 * function of the driver. */
#include "machine/internal.h"

/* The pairs of registers in which arguments and results start, and with the address to return to: those of calls of
 * functions that ptxas does not have. */
enum { FIRST_ARGUMENT = 4, RETURN_ADDRESS = 20, HEAP_ALIGN = 16 };

enum { DRIVER_PRINT, DRIVER_ALLOCATE, DRIVER_FREE, DRIVER_FAIL };

static const char *const driver_functions[] = {
    [DRIVER_PRINT] = "vprintf",
    [DRIVER_ALLOCATE] = "malloc",
    [DRIVER_FREE] = "free",
    [DRIVER_FAIL] = "__assertfail",
};

uint64_t driver_function_address(const char *name)
{
    for (size_t i = 0; i < COUNT_OF(driver_functions); i++)
        if (strcmp(driver_functions[i], name) == 0)
            return (uint64_t)DRIVER_WINDOW << 32 | i;
    return 0;
}

uint64_t code_address(uint32_t instruction)
{
    return (uint64_t)CODE_WINDOW << 32 | (uint64_t)instruction * INSTRUCTION_BYTES;
}

static Step go_to(Thread *thread, uint64_t address)
{
    const uint32_t offset = (uint32_t)address;
    if (address >> 32 != CODE_WINDOW || offset % INSTRUCTION_BYTES ||
        offset / INSTRUCTION_BYTES >= thread->block->program->count)
        return stop(thread, MACHINE_UNDECIDED, "a branch to an unknown address");
    thread->at = offset / INSTRUCTION_BYTES;
    return STEP_JUMPED;
}

static uint64_t pair_at(const Thread *thread, uint8_t index)
{
    return raw64(thread, &(Place){.kind = PLACE_REGISTER, .index = index});
}

/* malloc: the same addresses as in the emulator if threads come in the same order. */
static uint64_t allocate(Thread *thread, uint64_t bytes)
{
    ThreadBlock *block = thread->block;
    const uint64_t rest = block->launch->heap_size - *block->heap_used;
    const uint64_t address = block->launch->heap + *block->heap_used, taken = align_up(bytes, HEAP_ALIGN);
    if (block->end->ordered == MACHINE_NONE)
        block->end->ordered = thread->at;
    if (bytes > rest)
        return 0;
    *block->heap_used += taken < rest ? taken : rest;
    return address;
}

/* The output of vprintf is ignored. */
static Step call_driver(Thread *thread, uint64_t function)
{
    const Place result = {.kind = PLACE_REGISTER, .index = FIRST_ARGUMENT};
    switch ((uint32_t)function) {
    case DRIVER_PRINT: set32(thread, &result, 0); break;
    case DRIVER_ALLOCATE: set64(thread, &result, allocate(thread, pair_at(thread, FIRST_ARGUMENT))); break;
    case DRIVER_FREE: break;
    default: return stop(thread, MACHINE_WRONG, "calls __assertfail");
    }
    return go_to(thread, pair_at(thread, RETURN_ADDRESS));
}

static Step call(Thread *thread, uint64_t address)
{
    return address >> 32 == DRIVER_WINDOW ? call_driver(thread, address) : go_to(thread, address);
}

/* CALL.ABS function, and CALL.ABS r */
Step execute_call_absolute(Thread *thread, const Decoded *it)
{
    const Place *to = &it->operands[0];
    if (it->operand_count == 1 && to->kind == PLACE_REGISTER)
        return call(thread, raw64(thread, to));
    if (it->operand_count != 1 || to->kind != PLACE_OTHER)
        return stop(thread, MACHINE_UNDECIDED, "this form of a call");
    return call(thread, it->target != MACHINE_NONE ? code_address(it->target) : driver_function_address(to->text));
}

/* CALL.REL function, and CALL.REL r function: an offset in the section of code that the function starts. */
Step execute_call(Thread *thread, const Decoded *it)
{
    if (it->operand_count == 1 && it->operands[0].kind == PLACE_OTHER && it->target != MACHINE_NONE)
        return go_to(thread, code_address(it->target));
    if (it->operand_count != 2 || it->operands[0].kind != PLACE_REGISTER || it->operands[1].kind != PLACE_OTHER ||
        !it->names_section)
        return stop(thread, MACHINE_UNDECIDED, "this form of a call");
    return go_to(thread, code_address(it->section) + raw64(thread, &it->operands[0]));
}

/* RET.ABS r 0x0 */
Step execute_return_absolute(Thread *thread, const Decoded *it)
{
    if (it->operand_count != 2 || it->operands[0].kind != PLACE_REGISTER || it->operands[1].kind != PLACE_NUMBER)
        return stop(thread, MACHINE_UNDECIDED, "this form of a return");
    return go_to(thread, raw64(thread, &it->operands[0]) + (uint64_t)it->operands[1].number);
}

/* LEPC r: its own address. LEPC r, label: that of the label, a few instructions ahead. */
Step execute_take_address(Thread *thread, const Decoded *it)
{
    const bool has_label = it->operand_count == 2 && it->operands[1].kind == PLACE_OTHER;
    if (it->operand_count != 1u + has_label ||
        (has_label && (it->skipped > UINT8_MAX || it->skipped % INSTRUCTION_BYTES)))
        return stop(thread, MACHINE_UNDECIDED, "this form of an instruction's address");
    const uint32_t ahead = has_label ? 1 + (uint32_t)it->skipped / INSTRUCTION_BYTES : 0;
    set64(thread, &it->operands[0], code_address(thread->at + ahead));
    return STEP_ON;
}
