"""build/corpus/report.html: the table, plots for each paper, and input and output side by side, in one file."""
import difflib
import html
import json
import os
import re

import charts
import summary
from kernels import OPTION_SETS, OTHER_PAPER, PAPERS, architecture, form_order

FACTORS = (("none", "original", "base"), ("-coarsen 2", "x2", "two"), ("-coarsen 4", "x4", "four"),
           ("-coarsen 8", "x8", "eight"))
NOT_BESIDE = ("none", "-coarsen 8")  # eight copies of everything tell no more than two
HERE = os.path.dirname(os.path.realpath(__file__))

COLUMNS = (  # key, heading, unit, is a number
    ("kernel", "kernel", "", False), ("ptx", "PTX", "", False), ("options", "options", "", False),
    ("outcome", "outcome", "", False), ("factor", "factor", "", False),
    ("registers", "registers", "32-bit, a thread", True), ("spill_bytes", "spilled", "bytes in the code", True),
    ("instructions", "instructions", "in the cubin", True), ("occupancy", "occupancy", "% of warps", True),
    ("thread_instructions", "executed", "thread instr.", True), ("load_sectors", "loaded", "32-byte sectors", True),
    ("store_sectors", "stored", "32-byte sectors", True), ("bank_conflicts", "bank conflicts", "cycles", True),
    ("divergent_branches", "divergent", "branches", True), ("barriers", "barriers", "by warps", True),
    ("warps_per_sm", "warps", "on an SM", True), ("speedup", "predicted", "time before / after", True),
    ("verdict", "verdict", "", False), ("seconds_ptxopt", "ptxopt", "processor s", True), ("seconds_assembler", "assembler", "wall s", True),
    ("reason", "reason", "", False))


def escape(text):
    return html.escape(str(text))


LOSS = 0.98  # predicted speedups below this are losses, as in the program's warnings


def style_of(row, key):
    """The class of a row's cell."""
    if key in ("speedup", "verdict"):
        return "worse" if (row.get("speedup") or 1) < LOSS else "reason" if key == "verdict" else ""
    return {"outcome": row["outcome"], "reason": "reason"}.get(key, "")


def cell_text(value):
    if value is None:
        return ""
    return f"{value:g}" if isinstance(value, float) else str(value)


def kernel_lines(path, name):
    """The kernel's own lines, without comments and layout; nothing where the file or the kernel is not there."""
    try:
        with open(path, encoding="utf-8") as file:
            lines = file.read().splitlines()
    except OSError:
        return []
    begin = next((i for i, line in enumerate(lines) if re.search(rf"\.entry\s+{re.escape(name)}\b", line)), None)
    if begin is None:
        return []
    taken, depth, opened = [], 0, False
    for line in lines[begin:]:
        line = re.sub(r"//.*", "", line).rstrip()
        if not line.strip():
            continue
        indent = "    " if line[0] in " \t" else ""
        taken.append(indent + " ".join(line.split()))
        depth += line.count("{") - line.count("}")
        opened |= "{" in line
        if opened and depth == 0:
            break
    return taken


def difference_steps(before, after):
    """How page.js makes 'after' of 'before'."""
    steps = []
    matcher = difflib.SequenceMatcher(None, before, after, autojunk=False)
    for tag, left, left_end, right, right_end in matcher.get_opcodes():
        if tag == "equal":
            steps.append(left_end - left)
        else:
            steps.append([left_end - left, after[right:right_end]])
    return steps


