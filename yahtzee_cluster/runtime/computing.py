"""One run from claim to result: claim the directory, resume, compute what is missing, return the summary."""

from __future__ import annotations

import logging
import time
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, closing, contextmanager, suppress
from functools import partial
from typing import Any

from yahtzee_cluster.engine.frontier import Frontier, growth
from yahtzee_cluster.engine.partition import ClassId, Partition
from yahtzee_cluster.engine.recurrence import Recurrence
from yahtzee_cluster.engine.schedule import Schedule
from yahtzee_cluster.errors import UsageError, YahtzeeClusterError
from yahtzee_cluster.runtime.backend import Backend
from yahtzee_cluster.runtime.configuration import KEEP, Computation
from yahtzee_cluster.runtime.disk import DiskTimeoutError
from yahtzee_cluster.runtime.messages import Setup
from yahtzee_cluster.runtime.progress import Progress
from yahtzee_cluster.runtime.resume import trusted_classes, where
from yahtzee_cluster.runtime.summary import Summary
from yahtzee_cluster.storage.claim import claim
from yahtzee_cluster.storage.errors import DroppedError
from yahtzee_cluster.storage.store import Store
from yahtzee_cluster.text import names_in, shown

log = logging.getLogger("yahtzee_cluster")

SPARE_ROOM = 1.25
"""Free space required, as a multiple of the expected frontier, since classes may take longer than planned."""


def compute(
    backend: Backend,
    n_ranks: int,
    asked: Computation,
    *,
    started: float,
    lease_s: float,
    disk_timeout_s: float,
    provenance: Mapping[str, Any],
    with_result: bool,
) -> tuple[Summary, Sequence[str]]:
    """Compute a table, or what is missing of it; return the summary, and the result if `with_result`."""
    problem = asked.problem()
    fixed, directory = where(asked, problem, backend.n_workers)
    backend.begin(Setup(problem, fixed, directory, asked.cache_bytes, asked.threads, lease_s, disk_timeout_s))
    frontier_only = asked.keep != KEEP[0]
    fixed_names = names_in(fixed, problem.element_names)

    def room(partition: Partition, committed: Collection[ClassId]) -> float:
        return SPARE_ROOM * growth(partition, committed, backend.n_workers)

    claimed = claim(directory, problem, fixed, provenance, room if frontier_only else None)
    with _held_by(backend, claimed) as store:
        classes = store.partition.classes
        log.info(
            "%s G=%s classes=%d ranks=%d threads=%d cache=%s store=%s",
            " ".join(f"{key}={value}" for key, value in asked.about.items() if value is not None),
            ",".join(fixed_names) or "-", len(classes), n_ranks, asked.threads, asked.cache, directory,
        )  # fmt: skip
        try:
            done = trusted_classes(backend, store, frontier_only=frontier_only)
            schedule = asked.schedule(store.partition, done)
            _run(backend, schedule, store, Frontier(schedule) if frontier_only else None)
        except YahtzeeClusterError as error:
            if error.ends_at_once:
                backend.give_up()
            raise
        finally:
            usage = backend.dismiss()
        table_sha256 = backend.wait_for_disk(partial(_digest_of_finished, store), stoppable=False)
        elapsed_s, n_computed = time.perf_counter() - started, len(classes) - len(done)
        result: Sequence[str] = []
        if with_result:
            result = backend.wait_for_disk(partial(_result, asked, problem, store), stoppable=False)
    summary = Summary(asked, fixed_names, directory, n_ranks, usage, elapsed_s, len(classes), n_computed, table_sha256)
    return summary, result


def _run(backend: Backend, schedule: Schedule, store: Store, frontier: Frontier | None) -> None:
    """Compute the remaining classes and show progress; drop each class that has left the frontier."""
    with closing(Progress(schedule, store)) as progress:

        def show() -> None:
            for cls in frontier.passed() if frontier else ():
                backend.begin_on_disk(partial(store.drop, cls))
            progress()

        backend.run(schedule, show)
        show()


@contextmanager
def _held_by(backend: Backend, claimed: AbstractContextManager[Store]) -> Iterator[Store]:
    """Hold a claim that is made, and released, in the disk's thread."""
    with ExitStack() as stack:
        stack.callback(partial(_release, backend, held := ExitStack()))
        yield backend.wait_for_disk(partial(held.enter_context, claimed))


def _release(backend: Backend, held: ExitStack) -> None:
    with suppress(DiskTimeoutError):  # the lock ends with this process
        backend.wait_for_disk(held.close, stoppable=False)


def _digest_of_finished(store: Store) -> str:
    """Digest of the finished table; raises ReplacedError if its header was removed or exchanged."""
    store.check_header()
    return store.table_digest


def _result(asked: Computation, problem: Recurrence, store: Store) -> Sequence[str]:
    try:
        lines = asked.result(problem, store)
    except DroppedError as error:
        return [f"result     {error}"]
    if not isinstance(lines, Sequence) or isinstance(lines, str) or not all(isinstance(line, str) for line in lines):
        raise UsageError(f"result: expected a list of lines, found {shown(lines)}")
    return lines
