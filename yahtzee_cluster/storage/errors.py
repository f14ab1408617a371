"""Errors of tables on disk."""

from __future__ import annotations

from pathlib import Path

from yahtzee_cluster.errors import UsageError, YahtzeeClusterError


class StoreError(YahtzeeClusterError):
    """A table on disk cannot be read or written."""


class DamagedError(StoreError):
    """The bytes of a class are not those that were committed."""


class DroppedError(DamagedError):
    """The values of a class were dropped (--keep frontier), because no remaining class depends on them."""


class StoreRefusedError(UsageError):
    """The directory cannot be used for the requested table."""


class SubsetError(UsageError, IndexError):
    """A table was asked for what is no subset of its elements, or has no entries."""


class ReplacedError(StoreError):
    """The directory no longer belongs to this run, or the run of this rank has ended."""

    ends_at_once = True

    def __init__(self, path: Path, what: str = "was removed, or taken over by another run, while this one wrote it"):
        super().__init__(path, what)
        self.path = path
        self.what = what

    def __str__(self) -> str:
        return f"{self.path}: {self.what}; nothing more is written"
