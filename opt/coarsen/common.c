/* Shared arrays that merged blocks have in common: one array in place of a copy for each block.
 *
 * PLDI'10 (Yang et al., section 3.5) keeps a tile once that the merged blocks would fill alike. Here an array is kept
 * once if every store to it writes the same value to the same place for all replicas, and is done by all of them or by
 * none, or else only within one copy of a region at a time:
 *
 *   - Outside regions such a store is done once. By induction the array then has, at every barrier, what the copy of
 *     each replica would have; so loads may be anywhere, and their addresses may differ.
 *   - A region may store to it if all threads of the block enter it together for a replica, and if no other place that
 *     uses the array is executed before it or after it. The replicas then use the array one after the other, with a
 *     barrier between them (clone.c), and the values that they leave are never read.
 *
 * If the last blocks of a grid have fewer replicas, the first rule holds for the fast path, and the second for the slow
 * one.
 *
 * Replicas of merged blocks race for nothing in an array of their own, so the order of each one's accesses counts.
 * Copies of loads follow their originals at once, except those in a chain of carry flags or a call sequence, which
 * follow the whole (clone.c): a store must not come between.
 *
 * All that touches such an array must be known: its address must be used by plain loads and stores, and for arithmetic.
 *
 * Requires SSA form, values, variance and regions. Changes nothing but the set. */
#include "opt/common/blocks_after.h"
#include "opt/coarsen/internal.h"

/* The registers that an address of the array at hand may be in, and whether all uses of these are harmless. */
typedef struct Trace {
    Coarsening *c;
    const Variable *variable;
    BitSet regs;
    VEC(RegId) pending;
    VEC(Inst *) accesses; /* that may touch the array */
    PointerMap seen;      /* the same */
    bool is_plain;
} Trace;

static bool names(const Operand *operand, const Variable *variable)
{
    return operand_shared_variable(operand) == variable;
}

static void take_result(Trace *t, RegId reg)
{
    if (reg == REG_NONE || bitset_has(&t->regs, reg))
        return;
    bitset_add(&t->regs, reg);
    VEC_PUSH(t->c->scratch, t->pending, reg);
}

/* True if the operand, which is not the address of an access, has the array's address. */
static bool has_address(const Trace *t, const Inst *inst, const Operand *operand)
{
    RegId reg = operand_reg(inst, operand);
    bool found = reg != REG_NONE && bitset_has(&t->regs, reg);
    for (unsigned i = 0; i < operand->item_count && !found; i++)
        found = has_address(t, inst, &operand->items[i]);
    return found || names(operand, t->variable);
}

/* An instruction that reads the array's address. */
static void take_use(Trace *t, Inst *inst)
{
    Access access;
    if (inst_is_opaque(inst) || inst_is_call(inst)) {
        t->is_plain = false;
        return;
    }
    if (!(inst->effects & (EFFECT_READ | EFFECT_WRITE | EFFECT_ASYNC))) {
        for (unsigned r = 0; r < inst->ref_count; r++)
            if (ref_writes(&inst->refs[r]))
                take_result(t, inst->refs[r].reg);
        return;
    }
    bool is_access = inst_access(inst, &access) && (access.kind == ACCESS_LOAD || access.kind == ACCESS_STORE);
    t->is_plain &= is_access && access.weak && access.space == SPACE_SHARED && inst->sync == SYNC_NONE;
    for (unsigned i = 0; i < inst->operand_count && t->is_plain; i++)
        t->is_plain = &inst->operands[i] == access.address || !has_address(t, inst, &inst->operands[i]);
    if (pointer_map_get(&t->seen, inst))
        return;
    pointer_map_put(&t->seen, inst, inst);
    VEC_PUSH(t->c->scratch, t->accesses, inst);
}

/* Follows the array's address from all places that name it. */
static Trace trace(Coarsening *c, const Variable *variable)
{
    const Values *values = analyses_values(c->facts.analyses);
    Trace t = {.c = c, .variable = variable, .regs = bitset_new(c->scratch, c->body->regs.count),
               .seen = {.arena = c->scratch}, .is_plain = true};
    for (size_t b = 0; b < c->body->blocks.count; b++)
        for (Inst *inst = c->body->blocks.data[b]->first; inst && t.is_plain; inst = inst->next)
            for (unsigned i = 0; i < inst->operand_count; i++)
                if (names(&inst->operands[i], variable))
                    take_use(&t, inst);
    while (t.pending.count && t.is_plain) {
        RegId reg = VEC_POP(t.pending);
        for (uint32_t u = 0; u < value_use_count(values, reg); u++) {
            const ValueUse *use = &value_uses(values, reg)[u];
            if (use->inst)
                take_use(&t, (Inst *)use->inst);
            else
                take_result(&t, use->block->phis.data[use->index].dst);
        }
    }
    return t;
}

