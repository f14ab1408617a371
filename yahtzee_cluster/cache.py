"""The memory of a worker: blocks of classes, bounded in bytes.

Room is taken before a block is filled, so that the bound holds while it is being read or computed.
What somebody still needs is *held*; everything else goes when room is wanted, the longest unused first.
"""

from __future__ import annotations

from collections import Counter, OrderedDict
from typing import Generic, TypeVar

from yahtzee_cluster.partition import ClassId

Kept = TypeVar("Kept")


class Cache(Generic[Kept]):
    """What is kept of classes, with its size; what is kept itself is nobody's business here."""

    def __init__(self, limit_bytes: int) -> None:
        self.limit_bytes = limit_bytes
        self.used_bytes = 0
        self.peak_bytes = 0
        self._kept: OrderedDict[ClassId, tuple[Kept, int]] = OrderedDict()
        self._holders: Counter[ClassId] = Counter()

    def __contains__(self, cls: ClassId) -> bool:
        return cls in self._kept

    def __getitem__(self, cls: ClassId) -> Kept:
        self._kept.move_to_end(cls)
        return self._kept[cls][0]

    @property
    def free_bytes(self) -> int:
        """How much could be added without dropping anything that is held."""
        held = sum(size for cls, (_, size) in self._kept.items() if self._holders[cls])
        return self.limit_bytes - held

    def make_room(self, n_bytes: int) -> list[ClassId] | None:
        """Drop what nobody holds until so many bytes can be added; say what went, or None if that cannot be done."""
        if n_bytes > self.free_bytes:
            return None
        dropped = []
        for cls in [cls for cls in self._kept if not self._holders[cls]]:
            if self.used_bytes + n_bytes <= self.limit_bytes:
                break
            self.drop(cls)
            dropped.append(cls)
        return dropped

    def add(self, cls: ClassId, kept: Kept, n_bytes: int) -> None:
        """Keep something of a class, for which there must be room."""
        assert cls not in self._kept
        assert self.used_bytes + n_bytes <= self.limit_bytes
        self._kept[cls] = kept, n_bytes
        self.used_bytes += n_bytes
        self.peak_bytes = max(self.peak_bytes, self.used_bytes)

    def drop(self, cls: ClassId) -> bool:
        """Forget a class, unless somebody holds it; say whether it is gone by that."""
        if cls not in self._kept or self._holders[cls]:
            return False
        self.used_bytes -= self._kept.pop(cls)[1]
        return True

    def hold(self, cls: ClassId) -> None:
        """Promise that a class stays until it is let go as often as it was held."""
        self._holders[cls] += 1

    def let_go(self, cls: ClassId) -> None:
        """Take one promise back."""
        assert self._holders[cls] > 0
        self._holders[cls] -= 1
        if not self._holders[cls]:
            del self._holders[cls]
