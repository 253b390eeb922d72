/* -report-format json: the same content as the text (docs/formats.md). */
#include "engine/kernel_estimate.h"
#include "engine/launch.h"
#include "engine/report/counters.h"
#include "engine/report/json.h"
#include "engine/report/order.h"
#include "engine/report/pool.h"
#include "engine/report/report_memory.h"
#include "engine/report/report.h"
#include "engine/report/cost_report.h"
#include "engine/report/refusal_words.h"
#include "engine/report/assembling.h"
#include "engine/report/trial_words.h"
#include "engine/report/verdicts.h"
#include "engine/report/defects.h"
#include "engine/report/vectors.h"
#include "options/options.h"

static json_t *figures_json(const Figures *figures)
{
    if (!figures->known)
        return json_null();
    json_t *value = json_object();
    json_object_set_new(value, "registers", json_integer(figures->registers));
    json_set_number(value, "spill_stores", figures->spill_stores);
    json_set_number(value, "spill_loads", figures->spill_loads);
    json_set_number(value, "stack", figures->stack);
    json_set_number(value, "shared", figures->shared);
    json_set_number(value, "constant", figures->constant);
    json_object_set_new(value, "barriers", json_integer(figures->barriers));
    json_set_number(value, "instructions", figures->instructions);
    return value;
}

static json_t *occupancy_json(const Standing *standing)
{
    if (!standing->occupancy_known)
        return json_null();
    json_t *value = json_object();
    json_object_set_new(value, "blocks", json_integer(standing->occupancy.blocks));
    json_object_set_new(value, "warps", json_integer(standing->occupancy.warps));
    json_object_set_new(value, "fraction", json_real(standing->occupancy.fraction));
    json_object_set_new(value, "limited_by", json_text(occupancy_limits_name(standing->occupancy.limits)));
    json_object_set_new(value, "registers_free_up_to", json_integer(standing->free_up_to));
    json_object_set_new(value, "next_boundary",
                        standing->next_boundary ? json_pack("{s:i,s:i}", "registers", (int)standing->next_boundary,
                                                            "blocks", (int)standing->next_blocks)
                                                : json_null());
    json_object_set_new(value, "better_block",
                        standing->better_block ? json_pack("{s:i,s:i}", "threads", (int)standing->better_block, "warps",
                                                           (int)standing->better_warps)
                                               : json_null());
    return value;
}

/* Times differ from run to run: only a report on assembling has them. */
static json_t *standing_json(const Report *report, const Standing *standing)
{
    json_t *value = json_object();
    json_object_set_new(value, "block", json_block(standing->block.threads));
    json_object_set_new(value, "figures", figures_json(&standing->figures));
    if (report->split && standing->assembly_ms > 0)
        json_object_set_new(value, "assembly_ms", json_real(standing->assembly_ms));
    json_set_number(value, "dynamic_shared", standing->dynamic_shared);
    json_object_set_new(value, "occupancy", occupancy_json(standing));
    return value;
}

/* The parameters for whose values short loops are straight code. */
static json_t *assumed_json(const AssumedParameters *assumed)
{
    json_t *values = json_array();
    for (unsigned i = 0; i < assumed->count; i++)
        json_array_append_new(values, json_pack("{s: s, s: I}", "parameter", assumed->parts[i].variable->name, "value",
                                                (json_int_t)assumed_number(assumed, i)));
    return values;
}

/* The classes of reuse. Lines are those of the source; a value that comes from several places has none. */
static json_t *reuse_json(const Report *report, const ReuseList *list)
{
    json_t *values = json_array();
    for (size_t i = 0; i < list->items.count; i++) {
        const Reuse *reuse = &list->items.data[i];
        bool one = reuse->source.end > reuse->source.begin;
        json_t *value = json_object();
        json_object_set_new(value, "class", json_text(reuse_class_text(reuse->class)));
        json_object_set_new(value, "line", json_line(report_line(report, reuse->load)));
        json_object_set_new(value, "of_line", json_line(report_line(report, reuse->source)));
        json_object_set_new(value, "replica", json_integer(reuse->replica));
        json_object_set_new(value, "of_replica", one ? json_integer(reuse->of) : json_null());
        json_object_set_new(value, "loads", json_integer(reuse->count));
        json_array_append_new(values, value);
    }
    return values;
}

