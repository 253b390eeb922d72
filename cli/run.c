/* One run: read, parse, change the requested kernels, assemble the result, report, and only then write. */
#include "cli/run.h"

#include "cli/run_internal.h"

static ExitStatus finish(Run *run, Results *results)
{
    print_module(run, results);
    ExitStatus status = assemble_output(run, results);
    if (status != EXIT_DONE)
        return status;
    status = verify_output(run, results);
    if (run->options->launch_out)
        launch_print_json(&run->report, &results->launch);
    if (run->options->report)
        make_report(run, results);
    if (!write_results(run, results, status))
        return EXIT_INPUT;
    if (status != EXIT_DONE)
        return status;
    note_launches(run);
    if (run->options->verbose && run->assembler)
        fprintf(stderr, "ptxopt: %u candidates assembled in %.2f seconds, %u answered from memory\n", run->judge.calls,
                run->judge.seconds, run->judge.repeats);
    return run->named_refused ? EXIT_REFUSED : EXIT_DONE;
}

/* The steps, in order; the first that fails decides the status. */
static ExitStatus run_steps(Run *run)
{
    if (!outputs_possible(run) || !read_module(run))
        return EXIT_INPUT;
    if (!names_exist(run) || !choose_arch(run))
        return EXIT_USAGE;
    if (!open_assembler(run) || !read_launches(run))
        return EXIT_INPUT;
    run_kernels(run);
    if (run->diag.errors || (run->diag.warnings && run->options->warnings_are_errors))
        return EXIT_INPUT;
    Results results = {0};
    ExitStatus status = finish(run, &results);
    buf_free(&results.printed);
    buf_free(&results.launch);
    buf_free(&results.report);
    return status;
}

ExitStatus run_file(const Options *options)
{
    Run run = {.options = options, .arena = arena_new()};
    ExitStatus status = run_steps(&run);
    assembler_close(run.assembler);
    /* Bodies have arenas of their own. */
    for (size_t i = 0; run.module && i < run.module->items.count; i++)
        if (run.module->items.data[i].kind == ITEM_FUNCTION && run.module->items.data[i].function->body)
            function_set_body(run.module->items.data[i].function, NULL);
    arena_free(run.arena);
    return status;
}
