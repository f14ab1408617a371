"""Progress of whatever takes long: a live display on a terminal, or a line now and then in a log.

A computation names its stages with `stage`, and reports on them. A program that shows progress wraps all it does in
`showing_progress`; in any other, nothing is shown.
"""

from __future__ import annotations

import os
import re
import select
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from dataclasses import dataclass, field
from itertools import accumulate
from pathlib import Path
from threading import Event, Thread
from time import monotonic
from typing import TYPE_CHECKING, TextIO, TypeVar

if TYPE_CHECKING:
    from rich.console import RenderableType

LIVE_EVERY_S = 0.2
LINE_EVERY_S = 10.0
SILENT_S = 1.0
"""The time before anything is shown on a terminal: most commands are over by then."""
KNOWN_SHARE = 0.02
"""The share that has to be done before the time left is estimated."""
STALLED_S = 1.0
"""The longest wait for a terminal that accepts no output."""
BAR_WIDTH = 40
"""Narrow, so that most terminals can be made smaller without breaking a line in two."""
ERASE, UP = "\r\x1b[J", "\x1b[A"
"""Controls of a terminal: erase the line and all below it; move the cursor up."""
LAUNCHERS = {"mpirun", "mpiexec", "mpiexec.hydra", "orterun", "prterun"}

T = TypeVar("T")
Report = Callable[[float, str], None]
"""Takes the share of a stage that is done, and what is being done in words."""


# ------------------------------------------------------------------------------------------------ stages


@dataclass
class _Stage:
    """A stage of a computation."""

    name: str
    began: float = field(default_factory=monotonic)
    share: float = 0.0
    detail: str = ""

    def report(self, share: float, detail: str) -> None:
        self.share, self.detail = share, detail

    @property
    def words(self) -> list[str]:
        """What is being done, how much of it is done, and how long the rest will take."""
        elapsed_s = monotonic() - self.began
        words = [f"{self.name}: {self.detail}" if self.detail else self.name]
        if self.share < KNOWN_SHARE:
            return [*words, _duration(elapsed_s)]
        return [*words, f"{100 * self.share:.0f} %", f"{_duration(elapsed_s / self.share - elapsed_s)} left"]


def _duration(seconds: float) -> str:
    return f"{seconds:.0f} s" if seconds < 100 else f"{seconds / 60:.0f} min"


class _Shown:
    """Shows the innermost stage, from a thread of its own: computations need not come by in time."""

    def __init__(self, write_line: Callable[[str], None]) -> None:
        self._write_line = write_line
        self._stages: list[_Stage] = []
        self._display_at = monotonic() + SILENT_S
        self._line_at = monotonic() + LINE_EVERY_S

    @contextmanager
    def stage(self, name: str) -> Iterator[Report]:
        """Show a stage until it is over."""
        self._stages.append(stage := _Stage(name))
        try:
            if len(self._stages) == 1:
                with self._thread():
                    yield stage.report
            else:
                yield stage.report
        finally:
            self._stages.remove(stage)

    @contextmanager
    def _thread(self) -> Iterator[None]:
        over = Event()
        thread = Thread(target=self._show, args=(over,), daemon=True)
        thread.start()
        try:
            yield
        finally:
            over.set()
            thread.join(STALLED_S)

    def _show(self, over: Event) -> None:
        with suppress(OSError):  # a terminal that was closed
            self._show_until(over, find_terminal())

    def _show_until(self, over: Event, terminal: TextIO | None) -> None:
        if terminal is None:
            while not over.wait(max(0.0, self._line_at - monotonic())):
                self._write_line(", ".join(self._stages[-1].words))
                self._line_at = monotonic() + LINE_EVERY_S
        elif not over.wait(max(LIVE_EVERY_S, self._display_at - monotonic())):
            display = Display(terminal)
            while not over.wait(LIVE_EVERY_S):
                stage = self._stages[-1]
                display.draw(stage.share, ["   ".join(stage.words)])
            display.clear()


