"""The printed summary of a run: a line for each option set, failures, and what got better and worse."""
import math

import expected
from kernels import OPTION_SETS

TIMES = ("seconds_ptxopt", "seconds_assembler", "assemblies", "seconds_wall")
MOST_LINES = 60


def print_table(head, rows, left=1, last_left=False):
    """Columns by width; the first 'left' of them, and the last one where asked, flush left."""
    widths = [max(len(str(row[i])) for row in [head] + rows) for i in range(len(head))]
    for row in [head] + rows:
        cells = [str(cell).ljust(widths[i]) if i < left or (last_left and i == len(head) - 1) else
                 str(cell).rjust(widths[i]) for i, cell in enumerate(row)]
        print("  ".join(cells).rstrip())


def geometric_mean(values):
    values = [value for value in values if value > 0]
    return math.exp(sum(map(math.log, values)) / len(values)) if values else None


def ratio_text(value):
    return "" if value is None else f"{value:.2f}"


def baselines(rows):
    return {(row["kernel"], row["ptx"]): row for row in rows if row["options"] == "none"}


def ratio(row, base, name, offset=0):
    """The figure relative to the original's; None if either is unknown."""
    if not base or row.get(name) is None or base.get(name) is None or base[name] + offset <= 0:
        return None
    return (row[name] + offset) / (base[name] + offset)


def print_option_sets(rows):
    base = baselines(rows)
    table = []
    for options in OPTION_SETS:
        own = [row for row in rows if row["options"] == options.name]
        if not own:
            continue
        done = [row for row in own if row["outcome"] == "done"]

        def mean(name, offset=0):
            ratios = [ratio(row, base.get((row["kernel"], row["ptx"])), name, offset) for row in done]
            return ratio_text(geometric_mean([value for value in ratios if value is not None]))

        counts = [sum(row["outcome"] == word for row in own) for word in ("done", "unchanged", "refused", "failed")]
        speedups = [row["speedup"] for row in done if row.get("speedup")]
        losses = sum(value < 0.995 for value in speedups)
        spilling = sum(bool(row.get("spill_bytes")) for row in own)
        table.append([options.name, *counts, mean("registers"), mean("instructions"), mean("occupancy"), spilling,
                      mean("thread_instructions"), mean("load_sectors"), ratio_text(geometric_mean(speedups)), losses,
                      f"{sum(row['seconds_ptxopt'] for row in own):.1f}",
                      f"{sum(row.get('seconds_assembler', 0) for row in own):.1f}"])
    print()
    print_table(["options", "done", "same", "refused", "failed", "registers", "instr.", "occupancy", "spilling",
                 "executed", "sectors", "speedup", "slower", "ptxopt s", "assembler s"], table)
    print("\nregisters, instr. (machine instructions), occupancy, executed (thread instructions in the emulator) and "
          "sectors\n(global, loaded): geometric means of after / before over the rows that are done; speedup: the same "
          "of\npredicted time (docs/time.md), before / after; slower: rows predicted to be slower; ptxopt s: "
          "processor seconds,\nthe assembler's with it; assembler s: wall seconds of the assembler")


def print_rows(rows):
    print_table(["kernel", "PTX", "options", "outcome", "factor", "registers", "spilled", "instr.", "occupancy",
                 "executed", "reason"],
                [[row["kernel"], row["ptx"], row["options"], row["outcome"], row.get("factor", ""),
                  expected.text_of(row.get("registers")), expected.text_of(row.get("spill_bytes")),
                  expected.text_of(row.get("instructions")), expected.text_of(row.get("occupancy")),
                  expected.text_of(row.get("thread_instructions")), row["reason"]] for row in rows],
                left=5, last_left=True)


def print_failures(rows):
    failed = [row for row in rows if row["outcome"] == "failed"]
    if failed:
        print(f"\nFAILED: {len(failed)} of {len(rows)} rows")
    for row in failed[:MOST_LINES]:
        print(f"  {row['kernel']} {row['ptx']} {row['options']}: {row['reason']}")
    if len(failed) > MOST_LINES:
        print(f"  and {len(failed) - MOST_LINES} more")
    return failed


