/* Loops that may wait for another thread.
 *
 * A loop that goes on until another thread has done something never ends if that thread is a replica of the waiting
 * one: the merged thread runs the copies of its replicas one after the other. Within a barrier interval a thread can
 * learn what another one has done only by observing memory that the other may write: through a volatile, atomic,
 * relaxed or acquire access, or through an mbarrier object. So a loop is refused if an observation inside it may
 * decide whether it goes on.
 *
 * An observed value is followed
 *   - through registers, guards, phis and the carry flag;
 *   - through control: a branch that depends on it reaches the phis that its paths lead to, and what its control
 *     dependents store;
 *   - through memory, by state space: once a reached value may have been stored (as the value, by its address, or by an
 *     instruction that it guards), every load of the outermost loop from that space may read it. This includes shared
 *     and global memory, because barriers inside the loop pass on what other threads have stored.
 *
 * Each outermost loop is solved on its own, since control never returns to it, and once for each nesting depth. At
 * depth d an observation is tagged with the loop of that depth around it; where tags of two loops meet, the tag becomes
 * TAG_MIXED, which stands for any loop. A tag changes at most twice, so one solution takes time linear in the size of
 * the loop, however many observations it has.
 *
 * Loops that cannot be waiting for one of the merged threads are let through (progress.c). So are loops that
 * count to an end (counts.c) where an observed value comes to the decision through memory that threads share,
 * as it seems wherever a bound is loaded in each round: without an access that observes it, no other thread may change
 * the bound, and whatever it is, the counter reaches it. A loop that ends on what it observes itself does wait, also
 * if it gives up after some rounds. So each loop is solved twice, first without memory that threads share.
 *
 * Requires SSA form, post-dominators and loops. Changes nothing. */
#include "opt/coarsen/internal.h"

/* TAG_FIRST + Loop.index: reached from an observation in that loop. */
enum { TAG_NONE, TAG_FIRST };
#define TAG_MIXED UINT32_MAX

typedef struct Mark {
    uint32_t tag;
    const Inst *observation; /* one that reaches this place */
} Mark;

/* Memory that a value can pass through. A generic address may lead to any kind but MEMORY_PARAM. */
typedef enum MemoryKind { MEMORY_LOCAL, MEMORY_PARAM, MEMORY_SHARED, MEMORY_GLOBAL, MEMORY_KINDS } MemoryKind;
enum {
    MEMORY_ALL = (1 << MEMORY_KINDS) - 1,
    MEMORY_GENERIC = MEMORY_ALL & ~(1 << MEMORY_PARAM),
    MEMORY_OWN = 1 << MEMORY_LOCAL | 1 << MEMORY_PARAM, /* each thread has it to itself */
};

typedef enum Verdict { VERDICT_NONE, VERDICT_NEEDS_NOBODY, VERDICT_COUNTS, VERDICT_WAITS } Verdict;

typedef struct Waiting {
    Coarsening *c;
    const Values *values;
    const BlockLists *dependents; /* control dependents */
    const Loop *outermost;        /* the loop being solved */
    unsigned depth;               /* of the loops whose observations are told apart */
    unsigned followed;            /* the kinds of memory that values are followed through */

    Mark *regs;   /* by RegId */
    Mark *blocks; /* by Block.id: the block's branch depends on a reached value */
    Mark memory[MEMORY_KINDS];
    VEC(RegId) pending_regs; /* whose mark has changed */
    VEC(const Block *) pending_blocks;
    uint8_t *verdicts; /* Verdict by Loop.index */
    VEC(RegId) marked; /* registers to be cleared before the next solution */
    const Inst *decides;     /* the branch that ends a waiting loop; NULL: none found */
    const Inst *observation; /* that it depends on */
} Waiting;

