/* The listing of a body: declarations of everything used, blocks in layout order, branches only where control does not
 * go to the next block. Comments hold what PTX cannot express: phis and tied operands. */
#include "ir/text/listing.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { NAMES_WIDTH = 100 }; /* a line of names ends after about this many characters */

typedef struct RegisterGroup { /* used registers PREFIX<number> of one type */
    Name prefix;
    Type type;
    uint32_t count, highest;
    bool conflict;              /* something else has a name that PREFIX<highest + 1> would declare */
    struct RegisterGroup *next; /* same prefix, other type */
} RegisterGroup;

typedef struct Listing {
    const Body *body;
    Arena *scratch;
    Buf *out;
    BitSet used;       /* registers */
    PointerMap blocks; /* Block to Name */
    PointerMap names;  /* names taken by something other than a register */
    PointerMap tables; /* brx.idx Inst to Name */
    PointerMap users;  /* Table of a call to the only Inst that names it, or to the Listing if several do */
    PointerMap named;  /* Inst to its Table that nothing else names */
    PointerMap groups; /* prefix to RegisterGroup */
    CallScopes scopes;
    bool in_scope;
    VEC(RegisterGroup *) group_list;
    const Loc *loc;
    PointerMap *printed; /* the places that a .loc has named; NULL: locations are not printed */
    bool locations;
} Listing;

static void name_take(Listing *l, const char *name)
{
    pointer_map_put(&l->names, intern(l->body->module->names, name), (void *)name);
}

static void operand_names_collect(Listing *l, const Operand *operand)
{
    if (operand->kind == OPERAND_SREG)
        name_take(l, operand->sreg->name);
    else if (operand->kind == OPERAND_SYMBOL && operand->symbol.kind != SYMBOL_LABEL)
        name_take(l, symbol_name(&operand->symbol));
    for (unsigned i = 0; i < operand->item_count; i++)
        operand_names_collect(l, &operand->items[i]);
}

static void symbols_collect(Listing *l)
{
    const Body *body = l->body;
    const Prototype *prototype = &body->function->prototype;
    for (unsigned i = 0; i < prototype->return_count; i++)
        if (prototype->returns[i]->name)
            name_take(l, prototype->returns[i]->name);
    for (unsigned i = 0; i < prototype->param_count; i++)
        if (prototype->params[i]->name)
            name_take(l, prototype->params[i]->name);
    for (size_t i = 0; i < body->variables.count; i++) {
        const Variable *variable = body->variables.data[i];
        name_take(l, variable->name);
        for (unsigned j = 0; j < variable->init_count; j++)
            if (variable->inits[j].kind == INIT_SYMBOL)
                name_take(l, symbol_name(&variable->inits[j].symbol));
    }
    for (size_t i = 0; i < body->tables.count; i++) {
        const Table *table = body->tables.data[i];
        name_take(l, table->name);
        for (unsigned j = 0; table->kind == TABLE_CALL_TARGETS && j < table->count; j++)
            name_take(l, table->functions[j]->name);
    }
}

/* Notes a table that only one call names: it is listed before the call, as compilers do, because the place matters in
 * modules built for debugging. */
static void table_note(Listing *l, const Inst *inst)
{
    for (unsigned i = 0; inst_is_call(inst) && i < inst->operand_count; i++) {
        const Operand *operand = &inst->operands[i];
        if (operand->kind != OPERAND_SYMBOL || operand->symbol.kind != SYMBOL_TABLE)
            continue;
        const Table *table = operand->symbol.table;
        bool seen = pointer_map_get(&l->users, table) != NULL;
        pointer_map_put(&l->users, table, seen ? (void *)l : (void *)inst);
    }
}

static void table_line_print(Listing *l, const Table *table)
{
    buf_puts(l->out, l->in_scope ? "\t\t" : "\t");
    table_print(table, l->out);
    buf_putc(l->out, '\n');
}

