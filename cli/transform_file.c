/* `ptxopt FILE.ptx`: the library's run between the files that the command line names. */
#include <unistd.h>

#include "cli/transform_file.h"

/* Checked before any work is done. */
static bool outputs_possible(Arena *arena, const Options *options)
{
    const char *paths[] = {options->output, options->cubin, options->launch_out, options->knobs_out,
                           options->report_file};
    for (size_t i = 0; i < COUNT_OF(paths); i++) {
        const char *error = paths[i] ? output_check(arena, paths[i]) : NULL;
        if (error) {
            fprintf(stderr, "ptxopt: error: cannot write '%s': %s\n", paths[i], error);
            return false;
        }
    }
    return true;
}

/* Nothing but the report exists if the run has failed. */
static bool write_products(Arena *arena, const Options *options, const ptxopt_result *result)
{
    Output outputs[5];
    size_t count = 0, ptx_length, cubin_length;
    const char *ptx = ptxopt_result_ptx(result, &ptx_length), *report = ptxopt_result_report(result);
    const void *cubin = ptxopt_result_cubin(result, &cubin_length);
    const char *contract = ptxopt_result_contract(result), *knobs = ptxopt_result_assembler_options(result);
    const char *line = knobs && *knobs ? arena_printf(arena, "%s\n", knobs) : knobs;
    if (options->output && ptx)
        outputs[count++] = (Output){options->output, ptx, ptx_length};
    if (options->cubin && cubin)
        outputs[count++] = (Output){options->cubin, cubin, cubin_length};
    if (options->launch_out && contract)
        outputs[count++] = (Output){options->launch_out, contract, strlen(contract)};
    if (options->knobs_out && knobs)
        outputs[count++] = (Output){options->knobs_out, line, strlen(line)};
    if (options->report_file && report)
        outputs[count++] = (Output){options->report_file, report, strlen(report)};
    const char *error = outputs_write(arena, outputs, count);
    if (error) {
        fprintf(stderr, "ptxopt: error: %s\n", error);
        return false;
    }
    if (options->report && !options->report_file && report)
        fputs(report, stderr);
    return true;
}

/* People at a terminal want to know what was done. A log stays quiet, and so do those who asked for that; what is an
 * error must not depend on it. */
static bool wants_summary(const Options *options)
{
    return options->summary ||
           (isatty(STDERR_FILENO) && !options->quiet && !options->warnings_are_errors);
}

static ExitStatus transform_source(Arena *arena, const Options *options, Source *source)
{
    Options all = *options;
    all.summary = wants_summary(options);
    ptxopt_options *wanted = library_options(&all, stderr);
    ptxopt_module *module = library_module(source);
    ptxopt_result *result = wanted && module ? ptxopt_run(module, wanted) : NULL;
    if (!result)
        out_of_memory();
    ExitStatus status = (ExitStatus)ptxopt_result_status(result);
    if (!write_products(arena, options, result))
        status = EXIT_INPUT;
    ptxopt_result_free(result);
    ptxopt_module_free(module);
    ptxopt_options_free(wanted);
    return status;
}

ExitStatus transform_file(const Options *options)
{
    Arena *arena = arena_new();
    const char *error = NULL;
    ExitStatus status = EXIT_INPUT;
    if (outputs_possible(arena, options)) {
        Source *source = source_read(arena, options->input, &error);
        if (source && options->input_name)
            source_compiled_from(arena, source, options->input_name);
        if (source)
            status = transform_source(arena, options, source);
        else
            fprintf(stderr, "ptxopt: error: cannot read '%s': %s\n", options->input, error);
    }
    arena_free(arena);
    return status;
}
