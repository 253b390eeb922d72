#include "opt/common/preheader.h"

#include "opt/common/versions.h"

void loop_add_preheader(Body *body, const LoopForest *loops, const Loop *loop)
{
    Block *header = loop->header, *preheader = body_add_block(body, NULL);
    for (size_t p = 0; p < header->phis.count; p++) {
        Phi *phi = &header->phis.data[p], start = {.dst = REG_NONE};
        size_t kept = 0;
        for (size_t a = 0; a < phi->args.count; a++) {
            PhiArg arg = phi->args.data[a];
            if (loop_contains(loops, loop, arg.pred))
                phi->args.data[kept++] = arg;
            else
                VEC_PUSH(body->arena, start.args, arg);
        }
        bool is_one = start.args.count == 1;
        start.dst = is_one ? start.args.data[0].reg : body_clone_reg(body, phi->dst);
        phi->args.count = kept;
        VEC_PUSH(body->arena, phi->args, ((PhiArg){preheader, start.dst}));
        if (!is_one)
            VEC_PUSH(body->arena, preheader->phis, start);
    }
    for (unsigned p = 0; p < header->pred_count; p++)
        if (!loop_contains(loops, loop, header->preds[p]))
            block_retarget(header->preds[p], header, preheader);
    preheader->fall = header;
    body_update_preds(body);
}

/* Moves the last block of the layout to the place before another. */
static void block_move_before(Body *body, Block *last, const Block *place)
{
    size_t b = body->blocks.count - 1;
    require(body->blocks.data[b] == last);
    for (; b && body->blocks.data[b - 1] != place; b--)
        body->blocks.data[b] = body->blocks.data[b - 1];
    require(b);
    body->blocks.data[b] = body->blocks.data[b - 1];
    body->blocks.data[b - 1] = last;
    body_renumber(body);
}

static bool is_innermost(const LoopForest *loops, uint32_t loop)
{
    return loops->loops[loop].end == loop + 1;
}

static bool is_outermost(const LoopForest *loops, uint32_t loop)
{
    return !loops->loops[loop].parent;
}

static bool add_preheaders(Body *body, Analyses *analyses, bool (*wants)(const LoopForest *loops, uint32_t loop))
{
    Arena *scratch = arena_new();
    VEC(Block *) headers = {0};
    const LoopForest *loops = analyses_loops(analyses);
    for (uint32_t i = 0; i < loops->loop_count; i++)
        if (wants(loops, i) && !loops->loops[i].preheader)
            VEC_PUSH(scratch, headers, loops->loops[i].header);
    for (size_t i = 0; i < headers.count; i++) {
        loops = analyses_loops(analyses);
        const Loop *loop = loop_headed(loops, headers.data[i]);
        require(loop);
        loop_add_preheader(body, loops, loop);
        block_move_before(body, VEC_LAST(body->blocks), headers.data[i]);
        analyses_invalidate(analyses, ANALYSES_ALL);
    }
    const bool changed = headers.count > 0;
    arena_free(scratch);
    return changed;
}

bool loops_add_preheaders(Body *body, Analyses *analyses)
{
    return add_preheaders(body, analyses, is_innermost);
}

bool loops_add_outer_preheaders(Body *body, Analyses *analyses)
{
    return add_preheaders(body, analyses, is_outermost);
}

bool loop_remove_empty_latch(Body *body, const Loop *loop)
{
    const Block *latch = loop->latches[0];
    const Inst *only = latch->first;
    const bool is_empty = !only || (only == latch->last && inst_is_branch(only) && !inst_is_guarded(only) &&
                                    only->target_count == 1 && !inst_falls_through(only));
    if (loop->latch_count != 1 || latch == loop->header || !is_empty || latch->phis.count || latch->pragmas.count ||
        latch->marks.count || latch->pred_count != 1)
        return false;
    Block *before = latch->preds[0];
    block_replace_pred(loop->header, latch, before);
    block_retarget(before, latch, loop->header);
    body_remove_unreachable(body);
    return true;
}

bool loops_remove_empty_latches(Body *body, Analyses *analyses)
{
    const LoopForest *loops = analyses_loops(analyses);
    bool changed = false;
    for (uint32_t i = 0; i < loops->loop_count; i++)
        if (loops->loops[i].end == i + 1)
            changed |= loop_remove_empty_latch(body, &loops->loops[i]);
    if (changed)
        analyses_invalidate(analyses, ANALYSES_ALL);
    return changed;
}
