/* The real ptxas on parts of a module, at the same time, and one cubin made of them (split/). */
#include <stdio.h>
#include <stdlib.h>

#include "split/split.h"
#include "wrappers/wrappers.h"

enum { PTXAS_FAILED = 255 }; /* the exit status of ptxas when it rejects its input */

bool splitting_wanted(const SplitOption *option, const PtxasLine *line)
{
    if (!option->wanted && !option->seconds)
        return false;
    const bool is_real = line->arch && strncmp(line->arch, "sm_", 3) == 0;
    if (is_real && !line->whole && !line->is_debug)
        return true;
    say("note", "the module is assembled whole, and without a limit: %s%s",
        is_real && line->whole ? "ptxas was given " : "",
        !is_real         ? "the architecture is not a real one such as sm_90"
        : line->whole    ? line->whole
                         : "it is for debugging");
    return false;
}

/* The words end with NULL. */
static const char **options_of(Arena *arena, const Splitting *splitting)
{
    Words words = {0};
    words_add_all(arena, &words, &splitting->line->plain);
    words_add_all(arena, &words, splitting->knobs);
    return (const char **)words_argv(arena, &words);
}

/* The log, with the input named as on the command line: "ptxas input.ptx, line 3; error ...". */
static void print_log(const char *log, const char *input)
{
    static const char name[] = "input.ptx";
    for (const char *found; (found = strstr(log, name)); log = found + sizeof name - 1)
        fprintf(stderr, "%.*s%s", (int)(found - log), log, input);
    fputs(log, stderr);
}

static unsigned level_of(const PtxasLine *line)
{
    return line->level && *line->level >= '0' && *line->level <= '3' ? (unsigned)(*line->level - '0') : 3;
}

static int assemble_split(Arena *arena, const Splitting *splitting)
{
    const char *error = NULL;
    const PtxasLine *line = splitting->line;
    setenv("PTXOPT_PTXAS", splitting->ptxas, 1);
    setenv("PTXOPT_ASSEMBLER_MEMORY", "0", 0); /* as for a ptxas that a build runs itself */
    const Source *source = source_read(arena, splitting->input, &error);
    if (!source) {
        say("error", "cannot read '%s': %s", splitting->input, error);
        return 1;
    }
    Assembler *assembler = assembler_open(arena, ASSEMBLER_PTXAS, line->arch, &error);
    if (!assembler) {
        say("error", "%s", error);
        return 127;
    }
    const SplitOption *option = splitting->option;
    SplitRequest request = {.request = assembly_request(source->text, source->size),
                            .parts = option->wanted ? (int)option->parts : SPLIT_NOT,
                            .limit = {option->seconds, option->level}};
    request.request.options = options_of(arena, splitting);
    request.request.opt_level = (int)level_of(line);
    request.request.want_cubin = true;
    request.request.timeout_ms = UINT32_MAX;
    Assembly assembly;
    SplitReport report;
    const bool done = split_run(assembler, arena, &request, &assembly, &report);
    print_log(assembly.log, splitting->input);
    if (!done && assembly.failure != ASSEMBLY_REJECTED)
        say("error", "%s", assembly.message);
    if (done)
        error = write_file(arena, line->output, assembly.cubin, assembly.cubin_size);
    if (error)
        say("error", "cannot write '%s': %s", line->output, error);
    Buf notes = {0};
    split_notes(&report, &request.limit, &assembly, "ptxopt-ptxas", &notes);
    fputs(buf_text(&notes), stderr);
    buf_free(&notes);
    assembler_close(assembler);
    return !done ? PTXAS_FAILED : error ? 1 : 0;
}

static int run(void *context)
{
    Arena *arena = arena_new();
    const int status = assemble_split(arena, context);
    arena_free(arena);
    return status;
}

int split_ptxas(const Splitting *splitting, Log *log)
{
    Splitting copy = *splitting;
    return run_function(run, &copy, log);
}
