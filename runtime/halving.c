/* Successive halving (Karnin, Koren and Somekh, "Almost optimal exploration in multi-armed bandits", ICML 2013) with
 * one-sided t-tests (compare.c) in place of the plain comparison of means: an arm of the slower half stays in while it
 * may still be the fastest. */
#include "runtime/halving.h"

#include <string.h>

/* Launches of an arm, before times are compared first and again. The first one is not counted; the others are pairs of
 * rounds. */
enum { FIRST_QUOTA = 5, ROUND = 2 };
enum { LAUNCHES_OF_FORM = 8 };         /* of all timed launches, for each form */
static const double least_gain = 0.01; /* a form that gains less is not worth taking */

void race_begin(Race *race, unsigned arm_count)
{
    memset(race, 0, sizeof *race);
    race->arm_count = arm_count;
    race->quota = FIRST_QUOTA;
    race->left = LAUNCHES_OF_FORM * arm_count;
    race->leader = -1;
    race->winner = arm_count > 1 ? -1 : 0;
}

static unsigned arms_left(const Race *race)
{
    unsigned count = 0;
    for (unsigned i = 0; i < race->arm_count; i++)
        count += !race->arms[i].is_out;
    return count;
}

/* The place of an arm in the order of a round: orders rotate, and each second one is the reverse of the one before. The
 * first round, which does not count, begins with the original. */
static unsigned place_of(const Race *race, unsigned arm, unsigned round)
{
    const unsigned count = arms_left(race), pair = (round + 1) / 2;
    unsigned before = 0;
    for (unsigned i = 0; i < arm; i++)
        before += !race->arms[i].is_out;
    const unsigned place = (before + pair * (count / 2) + pair / 2) % count;
    return round % 2 || !round ? place : count - 1 - place;
}

int race_next(Race *race)
{
    int next = -1;
    unsigned best = 0;
    for (unsigned i = 0; i < race->arm_count && race->winner < 0; i++) {
        const unsigned issued = race->arms[i].issued, place = place_of(race, i, issued);
        const bool is_due = !race->arms[i].is_out && issued < race->quota;
        if (is_due && (next < 0 || issued < race->arms[next].issued ||
                       (issued == race->arms[next].issued && place < best))) {
            next = (int)i;
            best = place;
        }
    }
    if (next >= 0)
        race->arms[next].issued++;
    return next;
}

/* The arm with the lowest time, in the race or not. */
static unsigned find_leader(const Race *race, const Comparison *comparison)
{
    const Fit *fit = &comparison->by_round;
    int leader = -1;
    for (unsigned i = 0; i < race->arm_count; i++)
        if (!race->arms[i].is_out && fit->counts[i] && (leader < 0 || fit->arms[i] < fit->arms[leader]))
            leader = (int)i;
    return leader < 0 ? 0 : (unsigned)leader;
}

static bool gains_enough(const Comparison *comparison, unsigned arm)
{
    return arm_share(comparison, arm, 0) <= 1 - least_gain;
}

/* The number of arms that are faster than this one. */
static unsigned rank_of(const Race *race, const Fit *fit, unsigned arm)
{
    unsigned faster = 0;
    for (unsigned i = 0; i < race->arm_count; i++)
        faster += i != arm && !race->arms[i].is_out && fit->counts[i] && fit->arms[i] < fit->arms[arm];
    return faster;
}

/* Takes out what is slower than the leader: an arm of the slower half as soon as that is likely, another one when it is
 * all but certain. The original stays unless the leader gains enough. */
static void halve(Race *race, const Comparison *comparison)
{
    const unsigned leader = (unsigned)race->leader, before = arms_left(race);
    bool is_slow[MOST_ARMS] = {false};
    for (unsigned i = 0; i < race->arm_count; i++) {
        const bool is_behind = rank_of(race, &comparison->by_round, i) >= (before + 1) / 2;
        is_slow[i] = i != leader && !race->arms[i].is_out &&
                     arm_is_slower(comparison, leader, i, is_behind && i ? CERTAIN_FIFTH : CERTAIN_HUNDREDTH) &&
                     (i || gains_enough(comparison, leader));
    }
    for (unsigned i = 0; i < race->arm_count; i++)
        race->arms[i].is_out |= is_slow[i];
}

/* Ends the race: the leader wins, unless it hardly gains on the original, or that may well be as fast. */
static void finish(Race *race, const Comparison *comparison)
{
    const unsigned leader = (unsigned)race->leader;
    const bool is_beaten = race->arms[0].is_out || (gains_enough(comparison, leader) &&
                                                    arm_is_slower(comparison, leader, 0, CERTAIN_FIFTH));
    race->winner = is_beaten ? (int)leader : 0;
}

/* Begins the next round if all arms have had their launches. */
static void advance(Race *race)
{
    for (unsigned i = 0; i < race->arm_count; i++)
        if (!race->arms[i].is_out && race->arms[i].received < race->quota)
            return;
    Comparison comparison;
    race_compare(race, &comparison);
    race->leader = (int)find_leader(race, &comparison);
    halve(race, &comparison);
    const unsigned arms = arms_left(race);
    if (arms == 1 || race->left < arms * ROUND || race->quota + ROUND > MOST_SAMPLES)
        finish(race, &comparison);
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
