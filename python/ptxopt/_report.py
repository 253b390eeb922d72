"""The report, as dataclasses. Each has the most used part of the report, and all of it as `raw`, which is the JSON of
-report-format json (docs/formats.md)."""
from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Optional, Union


@dataclass(frozen=True)
class _Part:
    raw: Mapping[str, Any] = field(repr=False, compare=False)
    """All of this part of the report, as in its JSON."""

    def __getitem__(self, name: str) -> Any:
        """A member of the JSON."""
        return self.raw[name]

    def __contains__(self, name: object) -> bool:
        return name in self.raw

    def get(self, name: str, default: Any = None) -> Any:
        """A member of the JSON, or the default if it is not there."""
        return self.raw.get(name, default)

    def keys(self) -> Iterator[str]:
        """The names of the members of the JSON."""
        return iter(self.raw.keys())

    def __iter__(self) -> Iterator[str]:
        return iter(self.raw)


@dataclass(frozen=True)
class Assembler(_Part):
    """The assembler whose figures these are."""

    name: str
    version: str
    path: str


@dataclass(frozen=True)
class Figures(_Part):
    """The assembler's figures for a kernel. All sizes are in bytes."""

    registers: int
    """For each thread, 32 bits each."""
    spill_stores: int
    """Bytes in the code's instructions, not in their executions."""
    spill_loads: int
    stack: int
    """For each thread."""
    shared: int
    """Static, for each block."""
    instructions: int
    """In the machine code."""


@dataclass(frozen=True)
class Occupancy(_Part):
    """How much of a multiprocessor is in use."""

    blocks: int
    warps: int
    fraction: float
    limited_by: str


@dataclass(frozen=True)
class State(_Part):
    """A kernel before or after. Unknown values are None: figures without an assembler, the occupancy without a
    block."""

    block: Optional[tuple[int, ...]]
    figures: Optional[Figures]
    occupancy: Optional[Occupancy]

    @property
    def registers(self) -> Optional[int]:
        """The registers of each thread; None if there are no figures."""
        return self.figures.registers if self.figures else None


