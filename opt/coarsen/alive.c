/* Merged threads some of whose replicas have left the kernel.
 *
 * A branch that lets threads leave (leave.c) sets a predicate of each replica, 'alive'; the merged thread exits
 * if none is:
 *
 *     if (i >= n) return;                alive = i < n;  if (!any(alive)) return;
 *     tile[t] = in[i];                   if (alive) tile[t] = in[i];
 *     __syncthreads();                   __syncthreads();
 *     out[i] = tile[t ^ 1];              if (alive) out[i] = tile[t ^ 1];
 *
 * After the branch,
 *   - an instruction that is executed once for all replicas stays as it is: at least one of them would execute it;
 *   - code that each replica executes for itself, and a dead one must not, becomes a *section*: blocks under 'alive',
 *     which are a region like any other. After it, its values are zero for a dead replica, which uses them for nothing
 *     that matters;
 *   - regions are entered by replicas that are alive;
 *   - a branch that the replicas take alike, though their conditions are values of their own, asks those alive;
 *   - a warp-level instruction is each replica's own, and its mask loses the lanes whose replica is dead: all threads
 * of the warp that are still there vote on it, at a place to which all of them come;
 *   - a dead replica adds nothing to what a barrier combines.
 *
 * Requires SSA form, dominators, values, and variance and regions that take no account of the branches in question.
 * Keeps SSA form; blocks, edges and all analyses change. */
#include "opt/coarsen/internal.h"
#include "opt/common/versions.h"

#include <string.h>

typedef VEC(Block *) BlockVec;

typedef struct Alive {
    Coarsening *c;
    Body *body;
    Arena *scratch;
    const Values *values;
    size_t block_count, reg_count; /* before the change */
    BitSet after;      /* by Block.id: some replicas may have left before */
    BitSet last;       /* by Block.id: executed by replicas that leave */
    RegId *in, *out;   /* by Block.id: who is alive at its beginning and at its end; REG_NONE: all are */
    const Leave **leave; /* by Block.id: its branch lets threads leave */
    Block **tail;      /* by Block.id: the last of the blocks that it was split into */
    BlockVec *placed;  /* by Block.id: new blocks to place after it */
    RegId truth;       /* a register that is true; REG_NONE: not made yet */
    RegId *fresh;      /* by RegId: its name within the section or region at hand; 0: the same */
} Alive;

static Block *new_block(Alive *a, const Block *origin)
{
    Block *block = body_add_block(a->body, NULL);
    block->is_cold = origin->is_cold;
    VEC_PUSH(a->scratch, a->placed[origin->id], block);
    return block;
}

static RegId new_predicate(Alive *a, const char *name)
{
    return body_add_reg(a->body, TYPE_PRED, intern(a->body->module->names, name));
}

/* A new predicate, "OPCODE new, x, y" at the end of the block, which has no terminator; y may be REG_NONE. */
static RegId append_logic(Alive *a, Block *block, const char *opcode, RegId x, RegId y)
{
    RegId result = new_predicate(a, "%alive");
    inst_append(block, y == REG_NONE ? inst_build(a->body, opcode, "dr", result, x)
                                     : inst_build(a->body, opcode, "drr", result, x, y));
    return result;
}

RegId coarsening_append_zero(Coarsening *c, Block *block, RegId like)
{
    RegId zero = body_clone_reg(c->body, like);
    Type type = c->body->regs.data[like].type;
    const char *spelling = type == TYPE_PRED ? "mov.pred" : arena_printf(c->scratch, "mov.b%u", type_bits(type));
    inst_append(block, inst_build(c->body, spelling, "di", zero, (int64_t)0));
    return zero;
}

static RegId truth(Alive *a)
{
    if (a->truth == REG_NONE) {
        a->truth = new_predicate(a, "%all_alive");
        inst_insert_first(a->body->blocks.data[0], inst_build(a->body, "mov.pred", "di", a->truth, (int64_t)-1));
    }
    return a->truth;
}

