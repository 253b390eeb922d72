/* ptxopt on one file, in a child process: whatever happens to it, the build continues. */
#include <stdlib.h>

#include "cli/cli.h"
#include "wrappers/wrappers.h"

typedef struct Call {
    Words *line;
    const char *ptxas;
} Call;

static int run_program(void *context)
{
    const Call *call = context;
    Arena *arena = arena_new();
    setenv("PTXOPT_PTXAS", call->ptxas, 1);
    int status = program_run((int)call->line->count, words_argv(arena, call->line));
    arena_free(arena);
    return status;
}

/* The real architecture with the number of a virtual one, which has no code. */
static const char *real_arch(Arena *arena, const char *arch)
{
    static const char virtual[] = "compute_";
    size_t length = sizeof virtual - 1;
    return strncmp(arch, virtual, length) == 0 ? arena_printf(arena, "sm_%s", arch + length) : arch;
}

int transform(Arena *arena, const Request *request, const char *input, const char *output, Log *log)
{
    Words line = {0};
    words_add(arena, &line, "ptxopt");
    words_add_all(arena, &line, &request->flags->words);
    words_add(arena, &line, "-missing-ok");
    words_add(arena, &line, "-assembler=ptxas");
    for (size_t i = 0; i < request->judge->count; i++)
        words_add(arena, &line, arena_printf(arena, "-Xptxas=%s", request->judge->data[i]));
    if (request->arch)
        words_add(arena, &line, arena_printf(arena, "-arch=%s", real_arch(arena, request->arch)));
    if (request->knobs)
        words_add(arena, &line, arena_printf(arena, "-knobs-out=%s", request->knobs));
    if (request->source)
        words_add(arena, &line, arena_printf(arena, "-input-name=%s", request->source));
    words_add(arena, &line, "-o");
    words_add(arena, &line, output);
    words_add(arena, &line, "--");
    words_add(arena, &line, input);
    int status = run_function(run_program, &(Call){&line, request->ptxas}, log);
    if (!request->flags->keeps_names || (status != 0 && status != 3))
        return status;
    const char *error = put_beside(arena, output);
    if (error)
        buf_printf(&log->errors, "ptxopt: error: cannot rename kernels in '%s': %s\n", output, error);
    return error ? 1 : status;
}
