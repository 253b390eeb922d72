/* Fetches NVIDIA's wheels with pip, for machines without a CUDA toolkit: see assembler.h. */
#include "assembler/internal.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <glob.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

const Wheel assembler_wheels[] = {
#define WHEEL(package, version, megabytes, file, purpose) {package, version, megabytes, file, purpose},
#include "assembler/wheels.def"
#undef WHEEL
    {0}};

/* Programs that fetch packages, and the words with which they begin. */
static const char *const fetchers[][4] = {
    {"python3", "-m", "pip", NULL}, {"pip3", NULL}, {"pip", NULL}, {"uv", "pip", NULL}};

/* The versions in a folder: a line for each wheel. */
static const char *versions_text(Arena *arena)
{
    const char *text = "";
    for (const Wheel *wheel = assembler_wheels; wheel->package; wheel++)
        text = arena_printf(arena, "%s%s==%s\n", text, wheel->package, wheel->version);
    return text;
}

bool assembler_is_fetched(Arena *arena, const char *folder)
{
    for (const Wheel *wheel = assembler_wheels; wheel->package; wheel++)
        if (access(arena_printf(arena, "%s/cuda/%s", folder, wheel->file), R_OK) != 0)
            return false;
    const char *wanted = versions_text(arena);
    char *found = calloc(1, strlen(wanted) + 2);
    FILE *file = fopen(arena_printf(arena, "%s/cuda/wheels.txt", folder), "re");
    bool is_same = file && found && fread(found, 1, strlen(wanted) + 1, file) && strcmp(found, wanted) == 0;
    if (file)
        fclose(file);
    free(found);
    return is_same;
}

/* Runs a program of $PATH as a shell would, so that an interrupt ends it and not this process. Returns waitpid()'s
 * status; -1 with errno if it was not started. */
static int run_program(const char *const *arguments, bool is_quiet)
{
    posix_spawn_file_actions_t files;
    posix_spawnattr_t attributes;
    sigset_t defaults;
    sigemptyset(&defaults);
    sigaddset(&defaults, SIGINT);
    posix_spawn_file_actions_init(&files);
    posix_spawnattr_init(&attributes);
    posix_spawnattr_setsigdefault(&attributes, &defaults);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGDEF);
    for (int file = STDOUT_FILENO; is_quiet && file <= STDERR_FILENO; file++)
        posix_spawn_file_actions_addopen(&files, file, "/dev/null", O_WRONLY, 0);
    pid_t pid;
    int status = -1;
    struct sigaction ignore = {.sa_handler = SIG_IGN}, before;
    sigaction(SIGINT, &ignore, &before);
    errno = posix_spawnp(&pid, arguments[0], &files, &attributes, (char *const *)arguments, environ);
    if (errno == 0 && !child_wait(pid, &status, NULL))
        status = -1;
    sigaction(SIGINT, &before, NULL);
    posix_spawnattr_destroy(&attributes);
    posix_spawn_file_actions_destroy(&files);
    return status;
}

typedef VEC(const char *) Line;

/* The beginning of a command line; an empty one if no such program is installed. */
static Line fetcher_find(Arena *arena)
{
    for (size_t i = 0; i < COUNT_OF(fetchers); i++) {
        Line line = {0};
        for (size_t word = 0; fetchers[i][word]; word++)
            VEC_PUSH(arena, line, fetchers[i][word]);
        const size_t words = line.count;
        VEC_PUSH(arena, line, words == 2 ? "--help" : "--version"); /* uv pip has no version */
        VEC_PUSH(arena, line, NULL);
        if (run_program(line.data, true) == 0) {
            line.count = words;
            return line;
        }
    }
    return (Line){0};
}

/* Overrides settings that a user has made for other installations. */
static void settle_fetchers(void)
{
    static const char *const settings[][2] = {{"PIP_USER", "0"},
                                              {"PIP_REQUIRE_VIRTUALENV", "0"},
                                              {"PIP_ROOT_USER_ACTION", "ignore"},
                                              {"PIP_NO_WARN_SCRIPT_LOCATION", "0"},
                                              {"PIP_DISABLE_PIP_VERSION_CHECK", "1"},
                                              {"UV_PYTHON_DOWNLOADS", "never"},
                                              {"UV_LINK_MODE", "copy"}};
    for (size_t i = 0; i < COUNT_OF(settings); i++)
        setenv(settings[i][0], settings[i][1], 1);
}

