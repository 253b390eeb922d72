/* Prefetching (PLDI'10, section 3.6): a thread's part of the next tile is on its way while the block works on this one.
 *
 *     gate:   barrier; load the first tile
 *     top:    barrier; store what has been loaded; barrier; if (another tile) load it
 *     body:   the rounds
 *
 * The addresses are those of the next tile's rounds, all of which are executed. The barrier before the first loads
 * orders them after stores that threads made before the loop, as the one at the top does without prefetching. */
#include "opt/memory/rewrite.h"

Ahead ahead_new(Rewrite *w, Inst **insts, size_t count, const Block *pred)
{
    Ahead ahead = {w, insts, count, ARENA_ARRAY(w->s->scratch, RegId, w->body->regs.count)};
    for (RegId r = 0; r < w->body->regs.count; r++)
        ahead.now[r] = r;
    for (size_t p = 0; p < w->top->phis.count; p++) {
        const Phi *phi = &w->top->phis.data[p];
        ahead.now[phi->dst] = phi_argument(phi, pred);
        require(ahead.now[phi->dst] != REG_NONE);
    }
    return ahead;
}

void guard_also(Rewrite *w, Inst *load, RegId predicate)
{
    if (!inst_is_guarded(load) && load->effects & EFFECT_WRITE) {
        inst_set_guard(w->body, load, predicate, false);
        return;
    }
    if (!inst_is_guarded(load)) {
        inst_guard(w->body, load, predicate, false, REG_NONE);
        return;
    }
    RegRef *guard = &load->refs[load->guard];
    RegId both = rewrite_reg(w, TYPE_PRED, "%inside");
    inst_insert_before(load, inst_build_conjunction(w->body, both, predicate, guard->reg, load->guard_inverted));
    guard->reg = both;
    load->guard_inverted = false;
}

void ahead_copy(Ahead *ahead, Block *block, RegId predicate)
{
    for (size_t i = 0; i < ahead->count; i++) {
        Inst *own = inst_clone_renamed(ahead->w->body, ahead->insts[i], ahead->now);
        inst_append(block, own);
        if (predicate != REG_NONE && own->effects & EFFECT_READ)
            guard_also(ahead->w, own, predicate);
    }
}

/* Moves what the tail computes for the loads of the next tile to the end of the top. */
static void move_steps(Rewrite *w, Inst *const *insts, size_t count)
{
    for (size_t p = 0; p < w->top->phis.count; p++) {
        const Phi *phi = &w->top->phis.data[p];
        const RegId next = phi_argument(phi, w->tail);
        bool is_used = false;
        for (size_t i = 0; i < count; i++)
            is_used |= inst_uses(insts[i], phi->dst);
        for (Inst *inst = w->tail->first, *after; inst && is_used; inst = after) {
            after = inst->next;
            if (inst_result(inst) != next)
                continue;
            inst_remove(inst);
            inst_append(w->top, inst);
        }
    }
}

RegId tiles_left(const Rewrite *w)
{
    RegId left = REG_NONE;
    for (size_t p = 0; p < w->top->phis.count; p++)
        if (phi_argument(&w->top->phis.data[p], w->gate) == w->groups.groups)
            left = w->top->phis.data[p].dst;
    require(left != REG_NONE);
    return left;
}

/* Whether another tile follows. */
static RegId build_more(Rewrite *w)
{
    RegId more = rewrite_reg(w, TYPE_PRED, "%another");
    inst_append(w->top, inst_build(w->body, "setp.ne.u32", "dri", more, tiles_left(w), (int64_t)1));
    return more;
}

static bool is_store(const Inst *inst)
{
    Access access;
    return inst_access(inst, &access) && access.kind == ACCESS_STORE;
}

/* The top is a barrier, the loads with their addresses, the stores, and a barrier. */
void rewrite_prefetch(Rewrite *w)
{
    VEC(Inst *) loads = {0};
    for (Inst *inst = w->top->first->next; !is_store(inst); inst = inst->next)
        VEC_PUSH(w->s->scratch, loads, inst);
    Ahead first = ahead_new(w, loads.data, loads.count, w->gate);
    inst_append(w->gate, inst_build(w->body, "bar.sync", "i", (int64_t)0));
    ahead_copy(&first, w->gate, REG_NONE);
    move_steps(w, loads.data, loads.count);
    Ahead next = ahead_new(w, loads.data, loads.count, w->tail);
    ahead_copy(&next, w->top, build_more(w));
    for (size_t i = 0; i < loads.count; i++) {
        Access access;
        inst_remove(loads.data[i]);
        for (unsigned r = 0; inst_access(loads.data[i], &access) && r < loads.data[i]->ref_count; r++) {
            const RegRef *ref = &loads.data[i]->refs[r];
            if (!ref_writes(ref))
                continue;
            Phi phi = {.dst = ref->reg};
            VEC_PUSH(w->body->arena, phi.args, ((PhiArg){w->gate, first.now[ref->reg]}));
            VEC_PUSH(w->body->arena, phi.args, ((PhiArg){w->tail, next.now[ref->reg]}));
            VEC_PUSH(w->body->arena, w->top->phis, phi);
        }
    }
}
