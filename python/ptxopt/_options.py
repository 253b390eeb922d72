"""Options of the library, from what a caller of the package says."""
from __future__ import annotations

import importlib.util
import os
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Optional, Union

from ._errors import Diagnostic, OptionError

STATUSES = {0: "done", 1: "input", 2: "usage", 3: "refused", 4: "rejected", 5: "different", 6: "unverified",
            7: "no memory", 8: "bug"}
SEVERITIES = ("note", "warning", "error")

# The setting of an option: words, possibly none; or whether it is set.
Setting = Union[list[str], bool]


def text_of(ptx: object) -> bytes:
    if isinstance(ptx, str):
        return ptx.encode("utf-8", "surrogateescape")
    if isinstance(ptx, (bytes, bytearray, memoryview)):
        return bytes(ptx)
    raise TypeError(f"ptx is {type(ptx).__name__}, but must be the text of PTX: str, or bytes")


def word(value: object) -> str:
    if isinstance(value, os.PathLike):
        return os.fsdecode(value)
    return value if isinstance(value, str) else str(value)


def elements_of(value: object) -> Optional[list[object]]:
    """The elements of a collection; None for a text, a path and other single values."""
    is_list = isinstance(value, Iterable) and not isinstance(value, (str, bytes, Mapping, os.PathLike))
    return list(value) if is_list else None  # type: ignore[call-overload]


def one(value: object) -> list[str]:
    return [] if value is None else [word(value)]


def several(value: object) -> list[str]:
    """An option that may be repeated."""
    elements = elements_of(value)
    return one(value) if elements is None else [word(element) for element in elements]


def joined(value: object) -> list[str]:
    """An option with a list of words."""
    words = several(value)
    return [",".join(words)] if words else []


def by_kernel(name: str, value: object, several: bool = False) -> list[str]:
    """One value, or a dictionary with one by kernel. Each element of a list is a value if there may be several;
    otherwise, as for a tuple, all together are one."""
    if isinstance(value, Mapping):
        return [f"{kernel}:{word}" for kernel, one in value.items() for word in by_kernel(name, one, several)]
    if several and isinstance(value, list):
        return [word(element) for element in value]
    if isinstance(value, bool):
        raise OptionError(f"{name}: {value} is not a value for it")
    return joined(value)


def package_folders() -> list[str]:
    """The folders in which this Python finds NVIDIA's wheels and Triton: the assembler may be there."""
    folders: list[str] = []
    for package in ("nvidia", "triton"):
        try:
            spec = importlib.util.find_spec(package)
        except (ImportError, ValueError):
            continue
        for path in (spec.submodule_search_locations or ()) if spec else ():
            folder = os.path.dirname(os.path.abspath(path))
            if folder not in folders:
                folders.append(folder)
    return folders


def set_options(library: Any, options: int, settings: Iterable[tuple[str, Setting]]) -> None:
    for name, value in settings:
        words: Sequence[Optional[str]] = ([None] if value else []) if isinstance(value, bool) else value
        for word in words:
            text = None if word is None else os.fsencode(word)
            if library.ptxopt_options_set(options, name.encode(), text):
                raise OptionError(library.ptxopt_options_error(options).decode())
    for folder in package_folders():
        library.ptxopt_options_python_folder(options, os.fsencode(folder))


def diagnostic(d: Any) -> Diagnostic:
    return Diagnostic(SEVERITIES[d.severity], d.message.decode("utf-8", "replace"), d.line, d.column,
                      d.text.decode("utf-8", "replace"))
