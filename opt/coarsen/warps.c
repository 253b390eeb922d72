/* Warp-level instructions in regions.
 *
 * With whole warps, replica k of a warp's 32 threads is one warp of the original kernel, lane by lane. Each replica's
 * copy of a region is executed by exactly the lanes whose replica enters it, so a warp-level instruction that names its
 * participants has the same ones as before, with the same values. A copy has the region's own merge points, and it is
 * entered from its head alone: no edge goes round a place where threads meet before such an instruction.
 *
 * 'activemask' names no threads; its result is the set of threads that execute it together. Those of one copy belong to
 * one warp of the original kernel, and each of them comes there in the original kernel too. Which of them do so
 * together is up to the machine, before as after: a program is right for any such set (docs/design.md), whatever it
 * does with the value. Yet they are those that met there before, because nothing that executes a region's instructions
 * for other lanes than the replica's own takes one that has it: no fast path (fast.c), predication (predicate.c) or
 * joint loop (joint.c). Its result is variant, and so it is never shared by replicas.
 *
 * Threads that have left the kernel are an exception. A mask may name them, because no thread waits for one that has
 * exited. A merged thread is still there while one of its other replicas is alive, and it would be waited for. So the
 * branches that lead out of the kernel on one side and to the instruction on the other, all of them within the region
 * or at its head, are looked at one by one:
 *   - if the mask is the result of a warp-level instruction after the branch, or of a vote on the branch's condition
 *     before it, it names only threads that stayed;
 *   - if all threads of a warp come to the branch or none, a vote before it says who stays, and those who do not are
 *     taken out of the mask; so does a vote before a branch to which all come who stay at such a one, cast by these;
 *   - otherwise the kernel is refused.
 * If both sides of a branch meet before the kernel ends, no thread has left by it: CUDA requires that every thread
 * which a mask names executes the instruction or has exited (docs/design.md).
 *
 * Requires SSA form, dominators, post-dominators, loops, variance and regions. */
#include "opt/coarsen/internal.h"

/* True if the block's branch separates threads that may not meet again before the kernel ends. If all threads of a
 * merged block take it alike for a replica, none that stays has lost another. */
static bool parts_for_good(Coarsening *c, const Block *block)
{
    if (!block_chooses(block) || coarsening_go_together(c, block))
        return false;
    const Block *meeting = dominance_parent(c->facts.postdominance, block);
    return !meeting || coarsening_only_exits(c->body, meeting);
}

static bool is_within(const Region *region, const BitSet *members, const Block *block)
{
    return block == region->head || bitset_has(members, block->id);
}

/* Adds the blocks of the region, and its head, from which 'to' can be reached; 'to' itself only if it is on a cycle. */
static BitSet blocks_before(Coarsening *c, const Region *region, const BitSet *members, const Block *to)
{
    BitSet found = bitset_new(c->scratch, c->facts.block_count);
    VEC(const Block *) pending = {0};
    VEC_PUSH(c->scratch, pending, to);
    while (pending.count) {
        const Block *block = VEC_POP(pending);
        if (block == region->head)
            continue;
        for (unsigned p = 0; p < block->pred_count; p++) {
            const Block *pred = block->preds[p];
            if (!is_within(region, members, pred) || bitset_has(&found, pred->id))
                continue;
            bitset_add(&found, pred->id);
            VEC_PUSH(c->scratch, pending, pred);
        }
    }
    return found;
}

/* The warp-level instructions that a mask is made of, all of whose results it is within. */
typedef VEC(const Inst *) Makers;

enum { MOST_MAKERS = 8 };

static Makers find_makers(Coarsening *c, const Inst *inst)
{
    const Values *values = analyses_values(c->facts.analyses);
    Makers makers = {0};
    VEC(RegId) pending = {0};
    RegId mask = operand_reg(inst, &inst->operands[inst->operand_count - 1]);
    if (mask != REG_NONE)
        VEC_PUSH(c->scratch, pending, mask);
    for (unsigned steps = 0; pending.count && steps < MOST_MAKERS; steps++) {
        const Inst *maker = value_inst(values, VEC_POP(pending));
        Computation made;
        if (!maker || inst_is_opaque(maker))
            continue;
        if (maker->sync == SYNC_WARP || maker->sync == SYNC_CONVERGED)
            VEC_PUSH(c->scratch, makers, maker);
        if (!computation_of(c->body, maker, &made) || made.op != COMPUTE_AND)
            continue;
        for (unsigned i = 0; i < made.source_count; i++)
            if (made.sources[i].reg != REG_NONE)
                VEC_PUSH(c->scratch, pending, made.sources[i].reg);
    }
    return makers;
}

bool coarsening_everyone_passes(const Facts *facts, const Block *block)
{
    VarianceOptions options = {.merge_loads = true, .unmerged = &facts->observations,
                               .uniform_branches = &facts->passed_branches};
    return !variance_block(analyses_variance(facts->analyses, VARIANCE_ANY, &options), block);
}

