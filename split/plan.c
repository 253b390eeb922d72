/* The kernels of a module, what each needs, and whether they can be assembled apart.
 *
 * Bodies are not parsed: a name in the text of a function is a use of the function that has it, even in a comment. That
 * finds every use, and a part with a function too many is only larger. */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "parser/parser.h"
#include "split/internal.h"

typedef struct Planner {
    Arena *arena;
    Plan *plan;
    PointerMap known; /* from names to 1 + index of a function; and to ~index of one outside */
} Planner;

static bool keeps_none(void *context, const Function *function)
{
    (void)context, (void)function;
    return false;
}

static const char *parse(Arena *arena, Plan *plan)
{
    Diag diag;
    char *messages = NULL;
    size_t length = 0;
    FILE *file = open_memstream(&messages, &length);
    if (!file)
        return "its text cannot be read";
    diag_init(&diag, plan->source, file);
    plan->module = parse_module_with(arena, plan->source, &diag, &(ParseOptions){.keeps = keeps_none});
    fclose(file);
    free(messages);
    return plan->module ? NULL : "ptxopt finds errors in it";
}

static const char *check_variable(Arena *arena, const Variable *variable)
{
    if (type_class(variable->type) == CLASS_OPAQUE)
        return arena_printf(arena, "'%s' is a reference to a texture, surface or sampler", variable->name);
    for (unsigned i = 0; i < variable->init_count; i++)
        if (variable->inits[i].kind == INIT_SYMBOL && variable->inits[i].symbol.kind == SYMBOL_FUNCTION)
            return arena_printf(arena, "'%s' has the address of a function in it", variable->name);
    return NULL;
}

static const char *check_item(Arena *arena, const Item *item)
{
    switch (item->kind) {
    case ITEM_VARIABLE: return check_variable(arena, item->variable);
    case ITEM_SECTION: return "it has debugging information";
    case ITEM_ALIAS: return "it has an .alias";
    case ITEM_VERBATIM: return "it has debugging information";
    case ITEM_FUNCTION:
        if (item->function->has_body && !item->function->is_entry && item->function->linkage != LINKAGE_NONE &&
            item->function->linkage != LINKAGE_WEAK)
            return arena_printf(arena, "function '%s' is visible to other modules", item->function->name);
        return item->function->unified ? "it has a .unified function" : NULL;
    case ITEM_FILE:
    case ITEM_PRAGMA: return NULL;
    }
    return NULL;
}

static void collect(Planner *planner)
{
    Plan *plan = planner->plan;
    const Module *module = plan->module;
    plan->functions = ARENA_ARRAY(planner->arena, PlanFunction, module->items.count);
    plan->outside = ARENA_ARRAY(planner->arena, const Function *, module->items.count);
    plan->kernels = ARENA_ARRAY(planner->arena, uint32_t, module->items.count);
    for (size_t i = 0; i < module->items.count; i++) {
        const Item *item = &module->items.data[i];
        const Function *function = item->kind == ITEM_FUNCTION ? item->function : NULL;
        if (!function)
            continue;
        if (function->has_body) {
            PlanFunction *entry = &plan->functions[plan->count];
            *entry = (PlanFunction){.function = function, .begin = function->text.begin, .end = function->text.end};
            if (function->is_entry)
                plan->kernels[plan->kernel_count++] = (uint32_t)plan->count;
            plan->count++;
            map_put(&planner->known, pointer_key(function->name), plan->count);
        } else if (!module_find_function(module, function->name)->has_body &&
                   !pointer_map_get(&planner->known, function->name)) {
            map_put(&planner->known, pointer_key(function->name), ~(uint64_t)plan->outside_count);
            plan->outside[plan->outside_count++] = function;
        }
    }
}

void plan_close(Arena *arena, const Plan *plan, BitSet *functions, bool *used)
{
    IndexVec left = {0};
    for (size_t i = bitset_next(functions, 0); i != SIZE_MAX; i = bitset_next(functions, i + 1))
        VEC_PUSH(arena, left, (uint32_t)i);
    while (left.count) {
        const PlanFunction *user = &plan->functions[VEC_POP(left)];
        for (size_t i = 0; i < user->outside.count; i++)
            used[user->outside.data[i]] = true;
        for (size_t i = 0; i < user->needs.count; i++) {
            const uint32_t need = user->needs.data[i];
            if (!bitset_has(functions, need)) {
                bitset_add(functions, need);
                VEC_PUSH(arena, left, need);
            }
        }
    }
}

/* ptxas gives functions outside places in the table of addresses in the order of the kernels that use them, from the
 * last to the first, and those of one kernel in the order of their declarations. */
