"""Measure how well the work of a table is shared out, in several orders, and print one JSON object a line.

In simulation, for up to 1,023 workers; on real ranks that sleep instead of computing, so that two cores are enough for
many of them; and on the main job with two workers. Three orders are there only to be compared with the program's own.
"""

from __future__ import annotations

import argparse
import importlib
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
from formulas import most_busy
from numpy.typing import NDArray

from yahtzee_cluster.engine.fixed_set import FixedSetSearch
from yahtzee_cluster.engine.partition import ClassId, Partition, Subsets
from yahtzee_cluster.engine.recurrence import Below, Block, Recurrence, Solver
from yahtzee_cluster.engine.schedule import Committed, Drop, Event, Instruction, Schedule, Solved
from yahtzee_cluster.engine.simulator import Costs, simulate
from yahtzee_cluster.game.rule_files import load_rules
from yahtzee_cluster.objectives.probabilities import MaxProb
from yahtzee_cluster.runtime.command import start
from yahtzee_cluster.runtime.configuration import Computation

FIGURE = Path(__file__).parent.parent / "docs" / "explanation" / "load-balance.svg"
RUNS = Path("runs")
"""Tables lie where Git does not look, as those of any run."""
CACHE_BYTES = 256 << 20
MUCH = 1 << 50
"""A cache in which everything has room."""
APART = 1e15
"""Two classes whose ranks differ by so much never count as equal."""
WITH_A_DISK = Costs(value_s=128e-9, subset_s=30e-6, start_s=0, read_s=0, write_s=0)
"""As for the main job, with one disk for all workers."""
COMPUTING_ONLY = replace(
    WITH_A_DISK,
    **dict.fromkeys(("subset_s", "class_s", "commit_s"), 0.0),
    **dict.fromkeys(("disk_read_bytes_per_s", "disk_write_bytes_per_s"), float("inf")),
)


@dataclass(frozen=True)
class Scale:
    """How much of everything is measured."""

    rules: str
    target: int
    n_fixed: int
    n_sizes: int
    workers: Sequence[int]
    """Simulated, for so many sizes of fixed sets."""
    more_workers: Sequence[int]
    """Simulated, for all orders."""
    asleep: Sequence[int]
    """So many workers on real ranks."""
    seconds: float
    """What each of them sleeps."""
    times: int
    """How often the real job runs."""


UP_TO_1024_RANKS = tuple((1 << n) - 1 for n in range(1, 11))
AROUND_THE_LIMIT = (2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 24, 45, 90)
FULL = Scale(
    "yahtzee", 800, 5, 14, UP_TO_1024_RANKS, sorted({*UP_TO_1024_RANKS, *AROUND_THE_LIMIT}), (2, 4, 8, 16, 32), 30.0, 3
)
SMALL = Scale("yacht", 60, 3, 5, (1, 3, 31), (1, 3, 31), (3,), 0.5, 1)

# ------------------------------------------------------------------------------------------- the orders


class Balanced(Schedule):
    """The program's own: the longest remaining chain first. A sleeping worker needs no core."""

    def _room(self, host: str) -> int:  # noqa: ARG002
        return len(self.host)

    def take_in_turn(self, turn: Mapping[ClassId, int]) -> None:
        """Rank classes by their turn instead, the lowest first; to be called before the first event."""
        self.path = {cls: -at * APART for cls, at in turn.items()}
        self._ready = sorted((-self.path[cls], cls) for _, cls in self._ready)


class LayerByLayer(Balanced):
    """No class is begun before the layer below its own is on disk as a whole: nothing is heard of it until then."""

    _withheld: Sequence[Committed] = ()

    def handle(self, event: Event) -> list[Instruction]:
        """Take note of what happened, and of the end of a layer when there is nothing more to do in it."""
        if not isinstance(event, Committed):
            return super().handle(event)
        self._withheld = [*self._withheld, event]
        if self._ready or self.computing or len(self._withheld) < len(self.writing):
            return []
        committed, self._withheld = self._withheld, ()
        return [instruction for event in committed for instruction in super(LayerByLayer, self).handle(event)]


