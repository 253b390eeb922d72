/* A worker process: a forked child that opens an assembler's library and serves one request after another over a
 * socket, so that only the child suffers if the library crashes, hangs, prints or leaks.
 *
 * Both ends are this program, so structures are sent as they are in memory. Replies are checked nevertheless, because
 * the library may have overwritten anything in the child.
 *     request: RequestHeader, the PTX, the options with a NUL after each
 *     reply:   ReplyHeader, then message, log, cubin, attributes
 * The first reply is sent when the library is open; its log is the version. */
#include "assembler/internal.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define REPLY_MAGIC 0x70747870u
#define PART_COUNT 4
#define PART_LIMIT (UINT64_C(1) << 30)
#define LOAD_TIMEOUT_MS 60000
#define PRINTED_LIMIT 65536
/* The child's end of the socket, in the child. */
#define SERVICE_FD 3

typedef struct RequestHeader {
    uint64_t size, options_size;
    Arch arch;
    uint32_t max_registers, opt_level, syntax_only, line_info;
} RequestHeader;

typedef struct ReplyHeader {
    uint32_t magic, failure;
    uint64_t lengths[PART_COUNT];
} ReplyHeader;

struct Worker {
    const Engine *engine;
    const char *path;
    Arch arch;
    pid_t pid;   /* 0 if there is no child */
    int socket;
    int printed; /* an unnamed file for the child's output; -1 if it could not be created */
};

static void outcome_parts(Outcome *outcome, Buf *parts[PART_COUNT])
{
    parts[0] = &outcome->message;
    parts[1] = &outcome->log;
    parts[2] = &outcome->cubin;
    parts[3] = &outcome->attributes;
}

static bool receive_blocking(void *bytes, size_t length)
{
    for (size_t done = 0; done < length;) {
        ssize_t count = read(SERVICE_FD, (char *)bytes + done, length - done);
        if (count > 0)
            done += (size_t)count;
        else if (count == 0 || errno != EINTR)
            return false;
    }
    return true;
}

static bool send_blocking(const void *bytes, size_t length)
{
    for (size_t done = 0; done < length;) {
        ssize_t count = send(SERVICE_FD, (const char *)bytes + done, length - done, MSG_NOSIGNAL);
        if (count > 0)
            done += (size_t)count;
        else if (count == 0 || errno != EINTR)
            return false;
    }
    return true;
}

static bool send_reply(Outcome *outcome)
{
    Buf *parts[PART_COUNT];
    outcome_parts(outcome, parts);
    ReplyHeader header = {.magic = REPLY_MAGIC, .failure = outcome->failure};
    for (size_t i = 0; i < PART_COUNT; i++)
        header.lengths[i] = parts[i]->length;
    bool sent = send_blocking(&header, sizeof header);
    for (size_t i = 0; i < PART_COUNT && sent; i++)
        sent = send_blocking(parts[i]->data, parts[i]->length);
    return sent;
}

/* The words of a text with a NUL after each, as a list that ends with NULL, to be freed; NULL if there is no memory. */
static const char **split_options(const char *text, size_t size)
{
    size_t count = 0;
    for (size_t i = 0; i < size; i++)
        count += !text[i];
    const char **words = calloc(count + 1, sizeof *words);
    for (size_t i = 0; words && i < count; i++, text += strlen(text) + 1)
        words[i] = text;
    return words;
}

