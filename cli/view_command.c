/* "ptxopt view": the registers of a kernel's machine code as a picture. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "cli/commands.h"
#include "engine/engine.h"
#include "view/view.h"

/* One of the two files. */
typedef struct Side {
    Options options;
    Run run;
    ViewSource source;
    const View *view;
} Side;

static bool fail(const char *file, const char *message)
{
    fprintf(stderr, "ptxopt: error: %s: %s\n", file, message);
    return false;
}

static bool is_elf(const Source *source)
{
    return source->size >= 4 && memcmp(source->text, "\177ELF", 4) == 0;
}

/* Names the kernels that there are, for a message. */
static const char *kernel_list(Arena *arena, const char *const *names, size_t count)
{
    enum { MOST_NAMES = 8 };
    Buf list = {0};
    for (size_t i = 0; i < count && i < MOST_NAMES; i++)
        buf_printf(&list, "%s%s", i ? ", " : "", names[i]);
    if (count > MOST_NAMES)
        buf_printf(&list, " and %zu more", count - MOST_NAMES);
    const char *text = arena_strndup(arena, buf_text(&list), list.length);
    buf_free(&list);
    return text;
}

/* The kernel that is to be shown; NULL after a message. */
static const char *choose_kernel(Arena *arena, const ViewOptions *options, const char *file, const char *const *names,
                                 size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (options->kernel ? strcmp(names[i], options->kernel) == 0 : count == 1)
            return names[i];
    if (!count)
        fail(file, "there is no kernel in it");
    else if (options->kernel)
        fail(file, arena_printf(arena, "there is no kernel '%s'; it has %s", options->kernel,
                                kernel_list(arena, names, count)));
    else
        fail(file, arena_printf(arena, "name one of its kernels with -entry: %s", kernel_list(arena, names, count)));
    return NULL;
}

/* Reads machine code. */
static bool read_cubin(Side *side, Arena *arena, const ViewOptions *options, const Disassembler *disassembler)
{
    const Source *source = side->run.source;
    const Arch arch = sass_arch(arena, source->text, source->size);
    const char *name = arena_printf(arena, "sm_%u", arch.number), *error;
    Assembly *assembly = ARENA_NEW(arena, Assembly);
    if (!arch.number || !assembly_read(arena, name, source->text, source->size, assembly))
        return fail(source->path, "it is not a cubin that can be read; 'cuobjdump -xelf all' takes cubins out of "
                                  "programs and objects");
    VEC(const char *) names = {0};
    for (size_t i = 0; i < assembly->resource_count; i++)
        if (assembly->resources[i].is_entry)
            VEC_PUSH(arena, names, assembly->resources[i].name);
    const char *kernel = choose_kernel(arena, options, source->path, names.data, names.count);
    if (!kernel)
        return false;
    SassCode *code = sass_code_read(arena, source->text, source->size, kernel, &error);
    if (code)
        error = sass_code_disassemble(arena, code, disassembler, source->text, source->size, LIFE_RANGES);
    side->source.kernel = kernel;
    side->source.arch = name;
    side->source.code = code;
    side->source.resources = assembly_find(assembly, kernel);
    side->source.sm = sm_limits_for(name);
    return error ? fail(source->path, error) : true;
}

static const Function *find_kernel(const Side *side, Arena *arena, const ViewOptions *options)
{
    const Module *module = side->run.module;
    VEC(const char *) names = {0};
    for (size_t i = 0; i < module->items.count; i++)
        if (is_kernel(&module->items.data[i]))
            VEC_PUSH(arena, names, module->items.data[i].function->name);
    const char *kernel = choose_kernel(arena, options, side->options.input, names.data, names.count);
    return kernel ? module_find_function(module, kernel) : NULL;
}

/* Assembles PTX and maps its machine code. */
static bool read_ptx(Side *side, Arena *arena, const ViewOptions *options, const Disassembler *disassembler)
{
    Run *run = &side->run;
    const char *error;
    if (!input_is_ptx(run->source, stderr) || !read_module(run) || !choose_arch(run))
        return false;
    const Function *kernel = find_kernel(side, arena, options);
    if (!kernel || !open_assembler(run))
        return false;
    if (!run->assembler)
        return fail(side->options.input, "there is no assembler, so there is no machine code to show");
    SassRequest request = {.assembler = run->assembler,
                           .module = run->module,
                           .kernel = kernel->name,
                           .disassembler = disassembler,
                           .life = LIFE_RANGES};
    request.assembly = assembly_request(NULL, 0);
    SassMap *map = sass_map(arena, &request, &error);
    if (!map)
        return fail(side->options.input, error);
    if (map->no_text)
        return fail(side->options.input, map->no_text);
    if (!map->mapped && !options->output.quiet)
        fprintf(stderr, "ptxopt: warning: %s: the PTX lines of machine instructions are unknown: %s\n",
                side->options.input, map->unmapped);
    Assembly *assembly = ARENA_NEW(arena, Assembly);
    if (!assembly_read(arena, run->arch, map->cubin, map->cubin_size, assembly))
        return fail(side->options.input, "the assembler's cubin cannot be read");
    const BlockSize block = block_size_resolve(&kernel->tuning, options->block);
    side->source.kernel = kernel->name;
    side->source.arch = run->arch;
    side->source.code = map->code;
    side->source.map = map;
    side->source.module = run->module;
    side->source.resources = assembly_find(assembly, kernel->name);
    side->source.sm = run->sm;
    side->source.block_threads = block_size_total(&block);
    return true;
}