static void insts_collect(Listing *l)
{
    for (size_t b = 0; b < l->body->blocks.count; b++) {
        const Block *block = l->body->blocks.data[b];
        for (size_t i = 0; i < block->phis.count; i++) {
            bitset_add(&l->used, block->phis.data[i].dst);
            for (size_t j = 0; j < block->phis.data[i].args.count; j++)
                bitset_add(&l->used, block->phis.data[i].args.data[j].reg);
        }
        for (const Inst *inst = block->first; inst; inst = inst->next) {
            table_note(l, inst);
            for (unsigned i = 0; i < inst->ref_count; i++)
                bitset_add(&l->used, inst->refs[i].reg);
            for (unsigned i = 0; i < inst->operand_count; i++)
                operand_names_collect(l, &inst->operands[i]);
        }
    }
}

static bool name_is_free(const Listing *l, Name name)
{
    return !pointer_map_get(&l->names, name) && !body_name_taken(l->body, name) && !sreg_find(name);
}

static Name name_make(Listing *l, const char *base, uint32_t number)
{
    for (uint32_t salt = 0;; salt++) {
        Name name =
            intern(l->body->module->names, salt ? arena_printf(l->scratch, "%s%" PRIu32 "_%" PRIu32, base, number, salt)
                                                : arena_printf(l->scratch, "%s%" PRIu32, base, number));
        if (name_is_free(l, name)) {
            name_take(l, name);
            return name;
        }
    }
}

/* Chooses the labels of blocks: the source's, except that two blocks cannot both have one (after cloning). */
static void labels_choose(Listing *l)
{
    const Body *body = l->body;
    BitSet targeted = bitset_new(l->scratch, body->blocks.count);
    PointerMap seen = {.arena = l->scratch};
    for (size_t b = 0; b < body->blocks.count; b++)
        pointer_map_put(&seen, body->blocks.data[b], (void *)(b + 1));
    for (size_t b = 0; b < body->blocks.count; b++) {
        const Block *block = body->blocks.data[b];
        const Block *next = b + 1 < body->blocks.count ? body->blocks.data[b + 1] : NULL;
        if (block->fall && block->fall != next)
            bitset_add(&targeted, (size_t)pointer_map_get(&seen, block->fall) - 1);
        for (unsigned i = 0; block->last && i < block->last->target_count; i++)
            bitset_add(&targeted, (size_t)pointer_map_get(&seen, block->last->targets[i]) - 1);
    }
    for (size_t b = 0; b < body->blocks.count; b++) {
        Block *block = body->blocks.data[b];
        if (block->label && !pointer_map_get(&l->names, block->label)) {
            name_take(l, block->label);
            pointer_map_put(&l->blocks, block, (void *)block->label);
        }
    }
    for (size_t b = 0; b < body->blocks.count; b++)
        if (bitset_has(&targeted, b) && !pointer_map_get(&l->blocks, body->blocks.data[b]))
            pointer_map_put(&l->blocks, body->blocks.data[b], (void *)name_make(l, "$L", (uint32_t)b));
}

/* "%r12" is "%r" and 12. False for names that do not end in a number that a range could make. */
static bool name_split(Listing *l, const char *name, Name *prefix, uint32_t *number)
{
    size_t length = strlen(name), digits = 0;
    while (digits < length && name[length - 1 - digits] >= '0' && name[length - 1 - digits] <= '9')
        digits++;
    const char *tail = name + length - digits;
    if (length - digits == 1 && !((name[0] | 32) >= 'a' && (name[0] | 32) <= 'z')) /* "%1": "%" is not an identifier */
        return false;
    if (digits == 0 || digits == length || digits > 8 || (tail[0] == '0' && digits > 1))
        return false;
    *prefix = intern_n(l->body->module->names, name, length - digits);
    *number = (uint32_t)strtoul(tail, NULL, 10);
    return true;
}

static RegisterGroup *group_get(Listing *l, Name prefix, Type type)
{
    RegisterGroup *first = pointer_map_get(&l->groups, prefix), *group = first;
    while (group && group->type != type)
        group = group->next;
    if (!group) {
        group = ARENA_NEW(l->scratch, RegisterGroup);
        *group = (RegisterGroup){.prefix = prefix, .type = type, .next = first};
        pointer_map_put(&l->groups, prefix, group);
        VEC_PUSH(l->scratch, l->group_list, group);
    }
    return group;
}

