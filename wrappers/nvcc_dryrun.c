/* Support for tools that run the steps of nvcc themselves, as -dryrun prints them. sccache does so, to cache each of
 * them.
 *
 * For them the compiler's step (cicc) becomes one of this program's, under the same name: the compiler, and then ptxopt
 * on the PTX. So ptxas and the fat binary get the same PTX without further work. A cache identifies the step by its
 * words, so these contain everything that determines its result: ptxopt's options, and the programs. Each word begins
 * with a dash, because sccache leaves out others. */
#include <stdlib.h>
#include <sys/stat.h>

#include "wrappers/wrappers.h"

/* Before the words for the real compiler. wrappers/cicc takes the first. */
#define PROGRAM "--ptxopt-program="
#define COMPILER "--ptxopt-compiler="
#define PTXAS "--ptxopt-ptxas="
#define STAMP "--ptxopt-stamp="
#define FLAG "--ptxopt-flag="
#define JUDGE "--ptxopt-judge="
#define STRICT "--ptxopt-strict"
#define KEEPS_NAMES "--ptxopt-beside"

/* The rest of the word after the prefix, or NULL. */
static const char *after(const char *word, const char *prefix)
{
    size_t length = strlen(prefix);
    return strncmp(word, prefix, length) == 0 ? word + length : NULL;
}

/* The compiler of this run of nvcc, which prints the place where it looks for it. */
static const char *find_compiler(Arena *arena, const char *printed)
{
    static const char *const lists[] = {"#$ CICC_PATH=", "#$ PATH="};
    for (size_t i = 0; i < COUNT_OF(lists); i++) {
        const char *list = strstr(printed, lists[i]);
        const char *end = list ? list + strcspn(list, "\n") : NULL;
        for (const char *at = list ? list + strlen(lists[i]) : NULL; at && at < end;) {
            size_t length = strcspn(at, ":\n");
            const char *file = arena_printf(arena, "%.*s/cicc", (int)length, at);
            char *path = length ? realpath(file, NULL) : NULL;
            const char *found = path ? arena_strndup(arena, path, strlen(path)) : NULL;
            free(path);
            if (found)
                return found;
            at += length + 1;
        }
    }
    return NULL;
}

static void put_stamp(Buf *text, const char *path)
{
    struct stat file = {0};
    if (stat(path, &file) == 0)
        buf_printf(text, "%llx.%llx.", (unsigned long long)file.st_size, (unsigned long long)file.st_mtime);
}

/* The words that replace the compiler's name. */
static const char *step_of(Arena *arena, const Step *step, const char *compiler)
{
    Buf text = {0}, stamp = {0};
    const char *const programs[] = {own_path(arena), compiler, step->ptxas};
    for (size_t i = 0; i < COUNT_OF(programs); i++)
        put_stamp(&stamp, programs[i]);
    buf_puts(&text, word_quoted(arena, step->link));
    buf_printf(&text, " %s", word_quoted(arena, arena_printf(arena, PROGRAM "%s", own_path(arena))));
    buf_printf(&text, " %s", word_quoted(arena, arena_printf(arena, COMPILER "%s", compiler)));
    buf_printf(&text, " %s", word_quoted(arena, arena_printf(arena, PTXAS "%s", step->ptxas)));
    buf_printf(&text, " %s%s%s%s", STAMP, buf_text(&stamp), step->flags->is_strict ? " " STRICT : "",
               step->flags->keeps_names ? " " KEEPS_NAMES : "");
    for (size_t i = 0; i < step->flags->words.count; i++)
        buf_printf(&text, " %s", word_quoted(arena, arena_printf(arena, FLAG "%s", step->flags->words.data[i])));
    for (size_t i = 0; i < step->judge->count; i++)
        buf_printf(&text, " %s", word_quoted(arena, arena_printf(arena, JUDGE "%s", step->judge->data[i])));
    const char *words = arena_strndup(arena, buf_text(&text), text.length);
    buf_free(&text);
    buf_free(&stamp);
    return words;
}

void dryrun_replace(Arena *arena, const Step *step, Buf *printed)
{
    static const char *const names[] = {"#$ cicc ", "#$ \"$CICC_PATH/cicc\" "};
    const char *compiler = find_compiler(arena, buf_text(printed));
    if (!compiler)
        return;
    Buf result = {0};
    for (const char *line = buf_text(printed); *line;) {
        size_t length = strcspn(line, "\n"), skipped = 0;
        for (size_t i = 0; i < COUNT_OF(names); i++)
            if (after(line, names[i]))
                skipped = strlen(names[i]);
        if (skipped)
            buf_printf(&result, "#$ %s ", step_of(arena, step, compiler));
        buf_write(&result, line + skipped, length - skipped);
        if (line[length])
            buf_putc(&result, '\n');
        line += length + (line[length] != 0);
    }
    buf_free(printed);
    *printed = result;
}

int run_compiler(Arena *arena, int argc, char **argv)
{
    Words command = {0};
    Flags flags = {0};
    Words judge = {0};
    Request request = {.flags = &flags, .judge = &judge};
    const char *value, *output = NULL;
    words_add(arena, &command, NULL);
    for (int i = 2; i < argc; i++) {
        if ((value = after(argv[i], COMPILER)))
            command.data[0] = value;
        else if ((value = after(argv[i], PTXAS)))
            request.ptxas = value;
        else if ((value = after(argv[i], FLAG)))
            words_add(arena, &flags.words, value);
        else if ((value = after(argv[i], JUDGE)))
            words_add(arena, &judge, value);
        else if (strcmp(argv[i], STRICT) == 0)
            flags.is_strict = true;
        else if (strcmp(argv[i], KEEPS_NAMES) == 0)
            flags.keeps_names = true;
        else if (!after(argv[i], STAMP))
            words_add(arena, &command, argv[i]);
        if (strcmp(argv[i], "-o") == 0 && i + 1 < argc)
            output = argv[i + 1];
        if (strcmp(argv[i], "--orig_src_file_name") == 0 && i + 1 < argc)
            request.source = argv[i + 1];
    }
    if (!command.data[0] || !request.ptxas) {
        say("error", "%s is for nvcc's steps", argv[1]);
        return 2;
    }
    int status = run_command(arena, &command, NULL);
    size_t length = output ? strlen(output) : 0;
    bool is_ptx = length > 4 && strcmp(output + length - 4, ".ptx") == 0;
    if (status != 0 || !is_ptx)
        return status;
    flags_check(arena, &flags);
    return rewrite(arena, &request, output);
}
