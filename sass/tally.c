/* Counts of machine instructions in the code, however often they are executed. */
#include "sass/internal.h"

SassTally sass_tally(Arena *arena, const SassCode *code)
{
    const SassLoops loops = sass_loops(arena, code);
    SassTally tally = {0};
    for (uint32_t i = 0; i < code->count; i++) {
        const SassInstruction *inst = &code->instructions[i];
        if (inst->class != MACHINE_LOCAL)
            continue;
        tally.local++;
        tally.looped_local += inst->block != MACHINE_NONE && sass_loop_of(&loops, inst->block) != MACHINE_NONE;
    }
    return tally;
}
