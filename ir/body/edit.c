/* Editing the body form: its blocks, and the instructions in them. */
#include "ir/internal.h"

#include <string.h>

Block *block_new(Body *body)
{
    return ARENA_NEW(body->arena, Block);
}

void body_renumber(Body *body)
{
    require(body->blocks.count < UINT32_MAX);
    for (size_t i = 0; i < body->blocks.count; i++)
        body->blocks.data[i]->id = (uint32_t)i;
}

Block *body_add_block(Body *body, Block *after)
{
    Block *block = block_new(body);
    size_t place = body->blocks.count;
    if (after) {
        /* Ids may be out of date between edits: trust them only where they agree with the layout. */
        place = after->id;
        if (place >= body->blocks.count || body->blocks.data[place] != after)
            for (place = 0; place < body->blocks.count && body->blocks.data[place] != after; place++)
                ;
        require(place < body->blocks.count);
        place++;
    }
    VEC_PUSH(body->arena, body->blocks, block);
    memmove(body->blocks.data + place + 1, body->blocks.data + place,
            (body->blocks.count - 1 - place) * sizeof *body->blocks.data);
    body->blocks.data[place] = block;
    for (size_t i = place; i < body->blocks.count; i++)
        body->blocks.data[i]->id = (uint32_t)i;
    return block;
}

Variable *body_add_array(Body *body, const char *base, Space space, uint64_t bytes, unsigned align)
{
    Arena *arena = body->module->arena;
    Variable *variable = ARENA_NEW(arena, Variable);
    *variable = (Variable){
        .name = body_unique_name(body, base),
        .space = space,
        .type = TYPE_B8,
        .vector = 1,
        .align = align,
        .is_array = true,
        .dims = ARENA_NEW(arena, uint64_t),
        .dim_count = 1,
        .function = body->function,
        .const_bank = -1,
    };
    variable->dims[0] = bytes;
    VEC_PUSH(body->arena, body->variables, variable);
    return variable;
}

void block_add_pragma(Body *body, Block *block, const char *text)
{
    Module *module = body->module;
    Pragma *pragma = ARENA_NEW(module->arena, Pragma);
    pragma->strings = ARENA_ARRAY(module->arena, Name, 1);
    pragma->strings[0] = intern(module->names, text);
    pragma->count = 1;
    VEC_PUSH(body->arena, block->pragmas, pragma);
}

static void phi_args_prune(Body *body, Arena *scratch)
{
    uint32_t *stamp = ARENA_ARRAY(scratch, uint32_t, body->blocks.count);
    for (size_t i = 0; i < body->blocks.count; i++) {
        Block *block = body->blocks.data[i];
        if (!block->phis.count)
            continue;
        uint32_t mark = (uint32_t)i + 1;
        for (unsigned j = 0; j < block->pred_count; j++)
            stamp[block->preds[j]->id] = mark;
        for (size_t p = 0; p < block->phis.count; p++) {
            Phi *phi = &block->phis.data[p];
            size_t kept = 0;
            for (size_t a = 0; a < phi->args.count; a++) {
                Block *pred = phi->args.data[a].pred;
                if (pred->id < body->blocks.count && body->blocks.data[pred->id] == pred && stamp[pred->id] == mark)
                    phi->args.data[kept++] = phi->args.data[a];
            }
            phi->args.count = kept;
        }
    }
}

void body_update_preds(Body *body)
{
    Arena *scratch = arena_new();
    body_renumber(body);
    BlockEdgeVec edges = body_edges(scratch, body);
    unsigned *counts = ARENA_ARRAY(scratch, unsigned, body->blocks.count);
    for (size_t i = 0; i < edges.count; i++)
        counts[edges.data[i].to]++;
    for (size_t i = 0; i < body->blocks.count; i++) {
        Block *block = body->blocks.data[i];
        if (counts[i] > block->pred_count)
            block->preds = ARENA_ARRAY(body->arena, Block *, counts[i]);
        block->pred_count = 0;
    }
    for (size_t i = 0; i < edges.count; i++) {
        Block *to = body->blocks.data[edges.data[i].to];
        to->preds[to->pred_count++] = body->blocks.data[edges.data[i].from];
    }
    phi_args_prune(body, scratch);
    arena_free(scratch);
}

