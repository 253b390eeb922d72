"""The inputs of a run: the kernels of corpus/, their PTX and launch files, and the options they are run with."""
import fnmatch
import glob
import json
import os
import re
from dataclasses import dataclass, field


class UsageError(Exception):
    """Something that the user can put right; main prints it and ends with status 2."""


@dataclass(frozen=True)
class OptionSet:
    """One way to call ptxopt. Its name is what is written in the tables."""
    name: str
    words: tuple
    judged: bool  # the assembler's figures decide what comes out, so other versions give other PTX
    only_2d: bool = False  # needs a block with more than one row


def option_set(text, only_2d=False):
    words = tuple(text.split())
    judged = "-target-regs" in words or "auto" in words
    return OptionSet(text or "none", words, judged, only_2d)


# Chosen to touch every pass on every kernel within the ten minutes that `make corpus` may take: each factor and stride
# of coarsening once, each way to ask for fewer registers once, and the two together.
OPTION_SETS = (
    option_set(""),
    option_set("-coarsen 2"),
    option_set("-coarsen 4"),
    option_set("-coarsen 8"),
    option_set("-coarsen y2", only_2d=True),
    option_set("-coarsen 2 -stride unit"),
    option_set("-coarsen 2 -coarsen-level block"),
    option_set("-coarsen auto"),
    option_set("-target-regs 32"),
    option_set("-target-regs auto"),
    option_set("-coarsen 2 -target-regs 32"),
)

# With corpus-run --gpu besides: a grid of fewer blocks, which only a launch shows.
GPU_SETS = (option_set("-coarsen auto -coarsen-grid shrink"),)

# The papers, in the order in which the tables name them: how corpus/README.md and docs/corpus.md write them.
PAPERS = (
    ("CC'12", re.compile(r"CC'12|\bthesis\b")),
    ("PLDI'10", re.compile(r"PLDI'10")),
    ("CUDAVis", re.compile(r"CUDAVis|SCOPES'10")),
    ("SC'13", re.compile(r"SC'13")),
)
OTHER_PAPER = "others"


@dataclass
class Kernel:
    name: str
    folder: str  # corpus/NAME
    launches: list = field(default_factory=list)  # for the emulator; the first one gives the block and the counters
    other_blocks: list = field(default_factory=list)  # those with another block: the outputs are not for them
    large: list = field(default_factory=list)  # for a GPU
    block: tuple = (1, 1, 1)
    grid: tuple = (1, 1, 1)
    papers: tuple = (OTHER_PAPER,)
    ptx: dict = field(default_factory=dict)  # form -> file
    counted: tuple = ()  # launch file and options by which its time is predicted; empty: the first launch, on two SMs
    scale: float = 1.0   # of the whole launch's time over that of the counted one


def triple(value):
    values = list(value) + [1, 1, 1]
    return tuple(values[:3])


def form_of(path):
    """The part of a name that distinguishes the PTX files of a folder: for corpus/NAME/NAME.clang.sm_75.ptx, clang.sm_75."""
    return os.path.basename(path)[:-len(".ptx")].split(".", 1)[1]


def architecture(form):
    """The architecture within a form, or None."""
    found = re.search(r"sm_\d+[af]?", form)
    return found.group(0) if found else None


def form_order(form):
    """Sorts plain architectures first, by number, then the others."""
    found = architecture(form)
    number = int(re.sub(r"\D", "", found)) if found else 0
    return (form != found, number, form)


def entries_of(path):
    with open(path, encoding="utf-8") as file:
        return re.findall(r"^[^/\n]*\.entry\s+([\w$]+)", file.read(), re.M)


def papers_of_kernels(root):
    """Whose benchmark each kernel is: the second column of the tables on the corpus's own pages."""
    whose = {}
    for page in ("corpus/README.md", "docs/corpus.md"):
        path = os.path.join(root, page)
        if not os.path.exists(path):
            continue
        with open(path, encoding="utf-8") as file:
            above = ""
            for line in file:
                cells = [cell.strip() for cell in line.strip().strip("|").split("|")]
                if not line.startswith("| `") or len(cells) < 2:
                    continue
                # "the same" is that of the row above.
                if cells[1].startswith("the same"):
                    cells[1] += " " + above
                above = cells[1]
                for name in re.findall(r"`([\w$]+)`", cells[0]):
                    whose[name] = whose.get(name, "") + " " + cells[1]
    return whose


