/* Versions by copying a subtree of the dominator tree, or blocks whose paths all lead to one that follows.
 *
 * A value that is made in a subtree is used outside of it only by phis, at the edges that lead out. So the copy needs
 * no more than an argument for each of its own edges, and no new phis. */
#include "opt/common/version.h"

#include "opt/common/versions.h"

bool inst_may_version(const Inst *inst)
{
    return !inst_is_opaque(inst) && !inst_is_call(inst) && (inst->sync == SYNC_NONE || inst->sync == SYNC_STRONG);
}

bool body_may_version(const Body *body, const Dominance *dominance, const Block *from, const Inst *at, size_t most)
{
    size_t count = 0;
    for (size_t b = 0; b < body->blocks.count; b++) {
        const Block *block = body->blocks.data[b];
        if (!dominance_has(dominance, from, block))
            continue;
        for (const Inst *inst = block == from ? at : block->first; inst; inst = inst->next, count++)
            if (!inst_may_version(inst))
                return false;
    }
    return count <= most;
}

bool blocks_may_version(Block *const *blocks, size_t count, size_t most)
{
    size_t insts = 0;
    for (size_t b = 0; b < count; b++)
        for (const Inst *inst = blocks[b]->first; inst; inst = inst->next, insts++)
            if (!inst_may_version(inst))
                return false;
    return insts <= most;
}

bool body_has_cold(const Body *body)
{
    for (size_t b = 0; b < body->blocks.count; b++)
        if (body->blocks.data[b]->is_cold)
            return true;
    return false;
}

/* Moves everything from 'at' on to a block of its own, to which the rest does not lead yet. */
static Block *split_before(Body *body, Block *before, Inst *at)
{
    Block *after = body_add_block(body, before);
    after->is_cold = before->is_cold;
    for (Inst *inst = at, *next; inst; inst = next) {
        next = inst->next;
        inst_remove(inst);
        inst_append(after, inst);
    }
    after->fall = before->fall;
    before->fall = NULL;
    for (size_t b = 0; b < body->blocks.count; b++)
        for (size_t p = 0; p < body->blocks.data[b]->phis.count; p++) {
            Phi *phi = &body->blocks.data[b]->phis.data[p];
            for (size_t a = 0; a < phi->args.count; a++)
                if (phi->args.data[a].pred == before)
                    phi->args.data[a].pred = after;
        }
    before->fall = after;
    body_update_preds(body);
    return after;
}

Block *body_split(Body *body, Inst *at)
{
    return split_before(body, at->block, at);
}

Block *body_split_end(Body *body, Block *block)
{
    return split_before(body, block, NULL);
}

Block *body_version(Body *body, Block *before, Inst *at, RegId predicate)
{
    require(body->ssa && (!at || at->block == before));
    require(at || !before->last || !inst_is_terminator(before->last));
    Block *head = split_before(body, before, at);
    Arena *scratch = arena_new();
    const Dominance *dominance = dominance_compute(scratch, body);
    Versions versions = versions_new(scratch, body, NULL);
    VEC(Block *) part = {0}, outside = {0};
    for (size_t b = 0; b < body->blocks.count; b++) {
        Block *block = body->blocks.data[b];
        if (dominance_has(dominance, head, block))
            VEC_PUSH(scratch, part, block);
        else
            VEC_PUSH(scratch, outside, block);
    }
    versions_begin(&versions, part.data, part.count);
    versions_copy(&versions, part.data, part.count, body->blocks.data[body->blocks.count - 1]);
    for (size_t b = 0; b < outside.count; b++)
        versions_lead(&versions, outside.data[b]);
    for (size_t b = 0; b < part.count; b++)
        versions_block(&versions, part.data[b])->is_cold = true;
    inst_append(before, inst_build_branch(body, versions_block(&versions, head), predicate, true));
    versions_finish(&versions);
    arena_free(scratch);
    return head;
}

/* A block between the two, where the test branches. */
static Block *test_block(Body *body, Block *before, Block *entry)
{
    Block *test = body_add_block(body, before);
    test->is_cold = before->is_cold;
    test->fall = entry;
    block_retarget(before, entry, test);
    block_replace_pred(entry, before, test);
    body_update_preds(body);
    return test;
}

void blocks_version(Body *body, const Values *values, Block *const *blocks, size_t count, Block *before, Block *join,
                    RegId predicate, Block **copies)
{
    require(body->ssa && count);
    Arena *scratch = arena_new();
    Block *test = test_block(body, before, blocks[0]);
    Versions versions = versions_new(scratch, body, values);
    versions_begin(&versions, blocks, count);
    versions_copy(&versions, blocks, count, body->blocks.data[body->blocks.count - 1]);
    for (size_t b = 0; b < count; b++) {
        Block *copy = versions_block(&versions, blocks[b]);
        copy->is_cold = true;
        if (copies)
            copies[b] = copy;
    }
    inst_append(test, inst_build_branch(body, versions_block(&versions, blocks[0]), predicate, true));
    versions_join(&versions, join);
    versions_finish(&versions);
    arena_free(scratch);
}
