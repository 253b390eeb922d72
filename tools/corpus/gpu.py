"""The corpus on a GPU: every kernel and what ptxopt makes of it, checked against the plain C references and timed.

The program build/gpu-run does one launch file at a time; it needs a CUDA driver and nothing else. Outputs are made for
the GPU that is there, first all of them, so that nothing else runs while kernels are timed."""
import concurrent.futures
import dataclasses
import fnmatch
import json
import os
import re
import shlex
import sys

import summary
from cut import predicted_launch
from agreement import summary_line
from gpu_predicted import AGREEMENT_HEAD, add_predictions, agreement_rows, agreements
from kernels import GPU_SETS, OPTION_SETS, PAPERS, OTHER_PAPER, UsageError, architecture, plain, triple
from measure import Assembler, Measurer, call, last_words
from progress import Progress

NO_GPU = 3  # exit status, of gpu-run and of corpus-run


class NoGpu(Exception):
    pass


def find_runner(root):
    path = os.path.join(root, os.environ.get("BUILD", "build"), "gpu-run")
    if not os.access(path, os.X_OK):
        raise UsageError(f"no program {os.path.relpath(path)}: `make gpu-run` builds it")
    return path


def find_device(runner, ordinal):
    done = call([runner, "--device", str(ordinal), "--device-info"])
    if done.status == NO_GPU:
        raise NoGpu(done.errors.strip().removeprefix("gpu-run: "))
    if done.status != 0:
        raise UsageError(f"gpu-run --device-info: {done.problem or last_words(done.errors)}")
    return json.loads(done.output)


def best_form(kernel, number, patterns):
    """The plain PTX for the newest architecture that the device runs."""
    fitting = [form for form in kernel.ptx if form == architecture(form) and form[3:].isdigit() and
               int(form[3:]) <= number and (not patterns or form in patterns)]
    return max(fitting, key=lambda form: int(form[3:]), default=None)


def launches_of(kernel, root, small, folder, multiprocessors):
    """The kernel once for each launch file that counts here: the large ones, or the small ones where these are asked for
    or there are no others."""
    found = []
    for path in not small and kernel.large or kernel.launches:
        with open(os.path.join(root, path), encoding="utf-8") as file:
            launch = json.load(file)
        part, options, scale = predicted_launch(os.path.join(root, path), folder, root, multiprocessors)
        found.append(dataclasses.replace(kernel, launches=[path], block=triple(launch.get("block", ())),
                                         grid=triple(launch.get("grid", ())), counted=(part, *options),
                                         scale=scale))
    return found


def option_sets(wanted, patterns):
    """Those of the table that are wanted, and those for GPUs that the patterns name."""
    more = [one for one in GPU_SETS
            if not patterns or any(fnmatch.fnmatchcase(plain(one.name), plain(text)) for text in patterns)]
    return [one for one in OPTION_SETS if one.words and one.name in wanted] + more


def open_assembler(program, word, arch):
    for one in [word] if word else ["driver", "ptxas", "nvjitlink"]:
        assembler = Assembler(program, one, arch)
        if not assembler.missing:
            return assembler
    if word:
        raise UsageError(f"--assembler {word}: {assembler.missing}")
    return Assembler(program, "none")


def run_launch(runner, references, kernel, form, root, made, environment_options):
    """The rows of one launch file: one for the input, one for each output that is another kernel."""
    rows = []
    base = {"kernel": kernel.name, "papers": list(kernel.papers), "ptx": form, "launch": kernel.launches[0],
            "counted": list(kernel.counted), "scale": kernel.scale}
    changed = []
    for row in made:
        if row["outcome"] in ("failed", "refused"):
            rows.append({**base, "options": row["options"], "state": row["outcome"], "note": row["reason"]})
        elif row["outcome"] == "done":
            changed.append(row)
    command = [runner, *environment_options]
    if os.path.exists(references):
        command += ["--references", references]
    command += [os.path.join(root, kernel.launches[0]), os.path.join(root, kernel.ptx[form])]
    done = call(command + [row["output"] for row in changed])
    try:
        result = json.loads(done.output)
    except ValueError:
        note = done.problem or last_words(done.errors)
        return [{**base, "options": "none", "state": "failed", "note": note}] + rows, None
    paths = [os.path.join(root, kernel.ptx[form])] + [row["output"] for row in changed]
    names = ["none"] + [row["options"] for row in changed]
    for form_result, options, path in zip(result["forms"], names, paths):
        note = form_result["problem"] or form_result["difference"] or ""
        times = {name: (form_result[name + "_us"] or {}).get("median") for name in ("cold", "warm")}
        rows.append({**base, "options": options, "state": "failed" if note else "right", "note": note,
                     "path": path, "reference": result["reference"], "rounds": result["rounds"], "result": form_result,
                     "registers": form_result.get("registers"), **times})
    first = next(row for row in rows if row["options"] == "none")
    for row in rows:
        for name in ("cold", "warm"):
            if first.get(name) and row.get(name):
                row["speedup_" + name] = first[name] / row[name]
    order = [one.name for one in (*OPTION_SETS, *GPU_SETS)]
    rows.sort(key=lambda row: order.index(row["options"]))
    return rows, result


