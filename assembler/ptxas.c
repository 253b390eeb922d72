/* ptxas, the program. Each run has its own folder under $TMPDIR with everything that ptxas reads and writes; it is
 * always removed afterwards. */
#include "assembler/internal.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define VERSION_TIMEOUT_MS 20000
#define CUBIN_LIMIT ((off_t)1 << 30)
#define INPUT_NAME "input.ptx"
#define OUTPUT_NAME "output.cubin"

static void describe_end(Outcome *outcome, ProcessEnd end, int status, unsigned timeout_ms)
{
    if (end == PROCESS_NOT_STARTED) {
        outcome_fail(outcome, ASSEMBLY_UNAVAILABLE, "cannot be run: %s", strerror(status));
    } else if (end == PROCESS_TIMED_OUT) {
        outcome_fail(outcome, ASSEMBLY_TIMED_OUT, "did not end within %u ms and was stopped", timeout_ms);
    } else if (end == PROCESS_INTERRUPTED) {
        outcome_fail(outcome, ASSEMBLY_UNAVAILABLE, "stopped because this program received a signal to end");
    } else if (status != 0) {
        /* A shell script reports a signal of the program that it ran as 128 plus the signal. */
        bool signaled = WIFSIGNALED(status) || (WEXITSTATUS(status) > 128 && WEXITSTATUS(status) < 128 + SIGRTMIN);
        Buf ending = {0};
        ending_describe(&ending, status);
        outcome_fail(outcome, signaled ? ASSEMBLY_CRASHED : ASSEMBLY_REJECTED, "ended %s", buf_text(&ending));
        buf_free(&ending);
    }
}

static const char *read_version(Arena *arena, const char *path, const char **message)
{
    const char *arguments[] = {path, "--version", NULL};
    Outcome outcome = {0};
    const char *version = NULL;
    SignalHold hold;
    int status;
    signals_hold(&hold);
    ProcessEnd end = process_run(arguments, NULL, VERSION_TIMEOUT_MS, &hold, &outcome, &status);
    signals_release(&hold);
    describe_end(&outcome, end, status, VERSION_TIMEOUT_MS);
    *message = NULL;
    if (outcome.failure != ASSEMBLY_DONE) {
        *message = arena_printf(arena, "run with --version, it %s", buf_text(&outcome.message));
        if (outcome.failure == ASSEMBLY_UNAVAILABLE)
            *message = arena_strndup(arena, buf_text(&outcome.message), outcome.message.length);
    } else if (!strstr(buf_text(&outcome.log), "ptxas")) {
        *message = "its --version output does not name ptxas";
    } else {
        /* "Cuda compilation tools, release 13.0, V13.0.88" */
        const char *at = strstr(outcome.log.data, ", V");
        size_t length = at ? strspn(at + 3, "0123456789.") : 0;
        version = length ? arena_strndup(arena, at + 3, length) : "unknown";
    }
    outcome_free(&outcome);
    return version;
}

static int remove_one(const char *path, const struct stat *status, int type, struct FTW *place)
{
    (void)status, (void)type, (void)place;
    remove(path);
    return 0;
}

/* The new folder's absolute name, to be freed; NULL, with errno set, if it cannot be created. */
static char *make_folder(void)
{
    const char *parent = getenv("TMPDIR");
    char absolute[PATH_MAX];
    if (!realpath(parent && *parent ? parent : "/tmp", absolute))
        return NULL;
    Buf name = {0};
    buf_printf(&name, "%s/ptxopt-XXXXXX", absolute);
    if (!mkdtemp(name.data))
        buf_free(&name);
    return name.data;
}

