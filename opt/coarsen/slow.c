/* Slow paths as loops over the replicas, instead of a copy for each.
 *
 *     head -> next -> region -> end -> next ... -> join
 *
 * 'next' has the values of the replica whose turn it is and branches like the head; every edge out of the region leads
 * to 'end', which goes on to the next replica. The region's code is there once, in replica 0's registers, and the
 * order is that of the copies. The values that differ between replicas are treated as follows:
 *   - the index is advanced by the distance of replicas (index.c),
 *   - values computed from it in a few instructions are computed again,
 *   - others move up: with factor 4, v0, v1, v2, v3 is v1, v2, v3, v3 in the next round, and so on,
 *   - the arguments of the join's phis are collected likewise, from the end.
 * A region keeps its copies if it has barriers, warp-level instructions or variables of each replica, if replicas use
 * an array in it in turn (common.c), if others read its values elsewhere, if it observes other threads, or if
 * the loop would not pay.
 *
 * Requires SSA form, variance, regions and coarsening_map(), and that the code outside regions has been cloned. Keeps
 * SSA form. */
#include "opt/coarsen/internal.h"
#include "opt/common/versions.h"

/* Instructions that a loop has to save. */
enum { LEAST_SAVED = 8 };

typedef struct SlowLoop {
    Coarsening *c;
    Body *body;
    const Region *region;
    const Values *values; /* of the body before cloning */
    Block *head, *next, *end;
    BitSet members;        /* by Block.id: of the region */
    RegId *current;        /* by RegId of replica 0: that of the replica whose turn it is; REG_NONE: not known yet */
    BitSet moved, computed; /* by RegId: how it is known */
    VEC(RegId) moving;
    VEC(Inst *) computing; /* in the order of execution */
    bool reads_index;
    size_t choices;        /* phis of the join, for each replica */
} SlowLoop;

static bool is_member(const SlowLoop *s, const Block *block)
{
    return block && block->id < s->c->facts.block_count && bitset_has(&s->members, block->id);
}

/* True if a phi argument of the join comes from the region or its head. */
static bool comes_from_region(const SlowLoop *s, const Block *pred)
{
    return pred == s->head || is_member(s, pred);
}

static bool differs(const SlowLoop *s, RegId reg)
{
    return reg < s->c->copies.reg_count && s->c->copies.maps[1][reg] != reg;
}

/* A value from outside the region that each replica has its own of. */
static bool is_own_from_outside(const SlowLoop *s, RegId reg)
{
    return differs(s, reg) && !is_member(s, s->values->defs[reg].block);
}

/* True if the instruction can be executed once more, for another replica, in its turn. */
static bool is_repeatable(const SlowLoop *s, const Inst *inst)
{
    return inst && inst_is_plain(inst) && inst->effects == EFFECT_PURE && inst_result(inst) != REG_NONE &&
           !inst->pragma && !coarsening_uses_private(s->c, inst) && !inst_sreg(inst) &&
           coarsening_treatment(inst).rule != COARSEN_CLONED && inst != s->c->index.read;
}

typedef VEC(Inst *) InstVec;
typedef VEC(RegId) RegisterVec;

static bool has_inst(const InstVec *insts, const Inst *inst)
{
    for (size_t i = 0; i < insts->count; i++)
        if (insts->data[i] == inst)
            return true;
    return false;
}

/* True if the instruction reads a result of one of the others. */
static bool reads_any(const SlowLoop *s, const Inst *inst, const InstVec *others)
{
    for (unsigned r = 0; r < inst->ref_count; r++)
        if (ref_reads(&inst->refs[r]) && inst->refs[r].reg < s->c->copies.reg_count &&
            has_inst(others, s->values->defs[inst->refs[r].reg].inst))
            return true;
    return false;
}

