"""How a coarsened kernel must be launched."""
from __future__ import annotations

import operator
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Optional, SupportsIndex, Union

Size = Union[SupportsIndex, Iterable[SupportsIndex]]
Triple = tuple[int, int, int]
# The limits of a block: its threads, and those along z.
MOST_THREADS, MOST_ALONG_Z = 1024, 64
MOST_BLOCKS, MOST_OTHER_BLOCKS = 2**31 - 1, 65535


class LaunchError(ValueError):
    """A launch of a kernel that the module does not have, or one that does not meet a contract."""


def triple(size: Size, what: str) -> Triple:
    """A size as CUDA has it: one to three numbers from 1."""
    given = size if isinstance(size, Iterable) else (size,)
    numbers = tuple(operator.index(number) for number in given)
    if not 1 <= len(numbers) <= 3 or min(numbers) < 1:
        raise LaunchError(f"the {what} is {numbers}, not one to three numbers from 1")
    x, y, z = numbers + (1,) * (3 - len(numbers))
    return x, y, z


@dataclass(frozen=True)
class Contract:
    """How the launch of a coarsened kernel differs from the original's (docs/formats.md)."""

    kernel: str
    level: str
    """"thread" or "block": what is merged; "grown": blocks grow, and perhaps that, too; "refined": the block or the grid
    grows, or both."""
    factor: Triple
    """Along x, y and z."""
    stride: Union[str, int]
    conditions: tuple[str, ...]
    """What a launch of the original must meet, in words."""
    block_before: Optional[Triple] = None
    """The only block that the original may be launched with; None: any that meets the conditions."""
    block_after: Optional[Triple] = None
    grown: Triple = (1, 1, 1)
    """The block is multiplied by these before it is divided."""
    grid_divisors: Triple = (1, 1, 1)
    """The grid is divided by these ..."""
    grid_factors: Triple = (1, 1, 1)
    """... or multiplied by these."""
    shared_unit: int = 1
    """Dynamic shared memory is rounded up to a multiple of this ..."""
    shared_times: int = 1
    """... and multiplied by that."""
    whole_warps: bool = False
    stride_unit: int = 1
    raw: Mapping[str, Any] = field(default_factory=dict, repr=False, compare=False)
    """All of it, as in the JSON of -launch-out."""

    @classmethod
    def read(cls, raw: Mapping[str, Any]) -> Contract:
        """From the JSON of -launch-out: one of its "kernels"."""
        grid, shared = raw.get("grid", "unchanged"), raw.get("dynamic_shared", "unchanged")
        before, after = raw.get("block_before"), raw.get("block_after")
        return cls(raw["kernel"], raw["level"], triple(raw["factor"], "factor"), raw["stride"],
                   tuple(raw["conditions"]), triple(before, "block") if before else None,
                   triple(after, "block") if after else None,
                   triple(raw.get("grown", (1, 1, 1)), "grown"),
                   (1, 1, 1) if grid == "unchanged" else triple(grid["divided_by"], "grid"),
                   (1, 1, 1) if grid == "unchanged" else triple(grid.get("multiplied_by", (1, 1, 1)), "grid"),
                   1 if shared == "unchanged" else shared["rounded_up_to"],
                   1 if shared == "unchanged" else shared["times"],
                   bool(raw.get("whole_warps", False)), raw.get("stride_unit", 1), raw)

    def __getitem__(self, name: str) -> Any:
        """A member of the JSON."""
        return self.raw[name]

    @property
    def changes_grid(self) -> bool:
        return self.grid_divisors != (1, 1, 1) or self.grid_factors != (1, 1, 1)

    def launch(self, grid: Size, block: Size, shared: int = 0) -> tuple[Triple, Triple, int]:
        """The grid, the block and the bytes of dynamic shared memory for the coarsened kernel, where the original is
        launched with these. Raises LaunchError where the contract does not allow that."""
        grid, block = triple(grid, "grid"), triple(block, "block")
        if self.level not in ("thread", "block", "grown", "refined"):
            raise LaunchError(f"{self.kernel}: contracts of level {self.level!r} are not known here")
        after = self._block(block)
        if any(g % d for g, d in zip(grid, self.grid_divisors)):
            raise self._unmet(f"a grid of {grid}")
        x, y, z = (g // d * f for g, d, f in zip(grid, self.grid_divisors, self.grid_factors))
        if self.grid_factors != (1, 1, 1) and (x > MOST_BLOCKS or max(y, z) > MOST_OTHER_BLOCKS):
            raise self._unmet(f"a grid of {grid}")
        return (x, y, z), after, -(-shared // self.shared_unit) * self.shared_unit * self.shared_times

    def _unmet(self, what: str) -> LaunchError:
        return LaunchError(f"{self.kernel}: {what} does not meet: {'; '.join(self.conditions)}")

    def _block(self, block: Triple) -> Triple:
        if self.block_before and self.block_before != block:
            raise LaunchError(f"{self.kernel} is coarsened for blocks of {self.block_before}, not of {block}")
        x, y, z = after = tuple(-(-b * g // f) for b, g, f in zip(block, self.grown, self.factor))
        for b, g, f, s, a in zip(block, self.grown, self.factor, self.grid_factors, after):
            if (not self.block_before and b * g % f) or (max(f, s) > 1 and a % self.stride_unit):
                raise self._unmet(f"a block of {block}")
        if self.whole_warps and max(self.factor) > 1 and self._joined(after) % 32:
            raise self._unmet(f"a block of {block}")
        if self.level in ("grown", "refined") and (x * y * z > MOST_THREADS or z > MOST_ALONG_Z):
            raise self._unmet(f"a block of {block}")
        return x, y, z

    def _joined(self, after: tuple[int, ...]) -> int:
        """The threads between two that are merged, which are to be whole warps."""
        last = max(i for i in range(3) if self.factor[i] > 1) if max(self.factor[1:]) > 1 else 0
        return after[0] if self.factor[0] > 1 else after[0] * after[1] * (after[2] if last == 2 else 1)
