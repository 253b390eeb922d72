/* Into SSA form.
 *
 * Pruned SSA: phis on the iterated dominance frontier of the definitions (Cytron, Ferrante, Rosen, Wegman, Zadeck:
 * "Efficiently Computing Static Single Assignment Form and the Control Dependence Graph", TOPLAS 1991), where the
 * register is live. Most registers of compiled code are written once, before every use: those are left alone.
 * Everything below handles one register at a time, so that memory grows with the live ranges and not with registers
 * times blocks.
 *
 * Requires: reachable blocks only (others are removed here), an entry without predecessors. */
#include "ir/internal.h"

#include <string.h>

typedef struct Node { /* of a list of blocks */
    uint32_t block, next;
} Node;

enum { END = UINT32_MAX };

typedef struct Place { /* of the only definition of a register */
    uint32_t block, position;
} Place;

typedef struct Converter {
    Body *body;
    Arena *scratch;
    const Dominance *dominance;
    const BlockLists *frontiers;
    uint32_t *def_count; /* by register */
    Place *def_place;
    bool *renamed;   /* registers that get versions */
    bool *undefined; /* may be read before any write */
    bool *id_used;   /* the first version has taken the register's own id */
    VEC(Node) nodes;
    uint32_t *defs, *exposed;   /* by register: blocks that write it; blocks that read it before writing it */
    VEC(RegId) * phi_registers; /* by block, beside Block.phis: whose version the phi is */
    RegId *current;             /* by register: its version at this point of the walk */
} Converter;

static bool role_reads(unsigned role)
{
    return role == REF_USE || role == REF_TIED;
}

/* A guarded definition keeps the old value when the guard is false, an updated operand reads it: both become a DEF
 * with a TIED use after all other references. The TIED reference of an updated operand has the access's type, that
 * of a guard has none: leaving SSA form relies on the difference. */
static void ties_add(Body *body, Inst *inst)
{
    unsigned ties = 0;
    for (unsigned i = 0; i < inst->ref_count; i++)
        if (inst->refs[i].role == REF_BOTH || (inst->refs[i].role == REF_DEF && inst_is_guarded(inst)))
            ties++;
    for (unsigned i = 0; i < inst->ref_count; i++)
        inst->refs[i].partner = REF_NONE;
    if (!ties)
        return;
    require(inst->tied_count == 0 && inst->ref_count + ties < REF_NONE);
    RegRef *refs = ARENA_ARRAY(body->arena, RegRef, inst->ref_count + ties);
    memcpy(refs, inst->refs, inst->ref_count * sizeof *refs);
    unsigned place = inst->ref_count;
    for (unsigned i = 0; i < inst->ref_count; i++) {
        bool updated = refs[i].role == REF_BOTH;
        if (!updated && !(refs[i].role == REF_DEF && inst_is_guarded(inst)))
            continue;
        refs[place] = (RegRef){.reg = refs[i].reg, .role = REF_TIED, .partner = (uint16_t)i};
        refs[place].type = updated ? refs[i].type : TYPE_NONE;
        refs[i].role = REF_DEF;
        refs[i].partner = (uint16_t)place++;
    }
    inst->refs = refs;
    inst->ref_count = (uint16_t)place;
    inst->tied_count = (uint16_t)ties;
}

static void definitions_count(Converter *c)
{
    uint32_t position = 0;
    for (size_t i = 0; i < c->body->blocks.count; i++)
        for (Inst *inst = c->body->blocks.data[i]->first; inst; inst = inst->next) {
            inst->id = position++;
            for (unsigned j = 0; j < inst->ref_count; j++) {
                const RegRef *ref = &inst->refs[j];
                if (ref->role != REF_DEF)
                    continue;
                c->def_count[ref->reg]++;
                c->def_place[ref->reg] = (Place){(uint32_t)i, inst->id};
                if (c->def_count[ref->reg] > 1 || ref->partner != REF_NONE)
                    c->renamed[ref->reg] = true;
            }
        }
}

static void uses_check(Converter *c)
{
    for (size_t i = 0; i < c->body->blocks.count; i++)
        for (const Inst *inst = c->body->blocks.data[i]->first; inst; inst = inst->next)
            for (unsigned j = 0; j < inst->ref_count; j++) {
                const RegRef *ref = &inst->refs[j];
                if (!role_reads(ref->role) || c->def_count[ref->reg] != 1)
                    continue;
                Place def = c->def_place[ref->reg];
                bool reached =
                    def.block == i ? def.position < inst->id : dominance_has_id(c->dominance, def.block, (uint32_t)i);
                if (!reached)
                    c->renamed[ref->reg] = true;
            }
}

