/* See versions.h. Time and memory are linear in the size of the body and of the copies.
 *
 * Requires and keeps SSA form. */
#include "opt/common/versions.h"

Versions versions_new(Arena *scratch, Body *body, const Values *values)
{
    Versions v = {
        .body = body,
        .scratch = scratch,
        .values = values,
        .block_count = body->blocks.count,
        .reg_count = body->regs.count,
        .parts = ARENA_ARRAY(scratch, uint32_t, body->blocks.count),
        .blocks = ARENA_ARRAY(scratch, Block *, body->blocks.count),
        .reg_parts = ARENA_ARRAY(scratch, uint32_t, body->regs.count),
        .regs = ARENA_ARRAY(scratch, RegId, body->regs.count),
        .origins = {.arena = scratch},
    };
    v.after = arena_array(scratch, body->blocks.count, sizeof *v.after);
    return v;
}

void block_retarget(Block *block, const Block *from, Block *to)
{
    if (block->last)
        for (unsigned t = 0; t < block->last->target_count; t++)
            if (block->last->targets[t] == from)
                block->last->targets[t] = to;
    if (block->fall == from)
        block->fall = to;
}

void block_replace_pred(Block *block, const Block *from, Block *to)
{
    for (size_t p = 0; p < block->phis.count; p++)
        for (size_t a = 0; a < block->phis.data[p].args.count; a++)
            if (block->phis.data[p].args.data[a].pred == from)
                block->phis.data[p].args.data[a].pred = to;
}

/* New blocks are in no part. */
static uint32_t part_of(const Versions *v, const Block *block)
{
    return block->id < v->block_count ? v->parts[block->id] : 0;
}

Block *versions_block(const Versions *v, Block *block)
{
    return part_of(v, block) == v->part && v->blocks[block->id] ? v->blocks[block->id] : block;
}

RegId versions_reg(const Versions *v, RegId reg)
{
    return reg < v->reg_count && v->reg_parts[reg] == v->part ? v->regs[reg] : reg;
}

static void set_origin(Versions *v, const Block *block, bool is_copy)
{
    Origin *origin = ARENA_NEW(v->scratch, Origin);
    *origin = (Origin){v->part, is_copy};
    pointer_map_put(&v->origins, block, origin);
}

void versions_begin(Versions *v, Block *const *blocks, size_t count)
{
    v->part++;
    v->copied.count = 0;
    for (size_t i = 0; i < count; i++) {
        require(!v->parts[blocks[i]->id]);
        v->parts[blocks[i]->id] = v->part;
        set_origin(v, blocks[i], false);
    }
}

Block *versions_add_block(Versions *v, const Block *place, bool is_copy)
{
    Block *block = body_add_block(v->body, NULL);
    VEC_PUSH(v->scratch, v->after[place->id], block);
    if (is_copy)
        set_origin(v, block, true);
    return block;
}

void versions_repeat(Versions *v)
{
    for (size_t i = 0; i < v->copied.count; i++)
        v->reg_parts[v->copied.data[i]] = 0;
    v->copied.count = 0;
    for (size_t b = 0; b < v->block_count; b++)
        if (v->parts[b] == v->part)
            v->blocks[b] = NULL;
}

void versions_set_reg(Versions *v, RegId reg, RegId own)
{
    if (v->reg_parts[reg] != v->part)
        VEC_PUSH(v->scratch, v->copied, reg);
    v->reg_parts[reg] = v->part;
    v->regs[reg] = own;
}

static void copy_reg(Versions *v, RegId reg)
{
    versions_set_reg(v, reg, body_clone_reg(v->body, reg));
}

static void copy_results(Versions *v, const Block *block)
{
    for (size_t p = 0; p < block->phis.count; p++)
        copy_reg(v, block->phis.data[p].dst);
    for (const Inst *inst = block->first; inst; inst = inst->next)
        for (unsigned r = 0; r < inst->ref_count; r++)
            if (ref_writes(&inst->refs[r]))
                copy_reg(v, inst->refs[r].reg);
}

static void copy_contents(Versions *v, const Block *block)
{
    Arena *arena = v->body->arena;
    Block *copy = v->blocks[block->id];
    for (size_t p = 0; p < block->phis.count; p++) {
        const Phi *phi = &block->phis.data[p];
        Phi own = {.dst = versions_reg(v, phi->dst)};
        for (size_t a = 0; a < phi->args.count; a++) {
            PhiArg arg = phi->args.data[a];
            VEC_PUSH(arena, own.args, ((PhiArg){versions_block(v, arg.pred), versions_reg(v, arg.reg)}));
        }
        VEC_PUSH(arena, copy->phis, own);
    }
    for (size_t p = 0; p < block->pragmas.count; p++)
        VEC_PUSH(arena, copy->pragmas, block->pragmas.data[p]);
    for (const Inst *inst = block->first; inst; inst = inst->next) {
        Inst *own = inst_clone(v->body, inst);
        for (unsigned r = 0; r < own->ref_count; r++)
            if (own->refs[r].reg != REG_NONE)
                own->refs[r].reg = versions_reg(v, own->refs[r].reg);
        for (unsigned t = 0; t < own->target_count; t++)
            own->targets[t] = versions_block(v, own->targets[t]);
        inst_append(copy, own);
    }
    copy->fall = block->fall ? versions_block(v, block->fall) : NULL;
    copy->is_cold = block->is_cold;
}

