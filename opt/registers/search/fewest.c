/* The fewest registers at a limited price.
 *
 * For each count of registers the shortest measured form is kept, the front: forms of the input under caps, and those
 * that the passes propose for lower and lower targets. The front's forms are predicted, and one is worth taking if it
 * takes no longer than the input and the price allow. None of them spills more than the input, and none executes more
 * than a few percent more in loops, whatever the price: predicted times are less certain than counts. */
#include "opt/registers/search/search.h"

enum {
    COUNTS = 256,      /* of registers */
    LEAST_TARGET = 8,  /* a form below the lowest cap has no next target: the passes go as low as they can */
    STEP_PART = 8,     /* of the registers, between one target and the next */
    CAPS_APART = 2,    /* registers between two caps for the input, at least */
    ROUND_LEAST = 6,   /* assemblies for one target */
    PREDICTIONS = 2,   /* of the forms for one target, and in the end, at least; there, */
    LAST_PART = 10,    /* one for this many assemblies of the search */
    LONGER_LOOPS = 3,  /* percent more instructions that are always allowed in loops, */
    LONGER_IN_ALL = 10,
};

typedef struct FrontForm {
    Body *body; /* owned, not in SSA form; NULL: none has this many registers */
    Figures figures;
    bool judged;     /* and then: */
    Objection objection;
    double speedup, growth; /* predicted: of the kernel, and how many times the instructions; 0: unknown */
} FrontForm;

typedef struct Fewest Fewest;

typedef struct Front {
    SearchObserver observer; /* the first member: the search hands it back */
    Fewest *fewest; /* which it is a part of */
    unsigned below;       /* only fewer registers than this are of interest: the input's, or those of the form taken */
    uint64_t most_spills; /* bytes */
    FrontForm forms[COUNTS];
} Front;

struct Fewest {
    Search *search;
    const Body *input;
    Prediction before; /* of the input */
    Front front;
    const FrontForm *taken; /* NULL: the input */
};

/* A form of the front; the body is copied. */
static FrontForm form_new(const Body *body, const Figures *figures)
{
    FrontForm form = {.body = body_clone(body), .figures = *figures};
    if (form.body->ssa)
        body_from_ssa(form.body);
    return form;
}

/* Keeps a copy of a form that was measured, if it is the best one with its number of registers. */
static void front_offer(SearchObserver *observer, const Body *body, const Figures *figures)
{
    Front *front = (Front *)observer;
    if (figures->registers >= front->below || figures_spills(figures) > front->most_spills)
        return;
    FrontForm *form = &front->forms[figures->registers];
    if (form->body && form->figures.instructions <= figures->instructions)
        return;
    body_free(form->body);
    *form = form_new(body, figures);
}

static void front_free(Front *front)
{
    for (unsigned registers = 0; registers < COUNTS; registers++)
        body_free(front->forms[registers].body);
}

/* How many times the instructions are allowed where the price is not higher than these percent. */
static double growth_allowed(const Search *search, double percent)
{
    return 1 + (search->request->price > percent ? search->request->price : percent) / 100;
}

static Policy price_policy(const Search *search)
{
    const double price = 1 + search->request->price / 100;
    return (Policy){.code = growth_allowed(search, LONGER_LOOPS),
                    .time = threshold(THRESHOLD_TIME_ALIKE) * price,
                    .path = threshold(THRESHOLD_PATH_ALIKE) * price,
                    .loops = growth_allowed(search, LONGER_LOOPS),
                    .executed = growth_allowed(search, LONGER_IN_ALL)};
}

/* Compares the form's predicted time with the input's; where they cannot be compared, the instructions of the code. */
static void form_judge(const Fewest *fewest, FrontForm *form)
{
    Search *search = fewest->search;
    const Prediction *before = &fewest->before, after = search_predict(search, form->body, &form->figures);
    const Policy policy = price_policy(search);
    const JudgedForm judged = {&form->figures, &after}, input = {&search->result->before, before};
    form->judged = true;
    form->objection = policy_objection(&policy, &judged, &input);
    if (!predictions_compare(before, &after))
        return;
    form->speedup = before->cycles / after.cycles;
    form->growth = growth_in_all(&after, before);
}