static void list_push(Converter *c, uint32_t *list, uint32_t block)
{
    require(c->nodes.count < END);
    VEC_PUSH(c->scratch, c->nodes, (Node){block, *list});
    *list = (uint32_t)(c->nodes.count - 1);
}

static void occurrences_collect(Converter *c)
{
    size_t registers = c->body->regs.count;
    uint32_t *defined_in = ARENA_ARRAY(c->scratch, uint32_t, registers); /* block + 1 */
    uint32_t *exposed_in = ARENA_ARRAY(c->scratch, uint32_t, registers);
    for (size_t i = 0; i < c->body->blocks.count; i++) {
        uint32_t mark = (uint32_t)i + 1;
        for (const Inst *inst = c->body->blocks.data[i]->first; inst; inst = inst->next) {
            for (unsigned j = 0; j < inst->ref_count; j++) {
                RegId reg = inst->refs[j].reg;
                if (role_reads(inst->refs[j].role) && c->renamed[reg] && defined_in[reg] != mark &&
                    exposed_in[reg] != mark) {
                    exposed_in[reg] = mark;
                    list_push(c, &c->exposed[reg], (uint32_t)i);
                }
            }
            for (unsigned j = 0; j < inst->ref_count; j++) {
                RegId reg = inst->refs[j].reg;
                if (inst->refs[j].role == REF_DEF && c->renamed[reg] && defined_in[reg] != mark) {
                    defined_in[reg] = mark;
                    list_push(c, &c->defs[reg], (uint32_t)i);
                }
            }
        }
    }
}

typedef struct Marks { /* by block, valid for one register: its id + 1 */
    uint32_t *live, *defined, *phi;
    VEC(uint32_t) work;
} Marks;

static void live_blocks_mark(Converter *c, Marks *marks, RegId reg)
{
    uint32_t mark = reg + 1;
    for (uint32_t n = c->defs[reg]; n != END; n = c->nodes.data[n].next)
        marks->defined[c->nodes.data[n].block] = mark;
    for (uint32_t n = c->exposed[reg]; n != END; n = c->nodes.data[n].next) {
        marks->live[c->nodes.data[n].block] = mark;
        VEC_PUSH(c->scratch, marks->work, c->nodes.data[n].block);
    }
    while (marks->work.count) {
        const Block *block = c->body->blocks.data[VEC_POP(marks->work)];
        if (block->id == 0)
            c->undefined[reg] = true;
        for (unsigned i = 0; i < block->pred_count; i++) {
            uint32_t pred = block->preds[i]->id;
            if (marks->defined[pred] == mark || marks->live[pred] == mark)
                continue;
            marks->live[pred] = mark;
            VEC_PUSH(c->scratch, marks->work, pred);
        }
    }
}

static void phis_place(Converter *c, Marks *marks, RegId reg)
{
    uint32_t mark = reg + 1;
    for (uint32_t n = c->defs[reg]; n != END; n = c->nodes.data[n].next)
        VEC_PUSH(c->scratch, marks->work, c->nodes.data[n].block);
    while (marks->work.count) {
        const Block *from = c->body->blocks.data[VEC_POP(marks->work)];
        for (uint32_t i = 0; i < block_list_count(c->frontiers, from); i++) {
            uint32_t at = block_list(c->frontiers, from)[i]->id;
            if (marks->phi[at] == mark || marks->live[at] != mark)
                continue;
            marks->phi[at] = mark;
            VEC_PUSH(c->body->arena, c->body->blocks.data[at]->phis, (Phi){.dst = reg});
            VEC_PUSH(c->scratch, c->phi_registers[at], reg);
            VEC_PUSH(c->scratch, marks->work, at);
        }
    }
}

typedef struct Undo {
    RegId reg, version;
} Undo;

typedef struct Visit {
    uint32_t block;
    size_t undo_mark; /* SIZE_MAX: not entered yet */
} Visit;

static RegId version_new(Converter *c, RegId reg)
{
    if (!c->undefined[reg] && !c->id_used[reg]) {
        c->id_used[reg] = true;
        return reg;
    }
    return body_clone_reg(c->body, reg);
}

typedef VEC(Undo) UndoVec;

static RegId define(Converter *c, UndoVec *undo, RegId reg)
{
    RegId version = version_new(c, reg);
    VEC_PUSH(c->scratch, *undo, (Undo){reg, c->current[reg]});
    c->current[reg] = version;
    return version;
}

