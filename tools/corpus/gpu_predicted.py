"""Predicted next to measured times: `ptxopt cost` for every form that ran on a GPU, and how well the two agree."""
import concurrent.futures
import json
import os

from agreement import agreement
from measure import call

AGREEMENT_HEAD = ["kernel", "launch", "chosen by prediction", "rho", "measured speedup", "regret"]


def predict(program, assembler, arch, row):
    """The predicted cost of a form that ran, as `ptxopt cost` prints it, or None."""
    launch, *options = row["counted"]
    command = [program, "cost", "-q", "-report-format", "json", "-arch", arch, "-assembler", assembler.kind, *options]
    if assembler.kind == "none":
        command += ["-registers", str(row["registers"])] if row.get("registers") else []
    done = call(command + [row["path"], launch])
    try:
        return json.loads(done.output)["cost"]
    except (ValueError, KeyError):
        return None


def add_predictions(rows, program, assembler, arch):
    """Sets "predicted" (microseconds) and "uneven" of what ran."""
    ran = [row for row in rows if row["state"] == "right"]
    with concurrent.futures.ThreadPoolExecutor(max_workers=os.cpu_count() or 1) as pool:
        costs = pool.map(lambda row: predict(program, assembler, arch, row), ran)
        for row, cost in zip(ran, costs):
            if cost and cost.get("microseconds"):
                row["predicted"], row["uneven"] = cost["microseconds"] * row["scale"], cost["uneven"]


def agreements(rows):
    """{(kernel, launch): Agreement} of predicted with cold times, where the original and two more forms have both."""
    found = {}
    for row in rows:
        if row.get("predicted") and row.get("cold"):
            found.setdefault((row["kernel"], row["launch"]), []).append(row)
    return {key: agreement([row["predicted"] for row in own], [row["cold"] for row in own], 0, own[0]["uneven"])
            for key, own in found.items() if len(own) > 2 and own[0]["options"] == "none"}


def agreement_rows(rows):
    table = []
    for (kernel, launch), result in agreements(rows).items():
        own = [row for row in rows if (row["kernel"], row["launch"]) == (kernel, launch) and row.get("predicted") and
               row.get("cold")]
        table.append([kernel, os.path.basename(launch).removesuffix(".launch.json"), own[result.chosen]["options"],
                      f"{result.rho:.2f}", f"{result.speedup:.3f}", f"{result.regret:.3f}"])
    return table