def changes_text(changes):
    """Worse figures before others."""
    worse = "; ".join(change.text() for change in changes if change.verdict == "worse")
    better = "; ".join(change.text() for change in changes if change.verdict == "better")
    other = "; ".join(change.text() for change in changes if change.verdict == "other")
    if worse and better:
        better = "but better: " + better
    return ";  ".join(part for part in (worse, better, other) if part)


def print_changes(title, rows):
    if not rows:
        return
    print(f"\n{title}: {len(rows)} {'row' if len(rows) == 1 else 'rows'}")
    for key in sorted(rows, key=expected.key_order)[:MOST_LINES]:
        print(f"  {key[0]} {key[1]} {key[2]}: {changes_text(rows[key])}")
    if len(rows) > MOST_LINES:
        print(f"  and {len(rows) - MOST_LINES} more")


def print_comparison(comparison, accepted_title, title, any_accepted):
    """True if something got worse."""
    print()
    if not any_accepted:
        print("No accepted figures to compare with; --accept makes them.")
        return False
    if not comparison.same_assembler:
        print(f"OTHER ASSEMBLER: the accepted figures are those of {accepted_title or 'none'}, this is {title}.\n"
              "Only refusals, and counters of what is coarsened without a judge, are compared.")
    worse, better = comparison.rows("worse"), comparison.rows("better")
    other = {key: changes for key, changes in comparison.rows("other").items()
             if key not in worse and key not in better}
    print_changes("WORSE", worse)
    print_changes("better", {key: changes for key, changes in better.items() if key not in worse})
    print_changes("changed, neither better nor worse", other)
    if comparison.new:
        print(f"\nnew, with no accepted figures yet: {len(comparison.new)} rows")
    if comparison.gone:
        print(f"\ngone: {len(comparison.gone)} accepted rows were not run, the first {' '.join(comparison.gone[0])}")
    if worse:
        print("\nWhere this is meant, tools/corpus-run --accept takes the new figures.")
    elif better or other or comparison.new or comparison.gone:
        print("\nNo figure got worse; tools/corpus-run --accept takes the new figures.")
    else:
        print("No figure differs from the accepted ones.")
    return bool(worse)


def print_sides(first, second, rows, others):
    """The same work with another assembler."""
    beside = {expected.key_of(row): row for row in others}
    print(f"\n{first.title} against {second.title}")
    table, changes = [], {}
    for options in OPTION_SETS:
        pairs = [(row, beside[expected.key_of(row)]) for row in rows
                 if row["options"] == options.name and expected.key_of(row) in beside]
        if not pairs:
            continue
        cells = [options.name, len(pairs)]
        for name in ("registers", "instructions", "spill_bytes", "occupancy"):
            known = [(a[name], b[name]) for a, b in pairs if a.get(name) is not None and b.get(name) is not None]
            less, more = sum(b < a for a, b in known), sum(b > a for a, b in known)
            if name == "spill_bytes":
                mean = f"{sum(a for a, _ in known)} {sum(b for _, b in known)}"
            else:
                mean = ratio_text(geometric_mean([b / a for a, b in known if a > 0]))
            cells += [mean, f"-{less} +{more}"]
        table.append(cells)
        for a, b in pairs:
            found = expected.row_changes(expected.key_of(a), expected.accepted_form(a), expected.accepted_form(b),
                                         options.judged, True)
            if found:
                changes[expected.key_of(a)] = found
    print_table(["options", "rows", "registers", "", "instr.", "", "spilled", "", "occupancy", ""], table)
    print("\ngeometric means of the second's figures / the first's, for spills both sums of bytes; "
          "-N +N: rows with less and with more")
    print_changes(f"different with {second.title}", changes)
    if not changes:
        print("No figure differs.")
