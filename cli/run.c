/* One run: read, parse, change each kernel that is asked for, assemble the result, report, and only then write. */
#include "cli/run.h"

#include <stdlib.h>
#include <string.h>

#include "cli/choose.h"
#include "cli/judge.h"
#include "cli/output.h"
#include "cli/report.h"
#include "emit/emit.h"
#include "parser/parser.h"

typedef struct Run {
    const Options *options;
    Arena *arena;
    Diag diag;
    Module *module;
    const char *arch;
    const Machine *machine; /* NULL: none of that number is known */
    Assembler *assembler;   /* NULL: none */
    const char *assembler_missing;
    AssemblerJudge judge;
    PipelineOptions pipeline;
    Report report;
    bool changed;       /* some kernel is not as it came */
    bool named_refused; /* exit status 3 */
} Run;

static const char *first_line(Arena *arena, const char *text)
{
    return arena_strndup(arena, text, strcspn(text, "\n"));
}

/* ---- Before the passes ------------------------------------------------------------------------------------------ */

static bool outputs_possible(Run *run)
{
    const Options *options = run->options;
    const char *paths[] = {options->output, options->cubin, options->launch_out, options->report_file};
    for (size_t i = 0; i < COUNT_OF(paths); i++) {
        const char *error = paths[i] ? output_check(run->arena, paths[i]) : NULL;
        if (error) {
            fprintf(stderr, "ptxopt: error: cannot write '%s': %s\n", paths[i], error);
            return false;
        }
    }
    return true;
}

/* Where nothing is to be changed, the code is checked as it is read, and not kept. */
static bool wants_bodies(const Options *options)
{
    bool wanted = options->coarsen.count || options->registers.count || options->blocks.count || options->canonical;
    for (unsigned i = 0; i < PASS_COUNT; i++)
        wanted |= options->pass_dumped[i];
    return wanted;
}

static bool keeps_nothing(void *context, const Function *function)
{
    (void)context;
    (void)function;
    return false;
}

static bool read_module(Run *run)
{
    const char *error;
    Source *source = source_read(run->arena, run->options->input, &error);
    if (!source) {
        fprintf(stderr, "ptxopt: error: cannot read '%s': %s\n", run->options->input, error);
        return false;
    }
    diag_init(&run->diag, source, stderr);
    run->diag.warnings_are_errors = run->options->warnings_are_errors;
    run->diag.quiet = run->options->quiet;
    ParseOptions parse = {.keeps = wants_bodies(run->options) ? NULL : keeps_nothing};
    run->module = parse_module_with(run->arena, source, &run->diag, &parse);
    run->report.source = source;
    return run->module != NULL;
}

static bool is_kernel(const Item *item)
{
    return item->kind == ITEM_FUNCTION && item->function->is_entry && item->function->has_body;
}

/* False, with a message that helps to find the right name, if the module has no such kernel. */
static bool kernel_exists(Run *run, const char *option, const char *name)
{
    if (!name)
        return true;
    VEC(const char *) names = {0};
    for (size_t i = 0; i < run->module->items.count; i++) {
        const Item *item = &run->module->items.data[i];
        if (!is_kernel(item))
            continue;
        if (strcmp(item->function->name, name) == 0)
            return true;
        VEC_PUSH(run->arena, names, item->function->name);
    }
    Buf hint = {0};
    const char *closest = closest_word(name, names.data, names.count);
    const char *within = NULL; /* the one kernel whose mangled name holds the word */
    unsigned within_count = 0;
    for (size_t i = 0; i < names.count; i++)
        if (strstr(names.data[i], name)) {
            within = names.data[i];
            within_count++;
        }
    if (within_count == 1)
        closest = within;
    if (closest) {
        buf_printf(&hint, "; did you mean '%s'?", closest);
    } else if (!names.count) {
        buf_puts(&hint, "; it has none");
    } else {
        buf_puts(&hint, "; it has ");
        for (size_t i = 0; i < names.count && i < 8; i++)
            buf_printf(&hint, "%s'%s'", i ? ", " : "", names.data[i]);
        if (names.count > 8)
            buf_printf(&hint, " and %zu more", names.count - 8);
    }
    fprintf(stderr, "ptxopt: error: %s: %s has no kernel '%s'%s\n", option, run->report.source->path, name,
            buf_text(&hint));
    buf_free(&hint);
    return false;
}

