/* "ptxopt view -report": a page about a run over all kernels of some files, or about runs that were made before. */
#include "cli/view_report.h"

#include <jansson.h>
#include <string.h>

#include "cli/view_change.h"

typedef VEC(ViewOutcome) OutcomeVec;

/* A run over a file, which is made here or was made before. */
typedef struct FileRun {
    Arena *arena;
    const ViewOptions *options;
    const char *path;
    const Source *source, *result;
    const char *const *knobs;    /* options of the assembler for the result; a list that ends with NULL */
    const char *const *launches; /* files */
    size_t launch_count;
    json_t *report;
} FileRun;

/* The picture of a form of a kernel; NULL after a message. */
static const View *read_form(const FileRun *run, const ViewOptions *options, const Source *text,
                             const char *const *assembler_options)
{
    ViewSide *side = ARENA_NEW(run->arena, ViewSide);
    Source *source = source_from_memory(run->arena, run->path, text->text, text->size);
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
    for (size_t i = 0; i < run->launch_count; i++) {
        const char *ignored;
        const Launch *launch = launch_read(run->arena, run->launches[i], &ignored);
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
    outcome.before = read_form(run, &options, run->source, none);
    if (outcome.before)
        outcome.after = read_form(run, &options, run->result, run->knobs);
    return outcome;
}

static ExitStatus fail(const char *path, const char *problem)
{
    fprintf(stderr, "ptxopt: error: %s: %s\n", path, problem);
    return EXIT_INPUT;
}

/* Runs ptxopt on the file, with a report. */
static ExitStatus run_file(FileRun *run)
{
    const char *error;
    Products products = {0};
    Options *changes = ARENA_NEW(run->arena, Options);
    if (!view_changes_read(run->arena, run->options, run->options->request.run.arch, run->path, changes))
        return EXIT_USAGE;
    run->source = source_read(run->arena, run->path, &error);
    if (!run->source)
        return fail(run->path, error);
    changes->report = changes->report_json = true;
    run->launches = (const char *const *)changes->launches.data;
    run->launch_count = changes->launches.count;
    Source *input = source_from_memory(run->arena, run->path, run->source->text, run->source->size);
    ExitStatus status = run_source(run->arena, changes, input, stderr, &products);
    if (products.ptx) {
        status = EXIT_DONE;
        run->result = source_from_memory(run->arena, run->path, products.ptx, products.ptx_length);
        run->knobs = view_knobs(run->arena, products.knobs);
        run->report = json_loadb(products.report.data, products.report.length, 0, NULL);
    }
    products_free(&products);
    return status;
}

/* Reads what a run wrote. */
static ExitStatus read_run(FileRun *run, const json_t *row, size_t number)
{
    const char *error = NULL, *list = run->options->runs;
    const char *output = json_member_text(run->arena, row, "output");
    const char *report = json_member_text(run->arena, row, "report");
    const char **launch = ARENA_NEW(run->arena, const char *);
    *launch = json_member_text(run->arena, row, "launch");
    run->launches = launch;
    run->launch_count = *launch != NULL;
    run->path = json_member_text(run->arena, row, "input");
    run->knobs = view_knobs(run->arena, json_member_text(run->arena, row, "knobs"));
    if (!run->path || !output || !report)
        return fail(list, arena_printf(run->arena, "run %zu has no \"input\", \"output\" or \"report\"", number));
    run->source = source_read(run->arena, run->path, &error);
    if (!run->source)
        return fail(run->path, error);
    run->result = source_read(run->arena, output, &error);
    if (!run->result)
        return fail(output, error);
    run->report = json_file_read(run->arena, report, &error);
    if (!run->report) {
        fprintf(stderr, "ptxopt: error: %s\n", error);
        return EXIT_INPUT;
    }
    const char *format = json_string_value(json_object_get(run->report, "format"));
    return format && strcmp(format, "ptxopt-report") == 0 ? EXIT_DONE : fail(report, "it is not a report of ptxopt");
}

/* The pages of all runs so far. */
typedef struct Pages {
    Arena *arena;
    OutcomeVec outcomes;
    VEC(json_t *) reports; /* to which the outcomes refer */
} Pages;

/* Keeps the report of a run, and adds its kernels if it ended well. */
static ExitStatus add_run(Pages *pages, const FileRun *run, ExitStatus status)
{
    if (run->report)
        VEC_PUSH(pages->arena, pages->reports, run->report);
    if (status != EXIT_DONE)
        return status;
    const json_t *kernels = json_object_get(run->report, "kernels");
    for (size_t i = 0; i < json_array_size(kernels); i++)
        if (json_is_string(json_object_get(json_array_get(kernels, i), "kernel")))
            VEC_PUSH(pages->arena, pages->outcomes, read_kernel(run, json_array_get(kernels, i)));
    return EXIT_DONE;
}

static ExitStatus add_files(Pages *pages, const ViewOptions *options)
{
    ExitStatus status = EXIT_DONE;
    for (size_t i = 0; i < options->files.count && status == EXIT_DONE; i++) {
        FileRun run = {.arena = pages->arena, .options = options, .path = options->files.data[i]};
        status = run_file(&run);
        status = add_run(pages, &run, status);
    }
    return status;
}

static ExitStatus add_runs(Pages *pages, const ViewOptions *options)
{
    const char *error = NULL;
    json_t *list = json_file_read(pages->arena, options->runs, &error);
    if (!list) {
        fprintf(stderr, "ptxopt: error: %s\n", error);
        return EXIT_INPUT;
    }
    VEC_PUSH(pages->arena, pages->reports, list);
    const char *format = json_string_value(json_object_get(list, "format"));
    const json_t *rows = json_object_get(list, "runs");
    if (!format || strcmp(format, "ptxopt-runs") != 0 || json_integer_value(json_object_get(list, "version")) != 1 ||
        !json_is_array(rows))
        return fail(options->runs, "it is not a list of runs (\"format\": \"ptxopt-runs\", \"version\": 1, \"runs\": "
                                   "[...])");
    ExitStatus status = EXIT_DONE;
    for (size_t i = 0; i < json_array_size(rows) && status == EXIT_DONE; i++) {
        FileRun run = {.arena = pages->arena, .options = options};
        status = read_run(&run, json_array_get(rows, i), i + 1);
        status = add_run(pages, &run, status);
    }
    return status;
}

/* The options of the run, and the file if there is only one. */
static const char *page_title(Arena *arena, const ViewOptions *options, const json_t *list)
{
    const char *title = "ptxopt", *given = json_member_text(arena, list, "title");
    if (given)
        return given;
    for (int i = 0; i < options->change_count; i++)
        title = arena_printf(arena, "%s %s", title, options->changes[i]);
    return options->files.count == 1 ? arena_printf(arena, "%s %s", title, options->files.data[0]) : title;
}

int view_report(const ViewOptions *options)
{
    Pages pages = {.arena = arena_new()};
    ExitStatus status = options->runs ? add_runs(&pages, options) : add_files(&pages, options);
    if (status == EXIT_DONE) {
        Buf out = {0};
        const char *title = page_title(pages.arena, options, options->runs ? pages.reports.data[0] : NULL);
        view_print_report(pages.outcomes.data, pages.outcomes.count, title, &out);
        status = command_write(pages.arena, &options->output, &out);
        buf_free(&out);
    }
    for (size_t i = 0; i < pages.reports.count; i++)
        json_decref(pages.reports.data[i]);
    arena_free(pages.arena);
    return status;
}
