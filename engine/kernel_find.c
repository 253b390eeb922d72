#include "engine/kernel_find.h"

#include <string.h>

#include "options/options.h"

typedef VEC(const char *) Names;

static Names kernel_names(Arena *arena, const Module *module)
{
    Names names = {0};
    for (size_t i = 0; i < module->items.count; i++) {
        const Item *item = &module->items.data[i];
        if (item->kind == ITEM_FUNCTION && item->function->is_entry && item->function->has_body)
            VEC_PUSH(arena, names, item->function->name);
    }
    return names;
}

/* The kernel that is meant: the only one whose mangled C++ name contains the word, or one with a similar spelling. */
static const char *closest_name(const Names *names, const char *word)
{
    const char *within = NULL;
    unsigned count = 0;
    for (size_t i = 0; i < names->count; i++) {
        if (kernel_name_matches(word, names->data[i]))
            return names->data[i];
        if (strstr(names->data[i], word)) {
            within = names->data[i];
            count++;
        }
    }
    return count == 1 ? within : closest_word(word, names->data, names->count);
}

const char *kernel_hint(Arena *arena, const Module *module, const char *name)
{
    const Names names = kernel_names(arena, module);
    const char *closest = closest_name(&names, name);
    if (!names.count)
        return "; it has none";
    return words_hint(arena, closest, "it has", names.data, names.count);
}

const char *launch_kernel_missing(Arena *arena, const Module *module, const Launch *launch)
{
    const Function *kernel = module_find_function(module, launch->kernel);
    const Position place = launch->places.kernel;
    if (kernel && kernel->is_entry)
        return NULL;
    return arena_printf(arena, "%s:%u:%u: %s has no kernel '%s'%s", launch->path, place.line, place.column,
                        module->source ? module->source->path : "the module", launch->kernel,
                        kernel_hint(arena, module, launch->kernel));
}

bool kernel_has_label(const Function *kernel, const char *label)
{
    for (size_t i = 0; i < kernel->stmts.count; i++)
        if (kernel->stmts.data[i].kind == STMT_LABEL && strcmp(kernel->stmts.data[i].label->name, label) == 0)
            return true;
    return false;
}

const Variable *dead_parameter(const DeadOption *option, const Function *kernel)
{
    const Prototype *prototype = &kernel->prototype;
    if (option->kernel)
        return kernel_name_matches(option->kernel, kernel->name) && option->number < prototype->param_count
                   ? prototype->params[option->number]
                   : NULL;
    for (unsigned i = 0; i < prototype->param_count; i++)
        if (strcmp(prototype->params[i]->name, option->parameter) == 0)
            return prototype->params[i];
    return NULL;
}