static bool named_kernel_usable(Run *run, const char *option, const char *name)
{
    if (!kernel_exists(run, option, name))
        return false;
    if (!name || options_selects(run->options, name))
        return true;
    fprintf(stderr, "ptxopt: error: %s asks for kernel '%s', but -entry leaves it out\n", option, name);
    return false;
}

static bool names_exist(Run *run)
{
    const Options *options = run->options;
    for (size_t i = 0; i < options->entries.count; i++)
        if (!kernel_exists(run, "-entry", options->entries.data[i]))
            return false;
    for (size_t i = 0; i < options->coarsen.count; i++)
        if (!named_kernel_usable(run, "-coarsen", options->coarsen.data[i].kernel))
            return false;
    for (size_t i = 0; i < options->registers.count; i++)
        if (!named_kernel_usable(run, "-target-regs", options->registers.data[i].kernel))
            return false;
    for (size_t i = 0; i < options->blocks.count; i++)
        if (!kernel_exists(run, "-block", options->blocks.data[i].kernel))
            return false;
    return true;
}

/* What to assemble and judge for: -arch, else the .target.  PTX runs on its target and on what is newer; with a suffix,
 * on that architecture alone (PTX ISA, chapter 11.1.2). */
static bool choose_arch(Run *run)
{
    const Arch oldest = arch_assembled((Arch){0});
    Arch target = oldest, wanted;
    const char *target_name = NULL;
    for (unsigned i = 0; i < run->module->target_count; i++)
        if (arch_parse(run->module->targets[i], &target))
            target_name = run->module->targets[i];
    wanted = arch_assembled(target);
    if (run->options->arch) {
        arch_parse(run->options->arch, &wanted);
        if (wanted.number < oldest.number) {
            fprintf(stderr, "ptxopt: error: -arch %s: assemblers make code for sm_%u and newer only\n",
                    run->options->arch, oldest.number);
            return false;
        }
        if (!machine_for(arch_names(wanted).real)) {
            fprintf(stderr, "ptxopt: error: -arch %s: no such architecture is known\n", run->options->arch);
            return false;
        }
        if (wanted.number < target.number || (target.suffix == 'a' && wanted.number != target.number)) {
            fprintf(stderr, "ptxopt: error: -arch %s: %s is for %s%s\n", run->options->arch, run->report.source->path,
                    target_name, target.suffix == 'a' ? " alone" : " and newer");
            return false;
        }
    }
    run->arch = arena_printf(run->arena, "%s", arch_names(wanted).real);
    run->machine = machine_for(run->arch);
    run->report.arch = run->arch;
    return true;
}

/* Rewriting without a change needs no assembler, so none is started for it unless something asks for one. */
static bool wants_assembler(const Options *options)
{
    return options->assembler_given || options->coarsen.count || options->registers.count || options->cubin ||
           options->report;
}

static bool open_assembler(Run *run)
{
    const Options *options = run->options;
    Report *report = &run->report;
    if (options->assembler_none) {
        report->assembler_missing = "-assembler none";
        return true;
    }
    if (run->assembler || !wants_assembler(options))
        return true;
    const char *error = NULL;
    run->assembler = assembler_open(run->arena, options->assembler, run->arch, &error);
    if (run->assembler) {
        report->assembler = assembler_name(run->assembler);
        report->assembler_version = assembler_version(run->assembler);
        report->assembler_path = assembler_path(run->assembler);
        assembler_judge_init(&run->judge, run->arena, run->assembler);
        if (options->verbose) {
            fprintf(stderr, "ptxopt: %s %s (%s) assembles for %s\n", report->assembler, report->assembler_version,
                    report->assembler_path, run->arch);
            if (assembler_note(run->assembler))
                fprintf(stderr, "ptxopt: %s\n", assembler_note(run->assembler));
        }
        return true;
    }
    run->assembler_missing = error;
    report->assembler_missing = first_line(run->arena, error);
    bool is_needed = options->assembler_given || options->cubin || options->warnings_are_errors;
    for (size_t i = 0; i < options->coarsen.count; i++)
        is_needed |= options->coarsen.data[i].is_auto;
    if (is_needed) {
        fprintf(stderr, "ptxopt: error: %s\n", error);
        return false;
    }
    if (!options->quiet)
        fprintf(stderr,
                "ptxopt: warning: %s\nptxopt: note: without an assembler registers are not reduced, and nothing is "
                "checked by assembling it\n",
                error);
    return true;
}

