/* Reads what a picture is made of: PTX, which is assembled; a cubin; or a program, object, library or fat binary, in
 * which the images of device code are looked through. */
#include "view/internal.h"

#include <stdio.h>
#include <string.h>

#include "images/images.h"

typedef VEC(const char *) Names;

/* Machine code in memory, and its figures. */
typedef struct Cubin {
    const char *file; /* for messages */
    const char *bytes;
    size_t size;
    Arch arch;
    Assembly *assembly;
} Cubin;
typedef VEC(Cubin) CubinVec;

static bool fail(const ViewSide *side, const char *file, const char *message)
{
    fprintf(side->run.messages, "ptxopt: error: %s: %s\n", file, message);
    return false;
}

static void add_name(Arena *arena, Names *names, const char *name)
{
    for (size_t i = 0; i < names->count; i++)
        if (strcmp(names->data[i], name) == 0)
            return;
    VEC_PUSH(arena, *names, name);
}

/* The kernel that is to be shown; NULL after a message. */
static const char *choose_kernel(const ViewSide *side, Arena *arena, const char *file, const Names *names)
{
    const char *found = NULL, *wanted = side->request->kernel;
    size_t count = 0;
    for (size_t i = 0; i < names->count; i++) {
        if (wanted && !kernel_name_matches(wanted, names->data[i]))
            continue;
        found = names->data[i];
        if (wanted && strcmp(wanted, found) == 0)
            return found;
        count++;
    }
    if (count == 1)
        return found;
    const char *closest = wanted ? closest_word(wanted, names->data, names->count) : NULL;
    if (!names->count)
        fail(side, file, "there is no kernel in it");
    else if (count)
        fail(side, file,
             arena_printf(arena, "there are %zu kernels; -entry KERNEL picks one%s", count,
                          words_hint(arena, NULL, "it has", names->data, names->count)));
    else
        fail(side, file,
             arena_printf(arena, "there is no kernel '%s'%s", wanted,
                          words_hint(arena, closest, "it has", names->data, names->count)));
    return NULL;
}

/* Adds the names of a cubin's kernels. */
static void add_kernels(Arena *arena, const Cubin *cubin, Names *names)
{
    for (size_t i = 0; i < cubin->assembly->resource_count; i++)
        if (cubin->assembly->resources[i].is_entry)
            add_name(arena, names, cubin->assembly->resources[i].name);
}

/* False if the figures of the cubin cannot be read. */
static bool read_figures(Arena *arena, Cubin *cubin)
{
    const Arch arch = sass_arch(arena, cubin->bytes, cubin->size);
    if (!arch.number)
        return false;
    if (!cubin->arch.number)
        cubin->arch = arch;
    cubin->assembly = ARENA_NEW(arena, Assembly);
    return assembly_read(arena, arch_names(arch).real, cubin->bytes, cubin->size, NULL, cubin->assembly);
}

/* Reads the code of one kernel. */
static bool read_code(ViewSide *side, Arena *arena, const Cubin *cubin, const char *kernel)
{
    const char *error;
    const Disassembler *disassembler = disassembler_find(arena, &error);
    if (!disassembler)
        return fail(side, cubin->file, error);
    if (side->request->ptx)
        return fail(side, cubin->file, "-ptx needs PTX; this is machine code");
    SassCode *code = sass_code_read(arena, cubin->bytes, cubin->size, kernel, &error);
    if (code)
        error = sass_code_disassemble(arena, code, disassembler, cubin->bytes, cubin->size, LIFE_RANGES);
    if (error)
        return fail(side, cubin->file, error);
    const ArchNames names = arch_names(cubin->arch);
    side->source.kernel = kernel;
    side->source.arch = arena_strndup(arena, names.real, strlen(names.real));
    side->source.code = code;
    side->source.places = sass_places(arena, cubin->bytes, cubin->size, code);
    side->source.resources = assembly_find(cubin->assembly, kernel);
    side->source.sm = sm_limits_for(names.real);
    return true;
}

static bool read_cubin(ViewSide *side, Arena *arena)
{
    const Source *source = side->run.source;
    Cubin cubin = {.file = source->path, .bytes = source->text, .size = source->size};
    Names names = {0};
    if (!read_figures(arena, &cubin))
        return fail(side, source->path, "it is not a cubin that can be read");
    add_kernels(arena, &cubin, &names);
    const char *kernel = choose_kernel(side, arena, source->path, &names);
    return kernel && read_code(side, arena, &cubin, kernel);
}

