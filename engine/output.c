#include "engine/output.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static bool is_standard_output(const char *path)
{
    return strcmp(path, "-") == 0 || strcmp(path, "/dev/stdout") == 0;
}

const char *output_check(Arena *arena, const char *path)
{
    if (is_standard_output(path))
        return NULL;
    struct stat status;
    if (stat(path, &status) == 0) {
        if (S_ISDIR(status.st_mode))
            return "it is a directory";
        return access(path, W_OK) == 0 ? NULL : strerror(errno);
    }
    if (errno != ENOENT)
        return strerror(errno);
    const char *slash = strrchr(path, '/');
    const char *folder = slash ? arena_strndup(arena, path, slash == path ? 1 : (size_t)(slash - path)) : ".";
    if (stat(folder, &status) != 0 || !S_ISDIR(status.st_mode))
        return arena_printf(arena, "there is no directory '%s'", folder);
    return access(folder, W_OK) == 0 ? NULL : strerror(errno);
}

static bool is_link(const char *path)
{
    struct stat status;
    return lstat(path, &status) == 0 && S_ISLNK(status.st_mode);
}

/* /dev/stdout, /dev/fd/3 ...: a file that the caller has opened, which is written to, never replaced. */
static bool is_open_file(const char *path)
{
    return is_link(path) && (strncmp(path, "/dev/", 5) == 0 || strncmp(path, "/proc/", 6) == 0);
}

static const char *write_through(const char *path, const char *bytes, size_t length)
{
    int file = open(path, O_WRONLY | O_APPEND | O_CLOEXEC);
    if (file < 0)
        return strerror(errno);
    const char *error = NULL;
    while (length && !error) {
        ssize_t put = write(file, bytes, length);
        if (put >= 0) {
            bytes += put;
            length -= (size_t)put;
        } else if (errno != EINTR)
            error = strerror(errno);
    }
    if (close(file) != 0 && !error)
        error = strerror(errno);
    return error;
}

/* The file to replace: a symbolic link stays, and the file that it points to is replaced. */
static const char *link_target(Arena *arena, const char *path)
{
    char *target = is_link(path) ? realpath(path, NULL) : NULL;
    const char *result = target ? arena_strndup(arena, target, strlen(target)) : path;
    free(target);
    return result;
}

static const char *write_one(Arena *arena, const Output *output)
{
    const char *path = output->path, *error;
    if (is_open_file(path))
        error = write_through(path, output->bytes, output->length);
    else
        error = write_file(arena, link_target(arena, path), output->bytes, output->length);
    if (!error)
        return NULL;
    return is_standard_output(path) ? arena_printf(arena, "cannot write to standard output: %s", error)
                                    : arena_printf(arena, "cannot write '%s': %s", path, error);
}

const char *outputs_write(Arena *arena, const Output *outputs, size_t count)
{
    bool *created = ARENA_ARRAY(arena, bool, count + 1);
    const char *error = NULL;
    for (unsigned standard = 0; standard < 2; standard++)
        for (size_t i = 0; i < count && !error; i++) {
            if (is_standard_output(outputs[i].path) != (bool)standard)
                continue;
            struct stat status;
            bool is_new = !standard && lstat(outputs[i].path, &status) != 0;
            error = write_one(arena, &outputs[i]);
            created[i] = is_new && !error;
        }
    for (size_t i = 0; error && i < count; i++)
        if (created[i])
            unlink(outputs[i].path);
    return error;
}
