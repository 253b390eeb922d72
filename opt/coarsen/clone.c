/* Cloning: a copy of every instruction and region that differs between replicas, for each replica.
 *
 * Replica 0 keeps the original instructions and registers; replicas 1 .. factor-1 get copies. Outside regions a copy
 * directly follows its original. A region becomes, for factor 2,
 *
 *     head -> region -> between -> region' -> end -> join
 *
 * where 'between' and 'end' are new blocks: all edges out of one replica's copy lead there, and 'between' branches like
 * the head, on the next replica's condition; where the copies use a shared array in turn (common.c), all
 * threads of the block wait for each other there. The values that the join's phis choose between are chosen in these
 * blocks, each replica's in its own. Slow paths become loops instead (slow.c).
 *
 * Requires SSA form, variance and regions. Preserves SSA form; the control flow and all analyses change. */
#include "opt/coarsen/internal.h"
#include "opt/common/versions.h"

#include <string.h>

typedef struct Cloner {
    Coarsening *c;
    Body *body;
    Arena *scratch;
    unsigned *replicas; /* by RegId below replica_count: the replica it belongs to; 0 if uniform */
    size_t replica_count;
    const Region **regions; /* by original Block.id: its region, or NULL */
    Block ***blocks;        /* blocks[k][id]: replica k's copy of a region's block */
    VEC(Block *) *before;   /* by original Block.id: new blocks to place before it */
    VEC(Block *) *after;    /* by original Block.id: new blocks to place after it */
} Cloner;

/* Finds instructions that must stay together: a chain of carry flags, and the stores, the call and the loads of one
 * call sequence. Sets ends[i] to the last instruction of the group that begins at i, else to i. */
static void find_groups(const Coarsening *c, Inst *const *insts, size_t count, size_t *ends)
{
    for (size_t i = 0; i < count; i++)
        ends[i] = i;
    size_t carry = SIZE_MAX, sequence = SIZE_MAX;
    bool called = false;
    for (size_t i = 0; i < count; i++) {
        const Inst *inst = insts[i];
        if (coarsening_orders(inst)) {
            sequence = SIZE_MAX;
            called = false;
            continue;
        }
        if (inst->effects & EFFECT_CC_READ && carry != SIZE_MAX)
            ends[carry] = i;
        else if (inst->effects & EFFECT_CC_WRITE)
            carry = i;
        bool is_call = inst_is_call(inst);
        if (!is_call && !coarsening_uses_private(c, inst))
            continue;
        Access access;
        bool is_param = !is_call && inst_access(inst, &access) && access.space == SPACE_PARAM;
        if (!is_call && !is_param)
            continue;
        /* After the call, a store or another call begins the next sequence. */
        if (sequence == SIZE_MAX || (called && (is_call || access.kind == ACCESS_STORE))) {
            sequence = i;
            called = false;
        }
        called |= is_call;
        ends[sequence] = i;
    }
}

/* The and (or or) of all replicas' predicates. */
static void expand_agreement(Cloner *cloner, Inst *inst)
{
    Coarsening *c = cloner->c;
    RegId predicate = inst->refs[1].reg, so_far = predicate;
    if (coarsening_reg(&c->copies, 1, predicate) == predicate)
        return;
    for (unsigned k = 1; k < c->step.factor; k++) {
        Inst *step = inst_clone(cloner->body, inst);
        if (k + 1 < c->step.factor)
            step->refs[0].reg = body_clone_reg(cloner->body, inst->refs[0].reg);
        step->refs[1].reg = so_far;
        step->refs[2].reg = coarsening_reg(&c->copies, k, predicate);
        so_far = step->refs[0].reg;
        inst_insert_before(inst, step);
    }
    inst_remove(inst);
}

static void clone_in_block(Cloner *cloner, Block *block)
{
    Coarsening *c = cloner->c;
    size_t phis = block->phis.count;
    for (size_t p = 0; p < phis; p++) {
        if (c->copies.maps[1][block->phis.data[p].dst] == block->phis.data[p].dst)
            continue;
        for (unsigned k = 1; k < c->step.factor; k++) {
            const Phi *phi = &block->phis.data[p];
            Phi copy = {.dst = c->copies.maps[k][phi->dst]};
            for (size_t a = 0; a < phi->args.count; a++) {
                PhiArg arg = phi->args.data[a];
                arg.reg = coarsening_reg(&c->copies, k, arg.reg);
                VEC_PUSH(cloner->body->arena, copy.args, arg);
            }
            VEC_PUSH(cloner->body->arena, block->phis, copy);
        }
    }
    VEC(Inst *) insts = {0};
    for (Inst *inst = block->first; inst; inst = inst->next)
        if (!inst_is_terminator(inst))
            VEC_PUSH(cloner->scratch, insts, inst);
    size_t *ends = ARENA_ARRAY(cloner->scratch, size_t, insts.count);
    find_groups(c, insts.data, insts.count, ends);
    for (size_t i = 0; i < insts.count;) {
        size_t end = ends[i];
        for (size_t j = i; j <= end; j++)
            if (ends[j] > end)
                end = ends[j];
        Inst *place = insts.data[end];
        for (unsigned k = 1; k < c->step.factor; k++)
            for (size_t j = i; j <= end; j++)
                if (!coarsening_is_computed(c, insts.data[j]) && coarsening_clones(c, insts.data[j])) {
                    Inst *copy = coarsening_clone_inst(c, insts.data[j], k);
                    inst_insert_after(place, copy);
                    place = copy;
                }
        i = end + 1;
    }
    for (size_t i = 0; i < insts.count; i++)
        if (coarsening_is_agreement(c, insts.data[i]))
            expand_agreement(cloner, insts.data[i]);
}

