"""run(): kernels in the emulator, on arrays in place."""
from __future__ import annotations

import ctypes
import json
import operator
import struct
from dataclasses import dataclass
from typing import Any, Mapping, Optional, Sequence, Union

from ._errors import Diagnostic, Error
from ._library import Fault as _FaultStruct
from ._library import Launch, Memory, Parameter, load

_STATUSES = {1: "input", 2: "usage", 5: "different", 6: "unverified", 7: "no memory", 8: "bug"}
_FLOATS = {"f16": "e", "f32": "f", "f64": "d"}
_CHECKS = {"races": 1, "registers": 2, "division": 4}
_COUNT_MEMORY = 8

_Extent = Union[int, Sequence[int]]


@dataclass(frozen=True)
class Execution:
    """The result of run()."""

    counters: Mapping[str, Any]
    """What was executed: warp_instructions, thread_instructions, barriers ... (docs/formats.md, "Counters"); with
    memory=True also sectors, lines and bank conflicts."""
    output: str
    """What the kernel's printf() printed."""


class Fault(Error):
    """The kernel did something forbidden, or has an instruction that is not supported. Arrays are as they then were."""

    kind: str
    """"out of bounds", "misaligned", "race" ..."""
    kernel: str
    source: str
    """The place in the CUDA source, "k.cu:12"; "": unknown."""
    block: Optional[tuple[int, ...]]
    """Of the first thread that is concerned; None: unknown."""
    thread: Optional[tuple[int, ...]]

    def __init__(self, status: str, message: str, fault: _FaultStruct) -> None:
        super().__init__(status, (Diagnostic("error", message, fault.line, fault.column, message),))
        self.kind = (fault.kind or b"").decode()
        self.kernel = (fault.kernel or b"").decode()
        self.source = (fault.source or b"").decode()
        self.block = tuple(fault.block) if fault.has_thread else None
        self.thread = tuple(fault.thread) if fault.has_thread else None

    def __reduce__(self) -> tuple[object, ...]:
        return Error, (self.status, self.diagnostics)


def _extent(what: str, value: _Extent) -> tuple[int, int, int]:
    values = [operator.index(value)] if not isinstance(value, Sequence) else [operator.index(v) for v in value]
    if not 1 <= len(values) <= 3 or any(not 1 <= v < 2**32 for v in values):
        raise ValueError(f"{what}={value!r}: expected one to three numbers from 1")
    x, y, z = values + [1] * (3 - len(values))
    return x, y, z


def _memory_of(argument: Any) -> Optional[tuple[int, int]]:
    """Address and bytes of an array; None: it is none."""
    interface = getattr(argument, "__array_interface__", None)
    if interface is not None and getattr(argument, "ndim", 1) != 0:
        address, is_read_only = interface["data"]
        if is_read_only:
            raise TypeError("an array is read-only, and the kernel might write to it")
        if not argument.flags.c_contiguous and not argument.flags.f_contiguous:
            raise TypeError("an array is not contiguous")
        return address, argument.nbytes
    if hasattr(argument, "data_ptr"):  # a tensor
        if not argument.is_contiguous() or getattr(argument.device, "type", "cpu") != "cpu":
            raise TypeError("a tensor is not contiguous, or not in the host's memory")
        return argument.data_ptr(), argument.numel() * argument.element_size()
    if isinstance(argument, (bytearray, memoryview)) or hasattr(argument, "typecode"):
        view = memoryview(argument)
        if view.readonly or not view.c_contiguous:
            raise TypeError("a buffer is read-only or not contiguous")
        return ctypes.addressof(ctypes.c_char.from_buffer(view.cast("B"))) if view.nbytes else 0, view.nbytes
    return None


def _value(argument: Any, number: int, parameter: Parameter) -> bytes:
    """The bytes of a parameter that is no array."""
    kind, size = parameter.type.decode(), parameter.size
    if argument is None:
        data = bytes(size)
    elif isinstance(argument, (bytes, ctypes.Structure, ctypes.Union, ctypes.Array, ctypes._SimpleCData)):
        data = bytes(argument)
    elif hasattr(argument, "dtype") and hasattr(argument, "tobytes"):  # a number of NumPy
        data = argument.tobytes()
    elif kind in _FLOATS and struct.calcsize(_FLOATS[kind]) == size:
        data = struct.pack("<" + _FLOATS[kind], argument)
    elif isinstance(argument, float) and size in (4, 8):
        data = struct.pack("<f" if size == 4 else "<d", argument)
    else:
        data = (operator.index(argument) % 2 ** (8 * size)).to_bytes(size, "little")
    if len(data) != size:
        raise TypeError(f"argument {number} has {len(data)} bytes, but its parameter, a {kind}, has {size}")
    return data


