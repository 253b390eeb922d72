#include "analysis/callees.h"

typedef struct Walk {
    Arena *arena;
    FunctionVec functions;
    PointerMap seen;
} Walk;

static void add(Walk *walk, const Function *function)
{
    if (!function->has_body && function->definition)
        function = function->definition;
    if (pointer_map_get(&walk->seen, function))
        return;
    pointer_map_put(&walk->seen, function, function);
    VEC_PUSH(walk->arena, walk->functions, function);
}

static void add_called(Walk *walk, const Module *module, const Inst *call)
{
    const Function *callee = inst_callee(call);
    if (callee)
        add(walk, callee);
    for (size_t i = 0; !callee && i < module->items.count; i++)
        if (module->items.data[i].kind == ITEM_FUNCTION && !module->items.data[i].function->is_entry)
            add(walk, module->items.data[i].function);
}

FunctionVec functions_called(Arena *arena, const Function *kernel)
{
    Walk walk = {.arena = arena, .seen.arena = arena};
    add(&walk, kernel);
    for (size_t f = 0; f < walk.functions.count; f++) {
        const Function *function = walk.functions.data[f];
        for (size_t i = 0; i < function->stmts.count; i++)
            if (function->stmts.data[i].kind == STMT_INST && inst_is_call(function->stmts.data[i].inst))
                add_called(&walk, kernel->module, function->stmts.data[i].inst);
    }
    return walk.functions;
}
