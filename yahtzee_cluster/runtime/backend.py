"""Interface between a run and the workers that compute its classes: other ranks, or this process alone."""

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
    """The workers of a run, and its one thread for calls to the disk."""

    @property
    def n_workers(self) -> int:
        """Number of workers."""

    def begin(self, setup: Setup) -> None:
        """Send the setup to all workers; must be called first."""

    def wait_for_disk(self, work: Callable[[], T], *, stoppable: bool = True) -> T:
        """Call `work` in the disk's thread and return its result; heartbeats continue meanwhile.

        Unless it is stoppable, a request to stop takes effect only after it has returned.
        """

    def begin_on_disk(self, work: Callable[[], object]) -> None:
        """Call `work` in the disk's thread, without waiting for it."""

    def check(self, store: Store, classes: Sequence[ClassId]) -> list[ClassId]:
        """Have classes on disk checked; return the sound ones. From here on workers write for this run."""

    def run(self, schedule: Schedule, show: Callable[[], None]) -> None:
        """Compute all remaining classes; `show` is called often."""

    def dismiss(self) -> Usage:
        """Let workers finish what they have begun, within the grace period; return the usage of all.

        Further calls only return the usage.
        """

    def give_up(self) -> None:
        """From here on, do not wait for any worker."""

    def leave(self) -> None:
        """Enter the final barrier with all workers; raises UnreachableError if it times out."""

    @property
    def broken(self) -> bool:
        """Whether a worker will miss the final barrier, or a call to the disk has not returned."""
