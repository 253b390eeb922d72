#!/usr/bin/env bash
# Runs the commands of README.md and of the documents in docs/: those of each block marked `console`, in a folder that
# looks like the repository's root. Their output is compared with the document, apart from blanks; a line of three dots
# matches any lines. If the assembler is not the one that a document's figures come from, its name and all numbers are
# not compared. A block marked `console assembler` is skipped if there is no assembler, and one marked `console PROGRAM`
# if that program is missing.
set -uo pipefail

folder="${TEST_TMP:?}/readme"
mkdir -p "$folder"
ln -sfn "$(realpath "${PTXOPT:?}")" "$folder/ptxopt"
for name in ptxopt-ptxas ptxopt-nvcc; do
    ln -sfn "$(dirname "$(realpath "$PTXOPT")")/$name" "$folder/$name"
done
PATH="$PATH:/usr/local/cuda/bin"
for name in corpus tests docs; do
    ln -sfn "$PWD/$name" "$folder/$name"
done
assembler=yes
kernel=corpus/vectoradd/vectoradd.sm_90.ptx
"$PTXOPT" -assembler auto -report - -o "$folder/probe.ptx" "$kernel" >"$folder/probe" 2>&1 || assembler=no

mapfile -t documents < <(grep -l '^```console' README.md docs/*.md)
ASSEMBLER="$assembler" python3 - "$folder" "${documents[@]}" <<'CHECK'
import os
import re
import shutil
import subprocess
import sys

folder, documents = sys.argv[1], sys.argv[2:]


named = re.compile(r"(?:nvJitLink|ptxas|CUDA driver) [0-9]+\.[0-9]+")
texts = {}
for document in documents:
    with open(document) as file:
        texts[document] = file.read()
with open(os.path.join(folder, "probe")) as file:
    names = named.findall(file.read())
exact = any(name in text for name in names for text in texts.values())


def masked(line):
    if not exact:
        line = re.sub(r"[0-9]+", "0", named.sub("ASSEMBLER", line))
    return re.sub(r"\s+", " ", line).strip()


def matches(wanted, got):
    """Whether the lines agree; '...' stands for any lines, none included."""
    reach = {0}
    for line in wanted:
        if line.strip() == "...":
            reach = set(range(min(reach), len(got) + 1)) if reach else set()
        else:
            reach = {at + 1 for at in reach if at < len(got) and masked(line) == masked(got[at])}
    return len(got) in reach


def blocks(text):
    for block in re.finditer(r"^```console(?: (\w+))?\n(.*?)^```$", text, re.M | re.S):
        yield block.group(1), block.group(2).splitlines()


def run(document, command, wanted):
    done = subprocess.run(["bash", "-c", command], cwd=folder, text=True, stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    got = done.stdout.splitlines()
    good = matches(wanted, got) and done.returncode == 0
    print(f"{'ok' if good else 'not ok'} {document}: {command}")
    if not good:
        print(f"exit status {done.returncode}", *got, sep="\n    ")
    return good


failed = 0
for document, text in texts.items():
    for needed, lines in blocks(text):
        steps = []
        for line in lines:
            if line.startswith("$ "):
                steps.append((line[2:], []))
            else:
                steps[-1][1].append(line)
        for command, wanted in steps:
            missing = os.environ["ASSEMBLER"] == "no" if needed == "assembler" else needed and not shutil.which(needed)
            if missing:
                print(f"skip {document}: {command}: no {needed}")
            elif not run(document, command, wanted):
                failed = 1
sys.exit(failed)
CHECK
