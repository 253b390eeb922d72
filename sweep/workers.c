/* Processes that share the forms out among them. Each takes the next form that none has taken, and sends its rows
 * through a pipe. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "sweep/internal.h"

/* In memory that all processes share. */
typedef struct Shared {
    atomic_size_t next; /* form */
} Shared;

typedef struct Worker {
    pid_t process;
    int pipe;       /* -1: it has ended */
    Buf received;   /* what is not a line yet */
} Worker;

typedef struct Crew {
    Sweep *sweep;
    SweepTask *task;
    Shared *shared;
    Worker *workers;
    struct pollfd *polled; /* one for each */
    unsigned count;
    SweepProgress progress;
    size_t done; /* rows */
    int output;  /* the file, for more rows; -1: there is none */
    size_t lost; /* forms */
} Crew;

static bool write_all(int file, const char *bytes, size_t length)
{
    while (length) {
        const ssize_t written = write(file, bytes, length);
        if (written < 0 && errno != EINTR)
            return false;
        bytes += written > 0 ? written : 0;
        length -= written > 0 ? (size_t)written : 0;
    }
    return true;
}

/* The last line says what the time went into: "#" and seconds. */
static void print_seconds(const SweepSeconds *seconds, Buf *out)
{
    buf_printf(out, "#%.6f %.6f %.6f %.6f %.6f\n", seconds->coarsening, seconds->counting, seconds->assembling,
               seconds->mapping, seconds->measuring);
}

static void add_seconds(const char *line, SweepSeconds *to)
{
    SweepSeconds part;
    if (sscanf(line, "#%lf %lf %lf %lf %lf", &part.coarsening, &part.counting, &part.assembling, &part.mapping,
               &part.measuring) != 5)
        return;
    to->coarsening += part.coarsening;
    to->counting += part.counting;
    to->assembling += part.assembling;
    to->mapping += part.mapping;
    to->measuring += part.measuring;
}

/* The exit status of a process that cannot use the GPU any more; another one goes on. */
enum { WITHOUT_GPU = 75 };

static _Noreturn void work(const Crew *crew, int pipe)
{
    Sweep *sweep = crew->sweep;
    Buf out = {0};
    signal(SIGINT, SIG_DFL);
    if (!sweep_open_assemblers(sweep) ||
        (crew->task == sweep_measure && sweep->request->measures && !sweep_gpu_open(sweep)))
        _exit(EXIT_INPUT);
    const bool *is_lost = sweep->gpu ? &sweep->gpu->is_lost : &(bool){false};
    for (size_t form; !*is_lost && (form = atomic_fetch_add(&crew->shared->next, 1)) < sweep->forms.count;) {
        buf_clear(&out);
        crew->task(sweep, &sweep->forms.data[form], &out);
        if (!write_all(pipe, buf_text(&out), out.length))
            _exit(EXIT_INPUT);
    }
    buf_clear(&out);
    print_seconds(&sweep->seconds, &out);
    for (size_t i = 0; i < sweep->target_count; i++)
        run_close(&sweep->targets[i].run);
    if (!write_all(pipe, buf_text(&out), out.length))
        _exit(EXIT_INPUT);
    _exit(*is_lost ? WITHOUT_GPU : EXIT_DONE);
}

static bool worker_start(Crew *crew, Worker *worker)
{
    int ends[2];
    *worker = (Worker){.pipe = -1};
    if (pipe2(ends, O_CLOEXEC) != 0)
        return false;
    fflush(NULL);
    worker->process = fork();
    if (worker->process == 0) {
        close(ends[0]);
        work(crew, ends[1]);
    }
    close(ends[1]);
    if (worker->process < 0)
        close(ends[0]);
    else
        worker->pipe = ends[0];
    return worker->process > 0;
}

/* "=", the form's place, and its estimate. */
static void note_estimate(Sweep *sweep, const char *line)
{
    size_t form;
    double cycles;
    if (sscanf(line, "=%zu %lf", &form, &cycles) == 2 && form < sweep->forms.count)
        sweep->forms.data[form].estimate = cycles;
}

static void take_line(Crew *crew, char *line, size_t length)
{
    Sweep *sweep = crew->sweep;
    SweepRow row;
    if (*line == '#' || *line == '=') {
        *line == '#' ? add_seconds(line, &sweep->seconds) : note_estimate(sweep, line);
        return;
    }
    line[length] = '\n';
    const bool is_kept = crew->output < 0 || write_all(crew->output, line, length + 1);
    line[length] = 0;
    if (!is_kept) {
        fprintf(stderr, "ptxopt: error: %s: %s\n", sweep->request->output, strerror(errno));
        close(crew->output);
        crew->output = -1;
    }
    if (!sweep_row_read(sweep->arena, line, &row))
        bug("a row cannot be read: %s", line);
    VEC_PUSH(sweep->arena, sweep->table.rows, row);
    crew->done += row.factor > 1 || !row.by_machine; /* an original by machine code has another row */
}