class NothingKept(Balanced):
    """A worker forgets a class that it has computed, and all that was read for it; nothing is preloaded."""

    def handle(self, event: Event) -> list[Instruction]:
        """Take note of what happened; have everything dropped before anything new is begun."""
        drops: list[Instruction] = []
        match event:
            case Solved(worker, _):
                drops = [Drop(worker, cls) for cls, workers in self.caching.items() if worker in workers]
            case Committed(worker, cls):
                drops = [Drop(worker, cls)]
        return [*drops, *super().handle(event)]

    def _look_ahead(self) -> list[Instruction]:
        return []


Order = Callable[[Partition, Collection[ClassId]], Schedule]


def _in_turn(turn: Callable[[Partition], Mapping[ClassId, int]], kind: type[Balanced]) -> Order:
    """Classes by their turn, whatever hangs on them."""

    def order(partition: Partition, done: Collection[ClassId] = ()) -> Schedule:
        schedule = kind.of(partition, done)
        schedule.take_in_turn(turn(partition))
        return schedule

    return order


def _layers(partition: Partition) -> Mapping[ClassId, int]:
    return {cls: partition.layer(cls) for cls in partition.classes}


def _numbers(partition: Partition) -> Mapping[ClassId, int]:
    return {cls: at for at, cls in enumerate(partition.classes)}


ORDERS: Mapping[str, Order] = {
    "longest-chain": Balanced.of,
    "lowest-layer": _in_turn(_layers, Balanced),
    "layer-by-layer": _in_turn(_layers, LayerByLayer),
    "nothing-kept": _in_turn(_numbers, NothingKept),
}


# ------------------------------------------------------------------------------- what ranks have to do


@dataclass(frozen=True)
class Sleeping(Recurrence):
    """A table with so many entries for each subset, each of which takes its time, and no core."""

    lengths: tuple[int, ...]
    value_s: float

    @property
    def element_names(self) -> tuple[str, ...]:
        """As many as the list of lengths needs."""
        return tuple(f"e{a}" for a in range((len(self.lengths) - 1).bit_length()))

    @property
    def identity(self) -> dict[str, Any]:
        """What the entries depend on."""
        return {"problem": "sleeping", "lengths": self.lengths}

    def sizes(self, subsets: Subsets) -> NDArray[np.int64]:
        """As many entries as are listed."""
        return np.array(self.lengths, np.int64)[subsets]

    def solver(self) -> Solver:
        """A good night."""
        return self._solve

    def _solve(self, block: Block, below: Below) -> None:  # noqa: ARG002
        time.sleep(len(block.values) * self.value_s)
        block.values[:] = 0.5


