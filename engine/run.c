/* One run: parse, change the requested kernels, assemble the result, and report. */
#include "engine/run.h"

#include "engine/run_steps.h"

static ExitStatus finish(Run *run, Products *products)
{
    print_module(run, products);
    products->knobs = knobs_text(run->arena, output_knobs(run), output_controls(run));
    ExitStatus status = assemble_output(run, products);
    if (status != EXIT_DONE)
        return status;
    status = verify_output(run, products);
    if (run->options->launch_out)
        launch_print_json(&run->report, &products->launch);
    if (options_want_figures(run->options))
        complete_figures(run, products);
    if (run->options->report)
        make_report(run, products);
    check_products(run, products);
    if (status != EXIT_DONE)
        return status;
    if (run->options->summary)
        print_summary(run);
    note_launches(run);
    note_knobs(run);
    if (run->options->verbose && run->assembler)
        fprintf(run->messages, "ptxopt: %u candidate%s assembled in %.2f seconds, %u answered from memory\n",
                run->judge.calls, plural(run->judge.calls), run->judge.seconds, run->judge.repeats);
    return is_refused_by_name(run) || run->lacks_assembler ? EXIT_REFUSED : EXIT_DONE;
}

/* The steps, in order; the first that fails decides the status. */
static ExitStatus run_steps(Run *run, Products *products)
{
    lower_version(run);
    if (!read_module(run))
        return EXIT_INPUT;
    if (!names_exist(run) || !choose_arch(run))
        return EXIT_USAGE;
    bool is_ready = open_assembler(run);
    products->assembler = run->assembler;
    if (!is_ready || !read_launches(run) || !check_verify(run) || !read_learned(run))
        return EXIT_INPUT;
    run_kernels(run);
    if (run->diag.errors || (run->diag.warnings && run->options->warnings_are_errors))
        return EXIT_INPUT;
    return finish(run, products);
}

ExitStatus run_source(Arena *arena, const Options *options, Source *source, FILE *messages, Products *products)
{
    Run *run = ARENA_NEW(arena, Run);
    *run = (Run){.options = options, .source = source, .messages = messages, .arena = arena};
    *products = (Products){0};
    ExitStatus status = run_steps(run, products);
    run_close(run);
    products->assembler = NULL;
    if (status != EXIT_DONE && status != EXIT_REFUSED)
        products->ptx = products->cubin = products->knobs = NULL;
    products->kernels = &run->report;
    /* Bodies have arenas of their own. */
    for (size_t i = 0; run->module && i < run->module->items.count; i++)
        if (run->module->items.data[i].kind == ITEM_FUNCTION && run->module->items.data[i].function->body)
            function_set_body(run->module->items.data[i].function, NULL);
    return status;
}

void products_free(Products *products)
{
    assembler_close(products->assembler);
    buf_free(&products->printed);
    buf_free(&products->launch);
    buf_free(&products->report);
    for (unsigned i = 0; i < COUNT_OF(products->assemblies); i++)
        arena_free(products->assemblies[i]);
    *products = (Products){0};
}