static void block_rename(Converter *c, Block *block, UndoVec *undo)
{
    for (size_t i = 0; i < block->phis.count; i++)
        block->phis.data[i].dst = define(c, undo, c->phi_registers[block->id].data[i]);
    for (Inst *inst = block->first; inst; inst = inst->next) {
        for (unsigned i = 0; i < inst->ref_count; i++)
            if (role_reads(inst->refs[i].role) && c->renamed[inst->refs[i].reg])
                inst->refs[i].reg = c->current[inst->refs[i].reg];
        for (unsigned i = 0; i < inst->ref_count; i++)
            if (inst->refs[i].role == REF_DEF && c->renamed[inst->refs[i].reg])
                inst->refs[i].reg = define(c, undo, inst->refs[i].reg);
    }
}

static void phi_args_add(Converter *c, Block *block, Block *succ)
{
    for (size_t i = 0; i < succ->phis.count; i++) {
        Phi *phi = &succ->phis.data[i];
        if (phi->args.count && VEC_LAST(phi->args).pred == block)
            return; /* one of several edges from here */
        VEC_PUSH(c->body->arena, phi->args, (PhiArg){block, c->current[c->phi_registers[succ->id].data[i]]});
    }
}

static void versions_assign(Converter *c)
{
    VEC(Visit) stack = {0};
    UndoVec undo = {0};
    VEC_PUSH(c->scratch, stack, (Visit){0, SIZE_MAX});
    while (stack.count) {
        Visit *visit = &VEC_LAST(stack);
        if (visit->undo_mark != SIZE_MAX) {
            for (; undo.count > visit->undo_mark; undo.count--)
                c->current[VEC_LAST(undo).reg] = VEC_LAST(undo).version;
            stack.count--;
            continue;
        }
        visit->undo_mark = undo.count;
        uint32_t id = visit->block;
        Block *block = c->body->blocks.data[id];
        block_rename(c, block, &undo);
        if (block->fall)
            phi_args_add(c, block, block->fall);
        for (unsigned i = 0; block->last && i < block->last->target_count; i++)
            phi_args_add(c, block, block->last->targets[i]);
        for (uint32_t child = c->dominance->first_child[id]; child != BLOCK_NONE;
             child = c->dominance->next_sibling[child])
            VEC_PUSH(c->scratch, stack, (Visit){child, SIZE_MAX});
    }
}

static void converter_init(Converter *c, Body *body)
{
    size_t registers = body->regs.count, blocks = body->blocks.count;
    c->body = body;
    c->scratch = arena_new();
    c->dominance = dominance_compute(c->scratch, body);
    c->frontiers = dominance_frontiers(c->scratch, c->dominance);
    c->def_count = ARENA_ARRAY(c->scratch, uint32_t, registers);
    c->def_place = ARENA_ARRAY(c->scratch, Place, registers);
    c->renamed = ARENA_ARRAY(c->scratch, bool, registers);
    c->undefined = ARENA_ARRAY(c->scratch, bool, registers);
    c->id_used = ARENA_ARRAY(c->scratch, bool, registers);
    c->defs = ARENA_ARRAY(c->scratch, uint32_t, registers);
    c->exposed = ARENA_ARRAY(c->scratch, uint32_t, registers);
    c->current = ARENA_ARRAY(c->scratch, RegId, registers);
    c->phi_registers = arena_array(c->scratch, blocks, sizeof *c->phi_registers);
    for (size_t i = 0; i < registers; i++) {
        c->defs[i] = c->exposed[i] = END;
        c->current[i] = (RegId)i;
    }
}

void body_to_ssa(Body *body)
{
    require(!body->ssa);
    body_remove_unreachable(body);
    require(body->blocks.data[0]->pred_count == 0);
    Converter c = {0};
    for (size_t i = 0; i < body->blocks.count; i++)
        for (Inst *inst = body->blocks.data[i]->first; inst; inst = inst->next)
            ties_add(body, inst);
    converter_init(&c, body);
    definitions_count(&c);
    uses_check(&c);
    occurrences_collect(&c);
    Marks marks = {0};
    marks.live = ARENA_ARRAY(c.scratch, uint32_t, body->blocks.count);
    marks.defined = ARENA_ARRAY(c.scratch, uint32_t, body->blocks.count);
    marks.phi = ARENA_ARRAY(c.scratch, uint32_t, body->blocks.count);
    size_t registers = body->regs.count;
    for (size_t i = 0; i < registers; i++)
        if (c.renamed[i]) {
            live_blocks_mark(&c, &marks, (RegId)i);
            phis_place(&c, &marks, (RegId)i);
        }
    versions_assign(&c);
    arena_free(c.scratch);
    body->ssa = true;
}