static unsigned memory_kinds(const Inst *inst)
{
    Access access;
    if (inst_is_call(inst) || inst_is_opaque(inst))
        return MEMORY_ALL;
    if (!inst_access(inst, &access) || access.read_only)
        return 0;
    if (access.kind == ACCESS_OTHER)
        return MEMORY_ALL;
    switch (access.space) {
    case SPACE_LOCAL: return 1 << MEMORY_LOCAL;
    case SPACE_PARAM: return 1 << MEMORY_PARAM;
    case SPACE_SHARED: return 1 << MEMORY_SHARED;
    case SPACE_GLOBAL: return 1 << MEMORY_GLOBAL;
    case SPACE_NONE: return MEMORY_GENERIC;
    default: return MEMORY_ALL;
    }
}

static unsigned kinds_written(const Inst *inst)
{
    bool writes = inst->effects & EFFECT_WRITE || inst_is_call(inst) || inst_is_opaque(inst);
    return writes ? memory_kinds(inst) : 0;
}

static unsigned kinds_read(const Inst *inst)
{
    bool reads = inst->effects & EFFECT_READ || inst_is_call(inst) || inst_is_opaque(inst);
    return reads ? memory_kinds(inst) : 0;
}

/* True if the instruction tells of a thread that may be waited for. Blocks that change places are the same blocks as
 * before, so what a thread learns of its own through their shared memory, where all mbarrier objects are, does not
 * count. */
static bool observes(const Waiting *w, const Inst *inst)
{
    Access access;
    if (!coarsening_observes(w->values, inst))
        return false;
    const bool is_shared = inst->sync == SYNC_MBARRIER || (inst_access(inst, &access) && access.space == SPACE_SHARED);
    return !w->c->step.renumbers || !is_shared;
}

/* True if the mark has changed. */
static bool mark_join(Mark *mark, Mark with)
{
    if (mark->tag == with.tag || mark->tag == TAG_MIXED)
        return false;
    *mark = (Mark){mark->tag == TAG_NONE ? with.tag : TAG_MIXED, with.observation};
    return true;
}

static void reach_reg(Waiting *w, RegId reg, Mark mark)
{
    if (w->regs[reg].tag == TAG_NONE)
        VEC_PUSH(w->c->scratch, w->marked, reg);
    if (mark_join(&w->regs[reg], mark))
        VEC_PUSH(w->c->scratch, w->pending_regs, reg);
}

static void reach_results(Waiting *w, const Inst *inst, Mark mark)
{
    for (unsigned r = 0; r < inst->ref_count; r++)
        if (ref_writes(&inst->refs[r]))
            reach_reg(w, inst->refs[r].reg, mark);
}

static void reach_phis(Waiting *w, const Block *block, Mark mark)
{
    for (size_t p = 0; p < block->phis.count; p++)
        reach_reg(w, block->phis.data[p].dst, mark);
}

/* The instruction may read what a reached value left in these kinds of memory, and may copy it to others. Gives the
 * kinds whose mark has changed. */
static unsigned reach_reader(Waiting *w, const Inst *inst, unsigned kinds)
{
    unsigned read = kinds_read(inst) & kinds, written = read ? kinds_written(inst) : 0, changed = 0;
    for (unsigned from = 0; from < MEMORY_KINDS; from++) {
        if (!(read & 1u << from))
            continue;
        reach_results(w, inst, w->memory[from]);
        for (unsigned to = 0; to < MEMORY_KINDS; to++)
            if (written & w->followed & 1u << to && mark_join(&w->memory[to], w->memory[from]))
                changed |= 1u << to;
    }
    return changed;
}

/* A reached value may have been stored in these kinds of memory. */
static void reach_memory(Waiting *w, unsigned kinds, Mark mark)
{
    unsigned changed = 0;
    for (unsigned kind = 0; kind < MEMORY_KINDS; kind++)
        if (kinds & w->followed & 1u << kind && mark_join(&w->memory[kind], mark))
            changed |= 1u << kind;
    while (changed) {
        unsigned next = 0;
        for (uint32_t b = 0; b < w->outermost->block_count; b++)
            for (const Inst *inst = w->outermost->blocks[b]->first; inst; inst = inst->next)
                next |= reach_reader(w, inst, changed);
        changed = next;
    }
}

