/* After the passes: the module is printed, assembled, verified and reported on. */
#include <stdlib.h>
#include <string.h>

#include "emit/emit.h"
#include "engine/choose/pays.h"
#include "engine/launch.h"
#include "engine/report/summary.h"
#include "engine/run_steps.h"
#include "engine/spilled.h"
#include "parser/parser.h"

/* The original of a coarsened kernel, under a name of its own, so that a program can launch it if the contract does not
 * allow the coarsened one. */
static void print_original(const Function *kernel, const Source *source, Buf *out)
{
    Span text = kernel->text;
    const char *begin = source->text + text.begin;
    const char *entry = memmem(begin, text.end - text.begin, ".entry", 6);
    size_t length = strlen(kernel->name);
    const char *name = entry ? memmem(entry, (size_t)(source->text + text.end - entry), kernel->name, length) : NULL;
    require(name != NULL);
    if (out->length && out->data[out->length - 1] != '\n')
        buf_putc(out, '\n');
    buf_write(out, begin, (size_t)(name + length - begin));
    buf_puts(out, ORIGINAL_SUFFIX);
    buf_write(out, name + length, (size_t)(source->text + text.end - name) - length);
    buf_putc(out, '\n');
}

/* The words that runtime/contracts.c reads (docs/formats.md). */
static void print_pays(const KernelReport *kernel, Buf *out)
{
    const Name name = kernel->result.kernel->name;
    buf_printf(out, ".visible .global .align 4 .u32 __ptxopt_pays_%s[4] = {%u, %u, %u, %u};\n", name,
               (unsigned)PAYS_MAGIC, (unsigned)PAYS_FORMAT, kernel->choice.pays.from, kernel->choice.pays.factors);
}

/* The same for those that depend on a parameter. */
static void print_trips(const KernelReport *kernel, Buf *out)
{
    uint32_t words[TRIPS_WORDS] = {0};
    trips_set(words, &kernel->choice.pays.by_trips);
    const Name name = kernel->result.kernel->name;
    buf_printf(out, ".visible .global .align 4 .u32 __ptxopt_trips_%s[%d] = {", name, TRIPS_WORDS);
    for (unsigned i = 0; i < TRIPS_WORDS; i++)
        buf_printf(out, "%s%u", i ? ", " : "", words[i]);
    buf_puts(out, "};\n");
}

/* The most forms that are beside a kernel. */
static unsigned most_forms(const Run *run)
{
    unsigned most = 0;
    for (size_t i = 0; i < run->report.kernel_count; i++)
        most = run->report.kernels[i].form_count > most ? run->report.kernels[i].form_count : most;
    return most;
}

void print_module(const Run *run, Products *products)
{
    const Source *source = run->report.source;
    buf_clear(&products->printed);
    if (run->options->canonical) {
        emit_module(run->module, &products->printed);
    } else if (module_is_as_written(run->module) && !most_forms(run)) {
        products->ptx = source->text;
        products->ptx_length = source->size;
        return;
    } else {
        emit_module_as_written(run->module, &products->printed);
    }
    for (size_t i = 0; i < run->report.kernel_count && run->options->keep_original; i++) {
        const KernelReport *kernel = &run->report.kernels[i];
        forms_print_tuned(run, kernel, &products->printed);
        if (kernel->result.coarsening == OUTCOME_DONE)
            print_original(kernel->result.kernel, source, &products->printed);
        const FormPays *pays = &kernel->choice.pays;
        const bool is_done = kernel->result.coarsening == OUTCOME_DONE;
        if ((pays->from || pays->factors) && (is_done || (kernel->form_count && !kernel->is_several)))
            print_pays(kernel, &products->printed);
        if (pays->from && pays->by_trips.count && is_done)
            print_trips(kernel, &products->printed);
    }
    products->ptx = buf_text(&products->printed);
    products->ptx_length = products->printed.length;
}

static const char *first_line(Arena *arena, const char *text)
{
    return arena_strndup(arena, text, strcspn(text, "\n"));
}

