/* ptxopt-nvcc: the command line of nvcc, with ptxopt between the compiler and ptxas.
 *
 * nvcc runs the command given as --ptxas-prefix before "ptxas ...", by a shell; the command here is this program again,
 * with ptxopt's options as words. So everything that decides what is built is in this program and on its command line:
 * a compiler cache that hashes both is right. */
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "wrappers/wrappers.h"

/* The first word of a command line that nvcc completes. */
#define BACK_CALL "--ptxopt-back-call"
/* That of wrappers/cicc, which takes the compiler's place. */
#define COMPILE "--ptxopt-compile"

/* The path of ptxas, whatever PTXOPT_REAL_PTXAS says: no cache would see that. */
static const char *find_ptxas(Arena *arena, const char *first, const char **error)
{
    unsetenv("PTXOPT_REAL_PTXAS");
    return find_real(arena, "ptxas", "PTXOPT_REAL_PTXAS", first, error);
}

/* BACK_CALL [strict] [beside] [keep] [flag WORD]... [mine FILE]... -- ptxas ARGUMENT... */
static int run_back_call(Arena *arena, int argc, char **argv)
{
    Flags flags = {0};
    Words protected = {0};
    Assembling assembling = {.flags = &flags, .protected = &protected, .in_place = true};
    int at = 2;
    for (; at + 1 < argc && strcmp(argv[at], "--") != 0; at++) {
        if (strcmp(argv[at], "strict") == 0)
            flags.is_strict = true;
        else if (strcmp(argv[at], "beside") == 0)
            flags.keeps_names = true;
        else if (strcmp(argv[at], "keep") == 0)
            assembling.kept = true;
        else if (strcmp(argv[at], "flag") == 0)
            words_add(arena, &flags.words, argv[++at]);
        else if (strcmp(argv[at], "mine") == 0)
            words_add(arena, &protected, argv[++at]);
    }
    if (at + 1 >= argc) {
        say("error", "%s is for nvcc to complete", BACK_CALL);
        return 2;
    }
    const char *error = NULL;
    /* nvcc has put its own folder on PATH. */
    assembling.ptxas = find_ptxas(arena, argv[at + 1], &error);
    if (!assembling.ptxas || enter_real(arena, "PTXOPT_NESTED") < 0) {
        say("error", "%s", error ? error : "ptxas runs this program again");
        return 127;
    }
    flags_check(arena, &flags);
    for (int i = at + 2; i < argc; i++)
        words_add(arena, &assembling.words, argv[i]);
    return assemble(arena, &assembling);
}

static const char *back_call(Arena *arena, const NvccLine *line, bool keeps_names)
{
    Buf text = {0};
    buf_printf(&text, "%s %s", word_quoted(arena, own_path(arena)), BACK_CALL);
    buf_printf(&text, "%s%s%s", line->is_strict ? " strict" : "", keeps_names ? " beside" : "",
               line->keeps ? " keep" : "");
    for (size_t i = 0; i < line->flags.count; i++)
        buf_printf(&text, " flag %s", word_quoted(arena, line->flags.data[i]));
    for (size_t i = 0; i < line->ptx_files.count; i++)
        buf_printf(&text, " mine %s", word_quoted(arena, line->ptx_files.data[i]));
    buf_puts(&text, " --");
    const char *command = arena_strndup(arena, buf_text(&text), text.length);
    buf_free(&text);
    return command;
}

/* The file that nvcc -ptx makes of a source. */
static const char *ptx_of(Arena *arena, const NvccLine *line, const char *source)
{
    const char *slash = strrchr(source, '/'), *name = slash ? slash + 1 : source, *dot = strrchr(name, '.');
    int length = dot ? (int)(dot - name) : (int)strlen(name);
    const char *folder = line->output_folder ? line->output_folder : ".";
    return line->output ? line->output : arena_printf(arena, "%s/%.*s.ptx", folder, length, name);
}

static bool is_source(const char *word)
{
    static const char *const endings[] = {".cu", ".gpu", ".cup", ".ii", ".c", ".cc", ".cpp", ".cxx"};
    for (size_t i = 0; i < COUNT_OF(endings); i++) {
        size_t length = strlen(word), tail = strlen(endings[i]);
        if (length > tail && strcmp(word + length - tail, endings[i]) == 0)
            return true;
    }
    return false;
}

/* With -ptx, nvcc calls no ptxas. What it has written is rewritten afterwards. */
static int rewrite_outputs(Arena *arena, const NvccLine *line, const Flags *flags, const char *nvcc)
{
    const char *error = NULL, *beside = arena_printf(arena, "%s/ptxas", folder_of(arena, nvcc));
    PtxasLine ptxas_line;
    Request request = {.flags = flags, .judge = &ptxas_line.judge};
    ptxas_line_parse(arena, &line->ptxas, &ptxas_line);
    request.ptxas = find_ptxas(arena, beside, &error);
    if (!request.ptxas) {
        say("error", "%s", error);
        return 127;
    }
    int status = 0;
    for (size_t i = 0; i < line->sources.count && status == 0; i++) {
        const char *path = is_source(line->sources.data[i]) ? ptx_of(arena, line, line->sources.data[i]) : NULL;
        struct stat file;
        if (!path)
            continue;
        if (stat(path, &file) == 0 && S_ISREG(file.st_mode))
            status = rewrite(arena, &request, path);
        else
            say("warning", "the PTX of %s is not changed, because '%s' is not a file", line->sources.data[i], path);
    }
    return status;
}

