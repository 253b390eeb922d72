#include "support/json_file.h"

#include <errno.h>
#include <jansson.h>
#include <string.h>

json_t *json_file_read(Arena *arena, const char *path, const char **error)
{
    json_error_t problem;
    json_t *value = json_load_file(path, JSON_REJECT_DUPLICATES, &problem);
    int reason = errno;
    if (value)
        return value;
    if (json_error_code(&problem) == json_error_cannot_open_file)
        *error = arena_printf(arena, "%s: %s", path, strerror(reason));
    else if (problem.line < 1)
        *error = arena_printf(arena, "%s: %s", path, problem.text);
    else
        *error = arena_printf(arena, "%s:%d:%d: %s", path, problem.line, problem.column, problem.text);
    return NULL;
}