static json_t *legality_json(const Report *report, const Legality *legality)
{
    json_t *values = json_array();
    for (unsigned i = 0; i < LEGALITY_COUNT; i++) {
        json_t *value = json_object();
        json_object_set_new(value, "condition", json_text(legality_name((LegalityCondition)i)));
        json_object_set_new(value, "state", json_text(legality_state_text(legality->state[i])));
        json_object_set_new(value, "means", json_text(legality_text((LegalityCondition)i)));
        json_object_set_new(value, "instructions", json_integer(legality->count[i]));
        json_object_set_new(value, "line", json_line(report_line(report, legality->first[i])));
        json_array_append_new(values, value);
    }
    return values;
}

static void set_shape(json_t *value, const Shape *shape)
{
    json_object_set_new(value, "level", json_text(shape_level_text(shape)));
    json_object_set_new(value, "factor", json_triple(shape_is_of_blocks(shape) ? shape->blocks : shape->threads));
    json_object_set_new(value, "merged_blocks", json_triple(shape->blocks));
    if (merges_any(shape->grown))
        json_object_set_new(value, "grown_blocks", json_triple(shape->grown));
    if (merges_any(shape->refined))
        json_object_set_new(value, "refined", json_triple(shape->refined));
    if (merges_any(shape->spread))
        json_object_set_new(value, "spread", json_triple(shape->spread));
}

static json_t *unadapted_json(const Unadapted *unadapted)
{
    Buf words = {0};
    unadapted_print(unadapted, &words);
    return json_words(&words);
}

static json_t *verdict_json(const TrialVerdict *verdict)
{
    Buf words = {0};
    trial_verdict_print(verdict, &words);
    return json_words(&words);
}

static json_t *factor_choice_json(const FactorChoice *choice)
{
    Buf words = {0};
    factor_choice_print(choice, &words);
    return json_words(&words);
}

static json_t *loops_choice_json(const LoopsChoice *choice)
{
    Buf words = {0};
    loops_choice_print(choice, &words);
    return json_words(&words);
}

/* Sets "speedup" and "interval", both null if nothing was compared. */
static void set_speedup(json_t *trial, double speedup, const TrialVerdict *verdict)
{
    const bool is_known = speedup > 0;
    json_object_set_new(trial, "speedup", is_known ? json_real(speedup) : json_null());
    json_object_set_new(trial, "interval",
                        is_known && verdict->cost.speedup > 0 ? interval_json(&verdict->cost.interval) : json_null());
}

static json_t *coarsen_trial_json(const CoarsenTrial *trial)
{
    json_t *one = json_object();
    set_shape(one, &trial->shape);
    json_object_set_new(one, "stride", json_stride(&trial->stride));
    json_object_set_new(one, "guards", json_text(guard_form_name(trial->guards)));
    set_speedup(one, trial->speedup, &trial->verdict);
    json_object_set_new(one, "chosen", json_boolean(trial->chosen));
    json_object_set_new(one, "verdict", verdict_json(&trial->verdict));
    return one;
}

static json_t *jam_trial_json(const JamTrial *trial)
{
    json_t *one = json_object();
    json_object_set_new(one, "loop", json_text(trial->jam.loop));
    json_object_set_new(one, "factor", json_integer(trial->jam.factor));
    set_speedup(one, trial->speedup, &trial->verdict);
    json_object_set_new(one, "chosen", json_boolean(trial->chosen));
    json_object_set_new(one, "verdict", verdict_json(&trial->verdict));
    return one;
}

static json_t *pays_json(const PaysTable *table)
{
    json_t *points = json_array();
    for (unsigned i = 0; i < table->count; i++)
        json_array_append_new(points, json_pack("[I, I]", (json_int_t)table->points[i].value,
                                                (json_int_t)table->points[i].threads));
    return json_pack("{s: i, s: o}", "parameter", (int)table->parameter, "points", points);
}

