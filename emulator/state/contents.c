/* The initial contents of a launch's large buffers, for many runs of it.
 *
 * A buffer's contents are in a file in memory, which each run maps for itself: its pages are copied when it writes to
 * them, and those that it does not use cost nothing. */
#include "emulator/state/state.h"

#include <pthread.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

enum { SMALLEST = 1 << 20 }; /* bytes of a buffer for which that pays */

struct LaunchContents {
    pthread_mutex_t lock;
    const LaunchArgument *arguments; /* that they are of */
    unsigned count;
    int files[]; /* of each argument of the launch; NO_FILE: not made yet, or it cannot be made */
};
enum { NO_FILE = -1 };

LaunchContents *launch_contents_new(const Launch *launch)
{
    LaunchContents *contents = malloc(sizeof *contents + launch->argument_count * sizeof *contents->files);
    if (!contents)
        out_of_memory();
    pthread_mutex_init(&contents->lock, NULL);
    contents->arguments = launch->arguments;
    contents->count = launch->argument_count;
    for (unsigned i = 0; i < contents->count; i++)
        contents->files[i] = NO_FILE;
    return contents;
}

void launch_contents_free(LaunchContents *contents)
{
    if (!contents)
        return;
    for (unsigned i = 0; i < contents->count; i++)
        if (contents->files[i] != NO_FILE)
            close(contents->files[i]);
    pthread_mutex_destroy(&contents->lock);
    free(contents);
}

static void *map_file(int file, size_t size, int sharing)
{
    void *bytes = mmap(NULL, size, PROT_READ | PROT_WRITE, sharing, file, 0);
    return bytes == MAP_FAILED ? NULL : bytes;
}

/* NO_FILE if the system does not allow it. */
static int make_file(const LaunchArgument *argument, size_t size)
{
    const int file = memfd_create("ptxopt", MFD_CLOEXEC);
    if (file < 0)
        return NO_FILE;
    void *bytes = ftruncate(file, (off_t)size) == 0 ? map_file(file, size, MAP_SHARED) : NULL;
    if (!bytes) {
        close(file);
        return NO_FILE;
    }
    launch_fill_into(bytes, argument);
    munmap(bytes, size);
    return file;
}

uint8_t *contents_map(Emulator *emulator, const LaunchArgument *argument, uint64_t size)
{
    LaunchContents *contents = emulator->launch->contents;
    if (!contents || contents->arguments != emulator->launch->arguments || emulator->primary || size < SMALLEST)
        return NULL;
    int *file = &contents->files[argument - contents->arguments];
    pthread_mutex_lock(&contents->lock);
    if (*file == NO_FILE)
        *file = make_file(argument, (size_t)size);
    pthread_mutex_unlock(&contents->lock);
    void *bytes = *file == NO_FILE ? NULL : map_file(*file, (size_t)size, MAP_PRIVATE);
    if (bytes)
        VEC_PUSH(emulator->arena, emulator->mapped, ((MappedBytes){bytes, (size_t)size}));
    return bytes;
}

void contents_unmap(Emulator *emulator)
{
    for (size_t i = 0; i < emulator->mapped.count; i++)
        munmap(emulator->mapped.data[i].bytes, emulator->mapped.data[i].size);
}
