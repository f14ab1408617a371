"""Entries computed in memory, layer by layer, for questions that need no table on disk."""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from pathlib import Path
from queue import SimpleQueue

import numpy as np
from numpy.typing import NDArray

from yahtzee_cluster.engine.partition import ClassId
from yahtzee_cluster.engine.recurrence import Below, Block, Recurrence, Solver
from yahtzee_cluster.errors import UsageError, YahtzeeClusterError
from yahtzee_cluster.progress import Report, silent, stage
from yahtzee_cluster.storage.shard import new_values
from yahtzee_cluster.text import as_cache_size, rough_size

SHARES = 16
"""Shares of a layer for each thread, of about as many values each."""
DEFAULT_BYTES = 1 << 30


def half_of_memory() -> int:
    """Half of the main memory of this machine, in bytes."""
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // 2


class MemoryLimitError(UsageError):
    """Solving in memory takes more than is allowed."""


class CancelledError(YahtzeeClusterError):
    """Whoever asked for the entries no longer wants them."""


class Memory:
    """The entries of a problem in memory. Tables read them as they read a store.

    Its classes are the layers: the subsets with equally many elements.
    """

    def __init__(self, problem: Recurrence) -> None:
        self.path = Path("memory")
        self.partition = problem.partition(0)
        self._blocks: dict[ClassId, Block] = {}

    def start(self, subset: int) -> int:
        """Offset of the entries of a subset in its class."""
        block = self.block(self.partition.class_of(subset))
        return int(block.starts[np.searchsorted(block.subsets, subset)])

    def row(self, cls: ClassId, start: int, stop: int) -> NDArray[np.float64]:
        """A few entries of a class, as a view."""
        return self.block(cls).values[start:stop]

    def block(self, cls: ClassId) -> Block:
        """A class."""
        if cls not in self._blocks:
            needed = as_cache_size(self.n_bytes)
            raise MemoryLimitError(
                f"cache: this takes all values from here on in memory, {needed}, and not all are kept"
            )
        return self._blocks[cls]

    def __contains__(self, layer: int) -> bool:
        """Whether the subsets with so many elements are here."""
        return ClassId(layer) in self._blocks

    def impossible(self, cls: ClassId) -> YahtzeeClusterError:
        """Error for a class with impossible values."""
        return YahtzeeClusterError(f"layer {cls} holds values that cannot be")

    # --------------------------------------------------------------------------------------------------- solving

    @property
    def n_bytes(self) -> int:
        """Memory for all entries."""
        return 8 * sum(self.partition.n_values.values())

    @property
    def least_bytes(self) -> int:
        """Memory for the two layers that have to be there at a time, at most."""
        sizes = [0, *(8 * self.partition.n_values[cls] for cls in self.partition.classes)]
        return max(lower + upper for lower, upper in pairwise(sizes))

    def solve(
        self,
        problem: Recurrence,
        *,
        threads: int | None = None,
        limit_bytes: int | None = None,
        keeps_all: bool = False,
        report: Report = silent,
        is_cancelled: Callable[[], bool] = lambda: False,
    ) -> None:
        """Compute all layers. If not all fit into the limit, only the last two are kept, unless `keeps_all` says so.

        `report` and `is_cancelled` are called often, from the thread of the caller and from others.
        """
        limit_bytes = DEFAULT_BYTES if limit_bytes is None else limit_bytes
        least_bytes = self.n_bytes if keeps_all else self.least_bytes
        if least_bytes > limit_bytes:
            needed, limit = as_cache_size(least_bytes), rough_size(limit_bytes)
            raise MemoryLimitError(f"cache: solving this from here takes {needed} of memory, and {limit} are allowed")
        keeps_all = self.n_bytes <= limit_bytes
        n_threads = len(os.sched_getaffinity(0)) if threads is None else threads
        solvers: SimpleQueue[Solver] = SimpleQueue()
        for _ in range(n_threads):
            solvers.put(problem.solver())
        total, done = max(1, sum(self.partition.n_values.values())), 0

        def solve_share(share: Block) -> int:
            if is_cancelled():
                return 0
            solver = solvers.get()
            try:
                solver(share, below)
            finally:
                solvers.put(solver)
            return len(share.values)

        with ThreadPoolExecutor(n_threads) as pool:
            for cls in self.partition.classes:
                if not keeps_all:
                    self._blocks.pop(ClassId(cls - 2), None)
                block = Block(
                    self.partition.members(cls), self.partition.starts(cls), new_values(self.partition.n_values[cls])
                )
                below: Below = [self._blocks.get(ClassId(cls - 1))] * self.partition.n_elements
                for n_values in pool.map(solve_share, block.shares(SHARES * n_threads if n_threads > 1 else 1)):
                    done += n_values
                    report(done / total, "")
                if is_cancelled():
                    raise CancelledError("the question was taken back")
                self._blocks[cls] = block


def solve_in_memory(
    problem: Recurrence,
    *,
    threads: int | None = None,
    limit_bytes: int | None = None,
    keeps_all: bool = False,
    is_cancelled: Callable[[], bool] = lambda: False,
) -> Memory:
    """Solve a problem in memory: by default with a thread for each core, and within 1 GB."""
    memory = Memory(problem)
    with stage("solving from here") as report:
        memory.solve(
            problem,
            threads=threads,
            limit_bytes=limit_bytes,
            keeps_all=keeps_all,
            report=report,
            is_cancelled=is_cancelled,
        )
    return memory
