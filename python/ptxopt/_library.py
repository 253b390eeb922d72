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
