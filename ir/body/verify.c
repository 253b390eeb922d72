/* Checks, between passes, every invariant of a body that ir/ir.h states. It takes linear time except for the dominator
 * tree, so it can run after every pass. */
#include "ir/internal.h"

#include <inttypes.h>

typedef struct Place {
    uint32_t block, position; /* block UINT32_MAX: no definition; position 0: by a phi */
} Place;

typedef struct Verifier {
    const Body *body;
    Arena *scratch;
    const char *after;
    const Dominance *dominance;
    Place *defs; /* SSA: by register */
} Verifier;

/* The instruction's text is built only for a failure. */
_Noreturn static void fail(const Verifier *v, const Block *block, const Inst *inst, const char *what)
{
    Buf text = {0};
    if (inst)
        inst_print(inst, &v->body->regs, &text);
    bug("after %s, in %s, block %" PRIu32 "%s%s: %s", v->after, v->body->function->name, block ? block->id : 0,
        inst ? ", " : "", buf_text(&text), what);
}

#define check(condition, what)                                                                                         \
    do {                                                                                                               \
        if (!(condition))                                                                                              \
            fail(v, block, inst, what);                                                                                \
    } while (0)

static bool in_layout(const Verifier *v, const Block *block)
{
    return block->id < v->body->blocks.count && v->body->blocks.data[block->id] == block;
}

static void links_verify(const Verifier *v, const Block *block)
{
    const Inst *inst = NULL, *prev = NULL;
    for (const Inst *next = block->first; next; prev = next, next = next->next) {
        inst = next;
        check(inst->block == block, "the instruction belongs to another block");
        check(inst->prev == prev, "the back link is wrong");
        check(inst == block->last || !inst_is_terminator(inst), "control leaves in the middle of the block");
        check(inst->target_count == 0 || inst_is_branch(inst), "only branches have targets");
        check(inst->target_count > 0 || !inst_is_branch(inst), "a branch without targets");
        check(inst_op(inst) != OP_BRA || inst->target_count == 1, "a bra has one target");
        for (unsigned i = 0; i < inst->target_count; i++)
            check(inst->targets[i] && in_layout(v, inst->targets[i]), "a target is not a block of the body");
    }
    check(block->last == prev, "the last instruction is not the last");
    inst = block->last;
    check(!block->fall || in_layout(v, block->fall), "the fall-through target is not a block of the body");
    check(!block->fall || !inst || inst_falls_through(inst), "control falls out of an unconditional transfer");
}

/* The preds of all blocks, inverted: claims[starts[b] .. starts[b + 1]) are the blocks that name block b. */
static uint32_t *preds_invert(const Verifier *v, uint32_t **starts)
{
    const Body *body = v->body;
    const Inst *inst = NULL;
    uint32_t total = 0;
    /* Counts are stored two places ahead, so that the loops below turn them into starts. */
    uint32_t *ends = ARENA_ARRAY(v->scratch, uint32_t, body->blocks.count + 2);
    for (size_t b = 0; b < body->blocks.count; b++) {
        const Block *block = body->blocks.data[b];
        for (unsigned i = 0; i < block->pred_count; i++, total++) {
            check(in_layout(v, block->preds[i]), "a predecessor is not a block of the body");
            ends[block->preds[i]->id + 2]++;
        }
    }
    for (size_t b = 2; b < body->blocks.count + 2; b++)
        ends[b] += ends[b - 1];
    uint32_t *claims = ARENA_ARRAY(v->scratch, uint32_t, total);
    for (size_t b = 0; b < body->blocks.count; b++) {
        const Block *block = body->blocks.data[b];
        for (unsigned i = 0; i < block->pred_count; i++)
            claims[ends[block->preds[i]->id + 1]++] = (uint32_t)b;
    }
    *starts = ends;
    return claims;
}

/* Every successor of a block lists it once among its preds, and every pred has the block as a successor. */
static void preds_verify(const Verifier *v)
{
    const Body *body = v->body;
    const Inst *inst = NULL;
    uint32_t *starts, *claims = preds_invert(v, &starts);
    /* 2b + 1: this block is a successor of block b; 2b + 2: it also lists b among its preds. */
    uint32_t *stamps = ARENA_ARRAY(v->scratch, uint32_t, body->blocks.count);
    for (size_t b = 0; b < body->blocks.count; b++) {
        const Block *block = body->blocks.data[b];
        unsigned targets = block->last ? block->last->target_count : 0;
        uint32_t leads = 2 * (uint32_t)b + 1, edges = 0;
        for (unsigned i = 0; i <= targets; i++) {
            const Block *next = i < targets ? block->last->targets[i] : block->fall;
            if (!next || stamps[next->id] == leads)
                continue;
            stamps[next->id] = leads;
            edges++;
        }
        for (uint32_t i = starts[b]; i < starts[b + 1]; i++) {
            check(stamps[claims[i]] != leads + 1, "a predecessor is listed twice");
            check(stamps[claims[i]] == leads, "a listed predecessor does not branch here");
            stamps[claims[i]] = leads + 1;
        }
        check(edges == starts[b + 1] - starts[b], "the predecessors are out of date");
    }
}

