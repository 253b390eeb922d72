/* The launch adapter of programs that nvcc builds: linked with them, and with each launch function wrapped by it. Their
 * host code refers to the adapter, so that it does not link without. */
#include <unistd.h>

#include "wrappers/wrappers.h"

static const char *const wrapped[] = {
#define WRAPPED(NAME) #NAME,
#include "wrappers/wrapped.def"
#undef WRAPPED
};

/* A file in one of these folders, as seen from that of this program: as it is installed, and as it was built. */
const char *find_own(Arena *arena, const char *name)
{
    static const char *const folders[] = {"../include", "../lib",          "../lib/ptxopt", "runtime",
                                          "wrappers",   "build/runtime", "../../runtime", "../../wrappers"};
    for (size_t i = 0; i < COUNT_OF(folders); i++) {
        const char *path = arena_printf(arena, "%s/%s/%s", folder_of(arena, own_path(arena)), folders[i], name);
        if (access(path, R_OK) == 0)
            return path;
    }
    return NULL;
}

const char *adapter_add(Arena *arena, const NvccLine *line, Words *command)
{
    const char *header = find_own(arena, "ptxopt-adapted.h");
    const char *archive = find_own(arena, "libptxopt-launch.a");
    if (!header || !archive)
        return arena_printf(arena, "%s is not installed with this program: launches cannot be adapted",
                            header ? "libptxopt-launch.a" : "ptxopt-adapted.h");
    words_add(arena, command, "-include");
    words_add(arena, command, header);
    if (!line->links)
        return NULL;
    for (size_t i = 0; i < COUNT_OF(wrapped); i++) {
        words_add(arena, command, "-Xlinker");
        words_add(arena, command, arena_printf(arena, "--wrap=%s", wrapped[i]));
    }
    words_add(arena, command, archive);
    return NULL;
}