void body_remove_unreachable(Body *body)
{
    Arena *scratch = arena_new();
    body_renumber(body);
    BitSet reached = bitset_new(scratch, body->blocks.count);
    VEC(Block *) stack = {0};
    VEC_PUSH(scratch, stack, body->blocks.data[0]);
    bitset_add(&reached, 0);
    while (stack.count) {
        Block *block = VEC_POP(stack);
        unsigned targets = block->last ? block->last->target_count : 0;
        for (unsigned i = 0; i <= targets; i++) {
            Block *next = i < targets ? block->last->targets[i] : block->fall;
            if (next && !bitset_has(&reached, next->id)) {
                bitset_add(&reached, next->id);
                VEC_PUSH(scratch, stack, next);
            }
        }
    }
    size_t kept = 0;
    for (size_t i = 0; i < body->blocks.count; i++)
        if (bitset_has(&reached, i))
            body->blocks.data[kept++] = body->blocks.data[i];
    body->blocks.count = kept;
    arena_free(scratch);
    body_update_preds(body);
}

void inst_append(Block *block, Inst *inst)
{
    require(!inst->block);
    inst->block = block;
    inst->prev = block->last;
    inst->next = NULL;
    if (block->last)
        block->last->next = inst;
    else
        block->first = inst;
    block->last = inst;
}

void inst_insert_first(Block *block, Inst *inst)
{
    if (block->first)
        inst_insert_before(block->first, inst);
    else
        inst_append(block, inst);
}

void inst_insert_before(Inst *position, Inst *inst)
{
    require(!inst->block && position->block);
    inst->block = position->block;
    inst->next = position;
    inst->prev = position->prev;
    if (position->prev)
        position->prev->next = inst;
    else
        position->block->first = inst;
    position->prev = inst;
}

void inst_insert_after(Inst *position, Inst *inst)
{
    require(!inst->block && position->block);
    inst->block = position->block;
    inst->prev = position;
    inst->next = position->next;
    if (position->next)
        position->next->prev = inst;
    else
        position->block->last = inst;
    position->next = inst;
}

void inst_remove(Inst *inst)
{
    Block *block = inst->block;
    require(block);
    if (inst->prev)
        inst->prev->next = inst->next;
    else
        block->first = inst->next;
    if (inst->next)
        inst->next->prev = inst->prev;
    else
        block->last = inst->prev;
    inst->prev = inst->next = NULL;
    inst->block = NULL;
}

Inst *inst_copy(Arena *arena, const Inst *inst)
{
    Inst *copy = ARENA_NEW(arena, Inst);
    *copy = *inst;
    copy->prev = copy->next = NULL;
    copy->block = NULL;
    copy->refs = ARENA_ARRAY(arena, RegRef, inst->ref_count);
    if (inst->ref_count)
        memcpy(copy->refs, inst->refs, inst->ref_count * sizeof *copy->refs);
    copy->targets = NULL;
    if (inst->target_count) {
        copy->targets = ARENA_ARRAY(arena, Block *, inst->target_count);
        memcpy(copy->targets, inst->targets, inst->target_count * sizeof *copy->targets);
    }
    return copy;
}

Inst *inst_clone(Body *body, const Inst *inst)
{
    return inst_copy(body->arena, inst);
}

