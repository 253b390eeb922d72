/* How well forms are chosen among measured ones: for bench/tune. For each launch of a table with times of forms
 * (bench/measured/times.tsv), three forms and the input race, often and each time with other forms, under several
 * conditions: the measured times get noise, and launches take longer or shorter for reasons of their own, whatever form
 * they run. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/halving.h"
#include "tests/unit/noise.h"

enum { RACES = 100, ARMS = 4, MOST_FORMS = 64, LONGEST_NAME = 256 };

/* The factor of the n-th timed launch of a program, whatever form it runs; the first of a batch may find an idle
 * device. */
typedef double Work(unsigned n, bool is_first);

static double steady(unsigned n, bool is_first)
{
    (void)n, (void)is_first;
    return 1;
}

static double slow_start(unsigned n, bool is_first)
{
    (void)is_first;
    return 1 + 0.2 * exp(-(double)n / 10);
}

static double ever_faster(unsigned n, bool is_first)
{
    (void)is_first;
    return 1 - 0.02 * fmin(n, 40);
}

static double ever_slower(unsigned n, bool is_first)
{
    (void)is_first;
    return 1 + 0.02 * n;
}

static double alternating(unsigned n, bool is_first)
{
    (void)is_first;
    return n % 2 ? 1.5 : 1;
}

static double by_threes(unsigned n, bool is_first)
{
    (void)is_first;
    return 1 + 0.3 * (n % 3);
}

static double by_fours(unsigned n, bool is_first)
{
    (void)is_first;
    return n % 4 ? 1 : 1.5;
}

static double idle(unsigned n, bool is_first)
{
    (void)n;
    return is_first ? 1.1 : 1;
}

static double disturbed(unsigned n, bool is_first)
{
    (void)n, (void)is_first;
    return random_unit() < 0.05 ? 3 + 7 * random_unit() : 1;
}

static double any_size(unsigned n, bool is_first)
{
    (void)n, (void)is_first;
    return 0.5 + random_unit();
}

static const struct {
    const char *name;
    double noise;
    Work *work;
} conditions[] = {
    {"5% of noise", 0.05, steady},
    {"1% of noise", 0.01, steady},
    {"the first launches are up to 20% slower", 0.02, slow_start},
    {"each launch is 2% shorter than the first one was", 0.02, ever_faster},
    {"each launch is 2% longer", 0.02, ever_slower},
    {"each second launch takes 1.5 times as long", 0.02, alternating},
    {"launches take 1, 1.3 and 1.6 times as long in turns", 0.02, by_threes},
    {"each fourth launch takes 1.5 times as long", 0.02, by_fours},
    {"launches to an idle device take 10% longer", 0.02, idle},
    {"one launch of 20 is disturbed, and takes 3 to 10 times as long", 0.02, disturbed},
    {"launches take 0.5 to 1.5 times as long, at random", 0.02, any_size},
};

typedef struct Result {
    unsigned launches, races, far, worse, timed; /* more than 2% from the best; more than 1% slower than the input */
    double to_best, gain;                        /* sums of logarithms */
    unsigned changed;
    double share;                                /* sum of logarithms: as learned, over that of the table */
} Result;

/* Puts the times of the input and of forms that are picked at random into 'arms'; returns how many. */
static unsigned pick(double *times, unsigned count, double arms[ARMS])
{
    unsigned arm = 1;
    arms[0] = times[0];
    for (; arm < ARMS && arm < count; arm++) {
        const unsigned other = arm + (unsigned)(random_unit() * (count - arm));
        const double time = times[other];
        times[other] = times[arm];
        arms[arm] = times[arm] = time;
    }
    return arm;
}

static void race_once(const double *arms, unsigned count, size_t condition, Result *all)
{
    Race race;
    double best = arms[0];
    unsigned n = 0, quota = 0;
    race_begin(&race, count);
    for (; race.winner < 0; n++) {
        const bool is_first = race.quota != quota;
        quota = race.quota;
        const int arm = race_next(&race);
        race_add(&race, (unsigned)arm,
                 (float)(arms[arm] * conditions[condition].work(n, is_first) *
                         (1 + conditions[condition].noise * random_normal())));
    }
    for (unsigned i = 1; i < count; i++)
        best = arms[i] < best ? arms[i] : best;
    all->races++;
    all->timed += n;
    all->far += arms[race.winner] > 1.02 * best;
    all->worse += arms[race.winner] > 1.01 * arms[0];
    all->to_best += log(arms[race.winner] / best);
    all->gain += log(arms[0] / arms[race.winner]);
    if (race.winner > 0) {
        Comparison comparison;
        race_compare(&race, &comparison);
        all->changed++;
        all->share += log(arm_share(&comparison, (unsigned)race.winner, 0) / (arms[race.winner] / arms[0]));
    }
}

static void race_often(double *times, unsigned count, size_t condition, Result *all)
{
    all->launches += count > 1;
    for (unsigned i = 0; i < RACES && count > 1; i++) {
        double arms[ARMS];
        const unsigned picked = pick(times, count, arms);
        race_once(arms, picked, condition, all);
    }
}

static bool race_table(FILE *table, size_t condition, Result *all)
{
    char line[1024], launch[LONGEST_NAME] = "", before[LONGEST_NAME] = "";
    double times[MOST_FORMS], warm;
    unsigned count = 0;
    if (fseek(table, 0, SEEK_SET) || !fgets(line, sizeof line, table))
        return false;
    while (fgets(line, sizeof line, table)) {
        const char *last = strrchr(line, '\t');
        if (!last || sscanf(line, "%255[^\t]", launch) != 1 || sscanf(last, "%lf", &warm) != 1)
            return false;
        if (strcmp(launch, before) != 0) {
            race_often(times, count, condition, all);
            count = 0;
            snprintf(before, sizeof before, "%s", launch);
        }
        if (count < MOST_FORMS)
            times[count++] = warm / 1000;
    }
    race_often(times, count, condition, all);
    return true;
}

/* The columns are the launch, the options (none: the input, which comes first), registers, and microseconds with cold
 * and with warm caches. */
int main(int argc, char **argv)
{
    FILE *table = fopen(argc > 1 ? argv[1] : "", "r");
    if (!table)
        return 1;
    for (size_t i = 0; i < sizeof conditions / sizeof *conditions; i++) {
        Result all = {0};
        random_state = 2026;
        if (!race_table(table, i, &all))
            return 1;
        if (i == 0)
            printf("%u launches, %u races of up to %d forms each. Chosen forms take so much of the best one's time "
                   "(geometric mean);\nof the races, more than 1.02 of it; more than 1.01 of the input's; speedup; "
                   "launches timed; the learned share of\nthe input's time over the real one\n",
                   all.launches, all.races, ARMS);
        printf("%.4f %5.1f%% %5.1f%% %6.3f %5.1f %7.3f  %s\n", exp(all.to_best / all.races),
               100.0 * all.far / all.races, 100.0 * all.worse / all.races, exp(all.gain / all.races),
               (double)all.timed / all.races, exp(all.share / all.changed), conditions[i].name);
    }
    return fclose(table);
}