/* Sets the members about the launches that may run a form. */
static void set_pays(json_t *value, const FormPays *pays)
{
    if (pays->from)
        json_object_set_new(value, "pays_from_threads_per_sm", json_integer(pays->from));
    if (pays->from && pays->by_trips.count)
        json_object_set_new(value, "pays_by_parameter", pays_json(&pays->by_trips));
    if (pays->least_block)
        json_object_set_new(value, "least_block_threads", json_integer(pays->least_block));
    if (pays->most_block)
        json_object_set_new(value, "most_block_threads", json_integer(pays->most_block));
    if (pays->most)
        json_object_set_new(value, "pays_to_threads_per_sm", json_integer(pays->most));
    if (pays->aligned.multiple)
        json_object_set_new(value, "pays_for_multiples",
                            json_pack("{s: i, s: i}", "parameter", (int)pays->aligned.index, "of",
                                      (int)pays->aligned.multiple));
}

/* The forms beside the kernel. */
static json_t *forms_json(const KernelReport *kernel)
{
    json_t *forms = json_array();
    for (unsigned i = 0; i < kernel->form_count; i++) {
        const TunedForm *form = &kernel->forms[i];
        json_t *one = json_object();
        json_object_set_new(one, "name", json_text(form->name));
        json_object_set_new(one, "words", json_text(form->words));
        json_object_set_new(one, "speedup", form->speedup > 0 ? json_real(form->speedup) : json_null());
        json_object_set_new(one, "first", json_boolean(i == 0 && kernel->is_first_chosen));
        if (kernel->is_several) {
            json_object_set_new(one, "factor", json_triple(form->contract.shape.threads));
            set_pays(one, &form->pays);
        }
        json_array_append_new(forms, one);
    }
    return forms;
}

static json_t *coarsening_json(const Report *report, const KernelReport *kernel)
{
    const KernelResult *result = &kernel->result;
    json_t *value = json_object();
    bool is_declined = kernel->is_auto && result->coarsening == OUTCOME_NOT_ASKED;
    json_object_set_new(value, "outcome", json_text(kernel->is_several   ? "several"
                                                    : kernel->form_count ? "tuned"
                                                    : is_declined      ? "declined"
                                                                       : json_outcome_word(result->coarsening)));
    if (result->coarsening == OUTCOME_DONE) {
        const LaunchChange change = contract_change(&result->contract);
        set_shape(value, &result->contract.shape);
        json_object_set_new(value, "grid_factor", json_triple(change.grid));
        json_object_set_new(value, "dynamic_shared_factor", json_integer(result->contract.dynamic_factor));
        json_object_set_new(value, "stride", json_stride(&result->contract.stride));
        json_object_set_new(value, "conditions", json_conditions(kernel->conditions, kernel->condition_count));
        if (contract_changes_launch(&result->contract))
            json_object_set_new(value, "launched_as_before",
                                unadapted_json(&result->unadapted));
        json_object_set_new(value, "specialized", assumed_json(&result->assumed));
        json_object_set_new(value, "reuse", reuse_json(report, &result->reuse));
    }
    if (result->coarsening == OUTCOME_REFUSED) {
        json_object_set_new(value, "reason", json_refusal(&result->refusal));
        if (result->refusal.has_span) {
            Position position = source_position(report->source, result->refusal.span.begin);
            json_object_set_new(value, "line", json_integer(position.line));
            json_object_set_new(value, "column", json_integer(position.column));
        }
    }
    if (result->coarsening == OUTCOME_DONE || result->coarsening == OUTCOME_REFUSED)
        json_object_set_new(value, "legality", legality_json(report, &result->legality));
    if (kernel->is_auto) {
        json_t *trials = json_array();
        for (unsigned i = 0; i < kernel->choice.trial_count; i++)
            json_array_append_new(trials, coarsen_trial_json(&kernel->choice.trials[i]));
        json_object_set_new(value, "auto", factor_choice_json(&kernel->choice));
        json_object_set_new(value, "counted", json_counted(&kernel->choice.counted));
        if (!kernel->is_several)
            set_pays(value, &kernel->choice.pays);
        json_object_set_new(value, "trials", trials);
    }
    if (kernel->is_tuned || kernel->is_several)
        json_object_set_new(value, "forms", forms_json(kernel));
    if (kernel->learned.words)
        json_object_set_new(value, "learned", json_pack("{s: s, s: f, s: i, s: b}", "words", kernel->learned.words,
                                                        "share", kernel->learned.share, "launches",
                                                        (int)kernel->learned.launches, "beside",
                                                        (int)kernel->learned.is_beside));
    return value;
}

