/* "ptxopt view -report": a page about a run over all kernels of some files. */
#include "cli/view_report.h"

#include <jansson.h>
#include <string.h>

#include "cli/view_change.h"

typedef VEC(ViewOutcome) OutcomeVec;

/* A run over one file. */
typedef struct FileRun {
    Arena *arena;
    const ViewOptions *options;
    const char *path;
    const Source *source;
    const Options *changes;
    Products products;
} FileRun;

/* The picture of a form of a kernel; NULL after a message. */
static const View *read_form(const FileRun *run, const ViewOptions *options, const char *text, size_t size,
                             const char *const *assembler_options)
{
    ViewSide *side = ARENA_NEW(run->arena, ViewSide);
    Source *source = source_from_memory(run->arena, run->path, text, size);
    const bool done = view_side_read_text(side, run->arena, &options->request, source, assembler_options);
    run_close(&side->run);
    return done ? side->view : NULL;
}

/* The original's launch: by a launch file of the run, or else what the report knows. */
static void set_launch(const FileRun *run, const json_t *kernel, ViewOptions *options)
{
    const json_t *before = json_object_get(kernel, "before"), *block = json_object_get(before, "block");
    for (size_t i = 0; i < 3; i++)
        options->request.block[i] = (unsigned)json_integer_value(json_array_get(block, i));
    options->request.dynamic_shared = (uint64_t)json_integer_value(json_object_get(before, "dynamic_shared"));
    for (size_t i = 0; i < run->changes->launches.count; i++) {
        const char *ignored;
        const Launch *launch = launch_read(run->arena, run->changes->launches.data[i], &ignored);
        if (!launch || strcmp(launch->kernel, options->request.kernel) != 0)
            continue;
        memcpy(options->request.block, launch->block, sizeof options->request.block);
        options->request.dynamic_shared = launch->dynamic_shared;
    }
}

static ViewOutcome read_kernel(const FileRun *run, const json_t *kernel)
{
    static const char *const none[] = {NULL};
    const char *name = json_string_value(json_object_get(kernel, "kernel"));
    ViewOutcome outcome = {.file = run->path, .report = kernel};
    outcome.kernel = arena_strndup(run->arena, name, strlen(name));
    ViewOptions options = *run->options;
    options.request.kernel = outcome.kernel;
    set_launch(run, kernel, &options);
    outcome.before = read_form(run, &options, run->source->text, run->source->size, none);
    if (outcome.before)
        outcome.after = read_form(run, &options, run->products.ptx, run->products.ptx_length,
                                  view_knobs(run->arena, run->products.knobs));
    return outcome;
}

/* Runs ptxopt on the file, with a report; false after a message. */
static bool run_file(FileRun *run, ExitStatus *status)
{
    const char *error;
    Options *changes = ARENA_NEW(run->arena, Options);
    *status = EXIT_USAGE;
    if (!view_changes_read(run->arena, run->options, run->options->request.run.arch, run->path, changes))
        return false;
    *status = EXIT_INPUT;
    run->source = source_read(run->arena, run->path, &error);
    if (!run->source) {
        fprintf(stderr, "ptxopt: error: %s: %s\n", run->path, error);
        return false;
    }
    changes->report = changes->report_json = true;
    run->changes = changes;
    Source *input = source_from_memory(run->arena, run->path, run->source->text, run->source->size);
    *status = run_source(run->arena, changes, input, stderr, &run->products);
    return run->products.ptx != NULL;
}

/* Adds the kernels of a file. Returns the report that the outcomes refer to, for json_decref; NULL after a message. */
static json_t *add_file(FileRun *run, OutcomeVec *outcomes, ExitStatus *status)
{
    json_t *report = NULL;
    if (run_file(run, status)) {
        *status = EXIT_DONE;
        report = json_loadb(run->products.report.data, run->products.report.length, 0, NULL);
        const json_t *kernels = json_object_get(report, "kernels");
        for (size_t i = 0; i < json_array_size(kernels); i++)
            VEC_PUSH(run->arena, *outcomes, read_kernel(run, json_array_get(kernels, i)));
    }
    products_free(&run->products);
    return report;
}

/* The options of the run, and the file if there is only one. */
static const char *page_title(Arena *arena, const ViewOptions *options)
{
    const char *title = "ptxopt";
    for (int i = 0; i < options->change_count; i++)
        title = arena_printf(arena, "%s %s", title, options->changes[i]);
    return options->files.count == 1 ? arena_printf(arena, "%s %s", title, options->files.data[0]) : title;
}

int view_report(const ViewOptions *options)
{
    Arena *arena = arena_new();
    OutcomeVec outcomes = {0};
    VEC(json_t *) reports = {0};
    ExitStatus status = EXIT_DONE;
    for (size_t i = 0; i < options->files.count && status == EXIT_DONE; i++) {
        FileRun run = {.arena = arena, .options = options, .path = options->files.data[i]};
        VEC_PUSH(arena, reports, add_file(&run, &outcomes, &status));
    }
    if (status == EXIT_DONE) {
        Buf out = {0};
        view_print_report(outcomes.data, outcomes.count, page_title(arena, options), &out);
        status = command_write(arena, &options->output, &out);
        buf_free(&out);
    }
    for (size_t i = 0; i < reports.count; i++)
        json_decref(reports.data[i]);
    arena_free(arena);
    return status;
}
