/* Sources read whole, and files written whole or not at all. */
#include "support/support.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* The offset at which each line begins; made when it is first asked for. */
typedef struct LineMap {
    Arena *arena;
    uint32_t *starts; /* NULL: not made yet */
    size_t count;
} LineMap;

/* 'text' is followed by SOURCE_PADDING NULs and belongs to the arena. */
static Source *source_new(Arena *arena, const char *path, char *text, size_t size)
{
    Source *source = ARENA_NEW(arena, Source);
    source->path = arena_strndup(arena, path, strlen(path));
    source->text = text;
    source->size = size;
    source->lines = ARENA_NEW(arena, LineMap);
    source->lines->arena = arena;
    return source;
}

static char *text_new(Arena *arena, size_t size)
{
    if (size > SIZE_MAX - SOURCE_PADDING)
        out_of_memory();
    return arena_alloc(arena, size + SOURCE_PADDING);
}

Source *source_from_memory(Arena *arena, const char *path, const char *text, size_t size)
{
    char *copy = text_new(arena, size);
    if (size)
        memcpy(copy, text, size);
    return source_new(arena, path, copy, size);
}

static const char too_large[] = "the file is larger than 2 GiB";

/* Bytes that are read of pipes and devices, which may never end. */
#define STREAM_LIMIT ((size_t)256 << 20)
static const char endless[] = "more than 256 MiB came from what is not a regular file";

/* Up to 'limit' bytes; fewer at the end of the file. -1: failed, with errno set. */
static ssize_t read_some(int file, char *to, size_t limit)
{
    size_t length = 0;
    while (length < limit) {
        ssize_t got = read(file, to + length, limit - length);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return -1;
        if (got == 0)
            break;
        length += (size_t)got;
    }
    return (ssize_t)length;
}

/* Appends the rest of the file to the buffer. NULL when done, else a message. */
static const char *read_rest(int file, bool is_stream, Buf *text)
{
    char chunk[1 << 16];
    for (;;) {
        ssize_t got = read_some(file, chunk, sizeof chunk);
        if (got < 0)
            return strerror(errno);
        if (text->length + (size_t)got > (is_stream ? STREAM_LIMIT : SOURCE_LIMIT))
            return is_stream ? endless : too_large;
        buf_write(text, chunk, (size_t)got);
        if ((size_t)got < sizeof chunk)
            return NULL;
    }
}

/* A file of known size is read directly into its final place. Not mapped: a file that shrinks while it is mapped
 * would end the program. */
static Source *read_whole(Arena *arena, const char *path, int file, const char **error)
{
    struct stat status;
    bool is_stream = fstat(file, &status) != 0 || !S_ISREG(status.st_mode);
    size_t size = is_stream ? 0 : (size_t)status.st_size;
    if (size > SOURCE_LIMIT) {
        *error = too_large;
        return NULL;
    }
    char *text = text_new(arena, size);
    memory_prefault(text, size);
    ssize_t length = read_some(file, text, size);
    if (length < 0) {
        *error = strerror(errno);
        return NULL;
    }
    Buf rest = {0};
    *error = (size_t)length == size ? read_rest(file, is_stream, &rest) : NULL;
    if (!*error && rest.length) {
        char *longer = text_new(arena, size + rest.length);
        memcpy(longer, text, size);
        memcpy(longer + size, rest.data, rest.length);
        text = longer;
        length += (ssize_t)rest.length;
    }
    buf_free(&rest);
    if (*error)
        return NULL;
    if ((size_t)length > SOURCE_LIMIT) {
        *error = too_large;
        return NULL;
    }
    return source_new(arena, path, text, (size_t)length);
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
    Source *source = read_whole(arena, standard_input ? "<stdin>" : path, file, error);
    if (!standard_input)
        close(file);
    return source;
}

static const LineMap *line_map(const Source *source)
{
    LineMap *map = source->lines;
    if (map->starts)
        return map;
    const char *end = source->text + source->size;
    size_t count = 1;
    for (const char *at = source->text; (at = memchr(at, '\n', (size_t)(end - at))); at++)
        count++;
    map->starts = ARENA_ARRAY(map->arena, uint32_t, count);
    map->count = 1;
    for (const char *at = source->text; (at = memchr(at, '\n', (size_t)(end - at))); at++)
        map->starts[map->count++] = (uint32_t)(at - source->text) + 1;
    return map;
}

Span source_line_span(const Source *source, uint32_t line)
{
    const LineMap *map = line_map(source);
    require(line >= 1 && line <= map->count);
    return (Span){map->starts[line - 1], line < map->count ? map->starts[line] : (uint32_t)source->size};
}

Position source_position(const Source *source, uint32_t offset)
{
    Position position;
    bool is_known = source->compiled_file && compiled_position(source, offset, &position);
    return is_known ? position : source_text_position(source, offset);
}

Position source_text_position(const Source *source, uint32_t offset)
{
    const LineMap *map = line_map(source);
    size_t low = 0, high = map->count; /* the line is in [low, high) */
    while (high - low > 1) {
        size_t middle = low + (high - low) / 2;
        if (map->starts[middle] <= offset)
            low = middle;
        else
            high = middle;
    }
    return (Position){(uint32_t)low + 1, offset - map->starts[low] + 1};
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

/* The descriptor that the path is another name for; -1 if the path is that of a file. */
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

/* The final target of a symbolic link, whether it exists or not: renaming must not replace the link. NULL, with errno
 * set, if the links form a cycle. */
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
