"""Calls to the shared disk, in a thread of their own, so that the thread that sends heartbeats never blocks on a disk.

A file server that is down blocks every call until it is back; the run then continues, if that is within the timeout.
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
from yahtzee_cluster.runtime.heartbeat import Leases
from yahtzee_cluster.storage.errors import StoreError
from yahtzee_cluster.storage.run_directory import RunDirectory
from yahtzee_cluster.storage.store import Store

log = logging.getLogger(__name__)

DISK_TIMEOUT_S = 300
WARN_S, WARN_SHARE = 10.0, 0.25
"""A call that takes longer, or more than this share of the timeout, is logged."""
POLL_EVERY_S = 0.5
"""Interval at which the master checks that it still holds the table, and looks for tombstones."""

DISK = "disk"

T = TypeVar("T")


class DiskTimeoutError(YahtzeeClusterError):
    """A call to the disk has not returned within --disk-timeout."""

    ends_at_once = True

    def __init__(self, path: Path, limit_s: float) -> None:
        super().__init__(path, limit_s)
        self.path = path
        self.limit_s = limit_s

    def __str__(self) -> str:
        return f"{self.path}: its disk has not answered for {self.limit_s:g} s (--disk-timeout); {RESUMES}"


class DiskWatchdog:
    """Watchdog for calls to the disk, by kind: logs a slow one, raises when one exceeds the timeout."""

    def __init__(self, path: Path, limit_s: float, kinds: Collection[str]) -> None:
        self._path = path
        self._leases = Leases(kinds, limit_s)
        self._kinds = kinds
        self._is_slow = False
        self.has_expired = False

    def answered(self, kind: str) -> None:
        """Restart the timer of a kind: a call has returned."""
        self._leases.renew(kind)

    def check(self, under_way: Collection[str]) -> None:
        """Log or raise if a call takes too long; `under_way` are the kinds of calls to time. To be called often."""
        if self.has_expired:
            raise DiskTimeoutError(self._path, self._leases.limit_s)
        for kind in self._kinds:
            if kind not in under_way:
                self._leases.renew(kind)
        self.has_expired = self._leases.expired() is not None
        if self.has_expired:
            raise DiskTimeoutError(self._path, self._leases.limit_s)
        warn_s = min(WARN_S, WARN_SHARE * self._leases.limit_s)
        is_slow = any(self._leases.silence(kind) > warn_s for kind in self._kinds)
        if is_slow and not self._is_slow:
            limit = f"the run waits for up to {self._leases.limit_s:g} s (--disk-timeout)"
            log.warning("%s: its disk has not answered for %g s; %s", self._path, warn_s, limit)
        if self._is_slow and not is_slow:
            log.warning("%s: its disk answers again", self._path)
        self._is_slow = is_slow


class Disk:
    """One thread that makes calls to the disk in turn, and polls the directory of the run."""

    def __init__(self, path: Path, limit_s: float) -> None:
        self._path = path
        self._thread = ThreadPoolExecutor(1, "disk")
        self._under_way: deque[Future[Any]] = deque()
        self._watchdog = DiskWatchdog(path, limit_s, [DISK])
        self._run: RunDirectory | None = None
        self._polling: Future[list[int]] | None = None
        self._polled = monotonic()
        self.dead: list[int] = []
        """The workers that have a tombstone."""

    def begin(self, work: Callable[[], T]) -> Future[T]:
        """Begin a call; its error is raised by `check`, at the latest."""
        self._watchdog.check([DISK] if self._under_way else [])
        future = self._thread.submit(self._done, work)
        self._under_way.append(future)
        return future

    def watch(self, store: Store | None) -> None:
        """From here on, poll the directory of the run that writes this table; with None, stop polling."""
        self._run = store.run if store else None

    def check(self) -> None:
        """Raise the error of a call, or DiskTimeoutError. To be called often."""
        while self._under_way and self._under_way[0].done():
            self._under_way.popleft().result()
            self._watchdog.answered(DISK)
        self._watchdog.check([DISK] if self._under_way else [])
        self._poll()

    @property
    def is_idle(self) -> bool:
        """Whether every call has returned."""
        return all(future.done() for future in self._under_way)

    def _poll(self) -> None:
        """Look for tombstones, if that is due; raises ReplacedError if the run no longer holds the table."""
        if self._polling is not None and self._polling.done():
            self.dead, self._polling, self._polled = self._polling.result(), None, monotonic()
        if self._run is not None and self._polling is None and monotonic() - self._polled > POLL_EVERY_S:
            self._polling = self.begin(self._run.dead)

    def _done(self, work: Callable[[], T]) -> T:
        try:
            return work()
        except OSError as error:
            raise StoreError(f"{self._path}: {error}") from error
