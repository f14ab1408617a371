"""A run in one process: the scheduler and one crew, without messages."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

from yahtzee_cluster.crew import Crew, Usage
from yahtzee_cluster.partition import ClassId
from yahtzee_cluster.schedule import Event, Joined, Schedule

SHOW_EVERY_S = 0.2


class Orders(Protocol):
    """What a crew can be made of."""

    def crew(self, rank: int) -> Crew:
        """The crew of one rank."""


class Alone:
    """The one worker, as the master in the same process sees it."""

    n_workers = 1

    def __init__(self) -> None:
        self._crew: Crew | None = None

    def begin(self, orders: Orders) -> None:
        """Make the crew."""
        self._crew = orders.crew(0)

    def check(self, classes: Sequence[ClassId]) -> list[ClassId]:
        """Those of the classes on disk that are as they were committed."""
        assert self._crew
        return [cls for cls in classes if self._crew.store.is_sound(cls)]

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
            show()
            events = self._crew.wait(SHOW_EVERY_S)

    def dismiss(self) -> Usage:
        """Finish what was begun; say what was spent."""
        if self._crew is None:
            return Usage()
        try:
            self._crew.finish()
        finally:
            self._crew.close()
        return self._crew.usage
