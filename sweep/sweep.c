/* A sweep: see sweep.h. */
#include <unistd.h>

#include "sweep/internal.h"

static bool is_file(const char *path)
{
    return path && strcmp(path, "-") != 0;
}

/* Reads the table that is to be continued; false after a message. */
static bool read_known(Sweep *sweep)
{
    const char *path = sweep->request->output;
    const char *error = is_file(path) && access(path, F_OK) == 0 ? sweep_read(&sweep->table, path) : NULL;
    if (error)
        fprintf(stderr, "ptxopt: error: -o: %s\n", error);
    return !error;
}

static bool write_table(Sweep *sweep)
{
    const char *path = sweep->request->output;
    Buf out = {0};
    if (!path && sweep->tunes)
        return true;
    sweep_print(&sweep->table, 0, &out);
    const Output file = {path ? path : "-", out.data, out.length};
    const char *error = outputs_write(sweep->arena, &file, 1);
    buf_free(&out);
    if (error)
        fprintf(stderr, "ptxopt: error: %s\n", error);
    return !error;
}

bool sweep_open(Sweep *sweep)
{
    return sweep_open_targets(sweep) && sweep_read_launches(sweep) && read_known(sweep) &&
           (!is_file(sweep->request->output) || write_table(sweep));
}

bool sweep_complete(Sweep *sweep)
{
    /* Rows are written after those that are kept, as soon as they are known. */
    if (is_file(sweep->request->output) && !write_table(sweep))
        return false;
    const size_t lost = sweep_share(sweep, sweep_measure);
    sweep_settle(&sweep->table);
    if (lost)
        fprintf(stderr, "ptxopt: error: %zu form%s could not be measured\n", lost, plural(lost));
    return write_table(sweep) && !lost;
}

int sweep_run(Arena *arena, const SweepRequest *request)
{
    Sweep sweep = {.arena = arena, .request = request, .table = {.arena = arena}};
    if (!sweep_open(&sweep))
        return EXIT_INPUT;
    sweep_list_forms(&sweep);
    sweep_drop_known(&sweep);
    return sweep_complete(&sweep) ? EXIT_DONE : EXIT_INPUT;
}
