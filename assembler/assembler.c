/* The interface: chooses a back end, runs it, and turns its outcome into a result. */
#include "assembler/internal.h"

#include <string.h>
#include <time.h>

#define LOG_LIMIT ((size_t)1 << 20)
#define PROBE_TIMEOUT_MS 60000

struct Assembler {
    AssemblerKind kind;
    Arch arch;
    const char *arch_name;
    Arena *arena; /* of assembler_open() */
    const char *path, *version, *note;
    Worker *worker; /* NULL for a program */
    const char *const *options; /* NULL: none */
    AssemblerWaiting *waiting;  /* NULL: no caller waits */
    void *waiting_context;
    VEC(Assembler *) twins; /* for simultaneous runs */
    bool is_taken;          /* for a twin: a run uses it */
    bool has_no_more;       /* no further twin could be started */
    int stop_fd;            /* readable when a run should stop early; -1: there is none */
    unsigned holders;       /* how many hold the signals */
    SignalHold hold;        /* while there are any */
};

enum { OLD_VERSION = 60 }; /* of PTX, times 10: every working assembler knows it */

/* A request for an empty kernel of a version of PTX and an old target. */
static AssemblyRequest probe_request(Arena *arena, unsigned ptx_version)
{
    const char *text = arena_printf(arena, ".version %u.%u\n.target sm_30\n.address_size 64\n"
                                    ".visible .entry ptxopt_probe()\n{\n\tret;\n}\n",
                                    ptx_version / 10, ptx_version % 10);
    AssemblyRequest request = assembly_request(text, strlen(text));
    request.timeout_ms = PROBE_TIMEOUT_MS;
    return request;
}

/* The architecture to assemble for. False if the text is not one of the table's. */
static bool find_arch(const char *text, Arch *arch)
{
    if (!arch_parse(text, arch))
        return false;
    *arch = arch_assembled(*arch);
    return architecture_find(arch->number) != NULL;
}

const char *assembler_name(const Assembler *assembler)
{
    return backend_of(assembler->kind)->name;
}

const char *assembler_version(const Assembler *assembler)
{
    return assembler->version;
}

const char *assembler_path(const Assembler *assembler)
{
    return assembler->path;
}

const char *assembler_arch(const Assembler *assembler)
{
    return assembler->arch_name;
}

const char *const *assembler_options(const Assembler *assembler)
{
    return assembler->options;
}

const char *assembler_note(const Assembler *assembler)
{
    return assembler->note;
}

typedef struct Wanted {
    Arch arch;
    unsigned ptx_version;     /* times 10 */
    const char *const *sites; /* ends with NULL; or NULL */
} Wanted;

/* NULL, with *message set, if this file cannot assemble what is wanted. */
static Assembler *open_path(Arena *arena, AssemblerKind kind, const char *path, const Wanted *wanted,
                            const char **message)
{
    const Arch arch = wanted->arch;
    Assembler *assembler = ARENA_NEW(arena, Assembler);
    *assembler = (Assembler){.kind = kind, .arch = arch, .path = path, .arena = arena, .stop_fd = -1};
    assembler->arch_name = arena_printf(arena, "%s", arch_names(arch).real);
    const Backend *backend = backend_of(kind);
    if (backend->program)
        assembler->version = backend->program->version(arena, path, message);
    else
        assembler->worker = worker_start(arena, backend->engine, path, arch, &assembler->version, message);
    if (!assembler->version)
        return NULL;
    const AssemblyRequest request = probe_request(arena, wanted->ptx_version);
    Assembly result;
    if (assembler_run(assembler, arena, &request, &result))
        return assembler;
    *message =
        arena_printf(arena, "cannot assemble an empty kernel for %s: %s", arch_names(arch).real, result.message);
    assembler_close(assembler);
    return NULL;
}

/* True if the only failure is that the loader did not find the name. */
static bool is_absent(const char *path, const char *message)
{
    size_t length = strlen(path);
    static const char words[] = ": cannot open shared object file";
    return path[0] != '/' && strncmp(message, path, length) == 0 &&
           strncmp(message + length, words, sizeof words - 1) == 0;
}

/* Tries every candidate of one kind. For each that failed, appends a line to 'tried', and to 'notes' too if it is
 * installed. */
