#include "engine/progress.h"

#include <math.h>
#include <unistd.h>

/* Seconds until the first line, and between lines. */
static const double first_shown = 1, terminal_pause = 0.2, log_pause = 10;

/* "saxpy (2 of 4): comparing forms, 12 of 33 done, x2, counted 40%, 14 assembled, at most 80 s left, 3 s". */
static void print_line(const Progress *progress, double time)
{
    FILE *out = progress->messages;
    if (progress->kernel && progress->count > 1)
        fprintf(out, "%s (%zu of %zu): ", progress->kernel, progress->index, progress->count);
    else if (progress->kernel)
        fprintf(out, "%s: ", progress->kernel);
    fputs(progress->phase ? progress->phase : "assembling", out);
    if (progress->steps)
        fprintf(out, ", %u of %u done", progress->step, progress->steps);
    if (progress->form)
        fprintf(out, ", %s", progress->form);
    if (progress->is_counted)
        fprintf(out, ", counted %.0f%%", 100 * progress->counted);
    if (progress->done)
        fprintf(out, ", %u assembled", progress->done);
    if (progress->end > time)
        fprintf(out, ", at most %.0f s left", progress->end - time);
    fprintf(out, ", %.0f s", time - progress->begin);
}

static void show(Progress *progress, double time)
{
    fputs(progress->is_terminal ? "\r" : "ptxopt: ", progress->messages);
    print_line(progress, time);
    fputs(progress->is_terminal ? "\033[K" : "\n", progress->messages);
    fflush(progress->messages);
    progress->is_shown = progress->is_terminal;
    progress->last = time;
}

static void hide(Progress *progress)
{
    if (!progress->is_shown)
        return;
    fputs("\r\033[K", progress->messages);
    fflush(progress->messages);
    progress->is_shown = false;
}

static void show_in_time(Progress *progress)
{
    const double time = seconds_now(), pause = progress->is_terminal ? terminal_pause : log_pause;
    const double since = progress->last > 0 ? progress->last : progress->begin;
    if (time - progress->begin >= first_shown && time - since >= pause)
        show(progress, time);
}

static void wait_on(void *context, bool done)
{
    Progress *progress = context;
    progress->done += done;
    if (done)
        hide(progress);
    else
        show_in_time(progress);
}

void progress_watch(Progress *progress, Assembler *assembler, FILE *messages)
{
    int descriptor = fileno(messages);
    if (descriptor < 0)
        return;
    *progress = (Progress){.messages = messages, .is_terminal = isatty(descriptor), .begin = seconds_now()};
    assembler_set_waiting(assembler, wait_on, progress);
}

void progress_kernel(Progress *progress, const char *kernel, size_t index, size_t count)
{
    progress->kernel = kernel;
    progress->index = index;
    progress->count = count;
}

void progress_phase(Progress *progress, const char *phase, double seconds)
{
    if (!progress)
        return;
    progress_continue(progress, phase);
    progress->end = progress->messages && !isinf(seconds) ? seconds_now() + seconds : 0;
}

void progress_continue(Progress *progress, const char *phase)
{
    if (!progress)
        return;
    hide(progress);
    progress->phase = phase;
    progress->form = NULL;
    progress->is_counted = false;
    progress->step = progress->steps = 0;
}

void progress_form(Progress *progress, const char *form)
{
    if (!progress)
        return;
    hide(progress);
    progress->form = form;
    progress->is_counted = false;
}

/* The line stays until something else is said, so that it can be read. */
void progress_counted(Progress *progress, double share)
{
    if (!progress || !progress->messages)
        return;
    progress->is_counted = true;
    progress->counted = share;
    show_in_time(progress);
}

void progress_step(Progress *progress, unsigned step, unsigned steps)
{
    if (!progress || !progress->messages)
        return;
    progress->step = step;
    progress->steps = steps;
    show_in_time(progress);
    hide(progress);
}
