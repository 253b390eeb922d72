/* Which functions a kernel can reach: by calls, by addresses taken in code, and by addresses in initial values.
 * Functions are identified by name, because a declaration and its definition are two objects. */
#include "emit/internal.h"

#include <stdlib.h>

typedef struct Entry {
    Name name;
    size_t first; /* of the items that define, declare or alias it: an index into Reached.links */
    bool reached;
} Entry;

typedef struct Link {
    const Item *item;
    size_t next;
} Link;

struct Reached {
    const Module *module;
    const FunctionForm *form;
    Arena *arena;
    Entry *entries; /* sorted by name's address */
    size_t count;
    VEC(Link) links;
    VEC(Entry *) work;
    bool all;
    bool indirect; /* a call through a pointer has been seen */
};

static int entry_compare(const void *a, const void *b)
{
    uintptr_t x = (uintptr_t)((const Entry *)a)->name, y = (uintptr_t)((const Entry *)b)->name;
    return x < y ? -1 : x > y;
}

static Entry *entry_find(const Reached *reached, Name name)
{
    Entry key = {.name = name};
    return reached->count ? bsearch(&key, reached->entries, reached->count, sizeof key, entry_compare) : NULL;
}

static Name item_name(const Item *item)
{
    if (item->kind == ITEM_FUNCTION)
        return item->function->name;
    return item->kind == ITEM_ALIAS ? item->alias.alias->name : NULL;
}

static void entries_collect(Reached *reached)
{
    const Module *module = reached->module;
    reached->entries = ARENA_ARRAY(reached->arena, Entry, module->items.count);
    for (size_t i = 0; i < module->items.count; i++)
        if (item_name(&module->items.data[i]))
            reached->entries[reached->count++] = (Entry){.name = item_name(&module->items.data[i]), .first = SIZE_MAX};
    if (!reached->count)
        return;
    qsort(reached->entries, reached->count, sizeof *reached->entries, entry_compare);
    size_t kept = 1;
    for (size_t i = 1; i < reached->count; i++)
        if (reached->entries[i].name != reached->entries[kept - 1].name)
            reached->entries[kept++] = reached->entries[i];
    reached->count = kept;
    for (size_t i = 0; i < module->items.count; i++) {
        const Item *item = &module->items.data[i];
        if (!item_name(item))
            continue;
        Entry *entry = entry_find(reached, item_name(item));
        VEC_PUSH(reached->arena, reached->links, (Link){item, entry->first});
        entry->first = reached->links.count - 1;
    }
}

static void reach(Reached *reached, Name name)
{
    Entry *entry = entry_find(reached, name);
    if (!entry || entry->reached)
        return;
    entry->reached = true;
    VEC_PUSH(reached->arena, reached->work, entry);
}

static void operand_reach(Reached *reached, const Operand *operand)
{
    if (operand->kind == OPERAND_SYMBOL && operand->symbol.kind == SYMBOL_FUNCTION)
        reach(reached, operand->symbol.function->name);
    for (unsigned i = 0; i < operand->item_count; i++)
        operand_reach(reached, &operand->items[i]);
}

/* A call through a pointer can reach any function, and the assembler counts the registers of all of them. */
static void functions_reach(Reached *reached)
{
    for (size_t i = 0; i < reached->module->items.count; i++) {
        const Item *item = &reached->module->items.data[i];
        if (item->kind == ITEM_FUNCTION && !item->function->is_entry)
            reach(reached, item->function->name);
    }
}

static void inst_reach(Reached *reached, const Inst *inst)
{
    for (unsigned i = 0; i < inst->operand_count; i++) {
        operand_reach(reached, &inst->operands[i]);
        if (inst_is_call(inst) && inst->operands[i].kind == OPERAND_REG && !reached->indirect) {
            reached->indirect = true;
            functions_reach(reached);
        }
    }
}

static void variable_reach(Reached *reached, const Variable *variable)
{
    for (unsigned i = 0; i < variable->init_count; i++)
        if (variable->inits[i].kind == INIT_SYMBOL && variable->inits[i].symbol.kind == SYMBOL_FUNCTION)
            reach(reached, variable->inits[i].symbol.function->name);
}

static void table_reach(Reached *reached, const Table *table)
{
    for (unsigned i = 0; table->kind == TABLE_CALL_TARGETS && i < table->count; i++)
        reach(reached, table->functions[i]->name);
}

static void body_reach(Reached *reached, const Body *body)
{
    for (size_t i = 0; i < body->blocks.count; i++)
        for (const Inst *inst = body->blocks.data[i]->first; inst; inst = inst->next)
            inst_reach(reached, inst);
    for (size_t i = 0; i < body->variables.count; i++)
        variable_reach(reached, body->variables.data[i]);
    for (size_t i = 0; i < body->tables.count; i++)
        table_reach(reached, body->tables.data[i]);
}

static void function_reach(Reached *reached, const Function *function)
{
    const Body *body = form_of(reached->form, function).body;
    if (body) {
        body_reach(reached, body);
        return;
    }
    for (size_t i = 0; i < function->stmts.count; i++) {
        const Stmt *stmt = &function->stmts.data[i];
        if (stmt->kind == STMT_INST)
            inst_reach(reached, stmt->inst);
        else if (stmt->kind == STMT_VARIABLE)
            variable_reach(reached, stmt->variable);
        else if (stmt->kind == STMT_TABLE)
            table_reach(reached, stmt->table);
    }
}

Reached *reached_find(const Module *module, const FunctionForm *form, Arena *arena)
{
    Reached *reached = ARENA_NEW(arena, Reached);
    reached->module = module;
    reached->arena = arena;
    reached->form = form;
    reached->all = !form;
    if (reached->all)
        return reached;
    entries_collect(reached);
    reach(reached, form->function->name);
    for (size_t i = 0; i < module->items.count; i++)
        if (module->items.data[i].kind == ITEM_VARIABLE)
            variable_reach(reached, module->items.data[i].variable);
    while (reached->work.count) {
        const Entry *entry = VEC_POP(reached->work);
        for (size_t link = entry->first; link != SIZE_MAX; link = reached->links.data[link].next) {
            const Item *item = reached->links.data[link].item;
            if (item->kind == ITEM_FUNCTION)
                function_reach(reached, item->function);
            else
                reach(reached, item->alias.aliasee->name);
        }
    }
    return reached;
}

bool reached_has(const Reached *reached, Name name)
{
    if (reached->all)
        return true;
    const Entry *entry = entry_find(reached, name);
    return entry && entry->reached;
}
