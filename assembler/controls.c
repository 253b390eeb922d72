/* Files of compiler controls, which ptxas applies with --apply-controls (NVIDIA, CompileIQ 1.1, "Tuning NVIDIA
 * Compilers"). The format is not documented: only the ptxas that a file was made for can say whether it is one. */
#include "assembler/internal.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static const char option_name[] = "apply-controls";

/* The first version whose documentation has the option. Some older ones have it, too, but read another format. */
enum { FIRST_MAJOR = 13, FIRST_MINOR = 3 };

/* "-apply-controls", "--apply-controls=FILE": what follows the name, "" or "=FILE". NULL: another word. */
static const char *controls_option(const char *word)
{
    const size_t length = sizeof option_name - 1;
    word += word[0] == '-' ? 1 + (word[1] == '-') : strlen(word);
    if (strncmp(word, option_name, length) != 0 || (word[length] && word[length] != '='))
        return NULL;
    return word + length;
}

/* The word that has ptxas apply a file, wherever it runs, in the arena. NULL, with *error, if it cannot be read. */
static const char *controls_word(Arena *arena, const char *path, const char **error)
{
    struct stat status;
    const char *problem = NULL;
    char *absolute = realpath(path, NULL);
    if (!absolute || stat(absolute, &status) != 0)
        problem = strerror(errno);
    else if (!S_ISREG(status.st_mode))
        problem = "it is not a regular file";
    else
        source_read(arena, absolute, &problem);
    const char *word = problem ? NULL : arena_printf(arena, "--%s=%s", option_name, absolute);
    *error = problem ? arena_printf(arena, "-%s %s: %s", option_name, path, problem) : NULL;
    free(absolute);
    return word;
}

uint64_t assembler_option_hash(const char *word, uint64_t hash)
{
    const char *value = controls_option(word);
    hash = hash_fnv(word, strlen(word) + 1, hash);
    if (!value || *value != '=')
        return hash;
    const char *error = NULL;
    Arena *scratch = arena_new();
    const Source *contents = source_read(scratch, value + 1, &error);
    if (contents)
        hash = hash_fnv(contents->text, contents->size, hash);
    arena_free(scratch);
    return hash;
}

const char *controls_too_old(Arena *arena, const char *name, const char *version)
{
    char *end;
    const unsigned long major = strtoul(version, &end, 10);
    if (end == version || *end != '.')
        return NULL; /* a version that is not known may have them */
    const unsigned long minor = strtoul(end + 1, NULL, 10);
    if (major > FIRST_MAJOR || (major == FIRST_MAJOR && minor >= FIRST_MINOR))
        return NULL;
    return arena_printf(arena, "%s %s is too old for -%s, which needs ptxas %d.%d or newer", name, version, option_name,
                        FIRST_MAJOR, FIRST_MINOR);
}

const char *const *controls_resolve(Arena *arena, const char *const *words, const char **controls, const char **error)
{
    const size_t count = options_count(words);
    const char **resolved = ARENA_ARRAY(arena, const char *, count + 1);
    size_t kept = 0;
    *controls = *error = NULL;
    for (size_t i = 0; i < count && !*error; i++) {
        const char *value = controls_option(words[i]);
        if (value && *controls)
            *error = arena_printf(arena, "-%s is given twice, but there can be one file", option_name);
        else if (value && !*value && i + 1 == count)
            *error = arena_printf(arena, "-%s needs a file", option_name);
        else if (value)
            *controls = controls_word(arena, *value ? value + 1 : words[++i], error);
        resolved[kept++] = value ? *controls : words[i];
    }
    resolved[kept] = NULL;
    return resolved;
}
