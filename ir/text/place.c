/* Places in the source that the PTX was made from, as .file and .loc give them. */
#include "ir/ir.h"

#include <string.h>

/* The path that a .file directive gives; NULL if none has the index. */
static const char *module_file_path(const Module *module, uint32_t index)
{
    for (size_t i = 0; i < module->items.count; i++)
        if (module->items.data[i].kind == ITEM_FILE && module->items.data[i].file.index == index)
            return module->items.data[i].file.path;
    return NULL;
}

const char *loc_place(Arena *arena, const Module *module, const Loc *loc)
{
    const char *text = NULL;
    for (; loc; loc = loc->at) {
        const char *path = module_file_path(module, loc->file);
        if (!path || !loc->line) /* compilers write line 0 for code that no line stands for */
            continue;
        text = text ? arena_printf(arena, "%s, inlined at %s:%u", text, path, loc->line)
                    : arena_printf(arena, "%s:%u", path, loc->line);
    }
    return text;
}

const char *loc_short_place(Arena *arena, const Module *module, const Loc *loc)
{
    const char *path = loc ? module_file_path(module, loc->file) : NULL, *slash = path ? strrchr(path, '/') : NULL;
    return path ? arena_printf(arena, "%s:%u", slash ? slash + 1 : path, loc->line) : NULL;
}
