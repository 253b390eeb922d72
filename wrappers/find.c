/* Finds ptxas and nvcc, but not the wrappers that go by the same names. */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "options/options.h"
#include "wrappers/wrappers.h"

const char *own_path(Arena *arena)
{
    char path[PATH_MAX];
    ssize_t length = readlink("/proc/self/exe", path, sizeof path);
    return length > 0 && (size_t)length < sizeof path ? arena_strndup(arena, path, (size_t)length) : NULL;
}

int enter_real(Arena *arena, const char *variable)
{
    enum { DEEPEST = 8 };
    const char *text = getenv(variable);
    int depth = text ? atoi(text) : 0;
    setenv(variable, arena_printf(arena, "%d", depth + 1), 1);
    return depth < DEEPEST ? depth : -1;
}

bool same_file(const char *one, const char *other)
{
    struct stat first, second;
    return stat(one, &first) == 0 && stat(other, &second) == 0 && first.st_dev == second.st_dev &&
           first.st_ino == second.st_ino;
}

const char *folder_of(Arena *arena, const char *path)
{
    const char *slash = strrchr(path, '/');
    if (!slash)
        return ".";
    return slash == path ? "/" : arena_strndup(arena, path, (size_t)(slash - path));
}

static bool is_program(const char *path)
{
    struct stat status;
    return stat(path, &status) == 0 && S_ISREG(status.st_mode) && access(path, X_OK) == 0 &&
           !same_file(path, "/proc/self/exe");
}

/* A program of that name in a folder, or NULL. */
static const char *in_folder(Arena *arena, const char *folder, const char *name)
{
    const char *file = folder && *folder ? arena_printf(arena, "%s/%s", folder, name) : NULL;
    return file && is_program(file) ? file : NULL;
}

/* The first program of that name on PATH. An empty element means the current folder, where nothing is looked for. */
static const char *on_path(Arena *arena, const char *name)
{
    for (const char *path = getenv("PATH"); path && *path;) {
        size_t length = strcspn(path, ":");
        const char *file = in_folder(arena, arena_strndup(arena, path, length), name);
        if (file)
            return file;
        path += length + (path[length] == ':');
    }
    return NULL;
}

/* A name without a slash is looked for on PATH; in a folder, the program 'name' is. */
static const char *named_program(Arena *arena, const char *named, const char *name)
{
    struct stat status;
    if (!strchr(named, '/'))
        return on_path(arena, named);
    if (stat(named, &status) == 0 && S_ISDIR(status.st_mode))
        return in_folder(arena, named, name);
    return is_program(named) ? named : NULL;
}

const char *triton_of_caller(Arena *arena)
{
    static const char library[] = "/_C/libtriton.so";
    char line[PATH_MAX + 128];
    const char *folder = NULL;
    FILE *maps = fopen(arena_printf(arena, "/proc/%d/maps", (int)getppid()), "re");
    while (maps && !folder && fgets(line, sizeof line, maps)) {
        const char *path = strchr(line, '/'), *end = path ? strstr(path, library) : NULL;
        if (end)
            folder = arena_printf(arena, "%.*s/backends/nvidia/bin", (int)(end - path), path);
    }
    if (maps)
        fclose(maps);
    return folder;
}

const char *find_real(Arena *arena, const char *name, const char *variable, const char *first, const char **error)
{
    const char *named = getenv(variable), *found;
    if (named && *named) {
        found = named_program(arena, named, name);
        if (!found)
            *error = arena_printf(arena, "%s is '%s', which %s", variable, named,
                                  same_file(named, "/proc/self/exe") ? "is this program itself"
                                                                     : "is not a program that can be run");
        return found;
    }
    found = first ? named_program(arena, first, name) : NULL;
    if (!found)
        found = on_path(arena, name);
    const char *folders[] = {getenv("CUDA_HOME"), getenv("CUDA_PATH"), "/usr/local/cuda"};
    for (size_t i = 0; i < COUNT_OF(folders) && !found; i++) {
        if (folders[i] && *folders[i])
            found = in_folder(arena, arena_printf(arena, "%s/bin", folders[i]), name);
    }
    bool is_ptxas = strcmp(name, "ptxas") == 0;
    if (!found && is_ptxas)
        found = assembler_locate(arena, ASSEMBLER_PTXAS);
    if (!found)
        *error = arena_printf(arena, "no %s on PATH, in $CUDA_HOME/bin or in /usr/local/cuda/bin; %s can name one%s",
                              name, variable, is_ptxas ? ", and 'ptxopt setup' fetches one" : "");
    return found;
}
