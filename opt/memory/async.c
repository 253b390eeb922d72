/* Tiles that asynchronous copies fill (PLDI'10, section 3.6, with cp.async of the PTX ISA in place of registers).
 *
 * Shared memory has S buffers for the tiles, and S - 1 tiles are on their way while the block works on one:
 *
 *     gate:   barrier; for each of the first S - 1 tiles: copy it, commit
 *     top:    wait for all groups but the latest S - 2; barrier
 *             copy the tile S - 1 further on, if there is one; commit
 *     body:   the rounds
 *
 * One barrier for each tile is enough: after it, the copies of all threads for this tile are done, since each has
 * waited for its own, and all threads have read the tile before, whose buffer is filled next. Groups without a copy
 * keep their number right at the end. The addresses are those of later tiles' rounds, all of which are executed. The
 * barrier in the gate orders the copies after stores that threads made before the loop, and after what they read from
 * the buffers when they were here before. */
#include "opt/memory/rewrite.h"

enum { LEAST_VERSION = 70, LEAST_ARCH = 80 };

static bool member_can_be_copied(const Member *member)
{
    const unsigned bytes = member->count * member->bytes;
    Access access;
    return (bytes == 4 || bytes == 8 || bytes == 16) && member->bits == 8 * member->bytes &&
           inst_access(member->inst, &access) && access.space == SPACE_GLOBAL;
}

bool async_can_fill(const Staging *s)
{
    const Module *module = s->body->module;
    Arch arch;
    if (s->inner || module->version < LEAST_VERSION || !module->target_count ||
        !arch_parse(module->targets[0], &arch) || arch.number < LEAST_ARCH)
        return false;
    for (size_t i = 0; i < s->tiles.count; i++) {
        const Tile *tile = &s->tiles.data[i];
        for (unsigned m = 0; m < tile->member_count; m++)
            if (tile->is_line || !member_can_be_copied(&tile->members[m]))
                return false;
    }
    return true;
}

/* A phi of the top for the place of a buffer. */
static RegId add_buffer(Rewrite *w, RegId first, RegId next)
{
    Phi phi = {.dst = rewrite_reg(w, TYPE_B32, "%buffer")};
    VEC_PUSH(w->body->arena, phi.args, ((PhiArg){w->gate, first}));
    VEC_PUSH(w->body->arena, phi.args, ((PhiArg){w->tail, next == REG_NONE ? phi.dst : next}));
    VEC_PUSH(w->body->arena, w->top->phis, phi);
    return phi.dst;
}

static RegId constant_in(Rewrite *w, Block *block, int64_t value)
{
    RegId reg = rewrite_reg(w, TYPE_B32, "%buffer");
    inst_append(block, inst_build(w->body, "mov.u32", "di", reg, value));
    return reg;
}

/* The buffer after the one that is read, or the first. */
static RegId next_buffer(Rewrite *w, RegId buffer)
{
    const Staging *s = w->s;
    RegId next = rewrite_reg(w, TYPE_B32, "%buffer");
    if (s->buffers == 2) {
        inst_append(w->tail, inst_build(w->body, "xor.b32", "dri", next, buffer, (int64_t)s->bytes));
        return next;
    }
    RegId sum = rewrite_reg(w, TYPE_B32, "%buffer"), is_last = rewrite_reg(w, TYPE_PRED, "%wraps");
    inst_append(w->tail, inst_build(w->body, "add.u32", "dri", sum, buffer, (int64_t)s->bytes));
    inst_append(w->tail, inst_build(w->body, "setp.eq.u32", "dri", is_last, sum, (int64_t)s->bytes * s->buffers));
    inst_append(w->tail, inst_build(w->body, "selp.b32", "dirr", next, (int64_t)0, sum, is_last));
    return next;
}

void async_begin_tile(Rewrite *w)
{
    const Staging *s = w->s;
    w->read_buffer = add_buffer(w, w->zero, REG_NONE);
    VEC_LAST(VEC_LAST(w->top->phis).args).reg = next_buffer(w, w->read_buffer);
    /* The buffer that is filled next is the one that has been read. */
    w->fill_buffer = add_buffer(w, w->zero, w->read_buffer);
    inst_append(w->top, inst_build(w->body, "cp.async.wait_group", "i", (int64_t)s->buffers - 2));
    inst_append(w->top, inst_build(w->body, "bar.sync", "i", (int64_t)0));
}

