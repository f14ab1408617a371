"""What a rank asks of the shared disk beside its classes, in a thread of its own: who talks never waits for a disk.

A file server that is away keeps every call waiting until it is back. The run goes on then, if that is soon enough.
"""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Callable, Collection
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from time import monotonic
from typing import Any, TypeVar

from yahtzee_cluster.errors import RESUMES, YahtzeeClusterError
from yahtzee_cluster.runtime.heartbeat import Watch
from yahtzee_cluster.storage.errors import StoreError
from yahtzee_cluster.storage.run_directory import RunDirectory
from yahtzee_cluster.storage.store import Store

log = logging.getLogger(__name__)

DISK_TIMEOUT_S = 300
WARN_S, WARN_SHARE = 10.0, 0.25
"""A call that has not returned after so long, or this share of the time it has, is worth a line."""
LOOK_EVERY_S = 0.5
"""How often the master makes sure that the table is still this run's, and that no worker is known to be dead."""

DISK = "disk"

T = TypeVar("T")


class DiskTimeoutError(YahtzeeClusterError):
    """The disk has not answered for too long."""

    ends_at_once = True

    def __init__(self, path: Path, limit_s: float) -> None:
        super().__init__(path, limit_s)
        self.path = path
        self.limit_s = limit_s

    def __str__(self) -> str:
        return f"{self.path}: its disk has not answered for {self.limit_s:g} s (--disk-timeout); {RESUMES}"


class Patience:
    """Measures how long calls to the disk take, by kind; warns of one that takes long, gives up on one that hangs."""

    def __init__(self, path: Path, limit_s: float, kinds: Collection[str]) -> None:
        self._path = path
        self._watch = Watch(kinds, limit_s)
        self._kinds = kinds
        self._is_slow = False
        self.is_over = False

    def answered(self, kind: str) -> None:
        """A call has returned."""
        self._watch.heard(kind)

    def check(self, under_way: Collection[str]) -> None:
        """Complain, if need be, of the calls that are under way. To be called often."""
        if self.is_over:
            raise DiskTimeoutError(self._path, self._watch.limit_s)
        for kind in self._kinds:
            if kind not in under_way:
                self._watch.heard(kind)
        self.is_over = self._watch.lost() is not None
        if self.is_over:
            raise DiskTimeoutError(self._path, self._watch.limit_s)
        warn_s = min(WARN_S, WARN_SHARE * self._watch.limit_s)
        is_slow = any(self._watch.silence(kind) > warn_s for kind in self._kinds)
        if is_slow and not self._is_slow:
            patience = f"the run waits for up to {self._watch.limit_s:g} s (--disk-timeout)"
            log.warning("%s: its disk has not answered for %g s; %s", self._path, warn_s, patience)
        if self._is_slow and not is_slow:
            log.warning("%s: its disk answers again", self._path)
        self._is_slow = is_slow


class Disk:
    """One thread that does what it is asked to, one call after the other."""

    def __init__(self, path: Path, limit_s: float) -> None:
        self._path = path
        self._thread = ThreadPoolExecutor(1, "disk")
        self._under_way: deque[Future[Any]] = deque()
        self._patience = Patience(path, limit_s, [DISK])
        self._run: RunDirectory | None = None
        self._looking: Future[list[int]] | None = None
        self._looked = monotonic()
        self.dead: list[int] = []
        """The workers that are known to have died."""

    def begin(self, work: Callable[[], T]) -> Future[T]:
        """Have something done; what goes wrong with it is raised by `check`, at the latest."""
        self._patience.check([DISK] if self._under_way else [])
        future = self._thread.submit(self._done, work)
        self._under_way.append(future)
        return future

    def attend(self, store: Store | None) -> None:
        """Look at the table of this run now and then, from here on; or at none any more."""
        self._run = store.run if store else None

    def check(self) -> None:
        """Raise what went wrong; complain of a call that takes too long. To be called often."""
        while self._under_way and self._under_way[0].done():
            self._under_way.popleft().result()
            self._patience.answered(DISK)
        self._patience.check([DISK] if self._under_way else [])
        self._look()

    @property
    def at_rest(self) -> bool:
        """Whether every call has returned."""
        return all(future.done() for future in self._under_way)

    def _look(self) -> None:
        """Ask who is dead, unless that was asked just now; if the table is not this run's, that is an error."""
        if self._looking is not None and self._looking.done():
            self.dead, self._looking, self._looked = self._looking.result(), None, monotonic()
        if self._run is not None and self._looking is None and monotonic() - self._looked > LOOK_EVERY_S:
            self._looking = self.begin(self._run.dead)

    def _done(self, work: Callable[[], T]) -> T:
        try:
            return work()
        except OSError as error:
            raise StoreError(f"{self._path}: {error}") from error
