"""The tables of bench/measured/, and those that bench/measure prints of them for docs/."""
import collections
import csv
import math
import os
import re
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(ROOT, "tests", "naive"))
import large  # pylint: disable=wrong-import-position

MEASURED = os.path.join(ROOT, "bench", "measured")
BY_HAND, ORIGINAL = "by hand", "the original"
ANY_ORDER = "-auto -reassociate -coarsen-grid shrink -search 240"  # told the launch, too
AUTO = "-auto -coarsen-grid shrink"  # told the launch; a choice takes up to a minute
SHRINK = " -coarsen-level block -coarsen-grid shrink"
PAPER = ["conv", "demosaic", "imregionmax", "matmul_naive", "mv", "rd", "strsm", "tmv", "transpose_naive", "vv"]


def read_table(path):
    with open(path, encoding="utf-8") as file:
        return [row for row in csv.reader(file, delimiter="\t")][1:]


def print_markdown(rows):
    for number, row in enumerate(rows):
        print("| " + " | ".join(row) + " |")
        if not number:
            print("|" + "---|" * len(row))


def shown(options):
    """Options without the block size."""
    return re.sub(r"-block \S+ ", "", options)


def kernel_of(launch):
    return f"`{os.path.basename(launch)}`"


def geometric_mean(values):
    return math.exp(sum(map(math.log, values)) / len(values))


Form = collections.namedtuple("Form", "registers cold warm")


def measured_forms(folder):
    """{launch: {options: Form}}"""
    found = collections.defaultdict(dict)
    for table in ("times.tsv", "naive.tsv"):
        for launch, options, registers, cold, warm in read_table(os.path.join(folder, table)):
            found[launch][shown(options)] = Form(registers, float(cold), float(warm))
    return found


def beside_hand(launch, forms, first):
    """A row of a table with forms by hand; 'first': options to compare with the best ones."""
    times = {options: form.cold for options, form in forms.items()}
    others = {options: time for options, time in times.items() if options and options != BY_HAND and "auto" not in options}
    best = min(others, key=others.get)
    own, hand = times[""], times[BY_HAND]
    return [kernel_of(launch), f"{own:.1f}", f"`{best}`", f"{others[best]:.1f}", f"{hand:.1f}", f"{own / others[best]:.2f}",
            f"{own / hand:.2f}", f"{others[best] / hand:.2f}", f"{own / times[first]:.2f}" if first in times else ""]


HAND_HEAD = ["kernel", "input: us", "best form", "form: us", "by hand: us", "gain", "gain by hand", "left"]


def print_naive(folder, _names, _wanted):
    forms = measured_forms(folder)
    print_markdown([[*HAND_HEAD, "gain of the predicted form"],
                    *(beside_hand("naive/" + one[0], forms["naive/" + one[0]], one[-1][0]) for one in large.KERNELS)])


def print_paper(folder, _names, _wanted):
    forms = measured_forms(folder)
    launches = sorted(launch for launch in forms if os.path.basename(launch) in PAPER and BY_HAND in forms[launch])
    print_markdown([[*HAND_HEAD, "gain of `-auto`"], *(beside_hand(launch, forms[launch], AUTO) for launch in launches)])


def options_of(words):
    """The options that make a form, as they are in times.tsv, of the words that describe it."""
    factors, *rest = words.split()
    blocks = re.fullmatch(r"bx(\d+)", factors)
    along_x = re.fullmatch(r"x(\d+)", factors)
    options = "-coarsen " + (blocks or along_x)[1] if blocks or along_x else "-coarsen " + factors
    names = {"stride=unit": " -stride unit", "guards=sequential": " -coarsen-guards sequential",
             "grid=shrink": SHRINK if blocks else " -coarsen-grid shrink"}
    return options + "".join(names.get(word, " " + word) for word in rest)


def print_tuned(folder, _names, _wanted):
    """Each tuned launch, and a summary. Times are warm. Speedups are of the tuned module. The best forms, and the form that was
    learned where it is in times.tsv, are compared with the input there, if that is: times of another run may differ from
    these."""
    forms = collections.defaultdict(dict)
    for launch, options, _, _, warm in read_table(os.path.join(folder, "times.tsv")):
        forms[launch][shown(options)] = float(warm)
    table, gains, to_best, timed = [], [], [], []
    for launch, words, learned, share, count, _, warm, _, tuned in read_table(os.path.join(folder, "tuned.tsv")):
        gain, times = float(warm) / float(tuned), forms[launch] or {"": float(warm)}
        gain_of = {word: times[""] / times[options_of(word)] for word in words.split("; ") if options_of(word) in times}
        own = 1.0 if learned == ORIGINAL else gain_of.get(learned, gain)
        best = max([1.0, own, *gain_of.values()])
        gains.append(gain)
        to_best.append(best / own)
        timed.append(int(count))
        table.append([kernel_of(launch), warm, learned, share, count, f"{gain:.3f}",
                      f"{best:.2f} ({len(gain_of)} of {len(words.split('; '))})", f"{best / own:.3f}",
                      f"{max(times[''] / time for time in times.values()):.2f}"])
    print_markdown([["launch", "input: us", "learned", "share", "launches timed", "speedup", "best of the module", "left",
                     "best of all"], *table])
    print(f"\n{len(gains)} launches, geometric mean of the speedups {geometric_mean(gains):.3f}; "
          f"{sum(gain < 0.99 for gain in gains)} below 0.99, "
          f"{sum(left > 1.02 for left in to_best)} more than 1.02 from the best of the module; {sum(timed) / len(timed):.0f} "
          f"launches timed in the mean, at most {max(timed)}")


