/* The spilling pass: spills go to shared memory that is unused otherwise.
 *
 * Proposes forms of the search's best one, and changes nothing else.
 * CUDAVis (SCOPES'10, section 5.4) asks for values that must leave the registers to go to shared memory where the
 * target occupancy leaves some; ptxas does that itself for the pragma "enable_smem_spilling" (PTX 9.0), with one place
 * for each thread, so without bank conflicts. It needs the block's size, for without .maxntid it takes places for
 * 1,024 threads. It takes no more than 64 bytes for each thread, and none where the kernel has much shared memory of
 * its own; so values are demoted, too (opt/registers/moves/demote.c), into what is left. A form that is proposed must
 * not fit on an SM in fewer blocks, and must not be a loss; assemblers that do not know the pragma, or do not use it
 * here, return the figures that they had before. */
#include "opt/registers/moves/demote.h"
#include "opt/registers/search/estimate.h"
#include "opt/registers/search/search.h"

enum {
    MOST_SHARED = 49152, /* bytes that a kernel can declare, on every architecture */
    FORMS = 6,           /* the assembler's own spills, and demotions */
    FORMS_FIRST = 4,     /* that are tried if there are few assemblies */
    FEW = 30,            /* assemblies */
    STEP = 5,            /* live registers */
    LIMIT_MOST = 255,
};

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

static bool is_as_fast(const Prediction *form, const Prediction *than)
{
    const Policy policy = {.path = threshold(THRESHOLD_PATH_ALIKE), .gain = threshold(THRESHOLD_MOVED_ALIKE)};
    return policy_accepts(&policy, form, than);
}

/* True if the form is as fast as the input under the cap. */
static bool is_as_fast_as_capped(Search *search, const Prediction *form)
{
    Prediction capped = search_predict_capped(search);
    return search->target.cap && is_as_fast(form, &capped);
}

/* True if the form is as good as the best one; *speedup is the prediction. If two forms are both as fast as the input
 * under the cap, the one that spills less may be a little slower; so it may if spills are accepted for the target.
 * Otherwise hardly more words may move. */
static bool is_no_loss(Search *search, const Body *body, const Figures *figures, double *speedup)
{
    const Policy little = {.gain = threshold(THRESHOLD_MOVED_LITTLE)};
    const Policy moves = {.executed = threshold(THRESHOLD_MOVED_CODE), .words = threshold(THRESHOLD_MOVED_WORDS)};
    Prediction before = search_predict(search, search->best.body, &search->best.figures);
    Prediction after = search_predict(search, body, figures);
    *speedup = predictions_compare(&before, &after) && after.cycles > 0 ? before.cycles / after.cycles : 1;
    bool loses_little = policy_accepts(&little, &after, &before);
    if (search->request->spill && loses_little)
        return true;
    if (is_as_fast(&after, &before) || (loses_little && is_as_fast_as_capped(search, &after)))
        return true;
    return before.is_machine && policy_accepts(&moves, &after, &before);
}

/* A form that spills less than the best one. */
typedef struct Form {
    Body *body; /* owned */
    Figures figures;
    Move move;
    bool pays;
    double faster; /* than the best form, as predicted */
} Form;

/* If times are predicted, they tell whether a form with more instructions pays, and the limit is not strict. */
static bool is_acceptable(const Search *search, const Figures *figures)
{
    Figures less = *figures;
    if (search->passes.judge->predict)
        less.instructions -= less.instructions / 16;
    return search_accepts(search, &less);
}

/* Measures a form and takes its body over; true if it is better than the best one by its figures, and as many blocks
 * fit on an SM. */