def _merged(extents: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """Address and bytes, by address, without overlaps: arrays may be views of one another."""
    merged: list[tuple[int, int]] = []
    for address, size in sorted(e for e in extents if e[1]):
        if merged and address < merged[-1][0] + merged[-1][1]:
            begin = merged[-1][0]
            merged[-1] = begin, max(merged[-1][1], address + size - begin)
        else:
            merged.append((address, size))
    return merged


def _raise(execution: int, status: int) -> None:
    library = load()
    message = (library.ptxopt_execution_message(execution) or b"").decode(errors="replace").rstrip("\n")
    fault = _FaultStruct()
    library.ptxopt_execution_fault(execution, ctypes.byref(fault), ctypes.sizeof(fault))
    word = _STATUSES.get(status, "bug")
    if fault.kind:
        raise Fault(word, message, fault)
    raise Error(word, (Diagnostic("error", message, 0, 0, message),))


def run(
    ptx: Union[str, bytes],
    grid: _Extent,
    block: _Extent,
    args: Sequence[Any],
    *,
    kernel: Optional[str] = None,
    dynamic_shared: int = 0,
    check: Sequence[str] = (),
    memory: bool = False,
    cores: int = 1,
    name: str = "<ptx>",
) -> Execution:
    """Runs a kernel in the emulator, which needs no GPU.

    ptx             the module
    grid, block     blocks, and threads of a block: a number or up to three; those of the original, if the kernel is
                    coarsened
    args            one for each parameter: NumPy arrays, tensors and writable buffers are changed in place, and may be
                    views of one another; numbers, which become what the parameter is; bytes and ctypes structures, by
                    value; None, a null pointer
    kernel          its name, as PTX or C++ has it, if the module has several
    dynamic_shared  bytes of each block
    check           "races", "registers" that were never written, "division" by zero: each is then a Fault, as accesses
                    out of bounds, misaligned accesses, wrong barriers and waiting for ever always are
    memory          True: count sectors, lines and bank conflicts
    cores           that may be used if that cannot change the results
    name            for messages

    Raises Fault for what the kernel must not do, and Error for PTX and launches that are wrong.
    """
    library = load()
    text = ptx.encode() if isinstance(ptx, str) else bytes(ptx)
    unknown = [c for c in ([check] if isinstance(check, str) else check) if c not in _CHECKS]
    if unknown:
        raise ValueError(f"check={unknown[0]!r}: expected 'races', 'registers' or 'division'")
    module = library.ptxopt_module_from_text(name.encode(), text, len(text))
    if not module:
        raise MemoryError
    execution = None
    try:
        wanted = None if kernel is None else kernel.encode()
        parameters = (Parameter * len(args))()
        count = library.ptxopt_module_parameters(module, wanted, parameters, len(args))
        values, extents = [], []
        for number, argument in enumerate(args):
            extent = _memory_of(argument)
            if extent:
                extents.append(extent)
                values.append(extent[0].to_bytes(8, "little"))
            else:
                values.append(_value(argument, number, parameters[number]) if count == len(args) else b"")
        buffers = [ctypes.create_string_buffer(value, max(len(value), 1)) for value in values]
        pointers = (ctypes.c_void_p * len(args))(*[ctypes.addressof(b) for b in buffers])
        merged = _merged(extents)
        memories = (Memory * len(merged))(*[Memory(b"an array", address, size) for address, size in merged])
        launch = Launch(wanted, _extent("grid", grid), _extent("block", block), dynamic_shared, pointers, len(args),
                        memories, len(merged),
                        sum(_CHECKS[c] for c in set([check] if isinstance(check, str) else check)) |
                        (_COUNT_MEMORY if memory else 0), cores)
        execution = library.ptxopt_execute(module, ctypes.byref(launch), ctypes.sizeof(launch))
        if not execution:
            raise MemoryError
        status = library.ptxopt_execution_status(execution)
        if status:
            _raise(execution, status)
        return Execution(json.loads(library.ptxopt_execution_counters(execution)),
                         library.ptxopt_execution_output(execution).decode(errors="replace"))
    finally:
        library.ptxopt_execution_free(execution)
        library.ptxopt_module_free(module)