/* The members of one block's warp-level instructions, against the branches from which threads may leave. */
typedef struct ExitCheck {
    Coarsening *c;
    const Region *region;
    const BitSet *members; /* the region's blocks */
    const Block *place;    /* the block of the instructions */
    BitSet before;         /* blocks from which it is reached */
} ExitCheck;

static bool leads_there(const ExitCheck *check, const Block *from)
{
    return from == check->place || (is_within(check->region, check->members, from) && from != check->region->head &&
                                    bitset_has(&check->before, from->id));
}

/* True if the branch sends some threads to the instructions and lets others leave. */
static bool lets_leave(const ExitCheck *check, const Block *branch)
{
    if (!bitset_has(&check->before, branch->id) || !parts_for_good(check->c, branch))
        return false;
    FOR_EACH_SUCC(branch, succ)
        if (!leads_there(check, succ))
            return true;
    return false;
}

/* True if the instruction is executed after the branch, by threads that have stayed. */
static bool made_after(const ExitCheck *check, const Inst *maker, const Block *branch)
{
    Coarsening *c = check->c;
    if (!bitset_has(check->members, maker->block->id))
        return false;
    BitSet before = blocks_before(c, check->region, check->members, branch);
    return maker->block != branch && !bitset_has(&before, maker->block->id);
}

/* True if the instruction is a vote before the branch on the branch's own condition, for those who stay. */
static bool asks_who_stays(const ExitCheck *check, const Inst *maker, const Block *branch)
{
    Coarsening *c = check->c;
    const Inst *last = block_two_way_branch(branch);
    if (inst_op(maker) != OP_VOTE || !inst_has(maker, MOD_BALLOT) || inst_is_guarded(maker) || !last ||
        !dominance_has(c->facts.dominance, maker->block, branch))
        return false;
    const Operand *vote = &maker->operands[1];
    bool stays_if = leads_there(check, last->targets[0]) != last->guard_inverted, votes_if = !vote->inverted;
    return operand_reg(maker, vote) == inst_predicate(last) && stays_if == votes_if;
}

/* True if the mask names only threads that have stayed at the branch. */
static bool names_who_stay(const ExitCheck *check, const Inst *inst, const Block *branch)
{
    Makers makers = find_makers(check->c, inst);
    for (size_t i = 0; i < makers.count; i++)
        if (made_after(check, makers.data[i], branch) || asks_who_stays(check, makers.data[i], branch))
            return true;
    return false;
}

/* True if all threads that go from the branch to its successor 'to', and no others, come to 'next', once each. */
static bool all_come(const Facts *facts, const Block *branch, const Block *to, const Block *next)
{
    return to->pred_count == 1 && branch != next && dominance_has(facts->dominance, to, next) &&
           dominance_has(facts->postdominance, next, to) &&
           loop_of(facts->loops, branch) == loop_of(facts->loops, next);
}

/* Finds the vote at an earlier branch, of the instruction's exclusions from 'first' on, that says who comes to this
 * one, or SIZE_MAX if all do; false if neither. */
static bool find_voters(const ExitCheck *check, size_t first, const Block *branch, size_t *after)
{
    Coarsening *c = check->c;
    *after = SIZE_MAX;
    if (coarsening_everyone_passes(&c->facts, branch))
        return true;
    for (*after = first; *after < c->exits.exclusions.count; ++*after) {
        const Exclusion *earlier = &c->exits.exclusions.data[*after];
        const Inst *last = earlier->branch->last;
        if (all_come(&c->facts, earlier->branch, earlier->taken ? last->targets[0] : earlier->branch->fall, branch))
            return true;
    }
    return false;
}

/* True if a vote can be cast at the end of the branch's block, and used in the mask. */
static bool can_vote(const Inst *inst, const Block *branch)
{
    const Operand *mask = &inst->operands[inst->operand_count - 1];
    return block_two_way_branch(branch) && (mask->kind == OPERAND_REG || mask->constant);
}

static bool refuse_branch(Coarsening *c, const Inst *inst, const Inst *branch)
{
    if (!branch || !branch->span.end)
        return coarsening_refuse(c, inst, REFUSAL_LEFT_SOMEWHERE);
    return coarsening_refuse_with(c, inst, REFUSAL_LEFT_AT_LINE,
                                  REFUSAL_WITH(refusal_number(coarsening_line(c, branch))));
}

