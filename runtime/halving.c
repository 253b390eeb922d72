/* Successive halving (Karnin, Koren and Somekh, "Almost optimal exploration in multi-armed bandits", ICML 2013) with
 * Welch's unequal variances t-test, one-sided, in place of the plain comparison of means: an arm of the slower half
 * stays in while it may still be the fastest. */
#include "runtime/halving.h"

#include <string.h>

enum { FIRST_QUOTA = 4, ROUND = 2 };   /* launches; the first of an arm is not counted */
enum { LAUNCHES_OF_FORM = 8 };         /* of all timed launches, for each form */
static const double least_gain = 0.01; /* a form that gains less is not worth taking */

/* Events count in steps of about half a microsecond. This is the variance of what is rounded off, in milliseconds
 * squared. */
static const double rounding_variance = 0.0005 * 0.0005 / 12;

void race_begin(Race *race, unsigned arm_count)
{
    memset(race, 0, sizeof *race);
    race->arm_count = arm_count;
    race->quota = FIRST_QUOTA;
    race->left = LAUNCHES_OF_FORM * arm_count;
    race->winner = arm_count > 1 ? -1 : 0;
}

static unsigned arms_left(const Race *race)
{
    unsigned count = 0;
    for (unsigned i = 0; i < race->arm_count; i++)
        count += !race->arms[i].is_out;
    return count;
}

int race_next(Race *race)
{
    int next = -1;
    for (unsigned i = 0; i < race->arm_count && race->winner < 0; i++)
        if (!race->arms[i].is_out && race->arms[i].issued < race->quota &&
            (next < 0 || race->arms[i].issued < race->arms[next].issued))
            next = (int)i;
    if (next >= 0)
        race->arms[next].issued++;
    return next;
}

static double median(const float *samples, unsigned count)
{
    float sorted[MOST_SAMPLES];
    for (unsigned i = 0; i < count; i++) {
        unsigned at = i;
        for (; at && sorted[at - 1] > samples[i]; at--)
            sorted[at] = sorted[at - 1];
        sorted[at] = samples[i];
    }
    return sorted[count / 2];
}

/* A launch that took more than twice the median was disturbed by something else, and does not count. */
Estimate arm_estimate(const Arm *arm)
{
    Estimate estimate = {0};
    double sum = 0, squares = 0;
    const double most = arm->count ? 2 * median(arm->samples, arm->count) : 0;
    for (unsigned i = 0; i < arm->count; i++)
        if (arm->samples[i] <= most) {
            sum += arm->samples[i];
            estimate.count++;
        }
    estimate.mean = estimate.count ? sum / estimate.count : 0;
    for (unsigned i = 0; i < arm->count; i++)
        if (arm->samples[i] <= most)
            squares += (arm->samples[i] - estimate.mean) * (arm->samples[i] - estimate.mean);
    estimate.variance = rounding_variance + (estimate.count > 1 ? squares / (estimate.count - 1) : 0);
    return estimate;
}

/* Quantiles of Student's t distribution for degrees of freedom up to those of the row. */
static const struct {
    double freedom, t[CERTAINTY_COUNT];
} quantiles[] = {
    {2, {1.061, 2.920, 6.965}},   {3, {0.978, 2.353, 4.541}},   {4, {0.941, 2.132, 3.747}},
    {5, {0.920, 2.015, 3.365}},   {6, {0.906, 1.943, 3.143}},   {8, {0.889, 1.860, 2.896}},
    {10, {0.879, 1.812, 2.764}},  {14, {0.868, 1.761, 2.624}},  {20, {0.860, 1.725, 2.528}},
    {30, {0.854, 1.697, 2.457}},  {60, {0.848, 1.671, 2.390}},  {1e30, {0.842, 1.645, 2.326}},
};

/* The row with the most degrees of freedom that are not more than these: that is, the stricter one. */
static double quantile(double freedom, Certainty certainty)
{
    unsigned row = 0;
    while (row + 1 < sizeof quantiles / sizeof *quantiles && quantiles[row + 1].freedom <= freedom)
        row++;
    return quantiles[row].t[certainty];
}