def sortable(identity, columns, rows):
    """rows: [(attributes, [cell, ...])]; a cell is a text, or a (text, value to sort by, class)."""
    out = [f'<table class="rows" id="{identity}"><thead><tr>']
    for heading, unit, numeric in columns:
        small = f"<small>{escape(unit)}</small>" if unit else ""
        out.append(f'<th scope="col"{" class=n" if numeric else ""}><button type="button">'
                   f"<span>{escape(heading)}</span>{small}</button></th>")
    out.append("</tr></thead><tbody>")
    for attributes, cells in rows:
        words = "".join(f' data-{name}="{escape(value)}"' for name, value in attributes.items())
        out.append(f"<tr{words}>")
        for cell, (_, _, numeric) in zip(cells, columns):
            text, value, style = cell if isinstance(cell, tuple) else (cell, None, "")
            style = " ".join(word for word in ("n" if numeric else "", style) if word)
            out.append(f'<td{f" class={chr(34)}{style}{chr(34)}" if style else ""}'
                       f'{"" if value is None else f" data-v={chr(34)}{escape(value)}{chr(34)}"}>{escape(text)}</td>')
        out.append("</tr>")
    out.append("</tbody></table>")
    return "".join(out)


def all_rows_table(rows):
    made = []
    for row in rows:
        cells = []
        for key, _, _, numeric in COLUMNS:
            text = cell_text(row.get(key))
            style = style_of(row, key)
            cells.append((text, text if numeric else None, style) if style or numeric else text)
        made.append(({"ptx": row["ptx"], "options": row["options"], "outcome": row["outcome"],
                      "papers": " ".join(row["papers"])}, cells))
    return sortable("all", [column[1:] for column in COLUMNS], made)


def choices(name, label, values):
    options = "".join(f"<option>{escape(value)}</option>" for value in values)
    return (f'<label>{label} <select name="{name}"><option value="">all</option>{options}</select></label>')


def paper_names(rows):
    found = {paper for row in rows for paper in row["papers"]}
    return [name for name in [name for name, _ in PAPERS] + [OTHER_PAPER] if name in found]


def factor_values(by_options, name, base=None):
    """The figure for each factor, or None if there is no such form; with 'base', relative to the original."""
    values = []
    for options, _, _ in FACTORS:
        row = by_options.get(options)
        known = row and row["outcome"] in ("done", "unchanged") and row.get(name) is not None
        value = row[name] if known else None
        values.append(value / base if value is not None and base else value)
    return values


def figure(title, plot):
    width = int(re.search(r' width="(\d+)"', plot).group(1))
    style = ' class="full"' if width > 600 else ""
    return f'<figure{style}><figcaption>{escape(title)}</figcaption>{plot}</figure>'


def any_known(groups):
    return any(value is not None for _, values in groups for value in values)


def factor_plot(title, what, unit, name, kernels, relative):
    """One figure by factor; nothing where no kernel has it."""
    groups = []
    for kernel, own in sorted(kernels.items()):
        base = own.get("none", {}).get(name) if relative else None
        groups.append((kernel, factor_values(own, name, base) if base or not relative else [None] * len(FACTORS)))
    if not any_known(groups):
        return ""
    series = [(label, style) for _, label, style in FACTORS]
    return figure(title, charts.bars(what, unit, groups, series, mark=1 if relative else None))


def spill_plot(paper, form, kernels):
    groups = []
    for name, own in sorted(kernels.items()):
        for options, label in (("-target-regs 32", name), ("-coarsen 2 -target-regs 32", f"{name} x2")):
            row = own.get(options, {})
            if row.get("capped_spill_bytes"):
                groups.append((label, [row["capped_spill_bytes"], row.get("spill_bytes")]))
    if not groups:
        return ""
    return figure("Spilled bytes at 32 registers: under the cap alone, and after the search",
                  charts.bars(f"{paper}, {form}: spills at 32 registers", "bytes", groups,
                              [("cap alone", "capped"), ("ptxopt", "four")]))