static bool form_measure(Search *search, Body *body, Move move, Form *form)
{
    pass_verify(PASS_SPILLING, body);
    search->record.tried[PASS_SPILLING]++;
    *form = (Form){body, search_measure(search, body), move, false, 1};
    const Figures *figures = &form->figures, *best = &search->best.figures;
    if (!is_acceptable(search, figures) || search_compare(search, figures, best) >= 0 ||
        blocks_on_sm(search, figures) < blocks_on_sm(search, best)) {
        search_record(search, PASS_SPILLING, move, body, figures, false);
        body_free(body);
        return false;
    }
    form->pays = is_no_loss(search, body, figures, &form->faster);
    form->move.is_compared = true;
    form->move.blocks = blocks_on_sm(search, figures);
    form->move.blocks_before = blocks_on_sm(search, best);
    form->move.speedup = form->faster;
    return true;
}

/* Makes the best of the forms that pay the best one, and frees the others. */
static void forms_take(Search *search, const Form *forms, unsigned count)
{
    const Form *taken = NULL;
    for (unsigned i = 0; i < count; i++)
        if (forms[i].pays && (!taken || search_compare(search, &forms[i].figures, &taken->figures) < 0))
            taken = &forms[i];
    for (unsigned i = 0; i < count; i++) {
        search_record(search, PASS_SPILLING, forms[i].move, forms[i].body, &forms[i].figures, &forms[i] == taken);
        if (&forms[i] != taken)
            body_free(forms[i].body);
    }
    if (taken)
        search_set_best(search, taken->body, &taken->figures);
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

/* True if no block extends along y or z: .maxntid only limits the product. */
static bool is_line(const Tuning *tuning)
{
    return tuning->reqntid_count == 1 ||
           (tuning->reqntid_count && tuning->reqntid[1] == 1 && (tuning->reqntid_count < 3 || tuning->reqntid[2] == 1));
}

static unsigned free_slots(const Search *search, unsigned threads)
{
    Figures figures = search->best.figures;
    uint64_t declared = figures.shared, each = UINT64_C(4) * threads;
    unsigned blocks = blocks_on_sm(search, &figures), slots = 0;
    for (;; slots++) {
        figures.shared = declared + (slots + 1) * each;
        if (figures.shared + search->request->dynamic_shared > MOST_SHARED || blocks_on_sm(search, &figures) < blocks)
            return slots;
    }
}

/* Values that are demoted until no more than 'limit' registers are live, and what came of it. */
typedef struct Attempt {
    bool of_capped;   /* of the input under the cap, which is in the order of the source; else of the best form */
    int32_t limit;
    bool loads_early; /* (DemoteRequest) */
    unsigned values;  /* 0: there are none */
    const Form *form; /* NULL: it spills no less than the best form */
} Attempt;

/* True if it does not pay although it is predicted to be as fast: warps wait longer. */
static bool only_waits(const Attempt *attempt)
{
    return !attempt->form->pays && attempt->form->faster >= threshold(THRESHOLD_MOVED_ALIKE);
}

/* The forms that can be proposed for the best form. */
typedef struct Spilling {
    const Search *search;
    Body *sized;           /* the best form with a limit of its threads */
    Body *capped;          /* the same of the input under the cap; NULL: it is the best form, or has no such limit */
    DemoteRequest request; /* no slots: values cannot be demoted */
    bool takes_pragma;     /* the assembler may */
    unsigned forms;        /* that are tried */
    Attempt attempts[FORMS];
    unsigned attempt_count;
} Spilling;

static void spilling_free(Spilling *spilling)
{
    body_free(spilling->sized);
    body_free(spilling->capped);
}

static Body *pragma_make(const Spilling *spilling)
{
    Body *body = body_clone(spilling->sized);
    block_add_pragma(body, body->blocks.data[0], SMEM_SPILLING);
    return body;
}

/* The attempt's form, to be freed; NULL if no value is demoted. */
static Body *demotion_make(const Spilling *spilling, const Attempt *attempt, Demotion *demotion)
{
    const Body *from = attempt->of_capped ? spilling->capped : spilling->sized;
    DemoteRequest request = spilling->request;
    request.limit = attempt->limit;
    request.loads_early = attempt->loads_early;
    *demotion = (Demotion){0};
    if (!from || !request.slots || request.limit <= 0)
        return NULL;
    Body *body = body_clone(from);
    if (!body->ssa)
        body_to_ssa(body);
    Analyses *analyses = analyses_new(body);
    *demotion = demote_values(body, analyses, spilling->search->passes.sm, &request);
    analyses_free(analyses);
    if (demotion->values)
        return body;
    body_free(body);
    return NULL;
}

static unsigned demoted_at(const Spilling *spilling, Attempt attempt, int32_t limit)
{
    Demotion demotion;
    attempt.limit = limit;
    body_free(demotion_make(spilling, &attempt, &demotion));
    return demotion.values;
}

/* The lowest limit above the attempt's at which at most 'values' values are demoted. */
static int32_t limit_for(const Spilling *spilling, const Attempt *attempt, unsigned values)
{
    int32_t low = attempt->limit, high = LIMIT_MOST;
    while (low + 1 < high) {
        int32_t middle = low + (high - low) / 2;
        if (demoted_at(spilling, *attempt, middle) > values)
            low = middle;
        else
            high = middle;
    }
    return high;
}

/* Halfway to the lowest limit above the attempt's that pays; where none is known, that at which about as many values
 * are demoted as the assembler spills. */
static int32_t limit_above(const Spilling *spilling, const Attempt *attempt)
{
    int32_t high = LIMIT_MOST;
    for (unsigned i = 0; i < spilling->attempt_count; i++) {
        const Attempt *other = &spilling->attempts[i];
        bool pays = other->form && other->form->pays;
        if (pays && other->of_capped == attempt->of_capped && other->limit > attempt->limit && other->limit < high)
            high = other->limit;
    }
    if (high < LIMIT_MOST)
        return attempt->limit + (high - attempt->limit) / 2;
    uint64_t spilled = spilling->search->best.figures.spill_stores / sizeof(uint32_t) * 5 / 4;
    unsigned fewer = attempt->values * 5 / 8;
    return limit_for(spilling, attempt, spilled < fewer ? (unsigned)spilled + 1 : fewer);
}

/* The next attempt: as many registers as the model has room for; the same of the input; then more values than those
 * that spilled the least, if these pay; else the same loaded earlier, if waiting is all that is lost, or fewer. */
static Attempt attempt_next(const Spilling *spilling)
{
    const int32_t room = register_room(spilling->search->passes.sm, spilling->search->target.registers);
    unsigned count = spilling->attempt_count;
    if (count < 2 && (!count || spilling->capped))
        return (Attempt){.of_capped = count, .limit = room};
    const Attempt *least = NULL, *lowest = &spilling->attempts[0];
    for (unsigned i = 0; i < count; i++) {
        const Attempt *attempt = &spilling->attempts[i];
        const Form *form = attempt->form;
        if (form && (!least || figures_spills(&form->figures) < figures_spills(&least->form->figures)))
            least = attempt;
        if (attempt->limit < lowest->limit)
            lowest = attempt;
    }
    if (least && only_waits(least) && !least->loads_early)
        return (Attempt){.of_capped = least->of_capped, .limit = least->limit, .loads_early = true};
    if (least && !least->form->pays)
        return (Attempt){.of_capped = least->of_capped, .limit = limit_above(spilling, least),
                         .loads_early = only_waits(least)};
    return (Attempt){.of_capped = least && least->of_capped, .limit = (least ? least : lowest)->limit - STEP};
}

/* Lets the judge begin with the forms that are tried in any case. */
static void forms_prepare(const Spilling *spilling)
{
    Proposals proposals = proposals_new(spilling->search, spilling->search->turn.budget, spilling->forms);
    if (spilling->takes_pragma && proposals.count < proposals.capacity) {
        Body *body = pragma_make(spilling);
        proposals_add(spilling->search, &proposals, body);
        body_free(body);
    }
    Spilling later = *spilling;
    for (later.attempt_count = 0; later.attempt_count < 2 && proposals.count < proposals.capacity;) {
        Demotion demotion;
        const Attempt attempt = attempt_next(&later);
        Body *body = demotion_make(spilling, &attempt, &demotion);
        if (body)
            proposals_add(spilling->search, &proposals, body);
        body_free(body);
        later.attempts[later.attempt_count++] = attempt;
    }
}
/* The form that is tried next, the move that makes it, and the attempt that it comes from (NULL: the assembler's own
 * spills, which come first, because the assembler needs these). NULL: there is none. */
static Body *form_next(Spilling *spilling, bool is_first, Move *move, Attempt **attempt)
{
    *attempt = NULL;
    *move = move_of(MOVE_SPILLS, 0);
    if (is_first && spilling->takes_pragma)
        return pragma_make(spilling);
    Demotion demotion;
    const Attempt next = attempt_next(spilling);
    *attempt = &spilling->attempts[spilling->attempt_count++];
    **attempt = next;
    Body *body = demotion_make(spilling, &next, &demotion);
    (*attempt)->values = demotion.values;
    *move = (Move){MOVE_DEMOTE, demotion.values, .slots = demotion.slots};
    return body;
}

/* Until nothing is spilled by a form that pays. */
static void forms_try(Search *search, Spilling *spilling)
{
    Form forms[FORMS];
    unsigned count = 0;
    bool is_done = false;
    forms_prepare(spilling);
    for (unsigned i = 0; i < spilling->forms && !is_done && !search_is_over(search); i++) {
        Move move;
        Attempt *attempt;
        Body *body = form_next(spilling, !i, &move, &attempt);
        Form *form = &forms[count];
        if (!body || !form_measure(search, body, move, form))
            continue;
        count++;
        is_done = form->pays && !figures_spills(&form->figures);
        if (attempt)
            attempt->form = form;
    }
    forms_take(search, forms, count);
}

static Spilling spilling_new(const Search *search, Budget budget)
{
    Spilling spilling = {.search = search, .sized = sized_clone(search, search->best.body)};
    spilling.request.threads = most_threads(&spilling.sized->tuning);
    spilling.request.is_line = is_line(&spilling.sized->tuning);
    if (demote_obstacle(spilling.sized, search->request->dynamic_shared > 0) == SHARED_FREE)
        spilling.request.slots = free_slots(search, spilling.request.threads);
    bool is_capped = !search_compare(search, &search->result->capped, &search->best.figures);
    if (spilling.request.slots && search->target.cap && !is_capped) {
        spilling.capped = sized_clone(search, search->input);
        spilling.capped->tuning.maxnreg = search->target.cap;
    }
    unsigned most = budget.effort < FEW ? FORMS_FIRST : FORMS;
    spilling.takes_pragma = !demote_minds_shared_memory(spilling.sized);
    spilling.forms = spilling.request.slots ? most : spilling.takes_pragma;
    return spilling;
}

static bool can_spill(const Search *search)
{
    return search->best.body && figures_spills(&search->best.figures) && !has_pragma(search->best.body) &&
           block_size_total(&search->passes.block);
}

SharedObstacle spilling_obstacle(const Search *search)
{
    if (!pass_is_enabled(search->passes.options, PASS_SPILLING))
        return SHARED_FREE;
    if (!block_size_total(&search->passes.block))
        return SHARED_BLOCK_UNKNOWN;
    return demote_obstacle(search->input, search->request->dynamic_shared > 0);
}

unsigned spilling_effort(const Search *search, Budget budget)
{
    if (!can_spill(search) || !pass_is_enabled(search->passes.options, PASS_SPILLING))
        return 0;
    Spilling spilling = spilling_new(search, budget);
    spilling_free(&spilling);
    return spilling.forms - (spilling.forms && !spilling.takes_pragma);
}

bool pass_spilling(PassContext *context)
{
    Search *search = context->search;
    if (!search || !can_spill(search))
        return false;
    unsigned kept = search->record.kept[PASS_SPILLING];
    Spilling spilling = spilling_new(search, search->turn.budget);
    forms_try(search, &spilling);
    spilling_free(&spilling);
    return search->record.kept[PASS_SPILLING] > kept;
}