def time_text(value):
    return "" if value is None else f"{value:.2f}" if value < 100 else f"{value:.0f}"


def ratio_text(value):
    return "" if value is None else f"{value:.2f}"


HEAD = ["kernel", "launch", "options", "registers", "cold us", "predicted us", "warm us", "cold speedup",
        "warm speedup", "result"]


def table_rows(rows):
    table = []
    for row in rows:
        launch = os.path.basename(row["launch"]).removesuffix(".launch.json")
        table.append([row["kernel"], launch, row["options"], row.get("registers", ""), time_text(row.get("cold")),
                      time_text(row.get("predicted")), time_text(row.get("warm")), ratio_text(row.get("speedup_cold")),
                      ratio_text(row.get("speedup_warm")), row["state"] + (": " + row["note"] if row["note"] else "")])
    return table


def paper_means(rows):
    """[paper, options, kernels, cold, warm]: geometric means of the speedups."""
    table = []
    for paper in [name for name, _ in PAPERS] + [OTHER_PAPER, "all"]:
        own = [row for row in rows if paper == "all" or paper in row["papers"]]
        best = {}
        for options in (*OPTION_SETS[1:], *GPU_SETS):
            timed = [row for row in own if row["options"] == options.name and row["state"] == "right" and
                     row.get("speedup_cold")]
            if timed:
                table.append([paper, options.name, len(timed)] +
                             [ratio_text(summary.geometric_mean([row["speedup_" + name] for row in timed]))
                              for name in ("cold", "warm")])
            for row in timed:
                place = best.setdefault((row["kernel"], row["launch"]), {"cold": 1.0, "warm": 1.0})
                for name in place:
                    place[name] = max(place[name], row["speedup_" + name])
        if best:
            table.append([paper, "the best for each kernel, or the original", len(best)] +
                         [ratio_text(summary.geometric_mean([place[name] for place in best.values()]))
                          for name in ("cold", "warm")])
    return table


def how_it_was_timed(results, device):
    flushed = next((result["flushed_bytes"] for result in results if result), 0)
    rounds = sorted({result["rounds"] for result in results if result}) or [0]
    count = str(rounds[0]) if len(rounds) == 1 else f"{rounds[0]} to {rounds[-1]}"
    return (f"Medians of {count} rounds; in a round, the original kernel "
            "and each changed form take turns, timed by events on the device. "
            f"cold: {flushed >> 20} MiB are written and read first, the L2 cache has {device['cache_bytes'] >> 20} MiB. "
            "warm: right after a launch of the same form, or, where a kernel changes what it reads, after its buffers "
            "were written again. speedup: original time / changed time.")


def markdown(device, assembler, command, rows, results):
    lines = [f"# The corpus on {device['name']}", "",
             f"{device['name']} ({device['arch']}, {device['multiprocessors']} multiprocessors), CUDA driver "
             f"{device['driver']}; outputs judged by {assembler.title}. Made by `{command}`.", "",
             how_it_was_timed(results, device), "",
             "Geometric means of the speedups:", "",
             "| paper | options | kernels | cold | warm |",
             "|---|---|---|---|---|"]
    lines += ["| " + " | ".join(str(cell) for cell in row) + " |" for row in paper_means(rows)]
    found = agreement_rows(rows)
    if found:
        lines += ["", "Predicted times (docs/time.md) against cold times; regret is the time of the form chosen by "
                  "prediction over that of the fastest:", "", "| " + " | ".join(AGREEMENT_HEAD) + " |",
                  "|---" * len(AGREEMENT_HEAD) + "|"]
        lines += ["| " + " | ".join(row) + " |" for row in found]
        lines += ["", summary_line(list(agreements(rows).values()))]
    lines += ["", "Every launch:", "", "| " + " | ".join(HEAD) + " |", "|" + "---|" * len(HEAD)]
    lines += ["| " + " | ".join(str(cell).replace("|", "\\|") for cell in row) + " |" for row in table_rows(rows)]
    return "\n".join(lines) + "\n"


