"""view(): the registers of a kernel's machine code as a picture."""
from __future__ import annotations

import ctypes
import html
import os
from dataclasses import dataclass, field
from typing import Any, Mapping, Optional, Sequence, Union

from ._errors import Diagnostic, Error
from ._library import CALLBACK, load
from ._options import STATUSES, by_kernel, diagnostic, one, set_options, text_of
from ._result import Result

_Text = Union[str, bytes]


@dataclass(frozen=True)
class Picture:
    """The result of view(). A notebook shows the page; str() of it is the text."""

    text: str = field(repr=False)
    """The picture for a terminal: a suggestion, the reasons for the number of registers, and each machine instruction."""
    page: str = field(repr=False)
    """One HTML file, which needs no other: write it to a file, and open that in a browser."""
    diagnostics: Sequence[Diagnostic] = ()

    def __str__(self) -> str:
        return self.text

    def _repr_html_(self) -> str:
        """In a frame of its own, so that its styles and keys do not meet those of the notebook."""
        return (f'<iframe srcdoc="{html.escape(self.page)}" sandbox="allow-scripts" '
                f'style="width: 100%; height: 40em; border: 0"></iframe>')


def view(
    ptx: _Text,
    after: Union[_Text, Result, None] = None,
    *,
    entry: Optional[str] = None,
    arch: Optional[str] = None,
    block: Union[None, int, str, Sequence[int], Mapping[str, Any]] = None,
    dynamic_shared: Union[None, int, Mapping[str, int]] = None,
    launch: Union[None, str, os.PathLike[str]] = None,
    assembler: Optional[str] = None,
    name: str = "<ptx>",
) -> Picture:
    """Draws which registers each machine instruction of a kernel reads, writes and keeps.

    ptx             the module
    after           the same after a change, or the result of optimize(): both forms side by side
    entry           the kernel, if there are several
    arch            "sm_90" (the module's .target)
    block           threads of a block of the original kernel, as for optimize()
    dynamic_shared  bytes of each block
    launch          a launch file: how often each instruction is executed
    assembler       "ptxas", "nvjitlink", "driver" or "auto"
    name            for messages

    Without one of NVIDIA's assemblers, or nvdisasm, the picture is that of the PTX, and the diagnostics say what is missing.
    Raises Error, with the reason, if there is no picture.
    """
    library = load()
    texts = [text_of(ptx)]
    if after is not None:
        texts.append(text_of(after.text if isinstance(after, Result) else after))
    heard: list[Diagnostic] = []

    def hear(_: object, d: Any) -> None:
        heard.append(diagnostic(d.contents))

    callback = CALLBACK(hear)
    options = library.ptxopt_options_new()
    names = [name, f"{name} (after)"]
    modules = [library.ptxopt_module_from_text(n.encode(), t, len(t)) for n, t in zip(names, texts)]
    picture = None
    try:
        if not options or not all(modules):
            raise MemoryError
        set_options(library, options, [("entry", one(entry)), ("arch", one(arch)), ("block", by_kernel("block", block)),
                                       ("dynamic-shared", by_kernel("dynamic_shared", dynamic_shared)),
                                       ("launch", one(launch)), ("assembler", one(assembler))])
        library.ptxopt_options_on_diagnostic(options, callback, None)
        picture = library.ptxopt_view(modules[0], modules[1] if len(modules) > 1 else None, options)
        if not picture:
            raise MemoryError
        status = library.ptxopt_picture_status(picture)
        if status:
            raise Error(STATUSES.get(status, "unknown"), tuple(heard))
        return Picture(library.ptxopt_picture_text(picture).decode("utf-8", "replace"),
                       library.ptxopt_picture_page(picture).decode("utf-8", "replace"), tuple(heard))
    finally:
        library.ptxopt_picture_free(picture)
        for module in modules:
            library.ptxopt_module_free(module)
        library.ptxopt_options_free(options)
