#include "engine/report/trial_words.h"

#include "engine/report/contract_words.h"
#include "engine/report/cost_report.h"
#include "engine/report/refusal_words.h"
#include "engine/report/report.h"
#include "engine/report/verdicts.h"

static void elsewhere_print(Elsewhere elsewhere, Buf *out)
{
    switch (elsewhere) {
    case ELSEWHERE_NONE: break;
    case ELSEWHERE_SMALL_GRID: buf_puts(out, "where the grid has one block for each SM"); break;
    case ELSEWHERE_ONE_WAVE: buf_puts(out, "where all blocks of the grid run at once"); break;
    case ELSEWHERE_SHORT_LOOPS: buf_printf(out, "where loops make %d trips", SHORT_LOOP); break;
    case ELSEWHERE_LONG_LOOPS: buf_printf(out, "where loops make %d trips", LONG_LOOP); break;
    case ELSEWHERE_REMAINDERS: buf_puts(out, "where unrolled loops make no trip"); break;
    }
}

static const char *message_or(const char *message, const char *without)
{
    return message ? message : without;
}

static void unmet_print(const TrialVerdict *verdict, Buf *out)
{
    Arena *scratch = arena_new();
    buf_printf(out, "rejected: %s", unmet_text(scratch, &verdict->unmet));
    arena_free(scratch);
}

static void compared_print(const TrialVerdict *verdict, Buf *out)
{
    cost_verdict_print(&verdict->cost, out);
    if (verdict->registers)
        buf_printf(out, ", with %u register%s", verdict->registers, plural(verdict->registers));
}

static void part_spills_print(const TrialVerdict *verdict, Buf *out)
{
    char parts[SHAPE_TEXT];
    buf_printf(out, "not assembled: %s spills already (else estimated ", shape_text(&verdict->part, parts));
    cost_verdict_print(&verdict->cost, out);
    buf_puts(out, ")");
}

static void forbidden_print(const TrialVerdict *verdict, Buf *out)
{
    buf_printf(out, "rejected: may be as slow as %.2fx ", verdict->elsewhere_speedup);
    elsewhere_print(verdict->elsewhere, out);
    buf_puts(out, " (else estimated ");
    cost_verdict_print(&verdict->cost, out);
    buf_puts(out, ")");
}

static void spills_print(const TrialVerdict *verdict, Buf *out)
{
    buf_printf(out, "rejected: %llu byte%s spilled instead of %llu (else ", (unsigned long long)verdict->spills,
               plural(verdict->spills), (unsigned long long)verdict->spills_before);
    cost_verdict_print(&verdict->cost, out);
    buf_puts(out, ")");
}

static void interrupted_print(const TrialVerdict *verdict, const char *state, Buf *out)
{
    buf_printf(out, "%s: the search had ended", state);
    if (!(verdict->cost.speedup > 0))
        return; /* it was not estimated */
    buf_puts(out, " (estimated ");
    cost_verdict_print(&verdict->cost, out);
    buf_puts(out, ")");
}

void trial_verdict_print(const TrialVerdict *verdict, Buf *out)
{
    switch (verdict->state) {
    case TRIAL_MADE: break;
    case TRIAL_REFUSED:
        buf_puts(out, "refused: ");
        refusal_print(&verdict->refusal, out);
        break;
    case TRIAL_UNCHANGED: buf_puts(out, "refused: nothing to do"); break;
    case TRIAL_UNMET: unmet_print(verdict, out); break;
    case TRIAL_UNKNOWN: buf_printf(out, "rejected: %s", message_or(verdict->message, "unknown")); break;
    case TRIAL_OUTRANKED:
        buf_puts(out, "not assembled: estimated ");
        cost_verdict_print(&verdict->cost, out);
        break;
    case TRIAL_PART_SPILLS: part_spills_print(verdict, out); break;
    case TRIAL_NOT_REACHED: interrupted_print(verdict, "not assembled", out); break;
    case TRIAL_BROKEN:
        buf_printf(out, "does not assemble: %s", message_or(verdict->message, "no reason given"));
        break;
    case TRIAL_NOT_COMPARED: interrupted_print(verdict, "not compared", out); break;
    case TRIAL_FORBIDDEN: forbidden_print(verdict, out); break;
    case TRIAL_DEMANDING: demand_print(&verdict->demand, out); break;
    case TRIAL_SPILLS: spills_print(verdict, out); break;
    case TRIAL_COMPARED: compared_print(verdict, out); break;
    }
}

/* "x2 with stride unit, sequential guards" */
static void trial_name_print(const CoarsenTrial *trial, Buf *out)
{
    char parts[SHAPE_TEXT], stride[16];
    buf_printf(out, "%s with stride %s%s", shape_text(&trial->shape, parts), stride_text(&trial->stride, stride),
               guards_text(trial->guards));
}

const char *coarsen_trial_text(Arena *arena, const CoarsenTrial *trial)
{
    Buf words = {0};
    trial_name_print(trial, &words);
    return buf_take(arena, &words);
}

