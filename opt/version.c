/* Versions by copying a subtree of the dominator tree.
 *
 * A value that is made in the subtree is used outside of it only by phis, at the edges that lead out. So the copy needs
 * no more than an argument for each of its own edges, and no new phis. */
#include "opt/version.h"

bool body_may_version(const Body *body, const Dominance *dominance, const Block *from, const Inst *at, size_t most)
{
    size_t count = 0;
    for (size_t b = 0; b < body->blocks.count; b++) {
        const Block *block = body->blocks.data[b];
        if (!dominance_has(dominance, from, block))
            continue;
        for (const Inst *inst = block == from ? at : block->first; inst; inst = inst->next, count++)
            if (inst_is_opaque(inst) || inst_is_call(inst) || (inst->sync != SYNC_NONE && inst->sync != SYNC_STRONG))
                return false;
    }
    return count <= most;
}

typedef struct Copier {
    Body *body;
    Arena *scratch;
    Block **copies; /* by Block.id; NULL: not copied */
    RegId *regs;    /* by RegId: the copy's register */
    size_t block_count, reg_count;
} Copier;

static Block *copied(const Copier *copier, Block *block)
{
    Block *copy = block && block->id < copier->block_count ? copier->copies[block->id] : NULL;
    return copy ? copy : block;
}

static RegId renamed(const Copier *copier, RegId reg)
{
    return reg < copier->reg_count ? copier->regs[reg] : reg;
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

static void results_rename(Copier *copier, const Block *block)
{
    for (size_t p = 0; p < block->phis.count; p++)
        copier->regs[block->phis.data[p].dst] = body_clone_reg(copier->body, block->phis.data[p].dst);
    for (const Inst *inst = block->first; inst; inst = inst->next)
        for (unsigned r = 0; r < inst->ref_count; r++)
            if (ref_writes(&inst->refs[r]))
                copier->regs[inst->refs[r].reg] = body_clone_reg(copier->body, inst->refs[r].reg);
}

static void block_fill(Copier *copier, const Block *block, Block *copy)
{
    Body *body = copier->body;
    for (size_t p = 0; p < block->phis.count; p++) {
        Phi own = {.dst = renamed(copier, block->phis.data[p].dst)};
        for (size_t a = 0; a < block->phis.data[p].args.count; a++) {
            PhiArg arg = block->phis.data[p].args.data[a];
            VEC_PUSH(body->arena, own.args, (PhiArg){copied(copier, arg.pred), renamed(copier, arg.reg)});
        }
        VEC_PUSH(body->arena, copy->phis, own);
    }
    for (size_t p = 0; p < block->pragmas.count; p++)
        VEC_PUSH(body->arena, copy->pragmas, block->pragmas.data[p]);
    for (const Inst *inst = block->first; inst; inst = inst->next) {
        Inst *clone = inst_clone(body, inst);
        for (unsigned r = 0; r < clone->ref_count; r++)
            if (clone->refs[r].reg != REG_NONE)
                clone->refs[r].reg = renamed(copier, clone->refs[r].reg);
        for (unsigned t = 0; t < clone->target_count; t++)
            clone->targets[t] = copied(copier, clone->targets[t]);
        inst_append(copy, clone);
    }
    copy->fall = copied(copier, block->fall);
}

/* The copy's edges out of the subtree. */
static void exits_join(Copier *copier)
{
    for (size_t b = 0; b < copier->block_count; b++) {
        Block *block = copier->body->blocks.data[b];
        if (copier->copies[b])
            continue;
        for (size_t p = 0; p < block->phis.count; p++) {
            Phi *phi = &block->phis.data[p];
            for (size_t a = 0, count = phi->args.count; a < count; a++) {
                PhiArg arg = phi->args.data[a];
                if (copied(copier, arg.pred) != arg.pred)
                    VEC_PUSH(copier->body->arena, phi->args,
                             (PhiArg){copied(copier, arg.pred), renamed(copier, arg.reg)});
            }
        }
    }
}

Block *body_version(Body *body, Block *before, Inst *at, RegId predicate)
{
    require(body->ssa && (!at || at->block == before));
    require(at || !before->last || !inst_is_terminator(before->last));
    Arena *scratch = arena_new();
    Block *head = split_before(body, before, at);
    const Dominance *dominance = dominance_compute(scratch, body);
    Copier copier = {.body = body, .scratch = scratch, .block_count = body->blocks.count,
                     .reg_count = body->regs.count};
    copier.copies = ARENA_ARRAY(scratch, Block *, copier.block_count);
    copier.regs = ARENA_ARRAY(scratch, RegId, copier.reg_count);
    for (size_t r = 0; r < copier.reg_count; r++)
        copier.regs[r] = (RegId)r;
    Block **originals = ARENA_ARRAY(scratch, Block *, copier.block_count);
    for (size_t b = 0; b < copier.block_count; b++)
        originals[b] = body->blocks.data[b];
    for (size_t b = 0; b < copier.block_count; b++)
        if (dominance_has(dominance, head, originals[b])) {
            copier.copies[b] = body_add_block(body, NULL);
            copier.copies[b]->is_cold = true;
            results_rename(&copier, originals[b]);
        }
    for (size_t b = 0; b < copier.block_count; b++)
        if (copier.copies[b])
            block_fill(&copier, originals[b], copier.copies[b]);
    exits_join(&copier);
    inst_append(before, inst_build_branch(body, copied(&copier, head), predicate, true));
    body_update_preds(body);
    arena_free(scratch);
    return head;
}
