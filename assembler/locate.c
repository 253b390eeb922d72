/* Where the back ends are looked for, and in which order. */
#include "assembler/internal.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* How one back end is installed. */
typedef struct Installation {
    const char *variable;
    const char *const *folders; /* below a CUDA folder; ends with NULL */
    const char *const *names;   /* file names, newest first; ends with NULL */
    bool is_program;
} Installation;

static const char *const library_folders[] = {"lib", "lib64", "targets/x86_64-linux/lib", "targets/sbsa-linux/lib",
                                              NULL};
static const char *const program_folders[] = {"bin", NULL};
static const char *const no_folders[] = {NULL};
static const char *const nvjitlink_names[] = {"libnvJitLink.so.13", "libnvJitLink.so.12", "libnvJitLink.so", NULL};
static const char *const ptxas_names[] = {"ptxas", NULL};
static const char *const driver_names[] = {"libcuda.so.1", NULL};

static Installation installation_of(AssemblerKind kind)
{
    switch (kind) {
    case ASSEMBLER_NVJITLINK: return (Installation){"PTXOPT_NVJITLINK", library_folders, nvjitlink_names, false};
    case ASSEMBLER_PTXAS: return (Installation){"PTXOPT_PTXAS", program_folders, ptxas_names, true};
    /* A toolkit's folder holds only stubs of the driver. */
    case ASSEMBLER_DRIVER: return (Installation){"PTXOPT_CUDA_DRIVER", no_folders, driver_names, false};
    case ASSEMBLER_AUTO: break;
    }
    bug("no back end of kind %d", (int)kind);
}

/* A program is run in another folder than the current one. */
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

static void add_cuda_folder(Arena *arena, Candidates *found, const Installation *installation, const char *folder)
{
    for (size_t f = 0; installation->folders[f]; f++)
        for (size_t n = 0; installation->names[n]; n++)
            add_file(arena, found,
                     arena_printf(arena, "%s/%s/%s", folder, installation->folders[f], installation->names[n]),
                     installation->is_program);
}

/* The folder of the running program and three above it: programs and tests lie at several depths below the root. */
static void add_own_folders(Arena *arena, Candidates *found, const Installation *installation)
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
        add_cuda_folder(arena, found, installation, arena_printf(arena, "%s/third_party/cuda", path));
    }
}

static void add_search_path(Arena *arena, Candidates *found, const char *name)
{
    const char *path = getenv("PATH");
    while (path && *path) {
        size_t length = strcspn(path, ":");
        /* An empty element means the current folder, from which nothing is run unasked. */
        if (length > 0)
            add_file(arena, found, arena_printf(arena, "%.*s/%s", (int)length, path, name), true);
        path += length + (path[length] == ':');
    }
}

Candidates locate(Arena *arena, AssemblerKind kind)
{
    Installation installation = installation_of(kind);
    Candidates found = {0};
    const char *named = getenv(installation.variable);
    if (named && *named) {
        found.variable = installation.variable;
        named = arena_strndup(arena, named, strlen(named));
        if (installation.is_program && !strchr(named, '/'))
            add_search_path(arena, &found, named);
        if (found.paths.count == 0)
            VEC_PUSH(arena, found.paths, installation.is_program ? absolute_path(arena, named) : named);
        found.paths.count = 1;
        return found;
    }
    add_own_folders(arena, &found, &installation);
    if (installation.is_program)
        add_search_path(arena, &found, installation.names[0]);
    else
        for (size_t n = 0; installation.names[n]; n++)
            VEC_PUSH(arena, found.paths, installation.names[n]);
    static const char *const variables[] = {"CUDA_HOME", "CUDA_PATH"};
    for (size_t i = 0; i < COUNT_OF(variables); i++) {
        const char *folder = getenv(variables[i]);
        if (folder && *folder)
            add_cuda_folder(arena, &found, &installation, folder);
    }
    add_cuda_folder(arena, &found, &installation, "/usr/local/cuda");
    if (kind == ASSEMBLER_DRIVER)
        add_file(arena, &found, "/usr/lib/wsl/lib/libcuda.so.1", false);
    return found;
}
