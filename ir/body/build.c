/* From the parsed form to the body form: scopes flattened, blocks cut, branches resolved. */
#include "ir/body/build.h"

#include <string.h>

typedef struct Interval {
    uint32_t begin, end;
} Interval;

typedef struct Builder {
    Function *function;
    Body *body;
    Arena *scratch;
    const char *reason;
    Elements elements;
    Formals formals;
    VEC(Interval) nested;    /* source ranges of the scopes inside the outermost one, in order */
    PointerMap renamed;      /* Variable and Table to the copies with new names */
    PointerMap label_names;  /* Label to Name */
    PointerMap label_blocks; /* Label to Block */
    PointerMap branched;     /* Labels that a branch names, and Blocks with such a label */
    Block *block;            /* where statements go; NULL after a branch */
    const Loc *loc;
    VEC(const Pragma *) pragmas;      /* waiting for a label or an instruction */
    VEC(const Pragma *) inst_pragmas; /* waiting for an instruction */
} Builder;

static bool operand_has_label(const Operand *operand)
{
    if (operand->kind == OPERAND_SYMBOL &&
        (operand->symbol.kind == SYMBOL_LABEL ||
         (operand->symbol.kind == SYMBOL_TABLE && operand->symbol.table->kind == TABLE_BRANCH_TARGETS)))
        return true;
    for (unsigned i = 0; i < operand->item_count; i++)
        if (operand_has_label(&operand->items[i]))
            return true;
    return false;
}

/* The label of a bra; NULL if the operand is something else. */
static Label *branch_label(const Inst *inst)
{
    const Operand *operand = inst->operand_count == 1 ? &inst->operands[0] : NULL;
    return operand && operand->kind == OPERAND_SYMBOL && operand->symbol.kind == SYMBOL_LABEL ? operand->symbol.label
                                                                                              : NULL;
}

static Table *branch_table(const Inst *inst)
{
    const Operand *operand = inst->operand_count == 2 ? &inst->operands[1] : NULL;
    return operand && operand->kind == OPERAND_SYMBOL && operand->symbol.kind == SYMBOL_TABLE &&
                   operand->symbol.table->kind == TABLE_BRANCH_TARGETS
               ? operand->symbol.table
               : NULL;
}

static const char *inst_check(const Builder *builder, const Inst *inst)
{
    Opcode op = inst_op(inst);
    if (op == OP_BRA) {
        Label *label = branch_label(inst);
        return label && pointer_map_get(&builder->label_names, label) ? NULL
                                                                      : "a branch to something other than a label";
    }
    if (op == OP_BRX) {
        Table *table = branch_table(inst);
        if (!table || !table->count)
            return "an indexed branch without a table of labels";
        if (table->count > UINT16_MAX)
            return "a branch table of more than 65535 labels";
        for (unsigned i = 0; i < table->count; i++)
            if (!pointer_map_get(&builder->label_names, table->labels[i]))
                return "a branch table that names no label";
        return NULL;
    }
    for (unsigned i = 0; i < inst->operand_count; i++)
        if (operand_has_label(&inst->operands[i]))
            return "a label used other than by a branch";
    return NULL;
}

static void operand_names_take(Body *body, const Operand *operand)
{
    if (operand->kind == OPERAND_SREG) {
        const char *name = operand->sreg->name, *dot = strchr(name, '.');
        body_name_take(body, intern(body->module->names, name));
        if (dot)
            body_name_take(body, intern_n(body->module->names, name, (size_t)(dot - name)));
    } else if (operand->kind == OPERAND_SYMBOL) {
        const Symbol *symbol = &operand->symbol;
        if (symbol->kind == SYMBOL_FUNCTION ||
            (symbol->kind == SYMBOL_VARIABLE && (!symbol->variable->function || symbol->variable->is_parameter)))
            body_name_take(body, intern(body->module->names, symbol_name(symbol)));
    }
    for (unsigned i = 0; i < operand->item_count; i++)
        operand_names_take(body, &operand->items[i]);
}

