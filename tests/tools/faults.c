/* Faults for tests/suites/faults.sh: linked into the program with --wrap, so that the program's own calls of these
 * functions come here first.  $FAULT selects the call that fails, and how:
 *
 *     alloc:N      the N-th allocation fails (from 1)
 *     alloc:N+     and every one after it
 *     read:short   every read gives one byte
 *     read:intr    every other read is interrupted
 *     read:io:N    the N-th read fails with an input/output error
 *     write:short  every write takes one byte
 *     write:intr   every other write is interrupted
 *     write:full:N the N-th write finds the disk full
 *     close:io     every close of a file that was written fails
 *     rename:io    every rename fails
 *     open:N       the N-th open fails: too many open files
 *     truncate:N   before the N-th read the file $FAULT_FILE is truncated to half
 *     remove:N     before the N-th read it is removed
 *
 * $FAULT_COUNT names a file that receives the number of allocations at the end. */
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

void *__real_malloc(size_t size);
void *__real_calloc(size_t count, size_t size);
void *__real_realloc(void *old, size_t size);
void *__real_mmap(void *at, size_t length, int protection, int flags, int file, off_t offset);
ssize_t __real_read(int file, void *bytes, size_t length);
ssize_t __real_pread(int file, void *bytes, size_t length, off_t offset);
ssize_t __real_write(int file, const void *bytes, size_t length);
int __real_close(int file);
int __real_open(const char *path, int flags, ...);
int __real_rename(const char *from, const char *to);

static unsigned long allocations, reads, writes, opens;
static pid_t owner; /* children of the program do not write the count */

static const char *fault(const char *kind)
{
    const char *text = getenv("FAULT");
    size_t length = strlen(kind);
    return text && strncmp(text, kind, length) == 0 ? text + length : NULL;
}

static bool is_turn(const char *number, unsigned long count)
{
    char *end;
    unsigned long wanted = number ? strtoul(number, &end, 10) : 0;
    return number && wanted && (count == wanted || (*end == '+' && count > wanted));
}

static bool allocation_fails(void)
{
    if (!is_turn(fault("alloc:"), ++allocations))
        return false;
    errno = ENOMEM;
    return true;
}

void *__wrap_malloc(size_t size)
{
    return allocation_fails() ? NULL : __real_malloc(size);
}

void *__wrap_calloc(size_t count, size_t size)
{
    return allocation_fails() ? NULL : __real_calloc(count, size);
}

void *__wrap_realloc(void *old, size_t size)
{
    return allocation_fails() ? NULL : __real_realloc(old, size);
}

void *__wrap_mmap(void *at, size_t length, int protection, int flags, int file, off_t offset)
{
    return allocation_fails() ? MAP_FAILED : __real_mmap(at, length, protection, flags, file, offset);
}

static void file_fault(void)
{
    const char *path = getenv("FAULT_FILE");
    struct stat status;
    if (!path)
        return;
    if (is_turn(fault("truncate:"), reads) && stat(path, &status) == 0 && truncate(path, status.st_size / 2) != 0)
        abort();
    if (is_turn(fault("remove:"), reads) && unlink(path) != 0)
        abort();
}

/* The number of bytes that may be read; -1: an error, with errno set. */
static ssize_t read_limit(size_t length)
{
    reads++;
    file_fault();
    if (fault("read:short"))
        return length > 1 ? 1 : (ssize_t)length;
    if (fault("read:intr") && reads % 2 == 1) {
        errno = EINTR;
        return -1;
    }
    if (is_turn(fault("read:io:"), reads)) {
        errno = EIO;
        return -1;
    }
    return (ssize_t)length;
}

ssize_t __wrap_read(int file, void *bytes, size_t length)
{
    ssize_t limit = read_limit(length);
    return limit < 0 ? -1 : __real_read(file, bytes, (size_t)limit);
}

ssize_t __wrap_pread(int file, void *bytes, size_t length, off_t offset)
{
    ssize_t limit = read_limit(length);
    return limit < 0 ? -1 : __real_pread(file, bytes, (size_t)limit, offset);
}

ssize_t __wrap_write(int file, const void *bytes, size_t length)
{
    if (file == STDERR_FILENO)
        return __real_write(file, bytes, length);
    writes++;
    if (fault("write:short"))
        return __real_write(file, bytes, length > 1 ? 1 : length);
    if (fault("write:intr") && writes % 2 == 1) {
        errno = EINTR;
        return -1;
    }
    if (is_turn(fault("write:full:"), writes)) {
        errno = ENOSPC;
        return -1;
    }
    return __real_write(file, bytes, length);
}

int __wrap_close(int file)
{
    int flags = fcntl(file, F_GETFL);
    int result = __real_close(file);
    if (fault("close:io") && (flags & O_ACCMODE) == O_WRONLY) {
        errno = EIO;
        return -1;
    }
    return result;
}

int __wrap_open(const char *path, int flags, ...)
{
    va_list arguments;
    va_start(arguments, flags);
    mode_t mode = flags & O_CREAT ? va_arg(arguments, mode_t) : 0;
    va_end(arguments);
    if (is_turn(fault("open:"), ++opens)) {
        errno = EMFILE;
        return -1;
    }
    return __real_open(path, flags, mode);
}

int __wrap_rename(const char *from, const char *to)
{
    if (fault("rename:io")) {
        errno = EIO;
        return -1;
    }
    return __real_rename(from, to);
}

static void write_count(void)
{
    const char *path = getenv("FAULT_COUNT");
    FILE *file = path && getpid() == owner ? fopen(path, "w") : NULL;
    if (!file)
        return;
    fprintf(file, "%lu %lu %lu %lu\n", allocations, reads, writes, opens);
    fclose(file);
}

__attribute__((constructor)) static void start(void)
{
    owner = getpid();
    atexit(write_count);
}
