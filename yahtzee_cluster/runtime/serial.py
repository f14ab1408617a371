"""A run in this process alone: the schedule and one executor, without messages."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import wait
from contextlib import suppress
from typing import TypeVar

from yahtzee_cluster.engine.partition import ClassId
from yahtzee_cluster.engine.schedule import Event, Joined, Schedule
from yahtzee_cluster.runtime.disk import Disk, DiskTimeoutError
from yahtzee_cluster.runtime.executor import Executor
from yahtzee_cluster.runtime.messages import Checked, Setup
from yahtzee_cluster.runtime.signals import StopRequest
from yahtzee_cluster.runtime.usage import Usage
from yahtzee_cluster.storage.store import Store

SHOW_EVERY_S = 0.2
T = TypeVar("T")


class SingleProcess:
    """Backend of a run without other ranks: one worker, in this process."""

    n_workers = 1

    def __init__(self, request: StopRequest, executor_of: Callable[[Setup, int], Executor] = Executor.of) -> None:
        self._request = request
        self._executor_of = executor_of
        self._executor: Executor | None = None
        self._disk: Disk | None = None
        self._usage: Usage | None = None

    def begin(self, setup: Setup) -> None:
        """Make the executor."""
        self._executor = self._executor_of(setup, 0)
        self._disk = Disk(setup.directory, setup.disk_timeout_s)

    def wait_for_disk(self, work: Callable[[], T], *, stoppable: bool = True) -> T:
        """Call `work` in the disk's thread, and return its result."""
        assert self._disk
        future = self._disk.begin(work)
        while not future.done():
            if stoppable:
                self._request.check()
            self._disk.check()
            wait([future], SHOW_EVERY_S)
        return future.result()

    def begin_on_disk(self, work: Callable[[], object]) -> None:
        """Call `work` in the disk's thread, without waiting for it."""
        assert self._disk
        self._disk.begin(work)

    def check(self, store: Store, classes: Sequence[ClassId]) -> list[ClassId]:
        """Check classes on disk; return the sound ones."""
        assert self._executor
        assert self._disk
        self._disk.watch(store)
        self._executor.join(store.run.token)
        for cls in classes:
            self._executor.check(cls)
        sound = []
        while not self._executor.is_idle:
            self._request.check()
            self._disk.check()
            done = self._executor.wait(SHOW_EVERY_S)
            sound += [event.cls for event in done if isinstance(event, Checked) and event.is_sound]
        return sound

    def run(self, schedule: Schedule, show: Callable[[], None]) -> None:
        """Pass events to the schedule, and its instructions to the executor, until every class is on disk."""
        assert self._executor
        assert self._disk
        events: list[Event | Checked] = [Joined(self._executor.worker.number)]
        while True:
            for event in events:
                assert not isinstance(event, Checked)
                for instruction in schedule.handle(event):
                    self._executor.handle(instruction)
            if schedule.finished:
                return
            self._request.check()
            self._disk.check()
            show()
            events = self._executor.wait(SHOW_EVERY_S)

    def dismiss(self) -> Usage:
        """Finish what was begun, within the grace period; return the usage."""
        if self._usage is None:
            self._usage = Usage()
            if self._disk is not None:
                self._disk.watch(None)
            if self._executor is not None:
                self._executor.stop()
                with suppress(TimeoutError, DiskTimeoutError):
                    while not self._executor.is_idle:
                        self._request.check_time()
                        self._executor.wait(SHOW_EVERY_S)
                self._executor.close()
                self._usage = self._executor.usage
        return self._usage

    def give_up(self) -> None:
        """From here on, do not wait for the worker."""
        self._usage = self._usage or Usage()

    def leave(self) -> None:
        """Do nothing: there is no other rank."""

    @property
    def broken(self) -> bool:
        """Whether an action or a call to the disk is still under way."""
        executor_is_busy = self._executor is not None and not self._executor.is_idle
        return executor_is_busy or (self._disk is not None and not self._disk.is_idle)
