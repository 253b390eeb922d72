/* The values of the loop: where they are made, and what becomes of them in the next iteration. */
#include "opt/jam/internal.h"

const Phi *jam_phi(const Jam *jam, RegId reg)
{
    const Block *header = jam->loop->header;
    for (size_t p = 0; p < header->phis.count; p++)
        if (header->phis.data[p].dst == reg)
            return &header->phis.data[p];
    return NULL;
}

bool jam_is_inside(const Jam *jam, RegId reg)
{
    const Block *block = reg == REG_NONE ? NULL : jam->values->defs[reg].block;
    return block && loop_contains(jam->loops, jam->loop, block);
}

RegId jam_next(const Jam *jam, const Phi *phi)
{
    const RegId next = phi_argument(phi, jam->latch);
    require(next != REG_NONE);
    return next;
}
