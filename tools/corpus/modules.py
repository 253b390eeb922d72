"""Kernels to measure registers with: those of the corpus, and modules compiled from folders of bench/, each in a file of
its own."""
import glob
import os
import re
import shutil
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
SOURCES = {"sm_75": "sm_75", "sm_86": "sm_75", "sm_90": "sm_90"}
# The architectures that sources are compiled for: the first that accepts them.
VIRTUAL = {"sm_75": ["compute_75"], "sm_86": ["compute_75", "compute_86"], "sm_90": ["compute_90"]}
ENTRY = re.compile(r"^(?:\.visible |\.weak )?\.entry\s+([\w$.]+)", re.M)
PARAMETERS = re.compile(r"\.entry\s+[\w$.]+\s*(?:\([^)]*\))?")


def body_end(text, start):
    depth = 0
    for at in range(text.index("{", start), len(text)):
        depth += {"{": 1, "}": -1}.get(text[at], 0)
        if not depth:
            return at + 1
    raise ValueError("an entry does not end")


def split(path, folder):
    """Writes a file for each kernel of a module; their paths and names."""
    text = open(path, encoding="utf-8").read()
    spans = [(match.start(), body_end(text, match.end()), match.group(1)) for match in ENTRY.finditer(text)]
    os.makedirs(folder, exist_ok=True)
    stem, found = os.path.basename(path).split(".")[0], []
    for number, (_, _, name) in enumerate(spans):
        one = os.path.join(folder, f"{stem}.{number:02}.ptx")
        pieces, at = [], 0
        for begin, end, other in spans:
            pieces += [text[at:begin], text[begin:end] if other == name else ""]
            at = end
        with open(one, "w", encoding="utf-8") as file:
            file.write("".join(pieces) + text[at:])
        found.append((one, name))
    return found


def corpus(arch):
    """The PTX of the corpus for the architecture."""
    return sorted(glob.glob(os.path.join(ROOT, "corpus", "*", f"*.{SOURCES[arch]}.ptx")))


def capped(text, cap):
    """The text of one kernel, under the cap."""
    return PARAMETERS.sub(lambda match: match.group(0) + f"\n.maxnreg {cap}\n", text, count=1)


def compile_source(source, virtual):
    """The source's PTX for the virtual architecture; None if it cannot have it."""
    folder = os.path.join(ROOT, "build", "boundaries", virtual)
    ptx = os.path.join(folder, os.path.basename(source)[:-3] + ".ptx")
    if os.path.exists(ptx) and os.path.getmtime(ptx) >= os.path.getmtime(source):
        return ptx
    os.makedirs(folder, exist_ok=True)
    nvcc = os.environ.get("NVCC") or shutil.which("nvcc") or "/usr/local/cuda/bin/nvcc"
    words = [nvcc, "-std=c++17", "--extended-lambda", "-w", "-O3", "-arch=" + virtual, "-ptx", source, "-o", ptx]
    return None if subprocess.run(words, capture_output=True, check=False).returncode else ptx


def compiled(arch, folders=("instances", "modules")):
    """The PTX of these folders of bench/; sources that the architecture cannot have are left out."""
    found = []
    for source in sorted(sum((glob.glob(os.path.join(ROOT, "bench", folder, "*.cu")) for folder in folders), [])):
        ptx = next(filter(None, (compile_source(source, virtual) for virtual in VIRTUAL[arch])), None)
        if ptx:
            found.append(ptx)
        else:
            print(f"{source} does not compile for {arch}", file=sys.stderr)
    return found


def spread(items, count):
    """This many of the items, evenly spread."""
    return items if len(items) <= count else [items[at * len(items) // count] for at in range(count)]
