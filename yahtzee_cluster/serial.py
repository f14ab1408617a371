"""A run in one process: the scheduler and one worker, without messages."""

from __future__ import annotations

from yahtzee_cluster.schedule import Event, Joined, Schedule
from yahtzee_cluster.worker import Worker


def run(schedule: Schedule, worker: Worker) -> None:
    """Compute everything that is left to compute."""
    events: list[Event] = [Joined(worker.number)]
    while True:
        for event in events:
            for instruction in schedule.handle(event):
                worker.handle(instruction)
        if schedule.finished:
            return
        events = worker.wait(None)