/* Counts the executions of a launch, by the contract of the kernel if it has one. */
static bool count_launch(Side *side, Arena *arena, const char *path)
{
    const char *error = NULL;
    bool has_contract = false;
    Device device;
    const Launch *launch = launch_read(arena, path, &error);
    if (!launch)
        return fail(path, error);
    if (strcmp(launch->kernel, side->source.kernel) != 0)
        return fail(path, launch_kernel_missing(arena, side->run.module, launch));
    const Launch *own = launch_by_contract(arena, side->run.module, launch, &has_contract, &error);
    if (!own)
        return fail(path, error);
    if (!side->run.sm || !read_device(&side->run, NULL, &device))
        return fail(path, "the limits of the architecture are unknown");
    const CostBasis basis = cost_basis(arena, side->run.sm, &device, own, NULL, 0);
    const FunctionForm form = {.function = module_find_function(side->run.module, side->source.kernel)};
    const FormCost cost = form_cost(&basis, &form, &(Figures){0}, NULL);
    if (!cost.known)
        return fail(path, cost.error);
    side->source.executions = machine_executions(arena, side->source.map, cost.profile);
    side->source.block_threads = own->block[0] * own->block[1] * own->block[2];
    side->source.dynamic_shared = own->dynamic_shared;
    return true;
}

static bool read_side(Side *side, Arena *arena, const ViewOptions *options, const char *path)
{
    const char *error = NULL;
    side->options = (Options){.input = path,
                              .arch = options->arch,
                              .assembler = options->assembler,
                              .assembler_none = options->assembler_none,
                              .canonical = true,
                              .report = true,
                              .quiet = options->output.quiet};
    if (options->assembler_given)
        option_set_given(&side->options, OPTION_ASSEMBLER);
    side->run = (Run){.options = &side->options, .messages = stderr, .arena = arena};
    side->run.source = source_read(arena, path, &error);
    if (!side->run.source)
        return fail(path, error);
    const Disassembler *disassembler = disassembler_find(arena, &error);
    if (!disassembler)
        return fail(path, error);
    const bool is_cubin = is_elf(side->run.source);
    side->source.file = path;
    side->source.dynamic_shared = options->dynamic_shared;
    if (is_cubin && options->launch)
        return fail(path, "-launch needs PTX: the emulator does not run machine code");
    if (is_cubin ? !read_cubin(side, arena, options, disassembler) : !read_ptx(side, arena, options, disassembler))
        return false;
    if (options->launch && !count_launch(side, arena, options->launch))
        return false;
    if (options->block[0])
        side->source.block_threads = options->block[0] * options->block[1] * options->block[2];
    side->view = view_make(arena, &side->source, &error);
    return side->view ? true : fail(path, error);
}

/* The columns of the terminal; 0: standard output is none. */
static unsigned terminal_width(void)
{
    struct winsize size;
    if (!isatty(STDOUT_FILENO) || ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0)
        return 0;
    return size.ws_col;
}

static void print(const ViewOptions *options, const Side *before, const Side *after, Buf *out)
{
    const char *file = options->output.file;
    if (file && (text_ends_with(file, ".html") || text_ends_with(file, ".htm"))) {
        view_print_page(before->view, after->view, out);
        return;
    }
    const ViewStyle style = {
        .width = options->width ? (unsigned)options->width
                 : file         ? 0
                                : terminal_width(),
        .colored = !file && stream_is_colored(stdout),
    };
    view_print_text(after->view, &style, out);
}

static ExitStatus view(const ViewOptions *options, Arena *arena, Side *before, Side *after)
{
    if ((options->before && !read_side(before, arena, options, options->before)) ||
        !read_side(after, arena, options, options->input))
        return EXIT_INPUT;
    Buf out = {0};
    print(options, before, after, &out);
    Output output = {options->output.file ? options->output.file : "-", out.data, out.length};
    const char *error = outputs_write(arena, &output, 1);
    buf_free(&out);
    if (error)
        fprintf(stderr, "ptxopt: error: %s\n", error);
    return error ? EXIT_INPUT : EXIT_DONE;
}

static ExitStatus view_file(const ViewOptions *options)
{
    Arena *arena = arena_new();
    Side before = {0}, after = {0};
    ExitStatus status = view(options, arena, &before, &after);
    assembler_judge_close(&before.run.judge);
    assembler_judge_close(&after.run.judge);
    assembler_close(before.run.assembler);
    assembler_close(after.run.assembler);
    arena_free(arena);
    return status;
}

int main_view(Arena *arena, int argc, char **argv)
{
    ViewOptions options;
    const char *error;
    OptionsOutcome outcome = view_options_parse(arena, argc, argv, &options, &error);
    return outcome == OPTIONS_RUN ? (int)view_file(&options)
                                  : command_finish(outcome, "view", view_options_help(arena), error);
}
