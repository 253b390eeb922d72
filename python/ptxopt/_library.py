"""libptxopt.so, and the types of its functions (ptxopt.h)."""
from __future__ import annotations

import ctypes
import functools
import os
import pathlib
from typing import Any

_HERE = pathlib.Path(__file__).parent
_SONAME = "libptxopt.so.0"


class DiagnosticStruct(ctypes.Structure):
    """ptxopt_diagnostic."""

    _fields_ = [("severity", ctypes.c_int), ("name", ctypes.c_char_p), ("line", ctypes.c_uint),
                ("column", ctypes.c_uint), ("message", ctypes.c_char_p), ("text", ctypes.c_char_p)]


class Memory(ctypes.Structure):
    """ptxopt_memory."""

    _fields_ = [("name", ctypes.c_char_p), ("bytes", ctypes.c_void_p), ("size", ctypes.c_size_t)]


class Launch(ctypes.Structure):
    """ptxopt_launch."""

    _fields_ = [("kernel", ctypes.c_char_p), ("grid", ctypes.c_uint * 3), ("block", ctypes.c_uint * 3),
                ("dynamic_shared", ctypes.c_size_t), ("arguments", ctypes.POINTER(ctypes.c_void_p)),
                ("argument_count", ctypes.c_size_t), ("memories", ctypes.POINTER(Memory)),
                ("memory_count", ctypes.c_size_t), ("checks", ctypes.c_uint), ("cores", ctypes.c_uint)]


class Fault(ctypes.Structure):
    """ptxopt_fault."""

    _fields_ = [("kind", ctypes.c_char_p), ("kernel", ctypes.c_char_p), ("function", ctypes.c_char_p),
                ("source", ctypes.c_char_p), ("line", ctypes.c_uint), ("column", ctypes.c_uint),
                ("has_thread", ctypes.c_int), ("block", ctypes.c_uint * 3), ("thread", ctypes.c_uint * 3)]


class Parameter(ctypes.Structure):
    """ptxopt_parameter."""

    _fields_ = [("type", ctypes.c_char * 8), ("size", ctypes.c_size_t)]


CALLBACK = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.POINTER(DiagnosticStruct))

_POINTER, _TEXT, _INT = ctypes.c_void_p, ctypes.c_char_p, ctypes.c_int
_LENGTH = ctypes.POINTER(ctypes.c_size_t)
_FUNCTIONS: dict[str, tuple[Any, list[Any]]] = {
    "ptxopt_version": (_TEXT, []),
    "ptxopt_options_new": (_POINTER, []),
    "ptxopt_options_free": (None, [_POINTER]),
    "ptxopt_options_set": (_INT, [_POINTER, _TEXT, _TEXT]),
    "ptxopt_options_error": (_TEXT, [_POINTER]),
    "ptxopt_options_python_folder": (_INT, [_POINTER, _TEXT]),
    "ptxopt_options_want_cubin": (None, [_POINTER, _INT]),
    "ptxopt_options_on_diagnostic": (None, [_POINTER, CALLBACK, _POINTER]),
    "ptxopt_module_from_text": (_POINTER, [_TEXT, _TEXT, ctypes.c_size_t]),
    "ptxopt_module_free": (None, [_POINTER]),
    "ptxopt_run": (_POINTER, [_POINTER, _POINTER]),
    "ptxopt_result_free": (None, [_POINTER]),
    "ptxopt_result_status": (_INT, [_POINTER]),
    "ptxopt_result_ptx": (_POINTER, [_POINTER, _LENGTH]),
    "ptxopt_result_cubin": (_POINTER, [_POINTER, _LENGTH]),
    "ptxopt_result_contract": (_TEXT, [_POINTER]),
    "ptxopt_result_assembler_options": (_TEXT, [_POINTER]),
    "ptxopt_result_report": (_TEXT, [_POINTER]),
    "ptxopt_execute": (_POINTER, [_POINTER, ctypes.POINTER(Launch), ctypes.c_size_t]),
    "ptxopt_execution_free": (None, [_POINTER]),
    "ptxopt_execution_status": (_INT, [_POINTER]),
    "ptxopt_execution_message": (_TEXT, [_POINTER]),
    "ptxopt_execution_output": (_TEXT, [_POINTER]),
    "ptxopt_execution_counters": (_TEXT, [_POINTER]),
    "ptxopt_execution_fault": (None, [_POINTER, ctypes.POINTER(Fault), ctypes.c_size_t]),
    "ptxopt_view": (_POINTER, [_POINTER, _POINTER, _POINTER]),
    "ptxopt_picture_free": (None, [_POINTER]),
    "ptxopt_picture_status": (_INT, [_POINTER]),
    "ptxopt_picture_text": (_TEXT, [_POINTER]),
    "ptxopt_picture_page": (_TEXT, [_POINTER]),
    "ptxopt_module_parameters": (_INT, [_POINTER, _TEXT, ctypes.POINTER(Parameter), ctypes.c_size_t]),
}


@functools.cache
def load() -> ctypes.CDLL:
    """The library that $PTXOPT_LIBRARY names, or the one in this package with the libraries that it needs, or the
    system's."""
    named = os.environ.get("PTXOPT_LIBRARY")
    own = _HERE / _SONAME
    if not named and own.exists():
        # In the order in which they need each other; one that is loaded is found by its name.
        for line in (_HERE / "needed.txt").read_text().split():
            ctypes.CDLL(str(_HERE / line))
    library = ctypes.CDLL(named or (str(own) if own.exists() else _SONAME))
    for name, (result, arguments) in _FUNCTIONS.items():
        function = getattr(library, name)
        function.restype, function.argtypes = result, arguments
    return library
