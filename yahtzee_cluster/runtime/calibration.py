"""Measuring what a problem costs on this machine: some subsets are solved from made-up entries, and written and read.

Real entries would take a real run. The time in kernels does not depend on the entries, as long as these are ordinary
numbers: no NaN, and no denormals, which processors may treat a hundred times as slowly.
"""

from __future__ import annotations

import pickle
import tempfile
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from itertools import chain, combinations
from pathlib import Path
from time import perf_counter, process_time

import numpy as np
from numpy.typing import NDArray

from yahtzee_cluster.engine.partition import ClassId, Partition, Subsets
from yahtzee_cluster.engine.recurrence import Block, Recurrence, Solver
from yahtzee_cluster.engine.simulator import Costs
from yahtzee_cluster.storage.shard import new_values
from yahtzee_cluster.storage.store import Store

SAMPLED_SUBSETS = 1 << 17
"""Subsets drawn to find typical ones, or all if there are no more."""
SAMPLED_LAYERS = 6
LAYER_S = 0.12
"""Processor time for the largest block solved in each of these layers."""
MOST_VALUES = 1 << 23
"""Most values of a block with all that it reads, 64 MB; a single subset may have more."""
FILE_VALUES = 1 << 22
"""Values of the file that measures the disk, 32 MB."""
TRIES = 3


@dataclass(frozen=True)
class _Sample:
    """A block that was solved."""

    block: Block
    seconds: float


def calibrate(problem: Recurrence, directory: Path) -> Costs:
    """Measure the costs of a problem, with its table in some directory; takes a second or two."""
    started = process_time()
    problem = pickle.loads(pickle.dumps(problem))  # noqa: S301  # as a worker receives it
    solve = problem.solver()
    start_s = process_time() - started
    layers = [_solved_blocks(problem, solve, layer) for layer in _sampled_layers(problem)]
    computing = _fit([sample for samples in layers for sample in samples], [samples[-1] for samples in layers])
    middle = max((samples[-1].block for samples in layers), key=lambda block: len(block.values))
    return replace(
        _disk_costs(problem, middle, directory),
        class_s=Costs.class_s + computing[0],
        subset_s=computing[1],
        value_s=computing[2],
        start_s=Costs.start_s + start_s,
    )


# ------------------------------------------------------------------------------------------------- the kernel


def _sampled_layers(problem: Recurrence) -> list[Subsets]:
    """Subsets in random order, from layers that stand for equal shares of the table; a large layer comes repeatedly."""
    rng = np.random.default_rng(1)
    subsets = rng.permutation(_drawn(problem, rng))
    layer_of, sizes = np.bitwise_count(subsets), problem.sizes(subsets)
    share = np.cumsum(np.bincount(layer_of, sizes)) / max(1, sizes.sum())
    layers = np.searchsorted(share, (np.arange(SAMPLED_LAYERS) + 0.5) / SAMPLED_LAYERS)
    return [subsets[layer_of == layer] for layer in layers if (layer_of == layer).any()]


def _drawn(problem: Recurrence, rng: np.random.Generator) -> Subsets:
    """Existing subsets, drawn at random; all of them where they are few."""
    n_subsets = 1 << len(problem.element_names)
    if n_subsets > SAMPLED_SUBSETS:
        drawn = np.unique(rng.integers(0, n_subsets, SAMPLED_SUBSETS))
        drawn = drawn[problem.exist(drawn)]
        if len(drawn) > SAMPLED_SUBSETS >> 8:
            return drawn
    chunks = (
        np.arange(first, min(first + SAMPLED_SUBSETS, n_subsets)) for first in range(0, n_subsets, SAMPLED_SUBSETS)
    )
    return np.concatenate([chunk[problem.exist(chunk)] for chunk in chunks])


def _solved_blocks(problem: Recurrence, solve: Solver, subsets: Subsets) -> list[_Sample]:
    """Solve blocks of the first subsets, larger and larger, until one takes long enough."""
    samples: list[_Sample] = []
    n_subsets = 1
    _solved(problem, solve, subsets[:1])  # the first call of a kernel takes longer
    while True:
        samples.append(_solved(problem, solve, np.sort(subsets[:n_subsets])))
        last = samples[-1]
        n_values = len(last.block.values) * (len(problem.element_names) + 1)
        growth = min(4.0, LAYER_S / max(last.seconds, 1e-9), MOST_VALUES / max(1, n_values))
        if n_subsets == len(subsets) or growth < 1.5:
            return samples
        n_subsets = min(len(subsets), max(n_subsets + 1, int(growth * n_subsets)))


def _solved(problem: Recurrence, solve: Solver, subsets: Subsets) -> _Sample:
    """Solve a block of these subsets, in new memory as in a run."""
    below = [_made_up(problem, subsets, element) for element in range(len(problem.element_names))]
    block = _block(problem, subsets)
    with np.errstate(all="ignore"):
        started = process_time()
        solve(block, below)
        return _Sample(block, process_time() - started)