def plots_of(paper, form, rows):
    """The plots of one paper for one PTX form; an empty string where none of its kernels has it."""
    kernels = {}
    for row in rows:
        if paper in row["papers"] and row["ptx"] == form:
            kernels.setdefault(row["kernel"], {})[row["options"]] = row
    if not kernels:
        return ""
    head = f"{paper}, {form}: "
    return (f'<div class="plots" data-form="{escape(form)}">' +
            factor_plot("Registers by factor", head + "registers by factor", "registers a thread", "registers", kernels,
                        False) +
            factor_plot("Thread instructions executed, as a part of the original's",
                        head + "instructions executed", "after / before", "thread_instructions", kernels, True) +
            factor_plot("Sectors loaded from global memory, as a part of the original's",
                        head + "sectors loaded", "after / before", "load_sectors", kernels, True) +
            factor_plot("Predicted speedup", head + "predicted speedup", "time before / after", "speedup", kernels,
                        False) +
            spill_plot(paper, form, kernels) + "</div>")


def speedup_plot(paper, gpu):
    groups = {}
    for row in gpu["rows"]:
        if paper in row["papers"]:
            groups.setdefault((row["kernel"], row["launch"]), {})[row["options"]] = row.get("speedup_cold")
    groups = [(os.path.basename(launch).removesuffix(".launch.json"), [own.get(name) for name, _, _ in FACTORS[1:]])
              for (_, launch), own in sorted(groups.items())]
    if not any_known(groups):
        return ""
    device, series = gpu["device"]["name"], [(name, style) for _, name, style in FACTORS[1:]]
    plot = charts.bars(f"{paper}: speedup on {device}", "time before / after", groups, series, mark=1)
    return f'<div class="plots">{figure(f"Speedup on {device}, cold cache", plot)}</div>'


def changes_section(comparison):
    if not comparison:
        return ""
    if comparison["title"] != comparison["accepted"]:
        return (f"<p>The accepted figures are those of {escape(comparison['accepted'] or 'no assembler')}; these "
                f"are of {escape(comparison['title'])}, so most are not compared.</p>")
    out = []
    for word, label in (("worse", "Worse than accepted"), ("better", "Better than accepted")):
        changes = comparison[word]
        if changes:
            out.append(f'<details{" open" if word == "worse" else ""}><summary class="{word}">{label}: {len(changes)} '
                       f'rows</summary><div class="inside"><ul>')
            out += [f"<li><code>{escape(' '.join(key))}</code>: {escape(text)}</li>" for key, text in changes]
            out.append("</ul></div></details>")
    return "".join(out) or "<p>No figure is worse or better than the accepted ones.</p>"


def refusals_section(rows):
    reasons = {}
    for row in rows:
        if row["outcome"] in ("refused", "failed"):
            reasons.setdefault((row["outcome"], row["reason"]), []).append(row)
    made = []
    for (outcome, reason), own in sorted(reasons.items(), key=lambda item: -len(item[1])):
        names = ", ".join(sorted({row["kernel"] for row in own}))
        made.append(({}, [(outcome, None, outcome), str(len(own)), (names, None, "reason"), (reason, None, "reason")]))
    if not made:
        return "<p>Nothing was refused.</p>"
    columns = [("outcome", "", False), ("rows", "", True), ("kernels", "", False), ("reason", "", False)]
    return '<div class="wide" tabindex="0">' + sortable("refusals", columns, made) + "</div>"


def times_section(rows):
    """The kernels predicted to become faster and slower, the largest changes first."""
    out = []
    predicted = [row for row in rows if row.get("speedup") and row["outcome"] == "done"]
    for title, own, style in (
            ("Losses", sorted((row for row in predicted if row["speedup"] < LOSS), key=lambda row: row["speedup"]),
             "worse"),
            ("Wins", sorted((row for row in predicted if row["speedup"] >= 1.03), key=lambda row: -row["speedup"]), "")):
        columns = [("kernel", "", False), ("PTX", "", False), ("options", "", False), ("form", "", False),
                   ("predicted", "time before / after", True), ("verdict", "", False),
                   ("limited by, afterwards", "", False)]
        made = [({}, [row["kernel"], row["ptx"], row["options"],
                      " ".join(str(row[key]) for key in ("factor", "stride") if row.get(key)),
                      (cell_text(row["speedup"]), row["speedup"], style), (row["verdict"], None, "reason"),
                      row["binding"]]) for row in own]
        out.append(f'<details><summary class="{style}">{title}: {len(own)} of {len(predicted)} changed rows</summary>'
                   f'<div class="inside"><div class="wide" tabindex="0">{sortable(title.lower(), columns, made)}</div>'
                   "</div></details>")
    return "".join(out)


