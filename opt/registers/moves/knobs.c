/* The knobs pass: options of the assembler under which a form takes fewer registers or spills less.
 *
 * Proposes forms of the search's best one, and of the input under the same cap, that differ only in Tuning.knobs and in
 * Tuning.controls, a file of compiler controls, of which a form has at most one. PTX cannot say these: whoever
 * assembles the result must give the options, too, so the pass runs only where the user asks for it. In each round
 * every knob and file that is left is measured, and the best one is kept, if the form under it is not predicted to be
 * slower; the next round adds to it.
 *
 * The table has what changes figures (bench/knobs measures all that ptxas documents): --register-usage-level has the
 * same effect from 0 to 3 and from 6 to 10, and at --opt-level 1 and with --Ofast-compile the assembler unrolls and
 * schedules less. Options that change results are not in it: --fmad, those for caches, for atomics. */
#include "opt/registers/moves/knobs.h"

#include <string.h>

#include "opt/registers/search/search.h"

/* Those of one name exclude each other. */
typedef struct Knob {
    const char *name, *short_name; /* without dashes */
    const char *value;
} Knob;

static const Knob knob_table[KNOB_COUNT] = {
    [KNOB_LEVEL_1] = {"opt-level", "O", "1"},
    [KNOB_FAST_COMPILE] = {"Ofast-compile", "Ofc", "min"},
    [KNOB_USAGE_LOW] = {"register-usage-level", "regUsageLevel", "0"},
    [KNOB_USAGE_HIGH] = {"register-usage-level", "regUsageLevel", "10"},
};

const char *const *knobs_words(Arena *arena, unsigned knobs, const char *controls)
{
    if (!knobs && !controls)
        return NULL;
    const char **words = ARENA_ARRAY(arena, const char *, KNOB_COUNT + 2);
    size_t count = 0;
    for (unsigned i = 0; i < KNOB_COUNT; i++)
        if (knobs >> i & 1)
            words[count++] = arena_printf(arena, "--%s=%s", knob_table[i].name, knob_table[i].value);
    if (controls)
        words[count++] = arena_printf(arena, "--apply-controls=%s", controls);
    words[count] = NULL;
    return words;
}

const char *knobs_text(Arena *arena, unsigned knobs, const char *controls)
{
    const char *text = "";
    for (const char *const *word = knobs_words(arena, knobs, controls); word && *word; word++)
        text = arena_printf(arena, "%s%s%s", text, *text ? " " : "", *word);
    return text;
}

unsigned knobs_of(const Function *kernel)
{
    return form_tuning(&(FunctionForm){.function = kernel, .body = kernel->body})->knobs;
}

const char *controls_of(const Function *kernel)
{
    return form_tuning(&(FunctionForm){.function = kernel, .body = kernel->body})->controls;
}

unsigned controls_count(const char *const *controls)
{
    unsigned count = 0;
    while (controls && controls[count])
        count++;
    return count;
}

/* True if the word is "-NAME", "--NAME" or one of these with a value after '='. */
static bool names_option(const char *word, const char *name)
{
    size_t length = strlen(name);
    word += word[0] == '-';
    word += word[0] == '-';
    return strncmp(word, name, length) == 0 && (!word[length] || word[length] == '=');
}

/* Levels may follow the letter: "-O2". */
static bool sets_knob(const char *word, const Knob *knob)
{
    bool has_digit = strncmp(word, "-O", 2) == 0 && word[2] >= '0' && word[2] <= '9';
    return (has_digit && knob == &knob_table[KNOB_LEVEL_1]) || names_option(word, knob->name) ||
           names_option(word, knob->short_name);
}

unsigned knobs_open(const char *const *words)
{
    unsigned open = KNOBS_ALL;
    for (; words && *words; words++) {
        if (names_option(*words, "options-file") || names_option(*words, "optf"))
            return 0;
        for (unsigned i = 0; i < KNOB_COUNT; i++)
            if (sets_knob(*words, &knob_table[i]))
                open &= ~(1u << i);
    }
    return open;
}

bool knobs_set_controls(const char *const *words)
{
    for (; words && *words; words++)
        if (names_option(*words, "options-file") || names_option(*words, "optf") ||
            names_option(*words, "apply-controls"))
            return true;
    return false;
}

/* The set with one knob more, in the place of another value of its option. */
static unsigned knobs_with(unsigned knobs, KnobId added)
{
    for (unsigned i = 0; i < KNOB_COUNT; i++)
        if (strcmp(knob_table[i].name, knob_table[added].name) == 0)
            knobs &= ~(1u << i);
    return knobs | 1u << added;
}

/* The forms that are measured in one round. */
typedef struct Trial {
    const Body *base; /* not owned */
    unsigned knobs;
    const char *controls;
    Figures figures;
    bool measured, slower; /* predicted */
} Trial;

static Body *trial_body(const Trial *trial)
{
    Body *body = body_clone(trial->base);
    body->tuning.knobs = trial->knobs;
    body->tuning.controls = trial->controls;
    return body;
}

