/* Rows that several processes add to one table. */
#include <errno.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "stats/internal.h"

/* False with errno set. */
static bool write_all(int file, const char *text, size_t length)
{
    while (length) {
        const ssize_t written = write(file, text, length);
        if (written < 0 && errno != EINTR)
            return false;
        text += written > 0 ? written : 0;
        length -= written > 0 ? (size_t)written : 0;
    }
    return true;
}

/* While the file is locked: nobody else writes to it, so it is empty or has its first line. What was written by half
 * when the disk was full is taken off again. */
static bool append_locked(int file, const StatsRows *rows)
{
    struct stat state;
    Buf text = {0};
    if (fstat(file, &state) != 0)
        return false;
    stats_print_append(rows, state.st_size == 0, &text);
    const bool done = write_all(file, text.data, text.length);
    const int error = errno;
    if (!done && ftruncate(file, state.st_size) != 0)
        errno = error;
    buf_free(&text);
    errno = error;
    return done;
}

const char *stats_append(Arena *arena, const char *path, const StatsRows *rows)
{
    if (!rows->count)
        return NULL;
    const int file = open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0666);
    if (file < 0)
        return arena_printf(arena, "cannot open '%s': %s", path, strerror(errno));
    const char *error = NULL;
    if (flock(file, LOCK_EX) != 0 || !append_locked(file, rows))
        error = arena_printf(arena, "cannot write to '%s': %s", path, strerror(errno));
    close(file);
    return error;
}