static bool write_all(int folder, const char *name, const char *bytes, size_t size)
{
    int fd = openat(folder, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (fd < 0)
        return false;
    size_t done = 0;
    while (done < size) {
        ssize_t count = write(fd, bytes + done, size - done);
        if (count < 0 && errno != EINTR)
            break;
        done += count > 0 ? (size_t)count : 0;
    }
    int problem = errno;
    bool closed = close(fd) == 0;
    if (done < size)
        errno = problem;
    return done == size && closed;
}

static void read_cubin(int folder, Outcome *outcome)
{
    /* The program may have left anything: follow no link, and do not block on a pipe. */
    int fd = openat(folder, OUTPUT_NAME, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    struct stat status;
    if (fd < 0 || fstat(fd, &status) != 0 || !S_ISREG(status.st_mode) || status.st_size == 0 ||
        status.st_size > CUBIN_LIMIT) {
        outcome_fail(outcome, ASSEMBLY_UNREADABLE, "succeeded, but left no cubin");
    } else {
        char piece[65536];
        ssize_t count;
        while ((count = read(fd, piece, sizeof piece)) != 0) {
            if (count > 0) {
                buf_write(&outcome->cubin, piece, (size_t)count);
            } else if (errno != EINTR) {
                outcome_fail(outcome, ASSEMBLY_UNREADABLE, "cannot read its cubin: %s", strerror(errno));
                break;
            }
        }
    }
    if (fd >= 0)
        close(fd);
}

static bool names_error(const char *log)
{
    Arena *arena = arena_new();
    unsigned line;
    bool named = log_first_error(arena, log, &line) != NULL;
    arena_free(arena);
    return named;
}

/* The product of a run. */
typedef enum Product { PRODUCT_PROGRAM, PRODUCT_RELOCATABLE, PRODUCT_NOTHING } Product;

/* ptxas 12.4 does not know it, 12.9 does. */
static const char many_cores[] = "-split-compile=0";

/* One run on the input in the folder. For a virtual architecture, ptxas parses and checks, but makes nothing. */
static void run_once(const char *path, const char *folder, const Job *job, Product product, unsigned timeout_ms,
                     const SignalHold *hold, Outcome *outcome)
{
    Buf arch = {0}, level = {0}, cap = {0};
    unsigned opt_level = job->syntax_only ? 0 : job->opt_level;
    ArchNames names = arch_names(job->arch);
    buf_printf(&arch, "-arch=%s", product == PRODUCT_NOTHING ? names.virtual : names.real);
    const size_t extra = options_count(job->options);
    Arena *arena = arena_new();
    const char **arguments = ARENA_ARRAY(arena, const char *, extra + 14);
    size_t count = 0;
    arguments[count++] = path;
    arguments[count++] = "-v";
    arguments[count++] = arch.data;
    arguments[count++] = INPUT_NAME;
    for (size_t i = 0; i < extra; i++)
        arguments[count++] = job->options[i];
    /* The default is 3; if the PTX has debugging information, the only explicit level that ptxas accepts is 0. */
    if (opt_level < 3) {
        buf_printf(&level, "-O%u", opt_level);
        arguments[count++] = level.data;
    }
    if (job->line_info)
        arguments[count++] = "-lineinfo";
    if (job->many_cores)
        arguments[count++] = many_cores;
    if (product == PRODUCT_RELOCATABLE)
        arguments[count++] = "-c";
    if (product != PRODUCT_NOTHING) {
        arguments[count++] = "-o";
        arguments[count++] = OUTPUT_NAME;
    }
    if (job->max_registers > 0) {
        buf_printf(&cap, "-maxrregcount=%u", job->max_registers);
        arguments[count++] = cap.data;
    }
    int status;
    ProcessEnd end = process_run(arguments, folder, timeout_ms, hold, outcome, &status);
    describe_end(outcome, end, status, timeout_ms);
    if (outcome->failure == ASSEMBLY_REJECTED && !names_error(buf_text(&outcome->log)))
        /* An exit status alone does not mean that the PTX is wrong. */
        outcome_fail(outcome, ASSEMBLY_UNREADABLE, "ended with exit status %d without naming an error",
                     WEXITSTATUS(status));
    buf_free(&arch);
    buf_free(&level);
    buf_free(&cap);
    arena_free(arena);
}

static bool is_rejected_for(const Outcome *outcome, const char *reason)
{
    return outcome->failure == ASSEMBLY_REJECTED && strstr(buf_text(&outcome->log), reason);
}

static void run_again(const char *path, const char *folder, const Job *job, Product product, unsigned timeout_ms,
                      const SignalHold *hold, Outcome *outcome)
{
    outcome_free(outcome);
    *outcome = (Outcome){.waiting = outcome->waiting, .waiting_context = outcome->waiting_context};
    run_once(path, folder, job, product, timeout_ms, hold, outcome);
}

static void run_in(const char *path, const char *folder_name, int folder, const Job *requested, unsigned timeout_ms,
                   const SignalHold *hold, Outcome *outcome)
{
    Job known = *requested;
    const Job *job = &known;
    if (!write_all(folder, INPUT_NAME, job->ptx, job->size)) {
        outcome_fail(outcome, ASSEMBLY_UNAVAILABLE, "cannot write its input in %s: %s", folder_name, strerror(errno));
        return;
    }
    Product product = job->syntax_only ? PRODUCT_NOTHING : PRODUCT_PROGRAM;
    run_once(path, folder_name, job, product, timeout_ms, hold, outcome);
    if (job->many_cores && is_rejected_for(outcome, "Unknown option 'split-compile'")) {
        known.many_cores = false;
        run_again(path, folder_name, job, product, timeout_ms, hold, outcome);
    }
    /* ptxas 12.4 lists compute_90a, but does not accept it. */
    if (product == PRODUCT_NOTHING && is_rejected_for(outcome, "Unsupported gpu architecture 'compute_")) {
        product = PRODUCT_PROGRAM;
        run_again(path, folder_name, job, product, timeout_ms, hold, outcome);
    }
    /* Functions of other modules, and .unified functions, which a linker merges with the host's. */
    if (product == PRODUCT_PROGRAM && (is_rejected_for(outcome, "Unresolved extern ") ||
                                       is_rejected_for(outcome, "requires command line option '--compile-only'"))) {
        product = PRODUCT_RELOCATABLE;
        run_again(path, folder_name, job, product, timeout_ms, hold, outcome);
    }
    outcome->relocatable = product == PRODUCT_RELOCATABLE;
    if (outcome->failure == ASSEMBLY_DONE && !job->syntax_only)
        read_cubin(folder, outcome);
}

static void run(const char *path, const Job *job, unsigned timeout_ms, Outcome *outcome)
{
    SignalHold hold;
    signals_hold(&hold);
    SignalHold watched = hold;
    if (job->stop_fd >= 0)
        watched.fd = job->stop_fd;
    char *name = make_folder();
    int folder = name ? open(name, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
    if (folder >= 0)
        run_in(path, name, folder, job, timeout_ms, &watched, outcome);
    else
        outcome_fail(outcome, ASSEMBLY_UNAVAILABLE, "cannot create a temporary folder for its files: %s",
                     strerror(errno));
    if (folder >= 0)
        close(folder);
    if (name)
        nftw(name, remove_one, 16, FTW_DEPTH | FTW_PHYS);
    free(name);
    signals_release(&hold);
}

const Program ptxas_program = {read_version, run};
