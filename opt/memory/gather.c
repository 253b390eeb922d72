/* Whether all threads of a block go round a loop together, and which of them execute a load in it.
 *
 * Either nothing that differs between threads decides on it, or branches do, as in "if (row < n && col < n)". These are
 * the loop's *guards*. If their conditions can be computed where all threads of the block still are, the threads vote
 * there on whether all of them will pass, so that blocks at the edge of the data execute the original loop. */
#include "opt/memory/internal.h"

bool stage_refuse(Staging *s, const Inst *inst, RefusalReason reason)
{
    refusal_set(&s->report->refusal, s->body, inst, reason, NULL);
    return false;
}

Index stage_index(const Inst *inst)
{
    const unsigned axis = inst_index_axis(inst, SREG_ROLE_TID);
    return axis < 3 ? (Index)(INDEX_X + axis) : INDEX_COUNT;
}

/* Whether control comes from one block to the other without passing 'except'. */
static bool leads_to(const Staging *s, Block *from, const Block *to, const Block *except)
{
    BitSet seen = bitset_new(s->scratch, s->body->blocks.count);
    VEC(Block *) pending = {0};
    VEC_PUSH(s->scratch, pending, from);
    while (pending.count) {
        Block *block = VEC_POP(pending);
        if (block == except || bitset_has(&seen, block->id))
            continue;
        if (block == to)
            return true;
        bitset_add(&seen, block->id);
        FOR_EACH_SUCC(block, succ)
            VEC_PUSH(s->scratch, pending, succ);
    }
    return false;
}

/* The branch at the end of the block as a guard of the loop: threads that go to one side get to the loop, the others do
 * not. */
static bool guard_add(Staging *s, const Block *block)
{
    const Block *preheader = s->loop->preheader;
    const Inst *branch = block_two_way_branch(block);
    if (!branch || s->guard_count == GUARDS_MOST || !dominance_has(s->dominance, block, preheader) ||
        loop_of(s->loops, block) != loop_of(s->loops, s->guard_count ? s->guards[0].block : block) ||
        (loop_of(s->loops, block) && !loop_contains(s->loops, loop_of(s->loops, block), preheader)))
        return stage_refuse(s, block->last, REFUSAL_STAGE_APART);
    bool by_taken = leads_to(s, branch->targets[0], preheader, block);
    bool by_fall = leads_to(s, block->fall, preheader, block);
    if (by_taken == by_fall)
        return stage_refuse(s, branch, REFUSAL_STAGE_APART);
    s->guards[s->guard_count++] = (Guard){block, inst_predicate(branch), by_taken != branch->guard_inverted};
    return true;
}

/* The branch at which threads of a block part before they get to the block: the outermost, because conditions that are
 * computed where only some threads are seem to differ between threads. NULL: it is not before the block. */
static const Block *parting(const Staging *s, const Block *to, const BitSet *passed)
{
    const Dominance *postdominance = analyses_postdominance(s->analyses);
    const Block *first = NULL;
    for (const Block *block = dominance_parent(s->dominance, to); block; block = dominance_parent(s->dominance, block))
        if (variance_branch(s->variance, block) && !bitset_has(passed, block->id) &&
            !dominance_has(postdominance, to, block))
            first = block;
    return first;
}

static Block *first_guard(const Staging *s)
{
    const Block *first = s->guards[0].block;
    for (unsigned g = 1; g < s->guard_count; g++)
        if (dominance_has(s->dominance, s->guards[g].block, first))
            first = s->guards[g].block;
    return s->body->blocks.data[first->id];
}

static bool guards_are_early(Staging *s)
{
    const EarlyPlace place = {
        .scratch = s->scratch, .body = s->body, .at = s->vote, .values = s->values, .dominance = s->dominance};
    for (unsigned g = 0; g < s->guard_count; g++)
        if (!value_is_early(&place, s->guards[g].predicate))
            return stage_refuse(s, s->guards[g].block->last, REFUSAL_STAGE_GUARD_LATE);
    return true;
}

