"""Heartbeats and leases: who counts as lost, and when a heartbeat is due.

A lease runs out only while this process itself is running: after the whole job was suspended, nobody has been silent.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from time import monotonic
from typing import Generic, TypeVar

LEASE_S = 30.0
"""A rank that is silent for longer is lost (--lease)."""
HEARTBEATS_PER_LEASE = 4
"""How many heartbeats each rank sends in the time of one lease."""
CLAIM_TIMES = 10
"""How many leases a rank may be silent while the table is claimed and workers prepare."""
LONGEST_STEP_S = 1.0
"""Time between two calls counts as this much at most, and as a quarter of the lease at most: in more than that, this
process was suspended."""


Holder = TypeVar("Holder", bound=Hashable)


class Leases(Generic[Holder]):
    """A lease for each of several others; and the time of this side's own next heartbeat."""

    def __init__(self, holders: Iterable[Holder], limit_s: float = LEASE_S) -> None:
        self.limit_s = limit_s
        """How long a holder may be silent."""
        self.lease_s = limit_s
        """How long the others let this side be silent; may be less."""
        self._looked = monotonic()
        self._awake_s = 0.0
        self._heard = dict.fromkeys(holders, 0.0)
        self._sent = 0.0

    @property
    def holders(self) -> list[Holder]:
        """All whose lease has not expired."""
        return list(self._heard)

    def renew(self, holder: Holder) -> None:
        """Something was heard of a holder."""
        if holder in self._heard:
            self._heard[holder] = self._awake_s

    def drop(self, holder: Holder) -> None:
        """Watch a holder no more."""
        del self._heard[holder]

    def silence(self, holder: Holder) -> float:
        """For how many seconds nothing was heard of a holder."""
        return self._awake_s - self._heard[holder]

    def expired(self) -> Holder | None:
        """Drop and return a holder whose lease has expired; None if there is none. To be called often."""
        now = monotonic()
        self._awake_s += min(now - self._looked, LONGEST_STEP_S, self.limit_s / HEARTBEATS_PER_LEASE)
        self._looked = now
        silent = [holder for holder, heard in self._heard.items() if self._awake_s - heard > self.limit_s]
        if not silent:
            return None
        self.drop(silent[0])
        return silent[0]

    def heartbeat_due(self) -> bool:
        """Whether a heartbeat is to be sent now; if so, the next one is due a quarter of a lease later."""
        if self._awake_s - self._sent < self.lease_s / HEARTBEATS_PER_LEASE:
            return False
        self._sent = self._awake_s
        return True