static bool tree_refs_valid(const Operand *operand, unsigned limit)
{
    if (operand->kind == OPERAND_REG && operand->ref >= limit)
        return false;
    for (unsigned i = 0; i < operand->item_count; i++)
        if (!tree_refs_valid(&operand->items[i], limit))
            return false;
    return true;
}

static void ref_verify(const Verifier *v, const Inst *inst, unsigned index)
{
    const Block *block = inst->block;
    const RegRef *ref = &inst->refs[index];
    bool tied = index >= (unsigned)(inst->ref_count - inst->tied_count);
    check(ref->reg < v->body->regs.count, "a register that does not exist");
    const Reg *reg = &v->body->regs.data[ref->reg];
    if (ref->type != TYPE_NONE) {
        check((ref->type == TYPE_PRED) == (reg->type == TYPE_PRED),
              "a predicate where a value belongs, or the reverse");
        check(type_bits((Type)ref->type) <= type_bits(reg->type), "a register too narrow for its use");
    }
    check(tied == (ref->role == REF_TIED), "tied operands must come after all others");
    switch ((RefRole)ref->role) {
    case REF_USE: break;
    case REF_BOTH: check(!v->body->ssa, "an updated operand in SSA form"); break;
    case REF_DEF:
        if (!v->body->ssa)
            break;
        check(ref->partner == REF_NONE ||
                  (ref->partner < inst->ref_count && inst->refs[ref->partner].role == REF_TIED &&
                   inst->refs[ref->partner].partner == index),
              "a definition and its tied operand do not agree");
        check(ref->partner != REF_NONE || !inst_is_guarded(inst), "a guarded definition without a tied operand");
        break;
    case REF_TIED:
        check(ref->partner < inst->ref_count && inst->refs[ref->partner].role == REF_DEF &&
                  inst->refs[ref->partner].partner == index,
              "a tied operand and its definition do not agree");
        check(type_bits(reg->type) == type_bits(v->body->regs.data[inst->refs[ref->partner].reg].type),
              "a tied operand differs in width");
        break;
    }
}

static void inst_verify(const Verifier *v, const Inst *inst)
{
    const Block *block = inst->block;
    check(inst->signature, "no signature");
    check(inst->tied_count <= inst->ref_count && (v->body->ssa || !inst->tied_count), "tied operands outside SSA form");
    unsigned limit = inst->ref_count - inst->tied_count;
    if (inst_is_guarded(inst)) {
        check(inst->guard < limit && inst->refs[inst->guard].role == REF_USE, "the guard is not a use");
        check(inst->refs[inst->guard].reg < v->body->regs.count &&
                  v->body->regs.data[inst->refs[inst->guard].reg].type == TYPE_PRED,
              "the guard is not a predicate");
    }
    for (unsigned i = 0; i < inst->operand_count; i++)
        check(tree_refs_valid(&inst->operands[i], limit), "an operand does not refer to a register");
    for (unsigned i = 0; i < inst->ref_count; i++)
        ref_verify(v, inst, i);
}

static void names_verify(const Verifier *v)
{
    const Block *block = NULL;
    const Inst *inst = NULL;
    PointerMap seen = {.arena = v->scratch};
    for (size_t i = 0; i < v->body->regs.count; i++) {
        const Reg *reg = &v->body->regs.data[i];
        check(reg->name && !pointer_map_get(&seen, reg->name), "two registers have the same name");
        check(reg->origin < v->body->regs.count, "a register of unknown origin");
        pointer_map_put(&seen, reg->name, (void *)reg);
    }
}

static void definition_note(Verifier *v, const Block *block, const Inst *inst, RegId reg, uint32_t position)
{
    check(v->defs[reg].block == UINT32_MAX, "a second definition of a register");
    v->defs[reg] = (Place){block->id, position};
}