static Block *copy_of(const Cloner *cloner, unsigned replica, Block *block)
{
    Block *copy = block->id < cloner->c->facts.block_count ? cloner->blocks[replica][block->id] : NULL;
    return copy ? copy : block;
}

static Block *new_block(Cloner *cloner)
{
    return body_add_block(cloner->body, NULL);
}

/* True if the block is in the region or its head. */
static bool is_inside(const Cloner *cloner, const Region *region, const Block *head, const Block *block)
{
    return block == head || (block->id < cloner->c->facts.block_count && cloner->regions[block->id] == region);
}

/* Inserts a block before the region if the head also leads elsewhere, and returns the region's head. */
static Block *separate_head(Cloner *cloner, Region *region)
{
    Block *head = region->head, *entry = NULL;
    bool elsewhere = false;
    FOR_EACH_SUCC(head, succ) {
        if (succ != head && is_inside(cloner, region, head, succ))
            entry = succ;
        else
            elsewhere |= succ != region->join;
    }
    require(entry);
    if (!elsewhere)
        return head;
    Block *separate = new_block(cloner);
    block_retarget(head, entry, separate);
    separate->fall = entry;
    separate->is_cold = entry->is_cold;
    block_replace_pred(entry, head, separate);
    VEC_PUSH(cloner->scratch, cloner->before[region->blocks.data[0]->id], separate);
    return separate;
}

static Block *clone_block(Cloner *cloner, const Block *block, unsigned replica, const Block *head, Block *head_copy)
{
    Coarsening *c = cloner->c;
    Block *copy = cloner->blocks[replica][block->id];
    for (size_t p = 0; p < block->phis.count; p++) {
        const Phi *phi = &block->phis.data[p];
        Phi own = {.dst = coarsening_reg(&c->copies, replica, phi->dst)};
        for (size_t a = 0; a < phi->args.count; a++) {
            PhiArg arg = phi->args.data[a];
            arg.pred = arg.pred == head ? head_copy : copy_of(cloner, replica, arg.pred);
            arg.reg = coarsening_reg(&c->copies, replica, arg.reg);
            VEC_PUSH(cloner->body->arena, own.args, arg);
        }
        VEC_PUSH(cloner->body->arena, copy->phis, own);
    }
    for (size_t p = 0; p < block->pragmas.count; p++)
        VEC_PUSH(cloner->body->arena, copy->pragmas, block->pragmas.data[p]);
    for (const Inst *inst = block->first; inst; inst = inst->next)
        inst_append(copy, coarsening_clone_inst(c, inst, replica));
    copy->fall = block->fall;
    copy->is_cold = block->is_cold;
    return copy;
}

/* Redirects the edges of replica k's copy: within the copy, and to 'end' instead of the join. */
static void redirect(Cloner *cloner, Block *block, unsigned replica, const Block *join, Block *end)
{
    if (block->last)
        for (unsigned t = 0; t < block->last->target_count; t++) {
            Block *target = block->last->targets[t];
            block->last->targets[t] = target == join ? end : copy_of(cloner, replica, target);
        }
    if (block->fall)
        block->fall = block->fall == join ? end : copy_of(cloner, replica, block->fall);
}

/* The replica that each register belongs to; 0 if it is uniform. */
static unsigned *number_results(const Cloner *cloner, size_t count)
{
    Coarsening *c = cloner->c;
    unsigned *replica = ARENA_ARRAY(cloner->scratch, unsigned, count);
    for (unsigned k = 1; k < c->step.factor; k++)
        for (size_t r = 0; r < c->copies.reg_count; r++)
            if (c->copies.maps[k][r] != r)
                replica[c->copies.maps[k][r]] = k;
    return replica;
}

/* Moves the choice between the region's exits from the join's phis to the ends of the replicas' copies. */
static void move_choices(Cloner *cloner, const Region *region, const Block *head, Block *const *ends)
{
    Coarsening *c = cloner->c;
    Block *last_end = ends[c->step.factor - 1];
    size_t phis = region->join->phis.count;
    for (size_t p = 0; p < phis; p++) {
        Phi *phi = &region->join->phis.data[p];
        unsigned k = phi->dst < cloner->replica_count ? cloner->replicas[phi->dst] : 0;
        Phi choice = {.dst = REG_NONE};
        size_t kept = 0;
        for (size_t a = 0; a < phi->args.count; a++) {
            PhiArg arg = phi->args.data[a];
            if (!is_inside(cloner, region, head, arg.pred)) {
                phi->args.data[kept++] = arg;
                continue;
            }
            if (k > 0)
                arg.pred = arg.pred == head ? ends[k - 1] : copy_of(cloner, k, arg.pred);
            VEC_PUSH(cloner->body->arena, choice.args, arg);
        }
        phi->args.count = kept;
        if (!choice.args.count)
            continue;
        choice.dst = body_clone_reg(cloner->body, phi->dst);
        VEC_PUSH(cloner->body->arena, phi->args, (PhiArg){last_end, choice.dst});
        VEC_PUSH(cloner->body->arena, ends[k]->phis, choice);
    }
}