/* The loops whose iterations were to be interleaved. */
static json_t *jams_json(const Report *report, const KernelReport *kernel)
{
    const KernelResult *result = &kernel->result;
    json_t *loops = json_array(), *value = json_object();
    for (unsigned i = 0; i < result->jam_count; i++) {
        const UnrollJamResult *jam = &result->jams[i];
        json_t *one = json_object();
        json_object_set_new(one, "loop", json_text(jam->jam.loop));
        json_object_set_new(one, "factor", json_integer(jam->jam.factor));
        json_object_set_new(one, "outcome", json_string(json_outcome_word(jam->done ? OUTCOME_DONE : OUTCOME_REFUSED)));
        if (!jam->done) {
            const Refusal *refusal = &jam->refusal;
            json_object_set_new(one, "reason", json_refusal(refusal));
            json_object_set_new(one, "line", refusal->has_span ? json_integer(source_position(
                                                                     report->source, refusal->span.begin).line)
                                                               : json_null());
        }
        json_array_append_new(loops, one);
    }
    json_object_set_new(value, "loops", loops);
    if (!kernel->is_jam_auto)
        return value;
    json_t *trials = json_array();
    for (unsigned i = 0; i < kernel->loops_choice.trial_count; i++)
        json_array_append_new(trials, jam_trial_json(&kernel->loops_choice.trials[i]));
    json_object_set_new(value, "auto", loops_choice_json(&kernel->loops_choice));
    json_object_set_new(value, "counted", json_counted(&kernel->loops_choice.counted));
    json_object_set_new(value, "trials", trials);
    return value;
}

static json_t *knobs_json(unsigned knobs, const char *controls)
{
    json_t *words = json_array();
    Arena *arena = arena_new();
    for (const char *const *word = knobs_words(arena, knobs, controls); word && *word; word++)
        json_array_append_new(words, json_string(*word));
    arena_free(arena);
    return words;
}

static json_t *boundary_json(const RegistersBoundary *boundary, const Figures *before)
{
    Buf words = {0};
    json_t *one = json_object();
    boundary_print(boundary, before, &words);
    json_object_set_new(one, "registers", json_integer(boundary->registers));
    json_object_set_new(one, "blocks", json_integer(boundary->blocks));
    json_object_set_new(one, "warps", json_integer(boundary->warps));
    json_object_set_new(one, "figures", figures_json(&boundary->figures));
    json_object_set_new(one, "speedup", boundary->speedup > 0 ? json_real(boundary->speedup) : json_null());
    json_object_set_new(one, "chosen", json_boolean(boundary->is_chosen));
    json_object_set_new(one, "verdict", json_words(&words));
    return one;
}

static json_t *step_json(const RegistersStep *step)
{
    Buf words = {0};
    json_t *one = json_object();
    move_print(&step->move, &words);
    json_object_set_new(one, "what", json_words(&words));
    json_object_set_new(one, "kept", json_boolean(step->kept));
    json_object_set_new(one, "figures", figures_json(&step->figures));
    return one;
}

