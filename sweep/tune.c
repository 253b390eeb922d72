/* Tuning: the space is halved until few configurations are left (see sweep.h). */
#include <stdlib.h>
#include <unistd.h>

#include "sweep/internal.h"

/* Of the forms that can be launched, a quarter is counted and assembled, and at least LEAST_KEPT. The fastest
 * MOST_FORMS configurations are made by options, and improved. */
enum { SHARE = 4, LEAST_KEPT = 8, MOST_FORMS = 3, MOST_TRIED = 12 };

static int compare_estimates(const void *a, const void *b)
{
    const SweepForm *x = a, *y = b;
    const double one = x->factor == 1 ? -1 : x->estimate, other = y->factor == 1 ? -1 : y->estimate;
    if (one != other)
        return one < other ? -1 : 1;
    const SweepRow a_row = {.dimension = x->dimension, .factor = x->factor, .stride = x->stride};
    const SweepRow b_row = {.dimension = y->dimension, .factor = y->factor, .stride = y->stride};
    return sweep_form_compare(&a_row, &b_row);
}

/* Puts the forms of one kernel that are kept first: the original, and the fastest ones, by estimates. Returns their
 * number. */
static size_t keep_best(SweepForm *forms, size_t count)
{
    size_t launchable = 0;
    qsort(forms, count, sizeof *forms, compare_estimates);
    while (launchable < count && isfinite(forms[launchable].estimate))
        launchable++;
    const size_t share = launchable / SHARE > LEAST_KEPT ? launchable / SHARE : LEAST_KEPT;
    const size_t kept = share + 1 < launchable ? share + 1 : launchable;
    return kept ? kept : 1;
}

static void halve(Sweep *sweep)
{
    size_t kept = 0;
    for (size_t first = 0, end; first < sweep->forms.count; first = end) {
        for (end = first; end < sweep->forms.count; end++)
            if (sweep->forms.data[end].kernel != sweep->forms.data[first].kernel)
                break;
        const size_t best = keep_best(&sweep->forms.data[first], end - first);
        memmove(&sweep->forms.data[kept], &sweep->forms.data[first], best * sizeof *sweep->forms.data);
        kept += best;
    }
    sweep->forms.count = kept;
}

static bool is_of_kernel(const Sweep *sweep, const SweepKernel *kernel, const SweepRow *row)
{
    return strcmp(row->kernel, kernel->kernel->name) == 0 && strcmp(row->launch, kernel->path) == 0 &&
           strcmp(row->arch, sweep->targets[0].run.arch) == 0 && row->status == SWEEP_OK &&
           row->inputs == hash_mix(sweep->targets[0].inputs, kernel->inputs);
}

/* A row of a kernel, with its speedup over the best original, measured or predicted. */
typedef struct RankedRow {
    const SweepRow *row;
    double speedup;
} RankedRow;

static int compare_speedups(const void *a, const void *b)
{
    const RankedRow *x = a, *y = b;
    return x->speedup > y->speedup ? -1 : x->speedup < y->speedup ? 1 : sweep_row_compare(x->row, y->row);
}

/* The rows of a kernel, the fastest first, and the original with the launch's own block. */
typedef struct Ranking {
    VEC(RankedRow) rows;
    const SweepRow *own; /* NULL: it cannot be run */
} Ranking;

static Ranking rank(const Sweep *sweep, const SweepKernel *kernel)
{
    Ranking ranking = {0};
    for (size_t i = 0; i < sweep->table.rows.count; i++) {
        const SweepRow *row = &sweep->table.rows.data[i];
        const double speedup = row->values[sweep->request->measures ? SWEEP_MEASURED_STRICT : SWEEP_STRICT];
        if (!is_of_kernel(sweep, kernel, row) || isnan(row->values[SWEEP_SAME_BLOCK]) || isnan(speedup) ||
            (row->factor == 1 && !row->by_machine))
            continue;
        VEC_PUSH(sweep->arena, ranking.rows, ((RankedRow){row, speedup}));
        if (row->factor == 1 && memcmp(row->block, kernel->launch->block, sizeof row->block) == 0)
            ranking.own = row;
    }
    if (ranking.rows.count)
        qsort(ranking.rows.data, ranking.rows.count, sizeof *ranking.rows.data, compare_speedups);
    return ranking;
}

