/* "ptxopt emulate": a program of the CUDA runtime or driver on the emulated GPU. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/emulated/options.h"
#include "engine/engine.h"

extern char **environ;

typedef struct EmulatedProgram {
    Arena *arena;
    const EmulateOptions *options;
    const char *log;
    off_t log_start; /* bytes that were there before */
    /* The contents of the log, in short. */
    bool opened;  /* the driver */
    bool foreign; /* with NVIDIA's runtime */
    size_t launches, faults, unsupported; /* unsupported: not executed, because the emulator cannot */
} EmulatedProgram;

/* The environment of the program: this one's, with the libraries first. */
static bool prepare_environment(EmulatedProgram *program)
{
    /* Beside the program where it was built (a sanitizer's is in build/asan), or where it was installed. */
    static const char *const places[] = {"build/emulated", "../emulated", "../lib/ptxopt/emulated"};
    const char *libraries = find_beside_program(program->arena, places, COUNT_OF(places));
    const char *others = getenv("LD_LIBRARY_PATH");
    if (!libraries) {
        fputs("ptxopt: error: the emulated driver is neither installed nor built with this program\n", stderr);
        return false;
    }
    if (others && *others)
        libraries = arena_printf(program->arena, "%s:%s", libraries, others);
    setenv("LD_LIBRARY_PATH", libraries, true);
    setenv("PTXOPT_EMULATED_CHECK", program->options->checks, true);
    setenv("PTXOPT_EMULATED_LOG", program->log, true);
    return true;
}

/* Makes the log, which ends up in a temporary file unless one was requested. */
static bool make_log(EmulatedProgram *program)
{
    const char *folder = getenv("TMPDIR"), *wanted = program->options->log;
    char *path = arena_printf(program->arena, "%s/ptxopt-log-XXXXXX", folder && *folder ? folder : "/tmp");
    const int file = wanted ? open(wanted, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666) : mkostemp(path, O_CLOEXEC);
    const off_t end = file < 0 ? -1 : lseek(file, 0, SEEK_END);
    program->log = wanted ? wanted : path;
    if (file < 0)
        fprintf(stderr, "ptxopt: error: cannot write %s: %s\n", program->log, strerror(errno));
    else
        close(file);
    program->log_start = end > 0 ? end : 0;
    return file >= 0;
}

/* Starts the program and waits for it: its exit status, as a shell has it. Interrupts are for the program. */
static int run_program(EmulatedProgram *program)
{
    char *const *words = program->options->program;
    const struct sigaction ignore = {.sa_handler = SIG_IGN};
    struct sigaction interrupt, quit;
    posix_spawnattr_t attributes;
    sigset_t usual;
    pid_t child;
    int status = 0;
    sigemptyset(&usual);
    sigaddset(&usual, SIGPIPE);
    sigaction(SIGINT, &ignore, &interrupt);
    sigaction(SIGQUIT, &ignore, &quit);
    if (interrupt.sa_handler != SIG_IGN)
        sigaddset(&usual, SIGINT);
    if (quit.sa_handler != SIG_IGN)
        sigaddset(&usual, SIGQUIT);
    posix_spawnattr_init(&attributes);
    posix_spawnattr_setsigdefault(&attributes, &usual);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGDEF);
    fflush(NULL);
    const int error = posix_spawnp(&child, words[0], NULL, &attributes, words, environ);
    while (!error && waitpid(child, &status, 0) < 0 && errno == EINTR)
        ;
    posix_spawnattr_destroy(&attributes);
    sigaction(SIGINT, &interrupt, NULL);
    sigaction(SIGQUIT, &quit, NULL);
    if (error) {
        fprintf(stderr, "ptxopt: error: cannot run %s: %s\n", words[0], strerror(error));
        return -1;
    }
    if (WIFSIGNALED(status) && !program->options->quiet)
        fprintf(stderr, "ptxopt: %s was ended by signal %d (%s)\n", words[0], WTERMSIG(status),
                strsignal(WTERMSIG(status)));
    return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

static void read_log(EmulatedProgram *program)
{
    FILE *file = fopen(program->log, "re");
    char *line = NULL;
    size_t room = 0;
    if (file)
        fseeko(file, program->log_start, SEEK_SET);
    while (file && getline(&line, &room, file) > 0) {
        program->opened |= strncmp(line, "device\n", 7) == 0;
        program->foreign |= strncmp(line, "foreign\n", 8) == 0;
        program->launches += strncmp(line, "launch ", 7) == 0;
        program->faults += strncmp(line, "fault ", 6) == 0;
        program->unsupported += strncmp(line, "unsupported ", 12) == 0;
    }
    free(line);
    if (file)
        fclose(file);
}

static void summarize(const EmulatedProgram *program)
{
    const size_t launches = program->launches;
    if (!program->opened) {
        fprintf(stderr, "ptxopt: warning: %s has not used a GPU\n", program->options->program[0]);
        return;
    }
    fprintf(stderr, "ptxopt: %zu launch%s", launches, launches == 1 ? "" : "es");
    if (program->unsupported)
        fprintf(stderr, ", %zu that cannot be emulated", program->unsupported);
    if (program->faults)
        fprintf(stderr, ", %zu with a fault\n", program->faults);
    else
        fputs(", no fault\n", stderr);
}

/* The exit status, given the program's. */
static int judge(const EmulatedProgram *program, int status)
{
    if (program->foreign)
        fprintf(stderr, "ptxopt: error: %s has NVIDIA's own runtime, which cannot be emulated; link it with "
                        "-cudart shared\n", program->options->program[0]);
    else if (!program->options->quiet)
        summarize(program);
    if (program->faults)
        return (int)program->options->fault_status;
    return program->foreign || program->unsupported ? EXIT_UNVERIFIED : status;
}

static int emulate_program(Arena *arena, const EmulateOptions *options)
{
    EmulatedProgram program = {.arena = arena, .options = options};
    if (!make_log(&program))
        return EXIT_INPUT;
    int status = prepare_environment(&program) ? run_program(&program) : -1;
    if (status >= 0) {
        read_log(&program);
        status = judge(&program, status);
    }
    if (!options->log)
        unlink(program.log);
    return status < 0 ? EXIT_INPUT : status;
}

int main_emulate(Arena *arena, int argc, char **argv)
{
    EmulateOptions options;
    const char *error;
    const OptionsOutcome outcome = emulate_options_parse(arena, argc, argv, &options, &error);
    return outcome == OPTIONS_RUN ? emulate_program(arena, &options)
                                  : command_finish(outcome, "emulate", emulate_options_help(arena), error);
}
