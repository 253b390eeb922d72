/* Times that were measured elsewhere: a table with lines "KERNEL<tab>MICROSECONDS". Empty lines and those that begin
 * with '#' do not count. */
#include <math.h>
#include <string.h>

#include "calibrate/internal.h"

static CalibrateKernel *find(const Calibration *calibration, const char *name, size_t length)
{
    for (size_t i = 0; i < calibration->kernels.count; i++) {
        CalibrateKernel *kernel = &calibration->kernels.data[i];
        if (strlen(kernel->micro->name) == length && memcmp(kernel->micro->name, name, length) == 0)
            return kernel;
    }
    return NULL;
}

/* Reads a line; what is wrong with it and the place in it, or NULL. */
static const char *read_line(const Calibration *calibration, const char *line, size_t length, size_t *column)
{
    Arena *arena = calibration->arena;
    const char *tab = memchr(line, '\t', length), *text;
    char *end;
    *column = 1;
    if (!tab)
        return "expected a kernel, a tab, and microseconds";
    CalibrateKernel *kernel = find(calibration, line, (size_t)(tab - line));
    if (!kernel)
        return arena_printf(arena, "there is no kernel '%.*s' for %s", (int)(tab - line), line, calibration->arch);
    if (kernel->measured > 0)
        return arena_printf(arena, "the time of '%s' is here twice", kernel->micro->name);
    *column = (size_t)(tab - line) + 2;
    text = arena_strndup(arena, tab + 1, length - (size_t)(tab + 1 - line));
    const double time = strtod(text, &end);
    if (end == text || *end || !isfinite(time) || !(time > 0))
        return arena_printf(arena, "expected microseconds, not '%s'", text);
    kernel->measured = time;
    return NULL;
}

static bool has_role(const Calibration *calibration, MicroRole role)
{
    bool has = false;
    for (size_t i = 0; i < calibration->kernels.count; i++)
        has |= calibration->kernels.data[i].micro->role == role && calibration->kernels.data[i].measured > 0;
    return has;
}

bool kernels_read_times(Calibration *calibration)
{
    const char *path = calibration->request->times, *error = NULL;
    const Source *file = source_read(calibration->arena, path, &error);
    if (!file) {
        fprintf(stderr, "ptxopt: error: %s: %s\n", path, error);
        return false;
    }
    size_t number = 1;
    for (const char *line = file->text, *end = line + file->size; line < end; number++) {
        const char *stop = memchr(line, '\n', (size_t)(end - line));
        size_t length = (size_t)((stop ? stop : end) - line), column;
        if (length && line[length - 1] == '\r')
            length--;
        error = length && *line != '#' ? read_line(calibration, line, length, &column) : NULL;
        if (error) {
            fprintf(stderr, "%s:%zu:%zu: error: %s\n", path, number, column, error);
            return false;
        }
        line = stop ? stop + 1 : end;
    }
    for (MicroRole role = FIT; role <= HELD_OUT; role++)
        if (!has_role(calibration, role)) {
            fprintf(stderr, "ptxopt: error: %s has no time of a kernel that %s\n", path,
                    role == FIT ? "the figures are fitted to" : "judges the fit");
            return false;
        }
    calibration->place = path;
    return true;
}
