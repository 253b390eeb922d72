/* Accesses that keep an update from waiting in a private counter until its block ends.
 *
 * In the original, an update is in memory before whatever the thread does next. So it matters to accesses that come
 * later and may touch the same address; and to accesses of other threads only where something orders them after the
 * update: a barrier of the block, after which they follow it on a path of the code as well. Everything else that might
 * order them, such as fences and strong reads, is refused for the kernel as a whole (counters.c); without it, a plain
 * access to the same address would be a data race.
 *
 * Updates that commute never matter to one another. Before plain accesses that the thread itself executes later, it
 * first adds up the counters that the access touches: no other thread has anything in these, unless a barrier has
 * ordered that. */
#include "opt/common/blocks_after.h"
#include "opt/counters/counting.h"

void counting_refuse(Counting *c, Counted *update, const Inst *inst, RefusalReason reason)
{
    CountedUpdate *report = &c->result->updates.data[update->report];
    if (!is_refusal(&report->refusal))
        refusal_set(&report->refusal, c->body, inst, reason, NULL);
}

/* The blocks that control may reach from the end of the block; found once, because every pair of accesses asks. */
static const BitSet *after_block(const Counting *c, Block *from)
{
    BitSet *after = &c->after[from->id];
    if (!after->words)
        *after = blocks_after(c->scratch, c->body, &from, 1);
    return after;
}

static bool is_later(const Inst *first, const Inst *second)
{
    for (const Inst *inst = first->next; inst; inst = inst->next)
        if (inst == second)
            return true;
    return false;
}

/* Whether control may come from one instruction to the other; 'after' is of the first one's block. */
static bool follows(const BitSet *after, const Inst *first, const Inst *second)
{
    return bitset_has(after, second->block->id) || (first->block == second->block && is_later(first, second));
}

static bool is_block_barrier(const Inst *inst)
{
    return inst->sync == SYNC_BLOCK_BARRIER;
}

/* Whether there may be a barrier on a path from the update to the access. */
static bool barrier_is_between(const Counting *c, const BitSet *after, const Inst *update, const Inst *access)
{
    for (size_t b = 0; b < c->body->blocks.count; b++)
        for (const Inst *inst = c->body->blocks.data[b]->first; inst; inst = inst->next) {
            if (!is_block_barrier(inst) || !follows(after, update, inst))
                continue;
            if (follows(after_block(c, inst->block), inst, access))
                return true;
        }
    return false;
}

static bool commutes(const Counting *c, Inst *inst, const Access *access, const Counted *update)
{
    AtomicUpdate other;
    return access->kind == ACCESS_ATOMIC &&
           atomic_update(c->body, c->values, inst, c->reassociates, &other) == ATOMIC_IS_UPDATE &&
           updates_commute(&other, &update->update);
}

static bool is_plain(const Inst *inst, const Access *access)
{
    return access->weak && (access->kind == ACCESS_LOAD || access->kind == ACCESS_STORE) && access->bytes &&
           access->address && !inst->pragma && !inst_is_opaque(inst);
}

/* Whether the access can be watched: its address is in a register. */
static bool can_watch(const Counting *c, const Inst *inst, const Access *access)
{
    const RegId base = address_base(inst, access->address);
    return base != REG_NONE && type_bits(c->body->regs.data[base].type) == 64;
}

static void watch(Counting *c, Inst *inst, const Access *access, Counted *update)
{
    for (unsigned i = 0; i < c->watched_count; i++)
        if (c->watched[i].inst == inst)
            return;
    if (c->watched_count == WATCHED_MOST)
        counting_refuse(c, update, inst, REFUSAL_COUNTERS_READ);
    else
        c->watched[c->watched_count++] = (Watched){.inst = inst, .access = *access};
}

static void compare(Counting *c, Inst *inst, const Access *access, Counted *update, const BitSet *after)
{
    const Inst *own = update->update.inst;
    if (inst == own || accesses_apart_always(analyses_memory(c->analyses), inst, own) ||
        commutes(c, inst, access, update))
        return;
    if (!is_plain(inst, access)) {
        counting_refuse(c, update, inst, REFUSAL_COUNTERS_STRONG);
        return;
    }
    if (!follows(after, own, inst))
        return;
    if (!can_watch(c, inst, access) || barrier_is_between(c, after, own, inst))
        counting_refuse(c, update, inst, REFUSAL_COUNTERS_READ);
    else
        watch(c, inst, access, update);
}

bool counting_may_follow(const Counting *c, const Inst *access, const Counted *update)
{
    return !accesses_apart_always(analyses_memory(c->analyses), access, update->update.inst) &&
           follows(after_block(c, update->update.inst->block), update->update.inst, access);
}

void counting_find_conflicts(Counting *c)
{
    for (size_t u = 0; u < c->updates.count; u++) {
        Counted *update = &c->updates.data[u];
        const BitSet *after = after_block(c, update->update.inst->block);
        for (size_t b = 0; b < c->body->blocks.count; b++)
            for (Inst *inst = c->body->blocks.data[b]->first; inst; inst = inst->next) {
                Access access;
                if (inst_access(inst, &access) && !access.read_only)
                    compare(c, inst, &access, update, after);
            }
    }
}
