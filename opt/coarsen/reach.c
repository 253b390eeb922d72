/* Versions of a part of a kernel for where its barriers are reached and where they are not.
 *
 *     if (i < n) {              // differs between threads
 *         if (flag) barrier;    // does not
 *         ...
 *     }
 *
 * CUDA lets the first condition differ where no thread comes to the barrier, and only there. So it is decided first
 * whether a barrier is reached, by conditions that are the same for all threads of the block and do not change within
 * the part:
 *
 *     if (flag) part, where the first branch is taken alike by all threads
 *     else part without barriers, where they may differ
 *
 * Compilers make such code of loops with barriers: of an unrolled one, which has two loops of which either can be
 * skipped, and of nested ones, where the inner one can be skipped. The part is what lies between the branch and the
 * place where its sides meet, or the whole loop if the branch leaves one. For every outcome of the conditions that
 * decide (a few), it is found out whether barriers are reached, and whether CUDA's rule (barriers.c) then holds
 * for each branch of the part.
 *
 * Requires and keeps SSA form; changes blocks and edges. To be run once for each body, before its first dimension. */
#include "opt/coarsen/internal.h"
#include "opt/common/versions.h"

enum { MOST_CONDITIONS = 5, MOST_PARTS = 4, MOST_CHAIN = 24 };

typedef struct Part {
    Coarsening *c;
    const Variance *variance; /* between the threads of a block */
    Block *branch;            /* the one that is not shown to be taken alike */
    Block *meeting;
    Block *place; /* where it is decided: the block of the branch, or the preheader of a loop that it leaves */
    const Loop *loop;         /* the latter; or NULL */
    VEC(Block *) blocks;
    BitSet members;           /* the same, by Block.id */
    RegId conditions[MOST_CONDITIONS]; /* that decide */
    unsigned count;
    unsigned reaching, all;   /* sets of outcomes: those with which a barrier is reached, and all */
    unsigned *at;             /* by Block.id: those with which the block is reached */
    VEC(Inst *) agreed;       /* branches that are taken alike with these */
} Part;

/* The condition that the block's branch tests, if it is one of those that decide; else -1. */
static int find_condition(const Part *part, const Block *block)
{
    if (!block_two_way_branch(block) || (block != part->branch && !bitset_has(&part->members, block->id)))
        return -1;
    for (unsigned i = 0; i < part->count; i++)
        if (part->conditions[i] == inst_predicate(block->last))
            return (int)i;
    return -1;
}

/* True if the branch can go there when the conditions have this outcome. */
static bool goes_to(const Part *part, unsigned outcome, const Block *block, const Block *to)
{
    int index = find_condition(part, block);
    if (index < 0)
        return true;
    bool taken = (outcome >> index & 1) != block->last->guard_inverted;
    return to == (taken ? block->last->targets[0] : block->fall);
}

/* The findings of a walk from a block. From a side of a branch, it stops at barriers of the whole block; without a
 * branch (NULL), it goes on to the end. */
typedef struct Walk {
    BitSet seen;        /* by Block.id */
    bool meets_barrier; /* of any kind */
    bool gets_through;  /* to the end or to the branch again, past no barrier of the whole block */
} Walk;

static Walk walk_from(const Part *part, unsigned outcome, Block *from, const Block *end, const Block *branch)
{
    Arena *scratch = part->c->scratch;
    Walk walk = {.seen = bitset_new(scratch, part->c->body->blocks.count)};
    VEC(Block *) pending = {0};
    VEC_PUSH(scratch, pending, from);
    while (pending.count) {
        Block *block = VEC_POP(pending);
        if (block == end || bitset_has(&walk.seen, block->id)) {
            walk.gets_through |= block == end;
            continue;
        }
        bitset_add(&walk.seen, block->id);
        walk.meets_barrier |= coarsening_has_barrier(block);
        if (branch && coarsening_has_block_barrier(block))
            continue;
        if (block == branch) {
            walk.gets_through = true;
            continue;
        }
        FOR_EACH_SUCC(block, succ)
            if (goes_to(part, outcome, block, succ))
                VEC_PUSH(scratch, pending, succ);
    }
    return walk;
}

/* The rule's verdict on a branch when the conditions have this outcome. */
typedef enum Says { SAYS_NOTHING, SAYS_ALIKE, SAYS_NO_BARRIER } Says;

