/* The spilling pass: spills go to shared memory that is unused otherwise.
 *
 * Requires nothing.  Proposes forms of the search's best one, and changes nothing else.
 * CUDAVis (SCOPES'10, section 5.4) asks for values that must leave the registers to go to shared memory where the
 * target occupancy leaves some; ptxas does that itself for the pragma "enable_smem_spilling" (PTX 9.0), with one place
 * for each thread, so without bank conflicts.  It needs the block's size, for without .maxntid it takes places for
 * 1,024 threads.  It takes no more than 64 bytes for each thread, and none where the kernel has much shared memory of
 * its own; so values are demoted, too (opt/demote.c), into what is left.  A form that is proposed must not fit on an SM
 * in fewer blocks, and must not be a loss; assemblers that do not know the pragma, or do not use it here, return the
 * figures that they had before. */
#include "opt/demote.h"
#include "opt/estimate.h"
#include "opt/registers_search.h"

static const char pragma_text[] = "enable_smem_spilling";
enum {
    MOST_SHARED = 49152, /* bytes that a kernel can declare, on every architecture */
    FORMS = 4,           /* the assembler's own spills, and demotion with three limits of live registers */
    LIMIT_STEP = 5,      /* registers between these */
};

/* Forms with a predicted speedup of at least this are as good. */
static const double no_difference = 0.995;
/* More instructions than so many times as many are a loss. */
static const double most_instructions = 1.01;

static Name pragma_name(const Body *body)
{
    return intern(body->module->names, pragma_text);
}

static bool has_pragma(const Body *body)
{
    const Block *entry = body->blocks.data[0];
    for (size_t i = 0; i < entry->pragmas.count; i++)
        for (unsigned k = 0; k < entry->pragmas.data[i]->count; k++)
            if (entry->pragmas.data[i]->strings[k] == pragma_name(body))
                return true;
    return false;
}

static unsigned blocks_on_sm(const Search *search, const Figures *figures)
{
    return pass_blocks_on_sm(&search->passes, figures, search->request->dynamic_shared);
}

/* Whether the form is as good as the best one, and what is predicted.  The time model knows on which paths the
 * accesses of a form are, but not those of the assembler's own spills: where no more words move, a word in shared
 * memory costs no more than one in local memory, which goes through the same pipe. */
static bool is_no_loss(Search *search, const Body *body, const Figures *figures, double *speedup)
{
    Prediction before = form_predicted(search, search->best, &search->best_figures);
    Prediction after = form_predicted(search, body, figures);
    bool comparable = before.known && after.known && before.is_machine == after.is_machine && after.cycles > 0;
    *speedup = comparable ? before.cycles / after.cycles : 1;
    if (*speedup >= no_difference)
        return true;
    return before.is_machine && after.accesses <= before.accesses &&
           after.instructions <= most_instructions * before.instructions;
}

/* Keeps a form if it spills less, fits on an SM in no fewer blocks, and is not predicted to be slower; takes the body
 * over. */
static void form_judge(Search *search, Body *body, const char *what)
{
    pass_verify(PASS_SPILLING, body);
    search->tried[PASS_SPILLING]++;
    Figures figures = search_measure(search, body);
    bool better = search_accepts(search, &figures) && search_compare(search, &figures, &search->best_figures) < 0;
    if (better) {
        unsigned before = blocks_on_sm(search, &search->best_figures), after = blocks_on_sm(search, &figures);
        double faster;
        bool pays = is_no_loss(search, body, &figures, &faster);
        what = arena_printf(search->passes.arena, "%s (%u blocks on an SM instead of %u, predicted %.3fx)", what, after,
                            before, faster);
        better = after >= before && pays;
    }
    search_record(search, PASS_SPILLING, what, body, &figures, better);
    if (better)
        search_set_best(search, body, &figures);
    else
        body_free(body);
}

static Body *sized_clone(const Search *search)
{
    Body *body = body_clone(search->best);
    if (!body->tuning.maxntid_count && !body->tuning.reqntid_count)
        block_size_declare(&search->passes.block, &body->tuning);
    return body;
}

/* The most threads that a launch may give a block of this tuning. */
static unsigned most_threads(const Tuning *tuning)
{
    const unsigned *numbers = tuning->reqntid_count ? tuning->reqntid : tuning->maxntid;
    unsigned count = tuning->reqntid_count ? tuning->reqntid_count : tuning->maxntid_count, threads = 1;
    for (unsigned d = 0; d < count; d++)
        threads *= numbers[d];
    return threads;
}

