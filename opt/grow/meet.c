/* Barriers of blocks that grow: all original blocks must come to each barrier equally often, and in the same order.
 *
 * The threads of one original block do, by CUDA's rule (opt/coarsen/barriers.c), except those that have exited. So a
 * thread is to be compared with the same thread of the other blocks, as variance does. A branch that these may take
 * differently is harmless if
 *   - only one of its sides leads to a barrier: who takes another one comes to none any more, and exits;
 *   - or all of its sides that do lead to one block, without a barrier before that: there all are together again.
 * All other branches are taken alike, so by induction from one barrier to the next all threads that are still there
 * come to the same one. Values of threads that have left do not come back, so they are not compared.
 *
 * An aligned barrier is executed by all threads of a warp that have not exited. If threads may leave before one at a
 * branch that blocks take differently, a warp must not have threads of two blocks.
 *
 * Requires SSA form and post-dominators. Changes nothing but c.needs_whole_warps. */
#include "opt/grow/internal.h"

/* A side of a branch may have this many blocks before the next barrier. */
enum { MOST_BETWEEN = 400 };

typedef struct Meeting {
    Grow *g;
    const Body *body;
    BitSet barriers; /* by Block.id: has one */
    BitSet waiting;  /* by Block.id: leads to one, or has it */
    BitSet leaves;   /* by Block.id: one side only of its branch leads to one */
} Meeting;

static bool is_barrier(const Inst *inst)
{
    return inst->sync == SYNC_BLOCK_BARRIER;
}

static const Inst *first_barrier(const Block *block)
{
    for (const Inst *inst = block->first; inst; inst = inst->next)
        if (is_barrier(inst))
            return inst;
    return NULL;
}

static void find_waiting(Meeting *m)
{
    Arena *scratch = m->g->c.scratch;
    VEC(const Block *) pending = {0};
    for (size_t b = 0; b < m->body->blocks.count; b++)
        if (first_barrier(m->body->blocks.data[b])) {
            bitset_add(&m->barriers, b);
            bitset_add(&m->waiting, b);
            VEC_PUSH(scratch, pending, m->body->blocks.data[b]);
        }
    while (pending.count) {
        const Block *block = VEC_POP(pending);
        for (unsigned p = 0; p < block->pred_count; p++)
            if (!bitset_has(&m->waiting, block->preds[p]->id)) {
                bitset_add(&m->waiting, block->preds[p]->id);
                VEC_PUSH(scratch, pending, block->preds[p]);
            }
    }
}

/* True if a thread that comes to the end of the block may go on to a barrier, or to none any more. */
static bool is_leave(const Meeting *m, const Block *block)
{
    bool stays = false, leaves = block_chooses(block) && block->last->target_count == 0; /* a guarded return */
    FOR_EACH_SUCC(block, succ) {
        const bool waits = bitset_has(&m->waiting, succ->id);
        stays |= waits;
        leaves |= !waits;
    }
    return stays && leaves;
}

typedef VEC(const Block *) BlockPointers;

/* The blocks that the sides of the branch lead to, up to and including the first barriers and 'meeting' (NULL: there is
 * none). */
static BlockPointers blocks_between(const Meeting *m, const Block *branch, const Block *meeting)
{
    Arena *scratch = m->g->c.scratch;
    BitSet seen = bitset_new(scratch, m->body->blocks.count);
    BlockPointers found = {0};
    const Block *from = branch;
    for (size_t next = 0;; from = found.data[next++]) {
        const bool ends = from != branch && (from == meeting || bitset_has(&m->barriers, from->id));
        FOR_EACH_SUCC(from, succ)
            if (!ends && bitset_has(&m->waiting, succ->id) && !bitset_has(&seen, succ->id)) {
                bitset_add(&seen, succ->id);
                VEC_PUSH(scratch, found, succ);
            }
        if (next == found.count)
            return found;
    }
}