static Function *find_kernel(const ViewSide *side, Arena *arena)
{
    const Module *module = side->run.module;
    Names names = {0};
    for (size_t i = 0; i < module->items.count; i++)
        if (is_kernel(&module->items.data[i]))
            VEC_PUSH(arena, names, module->items.data[i].function->name);
    const char *kernel = choose_kernel(side, arena, side->options.input, &names);
    return kernel ? module_find_function(module, kernel) : NULL;
}

/* Assembles PTX and maps its machine code. If a program for that is missing, or did not work, sets source.missing and
 * nothing else. False after a message. */
static bool map_machine_code(ViewSide *side, Arena *arena, const Function *kernel)
{
    Run *run = &side->run;
    const char *error;
    const Disassembler *disassembler = disassembler_find(arena, &side->source.missing);
    if (!disassembler)
        return true;
    if (!open_assembler(run))
        return false;
    if (!run->assembler) {
        side->source.missing = arena_printf(arena, "there is no assembler (%s)", run->report.assembler_missing);
        return true;
    }
    SassRequest wanted = {.assembler = run->assembler,
                          .module = run->module,
                          .kernel = kernel->name,
                          .disassembler = disassembler,
                          .life = LIFE_RANGES};
    wanted.assembly = assembly_request(NULL, 0);
    SassMap *map = sass_map(arena, &wanted, &error);
    if (!map)
        return fail(side, side->options.input, error);
    if (map->no_text) {
        side->source.missing = map->no_text;
        return true;
    }
    if (!map->mapped && !side->request->run.quiet)
        fprintf(side->run.messages, "ptxopt: warning: %s: the PTX lines of machine instructions are unknown: %s\n",
                side->options.input, map->unmapped);
    Assembly *assembly = ARENA_NEW(arena, Assembly);
    if (!assembly_read(arena, run->arch, map->cubin, map->cubin_size, NULL, assembly))
        return fail(side, side->options.input, "the assembler's cubin cannot be read");
    side->source.code = map->code;
    side->source.map = map;
    side->source.resources = assembly_find(assembly, kernel->name);
    return true;
}

/* Reads PTX, and, unless it is the PTX that is shown, its machine code. */
static bool read_ptx(ViewSide *side, Arena *arena)
{
    Run *run = &side->run;
    if (!input_is_ptx(run->source, run->messages) || !read_module(run) || !choose_arch(run))
        return false;
    Function *kernel = find_kernel(side, arena);
    if (!kernel || (!side->request->ptx && !map_machine_code(side, arena, kernel)))
        return false;
    if (side->source.missing && !side->request->run.quiet)
        fprintf(run->messages, "ptxopt: warning: %s: its PTX is shown instead of its machine code: %s\n",
                side->options.input, side->source.missing);
    const BlockSize block = block_size_resolve(&kernel->tuning, side->request->block);
    side->source.kernel = kernel->name;
    side->source.arch = run->arch;
    side->source.module = run->module;
    side->source.function = kernel;
    side->source.sm = run->sm;
    side->source.block_threads = block_size_total(&block);
    return true;
}

static bool is_wanted(const Image *image, const Arch *wanted)
{
    return image->kind == IMAGE_CUBIN && (!wanted->number || (image->arch.number == wanted->number &&
                                                               image->arch.suffix == wanted->suffix));
}

/* The cubins of an architecture, or all, that can be read; *error is why one of them cannot. */
static CubinVec find_cubins(Arena *arena, const Source *source, const ImageVec *images, const Arch *wanted,
                            const char **error)
{
    CubinVec cubins = {0};
    for (size_t i = 0; i < images->count; i++) {
        const Image *image = &images->data[i];
        const char *problem;
        Cubin cubin = {.file = image_place(arena, source->path, image), .arch = image->arch};
        if (!is_wanted(image, wanted))
            continue;
        cubin.bytes = image_unpack(arena, image, &cubin.size, &problem);
        if (cubin.bytes && read_figures(arena, &cubin))
            VEC_PUSH(arena, cubins, cubin);
        else
            *error = cubin.bytes ? "the machine code in it cannot be read" : problem;
    }
    return cubins;
}

