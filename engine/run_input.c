/* Before the passes: the module is read, and the options are checked against it. */
#include <string.h>

#include "engine/input.h"
#include "engine/kernel_find.h"
#include "engine/run_steps.h"
#include "options/options.h"
#include "parser/parser.h"
#include "sass/sass.h"

static bool changes_memory(const Options *options)
{
    bool wanted = false;
    for (size_t i = 0; i < options->memory.count; i++) {
        const MemoryOption *memory = &options->memory.data[i];
        wanted |= memory->is_auto || memory->edges || memory->stages || memory->counts || memory->vectors;
    }
    return wanted;
}

/* False if nothing is to change: the code is then checked while it is read, and not kept. */
static bool wants_bodies(const Options *options)
{
    bool wanted = options->coarsen.count || options->refine.count || options->jams.count ||
                  options->block_orders.count || options->registers.count || options->blocks.count ||
                  options->dead.count || options->canonical || changes_memory(options) ||
                  options->fixes_defects || options->tune_from || options->report;
    for (unsigned i = 0; i < pass_count; i++)
        wanted |= options->passes.dumped[i];
    return wanted;
}

static bool keeps_nothing(void *context, const Function *function)
{
    (void)context;
    (void)function;
    return false;
}

bool read_module(Run *run)
{
    Source *source = run->source;
    if (!input_is_ptx(source, run->messages))
        return false;
    diag_init(&run->diag, source, run->messages);
    run->diag.warnings_are_errors = run->options->warnings_are_errors;
    run->diag.quiet = run->options->quiet;
    ParseOptions parse = {.keeps = wants_bodies(run->options) ? NULL : keeps_nothing};
    run->module = parse_module_with(run->arena, source, &run->diag, &parse);
    run->report.source = source;
    run->report.device_is_assumed = run->options->machine == NULL;
    run->report.lists_all = run->options->verbose;
    run->report.is_full = run->options->report_full || run->options->verbose;
    return run->module != NULL;
}

/* False, with a message that suggests the right name, if the module has no such kernel. */
static bool kernel_exists(Run *run, const char *option, const char *name)
{
    if (!name)
        return true;
    for (size_t i = 0; i < run->module->items.count; i++) {
        const Item *item = &run->module->items.data[i];
        if (is_kernel(item) && kernel_name_matches(name, item->function->name))
            return true;
    }
    fprintf(run->messages, "ptxopt: error: %s: %s has no kernel '%s'%s\n", option, run->report.source->path, name,
            kernel_hint(run->arena, run->module, name));
    return false;
}

static bool named_kernel_usable(Run *run, const char *option, const char *name)
{
    if (!kernel_exists(run, option, name))
        return false;
    for (size_t i = 0; name && i < run->module->items.count; i++) {
        const Item *item = &run->module->items.data[i];
        if (is_kernel(item) && kernel_name_matches(name, item->function->name) &&
            options_selects(run->options, item->function->name))
            return true;
    }
    if (!name)
        return true;
    fprintf(run->messages, "ptxopt: error: %s names kernel '%s', which -entry excludes\n", option, name);
    return false;
}

/* True if every label of -uj is in a selected kernel. */
static bool loops_exist(Run *run)
{
    const Options *options = run->options;
    for (size_t i = 0; i < options->jams.count; i++) {
        const char *loop = options->jams.data[i].loop;
        bool found = !loop;
        for (size_t k = 0; k < run->module->items.count && !found; k++) {
            const Item *item = &run->module->items.data[k];
            found = is_kernel(item) && options_selects(options, item->function->name) &&
                    kernel_has_label(item->function, loop);
        }
        if (!found) {
            fprintf(run->messages, "ptxopt: error: -uj: %s has no kernel with a label '%s'%s\n",
                    run->report.source->path, loop, options->entries.count ? " among those that -entry selects" : "");
            return false;
        }
    }
    return true;
}

/* True if every parameter of -dead-on-return is one of a selected kernel, and may be a pointer. */
static bool dead_parameters_exist(Run *run)
{
    const Options *options = run->options;
    for (size_t i = 0; i < options->dead.count; i++) {
        const DeadOption *option = &options->dead.data[i];
        const Variable *found = NULL;
        if (option->kernel && !named_kernel_usable(run, "-dead-on-return", option->kernel))
            return false;
        for (size_t k = 0; k < run->module->items.count && !found; k++) {
            const Item *item = &run->module->items.data[k];
            if (is_kernel(item) && options_selects(options, item->function->name))
                found = dead_parameter(option, item->function);
        }
        const char *name =
            option->parameter ? option->parameter : arena_printf(run->arena, "number %u", option->number);
        if (found && !found->is_array && type_bits(found->type) == 64 && found->vector <= 1)
            continue;
        if (found)
            fprintf(run->messages, "ptxopt: error: -dead-on-return: parameter %s is no pointer\n", name);
        else
            fprintf(run->messages, "ptxopt: error: -dead-on-return: %s has no kernel%s%s%s with a parameter %s\n",
                    run->report.source->path, option->kernel ? " '" : "", option->kernel ? option->kernel : "",
                    option->kernel ? "'" : "", name);
        return false;
    }
    return true;
}

