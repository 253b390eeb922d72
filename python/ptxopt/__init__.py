"""ptxopt: changes PTX so that kernels need fewer threads and registers.

    import ptxopt
    result = ptxopt.optimize(ptx, coarsen=2, target_regs="auto", block=256)
    result.text                                # the PTX
    result.kernel("scale").after.registers     # what was done, and the assembler's figures
    result.launch("scale", 256)                # the block for the coarsened kernel: (128, 1, 1)

A coarsened kernel must be launched by its contract: result.launch(kernel, block) gives the block for it, and
result.launch_grid(kernel, grid, block, shared) all that a contract may change. If several forms of a kernel are kept,
result.launch_form(kernel, grid, block, shared, multiprocessors=...) also gives the entry to launch.

    ptxopt.run(ptx, grid, block, [x, y, n])    # a kernel in the emulator, on NumPy arrays in place: no GPU
    ptxopt.view(ptx, result, block=256)        # its registers before and after, as a picture in a notebook

optimize() raises OptionError for a wrong option and Error, with line, column and reason, for PTX that cannot be
processed. A refusal is a Warning, and the kernel stays as it was.
"""
from importlib import metadata as _metadata

from ._contract import Contract, LaunchError
from ._errors import Diagnostic, Error, OptionError, Warning
from ._optimize import optimize, version
from ._report import (Assembler, Coarsening, Figures, Form, Interval, KernelReport, Occupancy, Registers, Report, State)
from ._result import Result
from ._run import Execution, Fault, run
from ._view import Picture, view

try:
    __version__ = _metadata.version("ptxopt")
except _metadata.PackageNotFoundError:  # a source tree on sys.path
    __version__ = "0"

__all__ = ["Assembler", "Coarsening", "Contract", "Diagnostic", "Error", "Execution", "Fault", "Figures", "Form",
           "Interval", "KernelReport", "LaunchError", "Occupancy", "OptionError", "Picture", "Registers", "Report", "Result", "State",
           "Warning", "__version__", "optimize", "run", "version", "view"]