/* Adds the instructions so that each comes after what it reads. */
static void compute_in_order(SlowLoop *s, InstVec *insts)
{
    while (insts->count) {
        size_t kept = 0;
        InstVec ready = {0};
        for (size_t i = 0; i < insts->count; i++)
            if (!reads_any(s, insts->data[i], insts))
                VEC_PUSH(s->c->scratch, ready, insts->data[i]);
        require(ready.count);
        for (size_t i = 0; i < insts->count; i++)
            if (!has_inst(&ready, insts->data[i]))
                insts->data[kept++] = insts->data[i];
        insts->count = kept;
        for (size_t i = 0; i < ready.count; i++) {
            VEC_PUSH(s->c->scratch, s->computing, ready.data[i]);
            for (unsigned r = 0; r < ready.data[i]->ref_count; r++)
                if (ref_writes(&ready.data[i]->refs[r]))
                    bitset_add(&s->computed, ready.data[i]->refs[r].reg);
        }
    }
}

/* Plans to compute the value from the index and from what is known, if that takes few instructions. */
static bool plan_computation(SlowLoop *s, RegId reg)
{
    Arena *scratch = s->c->scratch;
    InstVec insts = {0};
    RegisterVec pending = {0};
    VEC_PUSH(scratch, pending, reg);
    while (pending.count) {
        RegId next = VEC_POP(pending);
        s->reads_index |= next == s->c->index.first;
        if (!differs(s, next) || next == s->c->index.first || bitset_has(&s->computed, next) ||
            bitset_has(&s->moved, next))
            continue;
        Inst *inst = value_inst(s->values, next);
        if (has_inst(&insts, inst))
            continue;
        if (!is_repeatable(s, inst) || insts.count == s->c->step.factor)
            return false;
        VEC_PUSH(scratch, insts, inst);
        for (unsigned r = 0; r < inst->ref_count; r++)
            if (ref_reads(&inst->refs[r]))
                VEC_PUSH(scratch, pending, inst->refs[r].reg);
    }
    compute_in_order(s, &insts);
    return true;
}

static void plan_value(SlowLoop *s, RegId reg)
{
    if (!is_own_from_outside(s, reg) || bitset_has(&s->moved, reg) || plan_computation(s, reg))
        return;
    bitset_add(&s->moved, reg);
    VEC_PUSH(s->c->scratch, s->moving, reg);
}

/* All values from outside that the region, its exits and the head's branch read. */
static void plan_values(SlowLoop *s)
{
    const Region *region = s->region;
    for (size_t b = 0; b < region->blocks.count; b++) {
        const Block *block = region->blocks.data[b];
        for (size_t p = 0; p < block->phis.count; p++)
            for (size_t a = 0; a < block->phis.data[p].args.count; a++)
                plan_value(s, block->phis.data[p].args.data[a].reg);
        for (const Inst *inst = block->first; inst; inst = inst->next)
            for (unsigned r = 0; r < inst->ref_count; r++)
                if (ref_reads(&inst->refs[r]))
                    plan_value(s, inst->refs[r].reg);
    }
    for (size_t p = 0; p < region->join->phis.count; p++) {
        const Phi *phi = &region->join->phis.data[p];
        for (size_t a = 0; phi->dst < s->c->copies.reg_count && a < phi->args.count; a++)
            if (comes_from_region(s, phi->args.data[a].pred))
                plan_value(s, phi->args.data[a].reg);
    }
    const Inst *last = s->head->last;
    for (unsigned r = 0; last && inst_is_terminator(last) && r < last->ref_count; r++)
        if (ref_reads(&last->refs[r]))
            plan_value(s, last->refs[r].reg);
}

/* True if the phi takes the register from the region only. */
static bool comes_from_members(const SlowLoop *s, const Phi *phi, RegId reg)
{
    for (size_t a = 0; a < phi->args.count; a++)
        if (phi->args.data[a].reg == reg && !is_member(s, phi->args.data[a].pred))
            return false;
    return true;
}

/* True if the value is read only in the region and by phis of the join. */
static bool stays_inside(const SlowLoop *s, RegId reg)
{
    for (uint32_t u = 0; u < value_use_count(s->values, reg); u++) {
        const ValueUse *use = &value_uses(s->values, reg)[u];
        if (is_member(s, use->block))
            continue;
        if (use->inst || use->block != s->region->join ||
            !comes_from_members(s, &use->block->phis.data[use->index], reg))
            return false;
    }
    return true;
}