def kernels_section(rows, texts):
    """One fold for each kernel; fills 'texts' with what page.js lays out."""
    kernels = {}
    for row in rows:
        kernels.setdefault(row["kernel"], []).append(row)
    out = []
    for name, own in sorted(kernels.items()):
        forms = sorted({row["ptx"] for row in own}, key=form_order)
        form = "sm_90" if "sm_90" in forms else forms[-1]
        shown = [row for row in own if row["ptx"] == form]
        base = next((row for row in shown if row["options"] == "none"), shown[0])
        lines = kernel_lines(base["source"], name)
        outputs = {row["options"]: difference_steps(lines, kernel_lines(row["output"], name)) for row in shown
                   if row["outcome"] == "done" and row["options"] not in NOT_BESIDE}
        texts[name] = {"input": lines, "outputs": outputs}
        plain = (f"{cell_text(base.get('registers'))} registers, {cell_text(base.get('instructions'))} instructions "
                 "original")
        out.append(f'<details id="kernel-{escape(name)}"><summary><code>{escape(name)}</code> <span class="soft">'
                   f'{escape(", ".join(base["papers"]))}; {escape(form)}; {plain}</span></summary>')
        columns = [column for column in COLUMNS if column[0] not in ("kernel", "ptx")]
        table = [({}, [(cell_text(row.get(key)), cell_text(row.get(key)) if numeric else None,
                        style_of(row, key))
                       for key, _, _, numeric in columns]) for row in shown]
        out.append(f'<div class="inside"><div class="wide" tabindex="0">'
                   f'{sortable("of-" + name, [column[1:] for column in columns], table)}</div>')
        for options, steps in outputs.items():
            changed = sum(step[0] + len(step[1]) for step in steps if not isinstance(step, int))
            out.append(f'<details data-kernel="{escape(name)}" data-options="{escape(options)}"><summary>'
                       f'<code>{escape(options)}</code> <span class="soft">{changed} lines differ</span></summary>'
                       '<div class="side wide" tabindex="0"></div></details>')
        out.append("</div></details>")
    return "".join(out)


def tiles(rows):
    counts = [(len({row["kernel"] for row in rows}), "kernels"), (len({row["ptx"] for row in rows}), "forms of PTX"),
              (len(rows), "rows")]
    counts += [(sum(row["outcome"] == word for row in rows), text) for word, text in
               (("done", "changed"), ("unchanged", "as they came"), ("refused", "refused"), ("failed", "failed"))]
    verified = sum(row.get("verified") == "equal" for row in rows)
    counts.append((verified, "equal in the emulator"))
    return "<ul class=tiles>" + "".join(f"<li><b>{count}</b>{text}</li>" for count, text in counts) + "</ul>"


def means_table(rows):
    base = summary.baselines(rows)
    names = (("registers", "registers", 0), ("instructions", "instructions", 0), ("occupancy", "occupancy", 0),
             ("thread_instructions", "executed", 0), ("load_sectors", "sectors loaded", 0))
    made = []
    for options in OPTION_SETS:
        own = [row for row in rows if row["options"] == options.name]
        done = [row for row in own if row["outcome"] == "done"]
        if not own:
            continue
        cells = [options.name] + [str(sum(row["outcome"] == word for row in own))
                                  for word in ("done", "unchanged", "refused", "failed")]
        for name, _, offset in names:
            ratios = [summary.ratio(row, base.get((row["kernel"], row["ptx"])), name, offset) for row in done]
            cells.append(summary.ratio_text(summary.geometric_mean([one for one in ratios if one is not None])))
        speedups = [row["speedup"] for row in done if row.get("speedup")]
        cells += [summary.ratio_text(summary.geometric_mean(speedups)), str(sum(one < LOSS for one in speedups))]
        made.append(({}, cells))
    columns = [("options", "", False)]
    columns += [(title, "rows", True) for title in ("changed", "original", "refused", "failed")]
    columns += [(title, "after / before", True) for _, title, _ in names]
    columns += [("predicted", "time before / after", True), ("losses", "rows", True)]
    return '<div class="wide" tabindex="0">' + sortable("means", columns, made) + "</div>"


