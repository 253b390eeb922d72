/* "ptxopt view": the registers of a kernel's machine code as a picture. */
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "cli/view_change.h"
#include "cli/view_report.h"
#include "engine/engine.h"

/* The columns of the terminal; 0: standard output is none. */
static unsigned terminal_width(void)
{
    struct winsize size;
    if (!isatty(STDOUT_FILENO) || ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0)
        return 0;
    return size.ws_col;
}

static void print(const ViewOptions *options, const ViewSide *before, const ViewSide *after, Buf *out)
{
    const char *file = options->output.file;
    if (file && (text_ends_with(file, ".html") || text_ends_with(file, ".htm"))) {
        view_print_page(before->view, after->view, out);
        return;
    }
    const ViewStyle style = {
        .width = options->width ? (unsigned)options->width
                 : file         ? 0
                                : terminal_width(),
        .colored = !file && stream_is_colored(stdout),
    };
    view_print_text(before->view, after->view, &style, out);
}

/* A file, and the one before it if there is one. */
static bool read_sides(const ViewOptions *options, Arena *arena, ViewSide *before, ViewSide *after)
{
    return (!options->before || view_side_read(before, arena, &options->request, options->before)) &&
           view_side_read(after, arena, &options->request, options->input);
}

/* A file before and after a run. */
static bool read_change(const ViewOptions *options, Arena *arena, ViewSide *before, ViewSide *after,
                        ExitStatus *status)
{
    return view_side_read(before, arena, &options->request, options->input) &&
           view_side_change(after, arena, options, before, status);
}

static ExitStatus view(const ViewOptions *options, Arena *arena, ViewSide *before, ViewSide *after)
{
    ExitStatus status = EXIT_INPUT;
    if (!(options->changes ? read_change(options, arena, before, after, &status)
                           : read_sides(options, arena, before, after)))
        return status;
    Buf out = {0};
    print(options, before, after, &out);
    status = command_write(arena, &options->output, &out);
    buf_free(&out);
    return status;
}

static ExitStatus view_file(const ViewOptions *options)
{
    Arena *arena = arena_new();
    ViewSide before = {0}, after = {0};
    ExitStatus status = view(options, arena, &before, &after);
    run_close(&before.run);
    run_close(&after.run);
    arena_free(arena);
    return status;
}

int main_view(Arena *arena, int argc, char **argv)
{
    ViewOptions options;
    const char *error;
    OptionsOutcome outcome = view_options_parse(arena, argc, argv, &options, &error);
    if (outcome == OPTIONS_RUN && options.report)
        return view_report(&options);
    options.request.tries = true;
    return outcome == OPTIONS_RUN ? (int)view_file(&options)
                                  : command_finish(outcome, "view", view_options_help(arena), error);
}