static void trials_prepare(const Search *search, const Trial *trials, unsigned count)
{
    Proposals proposals = proposals_new(search, search->turn.budget, count);
    for (unsigned i = 0; i < count; i++) {
        Body *body = trial_body(&trials[i]);
        proposals_add(search, &proposals, body);
        body_free(body);
    }
}

static void trials_measure(Search *search, Trial *trials, unsigned count)
{
    const unsigned width = search->passes.judge->width > 1 ? search->passes.judge->width : 1;
    for (unsigned i = 0; i < count && !search_is_over(search); i++) {
        if (i % width == 0)
            trials_prepare(search, trials + i, count - i < width ? count - i : width);
        Body *body = trial_body(&trials[i]);
        search->record.tried[PASS_KNOBS]++;
        trials[i].figures = search_measure(search, body);
        trials[i].measured = true;
        body_free(body);
    }
}

/* The best trial that is better than the search's best form and not predicted to be slower; NULL if there is none. */
static const Trial *trials_best(const Search *search, const Trial *trials, unsigned count)
{
    const Trial *best = NULL;
    for (unsigned i = 0; i < count; i++) {
        const Trial *trial = &trials[i];
        if (trial->measured && !trial->slower && search_accepts(search, &trial->figures) &&
            search_compare(search, &trial->figures, best ? &best->figures : &search->best.figures) < 0)
            best = trial;
    }
    return best;
}

/* True if the form is predicted to be slower than the best one; false if times are not predicted. */
static bool is_slower(Search *search, const Body *body, const Figures *figures)
{
    Prediction best = search_predict(search, search->best.body, &search->best.figures);
    Prediction form = search_predict(search, body, figures);
    const Policy policy = {.time = threshold(THRESHOLD_TIME_ALIKE), .path = threshold(THRESHOLD_PATH_ALIKE)};
    return !policy_accepts(&policy, &form, &best);
}

/* Measures them all, and makes the best one the search's best form; false if none is better. */
static bool trials_run(Search *search, Trial *trials, unsigned count)
{
    Body *found = NULL;
    const Trial *best;
    trials_measure(search, trials, count);
    while (!found && (best = trials_best(search, trials, count)) != NULL) {
        found = trial_body(best);
        if (!is_slower(search, found, &best->figures))
            break;
        trials[best - trials].slower = true;
        body_free(found);
        found = NULL;
    }
    for (unsigned i = 0; i < count && trials[i].measured; i++) {
        const Move move = {MOVE_KNOBS, .knobs = trials[i].knobs, .controls = trials[i].controls,
                           .of_input = trials[i].base != search->best.body, .is_slower = trials[i].slower};
        bool kept = found && best == &trials[i];
        Body *body = kept ? found : NULL;
        search_record(search, PASS_KNOBS, move, body, &trials[i].figures, kept);
    }
    if (found)
        search_set_best(search, found, &best->figures);
    return found != NULL;
}

unsigned knobs_effort(const Search *search)
{
    unsigned allowed = search->request->knobs, count = controls_count(search->request->controls);
    for (unsigned i = 0; i < KNOB_COUNT; i++)
        count += allowed >> i & 1;
    if (!pass_is_enabled(search->passes.options, PASS_KNOBS))
        return 0;
    return KNOB_EFFORT * count;
}

/* The forms of 'base' with one knob, or file of controls, more; returns how many there are. */
static unsigned trials_of(const Search *search, const Body *base, Trial *trials)
{
    const Tuning *tuning = &base->tuning;
    unsigned count = 0;
    for (unsigned knob = 0; knob < KNOB_COUNT; knob++)
        if (search->request->knobs >> knob & 1 && !(tuning->knobs >> knob & 1))
            trials[count++] = (Trial){.base = base, .knobs = knobs_with(tuning->knobs, (KnobId)knob),
                                      .controls = tuning->controls};
    for (const char *const *file = search->request->controls; file && *file; file++)
        if (*file != tuning->controls)
            trials[count++] = (Trial){.base = base, .knobs = tuning->knobs, .controls = *file};
    return count;
}

bool pass_knobs(PassContext *context)
{
    Search *search = context->search;
    if (!search || (!search->request->knobs && !controls_count(search->request->controls)))
        return false;
    const unsigned most = KNOB_COUNT + controls_count(search->request->controls);
    Arena *scratch = arena_new();
    Trial *trials = ARENA_ARRAY(scratch, Trial, 2 * most);
    Body *input = body_clone(search->input);
    input->tuning.maxnreg = search->best.body->tuning.maxnreg;
    unsigned kept = search->record.kept[PASS_KNOBS];
    for (bool is_first = true, better = true; better && !search_should_stop(search); is_first = false) {
        unsigned count = trials_of(search, search->best.body, trials);
        if (is_first)
            count += trials_of(search, input, trials + count);
        better = trials_run(search, trials, count);
    }
    body_free(input);
    arena_free(scratch);
    return search->record.kept[PASS_KNOBS] > kept;
}
