/* Files and folders that are installed with this program. */
#include <string.h>
#include <unistd.h>

#include "cli/commands.h"

const char *find_beside_program(Arena *arena, const char *const *places, size_t count)
{
    enum { LONGEST = 4096 };
    char program[LONGEST + 1];
    const ssize_t length = readlink("/proc/self/exe", program, LONGEST);
    if (length < 0)
        return NULL;
    program[length] = 0;
    char *slash = strrchr(program, '/');
    for (size_t i = 0; slash && i < count; i++) {
        const char *path = arena_printf(arena, "%.*s/%s", (int)(slash - program), program, places[i]);
        if (access(path, R_OK) == 0)
            return path;
    }
    return NULL;
}