_Noreturn static void serve(const Worker *worker)
{
    Outcome greeting = {0};
    void *state = worker->engine->load(worker->path, worker->arch, &greeting.log, &greeting.message);
    if (!state)
        greeting.failure = ASSEMBLY_UNAVAILABLE;
    bool going = send_reply(&greeting) && state;
    outcome_free(&greeting);
    RequestHeader header;
    while (going && receive_blocking(&header, sizeof header)) {
        char *ptx = malloc(header.size + 1), *text = malloc(header.options_size + 1);
        if (!ptx || !text)
            break;
        going = receive_blocking(ptx, header.size) && receive_blocking(text, header.options_size);
        const char **options = going ? split_options(text, header.options_size) : NULL;
        if (options) {
            ptx[header.size] = 0;
            Job job = {.ptx = ptx,
                       .options = options,
                       .size = header.size,
                       .arch = header.arch,
                       .max_registers = header.max_registers,
                       .opt_level = header.opt_level,
                       .syntax_only = header.syntax_only,
                       .line_info = header.line_info};
            Outcome outcome = {0};
            worker->engine->assemble(state, &job, &outcome);
            going = send_reply(&outcome);
            outcome_free(&outcome);
        }
        going &= options != NULL;
        free(options);
        free(text);
        free(ptx);
    }
    /* This neither runs the exit handlers nor flushes the buffers inherited from the parent. */
    _exit(0);
}

static void close_from(unsigned first)
{
    if (syscall(SYS_close_range, first, ~0u, 0u) == 0)
        return;
    long limit = sysconf(_SC_OPEN_MAX);
    for (long fd = first; fd < (limit > 0 && limit < 65536 ? limit : 65536); fd++)
        close((int)fd);
}

_Noreturn static void child_main(const Worker *worker, int service, uint64_t memory, pid_t parent)
{
    child_prepare(parent);
    /* A terminal's interrupt is for the parent, which may want to go on. */
    setpgid(0, 0);
    child_limit_memory(memory_used(), memory);
    /* both are first moved away from the numbers assigned below */
    int socket = fcntl(service, F_DUPFD, 10), printed = worker->printed >= 0 ? fcntl(worker->printed, F_DUPFD, 10) : -1;
    int nothing = open("/dev/null", O_RDWR);
    if (socket < 0 || nothing < 0)
        _exit(126);
    nothing = fcntl(nothing, F_DUPFD, 10);
    if (printed < 0)
        printed = nothing;
    if (dup2(nothing, 0) < 0 || dup2(printed, 1) < 0 || dup2(printed, 2) < 0 || dup2(socket, SERVICE_FD) < 0)
        _exit(126);
    /* This includes the parent's ends of other workers' sockets: with them open, those workers would not notice that
     * the parent has ended. */
    close_from(SERVICE_FD + 1);
    serve(worker);
}

typedef enum Transfer { TRANSFER_DONE, TRANSFER_ENDED, TRANSFER_LATE, TRANSFER_GARBAGE } Transfer;

static Transfer wait_for(int fd, short events, int64_t deadline, const Outcome *outcome)
{
    for (;;) {
        outcome_wait(outcome);
        struct pollfd watched = {.fd = fd, .events = events};
        int count = poll(&watched, 1, poll_timeout(deadline, WAITING_MS));
        if (count > 0)
            return TRANSFER_DONE;
        if (count < 0 && errno != EINTR)
            return TRANSFER_ENDED;
        if (clock_ms() >= deadline)
            return TRANSFER_LATE;
    }
}

static Transfer send_all(int fd, const void *bytes, size_t length, int64_t deadline, const Outcome *outcome)
{
    for (size_t done = 0; done < length;) {
        ssize_t count = send(fd, (const char *)bytes + done, length - done, MSG_NOSIGNAL | MSG_DONTWAIT);
        if (count >= 0) {
            done += (size_t)count;
            continue;
        }
        if (errno != EAGAIN && errno != EINTR)
            return TRANSFER_ENDED;
        Transfer transfer = wait_for(fd, POLLOUT, deadline, outcome);
        if (transfer != TRANSFER_DONE)
            return transfer;
    }
    return TRANSFER_DONE;
}

static Transfer receive_all(int fd, Buf *to, uint64_t length, int64_t deadline, const Outcome *outcome)
{
    char piece[65536];
    while (length > 0) {
        size_t wanted = length < sizeof piece ? (size_t)length : sizeof piece;
        ssize_t count = recv(fd, piece, wanted, MSG_DONTWAIT);
        if (count > 0) {
            buf_write(to, piece, (size_t)count);
            length -= (uint64_t)count;
            continue;
        }
        if (count == 0 || (errno != EAGAIN && errno != EINTR))
            return TRANSFER_ENDED;
        Transfer transfer = wait_for(fd, POLLIN, deadline, outcome);
        if (transfer != TRANSFER_DONE)
            return transfer;
    }
    return TRANSFER_DONE;
}