static bool group_is_range(const RegisterGroup *group)
{
    return !group->conflict && group->count > 1 && group->highest < 2 * group->count + 32;
}

static void groups_collect(Listing *l)
{
    const Body *body = l->body;
    Name prefix;
    uint32_t number;
    for (size_t i = bitset_next(&l->used, 0); i != SIZE_MAX; i = bitset_next(&l->used, i + 1)) {
        const Reg *reg = &body->regs.data[i];
        if (!name_split(l, reg->name, &prefix, &number))
            continue;
        RegisterGroup *group = group_get(l, prefix, reg->type);
        group->count++;
        if (number > group->highest)
            group->highest = number;
    }
    for (size_t i = 0; i < l->group_list.count; i++) /* two types share the prefix: neither is a range */
        if (l->group_list.data[i]->next)
            l->group_list.data[i]->conflict = l->group_list.data[i]->next->conflict = true;
    for (const MapEntry *entry = map_next(&l->names, NULL); entry; entry = map_next(&l->names, entry)) {
        if (!name_split(l, (Name)(uintptr_t)entry->key, &prefix, &number))
            continue;
        for (RegisterGroup *group = pointer_map_get(&l->groups, prefix); group; group = group->next)
            group->conflict |= number <= group->highest;
    }
}

static void type_registers_print(Listing *l, Type type)
{
    Buf *out = l->out;
    size_t line = SIZE_MAX; /* where the current line begins; SIZE_MAX: there is none */
    Name prefix;
    uint32_t number;
    for (size_t i = bitset_next(&l->used, 0); i != SIZE_MAX; i = bitset_next(&l->used, i + 1)) {
        const Reg *reg = &l->body->regs.data[i];
        if (reg->type != type)
            continue;
        if (name_split(l, reg->name, &prefix, &number) && group_is_range(group_get(l, prefix, type)))
            continue;
        if (line != SIZE_MAX && out->length - line < NAMES_WIDTH) {
            buf_printf(out, ", %s", reg->name);
            continue;
        }
        buf_puts(out, line != SIZE_MAX ? ";\n" : "");
        line = out->length;
        buf_printf(out, "\t.reg .%s %s", type_name(type), reg->name);
    }
    if (line != SIZE_MAX)
        buf_puts(out, ";\n");
    for (size_t i = 0; i < l->group_list.count; i++) {
        const RegisterGroup *group = l->group_list.data[i];
        if (group->type == type && group_is_range(group))
            buf_printf(out, "\t.reg .%s %s<%" PRIu32 ">;\n", type_name(type), group->prefix, group->highest + 1);
    }
}

/* Prints a table for each indexed branch, unless an equal one already has the name. */
static void branch_tables_print(Listing *l)
{
    PointerMap printed = {.arena = l->scratch}; /* Name to the Inst whose targets it lists */
    uint32_t number = 0;
    for (size_t b = 0; b < l->body->blocks.count; b++) {
        const Inst *inst = l->body->blocks.data[b]->last;
        if (!inst || inst_op(inst) != OP_BRX)
            continue;
        const Operand *operand = &inst->operands[inst->operand_count - 1];
        Name name = operand->symbol.table->name;
        const Inst *other = pointer_map_get(&printed, name);
        bool equal = other && other->target_count == inst->target_count &&
                     memcmp(other->targets, inst->targets, inst->target_count * sizeof *inst->targets) == 0;
        if (other && !equal)
            name = name_make(l, "$T", number++);
        pointer_map_put(&l->tables, inst, (void *)name);
        if (equal)
            continue;
        pointer_map_put(&printed, name, (void *)inst);
        buf_printf(l->out, "\t%s: .branchtargets ", name);
        for (unsigned i = 0; i < inst->target_count; i++)
            buf_printf(l->out, "%s%s", i ? ", " : "", (const char *)pointer_map_get(&l->blocks, inst->targets[i]));
        buf_puts(l->out, ";\n");
    }
}

