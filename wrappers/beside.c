/* If host code adapts its launches, the two forms of a coarsened kernel change their names: the original keeps the
 * kernel's, and the coarsened one gets another.
 *
 *     ptxopt -keep-original            here
 *     KERNEL                           KERNEL__ptxopt_coarsened
 *     KERNEL__ptxopt_original          KERNEL
 *     __ptxopt_launch_KERNEL           __ptxopt_beside_KERNEL
 *
 * So a launch that no adapter sees, from another object, a library or another kernel, runs the original. */
#include <ctype.h>
#include <stdlib.h>

#include "wrappers/wrappers.h"

#define CONTRACT "__ptxopt_launch_"
#define BESIDE "__ptxopt_beside_"
#define ORIGINAL "__ptxopt_original"
#define COARSENED "__ptxopt_coarsened"

/* A replacement for a part of the text. */
typedef struct Edit {
    const char *at;
    size_t length;
    const char *text;
} Edit;

typedef VEC(Edit) Edits;

/* The definition of a kernel, from its linkage to the end of its body. */
typedef struct Definition {
    const char *begin, *name, *after_name, *end;
} Definition;

typedef VEC(Definition) Definitions;

static size_t identifier_length(const char *at, const char *end)
{
    const char *c = at;
    while (c < end && (isalnum((unsigned char)*c) || strchr("_$%", *c)))
        c++;
    return (size_t)(c - at);
}

/* The place after a comment or a string that begins here; otherwise the next character. */
static const char *skip_one(const char *at, const char *end)
{
    const char *found = NULL;
    if (end - at > 1 && at[0] == '/' && at[1] == '/')
        found = memchr(at, '\n', (size_t)(end - at));
    else if (end - at > 1 && at[0] == '/' && at[1] == '*' && (found = memmem(at + 2, (size_t)(end - at - 2), "*/", 2)))
        found++;
    else if (*at == '"')
        found = memchr(at + 1, '"', (size_t)(end - at - 1));
    return found ? found + 1 : at + 1;
}

/* The place after the body that follows an entry's name; NULL if there is none, because the entry is only declared. */
static const char *after_body(const char *at, const char *end)
{
    for (int depth = 0; at < end; at = skip_one(at, end)) {
        depth += *at == '{';
        depth -= *at == '}';
        if (*at == '}' && depth == 0)
            return at + 1;
        if (*at == ';' && depth == 0)
            return NULL;
    }
    return NULL;
}

/* The place before the entry's linkage. */
static const char *before_linkage(const char *begin, const char *entry)
{
    static const char *const words[] = {".visible", ".weak", ".extern"};
    const char *at = entry;
    while (at > begin && isspace((unsigned char)at[-1]))
        at--;
    for (size_t i = 0; i < COUNT_OF(words); i++) {
        size_t length = strlen(words[i]);
        if ((size_t)(at - begin) >= length && memcmp(at - length, words[i], length) == 0)
            return at - length;
    }
    return entry;
}

static Definitions find_definitions(Arena *arena, const Source *text)
{
    Definitions found = {0};
    const char *end = text->text + text->size;
    for (const char *at = text->text; at < end; at = skip_one(at, end)) {
        if (end - at < 7 || memcmp(at, ".entry", 6) != 0)
            continue;
        Definition one = {.begin = before_linkage(text->text, at)};
        for (at += 6; at < end && isspace((unsigned char)*at); at++)
            ;
        one.name = at;
        one.after_name = at + identifier_length(at, end);
        one.end = after_body(at, end);
        if (one.end)
            VEC_PUSH(arena, found, one);
        at = one.after_name;
    }
    return found;
}

static const Definition *definition_named(const Definitions *definitions, const char *name)
{
    size_t length = strlen(name);
    for (size_t i = 0; i < definitions->count; i++) {
        const Definition *one = &definitions->data[i];
        if ((size_t)(one->after_name - one->name) == length && memcmp(one->name, name, length) == 0)
            return one;
    }
    return NULL;
}

/* An edit that puts a definition, under another name, in the place of another one. */
static Edit edit_definition(Arena *arena, const Definition *place, const Definition *what, const char *name)
{
    return (Edit){place->begin, (size_t)(place->end - place->begin),
                  arena_printf(arena, "%.*s%s%.*s", (int)(what->name - what->begin), what->begin, name,
                               (int)(what->end - what->after_name), what->after_name)};
}

/* Edits both forms of one kernel, if its original is present. They also change places, because code after the original
 * may refer to it. */
static void edit_kernel(Arena *arena, const Definitions *definitions, const char *contract, const char *end,
                        Edits *edits)
{
    const char *begin = contract + sizeof CONTRACT - 1;
    const char *kernel = arena_strndup(arena, begin, identifier_length(begin, end));
    const Definition *coarsened = definition_named(definitions, kernel);
    const Definition *original = definition_named(definitions, arena_printf(arena, "%s" ORIGINAL, kernel));
    if (!coarsened || !original)
        return;
    VEC_PUSH(arena, *edits,
             ((Edit){contract, sizeof CONTRACT - 1 + strlen(kernel), arena_printf(arena, BESIDE "%s", kernel)}));
    VEC_PUSH(arena, *edits, edit_definition(arena, coarsened, original, kernel));
    VEC_PUSH(arena, *edits,
             edit_definition(arena, original, coarsened, arena_printf(arena, "%s" COARSENED, kernel)));
}

static int by_place(const void *one, const void *other)
{
    const char *first = ((const Edit *)one)->at, *second = ((const Edit *)other)->at;
    return first < second ? -1 : first > second;
}

const char *put_beside(Arena *arena, const char *path)
{
    const char *error = NULL;
    Source *text = source_read(arena, path, &error);
    Edits edits = {0};
    if (!text)
        return error;
    const Definitions definitions = find_definitions(arena, text);
    const char *at = text->text, *end = text->text + text->size;
    while ((at = memmem(at, (size_t)(end - at), " " CONTRACT, sizeof CONTRACT)) != NULL) {
        at++;
        edit_kernel(arena, &definitions, at, end, &edits);
    }
    if (!edits.count)
        return NULL;
    qsort(edits.data, edits.count, sizeof *edits.data, by_place);
    Buf result = {0};
    at = text->text;
    for (size_t i = 0; i < edits.count; i++) {
        const Edit *edit = &edits.data[i];
        buf_write(&result, at, (size_t)(edit->at - at));
        buf_puts(&result, edit->text);
        at = edit->at + edit->length;
    }
    buf_write(&result, at, (size_t)(end - at));
    error = write_file(arena, path, result.data, result.length);
    buf_free(&result);
    return error;
}
