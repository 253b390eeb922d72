/* Child processes: each in its own process group, watched, stopped at a deadline, and never left running. */
#include "assembler/internal.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define OUTPUT_LIMIT ((size_t)16 << 20)
#define DEFAULT_MEMORY (UINT64_C(8) << 30)

int64_t clock_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

int poll_timeout(int64_t deadline, int most)
{
    int64_t rest = deadline - clock_ms();
    return rest <= 0 ? 0 : rest < most ? (int)rest : most;
}

void child_prepare(pid_t parent)
{
    guard_forget();
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent)
        _exit(127); /* the parent died before the line above */
    struct rlimit none = {0, 0};
    setrlimit(RLIMIT_CORE, &none);
    /* A handler that the program or a sanitizer installed must not turn a crash into something else. */
    for (int number = 1; number < NSIG; number++) {
        struct sigaction action;
        if (sigaction(number, NULL, &action) == 0 && (action.sa_handler != SIG_IGN || number == SIGCHLD))
            signal(number, SIG_DFL);
    }
}

/* RLIMIT_DATA counts private writable memory, RLIMIT_AS also memory that a library merely reserves. */
void child_limit_memory(uint64_t used, uint64_t limit)
{
    struct rlimit most;
    if (!limit || getrlimit(RLIMIT_DATA, &most) != 0)
        return;
    uint64_t wanted = limit > UINT64_MAX - used ? UINT64_MAX : used + limit;
    if (wanted >= most.rlim_max)
        return;
    most.rlim_cur = (rlim_t)wanted;
    setrlimit(RLIMIT_DATA, &most);
}

uint64_t memory_used(void)
{
    FILE *file = fopen("/proc/self/status", "re");
    char line[256];
    unsigned long long kibibytes = 0;
    while (file && fgets(line, sizeof line, file))
        if (sscanf(line, "VmData: %llu kB", &kibibytes) == 1)
            break;
    if (file)
        fclose(file);
    return (uint64_t)kibibytes << 10;
}

bool memory_limit(uint64_t *limit)
{
    const char *given = getenv("PTXOPT_ASSEMBLER_MEMORY");
    long pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGESIZE);
    uint64_t half = pages > 0 && page > 0 ? (uint64_t)pages * (uint64_t)page / 2 : DEFAULT_MEMORY;
    *limit = half < DEFAULT_MEMORY ? half : DEFAULT_MEMORY;
    if (!given || !*given)
        return true;
    char *end;
    errno = 0;
    unsigned long long mebibytes = strtoull(given, &end, 10);
    if (*end || errno || given[0] < '0' || given[0] > '9' || mebibytes > UINT64_MAX >> 20)
        return false;
    *limit = (uint64_t)mebibytes << 20;
    return true;
}

bool child_wait(pid_t pid, int *status, uint64_t *peak)
{
    struct rusage usage = {0};
    pid_t result;
    do
        result = wait4(pid, status, 0, &usage);
    while (result < 0 && errno == EINTR);
    if (peak)
        *peak = (uint64_t)usage.ru_maxrss << 10;
    return result == pid;
}

void ending_describe(Buf *text, int status)
{
    if (WIFSIGNALED(status))
        buf_printf(text, "by signal %d (%s)", WTERMSIG(status), strsignal(WTERMSIG(status)));
    else
        buf_printf(text, "with exit status %d", WEXITSTATUS(status));
}

void signals_hold(SignalHold *hold)
{
    static const int ending[] = {SIGHUP, SIGINT, SIGQUIT, SIGTERM};
    sigset_t held, watched;
    sigemptyset(&held);
    for (size_t i = 0; i < COUNT_OF(ending); i++)
        sigaddset(&held, ending[i]);
    sigprocmask(SIG_BLOCK, &held, &hold->before);
    /* A signal that the caller had already blocked would not end this process, so it is not a reason to stop early. */
    sigemptyset(&watched);
    for (size_t i = 0; i < COUNT_OF(ending); i++)
        if (!sigismember(&hold->before, ending[i]))
            sigaddset(&watched, ending[i]);
    hold->fd = signalfd(-1, &watched, SFD_CLOEXEC | SFD_NONBLOCK);
}

void signals_release(SignalHold *hold)
{
    if (hold->fd >= 0)
        close(hold->fd);
    /* A signal that arrived in the meantime is still pending: it is delivered here. */
    sigprocmask(SIG_SETMASK, &hold->before, NULL);
}

/* The data with which a child is started. They are made before the fork: other threads may hold locks at that moment,
 * such as those of the allocator and of the environment, so the child calls nothing that needs a lock before execve
 * (POSIX, fork). */
typedef struct ChildStart {
    const char *const *arguments;
    const char *directory; /* its working directory, and TMPDIR; NULL: the caller's */
    char *folder;          /* "TMPDIR=..." */
    const char **environment;
    uint64_t memory;
    pid_t parent;
} ChildStart;

static bool is_setting_of(const char *setting, const char *name)
{
    size_t length = strlen(name);
    return strncmp(setting, name, length) == 0 && setting[length] == '=';
}

/* False, with errno set, if memory runs out. */
static bool child_start_make(ChildStart *start, const char *const *arguments, const char *directory)
{
    size_t count = 0, kept = 0;
    while (environ[count])
        count++;
    *start = (ChildStart){.arguments = arguments, .directory = directory, .parent = getpid()};
    start->environment = malloc((count + 3) * sizeof *start->environment);
    if (!start->environment || (directory && asprintf(&start->folder, "TMPDIR=%s", directory) < 0)) {
        free(start->environment);
        errno = ENOMEM;
        return false;
    }
    for (size_t i = 0; i < count; i++)
        if (!is_setting_of(environ[i], "PTXOPT_NESTED") && !(directory && is_setting_of(environ[i], "TMPDIR")))
            start->environment[kept++] = environ[i];
    /* A ptxas that is ptxopt-ptxas then runs the real one. */
    start->environment[kept++] = "PTXOPT_NESTED=1";
    if (directory)
        start->environment[kept++] = start->folder;
    start->environment[kept] = NULL;
    memory_limit(&start->memory);
    return true;
}

