/* Liveness by walking from uses to definitions, register by register. */
#include "analysis/liveness.h"

#include "analysis/values.h"

#include <string.h>

typedef VEC(RegId) RegIdVec;

/* Block ids, chained by register. */
typedef struct Chain {
    uint32_t block, next; /* next: index + 1 of the next link, 0 ends */
} Chain;
typedef struct Chains {
    uint32_t *head; /* by RegId: index + 1, 0: none */
    VEC(Chain) links;
} Chains;

static void chain_add(Arena *arena, Chains *chains, RegId reg, uint32_t block)
{
    uint32_t head = chains->head[reg];
    if (head && chains->links.data[head - 1].block == block)
        return;
    require(chains->links.count < UINT32_MAX - 1);
    VEC_PUSH(arena, chains->links, (Chain){block, head});
    chains->head[reg] = (uint32_t)chains->links.count;
}

/* The blocks at which liveness starts and stops. */
typedef struct Walk {
    const Body *body;
    Arena *scratch;
    Chains exposed; /* blocks that read the register before they kill it */
    Chains leaving; /* blocks at whose end a phi reads it */
    Chains keeping; /* blocks that kill it */
    RegIdVec *in, *out; /* by block */
    uint32_t *killed;   /* by block: the last register + 1 whose kills were marked there */
    uint32_t *stack;
} Walk;

static bool def_kills(const Body *body, const Inst *inst)
{
    return body->ssa || !inst_is_guarded(inst);
}

static void block_scan(Walk *walk, const Block *block, uint32_t *killed_here)
{
    uint32_t mark = block->id + 1;
    for (size_t p = 0; p < block->phis.count; p++) {
        const Phi *phi = &block->phis.data[p];
        killed_here[phi->dst] = mark;
        chain_add(walk->scratch, &walk->keeping, phi->dst, block->id);
        for (size_t a = 0; a < phi->args.count; a++)
            chain_add(walk->scratch, &walk->leaving, phi->args.data[a].reg, phi->args.data[a].pred->id);
    }
    for (const Inst *inst = block->first; inst; inst = inst->next) {
        for (unsigned r = 0; r < inst->ref_count; r++)
            if (ref_reads(&inst->refs[r]) && killed_here[inst->refs[r].reg] != mark)
                chain_add(walk->scratch, &walk->exposed, inst->refs[r].reg, block->id);
        for (unsigned r = 0; r < inst->ref_count; r++)
            if (ref_writes(&inst->refs[r]) && def_kills(walk->body, inst)) {
                killed_here[inst->refs[r].reg] = mark;
                chain_add(walk->scratch, &walk->keeping, inst->refs[r].reg, block->id);
            }
    }
}

/* The registers come in ascending order, so a block's set ends with this one if it holds it. */
static bool set_push(Walk *walk, RegIdVec *set, RegId reg)
{
    if (set->count && VEC_LAST(*set) == reg)
        return false;
    VEC_PUSH(walk->scratch, *set, reg);
    return true;
}

static void reg_walk(Walk *walk, RegId reg)
{
    uint32_t pending = 0;
    for (uint32_t i = walk->keeping.head[reg]; i; i = walk->keeping.links.data[i - 1].next)
        walk->killed[walk->keeping.links.data[i - 1].block] = reg + 1;
    for (uint32_t i = walk->exposed.head[reg]; i; i = walk->exposed.links.data[i - 1].next)
        if (set_push(walk, &walk->in[walk->exposed.links.data[i - 1].block], reg))
            walk->stack[pending++] = walk->exposed.links.data[i - 1].block;
    for (uint32_t i = walk->leaving.head[reg]; i; i = walk->leaving.links.data[i - 1].next) {
        uint32_t block = walk->leaving.links.data[i - 1].block;
        if (set_push(walk, &walk->out[block], reg) && walk->killed[block] != reg + 1 &&
            set_push(walk, &walk->in[block], reg))
            walk->stack[pending++] = block;
    }
    while (pending) {
        const Block *block = walk->body->blocks.data[walk->stack[--pending]];
        for (unsigned p = 0; p < block->pred_count; p++) {
            uint32_t pred = block->preds[p]->id;
            if (set_push(walk, &walk->out[pred], reg) && walk->killed[pred] != reg + 1 &&
                set_push(walk, &walk->in[pred], reg))
                walk->stack[pending++] = pred;
        }
    }
}

