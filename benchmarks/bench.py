"""Measure the kernels, and print one JSON object a line.

Everything runs on one core; compare figures only within one run, because machines are shared and clocks vary.
"""

from __future__ import annotations

import argparse
import importlib
import json
import os
import platform
from collections.abc import Callable
from pathlib import Path
from statistics import median
from time import perf_counter

import numpy as np

from yahtzee_cluster.anchors import Anchors
from yahtzee_cluster.kernels import uppers
from yahtzee_cluster.kernels.turn import Turn, instruction_sets
from yahtzee_cluster.moves import compile_moves
from yahtzee_cluster.objectives.expected import solve_expected
from yahtzee_cluster.objectives.maxprob import MaxProb
from yahtzee_cluster.recurrence import Block
from yahtzee_cluster.rules import load_rules, preset_names

LANES = 8
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


def bench_turn(target: int, isa: str) -> None:
    """A full turn of MaxProb, on average over the whole table of Yahtzee, beside the floor."""
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


def main() -> None:
    """Run all benchmarks."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--target", type=int, default=800, help="highest need of the MaxProb table (default: 800)")
    options = parser.parse_args()
    core = min(os.sched_getaffinity(0))
    os.sched_setaffinity(0, {core})
    report("machine", cpu=cpu_model(), python=platform.python_version(), isas=instruction_sets(), load=os.getloadavg())
    for name in preset_names():
        bench_expected(name)
    bench_turn(options.target, instruction_sets()[0])
    for isa in instruction_sets()[1:]:
        bench_turn(min(options.target, 40), isa)


def cpu_model() -> str:
    """What the processor calls itself."""
    lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    return next((line.partition(":")[2].strip() for line in lines if line.startswith("model name")), "unknown")


if __name__ == "__main__":
    main()
