/* The places where a back end's file is looked for, in order: see assembler.h. */
#include "assembler/internal.h"

#include <dlfcn.h>
#include <glob.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

typedef struct Locating {
    Arena *arena;
    const Backend *backend;
    Candidates found;
} Locating;

/* The absolute form of a path, because programs do not run in the current folder. */
static const char *absolute_path(Arena *arena, const char *path)
{
    char current[PATH_MAX];
    if (path[0] == '/' || !getcwd(current, sizeof current))
        return path;
    return arena_printf(arena, "%s/%s", current, path);
}

/* True for ptxopt-ptxas, which may go by the name of ptxas. It runs ptxopt, so it is never the program that ptxopt
 * looks for. */
static bool is_wrapper(const char *path)
{
    char real[PATH_MAX];
    const char *slash = realpath(path, real) ? strrchr(real, '/') : NULL;
    return slash && strcmp(slash, "/ptxopt-ptxas") == 0;
}

static bool is_usable(const char *path, bool is_program, struct stat *status)
{
    return stat(path, status) == 0 && S_ISREG(status->st_mode) && access(path, is_program ? X_OK : R_OK) == 0 &&
           !(is_program && is_wrapper(path));
}

static void add_file(Locating *locating, const char *path)
{
    bool is_program = locating->backend->program != NULL;
    if (is_program)
        path = absolute_path(locating->arena, path);
    struct stat status, other;
    if (!is_usable(path, is_program, &status))
        return;
    PathVec *paths = &locating->found.paths;
    for (size_t i = 0; i < paths->count; i++)
        if (stat(paths->data[i], &other) == 0 && other.st_dev == status.st_dev && other.st_ino == status.st_ino)
            return; /* the same file by another name */
    VEC_PUSH(locating->arena, *paths, path);
}

static void add_files_in(Locating *locating, const char *folder)
{
    for (size_t n = 0; locating->backend->files[n]; n++)
        add_file(locating, arena_printf(locating->arena, "%s/%s", folder, locating->backend->files[n]));
}

static void add_cuda_folder(Locating *locating, const char *folder)
{
    for (size_t f = 0; locating->backend->folders[f]; f++)
        add_files_in(locating, arena_printf(locating->arena, "%s/%s", folder, locating->backend->folders[f]));
}

typedef void AddFolder(Locating *locating, const char *folder);

/* The folders that match a pattern, the highest version first. */
static void add_matches(Locating *locating, const char *pattern, AddFolder *add)
{
    glob_t matches;
    if (glob(pattern, GLOB_ONLYDIR, NULL, &matches) == 0)
        for (size_t i = matches.gl_pathc; i-- > 0;)
            add(locating, arena_strndup(locating->arena, matches.gl_pathv[i], strlen(matches.gl_pathv[i])));
    globfree(&matches);
}

/* The folder 'levels' above that of a file; NULL if there is none. */
static const char *folder_above(Arena *arena, const char *path, unsigned levels)
{
    size_t length = strlen(path);
    for (unsigned i = 0; i <= levels; i++) {
        while (length && path[length - 1] != '/')
            length--;
        if (length <= 1)
            return NULL;
        length--;
    }
    return arena_strndup(arena, path, length);
}

/* Files that this code is in: the running program, and the shared library, if it is in one. NULL: not known. */
static void own_files(Arena *arena, const char *files[2])
{
    char path[PATH_MAX];
    ssize_t length = readlink("/proc/self/exe", path, sizeof path);
    files[0] = length > 0 && (size_t)length < sizeof path ? arena_strndup(arena, path, (size_t)length) : NULL;
    Dl_info info;
    /* A program started by its name alone has that name here; it must not be looked for in the current folder. */
    bool is_known = dladdr((const void *)(uintptr_t)&own_files, &info) && info.dli_fname && info.dli_fname[0] == '/' &&
                    realpath(info.dli_fname, path);
    files[1] = is_known ? arena_strndup(arena, path, strlen(path)) : NULL;
}

/* Adds what is in third_party, in the folder of the program or library and in the three above it, because programs and
 * tests are at several depths below the root. */
static void add_checkout(Locating *locating, const char *file, AddFolder *add)
{
    for (unsigned level = 0; level < 4; level++) {
        const char *folder = folder_above(locating->arena, file, level);
        if (folder)
            add(locating, arena_printf(locating->arena, "%s/third_party", folder));
    }
}

static void add_default(Locating *locating, const char *third_party)
{
    add_cuda_folder(locating, arena_printf(locating->arena, "%s/cuda", third_party));
}

static void add_other_versions(Locating *locating, const char *third_party)
{
    add_matches(locating, arena_printf(locating->arena, "%s/cuda-*", third_party), add_cuda_folder);
}

static void add_beside(Locating *locating, const char *file)
{
    const char *folder = folder_above(locating->arena, file, 0), *prefix = folder_above(locating->arena, file, 1);
    if (folder)
        add_files_in(locating, folder);
    if (prefix)
        add_cuda_folder(locating, prefix);
}

static void add_search_path(Locating *locating, const char *name)
{
    const char *path = getenv("PATH");
    while (path && *path) {
        size_t length = strcspn(path, ":");
        /* An empty element means the current folder, and nothing is run from there unless named. */
        if (length > 0)
            add_file(locating, arena_printf(locating->arena, "%.*s/%s", (int)length, path, name));
        path += length + (path[length] == ':');
    }
}

static void add_system(Locating *locating)
{
    const Backend *backend = locating->backend;
    for (size_t n = 0; backend->files[n]; n++) {
        if (backend->program)
            add_search_path(locating, backend->files[n]);
        else
            VEC_PUSH(locating->arena, locating->found.paths, backend->files[n]);
    }
    static const char *const variables[] = {"CUDA_HOME", "CUDA_PATH"};
    for (size_t i = 0; i < COUNT_OF(variables); i++) {
        const char *folder = getenv(variables[i]);
        if (folder && *folder)
            add_cuda_folder(locating, folder);
    }
    add_cuda_folder(locating, "/usr/local/cuda");
}