class Choice:
    """A row of chosen.tsv; 'chosen' is empty for a kernel that is left alone, 'predicted' and the range (low, high) may be."""
    def __init__(self, row):
        (self.launch, self.chosen, self.predicted, self.low, self.high, self.registers, cold, warm, self.form_registers,
         form_cold, form_warm) = row
        self.cold, self.form_cold = float(cold), float(form_cold)
        self.gain, self.warm_gain = self.cold / self.form_cold, float(warm) / float(form_warm)

    def row(self):
        predicted = f"{self.predicted} ({self.low} to {self.high})" if self.low else self.predicted or "-"
        return [kernel_of(self.launch), self.chosen, f"{self.registers} -> {self.form_registers}", predicted,
                f"{self.cold:.1f}", f"{self.form_cold:.1f}", f"{self.gain:.2f}", f"{self.warm_gain:.2f}"]


def read_choices(folder):
    return [Choice(row) for row in read_table(os.path.join(folder, "chosen.tsv"))]


def print_chosen(folder, names, wanted):
    choices = [choice for choice in read_choices(folder)
               if re.search(wanted, choice.chosen) and (not names or choice.launch in names)]
    changed = sorted((choice for choice in choices if choice.chosen), key=lambda choice: choice.gain)
    print_markdown([["kernel", "chosen", "registers", "predicted", "original: us", "form: us", "gain, cold", "warm"],
                    *(choice.row() for choice in changed)])
    alone = [kernel_of(choice.launch) for choice in choices if not choice.chosen]
    in_range = [float(choice.low) <= choice.gain <= float(choice.high) for choice in changed if choice.low]
    print(f"\n{len(choices)} launches, geometric mean of the gains {geometric_mean([one.gain for one in choices]):.2f} cold, "
          f"{geometric_mean([one.warm_gain for one in choices]):.2f} warm; {len(changed)} changed, "
          f"{geometric_mean([one.gain for one in changed]):.2f} cold, {sum(one.gain < 0.99 for one in changed)} below 0.99; "
          f"{sum(in_range)} of {len(in_range)} in their range\nleft alone: {', '.join(alone) or 'none'}")


def print_hand(folder, _names, _wanted):
    """The choices of -auto for launches that an expert's form was measured for, and the best other form."""
    forms, table = measured_forms(folder), []
    for choice in read_choices(folder):
        known = forms[choice.launch]
        if BY_HAND in known:
            hand = known[BY_HAND].cold
            gains = {f"`{options}`": known[""].cold / form.cold for options, form in known.items()
                     if options not in ("", BY_HAND, AUTO)}
            best = max(gains, key=gains.get) if gains else ""
            table.append([kernel_of(choice.launch), f"{choice.cold:.1f}", choice.chosen or "left alone",
                          f"{choice.form_cold:.1f}", f"{hand:.1f}", f"{choice.gain:.2f}", f"{choice.cold / hand:.2f}",
                          f"{choice.form_cold / hand:.2f}", best or "-", f"{gains[best]:.2f}" if gains else "-"])
    print_markdown([["kernel", "input: us", "`-auto`", "form: us", "by hand: us", "gain", "gain by hand", "left",
                     "best other form", "its gain"], *table])


def print_launches(head, rows_of, names):
    """Rows of the launches that are named, or of all: {launch: rows}."""
    unknown = set(names) - set(rows_of)
    if unknown:
        raise SystemExit(f"bench/measure: nothing of {', '.join(sorted(unknown))}")
    print_markdown([["kernel", "form", *head], *([kernel_of(launch) if not number else "", *row]
                                                 for launch in names or rows_of for number, row in enumerate(rows_of[launch]))])


def words_of(options):
    return options if options == BY_HAND else f"`{options}`" if options else "input"


def print_forms(folder, names, wanted):
    rows_of = {}
    for launch, forms in measured_forms(folder).items():
        own = forms.get("")
        rows_of[launch] = [[words_of(options), form.registers, f"{form.cold:.1f}", f"{form.warm:.1f}",
                            *([f"{own.cold / form.cold:.2f}", f"{own.warm / form.warm:.2f}"] if own else ["-", "-"])]
                           for options, form in forms.items() if not options or re.search(wanted, options)]
    print_launches(["registers", "cold: us", "warm: us", "gain, cold", "warm"], rows_of, names)


def print_counters(folder, names, wanted):
    """Counts are in millions."""
    rows_of = collections.defaultdict(list)
    for launch, options, nanoseconds, *counts in read_table(os.path.join(folder, "counters.tsv")):
        if not options or re.search(wanted, shown(options)):
            rows_of[launch].append([words_of(shown(options)), f"{int(nanoseconds) / 1000:.1f}",
                                    *(f"{int(count) / 1e6:.2f}" for count in counts)])
    print_launches(["us", "instructions", "sectors loaded", "L2 reads", "L2 misses", "DRAM reads", "DRAM writes",
                    "bank conflicts"], rows_of, names)


# Each prints a table of the measurements in a folder; the last three of launches that are named and of choices, or of the input
# and forms, that a regular expression occurs in.
PRINT = {"naive": print_naive, "paper": print_paper, "tuned": print_tuned, "hand": print_hand, "chosen": print_chosen,
         "forms": print_forms, "counters": print_counters}
