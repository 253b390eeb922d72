"""optimize(): options in, a run of the library, a Result out."""
from __future__ import annotations

import ctypes
import json
import os
import warnings
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal, Optional, TypeVar, Union

from . import _library
from ._errors import Diagnostic, Error, Warning
from ._options import STATUSES, Setting, diagnostic, set_options, text_of
from ._options import by_kernel as _by_kernel
from ._options import joined as _joined
from ._options import one as _one
from ._options import several as _several
from ._report import read as read_report
from ._result import Result

_Value = TypeVar("_Value")
# One value for all kernels, or one for each kernel that is named.
_ByKernel = Union[_Value, Mapping[str, _Value]]
_Path = Union[str, "os.PathLike[str]"]
_Block = Union[int, str, Sequence[int]]
_Factor = Union[int, str]


def version() -> str:
    """The version of the library."""
    return str(_library.load().ptxopt_version().decode())


def optimize(
    ptx: Union[str, bytes, bytearray, memoryview],
    *,
    name: str = "<ptx>",
    cubin: bool = False,
    warn: bool = True,
    auto: bool = False,
    coarsen: Optional[_ByKernel[Union[_Factor, Sequence[_Factor]]]] = None,
    coarsen_level: Optional[Literal["thread", "block"]] = None,
    coarsen_grid: Optional[Literal["keep", "shrink"]] = None,
    coarsen_guards: Optional[Literal["sequential", "fast", "predicated", "interior", "auto"]] = None,
    coarsen_growth: Optional[int] = None,
    stride: Union[Literal["block", "unit"], int, None] = None,
    refine: Optional[_ByKernel[Union[int, str]]] = None,
    reassociate: bool = False,
    uj: Union[str, Mapping[str, int], Sequence[str], None] = None,
    memory: Optional[str] = None,
    dead_on_return: Union[str, Sequence[str], None] = None,
    block_order: Optional[_ByKernel[str]] = None,
    fix_defects: bool = False,
    keep_original: bool = False,
    tune: Union[bool, int] = False,
    tune_from: Optional[_Path] = None,
    target_regs: Optional[_ByKernel[Union[int, str]]] = None,
    spill: bool = False,
    knobs: Union[bool, str, Sequence[str]] = False,
    entry: Union[str, Sequence[str], None] = None,
    block: Optional[_ByKernel[_Block]] = None,
    dynamic_shared: Optional[_ByKernel[int]] = None,
    ptx_version: Optional[str] = None,
    arch: Optional[str] = None,
    assembler: Optional[Literal["auto", "driver", "ptxas", "nvjitlink", "none"]] = None,
    Xptxas: Union[str, Sequence[str], None] = None,
    apply_controls: Optional[_Path] = None,
    missing_ok: bool = False,
    O0: bool = False,
    O1: bool = False,
    O2: bool = False,
    O3: bool = False,
    risk: Optional[Literal["low", "normal", "high"]] = None,
    search: Optional[float] = None,
    p: Union[str, Sequence[str], None] = None,
    stop_after: Union[str, int, None] = None,
    launch: Union[_Path, Sequence[_Path], None] = None,
    count_all: bool = False,
    machine: Optional[_Path] = None,
    verify: Union[_Path, Sequence[_Path], None] = None,
    canonical: bool = False,
    Werror: bool = False,
    q: bool = False,
    v: bool = False,
) -> Result:
    """Makes kernels need fewer threads and registers.

    The options are those of the program `ptxopt`, whose manual page says more; options that are left out have its
    defaults. If an option takes one value by kernel, a dictionary {"KERNEL": value} gives it; names of kernels are
    mangled, as in C++, and may have * ? [...].

    ptx             the PTX: a str, or bytes as NVRTC gives them, with or without a NUL at the end
    name            of the PTX in messages
    cubin           True: the result has the machine code, too
    warn            False: a refusal is not a Warning; result.diagnostics has it

    Everything
    auto            True: whatever is predicted to pay: coarsen, uj and target_regs "auto", unless they are given

    Thread coarsening
    coarsen         a factor, 2 or "x2,y2" (threads), "bx2" (blocks), "x2,bx2" (both), "gx2" (larger blocks with the
                    threads of two); "auto": by predicted time; "source": as comments in the kernels say; by kernel; a list gives several
    coarsen_level   "thread" or "block": what is merged ("thread")
    coarsen_grid    "keep" or "shrink": merged blocks, and the grid of the launch ("keep")
    coarsen_guards  code under conditions that merged threads decide alone: "sequential", "fast", "predicated", "interior"
                    or "auto"
    coarsen_growth  fast paths may make a kernel at most this many times longer (4)
    stride          "block": threads ntid/factor apart are merged; "unit": neighbours; a number: threads so far apart
    refine          several threads, 2 to 32, take the place of one and share the rounds of its loops: 8, or "8,apart" if
                    threads of the input stay neighbours; "auto": by predicted time in the launches; by kernel
    reassociate     True: refine may add floating-point numbers in another order
    uj              unroll and jam: {"LABEL": N} puts N iterations of the loop side by side; "source" or "auto"
    memory          "stage": what the threads of a block read in loops goes through shared memory; "prefetch": that, with
                    the next part loaded ahead; "async": that, by asynchronous copies; "rows": rows that several
                    loops of a thread read stay there; "counters": what they update atomically is counted there;
                    "vectors": a thread's neighbouring accesses become one; "edges": threads beyond the edge of the
                    data go along with the others; several, with commas
                    ("vectors,stage": vectors first); "auto": where that is predicted to pay ("off")
    dead_on_return  parameters, by their names in the PTX or as "KERNEL:N", to whose buffers nothing else leads, and which
                    nothing reads afterwards: what a block writes there may stay in shared memory
    block_order     blocks do each other's work, so that those that run together share more in L2: "groups:N" goes down N
                    rows of the grid before the next column, "diagonal" along its diagonals ("off"); by kernel
    fix_defects     True: code that the assembler is known to get wrong is written in another way
    keep_original   True: the original of a coarsened kernel is added, as KERNEL__ptxopt_original; where coarsen="auto" keeps
                    several forms, it has the kernel's name
    tune            True or a number: kernels stay, and the forms that are predicted to be the fastest are added, up to
                    that number in all with the original (4), for launch adapters that choose by measured time
    tune_from       a file of what launches have learned: each kernel gets the form that was measured to be the fastest

    Registers
    target_regs     at most this many registers per thread; "auto": the count at which one more block fits that makes the
                    kernel fastest; "fewest", "fewest:P": the fewest for P percent of its time at most; by kernel
    spill           True: the number may cost spills
    knobs           True: options of ptxas are tried, too; result.assembler_options has those that must be given; or files of
                    compiler controls, or folders of such, that are tried as well

    Kernels and their launches
    entry           change only these kernels
    block           threads per block at launch, 256 or (16, 16), unless the PTX fixes them; by kernel
    dynamic_shared  bytes of dynamic shared memory of a block at launch; by kernel
    launch          launch files (JSON): what they execute is counted, and decisions rest on it
    count_all       True: all blocks of a launch are counted, not a sample of a large grid's
    verify          launch files: input and output are run in the emulator, and all memory is compared
    machine         a file with figures of the device that times are predicted for

    Control
    ptx_version     "8.4": at most this version of PTX is written, and a target that it has; an error if something newer is
                    used
    arch            "sm_90": what to assemble for (the PTX's own .target)
    assembler       "auto", "driver", "ptxas", "nvjitlink" or "none"
    Xptxas          words for ptxas, which then is the assembler
    apply_controls  a file of compiler controls, which ptxas 13.3 or newer applies wherever it assembles
    missing_ok      True: options for kernels that the module does not have are ignored
    O0, O1, O2, O3  how many forms are tried (O2)
    risk            how sure a form chosen by "auto" must be: the predicted time decides ("high"), or changes of its
                    kind may seldom ("normal") or hardly ever ("low") have turned out slower
    search          seconds that looking for a form of a kernel, or for fewer registers, may take
    p               passes to switch on and off: "-schedule,-sink"
    stop_after      the passes after this one are switched off: a name, or a number from 1
    canonical       True: unchanged code is printed from its parsed form, too
    Werror          True: warnings are errors
    q, v            True: no warnings at all; each call of the assembler is a note in result.diagnostics

    Raises TypeError for PTX that is not text, OptionError (a ValueError) for a wrong option, and Error, with line,
    column and reason, if nothing could be made. A refusal is a ptxopt.Warning.
    """
    text = text_of(ptx)
    settings: list[tuple[str, Setting]] = [
        ("auto", auto), ("coarsen", _by_kernel("coarsen", coarsen, several=True)), ("coarsen-level", _one(coarsen_level)),
        ("coarsen-grid", _one(coarsen_grid)), ("coarsen-guards", _one(coarsen_guards)),
        ("coarsen-growth", _one(coarsen_growth)), ("stride", _one(stride)), ("refine", _by_kernel("refine", refine)),
        ("reassociate", reassociate), ("uj", _by_kernel("uj", uj, several=True)),
        ("memory", _one(memory)), ("dead-on-return", _several(dead_on_return)),
        ("block-order", _by_kernel("block_order", block_order)), ("fix-defects", fix_defects),
        ("keep-original", keep_original), ("tune", tune if isinstance(tune, bool) else _one(tune)),
        ("tune-from", _several(tune_from)),
        ("target-regs", _by_kernel("target_regs", target_regs, several=True)),
        ("spill", spill), ("knobs", knobs if isinstance(knobs, bool) else _joined(knobs)), ("entry", _joined(entry)), ("block", _by_kernel("block", block)),
        ("dynamic-shared", _by_kernel("dynamic_shared", dynamic_shared)), ("ptx-version", _one(ptx_version)),
        ("arch", _one(arch)),
        ("assembler", _one(assembler)), ("Xptxas", _several(Xptxas)),
        ("apply-controls", _several(apply_controls)), ("missing-ok", missing_ok), ("O0", O0), ("O1", O1),
        ("O2", O2), ("O3", O3), ("risk", _one(risk)), ("search", _one(search)), ("p", _joined(p)),
        ("stop-after", _one(stop_after)), ("launch", _several(launch)), ("count-all", count_all),
        ("machine", _several(machine)),
        ("verify", _several(verify)), ("canonical", canonical), ("Werror", Werror), ("q", q), ("v", v)]
    result = _run(text, name, cubin, settings)
    for diagnostic in result.diagnostics if warn else ():
        if diagnostic.severity == "warning":
            warnings.warn(diagnostic.message, Warning, stacklevel=2)
    return result


