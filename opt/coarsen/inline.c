/* Inlining: calls of functions that mind which thread they run in.
 *
 * Coarsening runs a call once for each replica, with the special registers of the real thread. A function that reads
 * the thread's index, synchronizes or observes other threads cannot be called so; its code in the kernel can be
 * coarsened like any other. Calls of such functions become their bodies here, as far as
 *   - the function is named and defined, does not call itself, and passes its parameters and results in .param memory;
 *   - these are read and written in place, by plain loads and stores of whole registers. Each such place becomes a
 *     register.
 * If one such call has to stay, all do, and coarsening says why it refuses it. Shared variables of a function are the
 * same in all of its copies; local ones are not, since a call leaves nothing in them.
 *
 * Requires the body form before SSA. Blocks, edges and all analyses change. */
#include "opt/coarsen/coarsen.h"
#include "opt/passes.h"

#include <string.h>

enum { MOST_CALLS = 200, MOST_INSTRUCTIONS = 200000 };

/* A parameter's or result's place, of one size. */
typedef struct Slot {
    const Variable *variable; /* of the caller */
    uint64_t offset;
    unsigned bytes;
    RegId reg;
} Slot;

typedef struct Passed {
    Variable *formal, *actual;
} Passed;

typedef struct Inliner {
    Body *body;
    Arena *scratch;
    bool merges_blocks;
    PointerMap minds;   /* yes or no, by Function */
    PointerMap shared;  /* the body's copy of a callee's shared variable */
    size_t instructions;

    /* of the call at hand */
    Inst *call;
    Body *callee;
    VEC(Passed) passed;
    VEC(Slot) slots;
    RegId *regs;       /* by the callee's RegId */
    PointerMap blocks; /* the copies of the callee's */
} Inliner;

/* The values of 'minds' for a function; NULL: not known yet. */
static const char yes[] = "yes", no[] = "no";

static const Function *called_function(const Inst *inst)
{
    const Function *function = inst_callee(inst);
    return function && !function->has_body && function->definition ? function->definition : function;
}

/* True if the instruction itself must not be executed for one replica after the other by a call. */
static bool inst_minds(const Inliner *inliner, const Inst *inst)
{
    if (inst_is_opaque(inst) || inst_is_call(inst))
        return false;
    if (inst->effects & EFFECT_SYNC || (inst->effects & EFFECT_VOLATILE && inst->effects & EFFECT_READ) ||
        inst_op(inst) == OP_EXIT)
        return true;
    if (inliner->merges_blocks && inst_names_shared(inst))
        return true;
    const Sreg *sreg = inst_sreg(inst);
    if (!sreg)
        return false;
    CoarsenRule rule = coarsen_sreg_treatment(sreg).rule;
    return (rule != COARSEN_IF_VARIANT && rule != COARSEN_CLONED) ||
           (inliner->merges_blocks && (sreg->role == SREG_ROLE_CTAID || sreg->role == SREG_ROLE_NCTAID));
}

/* True if the function, or one that it calls, minds which thread it runs in. */
static bool function_minds(Inliner *inliner, const Function *function)
{
    VEC(const Function *) pending = {0};
    PointerMap seen = {.arena = inliner->scratch};
    bool minds = false;
    const char *known = pointer_map_get(&inliner->minds, function);
    if (known)
        return known == yes;
    VEC_PUSH(inliner->scratch, pending, function);
    while (pending.count && !minds) {
        const Function *at = VEC_POP(pending);
        if (pointer_map_get(&seen, at))
            continue;
        pointer_map_put(&seen, at, (void *)(uintptr_t)at);
        for (size_t i = 0; i < at->stmts.count && !minds; i++) {
            if (at->stmts.data[i].kind != STMT_INST)
                continue;
            const Function *next = called_function(at->stmts.data[i].inst);
            minds = inst_minds(inliner, at->stmts.data[i].inst);
            if (next)
                VEC_PUSH(inliner->scratch, pending, next);
        }
    }
    pointer_map_put(&inliner->minds, function, (void *)(uintptr_t)(minds ? yes : no));
    return minds;
}

