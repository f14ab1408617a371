"""What a rank asks of the shared disk beside its classes, in a thread of its own: who talks never waits for a disk.

A file server that is away keeps every call waiting until it is back. The run goes on then, if that is soon enough.
"""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from time import monotonic
from typing import Any, TypeVar

from yahtzee_cluster.errors import RESUMES, YahtzeeClusterError
from yahtzee_cluster.store import Store, StoreError
from yahtzee_cluster.watch import Watch

log = logging.getLogger(__name__)

DISK_TIMEOUT_S = 300
WARN_S = 10.0
"""After so long, a call that has not returned is worth a line."""
LOOK_EVERY_S = 0.5
"""How often the master makes sure that the table is still this run's, and that no worker is known to be dead."""

T = TypeVar("T")


class DiskTimeoutError(YahtzeeClusterError):
    """The disk has not answered for too long."""

    def __init__(self, path: Path, limit_s: float) -> None:
        super().__init__(path, limit_s)
        self.path = path
        self.limit_s = limit_s

    def __str__(self) -> str:
        return f"{self.path}: its disk has not answered for {self.limit_s:g} s (--disk-timeout); {RESUMES}"


class Disk:
    """One thread that does what it is asked to, one call after the other."""

    def __init__(self, path: Path, limit_s: float) -> None:
        self._path = path
        self._limit_s = limit_s
        self._thread = ThreadPoolExecutor(1, "disk")
        self._under_way: deque[Future[Any]] = deque()
        self._watch = Watch([path], limit_s)
        self._is_slow = False
        self._has_failed = False
        self._store: Store | None = None
        self._looking: Future[list[int]] | None = None
        self._looked = monotonic()
        self.dead: list[int] = []
        """The workers that are known to have died."""

    def begin(self, work: Callable[[], T]) -> Future[T]:
        """Have something done; what goes wrong with it is raised by `check`, at the latest."""
        if self._has_failed:
            raise DiskTimeoutError(self._path, self._limit_s)
        future = self._thread.submit(self._done, work)
        self._under_way.append(future)
        return future

    def attend(self, store: Store | None) -> None:
        """Look at the table of this run now and then, from here on; or at none any more."""
        self._store = store

    def check(self) -> None:
        """Raise what went wrong; complain of a call that takes too long. To be called often."""
        if self._has_failed:
            raise DiskTimeoutError(self._path, self._limit_s)
        while self._under_way and self._under_way[0].done():
            self._under_way.popleft().result()
            self._watch.heard(self._path)
        if not self._under_way:
            self._watch.heard(self._path)
        self._look()
        if self._watch.lost() is not None:
            self._has_failed = True
            raise DiskTimeoutError(self._path, self._limit_s)
        if self._is_slow != (self._watch.silence(self._path) > WARN_S):
            self._is_slow = not self._is_slow
            if self._is_slow:
                patience = f"the run waits for up to {self._limit_s:g} s (--disk-timeout)"
                log.warning("%s: its disk has not answered for %g s; %s", self._path, WARN_S, patience)
            else:
                log.warning("%s: its disk answers again", self._path)

    @property
    def at_rest(self) -> bool:
        """Whether every call has returned."""
        return all(future.done() for future in self._under_way)

    def _look(self) -> None:
        """Ask who is dead, unless that was asked just now; if the table is not this run's, that is an error."""
        if self._looking is not None and self._looking.done():
            self.dead, self._looking, self._looked = self._looking.result(), None, monotonic()
        if self._store is not None and self._looking is None and monotonic() - self._looked > LOOK_EVERY_S:
            self._looking = self.begin(self._store.dead)

    def _done(self, work: Callable[[], T]) -> T:
        try:
            return work()
        except OSError as error:
            raise StoreError(f"{self._path}: {error}") from error
