#include "opt/policy.h"

static const double thresholds[THRESHOLD_COUNT] = {
#define THRESHOLD(id, value, reason) value,
#include "opt/thresholds.def"
#undef THRESHOLD
};

double threshold(Threshold id)
{
    return thresholds[id];
}

bool predictions_compare(const Prediction *a, const Prediction *b)
{
    return a->known && b->known && a->is_machine == b->is_machine;
}

bool time_is_longer(double time, double than)
{
    return time > threshold(THRESHOLD_TIME_ALIKE) * than;
}

double path_growth(const Prediction *form, const Prediction *than)
{
    if (form->path <= 0 || than->path <= 0 || !form->warps || !than->warps)
        return 1;
    return form->path / form->warps / (than->path / than->warps);
}

double growth_in_all(const Prediction *form, const Prediction *than)
{
    return than->instructions > 0 ? form->instructions / than->instructions : 1;
}

double growth_in_loops(const Prediction *form, const Prediction *than)
{
    if (than->looped > 0)
        return form->looped / than->looped;
    return form->looped > 0 ? growth_in_all(form, than) : 1;
}

/* True if a limit is asked for and passed. */
static bool is_over(double growth, double limit)
{
    return limit > 0 && growth > limit;
}

static Verdict judge_without_time(const Policy *policy, const JudgedForm *form, const JudgedForm *than)
{
    if (policy->code > 0 &&
        (double)form->figures->instructions > policy->code * (double)than->figures->instructions)
        return VERDICT_TOO_LONG;
    return policy->needs_time ? VERDICT_UNKNOWN : VERDICT_TAKE;
}

static Verdict policy_judge(const Policy *policy, const JudgedForm *form, const JudgedForm *than)
{
    const Prediction *after = form->prediction, *before = than->prediction;
    if (!predictions_compare(after, before))
        return judge_without_time(policy, form, than);
    const double longer = growth_in_all(after, before);
    if (after->warps <= before->warps && is_over(longer, policy->idle))
        return VERDICT_IDLE;
    if (policy->time > 0 && after->cycles > policy->time * before->cycles)
        return VERDICT_SLOWER;
    if (is_over(path_growth(after, before), policy->path))
        return VERDICT_LONGER_PATH;
    if (is_over(growth_in_loops(after, before), policy->loops))
        return VERDICT_LONGER_LOOPS;
    if (is_over(longer, policy->executed))
        return VERDICT_LONGER;
    if (policy->words > 0 && after->accesses > policy->words * before->accesses)
        return VERDICT_MORE_WORDS;
    if (policy->gain > 0 && before->cycles < policy->gain * after->cycles)
        return VERDICT_NO_GAIN;
    return VERDICT_TAKE;
}

Objection policy_objection(const Policy *policy, const JudgedForm *form, const JudgedForm *than)
{
    return (Objection){.verdict = policy_judge(policy, form, than),
                       .registers = form->figures->registers,
                       .instructions = form->figures->instructions,
                       .instructions_before = than->figures->instructions,
                       .form = *form->prediction,
                       .than = *than->prediction};
}

bool policy_accepts(const Policy *policy, const Prediction *form, const Prediction *than)
{
    const JudgedForm of_form = {.prediction = form}, of_than = {.prediction = than};
    return policy_judge(policy, &of_form, &of_than) == VERDICT_TAKE;
}

Verdict speedup_judge(double speedup, Threshold least)
{
    return speedup < threshold(least) ? VERDICT_NO_GAIN : VERDICT_TAKE;
}

Verdict spills_judge(const Figures *form, const Figures *than)
{
    return figures_spills(form) > figures_spills(than) ? VERDICT_MORE_SPILLS : VERDICT_TAKE;
}

static bool promise_gains(const Promise *promise, double alone)
{
    const bool is_doubtful = promise->is_uneven || promise->is_narrow;
    return promise->speedup >= alone * threshold(is_doubtful ? THRESHOLD_COARSEN_DOUBTFUL : THRESHOLD_COARSEN_GAIN);
}

bool promise_suffices(const Promise *promise, double alone)
{
    return promise_gains(promise, alone) && promise->sure >= alone;
}

bool promise_is_unsure(const Promise *promise, double alone)
{
    return promise_gains(promise, alone) && promise->sure < alone;
}

double promise_worth(const Promise *promise)
{
    const double doubt = threshold(THRESHOLD_COARSEN_GAIN) / threshold(THRESHOLD_COARSEN_DOUBTFUL);
    const double fits = promise->fits_seldom ? threshold(THRESHOLD_COARSEN_FITS) : 1;
    const double speedup = 1 + fits * (promise->speedup - 1);
    return speedup * (promise->is_narrow ? doubt : 1) /
           (promise->is_product ? threshold(THRESHOLD_COARSEN_PRODUCT) : 1);
}

bool promise_is_alike(double worth, double best)
{
    return worth * threshold(THRESHOLD_COARSEN_ALIKE) >= best;
}
