"""Forecasts of memory, reads and time of a run, for fixed sets of every size; computes nothing."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from yahtzee_cluster.engine.fixed_set import MOST_CLASSES, Scales, needed_bytes
from yahtzee_cluster.engine.partition import ClassId, Partition, Subsets, cache_values, reads_per_value
from yahtzee_cluster.engine.recurrence import Block, Recurrence
from yahtzee_cluster.engine.simulator import FIXED_BYTES, Costs, Forecast, shortest, simulate
from yahtzee_cluster.errors import UsageError
from yahtzee_cluster.runtime.configuration import Computation, fixed_set
from yahtzee_cluster.storage.shard import new_values
from yahtzee_cluster.storage.store import Store
from yahtzee_cluster.text import names_in, rough_size

MIB = 1 << 20
FASTEST_DISK = 1e11
CALIBRATED_SUBSETS = 32
CALIBRATED_VALUES = 1 << 26
"""Most values written and read to measure the disk, 512 MB; a single subset may have more."""
HEADING = (
    " |G|   classes     cache   reads   |  classes     cache   reads   largest     busy   fits  |"
    "      time    idle  efficiency"
)


@dataclass(frozen=True)
class Row:
    """Figures for the fixed set of one size: by the formulas of the thesis, and from true sizes."""

    n_fixed: int
    thesis_classes: int
    thesis_cache_bytes: int
    thesis_reads_per_value: float
    G: list[str]
    classes: int
    cache_bytes: int
    reads_per_value: float
    largest_class_bytes: int
    most_busy: float
    """Upper bound on the number of busy workers: total work divided by the critical path."""
    fits: bool
    forecast: Forecast | None


@dataclass(frozen=True)
class Plan:
    """Forecasts for a job, for fixed sets of every size."""

    about: dict[str, Any]
    ranks: int
    threads: int
    cache_bytes: int
    fixed_bytes: int
    """Memory of each rank besides its cache."""
    table_bytes: int
    thesis_table_bytes: int
    costs: Costs
    advised: int | None
    rows: list[Row]
    left_out: list[int]
    """Sizes of fixed sets that would make too many classes."""


def make_plan(asked: Computation, problem: Recurrence, n_ranks: int, costs: Costs) -> Plan:
    """Plan of a job on `n_ranks` ranks, including the master."""
    scales = Scales(problem)
    n_workers = max(1, n_ranks - 1)
    rows = [_row(asked, problem, scales, n_fixed, n_workers, costs) for n_fixed in scales.sizes()]
    makespans = {row.n_fixed: row.forecast.makespan_s for row in rows if row.forecast}
    return Plan(
        about=dict(asked.about),
        ranks=n_ranks,
        threads=asked.threads,
        cache_bytes=asked.cache_bytes,
        fixed_bytes=FIXED_BYTES,
        table_bytes=8 * scales.n_values,
        thesis_table_bytes=8 * problem.plain_size << scales.n_elements,
        costs=costs,
        advised=shortest(makespans) if makespans else None,
        rows=rows,
        left_out=list(range(len(rows), scales.n_elements + 1)),
    )


@dataclass(frozen=True)
class Scaling:
    """Forecasts for one fixed set, on increasing numbers of ranks."""

    about: dict[str, Any]
    G: list[str]
    classes: int
    table_bytes: int
    needed_bytes: int
    """Smallest cache that is sufficient."""
    cache_bytes: int
    fixed_bytes: int
    costs: Costs
    ranks: list[int]
    forecasts: list[Forecast]


def make_scaling(asked: Computation, problem: Recurrence, costs: Costs) -> Scaling:
    """Forecasts for 2 to 1,024 ranks, in powers of two."""
    ranks = [1 << n for n in range(1, 11)]
    fixed = fixed_set(asked, problem, ranks[0])
    partition = problem.partition(fixed)
    return Scaling(
        about=dict(asked.about),
        G=names_in(fixed, problem.element_names),
        classes=len(partition.classes),
        table_bytes=8 * sum(partition.n_values.values()),
        needed_bytes=needed_bytes(partition),
        cache_bytes=asked.cache_bytes,
        fixed_bytes=FIXED_BYTES,
        costs=costs,
        ranks=ranks,
        forecasts=[simulate(partition, n - 1, asked.cache_bytes, costs, asked.threads) for n in ranks],
    )


def scaling_as_text(scaling: Scaling) -> list[str]:
    """The forecasts as lines of text."""
    cache = f"{rough_size(scaling.cache_bytes)} of cache for each rank, of which {rough_size(scaling.needed_bytes)}"
    lines = [
        _title(scaling.about),
        f"G          {', '.join(scaling.G) or 'nothing'}: {scaling.classes:,} classes",
        f"table      {rough_size(scaling.table_bytes)} on disk",
        f"memory     {cache} would do, and {rough_size(scaling.fixed_bytes)} besides",
        "",
        f"{'ranks':>5}  {'time':>12}  {'idle':>5}  {'efficiency':>10}  {'read':>9}  {'memory in all':>13}",
    ]
    for n_ranks, forecast in zip(scaling.ranks, scaling.forecasts, strict=True):
        memory = n_ranks * (scaling.cache_bytes + scaling.fixed_bytes)
        lines.append(
            f"{n_ranks:>5}  {forecast.makespan_s:>10.2f} s  {forecast.idle:>5.0%}  {forecast.efficiency:>10.0%}  "
            f"{rough_size(forecast.bytes_read):>9}  {rough_size(memory):>13}"
        )
    return lines


def _row(asked: Computation, problem: Recurrence, scales: Scales, n_fixed: int, n_workers: int, costs: Costs) -> Row:
    fixed = scales.pick(n_fixed)
    weight = scales.weigh(fixed)
    partition = problem.partition(fixed)
    needed = needed_bytes(partition)
    n, plain_bytes = scales.n_elements, 8 * problem.plain_size
    return Row(
        n_fixed=n_fixed,
        thesis_classes=(n - n_fixed + 1) << n_fixed,
        thesis_cache_bytes=cache_values(n, n_fixed, plain_bytes),
        thesis_reads_per_value=reads_per_value(n, n_fixed),
        G=names_in(fixed, problem.element_names),
        classes=weight.n_classes,
        cache_bytes=needed,
        reads_per_value=weight.read / max(1, scales.n_values),
        largest_class_bytes=8 * weight.largest_class,
        most_busy=scales.n_values / max(1, weight.chain),
        fits=needed <= asked.cache_bytes,
        forecast=simulate(partition, n_workers, asked.cache_bytes, costs, asked.threads)
        if needed <= asked.cache_bytes
        else None,
    )


# ------------------------------------------------------------------------------------------------------ output


def as_json(plan: Plan | Scaling) -> dict[str, Any]:
    """A plan or a scaling as JSON data."""
    listed = asdict(plan)
    forecasts = [row.forecast for row in plan.rows] if isinstance(plan, Plan) else plan.forecasts
    told = [row["forecast"] for row in listed["rows"]] if isinstance(plan, Plan) else listed["forecasts"]
    for forecast, shown in zip(forecasts, told, strict=True):
        if forecast:
            shown |= {"efficiency": forecast.efficiency, "idle": forecast.idle}
    return {**listed.pop("about"), **listed}


def _title(about: Mapping[str, Any]) -> str:
    told = {key: value for key, value in about.items() if value is not None}
    return ", ".join(value if isinstance(value, str) else f"{key} {value}" for key, value in told.items())


def as_text(plan: Plan) -> list[str]:
    """The plan as lines of text."""
    rank_bytes, thesis = plan.cache_bytes + plan.fixed_bytes, rough_size(plan.thesis_table_bytes)
    cache = f"a cache of {rough_size(plan.cache_bytes)}, and {rough_size(plan.fixed_bytes)} besides"
    lines = [
        _title(plan.about),
        f"table      {rough_size(plan.table_bytes)} on disk ({thesis} with every subset as large)",
        f"memory     {rough_size(rank_bytes)} for each of {plan.ranks} ranks: {cache}",
        "",
        "       thesis                      |  this program                                         |  as simulated",
        HEADING,
    ]
    for row in plan.rows:
        simulated = "-" if row.forecast is None else _simulated(row.forecast)
        lines.append(
            f"{row.n_fixed:>4}{row.thesis_classes:>10}{rough_size(row.thesis_cache_bytes):>10}"
            f"{row.thesis_reads_per_value:>8.3f}   |{row.classes:>9}{rough_size(row.cache_bytes):>10}"
            f"{row.reads_per_value:>8.3f}{rough_size(row.largest_class_bytes):>10}{row.most_busy:>9.1f}"
            f"{'yes' if row.fits else 'no':>7}"
            f"  |  {simulated}"
        )
    if plan.left_out:
        lines.append(
            f"  Left out: {plan.left_out[0]} to {plan.left_out[-1]}, which make more than {MOST_CLASSES:,} classes."
        )
    if plan.advised is None:
        return [*lines, "", "No G makes it fit; take a larger --cache."]
    names = ",".join(plan.rows[plan.advised].G) or "nothing"
    return [*lines, "", f"Advised: --G {plan.advised}, that is {names}."]


def _simulated(forecast: Forecast) -> str:
    return f"{forecast.makespan_s:8.2f} s  {forecast.idle:5.0%}  {forecast.efficiency:10.0%}"


def plot(plan: Plan, file: Path) -> None:
    """Plot memory and reads against the size of the fixed set, as in figures 5.7 and 5.8 of the thesis."""
    try:
        import matplotlib as mpl
        from matplotlib.figure import Figure
    except ImportError as error:
        raise UsageError('plot: needs matplotlib; install it with pip install "yahtzee_cluster[plot]"') from error

    mpl.rcParams["svg.hashsalt"] = "yahtzee_cluster"  # the same plan makes the same file
    figure = Figure(figsize=(10, 4.2), layout="constrained")
    memory, reads = figure.subplots(1, 2)
    sizes = [row.n_fixed for row in plan.rows]
    for axes, thesis, true in (
        (memory, [row.thesis_cache_bytes / MIB for row in plan.rows], [row.cache_bytes / MIB for row in plan.rows]),
        (reads, [row.thesis_reads_per_value for row in plan.rows], [row.reads_per_value for row in plan.rows]),
    ):
        axes.plot(sizes, thesis, "o--", color="0.55", label="by the thesis' formula")
        axes.plot(sizes, true, "s-", color="black", label="this program")
        axes.set_xlabel("size of the fixed set, |G|")
        axes.set_xticks(sizes)
        axes.grid(color="0.9")
    memory.set_yscale("log")
    memory.axhline(plan.cache_bytes / MIB, color="0.3", linewidth=1, linestyle=":", label="cache of a rank")
    memory.set_ylabel("memory needed at once, MB")
    reads.set_ylabel("values read for each value of the table")
    memory.legend()
    reads.legend()
    figure.suptitle(_title(plan.about), parse_math=False)
    try:
        figure.savefig(file, metadata={"Date": None} if file.suffix == ".svg" else None)
    except (OSError, ValueError) as error:
        raise UsageError(f"plot: {file} cannot be written: {error}") from error


# ---------------------------------------------------------------------------------------------- calibration


def calibrate(problem: Recurrence, asked: Computation) -> Costs:
    """Measure the costs on this machine: solve some subsets from placeholder values, write and read one class."""
    partition, middle = _part_of_a_layer(problem)
    members, starts = partition.members(middle), partition.starts(middle)
    n = min(len(members), CALIBRATED_SUBSETS)
    block = Block(members[:n], starts[: n + 1], new_values(int(starts[n])))
    block.values[:] = 0.0
    below = [_zero_block(problem, members[:n], a) for a in range(partition.n_elements)]
    solve = problem.solver()
    solve(block.share(0, 1), below)
    solve_s = _seconds(lambda: solve(block, below))
    subset_s = min(Costs.subset_s, solve_s / n / 2)
    value_s = (solve_s - n * subset_s) / max(1, len(block.values))

    parent = next(path for path in [*Path(asked.store or "runs").absolute().parents] if path.is_dir())
    with tempfile.TemporaryDirectory(dir=parent) as directory:
        store = Store(Path(directory), partition, key=b"")
        whole = Block(members, starts, new_values(int(starts[-1])))
        whole.values[:] = 0.5
        run = store.write_for("calibration")
        run.make()
        run.sweep()
        commit_s = _seconds(lambda: store.write(ClassId(0), Block(members[:0], starts[:1], new_values(0))))
        write_s = _seconds(lambda: store.write(middle, whole))
        read_s = _seconds(lambda: store.read(middle))
    n_bytes = whole.values.nbytes
    return replace(
        Costs(),
        value_s=value_s,
        subset_s=subset_s,
        commit_s=commit_s,
        disk_read_bytes_per_s=n_bytes / read_s,
        disk_write_bytes_per_s=n_bytes / max(write_s - commit_s, n_bytes / FASTEST_DISK),
    )


def _part_of_a_layer(problem: Recurrence) -> tuple[Partition, ClassId]:
    """A partition with a single class, the first subsets of the middle layer up to CALIBRATED_VALUES; and the class."""
    layers = problem.partition(0)
    middle = layers.classes[len(layers.classes) // 2]
    members = layers.members(middle)
    last = members[int(np.searchsorted(layers.starts(middle)[2:], CALIBRATED_VALUES, side="right"))]

    def exist(subsets: Subsets) -> NDArray[np.bool_]:
        in_it = (subsets <= last) & (np.bitwise_count(subsets) == layers.layer(middle))
        return np.asarray(in_it & problem.exist(subsets))

    return replace(layers, exist=exist), middle


def _seconds(action: Callable[[], object]) -> float:
    started = perf_counter()
    action()
    return perf_counter() - started


def _zero_block(problem: Recurrence, members: Subsets, element: int) -> Block | None:
    """A block of zeros for the members without an element; time in kernels does not depend on the values."""
    having = np.unique(members[members >> element & 1 == 1] ^ 1 << element)
    having = having[problem.exist(having)]
    if not len(having):
        return None
    starts = np.append(0, np.cumsum(problem.sizes(having)))
    return Block(having, starts, np.zeros(int(starts[-1])))