/* ---- The passes ------------------------------------------------------------------------------------------------- */

static void set_request(Run *run, KernelReport *report)
{
    const char *name = report->result.kernel->name;
    KernelRequest *request = &report->request;
    const CoarsenOption *coarsen = options_coarsen_for(run->options, name);
    const RegistersOption *registers = options_registers_for(run->options, name);
    const BlockOption *block = options_block_for(run->options, name);
    *request = (KernelRequest){.coarsening = {.factor = {1, 1, 1}, .stride = run->options->stride}};
    if (block)
        memcpy(request->block, block->threads, sizeof request->block);
    else if (!coarsen)
        block_from_tuning(&report->result.kernel->tuning, request->block);
    memcpy(request->coarsening.block, request->block, sizeof request->block);
    if (coarsen) {
        report->is_auto = coarsen->is_auto;
        request->coarsen_named = coarsen->kernel != NULL;
        memcpy(request->coarsening.factor, coarsen->factor, sizeof coarsen->factor);
        request->coarsen = coarsen->factor[0] > 1 || coarsen->factor[1] > 1 || coarsen->factor[2] > 1;
    }
    if (registers) {
        request->registers = true;
        request->registers_named = registers->kernel != NULL;
        request->registers_auto = registers->is_auto;
        request->target_registers = registers->target;
    }
}

/* -block tells what the module leaves open; where it contradicts the module, the module holds. */
static void check_block(Run *run, const KernelReport *report)
{
    const Function *kernel = report->result.kernel;
    const unsigned *block = report->request.block;
    const Tuning *tuning = &kernel->tuning;
    const BlockOption *option = options_block_for(run->options, kernel->name);
    if (!option)
        return;
    uint64_t threads = (uint64_t)block[0] * block[1] * block[2], most = 1;
    for (unsigned i = 0; i < tuning->maxntid_count; i++)
        most *= tuning->maxntid[i];
    for (unsigned i = 0; i < tuning->reqntid_count; i++)
        if (tuning->reqntid[i] != block[i]) {
            diag_warning(&run->diag, kernel->span,
                         "-block gives '%s' %u threads along %c, but its .reqntid says %u, which holds", kernel->name,
                         block[i], "xyz"[i], tuning->reqntid[i]);
            return;
        }
    if (tuning->maxntid_count && threads > most)
        diag_warning(&run->diag, kernel->span, "-block gives '%s' %llu threads, but its .maxntid allows %llu at most",
                     kernel->name, (unsigned long long)threads, (unsigned long long)most);
}

static void warn_refusals(Run *run, KernelReport *report)
{
    const KernelResult *result = &report->result;
    const char *name = result->kernel->name;
    if (result->coarsening == OUTCOME_REFUSED) {
        Span span = result->refusal.has_span ? result->refusal.span : result->kernel->span;
        diag_warning(&run->diag, span, "kernel '%s' is not coarsened: %s", name, result->refusal.reason);
        run->named_refused |= report->request.coarsen_named;
    }
    if (result->registers == OUTCOME_REFUSED) {
        diag_warning(&run->diag, result->kernel->span, "the registers of kernel '%s' are not reduced: %s", name,
                     result->registers_refusal);
        run->named_refused |= report->request.registers_named;
    } else if (report->request.registers && !report->request.registers_auto && result->registers != OUTCOME_NOT_ASKED &&
               !result->reduction.reached) {
        diag_warning(&run->diag, result->kernel->span, "kernel '%s' does not get down to %u registers%s%s", name,
                     report->request.target_registers, result->reduction.explanation ? ": " : "",
                     result->reduction.explanation ? result->reduction.explanation : "");
    }
}