/* Installs the wheels into a folder of their own. */
static const char *install_wheels(Arena *arena, const char *folder)
{
    Line line = fetcher_find(arena);
    if (!line.count)
        return "there is no pip here, which fetches the wheels (Debian: apt-get install python3-pip)";
    static const char *const words[] = {"install", "--no-deps", "--only-binary", ":all:", "--target"};
    for (size_t i = 0; i < COUNT_OF(words); i++)
        VEC_PUSH(arena, line, words[i]);
    VEC_PUSH(arena, line, folder);
    for (const Wheel *wheel = assembler_wheels; wheel->package; wheel++)
        VEC_PUSH(arena, line, arena_printf(arena, "%s==%s", wheel->package, wheel->version));
    VEC_PUSH(arena, line, NULL);
    settle_fetchers();
    int status = run_program(line.data, false);
    if (status == 0)
        return NULL;
    Buf ending = {0};
    ending_describe(&ending, status);
    const char *message = arena_printf(arena, "%s ended %s", line.data[0], buf_text(&ending));
    buf_free(&ending);
    return message;
}

static const char *cannot(Arena *arena, const char *what, const char *path)
{
    return arena_printf(arena, "cannot %s %s: %s", what, path, strerror(errno));
}

/* Makes a folder and those above it. */
static const char *make_folder(Arena *arena, const char *path)
{
    for (const char *end = strchr(path + 1, '/');; end = strchr(end + 1, '/')) {
        const char *part = end ? arena_strndup(arena, path, (size_t)(end - path)) : path;
        if (mkdir(part, 0777) != 0 && errno != EEXIST)
            return cannot(arena, "make the folder", part);
        if (!end)
            return NULL;
    }
}

/* The wheel's licence; where it has none, none is kept. */
static void keep_licence(Arena *arena, const Wheel *wheel, const char *from, const char *to)
{
    char *name = arena_strndup(arena, wheel->package, strlen(wheel->package));
    for (char *at = name; *at; at++)
        if (*at == '-')
            *at = '_';
    glob_t found;
    if (glob(arena_printf(arena, "%s/%s-*.dist-info/licenses/*", from, name), 0, NULL, &found) == 0)
        rename(found.gl_pathv[0], arena_printf(arena, "%s/LICENSE.%s", to, wheel->package));
    globfree(&found);
}

/* Moves the files that are needed of the wheels. */
static const char *move_files(Arena *arena, const char *from, const char *to)
{
    for (const Wheel *wheel = assembler_wheels; wheel->package; wheel++) {
        const char *file = arena_printf(arena, "%s/nvidia/cu13/%s", from, wheel->file);
        if (chmod(file, 0755) != 0)
            return arena_printf(arena, "%s==%s has no %s", wheel->package, wheel->version, wheel->file);
    }
    const char *problem = make_folder(arena, arena_printf(arena, "%s/bin", to));
    if (!problem)
        problem = make_folder(arena, arena_printf(arena, "%s/lib", to));
    for (const Wheel *wheel = assembler_wheels; wheel->package && !problem; wheel++) {
        const char *target = arena_printf(arena, "%s/%s", to, wheel->file);
        if (rename(arena_printf(arena, "%s/nvidia/cu13/%s", from, wheel->file), target) != 0)
            problem = cannot(arena, "write", target);
        keep_licence(arena, wheel, from, to);
    }
    return problem;
}

static const char *write_versions(Arena *arena, const char *folder)
{
    const char *path = arena_printf(arena, "%s/wheels.txt", folder), *text = versions_text(arena);
    FILE *file = fopen(path, "we");
    bool is_written = file && fputs(text, file) >= 0;
    return (file && fclose(file) != 0) || !is_written ? cannot(arena, "write", path) : NULL;
}

static int remove_entry(const char *path, const struct stat *status, int type, struct FTW *place)
{
    (void)status;
    (void)type;
    (void)place;
    remove(path);
    return 0;
}

const char *assembler_fetch(Arena *arena, const char *folder)
{
    enum { OPEN_FOLDERS = 16 };
    const char *problem = make_folder(arena, folder);
    char *work = arena_printf(arena, "%s/fetch.XXXXXX", folder);
    if (problem)
        return problem;
    if (!mkdtemp(work))
        return cannot(arena, "make a folder in", folder);
    const char *target = arena_printf(arena, "%s/cuda", folder);
    problem = install_wheels(arena, work);
    if (!problem)
        problem = move_files(arena, work, target);
    if (!problem)
        problem = write_versions(arena, target);
    nftw(work, remove_entry, OPEN_FOLDERS, FTW_DEPTH | FTW_PHYS);
    return problem;
}