static void clone_region(Cloner *cloner, Region *region)
{
    Coarsening *c = cloner->c;
    Block *head = separate_head(cloner, region);
    Block *join = region->join;
    size_t last = VEC_LAST(region->blocks)->id;
    ReplicaLoop loop;
    if (coarsening_loop_over(c, region, head, &loop)) {
        VEC_PUSH(cloner->scratch, cloner->before[region->blocks.data[0]->id], loop.next);
        VEC_PUSH(cloner->scratch, cloner->after[last], loop.end);
        return;
    }
    Block **ends = ARENA_ARRAY(cloner->scratch, Block *, c->step.factor);
    for (unsigned k = 0; k < c->step.factor; k++) {
        for (size_t i = 0; k > 0 && i < region->blocks.count; i++) {
            Block *copy = new_block(cloner);
            cloner->blocks[k][region->blocks.data[i]->id] = copy;
            VEC_PUSH(cloner->scratch, cloner->after[last], copy);
        }
        ends[k] = new_block(cloner);
        ends[k]->is_cold = region->blocks.data[0]->is_cold;
        VEC_PUSH(cloner->scratch, cloner->after[last], ends[k]);
    }
    /* The copies come first: they are made from replica 0 before it changes. */
    for (unsigned k = 1; k < c->step.factor; k++) {
        for (size_t i = 0; i < region->blocks.count; i++)
            redirect(cloner, clone_block(cloner, region->blocks.data[i], k, head, ends[k - 1]), k, join, ends[k]);
        if (coarsening_takes_turns(c, region))
            inst_append(ends[k - 1], inst_build(cloner->body, "bar.sync", "i", (int64_t)0));
        if (head->last && inst_is_terminator(head->last))
            inst_append(ends[k - 1], coarsening_clone_inst(c, head->last, k));
        ends[k - 1]->fall = head->fall;
        redirect(cloner, ends[k - 1], k, join, ends[k]);
    }
    ends[c->step.factor - 1]->fall = join;
    move_choices(cloner, region, head, ends);
    block_retarget(head, join, ends[0]);
    for (size_t i = 0; i < region->blocks.count; i++)
        block_retarget(region->blocks.data[i], join, ends[0]);
}

static void place_blocks(Cloner *cloner, Block *const *originals)
{
    Body *body = cloner->body;
    size_t place = 0;
    for (size_t b = 0; b < cloner->c->facts.block_count; b++) {
        for (size_t i = 0; i < cloner->before[b].count; i++)
            body->blocks.data[place++] = cloner->before[b].data[i];
        body->blocks.data[place++] = originals[b];
        for (size_t i = 0; i < cloner->after[b].count; i++)
            body->blocks.data[place++] = cloner->after[b].data[i];
    }
    require(place == body->blocks.count);
    body_update_preds(body);
}

void coarsening_clone(Coarsening *c)
{
    const Facts *facts = &c->facts;
    Body *body = c->body;
    Arena *scratch = c->scratch;
    Cloner cloner = {.c = c, .body = body, .scratch = scratch};
    Block **originals = ARENA_ARRAY(scratch, Block *, facts->block_count);
    memcpy(originals, body->blocks.data, facts->block_count * sizeof *originals);
    cloner.before = arena_array(scratch, facts->block_count, sizeof *cloner.before);
    cloner.after = arena_array(scratch, facts->block_count, sizeof *cloner.after);
    cloner.blocks = ARENA_ARRAY(scratch, Block **, c->step.factor);
    for (unsigned k = 0; k < c->step.factor; k++)
        cloner.blocks[k] = ARENA_ARRAY(scratch, Block *, facts->block_count);
    coarsening_map(c);
    cloner.replica_count = body->regs.count;
    cloner.replicas = number_results(&cloner, cloner.replica_count);
    for (size_t b = 0; b < facts->block_count; b++)
        if (!bitset_has(&facts->in_region, b))
            clone_in_block(&cloner, originals[b]);
    coarsening_make_indices(c);
    coarsening_make_dynamic(c);
    cloner.regions = ARENA_ARRAY(scratch, const Region *, facts->block_count);
    for (size_t r = 0; r < facts->regions.count; r++)
        for (size_t i = 0; i < facts->regions.data[r].blocks.count; i++)
            cloner.regions[facts->regions.data[r].blocks.data[i]->id] = &facts->regions.data[r];
    for (size_t r = 0; r < facts->regions.count; r++)
        clone_region(&cloner, &facts->regions.data[r]);
    place_blocks(&cloner, originals);
    coarsening_take_groups(c);
}