/* True if the function may come to call itself. */
static bool is_recursive(const Inliner *inliner, const Function *function)
{
    VEC(const Function *) pending = {0};
    PointerMap seen = {.arena = inliner->scratch};
    VEC_PUSH(inliner->scratch, pending, function);
    while (pending.count) {
        const Function *at = VEC_POP(pending);
        for (size_t i = 0; i < at->stmts.count; i++) {
            const Function *next = at->stmts.data[i].kind == STMT_INST ? called_function(at->stmts.data[i].inst) : NULL;
            if (next == function)
                return true;
            if (!next || pointer_map_get(&seen, next))
                continue;
            pointer_map_put(&seen, next, (void *)(uintptr_t)next);
            VEC_PUSH(inliner->scratch, pending, next);
        }
    }
    return false;
}

/* Pairs the variables of a list with the formal ones. */
static bool pair_list(Inliner *inliner, const Operand *list, Variable *const *formals, unsigned count)
{
    unsigned given = list ? list->item_count : 0;
    if (given != count)
        return false;
    for (unsigned i = 0; i < count; i++) {
        const Operand *item = &list->items[i];
        if (item->kind != OPERAND_SYMBOL || item->symbol.kind != SYMBOL_VARIABLE || item->constant ||
            item->symbol.variable->space != SPACE_PARAM || item->symbol.variable->is_parameter ||
            formals[i]->space != SPACE_PARAM)
            return false;
        VEC_PUSH(inliner->scratch, inliner->passed, ((Passed){formals[i], item->symbol.variable}));
    }
    return true;
}

static bool pair_variables(Inliner *inliner)
{
    const Inst *call = inliner->call;
    const Prototype *prototype = &inliner->callee->function->prototype;
    const Operand *lists[2] = {NULL, NULL}; /* before and after the function's name */
    bool named = false;
    for (unsigned i = 0; i < call->operand_count; i++) {
        if (call->operands[i].kind == OPERAND_LIST)
            lists[named] = &call->operands[i];
        else if (call->operands[i].kind == OPERAND_SYMBOL && !named)
            named = true;
        else
            return false;
    }
    inliner->passed.count = 0;
    return pair_list(inliner, lists[0], prototype->returns, prototype->return_count) &&
           pair_list(inliner, lists[1], prototype->params, prototype->param_count);
}

static bool mentions(const Operand *operand, const Variable *variable)
{
    if (operand->kind == OPERAND_SYMBOL && operand->symbol.kind == SYMBOL_VARIABLE &&
        operand->symbol.variable == variable)
        return true;
    for (unsigned i = 0; i < operand->item_count; i++)
        if (mentions(&operand->items[i], variable))
            return true;
    return false;
}

/* The passed variable that the instruction names, as the caller's; NULL if none. */
static Variable *passed_variable(const Inliner *inliner, const Inst *inst)
{
    for (unsigned i = 0; i < inst->operand_count; i++)
        for (size_t p = 0; p < inliner->passed.count; p++)
            if (mentions(&inst->operands[i], inliner->passed.data[p].formal) ||
                mentions(&inst->operands[i], inliner->passed.data[p].actual))
                return inliner->passed.data[p].actual;
    return NULL;
}

/* The values that a load or store of a passed variable moves: registers, or a number. */
typedef struct Moves {
    unsigned count, bytes;
    uint64_t offset; /* of the first */
    RegId regs[4];   /* REG_NONE: the number */
    int64_t number;
} Moves;

static bool item_moves(const Body *body, const Inst *inst, const Operand *item, Moves *moves)
{
    RegId *place = &moves->regs[moves->count++];
    uint64_t bits;
    if (operand_is_integer(item, &bits)) {
        *place = REG_NONE;
        moves->number = (int64_t)bits;
        return moves->bytes <= 4 || bits <= INT64_MAX;
    }
    *place = operand_plain_reg(inst, item);
    if (*place == REG_NONE)
        return false;
    const Reg *reg = &body->regs.data[*place];
    return reg->vector <= 1 && reg->type != TYPE_PRED && type_bits(reg->type) == moves->bytes * 8;
}

