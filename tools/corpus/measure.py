"""One row of the table: ptxopt on one kernel of one PTX file with one option set, and its result."""
import json
import os
import re
import signal
import subprocess
import tempfile
import threading
import time
from dataclasses import dataclass

from cut import slice_options
from kernels import UsageError

TIME_LIMIT = 300  # seconds for one call of ptxopt

USAGE, DIFFERENT, NOT_VERIFIED = 2, 5, 6  # exit statuses of ptxopt

# The emulator's counters that are kept, by their column's name.
COUNTERS = ("warp_instructions", "thread_instructions", "load_sectors", "store_sectors", "bank_conflicts", "branches",
            "divergent_branches", "barriers")

PROBE = """.version 6.3
.target sm_75
.address_size 64
.visible .entry probe()
{
\tret;
}
"""


@dataclass
class Finished:
    status: int  # exit status; -1 where it was stopped at the time limit or died of a signal
    output: str
    errors: str
    seconds: float  # of processor time, its children included
    problem: str = ""


def call(command, environment=None, limit=TIME_LIMIT):
    """Runs a program without a terminal and without standard input."""
    with tempfile.TemporaryFile() as output, tempfile.TemporaryFile() as errors:
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=output, stderr=errors, env=environment,
                                   start_new_session=True)
        late = threading.Event()

        def stop():
            late.set()
            try:
                os.killpg(process.pid, signal.SIGKILL)
            except ProcessLookupError:
                pass

        timer = threading.Timer(limit, stop)
        timer.start()
        _, status, usage = os.wait4(process.pid, 0)
        timer.cancel()
        process.returncode = os.waitstatus_to_exitcode(status)
        texts = []
        for file in (output, errors):
            file.seek(0)
            texts.append(file.read().decode(errors="replace"))
        problem = ""
        if late.is_set():
            problem = f"stopped after {limit} seconds"
        elif process.returncode < 0:
            problem = f"ended by signal {-process.returncode}"
        return Finished(process.returncode if not problem else -1, texts[0], texts[1],
                        usage.ru_utime + usage.ru_stime, problem)


class Assembler:
    """Which assembler ptxopt is told to use, and which one it then uses.

    WORD is one of ptxopt's own (auto, nvjitlink, ptxas, driver, none) or a file: a ptxas program, a libnvJitLink or a
    libcuda library."""

    def __init__(self, program, word, arch="sm_75"):
        self.word = word
        self.environment = dict(os.environ)
        self.kind = word
        if word not in ("auto", "nvjitlink", "ptxas", "driver", "none"):
            if not os.path.isfile(word):
                raise UsageError(f"--assembler {word}: neither nvjitlink, ptxas, driver, auto or none, nor a file")
            self.kind, variable = "ptxas", "PTXOPT_PTXAS"
            if "nvJitLink" in os.path.basename(word):
                self.kind, variable = "nvjitlink", "PTXOPT_NVJITLINK"
            elif "libcuda" in os.path.basename(word):
                self.kind, variable = "driver", "PTXOPT_CUDA_DRIVER"
            self.environment[variable] = os.path.abspath(word)
        self.name, self.version, self.path, self.missing = "none", "", "", ""
        if self.kind != "none":
            self.probe(program, arch)

    def probe(self, program, arch):
        with tempfile.TemporaryDirectory() as folder:
            ptx, cubin, report = (os.path.join(folder, name) for name in ("probe.ptx", "probe.cubin", "probe.json"))
            with open(ptx, "w", encoding="utf-8") as file:
                file.write(PROBE)
            done = call([program, "-q", "-assembler", self.kind, "-arch", arch, "-cubin", cubin, "-report=" + report,
                         "-report-format", "json", ptx], self.environment)
            if done.status != 0:
                self.missing = (done.problem or done.errors.strip()).removeprefix("ptxopt: error: ")
                return
            with open(report, encoding="utf-8") as file:
                found = json.load(file)["assembler"]
            self.name, self.version, self.path = found["name"], found["version"], found["path"]
            # nvJitLink says 13.0 of itself; its cubins say 13.0.88.
            with open(cubin, "rb") as file:
                exact = re.search(rb"release \d+\.\d+, V(\d+(?:\.\d+)+)", file.read())
            if exact and exact.group(1).decode().startswith(self.version.split(" ")[0]):
                self.version = self.version.replace(self.version.split(" ")[0], exact.group(1).decode(), 1)

    @property
    def title(self):
        return f"{self.name} {self.version}".strip()


def safe_name(kernel, form, options, launch=""):
    name = launch.removesuffix(".launch.json") or kernel.name
    return re.sub(r"[^\w.=,-]+", "_", f"{name}.{form}.{options.name.lstrip('-')}")


def factor_text(coarsening):
    """As -coarsen takes them: "x2,y2", of blocks "bx2"."""
    threads = coarsening.get("factor", []) if coarsening.get("level") == "thread" else []
    blocks = coarsening.get("merged_blocks", [])
    parts = [f"{prefix}{axis}{factor}" for prefix, triple in (("", threads), ("b", blocks))
             for axis, factor in zip("xyz", triple) if factor > 1]
    return ",".join(parts) or "1"


def block_text(triple):
    return ",".join(str(side) for side in triple)


def refusal_text(entry):
    reasons = []
    if entry["coarsening"]["outcome"] == "refused":
        reasons.append(entry["coarsening"]["reason"])
    if entry["registers"]["outcome"] == "refused":
        reasons.append("registers: " + entry["registers"]["reason"])
    return "; ".join(" ".join(reason.split()) for reason in reasons)


