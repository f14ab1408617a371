"""Measure the kernels, the jobs and games played forward, and print one JSON object a line.

Kernels run on one core, the job on all; compare figures only within one run, because machines are shared and clocks
vary.
"""

from __future__ import annotations

import argparse
import importlib
import json
import os
import platform
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from statistics import median
from time import perf_counter, process_time
from typing import Any

import numpy as np

from yahtzee_cluster.analysis.forward import compare, play_for, play_for_mean
from yahtzee_cluster.commands.job import Job
from yahtzee_cluster.engine.recurrence import Block
from yahtzee_cluster.engine.simulator import Forecast, simulate
from yahtzee_cluster.game.anchors import Anchors
from yahtzee_cluster.game.moves import compile_moves
from yahtzee_cluster.game.rule_files import load_rules, preset_names
from yahtzee_cluster.kernels import uppers
from yahtzee_cluster.kernels.turn import Turn, instruction_sets
from yahtzee_cluster.objectives.expected import solve_expected
from yahtzee_cluster.objectives.probabilities import MaxProb
from yahtzee_cluster.play.duel import simulated_duel
from yahtzee_cluster.play.strategies import parse_strategy
from yahtzee_cluster.runtime.configuration import fixed_set
from yahtzee_cluster.runtime.costs import costs_of
from yahtzee_cluster.tables import open_table
from yahtzee_cluster.tables.table import Table

LANES = 8
RUNS = Path("runs")
"""Tables of gigabytes lie where Git does not look, as those of any run."""
JOBS = [path.stem for path in sorted(Path("jobs").glob("*.toml")) if path.stem != "two-player-yaht"]
WITNESS = {"yahtzee": "american", "yatzy": "yatzy-scandinavian"}
"""Rule sets that the independent solver has too, and what it calls them."""


def seconds(action: Callable[[], object], times: int = 5) -> float:
    """The shortest of several runs."""
    found = []
    for _ in range(times):
        started = perf_counter()
        action()
        found.append(perf_counter() - started)
    return min(found)


def report(benchmark: str, **figures: object) -> None:
    """Print one line."""
    print(json.dumps({"benchmark": benchmark, **figures}), flush=True)


def floor_ns(turn: Turn) -> float:
    """The two rerolls of a turn on eight lanes and on nothing else: pure lattice passes, data in the L1 cache."""
    return seconds(lambda: turn.rerolls(2000), times=3) / 2000 * LANES / turn.width * 1e9