bool stage_find_guards(Staging *s)
{
    BitSet *passed = ARENA_NEW(s->scratch, BitSet);
    const Dominance *postdominance = analyses_postdominance(s->analyses);
    const Block *preheader = s->loop->preheader;
    *passed = bitset_new(s->scratch, s->body->blocks.count);
    const VarianceOptions options = {.uniform_branches = passed};
    const Variance *plain = variance_compute(s->scratch, s->body, postdominance, VARIANCE_ANY, &(VarianceOptions){0});
    s->variance = plain;
    while (variance_block(s->variance, preheader)) {
        const Block *block = parting(s, preheader, passed);
        if (!block)
            return stage_refuse(s, preheader->last, REFUSAL_STAGE_APART);
        if (!guard_add(s, block))
            return false;
        bitset_add(passed, block->id);
        s->variance = variance_compute(s->scratch, s->body, postdominance, VARIANCE_ANY, &options);
    }
    if (!s->guard_count)
        return true;
    s->vote = first_guard(s);
    if (variance_block(plain, s->vote))
        return stage_refuse(s, s->vote->last, REFUSAL_STAGE_APART);
    return guards_are_early(s);
}

/* Loads that a condition guards in each round, as those of a convolution with zeros around the image. If the condition
 * is the same in all rounds, and computed from the thread's place alone, another thread can tell whether the one that
 * reads an element does read it. Parts of the condition that depend on no other indices than the address does are
 * evaluated by the thread that loads the element, for the one that reads it. The others are about threads that all read
 * the same elements: these vote before the first tile on whether any of them passes all. */
static bool add_part(Guard *parts, unsigned *count, Guard part)
{
    for (unsigned i = 0; i < *count; i++)
        if (parts[i].predicate == part.predicate && parts[i].passes_if == part.passes_if)
            return true;
    if (*count == GUARDS_MOST)
        return false;
    parts[(*count)++] = part;
    return true;
}

/* Adds a part of the condition to those that it is of; false if it cannot be evaluated before the loop. */
static bool sort_part(const Staging *s, uint8_t indices, Guard part, Sometimes *when)
{
    const Pattern *pattern = &s->patterns[part.predicate];
    if (!pattern->is_resolved || pattern->depends & 1 << INDEX_ROUND)
        return false;
    if (!(pattern->depends & ~indices))
        return add_part(when->own, &when->own_count, part);
    return !(pattern->depends & indices) && add_part(when->others, &when->other_count, part);
}

/* Takes a condition apart. */
static bool sort_parts(const Staging *s, uint8_t indices, Guard whole, Sometimes *when)
{
    Guard pending[GUARDS_MOST] = {whole};
    unsigned left = 1;
    while (left) {
        const Guard part = pending[--left];
        const Inst *inst = value_inst(s->values, part.predicate);
        Computation c;
        bool splits = inst && computation_of(s->body, inst, &c) && c.bits == 1 &&
                      (c.op == COMPUTE_NOT || c.op == (part.passes_if ? COMPUTE_AND : COMPUTE_OR)) &&
                      left + c.source_count <= GUARDS_MOST;
        for (unsigned i = 0; splits && i < c.source_count; i++)
            splits = c.sources[i].reg != REG_NONE;
        for (unsigned i = 0; splits && i < c.source_count; i++)
            pending[left++] = (Guard){part.block, c.sources[i].reg,
                                      (part.passes_if != (c.op == COMPUTE_NOT)) != c.sources[i].is_inverted};
        if (!splits && !sort_part(s, indices, part, when))
            return false;
    }
    return true;
}

/* Whether all rounds that come to 'from' come to the block. The loop is left at its latch alone, which not all of those
 * rounds pass the block on their way to. */
static bool leads_always(const Dominance *postdominance, const Block *from, const Block *block)
{
    return from == block || dominance_has(postdominance, block, from);
}

const Sometimes *sometimes_find(const Staging *s, const Inst *load, uint8_t depends)
{
    const Dominance *postdominance = analyses_postdominance(s->analyses);
    Sometimes *when = ARENA_NEW(s->scratch, Sometimes);
    const Block *block = load->block;
    while (!dominance_has(s->dominance, block, s->latch)) {
        const Block *parent = dominance_parent(s->dominance, block);
        const Inst *branch = parent ? block_two_way_branch(parent) : NULL;
        if (!parent || !loop_contains(s->loops, s->loop, parent))
            return NULL;
        if (!leads_always(postdominance, parent, block)) {
            const bool by_taken = branch && leads_always(postdominance, branch->targets[0], block);
            const bool by_fall = branch && leads_always(postdominance, parent->fall, block);
            const uint8_t indices = depends & (uint8_t)~(1 << INDEX_ROUND);
            if (by_taken == by_fall ||
                !sort_parts(s, indices, (Guard){parent, inst_predicate(branch), by_taken != branch->guard_inverted},
                            when))
                return NULL;
        }
        block = parent;
    }
    return when;
}