/* Takes the lines that are complete. */
static void take_lines(Crew *crew, Worker *worker)
{
    char *line = worker->received.data, *end;
    while ((end = memchr(line, '\n', worker->received.length - (size_t)(line - worker->received.data))) != NULL) {
        *end = 0;
        take_line(crew, line, (size_t)(end - line));
        line = end + 1;
    }
    const size_t rest = worker->received.length - (size_t)(line - worker->received.data);
    memmove(worker->received.data, line, rest);
    worker->received.length = rest;
}

static void worker_end(Crew *crew, Worker *worker)
{
    int status = 0;
    close(worker->pipe);
    worker->pipe = -1;
    buf_free(&worker->received);
    while (waitpid(worker->process, &status, 0) < 0 && errno == EINTR)
        ;
    const bool is_without_gpu = WIFEXITED(status) && WEXITSTATUS(status) == WITHOUT_GPU;
    if (status == 0 || sweep_is_over(crew->sweep))
        return;
    crew->lost += !is_without_gpu;
    if (WIFSIGNALED(status))
        fprintf(stderr, "ptxopt: error: a process of the sweep was ended by signal %d; its form is left out\n",
                WTERMSIG(status));
    if ((WIFSIGNALED(status) || is_without_gpu) && atomic_load(&crew->shared->next) < crew->sweep->forms.count)
        worker_start(crew, worker);
}

static void receive(Crew *crew, Worker *worker)
{
    enum { PIECE = 65536 };
    buf_reserve(&worker->received, PIECE);
    const ssize_t got = read(worker->pipe, worker->received.data + worker->received.length, PIECE);
    if (got > 0) {
        worker->received.length += (size_t)got;
        take_lines(crew, worker);
    } else if (got == 0 || errno != EINTR) {
        worker_end(crew, worker);
    }
}

/* Waits for one of the workers; false once all have ended. */
static bool crew_wait(Crew *crew)
{
    struct pollfd *polled = crew->polled;
    bool any = false;
    for (unsigned i = 0; i < crew->count; i++) {
        polled[i] = (struct pollfd){.fd = crew->workers[i].pipe, .events = POLLIN};
        any |= crew->workers[i].pipe >= 0;
    }
    if (any && poll(polled, crew->count, 500) > 0)
        for (unsigned i = 0; i < crew->count; i++)
            if (polled[i].revents)
                receive(crew, &crew->workers[i]);
    return any;
}

static void stop_workers(Crew *crew)
{
    for (unsigned i = 0; i < crew->count; i++)
        if (crew->workers[i].pipe >= 0)
            kill(crew->workers[i].process, SIGINT);
}

static void crew_run(Crew *crew)
{
    bool is_stopped = false;
    for (unsigned i = 0; i < crew->count; i++)
        if (!worker_start(crew, &crew->workers[i]))
            fprintf(stderr, "ptxopt: error: cannot start a process: %s\n", strerror(errno));
    while (crew_wait(crew)) {
        sweep_progress_show(&crew->progress, crew->sweep, crew->done);
        if (sweep_is_over(crew->sweep) && !is_stopped)
            stop_workers(crew);
        is_stopped |= sweep_is_over(crew->sweep);
    }
    if (crew->task == sweep_measure)
        sweep_progress_end(&crew->progress, crew->sweep, crew->done);
}

/* Opens the output for more rows, after those that it has. */
static int open_output(const Sweep *sweep)
{
    const char *path = sweep->request->output;
    return path && strcmp(path, "-") != 0 ? open(path, O_WRONLY | O_APPEND | O_CLOEXEC) : -1;
}

size_t sweep_share(Sweep *sweep, SweepTask *task)
{
    const unsigned jobs = sweep->request->jobs ? sweep->request->jobs : assembler_width();
    Shared *shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (shared == MAP_FAILED)
        out_of_memory();
    Crew crew = {.sweep = sweep,
                 .task = task,
                 .shared = shared,
                 .count = jobs < sweep->forms.count ? jobs : (unsigned)sweep->forms.count,
                 .progress = sweep_progress_new(sweep->request),
                 .output = open_output(sweep)};
    crew.workers = ARENA_ARRAY(sweep->arena, Worker, crew.count + 1);
    crew.polled = ARENA_ARRAY(sweep->arena, struct pollfd, crew.count + 1);
    crew_run(&crew);
    if (crew.output >= 0)
        close(crew.output);
    munmap(shared, sizeof *shared);
    return crew.lost;
}
