"""Measure a problem of one's own against a plain NumPy program in memory, and print one JSON object a line.

The problem is that of `examples/tardiness.py`. Both are whole programs on one process, run in turns; the library also
writes the table, makes it durable and digests it. Compare figures only within one run.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from statistics import median
from time import perf_counter

import numpy as np

EXAMPLES = Path(__file__).resolve().parents[1] / "examples"
sys.path.insert(0, str(EXAMPLES))

from tardiness import random_jobs  # noqa: E402  # an example is no package

SEED = 1


def plain(times: tuple[int, ...], weights: tuple[int, ...], due: tuple[int, ...]) -> float:
    """The least cost of all jobs, by NumPy alone: a table of all subsets, layer by layer."""
    n = len(times)
    ends = np.zeros(1 << n)
    for job in range(n):
        ends[1 << job : 2 << job] = ends[: 1 << job] + times[job]
    sizes = np.bitwise_count(np.arange(1 << n))
    subsets, cuts = np.argsort(sizes, kind="stable"), np.cumsum(np.bincount(sizes))
    best = np.zeros(1 << n)
    for layer in np.split(subsets, cuts[:-1])[1:]:
        costs = np.full(len(layer), np.inf)
        for job in range(n):
            here = np.flatnonzero(layer >> job & 1)
            having = layer[here]
            cost = weights[job] * np.maximum(ends[having] - due[job], 0.0)
            costs[here] = np.minimum(costs[here], best[having ^ 1 << job] + cost)
        best[layer] = costs
    return float(best[-1])


def measured(command: list[str]) -> tuple[float, float, str]:
    """Run a program of Python; return its seconds by the clock, those of the processors, and what it prints."""
    started, before = perf_counter(), os.times()
    printed = subprocess.run([sys.executable, *command], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=True)
    elapsed_s, after = perf_counter() - started, os.times()
    cpu_s = after.children_user + after.children_system - before.children_user - before.children_system
    return elapsed_s, cpu_s, printed.stdout.decode()


def compare(n_jobs: int, times: int) -> dict[str, object]:
    """Both programs in turns, so many times; the medians and their ratios."""
    found: dict[str, list[tuple[float, float]]] = {"plain": [], "library": []}
    for _ in range(times):
        elapsed_s, cpu_s, printed = measured([__file__, "--plain", str(n_jobs)])
        found["plain"].append((elapsed_s, cpu_s))
        with tempfile.TemporaryDirectory() as store:
            command = [str(EXAMPLES / "tardiness.py"), str(n_jobs), "--seed", str(SEED), "--store", store]
            elapsed_s, cpu_s, summary = measured(command)
        found["library"].append((elapsed_s, cpu_s))
        assert f"cost       {float(printed):.0f}\n" in summary, (printed, summary)
    middle = {name: [median(column) for column in zip(*runs, strict=True)] for name, runs in found.items()}
    figures = {f"{name}_{unit}": round(middle[name][i], 3) for name in middle for i, unit in enumerate(("s", "cpu_s"))}
    ratios = [round(ours / theirs, 2) for ours, theirs in zip(middle["library"], middle["plain"], strict=True)]
    return {"jobs": n_jobs, **figures, "ratio": ratios[0], "cpu_ratio": ratios[1]}


def main() -> None:
    """Compare for each number of jobs, or run the plain program alone."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("jobs", type=int, nargs="*", help="numbers of jobs (default: 20 22 24)")
    parser.add_argument("--times", type=int, default=3, help="runs of each program (default: 3)")
    parser.add_argument("--plain", type=int, metavar="JOBS", help="run only the plain program, once")
    options = parser.parse_args()
    if options.plain:
        problem = random_jobs(options.plain, SEED)
        print(plain(problem.times, problem.weights, problem.due))
        return
    for n_jobs in options.jobs or (20, 22, 24):
        print(json.dumps({"benchmark": "own problem", **compare(n_jobs, options.times)}), flush=True)


if __name__ == "__main__":
    main()
