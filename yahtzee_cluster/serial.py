"""A run in one process: the scheduler and one crew, without messages."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress

from yahtzee_cluster.crew import Crew, Orders, Usage
from yahtzee_cluster.partition import ClassId
from yahtzee_cluster.schedule import Event, Joined, Schedule
from yahtzee_cluster.stopping import StopRequest
from yahtzee_cluster.store import Store

SHOW_EVERY_S = 0.2


class Alone:
    """The one worker, as the master in the same process sees it."""

    n_workers = 1

    def __init__(self, request: StopRequest) -> None:
        self._request = request
        self._crew: Crew | None = None

    def begin(self, orders: Orders) -> None:
        """Make the crew."""
        self._crew = orders.crew(0)

    def check(self, store: Store, classes: Sequence[ClassId]) -> list[ClassId]:
        """Those of the classes on disk that are as they were committed."""
        sound = []
        for cls in classes:
            self._request.check()
            if store.is_sound(cls):
                sound.append(cls)
        return sound

    def run(self, schedule: Schedule, show: Callable[[], None]) -> None:
        """Have everything computed that is left to compute."""
        assert self._crew
        events: list[Event] = [Joined(self._crew.worker.number)]
        while True:
            for event in events:
                for instruction in schedule.handle(event):
                    self._crew.handle(instruction)
            if schedule.finished:
                return
            self._request.check()
            show()
            events = self._crew.wait(SHOW_EVERY_S)

    def dismiss(self) -> Usage:
        """Finish what was begun, as far as there is time; say what was spent."""
        if self._crew is None:
            return Usage()
        self._crew.stop()
        with suppress(TimeoutError):
            while not self._crew.at_rest:
                self._request.check_time()
                self._crew.wait(SHOW_EVERY_S)
        self._crew.close()
        return self._crew.usage

    def part(self) -> None:
        """There is nobody to part from."""

    @property
    def broken(self) -> bool:
        """Whether something is still going on that nobody waits for."""
        return self._crew is not None and not self._crew.at_rest
