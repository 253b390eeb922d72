"""ptxopt: changes PTX so that kernels need fewer threads and registers.

    import ptxopt
    result = ptxopt.optimize(ptx, coarsen=2, target_regs="auto", block=256)
    result.text, result.contract, result.report

A coarsened kernel must be launched by its contract: result.launch(kernel, block) gives the block for it, and
result.launch_grid(kernel, grid, block, shared) all that a contract may change.
"""
import ctypes
import json
import warnings as _warnings
from collections.abc import Iterable
from dataclasses import dataclass, field

from . import _library

__all__ = ["Diagnostic", "Error", "LaunchError", "Result", "Warning", "optimize", "version"]

_STATUSES = {0: "done", 1: "input", 2: "usage", 3: "refused", 4: "rejected", 5: "different", 6: "unverified",
             7: "no memory", 8: "bug"}
_SEVERITIES = ("note", "warning", "error")


@dataclass(frozen=True)
class Diagnostic:
    """A message. line and column count from 1, and are 0 if the message is not about a place in the PTX."""

    severity: str
    message: str
    line: int
    column: int
    text: str

    def __str__(self):
        return self.text.rstrip("\n")


class Error(Exception):
    """Nothing was made. status is a word such as "input"; diagnostics say why; report is None or a report."""

    def __init__(self, status, diagnostics, report=None):
        self.status, self.diagnostics, self.report = status, diagnostics, report
        errors = [str(d) for d in diagnostics if d.severity == "error"]
        super().__init__("\n".join(errors or map(str, diagnostics)) or status)


class LaunchError(ValueError):
    """A launch that does not meet a contract."""


class Warning(UserWarning):
    """What optimize() warns of."""


