"""Heartbeats and leases: which ranks count as lost, and when a heartbeat is due.

Only time in which this process itself was running counts, so that no lease expires while the whole job is suspended.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from time import monotonic
from typing import Generic, TypeVar

LEASE_S = 30.0
"""A rank that is silent for longer is lost (--lease)."""
HEARTBEATS_PER_LEASE = 4
"""Number of heartbeats that each rank sends within one lease."""
CLAIM_TIMES = 10
"""Limit on silence, in leases, while the table is claimed and workers start."""
LONGEST_STEP_S = 1.0
"""Time between two checks counts up to this limit, and up to a quarter of the lease: if more has passed, this process
was suspended."""


Holder = TypeVar("Holder", bound=Hashable)


class Leases(Generic[Holder]):
    """The leases of several holders, and the time of this side's own next heartbeat."""

    def __init__(self, holders: Iterable[Holder], limit_s: float = LEASE_S) -> None:
        self.limit_s = limit_s
        """Longest silence allowed to a holder."""
        self.lease_s = limit_s
        """Longest silence that the other side allows to this one; may be less."""
        self._looked = monotonic()
        self._awake_s = 0.0
        self._heard = dict.fromkeys(holders, 0.0)
        self._sent = 0.0

    @property
    def holders(self) -> list[Holder]:
        """Holders whose lease has not expired."""
        return list(self._heard)

    def renew(self, holder: Holder) -> None:
        """Renew the lease of a holder: a message or an answer has come from it."""
        if holder in self._heard:
            self._heard[holder] = self._awake_s

    def drop(self, holder: Holder) -> None:
        """End the lease of a holder."""
        del self._heard[holder]

    def silence(self, holder: Holder) -> float:
        """Seconds since the lease of a holder was renewed."""
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
        """Whether a heartbeat is due now; if so, the next one is due a quarter of a lease later."""
        if self._awake_s - self._sent < self.lease_s / HEARTBEATS_PER_LEASE:
            return False
        self._sent = self._awake_s
        return True