def run(program, root, arguments, kernels, jobs, folder):
    """The whole of --gpu. The exit status."""
    runner = find_runner(root)
    device = find_device(runner, arguments.device)
    assembler = open_assembler(program, arguments.assembler, device["arch"])
    print(f"{device['name']}, {device['arch']}, driver {device['driver']}; outputs judged by {assembler.title}")
    references = os.path.join(root, os.environ.get("BUILD", "build"), "corpus-references.so")
    if not os.path.exists(references):
        print(f"no {os.path.relpath(references)} (`make gpu-run` builds it): outputs are compared with inputs only")
    chosen = {(job[0].folder, job[0].name) for job in jobs}
    wanted = {job[2].name for job in jobs}
    number = int(re.sub(r"\D", "", device["arch"]))
    measurer = Measurer(program, root, assembler, os.path.join(folder, "gpu"), arguments.extra.split(), verify=False,
                        arch=device["arch"] if assembler.kind != "none" else None)
    work, none = [], []
    for kernel in kernels:
        if (kernel.folder, kernel.name) not in chosen:
            continue
        form = best_form(kernel, number, arguments.arch)
        if not form:
            none.append(kernel.name)
            continue
        work += [(one, form) for one in launches_of(kernel, root, arguments.small, measurer.folder,
                                                    device["multiprocessors"])]
    sets = [one for one in option_sets(wanted, arguments.options) if assembler.kind != "none" or not one.judged]
    tasks = [(kernel, form, options) for kernel, form in work for options in sets
             if not options.only_2d or kernel.block[1] > 1]
    made = {}
    progress = Progress("making", len(tasks))
    with concurrent.futures.ThreadPoolExecutor(max_workers=arguments.jobs or os.cpu_count() or 1) as pool:
        waiting = {pool.submit(measurer.row, *task, os.path.basename(task[0].launches[0])): task for task in tasks}
        for future in concurrent.futures.as_completed(waiting):
            task = waiting[future]
            made.setdefault(task[0].launches[0], []).append(future.result())
            progress.step(task[0].name)
    progress.end()
    rows, results = [], []
    progress = Progress("timing", len(work))
    for kernel, form in work:
        usable = [row for row in made.get(kernel.launches[0], []) if row["outcome"] != "unavailable"]
        found, result = run_launch(runner, references, kernel, form, root, usable,
                                   ["--device", str(arguments.device), "--repeat", str(arguments.repeat)])
        rows += found
        results.append(result)
        progress.step(kernel.name)
    progress.end()
    add_predictions(rows, program, assembler, device["arch"])
    print()
    summary.print_table(HEAD, table_rows(rows), left=3, last_left=True)
    print("\nGeometric means of the speedups")
    summary.print_table(["paper", "options", "kernels", "cold", "warm"], paper_means(rows), left=2)
    if agreements(rows):
        print("\nPredicted against cold times")
        summary.print_table(AGREEMENT_HEAD, agreement_rows(rows), left=3)
        print(summary_line(list(agreements(rows).values())))
    print("\n" + how_it_was_timed(results, device))
    if none:
        print(f"no PTX that this device runs: {', '.join(none)}")
    command = shlex.join(["tools/corpus-run", *sys.argv[1:]])
    with open(os.path.join(folder, "gpu.json"), "w", encoding="utf-8") as file:
        json.dump({"format": "ptxopt-corpus-gpu", "version": 1, "device": device, "assembler": assembler.title,
                   "command": command, "timed": how_it_was_timed(results, device), "rows": rows}, file, indent=1)
    slug = re.sub(r"[^a-z0-9]+", "-", device["name"].lower()).strip("-")
    path = os.path.join(root, "docs", "results") if arguments.keep else folder
    os.makedirs(path, exist_ok=True)
    path = os.path.join(path, f"gpu-{slug}.md")
    with open(path, "w", encoding="utf-8") as file:
        file.write(markdown(device, assembler, command, rows, results))
    print(f"tables in {os.path.relpath(path)} and {os.path.relpath(folder)}/gpu.json")
    failed = [row for row in rows if row["state"] == "failed"]
    if failed:
        print(f"\nFAILED: {len(failed)} of {len(rows)}")
    return 1 if failed else 0