static const Launch *launch_with(const SweepKernel *kernel, const unsigned block[3])
{
    for (size_t i = 0; i < kernel->launches.count; i++)
        if (memcmp(kernel->launches.data[i]->block, block, sizeof kernel->launches.data[i]->block) == 0)
            return kernel->launches.data[i];
    return NULL;
}

static void add_word(Sweep *sweep, TuneForm *form, const char *option, const char *value)
{
    VEC_PUSH(sweep->arena, form->words, option);
    VEC_PUSH(sweep->arena, form->words, value);
}

static const char *shape_word(Arena *arena, const SweepRow *row)
{
    return arena_printf(arena, "%s:%s%c%u", row->kernel, row->dimension.of_blocks ? "b" : "",
                        "xyz"[row->dimension.axis], row->factor);
}

/* The options of a row: "-arch sm_90 -block k:64,8,1 -coarsen k:by16 -coarsen-grid shrink". */
static void set_words(Sweep *sweep, const SweepRow *row, TuneForm *form)
{
    Arena *arena = sweep->arena;
    const char *name = row->kernel;
    char stride[16];
    add_word(sweep, form, "-arch", row->arch);
    add_word(sweep, form, "-block",
             arena_printf(arena, "%s:%u,%u,%u", name, row->block[0], row->block[1], row->block[2]));
    if (form->launch->dynamic_shared)
        add_word(sweep, form, "-dynamic-shared",
                 arena_printf(arena, "%s:%llu", name, (unsigned long long)form->launch->dynamic_shared));
    if (row->factor == 1)
        return;
    add_word(sweep, form, "-coarsen", shape_word(arena, row));
    if (row->dimension.of_blocks)
        add_word(sweep, form, "-coarsen-grid", "shrink");
    else
        add_word(sweep, form, "-stride", arena_printf(arena, "%s", stride_text(&row->stride, stride)));
}

/* True if the launch has something to merge along the axis. */
static bool can_merge(const Launch *launch, bool of_blocks, unsigned axis, unsigned factor)
{
    const unsigned grid = launch->grid[axis], block = launch->block[axis];
    return of_blocks ? grid >= factor : block >= factor && block % factor == 0;
}

/* Merges along further axes, and blocks as well as threads, as far as that helps; then tries other forms of guards. An
 * option that is given again prevails. */
static void improve_shape(Sweep *sweep, const SweepRow *row, TuneForm *form)
{
    enum { MOST = 4 };
    static const char *const guards[] = {"sequential", "fast", "predicated", "interior"};
    const char *shape = shape_word(sweep->arena, row), *merged = shape;
    for (unsigned i = 0; i < 6; i++, shape = merged) {
        const bool of_blocks = row->dimension.of_blocks ^ (i / 3);
        const unsigned axis = i % 3;
        if (i < 3 && axis == row->dimension.axis)
            continue;
        for (unsigned factor = 2; factor <= MOST && can_merge(form->launch, of_blocks, axis, factor); factor *= 2) {
            const char *more =
                arena_printf(sweep->arena, "%s,%s%c%u", shape, of_blocks ? "b" : "", "xyz"[axis], factor);
            if (!tune_form_add(sweep, form, "-coarsen", more))
                break;
            merged = more;
        }
    }
    for (size_t i = 0; i < COUNT_OF(guards); i++)
        tune_form_add(sweep, form, "-coarsen-guards", guards[i]);
}