/* Takes the form if it is worth its price; then only fewer registers are of interest. */
static bool form_take(Fewest *fewest, FrontForm *form)
{
    Search *search = fewest->search;
    unsigned registers = form->figures.registers;
    if (!form->judged)
        form_judge(fewest, form);
    if (objects(&form->objection))
        return false;
    fewest->front.below = registers;
    fewest->taken = form;
    search_record(search, PASS_BOUNDS, move_of(MOVE_FEWEST, registers), form->body, &form->figures, true);
    return true;
}

/* Takes the form if it is worth its price and has fewer registers than any other that is. */
static bool front_objects(SearchObserver *observer, const Body *body, const Figures *figures)
{
    Front *front = (Front *)observer;
    if (figures_spills(figures) > front->most_spills)
        return false; /* it is only on the way */
    FrontForm form = form_new(body, figures), *place = &front->forms[figures->registers];
    form_judge(front->fewest, &form);
    if (objects(&form.objection) || figures->registers >= front->below) {
        body_free(form.body);
        return objects(&form.objection);
    }
    body_free(place->body);
    *place = form;
    form_take(front->fewest, place);
    return false;
}

/* Takes a lower form, the lowest first, after at most 'tries' new predictions: if there are more forms, some are
 * skipped. */
static bool lower_take(Fewest *fewest, unsigned tries)
{
    FrontForm *forms[COUNTS];
    unsigned count = 0;
    for (unsigned registers = 0; registers < fewest->front.below; registers++) {
        FrontForm *form = &fewest->front.forms[registers];
        if (form->body && !form->judged)
            forms[count++] = form;
    }
    for (unsigned at = 0; at < count && tries; at++) {
        if (form_take(fewest, forms[at]))
            return true;
        unsigned left = count - at - 1;
        at += left > --tries ? (left - tries) / (tries + 1) : 0;
    }
    return false;
}

/* The form under the cap for the target, assembled; NULL if it does not assemble. */
static Body *form_capped(Search *search, const Body *form, unsigned target, Figures *figures)
{
    Body *body = body_clone(form);
    if (pass_is_enabled(search->passes.options, PASS_BOUNDS) && search->result->before.registers > LOWEST_CAP)
        body->tuning.maxnreg = cap_of(target);
    search->record.tried[PASS_BOUNDS]++;
    *figures = search_measure(search, body);
    const unsigned cap = body->tuning.maxnreg;
    search_record(search, PASS_BOUNDS, cap ? move_of(MOVE_CAP, cap) : move_of(MOVE_TARGET, target), body, figures,
                  false);
    if (figures->known)
        return body;
    body_free(body);
    return NULL;
}

/* Looks for the lowest cap that the input bears by itself, at the price. */
static void caps_try(Fewest *fewest, Budget budget)
{
    Search *search = fewest->search;
    RegistersResult *result = search->result;
    unsigned low = LOWEST_CAP - 1, cap = LOWEST_CAP;
    if (!pass_is_enabled(search->passes.options, PASS_BOUNDS))
        return;
    while (fewest->front.below > low + CAPS_APART && !budget_is_spent(search, budget)) {
        Figures figures;
        body_free(form_capped(search, fewest->input, cap, &figures));
        bool fits = search_accepts(search, &figures) && figures.registers < fewest->front.below &&
                    figures_spills(&figures) <= figures_spills(&result->before);
        if (fits && form_take(fewest, &fewest->front.forms[figures.registers]))
            result->capped = figures;
        else
            low = cap;
        cap = low + (fewest->front.below - low) / 2;
    }
}