/* The instructions that read the carry flag as this one leaves it. coarsening_check_instructions has made sure that no
 * chain leaves its block. */
static void reach_carry(Waiting *w, const Inst *inst, Mark mark)
{
    if (!(inst->effects & EFFECT_CC_WRITE))
        return;
    for (const Inst *next = inst->next; next; next = next->next) {
        if (next->effects & EFFECT_CC_READ)
            reach_results(w, next, mark);
        else if (next->effects & EFFECT_CC_WRITE && !inst_is_guarded(next))
            return;
    }
}

static const Loop *loop_at_depth(const Waiting *w, const Block *block)
{
    const Loop *loop = loop_of(w->c->facts.loops, block);
    while (loop && loop->depth > w->depth)
        loop = loop->parent;
    return loop && loop->depth == w->depth ? loop : NULL;
}

static bool leaves_loop(const Waiting *w, const Loop *loop, const Block *block)
{
    FOR_EACH_SUCC(block, succ)
        if (!loop_contains(w->c->facts.loops, loop, succ))
            return true;
    return false;
}

/* True if the loop, whose end depends on an observation, may wait for a merged thread. */
static bool may_wait(Waiting *w, const Loop *loop)
{
    uint8_t *verdict = &w->verdicts[loop->index];
    if (*verdict == VERDICT_NONE)
        *verdict = coarsening_needs_nobody(w->c, loop)      ? VERDICT_NEEDS_NOBODY
                   : coarsening_counts_to_end(w->c, loop) ? VERDICT_COUNTS
                                                          : VERDICT_WAITS;
    return *verdict == VERDICT_WAITS || (*verdict == VERDICT_COUNTS && w->followed == MEMORY_OWN);
}

/* The loop may wait for another block, though for none of the merged threads. */
static void note_wait(Waiting *w, const Loop *loop, const Inst *observation)
{
    Access access;
    bool is_shared = inst_access(observation, &access) && access.space == SPACE_SHARED;
    Legality *legality = w->c->record.legality;
    if (is_shared || legality->waits || coarsening_is_lock_free(w->c, loop))
        return;
    legality->waits = true;
    legality->waiting = observation->span;
}

static void reach_branch(Waiting *w, const Block *block, Mark mark)
{
    const Loop *loop = loop_at_depth(w, block);
    bool is_own = loop && (mark.tag == TAG_MIXED || mark.tag == TAG_FIRST + loop->index);
    bool ends_loop = is_own && block_chooses(block) && leaves_loop(w, loop, block);
    if (ends_loop)
        note_wait(w, loop, mark.observation);
    if (ends_loop && may_wait(w, loop)) {
        w->decides = block->last;
        w->observation = mark.observation;
    } else if (mark_join(&w->blocks[block->id], mark)) {
        VEC_PUSH(w->c->scratch, w->pending_blocks, block);
    }
}

/* Marks what the block's branch decides: the phis where its paths meet, and what is executed. */
static void reach_from_block(Waiting *w, const Block *block)
{
    Mark mark = w->blocks[block->id];
    FOR_EACH_SUCC(block, succ)
        if (succ->pred_count > 1)
            reach_phis(w, succ, mark);
    for (uint32_t d = 0; d < block_list_count(w->dependents, block) && !w->decides; d++) {
        const Block *dependent = block_list(w->dependents, block)[d];
        if (!loop_contains(w->c->facts.loops, w->outermost, dependent))
            continue;
        reach_branch(w, dependent, mark);
        reach_phis(w, dependent, mark);
        for (const Inst *inst = dependent->first; inst; inst = inst->next)
            reach_memory(w, kinds_written(inst), mark);
    }
}

static void reach_from_reg(Waiting *w, RegId reg)
{
    Mark mark = w->regs[reg];
    for (uint32_t u = 0; u < value_use_count(w->values, reg) && !w->decides; u++) {
        const ValueUse *use = &value_uses(w->values, reg)[u];
        if (!loop_contains(w->c->facts.loops, w->outermost, use->block))
            continue;
        if (!use->inst) {
            reach_reg(w, use->block->phis.data[use->index].dst, mark);
            continue;
        }
        if (inst_is_terminator(use->inst))
            reach_branch(w, use->block, mark);
        reach_results(w, use->inst, mark);
        reach_memory(w, kinds_written(use->inst), mark);
        reach_carry(w, use->inst, mark);
    }
}