/* Gives every block its predicates, and phis where different ones meet. */
static void name_alive(Alive *a)
{
    Coarsening *c = a->c;
    const BlockLists *frontiers = dominance_frontiers(a->scratch, c->facts.dominance);
    BlockVec pending = {0};
    for (size_t i = 0; i < c->exits.leaves.count; i++) {
        Block *branch = c->exits.leaves.data[i].branch;
        a->leave[branch->id] = &c->exits.leaves.data[i];
        a->out[branch->id] = new_predicate(a, "%alive");
        VEC_PUSH(a->scratch, pending, branch);
    }
    while (pending.count) {
        const Block *block = VEC_POP(pending);
        for (uint32_t i = 0; i < block_list_count(frontiers, block); i++) {
            Block *meeting = block_list(frontiers, block)[i];
            if (!bitset_has(&a->after, meeting->id) || a->in[meeting->id] != REG_NONE)
                continue;
            a->in[meeting->id] = new_predicate(a, "%alive");
            VEC_PUSH(a->scratch, pending, meeting);
        }
    }
    BitSet phis = bitset_new(a->scratch, a->block_count);
    for (uint32_t i = 0; i < c->facts.dominance->order_count; i++) {
        const Block *block = a->body->blocks.data[c->facts.dominance->order[i]];
        const Block *over = dominance_parent(c->facts.dominance, block);
        if (a->in[block->id] != REG_NONE)
            bitset_add(&phis, block->id);
        else if (over && bitset_has(&a->after, block->id))
            a->in[block->id] = a->out[over->id];
        if (!a->leave[block->id])
            a->out[block->id] = a->in[block->id];
    }
    for (size_t b = bitset_next(&phis, 0); b != SIZE_MAX; b = bitset_next(&phis, b + 1)) {
        Block *block = a->body->blocks.data[b];
        Phi phi = {.dst = a->in[b]};
        for (unsigned p = 0; p < block->pred_count; p++) {
            RegId alive = a->out[block->preds[p]->id];
            VEC_PUSH(a->body->arena, phi.args, ((PhiArg){block->preds[p], alive == REG_NONE ? truth(a) : alive}));
        }
        VEC_PUSH(a->body->arena, block->phis, phi);
    }
}

static RegId fresh_name(const Alive *a, RegId reg)
{
    return reg < a->reg_count && a->fresh[reg] ? a->fresh[reg] : reg;
}

static void use_fresh_names(const Alive *a, Inst *inst)
{
    for (unsigned r = 0; r < inst->ref_count; r++)
        if (inst->refs[r].reg != REG_NONE)
            inst->refs[r].reg = fresh_name(a, inst->refs[r].reg);
}

/* A block that is being split: 'now' is its last part so far, 'section' what is to follow under 'alive'. */
typedef struct Split {
    Alive *a;
    Block *origin, *now;
    RegId alive;
    VEC(Inst *) section;
    PointerMap members; /* Inst */
} Split;

static bool reads_member(const Split *split, const Inst *inst)
{
    const Values *values = split->a->values;
    for (unsigned r = 0; r < inst->ref_count; r++) {
        RegId reg = inst->refs[r].reg;
        if (!ref_reads(&inst->refs[r]) || reg == REG_NONE || reg >= split->a->reg_count)
            continue;
        const Inst *made = value_inst(values, reg);
        if (made && pointer_map_get(&split->members, made))
            return true;
    }
    return false;
}

static bool is_used_after(const Split *split, RegId reg)
{
    const Values *values = split->a->values;
    for (uint32_t u = 0; u < value_use_count(values, reg); u++) {
        const ValueUse *use = &value_uses(values, reg)[u];
        if (!use->inst || !pointer_map_get(&split->members, use->inst))
            return true;
    }
    return false;
}

