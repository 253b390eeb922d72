#include "cli/progress.h"

#include <time.h>
#include <unistd.h>

static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

static void show(Progress *progress, double time)
{
    fprintf(progress->terminal, "\rassembling: %.0f s", time - progress->begin);
    if (progress->done)
        fprintf(progress->terminal, ", %u done", progress->done);
    fputs("\033[K", progress->terminal);
    fflush(progress->terminal);
    progress->last = time;
}

static void wait_on(void *context, bool done)
{
    Progress *progress = context;
    progress->done += done;
    if (done && progress->last) {
        fputs("\r\033[K", progress->terminal);
        fflush(progress->terminal);
        progress->last = 0;
    }
    double time = done ? 0 : now();
    if (!done && time - progress->begin >= 1 && time - progress->last >= 0.2)
        show(progress, time);
}

void progress_watch(Progress *progress, Assembler *assembler, FILE *messages)
{
    int descriptor = fileno(messages);
    if (descriptor < 0 || !isatty(descriptor))
        return;
    *progress = (Progress){.terminal = messages, .begin = now()};
    assembler_set_waiting(assembler, wait_on, progress);
}
