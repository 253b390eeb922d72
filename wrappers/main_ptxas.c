/* ptxopt-ptxas: the command line of ptxas, with ptxopt before it. */
#include <stdlib.h>

#include "wrappers/wrappers.h"

static int run(Arena *arena, int argc, char **argv)
{
    const char *error = NULL;
    Assembling assembling = {0};
    assembling.ptxas = find_real(arena, "ptxas", "PTXOPT_REAL_PTXAS", NULL, &error);
    int depth = enter_real(arena, "PTXOPT_NESTED");
    if (depth < 0)
        error = "every ptxas that was found runs another ptxopt-ptxas; PTXOPT_REAL_PTXAS can name the real one";
    if (error) {
        say("error", "%s", error);
        return 127;
    }
    for (int i = 1; i < argc; i++)
        words_add(arena, &assembling.words, argv[i]);
    return depth ? assemble_plainly(arena, &assembling) : assemble(arena, &assembling);
}

int main(int argc, char **argv)
{
    wrapper_begin("ptxopt-ptxas");
    Arena *arena = arena_new();
    int status = run(arena, argc, argv);
    arena_free(arena);
    return status;
}
