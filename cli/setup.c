/* "ptxopt setup": fetches NVIDIA's assembler for this user. */
#include "cli/command_line.h"
#include "engine/engine.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

typedef struct SetupOptions {
    bool yes; /* do not ask */
} SetupOptions;

enum {
#define OPTION(id, ...) SETUP_##id,
#include "cli/options_setup.def"
};

static const OptionRow rows[] = {
#define OPTION(id, name, value, argument, action, help) OPTION_ROW(name, argument, help, value),
#include "cli/options_setup.def"
    {0},
};

const OptionRow *setup_options_table(void)
{
    return rows;
}

static void read_option(int id, SetupOptions *options)
{
    switch (id) {
#define OPTION(id, name, value, argument, action, help) case SETUP_##id: action; break;
#include "cli/options_setup.def"
    }
}

/* As options_parse(). Unlike elsewhere, no option may be abbreviated but -yes. */
static OptionsOutcome parse(Arena *arena, int argc, char *const *argv, SetupOptions *options, const char **error)
{
    *options = (SetupOptions){0};
    *error = NULL;
    for (int i = 2; i < argc; i++) {
        const char *name = argv[i] + strspn(argv[i], "-");
        const OptionRow *row = option_row_find(rows, strcmp(name, "y") == 0 ? "yes" : name);
        if (argv[i][0] != '-' || !row) {
            *error = arena_printf(arena, "unknown word '%s'; setup -help lists what there is", argv[i]);
            return OPTIONS_WRONG;
        }
        if (row == &rows[SETUP_HELP])
            return OPTIONS_HELP;
        if (row == &rows[SETUP_VERSION])
            return OPTIONS_VERSION;
        read_option((int)(row - rows), options);
    }
    return OPTIONS_RUN;
}

static unsigned total_megabytes(void)
{
    unsigned total = 0;
    for (const Wheel *wheel = assembler_wheels; wheel->package; wheel++)
        total += wheel->megabytes;
    return total;
}

static void list_wheels(Buf *out)
{
    for (const Wheel *wheel = assembler_wheels; wheel->package; wheel++)
        buf_printf(out, "  %-21s %-9s %3u MB  %s, %s\n", wheel->package, wheel->version, wheel->megabytes, wheel->file,
                   wheel->purpose);
}

const char *setup_options_help(Arena *arena)
{
    Buf text = {0};
    buf_puts(&text, command_usage(arena, "setup"));
    buf_puts(&text, "\n"
                    "Fetches NVIDIA's assembler for machines without a CUDA toolkit: these Python wheels, with pip,\n"
                    "into ptxopt/cuda in $XDG_DATA_HOME or ~/.local/share, where ptxopt, its library and the wrappers\n"
                    "find it. It says what it fetches, and asks first.\n"
                    "\n");
    list_wheels(&text);
    buf_putc(&text, '\n');
    option_rows_print_help(rows, &text);
    buf_puts(&text, "\n"
                    "Exit status: 0 the assembler is there; 1 it could not be fetched, or the answer was no; 2 the\n"
                    "usage is wrong, or there is no terminal to ask on.\n");
    return buf_take(arena, &text);
}

static void introduce(Arena *arena, const char *folder)
{
    Buf list = {0};
    list_wheels(&list);
    const char *other = assembler_locate(arena, ASSEMBLER_PTXAS);
    if (other)
        printf("There is an assembler already: %s\n", other);
    printf("These Python wheels are fetched from the package index, with pip, into %s/cuda:\n%s"
           "They are under NVIDIA's licence, the CUDA Toolkit's end user license agreement, whose text is kept "
           "there.\n",
           folder, buf_text(&list));
    fflush(stdout);
    buf_free(&list);
}

static bool confirm(void)
{
    char answer[16] = "";
    printf("Fetch %u MB and accept that licence? [y/N] ", total_megabytes());
    fflush(stdout);
    if (!fgets(answer, sizeof answer, stdin))
        putchar('\n');
    answer[strcspn(answer, "\n")] = 0;
    return strcasecmp(answer, "y") == 0 || strcasecmp(answer, "yes") == 0;
}

static ExitStatus fail(ExitStatus status, const char *message)
{
    fprintf(stderr, "ptxopt: error: setup: %s\n", message);
    return status;
}

/* The variable is set here so that no other one can answer for it. */
static ExitStatus check_fetched(Arena *arena, const char *folder)
{
    const char *error = NULL, *path = arena_printf(arena, "%s/cuda/bin/ptxas", folder);
    setenv("PTXOPT_PTXAS", path, 1);
    Assembler *assembler = assembler_open(arena, ASSEMBLER_PTXAS, "sm_90", &error);
    if (!assembler)
        return fail(EXIT_INPUT, error);
    printf("ptxas %s is ready: %s\n", assembler_version(assembler), path);
    assembler_close(assembler);
    return EXIT_DONE;
}

static ExitStatus set_up(Arena *arena, const SetupOptions *options)
{
    const char *folder = assembler_user_folder(arena);
    if (!folder)
        return fail(EXIT_INPUT, "there is no folder for it: neither XDG_DATA_HOME nor HOME is set");
    if (assembler_is_fetched(arena, folder))
        return check_fetched(arena, folder);
    introduce(arena, folder);
    if (!options->yes && !isatty(STDIN_FILENO))
        return fail(EXIT_USAGE, "standard input is not a terminal, so nobody can be asked; -yes accepts");
    if (!options->yes && !confirm())
        return fail(EXIT_INPUT, "nothing was fetched");
    const char *problem = assembler_fetch(arena, folder);
    return problem ? fail(EXIT_INPUT, problem) : check_fetched(arena, folder);
}

int main_setup(Arena *arena, int argc, char **argv)
{
    SetupOptions options;
    const char *error;
    OptionsOutcome outcome = parse(arena, argc, argv, &options, &error);
    return outcome == OPTIONS_RUN ? (int)set_up(arena, &options)
                                  : command_finish(outcome, "setup", setup_options_help(arena), error);
}