/* Whether coarsening is asked for a kernel that carries a launch contract already. */
static bool is_coarsened_already(Run *run, const KernelReport *report)
{
    Name symbol = contract_symbol_name(run->module, report->result.kernel->name);
    return (report->request.coarsen || report->is_auto) && module_find_variable(run->module, symbol);
}

static void run_kernels(Run *run)
{
    Report *report = &run->report;
    size_t kernels = 0;
    for (size_t i = 0; i < run->module->items.count; i++)
        kernels += is_kernel(&run->module->items.data[i]);
    report->kernels = ARENA_ARRAY(run->arena, KernelReport, kernels + 1);
    if (!kernels && (run->options->coarsen.count || run->options->registers.count))
        diag_report_plain(&run->diag, SEVERITY_WARNING, "the module has no kernel, so there is nothing to change");
    run->pipeline = (PipelineOptions){
        .machine = run->machine,
        .judge = run->assembler ? &run->judge.judge : NULL,
        .level = run->options->level,
        .dump_out = stderr,
    };
    memcpy(run->pipeline.enabled, run->options->pass_enabled, sizeof run->pipeline.enabled);
    memcpy(run->pipeline.dump, run->options->pass_dumped, sizeof run->pipeline.dump);
    /* The contracts' symbols make the list of items grow. */
    size_t item_count = run->module->items.count;
    for (size_t i = 0; i < item_count; i++) {
        const Item *item = &run->module->items.data[i];
        if (!is_kernel(item) || !options_selects(run->options, item->function->name))
            continue;
        Function *function = item->function;
        KernelReport *kernel = &report->kernels[report->kernel_count++];
        kernel->result.kernel = function;
        set_request(run, kernel);
        check_block(run, kernel);
        bool is_coarse = is_coarsened_already(run, kernel);
        if (is_coarse)
            kernel->request.coarsen = kernel->is_auto = false;
        if (kernel->is_auto)
            choose_factor(run->arena, kernel, &run->pipeline);
        Tuning tuning = function->tuning;
        pipeline_run(run->arena, function, &kernel->request, &run->pipeline, &kernel->result);
        function->is_retuned = memcmp(&tuning, &function->tuning, sizeof tuning) != 0;
        run->changed |= function->body || function->is_retuned;
        if (kernel->refusal.reason && kernel->is_auto) {
            kernel->result.coarsening = OUTCOME_REFUSED;
            kernel->result.refusal = kernel->refusal;
        }
        if (is_coarse) {
            kernel->result.coarsening = OUTCOME_REFUSED;
            kernel->result.refusal =
                (Refusal){.reason = "it was coarsened before, and its launch contract cannot say twice how"};
        }
        if (kernel->result.coarsening == OUTCOME_DONE)
            kernel->condition_count = contract_conditions(run->arena, &kernel->result.contract, kernel->conditions);
        warn_refusals(run, kernel);
    }
}

/* ---- After the passes ------------------------------------------------------------------------------------------- */

static bool assemble(Run *run, const char *text, size_t length, bool want_cubin, Assembly *assembly)
{
    AssemblyRequest request = assembly_request(text, length);
    request.want_cubin = want_cubin;
    bool done = assembler_run(run->assembler, run->arena, &request, assembly);
    run->report.assemblies++;
    run->report.assembler_seconds += assembly->seconds;
    return done;
}

/* The line of the output that the assembler names, for the message. */
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
    Assembly of_input;
    bool input_passes = assemble(run, source->text, source->size, false, &of_input);
    fprintf(stderr, "%s: error: the output does not assemble: %s: %s\n", source->path,
            assembly_failure_word(assembly->failure), assembly->message ? assembly->message : "no reason given");
    if (!input_passes) {
        fprintf(stderr, "ptxopt: note: %s does not take the input either: %s\n", run->report.assembler,
                of_input.message ? of_input.message : assembly_failure_word(of_input.failure));
        fprintf(stderr, "ptxopt: note: -assembler none writes PTX without assembling it\n");
    } else {
        const char *line = text_line(run->arena, output, assembly->error_line);
        if (line)
            fprintf(stderr, "ptxopt: note: line %u of the output is: %s\n", assembly->error_line, line);
        fprintf(
            stderr,
            "ptxopt: note: %s takes the input, so this is a bug in ptxopt or in %s; -p -PASS finds the pass that is "
            "to blame\n",
            run->report.assembler, run->report.assembler);
    }
    if (run->options->verbose && *assembly->log)
        fprintf(stderr, "%s%s", assembly->log, assembly->log[strlen(assembly->log) - 1] == '\n' ? "" : "\n");
    fprintf(stderr, "ptxopt: nothing is written\n");
}

