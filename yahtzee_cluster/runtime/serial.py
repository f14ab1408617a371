"""A run in one process: the scheduler and one crew, without messages."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import wait
from contextlib import suppress
from typing import TypeVar

from yahtzee_cluster.engine.partition import ClassId
from yahtzee_cluster.engine.schedule import Event, Joined, Schedule
from yahtzee_cluster.runtime.disk import Disk, DiskTimeoutError
from yahtzee_cluster.runtime.executor import Checked, Crew, Orders, Usage
from yahtzee_cluster.runtime.signals import StopRequest
from yahtzee_cluster.storage.store import Store

SHOW_EVERY_S = 0.2
T = TypeVar("T")


class Alone:
    """The one worker, as the master in the same process sees it."""

    n_workers = 1

    def __init__(self, request: StopRequest) -> None:
        self._request = request
        self._crew: Crew | None = None
        self._disk: Disk | None = None
        self._usage: Usage | None = None

    def begin(self, orders: Orders) -> None:
        """Make the crew."""
        self._crew = orders.crew(0)
        self._disk = Disk(orders.directory, orders.disk_timeout_s)

    def ask_disk(self, work: Callable[[], T], *, stoppable: bool = True) -> T:
        """Have something done that waits for the disk, as long as nobody asks the run to stop."""
        assert self._disk
        future = self._disk.begin(work)
        while not future.done():
            if stoppable:
                self._request.check()
            self._disk.check()
            wait([future], SHOW_EVERY_S)
        return future.result()

    def tell_disk(self, work: Callable[[], object]) -> None:
        """Have something done that nobody waits for."""
        assert self._disk
        self._disk.begin(work)

    def check(self, store: Store, classes: Sequence[ClassId]) -> list[ClassId]:
        """Those of the classes on disk that are as they were committed."""
        assert self._crew
        assert self._disk
        self._disk.attend(store)
        self._crew.join(store.run.token)
        for cls in classes:
            self._crew.check(cls)
        sound = []
        while not self._crew.at_rest:
            self._request.check()
            self._disk.check()
            done = self._crew.wait(SHOW_EVERY_S)
            sound += [event.cls for event in done if isinstance(event, Checked) and event.is_sound]
        return sound

    def run(self, schedule: Schedule, show: Callable[[], None]) -> None:
        """Have everything computed that is left to compute."""
        assert self._crew
        assert self._disk
        events: list[Event | Checked] = [Joined(self._crew.worker.number)]
        while True:
            for event in events:
                assert not isinstance(event, Checked)
                for instruction in schedule.handle(event):
                    self._crew.handle(instruction)
            if schedule.finished:
                return
            self._request.check()
            self._disk.check()
            show()
            events = self._crew.wait(SHOW_EVERY_S)

    def dismiss(self) -> Usage:
        """Finish what was begun, as far as there is time; say what was spent."""
        if self._usage is None:
            self._usage = Usage()
            if self._disk is not None:
                self._disk.attend(None)
            if self._crew is not None:
                self._crew.stop()
                with suppress(TimeoutError, DiskTimeoutError):
                    while not self._crew.at_rest:
                        self._request.check_time()
                        self._crew.wait(SHOW_EVERY_S)
                self._crew.close()
                self._usage = self._crew.usage
        return self._usage

    def give_up(self) -> None:
        """Wait for nothing."""
        self._usage = self._usage or Usage()

    def part(self) -> None:
        """There is nobody to part from."""

    @property
    def broken(self) -> bool:
        """Whether something is still going on that nobody waits for."""
        crew_is_busy = self._crew is not None and not self._crew.at_rest
        return crew_is_busy or (self._disk is not None and not self._disk.at_rest)