/* Ends the section: the values that are used after it get other names in it. */
static void end_section(Split *split)
{
    Alive *a = split->a;
    if (!split->section.count)
        return;
    VEC(RegId) escapes = {0};
    Block *section = new_block(a, split->origin), *next = new_block(a, split->origin);
    for (size_t i = 0; i < split->section.count; i++) {
        Inst *inst = split->section.data[i];
        for (unsigned r = 0; r < inst->ref_count; r++) {
            RegId reg = inst->refs[r].reg;
            if (!ref_writes(&inst->refs[r]) || reg == REG_NONE || !is_used_after(split, reg))
                continue;
            a->fresh[reg] = body_clone_reg(a->body, reg);
            VEC_PUSH(a->scratch, escapes, reg);
        }
        use_fresh_names(a, inst);
        inst_append(section, inst);
    }
    for (size_t i = 0; i < escapes.count; i++) {
        RegId reg = escapes.data[i];
        Phi phi = {.dst = reg};
        VEC_PUSH(a->body->arena, phi.args, ((PhiArg){split->now, coarsening_append_zero(a->c, split->now, reg)}));
        VEC_PUSH(a->body->arena, phi.args, ((PhiArg){section, a->fresh[reg]}));
        VEC_PUSH(a->body->arena, next->phis, phi);
        a->fresh[reg] = 0;
    }
    inst_append(split->now, inst_build_branch(a->body, next, split->alive, true));
    split->now->fall = section;
    section->fall = next;
    split->now = next;
    split->section.count = 0;
    split->members = (PointerMap){.arena = a->scratch};
}

static void take_inst(Split *split, Inst *inst)
{
    Share share = coarsening_share(split->a->c, inst);
    if (share == SHARE_ALIVE || (share == SHARE_ANYWAY && reads_member(split, inst))) {
        VEC_PUSH(split->a->scratch, split->section, inst);
        pointer_map_put(&split->members, inst, inst);
        return;
    }
    if (share == SHARE_ORDERED)
        end_section(split);
    inst_append(split->now, inst);
    if (coarsening_combines(inst))
        coarsening_silence(split->a->body, inst, split->alive);
}

static void split_block(Alive *a, Block *block)
{
    Split split = {.a = a, .origin = block, .now = block, .alive = a->in[block->id],
                   .members = {.arena = a->scratch}};
    Block *fall = block->fall;
    VEC(Inst *) insts = {0};
    for (Inst *inst = block->first; inst; inst = inst->next)
        VEC_PUSH(a->scratch, insts, inst);
    for (size_t i = 0; i < insts.count; i++)
        inst_remove(insts.data[i]);
    block->fall = NULL;
    for (size_t i = 0; i < insts.count; i++)
        if (!inst_is_terminator(insts.data[i]))
            take_inst(&split, insts.data[i]);
    end_section(&split);
    if (insts.count && inst_is_terminator(VEC_LAST(insts)))
        inst_append(split.now, VEC_LAST(insts));
    split.now->fall = fall;
    a->tail[block->id] = split.now;
    if (split.now != block)
        FOR_EACH_SUCC(split.now, succ)
            block_replace_pred(succ, block, split.now);
}

static bool is_member(const BitSet *members, const Block *block, size_t count)
{
    return block->id < count && bitset_has(members, block->id);
}

/* True if the region's value is used outside it, other than by the phis where it ends. */
static bool leaves_region(const Alive *a, const Region *region, const BitSet *members, RegId reg)
{
    for (uint32_t u = 0; u < value_use_count(a->values, reg); u++) {
        const ValueUse *use = &value_uses(a->values, reg)[u];
        const Block *at = use->inst ? use->block : use->block->phis.data[use->index].args.data[use->arg].pred;
        bool at_join = !use->inst && use->block == region->join;
        if (!at_join && !is_member(members, at, a->block_count))
            return true;
    }
    return false;
}

