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
                                  : command_finish(outcome, "", options_help(arena), error);
}

/* "'run', 'cost' and 'help'" */
static void print_commands(Buf *out)
{
    for (const Command *command = commands; command->name; command++)
        buf_printf(out, "%s'%s'", command == commands ? "" : command[1].name ? ", " : " and ", command->name);
}

static const char *closest_command(Arena *arena, const char *word)
{
    VEC(const char *) names = {0};
    for (const Command *command = commands; command->name; command++)
        VEC_PUSH(arena, names, command->name);
    return closest_word(word, names.data, names.count);
}

/* A word that is neither a file nor an option may be a command that is misspelt. */
static bool is_misspelt(Arena *arena, const char *word)
{
    if (word[0] == '-' || strpbrk(word, "./") || access(word, F_OK) == 0)
        return false;
    const char *closest = closest_command(arena, word);
    Buf all = {0};
    print_commands(&all);
    if (closest)
        fprintf(stderr, "ptxopt: error: there is no command '%s'; did you mean '%s'?\n", word, closest);
    else
        fprintf(stderr, "ptxopt: error: there is no command '%s', and no file of that name; there are %s\n", word,
                buf_text(&all));
    buf_free(&all);
    return true;
}

/* The command that the first word names; without one, files are transformed. A file that is called "help" is one. */
static int main_command(Arena *arena, int argc, char **argv)
{
    const char *word = argc > 1 ? argv[1] : "-";
    const Command *command = command_find(word);
    if (command && command->main == main_help && access(word, F_OK) == 0)
        command = NULL;
    if (command)
        return command->main(arena, argc, argv);
    return is_misspelt(arena, word) ? EXIT_USAGE : main_file(arena, argc, argv);
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
