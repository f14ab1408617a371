"""Progress of a run: a live display on a terminal, or a line every LINE_EVERY_S seconds in a batch log."""

from __future__ import annotations

import logging
import os
import re
import select
import sys
from collections.abc import Mapping
from pathlib import Path
from time import monotonic
from typing import Any, TextIO

from yahtzee_cluster.engine.partition import ClassId
from yahtzee_cluster.engine.schedule import Schedule
from yahtzee_cluster.storage.store import Store

log = logging.getLogger(__name__)

LIVE_EVERY_S = 0.2
LINE_EVERY_S = 10.0
WORKERS_SHOWN = 16
LAUNCHERS = {"mpirun", "mpiexec", "mpiexec.hydra", "orterun", "prterun"}


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
        self._live = _LiveDisplay(terminal) if terminal else None

    def __call__(self) -> None:
        """Update the display, if it is due."""
        now = monotonic()
        if now - self._shown < (LIVE_EVERY_S if self._live else LINE_EVERY_S):
            return
        self._shown = now
        if not (self._live and self._live.is_stalled):
            self._show(now)

    def close(self) -> None:
        """Show the final state, and restore the terminal."""
        if not (self._live and self._live.is_stalled):
            self._show(monotonic())
            if self._live:
                self._live.close()

    def _n_done(self) -> int:
        return sum(self._n_values[cls] for cls in self._schedule.done)

    def _show(self, now: float) -> None:
        n_done = self._n_done()
        elapsed_s = now - self._started
        per_s = (n_done - self._n_at_start) / elapsed_s if elapsed_s > 0 else 0.0
        left_s = (self._n_total - n_done) / per_s if per_s else None if n_done < self._n_total else 0.0
        facts: dict[str, Any] = {
            "classes": f"{len(self._schedule.done)}/{len(self._schedule.dependencies)}",
            "done": f"{100 * n_done / max(1, self._n_total):.1f}%",
            "values_per_s": f"{per_s:.3g}",
            "left_s": "?" if left_s is None else f"{left_s:.0f}",
        }
        if self._live:
            self._live.update(n_done / max(1, self._n_total), facts, self._workers())
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


def find_terminal() -> TextIO | None:
    """The user's terminal, or None: stderr, or that of the MPI launcher, which does not pass it on to ranks."""
    if sys.stderr.isatty():
        return sys.stderr
    process = os.getppid()
    try:
        while process > 1:
            _, name, rest = re.split(r"[()]", Path(f"/proc/{process}/stat").read_text(encoding="utf-8"), maxsplit=2)
            if name in LAUNCHERS:
                path = Path(f"/proc/{process}/fd/2").resolve()
                terminal = path.open("w", encoding="utf-8") if path.is_char_device() else None  # never a log file
                return terminal if terminal and terminal.isatty() else None
            process = int(rest.split()[1])
    except (OSError, ValueError):
        pass
    return None


class _LiveDisplay:
    """A progress bar and a line for each worker, redrawn in place."""

    def __init__(self, terminal: TextIO) -> None:
        from rich.console import Console  # loaded only for a terminal
        from rich.live import Live

        self._terminal = terminal
        self._live = Live(console=Console(file=terminal), auto_refresh=False, transient=True)
        self._live.start()

    @property
    def is_stalled(self) -> bool:
        """Whether the terminal accepts no output now, as after Ctrl-S; the run must not block on it."""
        return not select.select([], [self._terminal], [], 0)[1]

    def update(self, share: float, facts: Mapping[str, str], workers: list[str]) -> None:
        """Redraw."""
        from rich.console import Group
        from rich.progress_bar import ProgressBar
        from rich.text import Text

        head = "{classes} classes   {done}   {values_per_s} values/s   {left_s} s left".format(**facts)
        bar = ProgressBar(total=1.0, completed=share, width=60)
        self._live.update(Group(Text(head), bar, Text("\n".join(workers))), refresh=True)

    def close(self) -> None:
        """Restore the terminal."""
        self._live.stop()