static Says rule_for(const Part *part, unsigned outcome, const Block *branch)
{
    const Block *end = dominance_parent(part->c->facts.postdominance, branch);
    Block *sides[2] = {branch->fall, branch->last->targets[0]};
    Walk walks[2];
    if (!end)
        return SAYS_NOTHING;
    for (unsigned s = 0; s < 2; s++)
        walks[s] = walk_from(part, outcome, sides[s], end, branch);
    for (unsigned s = 0; s < 2; s++)
        if (!walks[s].gets_through && !walks[1 - s].meets_barrier)
            return SAYS_ALIKE;
    return walks[0].meets_barrier || walks[1].meets_barrier ? SAYS_NOTHING : SAYS_NO_BARRIER;
}

/* True if the value is the same for all threads of the block, and can be computed where the part begins. */
static bool is_early(const Part *part, RegId reg, unsigned *budget)
{
    const Values *values = analyses_values(part->c->facts.analyses);
    const ValueDef *def = &values->defs[reg];
    if (!*budget || !def->block)
        return false;
    --*budget;
    if (!bitset_has(&part->members, def->block->id))
        return !variance_reg(part->variance, reg) && dominance_has(part->c->facts.dominance, def->block, part->place);
    const Inst *inst = def->inst;
    if (!inst || !inst_is_plain(inst) || inst->sync != SYNC_NONE)
        return false;
    const Sreg *sreg = inst_sreg(inst);
    Access access;
    bool is_parameter = inst_access(inst, &access) && access.read_only && access.space == SPACE_PARAM &&
                        access.kind == ACCESS_LOAD;
    if (sreg ? sreg->dependence == SREG_THREAD || sreg->dependence == SREG_VOLATILE
             : !is_parameter && inst->effects != EFFECT_PURE)
        return false;
    for (unsigned r = 0; r < inst->ref_count; r++)
        if (ref_reads(&inst->refs[r]) && !is_early(part, inst->refs[r].reg, budget))
            return false;
    return true;
}

/* Computes it there, before the end of the block. */
static RegId make_early(Part *part, PointerMap *made, RegId reg)
{
    Coarsening *c = part->c;
    const Values *values = analyses_values(c->facts.analyses);
    const ValueDef *def = &values->defs[reg];
    if (!bitset_has(&part->members, def->block->id))
        return reg;
    Inst *copy = pointer_map_get(made, def->inst);
    const Inst *inst = def->inst;
    if (!copy) {
        copy = inst_clone(c->body, inst);
        for (unsigned r = 0; r < copy->ref_count; r++)
            if (copy->refs[r].reg != REG_NONE)
                copy->refs[r].reg = ref_writes(&copy->refs[r]) ? body_clone_reg(c->body, copy->refs[r].reg)
                                                               : make_early(part, made, copy->refs[r].reg);
        if (part->place->last && inst_is_terminator(part->place->last))
            inst_insert_before(part->place->last, copy);
        else
            inst_append(part->place, copy);
        pointer_map_put(made, inst, copy);
    }
    for (unsigned r = 0; r < inst->ref_count; r++)
        if (ref_writes(&inst->refs[r]) && inst->refs[r].reg == reg)
            return copy->refs[r].reg;
    bug("a value is not written by the instruction that makes it");
}

/* The blocks between the place and the meeting. False if there is another way in, or another way out. */
static bool collect_blocks(Part *part)
{
    Coarsening *c = part->c;
    const Block *first = part->loop ? part->loop->header : part->branch;
    part->members = bitset_new(c->scratch, c->body->blocks.count);
    VEC(Block *) pending = {0};
    if (part->loop)
        VEC_PUSH(c->scratch, pending, part->loop->header);
    else
        FOR_EACH_SUCC(part->branch, succ)
            VEC_PUSH(c->scratch, pending, succ);
    while (pending.count) {
        Block *block = VEC_POP(pending);
        if (block == part->meeting || bitset_has(&part->members, block->id))
            continue;
        if (block == part->place || !dominance_has(c->facts.dominance, first, block) ||
            !dominance_has(c->facts.postdominance, part->meeting, block))
            return false;
        bitset_add(&part->members, block->id);
        VEC_PUSH(c->scratch, part->blocks, block);
        FOR_EACH_SUCC(block, succ)
            VEC_PUSH(c->scratch, pending, succ);
    }
    return true;
}

static bool begin_part(Part *part)
{
    Coarsening *c = part->c;
    part->meeting = dominance_parent(c->facts.postdominance, part->branch);
    if (!part->meeting || coarsening_only_exits(c->body, part->meeting))
        return false;
    part->place = part->branch;
    for (const Loop *loop = loop_of(c->facts.loops, part->branch); loop; loop = loop->parent)
        if (!loop_contains(c->facts.loops, loop, part->meeting))
            part->loop = loop;
    if (part->loop)
        part->place = part->loop->preheader;
    return part->place && collect_blocks(part);
}