@dataclass(frozen=True)
class Form(_Part):
    """A form beside a kernel."""

    name: str
    """Of the entry in the PTX."""
    words: str
    speedup: Optional[float]
    """As predicted; None: not known."""

    def pays(self, grid: tuple[int, int, int], block: tuple[int, int, int], multiprocessors: int,
             parameters: Optional[Sequence[Any]] = None) -> bool:
        """Whether such a launch of the original is predicted to be no slower with this form of several, on a device
        with this many multiprocessors. parameters: those of the kernel; None: not known."""
        x, y, z = block
        threads, merged = x * y * z, self.raw["factor"]
        least = self.get("pays_from_threads_per_sm", 0)
        if parameters is not None and "pays_by_parameter" in self:
            table = self["pays_by_parameter"]
            least = _interpolated(table["points"], parameters[table["parameter"]])
        after = math.prod(-(-b // f) for b, f in zip(block, merged))
        fills = -(-after // 32) * math.prod(merged) * 8 <= -(-threads // 32) * 9
        limits = self.get("least_block_threads", 0), self.get("most_block_threads", threads)
        multiple = self.get("pays_for_multiples")
        if multiple and (parameters is None or parameters[multiple["parameter"]] % multiple["of"]):
            return False
        most = self.get("pays_to_threads_per_sm", math.inf)
        each = math.prod(grid) * threads / multiprocessors
        return fills and limits[0] <= threads <= limits[1] and least <= each <= most


def _interpolated(points: Sequence[tuple[int, int]], value: int) -> float:
    """Linear between the points, and constant outside."""
    if value <= points[0][0]:
        return points[0][1]
    for (low, first), (high, second) in zip(points, points[1:]):
        if value < high:
            return first + (second - first) * (value - low) / (high - low)
    return points[-1][1]


@dataclass(frozen=True)
class Coarsening(_Part):
    """The outcome of coarsening. line and column give the place of the reason in the PTX; 0: no place."""

    outcome: str
    """"not asked", "done", "refused", "unchanged", "declined", "tuned" or "several"."""
    factor: tuple[int, ...] = (1, 1, 1)
    reason: Optional[str] = None
    line: int = 0
    column: int = 0
    forms: tuple[Form, ...] = ()
    """The forms beside the kernel ("tuned", "several")."""

    @property
    def done(self) -> bool:
        return self.outcome == "done"


@dataclass(frozen=True)
class Registers(_Part):
    """The outcome of register reduction."""

    outcome: str
    """As for coarsening."""
    asked: Union[int, str, None] = None
    reached: bool = False
    reason: Optional[str] = None
    """Why not, or how."""

    @property
    def done(self) -> bool:
        return self.outcome == "done"


@dataclass(frozen=True)
class Interval(_Part):
    """How sure a predicted speedup is."""

    low: float
    """Nine of ten changes of this kind have speedups between low and high,"""
    high: float
    cautious: float
    """and most have more than this: all but 15 in a hundred."""
    kind: str
    """The kind of change, in words."""


@dataclass(frozen=True)
class KernelReport(_Part):
    """The changes to one kernel."""

    name: str
    line: int
    coarsening: Coarsening
    registers: Registers
    before: State
    after: State
    speedup: Optional[float]
    """As predicted; None: not known."""
    interval: Optional[Interval] = None
    """Of the speedup."""


@dataclass(frozen=True)
class Report(_Part):
    """The changes: one KernelReport for each kernel that the options select, in the order of the module."""

    arch: str
    assembler: Optional[Assembler]
    """None: no figures."""
    kernels: tuple[KernelReport, ...]

    def kernel(self, name: str) -> KernelReport:
        """The report of one kernel; KeyError if there is none."""
        for kernel in self.kernels:
            if kernel.name == name:
                return kernel
        raise KeyError(name)


def _figures(raw: Optional[Mapping[str, Any]]) -> Optional[Figures]:
    if not raw:
        return None
    return Figures(raw, raw["registers"], raw["spill_stores"], raw["spill_loads"], raw["stack"], raw["shared"],
                   raw["instructions"])


def _state(raw: Mapping[str, Any]) -> State:
    block, occupancy = raw.get("block"), raw.get("occupancy")
    return State(raw, tuple(block) if block else None, _figures(raw.get("figures")),
                 Occupancy(occupancy, occupancy["blocks"], occupancy["warps"], occupancy["fraction"],
                           occupancy["limited_by"]) if occupancy else None)


def _interval(raw: Optional[Mapping[str, Any]]) -> Optional[Interval]:
    return Interval(raw, raw["low"], raw["high"], raw["cautious"], raw["kind"]) if raw else None


def _kernel(raw: Mapping[str, Any]) -> KernelReport:
    coarsening, registers, cost = raw["coarsening"], raw["registers"], raw.get("cost") or {}
    return KernelReport(
        raw, raw["kernel"], raw["line"],
        Coarsening(coarsening, coarsening["outcome"], tuple(coarsening.get("factor") or (1, 1, 1)),
                   coarsening.get("reason"), coarsening.get("line") or 0, coarsening.get("column") or 0,
                   tuple(Form(form, form["name"], form["words"], form["speedup"])
                         for form in coarsening.get("forms", ()))),
        Registers(registers, registers["outcome"], registers.get("asked"), bool(registers.get("reached")),
                  registers.get("reason") or registers.get("explanation")),
        _state(raw["before"]), _state(raw["after"]), cost.get("speedup"), _interval(cost.get("interval")))


def read(raw: Mapping[str, Any]) -> Report:
    """From the JSON of -report-format json."""
    assembler = raw.get("assembler")
    return Report(raw, raw["arch"] or "",
                  Assembler(assembler, assembler["name"], assembler["version"], assembler["path"]) if assembler
                  else None, tuple(_kernel(kernel) for kernel in raw["kernels"]))
