/* Times of forms, compared.
 *
 * Whatever form they run, launches may take longer or shorter for reasons of their own: the first ones of a process do
 * while clocks rise, and the work of a kernel may change from launch to launch. So arms are compared within rounds, in
 * each of which every arm that is still in is launched once: the logarithm of a time is taken to be the sum of one
 * figure of the arm, one of the round, and noise (a two-way layout without interaction; Scheffe, The Analysis of
 * Variance, 1959, chapter 4), fitted by least squares, because arms that have dropped out have no times in later
 * rounds. Two rounds whose orders are each other's reverse are one cell of a second fit, in which trends and changes
 * from launch to launch cancel.
 *
 * Nothing of the mathematical library is used: it need not be linked with the programs that this becomes a part of. */
#include <string.h>

#include "runtime/halving.h"

/* Events count in steps of about half a microsecond. This is the variance of what is rounded off, in milliseconds
 * squared. */
static const double rounding_variance = 0.0005 * 0.0005 / 12;

static const double missing = __builtin_nan("");

static bool is_missing(double value)
{
    return value != value;
}

/* The natural logarithm of a positive number, by the series of the inverse hyperbolic tangent. */
static double logarithm(double number)
{
    enum { TERMS = 12, FRACTION = 52, BIAS = 1023 };
    uint64_t bits;
    memcpy(&bits, &number, sizeof bits);
    int exponent = (int)(bits >> FRACTION) - BIAS;
    bits = (bits & (((uint64_t)1 << FRACTION) - 1)) | (uint64_t)BIAS << FRACTION;
    memcpy(&number, &bits, sizeof bits);
    if (number > 1.4142135623730951) {
        number /= 2;
        exponent++;
    }
    const double z = (number - 1) / (number + 1);
    double sum = 0, power = z;
    for (int i = 0; i < TERMS; i++, power *= z * z)
        sum += power / (2 * i + 1);
    return 2 * sum + exponent * 0.6931471805599453;
}

/* e to a power of moderate size. */
static double exponential(double power)
{
    enum { HALVINGS = 10, TERMS = 8 };
    double sum = 1, term = 1;
    power /= 1 << HALVINGS;
    for (int i = 1; i < TERMS; i++)
        sum += term *= power / i;
    for (int i = 0; i < HALVINGS; i++)
        sum *= sum;
    return sum;
}

/* The lower median of numbers, some of which may be missing; missing if all are. */
static double median(const double *numbers, unsigned count)
{
    double sorted[MOST_SAMPLES > MOST_ARMS ? MOST_SAMPLES : MOST_ARMS];
    unsigned known = 0;
    for (unsigned i = 0; i < count; i++) {
        unsigned at = known;
        if (is_missing(numbers[i]))
            continue;
        for (; at && sorted[at - 1] > numbers[i]; at--)
            sorted[at] = sorted[at - 1];
        sorted[at] = numbers[i];
        known++;
    }
    return known ? sorted[(known - 1) / 2] : missing;
}

Estimate arm_estimate(const Arm *arm)
{
    Estimate estimate = {0};
    double sum = 0, squares = 0, times[MOST_SAMPLES];
    for (unsigned i = 0; i < arm->count; i++)
        times[i] = arm->samples[i];
    const double most = arm->count ? 2 * median(times, arm->count) : 0;
    for (unsigned i = 0; i < arm->count; i++)
        if (times[i] <= most) {
            sum += times[i];
            estimate.count++;
        }
    estimate.mean = estimate.count ? sum / estimate.count : 0;
    for (unsigned i = 0; i < arm->count; i++)
        if (times[i] <= most)
            squares += (times[i] - estimate.mean) * (times[i] - estimate.mean);
    estimate.variance = rounding_variance + (estimate.count > 1 ? squares / (estimate.count - 1) : 0);
    return estimate;
}