static void child_start_free(ChildStart *start)
{
    free(start->environment);
    free(start->folder);
}

_Noreturn static void child_run(const ChildStart *start, int output, int failure, const SignalHold *hold)
{
    child_prepare(start->parent);
    setpgid(0, 0);
    sigprocmask(SIG_SETMASK, &hold->before, NULL);
    int nothing = open("/dev/null", O_RDONLY);
    if (nothing >= 0 && dup2(nothing, 0) >= 0 && dup2(output, 1) >= 0 && dup2(output, 2) >= 0 &&
        (!start->directory || chdir(start->directory) == 0)) {
        /* This comes last, because this process has the parent's data until it runs the program. */
        child_limit_memory(0, start->memory);
        execve(start->arguments[0], (char *const *)start->arguments, (char *const *)start->environment);
    }
    int problem = errno;
    if (write(failure, &problem, sizeof problem) < 0)
        _exit(126);
    _exit(127);
}

/* Two pipes: one for the child's output, one for the error code if it could not be started. */
typedef struct Pipes {
    int output[2], failure[2];
} Pipes;

static void close_all(const int *fds, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (fds[i] >= 0)
            close(fds[i]);
}

static bool pipes_open(Pipes *pipes)
{
    *pipes = (Pipes){{-1, -1}, {-1, -1}};
    if (pipe2(pipes->output, O_CLOEXEC) == 0 && pipe2(pipes->failure, O_CLOEXEC) == 0)
        return true;
    int problem = errno;
    close_all(pipes->output, 2);
    close_all(pipes->failure, 2);
    errno = problem;
    return false;
}

/* Reads what is available. False at the end of the stream. */
static bool read_output(int fd, Buf *output)
{
    char piece[65536];
    for (;;) {
        ssize_t count = read(fd, piece, sizeof piece);
        if (count > 0) {
            size_t room = output->length < OUTPUT_LIMIT ? OUTPUT_LIMIT - output->length : 0;
            /* Output beyond the limit is read too, so that the child does not block. */
            buf_write(output, piece, (size_t)count < room ? (size_t)count : room);
            if ((size_t)count < sizeof piece)
                return true;
        } else if (count == 0 || (errno != EINTR && errno != EAGAIN)) {
            return false;
        } else if (errno == EAGAIN) {
            return true;
        }
    }
}

static bool has_ended(pid_t pid)
{
    siginfo_t info = {0};
    return waitid(P_PID, (id_t)pid, &info, WEXITED | WNOHANG | WNOWAIT) != 0 || info.si_pid == pid;
}

/* Waits until the child has ended or must be stopped. It may close its output and continue, or leave a process running
 * that keeps the output open, so both the child and its output are polled. */
static ProcessEnd watch(pid_t pid, int fd, int64_t deadline, int signal_fd, Outcome *outcome)
{
    bool open = true;
    for (;;) {
        struct pollfd watched[] = {{.fd = open ? fd : -1, .events = POLLIN}, {.fd = signal_fd, .events = POLLIN}};
        poll(watched, COUNT_OF(watched), poll_timeout(deadline, open ? 20 : 1));
        if (open && watched[0].revents)
            open = read_output(fd, &outcome->log);
        if (has_ended(pid)) {
            if (open)
                read_output(fd, &outcome->log);
            return PROCESS_ENDED;
        }
        if (watched[1].revents)
            return PROCESS_INTERRUPTED;
        if (clock_ms() >= deadline)
            return PROCESS_TIMED_OUT;
        outcome_wait(outcome);
    }
}

ProcessEnd process_run(const char *const *arguments, const char *directory, unsigned timeout_ms, const SignalHold *hold,
                       Outcome *outcome, int *status)
{
    int64_t deadline = clock_ms() + timeout_ms;
    ChildStart start;
    Pipes pipes;
    if (!child_start_make(&start, arguments, directory)) {
        *status = errno;
        return PROCESS_NOT_STARTED;
    }
    if (!pipes_open(&pipes)) {
        *status = errno;
        child_start_free(&start);
        return PROCESS_NOT_STARTED;
    }
    pid_t pid = fork();
    if (pid == 0)
        child_run(&start, pipes.output[1], pipes.failure[1], hold);
    int problem = pid < 0 ? errno : 0;
    child_start_free(&start);
    close(pipes.output[1]);
    close(pipes.failure[1]);
    ProcessEnd end = PROCESS_NOT_STARTED;
    if (pid > 0) {
        setpgid(pid, pid);
        ssize_t count;
        do
            count = read(pipes.failure[0], &problem, sizeof problem);
        while (count < 0 && errno == EINTR);
        if (count != (ssize_t)sizeof problem) {
            fcntl(pipes.output[0], F_SETFL, O_NONBLOCK);
            end = watch(pid, pipes.output[0], deadline, hold->fd, outcome);
        }
        /* The child has not been waited for, so no other process can have its number yet. */
        kill(-pid, SIGKILL);
        kill(pid, SIGKILL);
        if (!child_wait(pid, status, &outcome->peak))
            *status = 0;
    }
    if (end == PROCESS_NOT_STARTED)
        *status = problem;
    close(pipes.output[0]);
    close(pipes.failure[0]);
    return end;
}