def bench_turn(target: int, isa: str) -> float:
    """A full turn of MaxProb, on average over the whole table of Yahtzee, beside the floor; return the kernel time."""
    problem = MaxProb(load_rules("yahtzee"), target, isa)
    n_vectors = int(np.sum(-(-problem.rows.length // LANES), dtype=np.int64))
    layers, solve, turn = problem.partition(0), problem.solver(), problem.new_turn()
    below: Block | None = None
    kernel_s, floors = 0.0, [floor_ns(turn)]
    for layer in layers.classes:
        starts = layers.starts(layer)
        # Touched before the clock starts: a page fault is no part of a turn.
        block = Block(layers.members(layer), starts, np.full(starts[-1], np.nan))
        started = perf_counter()
        solve(block, [below] * 13)
        kernel_s += perf_counter() - started
        floors.append(floor_ns(turn))
        below = block
    turn_ns, rerolls_ns = kernel_s / n_vectors * 1e9, median(floors)
    report(
        "maxprob turn", isa=isa, target=target, values=int(problem.rows.n_values.sum()), kernel_s=round(kernel_s, 2),
        turn_ns=round(turn_ns), rerolls_ns=round(rerolls_ns), ratio=round(turn_ns / rerolls_ns, 2),
    )  # fmt: skip
    return kernel_s


def bench_expected(name: str) -> None:
    """The expected-score table from rules to numbers, and its kernel alone with means only."""
    rules = load_rules(name)
    anchors, turn = Anchors(rules), Turn(compile_moves(rules))
    mean = np.empty(anchors.n_places)
    whole = seconds(lambda: solve_expected(rules))
    means_only = seconds(lambda: uppers.moments(turn, anchors, mean))
    figures = {"elapsed_s": round(whole, 4), "means_only_s": round(means_only, 4)}
    if name in WITNESS:
        witness = importlib.import_module("yatzy_solver")
        variant = witness.Variant(WITNESS[name])
        figures["yatzy_solver_s"] = round(seconds(lambda: witness.Solver.build(variant), times=1), 2)
        figures["times_faster"] = round(figures["yatzy_solver_s"] / figures["elapsed_s"], 1)
    report("expected", rules=name, isa=turn.isa, **figures)


def bench_job(target: int, kernel_s: float) -> None:
    """The whole main job on real ranks, store and all, beside the time of the kernel alone on one core."""
    n_cores = len(os.sched_getaffinity(0))
    few, many = n_cores + 1, max(16, 8 * n_cores)
    walls: dict[int, list[float]] = {few: [], many: []}
    elapsed: dict[int, list[float]] = {few: [], many: []}
    for n_ranks in (few, many) * 3:
        with tempfile.TemporaryDirectory(dir=RUNS) as directory:
            started = perf_counter()
            summary = run_job(n_ranks, ["--G", "5", "--target", str(target), "--store", directory, "--json"])
            walls[n_ranks].append(perf_counter() - started)
            elapsed[n_ranks].append(summary["elapsed_s"])
        report("job", wall_s=round(walls[n_ranks][-1], 2), **summary)
    least = {n_ranks: min(elapsed[n_ranks]) for n_ranks in walls}
    report(
        "job ratios", cores=n_cores, kernel_alone_s=round(kernel_s, 2), few=few, many=many,
        few_elapsed_s=round(least[few], 2), few_wall_s=round(min(walls[few]), 2),
        many_elapsed_s=round(least[many], 2), many_wall_s=round(min(walls[many]), 2),
        few_to_kernel=round(least[few] * n_cores / kernel_s, 3),
        few_wall_to_kernel=round(min(walls[few]) * n_cores / kernel_s, 3),
        many_to_few=round(least[many] / least[few], 3),
        many_wall_to_few=round(min(walls[many]) / min(walls[few]), 3),
    )  # fmt: skip


def bench_forecasts(names: Sequence[str]) -> None:
    """What the planner says of a job, beside what the job takes; and games played forward by one of the tables."""
    few = len(os.sched_getaffinity(0)) + 1
    for name in names:
        with tempfile.TemporaryDirectory(dir=RUNS) as directory:
            forecast = forecast_of(name, few, directory)
            frontier = ["--keep", "frontier"] if name.startswith("two-player") else []
            summary = run_job(few, ["--job", f"jobs/{name}.toml", "--store", directory, "--json", *frontier])
            if name == "scores":
                bench_games(open_table(directory))
        report(
            name, **summary, forecast_s=round(forecast.makespan_s, 2), forecast_kernel_s=round(forecast.computing_s, 2),
            forecast_to_elapsed=round(forecast.makespan_s / summary["elapsed_s"], 2),
            forecast_to_kernel=round(forecast.computing_s / summary["kernel_s"], 2), load=os.getloadavg()[0],
        )  # fmt: skip


def forecast_of(name: str, n_ranks: int, directory: str) -> Forecast:
    """Forecast for a job, with costs measured now."""
    job = replace(Job.read(f"jobs/{name}.toml"), store=directory)
    problem = job.problem()
    partition = problem.partition(fixed_set(job, problem, n_ranks - 1))
    costs = costs_of(job, problem, anew=True).costs
    return simulate(partition, n_ranks - 1, job.cache_bytes, costs, job.threads)


def bench_duels() -> None:
    """A million games with dice, for two players and for four."""
    for names in ("chance expected", "chance expected expected expected"):
        strategies = [parse_strategy(name) for name in names.split()]
        started, busy = perf_counter(), process_time()
        found = simulated_duel(strategies, 1_000_000, seed=1)
        report(
            "duel", players=names, games=1_000_000, values=[round(one.value, 6) for one in found],
            elapsed_s=round(perf_counter() - started, 2), processor_s=round(process_time() - busy, 2),
        )  # fmt: skip


def bench_games(table: Table) -> None:
    """Whole games forward: for the highest mean, for 250, and both held against each other."""
    report(
        "games", threads=len(os.sched_getaffinity(0)),
        for_mean_s=round(seconds(lambda: play_for_mean(table.rules), times=1), 2),
        for_250_s=round(seconds(lambda: play_for(250, table), times=1), 2),
        compare_250_s=round(seconds(lambda: compare(250, table), times=1), 2),
    )  # fmt: skip


def run_job(n_ranks: int, flags: list[str]) -> dict[str, Any]:
    """What the main job says of itself."""
    beside = Path(sys.executable).parent / "mpirun"
    mpirun = [str(beside) if beside.exists() else "mpirun", "-n", str(n_ranks)]
    command = [*mpirun, sys.executable, "-m", "yahtzee_cluster.run", *flags]
    result = subprocess.run(command, check=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    summary: dict[str, Any] = json.loads(result.stdout)
    return summary


def main() -> None:
    """Run all benchmarks."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--target", type=int, default=800, help="highest need of the MaxProb table (default: 800)")
    parser.add_argument(
        "--jobs",
        nargs="*",
        default=JOBS,
        metavar="NAME",
        help="jobs to plan and to run (default: all under jobs/ but two-player-yaht, which takes ten minutes)",
    )
    parser.add_argument("--forecasts", action="store_true", help="measure nothing but these jobs and their forecasts")
    options = parser.parse_args()
    RUNS.mkdir(exist_ok=True)
    if options.forecasts:
        bench_forecasts(options.jobs)
        return
    cores = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {min(cores)})
    report("machine", cpu=cpu_model(), python=platform.python_version(), isas=instruction_sets(), load=os.getloadavg())
    for name in preset_names():
        bench_expected(name)
    kernel_s = bench_turn(options.target, instruction_sets()[0])
    for isa in instruction_sets()[1:]:
        bench_turn(min(options.target, 40), isa)
    os.sched_setaffinity(0, cores)
    bench_job(options.target, kernel_s)
    bench_forecasts(options.jobs)
    bench_duels()


def cpu_model() -> str:
    """What the processor calls itself."""
    lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    return next((line.partition(":")[2].strip() for line in lines if line.startswith("model name")), "unknown")


if __name__ == "__main__":
    main()