static void set_standing(const Run *run, Standing *standing)
{
    const Figures *figures = &standing->figures;
    unsigned threads = standing->block[0] * standing->block[1] * standing->block[2];
    standing->occupancy_known = run->machine && figures->known && threads;
    if (!standing->occupancy_known)
        return;
    standing->occupancy = machine_occupancy(run->machine, threads, figures->registers, figures->shared);
    standing->free_up_to = machine_boundary_above(run->machine, threads, figures->shared, figures->registers);
    standing->next_boundary = machine_boundary_below(run->machine, threads, figures->shared, figures->registers);
    if (standing->next_boundary)
        standing->next_blocks =
            machine_occupancy(run->machine, threads, standing->next_boundary, figures->shared).blocks;
}

static void set_figures(Standing *standing, const Assembly *assembly, const char *kernel)
{
    const Resources *resources = assembly ? assembly_find(assembly, kernel) : NULL;
    if (resources)
        standing->figures = figures_of_resources(resources);
}

/* Figures before and after come from assembling the two whole files, which is what a user of them gets; where a whole
 * file was not assembled, the passes' own stand in. */
static void complete_report(Run *run, const Assembly *before, const Assembly *after)
{
    for (size_t i = 0; i < run->report.kernel_count; i++) {
        KernelReport *kernel = &run->report.kernels[i];
        kernel->before.figures = kernel->result.before;
        kernel->after.figures = kernel->result.after;
        set_figures(&kernel->before, before, kernel->result.kernel->name);
        set_figures(&kernel->after, after, kernel->result.kernel->name);
        const Function *function = kernel->result.kernel;
        memcpy(kernel->before.block, kernel->result.block_before, sizeof kernel->before.block);
        memcpy(kernel->after.block, kernel->result.block_after, sizeof kernel->after.block);
        if (!kernel->before.block[0]) {
            block_from_tuning(&function->tuning, kernel->before.block);
            block_from_tuning(function->body ? &function->body->tuning : &function->tuning, kernel->after.block);
        }
        set_standing(run, &kernel->before);
        set_standing(run, &kernel->after);
    }
}

typedef struct Results {
    const char *ptx; /* in 'printed' or the source */
    size_t ptx_length;
    Buf printed, launch, report;
    Assembly assembly;
} Results;

static ExitStatus assemble_output(Run *run, Results *results)
{
    const Options *options = run->options;
    bool is_wanted = run->changed || options->cubin || options->report || options->assembler_given;
    if (!run->assembler || !is_wanted)
        return EXIT_DONE;
    if (assemble(run, results->ptx, results->ptx_length, options->cubin != NULL, &results->assembly))
        return EXIT_DONE;
    if (results->assembly.failure == ASSEMBLY_UNAVAILABLE) {
        fprintf(stderr, "ptxopt: error: %s can no longer be used: %s\n", run->report.assembler,
                results->assembly.message);
        return EXIT_INPUT;
    }
    explain_rejection(run, &results->assembly, results->ptx);
    return EXIT_REJECTED;
}

static void make_report(Run *run, Results *results)
{
    const Source *source = run->report.source;
    Assembly before;
    bool is_assembled = run->assembler && results->assembly.resources;
    bool input_assembled = is_assembled && assemble(run, source->text, source->size, false, &before);
    complete_report(run, input_assembled ? &before : NULL, is_assembled ? &results->assembly : NULL);
    run->report.assemblies += run->judge.calls;
    run->report.assembler_seconds += run->judge.seconds;
    if (run->options->report_json)
        report_print_json(&run->report, &results->report);
    else
        report_print_text(&run->report, &results->report);
}