static void init_names_take(Body *body, const Variable *variable)
{
    for (unsigned i = 0; i < variable->init_count; i++) {
        const Init *init = &variable->inits[i];
        if (init->kind == INIT_SYMBOL && (init->symbol.kind == SYMBOL_FUNCTION ||
                                          (init->symbol.kind == SYMBOL_VARIABLE && !init->symbol.variable->function)))
            body_name_take(body, intern(body->module->names, symbol_name(&init->symbol)));
    }
}

/* Takes the names from outside that the body refers to, lest a declaration that flattening moves to the top hide
 * them. */
static void outer_names_take(Builder *builder)
{
    Function *function = builder->function;
    Body *body = builder->body;
    for (unsigned i = 0; i < function->prototype.return_count; i++)
        if (function->prototype.returns[i]->name)
            body_name_take(body, function->prototype.returns[i]->name);
    for (unsigned i = 0; i < function->prototype.param_count; i++)
        if (function->prototype.params[i]->name)
            body_name_take(body, function->prototype.params[i]->name);
    for (size_t i = 0; i < function->stmts.count; i++) {
        const Stmt *stmt = &function->stmts.data[i];
        if (stmt->kind == STMT_INST)
            for (unsigned j = 0; j < stmt->inst->operand_count; j++)
                operand_names_take(body, &stmt->inst->operands[j]);
        else if (stmt->kind == STMT_VARIABLE)
            init_names_take(body, stmt->variable);
        else if (stmt->kind == STMT_TABLE)
            for (unsigned j = 0; stmt->table->kind == TABLE_CALL_TARGETS && j < stmt->table->count; j++)
                body_name_take(body, stmt->table->functions[j]->name);
    }
}

static Name name_claim(Body *body, Name name)
{
    if (body_name_taken(body, name))
        return body_unique_name(body, name);
    body_name_take(body, name);
    return name;
}

static void scopes_collect(Builder *builder)
{
    size_t depth = 0;
    Interval current = {0, 0};
    for (size_t i = 0; i < builder->function->stmts.count; i++) {
        const Stmt *stmt = &builder->function->stmts.data[i];
        if (stmt->kind == STMT_OPEN && depth++ == 0)
            current.begin = stmt->span.begin;
        if (stmt->kind == STMT_CLOSE && depth && --depth == 0) {
            current.end = stmt->span.end;
            VEC_PUSH(builder->scratch, builder->nested, current);
        }
    }
}

static bool position_is_nested(const Builder *builder, uint32_t position)
{
    size_t low = 0, high = builder->nested.count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (builder->nested.data[middle].end <= position)
            low = middle + 1;
        else
            high = middle;
    }
    return low < builder->nested.count && builder->nested.data[low].begin <= position &&
           position < builder->nested.data[low].end;
}

static void registers_name(Builder *builder, bool nested)
{
    Body *body = builder->body;
    for (size_t i = 0; i < body->regs.count; i++) {
        Reg *reg = &body->regs.data[i];
        if (position_is_nested(builder, reg->span.begin) != nested)
            continue;
        bool is_whole = formals_is_copied(&builder->formals, (RegId)i);
        if (!is_whole) {
            reg->name = name_claim(body, reg->name);
        } else if (!builder->formals.wrong_side[i]) { /* else the header declares it */
            builder->formals.variables[i]->name = name_claim(body, reg->name);
            VEC_PUSH(body->arena, body->variables, builder->formals.variables[i]);
        }
    }
}

/* A variable with a new name, or one whose initialiser mentions such a variable, is copied: the parsed form stays as
 * it is. Copies belong to the module, because every clone of the body shares them. */
