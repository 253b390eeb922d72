/* Launches with other blocks, as files and in the emulator. */
#include <errno.h>
#include <jansson.h>
#include <stdlib.h>
#include <unistd.h>

#include "sweep/internal.h"

/* Contents are found beside the original file. */
static void make_paths_absolute(Arena *arena, const char *path, json_t *root)
{
    char *folder = realpath(path, NULL), *slash = folder ? strrchr(folder, '/') : NULL;
    json_t *argument;
    size_t i;
    json_array_foreach(json_object_get(root, "args"), i, argument) {
        const char *file = json_string_value(json_object_get(argument, "file"));
        if (file && *file != '/' && slash)
            json_object_set_new(argument, "file",
                                json_text(arena_printf(arena, "%.*s/%s", (int)(slash - folder), folder, file)));
    }
    free(folder);
}

static const char *temporary_file(Arena *arena)
{
    const char *folder = getenv("TMPDIR");
    char *path = arena_printf(arena, "%s/ptxopt-launch-XXXXXX", folder && *folder ? folder : "/tmp");
    const int file = mkstemp(path);
    if (file < 0) {
        fprintf(stderr, "ptxopt: error: cannot make %s: %s\n", path, strerror(errno));
        return NULL;
    }
    close(file);
    return path;
}

const char *tune_launch_write(Arena *arena, const char *path, const unsigned block[3])
{
    const char *error = NULL;
    json_t *root = json_file_read(arena, path, &error);
    const char *copy = root ? temporary_file(arena) : NULL;
    if (!root)
        fprintf(stderr, "ptxopt: error: %s\n", error);
    if (copy) {
        if (json_object_get(root, "threads"))
            json_object_del(root, "grid");
        json_object_set_new(root, "block", json_triple(block));
        make_paths_absolute(arena, path, root);
        if (json_dump_file(root, copy, 0) != 0) {
            fprintf(stderr, "ptxopt: error: cannot write %s\n", copy);
            unlink(copy);
            copy = NULL;
        }
    }
    json_decref(root);
    return copy;
}

static const EmulatorResult *run(Arena *arena, const SweepKernel *kernel, const Launch *launch, bool checks)
{
    const EmulatorOptions options = {.check_races = checks,
                                     .check_unwritten = checks,
                                     .check_registers = checks,
                                     .check_division = checks,
                                     .jobs = launch_jobs(launch, 0)};
    return emulator_run(arena, kernel->kernel->module, launch, &options);
}

/* What the kernel does wrong with its own block, it may do with others. */
bool tune_block_is_right(const SweepKernel *kernel, const Launch *launch)
{
    if (memcmp(kernel->launch->block, launch->block, sizeof launch->block) == 0)
        return true;
    Arena *arena = arena_new();
    const EmulatorResult *own = run(arena, kernel, kernel->launch, true);
    const bool checks = own->fault.kind == FAULT_NONE;
    if (!checks)
        own = run(arena, kernel, kernel->launch, false);
    const EmulatorResult *other = run(arena, kernel, launch, checks);
    const bool is_right = own->fault.kind == FAULT_NONE && other->fault.kind == FAULT_NONE &&
                          !emulator_difference(arena, kernel->launch, own, other, kernel->launch->tolerance);
    arena_free(arena);
    return is_right;
}