static void clear(Waiting *w)
{
    for (size_t i = 0; i < w->marked.count; i++)
        w->regs[w->marked.data[i]] = (Mark){0};
    for (uint32_t b = 0; b < w->outermost->block_count; b++)
        w->blocks[w->outermost->blocks[b]->id] = (Mark){0};
    for (unsigned kind = 0; kind < MEMORY_KINDS; kind++)
        w->memory[kind] = (Mark){0};
    w->marked.count = w->pending_regs.count = w->pending_blocks.count = 0;
}

/* Follows the observations in all loops of depth w->depth, through these kinds of memory; false if there are none. */
static bool solve(Waiting *w, unsigned followed)
{
    clear(w);
    w->followed = followed;
    bool found = false;
    for (uint32_t b = 0; b < w->outermost->block_count; b++) {
        const Block *block = w->outermost->blocks[b];
        const Loop *loop = loop_at_depth(w, block);
        for (const Inst *inst = loop ? block->first : NULL; inst; inst = inst->next) {
            if (!observes(w, inst))
                continue;
            found = true;
            reach_results(w, inst, (Mark){TAG_FIRST + loop->index, inst});
        }
    }
    while (!w->decides && (w->pending_regs.count || w->pending_blocks.count)) {
        if (w->pending_regs.count)
            reach_from_reg(w, VEC_POP(w->pending_regs));
        else
            reach_from_block(w, VEC_POP(w->pending_blocks));
    }
    return found;
}

/* The first observation on a cycle that is not a natural loop, where nothing is followed. */
static const Inst *irreducible_observation(const Waiting *w)
{
    const Body *body = w->c->body;
    for (size_t b = 0; w->c->facts.loops->has_irreducible && b < body->blocks.count; b++)
        if (bitset_has(&w->c->facts.loops->irreducible, body->blocks.data[b]->id))
            for (const Inst *inst = body->blocks.data[b]->first; inst; inst = inst->next)
                if (observes(w, inst))
                    return inst;
    return NULL;
}

static bool observes_anything(const Waiting *w)
{
    const Body *body = w->c->body;
    for (size_t b = 0; b < body->blocks.count; b++)
        for (const Inst *inst = body->blocks.data[b]->first; inst; inst = inst->next)
            if (observes(w, inst))
                return true;
    return false;
}

bool coarsening_check_waiting(Coarsening *c)
{
    Waiting w = {.c = c, .values = analyses_values(c->facts.analyses)};
    if (!observes_anything(&w)) /* what follows takes quadratic memory in deep nests */
        return true;
    const Inst *irreducible = irreducible_observation(&w);
    if (irreducible)
        return coarsening_refuse(c, irreducible, REFUSAL_SEVERAL_ENTRIES);
    w.dependents = control_dependents(c->scratch, c->facts.postdominance);
    w.regs = ARENA_ARRAY(c->scratch, Mark, c->body->regs.count);
    w.blocks = ARENA_ARRAY(c->scratch, Mark, c->body->blocks.count);
    w.verdicts = ARENA_ARRAY(c->scratch, uint8_t, c->facts.loops->loop_count);
    for (uint32_t i = 0; i < c->facts.loops->loop_count && !w.decides; i = c->facts.loops->loops[i].end) {
        w.outermost = &c->facts.loops->loops[i];
        for (w.depth = 1; !w.decides && solve(&w, MEMORY_OWN) && !w.decides; w.depth++)
            solve(&w, MEMORY_ALL);
    }
    if (!w.decides)
        return true;
    return coarsening_refuse_with(c, w.observation, REFUSAL_WAITS,
                                  REFUSAL_WITH(refusal_number(coarsening_line(c, w.decides))));
}