static void definitions_collect(Verifier *v)
{
    const Inst *inst = NULL;
    v->defs = ARENA_ARRAY(v->scratch, Place, v->body->regs.count);
    for (size_t i = 0; i < v->body->regs.count; i++)
        v->defs[i].block = UINT32_MAX;
    for (size_t b = 0; b < v->body->blocks.count; b++) {
        const Block *block = v->body->blocks.data[b];
        uint32_t position = 1;
        for (size_t i = 0; i < block->phis.count; i++) {
            check(block->phis.data[i].dst < v->body->regs.count, "a phi of a register that does not exist");
            definition_note(v, block, NULL, block->phis.data[i].dst, 0);
        }
        for (inst = block->first; inst; inst = inst->next, position++)
            for (unsigned i = 0; i < inst->ref_count; i++)
                if (inst->refs[i].role == REF_DEF)
                    definition_note(v, block, inst, inst->refs[i].reg, position);
        inst = NULL;
    }
}

/* An undefined register may be read anywhere. Reads in unreachable code are not checked. */
static bool reaches(const Verifier *v, RegId reg, uint32_t block, uint32_t position)
{
    Place def = v->defs[reg];
    if (def.block == UINT32_MAX || !dominance_reaches(v->dominance, block))
        return true;
    if (def.block == block)
        return def.position < position;
    return dominance_reaches(v->dominance, def.block) && dominance_has_id(v->dominance, def.block, block);
}

static void phi_verify(const Verifier *v, const Block *block, const Phi *phi, uint32_t *stamps, uint32_t mark)
{
    const Inst *inst = NULL;
    Type type = v->body->regs.data[phi->dst].type;
    check(phi->args.count == block->pred_count, "the phi does not have one argument for each predecessor");
    for (size_t i = 0; i < phi->args.count; i++) {
        PhiArg arg = phi->args.data[i];
        check(in_layout(v, arg.pred) && stamps[arg.pred->id] == mark,
              "a phi's argument is for a block that is not a predecessor, or is a duplicate");
        stamps[arg.pred->id] = 0;
        check(arg.reg < v->body->regs.count, "a phi's argument is not a register");
        Type other = v->body->regs.data[arg.reg].type;
        check(type_bits(other) == type_bits(type) && (other == TYPE_PRED) == (type == TYPE_PRED),
              "a phi's argument differs in width");
        check(reaches(v, arg.reg, arg.pred->id, UINT32_MAX),
              "a phi's argument does not reach the end of its predecessor");
    }
    for (unsigned i = 0; i < block->pred_count; i++)
        stamps[block->preds[i]->id] = mark;
}

static void ssa_verify(Verifier *v)
{
    uint32_t *stamps = ARENA_ARRAY(v->scratch, uint32_t, v->body->blocks.count);
    v->dominance = dominance_compute(v->scratch, v->body);
    definitions_collect(v);
    for (size_t b = 0; b < v->body->blocks.count; b++) {
        const Block *block = v->body->blocks.data[b];
        uint32_t position = 1, mark = (uint32_t)b + 1;
        for (unsigned i = 0; i < block->pred_count; i++)
            stamps[block->preds[i]->id] = mark;
        for (size_t i = 0; i < block->phis.count; i++)
            phi_verify(v, block, &block->phis.data[i], stamps, mark);
        for (const Inst *inst = block->first; inst; inst = inst->next, position++)
            for (unsigned i = 0; i < inst->ref_count; i++)
                check(inst->refs[i].role == REF_DEF || reaches(v, inst->refs[i].reg, (uint32_t)b, position),
                      "a register is read where its definition does not reach");
    }
}

void body_verify(const Body *body, const char *after)
{
    Verifier verifier = {.body = body, .scratch = arena_new(), .after = after}, *v = &verifier;
    const Block *block = NULL;
    const Inst *inst = NULL;
    check(body->blocks.count > 0, "no blocks");
    for (size_t b = 0; b < body->blocks.count; b++) {
        block = body->blocks.data[b];
        check(block->id == b, "the blocks are not numbered in layout order");
        check(body->ssa || !block->phis.count, "a phi outside SSA form");
    }
    for (size_t b = 0; b < body->blocks.count; b++)
        links_verify(v, body->blocks.data[b]);
    block = body->blocks.data[0];
    check(block->pred_count == 0, "the entry has predecessors");
    preds_verify(v);
    names_verify(v);
    for (size_t b = 0; b < body->blocks.count; b++)
        for (const Inst *each = body->blocks.data[b]->first; each; each = each->next)
            inst_verify(v, each);
    if (body->ssa)
        ssa_verify(v);
    arena_free(v->scratch);
}