/* Input and output are read from their texts: what is compared is what is written. */
static ExitStatus verify(Run *run, const Results *results)
{
    const Options *options = run->options;
    Report *report = &run->report;
    const Source *source = run->report.source;
    if (!options->verify.count)
        return EXIT_DONE;
    Diag quiet;
    diag_init(&quiet, source, stderr);
    quiet.quiet = true;
    Module *input = parse_module(run->arena, source, &quiet);
    Source *text = source_from_memory(run->arena, "output", results->ptx, results->ptx_length);
    diag_init(&quiet, text, stderr);
    quiet.quiet = true;
    Module *output = parse_module(run->arena, text, &quiet);
    if (!input || !output)
        bug("the output does not parse");
    ExitStatus status = EXIT_DONE;
    report->verifications = ARENA_ARRAY(run->arena, Verification, options->verify.count);
    for (size_t i = 0; i < options->verify.count; i++) {
        Verification *verification = &report->verifications[report->verification_count++];
        verify_launch(run->arena, input, output, options->verify.data[i], verification);
        verification_print(verification, input, stderr);
        if (verification->weakened && verification->outcome != VERIFY_NOT_DONE && !options->quiet)
            fprintf(stderr, "ptxopt: warning: -verify %s: the input is at fault itself: %s\n", verification->path,
                    verification->weakened);
        if (verification->outcome == VERIFY_DIFFERENT)
            status = EXIT_DIFFERENT;
        else if (verification->outcome == VERIFY_NOT_DONE && status == EXIT_DONE)
            status = EXIT_UNVERIFIED;
    }
    if (status == EXIT_DIFFERENT)
        fprintf(stderr, "ptxopt: note: what the kernel computes depends on the order in which its threads run, or this "
                        "is a bug in ptxopt; -p -PASS finds the pass to blame\n");
    if (status != EXIT_DONE)
        fprintf(stderr, "ptxopt: nothing is written\n");
    return status;
}

/* With a status other than EXIT_DONE the report alone is written. */
static bool write_results(Run *run, const Results *results, ExitStatus status)
{
    const Options *options = run->options;
    Output outputs[4];
    size_t count = 0;
    bool all = status == EXIT_DONE;
    if (options->output && all)
        outputs[count++] = (Output){options->output, results->ptx, results->ptx_length};
    if (options->cubin && all)
        outputs[count++] = (Output){options->cubin, results->assembly.cubin, results->assembly.cubin_size};
    if (options->launch_out && all)
        outputs[count++] = (Output){options->launch_out, results->launch.data, results->launch.length};
    if (options->report_file)
        outputs[count++] = (Output){options->report_file, results->report.data, results->report.length};
    const char *error = outputs_write(run->arena, outputs, count);
    if (error) {
        fprintf(stderr, "ptxopt: error: %s\n", error);
        return false;
    }
    if (options->report && !options->report_file)
        fputs(buf_text(&results->report), stderr);
    return true;
}

/* Whoever launches it has to know.  A report or a contract says it better. */
static void note_launches(Run *run)
{
    for (size_t i = 0; i < run->report.kernel_count && !run->options->report && !run->options->launch_out; i++) {
        const KernelResult *result = &run->report.kernels[i].result;
        char factor[32];
        if (result->coarsening == OUTCOME_DONE)
            diag_note(&run->diag, result->kernel->span,
                      "kernel '%s' is coarsened by %s: its blocks have to be launched that much smaller (-report tells "
                      "more)",
                      result->kernel->name, factor_text(result->contract.factor, factor));
    }
}

static void print_module(const Run *run, Results *results)
{
    const Source *source = run->report.source;
    if (run->options->canonical) {
        emit_module(run->module, &results->printed);
    } else if (module_is_as_written(run->module)) {
        results->ptx = source->text;
        results->ptx_length = source->size;
        return;
    } else {
        emit_module_as_written(run->module, &results->printed);
    }
    results->ptx = buf_text(&results->printed);
    results->ptx_length = results->printed.length;
}

static ExitStatus finish(Run *run, Results *results)
{
    print_module(run, results);
    ExitStatus status = assemble_output(run, results);
    if (status != EXIT_DONE)
        return status;
    status = verify(run, results);
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
    if (!open_assembler(run))
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