static Assembler *open_kind(Arena *arena, AssemblerKind kind, const Wanted *wanted, Buf *tried, Buf *notes)
{
    Candidates candidates = locate(arena, backend_of(kind), wanted->sites);
    const char *said = NULL;
    for (size_t i = 0; i < candidates.paths.count; i++) {
        const char *path = candidates.paths.data[i], *message = NULL;
        Assembler *assembler = open_path(arena, kind, path, wanted, &message);
        if (assembler)
            return assembler;
        /* A library that is installed under several names fails several times in the same way. */
        if ((!candidates.variable && is_absent(path, message)) || (said && strcmp(said, message) == 0))
            continue;
        said = message;
        size_t begin = tried->length;
        buf_printf(tried, "\n  %s: ", backend_of(kind)->name);
        if (candidates.variable)
            buf_printf(tried, "%s: ", candidates.variable);
        if (strncmp(message, path, strlen(path)) != 0)
            buf_printf(tried, "%s: ", path);
        buf_puts(tried, message);
        buf_write(notes, tried->data + begin, tried->length - begin);
    }
    if (!said)
        buf_printf(tried, "\n  %s: not found", backend_of(kind)->name);
    return NULL;
}

/* The kind that environment variables name, of those that 'kind' allows; ASSEMBLER_AUTO: none. */
static AssemblerKind named_kind(AssemblerKind kind)
{
    for (AssemblerKind k = ASSEMBLER_AUTO + 1; k < ASSEMBLER_KIND_COUNT; k++)
        if ((kind == ASSEMBLER_AUTO || kind == k) && backend_is_named(backend_of(k)))
            return k;
    return ASSEMBLER_AUTO;
}

bool assembler_is_named(AssemblerKind kind)
{
    return named_kind(kind) != ASSEMBLER_AUTO;
}

Assembler *assembler_open(Arena *arena, AssemblerKind kind, const char *arch_name, const char **error)
{
    return assembler_open_for(arena, kind, arch_name, 0, NULL, error);
}

/* The reason why there is no assembler. Nothing replaces one that was named, so the message then suggests no
 * installation. */
static const char *explain_absence(Arena *arena, AssemblerKind kind, Arch arch, bool is_named, const char *tried)
{
    return arena_printf(arena, "no %s can be used for %s:%s%s", backend_of(kind)->name, arch_names(arch).real, tried,
                        is_named ? "" : "\n'ptxopt setup' fetches ptxas and nvJitLink, and so does 'pip install "
                                        "nvidia-cuda-nvcc nvidia-nvjitlink'; PTXOPT_PTXAS, PTXOPT_NVJITLINK and "
                                        "PTXOPT_CUDA_DRIVER can name others");
}

/* Tries the kinds in their order; ASSEMBLER_AUTO: all. */
static Assembler *open_any(Arena *arena, AssemblerKind kind, const Wanted *wanted, Buf *tried, Buf *notes)
{
    Assembler *assembler = NULL;
    for (AssemblerKind k = ASSEMBLER_AUTO + 1; k < ASSEMBLER_KIND_COUNT && !assembler; k++)
        if (kind == ASSEMBLER_AUTO || kind == k)
            assembler = open_kind(arena, k, wanted, tried, notes);
    return assembler;
}

Assembler *assembler_open_for(Arena *arena, AssemblerKind kind, const char *arch_name, unsigned ptx_version,
                              const char *const *sites, const char **error)
{
    const bool is_named = assembler_is_named(kind);
    if (is_named)
        kind = named_kind(kind);
    Wanted wanted = {.ptx_version = ptx_version > OLD_VERSION ? ptx_version : OLD_VERSION, .sites = sites};
    if (!find_arch(arch_name, &wanted.arch)) {
        *error = arena_printf(arena, "'%s' is not a known architecture such as sm_90", arch_name);
        return NULL;
    }
    uint64_t limit;
    if (!memory_limit(&limit)) {
        *error = "PTXOPT_ASSEMBLER_MEMORY is not a number of MiB";
        return NULL;
    }
    Buf tried = {0}, notes = {0};
    Assembler *assembler = open_any(arena, kind, &wanted, &tried, &notes);
    if (!assembler && wanted.ptx_version > OLD_VERSION) {
        tried.length = notes.length = 0;
        wanted.ptx_version = OLD_VERSION;
        assembler = open_any(arena, kind, &wanted, &tried, &notes);
    }
    *error = NULL;
    if (assembler && notes.length)
        assembler->note = arena_printf(arena, "not used:%s", notes.data);
    if (!assembler)
        *error = explain_absence(arena, kind, wanted.arch, is_named, buf_text(&tried));
    buf_free(&tried);
    buf_free(&notes);
    return assembler;
}