def _result(library: Any, made: int, diagnostics: tuple[Diagnostic, ...]) -> Result:
    status = STATUSES.get(library.ptxopt_result_status(made), "unknown")
    raw = library.ptxopt_result_report(made)
    report = read_report(json.loads(raw)) if raw else None
    if status not in ("done", "refused") or report is None:
        raise Error(status, diagnostics, report)
    length = ctypes.c_size_t()
    ptx = library.ptxopt_result_ptx(made, ctypes.byref(length))
    text = ctypes.string_at(ptx, length.value).decode("utf-8", "surrogateescape")
    code = library.ptxopt_result_cubin(made, ctypes.byref(length))
    cubin = ctypes.string_at(code, length.value) if code else None
    contract = json.loads(library.ptxopt_result_contract(made))
    words = tuple(library.ptxopt_result_assembler_options(made).decode().split())
    return Result(text, cubin, contract, report, diagnostics, words, status == "refused")


def _run(text: bytes, name: str, cubin: bool, settings: Iterable[tuple[str, Setting]]) -> Result:
    library = _library.load()
    diagnostics: list[Diagnostic] = []
    callback = _library.CALLBACK(lambda _context, pointer: diagnostics.append(diagnostic(pointer.contents)))
    options = library.ptxopt_options_new()
    module = library.ptxopt_module_from_text(os.fsencode(name), text, len(text))
    made = None
    try:
        if not options or not module:
            raise MemoryError
        set_options(library, options, settings)
        library.ptxopt_options_want_cubin(options, cubin)
        library.ptxopt_options_on_diagnostic(options, callback, None)
        made = library.ptxopt_run(module, options)
        if not made:
            raise MemoryError
        return _result(library, made, tuple(diagnostics))
    finally:
        library.ptxopt_result_free(made)
        library.ptxopt_module_free(module)
        library.ptxopt_options_free(options)
