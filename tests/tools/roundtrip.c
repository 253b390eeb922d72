/* roundtrip [-j N] [-a PTXAS] [-t FOLDER] [-k] FILE...
 *
 * Takes each PTX file through the program's forms and back to text, and prints `ok FILE` or `not ok FILE: why`:
 * - parse, emit, parse, emit gives the same text twice;
 * - the body form, and the body form taken into SSA form and back, pass the verifier and print the same text;
 * - with an assembler, the emitted text gives the input's machine code byte by byte, the text that went through SSA
 *   form needs no more registers, stack and spills, and the reduced module of the last kernel gives that kernel's
 *   machine code, or at least its figures.
 * -k keeps the texts in FOLDER and prints differences in machine code that do not change figures. Exit status 1 if a
 * file failed. */
#include "emit/emit.h"
#include "ir/ir.h"
#include "parser/parser.h"
#include "support/support.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <string.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

typedef struct Settings {
    const char *assembler; /* NULL: none */
    const char *folder;
    bool keep;
} Settings;

typedef struct Job {
    const Settings *settings;
    const char *path;
    Arena *arena;
    Buf problems; /* "; "-separated */
    unsigned functions, refused, same_code, other_code;
    Buf notes;
} Job;

static void complain(Job *job, const char *format, ...) PRINTF_LIKE(2, 3);
static void complain(Job *job, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    if (job->problems.length)
        buf_puts(&job->problems, "; ");
    buf_vprintf(&job->problems, format, arguments);
    va_end(arguments);
}

static Module *parse(Job *job, const char *name, const Buf *text)
{
    const char *error = NULL;
    Source *source = text ? source_from_memory(job->arena, name, buf_text(text), text->length)
                          : source_read(job->arena, job->path, &error);
    if (!source) {
        complain(job, "cannot read: %s", error);
        return NULL;
    }
    Diag diag;
    diag_init(&diag, source, stderr);
    diag.quiet = true;
    Module *module = parse_module(arena_new(), source, &diag);
    if (!module)
        complain(job, "%s does not parse", name);
    return module;
}

static void compare_texts(Job *job, const char *what, const Buf *a, const Buf *b)
{
    if (a->length == b->length && memcmp(buf_text(a), buf_text(b), a->length) == 0)
        return;
    size_t i = 0, line = 1, begin = 0;
    for (; i < a->length && i < b->length && a->data[i] == b->data[i]; i++)
        if (a->data[i] == '\n') {
            line++;
            begin = i + 1;
        }
    complain(job, "%s: line %zu differs: '%.*s' / '%.*s'", what, line, (int)strcspn(buf_text(a) + begin, "\n"),
             buf_text(a) + begin, (int)strcspn(buf_text(b) + begin, "\n"), buf_text(b) + begin);
}

static void emit(const Module *module, Buf *out)
{
    buf_clear(out);
    emit_module(module, out);
}

static void round_trip_text(Job *job, const char *what, const Buf *text)
{
    Buf again = {0};
    Module *module = parse(job, what, text);
    if (module) {
        emit(module, &again);
        compare_texts(job, what, text, &again);
    }
    buf_free(&again);
}

/* Converts every function that has a body form to it. */
static void take_bodies(Job *job, Module *module, bool count)
{
    for (size_t i = 0; i < module->items.count; i++) {
        Function *function = module->items.data[i].kind == ITEM_FUNCTION ? module->items.data[i].function : NULL;
        const char *reason;
        if (!function || !function->has_body)
            continue;
        job->functions += count;
        Body *body = body_build(function, &reason);
        if (!body) {
            job->refused += count;
            if (count)
                buf_printf(&job->notes, "    %s stays as it stands: %s\n", function->name, reason);
            continue;
        }
        body_verify(body, "body_build");
        function_set_body(function, body);
    }
}

static void through_ssa(Module *module)
{
    for (size_t i = 0; i < module->items.count; i++) {
        Function *function = module->items.data[i].kind == ITEM_FUNCTION ? module->items.data[i].function : NULL;
        if (!function || !function->body)
            continue;
        Buf before = {0}, after = {0};
        body_to_ssa(function->body);
        body_verify(function->body, "body_to_ssa");
        Body *clone = body_clone(function->body);
        body_verify(clone, "body_clone");
        body_dump(function->body, &before);
        body_from_ssa(function->body);
        body_verify(function->body, "body_from_ssa");
        body_dump(clone, &after);
        require(before.length == after.length && memcmp(before.data, after.data, before.length) == 0);
        buf_free(&before);
        buf_free(&after);
        function_set_body(function, clone);
        body_from_ssa(clone);
        body_verify(clone, "body_from_ssa of a clone");
    }
}

