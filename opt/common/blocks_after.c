#include "opt/common/blocks_after.h"

BitSet blocks_after(Arena *arena, const Body *body, Block *const *from, size_t count)
{
    BitSet seen = bitset_new(arena, body->blocks.count);
    VEC(const Block *) pending = {0};
    for (size_t i = 0; i < count; i++)
        VEC_PUSH(arena, pending, from[i]);
    while (pending.count) {
        const Block *block = VEC_POP(pending);
        FOR_EACH_SUCC(block, succ) {
            if (bitset_has(&seen, succ->id))
                continue;
            bitset_add(&seen, succ->id);
            VEC_PUSH(arena, pending, succ);
        }
    }
    return seen;
}