@dataclass(frozen=True)
class Result:
    """What optimize() made."""

    text: str
    cubin: bytes = field(repr=False)
    contract: dict = field(repr=False)
    report: dict = field(repr=False)
    diagnostics: tuple = ()
    assembler_options: tuple = ()  # of ptxas: those that knobs=True found, and that must be given with the PTX

    def contract_of(self, kernel):
        """The contract of a kernel, or None if it is launched as before."""
        return next((c for c in self.contract["kernels"] if c["kernel"] == kernel), None)

    def launch(self, kernel, block):
        """The block to launch a kernel with, where the original is launched with this one; the grid stays."""
        contract = self.contract_of(kernel)
        if contract and contract["grid"] != "unchanged":
            raise LaunchError(f"{kernel}: its contract changes the grid, too: use launch_grid()")
        return self.launch_grid(kernel, (1, 1, 1), block)[1]

    def launch_grid(self, kernel, grid, block, shared=0):
        """The grid, the block and the bytes of dynamic shared memory to launch a kernel with, where the original is
        launched with these."""
        grid, block = _triple(grid), _triple(block)
        contract = self.contract_of(kernel)
        if not contract:
            return grid, block, shared
        if contract["level"] not in ("thread", "block"):
            raise LaunchError(f"{kernel}: contracts of level {contract['level']!r} are not known here")
        before, factor = contract["block_before"], contract["factor"]
        if before and tuple(before) != block:
            raise LaunchError(f"{kernel} is coarsened for blocks of {tuple(before)}, not of {block}")
        after = tuple(-(-b // f) for b, f in zip(block, factor))
        for b, f, a in zip(block, factor, after):
            if (not before and b % f) or (f > 1 and a % contract["stride_unit"]):
                raise LaunchError(f"{kernel}: a block of {block} does not meet: {'; '.join(contract['conditions'])}")
        if contract["whole_warps"]:
            last = max(i for i in range(3) if factor[i] > 1) if max(factor[1:]) > 1 else 0
            joined = after[0] if factor[0] > 1 else after[0] * after[1] * (after[2] if last == 2 else 1)
            if joined % 32:
                raise LaunchError(f"{kernel}: a block of {block} does not meet: {'; '.join(contract['conditions'])}")
        if contract["grid"] != "unchanged":
            divisors = contract["grid"]["divided_by"]
            if any(g % d for g, d in zip(grid, divisors)):
                raise LaunchError(f"{kernel}: a grid of {grid} does not meet: {'; '.join(contract['conditions'])}")
            grid = tuple(g // d for g, d in zip(grid, divisors))
        if contract["dynamic_shared"] != "unchanged":
            unit = contract["dynamic_shared"]["rounded_up_to"]
            shared = -(-shared // unit) * unit * contract["dynamic_shared"]["times"]
        return grid, after, shared


def _triple(size):
    given = tuple(size) if isinstance(size, Iterable) else (size,)
    return given + (1,) * (3 - len(given))


def version():
    return _library.load().ptxopt_version().decode()


def _words(name, value):
    """The values of one option as texts: an option may be repeated by a list, and a dictionary is by kernel."""
    if isinstance(value, dict):
        return [f"{kernel}:{_value(name, one)}" for kernel, one in value.items()]
    if isinstance(value, list):
        return [_value(name, one) for one in value]
    return [_value(name, value)]


def _value(name, value):
    return ",".join(map(str, value)) if isinstance(value, tuple) else str(value)


def _set_options(library, options, settings):
    for name, value in settings.items():
        if value is None or value is False:
            continue
        option = name.replace("_", "-")
        for word in [None] if value is True else _words(option, value):
            text = None if word is None else word.encode()
            if library.ptxopt_options_set(options, option.encode(), text):
                message = library.ptxopt_options_error(options).decode()
                raise ValueError(message)


def _result(library, made, diagnostics):
    status = _STATUSES.get(library.ptxopt_result_status(made), "unknown")
    report = library.ptxopt_result_report(made)
    report = json.loads(report) if report else None
    if status not in ("done", "refused"):
        raise Error(status, diagnostics, report)
    length = ctypes.c_size_t()
    ptx = library.ptxopt_result_ptx(made, ctypes.byref(length))
    text = ctypes.string_at(ptx, length.value).decode("utf-8", "surrogateescape")
    cubin = library.ptxopt_result_cubin(made, ctypes.byref(length))
    contract = json.loads(library.ptxopt_result_contract(made))
    options = tuple(library.ptxopt_result_assembler_options(made).decode().split())
    code = ctypes.string_at(cubin, length.value) if cubin else None
    return Result(text, code, contract, report, diagnostics, options)


def optimize(ptx, *, name="<ptx>", cubin=False, warn=True, **options):
    """Runs ptxopt on PTX, a str or bytes (as NVRTC gives it), and returns a Result.

    Options are those of the command line, with underscores: coarsen=2, coarsen={"k": "x2,y2"}, target_regs="auto",
    block=(16, 16), arch="sm_90", assembler="none", entry="k1,k2", O3=True; a list repeats one. With cubin=True the
    result has the cubin. Raises ValueError for a wrong option and Error if nothing could be made; what was refused is
    warned of, unless warn is False.
    """
    library = _library.load()
    text = ptx.encode("utf-8", "surrogateescape") if isinstance(ptx, str) else bytes(ptx)
    diagnostics = []

    def keep(_context, pointer):
        d = pointer.contents
        diagnostics.append(Diagnostic(_SEVERITIES[d.severity], d.message.decode("utf-8", "replace"), d.line, d.column,
                                      d.text.decode("utf-8", "replace")))

    callback = _library.CALLBACK(keep)
    handle = library.ptxopt_options_new()
    module = library.ptxopt_module_from_text(name.encode(), text, len(text))
    made = None
    try:
        if not handle or not module:
            raise MemoryError
        _set_options(library, handle, options)
        library.ptxopt_options_want_cubin(handle, bool(cubin))
        library.ptxopt_options_on_diagnostic(handle, callback, None)
        made = library.ptxopt_run(module, handle)
        if not made:
            raise MemoryError
        result = _result(library, made, tuple(diagnostics))
    finally:
        library.ptxopt_result_free(made)
        library.ptxopt_module_free(module)
        library.ptxopt_options_free(handle)
    for diagnostic in diagnostics if warn else ():
        if diagnostic.severity == "warning":
            _warnings.warn(diagnostic.message, Warning, stacklevel=2)
    return result
