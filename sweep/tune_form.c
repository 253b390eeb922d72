/* Forms that options of ptxopt make: their times, and their results. */
#include <stdlib.h>
#include <unistd.h>

#include "sweep/internal.h"

/* A run of the engine with some options. */
typedef struct TuneRun {
    Arena *arena;
    Options options;
    Products products;
    ExitStatus status;
} TuneRun;

static void add_words(Arena *arena, TuneWords *words, const char *option, const char *value)
{
    VEC_PUSH(arena, *words, option);
    if (value)
        VEC_PUSH(arena, *words, value);
}

/* The words of a command line, with 'more' after those of the form. */
static bool read_options(const Sweep *sweep, const TuneForm *form, const TuneWords *more, TuneRun *run)
{
    const SweepRequest *request = sweep->request;
    const char *error = NULL;
    TuneWords words = {0};
    VEC_PUSH(run->arena, words, "ptxopt");
    for (size_t i = 0; i < form->words.count; i++)
        VEC_PUSH(run->arena, words, form->words.data[i]);
    for (size_t i = 0; i < more->count; i++)
        VEC_PUSH(run->arena, words, more->data[i]);
    add_words(run->arena, &words, "-entry", form->kernel->kernel->name);
    add_words(run->arena, &words, "-assembler", assembler_kind_word(request->assembler));
    add_words(run->arena, &words, "-q", NULL);
    add_words(run->arena, &words, request->input, NULL);
    const int count = (int)words.count;
    VEC_PUSH(run->arena, words, NULL);
    const OptionsOutcome outcome =
        options_parse(run->arena, count, (char *const *)words.data, &run->options, &error);
    run->options.report = true;
    run->options.cubin = form->pair ? "" : NULL; /* which is what runs on the GPU */
    return outcome == OPTIONS_RUN;
}

static void tune_run_close(TuneRun *run)
{
    products_free(&run->products);
    arena_free(run->arena);
}

/* Messages of what is only tried are not shown. */
static TuneRun tune_run_open(const Sweep *sweep, const TuneForm *form, const TuneWords *more)
{
    TuneRun run = {.arena = arena_new(), .status = EXIT_USAGE};
    FILE *messages = fopen("/dev/null", "w");
    if (messages && read_options(sweep, form, more, &run)) {
        Source *source = source_from_memory(run.arena, sweep->source->path, sweep->source->text, sweep->source->size);
        run.status = run_source(run.arena, &run.options, source, messages, &run.products);
    }
    if (messages)
        fclose(messages);
    return run;
}

/* The kernel's part of the report; NULL if it was not changed as asked, or its time is unknown. */
static const KernelReport *kernel_of(const TuneRun *run)
{
    const Report *report = run->status == EXIT_DONE ? run->products.kernels : NULL;
    const KernelReport *kernel = report && report->kernel_count == 1 ? &report->kernels[0] : NULL;
    return kernel && kernel->has_cost && !kernel->refusal ? kernel : NULL;
}

static TuneWords launch_words(const Sweep *sweep, const TuneForm *form)
{
    TuneWords words = {0};
    add_words(sweep->arena, &words, "-launch", form->launch_file);
    if (sweep->request->machine)
        add_words(sweep->arena, &words, "-machine", sweep->request->machine);
    return words;
}

static void take_prediction(TuneForm *form, const KernelReport *kernel)
{
    form->time = form->original / cost_speedup(&kernel->cost_before, &kernel->cost_after);
    form->figures = kernel->cost_after.figures;
    form->warps = kernel->cost_after.time.resident_warps;
    form->change = kernel_launch_change(&kernel->result);
}

/* Loads what the assembler made of the form, or its PTX, if the driver takes no cubins and no options of ptxas belong
 * to the form. */
static bool load(Sweep *sweep, const Products *made, TuneForm *form)
{
    bool *refuses = &sweep->gpu->refuses_cubins;
    if (made->cubin && !*refuses)
        *refuses = sweep_pair_load_image(sweep, form->pair, made->cubin, &form->change) != NULL;
    if (made->cubin && !*refuses)
        return true;
    return made->ptx && !*made->knobs && !sweep_pair_load_image(sweep, form->pair, made->ptx, &form->change);
}

static bool measure(Sweep *sweep, const TuneRun *run, TuneForm *form)
{
    const bool is_loaded = load(sweep, &run->products, form);
    form->time = is_loaded ? sweep_pair_ratio(sweep, form->pair, form->launch, &form->change) : NAN;
    return !isnan(form->time);
}

/* The original with another block is not made by a run. */
static bool weigh_original(Sweep *sweep, TuneForm *form)
{
    if (!form->pair)
        return true;
    sweep_pair_unload(form->pair);
    form->time = sweep_pair_ratio(sweep, form->pair, form->launch, NULL);
    return !isnan(form->time);
}