static json_t *registers_json(const Report *report, const KernelReport *kernel)
{
    const KernelResult *result = &kernel->result;
    const RegistersResult *reduction = &result->reduction;
    json_t *value = json_object();
    json_object_set_new(value, "outcome", json_text(json_outcome_word(result->registers)));
    if (result->registers == OUTCOME_NOT_ASKED)
        return value;
    const KernelRequest *request = &kernel->request;
    json_object_set_new(value, "asked",
                        request->registers.goal == GOAL_AUTO     ? json_string("auto")
                        : request->registers.goal == GOAL_FEWEST ? json_string("fewest")
                                                                 : json_integer(request->registers.target));
    if (request->registers.goal == GOAL_FEWEST)
        json_object_set_new(value, "price", json_real(request->registers.price));
    if (result->registers == OUTCOME_REFUSED) {
        json_object_set_new(value, "reason", json_refusal(&result->registers_refusal));
        return value;
    }
    json_object_set_new(value, "target", reduction->target ? json_integer(reduction->target) : json_null());
    json_object_set_new(value, "reached", json_boolean(reduction->reached));
    Buf words = {0};
    explanation_print(reduction, report->source, &words);
    json_object_set_new(value, "explanation", has_explanation(reduction) ? json_words(&words) : json_null());
    json_object_set_new(value, "before", figures_json(&reduction->before));
    json_object_set_new(value, "capped", figures_json(&reduction->capped));
    json_object_set_new(value, "after", figures_json(&reduction->after));
    json_object_set_new(value, "assembler_options", knobs_json(knobs_of(result->kernel), controls_of(result->kernel)));
    json_t *boundaries = json_array();
    for (unsigned i = 0; i < reduction->boundary_count; i++)
        json_array_append_new(boundaries, boundary_json(&reduction->boundaries[i], &reduction->before));
    json_object_set_new(value, "boundaries", boundaries);
    json_t *steps = json_array();
    for (unsigned i = 0; i < reduction->step_count; i++)
        json_array_append_new(steps, step_json(&reduction->steps[i]));
    json_object_set_new(value, "steps", steps);
    return value;
}

/* The comparison of times; null if nothing was changed or the time is unknown. */
static json_t *cost_comparison_json(const KernelReport *kernel)
{
    if (!kernel->has_cost)
        return json_null();
    json_t *value = json_object();
    json_object_set_new(value, "device", json_text(kernel->basis.device.name));
    json_object_set_new(value, "before", cost_json(&kernel->cost_before));
    json_object_set_new(value, "after", cost_json(&kernel->cost_after));
    cost_set_verdict(kernel->basis.arena, &kernel->cost_before, &kernel->cost_after, value);
    if (kernel->advice)
        json_object_set_new(value, "advice", json_text(kernel->advice));
    return value;
}

static json_t *kernel_json(const Report *report, const KernelReport *kernel)
{
    json_t *value = json_object();
    Arena *scratch = arena_new();
    json_object_set_new(value, "kernel", json_text(kernel->result.kernel->name));
    json_object_set_new(value, "demangled",
                        json_text(kernel_name_demangled(scratch, kernel->result.kernel->name, true)));
    arena_free(scratch);
    json_object_set_new(value, "line",
                        json_line(report_line(report, kernel->result.kernel->span)));
    json_object_set_new(value, "coarsening", coarsening_json(report, kernel));
    json_object_set_new(value, "unroll_jam", jams_json(report, kernel));
    json_object_set_new(value, "memory", staging_json(report, kernel));
    json_object_set_new(value, "counters", counted_json(report, kernel));
    json_object_set_new(value, "dead_on_return", dead_json(report, kernel));
    json_object_set_new(value, "vectors", vectors_json(report, kernel));
    json_object_set_new(value, "block_order", order_json(kernel));
    json_object_set_new(value, "defects", defects_json(report, kernel));
    json_object_set_new(value, "pool", pool_json(report, kernel));
    json_object_set_new(value, "registers", registers_json(report, kernel));
    json_object_set_new(value, "cost", cost_comparison_json(kernel));
    json_object_set_new(value, "before", standing_json(report, &kernel->before));
    json_object_set_new(value, "after", standing_json(report, &kernel->after));
    json_t *estimate = json_object();
    json_object_set_new(estimate, "before", estimate_json(&kernel->estimate_before, report->source));
    json_object_set_new(estimate, "after", estimate_json(&kernel->estimate_after, report->source));
    json_object_set_new(value, "estimate", estimate);
    return value;
}

static json_t *element_json(Type type, const uint8_t *bytes)
{
    Buf text = {0};
    element_print(type, bytes, &text);
    return json_words(&text);
}