/* Whether no block extends along y or z: .maxntid only limits the product. */
static bool is_line(const Tuning *tuning)
{
    return tuning->reqntid_count == 1 ||
           (tuning->reqntid_count && tuning->reqntid[1] == 1 && (tuning->reqntid_count < 3 || tuning->reqntid[2] == 1));
}

static unsigned free_slots(const Search *search, unsigned threads)
{
    Figures figures = search->best_figures;
    uint64_t declared = figures.shared, each = UINT64_C(4) * threads;
    unsigned blocks = blocks_on_sm(search, &figures), slots = 0;
    for (;; slots++) {
        figures.shared = declared + (slots + 1) * each;
        if (figures.shared + search->request->dynamic_shared > MOST_SHARED || blocks_on_sm(search, &figures) < blocks)
            return slots;
    }
}

/* What can be proposed for the best form. */
typedef struct Spilling {
    Search *search;
    Body *sized;           /* the best form with a limit of its threads */
    DemoteRequest request; /* no slots: values cannot be demoted */
} Spilling;

/* Form number 'index', to be freed, and what it is; NULL if there is none.  The assembler's own spills come first: they
 * are those that it needs.  Then values are demoted for fewer and fewer registers. */
static Body *form_make(const Spilling *spilling, unsigned index, const char **what)
{
    Search *search = spilling->search;
    Body *body = body_clone(spilling->sized);
    if (!index) {
        block_add_pragma(body, body->blocks.data[0], pragma_text);
        *what = "spills in shared memory";
        return body;
    }
    DemoteRequest request = spilling->request;
    request.limit = register_room(search->passes.machine, search->target) - LIMIT_STEP * ((int32_t)index - 1);
    if (!body->ssa)
        body_to_ssa(body);
    Analyses *analyses = analyses_new(body);
    Demotion demotion = {0};
    if (request.slots && request.limit > 0)
        demotion = demote_values(body, analyses, search->passes.machine, &request);
    analyses_free(analyses);
    if (!demotion.values) {
        body_free(body);
        return NULL;
    }
    *what = arena_printf(search->passes.arena, "%u values in %u slots of shared memory", demotion.values,
                         demotion.slots);
    return body;
}

static void forms_prepare(const Spilling *spilling, unsigned first, unsigned count)
{
    Arena *arena = arena_new();
    Proposals proposals = proposals_new(spilling->search, arena, count);
    for (unsigned i = first; i < FORMS && proposals.count < proposals.capacity; i++) {
        const char *what;
        Body *body = form_make(spilling, i, &what);
        if (body)
            proposals_add(&proposals, body);
    }
    proposals_prepare(spilling->search, &proposals);
    arena_free(arena);
}

static void forms_try(const Spilling *spilling)
{
    Search *search = spilling->search;
    unsigned width = search->passes.judge->width > 1 ? search->passes.judge->width : 1;
    for (unsigned i = 0; i < FORMS && figures_spills(&search->best_figures) && !search_is_over(search); i++) {
        const char *what;
        if (i % width == 0)
            forms_prepare(spilling, i, width);
        Body *body = form_make(spilling, i, &what);
        if (body)
            form_judge(search, body, what);
    }
}

unsigned spilling_effort(const PassContext *context)
{
    return block_size_total(&context->block) && pass_is_enabled(context->options, PASS_SPILLING) ? FORMS : 0;
}

bool pass_spilling(PassContext *context)
{
    Search *search = context->search;
    if (!search || !search->best || !figures_spills(&search->best_figures) || has_pragma(search->best) ||
        !block_size_total(&search->passes.block))
        return false;
    unsigned kept = search->kept[PASS_SPILLING];
    Spilling spilling = {.search = search, .sized = sized_clone(search)};
    spilling.request.threads = most_threads(&spilling.sized->tuning);
    spilling.request.is_line = is_line(&spilling.sized->tuning);
    if (!demote_obstacle(spilling.sized, search->request->dynamic_shared > 0))
        spilling.request.slots = free_slots(search, spilling.request.threads);
    forms_try(&spilling);
    body_free(spilling.sized);
    return search->kept[PASS_SPILLING] > kept;
}
