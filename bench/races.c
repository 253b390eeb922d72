/* How well forms are chosen among measured ones: for bench/tune. For each launch of a table with times of forms
 * (bench/measured/times.tsv), three forms and the input race, with 5% of noise on the measured times, often and each
 * time with other forms. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/halving.h"
#include "tests/unit/noise.h"

enum { RACES = 100, ARMS = 4, MOST_FORMS = 64, LONGEST_NAME = 256 };

static struct {
    unsigned launches, races, far, worse; /* more than 2% from the best; more than 1% slower than the input */
    double to_best, gain;                 /* sums of logarithms */
} all;

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

static void race_once(const double *arms, unsigned count)
{
    Race race;
    double best = arms[0];
    race_begin(&race, count);
    while (race.winner < 0) {
        const int arm = race_next(&race);
        race_add(&race, (unsigned)arm, (float)(arms[arm] * (1 + 0.05 * random_normal())));
    }
    for (unsigned i = 1; i < count; i++)
        best = arms[i] < best ? arms[i] : best;
    all.races++;
    all.far += arms[race.winner] > 1.02 * best;
    all.worse += arms[race.winner] > 1.01 * arms[0];
    all.to_best += log(arms[race.winner] / best);
    all.gain += log(arms[0] / arms[race.winner]);
}

static void race_often(double *times, unsigned count)
{
    all.launches += count > 1;
    for (unsigned i = 0; i < RACES && count > 1; i++) {
        double arms[ARMS];
        const unsigned picked = pick(times, count, arms);
        race_once(arms, picked);
    }
}

/* The columns are the launch, the options (none: the input, which comes first), registers, and microseconds with cold
 * and with warm caches. */
int main(int argc, char **argv)
{
    FILE *table = fopen(argc > 1 ? argv[1] : "", "r");
    char line[1024], launch[LONGEST_NAME] = "", before[LONGEST_NAME] = "";
    double times[MOST_FORMS], warm;
    unsigned count = 0;
    random_state = 2026;
    if (!table || !fgets(line, sizeof line, table))
        return 1;
    while (fgets(line, sizeof line, table)) {
        const char *last = strrchr(line, '\t');
        if (!last || sscanf(line, "%255[^\t]", launch) != 1 || sscanf(last, "%lf", &warm) != 1)
            return 1;
        if (strcmp(launch, before) != 0) {
            race_often(times, count);
            count = 0;
            snprintf(before, sizeof before, "%s", launch);
        }
        if (count < MOST_FORMS)
            times[count++] = warm / 1000;
    }
    race_often(times, count);
    printf("%u launches, %u races of up to %d forms, 5%% noise: chosen forms take %.4f of the best one's time "
           "(geometric mean);\n%.1f%% of them more than 1.02 of it, %.1f%% more than 1.01 of the input's; they are "
           "%.2f times as fast as the input\n",
           all.launches, all.races, ARMS, exp(all.to_best / all.races), 100.0 * all.far / all.races,
           100.0 * all.worse / all.races, exp(all.gain / all.races));
    return fclose(table);
}
