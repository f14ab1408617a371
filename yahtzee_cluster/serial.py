"""A run in one process: the scheduler and one crew, without messages."""

from __future__ import annotations

from yahtzee_cluster.schedule import Event, Joined, Schedule
from yahtzee_cluster.crew import Crew


def run(schedule: Schedule, crew: Crew) -> None:
    """Compute everything that is left to compute."""
    events: list[Event] = [Joined(crew.worker.number)]
    while True:
        for event in events:
            for instruction in schedule.handle(event):
                crew.handle(instruction)
        if schedule.finished:
            return
        events = crew.wait(None)