static bool has_condition(const Part *part, RegId reg)
{
    for (unsigned i = 0; i < part->count; i++)
        if (part->conditions[i] == reg)
            return true;
    return false;
}

static bool collect_conditions(Part *part)
{
    for (size_t i = 0; i < part->blocks.count; i++) {
        const Block *block = part->blocks.data[i];
        unsigned budget = MOST_CHAIN;
        if (!block_two_way_branch(block) || has_condition(part, inst_predicate(block->last)) ||
            !is_early(part, inst_predicate(block->last), &budget))
            continue;
        if (part->count == MOST_CONDITIONS)
            return false;
        part->conditions[part->count++] = inst_predicate(block->last);
    }
    return true;
}

/* The branch that the conditions do not decide, of the part or before it. */
static bool is_open(const Part *part, const Block *block)
{
    return block_two_way_branch(block) && find_condition(part, block) < 0 &&
           !bitset_has(&part->c->facts.block_branches, block->id);
}

/* True if the branch is taken alike with all outcomes with which a barrier is reached; *free: with none of them, a
 * barrier is reached from it. */
static bool settle(const Part *part, const Block *block, bool *free)
{
    bool alike = true;
    *free = true;
    for (unsigned outcome = 0; outcome < 1u << part->count; outcome++) {
        if (!(part->reaching >> outcome & 1))
            continue;
        Says says = rule_for(part, outcome, block);
        alike &= says == SAYS_ALIKE;
        *free &= says == SAYS_NO_BARRIER;
    }
    return alike;
}

static bool judge_branch(Part *part, Block *block)
{
    bool free;
    if (!is_open(part, block))
        return true;
    if (settle(part, block, &free))
        VEC_PUSH(part->c->scratch, part->agreed, block->last);
    else if (!free)
        return false;
    return true;
}

/* Takes down what is reached from the block with an outcome. */
static void reach_from(Part *part, unsigned outcome, Block *from)
{
    Walk walk = walk_from(part, outcome, from, part->meeting, NULL);
    part->reaching |= (unsigned)walk.meets_barrier << outcome;
    for (size_t b = bitset_next(&walk.seen, 0); b != SIZE_MAX; b = bitset_next(&walk.seen, b + 1))
        part->at[b] |= 1u << outcome;
}

/* Finds out with which outcomes barriers are reached, and whether all branches are then taken alike. */
static bool judge(Part *part)
{
    part->all = part->count == 5 ? UINT32_MAX : (1u << (1u << part->count)) - 1;
    part->at = ARENA_ARRAY(part->c->scratch, unsigned, part->c->body->blocks.count);
    for (unsigned outcome = 0; outcome < 1u << part->count; outcome++) {
        if (part->loop)
            reach_from(part, outcome, part->loop->header);
        else
            FOR_EACH_SUCC(part->branch, succ)
                reach_from(part, outcome, succ);
    }
    if (!part->reaching)
        return false;
    bool fits = part->loop || judge_branch(part, part->branch);
    for (size_t i = 0; i < part->blocks.count && fits; i++)
        fits = judge_branch(part, part->blocks.data[i]);
    return fits && part->agreed.count;
}

/* The value, 0 or 1, of the condition that the block's branch tests, if it is the same with all of these outcomes with
 * which the block is reached; else -1. *condition: which it is. */
static int common_value(const Part *part, unsigned outcomes, const Block *block, int *condition)
{
    bool values[2] = {false, false};
    *condition = find_condition(part, block);
    for (unsigned outcome = 0; outcome < 1u << part->count && *condition >= 0; outcome++)
        if ((outcomes & part->at[block->id]) >> outcome & 1)
            values[outcome >> *condition & 1] = true;
    return values[0] == values[1] ? -1 : values[1];
}

/* True if no edge leads to a barrier when the branches that are the same with all other outcomes are decided. */
static bool is_free_of_barriers(const Part *part)
{
    BitSet seen = bitset_new(part->c->scratch, part->c->body->blocks.count);
    VEC(Block *) pending = {0};
    if (part->loop)
        VEC_PUSH(part->c->scratch, pending, part->loop->header);
    else
        FOR_EACH_SUCC(part->branch, succ)
            VEC_PUSH(part->c->scratch, pending, succ);
    while (pending.count) {
        Block *block = VEC_POP(pending);
        if (block == part->meeting || bitset_has(&seen, block->id))
            continue;
        bitset_add(&seen, block->id);
        if (coarsening_has_barrier(block))
            return false;
        int index, value = common_value(part, part->all & ~part->reaching, block, &index);
        FOR_EACH_SUCC(block, succ)
            if (value < 0 || goes_to(part, (unsigned)value << index, block, succ))
                VEC_PUSH(part->c->scratch, pending, succ);
    }
    return true;
}

