/* "ptxopt explain": regression trees for a table of "ptxopt sweep". They are scikit-learn's, so a Python does the work,
 * which is started by its name, as a shell would: a program that embeds Python needs the one that it was built with. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/commands.h"
#include "cli/sweep/explain_options.h"
#include "engine/engine.h"

/* Becomes the Python; returns only if that fails. */
static int start_python(Arena *arena, const ExplainOptions *options)
{
    /* In the tree that this program was built in (a sanitizer's is in build/asan), or where it was installed. */
    static const char *const places[] = {"python/ptxopt/explain.py", "../../python/ptxopt/explain.py",
                                         "../lib/ptxopt/explain.py"};
    const char *python = getenv("PTXOPT_PYTHON"), *script = find_beside_program(arena, places, COUNT_OF(places));
    VEC(const char *) words = {0};
    if (!python || !*python)
        python = "python3";
    VEC_PUSH(arena, words, python);
    if (!script)
        VEC_PUSH(arena, words, "-m");
    VEC_PUSH(arena, words, script ? script : "ptxopt.explain");
    if (options->folder) {
        VEC_PUSH(arena, words, "-o");
        VEC_PUSH(arena, words, options->folder);
    }
    if (options->measured)
        VEC_PUSH(arena, words, "-measured");
    if (options->leaves) {
        VEC_PUSH(arena, words, "-leaves");
        VEC_PUSH(arena, words, arena_printf(arena, "%llu", (unsigned long long)options->leaves));
    }
    VEC_PUSH(arena, words, "--");
    VEC_PUSH(arena, words, options->table);
    VEC_PUSH(arena, words, NULL);
    execvp(python, (char *const *)words.data);
    fprintf(stderr, "ptxopt: error: cannot start %s: %s; PTXOPT_PYTHON names a Python with scikit-learn\n", python,
            strerror(errno));
    return EXIT_INPUT;
}

int main_explain(Arena *arena, int argc, char **argv)
{
    ExplainOptions options;
    const char *error;
    const OptionsOutcome outcome = explain_options_parse(arena, argc, argv, &options, &error);
    return outcome == OPTIONS_RUN ? start_python(arena, &options)
                                  : command_finish(outcome, "explain", explain_options_help(arena), error);
}
