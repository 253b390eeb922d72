/* Where a back end's file is looked for, and in which order: see assembler.h. */
#include "assembler/internal.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* A program does not run in the current folder. */
static const char *absolute_path(Arena *arena, const char *path)
{
    char current[PATH_MAX];
    if (path[0] == '/' || !getcwd(current, sizeof current))
        return path;
    return arena_printf(arena, "%s/%s", current, path);
}

static void add_file(Arena *arena, Candidates *found, const char *path, bool is_program)
{
    if (is_program)
        path = absolute_path(arena, path);
    struct stat status;
    if (stat(path, &status) != 0 || !S_ISREG(status.st_mode) || access(path, is_program ? X_OK : R_OK) != 0)
        return;
    for (size_t i = 0; i < found->paths.count; i++) {
        struct stat other;
        if (stat(found->paths.data[i], &other) == 0 && other.st_dev == status.st_dev && other.st_ino == status.st_ino)
            return; /* the same file by another name */
    }
    VEC_PUSH(arena, found->paths, path);
}

static void add_cuda_folder(Arena *arena, Candidates *found, const Backend *backend, const char *folder)
{
    for (size_t f = 0; backend->folders[f]; f++)
        for (size_t n = 0; backend->files[n]; n++)
            add_file(arena, found,
                     arena_printf(arena, "%s/%s/%s", folder, backend->folders[f], backend->files[n]),
                     backend->program != NULL);
}

/* The folder of the running program and three above it: programs and tests are at several depths below the root. */
static void add_own_folders(Arena *arena, Candidates *found, const Backend *backend)
{
    char path[PATH_MAX];
    ssize_t length = readlink("/proc/self/exe", path, sizeof path - 1);
    if (length <= 0)
        return;
    path[length] = 0;
    for (int level = 0; level < 4; level++) {
        char *slash = strrchr(path, '/');
        if (!slash || slash == path)
            return;
        *slash = 0;
        add_cuda_folder(arena, found, backend, arena_printf(arena, "%s/third_party/cuda", path));
    }
}

static void add_search_path(Arena *arena, Candidates *found, const char *name)
{
    const char *path = getenv("PATH");
    while (path && *path) {
        size_t length = strcspn(path, ":");
        /* An empty element means the current folder, and nothing is run from there unless named. */
        if (length > 0)
            add_file(arena, found, arena_printf(arena, "%.*s/%s", (int)length, path, name), true);
        path += length + (path[length] == ':');
    }
}

Candidates locate(Arena *arena, const Backend *backend)
{
    Candidates found = {0};
    const char *named = getenv(backend->variable);
    if (named && *named) {
        found.variable = backend->variable;
        named = arena_strndup(arena, named, strlen(named));
        if (backend->program && !strchr(named, '/'))
            add_search_path(arena, &found, named);
        if (found.paths.count == 0)
            VEC_PUSH(arena, found.paths, backend->program ? absolute_path(arena, named) : named);
        found.paths.count = 1;
        return found;
    }
    add_own_folders(arena, &found, backend);
    for (size_t n = 0; backend->files[n]; n++) {
        if (backend->program)
            add_search_path(arena, &found, backend->files[n]);
        else
            VEC_PUSH(arena, found.paths, backend->files[n]);
    }
    static const char *const variables[] = {"CUDA_HOME", "CUDA_PATH"};
    for (size_t i = 0; i < COUNT_OF(variables); i++) {
        const char *folder = getenv(variables[i]);
        if (folder && *folder)
            add_cuda_folder(arena, &found, backend, folder);
    }
    add_cuda_folder(arena, &found, backend, "/usr/local/cuda");
    if (backend->other_file)
        add_file(arena, &found, backend->other_file, backend->program != NULL);
    return found;
}
