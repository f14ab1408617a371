"""What a run needs of whatever computes its classes: other ranks, or this process alone."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol, TypeVar

from yahtzee_cluster.engine.partition import ClassId
from yahtzee_cluster.engine.schedule import Schedule
from yahtzee_cluster.runtime.messages import Setup
from yahtzee_cluster.runtime.usage import Usage
from yahtzee_cluster.storage.store import Store

T = TypeVar("T")


class Backend(Protocol):
    """Workers, as the run sees them; and the one thread of the run that may wait for the disk."""

    @property
    def n_workers(self) -> int:
        """How many workers there are."""

    def begin(self, setup: Setup) -> None:
        """Hand all workers what they need; comes first."""

    def wait_for_disk(self, work: Callable[[], T], *, stoppable: bool = True) -> T:
        """Do something in the disk's thread and return its result; heartbeats go on meanwhile.

        Unless it is stoppable, a request to stop is not heeded before it returns.
        """

    def begin_on_disk(self, work: Callable[[], object]) -> None:
        """Do something in the disk's thread, and do not wait for it."""

    def check(self, store: Store, classes: Sequence[ClassId]) -> list[ClassId]:
        """Have classes on disk checked; return those that are sound. From here on workers write for this run."""

    def run(self, schedule: Schedule, show: Callable[[], None]) -> None:
        """Compute all that is left to compute; `show` is called often."""

    def dismiss(self) -> Usage:
        """Let workers finish what they have begun, as far as there is time; return what was spent in all.

        May be called again, and then only returns that.
        """

    def give_up(self) -> None:
        """Wait for no worker any more."""

    def leave(self) -> None:
        """Enter the final barrier with all workers; raises UnreachableError if some do not come."""

    @property
    def broken(self) -> bool:
        """Whether a worker will not leave with the others, or a call to the disk has not returned."""
