/* The command line of "ptxopt view". */
#include <string.h>

#include "cli/commands.h"
#include "cli/command_line.h"
#include "options/options.h"

typedef enum ViewOptionId {
#define OPTION(id, ...) VIEW_##id,
#include "cli/options_view.def"
} ViewOptionId;

static const OptionRow rows[] = {
#define OPTION(id, name, value, argument, action, help) OPTION_ROW(name, argument, help, value),
#define HIDDEN_OPTION(id, name, value, argument, action, help) \
    OPTION_ROW(name, argument, help, .is_hidden = true, value),
#include "cli/options_view.def"
    {0},
};

const OptionRow *view_options_table(void)
{
    return rows;
}

static const char *read_arch(Arena *arena, const char *value, ViewOptions *options)
{
    return arch_choice_read(arena, value, &options->request.run.arch);
}

static const char *read_assembler(Arena *arena, const char *value, ViewOptions *options)
{
    options->request.run.assembler_given = true;
    return assembler_choice_read(arena, value, &options->request.run.assembler_none, &options->request.run.assembler);
}

static const char *read_block(Arena *arena, const char *value, ViewOptions *options)
{
    return block_read(arena, value, value, options->request.block);
}

static const char *read_option(Arena *arena, const OptionRow *row, const char *value, void *result)
{
    ViewOptions *options = result;
    switch ((ViewOptionId)(row - rows)) {
#define OPTION(id, name, takes, argument, action, help) case VIEW_##id: { action; break; }
#include "cli/options_view.def"
    }
    return NULL;
}

/* Takes the words after "--" away: they are options of a run. Returns the number of the others. */
static int take_changes(int argc, char *const *argv, ViewOptions *options)
{
    for (int i = 2; i < argc; i++)
        if (strcmp(argv[i], "--") == 0) {
            options->changes = argv + i + 1;
            options->change_count = argc - i - 1;
            return i;
        }
    return argc;
}

static bool is_of_one_kernel(const ViewRequest *request)
{
    return request->kernel || request->launch || request->block[0] || request->dynamic_shared;
}

/* A page of several kernels needs a run, or a list of runs, and a place, and nothing that is of one kernel. */
static OptionsOutcome report_complaint(const ViewOptions *options, const char **error)
{
    const char *file = options->output.file;
    *error = options->runs && (options->files.count || options->changes) ? "-runs names all files and what was done"
             : !options->files.count && !options->runs ? "-report: expected a file, FILE.ptx"
             : !options->changes && !options->runs
                 ? "-report is about a run: its options follow '--', as in 'ptxopt view -report -o "
                   "run.html k.ptx -- -auto'"
             : !file || !text_ends_with(file, ".html") ? "-report makes a page: -o FILE.html"
             : options->before || is_of_one_kernel(&options->request)
                 ? "-report takes -entry, -launch, -block and -dynamic-shared after '--', and no -before"
                 : NULL;
    return *error ? OPTIONS_WRONG : OPTIONS_RUN;
}

OptionsOutcome view_options_parse(Arena *arena, int argc, char *const *argv, ViewOptions *options, const char **error)
{
    const CommandLine line = {"view", rows, read_option, options};
    CommandFiles files;
    *options = (ViewOptions){0};
    OptionsOutcome outcome = command_line_parse(arena, take_changes(argc, argv, options), argv, &line, &files, error);
    if (outcome != OPTIONS_RUN)
        return outcome;
    options->files = files;
    if (options->report)
        return report_complaint(options, error);
    if (options->runs) {
        *error = "-runs goes with -report";
        return OPTIONS_WRONG;
    }
    if (files.count != 1) {
        *error = "expected one file, FILE.ptx, FILE.cubin or a program (-before names another one to compare with)";
        return OPTIONS_WRONG;
    }
    options->input = files.data[0];
    if (options->changes && options->before) {
        *error = "-before and options after '--' exclude one another: a picture has two sides at most";
        return OPTIONS_WRONG;
    }
    return OPTIONS_RUN;
}