static bool is_suitable_inst(const SlowLoop *s, const Inst *inst)
{
    if (coarsening_orders(inst) || coarsening_uses_private(s->c, inst))
        return false;
    for (unsigned r = 0; r < inst->ref_count; r++)
        if (ref_writes(&inst->refs[r]) && !stays_inside(s, inst->refs[r].reg))
            return false;
    return true;
}

/* True if all of the region is cold, and its code can be every replica's. A loop that begins the region is what is
 * left of a joint one (joint.c), which every thread comes to. */
static bool is_suitable_region(const SlowLoop *s)
{
    const Region *region = s->region;
    for (size_t b = 0; b < region->blocks.count; b++) {
        const Block *block = region->blocks.data[b];
        const Loop *loop = loop_of(s->c->facts.loops, block);
        bool is_entry = false;
        for (unsigned p = 0; p < block->pred_count; p++)
            is_entry |= block->preds[p] == region->head;
        if (!block->is_cold || (is_entry && loop && loop->header == block))
            return false;
        for (size_t p = 0; p < block->phis.count; p++)
            if (!stays_inside(s, block->phis.data[p].dst))
                return false;
        for (const Inst *inst = block->first; inst; inst = inst->next)
            if (!is_suitable_inst(s, inst))
                return false;
    }
    return !coarsening_region_observes(&s->c->facts, region) && !coarsening_takes_turns(s->c, region);
}

/* True if one register from outside the region is what the phi takes from all of it. */
static bool takes_one_value(const SlowLoop *s, const Phi *phi)
{
    RegId one = REG_NONE;
    for (size_t a = 0; a < phi->args.count; a++) {
        const PhiArg *arg = &phi->args.data[a];
        if (!comes_from_region(s, arg->pred))
            continue;
        if ((one != REG_NONE && arg->reg != one) || differs(s, arg->reg))
            return false;
        one = arg->reg;
    }
    return true;
}

static bool are_suitable_choices(SlowLoop *s)
{
    for (size_t p = 0; p < s->region->join->phis.count; p++) {
        const Phi *phi = &s->region->join->phis.data[p];
        if (phi->dst >= s->c->copies.reg_count)
            continue; /* another replica's */
        if (!differs(s, phi->dst) && !takes_one_value(s, phi))
            return false;
        if (differs(s, phi->dst) && !coarsening_has_zero(s->body, phi->dst))
            return false;
        s->choices += differs(s, phi->dst);
    }
    return true;
}

/* True if the loop is shorter than the copies, and little of it is for going round. A plain guard, which gives no
 * results and needs no values but those of the index, is mostly about the end of the data: few threads come there.
 * All replicas may skip code in a loop in most of the loop's rounds: copies then cost a branch each. */
static bool is_worthwhile(const SlowLoop *s)
{
    size_t others = s->c->step.factor - 1, size = coarsening_size_of(s->region->blocks.data, s->region->blocks.count);
    bool is_plain = !s->moving.count && !s->choices;
    /* Four are the counter's. */
    size_t round = 4 + s->reads_index + s->computing.count + (s->moving.count + s->choices) * others;
    bool is_once = loop_depth(s->c->facts.loops, s->region->head) == 0;
    return is_once && round + LEAST_SAVED <= size * others && round * (is_plain ? 2 : 4) <= size;
}

static Block *add_block(SlowLoop *s)
{
    Block *block = body_add_block(s->body, NULL);
    block->is_cold = true;
    return block;
}

static RegId add_phi(SlowLoop *s, RegId like, RegId first, RegId then)
{
    Phi phi = {.dst = body_clone_reg(s->body, like)};
    VEC_PUSH(s->body->arena, phi.args, ((PhiArg){s->head, first}));
    VEC_PUSH(s->body->arena, phi.args, ((PhiArg){s->end, then}));
    VEC_PUSH(s->body->arena, s->next->phis, phi);
    return phi.dst;
}

