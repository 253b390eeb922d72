/* Files in JSON: launches, devices, options. */
#ifndef PTXOPT_SUPPORT_JSON_FILE_H
#define PTXOPT_SUPPORT_JSON_FILE_H

#include "support/source.h"

struct json_t;

/* The value in the file, a new reference. NULL if it cannot be read, is not JSON, or has a key twice in one object:
 * *error (in the arena) says which, with the path and where in the file. */
struct json_t *json_file_read(Arena *arena, const char *path, const char **error);

/* The same of a text that was read already. */
struct json_t *json_text_read(Arena *arena, const Source *source, const char **error);

/* A copy of the text of a member in the arena; NULL if the value has no such member, or it is no text. */
const char *json_member_text(Arena *arena, const struct json_t *object, const char *name);

#endif