/* Lets the passes look for the target, with 'assemblies' assemblies. */
static void target_try(Fewest *fewest, unsigned target, bool is_guided, unsigned assemblies, Budget budget)
{
    Search *search = fewest->search;
    Figures figures;
    search->target = (SearchTarget){
        .registers = target, .is_guided = is_guided, .most_instructions = search->target.most_instructions};
    Body *body = form_capped(search, fewest->taken ? fewest->taken->body : fewest->input, target, &figures);
    if (!body)
        return;
    search_set_best(search, body, &figures);
    /* The cap alone may reach the target, but not at the price. */
    search->best.is_objected = is_guided && front_objects(search->observer, body, &figures);
    search_propose(search, budget_limit(search, budget, assemblies));
}

/* Goes down from what caps reach: by as much again where a lower form is taken, by half as much where not. Each target
 * is first tried without going through forms that are too expensive, then with them: what comes after may be cheap. */
static void targets_try(Fewest *fewest, Budget budget)
{
    Search *search = fewest->search;
    bool lower = true, is_guided = false;
    for (unsigned step = fewest->front.below / STEP_PART + 1; step && !budget_is_spent(search, budget);) {
        unsigned registers = fewest->front.below, left = budget_left(search, budget);
        bool is_capped = registers > LOWEST_CAP;
        unsigned target = is_capped && registers > step ? registers - step : LEAST_TARGET;
        is_guided = lower || !is_guided;
        /* Without a cap no lower target follows. */
        unsigned share = is_capped ? left / 2 : left - left / 4;
        target_try(fewest, target, is_guided, share < ROUND_LEAST ? left : share, budget);
        lower = fewest->front.below < registers;
        lower |= lower_take(fewest, PREDICTIONS);
        if (!lower && !is_guided)
            step = is_capped ? step / 2 : 0;
    }
}

/* Why there are not fewer; NULL if no lower form was found. */
static const Objection *lower_objection(const Fewest *fewest)
{
    for (unsigned registers = fewest->front.below; registers-- > 0;)
        if (objects(&fewest->front.forms[registers].objection))
            return &fewest->front.forms[registers].objection;
    return NULL;
}

static void fewest_conclude(Fewest *fewest, PassContext *context)
{
    Search *search = fewest->search;
    RegistersResult *result = search->result;
    RegistersExplanation *explanation = &result->explanation;
    const FrontForm *form = fewest->taken;
    const Objection *objection = lower_objection(fewest);
    if (objection)
        explanation->objection = *objection;
    explanation->assemblies = search->spent.used;
    if (!form) {
        nothing_changed(search, context, objection ? REGISTERS_TOO_DEAR : REGISTERS_NONE_FEWER);
        return;
    }
    search_set_best(search, body_clone(form->body), &form->figures);
    best_take(search, context);
    result->target = result->after.registers;
    result->reached = true;
    explanation->outcome = REGISTERS_FEWEST;
    explanation->found = result->after;
    explanation->speedup = form->speedup;
    explanation->growth = form->growth;
}

void target_fewest(Search *search, const Body *input, PassContext *context, Budget budget)
{
    const Figures *before = &search->result->before;
    Fewest fewest = {.search = search, .input = input,
                     .front = {.observer = {front_offer, front_objects},
                               .fewest = &fewest,
                               .below = before->registers,
                               .most_spills = figures_spills(before)}};
    bool predicts = search->passes.judge->predict != NULL;
    unsigned last = budget.effort / LAST_PART;
    last = last > PREDICTIONS ? last : PREDICTIONS;
    double growth = predicts ? threshold(THRESHOLD_FEWEST_CODE) : growth_allowed(search, LONGER_LOOPS);
    search->target = (SearchTarget){.most_instructions = (uint64_t)((double)before->instructions * growth)};
    search->observer = &fewest.front.observer;
    fewest.before = search_predict(search, input, before);
    caps_try(&fewest, budget);
    targets_try(&fewest, budget);
    /* Out of time, or interrupted: predict only a few. */
    const Judge *judge = search->passes.judge;
    lower_take(&fewest, judge->is_over && judge->is_over(judge->context) ? PREDICTIONS : last);
    search->observer = NULL;
    fewest_conclude(&fewest, context);
    front_free(&fewest.front);
}