/* The values of the region that are used after it meet those of dead replicas, which come from 'dead', at its join. */
static void meet_dead(Alive *a, const Region *region, Block *dead)
{
    Block *join = region->join;
    BitSet members = bitset_new(a->scratch, a->block_count);
    VEC(RegId) escapes = {0};
    for (size_t i = 0; i < region->blocks.count; i++)
        bitset_add(&members, region->blocks.data[i]->id);
    for (size_t i = 0; i < region->blocks.count; i++) {
        const Block *block = region->blocks.data[i];
        for (size_t p = 0; p < block->phis.count; p++)
            if (block->phis.data[p].dst < a->reg_count && leaves_region(a, region, &members, block->phis.data[p].dst))
                VEC_PUSH(a->scratch, escapes, block->phis.data[p].dst);
        for (const Inst *inst = block->first; inst; inst = inst->next)
            for (unsigned r = 0; r < inst->ref_count; r++)
                if (ref_writes(&inst->refs[r]) && inst->refs[r].reg != REG_NONE &&
                    leaves_region(a, region, &members, inst->refs[r].reg))
                    VEC_PUSH(a->scratch, escapes, inst->refs[r].reg);
    }
    for (size_t p = 0; p < join->phis.count; p++)
        VEC_PUSH(a->body->arena, join->phis.data[p].args,
                 ((PhiArg){dead, coarsening_append_zero(a->c, dead, join->phis.data[p].dst)}));
    if (!escapes.count)
        return;
    for (size_t i = 0; i < escapes.count; i++)
        a->fresh[escapes.data[i]] = body_clone_reg(a->body, escapes.data[i]);
    for (size_t i = 0; i < region->blocks.count; i++) {
        Block *block = region->blocks.data[i];
        for (size_t p = 0; p < block->phis.count; p++) {
            block->phis.data[p].dst = fresh_name(a, block->phis.data[p].dst);
            for (size_t g = 0; g < block->phis.data[p].args.count; g++) {
                PhiArg *arg = &block->phis.data[p].args.data[g];
                if (is_member(&members, arg->pred, a->block_count))
                    arg->reg = fresh_name(a, arg->reg);
            }
        }
        for (Inst *inst = block->first; inst; inst = inst->next)
            use_fresh_names(a, inst);
    }
    for (size_t p = 0; p < join->phis.count; p++)
        for (size_t g = 0; g < join->phis.data[p].args.count; g++) {
            PhiArg *arg = &join->phis.data[p].args.data[g];
            if (is_member(&members, arg->pred, a->block_count))
                arg->reg = fresh_name(a, arg->reg);
        }
    for (size_t i = 0; i < escapes.count; i++) {
        RegId reg = escapes.data[i];
        Phi phi = {.dst = reg};
        for (unsigned p = 0; p < join->pred_count; p++) {
            Block *pred = join->preds[p];
            if (is_member(&members, pred, a->block_count))
                VEC_PUSH(a->body->arena, phi.args, ((PhiArg){pred, a->fresh[reg]}));
        }
        VEC_PUSH(a->body->arena, phi.args, ((PhiArg){dead, coarsening_append_zero(a->c, dead, reg)}));
        VEC_PUSH(a->body->arena, join->phis, phi);
        a->fresh[reg] = 0;
    }
}

/* True if dead replicas come to the region. Those that leave execute blocks of their own: no other replica does. */
static bool is_for_alive(const Alive *a, const Region *region)
{
    for (size_t i = 0; i < region->blocks.count; i++)
        if (bitset_has(&a->last, region->blocks.data[i]->id))
            return false;
    return a->out[region->head->id] != REG_NONE;
}