static bool note_assembly(Run *run, const Assembly *assembly)
{
    run->report.assemblies++;
    run->report.assembler_seconds += assembly->seconds;
    return assembly->failure == ASSEMBLY_DONE;
}

/* Only the only kernel of a module can have knobs and controls. */
unsigned output_knobs(const Run *run)
{
    unsigned knobs = 0;
    for (size_t i = 0; i < run->report.kernel_count; i++)
        knobs |= knobs_of(run->report.kernels[i].result.kernel);
    return knobs;
}

const char *output_controls(const Run *run)
{
    const char *controls = NULL;
    for (size_t i = 0; i < run->report.kernel_count && !controls; i++)
        controls = controls_of(run->report.kernels[i].result.kernel);
    return controls;
}

/* All cores are used if the result matters only in whether it assembles. */
static AssemblyRequest output_request(const Run *run, const Products *products)
{
    AssemblyRequest request = assembly_request(products->ptx, products->ptx_length);
    request.options = knobs_words(run->arena, output_knobs(run), output_controls(run));
    request.want_cubin = run->options->cubin != NULL || spills_need_counting(request.ptx, request.size);
    request.many_cores = !run->options->cubin && !options_want_figures(run->options);
    return request;
}

static bool assemble_output_alone(Run *run, const Products *products)
{
    const AssemblyRequest request = output_request(run, products);
    run_assemble(run, &request, true, &run->assembly);
    return note_assembly(run, &run->assembly);
}

/* Assembles the output, and at the same time the input, with which a report compares it. */
static bool assemble_output_and_input(Run *run, Products *products)
{
    enum { BOTH = COUNT_OF(products->assemblies) };
    const Source *source = run->report.source;
    AssemblyRequest requests[BOTH] = {output_request(run, products), assembly_request(source->text, source->size)};
    requests[1].want_cubin = spills_need_counting(source->text, source->size);
    if (run->options->split.wanted || run->options->split.seconds) {
        run_assemble(run, &requests[1], false, &run->of_input);
        note_assembly(run, &run->of_input);
        return assemble_output_alone(run, products);
    }
    Assembly results[BOTH];
    for (unsigned i = 0; i < BOTH; i++)
        products->assemblies[i] = arena_new();
    assembler_run_many(run->assembler, requests, products->assemblies, results, BOTH);
    run->assembly = results[0];
    run->of_input = results[1];
    note_assembly(run, &run->of_input);
    return note_assembly(run, &run->assembly);
}

static bool is_input_assembled(const Run *run)
{
    return run->of_input.resources || run->of_input.failure != ASSEMBLY_DONE;
}

static bool assemble_input(Run *run)
{
    const Source *source = run->report.source;
    if (is_input_assembled(run))
        return run->of_input.failure == ASSEMBLY_DONE;
    AssemblyRequest request = assembly_request(source->text, source->size);
    request.want_cubin = true;
    run_assemble(run, &request, false, &run->of_input);
    return note_assembly(run, &run->of_input);
}

/* True if the output is to be assembled even though nothing changed. */
static bool wants_unchanged(const Options *options)
{
    return options->cubin || options->report || option_given(options, OPTION_ASSEMBLER);
}

void answer_input(Run *run, const Function *kernel)
{
    if (!run->assembler || !wants_unchanged(run->options))
        return;
    if (assemble_input(run))
        assembler_judge_answer(&run->judge, &(FunctionForm){.function = kernel}, &run->of_input);
}

/* The line of the output that the assembler complains about. */
static const char *text_line(Arena *arena, const char *text, unsigned line)
{
    for (unsigned at = 1; at < line && text; at++) {
        text = strchr(text, '\n');
        text = text ? text + 1 : NULL;
    }
    return text && line ? first_line(arena, text + strspn(text, " \t")) : NULL;
}

