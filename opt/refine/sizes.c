/* Refinement: the blocks and the grid that the threads are launched in.
 *
 * Blocks that have shared memory or barriers become larger, so that their threads still meet. Others become more, which
 * keeps them small: an SM holds blocks of any number of registers, and the last ones leave less of it idle. */
#include "opt/refine/internal.h"

enum { BLOCK_MOST_REGISTERS = 65536 }; /* on every architecture */
enum { BLOCK_USUAL_THREADS = 256 };    /* blocks grow up to this size: an SM holds few smaller ones */

/* True if it reads the block's index or the grid's size along x in a way that cannot be replaced. */
static bool reads_whole_index(const Inst *inst)
{
    const Sreg *sreg = inst_is_opaque(inst) ? NULL : inst_sreg(inst);
    if (!sreg || (sreg->role != SREG_ROLE_CTAID && sreg->role != SREG_ROLE_NCTAID))
        return false;
    return sreg->axis != SREG_AXIS_Y && sreg->axis != SREG_AXIS_Z && inst_index_axis(inst, sreg->role) != 0;
}

/* True if the threads of a block may meet in it: by barriers, or in shared memory, whose addresses come from variables
 * or are written as such. */
static bool needs_block(const Inst *inst)
{
    Access access;
    if (reads_whole_index(inst))
        return true;
    return inst->sync == SYNC_BLOCK_BARRIER || (inst_access(inst, &access) && access.space == SPACE_SHARED) ||
           inst_names_shared(inst);
}

static bool block_meets(const Body *body)
{
    for (size_t b = 0; b < body->blocks.count; b++)
        for (const Inst *inst = body->blocks.data[b]->first; inst; inst = inst->next)
            if (needs_block(inst))
                return true;
    return false;
}

/* Divides the threads of a group among a larger grid and larger blocks. Groups are not divided themselves: they have
 * threads in one block alone. */
static void divide(Refine *r, const BlockSize *exact)
{
    const unsigned threads = r->request->threads, total = block_size_total(exact);
    const unsigned unit = threads * r->spacing;
    r->grown = 1;
    while (r->grown < threads &&
           ((total && total * r->grown * 2 <= BLOCK_USUAL_THREADS) || exact->threads[0] * r->grown % unit))
        r->grown *= 2;
    r->spread = threads / r->grown;
    r->unit = r->spread > 1 ? unit : 1;
}

/* The size of blocks that have become larger. */
static void declare(const Refine *r, const BlockSize *block)
{
    Tuning *tuning = &r->body->tuning;
    if (r->grown == 1)
        return;
    tuning->minnctapersm = tuning->minnctapersm > r->grown ? tuning->minnctapersm / r->grown : 0;
    if (tuning->reqntid_count) {
        tuning->reqntid[0] *= r->grown;
        return;
    }
    BlockSize larger = {.origin = BLOCK_BOUNDED, .threads = {BLOCK_MOST_THREADS, 1, 1}};
    if (block_size_total(block))
        larger = (BlockSize){block->origin, {block->threads[0] * r->grown, block->threads[1], block->threads[2]}};
    block_size_declare(&larger, tuning);
}

bool refine_set_sizes(Refine *r)
{
    const BlockSize *block = &r->request->block, exact = block_size_exact(block);
    const bool meets = block_meets(r->body);
    r->grown = r->request->threads;
    r->spread = r->unit = 1;
    if (r->request->is_apart && meets && !block_size_total(&exact))
        return refine_refuse(r, NULL, REFUSAL_REFINE_BLOCK);
    if (r->request->is_apart && exact.threads[0] % r->spacing)
        return refine_refuse(r, NULL, REFUSAL_REFINE_MULTIPLE);
    if (!meets)
        divide(r, &exact);
    const uint64_t known = (uint64_t)block_size_total(block) * r->grown;
    if (known > BLOCK_MOST_THREADS)
        return refine_refuse(r, NULL, REFUSAL_REFINE_SIZE);
    if (r->grown > 1 && (known ? known : BLOCK_MOST_THREADS) * r->body->tuning.maxnreg > BLOCK_MOST_REGISTERS)
        return refine_refuse(r, NULL, REFUSAL_REFINE_REGISTERS);
    declare(r, block);
    return true;
}