/* False if it is not as simple as that. */
static bool find_moves(const Body *body, const Inst *inst, Moves *moves)
{
    Access access;
    if (!inst_is_plain(inst) || inst->operand_count != 2 || !inst_access(inst, &access) ||
        (access.kind != ACCESS_LOAD && access.kind != ACCESS_STORE) || access.space != SPACE_PARAM ||
        &inst->operands[access.kind == ACCESS_LOAD] != access.address ||
        access.address->items[0].kind != OPERAND_SYMBOL)
        return false;
    const Operand *value = &inst->operands[access.kind == ACCESS_STORE];
    unsigned count = value->kind == OPERAND_VECTOR ? value->item_count : 1;
    const Operand *items = value->kind == OPERAND_VECTOR ? value->items : value;
    *moves = (Moves){.offset = access.address->constant ? access.address->constant->bits : 0};
    if (count > 4 || access.bytes % count)
        return false;
    moves->bytes = access.bytes / count;
    bool fits = moves->bytes == 2 || moves->bytes == 4 || moves->bytes == 8;
    for (unsigned i = 0; i < count && fits; i++)
        fits = item_moves(body, inst, &items[i], moves);
    return fits;
}

/* The slot of a place. False if another one overlaps it. */
static bool find_slot(Inliner *inliner, const Variable *variable, uint64_t offset, unsigned bytes, bool may_add,
                      RegId *reg)
{
    for (size_t i = 0; i < inliner->slots.count; i++) {
        const Slot *slot = &inliner->slots.data[i];
        if (slot->variable != variable || slot->offset >= offset + bytes || offset >= slot->offset + slot->bytes)
            continue;
        *reg = slot->reg;
        return slot->offset == offset && slot->bytes == bytes;
    }
    if (may_add)
        VEC_PUSH(inliner->scratch, inliner->slots, ((Slot){variable, offset, bytes, REG_NONE}));
    return may_add;
}

/* True if all instructions that name passed variables only move values. Finds their slots. */
static bool find_slots(Inliner *inliner, const Body *body)
{
    for (size_t b = 0; b < body->blocks.count; b++)
        for (const Inst *inst = body->blocks.data[b]->first; inst; inst = inst->next) {
            Moves moves;
            RegId reg;
            const Variable *variable = inst == inliner->call ? NULL : passed_variable(inliner, inst);
            if (!variable)
                continue;
            if (!find_moves(body, inst, &moves))
                return false;
            for (unsigned i = 0; i < moves.count; i++)
                if (!find_slot(inliner, variable, moves.offset + i * moves.bytes, moves.bytes, true, &reg))
                    return false;
        }
    return true;
}

static bool callee_fits(const Inliner *inliner)
{
    const Body *callee = inliner->callee;
    for (size_t i = 0; i < callee->variables.count; i++) {
        Space space = callee->variables.data[i]->space;
        if (space != SPACE_LOCAL && space != SPACE_SHARED && space != SPACE_PARAM)
            return false;
    }
    for (size_t i = 0; i < callee->regs.count; i++)
        if (callee->regs.data[i].vector > 1)
            return false;
    for (size_t b = 0; b < callee->blocks.count; b++)
        for (const Inst *inst = callee->blocks.data[b]->first; inst; inst = inst->next)
            if (inst->target_count > 1 || inst->effects & EFFECT_STACK)
                return false;
    return callee->tables.count == 0;
}

/* Puts moves to or from the slots in the place of a load or store. */
static void replace_access(Inliner *inliner, const Body *owner, Inst *inst, const Variable *variable,
                           const RegId *renamed)
{
    Body *body = inliner->body;
    bool stores = inst_op(inst) == OP_ST;
    Moves moves;
    bool found = find_moves(owner, inst, &moves);
    for (unsigned i = 0; i < moves.count && found; i++) {
        const char *spelling = moves.bytes == 8 ? "mov.b64" : moves.bytes == 4 ? "mov.b32" : "mov.b16";
        RegId slot = REG_NONE, reg = moves.regs[i];
        found = find_slot(inliner, variable, moves.offset + i * moves.bytes, moves.bytes, false, &slot);
        reg = renamed && reg != REG_NONE ? renamed[reg] : reg;
        Inst *move = reg == REG_NONE ? inst_build(body, spelling, "di", slot, moves.number)
                                     : inst_build(body, spelling, "dr", stores ? slot : reg, stores ? reg : slot);
        move->loc = inst->loc;
        move->span = inst->span;
        inst_insert_before(inst, move);
    }
    require(found);
    inst_remove(inst);
}