/* A folder of Python packages: NVIDIA's wheels for CUDA 13 and later, and for CUDA 12. */
static void add_nvidia(Locating *locating, const char *site)
{
    add_matches(locating, arena_printf(locating->arena, "%s/nvidia/cu[0-9]*", site), add_cuda_folder);
    add_matches(locating, arena_printf(locating->arena, "%s/nvidia/cuda_*", site), add_cuda_folder);
    add_cuda_folder(locating, arena_printf(locating->arena, "%s/nvidia/nvjitlink", site));
}

static void add_triton(Locating *locating, const char *site)
{
    if (!locating->backend->program)
        return;
    const char *folder = arena_printf(locating->arena, "%s/triton/backends/nvidia/bin", site);
    /* Triton has a newer one for newer GPUs, which assembles for all. */
    for (size_t n = 0; locating->backend->files[n]; n++)
        add_file(locating, arena_printf(locating->arena, "%s/%s-blackwell", folder, locating->backend->files[n]));
    add_files_in(locating, folder);
}

/* The prefix of the first python3 on PATH, which is that of a virtual environment if one is active; NULL: there is
 * none. */
static const char *python_prefix(Arena *arena)
{
    for (const char *path = getenv("PATH"); path && *path;) {
        size_t length = strcspn(path, ":");
        const char *python = arena_printf(arena, "%.*s/python3", (int)length, path);
        if (length && access(python, X_OK) == 0)
            return folder_above(arena, python, 1);
        path += length + (path[length] == ':');
    }
    return NULL;
}

static void add_sites(Locating *locating, const char *prefix, AddFolder *add)
{
    if (!prefix || !*prefix)
        return;
    Arena *arena = locating->arena;
    add_matches(locating, arena_printf(arena, "%s/lib/python3*/site-packages", prefix), add);
    add_matches(locating, arena_printf(arena, "%s/lib/python3*/dist-packages", prefix), add);
}

/* Every folder of Python packages that is known: those that the caller names, the one that this library is in, and
 * those of the environments that are in use. */
static void for_each_site(Locating *locating, const char *const *sites, AddFolder *add)
{
    Arena *arena = locating->arena;
    const char *files[2], *home = getenv("HOME");
    own_files(arena, files);
    for (size_t i = 0; sites && sites[i]; i++)
        add(locating, sites[i]);
    const char *package = files[1] ? folder_above(arena, files[1], 1) : NULL;
    if (package)
        add(locating, package);
    add_sites(locating, getenv("VIRTUAL_ENV"), add);
    add_sites(locating, getenv("CONDA_PREFIX"), add);
    add_sites(locating, python_prefix(arena), add);
    add_sites(locating, files[0] ? folder_above(arena, files[0], 1) : NULL, add);
    add_sites(locating, home && *home ? arena_printf(arena, "%s/.local", home) : NULL, add);
    add_sites(locating, "/usr/local", add);
    add_sites(locating, "/usr", add);
}

const char *assembler_user_folder(Arena *arena)
{
    const char *base = getenv("XDG_DATA_HOME"), *home = getenv("HOME");
    /* Relative paths are to be ignored (XDG Base Directory Specification). */
    if (base && *base == '/')
        return arena_printf(arena, "%s/ptxopt", base);
    return home && *home ? arena_printf(arena, "%s/.local/share/ptxopt", home) : NULL;
}

static void add_everywhere(Locating *locating, const char *const *sites)
{
    Arena *arena = locating->arena;
    const char *files[2], *own = assembler_user_folder(arena);
    own_files(arena, files);
    for (size_t i = 0; i < COUNT_OF(files); i++)
        if (files[i])
            add_checkout(locating, files[i], add_default);
    add_system(locating);
    for (size_t i = 0; i < COUNT_OF(files); i++)
        if (files[i])
            add_beside(locating, files[i]);
    if (own)
        add_cuda_folder(locating, arena_printf(arena, "%s/cuda", own));
    for_each_site(locating, sites, add_nvidia);
    for_each_site(locating, sites, add_triton);
    for (size_t i = 0; i < COUNT_OF(files); i++)
        if (files[i])
            add_checkout(locating, files[i], add_other_versions);
    if (locating->backend->other_file)
        add_file(locating, locating->backend->other_file);
}

static void add_named(Locating *locating, const char *named)
{
    Arena *arena = locating->arena;
    const Backend *backend = locating->backend;
    PathVec *paths = &locating->found.paths;
    named = arena_strndup(arena, named, strlen(named));
    if (backend->program && !strchr(named, '/'))
        add_search_path(locating, named);
    if (paths->count == 0)
        VEC_PUSH(arena, *paths, backend->program ? absolute_path(arena, named) : named);
    paths->count = 1;
}

bool backend_is_named(const Backend *backend)
{
    const char *named = getenv(backend->variable);
    return named && *named;
}

Candidates locate(Arena *arena, const Backend *backend, const char *const *sites)
{
    Locating locating = {.arena = arena, .backend = backend};
    if (backend_is_named(backend)) {
        locating.found.variable = backend->variable;
        add_named(&locating, getenv(backend->variable));
    } else {
        add_everywhere(&locating, sites);
    }
    return locating.found;
}

const char *assembler_locate(Arena *arena, AssemblerKind kind)
{
    Locating locating = {.arena = arena, .backend = backend_of(kind)};
    add_everywhere(&locating, NULL);
    return locating.found.paths.count ? locating.found.paths.data[0] : NULL;
}
