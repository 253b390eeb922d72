"""The accepted figures, corpus/expected.tsv: reading, writing, and what a run did better or worse.

Only what a run gives again to the digit is in the file; times are not. Which figures may be compared depends on the
assembler: its own (registers, spills, stack, instructions, occupancy) and everything about an option set whose search
it judges only with the same assembler in the same version; whether a kernel is coarsened, and the emulator's counters
of what is coarsened without a judge, always."""
import os
from dataclasses import dataclass

from kernels import OPTION_SETS, OTHER_PAPER, form_order
from measure import COUNTERS

KEY = ("kernel", "ptx", "options")
STATES = ("coarsening", "reduction", "factor", "stride")
# Name -> True where more is better.
ASSEMBLER_FIGURES = {"registers": False, "spill_bytes": False, "stack_bytes": False, "instructions": False,
                     "occupancy": True, "warps_per_sm": True, "speedup": True}
EMULATOR_FIGURES = {name: False for name in COUNTERS}
FIGURES = {**ASSEMBLER_FIGURES, **EMULATOR_FIGURES}
COLUMNS = KEY + STATES + tuple(FIGURES) + ("reason",)

# Worst first.
OUTCOMES = ("failed", "refused", "unchanged", "-", "done")

MARK = "# assembler: "
HEAD = """# The accepted figures of the corpus (docs/corpus-run.md). `make corpus` compares with them,
# `tools/corpus-run --accept` writes this file.
"""


def text_of(value):
    if value is None:
        return ""
    if isinstance(value, float) and value == int(value):
        return str(int(value))
    return str(value).replace("\t", " ").replace("\n", " ")


def key_of(row):
    return tuple(row[name] for name in KEY)


def key_order(key):
    names = [one.name for one in OPTION_SETS]
    place = names.index(key[2]) if key[2] in names else len(names)
    return (key[0], form_order(key[1]), place, key[2])


def outcome_of(row, state):
    return row.get(state) or ("failed" if row.get("outcome") == "failed" else "-")


def accepted_form(row):
    """The row's columns as they stand in the file."""
    form = {name: text_of(row.get(name)) for name in COLUMNS}
    for state in ("coarsening", "reduction"):
        form[state] = outcome_of(row, state)
    return form


def read(path):
    """(title of the assembler, {key: row of texts}); ("", {}) if there is no file."""
    title, rows = "", {}
    if not os.path.exists(path):
        return title, rows
    with open(path, encoding="utf-8") as file:
        lines = file.read().splitlines()
    names = None
    for number, line in enumerate(lines, 1):
        if line.startswith(MARK):
            title = line[len(MARK):].strip()
        if not line or line.startswith("#"):
            continue
        cells = line.split("\t")
        if names is None:
            names = cells
            missing = [name for name in KEY if name not in names]
            if missing:
                raise ValueError(f"{path}:{number}: no column {missing[0]}")
            continue
        if len(cells) != len(names):
            raise ValueError(f"{path}:{number}: {len(cells)} columns, but the head has {len(names)}")
        row = dict(zip(names, cells))
        rows[key_of(row)] = row
    return title, rows


def write(path, title, rows):
    with open(path + ".new", "w", encoding="utf-8") as file:
        file.write(HEAD + MARK + title + "\n")
        file.write("\t".join(COLUMNS) + "\n")
        for key in sorted(rows, key=key_order):
            file.write("\t".join(rows[key].get(name, "") for name in COLUMNS) + "\n")
    os.replace(path + ".new", path)


@dataclass
class Change:
    key: tuple
    name: str
    before: str
    after: str
    verdict: str  # better, worse, other

    def text(self):
        name = self.name.replace("_", " ")
        words = f"{name} {self.before or '(none)'} -> {self.after or '(none)'}"
        try:
            before, after = float(self.before), float(self.after)
        except ValueError:
            return words
        return words + (f" ({100 * (after - before) / before:+.1f} %)" if before else "")


def number(text):
    try:
        return float(text)
    except (TypeError, ValueError):
        return None


def row_changes(key, before, after, options_judged, same_assembler):
    """The differences in one row. 'after' is in accepted form."""
    changes = []
    for state in ("coarsening", "reduction"):
        if not same_assembler and (state == "reduction" or options_judged):
            continue
        old, new = before.get(state, "-"), after[state]
        if old != new and old in OUTCOMES and new in OUTCOMES:
            verdict = "better" if OUTCOMES.index(new) > OUTCOMES.index(old) else "worse"
            if {old, new} == {"unchanged", "done"}:
                verdict = "other"
            changes.append(Change(key, state, old, new, verdict))
    if options_judged and not same_assembler:
        return changes
    # Other factors, other figures: those of the two cannot be held against each other.
    for name in ("factor", "stride"):
        if before.get(name, "") != after[name]:
            return changes + [Change(key, name, before.get(name, ""), after[name], "other")]
    for name, more_is_better in FIGURES.items():
        if name in ASSEMBLER_FIGURES and not same_assembler:
            continue
        old, new = number(before.get(name)), number(after[name])
        if old == new:
            continue
        if old is None or new is None:
            verdict = "other" if old is None else "worse"
        else:
            verdict = "better" if (new > old) == more_is_better else "worse"
        changes.append(Change(key, name, before.get(name, ""), after[name], verdict))
    return changes


@dataclass
class Comparison:
    changes: list
    new: list  # keys that are not in the file
    gone: list  # keys that are in the file, but were not run though all of their kind were
    same_assembler: bool

    def rows(self, verdict):
        """{key: changes} of the rows that have a change of that verdict."""
        found = {}
        keys = {change.key for change in self.changes if change.verdict == verdict}
        for change in self.changes:
            if change.key in keys:
                found.setdefault(change.key, []).append(change)
        return found


def compare(accepted_title, accepted, title, rows, complete):
    """rows: those of this run. complete: the run left nothing out, so what it lacks is gone."""
    judged = {one.name: one.judged for one in OPTION_SETS}
    same = accepted_title == title
    changes, new = [], []
    for row in rows:
        key = key_of(row)
        if key not in accepted:
            new.append(key)
            continue
        if row["outcome"] == "failed":
            continue
        changes += row_changes(key, accepted[key], accepted_form(row), judged.get(key[2], True), same)
    ran = {key_of(row) for row in rows}
    gone = sorted((key for key in accepted if key not in ran), key=key_order) if complete else []
    return Comparison(changes, new, gone, same)


def papers_of(row):
    return row.get("papers") or [OTHER_PAPER]