void versions_copy(Versions *v, Block *const *blocks, size_t count, const Block *place)
{
    for (size_t i = 0; i < count; i++) {
        v->blocks[blocks[i]->id] = versions_add_block(v, place, true);
        copy_results(v, blocks[i]);
    }
    for (size_t i = 0; i < count; i++)
        copy_contents(v, blocks[i]);
}

/* True if the value is used outside the part that it was copied in, apart from the phis where the part's edges lead. */
static bool escapes(const Versions *v, RegId reg)
{
    for (uint32_t u = 0; u < value_use_count(v->values, reg); u++) {
        const ValueUse *use = &value_uses(v->values, reg)[u];
        const Block *at = use->inst ? use->block : use->block->phis.data[use->index].args.data[use->arg].pred;
        if (part_of(v, at) != v->part)
            return true;
    }
    return false;
}

void versions_lead(const Versions *v, Block *to)
{
    for (size_t p = 0; p < to->phis.count; p++) {
        Phi *phi = &to->phis.data[p];
        for (size_t a = 0, count = phi->args.count; a < count; a++) {
            PhiArg arg = phi->args.data[a];
            Block *copy = versions_block(v, arg.pred);
            if (copy != arg.pred)
                VEC_PUSH(v->body->arena, phi->args, ((PhiArg){copy, versions_reg(v, arg.reg)}));
        }
    }
}

void versions_join(Versions *v, Block *join)
{
    versions_lead(v, join);
    for (size_t i = 0; i < v->copied.count; i++)
        if (escapes(v, v->copied.data[i]))
            VEC_PUSH(v->scratch, v->escapes, ((Escape){v->copied.data[i], join}));
}

static void place_blocks(Versions *v)
{
    Body *body = v->body;
    Block **old = ARENA_ARRAY(v->scratch, Block *, v->block_count);
    for (size_t b = 0; b < v->block_count; b++)
        old[b] = body->blocks.data[b];
    size_t place = 0;
    for (size_t b = 0; b < v->block_count; b++) {
        body->blocks.data[place++] = old[b];
        for (size_t i = 0; i < v->after[b].count; i++)
            body->blocks.data[place++] = v->after[b].data[i];
    }
    require(place == body->blocks.count);
}

static uint32_t origin_part(const Versions *v, const Block *block)
{
    const Origin *origin = pointer_map_get(&v->origins, block);
    return origin ? origin->part : 0;
}

/* Every path from the part or its version to a use outside comes by the join, and only those come there first: other
 * edges to the join are from blocks where the merged value is there already. */
static void merge_value(Versions *v, const Escape *escape, RegId merged)
{
    uint32_t part = v->reg_parts[escape->reg];
    Phi phi = {.dst = merged};
    for (unsigned i = 0; i < escape->join->pred_count; i++) {
        Block *pred = escape->join->preds[i];
        const Origin *origin = pointer_map_get(&v->origins, pred);
        RegId reg = merged;
        if (origin && origin->part == part)
            reg = origin->is_copy ? v->regs[escape->reg] : escape->reg;
        VEC_PUSH(v->body->arena, phi.args, ((PhiArg){pred, reg}));
    }
    VEC_PUSH(v->body->arena, escape->join->phis, phi);
}

/* The register that is used in a block instead. */
static RegId use_merged(const Versions *v, const RegId *merged, RegId reg, const Block *at)
{
    if (reg >= v->reg_count || merged[reg] == REG_NONE || origin_part(v, at) == v->reg_parts[reg])
        return reg;
    return merged[reg];
}

static void merge_values(Versions *v)
{
    RegId *merged = ARENA_ARRAY(v->scratch, RegId, v->reg_count);
    for (size_t r = 0; r < v->reg_count; r++)
        merged[r] = REG_NONE;
    for (size_t i = 0; i < v->escapes.count; i++)
        merged[v->escapes.data[i].reg] = body_clone_reg(v->body, v->escapes.data[i].reg);
    for (size_t b = 0; b < v->body->blocks.count; b++) {
        Block *block = v->body->blocks.data[b];
        for (size_t p = 0; p < block->phis.count; p++)
            for (size_t a = 0; a < block->phis.data[p].args.count; a++) {
                PhiArg *arg = &block->phis.data[p].args.data[a];
                arg->reg = use_merged(v, merged, arg->reg, arg->pred);
            }
        for (Inst *inst = block->first; inst; inst = inst->next)
            for (unsigned r = 0; r < inst->ref_count; r++)
                if (ref_reads(&inst->refs[r]))
                    inst->refs[r].reg = use_merged(v, merged, inst->refs[r].reg, block);
    }
    for (size_t i = 0; i < v->escapes.count; i++)
        merge_value(v, &v->escapes.data[i], merged[v->escapes.data[i].reg]);
}

void versions_finish(Versions *v)
{
    place_blocks(v);
    body_update_preds(v->body);
    if (v->escapes.count)
        merge_values(v);
}

Block *block_between(Body *body, Block *from, Block *to)
{
    Block *between = body_add_block(body, from);
    between->fall = to;
    block_retarget(from, to, between);
    block_replace_pred(to, from, between);
    body_update_preds(body);
    return between;
}