static Variable *copy_variable(Inliner *inliner, Variable *variable)
{
    Variable *copy = variable->space == SPACE_SHARED ? pointer_map_get(&inliner->shared, variable) : NULL;
    if (copy)
        return copy;
    copy = ARENA_NEW(inliner->body->module->arena, Variable);
    *copy = *variable;
    copy->name = body_unique_name(inliner->body, variable->name);
    copy->function = inliner->body->function;
    VEC_PUSH(inliner->body->arena, inliner->body->variables, copy);
    if (variable->space == SPACE_SHARED)
        pointer_map_put(&inliner->shared, variable, copy);
    return copy;
}

/* The rest of the call's block, after the call, becomes a block of its own. */
static Block *split_after_call(Inliner *inliner)
{
    Block *before = inliner->call->block, *after = body_add_block(inliner->body, before);
    while (inliner->call->next) {
        Inst *inst = inliner->call->next;
        inst_remove(inst);
        inst_append(after, inst);
    }
    after->fall = before->fall;
    before->fall = NULL;
    return after;
}

static void copy_inst(Inliner *inliner, Block *block, const Inst *inst, Block *after, Variable *const *copies)
{
    const Body *callee = inliner->callee;
    Inst *copy = inst_clone(inliner->body, inst);
    for (unsigned r = 0; r < copy->ref_count; r++)
        if (copy->refs[r].reg != REG_NONE)
            copy->refs[r].reg = inliner->regs[copy->refs[r].reg];
    for (unsigned t = 0; t < copy->target_count; t++)
        copy->targets[t] = pointer_map_get(&inliner->blocks, copy->targets[t]);
    for (size_t i = 0; i < callee->variables.count; i++)
        if (copies[i] != callee->variables.data[i])
            inst_replace_symbol(inliner->body, copy, callee->variables.data[i], copies[i]);
    if (inst_op(inst) == OP_RET && !inst_is_opaque(inst)) {
        if (inst_is_guarded(copy))
            inst_append(block, inst_build_branch(inliner->body, after, inst_predicate(copy), copy->guard_inverted));
        else
            block->fall = after;
        return;
    }
    inst_append(block, copy);
}

static void copy_blocks(Inliner *inliner, Block *after, Variable *const *copies)
{
    const Body *callee = inliner->callee;
    Block *place = inliner->call->block;
    for (size_t b = 0; b < callee->blocks.count; b++) {
        Block *copy = place = body_add_block(inliner->body, place);
        const Block *block = callee->blocks.data[b];
        for (size_t p = 0; p < block->pragmas.count; p++)
            VEC_PUSH(inliner->body->arena, copy->pragmas, block->pragmas.data[p]);
        pointer_map_put(&inliner->blocks, block, copy);
    }
    for (size_t b = 0; b < callee->blocks.count; b++) {
        const Block *block = callee->blocks.data[b];
        Block *copy = pointer_map_get(&inliner->blocks, block);
        bool ends = !block->fall && (!block->last || inst_falls_through(block->last));
        copy->fall = ends ? after : block->fall ? pointer_map_get(&inliner->blocks, block->fall) : NULL;
        for (const Inst *inst = block->first, *next; inst; inst = next) {
            next = inst->next;
            const Variable *variable = passed_variable(inliner, inst);
            if (!variable) {
                copy_inst(inliner, copy, inst, after, copies);
                continue;
            }
            Inst *access = inst_clone(inliner->body, inst);
            inst_append(copy, access);
            replace_access(inliner, callee, access, variable, inliner->regs);
        }
    }
    inliner->call->block->fall = pointer_map_get(&inliner->blocks, callee->blocks.data[0]);
}

static void make_slots(Inliner *inliner)
{
    for (size_t i = 0; i < inliner->slots.count; i++) {
        Slot *slot = &inliner->slots.data[i];
        Type type = slot->bytes == 8 ? TYPE_B64 : slot->bytes == 4 ? TYPE_B32 : TYPE_B16;
        slot->reg = body_add_reg(inliner->body, type, intern(inliner->body->module->names, "%passed"));
    }
}

