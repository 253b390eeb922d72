/* The program as a function: see cli.h. */
#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/cli.h"
#include "cli/commands.h"
#include "cli/completion.h"
#include "cli/cost_command.h"
#include "cli/emulate.h"
#include "cli/setup.h"
#include "cli/transform_file.h"

static void exit_without_memory(void)
{
    static const char message[] = "ptxopt: error: out of memory\n";
    if (write(STDERR_FILENO, message, sizeof message - 1) < 0)
        _exit(EXIT_INPUT);
    _exit(EXIT_INPUT);
}

/* By default, jansson silently drops values that it has no memory for. */
static void *json_allocate(size_t size)
{
    void *memory = malloc(size);
    if (!memory)
        out_of_memory();
    return memory;
}

/* Opens placeholders for standard files that the caller has closed, so that no file opened later becomes standard
 * output by accident.  Using a placeholder is an error: standard output's is read-only, standard input's write-only. */
static void hold_standard_files(void)
{
    for (int file = STDIN_FILENO; file <= STDERR_FILENO; file++)
        if (fcntl(file, F_GETFD) < 0 && errno == EBADF &&
            open("/dev/null", file == STDOUT_FILENO ? O_RDONLY : file == STDIN_FILENO ? O_WRONLY : O_RDWR) != file)
            _exit(EXIT_INPUT);
}

static int print_text(const char *text)
{
    Arena *arena = arena_new();
    const char *error = write_file(arena, "-", text, strlen(text));
    if (error)
        fprintf(stderr, "ptxopt: error: cannot write to standard output: %s\n", error);
    arena_free(arena);
    return error ? EXIT_INPUT : EXIT_DONE;
}

/* What is left to do where the command line does not ask for a run. */
static int print_outcome(OptionsOutcome outcome, const char *command, const char *help, const char *error)
{
    if (outcome == OPTIONS_HELP)
        return print_text(help);
    if (outcome == OPTIONS_VERSION)
        return print_text("ptxopt " PTXOPT_VERSION "\n");
    fprintf(stderr, "ptxopt: error: %s%s\n", command, error);
    return EXIT_USAGE;
}

static Interrupt interrupt;

/* The first interrupt ends a search, whose best form is then written; any other ends the process. */
static void on_interrupt(int number)
{
    if (interrupt.armed && !interrupt.seen) {
        interrupt.seen = 1;
        return;
    }
    signal(number, SIG_DFL);
    raise(number);
}

static int main_file(Arena *arena, int argc, char **argv)
{
    Options options;
    const char *error;
    OptionsOutcome outcome = options_parse(arena, argc, argv, &options, &error);
    struct sigaction before, action = {.sa_handler = on_interrupt};
    if (sigaction(SIGINT, NULL, &before) == 0 && before.sa_handler != SIG_IGN && sigaction(SIGINT, &action, NULL) == 0)
        options.interrupt = &interrupt;
    return outcome == OPTIONS_RUN ? (int)transform_file(&options)
                                  : print_outcome(outcome, "", options_help(arena), error);
}

static int main_run(Arena *arena, int argc, char **argv)
{
    RunOptions options;
    const char *error;
    OptionsOutcome outcome = run_options_parse(arena, argc, argv, &options, &error);
    return outcome == OPTIONS_RUN ? (int)emulate_file(&options)
                                  : print_outcome(outcome, "run: ", run_options_help(), error);
}

static int main_cost(Arena *arena, int argc, char **argv)
{
    CostOptions options;
    const char *error;
    OptionsOutcome outcome = cost_options_parse(arena, argc, argv, &options, &error);
    return outcome == OPTIONS_RUN ? (int)cost_file(&options)
                                  : print_outcome(outcome, "cost: ", cost_options_help(arena), error);
}

static int main_setup(Arena *arena, int argc, char **argv)
{
    SetupOptions options;
    const char *error;
    OptionsOutcome outcome = setup_options_parse(arena, argc, argv, &options, &error);
    return outcome == OPTIONS_RUN ? (int)setup_run(&options)
                                  : print_outcome(outcome, "setup: ", setup_options_help(arena), error);
}

static int main_completion(int argc, char **argv)
{
    Buf text = {0};
    bool known = argc == 3   ? completion_print(argv[2], &text)
                 : argc == 4 ? wrapper_completion_print(argv[2], argv[3], &text)
                             : false;
    if (!known)
        fprintf(stderr, "ptxopt: error: completion: expected bash, zsh or fish, and perhaps ptxopt-nvcc or "
                        "ptxopt-ptxas\n");
    int status = known ? print_text(buf_text(&text)) : EXIT_USAGE;
    buf_free(&text);
    return status;
}

static const char *const commands[] = {"run", "cost", "setup", "completion", "help"};

/* A word that is neither a file nor an option may be a command that is misspelt. */
static bool is_misspelt(int argc, char **argv)
{
    const char *word = argc > 1 ? argv[1] : "-";
    const char *command = closest_word(word, commands, COUNT_OF(commands));
    if (word[0] == '-' || strpbrk(word, "./") || access(word, F_OK) == 0 || (command && strcmp(word, command) == 0))
        return false;
    if (command)
        fprintf(stderr, "ptxopt: error: there is no command '%s'; did you mean '%s'?\n", word, command);
    else
        fprintf(stderr, "ptxopt: error: there is no command '%s', and no file of that name; there are 'run', 'cost', "
                        "'setup', 'completion' and 'help'\n", word);
    return true;
}

/* What -help prints of a command, or of one option. */
static int main_help(Arena *arena, int argc, char **argv)
{
    const char *topic = argc > 2 ? argv[2] : "";
    const char *text = options_help_topic(arena, topic);
    if (argc <= 3 && text)
        return print_text(text);
    fprintf(stderr, "ptxopt: error: help: %s: expected a command (run, cost, setup, completion) or an option%s\n",
            topic, options_help_hint(arena, topic));
    return EXIT_USAGE;
}

/* The command that the first word names; without one, files are transformed. */
static int main_command(Arena *arena, int argc, char **argv)
{
    if (argc > 1 && strcmp(argv[1], "help") == 0 && access("help", F_OK) != 0)
        return main_help(arena, argc, argv);
    if (is_misspelt(argc, argv))
        return EXIT_USAGE;
    if (argc > 1 && strcmp(argv[1], "run") == 0)
        return main_run(arena, argc, argv);
    if (argc > 1 && strcmp(argv[1], "cost") == 0)
        return main_cost(arena, argc, argv);
    if (argc > 1 && strcmp(argv[1], "setup") == 0)
        return main_setup(arena, argc, argv);
    if (argc > 1 && strcmp(argv[1], "completion") == 0)
        return main_completion(argc, argv);
    return main_file(arena, argc, argv);
}

void program_prepare(void)
{
    hold_standard_files();
    /* A closed pipe is a write error with a message, like a full disk. */
    signal(SIGPIPE, SIG_IGN);
    set_out_of_memory_handler(exit_without_memory);
    json_set_alloc_funcs(json_allocate, free);
}

int program_run(int argc, char **argv)
{
    Arena *arena = arena_new();
    int status = main_command(arena, argc, argv);
    arena_free(arena);
    return status;
}