const char *jam_trial_text(Arena *arena, const JamTrial *trial)
{
    return arena_printf(arena, "%s x%u", trial->jam.loop, trial->jam.factor);
}

const char *memory_trial_text(Arena *arena, const MemoryTrial *trial)
{
    Buf words = {0};
    memory_form_print(trial, &words);
    return buf_take(arena, &words);
}

/* ", predicted (counted in 148 of 4096 blocks to 0.3%) to be ", with the reason why that may be wrong. */
static void predicted_print(const char *predicted, const CountedPart *part, const char *doubt, Buf *out)
{
    buf_printf(out, ", %s (%s", predicted, part->is_counted ? "counted" : "estimated");
    if (part->ran < part->blocks)
        buf_printf(out, " in %.0f of %.0f blocks", part->ran, part->blocks);
    if (part->error >= 0.0005)
        buf_printf(out, " to %.1f%%", 100 * part->error);
    buf_printf(out, "%s) to be ", doubt);
}

static void taken_print(const FactorChoice *choice, Buf *out)
{
    trial_name_print(choice->best, out);
    predicted_print("predicted", &choice->counted, "", out);
    trial_verdict_print(&choice->best->verdict, out);
}

/* The form is predicted to gain, but may well lose. */
static void unsure_print(const FactorChoice *choice, Buf *out)
{
    const char *share = choice->risk == RISK_LOW ? "twenty" : choice->counted.is_counted ? "eight" : "five";
    buf_printf(out, "; but one such change in %s (%s) comes out at %.2fx or below (-risk %s allows that)", share,
               change_kind_name(choice->best->verdict.cost.interval.kind), choice->promise.sure,
               choice->risk == RISK_LOW ? "normal or high" : "high");
}

static void no_gain_print(const FactorChoice *choice, Buf *out)
{
    const char *doubt = choice->promise.is_uneven   ? ", while threads make different numbers of trips"
                        : choice->promise.is_narrow ? ", with blocks below a warp"
                                                    : "";
    trial_name_print(choice->best, out);
    predicted_print("is predicted", &choice->counted, doubt, out);
    trial_verdict_print(&choice->best->verdict, out);
    if (promise_is_unsure(&choice->promise, choice->plain_speedup))
        unsure_print(choice, out);
    if (choice->plain_speedup > 1)
        buf_printf(out, "; without it, another number of registers alone gives %.2fx", choice->plain_speedup);
}

/* The best form gains in large launches, or not even there. */
static void loss_print(const FactorChoice *choice, Buf *out)
{
    const TrialVerdict *verdict = &choice->best->verdict;
    const bool gains = choice->outcome == FACTOR_FORBIDDEN;
    trial_name_print(choice->best, out);
    buf_printf(out, gains ? ", would be %.2fx faster in large launches (estimated), but may be as slow as %.2fx "
                          : ", is estimated at %.2fx in large launches, and may be as slow as %.2fx ",
               choice->best->speedup, verdict->elsewhere_speedup);
    elsewhere_print(verdict->elsewhere, out);
    if (gains)
        buf_puts(out, "; a launch file (-launch) would decide");
}

/* The reason for which nothing is coarsened. */
static void reluctance_print(const FactorChoice *choice, Buf *out)
{
    buf_puts(out, "not coarsened: ");
    switch (choice->outcome) {
    case FACTOR_INTERRUPTED: buf_puts(out, "the search ended before a form was compared"); break;
    case FACTOR_NONE_FITS:
        buf_puts(out, "the block size is not divisible by 2, and there are no blocks to merge");
        break;
    case FACTOR_NONE_SOUND: buf_puts(out, "no factor is sound and spills no more than the input"); break;
    case FACTOR_LOOPS_ALONE:
        buf_puts(out, "it would be ");
        taken_print(choice, out);
        buf_printf(out, "; iterations of loops side by side alone are %.2fx as fast as that", choice->loops_alone);
        break;
    default:
        buf_puts(out, "the best form, ");
        if (choice->outcome == FACTOR_NO_GAIN)
            no_gain_print(choice, out);
        else
            loss_print(choice, out);
    }
}

void factor_choice_print(const FactorChoice *choice, Buf *out)
{
    switch (choice->outcome) {
    case FACTOR_NOT_ASKED: break;
    case FACTOR_IMPOSSIBLE: refusal_print(&choice->request.refused, out); break;
    case FACTOR_CHOSEN: taken_print(choice, out); break;
    case FACTOR_BY_MEMORY: buf_puts(out, "chosen together with what -memory does"); break;
    default: reluctance_print(choice, out);
    }
}

static void loops_chosen_print(const LoopsChoice *choice, Buf *out)
{
    for (unsigned i = choice->given; i < choice->jam_count; i++)
        buf_printf(out, "%s%s x%u", i > choice->given ? ", " : "", choice->jams[i].loop, choice->jams[i].factor);
    predicted_print("predicted", &choice->counted, "", out);
    cost_verdict_print(&choice->gain, out);
}