static Variable *variable_rename(Builder *builder, Variable *variable)
{
    Arena *arena = builder->body->module->arena;
    Name name = name_claim(builder->body, variable->name);
    bool mentions = false;
    for (unsigned i = 0; i < variable->init_count && !mentions; i++)
        mentions = variable->inits[i].kind == INIT_SYMBOL && variable->inits[i].symbol.kind == SYMBOL_VARIABLE &&
                   pointer_map_get(&builder->renamed, variable->inits[i].symbol.variable);
    if (name == variable->name && !mentions)
        return variable;
    Variable *copy = ARENA_NEW(arena, Variable);
    *copy = *variable;
    copy->name = name;
    if (mentions) {
        copy->inits = ARENA_ARRAY(arena, Init, copy->init_count);
        memcpy(copy->inits, variable->inits, copy->init_count * sizeof *copy->inits);
        for (unsigned i = 0; i < copy->init_count; i++) {
            Init *init = &copy->inits[i];
            if (init->kind != INIT_SYMBOL || init->symbol.kind != SYMBOL_VARIABLE)
                continue;
            Variable *replacement = pointer_map_get(&builder->renamed, init->symbol.variable);
            if (replacement)
                init->symbol.variable = replacement;
        }
    }
    pointer_map_put(&builder->renamed, variable, copy);
    return copy;
}

static void table_rename(Builder *builder, Table *table)
{
    Name name = name_claim(builder->body, table->name);
    Table *named = table;
    if (name != table->name) {
        named = ARENA_NEW(builder->body->module->arena, Table);
        *named = *table;
        named->name = name;
        pointer_map_put(&builder->renamed, table, named);
    }
    if (table->kind != TABLE_BRANCH_TARGETS)
        VEC_PUSH(builder->body->arena, builder->body->tables, named);
}

static void statements_name(Builder *builder, bool nested)
{
    size_t depth = 0;
    for (size_t i = 0; i < builder->function->stmts.count; i++) {
        const Stmt *stmt = &builder->function->stmts.data[i];
        if (stmt->kind == STMT_OPEN)
            depth++;
        else if (stmt->kind == STMT_CLOSE)
            depth--;
        if ((depth > 0) != nested)
            continue;
        if (stmt->kind == STMT_VARIABLE)
            VEC_PUSH(builder->body->arena, builder->body->variables, variable_rename(builder, stmt->variable));
        else if (stmt->kind == STMT_TABLE)
            table_rename(builder, stmt->table);
        else if (stmt->kind == STMT_LABEL)
            pointer_map_put(&builder->label_names, stmt->label, (void *)name_claim(builder->body, stmt->label->name));
    }
}

static Block *block_start(Builder *builder)
{
    Block *block = block_new(builder->body);
    VEC_PUSH(builder->body->arena, builder->body->blocks, block);
    builder->block = block;
    return block;
}

/* The block at the current place; after a branch, a new one, into which control falls if the branch was guarded. */
static Block *block_here(Builder *builder)
{
    return builder->block ? builder->block : block_start(builder);
}

static void branches_note(Builder *builder)
{
    for (size_t i = 0; i < builder->function->stmts.count; i++) {
        const Stmt *stmt = &builder->function->stmts.data[i];
        if (stmt->kind != STMT_INST || !inst_is_branch(stmt->inst))
            continue;
        Label *label = branch_label(stmt->inst);
        const Table *table = branch_table(stmt->inst);
        if (label)
            pointer_map_put(&builder->branched, label, label);
        for (unsigned j = 0; table && j < table->count; j++)
            pointer_map_put(&builder->branched, table->labels[j], table->labels[j]);
    }
}

static void pragmas_to_block(Builder *builder, Block *block)
{
    for (size_t i = 0; i < builder->pragmas.count; i++)
        VEC_PUSH(builder->body->arena, block->pragmas, builder->pragmas.data[i]);
    builder->pragmas.count = 0;
}

static void label_place(Builder *builder, Label *label)
{
    Name name = pointer_map_get(&builder->label_names, label);
    bool is_mark = module_is_debug(builder->body->module);
    bool wanted = pointer_map_get(&builder->branched, label) != NULL;
    Block *block = block_here(builder);
    if (block->first)
        block = block_start(builder);
    if (is_mark)
        VEC_PUSH(builder->body->arena, block->marks, name);
    /* A block with several labels takes the one that is branched to; the others only mark places for debug
     * information. */
    if (!block->label || (wanted && !pointer_map_get(&builder->branched, block)))
        block->label = name;
    if (wanted)
        pointer_map_put(&builder->branched, block, block);
    pointer_map_put(&builder->label_blocks, label, block);
    pragmas_to_block(builder, block);
}

