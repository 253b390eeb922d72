/* The annotated listing. */
#include "sass/internal.h"

/* Prints "wait 0,3" for the scoreboards in the mask; nothing if there are none. */
static void print_control(const SassInstruction *instruction, Buf *out)
{
    char wait[7] = "------";
    for (unsigned i = 0; i < 6; i++)
        if (instruction->wait >> i & 1)
            wait[i] = (char)('0' + i);
    buf_printf(out, " %s %c%c %c %2u", wait,
               instruction->read_barrier == NO_SCOREBOARD ? '-' : '0' + instruction->read_barrier,
               instruction->write_barrier == NO_SCOREBOARD ? '-' : '0' + instruction->write_barrier,
               instruction->yield ? 'y' : '-', instruction->stall);
}

/* True if nvdisasm was asked for live registers: at least one is live at the first instruction of every kernel. */
static bool has_live_registers(const SassCode *code)
{
    return code->count && code->instructions[0].live;
}

static void print_instruction(const SassMap *map, uint32_t index, double executions, Buf *out)
{
    const SassCode *code = map->code;
    const SassInstruction *instruction = &code->instructions[index];
    uint32_t line = 0;
    if (instruction->ptx != MACHINE_NONE)
        line = source_position(map->source, map->lines.insts[instruction->ptx]->span.begin).line;
    buf_printf(out, "%6x %14.0f", instruction->address, executions);
    if (line)
        buf_printf(out, " %6u", line);
    else
        buf_puts(out, "      -");
    buf_printf(out, " %-8s", sass_class_name(instruction->class));
    print_control(instruction, out);
    if (has_live_registers(code))
        buf_printf(out, "%8u", instruction->live);
    buf_puts(out, "  ");
    if (instruction->text) {
        buf_puts(out, instruction->text);
    } else {
        if (instruction->guard != NO_PREDICATE || instruction->guard_inverted)
            buf_printf(out, "@%sP%u ", instruction->guard_inverted ? "!" : "", instruction->guard);
        buf_puts(out, instruction->mnemonic);
        if (instruction->bytes > 4)
            buf_printf(out, ".%u", instruction->bytes * 8);
    }
    if (instruction->target != MACHINE_NONE)
        buf_printf(out, " -> %x", code->instructions[instruction->target].address);
    buf_putc(out, '\n');
}

void sass_list(const SassMap *map, const SassExecutions *executions, Buf *out)
{
    const SassCode *code = map->code;
    buf_printf(out, " address     executions   line class    wait   rw y stall%s instruction\n",
               has_live_registers(code) ? " live" : "");
    for (uint32_t b = 0; b < code->block_count; b++) {
        const SassBlock *block = &code->blocks[b];
        if (code->functions[block->function].first == block->first)
            buf_printf(out, "%s:\n", code->functions[block->function].name);
        else
            buf_putc(out, '\n');
        for (uint32_t i = 0; i < block->count; i++)
            print_instruction(map, block->first + i, executions ? executions->block_warps[b] : 0, out);
    }
}
