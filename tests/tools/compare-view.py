#!/usr/bin/env python3
"""tests/tools/compare-view.py [--cubins] ARCH FOLDER PTX...

Compares the picture of `ptxopt view` with the life ranges that nvdisasm prints in wide columns: each state of each
register and predicate, general and uniform, and the number of live registers, for every kernel of the files. The text and the page
must agree, too, and the registers that are allocated must be those that ptxas tells. With --cubins, cubins are shown,
which is faster; otherwise PTX. Prints a line for each difference, at the end the number of instructions, or the first
difference, as the first line.

In the environment: PTXOPT, PTXAS, NVDISASM.
"""
import json
import os
import re
import subprocess
import sys

CUBINS = sys.argv[1] == "--cubins"
ARCH, FOLDER, *SOURCES = sys.argv[1 + CUBINS:]
FILES = ["GPR", "PRED", "UGPR", "UPRED"]
HEADS = ["", "P", "U", "UP"]  # of their columns in the text
PTXOPT = os.environ["PTXOPT"]
INSTRUCTION = re.compile(r"^\s+/\*([0-9a-f]{4,})\*/")


def cells(rows, text):
    """The registers of one group: rows is its heading, whose last line has a number for each register."""
    return {int(match.group()): text[match.end() - 1] if match.end() <= len(text) else " "
            for match in re.finditer(r"\d+", rows)}


def reference(cubin, kernel):
    """By address: the live registers, and the states of the registers by file and number."""
    printed = subprocess.run([os.environ["NVDISASM"], "-c", "-lrm", "wide", cubin], text=True, check=True,
                             stdout=subprocess.PIPE).stdout
    inside, names, heading, found = False, None, None, {}
    for line in printed.splitlines():
        if line.startswith("\t.section\t"):
            inside = line.split("\t")[2].split(",")[0] == ".text." + kernel
        if not inside or "// |" not in line:
            continue
        groups = line.split("// |", 1)[1].split("|")
        if "#" in groups[0]:
            heading = [(FILES.index(name.strip()), group.replace("#", " ", 1))
                       for name, group in zip(names, groups) if name.strip()]
        names = groups
        match = INSTRUCTION.match(line)
        if match and heading:
            count = re.match(r"\s*(\d*)", groups[0]).group(1)
            found[int(match.group(1), 16)] = (int(count or 0), {file: cells(numbers, group) for (file, numbers), group
                                                                in zip(heading, groups)})
    return found


def view_text(source, kernel):
    return subprocess.run([PTXOPT, "view", "-q", "-entry", kernel, source], text=True, check=True,
                          stdout=subprocess.PIPE).stdout


def view_page(source, kernel):
    page = os.path.join(FOLDER, "page.html")
    subprocess.run([PTXOPT, "view", "-q", "-entry", kernel, "-o", page, source], check=True)
    data = re.search(r'<script type="application/json" id="data">(.*?)</script>', open(page).read(), re.S).group(1)
    return json.loads(data)["sides"][0]


def files_of(general, others, counts):
    """The states of each file, by the page's two strings, where a number after a state repeats it."""
    general, others = (re.sub(r"(\D)(\d+)", lambda run: run.group(1) * int(run.group(2)), states)
                       for states in (general, others))
    files, begin = [general.ljust(counts[0])], 0
    for count in counts[1:]:
        files.append(others[begin:begin + count].ljust(count))
        begin += count
    return files


def drawn_files(row, counts):
    """The states of each file, as the text has them: two blanks are between files."""
    files, begin = [], 0
    for count, head in zip(counts, HEADS):
        files.append(row[begin:begin + count].ljust(count))
        begin += max(count, len(head)) + 2 if count else 0
    return files


def compare(source, cubin, kernel, allocated):
    expected, compared = reference(cubin, kernel), 0
    side = view_page(source, kernel)
    if side["gap"]["allocated"] != allocated:
        yield f"{kernel}: {side['gap']['allocated']} registers, ptxas has {allocated}"
    text = {}
    for match in re.finditer(r"^ *([0-9a-f]+) +(\d+)[ <-]  (.*)$", view_text(source, kernel), re.M):
        text.setdefault(int(match.group(1), 16), (int(match.group(2)), match.group(3)))
    counts = side["registers"]
    seen = set()
    for address, live, general, others, *_ in side["rows"]:
        if address in seen or address not in expected:
            continue  # a function that the kernel calls has addresses of its own
        seen.add(address)
        count, files = expected[address]
        shown, drawn = files_of(general, others, counts), drawn_files(text[address][1], counts)
        for file, states in files.items():
            for register, state in states.items():
                state = state if state in ":^vx" else " "  # nvdisasm also lists registers of other kernels
                here = shown[file][register:register + 1] or " "
                if state != here:
                    yield f"{kernel} {address:x}: {FILES[file]} {register} is '{here}', nvdisasm has '{state}'"
        if count != live or text[address][0] != live:
            yield f"{kernel} {address:x}: {live} and {text[address][0]} live, nvdisasm has {count}"
        if shown != drawn:
            yield f"{kernel} {address:x}: the text has {drawn}, the page {shown}"
        compared += 1
        compared_states[0] += sum(counts)
    if compared < len(expected) * 0.9:
        yield f"{kernel}: {compared} of {len(expected)} instructions were compared"
    totals.append(compared)


totals, problems, compared_states = [], [], [0]
for source in SOURCES:
    copy, cubin = os.path.join(FOLDER, "view.ptx"), os.path.join(FOLDER, "view.cubin")
    ptx = re.sub(r"^\.target .*$", ".target " + ARCH, open(source).read(), flags=re.M)
    with open(copy, "w") as out:
        out.write(ptx)
    ptxas = subprocess.run([os.environ["PTXAS"], "-arch=" + ARCH, "-v", "-o", cubin, copy], text=True,
                           stderr=subprocess.PIPE)
    if ptxas.returncode:
        continue
    used = dict(re.findall(r"Compiling entry function '([^']+)'.*?Used (\d+) registers", ptxas.stderr, re.S))
    for kernel in re.findall(r"\.entry\s+([\w$]+)", ptx):
        problems += compare(cubin if CUBINS else copy, cubin, kernel, int(used[kernel]))
print(problems[0] if problems else f"{sum(totals)} instructions of {len(totals)} kernels, "
      f"{compared_states[0]} states")
print(*problems[1:20], sep="\n")
sys.exit(bool(problems) or not totals)
