"""Being asked to stop, by a signal.

Whoever asks wants an end in good order: nothing more is begun, what was begun is committed, and the exit code says that
the same command goes on from there.
"""

from __future__ import annotations

import os
import signal
from time import monotonic
from types import FrameType

from yahtzee_cluster.errors import StoppedError

SIGNALS = (signal.SIGTERM, signal.SIGINT, signal.SIGUSR1)
HYDRA = "HYDI_CONTROL_FD"
"""Set by MPICH's launcher, which tells ranks by SIGUSR1 that another one has died."""


class StopRequest:
    """Whether this process was asked to stop, and for how long it may still go on."""

    def __init__(self, grace_s: float = 0.0) -> None:
        self.grace_s = grace_s
        self.by: str | None = None
        self._at = 0.0

    def listen(self) -> None:
        """Take signals as requests from here on."""
        for signum in SIGNALS:
            signal.signal(signum, self._take)
        if HYDRA in os.environ:
            signal.signal(signal.SIGUSR1, signal.SIG_IGN)

    def listen_no_more(self) -> None:
        """All is done; the interpreter would otherwise die of a signal that comes while it ends."""
        for signum in SIGNALS:
            signal.signal(signum, signal.SIG_IGN)

    def take(self, by: str) -> None:
        """Somebody asks."""
        if self.by is None:
            self.by, self._at = by, monotonic()

    def check(self) -> None:
        """Stop, if that was asked for."""
        if self.by is not None:
            raise StoppedError(self.by)

    def check_time(self) -> None:
        """Stop at once, if there is no time left to end in good order."""
        if self.by is not None and monotonic() - self._at > self.grace_s:
            raise TimeoutError

    def _take(self, signum: int, _: FrameType | None) -> None:
        self.take(signal.Signals(signum).name)