def sleeping(problem: Recurrence, seconds: float) -> Sleeping:
    """A problem a thousand times smaller, with so much to sleep in all."""
    lengths = -(-problem.sizes(np.arange(1 << len(problem.element_names))) // 1000)
    return Sleeping(tuple(lengths.tolist()), seconds / int(lengths.sum()))


@dataclass(frozen=True, kw_only=True)
class Ordered(Computation):
    """The chances in some game, or as much to sleep through, in some order."""

    order: str
    rules: str = "yahtzee"
    target: int = 800
    asleep: float | None = None

    @classmethod
    def add_flags(cls, parser: argparse.ArgumentParser) -> None:
        """The order, and what is to be done."""
        parser.add_argument("--order", choices=ORDERS, required=True, help="which classes go first")
        parser.add_argument("--rules", metavar="NAME", help="the game")
        parser.add_argument("--target", type=int, metavar="SCORE", help="the highest score")
        parser.add_argument("--asleep", type=float, metavar="SECONDS", help="how long to sleep instead of computing")

    def problem(self) -> Recurrence:
        """What is to be computed."""
        problem = MaxProb(load_rules(self.rules), self.target)
        return problem if self.asleep is None else sleeping(problem, self.asleep)

    @property
    def about(self) -> Mapping[str, Any]:
        """Which order."""
        return {"order": self.order}

    def schedule(self, partition: Partition, done: Collection[ClassId]) -> Schedule:
        """The worker, the start and the end of every class, in this order."""
        return ORDERS[self.order](partition, done)


# ------------------------------------------------------------------------------------ what is measured


def report(benchmark: str, **figures: object) -> None:
    """Print one line."""
    print(json.dumps({"benchmark": benchmark, **figures}), flush=True)


def bench_sizes(problem: MaxProb, n_sizes: int, workers: Sequence[int]) -> list[tuple[float, float]]:
    """Fixed sets of so many sizes, without and with a disk; whom each keeps busy, in the plain model and in truth."""
    search, found = FixedSetSearch(problem), []
    for n_fixed in range(n_sizes):
        partition, figures = problem.partition(search.pick(n_fixed)), search.costs(search.pick(n_fixed))
        busy = search.n_values / figures.chain
        found.append((most_busy(search.n_elements, n_fixed), busy))
        for costs, name in ((COMPUTING_ONLY, "computing only"), (WITH_A_DISK, "with a disk")):
            shares = [round(simulate(partition, n, MUCH, costs).efficiency, 4) for n in workers]
            report(
                "sizes", G=n_fixed, classes=figures.n_classes, mb=round(8 * figures.held / 2**20, 1),
                reads=round(figures.read / search.n_values, 3), busy=round(busy, 2), costs=name, workers=workers,
                efficiency=shares,
            )  # fmt: skip
    return found


def bench_orders(problem: MaxProb, n_fixed: int, workers: Sequence[int]) -> dict[str, list[float]]:
    """All orders in simulation, with nothing but computing to do; the efficiency of each."""
    partition = problem.partition(FixedSetSearch(problem).pick(n_fixed))
    found: dict[str, list[float]] = {}
    for name, order in ORDERS.items():
        for n in workers:
            forecast = simulate(partition, n, CACHE_BYTES, COMPUTING_ONLY, schedule=order(partition, ()))
            found.setdefault(name, []).append(forecast.efficiency)
            report("order", order=name, workers=n, efficiency=round(forecast.efficiency, 4), read=forecast.bytes_read)
    return found


def bench_sets(problem: MaxProb, n_fixed: int) -> list[tuple[float, float]]:
    """All fixed sets of one size: the memory that each takes at once, in MB, and how many workers it keeps busy."""
    search, names = FixedSetSearch(problem), problem.element_names
    weights = {chosen: search.costs(sum(1 << a for a in chosen)) for chosen in combinations(range(len(names)), n_fixed)}
    found = {chosen: (8 * figures.held / 2**20, search.n_values / figures.chain) for chosen, figures in weights.items()}
    picked = tuple(a for a in range(len(names)) if search.pick(n_fixed) >> a & 1)
    for name, chosen in {
        "least memory": min(found, key=lambda chosen: found[chosen][0]),
        "most memory": max(found, key=lambda chosen: found[chosen][0]),
        "most busy": max(found, key=lambda chosen: found[chosen][1]),
        "least busy": min(found, key=lambda chosen: found[chosen][1]),
        "picked": picked,
    }.items():
        memory, busy = found[chosen]
        report(
            "sets", of=len(found), which=name, G=[names[a] for a in chosen], mb=round(memory, 1), busy=round(busy, 2)
        )
    return [found[picked], *(at for chosen, at in found.items() if chosen != picked)]


def bench_asleep(flags: Sequence[object], workers: Sequence[int], seconds: float) -> dict[str, list[float]]:
    """All orders on real ranks, each of which would sleep for so long if none ever waited; the efficiency of each."""
    found: dict[str, list[float]] = {}
    for n in workers:
        for name in ORDERS:
            told = run(n + 1, *flags, "--order", name, "--asleep", n * seconds)
            found.setdefault(name, []).append(n * seconds / (n * seconds + told["idle_s"]))
            report("asleep", order=name, workers=n, efficiency=round(found[name][-1], 4), read=told["bytes_read"])
    return found


def bench_job(flags: Sequence[object], times: int) -> None:
    """All orders on a real job with two workers; the share of their time that goes into the kernel."""
    for _ in range(times):
        for name in ORDERS:
            told = run(3, *flags, "--order", name)
            figures = {key: round(told[key], 2) for key in ("elapsed_s", "kernel_s", "read_s", "idle_s")}
            efficiency = told["kernel_s"] / (2 * told["elapsed_s"])
            report("job", order=name, efficiency=round(efficiency, 4), read=told["bytes_read"], **figures)


def run(n_ranks: int, *flags: object) -> dict[str, Any]:
    """What one run on real ranks says of itself."""
    beside = Path(sys.executable).parent / "mpirun"
    command = [str(beside) if beside.exists() else "mpirun", "-n", str(n_ranks), sys.executable, __file__]
    RUNS.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(dir=RUNS) as store:
        words = [*command, *map(str, flags), "--json", "--store", store]
        result = subprocess.run(words, check=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    told: dict[str, Any] = json.loads(result.stdout)
    return told


# -------------------------------------------------------------------------------------------- the figure

STYLE: Mapping[str, dict[str, Any]] = {
    "longest-chain": {"color": "black", "linewidth": 1.4, "marker": "o"},
    "lowest-layer": {"color": "0.4", "linewidth": 1.2, "marker": "s", "linestyle": (0, (4, 1.5))},
    "layer-by-layer": {"color": "0.55", "linewidth": 1.2, "marker": "^", "linestyle": (0, (1, 1))},
    "nothing-kept": {"color": "0.7", "linewidth": 1.2, "marker": "v", "linestyle": (0, (6, 1, 1, 1))},
}


def draw(
    file: Path,
    simulated: tuple[Sequence[int], dict[str, list[float]]],
    asleep: tuple[Sequence[int], dict[str, list[float]]],
    busy: Sequence[tuple[float, float]],
    sets: Sequence[tuple[float, float]],
) -> None:
    """All of it in three panels; the same numbers make the same file."""
    mpl = importlib.import_module("matplotlib")
    mpl.rcParams.update({"svg.hashsalt": "yahtzee_cluster", "font.size": 8, "legend.frameon": False})
    figure = importlib.import_module("matplotlib.figure").Figure(figsize=(11, 3.8), layout="constrained")
    orders, sizes, chosen = figure.subplots(1, 3)

    workers, most = np.array(simulated[0]), sets[0][1]
    limits = 1 / (1 + (workers - 1) / most), np.minimum(1, most / workers)
    orders.fill_between(workers, *limits, color="0.9", label="between the two bounds")
    for name, style in STYLE.items():
        line = {key: value for key, value in style.items() if key != "marker"}
        orders.plot(workers, simulated[1][name], label=name.replace("-", " "), **line)
        orders.plot(
            *(asleep[0], asleep[1][name]), style["marker"], color=style["color"], markersize=4, fillstyle="none"
        )
    orders.set(xscale="log", xlabel="workers", ylabel="efficiency", ylim=(0, 1.03))
    orders.set_title("orders: simulated, and on ranks that sleep")
    orders.set_xticks([1, 3, 10, 30, 100, 300, 1000], ["1", "3", "10", "30", "100", "300", "1000"])

    plain, true = zip(*busy, strict=True)
    sizes.plot(range(len(busy)), plain, "o--", color="0.55", markersize=4, label="every subset as large")
    sizes.plot(range(len(busy)), true, "s-", color="black", markersize=4, label="true sizes")
    sizes.set(yscale="log", xlabel="size of the fixed set, |G|", ylabel="workers kept busy, at most")
    sizes.set_yticks([1, 10, 100], ["1", "10", "100"])
    sizes.set_title("all work over the longest chain")

    chosen.plot(*zip(*sets[1:], strict=True), ".", color="0.6", markersize=2, rasterized=True)
    chosen.plot(*sets[0], "s", color="black", markersize=5, label="picked")
    chosen.set(xlabel="memory needed at once, MB", ylabel="workers kept busy, at most")
    chosen.set_title(f"all {len(sets):,} sets of one size")
    for axes in (orders, sizes, chosen):
        axes.grid(color="0.92")
        axes.set_axisbelow(True)
        axes.legend()
    figure.savefig(file, dpi=150, metadata={"Date": None})


def main() -> None:
    """Measure all of it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--small", action="store_true", help="a miniature of it all, in a few seconds")
    parser.add_argument("--figure", type=Path, default=FIGURE, metavar="FILE", help="where it is drawn")
    options = parser.parse_args()
    scale = SMALL if options.small else FULL
    problem = MaxProb(load_rules(scale.rules), scale.target)
    flags = ["--rules", scale.rules, "--target", scale.target, "--G", scale.n_fixed]
    report("machine", cores=len(os.sched_getaffinity(0)), load=os.getloadavg())
    simulated = bench_orders(problem, scale.n_fixed, scale.more_workers)
    busy = bench_sizes(problem, scale.n_sizes, scale.workers)
    sets = bench_sets(problem, scale.n_fixed)
    slept = bench_asleep(flags, scale.asleep, scale.seconds)
    bench_job(flags, scale.times)
    draw(options.figure, (scale.more_workers, simulated), (scale.asleep, slept), busy, sets)


if __name__ == "__main__":
    if "--order" in sys.argv:
        start(Ordered)
    main()