/* True if the sides of the branch that lead to a barrier, if any, meet before it. */
static bool sides_meet(const Meeting *m, const Block *branch)
{
    const BlockPointers between = blocks_between(m, branch, NULL);
    if (!between.count || between.count > MOST_BETWEEN)
        return !between.count;
    for (size_t i = between.count; i-- > 0;) {
        const Block *meeting = between.data[i];
        const BlockPointers before = blocks_between(m, branch, meeting);
        bool meets = true;
        for (size_t k = 0; k < before.count && meets; k++)
            meets = before.data[k] == meeting || !bitset_has(&m->barriers, before.data[k]->id);
        if (meets)
            return true;
    }
    return false;
}

/* The barrier that the block leads to, for the message. */
static const Inst *barrier_after(const Meeting *m, const Block *branch)
{
    const BlockPointers between = blocks_between(m, branch, NULL);
    for (size_t i = 0; i < between.count; i++)
        if (bitset_has(&m->barriers, between.data[i]->id))
            return first_barrier(between.data[i]);
    return NULL;
}

static const Variance *compare_blocks(const Meeting *m, unsigned axis, bool counts_leaves)
{
    VarianceOptions options = {.blocks = true, .lane_uniform = m->g->c.needs_whole_warps};
    if (!counts_leaves)
        options.uniform_branches = &m->leaves;
    return analyses_variance(m->g->c.facts.analyses, axis, &options);
}

static bool check_barrier(Meeting *m, const Variance *variance, const Inst *inst)
{
    uint64_t number;
    Coarsening *c = &m->g->c;
    if (!operand_is_integer(&inst->operands[0], &number))
        return coarsening_refuse(c, inst, REFUSAL_GROWN_BARRIER);
    const RegId predicate = inst_predicate(inst);
    return predicate == REG_NONE || !variance_reg(variance, predicate) ||
           coarsening_refuse(c, inst, REFUSAL_GROWN_GUARD);
}

static bool check_axis(Meeting *m, unsigned axis)
{
    Coarsening *c = &m->g->c;
    const Variance *variance = compare_blocks(m, axis, false);
    for (size_t b = 0; b < m->body->blocks.count; b++) {
        const Block *block = m->body->blocks.data[b];
        for (const Inst *inst = block->first; inst; inst = inst->next)
            if (is_barrier(inst) && !check_barrier(m, variance, inst))
                return false;
        if (!bitset_has(&m->waiting, b) || bitset_has(&m->leaves, b) || !variance_branch(variance, block) ||
            sides_meet(m, block))
            continue;
        return coarsening_refuse_with(c, barrier_after(m, block), REFUSAL_GROWN_MEET,
                                      REFUSAL_WITH(refusal_number(coarsening_line(c, block->last))));
    }
    return true;
}

/* True if the original blocks may differ in who leaves. */
static bool leaves_differ(const Meeting *m, unsigned axis)
{
    const Variance *variance = compare_blocks(m, axis, true);
    for (size_t b = 0; b < m->body->blocks.count; b++)
        if (bitset_has(&m->leaves, b) && (variance_branch(variance, m->body->blocks.data[b]) ||
                                          variance_block(variance, m->body->blocks.data[b])))
            return true;
    return false;
}

bool grow_check_barriers(Grow *g)
{
    const size_t count = g->c.body->blocks.count;
    Arena *scratch = g->c.scratch;
    Meeting m = {.g = g,
                 .body = g->c.body,
                 .barriers = bitset_new(scratch, count),
                 .waiting = bitset_new(scratch, count),
                 .leaves = bitset_new(scratch, count)};
    find_waiting(&m);
    for (size_t b = 0; b < count; b++)
        if (is_leave(&m, m.body->blocks.data[b]))
            bitset_add(&m.leaves, b);
    for (unsigned d = 0; d < 3; d++) {
        if (g->axes[d].by == 1)
            continue;
        g->c.needs_whole_warps |= leaves_differ(&m, d);
        if (!check_axis(&m, d))
            return false;
    }
    return true;
}