typedef struct Figures {
    unsigned registers, stack, stores, loads;
    char *name;
} Figures;

typedef struct Object {
    char *data;
    size_t size;
    VEC(Figures) figures; /* one for each entry and function, in the order of the log */
} Object;

static char *read_whole(Job *job, const char *path, size_t *size)
{
    FILE *file = fopen(path, "rb");
    Buf text = {0};
    char chunk[65536];
    size_t got;
    if (!file)
        return NULL;
    while ((got = fread(chunk, 1, sizeof chunk, file)) > 0)
        buf_write(&text, chunk, got);
    fclose(file);
    char *copy = arena_strndup(job->arena, buf_text(&text), text.length);
    *size = text.length;
    buf_free(&text);
    return copy;
}

/* "ptxas info : Used 24 registers" and similar lines; the figures of a function end with "Used" for entries, and with
 * the spill line for other functions. */
static void read_figures(Job *job, Object *object, const char *log)
{
    for (const char *line = log; *line; line += strcspn(line, "\n"), line += *line == '\n') {
        char name[4096];
        unsigned a, b, c;
        const char *found = strstr(line, "Function properties for ");
        const char *end = line + strcspn(line, "\n");
        if (found && found < end && sscanf(found, "Function properties for %4095s", name) == 1) {
            Figures figures = {.name = arena_strndup(job->arena, name, strlen(name))};
            VEC_PUSH(job->arena, object->figures, figures);
        } else if (object->figures.count &&
                   sscanf(line, " %u bytes stack frame, %u bytes spill stores, %u bytes", &a, &b, &c) == 3) {
            VEC_LAST(object->figures).stack = a;
            VEC_LAST(object->figures).stores = b;
            VEC_LAST(object->figures).loads = c;
        } else if (object->figures.count && (found = strstr(line, "Used ")) && found < end &&
                   sscanf(found, "Used %u", &a) == 1) {
            VEC_LAST(object->figures).registers = a;
        }
    }
}

static const char *assembler_target(const Module *module)
{
    static const char *const known[] = {"75", "80", "86", "87", "88", "89", "90", "100", "103", "107", "110", "120",
                                        "121"};
    static const char *const suffixes[] = {"", "a", "f"};
    const char *target = module->target_count ? module->targets[0] : "";
    const char *number = strchr(target, '_');
    static char text[16];
    if (!number)
        return "sm_90";
    number++;
    for (size_t i = 0; i < COUNT_OF(known); i++)
        for (size_t j = 0; j < COUNT_OF(suffixes); j++) {
            snprintf(text, sizeof text, "sm_%s%s", known[i], suffixes[j]);
            if (strcmp(text + 3, number) == 0)
                return text;
        }
    return atoi(number) < 75 ? "sm_75" : "sm_90";
}

/* The options of a line "// ptxas: OPTIONS" of the source, and -c for a file that must be linked. */
static void assembler_options(Job *job, const Source *source, const char **arguments, size_t *count, size_t limit)
{
    const char *line = strstr(source->text, "// ptxas:");
    if (line && (line == source->text || line[-1] == '\n')) {
        char *words = arena_strndup(job->arena, line + 9, strcspn(line + 9, "\r\n"));
        for (char *word = strtok(words, " "); word && *count < limit; word = strtok(NULL, " "))
            arguments[(*count)++] = word;
    }
    if (strstr(job->path, ".rdc.") && *count < limit)
        arguments[(*count)++] = "-c";
}

static bool assemble(Job *job, const Module *module, const char *input, const char *what, Object *object)
{
    const char *arguments[32] = {job->settings->assembler, "-v", "-arch", assembler_target(module), input, "-o"};
    size_t count = 6;
    char *cubin = arena_printf(job->arena, "%s.cubin", input), *log = arena_printf(job->arena, "%s.log", input);
    if (strncmp(input, job->settings->folder, strlen(job->settings->folder)) != 0) {
        cubin = arena_printf(job->arena, "%s/%ld.cubin", job->settings->folder, (long)getpid());
        log = arena_printf(job->arena, "%s/%ld.log", job->settings->folder, (long)getpid());
    }
    arguments[count++] = cubin;
    assembler_options(job, module->source, arguments, &count, COUNT_OF(arguments) - 1);
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, 1, log, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    posix_spawn_file_actions_adddup2(&actions, 1, 2);
    pid_t child;
    int status = -1, error = posix_spawnp(&child, arguments[0], &actions, NULL, (char *const *)arguments, environ);
    posix_spawn_file_actions_destroy(&actions);
    if (error)
        bug("cannot run %s: %s", arguments[0], strerror(error));
    while (waitpid(child, &status, 0) < 0 && errno == EINTR)
        ;
    size_t log_size = 0;
    const char *text = read_whole(job, log, &log_size);
    if (status == 0) {
        object->data = read_whole(job, cubin, &object->size);
        read_figures(job, object, text ? text : "");
    } else {
        const char *message = text ? strstr(text, "error") : NULL;
        const char *begin = message;
        while (begin && begin > text && begin[-1] != '\n')
            begin--;
        complain(job, "the assembler refuses the %s: %.*s", what, begin ? (int)strcspn(begin, "\n") : 0,
                 begin ? begin : "");
    }
    unlink(log);
    unlink(cubin);
    return status == 0 && object->data;
}