def read_part(name):
    with open(os.path.join(HERE, name), encoding="utf-8") as file:
        return file.read()


def make_page(table, gpu):
    rows = table["rows"]
    assembler = f"{table['assembler']['name']} {table['assembler']['version']}".strip()
    forms = sorted({row["ptx"] for row in rows}, key=form_order)
    first = "sm_90" if "sm_90" in forms else forms[0] if forms else ""
    plain = [form for form in forms if form == architecture(form)]
    texts = {}
    kernels = kernels_section(rows, texts)
    papers = []
    for paper in paper_names(rows):
        plots = "".join(plots_of(paper, form, rows) for form in plain or forms)
        papers.append(f'<h2 id="{escape(re.sub(r"[^A-Za-z0-9]", "", paper))}">{escape(paper)}</h2>{plots}'
                      f"{speedup_plot(paper, gpu) if gpu else ''}")
    arch_options = "".join(f'<option{" selected" if form == first else ""}>{escape(form)}</option>' for form in plain)
    gpu_note = f"<p>On {escape(gpu['device']['name'])}: {escape(gpu['timed'])}</p>" if gpu else ""
    data = json.dumps(texts, separators=(",", ":")).replace("</", "<\\/")
    return f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>ptxopt: the corpus</title>
<style>
{read_part("page.css")}</style>
</head>
<body>
<main>
<h1>ptxopt on its corpus</h1>
<p class="soft">Figures of {escape(assembler)}; counters and comparisons by ptxopt's emulator. Made in
{table['seconds']:.0f} seconds by <code>{escape(table['command_line'])}</code>.</p>
<nav><a href="#summary">Summary</a> <a href="#plots">Plots</a> <a href="#refused">Refusals</a>
<a href="#rows">All rows</a> <a href="#kernels">Kernels, side by side</a></nav>
<noscript><p class="failed">Sorting, filters and the side-by-side views need JavaScript.</p></noscript>
<h2 id="summary">Summary</h2>
{tiles(rows)}
{changes_section(table.get("comparison"))}
<p>Geometric means over the rows that were changed, each relative to the same kernel's original.</p>
{means_table(rows)}
<p>Predicted times (docs/time.md), of all option sets:</p>
{times_section(rows)}
{gpu_note}
<h2 id="plots">Plots for each paper</h2>
<p>Each bar is a kernel at one coarsening factor (block stride); × if there is no such form. A kernel is listed under
every paper whose benchmark it is; docs/corpus.md has what they reported.</p>
<div class="controls"><label>PTX for <select id="architecture">{arch_options}</select></label></div>
{"".join(papers)}
<h2 id="refused">Refusals</h2>
{refusals_section(rows)}
<h2 id="rows">All rows</h2>
<form class="controls" id="filters">
<label>Kernel or paper <input name="text" type="search" size="18"></label>
{choices("ptx", "PTX", forms)}
{choices("options", "Options", [one.name for one in OPTION_SETS if any(row["options"] == one.name for row in rows)])}
{choices("outcome", "Outcome", sorted({row["outcome"] for row in rows}))}
<output id="count" class="soft"></output>
</form>
<div class="wide tall" tabindex="0">
{all_rows_table(rows)}
</div>
<h2 id="kernels">Kernels</h2>
<p>The kernel's own text before and after, comments and layout left out, for {escape(first)} where there is such
PTX.</p>
{kernels}
</main>
<script type="application/json" id="texts">{data}</script>
<script>
{read_part("page.js")}</script>
</body>
</html>
"""