static LiveSet *sets_store(Arena *arena, const RegIdVec *sets, size_t count)
{
    LiveSet *stored = ARENA_ARRAY(arena, LiveSet, count);
    for (size_t i = 0; i < count; i++) {
        if (!sets[i].count)
            continue;
        RegId *regs = ARENA_ARRAY(arena, RegId, sets[i].count);
        memcpy(regs, sets[i].data, sets[i].count * sizeof *regs);
        stored[i] = (LiveSet){regs, (uint32_t)sets[i].count};
    }
    return stored;
}

Liveness *liveness_compute(Arena *arena, const Body *body)
{
    Arena *scratch = arena_new();
    size_t blocks = body->blocks.count, regs = body->regs.count;
    require(regs < UINT32_MAX - 1);
    Walk walk = {
        .body = body,
        .scratch = scratch,
        .exposed.head = ARENA_ARRAY(scratch, uint32_t, regs),
        .leaving.head = ARENA_ARRAY(scratch, uint32_t, regs),
        .keeping.head = ARENA_ARRAY(scratch, uint32_t, regs),
        .in = ARENA_ARRAY(scratch, RegIdVec, blocks),
        .out = ARENA_ARRAY(scratch, RegIdVec, blocks),
        .killed = ARENA_ARRAY(scratch, uint32_t, blocks),
        .stack = ARENA_ARRAY(scratch, uint32_t, blocks),
    };
    uint32_t *killed_here = ARENA_ARRAY(scratch, uint32_t, regs);
    for (size_t i = 0; i < blocks; i++)
        block_scan(&walk, body->blocks.data[i], killed_here);
    for (RegId reg = 0; reg < regs; reg++)
        if (!body->ssa || walk.keeping.head[reg])
            reg_walk(&walk, reg);
    Liveness *liveness = ARENA_NEW(arena, Liveness);
    liveness->body = body;
    liveness->reg_count = regs;
    liveness->in = sets_store(arena, walk.in, blocks);
    liveness->out = sets_store(arena, walk.out, blocks);
    liveness->undefined = bitset_new(arena, regs);
    for (RegId reg = 0; reg < regs; reg++)
        if (body->ssa && !walk.keeping.head[reg])
            bitset_add(&liveness->undefined, reg);
    arena_free(scratch);
    return liveness;
}

bool live_set_has(LiveSet set, RegId reg)
{
    uint32_t low = 0, high = set.count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (set.regs[middle] < reg)
            low = middle + 1;
        else
            high = middle;
    }
    return low < set.count && set.regs[low] == reg;
}

RegSet regset_new(Arena *arena, size_t reg_count)
{
    require(reg_count < UINT32_MAX);
    return (RegSet){ARENA_ARRAY(arena, RegId, reg_count), ARENA_ARRAY(arena, uint32_t, reg_count), 0,
                    (uint32_t)reg_count};
}

bool regset_add(RegSet *set, RegId reg)
{
    require(reg < set->capacity);
    if (regset_has(set, reg))
        return false;
    set->position[reg] = set->count;
    set->members[set->count++] = reg;
    return true;
}

bool regset_remove(RegSet *set, RegId reg)
{
    require(reg < set->capacity);
    if (!regset_has(set, reg))
        return false;
    RegId moved = set->members[--set->count];
    set->members[set->position[reg]] = moved;
    set->position[moved] = set->position[reg];
    return true;
}