@dataclass(frozen=True)
class _PassedOn:
    """Passes what stages report on to a function."""

    listener: Callable[[str, float], None]

    @contextmanager
    def stage(self, name: str) -> Iterator[Report]:
        """Pass on the reports of a stage."""
        self.listener(name, 0.0)
        yield lambda share, _: self.listener(name, share)


_shown: ContextVar[_Shown | _PassedOn | None] = ContextVar("progress", default=None)


@contextmanager
def showing_progress(write_line: Callable[[str], None]) -> Iterator[None]:
    """Show the stages of all that is computed here; `write_line` writes a line to the log if there is no terminal."""
    token = _shown.set(_Shown(write_line))
    try:
        yield
    finally:
        _shown.reset(token)


@contextmanager
def passing_progress(listener: Callable[[str, float], None]) -> Iterator[None]:
    """Call a function with the name of each stage of what is computed here, and with the share that is done."""
    token = _shown.set(_PassedOn(listener))
    try:
        yield
    finally:
        _shown.reset(token)


def silent(share: float, detail: str) -> None:
    """Report to nobody."""


@contextmanager
def stage(name: str) -> Iterator[Report]:
    """A stage of a computation, with a function to report on it."""
    shown = _shown.get()
    if shown is None:
        yield silent
    else:
        with shown.stage(name) as report:
            yield report


@contextmanager
def tracked(items: Sequence[T], name: str, sizes: Sequence[float] = ()) -> Iterator[Iterator[T]]:
    """A stage that goes through some items; each takes as long as its size says, or all the same."""
    sizes = sizes or [1.0] * len(items)

    def reported() -> Iterator[T]:
        for number, (item, before) in enumerate(zip(items, accumulate(sizes, initial=0), strict=False), start=1):
            report(before / (sum(sizes) or 1), f"{number} of {len(items)}")
            yield item

    with stage(name) as report:
        yield reported()


# ------------------------------------------------------------------------------------------------ terminals


def find_terminal() -> TextIO | None:
    """The user's terminal, or None: stderr, or that of the MPI launcher, which does not pass it on to ranks."""
    if os.environ.get("TERM", "dumb") in {"dumb", "unknown"}:  # the cursor cannot be moved
        return None
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


class Display:
    """A bar and lines of text below it on a terminal, redrawn in place.

    The cursor stays on an empty line above them. So whatever else is printed pushes them down, and to erase them no
    lines need be counted, although a terminal that has become narrower may have broken some in two.
    """

    def __init__(self, terminal: TextIO) -> None:
        from rich.console import Console  # loaded only for a terminal

        self._terminal = terminal
        self._console = Console(file=terminal)

    def draw(self, share: float, lines: Sequence[str]) -> None:
        """Redraw all, cut to the size of the terminal; this share of the bar is full."""
        from rich.progress_bar import ProgressBar
        from rich.segment import SegmentLines
        from rich.text import Text

        bar = ProgressBar(total=1.0, completed=share, width=BAR_WIDTH)
        parts: list[RenderableType] = [bar, *map(Text, lines)]
        columns, rows = os.get_terminal_size(self._terminal.fileno())  # stdout may be another terminal, or none
        self._console.size = max(2, columns or 80), max(3, rows or 25)
        options = self._console.options.update(width=self._console.width - 1, no_wrap=True, overflow="ellipsis")
        drawn = [self._console.render_lines(part, options, pad=False)[0] for part in parts[: self._console.height - 2]]
        with self._console.capture() as text:
            self._console.print(SegmentLines(drawn, new_lines=True), end="", soft_wrap=True)
        self._write(f"{ERASE}\n{text.get()}{UP * (len(drawn) + 1)}")

    def clear(self) -> None:
        """Remove all from the screen."""
        self._write(ERASE)

    def _write(self, text: str) -> None:
        """Write, unless the terminal accepts no output, as after Ctrl-S: a computation must not block on it."""
        if select.select([], [self._terminal], [], 0)[1]:
            self._terminal.write(text)
            self._terminal.flush()