bool names_exist(Run *run)
{
    const Options *options = run->options;
    if (options->missing_ok)
        return true;
    for (size_t i = 0; i < options->entries.count; i++)
        if (!kernel_exists(run, "-entry", options->entries.data[i]))
            return false;
    for (size_t i = 0; i < options->coarsen.count; i++)
        if (!named_kernel_usable(run, "-coarsen", options->coarsen.data[i].kernel))
            return false;
    for (size_t i = 0; i < options->refine.count; i++)
        if (!named_kernel_usable(run, "-refine", options->refine.data[i].kernel))
            return false;
    for (size_t i = 0; i < options->registers.count; i++)
        if (!named_kernel_usable(run, "-target-regs", options->registers.data[i].kernel))
            return false;
    for (size_t i = 0; i < options->memory.count; i++)
        if (!named_kernel_usable(run, "-memory", options->memory.data[i].kernel))
            return false;
    for (size_t i = 0; i < options->block_orders.count; i++)
        if (!named_kernel_usable(run, "-block-order", options->block_orders.data[i].kernel))
            return false;
    for (size_t i = 0; i < options->blocks.count; i++)
        if (!kernel_exists(run, "-block", options->blocks.data[i].kernel))
            return false;
    for (size_t i = 0; i < options->dynamic_shared.count; i++)
        if (!kernel_exists(run, "-dynamic-shared", options->dynamic_shared.data[i].kernel))
            return false;
    return dead_parameters_exist(run) && loops_exist(run);
}

/* The architecture to assemble for: -arch, else the .target. PTX runs on its target and on newer ones; with a suffix,
 * on that architecture only (PTX ISA, chapter 11.1.2). */
bool choose_arch(Run *run)
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
            fprintf(run->messages, "ptxopt: error: -arch %s: assemblers generate code for sm_%u and newer only\n",
                    run->options->arch, oldest.number);
            return false;
        }
        if (!sm_limits_for(arch_names(wanted).real)) {
            fprintf(run->messages, "ptxopt: error: -arch %s: unknown architecture\n", run->options->arch);
            return false;
        }
        if (wanted.number < target.number || (target.suffix == 'a' && wanted.number != target.number)) {
            fprintf(run->messages, "ptxopt: error: -arch %s: %s is for %s%s\n", run->options->arch,
                    run->report.source->path, target_name, target.suffix == 'a' ? " only" : " and newer");
            return false;
        }
    }
    run->arch = arena_printf(run->arena, "%s", arch_names(wanted).real);
    run->sm = sm_limits_for(run->arch);
    run->report.arch = run->arch;
    return true;
}

/* True if some option needs the assembler, which rewriting without a change does not. */
static bool wants_assembler(const Options *options)
{
    return option_given(options, OPTION_ASSEMBLER) || options->coarsen.count || options->refine.count ||
           options->jams.count || options->registers.count || options->block_orders.count || options->dead.count ||
           changes_memory(options) || options->tune_from || options->cubin || options->report;
}

static bool chooses_factors(const Options *options)
{
    bool any = false;
    for (size_t i = 0; i < options->coarsen.count; i++)
        any |= options->coarsen.data[i].is_auto;
    return any;
}

/* True if forms are chosen by predicted time. */
static bool chooses(const Options *options)
{
    bool any = chooses_factors(options);
    for (size_t i = 0; i < options->jams.count; i++)
        any |= options->jams.data[i].is_auto;
    for (size_t i = 0; i < options->memory.count; i++)
        any |= options->memory.data[i].is_auto;
    return any;
}

/* Without the machine instructions that a form executes, predictions miss so far that what is chosen may lose. */
static bool can_choose(const Run *run)
{
    const char *missing = chooses(run->options) ? sass_lines_missing() : NULL;
    if (missing)
        fprintf(run->messages, "ptxopt: error: %s; it reads the machine code by which forms are compared (auto)\n",
                missing);
    return !missing;
}

/* Gives the assembler the words for ptxas of -Xptxas and -apply-controls. */
static bool set_assembler_options(Run *run)
{
    const Options *options = run->options;
    VEC(const char *) words = {0};
    for (size_t i = 0; i < options->ptxas_options.count; i++)
        VEC_PUSH(run->arena, words, options->ptxas_options.data[i]);
    if (options->controls)
        VEC_PUSH(run->arena, words, arena_printf(run->arena, "--apply-controls=%s", options->controls));
    VEC_PUSH(run->arena, words, NULL);
    const char *error = assembler_set_options(run->assembler, words.count > 1 ? words.data : NULL);
    if (error)
        fprintf(run->messages, "ptxopt: error: %s\n", error);
    return !error;
}