static void explain_rejection(Run *run, const Assembly *assembly, const char *output)
{
    const Source *source = run->report.source;
    const Assembly *of_input = &run->of_input;
    if (!assemble_input(run)) {
        fprintf(run->messages, "%s: error: %s rejects the input already: %s\n", source->path, run->report.assembler,
                of_input->message ? of_input->message : assembly_failure_word(of_input->failure));
        fprintf(run->messages, "ptxopt: note: -assembler none writes PTX without assembling it\n");
    } else {
        fprintf(run->messages, "%s: error: the output does not assemble: %s: %s\n", source->path,
                assembly_failure_word(assembly->failure), assembly->message ? assembly->message : "no reason given");
        const char *line = text_line(run->arena, output, assembly->error_line);
        if (line)
            fprintf(run->messages, "ptxopt: note: line %u of the output is: %s\n", assembly->error_line, line);
        fprintf(
            run->messages,
            "ptxopt: note: %s accepts the input, so this is a bug in ptxopt or in %s; switch passes off with -p -PASS "
            "to find the one at fault\n",
            run->report.assembler, run->report.assembler);
    }
    if (run->options->verbose && *assembly->log)
        fprintf(run->messages, "%s%s", assembly->log, assembly->log[strlen(assembly->log) - 1] == '\n' ? "" : "\n");
    fprintf(run->messages, "ptxopt: nothing is written\n");
}

static void set_standing(const Run *run, const Tuning *tuning, Standing *standing)
{
    const Figures *figures = &standing->figures;
    unsigned threads = block_size_total(&standing->block);
    standing->occupancy_known = run->sm && figures->known && threads;
    if (!standing->occupancy_known)
        return;
    const uint64_t shared = figures->shared + standing->dynamic_shared;
    standing->occupancy = sm_occupancy(run->sm, threads, figures->registers, shared);
    standing->free_up_to = sm_boundary_above(run->sm, threads, shared, figures->registers);
    standing->next_boundary = sm_boundary_below(run->sm, threads, shared, figures->registers);
    if (standing->next_boundary)
        standing->next_blocks = sm_occupancy(run->sm, threads, standing->next_boundary, shared).blocks;
    /* Dynamic shared memory usually grows with the block. */
    if (!tuning->reqntid_count && !standing->dynamic_shared)
        standing->better_block =
            sm_block_better(run->sm, threads, figures->registers, shared, &standing->better_warps);
}

/* Sets the figures; 'text' is the text that was assembled. */
static void set_figures(Standing *standing, const Assembly *assembly, const char *text, size_t size,
                        const char *kernel)
{
    const Resources *resources = assembly ? assembly_find(assembly, kernel) : NULL;
    if (!resources)
        return;
    standing->figures = figures_of_resources(resources);
    standing->assembly_ms = resources->milliseconds;
    if (spills_need_counting(text, size))
        spills_count(assembly, kernel, &standing->figures);
}

/* Completes the report with figures from assembling the two whole files, as their user would. */
static void complete_report(Run *run, const Assembly *before, const Assembly *after, const Products *products)
{
    const Source *source = run->report.source;
    for (size_t i = 0; i < run->report.kernel_count; i++) {
        KernelReport *kernel = &run->report.kernels[i];
        kernel->before.figures = kernel->result.before;
        kernel->after.figures = kernel->result.after;
        const char *name = kernel->result.kernel->name;
        set_figures(&kernel->before, before, source->text, source->size, name);
        set_figures(&kernel->after, after, products->ptx, products->ptx_length, name);
        kernel->before.block = kernel->result.block_before;
        kernel->after.block = kernel->result.block_after;
        const LaunchChange change = kernel_launch_change(&kernel->result);
        kernel->before.dynamic_shared = kernel->request.dynamic_shared;
        kernel->after.dynamic_shared = launch_change_shared(&change, kernel->request.dynamic_shared);
        set_standing(run, &kernel->tuning, &kernel->before);
        set_standing(run, &kernel->tuning, &kernel->after);
    }
}

