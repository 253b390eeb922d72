/* Refinement: stores of each round to the same place.
 *
 *     for (k = 0; k < m; k++)
 *         c[i] += a[i * m + k] * b[k];
 *
 * Compilers keep c[i] in a register, and store it in each round, because a[] and b[] may be the same memory. If they
 * are not, which accesses.c lets code before the loop compare, nothing in the loop reads what is stored: the value of
 * the last round is all that stays. It is stored after the loop. Other threads that read it meanwhile would race. */
#include "opt/refine/internal.h"

const LastingStore *lasting_of(const SharedLoop *shared, const Inst *inst)
{
    for (unsigned i = 0; inst && i < shared->lasting_count; i++)
        if (shared->lasting[i].to.inst == inst)
            return &shared->lasting[i];
    return NULL;
}

bool lasting_is_same(const LastingStore *a, const LastingStore *b)
{
    return a->to.bytes == b->to.bytes && a->to.first.constant == b->to.first.constant &&
           affine_compare(&a->to.first, 1, &b->to.first, 1) == ALIAS_SAME;
}

/* The register that a plain store writes as a whole; REG_NONE: there is none. */
static RegId stored_register(const Refine *r, const Inst *inst, const Access *access)
{
    enum { VALUE = 1 };
    if (access->kind != ACCESS_STORE || !access->weak || inst_is_guarded(inst) || inst->operand_count != 2)
        return REG_NONE;
    const RegId reg = inst_reg(inst, VALUE);
    return reg != REG_NONE && type_bits(r->body->regs.data[reg].type) == access->bytes * 8 ? reg : REG_NONE;
}

/* The end's block is executed in each round. */
void lasting_find(Refine *r, SharedLoop *shared)
{
    for (Inst *inst = shared->latch->first; inst && shared->lasting_count < LASTING_MOST; inst = inst->next) {
        Access access;
        LastingStore *store = &shared->lasting[shared->lasting_count];
        if (!inst_access(inst, &access) || access.space == SPACE_LOCAL)
            continue;
        *store = (LastingStore){.value = stored_register(r, inst, &access), .is_last = true};
        /* No phi of the loop is known yet: only addresses that do not move can be followed. */
        if (store->value == REG_NONE || !loop_access_follow(r, shared, inst, &access, &store->to))
            continue;
        for (unsigned i = 0; i < shared->lasting_count; i++)
            shared->lasting[i].is_last &= !lasting_is_same(&shared->lasting[i], store);
        shared->lasting_count++;
    }
}

bool lasting_check(Refine *r, SharedLoop *shared)
{
    for (unsigned i = 0; i < shared->lasting_count; i++) {
        LastingStore *store = &shared->lasting[i];
        unsigned p = 0;
        while (p < shared->phi_count && (shared->phis[p].merge == MERGE_NONE || shared->phis[p].next != store->value))
            p++;
        if (store->is_last && p == shared->phi_count)
            return refine_refuse(r, store->to.inst, REFUSAL_REFINE_MEMORY);
        store->phi = p;
    }
    return true;
}

bool lasting_stores(const SharedLoop *shared, unsigned phi)
{
    for (unsigned i = 0; i < shared->lasting_count; i++)
        if (shared->lasting[i].is_last && shared->lasting[i].phi == phi)
            return true;
    return false;
}

void lasting_put(const Refine *r, const SharedLoop *shared, unsigned phi, RegId value, Block *after)
{
    for (unsigned i = 0; i < shared->lasting_count; i++) {
        const LastingStore *last = &shared->lasting[i];
        if (!last->is_last || last->phi != phi)
            continue;
        Inst *store = inst_clone(r->body, last->to.inst);
        for (unsigned n = 0; n < store->ref_count; n++)
            if (store->refs[n].reg == last->value)
                store->refs[n].reg = value;
        inst_append(after, store);
        r->result->lasting++;
        for (unsigned k = 0; k < shared->lasting_count; k++)
            if (lasting_is_same(&shared->lasting[k], last))
                inst_remove(shared->lasting[k].to.inst);
    }
}