def _made_up(problem: Recurrence, subsets: Subsets, element: int) -> Block | None:
    """Block of the subsets without an element, whose entries fall from 1 to nearly 0 in each subset."""
    without = np.unique(subsets[subsets >> element & 1 == 1] ^ 1 << element)
    without = without[problem.exist(without)]
    if not len(without):
        return None
    block = _block(problem, without)
    sizes = np.diff(block.starts)
    at = np.arange(len(block.values)) - np.repeat(block.starts[:-1], sizes)
    block.values[:] = 1 - at / np.repeat(sizes, sizes)
    return block


def _block(problem: Recurrence, subsets: Subsets) -> Block:
    starts = np.append(0, np.cumsum(problem.sizes(subsets), dtype=np.int64))
    return Block(subsets, starts, new_values(int(starts[-1])))


def _fit(samples: list[_Sample], largest: list[_Sample]) -> NDArray[np.float64]:
    """Costs of a block, a subset and a value, none negative; on average exact for the largest blocks."""

    def counts(samples: list[_Sample]) -> NDArray[np.float64]:
        return np.array([(1, len(sample.block), len(sample.block.values)) for sample in samples], float)

    def seconds(samples: list[_Sample]) -> NDArray[np.float64]:
        return np.array([max(sample.seconds, 1e-9) for sample in samples])

    weights = 1 / np.sqrt(seconds(samples))  # a compromise between small absolute and small relative errors
    weighted, wanted = counts(samples) * weights[:, None], seconds(samples) * weights
    fits = []
    for columns in chain.from_iterable(combinations(range(3), n) for n in (1, 2, 3)):
        costs = np.zeros(3)
        costs[list(columns)] = np.linalg.lstsq(weighted[:, columns], wanted)[0]
        if (costs >= 0).all():
            fits.append((float(np.square(weighted @ costs - wanted).sum()), costs))
    best = min(fits, key=lambda fit: fit[0])[1]
    return np.asarray(best * (seconds(largest) / (counts(largest) @ best)).mean())


# --------------------------------------------------------------------------------------------------- the disk


@dataclass(frozen=True)
class _OneClass(Partition):
    """A partition in which every class has the same members."""

    only: Subsets = field(default_factory=lambda: np.empty(0, np.int64))

    def members(self, cls: ClassId) -> Subsets:  # noqa: ARG002
        """The same for every class."""
        return self.only


def _disk_costs(problem: Recurrence, block: Block, directory: Path) -> Costs:
    """Write and read a block as a class of a table, a file without parts, and an empty one, which takes a commit."""
    directory = next(path for path in [directory, *directory.absolute().parents] if path.is_dir())
    nothing, whole = (Block(np.arange(1), np.array([0, n]), new_values(n)) for n in (0, FILE_VALUES))
    n_elements = len(problem.element_names)
    (commit_s, commit_cpu_s), _ = _stored(directory, n_elements, nothing)
    (write_s, write_cpu_s), (read_s, read_cpu_s) = _stored(directory, n_elements, whole)
    (_, block_cpu_s), _ = _stored(directory, n_elements, block)
    waited_s = write_s - write_cpu_s - (commit_s - commit_cpu_s)
    return Costs(
        read_s=read_cpu_s / FILE_VALUES,
        write_s=max(0.0, block_cpu_s - commit_cpu_s) / max(1, len(block.values)),
        commit_s=commit_s,
        disk_read_bytes_per_s=8 * FILE_VALUES / read_s,
        disk_write_bytes_per_s=8 * FILE_VALUES / max(waited_s, read_s),  # no disk writes faster than it reads
    )


def _stored(directory: Path, n_elements: int, block: Block) -> tuple[tuple[float, float], tuple[float, float]]:
    """Shortest times of writing and of reading a block, by the clock and of the processor."""
    block.values[:] = 0.5
    sizes = np.diff(block.starts)
    partition = _OneClass(n_elements, 0, sizes=lambda _: sizes, only=block.subsets)
    cls = ClassId(int(block.subsets[0]).bit_count())
    writes, reads = [], []
    with tempfile.TemporaryDirectory(dir=directory) as table:
        store = Store(Path(table), partition, key=b"")
        run = store.write_for("calibration")
        run.make()
        run.sweep()
        for _ in range(TRIES):
            writes.append(_timed(lambda: store.write(cls, block)))
            reads.append(_timed(lambda: store.read(cls)))
            store.remove(cls)
    return min(writes), min(reads)


def _timed(action: Callable[[], object]) -> tuple[float, float]:
    """Time of an action by the clock, and of the processor."""
    started, busy = perf_counter(), process_time()
    action()
    return perf_counter() - started, process_time() - busy
