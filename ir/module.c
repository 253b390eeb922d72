/* Modules and their symbols. */
#include "ir/ir.h"

#include <string.h>

Module *module_new(Arena *arena, Interner *names, const Source *source)
{
    Module *module = ARENA_NEW(arena, Module);
    module->arena = arena;
    module->names = names;
    module->source = source;
    return module;
}

Function *module_find_function(const Module *module, const char *name)
{
    Function *declaration = NULL;
    for (size_t i = 0; i < module->items.count; i++) {
        const Item *item = &module->items.data[i];
        if (item->kind != ITEM_FUNCTION || strcmp(item->function->name, name) != 0)
            continue;
        if (item->function->has_body)
            return item->function;
        if (!declaration)
            declaration = item->function;
    }
    return declaration;
}

Variable *module_find_variable(const Module *module, const char *name)
{
    for (size_t i = 0; i < module->items.count; i++) {
        const Item *item = &module->items.data[i];
        if (item->kind == ITEM_VARIABLE && !strcmp(item->variable->name, name))
            return item->variable;
    }
    return NULL;
}

Name symbol_name(const Symbol *symbol)
{
    switch (symbol->kind) {
    case SYMBOL_VARIABLE: return symbol->variable->name;
    case SYMBOL_FUNCTION: return symbol->function->name;
    case SYMBOL_LABEL: return symbol->label->name;
    case SYMBOL_TABLE: return symbol->table->name;
    }
    bug("symbol of unknown kind %d", (int)symbol->kind);
}

PragmaScope pragma_scope(const char *text)
{
    static const char load[] = "used_bytes_mask"; /* followed by the mask */
    if (strncmp(text, load, sizeof load - 1) == 0)
        return PRAGMA_LOAD;
    return strcmp(text, SMEM_SPILLING) == 0 ? PRAGMA_FUNCTION : PRAGMA_BLOCK;
}

bool module_is_debug(const Module *module)
{
    for (unsigned i = 0; i < module->target_count; i++)
        if (strcmp(module->targets[i], "debug") == 0)
            return true;
    return false;
}

uint64_t variable_bytes(const Variable *variable)
{
    uint64_t bytes = type_bits(variable->type) / 8 * (variable->vector ? variable->vector : 1);
    if (variable->is_array && !variable->dim_count)
        return 0;
    for (unsigned i = 0; i < variable->dim_count; i++)
        if (__builtin_mul_overflow(bytes, variable->dims[i], &bytes))
            return 0;
    return bytes;
}

unsigned tuning_registers(const Tuning *tuning, unsigned most)
{
    enum { SM_REGISTERS = 65536, THREAD_MOST = 255, THREAD_LEAST = 24, THREAD_UNIT = 8, LANES = 32 };
    const unsigned *numbers = tuning->reqntid_count ? tuning->reqntid : tuning->maxntid;
    const unsigned count = tuning->reqntid_count ? tuning->reqntid_count : tuning->maxntid_count;
    uint64_t threads = 1, limit = tuning->maxnreg ? tuning->maxnreg : THREAD_MOST;
    for (unsigned d = 0; d < count; d++)
        threads *= numbers[d];
    if (tuning->minnctapersm && count && threads) {
        uint64_t each = SM_REGISTERS / (divide_up(threads, LANES) * LANES * tuning->minnctapersm);
        each -= each % THREAD_UNIT;
        limit = each < limit ? each : limit;
    } else if (!tuning->maxnreg) {
        return 0;
    }
    limit = limit < THREAD_LEAST ? THREAD_LEAST : limit;
    return (unsigned)align_up(most && most < limit ? most : limit, THREAD_UNIT);
}