static Transfer receive_reply(int fd, Outcome *outcome, int64_t deadline)
{
    Buf raw = {0};
    ReplyHeader header = {0};
    Transfer transfer = receive_all(fd, &raw, sizeof header, deadline, outcome);
    if (transfer == TRANSFER_DONE)
        memcpy(&header, raw.data, sizeof header);
    buf_free(&raw);
    if (transfer != TRANSFER_DONE)
        return transfer;
    if (header.magic != REPLY_MAGIC || header.failure > ASSEMBLY_UNAVAILABLE)
        return TRANSFER_GARBAGE;
    Buf *parts[PART_COUNT];
    outcome_parts(outcome, parts);
    for (size_t i = 0; i < PART_COUNT; i++)
        if (header.lengths[i] > PART_LIMIT)
            return TRANSFER_GARBAGE;
    for (size_t i = 0; i < PART_COUNT && transfer == TRANSFER_DONE; i++)
        transfer = receive_all(fd, parts[i], header.lengths[i], deadline, outcome);
    outcome->failure = (AssemblyFailure)header.failure;
    return transfer;
}

static void read_printed(const Worker *worker, Buf *log)
{
    char *text = malloc(PRINTED_LIMIT);
    ssize_t count = text && worker->printed >= 0 ? pread(worker->printed, text, PRINTED_LIMIT, 0) : 0;
    if (count > 0) {
        if (log->length && log->data[log->length - 1] != '\n')
            buf_putc(log, '\n');
        buf_write(log, text, (size_t)count);
    }
    free(text);
}

/* Ends the child if it is still running, and returns its status. *peak, unless NULL, is as in child_wait. */
static int reap(Worker *worker, uint64_t *peak)
{
    int status = 0;
    if (worker->pid > 0) {
        kill(worker->pid, SIGKILL);
        if (!child_wait(worker->pid, &status, peak))
            status = 0;
        close(worker->socket);
    }
    worker->pid = 0;
    worker->socket = -1;
    return status;
}

/* Sets the outcome after a transfer that failed. The child has ended afterwards. */
static void explain(Worker *worker, Transfer transfer, const char *doing, unsigned timeout_ms, Outcome *outcome)
{
    buf_clear(&outcome->log);
    buf_clear(&outcome->message);
    buf_clear(&outcome->cubin);
    if (transfer == TRANSFER_LATE) {
        reap(worker, NULL);
        outcome_fail(outcome, ASSEMBLY_TIMED_OUT, "did not end within %u ms while %s", timeout_ms, doing);
    } else if (transfer == TRANSFER_GARBAGE) {
        reap(worker, NULL);
        outcome_fail(outcome, ASSEMBLY_CRASHED, "broke its worker process while %s", doing);
    } else {
        /* The child's end of the socket is closed, so it is ending by itself. Wait for it: its status says why. */
        siginfo_t info;
        for (int64_t deadline = clock_ms() + 1000; clock_ms() < deadline;) {
            info.si_pid = 0;
            if (waitid(P_PID, (id_t)worker->pid, &info, WEXITED | WNOHANG | WNOWAIT) != 0 || info.si_pid == worker->pid)
                break;
            poll(NULL, 0, 1);
        }
        Buf ending = {0};
        ending_describe(&ending, reap(worker, &outcome->peak));
        outcome_fail(outcome, ASSEMBLY_CRASHED, "its process was ended %s while %s", buf_text(&ending), doing);
        buf_free(&ending);
    }
    read_printed(worker, &outcome->log);
}

/* Starts the child and receives its first reply. False, with the reason in *outcome, if there is no child
 * afterwards. */