/* Adds what helps; the registers that let one more block run come last, twice, and options of ptxas with them. */
static void improve(Sweep *sweep, const SweepRow *row, TuneForm *form)
{
    const char *name = form->kernel->kernel->name;
    static const char *const memory[] = {"edges",   "stage",       "prefetch",     "counters",
                                         "vectors", "stage,edges", "stage,vectors", "vectors,stage", "async",
                                         "vectors,rows"};
    bool has_target = false;
    if (row->factor > 1)
        improve_shape(sweep, row, form);
    for (size_t i = 0; i < COUNT_OF(memory); i++)
        tune_form_add(sweep, form, "-memory", arena_printf(sweep->arena, "%s:%s", name, memory[i]));
    tune_form_add_loops(sweep, form);
    for (unsigned i = 0; i < 2; i++) {
        const SmLimits *sm = sweep->targets[0].run.sm;
        const Launch *launch = launch_changed(sweep->arena, form->launch, &form->change);
        const unsigned threads = launch->block[0] * launch->block[1] * launch->block[2];
        const unsigned below = sm_boundary_below(sm, threads, form->figures.shared + launch->dynamic_shared,
                                                 form->figures.registers);
        if (below)
            has_target |= tune_form_add(sweep, form, "-target-regs", arena_printf(sweep->arena, "%s:%u", name, below));
    }
    if (has_target)
        tune_form_add(sweep, form, "-knobs", NULL);
}

/* The time of the original with its own block, as in TuneForm. */
static double own_time(const Sweep *sweep, const Ranking *ranking)
{
    return sweep->request->measures ? 1 : ranking->own->values[SWEEP_CYCLES];
}

/* The search for the best form of a kernel. */
typedef struct Search {
    Sweep *sweep;
    const SweepKernel *kernel;
    const Ranking *ranking;
    SweepPair *pair; /* on the GPU; NULL: times are predicted */
    TuneForm best;
    bool found; /* it */
    unsigned made;
} Search;

/* Makes a row's form by options; false if that is impossible, or the results would differ. */
static bool make(const Search *search, const SweepRow *row, TuneForm *form)
{
    Sweep *sweep = search->sweep;
    const SweepKernel *kernel = search->kernel;
    const SweepRow *own = search->ranking->own;
    *form = (TuneForm){.kernel = kernel, .pair = search->pair, .launch = launch_with(kernel, row->block)};
    if (!form->launch || !tune_block_is_right(kernel, form->launch))
        return false;
    form->launch_file = tune_launch_write(sweep->arena, kernel->path, row->block);
    /* Relative to the best original, by machine code. */
    form->time = own->values[SWEEP_CYCLES] * own->values[SWEEP_STRICT] / row->values[SWEEP_STRICT];
    form->original = form->time * row->values[SWEEP_SAME_BLOCK];
    form->figures = (Figures){.known = true, .registers = (unsigned)row->values[SWEEP_REGISTERS]};
    form->warps = (unsigned)row->values[SWEEP_WARPS];
    set_words(sweep, row, form);
    form->is_original = row->factor == 1;
    return form->launch_file && tune_form_weigh(sweep, form);
}

static void print_words(const Sweep *sweep, const TuneForm *form)
{
    printf("  ptxopt");
    for (size_t i = 0; i < form->words.count; i++)
        printf(" %s", form->words.data[i]);
    printf(" %s\n", sweep->request->input);
}

/* True if it may add floating-point numbers in another order, so that -verify compares with a tolerance. */
static bool adds_otherwise(const TuneForm *form)
{
    bool found = false;
    for (size_t i = 0; i < form->words.count; i++)
        found |= strcmp(form->words.data[i], "-reassociate") == 0;
    return found;
}

static void print_best(const Search *search)
{
    const TuneForm *form = &search->best;
    const Sweep *sweep = search->sweep;
    const unsigned *block = form->launch->block, *grid = form->launch->grid;
    printf("%.2f times as fast as the original with its own block, %s%s: blocks of %u,%u,%u, grid of %u,%u,%u;\n"
           "%u registers, %u warps on an SM; results are equal%s\n",
           own_time(sweep, search->ranking) / form->time, form->pair ? "measured on " : "predicted",
           form->pair ? sweep->device.name : "", block[0], block[1], block[2], grid[0], grid[1], grid[2],
           form->figures.registers, form->warps, adds_otherwise(form) ? " within a tolerance" : "");
    print_words(sweep, form);
}

/* Removes the file of a form's launch. */
static void form_close(const TuneForm *form)
{
    if (form->launch_file)
        unlink(form->launch_file);
}

/* Improves a row, after its threads are divided if 'divides': the search has it if its results are right and it is the
 * fastest so far. A row whose divided threads are not faster is left alone. */
