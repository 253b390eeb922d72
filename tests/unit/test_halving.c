/* Which form is the fastest, by successive halving (runtime/halving.c). */
#include "runtime/halving.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "tests/unit/noise.h"

enum { KEYS = 100 };

typedef struct Contest {
    unsigned right, near, worse; /* of all keys: the fastest won, or one within 2% of it; slower than the original */
    unsigned launches;
} Contest;

static int run_race(Race *race, const double *times, unsigned arms, double noise)
{
    race_begin(race, arms);
    while (race->winner < 0) {
        const int arm = race_next(race);
        assert_true(arm >= 0 && !race->arms[arm].is_out);
        race_add(race, (unsigned)arm, (float)(times[arm] * (1 + noise * random_normal())));
    }
    return race->winner;
}

static Contest contest(unsigned arms, double noise, double fastest, double slowest)
{
    Contest result = {0};
    for (unsigned key = 0; key < KEYS; key++) {
        double times[MOST_ARMS] = {0.02 * exp(6 * random_unit())};
        unsigned best = 0;
        for (unsigned i = 1; i < arms; i++) {
            times[i] = times[0] * fastest * pow(slowest / fastest, random_unit());
            best = times[i] < times[best] ? i : best;
        }
        Race race;
        const int winner = run_race(&race, times, arms, noise);
        for (unsigned i = 0; i < arms; i++)
            result.launches += race.arms[i].issued;
        result.right += (unsigned)winner == best;
        result.near += times[winner] <= 1.02 * times[best];
        result.worse += times[winner] > 1.01 * times[0];
    }
    return result;
}

static void test_best_form(void **state)
{
    (void)state;
    random_state = 2026;
    for (unsigned arms = 2; arms <= 8; arms *= 2) {
        const Contest result = contest(arms, 0.05, 0.6, 1.5);
        print_message("%u forms, 5%% noise: %u of %u right, %u within 2%%, %.1f launches a form\n", arms, result.right,
                      KEYS, result.near, (double)result.launches / (KEYS * arms));
        assert_true(result.right >= 94 && result.near >= 95);
        assert_true(result.worse <= 1);
        assert_true(result.launches <= 8 * arms * KEYS);
    }
}

static void test_original_stays(void **state)
{
    (void)state;
    Race race;
    const double alike[] = {1, 0.994, 0.995, 0.996}, slower[] = {1, 1.3, 1.1, 2}, one[] = {1};
    random_state = 7;
    for (unsigned i = 0; i < 50; i++) {
        assert_int_equal(run_race(&race, alike, 4, 0), 0);
        assert_int_equal(run_race(&race, slower, 4, 0.05), 0);
    }
    assert_int_equal(run_race(&race, one, 1, 0), 0);
}

/* The factor of the n-th launch's time, whatever form it runs. */
typedef double Work(unsigned n);

static double slow_start(unsigned n)
{
    return 1 + 0.3 * exp(-(double)n / 10);
}

static double ever_faster(unsigned n)
{
    return 1 / (1 + 0.03 * n);
}

static double ever_slower(unsigned n)
{
    return 1 + 0.03 * n;
}

static double alternating(unsigned n)
{
    return n % 2 ? 2 : 1;
}

/* Launches that take longer or shorter for other reasons make no slower form win, and shares are as without. */
static void test_trends(void **state)
{
    (void)state;
    static Work *const works[] = {slow_start, ever_faster, ever_slower, alternating};
    const double orders[][4] = {{1, 0.9, 1.03, 1.2}, {1, 1.03, 1.03, 1.03}, {1, 1.2, 1.03, 0.9}, {1, 0.97, 0.9, 0.93}};
    random_state = 3;
    for (size_t w = 0; w < sizeof works / sizeof *works; w++)
        for (size_t o = 0; o < sizeof orders / sizeof *orders; o++) {
            double shares = 0;
            unsigned changed = 0, best = 0;
            for (unsigned i = 1; i < 4; i++)
                best = orders[o][i] < orders[o][best] ? i : best;
            for (unsigned key = 0; key < KEYS; key++) {
                Race race;
                Comparison comparison;
                race_begin(&race, 4);
                for (unsigned n = 0; race.winner < 0; n++) {
                    const int arm = race_next(&race);
                    race_add(&race, (unsigned)arm,
                             (float)(0.1 * orders[o][arm] * works[w](n) * (1 + 0.01 * random_normal())));
                }
                assert_int_equal(race.winner, best);
                race_compare(&race, &comparison);
                shares += arm_share(&comparison, best, 0);
                changed++;
            }
            assert_true(fabs(shares / changed / orders[o][best] - 1) < 0.003);
        }
}