/* The time without is unknown: why. */
static void without_print(const TrialVerdict *verdict, Buf *out)
{
    buf_puts(out, "not done: the time without is unknown: ");
    if (verdict->state == TRIAL_UNKNOWN)
        buf_puts(out, message_or(verdict->message, "for no known reason"));
    else
        trial_verdict_print(verdict, out);
}

void loops_choice_print(const LoopsChoice *choice, Buf *out)
{
    switch (choice->outcome) {
    case LOOPS_NOT_ASKED: break;
    case LOOPS_NO_ASSEMBLER: buf_puts(out, "not done: there is no assembler, which choosing needs"); break;
    case LOOPS_NO_BLOCK:
        buf_puts(out, "not done: times are predicted for a block size, which -block or -launch would tell");
        break;
    case LOOPS_UNKNOWN:
        without_print(&choice->without, out);
        break;
    case LOOPS_NONE: buf_puts(out, "not done: the kernel has no loop"); break;
    case LOOPS_NO_GAIN:
        buf_printf(out, "not done: no loop's iterations side by side are predicted to be 3%% faster%s",
                   choice->is_unsure ? " and sure not to be slower (-risk)" : "");
        break;
    case LOOPS_CHOSEN: loops_chosen_print(choice, out); break;
    }
}

void memory_form_print(const MemoryTrial *trial, Buf *out)
{
    const CoarsenRequest *coarsening = &trial->coarsening;
    char parts[SHAPE_TEXT], stride[16];
    if (trial->refining.threads)
        buf_printf(out, "%u threads %sin the place of one%s", trial->refining.threads,
                   trial->refining.is_apart ? "apart " : "", trial->vectors ? ", " : "");
    if (trial->coarsens)
        buf_printf(out, "%s with stride %s%s%s", shape_text(&coarsening->shape, parts),
                   stride_text(&coarsening->stride, stride), guards_text(coarsening->guards),
                   trial->edges || trial->stages || trial->counts || trial->vectors ? ", " : "");
    if (trial->edges)
        buf_printf(out, "threads beyond the edge going along%s",
                   trial->stages || trial->counts || trial->vectors ? ", " : "");
    if (trial->only_exchanges)
        buf_puts(out, "threads changing places");
    else if (trial->stages)
        buf_printf(out, "%srows of %u bytes staged%s%s%s", trial->holds_rows ? "rows in shared memory, else " : "",
                   trial->depth ? trial->depth : STAGE_DEPTH,
                   trial->before_vectors ? " in single elements" : "", trial->prefetches ? " ahead" : "",
                   trial->unrolls ? " and unrolled" : "");
    if (trial->buffers)
        buf_printf(out, " by asynchronous copies to %u buffers", trial->buffers);
    buf_printf(out, "%s%s", trial->stages && trial->counts ? " and " : "", trial->counts ? "private counters" : "");
    if (trial->vectors)
        buf_printf(out, "%svectors%s", trial->stages || trial->counts ? " and " : "",
                   trial->vectors_first ? " before" : "");
}

static void memory_best_print(const MemoryChoice *choice, Buf *out)
{
    memory_form_print(choice->best, out);
    predicted_print("predicted", &choice->counted, "", out);
    trial_verdict_print(&choice->best->verdict, out);
}

/* Why none of the forms can be taken: what is wrong with the first that does something. */
static void memory_rejected_print(const MemoryChoice *choice, Buf *out)
{
    for (unsigned i = 0; i < choice->trial_count; i++) {
        const MemoryTrial *trial = &choice->trials[i];
        const TrialState state = trial->verdict.state;
        if (state != TRIAL_FORBIDDEN && state != TRIAL_SPILLS && state != TRIAL_DEMANDING)
            continue;
        memory_form_print(trial, out);
        buf_puts(out, ": ");
        trial_verdict_print(&trial->verdict, out);
        return;
    }
    buf_puts(out, "no form can be compared");
}

void memory_choice_print(const MemoryChoice *choice, Buf *out)
{
    switch (choice->outcome) {
    case MEMORY_NOT_ASKED: break;
    case MEMORY_NO_ASSEMBLER: buf_puts(out, "not done: there is no assembler, which choosing needs"); break;
    case MEMORY_NO_BLOCK:
        buf_puts(out, "not done: times are predicted for a block size, which -block or -launch would tell");
        break;
    case MEMORY_UNKNOWN:
        without_print(&choice->without, out);
        break;
    case MEMORY_NONE: buf_puts(out, "not done: there is nothing to stage, count, join or share"); break;
    case MEMORY_NO_GAIN:
        buf_puts(out, "not done: ");
        if (choice->best)
            memory_best_print(choice, out);
        else
            memory_rejected_print(choice, out);
        break;
    case MEMORY_CHOSEN: memory_best_print(choice, out); break;
    case MEMORY_LOOPS_ALONE:
        buf_puts(out, "vectors, for iterations of loops side by side, which are faster so than with ");
        memory_best_print(choice, out);
        break;
    }
    if (choice->left_out)
        buf_printf(out, "; %u form%s left out, because the time was over (-search)", choice->left_out,
                   plural(choice->left_out));
}