/* Lets only replicas enter the region that are alive. */
static void guard_region(Alive *a, const Region *region)
{
    Block *head = a->tail[region->head->id], *join = region->join, *entry = NULL;
    RegId alive = a->out[region->head->id];
    bool elsewhere = false;
    FOR_EACH_SUCC(head, succ) {
        bool inside = is_member(&a->c->facts.in_region, succ, a->block_count);
        entry = inside ? succ : entry;
        elsewhere |= !inside && succ != join;
    }
    require(entry);
    if (elsewhere) { /* the edge to the region is guarded */
        Block *guard = new_block(a, region->head);
        block_retarget(head, entry, guard);
        block_replace_pred(entry, head, guard);
        meet_dead(a, region, guard);
        inst_append(guard, inst_build_branch(a->body, join, alive, true));
        guard->fall = entry;
        return;
    }
    Block *rest = new_block(a, region->head);
    Inst *last = head->last && inst_is_terminator(head->last) ? head->last : NULL;
    if (last) {
        inst_remove(last);
        inst_append(rest, last);
    }
    rest->fall = head->fall;
    FOR_EACH_SUCC(rest, succ)
        block_replace_pred(succ, head, rest);
    meet_dead(a, region, head);
    inst_append(head, inst_build_branch(a->body, join, alive, true));
    head->fall = rest;
    a->tail[region->head->id] = rest;
}

/* True if the replicas take the branch alike by conditions of their own. */
static bool decides_alike(const Alive *a, const Block *block)
{
    const Block *tail = a->tail[block->id];
    const Inst *last = tail->last;
    if (a->leave[block->id] || !block_chooses(tail) || !last || !inst_is_guarded(last) ||
        variance_branch(a->c->facts.variance, block))
        return false;
    RegId condition = inst_predicate(last);
    return variance_reg(a->c->facts.variance, condition) || coarsening_is_missing(a->c, condition);
}

static void ask_alive(Alive *a, Block *block)
{
    Block *tail = a->tail[block->id];
    Inst *last = tail->last;
    RegId *condition = &last->refs[last->guard].reg;
    inst_remove(last);
    RegId asked = append_logic(a, tail, "and.pred", a->in[block->id], *condition);
    *condition = coarsening_agree(a->c, tail, asked, false);
    inst_append(tail, last);
}

static void let_leave(Alive *a, const Leave *leave, Block *exit)
{
    Block *tail = a->tail[leave->branch->id], *meeting = tail;
    Inst *last = tail->last;
    RegId guard = inst_predicate(last), in = a->in[leave->branch->id];
    Block *stays = leave->taken ? tail->fall : last->targets[0];
    bool stays_if_true = leave->taken == last->guard_inverted;
    inst_remove(last);
    RegId stay = stays_if_true ? guard : append_logic(a, tail, "not.pred", guard, REG_NONE);
    RegId alive = a->out[leave->branch->id];
    inst_append(tail, in == REG_NONE ? inst_build(a->body, "mov.pred", "dr", alive, stay)
                                     : inst_build(a->body, "and.pred", "drr", alive, in, stay));
    if (leave->blocks.count) {
        meeting = new_block(a, leave->branch);
        RegId leaves = append_logic(a, tail, "not.pred", stay, REG_NONE);
        if (in != REG_NONE)
            leaves = append_logic(a, tail, "and.pred", in, leaves);
        inst_append(tail, inst_build_branch(a->body, leave->leaves, leaves, false));
        tail->fall = meeting;
        for (size_t i = 0; i < leave->blocks.count; i++)
            FOR_EACH_SUCC(leave->blocks.data[i], succ)
                if (succ->id < a->block_count && coarsening_only_exits(a->body, succ))
                    block_retarget(leave->blocks.data[i], succ, meeting);
        block_replace_pred(stays, tail, meeting);
    }
    RegId any = coarsening_agree(a->c, meeting, alive, false);
    inst_append(meeting, inst_build_branch(a->body, exit, any, true));
    meeting->fall = stays;
}

/* Lets warp-level instructions name only lanes whose replica is alive. The warp is asked at the beginning of a place
 * to which all of its threads come that are still there; the vote is cloned with 'alive', so each replica has the lanes
 * of its own warp. */