static void remove_passed(Inliner *inliner)
{
    Body *body = inliner->body;
    size_t kept = 0;
    for (size_t i = 0; i < body->variables.count; i++) {
        bool is_passed = false;
        for (size_t p = 0; p < inliner->passed.count; p++)
            is_passed |= inliner->passed.data[p].actual == body->variables.data[i];
        if (!is_passed)
            body->variables.data[kept++] = body->variables.data[i];
    }
    body->variables.count = kept;
}

static void inline_call(Inliner *inliner)
{
    Body *body = inliner->body;
    const Body *callee = inliner->callee;
    make_slots(inliner);
    for (size_t b = 0; b < body->blocks.count; b++)
        for (Inst *inst = body->blocks.data[b]->first, *next; inst; inst = next) {
            next = inst->next;
            const Variable *variable = inst == inliner->call ? NULL : passed_variable(inliner, inst);
            if (variable)
                replace_access(inliner, body, inst, variable, NULL);
        }
    inliner->regs = ARENA_ARRAY(inliner->scratch, RegId, callee->regs.count);
    for (size_t r = 0; r < callee->regs.count; r++)
        inliner->regs[r] = body_add_reg(body, callee->regs.data[r].type, callee->regs.data[r].name);
    Variable **copies = ARENA_ARRAY(inliner->scratch, Variable *, callee->variables.count);
    for (size_t i = 0; i < callee->variables.count; i++)
        copies[i] = copy_variable(inliner, callee->variables.data[i]);
    inliner->blocks = (PointerMap){.arena = inliner->scratch};
    Block *after = split_after_call(inliner);
    copy_blocks(inliner, after, copies);
    inst_remove(inliner->call);
    remove_passed(inliner);
    body_renumber(body);
    body_update_preds(body);
    body_remove_unreachable(body);
}

/* Inlines the call if it can be. */
static bool try_call(Inliner *inliner, Inst *call)
{
    const Function *function = called_function(call);
    const char *reason = NULL;
    if (!function->has_body || function->is_text || inst_is_guarded(call) || is_recursive(inliner, function))
        return false;
    inliner->call = call;
    inliner->callee = body_build((Function *)function, &reason);
    if (!inliner->callee)
        return false;
    inliner->slots.count = 0;
    size_t instructions = inliner->instructions + body_inst_count(inliner->callee);
    bool fits = instructions <= MOST_INSTRUCTIONS && callee_fits(inliner) && pair_variables(inliner) &&
                find_slots(inliner, inliner->body) && find_slots(inliner, inliner->callee);
    if (fits) {
        inline_call(inliner);
        inliner->instructions = instructions;
    }
    body_free(inliner->callee);
    return fits;
}

/* The next call to be inlined; NULL if there is none left. */
static Inst *next_call(Inliner *inliner)
{
    for (size_t b = 0; b < inliner->body->blocks.count; b++)
        for (Inst *inst = inliner->body->blocks.data[b]->first; inst; inst = inst->next) {
            const Function *function = called_function(inst);
            if (function && function_minds(inliner, function))
                return inst;
        }
    return NULL;
}

bool inline_calls(Body *body, bool merges_blocks)
{
    require(!body->ssa);
    Arena *scratch = arena_new();
    Inliner inliner = {.body = body, .scratch = scratch, .merges_blocks = merges_blocks};
    inliner.minds.arena = inliner.shared.arena = scratch;
    unsigned inlined = 0;
    bool all = true;
    for (Inst *call; all && (call = next_call(&inliner)) != NULL; inlined++) {
        if (!inlined)
            inliner.instructions = body_inst_count(body);
        all = inlined < MOST_CALLS && try_call(&inliner, call);
    }
    arena_free(scratch);
    return all && inlined > 0;
}

bool pass_inline(PassContext *context)
{
    const bool orders = context->order->kind != GRID_ORDER_ROWS;
    const Shape *shape = &context->coarsening->shape;
    return inline_calls(context->body, orders || merges_any(shape->blocks) || merges_any(shape->grown));
}
