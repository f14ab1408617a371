"""The memory of a worker: blocks of classes, bounded in bytes.

Room is taken before a block is filled, so that the bound holds while it is being read or computed.
What somebody still needs is *held*; everything else goes when room is wanted, the longest unused first.
"""

from __future__ import annotations

import mmap
from collections import Counter, OrderedDict
from collections.abc import Callable, Sized
from typing import Generic, TypeVar

from yahtzee_cluster.partition import ClassId

PAGE_BYTES = 4096
HUGE_BYTES = 1 << 21
"""From here on memory is asked for in huge pages, which come several times as fast."""


def size_of(n_values: int) -> int:
    """How many bytes so many values take: whole pages, and never none."""
    return max(1, -(-8 * n_values // PAGE_BYTES)) * PAGE_BYTES


def new_memory(n_bytes: int) -> mmap.mmap:
    """Memory that goes back to the system as soon as it is dropped; `malloc` would keep some of it."""
    memory = mmap.mmap(-1, n_bytes, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    if n_bytes >= HUGE_BYTES:
        memory.madvise(mmap.MADV_HUGEPAGE)
    return memory


Memory = TypeVar("Memory", bound=Sized)


class Cache(Generic[Memory]):
    """Which classes are in memory, and the memory of each."""

    def __init__(self, limit_bytes: int, new: Callable[[int], Memory]) -> None:
        self.limit_bytes = limit_bytes
        self.used_bytes = 0
        self.peak_bytes = 0
        self._held_bytes = 0
        self._new = new
        self._kept: OrderedDict[ClassId, Memory] = OrderedDict()
        self._holders: Counter[ClassId] = Counter()

    def __contains__(self, cls: ClassId) -> bool:
        return cls in self._kept

    def __getitem__(self, cls: ClassId) -> Memory:
        """The memory of a class."""
        self._kept.move_to_end(cls)
        return self._kept[cls]

    def take(self, cls: ClassId, n_bytes: int) -> list[ClassId] | None:
        """Make room for a class; say which others went for it, or None if too many are held."""
        if self._held_bytes + n_bytes > self.limit_bytes:
            return None
        assert cls not in self._kept
        gone: list[ClassId] = []
        missing = self.used_bytes + n_bytes - self.limit_bytes
        for other, memory in self._kept.items():
            if missing <= 0:
                break
            if not self._holders[other]:
                gone.append(other)
                missing -= len(memory)
        for other in gone:
            self.drop(other)
        self._kept[cls] = self._new(n_bytes)
        self._held_bytes += n_bytes if self._holders[cls] else 0
        self.used_bytes += n_bytes
        self.peak_bytes = max(self.peak_bytes, self.used_bytes)
        return gone

    def drop(self, cls: ClassId) -> bool:
        """Forget a class, unless somebody holds it; say whether it is gone by that."""
        if cls not in self._kept or self._holders[cls]:
            return False
        self.used_bytes -= len(self._kept.pop(cls))
        return True

    def hold(self, cls: ClassId) -> None:
        """Promise that a class stays, once it is there, until it is let go as often as it was held."""
        self._holders[cls] += 1
        if self._holders[cls] == 1 and cls in self._kept:
            self._held_bytes += len(self._kept[cls])

    def let_go(self, cls: ClassId) -> None:
        """Take one promise back."""
        assert self._holders[cls] > 0
        self._holders[cls] -= 1
        if not self._holders[cls]:
            del self._holders[cls]
            if cls in self._kept:
                self._held_bytes -= len(self._kept[cls])
