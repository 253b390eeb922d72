#include "support/json_file.h"

#include <jansson.h>
#include <string.h>

json_t *json_text_read(Arena *arena, const Source *source, const char **error)
{
    json_error_t problem;
    json_t *value = json_loadb(source->text, source->size, JSON_REJECT_DUPLICATES, &problem);
    if (!value && problem.line < 1)
        *error = arena_printf(arena, "%s: %s", source->path, problem.text);
    else if (!value)
        *error = arena_printf(arena, "%s:%d:%d: %s", source->path, problem.line, problem.column, problem.text);
    return value;
}

json_t *json_file_read(Arena *arena, const char *path, const char **error)
{
    const char *problem = NULL;
    const Source *source = source_read(arena, path, &problem);
    if (source)
        return json_text_read(arena, source, error);
    *error = arena_printf(arena, "%s: %s", path, problem);
    return NULL;
}

const char *json_member_text(Arena *arena, const json_t *object, const char *name)
{
    const char *text = json_string_value(json_object_get(object, name));
    return text ? arena_strndup(arena, text, strlen(text)) : NULL;
}