/* The values that move up: each phi takes the next one's value. */
static void move_values(SlowLoop *s)
{
    for (size_t i = 0; i < s->moving.count; i++) {
        RegId reg = s->moving.data[i], next = s->c->copies.maps[s->c->step.factor - 1][reg];
        for (unsigned k = s->c->step.factor - 1; k-- > 0;)
            next = add_phi(s, reg, s->c->copies.maps[k][reg], next);
        s->current[reg] = next;
    }
}

static void advance_index(SlowLoop *s)
{
    RegId index = s->c->index.first;
    if (!s->reads_index)
        return;
    RegId next = body_clone_reg(s->body, index);
    s->current[index] = add_phi(s, index, index, next);
    inst_append(s->end, coarsening_next_index(s->c->body, &s->c->index, next, s->current[index]));
}

static RegId current_value(const SlowLoop *s, RegId reg)
{
    return reg < s->c->copies.reg_count && s->current[reg] != REG_NONE ? s->current[reg] : reg;
}

static void read_current(const SlowLoop *s, Inst *inst)
{
    for (unsigned r = 0; r < inst->ref_count; r++)
        if (inst->refs[r].reg != REG_NONE)
            inst->refs[r].reg = current_value(s, inst->refs[r].reg);
}

static void compute_values(SlowLoop *s)
{
    for (size_t i = 0; i < s->computing.count; i++) {
        Inst *inst = inst_clone(s->body, s->computing.data[i]);
        for (unsigned r = 0; r < inst->ref_count; r++)
            if (ref_writes(&inst->refs[r]))
                s->current[inst->refs[r].reg] = body_clone_reg(s->body, inst->refs[r].reg);
        read_current(s, inst);
        inst_append(s->next, inst);
    }
}

/* Each round asks whether there is another. */
static void count_rounds(SlowLoop *s)
{
    Body *body = s->body;
    Name name = intern(body->module->names, "%left");
    RegId all = body_add_reg(body, TYPE_B32, name), fewer = body_add_reg(body, TYPE_B32, name);
    RegId more = body_add_reg(body, TYPE_PRED, intern(body->module->names, "%more"));
    inst_append(s->head, inst_build(body, "mov.u32", "di", all, (int64_t)s->c->step.factor));
    RegId left = add_phi(s, all, all, fewer);
    inst_append(s->end, inst_build(body, "add.s32", "dri", fewer, left, (int64_t)-1));
    inst_append(s->end, inst_build(body, "setp.ne.s32", "dri", more, fewer, (int64_t)0));
    inst_append(s->end, inst_build_branch(body, s->next, more, false));
    s->end->fall = s->region->join;
}

/* The region reads the values of the replica whose turn it is. */
static void read_current_in_region(SlowLoop *s)
{
    for (size_t b = 0; b < s->region->blocks.count; b++) {
        Block *block = s->region->blocks.data[b];
        for (size_t p = 0; p < block->phis.count; p++)
            for (size_t a = 0; a < block->phis.data[p].args.count; a++) {
                PhiArg *arg = &block->phis.data[p].args.data[a];
                arg->reg = current_value(s, arg->reg);
            }
        for (Inst *inst = block->first; inst; inst = inst->next)
            read_current(s, inst);
        block_replace_pred(block, s->head, s->next);
        block_retarget(block, s->region->join, s->end);
    }
}

static Phi *join_phi(const SlowLoop *s, RegId dst)
{
    Block *join = s->region->join;
    for (size_t p = 0; p < join->phis.count; p++)
        if (join->phis.data[p].dst == dst)
            return &join->phis.data[p];
    bug("no phi for a replica");
}

/* Takes the arguments that come from the region away, and gives the one from its end instead. */
static void set_result(SlowLoop *s, RegId dst, RegId result)
{
    Phi *phi = join_phi(s, dst);
    size_t kept = 0;
    for (size_t a = 0; a < phi->args.count; a++)
        if (!comes_from_region(s, phi->args.data[a].pred))
            phi->args.data[kept++] = phi->args.data[a];
    bool was_there = kept < phi->args.count;
    phi->args.count = kept;
    if (was_there)
        VEC_PUSH(s->body->arena, phi->args, ((PhiArg){s->end, result}));
}