static void strings_add(const Pragma *pragma, Name *strings, unsigned *count)
{
    for (unsigned i = 0; i < pragma->count; i++)
        strings[(*count)++] = pragma->strings[i];
}

/* All pragmas that are waiting for an instruction, as one; NULL if there are none. */
static const Pragma *pragmas_join(Builder *builder)
{
    Arena *arena = builder->body->module->arena; /* shared by clones of the body */
    unsigned count = 0;
    for (size_t i = 0; i < builder->pragmas.count; i++)
        count += builder->pragmas.data[i]->count;
    for (size_t i = 0; i < builder->inst_pragmas.count; i++)
        count += builder->inst_pragmas.data[i]->count;
    if (!count)
        return NULL;
    Pragma *joined = ARENA_NEW(arena, Pragma);
    joined->strings = ARENA_ARRAY(arena, Name, count);
    for (size_t i = 0; i < builder->pragmas.count; i++)
        strings_add(builder->pragmas.data[i], joined->strings, &joined->count);
    for (size_t i = 0; i < builder->inst_pragmas.count; i++)
        strings_add(builder->inst_pragmas.data[i], joined->strings, &joined->count);
    builder->pragmas.count = builder->inst_pragmas.count = 0;
    return joined;
}

static void tree_references_merge(Operand *operand, Arena *trees, const uint16_t *places)
{
    if (operand->kind == OPERAND_REG)
        operand->ref = places[operand->ref];
    if (!operand->item_count)
        return;
    Operand *items = ARENA_ARRAY(trees, Operand, operand->item_count);
    memcpy(items, operand->items, operand->item_count * sizeof *items);
    operand->items = items;
    for (unsigned i = 0; i < operand->item_count; i++)
        tree_references_merge(&items[i], trees, places);
}

static bool writes_same(const RegRef *a, const RegRef *b)
{
    return a->reg == b->reg && a->role != REF_USE && b->role != REF_USE && a->type == b->type;
}

static bool repeats_written(const Inst *inst)
{
    for (unsigned i = 0; i < inst->ref_count; i++)
        for (unsigned j = 0; j < i && inst->refs[i].role != REF_USE; j++)
            if (writes_same(&inst->refs[i], &inst->refs[j]))
                return true;
    return false;
}

/* A register that an instruction writes in two places, "mov.b64 {%r1, %r1}, %rd1", is one reference, so that it stays
 * one register in both. In an unknown instruction, this holds for every register that it names twice. */
static void references_merge(Body *body, Inst *inst)
{
    uint16_t *places = ARENA_ARRAY(body->arena, uint16_t, inst->ref_count);
    RegRef *refs = ARENA_ARRAY(body->arena, RegRef, inst->ref_count);
    uint16_t count = 0;
    for (uint16_t i = 0; i < inst->ref_count; i++) {
        uint16_t place = 0;
        while (place < count && !writes_same(&refs[place], &inst->refs[i]))
            place++;
        if (place == count)
            refs[count++] = inst->refs[i];
        else if (inst->refs[i].role == REF_BOTH)
            refs[place].role = REF_BOTH;
        places[i] = place;
    }
    if (inst_is_guarded(inst))
        inst->guard = places[inst->guard];
    Arena *trees = body->module->arena; /* operand trees outlive the body: clones share them */
    Operand *operands = ARENA_ARRAY(trees, Operand, inst->operand_count);
    memcpy(operands, inst->operands, inst->operand_count * sizeof *operands);
    inst->operands = operands;
    for (unsigned i = 0; i < inst->operand_count; i++)
        tree_references_merge(&operands[i], trees, places);
    inst->refs = refs;
    inst->ref_count = count;
}

static bool inst_writes(const Inst *inst, RegId reg)
{
    for (unsigned i = 0; i < inst->ref_count; i++)
        if (inst->refs[i].role != REF_USE && inst->refs[i].reg == reg)
            return true;
    return false;
}

