/* ptxopt-nvcc: the command line of nvcc, with ptxopt between the compiler and ptxas.
 *
 * nvcc runs the command given as --ptxas-prefix before "ptxas ...", by a shell; the command here is this program again,
 * with ptxopt's options as words. So everything that determines the result is in this program and on its command line,
 * and a compiler cache that hashes both is correct. */
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "wrappers/wrappers.h"

/* The first word of a command line that nvcc completes. */
#define BACK_CALL "--ptxopt-back-call"
/* The first word of wrappers/cicc, which takes the compiler's place. */
#define COMPILE "--ptxopt-compile"

/* The path of ptxas, whatever PTXOPT_REAL_PTXAS says: no cache would see that. */
static const char *find_ptxas(Arena *arena, const char *first, const char **error)
{
    unsetenv("PTXOPT_REAL_PTXAS");
    return find_real(arena, "ptxas", "PTXOPT_REAL_PTXAS", first, error);
}

/* BACK_CALL [strict] [beside] [keep] [names FILE] [flag WORD]... [mine FILE]... [source FILE]... -- ptxas
 * ARGUMENT... */
static int run_back_call(Arena *arena, int argc, char **argv)
{
    Flags flags = {0};
    Words protected = {0}, sources = {0};
    Assembling assembling = {.flags = &flags, .protected = &protected, .sources = &sources, .in_place = true};
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
        else if (strcmp(argv[at], "source") == 0)
            words_add(arena, &sources, argv[++at]);
        else if (strcmp(argv[at], "names") == 0)
            assembling.names = argv[++at];
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

/* 'names': a file for the names of kernels; or NULL. */
static const char *back_call(Arena *arena, const NvccLine *line, bool keeps_names, const char *names)
{
    Buf text = {0};
    buf_printf(&text, "%s %s", word_quoted(arena, own_path(arena)), BACK_CALL);
    buf_printf(&text, "%s%s%s", line->is_strict ? " strict" : "", keeps_names ? " beside" : "",
               line->keeps ? " keep" : "");
    if (names)
        buf_printf(&text, " names %s", word_quoted(arena, names));
    for (size_t i = 0; i < line->flags.count; i++)
        buf_printf(&text, " flag %s", word_quoted(arena, line->flags.data[i]));
    for (size_t i = 0; i < line->ptx_files.count; i++)
        buf_printf(&text, " mine %s", word_quoted(arena, line->ptx_files.data[i]));
    for (size_t i = 0; i < line->sources.count; i++)
        if (is_source(line->sources.data[i]))
            buf_printf(&text, " source %s", word_quoted(arena, line->sources.data[i]));
    buf_puts(&text, " --");
    return buf_take(arena, &text);
}

/* The file that nvcc makes from a source, with its own ending if no name is given. */
static const char *output_of(Arena *arena, const NvccLine *line, const char *source, const char *ending)
{
    const char *slash = strrchr(source, '/'), *name = slash ? slash + 1 : source, *dot = strrchr(name, '.');
    int length = dot ? (int)(dot - name) : (int)strlen(name);
    const char *folder = line->output_folder ? line->output_folder : ".";
    return line->output ? line->output : arena_printf(arena, "%s/%.*s.%s", folder, length, name, ending);
}

/* Rewrites the PTX that nvcc has written with -ptx, which does not call ptxas. */
static int rewrite_outputs(Arena *arena, const NvccLine *line, const Flags *flags, const char *nvcc, Words *kernels)
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
        request.source = line->sources.data[i];
        const char *path = is_source(request.source) ? output_of(arena, line, request.source, "ptx") : NULL;
        struct stat file;
        if (!path)
            continue;
        Source *text = stat(path, &file) == 0 && S_ISREG(file.st_mode) ? source_read(arena, path, &error) : NULL;
        if (text) {
            names_of_ptx(arena, text, kernels);
            status = rewrite(arena, &request, path);
        }
        else
            say("warning", "the PTX of %s is not changed, because '%s' is not a file", line->sources.data[i], path);
    }
    return status;
}