static const Elf64_Shdr *section_at(const Object *object, size_t index)
{
    const Elf64_Ehdr *header = (const Elf64_Ehdr *)object->data;
    if (object->size < sizeof *header || memcmp(header->e_ident, ELFMAG, SELFMAG) != 0 || index >= header->e_shnum ||
        header->e_shoff + (index + 1) * sizeof(Elf64_Shdr) > object->size)
        return NULL;
    return (const Elf64_Shdr *)(object->data + header->e_shoff) + index;
}

static const char *section_name(const Object *object, const Elf64_Shdr *section)
{
    const Elf64_Shdr *names = section_at(object, ((const Elf64_Ehdr *)object->data)->e_shstrndx);
    return names && names->sh_offset + section->sh_name < object->size
               ? object->data + names->sh_offset + section->sh_name
               : "";
}

static const Elf64_Shdr *section_find(const Object *object, const char *name)
{
    const Elf64_Shdr *section;
    for (size_t i = 0; (section = section_at(object, i)); i++)
        if (strcmp(section_name(object, section), name) == 0)
            return section;
    return NULL;
}

/* The first .text section that differs; NULL: none does. With 'only', compares just that section. */
static const char *code_difference(const Object *a, const Object *b, const char *only)
{
    const Elf64_Shdr *section;
    for (size_t i = 0; (section = section_at(a, i)); i++) {
        const char *name = section_name(a, section);
        if (only ? strcmp(name, only) != 0 : strncmp(name, ".text", 5) != 0)
            continue;
        const Elf64_Shdr *other = section_find(b, name);
        if (!other || other->sh_size != section->sh_size || other->sh_offset + other->sh_size > b->size ||
            memcmp(a->data + section->sh_offset, b->data + other->sh_offset, section->sh_size) != 0)
            return name;
    }
    return NULL;
}

static const Figures *figures_find(const Object *object, const char *name)
{
    for (size_t i = 0; i < object->figures.count; i++)
        if (strcmp(object->figures.data[i].name, name) == 0)
            return &object->figures.data[i];
    return NULL;
}

static void compare_figures(Job *job, const Object *before, const Object *after)
{
    for (size_t i = 0; i < before->figures.count; i++) {
        const Figures *a = &before->figures.data[i], *b = figures_find(after, a->name);
        if (!b)
            complain(job, "%s is gone", a->name);
        else if (b->registers > a->registers || b->stack > a->stack || b->stores > a->stores || b->loads > a->loads)
            complain(job, "%s: %u registers, %u bytes of stack, %u+%u of spills became %u, %u, %u+%u", a->name,
                     a->registers, a->stack, a->stores, a->loads, b->registers, b->stack, b->stores, b->loads);
    }
}

static char *text_write(Job *job, const char *suffix, const Buf *text)
{
    const char *base = strrchr(job->path, '/');
    char *path = arena_printf(job->arena, "%s/%s%s", job->settings->folder, base ? base + 1 : job->path, suffix);
    const char *error = write_file(job->arena, path, buf_text(text), text->length);
    if (error)
        bug("cannot write %s: %s", path, error);
    return path;
}

/* The reduced module for the file's last kernel. */
static void compare_reduced(Job *job, const Module *module, const Object *input)
{
    const Function *kernel = NULL;
    for (size_t i = 0; i < module->items.count; i++)
        if (module->items.data[i].kind == ITEM_FUNCTION && module->items.data[i].function->is_entry &&
            module->items.data[i].function->has_body)
            kernel = module->items.data[i].function;
    if (!kernel)
        return;
    Buf text = {0};
    Object reduced = {0};
    emit_module_with(module, &(FunctionForm){.function = kernel, .body = kernel->body}, &text);
    char *path = text_write(job, ".reduced.ptx", &text);
    const char *section = arena_printf(job->arena, ".text.%s", kernel->name);
    if (assemble(job, module, path, "module of one kernel", &reduced) && code_difference(input, &reduced, section)) {
        /* The order of instructions may depend on the rest of the module; their cost may not. */
        const Figures *a = figures_find(input, kernel->name), *b = figures_find(&reduced, kernel->name);
        if (!a || !b || a->registers != b->registers || a->stack != b->stack || a->stores != b->stores ||
            a->loads != b->loads)
            complain(job, "%s needs other registers or memory in a module of its own", kernel->name);
    }
    if (!job->settings->keep)
        unlink(path);
    buf_free(&text);
}