static void inst_place(Builder *builder, const Inst *parsed)
{
    Body *body = builder->body;
    Block *block = block_here(builder);
    if (!block->first)
        pragmas_to_block(builder, block);
    Inst *inst = inst_copy(body->arena, parsed);
    inst->operands = operands_substitute(body->module->arena, inst->operands, inst->operand_count, &builder->renamed);
    inst->loc = builder->loc;
    inst->pragma = pragmas_join(builder);
    if (formals_rename(&builder->formals, body, inst)) {
        inst_append(block, inst);
        return;
    }
    InstVec results = {0};
    if (inst_is_call(inst))
        call_vectors_replace(&builder->formals, body, &builder->elements, block, inst, &results);
    builder->reason = elements_replace(&builder->elements, body, inst);
    if (builder->reason)
        return;
    if (repeats_written(inst))
        references_merge(body, inst);
    if (inst_reads_special_vector(inst)) {
        special_vector_split(body, block, inst);
        return;
    }
    if (inst_op(inst) == OP_RET)
        formals_leave(&builder->formals, body, &builder->elements, block);
    inst_append(block, inst);
    for (size_t i = 0; i < results.count; i++)
        inst_append(block, results.data[i]);
    if (results.count && inst_is_guarded(inst) && inst_writes(inst, inst_predicate(inst)))
        builder->reason = "a guarded call that writes its guard and a vector register";
    if (inst_is_terminator(inst))
        builder->block = NULL;
}

static void pragma_place(Builder *builder, const Pragma *pragma)
{
    switch (pragma_scope(pragma->count ? pragma->strings[0] : "")) {
    case PRAGMA_LOAD: VEC_PUSH(builder->scratch, builder->inst_pragmas, pragma); break;
    case PRAGMA_FUNCTION: VEC_PUSH(builder->body->arena, builder->body->blocks.data[0]->pragmas, pragma); break;
    case PRAGMA_BLOCK: VEC_PUSH(builder->scratch, builder->pragmas, pragma); break;
    }
}

static void blocks_cut(Builder *builder)
{
    branches_note(builder);
    formals_enter(&builder->formals, builder->body, &builder->elements, block_start(builder));
    for (size_t i = 0; i < builder->function->stmts.count && !builder->reason; i++) {
        const Stmt *stmt = &builder->function->stmts.data[i];
        switch (stmt->kind) {
        case STMT_INST:
            builder->reason = inst_check(builder, stmt->inst);
            if (!builder->reason)
                inst_place(builder, stmt->inst);
            break;
        case STMT_LABEL: label_place(builder, stmt->label); break;
        case STMT_LOC: builder->loc = stmt->loc; break;
        case STMT_PRAGMA: pragma_place(builder, stmt->pragma); break;
        case STMT_OPEN:
        case STMT_CLOSE:
        case STMT_REGISTERS:
        case STMT_VARIABLE:
        case STMT_TABLE: break;
        }
    }
    if (builder->pragmas.count)
        pragmas_to_block(builder, block_here(builder));
    if (builder->formals.has_results)
        formals_leave(&builder->formals, builder->body, &builder->elements, block_here(builder));
}

static void targets_resolve(Builder *builder, Inst *inst)
{
    Arena *arena = builder->body->arena;
    if (inst_op(inst) == OP_BRA) {
        inst->target_count = 1;
        inst->targets = ARENA_ARRAY(arena, Block *, 1);
        inst->targets[0] = pointer_map_get(&builder->label_blocks, branch_label(inst));
    } else {
        const Table *table = branch_table(inst);
        inst->targets = ARENA_ARRAY(arena, Block *, table->count);
        for (unsigned i = 0; i < table->count; i++)
            inst->targets[i] = pointer_map_get(&builder->label_blocks, table->labels[i]);
        inst->target_count = (uint16_t)table->count;
    }
}