/* NULL, or the error in the request. */
static const char *check_line(Arena *arena, const NvccLine *line, const Flags *flags)
{
    if (line->error || flags->problem)
        return line->error ? line->error : flags->problem;
    if (line->has_prefix)
        return "--ptxas-prefix is how this program is called back; it cannot be given";
    const char *error = line->makes_module ? flags_check_launches(arena, flags, "-Xptxopt -launches-adapted") : NULL;
    if (error)
        return error;
    if (!own_path(arena))
        return "the path of this program is not known: /proc is needed";
    return NULL;
}

/* An error if there are options for ptxopt outside the command line, where compiler caches do not see them. */
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

/* Prints the steps of nvcc, with ptxopt among them. */
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

/* Removes the outputs, which a failing compiler does not leave behind. */
static void remove_outputs(Arena *arena, const NvccLine *line)
{
    struct stat file;
    const char *ending = line->makes_objects ? "o" : line->makes_ptx ? "ptx" : "";
    const char *program = line->output ? line->output : "a.out";
    if (!*ending && stat(program, &file) == 0 && S_ISREG(file.st_mode))
        remove(program);
    for (size_t i = 0; *ending && i < line->sources.count; i++) {
        const char *path = output_of(arena, line, line->sources.data[i], ending);
        if (is_source(line->sources.data[i]) && stat(path, &file) == 0 && S_ISREG(file.st_mode))
            remove(path);
    }
}

/* Reports a kernel that an option names but this call does not compile as misspelt, unless other calls compile more of
 * the program. */
static int check_names(Arena *arena, const NvccLine *line, const Flags *flags, const Words *kernels)
{
    bool is_error = flags->is_strict && !line->makes_objects;
    if (names_check(arena, &flags->words, kernels, is_error ? "error" : "warning",
                    line->makes_objects ? "what is compiled here" : "the program") ||
        !is_error)
        return 0;
    remove_outputs(arena, line);
    return 1;
}

/* Runs nvcc, and the checks after it. 'names': a file with the kernels that ptxas was given. */
static int run_and_check(Arena *arena, const NvccLine *line, const Flags *flags, Words *command, const char *names)
{
    Words kernels = {0};
    int status = run_command(arena, command, NULL);
    if (names)
        names_read(arena, names, &kernels);
    folder_remove();
    if (status == 0 && line->makes_ptx)
        status = rewrite_outputs(arena, line, flags, command->data[0], &kernels);
    return status ? status : check_names(arena, line, flags, &kernels);
}

/* A file for the names of kernels, if options name some. */
static const char *names_file(Arena *arena, const NvccLine *line, const Flags *flags)
{
    const char *error = NULL, *folder = NULL;
    if (!line->asks_only && names_are_given(arena, &flags->words))
        folder = folder_make(arena, &error);
    return folder ? arena_printf(arena, "%s/names", folder) : NULL;
}

static int run(Arena *arena, int argc, char **argv)
{
    const char *error = NULL;
    const char *nvcc = find_real(arena, "nvcc", "PTXOPT_REAL_NVCC", NULL, &error);
    if (enter_real(arena, "PTXOPT_NESTED_NVCC") < 0)
        error = "every nvcc that was found runs another ptxopt-nvcc; PTXOPT_REAL_NVCC can name the real one";
    if (asks_for_help(argc, argv))
        nvcc_help();
    if (error) {
        say("error", "%s", error);
        return 127;
    }
    NvccLine line = {0};
    error = read_line(arena, argc, argv, &line);
    line.is_strict |= variable_is_on("PTXOPT_STRICT");
    Flags flags = {.words = line.flags, .is_strict = line.is_strict};
    flags.launches_adapted = line.launches_adapted;
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
    const char *names = names_file(arena, &line, &flags);
    if (!line.asks_only && !line.makes_ptx) {
        words_add(arena, &command, "--ptxas-prefix");
        words_add(arena, &command, back_call(arena, &line, adapts, names));
    }
    if (adapts && (!line.asks_only || line.is_dryrun))
        error = adapter_add(arena, &command);
    if (error) {
        folder_remove();
        say("error", "%s", error);
        return 1;
    }
    words_add_all(arena, &command, &line.words);
    if (line.is_dryrun)
        return run_dryrun(arena, &line, &flags, &command, nvcc);
    if (line.asks_only || (!line.makes_ptx && !names))
        return replace_with(arena, &command);
    return run_and_check(arena, &line, &flags, &command, names);
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