/* The only one with the kernel, or the first of several for the same architecture; NULL after a message. */
static const Cubin *choose_cubin(const ViewSide *side, Arena *arena, const char *file, const CubinVec *cubins,
                                 const char *kernel)
{
    const Cubin *found = NULL;
    Names archs = {0};
    for (size_t i = 0; i < cubins->count; i++) {
        const ArchNames names = arch_names(cubins->data[i].arch);
        if (!assembly_find(cubins->data[i].assembly, kernel))
            continue;
        add_name(arena, &archs, arena_strndup(arena, names.real, strlen(names.real)));
        if (!found)
            found = &cubins->data[i];
    }
    if (archs.count <= 1)
        return found;
    fail(side, file,
         arena_printf(arena, "there is machine code of '%s' for %zu architectures; -arch sm_XX picks one%s", kernel,
                      archs.count, words_hint(arena, NULL, "it has", archs.data, archs.count)));
    return NULL;
}

/* True if PTX may have the kernel: by the plain beginning of the name that the user wrote, which is in mangled names,
 * too. */
static bool may_have_kernel(const ViewSide *side, const char *text)
{
    const char *kernel = side->request->kernel ? side->request->kernel : "";
    return strstr(text, ".entry") && memmem(text, strlen(text), kernel, strcspn(kernel, "*?[<(:"));
}

/* The last PTX that may have the kernel, as a source; NULL if there is none. */
static Source *find_ptx(const ViewSide *side, Arena *arena, const char *file, const ImageVec *images,
                        const char **error)
{
    for (size_t i = images->count; i-- > 0;) {
        const Image *image = &images->data[i];
        size_t size;
        const char *problem, *text = image->kind == IMAGE_PTX ? image_unpack(arena, image, &size, &problem) : "";
        if (!text)
            *error = problem;
        else if (may_have_kernel(side, text))
            return source_from_memory(arena, arena_printf(arena, "%s (PTX)", file), text, strlen(text));
    }
    return NULL;
}

/* Looks for the kernel in the machine code of a file, and, if there is none for the architecture, in its PTX. */
static bool read_images(ViewSide *side, Arena *arena)
{
    const char *file = side->run.source->path, *error = NULL;
    ImageVec images = {0};
    Names names = {0};
    Arch wanted = {0};
    const char *damage = images_read(arena, side->run.source->text, side->run.source->size, &images);
    if (!images.count)
        return fail(side, file, damage ? damage : "there is no device code in it");
    if (side->request->run.arch)
        arch_parse(side->request->run.arch, &wanted);
    const CubinVec cubins = find_cubins(arena, side->run.source, &images, &wanted, &error);
    for (size_t i = 0; i < cubins.count; i++)
        add_kernels(arena, &cubins.data[i], &names);
    if (names.count && !side->request->ptx) {
        const char *kernel = choose_kernel(side, arena, file, &names);
        const Cubin *cubin = kernel ? choose_cubin(side, arena, file, &cubins, kernel) : NULL;
        return cubin && read_code(side, arena, cubin, kernel);
    }
    Source *ptx = find_ptx(side, arena, file, &images, &error);
    if (!ptx)
        return fail(side, file, error ? error : "there is no kernel in it");
    side->run.source = ptx;
    side->options.input = ptx->path;
    return read_ptx(side, arena);
}

/* Counts the executions of a launch, by the contract of the kernel if it has one. */
static bool count_launch(ViewSide *side, Arena *arena)
{
    const char *path = side->request->launch;
    const char *error = NULL;
    bool has_contract = false;
    Device device;
    const Launch *launch = launch_read(arena, path, &error);
    if (!launch) {
        fprintf(side->run.messages, "ptxopt: error: %s\n", error);
        return false;
    }
    if (strcmp(launch->kernel, side->source.kernel) != 0)
        return fail(side, path, launch_kernel_missing(arena, side->run.module, launch));
    const Launch *own = launch_by_contract(arena, side->run.module, launch, &has_contract, &error);
    if (!own)
        return fail(side, path, error);
    if (!side->run.sm || !read_device(&side->run, NULL, &device))
        return fail(side, path, "the limits of the architecture are unknown");
    CostBasis basis = cost_basis(arena, side->run.sm, &device, own, NULL, 0);
    basis.samples = false; /* each instruction's executions are shown */
    const FunctionForm form = {.function = module_find_function(side->run.module, side->source.kernel)};
    const FormCost cost = form_cost(&basis, &form, &(Figures){0}, NULL);
    if (!cost.known)
        return fail(side, path, cost.error);
    if (side->source.map)
        side->source.executions = machine_executions(arena, side->source.map, cost.profile);
    else
        side->source.profile = cost.profile;
    side->source.block_threads = own->block[0] * own->block[1] * own->block[2];
    side->source.dynamic_shared = own->dynamic_shared;
    return true;
}

