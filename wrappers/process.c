/* Child processes, the folder of temporary files, and messages. */
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/cli.h"
#include "wrappers/wrappers.h"

/* The signal handler gets no context, hence these variables; everything else is passed. */
static const char *volatile temporary_folder;
static volatile pid_t running_child;
static volatile sig_atomic_t ending_signal;

static const char *program_name = "ptxopt";
/* The handling of SIGPIPE with which this program was started, and with which the programs that it runs must be
 * started. */
static struct sigaction pipe_action;

void wrapper_begin(const char *name)
{
    program_name = name;
    sigaction(SIGPIPE, NULL, &pipe_action);
    program_prepare();
}

void say(const char *label, const char *format, ...)
{
    Buf text = {0};
    va_list arguments;
    va_start(arguments, format);
    buf_printf(&text, "%s: %s: ", program_name, label);
    buf_vprintf(&text, format, arguments);
    va_end(arguments);
    buf_putc(&text, '\n');
    fputs(buf_text(&text), stderr);
    buf_free(&text);
}

static int remove_one(const char *path, const struct stat *status, int type, struct FTW *place)
{
    (void)status, (void)type, (void)place;
    remove(path);
    return 0;
}

void folder_remove(void)
{
    const char *folder = temporary_folder;
    temporary_folder = NULL;
    if (folder)
        nftw(folder, remove_one, 16, FTW_DEPTH | FTW_PHYS);
    int number = ending_signal;
    if (number) {
        /* Ends this program as the signal would have. */
        signal(number, SIG_DFL);
        raise(number);
    }
}

/* The child gets the signal too, ends, and lets the parent go on to clean up. */
static void on_signal(int number)
{
    ending_signal = number;
    if (running_child > 0)
        kill(running_child, number);
}

static void catch_signals(void)
{
    static const int ending[] = {SIGHUP, SIGINT, SIGTERM};
    struct sigaction action = {.sa_handler = on_signal};
    for (size_t i = 0; i < COUNT_OF(ending); i++) {
        struct sigaction before;
        /* a signal that the caller ignores stays ignored */
        if (sigaction(ending[i], NULL, &before) == 0 && before.sa_handler != SIG_IGN)
            sigaction(ending[i], &action, NULL);
    }
}

static void release_signals(void)
{
    static const int ending[] = {SIGHUP, SIGINT, SIGTERM};
    for (size_t i = 0; i < COUNT_OF(ending); i++) {
        struct sigaction before;
        if (sigaction(ending[i], NULL, &before) == 0 && before.sa_handler == on_signal)
            signal(ending[i], SIG_DFL);
    }
}

const char *folder_make(Arena *arena, const char **error)
{
    const char *wanted = getenv("TMPDIR"), *parent = wanted && *wanted ? wanted : "/tmp";
    char *folder = arena_printf(arena, "%s/ptxopt-XXXXXX", parent);
    if (!mkdtemp(folder)) {
        *error = arena_printf(arena, "cannot create a temporary folder in '%s': %s", parent, strerror(errno));
        return NULL;
    }
    temporary_folder = folder;
    catch_signals();
    return folder;
}

int replace_with(Arena *arena, Words *command)
{
    char **argv = words_argv(arena, command);
    sigaction(SIGPIPE, &pipe_action, NULL);
    execv(argv[0], argv);
    say("error", "cannot run '%s': %s", argv[0], strerror(errno));
    return 127;
}

static int child_wait(pid_t child)
{
    int status;
    running_child = child;
    while (waitpid(child, &status, 0) < 0)
        if (errno != EINTR)
            return 127;
    running_child = 0;
    if (ending_signal)
        folder_remove();
    return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

static void read_back(int file, Buf *text)
{
    char piece[65536];
    ssize_t count;
    lseek(file, 0, SEEK_SET);
    while ((count = read(file, piece, sizeof piece)) > 0)
        buf_write(text, piece, (size_t)count);
    close(file);
}

typedef struct Child {
    int (*function)(void *context);
    void *context;
} Child;

/* The outputs go to memory, so that a log needs neither a thread nor a place for files. */
static int run_child(const Child *child, Log *log)
{
    int files[2] = {-1, -1};
    for (int i = 0; log && i < 2; i++)
        files[i] = memfd_create("log", MFD_CLOEXEC);
    fflush(NULL);
    pid_t pid = fork();
    if (pid == 0) {
        release_signals();
        temporary_folder = NULL;
        for (int i = 0; log && i < 2; i++)
            if (files[i] < 0 || dup2(files[i], STDOUT_FILENO + i) < 0)
                _exit(127);
        int status = child->function(child->context);
        fflush(NULL);
        _exit(status);
    }
    if (pid < 0)
        say("error", "cannot start a process: %s", strerror(errno));
    int status = pid < 0 ? 127 : child_wait(pid);
    if (log) {
        read_back(files[0], &log->output);
        read_back(files[1], &log->errors);
    }
    return status;
}

int run_function(int (*function)(void *context), void *context, Log *log)
{
    return run_child(&(Child){function, context}, log);
}

static int execute(void *context)
{
    char **argv = context;
    sigaction(SIGPIPE, &pipe_action, NULL);
    execv(argv[0], argv);
    say("error", "cannot run '%s': %s", argv[0], strerror(errno));
    return 127;
}

int run_command(Arena *arena, Words *command, Log *log)
{
    return run_child(&(Child){execute, words_argv(arena, command)}, log);
}

void log_print(Log *log)
{
    if (log->output.length)
        fwrite(log->output.data, 1, log->output.length, stdout);
    fflush(stdout);
    if (log->errors.length)
        fwrite(log->errors.data, 1, log->errors.length, stderr);
    log_free(log);
}

void log_free(Log *log)
{
    buf_free(&log->output);
    buf_free(&log->errors);
    *log = (Log){0};
}
