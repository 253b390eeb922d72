"""The measured part of docs/corpus.md: a table of every kernel, made from the last run."""
import os

import summary
from kernels import OPTION_SETS

BEGIN, END = "<!-- measured: begin -->", "<!-- measured: end -->"
COMMAND = "tools/corpus-run && tools/corpus-report --markdown docs/corpus.md"
FORM = "sm_90"


def percent(part):
    return "" if part is None else f"{100 * part:.0f} %"


def changed_cell(row, base):
    """Registers, and instructions executed beside those before."""
    if row is None:
        return ""
    if row["outcome"] in ("refused", "failed"):
        return row["outcome"]
    executed = summary.ratio(row, base, "thread_instructions")
    return f"{row.get('registers', '?')}, {percent(executed)}"


def target_cell(row):
    if row is None:
        return ""
    if row["outcome"] in ("refused", "failed"):
        return row["outcome"]
    if row["outcome"] == "unchanged":
        return "original"
    text = f"{row.get('registers', '?')}"
    if row.get("spill_bytes") or row.get("capped_spill_bytes"):
        text += f", {row.get('spill_bytes', '?')} B spilled ({row.get('capped_spill_bytes', '?')} under the cap alone)"
    return text


def kernel_table(rows):
    kernels = {}
    for row in rows:
        if row["ptx"] == FORM:
            kernels.setdefault(row["kernel"], {})[row["options"]] = row
    lines = ["| kernel | registers | instructions | x2 | x4 | x8 | auto | `-target-regs 32` | `-target-regs auto` |",
             "|---|---|---|---|---|---|---|---|---|"]
    for name, own in sorted(kernels.items()):
        base = own.get("none", {})
        auto = own.get("-coarsen auto")
        chosen = "" if auto is None else auto["outcome"] if auto["outcome"] != "done" else auto.get("factor", "")
        cells = [f"`{name}`", base.get("registers", ""), base.get("instructions", "")]
        cells += [changed_cell(own.get(f"-coarsen {factor}"), base) for factor in (2, 4, 8)]
        cells += [chosen, target_cell(own.get("-target-regs 32")), target_cell(own.get("-target-regs auto"))]
        lines.append("| " + " | ".join(str(cell) for cell in cells) + " |")
    return lines


def means_table(rows):
    base = summary.baselines(rows)
    lines = ["| options | changed | original | refused | registers | instructions | occupancy | executed | sectors |",
             "|---|---|---|---|---|---|---|---|---|"]
    for options in OPTION_SETS[1:]:
        own = [row for row in rows if row["options"] == options.name]
        done = [row for row in own if row["outcome"] == "done"]
        if not own:
            continue
        cells = [f"`{options.name}`"] + [sum(row["outcome"] == word for row in own)
                                         for word in ("done", "unchanged", "refused")]
        for name in ("registers", "instructions", "occupancy", "thread_instructions", "load_sectors"):
            ratios = [summary.ratio(row, base.get((row["kernel"], row["ptx"])), name) for row in done]
            cells.append(summary.ratio_text(summary.geometric_mean([one for one in ratios if one is not None])))
        lines.append("| " + " | ".join(str(cell) for cell in cells) + " |")
    return lines


def section(table):
    rows = table["rows"]
    assembler = f"{table['assembler']['name']} {table['assembler']['version']}".strip()
    kernels, forms = {row["kernel"] for row in rows}, sorted({row["ptx"] for row in rows})
    verified = sum(row.get("verified") == "equal" for row in rows)
    return "\n".join([
        BEGIN, "", f"Made by `{COMMAND}`: {len(kernels)} kernels, PTX for {', '.join(forms)},",
        f"{len(rows)} rows; {verified} of them equal to their input in the emulator, byte for byte. Figures of "
        f"{assembler}.", "",
        "Geometric means of after / before over the rows that were changed, all architectures (executed: thread",
        "instructions in the emulator; sectors: of 32 bytes, loaded from global memory):", "",
        *means_table(rows), "",
        f"For {FORM}, by kernel. registers and instructions (of machine code): of the original. x2, x4, x8 (`-coarsen`):",
        "registers, and the thread instructions that the emulator executes, as a part of those before. auto: the",
        "factor that `-coarsen auto` takes. `-target-regs`: registers, and the bytes of spill instructions.", "",
        *kernel_table(rows), "", END])


def update(path, table):
    """Puts the section between its marks, or at the end of the file."""
    text = ""
    if os.path.exists(path):
        with open(path, encoding="utf-8") as file:
            text = file.read()
    if BEGIN in text and END in text:
        text = text[:text.index(BEGIN)] + section(table) + text[text.index(END) + len(END):]
    else:
        text = text.rstrip("\n") + ("\n\n" if text else "") + "## What we measure\n\n" + section(table) + "\n"
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)
