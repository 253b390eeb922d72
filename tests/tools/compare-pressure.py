#!/usr/bin/env python3
"""tests/tools/compare-pressure.py PTX...

Compares the picture of the PTX (`ptxopt view -ptx`) with the pressure that reports print, for every kernel of the files:
the peak and its line; and the columns that hold values with the number of live registers, at each instruction. Prints the number of kernels, or the first difference, as the first line.

In the environment: PTXOPT.
"""
import json
import os
import re
import subprocess
import sys

PTXOPT = os.environ["PTXOPT"]
ROW = re.compile(r"^ *(\d+) +(\d+)([ <-])  (.*)$", re.M)


def run(*arguments):
    return subprocess.run([PTXOPT, *arguments], text=True, check=True, stdout=subprocess.PIPE).stdout


def compare(file, kernel, estimate):
    text = run("view", "-q", "-ptx", "-entry", kernel, file).split("\n^ written", 1)[1]
    rows = [(int(line), int(live), mark, states) for line, live, mark, states in ROW.findall(text)]
    heads = re.search(r"^ +([0-9]+)(  P)?$\n(?= *\d+ +\d+[ <-]  )", text, re.M)
    columns = len(heads.group(1)) if heads else 0
    most = max(live for _, live, _, _ in rows)
    lines = [line for line, live, _, _ in rows if live == most]
    if most != estimate["peak"]:
        yield f"{kernel}: {most} live at the peak, the report has {estimate['peak']}"
    elif estimate["line"] not in lines or [live for _, live, mark, _ in rows if mark == "<"] != [most]:
        yield f"{kernel}: the peak is on one of the lines {lines}, the report has {estimate['line']}"
    for line, live, _, states in rows:
        states = states[:columns].rstrip()
        kept = sum(state in ":^" for state in states)
        if kept > live or (set(states) <= {":", " "} and kept != live):
            yield f"{kernel}: on line {line}, {kept} columns hold values, but {live} registers are live"


problems, kernels = [], 0
for file in sys.argv[1:]:
    report = json.loads(run("-q", "-assembler", "none", "-report-format", "json", "-report", "-", "-o", "/dev/null", file))
    for kernel in report["kernels"]:
        if kernel["estimate"] and kernel["estimate"]["before"]:
            problems += compare(file, kernel["kernel"], kernel["estimate"]["before"])
            kernels += 1
print(problems[0] if problems else f"{kernels} kernels")
print(*problems[1:20], sep="\n")
sys.exit(bool(problems) or not kernels)