static void edges_connect(Builder *builder)
{
    Body *body = builder->body;
    for (size_t i = 0; i < body->blocks.count; i++) {
        Block *block = body->blocks.data[i];
        if (block->last && inst_is_branch(block->last))
            targets_resolve(builder, block->last);
        if (i + 1 < body->blocks.count && (!block->last || inst_falls_through(block->last)))
            block->fall = body->blocks.data[i + 1];
    }
}

/* Labels of unreachable blocks move to the next reachable place; the last labels of the source mark the end of the
 * code. 'before' is the layout before the blocks were removed. */
static void marks_move(Body *body, Block *const *before, size_t count)
{
    VEC(Name) waiting = {0};
    for (size_t i = 0; i < count; i++) {
        Block *block = before[i];
        bool reached = block->id < body->blocks.count && body->blocks.data[block->id] == block;
        for (size_t m = 0; m < block->marks.count; m++)
            VEC_PUSH(body->arena, waiting, block->marks.data[m]);
        if (!reached)
            continue;
        block->marks.count = 0;
        for (size_t m = 0; m < waiting.count; m++)
            VEC_PUSH(body->arena, block->marks, waiting.data[m]);
        waiting.count = 0;
    }
    for (size_t m = 0; m < waiting.count; m++)
        VEC_PUSH(body->arena, body->end_marks, waiting.data[m]);
}

/* A label that nothing branches to does not start a block. */
static void blocks_join(Body *body)
{
    size_t kept = 0;
    for (size_t b = 0; b < body->blocks.count; b++) {
        Block *block = body->blocks.data[b], *last = kept ? body->blocks.data[kept - 1] : NULL;
        bool joins = last && last->fall == block && block->pred_count == 1 && !block->pragmas.count &&
                     !block->marks.count && !(last->last && inst_is_terminator(last->last));
        if (!joins) {
            body->blocks.data[kept++] = block;
            continue;
        }
        for (Inst *inst = block->first, *next; inst; inst = next) {
            next = inst->next;
            inst_remove(inst);
            inst_append(last, inst);
        }
        last->fall = block->fall;
    }
    body->blocks.count = kept;
    body_update_preds(body);
}

/* The first block's label may be the target of a branch. */
static void entry_separate(Body *body)
{
    Block *first = body->blocks.data[0];
    if (!first->pred_count)
        return;
    Block *entry = block_new(body);
    VEC_PUSH(body->arena, body->blocks, entry);
    memmove(body->blocks.data + 1, body->blocks.data, (body->blocks.count - 1) * sizeof *body->blocks.data);
    body->blocks.data[0] = entry;
    entry->fall = first;
    body_update_preds(body);
}

static Body *body_new(Function *function)
{
    Arena *arena = arena_new();
    Body *body = ARENA_NEW(arena, Body);
    body->arena = arena;
    body->function = function;
    body->module = function->module;
    body->tuning = function->tuning;
    body->names = body_names_new(body);
    return body;
}

Body *body_build(Function *function, const char **reason)
{
    *reason = function->has_body ? NULL : "no body";
    if (*reason)
        return NULL;
    Builder builder = {.function = function, .body = body_new(function), .scratch = arena_new()};
    Body *body = builder.body;
    builder.renamed.arena = builder.label_names.arena = builder.label_blocks.arena = builder.branched.arena =
        builder.scratch;
    for (size_t i = 0; i < function->regs.count; i++) {
        Reg reg = function->regs.data[i];
        reg.origin = (RegId)i;
        VEC_PUSH(body->arena, body->regs, reg);
    }
    builder.reason = formals_find(&builder.formals, function, builder.scratch);
    elements_declare(&builder.elements, body, &builder.formals.copied, builder.scratch);
    scopes_collect(&builder);
    outer_names_take(&builder);
    registers_name(&builder, false);
    statements_name(&builder, false);
    registers_name(&builder, true);
    statements_name(&builder, true);
    if (!builder.reason)
        blocks_cut(&builder);
    if (!builder.reason)
        edges_connect(&builder);
    size_t block_count = body->blocks.count;
    Block **layout = ARENA_ARRAY(builder.scratch, Block *, block_count);
    memcpy(layout, body->blocks.data, block_count * sizeof *layout);
    bool renames_registers = builder.formals.variables != NULL;
    if (builder.reason) {
        *reason = builder.reason;
        arena_free(builder.scratch);
        body_free(body);
        return NULL;
    }
    body_remove_unreachable(body);
    if (module_is_debug(body->module))
        marks_move(body, layout, block_count);
    arena_free(builder.scratch);
    blocks_join(body);
    entry_separate(body);
    if (renames_registers)
        body_order(body);
    return body;
}