/* The value that the replica whose turn it is gives to a phi of the join. */
static RegId add_choice(SlowLoop *s, const Phi *phi)
{
    Phi choice = {.dst = body_clone_reg(s->body, phi->dst)};
    for (size_t a = 0; a < phi->args.count; a++) {
        PhiArg arg = phi->args.data[a];
        if (!comes_from_region(s, arg.pred))
            continue;
        arg.reg = current_value(s, arg.reg);
        arg.pred = arg.pred == s->head ? s->next : arg.pred;
        VEC_PUSH(s->body->arena, choice.args, arg);
    }
    VEC_PUSH(s->body->arena, s->end->phis, choice);
    return choice.dst;
}

/* Collects the replicas' values for the phi: the last replica's are this round's, the others are what the next one's
 * were in the round before. */
static void collect(SlowLoop *s, RegId dst)
{
    Coarsening *c = s->c;
    /* Before a round has given a value, a zero stands for it. */
    RegId then = add_choice(s, join_phi(s, dst)), nothing = coarsening_append_zero(c, s->head, dst);
    for (unsigned k = c->step.factor; k-- > 0;) {
        set_result(s, c->copies.maps[k][dst], then);
        if (k)
            then = add_phi(s, dst, nothing, then);
    }
}

static void collect_results(SlowLoop *s)
{
    Block *join = s->region->join;
    for (size_t p = 0, count = join->phis.count; p < count; p++) {
        const Phi *phi = &join->phis.data[p];
        RegId dst = phi->dst, same = REG_NONE;
        if (dst >= s->c->copies.reg_count)
            continue;
        if (differs(s, dst)) {
            collect(s, dst);
            continue;
        }
        for (size_t a = 0; a < phi->args.count; a++)
            if (comes_from_region(s, phi->args.data[a].pred))
                same = phi->args.data[a].reg;
        if (same != REG_NONE)
            set_result(s, dst, same);
    }
}

static void make_loop(SlowLoop *s)
{
    Block *head = s->head, *join = s->region->join;
    Inst *last = head->last && inst_is_terminator(head->last) ? head->last : NULL;
    if (last)
        inst_remove(last);
    s->next = add_block(s);
    s->end = add_block(s);
    move_values(s);
    advance_index(s);
    compute_values(s);
    collect_results(s);
    count_rounds(s);
    if (last) {
        read_current(s, last);
        inst_append(s->next, last);
    }
    s->next->fall = head->fall;
    head->fall = s->next;
    block_retarget(s->next, join, s->end);
    read_current_in_region(s);
    block_add_pragma(s->body, s->next, "nounroll"); /* unrolled, the loop would be the copies again */
}

bool coarsening_loop_over(Coarsening *c, const Region *region, Block *head, ReplicaLoop *loop)
{
    SlowLoop s = {.c = c,
                  .body = c->body,
                  .region = region,
                  .values = analyses_values(c->facts.analyses),
                  .head = head,
                  .members = bitset_new(c->scratch, c->facts.block_count),
                  .current = ARENA_ARRAY(c->scratch, RegId, c->copies.reg_count),
                  .moved = bitset_new(c->scratch, c->copies.reg_count),
                  .computed = bitset_new(c->scratch, c->copies.reg_count)};
    for (size_t b = 0; b < region->blocks.count; b++)
        bitset_add(&s.members, region->blocks.data[b]->id);
    if (!is_suitable_region(&s) || !are_suitable_choices(&s))
        return false;
    plan_values(&s);
    if (!is_worthwhile(&s))
        return false;
    for (size_t r = 0; r < c->copies.reg_count; r++)
        s.current[r] = REG_NONE;
    make_loop(&s);
    *loop = (ReplicaLoop){s.next, s.end};
    return true;
}