Inst *inst_clone_renamed(Body *body, const Inst *inst, RegId *names)
{
    Inst *own = inst_clone(body, inst);
    for (unsigned r = 0; r < own->ref_count; r++)
        if (ref_reads(&own->refs[r]) && !ref_writes(&own->refs[r]))
            own->refs[r].reg = names[own->refs[r].reg];
    for (unsigned r = 0; r < own->ref_count; r++)
        if (ref_writes(&own->refs[r])) {
            const RegId old = own->refs[r].reg;
            own->refs[r].reg = names[old] = body_clone_reg(body, old);
        }
    return own;
}

bool inst_uses(const Inst *inst, RegId reg)
{
    for (unsigned i = 0; i < inst->ref_count; i++)
        if (inst->refs[i].reg == reg && inst->refs[i].role != REF_DEF)
            return true;
    return false;
}

/* Makes room for a register that the instruction reads, as its reference 'at'; the operands' references from there on
 * have been shifted. */
static void insert_use(Body *body, Inst *inst, uint16_t at, RegId reg)
{
    require(inst->ref_count < REF_NONE - 1);
    RegRef *refs = ARENA_ARRAY(body->arena, RegRef, inst->ref_count + 1u);
    if (at)
        memcpy(refs, inst->refs, at * sizeof *refs);
    if (inst->ref_count > at)
        memcpy(refs + at + 1, inst->refs + at, (inst->ref_count - at) * sizeof *refs);
    refs[at] = (RegRef){.reg = reg, .role = REF_USE, .partner = REF_NONE};
    inst->refs = refs;
    inst->ref_count++;
    for (unsigned i = 0; i < inst->ref_count; i++)
        if (refs[i].partner != REF_NONE && refs[i].partner >= at)
            refs[i].partner++;
    if (inst_is_guarded(inst))
        inst->guard++;
}

/* The end of the operands' references; those of the guard and of tied old values follow. */
static uint16_t operands_end(const Inst *inst)
{
    return inst_is_guarded(inst) ? inst->guard : inst->ref_count - inst->tied_count;
}

void inst_replace_operand(Body *body, Inst *inst, unsigned index, RegId reg)
{
    require(index < inst->operand_count);
    Operand *operand = &inst->operands[index];
    if (operand->kind == OPERAND_REG) {
        require(inst->refs[operand->ref].role == REF_USE);
        inst->refs[operand->ref].reg = reg;
        return;
    }
    /* Operand trees are shared between clones. */
    uint16_t at = operands_end(inst);
    Operand *operands = ARENA_ARRAY(body->module->arena, Operand, inst->operand_count);
    memcpy(operands, inst->operands, inst->operand_count * sizeof *operands);
    operands[index] = (Operand){.kind = OPERAND_REG, .ref = at, .span = operand->span};
    inst->operands = operands;
    insert_use(body, inst, at, reg);
    inst_bind_again(body, inst);
}

static bool operand_is(const Operand *operand, const void *named)
{
    return operand->kind == OPERAND_SREG ? operand->sreg == named
                                         : operand->kind == OPERAND_SYMBOL &&
                                               operand->symbol.kind == SYMBOL_VARIABLE &&
                                               operand->symbol.variable == named;
}

/* Shifts the references from 'at' on by one and replaces each occurrence of the special register or variable by a
 * register; false if there is none. */
static bool tree_replace(Arena *arena, Operand *operand, const void *named, uint16_t at)
{
    bool found = operand_is(operand, named);
    if (found) {
        *operand = (Operand){.kind = OPERAND_REG, .ref = at, .span = operand->span, .constant = operand->constant};
        return true;
    }
    if (operand->kind == OPERAND_REG && operand->ref >= at)
        operand->ref++;
    if (!operand->item_count)
        return false;
    Operand *items = ARENA_ARRAY(arena, Operand, operand->item_count);
    memcpy(items, operand->items, operand->item_count * sizeof *items);
    operand->items = items;
    for (unsigned i = 0; i < operand->item_count; i++)
        found |= tree_replace(arena, &items[i], named, at);
    return found;
}