static json_t *side_json(const Verification *verification, unsigned side)
{
    const EmulatorWriter *writer = &verification->writers[side];
    json_t *value = json_object();
    json_object_set_new(value, "grid", json_block(verification->grid[side]));
    json_object_set_new(value, "block", json_block(verification->block[side]));
    json_object_set_new(value, "counters", counters_json(&verification->counters[side]));
    if (!verification->has_difference)
        return value;
    const EmulatorDifference *difference = &verification->difference;
    json_object_set_new(value, "value",
                        element_json(difference->type, side ? difference->actual : difference->expected));
    json_t *written = json_null();
    if (writer->found) {
        written = json_object();
        json_object_set_new(written, "function", json_text(writer->function));
        json_object_set_new(written, "block", json_triple(writer->block));
        json_object_set_new(written, "thread", json_triple(writer->thread));
        json_object_set_new(written, "line", json_integer(writer->position.line));
        json_object_set_new(written, "source", json_text(verification->written_sources[side]));
        json_object_set_new(written, "text", json_text(verification->written_lines[side]));
    }
    json_object_set_new(value, "written_by", written);
    return value;
}

static json_t *verification_json(const Verification *verification)
{
    static const char *const outcomes[] = {
        [VERIFY_EQUAL] = "equal", [VERIFY_DIFFERENT] = "different", [VERIFY_NOT_DONE] = "not verified"};
    json_t *value = json_object();
    json_object_set_new(value, "launch", json_text(verification->path));
    json_object_set_new(value, "kernel", json_text(verification->kernel));
    json_object_set_new(value, "outcome", json_string(outcomes[verification->outcome]));
    json_object_set_new(value, "message", json_text(verification->message));
    json_object_set_new(value, "fault", json_fault(verification->fault));
    json_object_set_new(value, "fault_in",
                        verification->fault ? json_string(verification->fault_in_output ? "output" : "input")
                                            : json_null());
    json_object_set_new(value, "original_because", json_text(verification->original_because));
    json_object_set_new(value, "not_watched", json_text(verification->weakened));
    if (verification->is_reordered) {
        json_object_set_new(value, "relative", json_real(verification->tolerance.relative));
        json_object_set_new(value, "absolute", json_real(verification->tolerance.absolute));
    }
    if (verification->has_difference) {
        json_object_set_new(value, "buffer", json_text(verification->difference.buffer));
        json_set_number(value, "index", verification->difference.index);
    }
    json_object_set_new(value, "input", side_json(verification, 0));
    json_object_set_new(value, "output", side_json(verification, 1));
    return value;
}

void report_print_json(const Report *report, Buf *out)
{
    json_t *assembler = json_null();
    if (report->assembler) {
        assembler = json_object();
        json_object_set_new(assembler, "name", json_text(report->assembler));
        json_object_set_new(assembler, "version", json_text(report->assembler_version));
        json_object_set_new(assembler, "path", json_text(report->assembler_path));
        json_object_set_new(assembler, "assemblies", json_integer(report->assemblies));
        json_object_set_new(assembler, "seconds", json_real(report->assembler_seconds));
        if (report->split)
            json_object_set_new(assembler, "output", assembling_json(report));
    }
    json_t *kernels = json_array();
    for (size_t i = 0; i < report->kernel_count; i++)
        json_array_append_new(kernels, kernel_json(report, &report->kernels[i]));
    json_t *value = json_object();
    json_object_set_new(value, "format", json_string("ptxopt-report"));
    json_object_set_new(value, "version", json_integer(1));
    json_object_set_new(value, "source", json_text(report->source->path));
    json_object_set_new(value, "arch", json_text(report->arch));
    json_object_set_new(value, "assembler", assembler);
    if (!report->assembler)
        json_object_set_new(value, "assembler_missing", json_text(report->assembler_missing));
    json_object_set_new(value, "kernels", kernels);
    if (report->verification_count) {
        json_t *verifications = json_array();
        for (size_t i = 0; i < report->verification_count; i++)
            json_array_append_new(verifications, verification_json(&report->verifications[i]));
        json_object_set_new(value, "verify", verifications);
    }
    json_print(value, out);
}
