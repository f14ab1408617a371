"""What a run shows of itself while it runs: a live display on a terminal, now and then a line in a batch log."""

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
    """Shows how far a schedule has come; call it as often as you like."""

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
        """Show something, if it is time to."""
        now = monotonic()
        if now - self._shown < (LIVE_EVERY_S if self._live else LINE_EVERY_S):
            return
        self._shown = now
        if not (self._live and self._live.is_stalled):
            self._show(now)

    def close(self) -> None:
        """Show the end, and leave the terminal as it was."""
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
        """What each worker does, as far as there is room to say it."""
        doing = {worker: f"computes {self._name(cls)}" for worker, cls in self._schedule.computing.items()}
        doing |= dict.fromkeys(self._schedule.idle, "waits")
        lines = [f"{worker:>4}  {doing[worker]}" for worker in sorted(doing)]
        more = len(lines) - WORKERS_SHOWN
        return lines if more <= 0 else [*lines[:WORKERS_SHOWN], f"      and {more} more"]

    def _name(self, cls: ClassId) -> str:
        return self._store.place(cls).name


def find_terminal() -> TextIO | None:
    """The terminal that somebody looks at, if there is one; a launcher of ranks keeps it to itself."""
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
    """A bar and a line for each worker, drawn over and over in the same place."""

    def __init__(self, terminal: TextIO) -> None:
        from rich.console import Console  # only where it is seen
        from rich.live import Live

        self._terminal = terminal
        self._live = Live(console=Console(file=terminal), auto_refresh=False, transient=True)
        self._live.start()

    @property
    def is_stalled(self) -> bool:
        """Whether the terminal takes nothing now, as after Ctrl-S; the run must not wait for it."""
        return not select.select([], [self._terminal], [], 0)[1]

    def update(self, share: float, facts: Mapping[str, str], workers: list[str]) -> None:
        """Draw anew."""
        from rich.console import Group
        from rich.progress_bar import ProgressBar
        from rich.text import Text

        head = "{classes} classes   {done}   {values_per_s} values/s   {left_s} s left".format(**facts)
        bar = ProgressBar(total=1.0, completed=share, width=60)
        self._live.update(Group(Text(head), bar, Text("\n".join(workers))), refresh=True)

    def close(self) -> None:
        """Leave the terminal as it was."""
        self._live.stop()