/* Every arm has each place of a round as often as others, in pairs of rounds. */
static void test_turns(void **state)
{
    (void)state;
    for (unsigned arms = 2; arms <= 8; arms++) {
        Race race;
        unsigned sums[MOST_ARMS] = {0}, firsts = 0, before = MOST_ARMS;
        race_begin(&race, arms);
        race.quota = MOST_SAMPLES; /* of one long race */
        for (unsigned round = 0; round < 9; round++)
            for (unsigned place = 0; place < arms; place++) {
                const unsigned arm = (unsigned)race_next(&race);
                sums[arm] += round ? place : 0;
                if (place == 0 && round % 2) {
                    firsts += arm != before;
                    before = arm;
                }
                assert_int_equal(race.arms[arm].issued, round + 1);
            }
        for (unsigned i = 0; i < arms; i++)
            assert_int_equal(sums[i], 8 * (arms - 1) / 2);
        assert_true(firsts >= 2);
    }
}

/* Arms with times of some rounds only, as they would be in all. */
static void test_missing(void **state)
{
    (void)state;
    const double arms[] = {1, 0.8, 2}, rounds[] = {1, 1.3, 0.4, 2, 1.7, 0.9};
    Race race = {.arm_count = 3};
    Comparison comparison;
    for (unsigned i = 0; i < 3; i++)
        for (unsigned r = 0; r < 6u - 2 * i; r++)
            race.arms[i].samples[race.arms[i].count++] = (float)(arms[i] * rounds[r]);
    race_compare(&race, &comparison);
    for (unsigned i = 0; i < 3; i++)
        for (unsigned k = 0; k < 3; k++)
            assert_true(fabs(arm_share(&comparison, i, k) / (arms[i] / arms[k]) - 1) < 1e-6);
    assert_true(arm_is_slower(&comparison, 1, 0, CERTAIN_HUNDREDTH));
    assert_false(arm_is_slower(&comparison, 0, 1, CERTAIN_FIFTH));
    race.arms[0].samples[3] *= 5; /* disturbed */
    race_compare(&race, &comparison);
    assert_int_equal(comparison.by_round.counts[0], 5);
    assert_true(fabs(arm_share(&comparison, 1, 0) / 0.8 - 1) < 1e-6);
    for (double share = 1e-4; share < 1e4; share *= 1.37) { /* logarithms, and back */
        race = (Race){.arm_count = 2, .arms = {{.count = 1, .samples = {0.02f}},
                                               {.count = 1, .samples = {(float)(0.02 * share)}}}};
        race_compare(&race, &comparison);
        if (share < 2)
            assert_true(fabs(arm_share(&comparison, 1, 0) / share - 1) < 1e-6);
        assert_false(arm_is_slower(&comparison, 0, 1, CERTAIN_FIFTH)); /* nothing is left to judge by */
    }
}

/* A launch that something else disturbs does not decide. */
static void test_outliers(void **state)
{
    (void)state;
    Arm arm = {.count = 5, .samples = {1, 1.1f, 20, 0.9f, 1}};
    const Estimate estimate = arm_estimate(&arm);
    assert_int_equal(estimate.count, 4);
    assert_true(fabs(estimate.mean - 1) < 1e-6 && estimate.variance < 0.01);
    const Estimate slow = {.count = 4, .mean = 1.4, .variance = 0.01};
    const Estimate unsure = {.count = 4, .mean = 1.4, .variance = 1};
    assert_true(is_slower(&estimate, &slow, CERTAIN_HUNDREDTH));
    assert_false(is_slower(&slow, &estimate, CERTAIN_FIFTH));
    assert_false(is_slower(&estimate, &unsure, CERTAIN_TWENTIETH));
    const Estimate single = {.count = 1, .mean = 9, .variance = 0.01};
    assert_false(is_slower(&estimate, &single, CERTAIN_FIFTH));
}

/* A form that cannot be launched leaves the race, which goes on. */
static void test_dropped(void **state)
{
    (void)state;
    Race race;
    race_begin(&race, 3);
    for (unsigned i = 0; i < 5; i++)
        for (unsigned arm = 0; arm < 2; arm++) {
            assert_true(race_next(&race) >= 0);
            race_add(&race, arm, arm ? 1 : 2);
        }
    assert_int_equal(race.winner, -1); /* it waits for the third */
    race_drop(&race, 2);
    assert_int_equal(race.winner, 1);
    race_begin(&race, 2);
    race_drop(&race, 0); /* the original stays */
    assert_false(race.arms[0].is_out);
    race_drop(&race, 1);
    assert_int_equal(race.winner, 0);
    race_begin(&race, 2); /* a launch whose time is lost is made again */
    for (unsigned i = 0; i < 20; i++) {
        const int arm = race_next(&race);
        assert_true(arm >= 0);
        race_add(&race, (unsigned)arm, 0);
    }
    assert_int_equal(race.lost, 20);
    assert_int_equal(race.winner, -1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_best_form),
        cmocka_unit_test(test_original_stays),
        cmocka_unit_test(test_trends),
        cmocka_unit_test(test_turns),
        cmocka_unit_test(test_missing),
        cmocka_unit_test(test_outliers),
        cmocka_unit_test(test_dropped),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
