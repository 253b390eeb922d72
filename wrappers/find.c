/* Finding ptxas and nvcc, and not the wrapper that goes by the same name. */
#include <limits.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

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

/* The first program of that name on PATH. An empty element means the current folder, where nothing is looked for. */
static const char *on_path(Arena *arena, const char *name)
{
    for (const char *path = getenv("PATH"); path && *path;) {
        size_t length = strcspn(path, ":");
        const char *file = arena_printf(arena, "%.*s/%s", (int)length, path, name);
        if (length && is_program(file))
            return file;
        path += length + (path[length] == ':');
    }
    return NULL;
}

/* A name without a slash is looked for on PATH. */
static const char *named_program(Arena *arena, const char *name)
{
    if (!strchr(name, '/'))
        return on_path(arena, name);
    return is_program(name) ? name : NULL;
}

const char *find_real(Arena *arena, const char *name, const char *variable, const char *first, const char **error)
{
    const char *named = getenv(variable), *found;
    if (named && *named) {
        found = named_program(arena, named);
        if (!found)
            *error = arena_printf(arena, "%s is '%s', which %s", variable, named,
                                  same_file(named, "/proc/self/exe") ? "is this program itself"
                                                                     : "is not a program that can be run");
        return found;
    }
    found = first ? named_program(arena, first) : NULL;
    if (!found)
        found = on_path(arena, name);
    const char *folders[] = {getenv("CUDA_HOME"), getenv("CUDA_PATH"), "/usr/local/cuda"};
    for (size_t i = 0; i < COUNT_OF(folders) && !found; i++) {
        const char *file = folders[i] && *folders[i] ? arena_printf(arena, "%s/bin/%s", folders[i], name) : NULL;
        if (file && is_program(file))
            found = file;
    }
    if (!found)
        *error = arena_printf(arena, "no %s on PATH, in $CUDA_HOME/bin or in /usr/local/cuda/bin; %s can name one",
                              name, variable);
    return found;
}