/* The launch that the options describe is the original's: a coarsened kernel has its own by its contract. */
static void set_launch(ViewSide *side, Arena *arena)
{
    Launch given = {.kernel = side->source.kernel, .dynamic_shared = side->request->dynamic_shared};
    LaunchContract contract;
    memcpy(given.block, side->request->block, sizeof given.block);
    const bool is_changed =
        side->run.module && contract_find(side->run.module, given.kernel, &contract) == CONTRACT_FOUND;
    const LaunchChange change = is_changed ? contract_change(&contract) : (LaunchChange){0};
    const Launch *own = launch_changed(arena, &given, &change);
    if (side->request->block[0])
        side->source.block_threads = own->block[0] * own->block[1] * own->block[2];
    if (side->request->dynamic_shared)
        side->source.dynamic_shared = own->dynamic_shared;
}

/* Reads what the file is. */
static bool read_input(ViewSide *side, Arena *arena)
{
    const Source *source = side->run.source;
    if (images_inside(source->text, source->size))
        return read_images(side, arena);
    if (sass_arch(arena, source->text, source->size).number)
        return read_cubin(side, arena);
    return read_ptx(side, arena);
}

/* Sets what runs and messages need to know. */
static void prepare(ViewSide *side, Arena *arena, const ViewRequest *request, const char *path)
{
    RunSetting setting = request->run;
    side->request = request;
    setting.path = path;
    run_prepare(&side->run, &side->options, arena, &setting);
    side->source.file = path;
}

/* Assembles the kernel with a cap at the boundary, below which caps have no effect. */
static ViewTrial try_cap(ViewSide *side)
{
    const View *view = side->view;
    Tuning tuning = side->source.function->tuning;
    const FunctionForm form = {.function = side->source.function, .tuning = &tuning};
    Figures figures;
    if (view->boundary < LOWEST_CAP)
        return (ViewTrial){0};
    tuning.maxnreg = view->boundary;
    const Judge *judge = &side->run.judge.judge;
    if (!judge->measure(judge->context, &form, &figures))
        return (ViewTrial){0};
    return (ViewTrial){view->boundary, figures.registers, figures_spills(&figures)};
}

/* Makes the picture of the source that has been read. */
static bool make_view(ViewSide *side, Arena *arena)
{
    const char *path = side->source.file, *error = NULL;
    if (!read_input(side, arena))
        return false;
    if (side->request->launch && !side->source.module)
        return fail(side, path, "-launch needs PTX: the emulator does not run machine code");
    if (side->request->launch && !count_launch(side, arena))
        return false;
    set_launch(side, arena);
    side->view = view_make(arena, &side->source, &error);
    if (side->view && side->request->tries && side->source.map && side->view->boundary)
        side->view->trial = try_cap(side);
    return side->view ? true : fail(side, path, error);
}

bool view_side_read(ViewSide *side, Arena *arena, const ViewRequest *request, const char *path)
{
    const char *error;
    prepare(side, arena, request, path);
    side->run.source = source_read(arena, path, &error);
    return side->run.source ? make_view(side, arena) : fail(side, path, error);
}

bool view_side_read_text(ViewSide *side, Arena *arena, const ViewRequest *request, Source *source,
                         const char *const *assembler_options)
{
    prepare(side, arena, request, source->path);
    for (size_t i = 0; assembler_options[i]; i++)
        VEC_PUSH(arena, side->options.ptxas_options, assembler_options[i]);
    VEC_PUSH(arena, side->options.ptxas_options, NULL);
    side->run.source = source;
    return make_view(side, arena);
}