static RegId put(Part *part, const char *opcode, RegId a, RegId b)
{
    Body *body = part->c->body;
    RegId result = body_add_reg(body, TYPE_PRED, intern(body->module->names, "%reached"));
    Inst *inst = b == REG_NONE ? inst_build(body, opcode, "dr", result, a)
                               : inst_build(body, opcode, "drr", result, a, b);
    if (part->place->last && inst_is_terminator(part->place->last))
        inst_insert_before(part->place->last, inst);
    else
        inst_append(part->place, inst);
    return result;
}

/* The outcomes that begin with the values of the first 'known' conditions: whether barriers are reached with all of
 * them (1), with none (0), or with some (-1). */
static int common_reach(const Part *part, unsigned values, unsigned known)
{
    bool found[2] = {false, false};
    for (unsigned outcome = 0; outcome < 1u << part->count; outcome++)
        if ((outcome & ((1u << known) - 1)) == values)
            found[part->reaching >> outcome & 1] = true;
    return found[0] && found[1] ? -1 : found[1];
}

/* True if the next condition makes no difference. */
static bool is_idle(const Part *part, unsigned values, unsigned known)
{
    for (unsigned outcome = 0; outcome < 1u << part->count; outcome++)
        if ((outcome & ((1u << known) - 1)) == values &&
            (part->reaching >> outcome & 1) != (part->reaching >> (outcome ^ 1u << known) & 1))
            return false;
    return true;
}

/* A predicate that is true if barriers are reached, as far as that depends on the conditions after the known ones
 * (Shannon's expansion). */
static RegId make_reached(Part *part, const RegId *early, unsigned values, unsigned known)
{
    while (is_idle(part, values, known)) /* one of the rest does: the set is neither empty nor full */
        known++;
    RegId condition = early[known], other;
    unsigned yes = values | 1u << known, next = known + 1;
    int if_true = common_reach(part, yes, next), if_false = common_reach(part, values, next);
    if (if_true >= 0 && if_false >= 0)
        return if_true ? condition : put(part, "not.pred", condition, REG_NONE);
    if (if_true < 0 && if_false < 0) {
        RegId first = put(part, "and.pred", condition, make_reached(part, early, yes, next));
        other = put(part, "not.pred", condition, REG_NONE);
        return put(part, "or.pred", first, put(part, "and.pred", other, make_reached(part, early, values, next)));
    }
    other = make_reached(part, early, if_true < 0 ? yes : values, next);
    bool decided = if_true < 0 ? if_false : if_true, negated = decided == (if_true < 0);
    if (negated)
        condition = put(part, "not.pred", condition, REG_NONE);
    return put(part, decided ? "or.pred" : "and.pred", condition, other);
}

/* Takes the branches that these outcomes decide, in the part or its version. */
static void take_decided(const Part *part, const Versions *v, unsigned outcomes)
{
    for (size_t i = 0; i < part->blocks.count; i++) {
        int index, value = common_value(part, outcomes, part->blocks.data[i], &index);
        Block *block = v ? versions_block(v, part->blocks.data[i]) : part->blocks.data[i];
        if (value < 0)
            continue;
        Inst *last = block->last;
        bool taken = (value == 1) != last->guard_inverted;
        Block *to = taken ? last->targets[0] : block->fall;
        inst_remove(last);
        block->fall = to;
    }
}

/* Leads to the part or to its version from a branch that is not in it. */
static void lead_from_branch(Part *part, Versions *v, RegId reached)
{
    Body *body = part->c->body;
    Block *head = part->branch, *with = versions_add_block(v, head, false),
          *without = versions_add_block(v, head, false);
    Inst *last = head->last, *copy = inst_clone(body, last);
    Block *sides[2] = {head->fall, last->targets[0]};
    inst_remove(last);
    inst_append(with, last);
    with->fall = sides[0];
    copy->targets[0] = versions_block(v, sides[1]);
    inst_append(without, copy);
    without->fall = versions_block(v, sides[0]);
    for (unsigned s = 0; s < 2; s++) {
        Block *side = sides[s], *version = versions_block(v, side);
        block_replace_pred(side, head, with);
        if (version != side)
            block_replace_pred(version, head, without);
        for (size_t p = 0; p < side->phis.count && version == side; p++)
            for (size_t a = 0, count = side->phis.data[p].args.count; a < count; a++)
                if (side->phis.data[p].args.data[a].pred == with)
                    VEC_PUSH(body->arena, side->phis.data[p].args,
                             ((PhiArg){without, side->phis.data[p].args.data[a].reg}));
    }
    inst_append(head, inst_build_branch(body, without, reached, true));
    head->fall = with;
}

