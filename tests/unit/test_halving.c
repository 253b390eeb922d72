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
    for (unsigned i = 0; i < 4; i++)
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
        cmocka_unit_test(test_outliers),
        cmocka_unit_test(test_dropped),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