void async_copy(Rewrite *w, const Member *member, RegId from, RegId to, int64_t offset, RegId inside)
{
    const int64_t bytes = (int64_t)member->count * member->bytes;
    RegId place = rewrite_reg(w, TYPE_B32, "%buffer");
    inst_append(w->top, inst_build(w->body, "add.u32", "drr", place, to, w->fill_buffer));
    /* Copies of 16 bytes need not stay in L1: no other block reads them soon, and this one has them. */
    const char *spelling = bytes == 16 ? "cp.async.cg.shared.global" : "cp.async.ca.shared.global";
    Inst *copy = inst_build(w->body, spelling, "aai", place, offset, from, member->offset, bytes);
    copy->span = member->inst->span;
    copy->loc = member->inst->loc;
    inst_append(w->top, copy);
    if (inside != REG_NONE)
        inst_set_guard(w->body, copy, inside, false);
}

void async_end_copies(Rewrite *w)
{
    inst_append(w->top, inst_build(w->body, "cp.async.commit_group", ""));
}

/* The instruction of the tail that makes the value; NULL: there is none. */
static Inst *made_in_tail(const Rewrite *w, RegId reg)
{
    for (Inst *inst = w->tail->first; inst; inst = inst->next)
        if (inst_result(inst) == reg)
            return inst;
    return NULL;
}

/* Advances the values of the top's phis, in the gate, to the next tile: of those that the copies read. */
static void advance(const Ahead *ahead, Block *block)
{
    Rewrite *w = ahead->w;
    const size_t count = w->top->phis.count;
    RegId *next = ARENA_ARRAY(w->s->scratch, RegId, count + 1);
    for (size_t p = 0; p < count; p++) {
        const Phi *phi = &w->top->phis.data[p];
        const Inst *step = made_in_tail(w, phi_argument(phi, w->tail));
        bool is_used = false;
        for (size_t i = 0; i < ahead->count; i++)
            is_used |= inst_uses(ahead->insts[i], phi->dst);
        next[p] = ahead->now[phi->dst];
        if (!step || !is_used || phi->dst == w->fill_buffer)
            continue;
        Inst *own = inst_clone(w->body, step);
        for (unsigned r = 0; r < own->ref_count; r++)
            if (ref_reads(&own->refs[r]) && own->refs[r].reg == phi->dst)
                own->refs[r].reg = ahead->now[phi->dst];
            else if (ref_writes(&own->refs[r]))
                next[p] = own->refs[r].reg = body_clone_reg(w->body, own->refs[r].reg);
        inst_append(block, own);
    }
    for (size_t p = 0; p < count; p++)
        ahead->now[w->top->phis.data[p].dst] = next[p];
}

/* The top waits, passes a barrier, and copies, up to the commit; addresses for reading follow. */
void rewrite_async(Rewrite *w)
{
    const Staging *s = w->s;
    VEC(Inst *) copies = {0};
    Inst *inst = w->top->first->next->next;
    for (; inst->sync == SYNC_NONE; inst = inst->next)
        VEC_PUSH(s->scratch, copies, inst);
    Ahead ahead = ahead_new(w, copies.data, copies.count, w->gate);
    inst_append(w->gate, inst_build(w->body, "bar.sync", "i", (int64_t)0));
    for (unsigned b = 0; b + 1 < s->buffers; b++) {
        ahead.now[w->fill_buffer] = constant_in(w, w->gate, (int64_t)b * s->bytes);
        RegId more = b ? rewrite_reg(w, TYPE_PRED, "%another") : REG_NONE;
        if (b)
            inst_append(w->gate, inst_build(w->body, "setp.gt.u32", "dri", more, w->groups.groups, (int64_t)b));
        ahead_copy(&ahead, w->gate, more);
        inst_append(w->gate, inst_build(w->body, "cp.async.commit_group", ""));
        advance(&ahead, w->gate);
    }
    ahead.now[w->fill_buffer] = constant_in(w, w->gate, (int64_t)(s->buffers - 1) * s->bytes);
    for (size_t p = 0; p < w->top->phis.count; p++) {
        Phi *phi = &w->top->phis.data[p];
        for (size_t a = 0; a < phi->args.count; a++)
            if (phi->args.data[a].pred == w->gate)
                phi->args.data[a].reg = ahead.now[phi->dst];
    }
    RegId more = rewrite_reg(w, TYPE_PRED, "%another");
    inst_insert_before(copies.data[0], inst_build(w->body, "setp.ge.u32", "dri", more, tiles_left(w),
                                                  (int64_t)s->buffers));
    for (size_t i = 0; i < copies.count; i++)
        if (copies.data[i]->effects & EFFECT_READ)
            guard_also(w, copies.data[i], more);
}