bool open_assembler(Run *run)
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
    run->assembler =
        assembler_open_for(run->arena, options->assembler, run->arch, run->module->version,
                           options->python_folders.data, &error);
    if (run->assembler) {
        report->assembler = assembler_name(run->assembler);
        report->assembler_version = assembler_version(run->assembler);
        report->assembler_path = assembler_path(run->assembler);
        if (!set_assembler_options(run))
            return false;
        assembler_judge_init(&run->judge, run->arena, run->assembler);
        run->judge.progress = &run->progress;
        if (!options->quiet)
            progress_watch(&run->progress, run->assembler, run->messages);
        if (options->verbose) {
            fprintf(run->messages, "ptxopt: %s %s (%s) assembles for %s\n", report->assembler,
                    report->assembler_version, report->assembler_path, run->arch);
            if (assembler_note(run->assembler))
                fprintf(run->messages, "ptxopt: %s\n", assembler_note(run->assembler));
        }
        return can_choose(run);
    }
    report->assembler_missing = arena_strndup(run->arena, error, strcspn(error, ":\n"));
    bool is_needed = option_given(options, OPTION_ASSEMBLER) || options->cubin || options->warnings_are_errors ||
                     assembler_is_named(options->assembler) || chooses_factors(options);
    if (is_needed) {
        fprintf(run->messages, "ptxopt: error: %s\n", error);
        return false;
    }
    run->lacks_assembler = options->registers.count > 0;
    if (!options->quiet)
        fprintf(
            run->messages,
            "ptxopt: warning: %s\nptxopt: note: without an assembler, registers are not reduced and the output is not "
            "checked by assembling it\n",
            error);
    return true;
}

void run_prepare(Run *run, Options *options, Arena *arena, const RunSetting *setting)
{
    *options = (Options){.input = setting->path,
                         .arch = setting->arch,
                         .assembler = setting->assembler,
                         .assembler_none = setting->assembler_none,
                         .canonical = true,
                         .report = true,
                         .python_folders = setting->python_folders,
                         .controls = setting->controls,
                         .quiet = setting->quiet};
    if (setting->controls)
        options->assembler = ASSEMBLER_PTXAS;
    if (setting->assembler_given || setting->controls)
        option_set_given(options, OPTION_ASSEMBLER);
    *run = (Run){.options = options, .messages = setting->messages ? setting->messages : stderr, .arena = arena};
}

void run_close(Run *run)
{
    for (size_t i = 0; i < run->choice.launch_count; i++)
        if (run->choice.launches[i])
            launch_contents_free(run->choice.launches[i]->contents);
    assembler_judge_close(&run->judge);
    assembler_close(run->assembler);
}

bool read_device(const Run *run, const char *machine_file, Device *device)
{
    const char *error = NULL;
    Arch arch = {0};
    arch_parse(run->arch, &arch);
    *device = *device_for(arch.number);
    if (!machine_file || device_read(run->arena, machine_file, device, &error))
        return true;
    fprintf(run->messages, "ptxopt: error: %s\n", error);
    return false;
}

bool read_launches(Run *run)
{
    const Options *options = run->options;
    const char *error = NULL;
    const Launch **launches = ARENA_ARRAY(run->arena, const Launch *, options->launches.count + 1);
    const bool has_level = option_given(options, OPTION_COARSEN_LEVEL);
    run->choice = (ChoiceContext){.launches = launches,
                                  .launch_count = options->launches.count,
                                  .progress = &run->progress,
                                  .judge = run->assembler ? &run->judge : NULL,
                                  .risk = options->risk,
                                  .counts_all = options->counts_all,
                                  .launch_decides = options->keep_original,
                                  .keeps_several =
                                      options->keep_original && !options->tuned_forms && options->level > 1,
                                  .ranked = options->tuned_forms ? options->tuned_forms - 1 : 0,
                                  .stride_given = option_given(options, OPTION_STRIDE),
                                  .guards_given = option_given(options, OPTION_COARSEN_GUARDS),
                                  .threads_only = has_level && !options->merges_blocks,
                                  .blocks_only = has_level && options->merges_blocks};
    if (!read_device(run, options->machine, &run->choice.device))
        return false;
    for (size_t i = 0; i < options->launches.count; i++) {
        Launch *launch = launch_read(run->arena, options->launches.data[i], &error);
        if (!launch) {
            fprintf(run->messages, "ptxopt: error: %s\n", error);
            return false;
        }
        launch->contents = launch_contents_new(launch);
        launches[i] = launch;
        error = options->missing_ok ? NULL : launch_kernel_missing(run->arena, run->module, launches[i]);
        if (error) {
            fprintf(run->messages, "ptxopt: error: -launch: %s\n", error);
            return false;
        }
    }
    return true;
}

bool check_verify(const Run *run)
{
    const Options *options = run->options;
    const char *error;
    bool is_read = true;
    for (size_t i = 0; i < options->verify.count && is_read; i++) {
        Arena *scratch = arena_new();
        is_read = launch_read(scratch, options->verify.data[i], &error) != NULL;
        if (!is_read)
            fprintf(run->messages, "ptxopt: error: -verify: %s\nptxopt: nothing is written\n", error);
        arena_free(scratch);
    }
    return is_read;
}