bool tune_form_weigh(Sweep *sweep, TuneForm *form)
{
    if (form->is_original)
        return weigh_original(sweep, form);
    const TuneWords more = launch_words(sweep, form);
    TuneRun run = tune_run_open(sweep, form, &more);
    const KernelReport *kernel = kernel_of(&run);
    if (kernel)
        take_prediction(form, kernel);
    const bool is_weighed = kernel && (!form->pair || measure(sweep, &run, form));
    tune_run_close(&run);
    return is_weighed;
}

bool tune_is_longer(const Sweep *sweep, double time, double than)
{
    static const double noise = 1.01;
    return sweep->request->measures ? time > noise * than : time_is_longer(time, than);
}

/* The form with more words, which take the place of the same option for the kernel; loops are named one by one. It has
 * words of its own. */
static TuneForm form_with(Sweep *sweep, const TuneForm *form, const char *option, const char *value)
{
    TuneForm more = *form;
    more.words = (TuneWords){0};
    more.is_original = false;
    for (size_t i = 0; i < form->words.count; i++) {
        const bool is_given = value && strcmp(form->words.data[i], option) == 0 && strcmp(option, "-uj") != 0;
        if (is_given)
            i++;
        else
            VEC_PUSH(sweep->arena, more.words, form->words.data[i]);
    }
    add_words(sweep->arena, &more.words, option, value);
    return more;
}

bool tune_form_add(Sweep *sweep, TuneForm *form, const char *option, const char *value)
{
    TuneForm more = form_with(sweep, form, option, value);
    const bool helps =
        !sweep_is_over(sweep) && tune_form_weigh(sweep, &more) && tune_is_longer(sweep, form->time, more.time);
    if (helps)
        *form = more;
    return helps;
}

/* Tries this number of threads in the place of one of 'form': *best if that is faster than it. */
static bool try_threads(Sweep *sweep, const TuneForm *form, unsigned threads, bool is_apart, TuneForm *best)
{
    TuneForm divided = form_with(sweep, form, "-refine",
                                 arena_printf(sweep->arena, "%s:%u%s", form->kernel->kernel->name, threads,
                                              is_apart ? ",apart" : ""));
    if (sweep->request->reassociates)
        add_words(sweep->arena, &divided.words, "-reassociate", NULL);
    if (sweep_is_over(sweep) || !tune_form_weigh(sweep, &divided) || !tune_is_longer(sweep, best->time, divided.time))
        return false;
    *best = divided;
    return true;
}

bool tune_form_refine(Sweep *sweep, TuneForm *form)
{
    enum { FIRST = 8 };
    TuneForm best = *form;
    for (unsigned apart = 0; apart < 2; apart++) {
        const unsigned most = apart ? REFINE_MOST / 2 : REFINE_MOST; /* all threads of a warp are next to each other */
        const bool grows = try_threads(sweep, form, FIRST, apart, &best);
        bool helps = true;
        for (unsigned threads = FIRST; helps && (grows ? threads < most : threads > 2);) {
            threads = grows ? threads * 2 : threads / 2;
            helps = try_threads(sweep, form, threads, apart, &best);
        }
    }
    const bool is_faster = tune_is_longer(sweep, form->time, best.time);
    *form = best;
    return is_faster;
}

void tune_form_add_loops(Sweep *sweep, TuneForm *form)
{
    TuneWords more = launch_words(sweep, form);
    add_words(sweep->arena, &more, "-uj", "auto");
    if (sweep_is_over(sweep))
        return;
    TuneRun run = tune_run_open(sweep, form, &more);
    const KernelReport *kernel = kernel_of(&run);
    TuneForm with = *form;
    for (unsigned i = 0; kernel && i < kernel->loops_choice.jam_count; i++) {
        const UnrollJam *jam = &kernel->loops_choice.jams[i];
        with = form_with(sweep, &with, "-uj", arena_printf(sweep->arena, "%s:%u", jam->loop, jam->factor));
    }
    tune_run_close(&run);
    if (with.words.count > form->words.count && tune_form_weigh(sweep, &with) &&
        tune_is_longer(sweep, form->time, with.time))
        *form = with;
}

bool tune_form_verify(Sweep *sweep, const TuneForm *form)
{
    TuneWords more = {0};
    add_words(sweep->arena, &more, "-verify", form->launch_file);
    TuneRun run = tune_run_open(sweep, form, &more);
    const Report *report = run.status == EXIT_DONE ? run.products.kernels : NULL;
    const Verification *verified = report && report->verification_count == 1 ? report->verifications : NULL;
    const bool is_equal = verified && verified->outcome == VERIFY_EQUAL && !verified->original_because;
    tune_run_close(&run);
    return is_equal;
}