/* Has an empty kernel assembled with a file of controls. NULL, or why that is not possible. */
static const char *try_controls(Assembler *assembler, const char *word)
{
    Arena *arena = assembler->arena;
    const char *message = controls_too_old(arena, assembler_name(assembler), assembler->version);
    if (message)
        return message;
    const char *const words[] = {word, NULL};
    AssemblyRequest request = probe_request(arena, OLD_VERSION);
    request.options = words;
    Assembly result;
    if (assembler_run(assembler, arena, &request, &result))
        return NULL;
    const char *reason = strstr(result.message, " : ");
    return arena_printf(arena, "%s %s does not accept -apply-controls %s: %s", assembler_name(assembler),
                        assembler->version, strchr(word, '=') + 1, reason ? reason + 3 : result.message);
}

const char *assembler_set_options(Assembler *assembler, const char *const *options)
{
    const char *error, *controls;
    const char *const *words = controls_resolve(assembler->arena, options, &controls, &error);
    if (!error && controls)
        error = try_controls(assembler, controls);
    if (!error)
        assembler->options = options ? words : NULL;
    return error;
}

const char *assembler_try_controls(Assembler *assembler, const char *path, const char **absolute)
{
    const char *error, *controls;
    const char *const words[] = {arena_printf(assembler->arena, "--apply-controls=%s", path), NULL};
    controls_resolve(assembler->arena, words, &controls, &error);
    *absolute = error ? NULL : strchr(controls, '=') + 1;
    return error ? error : try_controls(assembler, controls);
}

void assembler_waits(const Assembler *assembler, bool done)
{
    if (assembler->waiting)
        assembler->waiting(assembler->waiting_context, done);
}

void assembler_set_waiting(Assembler *assembler, AssemblerWaiting *waiting, void *context)
{
    assembler->waiting = waiting;
    assembler->waiting_context = context;
}

static Assembler *twin_new(Assembler *assembler)
{
    Arena *arena = assembler->arena;
    Assembler *twin = ARENA_NEW(arena, Assembler);
    const char *version, *message;
    *twin = (Assembler){.kind = assembler->kind, .arch = assembler->arch, .path = assembler->path,
                        .stop_fd = assembler->stop_fd};
    if (assembler->worker) {
        twin->worker = worker_start(arena, backend_of(twin->kind)->engine, twin->path, twin->arch, &version, &message);
        if (!twin->worker) {
            assembler->has_no_more = true;
            return NULL;
        }
    }
    VEC_PUSH(arena, assembler->twins, twin);
    return twin;
}

Assembler *assembler_twin_take(Assembler *assembler)
{
    Assembler *twin = NULL;
    for (size_t i = 0; i < assembler->twins.count && !twin; i++)
        if (!assembler->twins.data[i]->is_taken)
            twin = assembler->twins.data[i];
    if (!twin && !assembler->has_no_more)
        twin = twin_new(assembler);
    if (!twin)
        return NULL;
    twin->is_taken = true;
    twin->options = assembler->options;
    return twin;
}

void assembler_twin_give(Assembler *twin)
{
    twin->is_taken = false;
}

static void stop_by(Assembler *assembler, int fd)
{
    assembler->stop_fd = fd;
    for (size_t i = 0; i < assembler->twins.count; i++)
        assembler->twins.data[i]->stop_fd = fd;
}

void assembler_hold_signals(Assembler *assembler)
{
    if (!backend_of(assembler->kind)->program || assembler->holders++)
        return;
    signals_hold(&assembler->hold);
    stop_by(assembler, assembler->hold.fd);
}

void assembler_release_signals(Assembler *assembler)
{
    if (!backend_of(assembler->kind)->program || --assembler->holders)
        return;
    stop_by(assembler, -1);
    signals_release(&assembler->hold);
}

