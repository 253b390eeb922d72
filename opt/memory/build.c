/* The instructions that the files of the rewriting have in common. */
#include "opt/memory/rewrite.h"

RegId rewrite_reg(Rewrite *w, Type type, const char *base)
{
    return body_add_reg(w->body, type, intern(w->body->module->names, base));
}

void rewrite_once(Rewrite *w, Inst *inst)
{
    Inst *last = w->once->last;
    if (last && inst_is_terminator(last))
        inst_insert_before(last, inst);
    else
        inst_append(w->once, inst);
}

RegId rewrite_thread_index(Rewrite *w, Index index)
{
    static const char *const names[] = {"%tid.x", "%tid.y", "%tid.z"};
    if (w->index[index] == REG_NONE) {
        w->index[index] = rewrite_reg(w, TYPE_B32, "%tid");
        rewrite_once(w, inst_build(w->body, "mov.u32", "ds", w->index[index], names[index]));
    }
    return w->index[index];
}

RegId rewrite_multiple(Rewrite *w, RegId reg, uint32_t factor, RegId addend)
{
    RegId result = rewrite_reg(w, TYPE_B32, "%stage");
    rewrite_once(w, inst_build(w->body, "mad.lo.u32", "drir", result, reg, (int64_t)factor, addend));
    return result;
}

const char *rewrite_move(Type type)
{
    if (type == TYPE_PRED)
        return "mov.pred";
    switch (type_bits(type)) {
    case 16: return "mov.b16";
    case 32: return "mov.b32";
    case 64: return "mov.b64";
    default: return NULL;
    }
}

unsigned rewrite_results(const Inst *inst, RegId *regs)
{
    unsigned count = 0;
    for (unsigned r = 0; r < inst->ref_count; r++)
        if (ref_writes(&inst->refs[r]))
            regs[count++] = inst->refs[r].reg;
    return count;
}

Inst *shared_access(Rewrite *w, bool is_store, Type type, const RegId *regs, unsigned count, RegId base,
                    int64_t offset)
{
    const char *name = is_store ? "st" : "ld";
    if (count == 1) {
        const char *spelling = arena_printf(w->s->scratch, "%s.shared.%s", name, type_name(type));
        return is_store ? inst_build(w->body, spelling, "ar", base, offset, regs[0])
                        : inst_build(w->body, spelling, "da", regs[0], base, offset);
    }
    const char *spelling = arena_printf(w->s->scratch, "%s.shared.v%u.%s", name, count, type_name(type));
    return inst_build_vector(w->body, spelling, is_store, regs, count, base, offset);
}

Inst *rewrite_read(Rewrite *w, const Inst *like, Type type, const RegId *regs, unsigned count, RegId address,
                   int64_t offset)
{
    Inst *load = shared_access(w, false, type, regs, count, address, offset);
    load->span = like->span;
    load->loc = like->loc;
    return load;
}

RegId rewrite_counter(Rewrite *w, RegId first, uint32_t step)
{
    Block *header = versions_block(&w->versions, w->s->loop->header);
    Block *latch = versions_block(&w->versions, w->s->latch);
    Phi phi = {.dst = rewrite_reg(w, TYPE_B32, "%round")};
    RegId next = rewrite_reg(w, TYPE_B32, "%round");
    VEC_PUSH(w->body->arena, phi.args, ((PhiArg){w->top, first}));
    VEC_PUSH(w->body->arena, phi.args, ((PhiArg){latch, next}));
    VEC_PUSH(w->body->arena, header->phis, phi);
    inst_insert_before(latch->last, inst_build(w->body, "add.u32", "dri", next, phi.dst, (int64_t)step));
    return phi.dst;
}

/* Copies are in the order of the originals. */
Inst *rewrite_copy_of(Rewrite *w, const Inst *inst)
{
    Inst *copy = versions_block(&w->versions, inst->block)->first;
    for (const Inst *i = inst->block->first; i != inst; i = i->next)
        copy = copy->next;
    return copy;
}

static uint32_t round_pitch(const Tile *tile)
{
    for (unsigned d = 0; d < tile->dim_count; d++)
        if (tile->dims[d] == INDEX_ROUND)
            return tile->pitches[d];
    return tile->step * tile->unit;
}

ReadAddress rewrite_own_place(Rewrite *w, const Tile *tile, RegId buffer)
{
    RegId first = w->base;
    for (unsigned d = 0; d < tile->dim_count; d++)
        if (tile->dims[d] != INDEX_ROUND) {
            bool is_line = tile->dims[d] == INDEX_LINE;
            RegId index = rewrite_thread_index(w, is_line ? INDEX_X : tile->dims[d]);
            first = rewrite_multiple(w, index, is_line ? tile->across * tile->unit : tile->pitches[d], first);
        }
    if (buffer != REG_NONE) {
        RegId moved = rewrite_reg(w, TYPE_B32, "%tile");
        inst_append(w->top, inst_build(w->body, "add.u32", "drr", moved, first, buffer));
        first = moved;
    }
    return (ReadAddress){first, rewrite_counter(w, first, round_pitch(tile))};
}

RegId rewrite_passes(Rewrite *w, Slices *slices, Block *block, const Elsewhere *at, const Guard *parts, unsigned count,
                     RegId holds)
{
    for (unsigned i = 0; i < count; i++) {
        const RegId passes = slices_value(slices, at, parts[i].predicate);
        const RegId both = rewrite_reg(w, TYPE_PRED, "%passes");
        inst_append(block, inst_build_conjunction(w->body, both, holds, passes, !parts[i].passes_if));
        holds = both;
    }
    return holds;
}