def last_words(text):
    """The message of a program that failed, on one line."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    errors = [line for line in lines if "error:" in line]
    return (errors or lines or ["it said nothing"])[0][:300]


def is_unavailable(errors, options):
    """Whether it is one of these options that this build lacks; any other that is lacking is a failure."""
    found = re.search(r"error: (-[\w-]+)[^\n]*not available in this build", errors)
    return bool(found) and found.group(1) in options.words


class Measurer:
    def __init__(self, program, root, assembler, folder, extra=(), verify=True, arch=None):
        self.program = program
        self.root = root
        self.assembler = assembler
        self.folder = folder  # where outputs and reports go
        self.extra = tuple(extra)
        self.verify = verify
        self.arch = ["-arch", arch] if arch else []
        os.makedirs(folder, exist_ok=True)

    def row(self, kernel, form, options, launch=""):
        """A dictionary of all columns. 'outcome' is done, unchanged, refused, unavailable or failed."""
        name = safe_name(kernel, form, options, launch)
        output, report = (os.path.join(self.folder, name + ending) for ending in (".ptx", ".json"))
        for path in (output, report):
            if os.path.exists(path):
                os.unlink(path)
        verification = []
        if self.verify:
            for launch in kernel.launches:
                verification += ["-verify", os.path.join(self.root, launch)]
        # Times are predicted for the first launch, on as much of a device as such a small launch fills. For fewer
        # registers they are estimated for a launch that fills the device: in a small one no warp is ever added. On a GPU
        # only what is chosen by time needs it; predictions are made afterwards.
        predicted = []
        if kernel.launches and "-target-regs" not in options.words and (options.judged or not kernel.counted):
            predicted = ["-launch", *(kernel.counted or (os.path.join(self.root, kernel.launches[0]),
                                                         *slice_options(self.root)))]
        source = os.path.join(self.root, kernel.ptx[form])
        command = [self.program, "-q", "-assembler", self.assembler.kind, "-entry", kernel.name, "-block",
                   block_text(kernel.block), *self.arch, *options.words, *self.extra, *predicted, *verification,
                   "-o", output,
                   "-report=" + report, "-report-format", "json", source]
        begin = time.monotonic()
        done = call(command, self.assembler.environment)
        row = {"kernel": kernel.name, "folder": kernel.folder, "papers": list(kernel.papers), "ptx": form,
               "options": options.name, "outcome": "failed", "reason": "", "output": output, "source": source,
               "command": command, "seconds_ptxopt": round(done.seconds, 3),
               "seconds_wall": round(time.monotonic() - begin, 3)}
        if done.status == USAGE and is_unavailable(done.errors, options):
            row.update(outcome="unavailable", reason=last_words(done.errors))
        elif done.problem:
            row["reason"] = done.problem
        elif done.status == DIFFERENT:
            row["reason"] = "the emulator finds a difference: " + last_words(done.errors)
        elif done.status == NOT_VERIFIED:
            row["reason"] = "the emulator cannot run it: " + last_words(done.errors)
        elif done.status not in (0, 3) or not os.path.exists(report):
            row["reason"] = f"exit status {done.status}: {last_words(done.errors)}"
        else:
            with open(report, encoding="utf-8") as file:
                self.read_report(row, json.load(file))
        return row

    def read_report(self, row, report):
        entry = report["kernels"][0]
        asked = [entry[part]["outcome"] for part in ("coarsening", "registers")]
        row["coarsening"], row["reduction"] = ("-" if word == "not asked" else word for word in asked)
        row["outcome"] = next((word for word in ("refused", "done", "unchanged") if word in asked), "unchanged")
        row["reason"] = refusal_text(entry)
        row["factor"] = factor_text(entry["coarsening"])
        assembler = report["assembler"] or {}
        if "seconds" in assembler:
            row["seconds_assembler"] = round(assembler["seconds"], 3)
            row["assemblies"] = assembler["assemblies"]
        figures, occupancy = entry["after"]["figures"], entry["after"]["occupancy"]
        if figures:
            row["registers"] = figures["registers"]
            row["spill_bytes"] = figures["spill_stores"] + figures["spill_loads"]
            row["stack_bytes"] = figures["stack"]
            row["instructions"] = figures["instructions"]
        if occupancy:
            row["blocks_per_sm"] = occupancy["blocks"]
            row["occupancy"] = round(100 * occupancy["fraction"], 1)
        for number, launch in enumerate(report.get("verify", [])):
            row["verified"] = launch["outcome"] if number == 0 or launch["outcome"] != "equal" else row["verified"]
            if launch["not_watched"]:
                row["not_watched"] = launch["not_watched"]
            if number == 0 and launch["output"]:
                row.update((name, launch["output"]["counters"][name]) for name in COUNTERS)
        row["stride"] = entry["coarsening"].get("stride", "")
        cost = entry["cost"]
        if cost:
            row["speedup"] = round(cost["speedup"], 3)
            row["warps_per_sm"] = cost["after"]["warps_per_sm"]
            row["binding"] = cost["after"]["binding"]
            row["verdict"] = cost["verdict"]
        capped = entry["registers"].get("capped")
        if capped:
            row["capped_spill_bytes"] = capped["spill_stores"] + capped["spill_loads"]