def find_kernels(root):
    """The kernels by name, and a list of oddities of the corpus."""
    whose = papers_of_kernels(root)
    kernels, odd, blocks = {}, [], {}
    for path in sorted(glob.glob(os.path.join(glob.escape(root), "corpus", "*", "*.launch.json"))):
        path = os.path.relpath(path, root)
        try:
            with open(os.path.join(root, path), encoding="utf-8") as file:
                launch = json.load(file)
            name = launch["kernel"]
            shape = triple(launch.get("block", ())), triple(launch.get("grid", ()))
        except (ValueError, KeyError, TypeError) as error:
            raise UsageError(f"{path} is not a launch file: {error}") from error
        folder = os.path.dirname(path)
        kernel = kernels.setdefault((folder, name), Kernel(name, folder))
        if ".large." in os.path.basename(path):
            kernel.large.append(path)
            continue
        # KERNEL.launch.json comes before KERNEL.VARIANT.launch.json.
        if os.path.basename(path) == name + ".launch.json" or not kernel.launches:
            kernel.launches.insert(0, path)
            kernel.block, kernel.grid = shape
        else:
            kernel.launches.append(path)
        blocks[path] = shape[0]
    for kernel in kernels.values():
        kernel.other_blocks = [path for path in kernel.launches if blocks[path] != kernel.block]
        kernel.launches = [path for path in kernel.launches if blocks[path] == kernel.block]
        text = whose.get(kernel.name) or whose.get(os.path.basename(kernel.folder), "")
        kernel.papers = tuple(name for name, pattern in PAPERS if pattern.search(text)) or (OTHER_PAPER,)
    for path in sorted(glob.glob(os.path.join(glob.escape(root), "corpus", "*", "*.ptx"))):
        path = os.path.relpath(path, root)
        folder, form = os.path.dirname(path), form_of(path)
        for name in entries_of(os.path.join(root, path)):
            if (folder, name) in kernels:
                kernels[folder, name].ptx[form] = path
            else:
                odd.append(f"{path}: no launch file for kernel {name}")
    for kernel in kernels.values():
        kernel.ptx = dict(sorted(kernel.ptx.items(), key=lambda item: form_order(item[0])))
        if not kernel.ptx:
            odd.append(f"{kernel.folder}: no PTX has kernel {kernel.name}")
        if not kernel.launches:
            odd.append(f"{kernel.folder}: kernel {kernel.name} has no launch file that is small enough to emulate")
    return [kernels[key] for key in sorted(kernels, key=lambda key: (key[1], key[0])) if kernels[key].ptx], odd


def plain(text):
    """Options as patterns name them: without dashes."""
    return " ".join(word.lstrip("-") for word in text.split())


def select(kernels, patterns, architectures, option_patterns):
    """The (kernel, form, option set) triples that the patterns take; empty patterns take all."""
    def fits(words, patterns):
        return not patterns or any(fnmatch.fnmatchcase(word, pattern) for word in words for pattern in patterns)

    for pattern in patterns:
        if not any(fits([kernel.name, os.path.basename(kernel.folder)], [pattern]) for kernel in kernels):
            raise UsageError(f"no kernel of the corpus is called '{pattern}'")
    forms = sorted({form for kernel in kernels for form in kernel.ptx}, key=form_order)
    for pattern in architectures:
        if not any(fits([form, architecture(form) or ""], [pattern]) for form in forms):
            raise UsageError(f"no PTX of the corpus is for '{pattern}'; there is {', '.join(forms)}")
    wanted = [plain(pattern) for pattern in option_patterns]
    for pattern, word in zip(option_patterns, wanted):
        if not any(fits([plain(one.name)], [word]) for one in OPTION_SETS):
            names = ", ".join(f"'{one.name}'" for one in OPTION_SETS)
            raise UsageError(f"no option set is called '{pattern}'; there are {names}")
    return [(kernel, form, options)
            for kernel in kernels if fits([kernel.name, os.path.basename(kernel.folder)], patterns)
            for form in kernel.ptx if fits([form, architecture(form) or ""], architectures)
            for options in OPTION_SETS
            if fits([plain(options.name)], wanted) and (not options.only_2d or kernel.block[1] > 1)]