static bool is_store(const Inst *inst)
{
    return inst->effects & EFFECT_WRITE;
}

static bool is_in_region(const Facts *facts, const Inst *inst)
{
    return bitset_has(&facts->in_region, inst->block->id);
}

/* True if the accesses in the region are the only ones that an execution of it meets: none comes before it or after
 * it, not even in another turn of a loop around it. */
static bool is_alone(const Coarsening *c, const Trace *t, const Region *region)
{
    VEC(Block *) others = {0};
    BitSet after = blocks_after(c->scratch, c->body, &region->join, 1);
    bitset_add(&after, region->join->id);
    for (size_t i = 0; i < t->accesses.count; i++) {
        Block *block = t->accesses.data[i]->block;
        if (bitset_has(&after, block->id))
            return false;
        if (coarsening_region_of(&c->facts, block) != region)
            VEC_PUSH(c->scratch, others, block);
    }
    BitSet later = blocks_after(c->scratch, c->body, others.data, others.count);
    for (size_t i = 0; i < region->blocks.count; i++)
        if (bitset_has(&later, region->blocks.data[i]->id))
            return false;
    return true;
}

/* True if a store is done once in a block where copies of loads may come late. */
static bool may_pass_loads(const Coarsening *c, const Trace *t, const Inst *store)
{
    bool has_groups = false, has_copies = false;
    for (const Inst *inst = store->block->first; inst; inst = inst->next) {
        has_groups |= inst_is_call(inst) || inst->effects & EFFECT_CC_READ;
        has_copies |= pointer_map_get(&t->seen, inst) && coarsening_clones(c, inst);
    }
    return has_groups && has_copies;
}

/* True if the array can be one for all replicas, given that variance assumes it. */
static bool is_common(Coarsening *c, const Trace *t)
{
    for (size_t i = 0; i < t->accesses.count; i++) {
        const Inst *inst = t->accesses.data[i];
        if (!is_store(inst))
            continue;
        if (!is_in_region(&c->facts, inst) && may_pass_loads(c, t, inst))
            return false;
        if (!is_in_region(&c->facts, inst)) {
            if (variance_inst(c->facts.variance, inst))
                return false;
            continue;
        }
        const Region *region = coarsening_region_of(&c->facts, inst->block);
        if (!coarsening_go_together(c, region->head) || !is_alone(c, t, region))
            return false;
    }
    return true;
}

static void take_common(Coarsening *c, const Trace *t)
{
    pointer_map_put(&c->common.users, t->variable, t->variable);
    for (size_t i = 0; i < t->accesses.count; i++)
        pointer_map_put(&c->common.users, t->accesses.data[i], t->accesses.data[i]);
}

void coarsening_propose_common(Coarsening *c)
{
    PointerMap seen = {.arena = c->scratch};
    c->common.users = (PointerMap){.arena = c->scratch};
    for (size_t b = 0; b < c->body->blocks.count; b++)
        for (const Inst *inst = c->body->blocks.data[b]->first; inst; inst = inst->next)
            for (unsigned i = 0; i < inst->operand_count; i++) {
                const Variable *variable = operand_shared_variable(&inst->operands[i]);
                if (!variable || coarsening_is_dynamic(variable) || pointer_map_get(&seen, variable))
                    continue;
                pointer_map_put(&seen, variable, variable);
                const Trace t = trace(c, variable);
                if (!t.is_plain)
                    continue;
                VEC_PUSH(c->scratch, c->common.arrays, variable);
                take_common(c, &t);
            }
}

bool coarsening_keep_common(Coarsening *c)
{
    const size_t before = c->common.arrays.count;
    size_t kept = 0;
    c->common.users = (PointerMap){.arena = c->scratch};
    for (size_t i = 0; i < before; i++) {
        const Trace t = trace(c, c->common.arrays.data[i]);
        if (!is_common(c, &t))
            continue;
        c->common.arrays.data[kept++] = t.variable;
        take_common(c, &t);
    }
    c->common.arrays.count = kept;
    return kept == before;
}

bool coarsening_takes_turns(const Coarsening *c, const Region *region)
{
    for (size_t i = 0; i < region->blocks.count && c->common.arrays.count; i++)
        for (const Inst *inst = region->blocks.data[i]->first; inst; inst = inst->next)
            if (is_store(inst) && pointer_map_get(&c->common.users, inst))
                return true;
    return false;
}
