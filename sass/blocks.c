/* Basic blocks of machine code. Branches, exits, returns and calls end them; instructions that only make the threads of
 * a warp wait for each other (BSSY, BSYNC, WARPSYNC) do not, since each thread continues with the next instruction. */
#include "sass/internal.h"

static void mark_leaders(const SassCode *code, const BranchTable *tables, size_t table_count, bool *leads)
{
    for (uint32_t f = 0; f < code->function_count; f++)
        if (code->functions[f].count)
            leads[code->functions[f].first] = true;
    for (uint32_t i = 0; i < code->count; i++) {
        const SassInstruction *instruction = &code->instructions[i];
        if (instruction->flow == MACHINE_NEXT)
            continue;
        leads[i + 1] = true;
        if (instruction->target != MACHINE_NONE)
            leads[instruction->target] = true;
    }
    for (size_t t = 0; t < table_count; t++)
        for (uint32_t i = 0; i < tables[t].count; i++)
            leads[tables[t].targets[i]] = true;
}

static void cut(Arena *arena, SassCode *code, const bool *leads)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < code->count; i++)
        count += leads[i];
    code->blocks = ARENA_ARRAY(arena, SassBlock, count);
    code->block_count = count;
    uint32_t block = MACHINE_NONE, function = 0;
    for (uint32_t i = 0; i < code->count; i++) {
        while (i >= code->functions[function].first + code->functions[function].count)
            function++;
        if (leads[i])
            code->blocks[++block] = (SassBlock){.first = i, .function = function, .callee = MACHINE_NONE};
        code->blocks[block].count++;
        code->instructions[i].block = block;
    }
}

static void add_successor(SassBlock *block, uint32_t successor)
{
    for (uint32_t i = 0; i < block->successor_count; i++)
        if (block->successors[i] == successor)
            return;
    block->successors[block->successor_count++] = successor;
}

/* Whether the call is used as a branch, as "@P6 CALL.REL.NOINC" on the way out of a loop: it leads into the middle of
 * its own function, and nothing comes back. */
static bool is_branch(const SassCode *code, const SassBlock *block, const SassInstruction *call)
{
    const SassFunction *function = &code->functions[block->function];
    return call->flow == MACHINE_CALL && call->target != MACHINE_NONE && call->target > function->first &&
           call->target < function->first + function->count;
}

static void link_block(Arena *arena, SassCode *code, uint32_t b, const BranchTable *table)
{
    SassBlock *block = &code->blocks[b];
    const SassInstruction *last = &code->instructions[block->first + block->count - 1];
    block->successors = ARENA_ARRAY(arena, uint32_t, 2 + (table ? table->count : 0));
    const bool branches = last->flow == MACHINE_BRANCH || is_branch(code, block, last);
    const bool calls = last->flow == MACHINE_CALL && !branches;
    const bool falls = last->flow == MACHINE_NEXT || calls || last->conditional;
    /* Control cannot run from one function into the next. */
    if (falls && b + 1 < code->block_count && code->blocks[b + 1].function == block->function)
        add_successor(block, b + 1);
    if (branches && last->target != MACHINE_NONE)
        add_successor(block, code->instructions[last->target].block);
    if (calls && last->target != MACHINE_NONE)
        block->callee = code->instructions[last->target].block;
    for (uint32_t i = 0; table && i < table->count; i++)
        add_successor(block, code->instructions[table->targets[i]].block);
    block->exits = last->flow == MACHINE_EXIT || last->flow == MACHINE_RETURN || block->successor_count == 0;
}

void sass_blocks(Arena *arena, SassCode *code, const BranchTable *tables, size_t table_count)
{
    bool *leads = ARENA_ARRAY(arena, bool, code->count + 1);
    mark_leaders(code, tables, table_count, leads);
    cut(arena, code, leads);
    const BranchTable **table_of = ARENA_ARRAY(arena, const BranchTable *, code->block_count);
    for (size_t t = 0; t < table_count; t++)
        table_of[code->instructions[tables[t].instruction].block] = &tables[t];
    for (uint32_t b = 0; b < code->block_count; b++)
        link_block(arena, code, b, table_of[b]);
}