/* Quantiles of Student's t distribution for degrees of freedom up to those of the row. */
static const struct {
    double freedom, t[CERTAINTY_COUNT];
} quantiles[] = {
    {1, {1.376, 6.314, 31.82}},   {2, {1.061, 2.920, 6.965}},   {3, {0.978, 2.353, 4.541}},
    {4, {0.941, 2.132, 3.747}},   {5, {0.920, 2.015, 3.365}},   {6, {0.906, 1.943, 3.143}},
    {8, {0.889, 1.860, 2.896}},   {10, {0.879, 1.812, 2.764}},  {14, {0.868, 1.761, 2.624}},
    {20, {0.860, 1.725, 2.528}},  {30, {0.854, 1.697, 2.457}},  {60, {0.848, 1.671, 2.390}},
    {1e30, {0.842, 1.645, 2.326}},
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

/* Logarithms of times. */
typedef struct Cells {
    unsigned arms, rounds;
    double of[MOST_ARMS][MOST_SAMPLES]; /* of an arm in a round; or missing */
} Cells;

/* Sets how much more each time is than the medians of its arm and round allow for; returns the mean distance. */
static double find_excess(const Cells *cells, Cells *excess)
{
    double arms[MOST_ARMS], column[MOST_ARMS], sum = 0;
    unsigned count = 0;
    *excess = *cells;
    for (unsigned i = 0; i < cells->arms; i++)
        arms[i] = median(cells->of[i], cells->rounds);
    for (unsigned r = 0; r < cells->rounds; r++) {
        for (unsigned i = 0; i < cells->arms; i++)
            column[i] = cells->of[i][r] - arms[i];
        const double round = median(column, cells->arms);
        for (unsigned i = 0; i < cells->arms; i++) {
            excess->of[i][r] = column[i] - round;
            if (!is_missing(excess->of[i][r])) {
                sum += __builtin_fabs(excess->of[i][r]);
                count++;
            }
        }
    }
    return count ? sum / count : 0;
}

/* A launch that took more than twice as long as the others of its arm and round was disturbed by something else, and
 * does not count, unless launches differ that much anyway. */
static void drop_disturbed(Cells *cells)
{
    enum { USUAL = 3 }; /* mean distances */
    Cells excess;
    const double distance = find_excess(cells, &excess), twice = logarithm(2);
    const double most = USUAL * distance > twice ? USUAL * distance : twice;
    for (unsigned i = 0; i < cells->arms; i++)
        for (unsigned r = 0; r < cells->rounds; r++)
            if (excess.of[i][r] > most)
                cells->of[i][r] = missing;
}

/* Sets each round's figure, the mean of what the arms leave of its cells. */
static void fit_rounds(const Cells *cells, const Fit *fit, double rounds[MOST_SAMPLES])
{
    for (unsigned r = 0; r < cells->rounds; r++) {
        unsigned count = 0;
        rounds[r] = 0;
        for (unsigned i = 0; i < cells->arms; i++)
            if (!is_missing(cells->of[i][r])) {
                rounds[r] += cells->of[i][r] - fit->arms[i];
                count++;
            }
        rounds[r] = count ? rounds[r] / count : missing;
    }
}

/* The same for arms; returns the largest change. */
static double fit_arms(const Cells *cells, const double rounds[MOST_SAMPLES], Fit *fit)
{
    double largest = 0;
    for (unsigned i = 0; i < cells->arms; i++) {
        double sum = 0;
        fit->counts[i] = 0;
        for (unsigned r = 0; r < cells->rounds; r++)
            if (!is_missing(cells->of[i][r])) {
                sum += cells->of[i][r] - rounds[r];
                fit->counts[i]++;
            }
        sum = fit->counts[i] ? sum / fit->counts[i] : 0;
        const double change = sum > fit->arms[i] ? sum - fit->arms[i] : fit->arms[i] - sum;
        largest = change > largest ? change : largest;
        fit->arms[i] = sum;
    }
    return largest;
}

/* Fits arms and rounds in turns, which converges to the least squares. */
static Fit fit_cells(const Cells *cells)
{
    enum { MOST_SWEEPS = 200 };
    static const double little = 1e-9;
    double rounds[MOST_SAMPLES], squares = 0, change = 1;
    int freedom = 1; /* the figures of all arms may grow if those of all rounds shrink */
    Fit fit = {0};
    for (unsigned sweep = 0; sweep < MOST_SWEEPS && change > little; sweep++) {
        fit_rounds(cells, &fit, rounds);
        change = fit_arms(cells, rounds, &fit);
    }
    for (unsigned i = 0; i < cells->arms; i++) {
        freedom += (int)fit.counts[i] - (fit.counts[i] > 0);
        for (unsigned r = 0; r < cells->rounds; r++)
            if (!is_missing(cells->of[i][r])) {
                const double residual = cells->of[i][r] - fit.arms[i] - rounds[r];
                squares += residual * residual;
            }
    }
    for (unsigned r = 0; r < cells->rounds; r++)
        freedom -= !is_missing(rounds[r]);
    fit.freedom = freedom > 0 ? freedom : 0;
    fit.variance = freedom > 0 ? squares / freedom : 0;
    return fit;
}

void race_compare(const Race *race, Comparison *comparison)
{
    Cells cells = {.arms = race->arm_count}, pairs = {.arms = race->arm_count};
    for (unsigned i = 0; i < cells.arms; i++) {
        comparison->raw[i] = arm_estimate(&race->arms[i]);
        cells.rounds = race->arms[i].count > cells.rounds ? race->arms[i].count : cells.rounds;
    }
    for (unsigned i = 0; i < cells.arms; i++)
        for (unsigned r = 0; r < cells.rounds; r++)
            cells.of[i][r] = r < race->arms[i].count ? logarithm(race->arms[i].samples[r]) : missing;
    drop_disturbed(&cells);
    pairs.rounds = cells.rounds / 2;
    for (unsigned i = 0; i < cells.arms; i++)
        for (unsigned r = 0; r < pairs.rounds; r++)
            pairs.of[i][r] = (cells.of[i][2 * r] + cells.of[i][2 * r + 1]) / 2;
    comparison->by_round = fit_cells(&cells);
    comparison->by_pair = fit_cells(&pairs);
}

static bool fit_is_slower(const Comparison *comparison, const Fit *fit, unsigned fast, unsigned slow,
                          Certainty certainty)
{
    const double difference = fit->arms[slow] - fit->arms[fast];
    const double a = comparison->raw[fast].mean, b = comparison->raw[slow].mean;
    if (!fit->counts[fast] || !fit->counts[slow] || fit->freedom < 1 || difference <= 0)
        return false;
    const double variance = (fit->variance + rounding_variance / (a * a)) / fit->counts[fast] +
                            (fit->variance + rounding_variance / (b * b)) / fit->counts[slow];
    const double t = quantile(fit->freedom, certainty);
    return difference * difference > t * t * variance;
}

bool arm_is_slower(const Comparison *comparison, unsigned fast, unsigned slow, Certainty certainty)
{
    return fit_is_slower(comparison, &comparison->by_round, fast, slow, certainty) ||
           fit_is_slower(comparison, &comparison->by_pair, fast, slow, certainty);
}

double arm_share(const Comparison *comparison, unsigned arm, unsigned other)
{
    return exponential(comparison->by_round.arms[arm] - comparison->by_round.arms[other]);
}
