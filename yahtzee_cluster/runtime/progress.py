"""Progress of a run: a live display on a terminal, or a line every LINE_EVERY_S seconds in a batch log."""

from __future__ import annotations

import logging
from time import monotonic

from yahtzee_cluster.engine.partition import ClassId
from yahtzee_cluster.engine.schedule import Schedule
from yahtzee_cluster.progress import LINE_EVERY_S, LIVE_EVERY_S, Display, find_terminal
from yahtzee_cluster.storage.store import Store

log = logging.getLogger(__name__)

WORKERS_SHOWN = 16


class Progress:
    """Shows the progress of a schedule; may be called at any rate."""

    def __init__(self, schedule: Schedule, store: Store) -> None:
        self._schedule = schedule
        self._store = store
        self._n_values = store.partition.n_values
        self._n_total = sum(self._n_values.values())
        self._n_at_start = self._n_done()
        self._started = self._shown = monotonic()
        terminal = find_terminal()
        self._display = Display(terminal) if terminal else None

    def __call__(self) -> None:
        """Update the display, if it is due."""
        now = monotonic()
        if now - self._shown >= (LIVE_EVERY_S if self._display else LINE_EVERY_S):
            self._shown = now
            self._show(now)

    def close(self) -> None:
        """Remove the display from the terminal, or log the final state."""
        if self._display:
            self._display.clear()
        else:
            self._show(monotonic())

    def _n_done(self) -> int:
        return sum(self._n_values[cls] for cls in self._schedule.done)

    def _show(self, now: float) -> None:
        n_done = self._n_done()
        elapsed_s = now - self._started
        per_s = (n_done - self._n_at_start) / elapsed_s if elapsed_s > 0 else 0.0
        left_s = (self._n_total - n_done) / per_s if per_s else None if n_done < self._n_total else 0.0
        facts = {
            "classes": f"{len(self._schedule.done)}/{len(self._schedule.dependencies)}",
            "done": f"{100 * n_done / max(1, self._n_total):.1f}%",
            "values_per_s": f"{per_s:.3g}",
            "left_s": "?" if left_s is None else f"{left_s:.0f}",
        }
        if self._display:
            head = "{classes} classes   {done}   {values_per_s} values/s   {left_s} s left".format(**facts)
            self._display.draw(n_done / max(1, self._n_total), [head, *self._workers()])
        else:
            computing = f"{len(self._schedule.computing)}/{len(self._schedule.host)}"
            log.info(" ".join(f"{key}={value}" for key, value in {**facts, "computing": computing}.items()))

    def _workers(self) -> list[str]:
        """What each worker is doing, for up to WORKERS_SHOWN workers."""
        doing = {worker: f"computes {self._name(cls)}" for worker, cls in self._schedule.computing.items()}
        doing |= dict.fromkeys(self._schedule.idle, "waits")
        lines = [f"{worker:>4}  {doing[worker]}" for worker in sorted(doing)]
        more = len(lines) - WORKERS_SHOWN
        return lines if more <= 0 else [*lines[:WORKERS_SHOWN], f"      and {more} more"]

    def _name(self, cls: ClassId) -> str:
        return self._store.place(cls).name