void assembler_close(Assembler *assembler)
{
    for (size_t i = 0; assembler && i < assembler->twins.count; i++)
        assembler_close(assembler->twins.data[i]);
    if (assembler && assembler->worker) {
        worker_stop(assembler->worker);
        assembler->worker = NULL;
    }
}

AssemblyRequest assembly_request(const char *ptx, size_t size)
{
    return (AssemblyRequest){.ptx = ptx, .size = size, .opt_level = 3};
}

const char *assembly_failure_word(AssemblyFailure failure)
{
    static const char *const words[] = {
        [ASSEMBLY_DONE] = "done",
        [ASSEMBLY_REJECTED] = "rejected",
        [ASSEMBLY_CRASHED] = "crashed",
        [ASSEMBLY_TIMED_OUT] = "timed out",
        [ASSEMBLY_NO_MEMORY] = "out of memory",
        [ASSEMBLY_UNREADABLE] = "not understood",
        [ASSEMBLY_UNAVAILABLE] = "not available",
    };
    return words[failure];
}

bool assembly_broke(AssemblyFailure failure)
{
    return failure == ASSEMBLY_CRASHED || failure == ASSEMBLY_TIMED_OUT || failure == ASSEMBLY_NO_MEMORY;
}

/* Recognizes that an assembler ran out of memory, of which it prints a message, or crashes. */
static void recognize_memory(Outcome *outcome)
{
    static const char *const words[] = {"memory allocation failure", "out of memory", "std::bad_alloc",
                                        "cannot allocate memory", "memory exhausted"};
    uint64_t limit;
    memory_limit(&limit);
    bool failed = outcome->failure == ASSEMBLY_CRASHED || outcome->failure == ASSEMBLY_REJECTED ||
                  outcome->failure == ASSEMBLY_UNREADABLE;
    if (!limit || !failed)
        return;
    bool reached = outcome->failure == ASSEMBLY_CRASHED && outcome->peak > limit / 8 * 7;
    for (size_t i = 0; i < COUNT_OF(words); i++)
        reached |= strcasestr(buf_text(&outcome->log), words[i]) || strcasestr(buf_text(&outcome->message), words[i]);
    if (reached)
        outcome_fail(outcome, ASSEMBLY_NO_MEMORY,
                     "needs more than the %llu MiB of memory that it may use (PTXOPT_ASSEMBLER_MEMORY sets the limit)",
                     (unsigned long long)(limit >> 20));
}

/* The options of the assembler and those of the request; NULL if there are none. */
static const char *const *join_options(Arena *arena, const char *const *all, const char *const *own)
{
    size_t first = options_count(all), second = options_count(own);
    if (!second)
        return all;
    const char **words = ARENA_ARRAY(arena, const char *, first + second + 1);
    for (size_t i = 0; i < first + second; i++)
        words[i] = i < first ? all[i] : own[i - first];
    return words;
}

/* Turns a request into a job. False, with the reason in *outcome, if the request is not valid. */
static bool make_job(const Assembler *assembler, Arena *arena, const AssemblyRequest *request, Job *job,
                     Outcome *outcome)
{
    *job = (Job){.ptx = request->ptx,
                 .size = request->size,
                 .arch = assembler->arch,
                 .syntax_only = request->syntax_only,
                 .line_info = request->line_info,
                 .many_cores = request->many_cores,
                 .options = join_options(arena, assembler->options, request->options),
                 .stop_fd = assembler->stop_fd};
    if (request->arch && !find_arch(request->arch, &job->arch)) {
        outcome_fail(outcome, ASSEMBLY_UNAVAILABLE, "'%s' is not a known architecture such as sm_90", request->arch);
        return false;
    }
    if (request->options && assembler->kind == ASSEMBLER_DRIVER) {
        outcome_fail(outcome, ASSEMBLY_UNAVAILABLE, "takes no options for ptxas");
        return false;
    }
    job->max_registers = request->max_registers > 0 ? (unsigned)request->max_registers : 0;
    job->opt_level = request->opt_level < 0 ? 0 : request->opt_level > 3 ? 3 : (unsigned)request->opt_level;
    while (job->size > 0 && job->ptx[job->size - 1] == 0)
        job->size--;
    /* the libraries would stop reading there, but ptxas would not */
    const char *nul = memchr(job->ptx, 0, job->size);
    if (nul)
        outcome_fail(outcome, ASSEMBLY_REJECTED, "NUL byte at offset %zu of the PTX", (size_t)(nul - job->ptx));
    return !nul;
}