/* Makes the instruction read a register instead of what it names; it must be bound again. */
static void replace_named(Body *body, Inst *inst, const void *named, RegId reg)
{
    Arena *trees = body->module->arena; /* they outlive the body: clones of it share them */
    uint16_t at = operands_end(inst);
    Operand *operands = ARENA_ARRAY(trees, Operand, inst->operand_count);
    memcpy(operands, inst->operands, inst->operand_count * sizeof *operands);
    bool found = false;
    for (unsigned i = 0; i < inst->operand_count; i++)
        found |= tree_replace(trees, &operands[i], named, at);
    require(found);
    inst->operands = operands;
    insert_use(body, inst, at, reg);
}

void inst_replace_variable(Body *body, Inst *inst, const Variable *variable, RegId reg)
{
    replace_named(body, inst, variable, reg);
    inst_bind_again(body, inst);
}

void inst_replace_special(Body *body, Inst *inst, const Sreg *sreg, RegId reg)
{
    replace_named(body, inst, sreg, reg);
    const Operand *operands = inst->operands;
    /* The 16 low bits of a special register are a plain mov; those of a register are a conversion. */
    if (inst_op(inst) == OP_MOV && operands[0].kind == OPERAND_REG && type_bits(inst->signature->types[0]) == 16)
        inst->signature = signature_parse(body->module, "cvt.u16.u32");
    inst_bind_again(body, inst);
}

void body_replace_special(Body *body, const Sreg *sreg, RegId reg)
{
    for (size_t b = 0; b < body->blocks.count; b++)
        for (Inst *inst = body->blocks.data[b]->first; inst; inst = inst->next)
            if (inst_sreg(inst) == sreg)
                inst_replace_special(body, inst, sreg, reg);
}

static const void *symbol_key(const Operand *operand)
{
    if (operand->kind != OPERAND_SYMBOL)
        return NULL;
    switch (operand->symbol.kind) {
    case SYMBOL_VARIABLE: return operand->symbol.variable;
    case SYMBOL_TABLE: return operand->symbol.table;
    case SYMBOL_FUNCTION:
    case SYMBOL_LABEL: break;
    }
    return NULL;
}

/* Recursion follows the shape of operand trees, which the grammar bounds. */
static bool tree_mentions(const Operand *operand, const PointerMap *map)
{
    const void *key = symbol_key(operand);
    if (key && pointer_map_get(map, key))
        return true;
    for (unsigned i = 0; i < operand->item_count; i++)
        if (tree_mentions(&operand->items[i], map))
            return true;
    return false;
}

static void tree_substitute(Arena *arena, Operand *operand, const PointerMap *map)
{
    const void *key = symbol_key(operand);
    void *replacement = key ? pointer_map_get(map, key) : NULL;
    if (replacement && operand->symbol.kind == SYMBOL_VARIABLE)
        operand->symbol.variable = replacement;
    else if (replacement)
        operand->symbol.table = replacement;
    operand->items = operands_substitute(arena, operand->items, operand->item_count, map);
}

Operand *operands_substitute(Arena *arena, Operand *operands, unsigned count, const PointerMap *map)
{
    bool found = false;
    for (unsigned i = 0; i < count && !found; i++)
        found = tree_mentions(&operands[i], map);
    if (!found)
        return operands;
    Operand *copy = ARENA_ARRAY(arena, Operand, count);
    memcpy(copy, operands, count * sizeof *copy);
    for (unsigned i = 0; i < count; i++)
        tree_substitute(arena, &copy[i], map);
    return copy;
}

void inst_replace_symbol(Body *body, Inst *inst, const Variable *from, Variable *to)
{
    Arena *scratch = arena_new();
    PointerMap map = {.arena = scratch};
    pointer_map_put(&map, from, to);
    /* Trees outlive the body: clones of it share them. */
    inst->operands = operands_substitute(body->module->arena, inst->operands, inst->operand_count, &map);
    arena_free(scratch);
}