bool is_slower(const Estimate *fast, const Estimate *slow, Certainty certainty)
{
    const double difference = slow->mean - fast->mean;
    if (fast->count < 2 || slow->count < 2 || difference <= 0)
        return false;
    const double a = fast->variance / fast->count, b = slow->variance / slow->count, both = a + b;
    const double freedom = both * both / (a * a / (fast->count - 1) + b * b / (slow->count - 1));
    const double t = quantile(freedom, certainty);
    return difference * difference > t * t * both;
}

unsigned race_leader(const Race *race)
{
    unsigned leader = 0;
    double best = 0;
    for (unsigned i = 0; i < race->arm_count; i++) {
        const Estimate estimate = arm_estimate(&race->arms[i]);
        if (!race->arms[i].is_out && estimate.count && (best <= 0 || estimate.mean < best)) {
            best = estimate.mean;
            leader = i;
        }
    }
    return leader;
}

static bool gains_enough(const Estimate *form, const Estimate *original)
{
    return form->mean <= (1 - least_gain) * original->mean;
}

/* The number of arms that are faster than this one. */
static unsigned rank_of(const Race *race, unsigned arm, double mean)
{
    unsigned faster = 0;
    for (unsigned i = 0; i < race->arm_count; i++) {
        const Estimate other = arm_estimate(&race->arms[i]);
        faster += i != arm && !race->arms[i].is_out && other.mean < mean;
    }
    return faster;
}

/* Takes out what is slower than the leader: an arm of the slower half as soon as that is likely, another one when it is
 * all but certain. The original stays unless the leader gains enough. */
static void halve(Race *race)
{
    const unsigned leader = race_leader(race), before = arms_left(race);
    const Estimate best = arm_estimate(&race->arms[leader]);
    bool is_slow[MOST_ARMS] = {false};
    for (unsigned i = 0; i < race->arm_count; i++) {
        const Estimate estimate = arm_estimate(&race->arms[i]);
        const bool is_behind = rank_of(race, i, estimate.mean) >= (before + 1) / 2;
        is_slow[i] = i != leader && !race->arms[i].is_out &&
                     is_slower(&best, &estimate, is_behind && i ? CERTAIN_FIFTH : CERTAIN_HUNDREDTH) &&
                     (i || gains_enough(&best, &estimate));
    }
    for (unsigned i = 0; i < race->arm_count; i++)
        race->arms[i].is_out |= is_slow[i];
}

/* Ends the race: the leader wins, unless it hardly gains on the original, or that may well be as fast. */
static void finish(Race *race)
{
    const unsigned leader = race_leader(race);
    const Estimate best = arm_estimate(&race->arms[leader]), original = arm_estimate(&race->arms[0]);
    const bool is_beaten = race->arms[0].is_out || (gains_enough(&best, &original) &&
                                                    is_slower(&best, &original, CERTAIN_FIFTH));
    race->winner = is_beaten ? (int)leader : 0;
}

/* Begins the next round if all arms have had their launches. */
static void advance(Race *race)
{
    for (unsigned i = 0; i < race->arm_count; i++)
        if (!race->arms[i].is_out && race->arms[i].received < race->quota)
            return;
    halve(race);
    const unsigned arms = arms_left(race);
    if (arms == 1 || race->left < arms * ROUND || race->quota + ROUND > MOST_SAMPLES)
        finish(race);
    else
        race->quota += ROUND;
}

void race_drop(Race *race, unsigned arm)
{
    race->arms[arm].is_out = arm > 0;
    if (arms_left(race) == 1 && !race->arms[0].is_out)
        race->winner = 0;
    else if (race->winner < 0)
        advance(race); /* which may have waited for it */
}

void race_add(Race *race, unsigned arm, float milliseconds)
{
    Arm *added = &race->arms[arm];
    if (!(milliseconds > 0)) {
        added->issued--;
        race->lost++;
        return;
    }
    added->received++;
    race->left -= race->left > 0;
    if (added->received > 1 && added->count < MOST_SAMPLES)
        added->samples[added->count++] = milliseconds;
    if (race->winner < 0)
        advance(race);
}