static void compare_code(Job *job, const Module *module, const Module *fresh, const Buf *emitted, const Buf *converted)
{
    Object input = {0}, same = {0}, other = {0};
    if (!assemble(job, module, job->path, "input", &input))
        return;
    compare_reduced(job, fresh, &input);
    char *path = text_write(job, ".emitted.ptx", emitted);
    if (assemble(job, module, path, "emitted text", &same)) {
        const char *difference = code_difference(&input, &same, NULL);
        if (difference)
            complain(job, "%s of the emitted text differs", difference);
    }
    if (!job->settings->keep)
        unlink(path);
    path = text_write(job, ".converted.ptx", converted);
    if (assemble(job, module, path, "converted text", &other)) {
        const char *difference = code_difference(&input, &other, NULL);
        *(difference ? &job->other_code : &job->same_code) += 1;
        if (difference && job->settings->keep)
            buf_printf(&job->notes, "    %s differs after SSA form\n", difference);
        if (difference)
            compare_figures(job, &input, &other);
    }
    if (!job->settings->keep)
        unlink(path);
}

static void file_run(Job *job)
{
    Buf emitted = {0}, bodies = {0}, converted = {0};
    Module *module = parse(job, job->path, NULL);
    if (!module)
        return;
    emit(module, &emitted);
    round_trip_text(job, "emitted text", &emitted);
    take_bodies(job, module, true);
    emit(module, &bodies);
    through_ssa(module);
    emit(module, &converted);
    compare_texts(job, "after SSA form", &bodies, &converted);
    Module *again = parse(job, "converted text", &converted);
    if (again) {
        take_bodies(job, again, false);
        emit(again, &bodies);
        compare_texts(job, "body form of the body form", &converted, &bodies);
    }
    if (job->settings->assembler)
        compare_code(job, module, parse(job, job->path, NULL), &emitted, &converted);
}

static int file_process(const Settings *settings, const char *path, int pipe_end)
{
    Job job = {.settings = settings, .path = path, .arena = arena_new()};
    Buf report = {0};
    file_run(&job);
    buf_printf(&report, "%s %s%s%s\n%s", job.problems.length ? "not ok" : "ok", path, job.problems.length ? ": " : "",
               buf_text(&job.problems), buf_text(&job.notes));
    ssize_t written = write(STDOUT_FILENO, report.data, report.length);
    unsigned counts[4] = {job.functions, job.refused, job.same_code, job.other_code};
    written |= write(pipe_end, counts, sizeof counts);
    return job.problems.length || written < 0;
}

int main(int argc, char **argv)
{
    Settings settings = {.folder = "/tmp"};
    long limit = 2, running = 0;
    int option, failed = 0, ends[2];
    unsigned totals[4] = {0}, counts[4];
    while ((option = getopt(argc, argv, "j:a:t:k")) != -1)
        switch (option) {
        case 'j': limit = strtol(optarg, NULL, 10); break;
        case 'a': settings.assembler = optarg; break;
        case 't': settings.folder = optarg; break;
        case 'k': settings.keep = true; break;
        default: return 2;
        }
    if (pipe(ends) || fcntl(ends[0], F_SETFL, O_NONBLOCK) < 0)
        return 2;
    pid_t *children = calloc((size_t)argc, sizeof *children);
    if (!children)
        out_of_memory();
    for (int next = optind; next < argc || running > 0;) {
        if (next < argc && running < limit) {
            fflush(stdout);
            children[next] = fork();
            if (children[next] == 0)
                _exit(file_process(&settings, argv[next], ends[1]));
            if (children[next] < 0)
                return 2;
            next++;
            running++;
            continue;
        }
        int status;
        pid_t child = wait(&status);
        running--;
        for (int i = optind; i < next; i++)
            if (children[i] == child && !WIFEXITED(status))
                printf("not ok %s: ended by signal %d\n", argv[i], WTERMSIG(status));
        failed |= status != 0;
        while (read(ends[0], counts, sizeof counts) == (ssize_t)sizeof counts)
            for (size_t i = 0; i < COUNT_OF(counts); i++)
                totals[i] += counts[i];
    }
    free(children);
    printf("# %u functions, %u without a body form; after SSA form %u files with the same machine code, %u with other "
           "code\n",
           totals[0], totals[1], totals[2], totals[3]);
    return failed;
}