/* Checks one instruction against the branches at which threads may leave; each may rest on votes at others. */
static bool check_branches(ExitCheck *check, Inst *inst, Block *const *branches, size_t count)
{
    Coarsening *c = check->c;
    const size_t first = c->exits.exclusions.count;
    bool *settled = ARENA_ARRAY(c->scratch, bool, count);
    for (bool again = true; again;) {
        again = false;
        for (size_t i = 0; i < count; i++) {
            size_t after;
            if (settled[i])
                continue;
            settled[i] = names_who_stay(check, inst, branches[i]);
            if (!settled[i] && can_vote(inst, branches[i]) && find_voters(check, first, branches[i], &after)) {
                bool taken = leads_there(check, branches[i]->last->targets[0]);
                VEC_PUSH(c->scratch, c->exits.exclusions, ((Exclusion){inst, branches[i], taken, after, REG_NONE}));
                settled[i] = true;
            }
            again |= settled[i];
        }
    }
    for (size_t i = 0; i < count; i++)
        if (!settled[i])
            return refuse_branch(c, inst, branches[i]->last);
    return true;
}

static bool check_block(Coarsening *c, const Region *region, const BitSet *members, Block *block)
{
    ExitCheck check = {.c = c, .region = region, .members = members, .place = block};
    VEC(Block *) branches = {0};
    bool known = false;
    for (Inst *inst = block->first; inst; inst = inst->next) {
        if (!coarsening_names_members(inst))
            continue;
        if (!known) {
            check.before = blocks_before(c, region, members, block);
            if (lets_leave(&check, region->head))
                VEC_PUSH(c->scratch, branches, region->head);
            for (size_t i = 0; i < region->blocks.count; i++)
                if (lets_leave(&check, region->blocks.data[i]))
                    VEC_PUSH(c->scratch, branches, region->blocks.data[i]);
            known = true;
        }
        if (!check_branches(&check, inst, branches.data, branches.count))
            return false;
    }
    return true;
}

bool coarsening_check_exits(Coarsening *c)
{
    for (size_t r = 0; r < c->facts.regions.count; r++) {
        const Region *region = &c->facts.regions.data[r];
        if (!coarsening_only_exits(c->body, region->join))
            continue; /* no thread leaves within it */
        BitSet members = bitset_new(c->scratch, c->facts.block_count);
        for (size_t i = 0; i < region->blocks.count; i++)
            bitset_add(&members, region->blocks.data[i]->id);
        for (size_t i = 0; i < region->blocks.count; i++)
            if (!check_block(c, region, &members, region->blocks.data[i]))
                return false;
    }
    return true;
}

/* The voters' lanes that take the branch at the end of the block, or those that do not. */
static RegId vote_before(Coarsening *c, Block *branch, bool taken, RegId voters)
{
    Body *body = c->body;
    Inst *last = branch->last;
    RegId lanes = body_add_reg(body, TYPE_B32, intern(body->module->names, "%stay"));
    RegId guard = inst_predicate(last);
    bool inverted = last->guard_inverted == taken;
    const char *spelling = "vote.sync.ballot.b32";
    Inst *vote = voters == REG_NONE
                     ? inst_build(body, spelling, inverted ? "d!i" : "dri", lanes, guard, (int64_t)UINT32_MAX)
                     : inst_build(body, spelling, inverted ? "d!r" : "drr", lanes, guard, voters);
    inst_insert_before(last, vote);
    return lanes;
}

void coarsening_narrow(Coarsening *c, Inst *inst, RegId lanes)
{
    Body *body = c->body;
    const Operand *mask = &inst->operands[inst->operand_count - 1];
    RegId members = lanes, named = operand_reg(inst, mask);
    if (named != REG_NONE || (uint32_t)mask->constant->bits != UINT32_MAX) {
        members = body_add_reg(body, TYPE_B32, intern(body->module->names, "%members"));
        inst_insert_before(inst, named != REG_NONE
                                     ? inst_build(body, "and.b32", "drr", members, lanes, named)
                                     : inst_build(body, "and.b32", "dri", members, lanes,
                                                  (int64_t)(uint32_t)mask->constant->bits));
    }
    inst_replace_operand(body, inst, inst->operand_count - 1u, members);
}

/* Casts the vote of an exclusion, after that which says who votes. Instructions share the vote at a branch. */
static void cast_vote(Coarsening *c, size_t index)
{
    Exclusion *exclusion = &c->exits.exclusions.data[index];
    RegId voters = REG_NONE;
    for (size_t j = 0; j < index; j++)
        if (c->exits.exclusions.data[j].branch == exclusion->branch &&
            c->exits.exclusions.data[j].taken == exclusion->taken)
            exclusion->lanes = c->exits.exclusions.data[j].lanes;
    if (exclusion->after != SIZE_MAX)
        voters = c->exits.exclusions.data[exclusion->after].lanes; /* which has been pushed before this one */
    if (exclusion->lanes == REG_NONE)
        exclusion->lanes = vote_before(c, exclusion->branch, exclusion->taken, voters);
}

bool coarsening_exclude_exits(Coarsening *c)
{
    for (size_t i = 0; i < c->exits.exclusions.count; i++) {
        cast_vote(c, i);
        coarsening_narrow(c, c->exits.exclusions.data[i].inst, c->exits.exclusions.data[i].lanes);
    }
    return c->exits.exclusions.count > 0;
}