static ExitStatus keep_cubin(const Run *run, Products *products)
{
    products->cubin = run->assembly.cubin;
    products->cubin_size = run->assembly.cubin_size;
    return EXIT_DONE;
}

ExitStatus assemble_output(Run *run, Products *products)
{
    const Options *options = run->options;
    bool is_input = products->ptx == run->report.source->text;
    if (!run->assembler || !(run->changed || wants_unchanged(options)))
        return EXIT_DONE;
    bool is_compared = options_want_figures(options) && !is_input && !is_input_assembled(run);
    if (is_input && is_input_assembled(run))
        run->assembly = run->of_input;
    if (run->assembly.resources)
        return keep_cubin(run, products);
    if (is_compared ? assemble_output_and_input(run, products) : assemble_output_alone(run, products))
        return keep_cubin(run, products);
    if (assembly_broke(run->assembly.failure) && restore_broken_kernels(run)) {
        if (options->warnings_are_errors)
            return EXIT_INPUT;
        print_module(run, products);
        if (assemble_output_alone(run, products))
            return keep_cubin(run, products);
    }
    if (run->assembly.failure != ASSEMBLY_UNAVAILABLE && forms_drop_tuned(run)) {
        print_module(run, products);
        if (products->ptx == run->report.source->text || assemble_output_alone(run, products))
            return keep_cubin(run, products);
    }
    if (run->assembly.failure == ASSEMBLY_UNAVAILABLE) {
        fprintf(run->messages, "ptxopt: error: %s can no longer be used: %s\n", run->report.assembler,
                run->assembly.message);
        return EXIT_INPUT;
    }
    explain_rejection(run, &run->assembly, products->ptx);
    return EXIT_REJECTED;
}

void complete_figures(Run *run, const Products *products)
{
    bool is_assembled = run->assembler && run->assembly.resources;
    const Assembly *before = NULL;
    if (is_assembled && products->ptx == run->report.source->text)
        before = &run->assembly;
    else if (is_assembled && assemble_input(run))
        before = &run->of_input;
    complete_report(run, before, is_assembled ? &run->assembly : NULL, products);
    run->report.assemblies += run->judge.calls;
    run->report.assembler_seconds += run->judge.seconds;
}

/* Prints the summary, unless a report on standard error has the same lines. */
void print_summary(const Run *run)
{
    const Options *options = run->options;
    Buf text = {0};
    if (options->report && !options->report_file && !options->report_json)
        return;
    summary_print(&run->report, 0, &text);
    fputs(buf_text(&text), run->messages);
    buf_free(&text);
}

void make_report(Run *run, Products *products)
{
    if (run->options->report_json)
        report_print_json(&run->report, &products->report);
    else
        report_print_text(&run->report, &products->report);
}

/* Adds the verification that was made last to the report, prints it, and returns the run's status with it. */
static ExitStatus verification_status(Run *run, const Module *input, ExitStatus status)
{
    const Verification *verification = &run->report.verifications[run->report.verification_count++];
    const bool quiet = run->options->quiet;
    verification_print(verification, input, run->messages);
    if (verification->original_because && !quiet)
        fprintf(run->messages, "ptxopt: note: -verify %s: the original of kernel '%s' runs: %s\n", verification->path,
                verification->kernel, verification->original_because);
    if (verification->weakened && verification->outcome != VERIFY_NOT_DONE && !quiet)
        fprintf(run->messages, "ptxopt: warning: -verify %s: the input itself is at fault: %s\n", verification->path,
                verification->weakened);
    if (verification->outcome == VERIFY_DIFFERENT)
        return EXIT_DIFFERENT;
    return verification->outcome == VERIFY_NOT_DONE && status == EXIT_DONE ? EXIT_UNVERIFIED : status;
}