void body_free(Body *body)
{
    if (body)
        arena_free(body->arena);
}

void function_set_body(Function *function, Body *body)
{
    if (function->body != body)
        body_free(function->body);
    function->body = body;
}

static Block *block_copied(const PointerMap *copies, const Block *block)
{
    return block ? pointer_map_get(copies, block) : NULL;
}

static void block_copy_contents(Body *body, Block *to, const Block *from, const PointerMap *copies)
{
    to->fall = block_copied(copies, from->fall);
    to->preds = ARENA_ARRAY(body->arena, Block *, from->pred_count);
    to->pred_count = from->pred_count;
    for (unsigned i = 0; i < from->pred_count; i++)
        to->preds[i] = block_copied(copies, from->preds[i]);
    for (size_t i = 0; i < from->phis.count; i++) {
        Phi phi = {.dst = from->phis.data[i].dst};
        for (size_t j = 0; j < from->phis.data[i].args.count; j++) {
            PhiArg arg = from->phis.data[i].args.data[j];
            arg.pred = block_copied(copies, arg.pred);
            VEC_PUSH(body->arena, phi.args, arg);
        }
        VEC_PUSH(body->arena, to->phis, phi);
    }
    for (size_t i = 0; i < from->pragmas.count; i++)
        VEC_PUSH(body->arena, to->pragmas, from->pragmas.data[i]);
    for (size_t i = 0; i < from->marks.count; i++)
        VEC_PUSH(body->arena, to->marks, from->marks.data[i]);
    for (const Inst *inst = from->first; inst; inst = inst->next) {
        Inst *copy = inst_copy(body->arena, inst);
        for (unsigned i = 0; i < copy->target_count; i++)
            copy->targets[i] = block_copied(copies, inst->targets[i]);
        inst_append(to, copy);
    }
}

Body *body_clone(const Body *body)
{
    Arena *arena = arena_new(), *scratch = arena_new();
    Body *clone = ARENA_NEW(arena, Body);
    PointerMap copies = {.arena = scratch};
    clone->function = body->function;
    clone->module = body->module;
    clone->arena = arena;
    clone->tuning = body->tuning;
    clone->ssa = body->ssa;
    clone->names = body_names_clone(body, arena);
    for (size_t i = 0; i < body->regs.count; i++)
        VEC_PUSH(arena, clone->regs, body->regs.data[i]);
    for (size_t i = 0; i < body->variables.count; i++)
        VEC_PUSH(arena, clone->variables, body->variables.data[i]);
    for (size_t i = 0; i < body->tables.count; i++)
        VEC_PUSH(arena, clone->tables, body->tables.data[i]);
    for (size_t i = 0; i < body->declared.count; i++)
        VEC_PUSH(arena, clone->declared, body->declared.data[i]);
    for (size_t i = 0; i < body->end_marks.count; i++)
        VEC_PUSH(arena, clone->end_marks, body->end_marks.data[i]);
    for (size_t i = 0; i < body->blocks.count; i++) {
        Block *copy = block_new(clone);
        copy->id = body->blocks.data[i]->id;
        copy->label = body->blocks.data[i]->label;
        copy->is_cold = body->blocks.data[i]->is_cold;
        copy->is_never = body->blocks.data[i]->is_never;
        VEC_PUSH(arena, clone->blocks, copy);
        pointer_map_put(&copies, body->blocks.data[i], copy);
    }
    for (size_t i = 0; i < body->blocks.count; i++)
        block_copy_contents(clone, clone->blocks.data[i], body->blocks.data[i], &copies);
    arena_free(scratch);
    return clone;
}
