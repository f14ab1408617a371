"""The cache of a worker, bounded in bytes. This is the bookkeeping only; it does not hold the values.

Space is reserved before a class is read or computed, so that the bound holds at all times.
Classes in use are pinned (`pin`, `unpin`); the others are evicted when space is needed, least recently used first.
"""

from __future__ import annotations

from collections import Counter, OrderedDict

from yahtzee_cluster.engine.partition import ClassId

PAGE_BYTES = 4096


def size_of(n_values: int) -> int:
    """Memory that a class of `n_values` values takes: whole pages, at least one."""
    return max(1, -(-8 * n_values // PAGE_BYTES)) * PAGE_BYTES


class Cache:
    """The classes in memory with their sizes; a class may be pinned several times."""

    def __init__(self, limit_bytes: int) -> None:
        self.limit_bytes = limit_bytes
        self.used_bytes = 0
        self.peak_bytes = 0
        self._held_bytes = 0
        self._sizes: OrderedDict[ClassId, int] = OrderedDict()
        self._holders: Counter[ClassId] = Counter()

    def __contains__(self, cls: ClassId) -> bool:
        return cls in self._sizes

    def take(self, cls: ClassId, n_bytes: int) -> list[ClassId] | None:
        """Reserve space for a class; return the classes evicted for it, or None if too much is pinned."""
        if self._held_bytes + n_bytes > self.limit_bytes:
            return None
        assert cls not in self._sizes
        gone: list[ClassId] = []
        missing = self.used_bytes + n_bytes - self.limit_bytes
        for other, size in self._sizes.items():
            if missing <= 0:
                break
            if not self._holders[other]:
                gone.append(other)
                missing -= size
        for other in gone:
            self.drop(other)
        self._sizes[cls] = n_bytes
        self._held_bytes += n_bytes if self._holders[cls] else 0
        self.used_bytes += n_bytes
        self.peak_bytes = max(self.peak_bytes, self.used_bytes)
        return gone

    def drop(self, cls: ClassId) -> bool:
        """Evict a class unless it is pinned; return whether it was evicted."""
        if cls not in self._sizes or self._holders[cls]:
            return False
        self.used_bytes -= self._sizes.pop(cls)
        return True

    def pin(self, cls: ClassId) -> None:
        """Pin a class, present or not, until `unpin` has been called as often as `pin`."""
        self._holders[cls] += 1
        if cls in self._sizes:
            self._sizes.move_to_end(cls)
            if self._holders[cls] == 1:
                self._held_bytes += self._sizes[cls]

    def unpin(self, cls: ClassId) -> None:
        """Undo one call of `pin`."""
        assert self._holders[cls] > 0
        self._holders[cls] -= 1
        if not self._holders[cls]:
            del self._holders[cls]
            self._held_bytes -= self._sizes.get(cls, 0)