/* The kernels whose sums of floating-point numbers are added in another order, or that have dead buffers. */
static Freedoms find_freedoms(const Run *run)
{
    Freedoms found = {.of = ARENA_ARRAY(run->arena, Freedom, run->report.kernel_count + 1)};
    for (size_t i = 0; i < run->report.kernel_count; i++) {
        const KernelResult *result = &run->report.kernels[i].result;
        const bool refines = result->coarsening == OUTCOME_DONE && result->refined.reassociated;
        const bool reorders = refines || partial_sums_reassociate(&result->summed) ||
                              counters_reassociate(&result->counted);
        if (reorders || dead_buffers_count(&result->dead))
            found.of[found.count++] = (Freedom){result->kernel->name, reorders, &result->dead};
    }
    return found;
}

/* Parses both texts, so that exactly the text that is written is compared. */
ExitStatus verify_output(Run *run, const Products *products)
{
    const Options *options = run->options;
    Report *report = &run->report;
    const Source *source = run->report.source;
    if (!options->verify.count)
        return EXIT_DONE;
    Diag quiet;
    diag_init(&quiet, source, run->messages);
    quiet.quiet = true;
    Module *input = parse_module(run->arena, source, &quiet);
    Source *text = source_from_memory(run->arena, "output", products->ptx, products->ptx_length);
    diag_init(&quiet, text, run->messages);
    quiet.quiet = true;
    Module *output = parse_module(run->arena, text, &quiet);
    if (!input || !output)
        bug("the output does not parse");
    ExitStatus status = EXIT_DONE;
    const unsigned forms = most_forms(run) + 1;
    const Freedoms freedoms = find_freedoms(run);
    report->verifications = ARENA_ARRAY(run->arena, Verification, options->verify.count * forms);
    for (size_t i = 0; i < options->verify.count; i++) {
        const char *path = options->verify.data[i];
        verify_launch(run->arena, input, output, path, &freedoms, &report->verifications[report->verification_count]);
        status = verification_status(run, input, status);
        for (unsigned k = 1; k < forms; k++)
            if (verify_form(run->arena, input, output, path, k, &freedoms,
                            &report->verifications[report->verification_count]))
                status = verification_status(run, input, status);
    }
    if (status == EXIT_DIFFERENT)
        fprintf(run->messages,
                "ptxopt: note: what the kernel computes depends on the order in which its threads run, or this "
                "is a bug in ptxopt; -p -PASS finds the pass to blame\n");
    if (status != EXIT_DONE)
        fprintf(run->messages, "ptxopt: nothing is written\n");
    return status;
}

static void note_launch(Run *run, const KernelResult *result)
{
    const LaunchContract *contract = &result->contract;
    char shape[SHAPE_TEXT];
    Buf text = {0};
    launch_words_print(contract, &text);
    diag_note(&run->diag, result->kernel->span, "kernel '%s' is %s %s: launch it with %s", result->kernel->name,
              merges_any(contract->shape.refined) ? "refined to" : "coarsened by",
              shape_first_text(&contract->shape, shape), buf_text(&text));
    buf_free(&text);
}

/* Notes that the user must launch the kernel differently, unless a report or a launch file says so in more detail, or
 * originals are kept for a program that adapts its launches itself. */
void note_launches(Run *run)
{
    const Options *options = run->options;
    if (options->report || options->summary || options->launch_out || options->keep_original)
        return;
    for (size_t i = 0; i < run->report.kernel_count; i++) {
        const KernelResult *result = &run->report.kernels[i].result;
        if (result->coarsening != OUTCOME_DONE || !contract_changes_launch(&result->contract))
            continue;
        note_launch(run, result);
    }
}

/* Notes that the PTX needs assembler options to have the figures that were found for it. A file that ptxas reads
 * contains them too. */
void note_knobs(Run *run)
{
    const unsigned knobs = output_knobs(run);
    const char *controls = output_controls(run);
    if ((knobs || controls) && run->options->output && !run->options->knobs_out)
        diag_report_plain(&run->diag, SEVERITY_NOTE, "assemble with: %s (options of ptxas, which PTX cannot say; "
                          "-knobs-out writes a file for its --options-file)", knobs_text(run->arena, knobs, controls));
}