static void try_row(Search *search, const SweepRow *row, bool divides)
{
    Sweep *sweep = search->sweep;
    TuneForm form;
    bool is_better = make(search, row, &form) &&
                     (!divides || tune_form_refine(sweep, &form));
    if (is_better) {
        search->made++;
        improve(sweep, row, &form);
        is_better = (!search->found || tune_is_longer(sweep, search->best.time, form.time)) &&
                    tune_form_verify(sweep, &form);
    }
    if (!is_better) {
        form_close(&form);
        return;
    }
    if (search->found)
        form_close(&search->best);
    search->best = form;
    search->found = true;
}

/* Improves the fastest rows, and the original's own if several threads in the place of one are faster. */
static void find_best(Search *search)
{
    const Ranking *ranking = search->ranking;
    for (size_t i = 0; i < ranking->rows.count && i < MOST_TRIED && search->made < MOST_FORMS; i++) {
        if (search->found && sweep_is_over(search->sweep))
            break;
        try_row(search, ranking->rows.data[i].row, false);
    }
    if (!sweep_is_over(search->sweep))
        try_row(search, ranking->own, true);
}

/* True if the best form is faster than the original. The fastest of many that are measured looks faster than it is, so
 * it is measured once more. */
static bool is_faster(Search *search)
{
    return search->found && (!search->pair || tune_form_weigh(search->sweep, &search->best)) &&
           tune_is_longer(search->sweep, own_time(search->sweep, search->ranking), search->best.time);
}

/* Prints the best form of a kernel; false if the original cannot be measured. */
static bool search_run(Search *search)
{
    find_best(search);
    if (is_faster(search))
        print_best(search);
    else
        printf("nothing is %s to be faster than the original\n", search->pair ? "measured" : "predicted");
    form_close(&search->best);
    return true;
}

/* The same with the original on the GPU. */
static bool search_on_gpu(Search *search)
{
    SweepPair pair;
    const char *problem = sweep_pair_open(search->sweep, search->sweep->arena, search->kernel, &pair);
    search->pair = &pair;
    if (problem)
        printf("the original cannot be measured: %s\n", problem);
    const bool is_done = !problem && search_run(search);
    sweep_pair_close(&pair);
    return is_done;
}

static bool tune_kernel(Sweep *sweep, const SweepKernel *kernel)
{
    const Ranking ranking = rank(sweep, kernel);
    Search search = {.sweep = sweep, .kernel = kernel, .ranking = &ranking};
    printf("%s, %s:\n", kernel->kernel->name, kernel->path);
    if (!ranking.own) {
        printf("the original cannot be measured with its own block\n");
        return false;
    }
    return sweep->gpu ? search_on_gpu(&search) : search_run(&search);
}

int tune_run(Arena *arena, const SweepRequest *request)
{
    Sweep sweep = {.arena = arena, .request = request, .table = {.arena = arena}, .tunes = true};
    if (!sweep_open(&sweep))
        return EXIT_INPUT;
    sweep_list_forms(&sweep);
    const size_t forms = sweep.forms.count;
    sweep_share(&sweep, sweep_estimate);
    halve(&sweep);
    if (!request->quiet)
        fprintf(stderr, "ptxopt: of %zu forms, %zu are measured, by estimates\n", forms, sweep.forms.count);
    sweep_drop_known(&sweep);
    bool is_done = sweep_is_over(&sweep) || sweep_complete(&sweep);
    is_done &= !request->measures || sweep_gpu_open(&sweep);
    for (size_t i = 0; i < sweep.kernels.count && (sweep.gpu || !request->measures); i++)
        is_done &= tune_kernel(&sweep, &sweep.kernels.data[i]);
    if (sweep.gpu && sweep.gpu->is_lost)
        fprintf(stderr, "ptxopt: error: after a launch that failed, the driver refused all others\n");
    sweep_gpu_close(&sweep);
    if (sweep_is_over(&sweep))
        fprintf(stderr, "ptxopt: interrupted, so there may be faster forms; %sthe same command goes on\n",
                request->output ? "" : "with -o TABLE.tsv, ");
    return is_done ? EXIT_DONE : EXIT_INPUT;
}
