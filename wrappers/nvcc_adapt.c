/* The launch adapter of programs that nvcc builds: a header that adds it to the host code of each object, so that
 * linking needs nothing else. */
#include <unistd.h>

#include "wrappers/wrappers.h"

/* The folders of our files, relative to that of this program: installed, and in the tree. */
const char *find_own(Arena *arena, const char *name)
{
    static const char *const folders[] = {"../lib/ptxopt", "wrappers",      "build/runtime",
                                          "runtime",       "../../runtime", "../../wrappers"};
    for (size_t i = 0; i < COUNT_OF(folders); i++) {
        const char *path = arena_printf(arena, "%s/%s/%s", folder_of(arena, own_path(arena)), folders[i], name);
        if (access(path, R_OK) == 0)
            return path;
    }
    return NULL;
}

/* nvcc's own -include comes too late, after the runtime's functions are declared. -Xcompiler reaches all steps of
 * the host compiler; the header finds out which one it is for. A shell reads the path again. */
const char *adapter_add(Arena *arena, Words *command)
{
    const char *header = find_own(arena, "ptxopt-embedded.h");
    if (!header)
        return "ptxopt-embedded.h is not installed with this program: launches cannot be adapted";
    words_add(arena, command, "-Xcompiler");
    words_add(arena, command, "-include");
    words_add(arena, command, "-Xcompiler");
    words_add(arena, command, word_quoted(arena, header));
    return NULL;
}
