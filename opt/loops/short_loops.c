/* Loops of a few rounds, whose number is known here, as straight code.
 *
 *     i = -1;                            a(-1)
 *     do a(i), i++; while (i < 2)   ->   a(0)
 *                                        a(1)
 *
 * Rounds of merged threads that load the same, as the rows around neighbouring pixels, are then side by side. The
 * assembler unrolls such loops itself, but it does not join what it finds in them.
 *
 * Requires and keeps SSA form; changes blocks and edges. */
#include "opt/common/cleanup.h"
#include "opt/common/preheader.h"
#include "opt/loops/rounds.h"
#include "opt/common/trips.h"
#include "opt/common/version.h"
#include "opt/common/versions.h"
#include "opt/passes.h"

/* A copy of the loop for each round but the last, which the loop itself becomes. */
static void unroll(Arena *scratch, Body *body, const Values *values, const Loop *loop, unsigned rounds)
{
    Block *header = loop->header, *latch = loop->latches[0], *from = loop->preheader;
    Block *after = latch->last->targets[0] == header ? latch->fall : latch->last->targets[0];
    const size_t count = header->phis.count;
    RegId *carried = ARENA_ARRAY(scratch, RegId, count + 1);
    Versions versions = versions_new(scratch, body, values);
    for (size_t p = 0; p < count; p++)
        carried[p] = loop_start(loop, &header->phis.data[p]);
    versions_begin(&versions, loop->blocks, loop->block_count);
    for (unsigned round = 0; round + 1 < rounds; round++) {
        if (round)
            versions_repeat(&versions);
        versions_copy(&versions, loop->blocks, loop->block_count, loop->preheader);
        Block *head = versions_block(&versions, header), *end = versions_block(&versions, latch);
        if (round)
            from->fall = head;
        else
            block_retarget(from, header, head);
        for (size_t p = 0; p < count; p++) {
            head->phis.data[p].args.count = 0;
            VEC_PUSH(body->arena, head->phis.data[p].args, ((PhiArg){from, carried[p]}));
            carried[p] = versions_reg(&versions, phi_argument(&header->phis.data[p], latch));
        }
        inst_remove(end->last);
        end->fall = NULL;
        from = end;
    }
    if (rounds > 1)
        from->fall = header;
    for (size_t p = 0; p < count; p++) {
        Phi *phi = &header->phis.data[p];
        phi->args.count = 0;
        VEC_PUSH(body->arena, phi->args, ((PhiArg){from, carried[p]}));
    }
    inst_remove(latch->last);
    latch->fall = after;
    versions_finish(&versions);
}

/* Whether the value is computed from what is left of a division, or masked. */
static bool is_of_bits(const PassContext *context, RegId reg, unsigned depth)
{
    enum { MOST_DEPTH = 6 };
    Computation c;
    const Inst *inst = value_inst(analyses_values(context->analyses), reg);
    if (depth == MOST_DEPTH || !inst || !computation_of(context->body, inst, &c))
        return false;
    bool is = c.op == COMPUTE_REM || (c.op == COMPUTE_AND && c.bits > 1 && c.sources[1].is_constant);
    for (unsigned i = 0; i < c.source_count && !is; i++)
        is = c.sources[i].reg != REG_NONE && is_of_bits(context, c.sources[i].reg, depth + 1);
    return is;
}

/* Whether a branch of the loop passes some of its code by, for such a reason. */
static bool has_conditions(const PassContext *context, const Loop *loop)
{
    for (uint32_t b = 0; b < loop->block_count; b++) {
        const Inst *branch = loop->blocks[b] != loop->latches[0] ? block_two_way_branch(loop->blocks[b]) : NULL;
        if (branch && (context->short_loops != SHORT_LOOPS_OF_BITS || is_of_bits(context, inst_predicate(branch), 0)))
            return true;
    }
    return false;
}

static bool unroll_loop(PassContext *context, const Loop *loop)
{
    Arena *scratch = arena_new();
    const Values *values = analyses_values(context->analyses);
    const bool may = context->short_loops == SHORT_LOOPS_ALL || has_conditions(context, loop);
    const unsigned rounds = may ? short_loop_rounds(scratch, loop, context->analyses, context->body, NULL) : 0;
    if (rounds)
        unroll(scratch, context->body, values, loop, rounds);
    context->unrolled_loops += rounds != 0;
    arena_free(scratch);
    return rounds != 0;
}

/* Gives innermost loops the shape that is unrolled; true if that changes anything. */
static bool shape_loops(const PassContext *context)
{
    const bool has_preheaders = loops_add_preheaders(context->body, context->analyses);
    return loops_remove_empty_latches(context->body, context->analyses) || has_preheaders;
}

bool pass_short_loops(PassContext *context)
{
    bool changed = shape_loops(context);
    bool again = true;
    while (again) {
        again = false;
        const LoopForest *loops = analyses_loops(context->analyses);
        for (uint32_t l = 0; l < loops->loop_count && !again; l++)
            again = loops->loops[l].end == l + 1 && unroll_loop(context, &loops->loops[l]);
        if (!again)
            break;
        changed = true;
        analyses_invalidate(context->analyses, ANALYSES_ALL);
        shape_loops(context);
    }
    if (changed)
        fold_constants(context->body, context->analyses);
    return changed;
}
