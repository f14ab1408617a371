"""Who has been silent for too long.

Only time counts in which this process was awake itself: after a whole job was suspended, nobody has been silent.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from time import monotonic
from typing import Generic, TypeVar

AWAKE_S = 1.0
"""Whoever looks less often than this, or than a quarter of the limit, was not awake in between."""
LEASE_S = 30.0
SPEAK_TIMES = 4
"""Everybody speaks so often in the time in which nobody may be silent."""


Other = TypeVar("Other", bound=Hashable)


class Watch(Generic[Other]):
    """How long some others have been silent; whoever is lost is watched no more."""

    def __init__(self, others: Iterable[Other], limit_s: float = LEASE_S) -> None:
        self.limit_s = limit_s
        self.lease_s = limit_s
        """In how much time the others must hear something from here, which may be less."""
        self._looked = monotonic()
        self._awake_s = 0.0
        self._heard = dict.fromkeys(others, 0.0)
        self._spoke = 0.0

    @property
    def others(self) -> list[Other]:
        """Those who are not lost."""
        return list(self._heard)

    def heard(self, other: Other) -> None:
        """One of them has said something."""
        if other in self._heard:
            self._heard[other] = self._awake_s

    def forget(self, other: Other) -> None:
        """Watch one of them no more."""
        del self._heard[other]

    def silence(self, other: Other) -> float:
        """For how long one of them has said nothing."""
        return self._awake_s - self._heard[other]

    def lost(self) -> Other | None:
        """One who has been silent for too long, if there is one."""
        now = monotonic()
        self._awake_s += min(now - self._looked, AWAKE_S, self.limit_s / SPEAK_TIMES)
        self._looked = now
        silent = [other for other, heard in self._heard.items() if self._awake_s - heard > self.limit_s]
        if not silent:
            return None
        self.forget(silent[0])
        return silent[0]

    def must_speak(self) -> bool:
        """Whether the others must hear something from here; asked once, it counts as said."""
        if self._awake_s - self._spoke < self.lease_s / SPEAK_TIMES:
            return False
        self._spoke = self._awake_s
        return True
