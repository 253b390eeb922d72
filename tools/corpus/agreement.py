"""How well predicted times order the forms of a kernel, and what choosing by them costs."""
import math
from dataclasses import dataclass

# A form is chosen if it is predicted to take at most this share of the original's time, as in opt/policy.c.
KEPT, KEPT_UNEVEN = 1 / 1.03, 1 / 1.15

# Microseconds that events around a launch of an empty kernel measure, less the model's launch_cycles: `one_block` in
# bench/measured/calibrate.tsv.
EVENTS_US = 2.9


def launch_us(measured):
    """The time of a launch, in microseconds, from what events around it measured."""
    return max(float(measured) - EVENTS_US, 0.1)


def ranks(values):
    """Ranks from 0; equal values share the mean of theirs."""
    order = sorted(range(len(values)), key=values.__getitem__)
    result = [0.0] * len(values)
    at = 0
    while at < len(order):
        end = at
        while end + 1 < len(order) and values[order[end + 1]] == values[order[at]]:
            end += 1
        for k in range(at, end + 1):
            result[order[k]] = (at + end) / 2
        at = end + 1
    return result


def spearman(first, second):
    """Spearman's rank correlation; 0 where all values of one side are equal."""
    x, y = ranks(first), ranks(second)
    mean_x, mean_y = sum(x) / len(x), sum(y) / len(y)
    covariance = sum((a - mean_x) * (b - mean_y) for a, b in zip(x, y))
    spread = math.sqrt(sum((a - mean_x) ** 2 for a in x) * sum((b - mean_y) ** 2 for b in y))
    return covariance / spread if spread else 0.0


def geometric_mean(values):
    return math.exp(sum(map(math.log, values)) / len(values)) if values else 1.0


@dataclass
class Agreement:
    """The agreement over one kernel's forms."""
    rho: float      # Spearman's, between predicted and actual time
    chosen: int     # the form predicted fastest, if that is worth it, else the original
    regret: float   # actual time of the chosen form over that of the fastest
    speedup: float  # actual, of the chosen form over the original


def agreement(predicted, actual, original=0, uneven=False):
    """Times of the same forms in the same order; 'original' is the index of the form before any change."""
    chosen = min(range(len(predicted)), key=predicted.__getitem__)
    if predicted[chosen] > (KEPT_UNEVEN if uneven else KEPT) * predicted[original]:
        chosen = original
    return Agreement(spearman(predicted, actual), chosen, actual[chosen] / min(actual),
                     actual[original] / actual[chosen])


def summary_line(results):
    """The means over kernels, in a sentence."""
    return (f"mean rho {sum(one.rho for one in results) / len(results):.3f}; chosen form over best, geometric mean "
            f"{geometric_mean([one.regret for one in results]):.3f}; speedup "
            f"{geometric_mean([one.speedup for one in results]):.3f}; choices more than 2% slower than the original: "
            f"{sum(one.speedup < 0.98 for one in results)}")
