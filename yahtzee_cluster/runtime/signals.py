"""Signal handling: every handler that a process of this program installs.

SIGTERM, SIGINT and SIGUSR1 ask a run to stop: it begins nothing more, commits what was begun, and exits with code 75,
which means that the same command continues from there. Before that is possible, and in every other command, Ctrl-C ends
the process without a traceback.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from time import monotonic
from types import FrameType
from typing import Any

from yahtzee_cluster.errors import StoppedError

SIGNALS = (signal.SIGTERM, signal.SIGINT, signal.SIGUSR1)
SignalHandler = Callable[[int, FrameType | None], Any] | int | signal.Handlers | None
HYDRA = "HYDI_CONTROL_FD"
"""Set by MPICH's launcher, which sends SIGUSR1 to ranks when another one has died."""


def end_quietly_on_interrupt() -> SignalHandler:
    """Have SIGINT end this process at once, without a traceback; return the handler it had before."""
    return signal.signal(signal.SIGINT, signal.SIG_DFL)


class StopRequest:
    """A request to stop this process, and its grace period."""

    def __init__(self, grace_s: float = 0.0) -> None:
        self.grace_s = grace_s
        self.by: str | None = None
        self._at = 0.0

    def listen(self) -> None:
        """From here on, handle signals as requests to stop."""
        for signum in SIGNALS:
            signal.signal(signum, self._take)
        if HYDRA in os.environ:
            signal.signal(signal.SIGUSR1, signal.SIG_IGN)

    def ignore(self) -> None:
        """From here on, ignore signals: all is done, and one might kill the interpreter during its shutdown."""
        for signum in SIGNALS:
            signal.signal(signum, signal.SIG_IGN)

    def take(self, by: str) -> None:
        """Record a request; only the first one counts."""
        if self.by is None:
            self.by, self._at = by, monotonic()

    def check(self) -> None:
        """Raise StoppedError if a stop was requested."""
        if self.by is not None:
            raise StoppedError(self.by)

    def check_time(self) -> None:
        """Raise TimeoutError if a stop was requested and the grace period is over."""
        if self.by is not None and monotonic() - self._at > self.grace_s:
            raise TimeoutError

    def _take(self, signum: int, _: FrameType | None) -> None:
        self.take(signal.Signals(signum).name)
