/* ptxopt-ptxas: the command line of ptxas, with ptxopt before it. */
#include <stdlib.h>
#include <string.h>

#include "wrappers/wrappers.h"

/* Triton has two assemblers, and asks each for its version before it writes PTX for it: ptxas, and for sm_90 and newer
 * ptxas-blackwell. So this program has two names. If Triton was told to use one file for both, the architecture
 * decides. */
static const char *name_of_real(Arena *arena, int argc, char **argv, const char *triton)
{
    static const char other[] = "ptxas-blackwell";
    const char *slash = strrchr(argv[0], '/'), *name = slash ? slash + 1 : argv[0];
    size_t length = strlen(name), tail = sizeof other - 1;
    if (length >= tail && strcmp(name + length - tail, other) == 0)
        return other;
    const char *first = getenv("TRITON_PTXAS_PATH"), *second = getenv("TRITON_PTXAS_BLACKWELL_PATH");
    Words words = {0};
    PtxasLine line;
    for (int i = 1; i < argc; i++)
        words_add(arena, &words, argv[i]);
    bool is_told_one = triton && first && second && strcmp(first, second) == 0;
    if (!is_told_one || ptxas_line_parse(arena, &words, &line) || !line.arch || strncmp(line.arch, "sm_", 3) != 0)
        return "ptxas";
    return atoi(line.arch + 3) < 90 ? "ptxas" : other;
}

static const char *find_ptxas(Arena *arena, int argc, char **argv, const char **error)
{
    const char *triton = triton_of_caller(arena);
    const char *name = name_of_real(arena, argc, argv, triton);
    const char *found = find_real(arena, name, "PTXOPT_REAL_PTXAS", triton, error);
    if (found || strcmp(name, "ptxas") == 0)
        return found;
    *error = NULL;
    return find_real(arena, "ptxas", "PTXOPT_REAL_PTXAS", triton, error);
}

static int run(Arena *arena, int argc, char **argv)
{
    const char *error = NULL;
    Assembling assembling = {0};
    assembling.ptxas = find_ptxas(arena, argc, argv, &error);
    int depth = enter_real(arena, "PTXOPT_NESTED");
    if (depth < 0)
        error = "every ptxas that was found runs another ptxopt-ptxas; PTXOPT_REAL_PTXAS can name the real one";
    if (asks_for_help(argc, argv))
        ptxas_help();
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