/* NULL, or what is wrong with the request. */
static const char *check_line(Arena *arena, const NvccLine *line, const Flags *flags)
{
    if (line->error || flags->problem)
        return line->error ? line->error : flags->problem;
    if (line->has_prefix)
        return "--ptxas-prefix is how this program is called back; it cannot be given";
    if (flags->coarsens && line->makes_module && !line->launches_adapted)
        return "-coarsen changes how kernels must be launched: with smaller blocks, or fewer. Nothing "
               "adapts the launches of a program that loads this file itself. If it launches each coarsened kernel by "
               "its launch contract (ptxopt-launch.h), say so with -Xptxopt -launches-adapted";
    if (!own_path(arena))
        return "the path of this program is not known: /proc is needed";
    return NULL;
}

/* Options that do not come from the command line are nvcc's alone, because compiler caches do not see them. */
static const char *check_environment(Arena *arena)
{
    static const char *const names[] = {"NVCC_PREPEND_FLAGS", "NVCC_APPEND_FLAGS"};
    for (size_t i = 0; i < COUNT_OF(names); i++) {
        const char *text = getenv(names[i]);
        if (text && strstr(text, "-Xptxopt"))
            return arena_printf(arena, "%s: -Xptxopt must be on the command line", names[i]);
    }
    return NULL;
}

/* The words for nvcc. Option files are expanded only if they have words for ptxopt. */
static const char *read_line(Arena *arena, int argc, char **argv, NvccLine *line)
{
    Words given = {0}, all = {0};
    bool has_files;
    NvccLine plain = {0};
    for (int i = 1; i < argc; i++)
        words_add(arena, &given, argv[i]);
    const char *error = words_expand_files(arena, &given, &all, &has_files);
    if (error)
        return error;
    nvcc_line_parse(arena, &all, line);
    nvcc_line_parse(arena, &given, &plain);
    if (has_files && plain.flags.count == line->flags.count && plain.launches_adapted == line->launches_adapted &&
        plain.is_strict == line->is_strict)
        line->words = plain.words;
    return NULL;
}

/* Prints what nvcc would do, with ptxopt in it. */
static int run_dryrun(Arena *arena, const NvccLine *line, const Flags *flags, Words *command, const char *nvcc)
{
    Log log = {0};
    PtxasLine ptxas_line;
    const char *error = NULL, *beside = arena_printf(arena, "%s/ptxas", folder_of(arena, nvcc));
    ptxas_line_parse(arena, &line->ptxas, &ptxas_line);
    Step step = {.link = find_own(arena, "cicc"),
                 .ptxas = find_ptxas(arena, beside, &error),
                 .flags = flags,
                 .judge = &ptxas_line.judge};
    int status = run_command(arena, command, &log);
    if (step.link && step.ptxas)
        dryrun_replace(arena, &step, &log.errors);
    log_print(&log);
    return status;
}

static int run(Arena *arena, int argc, char **argv)
{
    const char *error = NULL;
    const char *nvcc = find_real(arena, "nvcc", "PTXOPT_REAL_NVCC", NULL, &error);
    if (enter_real(arena, "PTXOPT_NESTED_NVCC") < 0)
        error = "every nvcc that was found runs another ptxopt-nvcc; PTXOPT_REAL_NVCC can name the real one";
    if (error) {
        say("error", "%s", error);
        return 127;
    }
    NvccLine line = {0};
    error = read_line(arena, argc, argv, &line);
    Flags flags = {.words = line.flags, .is_strict = line.is_strict};
    flags_check(arena, &flags);
    if (!error)
        error = check_line(arena, &line, &flags);
    if (!error)
        error = check_environment(arena);
    if (error) {
        say("error", "%s", error);
        return 2;
    }
    if (line.links_late && !line.asks_only)
        say("warning", "nvcc does not call ptxas for link-time optimization (-dlto, lto_*): ptxopt does not change "
                       "such code");
    Words command = {0};
    words_add(arena, &command, nvcc);
    bool adapts = flags.coarsens && !line.launches_adapted;
    if (adapts) {
        words_add(arena, &line.flags, "-keep-original");
        words_add(arena, &flags.words, "-keep-original");
        flags.keeps_names = true;
    }
    if (!line.asks_only) {
        words_add(arena, &command, "--ptxas-prefix");
        words_add(arena, &command, back_call(arena, &line, adapts));
    }
    if (adapts && (!line.asks_only || line.is_dryrun))
        error = adapter_add(arena, &command);
    if (error) {
        say("error", "%s", error);
        return 1;
    }
    words_add_all(arena, &command, &line.words);
    if (line.is_dryrun)
        return run_dryrun(arena, &line, &flags, &command, nvcc);
    if (!line.makes_ptx || line.asks_only)
        return replace_with(arena, &command);
    int status = run_command(arena, &command, NULL);
    return status ? status : rewrite_outputs(arena, &line, &flags, nvcc);
}

int main(int argc, char **argv)
{
    wrapper_begin("ptxopt-nvcc");
    Arena *arena = arena_new();
    bool is_back_call = argc > 1 && strcmp(argv[1], BACK_CALL) == 0;
    bool is_compiler = argc > 1 && strcmp(argv[1], COMPILE) == 0;
    int status = is_back_call  ? run_back_call(arena, argc, argv)
                 : is_compiler ? run_compiler(arena, argc, argv)
                               : run(arena, argc, argv);
    arena_free(arena);
    return status;
}
