/* How far a sweep is. */
#include <unistd.h>

#include "sweep/internal.h"

SweepProgress sweep_progress_new(const SweepRequest *request)
{
    const double now = seconds_now();
    return (SweepProgress){!request->quiet, isatty(STDERR_FILENO) == 1, now, now};
}

static void print_rest(double seconds)
{
    if (seconds < 90)
        fprintf(stderr, "%.0f s left", seconds);
    else if (seconds < 5400)
        fprintf(stderr, "%.0f min left", seconds / 60);
    else
        fprintf(stderr, "%.1f h left", seconds / 3600);
}

void sweep_progress_show(SweepProgress *progress, const Sweep *sweep, size_t done)
{
    const double now = seconds_now(), seconds = now - progress->begin;
    if (!progress->is_shown || !done || now - progress->last < (progress->is_terminal ? 0.5 : 10))
        return;
    progress->last = now;
    fprintf(stderr, "%sptxopt: %zu of %zu rows, %.1f in a second, ", progress->is_terminal ? "\r\033[K" : "", done,
            sweep->row_count, (double)done / seconds);
    print_rest(seconds / (double)done * (double)(sweep->row_count - done));
    if (!progress->is_terminal)
        fputc('\n', stderr);
}

void sweep_progress_end(SweepProgress *progress, const Sweep *sweep, size_t done)
{
    const SweepSeconds *part = &sweep->seconds;
    const double seconds = seconds_now() - progress->begin;
    const double all = part->coarsening + part->counting + part->assembling + part->mapping + part->measuring;
    if (!progress->is_shown)
        return;
    fprintf(stderr, "%sptxopt: %zu of %zu rows in %.1f s", progress->is_terminal ? "\r\033[K" : "", done,
            sweep->row_count, seconds);
    if (done && all > 0)
        fprintf(stderr, ", %.1f in a second: coarsening %.0f%%, counting %.0f%%, assembling %.0f%%, predicting %.0f%%",
                (double)done / seconds, 100 * part->coarsening / all, 100 * part->counting / all,
                100 * part->assembling / all, 100 * part->mapping / all);
    if (part->measuring > 0)
        fprintf(stderr, ", measuring %.0f%%", 100 * part->measuring / all);
    fputc('\n', stderr);
}