static void narrow_masks(Alive *a, const Block *block, RegId *lanes)
{
    for (Inst *inst = block->first; inst; inst = inst->next) {
        Block *place = inst->sync == SYNC_WARP ? pointer_map_get(&a->c->exits.parted, inst) : NULL;
        if (!place)
            continue;
        if (lanes[place->id] == REG_NONE) {
            lanes[place->id] = body_add_reg(a->body, TYPE_B32, intern(a->body->module->names, "%stay"));
            inst_insert_first(place, inst_build(a->body, "vote.sync.ballot.b32", "dri", lanes[place->id],
                                                a->in[place->id], (int64_t)UINT32_MAX));
        }
        coarsening_narrow(a->c, inst, lanes[place->id]);
    }
}

static void narrow_all_masks(Alive *a)
{
    RegId *lanes = ARENA_ARRAY(a->scratch, RegId, a->block_count);
    for (size_t b = 0; b < a->block_count; b++)
        lanes[b] = REG_NONE;
    for (size_t b = 0; b < a->body->blocks.count; b++)
        narrow_masks(a, a->body->blocks.data[b], lanes);
}

static void place_blocks(Alive *a)
{
    Block **old = ARENA_ARRAY(a->scratch, Block *, a->block_count);
    memcpy(old, a->body->blocks.data, a->block_count * sizeof *old);
    size_t place = 0;
    for (size_t b = 0; b < a->block_count; b++) {
        a->body->blocks.data[place++] = old[b];
        for (size_t i = 0; i < a->placed[b].count; i++)
            a->body->blocks.data[place++] = a->placed[b].data[i];
    }
    require(place == a->body->blocks.count);
    body_renumber(a->body);
    body_update_preds(a->body);
}

static Alive alive_new(Coarsening *c)
{
    Body *body = c->body;
    Alive a = {.c = c,
               .body = body,
               .scratch = c->scratch,
               .values = analyses_values(c->facts.analyses),
               .block_count = body->blocks.count,
               .reg_count = body->regs.count,
               .after = coarsening_after_leaves(c),
               .last = bitset_new(c->scratch, body->blocks.count),
               .in = ARENA_ARRAY(c->scratch, RegId, body->blocks.count),
               .out = ARENA_ARRAY(c->scratch, RegId, body->blocks.count),
               .leave = arena_array(c->scratch, body->blocks.count, sizeof *a.leave),
               .tail = ARENA_ARRAY(c->scratch, Block *, body->blocks.count),
               .placed = arena_array(c->scratch, body->blocks.count, sizeof *a.placed),
               .truth = REG_NONE,
               .fresh = ARENA_ARRAY(c->scratch, RegId, body->regs.count)};
    for (size_t i = 0; i < c->exits.leaves.count; i++)
        for (size_t b = 0; b < c->exits.leaves.data[i].blocks.count; b++)
            bitset_add(&a.last, c->exits.leaves.data[i].blocks.data[b]->id);
    for (size_t b = 0; b < a.block_count; b++) {
        a.in[b] = a.out[b] = REG_NONE;
        a.tail[b] = body->blocks.data[b];
    }
    return a;
}

void coarsening_let_leave(Coarsening *c)
{
    Alive a = alive_new(c);
    Block *exit = coarsening_exit(c->body);
    name_alive(&a);
    for (size_t b = 0; b < a.block_count; b++)
        if (bitset_has(&a.after, b) && !bitset_has(&c->facts.in_region, b))
            split_block(&a, c->body->blocks.data[b]);
    for (size_t b = 0; b < a.block_count; b++) {
        Block *block = c->body->blocks.data[b];
        if (bitset_has(&a.after, b) && !bitset_has(&c->facts.in_region, b) && decides_alike(&a, block))
            ask_alive(&a, block);
    }
    for (size_t r = 0; r < c->facts.regions.count; r++)
        if (is_for_alive(&a, &c->facts.regions.data[r]))
            guard_region(&a, &c->facts.regions.data[r]);
    for (size_t i = 0; i < c->exits.leaves.count; i++)
        let_leave(&a, &c->exits.leaves.data[i], exit);
    narrow_all_masks(&a);
    place_blocks(&a);
}
