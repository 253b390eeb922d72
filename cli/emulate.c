/* "ptxopt run": one launch of one kernel in the emulator. */
#include "cli/commands.h"

#include <stdlib.h>
#include <string.h>

#include "cli/emulation.h"
#include "cli/template.h"
#include "engine/engine.h"
#include "parser/parser.h"

static bool read_inputs(Emulation *run)
{
    const RunOptions *options = run->options;
    const char *error;
    Source *source = input_read(run->arena, options->input);
    if (!source)
        return false;
    diag_init(&run->diag, source, stderr);
    run->diag.quiet = options->output.quiet;
    run->module = parse_module(run->arena, source, &run->diag);
    if (!run->module)
        return false;
    Launch *launch = launch_read(run->arena, options->launch, &error);
    if (launch)
        error = launch_kernel_missing(run->arena, run->module, launch);
    if (launch && !error)
        run->launch = launch_by_contract(run->arena, run->module, launch, &run->has_contract, &error);
    if (!run->launch)
        fprintf(stderr, "ptxopt: error: %s\n", error);
    return run->launch != NULL;
}

static ExitStatus status_of(const EmulatorFault *fault)
{
    switch (fault->kind) {
    case FAULT_NONE: return EXIT_DONE;
    case FAULT_LAUNCH: return EXIT_INPUT;
    case FAULT_UNSUPPORTED: return EXIT_UNVERIFIED;
    default: return EXIT_DIFFERENT;
    }
}

static const Function *find_kernel(const Module *module, const char *name)
{
    for (size_t i = 0; i < module->items.count; i++) {
        const Item *item = &module->items.data[i];
        if (item->kind == ITEM_FUNCTION && item->function->is_entry && kernel_name_matches(name, item->function->name))
            return item->function;
    }
    return NULL;
}

static ExitStatus write_template(Emulation *run)
{
    const RunOptions *options = run->options;
    Source *source = input_read(run->arena, options->input);
    if (!source)
        return EXIT_INPUT;
    diag_init(&run->diag, source, stderr);
    run->diag.quiet = options->output.quiet;
    run->module = parse_module(run->arena, source, &run->diag);
    const Function *kernel = run->module ? find_kernel(run->module, options->template) : NULL;
    if (run->module && !kernel)
        fprintf(stderr, "ptxopt: error: %s has no kernel '%s'%s\n", source->path, options->template,
                kernel_hint(run->arena, run->module, options->template));
    if (!kernel)
        return EXIT_INPUT;
    Buf text = {0};
    launch_template(kernel, &text);
    ExitStatus status = command_write(run->arena, &options->output, &text);
    buf_free(&text);
    return status;
}

static ExitStatus emulate(Emulation *run)
{
    const RunOptions *options = run->options;
    if (options->template)
        return write_template(run);
    if (!read_inputs(run))
        return EXIT_INPUT;
    EmulatorOptions machine = options->machine;
    machine.count_reuse = machine.count_memory;
    FILE *printed = options->output.json ? open_memstream(&run->printed, &run->printed_size) : NULL;
    machine.jobs = options->jobs ? options->jobs : machine.check_races ? launch_jobs(run->launch, 0) : 1;
    machine.output = printed ? printed : options->dumps.count ? stderr : stdout;
    double begin = seconds_now(), processor_begin = clock_seconds(CLOCK_PROCESS_CPUTIME_ID);
    run->result = emulator_run(run->arena, run->module, run->launch, &machine);
    run->seconds = seconds_now() - begin;
    run->processor_seconds = clock_seconds(CLOCK_PROCESS_CPUTIME_ID) - processor_begin;
    if (printed)
        fclose(printed);
    fflush(stdout);
    const EmulatorFault *fault = &run->result->fault;
    if (fault->kind != FAULT_NONE)
        fprintf(stderr, "%s\n", fault_text(run->arena, run->module, fault));
    if (fault->kind == FAULT_LAUNCH || (!options->output.json && fault->kind != FAULT_NONE))
        return status_of(fault);
    if (!emulation_has_dumps(run))
        return EXIT_USAGE;
    Buf out = {0};
    if (options->output.json)
        emulation_print_json(run, &out);
    else if (options->dumps.count)
        emulation_print_dumps(run, &out);
    else
        emulation_print_text(run, &out);
    ExitStatus status = command_write(run->arena, &options->output, &out);
    buf_free(&out);
    return status == EXIT_DONE ? status_of(fault) : status;
}

static ExitStatus emulate_file(const RunOptions *options)
{
    Emulation run = {.options = options, .arena = arena_new()};
    ExitStatus status = emulate(&run);
    free(run.printed);
    arena_free(run.arena);
    return status;
}

int main_run(Arena *arena, int argc, char **argv)
{
    RunOptions options;
    const char *error;
    OptionsOutcome outcome = run_options_parse(arena, argc, argv, &options, &error);
    return outcome == OPTIONS_RUN ? (int)emulate_file(&options)
                                  : command_finish(outcome, "run", run_options_help(arena), error);
}
