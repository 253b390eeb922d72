"""The result of optimize()."""
from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Optional

from ._contract import Contract, LaunchError, Size, Triple, triple
from ._errors import Diagnostic
from ._report import KernelReport, Report

# Comments and texts of PTX, in which ".entry" means nothing, and the kernels.
_ENTRIES = re.compile(r'/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\])*"|\.entry\s+([A-Za-z_$%][\w$]*)', re.S | re.A)


@dataclass(frozen=True, repr=False)
class Result:
    """The result of optimize() for a module."""

    text: str
    """The PTX."""
    cubin: Optional[bytes]
    """The machine code, with cubin=True."""
    contract: Mapping[str, Any]
    """How coarsened kernels must be launched: the JSON of -launch-out, for programs that read it."""
    report: Report
    """The changes to each kernel."""
    diagnostics: tuple[Diagnostic, ...] = ()
    assembler_options: tuple[str, ...] = ()
    """The options of ptxas that knobs=True found, which the PTX must be assembled with."""
    refused: bool = False
    """Something requested by a kernel's name was refused, or fewer registers were requested without an assembler."""
    contracts: Mapping[str, Contract] = field(init=False, default_factory=dict)
    """The same by kernel; a kernel without one is launched as before."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "contracts",
                           {raw["kernel"]: Contract.read(raw) for raw in self.contract["kernels"]})

    def __repr__(self) -> str:
        kernels = ", ".join(f"{k.name}: {_words(k)}" for k in self.report.kernels) or "no kernels"
        return f"<ptxopt.Result of {len(self.text)} characters for {self.report.arch}; {kernels}>"

    @property
    def kernels(self) -> tuple[str, ...]:
        """The names of all kernels of the module, whether they were selected or not."""
        return tuple(m.group(1) for m in _ENTRIES.finditer(self.text) if m.group(1))

    def kernel(self, name: str) -> KernelReport:
        """The changes to one kernel; KeyError if there is no such kernel, or it was not selected."""
        return self.report.kernel(name)

    def contract_of(self, kernel: str) -> Optional[Contract]:
        """The contract of a kernel, or None if it is launched as before."""
        return self.contracts.get(kernel)

    def launch(self, kernel: str, block: Size) -> Triple:
        """The block to launch a kernel with, if the original is launched with this one; the grid stays.

        Raises LaunchError if the module has no such kernel or the contract does not allow that block."""
        contract = self.contract_of(kernel)
        if contract and contract.changes_grid:
            raise LaunchError(f"{kernel}: its contract changes the grid, too: use launch_grid()")
        return self.launch_grid(kernel, 1, block)[1]

    def launch_grid(self, kernel: str, grid: Size, block: Size, shared: int = 0) -> tuple[Triple, Triple, int]:
        """The grid, the block and the bytes of dynamic shared memory to launch a kernel with, if the original is
        launched with these. Raises LaunchError as launch() does."""
        contract = self.contract_of(kernel)
        if contract:
            return contract.launch(grid, block, shared)
        if kernel not in self.kernels:
            raise LaunchError(f"there is no kernel {kernel!r}, but {', '.join(map(repr, self.kernels)) or 'none'}")
        return triple(grid, "grid"), triple(block, "block"), shared

    def launch_form(self, kernel: str, grid: Size, block: Size, shared: int = 0, *, multiprocessors: int,
                    parameters: Optional[Sequence[Any]] = None) -> tuple[str, Triple, Triple, int]:
        """The entry to launch for a kernel, with its grid, block and bytes of dynamic shared memory: of several forms
        (keep_original=True), the first that pays in this launch of the original and that it allows; else the kernel.

        multiprocessors: of the device. parameters: of the kernel; None: not known. Raises LaunchError as launch()
        does."""
        sides = triple(grid, "grid"), triple(block, "block")
        report = next((each.coarsening for each in self.report.kernels if each.name == kernel), None)
        for form in report.forms if report and report.outcome == "several" else ():
            contract = self.contract_of(form.name)
            if not form.pays(*sides, multiprocessors, parameters):
                continue
            try:
                return (form.name, *(contract.launch(*sides, shared) if contract else (*sides, shared)))
            except LaunchError:
                continue
        return (kernel, *self.launch_grid(kernel, *sides, shared))


def _words(kernel: KernelReport) -> str:
    done = []
    if kernel.coarsening.done:
        done.append("coarsened " + "x".join(map(str, kernel.coarsening.factor)))
    if kernel.before.registers is not None and kernel.before.registers != kernel.after.registers:
        done.append(f"{kernel.before.registers} -> {kernel.after.registers} registers")
    for part in (kernel.coarsening, kernel.registers):
        if part.outcome == "refused":
            done.append(f"refused ({part.reason})")
    return ", ".join(done) or "unchanged"