static void lead_from_preheader(Part *part, const Versions *v, RegId reached)
{
    Block *place = part->place, *header = part->loop->header;
    if (place->last && inst_is_terminator(place->last))
        inst_remove(place->last);
    inst_append(place, inst_build_branch(part->c->body, versions_block(v, header), reached, true));
    place->fall = header;
}

static void make_versions(Part *part)
{
    Coarsening *c = part->c;
    Body *body = c->body;
    RegId early[MOST_CONDITIONS];
    PointerMap made = {.arena = c->scratch};
    Versions v = versions_new(c->scratch, body, analyses_values(c->facts.analyses));
    versions_begin(&v, part->blocks.data, part->blocks.count);
    versions_copy(&v, part->blocks.data, part->blocks.count, part->place);
    for (unsigned i = 0; i < part->count; i++)
        early[i] = make_early(part, &made, part->conditions[i]);
    RegId reached = make_reached(part, early, 0, 0);
    take_decided(part, &v, part->all & ~part->reaching);
    take_decided(part, NULL, part->reaching);
    versions_join(&v, part->meeting);
    if (part->loop)
        lead_from_preheader(part, &v, reached);
    else
        lead_from_branch(part, &v, reached);
    versions_finish(&v);
}

/* True if threads that are merged, or those of a merged block, may take the branch differently. */
static bool may_differ(const Facts *facts, const LaunchContract *contract, const Block *block)
{
    VarianceOptions options = {
        .merge_loads = true, .unmerged = &facts->observations, .uniform_branches = &facts->block_branches};
    const Shape *shape = &contract->shape;
    bool differs = false;
    for (unsigned d = 0; d < 3; d++) {
        unsigned dimension = shape->blocks[d] > 1 ? VARIANCE_ANY : d;
        if (shape->blocks[d] > 1 || shape->threads[d] > 1)
            differs |= variance_branch(analyses_variance(facts->analyses, dimension, &options), block);
    }
    return differs;
}

static bool divide_at(Coarsening *c, Block *branch)
{
    Part part = {.c = c, .variance = coarsening_within_block(&c->facts), .branch = branch};
    if (!begin_part(&part) || !collect_conditions(&part) || !judge(&part) ||
        (part.reaching != part.all && !is_free_of_barriers(&part)))
        return false;
    if (part.reaching != part.all)
        make_versions(&part);
    for (size_t a = 0; a < part.agreed.count; a++)
        part.agreed.data[a]->block_agrees = true;
    body_remove_unreachable(c->body);
    return true;
}

/* Divides one part that needs it; false if there is none. */
static bool divide_one(Coarsening *c, const LaunchContract *contract)
{
    for (uint32_t i = 0; i < c->facts.dominance->order_count; i++) {
        Block *block = c->body->blocks.data[c->facts.dominance->order[i]];
        if (block_two_way_branch(block) && !bitset_has(&c->facts.block_branches, block->id) &&
            may_differ(&c->facts, contract, block) && divide_at(c, block))
            return true;
    }
    return false;
}

static bool has_barriers(const Body *body)
{
    for (size_t b = 0; b < body->blocks.count; b++)
        if (coarsening_has_block_barrier(body->blocks.data[b]))
            return true;
    return false;
}

void coarsening_divide(Body *body, const LaunchContract *contract)
{
    bool more = has_barriers(body);
    for (unsigned parts = 0; more && parts < MOST_PARTS; parts++) {
        Arena *scratch = arena_new();
        Coarsening c = {.body = body, .scratch = scratch, .facts.analyses = analyses_new(body)};
        c.facts.dominance = analyses_dominance(c.facts.analyses);
        c.facts.postdominance = analyses_postdominance(c.facts.analyses);
        c.facts.loops = analyses_loops(c.facts.analyses);
        coarsening_find_observations(&c);
        coarsening_find_uniform_branches(&c);
        more = divide_one(&c, contract);
        analyses_free(c.facts.analyses);
        arena_free(scratch);
    }
}