static void find_introductions(Arena *arena, Plan *plan)
{
    bool *seen = ARENA_ARRAY(arena, bool, plan->outside_count), *used = ARENA_ARRAY(arena, bool, plan->outside_count);
    memset(seen, 0, plan->outside_count * sizeof *seen);
    for (size_t k = plan->kernel_count; k-- > 0 && plan->outside_count;) {
        BitSet functions = bitset_new(arena, plan->count);
        bitset_add(&functions, plan->kernels[k]);
        memset(used, 0, plan->outside_count * sizeof *used);
        plan_close(arena, plan, &functions, used);
        for (uint32_t i = 0; i < plan->outside_count; i++) {
            if (used[i] && !seen[i])
                VEC_PUSH(arena, plan->functions[plan->kernels[k]].introduces, i);
            seen[i] |= used[i];
        }
    }
}

static bool begins_word(char c) { return isalpha((unsigned char)c) || c == '_' || c == '$' || c == '%' || c == '.'; }

static bool is_in_word(char c) { return isalnum((unsigned char)c) || c == '_' || c == '$'; }

static void add_once(Arena *arena, IndexVec *all, uint32_t index)
{
    for (size_t i = 0; i < all->count; i++)
        if (all->data[i] == index)
            return;
    VEC_PUSH(arena, *all, index);
}

/* Notes the use of a name in a function. NULL, or the reason why the module must be assembled whole. */
static const char *use_name(Planner *planner, PlanFunction *user, const char *word, size_t length)
{
    Plan *plan = planner->plan;
    if (word[0] == '.') {
        static const char *const tables[] = {".callprototype", ".calltargets"};
        for (size_t i = 0; i < COUNT_OF(tables); i++)
            if (length == strlen(tables[i]) && memcmp(word, tables[i], length) == 0)
                return arena_printf(planner->arena, "'%s' has an indirect call", user->function->name);
        return length == 4 && memcmp(word, ".loc", 4) == 0 ? "it has line information" : NULL;
    }
    const Name name = intern_find(plan->module->names, word, length);
    const uint64_t *known = name ? map_get(&planner->known, pointer_key(name)) : NULL;
    if (!known)
        return NULL;
    if (*known > plan->count) {
        const uint32_t index = (uint32_t)~*known;
        add_once(planner->arena, &user->outside, index);
        return NULL;
    }
    const uint32_t index = (uint32_t)*known - 1;
    if (&plan->functions[index] == user)
        return NULL;
    if (plan->functions[index].function->is_entry)
        return arena_printf(planner->arena, "'%s' uses kernel '%s'", user->function->name, name);
    add_once(planner->arena, &user->needs, index);
    return NULL;
}

/* Finds the names in a function's body. */
static const char *find_uses(Planner *planner, PlanFunction *user)
{
    const char *text = planner->plan->source->text;
    const char *at = text + user->function->braces.begin, *end = text + user->function->braces.end;
    const char *reason = NULL;
    while (at < end && !reason) {
        const char *begin = at++;
        /* Numbers are words, too, and so are names of registers: what follows the '%' is not a name of its own. */
        while (at < end && is_in_word(*at) && (begins_word(*begin) || isdigit((unsigned char)*begin)))
            at++;
        if (begins_word(*begin) && *begin != '%')
            reason = use_name(planner, user, begin, (size_t)(at - begin));
    }
    return reason;
}

const char *plan_make(Arena *arena, const char *ptx, size_t size, Plan *plan)
{
    *plan = (Plan){0};
    if (size > SOURCE_LIMIT)
        return "it is too large for ptxopt to read";
    plan->source = source_from_memory(arena, "input.ptx", ptx, size);
    const char *reason = parse(arena, plan);
    Planner planner = {.arena = arena, .plan = plan, .known.arena = arena};
    if (!reason && module_is_debug(plan->module))
        reason = "it is for debugging";
    for (size_t i = 0; !reason && i < plan->module->items.count; i++)
        reason = check_item(arena, &plan->module->items.data[i]);
    if (reason)
        return reason;
    collect(&planner);
    for (size_t i = 0; !reason && i < plan->count; i++)
        reason = find_uses(&planner, &plan->functions[i]);
    for (size_t i = 0; !reason && i < plan->count; i++)
        if (strncmp(plan->functions[i].function->name, ANCHOR, sizeof ANCHOR - 1) == 0)
            reason = "it has a kernel '" ANCHOR "...'";
    if (reason)
        return reason;
    find_introductions(arena, plan);
    return NULL;
}