static void declarations_print(Listing *l)
{
    bool present[TYPE_COUNT] = {false};
    for (size_t i = bitset_next(&l->used, 0); i != SIZE_MAX; i = bitset_next(&l->used, i + 1))
        present[l->body->regs.data[i].type] = true;
    groups_collect(l);
    for (int type = 0; type < TYPE_COUNT; type++)
        if (present[type])
            type_registers_print(l, (Type)type);
    for (size_t i = 0; i < l->body->variables.count; i++) {
        if (pointer_map_get(&l->scopes.variables, l->body->variables.data[i]))
            continue;
        buf_putc(l->out, '\t');
        variable_print(l->body->variables.data[i], l->out);
        buf_puts(l->out, ";\n");
    }
    for (size_t i = 0; i < l->body->tables.count; i++) {
        const Table *table = l->body->tables.data[i];
        const Inst *user = pointer_map_get(&l->users, table);
        if (user && (const void *)user != l)
            pointer_map_put(&l->named, user, (void *)table);
        else
            table_line_print(l, table);
    }
    branch_tables_print(l);
}

typedef struct LocKey {
    uint32_t file, line, column;
} LocKey;

/* A key for a place that a .loc names. An inlined .loc must refer to a place that an earlier one names, but the .loc
 * that named it in the source may have lost its instructions. Interned text makes the key a pointer. */
static const void *loc_key(Listing *l, uint32_t file, uint32_t line, uint32_t column)
{
    char text[48];
    snprintf(text, sizeof text, "%" PRIu32 " %" PRIu32 " %" PRIu32, file, line, column);
    return intern(l->body->module->names, text);
}

static const Loc *loc_in_source(const Listing *l, uint32_t file, uint32_t line, uint32_t column)
{
    const Function *function = l->body->function;
    for (size_t i = 0; i < function->stmts.count; i++) {
        const Stmt *stmt = &function->stmts.data[i];
        if (stmt->kind == STMT_LOC && stmt->loc->file == file && stmt->loc->line == line && stmt->loc->column == column)
            return stmt->loc;
    }
    return NULL;
}

static void location_print(Listing *l, const Loc *loc)
{
    VEC(const Loc *) chain = {0};
    PointerMap *printed = l->printed;
    VEC_PUSH(l->scratch, chain, loc);
    while (VEC_LAST(chain)->inlined) {
        const Loc *last = VEC_LAST(chain);
        const void *key = loc_key(l, last->at_file, last->at_line, last->at_column);
        if (pointer_map_get(printed, key))
            break;
        const Loc *outer = loc_in_source(l, last->at_file, last->at_line, last->at_column);
        if (!outer) {
            Loc *plain = ARENA_NEW(l->scratch, Loc);
            *plain = (Loc){.file = last->at_file, .line = last->at_line, .column = last->at_column};
            outer = plain;
        }
        pointer_map_put(printed, key, (void *)key);
        VEC_PUSH(l->scratch, chain, outer);
    }
    while (chain.count) {
        const Loc *next = VEC_POP(chain);
        const void *key = loc_key(l, next->file, next->line, next->column);
        pointer_map_put(printed, key, (void *)key);
        loc_print(next, l->out);
    }
}

static const char *register_name(const Listing *l, RegId reg)
{
    return l->body->regs.data[reg].name;
}

static const char *block_name(const Listing *l, const Block *block)
{
    const char *name = pointer_map_get(&l->blocks, block);
    return name ? name : arena_printf(l->scratch, "block %" PRIu32, block->id);
}

static void phis_print(Listing *l, const Block *block)
{
    for (size_t i = 0; i < block->phis.count; i++) {
        const Phi *phi = &block->phis.data[i];
        buf_printf(l->out, "\t// %s = phi", register_name(l, phi->dst));
        for (size_t j = 0; j < phi->args.count; j++)
            buf_printf(l->out, "%s [%s: %s]", j ? "," : "", block_name(l, phi->args.data[j].pred),
                       register_name(l, phi->args.data[j].reg));
        buf_putc(l->out, '\n');
    }
}

