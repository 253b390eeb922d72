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

enum {
    MOST_SHARED = 49152, /* bytes that a kernel can declare, on every architecture */
    FORMS = 5,           /* the assembler's own spills, and demotions */
    FORMS_FIRST = 4,     /* that are tried if there are few assemblies */
    FEW = 30,            /* assemblies */
};

/* What is demoted, in the order in which it is tried. */
static const struct {
    bool of_capped; /* values of the input under the cap, which is in the order of the source; else of the best form */
    int32_t below;  /* live registers below what the target has room for, that demotion leaves */
} demotions[FORMS - 1] = {{false, 0}, {true, 0}, {false, 5}, {false, 10}};

/* Forms with a predicted speedup of at least this are as good; but more than 'little' may not be lost in any case. */
static const double no_difference = 0.995, little = 0.98;
/* Otherwise more instructions than so many times as many are a loss, and more words stored or loaded. */
static const double most_instructions = 1.01, most_accesses = 1.02;

static Name pragma_name(const Body *body)
{
    return intern(body->module->names, SMEM_SPILLING);
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

static bool is_comparable(const Prediction *a, const Prediction *b)
{
    return a->known && b->known && a->is_machine == b->is_machine && b->cycles > 0;
}

static bool is_as_fast(const Prediction *form, const Prediction *than)
{
    return !is_comparable(than, form) ||
           (than->cycles / form->cycles >= no_difference && path_growth(form, than) <= PATHS_ALIKE);
}

/* Whether the form is as fast as the input under the cap. */
static bool is_as_fast_as_capped(Search *search, const Prediction *form)
{
    if (!search->cap)
        return false;
    Body *capped = body_clone(search->input);
    capped->tuning.maxnreg = search->cap;
    Prediction before = search_predict(search, capped, &search->result->capped);
    body_free(capped);
    return is_as_fast(form, &before);
}

/* Whether the form is as good as the best one, and what is predicted.  Of two forms that are both as fast as the input
 * under the cap, the one that spills less may be a little slower.  Where hardly more words move, one in shared memory
 * costs no more than one in local memory, which goes through the same pipe. */
static bool is_no_loss(Search *search, const Body *body, const Figures *figures, double *speedup)
{
    Prediction before = search_predict(search, search->best, &search->best_figures);
    Prediction after = search_predict(search, body, figures);
    *speedup = is_comparable(&before, &after) ? before.cycles / after.cycles : 1;
    if (is_as_fast(&after, &before) || (*speedup >= little && is_as_fast_as_capped(search, &after)))
        return true;
    return before.is_machine && after.accesses <= most_accesses * before.accesses &&
           after.instructions <= most_instructions * before.instructions;
}

/* A form that spills less than the best one. */
typedef struct Form {
    Body *body; /* owned */
    Figures figures;
    const char *what;
} Form;

/* Where times are predicted, they tell whether a form with more instructions pays, and the limit is not strict. */
static bool is_acceptable(const Search *search, const Figures *figures)
{
    Figures less = *figures;
    if (search->passes.judge->predict)
        less.instructions -= less.instructions / 16;
    return search_accepts(search, &less);
}

/* Measures a form and takes its body over; true if it is better than the best one by its figures, and as many blocks
 * fit on an SM. */
static bool form_measure(Search *search, Body *body, const char *what, Form *form)
{
    pass_verify(PASS_SPILLING, body);
    search->tried[PASS_SPILLING]++;
    *form = (Form){body, search_measure(search, body), what};
    const Figures *figures = &form->figures, *best = &search->best_figures;
    if (is_acceptable(search, figures) && search_compare(search, figures, best) < 0 &&
        blocks_on_sm(search, figures) >= blocks_on_sm(search, best))
        return true;
    search_record(search, PASS_SPILLING, what, body, &form->figures, false);
    body_free(body);
    return false;
}

/* Takes a form's body over, and makes the form the best one if it pays. */
static bool form_take(Search *search, const Form *form, bool may_pay)
{
    double faster = 1;
    bool pays = may_pay && is_no_loss(search, form->body, &form->figures, &faster);
    const char *what = form->what;
    if (may_pay)
        what = arena_printf(search->passes.arena, "%s (%u blocks on an SM instead of %u, predicted %.3fx)", what,
                            blocks_on_sm(search, &form->figures), blocks_on_sm(search, &search->best_figures), faster);
    search_record(search, PASS_SPILLING, what, form->body, &form->figures, pays);
    if (pays)
        search_set_best(search, form->body, &form->figures);
    else
        body_free(form->body);
    return pays;
}

/* Takes the best of the forms that pays, unless one is 'taken' already. */
static void forms_take(Search *search, Form *forms, unsigned count, bool taken)
{
    for (unsigned i = 1; i < count; i++)
        for (unsigned k = i; k && search_compare(search, &forms[k].figures, &forms[k - 1].figures) < 0; k--) {
            Form form = forms[k];
            forms[k] = forms[k - 1];
            forms[k - 1] = form;
        }
    for (unsigned i = 0; i < count; i++)
        taken |= form_take(search, &forms[i], !taken);
}

static Body *sized_clone(const Search *search, const Body *form)
{
    Body *body = body_clone(form);
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
    const Search *search;
    Body *sized;           /* the best form with a limit of its threads */
    Body *capped;          /* the same of the input under the cap; NULL: it is the best form, or has no such limit */
    DemoteRequest request; /* no slots: values cannot be demoted */
    bool takes_pragma;     /* the assembler may */
    unsigned forms;        /* that are tried */
} Spilling;

static void spilling_free(Spilling *spilling)
{
    body_free(spilling->sized);
    body_free(spilling->capped);
}

/* Form number 'index', to be freed, and what it is; NULL if there is none.  The assembler's own spills come first: they
 * are those that it needs. */
static Body *form_make(const Spilling *spilling, unsigned index, const char **what)
{
    const Search *search = spilling->search;
    const Body *from = index && demotions[index - 1].of_capped ? spilling->capped : spilling->sized;
    if (!from || (!index && !spilling->takes_pragma))
        return NULL;
    Body *body = body_clone(from);
    if (!index) {
        block_add_pragma(body, body->blocks.data[0], SMEM_SPILLING);
        *what = "spills in shared memory";
        return body;
    }
    DemoteRequest request = spilling->request;
    request.limit = register_room(search->passes.machine, search->target) - demotions[index - 1].below;
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
    Proposals proposals = proposals_new(spilling->search, count);
    for (unsigned i = first; i < spilling->forms && proposals.count < proposals.capacity; i++) {
        const char *what;
        Body *body = form_make(spilling, i, &what);
        if (body)
            proposals_add(spilling->search, &proposals, body);
        body_free(body);
    }
}

/* Until nothing is spilled by a form that pays. */
static void forms_try(Search *search, const Spilling *spilling)
{
    Form forms[FORMS];
    unsigned width = search->passes.judge->width > 1 ? search->passes.judge->width : 1, count = 0;
    bool taken = false;
    for (unsigned i = 0; i < spilling->forms && !taken && !search_is_over(search); i++) {
        const char *what;
        if (i % width == 0)
            forms_prepare(spilling, i, width);
        Body *body = form_make(spilling, i, &what);
        if (!body || !form_measure(search, body, what, &forms[count]))
            continue;
        if (figures_spills(&forms[count].figures))
            count++;
        else
            taken = form_take(search, &forms[count], true);
    }
    forms_take(search, forms, count, taken);
}

static Spilling spilling_new(const Search *search)
{
    Spilling spilling = {.search = search, .sized = sized_clone(search, search->best)};
    spilling.request.threads = most_threads(&spilling.sized->tuning);
    spilling.request.is_line = is_line(&spilling.sized->tuning);
    if (!demote_obstacle(spilling.sized, search->request->dynamic_shared > 0))
        spilling.request.slots = free_slots(search, spilling.request.threads);
    bool is_capped = !search_compare(search, &search->result->capped, &search->best_figures);
    if (spilling.request.slots && search->cap && !is_capped) {
        spilling.capped = sized_clone(search, search->input);
        spilling.capped->tuning.maxnreg = search->cap;
    }
    unsigned most = search->request->effort < FEW ? FORMS_FIRST : FORMS;
    spilling.takes_pragma = !demote_finds_dynamic_memory(spilling.sized);
    spilling.forms = spilling.request.slots ? most : spilling.takes_pragma;
    return spilling;
}

static bool can_spill(const Search *search)
{
    return search->best && figures_spills(&search->best_figures) && !has_pragma(search->best) &&
           block_size_total(&search->passes.block);
}

const char *spilling_obstacle(const Search *search)
{
    if (!pass_is_enabled(search->passes.options, PASS_SPILLING))
        return NULL;
    if (!block_size_total(&search->passes.block))
        return "the block size is not known (-block)";
    return demote_obstacle(search->input, search->request->dynamic_shared > 0);
}

unsigned spilling_effort(const Search *search)
{
    if (!can_spill(search) || !pass_is_enabled(search->passes.options, PASS_SPILLING))
        return 0;
    Spilling spilling = spilling_new(search);
    spilling_free(&spilling);
    return spilling.forms - (spilling.forms && !spilling.takes_pragma);
}

bool pass_spilling(PassContext *context)
{
    Search *search = context->search;
    if (!search || !can_spill(search))
        return false;
    unsigned kept = search->kept[PASS_SPILLING];
    Spilling spilling = spilling_new(search);
    forms_try(search, &spilling);
    spilling_free(&spilling);
    return search->kept[PASS_SPILLING] > kept;
}
