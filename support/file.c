/* Sources read whole, and files written whole or not at all. */
#include "support/support.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

Source *source_from_memory(Arena *arena, const char *path, const char *text, size_t size)
{
    Source *source = ARENA_NEW(arena, Source);
    source->path = arena_strndup(arena, path, strlen(path));
    source->text = arena_strndup(arena, text, size);
    source->size = size;
    size_t lines = 1;
    for (const char *at = text; size && (at = memchr(at, '\n', size - (size_t)(at - text))); at++)
        lines++;
    source->line_count = lines;
    source->lines = ARENA_ARRAY(arena, uint32_t, lines);
    size_t line = 1;
    for (const char *at = text; size && (at = memchr(at, '\n', size - (size_t)(at - text))); at++)
        source->lines[line++] = (uint32_t)(at - text) + 1;
    return source;
}

static const char *read_all(int file, Buf *text)
{
    static const size_t STEP = 1 << 16;
    char chunk[1 << 16];
    for (;;) {
        ssize_t got = read(file, chunk, STEP);
        if (got == 0)
            return NULL;
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return strerror(errno);
        buf_write(text, chunk, (size_t)got);
        if (text->length >= UINT32_MAX)
            return "the file is 4 GiB or larger";
    }
}

Source *source_read(Arena *arena, const char *path, const char **error)
{
    bool standard_input = strcmp(path, "-") == 0;
    int file = standard_input ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC);
    *error = NULL;
    if (file < 0) {
        *error = strerror(errno);
        return NULL;
    }
    Buf text = {0};
    *error = read_all(file, &text);
    if (!standard_input)
        close(file);
    Source *source = NULL;
    if (!*error)
        source = source_from_memory(arena, standard_input ? "<stdin>" : path, buf_text(&text), text.length);
    buf_free(&text);
    return source;
}

Position source_position(const Source *source, uint32_t offset)
{
    size_t low = 0, high = source->line_count; /* the line is in [low, high) */
    while (high - low > 1) {
        size_t middle = low + (high - low) / 2;
        if (source->lines[middle] <= offset)
            low = middle;
        else
            high = middle;
    }
    return (Position){(uint32_t)low + 1, offset - source->lines[low] + 1};
}

static bool write_all(int file, const char *bytes, size_t length)
{
    while (length) {
        ssize_t put = write(file, bytes, length);
        if (put < 0 && errno == EINTR)
            continue;
        if (put < 0)
            return false;
        bytes += put;
        length -= (size_t)put;
    }
    return true;
}

/* The descriptor that the path is another name of; -1 if it is a file's. */
static int descriptor_of(const char *path)
{
    static const char *const folders[] = {"/dev/fd/", "/proc/self/fd/"};
    if (strcmp(path, "-") == 0 || strcmp(path, "/dev/stdout") == 0)
        return STDOUT_FILENO;
    if (strcmp(path, "/dev/stderr") == 0)
        return STDERR_FILENO;
    for (size_t i = 0; i < COUNT_OF(folders); i++) {
        size_t length = strlen(folders[i]), digits = 0;
        if (strncmp(path, folders[i], length) != 0)
            continue;
        int number = 0;
        for (; path[length + digits] >= '0' && path[length + digits] <= '9' && digits < 6; digits++)
            number = number * 10 + (path[length + digits] - '0');
        if (digits && path[length + digits] == 0)
            return number;
    }
    return -1;
}

/* What a symbolic link leads to in the end, whether that is there or not: renaming must not replace the link.  NULL,
 * with errno set, if it leads in circles. */
static const char *follow_links(Arena *arena, const char *path)
{
    enum { LONGEST_CHAIN = 40 };
    for (unsigned links = 0; links <= LONGEST_CHAIN; links++) {
        struct stat status;
        if (lstat(path, &status) != 0 || !S_ISLNK(status.st_mode))
            return path;
        char target[PATH_MAX];
        ssize_t length = readlink(path, target, sizeof target);
        if (length <= 0 || (size_t)length >= sizeof target)
            return path;
        const char *slash = target[0] == '/' ? NULL : strrchr(path, '/');
        path = arena_printf(arena, "%.*s%.*s", slash ? (int)(slash + 1 - path) : 0, path, (int)length, target);
    }
    errno = ELOOP;
    return NULL;
}

static const char *write_in_place(const char *path, const void *bytes, size_t length)
{
    int file = open(path, O_WRONLY | O_CLOEXEC);
    if (file < 0)
        return strerror(errno);
    const char *error = write_all(file, bytes, length) ? NULL : strerror(errno);
    if (close(file) != 0 && !error)
        error = strerror(errno);
    return error;
}

const char *write_file(Arena *arena, const char *path, const void *bytes, size_t length)
{
    int descriptor = descriptor_of(path);
    if (descriptor >= 0)
        return write_all(descriptor, bytes, length) ? NULL : strerror(errno);
    struct stat status;
    bool exists = stat(path, &status) == 0;
    if (exists && !S_ISREG(status.st_mode))
        return write_in_place(path, bytes, length);
    path = follow_links(arena, path);
    if (!path)
        return strerror(errno);
    char *temporary = arena_printf(arena, "%s.tmp.%ld", path, (long)getpid());
    mode_t mode = exists ? status.st_mode & 07777 : 0666;
    int file = open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode);
    if (file < 0)
        return strerror(errno);
    const char *error = write_all(file, bytes, length) ? NULL : strerror(errno);
    if (close(file) != 0 && !error)
        error = strerror(errno);
    if (!error && rename(temporary, path) != 0)
        error = strerror(errno);
    if (error)
        unlink(temporary);
    return error;
}
