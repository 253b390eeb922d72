"""Messages, exceptions and the warning."""
from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Optional

if TYPE_CHECKING:
    from ._report import Report


@dataclass(frozen=True)
class Diagnostic:
    """A message of ptxopt. str() of it is as the program prints it, with the line of the source."""

    severity: str
    """"note", "warning" or "error"."""
    message: str
    line: int
    """Of the PTX, from 1; 0 if the message is not about a place in it."""
    column: int
    """From 1; 0 as line."""
    text: str

    def __str__(self) -> str:
        return self.text.rstrip("\n")

    def __repr__(self) -> str:
        place = f" at {self.line}:{self.column}" if self.line else ""
        return f"<{self.severity}{place}: {self.message}>"


class Error(Exception):
    """Nothing was made of the PTX. str() of it is all that ptxopt says, with the lines of the source."""

    status: str
    """"input": the PTX is wrong, or an assembler is needed and there is none; "usage": options do not fit the module;
    "rejected": by the assembler; "different": verify= found a difference; "unverified": verify= could not run it;
    "no memory"; "bug"."""
    diagnostics: tuple[Diagnostic, ...]
    report: Optional[Report]
    """What a run that ended in "different" or "unverified" found out."""

    def __init__(self, status: str, diagnostics: tuple[Diagnostic, ...], report: Optional[Report] = None) -> None:
        self.status, self.diagnostics, self.report = status, diagnostics, report
        errors = [str(d) for d in diagnostics if d.severity == "error"]
        super().__init__("\n".join(errors or map(str, diagnostics)) or status)

    def _first(self) -> Optional[Diagnostic]:
        errors = [d for d in self.diagnostics if d.severity == "error"]
        return next(iter(errors or self.diagnostics), None)

    @property
    def reason(self) -> str:
        """The first error, in one line."""
        first = self._first()
        return first.message if first else self.status

    @property
    def line(self) -> int:
        """The line of the first error in the PTX, from 1; 0 if it is not about a place in it."""
        first = self._first()
        return first.line if first else 0

    @property
    def column(self) -> int:
        """From 1; 0 as line."""
        first = self._first()
        return first.column if first else 0

    def __reduce__(self) -> tuple[object, ...]:
        return type(self), (self.status, self.diagnostics, self.report)


class OptionError(ValueError):
    """An option of optimize() has a value that it cannot have."""


class Warning(UserWarning):
    """A warning of optimize(), such as a kernel that is not coarsened, and the reason."""