static bool start(Worker *worker, Outcome *outcome)
{
    int ends[2];
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) {
        outcome_fail(outcome, ASSEMBLY_UNAVAILABLE, "cannot create a socket for its worker process: %s",
                     strerror(errno));
        return false;
    }
    uint64_t memory;
    memory_limit(&memory);
    pid_t parent = getpid(), pid = fork();
    if (pid == 0)
        child_main(worker, ends[1], memory, parent);
    int problem = errno;
    close(ends[1]);
    if (pid < 0) {
        close(ends[0]);
        outcome_fail(outcome, ASSEMBLY_UNAVAILABLE, "cannot create its worker process: %s", strerror(problem));
        return false;
    }
    worker->pid = pid;
    worker->socket = ends[0];
    Transfer transfer = receive_reply(worker->socket, outcome, clock_ms() + LOAD_TIMEOUT_MS);
    if (transfer != TRANSFER_DONE)
        explain(worker, transfer, "it was being loaded", LOAD_TIMEOUT_MS, outcome);
    else if (outcome->failure != ASSEMBLY_DONE)
        reap(worker, NULL);
    return worker->pid > 0;
}

Worker *worker_start(Arena *arena, const Engine *engine, const char *path, Arch arch, const char **version,
                     const char **message)
{
    Worker *worker = ARENA_NEW(arena, Worker);
    *worker = (Worker){.engine = engine, .path = path, .arch = arch, .socket = -1};
    worker->printed = memfd_create("ptxopt-assembler", MFD_CLOEXEC);
    if (worker->printed >= 0)
        fcntl(worker->printed, F_SETFL, O_APPEND); /* it is truncated between requests while the child has it open */
    Outcome outcome = {0};
    bool started = start(worker, &outcome);
    *version = started ? arena_strndup(arena, buf_text(&outcome.log), outcome.log.length) : NULL;
    *message = started ? NULL : arena_strndup(arena, buf_text(&outcome.message), outcome.message.length);
    outcome_free(&outcome);
    if (!started)
        worker_stop(worker);
    return started ? worker : NULL;
}

/* True if the child ended between requests. */
static bool is_gone(const Worker *worker)
{
    siginfo_t info = {0};
    return worker->pid <= 0 || waitid(P_PID, (id_t)worker->pid, &info, WEXITED | WNOHANG | WNOWAIT) != 0 ||
           info.si_pid == worker->pid;
}

void worker_run(Worker *worker, const Job *job, unsigned timeout_ms, Outcome *outcome)
{
    if (worker->printed >= 0 && ftruncate(worker->printed, 0) != 0) {
        close(worker->printed);
        worker->printed = -1;
    }
    if (is_gone(worker)) {
        reap(worker, NULL);
        if (!start(worker, outcome))
            return;
        buf_clear(&outcome->log);
    }
    int64_t deadline = clock_ms() + timeout_ms;
    RequestHeader header = {0};
    header.size = job->size;
    header.arch = job->arch;
    header.max_registers = job->max_registers;
    header.opt_level = job->opt_level;
    header.syntax_only = job->syntax_only;
    header.line_info = job->line_info;
    Buf options = {0};
    for (size_t i = 0; i < options_count(job->options); i++)
        buf_write(&options, job->options[i], strlen(job->options[i]) + 1);
    header.options_size = options.length;
    Transfer transfer = send_all(worker->socket, &header, sizeof header, deadline, outcome);
    if (transfer == TRANSFER_DONE)
        transfer = send_all(worker->socket, job->ptx, job->size, deadline, outcome);
    if (transfer == TRANSFER_DONE)
        transfer = send_all(worker->socket, options.data, options.length, deadline, outcome);
    buf_free(&options);
    if (transfer == TRANSFER_DONE)
        transfer = receive_reply(worker->socket, outcome, deadline);
    if (transfer != TRANSFER_DONE)
        explain(worker, transfer, "assembling", timeout_ms, outcome);
    else if (outcome->failure != ASSEMBLY_DONE)
        read_printed(worker, &outcome->log);
}

void worker_stop(Worker *worker)
{
    reap(worker, NULL);
    if (worker->printed >= 0)
        close(worker->printed);
    worker->printed = -1;
}