/* Sets the failure and its message, as precisely as the log allows. */
static void explain(const Assembler *assembler, Arena *arena, Outcome *outcome, Assembly *result)
{
    const char *first = log_first_error(arena, buf_text(&outcome->log), &result->error_line);
    result->failure = outcome->failure;
    const char *text = buf_text(&outcome->message);
    if (outcome->failure == ASSEMBLY_REJECTED && first) {
        text = first;
        if (strstr(first, "is not defined for option 'gpu-name'") || strstr(first, "Unsupported gpu architecture"))
            result->failure = ASSEMBLY_UNAVAILABLE;
    }
    result->message = arena_printf(arena, "%s: %s", assembler_name(assembler), text);
}

static void take_figures(const Assembler *assembler, Arena *arena, Arch arch, Outcome *outcome, Assembly *result)
{
    Cubin cubin;
    const char *problem = cubin_read(arena, outcome->cubin.data, outcome->cubin.length, &cubin);
    if (problem)
        problem = arena_printf(arena, "its cubin cannot be read: %s", problem);
    else
        problem = resources_read(arena, arch, buf_text(&outcome->log), buf_text(&outcome->attributes), &cubin, result);
    if (problem) {
        result->failure = ASSEMBLY_UNREADABLE;
        result->message = arena_printf(arena, "%s: %s", assembler_name(assembler), problem);
        result->resources = NULL;
        result->resource_count = 0;
    }
}

static const char *keep_log(Arena *arena, const Buf *log)
{
    if (log->length <= LOG_LIMIT)
        return arena_strndup(arena, buf_text(log), log->length);
    return arena_printf(arena, "%.*s\n(cut: %zu byte%s in all)\n", (int)LOG_LIMIT, log->data, log->length,
                        plural(log->length));
}

bool assembler_run(Assembler *assembler, Arena *arena, const AssemblyRequest *request, Assembly *result)
{
    *result = (Assembly){0};
    Job job;
    Outcome outcome = {.waiting = assembler->waiting, .waiting_context = assembler->waiting_context};
    struct timespec begin, end;
    unsigned timeout_ms = request->timeout_ms ? request->timeout_ms : ASSEMBLY_TIMEOUT_MS;
    clock_gettime(CLOCK_MONOTONIC, &begin);
    if (make_job(assembler, arena, request, &job, &outcome)) {
        if (assembler->worker)
            worker_run(assembler->worker, &job, timeout_ms, &outcome);
        else
            backend_of(assembler->kind)->program->run(assembler->path, &job, timeout_ms, &outcome);
    }
    assembler_waits(assembler, true);
    recognize_memory(&outcome);
    clock_gettime(CLOCK_MONOTONIC, &end);
    result->seconds = (double)(end.tv_sec - begin.tv_sec) + (double)(end.tv_nsec - begin.tv_nsec) * 1e-9;
    if (outcome.failure != ASSEMBLY_DONE)
        explain(assembler, arena, &outcome, result);
    else if (!request->syntax_only)
        take_figures(assembler, arena, job.arch, &outcome, result);
    result->log = keep_log(arena, &outcome.log);
    result->relocatable = outcome.relocatable && result->failure == ASSEMBLY_DONE;
    if (result->failure == ASSEMBLY_DONE && request->want_cubin && !request->syntax_only) {
        void *cubin = arena_alloc(arena, outcome.cubin.length);
        memcpy(cubin, outcome.cubin.data, outcome.cubin.length);
        result->cubin = cubin;
        result->cubin_size = outcome.cubin.length;
    }
    outcome_free(&outcome);
    return result->failure == ASSEMBLY_DONE;
}

const Resources *assembly_find(const Assembly *assembly, const char *name)
{
    for (size_t i = 0; i < assembly->resource_count; i++)
        if (strcmp(assembly->resources[i].name, name) == 0)
            return &assembly->resources[i];
    return NULL;
}