static void inst_line_print(Listing *l, const Inst *inst)
{
    if (l->locations && inst->loc && inst->loc != l->loc) {
        location_print(l, inst->loc);
        l->loc = inst->loc;
    }
    const CallScope *scope = pointer_map_get(&l->scopes.opens, inst);
    if (scope) {
        buf_puts(l->out, "\t{\n");
        for (size_t i = 0; i < scope->variables.count; i++) {
            buf_puts(l->out, "\t\t");
            variable_print(scope->variables.data[i], l->out);
            buf_puts(l->out, ";\n");
        }
        l->in_scope = true;
    }
    const Table *table = pointer_map_get(&l->named, inst);
    if (table)
        table_line_print(l, table);
    if (inst->pragma) {
        buf_puts(l->out, l->in_scope ? "\t\t" : "\t");
        pragma_print(inst->pragma, l->out);
        buf_putc(l->out, '\n');
    }
    InstNames names = {.regs = l->body->regs.data, .reg_count = l->body->regs.count, .blocks = &l->blocks};
    names.table = pointer_map_get(&l->tables, inst);
    buf_puts(l->out, l->in_scope ? "\t\t" : "\t");
    inst_print_named(inst, &names, l->out);
    for (unsigned i = 0; i < inst->tied_count; i++) {
        const RegRef *tied = &inst->refs[inst->ref_count - inst->tied_count + i];
        buf_printf(l->out, "%s%s keeps %s", i ? ", " : " // ", register_name(l, inst->refs[tied->partner].reg),
                   register_name(l, tied->reg));
    }
    buf_putc(l->out, '\n');
    if (pointer_map_get(&l->scopes.closes, inst)) {
        buf_puts(l->out, "\t}\n");
        l->in_scope = false;
    }
}

static void block_print(Listing *l, const Block *block, const Block *next)
{
    const char *label = pointer_map_get(&l->blocks, block);
    bool is_mark = false;
    for (size_t i = 0; label && i < block->marks.count; i++)
        is_mark |= block->marks.data[i] == label;
    if (label && !is_mark)
        buf_printf(l->out, "%s:\n", label);
    else if (!label && block->phis.count)
        buf_printf(l->out, "\t// %s\n", block_name(l, block));
    for (size_t i = 0; i < block->marks.count; i++) {
        Name mark = block->marks.data[i];
        if (mark == label || !pointer_map_get(&l->names, mark)) /* a pass may have made it another block's label */
            buf_printf(l->out, "%s:\n", mark);
    }
    phis_print(l, block);
    for (size_t i = 0; i < block->pragmas.count; i++) {
        buf_putc(l->out, '\t');
        pragma_print(block->pragmas.data[i], l->out);
        buf_putc(l->out, '\n');
    }
    for (const Inst *inst = block->first; inst; inst = inst->next)
        inst_line_print(l, inst);
    if (block->fall && block->fall != next)
        buf_printf(l->out, "\tbra.uni %s;\n", block_name(l, block->fall));
    else if (!block->fall && next && (!block->last || inst_falls_through(block->last)))
        buf_puts(l->out, "\tret;\n"); /* in the source, control reached the end of the function here */
}

void body_print(const Body *body, bool locations, Buf *out)
{
    Arena *scratch = arena_new();
    Listing l = {.body = body, .scratch = scratch, .out = out, .locations = locations};
    PointerMap printed = {.arena = scratch};
    l.used = bitset_new(scratch, body->regs.count);
    l.blocks.arena = l.names.arena = l.tables.arena = l.groups.arena = l.users.arena = l.named.arena = scratch;
    l.printed = &printed;
    call_scopes_find(&l.scopes, scratch, body);
    symbols_collect(&l);
    insts_collect(&l);
    labels_choose(&l);
    size_t begin = out->length;
    declarations_print(&l);
    if (out->length != begin)
        buf_putc(out, '\n');
    for (size_t b = 0; b < body->blocks.count; b++)
        block_print(&l, body->blocks.data[b], b + 1 < body->blocks.count ? body->blocks.data[b + 1] : NULL);
    for (size_t i = 0; i < body->end_marks.count; i++)
        buf_printf(out, "%s:\n", body->end_marks.data[i]);
    arena_free(scratch);
}

void body_dump(const Body *body, Buf *out)
{
    function_print_header(body->function, &body->tuning, out);
    buf_puts(out, "\n{\n");
    body_print(body, true, out);
    buf_puts(out, "}\n");
}
